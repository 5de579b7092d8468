//! ln x = k·ln 2 + ln(1 + f) with √½ ≤ 1 + f < √2, and what is made of it.

use super::double::Pair;
use super::{FloatBits, Row, exp, plain_polynomial, polynomial, power};

pub(in super::super) struct Constants {
    pub(super) least_normal: f64,
    /// A power of 2 that makes subnormal numbers normal, and its exponent.
    lift: [f64; 2],
    /// The bits of √½, rounded.
    root_half: i64,
    /// 2^FRACTION_BITS and its bits, and the bias of the exponent.
    pub(super) unit: f64,
    pub(super) unit_bits: i64,
    pub(super) bias: f64,
    /// ln 2 in two parts; the product of the first with any exponent is exact.
    pub(super) ln_2: [f64; 2],
}

pub(super) const F32: Constants = Constants {
    least_normal: f32::MIN_POSITIVE as f64,
    lift: [16_777_216.0, 24.0],
    root_half: 0x3f35_04f3,
    unit: 8_388_608.0,
    unit_bits: 0x4b00_0000,
    bias: 127.0,
    ln_2: [0.693145751953125, 1.428606765330187e-06],
};

pub(super) const F64: Constants = Constants {
    least_normal: f64::MIN_POSITIVE,
    lift: [18_014_398_509_481_984.0, 54.0],
    root_half: 0x3fe6_a09e_667f_3bcd,
    unit: 4_503_599_627_370_496.0,
    unit_bits: 0x4330_0000_0000_0000,
    bias: 1023.0,
    ln_2: [0.693147180559663, 2.8235290563031577e-13],
};

/// With s = f / (2 + f), w = s²: (ln(1 + f) − 2s) / (s·w).
const DOUBLE: &[f64] = &[
    0.6666666666666727,
    0.39999999999451935,
    0.2857142873568324,
    0.22222199148545324,
    0.18183538832641633,
    0.15314613079013994,
    0.1479106342316267,
];

/// A positive number as a normal one, and what is to be taken from the exponent's biased count.
#[inline(always)]
pub(super) fn lifted<V: FloatBits>(x: V) -> (V, V) {
    let c = const { <V::Elem as Row>::LOG };
    let tiny = x.less(x.lit(c.least_normal));
    let normal = V::select(tiny, x * x.lit(c.lift[0]), x);
    (normal, V::select(tiny, x.lit(c.unit + c.bias + c.lift[1]), x.lit(c.unit + c.bias)))
}

/// k and f of a positive number; subnormal ones too.
#[inline(always)]
pub(super) fn split<V: FloatBits>(x: V) -> (V, V) {
    let (normal, offset) = lifted(x);
    split_normal(normal, offset)
}

/// k and f of a positive normal number; `offset` is taken from the exponent's biased count.
#[inline(always)]
fn split_normal<V: FloatBits>(x: V, offset: V) -> (V, V) {
    let c = const { <V::Elem as Row>::LOG };
    let fraction_bits = <V::Elem as Row>::FRACTION_BITS;
    // Counted from √½, the upper bits are the exponent and the lower ones the place in [√½, √2).
    let counted = V::bits_add(x.to_bits(), x.bits(<V::Elem as Row>::ONE - c.root_half));
    let biased = V::bits_or(V::bits_shr(counted, fraction_bits), x.bits(c.unit_bits));
    let k = V::from_bits(biased) - offset;
    let place = V::bits_and(counted, x.bits((1 << fraction_bits) - 1));
    let f = V::from_bits(V::bits_add(place, x.bits(c.root_half))) - x.lit(1.0);
    (k, f)
}

/// ln(1 + f) = f − f²/2 + s·(f²/2 + w·poly) with s = f / (2 + f) and w = s².
struct Near<V> {
    /// f − f²/2, and all that its roundings lost.
    head: Pair<V>,
    s: V,
    /// f²/2 + w·poly.
    rest: V,
}

#[inline(always)]
fn near<V: FloatBits<Elem = f64>>(f: V) -> Near<V> {
    let half = f * f.lit(0.5);
    let half_square = f * half;
    let square_lost = f.mul_add(half, -half_square);
    let head = f - half_square;
    let head_lost = ((f - head) - half_square) - square_lost;
    let head = Pair { head, tail: head_lost };
    let s = f / (f.lit(2.0) + f);
    let w = s * s;
    Near { head, s, rest: w.mul_add(polynomial(w, DOUBLE), half_square) }
}

/// k·ln 2 + ln(1 + f), where `lost` is missing from the head of `near`.
#[inline(always)]
fn joined<V: FloatBits<Elem = f64>>(k: V, near: Near<V>, lost: V) -> Pair<V> {
    let [upper, lower] = F64.ln_2;
    let small = near.s.mul_add(near.rest, k.mul_add(k.lit(lower), lost));
    // k·ln 2 is 0 or greater than the head.
    let power = k * k.lit(upper);
    let sum = power + near.head.head;
    let sum_lost = (power - sum) + near.head.head;
    Pair { head: sum, tail: sum_lost + small }
}

/// `result` for positive numbers; the logarithms of the others, of +∞ and NaN in any base.
#[inline(always)]
fn with_edges<V: FloatBits>(x: V, result: V) -> V {
    let zero = x.lit(0.0);
    // +∞ and NaN are their own logarithms.
    let result = V::select(x.less(x.lit(f64::INFINITY)), result, x);
    let edge = V::select(x.equal(zero), x.lit(f64::NEG_INFINITY), x.lit(f64::NAN));
    V::select(x.less_equal(zero), edge, result)
}

/// Natural logarithm, from `sum`, which adds up k·ln 2 and ln(1 + f) of a positive number.
#[inline(always)]
fn natural<V: FloatBits>(x: V, sum: impl Fn(V, V) -> V) -> V {
    let c = const { <V::Elem as Row>::LOG };
    let normal = x.lit(c.least_normal).less_equal(x) & x.less(x.lit(f64::INFINITY));
    if V::any(!normal) {
        let (k, f) = split(x);
        return with_edges(x, sum(k, f));
    }
    let (k, f) = split_normal(x, x.lit(c.unit + c.bias));
    sum(k, f)
}

/// (ln(1 + f) − f) / f² to the precision of f32.
const QUADRATIC: &[f64] =
    &[-0.5, 0.3333333, -0.2500082, 0.20001225, -0.1662336, 0.14201787, -0.13160193, 0.12761378, -0.07634206];

/// Natural logarithm, without a division: only two of the sums round what counts.
#[inline(always)]
pub(super) fn log_f32<V: FloatBits<Elem = f32>>(x: V) -> V {
    natural(
        x,
        #[inline(always)]
        |k, f| {
            let [upper, lower] = F32.ln_2;
            let rest = (f * f).mul_add(polynomial(f, QUADRATIC), k * k.lit(lower));
            k.mul_add(k.lit(upper), f + rest)
        },
    )
}

/// Natural logarithm.
#[inline(always)]
pub(super) fn log_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    natural(
        x,
        #[inline(always)]
        |k, f| {
            let near = near(f);
            let lost = near.head.tail;
            joined(k, near, lost).round()
        },
    )
}

/// With s = f / (2 + f), w = s²: (ln(1 + f) − 2s) / (s·w) to the precision of f32.
pub(super) const SINGLE: &[f64] =
    &[0.6666666567671873, 0.40000330296864073, 0.28537536267624736, 0.2357891636883148];

/// ln(1 + f) with a relative error of 2⁻³⁷.
#[inline(always)]
pub(super) fn near_plain<D: FloatBits<Elem = f64>>(f: D, coefficients: &'static [f64]) -> D {
    let two = f.lit(2.0);
    let s = f / (two + f);
    let w = s * s;
    s * (two + w * plain_polynomial(w, coefficients))
}

/// k and f of a positive number that came from f32.
#[inline(always)]
fn split_plain<D: FloatBits<Elem = f64>>(x: D) -> (D, D) {
    split_normal(x, x.lit(F64.unit + F64.bias))
}

/// Logarithm to base 2.
#[inline(always)]
pub(super) fn log2_plain<D: FloatBits<Elem = f64>>(x: D) -> D {
    let (k, f) = split_plain(x);
    with_edges(x, k + near_plain(f, SINGLE) * x.lit(std::f64::consts::LOG2_E))
}

/// Logarithm to base 2.
#[inline(always)]
pub(super) fn log2_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    let (k, f) = split(x);
    in_base(x, k, k.lit(0.0), f, [std::f64::consts::LOG2_E, 2.0355273740931033e-17])
}

/// Decadic logarithm.
#[inline(always)]
pub(super) fn log10_plain<D: FloatBits<Elem = f64>>(x: D) -> D {
    let (k, f) = split_plain(x);
    let power = k * x.lit(std::f64::consts::LOG10_2);
    with_edges(x, power + near_plain(f, SINGLE) * x.lit(std::f64::consts::LOG10_E))
}

/// Decadic logarithm.
#[inline(always)]
pub(super) fn log10_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    let (k, f) = split(x);
    // log₁₀ 2 in two parts; the product of the first with any exponent is exact.
    let [upper, lower] = [0.30102999566383914, 1.42050232272661e-13];
    let (power, rest) = (k * x.lit(upper), k * x.lit(lower));
    in_base(x, power, rest, f, [std::f64::consts::LOG10_E, 1.098319650216765e-17])
}

/// `power` + `rest` + `factor` · ln(1 + f), with the factor in two parts.
#[inline(always)]
fn in_base<V: FloatBits<Elem = f64>>(x: V, power: V, rest: V, f: V, factor: [f64; 2]) -> V {
    let near = near(f);
    let natural = Pair::ordered_sum(near.head.head, near.s.mul_add(near.rest, near.head.tail));
    let (upper, lower) = (x.lit(factor[0]), x.lit(factor[1]));
    let product = Pair::product(natural.head, upper);
    let product_lost = natural.tail.mul_add(upper, natural.head.mul_add(lower, product.tail));
    let sum = Pair::ordered_sum(power, product.head);
    with_edges(x, sum.with(product_lost + rest).round())
}

/// ln(1 + x).
#[inline(always)]
pub(super) fn log1p_whole_plain<D: FloatBits<Elem = f64>>(x: D) -> D {
    let result = with_edges(x.lit(1.0) + x, log1p_plain(x, SINGLE));
    D::select(x.equal(x.lit(0.0)), x, result)
}

/// ln(1 + x) with a relative error of 2⁻³⁷, or that of the coefficients, for −1 < x < ∞.
#[inline(always)]
pub(super) fn log1p_plain<D: FloatBits<Elem = f64>>(x: D, coefficients: &'static [f64]) -> D {
    let (k, f) = split_plain(x.lit(1.0) + x);
    // Where the sum is in [√½, √2), f is x, of which the sum has lost much.
    let f = D::select(k.equal(x.lit(0.0)), x, f);
    k * x.lit(std::f64::consts::LN_2) + near_plain(f, coefficients)
}

/// ln(1 + x).
#[inline(always)]
pub(super) fn log1p_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    let zero = x.lit(0.0);
    let result = with_edges(x.lit(1.0) + x, log1p_pair(Pair::of(x), zero).round());
    V::select(x.equal(zero), x, result)
}

/// extra·ln 2 + ln(1 + x) for −1 < x < ∞, with an error of 2⁻⁴ units of the last place before it is rounded.
#[inline(always)]
pub(super) fn log1p_pair<V: FloatBits<Elem = f64>>(x: Pair<V>, extra: V) -> Pair<V> {
    let (zero, one, limit) = (extra.lit(0.0), extra.lit(1.0), extra.lit(100.0));
    let sum = Pair::sum(one, x.head).with(x.tail);
    let (k, f) = split_normal(sum.head, extra.lit(F64.unit + F64.bias));
    let lost = sum.tail * power(extra.lit(f64::MAGIC) - k.at_most(limit));
    // Far out the tail counts for nothing.
    let lost = V::select(k.less(limit), lost, zero);
    // Where the sum is in [√½, √2), f is x, of which the sum has lost much.
    let whole = k.equal(zero);
    let (f, lost) = (V::select(whole, x.head, f), V::select(whole, x.tail, lost));
    let near = near(f);
    // ln(1 + f + lost) = ln(1 + f) + lost / (1 + f), and 1 / (1 + f) = (1 − s) / (1 + s).
    let less = one - near.s;
    let slope = (less * less) * near.s.mul_add(near.s, one);
    let lost = lost.mul_add(slope, near.head.tail);
    joined(k + extra, near, lost)
}

/// ln(eˣ + eʸ).
#[inline(always)]
pub(super) fn logaddexp_plain<D: FloatBits<Elem = f64>>(x: D, y: D) -> D {
    let one = x.lit(1.0);
    let greater = x.maximum(y);
    // All the precision of the lanes: the sum below may cancel.
    let (magic_k, r) = exp::reduce_plain((-(x - y).abs()).at_least(x.lit(-200.0)));
    let cubic = x.lit(0.5) + r * plain_polynomial(r, exp::F64.poly);
    let e = power(magic_k) * (one + (r + (r * r) * cubic));
    with_infinities(greater, greater + log1p_plain(e, DOUBLE))
}

/// ln(eˣ + eʸ) = max + ln(1 + e^−|x − y|). Where the sum cancels, its absolute error is 2⁻⁵⁸.
#[inline(always)]
pub(super) fn logaddexp_f64<V: FloatBits<Elem = f64>>(x: V, y: V) -> V {
    let zero = x.lit(0.0);
    let exact = Pair::sum(x, -y);
    let flipped = x.less(y);
    let head = exp::limited(-exact.head.abs());
    let tail = V::select(flipped, exact.tail, -exact.tail);
    // Far out, and where the difference overflows, the tail counts for nothing.
    let tail = V::select(head.less(exact.head.lit(-745.5)), zero, tail);
    // The sum below may cancel: more of the exponential than its last place counts.
    let reduced = exp::reduce(head);
    let k = reduced.k;
    let less_one = exp::less_one(&reduced, reduced.lost() + tail);
    let e = Pair::ordered_sum(x.lit(1.0), less_one.head).with(less_one.tail).renewed();
    let log = log1p_pair(Pair { head: e.head.scale(k), tail: e.tail.scale(k) }, zero).renewed();
    let greater = x.maximum(y);
    with_infinities(greater, Pair::sum(greater, log.head).with(log.tail).round())
}

/// The sum of exponentials is infinite or 0 with the greater one, whatever the other is.
#[inline(always)]
fn with_infinities<V: FloatBits>(greater: V, result: V) -> V {
    V::select(greater.is_infinite(), greater, result)
}
