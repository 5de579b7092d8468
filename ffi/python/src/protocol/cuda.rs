//! Numba's `__cuda_array_interface__`, version 3, both ways: memory of CUDA devices by its address.

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use stridewise::{Queue, UsmArray, UsmPtr, each_device};
use stridewise_exchange::dlpack::DL_CUDA;
use stridewise_exchange::host::Strided;
use stridewise_exchange::typestr;

use super::described::{Described, absent, typestr_of, written};
use super::{Request, refusal};
use crate::array::PyArray;
use crate::errors::{Fault, Result};

/// The version of the interface that is written, and the newest one that is read.
const VERSION: i64 = 3;
/// The attribute.
const NAME: &str = "__cuda_array_interface__";

#[pymethods]
impl PyArray {
    /// Numba's array interface of CUDA devices, version 3. Work on the array is done, so it names no stream. Raises AttributeError for
    /// arrays on other devices, and for bfloat16, which has no type string.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        let array = &self.array();
        let exchange = array.device().capabilities().exchange;
        if exchange.is_none_or(|(device_type, _)| device_type != DL_CUDA) {
            return Err(absent(NAME, format!("the array is on {}, which is no CUDA device", array.device())));
        }
        let typestr = typestr_of(NAME, array.dtype())?;
        let address = match array.is_empty() {
            true => 0,
            false => py.detach(|| array.usm_data()?.export())?.addr() + array.offset() * array.itemsize(),
        };
        let interface = written(py, array, typestr, address, VERSION)?;
        interface.set_item("stream", py.None())?;
        Ok(interface)
    }
}

/// The queue that works on the memory of an address: the one that is asked for where it does, else that of the device.
fn queue_of(address: usize, asked: Option<&Queue>) -> Result<Option<Queue>> {
    let ptr = UsmPtr::new(std::ptr::with_exposed_provenance_mut(address));
    let mut devices = each_device().filter(|device| {
        device.capabilities().exchange.is_some_and(|(device_type, _)| device_type == DL_CUDA)
    });
    // Nothing is in no memory, so that any device will do.
    let Some(found) = devices.find(|device| address == 0 || device.backend().kind_of(ptr).is_some()) else {
        return Ok(None);
    };
    Ok(Some(match asked.filter(|asked| *asked.device() == found) {
        Some(asked) => asked.clone(),
        None => found.queue()?,
    }))
}

/// The array that an object with `__cuda_array_interface__` is, in place.
pub(super) fn import(object: &Bound<'_, PyAny>, request: &Request<'_>) -> Result<Option<UsmArray>> {
    let Some(described) = Described::read(object, NAME, &(0..=VERSION))? else { return Ok(None) };
    let data = described.needed("data")?;
    let Ok((address, read_only)) = data.extract::<(usize, bool)>() else {
        return Err(described.wrong("data", &data, "a tuple of an address and whether it is read-only"));
    };
    let dtype = typestr::dtype_of_typestr(&described.typestr()?)?;
    let (shape, strides) = (described.shape()?, described.strides()?);
    let stream = match described.entry("stream")? {
        None => None,
        Some(given) => match given.extract::<usize>() {
            Ok(number) if number > 0 => Some(number),
            _ => return Err(described.wrong("stream", &given, "None, 1, 2 or the handle of a stream")),
        },
    };
    let Some(queue) = queue_of(address, request.queue)? else {
        // Another protocol may say more.
        if object.hasattr("__array_interface__")? {
            return Ok(None);
        }
        return Err(Fault::Python(PyBufferError::new_err(format!(
            "{NAME}: address {address:#x} is in memory of no CUDA device here; expected memory that NVIDIA's driver knows; help: \
             stridewise.doctor() says why a device is not found"
        ))));
    };
    if let Some(stream) = stream {
        // SAFETY: by the interface, the stream is there, of the memory's device.
        object.py().detach(|| unsafe { queue.device().backend().follow(stream) })?;
    }
    let strided = Strided {
        data: std::ptr::with_exposed_provenance_mut(address),
        dtype,
        shape: &shape,
        byte_strides: strides.as_deref(),
        read_only,
    };
    let keeper = (object.clone().unbind(), described.interface.unbind());
    // SAFETY: the interface promises that its numbers are true and that the memory is there as long as the object is, which is held
    // until the array gives it back; a reference may be dropped from any thread.
    let array = unsafe { strided.import_of_device(&queue, Box::new(move || drop(keeper))) };
    array.map(Some).map_err(refusal)
}
