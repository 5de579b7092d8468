//! Functions that NumPy has beside the standard's: of numbers, without NaN, quantiles, counts, lines through points, windows.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use stridewise::memory::heap;
use stridewise::{Bins, Dtype, Error, QuantileMethod, Reduction, Spacing, UsmArray};

use super::axes::axes_of;
use super::output::{deliver, folded_in};
use super::reduction::{Chosen, converted, correction_of, reductions, spreads, typed_reductions};
use super::sequence;
use crate::arguments;
use crate::array::PyArray;
use crate::array::construct::integers;
use crate::array::operand::{Given, Operand, number, together};
use crate::dtype;
use crate::errors::{Fault, Result, shown};

/// An argument that may be missing.
type Argument<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// The array to write to, where there is one.
type Out<'py> = Option<Bound<'py, PyArray>>;

/// Functions of one array.
macro_rules! unary {
    ($($name:ident $what:literal;)*) => {$(
        #[doc = concat!($what, " Elementwise, recorded; of integers in the default floating dtype.\n\n",
            "Raises TypeError for a dtype that the function is not defined for.")]
        #[pyfunction]
        #[pyo3(signature = (x, /))]
        fn $name(py: Python<'_>, x: Given<'_>) -> Result<PyArray> {
            let x: &UsmArray = &x.array();
            Ok(py.detach(|| x.$name())?.into())
        }
    )*};
}
unary! {
    deg2rad "Degrees in radians.";
    rad2deg "Radians in degrees.";
    sinc "sin(pi x) / (pi x), and 1 for 0.";
}

/// From numbers to others, the part of the way that weights say: x1 + (x2 - x1) * weight, exactly x2 where weight is 1. The
/// other two are arrays or numbers, and all are broadcast. Elementwise, recorded.
///
/// Raises ValueError where shapes do not broadcast, ExecutionPlacementError where the queues differ.
#[pyfunction]
#[pyo3(signature = (x1, x2, weight, /))]
fn lerp(py: Python<'_>, mut x1: Given<'_>, mut x2: Operand<'_>, mut weight: Operand<'_>) -> Result<PyArray> {
    together!(x1, x2, weight);
    let x1 = x1.array();
    let (x2, weight) = (x2.get(), weight.get());
    Ok(py.detach(|| x1.lerp(x2, weight))?.into())
}

/// The numbers with others in place of NaN, inf and -inf: by default 0, the largest finite number of the dtype and the
/// smallest; of complex numbers, of each part. Integers stay. Elementwise, recorded.
#[pyfunction]
#[pyo3(signature = (x, /, *, nan=0.0, posinf=None, neginf=None))]
fn nan_to_num(
    py: Python<'_>,
    x: Given<'_>,
    #[pyo3(from_py_with = arguments::real)] nan: f64,
    #[pyo3(from_py_with = arguments::optional_real)] posinf: Option<f64>,
    #[pyo3(from_py_with = arguments::optional_real)] neginf: Option<f64>,
) -> Result<PyArray> {
    let x: &UsmArray = x.array();
    Ok(py.detach(|| x.nan_to_num(nan, posinf, neginf))?.into())
}

/// What these reductions say of their arguments. Not all of them compute recorded work on the way, as those of `reduction` do.
macro_rules! about_axes {
    () => {
        "axis: an axis, a tuple of axes, or None for all. keepdims: whether the reduced axes stay, with extent 1. out: an array of \
         the result's shape to write to. where, initial: where they are taken, as `sum` and `max` have them.\n\nRaises OutOfBoundsError for an axis out of range or named twice"
    };
}

typed_reductions! {
    nansum (x, axes, dtype, keepdims) [initial, r#where] "The sum of the elements that are not NaN over axes; 0 of none." ", as `sum` has it" "."
        => x.reduce_numbers(Reduction::Sum, axes.as_deref(), keepdims, dtype);
    nanprod (x, axes, dtype, keepdims) [initial, r#where] "The product of the elements that are not NaN over axes; 1 of none." ", as `sum` has it" "."
        => x.reduce_numbers(Reduction::Prod, axes.as_deref(), keepdims, dtype);
    nanmean (x, axes, dtype, keepdims) [; r#where] "The mean of the elements that are not NaN over axes; NaN of none." "" "."
        => converted(x, dtype)?.nanmean(axes.as_deref(), keepdims);
}

reductions! {
    nanmin (x, axes, keepdims) [initial, r#where] "The smallest of the elements that are not NaN over axes; NaN where all are."
        ", TypeError for complex numbers where they have no order."
        => x.reduce_numbers(Reduction::Min, axes.as_deref(), keepdims, None);
    nanmax (x, axes, keepdims) [initial, r#where] "The largest of the elements that are not NaN over axes; NaN where all are."
        ", TypeError for complex numbers where they have no order."
        => x.reduce_numbers(Reduction::Max, axes.as_deref(), keepdims, None);
    median (x, axes, keepdims) [] "The median over axes, the mean of the two in the middle of an even number; NaN where an \
        element is."
        ", TypeError for complex numbers where they have no order."
        => x.median(axes.as_deref(), keepdims, false);
    nanmedian (x, axes, keepdims) [] "The median of the elements that are not NaN over axes; NaN of none."
        ", TypeError for complex numbers where they have no order."
        => x.median(axes.as_deref(), keepdims, true);
}

spreads! {
    nanvar "nanvar" nanvar
        "The variance of the elements that are not NaN over axes; NaN where there are no more of them than correction.";
    nanstd "nanstd" nanstd
        "The standard deviation of the elements that are not NaN over axes; NaN where there are no more of them than correction.";
}

fn method_of(name: &str) -> Result<QuantileMethod> {
    Ok(match name {
        "linear" => QuantileMethod::Linear,
        "lower" => QuantileMethod::Lower,
        "higher" => QuantileMethod::Higher,
        "midpoint" => QuantileMethod::Midpoint,
        "nearest" => QuantileMethod::Nearest,
        other => {
            return Err(Fault::Python(PyValueError::new_err(format!(
                "`method` is {other:?}; expected \"linear\", \"lower\", \"higher\", \"midpoint\" or \"nearest\""
            ))));
        }
    })
}

/// Numbers that are read from where they are, and their shape.
fn parts_of(py: Python<'_>, q: &Bound<'_, PyAny>) -> Result<(Vec<f64>, Vec<isize>)> {
    let array = match q.cast::<PyArray>() {
        Ok(array) => array.get().array().clone(),
        Err(_) => {
            let queue = stridewise::Queue::default_queue()?;
            sequence::array_of(
                q,
                Some(queue.device().dtype_support().default_float()),
                &queue,
                stridewise::UsmKind::Shared,
            )?
        }
    };
    let shape = array.shape().iter().map(|extent| extent.cast_signed()).collect();
    let numbers = py.detach(|| {
        let wide = array.astype(Dtype::F64).or_else(|_| array.astype(Dtype::F32))?;
        match wide.dtype() {
            Dtype::F64 => wide.to_vec::<f64>(),
            _ => heap::collect("q", wide.to_vec::<f32>()?.into_iter().map(f64::from)),
        }
    })?;
    Ok((numbers, shape))
}

/// Quantiles, by parts of one or of a hundred.
macro_rules! quantiles {
    ($($name:ident $whole:literal $ignore:literal $what:literal $range:literal;)*) => {$(
        #[doc = concat!($what, "\n\nq: a number or numbers ", $range, ", whose dimensions come first. method: \"linear\", \
            \"lower\", \"higher\", \"midpoint\" or \"nearest\", what is taken between two elements. ", about_axes!(), ", \
            ValueError for other parts, TypeError for complex numbers.")]
        #[pyfunction]
        #[pyo3(signature = (x, /, q, axis=None, out=None, *, method="linear", keepdims=false))]
        fn $name<'py>(
            py: Python<'py>,
            x: Given<'py>,
            q: &Bound<'py, PyAny>,
            axis: Argument<'_, 'py>,
            #[pyo3(from_py_with = arguments::out)] out: Out<'py>,
            #[pyo3(from_py_with = arguments::text)] method: &str,
            #[pyo3(from_py_with = arguments::flag)] keepdims: bool,
        ) -> Result<Bound<'py, PyArray>> {
            let x: &UsmArray = x.array();
            let (axes, method) = (axes_of("axis", axis)?, method_of(method)?);
            let (mut parts, mut shape) = parts_of(py, q)?;
            // By the numbers that were given.
            if let Some(part) = parts.iter().find(|part| !(0.0..=$whole).contains(*part)) {
                return Err(Error::value("q", part, concat!("numbers ", $range), "pass others").into());
            }
            parts.iter_mut().for_each(|part| *part /= $whole);
            let quantiles = || {
                let all = x.quantile(&parts, axes.as_deref(), keepdims, method, $ignore)?;
                shape.extend(all.shape()[1..].iter().map(|extent| extent.cast_signed()));
                all.reshape(&shape)
            };
            deliver(py, out.as_ref(), quantiles)
        }
    )*};
}
quantiles! {
    quantile 1.0 false "The numbers that parts of the elements over axes are not above; NaN where an element is." "from 0 to 1";
    percentile 100.0 false "The numbers that percentages of the elements over axes are not above; NaN where an element is."
        "from 0 to 100";
    nanquantile 1.0 true "The numbers that parts of the elements that are not NaN over axes are not above; NaN of none."
        "from 0 to 1";
    nanpercentile 100.0 true "The numbers that percentages of the elements that are not NaN over axes are not above; NaN of \
        none." "from 0 to 100";
}

/// How often each number from 0 on occurs, as int64, up to the largest, and of minlength numbers at least; with weights, one for each
/// element, the sums of the weights in their order, in the default floating dtype.
///
/// Raises ValueError for several dimensions, for negative numbers and where there are not as many weights, TypeError for other than integers and bool, MemoryError
/// where there is no memory for so many.
#[pyfunction]
#[pyo3(signature = (x, /, weights=None, minlength=0))]
fn bincount(
    py: Python<'_>,
    x: Given<'_>,
    weights: Argument<'_, '_>,
    #[pyo3(from_py_with = arguments::whole)] minlength: isize,
) -> Result<PyArray> {
    let (x, minlength): (&UsmArray, _) = (x.array(), super::count("minlength", minlength)?);
    let weights = weights_of(weights, x)?;
    let counted = || match &weights {
        Some(weights) => x.bincount_weighted(weights, minlength),
        None => x.bincount(minlength),
    };
    Ok(py.detach(counted)?.into())
}

/// Weights: an array, or numbers beside one.
fn weights_of(weights: Argument<'_, '_>, beside: &UsmArray) -> Result<Option<UsmArray>> {
    let Some(weights) = weights.filter(|weights| !weights.is_none()) else { return Ok(None) };
    Ok(Some(match weights.cast::<PyArray>() {
        Ok(weights) => weights.get().array().clone(),
        Err(_) => sequence::array_of(weights, None, beside.queue(), beside.usm_kind())?,
    }))
}

/// For each number, the place of the bin between edges that it falls in: 0 before all, and as many as there are edges behind
/// all. bins: edges in one dimension, which increase or decrease. right: whether an edge belongs to the bin before it.
///
/// Raises ValueError for edges that neither increase nor decrease, TypeError for complex numbers.
#[pyfunction]
#[pyo3(signature = (x, bins, /, right=false))]
fn digitize(
    py: Python<'_>,
    mut x: Given<'_>,
    mut bins: Given<'_>,
    #[pyo3(from_py_with = arguments::flag)] right: bool,
) -> Result<PyArray> {
    together!(x, bins);
    let (x, bins) = (x.array(), bins.array());
    Ok(py.detach(|| x.digitize(bins, right))?.into())
}

/// How many elements fall into each bin, as int64, and the edges of the bins: a tuple.
///
/// bins: how many of one width, from the smallest element to the largest, or over range; or their edges, an array, list or
/// tuple. The last bin has both of its edges, the others the lower one. weights: one for each element, whose sums in their dtype and
/// order take the place of counts. density: counts or sums over that of all and the bins' widths instead.
///
/// Raises ValueError for no bins, edges that decrease, a range that the edges' dtype has not or, without one, elements that are not
/// finite, TypeError for complex numbers.
#[pyfunction]
#[pyo3(
    signature = (x, /, bins=None, range=None, density=None, weights=None),
    text_signature = "(x, /, bins=10, range=None, density=None, weights=None)"
)]
fn histogram(
    py: Python<'_>,
    x: Given<'_>,
    bins: Argument<'_, '_>,
    #[pyo3(from_py_with = arguments::optional_pair)] range: Option<(f64, f64)>,
    #[pyo3(from_py_with = arguments::optional_flag)] density: Option<bool>,
    weights: Argument<'_, '_>,
) -> Result<(PyArray, PyArray)> {
    let x: &UsmArray = x.array();
    let weights = weights_of(weights, x)?;
    let listed = |edges: &Bound<'_, PyAny>| sequence::array_of(edges, None, x.queue(), x.usm_kind());
    let edges = match bins {
        None => None,
        Some(bins) => match bins.cast::<PyArray>() {
            Ok(edges) => Some(edges.get().array().clone()),
            Err(_) if number(bins)?.is_some() => None,
            Err(_) => Some(listed(bins)?),
        },
    };
    let count = match (bins, &edges) {
        (Some(bins), None) => {
            let whole = arguments::read_whole(bins, "an integer, or edges in ascending order");
            super::count("bins", whole.map_err(|error| arguments::named(py, "bins", error))?)?
        }
        _ => 10,
    };
    let counted = || {
        let bins = edges.as_ref().map_or(Bins::Count(count, range), Bins::Edges);
        let (counts, edges) = match &weights {
            Some(weights) => x.histogram_weighted(bins, weights)?,
            None => x.histogram(bins)?,
        };
        let counts = if density == Some(true) { UsmArray::density(&counts, &edges)? } else { counts };
        Ok::<_, stridewise::Error>((counts, edges))
    };
    let (counts, edges) = py.detach(counted)?;
    Ok((counts.into(), edges.into()))
}

/// The values at x of the line through points: xp, their coordinates, which increase, and fp, their values, both of one
/// dimension. left, right: the values before the first point and behind the last, by default those points'. period: with one,
/// coordinates may be in any order and repeat.
///
/// Raises ValueError where xp and fp differ in length, TypeError for complex numbers.
#[pyfunction]
#[pyo3(signature = (x, xp, fp, /, *, left=None, right=None, period=None))]
fn interp(
    py: Python<'_>,
    mut x: Given<'_>,
    mut xp: Given<'_>,
    mut fp: Given<'_>,
    #[pyo3(from_py_with = arguments::optional_real)] left: Option<f64>,
    #[pyo3(from_py_with = arguments::optional_real)] right: Option<f64>,
    #[pyo3(from_py_with = arguments::optional_real)] period: Option<f64>,
) -> Result<PyArray> {
    together!(x, xp, fp);
    let (x, xp, fp) = (x.array(), xp.array(), fp.array());
    Ok(py.detach(|| x.interp(xp, fp, left, right, period))?.into())
}

/// The slopes along axes at each point, by its neighbours: an array for one axis, and a tuple of arrays for several.
///
/// spacing: how far points are apart: nothing for 1, one number for all axes, or for each axis a number or an array of the
/// points' coordinates. axis: an axis, a tuple of axes, or None for all. edge_order: 1 or 2, that of the slopes at the ends.
///
/// Raises OutOfBoundsError for an axis out of range, ValueError where an axis has too few points or there are not as many
/// coordinates, TypeError where there is neither one spacing nor one for each axis.
#[pyfunction]
#[pyo3(signature = (f, /, *spacing, axis=None, edge_order=1))]
fn gradient<'py>(
    py: Python<'py>,
    mut f: Given<'py>,
    spacing: &Bound<'py, PyTuple>,
    axis: Argument<'_, 'py>,
    #[pyo3(from_py_with = arguments::whole)] edge_order: u32,
) -> Result<Bound<'py, PyAny>> {
    if !(1..=2).contains(&edge_order) {
        return Err(Fault::Python(PyValueError::new_err(format!(
            "`edge_order` is {edge_order}; expected 1 or 2"
        ))));
    }
    let axes: Vec<isize> = match axes_of("axis", axis)? {
        Some(axes) => axes.to_vec(),
        None => (0..f.ndim().cast_signed()).collect(),
    };
    let steps = spacing.iter().map(|step| match step.extract::<Given<'_>>() {
        Ok(mut array) if array.ndim() > 0 => {
            together!(f, array);
            Ok((1.0, Some(UsmArray::clone(&array))))
        }
        _ => match step.extract::<f64>() {
            Ok(step) => Ok((step, None)),
            Err(_) => Err(Fault::Python(PyTypeError::new_err(format!(
                "`spacing` has {}; expected numbers, or arrays of coordinates",
                shown(&step)
            )))),
        },
    });
    let steps = steps.collect::<Result<Vec<_>>>()?;
    let f = f.array();
    let all = match steps.len() {
        0 => vec![(1.0, None); axes.len()],
        1 if steps[0].1.is_none() => vec![steps[0].clone(); axes.len()],
        given if given == axes.len() => steps,
        given => {
            return Err(Fault::Python(PyTypeError::new_err(format!(
                "`spacing` has {given} entries; expected none, one number, or one for each of {} axes",
                axes.len()
            ))));
        }
    };
    let slopes = || {
        let along = axes.iter().zip(&all).map(|(&axis, (step, coordinates))| {
            let spacing = coordinates.as_ref().map_or(Spacing::Even(*step), Spacing::At);
            f.gradient(axis, spacing, edge_order == 2)
        });
        along.collect::<stridewise::Result<Vec<_>>>()
    };
    let mut slopes = py.detach(slopes)?;
    if slopes.len() == 1 {
        return Ok(Bound::new(py, PyArray::from(slopes.remove(0)))?.into_any());
    }
    Ok(PyTuple::new(py, slopes.into_iter().map(PyArray::from))?.into_any())
}

/// Read-only views of all windows of a shape, in new dimensions behind the others: element [i, k] of that of one dimension is
/// x[i + k]. axis: the axes of the windows, by default all.
///
/// Raises ValueError for a window that is longer than its axis, OutOfBoundsError for an axis out of range or named twice.
#[pyfunction]
#[pyo3(signature = (x, window_shape, /, *, axis=None))]
fn sliding_window_view(
    py: Python<'_>,
    x: Given<'_>,
    window_shape: &Bound<'_, PyAny>,
    axis: Argument<'_, '_>,
) -> Result<PyArray> {
    let x: &UsmArray = x.array();
    let extents = integers("window_shape", window_shape)?;
    let window = extents.iter().map(|&extent| super::count("window_shape", extent));
    let (window, axes) = (window.collect::<Result<Vec<_>>>()?, axes_of("axis", axis)?);
    Ok(py.detach(|| x.sliding_window_view(&window, axes.as_deref()))?.into())
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    super::add_functions!(module:
        deg2rad rad2deg sinc lerp nan_to_num nansum nanprod nanmin nanmax nanmean nanvar nanstd median nanmedian quantile
        percentile nanquantile nanpercentile bincount digitize histogram interp gradient sliding_window_view
    );
    Ok(())
}
