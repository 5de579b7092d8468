//! Contexts.

use std::hash::{Hash, Hasher};

use pyo3::prelude::*;
use stridewise::Context;

use super::device::PyDevice;
use crate::errors::Result;

/// The devices that memory is bound to.
///
/// Context(devices): a new context of devices of one driver.
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
    fn new(devices: Vec<Py<PyDevice>>) -> Result<Self> {
        let devices: Vec<_> = devices.iter().map(|device| device.get().0.clone()).collect();
        Ok(Self(Context::new(&devices)?))
    }
    /// The devices.
    #[getter]
    fn devices(&self) -> Vec<PyDevice> {
        self.0.devices().iter().cloned().map(PyDevice).collect()
    }
    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}
