//! Work on a few elements, done at once on the calling thread where nothing stands against it: operands of one dtype, in
//! memory, of one queue. Everything else, and everything that is wrong, is left to the ordinary way.

use std::borrow::Borrow;
use std::sync::Arc;

use smallvec::SmallVec;

use super::{ArrayOrScalar, UsmArray};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::layout::{Dims, Layout, Order, all_axes, broadcast_shapes, checked_len};
use crate::lazy::Elements;
use crate::memory::UsmKind;
use crate::memory::allocation::Allocation;
use crate::memory::direct::{self, Alike, AxisFold, Call, DIRECT_BYTES, Function, Source, Space, same_shape};
use crate::ops::Op;
use crate::program::{Fold, Program};
use crate::promotion::result_type;
use crate::runtime::Queue;
use crate::scalar::Scalar;

/// New elements, and the array that they lie like.
pub(super) struct Fresh<'a> {
    memory: Arc<Allocation>,
    dtype: Dtype,
    like: &'a UsmArray,
    order: Order,
}

impl Fresh<'_> {
    /// The array of the elements.
    #[inline(always)]
    pub(super) fn array(self) -> UsmArray {
        let Self { memory, dtype, like, order } = self;
        let (queue, elements) = (like.queue.clone(), Elements::Memory(memory.into()));
        // In one piece: to move an array takes as long as to compute a few elements.
        UsmArray { elements, layout: like.layout.packed(order), dtype, queue, writable: true }
    }

    /// The dtype of the elements.
    #[inline(always)]
    pub(super) fn dtype(&self) -> Dtype {
        self.dtype
    }
}

/// The results of an elementwise operation on values, and on arrays that lie as one of them does: the usual case of
/// [`elementwise`], found in one pass.
///
/// # Errors
/// What the allocation reports.
pub(super) fn elementwise_alike<'a>(op: Op, operands: &[ArrayOrScalar<'a>]) -> Result<Option<Fresh<'a>>> {
    // The number of operands is known where they are looked at.
    match operands {
        [a] => fresh_alike(op, [a]),
        [a, b] => fresh_alike(op, [a, b]),
        [a, b, c] => fresh_alike(op, [a, b, c]),
        _ => Ok(None),
    }
}

#[inline(always)]
fn fresh_alike<'a, const N: usize>(op: Op, operands: [&ArrayOrScalar<'a>; N]) -> Result<Option<Fresh<'a>>> {
    let Some(like) = operands.into_iter().rev().find_map(an_array) else { return Ok(None) };
    let Some(call) = alike(op, operands, like) else { return Ok(None) };
    // More is recorded, to be computed with what comes next.
    if call.bytes() > DIRECT_BYTES {
        return Ok(None);
    }
    let (dtype, order) = (call.out_dtype(), like.result_order());
    Ok(call.fresh()?.map(|memory| Fresh { memory, dtype, like, order }))
}

/// An operation on values, and on arrays that lie as one does: one of them, or the result.
#[inline(always)]
fn alike<'a, const N: usize>(
    op: Op,
    operands: [&ArrayOrScalar<'a>; N],
    like: &'a UsmArray,
) -> Option<Alike<'a, N>> {
    // A condition, which has a dtype of its own, comes first.
    let dtype = match operands[N - 1] {
        ArrayOrScalar::Array(array) => array.dtype,
        ArrayOrScalar::Scalar(value) => value.dtype(),
        ArrayOrScalar::Weak(_) => return None,
    };
    if op == Op::Cast || !like.queue.works_at_once() {
        return None;
    }
    let function = Function::of(like.device(), op, dtype)?;
    let space = Space { shape: like.shape(), len: like.len(), order: like.result_order() };
    let mut call = Alike::new(function, space)?;
    for (k, operand) in operands.into_iter().enumerate() {
        let takes = match *operand {
            ArrayOrScalar::Array(array) => {
                let memory = array.elements.get_memory()?;
                array.queue == like.queue && call.array(k, memory, &array.layout, array.dtype)
            }
            ArrayOrScalar::Scalar(value) => call.value(k, value),
            ArrayOrScalar::Weak(_) => false,
        };
        if !takes {
            return None;
        }
    }
    Some(call)
}

/// The array of an elementwise operation.
///
/// # Errors
/// What the allocation reports.
#[inline(never)]
pub(super) fn elementwise(op: Op, operands: &[ArrayOrScalar<'_>]) -> Result<Option<UsmArray>> {
    // The result has as many elements as each operand, or more.
    let large = |array: &UsmArray| array.len() > DIRECT_BYTES / op.result(array.dtype).size();
    if operands.iter().filter_map(an_array).any(large) {
        return Ok(None);
    }
    match Work::of(op, operands, None) {
        Some(work) if op != Op::Cast => work.fresh(op, op.result(work.dtype), operands),
        _ => Ok(None),
    }
}

/// The array that an operand is.
fn an_array<'a>(operand: &ArrayOrScalar<'a>) -> Option<&'a UsmArray> {
    match operand {
        ArrayOrScalar::Array(array) => Some(array),
        _ => None,
    }
}

/// The elements of an array, converted.
///
/// # Errors
/// What the allocation reports.
pub(super) fn cast(array: &UsmArray, out: Dtype) -> Result<Option<UsmArray>> {
    let operands = [array.into()];
    match Work::of(Op::Cast, &operands, None) {
        Some(work) => work.fresh(Op::Cast, out, &operands),
        None => Ok(None),
    }
}

/// Writes the result of an elementwise operation. Whether it is done.
pub(super) fn write(op: Op, operands: &[ArrayOrScalar<'_>], out: &UsmArray) -> bool {
    let Some(allocation) = target(out) else { return false };
    // Values alone make no operation.
    if op == Op::Cast || operands.iter().find_map(an_array).is_none() {
        return false;
    }
    let done = match operands {
        [a] => write_alike(op, [a], out, allocation),
        [a, b] => write_alike(op, [a, b], out, allocation),
        [a, b, c] => write_alike(op, [a, b, c], out, allocation),
        _ => false,
    };
    if done {
        return true;
    }
    let Some(work) = Work::of(op, operands, Some(out)) else { return false };
    if op.result(work.dtype) != out.dtype {
        return false;
    }
    work.write(op, operands, out, allocation)
}

/// [`write`], of operands that lie as the array does.
#[inline(always)]
fn write_alike<'a, const N: usize>(
    op: Op,
    operands: [&ArrayOrScalar<'a>; N],
    out: &'a UsmArray,
    allocation: &Arc<Allocation>,
) -> bool {
    let call = alike(op, operands, out);
    call.is_some_and(|call| call.out_dtype() == out.dtype && call.write(allocation, &out.layout))
}

/// Writes the result of an elementwise operation into one of its operands, which nobody else has. Whether it is done.
pub(super) fn reuse(op: Op, operands: &[ArrayOrScalar<'_>], owned: &UsmArray) -> bool {
    // More is recorded, to be computed with what comes next.
    owned.bytes() <= DIRECT_BYTES && owned.elements.is_alone() && write(op, operands, owned)
}

/// Writes a value, or the elements of an array, converted. Whether it is done.
pub(super) fn assign(source: &ArrayOrScalar<'_>, out: &UsmArray) -> bool {
    let Some(allocation) = target(out) else { return false };
    if write_alike(Op::Copy, [source], out, allocation) {
        return true;
    }
    let (op, dtype, operand) = match source {
        ArrayOrScalar::Array(array) if array.queue != out.queue => return false,
        ArrayOrScalar::Array(array) if array.dtype == out.dtype => (Op::Copy, array.dtype, source.clone()),
        // One element for all is what a copy takes, but not a conversion.
        ArrayOrScalar::Array(array) if array.len() != out.len() => return false,
        ArrayOrScalar::Array(array) => (Op::Cast, array.dtype, source.clone()),
        ArrayOrScalar::Scalar(value) => (Op::Copy, out.dtype, value.cast(out.dtype).into()),
        ArrayOrScalar::Weak(value) => match value.to_scalar(out.dtype) {
            Ok(value) => (Op::Copy, out.dtype, value.into()),
            Err(_) => return false,
        },
    };
    let shape = Shape::Of(out);
    let work = Work {
        shape,
        queue: &out.queue,
        len: out.len(),
        kind: out.usm_kind(),
        dtype,
        order: out.result_order(),
    };
    work.write(op, &[operand], out, allocation)
}

/// Copies arrays, converted, to others of their shape, which do not overlap. Whether it is done; part of it may be where it
/// is not.
pub(super) fn assign_all<A: Borrow<UsmArray>>(parts: &[(A, UsmArray)]) -> bool {
    let Some((_, out)) = parts.first() else { return true };
    let total = parts.iter().fold(0, |total: usize, (_, to)| total.saturating_add(to.len()));
    let copy = Function::of(out.device(), Op::Copy, out.dtype);
    copy.is_some_and(|copy| total <= copy.most())
        && parts.iter().all(|(from, to)| to.is_empty() || assign(&from.borrow().into(), to))
}

/// A fold of elements, converted to the accumulator's dtype, over axes, and a program for the folded values.
///
/// # Errors
/// What the allocation reports.
pub(super) fn fold(
    array: &UsmArray,
    accumulator: Dtype,
    fold: Fold,
    finish: Option<&Program>,
    axes: &[usize],
) -> Result<Option<Elements>> {
    let folded = AxisFold { device: array.device(), fold, accumulator, finish, axes };
    let memory =
        fold_sources(array, |source, factors| folded.fresh(source, factors, array.dtype).transpose());
    Ok(memory.transpose()?.map(|memory| Elements::Memory(memory.into())))
}

/// The value of a fold of all elements, converted to the accumulator's dtype.
pub(super) fn fold_all(array: &UsmArray, accumulator: Dtype, fold: Fold) -> Option<Scalar> {
    let axes = all_axes(array.ndim());
    let folded = AxisFold { device: array.device(), fold, accumulator, finish: None, axes };
    fold_sources(array, |source, factors| folded.value(source, factors, array.dtype))
}

/// Calls a function with the elements of an array, or, of a product that is only recorded, with its factors, where work on
/// them may be done at once.
#[inline]
fn fold_sources<R>(
    array: &UsmArray,
    folded: impl FnOnce(Source<'_>, Option<Source<'_>>) -> Option<R>,
) -> Option<R> {
    if !array.queue.works_at_once() {
        return None;
    }
    if let Some(allocation) = array.elements.get_memory() {
        return folded(Source { allocation, layout: &array.layout }, None);
    }
    let factors = array.elements.factors(&array.layout)?;
    let [a, b] = factors.each_ref().map(|(allocation, layout)| Source { allocation, layout });
    let folded = folded(a, Some(b))?;
    array.elements.note_peek();
    Some(folded)
}

/// The sum of the products of the elements of two vectors of the same real floating dtype.
///
/// # Errors
/// What the allocation reports.
pub(super) fn dot<'a>(a: &'a UsmArray, b: &'a UsmArray) -> Result<Option<UsmArray>> {
    let vectors = a.ndim() == 1 && same_shape(a.shape(), b.shape());
    let alike = a.dtype == b.dtype && a.queue == b.queue && a.queue.works_at_once();
    // Other products are folded in another dtype, or conjugated.
    if !vectors || !alike || !matches!(a.dtype, Dtype::F32 | Dtype::F64) {
        return Ok(None);
    }
    let source = |x: &'a UsmArray| Some(Source { allocation: x.elements.get_memory()?, layout: &x.layout });
    let (Some(from), Some(factors)) = (source(a), source(b)) else { return Ok(None) };
    let fold = AxisFold {
        device: a.device(),
        fold: Fold::Op(Op::Add),
        accumulator: a.dtype,
        finish: None,
        axes: &[0],
    };
    let Some(memory) = fold.fresh(from, Some(factors), a.dtype)? else { return Ok(None) };
    let layout = Layout::contiguous(&[], Order::C)?;
    Ok(Some(UsmArray::of(Elements::Memory(memory.into()), layout, a.dtype, a.queue.clone())))
}

/// Arrays of a dtype and of a queue, joined along an axis.
///
/// # Errors
/// What the allocation reports.
pub(super) fn join<'a>(
    arrays: &[&'a UsmArray],
    axis: usize,
    dtype: Dtype,
    kind: UsmKind,
    queue: &Queue,
) -> Result<Option<Elements>> {
    if !queue.works_at_once() {
        return Ok(None);
    }
    let source = |array: &&'a UsmArray| {
        let allocation = array.elements.get_memory().filter(|_| array.dtype == dtype)?;
        Some(Source { allocation, layout: &array.layout })
    };
    let Some(sources) = arrays.iter().map(source).collect::<Option<SmallVec<[_; 4]>>>() else {
        return Ok(None);
    };
    let memory = direct::join(queue.device(), kind, dtype, &sources, axis)?;
    Ok(memory.map(|memory| Elements::Memory(memory.into())))
}

/// The memory of an array that may be written, and whose queue allows work at once.
fn target(out: &UsmArray) -> Option<&Arc<Allocation>> {
    if !out.writable || out.is_empty() || !out.queue.works_at_once() {
        return None;
    }
    out.elements.get_memory()
}

/// The shape of a result.
enum Shape<'a> {
    /// An array's.
    Of(&'a UsmArray),
    /// What several arrays' broadcast to.
    Joint(Dims),
}

/// An elementwise operation whose operands are of one dtype, but for a condition, and of one queue.
struct Work<'a> {
    shape: Shape<'a>,
    queue: &'a Queue,
    len: usize,
    kind: UsmKind,
    dtype: Dtype,
    order: Order,
}

impl<'a> Work<'a> {
    fn of(op: Op, operands: &[ArrayOrScalar<'a>], out: Option<&'a UsmArray>) -> Option<Self> {
        let mut first: Option<&UsmArray> = None;
        let (mut dtype, mut kind, mut alike) = (None, UsmKind::Host, true);
        for (k, operand) in operands.iter().enumerate() {
            let ArrayOrScalar::Array(array) = operand else { continue };
            let first = *first.get_or_insert(array);
            let wanted = if op.is_condition(k) { Dtype::Bool } else { *dtype.get_or_insert(array.dtype) };
            if array.dtype != wanted || array.queue != first.queue {
                return None;
            }
            alike &= same_shape(array.shape(), first.shape());
            kind = kind.combine(array.usm_kind());
        }
        let (first, dtype) = (first?, dtype?);
        let queue = &first.queue;
        if !queue.works_at_once() {
            return None;
        }
        let (mut shape, mut len) = (Shape::Of(first), first.len());
        if !alike {
            let arrays = operands.iter().filter_map(an_array).map(UsmArray::shape);
            let joint = broadcast_shapes(&arrays.collect::<SmallVec<[_; 3]>>()).ok()?;
            len = checked_len(&joint).ok()?;
            shape = Shape::Joint(joint);
        }
        let mut work = Self { shape, queue, len, kind, dtype, order: Order::C };
        work.order = match out {
            Some(out) if out.queue != *queue || !same_shape(out.shape(), work.shape()) => return None,
            Some(out) => out.result_order(),
            None => work.result_order(operands),
        };
        (work.len != 0).then_some(work)
    }

    fn shape(&self) -> &[usize] {
        match &self.shape {
            Shape::Of(array) => array.shape(),
            Shape::Joint(shape) => shape,
        }
    }

    /// Column-major where the operands of the result's shape are.
    fn result_order(&self, operands: &[ArrayOrScalar<'_>]) -> Order {
        let mut order = Order::C;
        let alike = |array: &&UsmArray| same_shape(array.shape(), self.shape());
        for array in operands.iter().filter_map(an_array).filter(alike) {
            match array.result_order() {
                Order::C => return Order::C,
                Order::F => order = Order::F,
            }
        }
        order
    }

    /// Gives a call its operands. Whether the function takes them.
    fn fill<'b>(&self, call: &mut Call<'b>, op: Op, operands: &'b [ArrayOrScalar<'_>]) -> bool {
        operands.iter().enumerate().all(|(k, operand)| match operand {
            ArrayOrScalar::Array(array) => {
                let memory = array.elements.get_memory();
                memory.is_some_and(|memory| call.array(memory, &array.layout, array.dtype))
            }
            ArrayOrScalar::Scalar(value) => call.value(*value),
            ArrayOrScalar::Weak(_) if op.is_condition(k) => false,
            ArrayOrScalar::Weak(value) => {
                let support = self.queue.device().dtype_support();
                let joint = result_type(&[self.dtype], &[*value], support);
                joint.is_ok_and(|joint| joint == self.dtype)
                    && value.to_scalar(self.dtype).is_ok_and(|value| call.value(value))
            }
        })
    }

    /// The result in memory of its own.
    ///
    /// # Errors
    /// What the allocation reports.
    fn fresh(&self, op: Op, out: Dtype, operands: &[ArrayOrScalar<'_>]) -> Result<Option<UsmArray>> {
        let Some(function) = Function::to(self.queue.device(), op, self.dtype, out) else { return Ok(None) };
        let mut call = Call::new(function, Space { shape: self.shape(), len: self.len, order: self.order });
        // More is recorded, to be computed with what comes next.
        if call.bytes() > DIRECT_BYTES || !self.fill(&mut call, op, operands) {
            return Ok(None);
        }
        let Some(memory) = call.fresh(self.kind)? else { return Ok(None) };
        let layout = match &self.shape {
            Shape::Of(array) => array.layout.packed(self.order),
            Shape::Joint(shape) => Layout::contiguous(shape, self.order)?,
        };
        Ok(Some(UsmArray::of(Elements::Memory(memory.into()), layout, out, self.queue.clone())))
    }

    /// The result in an array of its shape. Whether it is done.
    fn write(
        &self,
        op: Op,
        operands: &[ArrayOrScalar<'_>],
        out: &UsmArray,
        memory: &Arc<Allocation>,
    ) -> bool {
        let function = Function::to(self.queue.device(), op, self.dtype, out.dtype);
        function.is_some_and(|function| {
            let space = Space { shape: self.shape(), len: self.len, order: self.order };
            let mut call = Call::new(function, space);
            self.fill(&mut call, op, operands) && call.write(memory, &out.layout)
        })
    }
}
