//! The functions of the module: the array API's namespace. A theme is a file with a `register`, and a line here.

mod axes;
mod copying;
pub(crate) mod creation;
mod decompositions;
mod elementwise;
mod filling;
mod fourier;
mod groups;
mod indexing;
mod inspection;
mod linear_algebra;
mod manipulation;
mod numeric;
mod output;
pub(crate) mod placement;
mod random;
mod reduction;
pub(crate) mod sequence;
mod sorting;
mod sums;
mod types;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::{Fault, Result};

/// Adds functions of Rust to a module.
macro_rules! add_functions {
    ($module:ident: $($name:ident)*) => {
        $($module.add_function(pyo3::wrap_pyfunction!($name, $module)?)?;)*
    };
}
use add_functions;

/// A number that counts something.
///
/// # Errors
/// `ValueError` for a negative one.
fn count(name: &str, value: isize) -> Result<usize> {
    usize::try_from(value).map_err(|_| {
        Fault::Python(PyValueError::new_err(format!(
            "invalid value: `{name}` is {value}; expected 0 or more"
        )))
    })
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    creation::register(module)?;
    copying::register(module)?;
    output::register(module)?;
    elementwise::register(module)?;
    reduction::register(module)?;
    manipulation::register(module)?;
    indexing::register(module)?;
    sorting::register(module)?;
    numeric::register(module)?;
    sums::register(module)?;
    groups::register(module)?;
    linear_algebra::register(module)?;
    fourier::register(module)?;
    random::register(module)?;
    types::register(module)?;
    inspection::register(module)
}
