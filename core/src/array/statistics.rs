//! Statistics: spread, counts, and sums that stay in range. Elements are read once or twice, and the elementwise part of a
//! step runs in the pass that folds it.

use super::elementwise::interim;
use super::{ArrayOrScalar, Reduction, UsmArray, elementwise};
use crate::dtype::{Dtype, DtypeKind};
use crate::error::{Error, Result};
use crate::layout::Dims;
use crate::ops::Op;
use crate::program::{Arg, Fold, Program, ProgramBuilder};
use crate::promotion::Weak;
use crate::scalar::Scalar;

const SUM: Fold = Fold::Op(Op::Add);

impl UsmArray {
    /// The variance over axes (`None`: all): the mean squared distance from the mean, `Σ|x − mean|² / (n − correction)`.
    /// Of complex numbers it is real; of integers it has the default floating dtype; 16-bit floats are computed with in
    /// `float32`. NaN where `n` is 0 or not above `correction`.
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range or named twice, [`Error::Value`] where `correction` is not finite.
    pub fn var(&self, axes: Option<&[isize]>, keepdims: bool, correction: f64) -> Result<Self> {
        self.spread(axes, keepdims, correction, false)
    }

    /// The standard deviation over axes, the root of the [variance](Self::var).
    ///
    /// # Errors
    /// As for [`var`](Self::var).
    pub fn std(&self, axes: Option<&[isize]>, keepdims: bool, correction: f64) -> Result<Self> {
        self.spread(axes, keepdims, correction, true)
    }

    fn spread(&self, axes: Option<&[isize]>, keepdims: bool, correction: f64, root: bool) -> Result<Self> {
        let mut room = Dims::new();
        let axes = self.reduced_axes(axes, &mut room)?;
        if !correction.is_finite() {
            return Err(Error::value(
                "correction",
                correction,
                "a finite number, as 0 (the whole population) or 1 (a sample)",
                "name the degrees of freedom to subtract from the number of elements",
            ));
        }
        let out = self.real_result();
        let wide = self.wide(out);
        let count = self.count(axes) as f64;
        // Of no degrees of freedom there is no spread.
        let divisor = if count > correction { count - correction } else { f64::NAN };
        if self.dtype.kind() == DtypeKind::Complex {
            // The squared distance is that of the real parts and that of the imaginary parts, each read in a pass.
            self.elements.memory()?;
            let sum =
                |part| interim(part, &[self.into()])?.fold(wide, Fold::Deviations, None, axes, keepdims);
            let sum = interim(Op::Add, &[(&sum(Op::RealPart)?).into(), (&sum(Op::ImagPart)?).into()])?;
            let divide = if root { interim } else { elementwise };
            let var = divide(Op::Divide, &[(&sum).into(), ArrayOrScalar::Weak(Weak::Float(divisor))])?;
            return if root { elementwise(Op::Sqrt, &[(&var).into()]) } else { Ok(var) };
        }
        let finish = program(wide, |builder, sum| {
            let divisor = builder.constant(Scalar::F64(divisor).cast(wide))?;
            let var = builder.push(Op::Divide, &[sum, divisor])?;
            let value = if root { builder.push(Op::Sqrt, &[var])? } else { var };
            builder.cast(value, out)
        })?;
        self.fold(wide, Fold::Deviations, Some(finish), axes, keepdims)
    }

    /// How many elements are not zero, over axes (`None`: all), as the default integer. NaN is not zero.
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range or named twice.
    pub fn count_nonzero(&self, axes: Option<&[isize]>, keepdims: bool) -> Result<Self> {
        let mut room = Dims::new();
        let axes = self.reduced_axes(axes, &mut room)?;
        let counts = self.device().dtype_support().default_int();
        self.astype_step(Dtype::Bool)?.fold(counts, SUM, None, axes, keepdims)
    }

    /// `ln Σ eˣ` over axes (`None`: all), without overflow on the way: −∞ of no elements or where all are −∞. Integers
    /// are first converted to the default floating dtype, and everything to `dtype` where it is named.
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range or named twice; [`Error::Dtype`] for complex numbers and where `dtype` is
    /// not real floating point.
    pub fn logsumexp(&self, axes: Option<&[isize]>, keepdims: bool, dtype: Option<Dtype>) -> Result<Self> {
        let mut room = Dims::new();
        let axes = self.reduced_axes(axes, &mut room)?;
        if self.dtype.kind() == DtypeKind::Complex {
            return Err(Error::dtype(
                "x",
                format!("{} for `logsumexp`", self.dtype),
                "real numbers",
                "take the real part or the magnitude first",
            ));
        }
        let out = self.real_dtype(dtype)?;
        let wide = self.wide(out);
        if self.count(axes) == 0 {
            let nothing = Scalar::F64(f64::NEG_INFINITY).cast(out);
            return Self::full(&self.queue, &self.reduced_shape(axes, keepdims), nothing, self.usm_kind());
        }
        self.elements.memory()?;
        let named: Vec<isize> = axes.iter().map(|a| a.cast_signed()).collect();
        // Conversion keeps the order, so the largest of the converted elements is the largest converted.
        let largest = self.reduce(Reduction::Max, Some(&named), true)?.astype_step(out)?.astype_step(wide)?;
        let shift = finite_or(&largest, &largest, 0.0)?;
        drop(largest);
        let terms = {
            let x = self.astype_step(out)?.astype_step(wide)?;
            let distance = interim(Op::Subtract, &[(&x).into(), (&shift).into()])?;
            interim(Op::Exp, &[(&distance).into()])?
        };
        let log = program(wide, |builder, sum| builder.push(Op::Log, &[sum]))?;
        let logs = terms.fold(wide, SUM, Some(log), axes, true)?;
        drop(terms);
        let result = if wide == out {
            elementwise(Op::Add, &[(&logs).into(), (&shift).into()])?
        } else {
            interim(Op::Add, &[(&logs).into(), (&shift).into()])?.astype(out)?
        };
        if keepdims { Ok(result) } else { result.squeeze(&named) }
    }

    /// `√Σ|x|²` over axes (`None`: all), without overflow or underflow on the way; NaN where an element is. Of complex
    /// numbers it is real; integers are first converted to the default floating dtype, and magnitudes to `dtype` where it
    /// is named.
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range or named twice; [`Error::Dtype`] where `dtype` is not real floating point.
    pub fn reduce_hypot(&self, axes: Option<&[isize]>, keepdims: bool, dtype: Option<Dtype>) -> Result<Self> {
        let mut room = Dims::new();
        let axes = self.reduced_axes(axes, &mut room)?;
        let out = self.real_dtype(dtype)?;
        let double = self.device().dtype_support().f64;
        let part = self.dtype.real_part();
        // Squares of everything but doubles are in the range of doubles.
        if (double && part != Dtype::F64) || self.count(axes) == 0 {
            let wide = if double { Dtype::F64 } else { self.wide(out) };
            let complex = if wide == Dtype::F64 { Dtype::C128 } else { Dtype::C64 };
            let x = self.astype_step(if self.dtype.kind() == DtypeKind::Complex { complex } else { wide })?;
            let root = program(wide, |builder, sum| {
                let root = builder.push(Op::Sqrt, &[sum])?;
                builder.cast(root, out)
            })?;
            return squared_magnitude(x, None)?.fold(wide, SUM, Some(root), axes, keepdims);
        }
        // The others are divided by the largest.
        self.elements.memory()?;
        let x = || match self.dtype.kind() {
            DtypeKind::Complex => Ok(self.clone()),
            _ => self.astype_step(self.wide(self.real_result())),
        };
        let sizes = largest_part(x()?)?;
        let wide = sizes.dtype();
        let largest = sizes.fold(wide, Fold::Op(Op::Maximum), None, axes, true)?;
        drop(sizes);
        // Of the smallest normal number at least, so that zeros are not divided by zero.
        let least = ArrayOrScalar::Weak(Weak::Float(wide.finfo()?.smallest_normal));
        let scale = finite_or(&largest, &interim(Op::Maximum, &[(&largest).into(), least])?, 1.0)?;
        drop(largest);
        let squares = squared_magnitude(x()?, Some(&scale))?;
        let root = program(wide, |builder, sum| builder.push(Op::Sqrt, &[sum]))?;
        let roots = squares.fold(wide, SUM, Some(root), axes, true)?;
        drop(squares);
        let result = if wide == out {
            elementwise(Op::Multiply, &[(&roots).into(), (&scale).into()])?
        } else {
            interim(Op::Multiply, &[(&roots).into(), (&scale).into()])?.astype(out)?
        };
        let named: Vec<isize> = axes.iter().map(|a| a.cast_signed()).collect();
        if keepdims { Ok(result) } else { result.squeeze(&named) }
    }

    /// The dtype of a real result in floating point.
    pub(super) fn real_result(&self) -> Dtype {
        match self.dtype.kind().is_inexact() {
            true => self.dtype.real_part(),
            false => self.device().dtype_support().default_float(),
        }
    }

    /// The dtype named for a real result, or the one it has by itself.
    fn real_dtype(&self, dtype: Option<Dtype>) -> Result<Dtype> {
        match dtype {
            Some(dtype) if dtype.kind() != DtypeKind::Float => Err(Error::dtype(
                "dtype",
                dtype,
                "a real floating-point dtype",
                "leave it out for the array's own precision, and convert the result",
            )),
            Some(dtype) => Ok(dtype),
            None => Ok(self.real_result()),
        }
    }
}

/// `|x|²`, or `|x / scale|²`, of a step that is not used otherwise.
pub(super) fn squared_magnitude(x: UsmArray, scale: Option<&UsmArray>) -> Result<UsmArray> {
    let squared = |part: UsmArray| {
        let part = match scale {
            Some(scale) => interim(Op::Divide, &[(&part).into(), scale.into()])?,
            None => part,
        };
        interim(Op::Square, &[(&part).into()])
    };
    if x.dtype().kind() != DtypeKind::Complex {
        return squared(x);
    }
    let re = squared(interim(Op::RealPart, &[(&x).into()])?)?;
    let im = squared(interim(Op::ImagPart, &[(&x).into()])?)?;
    interim(Op::Add, &[(&re).into(), (&im).into()])
}

/// The magnitude of a step that is not used otherwise; of complex numbers, of the part that has the larger.
fn largest_part(x: UsmArray) -> Result<UsmArray> {
    if x.dtype().kind() != DtypeKind::Complex {
        return interim(Op::Abs, &[(&x).into()]);
    }
    let size = |part: Op| interim(Op::Abs, &[(&interim(part, &[(&x).into()])?).into()]);
    interim(Op::Maximum, &[(&size(Op::RealPart)?).into(), (&size(Op::ImagPart)?).into()])
}

/// `yes` where `x` is finite, else a number.
fn finite_or(x: &UsmArray, yes: &UsmArray, no: f64) -> Result<UsmArray> {
    let finite = interim(Op::IsFinite, &[x.into()])?;
    elementwise(Op::Where, &[(&finite).into(), yes.into(), ArrayOrScalar::Weak(Weak::Float(no))])
}

/// The program of one input that a function writes.
fn program(dtype: Dtype, write: impl FnOnce(&mut ProgramBuilder, Arg) -> Result<Arg>) -> Result<Program> {
    let mut builder = ProgramBuilder::new();
    let input = builder.input(dtype)?;
    let value = write(&mut builder, input)?;
    builder.output(value)?;
    builder.finish()
}
