//! Fourier transforms, for `stridewise.fft`, which says what each function does.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stridewise::fft::{self as transforms, Norm, Points};
use stridewise::{UsmArray, backend::normalize_axis};

use super::axes::axes_of;
use super::placement::queue_of;
use crate::arguments;
use crate::array::PyArray;
use crate::array::operand::Given;
use crate::dtype;
use crate::errors::{Fault, Result};
use crate::wait::library;

/// Where the factor is; on the inverse where nothing is said.
fn norm_of(norm: Option<&str>) -> Result<Norm> {
    Ok(match norm.unwrap_or("backward") {
        "backward" => Norm::Backward,
        "ortho" => Norm::Ortho,
        "forward" => Norm::Forward,
        other => {
            return Err(Fault::Python(PyValueError::new_err(format!(
                "invalid value: `norm` is {other:?}; expected \"backward\", \"ortho\" or \"forward\""
            ))));
        }
    })
}

/// Rough number of operations for a point.
const FOR_A_POINT: f64 = 128.0;

/// About how many operations a transform takes of an array that has so many times as many points.
fn operations(x: &UsmArray, lengthened: f64) -> f64 {
    x.len() as f64 * lengthened * FOR_A_POINT
}

/// How many times as many points than elements there are along an axis.
fn ratio(points: usize, extent: usize) -> f64 {
    points as f64 / extent.max(1) as f64
}

/// The place of an axis; none of the array's where there is no such axis, which the transform complains about.
fn place_of(axis: isize, x: &UsmArray) -> usize {
    normalize_axis("axis", axis, x.ndim()).unwrap_or(usize::MAX)
}

/// Transforms along an axis.
macro_rules! along_an_axis {
    ($($name:ident)*) => {$(
        #[pyfunction]
        fn $name(
            py: Python<'_>,
            x: Given<'_>,
            #[pyo3(from_py_with = arguments::optional_whole)] n: Option<isize>,
            #[pyo3(from_py_with = arguments::whole)] axis: isize,
            #[pyo3(from_py_with = arguments::optional_text)] norm: Option<&str>,
        ) -> Result<PyArray> {
            let (n, norm) = (n.map(|n| super::count("n", n)).transpose()?, norm_of(norm)?);
            let x: &UsmArray = x.array();
            let lengthened = x.shape().get(place_of(axis, x)).zip(n).map_or(1.0, |(&extent, n)| ratio(n, extent));
            let call = move |[x]: [&UsmArray; 1]| transforms::$name(x, n, axis, norm);
            Ok(library(py, operations(x, lengthened), [x], call)?.into())
        }
    )*};
}
along_an_axis!(fft ifft rfft irfft hfft ihfft);

/// Numbers of points, of which -1 is as many as there are.
fn numbers(s: Option<Vec<Option<isize>>>) -> Result<Option<Vec<Option<usize>>>> {
    let number = |n: Option<isize>| match n {
        None | Some(-1) => Ok(None),
        Some(n) => super::count("s", n).map(Some),
    };
    s.map(|s| s.into_iter().map(number).collect()).transpose()
}

/// Transforms along several axes.
macro_rules! along_axes {
    ($($name:ident)*) => {$(
        #[pyfunction]
        fn $name(
            py: Python<'_>,
            x: Given<'_>,
            #[pyo3(from_py_with = arguments::optional_points)] s: Option<Vec<Option<isize>>>,
            axes: Option<&Bound<'_, PyAny>>,
            #[pyo3(from_py_with = arguments::optional_text)] norm: Option<&str>,
        ) -> Result<PyArray> {
            let (s, axes, norm) = (numbers(s)?, axes_of("axes", axes)?, norm_of(norm)?);
            let x: &UsmArray = x.array();
            let pairs = s.iter().flatten().rev().enumerate();
            let lengthened = pairs.map(|(k, n)| {
                let axis = axes.as_ref().map_or(-1 - k.cast_signed(), |axes| axes.iter().rev().nth(k).copied().unwrap_or(0));
                x.shape().get(place_of(axis, x)).zip(*n).map_or(1.0, |(&extent, n)| ratio(n, extent))
            });
            let operations = operations(x, lengthened.product());
            let call = move |[x]: [&UsmArray; 1]| {
                let points = Points { s: s.as_deref(), axes: axes.as_deref() };
                transforms::$name(x, points, norm)
            };
            Ok(library(py, operations, [x], call)?.into())
        }
    )*};
}
along_axes!(fftn ifftn rfftn irfftn);

/// Shifts along axes.
macro_rules! shifts {
    ($($name:ident)*) => {$(
        #[pyfunction]
        fn $name(py: Python<'_>, x: Given<'_>, axes: Option<&Bound<'_, PyAny>>) -> Result<PyArray> {
            let (x, axes): (&UsmArray, _) = (x.array(), axes_of("axes", axes)?);
            Ok(py.detach(|| transforms::$name(x, axes.as_deref()))?.into())
        }
    )*};
}
shifts!(fftshift ifftshift);

/// Frequencies of transforms.
macro_rules! frequencies {
    ($($name:ident)*) => {$(
        #[pyfunction]
        fn $name(
            #[pyo3(from_py_with = arguments::whole)] n: isize,
            #[pyo3(from_py_with = arguments::real)] d: f64,
            dtype: Option<&Bound<'_, PyAny>>,
            device: Option<&Bound<'_, PyAny>>,
        ) -> Result<PyArray> {
            let queue = queue_of(device, None, None)?;
            let support = queue.device().dtype_support();
            let dtype = dtype::optional(dtype, support)?.unwrap_or(support.default_float());
            let kind = queue.device().default_kind();
            Ok(transforms::$name(&queue, super::count("n", n)?, d, dtype, kind)?.into())
        }
    )*};
}
frequencies!(fftfreq rfftfreq);

/// Adds the module `_fft`, for `stridewise.fft`.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let inner = PyModule::new(module.py(), "_fft")?;
    let inner = &inner;
    super::add_functions!(inner:
        fft ifft rfft irfft hfft ihfft fftn ifftn rfftn irfftn fftshift ifftshift fftfreq rfftfreq
    );
    module.setattr("_fft", inner)
}
