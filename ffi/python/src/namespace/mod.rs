//! The functions of the module: the array API's namespace.

pub(crate) mod placement;

use pyo3::prelude::*;

/// Adds the functions to the module.
pub(crate) fn register(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
