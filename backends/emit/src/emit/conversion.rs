//! Conversions between dtypes, and between 16-bit floats and what they are computed in.

use stridewise_core::{Dtype, DtypeKind, Scalar};

use super::library::Helper;
use super::literal::literal;
use super::token::{Token, unsigned};
use crate::kernels::text::c_type;

impl<'w> Token<'w> {
    /// The value converted by the rules of [`Scalar::cast`].
    pub(super) fn cast(self, to: Dtype) -> Self {
        if self.dtype == to {
            return self;
        }
        match to.kind() {
            DtypeKind::Bool => self.truth(),
            DtypeKind::Signed | DtypeKind::Unsigned => self.real_part().integer(to),
            DtypeKind::Float => self.real_part().float(to),
            DtypeKind::Complex if self.is_complex() => {
                self.line(to, &format!("convert_{}({})", c_type(to), self.text()))
            }
            DtypeKind::Complex => {
                let part = self.float(to.real_part());
                part.line(to, &format!("({})({}, 0)", c_type(to), part.text()))
            }
        }
    }

    /// A 16-bit float as a `float`, exactly; what is none, as it is.
    pub(super) fn widened(self) -> Self {
        let x = self.text();
        match self.dtype {
            Dtype::F16 => {
                let function = self.writer.helper(Helper::OfHalf, Dtype::U16);
                self.line(Dtype::F32, &format!("{function}({x})"))
            }
            Dtype::Bf16 => self.line(Dtype::F32, &format!("as_float((uint){x} << 16)")),
            _ => self,
        }
    }

    fn real_part(self) -> Self {
        if self.is_complex() {
            self.line(self.dtype.real_part(), &format!("{}.x", self.text()))
        } else {
            self
        }
    }

    fn truth(self) -> Self {
        let value = self.widened();
        let x = value.text();
        if value.is_complex() {
            value.line(Dtype::Bool, &format!("({x}.x != 0) | ({x}.y != 0)"))
        } else {
            value.line(Dtype::Bool, &format!("{x} != 0"))
        }
    }

    fn integer(self, to: Dtype) -> Self {
        let value = self.widened();
        let (x, ty) = (value.text(), c_type(to));
        if value.dtype.kind() != DtypeKind::Float {
            return value.line(to, &format!("as_{ty}(({}){x})", unsigned(to)));
        }
        // Only what fits is converted; what does not is the least or the greatest integer.
        let (least, greatest) =
            (Scalar::F64(f64::NEG_INFINITY).cast(to), Scalar::F64(f64::INFINITY).cast(to));
        let digits = 8 * to.size() - usize::from(to.kind() == DtypeKind::Signed);
        let suffix = if value.dtype == Dtype::F32 { "f" } else { "" };
        let low = match to.kind() {
            DtypeKind::Signed => format!("-0x1p{digits}{suffix}"),
            _ => format!("0.0{suffix}"),
        };
        value.line(
            to,
            &format!(
                "isnan({x}) ? 0 : {x} <= {low} ? {} : {x} >= 0x1p{digits}{suffix} ? {} : ({ty}){x}",
                literal(&least),
                literal(&greatest)
            ),
        )
    }

    fn float(self, to: Dtype) -> Self {
        let value = self.widened();
        let x = value.text();
        match to {
            Dtype::F32 | Dtype::F64 if value.dtype == to => value,
            Dtype::F32 | Dtype::F64 => value.line(to, &format!("({}){x}", c_type(to))),
            _ => value.narrowed(to),
        }
    }

    /// A real number as a 16-bit float.
    pub(super) fn narrowed(self, to: Dtype) -> Self {
        let x = self.text();
        let float = match self.dtype {
            Dtype::F32 => self,
            // By one rounding: that to `float` leaves a trace of what it cut off.
            Dtype::F64 => {
                let function = self.writer.helper(Helper::Odd, Dtype::F64);
                self.line(Dtype::F32, &format!("{function}({x})"))
            }
            Dtype::I32 => self.line(
                Dtype::F32,
                &format!("(float)(abs({x}) < 0x1000000u ? {x} : ({x} & ~0xff) | (({x} & 0xff) != 0) << 8)"),
            ),
            Dtype::U32 => self.line(
                Dtype::F32,
                &format!("(float)({x} < 0x1000000u ? {x} : ({x} & ~0xffu) | (({x} & 0xffu) != 0) << 8)"),
            ),
            // The same of what the significand has no bits for.
            Dtype::I64 | Dtype::U64 => {
                let whole = c_type(self.dtype);
                let cut = self.line(Dtype::F32, &format!("convert_float_rtz({x})"));
                let short = cut.text();
                cut.line(Dtype::F32, &format!("as_float(as_uint({short}) | (uint)(({whole}){short} != {x}))"))
            }
            // Exact of the others.
            _ => self.line(Dtype::F32, &format!("(float){x}")),
        };
        let x = float.text();
        let helper = if to == Dtype::F16 { Helper::ToHalf } else { Helper::Bf16 };
        let function = self.writer.helper(helper, Dtype::F32);
        float.line(to, &format!("{function}({x})"))
    }
}
