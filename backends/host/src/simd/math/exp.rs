//! eˣ = 2ᵏ · eʳ with |r| ≤ ln 2 / 2.

use super::{FloatBits, Row, polynomial};

pub(in super::super) struct Constants {
    log2_e: f64,
    /// ln 2 in two parts; the product of the first with any exponent is exact.
    ln_2: [f64; 2],
    /// Arguments beyond these overflow, or round to 0.
    range: [f64; 2],
    /// (eʳ − 1 − r − r²/2) / r³.
    poly: &'static [f64],
}

pub(super) const F32: Constants = Constants {
    log2_e: 1.4426950216293335,
    ln_2: [0.693145751953125, 1.428606765330187e-06],
    range: [-104.5, 89.0],
    poly: &[
        0.1666666567325592,
        0.04166628047823906,
        0.00833350419998169,
        0.0013945727841928601,
        0.0001978915825020522,
    ],
};

pub(super) const F64: Constants = Constants {
    log2_e: std::f64::consts::LOG2_E,
    ln_2: [0.693147180559663, 2.8235290563031577e-13],
    range: [-746.0, 710.0],
    poly: &[
        0.16666666666666685,
        0.04166666666666604,
        0.008333333333315745,
        0.0013888888889133327,
        0.00019841269899641982,
        2.4801586904829432e-05,
        2.755723155351049e-06,
        2.755759187744495e-07,
        2.51132049299723e-08,
        2.0825725177995385e-09,
    ],
};

/// x = k·ln 2 + r.
pub(super) struct Reduced<V> {
    /// `MAGIC + k`.
    pub(super) magic_k: V,
    pub(super) k: V,
    /// x − k·(the upper part of ln 2), exactly.
    pub(super) head: V,
    /// The head − k·(the lower part of ln 2), rounded.
    pub(super) r: V,
    /// (eʳ − 1 − r − r²/2) / r³.
    pub(super) poly: V,
}

#[inline(always)]
pub(super) fn reduce<V: FloatBits>(x: V) -> Reduced<V> {
    let c = const { <V::Elem as Row>::EXP };
    let magic = x.lit(<V::Elem as Row>::MAGIC);
    let magic_k = x.mul_add(x.lit(c.log2_e), magic);
    let k = magic_k - magic;
    let head = k.mul_add(x.lit(-c.ln_2[0]), x);
    let r = less_lower(k, head);
    Reduced { magic_k, k, head, r, poly: polynomial(r, c.poly) }
}

/// `from` − k·(the lower part of ln 2).
#[inline(always)]
pub(super) fn less_lower<V: FloatBits>(k: V, from: V) -> V {
    let c = const { <V::Elem as Row>::EXP };
    k.mul_add(k.lit(-c.ln_2[1]), from)
}

/// eˣ.
#[inline(always)]
pub(in super::super) fn exp<V: FloatBits>(x: V) -> V {
    let [least, greatest] = const { <V::Elem as Row>::EXP.range };
    let Reduced { k, head, r, poly, .. } = reduce(x.at_most(x.lit(greatest)).at_least(x.lit(least)));
    // 1 + head, and what that sum lost.
    let one = x.lit(1.0);
    let sum = one + head;
    let lost = less_lower(k, head - (sum - one));
    (sum + (r * r).mul_add(r.mul_add(poly, x.lit(0.5)), lost)).scale(k)
}
