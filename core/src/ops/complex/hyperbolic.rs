//! Hyperbolic and trigonometric functions. The latter are the former of i z.

use super::exponential::times_half_exp;
use super::{C, NAN};

/// From here on sinh and cosh are eˣ / 2.
const LARGE: f64 = 22.0;

/// Hyperbolic sine. Componentwise error ≤ 4 units.
#[inline(never)]
pub(in crate::ops) fn sinh(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        return C::new(x.sinh(), y);
    }
    if !y.is_finite() {
        return if x == 0.0 || x.is_infinite() { C::new(x, f64::NAN) } else { NAN };
    }
    let (sin, cos) = y.sin_cos();
    if x.abs() >= LARGE {
        let re = times_half_exp(cos, x.abs());
        return C::new(if x < 0.0 { -re } else { re }, times_half_exp(sin, x.abs()));
    }
    C::new(x.sinh() * cos, x.cosh() * sin)
}

/// Hyperbolic cosine. Componentwise error ≤ 4 units.
#[inline(never)]
pub(in crate::ops) fn cosh(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        // The sign of the zero is that of x y.
        let zero = if x.is_sign_negative() { -y } else { y };
        return C::new(x.cosh(), zero);
    }
    if !y.is_finite() {
        return if x == 0.0 {
            C::new(f64::NAN, if x.is_sign_negative() == y.is_sign_negative() { 0.0 } else { -0.0 })
        } else if x.is_infinite() {
            C::new(f64::INFINITY, f64::NAN)
        } else {
            NAN
        };
    }
    let (sin, cos) = y.sin_cos();
    if x.abs() >= LARGE {
        let im = times_half_exp(sin, x.abs());
        return C::new(times_half_exp(cos, x.abs()), if x < 0.0 { -im } else { im });
    }
    C::new(x.cosh() * cos, x.sinh() * sin)
}

/// Hyperbolic tangent. Componentwise error ≤ 6 units.
#[inline(never)]
pub(in crate::ops) fn tanh(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        return C::new(x.tanh(), y);
    }
    if x.is_infinite() {
        // The array API's sign of the zero; annex G has that of sin 2y.
        return C::new(x.signum(), 0f64.copysign(y));
    }
    if !y.is_finite() {
        return if x == 0.0 { C::new(x, f64::NAN) } else { NAN };
    }
    if x == 0.0 {
        return C::new(x, y.tan());
    }
    let (sin, cos) = y.sin_cos();
    if x.abs() >= LARGE {
        return C::new(x.signum(), 4.0 * sin * cos * (-2.0 * x.abs()).exp());
    }
    // (sinh x cosh x + i sin y cos y) / (sinh² x + cos² y): a sum of squares, without cancellation at the poles.
    let (s, c) = (x.sinh(), x.cosh());
    let below = s * s + cos * cos;
    C::new(s * c / below, sin * cos / below)
}

/// Sine: −i sinh(i z). Componentwise error ≤ 4 units.
#[inline(never)]
pub(in crate::ops) fn sin(z: C) -> C {
    exchanged(sinh(exchanged(z)))
}

/// Cosine: cosh(i z). Componentwise error ≤ 4 units.
#[inline(never)]
pub(in crate::ops) fn cos(z: C) -> C {
    cosh(C::new(-z.im, z.re))
}

/// Tangent: −i tanh(i z). Componentwise error ≤ 6 units.
#[inline(never)]
pub(in crate::ops) fn tan(z: C) -> C {
    exchanged(tanh(exchanged(z)))
}

/// The parts exchanged. For an f that is odd and commutes with conjugation, −i f(i z) is f of the exchanged parts,
/// exchanged.
pub(super) fn exchanged(z: C) -> C {
    C::new(z.im, z.re)
}
