//! Folds of rows: element by element into a row of accumulators, several rows in one pass, so that the accumulators are read and
//! written once for all of them.

use std::marker::PhantomData;

use stridewise_core::ops::Float;

use crate::kernels::elementwise::map::{Apply, LaneFn};
use crate::kernels::entry::{Kernel, WideKernel, contract};
use crate::kernels::plain::Plain;
use crate::simd::Lane;

contract! {
    /// Folds rows, one to [`ROWS`], of `len` elements each into as many accumulators, one row after the other.
    ///
    /// - `len` elements are readable of each row.
    /// - `len` accumulators are writable at `acc`, which nothing else accesses; they have values unless `first`, where the first row
    ///   begins them.
    RowsFn(acc: *mut u8, rows: &[*const u8], first: bool, len: usize)
        = acc, [rows.as_ptr().cast(), acc, acc], 2 * rows.len() as u32 + u32::from(first), len
}

/// Rows that [`Folding::rows`](super::folding::Folding::rows) folds in one pass at most.
pub(crate) const ROWS: usize = 8;

/// Folds rows of elements into a row of accumulators, one row after the other: `dst`: the accumulators; the first source:
/// the addresses of [`ROWS`] rows or fewer. Flags: the number of rows, twice; odd where the accumulators are not yet in
/// use, so that the first row begins them.
pub(crate) struct RowLanes<V, T, W>(PhantomData<(V, T, W)>);

/// Vectors of accumulators in registers.
const BLOCK: usize = 4;

/// The addresses of `N` rows.
///
/// # Safety
/// They are there.
#[inline(always)]
unsafe fn addresses<T, const N: usize>(rows: *const *const T) -> [*const T; N] {
    // SAFETY: `N` addresses are there, one after the other, which an array of `N` addresses is.
    unsafe { rows.cast::<[*const T; N]>().read() }
}

/// So many vectors one after the other.
///
/// # Safety
/// They are readable.
#[inline(always)]
unsafe fn block<V: Lane>(from: *const V::Elem) -> [V; BLOCK] {
    // SAFETY: `BLOCK` whole vectors are readable from `from` on.
    unsafe {
        let n = V::LEN;
        [V::load(from), V::load(from.add(n)), V::load(from.add(2 * n)), V::load(from.add(3 * n))]
    }
}

/// Writes so many vectors one after the other.
///
/// # Safety
/// They are writable.
#[inline(always)]
unsafe fn put_block<V: Lane>(&[a, b, c, d]: &[V; BLOCK], to: *mut V::Elem) {
    // SAFETY: `BLOCK` whole vectors are writable from `to` on.
    unsafe {
        let n = V::LEN;
        a.store(to);
        b.store(to.add(n));
        c.store(to.add(2 * n));
        d.store(to.add(3 * n));
    }
}

impl<V: Lane<Elem = T>, T: Float, W: LaneFn<2>> RowLanes<V, T, W> {
    /// # Safety
    /// `N` rows of `len` elements are readable, and what they are folded into: the accumulators, or another row. The accumulators
    /// are writable.
    #[inline(always)]
    unsafe fn pass<const N: usize>(acc: *mut T, start: *const T, rows: *const *const T, len: usize) -> usize {
        // SAFETY: for all of this function: `len` elements of each of `N` rows and of `start` are readable,
        // and as many accumulators writable; `start` is these, or a row. Whole vectors end at or below `len`,
        // parts are shorter.
        unsafe {
            let from = addresses::<_, N>(rows);
            let mut i = 0;
            while i + BLOCK * V::LEN <= len {
                let mut sums = block::<V>(start.add(i));
                let mut r = 0;
                while r < N {
                    let row = block::<V>(from[r].add(i));
                    let mut k = 0;
                    while k < BLOCK {
                        sums[k] = W::f([sums[k], row[k]]);
                        k += 1;
                    }
                    r += 1;
                }
                put_block(&sums, acc.add(i));
                i += BLOCK * V::LEN;
            }
            while i < len {
                let part = (len - i).min(V::LEN);
                let mut sum = V::load_some(start.add(i), part);
                let mut r = 0;
                while r < N {
                    sum = W::f([sum, V::load_some(from[r].add(i), part)]);
                    r += 1;
                }
                sum.store_some(acc.add(i), part);
                i += part;
            }
        }
        N
    }
}

impl<V: Lane<Elem = T>, T: Float, W: LaneFn<2>> Kernel for RowLanes<V, T, W> {
    type Fn = RowsFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [rows, ..]: [*const u8; 3], flags: u32, len: usize) {
        let (acc, rows) = (dst.cast::<T>(), rows.cast::<*const T>());
        let (count, mut next, mut start) = ((flags / 2) as usize, 0, acc.cast_const());
        // SAFETY: `flags / 2` rows of `len` elements are readable, at addresses that are one after the other,
        // and `len` accumulators writable; each pass is given rows that are left.
        unsafe {
            if flags & 1 == 1 {
                // The first row takes the place of the accumulators.
                (start, next) = (*rows, 1);
                if count == 1 {
                    std::ptr::copy_nonoverlapping(start, acc, len);
                }
            }
            while next < count {
                let rows = rows.add(next);
                next += match count - next {
                    8.. => Self::pass::<8>(acc, start, rows, len),
                    7 => Self::pass::<7>(acc, start, rows, len),
                    4.. => Self::pass::<4>(acc, start, rows, len),
                    _ => Self::pass::<1>(acc, start, rows, len),
                };
                start = acc;
            }
        }
    }
}

pub(crate) struct RowWide<W>(PhantomData<W>);
impl<W: LaneFn<2>> WideKernel for RowWide<W> {
    type Fn = RowsFn;

    type At<V: Lane<Elem = T>, T: Float> = RowLanes<V, T, W>;
}

/// As [`RowLanes`] over scalars.
pub(crate) struct RowPlain<P, W>(PhantomData<(P, W)>);

impl<P: Plain, W: Apply<P::Value, 2, Out = P::Value>> RowPlain<P, W> {
    /// The compiler makes vector code of this loop for as many rows as it is willing to compare the addresses of.
    ///
    /// # Safety
    /// `N` rows of `len` elements are readable, `len` accumulators writable, and initialised unless `BEGIN`.
    #[inline(always)]
    unsafe fn pass<const N: usize, const BEGIN: bool>(
        acc: *mut P::Mem,
        rows: *const *const P::Mem,
        len: usize,
    ) -> usize {
        // SAFETY: for all of this function: `len` elements of each of `N` rows are readable, and as many
        // accumulators writable, which have values unless `BEGIN`; elements are below `len`.
        unsafe {
            let from = addresses::<_, N>(rows);
            let mut i = 0;
            while i < len {
                let first = P::get(*from[0].add(i));
                let mut sum = if BEGIN { first } else { W::f([P::get(*acc.add(i)), first]) };
                let mut r = 1;
                while r < N {
                    sum = W::f([sum, P::get(*from[r].add(i))]);
                    r += 1;
                }
                *acc.add(i) = P::put(sum);
                i += 1;
            }
        }
        N
    }
}

impl<P: Plain, W: Apply<P::Value, 2, Out = P::Value>> Kernel for RowPlain<P, W> {
    type Fn = RowsFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [rows, ..]: [*const u8; 3], flags: u32, len: usize) {
        let (acc, rows) = (dst.cast::<P::Mem>(), rows.cast::<*const P::Mem>());
        let (count, mut next) = ((flags / 2) as usize, 0);
        // SAFETY: `flags / 2` rows of `len` elements are readable, at addresses that are one after the other,
        // and `len` accumulators writable; each pass is given rows that are left.
        unsafe {
            if flags & 1 == 1 {
                if count >= 4 {
                    next = Self::pass::<4, true>(acc, rows, len);
                } else {
                    next = Self::pass::<1, true>(acc, rows, len);
                }
            }
            while next < count {
                let rows = rows.add(next);
                next += match count - next {
                    4.. => Self::pass::<4, false>(acc, rows, len),
                    _ => Self::pass::<1, false>(acc, rows, len),
                };
            }
        }
    }
}
