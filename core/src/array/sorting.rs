//! Sorting along an axis. NaN stands behind everything in either direction, complex numbers are ordered by their real,
//! then their imaginary part; equal elements keep their order always.

use std::borrow::Cow;
use std::ops::Range;

use smallvec::SmallVec;

use super::UsmArray;
use super::addressing::IndexMode;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::{Dims, SliceItem, normalize_axis};
use crate::lazy::{Pass, Walk, handing_on};
use crate::plan::{Family, IndexedAxis};

/// The direction of a sort, which is stable and puts NaN last in either.
///
/// ```
/// use stridewise_core::Sort;
///
/// assert_eq!(Sort::default(), Sort::ascending());
/// assert_eq!(Sort::from(true), Sort::descending());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Sort {
    descending: bool,
}

impl Sort {
    /// From the smallest element to the largest.
    #[must_use]
    pub const fn ascending() -> Self {
        Self { descending: false }
    }
    /// From the largest element to the smallest.
    #[must_use]
    pub const fn descending() -> Self {
        Self { descending: true }
    }
}

/// Descending, where it is true.
impl From<bool> for Sort {
    fn from(descending: bool) -> Self {
        Self { descending }
    }
}

impl UsmArray {
    /// A sorted copy along an axis, from the smallest to the largest element or the reverse: [`Sort::ascending`],
    /// [`Sort::descending`], or whether it is descending. Equal elements keep their order; NaN comes last.
    ///
    /// # Errors
    /// [`Error::Axis`], [`Error::Alloc`]; [`Error::Unsupported`] where the device does not sort.
    pub fn sort(&self, axis: isize, order: impl Into<Sort>) -> Result<Self> {
        self.sorted(axis, Family::Sort { descending: order.into().descending, indices: false })
    }

    /// The places, as `int64`, of the elements of the [sorted](Self::sort) array.
    ///
    /// # Errors
    /// As for [`sort`](Self::sort).
    pub fn argsort(&self, axis: isize, order: impl Into<Sort>) -> Result<Self> {
        self.sorted(axis, Family::Sort { descending: order.into().descending, indices: true })
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
        let axis = normalize_axis("axis", axis, self.ndim())?;
        let dtype =
            if matches!(family, Family::Sort { indices: true, .. }) { Dtype::I64 } else { self.dtype() };
        let selects = matches!(family, Family::Select { .. });
        let out = Self::empty(self.queue(), self.shape(), dtype, self.usm_kind())?;
        // The axis that is sorted along is the pass's last.
        let (from, to) = (self.with_last(axis)?, out.with_last(axis)?);
        let pass = Pass {
            program: handing_on(self.dtype(), None),
            family,
            dims: Dims::from_slice(from.shape()),
            inputs: smallvec::smallvec![Walk::along(&from)],
            output: Walk::along(&to),
        };
        if !selects {
            pass.submit(self.queue(), &[])?;
        } else if !pass.submit_if_native(self.queue())? {
            return self.sort(axis.cast_signed(), false);
        }
        drop(to);
        Ok(out)
    }

    /// The same elements, with an axis as the last one.
    pub(super) fn with_last(&self, axis: usize) -> Result<Cow<'_, Self>> {
        match axis + 1 == self.ndim() {
            true => Ok(Cow::Borrowed(self)),
            false => self.move_axis(axis.cast_signed(), -1).map(Cow::Owned),
        }
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
        let found = match self.top(k, axis, largest)? {
            None => self.first_by_tiles(k, axis, largest)?,
            found => found,
        };
        // The places are in range as they are.
        let taken = |places: &Self| match self.taken_at_once(places)? {
            Some(values) => Ok(values),
            None if self.ndim() == 1 => self.places_along(places, axis).gather(self),
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
    fn top(&self, k: usize, axis: usize, descending: bool) -> Result<Option<Self>> {
        let from = self.with_last(axis)?;
        let mut shape = Dims::from_slice(self.shape());
        shape[axis] = k;
        let out = Self::empty(self.queue(), &shape, Dtype::I64, self.usm_kind())?;
        if out.is_empty() {
            return Ok(Some(out));
        }
        let to = out.with_last(axis)?;
        let mut places = Walk::along(&to);
        let stride = places.strides.pop().unwrap_or_default();
        places.strides.push(0);
        let pass = Pass {
            program: handing_on(self.dtype(), None),
            family: Family::Top { descending, axis: IndexedAxis { extent: k, stride } },
            dims: Dims::from_slice(from.shape()),
            inputs: smallvec::smallvec![Walk::along(&from)],
            output: places,
        };
        let found = pass.submit_if_native(self.queue())?;
        drop(to);
        Ok(found.then_some(out))
    }
}
