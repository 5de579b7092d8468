//! Elementwise work on a few elements, done at once on the calling thread where nothing stands against it: operands of
//! one dtype that lie one after another, numbers, single elements. Everything else, and everything that is wrong, is left
//! to the ordinary way.

use std::ops::Range;
use std::sync::Arc;

use super::{ArrayOrScalar, UsmArray};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::layout::Order;
use crate::lazy::{EAGER_BYTES, Node};
use crate::memory::UsmKind;
use crate::memory::allocation::Allocation;
use crate::memory::direct::{Function, MAX_OPERANDS, Operand, Operands};
use crate::ops::Op;
use crate::promotion::result_type;
use crate::runtime::Queue;

/// The array of an elementwise operation.
///
/// # Errors
/// What the allocation reports.
pub(super) fn elementwise(op: Op, operands: &[ArrayOrScalar<'_>]) -> Result<Option<UsmArray>> {
    match Work::of(op, operands, None) {
        Some(work) if op != Op::Cast => work.fresh(op, op.result(work.dtype)),
        _ => Ok(None),
    }
}

/// The elements of an array, converted.
///
/// # Errors
/// What the allocation reports.
pub(super) fn cast(array: &UsmArray, out: Dtype) -> Result<Option<UsmArray>> {
    match Work::of(Op::Cast, &[array.into()], None) {
        Some(work) => work.fresh(Op::Cast, out),
        None => Ok(None),
    }
}

/// Writes the result of an elementwise operation. Whether it is done.
pub(super) fn write(op: Op, operands: &[ArrayOrScalar<'_>], out: &UsmArray) -> bool {
    let Some((allocation, range)) = target(out) else { return false };
    let Some(work) = Work::of(op, operands, Some(out)) else { return false };
    if op == Op::Cast || op.result(work.dtype) != out.dtype {
        return false;
    }
    let function = Function::of(out.device(), op, work.dtype, out.dtype);
    function.is_some_and(|function| function.write(&work.operands, (allocation, &range), work.len))
}

/// Writes the result of an elementwise operation into one of its operands, which nobody else has. Whether it is done.
pub(super) fn reuse(op: Op, operands: &[ArrayOrScalar<'_>], owned: &UsmArray) -> bool {
    let alone = Arc::strong_count(&owned.node) == 1
        && owned
            .node
            .get_memory()
            .is_some_and(|memory| Arc::strong_count(memory) == 1 && !memory.is_exported());
    alone && write(op, operands, owned)
}

/// Writes a value, or the elements of an array, converted. Whether it is done.
pub(super) fn assign(source: &ArrayOrScalar<'_>, out: &UsmArray) -> bool {
    let Some((allocation, range)) = target(out) else { return false };
    let (operand, op, dtype) = match source {
        ArrayOrScalar::Array(array) if array.queue == out.queue => {
            let Some(operand) = placed(array, out.shape(), order_of(out)) else { return false };
            let op = if array.dtype == out.dtype { Op::Copy } else { Op::Cast };
            // One element for all is what a copy takes.
            if op == Op::Cast && array.len() != out.len() {
                return false;
            }
            (operand, op, array.dtype)
        }
        ArrayOrScalar::Array(_) => return false,
        ArrayOrScalar::Scalar(value) => (Operand::Value(value.cast(out.dtype)), Op::Copy, out.dtype),
        ArrayOrScalar::Weak(value) => match value.to_scalar(out.dtype) {
            Ok(value) => (Operand::Value(value), Op::Copy, out.dtype),
            Err(_) => return false,
        },
    };
    let function = Function::of(out.device(), op, dtype, out.dtype);
    function.is_some_and(|function| function.write(&[operand], (allocation, &range), out.len()))
}

/// The bytes that are written, where the array's queue allows work at once and its elements lie one after another.
fn target(out: &UsmArray) -> Option<(&Arc<Allocation>, Range<usize>)> {
    let contiguous = out.layout.is_c_contiguous() || out.layout.is_f_contiguous();
    if !out.writable || !contiguous || out.is_empty() || out.bytes() > EAGER_BYTES || !at_once(&out.queue) {
        return None;
    }
    Some((out.node.get_memory()?, out.layout.byte_range(out.itemsize())))
}

/// Whether work of a queue may be done while it is submitted: there is no order to keep, and no time to take.
fn at_once(queue: &Queue) -> bool {
    let properties = queue.properties();
    !properties.in_order && !properties.profiling
}

/// How the elements follow each other; `None` for one, which does so in both orders.
fn order_of(array: &UsmArray) -> Option<Order> {
    match (array.layout.is_c_contiguous(), array.layout.is_f_contiguous()) {
        (true, true) => None,
        (true, false) => Some(Order::C),
        _ => Some(Order::F),
    }
}

/// An array as an operand beside elements of a shape in an order (either, where it is `None`): the same elements in the
/// same order, or one for all.
fn placed<'a>(array: &'a UsmArray, shape: &[usize], order: Option<Order>) -> Option<Operand<'a>> {
    let allocation = array.node.get_memory()?;
    let bytes = array.layout.byte_range(array.itemsize());
    if array.shape() == shape {
        let fits = match order {
            Some(Order::C) => array.layout.is_c_contiguous(),
            Some(Order::F) => array.layout.is_f_contiguous(),
            None => array.layout.is_c_contiguous() || array.layout.is_f_contiguous(),
        };
        return fits.then_some(Operand::Memory { allocation, bytes, one: false });
    }
    let one = array.len() == 1 && array.ndim() <= shape.len();
    one.then_some(Operand::Memory { allocation, bytes, one: true })
}

/// An elementwise operation whose operands are of one dtype, but for a condition, in memory, of one queue, and in one order.
struct Work<'a> {
    /// The array whose shape is the result's.
    largest: &'a UsmArray,
    len: usize,
    kind: UsmKind,
    dtype: Dtype,
    order: Order,
    operands: Operands<'a>,
}

impl<'a> Work<'a> {
    fn of(op: Op, operands: &[ArrayOrScalar<'a>], out: Option<&'a UsmArray>) -> Option<Self> {
        if operands.len() != op.arity() || operands.len() > MAX_OPERANDS {
            return None;
        }
        // The one with the most elements says the shape; the others fit it, or the work is not done here.
        let mut largest: Option<(&UsmArray, usize)> = None;
        let mut dtype = None;
        for (k, operand) in operands.iter().enumerate() {
            let ArrayOrScalar::Array(array) = operand else { continue };
            let len = array.len();
            if largest.is_none_or(|(other, most)| (len, array.ndim()) > (most, other.ndim())) {
                largest = Some((array, len));
            }
            if !is_condition(op, k) {
                dtype = dtype.or(Some(array.dtype));
            }
        }
        let ((largest, len), dtype) = (largest?, dtype?);
        let queue = &largest.queue;
        if len == 0 || len * dtype.size() > EAGER_BYTES || !op.allows(dtype) || !at_once(queue) {
            return None;
        }
        if out.is_some_and(|out| out.queue != *queue || out.shape() != largest.shape()) {
            return None;
        }
        if op.wants_float() && !dtype.kind().is_inexact() {
            return None;
        }
        let order = out.and_then(order_of).or_else(|| order_of(largest));
        let mut work = Self {
            largest,
            len,
            kind: UsmKind::Host,
            dtype,
            order: order.unwrap_or_default(),
            operands: Operands::new(),
        };
        for (k, operand) in operands.iter().enumerate() {
            let condition = is_condition(op, k);
            let wanted = if condition { Dtype::Bool } else { dtype };
            work.operands.push(match operand {
                ArrayOrScalar::Array(array) if array.dtype == wanted && array.queue == *queue => {
                    work.kind = work.kind.combine(array.usm_kind());
                    placed(array, largest.shape(), order)?
                }
                ArrayOrScalar::Scalar(value) if value.dtype() == wanted => Operand::Value(*value),
                ArrayOrScalar::Weak(value) if !condition => {
                    let support = queue.device().dtype_support();
                    let joint = result_type(&[dtype], &[*value], support).ok()?;
                    if joint != dtype {
                        return None;
                    }
                    Operand::Value(value.to_scalar(dtype).ok()?)
                }
                _ => return None,
            });
        }
        Some(work)
    }

    /// The result in memory of its own.
    ///
    /// # Errors
    /// What the allocation reports.
    fn fresh(&self, op: Op, out: Dtype) -> Result<Option<UsmArray>> {
        let queue = &self.largest.queue;
        let Some(function) = Function::of(queue.device(), op, self.dtype, out) else { return Ok(None) };
        if self.len * out.size() > EAGER_BYTES {
            return Ok(None);
        }
        let Some(allocation) = function.fresh(&self.operands, self.kind, self.len)? else { return Ok(None) };
        let layout = self.largest.layout.packed(self.order);
        Ok(Some(UsmArray::from_node(Node::ready(allocation, queue), layout, out, queue.clone())))
    }
}

/// Whether an operand is the condition of a selection.
fn is_condition(op: Op, position: usize) -> bool {
    op == Op::Where && position == 0
}
