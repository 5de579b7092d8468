//! Columns on their way out.

use std::ffi::c_void;

use stridewise_core::memory::heap;
use stridewise_core::{Dtype, Error, Lease, Order, Result, UsmArray};

use super::{ArrowArray, ArrowDeviceArray, ArrowSchema, format_of};
use crate::dlpack::{self, DL_CPU};
use crate::host::{check_visible, visible_copy};

/// Where a column without elements is: Arrow wants an address, at which nobody reads.
#[repr(align(64))]
struct Nowhere([u8; 64]);
static NOWHERE: Nowhere = Nowhere([0; 64]);

/// What the buffers of a column point into.
enum Elements {
    /// The array's own memory.
    Shared { _memory: Lease },
    /// Truth values, eight to a byte.
    Bits { _bits: Vec<u8> },
}

/// What an exported column's pointers point into. It stays where it is until it is given back.
struct Exported {
    /// No places without a value, and the values.
    buffers: [*const c_void; 2],
    _elements: Elements,
}

/// The type of a column with the elements of an array.
///
/// # Errors
/// [`Error::Dtype`] for dtypes that Arrow has not.
pub fn export_schema(dtype: Dtype) -> Result<ArrowSchema> {
    // Everything in it is static, so there is nothing to free.
    unsafe extern "C" fn release(schema: *mut ArrowSchema) {
        // SAFETY: called with the structure that it stands in, or its copy elsewhere, or null.
        if let Some(schema) = unsafe { schema.as_mut() } {
            schema.release = None;
        }
    }
    Ok(ArrowSchema {
        format: format_of(dtype)?.as_ptr(),
        name: c"".as_ptr(),
        release: Some(release),
        ..ArrowSchema::empty()
    })
}

/// Refuses an array that is no column.
fn check(array: &UsmArray) -> Result<()> {
    format_of(array.dtype())?;
    if array.ndim() == 1 {
        return Ok(());
    }
    Err(Error::shape(
        "array",
        format!("of shape {:?}", array.shape()),
        "one dimension, as Arrow's arrays have",
        "reshape it to one, or hand over a column",
    ))
}

/// Exports an array as a column that shares its memory where host code may touch that, where its elements lie one after the other, and
/// are no truth values; else one with a copy. All work on the memory is complete when this returns, and until the column is given
/// back work on it is complete when the call returns that asks for it. It may be given back by any thread.
///
/// # Errors
/// [`Error::Dtype`] for dtypes that Arrow has not, [`Error::Shape`] for other than one dimension; [`Error::Alloc`]; the failure of work
/// on the memory.
pub fn export(array: &UsmArray) -> Result<ArrowArray> {
    check(array)?;
    let visible = match check_visible(array) {
        Ok(()) => array.clone(),
        Err(_) => visible_copy(array)?,
    };
    column(&visible)
}

/// As [`export`], and in the memory of the array's device where the host may not touch that and the device has a number of DLPack's.
///
/// # Errors
/// As for [`export`].
pub fn export_to_device(array: &UsmArray) -> Result<ArrowDeviceArray> {
    check(array)?;
    let place = dlpack::device_of(array).ok().filter(|place| place.device_type != DL_CPU);
    let (array, device_id, device_type) = match place {
        Some(place) if array.dtype() != Dtype::Bool => {
            (column(array)?, i64::from(place.device_id), place.device_type)
        }
        _ => (export(array)?, -1, DL_CPU),
    };
    Ok(ArrowDeviceArray { array, device_id, device_type, sync_event: std::ptr::null_mut(), reserved: [0; 3] })
}

/// A column of elements where they are.
fn column(array: &UsmArray) -> Result<ArrowArray> {
    let length = array.len();
    let (elements, data) = if length == 0 {
        (Elements::Bits { _bits: Vec::new() }, NOWHERE.0.as_ptr())
    } else if array.dtype() == Dtype::Bool {
        let bits = packed(&array.to_vec::<bool>()?)?;
        let data = bits.as_ptr();
        (Elements::Bits { _bits: bits }, data)
    } else {
        let dense = if array.flags().c_contiguous { array.clone() } else { array.copy_in(Order::C)? };
        let memory = dense.usm_data()?.lend()?;
        // In range: the layout was checked against the allocation.
        let start = memory.ptr().byte_offset((dense.offset() * dense.itemsize()).cast_signed());
        (Elements::Shared { _memory: memory }, start.as_ptr().cast_const())
    };
    // In a box, nothing moves any more.
    let exported =
        Box::into_raw(Box::new(Exported { buffers: [std::ptr::null(), data.cast()], _elements: elements }));
    // SAFETY: the box has just been given up to this pointer, and nobody else has it yet.
    let buffers = unsafe { (*exported).buffers.as_mut_ptr() };
    Ok(ArrowArray {
        // An allocation has fewer bytes than `isize` counts.
        length: length as i64,
        n_buffers: 2,
        buffers,
        release: Some(release),
        private_data: exported.cast(),
        ..ArrowArray::empty()
    })
}

/// Truth values, eight to a byte, from the least bit on.
fn packed(values: &[bool]) -> Result<Vec<u8>> {
    let mut bits = heap::with_capacity("array", values.len().div_ceil(8))?;
    bits.extend(values.chunks(8).map(|chunk| {
        chunk.iter().enumerate().fold(0_u8, |byte, (place, &value)| byte | u8::from(value) << place)
    }));
    Ok(bits)
}

/// Gives an exported column back.
unsafe extern "C" fn release(array: *mut ArrowArray) {
    // What is in the box may go on any thread.
    const fn sends<T: Send>() {}
    const { sends::<Elements>() };
    // SAFETY: called with a structure that `column` has made, or its copy elsewhere, or null.
    let Some(array) = (unsafe { array.as_mut() }) else { return };
    array.release = None;
    // SAFETY: the private data of `column` is the box that its pointers point into, and only who has not given the structure back
    // calls this.
    drop(unsafe { Box::from_raw(array.private_data.cast::<Exported>()) });
}
