//! Comparisons of integers of either sign.

use super::{KernelBuilder, Operand, Value};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::ops::Op;
use crate::promotion::Weak;

impl KernelBuilder {
    /// A comparison of `int64` with `uint64`, which is exact though no dtype holds both: as `uint64`, and a negative number is
    /// below all of those.
    #[track_caller]
    pub(super) fn compare_signs(&mut self, op: Op, [first, second]: [Value; 2]) -> Result<Option<Value>> {
        let position = match (self.form.dtype(first), self.form.dtype(second)) {
            (Dtype::I64, Dtype::U64) => 0,
            (Dtype::U64, Dtype::I64) => 1,
            _ => return Ok(None),
        };
        let Some(below) = Weak::Int(-1).settles(op, position, Dtype::U64) else { return Ok(None) };
        let signed = if position == 0 { first } else { second };
        let bits = self.cast(signed, Dtype::U64)?;
        let operands = if position == 0 { [bits, second] } else { [first, bits] };
        let compared = self.apply(op, &operands.map(Operand::Value))?;
        let (sign, joined) =
            if below { (Op::Less, Op::BitwiseOr) } else { (Op::GreaterEqual, Op::BitwiseAnd) };
        let sign = self.binary(sign, signed, Weak::Int(0))?;
        self.binary(joined, compared, sign).map(Some)
    }
}
