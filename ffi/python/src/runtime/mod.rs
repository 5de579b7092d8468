//! Devices, contexts, queues and events as Python objects.

pub(crate) mod context;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod queue;

use pyo3::prelude::*;

/// Adds the classes and functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<device::PyDevice>()?;
    module.add_class::<context::PyContext>()?;
    module.add_class::<queue::PyQueue>()?;
    module.add_class::<event::PyEvent>()?;
    module.add_function(wrap_pyfunction!(device::get_devices, module)?)?;
    module.add_function(wrap_pyfunction!(queue::get_execution_queue, module)?)
}
