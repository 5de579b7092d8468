//! Other arrays on the same memory, and copies in other memory.

use stridewise::memory::heap;
use stridewise::{Error, Order, Result, SliceItem, UsmArray};

use crate::array::{SW_NONE, sw_array};
use crate::caller::{Caller, extents, signed};
use crate::codes::{self, sw_dtype, sw_usm_kind};
use crate::handle::{get, give};
use crate::queue::sw_queue;
use crate::status::{Failure, entry, sw_status};

/// A slice's kind: one element along a dimension, which goes; `start` says which, below zero from the end.
pub const SW_SLICE_INDEX: i32 = 1;
/// A slice's kind: the elements from `start` to before `stop` in steps of `step`; either end may be SW_NONE.
pub const SW_SLICE_RANGE: i32 = 2;
/// A slice's kind: a new dimension of extent 1.
pub const SW_SLICE_NEW_AXIS: i32 = 3;
/// A slice's kind: as many full dimensions as are left over.
pub const SW_SLICE_ELLIPSIS: i32 = 4;

/// One entry of an index, by NumPy's rules; made by sw_index, sw_range, sw_all, sw_new_axis and sw_ellipsis.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_slice {
    /// SW_SLICE_INDEX, SW_SLICE_RANGE, SW_SLICE_NEW_AXIS or SW_SLICE_ELLIPSIS.
    pub kind: i32,
    /// The element, or the first one.
    pub start: i64,
    /// One past the last element, in the direction of the step.
    pub stop: i64,
    /// Distance between elements, not 0.
    pub step: i64,
}

fn slice_item(item: &sw_slice) -> Result<SliceItem> {
    let number = |value: i64| {
        let help = "use smaller numbers";
        isize::try_from(value)
            .map_err(|_| Error::overflow("items", value, "a number within the address space", help))
    };
    let bound = |value: i64| if value == SW_NONE { Ok(None) } else { number(value).map(Some) };
    Ok(match item.kind {
        SW_SLICE_INDEX => SliceItem::Index(number(item.start)?),
        SW_SLICE_RANGE => {
            SliceItem::Slice { start: bound(item.start)?, stop: bound(item.stop)?, step: number(item.step)? }
        }
        SW_SLICE_NEW_AXIS => SliceItem::NewAxis,
        SW_SLICE_ELLIPSIS => SliceItem::Ellipsis,
        other => {
            return Err(Error::value(
                "items",
                format!("an item of kind {other}"),
                "SW_SLICE_INDEX, SW_SLICE_RANGE, SW_SLICE_NEW_AXIS or SW_SLICE_ELLIPSIS",
                "make items with sw_index, sw_range, sw_all, sw_new_axis and sw_ellipsis",
            ));
        }
    })
}

/// Runs what makes an array from an array.
///
/// # Safety
/// As for [`entry`].
unsafe fn from_array(
    array: *const sw_array,
    result: *mut *mut sw_array,
    make: impl FnOnce(&Caller, &UsmArray) -> Result<UsmArray, Failure>,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("result", result)?;
        let array = get("array", array)?;
        give(out, make(caller, &array)?)
    };
    // SAFETY: the contract is the caller's.
    unsafe { entry(body) }
}

/// The view of the elements that an index of `count` entries selects.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_slice(
    array: *const sw_array,
    items: *const sw_slice,
    count: usize,
    result: *mut *mut sw_array,
) -> sw_status {
    let make = |caller: &Caller, array: &UsmArray| {
        let items = caller.slice("items", items, count)?;
        let items = heap::try_collect("items", items.iter().map(slice_item))?;
        Ok(array.slice(&items)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { from_array(array, result, make) }
}

/// The view with the axes in another order; `axes` null reverses them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_transpose(
    array: *const sw_array,
    axes: *const i64,
    count: usize,
    result: *mut *mut sw_array,
) -> sw_status {
    let make = |caller: &Caller, array: &UsmArray| {
        if axes.is_null() && count == 0 {
            return Ok(array.t());
        }
        Ok(array.permute_dims(&signed("axes", caller.slice("axes", axes, count)?)?)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { from_array(array, result, make) }
}

/// The elements in another shape, of which one extent may be −1 for what is left: a view where the strides allow it, else
/// a copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_reshape(
    array: *const sw_array,
    ndim: usize,
    shape: *const i64,
    result: *mut *mut sw_array,
) -> sw_status {
    let make = |caller: &Caller, array: &UsmArray| {
        Ok(array.reshape(&signed("shape", caller.slice("shape", shape, ndim)?)?)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { from_array(array, result, make) }
}

/// The read-only view of the elements, repeated to a shape.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_broadcast(
    array: *const sw_array,
    ndim: usize,
    shape: *const i64,
    result: *mut *mut sw_array,
) -> sw_status {
    let make = |caller: &Caller, array: &UsmArray| {
        Ok(array.broadcast_to(&extents(caller.slice("shape", shape, ndim)?)?)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { from_array(array, result, make) }
}

/// A view through which nothing is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_read_only(array: *const sw_array, result: *mut *mut sw_array) -> sw_status {
    let make = |_: &Caller, array: &UsmArray| {
        let mut view = array.clone();
        view.set_writable(false);
        Ok(view)
    };
    // SAFETY: the contract of this crate.
    unsafe { from_array(array, result, make) }
}

/// The elements converted to a dtype; another handle of the array where it has the dtype.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_astype(
    array: *const sw_array,
    dtype: sw_dtype,
    result: *mut *mut sw_array,
) -> sw_status {
    let make = |_: &Caller, array: &UsmArray| Ok(array.astype(codes::dtype(dtype)?)?);
    // SAFETY: the contract of this crate.
    unsafe { from_array(array, result, make) }
}

/// A row-major copy in memory of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_copy(array: *const sw_array, result: *mut *mut sw_array) -> sw_status {
    let make = |_: &Caller, array: &UsmArray| Ok(array.copy_in(Order::C)?);
    // SAFETY: the contract of this crate.
    unsafe { from_array(array, result, make) }
}

/// The array in memory of a kind: another handle of the array where it is in such memory, else a copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_to_kind(
    array: *const sw_array,
    kind: sw_usm_kind,
    result: *mut *mut sw_array,
) -> sw_status {
    let make = |_: &Caller, array: &UsmArray| Ok(array.to_kind(codes::kind(kind)?)?);
    // SAFETY: the contract of this crate.
    unsafe { from_array(array, result, make) }
}

/// The array on another queue: a view where both queues are of one context, else a copy on the other device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_to_queue(
    array: *const sw_array,
    queue: *const sw_queue,
    result: *mut *mut sw_array,
) -> sw_status {
    let make = |_: &Caller, array: &UsmArray| {
        let queue = get("queue", queue)?;
        Ok(array.to_queue(&queue)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { from_array(array, result, make) }
}
