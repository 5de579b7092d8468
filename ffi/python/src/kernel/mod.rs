//! Kernels that users write, in Python or (`source.rs`) in forms of other systems: the builder that the reader of their source calls, and launches. What a kernel may say
//! is the reader's (`stridewise/_kernel/`), every rule of kernels is the engine's.

mod builder;
pub(crate) mod diagnostic;
pub(crate) mod launch;
pub(crate) mod range;
pub(crate) mod source;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use stridewise::{Dtype, Op};

/// The operations that kernels have: how many operands each takes, whether integers become floats first, and whether it takes
/// booleans.
#[pyfunction]
fn _operations(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let operations = PyDict::new(py);
    for op in Op::ALL.iter().filter(|op| !matches!(op, Op::Cast | Op::Philox)) {
        operations.set_item(op.name(), (op.arity(), op.wants_float(), op.allows(Dtype::Bool)))?;
    }
    Ok(operations)
}

/// Adds the classes and functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<builder::PyBuilder>()?;
    module.add_class::<builder::PyValue>()?;
    module.add_class::<builder::PyVariable>()?;
    module.add_class::<builder::PyObject>()?;
    module.add_class::<launch::PyCompiled>()?;
    module.add_class::<launch::PyLauncher>()?;
    // Classes of `stridewise.kernel_api`, not of the package itself.
    module.add("_Range", module.py().get_type::<range::PyRange>())?;
    module.add("_NdRange", module.py().get_type::<range::PyNdRange>())?;
    module.add("_LocalAccessor", module.py().get_type::<range::PyLocalAccessor>())?;
    source::register(module)?;
    module.add_function(wrap_pyfunction!(_operations, module)?)?;
    module.add_function(wrap_pyfunction!(diagnostic::_kernel_error, module)?)
}
