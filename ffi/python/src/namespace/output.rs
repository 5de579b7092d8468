//! `out=`: results written to an array that there is already.

use pyo3::prelude::*;
use stridewise::{Casting, Dtype, DtypeKind, Op, UsmArray, can_cast};

use crate::array::PyArray;
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
