//! [Products of a vector](super::vectors) with a matrix of a few columns, whose rows lie closely: of a vector from the left, the sums of
//! all columns are kept in registers while its rows are read one after another; of one from the right, each row is multiplied with
//! it in a register and added up there. Column by column each line of the cache would be read as often as it has elements.

use std::marker::PhantomData;
use std::ops::{Add, Mul};

use bytemuck::Zeroable;

use crate::kernels::entry::{Kernel, contract, entry};
use crate::simd::Isa;

/// Rows that are summed by themselves, which decides on the order of a sum, whatever the number of threads.
pub(crate) const ROWS: usize = 1024;
/// Rows of which each has sums of its own, so that none waits for the one before.
const APART: usize = 4;
/// Fewer rows are left to others, which sum in another order.
pub(crate) const LEAST: usize = 64;
/// Columns at most, for the same reason.
pub(crate) const MOST: usize = 16;

/// A floating type.
pub(crate) trait Number: Copy + Zeroable + Add<Output = Self> + Mul<Output = Self> {}
impl<T: Copy + Zeroable + Add<Output = T> + Mul<Output = T>> Number for T {}

/// What the functions are told beside their operands: bytes from one row of the vector and of the matrix to the next, and how many
/// columns there are, or how many elements of each row.
pub(crate) struct Steps {
    pub(crate) vector: isize,
    pub(crate) matrix: isize,
    pub(crate) columns: usize,
}

contract! {
    /// Multiplies `len` rows of a matrix with a vector: one factor for each row, to sums of the columns, or one for each column, to a
    /// result for each row.
    ///
    /// - The vector and the matrix are readable, `len` rows, and the results writable, where `steps` says, apart from both; nothing
    ///   else accesses them.
    VectorFn(to: *mut u8, vector: *const u8, matrix: *const u8, steps: &Steps, len: usize)
        = to, [vector, matrix, std::ptr::from_ref(steps).cast()], 0, len
}

/// The entry point of a kernel of so many columns; `None` where there is none.
macro_rules! by_columns {
    ($Kernel:ident, $columns:ident, $isa:ident) => {
        by_columns!(@ $Kernel $columns $isa; 2 3 4 5 6 7 8 16)
    };
    (@ $Kernel:ident $columns:ident $isa:ident; $($number:literal)*) => {
        match $columns {
            $($number => Some(entry::<$Kernel<T, $number>>($isa)),)*
            _ => None,
        }
    };
}

/// The function for a matrix of so many columns.
pub(crate) fn kernel<T: Number>(columns: usize, isa: Isa) -> Option<VectorFn> {
    by_columns!(Sums, columns, isa)
}

/// The sums of the columns of `len` rows, each times an element of a vector. Sources: the vector, the matrix, and [`Steps`].
struct Sums<T, const N: usize>(PhantomData<T>);

impl<T: Number, const N: usize> Kernel for Sums<T, N> {
    type Fn = VectorFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [a, b, steps]: [*const u8; 3], _: u32, len: usize) {
        // SAFETY: for all of this function: the third source is a `Steps`; `len` elements of the vector and
        // as many rows of `N` elements are readable, and `N` sums writable at `dst` (`Vectors::sums`).
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

/// The function for a vector from the right of a matrix of so many columns.
pub(crate) fn rows_kernel<T: Number>(columns: usize, isa: Isa) -> Option<VectorFn> {
    by_columns!(Rows, columns, isa)
}

/// The sums of the products of `len` rows with a vector. Sources: the vector, the matrix, and [`Steps`], of which the first is the
/// output's.
struct Rows<T, const N: usize>(PhantomData<T>);

impl<T: Number, const N: usize> Kernel for Rows<T, N> {
    type Fn = VectorFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [vector, b, steps]: [*const u8; 3], _: u32, len: usize) {
        // SAFETY: for all of this function: the third source is a `Steps`; `N` elements of the vector and
        // `len` rows of as many are readable, and an element of the output is writable for each row
        // (`Vectors::rows`).
        unsafe {
            let &Steps { vector: to, matrix, .. } = &*steps.cast::<Steps>();
            let vector = *vector.cast::<[T; N]>();
            for i in 0..len.cast_signed() {
                let row = &*b.offset(i * matrix).cast::<[T; N]>();
                let mut products = vector;
                let mut j = 0;
                while j < N {
                    products[j] = products[j] * row[j];
                    j += 1;
                }
                // Halves are added up, in the same order at every level.
                let mut width = N;
                while width > 1 {
                    let half = width.div_ceil(2);
                    let mut j = 0;
                    while j < width / 2 {
                        products[j] = products[j] + products[j + half];
                        j += 1;
                    }
                    width = half;
                }
                *dst.offset(i * to).cast::<T>() = products[0];
            }
        }
    }
}

/// Adds up rows of a length pairwise, with the first two first.
pub(crate) fn pairwise<T: Copy + Add<Output = T>>(all: &mut [T], len: usize) -> &[T] {
    let mut count = all.len() / len;
    while count > 1 {
        for pair in 0..count / 2 {
            for j in 0..len {
                all[pair * len + j] = all[2 * pair * len + j] + all[(2 * pair + 1) * len + j];
            }
        }
        if count % 2 == 1 {
            all.copy_within((count - 1) * len..count * len, count / 2 * len);
        }
        count = count.div_ceil(2);
    }
    &all[..len]
}
