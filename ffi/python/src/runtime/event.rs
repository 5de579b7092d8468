//! Events.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use stridewise::Event;
use stridewise::backend::EventStatus;

use crate::errors::{Fault, Result, raise, shown};
use crate::objects;

/// The completion of submitted work. Event(): one that is complete.
#[pyclass(name = "Event", module = "stridewise", frozen)]
#[derive(Clone)]
pub(crate) struct PyEvent(pub(crate) Event);

/// The events that an argument names: one, a sequence of them, or None for none.
///
/// # Errors
/// `TypeError` for anything else.
pub(crate) fn events_of(argument: Option<&Bound<'_, PyAny>>) -> Result<Vec<Event>> {
    let Some(argument) = argument.filter(|argument| !argument.is_none()) else { return Ok(Vec::new()) };
    if let Ok(event) = argument.cast::<PyEvent>() {
        return Ok(vec![event.get().0.clone()]);
    }
    let wrong = |found: &Bound<'_, PyAny>| -> Fault {
        let found = shown(found);
        Fault::Python(PyTypeError::new_err(format!(
            "`depends` has {found}; expected an Event or a sequence of Events; help: methods that submit work return one"
        )))
    };
    if argument.try_iter().is_err() {
        return Err(wrong(argument));
    }
    objects::values(argument, |item| {
        item.cast::<PyEvent>().map(|event| event.get().0.clone()).map_err(|_| wrong(&item))
    })
}

#[pymethods]
impl PyEvent {
    #[new]
    fn new() -> Self {
        Self(Event::ready())
    }
    /// Blocks until the work is done; raises what made it fail.
    fn wait(&self, py: Python<'_>) -> Result<()> {
        Ok(py.detach(|| self.0.wait())?)
    }
    /// In a coroutine of asyncio: waits as `wait` does, without blocking the loop, whose executor has a thread for it.
    fn __await__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let running = py.import("asyncio")?.call_method0("get_running_loop")?;
        // A callback would have to be called by a thread of the engine, which others count on while it waited for Python.
        let future = running.call_method1("run_in_executor", (py.None(), slf.getattr("wait")?))?;
        future.call_method0("__await__")
    }
    /// Waits for an event or for all of a sequence, the failed ones too; raises the first failure.
    #[staticmethod]
    fn wait_for(py: Python<'_>, events: &Bound<'_, PyAny>) -> Result<()> {
        let events = events_of(Some(events))?;
        Ok(py.detach(|| Event::wait_all(&events))?)
    }
    /// Where the work is: "submitted", "running", "complete" or "failed". Never blocks.
    #[getter]
    fn status(&self) -> &'static str {
        match self.0.status() {
            EventStatus::Submitted => "submitted",
            EventStatus::Running => "running",
            EventStatus::Complete => "complete",
            EventStatus::Failed => "failed",
        }
    }
    /// As `status`.
    #[getter]
    fn execution_status(&self) -> &'static str {
        self.status()
    }
    /// Whether the work is done or has failed. Never blocks.
    #[getter]
    fn is_done(&self) -> bool {
        self.0.status().is_terminal()
    }
    /// The exception of work that failed, or None. Never blocks.
    #[getter]
    fn error(&self) -> Option<PyErr> {
        self.0.error().as_ref().map(raise)
    }
    /// The events that the work had to wait for and that were unfinished when it was submitted.
    fn get_wait_list(&self) -> Vec<Self> {
        self.0.wait_list().into_iter().map(Self).collect()
    }
    /// When the work was submitted, in nanoseconds from a beginning that all events of a device have.
    ///
    /// Raises NotImplementedError where the queue has no profiling, ValueError before the work is done; as the other
    /// times do.
    #[getter]
    fn profiling_info_submit(&self) -> Result<u128> {
        Ok(self.0.profiling_info()?.submitted.as_nanos())
    }
    /// When the work began, in nanoseconds.
    #[getter]
    fn profiling_info_start(&self) -> Result<u128> {
        Ok(self.0.profiling_info()?.started.as_nanos())
    }
    /// When the work ended, in nanoseconds.
    #[getter]
    fn profiling_info_end(&self) -> Result<u128> {
        Ok(self.0.profiling_info()?.ended.as_nanos())
    }
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }
    /// Events are what they stand for: there is only one of each.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
    fn __repr__(&self) -> String {
        format!("<Event: {}>", self.status())
    }
}
