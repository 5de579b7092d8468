//! Products of matrices and vectors. What the array API has in `linalg` alone is in the module `_linalg`, for
//! `stridewise.linalg`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyInt;
use stridewise::UsmArray;

use super::output::deliver;
use crate::arguments;
use crate::array::PyArray;
use crate::array::construct::integers;
use crate::array::operand::{Given, together};
use crate::dtype;
use crate::errors::{Fault, Result, shown};
use crate::objects;

/// The matrix product. Matrices are the last two dimensions, the others are broadcast; a vector is a row on the left and a
/// column on the right, whose dimension then goes. Dtypes are promoted.
///
/// out: an array of the result's shape to write to.
///
/// Raises ValueError where the summed extents differ or the others do not broadcast, OutOfBoundsError for an operand of no
/// dimensions, TypeError for bool, ExecutionPlacementError where the queues differ.
#[pyfunction]
#[pyo3(signature = (x1, x2, /, *, out=None))]
fn matmul<'py>(
    py: Python<'py>,
    mut x1: Given<'py>,
    mut x2: Given<'py>,
    #[pyo3(from_py_with = arguments::out)] out: Option<Bound<'py, PyArray>>,
) -> Result<Bound<'py, PyArray>> {
    together!(x1, x2);
    let (x1, x2) = (x1.array(), x2.array());
    deliver(py, out.as_ref(), || x1.matmul(x2))
}

/// A view with the last two axes exchanged. Raises OutOfBoundsError with fewer than two dimensions.
#[pyfunction]
#[pyo3(signature = (x, /))]
fn matrix_transpose(x: Given<'_>) -> Result<PyArray> {
    Ok(x.array().matrix_transpose()?.into())
}

/// The sum over an axis of the products of x1's elements, conjugated, with x2's. The axis is counted from the end, among
/// the dimensions that both have; the others are broadcast.
///
/// Raises ValueError where the summed extents differ or the others do not broadcast, OutOfBoundsError for an axis out of
/// range, TypeError for bool, ExecutionPlacementError where the queues differ.
#[pyfunction]
#[pyo3(signature = (x1, x2, /, *, axis=-1), text_signature = "(x1, x2, /, *, axis=-1)")]
fn vecdot(
    py: Python<'_>,
    mut x1: Given<'_>,
    mut x2: Given<'_>,
    #[pyo3(from_py_with = arguments::whole)] axis: isize,
) -> Result<PyArray> {
    together!(x1, x2);
    let (x1, x2) = (x1.array(), x2.array());
    Ok(py.detach(|| x1.vecdot(x2, axis))?.into())
}

/// The sum of products over pairs of axes; the other axes of x1 come first in the result, then those of x2.
///
/// axes: so many of the last axes of x1 with as many of the first of x2; or a pair of axes or tuples of axes, those of x1
/// and those of x2.
///
/// Raises ValueError where extents of a pair differ, OutOfBoundsError for an axis out of range, named twice or without a
/// partner, TypeError for bool, ExecutionPlacementError where the queues differ.
#[pyfunction]
#[pyo3(
    signature = (x1, x2, /, axes=None),
    text_signature = "(x1, x2, /, axes=2)"
)]
fn tensordot(
    py: Python<'_>,
    mut x1: Given<'_>,
    mut x2: Given<'_>,
    axes: Option<&Bound<'_, PyAny>>,
) -> Result<PyArray> {
    together!(x1, x2);
    let (x1, x2) = (x1.array(), x2.array());
    let Some(axes) = axes else { return Ok(py.detach(|| x1.tensordot(x2, 2))?.into()) };
    if axes.cast::<PyInt>().is_ok() || axes.try_iter().is_err() {
        let whole = arguments::read_whole(axes, "a number, or a pair of axes or tuples of axes");
        let count = super::count("axes", whole.map_err(|error| arguments::named(py, "axes", error))?)?;
        return Ok(py.detach(|| x1.tensordot(x2, count))?.into());
    }
    let pair = objects::values(axes, Ok)?;
    let [first, second] = pair.as_slice() else {
        return Err(Fault::Python(PyValueError::new_err(format!(
            "`axes` is {}; expected a number, or a pair of axes or tuples of axes",
            shown(axes)
        ))));
    };
    let (first, second) = (integers("axes", first)?, integers("axes", second)?);
    Ok(py.detach(|| x1.tensordot(x2, (first.as_slice(), second.as_slice())))?.into())
}

/// All products of an element of one vector with one of another: a matrix with x1's along the rows. Raises ValueError
/// where an operand has not one dimension, TypeError for bool, ExecutionPlacementError where the queues differ.
#[pyfunction]
#[pyo3(signature = (x1, x2, /))]
fn outer(py: Python<'_>, mut x1: Given<'_>, mut x2: Given<'_>) -> Result<PyArray> {
    together!(x1, x2);
    let (x1, x2) = (x1.array(), x2.array());
    Ok(py.detach(|| x1.outer(x2))?.into())
}

/// The cross product of vectors of three elements along an axis of both; the other dimensions are broadcast. Raises
/// ValueError where the axis has another extent than 3, OutOfBoundsError for an axis out of range, TypeError for bool,
/// ExecutionPlacementError where the queues differ.
#[pyfunction]
#[pyo3(signature = (x1, x2, /, *, axis=-1), text_signature = "(x1, x2, /, *, axis=-1)")]
fn cross(
    py: Python<'_>,
    mut x1: Given<'_>,
    mut x2: Given<'_>,
    #[pyo3(from_py_with = arguments::whole)] axis: isize,
) -> Result<PyArray> {
    together!(x1, x2);
    let (x1, x2) = (x1.array(), x2.array());
    Ok(py.detach(|| x1.cross(x2, axis))?.into())
}

/// A diagonal of the matrices of the last two dimensions, as a view: the main one, or one offset columns to the right of
/// it, to the left where negative. Raises OutOfBoundsError with fewer than two dimensions.
#[pyfunction]
#[pyo3(signature = (x, /, *, offset=0))]
fn diagonal(x: Given<'_>, #[pyo3(from_py_with = arguments::whole)] offset: isize) -> Result<PyArray> {
    Ok(x.array().diagonal(offset)?.into())
}

/// The sum of a diagonal of the matrices of the last two dimensions. dtype: as for `sum`. Raises OutOfBoundsError with
/// fewer than two dimensions.
#[pyfunction]
#[pyo3(signature = (x, /, *, offset=0, dtype=None))]
fn trace(
    py: Python<'_>,
    x: Given<'_>,
    #[pyo3(from_py_with = arguments::whole)] offset: isize,
    dtype: Option<&Bound<'_, PyAny>>,
) -> Result<PyArray> {
    let x: &UsmArray = x.array();
    let dtype = dtype::optional(dtype, x.device().dtype_support())?;
    Ok(py.detach(|| x.trace(offset, dtype))?.into())
}

/// The error to raise about a matrix that cannot be decomposed; see `errors::no_decomposition`.
#[pyfunction]
fn no_decomposition<'py>(py: Python<'py>, text: String) -> Bound<'py, PyAny> {
    crate::errors::no_decomposition(text).into_value(py).into_bound(py).into_any()
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    super::add_functions!(module: matmul matrix_transpose vecdot tensordot);
    let inner = PyModule::new(module.py(), "_linalg")?;
    let inner = &inner;
    super::add_functions!(inner: outer cross diagonal trace);
    super::decompositions::register(inner)?;
    super::add_functions!(inner: no_decomposition);
    inner.add("LinAlgError", module.py().get_type::<crate::errors::LinAlgError>())?;
    module.setattr("_linalg", inner)?;
    Ok(())
}
