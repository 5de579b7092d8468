//! Sorting numbers by vectors.
//!
//! Elements become signed integers, words, in whose order they are (see [`order`](super::order)), where the output has them.
//! Equal words are equal in all bits, so any way to sort them gives the same result: they are divided by pivots, a vector at a
//! time, until as few are left as registers hold, which are sorted by a network. A division reads and writes each word once,
//! and takes as long as the compress instructions (or permutations) do while the caches have the words; there are about
//! log₂(n / 256) of them, and the network takes as long as four. Where pivots are bad, the standard library's sort takes over,
//! which needs n log n comparisons at most. Threads sort parts on either side of a pivot.
//!
//! Sorts by digits, eight bits at a time, and by the standard library's comparisons count and move one
//! element after the other; NumPy, whose sorts divide by compress instructions, took a fifth to two thirds of
//! their time. Elements of 4 and 8 bytes are sorted so at levels with vectors, and those of 2 bytes as words
//! of 4 where rows are too short to be counted (AVX-512 VBMI2 has compress instructions for 2 bytes). A row
//! that lies with a step is sorted in scratch memory. The base level and sorts of places keep to `sort.rs`.
//! All NaNs are the largest word, and zeros of either sign are equal, although the bits of each differ: where
//! the sorted row has such, they are written once more in the order in which the input has them.
//!
//! A division holds some vectors from either end in registers and reads the next ones where there is less
//! room, so it needs no scratch memory. Each vector is divided by compress and expand instructions (AVX-512),
//! or by a permutation from a table of 256 or 16 entries (AVX2), and written as a whole at either end: a
//! store that leaves lanes out would do at one end, but takes as long as a hundred others where it reaches a
//! page that nobody has touched. A pivot is the middle lane of a sorted vector of medians of three medians of
//! three, of nine vectors from all over the row. If no word is below it, the words that equal it are divided
//! from the others and need no more work, so few different values make few divisions. The features of the
//! levels have POPCNT, which no compiler takes for granted of a processor with AVX2: without it, counting the
//! lanes of a mask took longer than the rest of a division.
//!
//! The limits, written down first: six cycles of a division for a vector of 16 while caches have the words,
//! so 1.1 ns for each of 64 Ki; a network of about 1150 instructions for 256 words, 0.8 ns each. Two
//! processors of a Zen 5, one thread, ns for each `int32`: 256 0.8, 1 Ki 1.4, 64 Ki 1.9, 1 Mi 2.4; of `int64`
//! 64 Ki 3.3, 1 Mi 4.5; with permutations (AVX2) `int32` 64 Ki 3.0, 1 Mi 4.3. NumPy 1.6, 2.2 to 2.6 (`int32`,
//! 64 Ki, 1 Mi), 2.9, 4.7 (`int64`). A block of four vectors instead of eight: 2.2 at 64 Ki; compress
//! instructions that write to memory: 2.5 (with four). With stores that leave lanes out, 1 Ki took 3 to 8 in
//! memory of small pages, and 1.4 in a huge one. The whole call, two threads, NumPy's time over ours, by
//! digits and comparisons, then so: `float32` 64 Ki 0.29, 1.31; 1 Mi 0.38, 1.56; `float64` 64 Ki 0.22, 1.02;
//! `unique` of `float32` 1 Mi 0.47, 1.47. The cost is about 30 KB of code for each level and size. Of many
//! threads, the first divisions occupy one, two, four …: sixteen threads take about a fifth of the time of
//! one.

mod network;

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use stridewise_core::Result;
use stridewise_core::memory::heap;

use self::network::{each, few, in_order};
use super::rows::{Row, Rows, SCRATCH};
use crate::fork_join;
use crate::kernels::entry::{Kernel, OrderedKernel, contract, ordered_entry};
use crate::kernels::moving::pack;
use crate::kernels::split::Address;
use crate::kernels::split::{self, GRAIN, LONG_PART, PARTS};
use crate::simd::{Isa, Ordered};

/// Vectors that a division reads from one end at a time, at most: half as many as a network sorts. From which end depends on how
/// the last ones were divided, so that fewer would wait for each other.
const AHEAD: usize = 8;
/// Divisions of a row, for each that halves would need, after which its pivots are called bad and another sort takes over: a bound for
/// rows that are made to have such.
const PATIENCE: u32 = 2;
/// Vectors that a pivot is found among, by threes: medians of nine in each lane, by a network of that form.
const TRIPLES: usize = 3;
/// Words of the longest run that a division copies out of the way: fewer than it reads at a time.
const MOST_LEFT: usize = AHEAD * 16;
/// Words of which all are sorted where some are selected: as many as the network of the widest vectors sorts. A median of 1 Ki
/// `float32` took 2.0 µs, with four or sixteen times as many 2.9 to 3.4.
const FEW_LEFT: usize = 2 * MOST_LEFT;

contract! {
    /// Sorts words, with `left` divisions, one in another, at most.
    ///
    /// - `len` words are at the address, aligned, and nothing else accesses them.
    SortFn(words: *mut u8, left: u32, len: usize) = words, [words, words, words], left, len
}

contract! {
    /// Divides words by a pivot; `ends`: how many are before it, and how many are before those behind it.
    ///
    /// - `len` words are at the address, aligned, and nothing else accesses them. They are more than a network sorts.
    DivideFn(words: *mut u8, ends: &mut [usize; 2], len: usize)
        = words, [std::ptr::from_mut(ends).cast_const().cast(), words, words], 0, len
}

/// The functions of a level for words of a size.
#[derive(Clone, Copy)]
pub(crate) struct Quick {
    size: usize,
    sort: SortFn,
    divide: DivideFn,
}

impl Quick {
    /// `None`: the level has no vectors of such words.
    pub(crate) fn of(isa: Isa, size: usize) -> Option<Self> {
        let (sort, divide) = (ordered_entry::<Sort>(isa, size)?, ordered_entry::<Divide>(isa, size)?);
        Some(Self { size, sort, divide })
    }

    /// Sorts words, by as many threads.
    ///
    /// # Safety
    /// - `len` words of the size are at the address, aligned, and nothing else accesses them.
    /// - The processor has the level's features.
    pub(crate) unsafe fn arrange(&self, words: Address, len: usize, threads: usize) {
        let least = if threads > 1 { LONG_PART.max(len / (threads * PARTS)) } else { len };
        // SAFETY: `len` words are at the address, aligned and this call's, and the processor has the level's
        // features.
        unsafe { self.part(words, len, least, patience(len)) };
    }

    /// Divides more than `least` words at a pivot: those below it end at the first number, those above begin at the second.
    /// Fewer are sorted, and so are any that were divided too often.
    ///
    /// # Safety
    /// As for [`arrange`](Self::arrange); `least` is no less than a network of the level sorts, or than `len`.
    unsafe fn halves(&self, words: Address, len: usize, least: usize, left: u32) -> Option<[usize; 2]> {
        let at = words.at(0);
        let mut ends = [0_usize; 2];
        // SAFETY: for all of this block: `len` words are at the address, aligned and this call's; to be
        // divided, there are more than `least`, which is no less than a network sorts.
        unsafe {
            if len > least && left > 0 {
                self.divide.call(at, &mut ends, len);
                return Some(ends);
            }
            if len > 1 {
                self.sort.call(at, left, len);
            }
        }
        None
    }

    /// Sorts words; of more than `least`, those on either side of a pivot at the same time.
    ///
    /// # Safety
    /// As for [`arrange`](Self::arrange).
    unsafe fn part(&self, words: Address, len: usize, least: usize, left: u32) {
        // SAFETY: for all of this function: `len` words are at the address, aligned and this call's; parts on
        // either side of the pivot are disjoint, and each is one call's.
        unsafe {
            let Some([low, high]) = self.halves(words, len, least, left) else { return };
            let above = Address(words.at(high * self.size));
            fork_join::both(
                || self.part(words, low, least, left - 1),
                || self.part(above, len - high, least, left - 1),
            );
        }
    }

    /// Puts the words at some places, of which that of the first word is a number, that they have in order: only the parts that these
    /// are in are divided.
    ///
    /// # Safety
    /// As for [`arrange`](Self::arrange).
    unsafe fn select(&self, words: Address, first: usize, len: usize, places: &[Range<usize>], left: u32) {
        let wanted = |from: usize, to: usize| places.iter().any(|some| some.start < to && from < some.end);
        // SAFETY: for all of this function: `len` words are at the address, aligned and this call's; parts on
        // either side of the pivot are disjoint.
        unsafe {
            let Some([low, high]) = self.halves(words, len, FEW_LEFT, left) else { return };
            if wanted(first, first + low) {
                self.select(words, first, low, places, left - 1);
            }
            if wanted(first + high, first + len) {
                let above = Address(words.at(high * self.size));
                self.select(above, first + high, len - high, places, left - 1);
            }
        }
    }

    /// Sorts the elements, of 4 or 8 bytes, of the rows `start..end`, each with as many threads.
    ///
    /// # Errors
    /// There is no memory for a row of words.
    ///
    /// # Safety
    /// The plan's contract, and the processor has the level's features.
    pub(crate) unsafe fn rows(&self, rows: &Rows, start: usize, end: usize, threads: usize) -> Result<()> {
        let (size, isa, order) = (self.size, rows.space.isa, rows.order);
        let step = size.cast_signed();
        let mut room: Vec<u64> = Vec::new();
        let mut outcome = Ok(());
        rows.each(start, end, |row| {
            let dense = rows.to == step && row.dst.addr().is_multiple_of(size);
            if !dense && room.is_empty() {
                match heap::zeroed(SCRATCH, (rows.len * size).div_ceil(size_of::<u64>())) {
                    Ok(words) => room = words,
                    Err(error) => outcome = Err(error),
                }
            }
            if outcome.is_err() {
                return;
            }
            let words = if dense { Address(row.dst) } else { Address(room.as_mut_ptr().cast()) };
            let (to_words, to_elements) = (order.words_of(isa, false), order.words_of(isa, true));
            let (from, to) = (Address(row.src.cast_mut()), Address(row.dst));
            let place =
                |at: &Address, step: isize, i: usize| at.at(0).wrapping_offset(step * i.cast_signed());
            let share = |run: &(dyn Fn(usize, usize) + Sync)| {
                split::ranges(rows.len, 1, 2 * size, GRAIN, threads, run);
            };
            // SAFETY: for all of this block: `each` gives rows of the plan, whose elements are readable, and
            // writable in the output; parts of a row are disjoint, and there is room for all words.
            unsafe {
                share(&|a, b| {
                    let (words, src) = (words.at(a * size), place(&from, rows.from, a).cast_const());
                    if rows.from == step {
                        to_words.call(words, src, &order, b - a);
                    } else {
                        pack::gather(isa, words, src, rows.from, size, b - a);
                        to_words.call(words, words, &order, b - a);
                    }
                });
                match &rows.only {
                    Some(places) => self.select(words, 0, rows.len, places, patience(rows.len)),
                    None => self.arrange(words, rows.len, threads),
                }
                let all = rows.only.is_none();
                let equal = (all && order.is_float()).then(|| match size {
                    4 => Equal::of::<i32>(words.at(0).cast(), rows),
                    _ => Equal::of::<i64>(words.at(0).cast(), rows),
                });
                let every = 0..rows.len;
                let places = rows.only.as_deref().unwrap_or(std::slice::from_ref(&every));
                share(&|from, end| {
                    for places in places {
                        let (a, b) = (from.max(places.start), end.min(places.end));
                        if a >= b {
                            continue;
                        }
                        let words = words.at(a * size);
                        to_elements.call(words, words, &order, b - a);
                        if !dense {
                            pack::scatter(place(&to, rows.to, a), words, rows.to, size, b - a);
                        }
                    }
                });
                if let Some(equal) = equal {
                    equal.write(rows, row);
                }
            }
        });
        outcome
    }
}

/// Elements of a sorted row that are equal although their bits may differ, and so keep their order: zeros of both signs, if
/// there are both, and NaNs.
struct Equal {
    zeros: std::ops::Range<usize>,
    nans: std::ops::Range<usize>,
}

impl Equal {
    /// # Safety
    /// A row's sorted words are at the address.
    unsafe fn of<T: Copy + Into<i64>>(words: *const T, rows: &Rows) -> Self {
        // SAFETY: `rows.len` sorted words are at the address.
        let words = unsafe { std::slice::from_raw_parts(words, rows.len) };
        let order = rows.order;
        let (a, b) = (order.word(0), order.word(order.sign));
        let before = |word: i64| words.partition_point(|&w| w.into() < word);
        let (first, second, end) = (before(a.min(b)), before(a.max(b)), before(a.max(b) + 1));
        let both = first < second && second < end;
        let largest = i64::MAX >> (64 - 8 * size_of::<T>());
        Self { zeros: if both { first..end } else { 0..0 }, nans: before(largest)..rows.len }
    }

    /// Writes them in the order in which the row has them.
    ///
    /// # Safety
    /// The plan's contract; the row is sorted but for them.
    unsafe fn write(self, rows: &Rows, row: Row) {
        let order = rows.order;
        let write = |places: std::ops::Range<usize>, chosen: &dyn Fn(u64) -> bool| {
            if places.is_empty() {
                return;
            }
            // SAFETY: `i` is below the row's length, and the row is the plan's.
            let all = (0..rows.len).map(|i| unsafe { rows.load(row, i) });
            for (i, bits) in places.zip(all.filter(|&bits| chosen(bits))) {
                // SAFETY: `i` is one of the places, which are below the row's length.
                unsafe { rows.store(row, i, bits) };
            }
        };
        write(self.zeros, &|bits| order.is_zero(bits));
        write(self.nans, &|bits| order.is_nan(bits));
    }
}

/// Divisions after which pivots are bad.
fn patience(len: usize) -> u32 {
    PATIENCE * (len.max(1).ilog2() + 1)
}

/// Sorts the words at the target, with as many divisions, one in another, as the flags say.
struct Sort;
impl OrderedKernel for Sort {
    type Fn = SortFn;

    type At<V: Ordered> = SortBy<V>;
}
struct SortBy<V>(PhantomData<V>);
impl<V: Ordered> Kernel for SortBy<V> {
    type Fn = SortFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, _: [*const u8; 3], left: u32, len: usize) {
        // SAFETY: `Quick::halves` calls it with `len` words at the target, aligned and its own.
        unsafe { sort::<V>(dst.cast(), len, left) };
    }
}

/// Divides the words at the target by a pivot; writes, where the first source is, how many are before it and how many are before
/// those behind it.
struct Divide;
impl OrderedKernel for Divide {
    type Fn = DivideFn;

    type At<V: Ordered> = DivideBy<V>;
}
struct DivideBy<V>(PhantomData<V>);
impl<V: Ordered> Kernel for DivideBy<V> {
    type Fn = DivideFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [ends, ..]: [*const u8; 3], _: u32, len: usize) {
        // SAFETY: `Quick::halves` calls it with `len` words at the target, aligned and its own, of which
        // there are more than a network sorts, and with room for two numbers at the first source.
        unsafe { ends.cast_mut().cast::<[usize; 2]>().write(around::<V>(dst.cast(), len)) };
    }
}

/// # Safety
/// As for [`Quick::arrange`].
#[inline(always)]
unsafe fn sort<V: Ordered>(words: *mut V::Elem, len: usize, left: u32) {
    // The shorter part is sorted first, so that each part that waits is at most half of the one before.
    let mut waiting = [(0, 0, 0); usize::BITS as usize];
    let (mut start, mut len, mut left, mut count) = (0, len, left, 0);
    // SAFETY: for all of this block: `len` words are at the address, aligned and this call's; parts are
    // within them.
    unsafe {
        loop {
            if len > V::ROWS * V::LEN && left > 0 {
                let [low, high] = around::<V>(words.add(start), len);
                let (below, above) = ((start, low), (start + high, len - high));
                let (now, later) = if below.1 < above.1 { (below, above) } else { (above, below) };
                left -= 1;
                waiting[count] = (later.0, later.1, left);
                count += 1;
                (start, len) = now;
                continue;
            }
            if left == 0 {
                std::slice::from_raw_parts_mut(words.add(start), len).sort_unstable();
            } else {
                few::<V>(words.add(start), len);
            }
            if count == 0 {
                return;
            }
            count -= 1;
            (start, len, left) = waiting[count];
        }
    }
}

/// Divides words by one of them; answers how many are before those in their place, and how many with these.
///
/// # Safety
/// As for [`Quick::arrange`]; there are more words than a network sorts.
#[inline(always)]
unsafe fn around<V: Ordered>(words: *mut V::Elem, len: usize) -> [usize; 2] {
    // SAFETY: for all of this function: `len` words are at the address, aligned and this call's, more than a
    // network sorts.
    unsafe {
        let mut pivot = pivot::<V>(words, len);
        let mut least = false;
        loop {
            let count = divide::<V>(words, len, pivot);
            if least {
                return [0, count];
            }
            if count > 0 {
                return [count, count];
            }
            // It is the smallest one: all words that equal it are in their place when they are before the others.
            let Some(next) = V::next(pivot) else { return [0, len] };
            (pivot, least) = (next, true);
        }
    }
}

/// A word that is probably near the middle.
///
/// # Safety
/// As for [`around`].
#[inline(always)]
unsafe fn pivot<V: Ordered>(words: *const V::Elem, len: usize) -> V::Elem {
    let step = (len - V::LEN) / 8;
    // SAFETY: for all of this function: `len` words are readable, more than a network sorts; the last vector
    // ends where the words do.
    unsafe {
        let mut three = [V::splat(V::MAX); 3];
        each!(i below TRIPLES: {
            let at = words.add(3 * i * step);
            three[i] = middle(V::load(at), V::load(at.add(step)), V::load(at.add(2 * step)));
        });
        let middles = in_order(middle(three[0], three[1], three[2]));
        let mut all = [MaybeUninit::<V::Elem>::uninit(); crate::simd::MAX_LEN];
        middles.store(all.as_mut_ptr().cast());
        all[V::LEN / 2].assume_init()
    }
}

/// The middle one of each three lanes.
#[inline(always)]
fn middle<V: Ordered>(a: V, b: V, c: V) -> V {
    a.lower(b).higher(a.higher(b).lower(c))
}

/// Puts the words below a pivot before the others; answers how many they are.
///
/// # Safety
/// As for [`around`].
#[inline(always)]
unsafe fn divide<V: Ordered>(words: *mut V::Elem, len: usize, pivot: V::Elem) -> usize {
    let block = ahead::<V>() * V::LEN;
    // SAFETY: for all of this function: `len` words are at the address, aligned and this call's, more than a
    // network sorts: at least two blocks. What is read is out of the way of what is written: two blocks more
    // have been read than written, and while words are left between the ends, at least one of these at either
    // end, as the next one is read where there is less room. A vector needs room for all of it at either end,
    // or for all of it once: when no words are left between the ends, there is room for whole vectors.
    unsafe {
        let pivots = V::splat(pivot);
        let (first, last) = (block_at::<V>(words), block_at::<V>(words.add(len - block)));
        let (mut from, mut to) = (block, len - block);
        let mut ends = [0, len];
        while to - from >= block {
            let at_end = ends[1] - to < from - ends[0];
            let at = if at_end { to - block } else { from };
            to -= if at_end { block } else { 0 };
            from += if at_end { 0 } else { block };
            write_block(block_at::<V>(words.add(at)), pivots, words, &mut ends);
        }
        let left = to - from;
        let mut rest = [MaybeUninit::<V::Elem>::uninit(); MOST_LEFT];
        std::ptr::copy_nonoverlapping(words.add(from), rest.as_mut_ptr().cast(), left);
        let rest = rest.as_ptr().cast::<V::Elem>();
        let mut at = 0;
        while at + V::LEN <= left {
            write(V::load(rest.add(at)), pivots, words, &mut ends);
            at += V::LEN;
        }
        for i in at..left {
            let word = *rest.add(i);
            *words.add(ends[0]) = word;
            *words.add(ends[1] - 1) = word;
            let below = word < pivot;
            ends[0] += usize::from(below);
            ends[1] -= usize::from(!below);
        }
        write_block(first, pivots, words, &mut ends);
        write_block(last, pivots, words, &mut ends);
        ends[0]
    }
}

/// Vectors that a division reads from one end at a time.
const fn ahead<V: Ordered>() -> usize {
    V::ROWS / 2
}

/// # Safety
/// As for [`Ordered::load`], of all of them.
#[inline(always)]
unsafe fn block_at<V: Ordered>(at: *const V::Elem) -> [V; AHEAD] {
    let count = ahead::<V>();
    // SAFETY: as many whole vectors as `ahead` says are readable from `at` on.
    unsafe {
        let mut block = [V::splat(V::MAX); AHEAD];
        each!(i below count: block[i % AHEAD] = V::load(at.add(i * V::LEN)));
        block
    }
}

/// # Safety
/// As for [`write`], of one after the other.
#[inline(always)]
unsafe fn write_block<V: Ordered>(block: [V; AHEAD], pivots: V, words: *mut V::Elem, ends: &mut [usize; 2]) {
    let count = ahead::<V>();
    // SAFETY: there is room for each of the vectors at either end, when those before it are written.
    each!(i below count: unsafe { write(block[i % AHEAD], pivots, words, ends) });
}

/// Writes a vector, what is below the pivot at one end of what may be written, the others at the other end.
///
/// # Safety
/// As for [`Ordered::divide`].
#[inline(always)]
unsafe fn write<V: Ordered>(v: V, pivots: V, words: *mut V::Elem, ends: &mut [usize; 2]) {
    // SAFETY: there is room for a vector at either end of what may be written.
    let count = unsafe { v.divide(pivots, words.add(ends[0]), words.add(ends[1])) };
    ends[0] += count;
    ends[1] -= V::LEN - count;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::tests::Rng;

    /// However many divisions are left, and at whatever place the words are.
    #[test]
    fn bad_pivots_end_in_another_sort() {
        let mut rng = Rng(1);
        for &isa in Isa::available() {
            let Some(quick) = Quick::of(isa, 8) else { continue };
            for left in [0, 1, 2, 3, 40] {
                for len in [1, 17, 300, 5000] {
                    let mut words: Vec<i64> = (0..len).map(|_| rng.next().cast_signed() >> 40).collect();
                    let mut expected = words.clone();
                    expected.sort_unstable();
                    let at = words.as_mut_ptr().cast();
                    // SAFETY: the words are this test's; the level is available.
                    unsafe { quick.part(Address(at), len, len, left) };
                    assert_eq!(words, expected, "{isa:?} {left} {len}");
                    // SAFETY: the words are this test's; the level is available.
                    unsafe { quick.part(Address(at), len, 1000, left) };
                    assert_eq!(words, expected, "{isa:?} {left} {len}");
                }
            }
        }
    }
}
