//! The two ends of a scope in which work on memory that is known outside is recorded; `_fusing.py` makes a block of them.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use stridewise::FuseScope;

use crate::errors::{Fault, Result};

#[pyfunction]
fn _fuse_begin() {
    FuseScope::begin().leave_open();
}

#[pyfunction]
fn _fuse_end(py: Python<'_>) -> Result<()> {
    // The scope is this thread's, as the function is that is called without the interpreter's lock.
    let ended = py.detach(|| FuseScope::left_open().map(FuseScope::end));
    Ok(ended.ok_or_else(|| {
        Fault::Python(PyRuntimeError::new_err(
            "fuse: no scope is open on this thread, expected the thread that entered it; help: leave a `with fuse():` where it was \
             entered",
        ))
    })??)
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_fuse_begin, module)?)?;
    module.add_function(wrap_pyfunction!(_fuse_end, module)?)
}
