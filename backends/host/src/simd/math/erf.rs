//! The error function.

use super::double::Pair;
use super::{FloatBits, exp, flip, plain_polynomial, polynomial, sign};

/// From here on the result rounds to 1 in f32, and in f64.
const LIMITS: [f64; 2] = [3.93, 5.95];

/// erf(x) / x in x², up to the first limit: the even and the odd coefficients.
const WHOLE: [&[f64]; 2] = [
    &[
        1.1283791659393094,
        0.11283763080326545,
        0.005222909146238921,
        0.00012000032190245054,
        1.574340459540526e-06,
        1.172100409554855e-08,
        4.2686495350666305e-11,
        5.862969387624988e-14,
        1.8550939688897613e-17,
    ],
    &[
        -0.37612634507620357,
        -0.02686541670261825,
        -0.0008538956502233087,
        -1.4693658963800217e-05,
        -1.4675052062632572e-07,
        -7.840810177864147e-10,
        -1.825964239410692e-12,
        -1.3211140828432947e-15,
        -1.217764295697252e-19,
    ],
];

/// 2/√π, and what its rounding lost.
const SLOPE: [f64; 2] = [std::f64::consts::FRAC_2_SQRT_PI, 1.533545961316588e-17];

/// (erf(x) / x − 2/√π) / x² in x², up to 1: the first coefficient, and of the others those of
/// even and of odd places.
const NEAR_FIRST: f64 = -0.3761263890318375;
const NEAR: [&[f64]; 2] = [
    &[
        0.1128379167095485,
        0.005223977624710035,
        0.00012055330832107548,
        1.6460880141349488e-06,
        1.4650578190320555e-08,
        5.89413697161146e-11,
    ],
    &[
        -0.026866170645067824,
        -0.0008548326973795724,
        -1.4925588116816245e-05,
        -1.634898719134293e-07,
        -1.1336373945953706e-09,
    ],
];

/// −ln(1 − erf(1)), and what its rounding lost.
const START: [f64; 2] = [1.8496055099332482, 1.1145214635639343e-17];

/// With u = x − 1: (−ln(1 − erf(x)) + ln(1 − erf(1))) / u in u, by even and odd places.
const FAR: [&[f64]; 2] = [
    &[
        2.63896751423479,
        0.04156109804364064,
        0.0019779027108337496,
        -2.62759145840627e-05,
        -9.602133709437067e-06,
        -1.360098151545158e-07,
        5.415091704901094e-08,
        3.0422080750429362e-09,
        3.160677044643917e-11,
    ],
    &[
        0.8431072563585913,
        -0.010033825395247657,
        -0.00023732312049682612,
        2.7154840311221066e-05,
        2.05186556684207e-06,
        -1.0198014238372493e-07,
        -1.5642785291164423e-08,
        -3.971349995362737e-10,
        -1.1604359262420092e-12,
    ],
];

/// The error function.
#[inline(always)]
pub(super) fn erf_plain<V: FloatBits<Elem = f64>>(x: V) -> V {
    let limited = x.at_most(x.lit(LIMITS[0])).at_least(x.lit(-LIMITS[0]));
    // Two chains of half the length.
    let square = limited * limited;
    let fourth = square * square;
    let (even, odd) = (plain_polynomial(fourth, WHOLE[0]), plain_polynomial(fourth, WHOLE[1]));
    limited * (even + square * odd)
}

/// The error function.
#[inline(always)]
pub(super) fn erf_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    let one = x.lit(1.0);
    let size = x.abs().at_most(x.lit(LIMITS[1]));
    let beyond = one.less(size);
    let near = near(size);
    let result = if V::any(beyond) { V::select(beyond, far(size), near) } else { near };
    flip(result, sign(x))
}

/// A polynomial from its even and its odd coefficients: two chains of operations of half the length.
#[inline(always)]
fn halves<V: FloatBits>(x: V, coefficients: [&'static [f64]; 2]) -> V {
    let square = x * x;
    x.mul_add(polynomial(square, coefficients[1]), polynomial(square, coefficients[0]))
}

/// For x in [0, 1]: x times a sum in twice the precision.
#[inline(always)]
fn near<V: FloatBits<Elem = f64>>(x: V) -> V {
    let square = Pair::product(x, x);
    let rest = halves(square.head, NEAR);
    let first = x.lit(NEAR_FIRST);
    let factor = square.head.mul_add(rest, first);
    let factor_lost = square.head.mul_add(rest, first - factor);
    let Pair { head, tail } = Pair::product(square.head, factor);
    let lost = square.tail.mul_add(factor, square.head.mul_add(factor_lost, tail + x.lit(SLOPE[1])));
    let sum = Pair::ordered_sum(x.lit(SLOPE[0]), head);
    x.mul_add(sum.head, x * (sum.tail + lost))
}

/// For x ≥ 1: 1 − e^(−q), with what the rounding of q lost.
#[inline(always)]
fn far<V: FloatBits<Elem = f64>>(x: V) -> V {
    let (one, start) = (x.lit(1.0), x.lit(START[0]));
    let u = x - one;
    let factor = halves(u, FAR);
    let q = u.mul_add(factor, start);
    let q_lost = u.mul_add(factor, start - q) + x.lit(START[1]);
    let power = exp(-q);
    let Pair { head, tail } = Pair::ordered_sum(one, -power);
    head + power.mul_add(q_lost, tail)
}
