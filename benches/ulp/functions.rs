//! The functions that are measured, each with its references: one in double precision, one in high precision.

use rug::Float;
use rug::ops::Pow;
use stridewise::Op;

use crate::error::PRECISION;

/// The largest error, in units of the last place, that a function may have.
const FAITHFUL: f64 = 1.0;
/// That of a correctly rounded one. The reference of `float32` is itself rounded, far below this allowance.
const ROUNDED: f64 = 0.5 + 1e-6;

/// A function of one number.
pub(crate) struct Unary {
    pub(crate) op: Op,
    /// In double precision: the reference of `float32`.
    pub(crate) double: fn(f64) -> f64,
    /// In high precision: the reference of `float64` and of the 16-bit formats.
    pub(crate) exact: fn(Float) -> Float,
    /// The error that is allowed.
    pub(crate) limit: f64,
    /// Where the function is neither trivial nor out of range, for samples of `float64`.
    pub(crate) ranges: &'static [(f64, f64)],
}

const fn unary(
    op: Op,
    double: fn(f64) -> f64,
    exact: fn(Float) -> Float,
    ranges: &'static [(f64, f64)],
) -> Unary {
    Unary { op, double, exact, limit: FAITHFUL, ranges }
}

const fn rounded(mut function: Unary) -> Unary {
    function.limit = ROUNDED;
    function
}

/// Every unary function that is not exact.
pub(crate) const UNARY: &[Unary] = &[
    rounded(unary(Op::Sqrt, f64::sqrt, Float::sqrt, &[(0.0, 4.0)])),
    rounded(unary(Op::Reciprocal, f64::recip, Float::recip, &[(-4.0, 4.0)])),
    rounded(unary(Op::Square, |x| x * x, |x| x.square(), &[(-4.0, 4.0)])),
    unary(Op::Rsqrt, |x| 1.0 / x.sqrt(), |x| x.sqrt().recip(), &[(0.0, 4.0)]),
    unary(Op::Cbrt, f64::cbrt, Float::cbrt, &[(-8.0, 8.0)]),
    unary(Op::Exp, f64::exp, Float::exp, &[(-746.0, 710.0), (-1.0, 1.0)]),
    unary(Op::Exp2, f64::exp2, Float::exp2, &[(-1075.5, 1024.5), (-1.0, 1.0)]),
    unary(Op::Expm1, f64::exp_m1, Float::exp_m1, &[(-40.0, 710.0), (-1.0, 1.0)]),
    unary(Op::Log, f64::ln, Float::ln, &[(0.0, 4.0), (0.9, 1.1)]),
    unary(Op::Log1p, f64::ln_1p, Float::ln_1p, &[(-1.0, 3.0), (-0.1, 0.1)]),
    unary(Op::Log2, f64::log2, Float::log2, &[(0.0, 4.0), (0.9, 1.1)]),
    unary(Op::Log10, f64::log10, Float::log10, &[(0.0, 4.0), (0.9, 1.1)]),
    unary(Op::Sin, f64::sin, Float::sin, &[(-10.0, 10.0), (-1e6, 1e6)]),
    unary(Op::Cos, f64::cos, Float::cos, &[(-10.0, 10.0), (-1e6, 1e6)]),
    unary(Op::Tan, f64::tan, Float::tan, &[(-10.0, 10.0), (-1e6, 1e6)]),
    unary(Op::Asin, f64::asin, Float::asin, &[(-1.0, 1.0)]),
    unary(Op::Acos, f64::acos, Float::acos, &[(-1.0, 1.0)]),
    unary(Op::Atan, f64::atan, Float::atan, &[(-5.0, 5.0)]),
    unary(Op::Sinh, f64::sinh, Float::sinh, &[(-711.0, 711.0), (-2.0, 2.0)]),
    unary(Op::Cosh, f64::cosh, Float::cosh, &[(-711.0, 711.0), (-2.0, 2.0)]),
    unary(Op::Tanh, f64::tanh, Float::tanh, &[(-23.0, 23.0), (-1.0, 1.0)]),
    unary(Op::Asinh, libm::asinh, Float::asinh, &[(-10.0, 10.0), (-1.0, 1.0)]),
    unary(
        Op::Acosh,
        |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) },
        Float::acosh,
        &[(1.0, 10.0), (1.0, 1.1)],
    ),
    unary(Op::Atanh, libm::atanh, Float::atanh, &[(-1.0, 1.0)]),
    unary(Op::Erf, libm::erf, Float::erf, &[(-6.5, 6.5), (-1.0, 1.0)]),
    unary(Op::Sigmoid, sigmoid, |x| ((-x).exp() + 1_u32).recip(), &[(-750.0, 40.0), (-2.0, 2.0)]),
];

fn sigmoid(x: f64) -> f64 {
    // Below the range of the exponential's reciprocal the function is the exponential, in double precision.
    if x < -40.0 { x.exp() } else { 1.0 / (1.0 + (-x).exp()) }
}

/// How arguments of a function of two numbers are drawn, besides any bit patterns.
#[derive(Clone, Copy)]
pub(crate) enum Pairs {
    /// A few orders of magnitude around 1, either sign.
    Moderate,
    /// A positive number near 1 or far from it, and an exponent that keeps the power in range.
    Powers,
}

/// A function of two numbers.
pub(crate) struct Binary {
    pub(crate) op: Op,
    pub(crate) double: fn(f64, f64) -> f64,
    pub(crate) exact: fn(Float, Float) -> Float,
    pub(crate) limit: f64,
    /// Errors of smaller results are counted in units of this magnitude, in `float64`.
    pub(crate) unit_from: f64,
    pub(crate) pairs: Pairs,
}

const fn binary(op: Op, double: fn(f64, f64) -> f64, exact: fn(Float, Float) -> Float) -> Binary {
    Binary { op, double, exact, limit: FAITHFUL, unit_from: 0.0, pairs: Pairs::Moderate }
}

const fn rounded2(mut function: Binary) -> Binary {
    function.limit = ROUNDED;
    function
}

/// Functions of two numbers. `nextafter` has no reference in another format: see [`crate::binary`].
pub(crate) const BINARY: &[Binary] = &[
    rounded2(binary(Op::Add, |x, y| x + y, sum)),
    rounded2(binary(Op::Subtract, |x, y| x - y, |x, y| sum(x, -y))),
    rounded2(binary(Op::Multiply, |x, y| x * y, |x, y| x * y)),
    rounded2(binary(Op::Divide, |x, y| x / y, |x, y| x / y)),
    binary(Op::Remainder, remainder, exact_remainder),
    binary(Op::FloorDivide, floor_divide, exact_floor_divide),
    Binary { pairs: Pairs::Powers, ..binary(Op::Pow, f64::powf, |x, y| x.pow(&y)) },
    binary(Op::Atan2, f64::atan2, |y, x| y.atan2(&x)),
    binary(Op::Hypot, f64::hypot, |x, y| x.hypot(&y)),
    // Near 0 the two terms cancel: there it is accurate as a sum is, not as a function.
    Binary { unit_from: 1.0 / 32.0, ..binary(Op::Logaddexp, logaddexp, exact_logaddexp) },
    rounded2(binary(Op::Copysign, f64::copysign, |x, y| x.copysign(&y))),
    rounded2(binary(Op::Minimum, minimum, exact_minimum)),
    rounded2(binary(Op::Maximum, |x, y| -minimum(-x, -y), |x, y| -exact_minimum(-x, -y))),
];

/// A sum; precision enough that nothing is lost but far below the last place.
fn sum(x: Float, y: Float) -> Float {
    x + y
}

fn minimum(x: f64, y: f64) -> f64 {
    if x.is_nan() || x < y || (x == y && x.is_sign_negative()) { x } else { y }
}

fn exact_minimum(x: Float, y: Float) -> Float {
    if x.is_nan() || x < y || (x == y && x.is_sign_negative()) { x } else { y }
}

/// x − y·⌊x/y⌋, zeros with the sign of the divisor.
fn remainder(x: f64, y: f64) -> f64 {
    let rest = x % y;
    if rest == 0.0 {
        rest.copysign(y)
    } else if (rest < 0.0) != (y < 0.0) {
        rest + y
    } else {
        rest
    }
}

fn exact_remainder(x: Float, y: Float) -> Float {
    let rest = x % &y;
    if rest.is_zero() {
        rest.copysign(&y)
    } else if !rest.is_nan() && rest.is_sign_negative() != y.is_sign_negative() {
        rest + y
    } else {
        rest
    }
}

/// ⌊x/y⌋ of 24-bit significands: their quotient, rounded to a double, is at no integer that it is not. A quotient of 0
/// has the sign of the exact one; so has one by an infinite number, which is a 0 of either sign, as in the array API.
fn floor_divide(x: f64, y: f64) -> f64 {
    let quotient = x / y;
    let floor = quotient.floor();
    if floor == 0.0 { floor.copysign(quotient) } else { floor }
}

fn exact_floor_divide(x: Float, y: Float) -> Float {
    let quotient = x / y;
    let negative = quotient.is_sign_negative();
    let floor = quotient.floor();
    if floor.is_zero() && floor.is_sign_negative() != negative { -floor } else { floor }
}

fn logaddexp(x: f64, y: f64) -> f64 {
    let difference = x - y;
    if x == y {
        return x + std::f64::consts::LN_2;
    }
    let greater = if x > y { x } else { y };
    if difference.is_nan() {
        return f64::NAN;
    }
    let result = greater + (-difference.abs()).exp().ln_1p();
    // Near 0 the sum cancels, and what is left of it are errors.
    if result.abs() < 1e-3 * greater.abs() {
        let float = |v: f64| Float::with_val(PRECISION, v);
        return exact_logaddexp(float(x), float(y)).to_f64();
    }
    result
}

fn exact_logaddexp(x: Float, y: Float) -> Float {
    if x.is_nan() || y.is_nan() {
        return Float::with_val(PRECISION, f64::NAN);
    }
    let (greater, less) = if x > y { (x, y) } else { (y, x) };
    if greater.is_infinite() || greater == less {
        return if greater.is_infinite() { greater } else { greater + Float::with_val(PRECISION, 2).ln() };
    }
    let difference = less - &greater;
    greater + difference.exp().ln_1p()
}
