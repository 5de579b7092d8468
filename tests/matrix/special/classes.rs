//! Classes of operands, such as `finite<0` or `odd>0`, and the values that stand for them in each dtype.

use stridewise::{Complex, Dtype, DtypeKind, Scalar};

/// The value of an element, whatever its dtype.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Number {
    Bool(bool),
    Int(i128),
    Real(f64),
    Complex(f64, f64),
}

impl Number {
    /// The value of a scalar.
    pub(super) fn of(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Bool(v) => Self::Bool(v),
            Scalar::I8(v) => Self::Int(v.into()),
            Scalar::I16(v) => Self::Int(v.into()),
            Scalar::I32(v) => Self::Int(v.into()),
            Scalar::I64(v) => Self::Int(v.into()),
            Scalar::U8(v) => Self::Int(v.into()),
            Scalar::U16(v) => Self::Int(v.into()),
            Scalar::U32(v) => Self::Int(v.into()),
            Scalar::U64(v) => Self::Int(v.into()),
            Scalar::F16(v) => Self::Real(v.to_f32().into()),
            Scalar::Bf16(v) => Self::Real(v.to_f32().into()),
            Scalar::F32(v) => Self::Real(v.into()),
            Scalar::F64(v) => Self::Real(v),
            Scalar::C64(v) => Self::Complex(v.re.into(), v.im.into()),
            Scalar::C128(v) => Self::Complex(v.re, v.im),
        }
    }

    /// The scalar of a dtype that has this value, which the dtype can represent.
    pub(super) fn scalar(self, dtype: Dtype) -> Scalar {
        match self {
            Self::Bool(v) => Scalar::Bool(v),
            Self::Int(v) if v < 0 => Scalar::I64(v as i64).cast(dtype),
            Self::Int(v) => Scalar::U64(v as u64).cast(dtype),
            // Conversions need not keep the sign of NaN.
            Self::Real(v) if v.is_nan() => nan(dtype, v.is_sign_negative()),
            Self::Real(v) => Scalar::F64(v).cast(dtype),
            Self::Complex(re, im) => match dtype {
                Dtype::C64 => Scalar::C64(Complex::new(re as f32, im as f32)),
                _ => Scalar::C128(Complex::new(re, im)),
            },
        }
    }

    /// The real part.
    pub(super) fn re(self) -> f64 {
        match self {
            Self::Bool(v) => f64::from(u8::from(v)),
            Self::Int(v) => v as f64,
            Self::Real(v) | Self::Complex(v, _) => v,
        }
    }
    /// The imaginary part.
    pub(super) fn im(self) -> f64 {
        if let Self::Complex(_, im) = self { im } else { 0.0 }
    }
    /// The value with the other sign; integers wrap in nothing here, and are used with care.
    pub(super) fn negated(self) -> Self {
        match self {
            Self::Bool(v) => Self::Bool(!v),
            Self::Int(v) => Self::Int(-v),
            Self::Real(v) => Self::Real(-v),
            Self::Complex(re, im) => Self::Complex(-re, -im),
        }
    }
}

/// A quiet NaN with a sign.
fn nan(dtype: Dtype, negative: bool) -> Scalar {
    let (bytes, bits) = match dtype {
        Dtype::F16 => (2, 0x7e00),
        Dtype::Bf16 => (2, 0x7fc0),
        Dtype::F32 => (4, 0x7fc0_0000),
        _ => (8, 0x7ff8_0000_0000_0000_u64),
    };
    let bits = if negative { bits | 1 << (bytes * 8 - 1) } else { bits };
    let mut wide = [0; 16];
    for (place, byte) in wide.iter_mut().take(bytes).enumerate() {
        let place = if cfg!(target_endian = "big") { bytes - 1 - place } else { place };
        *byte = (bits >> (8 * place)) as u8;
    }
    Scalar::from_bytes(dtype, &wide)
}

/// The values that stand for a class of operands of a dtype, the first of them alone where one must do. `None` where the
/// dtype has no such class.
pub(super) fn members(dtype: Dtype, class: &str) -> Option<Vec<Number>> {
    let values: Vec<Number> = match dtype.kind() {
        DtypeKind::Bool => match class {
            "true" => vec![Number::Bool(true)],
            "false" => vec![Number::Bool(false)],
            "any" => vec![Number::Bool(true), Number::Bool(false)],
            _ => return None,
        },
        DtypeKind::Signed | DtypeKind::Unsigned => {
            integers(dtype, class)?.into_iter().map(Number::Int).collect()
        }
        DtypeKind::Float => reals(dtype, class)?.into_iter().map(Number::Real).collect(),
        DtypeKind::Complex => {
            let part = dtype.real_part();
            let (re, im) = match class {
                "any" => ("some", "some"),
                "finite" => ("few", "few"),
                _ => class.strip_prefix('[')?.strip_suffix(']')?.split_once("; ")?,
            };
            let (re, im) = (reals(part, re)?, reals(part, im)?);
            re.iter().flat_map(|&a| im.iter().map(move |&b| Number::Complex(a, b))).collect()
        }
    };
    Some(values)
}

fn integers(dtype: Dtype, class: &str) -> Option<Vec<i128>> {
    let range = dtype.iinfo().ok()?;
    let (min, max, bits) = (range.min, range.max, i128::from(range.bits));
    let mut all = vec![3, 0, 1, 2, 7, 100, max / 2 + 1, max, max - 1, -1, -2, -3, -7, -100, min, min + 1];
    all.retain(|v| (min..=max).contains(v));
    let of = |holds: &dyn Fn(i128) -> bool| all.iter().copied().filter(|&v| holds(v)).collect();
    Some(match class {
        "min" => vec![min],
        "max" => vec![max],
        "-max" => vec![-max],
        "premax" => vec![max - 1],
        "half" => vec![max / 2],
        "high" => vec![max / 2 + 1],
        "width" => vec![bits],
        "width-1" => vec![bits - 1],
        "above width" => vec![bits + 1, 2 * bits, 3 * bits + 1, max, max - 1],
        "any" => all,
        "0 or more" => of(&|v| v >= 0),
        "negative" => of(&|v| v < 0),
        "positive" => of(&|v| v > 0),
        "nonzero" => of(&|v| v != 0),
        "odd<0" => of(&|v| v < 0 && v & 1 == 1),
        "even<0" => of(&|v| v < 0 && v & 1 == 0),
        "|x|>1" => of(&|v| v.abs() > 1),
        number => vec![number.parse().ok().filter(|v| (min..=max).contains(v))?],
    })
}

/// A value of a real floating-point dtype by its name: `max`, `tiny` (the smallest subnormal number), …
fn named(dtype: Dtype, name: &str) -> Option<f64> {
    let info = dtype.finfo().ok()?;
    Some(match name {
        "0" => 0.0,
        "inf" => f64::INFINITY,
        "nan" => f64::NAN,
        // The spacing of numbers below the smallest normal one.
        "tiny" => info.smallest_normal * info.eps,
        "submax" => info.smallest_normal * (1.0 - info.eps),
        "normal" => info.smallest_normal,
        "max" => info.max,
        // The spacing of the largest numbers is that at 1, times the power of two below `max`.
        "premax" => info.max - info.max / (2.0 - info.eps) * info.eps,
        "above1" => 1.0 + info.eps,
        "below1" => 1.0 - info.eps / 2.0,
        _ => name.parse().ok().filter(|v: &f64| v.is_finite())?,
    })
}

/// The members of a class of real numbers.
pub(super) fn reals(dtype: Dtype, class: &str) -> Option<Vec<f64>> {
    let name = |name: &str| named(dtype, name);
    let positive: Vec<f64> =
        ["1.5", "1", "tiny", "submax", "normal", "0.5", "below1", "above1", "2", "3", "max"]
            .iter()
            .filter_map(|text| name(text))
            .collect();
    let signed: Vec<f64> = positive.iter().flat_map(|&v| [v, -v]).collect();
    // The largest odd number, and the largest number with a half.
    let digits = 1.0 / dtype.finfo().ok()?.eps;
    let odd = [3.0, 1.0, 5.0, 2.0 * digits - 1.0];
    let part = [0.5, 1.5, 2.5, name("tiny")?, name("below1")?, digits / 2.0 + 0.5];
    let whole = [1.0, 2.0, 3.0, 100.0, digits, 2.0 * digits - 1.0, name("max")?];
    let even = [2.0, 4.0, 2.0 * digits, name("max")?];
    let beyond = [2.0, name("above1")?, 1.5, name("max")?];
    let below = [0.5, name("below1")?, name("tiny")?, name("normal")?];
    let zeros = [0.0, -0.0];
    let inf = f64::INFINITY;
    let nans = [f64::NAN, -f64::NAN];
    let minus = |list: &[f64]| -> Vec<f64> { list.iter().map(|v| -v).collect() };
    let both = |list: &[f64]| -> Vec<f64> { list.iter().flat_map(|&v| [v, -v]).collect() };
    Some(match class {
        "nan" => nans.to_vec(),
        "±0" => zeros.to_vec(),
        "±inf" => vec![inf, -inf],
        "±1" => vec![1.0, -1.0],
        "finite" => [&signed[..], &zeros].concat(),
        "nonzero" => signed,
        "not nan" => [&signed[..], &zeros, &[inf, -inf]].concat(),
        "not 0" => [&signed[..], &[inf, -inf], &nans].concat(),
        "not 1" => {
            let others = signed.iter().copied().filter(|&v| v != 1.0);
            others.chain(zeros).chain([inf, -inf]).chain(nans).collect()
        }
        "any" => [&signed[..], &zeros, &[inf, -inf], &nans].concat(),
        "finite or nan" => [&signed[..], &zeros, &nans].concat(),
        // Fewer, for operations of three operands and complex ones.
        "some" => vec![1.5, 0.0, -0.0, -2.0, inf, -inf, f64::NAN],
        "few" => vec![1.5, 0.0, -0.0, -2.0, 0.5],
        "few nonzero" => vec![1.5, -2.0, 0.5, -3.0],
        "few>0" => vec![1.5, 0.5, 3.0, name("normal")?],
        "finite>0" => positive,
        "finite<0" => minus(&positive),
        ">0" => [&positive[..], &[inf]].concat(),
        "<0" => minus(&[&positive[..], &[inf]].concat()),
        ">1" => [&beyond[..], &[inf]].concat(),
        "<-1" => minus(&[&beyond[..], &[inf]].concat()),
        "<1" => [&below[..], &zeros, &minus(&positive), &[-inf]].concat(),
        "finite>1" => beyond.to_vec(),
        "|x|>1" => both(&[&beyond[..], &[inf]].concat()),
        "|x|<1" => [&both(&below)[..], &zeros].concat(),
        "integral" => both(&whole),
        "fraction" => both(&part),
        "odd>0" => odd.to_vec(),
        "odd<0" => minus(&odd),
        "even" => both(&even),
        "not odd>0" => [&even[..], &part, &[inf]].concat(),
        "not odd<0" => minus(&[&even[..], &part, &[inf]].concat()),
        single => match single.strip_prefix('-') {
            Some(magnitude) => vec![-name(magnitude)?],
            None => vec![name(single.strip_prefix('+').unwrap_or(single))?],
        },
    })
}
