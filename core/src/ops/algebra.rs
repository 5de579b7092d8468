//! The algebra that operations are written in.
//!
//! An operation is a function over a *value* of an unknown kind: a scalar, a vector register, or a token of a code
//! generator. Constants come from a value, [`Alg::lit`], so that an interpreter needs no global state. Each element
//! class has its trait; an operation asks for the weakest that it needs.
//!
//! | trait | scalars that have it | gives |
//! |---|---|---|
//! | [`Alg`] | all numbers | `+ - *`, negation, power, sign, rounding, equality, finiteness, select |
//! | [`Parts`] | all numbers | magnitude, real and imaginary part |
//! | [`Field`] | real and complex floating point | division |
//! | [`Analytic`] | real and complex floating point | roots, exponential, trigonometric and hyperbolic functions |
//! | [`Real`] | integers, real floating point | order, `minimum`, `maximum`, rounding down, floor division |
//! | [`Float`] | real floating point | fused multiplication, `atan2`, `hypot`, `erf`, … |
//! | [`Bits`] | integers, `bool` | and, or, xor, not |
//! | [`Int`] | integers | shifts |

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

/// One truth value per lane.
pub trait Mask:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
}
impl<M: Copy + BitAnd<Output = M> + BitOr<Output = M> + BitXor<Output = M> + Not<Output = M>> Mask for M {}

/// A number of any kind. Integer arithmetic wraps.
pub trait Alg:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self>
{
    /// The result of a comparison.
    type Mask: Mask;
    /// A constant of the same kind as `self`; integers take the integral value of `c`.
    fn lit(self, c: f64) -> Self;
    /// `self == other`; false where either is NaN.
    fn equal(self, other: Self) -> Self::Mask;
    /// `yes` where the mask is true, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// Neither infinite nor NaN; of a complex number, both parts.
    fn is_finite(self) -> Self::Mask;
    /// Infinite; of a complex number, either part.
    fn is_infinite(self) -> Self::Mask;
    /// −1, 0 or 1 of a real number, `z / |z|` or 0 of a complex one; NaN of a NaN.
    fn sign(self) -> Self;
    /// The complex conjugate; a real number itself.
    fn conj(self) -> Self;
    /// The nearest integer, halves to even; of a complex number, of each part.
    fn round(self) -> Self;
    /// `self` to the power `exponent`. Of integers: wraps, and a negative power is 1 / `self` to the positive one,
    /// truncated, with 0 for a division by 0.
    fn pow(self, exponent: Self) -> Self;
}

/// A number with parts.
pub trait Parts: Alg {
    /// The real type of the parts.
    type Part: Copy;
    /// Magnitude; the most negative integer stays itself (wrapping).
    fn abs(self) -> Self::Part;
    /// The real part.
    fn real(self) -> Self::Part;
    /// The imaginary part; 0 of a real number.
    fn imag(self) -> Self::Part;
}

/// A number with division: real and complex floating point.
pub trait Field: Alg + Div<Output = Self> {
    /// `self / other`; of complex numbers, without overflow on the way.
    #[must_use]
    fn divide(self, other: Self) -> Self {
        self / other
    }
}

/// A number with the elementary functions: real and complex floating point. Complex functions have the branch cuts and
/// special values of C (C23, annex G).
pub trait Analytic: Field {
    /// Square root; of a real number, correctly rounded.
    fn sqrt(self) -> Self;
    /// eˣ.
    fn exp(self) -> Self;
    /// 2ˣ.
    fn exp2(self) -> Self;
    /// eˣ − 1, accurate near 0.
    fn expm1(self) -> Self;
    /// Natural logarithm.
    fn log(self) -> Self;
    /// ln(1 + x), accurate near 0.
    fn log1p(self) -> Self;
    /// Logarithm to the base 2.
    fn log2(self) -> Self;
    /// Logarithm to the base 10.
    fn log10(self) -> Self;
    /// Sine of an angle in radians, with exact argument reduction at any size.
    fn sin(self) -> Self;
    /// Cosine of an angle in radians, with exact argument reduction at any size.
    fn cos(self) -> Self;
    /// Tangent of an angle in radians, with exact argument reduction at any size.
    fn tan(self) -> Self;
    /// Arc sine, in radians.
    fn asin(self) -> Self;
    /// Arc cosine, in radians.
    fn acos(self) -> Self;
    /// Arc tangent, in radians.
    fn atan(self) -> Self;
    /// Hyperbolic sine.
    fn sinh(self) -> Self;
    /// Hyperbolic cosine.
    fn cosh(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Inverse hyperbolic sine.
    fn asinh(self) -> Self;
    /// Inverse hyperbolic cosine.
    fn acosh(self) -> Self;
    /// Inverse hyperbolic tangent.
    fn atanh(self) -> Self;
}

/// An ordered number: integers and real floating point.
pub trait Real: Parts<Part = Self> {
    /// `self < other`; false where either is NaN.
    fn less(self, other: Self) -> Self::Mask;
    /// `self <= other`; false where either is NaN.
    fn less_equal(self, other: Self) -> Self::Mask;
    /// The smaller one; NaN if either is NaN; −0 is smaller than +0 (IEEE 754-2019 `minimum`).
    fn minimum(self, other: Self) -> Self;
    /// The larger one; NaN if either is NaN; +0 is larger than −0 (IEEE 754-2019 `maximum`).
    fn maximum(self, other: Self) -> Self;
    /// The greatest integer that is not above.
    fn floor(self) -> Self;
    /// The least integer that is not below.
    fn ceil(self) -> Self;
    /// The integer next towards 0.
    fn trunc(self) -> Self;
    /// `self / other` rounded to −∞. Of integers: 0 where `other` is 0; wraps at the most negative integer by −1.
    fn floor_divide(self, other: Self) -> Self;
    /// The remainder of [`floor_divide`](Self::floor_divide), with the sign of `other`. Of integers: 0 where `other` is 0.
    fn remainder(self, other: Self) -> Self;
}

/// A real floating-point number.
pub trait Float: Real + Analytic {
    /// `self * b + c` rounded once.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// The angle of the point (`x`, `self`), in radians, −π…π; the special values of C's `atan2`.
    fn atan2(self, x: Self) -> Self;
    /// √(`self`² + `other`²) without overflow on the way; infinite if either is.
    fn hypot(self, other: Self) -> Self;
    /// ln(eˣ + eʸ) without overflow on the way.
    fn logaddexp(self, other: Self) -> Self;
    /// Cube root.
    fn cbrt(self) -> Self;
    /// 1/√x.
    fn rsqrt(self) -> Self;
    /// The error function.
    fn erf(self) -> Self;
    /// 1 / (1 + e⁻ˣ), the logistic function.
    fn sigmoid(self) -> Self;
    /// The magnitude of `self` with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// The number of this format next to `self` in the direction of `other`.
    fn nextafter(self, other: Self) -> Self;
}

/// A value of bits: integers and `bool`.
pub trait Bits:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
}
impl<B: Copy + BitAnd<Output = B> + BitOr<Output = B> + BitXor<Output = B> + Not<Output = B>> Bits for B {}

/// An integer.
pub trait Int: Real + Bits {
    /// The bits moved up by `count` places; 0 where that is negative or at least the width.
    fn shift_left(self, count: Self) -> Self;
    /// The bits moved down by `count` places, copying the sign; −1 or 0, after the sign, where `count` is negative or at
    /// least the width.
    fn shift_right(self, count: Self) -> Self;
}
