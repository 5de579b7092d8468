//! Quantiles, by selection of the elements at their places; by sorting where these differ from row to row.

use std::ops::Range;

use smallvec::SmallVec;

use super::addressing::IndexMode;
use super::elementwise::interim;
use super::functions::number;
use super::{ArrayOrScalar, Reduction, UsmArray, elementwise, stack};
use crate::dtype::{Dtype, DtypeKind};
use crate::error::{Error, Result};
use crate::layout::{Dims, SliceItem};
use crate::ops::Op;
use crate::scalar::Scalar;

/// What is taken where a quantile lies between two elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum QuantileMethod {
    /// The part of the way from the lower to the higher.
    #[default]
    Linear,
    /// The lower.
    Lower,
    /// The higher.
    Higher,
    /// The middle between both.
    Midpoint,
    /// The nearer; of two, that of the even place.
    Nearest,
}

impl UsmArray {
    /// Quantiles over axes (`None`: all): for each part between 0 and 1 the number that such a part of the elements is not
    /// above. The first dimension is the parts'. NaN where an element is, unless `ignore_nan` leaves those out, and of no
    /// elements. Integers are converted to the default floating dtype, 16-bit floats computed with in `float32`.
    ///
    /// # Errors
    /// [`Error::Value`] for a part that is not from 0 to 1; [`Error::Dtype`] for complex numbers; as for [`sort`](Self::sort).
    pub fn quantile(
        &self,
        parts: &[f64],
        axes: Option<&[isize]>,
        keepdims: bool,
        method: QuantileMethod,
        ignore_nan: bool,
    ) -> Result<Self> {
        self.check_real("quantile")?;
        if let Some(part) = parts.iter().find(|part| !(0.0..=1.0).contains(*part)) {
            return Err(Error::value("q", part, "parts from 0 to 1", "divide percentages by 100"));
        }
        let mut room = Dims::new();
        let axes = self.reduced_axes(axes, &mut room)?;
        let out = self.real_result();
        let kept: Vec<usize> = (0..self.ndim()).filter(|axis| !axes.contains(axis)).collect();
        let shape = self.reduced_shape(axes, keepdims);
        let shaped = |array: Self, first: Option<usize>| {
            let extents = first.iter().chain(&shape).map(|extent| extent.cast_signed());
            array.reshape(&extents.collect::<Vec<_>>())
        };
        let count = self.count(axes);
        if parts.is_empty() || count == 0 {
            let all: Dims = std::iter::once(parts.len()).chain(shape.iter().copied()).collect();
            return Self::full(&self.queue, &all, Scalar::F64(f64::NAN).cast(out), self.usm_kind());
        }
        // The axes that are reduced become the last one.
        let order: Vec<isize> = kept.iter().chain(axes).map(|axis| axis.cast_signed()).collect();
        let mut extents: Vec<isize> = kept.iter().map(|&axis| self.shape()[axis].cast_signed()).collect();
        extents.push(count.cast_signed());
        let wide = self.wide(out);
        let rows = self.permute_dims(&order)?.astype(wide)?.reshape(&extents)?;
        let float = self.dtype.kind() == DtypeKind::Float;
        let (sorted, numbers) = if ignore_nan && float {
            let sorted = rows.sort(-1, false)?;
            let numbers = sorted.numbers_of_rows()?;
            (sorted, Some(numbers))
        } else {
            (rows.select_places(-1, places_of(parts, count, method))?, None)
        };
        let nan = match &numbers {
            // A row's largest is NaN where there is one.
            None if float => Some(rows.reduce(Reduction::Max, Some(&[-1]), false)?.unary(Op::IsNan)?),
            _ => None,
        };
        let value = |part: &f64| {
            let value = match (&numbers, &nan) {
                (Some(numbers), _) => sorted.quantile_of(*part, numbers, method)?,
                (None, None) => sorted.quantile_at(*part, count, method)?,
                (None, Some(nan)) => {
                    let value = sorted.quantile_at(*part, count, method)?;
                    elementwise(Op::Where, &[nan.into(), number(f64::NAN), (&value).into()])?
                }
            };
            shaped(if wide == out { value } else { value.astype(out)? }, None)
        };
        if let [part] = parts {
            return value(part)?.expand_dims(&[0]);
        }
        let values = parts.iter().map(value).collect::<Result<Vec<_>>>()?;
        stack(&values.iter().collect::<Vec<_>>(), 0)
    }

    /// The median over axes (`None`: all), the mean of the two in the middle of an even number; see
    /// [`quantile`](Self::quantile).
    ///
    /// # Errors
    /// As for [`quantile`](Self::quantile).
    pub fn median(&self, axes: Option<&[isize]>, keepdims: bool, ignore_nan: bool) -> Result<Self> {
        self.quantile(&[0.5], axes, keepdims, QuantileMethod::Midpoint, ignore_nan)?.squeeze(&[0])
    }

    /// How many numbers stand before the NaN at the end of each sorted row, with the last axis kept.
    fn numbers_of_rows(&self) -> Result<Self> {
        let nan = interim(Op::IsNan, &[self.into()])?;
        let is_number = interim(Op::LogicalNot, &[(&nan).into()])?;
        drop(nan);
        is_number.count_nonzero(Some(&[-1]), true)
    }

    /// A column of sorted rows.
    fn column(&self, place: usize) -> Result<Self> {
        self.slice(&[SliceItem::Ellipsis, SliceItem::Index(place.cast_signed())])
    }

    /// The quantile of rows with the elements at its places.
    fn quantile_at(&self, part: f64, count: usize, method: QuantileMethod) -> Result<Self> {
        let (low, high, weight) = place(part * (count - 1) as f64, method);
        let (low, high) = (low as usize, (high as usize).min(count - 1));
        match low == high || weight == 0.0 {
            true => self.column(low),
            false if method == QuantileMethod::Midpoint => halfway(&self.column(low)?, &self.column(high)?),
            false => between(&self.column(low)?, &self.column(high)?, number(weight)),
        }
    }

    /// The quantile of as many of the first elements of sorted rows as are named for each; NaN of none.
    fn quantile_of(&self, part: f64, numbers: &Self, method: QuantileMethod) -> Result<Self> {
        let wide = self.device().dtype_support().default_float();
        let last = interim(Op::Subtract, &[numbers.into(), Scalar::I64(1).into()])?;
        let last = interim(Op::Maximum, &[(&last).into(), Scalar::I64(0).into()])?.astype(wide)?;
        let at = last.binary(Op::Multiply, number(part))?;
        let (low, high) = match method {
            QuantileMethod::Nearest => (at.unary(Op::Round)?, at.unary(Op::Round)?),
            _ => (at.unary(Op::Floor)?, at.unary(Op::Ceil)?),
        };
        let taken = |places: &Self| self.take_along_axis(&places.astype(Dtype::I64)?, -1, IndexMode::Clip);
        let value = match method {
            QuantileMethod::Lower | QuantileMethod::Nearest => taken(&low)?,
            QuantileMethod::Higher => taken(&high)?,
            QuantileMethod::Linear => {
                let weight = at.binary(Op::Subtract, &low)?.astype(self.dtype)?;
                between(&taken(&low)?, &taken(&high)?, (&weight).into())?
            }
            QuantileMethod::Midpoint => {
                let apart = at.binary(Op::NotEqual, &low)?;
                let (from, to) = (taken(&low)?, taken(&high)?);
                let middle = halfway(&from, &to)?;
                elementwise(Op::Where, &[(&apart).into(), (&middle).into(), (&from).into()])?
            }
        };
        let none = numbers.binary(Op::Equal, Scalar::I64(0))?;
        elementwise(Op::Where, &[(&none).into(), number(f64::NAN), (&value).into()])?.squeeze(&[-1])
    }
}

/// From one to the other, exactly one where they are equal, even infinite.
fn between(low: &UsmArray, high: &UsmArray, weight: ArrayOrScalar<'_>) -> Result<UsmArray> {
    or_equal(low, high, &low.lerp(high, weight)?)
}

/// The mean of two, infinite where one of them is.
fn halfway(low: &UsmArray, high: &UsmArray) -> Result<UsmArray> {
    let half = |x: &UsmArray| interim(Op::Multiply, &[x.into(), number(0.5)]);
    or_equal(low, high, &interim(Op::Add, &[(&half(low)?).into(), (&half(high)?).into()])?)
}

/// What lies between two, or they themselves where they are equal.
fn or_equal(low: &UsmArray, high: &UsmArray, way: &UsmArray) -> Result<UsmArray> {
    let equal = interim(Op::Equal, &[low.into(), high.into()])?;
    elementwise(Op::Where, &[(&equal).into(), low.into(), way.into()])
}

/// The places of sorted rows of so many elements that quantiles are taken from, in order and apart.
fn places_of(parts: &[f64], count: usize, method: QuantileMethod) -> SmallVec<[Range<usize>; 2]> {
    let mut all: SmallVec<[Range<usize>; 2]> = parts
        .iter()
        .map(|part| place(part * (count - 1) as f64, method))
        .map(|(low, high, _)| low as usize..(high as usize + 1).min(count))
        .collect();
    all.sort_unstable_by_key(|places| places.start);
    all.dedup_by(|next, last| {
        let touches = next.start <= last.end;
        if touches {
            last.end = last.end.max(next.end);
        }
        touches
    });
    all
}

/// Between which places a position lies, and how far from the lower one.
fn place(at: f64, method: QuantileMethod) -> (f64, f64, f64) {
    let (low, high) = (at.floor(), at.ceil());
    match method {
        QuantileMethod::Linear => (low, high, at - low),
        QuantileMethod::Lower => (low, low, 0.0),
        QuantileMethod::Higher => (high, high, 0.0),
        QuantileMethod::Midpoint => (low, high, if at == low { 0.0 } else { 0.5 }),
        QuantileMethod::Nearest => (at.round_ties_even(), at.round_ties_even(), 0.0),
    }
}
