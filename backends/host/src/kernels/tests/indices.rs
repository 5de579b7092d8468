//! Inputs that are indices: in maps and in reductions, beside memory and alone.

use stridewise_core::ops::{apply, evaluate};
use stridewise_core::{
    Dtype, Op, Scalar,
    backend::{Family, Fold, Program, ProgramBuilder},
};

use super::{Array, Rng, Sample, execute, indices, plan, untouched};
use crate::simd::Isa;

/// `a · x + y` in an integer dtype, where `a` is an index, `x` memory where `read`, and `y` an index where `two`.
fn program(dtype: Dtype, read: bool, two: bool) -> Program {
    let mut p = ProgramBuilder::new();
    let a = p.index().unwrap();
    let mut value = p.cast(a, dtype).unwrap();
    if read {
        let x = p.input(dtype).unwrap();
        value = p.push(Op::Multiply, &[value, x]).unwrap();
    }
    if two {
        let y = p.index().unwrap();
        let y = p.cast(y, dtype).unwrap();
        value = p.push(Op::Add, &[value, y]).unwrap();
    }
    p.output(value).unwrap();
    p.finish().unwrap()
}

/// A start from which indices of 64 bits wrap; addresses of 32 bits hold none.
const FAR: isize = if cfg!(target_pointer_width = "64") { isize::MAX - 3 } else { 1 << 30 };

fn inputs(program: &Program, dims: &[usize], rng: &mut Rng) -> Vec<Array> {
    let mut all = Vec::new();
    for (i, &dtype) in program.inputs().iter().enumerate() {
        if program.is_index(i) {
            let strides = dims.iter().map(|_| rng.pick(&[0, 1, 1, -1, 7, 8, -1000])).collect();
            all.push(Array::numbers(rng.pick(&[0, -5, FAR]), strides));
        } else {
            let mut strides = Array::dense(dims, dtype, rng).strides;
            if rng.below(2) == 0 {
                let turned: Vec<usize> = dims.iter().rev().copied().collect();
                strides = Array::dense(&turned, dtype, rng).strides;
                strides.reverse();
            }
            all.push(Array::new(dims, strides, dtype, rng));
        }
    }
    all
}

const SHAPES: [&[usize]; 12] = [
    &[],
    &[1],
    &[7],
    &[1500],
    &[3, 700],
    &[700, 3],
    &[130, 70],
    &[2, 3, 4, 5],
    &[300, 300],
    &[4, 1, 129],
    &[20_000],
    &[5, 64, 65],
];

#[test]
fn maps_of_indices() {
    let mut sample = Sample::new();
    let mut rng = Rng(1);
    for dtype in [Dtype::I64, Dtype::U8, Dtype::I32] {
        for (read, two) in [(false, false), (false, true), (true, false), (true, true)] {
            let program = program(dtype, read, two);
            for dims in SHAPES {
                if sample.skips() {
                    continue;
                }
                let mut inputs = inputs(&program, dims, &mut rng);
                let before = Array::dense(dims, dtype, &mut rng);
                for &isa in Isa::available() {
                    for (threads, cache) in [(1, 1 << 25), (4, 0)] {
                        let mut out = [before.clone()];
                        let launch = plan(program.clone(), Family::Map, dims, &mut inputs, &mut out);
                        execute(&launch, isa, threads, cache);
                        untouched(&before, &out[0], dims);
                        for index in indices(dims) {
                            let x: Vec<_> = inputs.iter().map(|a| a.get(&index)).collect();
                            let expected = evaluate(&program, &x).unwrap()[0];
                            assert_eq!(out[0].get(&index), expected, "{dtype} {dims:?} {index:?} of {x:?}");
                        }
                    }
                }
            }
        }
    }
}

/// The range 0, 1, …, as a program that only hands its index on, and as floats.
#[test]
fn ranges() {
    let mut rng = Rng(2);
    for to in [Dtype::I64, Dtype::F32, Dtype::F64] {
        let mut p = ProgramBuilder::new();
        let index = p.index().unwrap();
        let value = p.cast(index, to).unwrap();
        p.output(value).unwrap();
        let program = p.finish().unwrap();
        for len in [1, 63, 513, 100_000] {
            for &isa in Isa::available() {
                let mut inputs = [Array::numbers(-3, vec![1])];
                let mut out = [Array::dense(&[len], to, &mut rng)];
                execute(&plan(program.clone(), Family::Map, &[len], &mut inputs, &mut out), isa, 4, 1 << 25);
                for i in 0..len {
                    assert_eq!(out[0].get(&[i]), Scalar::I64(i as i64 - 3).cast(to));
                }
            }
        }
    }
}

#[test]
fn reductions_of_indices() {
    let mut sample = Sample::new();
    let mut rng = Rng(3);
    let folds = [
        Fold::Op(Op::Add),
        Fold::Op(Op::Multiply),
        Fold::Op(Op::Minimum),
        Fold::Op(Op::Maximum),
        Fold::ArgMin,
        Fold::ArgMax,
    ];
    for dtype in [Dtype::I64, Dtype::I16] {
        for (read, two) in [(false, false), (false, true), (true, false), (true, true)] {
            let program = program(dtype, read, two);
            for dims in SHAPES {
                for reduced in 1..=dims.len() {
                    if sample.skips() {
                        continue;
                    }
                    let (kept, folded) = dims.split_at(dims.len() - reduced);
                    let mut inputs = inputs(&program, dims, &mut rng);
                    for fold in folds {
                        let mut strides = Array::dense(kept, fold.result(dtype), &mut rng).strides;
                        strides.resize(dims.len(), 0);
                        let before = Array::new(dims, strides, fold.result(dtype), &mut rng);
                        let expected: Vec<_> = indices(kept)
                            .iter()
                            .map(|i| {
                                let values = indices(folded).into_iter().map(|j| {
                                    let index = [&i[..], &j].concat();
                                    let x: Vec<_> = inputs.iter().map(|a| a.get(&index)).collect();
                                    evaluate(&program, &x).unwrap()[0]
                                });
                                folded_value(fold, values)
                            })
                            .collect();
                        for (&isa, threads) in Isa::available().iter().zip([1, 4, 3]) {
                            let mut out = [before.clone()];
                            let family = Family::Reduce { fold, reduced, finish: None, stored: None };
                            execute(
                                &plan(program.clone(), family, dims, &mut inputs, &mut out),
                                isa,
                                threads,
                                1 << 25,
                            );
                            untouched(&before, &out[0], &[kept, &vec![1; reduced][..]].concat());
                            for (i, expected) in indices(kept).iter().zip(&expected) {
                                let found = out[0].get(&[&i[..], &vec![0; reduced][..]].concat());
                                assert_eq!(
                                    found, *expected,
                                    "{fold:?} of {dtype} {dims:?} ({reduced}) at {i:?}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}

fn folded_value(fold: Fold, values: impl Iterator<Item = Scalar>) -> Scalar {
    let (mut best, mut at) = (None, 0);
    for (i, v) in values.enumerate() {
        let Some(old) = best else {
            best = Some(v);
            continue;
        };
        let less = |a, b| apply(Op::Less, &[a, b]) == Some(Scalar::Bool(true));
        match fold {
            Fold::Op(op) => best = apply(op, &[old, v]),
            Fold::ArgMin if less(v, old) => (best, at) = (Some(v), i),
            Fold::ArgMax if less(old, v) => (best, at) = (Some(v), i),
            _ => {}
        }
    }
    match fold {
        Fold::Op(_) => best.unwrap(),
        _ => Scalar::I64(at as i64),
    }
}
