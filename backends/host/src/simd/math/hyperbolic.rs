//! Hyperbolic functions from x = k·ln 2 + r, and their inverses from ln(1 + v).

use super::double::Pair;
use super::{FloatBits, Row, exp, flip, log, plain_polynomial, polynomial, power, sign};

/// (sinh r) / r in r² to the precision of f32.
const SINE_SINGLE: &[f64] =
    &[0.9999999999954341, 0.16666666787789866, 0.008333283130502907, 0.0001990783973893972];
/// (cosh r − 1) / r² in r² to the precision of f32.
const COSINE_SINGLE: &[f64] = &[0.5000000079840633, 0.04166626450966685, 0.0013946421773445349];

/// (sinh r − r) / r³ in r².
const SINE: &[f64] = &[
    0.16666666666666677,
    0.008333333333321487,
    0.0001984126988656145,
    2.7557243710533687e-06,
    2.5109229474857907e-08,
];
/// (cosh r − 1 − r²/2) / r⁴ in r².
const COSINE: &[f64] = &[
    0.04166666666666668,
    0.0013888888888877052,
    2.4801587342000446e-05,
    2.7557257647169857e-07,
    2.0920068378168637e-09,
];

/// From here on sinh and cosh overflow.
const LIMIT: f64 = 711.0;

/// What sinh and cosh are made of to the precision of f32: (2ᵏ + 2⁻ᵏ) / 2, (2ᵏ − 2⁻ᵏ) / 2, cosh r and sinh r.
#[inline(always)]
fn parts_plain<D: FloatBits<Elem = f64>>(x: D) -> [D; 4] {
    let half = x.lit(0.5);
    let (magic_k, r) = exp::reduce_plain(x.abs().at_most(x.lit(91.0)));
    let magic = x.lit(f64::MAGIC);
    let (up, down) = (half * power(magic_k), half * power(magic - (magic_k - magic)));
    let square = r * r;
    let cosine = x.lit(1.0) + square * plain_polynomial(square, COSINE_SINGLE);
    [up + down, up - down, cosine, r * plain_polynomial(square, SINE_SINGLE)]
}

/// Hyperbolic sine.
#[inline(always)]
pub(super) fn sinh_plain<D: FloatBits<Elem = f64>>(x: D) -> D {
    let [sum, difference, cosine, sine] = parts_plain(x);
    flip(difference * cosine + sum * sine, sign(x))
}

/// Hyperbolic cosine.
#[inline(always)]
pub(super) fn cosh_plain<D: FloatBits<Elem = f64>>(x: D) -> D {
    let [sum, difference, cosine, sine] = parts_plain(x);
    sum * cosine + difference * sine
}

/// What sinh and cosh are made of: with |x| = k·ln 2 + r, sinh |x| / 2^(k − 1) = (1 − 2⁻²ᵏ)·cosh r + (1 + 2⁻²ᵏ)·sinh r, and
/// for cosh |x| the two factors change places.
struct Parts<V> {
    k: V,
    /// 1 − 2⁻²ᵏ.
    difference: Pair<V>,
    /// 1 + 2⁻²ᵏ.
    sum: Pair<V>,
    /// r.
    r: Pair<V>,
    /// cosh r − 1.
    cosine: V,
    /// sinh r − r.
    sine: V,
}

#[inline(always)]
fn parts<V: FloatBits<Elem = f64>>(x: V) -> Parts<V> {
    let one = x.lit(1.0);
    let exp::Reduced { k, head, r, .. } = exp::reduce(x.abs().at_most(x.lit(LIMIT)));
    let tail = exp::less_lower(k, head - r);
    // From 2²⁰⁰ on the smaller power counts for nothing.
    let ratio = k.at_most(x.lit(100.0));
    let ratio = power(x.lit(f64::MAGIC) - (ratio + ratio));
    let square = r * r;
    let cosine = (square * square).mul_add(polynomial(square, COSINE), r.mul_add(tail, square * x.lit(0.5)));
    let sine = (square * r) * polynomial(square, SINE);
    Parts {
        k,
        difference: Pair::ordered_sum(one, -ratio),
        sum: Pair::ordered_sum(one, ratio),
        r: Pair { head: r, tail },
        cosine,
        sine,
    }
}

/// (`even`·cosh r + `odd`·sinh r)·2^(k − 1).
#[inline(always)]
fn combined<V: FloatBits<Elem = f64>>(parts: Parts<V>, even: Pair<V>, odd: Pair<V>) -> V {
    let Parts { k, r, cosine, sine, .. } = parts;
    let linear = Pair::product(odd.head, r.head);
    // `even` is 0 or greater than the linear term.
    let sum = Pair::ordered_sum(even.head, linear.head);
    let lost = odd.tail.mul_add(r.head, even.tail) + (linear.tail + sum.tail);
    let curved = even.head.mul_add(cosine, odd.head * (sine + r.tail));
    (sum.head + (lost + curved)).scale(k - k.lit(1.0))
}

/// Hyperbolic sine.
#[inline(always)]
pub(super) fn sinh_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    let parts = parts(x);
    let (even, odd) = (parts.difference, parts.sum);
    flip(combined(parts, even, odd), sign(x))
}

/// Hyperbolic cosine.
#[inline(always)]
pub(super) fn cosh_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    let parts = parts(x);
    let (even, odd) = (parts.sum, parts.difference);
    combined(parts, even, odd)
}

/// Inverse hyperbolic sine.
#[inline(always)]
pub(super) fn asinh_plain<D: FloatBits<Elem = f64>>(x: D) -> D {
    let (one, size) = (x.lit(1.0), x.abs());
    let square = size * size;
    let result = log::log1p_plain(size + square / (one + (square + one).sqrt()), log::SINGLE);
    flip(D::select(size.less(x.lit(f64::INFINITY)), result, size), sign(x))
}

/// Where x² − 1 and x² + 1 are x² beyond the result's precision, and x² does not overflow.
const FAR: f64 = (1u64 << 60) as f64;

/// Inverse hyperbolic sine: ln(1 + v) with v = x + (√(x² + 1) − 1).
#[inline(always)]
pub(super) fn asinh_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    let (one, size) = (x.lit(1.0), x.abs());
    let limited = size.at_most(x.lit(FAR));
    let square = Pair::product(limited, limited);
    let root = Pair::sum(square.head, one).with(square.tail).renewed().root();
    let sum = Pair::sum(limited, root.head - one).with(root.tail).renewed();
    let result = log_far(size, sum);
    // Below, x³/6 is beyond the precision, and what is left of x in the sum is not enough.
    let near = size.less(x.lit(1.0 / (1u64 << 30) as f64));
    let result = V::select(size.less(x.lit(f64::INFINITY)) & !near, result, size);
    flip(result, sign(x))
}

/// ln(1 + v), or ln(2·size) from [`FAR`] on.
#[inline(always)]
fn log_far<V: FloatBits<Elem = f64>>(size: V, v: Pair<V>) -> V {
    let (zero, one) = (size.lit(0.0), size.lit(1.0));
    let far = size.lit(FAR).less(size);
    let v = Pair { head: V::select(far, size, v.head), tail: V::select(far, zero, v.tail) };
    log::log1p_pair(v, V::select(far, one, zero)).round()
}

/// Inverse hyperbolic cosine.
#[inline(always)]
pub(super) fn acosh_plain<D: FloatBits<Elem = f64>>(x: D) -> D {
    let less = x - x.lit(1.0);
    let result = log::log1p_plain(less + (less * (x + x.lit(1.0))).sqrt(), log::SINGLE);
    acosh_edges(x, result)
}

/// No angle below 1, 0 there, and ∞ and NaN as they are.
#[inline(always)]
fn acosh_edges<V: FloatBits>(x: V, result: V) -> V {
    let one = x.lit(1.0);
    let result = V::select(x.equal(one), x.lit(0.0), result);
    let result = V::select(x.less(x.lit(f64::INFINITY)), result, x);
    V::select(x.less(one), x.lit(f64::NAN), result)
}

/// Inverse hyperbolic cosine: ln(1 + v) with v = (x − 1) + √(x² − 1).
#[inline(always)]
pub(super) fn acosh_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    let one = x.lit(1.0);
    let limited = x.at_most(x.lit(FAR));
    let square = Pair::product(limited, limited);
    let root = Pair::sum(square.head, -one).with(square.tail).renewed().root();
    acosh_edges(x, log_far(x, Pair::sum(limited, -one).plus(root)))
}

/// Inverse hyperbolic tangent.
#[inline(always)]
pub(super) fn atanh_plain<D: FloatBits<Elem = f64>>(x: D) -> D {
    let (one, size) = (x.lit(1.0), x.abs());
    let result = log::log1p_plain((size + size) / (one - size), log::SINGLE) * x.lit(0.5);
    flip(atanh_edges(size, result), sign(x))
}

/// ∞ at 1, no angle beyond.
#[inline(always)]
fn atanh_edges<V: FloatBits>(size: V, result: V) -> V {
    let one = size.lit(1.0);
    let edge = V::select(size.equal(one), size.lit(f64::INFINITY), size.lit(f64::NAN));
    V::select(size.less(one), result, edge)
}

/// Inverse hyperbolic tangent: ½·ln(1 + v) with v = 2x / (1 − x).
#[inline(always)]
pub(super) fn atanh_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    let (one, size) = (x.lit(1.0), x.abs());
    let quotient = Pair::of(size + size).over(Pair::ordered_sum(one, -size));
    let result = log::log1p_pair(quotient, x.lit(0.0)).round() * x.lit(0.5);
    flip(atanh_edges(size, result), sign(x))
}
