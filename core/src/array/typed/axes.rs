//! Arguments that name axes, extents and places by one number or several.

use std::ops::RangeFull;

use smallvec::SmallVec;

/// A few signed numbers.
pub(crate) type Numbers = SmallVec<[isize; 4]>;

/// One or several signed numbers: the extents of a shape, of which one may be −1, or a multi-index.
///
/// `5`, `[2, -1]`, `(rows, -1)`, `&[2, 3]`, a slice or a `Vec`, of `isize`, `i32` or `usize`; those of a tuple may differ.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no list of extents, axes or places",
    label = "expected one number, or several",
    note = "write `5`, `[2, -1]`, `(rows, -1)` or a slice, of `isize`, `i32` or `usize`; convert other integers, as in `n as isize`"
)]
pub trait Extents {
    #[doc(hidden)]
    fn numbers(&self) -> Numbers;
}

/// One or several axes, or all of them: `0`, `-1`, `[0, 1]`, `(0, 1)`, `&[0, 1]`, `..`. Negative ones count from the back.
#[diagnostic::on_unimplemented(
    message = "`{Self}` names no axes",
    label = "expected an axis, several or `..`",
    note = "write `0`, `-1`, `[0, 1]` or `..` for all of them, of `isize`, `i32` or `usize`"
)]
pub trait Axes {
    /// The numbers, for an array of so many dimensions.
    #[doc(hidden)]
    fn of(&self, ndim: usize) -> Numbers;
}

impl Axes for RangeFull {
    fn of(&self, ndim: usize) -> Numbers {
        // Every count of dimensions is small.
        (0..ndim).map(usize::cast_signed).collect()
    }
}

impl<E: Extents + ?Sized> Axes for E {
    #[inline]
    fn of(&self, _ndim: usize) -> Numbers {
        self.numbers()
    }
}

/// A number; beyond `isize::MAX` there are no axes, extents or places, and the error will say so.
fn signed<N: TryInto<isize>>(number: N) -> isize {
    number.try_into().unwrap_or(isize::MAX)
}

macro_rules! numbers {
    ($($ty:ty)*) => {$(
        impl Extents for $ty {
            #[inline]
            fn numbers(&self) -> Numbers {
                SmallVec::from_buf_and_len([signed(*self), 0, 0, 0], 1)
            }
        }
        impl Extents for [$ty] {
            fn numbers(&self) -> Numbers {
                self.iter().map(|&number| signed(number)).collect()
            }
        }
        impl<const N: usize> Extents for [$ty; N] {
            fn numbers(&self) -> Numbers {
                self.as_slice().numbers()
            }
        }
        impl Extents for Vec<$ty> {
            fn numbers(&self) -> Numbers {
                self.as_slice().numbers()
            }
        }
    )*};
}
numbers!(isize i32 usize);

mod sealed {
    /// A number of a tuple.
    pub trait Number: Copy {
        fn signed(self) -> isize;
    }
}
use sealed::Number;

macro_rules! tuples {
    ($($ty:ident)*; $([$($N:ident $number:ident)*])*) => {
        $(impl Number for $ty {
            #[inline]
            fn signed(self) -> isize {
                signed(self)
            }
        })*
        $(impl<$($N: Number),*> Extents for ($($N,)*) {
            #[inline]
            fn numbers(&self) -> Numbers {
                let ($($number,)*) = *self;
                [$($number.signed()),*].into_iter().collect()
            }
        })*
    };
}
tuples! {
    isize i32 usize;
    [A a] [A a B b] [A a B b C c] [A a B b C c D d] [A a B b C c D d E e] [A a B b C c D d E e F f]
}

impl<E: Extents + ?Sized> Extents for &E {
    fn numbers(&self) -> Numbers {
        (**self).numbers()
    }
}
