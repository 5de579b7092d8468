//! Products of a vector with a matrix, of `float32` and `float64`: limited by the bytes of the matrix, each of which is read once.
//!
//! Where its columns lie beside each other, their sums are kept while its rows are read, several at a time; of
//! [a few columns](super::narrow) in registers. Where its rows lie closely, each is multiplied with the vector, several at a time.
//! The order of the sums is one of extents alone, whatever the number of threads and the instruction set.
//!
//! Rows that are added to a block of columns are pairwise sums of 128 rows each; with all sums in registers,
//! of up to eight columns, or sixteen, it is 1024 rows. Rows that lie closely are multiplied four at a time,
//! with sixteen sums each. 1024 × 1024, two processors of a Zen 5, as a reduction, now, and OpenBLAS over
//! ours: `float32` 4.2 ms, 46 µs, 0.86; `float64` 4.2 ms, 106 µs, 0.71.

use std::marker::PhantomData;

use stridewise_core::memory::heap;
use stridewise_core::{Dtype, Result, backend::LaunchPlan};

use super::narrow::{self, Number, Steps, VectorFn};
use crate::kernels::entry::{Kernel, entry};
use crate::kernels::split::{self, Address};
use crate::kernels::tuning::{FIRST_CACHE_BYTES, Tuning};

/// Rows that are summed by themselves, where there are many columns: threads share them, and their sums are as many of the bytes
/// that are read.
const ROWS: usize = 128;
/// Bytes at most of the sums of rows that are kept beside each other, or those of one block of columns: the windows of a row are a matrix
/// of any size.
const SUMS_BYTES: usize = 64 << 20;
/// Rows that are added to the sums at a time, so that these are read and written once for all of them.
const GROUP: usize = 8;
/// Elements that are multiplied at a time: whole vectors at every level. Of a row, so many sums are kept beside each other.
const BLOCK: usize = 16;
/// Rows that are multiplied with the vector at a time, so that it is read once for all of them: as many sums of [`BLOCK`] elements as
/// registers hold.
const TOGETHER: usize = 4;

/// A vector of `k` elements times a matrix of `k` by `n`.
#[derive(Clone, Copy)]
pub(crate) struct Vectors {
    pub(crate) dtype: Dtype,
    /// Extents.
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) vector: *mut u8,
    pub(crate) matrix: *mut u8,
    pub(crate) out: *mut u8,
    /// Bytes to step: along the vector, along `n` and `k` in the matrix, along the output.
    pub(crate) steps: [isize; 4],
}

// SAFETY: the pointers are addresses only; whoever uses them does so under the contract of `Vectors::multiply`.
unsafe impl Sync for Vectors {}

/// Runs a reduction as such a product, if it is one; answers whether it was.
///
/// # Errors
/// There is no memory for the sums.
///
/// # Safety
/// The contract of [`run`](crate::kernels::run).
pub(crate) unsafe fn vectors(plan: &LaunchPlan, tuning: &Tuning) -> Result<bool> {
    match Vectors::of_plan(plan) {
        // SAFETY: the plan's elements are of the dtype, those of the factors are readable, those of the
        // output writable and no factor's.
        Some(product) => unsafe { product.multiply(tuning) },
        None => Ok(false),
    }
}

/// Whether a plan is such a product, in which each element of the matrix takes as long as to read it.
pub(crate) fn is_product(plan: &LaunchPlan) -> bool {
    let reads = |product: Vectors| product.steps[1..3].contains(&product.dtype.size().cast_signed());
    Vectors::of_plan(plan).is_some_and(reads)
}

impl Vectors {
    /// The product that a reduction is.
    fn of_plan(plan: &LaunchPlan) -> Option<Self> {
        let product = plan.vector_product().filter(|product| !product.converted)?;
        if !matches!(product.dtype, Dtype::F32 | Dtype::F64) {
            return None;
        }
        let (matrix, vector) = (product.matrix, 1 - product.matrix);
        let bytes = |step: isize| step.wrapping_mul(product.dtype.size().cast_signed());
        Some(Self {
            dtype: product.dtype,
            n: product.n.len,
            k: product.k.len,
            vector: plan.inputs[vector].ptr.as_ptr(),
            matrix: plan.inputs[matrix].ptr.as_ptr(),
            out: plan.outputs[0].ptr.as_ptr(),
            steps: [
                bytes(product.k.steps[vector]),
                bytes(product.n.steps[matrix]),
                bytes(product.k.steps[matrix]),
                bytes(product.n.steps[2]),
            ],
        })
    }

    /// Whether there is a function for it, which has multiplied then.
    ///
    /// # Errors
    /// There is no memory for the sums.
    ///
    /// # Safety
    /// - For each `j < n` and `i < k`, the vector's element `i`, the matrix' element `i, j` and the output's element `j`, where the steps
    ///   lead to, are of the dtype and aligned.
    /// - Those of the factors are readable, those of the output writable, no factor's, and nothing else accesses them in conflict.
    /// - The processor has the instruction set.
    pub(crate) unsafe fn multiply(&self, tuning: &Tuning) -> Result<bool> {
        // SAFETY: the contract of this function; the type is the dtype's.
        unsafe {
            match self.dtype {
                Dtype::F32 => self.of::<f32>(tuning),
                Dtype::F64 => self.of::<f64>(tuning),
                _ => Ok(false),
            }
        }
    }

    /// # Safety
    /// As for [`multiply`](Self::multiply); the elements are of the type.
    unsafe fn of<T: Number>(&self, tuning: &Tuning) -> Result<bool> {
        let size = size_of::<T>().cast_signed();
        let [vector, columns, rows, _] = self.steps;
        // SAFETY: for all of them: the contract of this function; the function and the road are chosen by the
        // steps, so that columns, or elements of rows, are beside each other where they have to be.
        unsafe {
            if columns == size {
                match narrow::kernel::<T>(self.n, tuning.isa).filter(|_| self.k >= narrow::LEAST) {
                    Some(run) => self.sums::<T>(run, (narrow::ROWS, self.n), tuning)?,
                    None => {
                        let kept = FIRST_CACHE_BYTES / size_of::<T>();
                        self.sums::<T>(entry::<Sums<T>>(tuning.isa), (ROWS, kept), tuning)?;
                    }
                }
            } else if let Some(run) = self.short_rows::<T>(tuning).filter(|_| rows == size) {
                self.rows::<T>(run, tuning);
            } else if rows == size && vector == size {
                self.dots::<T>(tuning);
            } else {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds up the rows of the matrix, so many rows and columns at a time.
    ///
    /// # Safety
    /// As for [`of`](Self::of); the columns are beside each other, and the function is for as many.
    unsafe fn sums<T: Number>(
        &self,
        run: VectorFn,
        (rows, columns): (usize, usize),
        tuning: &Tuning,
    ) -> Result<()> {
        let (size, n) = (size_of::<T>(), self.n);
        let (parts, blocks) = (self.k.div_ceil(rows), n.div_ceil(columns));
        let [vector, _, matrix, out] = self.steps;
        let straight = parts == 1 && out == size.cast_signed();
        // The sums of each column are its own.
        let most = (SUMS_BYTES / size / parts).max(columns) / columns * columns;
        if !straight && n > most {
            for first in (0..n).step_by(most) {
                let part = Self {
                    n: most.min(n - first),
                    matrix: self.matrix.wrapping_add(first * size),
                    out: self.out.wrapping_offset(first.cast_signed() * out),
                    ..*self
                };
                // SAFETY: as for this function, of some of the columns.
                unsafe { part.sums::<T>(run, (rows, columns), tuning) }?;
            }
            return Ok(());
        }
        let mut all: Vec<T> = match straight {
            true => Vec::new(),
            false => heap::zeroed("sums of rows", parts.saturating_mul(n))?,
        };
        let to = Address(if straight { self.out } else { all.as_mut_ptr().cast() });
        let bytes = rows.min(self.k) * (columns.min(n) + 1) * size;
        split::ranges(parts * blocks, 1, bytes, 1, tuning.threads, &|start, end| {
            for unit in start..end {
                let (row, column) = (unit / blocks * rows, unit % blocks * columns);
                let steps = Steps { vector, matrix, columns: columns.min(n - column) };
                let ahead = |step: isize| step.wrapping_mul(row.cast_signed());
                let a = self.vector.wrapping_offset(ahead(vector));
                let b = self.matrix.wrapping_offset(ahead(matrix)).wrapping_add(column * size);
                let to = to.at((unit / blocks * n + column) * size);
                // SAFETY: `rows` rows of the matrix from `row` on, with `steps.columns` columns from `column`
                // on, and as many elements of the vector are readable, as they are below `k` and `n`; each
                // unit has sums of its own.
                unsafe { run.call(to, a, b, &steps, rows.min(self.k - row)) };
            }
        });
        if straight {
            return Ok(());
        }
        for (j, &sum) in (0_isize..).zip(narrow::pairwise(&mut all, n)) {
            // SAFETY: the output has an element of the type for each column, which is writable.
            unsafe { *self.out.wrapping_offset(j * out).cast::<T>() = sum };
        }
        Ok(())
    }

    /// The function for rows of as many elements, of which there are many.
    fn short_rows<T: Number>(&self, tuning: &Tuning) -> Option<VectorFn> {
        narrow::rows_kernel::<T>(self.k, tuning.isa).filter(|_| self.n >= narrow::LEAST)
    }

    /// Multiplies each short row of the matrix, seen the other way round, with the vector.
    ///
    /// # Safety
    /// As for [`of`](Self::of); the elements of the rows are beside each other, and the function is for as many.
    unsafe fn rows<T: Number>(&self, run: VectorFn, tuning: &Tuning) {
        let [step, matrix, _, out] = self.steps;
        let mut vector = [T::zeroed(); narrow::MOST];
        for (i, element) in (0_isize..).zip(&mut vector[..self.k]) {
            // SAFETY: the vector has an element of the type for each of `k` rows, which is readable.
            *element = unsafe { *self.vector.wrapping_offset(step.wrapping_mul(i)).cast::<T>() };
        }
        let (vector, steps) =
            (Address(vector.as_mut_ptr().cast()), Steps { vector: out, matrix, columns: self.k });
        let bytes = (self.k + 1) * size_of::<T>();
        split::ranges(self.n, 1, bytes, split::GRAIN, tuning.threads, &|start, end| {
            let at = |of: *mut u8, step: isize| of.wrapping_offset(step.wrapping_mul(start.cast_signed()));
            let (to, rows) = (at(self.out, out), at(self.matrix, matrix));
            // SAFETY: rows `start..end` of the matrix, of `k` elements each, are readable, and so is the
            // vector's copy; each row has an element of the output, which is one thread's.
            unsafe { run.call(to, vector.at(0), rows, &steps, end - start) };
        });
    }

    /// Multiplies each row of the matrix, seen the other way round, with the vector.
    ///
    /// # Safety
    /// As for [`of`](Self::of); the elements of the rows, and those of the vector, are beside each other.
    unsafe fn dots<T: Number>(&self, tuning: &Tuning) {
        let run = entry::<Dots<T>>(tuning.isa);
        let [_, matrix, _, out] = self.steps;
        let steps = Steps { vector: out, matrix, columns: self.k };
        split::ranges(self.n, 1, self.k * size_of::<T>(), TOGETHER, tuning.threads, &|start, end| {
            let at = |of: *mut u8, step: isize| of.wrapping_offset(step.wrapping_mul(start.cast_signed()));
            let (to, rows) = (at(self.out, out), at(self.matrix, matrix));
            // SAFETY: rows `start..end` of the matrix, of `k` elements each, are readable, and so are `k` of
            // the vector; each row has an element of the output, which is one thread's.
            unsafe { run.call(to, self.vector, rows, &steps, end - start) };
        });
    }
}

/// The sums of the columns of `len` rows, each times an element of a vector. Sources: the vector, the matrix, and [`Steps`].
struct Sums<T>(PhantomData<T>);

impl<T: Number> Kernel for Sums<T> {
    type Fn = VectorFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [a, b, steps]: [*const u8; 3], _: u32, len: usize) {
        let dst = dst.cast::<T>();
        // SAFETY: for all of this function: `steps` is a `Steps`; `len` elements of the vector and as many
        // rows of `columns` elements are readable, and `columns` sums writable at `dst`. `BLOCK` columns from
        // `j` on are among all.
        unsafe {
            let &Steps { vector, matrix, columns } = &*steps.cast::<Steps>();
            let factor = |i: usize| *a.offset(i.cast_signed() * vector).cast::<T>();
            let row = |i: usize| b.offset(i.cast_signed() * matrix).cast::<T>();
            for j in 0..columns {
                *dst.add(j) = T::zeroed();
            }
            let mut i = 0;
            while i + GROUP <= len {
                let factors: [T; GROUP] = std::array::from_fn(|r| factor(i + r));
                let rows: [*const T; GROUP] = std::array::from_fn(|r| row(i + r));
                let mut j = 0;
                while j + BLOCK <= columns {
                    // The sums of every second row are added to what is there, those of the others to each other.
                    let mut even = *dst.add(j).cast::<[T; BLOCK]>();
                    let mut odd = [T::zeroed(); BLOCK];
                    let mut r = 0;
                    while r < GROUP {
                        let first = *rows[r].add(j).cast::<[T; BLOCK]>();
                        let second = *rows[r + 1].add(j).cast::<[T; BLOCK]>();
                        let mut c = 0;
                        while c < BLOCK {
                            even[c] = even[c] + factors[r] * first[c];
                            odd[c] = odd[c] + factors[r + 1] * second[c];
                            c += 1;
                        }
                        r += 2;
                    }
                    let mut c = 0;
                    while c < BLOCK {
                        even[c] = even[c] + odd[c];
                        c += 1;
                    }
                    *dst.add(j).cast::<[T; BLOCK]>() = even;
                    j += BLOCK;
                }
                while j < columns {
                    let (mut even, mut odd) = (*dst.add(j), T::zeroed());
                    let mut r = 0;
                    while r < GROUP {
                        even = even + factors[r] * *rows[r].add(j);
                        odd = odd + factors[r + 1] * *rows[r + 1].add(j);
                        r += 2;
                    }
                    *dst.add(j) = even + odd;
                    j += 1;
                }
                i += GROUP;
            }
            while i < len {
                let (factor, row) = (factor(i), row(i));
                for j in 0..columns {
                    *dst.add(j) = *dst.add(j) + factor * *row.add(j);
                }
                i += 1;
            }
        }
    }
}

/// The sums of the products of `len` rows with a vector. Sources: the vector, the matrix, and [`Steps`], of which that of the vector
/// is the output's.
struct Dots<T>(PhantomData<T>);

impl<T: Number> Kernel for Dots<T> {
    type Fn = VectorFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [a, b, steps]: [*const u8; 3], _: u32, len: usize) {
        // SAFETY: for all of this function: `steps` is a `Steps`; `columns` elements of the vector and `len`
        // rows of as many are readable, and an element of the output is writable for each row.
        unsafe {
            let &Steps { vector: out, matrix, columns } = &*steps.cast::<Steps>();
            let a = a.cast::<T>();
            let to = |i: usize| dst.offset(i.cast_signed() * out).cast::<T>();
            let row = |i: usize| b.offset(i.cast_signed() * matrix).cast::<T>();
            let mut i = 0;
            while i + TOGETHER <= len {
                let rows: [*const T; TOGETHER] = std::array::from_fn(|r| row(i + r));
                let sums = dots(rows, a, columns);
                let mut r = 0;
                while r < TOGETHER {
                    *to(i + r) = sums[r];
                    r += 1;
                }
                i += TOGETHER;
            }
            while i < len {
                let [sum] = dots([row(i)], a, columns);
                *to(i) = sum;
                i += 1;
            }
        }
    }
}

/// The sums of the products of some rows of `len` elements with a vector.
///
/// # Safety
/// The elements are readable.
#[inline(always)]
unsafe fn dots<T: Number, const R: usize>(rows: [*const T; R], vector: *const T, len: usize) -> [T; R] {
    let mut sums = [[T::zeroed(); BLOCK]; R];
    let mut i = 0;
    // SAFETY: for all of this block: `len` elements of each row and of the vector are readable; what is read
    // ends at `len`.
    unsafe {
        while i + BLOCK <= len {
            let factors = *vector.add(i).cast::<[T; BLOCK]>();
            let mut r = 0;
            while r < R {
                let row = *rows[r].add(i).cast::<[T; BLOCK]>();
                let mut c = 0;
                while c < BLOCK {
                    sums[r][c] = sums[r][c] + row[c] * factors[c];
                    c += 1;
                }
                r += 1;
            }
            i += BLOCK;
        }
        let mut c = 0;
        while i < len {
            let factor = *vector.add(i);
            let mut r = 0;
            while r < R {
                sums[r][c] = sums[r][c] + *rows[r].add(i) * factor;
                r += 1;
            }
            (i, c) = (i + 1, c + 1);
        }
    }
    std::array::from_fn(|r| {
        let mut width = BLOCK / 2;
        while width > 0 {
            let mut c = 0;
            while c < width {
                sums[r][c] = sums[r][c] + sums[r][c + width];
                c += 1;
            }
            width /= 2;
        }
        sums[r][0]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Isa;

    /// Extents beside those of blocks, groups and parts, with exact sums.
    #[test]
    fn rows_and_columns_at_every_edge() {
        let size = size_of::<f64>().cast_signed();
        for (n, k) in
            [(1, 1), (5, 3), (15, 9), (16, 8), (17, 127), (2049, 17), (33, 129), (4, 300), (130, 31)]
        {
            let matrix: Vec<f64> = (0..n * k).map(|i| (i * 7 % 13) as f64 - 6.0).collect();
            let vector: Vec<f64> = (0..k).map(|i| (i % 5) as f64 - 2.0).collect();
            for (close, threads) in [(true, 1), (false, 1), (true, 3), (false, 3)] {
                let at = |i: usize, j: usize| if close { i * n + j } else { j * k + i };
                let expected: Vec<f64> =
                    (0..n).map(|j| (0..k).map(|i| vector[i] * matrix[at(i, j)]).sum()).collect();
                let long = |extent: usize| size * extent.cast_signed();
                let [columns, rows] = if close { [size, long(n)] } else { [long(k), size] };
                // Of one row or column, both lie closely.
                for (&isa, step) in Isa::available().iter().flat_map(|isa| [1, 2].map(|step| (isa, step))) {
                    let mut out = vec![f64::NAN; n * step];
                    let product = Vectors {
                        dtype: Dtype::F64,
                        n,
                        k,
                        vector: vector.as_ptr().cast_mut().cast(),
                        matrix: matrix.as_ptr().cast_mut().cast(),
                        out: out.as_mut_ptr().cast(),
                        steps: [size, columns, rows, long(step)],
                    };
                    let tuning = Tuning { isa, threads, last_cache_bytes: 1 << 25 };
                    // SAFETY: all of it is this test's; the level is available.
                    assert!(unsafe { product.multiply(&tuning) }.unwrap());
                    for (j, &expected) in expected.iter().enumerate() {
                        assert_eq!(out[j * step], expected, "{} {n} {k} {close} {j}", isa.name());
                    }
                    assert!(step == 1 || out.iter().skip(1).step_by(2).all(|x| x.is_nan()));
                }
            }
        }
    }
}
