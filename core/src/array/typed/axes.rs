//! Arguments that name axes, extents and places by one number or several.

use std::ops::RangeFull;

use smallvec::SmallVec;

/// A few signed numbers.
pub(crate) type Numbers = SmallVec<[isize; 4]>;

/// One or several signed numbers: the extents of a shape, of which one may be −1, or a multi-index.
///
/// `5`, `[2, -1]`, `&[2, 3]`, a slice or a `Vec`, of `isize`, `i32` or `usize`.
pub trait Extents {
    #[doc(hidden)]
    fn numbers(&self) -> Numbers;
}

/// One or several axes, or all of them: `0`, `-1`, `[0, 1]`, `&[0, 1]`, `..`. Negative ones count from the back.
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

impl<E: Extents + ?Sized> Extents for &E {
    fn numbers(&self) -> Numbers {
        (**self).numbers()
    }
}
