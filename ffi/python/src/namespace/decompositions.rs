//! What needs decompositions of matrices, for `stridewise.linalg`, which says what each function does.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stridewise::UsmArray;
use stridewise::linalg::{self, MatrixNorm, QrMode, Tolerance};

use super::axes::axes_of;
use crate::array::PyArray;
use crate::array::operand::Given;
use crate::errors::{Fault, Result, shown};

/// Functions of one array whose result is an array.
macro_rules! of_one {
    ($($name:ident)*) => {$(
        #[pyfunction]
        #[pyo3(signature = (x, /))]
        fn $name(py: Python<'_>, x: Given<'_>) -> Result<PyArray> {
            let x: &UsmArray = x.array();
            Ok(py.detach(|| linalg::$name(x))?.into())
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
            let parts = py.detach(|| linalg::$name(x))?;
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
fn cholesky(py: Python<'_>, x: Given<'_>, upper: bool) -> Result<PyArray> {
    let x: &UsmArray = x.array();
    Ok(py.detach(|| linalg::cholesky(x, upper))?.into())
}

#[pyfunction]
fn solve(py: Python<'_>, x1: Given<'_>, x2: Given<'_>) -> Result<PyArray> {
    let (x1, x2): (&UsmArray, &UsmArray) = (x1.array(), x2.array());
    Ok(py.detach(|| linalg::solve(x1, x2))?.into())
}

#[pyfunction]
fn svd(py: Python<'_>, x: Given<'_>, full: bool) -> Result<(PyArray, PyArray, PyArray)> {
    let x: &UsmArray = x.array();
    let parts = py.detach(|| linalg::svd(x, full))?;
    Ok((parts.u.into(), parts.s.into(), parts.vh.into()))
}

#[pyfunction]
fn qr(py: Python<'_>, x: Given<'_>, mode: &str) -> Result<(PyArray, PyArray)> {
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
    let parts = py.detach(|| linalg::qr(x, mode))?;
    Ok((parts.q.into(), parts.r.into()))
}

/// A number, an array, or nothing.
#[derive(FromPyObject)]
enum Rtol<'py> {
    Each(PyRef<'py, PyArray>),
    Value(f64),
}

/// What counts as zero, beside the array that it may be.
fn tolerance<'a>(rtol: Option<&Rtol<'_>>, each: Option<&'a UsmArray>) -> Tolerance<'a> {
    match (rtol, each) {
        (Some(Rtol::Value(value)), _) => Tolerance::Value(*value),
        (_, Some(values)) => Tolerance::Each(values),
        _ => Tolerance::Rounding,
    }
}

fn each_of(rtol: Option<&Rtol<'_>>) -> Option<UsmArray> {
    match rtol {
        Some(Rtol::Each(values)) => Some(values.array().clone()),
        _ => None,
    }
}

#[pyfunction]
fn pinv(py: Python<'_>, x: Given<'_>, rtol: Option<Rtol<'_>>) -> Result<PyArray> {
    let (x, each): (&UsmArray, _) = (x.array(), each_of(rtol.as_ref()));
    let tolerance = tolerance(rtol.as_ref(), each.as_ref());
    Ok(py.detach(|| linalg::pinv(x, tolerance))?.into())
}

#[pyfunction]
fn matrix_rank(py: Python<'_>, x: Given<'_>, rtol: Option<Rtol<'_>>) -> Result<PyArray> {
    let (x, each): (&UsmArray, _) = (x.array(), each_of(rtol.as_ref()));
    let tolerance = tolerance(rtol.as_ref(), each.as_ref());
    Ok(py.detach(|| linalg::matrix_rank(x, tolerance))?.into())
}

#[pyfunction]
fn lstsq(
    py: Python<'_>,
    x1: Given<'_>,
    x2: Given<'_>,
    rtol: Option<Rtol<'_>>,
) -> Result<(PyArray, PyArray, PyArray, PyArray)> {
    let (x1, x2): (&UsmArray, &UsmArray) = (x1.array(), x2.array());
    let each = each_of(rtol.as_ref());
    let tolerance = tolerance(rtol.as_ref(), each.as_ref());
    let parts = py.detach(|| linalg::lstsq(x1, x2, tolerance))?;
    Ok((parts.solution.into(), parts.residuals.into(), parts.rank.into(), parts.singular_values.into()))
}

#[pyfunction]
fn polyfit(
    py: Python<'_>,
    x: Given<'_>,
    y: Given<'_>,
    degree: isize,
    weights: Option<Given<'_>>,
    rcond: Option<f64>,
) -> Result<(PyArray, PyArray, PyArray, PyArray)> {
    let (x, y): (&UsmArray, &UsmArray) = (x.array(), y.array());
    let (degree, weights) = (super::count("deg", degree)?, weights.as_ref().map(Given::array));
    let tolerance = rcond.map_or(Tolerance::Rounding, Tolerance::Value);
    let parts = py.detach(|| linalg::polyfit(x, y, degree, weights, tolerance))?;
    Ok((parts.solution.into(), parts.residuals.into(), parts.rank.into(), parts.singular_values.into()))
}

#[pyfunction]
fn polyfit_covariance(
    py: Python<'_>,
    x: Given<'_>,
    degree: isize,
    weights: Option<Given<'_>>,
) -> Result<PyArray> {
    let (x, degree): (&UsmArray, _) = (x.array(), super::count("deg", degree)?);
    let weights = weights.as_ref().map(Given::array);
    Ok(py.detach(|| linalg::polyfit_covariance(x, degree, weights))?.into())
}

#[pyfunction]
fn matrix_power(py: Python<'_>, x: Given<'_>, n: i64) -> Result<PyArray> {
    let x: &UsmArray = x.array();
    Ok(py.detach(|| linalg::matrix_power(x, n))?.into())
}

#[pyfunction]
fn kron(py: Python<'_>, x1: Given<'_>, x2: Given<'_>) -> Result<PyArray> {
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
    keepdims: bool,
) -> Result<PyArray> {
    let (x, norm): (&UsmArray, _) = (x.array(), norm_of(ord)?);
    Ok(py.detach(|| linalg::matrix_norm(x, norm, keepdims))?.into())
}

#[pyfunction]
fn cond(py: Python<'_>, x: Given<'_>, p: Option<&Bound<'_, PyAny>>) -> Result<PyArray> {
    let norm = if p.is_none() { MatrixNorm::Order(2.0) } else { norm_of(p)? };
    let x: &UsmArray = x.array();
    Ok(py.detach(|| linalg::cond(x, norm))?.into())
}

#[pyfunction]
fn vector_norm(
    py: Python<'_>,
    x: Given<'_>,
    ord: f64,
    axis: Option<&Bound<'_, PyAny>>,
    keepdims: bool,
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
