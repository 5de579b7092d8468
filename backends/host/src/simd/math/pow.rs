//! xʸ = e^(y·ln |x|), with the sign and the exceptions of the array API standard.

use super::double::Pair;
use super::{FloatBits, Row, exp, log, polynomial};

/// With s = f / (2 + f), w = s²: (ln(1 + f) − 2s − ⅔s³ − ⅖s⁵) / (s·w³).
const TAIL: &[f64] = &[
    0.28571428571428886,
    0.22222222221679488,
    0.18181818355331317,
    0.15384591745920684,
    0.13335001343978825,
    0.11700837610071134,
    0.11778858790681558,
];

/// `x` to the power `y`.
#[inline(always)]
pub(super) fn pow_plain<D: FloatBits<Elem = f64>>(x: D, y: D) -> D {
    let product = y * log::log_plain(x.abs());
    let size = exp::exp_plain(product.at_most(x.lit(100.0)).at_least(x.lit(-120.0)));
    with_exceptions(x, y, size)
}

/// `x` to the power `y`.
#[inline(always)]
pub(super) fn pow_f64<V: FloatBits<Elem = f64>>(x: V, y: V) -> V {
    let zero = x.lit(0.0);
    let log = log_pair(x.abs());
    let product = Pair::product(y, log.head);
    let tail = y.mul_add(log.tail, product.tail);
    let head = exp::limited(product.head);
    // Beyond the limits the tail may be no number.
    let tail = V::select(head.equal(product.head), tail, zero);
    let (k, size) = exp::exp_pair(Pair { head, tail });
    with_exceptions(x, y, exp::scaled(size, k))
}

/// Natural logarithm of a positive finite number, with a relative error of 2⁻⁶⁸.
#[inline(always)]
fn log_pair<V: FloatBits<Elem = f64>>(x: V) -> Pair<V> {
    let (k, f) = log::split(x);
    let two = x.lit(2.0);
    let s = Pair::of(f).over(Pair::ordered_sum(two, f));
    let w = s.times(s);
    // w·(⅔ + w·(⅖ + w·…)).
    let fifth = Pair { head: x.lit(0.4), tail: x.lit(-2.2204460492503132e-17) };
    let fifth = Pair::ordered_sum(fifth.head, w.head * polynomial(w.head, TAIL)).with(fifth.tail);
    let third = Pair { head: x.lit(0.6666666666666666), tail: x.lit(3.700743415417188e-17) };
    let inner = w.times(fifth);
    let third = Pair::ordered_sum(third.head, inner.head).with(third.tail + inner.tail);
    let inner = w.times(third);
    let near = s.times(Pair::ordered_sum(two, inner.head).with(inner.tail));
    // k·ln 2 is 0 or greater than the rest.
    let (upper, lower) = (x.lit(log::F64.ln_2[0]), x.lit(log::F64.ln_2[1]));
    Pair::ordered_sum(k * upper, near.head).with(k.mul_add(lower, near.tail)).renewed()
}

/// `size`, the power of |x| where both operands are finite and x is not 0, with the sign that it has, and what the power
/// is elsewhere.
#[inline(always)]
fn with_exceptions<V: FloatBits<Elem = f64>>(x: V, y: V, size: V) -> V {
    let (zero, one, infinity) = (x.lit(0.0), x.lit(1.0), x.lit(f64::INFINITY));
    let (x_size, y_size) = (x.abs(), y.abs());
    let unit = x_size.equal(one);
    let y_infinite = y_size.equal(infinity);

    // 2⁵² and an integer below it, in whose last bit is whether that is odd.
    let first = x.lit(F64_FIRST_WHOLE);
    let whole = first.less_equal(y_size);
    let shifted = V::select(whole, y_size, y_size + first);
    let integer = whole | (shifted - first).equal(y_size);
    let bit = x.bits(1);
    let odd = V::bits_equal(V::bits_and(shifted.to_bits(), bit), bit)
        & integer
        & y_size.less(x.lit(2.0 * F64_FIRST_WHOLE));

    // Powers that are 0 or infinite.
    let edge = x_size.equal(zero) | x_size.equal(infinity) | y_infinite;
    let grows = one.less(x_size) ^ y.less(zero);
    let size = V::select(edge, V::select(grows, infinity, zero), size);
    let signs = V::select(odd, x, zero);
    let result = super::flip(size, super::sign(signs));

    let no_root = x.less(zero) & !integer & !y_infinite & x_size.less(infinity);
    let result = V::select(no_root, x.lit(f64::NAN), result);
    let result = V::select(x.equal(x) & y.equal(y), result, x + y);
    V::select(y.equal(zero) | x.equal(one) | (unit & y_infinite), one, result)
}

/// From here on every f64 is an integer.
const F64_FIRST_WHOLE: f64 = (1u64 << f64::FRACTION_BITS) as f64;
