//! In which order the points of an output are folded: the one place that decides it, and with it the bits of every float reduction.
//!
//! The points of an output are cut into segments. Each is folded by itself, from accumulators of its own, and what segments come to
//! is joined along a binary tree ([`Tree`](super::partials::Tree)). A fold of a few points is the first segment of it and no more.
//! ```text
//! one output after the other                        rows of outputs
//! [a b c d] → a+b+c+d                               [a b c d]
//! [e f g h] → e+f+g+h                             + [e f g h]  → four outputs at once
//! ```
//! What decides is how elements lie, or would lie had they been stored ([`Points`]), the fold and the dtype: neither the number of
//! threads nor the level, and not whether a plan was made. So immediate folds, plans, and what is computed on the way have the
//! same bits.

use stridewise_core::{Dtype, backend::Fold};

/// Points of a segment where one output is folded after the other.
pub(crate) const SEGMENT: usize = 8192;
/// Rows of a segment where rows of outputs are folded.
pub(crate) const SEGMENT_ROWS: usize = 64;
/// Folding fewer points than this is done by rows of outputs.
pub(crate) const FEW: usize = 32;
/// Rows of outputs shorter than this are not worth folding.
const SHORT: usize = 16;

/// The dtype that values are folded in: 16-bit floats as `float32`, and rounded once.
pub(crate) fn accumulator(value: Dtype) -> Dtype {
    if matches!(value, Dtype::F16 | Dtype::Bf16) { Dtype::F32 } else { value }
}

/// How the points of a reduction lie.
#[derive(Clone, Copy)]
pub(crate) struct Points {
    pub(crate) outputs: usize,
    /// Of one output; at least 1.
    pub(crate) points: usize,
    /// How far apart neighbouring outputs and neighbouring points are, in any unit.
    pub(crate) steps: [usize; 2],
    /// Outputs of a row.
    pub(crate) across: usize,
    /// Points of a row, a divisor of all: segments end where rows do.
    pub(crate) along: usize,
    /// Whether the points of an output are elements one after another that are folded as they are.
    pub(crate) dense: bool,
}

impl Points {
    /// Whether rows of outputs are folded, instead of one output after the other: by the numbers of outputs and points, how far apart
    /// two neighbours of either are, and the length of a row of outputs. It is the latter, whatever this says, where the points of
    /// floats are dense ([`Cut::new`]).
    pub(crate) fn by_rows(self) -> bool {
        let Self { outputs, points, steps: [kept, along], across, .. } = self;
        outputs > 1 && ((points < FEW && outputs > points) || (along > kept && across >= SHORT))
    }
}

/// How points are cut into segments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Whether rows of outputs are folded, instead of one output after the other.
    pub(crate) rows: bool,
    /// Points of an output.
    points: usize,
    /// Points of a row, where segments end, unless rows of outputs are folded.
    row: usize,
}

impl Cut {
    /// For a fold of accumulators of a dtype.
    pub(crate) fn new(fold: Fold, acc: Dtype, points: Points) -> Self {
        // Short rows of floats that only are folded: many in one call, whatever their number.
        let dense = points.dense && matches!(fold, Fold::Op(_)) && matches!(acc, Dtype::F32 | Dtype::F64);
        Self { rows: !dense && points.by_rows(), points: points.points, row: points.along }
    }

    /// Points, or rows, of a segment at most.
    fn segment(self) -> usize {
        if self.rows { SEGMENT_ROWS } else { SEGMENT }
    }

    /// Segments of an output.
    pub(crate) fn segments(self) -> usize {
        match self.rows {
            true => self.points.div_ceil(SEGMENT_ROWS),
            false => self.points / self.row * self.row.div_ceil(SEGMENT),
        }
    }

    /// Points before a segment of an output.
    pub(crate) fn before(self, segment: usize) -> usize {
        if self.rows || self.row == self.points {
            return (segment * self.segment()).min(self.points);
        }
        let per_row = self.row.div_ceil(SEGMENT);
        segment / per_row * self.row + (segment % per_row * SEGMENT).min(self.row)
    }

    /// Points of the segment that begins with a point, where one output is folded after the other.
    pub(crate) fn from(self, point: usize) -> usize {
        SEGMENT.min(self.row - point % self.row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments follow one another, end where rows do, and have all points, in numbers that nobody worked out by the same formula.
    #[test]
    fn segments_have_every_point_once() {
        let all = |rows: &[(usize, usize)]| {
            for &(along, count) in rows {
                let points = along * count;
                let lie =
                    |outputs, steps, across| Points { outputs, points, steps, across, along, dense: false };
                for (cut, most) in [
                    (Cut::new(Fold::Op(stridewise_core::Op::Add), Dtype::F32, lie(1, [0, 1], 1)), SEGMENT),
                    (Cut::new(Fold::ArgMax, Dtype::I8, lie(100, [1, 100], 100)), SEGMENT_ROWS),
                ] {
                    assert_eq!(cut.rows, most == SEGMENT_ROWS);
                    let mut at = 0;
                    for segment in 0..cut.segments() {
                        assert_eq!(cut.before(segment), at, "{along} {count} {segment}");
                        let row = if cut.rows { points } else { along };
                        let len = most.min(row - at % row);
                        assert!(cut.rows || cut.from(at) == len);
                        at += len;
                    }
                    assert_eq!((at, cut.before(cut.segments())), (points, points), "{along} {count}");
                }
            }
        };
        all(&[(1, 1), (16, 1), (SEGMENT, 1), (SEGMENT + 1, 1), (3 * SEGMENT - 1, 1)]);
        all(&[(256, 33), (SEGMENT, 2), (SEGMENT + 1, 3), (2 * SEGMENT + 7, 2), (1, 5)]);
    }
}
