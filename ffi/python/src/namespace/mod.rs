//! The functions of the module: the array API's namespace. A theme is a file with a `register`, and a line here.

mod creation;
mod elementwise;
pub(crate) mod placement;
pub(crate) mod sequence;

use pyo3::prelude::*;

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    creation::register(module)?;
    elementwise::register(module)
}
