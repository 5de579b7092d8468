//! Searches in a sorted table, and whether it has an element.
//!
//! Real elements become ranks, tile by tile (see [`order`](super::sort::order)), and are looked up in the ranks of the table several
//! at a time, so that the processor waits for the loads of all of them at once: a step of a search is limited by a load, a
//! comparison and a choice. What a table has is found without a search where it has few elements, or lies in a small range.
//!
//! A comparison by a function of the bits has steps that are compiled to branches, which are guessed wrong
//! half of the time. As unsigned ranks, 16 elements are looked up step by step together, each step a load and
//! a conditional move (`select_unpredictable`), with 16 loads under way at once. A device without `Contains`
//! and `Top` sorts, searches, gathers what is nearest and compares, with 16 bytes on the way for each
//! element. The cost: a table's ranks are made for every search.
//!
//! Two processors of a Zen 5, both busy, 1 Mi `float32`; before, now, and NumPy's time: `searchsorted` in 65
//! edges 26.2, 2.1, 34.3 ms, in 64 Ki 74.0, 5.8, 122 ms; `isin` of 100 25.2, 3.1, 32.0 ms, of 100 `int64` in
//! a small range 12.9, 0.28, 4.4 ms. Where a table does not fit the second cache, or hardware gathers win
//! against single loads, a search by levels of it may be faster.

pub(super) mod count;

use std::hint::select_unpredictable;
use std::marker::PhantomData;

use smallvec::SmallVec;
use stridewise_core::memory::heap;
use stridewise_core::{
    Dtype, DtypeKind, Result,
    backend::{IndexedAxis, LaunchPlan},
};

use super::entry::{Kernel, contract, entry};
use super::moving::pack;
use super::moving::space::{Space, View};
use super::select::TILE;
use super::sort::Key;
use super::sort::order::Order;
use super::split;
use super::tuning::{SECOND_CACHE_BYTES, Tuning};

/// Views of the space.
const DST: usize = 0;
const SRC: usize = 1;
/// Elements that are looked up together.
const TOGETHER: usize = 16;
/// A table is made into ranks where no more than so many of its elements come upon each that is looked up.
const WORTH: usize = 4;
/// Elements of a table with each of which all are compared.
const FEW: usize = 16;
/// Numbers of the largest range of which each has a bit, and of one for each element that is looked up: an eighth of the second cache.
const RANGE: u64 = SECOND_CACHE_BYTES as u64;

/// What is written for each element.
#[derive(Clone, Copy)]
pub(super) enum Found {
    /// Where it would be inserted: behind equal ones where `right`, else before them.
    Place { right: bool },
    /// Whether the table has it; or has it not.
    Whether { not: bool },
}

/// The table, as it lies.
#[derive(Clone, Copy)]
struct Table {
    first: *const u8,
    /// Bytes to step.
    step: isize,
    len: usize,
    found: Found,
}
// SAFETY: an address only, of memory that the plan's contract lets all threads read.
unsafe impl Sync for Table {}

/// Searches.
///
/// # Errors
/// There is no memory for the ranks of the table.
///
/// # Safety
/// The contract of [`run`](super::run).
pub(super) unsafe fn search(
    plan: &LaunchPlan,
    axis: &IndexedAxis,
    found: Found,
    tuning: &Tuning,
) -> Result<()> {
    let dtype = plan.program.inputs()[0];
    let size = dtype.size();
    let all = 0..plan.dims.len();
    let view = |operand, size| View::new(operand, size, all.clone());
    let out = plan.output_dtype(0).size();
    let views: SmallVec<[View; 4]> =
        SmallVec::from_iter([view(&plan.outputs[0], out), view(&plan.inputs[0], size)]);
    let mut space = Space::new(&plan.dims, views, tuning.isa);
    space.sort_by(DST);
    space.merge();
    let step = axis.stride.wrapping_mul(size.cast_signed());
    let table = Table { first: plan.inputs[1].ptr.as_ptr(), step, len: axis.extent, found };
    // SAFETY: for all of this function: the plan's needles and table are readable, of the dtype, and its
    // output is writable; parts of the output are disjoint.
    unsafe {
        if dtype.kind() != DtypeKind::Complex && table.len / WORTH <= space.len() {
            return match size {
                1 => ranked::<u8>(&space, &table, dtype, tuning),
                2 => ranked::<u16>(&space, &table, dtype, tuning),
                4 => ranked::<u32>(&space, &table, dtype, tuning),
                _ => ranked::<u64>(&space, &table, dtype, tuning),
            };
        }
        // Each step of a search costs as much as moving a few bytes.
        let bytes = 16 * (usize::BITS - axis.extent.leading_zeros()) as usize;
        split::ranges(space.len(), space.row(), bytes, split::GRAIN, tuning.threads, &|start, end| {
            range(&space, &table, dtype, start, end);
        });
    }
    Ok(())
}

/// # Safety
/// The plan's contract; the dtype is real, its elements are of the size of `T`.
unsafe fn ranked<T: Key>(space: &Space, table: &Table, dtype: Dtype, tuning: &Tuning) -> Result<()> {
    let order = Order::new(dtype, false);
    let ranks_of = order.ranks_of(tuning.isa);
    let mut ranks: Vec<T> = heap::zeroed("ranks of a table", table.len)?;
    let at = ranks.as_mut_ptr().cast::<u8>();
    // SAFETY: the table has `len` readable elements of the size of `T`, `step` bytes apart; the ranks are as
    // many.
    unsafe {
        pack::gather(tuning.isa, at, table.first, table.step, size_of::<T>(), table.len);
        ranks_of.call(at, at, &order, table.len);
    }
    if matches!(table.found, Found::Whether { .. })
        && let Some(nan) = order.nan()
    {
        // Nothing equals NaN.
        ranks.truncate(ranks.partition_point(|rank| rank.key() < nan));
    }
    let way = Way::of(table.found, &ranks, space.len(), tuning)?;
    // What is looked up, its place, and an element of the table for each step.
    let bytes = size_of::<T>() * (2 + way.steps(ranks.len()));
    split::ranges(space.len(), space.row(), bytes, split::GRAIN, tuning.threads, &|start, end| {
        let mut room = [T::of(0); TILE];
        let mut found = [0_i64; TILE];
        let mut cursor = space.seek(start);
        let mut at = start;
        while at < end {
            let mut len = TILE.min(end - at);
            if !space.across {
                len = len.min(space.left(&cursor));
            }
            let to = room.as_mut_ptr().cast::<u8>();
            // SAFETY: the points are the space's, whose needles are readable and results writable; a tile has
            // no more elements than there is room for, of places or truths.
            unsafe {
                let from = space.dense(SRC, &cursor, to, len);
                ranks_of.call(to, from, &order, len);
                way.look_up(&ranks, &room[..len], &mut found);
                space.put(DST, &cursor, found.as_ptr().cast(), len);
            }
            at += len;
            if at < end {
                space.go_on(&mut cursor, at, len);
            }
        }
    });
    Ok(())
}

/// How ranks are looked up in a table's.
enum Way {
    /// By a search for where they would be inserted.
    Place { right: bool },
    /// Whether they are there, by a bit for each number from the first one of the table on; `not`: whether they are not.
    Bits { first: u64, bits: Vec<u64>, not: bool },
    /// The same by comparison with each.
    Each { equal: EqualFn, not: bool },
    /// The same by a search.
    Search { not: bool },
}

impl Way {
    /// # Errors
    /// There is no memory for the bits.
    fn of<T: Key>(found: Found, table: &[T], len: usize, tuning: &Tuning) -> Result<Self> {
        let not = match found {
            Found::Place { right } => return Ok(Self::Place { right }),
            Found::Whether { not } => not,
        };
        let [first, .., last] = table else {
            return Ok(Self::Each { equal: entry::<Equal<T>>(tuning.isa), not });
        };
        let range = last.key() - first.key();
        // A range that is not worth it takes longer to be cleared than elements to be compared.
        if range < RANGE.min(64 * len as u64) {
            let first = first.key();
            let mut bits: Vec<u64> = heap::zeroed("the range of a table", (range / 64 + 1) as usize)?;
            for rank in table {
                let number = rank.key() - first;
                bits[(number / 64) as usize] |= 1 << (number % 64);
            }
            return Ok(Self::Bits { first, bits, not });
        }
        Ok(if table.len() <= FEW {
            Self::Each { equal: entry::<Equal<T>>(tuning.isa), not }
        } else {
            Self::Search { not }
        })
    }

    /// Roughly how many steps it takes to look one up.
    fn steps(&self, len: usize) -> usize {
        match self {
            Self::Bits { .. } => 1,
            Self::Each { .. } => len / 4,
            _ => (usize::BITS - len.leading_zeros()) as usize,
        }
    }

    /// Looks ranks up, no more than a tile of them; writes places, or bytes that say whether they are there.
    fn look_up<T: Key>(&self, table: &[T], ranks: &[T], found: &mut [i64; TILE]) {
        if let Self::Place { right } = *self {
            let write = |i: usize, place: usize| found[i] = place as i64;
            return if right {
                places::<T, true>(table, ranks, write);
            } else {
                places::<T, false>(table, ranks, write);
            };
        }
        let truths: &mut [u8] = bytemuck::cast_slice_mut(found);
        let not = match self {
            Self::Bits { first, bits, not } => {
                for (truth, rank) in truths.iter_mut().zip(ranks) {
                    let number = rank.key().wrapping_sub(*first);
                    let word = bits.get((number / 64) as usize).copied().unwrap_or(0);
                    *truth = (word >> (number % 64) & 1) as u8;
                }
                *not
            }
            Self::Each { equal, not } => {
                truths[..ranks.len()].fill(0);
                for rank in table {
                    let (to, from) = (truths.as_mut_ptr(), ranks.as_ptr().cast::<u8>());
                    // SAFETY: as many bytes as ranks, a tile of them at most; one rank to compare with.
                    unsafe { equal.call(to, from, (&raw const *rank).cast(), ranks.len()) };
                }
                *not
            }
            Self::Search { not } => {
                places::<T, false>(table, ranks, |i, place| {
                    truths[i] = u8::from(table.get(place) == Some(&ranks[i]));
                });
                *not
            }
            Self::Place { .. } => false,
        };
        if not {
            truths[..ranks.len()].iter_mut().for_each(|truth| *truth ^= 1);
        }
    }
}

contract! {
    /// Says of each rank whether it is one more; what was said before stays where it is not.
    ///
    /// - `len` ranks are readable, and one at `one`, of the type that the kernel is for.
    /// - `len` bytes are writable at `truths`, where they were written before, apart from the ranks; nothing else accesses them.
    EqualFn(truths: *mut u8, ranks: *const u8, one: *const u8, len: usize) = truths, [ranks, one, one], 0, len
}

/// Says of each rank whether it is one more, which the second source is; what was said before stays where it is not.
struct Equal<T>(PhantomData<T>);
impl<T: Key> Kernel for Equal<T> {
    type Fn = EqualFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [ranks, one, _]: [*const u8; 3], _: u32, len: usize) {
        let ranks = ranks.cast::<T>();
        // SAFETY: for all of this function: `len` ranks and one more are of `T` and readable, and there is
        // room for `len` bytes, which have been written; `i` is below `len`.
        unsafe {
            let one = *one.cast::<T>();
            for i in 0..len {
                *dst.add(i) |= u8::from(*ranks.add(i) == one);
            }
        }
    }
}

/// Calls `write(i, place)` for each of some ranks: how many of a table are before it, or equal, where `RIGHT`.
#[inline(always)]
fn places<T: Key, const RIGHT: bool>(table: &[T], ranks: &[T], mut write: impl FnMut(usize, usize)) {
    let before = |i: usize, rank: T| {
        // SAFETY: a search looks at places below the table's length only.
        let element = unsafe { *table.get_unchecked(i) };
        if RIGHT { element <= rank } else { element < rank }
    };
    for (group, ranks) in ranks.chunks(TOGETHER).enumerate() {
        let mut low = [0_usize; TOGETHER];
        let mut own = [T::of(0); TOGETHER];
        own[..ranks.len()].copy_from_slice(ranks);
        let mut left = table.len();
        while left > 1 {
            let half = left / 2;
            for (low, &rank) in low.iter_mut().zip(&own) {
                // `low + left` is at most the table's length.
                *low += select_unpredictable(before(*low + half - 1, rank), half, 0);
            }
            left -= half;
        }
        for (i, &rank) in ranks.iter().enumerate() {
            let place = low[i] + usize::from(left == 1 && before(low[i], rank));
            write(TOGETHER * group + i, place);
        }
    }
}

/// # Safety
/// The plan's contract, for the points `start..end`.
unsafe fn range(space: &Space, table: &Table, dtype: Dtype, start: usize, end: usize) {
    let order = Order::new(dtype, false);
    // SAFETY: for all of this function: needles and table are readable, of the dtype; what is loaded are
    // elements of theirs.
    unsafe {
        match (dtype.kind(), dtype.size()) {
            (DtypeKind::Complex, _) => {
                let is_nan = |&ranks: &(u64, u64)| order.is_nan_pair(ranks);
                points(space, table, start, end, |at| order.ranks(at), is_nan);
            }
            _ => {
                let is_nan = |&rank: &u64| Some(rank) == order.nan();
                points(space, table, start, end, |at| order.rank(order.load(at)), is_nan);
            }
        }
    }
}

/// Searches for the points `start..end`. `rank` reads an element.
///
/// # Safety
/// The plan's contract; `rank` may be called with the address of any element of the needles and the table.
unsafe fn points<R: Ord>(
    space: &Space,
    table: &Table,
    start: usize,
    end: usize,
    rank: impl Fn(*const u8) -> R,
    is_nan: impl Fn(&R) -> bool,
) {
    let inner = space.dims.len().checked_sub(1);
    let mut cursor = space.seek(start);
    let mut at = start;
    while at < end {
        let (len, to, from) = match inner {
            Some(d) => (
                (end - at).min(space.row() - cursor.index[d]),
                space.views[DST].strides[d],
                space.views[SRC].strides[d],
            ),
            None => (1, 0, 0),
        };
        for i in 0..len.cast_signed() {
            let needle = rank(cursor.at[SRC].wrapping_offset(from * i));
            let place = place(table, &needle, &rank);
            let to = cursor.at[DST].wrapping_offset(to * i);
            // SAFETY: the plan's addresses are writable and aligned.
            unsafe {
                match table.found {
                    Found::Place { .. } => *to.cast::<i64>() = place as i64,
                    Found::Whether { not } => {
                        let at = |i: usize| table.first.wrapping_offset(table.step * i.cast_signed());
                        let has = place < table.len && rank(at(place)) == needle && !is_nan(&needle);
                        *to = u8::from(has != not);
                    }
                }
            }
        }
        at += len;
        if at < end {
            space.advance(&mut cursor, len);
        }
    }
}

/// The number of elements of the table that are before a needle: less than it, or equal where it goes to the right.
///
/// The steps do not depend on what is found, so that the processor need not guess.
fn place<R: Ord>(table: &Table, needle: &R, rank: impl Fn(*const u8) -> R) -> usize {
    let right = matches!(table.found, Found::Place { right: true });
    let before = |i: usize| {
        let element = rank(table.first.wrapping_offset(table.step * i.cast_signed()));
        if right { element <= *needle } else { element < *needle }
    };
    let (mut low, mut left) = (0, table.len);
    while left > 1 {
        let half = left / 2;
        low += if before(low + half - 1) { half } else { 0 };
        left -= half;
    }
    low + usize::from(left == 1 && before(low))
}
