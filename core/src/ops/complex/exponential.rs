//! e^z, 2^z and e^z − 1.

use std::f64::consts::LN_2;

use super::double::{Double, Wide};
use super::{C, NAN};

/// ln 2 less the double next to it.
pub(super) const LN_2_REST: f64 = 2.319_046_813_846_299_6e-17;

/// e^709, the greatest integral power that is finite.
const POWER: f64 = f64::from_bits(0x7FDD_422D_2BE5_DC9B);

/// t · eˣ for |t| ≤ 1, without overflow on the way: x may be up to twice as great as where eˣ overflows.
fn times_exp(t: f64, x: f64) -> f64 {
    times_power(t, x, 709.0, POWER, f64::exp)
}

/// t · eˣ / 2, like [`times_exp`].
pub(super) fn times_half_exp(t: f64, x: f64) -> f64 {
    // Halving the power is exact; halving t might not be.
    times_power(t, x, 709.0, POWER, |x| 0.5 * x.exp())
}

/// t · 2ˣ for |t| ≤ 1, like [`times_exp`].
fn times_exp2(t: f64, x: f64) -> f64 {
    const POWER: f64 = f64::from_bits(0x7FE0_0000_0000_0000);
    times_power(t, x, 1023.0, POWER, f64::exp2)
}

/// t · base^x, where `power` is base^step. x − step is exact where it is used.
fn times_power(t: f64, x: f64, step: f64, power: f64, exp: fn(f64) -> f64) -> f64 {
    if x <= step || t == 0.0 {
        return if t == 0.0 { t } else { t * exp(x) };
    }
    let rest = x - step;
    if rest <= step { t * power * exp(rest) } else { t * power * power * exp(rest - step) }
}

/// e^z of an angle that is infinite or NaN.
fn without_angle(z: C) -> C {
    if z.re == f64::NEG_INFINITY {
        C::new(0.0, 0f64.copysign(z.im))
    } else if z.re == f64::INFINITY {
        C::new(f64::INFINITY, f64::NAN)
    } else {
        NAN
    }
}

/// e^z. Componentwise error ≤ 3 units.
#[inline(never)]
pub(in crate::ops) fn exp(z: C) -> C {
    if z.im == 0.0 {
        return C::new(z.re.exp(), z.im);
    }
    if !z.im.is_finite() {
        return without_angle(z);
    }
    let (sin, cos) = z.im.sin_cos();
    C::new(times_exp(cos, z.re), times_exp(sin, z.re))
}

/// The cosine and sine of an angle of twice the precision.
fn cis(angle: Double) -> (f64, f64) {
    let (sin, cos) = angle.hi.sin_cos();
    let (s, c) = if angle.lo.abs() < 1e-8 { (angle.lo, 1.0) } else { angle.lo.sin_cos() };
    (cos * c - sin * s, sin * c + cos * s)
}

/// e^(re + i im). The parts are finite.
pub(super) fn exp_double(re: Double, im: Double) -> C {
    let (cos, sin) = cis(im);
    // The low part of the exponent is tiny where the power is neither 0 nor infinite.
    let more = re.lo.clamp(-1e-8, 1e-8);
    let times = |t: f64| {
        let power = times_exp(t, re.hi);
        if power.is_finite() { power + power * more } else { power }
    };
    C::new(times(cos), times(sin))
}

/// 2^z. Componentwise error ≤ 4 units up to an imaginary part of 2⁴⁸ in magnitude; beyond, the error of the angle is
/// 2⁻¹⁰⁶ of the imaginary part, in radians.
#[inline(never)]
pub(in crate::ops) fn exp2(z: C) -> C {
    if z.im == 0.0 {
        return C::new(z.re.exp2(), z.im);
    }
    if !z.im.is_finite() {
        return without_angle(z);
    }
    let hi = z.im * LN_2;
    // Fused, since the imaginary part may be too great to be split.
    let (cos, sin) = cis(Double { hi, lo: z.im.mul_add(LN_2, -hi) + z.im * LN_2_REST });
    C::new(times_exp2(cos, z.re), times_exp2(sin, z.re))
}

/// e^z − 1. Normwise error ≤ 3 units; componentwise ≤ 4 units where the real part is at least 2⁻²⁰ of the magnitude and
/// both parts are below 2.5. Farther out the real part has fewer digits next to the curve where it is 0.
#[inline(never)]
pub(in crate::ops) fn expm1(z: C) -> C {
    if z.im == 0.0 {
        // The standard has +0 of either zero.
        return C::new(if z.re == 0.0 { 0.0 } else { z.re.exp_m1() }, z.im);
    }
    if !z.im.is_finite() {
        let power = without_angle(z);
        return C::new(power.re - 1.0, power.im);
    }
    let (sin, cos) = z.im.sin_cos();
    let re = if z.re.abs() > 40.0 {
        times_exp(cos, z.re) - 1.0
    } else {
        // eˣ cos y − 1 with no difference of numbers near 1.
        let half = (0.5 * z.im).sin();
        let below = 2.0 * half * half;
        let re = z.re.exp_m1() * cos - below;
        // Next to the curve where the real part is 0 the terms cancel; around the origin that is mended.
        let cancels = re.abs() < 0.25 * below && z.re.abs().max(z.im.abs()) < 2.5;
        if cancels { Wide::expm1(z).re.hi } else { re }
    };
    C::new(re, times_exp(sin, z.re))
}
