//! Scans in every form, against a loop.

use std::sync::Arc;

use stridewise_core::ops::{apply, evaluate};
use stridewise_core::{
    Dtype, DtypeKind, Op, Scalar,
    backend::{Family, LaunchPlan, Operand, Program, ProgramBuilder},
};

use super::super::trial::{Random, Region, Tested, devices, input, inputs_at, next, operand, place, same};
use super::work;
use crate::kernels::Target;

/// Every element of the output in row-major order, and its offset.
fn expected(plan: &LaunchPlan, regions: &[Region]) -> Vec<(isize, Scalar)> {
    let Family::Scan { fold } = plan.family else { panic!("no scan") };
    let dtype = plan.output_dtype(0);
    let acc = if matches!(dtype, Dtype::F16 | Dtype::Bf16) { Dtype::F32 } else { dtype };
    let (_, first) = place(&plan.outputs[0], dtype);
    let mut results = Vec::new();
    let mut index = vec![0; plan.dims.len()];
    let mut running = None;
    loop {
        let v = evaluate(&plan.program, &inputs_at(plan, regions, &index)).unwrap()[0].cast(acc);
        running = match running {
            Some(old) if index[index.len() - 1] > 0 => apply(fold, &[old, v]),
            _ => Some(v),
        };
        let strides = plan.outputs[0].strides.iter().zip(&index);
        let offset = first + strides.map(|(&s, &i)| s * i.cast_signed()).sum::<isize>();
        results.push((offset, running.unwrap().cast(dtype)));
        if !next(&mut index, &plan.dims) {
            return results;
        }
    }
}

/// A plan over random inputs.
fn plan(
    program: Program,
    fold: Op,
    dims: &[usize],
    plain: bool,
    random: &mut Random,
) -> (LaunchPlan, Vec<Region>) {
    let mut regions = Vec::new();
    let mut inputs = Vec::new();
    for (k, &dtype) in program.inputs().iter().enumerate() {
        if program.is_index(k) {
            let strides: Vec<isize> = (0..dims.len()).map(|_| random.below(7).cast_signed() - 3).collect();
            let ptr =
                stridewise_core::memory::UsmPtr::new(std::ptr::without_provenance_mut(random.below(100)));
            inputs.push(Operand { ptr, strides: strides.as_slice().into() });
        } else {
            let (operand, region) = input(regions.len(), dtype, dims, fold == Op::Multiply, plain, random);
            inputs.push(operand);
            regions.push(region);
        }
    }
    let out = program.output_dtype(0);
    let mut strides = vec![0_isize; dims.len()];
    let mut order: Vec<usize> = (0..dims.len()).rev().collect();
    if !plain && random.below(2) == 0 {
        order.reverse();
    }
    let (mut len, mut first) = (1 + usize::from(!plain && random.below(3) == 0), 0);
    let start = len - 1;
    for d in order {
        strides[d] = len.cast_signed();
        if !plain && random.below(4) == 0 {
            first += len * (dims[d] - 1);
            strides[d] = -strides[d];
        }
        len *= dims[d];
    }
    let shift = if plain { 0 } else { start };
    let out_operand = operand(regions.len(), out, (first + shift).cast_signed(), &strides);
    regions.push(Region { dtype: out, bytes: vec![0; (len + shift) * out.size()] });
    let plan = LaunchPlan {
        program: Arc::new(program),
        family: Family::Scan { fold },
        dims: dims.into(),
        inputs: inputs.into_iter().collect(),
        outputs: std::iter::once(out_operand).collect(),
    };
    (plan, regions)
}

fn check(tested: &Tested, target: &Target, plan: &LaunchPlan, regions: &[Region]) {
    let mut regions = regions.to_vec();
    let expected = expected(plan, &regions);
    tested.run(target, plan, &mut regions, work);
    for (i, (at, expected)) in expected.into_iter().enumerate() {
        let got = regions[regions.len() - 1].get(at);
        assert!(
            same(got, expected, false),
            "{}: element {i} is {got:?}, expected {expected:?}, target {target:?}, plan {plan:?}",
            tested.name
        );
    }
}

/// Targets whose forms differ.
fn targets(tested: &Tested) -> Vec<Target> {
    let wide = Target { compute_units: 2, ..tested.target.clone() };
    vec![
        wide.clone(),
        Target { general_points: usize::MAX, ..wide.clone() },
        Target { cpu: true, compute_units: 4, ..wide.clone() },
        Target { max_group: 32, compute_units: 8, ..wide },
    ]
}

const FOLDS: [Op; 4] = [Op::Add, Op::Multiply, Op::Minimum, Op::Maximum];

#[test]
fn every_fold_of_every_dtype() {
    let mut random = Random(1);
    for tested in devices() {
        for (number, &dtype) in Dtype::ALL.iter().filter(|&&dtype| tested.has(dtype)).enumerate() {
            for fold in FOLDS.into_iter().filter(|op| op.allows(dtype)) {
                for dims in [&[1000][..], &[3, 33]] {
                    let copy = Program::convert(dtype, dtype);
                    let (plan, regions) = plan(copy, fold, dims, true, &mut random);
                    let targets = targets(&tested);
                    check(&tested, &targets[number % targets.len()], &plan, &regions);
                }
            }
        }
    }
}

#[test]
fn every_length() {
    let mut random = Random(2);
    let lens = [1, 2, 3, 15, 31, 32, 33, 127, 128, 255, 257, 1000, 4095, 4096, 4097, 20_011];
    for tested in devices() {
        for target in targets(&tested) {
            for n in lens {
                let copy = || Program::convert(Dtype::F32, Dtype::F32);
                for plain in [true, false] {
                    let (whole, regions) = plan(copy(), Op::Add, &[n], plain, &mut random);
                    check(&tested, &target, &whole, &regions);
                    if n <= 1000 {
                        let (rows, regions) = plan(copy(), Op::Add, &[5, n], plain, &mut random);
                        check(&tested, &target, &rows, &regions);
                        let (rows, regions) = plan(copy(), Op::Maximum, &[n, 40], plain, &mut random);
                        check(&tested, &target, &rows, &regions);
                    }
                }
            }
        }
    }
}

/// `a·b + constant − index`, of several inputs.
fn fused(dtype: Dtype) -> Program {
    let mut builder = ProgramBuilder::new();
    let a = builder.input(dtype).unwrap();
    let b = builder.input(Dtype::U8).unwrap();
    let i = builder.index().unwrap();
    let c = builder.constant(Scalar::I8(3).cast(dtype)).unwrap();
    let b = builder.cast(b, dtype).unwrap();
    let i = builder.cast(i, dtype).unwrap();
    let product = builder.push(Op::Multiply, &[a, b]).unwrap();
    let sum = builder.push(Op::Add, &[product, c]).unwrap();
    let sum = builder.push(Op::Subtract, &[sum, i]).unwrap();
    builder.output(sum).unwrap();
    builder.finish().unwrap()
}

#[test]
fn any_strides_of_fused_programs() {
    let mut random = Random(3);
    for tested in devices() {
        let targets = targets(&tested);
        for case in 0..40 {
            let count = 1 + random.below(4);
            let mut dims: Vec<usize> = (0..count).map(|_| [1, 2, 3, 5, 17][random.below(5)]).collect();
            dims[count - 1] = [1, 7, 64, 130, 300, 700][random.below(6)];
            let dtype = [Dtype::I32, Dtype::I64, Dtype::I16][case / 2 % 3];
            let fold = [Op::Add, Op::Maximum][case % 2];
            let (plan, regions) = plan(fused(dtype), fold, &dims, case % 5 == 0, &mut random);
            for other in [0, 1 + case % (targets.len() - 1)] {
                check(&tested, &targets[other], &plan, &regions);
            }
        }
    }
}

#[test]
fn sums_are_exact_and_never_fall() {
    let mut random = Random(4);
    for tested in devices() {
        for target in targets(&tested) {
            for n in [300, 50_000] {
                let copy = Program::convert(Dtype::F32, Dtype::F32);
                let (plan, mut regions) = plan(copy, Op::Add, &[n], true, &mut random);
                // Where a value is less than a unit of the sum in the last place, roundings show.
                let values: Vec<Scalar> = (0..n)
                    .map(|i| Scalar::F32(random.below(1000) as f32 * if i % 7 == 0 { 1e3 } else { 1e-3 }))
                    .collect();
                regions[0] = Region::new(Dtype::F32, &values);
                tested.run(&target, &plan, &mut regions, work);
                let (mut exact, mut last) = (0.0, 0.0);
                for (i, value) in values.iter().enumerate() {
                    exact += value.to_f64();
                    let got = regions[1].get(i.cast_signed()).to_f64();
                    assert!(got >= last, "{}: {got} after {last} at {i}", tested.name);
                    assert!((got - exact).abs() <= exact * 1e-4, "{}: {got}, exactly {exact}", tested.name);
                    last = got;
                }
            }
        }
    }
}

#[test]
fn products_are_not_cut() {
    for tested in devices() {
        for target in targets(&tested) {
            let copy = Program::convert(Dtype::F32, Dtype::F32);
            let (plan, mut regions) = plan(copy, Op::Multiply, &[9000], true, &mut Random(5));
            let mut values = vec![Scalar::F32(1e20); 9000];
            values[0] = Scalar::F32(0.0);
            regions[0] = Region::new(Dtype::F32, &values);
            tested.run(&target, &plan, &mut regions, work);
            assert!((0..9000).all(|i| regions[1].get(i) == Scalar::F32(0.0)), "{}", tested.name);
        }
    }
}

#[test]
fn logarithms_of_sums_and_special_values() {
    let mut random = Random(6);
    for tested in devices() {
        for target in targets(&tested) {
            for fold in [Op::Logaddexp, Op::Add, Op::Minimum, Op::Maximum] {
                let copy = Program::convert(Dtype::F32, Dtype::F32);
                let (plan, mut regions) = plan(copy, fold, &[2, 2000], true, &mut random);
                assert_eq!(regions[0].dtype.kind(), DtypeKind::Float);
                let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
                for (row, at) in [(0, 1700), (1, 0)] {
                    let at = 4 * (row * 2000 + at);
                    let value = if row == 1 { f32::NEG_INFINITY } else { special[random.below(2)] };
                    regions[0].bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
                }
                let expected = expected(&plan, &regions);
                tested.run(&target, &plan, &mut regions, work);
                for (at, expected) in expected {
                    let got = regions[1].get(at);
                    let near = (got.to_f64() - expected.to_f64()).abs() <= 1e-3 && fold == Op::Logaddexp;
                    assert!(
                        near || same(got, expected, false),
                        "{}: {got:?}, {expected:?} at {at}",
                        tested.name
                    );
                }
            }
        }
    }
}
