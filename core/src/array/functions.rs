//! Elementwise functions that are made of several operations, and run as one pass.

use std::f64::consts::PI;

use super::elementwise::interim;
use super::{ArrayOrScalar, UsmArray, elementwise};
use crate::dtype::{Dtype, DtypeKind};
use crate::error::{Error, Result};
use crate::ops::Op;
use crate::promotion::{Weak, result_type};

pub(super) fn number(value: f64) -> ArrayOrScalar<'static> {
    ArrayOrScalar::Weak(Weak::Float(value))
}

impl UsmArray {
    /// Degrees in radians; integers in the default floating dtype.
    ///
    /// # Errors
    /// [`Error::Dtype`] for complex numbers.
    pub fn deg2rad(&self) -> Result<Self> {
        self.scaled("deg2rad", PI / 180.0)
    }

    /// Radians in degrees; integers in the default floating dtype.
    ///
    /// # Errors
    /// [`Error::Dtype`] for complex numbers.
    pub fn rad2deg(&self) -> Result<Self> {
        self.scaled("rad2deg", 180.0 / PI)
    }

    fn scaled(&self, name: &str, factor: f64) -> Result<Self> {
        self.check_real(name)?;
        let x = self.astype_step(self.real_result())?;
        elementwise(Op::Multiply, &[(&x).into(), number(factor)])
    }

    /// Refuses complex numbers.
    pub(super) fn check_real(&self, name: &str) -> Result<()> {
        if self.dtype.kind() != DtypeKind::Complex {
            return Ok(());
        }
        Err(Error::dtype(
            "x",
            format!("{} for `{name}`", self.dtype),
            "real numbers",
            "take the real part, the imaginary part or the magnitude first",
        ))
    }

    /// `sin(πx) / (πx)`, and 1 for 0; of integers in the default floating dtype, of 16-bit floats by way of `float32`.
    ///
    /// # Errors
    /// As for [`elementwise`].
    pub fn sinc(&self) -> Result<Self> {
        let out = if self.dtype.kind().is_inexact() { self.dtype } else { self.real_result() };
        let x = self.astype_step(self.wide(out))?;
        let angle = interim(Op::Multiply, &[(&x).into(), number(PI)])?;
        drop(x);
        let quotient = {
            let sine = interim(Op::Sin, &[(&angle).into()])?;
            interim(Op::Divide, &[(&sine).into(), (&angle).into()])?
        };
        let zero = interim(Op::Equal, &[(&angle).into(), number(0.0)])?;
        drop(angle);
        if self.wide(out) == out {
            return elementwise(Op::Where, &[(&zero).into(), number(1.0), (&quotient).into()]);
        }
        interim(Op::Where, &[(&zero).into(), number(1.0), (&quotient).into()])?.astype(out)
    }

    /// From this array's numbers to those of another, the part of the way that a weight says: `x + (y − x) w`, exactly `x`
    /// where `w` is 0 and exactly `y` where it is 1. All three are broadcast, and computed in their floating dtype.
    ///
    /// # Errors
    /// As for [`elementwise`].
    pub fn lerp<'a>(
        &'a self,
        other: impl Into<ArrayOrScalar<'a>>,
        weight: impl Into<ArrayOrScalar<'a>>,
    ) -> Result<Self> {
        let operands = [self.into(), other.into(), weight.into()];
        let (mut dtypes, mut weak) = (Vec::new(), vec![Weak::Float(0.0)]);
        for operand in &operands {
            match operand {
                ArrayOrScalar::Array(array) => dtypes.push(array.dtype),
                ArrayOrScalar::Scalar(value) => dtypes.push(value.dtype()),
                ArrayOrScalar::Weak(value) => weak.push(*value),
            }
        }
        let dtype = result_type(&dtypes, &weak, self.device().dtype_support())?;
        let arrays = operands.iter().map(|operand| match operand {
            ArrayOrScalar::Array(array) => array.astype_step(dtype).map(Some),
            _ => Ok(None),
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let operand = |k: usize| -> Result<ArrayOrScalar<'_>> {
            Ok(match (&operands[k], &arrays[k]) {
                (ArrayOrScalar::Scalar(value), _) => value.cast(dtype).into(),
                (_, Some(array)) => array.into(),
                (other, None) => other.clone(),
            })
        };
        let (x, y, w) = (operand(0)?, operand(1)?, operand(2)?);
        let way = interim(Op::Subtract, &[y.clone(), x.clone()])?;
        // From the nearer end, so that both are met.
        let near = {
            let part = interim(Op::Multiply, &[(&way).into(), w.clone()])?;
            interim(Op::Add, &[x.clone(), (&part).into()])?
        };
        let (far, back) = {
            let one = number(1.0);
            match &w {
                ArrayOrScalar::Array(_) => {
                    let rest = interim(Op::Subtract, &[one, w.clone()])?;
                    let part = interim(Op::Multiply, &[(&way).into(), (&rest).into()])?;
                    let half = if dtype.kind() == DtypeKind::Complex {
                        let size = interim(Op::RealPart, std::slice::from_ref(&w))?;
                        interim(Op::GreaterEqual, &[(&size).into(), number(0.5)])?
                    } else {
                        interim(Op::GreaterEqual, &[w.clone(), number(0.5)])?
                    };
                    (interim(Op::Subtract, &[y.clone(), (&part).into()])?, Some(half))
                }
                ArrayOrScalar::Scalar(_) | ArrayOrScalar::Weak(_) => {
                    let value = match &w {
                        ArrayOrScalar::Scalar(value) => value.weak(),
                        ArrayOrScalar::Weak(value) => *value,
                        ArrayOrScalar::Array(_) => Weak::Float(0.0),
                    };
                    let value = value.to_c128();
                    if value.re < 0.5 {
                        drop(way);
                        return elementwise(Op::Copy, &[(&near).into()]);
                    }
                    let rest = match value.im {
                        0.0 => number(1.0 - value.re),
                        _ => ArrayOrScalar::Weak(Weak::Complex(1.0 - value)),
                    };
                    let part = interim(Op::Multiply, &[(&way).into(), rest])?;
                    (interim(Op::Subtract, &[y.clone(), (&part).into()])?, None)
                }
            }
        };
        drop(way);
        match back {
            Some(half) => elementwise(Op::Where, &[(&half).into(), (&far).into(), (&near).into()]),
            None => elementwise(Op::Copy, &[(&far).into()]),
        }
    }

    /// The numbers with others in place of NaN, +∞ and −∞: by default 0, the largest finite number of the dtype and the
    /// smallest; of complex numbers, of each part. Integers and `bool` are themselves.
    ///
    /// # Errors
    /// As for [`elementwise`].
    pub fn nan_to_num(&self, nan: f64, posinf: Option<f64>, neginf: Option<f64>) -> Result<Self> {
        if !self.dtype.kind().is_inexact() {
            return Ok(self.clone());
        }
        if self.dtype.kind() == DtypeKind::Complex {
            let out = self.empty_like(None)?;
            for (part, target) in [(Op::RealPart, out.real_view()?), (Op::ImagPart, out.imag_view()?)] {
                target.assign(&interim(part, &[self.into()])?.nan_to_num(nan, posinf, neginf)?)?;
            }
            return Ok(out);
        }
        let range = self.dtype.finfo()?;
        let is_nan = interim(Op::IsNan, &[self.into()])?;
        let numbers = interim(Op::Where, &[(&is_nan).into(), number(nan), self.into()])?;
        drop(is_nan);
        let above = interim(Op::Equal, &[self.into(), number(f64::INFINITY)])?;
        let numbers =
            interim(Op::Where, &[(&above).into(), number(posinf.unwrap_or(range.max)), (&numbers).into()])?;
        drop(above);
        let below = interim(Op::Equal, &[self.into(), number(f64::NEG_INFINITY)])?;
        elementwise(Op::Where, &[(&below).into(), number(neginf.unwrap_or(range.min)), (&numbers).into()])
    }

    /// The dtype that a floating dtype is computed in where several roundings would show.
    pub(super) fn wide(&self, dtype: Dtype) -> Dtype {
        if matches!(dtype, Dtype::F16 | Dtype::Bf16) { Dtype::F32 } else { dtype }
    }
}
