//! What a backend executes: validated plain data, without layouts.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::dtype::Dtype;
use crate::layout;
use crate::memory::pointer::UsmPtr;
use crate::ops::Op;
use crate::program::{Fold, Program};

mod product;

pub use product::{MatrixProduct, ProductSide, VectorProduct};

/// Dimensions a plan has at most, after coalescing.
pub const MAX_PLAN_DIMS: usize = 8;

/// One array operand of a plan. Its dtype is the program's, for the input or output of the same position.
///
/// Where [`Program::is_index`] says so, an input is no memory: its value at a multi-index is the number in `ptr` plus the
/// sum of the `strides` times the multi-index.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub struct Operand {
    /// Address of the element at multi-index zero.
    pub ptr: UsmPtr,
    /// Elements to step per dimension of the plan; signed; 0 where broadcast.
    pub strides: SmallVec<[isize; MAX_PLAN_DIMS]>,
}

impl Operand {
    /// The addresses that its elements, of so many bytes, are within, where the extents of its dimensions are these and none is 0.
    #[must_use]
    pub fn reach(&self, dims: &[usize], size: usize) -> Range<usize> {
        let (low, high) = layout::reach(dims, &self.strides);
        // In range, as the elements are in memory.
        let address =
            |elements: i128| self.ptr.addr().wrapping_add_signed(elements as isize * size.cast_signed());
        address(low)..address(high) + size
    }
}

/// What is computed at each point of the iteration space.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Family {
    /// Every output element is the program's value on the input elements of the same index.
    Map,
    /// The program's value (it has one output here) is folded over the last `reduced` dimensions.
    Reduce {
        /// How values are combined. The accumulator has the dtype of the program's output.
        fold: Fold,
        /// Number of trailing dimensions folded, at least one; no extent among them is 0. An index fold numbers
        /// elements in row-major order of these dimensions.
        reduced: usize,
        /// Applied to each folded value (one input, one output), e.g. the division of a mean.
        finish: Option<Arc<Program>>,
        /// How the folded values would lie, had they been stored instead of computed on the way. Where the order of a fold
        /// depends on how elements lie, it is that of the stored ones, so that their sum has the same bits. `None` where
        /// inputs are folded from where they are, or the order does not show.
        stored: Option<Stored>,
    },
    /// The program's value (it has one output here) is folded along the last dimension, and each element of the output is
    /// the fold of those up to its place.
    Scan {
        /// How values are combined: [`Op::Add`], [`Op::Multiply`], [`Op::Minimum`], [`Op::Maximum`] or
        /// [`Op::Logaddexp`]. The accumulator has the dtype of the program's output.
        fold: Op,
    },
    /// Input 0 is sorted along the last dimension: stably, NaN behind everything in either direction, complex numbers by
    /// their real, then their imaginary part. The program hands its input on.
    Sort {
        /// From the largest to the smallest; equal elements keep their order.
        descending: bool,
        /// The output holds the places that the elements come from, as `int64`, instead of the elements.
        indices: bool,
    },
    /// As [`Sort`](Family::Sort) of elements, from the smallest, of which only those at some places of a row are asked for: what the
    /// output has at the others is not said. Elements that are equal though their bits differ may be in any order.
    Select {
        /// The places, in order and apart; at least one.
        places: SmallVec<[Range<usize>; 2]>,
    },
    /// Every output element is an element of input 0, at places that further inputs of dtype `int64` name: of axis `k` of
    /// [`axes`](Family::Gather::axes), input `k + 1` does. Input 0's strides say the rest, and are 0 along dimensions
    /// that only the places run along. A place out of range is taken for the nearest in range. The program hands input 0
    /// on.
    ///
    /// Where the program has a second output, the gather is *checked*: that output is one element, of stride 0, which the
    /// program's value, a constant, is written to where a place is out of range, and which else stays as it is; and a
    /// negative place counts from the end of its axis.
    Gather {
        /// The axes of input 0 that places are named of.
        axes: SmallVec<[IndexedAxis; 2]>,
    },
    /// The reverse of [`Gather`](Family::Gather): the elements of input 0 are written to the output at the places that
    /// the further inputs name; one out of range is left out. Where a place is named twice, the element that is last in
    /// row-major order stays; the rest of the output stays as it is.
    Scatter {
        /// The axes of the output that places are named of.
        axes: SmallVec<[IndexedAxis; 2]>,
    },
    /// Where each element of input 0 would be inserted into a sorted table, as `int64` (array API `searchsorted`). The
    /// table is one-dimensional, of the same dtype and sorted as [`Sort`](Family::Sort) does; input 1 points at its first
    /// element, and its strides are 0. The program hands input 0 on.
    Search {
        /// The table: its extent and stride.
        table: IndexedAxis,
        /// Behind equal elements of the table, instead of before them.
        right: bool,
    },
    /// Whether each element of input 0 equals one of a sorted table, as `bool`; otherwise as
    /// [`Search`](Family::Search). NaN equals nothing.
    Contains {
        /// The table: its extent and stride.
        table: IndexedAxis,
        /// Whether it equals none of them, instead.
        invert: bool,
    },
    /// The places, as `int64`, of the elements that would be the first along the last dimension, if input 0 were sorted
    /// as [`Sort`](Family::Sort) does, in this order. The output's strides are 0 along the last dimension, of which its
    /// axis has the first elements. The program hands its input on.
    Top {
        /// From the largest to the smallest.
        descending: bool,
        /// The axis of the output that the places are written along: no longer than the last dimension.
        axis: IndexedAxis,
    },
    /// The elements of the output at the places along an axis that input 1, `int64`, names are joined by an operation with those of
    /// input 0, of one dimension and the output's dtype, one after the other; a place out of range is left out. The output has stride
    /// 0 along the dimension. The program hands input 0 on.
    Accumulate {
        /// [`Op::Add`], [`Op::Multiply`], [`Op::Minimum`] or [`Op::Maximum`].
        op: Op,
        /// The axis of the output.
        axis: IndexedAxis,
    },
    /// How often each place along an axis of the output is named: input 0, of one dimension and dtype `int64`, has the places; one
    /// out of range is not counted. The output, of `int64` too, has stride 0 along that dimension. The program hands its input on.
    Count {
        /// The axis of the output.
        axis: IndexedAxis,
    },
    /// How many elements of input 0, of one dimension, fall into each bin between edges that do not decrease and are about as far
    /// apart as each other: input 1 points at the first of them, with stride 0. A bin has its lower edge, the last one both; what is
    /// in none, as NaN, is not counted. The output, of `int64`, has stride 0 along the dimension. The program hands input 0 on.
    Histogram {
        /// The edges; at least two.
        edges: IndexedAxis,
        /// The axis of the output, shorter than the edges by one.
        axis: IndexedAxis,
    },
    /// The elements of input 0 at which the last input, a mask of `bool`, is true, one after another along an axis of the
    /// output, in row-major order of the mask's dimensions. The mask's are the first, and the output's strides are 0 along
    /// them; the mask's strides are 0 along the others, which an element of the mask has all elements of. What is beyond the
    /// axis is left out. The program hands input 0 on.
    Compress {
        /// The axis of the output.
        axis: IndexedAxis,
        /// Number of the mask's dimensions.
        masked: usize,
        /// There is no input but the mask, and no other dimension; the output holds the numbers, as `int64`, of the true
        /// elements in row-major order.
        indices: bool,
    },
    /// The elements of input 0, of one dimension, that differ from the one before, and the first, one after another along an axis
    /// of the output. NaN differs from everything. The program hands its input on; it has a second output, of `int64` and
    /// stride 0, which is how many there are, whatever its value.
    Runs {
        /// The axis of the output: as long as the dimension.
        axis: IndexedAxis,
    },
    /// The reverse of [`Compress`](Family::Compress): the elements of input 0, one after another along its axis, go to the
    /// elements of the output at which the mask, input 1, is true. The rest of the output stays as it is.
    Expand {
        /// The axis of input 0, whose strides are 0 along the mask's dimensions.
        axis: IndexedAxis,
        /// Number of the mask's dimensions.
        masked: usize,
    },
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Map => "map",
            Self::Reduce { fold, .. } => return write!(f, "reduction by {fold:?}"),
            Self::Scan { fold } => return write!(f, "scan by {fold:?}"),
            Self::Sort { .. } => "sort",
            Self::Select { .. } => "selection",
            Self::Gather { .. } => "gather",
            Self::Scatter { .. } => "scatter",
            Self::Search { .. } => "search",
            Self::Contains { .. } => "search of members",
            Self::Top { .. } => "choice of the first",
            Self::Accumulate { op, .. } => return write!(f, "accumulation by {op:?}"),
            Self::Count { .. } => "count",
            Self::Histogram { .. } => "histogram",
            Self::Compress { .. } => "choice by a mask",
            Self::Runs { .. } => "runs",
            Self::Expand { .. } => "spread by a mask",
        })
    }
}

/// An axis of an array that is addressed by indices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub struct IndexedAxis {
    /// Its extent; at least 1.
    pub extent: usize,
    /// Elements to step along it.
    pub stride: isize,
}

/// How elements lie, of no address.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub struct Stored {
    /// Dtype of the elements.
    pub dtype: Dtype,
    /// Elements to step per dimension of the plan; signed.
    pub strides: SmallVec<[isize; MAX_PLAN_DIMS]>,
}

/// One pass over an iteration space.
///
/// Guaranteed by core for maps and reductions: no extent is 0; there are at most [`MAX_PLAN_DIMS`] dimensions and adjacent
/// ones that could be merged, in what is [`Stored`] too, are merged; every operand has one stride per dimension; every
/// address that the strides and extents reach is inside a live allocation that the device may access and is aligned to the
/// dtype; no output overlaps another output or an input, except that an input may be exactly an output of the same element
/// size (same address and strides), which is an in-place operation; no output addresses an element twice, and a
/// reduction's outputs have stride 0 along the folded dimensions.
///
/// The other families have no more dimensions either, and no extent of 0; their dimensions are in the order of the
/// arrays and need not be merged, their outputs overlap no input, and only a scatter's output may address an element
/// twice.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub struct LaunchPlan {
    /// What is computed.
    pub program: Arc<Program>,
    /// Over what.
    pub family: Family,
    /// Extents of the iteration space, outermost first. Empty: one element.
    pub dims: SmallVec<[usize; MAX_PLAN_DIMS]>,
    /// As many as the program has inputs.
    pub inputs: SmallVec<[Operand; 4]>,
    /// As many as the program has outputs.
    pub outputs: SmallVec<[Operand; 1]>,
}

impl LaunchPlan {
    /// Dtype of the output of this number.
    ///
    /// # Panics
    /// When there is no such output.
    #[must_use]
    pub fn output_dtype(&self, output: usize) -> Dtype {
        let value = self.program.output_dtype(output);
        match &self.family {
            Family::Reduce { fold, finish, .. } => fold.finished(value, finish.as_deref()),
            Family::Sort { indices: true, .. }
            | Family::Search { .. }
            | Family::Top { .. }
            | Family::Histogram { .. }
            | Family::Compress { indices: true, .. } => Dtype::I64,
            Family::Contains { .. } => Dtype::Bool,
            _ => value,
        }
    }
    /// Number of points of the iteration space.
    #[must_use]
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }
    /// Whether there is nothing to do; a plan that core submits is never empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
