//! tanh x = E / (E + 2) with E = e²ˣ − 1.

use super::double::Pair;
use super::{FloatBits, Row, exp, flip, power, sign};

/// Hyperbolic tangent.
#[inline(always)]
pub(in super::super) fn tanh<V: FloatBits>(x: V) -> V {
    let (one, two) = (x.lit(1.0), x.lit(2.0));
    let limited = x.abs().at_most(x.lit(<V::Elem as Row>::TANH_LIMIT));
    let reduced = exp::reduce(limited + limited);
    let Pair { head: grown, tail: grown_lost } = exp::less_one(&reduced, reduced.lost());

    // E = (2ᵏ − 1) + 2ᵏ·(eʳ − 1) likewise.
    let scale = power(reduced.magic_k);
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
