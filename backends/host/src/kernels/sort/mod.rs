//! Sorts along the last dimension.
//!
//! Elements become unsigned numbers whose order is theirs (see [`order`](self::order)). Where the bits of an element
//! cannot be had back from its number, or where the output is indices, the number is followed by the element's index. So
//! equal numbers are always of equal elements, and any way to sort them gives the same result: a counting sort by digits
//! for long rows, the standard library's unstable sort for short ones, and a merge of halves by several threads. Numbers
//! alone are sorted [by vectors](self::quick) where the level has them.

mod counted;
pub(super) mod order;
mod quick;
mod rows;
pub(super) mod top;
#[allow(clippy::cast_possible_truncation)] // Eight bits are left; keys and indices are those of the words.
mod words;

use std::ops::Range;

use stridewise_core::memory::heap;
use stridewise_core::{DtypeKind, Result, backend::LaunchPlan};

use super::moving::pack::with_size;
use super::split::{self, Address, LONG_PART};
use super::tuning::Tuning;
use crate::fork_join;
use counted::Ranks;
use quick::Quick;
use rows::{Rows, SCRATCH};
pub(super) use words::Key;
use words::{Half, Indexed, Pair, Whole, Word};

/// Rows shorter than this are sorted by comparison, per byte of what distinguishes elements.
const SHORT_PER_BYTE: usize = 96;
/// Words of up to eight bytes are sorted by comparison where more of their digits differ.
const MOST_DIGITS: usize = 4;
/// Elements from which on those of two bytes are counted: there are twice as many values, which are all looked at.
const COUNTED: usize = 32 << 10;
/// Places of elements of one byte that are put in order by counting, at least.
const FEW_PLACES: usize = 64;
/// A sort is worth as many passes over memory, roughly.
const PASSES: usize = 16;

/// Sorts.
///
/// # Errors
/// There is no memory for a row of words.
///
/// # Safety
/// The contract of [`run`](super::run).
pub(super) unsafe fn sort(plan: &LaunchPlan, descending: bool, indices: bool, tuning: &Tuning) -> Result<()> {
    let len = plan.dims.last().copied().unwrap_or(1);
    let rows = Rows::new(plan, descending, indices, len, tuning);
    // SAFETY: the rows are the plan's, whose addresses are readable and writable, and `Rows` has their dtype,
    // length and steps.
    unsafe { rows.all(tuning.threads) }
}

/// Puts the elements at some places that they have when their row is sorted.
///
/// # Errors
/// As for [`sort`].
///
/// # Safety
/// The contract of [`run`](super::run).
pub(super) unsafe fn select(plan: &LaunchPlan, places: &[Range<usize>], tuning: &Tuning) -> Result<()> {
    let len = plan.dims.last().copied().unwrap_or(1);
    let rows = Rows { only: Some(places.into()), ..Rows::new(plan, false, false, len, tuning) };
    // SAFETY: the rows are the plan's, whose addresses are readable and writable, and the places are in
    // order, apart and below its last extent.
    unsafe { rows.all(tuning.threads) }
}

impl Rows {
    /// Sorts all rows.
    ///
    /// # Errors
    /// As for [`sort`].
    ///
    /// # Safety
    /// The plan's contract.
    pub(super) unsafe fn all(&self, threads: usize) -> Result<()> {
        let count = self.space.len();
        if self.is_shared(threads) {
            // SAFETY: the rows are the plan's, and this thread goes through them one after the other.
            return unsafe { self.range(0, count, threads) };
        }
        let bytes = self.len.saturating_mul(2 * self.dtype.size().max(4) * PASSES);
        split::try_ranges(count, 1, bytes, 1, threads, &|start, end| {
            // SAFETY: the rows are the plan's; they are disjoint, and each range is one thread's.
            unsafe { self.range(start, end, 1) }
        })
    }
}

impl Rows {
    /// Sorts the rows `start..end`, each with as many threads.
    ///
    /// # Safety
    /// - `start ≤ end ≤` the number of rows.
    /// - The addresses of these rows, by the space, the steps and the length, are readable in the input and writable in the output, of
    ///   the dtype (or `int64`), and the input's are apart from the output's.
    /// - Nothing else accesses them in conflict.
    /// - The processor has the instruction set.
    unsafe fn range(&self, start: usize, end: usize, threads: usize) -> Result<()> {
        let complex = self.dtype.kind() == DtypeKind::Complex;
        let (order, bits) = (self.order, 8 * self.dtype.size() as u32);
        let rank = |at: *const u8| {
            // SAFETY: an element of the input is readable there.
            (order.rank(unsafe { order.load(at) }), 0)
        };
        let countable = u32::try_from(self.len).is_ok();
        let wide = self.dtype.kind().is_integer() && self.dtype.size() > 2;
        let few = countable && self.indices && wide && end - start == 1;
        // SAFETY: for all of this function: rows `start..end` are the plan's and this thread's; the type of a
        // word is chosen by the elements' size and kind, and an index fits where the length was compared with
        // it.
        unsafe {
            if few && let Some(ranks) = self.few_ranks(start) {
                return self.counted::<u64>(start, end, ranks, threads);
            }
            match self.dtype.size() {
                1 if countable && (!self.indices || self.len >= FEW_PLACES) => {
                    self.counted::<u8>(start, end, Ranks::of_bytes(1), threads)
                }
                1 if !self.indices => self.values::<u8>(start, end, threads, None),
                2 if countable && self.len >= COUNTED => {
                    self.counted::<u16>(start, end, Ranks::of_bytes(2), threads)
                }
                2 if !self.indices => match Quick::of(self.space.isa, size_of::<u32>()) {
                    Some(quick) => self.values::<u32>(start, end, threads, Some(quick)),
                    None => self.values::<u16>(start, end, threads, None),
                },
                4 | 8 if !self.indices && !complex => match Quick::of(self.space.isa, self.dtype.size()) {
                    Some(quick) => quick.rows(self, start, end, threads),
                    None if self.dtype.size() == 4 => self.values::<u32>(start, end, threads, None),
                    None => self.values::<u64>(start, end, threads, None),
                },
                1..=4 if self.len <= u32::MAX as usize => {
                    self.places::<Half>(start, end, bits, threads, rank)
                }
                1..=8 if !complex => self.places::<Whole>(start, end, 64, threads, rank),
                8 => self.places::<Whole>(start, end, bits, threads, |at| {
                    let (re, im) = order.ranks(at);
                    (re << 32 | im, 0)
                }),
                _ => self.places::<Pair>(start, end, bits, threads, |at| order.ranks(at)),
            }
        }
    }

    /// Sorts elements that their keys can be turned back into: as words of their size, or, wider ones, by vectors.
    ///
    /// # Safety
    /// As for [`range`](Self::range); the words are of the size that the vectors have.
    unsafe fn values<W: Key>(
        &self,
        start: usize,
        end: usize,
        threads: usize,
        quick: Option<Quick>,
    ) -> Result<()> {
        let order = self.order;
        let bits = 8 * self.dtype.size() as u32;
        let mut spare = Spare::new(if quick.is_some() { 0 } else { self.len }, bits, threads)?;
        let mut words: Vec<W> = heap::zeroed(SCRATCH, self.len)?;
        self.each(start, end, |row| {
            let (mut count, mut zeros, mut negative) = (0, 0, 0);
            // SAFETY: for all of this function: `each` gives rows of the plan; `i` is below the length,
            // `count` words of the row are no NaN, and `words` is this thread's.
            unsafe {
                for i in 0..self.len {
                    let bits = self.load(row, i);
                    words[count] = W::of(order.key(bits));
                    count += usize::from(!order.is_nan(bits));
                    zeros += usize::from(order.is_zero(bits));
                    negative += usize::from(order.is_zero(bits) && bits != 0);
                }
                let words = &mut words[..count];
                match &quick {
                    // Keys of fewer bits are no negative words.
                    Some(quick) => quick.arrange(Address(words.as_mut_ptr().cast()), count, threads),
                    None => spare.arrange(words),
                }
                for (i, &word) in words.iter().enumerate() {
                    self.store(row, i, order.bits(word.key()));
                }
                let zeros = (negative != 0 && negative != zeros).then(|| {
                    let first = order.key(0).min(order.key(order.sign));
                    words.partition_point(|word| word.key() < first)
                });
                self.keep_order(row, zeros, count);
            }
        });
        Ok(())
    }

    /// Sorts ranks, of as many bits, with the indices of their elements, which are what is asked for or say which
    /// elements to write.
    ///
    /// # Safety
    /// As for [`range`](Self::range).
    unsafe fn places<W: Indexed>(
        &self,
        start: usize,
        end: usize,
        bits: u32,
        threads: usize,
        rank: impl Fn(*const u8) -> (u64, u64),
    ) -> Result<()> {
        let mut spare = Spare::new(self.len, bits, threads)?;
        let mut words: Vec<W> = heap::with_capacity(SCRATCH, self.len)?;
        let size = self.dtype.size();
        self.each(start, end, |row| {
            let from = |i: usize| row.src.wrapping_offset(self.from * i.cast_signed());
            let to = |i: usize| row.dst.wrapping_offset(self.to * i.cast_signed());
            words.clear();
            words.extend((0..self.len).map(|i| W::of(rank(from(i)), i)));
            spare.arrange(&mut words);
            for (i, word) in words.iter().enumerate().take(self.first) {
                let index = word.index();
                // SAFETY: `each` gives rows of the plan, whose output has room for the places or elements
                // that are written; indices are below the length.
                unsafe {
                    if self.indices {
                        to(i).cast::<i64>().write_unaligned(index as i64);
                    } else {
                        with_size!(size, T => {
                            to(i).cast::<T>().write_unaligned(from(index).cast::<T>().read_unaligned());
                        });
                    }
                }
            }
        });
        Ok(())
    }
}

/// How often each value of a digit occurs.
type Counts = [usize; 256];

/// What words are sorted with, one row after the other.
struct Spare<W> {
    /// Room for as many words as the longest row has; none where rows are sorted by comparison.
    words: Vec<W>,
    /// For each thread, of each digit.
    counts: Vec<Counts>,
    /// Bits of a key.
    bits: u32,
    threads: usize,
}

impl<W: Word> Spare<W> {
    /// For rows of `len` words at most, by as many threads.
    fn new(len: usize, bits: u32, threads: usize) -> Result<Self> {
        let (mut words, mut counts) = (Vec::new(), Vec::new());
        if !is_short(len, bits) {
            words = heap::zeroed(SCRATCH, len)?;
            counts = heap::zeroed(SCRATCH, parts(len, threads) * digits_of(bits))?;
        }
        Ok(Self { words, counts, bits, threads })
    }

    /// Sorts words, those of equal keys by their indices, which are ascending.
    fn arrange(&mut self, words: &mut [W]) {
        let len = words.len();
        if is_short(len, self.bits) {
            return words.sort_unstable();
        }
        let parts = parts(len, self.threads);
        tree(words, &mut self.words[..len], &mut self.counts, false, self.bits, parts);
    }
}

/// Whether so many words are sorted by comparison.
fn is_short(len: usize, bits: u32) -> bool {
    len < SHORT_PER_BYTE * bits as usize / 8
}

/// Threads that share a row.
fn parts(len: usize, threads: usize) -> usize {
    threads.min(len / LONG_PART).max(1)
}

/// Digits of eight bits of a key.
fn digits_of(bits: u32) -> usize {
    bits.div_ceil(8) as usize
}

/// Sorts the words by as many threads, each of which has counts of its own; the result is in `spare` where `over`, else in
/// `words`.
fn tree<W: Word>(
    words: &mut [W],
    spare: &mut [W],
    counts: &mut [Counts],
    over: bool,
    bits: u32,
    parts: usize,
) {
    if parts <= 1 {
        digits(words, spare, &mut counts[..digits_of(bits)]);
        if over {
            spare.copy_from_slice(words);
        }
        return;
    }
    let middle = words.len() / 2;
    {
        let (low, high) = words.split_at_mut(middle);
        let (low_spare, high_spare) = spare.split_at_mut(middle);
        let (low_counts, high_counts) = counts.split_at_mut(parts / 2 * digits_of(bits));
        fork_join::both(
            || tree(low, low_spare, low_counts, !over, bits, parts / 2),
            || tree(high, high_spare, high_counts, !over, bits, parts - parts / 2),
        );
    }
    let (from, to) = if over { (words, spare) } else { (spare, words) };
    merge(&from[..middle], &from[middle..], to, parts);
}

/// Merges two sorted runs by as many threads.
fn merge<'a, W: Word>(mut a: &'a [W], mut b: &'a [W], to: &mut [W], parts: usize) {
    if parts > 1 {
        if a.len() < b.len() {
            std::mem::swap(&mut a, &mut b);
        }
        let cut = a.len() / 2;
        let other = b.partition_point(|w| *w < a[cut]);
        let (low, high) = to.split_at_mut(cut + other);
        fork_join::both(
            || merge(&a[..cut], &b[..other], low, parts / 2),
            || merge(&a[cut..], &b[other..], high, parts - parts / 2),
        );
        return;
    }
    let (mut i, mut j) = (0, 0);
    for to in to {
        // Written so that it needs no branch.
        let first = j >= b.len() || (i < a.len() && a[i] <= b[j]);
        *to = if first { a[i] } else { b[j] };
        i += usize::from(first);
        j += usize::from(!first);
    }
}

/// Sorts words by eight bits of the key after the other, the lowest first, each time stably. There are counts for each.
fn digits<W: Word>(words: &mut [W], spare: &mut [W], counts: &mut [Counts]) {
    counts.fill([0; 256]);
    for word in words.iter() {
        for (pass, counts) in (0..).zip(counts.iter_mut()) {
            counts[word.digit(W::LOW + 8 * pass)] += 1;
        }
    }
    let len = words.len();
    // Comparisons win where words are small and most of their bytes differ.
    let differing = counts.iter().filter(|c| !c.contains(&len)).count();
    if differing > MOST_DIGITS && size_of::<W>() <= 8 {
        return words.sort_unstable();
    }
    let (mut from, mut to) = (words, spare);
    let mut swapped = false;
    for (pass, counts) in (0..).zip(counts.iter()) {
        if counts.contains(&len) {
            continue; // All words agree.
        }
        let mut next = [0; 256];
        let mut sum = 0;
        for (next, &count) in next.iter_mut().zip(counts) {
            *next = sum;
            sum += count;
        }
        for &word in from.iter() {
            let next = &mut next[word.digit(W::LOW + 8 * pass)];
            to[*next] = word;
            *next += 1;
        }
        std::mem::swap(&mut from, &mut to);
        swapped = !swapped;
    }
    if swapped {
        // The result is in what was the spare memory.
        to.copy_from_slice(from);
    }
}
