//! Joining arrays. Every input is a strided copy into its part of the output; all of them are one submission.
//!
//! As separate commands each copy would have its waits, its event and its way to the threads, and recorded
//! inputs would be stored first and copied then. So a submission takes several plans, of which each computes
//! one input straight into its part of the output, by the program that it is (`lazy::concat_parts`). The host
//! gives small plans of a command to workers whole and splits large ones; small joins without gaps are
//! immediate (`memory/immediate/join.rs`); on a GPU copies next to each other are one kernel. The cost: a
//! failure of one part fails the whole command, and an input that appears twice is read twice.
//!
//! Measured by two threads (machine not recorded): immediate joins of 16 elements 4940 to 2180 instructions,
//! 540 to 250 ns, of 1 Ki elements 530 to 290 ns; joins of 64 Ki along axis 1 34.2 to 21.6 µs. Of very many
//! small arrays, a plan for each is most of the time.

use std::borrow::Borrow;

use super::UsmArray;
use crate::backend::check_interrupt;
use crate::error::{Error, Result};
use crate::layout::{Dims, Layout, Order, normalize_axis};
use crate::lazy::immediate;
use crate::lazy::{Part, concat_parts};
use crate::memory::{UsmKind, heap};
use crate::promotion::result_type;
use crate::runtime::{Event, Queue, common_queue};

pub(super) fn placement(arrays: &[&UsmArray]) -> Result<Queue> {
    // Names are for the error.
    if let [first, others @ ..] = arrays
        && others.iter().all(|array| array.queue() == first.queue())
    {
        return Ok(first.queue().clone());
    }
    let names = heap::collect("arrays", (0..arrays.len()).map(|i| format!("arrays[{i}]")))?;
    let queues = names.iter().map(String::as_str).zip(arrays.iter().map(|a| a.queue()));
    common_queue(&heap::collect("arrays", queues)?).cloned()
}

/// Joins arrays along an axis that exists; with `None`, all elements in row-major order. Dtypes are promoted, the result
/// inherits the queue and the strongest USM kind.
///
/// # Errors
/// [`Error::Shape`] where the other extents differ, [`Error::Axis`], [`Error::ExecutionPlacement`], [`Error::Value`] for
/// no arrays.
pub fn concat(arrays: &[&UsmArray], axis: Option<isize>) -> Result<UsmArray> {
    let queue = placement(arrays)?;
    let Some(axis) = axis else {
        let flat = heap::try_collect("arrays", arrays.iter().map(|a| a.reshape(&[-1])))?;
        return concat(&heap::collect("arrays", &flat)?, Some(0));
    };
    let axis = normalize_axis("axis", axis, arrays[0].ndim())?;
    let mut shape = Dims::from_slice(arrays[0].shape());
    shape[axis] = 0;
    for (number, array) in arrays.iter().enumerate() {
        let fits = array.ndim() == shape.len()
            && array.shape().iter().zip(&shape).enumerate().all(|(a, (x, y))| a == axis || x == y);
        let longer = if fits { shape[axis].checked_add(array.shape()[axis]) } else { None };
        let Some(longer) = longer else {
            return Err(Error::shape(
                format!("arrays[{number}]"),
                format!("of shape {:?}", array.shape()),
                format!("the shape of arrays[0], {:?}, but for axis {axis}", arrays[0].shape()),
                "reshape or slice the arrays so that the other extents agree",
            ));
        };
        shape[axis] = longer;
    }
    let mut dtype = arrays[0].dtype();
    if arrays.iter().any(|array| array.dtype() != dtype) {
        let dtypes = heap::small::<[_; 4]>("arrays", arrays.iter().map(|a| a.dtype()))?;
        dtype = result_type(&dtypes, &[], queue.device().dtype_support())?;
    }
    let kind = arrays.iter().map(|a| a.usm_kind()).fold(UsmKind::Host, UsmKind::combine);
    if let Some(elements) = immediate::join(arrays, axis, dtype, kind, &queue)? {
        return Ok(UsmArray::of(elements, Layout::contiguous(&shape, Order::C)?, dtype, queue));
    }
    let out = UsmArray::builder(&shape).dtype(dtype).buffer(kind).queue(&queue).build()?;
    concat_into(arrays, axis, &out)?;
    Ok(out)
}

/// Joins arrays along a new axis, at this place of the result.
///
/// # Errors
/// As for [`concat()`].
pub fn stack(arrays: &[&UsmArray], axis: isize) -> Result<UsmArray> {
    let expanded = heap::try_collect("arrays", arrays.iter().map(|a| a.expand_dims(&[axis])))?;
    if let Some((number, other)) = arrays.iter().enumerate().find(|(_, a)| a.shape() != arrays[0].shape()) {
        return Err(Error::shape(
            format!("arrays[{number}]"),
            format!("of shape {:?}", other.shape()),
            format!("the shape of arrays[0], {:?}", arrays[0].shape()),
            "arrays are stacked only if their shapes agree",
        ));
    }
    concat(&heap::collect("arrays", &expanded)?, Some(axis))
}

/// Parts that are submitted together at most: it is some tens of milliseconds until they are.
const TOGETHER: usize = 1 << 13;

/// Copies each array into its part of `out`, one after the other along an axis.
pub(super) fn concat_into(arrays: &[&UsmArray], axis: usize, out: &UsmArray) -> Result<()> {
    let mut start = 0;
    for arrays in arrays.chunks(TOGETHER) {
        if start > 0 {
            check_interrupt()?;
        }
        let parts = arrays.iter().map(|&array| {
            let extent = array.shape()[axis];
            let part = out.narrow(axis, start, extent);
            start += extent;
            (array, part)
        });
        copy_parts(out.queue(), &heap::small::<[_; 4]>("arrays", parts)?)?;
    }
    Ok(())
}

/// Copies arrays to others of their shape, which do not overlap, as one submission.
pub(super) fn copy_parts<A: Borrow<UsmArray>>(queue: &Queue, parts: &[(A, UsmArray)]) -> Result<Event> {
    if immediate::assign_all(parts) {
        return Ok(Event::ready());
    }
    let part = |(from, to): &(A, UsmArray)| {
        Ok(Part { recorded: from.borrow().as_expression(to.dtype())?, target: to.as_target()? })
    };
    concat_parts(queue, &heap::try_collect("arrays", parts.iter().map(part))?, &[])
}
