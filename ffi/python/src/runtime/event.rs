//! Events.

use pyo3::prelude::*;
use stridewise::Event;

use crate::errors::Result;

/// The completion of submitted work.
#[pyclass(name = "Event", module = "stridewise", frozen)]
#[derive(Clone)]
pub(crate) struct PyEvent(pub(crate) Event);

#[pymethods]
impl PyEvent {
    /// Blocks until the work is done; raises what made it fail.
    fn wait(&self, py: Python<'_>) -> Result<()> {
        Ok(py.detach(|| self.0.wait())?)
    }
    /// Where the work is.
    #[getter]
    fn status(&self) -> String {
        format!("{:?}", self.0.status()).to_lowercase()
    }
}
