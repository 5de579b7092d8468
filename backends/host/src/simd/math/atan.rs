//! Angles: the quotient of the smaller by the larger coordinate, folded once more at π/8.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use super::{FloatBits, Row, flip, polynomial, sign};

pub(in super::super) struct Constants {
    tan_eighth: f64,
    /// π/4, π/2, 3π/4 and π, and what their roundings lost.
    angles: [[f64; 2]; 4],
    /// (atan z − z) / z³ in z².
    poly: &'static [f64],
    /// A coordinate beyond the first is made smaller by the second factor, one below the third larger by the fourth.
    scaling: [f64; 4],
}

pub(super) const F32: Constants = Constants {
    tan_eighth: 0.4142135679721832,
    angles: [
        [0.7853981852531433, -2.1855694143368964e-08],
        [1.5707963705062866, -4.371138828673793e-08],
        [2.356194496154785, -5.962440319251527e-09],
        [3.1415927410125732, -8.742277657347586e-08],
    ],
    poly: &[
        -0.33333316445350647,
        0.1999848335981369,
        -0.14243699610233307,
        0.10594727098941803,
        -0.06079868972301483,
    ],
    scaling: [
        f32::from_bits((127 + 100) << 23) as f64,
        f32::from_bits((127 - 60) << 23) as f64,
        f32::from_bits((127 - 60) << 23) as f64,
        f32::from_bits((127 + 80) << 23) as f64,
    ],
};

pub(super) const F64: Constants = Constants {
    tan_eighth: 0.41421356237309503,
    angles: [
        [FRAC_PI_4, 3.061616997868383e-17],
        [FRAC_PI_2, 6.123233995736766e-17],
        [2.356194490192345, 9.184850993605148e-17],
        [PI, 1.2246467991473532e-16],
    ],
    poly: &[
        -0.333333333333332,
        0.19999999999954057,
        -0.14285714280226422,
        0.11111110784340293,
        -0.09090897769509036,
        0.07692060228173189,
        -0.0666310230177163,
        0.058478644895658766,
        -0.050391442260693996,
        0.03805936629837766,
        -0.017900404774288368,
    ],
    scaling: [
        f64::from_bits((1023 + 1000) << 52),
        f64::from_bits((1023 - 500) << 52),
        f64::from_bits((1023 - 500) << 52),
        f64::from_bits((1023 + 600) << 52),
    ],
};

/// The angle in [0, π] of a point in the upper half plane. `larger` and `smaller` are the magnitudes of its
/// coordinates, the larger finite and not 0; `steep` where the larger is that of y; `behind` where x is negative.
#[inline(always)]
fn angle<V: FloatBits>(larger: V, smaller: V, steep: V::Mask, behind: V::Mask) -> V {
    let c = const { <V::Elem as Row>::ATAN };
    let zero = larger.lit(0.0);

    // Beyond π/8, atan(b / a) = π/4 + atan((b − a) / (b + a)).
    let folded = (larger * larger.lit(c.tan_eighth)).less(smaller);
    let (difference, sum) = (smaller - larger, larger + smaller);
    let above = V::select(folded, difference, smaller);
    let above_lost = V::select(folded, smaller - (difference + larger), zero);
    let below = V::select(folded, sum, larger);
    let below_lost = V::select(folded, smaller - (sum - larger), zero);
    let z = above / below;
    let rest = (-z).mul_add(below, above) + (-z).mul_add(below_lost, above_lost);
    let z_lost = rest / below;
    let square = z * z;
    let tail = (z * square).mul_add(polynomial(square, c.poly), (-square).mul_add(z_lost, z_lost));

    let pick = |part: usize| {
        let lit = |i: usize| larger.lit(c.angles[i][part]);
        let unfolded = V::select(steep, lit(1), V::select(behind, lit(3), zero));
        V::select(folded, V::select(behind, lit(2), lit(0)), unfolded)
    };
    let minus = V::select(steep ^ behind, larger.lit(-0.0), zero).to_bits();
    let (z, tail) = (flip(z, minus), flip(tail, minus));
    let start = pick(0);
    let head = start + z;
    head + ((z - (head - start)) + (tail + pick(1)))
}

/// Arc tangent.
#[inline(always)]
pub(in super::super) fn atan<V: FloatBits>(x: V) -> V {
    let c = const { <V::Elem as Row>::ATAN };
    let one = x.lit(1.0);
    let magnitude = x.abs();
    let steep = one.less(magnitude);
    // Far out the angle is π/2 whatever the number, which need not overflow.
    let larger = V::select(steep, magnitude.at_most(x.lit(c.scaling[0])), one);
    let smaller = V::select(steep, one, magnitude);
    flip(angle(larger, smaller, steep, one.less(one)), sign(x))
}

/// The angle of the point (`x`, `y`).
#[inline(always)]
pub(in super::super) fn atan2<V: FloatBits>(y: V, x: V) -> V {
    let c = const { <V::Elem as Row>::ATAN };
    let (zero, one, infinity) = (x.lit(0.0), x.lit(1.0), x.lit(f64::INFINITY));
    let (y_size, x_size) = (y.abs(), x.abs());
    let steep = x_size.less(y_size);
    let larger = V::select(steep, y_size, x_size);
    let smaller = V::select(steep, x_size, y_size);

    // An infinite point stands for its direction.
    let endless = larger.equal(infinity);
    let smaller = V::select(endless, V::select(smaller.equal(infinity), one, zero), smaller);
    let larger = V::select(endless | larger.equal(zero), one, larger);
    let [huge, shrink, tiny, grow] = c.scaling;
    let factor = V::select(larger.less(x.lit(tiny)), x.lit(grow), one);
    let factor = V::select(x.lit(huge).less(larger), x.lit(shrink), factor);

    let behind = V::bits_equal(sign(x), x.lit(-0.0).to_bits());
    let result = flip(angle(larger * factor, smaller * factor, steep, behind), sign(y));
    V::select(x.equal(x) & y.equal(y), result, x + y)
}
