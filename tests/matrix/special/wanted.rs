//! What a row wants: the notation of results, and whether a result is what it says.
//!
//! | notation | a result that satisfies it |
//! |---|---|
//! | `nan`, `+nan`, `-nan` | NaN; with that sign |
//! | `±0`, `±inf` | a zero, an infinity of either sign |
//! | `+`, `-` | not NaN, with that sign |
//! | `π/2`, `-3π/4`, … | the rounded number or one next to it |
//! | `~v` | the rounded value of `v` or one next to it |
//! | `x1`, `-x1`, `\|x1\|` | the operand, its negative, its magnitude; `re` and `im` are the parts of a complex one |
//! | `x1+x2`, `x1·x2`, `x1/x2` | the result of the calculation, rounded once |
//! | `inf·cos`, `0·sin`, … | infinity or zero with the sign of the function of the operand's imaginary part |
//! | `[u; v]` | a complex number with such parts |
//! | `u or v` | either |
//! | any class of one member, `+0`, `max`, `true` | this value |

use std::f64::consts::PI;
use std::fmt;

use stridewise::{Dtype, DtypeKind, Scalar};

use super::classes::{Number, members};
use crate::values::{error_in_ulp, same};

/// What the result may be.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Wanted {
    /// This value, with the sign of zero; NaN with any sign.
    Is(Number),
    /// NaN of this sign bit.
    SignedNan {
        negative: bool,
    },
    /// A real number at most so many units in the last place away.
    Near(f64, f64),
    Zero,
    Infinity,
    /// Not NaN, with this sign bit.
    Sign {
        negative: bool,
    },
    Parts(Box<Self>, Box<Self>),
    Either(Vec<Self>),
}

/// Reads the notation, for the result of given operands.
pub(super) fn read(text: &str, out: Dtype, operands: &[Number]) -> Option<Wanted> {
    let alternatives: Vec<&str> = text.split(" or ").collect();
    if alternatives.len() > 1 && !text.starts_with('[') {
        return alternatives
            .iter()
            .map(|text| read(text, out, operands))
            .collect::<Option<_>>()
            .map(Wanted::Either);
    }
    if out.kind() == DtypeKind::Complex
        && let Some((re, im)) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')?.split_once("; "))
    {
        let part = out.real_part();
        let parts = (read(re, part, operands)?, read(im, part, operands)?);
        return Some(Wanted::Parts(Box::new(parts.0), Box::new(parts.1)));
    }
    let first = operands.first()?;
    let computed = |v: f64| Some(Wanted::Is(Number::of(Number::Real(v).scalar(out))));
    match text {
        "±0" => return Some(Wanted::Zero),
        "±inf" => return Some(Wanted::Infinity),
        "+nan" => return Some(Wanted::SignedNan { negative: false }),
        "-nan" => return Some(Wanted::SignedNan { negative: true }),
        "+" => return Some(Wanted::Sign { negative: false }),
        "-" => return Some(Wanted::Sign { negative: true }),
        "nan" => return Some(Wanted::Is(Number::Real(f64::NAN))),
        "x1+x2" => return computed(first.re() + operands.get(1)?.re()),
        "x1·x2" => return computed(first.re() * operands.get(1)?.re()),
        "x1/x2" => return computed(first.re() / operands.get(1)?.re()),
        "0·cos" => return computed(0_f64.copysign(first.im().cos())),
        // The sine of a zero is that zero.
        "0·sin" => return computed(0_f64.copysign(first.im().sin())),
        "inf·cos" => return computed(f64::INFINITY.copysign(first.im().cos())),
        "inf·sin" => return computed(f64::INFINITY.copysign(first.im().sin())),
        _ => {}
    }
    if let Some(value) = text.strip_prefix('~') {
        return match operand(value, operands) {
            Some(value) => Some(Wanted::Near(value.re(), 1.0)),
            None => Some(Wanted::Near(value.parse().ok()?, 1.0)),
        };
    }
    let (negative, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let angle = match magnitude {
        "π" => Some(PI),
        "π/2" => Some(PI / 2.0),
        "π/4" => Some(PI / 4.0),
        "3π/4" => Some(PI * 0.75),
        _ => None,
    };
    if let Some(angle) = angle {
        return Some(Wanted::Near(if negative { -angle } else { angle }, 1.0));
    }
    if let Some(value) = operand(text, operands) {
        return Some(Wanted::Is(value));
    }
    match members(out, text)?.as_slice() {
        &[value] => Some(Wanted::Is(value)),
        _ => None,
    }
}

/// An operand or a part of the first, as it is, negative or its magnitude.
fn operand(text: &str, operands: &[Number]) -> Option<Number> {
    if let Some(rest) = text.strip_prefix('-') {
        return operand(rest, operands).map(Number::negated);
    }
    if let Some(name) = text.strip_prefix('|').and_then(|rest| rest.strip_suffix('|')) {
        return operand(name, operands).map(|value| Number::Real(value.re().abs()));
    }
    match text {
        "re" => Some(Number::Real(operands.first()?.re())),
        "im" => Some(Number::Real(operands.first()?.im())),
        "x1" => operands.first().copied(),
        "x2" => operands.get(1).copied(),
        "x3" => operands.get(2).copied(),
        _ => None,
    }
}

impl Wanted {
    /// Whether a result is what is wanted.
    pub(super) fn admits(&self, got: Scalar) -> bool {
        self.admits_within(got, 0.0)
    }

    /// Whether a result is what is wanted, of a function that may be so many units in the last place off where it is not
    /// said to be exact.
    pub(super) fn admits_within(&self, got: Scalar, units: f64) -> bool {
        let value = Number::of(got);
        let (re, dtype) = (value.re(), got.dtype());
        match self {
            Self::Parts(real, imaginary) => {
                let part = |v: f64| Number::Real(v).scalar(dtype.real_part());
                real.admits_within(part(re), units) && imaginary.admits_within(part(value.im()), units)
            }
            Self::Either(list) => list.iter().any(|wanted| wanted.admits_within(got, units)),
            Self::Is(wanted) => same(got, wanted.scalar(dtype)),
            Self::Near(wanted, ulp) => error_in_ulp(got, *wanted) <= ulp.max(units),
            Self::Zero => re == 0.0,
            Self::Infinity => re.is_infinite(),
            Self::SignedNan { negative } => re.is_nan() && re.is_sign_negative() == *negative,
            Self::Sign { negative } => !re.is_nan() && re.is_sign_negative() == *negative,
        }
    }

    /// What is wanted, of the negative result.
    pub(super) fn negated(&self) -> Self {
        match self {
            Self::Is(value) => Self::Is(value.negated()),
            Self::Near(value, ulp) => Self::Near(-value, *ulp),
            Self::SignedNan { negative } => Self::SignedNan { negative: !negative },
            Self::Sign { negative } => Self::Sign { negative: !negative },
            Self::Parts(re, im) => Self::Parts(Box::new(re.negated()), Box::new(im.negated())),
            Self::Either(list) => Self::Either(list.iter().map(Self::negated).collect()),
            Self::Zero | Self::Infinity => self.clone(),
        }
    }

    /// What is wanted, of the result divided by a positive constant; calculated so, it is rounded twice.
    pub(super) fn divided(&self, by: f64) -> Self {
        match self {
            Self::Is(Number::Real(v)) if *v != 0.0 && v.is_finite() => Self::Near(v / by, 2.0),
            Self::Near(value, _) => Self::Near(value / by, 2.0),
            Self::Parts(re, im) => Self::Parts(Box::new(re.divided(by)), Box::new(im.divided(by))),
            Self::Either(list) => Self::Either(list.iter().map(|wanted| wanted.divided(by)).collect()),
            _ => self.clone(),
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = |negative: bool| if negative { '-' } else { '+' };
        match self {
            Self::Is(Number::Real(v)) => write!(f, "{v:?}"),
            Self::Is(Number::Complex(re, im)) => write!(f, "[{re:?}; {im:?}]"),
            Self::Is(Number::Int(v)) => write!(f, "{v}"),
            Self::Is(Number::Bool(v)) => write!(f, "{v}"),
            Self::SignedNan { negative } => write!(f, "{}NaN", sign(*negative)),
            Self::Near(v, ulp) => write!(f, "{v:?} ± {ulp} ulp"),
            Self::Zero => write!(f, "±0"),
            Self::Infinity => write!(f, "±inf"),
            Self::Sign { negative } => write!(f, "{}…", sign(*negative)),
            Self::Parts(re, im) => write!(f, "[{re}; {im}]"),
            Self::Either(list) => {
                let texts: Vec<String> = list.iter().map(ToString::to_string).collect();
                write!(f, "{}", texts.join(" or "))
            }
        }
    }
}
