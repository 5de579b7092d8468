//! Methods of features that a build has not: they stand here so that the compiler names the feature, and no call of them compiles.

use super::Array;
use crate::dtype::Element;
use crate::error::{Error, Result};

/// What a call would come to, if one compiled.
fn absent<R>(feature: &'static str) -> Result<R> {
    Err(Error::unsupported("feature", feature, "a build with the feature", "name it in Cargo.toml"))
}

#[cfg(not(feature = "npy"))]
mod npy {
    use super::{Array, Element, Result, absent};
    use crate::array::UsmArray;

    mod feature {
        /// Implemented by nothing.
        #[diagnostic::on_unimplemented(
            message = "reading and writing `.npy` files needs the feature `npy` of stridewise",
            label = "this build is without the feature `npy`",
            note = "in Cargo.toml: `stridewise = {{ version = \"…\", features = [\"npy\"] }}`; it is one of the default features"
        )]
        pub trait Npy {}
    }
    use feature::Npy;

    macro_rules! methods {
        ($([$($generics:tt)*] $Type:ty: $($mode:ident $Mode:ident)*;)*) => {$(
            #[doc(hidden)]
            impl<$($generics)*> $Type {
                pub fn load_npy<P: Npy>(_path: P) -> Result<Self> {
                    absent("npy")
                }
                pub fn load_npy_on<P: Npy, Q, K>(_path: P, _queue: Q, _kind: K) -> Result<Self> {
                    absent("npy")
                }
                pub fn map_npy<P: Npy, $($Mode),*>(_path: P, $($mode: $Mode),*) -> Result<Self> {
                    absent("npy")
                }
                pub fn save_npy<P: Npy>(&self, _path: P) -> Result<()> {
                    absent("npy")
                }
            }
        )*};
    }
    methods! {
        [] UsmArray: _mode M _queue Q;
        [T: Element] Array<T>: _mode M;
    }
}

#[cfg(not(feature = "ndarray"))]
mod ndarray {
    use super::{Array, Element, Result, absent};
    use crate::memory::{HostView, HostViewMut};

    mod feature {
        /// Implemented by nothing.
        #[diagnostic::on_unimplemented(
            message = "conversions from and to the arrays of `ndarray` need the feature `ndarray` of stridewise",
            label = "this build is without the feature `ndarray`",
            note = "in Cargo.toml: `stridewise = {{ version = \"…\", features = [\"ndarray\"] }}`"
        )]
        pub trait Ndarray {}
    }
    use feature::Ndarray;

    #[doc(hidden)]
    impl<T: Element> Array<T> {
        pub fn to_ndarray(&self) -> Result<()>
        where
            Self: Ndarray,
        {
            absent("ndarray")
        }
        pub fn from_ndarray_on<Q, A: Ndarray>(_queue: Q, _array: A) -> Result<Self> {
            absent("ndarray")
        }
    }
    #[doc(hidden)]
    impl<T: Element> HostView<'_, T> {
        pub fn as_ndarray(&self) -> Result<()>
        where
            Self: Ndarray,
        {
            absent("ndarray")
        }
    }
    #[doc(hidden)]
    impl<T: Element> HostViewMut<'_, T> {
        pub fn as_ndarray_mut(&mut self) -> Result<()>
        where
            Self: Ndarray,
        {
            absent("ndarray")
        }
    }
}
