//! Work on a few elements, done at once on the calling thread where nothing stands against it: operands of one dtype, in
//! memory, of one queue. Everything else, and everything that is wrong, is left to the ordinary way.

use std::sync::Arc;

use super::{ArrayOrScalar, UsmArray};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::layout::{Dims, Layout, Order, broadcast_shapes, checked_len};
use crate::lazy::Elements;
use crate::memory::UsmKind;
use crate::memory::allocation::Allocation;
use crate::memory::direct::{Call, DIRECT_BYTES, Function, Space, Total, same_shape};
use crate::ops::Op;
use crate::program::{Fold, Program};
use crate::promotion::result_type;
use crate::runtime::Queue;

/// The array of an elementwise operation.
///
/// # Errors
/// What the allocation reports.
pub(super) fn elementwise(op: Op, operands: &[ArrayOrScalar<'_>]) -> Result<Option<UsmArray>> {
    match Work::of(op, operands, None) {
        Some(work) if op != Op::Cast => work.fresh(op, op.result(work.dtype), operands),
        _ => Ok(None),
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
    let Some(work) = Work::of(op, operands, Some(out)) else { return false };
    if op == Op::Cast || op.result(work.dtype) != out.dtype {
        return false;
    }
    work.write(op, operands, out, allocation)
}

/// Writes the result of an elementwise operation into one of its operands, which nobody else has. Whether it is done.
pub(super) fn reuse(op: Op, operands: &[ArrayOrScalar<'_>], owned: &UsmArray) -> bool {
    // More is recorded, to be computed with what comes next.
    owned.bytes() <= DIRECT_BYTES && owned.elements.is_alone() && write(op, operands, owned)
}

/// Writes a value, or the elements of an array, converted. Whether it is done.
pub(super) fn assign(source: &ArrayOrScalar<'_>, out: &UsmArray) -> bool {
    let Some(allocation) = target(out) else { return false };
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
pub(super) fn assign_all(parts: &[(UsmArray, UsmArray)]) -> bool {
    let Some((_, out)) = parts.first() else { return true };
    let total = parts.iter().fold(0, |total: usize, (_, to)| total.saturating_add(to.len()));
    let copy = Function::of(out.device(), Op::Copy, out.dtype, out.dtype);
    copy.is_some_and(|copy| total <= copy.most())
        && parts.iter().all(|(from, to)| to.is_empty() || assign(&from.into(), to))
}

/// A fold of all elements, converted to the accumulator's dtype, and a program for the folded value.
///
/// # Errors
/// What the allocation reports.
pub(super) fn fold(
    array: &UsmArray,
    accumulator: Dtype,
    fold: Fold,
    finish: Option<&Program>,
) -> Result<Option<Elements>> {
    let Some(allocation) = array.elements.get_memory() else { return Ok(None) };
    // Where there are gaps, rows are folded in the order of their memory.
    let ordered = array.layout.is_c_contiguous()
        || array.layout.is_f_contiguous()
        || matches!(array.strides(), [stride] if *stride > 0);
    if !ordered || !array.queue.works_at_once() {
        return Ok(None);
    }
    let total = Total { device: array.device(), fold, accumulator, finish };
    Ok(total.fresh(allocation, &array.layout, array.dtype)?.map(Elements::Memory))
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
            alike &= std::ptr::eq(*array, first) || same_shape(array.shape(), first.shape());
            kind = kind.combine(array.usm_kind());
        }
        let (first, dtype) = (first?, dtype?);
        let queue = &first.queue;
        let (mut shape, mut len) = (Shape::Of(first), first.len());
        if !alike {
            let arrays = operands.iter().filter_map(|operand| match operand {
                ArrayOrScalar::Array(array) => Some(array.shape()),
                _ => None,
            });
            let joint = broadcast_shapes(&arrays.collect::<smallvec::SmallVec<[_; 3]>>()).ok()?;
            len = checked_len(&joint).ok()?;
            shape = Shape::Joint(joint);
        }
        if len == 0
            || !op.allows(dtype)
            || !queue.works_at_once()
            || (op.wants_float() && !dtype.kind().is_inexact())
        {
            return None;
        }
        let mut work = Self { shape, queue, len, kind, dtype, order: Order::C };
        work.order = match out {
            Some(out) if out.queue != *queue || !same_shape(out.shape(), work.shape()) => return None,
            Some(out) => out.result_order(),
            None => work.result_order(operands),
        };
        Some(work)
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
        for operand in operands {
            if let ArrayOrScalar::Array(array) = operand
                && same_shape(array.shape(), self.shape())
            {
                match array.result_order() {
                    Order::C => return Order::C,
                    Order::F => order = Order::F,
                }
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
        if self.len * out.size() > DIRECT_BYTES {
            return Ok(None);
        }
        let Some(function) = Function::of(self.queue.device(), op, self.dtype, out) else { return Ok(None) };
        let mut call = Call::new(function, Space { shape: self.shape(), len: self.len, order: self.order });
        if !self.fill(&mut call, op, operands) {
            return Ok(None);
        }
        let Some(memory) = call.fresh(self.kind)? else { return Ok(None) };
        let layout = match &self.shape {
            Shape::Of(array) => array.layout.packed(self.order),
            Shape::Joint(shape) => Layout::contiguous(shape, self.order)?,
        };
        Ok(Some(UsmArray::of(Elements::Memory(memory), layout, out, self.queue.clone())))
    }

    /// The result in an array of its shape. Whether it is done.
    fn write(
        &self,
        op: Op,
        operands: &[ArrayOrScalar<'_>],
        out: &UsmArray,
        memory: &Arc<Allocation>,
    ) -> bool {
        let function = Function::of(self.queue.device(), op, self.dtype, out.dtype);
        function.is_some_and(|function| {
            let space = Space { shape: self.shape(), len: self.len, order: self.order };
            let mut call = Call::new(function, space);
            self.fill(&mut call, op, operands) && call.write(memory, &out.layout)
        })
    }
}
