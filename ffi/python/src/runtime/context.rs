//! Contexts.

use std::hash::{Hash, Hasher};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use stridewise::Context;

use super::device::PyDevice;
use super::queue::{PyQueue, device_of};
use crate::errors::{Fault, Result};
use crate::objects;

/// The devices that memory is bound to.
///
/// Context(devices=None): a new context of devices of one driver, given as one device or a list of them; as Device,
/// filter string, or None for the default device.
#[pyclass(name = "Context", module = "stridewise", frozen, eq, hash)]
#[derive(Clone, PartialEq)]
pub(crate) struct PyContext(pub(crate) Context);

impl Hash for PyContext {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

#[pymethods]
impl PyContext {
    #[new]
    #[pyo3(signature = (devices=None))]
    fn new(devices: Option<&Bound<'_, PyAny>>) -> Result<Self> {
        let many =
            devices.filter(|given| given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>());
        let devices = match many {
            Some(many) => objects::values(many, |device| device_of(Some(&device)))?,
            None => vec![device_of(devices)?],
        };
        Ok(Self(Context::new(&devices)?))
    }
    /// The devices.
    #[getter(devices)]
    fn members(&self) -> Vec<PyDevice> {
        self.0.devices().iter().cloned().map(PyDevice::from).collect()
    }
    /// The devices.
    fn get_devices(&self) -> Vec<PyDevice> {
        self.members()
    }
    /// How many devices.
    #[getter]
    fn device_count(&self) -> usize {
        self.0.devices().len()
    }
    /// The driver's name.
    #[getter]
    fn backend(&self) -> &'static str {
        // A context has at least one device.
        self.0.devices().first().map_or("", |device| device.info().backend)
    }
    /// The queue that is kept for a device in this context (its first one where none is named), as long as anything uses
    /// it.
    #[pyo3(signature = (device=None))]
    fn queue(&self, py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> Result<PyQueue> {
        let device = match device.filter(|device| !device.is_none()) {
            Some(device) => device_of(Some(device))?,
            None => match self.0.devices().first() {
                Some(device) => device.clone(),
                None => return Err(Fault::Python(PyTypeError::new_err("a context without a device"))),
            },
        };
        Ok(PyQueue(py.detach(|| self.0.queue(&device))?))
    }
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }
    /// Contexts are what they stand for: there is only one of each.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}
