//! DLPack: arrays handed to other libraries, and taken from them, without a copy.

use stridewise_exchange::dlpack::{DLManagedTensor, DLManagedTensorVersioned, ManagedTensor, export, import};

use crate::array::sw_array;
use crate::caller::Caller;
use crate::handle::{get, give};
use crate::queue::sw_queue;
use crate::status::{entry, sw_status};

/// # Safety
/// As for [`entry`].
unsafe fn send<M: ManagedTensor>(array: *const sw_array, tensor: *mut *mut M) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.pointer("tensor", tensor)?;
        out.set(export::<M>(&*get("array", array)?, false)?.as_ptr());
        Ok(())
    };
    // SAFETY: the contract is the caller's.
    unsafe { entry(body) }
}

/// # Safety
/// As for [`entry`], and what [`import`] asks for.
unsafe fn receive<M: ManagedTensor>(
    queue: *const sw_queue,
    tensor: *mut M,
    array: *mut *mut sw_array,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("array", array)?;
        let queue = get("queue", queue)?;
        // SAFETY: the caller's promise; on success the tensor is the array's.
        let imported = unsafe { import(tensor, &queue)? };
        give(out, imported)
    };
    // SAFETY: the contract is the caller's.
    unsafe { entry(body) }
}

/// Exports an array in memory that host code may touch as a tensor of DLPack 1.x that shares the memory. Work on it is done
/// when this returns. Whoever takes the tensor calls its deleter once, from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_to_dlpack(
    array: *const sw_array,
    tensor: *mut *mut DLManagedTensorVersioned,
) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { send(array, tensor) }
}

/// As sw_array_to_dlpack, in the form from before DLPack 1.0, which read-only arrays have none of.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_to_dlpack_legacy(
    array: *const sw_array,
    tensor: *mut *mut DLManagedTensor,
) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { send(array, tensor) }
}

/// Takes a tensor of DLPack 1.x in the processor's memory as an array that shares its memory, on a queue of the host. The
/// tensor's deleter is called when no array is on the memory any more and the work on it is done, from whichever thread
/// that is. Every field is checked; where this call fails, the tensor is still the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_from_dlpack(
    queue: *const sw_queue,
    tensor: *mut DLManagedTensorVersioned,
    array: *mut *mut sw_array,
) -> sw_status {
    // SAFETY: the contract of this crate, and of this function.
    unsafe { receive(queue, tensor, array) }
}

/// As sw_array_from_dlpack, for the form from before DLPack 1.0, which cannot say that the memory may be written: the array
/// is read-only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_from_dlpack_legacy(
    queue: *const sw_queue,
    tensor: *mut DLManagedTensor,
    array: *mut *mut sw_array,
) -> sw_status {
    // SAFETY: the contract of this crate, and of this function.
    unsafe { receive(queue, tensor, array) }
}
