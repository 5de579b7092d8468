//! The ranges of the numeric dtypes: the array API's `finfo` and `iinfo`.

use crate::dtype::{Dtype, Element};
use crate::error::{Error, Result};
use crate::{bf16, f16};

/// The limits of a floating-point dtype. All values are exact as `f64`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FloatInfo {
    /// The dtype; that of the parts for a complex one.
    pub dtype: Dtype,
    /// Bits of one value.
    pub bits: u32,
    /// Difference between 1 and the next larger value.
    pub eps: f64,
    /// Largest finite value.
    pub max: f64,
    /// Smallest finite value, `-max`.
    pub min: f64,
    /// Smallest positive value with full precision.
    pub smallest_normal: f64,
}

/// The limits of an integer dtype.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntInfo {
    /// The dtype.
    pub dtype: Dtype,
    /// Bits of one value.
    pub bits: u32,
    /// Smallest value.
    pub min: i128,
    /// Largest value.
    pub max: i128,
}

impl Dtype {
    /// The limits of a floating-point dtype; of the parts for a complex one.
    ///
    /// # Errors
    /// `bool` and integers.
    pub fn finfo(self) -> Result<FloatInfo> {
        macro_rules! info {
            ($ty:ty) => {
                FloatInfo {
                    dtype: <$ty as Element>::DTYPE,
                    bits: <$ty as Element>::DTYPE.bits(),
                    eps: <$ty>::EPSILON.into(),
                    max: <$ty>::MAX.into(),
                    min: <$ty>::MIN.into(),
                    smallest_normal: <$ty>::MIN_POSITIVE.into(),
                }
            };
        }
        match self.real_part() {
            Self::F16 => Ok(info!(f16)),
            Self::Bf16 => Ok(info!(bf16)),
            Self::F32 => Ok(info!(f32)),
            Self::F64 => Ok(info!(f64)),
            _ => Err(Error::dtype(
                "dtype",
                self,
                "a floating-point or complex dtype",
                "use `iinfo` for integers",
            )),
        }
    }

    /// The limits of an integer dtype.
    ///
    /// # Errors
    /// `bool`, floating-point and complex dtypes.
    pub fn iinfo(self) -> Result<IntInfo> {
        self.integer_limits().ok_or_else(|| {
            Error::dtype("dtype", self, "an integer dtype", "use `finfo` for floating-point dtypes")
        })
    }

    /// As [`iinfo`](Self::iinfo), for who goes on without: an error costs more than a small operation.
    pub(super) fn integer_limits(self) -> Option<IntInfo> {
        macro_rules! info {
            ($ty:ty) => {
                IntInfo { dtype: self, bits: self.bits(), min: <$ty>::MIN.into(), max: <$ty>::MAX.into() }
            };
        }
        match self {
            Self::I8 => Some(info!(i8)),
            Self::I16 => Some(info!(i16)),
            Self::I32 => Some(info!(i32)),
            Self::I64 => Some(info!(i64)),
            Self::U8 => Some(info!(u8)),
            Self::U16 => Some(info!(u16)),
            Self::U32 => Some(info!(u32)),
            Self::U64 => Some(info!(u64)),
            _ => None,
        }
    }

    /// Bits of one element.
    #[must_use]
    pub const fn bits(self) -> u32 {
        // At most 128.
        self.size() as u32 * 8
    }
}
