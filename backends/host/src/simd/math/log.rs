//! ln x = k·ln 2 + ln(1 + f) with √½ ≤ 1 + f < √2.

use super::{FloatBits, Row, polynomial};

pub(in super::super) struct Constants {
    least_normal: f64,
    /// A power of 2 that makes subnormal numbers normal, and its exponent.
    lift: [f64; 2],
    /// The bits of √½, rounded.
    root_half: i64,
    /// 2^FRACTION_BITS and its bits, and the bias of the exponent.
    unit: f64,
    unit_bits: i64,
    bias: f64,
    /// ln 2 in two parts; the product of the first with any exponent is exact.
    ln_2: [f64; 2],
    /// With s = f / (2 + f), w = s²: (ln(1 + f) − 2s) / (s·w).
    poly: &'static [f64],
}

pub(super) const F32: Constants = Constants {
    least_normal: f32::MIN_POSITIVE as f64,
    lift: [16_777_216.0, 24.0],
    root_half: 0x3f35_04f3,
    unit: 8_388_608.0,
    unit_bits: 0x4b00_0000,
    bias: 127.0,
    ln_2: [0.693145751953125, 1.428606765330187e-06],
    poly: &[0.6666666865348816, 0.4000033140182495, 0.28537535667419434, 0.23578916490077972],
};

pub(super) const F64: Constants = Constants {
    least_normal: f64::MIN_POSITIVE,
    lift: [18_014_398_509_481_984.0, 54.0],
    root_half: 0x3fe6_a09e_667f_3bcd,
    unit: 4_503_599_627_370_496.0,
    unit_bits: 0x4330_0000_0000_0000,
    bias: 1023.0,
    ln_2: [0.693147180559663, 2.8235290563031577e-13],
    poly: &[
        0.6666666666666727,
        0.39999999999451935,
        0.2857142873568324,
        0.22222199148545324,
        0.18183538832641633,
        0.15314613079013994,
        0.1479106342316267,
    ],
};

/// Natural logarithm.
#[inline(always)]
pub(in super::super) fn log<V: FloatBits>(x: V) -> V {
    let c = const { <V::Elem as Row>::LOG };
    let fraction_bits = <V::Elem as Row>::FRACTION_BITS;
    let zero = x.lit(0.0);
    let tiny = x.less(x.lit(c.least_normal));
    let normal = V::select(tiny, x * x.lit(c.lift[0]), x);

    // Counted from √½, the upper bits are the exponent and the lower ones the place in [√½, √2).
    let counted = V::bits_add(normal.to_bits(), x.bits(<V::Elem as Row>::ONE - c.root_half));
    let biased = V::bits_or(V::bits_shr(counted, fraction_bits), x.bits(c.unit_bits));
    let offset = V::select(tiny, x.lit(c.unit + c.bias + c.lift[1]), x.lit(c.unit + c.bias));
    let k = V::from_bits(biased) - offset;
    let place = V::bits_and(counted, x.bits((1 << fraction_bits) - 1));
    let f = V::from_bits(V::bits_add(place, x.bits(c.root_half))) - x.lit(1.0);

    // ln(1 + f) = f − f²/2 + s·(f²/2 + w·poly): the head f − f²/2 with all that its roundings lost.
    let half = f * x.lit(0.5);
    let half_square = f * half;
    let square_lost = f.mul_add(half, -half_square);
    let head = f - half_square;
    let head_lost = ((f - head) - half_square) - square_lost;
    let s = f / (x.lit(2.0) + f);
    let w = s * s;
    let poly = polynomial(w, c.poly);
    let small = s.mul_add(w.mul_add(poly, half_square), k.mul_add(x.lit(c.ln_2[1]), head_lost));
    // k·ln 2 is 0 or greater than the head.
    let power = k * x.lit(c.ln_2[0]);
    let sum = power + head;
    let sum_lost = (power - sum) + head;
    let result = sum + (sum_lost + small);

    // +∞ and NaN are their own logarithms.
    let result = V::select(x.less(x.lit(f64::INFINITY)), result, x);
    let edge = V::select(x.equal(zero), x.lit(f64::NEG_INFINITY), x.lit(f64::NAN));
    V::select(x.less_equal(zero), edge, result)
}
