//! Reductions that leave NaN out. What stands in its place is chosen in the pass that folds.

use super::elementwise::interim;
use super::functions::number;
use super::statistics::squared_magnitude;
use super::{ArrayOrScalar, Reduction, UsmArray, elementwise};
use crate::dtype::{Dtype, DtypeKind};
use crate::error::{Error, Result};
use crate::layout::Dims;
use crate::ops::Op;
use crate::program::Fold;
use crate::scalar::Scalar;

const SUM: Fold = Fold::Op(Op::Add);

impl UsmArray {
    /// Whether there may be NaN among the elements.
    fn may_be_nan(&self) -> bool {
        self.dtype.kind().is_inexact()
    }

    /// The elements with a number in place of NaN; a step on the way.
    fn without_nan(&self, value: f64) -> Result<Self> {
        let nan = interim(Op::IsNan, &[self.into()])?;
        interim(Op::Where, &[(&nan).into(), number(value), self.into()])
    }

    /// How many elements over axes are not NaN, with the axes kept.
    fn count_numbers(&self, axes: &[usize], dtype: Dtype) -> Result<Self> {
        let nan = interim(Op::IsNan, &[self.into()])?;
        let is_number = interim(Op::LogicalNot, &[(&nan).into()])?;
        drop(nan);
        is_number.astype_step(Dtype::I64)?.fold(Dtype::I64, SUM, None, axes, true)?.astype_step(dtype)
    }

    fn without(&self, axes: &[usize], keepdims: bool) -> Result<Self> {
        let named: Vec<isize> = axes.iter().map(|axis| axis.cast_signed()).collect();
        if keepdims { Ok(self.clone()) } else { self.squeeze(&named) }
    }

    /// The sum or product of the elements that are not NaN over axes (`None`: all), in a dtype as
    /// [`reduce_as`](Self::reduce_as) has it.
    ///
    /// # Errors
    /// As for [`reduce_as`](Self::reduce_as); [`Error::Value`] for another reduction.
    pub fn reduce_numbers(
        &self,
        reduction: Reduction,
        axes: Option<&[isize]>,
        keepdims: bool,
        dtype: Option<Dtype>,
    ) -> Result<Self> {
        let neutral = match reduction {
            Reduction::Sum => 0.0,
            Reduction::Prod => 1.0,
            Reduction::Min | Reduction::Max => return self.nan_extreme(reduction, axes, keepdims),
            Reduction::Mean => return self.nanmean(axes, keepdims),
            _ => {
                return Err(Error::value(
                    "reduction",
                    reduction.name(),
                    "a sum, product, mean, minimum or maximum",
                    "replace NaN first, with `nan_to_num`",
                ));
            }
        };
        if !self.may_be_nan() {
            return self.reduce_as(reduction, axes, keepdims, dtype);
        }
        self.without_nan(neutral)?.reduce_as(reduction, axes, keepdims, dtype)
    }

    /// The extreme of what is not NaN; NaN where there is nothing else.
    fn nan_extreme(&self, reduction: Reduction, axes: Option<&[isize]>, keepdims: bool) -> Result<Self> {
        if self.dtype.kind() != DtypeKind::Float {
            return self.reduce(reduction, axes, keepdims);
        }
        let neutral = if reduction == Reduction::Min { f64::INFINITY } else { f64::NEG_INFINITY };
        let mut room = Dims::new();
        let extreme = self.without_nan(neutral)?.reduce(reduction, axes, keepdims)?;
        let axes = self.reduced_axes(axes, &mut room)?;
        if axes.is_empty() {
            return Ok(self.clone());
        }
        let count = self.count_numbers(axes, Dtype::I64)?.without(axes, keepdims)?;
        let none = interim(Op::Equal, &[(&count).into(), ArrayOrScalar::Scalar(Scalar::I64(0))])?;
        drop(count);
        elementwise(Op::Where, &[(&none).into(), number(f64::NAN), (&extreme).into()])
    }

    /// The mean of the elements that are not NaN over axes (`None`: all), NaN where there are none; of integers in the default
    /// floating dtype, of 16-bit floats by way of `float32`.
    ///
    /// # Errors
    /// As for [`reduce`](Self::reduce).
    pub fn nanmean(&self, axes: Option<&[isize]>, keepdims: bool) -> Result<Self> {
        if !self.may_be_nan() {
            return self.reduce(Reduction::Mean, axes, keepdims);
        }
        let mut room = Dims::new();
        let axes = self.reduced_axes(axes, &mut room)?;
        let mean = self.mean_of_numbers(axes)?;
        if self.wide(self.dtype) == self.dtype { mean } else { mean.astype(self.dtype)? }
            .without(axes, keepdims)
    }

    /// In the wide dtype, with the axes kept.
    fn mean_of_numbers(&self, axes: &[usize]) -> Result<Self> {
        let wide = self.wide(self.dtype);
        let sum = self.without_nan(0.0)?.astype_step(wide)?.fold(wide, SUM, None, axes, true)?;
        let count = self.count_numbers(axes, wide)?;
        elementwise(Op::Divide, &[(&sum).into(), (&count).into()])
    }

    /// The variance of the elements that are not NaN over axes (`None`: all), as [`var`](Self::var) has it; NaN where there are
    /// no more of them than `correction`.
    ///
    /// # Errors
    /// As for [`var`](Self::var).
    pub fn nanvar(&self, axes: Option<&[isize]>, keepdims: bool, correction: f64) -> Result<Self> {
        self.nan_spread(axes, keepdims, correction, false)
    }

    /// The standard deviation of the elements that are not NaN, the root of [`nanvar`](Self::nanvar).
    ///
    /// # Errors
    /// As for [`var`](Self::var).
    pub fn nanstd(&self, axes: Option<&[isize]>, keepdims: bool, correction: f64) -> Result<Self> {
        self.nan_spread(axes, keepdims, correction, true)
    }

    fn nan_spread(
        &self,
        axes: Option<&[isize]>,
        keepdims: bool,
        correction: f64,
        root: bool,
    ) -> Result<Self> {
        if !self.may_be_nan() || !correction.is_finite() {
            return if root {
                self.std(axes, keepdims, correction)
            } else {
                self.var(axes, keepdims, correction)
            };
        }
        let mut room = Dims::new();
        let axes = self.reduced_axes(axes, &mut room)?;
        // Read twice, and computed once.
        self.elements.memory()?;
        let (out, wide) = (self.dtype.real_part(), self.wide(self.dtype.real_part()));
        let mean = self.mean_of_numbers(axes)?;
        let distance = {
            let x = self.astype_step(self.wide(self.dtype))?;
            interim(Op::Subtract, &[(&x).into(), (&mean).into()])?
        };
        drop(mean);
        // What is NaN by itself, not where the mean is infinite.
        let nan = interim(Op::IsNan, &[self.into()])?;
        let distance = interim(Op::Where, &[(&nan).into(), number(0.0), (&distance).into()])?;
        drop(nan);
        let sum = squared_magnitude(distance, None)?.fold(wide, SUM, None, axes, true)?;
        let count = self.count_numbers(axes, wide)?;
        let free = interim(Op::Subtract, &[(&count).into(), number(correction)])?;
        drop(count);
        let none = interim(Op::LessEqual, &[(&free).into(), number(0.0)])?;
        let free = interim(Op::Where, &[(&none).into(), number(f64::NAN), (&free).into()])?;
        drop(none);
        let var = interim(Op::Divide, &[(&sum).into(), (&free).into()])?;
        let spread = if root { interim(Op::Sqrt, &[(&var).into()])? } else { var };
        let spread =
            if wide == out { elementwise(Op::Copy, &[(&spread).into()])? } else { spread.astype(out)? };
        spread.without(axes, keepdims)
    }
}
