//! How far the functions are from the exact values.

use super::table::TABLE;
use super::{Fun, Isa, Kind, MATH, Random, apply, bf16, f16, map1, map3, special};

/// The spacing of f32 numbers around `exact`.
fn ulp_f32(exact: f64) -> f64 {
    let exponent = ((exact.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    2f64.powi(exponent.clamp(-126, 127) - 23)
}

/// The spacing of f64 numbers around `exact`.
fn ulp_f64(exact: f64) -> f64 {
    let biased = (exact.to_bits() >> 52) & 0x7ff;
    if biased > 52 { f64::from_bits((biased - 52) << 52) } else { f64::from_bits(1 << biased.max(1) >> 1) }
}

/// The error of `y` in units of the last place; infinite where the kinds differ.
fn error_f32(y: f32, exact: f64) -> f64 {
    if y.is_nan() || exact.is_nan() {
        return if y.is_nan() && exact.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if y == exact as f32 && (y != 0.0 || exact != 0.0 || y.is_sign_negative() == exact.is_sign_negative()) {
        return if y.is_infinite() { 0.0 } else { (f64::from(y) - exact).abs() / ulp_f32(exact) };
    }
    if y == 0.0 && exact == 0.0 {
        return f64::INFINITY; // zeros of unlike sign
    }
    if y.is_infinite() {
        // Only the overflow threshold is near: half a unit beyond the greatest number.
        return (f64::from(f32::MAX) + ulp_f32(f64::from(f32::MAX)) - exact.abs()) / ulp_f32(exact);
    }
    (f64::from(y) - exact).abs() / ulp_f32(exact)
}

fn reference(fun: Fun, x: f32) -> f64 {
    apply(fun, [f64::from(x); 3])
}

/// The greatest error over the bit patterns `range` in steps, and where it is.
fn sweep(isa: Isa, fun: Fun, range: std::ops::Range<u64>, step: usize) -> (f64, f32) {
    const BLOCK: u64 = 4096;
    let mut worst = (0.0, 0.0);
    let mut start = range.start;
    while start < range.end {
        let end = range.end.min(start + BLOCK * step as u64);
        let x: Vec<f32> = (start..end).step_by(step).map(|bits| f32::from_bits(bits as u32)).collect();
        for (&x, y) in x.iter().zip(map1(isa, fun, &x)) {
            let error = error_f32(y, reference(fun, x));
            if error > worst.0 {
                worst = (error, x);
            }
        }
        start = end;
    }
    worst
}

#[test]
fn f32_functions_are_accurate_on_a_sample_of_all_inputs() {
    for &isa in Isa::available() {
        for fun in MATH {
            let (error, x) = sweep(isa, fun, 0..1 << 32, 4093);
            assert!(error <= 1.0, "{} {fun:?}: {error} ulp at {x:e} ({:#x})", isa.name(), x.to_bits());
        }
    }
}

#[test]
#[ignore = "exhaustive: minutes per function; run with --release -- --ignored"]
fn f32_functions_are_accurate_on_all_inputs() {
    for fun in MATH {
        let half = |range| std::thread::spawn(move || sweep(Isa::best(), fun, range, 1));
        let halves = [half(0..1 << 31), half(1 << 31..1 << 32)];
        let worst = halves.map(|half| half.join().unwrap());
        let (error, x) = if worst[0].0 >= worst[1].0 { worst[0] } else { worst[1] };
        println!("{fun:?}: {error:.4} ulp at {x:e} ({:#010x})", x.to_bits());
        assert!(error <= 1.0, "{fun:?}: {error} ulp at {x:e}");
    }
}

#[test]
fn f32_atan2_is_accurate() {
    let mut random = Random(7);
    let (y, x) = (random.floats::<f32>(200_000), random.floats::<f32>(200_000));
    let specials = special::<f32>();
    let pairs = specials.iter().flat_map(|&y| specials.iter().map(move |&x| (y, x)));
    let (y, x): (Vec<f32>, Vec<f32>) = y.into_iter().zip(x).chain(pairs).unzip();
    for &isa in Isa::available() {
        for ((&y, &x), r) in y.iter().zip(&x).zip(map3(isa, Fun::Atan2, [&y, &x, &x])) {
            let error = error_f32(r, f64::from(y).atan2(f64::from(x)));
            assert!(error <= 1.0, "{} atan2({y:e}, {x:e}) = {r:e}: {error} ulp", isa.name());
        }
    }
}

#[test]
fn f64_functions_match_the_table() {
    for &isa in Isa::available() {
        for &(fun, x, head, tail) in TABLE {
            let y = map1(isa, fun, &[x])[0];
            let error = ((y - head) - tail).abs() / ulp_f64(head);
            assert!(error <= 0.75, "{} {fun:?}({x:e}) = {y:e}: {error} ulp", isa.name());
        }
    }
}

#[test]
fn f64_functions_are_close_to_the_standard_library() {
    let mut random = Random(3);
    let x: Vec<f64> = random.floats::<f64>(100_000).into_iter().chain(special()).collect();
    for &isa in Isa::available() {
        for fun in MATH {
            // The C library's tanh itself is up to 2 units off.
            let tolerance = if fun == Fun::Tanh { 3.0 } else { 1.0 };
            for (&x, y) in x.iter().zip(map1(isa, fun, &x)) {
                let expected = apply(fun, [x; 3]);
                let same = y.key() == expected.key();
                let error = (y - expected).abs() / ulp_f64(expected);
                assert!(
                    same || error <= tolerance,
                    "{} {fun:?}({x:e}) = {y:e}, not {expected:e}",
                    isa.name()
                );
            }
        }
        let y: Vec<f64> = x.iter().rev().copied().collect();
        for ((&y, &x), r) in y.iter().zip(&x).zip(map3(isa, Fun::Atan2, [&y, &x, &x])) {
            let expected = y.atan2(x);
            let close = r.key() == expected.key() || (r - expected).abs() <= ulp_f64(expected);
            assert!(close, "{} atan2({y:e}, {x:e}) = {r:e}, not {expected:e}", isa.name());
        }
    }
}

/// Zeros, infinities, NaN and thresholds, after Annex F of the C standard.
#[test]
fn special_values_are_those_of_c() {
    fn check<T: Kind>(isa: Isa) {
        let inf = f64::INFINITY;
        let rows = [
            (Fun::Exp, 0.0, 1.0),
            (Fun::Exp, -0.0, 1.0),
            (Fun::Exp, inf, inf),
            (Fun::Exp, -inf, 0.0),
            (Fun::Log, 1.0, 0.0),
            (Fun::Log, 0.0, -inf),
            (Fun::Log, -0.0, -inf),
            (Fun::Log, -1.0, f64::NAN),
            (Fun::Log, -inf, f64::NAN),
            (Fun::Log, inf, inf),
            (Fun::Sin, 0.0, 0.0),
            (Fun::Sin, -0.0, -0.0),
            (Fun::Sin, inf, f64::NAN),
            (Fun::Sin, -inf, f64::NAN),
            (Fun::Cos, -0.0, 1.0),
            (Fun::Cos, inf, f64::NAN),
            (Fun::Tanh, -0.0, -0.0),
            (Fun::Tanh, inf, 1.0),
            (Fun::Tanh, -inf, -1.0),
            (Fun::Atan, -0.0, -0.0),
            (Fun::Atan, inf, std::f64::consts::FRAC_PI_2),
            (Fun::Atan, -inf, -std::f64::consts::FRAC_PI_2),
            (Fun::Sqrt, -0.0, -0.0),
            (Fun::Sqrt, -1.0, f64::NAN),
        ];
        let nan = MATH.map(|fun| (fun, f64::NAN, f64::NAN));
        for (fun, x, expected) in rows.into_iter().chain(nan) {
            // Every lane position of every level.
            for y in map1(isa, fun, &[T::of(x); 33]) {
                assert_eq!(y.key(), T::of(expected).key(), "{} {fun:?}({x}) = {y:?}", isa.name());
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
