//! Selection by masks. A running count of a mask's true elements says where each of them goes.

use super::addressing::{Addressing, IndexMode, Places, values_for};
use super::indexing::unravel;
use super::{ArrayOrScalar, Scan, UsmArray, elementwise};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::{Dims, SliceItem};
use crate::ops::Op;
use crate::plan::IndexedAxis;
use crate::runtime::Event;
use crate::scalar::Scalar;

/// The true elements of a mask, in row-major order.
pub(super) struct Selected {
    /// The mask, one-dimensional.
    mask: UsmArray,
    /// For each element, how many are true up to and with it.
    running: UsmArray,
    /// How many are true.
    pub(super) count: usize,
}

impl Selected {
    /// Counts the elements of an array that are true, which all but zeros are.
    pub(super) fn of(mask: &UsmArray) -> Result<Self> {
        let mask = mask.astype(Dtype::Bool)?.reshape(&[-1])?;
        let running = mask.cumulative(Scan::Sum, Some(0), Some(Dtype::I64), false)?;
        let count = match mask.len() {
            0 => 0,
            _ => {
                let last: Option<i64> = running.slice(&[SliceItem::Index(-1)])?.item()?.get();
                usize::try_from(last.unwrap_or(0)).unwrap_or(0)
            }
        };
        Ok(Self { mask, running, count })
    }

    /// For each element of the mask, how many are true up to and with it.
    pub(super) fn running(&self) -> &UsmArray {
        &self.running
    }

    /// For each element of the mask, its number among the true ones; −1 where it is false.
    fn numbers(&self) -> Result<UsmArray> {
        let number = self.running.binary(Op::Subtract, Scalar::I64(1))?;
        elementwise(Op::Where, &[(&self.mask).into(), (&number).into(), Scalar::I64(-1).into()])
    }

    /// The elements of an array, whose first `ndim` dimensions are the mask's, where the mask is true.
    pub(super) fn select(&self, array: &UsmArray, ndim: usize) -> Result<UsmArray> {
        let rest = &array.shape()[ndim..];
        let shape: Dims = std::iter::once(self.count).chain(rest.iter().copied()).collect();
        let kind = array.usm_kind().combine(self.mask.usm_kind());
        let out = UsmArray::empty(array.queue(), &shape, array.dtype(), kind)?;
        if out.is_empty() {
            return Ok(out);
        }
        let signed: Vec<isize> = array.shape()[..ndim].iter().map(|&extent| extent.cast_signed()).collect();
        let numbers = self.numbers()?.reshape(&signed)?;
        let along = |own: &[isize], rest: &[isize]| own.iter().chain(rest).copied().collect();
        let addressing = Addressing {
            dims: array.shape().into(),
            strides: along(&vec![0; ndim], &out.strides()[1..]),
            places: vec![Places {
                axis: IndexedAxis { extent: self.count, stride: out.strides()[0] },
                strides: along(numbers.strides(), &vec![0; rest.len()]),
                indices: numbers,
            }],
        };
        addressing.scatter(&out, array.into())?;
        Ok(out)
    }

    /// The places of the true elements, in the sequence of all.
    pub(super) fn places(&self) -> Result<UsmArray> {
        let (queue, kind) = (self.mask.queue(), self.mask.usm_kind());
        let all = elementwise::indices(queue, kind, self.mask.shape(), 0, &[1])?;
        self.select(&all, 1)
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
        unravel(&Selected::of(self)?.places()?, self.shape())
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
        Selected::of(mask)?.select(self, mask.ndim())
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
        let point = match values {
            ArrayOrScalar::Array(array) => {
                let selected = Selected::of(mask)?;
                let rest = &self.shape()[mask.ndim()..];
                let shape: Dims = std::iter::once(selected.count).chain(rest.iter().copied()).collect();
                let values = values_for(self, array.into(), &shape)?;
                let places = selected.running.binary(Op::Subtract, Scalar::I64(1))?;
                return self.write_numbered(mask, &places, &values, selected.count);
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
    /// As for [`assign_masked`](Self::assign_masked); [`Error::Value`] for no values where any element is true.
    pub fn place(&self, mask: &Self, values: &Self) -> Result<Event> {
        self.check_writable("self")?;
        self.check_mask(mask)?;
        let selected = Selected::of(mask)?;
        let values = values.reshape(&[-1])?;
        if selected.count == 0 || values.is_empty() {
            if selected.count > 0 {
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
        let numbers = selected.running.binary(Op::Subtract, Scalar::I64(1))?;
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
        let places = Selected::of(condition)?.places()?;
        self.take(&places, axis, IndexMode::Check)
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
            dims: self.shape().into(),
            strides: std::iter::repeat_n(0, ndim).chain(rest.iter().copied()).collect(),
            places: vec![Places {
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
