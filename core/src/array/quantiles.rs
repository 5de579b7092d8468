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
use crate::memory::heap;
use crate::ops::Op;
use crate::promotion::Weak;
use crate::scalar::Scalar;

/// From so many parts on, quantiles are taken together: one after the other, each is a submission, and a list of many arrays.
const TOGETHER: usize = 8;

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
        let together = parts.len() >= TOGETHER;
        let (sorted, numbers) = if ignore_nan && float {
            let sorted = rows.sort(-1, false)?;
            let numbers = sorted.numbers_of_rows()?;
            (sorted, Some(numbers))
        } else if together && parts.len() >= count / TOGETHER {
            (rows.sort(-1, false)?, None)
        } else {
            (rows.select_places(-1, places_of(parts, count, method)?)?, None)
        };
        let nan = match &numbers {
            // A row's largest is NaN where there is one.
            None if float => Some(rows.reduce(Reduction::Max, Some(&[-1]), false)?.unary(Op::IsNan)?),
            _ => None,
        };
        if together {
            let values = match &numbers {
                Some(numbers) => {
                    let wide = self.device().dtype_support().default_float();
                    sorted.quantile_of((&sorted.row(parts, wide)?).into(), numbers, method)?
                }
                None => {
                    let values = sorted.quantiles_at(parts, count, method)?;
                    match nan {
                        Some(nan) => {
                            let nan = nan.expand_dims(&[-1])?;
                            elementwise(Op::Where, &[(&nan).into(), number(f64::NAN), (&values).into()])?
                        }
                        None => values,
                    }
                }
            };
            let extents: Dims = std::iter::once(parts.len()).chain(shape.iter().copied()).collect();
            let extents: Vec<isize> = extents.iter().map(|extent| extent.cast_signed()).collect();
            return values.move_axes(&[-1], &[0])?.astype(out)?.reshape(&extents);
        }
        let value = |part: &f64| {
            let value = match (&numbers, &nan) {
                (Some(numbers), _) => sorted.quantile_of(number(*part), numbers, method)?.squeeze(&[-1])?,
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

    /// Numbers as a row on the device.
    fn row(&self, values: &[f64], dtype: Dtype) -> Result<Self> {
        let (queue, shape, kind) = (&self.queue, [values.len()], self.usm_kind());
        if dtype == Dtype::F64 {
            return Self::from_slice(queue, &shape, values, kind);
        }
        let short = heap::collect("parts", values.iter().map(|value| *value as f32))?;
        Self::from_slice(queue, &shape, &short, kind)
    }

    /// The quantiles of sorted rows, along the last axis.
    fn quantiles_at(&self, parts: &[f64], count: usize, method: QuantileMethod) -> Result<Self> {
        let at = || parts.iter().map(|part| place(part * (count - 1) as f64, method));
        let taken = |places: Vec<i64>| {
            let row = Self::from_slice(&self.queue, &[parts.len()], &places, self.usm_kind())?;
            self.take(&row, Some(-1), IndexMode::Clip)
        };
        let low = taken(heap::collect("parts", at().map(|(low, _, _)| low as i64))?)?;
        if matches!(method, QuantileMethod::Lower | QuantileMethod::Higher | QuantileMethod::Nearest) {
            return Ok(low);
        }
        let high = taken(heap::collect("parts", at().map(|(_, high, _)| high as i64))?)?;
        let wide = self.device().dtype_support().default_float();
        let weights = self.row(&heap::collect("parts", at().map(|(_, _, weight)| weight))?, wide)?;
        let way = match method {
            QuantileMethod::Midpoint => halfway(&low, &high)?,
            _ => between(&low, &high, (&weights.astype(self.dtype)?).into())?,
        };
        let exact = interim(Op::Equal, &[(&weights).into(), number(0.0)])?;
        elementwise(Op::Where, &[(&exact).into(), (&low).into(), (&way).into()])
    }

    /// The quantile of as many of the first elements of sorted rows as are named for each, or those of a row of parts, along the last
    /// axis; NaN of none.
    fn quantile_of(&self, part: ArrayOrScalar<'_>, numbers: &Self, method: QuantileMethod) -> Result<Self> {
        let wide = self.device().dtype_support().default_float();
        let last = interim(Op::Subtract, &[numbers.into(), Scalar::I64(1).into()])?;
        let last = interim(Op::Maximum, &[(&last).into(), Scalar::I64(0).into()])?.astype(wide)?;
        let at = last.binary(Op::Multiply, part)?;
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
        elementwise(Op::Where, &[(&none).into(), number(f64::NAN), (&value).into()])
    }
}

/// From one to the other, exactly one where they are equal, even infinite.
fn between(low: &UsmArray, high: &UsmArray, weight: ArrayOrScalar<'_>) -> Result<UsmArray> {
    let way = low.lerp(high, weight.clone())?;
    // The difference of two numbers may be too large for the dtype, where what lies between them is not.
    // Between an infinity and a number there are infinities alone.
    let others;
    let rest = match &weight {
        ArrayOrScalar::Weak(Weak::Float(weight)) => number(1.0 - weight),
        weight => {
            others = interim(Op::Subtract, &[number(1.0), weight.clone()])?;
            (&others).into()
        }
    };
    let of_low = interim(Op::Multiply, &[low.into(), rest])?;
    let of_high = interim(Op::Multiply, &[high.into(), weight])?;
    let sum = interim(Op::Add, &[(&of_low).into(), (&of_high).into()])?;
    let finite = interim(Op::IsFinite, &[(&way).into()])?;
    let way = interim(Op::Where, &[(&finite).into(), (&way).into(), (&sum).into()])?;
    or_equal(low, high, &way)
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
fn places_of(parts: &[f64], count: usize, method: QuantileMethod) -> Result<SmallVec<[Range<usize>; 2]>> {
    let ranges = parts
        .iter()
        .map(|part| place(part * (count - 1) as f64, method))
        .map(|(low, high, _)| low as usize..(high as usize + 1).min(count));
    let mut all: SmallVec<[Range<usize>; 2]> = heap::small("parts", ranges)?;
    all.sort_unstable_by_key(|places| places.start);
    all.dedup_by(|next, last| {
        let touches = next.start <= last.end;
        if touches {
            last.end = last.end.max(next.end);
        }
        touches
    });
    Ok(all)
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
