//! The special values of the array API standard 2025.12, row by row.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, LN_10, PI};

use super::*;

/// Function, real and imaginary part of the argument, and of the result; in the standard's order. `±` before a result
/// leaves its sign open; else a zero's sign has to be that.
const ROWS: &str = "
acos ±0 0 π/2 -0
acos ±0 nan π/2 nan
acos finite inf π/2 -inf
acos nonzero nan nan nan
acos -inf positive π -inf
acos inf positive 0 -inf
acos -inf inf 3π/4 -inf
acos inf inf π/4 -inf
acos ±inf nan nan ±inf
acos nan finite nan nan
acos nan inf nan -inf
acos nan nan nan nan
acosh ±0 0 0 π/2
acosh finite inf inf π/2
acosh nonzero nan nan nan
acosh 0 nan nan ±π/2
acosh -inf positive inf π
acosh inf positive inf 0
acosh -inf inf inf 3π/4
acosh inf inf inf π/4
acosh ±inf nan inf nan
acosh nan finite nan nan
acosh nan inf inf nan
acosh nan nan nan nan
asinh 0 0 0 0
asinh positive inf inf π/2
asinh finite nan nan nan
asinh inf positive inf 0
asinh inf inf inf π/4
asinh inf nan inf nan
asinh nan 0 nan 0
asinh nan nonzero nan nan
asinh nan inf ±inf nan
asinh nan nan nan nan
atanh 0 0 0 0
atanh 0 nan 0 nan
atanh 1 0 inf 0
atanh positive inf 0 π/2
atanh nonzero nan nan nan
atanh inf positive 0 π/2
atanh inf inf 0 π/2
atanh inf nan 0 nan
atanh nan finite nan nan
atanh nan inf ±0 π/2
atanh nan nan nan nan
cosh 0 0 1 0
cosh 0 inf nan ±0
cosh 0 nan nan ±0
cosh nonzero inf nan nan
cosh nonzero nan nan nan
cosh inf 0 inf 0
cosh inf nonzero inf*cos inf*sin
cosh inf inf ±inf nan
cosh inf nan inf nan
cosh nan ±0 nan ±0
cosh nan nonzero nan nan
cosh nan inf nan nan
cosh nan nan nan nan
exp ±0 0 1 0
exp finite inf nan nan
exp finite nan nan nan
exp inf 0 inf 0
exp -inf finite 0*cos 0*sin
exp inf nonzero inf*cos inf*sin
exp -inf inf ±0 ±0
exp inf inf ±inf nan
exp -inf nan ±0 ±0
exp inf nan ±inf nan
exp nan 0 nan 0
exp nan nonzero nan nan
exp nan inf nan nan
exp nan nan nan nan
exp2 ±0 0 1 0
exp2 finite inf nan nan
exp2 inf 0 inf 0
exp2 -inf inf ±0 ±0
exp2 inf nan ±inf nan
exp2 nan 0 nan 0
exp2 nan nonzero nan nan
expm1 ±0 0 0 0
expm1 finite inf nan nan
expm1 finite nan nan nan
expm1 inf 0 inf 0
expm1 -inf finite -1 0*sin
expm1 inf nonzero inf*cos inf*sin
expm1 -inf inf -1 ±0
expm1 inf inf ±inf nan
expm1 -inf nan -1 ±0
expm1 inf nan ±inf nan
expm1 nan 0 nan 0
expm1 nan nonzero nan nan
expm1 nan inf nan nan
expm1 nan nan nan nan
log -0 0 -inf π
log 0 0 -inf 0
log finite inf inf π/2
log finite nan nan nan
log -inf positive inf π
log inf positive inf 0
log -inf inf inf 3π/4
log inf inf inf π/4
log ±inf nan inf nan
log nan finite nan nan
log nan inf inf nan
log nan nan nan nan
log1p -1 0 -inf 0
log1p finite inf inf π/2
log1p finite nan nan nan
log1p -inf positive inf π
log1p inf positive inf 0
log1p -inf inf inf 3π/4
log1p inf inf inf π/4
log1p ±inf nan inf nan
log1p nan finite nan nan
log1p nan inf inf nan
log1p nan nan nan nan
sign ±0 ±0 0 0
sign nan finite nan nan
sign finite nan nan nan
sign nan inf nan nan
sign nan nan nan nan
sinh 0 0 0 0
sinh 0 inf ±0 nan
sinh 0 nan ±0 nan
sinh positive inf nan nan
sinh positive nan nan nan
sinh inf 0 inf 0
sinh inf positive inf*cos inf*sin
sinh inf inf ±inf nan
sinh inf nan ±inf nan
sinh nan 0 nan 0
sinh nan nonzero nan nan
sinh nan inf nan nan
sinh nan nan nan nan
sqrt ±0 0 0 0
sqrt any inf inf inf
sqrt finite nan nan nan
sqrt -inf positive 0 inf
sqrt inf positive inf 0
sqrt -inf nan nan ±inf
sqrt inf nan inf nan
sqrt nan finite nan nan
sqrt nan nan nan nan
tanh 0 0 0 0
tanh nonzero inf nan nan
tanh 0 inf 0 nan
tanh nonzero nan nan nan
tanh 0 nan 0 nan
tanh inf positive 1 0
tanh inf inf 1 ±0
tanh inf nan 1 ±0
tanh nan 0 nan 0
tanh nan nonzero nan nan
tanh nan inf nan nan
tanh nan nan nan nan
";

/// What a word stands for as an argument.
fn samples(word: &str) -> Vec<f64> {
    let positive = vec![5e-324, 1e-300, 0.5, 1.0, 2.5, 30.0, 1e5, 1e300, f64::MAX];
    let of = |sets: &[&str]| sets.iter().flat_map(|word| samples(word)).collect::<Vec<_>>();
    match word {
        "positive" => positive,
        "negative" => positive.iter().map(|x| -x).collect(),
        "nonzero" => of(&["positive", "negative"]),
        "±0" => vec![0.0, -0.0],
        "finite" => of(&["nonzero", "±0"]),
        "±inf" => vec![f64::INFINITY, -f64::INFINITY],
        "any" => of(&["finite", "±inf", "nan"]),
        number => vec![number.parse().unwrap()],
    }
}

/// Whether a part is as a word says, of a function of the angle `b`.
fn fits(got: f64, word: &str, b: f64) -> bool {
    if let Some(open) = word.strip_prefix('±') {
        return fits(got.abs(), open, b);
    }
    let want = match word {
        "π" => PI,
        "π/2" => FRAC_PI_2,
        "π/4" => FRAC_PI_4,
        "3π/4" => 3.0 * FRAC_PI_4,
        "inf*cos" => f64::INFINITY.copysign(b.cos()),
        "inf*sin" => f64::INFINITY.copysign(b.sin()),
        "0*cos" => 0f64.copysign(b.cos()),
        "0*sin" => 0f64.copysign(b.sin()),
        number => number.parse().unwrap(),
    };
    if want.is_nan() { got.is_nan() } else { error(got, want) <= 1.0 }
}

/// Every argument that a row stands for, with what the row says of the result.
fn rows() -> impl Iterator<Item = (&'static str, C, [&'static str; 2])> {
    ROWS.lines().filter(|row| !row.is_empty()).flat_map(|row| {
        let words: Vec<_> = row.split(' ').collect();
        let &[name, a, b, re, im] = &words[..] else { panic!("{row}") };
        let of_a = samples(a).into_iter();
        let all = of_a.flat_map(move |x| samples(b).into_iter().map(move |y| C::new(x, y)));
        all.map(move |z| (name, z, [re, im])).collect::<Vec<_>>()
    })
}

/// The results that are not as their rows say; `f` gives the function of a name at a row's argument, where there is one.
fn failures(f: impl Fn(&str, C) -> Option<C>) -> (usize, Vec<String>) {
    let (mut tried, mut failures) = (0, Vec::new());
    for (name, z, [re, im]) in rows() {
        if let Some(got) = f(name, z) {
            tried += 1;
            if !(fits(got.re, re, z.im) && fits(got.im, im, z.im)) {
                failures.push(format!("{name}({z:e}) = {got:e} instead of {re} {im}"));
            }
        }
    }
    (tried, failures)
}

#[track_caller]
fn check(f: impl Fn(&str, C) -> Option<C>) {
    let (tried, failures) = failures(f);
    assert!(tried > 0 && failures.is_empty(), "{tried} tried\n{}", failures.join("\n"));
}

#[test]
fn rows_of_the_standard() {
    check(|name, z| Some(named(name)(z)));
}

#[test]
fn rows_of_the_conjugate() {
    // The sign that the sum has for zeros is not one of conjugates.
    check(|name, z| (name != "sign").then(|| named(name)(z.conj()).conj()));
}

#[test]
fn rows_of_odd_and_even_functions() {
    check(|name, z| match name {
        "asinh" | "atanh" | "sinh" | "tanh" => Some(-named(name)(-z)),
        "cosh" => Some(cosh(-z)),
        _ => None,
    });
}

/// The standard defines the trigonometric functions by the hyperbolic ones: f(z) = −i g(i z).
#[test]
fn rows_of_trigonometric_functions() {
    check(|name, w| {
        // The z with w = i z.
        let z = C::new(w.im, -w.re);
        let turned = |v: C| C::new(-v.im, v.re);
        match name {
            "asinh" => Some(turned(asin(z))),
            "atanh" => Some(turned(atan(z))),
            "sinh" => Some(turned(sin(z))),
            "tanh" => Some(turned(tan(z))),
            "cosh" => Some(cos(z)),
            _ => None,
        }
    });
}

/// The standard defines these as log z divided by a constant.
#[test]
fn rows_of_logarithms_to_other_bases() {
    check(|name, z| (name == "log").then(|| log2(z) * LN_2));
    check(|name, z| (name == "log").then(|| log10(z) * LN_10));
}

#[test]
fn a_wrong_result_fails() {
    let (tried, failures) = failures(|name, z| (name == "log").then(|| log(z).conj()));
    assert!(tried > 10 && failures.len() > 10);
}

const INF: f64 = f64::INFINITY;

#[test]
fn infinite_directions() {
    assert_eq!(sign(C::new(INF, 3.0)), C::new(1.0, 0.0));
    assert_eq!(sign(C::new(-2.0, -INF)), C::new(0.0, -1.0));
    assert!(sign(C::new(INF, INF)).re.is_nan());
}

/// Annex G of C23: what is infinite in a part is infinite, even with a NaN in the other.
#[test]
fn quotients_with_infinities() {
    let infinite = |z: C| z.re.is_infinite() || z.im.is_infinite();
    let nan = f64::NAN;
    let finite = [C::new(1.0, 2.0), C::new(-3.0, 0.0), C::new(0.0, 1e-310), C::new(f64::MAX, -f64::MAX)];
    let infinities =
        [C::new(INF, 1.0), C::new(-INF, nan), C::new(nan, INF), C::new(INF, -INF), C::new(0.0, INF)];
    for number in finite {
        for infinity in infinities {
            assert!(
                infinite(divide(infinity, number)),
                "{infinity} / {number}: {}",
                divide(infinity, number)
            );
            assert_eq!(divide(number, infinity), C::new(0.0, 0.0), "{number} / {infinity}");
        }
        assert!(infinite(divide(number, C::new(0.0, 0.0))), "{number}");
        assert!(infinite(divide(number, C::new(-0.0, 0.0))), "{number}");
        assert_eq!(divide(C::new(0.0, 0.0), number), C::new(0.0, 0.0), "{number}");
        for other in [C::new(nan, 1.0), C::new(1.0, nan), C::new(nan, nan)] {
            for quotient in [divide(number, other), divide(other, number)] {
                assert!(quotient.re.is_nan() || quotient.im.is_nan());
            }
        }
    }
    for quotient in
        [divide(NAN, NAN), divide(infinities[0], infinities[3]), divide(C::new(0.0, 0.0), C::new(0.0, 0.0))]
    {
        assert!(quotient.re.is_nan() && quotient.im.is_nan(), "{quotient}");
    }
    assert_eq!(divide(C::new(1.0, 0.0), C::new(0.0, 0.0)).re, INF);
    assert_eq!(divide(C::new(1.0, 0.0), C::new(-0.0, 0.0)).re, -INF);
}

#[test]
fn powers_with_zeros_and_infinities() {
    let c = C::new;
    for base in [c(0.0, 0.0), c(INF, 1.0), NAN, c(3.0, -4.0)] {
        assert_eq!(pow(base, c(0.0, -0.0)), c(1.0, 0.0), "{base}");
    }
    assert_eq!(pow(c(0.0, -0.0), c(2.5, 7.0)), c(0.0, 0.0));
    assert_eq!(pow(c(0.0, 0.0), c(3.0, 0.0)), c(0.0, 0.0));
    assert_eq!(pow(c(0.0, 0.0), c(-1.0, 0.0)).re, INF);
    assert!(pow(c(0.0, 0.0), c(0.0, 1.0)).re.is_nan());
    assert_eq!(pow(c(INF, 0.0), c(2.0, 0.0)), c(INF, 0.0));
    assert_eq!(pow(c(INF, 0.0), c(-2.0, 0.0)), c(0.0, 0.0));
    assert_eq!(pow(c(0.5, 0.0), c(INF, 0.0)), c(0.0, 0.0));
    assert_eq!(pow(c(2.0, 0.0), c(INF, 0.0)), c(INF, 0.0));
    assert_eq!(pow(c(0.3, 0.4), c(INF, 0.0)), c(0.0, 0.0));
    assert_eq!(pow(c(3.0, 4.0), c(-INF, 0.0)), c(0.0, 0.0));
    assert_eq!(pow(c(3.0, 4.0), c(INF, 0.0)).re, INF);
    for (base, exponent) in [(NAN, c(1.0, 1.0)), (c(1.0, 2.0), NAN), (c(2.0, 0.0), c(f64::NAN, 0.0))] {
        assert!(pow(base, exponent).re.is_nan(), "{base} ^ {exponent}");
    }
}
