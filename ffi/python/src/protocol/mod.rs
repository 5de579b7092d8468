//! Arrays of others: what is taken as an array without being one of ours.

mod arrow;
mod buffer;
mod cuda;
mod described;
mod dlpack;
pub(crate) mod numpy;
pub(crate) mod sycl;

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use stridewise::{Error, Queue, UsmArray, UsmMemory};
use stridewise_exchange::host::{GiveBack, Strided, host_queue, is_host_queue};

use crate::errors::{Fault, Result};
use crate::wording;

/// What an array of others may become here.
pub(crate) struct Request<'a> {
    /// The queue that the array is to be associated with, where the caller names one.
    pub(crate) queue: Option<&'a Queue>,
    /// `Some(false)`: the memory is to be used as it is, or the import fails. `Some(true)`: it is to be copied.
    pub(crate) copy: Option<bool>,
}

/// A way to take an array of others; `None` where the object does not follow the protocol.
type Import = fn(&Bound<'_, PyAny>, &Request<'_>) -> Result<Option<UsmArray>>;

/// The protocols, in the order in which they are tried; one line each.
const PROTOCOLS: &[Import] = &[
    sycl::import,
    dlpack::import,
    cuda::import,
    numpy::import,
    buffer::import,
    arrow::import,
    numpy::import_made,
];

/// The array that an object of others is in USM memory, which has a queue; `None` where it is none.
pub(crate) fn import_usm(object: &Bound<'_, PyAny>, request: &Request<'_>) -> Result<Option<UsmArray>> {
    sycl::import(object, request)
}

/// The array that an object of others is, by the first protocol that it follows; `None` where it follows none.
pub(crate) fn import(object: &Bound<'_, PyAny>, request: &Request<'_>) -> Result<Option<UsmArray>> {
    // NumPy's own arrays follow several, and this one costs a tenth of the first one's calls.
    if numpy::is_array(object)
        && let Ok(Some(array)) = buffer::import(object, request)
    {
        return Ok(Some(array));
    }
    for protocol in PROTOCOLS {
        if let Some(array) = protocol(object, request)? {
            return Ok(Some(array));
        }
    }
    Ok(None)
}

/// A way to take memory of others; `None` where the object does not follow the protocol.
type ImportMemory = fn(&Bound<'_, PyAny>) -> Result<Option<UsmMemory>>;

/// The protocols of memory, in the order in which they are tried; one line each.
const MEMORY_PROTOCOLS: &[ImportMemory] = &[sycl::import_memory];

/// The memory that an object of others is or views; `None` where it follows no protocol.
pub(crate) fn import_memory(object: &Bound<'_, PyAny>) -> Result<Option<UsmMemory>> {
    for protocol in MEMORY_PROTOCOLS {
        if let Some(memory) = protocol(object)? {
            return Ok(Some(memory));
        }
    }
    Ok(None)
}

/// The array of described elements: on them, or with a copy where they cannot be an array's as they are and one may be made.
///
/// # Safety
/// As for [`Strided::import`].
unsafe fn taken(
    strided: &Strided<'_>,
    swapped: bool,
    request: &Request<'_>,
    give_back: GiveBack,
) -> Result<UsmArray> {
    let queue = working_queue(request.queue)?;
    // SAFETY: the caller's promise.
    let array = unsafe {
        match request.copy != Some(false) && (swapped || !strided.is_adoptable()) {
            true => strided.copied(&queue, swapped, give_back),
            false => strided.import(&queue, give_back),
        }
    };
    array.map_err(refusal)
}

/// Whether a queue works on memory of the processor in place. One of SYCL does so only in memory that was allocated through
/// it.
pub(crate) fn works_in_place(queue: &Queue) -> bool {
    is_host_queue(queue) && !sycl::is_of_sycl(queue)
}

/// The queue that works on memory of the processor in place: the one that is asked for where it does, else the host's.
fn working_queue(asked: Option<&Queue>) -> Result<Queue> {
    match asked.filter(|queue| works_in_place(queue)) {
        Some(queue) => Ok(queue.clone()),
        None => Ok(host_queue()?),
    }
}

/// The exception for an exchange that does not come about: a BufferError where the array is none that can be exchanged so.
fn refusal(error: Error) -> Fault {
    match error {
        Error::Unsupported(_) | Error::Borrow(_) | Error::HostAccess(_) => {
            Fault::Python(PyBufferError::new_err(wording::in_python(error.to_string())))
        }
        other => Fault::Core(other),
    }
}

/// Adds the functions of the protocols to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    dlpack::register(module)?;
    numpy::register(module)
}
