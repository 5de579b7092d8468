//! Sine, cosine and tangent: x = n·π/2 + r with |r| ≤ π/4.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use super::double::Pair;
use super::{FloatBits, Row, flip, plain_polynomial, polynomial, sign};

pub(in super::super) struct Constants {
    two_over_pi: f64,
    /// π/2 in three parts, each rounded to the dtype.
    half_pi: [f64; 3],
    /// Up to here the three parts give r in full precision; above, [`reduce_large`] does.
    limit: f64,
    /// (sin r − r) / r³ in r².
    sine: &'static [f64],
    /// (cos r − 1 + r²/2) / r⁴ in r².
    cosine: &'static [f64],
}

pub(super) const F32: Constants = Constants {
    two_over_pi: 0.6366197466850281,
    half_pi: [1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15],
    limit: 100_000.0,
    sine: &[-0.16666653752326965, 0.0083320839330554, -0.000195043467101641],
    cosine: &[0.04166664555668831, -0.0013887244276702404, 2.4423987269983627e-05],
};

pub(super) const F64: Constants = Constants {
    two_over_pi: FRAC_2_PI,
    half_pi: [FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33],
    limit: 134_217_728.0,
    sine: &[
        -0.16666666666666624,
        0.008333333333320056,
        -0.0001984126982786531,
        2.7557313002424807e-06,
        -2.5050648155582695e-08,
        1.5890326469598652e-10,
    ],
    cosine: &[
        0.04166666666666658,
        -0.0013888888888871048,
        2.4801587287489512e-05,
        -2.7557313759739627e-07,
        2.087564082006994e-09,
        -1.1355296787871284e-11,
    ],
};

/// Sine.
#[inline(always)]
pub(in super::super) fn sin<V: FloatBits>(x: V) -> V {
    let (magic_n, head, tail) = reduce(x.abs());
    let signs = V::bits_and(x.to_bits(), x.bits(<V::Elem as Row>::SIGN));
    flip(quadrant(magic_n.to_bits(), head, tail), signs)
}

/// Cosine: the sine, a quadrant on.
#[inline(always)]
pub(in super::super) fn cos<V: FloatBits>(x: V) -> V {
    let (magic_n, head, tail) = reduce(x.abs());
    quadrant(V::bits_add(magic_n.to_bits(), x.bits(1)), head, tail)
}

/// `MAGIC + n` and r as a head and a tail, for x ≥ 0.
#[inline(always)]
fn reduce<V: FloatBits>(x: V) -> (V, V, V) {
    let c = const { <V::Elem as Row>::TRIG };
    let magic = x.lit(<V::Elem as Row>::MAGIC);
    let magic_n = x.mul_add(x.lit(c.two_over_pi), magic);
    let n = magic_n - magic;
    let first = n.mul_add(x.lit(-c.half_pi[0]), x);
    // The first difference is exact, and a multiple of the last place of the product that is subtracted next, so that
    // `lost` is exact too, however much cancels.
    let product = n * x.lit(c.half_pi[1]);
    let product_lost = n.mul_add(x.lit(c.half_pi[1]), -product);
    let head = first - product;
    let lost = ((first - head) - product) - product_lost;
    let tail = n.mul_add(x.lit(-c.half_pi[2]), lost);

    if V::any(x.lit(c.limit).less(x)) {
        let x = x.to_array();
        let (mut magic_n, mut head, mut tail) = (magic_n.to_array(), head.to_array(), tail.to_array());
        replace_large(&x[..V::LEN], c.limit, &mut magic_n, &mut head, &mut tail);
        return (V::from_array(&magic_n), V::from_array(&head), V::from_array(&tail));
    }
    (magic_n, head, tail)
}

/// Sine of r in quadrant `n`'s two low bits.
#[inline(always)]
fn quadrant<V: FloatBits>(n: V::Bits, head: V, tail: V) -> V {
    let [(sine, sine_tail), (cosine, cosine_tail)] = circular(head, tail);
    let odd = V::bits_equal(V::bits_and(n, head.bits(1)), head.bits(1));
    // The second bit, moved to the sign.
    let sign_bit = <V::Elem as Row>::SIGN.unsigned_abs().trailing_zeros();
    let negative = V::bits_and(V::bits_shl(n, sign_bit - 1), head.bits(<V::Elem as Row>::SIGN));
    flip(V::select(odd, cosine + cosine_tail, sine + sine_tail), negative)
}

/// Sine and cosine of r, each a head and a tail of up to an eighth of it.
#[inline(always)]
fn circular<V: FloatBits>(head: V, tail: V) -> [(V, V); 2] {
    let c = const { <V::Elem as Row>::TRIG };
    let (one, half) = (head.lit(1.0), head.lit(0.5));
    let square = head * head;
    let half_square = square * half;

    let sine_tail = (-half_square).mul_add(tail, tail);
    let sine_tail = (head * square).mul_add(polynomial(square, c.sine), sine_tail);

    // 1 − r²/2 with all that its roundings lost.
    let sum = one - half_square;
    let sum_lost = (one - sum) - half_square;
    let square_lost = head.mul_add(head, -square);
    let lost = (-head).mul_add(tail, (-half).mul_add(square_lost, sum_lost));
    let cosine_tail = (square * square).mul_add(polynomial(square, c.cosine), lost);
    [(head, sine_tail), (sum, cosine_tail)]
}

/// Tangent: the quotient of sine and cosine in twice the precision.
#[inline(always)]
pub(super) fn tan_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    let (magic_n, head, tail) = reduce(x.abs());
    let [sine, cosine] = circular(head, tail);
    let (sine, cosine) = (Pair::ordered_sum(sine.0, sine.1), Pair::ordered_sum(cosine.0, cosine.1));
    let odd = V::bits_equal(V::bits_and(magic_n.to_bits(), x.bits(1)), x.bits(1));
    let pick = |yes: V, no: V| V::select(odd, yes, no);
    let (above, above_lost) = (pick(-cosine.head, sine.head), pick(-cosine.tail, sine.tail));
    let (below, below_lost) = (pick(sine.head, cosine.head), pick(sine.tail, cosine.tail));

    let reciprocal = x.lit(1.0) / below;
    let quotient = above * reciprocal;
    let rest = (-quotient).mul_add(below, above) + (-quotient).mul_add(below_lost, above_lost);
    flip(rest.mul_add(reciprocal, quotient), sign(x))
}

/// Tangent.
#[inline(always)]
pub(super) fn tan_plain<V: FloatBits<Elem = f64>>(x: V) -> V {
    let (magic_n, r) = reduce_single(x.abs());
    let square = r * r;
    let (above, below) = (plain_polynomial(square, TANGENT[0]), plain_polynomial(square, TANGENT[1]));
    let above = r * above;
    let odd = V::bits_equal(V::bits_and(magic_n.to_bits(), x.bits(1)), x.bits(1));
    let quotient = V::select(odd, -below, above) / V::select(odd, above, below);
    flip(quotient, sign(x))
}

/// tan(r) / r as a quotient of two polynomials in r², for results in f32.
const TANGENT: [&[f64]; 2] = [
    &[1.000000000024513, -0.11136654383303263, 0.0010755059849406196],
    &[1.0, -0.44469987536118616, 0.01597544323275853],
];

/// π/2 in two parts for [`reduce_single`]; the product of the first, of 33 bits, with an `n` of 20 bits is exact.
const SINGLE_HALF_PI: [f64; 2] = [1.5707963267341256, 6.077100506506192e-11];

/// Up to here `n` has at most 20 bits.
const SINGLE_LIMIT: f64 = 1_000_000.0;

/// [`reduce`] of a number of f32 in f64 lanes, with r in one part.
#[inline(always)]
fn reduce_single<V: FloatBits<Elem = f64>>(x: V) -> (V, V) {
    let magic = x.lit(f64::MAGIC);
    let magic_n = x * x.lit(FRAC_2_PI) + magic;
    let n = magic_n - magic;
    let r = (x - n * x.lit(SINGLE_HALF_PI[0])) - n * x.lit(SINGLE_HALF_PI[1]);
    if V::any(x.lit(SINGLE_LIMIT).less(x)) {
        let x = x.to_array();
        let (mut magic_n, mut r, mut tail) = (magic_n.to_array(), r.to_array(), r.to_array());
        replace_large(&x[..V::LEN], SINGLE_LIMIT, &mut magic_n, &mut r, &mut tail);
        return (V::from_array(&magic_n), V::from_array(&r));
    }
    (magic_n, r)
}

/// Out of line: large angles are rare, and the vector path should stay short.
#[cold]
#[inline(never)]
fn replace_large<E: Row>(x: &[E], limit: f64, magic_n: &mut [E], head: &mut [E], tail: &mut [E]) {
    for (i, &x) in x.iter().enumerate() {
        let x = x.widen();
        if x > limit {
            let (n, high, low) = reduce_large(x);
            magic_n[i] = E::narrow(E::MAGIC + f64::from(n));
            head[i] = E::narrow(high);
            tail[i] = E::narrow((high - head[i].widen()) + low);
        }
    }
}

/// n mod 4 and r of a number from 2⁻¹⁰ on, after Payne and Hanek: only those bits of 2/π enter the product that decide
/// n mod 4 and the first 128 bits of the fraction.
fn reduce_large(x: f64) -> (u8, f64, f64) {
    if x.is_infinite() {
        return (0, f64::NAN, f64::NAN);
    }
    let bits = x.to_bits();
    let significand = (bits & ((1 << 52) - 1)) | (1 << 52);
    // x is the significand times 2^exponent.
    let exponent = (bits >> 52) as i64 - 1075;
    // The first bit of weight 2 or less in the product; one word of zeros stands before the table's first bit.
    let start = (exponent - 2 + 64) as usize;
    let (word, shift) = (start / 64, (start % 64) as u32);
    let window = |i: usize| {
        let pair = u128::from(TWO_OVER_PI[word + i]) << 64 | u128::from(TWO_OVER_PI[word + i + 1]);
        (pair >> (64 - shift)) as u64
    };
    // The lower 192 bits of significand · window: 2 bits of n, then the fraction.
    let low = u128::from(significand) * u128::from(window(2));
    let middle = u128::from(significand) * u128::from(window(1)) + (low >> 64);
    let high = significand.wrapping_mul(window(0)).wrapping_add((middle >> 64) as u64);
    let all = u128::from(high) << 64 | u128::from(middle as u64);
    // A fraction from ½ on belongs to the next n and is negative.
    let fraction = ((all << 2) | u128::from((low as u64) >> 62)) as i128;
    let n = ((high >> 62) as u8 + u8::from(fraction < 0)) & 3;
    let size = fraction.unsigned_abs();
    if size == 0 {
        return (n, 0.0, 0.0);
    }
    let zeros = size.leading_zeros();
    let aligned = size << zeros;
    let power = |exponent: i32| f64::from_bits(((1023 + exponent) as u64) << 52);
    let unit = 75 - 128 - zeros as i32;
    // 53 bits, and the next 64.
    let upper = (aligned >> 75) as u64 as f64 * power(unit);
    let lower = ((aligned << 53) >> 64) as u64 as f64 * power(unit - 64);
    let [p0, p1, _] = F64.half_pi;
    let head = upper * p0;
    let tail = upper.mul_add(p0, -head) + upper.mul_add(p1, lower * p0);
    if fraction < 0 { (n, -head, -tail) } else { (n, head, tail) }
}

/// A word of zeros, then the bits of 2/π after the point.
const TWO_OVER_PI: [u64; 21] = [
    0,
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
    0xf0cfbc209af4361d,
];
