//! Inverse hyperbolic and trigonometric functions (T. E. Hull, T. F. Fairgrieve, P. T. P. Tang, "Implementing the complex
//! arcsine and arccosine functions using exception handling", 1997).

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, PI};

use super::hyperbolic::exchanged;
use super::logarithm::log_abs;
use super::{C, NAN};

/// Magnitudes from here on make 1 negligible against the square.
const LARGE: f64 = 1e18;

/// What arc sine and arc cosine are made of: for x, y ≥ 0, finite, and the ellipse through x + i y with the foci −1 and 1
/// and the semi-axis a on the real axis,
/// `across` = √(a² − x²), so that the real parts are the angles of x and it; and `im` = arcosh a.
struct Ellipse {
    across: f64,
    im: f64,
}

fn ellipse(x: f64, y: f64) -> Ellipse {
    if x.max(y) >= LARGE {
        return Ellipse { across: y, im: LN_2 + log_abs(C::new(x, y)) };
    }
    // The distances to the foci.
    let (r, s) = ((x + 1.0).hypot(y), (x - 1.0).hypot(y));
    let a = 0.5 * (r + s);
    // 2 (a − x) and 2 (a − 1) without cancellation: sums of r − (x + 1) = y² / (r + (x + 1)), and the same of s.
    let far = y * (y / (r + (x + 1.0)));
    let across = if x <= 1.0 {
        (0.5 * (a + x) * (far + (s + (1.0 - x)))).sqrt()
    } else {
        y * (0.5 * (a + x) * (1.0 / (r + (x + 1.0)) + 1.0 / (s + (x - 1.0)))).sqrt()
    };
    let im = if x < 1.0 && y < 1e-9 * (1.0 - x) {
        y / ((1.0 - x) * (1.0 + x)).sqrt()
    } else if a <= 1.5 {
        // 2 (a − 1), since halving a subnormal number may lose it.
        let above = far + if x < 1.0 { y * (y / (s + (1.0 - x))) } else { s + (x - 1.0) };
        (0.5 * above + (above * (0.5 * (a + 1.0))).sqrt()).ln_1p()
    } else {
        (a + ((a - 1.0) * (a + 1.0)).sqrt()).ln()
    };
    Ellipse { across, im }
}

/// Arc sine; the cuts are the real axis below −1 and above 1. Componentwise error ≤ 4 units.
#[inline(never)]
pub(in crate::ops) fn asin(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if x.is_finite() && y.is_finite() {
        let e = ellipse(x.abs(), y.abs());
        return C::new(x.abs().atan2(e.across).copysign(x), e.im.copysign(y));
    }
    if y.is_infinite() {
        let re = if x.is_infinite() { FRAC_PI_4.copysign(x) } else { 0.0 * x };
        C::new(re, y)
    } else if x.is_infinite() {
        if y.is_nan() { C::new(y, x) } else { C::new(FRAC_PI_2.copysign(x), f64::INFINITY.copysign(y)) }
    } else if x == 0.0 {
        C::new(x, y)
    } else {
        NAN
    }
}

/// Arc cosine; the cuts are those of [`asin`]. Componentwise error ≤ 4 units.
#[inline(never)]
pub(in crate::ops) fn acos(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if x.is_finite() && y.is_finite() {
        let e = ellipse(x.abs(), y.abs());
        return C::new(e.across.atan2(x), -e.im.copysign(y));
    }
    if y.is_infinite() {
        let re = if x.is_nan() {
            x
        } else if x.is_finite() {
            FRAC_PI_2
        } else {
            x.signum().acos() * 0.5 + FRAC_PI_4
        };
        C::new(re, -y)
    } else if x.is_infinite() {
        if y.is_nan() {
            C::new(y, -f64::INFINITY)
        } else {
            C::new(if x > 0.0 { 0.0 } else { PI }, (-f64::INFINITY).copysign(-y))
        }
    } else if x == 0.0 {
        C::new(FRAC_PI_2, y)
    } else {
        NAN
    }
}

/// Inverse hyperbolic sine: −i asin(i z); the cuts are the imaginary axis below −i and above i. Componentwise error ≤ 4
/// units.
#[inline(never)]
pub(in crate::ops) fn asinh(z: C) -> C {
    exchanged(asin(exchanged(z)))
}

/// Inverse hyperbolic cosine: ±i acos z, in the right half-plane; the cut is the real axis below 1. Componentwise error
/// ≤ 4 units.
#[inline(never)]
pub(in crate::ops) fn acosh(z: C) -> C {
    let w = acos(z);
    C::new(w.im.abs(), w.re.copysign(z.im))
}

/// Inverse hyperbolic tangent; the cuts are the real axis below −1 and above 1. Componentwise error ≤ 4 units.
#[inline(never)]
pub(in crate::ops) fn atanh(z: C) -> C {
    let (x, y) = (z.re.abs(), z.im.abs());
    if x.is_infinite() || y.is_infinite() {
        let im = if y.is_nan() { y } else { FRAC_PI_2.copysign(z.im) };
        return C::new(0f64.copysign(z.re), im);
    }
    if y.is_nan() || x.is_nan() {
        return if x == 0.0 { z } else { NAN };
    }
    let (re, im) = if x.max(y) >= LARGE {
        // 1 / z̄ and a quarter turn. Scaled, since the magnitude might overflow.
        let (x, y) = (0.25 * x, 0.25 * y);
        let magnitude = x.hypot(y);
        (0.25 * (x / magnitude / magnitude), FRAC_PI_2)
    } else {
        let re = if x == 1.0 && y < 1e-9 {
            0.5 * (LN_2 - y.ln())
        } else {
            0.25 * (4.0 * x / ((1.0 - x) * (1.0 - x) + y * y)).ln_1p()
        };
        (re, 0.5 * (2.0 * y).atan2((1.0 - x) * (1.0 + x) - y * y))
    };
    C::new(re.copysign(z.re), im.copysign(z.im))
}

/// Arc tangent: −i atanh(i z); the cuts are the imaginary axis below −i and above i. Componentwise error ≤ 4 units.
#[inline(never)]
pub(in crate::ops) fn atan(z: C) -> C {
    exchanged(atanh(exchanged(z)))
}
