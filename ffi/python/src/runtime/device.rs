//! Devices.

use std::hash::{Hash, Hasher};

use pyo3::prelude::*;
use pyo3::types::PyString;
use stridewise::Device;

use super::context::PyContext;
use super::queue::PyQueue;
use crate::errors::Result;

/// A device of this machine.
///
/// Device(filter=None): the device that a filter string such as "host", "opencl:gpu:0" or "cpu" selects; without one,
/// the default device. Raises DeviceSelectionError where no device answers to it.
#[pyclass(name = "Device", module = "stridewise", frozen, eq, hash)]
#[derive(Clone, PartialEq)]
pub(crate) struct PyDevice(pub(crate) Device);

impl Hash for PyDevice {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

#[pymethods]
impl PyDevice {
    #[new]
    #[pyo3(signature = (filter=None))]
    fn new(filter: Option<&Bound<'_, PyString>>) -> Result<Self> {
        Ok(Self(match filter {
            Some(filter) => Device::select(&filter.to_cow()?)?,
            None => stridewise::default_device()?,
        }))
    }

    /// The filter string that selects this device.
    #[getter]
    fn filter_string(&self) -> String {
        self.0.filter_string()
    }
    /// The device's name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.info().name
    }
    /// The driver's name: "host", "opencl".
    #[getter]
    fn backend(&self) -> &'static str {
        self.0.info().backend
    }
    /// "cpu", "gpu" or "accelerator".
    #[getter]
    fn device_type(&self) -> &'static str {
        self.0.info().device_type.name()
    }
    /// The device's default context.
    #[getter]
    fn default_context(&self) -> PyContext {
        PyContext(self.0.default_context())
    }
    /// The queue that arrays made on this device are associated with, always the same one.
    #[getter]
    fn queue(&self) -> Result<PyQueue> {
        Ok(PyQueue(self.0.queue()?))
    }
    fn __repr__(&self) -> String {
        format!("Device({:?})", self.0.filter_string())
    }
    fn __str__(&self) -> String {
        self.0.filter_string()
    }
}

/// The devices of this machine, without the variants that are found by name only.
#[pyfunction]
pub(crate) fn get_devices(py: Python<'_>) -> Vec<PyDevice> {
    py.detach(stridewise::devices).into_iter().map(PyDevice).collect()
}
