//! Powers and the square root.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2};

use super::double::{Double, Wide, two_product, two_sum};
use super::exponential::{LN_2_REST, exp, exp_double};
use super::logarithm::log;
use super::{C, NAN, divide, exponent, scaled};

/// Square root; the cut is the negative real axis. Componentwise error ≤ 3 units; of a real number, each part is
/// correctly rounded (W. Kahan, "Branch cuts for complex elementary functions", 1987).
#[inline(never)]
pub(in crate::ops) fn sqrt(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if y.is_infinite() {
        return C::new(f64::INFINITY, y);
    }
    if x.is_infinite() {
        let rest = if y.is_nan() { y } else { 0.0 };
        return if x > 0.0 { C::new(x, rest.copysign(y)) } else { C::new(rest, f64::INFINITY.copysign(y)) };
    }
    if x.is_nan() || y.is_nan() {
        return NAN;
    }
    if x == 0.0 && y == 0.0 {
        return C::new(0.0, y);
    }
    // Even powers of two, of which the root is exact; no greater than it takes, lest the lesser part underflow.
    let greatest = x.abs().max(y.abs());
    if greatest > 1e300 {
        return scaled(halved(scaled(z, -4)), 2);
    }
    if greatest < 1e-290 {
        return scaled(halved(scaled(z, 108)), -54);
    }
    halved(z)
}

/// The square root where no intermediate result overflows or underflows.
fn halved(z: C) -> C {
    let greater = (0.5 * (z.re.abs() + z.re.hypot(z.im))).sqrt();
    let lesser = 0.5 * (z.im.abs() / greater);
    if z.re >= 0.0 { C::new(greater, lesser.copysign(z.im)) } else { C::new(lesser, greater.copysign(z.im)) }
}

/// Principal value of `x` to the power `y`; the cut in `x` is the negative real axis. Normwise error ≤ 4 units, whatever
/// the size of `y` log `x`, up to an angle of 2²⁰.
///
/// Special values are those of exp(`y` log `x`), with the zero imaginary part of a real exponent or base taken for none:
/// anything to the power 0 is 1; 0 to a power is 0 where the exponent's real part is positive, infinite where it is
/// negative, else NaN.
#[inline(never)]
pub(in crate::ops) fn pow(x: C, y: C) -> C {
    if y.re == 0.0 && y.im == 0.0 {
        return C::new(1.0, 0.0);
    }
    if x.re == 0.0 && x.im == 0.0 {
        return if y.im.is_nan() {
            NAN
        } else if y.re > 0.0 {
            C::new(0.0, 0.0)
        } else if y.re < 0.0 {
            C::new(f64::INFINITY, f64::NAN)
        } else {
            NAN
        };
    }
    if y.im == 0.0 {
        if x.im == 0.0 && x.re > 0.0 {
            let power = x.re.powf(y.re);
            return if power.is_nan() { NAN } else { C::new(power, if y.re < 0.0 { -x.im } else { x.im }) };
        }
        let n = y.re as i32;
        if f64::from(n) == y.re && n.unsigned_abs() <= MOST_FACTORS && x.re.is_finite() && x.im.is_finite() {
            return integral_power(x, n);
        }
    }
    if x.re.is_finite() && x.im.is_finite() && y.re.is_finite() && y.im.is_finite() {
        // Where the exponent is small, its error is of no weight.
        let plain = log(x) * y;
        if plain.re.abs().max(plain.im.abs()) < 0.75 {
            return exp(plain);
        }
        // The product is of split factors; with one beyond, it has no digit that matters.
        if y.re.abs().max(y.im.abs()) < 1e290 {
            let exponent = log_wide(x) * y;
            return exp_double(exponent.re, exponent.im);
        }
    }
    let w = log(x);
    // A factor 0 makes its product 0, whatever the other: it stands for a real number's missing part.
    let product = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
    exp(C::new(product(y.re, w.re) - product(y.im, w.im), product(y.re, w.im) + product(y.im, w.re)))
}

/// The greatest exponent that is multiplied out: powers of scaled operands up to it neither overflow nor underflow.
const MOST_FACTORS: u32 = 512;

/// `x` to an integral power, |n| ≤ [`MOST_FACTORS`], by squaring. Exact where the result fits.
fn integral_power(x: C, n: i32) -> C {
    let e = exponent(x);
    let mut square = Wide::from(scaled(x, -e));
    let mut power = Wide::from(C::new(1.0, 0.0));
    let mut bits = n.unsigned_abs();
    loop {
        if bits & 1 == 1 {
            power = power * square;
        }
        bits >>= 1;
        if bits == 0 {
            break;
        }
        square = square * square;
    }
    let power = power.rounded();
    let power = if n < 0 { divide(C::new(1.0, 0.0), power) } else { power };
    scaled(power, e * n)
}

/// The natural logarithm in twice the precision, of a number that is finite and not 0.
fn log_wide(z: C) -> Wide {
    // z = 2^e · m with |m| in [√½, √2].
    let mut e = exponent(z);
    let mut m = scaled(z, -e);
    if m.re.hypot(m.im) < FRAC_1_SQRT_2 {
        m *= 2.0;
        e -= 1;
    }
    // A step of Newton's method: with w near log m, log m = w + log(1 + d), where 1 + d = m e^−w.
    let w = log(m);
    let less = Wide { re: two_sum(m.re, -1.0), im: m.im.into() };
    let d = less + Wide::expm1(-w) * m;
    let (a, b) = (d.re.hi, d.im.hi);
    let second = Wide::from(C::new(0.5 * (b - a) * (b + a), -a * b));
    let power = two_product(f64::from(e), LN_2) + Double::from(f64::from(e) * LN_2_REST);
    let near = Wide::from(w) + d + second;
    Wide { re: power + near.re, im: near.im }
}
