//! Contractions: sums of products whose operands lie as matrices do.
//!
//! A matrix product arrives as a reduction ([`LaunchPlan::product`]). Floats go to the `gemm` crate; its results do not depend
//! on the number of threads, as it cuts `k` by the size of the caches alone. Integers, whose sums wrap and so are the same in
//! any order, have the blocks of [`integer`](super::integer), and floats of a few rows and columns the loops of
//! [`few`](super::few).

use std::ops::Add;

use bytemuck::Zeroable;
use smallvec::SmallVec;
use stridewise_core::memory::heap;
use stridewise_core::{
    Complex, Dtype, Result,
    backend::{LaunchPlan, MAX_PLAN_DIMS, ProductSide},
};

use super::few::few;
use super::integer;
use super::matrices::{A, B, OUT, Product, Side};
use super::narrow::pairwise;
use crate::fork_join;
use crate::kernels::moving::space::{Space, View};
use crate::kernels::split::{self, Address};
use crate::kernels::tuning::Tuning;
use crate::simd::Isa;

/// Multiplications up to which a product is not worth several threads, nor is part of one.
const SMALL: usize = 32 * 32 * 32;
/// Rows and columns of a part at least, and more than so many of the one or the other: where there are no more of either, the
/// kernels cut the sums at other places, and the bits would depend on the number of parts.
const PART_LEN: usize = 32;
const LONG_PART_LEN: usize = 64;
/// Sums of so many products are not cut by the kernels: then a few rows, or columns, do for the other side of a part, but for those
/// products that the kernels have other loops for.
const UNCUT: usize = 256;
const FEW_LEN: usize = 4;
/// Rows and columns at most of a product of which several threads do a part of each sum, as there are no parts of rows or columns.
const SMALL_LEN: usize = 64;
/// Products of such a part at least, and parts at most, which bounds the memory of their sums: neither depends on the number of
/// threads, as the order of the sums does.
const DEPTH: usize = 1 << 12;
const DEPTHS: usize = 64;
/// Bytes of traffic that a multiplication is worth, one in as many.
const PER_BYTE: usize = 8;
/// Products of each sum at most for which `gemm` packs factors at a time, and rows and columns at most to which it rounds up.
const PACKED_DEPTH: usize = 1 << 10;
const PACKED_LEN: usize = 64;
/// Bytes at most that it packs on a thread, or as many as the last cache has; and that it keeps for each, a second cache.
const PACKED_BYTES: usize = 8 << 20;
const KEPT_BYTES: usize = 2 << 20;

/// Asks for the memory in which threads pack factors of so many parts of a product, as `gemm` ends the process where there is none.
///
/// # Errors
/// There is no memory for it.
fn room_to_pack<T>(parts: usize, [rows, columns, depth]: [usize; 3], tuning: &Tuning) -> Result<()> {
    let len = (rows.saturating_add(columns) + 2 * PACKED_LEN).saturating_mul(depth.min(PACKED_DEPTH));
    let bytes =
        len.saturating_mul(size_of::<T>()).min(tuning.last_cache_bytes.max(PACKED_BYTES)) + KEPT_BYTES;
    heap::with_capacity::<u8>("packed parts of the matrices", bytes * parts.min(tuning.threads.max(1)))
        .map(drop)
}

/// A floating type, real or complex.
trait Number: Copy + Send + Sync + Zeroable + Add<Output = Self> + 'static {}
impl<T: Copy + Send + Sync + Zeroable + Add<Output = T> + 'static> Number for T {}

/// Where a part of a length begins, and the next one.
fn cut(len: usize, parts: usize, part: usize) -> (usize, usize) {
    (len * part / parts, len * (part + 1) / parts)
}

/// Runs a reduction as matrix products, if it is one; answers whether it was.
///
/// # Errors
/// There is no memory to bring parts of the matrices together.
///
/// # Safety
/// The contract of [`run`](crate::kernels::run).
pub(crate) unsafe fn contract(plan: &LaunchPlan, tuning: &Tuning) -> Result<bool> {
    let Some(product) = recognise(plan, tuning.isa) else { return Ok(false) };
    let (count, threads) = (product.batch.len(), tuning.threads);
    let work = product.m.len.saturating_mul(product.n.len).saturating_mul(product.k.len);
    if threads > 1 && (count >= 2 * threads || work <= SMALL) {
        split::try_ranges(count, 1, work / PER_BYTE, 1, threads, &|start, end| {
            let alone = Tuning { threads: 1, ..*tuning };
            // SAFETY: the plan's addresses are readable and writable; products have outputs of their own, and
            // each is one thread's.
            unsafe { product.range(start, end, &alone) }
        })?;
    } else {
        // SAFETY: the plan's addresses are readable and writable, and by `run`'s contract nothing else
        // accesses them in conflict.
        unsafe { product.range(0, count, tuning) }?;
    }
    Ok(true)
}

/// Whether a reduction is run as matrix products.
pub(crate) fn is_contraction(plan: &LaunchPlan, isa: Isa) -> bool {
    recognise(plan, isa).is_some()
}

/// The matrix products that a reduction is and that there are kernels for.
fn recognise(plan: &LaunchPlan, isa: Isa) -> Option<Product> {
    let product = plan.product()?;
    if product.converted || product.out != product.dtype {
        return None;
    }
    let size = product.dtype.size().cast_signed();
    let bytes =
        |side: &ProductSide| Side { len: side.len, steps: side.steps.map(|step| step.wrapping_mul(size)) };
    let operands = [&plan.inputs[A], &plan.inputs[B], &plan.outputs[0]];
    let (mut dims, mut views) = (SmallVec::<[usize; MAX_PLAN_DIMS]>::new(), SmallVec::new());
    dims.extend(product.batch.iter().map(|side| side.len));
    for (view, operand) in operands.into_iter().enumerate() {
        let mut strides = SmallVec::new();
        for side in &product.batch {
            strides.push(side.steps[view].wrapping_mul(size));
        }
        views.push(View { ptr: operand.ptr.as_ptr(), size: product.dtype.size(), strides, index: false });
    }
    let [m, n, k] = [&product.m, &product.n, &product.k].map(bytes);
    Some(Product { dtype: product.dtype, m, n, k, batch: Space::new(&dims, views, isa) })
}

impl Product {
    /// Multiplies the matrices `start..end`.
    ///
    /// # Safety
    /// The plan's contract.
    unsafe fn range(&self, start: usize, end: usize, tuning: &Tuning) -> Result<()> {
        let few = few(self, tuning.isa);
        let mut cursor = self.batch.seek(start);
        for matrix in start..end {
            if matrix > start {
                self.batch.advance(&mut cursor, 1);
            }
            let at = [cursor.at[A], cursor.at[B], cursor.at[OUT]];
            if let Some(run) = few {
                // SAFETY: the addresses are those of product number `matrix`; the function is for products of
                // this dtype and of these extents, and reads them from `self`.
                unsafe { run.call(at[OUT], at[A], at[B], self) };
                continue;
            }
            // SAFETY: for all of these: the addresses are those of product number `matrix`, and the type is
            // the dtype's.
            unsafe {
                match self.dtype {
                    Dtype::F32 => self.float(at, (0.0_f32, 1.0), tuning),
                    Dtype::F64 => self.float(at, (0.0_f64, 1.0), tuning),
                    Dtype::C64 => {
                        let number = |re| Complex::<f32>::new(re, 0.0);
                        self.float(at, (number(0.0), number(1.0)), tuning)
                    }
                    Dtype::C128 => {
                        let number = |re| Complex::<f64>::new(re, 0.0);
                        self.float(at, (number(0.0), number(1.0)), tuning)
                    }
                    _ => integer::multiply(self, at, tuning),
                }?;
            }
        }
        Ok(())
    }

    /// # Safety
    /// The operands of this product are at the addresses; they are of `T`.
    unsafe fn float<T: Number>(&self, at: [*mut u8; 3], units: (T, T), tuning: &Tuning) -> Result<()> {
        let at = at.map(Address);
        if let Some(parts) = self.depths() {
            // SAFETY: the operands of this product are at the addresses, of `T`.
            return unsafe { self.deep(at, parts, units, tuning) };
        }
        let (rows, columns) = self.parts(tuning.threads);
        let part = [self.m.len.div_ceil(rows), self.n.len.div_ceil(columns), self.k.len];
        room_to_pack::<T>(rows * columns, part, tuning)?;
        fork_join::share(rows * columns, tuning.threads, &|part| {
            let (m, n) = (cut(self.m.len, rows, part % rows), cut(self.n.len, columns, part / rows));
            let at = [A, B, OUT].map(|view| {
                let ahead = m.0.cast_signed() * self.m.steps[view] + n.0.cast_signed() * self.n.steps[view];
                at[view].at(0).wrapping_offset(ahead)
            });
            let to = [self.m.steps[OUT], self.n.steps[OUT]];
            // SAFETY: the operands are at the addresses, of `T`, from the first row and column of the part
            // on, which no other part writes.
            unsafe { self.block(at, [m.1 - m.0, n.1 - n.0, self.k.len], to, units) };
        });
        Ok(())
    }

    /// Into how many parts each sum is cut, where it is.
    fn depths(&self) -> Option<usize> {
        let small = self.m.len.max(self.n.len) <= SMALL_LEN;
        let parts = (self.k.len / DEPTH).min(DEPTHS);
        (small && parts > 1).then_some(parts)
    }

    /// Multiplies matrices of a few rows and columns: parts of the sums, which are added up pairwise then.
    ///
    /// # Errors
    /// There is no memory for the parts.
    ///
    /// # Safety
    /// As for [`float`](Self::float).
    unsafe fn deep<T: Number>(
        &self,
        at: [Address; 3],
        parts: usize,
        units: (T, T),
        tuning: &Tuning,
    ) -> Result<()> {
        let (m, n, size) = (self.m.len, self.n.len, size_of::<T>());
        room_to_pack::<T>(parts, [m, n, self.k.len.div_ceil(parts)], tuning)?;
        let mut sums: Vec<T> = heap::zeroed("parts of sums", parts * m * n)?;
        let to = Address(sums.as_mut_ptr().cast());
        let steps = [n * size, size].map(usize::cast_signed);
        let bytes = self.k.len / parts * (m + n) * size;
        split::ranges(parts, 1, bytes, 1, tuning.threads, &|start, end| {
            for part in start..end {
                let (first, behind) = cut(self.k.len, parts, part);
                let from = |view: usize| {
                    at[view].at(0).wrapping_offset(first.cast_signed().wrapping_mul(self.k.steps[view]))
                };
                let at = [from(A), from(B), to.at(part * m * n * size)];
                // SAFETY: the operands are at the addresses, of `T`, from the first product of the part on;
                // each part has `m · n` sums of its own.
                unsafe { self.block(at, [m, n, behind - first], steps, units) };
            }
        });
        for (place, &sum) in pairwise(&mut sums, m * n).iter().enumerate() {
            let (i, j) = ((place / n).cast_signed(), (place % n).cast_signed());
            let to = at[OUT].at(0).wrapping_offset(i * self.m.steps[OUT] + j * self.n.steps[OUT]);
            // SAFETY: the output has an element of `T` for each row and column, which is writable.
            unsafe { *to.cast::<T>() = sum };
        }
        Ok(())
    }

    /// Into how many parts of rows and of columns one product of floats is divided. Each packs its rows and columns for itself.
    fn parts(&self, threads: usize) -> (usize, usize) {
        let (m, n) = (self.m.len, self.n.len);
        let work = m.saturating_mul(n).saturating_mul(self.k.len);
        let wanted = if threads > 1 { (split::PARTS * threads).min(work / SMALL) } else { 1 };
        let (mut rows, mut columns) = (1, 1);
        while rows * columns < wanted {
            let (by_rows, by_columns) = ([m / (2 * rows), n / columns], [n / (2 * columns), m / rows]);
            let uncut = self.k.len <= UNCUT;
            // Of the side that is divided, and of the other one.
            let fits = |[a, b]: [usize; 2]| {
                let both = a.min(b) >= PART_LEN && a.max(b) > LONG_PART_LEN;
                both || (uncut && a > LONG_PART_LEN && b >= FEW_LEN)
            };
            match (fits(by_rows), fits(by_columns)) {
                (true, _) if by_rows[0] >= by_columns[0] || !fits(by_columns) => rows *= 2,
                (_, true) => columns *= 2,
                _ => break,
            }
        }
        (rows, columns)
    }

    /// Multiplies some rows with some columns, or parts of them, on this thread, to where the steps from row to row and from column
    /// to column lead.
    ///
    /// # Safety
    /// - At the addresses of the factors, `rows`, `columns` and `depth` elements of `T` are readable along the steps of this product.
    /// - At that of the output, `rows` by `columns` elements of `T` are writable along the steps of `to`; they are no factor's, and
    ///   nothing else accesses them.
    unsafe fn block<T: Copy + 'static>(
        &self,
        at: [*mut u8; 3],
        [rows, columns, depth]: [usize; 3],
        to: [isize; 2],
        (zero, one): (T, T),
    ) {
        let size = size_of::<T>().cast_signed();
        let step = |side: &Side, view: usize| side.steps[view] / size;
        let Self { m, n, k, .. } = self;
        // SAFETY: so many rows, columns and products of each sum are at the addresses, of `T`: every element
        // that the steps reach is the plan's, or one of the sums of `deep`; the output overlaps no input.
        unsafe {
            gemm::gemm(
                rows,
                columns,
                depth,
                at[OUT].cast::<T>(),
                to[1] / size,
                to[0] / size,
                false,
                at[A].cast::<T>(),
                step(k, A),
                step(m, A),
                at[B].cast::<T>(),
                step(n, B),
                step(k, B),
                zero,
                one,
                false,
                false,
                false,
                // Threads are the engine's own: who waits for rayon's runs other jobs of rayon's on its stack meanwhile, which may
                // wait for this very product.
                gemm::Parallelism::None,
            );
        };
    }
}
