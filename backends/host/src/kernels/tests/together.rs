//! Several reductions in one command.

use std::sync::Arc;

use stridewise_core::{
    Dtype, Op, Scalar,
    backend::{Family, Fold, LaunchPlan, Program, ProgramBuilder},
};

use super::reductions::{output, row_or_column_major};
use super::{Array, Rng, Sample, canonical, execute, execute_all, indices, plan, untouched};
use crate::simd::Isa;

/// A division by three, converted to another dtype.
fn third(from: Dtype, to: Dtype) -> Program {
    let mut p = ProgramBuilder::new();
    let x = p.input(from).unwrap();
    let n = p.constant(Scalar::I8(3).cast(from)).unwrap();
    let y = p.push(Op::Divide, &[x, n]).unwrap();
    let y = p.cast(y, to).unwrap();
    p.output(y).unwrap();
    p.finish().unwrap()
}

/// Several reductions of one input in one command have the bits that each has alone: those that are cut alike, and, where
/// rows are short, those that are not.
#[test]
fn several_of_one_input_and_each_alone() {
    let mut sample = Sample::new();
    let mut rng = Rng(5);
    for dtype in [Dtype::F16, Dtype::F32, Dtype::F64, Dtype::I16] {
        let sums = if dtype == Dtype::I16 { Dtype::I64 } else { dtype };
        let wide = if dtype == Dtype::F64 { Dtype::F64 } else { Dtype::F32 };
        let kinds = [
            (Fold::Op(Op::Maximum), dtype, None),
            (Fold::Op(Op::Add), sums, None),
            (Fold::Deviations, wide, Some(third(wide, Dtype::F32))),
            (Fold::ArgMin, dtype, None),
            (Fold::Op(Op::Add), wide, Some(third(wide, wide))),
            (Fold::Op(Op::Minimum), dtype, None),
        ];
        for (dims, reduced) in [
            (vec![300_000], 1),
            (vec![9], 1),
            (vec![5, 50_000], 1),
            (vec![700, 100], 1),
            (vec![40, 9000], 1),
            (vec![700, 3], 1),
            (vec![6000, 20], 1),
            (vec![33, 40, 50], 2),
        ] {
            for transposed in [false, true] {
                if sample.skips() {
                    continue;
                }
                let strides = row_or_column_major(&dims, transposed, dtype, &mut rng);
                let mut inputs = [Array::new(&dims, strides, dtype, &mut rng)];
                let out = |(fold, acc, finish): &(Fold, Dtype, Option<Program>)| {
                    finish.as_ref().map_or(fold.result(*acc), |f| f.output_dtype(0))
                };
                let mut outputs: Vec<[Array; 1]> =
                    kinds.iter().map(|kind| [output(&dims, reduced, out(kind), &mut rng)]).collect();
                let launch =
                    |((fold, acc, finish), to): (&(Fold, Dtype, Option<Program>), &mut [Array; 1])| {
                        let family = Family::Reduce {
                            fold: *fold,
                            reduced,
                            finish: finish.clone().map(Arc::new),
                            stored: None,
                        };
                        plan(Program::convert(dtype, *acc), family, &dims, &mut inputs, to)
                    };
                let plans: Vec<LaunchPlan> = kinds.iter().zip(&mut outputs).map(launch).collect();
                assert_eq!(super::super::groups(&plans).count(), 1);
                let before = outputs.clone();
                for &isa in Isa::available() {
                    plans.iter().for_each(|launch| execute(launch, isa, 1, 1 << 25));
                    let alone = outputs.clone();
                    for threads in [1, 3] {
                        for (to, from) in outputs.iter_mut().zip(&before) {
                            to[0].memory.copy_from(&from[0].memory);
                        }
                        execute_all(&plans, isa, threads, 1 << 25);
                        for (k, (found, alone)) in outputs.iter().zip(&alone).enumerate() {
                            let kept = &dims[..dims.len() - reduced];
                            untouched(&before[k][0], &found[0], &[kept, &vec![1; reduced][..]].concat());
                            for index in indices(kept) {
                                let index = [&index[..], &vec![0; reduced][..]].concat();
                                let (found, alone) = (found[0].get(&index), alone[0].get(&index));
                                assert!(
                                    canonical(found) == canonical(alone),
                                    "{:?} of {dtype} {dims:?} ({reduced}) at {index:?} on {} with {threads}: {found:?}, alone {alone:?}",
                                    kinds[k].0,
                                    isa.name(),
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}
