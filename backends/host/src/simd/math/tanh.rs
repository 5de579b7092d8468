//! The hyperbolic tangent: of f32 near a tabulated one, of f64 by E / (E + 2) with E = e²ˣ − 1.

use super::double::Pair;
use super::{FloatBits, exp, flip, power, sign};

/// From here on the result rounds to 1, in f32 and in f64.
const LIMIT_F32: f64 = 9.25;
const LIMIT_F64: f64 = 20.0;
/// Added to |x|, it makes each quarter of a power of 2, from the sum of 0 on, an interval of its own.
const SHIFT: f64 = 0.625;
/// Bits of the significand below those that tell quarters apart.
const QUARTER_BITS: u32 = 21;
/// Sums below this are the first interval's.
const FIRST: f64 = 0.75;

/// A number in each interval whose tangent is very close to a float. The first interval's is 0.
const CENTRES: [f32; 16] = [
    1.6249857, 2.1244576, 2.6248977, 3.1247869, 3.8749688, 4.874471, 5.8744707, 6.8725796, 8.256574, 0.0,
    0.18750109, 0.31246325, 0.4999708, 0.7499749, 0.9996585, 1.2497694,
];
/// The tangents of these numbers.
const TANGENTS: [f32; 16] = [
    0.92534417, 0.97184265, 0.9895576, 0.9961449, 0.99913883, 0.9998833, 0.9999842, 0.99999785, 0.9999999,
    0.0, 0.18533425, 0.30267635, 0.4620942, 0.635134, 0.7614507, 0.848219,
];
/// With t = |x| − centre: (tanh |x| − tangent) / t, lowest degree first; in the first interval less 1.
const COEFFICIENTS: [[f32; 16]; 6] = [
    [
        0.14373809,
        0.05552186,
        0.020775711,
        0.0076953587,
        0.0017216287,
        0.00023340309,
        3.1590895e-05,
        4.2916236e-06,
        2.696033e-07,
        0.0,
        0.9656512,
        0.908387,
        0.786469,
        0.5966048,
        0.4201928,
        0.28052455,
    ],
    [
        -0.13300717,
        -0.0539585,
        -0.02055876,
        -0.007665691,
        -0.0017201358,
        -0.00023337435,
        -3.1590196e-05,
        -4.2915726e-06,
        -2.6965716e-07,
        -3.8978843e-08,
        -0.17896824,
        -0.27494726,
        -0.36342275,
        -0.378924,
        -0.31995612,
        -0.23794626,
    ],
    [
        0.07517456,
        0.03393297,
        0.013418499,
        0.0050707655,
        0.001143633,
        0.00015538259,
        2.1037116e-05,
        2.8579968e-06,
        1.7796015e-07,
        -0.3333289,
        -0.28871444,
        -0.21957564,
        -0.09422665,
        0.041794747,
        0.10356603,
        0.108323336,
    ],
    [
        -0.025224756,
        -0.0149918655,
        -0.006425871,
        -0.0024961703,
        -0.0005699437,
        -7.766883e-05,
        -1.0519717e-05,
        -1.4294487e-06,
        -8.86267e-08,
        -0.00016402002,
        0.11316258,
        0.15810893,
        0.16468443,
        0.09976683,
        0.027793828,
        -0.012565422,
    ],
    [
        0.0011576371,
        0.004456916,
        0.0023585134,
        0.0009754334,
        0.00023571093,
        3.236669e-05,
        4.388359e-06,
        5.9632015e-07,
        4.052027e-08,
        0.13598487,
        0.09652646,
        0.04552226,
        -0.026446665,
        -0.06345107,
        -0.046278805,
        -0.019342009,
    ],
    [
        0.0042409906,
        -0.00053037936,
        -0.0006361547,
        -0.0003035079,
        -7.718301e-05,
        -1.0732087e-05,
        -1.4576972e-06,
        -1.9741513e-07,
        -1.3936963e-08,
        -0.019526323,
        -0.05909334,
        -0.07237222,
        -0.050460413,
        -0.0014981091,
        0.018677775,
        0.015172413,
    ],
];

/// Hyperbolic tangent.
#[inline(always)]
pub(super) fn tanh_f32<V: FloatBits<Elem = f32>>(x: V) -> V {
    let size = x.abs().at_most(x.lit(LIMIT_F32));
    // A NaN has any index, and stays one.
    let shifted = size + x.lit(SHIFT);
    let index = V::bits_shr(shifted.to_bits(), QUARTER_BITS);
    let t = size - V::lookup(index, &CENTRES);
    let mut slope = V::lookup(index, &COEFFICIENTS[5]);
    let mut i = 5;
    while i > 0 {
        i -= 1;
        slope = slope.mul_add(t, V::lookup(index, &COEFFICIENTS[i]));
    }
    // Near 0 nothing but the last sum rounds more than a little.
    let from = V::select(shifted.less(x.lit(FIRST)), t, V::lookup(index, &TANGENTS));
    flip(slope.mul_add(t, from), sign(x))
}

/// Hyperbolic tangent.
#[inline(always)]
pub(super) fn tanh_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    let (one, two) = (x.lit(1.0), x.lit(2.0));
    let limited = x.abs().at_most(x.lit(LIMIT_F64));
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
