//! Logarithms.

use std::f64::consts::{LN_2, LOG2_E, LOG10_E};

use super::double::{sum, two_product};
use super::{C, exponent, scaled};

/// The squared magnitudes whose logarithm is computed from their difference to 1, without the powers of 2 and 10 at its
/// ends.
const NEAR: std::ops::Range<f64> = 0.26..3.9;

/// ln |z|. Error ≤ 2 units; next to the circle |z| = 1 too, where |z|² − 1 is computed exactly enough (W. Kahan, "Branch
/// cuts for complex elementary functions", 1987).
pub(super) fn log_abs(z: C) -> f64 {
    near_one(z).unwrap_or_else(|| {
        let (m, e) = far_magnitude(z);
        m.ln() + f64::from(e) * LN_2
    })
}

/// ln |z| of a magnitude near 1.
fn near_one(z: C) -> Option<f64> {
    let (x, y) = (z.re.abs(), z.im.abs());
    if !NEAR.contains(&(x * x + y * y)) {
        return None;
    }
    let (p, q) = (two_product(x, x), two_product(y, y));
    Some(0.5 * sum([q.lo, p.lo, q.hi, p.hi, -1.0]).ln_1p())
}

/// (m, e) with |z| = m · 2^e, where e is 0 but of magnitudes that overflow or lose digits to underflow.
fn far_magnitude(z: C) -> (f64, i32) {
    let greatest = z.re.abs().max(z.im.abs());
    if (1e-290..=1e300).contains(&greatest) || greatest == 0.0 || greatest.is_infinite() {
        return (z.re.hypot(z.im), 0);
    }
    let e = exponent(z);
    let z = scaled(z, -e);
    (z.re.hypot(z.im), e)
}

/// Natural logarithm; the cut is the negative real axis. Componentwise error ≤ 2 units.
#[inline(never)]
pub(in crate::ops) fn log(z: C) -> C {
    C::new(log_abs(z), z.im.atan2(z.re))
}

/// ln(1 + z); the cut is the real axis below −1. Componentwise error ≤ 3 units.
#[inline(never)]
pub(in crate::ops) fn log1p(z: C) -> C {
    let (x, y) = (z.re, z.im);
    let angle = y.atan2(1.0 + x);
    if y == 0.0 && x >= -1.0 {
        return C::new(x.ln_1p(), angle);
    }
    let moved = C::new(1.0 + x, y);
    let re = if x.abs().max(y.abs()) < 1e-90 {
        // ln |1 + z|² / 2 = (2 x + x² + y²) / 2 − …, of which only y² can come near 2 x. Rounded once.
        (0.5 * y).mul_add(y, x)
    } else if NEAR.contains(&(moved.re * moved.re + y * y)) {
        let (p, q) = (two_product(x, x), two_product(y, y));
        0.5 * sum([q.lo, p.lo, q.hi, p.hi, 2.0 * x]).ln_1p()
    } else {
        log_abs(moved)
    };
    C::new(re, angle)
}

/// Logarithm to the base 2; the cut is that of [`log`]. Componentwise error ≤ 3 units; exact of powers of 2.
#[inline(never)]
pub(in crate::ops) fn log2(z: C) -> C {
    let re = near_one(z).map_or_else(
        || {
            let (m, e) = far_magnitude(z);
            m.log2() + f64::from(e)
        },
        |near| near * LOG2_E,
    );
    C::new(re, z.im.atan2(z.re) * LOG2_E)
}

/// Logarithm to the base 10; the cut is that of [`log`]. Componentwise error ≤ 3 units.
#[inline(never)]
pub(in crate::ops) fn log10(z: C) -> C {
    let re = near_one(z).map_or_else(
        || {
            let (m, e) = far_magnitude(z);
            m.log10() + f64::from(e) * std::f64::consts::LOG10_2
        },
        |near| near * LOG10_E,
    );
    C::new(re, z.im.atan2(z.re) * LOG10_E)
}
