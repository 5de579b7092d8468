//! Sums at places and of products, padding, orders by several keys, weighted means: functions that NumPy has beside the standard's.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use stridewise::memory::heap;
use stridewise::{ArrayOrScalar, Dtype, Index, Overlap, Padding, Reduction, SliceItem, UsmArray, Weak};

use super::axes::{arrays_of, axes_of};
use super::sequence;
use crate::arguments;
use crate::array::PyArray;
use crate::array::construct::integers;
use crate::array::indexing::items_of;
use crate::array::operand::{Given, Operand, Target, together};
use crate::errors::{Fault, Result, shown};

/// An argument that may be missing.
type Argument<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// Adds values, an array or a number, which broadcast to x[indices], to those elements of x, in place: each as often as the
/// indices name it, in their row-major order, on every device. What indexing takes is taken: places, slices, arrays, masks.
///
/// Raises TypeError for bool and for values of a richer kind than x, OutOfBoundsError for places out of range, ValueError where
/// the values do not broadcast or x is read-only.
#[pyfunction]
#[pyo3(signature = (x, indices, values, /))]
fn add_at(py: Python<'_>, x: Target<'_>, indices: &Bound<'_, PyAny>, values: Operand<'_>) -> Result<()> {
    join_at(py, x, indices, values, |x, items, values| x.add_at(items, values))
}

/// Multiplies elements of x by values, in place, as add_at adds them: x[indices] *= values, each as often as the indices name it.
///
/// Raises what add_at raises.
#[pyfunction]
#[pyo3(signature = (x, indices, values, /))]
fn multiply_at(py: Python<'_>, x: Target<'_>, indices: &Bound<'_, PyAny>, values: Operand<'_>) -> Result<()> {
    join_at(py, x, indices, values, |x, items, values| x.multiply_at(items, values))
}

/// Replaces elements of x by values that are smaller, in place, as add_at adds them. NaN stays, and is what an element becomes that
/// meets it.
///
/// Raises what add_at raises; TypeError for complex numbers.
#[pyfunction]
#[pyo3(signature = (x, indices, values, /))]
fn minimum_at(py: Python<'_>, x: Target<'_>, indices: &Bound<'_, PyAny>, values: Operand<'_>) -> Result<()> {
    join_at(py, x, indices, values, |x, items, values| x.minimum_at(items, values))
}

/// Replaces elements of x by values that are larger, in place, as add_at adds them. NaN stays, and is what an element becomes that
/// meets it.
///
/// Raises what add_at raises; TypeError for complex numbers.
#[pyfunction]
#[pyo3(signature = (x, indices, values, /))]
fn maximum_at(py: Python<'_>, x: Target<'_>, indices: &Bound<'_, PyAny>, values: Operand<'_>) -> Result<()> {
    join_at(py, x, indices, values, |x, items, values| x.maximum_at(items, values))
}

/// Joins elements of an array with values.
fn join_at(
    py: Python<'_>,
    x: Target<'_>,
    indices: &Bound<'_, PyAny>,
    mut values: Operand<'_>,
    join: impl FnOnce(&UsmArray, &[Index], ArrayOrScalar<'_>) -> stridewise::Result<()> + Send,
) -> Result<()> {
    let Target(mut x) = x;
    together!(x, values);
    let x = x.array();
    let items = items_of(indices, x)?;
    // A number of NumPy's is refused where one of Python's is.
    let values = match values {
        Operand::Scalar(value) => ArrayOrScalar::Weak(value.weak()),
        ref other => other.get(),
    };
    py.detach(|| join(x, &items, values))?;
    Ok(())
}

/// Sums of products by Einstein's notation: a letter for each axis of each operand, and behind "->" those of the result; without
/// it, the letters that occur once, in alphabetical order. What the result does not name is summed, "..." stands for axes that are
/// not named.
///
/// Operands are multiplied from the left to the right; each product is summed over what nothing later names, as matmul sums.
///
/// Raises ValueError for a notation that is none or extents that differ, TypeError for bool.
#[pyfunction]
#[pyo3(signature = (subscripts, /, *operands))]
fn einsum(
    py: Python<'_>,
    #[pyo3(from_py_with = arguments::long_text)] subscripts: &str,
    operands: &Bound<'_, PyTuple>,
) -> Result<PyArray> {
    let arrays = arrays_of("operands", operands)?;
    let operands = heap::collect("operands", &arrays)?;
    Ok(py.detach(|| stridewise::einsum(subscripts, &operands))?.into())
}

/// Pairs of numbers, one for each axis: of one number, of one pair, or of as many.
fn widths_of(width: &Bound<'_, PyAny>, ndim: usize) -> Result<Vec<(usize, usize)>> {
    let pair = |numbers: &[isize]| -> Result<(usize, usize)> {
        let counted = |number: isize| super::count("pad_width", number);
        match *numbers {
            [both] => Ok((counted(both)?, counted(both)?)),
            [before, after] => Ok((counted(before)?, counted(after)?)),
            _ => Err(Fault::Python(PyValueError::new_err(format!(
                "`pad_width` has {} numbers; expected a number, a pair, or a pair for each axis",
                numbers.len()
            )))),
        }
    };
    // By axis; others are not padded.
    if let Ok(by_axis) = width.cast::<PyDict>() {
        let mut pairs = vec![(0, 0); ndim];
        for (axis, width) in by_axis {
            let named = |error| arguments::named(width.py(), "an axis of `pad_width`", error);
            let axis = arguments::whole(&axis).map_err(named)?;
            let axis = stridewise::backend::normalize_axis("pad_width", axis, ndim)?;
            pairs[axis] = pair(&integers("pad_width", &width)?)?;
        }
        return Ok(pairs);
    }
    let nested = match width.try_iter() {
        Ok(mut items) => match items.next() {
            Some(first) => first?.try_iter().is_ok(),
            None => false,
        },
        Err(_) => false,
    };
    if !nested {
        let numbers = integers("pad_width", width)?;
        if numbers.is_empty() && ndim == 0 {
            return Ok(Vec::new());
        }
        return Ok(vec![pair(&numbers)?; ndim]);
    }
    let pairs = width.try_iter()?.map(|item| pair(&integers("pad_width", &item?)?));
    let pairs = pairs.collect::<Result<Vec<_>>>()?;
    Ok(if pairs.len() == 1 { vec![pairs[0]; ndim] } else { pairs })
}

/// What is before and behind along each axis, or along all of them: one number, a pair, or a pair for each axis.
fn constants_of(values: &Bound<'_, PyAny>) -> Result<Vec<[Weak; 2]>> {
    let wrong = || {
        Fault::Python(PyTypeError::new_err(format!(
            "`constant_values` is {}; expected a number, a pair of numbers, or a pair for each axis",
            shown(values)
        )))
    };
    let number = |value: &Bound<'_, PyAny>| match Operand::value(value)? {
        Some(Operand::Weak(value)) => Ok(Some(value)),
        Some(Operand::Scalar(value)) => Ok::<_, Fault>(Some(value.weak())),
        _ => Ok(None),
    };
    let pair = |values: &Bound<'_, PyAny>| -> Result<Option<[Weak; 2]>> {
        let items = values.try_iter().map_err(|_| wrong())?.collect::<PyResult<Vec<_>>>()?;
        match &items[..] {
            [both] => Ok(number(both)?.map(|both| [both; 2])),
            [before, after] => Ok(number(before)?.zip(number(after)?).map(<[Weak; 2]>::from)),
            _ => Ok(None),
        }
    };
    if let Some(one) = number(values)? {
        return Ok(vec![[one; 2]]);
    }
    if let Some(all) = pair(values)? {
        return Ok(vec![all]);
    }
    let items = values.try_iter().map_err(|_| wrong())?;
    let pairs = items.map(|item| pair(&item?)?.ok_or_else(wrong)).collect::<Result<Vec<_>>>()?;
    if pairs.is_empty() { Err(wrong()) } else { Ok(pairs) }
}

/// Pads by constants along one axis after another, so that where they meet is the value of the last.
fn pad_by_axis(
    py: Python<'_>,
    x: &UsmArray,
    widths: &[(usize, usize)],
    values: &[[Weak; 2]],
) -> Result<PyArray> {
    if values.len() != 1 && values.len() != x.ndim() {
        return Err(Fault::Python(PyValueError::new_err(format!(
            "`constant_values` has {} pairs; expected one, or one for each of {} axes",
            values.len(),
            x.ndim()
        ))));
    }
    let padded = py.detach(|| {
        let padded = x.pad(widths, Padding::Constant(values[0][0]))?;
        let mut items = vec![SliceItem::from(..); widths.len()];
        for (axis, &(before, after)) in widths.iter().enumerate() {
            let behind = padded.shape()[axis] - after;
            let [first, last] = values[axis % values.len()];
            let sides = [
                (SliceItem::from(..before.cast_signed()), first),
                (SliceItem::from(behind.cast_signed()..), last),
            ];
            for (side, value) in sides {
                items[axis] = side;
                padded.slice(&items)?.assign(value.to_scalar(x.dtype())?)?;
            }
            items[axis] = SliceItem::from(..);
        }
        Ok::<_, stridewise::Error>(padded)
    })?;
    Ok(padded.into())
}

/// The array with elements before and behind its own along each axis.
///
/// pad_width: how many: a number, a pair (before, after), a pair for each axis, or a dict of numbers or pairs by axis. mode: "constant",
/// constant_values, a number, a pair or a pair for each axis; "edge", the element at the edge; "reflect" and "symmetric", the elements
/// from the edge on, mirrored at the element or at the edge; "wrap", those from the other edge on.
///
/// Raises ValueError for negative numbers, pairs that are not as many as axes, another mode, or an axis without elements that is not
/// padded by a constant; OverflowError or TypeError for a constant that the dtype does not hold.
#[pyfunction]
#[pyo3(
    signature = (x, pad_width, /, mode="constant", *, constant_values=None),
    text_signature = "(x, pad_width, /, mode=\"constant\", *, constant_values=0)"
)]
fn pad(
    py: Python<'_>,
    x: Given<'_>,
    pad_width: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = arguments::text)] mode: &str,
    constant_values: Argument<'_, '_>,
) -> Result<PyArray> {
    let x: &UsmArray = x.array();
    let widths = widths_of(pad_width, x.ndim())?;
    let values = match constant_values {
        None if x.dtype() == Dtype::Bool => vec![[Weak::Bool(false); 2]],
        None => vec![[Weak::Int(0); 2]],
        Some(values) => constants_of(values)?,
    };
    let padding = match mode {
        "constant" => match values[..] {
            [[before, after]] if before == after => Padding::Constant(before),
            _ => return pad_by_axis(py, x, &widths, &values),
        },
        "edge" => Padding::Edge,
        "reflect" => Padding::Reflect,
        "symmetric" => Padding::Symmetric,
        "wrap" => Padding::Wrap,
        other => {
            return Err(Fault::Python(PyValueError::new_err(format!(
                "`mode` is {other:?}; expected \"constant\", \"edge\", \"reflect\", \"symmetric\" or \"wrap\""
            ))));
        }
    };
    Ok(py.detach(|| x.pad(&widths, padding))?.into())
}

fn overlap_of(mode: &str) -> Result<Overlap> {
    match mode {
        "full" => Ok(Overlap::Full),
        "same" => Ok(Overlap::Same),
        "valid" => Ok(Overlap::Valid),
        other => Err(Fault::Python(PyValueError::new_err(format!(
            "`mode` is {other:?}; expected \"full\", \"same\" or \"valid\""
        )))),
    }
}

/// The discrete convolution of two arrays of one dimension. mode: "full", all sums with at least one product; "same", as many as the
/// longer one has elements; "valid", those of all elements of the shorter one. A number is an array of one. As many products as one's elements times the other's.
///
/// Raises ValueError for other than one dimension, no elements or another mode, TypeError for bool.
#[pyfunction]
#[pyo3(signature = (x1, x2, /, mode="full"))]
fn convolve(
    py: Python<'_>,
    mut x1: Given<'_>,
    mut x2: Given<'_>,
    #[pyo3(from_py_with = arguments::text)] mode: &str,
) -> Result<PyArray> {
    together!(x1, x2);
    // One number is a row of one.
    let row = |x: &UsmArray| if x.ndim() == 0 { x.reshape(&[1]) } else { Ok(x.clone()) };
    let (x1, x2, overlap) = (row(x1.array())?, row(x2.array())?, overlap_of(mode)?);
    Ok(py.detach(|| x1.convolve(&x2, overlap))?.into())
}

/// The cross-correlation of two arrays of one dimension: element k is the sum of x1[n + k] * conj(x2[n]). Arguments and errors as
/// for `convolve`.
#[pyfunction]
#[pyo3(signature = (x1, x2, /, mode="valid"))]
fn correlate(
    py: Python<'_>,
    mut x1: Given<'_>,
    mut x2: Given<'_>,
    #[pyo3(from_py_with = arguments::text)] mode: &str,
) -> Result<PyArray> {
    together!(x1, x2);
    let (x1, x2, overlap) = (x1.array(), x2.array(), overlap_of(mode)?);
    Ok(py.detach(|| x1.correlate(x2, overlap))?.into())
}

/// The values at x of the polynomial with the coefficients p, an array or list from the highest power on, by Horner's method.
///
/// Raises ValueError where p has not one dimension.
#[pyfunction]
#[pyo3(signature = (p, x, /))]
fn polyval(py: Python<'_>, p: &Bound<'_, PyAny>, x: Given<'_>) -> Result<PyArray> {
    let x: &UsmArray = x.array();
    let p = match p.cast::<PyArray>() {
        Ok(p) => p.get().array().clone(),
        Err(_) => sequence::array_of(p, None, x.queue(), x.usm_kind())?,
    };
    Ok(py.detach(|| p.polyval(x))?.into())
}

/// The places, as int64, that bring arrays of one shape into order along an axis: by the last one; where its elements are equal, by
/// the one before; and so on. Equal elements keep their order. keys: a sequence of arrays, or an array of them along its first axis.
///
/// Raises ValueError for no keys or different shapes, OutOfBoundsError for an axis out of range.
#[pyfunction]
#[pyo3(signature = (keys, /, axis=-1))]
fn lexsort(
    py: Python<'_>,
    keys: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = arguments::whole)] axis: isize,
) -> Result<PyArray> {
    let arrays = arrays_of("keys", keys)?;
    let keys = heap::collect("keys", &arrays)?;
    Ok(py.detach(|| stridewise::lexsort(&keys, axis))?.into())
}

/// The places, as int64, of an order in which the element kth along an axis stands where a sort puts it, with no larger one before and
/// no smaller one behind it. It is the order of a sort. axis: None for the flattened array.
///
/// Raises OutOfBoundsError for a place or an axis out of range.
#[pyfunction]
#[pyo3(signature = (x, kth, /, axis=Some(-1)), text_signature = "(x, kth, /, axis=-1)")]
fn argpartition(
    py: Python<'_>,
    x: Given<'_>,
    #[pyo3(from_py_with = arguments::whole)] kth: isize,
    #[pyo3(from_py_with = arguments::optional_whole)] axis: Option<isize>,
) -> Result<PyArray> {
    let x: &UsmArray = x.array();
    let order = || match axis {
        Some(axis) => x.argpartition(kth, axis),
        None => x.reshape(&[-1])?.argpartition(kth, 0),
    };
    Ok(py.detach(order)?.into())
}

/// The mean over axes, with weights where they are given: of the shape of x, or of one dimension along a single axis. returned:
/// whether the sums of the weights come with it, as a tuple. Where they are 0, the mean is what dividing by 0 gives.
///
/// Raises ValueError for weights of another shape, OutOfBoundsError for an axis out of range or named twice.
#[pyfunction]
#[pyo3(
    signature = (x, /, axis=None, weights=None, returned=false, keepdims=false),
    text_signature = "(x, /, axis=None, weights=None, returned=False, keepdims=False)"
)]
fn average<'py>(
    py: Python<'py>,
    x: Given<'py>,
    axis: Argument<'_, 'py>,
    weights: Argument<'_, 'py>,
    #[pyo3(from_py_with = arguments::flag)] returned: bool,
    #[pyo3(from_py_with = arguments::flag)] keepdims: bool,
) -> Result<Bound<'py, PyAny>> {
    let x: &UsmArray = x.array();
    let axes = axes_of("axis", axis)?;
    let weights = match weights.filter(|weights| !weights.is_none()) {
        None => None,
        Some(weights) => Some(match weights.cast::<PyArray>() {
            Ok(weights) => weights.get().array().clone(),
            Err(_) => sequence::array_of(weights, None, x.queue(), x.usm_kind())?,
        }),
    };
    let average = || -> stridewise::Result<(UsmArray, UsmArray)> {
        if let Some(weights) = &weights {
            return x.average(weights, axes.as_deref(), keepdims);
        }
        let mean = x.reduce(Reduction::Mean, axes.as_deref(), keepdims)?;
        let count = if mean.is_empty() { 0.0 } else { x.len() as f64 / mean.len() as f64 };
        let total = mean.full_like(stridewise::Scalar::F64(count).cast(mean.dtype()))?;
        Ok((mean, total))
    };
    let (mean, total) = py.detach(average)?;
    let mean = Bound::new(py, PyArray::from(mean))?;
    if !returned {
        return Ok(mean.into_any());
    }
    Ok(PyTuple::new(py, [mean, Bound::new(py, PyArray::from(total))?])?.into_any())
}

/// How the rows of a matrix, each the observations of a variable, vary together: a matrix of covariances.
///
/// y: further variables. rowvar: whether rows are variables, else columns. bias: whether sums are divided by the number of
/// observations n, and not by n - 1; ddof: by n - ddof, whatever bias says.
///
/// Raises ValueError for more than two dimensions, or other numbers of observations.
#[pyfunction]
#[pyo3(
    signature = (m, y=None, *, rowvar=true, bias=false, ddof=None),
    text_signature = "(m, y=None, *, rowvar=True, bias=False, ddof=None)"
)]
fn cov(
    py: Python<'_>,
    mut m: Given<'_>,
    mut y: Option<Given<'_>>,
    #[pyo3(from_py_with = arguments::flag)] rowvar: bool,
    #[pyo3(from_py_with = arguments::flag)] bias: bool,
    #[pyo3(from_py_with = arguments::optional_real)] ddof: Option<f64>,
) -> Result<PyArray> {
    together!(m, y);
    let (m, other) = (m.array(), y.as_ref().map(Given::array));
    let correction = ddof.unwrap_or(if bias { 0.0 } else { 1.0 });
    Ok(py.detach(|| m.cov(other, !rowvar, correction))?.into())
}

/// The correlation coefficients of the rows of a matrix: covariances over the roots of both variances. Arguments and errors as for
/// `cov`.
#[pyfunction]
#[pyo3(signature = (x, y=None, *, rowvar=true), text_signature = "(x, y=None, *, rowvar=True)")]
fn corrcoef(
    py: Python<'_>,
    mut x: Given<'_>,
    mut y: Option<Given<'_>>,
    #[pyo3(from_py_with = arguments::flag)] rowvar: bool,
) -> Result<PyArray> {
    together!(x, y);
    let (x, other) = (x.array(), y.as_ref().map(Given::array));
    Ok(py.detach(|| x.corrcoef(other, !rowvar))?.into())
}

/// Whether numbers are inf; integers are not. Elementwise, recorded. Raises TypeError for complex numbers.
#[pyfunction]
#[pyo3(signature = (x, /))]
fn isposinf(py: Python<'_>, x: Given<'_>) -> Result<PyArray> {
    let x: &UsmArray = x.array();
    Ok(py.detach(|| x.isposinf())?.into())
}

/// Whether numbers are -inf; integers are not. Elementwise, recorded. Raises TypeError for complex numbers.
#[pyfunction]
#[pyo3(signature = (x, /))]
fn isneginf(py: Python<'_>, x: Given<'_>) -> Result<PyArray> {
    let x: &UsmArray = x.array();
    Ok(py.detach(|| x.isneginf())?.into())
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    super::add_functions!(module:
        add_at multiply_at minimum_at maximum_at einsum pad convolve correlate polyval lexsort argpartition average cov corrcoef isposinf isneginf
    );
    Ok(())
}
