//! Transcendental functions over vectors of f32 or f64: one sequence of operations for both, with a row of constants
//! each. Every multiplication that feeds an addition is fused explicitly, so that each level rounds alike.
//!
//! The polynomials are minimax in the relative error of the function (Remez exchange in 200-bit arithmetic), their
//! coefficients rounded to the dtype, lowest degree first. Results are the sum of a head and a small tail, so that
//! the rounding of that sum is most of the error; subnormal results are rounded twice, to at most ¾ unit and that error.

mod atan;
mod double;
mod exp;
mod log;
mod tanh;
mod trig;

pub(super) use atan::{atan, atan2};
pub(super) use exp::exp;
pub(super) use log::log;
pub(super) use tanh::tanh;
pub(super) use trig::{cos, sin};

use super::FloatBits;

/// The constants of one dtype.
pub(super) trait Row: Copy {
    /// Explicit bits of the significand.
    const FRACTION_BITS: u32;
    /// The bits of 1.
    const ONE: i64;
    /// The sign bit.
    const SIGN: i64;
    /// 1.5 · 2^FRACTION_BITS. Adding it to a small number rounds that to an integer, which then stands in the low
    /// bits of the sum.
    const MAGIC: f64;
    const EXP: exp::Constants;
    const LOG: log::Constants;
    const TRIG: trig::Constants;
    const ATAN: atan::Constants;
    /// From here on |tanh| rounds to 1.
    const TANH_LIMIT: f64;

    /// Exact.
    fn widen(self) -> f64;
    /// Rounded to nearest.
    fn narrow(v: f64) -> Self;
}

impl Row for f32 {
    const FRACTION_BITS: u32 = 23;
    const ONE: i64 = 0x3f80_0000;
    const SIGN: i64 = 0x8000_0000;
    const MAGIC: f64 = 12_582_912.0;
    const EXP: exp::Constants = exp::F32;
    const LOG: log::Constants = log::F32;
    const TRIG: trig::Constants = trig::F32;
    const ATAN: atan::Constants = atan::F32;
    const TANH_LIMIT: f64 = 9.5;

    #[inline(always)]
    fn widen(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn narrow(v: f64) -> f32 {
        v as f32
    }
}

impl Row for f64 {
    const FRACTION_BITS: u32 = 52;
    const ONE: i64 = 0x3ff0_0000_0000_0000;
    const SIGN: i64 = i64::MIN;
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    const EXP: exp::Constants = exp::F64;
    const LOG: log::Constants = log::F64;
    const TRIG: trig::Constants = trig::F64;
    const ATAN: atan::Constants = atan::F64;
    const TANH_LIMIT: f64 = 20.0;

    #[inline(always)]
    fn widen(self) -> f64 {
        self
    }
    #[inline(always)]
    fn narrow(v: f64) -> f64 {
        v
    }
}

/// The polynomial with these coefficients, lowest degree first.
#[inline(always)]
fn polynomial<V: FloatBits>(x: V, coefficients: &'static [f64]) -> V {
    // A plain loop: iterator adaptors are not always inlined into the entry points.
    let mut i = coefficients.len() - 1;
    let mut sum = x.lit(coefficients[i]);
    while i > 0 {
        i -= 1;
        sum = sum.mul_add(x, x.lit(coefficients[i]));
    }
    sum
}

/// 2ᵏ from `MAGIC + k`, for a `k` whose power is a normal number.
#[inline(always)]
fn power<V: FloatBits>(magic_k: V) -> V {
    let shifted = V::bits_shl(magic_k.to_bits(), <V::Elem as Row>::FRACTION_BITS);
    V::from_bits(V::bits_add(shifted, magic_k.bits(<V::Elem as Row>::ONE)))
}

/// [`FloatBits::scale`] in two steps: the first is exact, so the second rounds the result once.
#[inline(always)]
pub(super) fn scale<V: FloatBits>(x: V, k: V) -> V {
    let magic = k.lit(<V::Elem as Row>::MAGIC);
    let half = k.mul_add(k.lit(0.5), magic);
    let rest = (k - (half - magic)) + magic;
    x * power(half) * power(rest)
}

/// Only the sign bits.
#[inline(always)]
fn sign<V: FloatBits>(x: V) -> V::Bits {
    V::bits_and(x.to_bits(), x.bits(<V::Elem as Row>::SIGN))
}

/// `x` with its sign flipped where the sign bit of `signs` is set.
#[inline(always)]
fn flip<V: FloatBits>(x: V, signs: V::Bits) -> V {
    V::from_bits(V::bits_xor(x.to_bits(), signs))
}
