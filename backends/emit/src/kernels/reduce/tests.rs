//! Reductions in every form, against a fold in a loop.
//!
//! Plans are chosen so that each form of kernel is written at least once: along and across vectors, with and
//! without a tree, in one stage and in two. `agrees` says how far a fold's value may be from the loop's.

use std::sync::Arc;

use stridewise_core::ops::{apply, evaluate};
use stridewise_core::{
    Dtype, Op, Scalar,
    backend::{Family, Fold, LaunchPlan, Operand, Program, ProgramBuilder},
};

use super::super::trial::{Random, Region, Tested, devices, input, inputs_at, next, operand, place, same};
use super::work;
use crate::kernels::Target;

/// The fold of every output in row-major order, and the offsets of the outputs.
pub(in crate::kernels) fn expected(plan: &LaunchPlan, regions: &[Region]) -> Vec<(isize, Scalar)> {
    let Family::Reduce { fold, reduced, finish, .. } = &plan.family else { panic!("no reduction") };
    let split = plan.dims.len() - reduced;
    let (kept, along) = plan.dims.split_at(split);
    let (_, first) = place(&plan.outputs[0], plan.output_dtype(0));
    let mut results = Vec::new();
    let mut outer = vec![0; split];
    loop {
        let mut inner = vec![0; *reduced];
        let (mut best, mut at, mut number) = (None, 0_i64, 0_i64);
        let mut values = Vec::new();
        loop {
            let index: Vec<usize> = outer.iter().chain(&inner).copied().collect();
            let v = evaluate(&plan.program, &inputs_at(plan, regions, &index)).unwrap()[0];
            let wide = if matches!(v.dtype(), Dtype::F16 | Dtype::Bf16) { v.cast(Dtype::F32) } else { v };
            values.push(v);
            best = Some(match (best, fold) {
                (None, _) | (_, Fold::Deviations) => wide,
                (Some(old), Fold::Op(op)) => apply(*op, &[old, wide]).unwrap(),
                (Some(old), fold) => {
                    let op = if *fold == Fold::ArgMin { Op::Less } else { Op::Greater };
                    let nan = |v: Scalar| apply(Op::NotEqual, &[v, v]).unwrap() == Scalar::Bool(true);
                    let better = apply(op, &[wide, old]).unwrap() == Scalar::Bool(true);
                    if better || (nan(wide) && !nan(old)) {
                        at = number;
                        wide
                    } else {
                        old
                    }
                }
            });
            number += 1;
            if !next(&mut inner, along) {
                break;
            }
        }
        let folded = match fold {
            Fold::Op(_) => best.unwrap().cast(plan.program.output_dtype(0)),
            _ => Scalar::I64(at),
        };
        let folded = if *fold == Fold::Deviations { deviations(&values) } else { folded };
        let result = finish.as_ref().map_or(folded, |f| evaluate(f, &[folded]).unwrap()[0]);
        let strides = plan.outputs[0].strides.iter().zip(&outer);
        results.push((first + strides.map(|(&s, &i)| s * i.cast_signed()).sum::<isize>(), result));
        if !next(&mut outer, kept) {
            return results;
        }
    }
}

/// The sum of squared deviations, in `float64`.
fn deviations(values: &[Scalar]) -> Scalar {
    let mean = values.iter().map(|v| v.to_f64()).sum::<f64>() / values.len() as f64;
    let sum: f64 = values.iter().map(|v| (v.to_f64() - mean).powi(2)).sum();
    Scalar::F64(sum).cast(values[0].dtype())
}

/// Whether a result is the expected one, in bits but for what rounds.
pub(in crate::kernels) fn agrees(fold: Fold, got: Scalar, expected: Scalar) -> bool {
    let (a, b) = (got.to_f64(), expected.to_f64());
    let unit = match expected.dtype() {
        Dtype::Bf16 => 0.01,
        Dtype::F16 => 0.001,
        _ => 2e-6,
    };
    same(got, expected, false) || (fold == Fold::Deviations && (a - b).abs() <= unit * b + 1e-300)
}

/// A plan over random inputs.
fn plan(
    program: Program,
    fold: Fold,
    finish: Option<Program>,
    dims: &[usize],
    reduced: usize,
    plain: bool,
    random: &mut Random,
) -> (LaunchPlan, Vec<Region>) {
    let product = fold == Fold::Op(Op::Multiply);
    let mut regions = Vec::new();
    let mut inputs = Vec::new();
    for (k, &dtype) in program.inputs().iter().enumerate() {
        if program.is_index(k) {
            let strides: Vec<isize> = (0..dims.len()).map(|_| random.below(7).cast_signed() - 3).collect();
            let start = random.below(100);
            let ptr = stridewise_core::memory::UsmPtr::new(std::ptr::without_provenance_mut(start));
            inputs.push(Operand { ptr, strides: strides.as_slice().into() });
        } else {
            let (operand, region) = input(regions.len(), dtype, dims, product, plain, random);
            inputs.push(operand);
            regions.push(region);
        }
    }
    let split = dims.len() - reduced;
    let family = Family::Reduce { fold, reduced, finish: finish.map(Arc::new), stored: None };
    let mut plan = LaunchPlan {
        program: Arc::new(program),
        family,
        dims: dims.into(),
        inputs: inputs.into_iter().collect(),
        outputs: smallvec::SmallVec::new(),
    };
    plan.outputs.push(operand(0, Dtype::Bool, 0, &[]));
    let out = plan.output_dtype(0);
    let mut strides = vec![0_isize; dims.len()];
    let mut len = 1 + usize::from(!plain && random.below(3) == 0);
    for d in (0..split).rev() {
        strides[d] = len.cast_signed();
        len *= dims[d];
    }
    plan.outputs[0] = operand(regions.len(), out, 0, &strides);
    regions.push(Region { dtype: out, bytes: vec![0; len * out.size()] });
    (plan, regions)
}

fn check(tested: &Tested, target: &Target, plan: &LaunchPlan, regions: &[Region]) {
    let mut regions = regions.to_vec();
    let expected = expected(plan, &regions);
    let Family::Reduce { fold, .. } = plan.family else { panic!("no reduction") };
    tested.run(target, plan, &mut regions, work);
    for (i, (at, expected)) in expected.into_iter().enumerate() {
        let got = regions[regions.len() - 1].get(at);
        assert!(
            agrees(fold, got, expected),
            "{}: output {i} is {got:?}, expected {expected:?}, target {target:?}, plan {plan:?}",
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
        Target { cpu: true, ..wide.clone() },
        Target { max_group: 32, compute_units: 1, ..wide },
    ]
}

const FOLDS: [Fold; 7] = [
    Fold::Op(Op::Add),
    Fold::Op(Op::Multiply),
    Fold::Op(Op::Minimum),
    Fold::Op(Op::Maximum),
    Fold::ArgMin,
    Fold::ArgMax,
    Fold::Deviations,
];

fn allows(fold: Fold, dtype: Dtype) -> bool {
    match fold {
        Fold::Op(op) => op.allows(dtype),
        Fold::Deviations => dtype.kind() == stridewise_core::DtypeKind::Float,
        _ => Op::Minimum.allows(dtype),
    }
}

#[test]
fn every_fold_of_every_dtype() {
    let mut random = Random(1);
    for tested in devices() {
        for (number, &dtype) in Dtype::ALL.iter().filter(|&&dtype| tested.has(dtype)).enumerate() {
            for fold in FOLDS.into_iter().filter(|&fold| allows(fold, dtype)) {
                let shapes: [(&[usize], usize); 3] = [(&[1000], 1), (&[3, 260], 1), (&[64, 33], 1)];
                for (dims, reduced) in shapes {
                    let copy = Program::convert(dtype, dtype);
                    let (plan, regions) = plan(copy, fold, None, dims, reduced, true, &mut random);
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
    let lens = [1, 2, 3, 4, 5, 31, 32, 33, 127, 255, 256, 257, 1000, 4097, 20_011];
    for tested in devices() {
        for target in targets(&tested) {
            for n in lens {
                for fold in [Fold::Op(Op::Add), Fold::ArgMax, Fold::Deviations] {
                    let copy = || Program::convert(Dtype::F32, Dtype::F32);
                    let (whole, regions) = plan(copy(), fold, None, &[n], 1, true, &mut random);
                    check(&tested, &target, &whole, &regions);
                    let (odd, regions) = plan(copy(), fold, None, &[n], 1, false, &mut random);
                    check(&tested, &target, &odd, &regions);
                    if n <= 1000 {
                        let (rows, regions) = plan(copy(), fold, None, &[5, n], 1, true, &mut random);
                        check(&tested, &target, &rows, &regions);
                        // The outer dimension is folded.
                        let (mut columns, regions) = plan(copy(), fold, None, &[8, n], 1, true, &mut random);
                        columns.inputs[0].strides.copy_from_slice(&[1, 8]);
                        check(&tested, &target, &columns, &regions);
                        let (mut columns, regions) = plan(copy(), fold, None, &[n, 37], 1, true, &mut random);
                        columns.inputs[0].strides.copy_from_slice(&[1, n.cast_signed()]);
                        check(&tested, &target, &columns, &regions);
                    }
                }
            }
        }
    }
}

/// `a·b + constant + index`, of several inputs.
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
        for case in 0..60 {
            let count = 1 + random.below(4);
            let dims: Vec<usize> =
                (0..count).map(|_| [1, 2, 3, 4, 7, 8, 12, 16, 33][random.below(9)]).collect();
            let reduced = 1 + random.below(count);
            let fold = [Fold::Op(Op::Add), Fold::Op(Op::Maximum), Fold::ArgMin][case % 3];
            let dtype = [Dtype::I32, Dtype::I64, Dtype::I16][case / 3 % 3];
            let result = fold.result(dtype);
            let mut finish = ProgramBuilder::new();
            let (x, c) =
                (finish.input(result).unwrap(), finish.constant(Scalar::I8(-5).cast(result)).unwrap());
            let value = finish.push(Op::Multiply, &[x, c]).unwrap();
            let value = finish.cast(value, Dtype::I64).unwrap();
            finish.output(value).unwrap();
            let finish = (case % 2 == 0).then(|| finish.finish().unwrap());
            let (plan, regions) =
                plan(fused(dtype), fold, finish, &dims, reduced, case % 5 == 0, &mut random);
            for other in [0, 1 + case % (targets.len() - 1)] {
                check(&tested, &targets[other], &plan, &regions);
            }
        }
    }
}

#[test]
fn nan_and_infinity() {
    let mut random = Random(4);
    for tested in devices() {
        for target in targets(&tested) {
            for fold in FOLDS {
                for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    for dims in [&[700][..], &[3, 40], &[40, 4]] {
                        let copy = Program::convert(Dtype::F32, Dtype::F32);
                        let (plan, mut regions) = plan(copy, fold, None, dims, 1, true, &mut random);
                        let len = regions[0].bytes.len() / 4;
                        for _ in 0..3 {
                            let at = 4 * random.below(len);
                            regions[0].bytes[at..at + 4].copy_from_slice(&(special as f32).to_ne_bytes());
                        }
                        check(&tested, &target, &plan, &regions);
                        // Of nothing else.
                        let all = vec![Scalar::F64(special).cast(Dtype::F32); len];
                        regions[0] = Region::new(Dtype::F32, &all);
                        check(&tested, &target, &plan, &regions);
                    }
                }
            }
        }
    }
}

#[test]
fn zeros_keep_their_sign_in_sums() {
    for tested in devices() {
        for target in targets(&tested) {
            for n in [1, 5, 300, 5000] {
                for (dtype, zero) in
                    [(Dtype::F32, Scalar::F32(-0.0)), (Dtype::Bf16, Scalar::F32(-0.0).cast(Dtype::Bf16))]
                {
                    let copy = Program::convert(dtype, dtype);
                    let (plan, mut regions) =
                        plan(copy, Fold::Op(Op::Add), None, &[n], 1, true, &mut Random(5));
                    regions[0] = Region::new(dtype, &vec![zero; n]);
                    tested.run(&target, &plan, &mut regions, work);
                    assert!(same(regions[1].get(0), zero, true), "{}: {:?}", tested.name, regions[1].get(0));
                }
            }
        }
    }
}

#[test]
fn sums_are_as_exact_as_pairwise_ones() {
    let mut random = Random(6);
    for tested in devices() {
        for target in targets(&tested) {
            for dims in [&[60_000][..], &[2, 30_000]] {
                let copy = Program::convert(Dtype::F32, Dtype::F32);
                for outer in [false, true] {
                    let fold = Fold::Op(Op::Add);
                    let (mut plan, mut regions) = plan(copy.clone(), fold, None, dims, 1, true, &mut random);
                    if outer && dims.len() == 2 {
                        plan.inputs[0].strides.copy_from_slice(&[1, 2]);
                    }
                    let values: Vec<Scalar> = (0..60_000)
                        .map(|_| Scalar::F32(0.5 + random.below(1 << 20) as f32 / (1 << 21) as f32))
                        .collect();
                    regions[0] = Region::new(Dtype::F32, &values);
                    tested.run(&target, &plan, &mut regions, work);
                    let outputs = 60_000 / dims[dims.len() - 1];
                    for o in 0..outputs {
                        let (start, step) =
                            if outer && outputs == 2 { (o, 2) } else { (o * dims[dims.len() - 1], 1) };
                        let own = (0..dims[dims.len() - 1]).map(|i| values[start + i * step].to_f64());
                        let exact: f64 = own.sum();
                        let got = regions[1].get(o.cast_signed()).to_f64();
                        // A pairwise sum of so many has sixteen levels; a running one is off by hundreds of units.
                        let unit = f64::from(f32::EPSILON) * exact;
                        assert!(
                            ((got - exact) / unit).abs() < 8.0,
                            "{}: {got}, exactly {exact}",
                            tested.name
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn more_numbers_than_parameters() {
    let mut random = Random(7);
    let mut builder = ProgramBuilder::new();
    let inputs: Vec<_> = (0..16).map(|_| builder.input(Dtype::I32).unwrap()).collect();
    let mut sum = inputs[0];
    for &input in &inputs[1..] {
        sum = builder.push(Op::Add, &[sum, input]).unwrap();
    }
    builder.output(sum).unwrap();
    let program = builder.finish().unwrap();
    for tested in devices() {
        for target in targets(&tested) {
            let dims = [2, 3, 2, 3, 2, 2, 3, 2];
            let (mut plan, regions) =
                plan(program.clone(), Fold::Op(Op::Add), None, &dims, 4, true, &mut random);
            // Inputs that differ, so that no dimensions merge.
            for (k, input) in plan.inputs.iter_mut().enumerate() {
                input.strides[k % 8] = 0;
            }
            check(&tested, &target, &plan, &regions);
        }
    }
}

#[test]
fn deviations_from_a_large_mean() {
    let mut random = Random(9);
    for tested in devices() {
        for target in targets(&tested) {
            for (dims, turned) in [(&[60_000][..], false), (&[2, 30_000], false), (&[30, 2000], true)] {
                let n = dims[dims.len() - 1];
                let copy = Program::convert(Dtype::F32, Dtype::F32);
                let (mut plan, mut regions) = plan(copy, Fold::Deviations, None, dims, 1, true, &mut random);
                if turned {
                    plan.inputs[0].strides.copy_from_slice(&[1, dims[0].cast_signed()]);
                }
                // A step of the mean, too, and values that are all the same.
                for offset in [1e6, -1e6] {
                    for spread in [0, 64] {
                        let value = |i: usize| {
                            let step = if i < 30_000 { 0.0 } else { 2.0 * spread as f32 };
                            Scalar::F32(offset + step + random.below(spread + 1) as f32 / 16.0)
                        };
                        regions[0] = Region::new(Dtype::F32, &(0..60_000).map(value).collect::<Vec<_>>());
                        check(&tested, &target, &plan, &regions);
                    }
                }
                assert!(n > 1000);
            }
        }
    }
}

/// Where a processor folds a few rows of a wide array at a time.
#[test]
fn few_rows_at_a_time() {
    for tested in devices() {
        let target = Target { cpu: true, compute_units: 1, ..tested.target.clone() };
        let copy = Program::convert(Dtype::F32, Dtype::F32);
        let (mut plan, regions) = plan(copy, Fold::Op(Op::Add), None, &[512, 290], 1, true, &mut Random(8));
        plan.inputs[0].strides.copy_from_slice(&[1, 512]);
        assert_eq!(work(&plan, &target).unwrap().scratch_bytes, 10 * 512 * 4);
        check(&tested, &target, &plan, &regions);
    }
}
