//! Random kernels whose branches compare what follows the ids with bounds.

use stridewise_core::kernel::{
    AtomicOp, Coordinate::*, KernelBuilder, Level::*, MemoryOrder, MemoryScope, Operand,
};
use stridewise_core::kernel::{Object, Value, Variable};
use stridewise_core::{Op, Result};

use super::kernels::build;
use super::*;
use crate::kernels::tests::cases;

const RELATIONS: [Op; 6] = [Op::Less, Op::LessEqual, Op::Greater, Op::GreaterEqual, Op::Equal, Op::NotEqual];

/// What blocks are made of.
struct Made<'a> {
    rng: &'a mut Rng,
    ids: Vec<Value>,
    bounds: Vec<Operand>,
    index: Vec<Value>,
    x: Object,
    tile: Object,
    bins: Object,
    sum: Variable,
}

impl Made<'_> {
    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.below(of.len())]
    }

    fn comparison(&mut self, k: &mut KernelBuilder) -> Result<Value> {
        let (ids, bounds) = (self.ids.clone(), self.bounds.clone());
        let (mut of, bound, op) = (self.one(&ids), self.one(&bounds), self.one(&RELATIONS));
        if self.rng.below(3) == 0 {
            let factor = self.one(&[-1_i64, 2, 3]);
            of = k.binary(Op::Multiply, of, factor)?;
        }
        if self.rng.below(3) == 0 { k.binary(op, bound, of) } else { k.binary(op, of, bound) }
    }

    fn condition(&mut self, k: &mut KernelBuilder) -> Result<Value> {
        let mut condition = self.comparison(k)?;
        while self.rng.below(3) == 0 {
            let other = match self.rng.below(4) {
                0 => k.binary(Op::Less, self.bounds[0], 20_i64)?,
                _ => self.comparison(k)?,
            };
            let op = if self.rng.below(5) == 0 { Op::LogicalOr } else { Op::LogicalAnd };
            condition = k.binary(op, condition, other)?;
        }
        Ok(condition)
    }

    fn block(&mut self, k: &mut KernelBuilder, depth: usize) -> Result<()> {
        for _ in 0..1 + self.rng.below(3) {
            let (index, ids) = (self.index.clone(), self.ids.clone());
            match self.rng.below(if depth < 3 { 8 } else { 4 }) {
                0 => {
                    // Nobody else writes the own element.
                    let object = self.one(&[self.x, self.tile]);
                    let value = k.load(object, index)?;
                    let next = k.binary(Op::Add, self.sum, value)?;
                    k.set(self.sum, next)?;
                }
                1 => {
                    let next = k.binary(Op::Multiply, self.sum, 3)?;
                    k.store(self.tile, index, next)?;
                }
                2 => {
                    let (at, bin) = (self.one(&ids), k.get(self.sum)?);
                    let order = (MemoryOrder::Relaxed, MemoryScope::Device);
                    let bin = k.cast(bin, Dtype::I64)?;
                    let bin = if self.rng.below(2) == 0 { at } else { k.binary(Op::BitwiseAnd, bin, 7_i64)? };
                    k.atomic(AtomicOp::Add, self.bins, [bin], Some(self.sum.into()), order)?;
                }
                3 => {
                    let rounds = self.one(&[0_i64, 1, 5]);
                    let round = k.for_(0_i64, rounds, 1_i64)?;
                    let mut index = index;
                    let last = index.len() - 1;
                    index[last] = k.binary(Op::Add, index[last], round)?;
                    let value = k.load(self.x, index)?;
                    let next = k.binary(Op::Add, self.sum, value)?;
                    k.set(self.sum, next)?;
                    k.end()?;
                }
                _ => {
                    let condition = self.condition(k)?;
                    k.if_(condition)?;
                    self.block(k, depth + 1)?;
                    if self.rng.below(2) == 0 {
                        k.else_()?;
                        self.block(k, depth + 1)?;
                    }
                    if self.rng.below(12) == 0 {
                        k.return_(None)?;
                    }
                    k.end()?;
                }
            }
        }
        Ok(())
    }
}

fn guarded(rng: &mut Rng, dims: usize) -> Kernel {
    build("guarded", dims, |k| {
        let x = k.global("x", Dtype::I32, dims, false)?;
        let (out, counts) =
            (k.global("out", Dtype::I32, dims, true)?, k.global("counts", Dtype::I32, 1, true)?);
        let bound = k.scalar("bound", Dtype::I64)?;
        let small = k.scalar("small", Dtype::I32)?;
        let shape = if dims == 1 { vec![256] } else { vec![16, 40] };
        let tile = match rng.below(2) {
            0 => k.local("tile", Dtype::I32, &shape)?,
            _ => out,
        };
        let bins = k.local("bins", Dtype::I32, &[8])?;
        let bins = if rng.below(2) == 0 { bins } else { counts };
        let (mut ids, mut index) = (Vec::new(), Vec::new());
        for axis in 0..dims as u8 {
            let (global, local) = (k.index(Global, Id(axis))?, k.index(Local, Id(axis))?);
            index.push(if tile == out { global } else { local });
            ids.extend([global, local]);
        }
        let sum = k.variable("sum", Dtype::I32)?;
        k.set(sum, small)?;
        k.store(tile, index.clone(), sum)?;
        let bounds = vec![bound.into(), bound.into(), Scalar::I64(7).into(), Scalar::I64(30).into()];
        let mut made = Made { rng, ids: ids.clone(), bounds, index, x, tile, bins, sum };
        made.block(k, 0)?;
        made.block(k, 0)?;
        let global: Vec<Value> = ids.iter().copied().step_by(2).collect();
        k.store(out, global, sum)
    })
}

#[test]
fn branches_by_comparisons_of_ids() {
    // Each one with several index spaces.
    for seed in cases(80) {
        let mut rng = Rng(seed * 77 + 5);
        let dims = 1 + rng.below(2);
        let kernel = guarded(&mut rng, dims);
        for _ in 0..3 {
            let (len, group) = match dims {
                1 => (vec![1 + rng.below(700)], vec![[1, 8, 40, 64, 129, 256][rng.below(6)]]),
                _ => (
                    vec![1 + rng.below(40), 1 + rng.below(40)],
                    [vec![16, 16], vec![8, 8], vec![4, 24], vec![1, 40], vec![3, 5]][rng.below(5)].clone(),
                ),
            };
            let bound = [-3, 0, 1, 5, 17, 33, 64, 100, 128, 300, i64::MAX][rng.below(11)];
            let shape: Vec<usize> =
                len.iter().map(|extent| extent.div_ceil(2) + rng.below(extent + 1)).collect();
            let given = [
                Given::Array(Array::random(Dtype::I32, &shape, &mut rng)),
                Given::Array(Array::random(Dtype::I32, &len, &mut rng)),
                Given::Array(Array::random(Dtype::I32, &[8], &mut rng)),
                Given::Scalar(Scalar::I64(bound)),
                Given::Scalar(Scalar::I32(rng.below(100) as i32)),
            ];
            let what = format!("seed {seed}, {len:?} items in {group:?}, x of {shape:?}, bound {bound}");
            same(&kernel, &NdRange::in_groups(&len, &group).partial(), &given, &what);
        }
    }
}
