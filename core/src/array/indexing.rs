//! Elements at places that arrays name: along one axis, along several at once, mixed with slices. NumPy's
//! rules.
//!
//! An index is turned into an `Addressing`: the dimensions of the result, and for each indexed axis the
//! places along it, with a stride for each of these dimensions. `addressing.rs` makes one gather or scatter
//! of it.
//! ```text
//! x[:, rows, cols]   of an x of shape (n, 8, 9), rows of (5, 1) and cols of (4,):
//!                    dims (n, 5, 4); places of axis 1 with strides (0, 1, 0), of axis 2 with (0, 0, 1)
//! ```
//! `walk_index` goes through the items; a mask becomes the places at which it is true (`nonzero`). Places are
//! checked on the way (`IndexMode::Check`), by the device where it has such a kernel, else by a pass of its
//! own: an error names the place before anything is written.
//!
//! Few elements of one row are taken and put by core itself (`taken_at_once`, `is_put_at_once`), without a plan.
//! What limits the rest is the memory access of each place. A new sort of item is a variant of [`Index`] and
//! its arm in `walk_index`.

use smallvec::SmallVec;

use super::addressing::{Addressing, IndexMode, Places, resolve, unchecked};
use super::{ArrayOrScalar, UsmArray};
use crate::dtype::{Dtype, Element};
use crate::error::{Error, Result};
use crate::layout::{Dims, Ellipsis, NewAxis, Order, SliceItem, Strides, broadcast_shapes, normalize_axis};
use crate::lazy::immediate::Moving;
use crate::memory::immediate::Move;
use crate::ops::Op;
use crate::plan::IndexedAxis;
use crate::runtime::Event;
use crate::scalar::Scalar;

/// An item of an index that selects by slices and by arrays; see [`UsmArray::index`] and [`ix!`](crate::ix).
#[derive(Clone, Debug)]
pub enum Index {
    /// What a basic index has: a place, a slice, a new axis, an ellipsis.
    Slice(SliceItem),
    /// Places along one axis, as integers of any dtype; or a mask of `bool` over as many axes as it has dimensions.
    Array(UsmArray),
}

impl From<&UsmArray> for Index {
    fn from(array: &UsmArray) -> Self {
        Self::Array(array.clone())
    }
}
impl<T: Element> From<&super::Array<T>> for Index {
    fn from(array: &super::Array<T>) -> Self {
        Self::Array(array.as_untyped().clone())
    }
}

macro_rules! slice_items {
    ($($ty:ty)*) => {$(
        impl From<$ty> for Index {
            fn from(item: $ty) -> Self {
                Self::Slice(SliceItem::from(item))
            }
        }
    )*};
}
macro_rules! places_and_ranges {
    ($($ty:ty)*) => {$(
        slice_items! {
            $ty std::ops::Range<$ty> std::ops::RangeInclusive<$ty> std::ops::RangeFrom<$ty> std::ops::RangeTo<$ty>
            std::ops::RangeToInclusive<$ty>
        }
    )*};
}
slice_items! { SliceItem NewAxis Ellipsis std::ops::RangeFull }
places_and_ranges! { isize i32 usize }

/// Writes an index that selects by slices and by arrays, as `&[Index; N]`: what [`s!`](crate::s) takes, and references
/// to arrays.
///
/// ```no_run
/// use stridewise_core::{array, ix};
/// let a = array![[1, 2, 3], [4, 5, 6]];
/// let columns = array![2_i64, 0];
/// assert_eq!(a.index(ix![.., &columns])?.to_vec()?, [3, 1, 6, 4]);
/// # Ok::<(), stridewise_core::Error>(())
/// ```
#[macro_export]
macro_rules! ix {
    (@items [$($done:expr),*]) => { &[$($done),*] };
    (@items [$($done:expr),*] $range:expr ; $step:expr) => {
        $crate::ix!(@items [$($done,)* $crate::Index::Slice($crate::s!(@stepped $range; $step))])
    };
    (@items [$($done:expr),*] $range:expr ; $step:expr, $($rest:tt)*) => {
        $crate::ix!(@items [$($done,)* $crate::Index::Slice($crate::s!(@stepped $range; $step))] $($rest)*)
    };
    (@items [$($done:expr),*] $item:expr) => {
        $crate::ix!(@items [$($done,)* $crate::Index::from($item)])
    };
    (@items [$($done:expr),*] $item:expr, $($rest:tt)*) => {
        $crate::ix!(@items [$($done,)* $crate::Index::from($item)] $($rest)*)
    };
    () => {{
        const NOTHING: &[$crate::Index; 0] = &[];
        NOTHING
    }};
    ($($items:tt)+) => { $crate::ix!(@items [] $($items)+) };
}

const WHOLE: SliceItem = SliceItem::Slice { start: None, stop: None, step: 1 };

/// Zeros for dimensions that an operand does not run along.
fn still(count: usize) -> impl Iterator<Item = isize> {
    std::iter::repeat_n(0, count)
}

impl UsmArray {
    /// The elements at places along an axis, which the indices' dimensions take the place of; with `None`, places in the
    /// row-major sequence of all elements.
    ///
    /// # Errors
    /// [`Error::Axis`], [`Error::Dtype`] where the indices are no integers, [`Error::OutOfBounds`] for one out of range
    /// with [`IndexMode::Check`], [`Error::ExecutionPlacement`].
    pub fn take(&self, indices: &Self, axis: Option<isize>, mode: IndexMode) -> Result<Self> {
        let is_row = mode == IndexMode::Check && self.ndim() == 1 && matches!(axis, None | Some(0 | -1));
        if is_row && let Some(found) = self.taken_at_once(indices)? {
            return Ok(found);
        }
        match axis {
            None => self.reshape(&[-1])?.take(indices, Some(0), mode),
            Some(axis) => {
                if mode == IndexMode::Check {
                    let number = normalize_axis("axis", axis, self.ndim())?;
                    if let Some(taken) = self.taken_checking(indices, number)? {
                        return Ok(taken);
                    }
                }
                self.along_axis(indices, axis, mode, false)?.gather(self)
            }
        }
    }

    /// Writes values, which broadcast to the shape of the [`take`](Self::take) with the same arguments, to its elements.
    /// Of several values for one place the last in row-major order stays. Operands may overlap this array.
    ///
    /// # Errors
    /// As for [`take`](Self::take); [`Error::Borrow`] where this array is read-only, [`Error::Shape`] where the values do
    /// not broadcast. On an error nothing is written.
    pub fn put<'a>(
        &self,
        indices: &Self,
        values: impl Into<ArrayOrScalar<'a>>,
        axis: Option<isize>,
        mode: IndexMode,
    ) -> Result<Event> {
        self.check_writable("self")?;
        let values = values.into();
        let is_row = mode == IndexMode::Check && self.ndim() == 1 && matches!(axis, None | Some(0 | -1));
        if is_row && self.is_put_at_once(indices, &values) {
            return Ok(Event::ready());
        }
        if let Some(axis) = axis {
            return self.along_axis(indices, axis, mode, true)?.scatter(self, values);
        }
        if let Some(layout) = self.layout.reshape_view(&[self.len()], Order::C) {
            let flat = self.with_layout(layout);
            return flat.along_axis(indices, 0, mode, true)?.scatter(&flat, values);
        }
        // Places in the sequence of all elements, as one index for each axis.
        let flat = resolve(indices, self.len(), mode, Some(self))?;
        let items: Vec<Index> = unravel(&flat, self.shape())?.into_iter().map(Index::Array).collect();
        self.assign_index(&items, values)
    }

    /// The elements at places along an axis, one place for each element of the result. Shapes are broadcast, but for the
    /// axis, whose extent is the indices'.
    ///
    /// # Errors
    /// As for [`take`](Self::take); [`Error::Shape`] where the shapes do not broadcast.
    pub fn take_along_axis(&self, indices: &Self, axis: isize, mode: IndexMode) -> Result<Self> {
        self.beside_axis(indices, axis, mode, false)?.gather(self)
    }

    /// Writes values, which broadcast to the shape of the [`take_along_axis`](Self::take_along_axis) with the same
    /// arguments, to its elements. Of several values for one place the last in row-major order stays.
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    pub fn put_along_axis<'a>(
        &self,
        indices: &Self,
        values: impl Into<ArrayOrScalar<'a>>,
        axis: isize,
        mode: IndexMode,
    ) -> Result<Event> {
        self.check_writable("self")?;
        self.beside_axis(indices, axis, mode, true)?.scatter(self, values.into())
    }

    /// The elements that an index of slices and arrays selects; see [`ix!`](crate::ix). Arrays of integers are broadcast
    /// against each other; a mask of `bool` stands for the places of its true elements, one array for each of its
    /// dimensions, and one of no dimensions for a new axis of one element or none. The broadcast dimensions come where the first array stands if all arrays and single places stand side
    /// by side, else first. Without any array the result is a view, else new memory.
    ///
    /// # Errors
    /// As for [`slice`](Self::slice); [`Error::OutOfBounds`] for an index out of range, [`Error::Dtype`] for arrays of
    /// other dtypes, [`Error::Shape`] where arrays do not broadcast or a mask has another shape than the axes that it
    /// selects from, [`Error::ExecutionPlacement`].
    pub fn index(&self, items: &[Index]) -> Result<Self> {
        if let [Index::Array(mask)] = items
            && mask.dtype() == Dtype::Bool
        {
            return self.masked(mask);
        }
        if let ([Index::Array(indices)], 1) = (items, self.ndim()) {
            let found = match self.taken_at_once(indices)? {
                None => self.taken_checking(indices, 0)?,
                found => found,
            };
            if let Some(found) = found {
                return Ok(found);
            }
        }
        let (base, addressing) = self.addressed(items, false)?;
        match addressing {
            Some(addressing) => addressing.gather(&base),
            None => Ok(base),
        }
    }

    /// Writes values, which broadcast to the shape of the [`index`](Self::index) with the same items, to its elements. Of
    /// several values for one place the last in row-major order of the selection stays. Operands may overlap this array.
    ///
    /// # Errors
    /// As for [`index`](Self::index); [`Error::Borrow`] where this array is read-only, [`Error::Shape`] where the values
    /// do not broadcast. On an error nothing is written.
    pub fn assign_index<'a>(&self, items: &[Index], values: impl Into<ArrayOrScalar<'a>>) -> Result<Event> {
        self.check_writable("self")?;
        if let [Index::Array(mask)] = items
            && mask.dtype() == Dtype::Bool
        {
            return self.assign_masked(mask, values);
        }
        let values = values.into();
        if let ([Index::Array(indices)], 1) = (items, self.ndim())
            && self.is_put_at_once(indices, &values)
        {
            return Ok(Event::ready());
        }
        let (base, addressing) = self.addressed(items, true)?;
        match addressing {
            Some(addressing) => addressing.scatter(&base, values),
            None => base.assign(values),
        }
    }

    /// The elements of this row at places; `None` where they are not few, or something is wrong, which is told elsewhere.
    pub(super) fn taken_at_once(&self, indices: &Self) -> Result<Option<Self>> {
        if indices.dtype() != Dtype::I64 {
            return Ok(None);
        }
        match Moving::of(Move::Take, &[self, indices]) {
            Some(moving) => moving.fresh(indices.len(), self.dtype()),
            None => Ok(None),
        }
    }

    /// Writes values to the elements of this row at places, where these are few and nothing is wrong. Whether it did.
    fn is_put_at_once(&self, indices: &Self, values: &ArrayOrScalar<'_>) -> bool {
        indices.dtype() == Dtype::I64 && Moving::write(Move::Put, values, indices, self)
    }

    /// The elements at places along an axis, which are checked on the way; `None` where they are not, or something is wrong, which
    /// is told elsewhere.
    fn taken_checking(&self, indices: &Self, axis: usize) -> Result<Option<Self>> {
        match unchecked(self, indices, axis)? {
            Some(indices) => self.places_along(&indices, axis).gather_checking(self),
            None => Ok(None),
        }
    }

    /// Addresses places along an axis, which the indices' dimensions take the place of.
    fn along_axis(&self, indices: &Self, axis: isize, mode: IndexMode, write: bool) -> Result<Addressing> {
        let axis = normalize_axis("axis", axis, self.ndim())?;
        let indices = resolve(indices, self.shape()[axis], mode, write.then_some(self))?;
        Ok(self.places_along(&indices, axis))
    }

    /// Addresses places that are in range along an axis, in place of which it has the indices' dimensions.
    pub(super) fn places_along(&self, indices: &Self, axis: usize) -> Addressing {
        let (shape, strides, count) = (self.shape(), self.strides(), indices.ndim());
        let (before, after) = (0..axis, axis + 1..self.ndim());
        let dims: Dims = [&shape[before.clone()], indices.shape(), &shape[after.clone()]]
            .into_iter()
            .flatten()
            .copied()
            .collect();
        let steps = strides[before.clone()].iter().copied();
        let place = IndexedAxis { extent: shape[axis], stride: strides[axis] };
        let along = still(axis).chain(indices.strides().iter().copied()).chain(still(after.len())).collect();
        Addressing {
            dims,
            strides: steps.chain(still(count)).chain(strides[after].iter().copied()).collect(),
            places: smallvec::smallvec![Places { axis: place, indices: indices.clone(), strides: along }],
        }
    }

    /// Addresses places along an axis, one for each element of the iteration space.
    fn beside_axis(&self, indices: &Self, axis: isize, mode: IndexMode, write: bool) -> Result<Addressing> {
        let axis = normalize_axis("axis", axis, self.ndim())?;
        if indices.ndim() != self.ndim() {
            return Err(Error::shape(
                "indices",
                format!("of shape {:?}", indices.shape()),
                format!("as many dimensions as shape {:?} has", self.shape()),
                "add axes with `expand_dims`, or use `take`",
            ));
        }
        let indices = resolve(indices, self.shape()[axis], mode, write.then_some(self))?;
        let mut own = Dims::from_slice(self.shape());
        own[axis] = 1;
        let mut dims = broadcast_shapes(&[&own, indices.shape()])?;
        dims[axis] = indices.shape()[axis];
        let indices = indices.broadcast_to(&dims)?;
        let stride = |k: usize| if k == axis || self.shape()[k] == 1 { 0 } else { self.strides()[k] };
        let place = IndexedAxis { extent: self.shape()[axis], stride: self.strides()[axis] };
        if write && (0..self.ndim()).any(|k| k != axis && dims[k] != self.shape()[k]) {
            return Err(Error::shape(
                "indices",
                format!("of shape {:?}", indices.shape()),
                format!("a shape that broadcasts to {:?} but for axis {axis}", self.shape()),
                "indices to write at are not broadcast beyond the array",
            ));
        }
        Ok(Addressing {
            strides: (0..self.ndim()).map(stride).collect(),
            places: smallvec::smallvec![Places {
                axis: place,
                strides: Strides::from_slice(indices.strides()),
                indices
            }],
            dims,
        })
    }

    /// The view that an index's slices select, with the axes of its arrays whole; and what the arrays address in it.
    fn addressed(&self, items: &[Index], write: bool) -> Result<(Self, Option<Addressing>)> {
        let consumed: usize = items.iter().map(axes_consumed).sum();
        if consumed > self.ndim() {
            return Err(Error::axis(
                "items",
                format!("an index of {consumed} axes"),
                format!("at most {}, as many as shape {:?} has", self.ndim(), self.shape()),
                "leave out indices, or add dimensions with `expand_dims`",
            ));
        }
        let Walked { basic, arrays, at } = self.walk_index(items, consumed)?;
        let base = self.slice(&basic)?;
        if arrays.is_empty() {
            return Ok((base, None));
        }
        let mut resolved: SmallVec<[(usize, Self); 4]> = SmallVec::new();
        for (axis, indices) in arrays {
            let mode = IndexMode::Check;
            resolved.push((axis, resolve(&indices, base.shape()[axis], mode, write.then_some(self))?));
        }
        let shapes: SmallVec<[&[usize]; 4]> = resolved.iter().map(|(_, indices)| indices.shape()).collect();
        let common = broadcast_shapes(&shapes)?;
        let kept: Dims = (0..base.ndim()).filter(|k| resolved.iter().all(|(axis, _)| axis != k)).collect();
        let extents = |axes: &[usize]| axes.iter().map(|&k| base.shape()[k]).collect::<Dims>();
        let steps = |axes: &[usize]| axes.iter().map(|&k| base.strides()[k]).collect::<Strides>();
        let (before, after) = kept.split_at(at);
        let places = resolved.iter().map(|(axis, indices)| {
            let indices = indices.broadcast_to(&common)?;
            let own = indices.strides().iter().copied();
            Ok(Places {
                axis: IndexedAxis { extent: base.shape()[*axis], stride: base.strides()[*axis] },
                strides: still(before.len()).chain(own).chain(still(after.len())).collect(),
                indices,
            })
        });
        let places = places.collect::<Result<SmallVec<_>>>()?;
        let dims: Dims =
            extents(before).into_iter().chain(common.iter().copied()).chain(extents(after)).collect();
        let strides = steps(before).into_iter().chain(still(common.len())).chain(steps(after)).collect();
        Ok((base.clone(), Some(Addressing { dims, strides, places })))
    }

    /// Sorts an index into its slices, which keep an axis for each array, and its arrays, with their axis in the view
    /// that the slices give.
    fn walk_index(&self, items: &[Index], consumed: usize) -> Result<Walked> {
        let mut walked = Walked { basic: Vec::new(), arrays: Vec::new(), at: 0 };
        // Axes of this array and of the view so far, and those of the view that no array selects from.
        let (mut axis, mut view, mut kept) = (0, 0, 0);
        let (mut first, mut ended, mut separated) = (None, false, false);
        for item in items {
            let single = matches!(item, Index::Slice(SliceItem::Index(_)) | Index::Array(_));
            if single {
                separated |= ended;
                first.get_or_insert(kept);
            } else {
                ended |= first.is_some();
            }
            match item {
                Index::Slice(item) => {
                    walked.basic.push(*item);
                    let added = match item {
                        SliceItem::NewAxis | SliceItem::Slice { .. } => 1,
                        SliceItem::Ellipsis => self.ndim() - consumed,
                        SliceItem::Index(_) => 0,
                    };
                    (view, kept) = (view + added, kept + added);
                    axis += match item {
                        SliceItem::NewAxis => 0,
                        SliceItem::Ellipsis => added,
                        _ => 1,
                    };
                }
                Index::Array(mask) if mask.dtype() == Dtype::Bool => {
                    let count = mask.ndim();
                    if count == 0 {
                        // Of no dimensions it selects from an axis of one place, all of it or nothing.
                        walked.arrays.extend(
                            mask.expand_dims(&[0])?.nonzero()?.into_iter().map(|places| (view, places)),
                        );
                        walked.basic.push(SliceItem::NewAxis);
                        view += 1;
                        continue;
                    }
                    let own = &self.shape()[axis..axis + count];
                    if mask.shape() != own {
                        return Err(Error::shape(
                            "items",
                            format!("a mask of shape {:?}", mask.shape()),
                            format!(
                                "a mask over the next axes of the array, whose shape is {:?}",
                                self.shape()
                            ),
                            "broadcast the mask, or select its elements from a reshaped array",
                        ));
                    }
                    for places in mask.nonzero()? {
                        walked.arrays.push((view, places));
                        walked.basic.push(WHOLE);
                        view += 1;
                    }
                    axis += count;
                }
                Index::Array(indices) => {
                    walked.arrays.push((view, indices.clone()));
                    walked.basic.push(WHOLE);
                    (axis, view) = (axis + 1, view + 1);
                }
            }
        }
        walked.at = if separated { 0 } else { first.unwrap_or(0) };
        Ok(walked)
    }
}

/// An index, sorted.
struct Walked {
    basic: Vec<SliceItem>,
    arrays: Vec<(usize, UsmArray)>,
    /// How many kept axes stand before the dimensions of the arrays.
    at: usize,
}

/// Axes of the array that an item takes.
fn axes_consumed(item: &Index) -> usize {
    match item {
        Index::Slice(SliceItem::NewAxis | SliceItem::Ellipsis) => 0,
        Index::Slice(_) => 1,
        Index::Array(array) if array.dtype() == Dtype::Bool => array.ndim(),
        Index::Array(_) => 1,
    }
}

/// The multi-indices, one array for each axis of a shape, of places in the row-major sequence of its elements.
pub(super) fn unravel(flat: &UsmArray, shape: &[usize]) -> Result<Vec<UsmArray>> {
    let mut after: usize = shape.iter().product();
    let mut result = Vec::with_capacity(shape.len());
    for (axis, &extent) in shape.iter().enumerate() {
        let number = |value: usize| Scalar::I64(value as i64);
        // Of an axis of extent 0 there are no places.
        after /= extent.max(1);
        let above = if after > 1 { flat.binary(Op::FloorDivide, number(after))? } else { flat.clone() };
        result.push(if axis > 0 { above.binary(Op::Remainder, number(extent))? } else { above });
    }
    Ok(result)
}
