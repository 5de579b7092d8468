//! Reductions over all axes, one or several.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{UsmArray, elementwise};
use crate::dtype::{Dtype, DtypeKind, Element};
use crate::error::{Error, Result};
use crate::layout::{Dims, Layout, Order, all_axes, normalize_axes_into};
use crate::lazy::immediate;
use crate::lazy::{self, Elements, Folding};
use crate::memory::allocation::Allocation;
use crate::ops::{Op, apply};
use crate::plan::MAX_PLAN_DIMS;
use crate::program::{Fold, Program, ProgramBuilder};
use crate::promotion::DtypeSupport;
use crate::scalar::Scalar;

/// A reduction of the array API.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Reduction {
    /// Sum; of small integers and `bool` in the default integer of their sign.
    Sum,
    /// Product; dtypes as for the sum.
    Prod,
    /// Smallest element; NaN if there is one.
    Min,
    /// Largest element; NaN if there is one.
    Max,
    /// Index of the first smallest element, in row-major order; of the first NaN if there is one. At most one axis.
    ArgMin,
    /// Index of the first largest element, in row-major order; of the first NaN if there is one. At most one axis.
    ArgMax,
    /// Arithmetic mean; of integers in the default floating dtype.
    Mean,
    /// Whether any element is not zero.
    Any,
    /// Whether all elements are not zero.
    All,
}

impl Reduction {
    /// The array API's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Prod => "prod",
            Self::Min => "min",
            Self::Max => "max",
            Self::ArgMin => "argmin",
            Self::ArgMax => "argmax",
            Self::Mean => "mean",
            Self::Any => "any",
            Self::All => "all",
        }
    }

    pub(super) const fn fold(self) -> Fold {
        match self {
            Self::Sum | Self::Mean => Fold::Op(Op::Add),
            Self::Prod => Fold::Op(Op::Multiply),
            Self::Min | Self::All => Fold::Op(Op::Minimum),
            Self::Max | Self::Any => Fold::Op(Op::Maximum),
            Self::ArgMin => Fold::ArgMin,
            Self::ArgMax => Fold::ArgMax,
        }
    }

    /// The dtype of the result, of elements of a dtype that are accumulated in another.
    fn result(self, source: Dtype, accumulator: Dtype) -> Dtype {
        match self {
            Self::Mean if source.kind().is_inexact() => source,
            _ => self.fold().result(accumulator),
        }
    }

    /// Whether the reduction of no elements has no value.
    const fn needs_elements(self) -> bool {
        matches!(self, Self::Min | Self::Max | Self::ArgMin | Self::ArgMax)
    }

    /// The dtype that elements are accumulated in.
    pub(super) fn accumulator(self, dtype: Dtype, support: DtypeSupport) -> Result<Dtype> {
        let complex = dtype.kind() == DtypeKind::Complex;
        match self {
            Self::Sum | Self::Prod => Ok(match dtype.kind() {
                DtypeKind::Bool | DtypeKind::Signed => support.default_int(),
                DtypeKind::Unsigned => Dtype::U64,
                _ => dtype,
            }),
            Self::Mean if !dtype.kind().is_inexact() => Ok(support.default_float()),
            // The sum, and the number of terms, may be beyond the range of the mean.
            Self::Mean if matches!(dtype, Dtype::F16 | Dtype::Bf16) => Ok(Dtype::F32),
            Self::Mean => Ok(dtype),
            Self::Any | Self::All => Ok(Dtype::Bool),
            Self::Min | Self::Max | Self::ArgMin | Self::ArgMax if complex => Err(Error::dtype(
                "x",
                format!("{dtype} for `{}`", self.name()),
                "a dtype with an order",
                "reduce the real part, the imaginary part or the magnitude",
            )),
            Self::Min | Self::Max | Self::ArgMin | Self::ArgMax => Ok(dtype),
        }
    }
}

/// The number of terms of a mean, which is exact in a double up to 2⁵³.
fn terms(count: usize, accumulator: Dtype) -> Scalar {
    Scalar::F64(count as f64).cast(accumulator)
}

impl UsmArray {
    /// Reduces over axes (`None`: all). With `keepdims` the reduced axes stay, with extent 1. A result of elementwise
    /// work that is only recorded is computed in the same pass.
    ///
    /// The reduction of an array in memory of 1 MiB or more is recorded, as elementwise work is, until its result is needed,
    /// another such array is reduced or the queue flushed: several of one array over the same axes are submitted together, and
    /// the host reads the array once for all of them. What fails then fails for whoever needs the result.
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range or named twice, [`Error::Dtype`] where the dtype has no order,
    /// [`Error::Value`] for the smallest or largest of no elements, or an index over several axes.
    pub fn reduce(&self, reduction: Reduction, axes: Option<&[isize]>, keepdims: bool) -> Result<Self> {
        self.reduce_as(reduction, axes, keepdims, None)
    }

    /// Reduces with the elements converted to a dtype first. In `bool`, the sum is whether any element is other than zero, and
    /// the product whether all are.
    ///
    /// # Errors
    /// As for [`reduce`](Self::reduce); [`Error::Dtype`] where the reduction or the device does not take the dtype.
    pub fn reduce_as(
        &self,
        reduction: Reduction,
        axes: Option<&[isize]>,
        keepdims: bool,
        dtype: Option<Dtype>,
    ) -> Result<Self> {
        // Truth values are added by "or" and multiplied by "and".
        let reduction = match (reduction, dtype) {
            (Reduction::Sum, Some(Dtype::Bool)) => Reduction::Any,
            (Reduction::Prod, Some(Dtype::Bool)) => Reduction::All,
            _ => reduction,
        };
        let mut room = Dims::new();
        let axes = self.reduced_axes(axes, &mut room)?;
        let count = self.count(axes);
        let indexed = reduction.fold().is_index();
        if indexed && axes.len() > 1 && axes.len() != self.ndim() {
            return Err(Error::value(
                "axis",
                format!("{axes:?} for `{}`", reduction.name()),
                "one axis, or all of them",
                "an index over several axes has no single meaning: permute and reshape them into one",
            ));
        }
        let shape = || self.reduced_shape(axes, false);
        if count == 0 && reduction.needs_elements() && !shape().contains(&0) {
            return Err(Error::value(
                "x",
                format!("of shape {:?}", self.shape()),
                format!("at least one element to take `{}` of", reduction.name()),
                "check for size 0 first",
            ));
        }
        let support = self.device().dtype_support();
        let source = dtype.unwrap_or(self.dtype);
        let accumulator = match (dtype, reduction) {
            (Some(dtype), Reduction::Sum | Reduction::Prod) => dtype,
            _ => reduction.accumulator(source, support)?,
        };
        let fold = reduction.fold();
        let out = reduction.result(source, accumulator);
        if let Some(missing) = [accumulator, out].into_iter().find(|&dtype| !support.supports(dtype)) {
            return Err(Error::dtype(
                "dtype",
                missing,
                format!("a dtype that {} computes in", self.device()),
                format!("use {}, or another device", support.downgrade(missing)),
            ));
        }
        // A reduction over no axes is the elements themselves.
        if axes.is_empty() && indexed {
            return Self::zeros(&self.queue, &shape(), Dtype::I64, self.usm_kind());
        } else if axes.is_empty() {
            let copy = self.astype(out)?;
            return if out == self.dtype { copy.copy() } else { Ok(copy) };
        }
        if reduction != Reduction::Mean {
            return self.fold(accumulator, fold, None, axes, keepdims);
        }
        let terms = terms(count, accumulator);
        match immediate::fold(self, accumulator, fold, None, axes, false)? {
            // To make a program for the division of a few sums would take longer than that.
            Some(memory) => {
                let sum = self.folded(memory, accumulator, axes, keepdims);
                elementwise(Op::Divide, &[(&sum).into(), terms.into()])?.astype(out)
            }
            None => self.record_fold(accumulator, fold, Some(division(terms, out)?), axes, keepdims),
        }
    }

    /// The value of a reduction of all elements.
    ///
    /// # Errors
    /// As for [`reduce`](Self::reduce); the failure of the work.
    pub(super) fn reduce_all(&self, reduction: Reduction) -> Result<Scalar> {
        match self.reduce_all_at_once(reduction) {
            Some(value) => Ok(value),
            None => self.reduce(reduction, None, false)?.item(),
        }
    }

    /// The smallest or largest element, converted to a dtype first.
    ///
    /// # Errors
    /// As for [`reduce_as`](Self::reduce_as).
    pub(super) fn extreme(&self, reduction: Reduction, dtype: Dtype) -> Result<Scalar> {
        let at_once = if self.ndim() > 0 { immediate::fold_all(self, dtype, reduction.fold()) } else { None };
        match at_once {
            Some(value) => Ok(value),
            None => self.reduce_as(reduction, None, false, Some(dtype))?.item(),
        }
    }

    /// [`reduce_all`](Self::reduce_all) of a few elements, on the calling thread, without an array for the result; `None` where
    /// something stands against that.
    pub(super) fn reduce_all_at_once(&self, reduction: Reduction) -> Option<Scalar> {
        let (accumulator, out) = self.folded_at_once(reduction)?;
        let value = immediate::fold_all(self, accumulator, reduction.fold())?;
        match reduction {
            Reduction::Mean => Some(apply(Op::Divide, &[value, terms(self.len(), accumulator)])?.cast(out)),
            _ => Some(value),
        }
    }

    /// [`reduce_all_at_once`](Self::reduce_all_at_once), of the result's own type.
    pub(super) fn reduce_all_as<T: Element>(&self, reduction: Reduction) -> Option<T> {
        let (accumulator, out) = self.folded_at_once(reduction)?;
        let mean = reduction == Reduction::Mean;
        // What is folded may be other bytes than those of a `bool`; sums of these two are divided below.
        let takes = out != Dtype::Bool && (!mean || matches!(accumulator, Dtype::F32 | Dtype::F64));
        if out != T::DTYPE || !takes || (mean && accumulator != out) {
            return None;
        }
        let value = immediate::fold_all_as::<T>(self, accumulator, reduction.fold())?;
        if !mean {
            return Some(value);
        }
        match (value.to_scalar(), terms(self.len(), accumulator)) {
            (Scalar::F32(sum), Scalar::F32(terms)) => Scalar::F32(sum / terms).get(),
            (Scalar::F64(sum), Scalar::F64(terms)) => Scalar::F64(sum / terms).get(),
            _ => None,
        }
    }

    /// The dtypes that a reduction of all elements accumulates in and comes to, where it may be computed at once.
    fn folded_at_once(&self, reduction: Reduction) -> Option<(Dtype, Dtype)> {
        let support = self.device().dtype_support();
        let accumulator = reduction.accumulator(self.dtype, support).ok()?;
        let out = reduction.result(self.dtype, accumulator);
        // A reduction over no axes is the element itself.
        let folds = self.ndim() != 0 && support.supports(accumulator) && support.supports(out);
        folds.then_some((accumulator, out))
    }

    /// The axes named, which `room` then has, or all.
    #[inline(always)]
    pub(super) fn reduced_axes<'a>(&self, axes: Option<&[isize]>, room: &'a mut Dims) -> Result<&'a [usize]> {
        let Some(axes) = axes else { return Ok(all_axes(self.ndim())) };
        normalize_axes_into(room, "axis", axes, self.ndim())?;
        Ok(room)
    }

    /// Folds the elements, converted to the accumulator's dtype, over axes; `finish` is applied to each result.
    pub(super) fn fold(
        &self,
        accumulator: Dtype,
        fold: Fold,
        finish: Option<Program>,
        axes: &[usize],
        keepdims: bool,
    ) -> Result<Self> {
        match immediate::fold(self, accumulator, fold, finish.as_ref(), axes, false)? {
            Some(memory) => {
                Ok(self.folded(memory, fold.finished(accumulator, finish.as_ref()), axes, keepdims))
            }
            None => self.record_fold(accumulator, fold, finish, axes, keepdims),
        }
    }

    /// [`fold`](Self::fold) by a submission.
    fn record_fold(
        &self,
        accumulator: Dtype,
        fold: Fold,
        finish: Option<Program>,
        axes: &[usize],
        keepdims: bool,
    ) -> Result<Self> {
        let kept = |axis: &usize| !axes.contains(axis);
        // More folded dimensions than a plan has, unless they merge: they do in a copy that has them last.
        let last = axes.iter().all(|&axis| axis + axes.len() >= self.ndim());
        if axes.len() > MAX_PLAN_DIMS && !(last && self.flags().c_contiguous && !self.is_pending()) {
            let order: Dims =
                (0..self.ndim()).filter(kept).chain((0..self.ndim()).filter(|a| !kept(a))).collect();
            let order: SmallVec<[isize; 4]> = order.iter().map(|a| a.cast_signed()).collect();
            let moved = self.permute_dims(&order)?.copy_in(Order::C)?;
            let trailing: Dims = (self.ndim() - axes.len()..self.ndim()).collect();
            let result = moved.fold(accumulator, fold, finish, &trailing, false)?;
            let named: SmallVec<[isize; 4]> = axes.iter().map(|a| a.cast_signed()).collect();
            return if keepdims { result.expand_dims(&named) } else { Ok(result) };
        }
        let layout = self.folded_layout(axes, keepdims);
        let mut axes = Dims::from(axes);
        // The same axes, in whatever order they are named.
        axes.sort_unstable();
        let folding = Folding { fold, axes, finish: finish.map(Arc::new) };
        let out = folding.result(accumulator);
        let recorded = self.as_expression(accumulator)?;
        let elements = lazy::fold(&self.queue, self.usm_kind(), recorded, folding)?;
        Ok(Self::of(elements, layout, out, self.queue.clone()))
    }

    /// The array of what a fold over axes came to. Made where it is returned.
    #[inline(always)]
    fn folded(&self, memory: Arc<Allocation>, dtype: Dtype, axes: &[usize], keepdims: bool) -> Self {
        let layout = self.folded_layout(axes, keepdims);
        memory.describe_if_watched(dtype, layout.shape());
        let (elements, queue) = (Elements::Memory(memory.into()), self.queue.clone());
        Self { elements, layout, dtype, queue, writable: true }
    }

    /// Number of elements along axes.
    pub(super) fn count(&self, axes: &[usize]) -> usize {
        axes.iter().map(|&a| self.shape()[a]).product()
    }

    /// The shape without axes, or with extents of 1 there.
    pub(super) fn reduced_shape(&self, axes: &[usize], keepdims: bool) -> Dims {
        let mut shape = Dims::new();
        self.reduced_shape_into(&mut shape, axes, keepdims);
        shape
    }

    /// [`reduced_shape`](Self::reduced_shape), into a list that is empty.
    #[inline(always)]
    fn reduced_shape_into(&self, shape: &mut Dims, axes: &[usize], keepdims: bool) {
        for (axis, &extent) in self.shape().iter().enumerate() {
            match axes.contains(&axis) {
                false => shape.push(extent),
                true if keepdims => shape.push(1),
                true => {}
            }
        }
    }

    /// The layout of what a fold over axes comes to.
    #[inline(always)]
    fn folded_layout(&self, axes: &[usize], keepdims: bool) -> Layout {
        // Some of the extents of a shape that was checked.
        let mut shape = Dims::new();
        self.reduced_shape_into(&mut shape, axes, keepdims);
        Layout::dense(&shape, shape.iter().product(), Order::C)
    }
}

/// The program that divides a sum by the number of its terms and converts the quotient.
fn division(terms: Scalar, out: Dtype) -> Result<Program> {
    let mut builder = ProgramBuilder::new();
    let sum = builder.input(terms.dtype())?;
    let terms = builder.constant(terms)?;
    let mean = builder.push(Op::Divide, &[sum, terms])?;
    let mean = builder.cast(mean, out)?;
    builder.output(mean)?;
    builder.finish()
}
