//! Tangent, inverse sine and cosine, roots, the length of a vector and the error function: how exact they are, and that
//! every level gives the same bits.

use super::accuracy::{error_f32, sweep, ulp_f64};
use super::roots_table::TABLE;
use super::{Fun, Isa, Kind, Random, apply, bf16, f16, map1, map3, special};

const FUNCTIONS: [Fun; 6] = [Fun::Tan, Fun::Asin, Fun::Acos, Fun::Cbrt, Fun::Rsqrt, Fun::Erf];

/// In f64 and rounded once; the last digit of the polynomials shows here and there.
const F32_LIMIT: f64 = 0.52;

#[test]
fn f32_functions_are_accurate_on_a_sample_of_all_inputs() {
    for &isa in Isa::available() {
        for fun in FUNCTIONS {
            let (error, x) = sweep(isa, fun, 0..1 << 32, 4093);
            assert!(error <= F32_LIMIT, "{} {fun:?}: {error} ulp at {x:e} ({:#x})", isa.name(), x.to_bits());
        }
    }
}

#[test]
#[ignore = "exhaustive: minutes per function; run with cargo test --release -p stridewise-host --lib -- --ignored"]
fn f32_functions_are_accurate_on_all_inputs() {
    for fun in FUNCTIONS {
        let (error, x) = sweep(Isa::best(), fun, 0..1 << 32, 1);
        println!("{fun:?}: {error:.4} ulp at {x:e} ({:#010x})", x.to_bits());
        assert!(error <= F32_LIMIT, "{fun:?}: {error} ulp at {x:e}");
    }
}

/// Random pairs, and all pairs of special values.
fn pairs<T: Kind>(seed: u64, len: usize) -> (Vec<T>, Vec<T>) {
    let mut random = Random(seed);
    let (x, y) = (random.floats::<T>(len), random.floats::<T>(len));
    let specials = special::<T>();
    let more = specials.iter().flat_map(|&x| specials.iter().map(move |&y| (x, y)));
    x.into_iter().zip(y).chain(more).unzip()
}

#[test]
fn f32_lengths_are_accurate() {
    let (x, y) = pairs::<f32>(5, 100_000);
    for &isa in Isa::available() {
        for ((&x, &y), r) in x.iter().zip(&y).zip(map3(isa, Fun::Hypot, [&x, &y, &x])) {
            let error = error_f32(r, f64::from(x).hypot(f64::from(y)));
            assert!(error <= F32_LIMIT, "{} hypot({x:e}, {y:e}) = {r:e}: {error} ulp", isa.name());
        }
    }
}

#[test]
fn f64_functions_match_the_table() {
    for &isa in Isa::available() {
        for &(fun, x, y, head, tail) in TABLE {
            let r = map3(isa, fun, [&[x], &[y], &[x]])[0];
            let error = ((r - head) - tail).abs() / ulp_f64(head);
            assert!(error <= 0.8, "{} {fun:?}({x:e}, {y:e}) = {r:e}: {error} ulp", isa.name());
        }
    }
}

#[test]
fn f64_functions_are_close_to_the_standard_library() {
    let (x, y) = pairs::<f64>(3, 50_000);
    // Most of the random numbers are beyond 1.
    let x: Vec<f64> = x.iter().enumerate().map(|(i, &x)| if i % 3 == 0 { x.sin() } else { x }).collect();
    for &isa in Isa::available() {
        for fun in FUNCTIONS.into_iter().chain([Fun::Hypot]) {
            for ((&x, &y), r) in x.iter().zip(&y).zip(map3(isa, fun, [&x, &y, &x])) {
                let expected = apply(fun, [x, y, x]);
                let same = r.key() == expected.key();
                let error = (r - expected).abs() / ulp_f64(expected);
                // The library's reciprocal root is rounded twice.
                assert!(
                    same || error <= 1.0,
                    "{} {fun:?}({x:e}, {y:e}) = {r:e}, not {expected:e}",
                    isa.name()
                );
            }
        }
    }
}

#[test]
fn levels_agree_in_every_bit() {
    fn check<T: Kind>() {
        let (x, y) = pairs::<T>(1, 20_000);
        for fun in FUNCTIONS.into_iter().chain([Fun::Hypot]) {
            let expected = map3(Isa::Scalar, fun, [&x, &y, &x]);
            for &isa in Isa::available() {
                for (i, got) in map3(isa, fun, [&x, &y, &x]).into_iter().enumerate() {
                    let at = (x[i], y[i]);
                    assert_eq!(got.key(), expected[i].key(), "{} {fun:?}{at:?}: {got:?}", isa.name());
                }
            }
        }
    }
    check::<f32>();
    check::<f64>();
    check::<f16>();
    check::<bf16>();
}

/// Cubes of integers have exact roots, and triples of Pythagoras exact lengths.
#[test]
fn exact_results_are_exact() {
    let roots: Vec<f64> = (-2000..=2000).map(f64::from).collect();
    let cubes: Vec<f64> = roots.iter().map(|x| x * x * x).collect();
    let (mut a, mut b, mut c) = (Vec::new(), Vec::new(), Vec::new());
    for m in 2..60 {
        for n in 1..m {
            let (m, n) = (f64::from(m), f64::from(n));
            a.push(m * m - n * n);
            b.push(-2.0 * m * n);
            c.push(m * m + n * n);
        }
    }
    let single = |x: &[f64]| -> Vec<f32> { x.iter().map(|&x| x as f32).collect() };
    for &isa in Isa::available() {
        assert_eq!(map1(isa, Fun::Cbrt, &cubes), roots, "{}", isa.name());
        assert_eq!(map3(isa, Fun::Hypot, [&a, &b, &a]), c, "{}", isa.name());
        let (a, b) = (single(&a), single(&b));
        assert_eq!(map3(isa, Fun::Hypot, [&a, &b, &a]), single(&c), "{}", isa.name());
        // Those that f32 holds.
        assert_eq!(map1(isa, Fun::Cbrt, &single(&cubes[1745..2256])), single(&roots[1745..2256]));
    }
}

/// Zeros, infinities, NaN and domains, after Annex F of the C standard and the array API standard.
#[test]
fn special_values_are_those_of_the_standards() {
    fn check<T: Kind>(isa: Isa) {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let rows = [
            (Fun::Tan, 0.0, 0.0, 0.0),
            (Fun::Tan, -0.0, 0.0, -0.0),
            (Fun::Tan, inf, 0.0, nan),
            (Fun::Tan, -inf, 0.0, nan),
            (Fun::Asin, 0.0, 0.0, 0.0),
            (Fun::Asin, -0.0, 0.0, -0.0),
            (Fun::Asin, 1.0, 0.0, std::f64::consts::FRAC_PI_2),
            (Fun::Asin, -1.0, 0.0, -std::f64::consts::FRAC_PI_2),
            (Fun::Asin, 1.01, 0.0, nan),
            (Fun::Asin, -inf, 0.0, nan),
            (Fun::Acos, 1.0, 0.0, 0.0),
            (Fun::Acos, -1.0, 0.0, std::f64::consts::PI),
            (Fun::Acos, -0.0, 0.0, std::f64::consts::FRAC_PI_2),
            (Fun::Acos, 1.01, 0.0, nan),
            (Fun::Acos, inf, 0.0, nan),
            (Fun::Cbrt, 0.0, 0.0, 0.0),
            (Fun::Cbrt, -0.0, 0.0, -0.0),
            (Fun::Cbrt, -8.0, 0.0, -2.0),
            (Fun::Cbrt, inf, 0.0, inf),
            (Fun::Cbrt, -inf, 0.0, -inf),
            (Fun::Rsqrt, 0.0, 0.0, inf),
            (Fun::Rsqrt, -0.0, 0.0, -inf),
            (Fun::Rsqrt, 4.0, 0.0, 0.5),
            (Fun::Rsqrt, inf, 0.0, 0.0),
            (Fun::Rsqrt, -1.0, 0.0, nan),
            (Fun::Rsqrt, -inf, 0.0, nan),
            (Fun::Erf, 0.0, 0.0, 0.0),
            (Fun::Erf, -0.0, 0.0, -0.0),
            (Fun::Erf, inf, 0.0, 1.0),
            (Fun::Erf, -inf, 0.0, -1.0),
            (Fun::Erf, -7.0, 0.0, -1.0),
            (Fun::Hypot, 0.0, -0.0, 0.0),
            (Fun::Hypot, -3.0, 4.0, 5.0),
            (Fun::Hypot, -2.0, -0.0, 2.0),
            (Fun::Hypot, inf, nan, inf),
            (Fun::Hypot, nan, -inf, inf),
            (Fun::Hypot, -inf, 1.0, inf),
            (Fun::Hypot, nan, 1.0, nan),
            (Fun::Hypot, 0.0, nan, nan),
        ];
        let nan = FUNCTIONS.map(|fun| (fun, nan, 0.0, nan));
        for (fun, x, y, expected) in rows.into_iter().chain(nan) {
            // Every lane position of every level.
            let (x_all, y_all) = ([T::of(x); 33], [T::of(y); 33]);
            for r in map3(isa, fun, [&x_all, &y_all, &x_all]) {
                assert_eq!(r.key(), T::of(expected).key(), "{} {fun:?}({x}, {y}) = {r:?}", isa.name());
            }
        }
    }
    for &isa in Isa::available() {
        check::<f32>(isa);
        check::<f64>(isa);
        check::<f16>(isa);
        check::<bf16>(isa);
    }
}
