//! Sorts by counting: each value that there can be has a counter, so that nothing is compared. Of elements of one byte or two those are
//! all that such elements can have; of the places of wider integers, as keys of groups are, those between the least and the largest of a
//! row, where these are few.

use std::ops::Range;

use stridewise_core::Result;
use stridewise_core::memory::heap;

use super::rows::{Row, Rows, SCRATCH};
use crate::fork_join;
use crate::kernels::split::{Address, LONG_PART};
use crate::kernels::tuning::{SECOND_CACHE_BYTES, TABLES};

/// Values that are looked at together, four lines of counters: most of them do not occur. With 32, 1 Mi `int16` took 1.17 times as
/// long, with 128 as long.
const LOOKED_AT: usize = 64;
/// Counters of the places of wide integers at most: a quarter of the second cache.
const MOST_COUNTERS: usize = SECOND_CACHE_BYTES / 4 / size_of::<u32>();

/// Ranks of which each has a counter.
#[derive(Clone, Copy)]
pub(crate) struct Ranks {
    least: u64,
    count: usize,
}

impl Ranks {
    /// All ranks of elements of one byte or two.
    pub(crate) const fn of_bytes(bytes: usize) -> Self {
        Self { least: 0, count: 1 << (8 * bytes) }
    }

    /// The counter of a rank.
    #[inline(always)]
    fn counter(self, rank: u64) -> usize {
        // Somebody may write meanwhile to memory that is lent: then the order is any, and nothing is read from beside.
        usize::try_from(rank.wrapping_sub(self.least)).unwrap_or(usize::MAX).min(self.count - 1)
    }
}

impl Rows {
    /// The ranks of a row, where they are so few that to count them is quicker than to sort them: places of 100 000 keys of 8 bytes
    /// below 1000 took 2.9 ms by digits, and take 0.5 (one thread, a shared EPYC).
    ///
    /// # Safety
    /// As for [`range`](Self::range), of one row of integers.
    pub(crate) unsafe fn few_ranks(&self, row: usize) -> Option<Ranks> {
        let most = self.len.min(MOST_COUNTERS) as u64;
        let (mut least, mut largest, mut few) = (u64::MAX, 0, true);
        self.each(row, row + 1, |row| {
            let mut begin = 0;
            while few && begin < self.len {
                let end = self.len.min(begin + MOST_COUNTERS / 16);
                for i in begin..end {
                    // SAFETY: the row has an element at `i`.
                    let rank = unsafe { self.rank_of(row, i) };
                    (least, largest) = (least.min(rank), largest.max(rank));
                }
                few = largest - least < most;
                begin = end;
            }
        });
        let count = usize::try_from(largest.wrapping_sub(least)).ok()?.checked_add(1)?;
        (few && self.len > 0).then_some(Ranks { least, count })
    }

    /// Sorts elements of one byte or two by counting how often each value occurs, or puts places in order so: limited by the
    /// counters, of which those of a thread are in its second cache.
    ///
    /// # Errors
    /// There is no memory for the counters.
    ///
    /// # Safety
    /// As for [`range`](Self::range); elements have no other ranks, and there are no more than a counter counts. Where they are
    /// sorted themselves, they are of the size of `T`, and the ranks are all of it.
    pub(crate) unsafe fn counted<T: Copy>(
        &self,
        start: usize,
        end: usize,
        ranks: Ranks,
        threads: usize,
    ) -> Result<()> {
        let values = ranks.count;
        let parts = threads.min(self.len / LONG_PART.max(values)).max(1);
        // Of two bytes, two tables are half of the second cache; the places are counted in one table for each part.
        let tables = if self.indices { 1 } else { TABLES / self.dtype.size() };
        let mut counts: Vec<u32> = heap::zeroed(SCRATCH, parts * tables * values)?;
        let bounds = |part: usize| self.len * part / parts..self.len * (part + 1) / parts;
        self.each(start, end, |row| {
            counts.fill(0);
            let (src, dst) = (Address(row.src.cast_mut()), Address(row.dst));
            let row_of = || Row { dst: dst.at(0), src: src.at(0) };
            // SAFETY: from the first counter on, there are as many for each part, which nobody else has while parts run.
            let of = |first: Address, part: usize| unsafe {
                let first = first.at(part * tables * values * size_of::<u32>()).cast::<u32>();
                std::slice::from_raw_parts_mut(first, tables * values)
            };
            let first = Address(counts.as_mut_ptr().cast());
            // SAFETY: for all of them: the row is the plan's, and each part has places and counters of its own.
            fork_join::share(parts, threads, &|part| unsafe {
                self.count(row_of(), bounds(part), ranks, of(first, part));
            });
            if self.indices {
                // Where the next place of each value goes: behind those before it, and those of the same in the parts before.
                let mut next = 0;
                for value in 0..values {
                    for part in 0..parts {
                        let count = &mut counts[part * values + value];
                        next += std::mem::replace(count, next);
                    }
                }
                let first = Address(counts.as_mut_ptr().cast());
                // SAFETY: the row is the plan's; the counters say where each
                // part's places of a value begin, which are others than those of other parts.
                fork_join::share(parts, threads, &|part| unsafe {
                    self.write_places(row_of(), bounds(part), ranks, of(first, part));
                });
                return;
            }
            let (counts, others) = counts.split_at_mut(values);
            for other in others.chunks_exact(values) {
                counts.iter_mut().zip(other).for_each(|(all, count)| *all += count);
            }
            // SAFETY: the row is the plan's, of elements of the size of `T`, and the counts of all tables
            // together are those of its elements.
            unsafe { self.write_counted::<T>(row, counts) };
        });
        Ok(())
    }

    /// Counts the bits of some elements of a row, in several tables in turns; where places are asked for, their ranks.
    ///
    /// # Safety
    /// As for [`counted`](Self::counted).
    unsafe fn count(&self, row: Row, places: Range<usize>, ranks: Ranks, counts: &mut [u32]) {
        let values = ranks.count;
        if self.indices {
            for i in places {
                // SAFETY: the row has an element at `i`, which is below its length.
                counts[ranks.counter(unsafe { self.rank_of(row, i) })] += 1;
            }
            return;
        }
        let last = counts.len() - 1;
        let mut table = 0;
        for i in places {
            // SAFETY: the row has an element at `i`, which is below its length. There is a power of two of
            // counters, for each value in each table.
            unsafe { *counts.get_unchecked_mut((table + self.load(row, i) as usize) & last) += 1 };
            table = table.wrapping_add(values);
        }
    }

    /// The rank of an element of a row.
    ///
    /// # Safety
    /// As for [`load`](Self::load).
    #[inline(always)]
    unsafe fn rank_of(&self, row: Row, i: usize) -> u64 {
        // SAFETY: the row has an element at `i`.
        self.order.rank(unsafe { self.load(row, i) })
    }

    /// Writes the places of some elements of a row, each to where its rank says, which is one further then.
    ///
    /// # Safety
    /// As for [`counted`](Self::counted); nobody else writes to where the ranks say.
    unsafe fn write_places(&self, row: Row, places: Range<usize>, ranks: Ranks, next: &mut [u32]) {
        for i in places {
            // SAFETY: for all of this block: the row has an element at `i`, and its output an element at
            // `at`, as that is below `first`; nobody else writes there.
            unsafe {
                let next = &mut next[ranks.counter(self.rank_of(row, i))];
                let at = *next as usize;
                *next += 1;
                if at < self.first {
                    let to = row.dst.wrapping_offset(self.to * at.cast_signed());
                    to.cast::<i64>().write_unaligned(i as i64);
                }
            }
        }
    }

    /// Writes elements, each as often as it was counted.
    ///
    /// # Safety
    /// As for [`counted`](Self::counted); the counts are those of the row.
    unsafe fn write_counted<T: Copy>(&self, row: Row, counts: &[u32]) {
        let (order, dense) = (self.order, self.to == size_of::<T>().cast_signed());
        let mut at = 0;
        let mut write = |bits: u64, count: u32| {
            let count = count as usize;
            if count == 0 || order.is_nan(bits) {
                return;
            }
            // SAFETY: for both: all counts together are the row's elements, so that `at + count` is at most
            // its length.
            unsafe {
                self.store(row, at, bits);
                if dense {
                    let first = row.dst.wrapping_add(at * size_of::<T>()).cast::<T>();
                    let value = first.read_unaligned();
                    (1..count).for_each(|i| first.add(i).write_unaligned(value));
                } else {
                    (1..count).for_each(|i| self.store(row, at + i, bits));
                }
            }
            at += count;
        };
        for block in (0..counts.len()).step_by(LOOKED_AT) {
            let keys = block as u64..(block + LOOKED_AT) as u64;
            // The bits of a block of keys are a block, upwards or downwards.
            let first = order.bits(keys.start).min(order.bits(keys.end - 1)) as usize;
            if counts[first..first + LOOKED_AT].iter().fold(0, |any, count| any | count) == 0 {
                continue;
            }
            for bits in keys.map(|key| order.bits(key)) {
                write(bits, counts[bits as usize]);
            }
        }
        let zeros = [0, order.sign].map(|bits| order.is_zero(bits) && counts[bits as usize] > 0);
        // Of keys, those of both zeros follow each other.
        let first = order.key(0).min(order.key(order.sign));
        let before = || (0..first).map(|key| order.bits(key)).filter(|&bits| !order.is_nan(bits));
        let zeros = (zeros == [true; 2]).then(|| before().map(|bits| counts[bits as usize] as usize).sum());
        // SAFETY: the row is the plan's, and the counts are those of its zeros and NaNs.
        unsafe { self.keep_order(row, zeros, at) };
    }
}
