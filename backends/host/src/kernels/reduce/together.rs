//! Reductions: what a program computes tile by tile is folded in a fixed order.
//!
//! The folded points of an output are cut into segments that depend on the plan alone, segments are folded each by
//! itself, and their results pairwise along a binary tree. Threads take subtrees or outputs, so that the bits of a result
//! do not depend on their number, nor on the width of vectors.
//!
//! Several reductions of one input that are cut alike are folded in one pass: each segment by one after the other, while a
//! cache has it.

use smallvec::SmallVec;
use stridewise_core::{
    Result,
    backend::{Family, LaunchPlan},
};

use super::cut::SEGMENT_ROWS;
use super::partials::Tree;
use super::reduction::{Place, Reduction, Room};
use crate::kernels::program::code::SLOT_BYTES;
use crate::kernels::program::tile::Scratch;
use crate::kernels::split;
use crate::kernels::tuning::{SECOND_CACHE_BYTES, Tuning};

/// Rows that are folded for each that is combined, where columns could be divided instead; one thread combines, while the
/// others wait.
const ROWS_PER_PLANE: usize = 64;

/// Whether two plans are reductions of one input over the same axes.
fn of_one_input(a: &LaunchPlan, b: &LaunchPlan) -> bool {
    let reduced = |plan: &LaunchPlan| match plan.family {
        Family::Reduce { reduced, .. } if plan.inputs.len() == 1 => Some(reduced),
        _ => None,
    };
    reduced(a).is_some()
        && reduced(a) == reduced(b)
        && a.dims == b.dims
        && a.inputs == b.inputs
        && a.program.inputs() == b.program.inputs()
}

/// Plans that are run one after another: one, or reductions of one input that follow each other.
pub(crate) fn groups(plans: &[LaunchPlan]) -> impl Iterator<Item = &[LaunchPlan]> {
    plans.chunk_by(of_one_input)
}

/// Runs reductions, in one pass where there are several of one input and they are cut alike.
///
/// # Errors
/// There is no memory for accumulators and tiles.
///
/// # Safety
/// The contract of [`run`](crate::kernels::run), for each of the plans.
pub(crate) unsafe fn reduce(plans: &[LaunchPlan], tuning: &Tuning) -> Result<()> {
    Together::of(plans, tuning).iter().try_for_each(|together| {
        // SAFETY: the contract of `run` holds for each of the plans, which these reductions were made of.
        unsafe { together.run(tuning.threads) }
    })
}

/// Reductions that are folded together, one or more.
pub(crate) struct Together {
    /// Not on the stack, where a few of kilobytes each are most of what the engine needs of it.
    all: Vec<Reduction>,
    /// Bytes of a partial for all of them.
    partial: usize,
    /// Bytes that they read at each point.
    bytes: usize,
}

/// Memory of one thread.
struct Worker {
    rooms: SmallVec<[Room; 1]>,
    /// Where the partial results begin, behind the rooms.
    partials: *mut u8,
    /// Keeps both.
    _scratch: Scratch,
}

impl Together {
    /// Compiles reductions of one input, those that are cut alike to be folded together.
    pub(crate) fn of(plans: &[LaunchPlan], tuning: &Tuning) -> SmallVec<[Self; 1]> {
        // `supports` refuses what cannot be compiled.
        let mut waiting = Vec::with_capacity(plans.len());
        waiting.extend(plans.iter().filter_map(|plan| Reduction::new(plan, tuning)));
        // What plans read they have in common, or there is one.
        let bytes: usize = plans.first().map_or(0, |p| p.program.inputs().iter().map(|d| d.size()).sum());
        let mut found = SmallVec::new();
        while let Some((first, others)) = waiting.split_first() {
            // Most are one or alike, and stay where they are: kilobytes that small ones would wait for.
            let alike = if others.iter().all(|other| first.is_like(other)) {
                std::mem::take(&mut waiting)
            } else {
                let first = waiting.remove(0);
                let others: Vec<Reduction> = waiting.extract_if(.., |other| first.is_like(other)).collect();
                std::iter::once(first).chain(others).collect()
            };
            found.push(Self::new(alike, bytes));
        }
        found
    }

    /// Reductions that are like each other, and read so many bytes at each point.
    fn new(mut all: Vec<Reduction>, bytes: usize) -> Self {
        let mut width = all.iter().map(Reduction::width).min().unwrap_or(1);
        if let [first, _, ..] = &all[..] {
            let points = if first.cut.rows { SEGMENT_ROWS } else { first.folded() };
            width = width.min(SECOND_CACHE_BYTES / 2 / (points * bytes).max(1));
        }
        let mut partial = 0;
        for reduction in &mut all {
            reduction.narrow_to(width);
            reduction.partial_at = partial;
            partial += reduction.partials.bytes();
        }
        Self { all, partial, bytes }
    }

    /// What all of them have in common, each can tell.
    pub(crate) fn one(&self) -> &Reduction {
        &self.all[0]
    }

    /// Computes all outputs.
    ///
    /// # Errors
    /// As for [`reduce`].
    ///
    /// # Safety
    /// As for [`reduce`].
    unsafe fn run(&self, threads: usize) -> Result<()> {
        let (one, kept) = (self.one(), self.one().kept());
        let (outputs, row) = (kept.len(), if kept.across { 1 } else { kept.row() });
        // Narrow columns of a wide row would read every page by several threads, a little each.
        let grain = if one.cut.rows { split::ROW_BYTES / one.partials.acc.size() } else { 1 };
        let enough = if one.cut.rows { threads * grain } else { threads * 4 };
        // Rows are read faster than columns of them, where there are so many that what the threads come to is soon combined.
        let many = one.cut.rows && one.folded() >= ROWS_PER_PLANE * threads * threads * split::PARTS;
        if threads <= 1 || (outputs >= enough && !many) {
            let bytes = self.bytes.max(1).saturating_mul(one.folded());
            let run = |start: usize, end: usize| {
                // SAFETY: the outputs are the plans'; ranges are disjoint parts of them.
                unsafe { self.outputs(start, end, 1) }
            };
            split::try_ranges(outputs, row, bytes, grain, threads, &run)
        } else {
            // SAFETY: the outputs are the plans', all of them.
            unsafe { self.outputs(0, outputs, threads) }
        }
    }

    fn worker(&self) -> Result<Worker> {
        // One partial per level of the tree, and one for the result.
        let partials = usize::BITS as usize - self.one().segments.leading_zeros() as usize + 3;
        let rooms: usize = self.all.iter().map(Reduction::room_bytes).sum();
        let mut scratch = Scratch::take((rooms + partials * self.partial).next_multiple_of(SLOT_BYTES))?;
        let mut at = scratch.ptr();
        let room = |reduction: &Reduction| {
            let room = reduction.room(at);
            at = at.wrapping_add(reduction.room_bytes());
            room
        };
        let rooms = self.all.iter().map(room).collect();
        Ok(Worker { rooms, partials: at, _scratch: scratch })
    }

    /// Computes the outputs `start..end`, in row-major order of the kept dimensions.
    ///
    /// # Errors
    /// As for [`reduce`].
    ///
    /// # Safety
    /// As for [`reduce`].
    pub(crate) unsafe fn outputs(&self, start: usize, end: usize, threads: usize) -> Result<()> {
        let mut worker = self.worker()?;
        let (one, kept) = (self.one(), self.one().kept());
        let result = worker.partials;
        let mut at = start;
        while at < end {
            let cursor = kept.seek(at);
            let mut len = one.width().min(end - at);
            if !kept.across {
                len = len.min(kept.left(&cursor));
            }
            // SAFETY: partials and rooms are disjoint parts of the scratch memory, sized by `worker`, the rooms for as many
            // outputs; the plans' addresses from `start` to `end` are readable, and their outputs this thread's, by the contract of this
            // function.
            unsafe {
                if one.cut.rows {
                    self.fold(&mut worker, &Place { cursor: &cursor, len }, threads)?;
                } else if one.segments > 1 {
                    for o in 0..len {
                        let place = Place { cursor: &kept.seek(at + o), len: 1 };
                        self.fold(&mut worker, &place, threads)?;
                        for (reduction, room) in self.all.iter().zip(&mut worker.rooms) {
                            reduction.take(room, &place, result.wrapping_add(reduction.partial_at), o);
                        }
                    }
                }
                for (reduction, room) in self.all.iter().zip(&mut worker.rooms) {
                    let partial = result.wrapping_add(reduction.partial_at);
                    if !one.cut.rows && one.segments == 1 {
                        reduction.values(room, partial, at, len);
                    }
                    reduction.finish(room, partial, at, len);
                }
            }
            at += len;
        }
        Ok(())
    }

    /// Folds all segments of a place into the first of the worker's partials.
    ///
    /// # Errors
    /// As for [`reduce`].
    ///
    /// # Safety
    /// As for [`outputs`](Self::outputs).
    unsafe fn fold(&self, worker: &mut Worker, place: &Place<'_>, threads: usize) -> Result<()> {
        let (segments, result) = (self.one().segments, worker.partials);
        let tree = Tree {
            bytes: self.partial,
            points: |segment| self.one().cut.before(segment),
            // SAFETY: the tree has partials of this place.
            combine: |acc, other, points| unsafe { self.combine(acc, other, points, place.len) },
        };
        let fold = |worker: &mut Worker, segments, acc, spare| {
            tree.fold(segments, acc, spare, &mut |segment, acc| {
                for (reduction, room) in self.all.iter().zip(&mut worker.rooms) {
                    // SAFETY: the place is one of the plans, of outputs that are this call's; a worker has a
                    // partial for each level of the tree, and of each reduction a part of it.
                    unsafe { reduction.leaf(room, place, segment, acc.wrapping_add(reduction.partial_at)) };
                }
            });
        };
        if tree.is_shared(segments, threads) {
            let fold = |segments, acc| {
                let mut worker = self.worker()?;
                let spare = worker.partials;
                fold(&mut worker, segments, acc, spare);
                Ok(())
            };
            // SAFETY: the worker's own partial.
            unsafe { tree.share(segments, result, threads, &fold) }
        } else {
            fold(worker, 0..segments, result, result.wrapping_add(self.partial));
            Ok(())
        }
    }

    /// Combines two partials of `len` outputs into the first, whose points come first; of so many points each.
    ///
    /// # Safety
    /// Both are partials.
    unsafe fn combine(&self, acc: *mut u8, other: *const u8, points: [usize; 2], len: usize) {
        for Reduction { partials, partial_at, .. } in &self.all {
            // SAFETY: both are partials of all reductions, each of which has its part at `partial_at`.
            unsafe {
                partials.combine(acc.wrapping_add(*partial_at), other.wrapping_add(*partial_at), points, len);
            }
        }
    }
}
