//! Products of matrices and vectors: sums of products over broadcast operands, which a backend recognises.

use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::{Reduction, UsmArray, stack};
use crate::dtype::{Dtype, DtypeKind};
use crate::error::{Error, Result};
use crate::layout::{
    Dims, Layout, Order, SliceItem, Strides, broadcast_shapes, normalize_axes, normalize_axis,
};
use crate::lazy::{self, Elements, Folding, Pass, Recorded, Source, Walk, immediate};
use crate::memory::immediate::IMMEDIATE_BYTES;
use crate::ops::Op;
use crate::plan::Family;
use crate::program::{Fold, Program};
use crate::promotion::result_type;
use crate::runtime::{Queue, common_queue};

/// The program that multiplies two inputs of a dtype; each is made once.
fn product(dtype: Dtype) -> Result<Arc<Program>> {
    static MADE: [OnceLock<Arc<Program>>; Dtype::ALL.len()] = [const { OnceLock::new() }; Dtype::ALL.len()];
    let made = &MADE[dtype as usize];
    if let Some(program) = made.get() {
        return Ok(Arc::clone(program));
    }
    let program = Arc::new(Program::single(Op::Multiply, dtype)?);
    Ok(Arc::clone(made.get_or_init(|| program)))
}

/// The program that rounds sums to a 16-bit float.
fn rounding(out: Dtype) -> Arc<Program> {
    static MADE: [OnceLock<Arc<Program>>; 2] = [const { OnceLock::new() }; 2];
    let made = &MADE[usize::from(out == Dtype::Bf16)];
    Arc::clone(made.get_or_init(|| Arc::new(Program::convert(Dtype::F32, out))))
}

/// The axes that a [`tensordot`](UsmArray::tensordot) sums over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contracted<'a> {
    /// So many of the last axes of the first operand with as many of the first axes of the second.
    Count(usize),
    /// These axes of the first operand with these of the second, one by one.
    Axes(&'a [isize], &'a [isize]),
}

impl From<usize> for Contracted<'_> {
    fn from(count: usize) -> Self {
        Self::Count(count)
    }
}
impl<'a> From<(&'a [isize], &'a [isize])> for Contracted<'a> {
    fn from(axes: (&'a [isize], &'a [isize])) -> Self {
        Self::Axes(axes.0, axes.1)
    }
}

impl<'a, const N: usize, const M: usize> From<(&'a [isize; N], &'a [isize; M])> for Contracted<'a> {
    fn from(axes: (&'a [isize; N], &'a [isize; M])) -> Self {
        Self::Axes(axes.0, axes.1)
    }
}

/// Two operands of a product: their queue, the dtype of the result and the one computed in, which they have or are converted to on
/// the way.
struct Factors {
    queue: Queue,
    out: Dtype,
    computed: Dtype,
    x1: UsmArray,
    x2: UsmArray,
}

impl Factors {
    fn new(x1: &UsmArray, x2: &UsmArray) -> Result<Self> {
        let queue = common_queue(&[("x1", x1.queue()), ("x2", x2.queue())])?.clone();
        let out = result_type(&[x1.dtype(), x2.dtype()], &[], queue.device().dtype_support())?;
        if out == Dtype::Bool {
            return Err(Error::dtype(
                "x1",
                "bool for a product",
                "numbers",
                "convert the operands first, with `astype`",
            ));
        }
        // Sums of 16-bit floats are rounded once, at the end.
        let half = matches!(out, Dtype::F16 | Dtype::Bf16);
        let computed = if half { Dtype::F32 } else { out };
        let as_they_lie = half && queue.device().capabilities().half_factors;
        let factors = if as_they_lie { out } else { computed };
        Ok(Self { queue, out, computed, x1: x1.astype(factors)?, x2: x2.astype(factors)? })
    }

    /// Whether the factors are 16-bit floats that the device multiplies as they are.
    fn as_they_lie(&self) -> bool {
        self.x1.dtype() != self.computed
    }

    /// The sums, over the last axis of a shape, of the products of operands that broadcast to it.
    fn contract(&self, x1: &UsmArray, x2: &UsmArray, shape: &[usize]) -> Result<UsmArray> {
        let kind = x1.usm_kind().combine(x2.usm_kind());
        let dtype = self.computed;
        let (last, fold) = (shape.len() - 1, Fold::Op(Op::Add));
        // One small sum: at once. Products have the same sum whether they were stored or not.
        if x1.dtype() == dtype
            && shape[..last].iter().all(|&extent| extent == 1)
            && let Some(products) = immediate::elementwise(Op::Multiply, &[x1.into(), x2.into()])?
        {
            return products.fold(dtype, fold, None, &[last], false)?.astype(self.out);
        }
        let recorded = Recorded {
            op: Op::Multiply,
            dtype,
            out: dtype,
            layout: Layout::contiguous(shape, Order::C)?,
            operands: smallvec::smallvec![
                Source::Array(x1.broadcast_to(shape)?),
                Source::Array(x2.broadcast_to(shape)?),
            ],
        };
        let finish = self.as_they_lie().then(|| rounding(self.out));
        let summed = if finish.is_some() { self.out } else { dtype };
        let folding = Folding { fold, axes: smallvec::smallvec![last], finish };
        let memory = lazy::reduce(&self.queue, &recorded, &folding, kind)?;
        let layout = Layout::contiguous(&shape[..last], Order::C)?;
        let sums = UsmArray::of(Elements::Memory(memory.into()), layout, summed, self.queue.clone());
        sums.astype(self.out)
    }
}

fn no_dimensions(argument: &'static str) -> Error {
    Error::axis(argument, "an array of no dimensions", "at least one dimension", "multiply by it elementwise")
}

fn extents_differ(x1: &UsmArray, x2: &UsmArray, what: &str) -> Error {
    Error::shape(
        "x2",
        format!("of shape {:?}", x2.shape()),
        format!("{what}, with x1 of shape {:?}", x1.shape()),
        "transpose or reshape an operand so that the summed extents agree",
    )
}

impl UsmArray {
    /// The matrix product. Matrices are the last two dimensions, the others are broadcast; a vector is a row on the left
    /// and a column on the right, whose dimension then goes. Dtypes are promoted; integers wrap; `float16` and `bfloat16`
    /// are summed in `float32`.
    ///
    /// # Errors
    /// [`Error::Shape`] where the summed extents differ or the others do not broadcast, [`Error::Axis`] for an operand of
    /// no dimensions, [`Error::Dtype`] for `bool`, [`Error::ExecutionPlacement`].
    pub fn matmul(&self, other: &Self) -> Result<Self> {
        if let Some(product) = self.multiplied_at_once(other)? {
            return Ok(product);
        }
        let factors = Factors::new(self, other)?;
        if self.ndim() == 0 || other.ndim() == 0 {
            return Err(no_dimensions(if self.ndim() == 0 { "x1" } else { "x2" }));
        }
        let row = if self.ndim() == 1 { factors.x1.expand_dims(&[0])? } else { factors.x1.clone() };
        let column = if other.ndim() == 1 { factors.x2.expand_dims(&[1])? } else { factors.x2.clone() };
        let column = column.matrix_transpose()?;
        let (left, right) = (row.ndim() - 2, column.ndim() - 2);
        let (m, k) = (row.shape()[left], row.shape()[left + 1]);
        let n = column.shape()[right];
        if column.shape()[right + 1] != k {
            return Err(extents_differ(self, other, &format!("{k} rows to sum over")));
        }
        let mut shape = broadcast_shapes(&[&row.shape()[..left], &column.shape()[..right]])?;
        shape.extend([m, n, k]);
        // What each of several rows or columns is multiplied with is computed once.
        for (factor, times) in [(&row, n), (&column, m)] {
            if times > 1 {
                factor.elements().settle()?;
            }
        }
        let product = factors.contract(&row.expand_dims(&[-2])?, &column.expand_dims(&[-3])?, &shape)?;
        let mut gone: SmallVec<[isize; 2]> = SmallVec::new();
        if self.ndim() == 1 {
            gone.push(-2);
        }
        if other.ndim() == 1 {
            gone.push(-1);
        }
        product.squeeze(&gone)
    }

    /// The product of two small matrices, or of one with a vector, of a dtype that is computed in; each matrix lies row after row, or
    /// column after column. `None` where it is not computed at once.
    fn multiplied_at_once(&self, other: &Self) -> Result<Option<Self>> {
        let ([m, k], [rows, n]) = match (self.shape(), other.shape()) {
            (&[m, k], &[rows, n]) if m > 1 && n > 1 => ([m, k], [rows, n]),
            (&[k], &[rows, n]) if n > 1 => ([1, k], [rows, n]),
            (&[m, k], &[rows]) if m > 1 => ([m, k], [rows, 1]),
            // Sums of one row or column of a matrix have another order.
            _ => return Ok(None),
        };
        let dtype = self.dtype();
        let computed = !matches!(dtype, Dtype::Bool | Dtype::F16 | Dtype::Bf16);
        let dense = |x: &Self| x.layout.is_c_contiguous() || x.layout.is_f_contiguous();
        let alike = dtype == other.dtype() && self.queue == other.queue;
        let fits = k == rows && k > 1 && alike && computed && dense(self) && dense(other);
        // What is short, the device says; for a large result no memory is asked for before.
        let room = m.saturating_mul(n) <= IMMEDIATE_BYTES / dtype.size();
        if !fits || !room || !self.device().capabilities().immediate {
            return Ok(None);
        }
        let mut shape = Dims::new();
        for extent in [m, n] {
            if extent > 1 {
                shape.push(extent);
            }
        }
        let kind = self.usm_kind().combine(other.usm_kind());
        let out = Self::empty(&self.queue, &shape, dtype, kind)?;
        // Along rows, columns and what is summed; a vector has no steps of the extent that it has not.
        let steps = |rows: isize, columns: isize, summed: isize| -> Strides {
            match (m, n) {
                (1, _) => Strides::from_slice(&[columns, summed]),
                (_, 1) => Strides::from_slice(&[rows, summed]),
                _ => Strides::from_slice(&[rows, columns, summed]),
            }
        };
        let (a, b, to) = (self.strides(), other.strides(), out.strides());
        // What is summed along comes last.
        shape.push(k);
        let pass = Pass {
            program: product(dtype)?,
            family: Family::Reduce { fold: Fold::Op(Op::Add), reduced: 1, finish: None, stored: None },
            dims: shape,
            inputs: smallvec::smallvec![
                Walk { array: self, strides: steps(a[0], 0, a[a.len() - 1]) },
                Walk { array: other, strides: steps(0, b[b.len() - 1], b[0]) },
            ],
            output: Walk { array: &out, strides: steps(to[0], to[to.len() - 1], 0) },
        };
        let done = pass.runs_at_once(&self.queue);
        drop(pass);
        Ok(done.then_some(out))
    }

    /// The sum of products over pairs of axes; the other axes of this array come first in the result, then the other's.
    ///
    /// # Errors
    /// [`Error::Shape`] where extents of a pair differ, [`Error::Axis`] for an axis out of range, named twice or without
    /// a partner, [`Error::Dtype`] for `bool`, [`Error::ExecutionPlacement`].
    pub fn tensordot<'a>(&self, other: &Self, axes: impl Into<Contracted<'a>>) -> Result<Self> {
        let (first, second): (Dims, Dims) = match axes.into() {
            Contracted::Count(count) if count <= self.ndim().min(other.ndim()) => {
                ((self.ndim() - count..self.ndim()).collect(), (0..count).collect())
            }
            Contracted::Count(count) => {
                return Err(Error::axis(
                    "axes",
                    count,
                    format!("at most {} axes, as both operands have", self.ndim().min(other.ndim())),
                    "name axes that exist",
                ));
            }
            Contracted::Axes(first, second) => {
                (normalize_axes("axes", first, self.ndim())?, normalize_axes("axes", second, other.ndim())?)
            }
        };
        if first.len() != second.len() {
            return Err(Error::axis(
                "axes",
                format!("{} axes of x1 and {} of x2", first.len(), second.len()),
                "as many of one as of the other",
                "name the axes in pairs",
            ));
        }
        if first.iter().zip(&second).any(|(&a, &b)| self.shape()[a] != other.shape()[b]) {
            return Err(extents_differ(
                self,
                other,
                &format!("equal extents along axes {first:?} and {second:?}"),
            ));
        }
        let factors = Factors::new(self, other)?;
        // As matrices whose last axis is all the summed ones.
        let matrix = |x: &Self, summed: &Dims| -> Result<(Self, Dims)> {
            let kept: Dims = (0..x.ndim()).filter(|axis| !summed.contains(axis)).collect();
            let order: Vec<isize> = kept.iter().chain(summed).map(|&axis| axis.cast_signed()).collect();
            let extents = |axes: &Dims| axes.iter().map(|&axis| x.shape()[axis]).collect::<Dims>();
            let (rows, columns) = (extents(&kept), extents(summed));
            let flat = [rows.iter().product::<usize>(), columns.iter().product::<usize>()];
            Ok((x.permute_dims(&order)?.reshape(&flat.map(usize::cast_signed))?, rows))
        };
        let ((x1, mut shape), (x2, columns)) = (matrix(&factors.x1, &first)?, matrix(&factors.x2, &second)?);
        let (m, n, k) = (x1.shape()[0], x2.shape()[0], x1.shape()[1]);
        let product = factors.contract(&x1.expand_dims(&[1])?, &x2.expand_dims(&[0])?, &[m, n, k])?;
        shape.extend(columns);
        let signed: Vec<isize> = shape.iter().map(|&extent| extent.cast_signed()).collect();
        product.reshape(&signed)
    }

    /// The sum over an axis of the products of this array's elements, conjugated, with another's. The axis is counted
    /// among the dimensions that both have; the others are broadcast.
    ///
    /// # Errors
    /// [`Error::Shape`] where the summed extents differ or the others do not broadcast, [`Error::Axis`],
    /// [`Error::Dtype`] for `bool`, [`Error::ExecutionPlacement`].
    #[inline]
    pub fn vecdot(&self, other: &Self, axis: isize) -> Result<Self> {
        // Vectors have this axis.
        if matches!(axis, -1 | 0)
            && let Some(dot) = immediate::dot(self, other)?
        {
            return Ok(dot);
        }
        self.vecdot_apart(other, axis)
    }

    /// [`vecdot`](Self::vecdot) of what is no small work.
    #[inline(never)]
    fn vecdot_apart(&self, other: &Self, axis: isize) -> Result<Self> {
        let ndim = self.ndim().min(other.ndim());
        if ndim == 0 {
            return Err(no_dimensions(if self.ndim() == 0 { "x1" } else { "x2" }));
        }
        // From the end, as broadcasting aligns dimensions there; one that counts from the start must mean the same.
        let axis = match axis >= 0 && self.ndim() != other.ndim() {
            true => {
                return Err(Error::axis(
                    "axis",
                    axis,
                    "an axis counted from the end, as the operands have different numbers of dimensions",
                    "use -1 for the last axis",
                ));
            }
            false => normalize_axis("axis", axis, ndim)?.cast_signed() - ndim.cast_signed(),
        };
        let factors = Factors::new(self, other)?;
        let (x1, x2) = (factors.x1.move_axis(axis, -1)?, factors.x2.move_axis(axis, -1)?);
        if x1.shape().last() != x2.shape().last() {
            return Err(extents_differ(self, other, &format!("equal extents along axis {axis}")));
        }
        let x1 = if x1.dtype().kind() == DtypeKind::Complex { x1.unary(Op::Conj)? } else { x1 };
        let shape = broadcast_shapes(&[x1.shape(), x2.shape()])?;
        factors.contract(&x1, &x2, &shape)
    }

    /// All products of an element of this vector with one of another: a matrix with this array's along the rows.
    ///
    /// # Errors
    /// [`Error::Shape`] where an operand has not one dimension, [`Error::Dtype`] for `bool`,
    /// [`Error::ExecutionPlacement`].
    pub fn outer(&self, other: &Self) -> Result<Self> {
        for (argument, x) in [("x1", self), ("x2", other)] {
            if x.ndim() != 1 {
                return Err(Error::shape(
                    argument,
                    format!("of shape {:?}", x.shape()),
                    "one dimension",
                    "reshape it to one dimension, with `reshape(&[-1])`",
                ));
            }
        }
        self.expand_dims(&[1])?.binary(Op::Multiply, &other.expand_dims(&[0])?)
    }

    /// A diagonal of the matrices of the last two dimensions, as a view: the main one, or one `offset` columns to the
    /// right of it, to the left where negative.
    ///
    /// # Errors
    /// [`Error::Axis`] with fewer than two dimensions.
    pub fn diagonal(&self, offset: isize) -> Result<Self> {
        let Some(outer) = self.ndim().checked_sub(2) else {
            return Err(Error::axis(
                "self",
                format!("of shape {:?}", self.shape()),
                "at least two dimensions",
                "add dimensions with `expand_dims`",
            ));
        };
        let (rows, columns) = (self.shape()[outer], self.shape()[outer + 1]);
        let (row, column) = (self.strides()[outer], self.strides()[outer + 1]);
        let skipped = offset.unsigned_abs();
        let (len, step) = match offset >= 0 {
            true => (rows.min(columns.saturating_sub(skipped)), column),
            false => (columns.min(rows.saturating_sub(skipped)), row),
        };
        let mut shape: Dims = self.shape()[..outer].into();
        shape.push(len);
        let mut strides = self.strides()[..outer].to_vec();
        // Two elements of the diagonal are a step apart, which then is in range; one that nothing uses may saturate.
        strides.push(row.saturating_add(column));
        // The first element is one of this array's, or there is none and the offset does not matter.
        let start = match shape.contains(&0) {
            true => self.offset(),
            false => self.offset().wrapping_add_signed(step * skipped.cast_signed()),
        };
        let layout = Layout::new(&shape, Some(&strides), Some(start), Order::C, 1, None)?;
        Ok(self.with_layout(layout))
    }

    /// The sum of a [diagonal](Self::diagonal) of the matrices of the last two dimensions; dtypes as for the sum.
    ///
    /// # Errors
    /// As for [`diagonal`](Self::diagonal) and [`reduce_as`](Self::reduce_as).
    pub fn trace(&self, offset: isize, dtype: Option<Dtype>) -> Result<Self> {
        self.diagonal(offset)?.reduce_as(Reduction::Sum, Some(&[-1]), false, dtype)
    }

    /// The cross product of vectors of three elements along an axis of both; the other dimensions are broadcast.
    ///
    /// # Errors
    /// [`Error::Shape`] where the axis has another extent than 3, [`Error::Axis`], [`Error::Dtype`] for `bool`,
    /// [`Error::ExecutionPlacement`].
    pub fn cross(&self, other: &Self, axis: isize) -> Result<Self> {
        let part = |argument: &'static str, x: &Self| -> Result<[Self; 3]> {
            let own = normalize_axis("axis", axis, x.ndim())?;
            if x.shape()[own] != 3 {
                return Err(Error::shape(
                    argument,
                    format!("of shape {:?}", x.shape()),
                    format!("an extent of 3 along axis {axis}"),
                    "move the axis of the vectors' elements there, with `move_axis`",
                ));
            }
            let last = x.move_axis(own.cast_signed(), -1)?;
            let at = |i: isize| last.slice(&[SliceItem::Ellipsis, SliceItem::Index(i)]);
            Ok([at(0)?, at(1)?, at(2)?])
        };
        let (a, b) = (part("x1", self)?, part("x2", other)?);
        let element = |i: usize, j: usize| {
            a[i].binary(Op::Multiply, &b[j])?.binary(Op::Subtract, &a[j].binary(Op::Multiply, &b[i])?)
        };
        let parts = [element(1, 2)?, element(2, 0)?, element(0, 1)?];
        let ndim = parts[0].ndim() + 1;
        // Counted from the end, where broadcasting aligns the operands' dimensions.
        let place = if axis < 0 { axis } else { axis - self.ndim().cast_signed() };
        normalize_axis("axis", place, ndim)?;
        stack(&[&parts[0], &parts[1], &parts[2]], place)
    }
}
