//! Values that the items of a group make together.

use stridewise_core::Op;
use stridewise_core::kernel::{Collective, Coordinate::*, Level::*, Operand};

use super::kernels::build;
use super::*;

/// Sums, products and the like, running ones too, and what one item has: of lanes, of ids, and of what is one
/// for all.
#[test]
fn values_of_a_group() {
    for dtype in [Dtype::F32, Dtype::I32, Dtype::U64, Dtype::F64, Dtype::I8, Dtype::F16] {
        let kernel = build("values", 1, |k| {
            let (x, out) = (k.global("x", dtype, 1, false)?, k.global("out", dtype, 2, true)?);
            let (i, own, from) =
                (k.index(Global, Id(0))?, k.index(Local, Id(0))?, k.scalar("from", Dtype::I64)?);
            let value = k.load(x, [i])?;
            let mut column = 0;
            for op in [Op::Add, Op::Multiply, Op::Minimum, Op::Maximum] {
                for collective in
                    [Collective::Reduce(op), Collective::InclusiveScan(op), Collective::ExclusiveScan(op)]
                {
                    let result = k.collective(collective, value)?;
                    k.store(out, [i.into(), Operand::from(Scalar::I64(column))], result)?;
                    column += 1;
                }
            }
            let (all, small) = (Scalar::I32(3).cast(dtype), k.cast(own, dtype)?);
            for operand in [Operand::from(value), small.into(), all.into()] {
                for collective in [Collective::InclusiveScan(Op::Add), Collective::Broadcast(from)] {
                    let result = k.collective(collective, operand)?;
                    k.store(out, [i.into(), Operand::from(Scalar::I64(column))], result)?;
                    column += 1;
                }
            }
            Ok(())
        });
        let mut rng = Rng(3);
        for (len, group) in [(1, 1), (10, 3), (700, 128), (700, 130), (2000, 1000)] {
            for from in [0, 2, 129, -7, i64::MAX] {
                let given = [
                    Given::Array(Array::random(dtype, &[len], &mut rng)),
                    Given::Array(Array::random(dtype, &[len, 18], &mut rng)),
                    Given::Scalar(Scalar::I64(from)),
                ];
                same(&kernel, &NdRange::in_groups(&[len], &[group]).partial(), &given, "values");
            }
        }
    }
}

/// What all or any say, in loops and branches that follow it.
#[test]
fn groups_go_on_while_any_does() {
    let kernel = build("any", 2, |k| {
        let (x, out) = (k.global("x", Dtype::I32, 2, false)?, k.global("out", Dtype::I32, 2, true)?);
        let (i, j) = (k.index(Global, Id(0))?, k.index(Global, Id(1))?);
        let (value, count) = (k.load(x, [i, j])?, k.variable("count", Dtype::I32)?);
        k.set(count, 0)?;
        k.while_()?;
        let more = k.binary(Op::Less, count, value)?;
        let any = k.collective(Collective::Any, more)?;
        k.do_(any)?;
        let all = k.collective(Collective::All, more)?;
        k.if_(all)?;
        let most = k.collective(Collective::Reduce(Op::Maximum), count)?;
        let next = k.binary(Op::Add, most, 2)?;
        k.set(count, next)?;
        k.else_()?;
        let next = k.binary(Op::Add, count, 1)?;
        k.set(count, next)?;
        k.end()?;
        k.end()?;
        k.store(out, [i, j], count)
    });
    let mut rng = Rng(15);
    for (rows, columns, group) in [(1, 1, [1, 1]), (5, 9, [2, 4]), (6, 300, [3, 150]), (40, 40, [32, 32])] {
        let given = [
            Given::Array(Array::new(Dtype::I32, &[rows, columns], |_| Scalar::I32(rng.below(20) as i32))),
            Given::Array(Array::random(Dtype::I32, &[rows, columns], &mut rng)),
        ];
        same(&kernel, &NdRange::in_groups(&[rows, columns], &group).partial(), &given, "any");
    }
}
