//! Division of real numbers with an integral quotient and a remainder.

use super::super::MAX_LEN;
use super::{FloatBits, Row, flip, sign};

/// A division of magnitudes.
struct Division<V: FloatBits> {
    quotient: V,
    /// The integral part of the quotient.
    whole: V,
    rest: V,
    /// Where the quotient is too large for `whole` and `rest`.
    huge: V::Mask,
}

#[inline(always)]
fn divide<V: FloatBits>(x: V, y: V) -> Division<V> {
    let zero = x.lit(0.0);
    let quotient = x / y;
    // The quotient is rounded, so its integral part may be one too great; the remainder is then exact and negative.
    let whole = quotient.trunc();
    let rest = (-whole).mul_add(y, x);
    let above = rest.less(zero);
    let whole = V::select(above, whole - x.lit(1.0), whole);
    // An infinite `y` leaves a finite `x` as it is.
    let rest = V::select(x.less(y), x, V::select(above, rest + y, rest));
    // From here on integers have gaps, and a quotient may be off by more than 1.
    let limit = x.lit((2u64 << <V::Elem as Row>::FRACTION_BITS) as f64);
    let huge = limit.less_equal(quotient) & x.less(x.lit(f64::INFINITY)) & zero.less(y);
    Division { quotient, whole, rest, huge }
}

/// Where the quotient is negative and not an integer.
#[inline(always)]
fn rounds_away<V: FloatBits>(x: V, y: V, rest: V) -> V::Mask {
    !V::bits_equal(sign(x), sign(y)) & x.lit(0.0).less(rest)
}

/// A result whose NaN is one for all, as at the level without vectors: what the sign of one is, processors do not agree about.
#[inline(always)]
fn one_nan<V: FloatBits>(result: V) -> V {
    V::select(result.equal(result), result, result.lit(f64::NAN))
}

/// The greatest integer not above the quotient; where integers have gaps, one next to it. Special values are those of
/// the array API standard.
#[inline(always)]
pub(in super::super) fn floor_divide<V: FloatBits>(x: V, y: V) -> V {
    let Division { quotient, whole, rest, huge } = divide(x.abs(), y.abs());
    let infinity = x.lit(f64::INFINITY);
    // By an infinite number, of the other sign too, it is 0.
    let away = rounds_away(x, y, rest) & y.abs().less(infinity);
    let floor = V::select(away, whole + x.lit(1.0), whole);
    // By 0, or of an infinite number.
    let endless = quotient.equal(infinity);
    let result = one_nan(flip(V::select(endless, quotient, floor), V::bits_xor(sign(x), sign(y))));
    if V::any(huge) {
        return V::from_array(&each(x.to_array(), y.to_array(), Row::floor_divide));
    }
    result
}

/// The remainder of [`floor_divide`], with the sign of `y`: exact where the signs are alike or it is 0, else rounded
/// once. Special values are those of the array API standard.
#[inline(always)]
pub(in super::super) fn remainder<V: FloatBits>(x: V, y: V) -> V {
    let Division { rest, huge, .. } = divide(x.abs(), y.abs());
    let result = one_nan(flip(V::select(rounds_away(x, y, rest), y.abs() - rest, rest), sign(y)));
    if V::any(huge) {
        return V::from_array(&each(x.to_array(), y.to_array(), Row::remainder));
    }
    result
}

/// Out of line: huge quotients are rare, and the vector path should stay short. Lanes that are not huge get what they
/// had.
#[cold]
#[inline(never)]
fn each<E: Row>(x: [E; MAX_LEN], y: [E; MAX_LEN], f: fn(E, E) -> E) -> [E; MAX_LEN] {
    std::array::from_fn(|i| f(x[i], y[i]))
}
