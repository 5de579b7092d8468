//! Reductions, and running folds along an axis.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use stridewise::{Dtype, Reduction, Scan, UsmArray};

use super::axes::axes_of;
use super::output::{deliver, folded_in};
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
         axes stay, with extent 1. out: an array of the result's shape to write to. where: a mask that is broadcast, of the \
         elements that count. initial, where it is taken: a number that the reduction begins with. Recorded elementwise \
         work is computed in the same pass.\n\nRaises OutOfBoundsError for an axis out of range or named twice"
    };
}

/// Arguments by which a reduction is one of chosen elements, or from a value on, by their names.
pub(super) struct Chosen<'a, 'py>(pub(super) &'a [(&'static str, Argument<'a, 'py>)]);

impl<'py> Chosen<'_, 'py> {
    /// Whether one of them says something: a mask that is `True` leaves nothing out.
    pub(super) fn is_any(&self) -> bool {
        self.0.iter().any(|(name, value)| {
            value.is_some_and(|value| {
                let all = *name == "r#where" && value.cast::<PyBool>().is_ok_and(|mask| mask.is_true());
                !value.is_none() && !all
            })
        })
    }

    /// The reduction of that name, with these arguments and the usual ones, as `_masked.py` composes it of others.
    pub(super) fn reduce(
        &self,
        name: &str,
        x: &UsmArray,
        usual: &[(&str, Argument<'_, 'py>)],
        out: Option<&Bound<'py, PyArray>>,
        keepdims: bool,
        py: Python<'py>,
    ) -> Result<Bound<'py, PyArray>> {
        let options = PyDict::new(py);
        for (name, value) in self.0.iter().chain(usual) {
            if let Some(value) = value {
                options.set_item(name.trim_start_matches("r#"), value)?;
            }
        }
        options.set_item("out", out)?;
        options.set_item("keepdims", keepdims)?;
        let reduced = py.import("stridewise._masked")?.getattr("reduced")?;
        let found = reduced.call((name, PyArray::from(x.clone())), Some(&options))?;
        Ok(found.cast_into::<PyArray>().map_err(PyErr::from)?)
    }
}

/// Reductions of elements that are converted to a dtype first.
macro_rules! typed_reductions {
    ($($name:ident ($x:ident, $axes:ident, $dtype:ident, $keepdims:ident) [$($choice:ident),* $(; $named:ident)?] $what:literal
       $default:literal $raises:literal => $compute:expr;)*) => {$(
        #[doc = concat!($what, "\n\ndtype: that elements are converted to first", $default, ". ", about_axes!(), $raises)]
        #[pyfunction]
        #[pyo3(signature = (x, /, axis=None, dtype=None, out=None, keepdims=false $(, $choice=None)* $(, *, $named=None)?))]
        #[allow(clippy::too_many_arguments)]
        fn $name<'py>(
            py: Python<'py>,
            x: Given<'py>,
            axis: Argument<'_, 'py>,
            dtype: Argument<'_, 'py>,
            #[pyo3(from_py_with = arguments::out)] out: Out<'py>,
            #[pyo3(from_py_with = arguments::flag)] keepdims: bool,
            $($choice: Argument<'_, 'py>,)*
            $($named: Argument<'_, 'py>)?
        ) -> Result<Bound<'py, PyArray>> {
            let $x: &UsmArray = x.array();
            let chosen = Chosen(&[$((stringify!($choice), $choice),)* $((stringify!($named), $named))?]);
            if chosen.is_any() {
                let usual = [("axis", axis), ("dtype", dtype)];
                return chosen.reduce(stringify!($name), $x, &usual, out.as_ref(), keepdims, py);
            }
            let ($axes, $keepdims) = (axes_of("axis", axis)?, keepdims);
            let $dtype = folded_in($x, dtype::optional(dtype, $x.device().dtype_support())?, out.as_ref());
            deliver(py, out.as_ref(), || $compute)
        }
    )*};
}
pub(super) use typed_reductions;

typed_reductions! {
    sum (x, axes, dtype, keepdims) [initial, r#where] "The sum of the elements over axes; 0 of none."
        "; by default of bool and integers the default integer dtype of their sign, and else the array's"
        ", TypeError for a dtype that the device does not compute in."
        => x.reduce_as(Reduction::Sum, axes.as_deref(), keepdims, dtype);
    prod (x, axes, dtype, keepdims) [initial, r#where] "The product of the elements over axes; 1 of none."
        "; by default of bool and integers the default integer dtype of their sign, and else the array's"
        ", TypeError for a dtype that the device does not compute in."
        => x.reduce_as(Reduction::Prod, axes.as_deref(), keepdims, dtype);
    mean (x, axes, dtype, keepdims) [; r#where]
        "The arithmetic mean over axes; of bool and integers in the default floating dtype." "" "."
        => converted(x, dtype)?.reduce(Reduction::Mean, axes.as_deref(), keepdims);
}

/// Reductions of one argument beside the axes.
macro_rules! reductions {
    ($($name:ident ($x:ident, $axes:ident, $keepdims:ident) [$($choice:ident),* $(; $named:ident)?] $what:literal $raises:literal
       => $compute:expr;)*) => {$(
        #[doc = concat!($what, "\n\n", about_axes!(), $raises)]
        #[pyfunction]
        #[pyo3(signature = (x, /, axis=None, out=None, keepdims=false $(, $choice=None)* $(, *, $named=None)?))]
        fn $name<'py>(
            py: Python<'py>,
            x: Given<'py>,
            axis: Argument<'_, 'py>,
            #[pyo3(from_py_with = arguments::out)] out: Out<'py>,
            #[pyo3(from_py_with = arguments::flag)] keepdims: bool,
            $($choice: Argument<'_, 'py>,)*
            $($named: Argument<'_, 'py>)?
        ) -> Result<Bound<'py, PyArray>> {
            let $x: &UsmArray = &x.array();
            let chosen = Chosen(&[$((stringify!($choice), $choice),)* $((stringify!($named), $named))?]);
            if chosen.is_any() {
                return chosen.reduce(stringify!($name), $x, &[("axis", axis)], out.as_ref(), keepdims, py);
            }
            let ($axes, $keepdims) = (axes_of("axis", axis)?, keepdims);
            deliver(py, out.as_ref(), || $compute)
        }
    )*};
}
pub(super) use reductions;

reductions! {
    max (x, axes, keepdims) [initial, r#where] "The largest element over axes; NaN where there is one."
        ", ValueError where there is no element, TypeError for complex numbers."
        => x.reduce(Reduction::Max, axes.as_deref(), keepdims);
    min (x, axes, keepdims) [initial, r#where] "The smallest element over axes; NaN where there is one."
        ", ValueError where there is no element, TypeError for complex numbers."
        => x.reduce(Reduction::Min, axes.as_deref(), keepdims);
    all (x, axes, keepdims) [; r#where] "Whether all elements over axes are other than zero; true of none."
        "." => x.reduce(Reduction::All, axes.as_deref(), keepdims);
    any (x, axes, keepdims) [; r#where] "Whether any element over axes is other than zero; false of none."
        "." => x.reduce(Reduction::Any, axes.as_deref(), keepdims);
    count_nonzero (x, axes, keepdims) [] "How many elements over axes are other than zero, in the default integer dtype."
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
            from the number of elements: 0 for a whole population, 1 for a sample. mean: the mean over the axes, which stay, where \
            it is known. ", about_axes!(), ", ValueError for a \
            correction that is not finite, or under both names.")]
        #[pyfunction]
        #[pyo3(
            name = $name,
            signature = (
                x, /, axis=None, dtype=None, out=None, ddof=None, keepdims=false, *, r#where=None, mean=None, correction=None
            ),
            text_signature = "(x, /, axis=None, dtype=None, out=None, ddof=None, keepdims=False, *, where=None, mean=None, correction=0.0)"
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
            r#where: Argument<'_, 'py>,
            mean: Argument<'_, 'py>,
            #[pyo3(from_py_with = arguments::optional_real)] correction: Option<f64>,
        ) -> Result<Bound<'py, PyArray>> {
            let x: &UsmArray = &x.array();
            let correction = correction_of(ddof, correction)?;
            let chosen = Chosen(&[("r#where", r#where), ("mean", mean)]);
            if chosen.is_any() {
                let correction = pyo3::types::PyFloat::new(py, correction);
                let usual = [("axis", axis), ("dtype", dtype), ("correction", Some(correction.as_any()))];
                return chosen.reduce($name, x, &usual, out.as_ref(), keepdims, py);
            }
            let axes = axes_of("axis", axis)?;
            let dtype = dtype::optional(dtype, x.device().dtype_support())?;
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
            let dtype = folded_in(x, dtype::optional(dtype, x.device().dtype_support())?, out.as_ref());
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
