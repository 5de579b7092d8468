//! Devices, contexts, queues, events, graphs and timers, and what is in use, as Python objects.

pub(crate) mod context;
pub(crate) mod device;
pub(crate) mod event;
mod fuse;
mod graph;
pub(crate) mod queue;
mod seeing;
pub(crate) mod timer;
mod usage;

use pyo3::prelude::*;

/// Adds the classes and functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    device::register(module)?;
    fuse::register(module)?;
    seeing::register(module)?;
    usage::register(module)?;
    module.add_class::<context::PyContext>()?;
    module.add_class::<queue::PyQueue>()?;
    module.add_class::<event::PyEvent>()?;
    module.add_class::<graph::PyGraph>()?;
    module.add_class::<timer::PyTimer>()?;
    module.add_class::<timer::PyTimerResult>()?;
    module.add_function(wrap_pyfunction!(queue::get_execution_queue, module)?)
}
