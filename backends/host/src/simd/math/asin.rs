//! Arc sine and arc cosine: directly up to ½; beyond, x = 1 − 2s² and asin x = π/2 − 2·asin s.

use std::f64::consts::{FRAC_PI_2, PI};

use super::double::Pair;
use super::{FloatBits, flip, plain_polynomial, polynomial, sign};

/// π/2 and π, and what their roundings lost.
const ANGLES: [[f64; 2]; 2] = [[FRAC_PI_2, 6.123233995736766e-17], [PI, 1.2246467991473532e-16]];

/// (asin s − s) / s³ in s², for s ≤ ½ and results in f32.
const SHORT: &[f64] = &[
    0.16666659890361718,
    0.07500510430918338,
    0.04451574170408297,
    0.03181786131693253,
    0.014400400883772608,
    0.03756975090055004,
];

/// As [`SHORT`], for results in f64.
const LONG: &[f64] = &[
    0.1666666666666676,
    0.07499999999970608,
    0.04464285717488725,
    0.030381942691701885,
    0.02237221549703119,
    0.017351602122010014,
    0.013980945906086721,
    0.011397842869228741,
    0.010786444566649147,
    0.0036824003626326632,
    0.021767140796556308,
    -0.021085101362638758,
    0.0326832881980006,
];

/// Arc sine.
#[inline(always)]
pub(super) fn asin_plain<V: FloatBits<Elem = f64>>(x: V) -> V {
    let Reduced { beyond, s, square } = reduce(x.abs());
    let angle = s + (s * square) * plain_polynomial(square, SHORT);
    flip(V::select(beyond, x.lit(FRAC_PI_2) - (angle + angle), angle), sign(x))
}

/// Arc cosine.
#[inline(always)]
pub(super) fn acos_plain<V: FloatBits<Elem = f64>>(x: V) -> V {
    let Reduced { beyond, s, square } = reduce(x.abs());
    let angle = s + (s * square) * plain_polynomial(square, SHORT);
    let zero = x.lit(0.0);
    let start = V::select(x.less(zero), x.lit(PI), zero);
    let start = V::select(beyond, start, x.lit(FRAC_PI_2));
    // The angle counts from π/2 towards 0 with the sign of `x`, or twice from 0 or π.
    let step = V::select(beyond, -(angle + angle), angle);
    start - flip(step, sign(x))
}

/// Arc sine.
#[inline(always)]
pub(super) fn asin_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    let Angle { beyond, head, tail } = angle(x.abs());
    let sum = Pair::ordered_sum(x.lit(ANGLES[0][0]), -(head + head));
    let sum = sum.with(x.lit(ANGLES[0][1]) - (tail + tail));
    flip(V::select(beyond, sum.round(), head + tail), sign(x))
}

/// Arc cosine.
#[inline(always)]
pub(super) fn acos_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    let Angle { beyond, head, tail } = angle(x.abs());
    let zero = x.lit(0.0);
    let negative = x.less(zero);
    let (quarter, half) = (x.lit(ANGLES[0][0]), x.lit(ANGLES[1][0]));
    let (quarter_lost, half_lost) = (x.lit(ANGLES[0][1]), x.lit(ANGLES[1][1]));
    // The angle counts from π/2 towards 0 with the sign of `x`, or twice from 0 or π.
    let start = V::select(beyond, V::select(negative, half, zero), quarter);
    let start_lost = V::select(beyond, V::select(negative, half_lost, zero), quarter_lost);
    let head = flip(V::select(beyond, -(head + head), head), sign(x));
    let tail = flip(V::select(beyond, -(tail + tail), tail), sign(x));
    // The start is 0 or greater than the head.
    Pair::ordered_sum(start, -head).with(start_lost - tail).round()
}

/// s and s² of the angle that the polynomial is for.
struct Reduced<V: FloatBits> {
    beyond: V::Mask,
    s: V,
    square: V,
}

/// For x ≥ 0. NaN beyond 1.
#[inline(always)]
fn reduce<V: FloatBits>(x: V) -> Reduced<V> {
    let half = x.lit(0.5);
    let beyond = half.less(x);
    // The difference is exact from ½ on.
    let far = (x.lit(1.0) - x) * half;
    Reduced { beyond, s: V::select(beyond, far.sqrt(), x), square: V::select(beyond, far, x * x) }
}

/// asin s.
struct Angle<V: FloatBits> {
    beyond: V::Mask,
    head: V,
    /// Up to an eighth of the head.
    tail: V,
}

#[inline(always)]
fn angle<V: FloatBits>(x: V) -> Angle<V> {
    let Reduced { beyond, s, square } = reduce(x);
    let zero = x.lit(0.0);
    // What the root lost; its square is what it came from but for that.
    let lost = (-s).mul_add(s, square) / (s + s);
    let lost = V::select(beyond & zero.less(s), lost, zero);
    Angle { beyond, head: s, tail: (s * square).mul_add(polynomial(square, LONG), lost) }
}
