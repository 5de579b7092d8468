//! Arguments that are shapes.

use std::rc::Rc;
use std::sync::Arc;

use smallvec::SmallVec;

/// A shape, as an argument: the extent of each dimension.
///
/// `5`, `[2, 3]`, `(2, 3)`, `&[2, 3]`, another array's `shape()`, a slice or a `Vec`, of `usize`; `[]` and `()` are the shape of an
/// array of no dimensions, which has one element.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape",
    label = "expected the extent of each dimension",
    note = "a shape is `[2, 3]`, `(2, 3)`, `5` or `other.shape()`, of `usize`; a `Vec<usize>` is one, too"
)]
pub trait Shape {
    /// The extents.
    #[doc(hidden)]
    fn extents(&self) -> impl AsRef<[usize]>;
}

impl Shape for [usize] {
    #[inline]
    fn extents(&self) -> impl AsRef<[usize]> {
        self
    }
}
impl<const N: usize> Shape for [usize; N] {
    #[inline]
    fn extents(&self) -> impl AsRef<[usize]> {
        self
    }
}
impl Shape for Vec<usize> {
    #[inline]
    fn extents(&self) -> impl AsRef<[usize]> {
        self
    }
}
impl<A: smallvec::Array<Item = usize>> Shape for SmallVec<A> {
    #[inline]
    fn extents(&self) -> impl AsRef<[usize]> {
        self.as_slice()
    }
}
impl Shape for usize {
    #[inline]
    fn extents(&self) -> impl AsRef<[usize]> {
        std::slice::from_ref(self)
    }
}

macro_rules! pointers {
    ($($Pointer:ty)*) => {$(
        impl<S: Shape + ?Sized> Shape for $Pointer {
            #[inline]
            fn extents(&self) -> impl AsRef<[usize]> {
                (**self).extents()
            }
        }
    )*};
}
pointers!(&S Box<S> Rc<S> Arc<S>);

macro_rules! tuples {
    ($(($($extent:ident: $Usize:ident),*))*) => {$(
        impl Shape for ($($Usize,)*) {
            #[inline]
            fn extents(&self) -> impl AsRef<[usize]> {
                let ($($extent,)*) = *self;
                [$($extent),*]
            }
        }
    )*};
}
tuples! {
    (a: usize)
    (a: usize, b: usize)
    (a: usize, b: usize, c: usize)
    (a: usize, b: usize, c: usize, d: usize)
    (a: usize, b: usize, c: usize, d: usize, e: usize)
    (a: usize, b: usize, c: usize, d: usize, e: usize, f: usize)
}
impl Shape for () {
    #[inline]
    fn extents(&self) -> impl AsRef<[usize]> {
        [0_usize; 0]
    }
}
