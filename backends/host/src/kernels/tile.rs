//! The tile interpreter: runs a [`Code`] over an iteration space, tile by tile.

use std::cell::Cell;

use smallvec::SmallVec;
use stridewise_core::LaunchPlan;

use super::code::{Access, Code, Slots, Target};
use super::entry::VECTOR_BYTES;
use super::space::{Cursor, Space, View};
use super::{Tuning, split, stream};

/// Aligned scratch memory of a thread, kept from one plan to the next.
pub(super) struct Scratch(Vec<Line>);

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code)] [u8; VECTOR_BYTES]);

thread_local! {
    static SCRATCH: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

impl Scratch {
    /// At least `bytes` bytes. A nested use on the same thread gets memory of its own.
    pub(super) fn take(bytes: usize) -> Self {
        if bytes == 0 {
            return Self(Vec::new());
        }
        let mut lines = SCRATCH.take();
        let want = bytes.div_ceil(VECTOR_BYTES);
        if lines.len() < want {
            lines = vec![Line([0; VECTOR_BYTES]); want];
        }
        Self(lines)
    }
    pub(super) fn ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            SCRATCH.set(std::mem::take(&mut self.0));
        }
    }
}

/// A code and the space that it runs over; the space's views are the code's inputs, then its outputs.
pub(super) struct Tiles {
    pub(super) code: Code,
    pub(super) space: Space,
}

impl Tiles {
    /// Points the slots at the operands of the `len` elements from a cursor on, gathering what must be.
    ///
    /// # Safety
    /// The views are as the code was compiled for; `len ≤ tile_len`, within the row unless tiles run across rows;
    /// slots are prepared.
    #[inline]
    pub(super) unsafe fn load(&self, cursor: &Cursor, slots: &mut Slots, len: usize) {
        let views = self.code.operands();
        slots.0[..views].copy_from_slice(&cursor.at[..views]);
        for &(input, slot) in &self.code.packs {
            let (k, dst) = (usize::from(input), slots.0[usize::from(slot)]);
            // SAFETY: the plan's addresses are readable; a tile holds `tile_len` elements.
            unsafe { self.space.gather(k, dst, cursor.at[k], &cursor.index, len) };
        }
    }

    /// Computes the `len` elements from a cursor on.
    ///
    /// # Safety
    /// As for [`load`](Self::load).
    #[inline]
    pub(super) unsafe fn tile(&self, cursor: &Cursor, slots: &mut Slots, len: usize) {
        // SAFETY: the same contract; `load` sets what `run` needs.
        unsafe {
            self.load(cursor, slots, len);
            self.code.run(slots, len);
        }
        for &(output, slot) in &self.code.scatters {
            let k = self.code.first_output() + usize::from(output);
            let src = slots.0[usize::from(slot)];
            // SAFETY: the plan's addresses are writable.
            unsafe { self.space.scatter(k, cursor.at[k], &cursor.index, src, len) };
        }
    }

    /// Computes the points `start..end` in row-major order.
    ///
    /// # Safety
    /// The plan's memory is accessed by nothing else in conflict; `start < end ≤` the space's length.
    pub(super) unsafe fn range(&self, start: usize, end: usize) {
        let mut scratch = Scratch::take(self.code.scratch_bytes());
        let mut slots = Slots::new();
        self.code.prepare(&mut slots, scratch.ptr());
        let limit = self.code.tile_len;
        let mut cursor = self.space.seek(start);
        let (mut at, row) = (start, self.space.row());
        while at < end {
            let mut len = limit.min(end - at);
            if self.space.across {
                // SAFETY: the caller's contract; the tile is within the space.
                unsafe { self.tile(&cursor, &mut slots, len) };
                at += len;
                if at < end {
                    cursor = self.space.seek(at);
                }
            } else {
                len = len.min(row - cursor.index[self.space.dims.len().saturating_sub(1)]);
                // SAFETY: as above; the tile is within the row.
                unsafe { self.tile(&cursor, &mut slots, len) };
                at += len;
                if at < end {
                    self.space.advance(&mut cursor, len);
                }
            }
        }
    }
}

/// Runs a map.
///
/// # Safety
/// The contract of [`run`](super::run).
pub(super) unsafe fn map(plan: &LaunchPlan, tuning: &Tuning) {
    let program = &*plan.program;
    let all = 0..plan.dims.len();
    let mut views: SmallVec<[View; 4]> = SmallVec::new();
    for (operand, dtype) in plan.inputs.iter().zip(program.inputs()) {
        views.push(View::new(operand, dtype.size(), all.clone()));
    }
    let mut written = 0;
    for (o, operand) in plan.outputs.iter().enumerate() {
        let size = program.output_dtype(o).size();
        written += size;
        views.push(View::new(operand, size, all.clone()));
    }
    let inputs = plan.inputs.len();
    let mut space = Space::new(&plan.dims, views);
    space.sort_by(inputs);
    space.merge();
    let access: SmallVec<[Access; 8]> = (0..space.views.len()).map(|v| space.access(v)).collect();
    let alias = |input: usize, output: usize| space.views[input].ptr == space.views[inputs + output].ptr;
    let total = space.len();
    let stream = total.saturating_mul(written) > tuning.last_cache_bytes / 2;
    let target = Target::Outputs { access: &access[inputs..], alias: &alias, stream };
    let Some(code) = Code::compile(program, tuning.isa, &access[..inputs], &target) else {
        return; // `supports` refuses such plans.
    };
    let moved: usize = space.views.iter().map(|v| v.size).sum();
    let row = if space.across { 1 } else { space.row() };
    let tiles = Tiles { code, space };
    let run = |start: usize, end: usize| {
        // SAFETY: the caller's contract; ranges are disjoint parts of the space.
        unsafe { tiles.range(start, end) };
        if stream {
            stream::fence();
        }
    };
    split::ranges(total, row, moved, split::GRAIN, tuning.threads, &run);
}
