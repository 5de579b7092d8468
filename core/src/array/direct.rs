//! Elementwise work on a few elements, done at once on the calling thread where nothing stands against it: operands of
//! one dtype that lie one after another, numbers, single elements. Everything else, and everything that is wrong, is left
//! to the ordinary way.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::{ArrayOrScalar, UsmArray};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::layout::{Layout, Order};
use crate::lazy::{EAGER_BYTES, Node};
use crate::memory::allocation::Allocation;
use crate::memory::direct::{Function, MAX_OPERANDS, Operand, run};
use crate::memory::{BLOCK_ALIGN_BYTES, UsmKind};
use crate::ops::Op;
use crate::promotion::result_type;
use crate::runtime::Queue;

/// The array of an elementwise operation.
///
/// # Errors
/// What the allocation reports.
pub(super) fn elementwise(op: Op, operands: &[ArrayOrScalar<'_>]) -> Result<Option<UsmArray>> {
    let Some(work) = Work::of(op, operands, None) else { return Ok(None) };
    let Some(function) = Function::of(work.queue.device(), op, work.dtype) else { return Ok(None) };
    let out = op.result(work.dtype);
    let len: usize = work.shape.iter().product();
    // Within the bound: the operands are so many bytes at most.
    let bytes = len * out.size();
    if bytes == 0 || bytes > EAGER_BYTES {
        return Ok(None);
    }
    let allocation = Allocation::new(work.queue.device(), work.kind, bytes, BLOCK_ALIGN_BYTES)?;
    if !run(&function, &work.operands, (&allocation, 0..bytes), len) {
        return Ok(None);
    }
    let layout = Layout::contiguous(work.shape, if work.column_major { Order::F } else { Order::C })?;
    let node = Node::ready(allocation, work.queue);
    Ok(Some(UsmArray::from_node(node, layout, out, work.queue.clone())))
}

/// Writes the result of an elementwise operation. Whether it is done.
pub(super) fn write(op: Op, operands: &[ArrayOrScalar<'_>], out: &UsmArray) -> bool {
    let Some((allocation, range)) = target(out) else { return false };
    let Some(work) = Work::of(op, operands, Some(out)) else { return false };
    let Some(function) = Function::of(out.device(), op, work.dtype) else { return false };
    op.result(work.dtype) == out.dtype && run(&function, &work.operands, (allocation, range), out.len())
}

/// Writes a value, or the elements of an array of the same dtype. Whether it is done.
pub(super) fn assign(source: &ArrayOrScalar<'_>, out: &UsmArray) -> bool {
    let Some((allocation, range)) = target(out) else { return false };
    let operand = match source {
        ArrayOrScalar::Array(array) if array.dtype == out.dtype && array.queue == out.queue => {
            match placed(array, out.shape(), order_of(out)) {
                Some(operand) => operand,
                None => return false,
            }
        }
        ArrayOrScalar::Array(_) => return false,
        ArrayOrScalar::Scalar(value) => Operand::Value(value.cast(out.dtype)),
        ArrayOrScalar::Weak(value) => match value.to_scalar(out.dtype) {
            Ok(value) => Operand::Value(value),
            Err(_) => return false,
        },
    };
    let Some(function) = Function::of(out.device(), Op::Copy, out.dtype) else { return false };
    run(&function, &[operand], (allocation, range), out.len())
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

/// An elementwise operation whose operands are of one dtype, in memory, of one queue, and in one order.
struct Work<'a> {
    queue: &'a Queue,
    kind: UsmKind,
    dtype: Dtype,
    shape: &'a [usize],
    column_major: bool,
    operands: SmallVec<[Operand<'a>; MAX_OPERANDS]>,
}

impl<'a> Work<'a> {
    fn of(op: Op, operands: &[ArrayOrScalar<'a>], out: Option<&'a UsmArray>) -> Option<Self> {
        if operands.len() != op.arity() || operands.len() > MAX_OPERANDS || op == Op::Cast {
            return None;
        }
        let arrays = || {
            operands.iter().filter_map(|operand| match operand {
                ArrayOrScalar::Array(array) => Some(*array),
                _ => None,
            })
        };
        // The one with the most elements says the shape; the others fit it, or the work is not done here.
        let largest =
            arrays().reduce(|a, b| if (b.len(), b.ndim()) > (a.len(), a.ndim()) { b } else { a })?;
        let (queue, dtype) = (&largest.queue, largest.dtype);
        let shape = out.map_or(largest.shape(), |out| out.shape());
        let small = largest.bytes() <= EAGER_BYTES && !largest.is_empty();
        if !small || largest.shape() != shape || !op.allows(dtype) || !at_once(queue) {
            return None;
        }
        if out.is_some_and(|out| out.queue != *queue) || (op.wants_float() && !dtype.kind().is_inexact()) {
            return None;
        }
        let order = out.and_then(order_of).or_else(|| order_of(largest));
        let mut work = Self {
            queue,
            kind: largest.usm_kind(),
            dtype,
            shape,
            column_major: order == Some(Order::F),
            operands: SmallVec::new(),
        };
        for operand in operands {
            work.operands.push(match operand {
                ArrayOrScalar::Array(array) if array.dtype == dtype && array.queue == *queue => {
                    work.kind = work.kind.combine(array.usm_kind());
                    placed(array, shape, order)?
                }
                ArrayOrScalar::Array(_) => return None,
                ArrayOrScalar::Scalar(value) if value.dtype() == dtype => Operand::Value(*value),
                ArrayOrScalar::Scalar(_) => return None,
                ArrayOrScalar::Weak(value) => {
                    let support = queue.device().dtype_support();
                    let joint = result_type(&[dtype], &[*value], support).ok()?;
                    if joint != dtype {
                        return None;
                    }
                    Operand::Value(value.to_scalar(dtype).ok()?)
                }
            });
        }
        Some(work)
    }
}
