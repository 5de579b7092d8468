//! tanh x = E / (E + 2) with E = e²ˣ − 1.

use super::{FloatBits, Row, exp, flip, power, sign};

/// Hyperbolic tangent.
#[inline(always)]
pub(in super::super) fn tanh<V: FloatBits>(x: V) -> V {
    let (one, two) = (x.lit(1.0), x.lit(2.0));
    let limited = x.abs().at_most(x.lit(<V::Elem as Row>::TANH_LIMIT));
    let exp::Reduced { magic_k, k, head, r, poly } = exp::reduce(limited + limited);

    // eʳ − 1 = r + r²/2 + r³·poly, as a head and what it lost.
    let r_lost = exp::less_lower(k, head - r);
    let square = r * r;
    let square_lost = r.mul_add(r, -square);
    let half_square = square * x.lit(0.5);
    let tail = square_lost.mul_add(x.lit(0.5), r.mul_add(r_lost, r_lost));
    let tail = (square * r).mul_add(poly, tail);
    let sum = r + half_square;
    let tail = tail + (half_square - (sum - r));
    let grown = sum + tail;
    let grown_lost = tail - (grown - sum);

    // E = (2ᵏ − 1) + 2ᵏ·(eʳ − 1) likewise.
    let scale = power(magic_k);
    let (whole, part) = (scale - one, scale * grown);
    let e = whole + part;
    let e_lost = scale.mul_add(grown_lost, part - (e - whole));

    // E + 2 likewise: the sum of two numbers loses something of the smaller one.
    let below = e + two;
    let below_lost = (e.at_most(two) - (below - e.at_least(two))) + e_lost;

    let reciprocal = one / below;
    let quotient = e * reciprocal;
    let rest = (-quotient).mul_add(below, e) + (-quotient).mul_add(below_lost, e_lost);
    flip(rest.mul_add(reciprocal, quotient), sign(x))
}
