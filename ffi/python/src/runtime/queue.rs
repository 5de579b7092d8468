//! Queues.

use std::hash::{Hash, Hasher};

use pyo3::prelude::*;
use pyo3::types::PyString;
use stridewise::backend::QueueProperties;
use stridewise::{Device, Queue};

use super::context::PyContext;
use super::device::PyDevice;
use crate::errors::{Fault, Result};

/// A queue of one device: where work is submitted. Two queues made separately are different and their arrays do not
/// combine; `Device.queue` is always the same one.
///
/// Queue(device=None, *, in_order=False, profiling=False): a new queue of a device, or of the one that a filter string
/// selects.
#[pyclass(name = "Queue", module = "stridewise", frozen, eq, hash)]
#[derive(Clone, PartialEq)]
pub(crate) struct PyQueue(pub(crate) Queue);

impl Hash for PyQueue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// The device that an argument is or names: a [`PyDevice`], a filter string, or `None` for the default device.
pub(crate) fn device_of(argument: Option<&Bound<'_, PyAny>>) -> Result<Device> {
    let Some(argument) = argument.filter(|argument| !argument.is_none()) else {
        return Ok(stridewise::default_device()?);
    };
    if let Ok(device) = argument.cast::<PyDevice>() {
        return Ok(device.get().0.clone());
    }
    if let Ok(queue) = argument.cast::<PyQueue>() {
        return Ok(queue.get().0.device().clone());
    }
    match argument.cast::<PyString>() {
        Ok(filter) => Ok(Device::select(&filter.to_cow()?)?),
        Err(_) => Err(Fault::Python(pyo3::exceptions::PyTypeError::new_err(format!(
            "`device` is {}; expected a Device, a Queue, a filter string such as \"host\", or None; help: \
             `stridewise.get_devices()` lists the devices",
            argument.repr()?
        )))),
    }
}

#[pymethods]
impl PyQueue {
    #[new]
    #[pyo3(signature = (device=None, *, in_order=false, profiling=false))]
    fn new(device: Option<&Bound<'_, PyAny>>, in_order: bool, profiling: bool) -> Result<Self> {
        let properties = QueueProperties { in_order, profiling, ..QueueProperties::default() };
        Ok(Self(Queue::new(&device_of(device)?, properties)?))
    }

    /// The device.
    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice(self.0.device().clone())
    }
    /// The context.
    #[getter]
    fn context(&self) -> PyContext {
        PyContext(self.0.context().clone())
    }
    /// Submits recorded work and waits until everything submitted to this queue is done.
    fn wait(&self, py: Python<'_>) -> Result<()> {
        Ok(py.detach(|| self.0.wait())?)
    }
    fn __repr__(&self) -> String {
        format!("<{}>", self.0)
    }
}

/// The queue that all of a sequence of queues are, or None where two differ or there is none.
#[pyfunction]
pub(crate) fn get_execution_queue(queues: Vec<Py<PyQueue>>) -> Option<PyQueue> {
    stridewise::get_execution_queue(queues.iter().map(|queue| &queue.get().0)).map(PyQueue)
}
