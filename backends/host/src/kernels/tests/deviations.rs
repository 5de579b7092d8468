//! Sums of squared deviations against two passes in double precision, and their bits.

use stridewise_core::{
    Dtype, Op, Scalar,
    backend::{Family, Fold, LaunchPlan, Program, ProgramBuilder},
};

use super::reductions::{bits, output};
use super::{Array, Rng, execute, indices, plan};
use crate::simd::Isa;

/// The sum of squared deviations, in `float64` and rounded once.
pub(super) fn exact(values: &[Scalar]) -> Scalar {
    let dtype = values[0].dtype();
    let first = values[0].to_f64();
    // From the first on, so that the sum is as small as the deviations are; the mean is corrected by what is left.
    let rough = first + values.iter().map(|v| v.to_f64() - first).sum::<f64>() / values.len() as f64;
    let rest: f64 = values.iter().map(|v| v.to_f64() - rough).sum();
    let squares: f64 = values.iter().map(|v| (v.to_f64() - rough).powi(2)).sum();
    Scalar::F64(squares - rest * rest / values.len() as f64).cast(dtype)
}

/// Whether two numbers are so many units of rounding apart at most, or both NaN. The double precision of the reference
/// rounds as well.
pub(super) fn near(found: Scalar, want: Scalar, units: f64) -> bool {
    let unit = match want.dtype() {
        Dtype::Bf16 => 1.0 / 128.0,
        Dtype::F16 => 1.0 / 1024.0,
        Dtype::F32 => f64::from(f32::EPSILON),
        _ => 32.0 * f64::EPSILON,
    };
    let (a, b) = (found.to_f64(), want.to_f64());
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= units * unit * b.abs()
}

/// How the numbers of a test lie about their mean.
const SHAPES: [&str; 7] = ["noise", "far", "constant", "ramp", "step", "outlier", "late"];

fn number(shape: &str, i: usize, n: usize, rng: &mut Rng) -> f64 {
    let noise = rng.fraction() - 0.5;
    match shape {
        "noise" => noise,
        "far" => 1e6 + 4.0 * noise,
        "constant" => 0.1,
        "ramp" => i as f64 - 0.25 * n as f64,
        "step" => 1e4 * f64::from(u8::from(i > n / 3)) + noise,
        // The first number is the worst of references.
        "outlier" => 1e5 * f64::from(u8::from(i == 0)) + noise,
        _ => 1e5 * f64::from(u8::from(i + 1 == n)) + noise,
    }
}

/// The plan of a fold of numbers over the last dimension, which is the outermost in memory where it is turned.
fn launch(
    dtype: Dtype,
    dims: [usize; 2],
    turned: bool,
    program: Program,
    values: impl Fn(usize, &mut Rng) -> f64,
    rng: &mut Rng,
) -> (LaunchPlan, Vec<Vec<Scalar>>, [Array; 1], [Array; 1]) {
    let strides = if turned { vec![1, dims[0] as isize] } else { vec![dims[1] as isize, 1] };
    let mut input = Array::new(&dims, strides, dtype, rng);
    let mut rows = vec![Vec::new(); dims[0]];
    for index in indices(&dims) {
        let value = Scalar::F64(values(index[1], rng)).cast(dtype);
        let at = input.byte(&index);
        input.memory.write(at, value);
        rows[index[0]].push(value);
    }
    let family = Family::Reduce { fold: Fold::Deviations, reduced: 1, finish: None, stored: None };
    let (mut inputs, mut outputs) = ([input], [output(&dims, 1, dtype, rng)]);
    let plan = plan(program, family, &dims, &mut inputs, &mut outputs);
    (plan, rows, inputs, outputs)
}

#[test]
fn any_distribution_keeps_its_digits() {
    let mut rng = Rng(21);
    for dtype in [Dtype::F32, Dtype::F64] {
        for shape in SHAPES {
            for (dims, turned) in [
                ([1, 1], false),
                ([3, 2], false),
                ([2, 300], false),
                ([1, 40_001], false),
                ([20, 7], true),
                ([40, 9], true),
                ([33, 1000], true),
            ] {
                let n = dims[1];
                let values = |i, rng: &mut Rng| number(shape, i, n, rng);
                let program = Program::convert(dtype, dtype);
                let (launch, rows, _inputs, outputs) = launch(dtype, dims, turned, program, values, &mut rng);
                execute(&launch, Isa::best(), 2, 1 << 25);
                for (o, row) in rows.iter().enumerate() {
                    let (found, want) = (outputs[0].get(&[o, 0]), exact(row));
                    // A reference among a segment's first values costs a few bits where these are the worst.
                    let units = if matches!(shape, "outlier" | "step") { 32.0 } else { 4.0 };
                    assert!(
                        near(found, want, units),
                        "{dtype} {shape} {dims:?} {turned} {o}: {found:?}, not {want:?}"
                    );
                    assert!(found.to_f64() >= 0.0, "{dtype} {shape} {dims:?}: {found:?}");
                    if shape == "constant" {
                        assert_eq!(found.to_f64(), 0.0, "{dtype} {dims:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn infinity_and_nan_have_no_deviation_and_great_numbers_an_infinite_one() {
    let mut rng = Rng(22);
    for special in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e25] {
        for (dims, turned) in [([1, 1], false), ([2, 700], false), ([30, 70], true), ([1, 20_000], false)] {
            for place in [0, dims[1] / 2, dims[1] - 1] {
                let values = |i, _: &mut Rng| if i == place { special } else { i as f64 };
                let program = Program::convert(Dtype::F32, Dtype::F32);
                let (launch, _, _inputs, outputs) =
                    launch(Dtype::F32, dims, turned, program, values, &mut rng);
                execute(&launch, Isa::best(), 1, 1 << 25);
                let found = outputs[0].get(&[0, 0]).to_f64();
                match (special.is_finite(), dims[1]) {
                    (true, 1) => assert_eq!(found, 0.0, "{special} alone"),
                    (true, _) => assert_eq!(found, f64::INFINITY, "{special} at {place} of {dims:?}"),
                    (false, _) => assert!(found.is_nan(), "{special} at {place} of {dims:?}: {found}"),
                }
            }
        }
    }
}

#[test]
fn the_same_bits_from_any_threads_instruction_set_and_computed_or_not() {
    let mut rng = Rng(23);
    for dtype in [Dtype::F16, Dtype::F32, Dtype::F64] {
        // The same number, once as it lies in memory and once computed.
        let mut builder = ProgramBuilder::new();
        let x = builder.input(dtype).unwrap();
        let one = builder.constant(Scalar::I8(1).cast(dtype)).unwrap();
        let product = builder.push(Op::Multiply, &[x, one]).unwrap();
        builder.output(product).unwrap();
        let computed = builder.finish().unwrap();
        for (dims, turned) in [
            ([1, 100_000], false),
            ([5, 20_000], false),
            ([300, 33], false),
            ([2000, 3], false),
            ([100, 300], true),
            ([1500, 70], true),
        ] {
            let values = |_, rng: &mut Rng| 3.0 + number("noise", 0, 1, rng);
            let program = Program::convert(dtype, dtype);
            let (mut launch, _, _inputs, outputs) = launch(dtype, dims, turned, program, values, &mut rng);
            let first = bits(&launch, &outputs, Isa::Scalar, 1);
            for program in [Program::convert(dtype, dtype), computed.clone()] {
                launch.program = program.into();
                for &isa in Isa::available() {
                    for threads in [1, 2, 3, 4] {
                        let found = bits(&launch, &outputs, isa, threads);
                        assert!(found == first, "{dtype} {dims:?} on {} with {threads}", isa.name());
                    }
                }
            }
        }
    }
}
