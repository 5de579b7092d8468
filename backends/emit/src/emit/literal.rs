//! Values as text.

use stridewise_core::{Dtype, Scalar};

/// A value as an expression of exactly its type and its bits; needs no brackets around it.
pub(crate) fn literal(value: &Scalar) -> String {
    match *value {
        Scalar::Bool(v) => format!("(uchar){}", u8::from(v)),
        Scalar::I8(v) => format!("((char){v})"),
        Scalar::I16(v) => format!("((short){v})"),
        // The most negative integer has no literal, since the sign is an operator.
        Scalar::I32(i32::MIN) => "(-2147483647 - 1)".into(),
        Scalar::I32(v) => negative(v < 0, &v.to_string()),
        Scalar::I64(i64::MIN) => "(-9223372036854775807L - 1)".into(),
        Scalar::I64(v) => negative(v < 0, &format!("{v}L")),
        Scalar::U8(v) => format!("((uchar){v})"),
        Scalar::U16(v) => format!("((ushort){v})"),
        Scalar::U32(v) => format!("{v}u"),
        Scalar::U64(v) => format!("{v}UL"),
        Scalar::F16(v) => format!("((ushort){:#06x})", v.to_bits()),
        Scalar::Bf16(v) => format!("((ushort){:#06x})", v.to_bits()),
        Scalar::F32(v) => float32(v),
        Scalar::F64(v) => float64(v),
        Scalar::C64(v) => format!("((float2)({}, {}))", float32(v.re), float32(v.im)),
        Scalar::C128(v) => format!("((double2)({}, {}))", float64(v.re), float64(v.im)),
    }
}

/// A constant of an operation's definition, of a dtype that arithmetic is done in.
pub(super) fn constant(c: f64, dtype: Dtype) -> String {
    literal(&Scalar::F64(c).cast(dtype))
}

fn negative(negative: bool, text: &str) -> String {
    if negative { format!("({text})") } else { text.into() }
}

fn float32(v: f32) -> String {
    if v.is_finite() {
        negative(v.is_sign_negative(), &format!("{}f", finite(v.into())))
    } else {
        format!("as_float({:#x}u)", v.to_bits())
    }
}

fn float64(v: f64) -> String {
    if v.is_finite() {
        negative(v.is_sign_negative(), &finite(v))
    } else {
        format!("as_double({:#x}UL)", v.to_bits())
    }
}

/// A finite number: in decimals where these are few and exact, else in hexadecimals.
fn finite(v: f64) -> String {
    const FRACTION: u32 = f64::MANTISSA_DIGITS - 1;
    if v.fract() == 0.0 && v.abs() < 1e6 {
        return format!("{v:.1}");
    }
    let sign = if v.is_sign_negative() { "-" } else { "" };
    let bits = v.to_bits();
    let fraction = bits & ((1 << FRACTION) - 1);
    // Subnormal numbers have the least exponent and no leading 1.
    let (leading, exponent) = match (bits >> FRACTION & 0x7ff) as i64 {
        0 => (0, -1022),
        biased => (1, biased - 1023),
    };
    format!("{sign}0x{leading}.{fraction:013x}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_have_their_type_and_value() {
        let text = |v: Scalar| literal(&v);
        assert_eq!(text(Scalar::F32(3.0)), "3.0f");
        assert_eq!(text(Scalar::F32(-0.0)), "(-0.0f)");
        assert_eq!(text(Scalar::F32(0.1)), "0x1.99999a0000000p-4f");
        assert_eq!(
            text(Scalar::F64(-1.5e300)),
            "(-0x1.1eb8530a1a9c1p+997)".replace("1eb8530a1a9c1", &hex(1.5e300))
        );
        assert_eq!(text(Scalar::F64(5e-324)), "0x0.0000000000001p-1022");
        assert_eq!(text(Scalar::F32(f32::INFINITY)), "as_float(0x7f800000u)");
        assert_eq!(text(Scalar::I64(i64::MIN)), "(-9223372036854775807L - 1)");
        assert_eq!(text(Scalar::I32(-5)), "(-5)");
        assert_eq!(text(Scalar::U64(u64::MAX)), "18446744073709551615UL");
    }

    fn hex(v: f64) -> String {
        format!("{:013x}", v.to_bits() & ((1 << 52) - 1))
    }
}
