//! The algebra on scalars, through the standard library's arithmetic.

use std::num::Wrapping;

use super::complex::{self, Parted};
use super::{Alg, Analytic, Field, Float, Int, Parts, Real};
use crate::Complex;

macro_rules! float_scalar {
    ($($t:ident $erf:path, $cbrt:path, $asinh:path, $acosh:path, $atanh:path, $mul_add:path, $hypot:path;)*) => {$(
        impl Alg for $t {
            type Mask = bool;
            #[inline(always)]
            fn lit(self, c: f64) -> Self { c as $t }
            #[inline(always)]
            fn equal(self, other: Self) -> bool { self == other }
            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self { if mask { yes } else { no } }
            #[inline(always)]
            fn is_finite(self) -> bool { <$t>::is_finite(self) }
            #[inline(always)]
            fn is_infinite(self) -> bool { <$t>::is_infinite(self) }
            #[inline(always)]
            fn sign(self) -> Self {
                if self > 0.0 { 1.0 } else if self < 0.0 { -1.0 } else if self == 0.0 { 0.0 } else { self }
            }
            #[inline(always)]
            fn conj(self) -> Self { self }
            #[inline(always)]
            fn round(self) -> Self { self.round_ties_even() }
            fn pow(self, exponent: Self) -> Self { self.powf(exponent) }
        }
        impl Parts for $t {
            type Part = Self;
            #[inline(always)]
            fn abs(self) -> Self { <$t>::abs(self) }
            #[inline(always)]
            fn real(self) -> Self { self }
            #[inline(always)]
            fn imag(self) -> Self { 0.0 }
        }
        impl Field for $t {}
        impl Real for $t {
            #[inline(always)]
            fn less(self, other: Self) -> bool { self < other }
            #[inline(always)]
            fn less_equal(self, other: Self) -> bool { self <= other }
            #[inline(always)]
            fn minimum(self, other: Self) -> Self {
                let tie = self == other && self.is_sign_negative();
                if self < other || self.is_nan() || tie { self } else { other }
            }
            #[inline(always)]
            fn maximum(self, other: Self) -> Self {
                let tie = self == other && self.is_sign_positive();
                if self > other || self.is_nan() || tie { self } else { other }
            }
            fn floor(self) -> Self { <$t>::floor(self) }
            fn ceil(self) -> Self { <$t>::ceil(self) }
            fn trunc(self) -> Self { <$t>::trunc(self) }
            fn floor_divide(self, other: Self) -> Self {
                let ratio = self / other;
                if ratio.is_nan() {
                    // One NaN for all, whose sign processors do not agree about.
                    return <$t>::NAN;
                }
                if other == 0.0 || !self.is_finite() {
                    return ratio;
                }
                // The rest is exact, so the quotient without it is an integer but for its roundings; what is left over
                // says how far they went. It is NaN by an infinite number, and where the quotient overflows.
                let rest = self % other;
                let rounded = ((self - rest) / other).round();
                let left = (-rounded).mul_add(other, self) - rest;
                let whole = if left.is_finite() { rounded + (left / other).round() } else { rounded };
                // By an infinite number it is -0, as the array API has it.
                let below = rest != 0.0 && (rest < 0.0) != (other < 0.0) && other.is_finite();
                let quotient = whole - if below { 1.0 } else { 0.0 };
                if quotient == 0.0 { (0.0 as $t).copysign(ratio) } else { quotient }
            }
            fn remainder(self, other: Self) -> Self {
                let rest = self % other;
                if rest.is_nan() {
                    <$t>::NAN
                } else if rest == 0.0 {
                    rest.copysign(other)
                } else if (rest < 0.0) != (other < 0.0) {
                    rest + other
                } else {
                    rest
                }
            }
        }
        impl Analytic for $t {
            fn sqrt(self) -> Self { <$t>::sqrt(self) }
            fn exp(self) -> Self { <$t>::exp(self) }
            fn exp2(self) -> Self { <$t>::exp2(self) }
            fn expm1(self) -> Self { self.exp_m1() }
            fn log(self) -> Self { self.ln() }
            fn log1p(self) -> Self { self.ln_1p() }
            fn log2(self) -> Self { <$t>::log2(self) }
            fn log10(self) -> Self { <$t>::log10(self) }
            fn sin(self) -> Self { <$t>::sin(self) }
            fn cos(self) -> Self { <$t>::cos(self) }
            fn tan(self) -> Self { <$t>::tan(self) }
            fn asin(self) -> Self { <$t>::asin(self) }
            fn acos(self) -> Self { <$t>::acos(self) }
            fn atan(self) -> Self { <$t>::atan(self) }
            fn sinh(self) -> Self { <$t>::sinh(self) }
            fn cosh(self) -> Self { <$t>::cosh(self) }
            fn tanh(self) -> Self { <$t>::tanh(self) }
            fn asinh(self) -> Self { $asinh(self) }
            // libm's gives numbers below −1.
            fn acosh(self) -> Self { if self < 1.0 { <$t>::NAN } else { $acosh(self) } }
            fn atanh(self) -> Self { $atanh(self) }
        }
        impl Float for $t {
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self { $mul_add(self, b, c) }
            fn atan2(self, x: Self) -> Self { <$t>::atan2(self, x) }
            fn hypot(self, other: Self) -> Self {
                // Some C libraries answer NaN when the other number is a signalling NaN.
                if self.is_infinite() || other.is_infinite() { <$t>::INFINITY } else { $hypot(self, other) }
            }
            fn logaddexp(self, other: Self) -> Self {
                // Infinite operands, and equal ones, have no difference to work with.
                if self == other {
                    return self + std::f64::consts::LN_2 as $t;
                }
                let greater = Real::maximum(self, other);
                greater + (-(self - other).abs()).exp().ln_1p()
            }
            fn cbrt(self) -> Self { $cbrt(self) }
            fn rsqrt(self) -> Self { 1.0 / <$t>::sqrt(self) }
            fn erf(self) -> Self { $erf(self) }
            fn sigmoid(self) -> Self { 1.0 / (1.0 + (-self).exp()) }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self { <$t>::copysign(self, sign) }
            #[inline(always)]
            fn nextafter(self, other: Self) -> Self {
                if self.is_nan() || other.is_nan() {
                    self + other
                } else if self == other {
                    other
                } else if self < other {
                    self.next_up()
                } else {
                    self.next_down()
                }
            }
        }
    )*};
}
// Where the standard library has no function, or a formula that loses digits.
float_scalar! {
    f32 libm::erff, libm::cbrtf, libm::asinhf, libm::acoshf, libm::atanhf, f32::mul_add, hypot_f32;
    f64 libm::erf, libm::cbrt, libm::asinh, libm::acosh, libm::atanh, mul_add_f64, f64::hypot;
}

/// `a·b + c`, rounded once. Musl's function answers +0 where the product is negative, too small for any number, and `c` is +0.
#[inline(always)]
fn mul_add_f64(a: f64, b: f64, c: f64) -> f64 {
    if cfg!(target_env = "musl") { libm::fma(a, b, c) } else { a.mul_add(b, c) }
}

/// √(x² + y²) by float64, where squares neither overflow nor lose bits: C libraries differ in how many they keep in float32.
fn hypot_f32(x: f32, y: f32) -> f32 {
    let (x, y) = (f64::from(x), f64::from(y));
    (x * x + y * y).sqrt() as f32
}

macro_rules! complex_scalar {
    ($($t:ident)*) => {$(
        impl Alg for Complex<$t> {
            type Mask = bool;
            #[inline(always)]
            fn lit(self, c: f64) -> Self { Complex::new(c as $t, 0.0) }
            #[inline(always)]
            fn equal(self, other: Self) -> bool { self == other }
            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self { if mask { yes } else { no } }
            #[inline(always)]
            fn is_finite(self) -> bool { self.re.is_finite() & self.im.is_finite() }
            #[inline(always)]
            fn is_infinite(self) -> bool { self.re.is_infinite() | self.im.is_infinite() }
            fn sign(self) -> Self { self.by(complex::sign) }
            #[inline(always)]
            fn conj(self) -> Self { Complex::new(self.re, -self.im) }
            fn round(self) -> Self { Complex::new(self.re.round_ties_even(), self.im.round_ties_even()) }
            fn pow(self, exponent: Self) -> Self { self.by2(exponent, complex::pow) }
        }
        impl Parts for Complex<$t> {
            type Part = $t;
            #[inline(always)]
            fn abs(self) -> $t { Float::hypot(self.re, self.im) }
            #[inline(always)]
            fn real(self) -> $t { self.re }
            #[inline(always)]
            fn imag(self) -> $t { self.im }
        }
        impl Field for Complex<$t> {
            fn divide(self, other: Self) -> Self { self.by2(other, complex::divide) }
        }
        complex_scalar!(@ $t sqrt exp exp2 expm1 log log1p log2 log10 sin cos tan asin acos atan
            sinh cosh tanh asinh acosh atanh);
    )*};
    (@ $t:ident $($f:ident)*) => {
        impl Analytic for Complex<$t> {
            $(fn $f(self) -> Self { self.by(complex::$f) })*
        }
    };
}
complex_scalar!(f32 f64);

macro_rules! int_scalar {
    ($signed:literal: $($t:ident)*) => {$(
        impl Alg for Wrapping<$t> {
            type Mask = bool;
            #[inline(always)]
            fn lit(self, c: f64) -> Self { Wrapping(c as $t) }
            #[inline(always)]
            fn equal(self, other: Self) -> bool { self == other }
            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self { if mask { yes } else { no } }
            #[inline(always)]
            fn is_finite(self) -> bool { true }
            #[inline(always)]
            fn is_infinite(self) -> bool { false }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn sign(self) -> Self {
                Wrapping(<$t>::from(self.0 > 0).wrapping_sub(<$t>::from(self.0 < 0)))
            }
            #[inline(always)]
            fn conj(self) -> Self { self }
            #[inline(always)]
            fn round(self) -> Self { self }
            #[allow(unused_comparisons)]
            fn pow(self, exponent: Self) -> Self {
                if exponent.0 < 0 {
                    // One over an integer is 0 but for 1 and −1, whose powers depend on the exponent's last bit.
                    let unit = self.0 == 1 || (self.0.wrapping_add(1) == 0 && $signed);
                    return match (unit, exponent.0 & 1) {
                        (false, _) => Wrapping(0),
                        (true, 0) => Wrapping(1),
                        (true, _) => self,
                    };
                }
                let (mut base, mut rest, mut power) = (self, exponent.0, Wrapping(1));
                while rest != 0 {
                    if rest & 1 == 1 {
                        power *= base;
                    }
                    base *= base;
                    rest >>= 1;
                }
                power
            }
        }
        impl Parts for Wrapping<$t> {
            type Part = Self;
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn abs(self) -> Self { if self.0 < 0 { -self } else { self } }
            #[inline(always)]
            fn real(self) -> Self { self }
            #[inline(always)]
            fn imag(self) -> Self { Wrapping(0) }
        }
        impl Real for Wrapping<$t> {
            #[inline(always)]
            fn less(self, other: Self) -> bool { self < other }
            #[inline(always)]
            fn less_equal(self, other: Self) -> bool { self <= other }
            #[inline(always)]
            fn minimum(self, other: Self) -> Self { if other < self { other } else { self } }
            #[inline(always)]
            fn maximum(self, other: Self) -> Self { if self < other { other } else { self } }
            #[inline(always)]
            fn floor(self) -> Self { self }
            #[inline(always)]
            fn ceil(self) -> Self { self }
            #[inline(always)]
            fn trunc(self) -> Self { self }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn floor_divide(self, other: Self) -> Self {
                if other.0 == 0 { return Wrapping(0); }
                let (q, r) = (self.0.wrapping_div(other.0), self.0.wrapping_rem(other.0));
                Wrapping(if $signed && r != 0 && (r < 0) != (other.0 < 0) { q.wrapping_sub(1) } else { q })
            }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn remainder(self, other: Self) -> Self {
                if other.0 == 0 { return Wrapping(0); }
                let r = self.0.wrapping_rem(other.0);
                Wrapping(if $signed && r != 0 && (r < 0) != (other.0 < 0) { r.wrapping_add(other.0) } else { r })
            }
        }
        impl Int for Wrapping<$t> {
            #[inline(always)]
            fn shift_left(self, count: Self) -> Self {
                // A negative count is a large one as an unsigned number.
                let places = u64::try_from(count.0).unwrap_or(u64::MAX);
                if places < u64::from(<$t>::BITS) { Wrapping(self.0 << places) } else { Wrapping(0) }
            }
            #[inline(always)]
            fn shift_right(self, count: Self) -> Self {
                let places = u64::try_from(count.0).unwrap_or(u64::MAX);
                if $signed {
                    Wrapping(self.0 >> places.min(u64::from(<$t>::BITS - 1)))
                } else if places < u64::from(<$t>::BITS) {
                    Wrapping(self.0 >> places)
                } else {
                    Wrapping(0)
                }
            }
        }
    )*};
}
int_scalar!(true: i8 i16 i32 i64);
int_scalar!(false: u8 u16 u32 u64);
