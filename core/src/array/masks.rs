//! Selection by masks. A device that has a pass for it counts the true elements, then writes; elsewhere a running count of a
//! mask's true elements says where each of them goes.
//!
//! Selections have to know how many elements are true before they can allocate or check a shape, and where
//! each goes. A running count of the whole mask is 16 to 24 bytes for each of its elements, 8 GiB for a mask
//! of 1 GiB, and the time is that of these bytes. So a device may have the passes `Compress` and `Expand`
//! (`Selected::of` asks), and all others, as OpenCL's processors, and arrays of more dimensions than a plan
//! has, go by parts: each is counted, and has a running count of its own, which is kept where the whole mask
//! is one part. The call waits for the count, as the result's shape depends on it.

use smallvec::SmallVec;

use super::addressing::{Addressing, IndexMode, Places, apart, values_for};
use super::indexing::unravel;
use super::{ArrayOrScalar, Scan, UsmArray, elementwise};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::{Dims, SliceItem, Strides, coalesce};
use crate::lazy::immediate::{self, Moving};
use crate::lazy::{Pass, Walk, handing_on};
use crate::memory::immediate::Move;
use crate::memory::{UsmKind, heap};
use crate::ops::Op;
use crate::plan::{Family, IndexedAxis, MAX_PLAN_DIMS};
use crate::program::Fold;
use crate::runtime::Event;
use crate::scalar::Scalar;

/// Elements of a mask that are looked at together, so that what is kept of each on the way does not grow with the mask: as
/// many as keep a device busy for much longer than it takes to begin.
const PART: usize = 1 << 20;
/// What there may be many of.
const PARTS: &str = "parts of a mask";

/// Elements of a mask that follow each other in row-major order.
struct Part {
    /// Where they are; nothing where they are all.
    items: Items,
    /// The number of the first.
    start: usize,
    /// How many are true before it.
    before: usize,
    /// How many are true.
    count: usize,
}

type Items = SmallVec<[SliceItem; 4]>;

/// The true elements of a mask, in row-major order.
pub(super) struct Selected {
    mask: UsmArray,
    parts: Vec<Part>,
    /// For each element, how many are true up to and with it, where all are one part.
    running: Option<UsmArray>,
    /// The device selects in one pass, and needs neither parts nor running counts.
    in_one_pass: bool,
    /// How many are true.
    pub(super) count: usize,
}

/// For each element of a mask, in row-major order, how many are true up to and with it.
pub(super) fn running(mask: &UsmArray) -> Result<UsmArray> {
    mask.reshape(&[-1])?.cumulative(Scan::Sum, Some(0), Some(Dtype::I64), false)
}

/// For each element of a mask that is true, its number among these, and how many there are.
fn numbered(mask: &UsmArray) -> Result<(UsmArray, usize)> {
    let running = running(mask)?;
    let count = if mask.is_empty() { 0 } else { counted(&running.slice(&[SliceItem::Index(-1)])?)? };
    Ok((running.binary(Op::Subtract, Scalar::I64(1))?, count))
}

fn counted(count: &UsmArray) -> Result<usize> {
    Ok(usize::try_from(count.item()?.get().unwrap_or(0_i64)).unwrap_or(0))
}

/// How many elements of a mask that is a short row are true.
fn counted_at_once(mask: &UsmArray) -> Option<usize> {
    if mask.dtype() != Dtype::Bool {
        return None;
    }
    Moving::of(Move::Count, &[mask])?.count()
}

/// How many elements of a mask are true, which is in memory afterwards.
fn true_elements(mask: &UsmArray) -> Result<usize> {
    if mask.is_empty() {
        return Ok(0);
    }
    mask.elements().memory()?;
    let at_once = immediate::fold_all(mask, Dtype::I64, Fold::Op(Op::Add));
    match at_once.and_then(|count| count.get::<i64>()) {
        Some(count) => Ok(usize::try_from(count).unwrap_or(0)),
        None => counted(&mask.count_nonzero(None, false)?),
    }
}

/// How a pass over a mask, and what the mask is over, runs: the dimensions of both merged where all operands allow it.
struct Masking<'a> {
    dims: Dims,
    masked: usize,
    mask: Walk<'a>,
}

impl<'a> Masking<'a> {
    /// Over arrays whose first dimensions are the mask's; each has its strides, and keeps them merged.
    fn of(mask: &'a UsmArray, shape: &[usize], first: &mut Strides, last: &mut [Strides]) -> Self {
        let ndim = mask.ndim();
        let outer = coalesce(&shape[..ndim], &[mask.strides(), &first[..]], false);
        let inner = {
            let rest: SmallVec<[&[isize]; 2]> = last.iter().map(|strides| &strides[..]).collect();
            coalesce(&shape[ndim..], &rest, false)
        };
        for (strides, merged) in last.iter_mut().zip(&inner.strides) {
            strides.clone_from(merged);
        }
        *first = outer.strides[1].clone();
        let mut strides = outer.strides[0].clone();
        strides.extend(inner.shape.iter().map(|_| 0));
        Self {
            dims: outer.shape.iter().chain(&inner.shape).copied().collect(),
            masked: outer.shape.len(),
            mask: Walk { array: mask, strides },
        }
    }

    /// The pass that takes elements of an array to the places of another, of which one has the mask's dimensions and `all`
    /// strides for them, the other an axis of as many elements as are true.
    fn pass(self, family: Family, from: Option<Walk<'a>>, output: Walk<'a>) -> Pass<'a> {
        let program = match &from {
            None => handing_on(Dtype::Bool, None),
            Some(from) => handing_on(from.array.dtype(), Some(Dtype::Bool)),
        };
        let inputs = from.into_iter().chain([self.mask]).collect();
        Pass { program, family, dims: self.dims, inputs, output }
    }
}

/// Strides along a mask's dimensions, then along the others.
fn joined(first: impl IntoIterator<Item = isize>, rest: &[isize]) -> Strides {
    first.into_iter().chain(rest.iter().copied()).collect()
}

/// The pass that brings elements at which a mask is true together: those of an array, or, without one, their numbers.
fn compress<'a>(mask: &'a UsmArray, array: Option<&'a UsmArray>, out: &'a UsmArray) -> Pass<'a> {
    let own = array.map_or(mask.strides(), UsmArray::strides);
    let shape = array.map_or(mask.shape(), UsmArray::shape);
    let mut first: Strides = own[..mask.ndim()].into();
    let mut last = [own[mask.ndim()..].into(), out.strides()[1..].into()];
    let masking = Masking::of(mask, shape, &mut first, &mut last);
    let axis = IndexedAxis { extent: out.shape()[0].max(1), stride: out.strides()[0] };
    let family = Family::Compress { axis, masked: masking.masked, indices: array.is_none() };
    let from = array.map(|array| Walk { array, strides: joined(first.iter().copied(), &last[0]) });
    let still = first.iter().map(|_| 0);
    let output = Walk { array: out, strides: joined(still, &last[1]) };
    masking.pass(family, from, output)
}

/// The pass that writes values, one after another, to the elements of an array at which a mask is true.
fn expand<'a>(mask: &'a UsmArray, values: &'a UsmArray, target: &'a UsmArray) -> Pass<'a> {
    let mut first: Strides = target.strides()[..mask.ndim()].into();
    let mut last = [values.strides()[1..].into(), target.strides()[mask.ndim()..].into()];
    let masking = Masking::of(mask, target.shape(), &mut first, &mut last);
    let axis = IndexedAxis { extent: values.shape()[0], stride: values.strides()[0] };
    let family = Family::Expand { axis, masked: masking.masked };
    let still = first.iter().map(|_| 0);
    let from = Walk { array: values, strides: joined(still, &last[0]) };
    let output = Walk { array: target, strides: joined(first.iter().copied(), &last[1]) };
    masking.pass(family, Some(from), output)
}

/// Whether the device of a mask takes elements of an array, or their numbers, together in one pass.
fn compresses(mask: &UsmArray, array: Option<&UsmArray>) -> bool {
    // More dimensions than a plan has would be several plans, each of which counts from the beginning.
    if array.unwrap_or(mask).ndim() > MAX_PLAN_DIMS {
        return false;
    }
    // As every pass has the same kernel, that of the numbers in a row speaks for all.
    let pass = Pass {
        program: handing_on(Dtype::Bool, None),
        family: Family::Compress { axis: IndexedAxis { extent: 1, stride: 1 }, masked: 1, indices: true },
        dims: smallvec::smallvec![1],
        inputs: smallvec::smallvec![Walk { array: mask, strides: smallvec::smallvec![0] }],
        output: Walk { array: mask, strides: smallvec::smallvec![0] },
    };
    pass.has_kernel(mask.queue())
}

/// The parts of an array of a shape, of so many elements each at most.
fn parts_of(shape: &[usize], most: usize) -> Result<Vec<Part>> {
    let part = |items: Items, start| Part { items, start, before: 0, count: 0 };
    if shape.iter().product::<usize>() <= most {
        return heap::collect(PARTS, [part(Items::new(), 0)]);
    }
    // The first axis whose rows are no larger than a part.
    let inner = |axis: usize| shape[axis + 1..].iter().product::<usize>();
    let axis = (0..shape.len() - 1).find(|&axis| inner(axis) <= most).unwrap_or(shape.len() - 1);
    let (extent, row) = (shape[axis], inner(axis));
    let range = |start: usize, stop: usize| SliceItem::Slice {
        start: Some(start.cast_signed()),
        stop: Some(stop.cast_signed()),
        step: 1,
    };
    let mut parts = Vec::new();
    for outer in 0..shape[..axis].iter().product() {
        for first in (0..extent).step_by((most / row).max(1)) {
            let mut rest = outer;
            let mut items: Items = smallvec::smallvec![range(first, extent.min(first + (most / row).max(1)))];
            for &extent in shape[..axis].iter().rev() {
                items.insert(0, range(rest % extent, rest % extent + 1));
                rest /= extent;
            }
            heap::push(PARTS, &mut parts, part(items, (outer * extent + first) * row))?;
        }
    }
    Ok(parts)
}

impl Selected {
    /// Counts the elements of an array that are true, which all but zeros are; for another array to be taken from, if one is named.
    pub(super) fn of(mask: &UsmArray, array: Option<&UsmArray>) -> Result<Self> {
        let mask = mask.astype(Dtype::Bool)?;
        if compresses(&mask, array) {
            let count = true_elements(&mask)?;
            return Ok(Self { mask, parts: Vec::new(), running: None, in_one_pass: true, count });
        }
        let mut parts = parts_of(mask.shape(), PART)?;
        if let [part] = &mut parts[..] {
            let running = running(&mask)?;
            if !mask.is_empty() {
                part.count = counted(&running.slice(&[SliceItem::Index(-1)])?)?;
            }
            let count = part.count;
            return Ok(Self { mask, parts, running: Some(running), in_one_pass: false, count });
        }
        // Each element is read twice, and computed once.
        mask.elements().memory()?;
        let count = |part: &Part| mask.slice(&part.items)?.count_nonzero(None, false);
        let counts = heap::try_collect(PARTS, parts.iter().map(count))?;
        let mut before = 0;
        for (part, count) in parts.iter_mut().zip(&counts) {
            (part.before, part.count) = (before, counted(count)?);
            before += part.count;
        }
        Ok(Self { mask, parts, running: None, in_one_pass: false, count: before })
    }

    /// For each element of the mask, its number among the true ones of its part; −1 where it is false.
    fn numbers(&self, part: &Part) -> Result<UsmArray> {
        let mask = self.mask.slice(&part.items)?;
        let running = match &self.running {
            Some(running) => running.clone(),
            None => running(&mask)?,
        };
        let number = running.binary(Op::Subtract, Scalar::I64(1))?;
        elementwise(Op::Where, &[(&mask.reshape(&[-1])?).into(), (&number).into(), Scalar::I64(-1).into()])
    }

    /// New memory for what an array has where the mask is true, and `rest`.
    fn room(&self, dtype: Dtype, kind: UsmKind, rest: &[usize]) -> Result<UsmArray> {
        let shape: Dims = std::iter::once(self.count).chain(rest.iter().copied()).collect();
        UsmArray::empty(self.mask.queue(), &shape, dtype, kind)
    }

    /// The elements of an array, or the numbers of the mask's own, in one pass.
    fn compressed(&self, array: Option<&UsmArray>, kind: UsmKind) -> Result<UsmArray> {
        let rest = array.map_or(&[][..], |array| &array.shape()[self.mask.ndim()..]);
        let out = self.room(array.map_or(Dtype::I64, UsmArray::dtype), kind, rest)?;
        if !out.is_empty() {
            compress(&self.mask, array, &out).submit(self.mask.queue(), &[])?;
        }
        Ok(out)
    }

    /// New memory with what a source has where the mask is true: for a part, an array whose first dimensions are those that the
    /// part's numbers are given, and then `rest`.
    fn collected(
        &self,
        dtype: Dtype,
        kind: UsmKind,
        rest: &[usize],
        source: impl Fn(&Part, UsmArray) -> Result<(UsmArray, UsmArray)>,
    ) -> Result<UsmArray> {
        let out = self.room(dtype, kind, rest)?;
        if out.is_empty() {
            return Ok(out);
        }
        for part in self.parts.iter().filter(|part| part.count > 0) {
            let (values, numbers) = source(part, self.numbers(part)?)?;
            let (first, end) = (part.before.cast_signed(), (part.before + part.count).cast_signed());
            let target = out.slice(&[SliceItem::Slice { start: Some(first), stop: Some(end), step: 1 }])?;
            let along = |own: &[isize], rest: &[isize]| own.iter().chain(rest).copied().collect();
            let addressing = Addressing {
                dims: Dims::from_slice(values.shape()),
                strides: along(&vec![0; numbers.ndim()], &target.strides()[1..]),
                places: smallvec::smallvec![Places {
                    axis: IndexedAxis { extent: part.count, stride: target.strides()[0] },
                    strides: along(numbers.strides(), &vec![0; rest.len()]),
                    indices: numbers,
                }],
            };
            let written = addressing.scatter(&target, (&values).into())?;
            // What a part needed is free for the next one.
            if self.parts.len() > 1 {
                written.wait()?;
            }
        }
        Ok(out)
    }

    /// The elements of an array, whose first `ndim` dimensions are the mask's, where the mask is true.
    pub(super) fn select(&self, array: &UsmArray, ndim: usize) -> Result<UsmArray> {
        let kind = array.usm_kind().combine(self.mask.usm_kind());
        if self.in_one_pass {
            return self.compressed(Some(array), kind);
        }
        if self.parts.len() > 1 {
            array.elements().memory()?;
        }
        self.collected(array.dtype(), kind, &array.shape()[ndim..], |part, numbers| {
            let values = array.slice(&part.items)?;
            let extents: Dims = values.shape()[..ndim].into();
            let signed: Vec<isize> = extents.iter().map(|extent| extent.cast_signed()).collect();
            Ok((values, numbers.reshape(&signed)?))
        })
    }

    /// The places of the true elements, in the sequence of all.
    pub(super) fn places(&self) -> Result<UsmArray> {
        let (queue, kind) = (self.mask.queue(), self.mask.usm_kind());
        if self.in_one_pass {
            return self.compressed(None, kind);
        }
        self.collected(Dtype::I64, kind, &[], |part, numbers| {
            Ok((elementwise::indices(queue, kind, numbers.shape(), part.start, &[1])?, numbers))
        })
    }
}

impl UsmArray {
    fn check_mask(&self, mask: &Self) -> Result<()> {
        crate::runtime::common_queue(&[("self", self.queue()), ("mask", mask.queue())])?;
        let fits = mask.ndim() <= self.ndim() && mask.shape() == &self.shape()[..mask.ndim()];
        match (mask.dtype(), fits) {
            (Dtype::Bool, true) => Ok(()),
            (Dtype::Bool, false) => Err(Error::shape(
                "mask",
                format!("of shape {:?}", mask.shape()),
                format!("the shape of the array's first dimensions, {:?}", self.shape()),
                "broadcast the mask to the array's shape with `broadcast_to`",
            )),
            (other, _) => Err(Error::dtype(
                "mask",
                other,
                "an array of bool",
                "compare first: `x.not_equal(0)` says where a number is not zero",
            )),
        }
    }

    /// The places of the elements other than zero, in row-major order: for each dimension, an array of `int64` indices.
    ///
    /// # Errors
    /// [`Error::Axis`] for an array of no dimensions; [`Error::Alloc`].
    pub fn nonzero(&self) -> Result<Vec<Self>> {
        if self.ndim() == 0 {
            return Err(Error::axis(
                "self",
                "an array of no dimensions",
                "at least one dimension",
                "add one with `expand_dims`",
            ));
        }
        if self.ndim() == 1
            && let Some(count) = counted_at_once(self)
            && let Some(moving) = Moving::of(Move::Places, &[self])
            && let Some(places) = moving.fresh(count, Dtype::I64)?
        {
            return Ok(vec![places]);
        }
        unravel(&Selected::of(self, None)?.places()?, self.shape())
    }

    /// The elements where a mask of `bool` over all dimensions, or the first ones, is true: one dimension, and those that
    /// the mask has not.
    ///
    /// # Errors
    /// [`Error::Shape`] where the mask's shape is not the array's first extents, [`Error::Dtype`] where it is not `bool`,
    /// [`Error::ExecutionPlacement`].
    pub fn masked(&self, mask: &Self) -> Result<Self> {
        self.check_mask(mask)?;
        if mask.ndim() == 0 {
            return self.expand_dims(&[0])?.masked(&mask.expand_dims(&[0])?);
        }
        if self.ndim() == 1
            && let Some(count) = counted_at_once(mask)
            && let Some(moving) = Moving::of(Move::Select, &[self, mask])
            && let Some(selected) = moving.fresh(count, self.dtype())?
        {
            return Ok(selected);
        }
        Selected::of(mask, Some(self))?.select(self, mask.ndim())
    }

    /// Writes values to the elements where a mask of `bool` over all dimensions, or the first ones, is true: one value,
    /// or an array that broadcasts to the shape of [`masked`](Self::masked) with the same mask, in its order.
    ///
    /// # Errors
    /// As for [`masked`](Self::masked); [`Error::Borrow`] where this array is read-only, [`Error::Shape`] where the values
    /// do not broadcast. On an error nothing is written.
    pub fn assign_masked<'a>(&self, mask: &Self, values: impl Into<ArrayOrScalar<'a>>) -> Result<Event> {
        self.check_writable("self")?;
        self.check_mask(mask)?;
        if mask.ndim() == 0 {
            return self.expand_dims(&[0])?.assign_masked(&mask.expand_dims(&[0])?, values);
        }
        let values = values.into();
        if self.ndim() == 1 && Moving::write(Move::Assign, &values, mask, self) {
            return Ok(Event::ready());
        }
        let point = match values {
            ArrayOrScalar::Array(array) => {
                let rest = &self.shape()[mask.ndim()..];
                if compresses(mask, Some(self)) {
                    return self.write_compressed(mask, array, rest);
                }
                let (numbers, count) = numbered(mask)?;
                let shape: Dims = std::iter::once(count).chain(rest.iter().copied()).collect();
                let values = values_for(self, array.into(), &shape)?;
                return self.write_numbered(mask, &numbers, &values, count);
            }
            ArrayOrScalar::Scalar(value) => value.cast(self.dtype()),
            ArrayOrScalar::Weak(value) => value.to_scalar(self.dtype())?,
        };
        self.write_where(mask, point.into())
    }

    /// Writes the elements of a one-dimensional array, one after another and over again from the start, to the elements
    /// where a mask of this array's shape is true (NumPy's `place`).
    ///
    /// # Errors
    /// As for [`assign_masked`](Self::assign_masked); [`Error::Shape`] for a mask over the first dimensions alone,
    /// [`Error::Value`] for no values where any element is true.
    pub fn place(&self, mask: &Self, values: &Self) -> Result<Event> {
        self.check_writable("self")?;
        self.check_mask(mask)?;
        if mask.shape() != self.shape() {
            return Err(Error::shape(
                "mask",
                format!("of shape {:?}", mask.shape()),
                format!("the shape of the array, {:?}", self.shape()),
                "use `assign_masked` for a mask over the first dimensions",
            ));
        }
        let (numbers, selected) = numbered(mask)?;
        let values = values.reshape(&[-1])?;
        if selected == 0 || values.is_empty() {
            if selected > 0 {
                return Err(Error::value(
                    "values",
                    "empty",
                    "at least one value to place",
                    "give a value, or a mask without true elements",
                ));
            }
            return Ok(Event::ready());
        }
        let count = values.len();
        let values = values_for(self, (&values).into(), &[count])?;
        let places = numbers.binary(Op::Remainder, Scalar::I64(count as i64))?;
        self.write_numbered(mask, &places, &values, count)
    }

    /// The elements, in row-major order, where a condition of the same number of elements is other than zero (NumPy's
    /// `extract`).
    ///
    /// # Errors
    /// [`Error::Shape`] where the numbers of elements differ; [`Error::ExecutionPlacement`].
    pub fn extract(&self, condition: &Self) -> Result<Self> {
        let mask = condition.astype(Dtype::Bool)?.reshape(&[-1])?;
        self.reshape(&[-1])?.masked(&mask)
    }

    /// The parts along an axis where a one-dimensional condition is other than zero; with `None`, the elements of the
    /// row-major sequence of all. The condition may be shorter than the axis.
    ///
    /// # Errors
    /// [`Error::Axis`]; [`Error::Shape`] where the condition has several dimensions; [`Error::OutOfBounds`] where an
    /// element beyond the axis is true.
    pub fn compress(&self, condition: &Self, axis: Option<isize>) -> Result<Self> {
        if condition.ndim() != 1 {
            return Err(Error::shape(
                "condition",
                format!("of shape {:?}", condition.shape()),
                "one dimension",
                "reshape the condition, or use `masked`",
            ));
        }
        let places = Selected::of(condition, None)?.places()?;
        self.take(&places, axis, IndexMode::Check)
    }

    /// Writes values that broadcast to the shape of what a mask selects, in one pass.
    fn write_compressed(&self, mask: &Self, values: &Self, rest: &[usize]) -> Result<Event> {
        let count = true_elements(mask)?;
        let shape: Dims = std::iter::once(count).chain(rest.iter().copied()).collect();
        let values = values_for(self, values.into(), &shape)?;
        if values.is_empty() {
            return Ok(Event::ready());
        }
        expand(&apart(mask, self)?, &values, self).submit(self.queue(), &[])
    }

    /// Writes elements of an array, whose first axis of `extent` is addressed by one number for each element of a mask,
    /// where the mask is true.
    fn write_numbered(&self, mask: &Self, numbers: &Self, values: &Self, extent: usize) -> Result<Event> {
        if extent == 0 || self.is_empty() {
            return Ok(Event::ready());
        }
        let ndim = mask.ndim();
        let signed: Vec<isize> = mask.shape().iter().map(|&extent| extent.cast_signed()).collect();
        let numbers = numbers.reshape(&signed)?;
        let rest = &values.strides()[1..];
        // Where the mask is false before its first true element, the number is −1; what is read there is not used.
        let addressing = Addressing {
            dims: Dims::from_slice(self.shape()),
            strides: std::iter::repeat_n(0, ndim).chain(rest.iter().copied()).collect(),
            places: smallvec::smallvec![Places {
                axis: IndexedAxis { extent, stride: values.strides()[0] },
                strides: numbers.strides().iter().copied().chain(rest.iter().map(|_| 0)).collect(),
                indices: numbers,
            }],
        };
        let spread = addressing.gather(values)?;
        self.write_where(mask, (&spread).into())
    }

    /// Writes values of this array's shape and dtype where a mask over the first dimensions is true.
    fn write_where(&self, mask: &Self, values: ArrayOrScalar<'_>) -> Result<Event> {
        let trailing: Vec<isize> = (mask.ndim()..self.ndim()).map(usize::cast_signed).collect();
        let mask = mask.expand_dims(&trailing)?;
        self.write_elementwise(Op::Where, &[(&mask).into(), values, self.into()], &[])
    }
}
