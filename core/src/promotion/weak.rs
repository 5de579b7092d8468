//! Rust scalars as operands.

use std::cmp::Ordering;

use crate::dtype::{Dtype, DtypeKind};
use crate::error::{Error, Result};
use crate::ops::Op;
use crate::scalar::integer_to_odd;
use crate::{Complex, Scalar, bf16, f16};

/// A Rust scalar beside arrays: it has a kind, but leaves the dtype to them.
///
/// ```
/// use stridewise_core::{result_type, Dtype, DtypeSupport, Weak};
/// let with = |dtype, weak: Weak| result_type(&[dtype], &[weak], DtypeSupport::ALL);
/// assert_eq!(with(Dtype::U8, 3.into())?, Dtype::U8);
/// assert_eq!(with(Dtype::F32, 0.5.into())?, Dtype::F32);
/// assert!(with(Dtype::U8, (-1).into()).is_err());
/// # Ok::<(), stridewise_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Weak {
    /// A truth value.
    Bool(bool),
    /// An integer of any Rust type.
    Int(i128),
    /// An integer beyond 128 bits: the nearest double, infinite beyond those.
    Large(f64),
    /// A real number.
    Float(f64),
    /// A complex number.
    Complex(Complex<f64>),
}

macro_rules! from_scalars {
    ($($variant:ident($($ty:ty),*) $value:ident => $as:expr;)*) => {$($(
        impl From<$ty> for Weak {
            fn from($value: $ty) -> Self {
                Self::$variant($as)
            }
        }
    )*)*};
}
from_scalars! {
    Bool(bool) value => value;
    Int(i8, i16, i32, i64, u8, u16, u32, u64) value => value.into();
    // Pointers have at most 64 bits.
    Int(isize, usize) value => value as i128;
    Float(f64) value => value;
    Float(f16, bf16, f32) value => value.into();
    Complex(Complex<f64>) value => value;
    Complex(Complex<f32>) value => Complex::new(value.re.into(), value.im.into());
}

impl Scalar {
    /// The number without its dtype, exactly.
    #[must_use]
    pub fn weak(self) -> Weak {
        macro_rules! of_dtype {
            ($($variant:ident, $ty:ty, $name:literal, $kind:ident, $code:literal;)*) => {
                match self { $(Self::$variant(value) => value.into(),)* }
            };
        }
        crate::for_each_dtype!(of_dtype)
    }
}

impl Weak {
    /// The kind; integers are [`DtypeKind::Signed`].
    #[must_use]
    pub const fn kind(&self) -> DtypeKind {
        match self {
            Self::Bool(_) => DtypeKind::Bool,
            Self::Int(_) | Self::Large(_) => DtypeKind::Signed,
            Self::Float(_) => DtypeKind::Float,
            Self::Complex(_) => DtypeKind::Complex,
        }
    }

    /// The value in a dtype of its kind or a richer one. Floats round to nearest.
    ///
    /// # Errors
    /// An integer outside the range of an integer `dtype`; a `dtype` of a poorer kind, which would lose the
    /// fraction, the imaginary part or the number.
    pub fn to_scalar(&self, dtype: Dtype) -> Result<Scalar> {
        if super::class(self.kind()) > super::class(dtype.kind()) {
            return Err(Error::dtype(
                "scalar",
                format!("{self}, which {dtype} does not represent"),
                "a scalar of the array's kind or a poorer one (bool, integer, real, complex)",
                "cast the array to a richer dtype first, or convert the scalar explicitly",
            ));
        }
        Ok(match *self {
            Self::Bool(value) => Scalar::Bool(value).cast(dtype),
            Self::Int(value) => match dtype.integer_limits() {
                Some(range) if value < range.min || value > range.max => {
                    return Err(Error::dtype(
                        "scalar",
                        format!("{value}, outside the range of {dtype}"),
                        format!("an integer from {} to {}", range.min, range.max),
                        "cast the array to a wider integer or to a floating-point dtype first",
                    ));
                }
                // In range of `dtype`, and thus of one of these.
                Some(range) if range.min < 0 => Scalar::I64(value as i64).cast(dtype),
                Some(_) => Scalar::U64(value as u64).cast(dtype),
                // Each rounded once.
                None if dtype.real_part() == Dtype::F32 => Scalar::F32(value as f32).cast(dtype),
                None if dtype.size() == 2 => Scalar::F32(integer_to_odd(value)).cast(dtype),
                None => Scalar::F64(value as f64).cast(dtype),
            },
            Self::Large(_) if dtype.kind().is_integer() => {
                return Err(Error::dtype(
                    "scalar",
                    format!("{self}, outside the range of {dtype}"),
                    "an integer of at most 64 bits",
                    "cast the array to a floating-point dtype first",
                ));
            }
            Self::Large(value) | Self::Float(value) => Scalar::F64(value).cast(dtype),
            Self::Complex(value) => Scalar::C128(value).cast(dtype),
        })
    }

    /// The value as an assignment to an element of a dtype converts it (NumPy's rules): as
    /// [`to_scalar`](Self::to_scalar), but a number is also converted to `bool`, where all but zero is true, and a
    /// real number to an integer, without its fraction.
    ///
    /// # Errors
    /// An integer outside the range of an integer `dtype`; a number that is not finite for one; a complex number for a
    /// real `dtype`.
    pub fn assigned(&self, dtype: Dtype) -> Result<Scalar> {
        match *self {
            Self::Int(value) if dtype == Dtype::Bool => Ok(Scalar::Bool(value != 0)),
            Self::Large(value) | Self::Float(value) if dtype == Dtype::Bool => Ok(Scalar::Bool(value != 0.0)),
            Self::Complex(value) if dtype == Dtype::Bool => Ok(Scalar::Bool(value != Complex::default())),
            Self::Float(value) if dtype.kind().is_integer() && value.is_finite() => {
                let whole = value as i128;
                // A double beyond 128 bits is out of every range.
                let saturated = matches!(whole, i128::MIN | i128::MAX);
                if saturated { Self::Large(value) } else { Self::Int(whole) }.to_scalar(dtype)
            }
            _ => self.to_scalar(dtype),
        }
    }

    /// The value as a pair of doubles, rounded where it is an integer beyond them.
    pub(crate) const fn to_c128(self) -> Complex<f64> {
        match self {
            Self::Bool(value) => Complex::new(value as u8 as f64, 0.0),
            Self::Int(value) => Complex::new(value as f64, 0.0),
            Self::Large(value) | Self::Float(value) => Complex::new(value, 0.0),
            Self::Complex(value) => value,
        }
    }

    /// How this integer compares with every value of an integer `dtype` that it is out of range of: `Less` when it
    /// is below all of them, `Greater` when above. `None` when `dtype` holds the value or no integer is involved.
    #[must_use]
    pub fn order_against(&self, dtype: Dtype) -> Option<Ordering> {
        let value = match *self {
            Self::Int(value) => value,
            // The conversion saturates.
            Self::Large(value) => value as i128,
            _ => return None,
        };
        let range = dtype.integer_limits()?;
        if value < range.min {
            Some(Ordering::Less)
        } else if value > range.max {
            Some(Ordering::Greater)
        } else {
            None
        }
    }

    /// The outcome, the same for every value, of comparing values of an integer `dtype` with this integer, the operand of this
    /// position, where it is out of their range.
    pub(crate) fn settles(&self, op: Op, position: usize, dtype: Dtype) -> Option<bool> {
        let order = self.order_against(dtype)?;
        // The order of the first operand relative to the second.
        let order = if position == 0 { order } else { order.reverse() };
        match op {
            Op::Equal => Some(false),
            Op::NotEqual => Some(true),
            Op::Less | Op::LessEqual => Some(order.is_lt()),
            Op::Greater | Op::GreaterEqual => Some(order.is_gt()),
            _ => None,
        }
    }
}

impl std::fmt::Display for Weak {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Large(value) => write!(f, "{value:e}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Complex(value) => value.fmt(f),
        }
    }
}
