//! Quotient and direction.

use super::{C, NAN, exponent, scaled};

/// Magnitudes of which squares, products and quotients of products neither overflow nor lose digits to underflow.
const SAFE: std::ops::RangeInclusive<f64> = 1e-140..=1e140;

/// Quotient, with the infinities of annex G: a number by 0 is infinite, infinity by a finite number is infinite, and a
/// finite number by infinity is 0. Normwise error ≤ 4 units: the textbook's formula, on operands that are first scaled by
/// powers of two where its products might overflow or underflow. A real or imaginary
/// divisor divides each part, rounded once.
#[inline(never)]
pub(in crate::ops) fn divide(x: C, y: C) -> C {
    if y.im == 0.0 {
        return C::new(x.re / y.re, x.im / y.re);
    }
    if y.re == 0.0 {
        // From 0, so that a zero has the sign that the textbook's formula gives it.
        return C::new(x.im / y.im, 0.0 - x.re / y.im);
    }
    if SAFE.contains(&x.re.abs().max(x.im.abs())) && SAFE.contains(&y.re.abs().max(y.im.abs())) {
        // A maximum passes over NaN, which spreads to both parts.
        return textbook(x, y);
    }
    if x.re.is_finite() && x.im.is_finite() && y.re.is_finite() && y.im.is_finite() {
        let (up, down) = (exponent(x), exponent(y));
        return scaled(textbook(scaled(x, -up), scaled(y, -down)), up - down);
    }
    divide_special(x, y)
}

fn textbook(x: C, y: C) -> C {
    let squared = y.re * y.re + y.im * y.im;
    C::new((x.re * y.re + x.im * y.im) / squared, (x.im * y.re - x.re * y.im) / squared)
}

/// The quotient where a part is infinite or NaN.
fn divide_special(x: C, y: C) -> C {
    let infinite = |z: C| z.re.is_infinite() || z.im.is_infinite();
    let finite = |z: C| z.re.is_finite() && z.im.is_finite();
    // An infinite number's direction, as annex G takes it: a part that is not infinite counts as 0.
    let direction = |z: C| {
        let part = |p: f64| if p.is_infinite() { p.signum() } else { 0f64.copysign(p) };
        C::new(part(z.re), part(z.im))
    };
    let turned = |x: C, y: C| C::new(x.re * y.re + x.im * y.im, x.im * y.re - x.re * y.im);
    if infinite(x) && finite(y) {
        // Signs alone, so that the products do not overflow.
        let t = turned(direction(x), scaled(y, -exponent(y)));
        C::new(f64::INFINITY * t.re, f64::INFINITY * t.im)
    } else if finite(x) && infinite(y) {
        let t = turned(scaled(x, -exponent(x)), direction(y));
        C::new(0.0 * t.re, 0.0 * t.im)
    } else {
        NAN
    }
}

/// `z / |z|`, and 0 of 0. Componentwise error ≤ 2 units. An infinite number with one infinite part has the direction of
/// that part; with two it has none, and is NaN, as is a number with a NaN.
#[inline(never)]
pub(in crate::ops) fn sign(z: C) -> C {
    if z.re.is_nan() || z.im.is_nan() {
        return NAN;
    }
    match (z.re.is_infinite(), z.im.is_infinite()) {
        (true, true) => NAN,
        (true, false) => C::new(z.re.signum(), 0f64.copysign(z.im)),
        (false, true) => C::new(0f64.copysign(z.re), z.im.signum()),
        (false, false) if z.re == 0.0 && z.im == 0.0 => C::new(0.0, 0.0),
        (false, false) => {
            // Only a magnitude that overflows or that underflows needs the scale.
            let z = if SAFE.contains(&z.re.abs().max(z.im.abs())) { z } else { scaled(z, -exponent(z)) };
            let magnitude = z.re.hypot(z.im);
            C::new(z.re / magnitude, z.im / magnitude)
        }
    }
}
