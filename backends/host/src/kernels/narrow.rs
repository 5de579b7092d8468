//! Products of a vector with a matrix of a few columns, whose rows lie closely: of a vector from the left, the sums of all columns are
//! kept in registers while its rows are read one after another; of one from the right, each row is multiplied with it in a
//! register and added up there. Column by column each line of the cache would be read as often as it has elements.

use std::marker::PhantomData;
use std::ops::{Add, Mul};

use bytemuck::Zeroable;
use stridewise_core::memory::heap;
use stridewise_core::{Dtype, LaunchPlan, ProductSide, Result, VectorProduct};

use super::entry::{Kernel, StepFn, entry};
use super::{Address, Tuning, split};
use crate::simd::Isa;

/// Rows that are summed by themselves, which decides on the order of a sum, whatever the number of threads.
const ROWS: usize = 1024;
/// Rows of which each has sums of its own, so that none waits for the one before.
const APART: usize = 4;
/// Fewer rows are left to others.
const LEAST: usize = 64;
/// Columns at most.
const MOST: usize = 16;

/// How operands lie: bytes from one row to the next, of a vector and of the matrix.
struct Steps {
    vector: isize,
    matrix: isize,
}

/// Runs a reduction as such a product, if it is one; answers whether it was.
///
/// # Errors
/// There is no memory for the sums.
///
/// # Safety
/// The contract of [`run`](super::run).
pub(super) unsafe fn narrow(plan: &LaunchPlan, tuning: &Tuning) -> Result<bool> {
    let Some(product) = plan.vector_product().filter(|product| !product.converted) else { return Ok(false) };
    let Some(side) = side(&product) else { return Ok(false) };
    let (n, k, matrix) = (product.n, product.k, product.matrix);
    // SAFETY: for all: the caller's contract.
    unsafe {
        match (product.dtype, side) {
            (Dtype::F32, Side::Left) => sums::<f32>(plan, matrix, [&n, &k], tuning),
            (Dtype::F64, Side::Left) => sums::<f64>(plan, matrix, [&n, &k], tuning),
            (Dtype::F32, Side::Right) => Ok(rows::<f32>(plan, matrix, [&n, &k], tuning)),
            (Dtype::F64, Side::Right) => Ok(rows::<f64>(plan, matrix, [&n, &k], tuning)),
            _ => Ok(false),
        }
    }
}

/// On which side of the matrix the vector is.
enum Side {
    Left,
    Right,
}

/// How a product is run, where there are functions for as many columns.
fn side(product: &VectorProduct) -> Option<Side> {
    let VectorProduct { n, k, matrix, .. } = product;
    let few = |columns: &ProductSide| matches!(columns.len, 2..=8 | 16) && columns.steps[*matrix] == 1;
    match () {
        () if k.len >= LEAST && few(n) => Some(Side::Left),
        () if n.len >= LEAST && few(k) => Some(Side::Right),
        () => None,
    }
}

/// Whether a plan is such a product, in which each element of the matrix takes as long as to read it.
pub(super) fn is_narrow(plan: &LaunchPlan) -> bool {
    let product = plan.vector_product().filter(|product| !product.converted);
    product
        .is_some_and(|product| matches!(product.dtype, Dtype::F32 | Dtype::F64) && side(&product).is_some())
}

/// # Safety
/// As for [`narrow`]; the elements are of the type.
unsafe fn rows<T: Number>(
    plan: &LaunchPlan,
    matrix: usize,
    [n, k]: [&ProductSide; 2],
    tuning: &Tuning,
) -> bool {
    let Some(run) = rows_kernel::<T>(k.len, tuning.isa) else { return false };
    let bytes = |step: isize| step.wrapping_mul(size_of::<T>().cast_signed());
    let mut vector = [T::zeroed(); MOST];
    let from = plan.inputs[1 - matrix].ptr.as_ptr().cast::<T>();
    for (i, element) in (0_isize..).zip(&mut vector[..k.len]) {
        // SAFETY: the caller's contract: the vector has an element for each column.
        *element = unsafe { *from.wrapping_offset(k.steps[1 - matrix].wrapping_mul(i)) };
    }
    let steps = Steps { vector: bytes(n.steps[2]), matrix: bytes(n.steps[matrix]) };
    let (to, from) = (Address(plan.outputs[0].ptr.as_ptr()), Address(plan.inputs[matrix].ptr.as_ptr()));
    let (vector, steps_of) =
        (Address(vector.as_mut_ptr().cast()), Address((&raw const steps).cast_mut().cast()));
    split::ranges(n.len, 1, (k.len + 1) * size_of::<T>(), split::GRAIN, tuning.threads, &|start, end| {
        let at = |of: Address, step: isize| of.at(0).wrapping_offset(step.wrapping_mul(start.cast_signed()));
        let (to, from) = (at(to, steps.vector), at(from, steps.matrix));
        // SAFETY: the caller's contract: so many rows are there, and as many elements of the output, which no other part writes.
        unsafe { run(to, vector.at(0), from, steps_of.at(0), 0, end - start) };
    });
    true
}

/// The function for a vector from the right of a matrix of so many columns.
fn rows_kernel<T: Number>(columns: usize, isa: Isa) -> Option<StepFn> {
    Some(match columns {
        2 => entry::<Rows<T, 2>>(isa),
        3 => entry::<Rows<T, 3>>(isa),
        4 => entry::<Rows<T, 4>>(isa),
        5 => entry::<Rows<T, 5>>(isa),
        6 => entry::<Rows<T, 6>>(isa),
        7 => entry::<Rows<T, 7>>(isa),
        8 => entry::<Rows<T, 8>>(isa),
        16 => entry::<Rows<T, 16>>(isa),
        _ => return None,
    })
}

/// The sums of the products of `len` rows with a vector. Sources: the vector, the matrix, and [`Steps`], of which the first is the
/// output's.
struct Rows<T, const N: usize>(PhantomData<T>);

impl<T: Number, const N: usize> Kernel for Rows<T, N> {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, [vector, b, steps]: [*const u8; 3], _: u32, len: usize) {
        // SAFETY: for all of this function: the caller's contract.
        unsafe {
            let &Steps { vector: to, matrix } = &*steps.cast::<Steps>();
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

/// # Safety
/// As for [`narrow`]; the elements are of the type.
unsafe fn sums<T: Number>(
    plan: &LaunchPlan,
    matrix: usize,
    [n, k]: [&ProductSide; 2],
    tuning: &Tuning,
) -> Result<bool> {
    let Some(run) = kernel::<T>(n.len, tuning.isa) else { return Ok(false) };
    let bytes = |step: isize| step.wrapping_mul(size_of::<T>().cast_signed());
    let steps = Steps { vector: bytes(k.steps[1 - matrix]), matrix: bytes(k.steps[matrix]) };
    let (a, b) = (Address(plan.inputs[1 - matrix].ptr.as_ptr()), Address(plan.inputs[matrix].ptr.as_ptr()));
    let parts = k.len.div_ceil(ROWS);
    let mut all: Vec<T> = heap::zeroed("sums of rows", parts * n.len)?;
    let to = Address(all.as_mut_ptr().cast());
    let steps_of = Address((&raw const steps).cast_mut().cast());
    split::ranges(parts, 1, ROWS * (n.len + 1) * size_of::<T>(), 1, tuning.threads, &|start, end| {
        for part in start..end {
            let first = part * ROWS;
            let rows = ROWS.min(k.len - first);
            let at =
                |of: Address, step: isize| of.at(0).wrapping_offset(step.wrapping_mul(first.cast_signed()));
            let (a, b) = (at(a, steps.vector), at(b, steps.matrix));
            // SAFETY: the caller's contract: so many rows are there; each part has sums of its own.
            unsafe { run(to.at(part * n.len * size_of::<T>()), a, b, steps_of.at(0), 0, rows) };
        }
    });
    let out = plan.outputs[0].ptr.as_ptr().cast::<T>();
    for (j, &sum) in (0_isize..).zip(pairwise(&mut all, n.len)) {
        // SAFETY: the caller's contract: the output has an element for each column.
        unsafe { *out.wrapping_offset(j * n.steps[2]) = sum };
    }
    Ok(true)
}

/// Adds up rows of a length pairwise, with the first two first.
pub(super) fn pairwise<T: Copy + Add<Output = T>>(all: &mut [T], len: usize) -> &[T] {
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

/// A floating type.
trait Number: Copy + Zeroable + Add<Output = Self> + Mul<Output = Self> {}
impl<T: Copy + Zeroable + Add<Output = T> + Mul<Output = T>> Number for T {}

/// The function for a matrix of so many columns.
fn kernel<T: Number>(columns: usize, isa: Isa) -> Option<StepFn> {
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
            let &Steps { vector, matrix } = &*steps.cast::<Steps>();
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
