//! The functions against the standard's tables, exact values and their symmetries.

mod special;

use proptest::prelude::*;

use super::*;

/// A function of one number.
type Function = fn(C) -> C;

/// Every function of one number but `sign`, with the error that it promises, in units in the last place.
const FUNCTIONS: [(&str, Function, f64); 21] = [
    ("sqrt", sqrt, 3.0),
    ("exp", exp, 3.0),
    ("exp2", exp2, 4.0),
    ("expm1", expm1, 4.0),
    ("log", log, 2.0),
    ("log1p", log1p, 3.0),
    ("log2", log2, 3.0),
    ("log10", log10, 3.0),
    ("sin", sin, 4.0),
    ("cos", cos, 4.0),
    ("tan", tan, 6.0),
    ("asin", asin, 4.0),
    ("acos", acos, 4.0),
    ("atan", atan, 4.0),
    ("sinh", sinh, 4.0),
    ("cosh", cosh, 4.0),
    ("tanh", tanh, 6.0),
    ("asinh", asinh, 4.0),
    ("acosh", acosh, 4.0),
    ("atanh", atanh, 4.0),
    ("sign", sign, 2.0),
];

fn named(name: &str) -> Function {
    FUNCTIONS.iter().find(|f| f.0 == name).unwrap_or_else(|| panic!("no function {name}")).1
}

/// The distance of numbers next to `exact`.
fn unit(exact: f64) -> f64 {
    let up = f64::from_bits(exact.abs().min(f64::MAX.next_down()).to_bits() + 1);
    up - exact.abs().min(f64::MAX.next_down())
}

/// |got − exact| in units in the last place of `exact`; a zero has to have its sign.
fn error(got: f64, exact: f64) -> f64 {
    if got == exact {
        let signed = exact != 0.0 || got.is_sign_negative() == exact.is_sign_negative();
        return if signed { 0.0 } else { f64::INFINITY };
    }
    let (units, distance) = (unit(exact), (got - exact).abs());
    if distance.is_nan() { f64::INFINITY } else { distance / units }
}

/// The distance between numbers, in units in the last place of the magnitude.
fn normwise(got: C, exact: C) -> f64 {
    if got == exact {
        return 0.0;
    }
    let units = unit(exact.re.hypot(exact.im));
    let distance = ((got.re - exact.re) / units).hypot((got.im - exact.im) / units);
    if distance.is_nan() { f64::INFINITY } else { distance }
}

/// The lines of the table of exact values: the function and its numbers.
fn reference() -> impl Iterator<Item = (&'static str, Vec<f64>)> {
    include_str!("reference.txt").lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut words = line.split(' ');
        (words.next().unwrap(), words.map(|word| word.parse().unwrap()).collect())
    })
}

#[test]
fn hard_points_are_within_the_promised_error() {
    let mut failures = Vec::new();
    // Half a unit more than promised is for the table's own rounding.
    for (name, v) in reference() {
        let (got, exact, ok) = match (name, &v[..]) {
            ("pow" | "divide", &[a, b, c, d, re, im]) => {
                let f = if name == "pow" { pow } else { divide };
                let (got, exact) = (f(C::new(a, b), C::new(c, d)), C::new(re, im));
                (got, exact, normwise(got, exact) <= 4.5)
            }
            (_, &[x, y, re, im]) => {
                let &(_, f, most) = FUNCTIONS.iter().find(|f| f.0 == name).unwrap();
                let (got, exact) = (f(C::new(x, y)), C::new(re, im));
                // Where expm1 promises less of its real part.
                let far = exact.re.abs() < 1e-6 * exact.im.abs() || x.abs().max(y.abs()) >= 2.5;
                let enough = name == "expm1" && far && normwise(got, exact) <= 3.5;
                let re_ok = enough || error(got.re, re) <= most + 0.5;
                (got, exact, re_ok && error(got.im, im) <= most + 0.5)
            }
            _ => panic!("{name} {v:?}"),
        };
        if !ok {
            failures.push(format!("{name}{v:?}: {got:e} instead of {exact:e}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_table_has_hard_points_of_every_function() {
    let names: Vec<_> = reference().map(|line| line.0).collect();
    for name in FUNCTIONS.iter().map(|f| f.0).filter(|&f| f != "sign").chain(["pow", "divide"]) {
        assert!(names.iter().filter(|&&n| n == name).count() >= 20, "{name}");
    }
}

/// Single precision is computed in double precision and rounded once, so that each part is the exact one's nearest
/// number, or its neighbour where the exact one is next to halfway.
#[test]
fn single_precision_is_rounded_once() {
    for (name, v) in reference() {
        if let (Some(&(_, f, _)), &[x, y, ..]) = (FUNCTIONS.iter().find(|f| f.0 == name), &v[..]) {
            let z = Complex::new(x as f32, y as f32);
            let (single, double) = (z.by(f), f(widen(z)));
            let same = |a: f32, b: f64| a == b as f32 || a.is_nan() && b.is_nan();
            assert!(same(single.re, double.re) && same(single.im, double.im), "{name} {z}");
        }
    }
}

#[test]
fn powers_and_quotients_that_fit_are_exact() {
    let c = C::new;
    assert_eq!(pow(c(0.0, 2.0), c(2.0, 0.0)), c(-4.0, 0.0));
    assert_eq!(pow(c(1.0, 1.0), c(2.0, 0.0)), c(0.0, 2.0));
    assert_eq!(pow(c(2.0, -1.0), c(3.0, 0.0)), c(2.0, -11.0));
    assert_eq!(pow(c(0.0, 2.0), c(-1.0, 0.0)), c(0.0, -0.5));
    assert_eq!(pow(c(0.0, 1.0), c(101.0, 0.0)), c(0.0, 1.0));
    assert_eq!(pow(c(-2.0, 0.0), c(-3.0, 0.0)), c(-0.125, 0.0));
    assert_eq!(pow(c(9.0, 0.0), c(0.5, 0.0)), c(3.0, 0.0));
    assert_eq!(pow(c(1e200, -1e100), c(1.0, 0.0)), c(1e200, -1e100));
    assert_eq!(divide(c(-5.0, 10.0), c(3.0, 4.0)), c(1.0, 2.0));
    assert_eq!(log2(c(8.0, 0.0)), c(3.0, 0.0));
    assert_eq!(log2(c(0.0, 0.25)).re, -2.0);
    assert_eq!(log10(c(1000.0, 0.0)).re, 3.0);
    assert_eq!(exp2(c(-3.0, 0.0)), c(0.125, 0.0));
    assert_eq!(sqrt(c(3.0, -4.0)), c(2.0, -1.0));
}

#[test]
fn directions() {
    let c = C::new;
    assert_eq!(sign(c(3.0, -4.0)), c(0.6, -0.8));
    assert_eq!(sign(c(0.0, -7.0)), c(0.0, -1.0));
    let diagonal = std::f64::consts::FRAC_1_SQRT_2;
    for size in [f64::MAX, 5e-324, 1e-310, 1e-160, 1e200] {
        let got = sign(c(size, -size));
        assert!(error(got.re, diagonal) <= 2.0 && error(got.im, -diagonal) <= 2.0, "{size}: {got}");
    }
}

/// Numbers of all sizes, with many near 1 and of the sizes of angles and exponents.
fn parts() -> impl Strategy<Value = f64> {
    prop_oneof![-4.0..4.0f64, -1e3..1e3f64, any::<f64>(), (-1e-6..1e-6f64).prop_map(|d| 1.0 + d), Just(0.0)]
}
fn numbers() -> impl Strategy<Value = C> {
    (parts(), parts()).prop_map(|(re, im)| C::new(re, im))
}

/// Equal part by part; NaN equals NaN.
fn same(a: C, b: C) -> bool {
    let part = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
    part(a.re, b.re) && part(a.im, b.im)
}

/// A random number of around 1, for checks by identities.
fn moderate() -> impl Strategy<Value = C> {
    (-3.0..3.0f64, -3.0..3.0f64).prop_map(|(re, im)| C::new(re, im))
}

/// A relative error of `units` units.
fn near(got: C, exact: C, units: f64) -> bool {
    (got - exact).norm() <= units * f64::EPSILON * exact.norm()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn functions_commute_with_conjugation(z in numbers(), w in numbers()) {
        for (name, f, _) in FUNCTIONS {
            prop_assert!(same(f(z.conj()), f(z).conj()), "{name} {z:e}: {:e} and {:e}", f(z.conj()), f(z));
        }
        prop_assert!(same(divide(z.conj(), w.conj()), divide(z, w).conj()), "{z:e} / {w:e}");
        prop_assert!(same(pow(z.conj(), w.conj()), pow(z, w).conj()), "{z:e} ^ {w:e}: {:e}", pow(z, w));
    }

    #[test]
    fn odd_and_even_functions(z in numbers()) {
        for name in ["sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "sign"] {
            let f = named(name);
            prop_assert!(same(f(-z), -f(z)), "{name} {z:e}");
        }
        for name in ["cos", "cosh"] {
            let f = named(name);
            prop_assert!(same(f(-z), f(z)), "{name} {z:e}");
        }
    }

    /// On the real axis the functions are those of real numbers.
    #[test]
    fn real_numbers(x in parts()) {
        let z = C::new(x, 0.0);
        let real: [(&str, f64); 13] = [
            ("exp", x.exp()), ("exp2", x.exp2()), ("expm1", x.exp_m1()), ("sin", x.sin()), ("cos", x.cos()),
            ("tan", x.tan()), ("atan", x.atan()), ("sinh", x.sinh()), ("cosh", x.cosh()), ("tanh", x.tanh()),
            ("asinh", libm::asinh(x)), ("sqrt", x.abs().sqrt()), ("log", x.abs().ln()),
        ];
        for (name, want) in real {
            let got = named(name)(z);
            let got = if name == "sqrt" && x < 0.0 { got.im } else { got.re };
            prop_assert!(got == want || error(got, want) <= 4.0 || got.is_nan() && want.is_nan(), "{name} {x:e}: {got:e}, {want:e}");
        }
    }

    /// A function's inverse leads back, where both are well-conditioned.
    #[test]
    fn inverses(z in moderate()) {
        let pairs = [
            ("log", "exp"), ("log1p", "expm1"), ("log2", "exp2"), ("asin", "sin"), ("acos", "cos"),
            ("asinh", "sinh"), ("acosh", "cosh"),
        ];
        for (inverse, name) in pairs {
            let back = named(name)(named(inverse)(z));
            prop_assert!((back - z).norm() <= 40.0 * f64::EPSILON * (1.0 + z.norm()), "{name} {inverse} {z}: {back}");
        }
        prop_assert!(near(sqrt(z) * sqrt(z), z, 8.0), "{z}");
    }

    #[test]
    fn quotients_and_powers(z in moderate(), w in moderate()) {
        prop_assume!(w.norm() > 1e-3 && z.norm() > 1e-3);
        prop_assert!(near(divide(z, w) * w, z, 8.0), "{z} / {w}");
        prop_assert!(same(pow(z, C::new(1.0, 0.0)), z));
        prop_assert!(near(pow(z, w), exp(w * log(z)), 100.0), "{z} ^ {w}");
        prop_assert!(near(pow(z, C::new(-3.0, 0.0)) * z * z * z, C::new(1.0, 0.0), 16.0), "{z}");
        prop_assert!(near(pow(z, C::new(0.5, 0.0)), sqrt(z), 8.0), "{z}");
    }
}
