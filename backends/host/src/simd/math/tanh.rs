//! The hyperbolic tangent near a tabulated one: of f32 by a polynomial for each interval, of f64 by the addition formula.
//!
//! Added to |x|, a shift makes each quarter of a power of 2, from the shift on, an interval of its own: narrow ones where
//! the tangent is steep. An interval's centre is a number whose tangent is very close to a float, so that no more than
//! the last sum rounds by much.

use super::{FloatBits, Row, flip, polynomial, sign};

/// From here on the result rounds to 1; it is in the last of sixteen intervals.
const LIMIT_F32: f64 = 9.25;
const LIMIT_F64: f64 = 19.07;
const SHIFT_F32: f64 = 0.625;
const SHIFT_F64: f64 = 1.25;
/// What |x| is multiplied by before, in f64, which makes the limit fit.
const STRETCH: f64 = 0.98;
/// Sums below this are the first interval's, in f32.
const FIRST: f64 = 0.75;

/// The centres of f32's intervals, from the sum of 2 on. The first one's is 0.
const CENTRES_F32: [f32; 16] = [
    1.6249857, 2.1244576, 2.6248977, 3.1247869, 3.8749688, 4.874471, 5.8744707, 6.8725796, 8.256574, 0.0,
    0.18750109, 0.31246325, 0.4999708, 0.7499749, 0.9996585, 1.2497694,
];
/// The tangents of these numbers.
const TANGENTS_F32: [f32; 16] = [
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

/// Those of f64's intervals; 1 − tangent² is close to a double too.
const CENTRES_F64: [f64; 16] = [
    1.0204081632652626,
    1.530612244898083,
    2.040816326529627,
    2.5510204081640775,
    3.3163265306118794,
    4.33673469387768,
    5.357142857147135,
    6.377551020408899,
    7.908163265218527,
    9.948979589451703,
    11.98979613842848,
    14.030618521144387,
    17.085925606107782,
    0.0,
    0.3826530612245174,
    0.6377551020408035,
];
/// The tangents of these numbers.
const TANGENTS_F64: [f64; 16] = [
    0.7700327308257688,
    0.9105293071885487,
    0.9668006331682872,
    0.9879049562528193,
    0.9973701321465065,
    0.9996579293479,
    0.9999555506739742,
    0.9999942249159515,
    0.9999997295502397,
    0.9999999954348388,
    0.9999999999229406,
    0.9999999999986993,
    0.9999999999999971,
    0.0,
    0.36500928040346386,
    0.5633690893791025,
];
/// tanh t = t − t·z·N / D with z = t², to 2⁻⁵⁸ for |t| ≤ 0.52, and roughly in the wider intervals, whose tangents are
/// almost 1. These are the coefficients of N, and those of D but for the last one, which is 1.
const NUMERATOR: &[f64] = &[1612.8534623936373, 99.19887718824491, 0.9643642934877237];
const DENOMINATOR: [f64; 3] = [4838.560387180913, 2233.020786437088, 112.7154400072455];

/// In the lowest four bits, the number of the interval that a sum is in.
#[inline(always)]
fn interval<V: FloatBits>(sum: V) -> V::Bits {
    V::bits_shr(sum.to_bits(), <V::Elem as Row>::FRACTION_BITS - 2)
}

/// Hyperbolic tangent.
#[inline(always)]
pub(super) fn tanh_f32<V: FloatBits<Elem = f32>>(x: V) -> V {
    let size = x.abs().at_most(x.lit(LIMIT_F32));
    // A NaN has any index, and stays one.
    let shifted = size + x.lit(SHIFT_F32);
    let index = interval(shifted);
    let t = size - V::lookup(index, &CENTRES_F32);
    let mut slope = V::lookup(index, &COEFFICIENTS[5]);
    let mut i = 5;
    while i > 0 {
        i -= 1;
        slope = slope.mul_add(t, V::lookup(index, &COEFFICIENTS[i]));
    }
    // Near 0 nothing but the last sum rounds more than a little.
    let from = V::select(shifted.less(x.lit(FIRST)), t, V::lookup(index, &TANGENTS_F32));
    flip(slope.mul_add(t, from), sign(x))
}

/// Hyperbolic tangent: with T of the centre, t = |x| − centre and u = tanh t, it is T + (1 − T²)·u / (1 + T·u).
#[inline(always)]
pub(super) fn tanh_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    let size = x.abs().at_most(x.lit(LIMIT_F64));
    // A NaN has any index, and stays one.
    let index = interval(size.mul_add(x.lit(STRETCH), x.lit(SHIFT_F64)));
    let t = size - V::lookup(index, &CENTRES_F64);
    let tangent = V::lookup(index, &TANGENTS_F64);

    // u / (1 + T·u) = t·(D − z·N) / (D + T·t·(D − z·N)) = t − t·rest, with a small rest where the slope is not small.
    let z = t * t;
    let less = z * polynomial(z, NUMERATOR);
    let whole = (z + x.lit(DENOMINATOR[2])).mul_add(z, x.lit(DENOMINATOR[1]));
    let whole = whole.mul_add(z, x.lit(DENOMINATOR[0]));
    let crossed = tangent * (t * (whole - less));
    let rest = (less + crossed) / (whole + crossed);

    // T + slope·t and what that sum loses, less slope·t·rest.
    let slope = (-tangent).mul_add(tangent, x.lit(1.0));
    let line = slope.mul_add(t, tangent);
    let lost = slope.mul_add(t, tangent - line);
    flip(line + (-(slope * t)).mul_add(rest, lost), sign(x))
}
