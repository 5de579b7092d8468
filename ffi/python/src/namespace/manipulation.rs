//! Other views of the same elements, and elements arranged anew.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};
use stridewise::memory::heap;
use stridewise::{Order, UsmArray, backend::Dims};

use super::axes::{arrays_of, axes_of, of_axis};
use super::placement::order_of;
use crate::arguments;
use crate::array::PyArray;
use crate::array::construct::{integers, many_integers, shape_of};
use crate::array::indexing::value_of;
use crate::array::operand::{Given, together};
use crate::errors::{Fault, Result};
use crate::objects;

/// An argument that may be missing.
type Argument<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// Arrays as a tuple.
fn tuple<'py>(py: Python<'py>, arrays: Vec<UsmArray>) -> Result<Bound<'py, PyTuple>> {
    let arrays = arrays.into_iter().map(|array| Ok(Bound::new(py, PyArray::from(array))?.into_any()));
    Ok(objects::tuple(py, arrays)?)
}

/// The axis along which arrays are joined. An array in its place is one that the sequence of arrays was to have.
fn joined_axis(name: &str, object: &Bound<'_, PyAny>, expected: &str) -> PyResult<isize> {
    let number = object.is_exact_instance_of::<PyInt>();
    if !number && Given::array_of(object)?.is_some_and(|array| array.ndim() > 0) {
        let help = format!("{expected}; help: put the arrays in one sequence, as {name}([x, y])");
        return Err(arguments::wrong(object, &help));
    }
    arguments::read_whole(object, expected)
}

fn concat_axis(object: &Bound<'_, PyAny>) -> PyResult<Option<isize>> {
    if object.is_none() { Ok(None) } else { joined_axis("concat", object, "an integer or None").map(Some) }
}

fn stack_axis(object: &Bound<'_, PyAny>) -> PyResult<isize> {
    joined_axis("stack", object, "an integer")
}

/// Arrays joined along an axis that they have; None: flattened first. Shapes agree but for the axis, dtypes are promoted.
///
/// Raises ValueError for no arrays or shapes that do not fit, OutOfBoundsError for an axis out of range,
/// ExecutionPlacementError where the queues differ.
#[pyfunction]
#[pyo3(signature = (arrays, /, axis=Some(0)), text_signature = "(arrays, /, axis=0)")]
fn concat(
    py: Python<'_>,
    arrays: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = concat_axis)] axis: Option<isize>,
) -> Result<PyArray> {
    let arrays = arrays_of("arrays", arrays)?;
    let operands = heap::collect("arrays", &arrays)?;
    Ok(py.detach(|| stridewise::concat(&operands, axis))?.into())
}

/// Arrays of one shape joined along a new axis, at this place of the result. Dtypes are promoted.
///
/// Raises ValueError for no arrays or different shapes, OutOfBoundsError for an axis out of range,
/// ExecutionPlacementError where the queues differ.
#[pyfunction]
#[pyo3(signature = (arrays, /, axis=0))]
fn stack(
    py: Python<'_>,
    arrays: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = stack_axis)] axis: isize,
) -> Result<PyArray> {
    let arrays = arrays_of("arrays", arrays)?;
    let operands = heap::collect("arrays", &arrays)?;
    Ok(py.detach(|| stridewise::stack(&operands, axis))?.into())
}

/// The parts along an axis, without it: a tuple of views; the elements of a row are values, as `x[0]` is. Raises OutOfBoundsError for an axis out of range.
#[pyfunction]
#[pyo3(signature = (x, /, *, axis=0))]
fn unstack<'py>(
    py: Python<'py>,
    x: Given<'py>,
    #[pyo3(from_py_with = arguments::whole)] axis: isize,
) -> Result<Bound<'py, PyTuple>> {
    let mut parts = x.array().unstack(axis)?;
    if parts.iter().any(|part| part.ndim() == 0) {
        // Each gets memory of its own, by allocations so small that one which is refused ends the process.
        const BYTES: usize = 512;
        heap::with_capacity::<u8>("parts", parts.len().saturating_mul(BYTES)).map(drop)?;
    }
    for part in parts.iter_mut().filter(|part| part.ndim() == 0) {
        *part = value_of(py, part)?;
    }
    tuple(py, parts)
}

/// A view with new axes of extent 1 at these places of the result, a number or a tuple. Raises OutOfBoundsError for an
/// axis out of range or named twice.
#[pyfunction]
#[pyo3(signature = (x, /, axis))]
fn expand_dims(x: Given<'_>, axis: &Bound<'_, PyAny>) -> Result<PyArray> {
    Ok(x.array().expand_dims(&integers("axis", axis)?).map_err(of_axis)?.into())
}

/// A view without these axes, a number or a tuple, which have extent 1; None: without all that have. Raises
/// OutOfBoundsError for an axis out of range or named twice, ValueError for one of another extent.
#[pyfunction]
#[pyo3(signature = (x, /, axis=None))]
fn squeeze(x: Given<'_>, axis: Argument<'_, '_>) -> Result<PyArray> {
    let axes = axes_of("axis", axis)?.unwrap_or_else(|| {
        let x = x.array();
        let ones = x.shape().iter().enumerate().filter(|(_, extent)| **extent == 1);
        ones.map(|(axis, _)| axis.cast_signed()).collect()
    });
    Ok(x.array().squeeze(&axes).map_err(of_axis)?.into())
}

/// A view with the axes in another order: axis k of the result is axis axes[k]. Raises OutOfBoundsError where axes is no
/// permutation of the axes.
#[pyfunction]
#[pyo3(signature = (x, /, axes))]
fn permute_dims(x: Given<'_>, axes: &Bound<'_, PyAny>) -> Result<PyArray> {
    Ok(x.array().permute_dims(&integers("axes", axes)?)?.into())
}

/// A view with axes, numbers or tuples, moved to other places of the result; the others keep their order. Raises
/// OutOfBoundsError for an axis out of range or named twice, or sources and destinations of different number.
#[pyfunction]
#[pyo3(signature = (x, source, destination, /))]
fn moveaxis(x: Given<'_>, source: &Bound<'_, PyAny>, destination: &Bound<'_, PyAny>) -> Result<PyArray> {
    let (source, destination) = (integers("source", source)?, integers("destination", destination)?);
    Ok(x.array().move_axes(&source, &destination)?.into())
}

/// A view with two axes exchanged. Raises OutOfBoundsError for an axis out of range.
#[pyfunction]
#[pyo3(signature = (x, axis1, axis2, /))]
fn swapaxes(
    x: Given<'_>,
    #[pyo3(from_py_with = arguments::whole)] axis1: isize,
    #[pyo3(from_py_with = arguments::whole)] axis2: isize,
) -> Result<PyArray> {
    Ok(x.array().swap_axes(axis1, axis2)?.into())
}

/// The elements in another shape of as many; one extent may be -1, for what is left. A view where the strides allow it.
///
/// order: "C", the elements in row-major order, "F", in column-major order, or "A", in that where the array lies so and not
/// row-major. copy: True copies in any case, False never,
/// None where it must be.
///
/// Raises ValueError where the number of elements differs, a copy is needed and copy is False, or for another order.
#[pyfunction]
#[pyo3(signature = (x, /, shape, order="C", *, copy=None))]
fn reshape(
    py: Python<'_>,
    x: Given<'_>,
    shape: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = arguments::text)] order: &str,
    #[pyo3(from_py_with = arguments::optional_flag)] copy: Option<bool>,
) -> Result<PyArray> {
    let x: &UsmArray = x.array();
    let mut shape = integers("shape", shape)?;
    // Column-major order is the row-major one of the reversed axes.
    let reversed = match order_of(order)?.of(x) {
        Some(order) => order == Order::F,
        None => {
            return Err(Fault::Python(PyValueError::new_err(format!(
                "invalid value: `order` is {order:?}; expected \"C\", \"F\" or \"A\"; help: `ravel` takes the elements as they lie"
            ))));
        }
    };
    if reversed {
        shape.reverse();
    }
    let reshaped = || {
        let source = if reversed { x.t() } else { x.clone() };
        let result = match copy {
            Some(false) => source.reshape_view(&shape)?,
            Some(true) => source.copy_in(Order::C)?.reshape(&shape)?,
            None => source.reshape(&shape)?,
        };
        Ok::<_, stridewise::Error>(if reversed { result.t() } else { result })
    };
    Ok(py.detach(reshaped)?.into())
}

/// A view with the elements in reverse order along axes, a number or a tuple; None: along all. Raises OutOfBoundsError for
/// an axis out of range or named twice.
#[pyfunction]
#[pyo3(signature = (x, /, axis=None))]
fn flip(x: Given<'_>, axis: Argument<'_, '_>) -> Result<PyArray> {
    Ok(x.array().flip(axes_of("axis", axis)?.as_deref()).map_err(of_axis)?.into())
}

/// The elements moved along axes by so many places, those beyond the end to the beginning; a copy. Without an axis, along
/// all elements in row-major order.
///
/// shift, axis: a number or a tuple; one shift holds for all axes, several along one axis add up.
///
/// Raises OutOfBoundsError for an axis out of range, ValueError where shifts and axes do not go together.
#[pyfunction]
#[pyo3(signature = (x, /, shift, axis=None))]
fn roll(py: Python<'_>, x: Given<'_>, shift: &Bound<'_, PyAny>, axis: Argument<'_, '_>) -> Result<PyArray> {
    let (x, shifts, axes): (&UsmArray, _, _) = (x.array(), integers("shift", shift)?, axes_of("axis", axis)?);
    Ok(py.detach(|| x.roll(&shifts, axes.as_deref())).map_err(of_axis)?.into())
}

/// Every element repeated in place along an axis; None: the elements in row-major order.
///
/// repeats: how often, a number, or an array or sequence of numbers, one for each element along the axis; that of an array
/// is waited for.
///
/// Raises ValueError for a negative number or too few or many of them, OutOfBoundsError for an axis out of range,
/// TypeError for numbers that are no integers.
#[pyfunction]
#[pyo3(signature = (x, repeats, /, axis=None))]
fn repeat(
    py: Python<'_>,
    mut x: Given<'_>,
    repeats: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = arguments::optional_whole)] axis: Option<isize>,
) -> Result<PyArray> {
    if let Ok(Some(mut counts)) = Given::array_of(repeats) {
        together!(x, counts);
        let (x, counts) = (x.array(), counts.array());
        return Ok(py.detach(|| x.repeat_each(counts, axis))?.into());
    }
    let x = x.array();
    let single = repeats.cast::<PyInt>().is_ok() || repeats.try_iter().is_err();
    let counts = many_integers("repeats", repeats)?;
    match (single, counts.as_slice()) {
        (true, &[count]) => {
            let count = super::count("repeats", count)?;
            Ok(py.detach(|| x.repeat(count, axis))?.into())
        }
        _ => Ok(py
            .detach(|| {
                let counts = heap::collect("repeats", counts.iter().map(|&count| count as i64))?;
                let counts = UsmArray::from_slice(x.queue(), &[counts.len()], &counts, x.usm_kind())?;
                x.repeat_each(&counts, axis)
            })?
            .into()),
    }
}

/// The whole array repeated along its axes, so often along each: fewer numbers hold for the last axes, more make new ones.
///
/// Raises ValueError for a negative number, OutOfBoundsError for too many dimensions.
#[pyfunction]
#[pyo3(signature = (x, repetitions, /))]
fn tile(py: Python<'_>, x: Given<'_>, repetitions: &Bound<'_, PyAny>) -> Result<PyArray> {
    let x: &UsmArray = x.array();
    let repetitions = integers("repetitions", repetitions)?;
    let repetitions = repetitions.iter().map(|&times| super::count("repetitions", times));
    let repetitions: Dims = repetitions.collect::<Result<_>>()?;
    Ok(py.detach(|| x.tile(&repetitions))?.into())
}

/// A view with the elements repeated to a shape; it cannot be written to where it repeats. Raises ValueError where the
/// array does not broadcast to the shape.
#[pyfunction]
#[pyo3(signature = (x, /, shape))]
fn broadcast_to(x: Given<'_>, shape: &Bound<'_, PyAny>) -> Result<PyArray> {
    Ok(x.array().broadcast_to(&shape_of(shape)?)?.into())
}

/// Arrays broadcast against each other: a tuple of views, which cannot be written to where they repeat. Raises ValueError
/// where the shapes do not broadcast.
#[pyfunction]
#[pyo3(signature = (*arrays))]
fn broadcast_arrays<'py>(py: Python<'py>, arrays: &Bound<'py, PyTuple>) -> Result<Bound<'py, PyTuple>> {
    let arrays = arrays_of("arrays", arrays.as_any())?;
    tuple(py, stridewise::broadcast_arrays(&heap::collect("arrays", &arrays)?)?)
}

/// The shape that shapes broadcast to, as a tuple; of none, (). Raises ValueError where they do not.
#[pyfunction]
#[pyo3(signature = (*shapes))]
fn broadcast_shapes<'py>(py: Python<'py>, shapes: &Bound<'py, PyTuple>) -> Result<Bound<'py, PyTuple>> {
    let shapes = shapes.iter().map(|shape| match shape.is_none() {
        true => Err(Fault::Python(PyTypeError::new_err("`shapes` has None; expected tuples of extents"))),
        false => shape_of(&shape),
    });
    let shapes = heap::try_collect("shapes", shapes)?;
    let shapes = heap::collect("shapes", shapes.iter().map(|shape| shape.as_slice()))?;
    Ok(PyTuple::new(py, stridewise::broadcast_shapes(&shapes)?)?)
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    super::add_functions!(module:
        concat stack unstack expand_dims squeeze permute_dims moveaxis swapaxes reshape flip roll repeat tile broadcast_to
        broadcast_arrays broadcast_shapes
    );
    Ok(())
}
