//! `out=`: results written to an array that there is already.

use pyo3::prelude::*;
use stridewise::{Op, UsmArray};

use crate::array::PyArray;
use crate::errors::Result;

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
