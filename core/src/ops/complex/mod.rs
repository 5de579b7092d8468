//! Elementary functions of complex numbers, with the branch cuts and special values of the array API standard 2025.12,
//! which are those of C23's annex G but for the sign of a zero of tanh. The sign of a zero on a branch cut says which side of
//! it is meant.
//!
//! All compute in double precision; single-precision operands are converted and their results rounded once. An error
//! bound in a function's description is of double precision, in units in the last place: *componentwise*, of each part
//! by itself, or *normwise*, of the distance from the exact result against its magnitude. The bounds were measured on
//! random and hard points, with the real functions of glibc; those of another C library may cost one unit more.
//!
//! No function is inlined into its callers: those are loops that are compiled for several instruction sets.
//!
//! They are scalar, one number at a time, where real functions take 4 to 16 at once: in vectors, at three
//! levels and once more in OpenCL C, each branch cut and special value would have to be right four times. The
//! oracle and the host's kernels call the same code; additions, products, parts and comparisons of complex
//! numbers are in vectors as all else; OpenCL has functions of its own with the same special values
//! (`emit/library.rs` of that backend). Special values are tested in `tests` here and in the matrix. No
//! timing is recorded: it matters once complex functions of large arrays are a job of users.

mod division;
mod double;
mod exponential;
mod hyperbolic;
mod inverse;
mod logarithm;
mod power;
#[cfg(test)]
mod tests;

pub(super) use division::{divide, sign};
pub(super) use exponential::{exp, exp2, expm1};
pub(super) use hyperbolic::{cos, cosh, sin, sinh, tan, tanh};
pub(super) use inverse::{acos, acosh, asin, asinh, atan, atanh};
pub(super) use logarithm::{log, log1p, log2, log10};
pub(super) use power::{pow, sqrt};

use crate::Complex;

/// A double-precision complex number.
type C = Complex<f64>;

/// What an operation without a meaningful result returns.
const NAN: C = C::new(f64::NAN, f64::NAN);

/// A complex number that is computed with in double precision.
pub(super) trait Parted: Copy {
    fn by(self, f: fn(C) -> C) -> Self;
    fn by2(self, other: Self, f: fn(C, C) -> C) -> Self;
}

impl Parted for Complex<f32> {
    fn by(self, f: fn(C) -> C) -> Self {
        narrow(f(widen(self)))
    }
    fn by2(self, other: Self, f: fn(C, C) -> C) -> Self {
        narrow(f(widen(self), widen(other)))
    }
}

impl Parted for C {
    fn by(self, f: fn(C) -> C) -> Self {
        f(self)
    }
    fn by2(self, other: Self, f: fn(C, C) -> C) -> Self {
        f(self, other)
    }
}

fn widen(z: Complex<f32>) -> C {
    C::new(z.re.into(), z.im.into())
}
fn narrow(z: C) -> Complex<f32> {
    Complex::new(z.re as f32, z.im as f32)
}

/// The exponent e of the greater part: its magnitude is in [½, 1) · 2^e. 0 of zero, and of what is not finite.
fn exponent(z: C) -> i32 {
    libm::frexp(z.re.abs().max(z.im.abs())).1
}

/// z · 2^e, rounded once.
fn scaled(z: C, e: i32) -> C {
    C::new(libm::ldexp(z.re, e), libm::ldexp(z.im, e))
}
