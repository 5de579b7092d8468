//! Copies, and pickling: the elements, the dtype, the shape, the kind and the device.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use stridewise::{Device, Dtype, Queue, UsmArray, UsmKind};

use super::PyArray;
use super::construct::shape_of;
use super::conversion::copy_out;
use crate::errors::Result;

#[pymethods]
impl PyArray {
    fn __copy__(&self, py: Python<'_>) -> Result<Self> {
        let array = &self.array();
        Ok(py.detach(|| array.copy())?.into())
    }
    /// A copy on the same queue, in memory of the same kind.
    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> Result<Self> {
        self.__copy__(py)
    }
    /// The elements are copied to the host. Where the device is not there when it is read, the default one takes its place.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Result<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let array = slf.get().array().clone();
        let bytes = PyBytes::new_with(py, array.bytes(), |bytes| Ok(copy_out(py, &array, bytes)?))?;
        let make = py.import("stridewise._native")?.getattr("_from_pickle")?;
        let shape = PyTuple::new(py, array.shape())?;
        let (kind, device) = (array.usm_kind().name(), array.device().filter_string());
        let arguments = (bytes, array.dtype().name(), shape, kind, device);
        Ok((make, arguments.into_pyobject(py)?))
    }
}

/// The array of what `__reduce__` has written.
#[pyfunction]
pub(crate) fn _from_pickle(
    py: Python<'_>,
    bytes: &[u8],
    dtype: &str,
    shape: &Bound<'_, PyAny>,
    usm_type: &str,
    device: &str,
) -> Result<PyArray> {
    let (dtype, kind, shape) = (dtype.parse::<Dtype>()?, usm_type.parse::<UsmKind>()?, shape_of(shape)?);
    let made = py.detach(|| {
        let queue =
            Device::select(device).and_then(|device| device.queue()).or_else(|_| Queue::default_queue())?;
        let array = UsmArray::empty(&queue, &shape, dtype, kind)?;
        if array.bytes() != bytes.len() {
            return Err(stridewise::Error::value(
                "bytes",
                format!("{} bytes", bytes.len()),
                format!("the {} bytes of an array of shape {shape:?} of {dtype}", array.bytes()),
                "the pickle was cut off or changed: make it again",
            ));
        }
        if !array.is_empty() {
            array.usm_data()?.copy_from_host(0, bytes)?;
        }
        Ok::<_, stridewise::Error>(array)
    })?;
    Ok(made.into())
}
