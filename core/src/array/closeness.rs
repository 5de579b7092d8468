//! Whether numbers are equal within a tolerance, as NumPy's `isclose` has it.

use super::elementwise::interim;
use super::{ArrayOrScalar, Reduction, UsmArray, elementwise};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::ops::Op;
use crate::promotion::{Weak, result_type};

impl UsmArray {
    /// Whether elements are close to those of another array, which is broadcast against this one:
    /// `|x − y| ≤ atol + rtol |y|` for finite `y`, equal otherwise, and with `equal_nan` also both NaN. Integers are
    /// compared in the default floating dtype, 16-bit floats in `float32`. NumPy's tolerances are 1e-5 and 1e-8.
    ///
    /// # Errors
    /// As for [`elementwise`].
    pub fn isclose(&self, other: &Self, rtol: f64, atol: f64, equal_nan: bool) -> Result<Self> {
        let support = self.device().dtype_support();
        let dtype = match result_type(&[self.dtype, other.dtype], &[], support)? {
            Dtype::F16 | Dtype::Bf16 => Dtype::F32,
            dtype if dtype.kind().is_inexact() => dtype,
            _ => support.default_float(),
        };
        let (x, y) = (self.astype_step(dtype)?, other.astype_step(dtype)?);
        let operands: [ArrayOrScalar<'_>; 2] = [(&x).into(), (&y).into()];
        let number = |value: f64| ArrayOrScalar::Weak(Weak::Float(value));
        let close = {
            let distance = interim(Op::Subtract, &operands)?;
            let distance = interim(Op::Abs, &[(&distance).into()])?;
            let size = interim(Op::Abs, &[(&y).into()])?;
            let relative = interim(Op::Multiply, &[(&size).into(), number(rtol)])?;
            let tolerance = interim(Op::Add, &[(&relative).into(), number(atol)])?;
            let near = interim(Op::LessEqual, &[(&distance).into(), (&tolerance).into()])?;
            let finite = interim(Op::IsFinite, &[(&y).into()])?;
            interim(Op::BitwiseAnd, &[(&near).into(), (&finite).into()])?
        };
        let equal = interim(Op::Equal, &operands)?;
        if !equal_nan {
            return elementwise(Op::BitwiseOr, &[(&close).into(), (&equal).into()]);
        }
        let close = interim(Op::BitwiseOr, &[(&close).into(), (&equal).into()])?;
        let (x_nan, y_nan) = (interim(Op::IsNan, &[(&x).into()])?, interim(Op::IsNan, &[(&y).into()])?);
        let both = interim(Op::BitwiseAnd, &[(&x_nan).into(), (&y_nan).into()])?;
        elementwise(Op::BitwiseOr, &[(&close).into(), (&both).into()])
    }

    /// Whether all elements are [close](Self::isclose), as an array of no dimensions.
    ///
    /// # Errors
    /// As for [`isclose`](Self::isclose).
    pub fn allclose(&self, other: &Self, rtol: f64, atol: f64, equal_nan: bool) -> Result<Self> {
        self.isclose(other, rtol, atol, equal_nan)?.reduce(Reduction::All, None, false)
    }
}
