//! What `python -m stridewise doctor` prints.

use pyo3::prelude::*;
use stridewise::backend::Finding;

/// The text of a diagnosis, in which `python` is a part of its own, and whether there is no problem.
#[pyfunction]
fn _doctor(py: Python<'_>, python: Vec<(String, String)>) -> (String, bool) {
    py.detach(|| {
        let mut diagnosis = stridewise::doctor();
        let of_python = |(subject, text): (String, String)| Finding::fine(subject, text);
        diagnosis.add_part("python", python.into_iter().map(of_python).collect());
        (diagnosis.to_string(), diagnosis.is_healthy())
    })
}

/// Adds the function to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_doctor, module)?)
}
