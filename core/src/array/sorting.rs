//! Sorting along an axis. NaN stands behind everything in either direction, complex numbers are ordered by their real,
//! then their imaginary part; equal elements keep their order always.

use std::ops::Range;

use smallvec::SmallVec;

use super::UsmArray;
use super::addressing::IndexMode;
use crate::backend::RowWork;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::{Dims, SliceItem, normalize_axis};
use crate::lazy::immediate::OnRow;
use crate::lazy::{Pass, Walk};
use crate::plan::{Family, IndexedAxis};
use crate::program::Program;

impl UsmArray {
    /// A sorted copy along an axis, from the smallest to the largest element or the reverse. Equal elements keep their
    /// order; NaN comes last.
    ///
    /// # Errors
    /// [`Error::Axis`], [`Error::Alloc`]; [`Error::Unsupported`] where the device does not sort.
    pub fn sort(&self, axis: isize, descending: bool) -> Result<Self> {
        self.sorted(axis, Family::Sort { descending, indices: false })
    }

    /// The places, as `int64`, of the elements of the [sorted](Self::sort) array.
    ///
    /// # Errors
    /// As for [`sort`](Self::sort).
    pub fn argsort(&self, axis: isize, descending: bool) -> Result<Self> {
        self.sorted(axis, Family::Sort { descending, indices: true })
    }

    /// A copy whose elements at some places along an axis are those of the [sorted](Self::sort) array, but that equal ones may be in
    /// any order; at other places it may have any of the others, or anything.
    ///
    /// # Errors
    /// As for [`sort`](Self::sort).
    pub(super) fn select_places(&self, axis: isize, places: SmallVec<[Range<usize>; 2]>) -> Result<Self> {
        self.sorted(axis, Family::Select { places })
    }

    fn sorted(&self, axis: isize, family: Family) -> Result<Self> {
        let axis = normalize_axis("axis", axis, self.ndim())?.cast_signed();
        let (dtype, row) = match &family {
            &Family::Sort { descending, indices } => {
                (if indices { Dtype::I64 } else { self.dtype() }, Some(RowWork::Sort { descending, indices }))
            }
            Family::Select { places } => {
                let (first, end) = (places.first(), places.last());
                let row = first.zip(end).map(|(first, last)| (first.start, last.end));
                (self.dtype(), row.map(|(first, end)| RowWork::Partition { first, end }))
            }
            _ => (self.dtype(), None),
        };
        if self.ndim() == 1
            && let Some(row) = row.and_then(|work| OnRow::of(work, &[self]))
            && let Some(sorted) = row.fresh(self.len(), dtype)?
        {
            return Ok(sorted);
        }
        let selects = matches!(family, Family::Select { .. });
        let out = Self::empty(self.queue(), self.shape(), dtype, self.usm_kind())?;
        // The axis that is sorted along is the pass's last.
        let (from, to) = (self.move_axis(axis, -1)?, out.move_axis(axis, -1)?);
        let pass = Pass {
            program: Program::convert(self.dtype(), self.dtype()),
            family,
            dims: from.shape().into(),
            inputs: SmallVec::from_iter([Walk::along(&from)]),
            output: Walk::along(&to),
        };
        if selects && !pass.has_kernel(self.queue()) {
            return self.sort(axis, false);
        }
        pass.submit(self.queue(), &[])?;
        Ok(out)
    }

    /// The `k` largest elements (or smallest) along an axis, the most extreme first, and their places as `int64`; with
    /// `None`, of all elements in row-major order. Of equal elements the first is chosen; NaN only where nothing else is
    /// left.
    ///
    /// # Errors
    /// [`Error::Axis`]; [`Error::Value`] where the axis has fewer than `k` elements.
    pub fn top_k(&self, k: usize, axis: Option<isize>, largest: bool) -> Result<(Self, Self)> {
        let Some(axis) = axis else {
            return self.reshape(&[-1])?.top_k(k, Some(0), largest);
        };
        let axis = normalize_axis("axis", axis, self.ndim())?;
        if k > self.shape()[axis] {
            return Err(Error::value(
                "k",
                k,
                format!("at most {}, the extent of axis {axis}", self.shape()[axis]),
                "ask for no more elements than there are",
            ));
        }
        let sorted = axis.cast_signed();
        let is_row = self.ndim() == 1;
        let at_once = OnRow::of(RowWork::Top { descending: largest }, &[self]).filter(|_| is_row);
        let at_once = at_once.map(|row| row.fresh(k, Dtype::I64)).transpose()?.flatten();
        let found = match at_once.map_or_else(|| self.top(k, sorted, largest), |found| Ok(Some(found)))? {
            None => self.first_by_tiles(k, axis, largest)?,
            found => found,
        };
        // The places are in range as they are.
        let taken = |places: &Self| match if is_row { self.taken_at_once(places)? } else { None } {
            Some(values) => Ok(values),
            None => self.take_along_axis(places, sorted, IndexMode::Clip),
        };
        if let Some(places) = found {
            return Ok((taken(&places)?, places));
        }
        let mut items = vec![SliceItem::Slice { start: None, stop: None, step: 1 }; axis];
        items.push(SliceItem::Slice { start: Some(0), stop: Some(k.cast_signed()), step: 1 });
        let places = self.argsort(sorted, largest)?.slice(&items)?.copy()?;
        Ok((taken(&places)?, places))
    }

    /// The places of the first `k` of the sorted elements along an axis, where the device finds them without sorting all.
    fn top(&self, k: usize, axis: isize, descending: bool) -> Result<Option<Self>> {
        let from = self.move_axis(axis, -1)?;
        let mut shape = Dims::from(self.shape());
        shape[axis.unsigned_abs()] = k;
        let out = Self::empty(self.queue(), &shape, Dtype::I64, self.usm_kind())?;
        if out.is_empty() {
            return Ok(Some(out));
        }
        let to = out.move_axis(axis, -1)?;
        let mut to = Walk::along(&to);
        let stride = to.strides.pop().unwrap_or_default();
        to.strides.push(0);
        let pass = Pass {
            program: Program::convert(self.dtype(), self.dtype()),
            family: Family::Top { descending, axis: IndexedAxis { extent: k, stride } },
            dims: from.shape().into(),
            inputs: SmallVec::from_iter([Walk::along(&from)]),
            output: to,
        };
        if !pass.has_kernel(self.queue()) {
            return Ok(None);
        }
        pass.submit(self.queue(), &[])?;
        Ok(Some(out))
    }
}
