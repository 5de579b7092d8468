//! Random programs over random layouts.

use proptest::prelude::*;
use stridewise_core::ops::{MAX_ARITY, evaluate};
use stridewise_core::{
    Dtype, Op,
    backend::{Arg, Family, MAX_STEPS, Program, ProgramBuilder},
};

use super::{Array, Rng, canonical, execute, indices, plan, rounds_freely, untouched, value};
use crate::simd::Isa;

/// A program of a few steps over up to three inputs and a constant, with one or two outputs.
pub(in super::super) fn program(rng: &mut Rng) -> Program {
    any_program(rng, 7, &rounds_freely)
}

/// A program of up to 25 steps, of which some are functions that round freely.
#[cfg(all(feature = "native", target_arch = "x86_64", unix))]
pub(in super::super) fn long_program(rng: &mut Rng) -> Program {
    any_program(rng, 25, &|op| matches!(op, Op::Pow | Op::Philox))
}

/// A program of steps up to a number, without some operations.
fn any_program(rng: &mut Rng, most: usize, left_out: &dyn Fn(Op) -> bool) -> Program {
    let mut p = ProgramBuilder::new();
    let dtype = rng.pick(Dtype::ALL);
    let mut args: Vec<Arg> = (0..=rng.below(3))
        .map(|_| {
            let d = if rng.below(3) == 0 { rng.pick(Dtype::ALL) } else { dtype };
            if rng.below(6) == 0 { p.index().unwrap() } else { p.input(d).unwrap() }
        })
        .collect();
    args.push(p.constant(value(dtype, rng)).unwrap());
    let given = args.len();
    for _ in 0..1 + rng.below(most) {
        // An operation of three operands that are converted, and outputs that are copied.
        if p.len() + MAX_ARITY + 3 > MAX_STEPS {
            break;
        }
        let op = rng.pick(Op::ALL);
        // The sign of a NaN that a step computes is the processor's affair: signs are asked of given values only.
        let choice = |signs: bool| if signs { given } else { args.len() };
        let first = rng.pick(&args[..choice(op == Op::SignBit)]);
        if op == Op::Cast || !op.allows(p.dtype(first).unwrap()) {
            let to = rng.pick(Dtype::ALL);
            let cast = p.cast(first, to).unwrap();
            args.push(cast);
            continue;
        }
        // Functions that round freely would make a comparison after them ambiguous.
        if left_out(op) {
            continue;
        }
        let dtype = p.dtype(first).unwrap();
        let mut operands = vec![first];
        while operands.len() < op.arity() {
            let other = rng.pick(&args[..choice(op == Op::Copysign)]);
            operands.push(p.cast(other, dtype).unwrap());
        }
        if op == Op::Where {
            operands[0] = p.cast(rng.pick(&args), Dtype::Bool).unwrap();
        }
        if op == Op::Where && p.dtype(operands[1]).unwrap() != p.dtype(operands[2]).unwrap() {
            continue;
        }
        args.push(p.push(op, &operands).unwrap());
    }
    for _ in 0..=rng.below(2) {
        // Late values, so that most steps count.
        let late = args[args.len() - 1 - rng.below(args.len().min(3))];
        p.output(late).unwrap();
    }
    p.finish().unwrap()
}

/// Strides over some extents: the dimensions in any order, some reversed or spread, for inputs some broadcast.
pub(super) fn strides(dims: &[usize], input: bool, rng: &mut Rng) -> Vec<isize> {
    let mut order: Vec<usize> = (0..dims.len()).collect();
    if rng.below(2) == 0 {
        for i in (1..order.len()).rev() {
            order.swap(i, rng.below(i + 1));
        }
    }
    let mut strides = vec![0; dims.len()];
    let mut next = rng.pick(&[1, 1, 1, 2, 3]);
    for &d in order.iter().rev() {
        if input && rng.below(4) == 0 {
            continue;
        }
        strides[d] = if rng.below(5) == 0 { -next } else { next };
        next = next * dims[d] as isize + rng.pick(&[0, 0, 0, 1, 5]);
    }
    strides
}

/// A program and layouts that follow from a seed, run at every level, against the oracle.
fn check(seed: u64, dims: &[usize], threads: usize, cache: usize) -> Result<(), TestCaseError> {
    let mut rng = Rng(seed);
    let program = program(&mut rng);
    compare(&program, &mut rng, dims, threads, cache)
}

/// A program over random layouts, run at every level, against the oracle.
pub(in super::super) fn compare(
    program: &Program,
    rng: &mut Rng,
    dims: &[usize],
    threads: usize,
    cache: usize,
) -> Result<(), TestCaseError> {
    let mut inputs: Vec<_> = program
        .inputs()
        .iter()
        .enumerate()
        .map(|(i, &d)| {
            let s = strides(dims, true, rng);
            if program.is_index(i) {
                Array::numbers(rng.below(99) as isize - 50, s)
            } else {
                Array::new(dims, s, d, rng)
            }
        })
        .collect();
    let before: Vec<_> = (0..program.outputs().len())
        .map(|o| {
            let s = strides(dims, false, rng);
            Array::new(dims, s, program.output_dtype(o), rng)
        })
        .collect();
    let all = indices(dims);
    let expected: Vec<Vec<_>> = all
        .iter()
        .map(|i| evaluate(program, &inputs.iter().map(|a| a.get(i)).collect::<Vec<_>>()).unwrap())
        .collect();
    for &isa in Isa::available() {
        let mut outputs = before.clone();
        execute(&plan(program.clone(), Family::Map, dims, &mut inputs, &mut outputs), isa, threads, cache);
        for (o, (before, after)) in before.iter().zip(&outputs).enumerate() {
            untouched(before, after, dims);
            for (index, expected) in all.iter().zip(&expected) {
                let (found, expected) = (after.get(index), expected[o]);
                prop_assert!(
                    canonical(found) == canonical(expected),
                    "output {} at {:?} of {:?} on {}: {:?}, not {:?}; {:?}",
                    o,
                    index,
                    dims,
                    isa.name(),
                    found,
                    expected,
                    program
                );
            }
        }
    }
    Ok(())
}

#[test]
fn a_wide_step_leaves_the_rows_of_a_turned_input_alone() {
    // The last step is wider than the turned input whose place it could take.
    check(3_529_596_308_839_925_231, &[4, 7, 69], 1, 0).unwrap();
}

#[test]
fn an_infinite_part_beside_a_signalling_nan_has_an_infinite_magnitude() {
    check(11_098_794_014_288_421_230, &[8, 1054], 1, 0).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: super::Sample::of(200), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn programs_over_layouts(
        seed in any::<u64>(),
        mut dims in prop::collection::vec(1_usize..10, 0..6),
        long in prop_oneof![Just(0), 60_usize..70, 1000_usize..1100, Just(4100_usize)],
        place in any::<prop::sample::Index>(),
        threads in prop_oneof![Just(1_usize), Just(4)],
        cache in prop_oneof![Just(0_usize), Just(1 << 25)],
    ) {
        if long > 0 && !dims.is_empty() {
            let place = place.index(dims.len());
            dims.truncate(3);
            let last = dims.len() - 1;
            dims[place.min(last)] = long;
        }
        check(seed, &dims, threads, cache)?;
    }
}
