//! Running folds along an axis, and their reverse, the differences of neighbours.

use std::borrow::Cow;
use std::sync::Arc;

use smallvec::SmallVec;

use super::concat::concat;
use super::{ArrayOrScalar, UsmArray, elementwise};
use crate::dtype::{Dtype, DtypeKind};
use crate::error::{Error, Result};
use crate::layout::{Dims, SliceItem, normalize_axis};
use crate::lazy::{Pass, Walk, handing_on};
use crate::ops::Op;
use crate::plan::Family;
use crate::program::Program;
use crate::scalar::Scalar;

/// A running fold of the array API, or of dpctl.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Scan {
    /// Sums; of small integers and `bool` in the default integer of their sign.
    Sum,
    /// Products; dtypes as for sums.
    Prod,
    /// `ln Σ eˣ` without overflow on the way; of integers in the default floating dtype.
    Logsumexp,
}

impl Scan {
    /// The array API's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "cumulative_sum",
            Self::Prod => "cumulative_prod",
            Self::Logsumexp => "cumulative_logsumexp",
        }
    }

    const fn fold(self) -> Op {
        match self {
            Self::Sum => Op::Add,
            Self::Prod => Op::Multiply,
            Self::Logsumexp => Op::Logaddexp,
        }
    }

    /// The fold of no elements.
    fn of_nothing(self, dtype: Dtype) -> Scalar {
        let value = match self {
            Self::Sum => 0.0,
            Self::Prod => 1.0,
            Self::Logsumexp => f64::NEG_INFINITY,
        };
        Scalar::F64(value).cast(dtype)
    }
}

impl UsmArray {
    /// Folds along an axis; element `i` of the result is the fold of elements 0 to `i`. The axis may be left out where
    /// there is only one. Elements are first converted to `dtype`, by default the one that a sum has. With
    /// `include_initial` the result is longer by one and begins with the fold of no elements.
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range, or none named of more than one or no dimension; [`Error::Dtype`] where
    /// the fold or the device does not take the dtype.
    pub fn cumulative(
        &self,
        scan: Scan,
        axis: Option<isize>,
        dtype: Option<Dtype>,
        include_initial: bool,
    ) -> Result<Self> {
        let axis = match axis {
            Some(axis) => normalize_axis("axis", axis, self.ndim())?,
            None if self.ndim() == 1 => 0,
            None => {
                return Err(Error::axis(
                    "axis",
                    format!("left out for shape {:?}", self.shape()),
                    "an axis, or an array of one dimension",
                    "name the axis to go along, or reshape to one dimension first",
                ));
            }
        };
        let dtype = self.scan_dtype(scan, dtype)?;
        let mut shape = Dims::from_slice(self.shape());
        shape[axis] += usize::from(include_initial);
        let out = Self::empty_in(self.result_order(), &self.queue, &shape, dtype, self.usm_kind())?;
        let part = |range: SliceItem| {
            let mut items: SmallVec<[SliceItem; 4]> = SmallVec::from_elem((..).into(), axis);
            items.push(range);
            out.slice(&items)
        };
        let mut folded = Cow::Borrowed(&out);
        if include_initial {
            part((..1).into())?.assign(scan.of_nothing(dtype))?;
            folded = Cow::Owned(part((1..).into())?);
        }
        let (input, output) = (self.with_last(axis)?, folded.with_last(axis)?);
        let pass = Pass {
            program: match dtype == self.dtype {
                true => handing_on(dtype, None),
                false => Arc::new(Program::convert(self.dtype, dtype)),
            },
            family: Family::Scan { fold: scan.fold() },
            dims: Dims::from_slice(input.shape()),
            inputs: smallvec::smallvec![Walk::along(&input)],
            output: Walk::along(&output),
        };
        pass.submit(&self.queue, &[])?;
        drop(output);
        drop(folded);
        Ok(out)
    }

    /// The dtype that a fold accumulates in.
    fn scan_dtype(&self, scan: Scan, named: Option<Dtype>) -> Result<Dtype> {
        let support = self.device().dtype_support();
        let dtype = match (named, scan, self.dtype.kind()) {
            (Some(dtype), ..) => dtype,
            (None, Scan::Logsumexp, kind) if !kind.is_inexact() => support.default_float(),
            (None, _, DtypeKind::Bool | DtypeKind::Signed) => support.default_int(),
            (None, _, DtypeKind::Unsigned) => Dtype::U64,
            (None, ..) => self.dtype,
        };
        if !scan.fold().allows(dtype) {
            return Err(Error::dtype(
                "dtype",
                format!("{dtype} for `{}`", scan.name()),
                if scan == Scan::Logsumexp { "a real floating-point dtype" } else { "a dtype of numbers" },
                "name another dtype, or convert the elements first",
            ));
        }
        if !support.supports(dtype) {
            return Err(Error::dtype(
                "dtype",
                dtype,
                format!("a dtype that {} computes in", self.device()),
                format!("use {}, or another device", support.downgrade(dtype)),
            ));
        }
        Ok(dtype)
    }

    /// The differences of neighbours along an axis, `n` times over; each time there is one element less. Of `bool`s,
    /// whether neighbours differ. `prepend` and `append` are joined to the array first; they have its shape but for the
    /// axis, or are broadcast to extent 1 of it; with `n` = 0 they are left out, as NumPy has it.
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range; as for [`concat`](crate::concat) and [`elementwise`](crate::elementwise).
    pub fn diff(&self, axis: isize, n: usize, prepend: Option<&Self>, append: Option<&Self>) -> Result<Self> {
        let axis = normalize_axis("axis", axis, self.ndim())?;
        if n == 0 {
            // As NumPy has it, what would be before and behind is of differences alone.
            return Ok(self.clone());
        }
        let mut shape = Dims::from_slice(self.shape());
        shape[axis] = 1;
        let fitted = |edge: Option<&Self>| {
            edge.map(
                |edge| if edge.ndim() < self.ndim() { edge.broadcast_to(&shape) } else { Ok(edge.clone()) },
            )
            .transpose()
        };
        let (before, after) = (fitted(prepend)?, fitted(append)?);
        let joined: Vec<&Self> = before.iter().chain([self]).chain(&after).collect();
        let mut array =
            if joined.len() > 1 { concat(&joined, Some(axis.cast_signed()))? } else { self.clone() };
        let op = if array.dtype == Dtype::Bool { Op::NotEqual } else { Op::Subtract };
        let mut items: SmallVec<[SliceItem; 4]> = SmallVec::from_elem((..).into(), axis + 1);
        for _ in 0..n.min(array.shape()[axis]) {
            items[axis] = (1..).into();
            let upper = array.slice(&items)?;
            items[axis] = (..-1).into();
            let lower = array.slice(&items)?;
            array = elementwise(op, &[ArrayOrScalar::Array(&upper), ArrayOrScalar::Array(&lower)])?;
        }
        Ok(array)
    }
}
