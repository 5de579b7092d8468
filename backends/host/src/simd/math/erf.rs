//! The error function.

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

/// erf(x) / x − 1 in x², up to 1.
const NEAR: &[f64] = &[
    0.1283791670955126,
    -0.3761263890318375,
    0.11283791670954857,
    -0.026866170645072907,
    0.005223977624780965,
    -0.0008548326978747702,
    0.00012055331037093965,
    -1.4925593511401867e-05,
    1.6460972886829844e-06,
    -1.6350025936209924e-07,
    1.4657884472637242e-08,
    -1.1365683248456953e-09,
    5.945290031037285e-11,
];

/// −ln(1 − erf(x)) in x − 1, from 1 on.
const FAR: &[f64] = &[
    1.8496055099332482,
    2.6389675142347757,
    0.8431072563594121,
    0.04156109802508216,
    -0.010033825179079298,
    0.001977901215258346,
    -0.00023731643177942024,
    -2.6296336781303597e-05,
    2.7198994322216353e-05,
    -9.67141017759172e-06,
    2.1319762071985588e-06,
    -2.0484066288186368e-07,
    -5.799524596054057e-08,
    3.33846337961723e-08,
    -8.51691132339066e-09,
    1.3187592785476179e-09,
    -1.1928842188348723e-10,
    4.863197192159238e-12,
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
    let near = size.mul_add(polynomial(size * size, NEAR), size);
    let beyond = one.less(size);
    let result = if V::any(beyond) {
        let far = one - exp(-polynomial(size - one, FAR));
        V::select(beyond, far, near)
    } else {
        near
    };
    flip(result, sign(x))
}
