//! [Products of a vector](super::vectors) with a matrix of a few columns, whose rows lie closely: the sums of all columns are kept in registers while
//! its rows are read one after another. Column by column each line of the cache would be read as often as it has elements.

use std::marker::PhantomData;

use super::entry::{Kernel, StepFn, entry};
use super::vectors::{Number, Steps};
use crate::simd::Isa;

/// Rows that are summed by themselves, which decides on the order of a sum, whatever the number of threads.
pub(super) const ROWS: usize = 1024;
/// Rows of which each has sums of its own, so that none waits for the one before.
const APART: usize = 4;
/// Fewer rows are left to others.
pub(super) const LEAST: usize = 64;

/// The function for a matrix of so many columns.
pub(super) fn kernel<T: Number>(columns: usize, isa: Isa) -> Option<StepFn> {
    Some(match columns {
        2 => entry::<Sums<T, 2>>(isa),
        3 => entry::<Sums<T, 3>>(isa),
        4 => entry::<Sums<T, 4>>(isa),
        5 => entry::<Sums<T, 5>>(isa),
        6 => entry::<Sums<T, 6>>(isa),
        7 => entry::<Sums<T, 7>>(isa),
        8 => entry::<Sums<T, 8>>(isa),
        16 => entry::<Sums<T, 16>>(isa),
        _ => return None,
    })
}

/// The sums of the columns of `len` rows, each times an element of a vector. Sources: the vector, the matrix, and [`Steps`].
struct Sums<T, const N: usize>(PhantomData<T>);

impl<T: Number, const N: usize> Kernel for Sums<T, N> {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, [a, b, steps]: [*const u8; 3], _: u32, len: usize) {
        // SAFETY: for all of this function: the caller's contract.
        unsafe {
            let &Steps { vector, matrix, .. } = &*steps.cast::<Steps>();
            let mut sums = [[T::zeroed(); N]; APART];
            let add = |sums: &mut [T; N], i: usize| {
                let factor = *a.offset(i.cast_signed() * vector).cast::<T>();
                let row = &*b.offset(i.cast_signed() * matrix).cast::<[T; N]>();
                let mut j = 0;
                while j < N {
                    sums[j] = sums[j] + factor * row[j];
                    j += 1;
                }
            };
            let mut i = 0;
            while i + APART <= len {
                let mut apart = 0;
                while apart < APART {
                    add(&mut sums[apart], i + apart);
                    apart += 1;
                }
                i += APART;
            }
            while i < len {
                add(&mut sums[0], i);
                i += 1;
            }
            let dst = dst.cast::<T>();
            let mut j = 0;
            while j < N {
                *dst.add(j) = (sums[0][j] + sums[2][j]) + (sums[1][j] + sums[3][j]);
                j += 1;
            }
        }
    }
}
