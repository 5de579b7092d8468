//! Elementary functions of complex numbers, with the branch cuts and special values of C23's annex G. All compute in
//! double precision; single-precision operands are converted and their results rounded once.

use crate::Complex;

/// A double-precision complex number.
type C = Complex<f64>;

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

/// Quotient (R. L. Smith, "Algorithm 116: Complex division", 1962).
pub(super) fn divide(x: C, y: C) -> C {
    if y.re.abs() >= y.im.abs() {
        if y.re == 0.0 && y.im == 0.0 {
            return C::new(x.re / y.re.abs(), x.im / y.re.abs());
        }
        let ratio = y.im / y.re;
        let scale = 1.0 / (y.re + y.im * ratio);
        C::new((x.re + x.im * ratio) * scale, (x.im - x.re * ratio) * scale)
    } else {
        let ratio = y.re / y.im;
        let scale = 1.0 / (y.im + y.re * ratio);
        C::new((x.re * ratio + x.im) * scale, (x.im * ratio - x.re) * scale)
    }
}

/// `z / |z|`, 0 of 0.
pub(super) fn sign(z: C) -> C {
    let magnitude = z.re.hypot(z.im);
    if magnitude == 0.0 { C::new(0.0, 0.0) } else { C::new(z.re / magnitude, z.im / magnitude) }
}

/// Principal value of `x` to the power `y`.
pub(super) fn pow(x: C, y: C) -> C {
    x.powc(y)
}
pub(super) fn sqrt(z: C) -> C {
    z.sqrt()
}
pub(super) fn exp(z: C) -> C {
    z.exp()
}
pub(super) fn exp2(z: C) -> C {
    z.exp2()
}
pub(super) fn expm1(z: C) -> C {
    z.exp() - 1.0
}
pub(super) fn log(z: C) -> C {
    z.ln()
}
pub(super) fn log1p(z: C) -> C {
    (z + 1.0).ln()
}
pub(super) fn log2(z: C) -> C {
    z.log2()
}
pub(super) fn log10(z: C) -> C {
    z.log10()
}
pub(super) fn sin(z: C) -> C {
    z.sin()
}
pub(super) fn cos(z: C) -> C {
    z.cos()
}
pub(super) fn tan(z: C) -> C {
    z.tan()
}
pub(super) fn asin(z: C) -> C {
    z.asin()
}
pub(super) fn acos(z: C) -> C {
    z.acos()
}
pub(super) fn atan(z: C) -> C {
    z.atan()
}
pub(super) fn sinh(z: C) -> C {
    z.sinh()
}
pub(super) fn cosh(z: C) -> C {
    z.cosh()
}
pub(super) fn tanh(z: C) -> C {
    z.tanh()
}
pub(super) fn asinh(z: C) -> C {
    z.asinh()
}
pub(super) fn acosh(z: C) -> C {
    z.acosh()
}
pub(super) fn atanh(z: C) -> C {
    z.atanh()
}
