//! Products of matrices and vectors.

use super::{Array, NumElement, Reducible, demand};
use crate::array::Contracted;
use crate::dtype::Element;
use crate::error::Result;

/// One line per product: names, arguments beside the other operand, text.
macro_rules! products {
    ($($name:ident $try_name:ident ($($arg:ident: $ty:ty),*) $text:literal;)*) => {$(
        impl<T: NumElement> Array<T> {
            #[doc = $text]
            ///
            /// # Panics
            #[doc = concat!("As operators do; [`", stringify!($try_name), "`](Self::", stringify!($try_name), ") does not.")]
            #[must_use]
            #[track_caller]
            pub fn $name(&self, other: &Self $(, $arg: $ty)*) -> Self {
                demand(self.$try_name(other $(, $arg)*))
            }

            #[doc = $text]
            ///
            /// # Errors
            #[doc = concat!("As for [`UsmArray::", stringify!($name), "`](crate::UsmArray::", stringify!($name), ").")]
            pub fn $try_name(&self, other: &Self $(, $arg: $ty)*) -> Result<Self> {
                self.inner.$name(&other.inner $(, $arg)*)?.try_into()
            }
        }
    )*};
}

products! {
    matmul try_matmul () "The matrix product, of vectors and of stacks of matrices too.";
    vecdot try_vecdot (axis: isize)
        "The sum over an axis of the products of this array's elements, conjugated, with another's.";
    outer try_outer () "All products of an element of this vector with one of another.";
    cross try_cross (axis: isize) "The cross product of vectors of three elements along an axis.";
}

#[cfg_attr(not(doctest), doc = include_str!("examples/products.md"))]
impl<T: NumElement> Array<T> {
    /// The sum of products over pairs of axes: a number of them, or lists.
    ///
    /// # Panics
    /// As operators do; [`try_tensordot`](Self::try_tensordot) does not.
    #[must_use]
    #[track_caller]
    pub fn tensordot<'a>(&self, other: &Self, axes: impl Into<Contracted<'a>>) -> Self {
        demand(self.try_tensordot(other, axes))
    }

    /// The sum of products over pairs of axes: a number of them, or lists.
    ///
    /// # Errors
    /// As for [`UsmArray::tensordot`](crate::UsmArray::tensordot).
    pub fn try_tensordot<'a>(&self, other: &Self, axes: impl Into<Contracted<'a>>) -> Result<Self> {
        self.inner.tensordot(&other.inner, axes)?.try_into()
    }
}

impl<T: Element> Array<T> {
    /// A diagonal of the matrices of the last two dimensions, as a view: the main one, or one `offset` columns to the
    /// right of it, to the left where negative.
    ///
    /// # Errors
    /// [`Error::Axis`](crate::Error::Axis) with fewer than two dimensions.
    pub fn diagonal(&self, offset: isize) -> Result<Self> {
        self.inner.diagonal(offset)?.try_into()
    }
}

impl<T: Reducible> Array<T> {
    /// The sum of a [diagonal](Self::diagonal) of the matrices of the last two dimensions; of integers in the 64-bit
    /// integer of their sign.
    ///
    /// # Errors
    /// As for [`diagonal`](Self::diagonal); the failure of the work.
    pub fn trace(&self, offset: isize) -> Result<Array<T::Sum>> {
        self.inner.trace(offset, None)?.try_into()
    }
}
