//! Memory objects of a kernel: what is indexed.

use std::marker::PhantomData;

use smallvec::{SmallVec, smallvec};

use super::{Context, Expr};
use crate::array::IntElement;
use crate::dtype::Element;
use crate::form::{AtomicOp, MemoryOrder, MemoryScope};
use crate::form::{Object, Value};
use crate::scalar::Scalar;

/// As many indices as an array of `N` dimensions takes: integers of any type.
#[diagnostic::on_unimplemented(
    message = "these are not the indices of an array of {N} dimensions",
    label = "expected {N} integers",
    note = "`a[i]` is an element of an array of one dimension, `a[[i, j]]` of two, `a[[i, j, k]]` of three; how many it has is \
            its last parameter, as in `Global<f32, 2>`"
)]
pub trait Indices<const N: usize> {
    /// The indices.
    #[doc(hidden)]
    fn values(self) -> SmallVec<[Value; 3]>;
}
impl<A: IntElement> Indices<1> for (Expr<'_, A>,) {
    fn values(self) -> SmallVec<[Value; 3]> {
        smallvec![self.0.value]
    }
}
impl<A: IntElement, B: IntElement> Indices<2> for (Expr<'_, A>, Expr<'_, B>) {
    fn values(self) -> SmallVec<[Value; 3]> {
        smallvec![self.0.value, self.1.value]
    }
}
impl<A: IntElement, B: IntElement, C: IntElement> Indices<3> for (Expr<'_, A>, Expr<'_, B>, Expr<'_, C>) {
    fn values(self) -> SmallVec<[Value; 3]> {
        smallvec![self.0.value, self.1.value, self.2.value]
    }
}

/// Arrays of Rust, of one to three dimensions, that a kernel takes in as constants.
pub trait ConstantArray<const N: usize> {
    /// Type of the elements.
    type Element: Element;
    /// The extents.
    #[doc(hidden)]
    fn shape(&self) -> [usize; N];
    /// The elements in row-major order.
    #[doc(hidden)]
    fn elements(&self) -> Vec<Scalar>;
}
impl<T: Element, const A: usize> ConstantArray<1> for [T; A] {
    type Element = T;
    fn shape(&self) -> [usize; 1] {
        [A]
    }
    fn elements(&self) -> Vec<Scalar> {
        self.iter().map(|x| x.to_scalar()).collect()
    }
}
impl<T: Element, const A: usize, const B: usize> ConstantArray<2> for [[T; B]; A] {
    type Element = T;
    fn shape(&self) -> [usize; 2] {
        [A, B]
    }
    fn elements(&self) -> Vec<Scalar> {
        self.as_flattened().iter().map(|x| x.to_scalar()).collect()
    }
}
impl<T: Element, const A: usize, const B: usize, const C: usize> ConstantArray<3> for [[[T; C]; B]; A] {
    type Element = T;
    fn shape(&self) -> [usize; 3] {
        [A, B, C]
    }
    fn elements(&self) -> Vec<Scalar> {
        self.as_flattened().as_flattened().iter().map(|x| x.to_scalar()).collect()
    }
}

macro_rules! objects {
    ($($(#[$doc:meta])* $Name:ident;)*) => {$(
        $(#[$doc])*
        pub struct $Name<'k, T, const N: usize = 1> {
            pub(super) context: &'k Context,
            pub(super) object: Object,
            ty: PhantomData<fn() -> T>,
        }
        impl<T, const N: usize> Clone for $Name<'_, T, N> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T, const N: usize> Copy for $Name<'_, T, N> {}

        impl<'k, T: Element, const N: usize> $Name<'k, T, N> {
            pub(super) const fn of(context: &'k Context, object: Object) -> Self {
                Self { context, object, ty: PhantomData }
            }

            /// The extent along an axis.
            #[track_caller]
            #[must_use]
            pub fn extent(&self, axis: usize) -> Expr<'k, i64> {
                self.context.define(|k| k.extent(self.object, axis))
            }
            /// What `array[indices]` reads.
            #[track_caller]
            #[doc(hidden)]
            #[must_use]
            pub fn load(&self, indices: impl Indices<N>) -> Expr<'k, T> {
                self.context.define(|k| k.load(self.object, indices.values()))
            }
            /// What `array[indices] = value` writes.
            #[track_caller]
            #[doc(hidden)]
            pub fn store(&self, indices: impl Indices<N>, value: Expr<'k, T>) {
                self.context.perform(|k| k.store(self.object, indices.values(), value.value));
            }
        }
        impl<'k, T: Element> $Name<'k, T, 1> {
            /// Number of elements.
            #[track_caller]
            #[must_use]
            pub fn len(&self) -> Expr<'k, i64> {
                self.extent(0)
            }
        }
    )*};
}
objects! {
    /// An array of `N` dimensions that a launch takes: `x: &Global<f32>` is read, `y: &mut Global<f32, 2>` may be written. The
    /// caller gives an [`Array`](crate::Array), of any layout.
    Global;
    /// An array of `N` dimensions that the items of a group share, undefined until it is written. As a parameter,
    /// `tile: &mut Local<f32>`, its extents are the caller's to say; `let tile: Local<f32, 2> = Local::new([16, 16]);` has its
    /// own.
    Local;
    /// An array of `N` dimensions that each item has for itself: what `let mut sums = [0.0; 4];` makes.
    Private;
}

impl<'k, T: Element, const N: usize> Local<'k, T, N> {
    /// Local memory of so many elements.
    #[track_caller]
    #[doc(hidden)]
    #[must_use]
    pub fn declare(context: &'k Context, name: &str, shape: [usize; N]) -> Self {
        let default = Object::of_number(0);
        let at = std::panic::Location::caller();
        Self::of(context, context.step(at, default, |k| k.local(name, T::DTYPE, &shape)))
    }
}

/// When others see an atomic access, and what else they then see.
type Ordering = Option<(MemoryOrder, MemoryScope)>;

macro_rules! atomic_updates {
    ($($(#[$doc:meta])* $name:ident $op:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        #[doc(hidden)]
        pub fn $name(&self, indices: impl Indices<N>, value: Expr<'k, T>, ordering: Ordering) -> Expr<'k, T> {
            self.atomic(AtomicOp::$op, indices, Some(value), ordering)
        }
    )*};
}
macro_rules! atomics {
    ($($Name:ident $scope:ident;)*) => {$(
        impl<'k, T: Element, const N: usize> $Name<'k, T, N> {
            atomic_updates! {
                /// `a[i].fetch_add(x)`.
                fetch_add Add;
                /// `a[i].fetch_sub(x)`.
                fetch_sub Subtract;
                /// `a[i].fetch_min(x)`.
                fetch_min Minimum;
                /// `a[i].fetch_max(x)`.
                fetch_max Maximum;
                /// `a[i].fetch_and(x)`.
                fetch_and And;
                /// `a[i].fetch_or(x)`.
                fetch_or Or;
                /// `a[i].fetch_xor(x)`.
                fetch_xor Xor;
                /// `a[i].swap(x)`.
                swap Exchange;
            }
            /// `a[i].atomic_store(x)`.
            #[track_caller]
            #[doc(hidden)]
            pub fn atomic_store(&self, indices: impl Indices<N>, value: Expr<'k, T>, ordering: Ordering) {
                let _ = self.atomic(AtomicOp::Store, indices, Some(value), ordering);
            }
            /// `a[i].atomic_load()`.
            #[track_caller]
            #[doc(hidden)]
            pub fn atomic_load(&self, indices: impl Indices<N>, ordering: Ordering) -> Expr<'k, T> {
                self.atomic(AtomicOp::Load, indices, None, ordering)
            }
            /// `a[i].compare_exchange(expected, new)`.
            #[track_caller]
            #[doc(hidden)]
            pub fn compare_exchange(
                &self,
                indices: impl Indices<N>,
                expected: Expr<'k, T>,
                new: Expr<'k, T>,
                ordering: Ordering,
            ) -> Expr<'k, T> {
                let op = AtomicOp::CompareExchange { expected: expected.value };
                self.atomic(op, indices, Some(new), ordering)
            }

            #[track_caller]
            fn atomic(
                &self,
                op: AtomicOp,
                indices: impl Indices<N>,
                value: Option<Expr<'k, T>>,
                ordering: Ordering,
            ) -> Expr<'k, T> {
                let ordering = ordering.unwrap_or((MemoryOrder::Relaxed, MemoryScope::$scope));
                let value = value.map(|value| value.value.into());
                self.context.define(|k| k.atomic(op, self.object, indices.values(), value, ordering))
            }
        }
    )*};
}
atomics! {
    Global Device;
    Local WorkGroup;
}
