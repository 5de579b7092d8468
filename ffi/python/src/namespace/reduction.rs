//! Reductions, and running folds along an axis.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stridewise::{Dtype, Reduction, Scan, UsmArray};

use super::axes::axes_of;
use super::output::deliver;
use crate::arguments;
use crate::array::PyArray;
use crate::array::operand::{Given, together};
use crate::dtype;
use crate::errors::{Fault, Result};

/// An argument that may be missing.
type Argument<'a, 'py> = Option<&'a Bound<'py, PyAny>>;
/// The array to write to, where there is one.
type Out<'py> = Option<Bound<'py, PyArray>>;

/// What all reductions over axes say of their arguments.
macro_rules! about_axes {
    () => {
        "axis: an axis, a tuple of axes, or None for all; negative ones count from the end. keepdims: whether the reduced \
         axes stay, with extent 1. out: an array of the result's shape to write to. Recorded elementwise work is computed \
         in the same pass.\n\nRaises OutOfBoundsError for an axis out of range or named twice"
    };
}

/// Reductions of elements that are converted to a dtype first.
macro_rules! typed_reductions {
    ($($name:ident ($x:ident, $axes:ident, $dtype:ident, $keepdims:ident) $what:literal $default:literal $raises:literal
       => $compute:expr;)*) => {$(
        #[doc = concat!($what, "\n\ndtype: that elements are converted to first", $default, ". ", about_axes!(), $raises)]
        #[pyfunction]
        #[pyo3(signature = (x, /, axis=None, dtype=None, out=None, keepdims=false))]
        fn $name<'py>(
            py: Python<'py>,
            x: Given<'py>,
            axis: Argument<'_, 'py>,
            dtype: Argument<'_, 'py>,
            #[pyo3(from_py_with = arguments::out)] out: Out<'py>,
            #[pyo3(from_py_with = arguments::flag)] keepdims: bool,
        ) -> Result<Bound<'py, PyArray>> {
            let $x: &UsmArray = x.array();
            let ($axes, $keepdims) = (axes_of("axis", axis)?, keepdims);
            let $dtype = dtype::optional(dtype, $x.device().dtype_support())?;
            deliver(py, out.as_ref(), || $compute)
        }
    )*};
}
pub(super) use typed_reductions;

typed_reductions! {
    sum (x, axes, dtype, keepdims) "The sum of the elements over axes; 0 of none."
        "; by default of bool and integers the default integer dtype of their sign, and else the array's"
        ", TypeError for a dtype that the device does not compute in."
        => x.reduce_as(Reduction::Sum, axes.as_deref(), keepdims, dtype);
    prod (x, axes, dtype, keepdims) "The product of the elements over axes; 1 of none."
        "; by default of bool and integers the default integer dtype of their sign, and else the array's"
        ", TypeError for a dtype that the device does not compute in."
        => x.reduce_as(Reduction::Prod, axes.as_deref(), keepdims, dtype);
    mean (x, axes, dtype, keepdims)
        "The arithmetic mean over axes; of bool and integers in the default floating dtype." "" "."
        => converted(x, dtype)?.reduce(Reduction::Mean, axes.as_deref(), keepdims);
}

/// Reductions of one argument beside the axes.
macro_rules! reductions {
    ($($name:ident ($x:ident, $axes:ident, $keepdims:ident) $what:literal $raises:literal => $compute:expr;)*) => {$(
        #[doc = concat!($what, "\n\n", about_axes!(), $raises)]
        #[pyfunction]
        #[pyo3(signature = (x, /, axis=None, out=None, keepdims=false))]
        fn $name<'py>(
            py: Python<'py>,
            x: Given<'py>,
            axis: Argument<'_, 'py>,
            #[pyo3(from_py_with = arguments::out)] out: Out<'py>,
            #[pyo3(from_py_with = arguments::flag)] keepdims: bool,
        ) -> Result<Bound<'py, PyArray>> {
            let $x: &UsmArray = &x.array();
            let ($axes, $keepdims) = (axes_of("axis", axis)?, keepdims);
            deliver(py, out.as_ref(), || $compute)
        }
    )*};
}
pub(super) use reductions;

reductions! {
    max (x, axes, keepdims) "The largest element over axes; NaN where there is one."
        ", ValueError where there is no element, TypeError for complex numbers."
        => x.reduce(Reduction::Max, axes.as_deref(), keepdims);
    min (x, axes, keepdims) "The smallest element over axes; NaN where there is one."
        ", ValueError where there is no element, TypeError for complex numbers."
        => x.reduce(Reduction::Min, axes.as_deref(), keepdims);
    all (x, axes, keepdims) "Whether all elements over axes are other than zero; true of none."
        "." => x.reduce(Reduction::All, axes.as_deref(), keepdims);
    any (x, axes, keepdims) "Whether any element over axes is other than zero; false of none."
        "." => x.reduce(Reduction::Any, axes.as_deref(), keepdims);
    count_nonzero (x, axes, keepdims) "How many elements over axes are other than zero, in the default integer dtype."
        "." => x.count_nonzero(axes.as_deref(), keepdims);
}

/// What is subtracted from a number of elements, by either of its names.
pub(super) fn correction_of(ddof: Option<f64>, correction: Option<f64>) -> Result<f64> {
    match (ddof, correction) {
        (Some(ddof), Some(correction)) => Err(Fault::Python(PyValueError::new_err(format!(
            "`ddof` is {ddof} and `correction` is {correction}; expected one of both, for they are the same"
        )))),
        (ddof, correction) => Ok(ddof.or(correction).unwrap_or(0.0)),
    }
}

/// The elements converted to a dtype, recorded; as they are without one.
pub(super) fn converted(x: &UsmArray, dtype: Option<Dtype>) -> stridewise::Result<UsmArray> {
    dtype.map_or_else(|| Ok(x.clone()), |dtype| x.astype(dtype))
}

/// Reductions to a place along an axis.
macro_rules! places {
    ($($name:ident $Reduction:ident $what:literal;)*) => {$(
        #[doc = concat!("The place, as int64, of the first ", $what, " element along an axis, or among all elements in \
            row-major order where it is None; of the first NaN where there is one.\n\nkeepdims: whether reduced axes stay, \
            with extent 1. out: an array of the result's shape to write to.\n\nRaises OutOfBoundsError for an axis out of \
            range, ValueError where there is no element, TypeError for complex numbers.")]
        #[pyfunction]
        #[pyo3(signature = (x, /, axis=None, out=None, *, keepdims=false))]
        fn $name<'py>(
            py: Python<'py>,
            x: Given<'py>,
            #[pyo3(from_py_with = arguments::optional_whole)] axis: Option<isize>,
            #[pyo3(from_py_with = arguments::out)] out: Out<'py>,
            #[pyo3(from_py_with = arguments::flag)] keepdims: bool,
        ) -> Result<Bound<'py, PyArray>> {
            let x: &UsmArray = &x.array();
            deliver(py, out.as_ref(), || {
                let axis = axis.map(|axis| [axis]);
                x.reduce(Reduction::$Reduction, axis.as_ref().map(|axis| axis.as_slice()), keepdims)
            })
        }
    )*};
}
places! {
    argmax ArgMax "largest";
    argmin ArgMin "smallest";
}

/// Reductions with a correction of the number of elements.
macro_rules! spreads {
    ($($function:ident $name:literal $method:ident $what:literal;)*) => {$(
        #[doc = concat!($what, "\n\ndtype: that elements are converted to first. correction, by its other name ddof: subtracted \
            from the number of elements: 0 for a whole population, 1 for a sample. ", about_axes!(), ", ValueError for a \
            correction that is not finite, or under both names.")]
        #[pyfunction]
        #[pyo3(
            name = $name,
            signature = (x, /, axis=None, dtype=None, out=None, ddof=None, keepdims=false, *, correction=None),
            text_signature = "(x, /, axis=None, dtype=None, out=None, ddof=None, keepdims=False, *, correction=0.0)"
        )]
        #[allow(clippy::too_many_arguments)]
        fn $function<'py>(
            py: Python<'py>,
            x: Given<'py>,
            axis: Argument<'_, 'py>,
            dtype: Argument<'_, 'py>,
            #[pyo3(from_py_with = arguments::out)] out: Out<'py>,
            #[pyo3(from_py_with = arguments::optional_real)] ddof: Option<f64>,
            #[pyo3(from_py_with = arguments::flag)] keepdims: bool,
            #[pyo3(from_py_with = arguments::optional_real)] correction: Option<f64>,
        ) -> Result<Bound<'py, PyArray>> {
            let x: &UsmArray = &x.array();
            let axes = axes_of("axis", axis)?;
            let dtype = dtype::optional(dtype, x.device().dtype_support())?;
            let correction = correction_of(ddof, correction)?;
            deliver(py, out.as_ref(), || converted(x, dtype)?.$method(axes.as_deref(), keepdims, correction))
        }
    )*};
}
pub(super) use spreads;

spreads! {
    variance "var" var "The variance over axes, real also of complex numbers; of bool and integers in the default floating dtype.";
    deviation "std" std
        "The standard deviation over axes, real also of complex numbers; of bool and integers in the default floating dtype.";
}

/// Reductions of real results that take a dtype.
macro_rules! magnitudes {
    ($($name:ident $what:literal;)*) => {$(
        #[doc = concat!($what, " over axes, without overflow on the way; of bool and integers in the default floating \
            dtype.\n\ndtype: that of the result, real floating point. ", about_axes!(), ", TypeError for another dtype.")]
        #[pyfunction]
        #[pyo3(signature = (x, /, *, axis=None, dtype=None, keepdims=false, out=None))]
        fn $name<'py>(
            py: Python<'py>,
            x: Given<'py>,
            axis: Argument<'_, 'py>,
            dtype: Argument<'_, 'py>,
            #[pyo3(from_py_with = arguments::flag)] keepdims: bool,
            #[pyo3(from_py_with = arguments::out)] out: Out<'py>,
        ) -> Result<Bound<'py, PyArray>> {
            let x: &UsmArray = &x.array();
            let axes = axes_of("axis", axis)?;
            let dtype = dtype::optional(dtype, x.device().dtype_support())?;
            deliver(py, out.as_ref(), || x.$name(axes.as_deref(), keepdims, dtype))
        }
    )*};
}
magnitudes! {
    logsumexp "The logarithm of the sum of the exponentials of the elements";
    reduce_hypot "The square root of the sum of the squared magnitudes";
}

/// Running folds.
macro_rules! scans {
    ($($name:ident $Scan:ident $what:literal;)*) => {$(
        #[doc = concat!("Running ", $what, " along an axis: element i of the result is that of elements 0 to i.\n\naxis: \
            may be left out for one dimension. dtype: that elements are converted to first, by default the one that the \
            reduction has. include_initial: whether the result begins with that of no elements, and is longer by one. out: \
            an array of the result's shape to write to.\n\nRaises OutOfBoundsError for an axis out of range, or none named \
            of other than one dimension, TypeError for a dtype that cannot be folded so.")]
        #[pyfunction]
        #[pyo3(signature = (x, /, *, axis=None, dtype=None, include_initial=false, out=None))]
        fn $name<'py>(
            py: Python<'py>,
            x: Given<'py>,
            #[pyo3(from_py_with = arguments::optional_whole)] axis: Option<isize>,
            dtype: Argument<'_, 'py>,
            #[pyo3(from_py_with = arguments::flag)] include_initial: bool,
            #[pyo3(from_py_with = arguments::out)] out: Out<'py>,
        ) -> Result<Bound<'py, PyArray>> {
            let x: &UsmArray = &x.array();
            let dtype = dtype::optional(dtype, x.device().dtype_support())?;
            deliver(py, out.as_ref(), || x.cumulative(Scan::$Scan, axis, dtype, include_initial))
        }
    )*};
}
scans! {
    cumulative_sum Sum "sums";
    cumulative_prod Prod "products";
    cumulative_logsumexp Logsumexp "logarithms of sums of exponentials";
}

/// The differences of neighbours along an axis, n times over, each time of one element less; of bool, whether neighbours
/// differ.
///
/// prepend, append: arrays that are joined to x first; of its shape but for the axis.
///
/// Raises OutOfBoundsError for an axis out of range, ValueError for a negative n or shapes that do not fit.
#[pyfunction]
#[pyo3(signature = (x, /, n=1, axis=-1, prepend=None, append=None), text_signature = "(x, /, n=1, axis=-1, prepend=None, append=None)")]
fn diff(
    py: Python<'_>,
    mut x: Given<'_>,
    #[pyo3(from_py_with = arguments::whole)] n: isize,
    #[pyo3(from_py_with = arguments::whole)] axis: isize,
    mut prepend: Option<Given<'_>>,
    mut append: Option<Given<'_>>,
) -> Result<PyArray> {
    let n = super::count("n", n)?;
    together!(x, prepend, append);
    let x = x.array();
    let (prepend, append) = (prepend.as_ref().map(Given::array), append.as_ref().map(Given::array));
    Ok(py.detach(|| x.diff(axis, n, prepend, append))?.into())
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    super::add_functions!(module:
        sum prod max min mean all any count_nonzero argmax argmin variance deviation logsumexp reduce_hypot cumulative_sum
        cumulative_prod cumulative_logsumexp diff
    );
    Ok(())
}
