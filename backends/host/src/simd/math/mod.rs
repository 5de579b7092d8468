//! Transcendental functions over vectors of f32 or f64: one sequence of operations for both, with a row of constants
//! each. Every fused multiplication is written as one, so that each level rounds alike.
//!
//! The polynomials are minimax in the relative error of the function (Remez exchange in 200-bit arithmetic), their
//! coefficients rounded to the dtype, lowest degree first. Results are the sum of a head and a small tail, so that
//! the rounding of that sum is most of the error; a subnormal result is rounded in its own last place, once.

mod asin;
mod atan;
mod double;
mod erf;
mod exp;
mod hyperbolic;
mod log;
mod neighbor;
mod pow;
mod remainder;
mod roots;
mod rounding;
mod tanh;
mod trig;

pub(super) use atan::{atan, atan2};
pub(super) use exp::exp;
pub(super) use neighbor::{nextafter, nextafter_bf16, nextafter_f16};
pub(super) use remainder::{floor_divide, remainder};
pub(super) use rounding::{ceil, floor, round, trunc};
pub(super) use trig::{cos, sin};

use super::{FloatBits, Single};

/// The functions of which f32 and f64 have an algorithm each: f32 lanes `V` compute in f64 ones, where their precision
/// is a few terms and no care; what an operation there rounds is beyond the last place of f32. So they need no fused
/// multiplications, which the base level emulates. (The exceptions compute in the lanes themselves: the power, by one
/// algorithm for both, the logarithm and the hyperbolic tangent.)
pub(super) trait Functions<V> {
    fn exp2(x: V) -> V;
    fn expm1(x: V) -> V;
    fn log1p(x: V) -> V;
    fn log2(x: V) -> V;
    fn log10(x: V) -> V;
    fn log(x: V) -> V;
    fn pow(x: V, y: V) -> V;
    fn tanh(x: V) -> V;
    fn logaddexp(x: V, y: V) -> V;
    fn sigmoid(x: V) -> V;
    fn sinh(x: V) -> V;
    fn cosh(x: V) -> V;
    fn asinh(x: V) -> V;
    fn acosh(x: V) -> V;
    fn atanh(x: V) -> V;
    fn tan(x: V) -> V;
    fn asin(x: V) -> V;
    fn acos(x: V) -> V;
    fn hypot(x: V, y: V) -> V;
    fn cbrt(x: V) -> V;
    fn rsqrt(x: V) -> V;
    fn erf(x: V) -> V;
}

/// The algorithms of f32 and of f64: those in the lanes themselves, then those in f64 lanes for both.
macro_rules! functions {
    (
        themselves { $($own:ident($($own_arg:ident),*): $own_single:path, $own_double:path;)* }
        $($name:ident($($arg:ident),*): $single:path, $double:path;)*
    ) => {
        impl<V: Single> Functions<V> for f32 {
            $(
            #[inline(always)]
            fn $own($($own_arg: V),*) -> V {
                $own_single($($own_arg),*)
            }
            )*
            $(
            #[inline(always)]
            fn $name($($arg: V),*) -> V {
                // Not a function of functions: those are not always inlined into the entry points.
                $(let $arg = $arg.widen();)*
                V::narrow([$single($($arg[0]),*), $single($($arg[1]),*)])
            }
        )*}
        impl<V: FloatBits<Elem = f64>> Functions<V> for f64 {
            $(
            #[inline(always)]
            fn $own($($own_arg: V),*) -> V {
                $own_double($($own_arg),*)
            }
            )*
            $(
            #[inline(always)]
            fn $name($($arg: V),*) -> V {
                $double($($arg),*)
            }
        )*}
    };
}
functions! {
    themselves {
        log(x): log::log_f32, log::log_f64;
        pow(x, y): pow::pow, pow::pow;
        tanh(x): tanh::tanh_f32, tanh::tanh_f64;
    }
    exp2(x): exp::exp2_plain, exp::exp2_f64;
    expm1(x): exp::expm1_plain, exp::expm1_f64;
    log1p(x): log::log1p_whole_plain, log::log1p_f64;
    log2(x): log::log2_plain, log::log2_f64;
    log10(x): log::log10_plain, log::log10_f64;
    logaddexp(x, y): log::logaddexp_plain, log::logaddexp_f64;
    sigmoid(x): exp::sigmoid_plain, exp::sigmoid_f64;
    sinh(x): hyperbolic::sinh_plain, hyperbolic::sinh_f64;
    cosh(x): hyperbolic::cosh_plain, hyperbolic::cosh_f64;
    asinh(x): hyperbolic::asinh_plain, hyperbolic::asinh_f64;
    acosh(x): hyperbolic::acosh_plain, hyperbolic::acosh_f64;
    atanh(x): hyperbolic::atanh_plain, hyperbolic::atanh_f64;
    tan(x): trig::tan_plain, trig::tan_f64;
    asin(x): asin::asin_plain, asin::asin_f64;
    acos(x): asin::acos_plain, asin::acos_f64;
    hypot(x, y): roots::hypot_plain, roots::hypot_f64;
    cbrt(x): roots::cbrt_plain, roots::cbrt_f64;
    rsqrt(x): roots::rsqrt_plain, roots::rsqrt_f64;
    erf(x): erf::erf_plain, erf::erf_f64;
}

/// The constants of one dtype.
pub(super) trait Row: Copy + 'static {
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

    /// Exact.
    fn widen(self) -> f64;
    /// Rounded to nearest.
    fn narrow(v: f64) -> Self;
    /// Core's, for any numbers.
    fn floor_divide(self, other: Self) -> Self;
    /// Core's, for any numbers.
    fn remainder(self, other: Self) -> Self;
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

    #[inline(always)]
    fn widen(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn narrow(v: f64) -> f32 {
        v as f32
    }
    fn floor_divide(self, other: Self) -> Self {
        stridewise_core::ops::Real::floor_divide(self, other)
    }
    fn remainder(self, other: Self) -> Self {
        stridewise_core::ops::Real::remainder(self, other)
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

    #[inline(always)]
    fn widen(self) -> f64 {
        self
    }
    #[inline(always)]
    fn narrow(v: f64) -> f64 {
        v
    }
    fn floor_divide(self, other: Self) -> Self {
        stridewise_core::ops::Real::floor_divide(self, other)
    }
    fn remainder(self, other: Self) -> Self {
        stridewise_core::ops::Real::remainder(self, other)
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

/// The polynomial with these coefficients, lowest degree first, its products rounded.
#[inline(always)]
fn plain_polynomial<V: FloatBits>(x: V, coefficients: &'static [f64]) -> V {
    let mut i = coefficients.len() - 1;
    let mut sum = x.lit(coefficients[i]);
    while i > 0 {
        i -= 1;
        sum = sum * x + x.lit(coefficients[i]);
    }
    sum
}

/// As [`polynomial`] in powers of the square, whose coefficients are computed beside each other: half the latency.
#[inline(always)]
fn paired_polynomial<V: FloatBits>(x: V, coefficients: &'static [f64]) -> V {
    let square = x * x;
    let mut i = (coefficients.len() - 1) / 2 * 2;
    let mut sum = x.lit(coefficients[i]);
    if i + 1 < coefficients.len() {
        sum = x.lit(coefficients[i + 1]).mul_add(x, sum);
    }
    while i > 0 {
        i -= 2;
        sum = sum.mul_add(square, x.lit(coefficients[i + 1]).mul_add(x, x.lit(coefficients[i])));
    }
    sum
}

/// 2ᵏ from `MAGIC + k`, for a `k` whose power is a normal number.
#[inline(always)]
pub(super) fn power<V: FloatBits>(magic_k: V) -> V {
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

/// The magnitude of `x` with the sign of `signed`.
#[inline(always)]
pub(super) fn copysign<V: FloatBits>(x: V, signed: V) -> V {
    flip(x.abs(), sign(signed))
}
