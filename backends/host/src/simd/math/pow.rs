//! xʸ = e^(y·ln |x|), with the sign and the exceptions of the array API standard.

use super::double::Pair;
use super::{FloatBits, Row, exp, log, paired_polynomial};

/// What the power of a dtype is made with.
pub(super) trait Power: Row {
    /// 16 / ln 2, and ln 2 / 16 in two parts.
    const SIXTEENTH: [f64; 3];
    /// 2^(i/16) in two parts.
    const POWERS: [&'static [Self; 16]; 2];
    /// (eʳ − 1 − r) / r², for |r| up to ln 2 / 32 and what the tail of an exponent may add.
    const QUADRATIC: &'static [f64];
    /// Natural logarithm of a positive normal number, several thousand times more precise than the dtype; `offset` is taken
    /// from the exponent's biased count. The tail may be up to 2⁻¹¹ of the head.
    fn log<V: FloatBits<Elem = Self>>(x: V, offset: V) -> Pair<V>;
}

/// `x` to the power `y`.
#[inline(always)]
pub(super) fn pow<V: FloatBits<Elem: Power>>(x: V, y: V) -> V {
    let c = const { <V::Elem as Row>::LOG };
    let calm = x.lit(const { <V::Elem as Row>::EXP.calm });
    let ordinary = x.lit(c.least_normal).less_equal(x) & x.less(x.lit(f64::INFINITY));
    let (mut size, mut offset) = (x, x.lit(c.unit + c.bias));
    if V::any(!ordinary) {
        (size, offset) = log::lifted(x.abs());
    }
    let log = V::Elem::log(size, offset);
    let product = Pair::product(y, log.head);
    let mut exponent = Pair { head: product.head, tail: y.mul_add(log.tail, product.tail) };
    // An infinite y or a NaN makes an exponent that is not calm.
    let exceptional = V::any(!(ordinary & exponent.head.abs().less(calm)));
    if exceptional {
        let head = exp::limited(product.head);
        // Beyond the limits the tail may be no number.
        let tail = V::select(head.equal(product.head), exponent.tail, x.lit(0.0));
        exponent = Pair { head, tail };
    }
    // The exponent is n sixteenths of ln 2 and r: n = 16k + i, and the power is 2ᵏ·2^(i/16)·eʳ.
    let [inverse, upper, lower] = const { <V::Elem as Power>::SIXTEENTH };
    let magic = x.lit(<V::Elem as Row>::MAGIC);
    let magic_n = exponent.head.mul_add(x.lit(inverse), magic);
    let n = magic_n - magic;
    let r = n.mul_add(x.lit(-upper), exponent.head) + n.mul_add(x.lit(-lower), exponent.tail);
    let grown = (r * r).mul_add(paired_polynomial(r, const { <V::Elem as Power>::QUADRATIC }), r);
    let index = magic_n.to_bits();
    let [upper, lower] = const { <V::Elem as Power>::POWERS };
    let (root, lost) = (V::lookup(index, upper), V::lookup(index, lower));
    let size = Pair { head: root, tail: root.mul_add(grown, lost) };
    if exceptional {
        let k = (n * x.lit(1.0 / 16.0)).floor();
        return with_exceptions(x, y, exp::scaled(size, k));
    }
    // A normal number: k is added to the exponent.
    let k = V::bits_shl(V::bits_shr(index, 4), <V::Elem as Row>::FRACTION_BITS);
    V::from_bits(V::bits_add(size.round().to_bits(), k))
}

/// A positive normal number 2ᵏ·m.
struct Split<V: FloatBits> {
    k: V,
    /// From 0.703125 to twice that.
    m: V,
    /// In the lowest four bits: in which sixteenth of its binade m is. 1 is within one, not at its edge.
    sixteenth: V::Bits,
}

#[inline(always)]
fn split<V: FloatBits>(x: V, offset: V) -> Split<V> {
    let c = const { <V::Elem as Row>::LOG };
    let bits = const { <V::Elem as Row>::FRACTION_BITS };
    let below_one = 19_i64 << (bits - 5);
    // Counted from the least m, the upper bits are the exponent and the lower ones the place of m.
    let counted = V::bits_add(x.to_bits(), x.bits(below_one));
    let biased = V::bits_or(V::bits_shr(counted, bits), x.bits(c.unit_bits));
    let place = V::bits_and(counted, x.bits((1 << bits) - 1));
    let m = V::bits_add(place, x.bits(<V::Elem as Row>::ONE - below_one));
    Split { k: V::from_bits(biased) - offset, m: V::from_bits(m), sixteenth: V::bits_shr(counted, bits - 4) }
}

/// A number c near the reciprocals of each sixteenth's numbers.
const RECIPROCALS: [f64; 16] = [
    1.390625, 1.33203125, 1.28125, 1.23046875, 1.18359375, 1.14453125, 1.1015625, 1.06640625, 1.03125, 1.0,
    0.94140625, 0.890625, 0.84375, 0.80078125, 0.76171875, 0.7265625,
];

/// m·c = 1 + r, and what is missing in r.
#[inline(always)]
fn reduced<V: FloatBits>(m: V, inverse: V) -> Pair<V> {
    let whole = Pair::product(m, inverse);
    Pair { head: whole.head - m.lit(1.0), tail: whole.tail }
}

/// k·ln 2 + `logarithm` + `near`, of which the first two are together 0 or greater than the rest; `tail` is missing in them.
#[inline(always)]
fn joined<V: FloatBits>(k: V, logarithm: [V; 2], near: V, tail: V) -> Pair<V> {
    let [upper, lower] = const { <V::Elem as Row>::LOG.ln_2 };
    let sum = Pair::ordered_sum(k.mul_add(k.lit(upper), logarithm[0]), near);
    sum.with(k.mul_add(k.lit(lower), logarithm[1]) + tail)
}

impl Power for f32 {
    const SIXTEENTH: [f64; 3] = [23.083120346069336, 0.043321698904037476, -1.1904088825787085e-10];
    const POWERS: [&'static [Self; 16]; 2] = [
        &[
            1.0,
            1.044_273_7,
            1.090_507_7,
            1.138_788_6,
            1.189_207_1,
            1.241_857_8,
            1.296_839_6,
            1.354_255_6,
            std::f32::consts::SQRT_2,
            1.476_826_2,
            1.542_210_8,
            1.610_490_3,
            1.681_792_9,
            1.756_252_2,
            1.834_008_1,
            1.915_206_6,
        ],
        &[
            0.0,
            4.833_47e-8,
            -1.307_754e-8,
            5.386_222_3e-8,
            3.797_635_3e-8,
            4.496_838e-8,
            -4.018_999_5e-8,
            -1.012_334_9e-8,
            2.420_323_5e-8,
            -4.500_899e-8,
            8.070_905e-9,
            9.836_217e-9,
            -2.475_532_7e-8,
            -9.235_77e-9,
            -1.123_927_8e-8,
            9.845_328e-9,
        ],
    ];
    const QUADRATIC: &'static [f64] = &[0.5, 0.1666666716337204, 0.041671022772789, 0.0083342669531703];

    #[inline(always)]
    fn log<V: FloatBits<Elem = f32>>(x: V, offset: V) -> Pair<V> {
        /// −ln c in two parts; the first plus a multiple of the upper part of ln 2 is exact.
        const LOGARITHMS: [[f32; 16]; 2] = [
            [
                -0.329_757_7,
                -0.286_712_65,
                -0.247_833_25,
                -0.207_397_46,
                -0.168_548_58,
                -0.134_994_5,
                -0.096_725_464,
                -0.064_300_54,
                -0.030_776_978,
                0.0,
                0.060_379_03,
                0.115_829_47,
                0.169_906_62,
                0.222_167_97,
                0.272_171_02,
                0.319_427_5,
            ],
            [
                4.404_057e-6,
                7.613_680_3e-6,
                -2.911_951_5e-6,
                2.266_591_5e-6,
                -6.777_045_7e-6,
                -6.577_015_5e-7,
                -4.162_591_3e-6,
                6.186_404e-6,
                5.318_872_4e-6,
                0.0,
                1.482_668_6e-6,
                2.347_751_7e-6,
                -7.579_415_5e-6,
                -5.034_088_4e-7,
                6.865_408e-6,
                3.280_532e-6,
            ],
        ];
        /// 2·(ln(1 + r) − r + r²/2) / r³; the error is 2⁻³⁵ of the logarithm.
        const CUBIC: &[f64] =
            &[0.6666666269302368, -0.5000004768371582, 0.4002586901187897, -0.3323935568332672];
        const INVERSES: [f32; 16] = {
            let (mut single, mut i) = ([0.0; 16], 0);
            while i < 16 {
                single[i] = RECIPROCALS[i] as f32;
                i += 1;
            }
            single
        };

        let Split { k, m, sixteenth } = split(x, offset);
        let Pair { head: r, tail: r_lost } = reduced(m, V::lookup(sixteenth, &INVERSES));
        let half_square = Pair::product(r * x.lit(0.5), r);
        let near = Pair::ordered_sum(r, -half_square.head);
        // What is missing in r counts by 1 / (1 + r), almost 1 − r + r².
        let less = half_square.head - near.head;
        let lost = less.mul_add(r_lost, r_lost) - half_square.tail;
        let rest = (r * half_square.head).mul_add(paired_polynomial(r, CUBIC), lost);
        let logarithm = [V::lookup(sixteenth, &LOGARITHMS[0]), V::lookup(sixteenth, &LOGARITHMS[1])];
        joined(k, logarithm, near.head, near.tail + rest)
    }
}

impl Power for f64 {
    const SIXTEENTH: [f64; 3] = [23.083120654223414, 0.04332169878499658, 1.4494042586539372e-18];
    const POWERS: [&'static [Self; 16]; 2] = [
        &[
            1.0,
            1.0442737824274138,
            1.0905077326652577,
            1.1387886347566916,
            1.189207115002721,
            1.241857812073484,
            1.2968395546510096,
            1.3542555469368927,
            std::f64::consts::SQRT_2,
            1.4768261459394993,
            1.5422108254079407,
            1.6104903319492543,
            1.681792830507429,
            1.7562521603732995,
            1.8340080864093424,
            1.9152065613971474,
        ],
        &[
            0.0,
            8.551889705537965e-17,
            -3.046782079812471e-17,
            8.912812676025408e-17,
            3.982015231465646e-17,
            4.658027591836937e-17,
            2.5382502794888315e-17,
            7.70094837980299e-17,
            -9.667293313452913e-17,
            -3.483994556892796e-17,
            7.949834809697621e-17,
            2.4707192569797888e-17,
            8.199010020581497e-17,
            2.960140695448873e-17,
            3.283107224245627e-17,
            -1.0619946056195963e-16,
        ],
    ];
    const QUADRATIC: &'static [f64] = &[
        0.5000000000000001,
        0.16666666666666674,
        0.041666666663210006,
        0.008333333332522513,
        0.0013889074071009393,
        0.00019841544185064422,
    ];

    #[inline(always)]
    fn log<V: FloatBits<Elem = f64>>(x: V, offset: V) -> Pair<V> {
        /// −ln c in two parts; the first plus a multiple of the upper part of ln 2 is exact.
        const LOGARITHMS: [[f64; 16]; 2] = [
            [
                -0.32975328637257917,
                -0.2867050328040932,
                -0.2478361639045943,
                -0.2073951943461907,
                -0.16855536103003033,
                -0.13499516453748583,
                -0.09672962645845473,
                -0.06429435070549516,
                -0.03077165866670839,
                0.0,
                0.06038051098903452,
                0.11583181552532551,
                0.16989903679541385,
                0.2221674653410446,
                0.2721778859158803,
                0.3194307707663029,
            ],
            [
                1.1118671389559323e-13,
                1.3889257940316386e-13,
                1.3029797173308663e-14,
                1.2010499967033472e-13,
                2.236592776890616e-13,
                -1.8996158041578768e-14,
                -9.638067658552277e-14,
                9.790518511990216e-14,
                -4.529814257790929e-14,
                0.0,
                -1.2703942655647089e-13,
                -2.0380485326119331e-13,
                -1.6376276414097503e-14,
                1.0970699320566433e-13,
                -6.465103064005256e-14,
                5.834357420090924e-14,
            ],
        ];
        /// 2·(ln(1 + r) − r + r²/2 − r³/3) / r⁴; the error is 2⁻⁷¹ of the logarithm.
        const QUARTIC: &[f64] = &[
            -0.5,
            0.3999999999999964,
            -0.333333333333485,
            0.2857142857669273,
            -0.24999999901409567,
            0.2222220126434794,
            -0.2000019496400599,
            0.18212860607214737,
            -0.16559582453787705,
        ];
        /// ⅔ in two parts.
        const TWO_THIRDS: [f64; 2] = [0.6666666666666666, 3.700743415417188e-17];

        let (one, [upper, lower]) = (x.lit(1.0), TWO_THIRDS.map(|part| x.lit(part)));
        let Split { k, m, sixteenth } = split(x, offset);
        let Pair { head: r, tail: r_lost } = reduced(m, V::lookup(sixteenth, &RECIPROCALS));
        let half_square = Pair::product(r * x.lit(0.5), r);
        // r³/2, and ⅔ of it.
        let half_cube = Pair::product(half_square.head, r);
        let half_cube_lost = half_square.tail.mul_add(r, half_cube.tail);
        let third = Pair::product(half_cube.head, upper);
        let third_lost = half_cube.head.mul_add(lower, half_cube_lost.mul_add(upper, third.tail));
        let near = Pair::ordered_sum(r, -half_square.head);
        let nearer = Pair::ordered_sum(near.head, third.head);
        // What is missing in r counts by 1 / (1 + r), almost (1 − r)·(1 + r²).
        let slope = (one - r) * r.mul_add(r, one);
        let lost = slope.mul_add(r_lost, third_lost - half_square.tail);
        let rest = (r * half_cube.head).mul_add(paired_polynomial(r, QUARTIC), lost);
        let logarithm = [V::lookup(sixteenth, &LOGARITHMS[0]), V::lookup(sixteenth, &LOGARITHMS[1])];
        joined(k, logarithm, nearer.head, near.tail + nearer.tail + rest)
    }
}

/// `size`, the power of |x| where both operands are finite and x is not 0, with the sign that it has, and what the power
/// is elsewhere.
#[inline(always)]
fn with_exceptions<V: FloatBits>(x: V, y: V, size: V) -> V {
    let (zero, one, infinity) = (x.lit(0.0), x.lit(1.0), x.lit(f64::INFINITY));
    let (x_size, y_size) = (x.abs(), y.abs());
    let unit = x_size.equal(one);
    let y_infinite = y_size.equal(infinity);

    // From here on every float is an integer; one below added to it has in the last bit whether it is odd.
    let first_whole = (1_u64 << <V::Elem as Row>::FRACTION_BITS) as f64;
    let first = x.lit(first_whole);
    let whole = first.less_equal(y_size);
    let shifted = V::select(whole, y_size, y_size + first);
    let integer = whole | (shifted - first).equal(y_size);
    let bit = x.bits(1);
    let odd = V::bits_equal(V::bits_and(shifted.to_bits(), bit), bit)
        & integer
        & y_size.less(x.lit(2.0 * first_whole));

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
