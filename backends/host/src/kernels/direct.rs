//! What is computed on the calling thread without a plan.

use stridewise_core::backend::Elements;
use stridewise_core::{Dtype, Fold, Op};

use super::code::SLOT_BYTES;
use super::plane::{Kind, Planes, Run};
use super::reduce::SEGMENT;
use super::tile::Scratch;
use super::{READ_PS, step, step_ps};
use crate::simd::Isa;

/// Work below this estimate is done here: longer than what a submission does on the calling thread, for there is nothing
/// to submit. Twice as many threads gain half of it, less what it takes to wake them.
const AT_ONCE_NS: usize = 25_000;

/// Elements of work that takes so long for each.
const fn most(picoseconds: usize) -> usize {
    AT_ONCE_NS * 1000 / picoseconds
}

/// The function of an operation on a dtype, with results of another, over elements that lie one after another.
pub(crate) fn elements_fn(op: Op, dtype: Dtype, out: Dtype, isa: Isa) -> Option<Elements> {
    // A step's function has the same contract; the flag beyond those of its sources is not set.
    let run = step::resolve(op, dtype, out, isa)?.run;
    Some(Elements { run, most: most(op.arity() * READ_PS * dtype.size() + step_ps(op, dtype)) })
}

/// Folds elements that lie one after another, as a plan does on one thread. Whether it did: in the dtype of the elements,
/// where they are not too many.
///
/// # Safety
/// `len ≥ 1` elements are readable at `src` and the result writable at `dst`, aligned to their dtypes, and nothing else
/// accesses them in conflict.
pub(crate) unsafe fn fold_elements(
    fold: Fold,
    dtype: Dtype,
    dst: *mut u8,
    src: *const u8,
    len: usize,
    isa: Isa,
) -> bool {
    // 16-bit floats are folded as `float32`.
    if matches!(dtype, Dtype::F16 | Dtype::Bf16) || len > most(READ_PS * dtype.size()) {
        return false;
    }
    let Some(kind) = Kind::new(fold, dtype, isa) else { return false };
    let planes = Planes { kind, acc: dtype, rows: false, len: 1, late: fold.is_index() };
    let segments = len.div_ceil(SEGMENT);
    // One for each level of the tree.
    let levels = segments.next_power_of_two().trailing_zeros() as usize + 1;
    let mut scratch = Scratch::take((levels * planes.bytes()).next_multiple_of(SLOT_BYTES));
    let plane = scratch.ptr();
    let points = |segment: usize| (segment * SEGMENT).min(len);
    // SAFETY: the caller's contract; there is a plane for each level of the tree, and `locate` is given a segment's elements.
    unsafe {
        let mut leaf = |segment: usize, acc: *mut u8| {
            let at = points(segment);
            let value = src.add(at * dtype.size());
            let run = Run { at, first: true, last: true, points: points(segment + 1) - at };
            planes.run(acc, [value, value], &run, run.points);
        };
        planes.tree(plane, plane.wrapping_add(planes.bytes()), 0..segments, 1, &points, &mut leaf);
        planes.locate(plane, |start| (src.add(start * dtype.size()), SEGMENT.min(len - start)));
        let (result, size) = planes.result();
        std::ptr::copy_nonoverlapping(plane.add(result), dst, size);
    }
    true
}
