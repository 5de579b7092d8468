//! Arrays on their way out.

use std::ptr::NonNull;

use smallvec::SmallVec;
use stridewise_core::{Error, Lease, Result, UsmArray};

use super::{DL_CPU, DLDevice, DLTensor, FLAG_IS_COPIED, FLAG_READ_ONLY, ManagedTensor, type_of};
use crate::host::check_visible;

/// What an exported tensor's pointers point into, and the memory that they describe. It stays where it is until the
/// deleter takes it back.
struct Exported<M> {
    managed: M,
    shape: SmallVec<[i64; 4]>,
    strides: SmallVec<[i64; 4]>,
    _memory: Lease,
}

/// The device that an array's memory is exported for: the processor, where host code may touch the memory; else what the array's
/// device says ([`Capabilities::exchange`](stridewise_core::backend::Capabilities::exchange)).
///
/// # Errors
/// [`Error::Unsupported`] where host code may not touch the memory and the device has no such number.
pub fn device_of(array: &UsmArray) -> Result<DLDevice> {
    match (check_visible(array), array.device().capabilities().exchange) {
        (Err(_), Some((device_type, device_id))) => Ok(DLDevice { device_type, device_id }),
        (visible, _) => visible.map(|()| DLDevice { device_type: DL_CPU, device_id: 0 }),
    }
}

/// All devices that an array's memory can be exported for as it is: first [`device_of`], if it has one, then what its own device says
/// of memory of its kind.
#[must_use]
pub fn devices_of(array: &UsmArray) -> SmallVec<[DLDevice; 3]> {
    let mut devices: SmallVec<[DLDevice; 3]> = device_of(array).into_iter().collect();
    if let Some((device_type, device_id)) = array.device().capabilities().exchange
        && let Some(own) = type_of(device_type, array.usm_kind())
    {
        for device_type in [own, device_type] {
            let device = DLDevice { device_type, device_id };
            if !devices.contains(&device) {
                devices.push(device);
            }
        }
    }
    devices
}

/// When who takes a tensor may use it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// At once: work on it is waited for.
    Now,
    /// At once, though work on it may be under way: who takes it sees to that.
    Unordered,
    /// In a stream of the device, by its number in the protocol, which waits for the work on it.
    InStream(usize),
}

/// Exports an array as a managed tensor that shares its memory. All work on the memory is complete when this returns,
/// and until the deleter is called work on it is complete when the call returns that asks for it. The deleter may be called from any
/// thread. `copied`: nobody else has this memory.
///
/// # Errors
/// As for [`device_of`]; [`Error::Borrow`] for a read-only array in the form that cannot say so; the failure of work on
/// the memory.
pub fn export<M: ManagedTensor>(array: &UsmArray, copied: bool) -> Result<NonNull<M>> {
    let device = device_of(array)?;
    // SAFETY: no stream is named.
    unsafe { export_for(array, copied, device, When::Now) }
}

/// As [`export`], for one of [`devices_of`], which may be used when one says.
///
/// # Errors
/// As for [`export`], but for the failure of work that is not waited for.
///
/// # Safety
/// A stream that is named is there, of the array's device.
pub unsafe fn export_for<M: ManagedTensor>(
    array: &UsmArray,
    copied: bool,
    device: DLDevice,
    when: When,
) -> Result<NonNull<M>> {
    let writable = array.flags().writable;
    if !writable && !M::HAS_FLAGS {
        return Err(Error::borrow(
            "array",
            "read-only",
            "an array that may be written, for DLPack before 1.0 cannot say otherwise",
            "export a copy, or ask for DLPack 1.0 (in Python with max_version=(1, 0))",
        ));
    }
    let memory = array.usm_data()?;
    let memory = match when {
        When::Now => memory.lend()?,
        When::Unordered => memory.lend_unordered()?,
        // SAFETY: the caller's promise.
        When::InStream(stream) => unsafe { memory.lend_to(stream)? },
    };
    let start = memory.ptr();
    let data = if array.is_empty() {
        std::ptr::null_mut()
    } else {
        // In range: the layout was checked against the allocation.
        start.byte_offset((array.offset() * array.itemsize()).cast_signed()).as_ptr().cast()
    };
    let flags = if writable { 0 } else { FLAG_READ_ONLY } | if copied { FLAG_IS_COPIED } else { 0 };
    let tensor = DLTensor {
        data,
        device,
        // At most MAX_NDIM.
        ndim: array.ndim() as i32,
        dtype: array.dtype().into(),
        shape: std::ptr::null_mut(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
    // Extents and strides are within `isize`.
    let shape = array.shape().iter().map(|&extent| extent as i64).collect();
    let strides = array.strides().iter().map(|&stride| stride as i64).collect();
    let managed = M::wrap(tensor, release::<M>, flags);
    // In a box, nothing moves any more.
    let exported = Box::into_raw(Box::new(Exported { managed, shape, strides, _memory: memory }));
    // SAFETY: the box has just been given up to this pointer, and nobody else has it yet.
    let Exported { managed, shape, strides, .. } = unsafe { &mut *exported };
    let (shape, strides) = (shape.as_mut_ptr(), strides.as_mut_ptr());
    let (tensor, context) = managed.links();
    (tensor.shape, tensor.strides, *context) = (shape, strides, exported.cast());
    Ok(NonNull::from(managed))
}

/// The deleter of exported tensors.
unsafe extern "C" fn release<M: ManagedTensor>(managed: *mut M) {
    // What is in the box may go on any thread.
    const fn sends<T: Send>() {}
    const { sends::<(SmallVec<[i64; 4]>, Lease)>() };
    if managed.is_null() {
        return;
    }
    // SAFETY: whoever calls a deleter owns the tensor and calls it once, and this one stands only in tensors of `export`,
    // whose context is the box that they are in.
    drop(unsafe { Box::from_raw((*(*managed).links().1).cast::<Exported<M>>()) });
}
