//! What needs decompositions of matrices, for `stridewise.linalg`, which says what each function does.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::{Borrowed, FromPyObject};
use stridewise::UsmArray;
use stridewise::linalg::{self, MatrixNorm, QrMode, Tolerance};

use super::axes::axes_of;
use crate::arguments;
use crate::array::PyArray;
use crate::array::operand::{Given, together};
use crate::errors::{Fault, Result, shown};
use crate::wait::library;

/// What one matrix takes at least.
const FOR_A_MATRIX: f64 = 10_000.0;

/// About how many operations a decomposition of matrices takes.
fn operations(x: &UsmArray) -> f64 {
    let [.., m, n] = *x.shape() else { return 0.0 };
    let matrices = x.len() as f64 / (m as f64 * n as f64).max(1.0);
    x.len() as f64 * m.min(n) as f64 + matrices * FOR_A_MATRIX
}

/// Functions of one array whose result is an array.
macro_rules! of_one {
    ($($name:ident)*) => {$(
        #[pyfunction]
        #[pyo3(signature = (x, /))]
        fn $name(py: Python<'_>, x: Given<'_>) -> Result<PyArray> {
            let x: &UsmArray = x.array();
            Ok(library(py, operations(x), [x], |[x]: [&UsmArray; 1]| linalg::$name(x))?.into())
        }
    )*};
}
of_one!(det eigvals eigvalsh inv svdvals expm);

/// Functions of one array whose results are several.
macro_rules! parts_of_one {
    ($($name:ident: $($part:ident)*;)*) => {$(
        #[pyfunction]
        #[pyo3(signature = (x, /))]
        fn $name(py: Python<'_>, x: Given<'_>) -> Result<Vec<PyArray>> {
            let x: &UsmArray = x.array();
            let parts = library(py, operations(x), [x], |[x]: [&UsmArray; 1]| linalg::$name(x))?;
            Ok(vec![$(parts.$part.into()),*])
        }
    )*};
}
parts_of_one! {
    slogdet: sign logabsdet;
    eig: eigenvalues eigenvectors;
    eigh: eigenvalues eigenvectors;
    lu: p l u;
}

#[pyfunction]
fn cholesky(
    py: Python<'_>,
    x: Given<'_>,
    #[pyo3(from_py_with = arguments::flag)] upper: bool,
) -> Result<PyArray> {
    let x: &UsmArray = x.array();
    Ok(library(py, operations(x), [x], move |[x]: [&UsmArray; 1]| linalg::cholesky(x, upper))?.into())
}

#[pyfunction]
fn solve(py: Python<'_>, mut x1: Given<'_>, mut x2: Given<'_>) -> Result<PyArray> {
    together!(x1, x2);
    let (x1, x2): (&UsmArray, &UsmArray) = (x1.array(), x2.array());
    Ok(library(py, operations(x1) + operations(x2), [x1, x2], |[x1, x2]: [&UsmArray; 2]| {
        linalg::solve(x1, x2)
    })?
    .into())
}

#[pyfunction]
fn svd(
    py: Python<'_>,
    x: Given<'_>,
    #[pyo3(from_py_with = arguments::flag)] full: bool,
) -> Result<(PyArray, PyArray, PyArray)> {
    let x: &UsmArray = x.array();
    let parts = library(py, operations(x), [x], move |[x]: [&UsmArray; 1]| linalg::svd(x, full))?;
    Ok((parts.u.into(), parts.s.into(), parts.vh.into()))
}

#[pyfunction]
fn qr(
    py: Python<'_>,
    x: Given<'_>,
    #[pyo3(from_py_with = arguments::text)] mode: &str,
) -> Result<(PyArray, PyArray)> {
    let mode = match mode {
        "reduced" => QrMode::Reduced,
        "complete" => QrMode::Complete,
        other => {
            return Err(Fault::Python(PyValueError::new_err(format!(
                "invalid value: `mode` is {other:?}; expected \"reduced\" or \"complete\""
            ))));
        }
    };
    let x: &UsmArray = x.array();
    let parts = library(py, operations(x), [x], move |[x]: [&UsmArray; 1]| linalg::qr(x, mode))?;
    Ok((parts.q.into(), parts.r.into()))
}

/// A number or an array.
enum Rtol<'py> {
    Each(PyRef<'py, PyArray>),
    Value(f64),
}

impl<'py> FromPyObject<'_, 'py> for Rtol<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArray>() {
            return Ok(Self::Each(array.borrow()));
        }
        arguments::real(&object).map(Self::Value)
    }
}

/// What counts as zero, without the interpreter.
enum Zero {
    Rounding,
    Value(f64),
    Each(UsmArray),
}

impl Zero {
    fn of(rtol: Option<&Rtol<'_>>) -> Self {
        match rtol {
            None => Self::Rounding,
            Some(Rtol::Value(value)) => Self::Value(*value),
            Some(Rtol::Each(values)) => Self::Each(values.array().clone()),
        }
    }

    fn tolerance(&self) -> Tolerance<'_> {
        match self {
            Self::Rounding => Tolerance::Rounding,
            Self::Value(value) => Tolerance::Value(*value),
            Self::Each(values) => Tolerance::Each(values),
        }
    }
}

#[pyfunction]
fn pinv(py: Python<'_>, x: Given<'_>, rtol: Option<Rtol<'_>>) -> Result<PyArray> {
    let (x, zero): (&UsmArray, _) = (x.array(), Zero::of(rtol.as_ref()));
    let call = move |[x]: [&UsmArray; 1]| linalg::pinv(x, zero.tolerance());
    Ok(library(py, operations(x), [x], call)?.into())
}

#[pyfunction]
fn matrix_rank(py: Python<'_>, x: Given<'_>, rtol: Option<Rtol<'_>>) -> Result<PyArray> {
    let (x, zero): (&UsmArray, _) = (x.array(), Zero::of(rtol.as_ref()));
    let call = move |[x]: [&UsmArray; 1]| linalg::matrix_rank(x, zero.tolerance());
    Ok(library(py, operations(x), [x], call)?.into())
}

#[pyfunction]
fn lstsq(
    py: Python<'_>,
    mut x1: Given<'_>,
    mut x2: Given<'_>,
    rtol: Option<Rtol<'_>>,
) -> Result<(PyArray, PyArray, PyArray, PyArray)> {
    together!(x1, x2);
    let (x1, x2): (&UsmArray, &UsmArray) = (x1.array(), x2.array());
    let zero = Zero::of(rtol.as_ref());
    let call = move |[x1, x2]: [&UsmArray; 2]| linalg::lstsq(x1, x2, zero.tolerance());
    let parts = library(py, operations(x1) + operations(x2), [x1, x2], call)?;
    Ok((parts.solution.into(), parts.residuals.into(), parts.rank.into(), parts.singular_values.into()))
}

#[pyfunction]
fn polyfit(
    py: Python<'_>,
    mut x: Given<'_>,
    mut y: Given<'_>,
    #[pyo3(from_py_with = arguments::whole)] degree: isize,
    mut weights: Option<Given<'_>>,
    #[pyo3(from_py_with = arguments::optional_real)] rcond: Option<f64>,
) -> Result<(PyArray, PyArray, PyArray, PyArray)> {
    together!(x, y, weights);
    let (x, y): (&UsmArray, &UsmArray) = (x.array(), y.array());
    let (degree, weights) = (super::count("deg", degree)?, weights.map(|weights| weights.array().clone()));
    let call = move |[x, y]: [&UsmArray; 2]| {
        let tolerance = rcond.map_or(Tolerance::Rounding, Tolerance::Value);
        linalg::polyfit(x, y, degree, weights.as_ref(), tolerance)
    };
    let operations = x.len() as f64 * (degree as f64 + 1.0).powi(2);
    let parts = library(py, operations, [x, y], call)?;
    Ok((parts.solution.into(), parts.residuals.into(), parts.rank.into(), parts.singular_values.into()))
}

#[pyfunction]
fn polyfit_covariance(
    py: Python<'_>,
    mut x: Given<'_>,
    #[pyo3(from_py_with = arguments::whole)] degree: isize,
    mut weights: Option<Given<'_>>,
) -> Result<PyArray> {
    together!(x, weights);
    let (x, degree): (&UsmArray, _) = (x.array(), super::count("deg", degree)?);
    let weights = weights.as_ref().map(Given::array);
    Ok(py.detach(|| linalg::polyfit_covariance(x, degree, weights))?.into())
}

#[pyfunction]
fn matrix_power(
    py: Python<'_>,
    x: Given<'_>,
    #[pyo3(from_py_with = arguments::whole)] n: i64,
) -> Result<PyArray> {
    let x: &UsmArray = x.array();
    Ok(library(py, operations(x), [x], move |[x]: [&UsmArray; 1]| linalg::matrix_power(x, n))?.into())
}

#[pyfunction]
fn kron(py: Python<'_>, mut x1: Given<'_>, mut x2: Given<'_>) -> Result<PyArray> {
    together!(x1, x2);
    let (x1, x2): (&UsmArray, &UsmArray) = (x1.array(), x2.array());
    Ok(py.detach(|| linalg::kron(x1, x2))?.into())
}

/// The norm of matrices that an argument names.
fn norm_of(ord: Option<&Bound<'_, PyAny>>) -> Result<MatrixNorm> {
    let Some(ord) = ord else { return Ok(MatrixNorm::Frobenius) };
    if let Ok(order) = ord.extract::<f64>() {
        return Ok(MatrixNorm::Order(order));
    }
    match ord.extract::<String>().as_deref() {
        Ok("fro") => Ok(MatrixNorm::Frobenius),
        Ok("nuc") => Ok(MatrixNorm::Nuclear),
        _ => Err(Fault::Python(PyValueError::new_err(format!(
            "invalid value: `ord` is {}; expected \"fro\", \"nuc\", 1, -1, 2, -2, inf or -inf",
            shown(ord)
        )))),
    }
}

#[pyfunction]
fn matrix_norm(
    py: Python<'_>,
    x: Given<'_>,
    ord: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = arguments::flag)] keepdims: bool,
) -> Result<PyArray> {
    let (x, norm): (&UsmArray, _) = (x.array(), norm_of(ord)?);
    Ok(library(py, operations(x), [x], move |[x]: [&UsmArray; 1]| linalg::matrix_norm(x, norm, keepdims))?
        .into())
}

#[pyfunction]
fn cond(py: Python<'_>, x: Given<'_>, p: Option<&Bound<'_, PyAny>>) -> Result<PyArray> {
    let norm = if p.is_none() { MatrixNorm::Order(2.0) } else { norm_of(p)? };
    let x: &UsmArray = x.array();
    Ok(library(py, operations(x), [x], move |[x]: [&UsmArray; 1]| linalg::cond(x, norm))?.into())
}

#[pyfunction]
fn vector_norm(
    py: Python<'_>,
    x: Given<'_>,
    #[pyo3(from_py_with = arguments::real)] ord: f64,
    axis: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = arguments::flag)] keepdims: bool,
) -> Result<PyArray> {
    let (x, axes): (&UsmArray, _) = (x.array(), axes_of("axis", axis)?);
    Ok(py.detach(|| linalg::vector_norm(x, ord, axes.as_deref(), keepdims))?.into())
}

/// Adds the functions to the module `_linalg`.
pub(super) fn register(inner: &Bound<'_, PyModule>) -> PyResult<()> {
    super::add_functions!(inner:
        cholesky cond det eig eigh eigvals eigvalsh expm inv kron lstsq lu matrix_norm matrix_power matrix_rank pinv polyfit
        polyfit_covariance qr slogdet solve svd svdvals vector_norm
    );
    Ok(())
}
