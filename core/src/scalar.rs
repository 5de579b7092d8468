//! One value of a run-time dtype.

use crate::dtype::{Dtype, Element};
use crate::{Complex, bf16, f16};

macro_rules! define_scalar {
    ($($variant:ident, $ty:ty, $name:literal, $kind:ident, $code:literal;)*) => {
        /// One value of a run-time dtype: a constant of a program, a fill value, an element read from an array.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub enum Scalar {
            $(#[doc = concat!("A `", $name, "`.")] $variant($ty),)*
        }

        impl Scalar {
            /// Its dtype.
            #[must_use]
            pub const fn dtype(&self) -> Dtype {
                match self { $(Self::$variant(_) => Dtype::$variant,)* }
            }
            /// The bytes of the value in native order, in the first [`Dtype::size`] bytes.
            #[must_use]
            pub fn to_bytes(&self) -> [u8; 16] {
                let mut bytes = [0; 16];
                match self { $(Self::$variant(v) => bytes[..size_of::<$ty>()].copy_from_slice(&ToNative::native(*v)[..size_of::<$ty>()]),)* }
                bytes
            }
            /// The value read from the first [`Dtype::size`] bytes, in native order; the inverse of
            /// [`to_bytes`](Self::to_bytes). A byte other than zero is `true`.
            #[must_use]
            pub fn from_bytes(dtype: Dtype, bytes: &[u8; 16]) -> Self {
                match dtype { $(Dtype::$variant => Self::$variant(ToNative::from_native(bytes)),)* }
            }
        }
    };
}
crate::for_each_dtype!(define_scalar);

/// A value to and from its native-order bytes.
trait ToNative: Sized {
    fn native(self) -> [u8; 16];
    fn from_native(bytes: &[u8; 16]) -> Self;
}

macro_rules! native_pod {
    ($($ty:ty)*) => {$(
        impl ToNative for $ty {
            fn native(self) -> [u8; 16] {
                let mut bytes = [0; 16];
                bytes[..size_of::<Self>()].copy_from_slice(bytemuck::bytes_of(&self));
                bytes
            }
            fn from_native(bytes: &[u8; 16]) -> Self {
                bytemuck::pod_read_unaligned(&bytes[..size_of::<Self>()])
            }
        }
    )*};
}
native_pod!(i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 Complex<f32> Complex<f64>);

impl ToNative for bool {
    fn native(self) -> [u8; 16] {
        u8::from(self).native()
    }
    fn from_native(bytes: &[u8; 16]) -> Self {
        bytes[0] != 0
    }
}

impl Scalar {
    /// The value converted to another dtype by the rules of [`Op::Cast`](crate::Op): integers wrap, floats
    /// round to nearest, floats to integers truncate and saturate (NaN is 0), anything but zero is `true`, complex
    /// to real drops the imaginary part.
    #[must_use]
    pub fn cast(self, to: Dtype) -> Self {
        macro_rules! target {
            ($($variant:ident, $ty:ty, $name:literal, $kind:ident, $code:literal;)*) => {
                match to { $(Dtype::$variant => Self::$variant(CastTo::<$ty>::cast(self)),)* }
            };
        }
        crate::for_each_dtype!(target)
    }

    /// The value as an array API "complex" pair of doubles, exact for all dtypes but large 64-bit integers.
    #[must_use]
    pub fn to_c128(self) -> Complex<f64> {
        match self.cast(Dtype::C128) {
            Self::C128(z) => z,
            _ => unreachable!("cast returns the dtype it was asked for"),
        }
    }

    /// The real part as a double; exact for all dtypes but large 64-bit integers.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.to_c128().re
    }

    /// A typed value.
    ///
    /// # Errors
    /// `None` when the dtype is another.
    #[must_use]
    pub fn get<T: Element>(self) -> Option<T> {
        // Both sides are the same type behind `Any` exactly when the dtypes agree.
        macro_rules! pick {
            ($($variant:ident, $ty:ty, $name:literal, $kind:ident, $code:literal;)*) => {
                match self { $(Self::$variant(v) => (&v as &dyn std::any::Any).downcast_ref::<T>().copied(),)* }
            };
        }
        crate::for_each_dtype!(pick)
    }
}

trait CastTo<T> {
    fn cast(self) -> T;
}

macro_rules! cast_to_number {
    ($($to:ty)*) => {$(
        impl CastTo<$to> for Scalar {
            fn cast(self) -> $to {
                match self {
                    Self::Bool(v) => u8::from(v) as $to,
                    Self::I8(v) => v as $to,
                    Self::I16(v) => v as $to,
                    Self::I32(v) => v as $to,
                    Self::I64(v) => v as $to,
                    Self::U8(v) => v as $to,
                    Self::U16(v) => v as $to,
                    Self::U32(v) => v as $to,
                    Self::U64(v) => v as $to,
                    Self::F16(v) => v.to_f32() as $to,
                    Self::Bf16(v) => v.to_f32() as $to,
                    Self::F32(v) => v as $to,
                    Self::F64(v) => v as $to,
                    Self::C64(v) => v.re as $to,
                    Self::C128(v) => v.re as $to,
                }
            }
        }
    )*};
}
cast_to_number!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

impl CastTo<bool> for Scalar {
    fn cast(self) -> bool {
        match self {
            Self::U64(v) => v != 0,
            Self::I64(v) => v != 0,
            other => other.to_c128() != Complex::new(0.0, 0.0),
        }
    }
}

/// The `float32` next to a double toward zero, with its last bit set where anything was cut off ("rounding to odd"):
/// rounding that to a narrower float is rounding the double once.
fn to_odd(v: f64) -> f32 {
    let near = v as f32;
    if f64::from(near) == v || v.is_nan() {
        return near;
    }
    let toward_zero = if f64::from(near).abs() > v.abs() { near.to_bits() - 1 } else { near.to_bits() };
    f32::from_bits(toward_zero | 1)
}

/// As [`to_odd`], of an integer.
pub(crate) fn integer_to_odd(v: i128) -> f32 {
    let magnitude = v.unsigned_abs();
    // All but the 24 bits of the significand.
    let beyond = (u128::BITS - magnitude.leading_zeros()).saturating_sub(f32::MANTISSA_DIGITS);
    let kept = magnitude >> beyond;
    let odd = kept | u128::from(kept << beyond != magnitude);
    // Exact, as is the power of two.
    let near = odd as f32 * f32::from_bits((127 + beyond) << 23);
    if v < 0 { -near } else { near }
}

macro_rules! cast_to_half {
    ($($to:ty)*) => {$(
        impl CastTo<$to> for Scalar {
            fn cast(self) -> $to {
                match self {
                    // Not by `from_f64`, which drops the low bits of a double before it rounds.
                    Self::F64(v) => <$to>::from_f32(to_odd(v)),
                    Self::C128(v) => <$to>::from_f32(to_odd(v.re)),
                    Self::I32(v) => <$to>::from_f32(to_odd(f64::from(v))),
                    Self::U32(v) => <$to>::from_f32(to_odd(f64::from(v))),
                    Self::I64(v) => <$to>::from_f32(integer_to_odd(v.into())),
                    Self::U64(v) => <$to>::from_f32(integer_to_odd(v.into())),
                    // The others are exact in f32.
                    other => <$to>::from_f32(CastTo::<f32>::cast(other)),
                }
            }
        }
    )*};
}
cast_to_half!(f16 bf16);

macro_rules! cast_to_complex {
    ($($part:ty)*) => {$(
        impl CastTo<Complex<$part>> for Scalar {
            fn cast(self) -> Complex<$part> {
                let im = match self {
                    Self::C64(v) => v.im as $part,
                    Self::C128(v) => v.im as $part,
                    _ => 0.0,
                };
                Complex::new(CastTo::<$part>::cast(self), im)
            }
        }
    )*};
}
cast_to_complex!(f32 f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_reach_sixteen_bits_by_one_rounding() {
        // Ties of bfloat16 and their neighbours, at every magnitude, against exact arithmetic.
        for shift in 0..55 {
            for tie in [257_i128, 259, 383, 511] {
                for near in [-1, 0, 1] {
                    let value = (tie << shift) + if shift == 0 { 0 } else { near };
                    let even = if tie & 2 == 0 { tie - 1 } else { tie + 1 };
                    let rounded = match near.min(i128::from(shift != 0) * near) {
                        _ if shift == 0 || near == 0 => even,
                        1 => tie + 1,
                        _ => tie - 1,
                    };
                    let wanted = Some(bf16::from_f64((rounded << shift) as f64));
                    assert_eq!(Scalar::I64(value as i64).cast(Dtype::Bf16).get(), wanted, "{value}");
                    assert_eq!(
                        Scalar::I64(-value as i64).cast(Dtype::Bf16).get(),
                        wanted.map(|v| -v),
                        "-{value}"
                    );
                    assert_eq!(
                        Scalar::U64((value as u64) << 1).cast(Dtype::Bf16).get(),
                        wanted.map(|v| v * bf16::from_f32(2.0))
                    );
                    assert_eq!(
                        crate::Weak::Int(value << 60).to_scalar(Dtype::Bf16).unwrap().to_f64(),
                        (rounded as f64) * 2_f64.powi(shift + 60)
                    );
                }
            }
        }
        assert_eq!(Scalar::I64(i64::MIN).cast(Dtype::Bf16).to_f64(), -(2_f64.powi(63)));
        assert_eq!(Scalar::U64(u64::MAX).cast(Dtype::F16).to_f64(), f64::INFINITY);
        assert_eq!(
            (Scalar::I64(65_519).cast(Dtype::F16).to_f64(), Scalar::I64(65_520).cast(Dtype::F16).to_f64()),
            (65_504.0, f64::INFINITY)
        );
    }

    #[test]
    fn doubles_reach_sixteen_bits_by_one_rounding() {
        // Halfway between 1 and its successor, and a little beside it.
        let half = |v: f64| Scalar::F64(v).cast(Dtype::F16).get::<f16>().map(f16::to_bits);
        let tie = 1.0 + 2_f64.powi(-11);
        assert_eq!(
            (half(tie), half(tie.next_up()), half(tie.next_down())),
            (Some(0x3c00), Some(0x3c01), Some(0x3c00))
        );
        let bhalf = |v: f64| Scalar::F64(v).cast(Dtype::Bf16).get::<bf16>().map(bf16::to_bits);
        let tie = 1.0 + 2_f64.powi(-8);
        assert_eq!(
            (bhalf(tie), bhalf(tie.next_up()), bhalf(tie.next_down())),
            (Some(0x3f80), Some(0x3f81), Some(0x3f80))
        );
        // Beyond the largest number, and below half of the least.
        assert_eq!((half(65519.999), half(65520.0)), (Some(0x7bff), Some(0x7c00)));
        assert_eq!((half(2_f64.powi(-25)), half(2_f64.powi(-25).next_up())), (Some(0), Some(1)));
        assert_eq!((half(-1e300), half(-5e-324)), (Some(0xfc00), Some(0x8000)));
    }
}
