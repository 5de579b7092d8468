//! The algebra that operations are written in.
//!
//! An operation is a function over a *value* of an unknown kind: a scalar, a vector register, or a token of a code
//! generator. Constants come from a value, [`Alg::lit`], so that an interpreter needs no global state. Each element
//! class has its trait; an operation asks for the weakest that it needs.
//!
//! | trait | scalars that have it | gives |
//! |---|---|---|
//! | [`Alg`] | all numbers | `+ - *`, negation, equality, select |
//! | [`Field`] | real and complex floating point | `/` |
//! | [`Real`] | integers, real floating point | order, `abs`, `minimum`, `maximum` |
//! | [`Float`] | real floating point | roots, transcendental functions, rounding |
//! | [`Bits`] | integers, `bool` | and, or, xor, not |
//! | [`Int`] | integers | shifts, floor division |

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
}

/// A number with division: real and complex floating point.
pub trait Field: Alg + Div<Output = Self> {}

/// An ordered number: integers and real floating point.
pub trait Real: Alg {
    /// `self < other`; false where either is NaN.
    fn less(self, other: Self) -> Self::Mask;
    /// `self <= other`; false where either is NaN.
    fn less_equal(self, other: Self) -> Self::Mask;
    /// Magnitude; the most negative integer stays itself (wrapping).
    fn abs(self) -> Self;
    /// The smaller one; NaN if either is NaN; −0 is smaller than +0 (IEEE 754-2019 `minimum`).
    fn minimum(self, other: Self) -> Self;
    /// The larger one; NaN if either is NaN; +0 is larger than −0 (IEEE 754-2019 `maximum`).
    fn maximum(self, other: Self) -> Self;
}

/// A real floating-point number.
pub trait Float: Real + Field {
    /// `self * b + c` rounded once.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// Square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// eˣ.
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn log(self) -> Self;
    /// Sine of an angle in radians, with exact argument reduction at any size.
    fn sin(self) -> Self;
    /// Cosine of an angle in radians, with exact argument reduction at any size.
    fn cos(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Arc tangent, in radians.
    fn atan(self) -> Self;
    /// The angle of the point (`x`, `self`), in radians, −π…π; the special values of C's `atan2`.
    fn atan2(self, x: Self) -> Self;
}

/// A value of bits: integers and `bool`.
pub trait Bits:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
}
impl<B: Copy + BitAnd<Output = B> + BitOr<Output = B> + BitXor<Output = B> + Not<Output = B>> Bits for B {}

/// An integer.
pub trait Int: Real + Bits {
    /// `self / other` rounded to −∞; 0 where `other` is 0; wraps at the most negative integer by −1.
    fn floor_divide(self, other: Self) -> Self;
    /// The remainder of [`floor_divide`](Self::floor_divide), with the sign of `other`; 0 where `other` is 0.
    fn remainder(self, other: Self) -> Self;
}
