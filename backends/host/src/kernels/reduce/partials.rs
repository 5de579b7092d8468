//! Partial results: what has been folded of one or several outputs so far.
//!
//! A partial has parts, each with a number for every output: values; values and their indices; or summaries, see
//! [`deviation`](super::deviation).

use std::ops::Range;

use smallvec::SmallVec;
use stridewise_core::{Dtype, Op, Result, backend::Fold};

use super::deviation::{self, Deviating, FIRST_ROWS, RECENTRE, Terms, deviating};
use super::fold::{ACC_BYTES, AHEAD, Accumulators, FIRST, LAST};
use super::folding::{Folding, folding};
use super::index_fold::{Indexing, indexing};
use super::rows::ROWS;
use crate::fork_join;
use crate::kernels::program::code::SLOT_BYTES;
use crate::kernels::program::tile::Scratch;
use crate::kernels::split::{self, Address};
use crate::simd::Isa;

/// How values are combined.
pub(crate) enum Kind {
    Value(Folding),
    Index(Folding, Indexing),
    Deviation(Deviating),
}

impl Kind {
    /// For a fold of accumulators of a dtype.
    pub(crate) fn new(fold: Fold, acc: Dtype, isa: Isa) -> Option<Self> {
        Some(match fold {
            Fold::Op(op) => Self::Value(folding(op, acc, isa)?),
            Fold::ArgMin => Self::Index(folding(Op::Minimum, acc, isa)?, indexing(false, acc, isa)?),
            Fold::ArgMax => Self::Index(folding(Op::Maximum, acc, isa)?, indexing(true, acc, isa)?),
            Fold::Deviations => Self::Deviation(deviating(acc, isa)?),
            _ => return None,
        })
    }
}

/// What the partials of a reduction have in common.
pub(crate) struct Partials {
    pub(crate) kind: Kind,
    /// Dtype of the accumulators.
    pub(crate) acc: Dtype,
    /// Whether whole rows are folded, of an element for each output.
    pub(crate) rows: bool,
    /// Outputs of a partial.
    pub(crate) len: usize,
    /// Whether a segment is one run, and an index that of its first point with all bits flipped, until the best is looked for
    /// once, at the end.
    pub(crate) late: bool,
}

/// Where a run of values stands in a segment of one output's points.
pub(crate) struct Run {
    /// Number of its first point.
    pub(crate) at: usize,
    /// Whether it begins the segment.
    pub(crate) first: bool,
    /// Whether it ends the segment.
    pub(crate) last: bool,
    /// Points of the segment.
    pub(crate) points: usize,
    /// Whether the values are elements that are in no cache, and others follow.
    pub(crate) ahead: bool,
}

impl Partials {
    pub(crate) fn is_index(&self) -> bool {
        matches!(self.kind, Kind::Index(..))
    }

    /// Bytes from one part to the next. The fold of a run needs room for all its accumulators.
    fn part(&self) -> usize {
        let part = (self.len * self.acc.size()).next_multiple_of(64);
        if self.rows { part } else { part.max(ACC_BYTES) }
    }

    /// Bytes of a partial.
    pub(crate) fn bytes(&self) -> usize {
        let further = match self.kind {
            Kind::Value(_) => 0,
            Kind::Index(..) => (self.len * 8).next_multiple_of(64),
            Kind::Deviation(_) => 2 * self.part(),
        };
        // Not a power of two, so that partials do not fall on the same lines of the cache.
        self.part() + further + 64
    }

    /// Bytes from a partial's start to the results, and of one result.
    pub(crate) fn result(&self) -> (usize, usize) {
        if self.is_index() { (self.part(), 8) } else { (0, self.acc.size()) }
    }

    /// Combines two partials of `len` outputs into the first, whose points come first; of so many points each.
    ///
    /// # Safety
    /// Both are partials of as many outputs at least.
    pub(crate) unsafe fn combine(&self, acc: *mut u8, other: *const u8, points: [usize; 2], len: usize) {
        // SAFETY: for all of this function: both are partials of `len` outputs at least, with as many parts
        // as the kind has.
        unsafe {
            match &self.kind {
                Kind::Value(f) => (f.combine)(acc, acc, other, other, 0, len),
                Kind::Index(_, i) => {
                    let at = self.part();
                    let [index, others] =
                        [acc.cast_const(), other].map(|from| from.wrapping_add(at).cast::<i64>());
                    i.better.call(acc, index.cast_mut(), other, others, false, len);
                }
                Kind::Deviation(d) => {
                    let terms = Terms::join(self.part(), points[0], points[1]);
                    d.join.call(acc, other, &terms, len);
                }
            }
        }
    }

    /// The tree of these partials alone, of `len` outputs; `points` counts those before a segment.
    ///
    /// # Safety
    /// Whatever it is given are partials.
    pub(crate) unsafe fn tree<P: Fn(usize) -> usize + Copy>(
        &self,
        len: usize,
        points: P,
    ) -> Tree<P, impl Fn(*mut u8, *const u8, [usize; 2])> {
        // SAFETY: the tree combines what it is given, which are partials of `len` outputs.
        let combine = move |acc, other, points| unsafe { self.combine(acc, other, points, len) };
        Tree { bytes: self.bytes(), points, combine }
    }

    /// Folds a run of `len` values into a partial of one output. `other`: the second factors, where a value's fold is one of
    /// products; else the values.
    ///
    /// # Safety
    /// The values are readable; `acc` is a partial.
    pub(crate) unsafe fn run(&self, acc: *mut u8, [value, other]: [*const u8; 2], run: &Run, len: usize) {
        let ahead = if run.ahead { AHEAD } else { 0 };
        let flags = ahead | if run.first { FIRST } else { 0 } | if run.last { LAST } else { 0 };
        // SAFETY: for all of this function: `len` values are readable, and `acc` is a partial, which has room
        // for the fold's accumulators and, behind them, for an index or summaries.
        unsafe {
            match &self.kind {
                Kind::Value(f) => f.run.call(acc, value, &f.identity, other, flags, len),
                Kind::Index(f, i) => {
                    let mut best = Accumulators::new();
                    let best = best.as_mut_ptr();
                    let extreme = i.extreme.unwrap_or(f.run);
                    extreme.call(best, value, &f.identity, value, FIRST | LAST | ahead, len);
                    let index = acc.wrapping_add(self.part()).cast::<i64>();
                    if self.late {
                        std::ptr::copy_nonoverlapping(best, acc, self.acc.size());
                        *index = !(run.at.cast_signed() as i64);
                        return;
                    }
                    if run.first {
                        std::ptr::copy_nonoverlapping(best, acc, self.acc.size());
                        *index = -1;
                    } else {
                        // Where the run's best wins, the index becomes −1, and is then looked for.
                        let unknown = -1_i64;
                        i.better.call(acc, index, best, &raw const unknown, false, 1);
                    }
                    if *index == -1 {
                        let mut found = 0_u64;
                        i.find.call(&mut found, value, best, len);
                        *index = (run.at + found as usize).cast_signed() as i64;
                    }
                }
                Kind::Deviation(d) => {
                    let terms = Terms::segment(self.part(), run.points);
                    d.run.call(acc, value, &terms, flags, len);
                }
            }
        }
    }

    /// Finds the index of an output's best value, where it is looked for at the end. `segment` tells where the elements of a
    /// segment lie, by its first point, and how many there are.
    ///
    /// # Safety
    /// The partial is what the segments of one output came to, and the elements are readable.
    pub(crate) unsafe fn locate(&self, partial: *mut u8, segment: impl FnOnce(usize) -> (*const u8, usize)) {
        let Kind::Index(_, i) = &self.kind else { return };
        let index = partial.wrapping_add(self.part()).cast::<i64>();
        // SAFETY: the partial is that of one output, with an index; `segment` tells where so many elements
        // are readable.
        unsafe {
            let start = (!*index).cast_unsigned() as usize;
            let (src, len) = segment(start);
            let mut found = 0_u64;
            i.find.call(&mut found, src, partial, len);
            *index = (start + found as usize).cast_signed() as i64;
        }
    }

    /// Folds rows of a segment, [`ROWS`] or fewer, one for an index fold, into a partial of as many outputs as they are long.
    /// The first is number `row` of all, and the segment has those of a range.
    ///
    /// # Safety
    /// `len` elements are readable of each row; `acc` is a partial of as many outputs at least.
    pub(crate) unsafe fn rows(
        &self,
        acc: *mut u8,
        rows: &[*const u8],
        row: usize,
        segment: Range<usize>,
        len: usize,
    ) {
        debug_assert!(rows.len() <= ROWS, "too many rows");
        let (count, first) = (rows.len(), row == segment.start);
        // SAFETY: for all of this function: `len` elements of each row are readable, and `acc` is a partial
        // of as many outputs at least.
        unsafe {
            match &self.kind {
                Kind::Value(f) => f.rows.call(acc, rows, first, len),
                Kind::Index(_, i) => {
                    let index = acc.wrapping_add(self.part());
                    if first {
                        std::ptr::copy_nonoverlapping(rows[0], acc, len * self.acc.size());
                        for o in 0..len {
                            *index.cast::<i64>().add(o) = row as i64;
                        }
                    } else {
                        let row = row as i64;
                        i.better.call(acc, index.cast(), rows[0], &raw const row, true, len);
                    }
                }
                Kind::Deviation(d) => {
                    let seen = row + count - segment.start;
                    let mut flags = 0;
                    for (set, flag) in
                        [(first, FIRST), (row + count == segment.end, LAST), (seen == FIRST_ROWS, RECENTRE)]
                    {
                        flags |= if set { flag } else { 0 };
                    }
                    let terms = Terms::segment(self.part(), segment.len());
                    d.rows.call(acc, rows, &terms, flags, len);
                }
            }
        }
    }
}

/// How segments are folded: a tree, whose halves are folded each into a partial, which then are combined.
pub(crate) struct Tree<P, C> {
    /// Bytes of a partial.
    pub(crate) bytes: usize,
    /// Counts the points before a segment.
    pub(crate) points: P,
    /// Combines two partials into the first; of so many points each.
    pub(crate) combine: C,
}

/// Segments that one thread folds at least.
const SEGMENTS_PER_TASK: usize = 4;

impl<P: Fn(usize) -> usize, C: Fn(*mut u8, *const u8, [usize; 2])> Tree<P, C> {
    /// Folds segments into a partial, by this thread. `spare`: the first of as many partials as the tree has levels, but for one;
    /// `leaf` folds a segment into a partial.
    pub(crate) fn fold(
        &self,
        segments: Range<usize>,
        acc: *mut u8,
        spare: *mut u8,
        leaf: &mut impl FnMut(usize, *mut u8),
    ) {
        let leaf = &mut |segments: Range<usize>, acc| {
            leaf(segments.start, acc);
            acc
        };
        self.visit(1, segments, acc, spare, leaf);
    }

    /// Whether so many segments are worth sharing.
    pub(crate) fn is_shared(&self, segments: usize, threads: usize) -> bool {
        threads > 1 && segments > SEGMENTS_PER_TASK
    }

    /// Like [`fold`](Self::fold), all of so many segments, by several threads: each takes subtrees, whose partials are combined here
    /// in the tree's order. `fold` folds a subtree into a partial.
    ///
    /// # Errors
    /// There is no memory for the partials; the first failure of `fold`.
    ///
    /// # Safety
    /// `acc` is a partial, which nothing else uses.
    pub(crate) unsafe fn share(
        &self,
        segments: usize,
        acc: *mut u8,
        threads: usize,
        fold: &(dyn Fn(Range<usize>, *mut u8) -> Result<()> + Sync),
    ) -> Result<()> {
        let (most, bytes) = (SEGMENTS_PER_TASK.max(segments / (threads * split::PARTS)), self.bytes);
        let mut parts = SmallVec::<[Range<usize>; 32]>::new();
        let only_parts = Tree { bytes, points: |_| 0, combine: |_, _, _| () };
        only_parts.visit(most, 0..segments, acc, acc, &mut |part, acc| {
            parts.push(part);
            acc
        });
        let mut scratch = Scratch::take((parts.len() * bytes).next_multiple_of(SLOT_BYTES))?;
        let partials = Address(scratch.ptr());
        let run = |part: usize| fold(parts[part].clone(), partials.at(part * bytes));
        split::try_share(fork_join::direction(), parts.len(), threads, &run)?;
        let mut next = 0..parts.len();
        let folded = &mut |_, _| partials.at(next.next().unwrap_or(0) * bytes);
        let whole = self.visit(most, 0..segments, acc, acc, folded);
        // SAFETY: `acc` is a partial, which nothing else uses, and `whole` is one of the partials of the
        // scratch memory, of as many bytes.
        unsafe { std::ptr::copy_nonoverlapping(whole, acc, bytes) };
        Ok(())
    }

    /// The partial that segments are folded to, by `leaf` where they are no more than `most`: it is told where it may fold them to,
    /// and tells where it has.
    fn visit(
        &self,
        most: usize,
        segments: Range<usize>,
        acc: *mut u8,
        spare: *mut u8,
        leaf: &mut impl FnMut(Range<usize>, *mut u8) -> *mut u8,
    ) -> *mut u8 {
        let Range { start, end } = segments;
        if end - start <= most {
            return leaf(segments, acc);
        }
        let middle = start + (end - start).next_power_of_two() / 2;
        // A half has a level less, and the first is over before the second begins.
        let first = self.visit(most, start..middle, acc, spare, leaf);
        let second = self.visit(most, middle..end, spare, spare.wrapping_add(self.bytes), leaf);
        let [start, middle, end] = [start, middle, end].map(&self.points);
        (self.combine)(first, second, [middle - start, end - middle]);
        first
    }
}

// Rows are given in multiples of what the reference is the mean of, or one by one.
const _: () = assert!(ROWS == deviation::FIRST_ROWS);
