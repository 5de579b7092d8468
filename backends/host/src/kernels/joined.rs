//! Steps that are done in one pass: a product, and the sum or difference that alone needs it.
//!
//! The product is rounded before it is added, as it is by a step of its own, but it does not go through a tile: of the
//! six loads and stores of both steps, four remain.

use smallvec::SmallVec;
use stridewise_core::ops::{Float, NumOp, define};
use stridewise_core::{Arg, Dtype, MAX_STEPS, Op, Program, Step};

use super::entry::wide_entry;
use super::map::{LaneFn, LaneMaps};
use super::step::{Resolved, resolve};
use crate::simd::Isa;

/// What is done with the product of the first two operands and the third one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Join {
    /// `x·y + z`.
    Add,
    /// `x·y - z`.
    Subtract,
    /// `z - x·y`.
    SubtractFrom,
}

struct MultiplyAdd;
impl LaneFn<3> for MultiplyAdd {
    #[inline(always)]
    fn f<V: Float>([x, y, z]: [V; 3]) -> V {
        define::Add::f([define::Multiply::f([x, y]), z])
    }
}

struct MultiplySubtract;
impl LaneFn<3> for MultiplySubtract {
    #[inline(always)]
    fn f<V: Float>([x, y, z]: [V; 3]) -> V {
        define::Subtract::f([define::Multiply::f([x, y]), z])
    }
}

struct SubtractMultiplied;
impl LaneFn<3> for SubtractMultiplied {
    #[inline(always)]
    fn f<V: Float>([x, y, z]: [V; 3]) -> V {
        define::Subtract::f([z, define::Multiply::f([x, y])])
    }
}

/// A step of a program as it is done.
#[derive(Clone)]
pub(super) struct Doing<'a> {
    step: &'a Step,
    join: Option<Join>,
    args: SmallVec<[Arg; 3]>,
    /// Whether the step that needs its result does it.
    pub(super) joined: bool,
    /// Whether all operands are one element for all, so that one is the result for the whole tile.
    pub(super) once: bool,
}

impl Doing<'_> {
    /// What is read.
    pub(super) fn operands(&self) -> &[Arg] {
        if self.joined { &[] } else { &self.args }
    }

    /// The operand that is handed on as it is, where nothing is computed.
    pub(super) fn copied(&self) -> Option<Arg> {
        let copies = self.join.is_none() && self.step.op == Op::Copy;
        self.operands().first().copied().filter(|_| copies)
    }

    /// Bytes of a result.
    pub(super) fn size(&self) -> usize {
        self.step.out.size()
    }

    /// The function.
    pub(super) fn resolve(&self, isa: Isa) -> Option<Resolved> {
        let Step { op, dtype, out, .. } = *self.step;
        let run = match self.join {
            None => return resolve(op, dtype, out, isa),
            Some(Join::Add) => wide_entry::<LaneMaps<MultiplyAdd, 3>>(isa, dtype),
            Some(Join::Subtract) => wide_entry::<LaneMaps<MultiplySubtract, 3>>(isa, dtype),
            Some(Join::SubtractFrom) => wide_entry::<LaneMaps<SubtractMultiplied, 3>>(isa, dtype),
        };
        Some(Resolved { run: run?, lanes: true })
    }
}

/// The steps of a program, of which the first `computed` are done one after another. `uniform`: whether an input is one
/// element for all.
pub(super) fn doings<'a>(
    program: &'a Program,
    computed: usize,
    uniform: impl Fn(usize) -> bool,
) -> SmallVec<[Doing<'a>; 6]> {
    let steps = program.steps();
    let mut uses = [0_u8; MAX_STEPS];
    let args = steps.iter().flat_map(Step::operands).chain(program.outputs());
    for arg in args {
        if let Arg::Step(s) = *arg {
            uses[usize::from(s)] = uses[usize::from(s)].saturating_add(1);
        }
    }
    let mut doings: SmallVec<[Doing<'a>; 6]> = SmallVec::new();
    for (s, step) in steps.iter().enumerate() {
        let is_same = |arg: &Arg| match *arg {
            Arg::Input(i) => uniform(usize::from(i)),
            Arg::Const(_) => true,
            Arg::Step(s) => doings[usize::from(s)].once,
        };
        let product = |arg: &Arg| -> Option<(usize, [Arg; 2])> {
            let &Arg::Step(p) = arg else { return None };
            let p = usize::from(p);
            let alone = uses[p] == 1 && !doings[p].once && steps[p].dtype == step.dtype;
            match (steps[p].op, steps[p].operands()) {
                (Op::Multiply, &[x, y]) if alone && is_same(&x) => Some((p, [y, x])),
                (Op::Multiply, &[x, y]) if alone => Some((p, [x, y])),
                (Op::Square, &[x]) if alone => Some((p, [x, x])),
                _ => None,
            }
        };
        let takes = s < computed && matches!(step.dtype, Dtype::F32 | Dtype::F64);
        let found = match (step.op, step.operands()) {
            (Op::Add | Op::Subtract, [first, second]) if takes => match (product(first), product(second)) {
                (Some(product), _) => {
                    Some((if step.op == Op::Add { Join::Add } else { Join::Subtract }, product, *second))
                }
                (None, Some(product)) => {
                    Some((if step.op == Op::Add { Join::Add } else { Join::SubtractFrom }, product, *first))
                }
                (None, None) => None,
            },
            _ => None,
        };
        let once = step.operands().iter().all(is_same);
        let mut doing = Doing { step, join: None, args: step.operands().into(), joined: false, once };
        if let Some((join, (p, [x, y]), z)) = found {
            doings[p].joined = true;
            doing.join = Some(join);
            doing.args = SmallVec::from_buf([x, y, z]);
        }
        doings.push(doing);
    }
    doings
}
