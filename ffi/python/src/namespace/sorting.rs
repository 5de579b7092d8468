//! Sorting, searching and sets.

use std::cmp::Ordering;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use stridewise::{Dtype, Scalar, Side, UsmArray, Weak, result_type};

use crate::arguments;
use crate::array::PyArray;
use crate::array::operand::{Given, Operand, together};
use crate::errors::{Fault, Result};

/// The sort is stable always, so every kind of NumPy's is what it does.
fn always_stable(_stable: bool, kind: Option<&str>) -> Result<()> {
    match kind {
        None | Some("quicksort" | "mergesort" | "heapsort" | "stable") => Ok(()),
        Some(other) => Err(Fault::Python(PyValueError::new_err(format!(
            "`kind` is {other:?}; expected \"stable\", or another kind of NumPy's; help: leave it out"
        )))),
    }
}

/// What is done along an axis, or along all elements in row-major order.
fn along(
    x: &UsmArray,
    axis: Option<isize>,
    run: impl FnOnce(&UsmArray, isize) -> stridewise::Result<UsmArray>,
) -> stridewise::Result<UsmArray> {
    match axis {
        Some(axis) => run(x, axis),
        None => run(&x.reshape(&[-1])?, 0),
    }
}

/// A sorted copy along an axis, from the smallest to the largest element or, descending, the reverse; axis None: of all
/// elements in one dimension. Equal elements keep their order, whatever stable and kind say; NaN comes last. Complex numbers
/// are ordered by their real, then their imaginary part.
///
/// Raises OutOfBoundsError for an axis out of range.
#[pyfunction]
#[pyo3(
    signature = (x, /, axis=Some(-1), kind=None, *, descending=false, stable=true),
    text_signature = "(x, /, axis=-1, kind=None, *, descending=False, stable=True)"
)]
fn sort(
    py: Python<'_>,
    x: Given<'_>,
    #[pyo3(from_py_with = arguments::optional_whole)] axis: Option<isize>,
    #[pyo3(from_py_with = arguments::optional_text)] kind: Option<&str>,
    #[pyo3(from_py_with = arguments::flag)] descending: bool,
    #[pyo3(from_py_with = arguments::flag)] stable: bool,
) -> Result<PyArray> {
    always_stable(stable, kind)?;
    let x = x.array();
    Ok(py.detach(|| along(x, axis, |x, axis| x.sort(axis, descending)))?.into())
}

/// The places, as int64, of the elements of the sorted array. Arguments and errors as for `sort`.
#[pyfunction]
#[pyo3(
    signature = (x, /, axis=Some(-1), kind=None, *, descending=false, stable=true),
    text_signature = "(x, /, axis=-1, kind=None, *, descending=False, stable=True)"
)]
fn argsort(
    py: Python<'_>,
    x: Given<'_>,
    #[pyo3(from_py_with = arguments::optional_whole)] axis: Option<isize>,
    #[pyo3(from_py_with = arguments::optional_text)] kind: Option<&str>,
    #[pyo3(from_py_with = arguments::flag)] descending: bool,
    #[pyo3(from_py_with = arguments::flag)] stable: bool,
) -> Result<PyArray> {
    always_stable(stable, kind)?;
    let x = x.array();
    Ok(py.detach(|| along(x, axis, |x, axis| x.argsort(axis, descending)))?.into())
}

/// Named tuples of results: their names and fields.
struct Named(PyOnceLock<Py<PyAny>>, &'static str, &'static [&'static str]);

static TOP_K: Named = Named(PyOnceLock::new(), "TopKResult", &["values", "indices"]);
static UNIQUE_ALL: Named =
    Named(PyOnceLock::new(), "UniqueAllResult", &["values", "indices", "inverse_indices", "counts"]);
static UNIQUE_COUNTS: Named = Named(PyOnceLock::new(), "UniqueCountsResult", &["values", "counts"]);
static UNIQUE_INVERSE: Named =
    Named(PyOnceLock::new(), "UniqueInverseResult", &["values", "inverse_indices"]);

impl Named {
    fn of<'py, const N: usize>(&self, py: Python<'py>, arrays: [UsmArray; N]) -> Result<Bound<'py, PyAny>> {
        let class = self.0.get_or_try_init(py, || {
            let make = py.import("collections")?.getattr("namedtuple")?;
            let class = make.call1((self.1, self.2.to_vec()))?;
            class.setattr("__module__", "stridewise")?;
            PyResult::Ok(class.unbind())
        })?;
        let arrays = arrays.map(PyArray::from).map(|array| Bound::new(py, array));
        let arrays = arrays.into_iter().collect::<PyResult<Vec<_>>>()?;
        Ok(class.bind(py).call_method1("_make", (arrays,))?)
    }
}

/// The k largest elements (mode "largest") or the smallest ("smallest") along an axis, the most extreme first, and their
/// places as int64: a named tuple (values, indices). None: of all elements in row-major order. Of equal elements the first
/// is chosen; NaN only where nothing else is left.
///
/// Raises OutOfBoundsError for an axis out of range, ValueError where the axis has fewer than k elements.
#[pyfunction]
#[pyo3(signature = (x, k, /, *, axis=None, mode="largest"))]
fn top_k<'py>(
    py: Python<'py>,
    x: Given<'py>,
    #[pyo3(from_py_with = arguments::whole)] k: isize,
    #[pyo3(from_py_with = arguments::optional_whole)] axis: Option<isize>,
    #[pyo3(from_py_with = arguments::text)] mode: &str,
) -> Result<Bound<'py, PyAny>> {
    let largest = match mode {
        "largest" => true,
        "smallest" => false,
        other => {
            return Err(Fault::Python(PyValueError::new_err(format!(
                "`mode` is {other:?}; expected \"largest\" or \"smallest\""
            ))));
        }
    };
    let (x, k): (&UsmArray, _) = (x.array(), super::count("k", k)?);
    let (values, places) = py.detach(|| x.top_k(k, axis, largest))?;
    TOP_K.of(py, [values, places])
}

/// An operand as an array, where a number takes the dtype that it has beside another array, and its queue; without one, that of its
/// kind.
fn array_beside(operand: &Operand<'_>, beside: Option<&UsmArray>) -> Result<UsmArray> {
    let value = match (operand, beside) {
        (Operand::Array(array), _) => return Ok(UsmArray::clone(array)),
        (Operand::Scalar(value), _) => *value,
        (Operand::Weak(value), None) => {
            let queue = stridewise::Queue::default_queue()?;
            value.assigned(result_type(&[], &[*value], queue.device().dtype_support())?)?
        }
        (Operand::Weak(value), Some(beside)) => {
            let (weak, support): (Weak, _) = (*value, beside.device().dtype_support());
            match weak.order_against(beside.dtype()) {
                Some(order) => beyond(weak, order, support.default_float()),
                None => weak.assigned(result_type(&[beside.dtype()], &[weak], support)?)?,
            }
        }
    };
    match beside {
        Some(beside) => Ok(UsmArray::full(beside.queue(), &[], value, beside.usm_kind())?),
        None => {
            let queue = stridewise::Queue::default_queue()?;
            Ok(UsmArray::full(&queue, &[], value, queue.device().default_kind())?)
        }
    }
}

/// An integer that the dtype of the array beside it does not hold: it is none of its elements, and below or above all of them.
fn beyond(value: Weak, order: Ordering, float: Dtype) -> Scalar {
    let endless = if order == Ordering::Less { f64::NEG_INFINITY } else { f64::INFINITY };
    let held = match value {
        Weak::Int(value) => {
            i64::try_from(value).map(Scalar::I64).or_else(|_| u64::try_from(value).map(Scalar::U64)).ok()
        }
        _ => None,
    };
    held.unwrap_or_else(|| Scalar::F64(endless).cast(float))
}

/// For each value of x2, an array or a number, the place as int64 where it would be inserted into the one-dimensional x1,
/// which is sorted from the smallest to the largest element, by itself or by sorter, as `argsort` gives it.
///
/// side: "left", before equal elements, or "right", behind them. NaN stands behind everything.
///
/// Raises ValueError where x1 has not one dimension or the sorter has another length, OutOfBoundsError for a place of the
/// sorter out of range.
#[pyfunction]
#[pyo3(signature = (x1, x2, /, side="left", sorter=None))]
fn searchsorted(
    py: Python<'_>,
    mut x1: Given<'_>,
    mut x2: Operand<'_>,
    #[pyo3(from_py_with = arguments::text)] side: &str,
    mut sorter: Option<Given<'_>>,
) -> Result<PyArray> {
    let side = match side {
        "left" => Side::Left,
        "right" => Side::Right,
        other => {
            return Err(Fault::Python(PyValueError::new_err(format!(
                "`side` is {other:?}; expected \"left\" or \"right\""
            ))));
        }
    };
    together!(x1, x2, sorter);
    let x1 = x1.array();
    let x2 = array_beside(&x2, Some(x1))?;
    let sorter = sorter.as_ref().map(|sorter| sorter.array());
    Ok(py.detach(|| x1.searchsorted(&x2, side, sorter))?.into())
}

/// For each element of x1, whether it is among the elements of x2 or, with invert, is not: an array of bool of the shape
/// of x1. Both may be numbers. Raises ExecutionPlacementError where the queues differ.
#[pyfunction]
#[pyo3(signature = (x1, x2, /, *, invert=false))]
fn isin(
    py: Python<'_>,
    mut x1: Operand<'_>,
    mut x2: Operand<'_>,
    #[pyo3(from_py_with = arguments::flag)] invert: bool,
) -> Result<PyArray> {
    together!(x1, x2);
    let beside = |operand: &Operand<'_>| match operand {
        Operand::Array(array) => Some(UsmArray::clone(array)),
        _ => None,
    };
    let (first, second) = (beside(&x1), beside(&x2));
    let (x1, x2) = (array_beside(&x1, second.as_ref())?, array_beside(&x2, first.as_ref())?);
    Ok(py.detach(|| x1.isin(&x2, invert))?.into())
}

/// The different elements, sorted, in one dimension. Each NaN is an element of its own.
#[pyfunction]
#[pyo3(signature = (x, /))]
fn unique_values(py: Python<'_>, x: Given<'_>) -> Result<PyArray> {
    let x: &UsmArray = x.array();
    Ok(py.detach(|| x.unique_values())?.into())
}

/// The different elements, sorted, and how often each occurs, as int64: a named tuple (values, counts).
#[pyfunction]
#[pyo3(signature = (x, /))]
fn unique_counts<'py>(py: Python<'py>, x: Given<'py>) -> Result<Bound<'py, PyAny>> {
    let x: &UsmArray = x.array();
    let (values, counts) = py.detach(|| x.unique_counts())?;
    UNIQUE_COUNTS.of(py, [values, counts])
}

/// The different elements, sorted, and for each element of x, in its shape, its place among them as int64: a named tuple
/// (values, inverse_indices).
#[pyfunction]
#[pyo3(signature = (x, /))]
fn unique_inverse<'py>(py: Python<'py>, x: Given<'py>) -> Result<Bound<'py, PyAny>> {
    let x: &UsmArray = x.array();
    let (values, inverse) = py.detach(|| x.unique_inverse())?;
    UNIQUE_INVERSE.of(py, [values, inverse])
}

/// The different elements, sorted; of each, its first place in row-major order; for each element of x, in its shape, its
/// place among the values; of each value, how often it occurs: a named tuple (values, indices, inverse_indices, counts).
/// Places and counts are int64.
#[pyfunction]
#[pyo3(signature = (x, /))]
fn unique_all<'py>(py: Python<'py>, x: Given<'py>) -> Result<Bound<'py, PyAny>> {
    let x: &UsmArray = x.array();
    let all = py.detach(|| x.unique_all())?;
    UNIQUE_ALL.of(py, [all.values, all.indices, all.inverse_indices, all.counts])
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    super::add_functions!(module:
        sort argsort top_k searchsorted isin unique_values unique_counts unique_inverse unique_all
    );
    Ok(())
}
