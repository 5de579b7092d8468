//! Elements in other places: several axes moved, arrays taken apart, rolled, repeated. What is not a view moves every
//! element once, in one submission.

use smallvec::SmallVec;

use super::concat::copy_parts;
use super::scan::Scan;
use super::{IndexMode, Reduction, UsmArray};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::{Dims, Order, SliceItem, broadcast_shapes, normalize_axes, normalize_axis};
use crate::lazy::{Node, Source};
use crate::memory::heap;
use crate::memory::immediate::IMMEDIATE_BYTES;
use crate::runtime::common_queue;

/// Axes rolled in one submission: each makes twice as many parts.
const ROLLED_AXES: usize = 4;
/// Axes rolled at most by what is recorded: each array that is rolled in another way cuts the pass that reads it once along each.
const RECORDED_AXES: usize = 2;

/// A whole axis.
const WHOLE: SliceItem = SliceItem::Slice { start: None, stop: None, step: 1 };

/// Arrays broadcast against each other, as read-only views where they repeat.
///
/// # Errors
/// [`Error::Shape`] where the shapes do not broadcast.
pub fn broadcast_arrays(arrays: &[&UsmArray]) -> Result<Vec<UsmArray>> {
    let shapes = heap::collect("arrays", arrays.iter().map(|array| array.shape()))?;
    let shape = broadcast_shapes(&shapes)?;
    heap::try_collect("arrays", arrays.iter().map(|array| array.broadcast_to(&shape)))
}

impl UsmArray {
    /// The parts along an axis, without it, as views.
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range; [`Error::Alloc`] for more parts than memory holds.
    pub fn unstack(&self, axis: isize) -> Result<Vec<Self>> {
        let axis = normalize_axis("axis", axis, self.ndim())?;
        let mut items: SmallVec<[SliceItem; 4]> = SmallVec::from_elem(WHOLE, axis + 1);
        let part = |index: usize| {
            items[axis] = SliceItem::Index(index.cast_signed());
            self.slice(&items)
        };
        heap::try_collect("parts", (0..self.shape()[axis]).map(part))
    }

    /// Axes moved to other places, the others keeping their order (array API `moveaxis`).
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range or named twice, or as many sources as there are not destinations.
    pub fn move_axes(&self, sources: &[isize], destinations: &[isize]) -> Result<Self> {
        let from = normalize_axes("sources", sources, self.ndim())?;
        let to = normalize_axes("destinations", destinations, self.ndim())?;
        if from.len() != to.len() {
            return Err(Error::axis(
                "destinations",
                format!("{destinations:?}"),
                format!("a place for each of the axes {sources:?}"),
                "give as many destinations as sources",
            ));
        }
        let mut rest = (0..self.ndim()).filter(|axis| !from.contains(axis));
        let source = |place: usize| match to.iter().position(|&axis| axis == place) {
            Some(number) => Some(from[number]),
            None => rest.next(),
        };
        let order: SmallVec<[isize; 4]> =
            (0..self.ndim()).filter_map(source).map(usize::cast_signed).collect();
        self.permute_dims(&order)
    }

    /// The elements moved along axes, those beyond the end to the beginning. Without axes, along all elements in row-major
    /// order. One shift holds for all axes, several shifts along one axis add up.
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range, [`Error::Value`] where shifts and axes do not go together.
    pub fn roll(&self, shifts: &[isize], axes: Option<&[isize]>) -> Result<Self> {
        let Some(axes) = axes else { return self.roll_flat(shifts) };
        if shifts.len() != axes.len() && shifts.len() != 1 && axes.len() != 1 {
            return Err(Error::value(
                "shifts",
                format!("{shifts:?}"),
                format!("one number, or one for each of the axes {axes:?}"),
                "give as many shifts as axes",
            ));
        }
        let mut ways: SmallVec<[i128; 4]> = SmallVec::from_elem(0, self.ndim());
        // An axis may be named more than once; one that no shift is for is looked at, too.
        for (number, &axis) in axes.iter().enumerate() {
            let axis = normalize_axis("axes", axis, self.ndim())?;
            ways[axis] += match shifts {
                [] => 0,
                &[shift] => shift as i128,
                // Of one axis and several shifts, all are along it.
                several if axes.len() == 1 => several.iter().map(|&shift| shift as i128).sum(),
                several => several[number] as i128,
            };
        }
        let ways: Vec<(usize, usize)> = ways
            .iter()
            .zip(self.shape())
            .enumerate()
            .map(|(axis, (&way, &extent))| (axis, way.rem_euclid(extent.max(1) as i128) as usize))
            .filter(|&(_, way)| way > 0)
            .collect();
        if ways.is_empty() || self.is_empty() {
            return self.copy();
        }
        if ways.len() <= RECORDED_AXES && self.len() > IMMEDIATE_BYTES / self.dtype.size() {
            return self.record_roll(&ways);
        }
        let mut rolled = self.clone();
        for ways in ways.chunks(ROLLED_AXES) {
            rolled = rolled.roll_parts(ways)?;
        }
        Ok(rolled)
    }

    /// The elements moved along very few axes by whoever reads them.
    fn record_roll(&self, ways: &[(usize, usize)]) -> Result<Self> {
        self.elements().memory()?;
        let mut moved: Dims = SmallVec::from_elem(0, self.ndim());
        for &(axis, way) in ways {
            moved[axis] = way;
        }
        let mut recorded = self.as_expression(self.dtype)?;
        recorded.operands[0] = Source::Rolled(self.clone(), moved);
        let layout = recorded.layout.clone();
        let elements = Node::record(&self.queue, self.usm_kind(), recorded)?;
        Ok(Self::of(elements, layout, self.dtype, self.queue.clone()))
    }

    /// The elements moved along a few axes, each by less than its extent.
    fn roll_parts(&self, ways: &[(usize, usize)]) -> Result<Self> {
        let out = self.empty_like(None)?;
        let mut parts = vec![(self.clone(), out.clone())];
        for &(axis, way) in ways {
            let cut = self.shape()[axis] - way;
            let mut halves = Vec::with_capacity(2 * parts.len());
            for (from, to) in &parts {
                for (source, target, extent) in [(0, way, cut), (cut, 0, way)] {
                    halves.push((from.narrow(axis, source, extent), to.narrow(axis, target, extent)));
                }
            }
            parts = halves;
        }
        copy_parts(&self.queue, &parts)?;
        Ok(out)
    }

    /// The elements moved along row-major order.
    fn roll_flat(&self, shifts: &[isize]) -> Result<Self> {
        let len = self.len();
        let out = Self::empty(&self.queue, self.shape(), self.dtype, self.usm_kind())?;
        let sum: i128 = shifts.iter().map(|&shift| shift as i128).sum();
        let way = sum.rem_euclid(len.max(1) as i128) as usize;
        // In one dimension where the elements lie in a row, so that there are only two parts.
        let source = match self.layout.reshape_view(&[len], Order::C) {
            Some(layout) => self.with_layout(layout),
            None => self.clone(),
        };
        let target = out.reshape(&[-1])?;
        let mut parts = Vec::new();
        for (start, items) in boxes(source.shape(), len - way) {
            let part = source.slice(&items)?;
            if part.is_empty() {
                continue;
            }
            let place = (start + way) % len;
            let extents: Vec<isize> = part.shape().iter().map(|e| e.cast_signed()).collect();
            let target = target.slice(&[(place..place + part.len()).into()])?.reshape(&extents)?;
            parts.push((part, target));
        }
        copy_parts(&self.queue, &parts)?;
        Ok(out)
    }

    /// Every element repeated in place along an axis; without one, the elements in row-major order.
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range, [`Error::Overflow`] for too many elements.
    pub fn repeat(&self, count: usize, axis: Option<isize>) -> Result<Self> {
        let axis = axis.map(|axis| normalize_axis("axis", axis, self.ndim())).transpose()?;
        // Repeated along an axis of its own behind the one named, or behind all.
        let behind = axis.map_or(self.ndim(), |axis| axis + 1);
        let mut shape = Dims::from_slice(self.shape());
        shape.insert(behind, count);
        let spread = self.expand_dims(&[behind.cast_signed()])?.broadcast_to(&shape)?.copy_in(Order::C)?;
        let Some(axis) = axis else { return spread.reshape(&[-1]) };
        let mut extents: Vec<isize> = self.shape().iter().map(|e| e.cast_signed()).collect();
        // The product is an extent of the array that has been made.
        extents[axis] = (self.shape()[axis] * count).cast_signed();
        spread.reshape(&extents)
    }

    /// Every element along an axis repeated in place, each as often as an array of integers says; without an axis, the
    /// elements in row-major order. One number holds for all. Waits for the counts.
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range, [`Error::Dtype`] where the counts are no integers, [`Error::Shape`] where
    /// there are not as many as elements along the axis, [`Error::Value`] for a negative one, [`Error::Overflow`],
    /// [`Error::ExecutionPlacement`].
    pub fn repeat_each(&self, counts: &Self, axis: Option<isize>) -> Result<Self> {
        let Some(axis) = axis else { return self.reshape(&[-1])?.repeat_each(counts, Some(0)) };
        let axis = normalize_axis("axis", axis, self.ndim())?;
        common_queue(&[("self", &self.queue), ("counts", &counts.queue)])?;
        let extent = self.shape()[axis];
        if !counts.dtype.kind().is_integer() {
            return Err(Error::dtype(
                "counts",
                counts.dtype,
                "an integer dtype",
                "convert the counts first, with `astype`",
            ));
        }
        if counts.ndim() > 1 || (counts.len() != 1 && counts.shape() != [extent]) {
            return Err(Error::shape(
                "counts",
                format!("of shape {:?}", counts.shape()),
                format!("one number, or {extent} of them, the extent of axis {axis}"),
                "give one count for each element along the axis",
            ));
        }
        if extent == 0 {
            return self.copy();
        }
        let counts = counts.astype(Dtype::I64)?;
        let counts = counts.broadcast_to(&[extent])?;
        let (least, most) = (item(&counts, Reduction::Min)?, item(&counts, Reduction::Max)?);
        if least < 0 {
            return Err(Error::value("counts", least, "no negative number", "use 0 to leave an element out"));
        }
        if most.unsigned_abs() as u128 * extent as u128 > isize::MAX.unsigned_abs() as u128 {
            return Err(Error::overflow(
                "counts",
                format!("up to {most} for {extent} elements"),
                "a number of elements that fits the address space",
                "use smaller counts",
            ));
        }
        let ends = counts.cumulative(Scan::Sum, Some(0), Some(Dtype::I64), false)?;
        let total = item(&ends, Reduction::Max)? as usize;
        // The element at a place of the result is the first whose end lies behind it: before it as many end there or sooner.
        let ending = ends.count_places(total + 1)?;
        let places = [SliceItem::Slice { start: None, stop: Some(total.cast_signed()), step: 1 }];
        let sources = ending.slice(&places)?.cumulative(Scan::Sum, Some(0), Some(Dtype::I64), false)?;
        // None is out of range.
        self.take(&sources, Some(axis.cast_signed()), IndexMode::Clip)
    }

    /// The whole array repeated along its axes, so often along each; fewer numbers hold for the last axes, more make new
    /// ones.
    ///
    /// # Errors
    /// [`Error::Axis`] for too many dimensions, [`Error::Overflow`] for too many elements.
    pub fn tile(&self, repetitions: &[usize]) -> Result<Self> {
        let ndim = self.ndim().max(repetitions.len());
        let padded = |list: &[usize]| -> Dims {
            std::iter::repeat_n(1, ndim - list.len()).chain(list.iter().copied()).collect()
        };
        let (shape, repetitions) = (padded(self.shape()), padded(repetitions));
        let new = ndim - self.ndim();
        let mut items: SmallVec<[SliceItem; 4]> = SmallVec::new();
        let (mut spread, mut extents) = (Dims::new(), SmallVec::<[isize; 4]>::new());
        for (axis, (&extent, &count)) in shape.iter().zip(&repetitions).enumerate() {
            if count != 1 {
                items.push(SliceItem::NewAxis);
                spread.push(count);
            }
            items.push(if axis < new { SliceItem::NewAxis } else { WHOLE });
            spread.push(extent);
            let Some(tiled) = extent.checked_mul(count).and_then(|tiled| isize::try_from(tiled).ok()) else {
                return Err(Error::overflow(
                    "repetitions",
                    format!("{count} of extent {extent}"),
                    "an extent that fits the address space",
                    "repeat less often",
                ));
            };
            extents.push(tiled);
        }
        self.slice(&items)?.broadcast_to(&spread)?.copy_in(Order::C)?.reshape(&extents)
    }
}

/// Parts of a shape that together are its elements in row-major order, cut before one element so that every part lies on
/// one side: the place in row-major order that a part starts at, and what selects it.
fn boxes(shape: &[usize], cut: usize) -> Vec<(usize, Vec<SliceItem>)> {
    let mut steps: Dims = SmallVec::from_elem(1, shape.len());
    for axis in (1..shape.len()).rev() {
        steps[axis - 1] = steps[axis] * shape[axis];
    }
    let len: usize = shape.iter().product();
    if len == 0 {
        return Vec::new();
    }
    // The end is in a part of its own only as the beginning.
    let cut = cut % len;
    let mut rest = cut;
    let mut parts = Vec::new();
    let mut items: Vec<SliceItem> = Vec::new();
    for (axis, &step) in steps.iter().enumerate() {
        let (index, before) = (rest / step, cut - rest);
        rest %= step;
        let mut part = |range: std::ops::Range<usize>| {
            if !range.is_empty() {
                let start = before + range.start * step;
                parts.push((start, items.iter().copied().chain([range.into()]).collect()));
            }
        };
        let last = axis + 1 == shape.len();
        part(0..index);
        part(index + usize::from(!last)..shape[axis]);
        items.push((index..index + 1).into());
    }
    if shape.is_empty() {
        parts.push((0, Vec::new()));
    }
    parts
}

/// The smallest or largest of all `int64`s, read by the host.
fn item(array: &UsmArray, reduction: Reduction) -> Result<i64> {
    Ok(array.extreme(reduction, Dtype::I64)?.get().unwrap_or_default())
}
