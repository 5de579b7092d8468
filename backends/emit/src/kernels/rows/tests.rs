//! Stages in one kernel, on whatever device, against folds in a loop and programs evaluated one element at a time.

use std::sync::Arc;

use smallvec::smallvec;
use stridewise_core::ops::evaluate;
use stridewise_core::{
    Dtype, Op, Scalar,
    backend::{Family, Fold, LaunchPlan, Operand, Program, ProgramBuilder},
};

use super::super::reduce::tests::{agrees, expected};
use super::super::trial::{Random, Region, Tested, devices, input, inputs_at, next, operand, place, same};
use super::anywhere;
use crate::kernels::Target;

/// A region of zeros that is written, and the operand that is it, over rows of some elements.
fn output(number: usize, dtype: Dtype, dims: [usize; 2], strides: [isize; 2]) -> (Operand, Region) {
    let len = if strides[1] == 0 { dims[0] } else { dims[0] * dims[1] };
    (operand(number, dtype, 0, &strides), Region { dtype, bytes: vec![0; len * dtype.size()] })
}

fn reduction(program: Program, fold: Fold, finish: Option<Program>, dims: [usize; 2]) -> LaunchPlan {
    LaunchPlan {
        program: Arc::new(program),
        family: Family::Reduce { fold, reduced: 1, finish: finish.map(Arc::new), stored: None },
        dims: dims.as_slice().into(),
        inputs: smallvec![],
        outputs: smallvec![],
    }
}

/// What the second stage is.
#[derive(Clone, Copy, Debug)]
enum Second {
    Map,
    Two,
    Fold,
}

/// Stages over `x`, that is folded, `y`, that is not, and what the folds come to, with the regions of all.
fn stages(
    dtype: Dtype,
    dims: [usize; 2],
    folds: &[Fold],
    second: Second,
    random: &mut Random,
) -> (Vec<Vec<LaunchPlan>>, Vec<Region>) {
    let mut regions = Vec::new();
    let arrays: Vec<Operand> = (0..2)
        .map(|number| {
            let (operand, region) = input(number, dtype, &dims, false, false, random);
            regions.push(region);
            operand
        })
        .collect();
    let mut first = Vec::new();
    for (number, &fold) in folds.iter().enumerate() {
        let program = match number % 2 {
            0 => Program::convert(dtype, dtype),
            _ => Program::single(Op::Multiply, dtype).unwrap(),
        };
        let mut plan = reduction(program, fold, None, dims);
        plan.inputs = (0..plan.program.inputs().len()).map(|_| arrays[0].clone()).collect();
        // Of which every other one is finished by a function.
        let folded = plan.output_dtype(0);
        if number % 2 == 0
            && let Family::Reduce { finish, .. } = &mut plan.family
        {
            let mut builder = ProgramBuilder::new();
            let value = builder.input(folded).unwrap();
            let three = builder.constant(Scalar::I64(3).cast(folded)).unwrap();
            let result = builder.push(Op::Add, &[value, three]).unwrap();
            builder.output(result).unwrap();
            *finish = Some(Arc::new(builder.finish().unwrap()));
        }
        let (own, region) = output(regions.len(), plan.output_dtype(0), dims, [1, 0]);
        plan.outputs = smallvec![own];
        regions.push(region);
        first.push(plan);
    }
    let mut builder = ProgramBuilder::new();
    let (x, y) = (builder.input(dtype).unwrap(), builder.input(dtype).unwrap());
    let mut value = builder.push(Op::Multiply, &[x, y]).unwrap();
    for plan in &first {
        let folded = builder.input(plan.output_dtype(0)).unwrap();
        let folded = builder.cast(folded, dtype).unwrap();
        value = builder.push(Op::Maximum, &[value, folded]).unwrap();
    }
    builder.output(value).unwrap();
    if matches!(second, Second::Two) {
        let other = builder.push(Op::Less, &[x, value]).unwrap();
        builder.output(other).unwrap();
    }
    let program = builder.finish().unwrap();
    let mut last = reduction(program, Fold::Op(Op::Maximum), None, dims);
    let (len, contiguous) = (dims[1].cast_signed(), !matches!(second, Second::Fold));
    if contiguous {
        last.family = Family::Map;
    }
    last.inputs = arrays.iter().chain(first.iter().map(|plan| &plan.outputs[0])).cloned().collect();
    for number in 0..last.program.outputs().len() {
        let strides = if contiguous { [len, 1] } else { [1, 0] };
        let (own, region) = output(regions.len(), last.program.output_dtype(number), dims, strides);
        last.outputs.push(own);
        regions.push(region);
    }
    (vec![first, vec![last]], regions)
}

fn check(tested: &Tested, target: &Target, stages: &[Vec<LaunchPlan>], mut regions: Vec<Region>) {
    let text = || format!("{}, {stages:?}", tested.name);
    let work = anywhere(stages, target).unwrap_or_else(|| panic!("no kernel for {}", text()));
    tested.run_work(target, work, &mut regions, 2);
    let (last, before) = stages.split_last().unwrap();
    let last = &last[0];
    let folds = before.iter().flatten();
    for plan in folds.chain(matches!(last.family, Family::Reduce { .. }).then_some(last)) {
        let Family::Reduce { fold, .. } = plan.family else { unreachable!("the first are folds") };
        let (region, _) = place(&plan.outputs[0], plan.output_dtype(0));
        for (at, expected) in expected(plan, &regions) {
            let got = regions[region].get(at);
            assert!(agrees(fold, got, expected), "{at}: {got:?}, expected {expected:?}, {}", text());
        }
    }
    if !matches!(last.family, Family::Map) {
        return;
    }
    let mut index = vec![0; 2];
    loop {
        let expected = evaluate(&last.program, &inputs_at(last, &regions, &index)).unwrap();
        for (output, &expected) in last.outputs.iter().zip(&expected) {
            let (region, _) = place(output, expected.dtype());
            let got = regions[region].get((index[0] * last.dims[1] + index[1]).cast_signed());
            assert!(same(got, expected, true), "{index:?}: {got:?}, expected {expected:?}, {}", text());
        }
        if !next(&mut index, &last.dims) {
            return;
        }
    }
}

/// Puts a stage before the last one: `fold` of what the last one's first output is made of, which that one is made to read too.
fn with_another_fold(
    (mut stages, mut regions): (Vec<Vec<LaunchPlan>>, Vec<Region>),
    fold: Fold,
) -> (Vec<Vec<LaunchPlan>>, Vec<Region>) {
    let last = &mut stages[1][0];
    let (dtype, dims) = (last.program.inputs()[0], [last.dims[0], last.dims[1]]);
    // x and the first fold, and y, which is of memory, as it is.
    let mut builder = ProgramBuilder::new();
    let inputs: Vec<_> = last.program.inputs().iter().map(|&own| builder.input(own).unwrap()).collect();
    let folded = builder.cast(inputs[2], dtype).unwrap();
    let mut value = builder.push(Op::Minimum, &[inputs[0], folded]).unwrap();
    value = builder.push(Op::Maximum, &[value, inputs[1]]).unwrap();
    builder.output(value).unwrap();
    let mut plan = reduction(builder.finish().unwrap(), fold, None, dims);
    plan.inputs = last.inputs.clone();
    let (own, region) = output(regions.len(), plan.output_dtype(0), dims, [1, 0]);
    plan.outputs = smallvec![own.clone()];
    regions.push(region);
    let mut builder = ProgramBuilder::new();
    let inputs: Vec<_> = last.program.inputs().iter().map(|&own| builder.input(own).unwrap()).collect();
    let again = builder.input(plan.output_dtype(0)).unwrap();
    let again = builder.cast(again, dtype).unwrap();
    let value = builder.push(Op::Maximum, &[inputs[0], again]).unwrap();
    builder.output(value).unwrap();
    last.program = Arc::new(builder.finish().unwrap());
    last.inputs.push(own);
    last.outputs.truncate(1);
    stages.insert(1, vec![plan]);
    (stages, regions)
}

#[test]
fn rows_go_through_three_stages() {
    let mut random = Random(9);
    for tested in devices() {
        let target = tested.target.clone();
        let folds = [(Op::Maximum, Op::Add), (Op::Add, Op::Minimum)].map(|(a, b)| (Fold::Op(a), Fold::Op(b)));
        for dtype in [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::Bf16, Dtype::I16] {
            if !tested.has(dtype) {
                continue;
            }
            let all = [
                ([20, 128], Second::Map),
                ([5, 32], Second::Map),
                ([3, 1024], Second::Map),
                ([2, 1000], Second::Fold),
                ([2, 2600], Second::Map),
            ];
            for (dims, second) in all.into_iter().take(if dtype == Dtype::F32 { 5 } else { 1 }) {
                for &(first, then) in folds.iter().chain([&(Fold::ArgMax, Fold::ArgMin)]) {
                    let two = stages(dtype, dims, &[first], second, &mut random);
                    let (stages, regions) = with_another_fold(two, then);
                    check(&tested, &target, &stages, regions);
                }
            }
        }
    }
}

#[test]
fn rows_go_through_both_stages() {
    let mut random = Random(7);
    let sum = Fold::Op(Op::Add);
    for tested in devices() {
        let target = tested.target.clone();
        for dtype in [Dtype::F32, Dtype::I32, Dtype::F64, Dtype::U8, Dtype::Bf16] {
            if !tested.has(dtype) {
                continue;
            }
            for (dims, second) in [
                ([3, 32], Second::Map),
                ([2, 257], Second::Two),
                ([2, 1000], Second::Fold),
                ([1, 3000], Second::Map),
            ] {
                let folds: &[&[Fold]] = &[&[sum], &[Fold::Op(Op::Maximum), sum, Fold::ArgMax]];
                for folds in folds {
                    let (stages, regions) = stages(dtype, dims, folds, second, &mut random);
                    check(&tested, &target, &stages, regions);
                }
            }
        }
        let (stages, regions) =
            stages(Dtype::F32, [3, 300], &[Fold::Deviations, Fold::ArgMin], Second::Map, &mut random);
        check(&tested, &target, &stages, regions);
    }
}

/// What is not of the same rows, or too much for a group.
#[test]
fn other_stages_have_no_such_kernel() {
    let mut random = Random(8);
    for tested in devices() {
        let make = |dims: [usize; 2], random: &mut Random| {
            stages(Dtype::F32, dims, &[Fold::Op(Op::Add)], Second::Map, random).0
        };
        let none = |stages: &[Vec<LaunchPlan>]| anywhere(stages, &tested.target).is_none();
        assert!(!none(&make([4, 100], &mut random)));
        assert!(none(&make([4, 31], &mut random)) && none(&make([1, 40_000], &mut random)));
        let mut turned = make([4, 100], &mut random);
        // The rows' results from the last one to the first.
        let results = &mut turned[1][0].inputs[2];
        results.ptr = results.ptr.byte_offset(12);
        results.strides[0] = -1;
        assert!(none(&turned));
        let mut one = make([4, 100], &mut random);
        one[1][0].inputs[2].strides[0] = 0;
        assert!(none(&one));
        let mut apart = make([4, 100], &mut random);
        apart[0][0].dims = smallvec![2, 200];
        assert!(none(&apart));
        let mut several = make([4, 100], &mut random);
        let again = several[1][0].clone();
        several[1].push(again);
        assert!(none(&several));
    }
}
