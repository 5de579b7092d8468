//! eˣ = 2ᵏ · eʳ with |r| ≤ ln 2 / 2, and what is made of it.

use super::double::Pair;
use super::{FloatBits, Row, plain_polynomial, polynomial, power, sign};

pub(in super::super) struct Constants {
    log2_e: f64,
    /// ln 2 in two parts; the product of the first with any exponent is exact.
    ln_2: [f64; 2],
    /// Arguments beyond these overflow, or round to 0.
    range: [f64; 2],
    /// Up to this magnitude the result is a normal number.
    pub(super) calm: f64,
    /// The exponent of the least normal number.
    least_exponent: f64,
    /// (eʳ − 1 − r − r²/2) / r³.
    pub(super) poly: &'static [f64],
}

pub(super) const F32: Constants = Constants {
    log2_e: 1.4426950216293335,
    ln_2: [0.693145751953125, 1.428606765330187e-06],
    range: [-104.5, 89.0],
    calm: 87.0,
    least_exponent: -126.0,
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
    calm: 708.0,
    least_exponent: -1022.0,
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
    let calm = x.abs().less(x.lit(const { <V::Elem as Row>::EXP.calm }));
    if V::any(!calm) {
        let reduced = reduce(limited(x));
        return scaled(exp_reduced(&reduced), reduced.k);
    }
    let reduced = reduce(x);
    exp_reduced(&reduced).round().scale_normal(reduced.magic_k)
}

/// eʳ of a reduced number.
#[inline(always)]
fn exp_reduced<V: FloatBits>(reduced: &Reduced<V>) -> Pair<V> {
    let Reduced { k, head, r, poly, .. } = *reduced;
    // 1 + head, and what that sum lost.
    let one = r.lit(1.0);
    let sum = one + head;
    let lost = less_lower(k, head - (sum - one));
    Pair { head: sum, tail: (r * r).mul_add(r.mul_add(poly, r.lit(0.5)), lost) }
}

/// A pair in [¼, 2) times 2ᵏ, rounded once.
#[inline(always)]
pub(super) fn scaled<V: FloatBits>(x: Pair<V>, k: V) -> V {
    let least = k.lit(const { <V::Elem as Row>::EXP.least_exponent });
    let result = x.round().scale(k);
    if !V::any(k.less_equal(least)) {
        return result;
    }
    // A subnormal result has fewer bits than the sum: at 2^(least − k) the sum is rounded where the result will be.
    let magic = k.lit(<V::Elem as Row>::MAGIC);
    let place = power(magic + (least - k));
    let sum = Pair::ordered_sum(place, x.head);
    let subnormal = (sum.with(x.tail).round() - place).scale(k);
    V::select(result.less(power(magic + least)), subnormal, result)
}

impl<V: FloatBits> Reduced<V> {
    /// What the rounding of `r` lost.
    #[inline(always)]
    pub(super) fn lost(&self) -> V {
        less_lower(self.k, self.head - self.r)
    }
}

/// eʳ − 1 of a reduced number, of which `r_lost` is missing in `r`, in more than the dtype's precision; the head alone is
/// the nearest float.
#[inline(always)]
pub(super) fn less_one<V: FloatBits>(reduced: &Reduced<V>, r_lost: V) -> Pair<V> {
    let Reduced { r, poly, .. } = *reduced;
    // eʳ − 1 = r + r²/2 + r³·poly, as a head and what it lost.
    let square = r * r;
    let square_lost = r.mul_add(r, -square);
    let half_square = square * r.lit(0.5);
    let tail = square_lost.mul_add(r.lit(0.5), r.mul_add(r_lost, r_lost));
    let tail = (square * r).mul_add(poly, tail);
    let sum = r + half_square;
    let tail = tail + (half_square - (sum - r));
    let grown = sum + tail;
    Pair { head: grown, tail: tail - (grown - sum) }
}

/// e to the power of a pair whose head is in the range of the dtype's [`exp`]: 2ᵏ times a pair in [½, 2) whose tail is
/// below 0.1, with an error of at most 2⁻⁴ units of the last place.
#[inline(always)]
pub(super) fn exp_pair<V: FloatBits>(x: Pair<V>) -> (V, Pair<V>) {
    let c = const { <V::Elem as Row>::EXP };
    let one = x.head.lit(1.0);
    let magic = x.head.lit(<V::Elem as Row>::MAGIC);
    let k = x.head.mul_add(x.head.lit(c.log2_e), magic) - magic;
    let head = k.mul_add(x.head.lit(-c.ln_2[0]), x.head);
    let tail = less_lower(k, x.tail);
    (k, grown(one, head, tail, polynomial(head + tail, c.poly)))
}

/// 1 + (head + tail) + r²/2 + r³·poly.
#[inline(always)]
fn grown<V: FloatBits>(one: V, head: V, tail: V, poly: V) -> Pair<V> {
    let r = head + tail;
    let sum = Pair::ordered_sum(one, head);
    sum.with((r * r).mul_add(r.mul_add(poly, one.lit(0.5)), tail))
}

/// The limits of a dtype's [`exp`].
#[inline(always)]
pub(super) fn limited<V: FloatBits>(x: V) -> V {
    let [least, greatest] = const { <V::Elem as Row>::EXP.range };
    x.at_most(x.lit(greatest)).at_least(x.lit(least))
}

/// (eʳ − 1) / r to the precision of f32.
const SINGLE: &[f64] = &[
    1.0000000000316949,
    0.5000000047211626,
    0.16666666244698167,
    0.04166635194874513,
    0.008333403442554566,
    0.001394121362274226,
    0.00019841256221145013,
];

/// `MAGIC + k` and r of x to the precision of f32, for |x| < 2¹⁰.
#[inline(always)]
pub(super) fn reduce_plain<D: FloatBits<Elem = f64>>(x: D) -> (D, D) {
    let magic = x.lit(f64::MAGIC);
    let magic_k = x * x.lit(F64.log2_e) + magic;
    let k = magic_k - magic;
    (magic_k, (x - k * x.lit(F64.ln_2[0])) - k * x.lit(F64.ln_2[1]))
}

/// 2ᵏ and eʳ − 1, whose relative error is 2⁻³².
#[inline(always)]
fn parts_plain<D: FloatBits<Elem = f64>>(x: D) -> (D, D) {
    let (magic_k, r) = reduce_plain(x);
    (power(magic_k), r * plain_polynomial(r, SINGLE))
}

/// eˣ with a relative error of 2⁻³² for |x| < 700.
#[inline(always)]
pub(super) fn exp_plain<D: FloatBits<Elem = f64>>(x: D) -> D {
    let (scale, grown) = parts_plain(x);
    scale + scale * grown
}

/// 2ˣ.
#[inline(always)]
pub(super) fn exp2_plain<D: FloatBits<Elem = f64>>(x: D) -> D {
    let x = x.at_most(x.lit(130.0)).at_least(x.lit(-160.0));
    let magic = x.lit(f64::MAGIC);
    let magic_k = x + magic;
    let r = (x - (magic_k - magic)) * x.lit(std::f64::consts::LN_2);
    let scale = power(magic_k);
    scale + scale * (r * plain_polynomial(r, SINGLE))
}

/// 2ˣ.
#[inline(always)]
pub(super) fn exp2_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    let x = x.at_most(x.lit(1025.0)).at_least(x.lit(-1076.0));
    let magic = x.lit(f64::MAGIC);
    let k = (x + magic) - magic;
    // (x − k)·ln 2.
    let part = x - k;
    let [upper, lower] = [std::f64::consts::LN_2, 2.3190468138462996e-17];
    let r = Pair::product(part, x.lit(upper));
    let tail = part.mul_add(x.lit(lower), r.tail);
    scaled(grown(x.lit(1.0), r.head, tail, polynomial(r.head, F64.poly)), k)
}

/// eˣ − 1.
#[inline(always)]
pub(super) fn expm1_plain<D: FloatBits<Elem = f64>>(x: D) -> D {
    let (scale, grown) = parts_plain(x.at_most(x.lit(90.0)).at_least(x.lit(-30.0)));
    signed_like((scale - x.lit(1.0)) + scale * grown, x)
}

/// eˣ − 1 = 2ᵏ·((1 − 2⁻ᵏ) + (eʳ − 1)).
#[inline(always)]
pub(super) fn expm1_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    let one = x.lit(1.0);
    let reduced = reduce(x.at_most(x.lit(710.0)).at_least(x.lit(-37.5)));
    let grown = less_one(&reduced, reduced.lost());
    // From 2¹⁰⁰ on the 1 that is subtracted is far below the last place.
    let magic = x.lit(f64::MAGIC);
    let inverse = power(magic - reduced.k.at_most(x.lit(100.0)));
    let whole = one - inverse;
    let whole_lost = (one - whole) - inverse;
    let sum = Pair::ordered_sum(whole, grown.head).with(whole_lost + grown.tail);
    signed_like(sum.round().scale(reduced.k), x)
}

/// The result of a function that has its argument's sign: a zero too, then.
#[inline(always)]
fn signed_like<V: FloatBits>(result: V, x: V) -> V {
    V::from_bits(V::bits_or(result.to_bits(), sign(x)))
}

/// 1 / (1 + e⁻ˣ).
#[inline(always)]
pub(super) fn sigmoid_plain<D: FloatBits<Elem = f64>>(x: D) -> D {
    let one = x.lit(1.0);
    let e = exp_plain((-x.abs()).at_least(x.lit(-120.0)));
    D::select(x.less(x.lit(0.0)), e, one) / (one + e)
}

/// 1 / (1 + e⁻ˣ); of a negative number eˣ / (1 + eˣ).
#[inline(always)]
pub(super) fn sigmoid_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    let (zero, one) = (x.lit(0.0), x.lit(1.0));
    let (k, e) = exp_pair(Pair::of(limited(-x.abs())));
    let e = e.renewed();
    // Below 2⁻²⁰⁰ the addend is nothing beside 1.
    let scale = power(k.at_least(x.lit(-200.0)) + x.lit(f64::MAGIC));
    let below = Pair::ordered_sum(one, e.head * scale);
    let below_lost = e.tail.mul_add(scale, below.tail);
    let negative = x.less(zero);
    let (above, above_lost) = (V::select(negative, e.head, one), V::select(negative, e.tail, zero));
    let reciprocal = one / below.head;
    let quotient = above * reciprocal;
    let rest = (-quotient).mul_add(below.head, above) + (-quotient).mul_add(below_lost, above_lost);
    scaled(Pair { head: quotient, tail: rest * reciprocal }, V::select(negative, k, zero))
}
