//! The Python module `stridewise._native`: classes and functions over the engine. Every rule is the engine's; here
//! arguments are read, results are wrapped, and errors become exceptions.
//!
//! The interpreter's lock is released wherever the engine may wait, allocate, copy or submit.

mod arguments;
mod array;
mod doctor;
mod dtype;
mod errors;
mod files;
mod interprocess;
mod kernel;
mod memory;
mod namespace;
mod objects;
mod progress;
mod protocol;
mod reserve;
mod runtime;
mod wait;
mod wording;

use pyo3::prelude::*;

/// The native part of stridewise. Import `stridewise` instead.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::register(module)?;
    dtype::register(module)?;
    runtime::register(module)?;
    doctor::register(module)?;
    memory::register(module)?;
    array::register(module)?;
    files::register(module)?;
    interprocess::register(module)?;
    kernel::register(module)?;
    protocol::register(module)?;
    namespace::register(module)?;
    wait::register(module)
}
