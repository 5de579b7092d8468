//! Elements at places, and elements chosen by conditions.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use stridewise::{ArrayOrScalar, IndexMode, Op, UsmArray, elementwise};

use super::output::deliver;
use super::placement::{Lie, order_of};
use crate::arguments;
use crate::array::PyArray;
use crate::array::indexing::{assigned, indices_of};
use crate::array::operand::{Given, Operand, Target, together};
use crate::errors::{Fault, Result};
use crate::objects;

/// The array to write to, where there is one.
type Out<'py> = Option<Bound<'py, PyArray>>;

/// What an index out of range is.
fn mode_of(mode: &str) -> Result<IndexMode> {
    match mode {
        "raise" => Ok(IndexMode::Check),
        "wrap" => Ok(IndexMode::Wrap),
        "clip" => Ok(IndexMode::Clip),
        other => Err(Fault::Python(PyValueError::new_err(format!(
            "`mode` is {other:?}; expected \"raise\", \"wrap\" or \"clip\"; help: \"wrap\" takes indices modulo the extent"
        )))),
    }
}

/// The elements at places along an axis, which the indices' dimensions take the place of; None: places among all elements
/// in row-major order.
///
/// indices: an array of integers; negative ones count from the end. mode: what an index out of range is: "raise", an
/// error; "wrap", taken modulo the extent; "clip", the nearest in range, a negative one 0. out: an array of the result's
/// shape to write to.
///
/// Raises OutOfBoundsError for an axis or an index out of range, TypeError for indices that are no integers,
/// ExecutionPlacementError where the queues differ.
#[pyfunction]
#[pyo3(signature = (x, indices, /, axis=None, out=None, mode="raise"))]
fn take<'py>(
    py: Python<'py>,
    x: Given<'py>,
    indices: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = arguments::optional_whole)] axis: Option<isize>,
    #[pyo3(from_py_with = arguments::out)] out: Out<'py>,
    #[pyo3(from_py_with = arguments::text)] mode: &str,
) -> Result<Bound<'py, PyArray>> {
    let (x, mode) = (x.array(), mode_of(mode)?);
    let indices = &indices_of(indices, x)?;
    deliver(py, out.as_ref(), || x.take(indices, axis, mode))
}

/// The elements at places along an axis, one place for each element of the result. Shapes are broadcast but for the axis,
/// whose extent is the indices'. Arguments and errors as for `take`; ValueError where the shapes do not broadcast.
#[pyfunction]
#[pyo3(signature = (x, indices, /, axis=-1, *, out=None, mode="raise"), text_signature = "(x, indices, /, axis=-1, *, out=None, mode='raise')")]
fn take_along_axis<'py>(
    py: Python<'py>,
    x: Given<'py>,
    indices: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = arguments::whole)] axis: isize,
    #[pyo3(from_py_with = arguments::out)] out: Out<'py>,
    #[pyo3(from_py_with = arguments::text)] mode: &str,
) -> Result<Bound<'py, PyArray>> {
    let (x, mode) = (x.array(), mode_of(mode)?);
    let indices = &indices_of(indices, x)?;
    deliver(py, out.as_ref(), || x.take_along_axis(indices, axis, mode))
}

/// Writes values, an array, a list or a number that broadcasts to the shape of the `take` with the same arguments, to its
/// elements. Of several values for one place the last stays. Errors as for `take`; ValueError where x is read-only or the
/// values do not broadcast. On an error nothing is written.
#[pyfunction]
#[pyo3(signature = (x, indices, vals, /, *, axis=None, mode="raise"))]
fn put(
    py: Python<'_>,
    x: Target<'_>,
    indices: &Bound<'_, PyAny>,
    vals: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = arguments::optional_whole)] axis: Option<isize>,
    #[pyo3(from_py_with = arguments::text)] mode: &str,
) -> Result<()> {
    let (Target(x), mode) = (x, mode_of(mode)?);
    let x = x.array();
    let (indices, values) = (&indices_of(indices, x)?, assigned(x, vals)?);
    py.detach(|| x.put(indices, values.get(), axis, mode))?;
    Ok(())
}

/// Writes values, an array, a list or a number that broadcasts to the shape of the `take_along_axis` with the same arguments, to
/// its elements. Errors as for `put`.
#[pyfunction]
#[pyo3(signature = (x, /, indices, values, axis=-1, *, mode="raise"), text_signature = "(x, /, indices, values, axis=-1, *, mode='raise')")]
fn put_along_axis(
    py: Python<'_>,
    x: Target<'_>,
    indices: &Bound<'_, PyAny>,
    values: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = arguments::whole)] axis: isize,
    #[pyo3(from_py_with = arguments::text)] mode: &str,
) -> Result<()> {
    let (Target(x), mode) = (x, mode_of(mode)?);
    let x = x.array();
    let (indices, values) = (&indices_of(indices, x)?, assigned(x, values)?);
    py.detach(|| x.put_along_axis(indices, values.get(), axis, mode))?;
    Ok(())
}

/// The places of the elements other than zero, in row-major order: for each dimension, an array of int64 indices. Raises
/// OutOfBoundsError for an array of no dimensions.
#[pyfunction]
#[pyo3(signature = (x, /))]
fn nonzero<'py>(py: Python<'py>, x: Given<'py>) -> Result<Bound<'py, PyTuple>> {
    let x: &UsmArray = x.array();
    let places = py.detach(|| x.nonzero())?.into_iter();
    Ok(objects::tuple(py, places.map(|places| Ok(Bound::new(py, PyArray::from(places))?.into_any())))?)
}

/// The elements, in row-major order, where a condition of as many elements is other than zero. Raises ValueError where the
/// numbers of elements differ.
#[pyfunction]
#[pyo3(signature = (condition, x, /))]
fn extract(py: Python<'_>, mut condition: Given<'_>, mut x: Given<'_>) -> Result<PyArray> {
    together!(condition, x);
    let (condition, x) = (condition.array(), x.array());
    Ok(py.detach(|| x.extract(condition))?.into())
}

/// Writes the elements of a one-dimensional array, one after another and over again from the start, to the elements of x
/// where a mask of x's shape is true. Raises ValueError for another shape or where there are no values to write,
/// TypeError for a mask that is not bool.
#[pyfunction]
#[pyo3(signature = (x, mask, vals, /))]
fn place(py: Python<'_>, x: Target<'_>, mut mask: Given<'_>, mut vals: Given<'_>) -> Result<()> {
    let Target(mut x) = x;
    together!(x, mask, vals);
    let (x, mask, values) = (x.array(), mask.array(), vals.array());
    py.detach(|| x.place(mask, values))?;
    Ok(())
}

/// An operation recorded, in an order, or written to `out`.
fn recorded<'py>(
    py: Python<'py>,
    op: Op,
    operands: &[ArrayOrScalar<'_>],
    order: Lie,
    out: Out<'py>,
) -> Result<Bound<'py, PyArray>> {
    if let Some(out) = out {
        let target: &UsmArray = &out.get().array();
        py.detach(|| target.write_elementwise(op, operands, &[]))?;
        return Ok(out.clone());
    }
    deliver(py, None, || order.arranged(elementwise(op, operands)?, operands))
}

/// x1 where condition, an array of bool, is true, else x2: arrays or numbers, broadcast and of the promoted dtype. Without
/// them, the places where condition is other than zero, as `nonzero` has them.
///
/// order, out: as for elementwise functions. Raises TypeError for a condition that is not bool, ValueError where shapes do
/// not broadcast or one of both is missing, ExecutionPlacementError where the queues differ.
#[pyfunction]
#[pyo3(name = "where", signature = (condition, x1=None, x2=None, /, *, order="K", out=None))]
fn where_<'py>(
    py: Python<'py>,
    mut condition: Given<'py>,
    x1: Option<Operand<'py>>,
    x2: Option<Operand<'py>>,
    #[pyo3(from_py_with = arguments::text)] order: &str,
    #[pyo3(from_py_with = arguments::out)] out: Out<'py>,
) -> Result<Bound<'py, PyAny>> {
    let (mut x1, mut x2) = match (x1, x2) {
        (Some(x1), Some(x2)) => (x1, x2),
        (None, None) if out.is_none() => return Ok(nonzero(py, condition)?.into_any()),
        _ => {
            return Err(Fault::Python(PyValueError::new_err(
                "invalid value: of `x1` and `x2` one is missing, or both are with `out`; expected both, or neither for the places \
                 that `nonzero` finds",
            )));
        }
    };
    together!(condition, x1, x2);
    let operands = [ArrayOrScalar::Array(condition.array()), x1.get(), x2.get()];
    Ok(recorded(py, Op::Where, &operands, order_of(order)?, out)?.into_any())
}

/// The elements, but not below min and not above max: arrays or numbers, which are broadcast, or None for no bound. Where
/// min is above max, max. NaN stays.
///
/// order, out: as for elementwise functions. Raises TypeError for complex numbers and for a bound that the array's dtype
/// does not hold, ValueError where shapes do not broadcast.
#[pyfunction]
#[pyo3(signature = (x, /, min=None, max=None, out=None, *, order="K"))]
fn clip<'py>(
    py: Python<'py>,
    mut x: Given<'py>,
    mut min: Option<Operand<'py>>,
    mut max: Option<Operand<'py>>,
    #[pyo3(from_py_with = arguments::out)] out: Out<'py>,
    #[pyo3(from_py_with = arguments::text)] order: &str,
) -> Result<Bound<'py, PyArray>> {
    together!(x, min, max);
    let (x, order) = (ArrayOrScalar::Array(x.array()), order_of(order)?);
    match (min, max) {
        (Some(min), Some(max)) => recorded(py, Op::Clip, &[x, min.get(), max.get()], order, out),
        (Some(min), None) => recorded(py, Op::Maximum, &[x, min.get()], order, out),
        (None, Some(max)) => recorded(py, Op::Minimum, &[x, max.get()], order, out),
        (None, None) => recorded(py, Op::Copy, &[x], order, out),
    }
}

/// Whether elements are close: |x1 - x2| <= atol + rtol |x2| where x2 is finite, equal otherwise, and with equal_nan also
/// where both are NaN. Raises ValueError where shapes do not broadcast.
#[pyfunction]
#[pyo3(signature = (x1, x2, /, rtol=1e-5, atol=1e-8, equal_nan=false))]
fn isclose(
    py: Python<'_>,
    mut x1: Given<'_>,
    mut x2: Given<'_>,
    #[pyo3(from_py_with = arguments::real)] rtol: f64,
    #[pyo3(from_py_with = arguments::real)] atol: f64,
    #[pyo3(from_py_with = arguments::flag)] equal_nan: bool,
) -> Result<PyArray> {
    together!(x1, x2);
    let (x1, x2) = (x1.array(), x2.array());
    Ok(py.detach(|| x1.isclose(x2, rtol, atol, equal_nan))?.into())
}

/// Whether all elements are close, as `isclose` has it: an array of bool of no dimensions.
#[pyfunction]
#[pyo3(signature = (x1, x2, /, rtol=1e-5, atol=1e-8, equal_nan=false))]
fn allclose(
    py: Python<'_>,
    mut x1: Given<'_>,
    mut x2: Given<'_>,
    #[pyo3(from_py_with = arguments::real)] rtol: f64,
    #[pyo3(from_py_with = arguments::real)] atol: f64,
    #[pyo3(from_py_with = arguments::flag)] equal_nan: bool,
) -> Result<PyArray> {
    together!(x1, x2);
    let (x1, x2) = (x1.array(), x2.array());
    Ok(py.detach(|| x1.allclose(x2, rtol, atol, equal_nan))?.into())
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    super::add_functions!(module:
        take take_along_axis put put_along_axis nonzero extract place where_ clip isclose allclose
    );
    Ok(())
}
