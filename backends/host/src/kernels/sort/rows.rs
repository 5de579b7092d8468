//! Rows that are sorted: where they lie, and what is asked for of each.

use std::ops::Range;

use smallvec::SmallVec;
use stridewise_core::{Dtype, backend::LaunchPlan};

use super::order::Order;
use crate::kernels::moving::space::{Cursor, Space, View};
use crate::kernels::split::LONG_PART;
use crate::kernels::tuning::Tuning;

/// What the memory of a sort is called where there is none.
pub(crate) const SCRATCH: &str = "scratch of a sort";

/// The rows of a sort; the views of the space are the output and the input.
pub(crate) struct Rows {
    pub(crate) space: Space,
    pub(crate) len: usize,
    /// Bytes to step along a row of the output, and of the input.
    pub(crate) to: isize,
    pub(crate) from: isize,
    pub(crate) dtype: Dtype,
    pub(crate) order: Order,
    pub(crate) indices: bool,
    /// How many of the sorted elements are written, where it is their places that are.
    pub(crate) first: usize,
    /// The places whose elements are asked for, in order and apart, where others are not.
    pub(crate) only: Option<SmallVec<[Range<usize>; 2]>>,
}

/// A row: the addresses of its first elements.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) dst: *mut u8,
    pub(crate) src: *const u8,
}

impl Rows {
    /// The rows of a plan, of each of which so many elements are written.
    pub(crate) fn new(
        plan: &LaunchPlan,
        descending: bool,
        indices: bool,
        first: usize,
        tuning: &Tuning,
    ) -> Self {
        let dtype = plan.program.inputs()[0];
        let outer = plan.dims.len().saturating_sub(1);
        let out = plan.output_dtype(0).size();
        let view = |operand, size| View::new(operand, size, 0..outer);
        let views: SmallVec<[View; 4]> =
            SmallVec::from_iter([view(&plan.outputs[0], out), view(&plan.inputs[0], dtype.size())]);
        let step =
            |strides: &[isize], size: usize| strides.last().map_or(0, |s| s.wrapping_mul(size.cast_signed()));
        Self {
            len: plan.dims.last().copied().unwrap_or(1),
            to: step(&plan.outputs[0].strides, out),
            from: step(&plan.inputs[0].strides, dtype.size()),
            space: Space::new(&plan.dims[..outer], views, tuning.isa),
            dtype,
            order: Order::new(dtype, descending),
            indices,
            first,
            only: None,
        }
    }

    /// Whether threads share each row, as there are few and long ones.
    pub(crate) fn is_shared(&self, threads: usize) -> bool {
        threads > 1 && self.space.len() < 2 * threads && self.len >= 2 * LONG_PART
    }

    /// Calls `run` for the rows `start..end`.
    pub(crate) fn each(&self, start: usize, end: usize, mut run: impl FnMut(Row)) {
        let mut cursor: Cursor = self.space.seek(start);
        for row in start..end {
            run(Row { dst: cursor.at[0], src: cursor.at[1] });
            if row + 1 < end {
                self.space.advance(&mut cursor, 1);
            }
        }
    }

    /// The bits of an element of a row.
    ///
    /// # Safety
    /// `row` is one of the plan's, `i` below its length; the dtype is real.
    #[inline(always)]
    pub(crate) unsafe fn load(&self, row: Row, i: usize) -> u64 {
        // SAFETY: the row has an element at `i`, of a real dtype, that is readable.
        unsafe { self.order.load(row.src.wrapping_offset(self.from * i.cast_signed())) }
    }

    /// # Safety
    /// As for [`load`](Self::load).
    #[inline(always)]
    pub(crate) unsafe fn store(&self, row: Row, i: usize, bits: u64) {
        // SAFETY: the row of the output has an element at `i`, of a real dtype, that is writable.
        unsafe { self.order.store(row.dst.wrapping_offset(self.to * i.cast_signed()), bits) };
    }

    /// Writes those elements in the row's order that are equal although their bits may differ: zeros, whatever their sign, from a
    /// place on, and NaNs from another place to the end.
    ///
    /// # Safety
    /// As for [`range`](Self::range): so many are there.
    pub(crate) unsafe fn keep_order(&self, row: Row, zeros: Option<usize>, nans: usize) {
        let order = self.order;
        // SAFETY: for all of them: `i` is below the row's length; there are as many zeros and NaNs as places
        // for them.
        unsafe {
            let all = || (0..self.len).map(|i| self.load(row, i));
            if let Some(first) = zeros {
                let zeros = all().filter(|&bits| order.is_zero(bits));
                (first..).zip(zeros).for_each(|(i, bits)| self.store(row, i, bits));
            }
            if nans < self.len {
                let nans_of = all().filter(|&bits| order.is_nan(bits));
                (nans..).zip(nans_of).for_each(|(i, bits)| self.store(row, i, bits));
            }
        }
    }
}
