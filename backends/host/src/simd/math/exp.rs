//! eˣ = 2ᵏ · eʳ with |r| ≤ ln 2 / 2.

use super::{FloatBits, Row, polynomial};

pub(in super::super) struct Constants {
    log2_e: f64,
    /// ln 2 in two parts; the product of the first with any exponent is exact.
    ln_2: [f64; 2],
    /// Arguments beyond these overflow, or round to 0.
    range: [f64; 2],
    /// (eʳ − 1 − r) / r².
    poly: &'static [f64],
}

pub(super) const F32: Constants = Constants {
    log2_e: 1.4426950216293335,
    ln_2: [0.693145751953125, 1.428606765330187e-06],
    range: [-104.5, 89.0],
    poly: &[
        0.4999999403953552,
        0.16666515171527863,
        0.04166845604777336,
        0.00836941134184599,
        0.0013813197147101164,
    ],
};

pub(super) const F64: Constants = Constants {
    log2_e: std::f64::consts::LOG2_E,
    ln_2: [0.693147180559663, 2.8235290563031577e-13],
    range: [-746.0, 710.0],
    poly: &[
        0.5000000000000011,
        0.16666666666666388,
        0.041666666666519706,
        0.008333333333507541,
        0.0013888888946796145,
        0.0001984126948611624,
        2.480148946488338e-05,
        2.7557597412286183e-06,
        2.763165145640616e-07,
        2.4998880043749562e-08,
    ],
};

/// x = k·ln 2 + r.
pub(super) struct Reduced<V> {
    /// `MAGIC + k`.
    pub(super) magic_k: V,
    pub(super) k: V,
    /// r is `head` − k·`ln_2_low`; the head is exact.
    pub(super) head: V,
    pub(super) ln_2_low: V,
    /// (eʳ − 1 − r) / r², and r².
    pub(super) poly: V,
    pub(super) square: V,
}

#[inline(always)]
pub(super) fn reduce<V: FloatBits>(x: V) -> Reduced<V> {
    let c = const { <V::Elem as Row>::EXP };
    let magic = x.lit(<V::Elem as Row>::MAGIC);
    let magic_k = x.mul_add(x.lit(c.log2_e), magic);
    let k = magic_k - magic;
    let head = k.mul_add(x.lit(-c.ln_2[0]), x);
    let ln_2_low = x.lit(c.ln_2[1]);
    let r = k.mul_add(x.lit(-c.ln_2[1]), head);
    Reduced { magic_k, k, head, ln_2_low, poly: polynomial(r, c.poly), square: r * r }
}

/// eˣ.
#[inline(always)]
pub(in super::super) fn exp<V: FloatBits>(x: V) -> V {
    let [least, greatest] = const { <V::Elem as Row>::EXP.range };
    let r = reduce(x.at_most(x.lit(greatest)).at_least(x.lit(least)));
    // 1 + head, and what that sum lost.
    let one = x.lit(1.0);
    let sum = one + r.head;
    let lost = r.k.mul_add(-r.ln_2_low, r.head - (sum - one));
    (sum + r.square.mul_add(r.poly, lost)).scale(r.k)
}
