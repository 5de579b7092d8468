//! What a backend executes: validated plain data, without layouts.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::memory::UsmPtr;
use crate::program::{Fold, Program};

/// Dimensions a plan has at most, after coalescing.
pub const MAX_PLAN_DIMS: usize = 8;

/// One array operand of a plan. Its dtype is the program's, for the input or output of the same position.
#[derive(Clone, PartialEq, Debug)]
pub struct Operand {
    /// Address of the element at multi-index zero.
    pub ptr: UsmPtr,
    /// Elements to step per dimension of the plan; signed; 0 where broadcast.
    pub strides: SmallVec<[isize; MAX_PLAN_DIMS]>,
}

/// What is computed at each point of the iteration space.
#[derive(Clone, PartialEq, Debug)]
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
    },
}

/// One pass over an iteration space.
///
/// Guaranteed by core: no extent is 0; there are at most [`MAX_PLAN_DIMS`] dimensions and adjacent ones that could be
/// merged are merged; every operand has one stride per dimension; every address that the strides and extents reach
/// is inside a live allocation that the device may access and is aligned to the dtype; no output overlaps another
/// output or an input, except that an input may be exactly an output of the same element size (same address and
/// strides), which is an in-place operation; no output addresses an element twice, and a reduction's outputs have
/// stride 0 along the folded dimensions.
#[derive(Clone, PartialEq, Debug)]
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
