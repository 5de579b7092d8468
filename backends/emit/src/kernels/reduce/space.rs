//! The dimensions of a plan in the order that its kernels take them.

use std::ops::Range;

use smallvec::SmallVec;
use stridewise_core::backend::{LaunchPlan, MAX_PLAN_DIMS};

/// One number per dimension.
pub(crate) type Dims<T> = SmallVec<[T; MAX_PLAN_DIMS]>;

/// Extents, and the strides of every operand over them.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    pub(crate) extents: Dims<usize>,
    /// By operand: the inputs, then, where it takes part, the output.
    pub(crate) strides: SmallVec<[Dims<isize>; 4]>,
}

impl Space {
    /// Some of a plan's dimensions, for the inputs and, where asked for, the output.
    pub(crate) fn new(plan: &LaunchPlan, dims: Range<usize>, output: bool) -> Self {
        let outputs = plan.outputs.iter().take(usize::from(output));
        let operands = plan.inputs.iter().chain(outputs);
        Self {
            extents: plan.dims[dims.clone()].into(),
            strides: operands.map(|o| o.strides[dims.clone()].into()).collect(),
        }
    }

    /// Number of points.
    pub(crate) fn len(&self) -> usize {
        self.extents.iter().product()
    }

    /// The innermost extent; 1 where there is no dimension.
    pub(crate) fn row(&self) -> usize {
        self.extents.last().copied().unwrap_or(1)
    }

    /// The innermost stride of an operand; 0 where there is no dimension.
    pub(crate) fn step(&self, operand: usize) -> isize {
        self.strides[operand].last().copied().unwrap_or(0)
    }

    /// Puts the dimensions along which some operand takes small steps last, those along which all of them stay where they
    /// are first.
    pub(crate) fn sort_by(&mut self, operands: &[usize]) {
        let least = |d: usize| {
            let steps = operands.iter().map(|&k| self.strides[k][d].unsigned_abs());
            steps.filter(|&step| step != 0).min().unwrap_or(usize::MAX)
        };
        let mut order: Dims<usize> = (0..self.extents.len()).collect();
        order.sort_by_key(|&d| std::cmp::Reverse(least(d)));
        self.extents = order.iter().map(|&d| self.extents[d]).collect();
        for strides in &mut self.strides {
            *strides = order.iter().map(|&d| strides[d]).collect();
        }
    }

    /// Leaves out dimensions of extent 1 and makes one of neighbours where every operand allows it.
    pub(crate) fn merge(&mut self) {
        let mut len = 0;
        for d in 0..self.extents.len() {
            let extent = self.extents[d];
            if extent == 1 {
                continue;
            }
            // An extent fits a signed number: the elements behind it have addresses.
            let joins = len > 0
                && self.strides.iter().all(|s| s[d].checked_mul(extent.cast_signed()) == Some(s[len - 1]));
            if joins {
                self.extents[len - 1] *= extent;
            } else {
                self.extents[len] = extent;
                len += 1;
            }
            for strides in &mut self.strides {
                strides[len - 1] = strides[d];
            }
        }
        self.extents.truncate(len);
        for strides in &mut self.strides {
            strides.truncate(len);
        }
    }

    /// Makes the innermost dimension one of vectors of `width` elements, which divides its extent.
    pub(crate) fn widen(&mut self, width: usize) {
        if let Some(extent) = self.extents.last_mut() {
            *extent /= width;
        }
        for strides in &mut self.strides {
            if let Some(stride) = strides.last_mut() {
                *stride *= width.cast_signed();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;

    #[test]
    fn dimensions_are_sorted_and_merged() {
        // A transposed array of 4 by 3 by 1, and one that is broadcast along the first.
        let strides = smallvec![smallvec![1, 4, 7], smallvec![3, 12, 0]];
        let mut space = Space { extents: smallvec![4, 3, 1], strides };
        space.sort_by(&[0]);
        space.merge();
        assert_eq!(space.extents.as_slice(), [12]);
        assert_eq!((space.step(0), space.step(1), space.row(), space.len()), (1, 3, 12, 12));
        space.widen(4);
        assert_eq!((space.step(0), space.step(1), space.row()), (4, 12, 3));
        let strides = smallvec![smallvec![0, 1], smallvec![1, 4]];
        let mut space = Space { extents: smallvec![4, 3], strides };
        space.sort_by(&[0]);
        space.merge();
        assert_eq!(space.extents.as_slice(), [4, 3]);
    }
}
