//! `out=`: results written to an array that there is already.

use pyo3::prelude::*;
use stridewise::{Casting, Dtype, DtypeKind, Op, UsmArray, can_cast};

use crate::array::PyArray;
use crate::array::operand::Given;
use crate::dtype;
use crate::errors::Result;

/// The dtype that the elements of a fold are converted to first: the one named, else that of `out` where it is a float or complex one
/// that holds all of theirs.
pub(crate) fn folded_in(
    x: &UsmArray,
    dtype: Option<Dtype>,
    out: Option<&Bound<'_, PyArray>>,
) -> Option<Dtype> {
    dtype.or_else(|| {
        let held = out?.get().array().dtype();
        let inexact = matches!(held.kind(), DtypeKind::Float | DtypeKind::Complex);
        (inexact && held != x.dtype() && can_cast(x.dtype(), held, Casting::Safe)).then_some(held)
    })
}

/// See [`folded_in`]: for folds that `_masked.py` composes of others.
#[pyfunction]
#[pyo3(name = "_folded_in")]
fn folded_in_of_python<'py>(
    py: Python<'py>,
    x: Given<'py>,
    dtype: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyArray>>,
) -> Result<Option<Py<dtype::PyDtype>>> {
    let x: &UsmArray = x.array();
    let dtype = dtype::optional(dtype, x.device().dtype_support())?;
    Ok(folded_in(x, dtype, out).map(|dtype| dtype::object(py, dtype)).transpose()?)
}

/// Adds the function to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    super::add_functions!(module: folded_in_of_python);
    Ok(())
}

/// Computes an array, and writes it to `out` where that is given; the result is then `out` itself.
///
/// # Errors
/// What the computation reports; `ValueError` where `out` has another shape or is read-only, `TypeError` where its dtype
/// cannot hold the result.
pub(crate) fn deliver<'py>(
    py: Python<'py>,
    out: Option<&Bound<'py, PyArray>>,
    compute: impl FnOnce() -> stridewise::Result<UsmArray> + Send,
) -> Result<Bound<'py, PyArray>> {
    let Some(out) = out else { return Ok(Bound::new(py, PyArray::from(py.detach(compute)?))?) };
    let target: &UsmArray = &out.get().array();
    py.detach(|| -> stridewise::Result<()> {
        let result = compute()?;
        target.write_elementwise(Op::Copy, &[(&result).into()], &[])?;
        Ok(())
    })?;
    Ok(out.clone())
}
