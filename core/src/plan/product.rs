//! Reductions that are products of matrices: told here once, for backends with kernels for them.

use smallvec::SmallVec;

use super::{Family, LaunchPlan, MAX_PLAN_DIMS};
use crate::dtype::Dtype;
use crate::ops::Op;
use crate::program::{Arg, Fold, Program};

/// Operands of a product, by the places that they have in [`ProductSide::steps`].
const A: usize = 0;
const B: usize = 1;
const OUT: usize = 2;

/// A dimension of a product: its extent, and elements to step along it in input 0, in input 1 and in the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProductSide {
    /// Its extent; at least 2.
    pub len: usize,
    /// Elements to step; signed.
    pub steps: [isize; 3],
}

/// The matrix products that a reduction is: over `m`, `n` and `k`, for each point of a space of further dimensions.
#[derive(Clone, PartialEq, Debug)]
pub struct MatrixProduct {
    /// What elements are multiplied and summed in. The inputs have this dtype, or are [converted](Self::converted) to it.
    pub dtype: Dtype,
    /// Whether an input has another dtype.
    pub converted: bool,
    /// What sums are stored as: [`dtype`](Self::dtype), or the 16-bit float that they are rounded to at the end, which core asks of
    /// devices with [`half_factors`](crate::backend::Capabilities::half_factors) alone.
    pub out: Dtype,
    /// Rows: of input 0 and the output.
    pub m: ProductSide,
    /// Columns: of input 1 and the output.
    pub n: ProductSide,
    /// What is summed along.
    pub k: ProductSide,
    /// The further dimensions, outermost first.
    pub batch: SmallVec<[ProductSide; MAX_PLAN_DIMS]>,
}

/// The product of a vector with a matrix that a reduction is: over `n` and `k`.
#[derive(Clone, PartialEq, Debug)]
pub struct VectorProduct {
    /// As for [`MatrixProduct`].
    pub dtype: Dtype,
    /// As for [`MatrixProduct`].
    pub converted: bool,
    /// Which input is the matrix: 0 or 1.
    pub matrix: usize,
    /// What the matrix and the output have.
    pub n: ProductSide,
    /// What is summed along.
    pub k: ProductSide,
}

impl LaunchPlan {
    /// The product of a vector with a matrix that a reduction is; `None` where it is anything else, as a sum of products that would have
    /// been stored, whose order is theirs.
    #[must_use]
    pub fn vector_product(&self) -> Option<VectorProduct> {
        let Family::Reduce { fold: Fold::Op(Op::Add), finish: None, stored: None, .. } = &self.family else {
            return None;
        };
        if self.matrices().is_some() {
            return None;
        }
        let (dtype, converted) = self.factors()?;
        let sides = self.sides();
        let &[first, second] = &sides[..] else { return None };
        let (n, k) = if first.steps[OUT] == 0 { (second, first) } else { (first, second) };
        let summed = k.steps[OUT] == 0 && k.steps[A] != 0 && k.steps[B] != 0;
        let matrix = match [n.steps[A], n.steps[B]] {
            [_, 0] => A,
            [0, _] => B,
            _ => return None,
        };
        (summed && n.steps[OUT] != 0 && n.steps[matrix] != 0).then_some(VectorProduct {
            dtype,
            converted,
            matrix,
            n,
            k,
        })
    }

    /// The matrix products that a reduction is; `None` where it is anything else, or has but one row or column.
    ///
    /// A matrix product arrives as a reduction: the products of two inputs over dimensions `(…, m, n, k)`, of which the
    /// first input does not move along `n` nor the second along `m`, summed along `k`.
    #[must_use]
    pub fn product(&self) -> Option<MatrixProduct> {
        let Family::Reduce { fold: Fold::Op(Op::Add), finish, .. } = &self.family else { return None };
        if self.dims.len() < 3 {
            return None;
        }
        let (dtype, converted) = self.factors()?;
        let out = match finish {
            None => dtype,
            Some(finish) => rounded(finish)?,
        };
        if let Some([m, n, k]) = self.matrices() {
            return Some(MatrixProduct { dtype, converted, out, m, n, k, batch: SmallVec::new() });
        }
        let mut sides = self.sides();
        // The longest dimension of each kind is a side of the matrices; what is left are matrices to do one by one.
        let mut take = |kind: &dyn Fn([isize; 3]) -> bool, only: bool| {
            let of_kind = || (0..sides.len()).filter(|&d| kind(sides[d].steps));
            let d = of_kind().max_by_key(|&d| sides[d].len)?;
            let several = of_kind().count() > 1;
            (!(only && several)).then(|| sides.remove(d))
        };
        let k = take(&is_summed, true)?;
        let m = take(&is_row, false)?;
        let n = take(&is_column, false)?;
        // Another dimension that is folded, of either operand alone.
        let folded = sides.iter().any(|side| side.steps[OUT] == 0);
        (!folded).then_some(MatrixProduct { dtype, converted, out, m, n, k, batch: sides })
    }

    /// What both inputs are multiplied in, and whether either is converted for it, where the program does nothing else.
    fn factors(&self) -> Option<(Dtype, bool)> {
        let program = &*self.program;
        let (&[Arg::Step(last)], [_, _], steps) = (program.outputs(), &self.inputs[..], program.steps())
        else {
            return None;
        };
        let input = |arg: &Arg| match *arg {
            Arg::Input(input) if !program.is_index(input.into()) => Some(usize::from(input)),
            Arg::Step(step) if steps[usize::from(step)].op == Op::Cast => {
                match steps[usize::from(step)].operands() {
                    &[Arg::Input(input)] if !program.is_index(input.into()) => Some(usize::from(input)),
                    _ => None,
                }
            }
            _ => None,
        };
        let [first, second] = steps[usize::from(last)].operands() else { return None };
        let both = matches!((input(first)?, input(second)?), (0, 1) | (1, 0));
        let dtype = steps[usize::from(last)].dtype;
        // Their sums are rounded at each step.
        let fits = !matches!(dtype, Dtype::Bool | Dtype::F16 | Dtype::Bf16);
        (steps[usize::from(last)].op == Op::Multiply && both && fits)
            .then(|| (dtype, program.inputs().iter().any(|&input| input != dtype)))
    }

    /// Rows, columns and what is summed along, where there is one dimension of each kind and no other: such merge with nothing.
    fn matrices(&self) -> Option<[ProductSide; 3]> {
        let [m, n, k] = self.dims[..] else { return None };
        let [a, b] = &self.inputs[..] else { return None };
        let out = &self.outputs[0];
        let side =
            |d: usize, len: usize| ProductSide { len, steps: [a.strides[d], b.strides[d], out.strides[d]] };
        let sides = [side(0, m), side(1, n), side(2, k)];
        let [m, n, k] = sides.map(|side| side.steps);
        let plain = is_row(m) && is_column(n) && is_summed(k) && self.dims.iter().all(|&len| len > 1);
        plain.then_some(sides)
    }

    /// The dimensions that are not of extent 1, in the order in which the first input has them in memory, and merged: several
    /// summed dimensions are one where they lie so in both operands, whatever the order of the plan.
    fn sides(&self) -> SmallVec<[ProductSide; MAX_PLAN_DIMS]> {
        let strides =
            [&self.inputs[A], &self.inputs[B], &self.outputs[0]].map(|operand| &operand.strides[..]);
        let mut all: SmallVec<[ProductSide; MAX_PLAN_DIMS]> = SmallVec::new();
        for (d, &len) in self.dims.iter().enumerate() {
            if len != 1 {
                all.push(ProductSide { len, steps: strides.map(|strides| strides[d]) });
            }
        }
        all.sort_by_key(|side| std::cmp::Reverse(side.steps[A].unsigned_abs()));
        for d in (1..all.len()).rev() {
            let (outer, inner) = (all[d - 1], all[d]);
            let extent = inner.len.cast_signed();
            if (0..3).all(|x| inner.steps[x].checked_mul(extent) == Some(outer.steps[x])) {
                all[d - 1] = ProductSide { len: outer.len * inner.len, steps: inner.steps };
                all.remove(d);
            }
        }
        all
    }
}

/// Whether a dimension, by what its operands step along it, is of the first input and the output.
fn is_row([a, b, out]: [isize; 3]) -> bool {
    out != 0 && a != 0 && b == 0
}

/// Whether it is of the second input and the output.
fn is_column([a, b, out]: [isize; 3]) -> bool {
    out != 0 && a == 0 && b != 0
}

/// Whether it is of both inputs, and summed along.
fn is_summed([a, b, out]: [isize; 3]) -> bool {
    out == 0 && a != 0 && b != 0
}

/// The 16-bit float that a finish converts each sum to; `None` where it does anything else.
fn rounded(finish: &Program) -> Option<Dtype> {
    let (&[Arg::Step(0)], [step]) = (finish.outputs(), finish.steps()) else { return None };
    let converts = step.op == Op::Cast && matches!(step.operands(), &[Arg::Input(0)]);
    (converts && matches!(step.out, Dtype::F16 | Dtype::Bf16)).then_some(step.out)
}
