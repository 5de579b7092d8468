//! Products of matrices of integers.

use std::marker::PhantomData;

use stridewise_core::Result;

use super::matrices::Product;
use crate::kernels::entry::{Kernel, contract, entry};
use crate::kernels::moving::pack;
use crate::kernels::plain::Plain;
use crate::kernels::program::tile::Scratch;
use crate::kernels::split::{self, Address};
use crate::kernels::tuning::Tuning;
use crate::simd::Isa;

/// Rows of the output that one thread computes at a time, and products of a sum: as many rows of the second operand stay in the second
/// cache.
const ROWS: usize = 64;
/// Columns of the output at a time: a row of them stays in the first cache.
const COLUMNS: usize = 256;
/// Rows of the second operand that are added in one pass.
const AT_ONCE: usize = 4;

contract! {
    /// Adds the products of `count` factors with as many rows, [`COLUMNS`] elements apart, to a row of sums.
    ///
    /// - `count` factors are readable, and `len` elements of each row, of the size that the function was found for.
    /// - `len` sums are writable, apart from both, and nothing else accesses them.
    AddFn(sums: *mut u8, factors: *const u8, rows: *const u8, count: usize, len: usize)
        = sums, [factors, rows, factors], count as u32, len
}

/// Adds products to a row. `dst`: the sums; sources: factors, one for each row of the second operand, and these rows,
/// [`COLUMNS`] elements apart; flags: their number; `len`: of a row.
struct AddProducts<P>(PhantomData<P>);

impl<P: Plain<Value: std::ops::Add<Output = P::Value> + std::ops::Mul<Output = P::Value>>> AddProducts<P> {
    /// # Safety
    /// `N` factors and rows are readable, the sums writable.
    #[inline(always)]
    unsafe fn pass<const N: usize>(dst: *mut P::Mem, a: *const P::Mem, b: *const P::Mem, len: usize) {
        // SAFETY: for all of this function: `N` factors are readable, and as many rows of `len` elements,
        // `COLUMNS` apart; `len` sums are readable and writable.
        unsafe {
            let mut factors = [P::get(*a); N];
            for (r, factor) in factors.iter_mut().enumerate() {
                *factor = P::get(*a.add(r));
            }
            for i in 0..len {
                let mut sum = P::get(*dst.add(i));
                for (r, &factor) in factors.iter().enumerate() {
                    sum = sum + factor * P::get(*b.add(r * COLUMNS + i));
                }
                *dst.add(i) = P::put(sum);
            }
        }
    }
}

impl<P: Plain<Value: std::ops::Add<Output = P::Value> + std::ops::Mul<Output = P::Value>>> Kernel
    for AddProducts<P>
{
    type Fn = AddFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [a, b, _]: [*const u8; 3], flags: u32, len: usize) {
        let (dst, a, b) = (dst.cast::<P::Mem>(), a.cast::<P::Mem>(), b.cast::<P::Mem>());
        let (count, mut r) = (flags as usize, 0);
        // SAFETY: the contract above is the passes'.
        unsafe {
            while r + AT_ONCE <= count {
                Self::pass::<AT_ONCE>(dst, a.add(r), b.add(r * COLUMNS), len);
                r += AT_ONCE;
            }
            while r < count {
                Self::pass::<1>(dst, a.add(r), b.add(r * COLUMNS), len);
                r += 1;
            }
        }
    }
}

/// The kernel for integers of a size: sums and products wrap, so that signs do not matter.
fn kernel(size: usize, isa: Isa) -> AddFn {
    match size {
        1 => entry::<AddProducts<u8>>(isa),
        2 => entry::<AddProducts<u16>>(isa),
        4 => entry::<AddProducts<u32>>(isa),
        _ => entry::<AddProducts<u64>>(isa),
    }
}

/// Multiplies two matrices: blocks of the output by several threads, each from rows of blocks that lie as they are used.
///
/// # Errors
/// There is no memory for the blocks.
///
/// # Safety
/// The operands of the product are at the addresses, which are integers; the output overlaps no input.
pub(crate) unsafe fn multiply(product: &Product, [a, b, out]: [*mut u8; 3], tuning: &Tuning) -> Result<()> {
    let Product { m, n, k, dtype, .. } = product;
    let size = dtype.size();
    let run = kernel(size, tuning.isa);
    let (a, b, out) = (Address(a), Address(b), Address(out));
    let columns = n.len.div_ceil(COLUMNS);
    let blocks = m.len.div_ceil(ROWS) * columns;
    let bytes = (ROWS * COLUMNS / 8).saturating_mul(k.len);
    split::try_ranges(blocks, columns, bytes, 1, tuning.threads, &|start, end| {
        // As many sums, rows and factors as any block takes, each aligned for every dtype.
        let pitch = COLUMNS * size;
        let (rows_from, factors_from) = (ROWS * pitch, 2 * ROWS * pitch);
        let mut scratch = Scratch::take(factors_from + ROWS * size)?;
        let [sums_at, rows_at, factors_at] =
            [0, rows_from, factors_from].map(|from| scratch.ptr().wrapping_add(from));
        for block in start..end {
            let (row, column) = (block / columns * ROWS, block % columns * COLUMNS);
            let (height, width) = (ROWS.min(m.len - row), COLUMNS.min(n.len - column));
            let place = |address: Address, steps: [(isize, usize); 2]| {
                let offset: isize = steps.iter().map(|&(step, i)| step * i.cast_signed()).sum();
                address.0.wrapping_offset(offset)
            };
            // SAFETY: for all of this closure: the operands of the product are at the addresses, of integers
            // of the size; blocks are within the matrices and disjoint, and what is packed fits the memory
            // above.
            unsafe {
                sums_at.write_bytes(0, height * pitch);
                let mut depth = 0;
                while depth < k.len {
                    let deep = ROWS.min(k.len - depth);
                    for r in 0..deep {
                        let from = place(b, [(k.steps[1], depth + r), (n.steps[1], column)]);
                        pack::gather(tuning.isa, rows_at.add(r * pitch), from, n.steps[1], size, width);
                    }
                    for i in 0..height {
                        let from = place(a, [(m.steps[0], row + i), (k.steps[0], depth)]);
                        pack::gather(tuning.isa, factors_at, from, k.steps[0], size, deep);
                        run.call(sums_at.add(i * pitch), factors_at, rows_at, deep, width);
                    }
                    depth += deep;
                }
                for i in 0..height {
                    let to = place(out, [(m.steps[2], row + i), (n.steps[2], column)]);
                    pack::scatter(to, sums_at.add(i * pitch), n.steps[2], size, width);
                }
            }
        }
        Ok(())
    })
}
