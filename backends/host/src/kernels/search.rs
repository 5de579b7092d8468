//! Searches in a sorted table.

use smallvec::SmallVec;
use stridewise_core::{Dtype, DtypeKind, IndexedAxis, LaunchPlan};

use super::order::Order;
use super::space::{Space, View};
use super::{Tuning, split};

/// Views of the space.
const DST: usize = 0;
const SRC: usize = 1;

/// The table, as a search sees it.
#[derive(Clone, Copy)]
struct Table {
    first: *const u8,
    /// Bytes to step.
    step: isize,
    len: usize,
    right: bool,
}
// SAFETY: an address only, of memory that the plan's contract lets all threads read.
unsafe impl Sync for Table {}

/// Searches.
///
/// # Safety
/// The contract of [`run`](super::run).
pub(super) unsafe fn search(plan: &LaunchPlan, axis: &IndexedAxis, right: bool, tuning: &Tuning) {
    let dtype = plan.program.inputs()[0];
    let size = dtype.size();
    let all = 0..plan.dims.len();
    let view = |operand, size| View::new(operand, size, all.clone());
    let views: SmallVec<[View; 4]> =
        SmallVec::from_iter([view(&plan.outputs[0], 8), view(&plan.inputs[0], size)]);
    let mut space = Space::new(&plan.dims, views, tuning.isa);
    space.sort_by(DST);
    space.merge();
    let step = axis.stride.wrapping_mul(size.cast_signed());
    let table = Table { first: plan.inputs[1].ptr.as_ptr(), step, len: axis.extent, right };
    // Each step of a search costs as much as moving a few bytes.
    let bytes = 16 * (usize::BITS - axis.extent.leading_zeros()) as usize;
    split::ranges(space.len(), space.row(), bytes, split::GRAIN, tuning.threads, &|start, end| {
        // SAFETY: the caller's contract; parts of the output are disjoint.
        unsafe { range(&space, &table, dtype, start, end) };
    });
}

/// # Safety
/// The plan's contract, for the points `start..end`.
unsafe fn range(space: &Space, table: &Table, dtype: Dtype, start: usize, end: usize) {
    let order = Order::new(dtype, false);
    // SAFETY: for all of this function: the caller's contract; what is loaded are elements of the operands.
    unsafe {
        match (dtype.kind(), dtype.size()) {
            (DtypeKind::Complex, 8) => points(space, table, start, end, |at| {
                let (re, im) = order.ranks(at);
                re << 32 | im
            }),
            (DtypeKind::Complex, _) => points(space, table, start, end, |at| order.ranks(at)),
            _ => points(space, table, start, end, |at| order.rank(order.load(at))),
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
            // SAFETY: the plan's addresses are writable and aligned.
            unsafe { *cursor.at[DST].wrapping_offset(to * i).cast::<i64>() = place as i64 };
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
    let before = |i: usize| {
        let element = rank(table.first.wrapping_offset(table.step * i.cast_signed()));
        if table.right { element <= *needle } else { element < *needle }
    };
    let (mut low, mut left) = (0, table.len);
    while left > 1 {
        let half = left / 2;
        low += if before(low + half - 1) { half } else { 0 };
        left -= half;
    }
    low + usize::from(left == 1 && before(low))
}
