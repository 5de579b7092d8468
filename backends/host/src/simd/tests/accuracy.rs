//! How far the functions are from the exact values.

use super::exponential_table::{self, PAIRS};
use super::table::TABLE;
use super::{Fun, Isa, Kind, MATH, MATH_OF_TWO, Random, apply, bf16, f16, map1, map3, special};

/// The spacing of f32 numbers around `exact`.
fn ulp_f32(exact: f64) -> f64 {
    let exponent = ((exact.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    2f64.powi(exponent.clamp(-126, 127) - 23)
}

/// The spacing of f64 numbers around `exact`.
pub(super) fn ulp_f64(exact: f64) -> f64 {
    let biased = (exact.to_bits() >> 52) & 0x7ff;
    if biased > 52 { f64::from_bits((biased - 52) << 52) } else { f64::from_bits(1 << biased.max(1) >> 1) }
}

/// The error of `y` in units of the last place; infinite where the kinds differ.
pub(super) fn error_f32(y: f32, exact: f64) -> f64 {
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
pub(super) fn sweep(isa: Isa, fun: Fun, range: std::ops::Range<u64>, step: usize) -> (f64, f32) {
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
fn f32_functions_are_accurate_around_the_edges_of_their_pieces() {
    let eighths = (1..=160).map(|k| k as f32 / 8.0);
    let edges = eighths.chain([std::f32::consts::FRAC_1_SQRT_2, std::f32::consts::SQRT_2]);
    for edge in edges.flat_map(|edge| [edge, -edge]) {
        let bits = u64::from(edge.to_bits());
        for &isa in Isa::available() {
            for fun in MATH {
                let (error, x) = sweep(isa, fun, bits - 16..bits + 17, 1);
                assert!(error <= 1.0, "{} {fun:?}: {error} ulp at {x:e} ({:#x})", isa.name(), x.to_bits());
            }
        }
    }
}

#[test]
#[ignore = "exhaustive: minutes per function; run with cargo test --release -p stridewise-host --lib -- --ignored"]
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

/// Random pairs, pairs whose powers are ordinary numbers, and all pairs of special values.
fn pairs<T: Kind>(seed: u64, len: usize) -> (Vec<T>, Vec<T>) {
    let mut random = Random(seed);
    let (mut x, mut y) = (random.floats::<T>(len), random.floats::<T>(len));
    for (&base, &exponent) in x.clone().iter().zip(&y.clone()) {
        let base = base.to().abs();
        x.push(T::of(base));
        // The logarithm of the power in [−700, 700], and for f32 now and then in its range.
        y.push(T::of(700.0 * exponent.to().sin() / base.ln()));
        x.push(T::of(base.ln()));
        y.push(T::of((base.ln() * 3.0).trunc()));
    }
    let specials = special::<T>();
    for &a in &specials {
        for &b in &specials {
            x.push(a);
            y.push(b);
        }
    }
    (x, y)
}

#[test]
fn f32_functions_of_two_numbers_are_accurate() {
    let (x, y) = pairs::<f32>(7, 100_000);
    for &isa in Isa::available() {
        for fun in MATH_OF_TWO {
            for ((&x, &y), r) in x.iter().zip(&y).zip(map3(isa, fun, [&x, &y, &x])) {
                let error = error_f32(r, apply(fun, [f64::from(x), f64::from(y), 0.0]));
                assert!(error <= 1.0, "{} {fun:?}({x:e}, {y:e}) = {r:e}: {error} ulp", isa.name());
            }
        }
    }
}

#[test]
fn f64_functions_match_the_tables() {
    let one =
        TABLE.iter().chain(exponential_table::TABLE).map(|&(fun, x, head, tail)| (fun, x, x, head, tail));
    let rows: Vec<_> = one.chain(PAIRS.iter().copied()).collect();
    for &isa in Isa::available() {
        for &(fun, x, y, head, tail) in &rows {
            let r = map3(isa, fun, [&[x], &[y], &[x]])[0];
            let error = ((r - head) - tail).abs() / ulp_f64(head);
            assert!(error <= 0.75, "{} {fun:?}({x:e}, {y:e}) = {r:e}: {error} ulp", isa.name());
        }
    }
}

/// How far the standard library's function may be from the exact value, with ours on the other side, in f64.
fn tolerance(fun: Fun) -> Option<f64> {
    match fun {
        // The C library's hyperbolic functions are up to 2 units off themselves.
        Fun::Tanh | Fun::Sinh | Fun::Cosh => Some(3.0),
        Fun::Expm1 | Fun::Log1p | Fun::Log10 => Some(2.0),
        // The standard library has formulas of its own for these, and core for those: the table is more exact.
        Fun::Asinh | Fun::Acosh | Fun::Atanh | Fun::Sigmoid | Fun::Logaddexp => None,
        _ => Some(1.0),
    }
}

#[test]
fn f64_functions_are_close_to_the_standard_library() {
    let mut random = Random(3);
    let x: Vec<f64> = random.floats::<f64>(100_000).into_iter().chain(special()).collect();
    let (a, b) = pairs::<f64>(9, 30_000);
    let one = MATH.map(|fun| (fun, &x, &x));
    let two = MATH_OF_TWO.map(|fun| (fun, &a, &b));
    for &isa in Isa::available() {
        for (fun, x, y) in one.into_iter().chain(two) {
            let Some(tolerance) = tolerance(fun) else { continue };
            for ((&x, &y), r) in x.iter().zip(y).zip(map3(isa, fun, [x, y, x])) {
                let expected = apply(fun, [x, y, x]);
                let same = r.key() == expected.key();
                let error = (r - expected).abs() / ulp_f64(expected);
                assert!(
                    same || error <= tolerance,
                    "{} {fun:?}({x:e}, {y:e}) = {r:e}, not {expected:e}",
                    isa.name()
                );
            }
        }
    }
}

/// Zeros, infinities, NaN and thresholds, after Annex F of the C standard and the array API standard.
#[test]
fn special_values_are_those_of_the_standards() {
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
            (Fun::Exp2, -0.0, 1.0),
            (Fun::Exp2, 10.0, 1024.0),
            (Fun::Exp2, -3.0, 0.125),
            (Fun::Exp2, inf, inf),
            (Fun::Exp2, -inf, 0.0),
            (Fun::Expm1, 0.0, 0.0),
            (Fun::Expm1, -0.0, -0.0),
            (Fun::Expm1, inf, inf),
            (Fun::Expm1, -inf, -1.0),
            (Fun::Log1p, 0.0, 0.0),
            (Fun::Log1p, -0.0, -0.0),
            (Fun::Log1p, -1.0, -inf),
            (Fun::Log1p, -1.5, f64::NAN),
            (Fun::Log1p, -inf, f64::NAN),
            (Fun::Log1p, inf, inf),
            (Fun::Log2, 1.0, 0.0),
            (Fun::Log2, 8.0, 3.0),
            (Fun::Log2, -0.0, -inf),
            (Fun::Log2, -1.0, f64::NAN),
            (Fun::Log2, inf, inf),
            (Fun::Log10, 1.0, 0.0),
            (Fun::Log10, 1000.0, 3.0),
            (Fun::Log10, -0.0, -inf),
            (Fun::Log10, -1.0, f64::NAN),
            (Fun::Log10, inf, inf),
            (Fun::Sinh, 0.0, 0.0),
            (Fun::Sinh, -0.0, -0.0),
            (Fun::Sinh, inf, inf),
            (Fun::Sinh, -inf, -inf),
            (Fun::Cosh, -0.0, 1.0),
            (Fun::Cosh, inf, inf),
            (Fun::Cosh, -inf, inf),
            (Fun::Asinh, 0.0, 0.0),
            (Fun::Asinh, -0.0, -0.0),
            (Fun::Asinh, inf, inf),
            (Fun::Asinh, -inf, -inf),
            (Fun::Acosh, 1.0, 0.0),
            (Fun::Acosh, 0.5, f64::NAN),
            (Fun::Acosh, -2.0, f64::NAN),
            (Fun::Acosh, -inf, f64::NAN),
            (Fun::Acosh, inf, inf),
            (Fun::Atanh, 0.0, 0.0),
            (Fun::Atanh, -0.0, -0.0),
            (Fun::Atanh, 1.0, inf),
            (Fun::Atanh, -1.0, -inf),
            (Fun::Atanh, 1.5, f64::NAN),
            (Fun::Atanh, -inf, f64::NAN),
            (Fun::Sigmoid, -0.0, 0.5),
            (Fun::Sigmoid, inf, 1.0),
            (Fun::Sigmoid, -inf, 0.0),
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

/// What is bigger, smaller or equal to 1 in magnitude, odd, even or broken, of either sign.
const OPERANDS: [f64; 12] =
    [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 1e9, 16_777_215.0, f64::INFINITY, f64::NAN];

/// The array API standard's list for `pow`, in its order; the first row that applies gives the power.
fn listed_power(x: f64, y: f64) -> Option<f64> {
    let inf = f64::INFINITY;
    let odd = y.is_finite() && y.abs() % 2.0 == 1.0;
    let size = x.abs();
    let rows = [
        (x != 1.0 && y.is_nan(), f64::NAN),
        (y == 0.0, 1.0),
        (x.is_nan(), f64::NAN),
        (size > 1.0 && y == inf, inf),
        (size > 1.0 && y == -inf, 0.0),
        (size == 1.0 && y.is_infinite(), 1.0),
        (x == 1.0, 1.0),
        (size < 1.0 && y == inf, 0.0),
        (size < 1.0 && y == -inf, inf),
        (x == inf && y > 0.0, inf),
        (x == inf && y < 0.0, 0.0),
        (x == -inf && y > 0.0 && odd, -inf),
        (x == -inf && y > 0.0, inf),
        (x == -inf && y < 0.0 && odd, -0.0),
        (x == -inf && y < 0.0, 0.0),
        (x == 0.0 && x.is_sign_positive() && y > 0.0, 0.0),
        (x == 0.0 && x.is_sign_positive() && y < 0.0, inf),
        (x == 0.0 && y > 0.0 && odd, -0.0),
        (x == 0.0 && y > 0.0, 0.0),
        (x == 0.0 && y < 0.0 && odd, -inf),
        (x == 0.0 && y < 0.0, inf),
        (x < 0.0 && y.is_finite() && y != y.trunc(), f64::NAN),
    ];
    rows.into_iter().find(|row| row.0).map(|row| row.1)
}

/// ln(eˣ + eʸ) where an operand is infinite or no number.
fn listed_sum(x: f64, y: f64) -> Option<f64> {
    match (x, y) {
        _ if x.is_nan() || y.is_nan() => Some(f64::NAN),
        // Not −0: nothing is added to it, but that is +0.
        _ if x.is_infinite() || y.is_infinite() => Some(x.max(y) + 0.0),
        _ => None,
    }
}

#[test]
fn special_values_of_two_numbers_are_those_of_the_standard() {
    fn check<T: Kind>(isa: Isa) {
        let operands: Vec<f64> = OPERANDS.into_iter().flat_map(|v| [T::of(v).to(), T::of(-v).to()]).collect();
        for &x in &operands {
            for &y in &operands {
                for (fun, listed) in [(Fun::Pow, listed_power(x, y)), (Fun::Logaddexp, listed_sum(x, y))] {
                    let Some(expected) = listed else { continue };
                    let (a, b) = ([T::of(x); 17], [T::of(y); 17]);
                    for r in map3(isa, fun, [&a, &b, &a]) {
                        assert_eq!(
                            r.key(),
                            T::of(expected).key(),
                            "{} {fun:?}({x}, {y}) = {r:?}",
                            isa.name()
                        );
                    }
                }
                // What is not listed is finite, or overflows; its sign is that of the operands.
                if listed_power(x, y).is_none() {
                    let r = map3(isa, Fun::Pow, [&[T::of(x)], &[T::of(y)], &[T::of(x)]])[0];
                    let expected = T::of(x.powf(y));
                    let (r_sign, expected_sign) =
                        (r.to().is_sign_negative(), expected.to().is_sign_negative());
                    assert!(!r.to().is_nan() && r_sign == expected_sign, "{x}, {y}: {r:?}, not {expected:?}");
                }
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
