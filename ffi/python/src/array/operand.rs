//! Operands: our arrays, Python's numbers, and NumPy's scalars.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt};
use pyo3::{Borrowed, FromPyObject};
use stridewise::{ArrayOrScalar, Complex, Scalar, Weak};

use super::{Now, PyArray};
use crate::dtype;

/// An operand of an operation.
pub(crate) enum Operand<'py> {
    /// One of our arrays.
    Array(Now<PyRef<'py, PyArray>>),
    /// A Python number, which takes the arrays' dtype.
    Weak(Weak),
    /// A scalar of NumPy's, which has a dtype.
    Scalar(Scalar),
}

impl Operand<'_> {
    /// The operand as the engine takes it.
    pub(crate) fn get(&self) -> ArrayOrScalar<'_> {
        match self {
            Self::Array(array) => ArrayOrScalar::Array(array),
            Self::Weak(value) => ArrayOrScalar::Weak(*value),
            Self::Scalar(value) => ArrayOrScalar::Scalar(*value),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Operand<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArray>() {
            return Ok(Self::Array(Now::of(array.borrow())));
        }
        if let Some(number) = number(&object)? {
            return Ok(Self::Weak(number));
        }
        if let Some(scalar) = scalar(&object)? {
            return Ok(Self::Scalar(scalar));
        }
        match derived(&object)? {
            Some(number) => Ok(Self::Weak(number)),
            None => Err(PyTypeError::new_err(format!(
                "an operand is of type {}; expected a usm_ndarray or a number; help: convert it with asarray",
                object.get_type().name()?
            ))),
        }
    }
}

/// The value of a Python number: exactly a `float`, `int`, `bool` or `complex`, for NumPy's scalars are of their own
/// types, some of which are derived from these.
///
/// # Errors
/// `OverflowError` for an integer beyond the doubles.
pub(crate) fn number(object: &Bound<'_, PyAny>) -> PyResult<Option<Weak>> {
    if let Ok(value) = object.cast_exact::<PyFloat>() {
        return Ok(Some(Weak::Float(value.extract()?)));
    }
    if let Ok(value) = object.cast_exact::<PyInt>() {
        // The short way first: most integers are.
        return Ok(Some(integer(value)?));
    }
    if let Ok(value) = object.cast_exact::<PyBool>() {
        return Ok(Some(Weak::Bool(value.is_true())));
    }
    if let Ok(value) = object.cast_exact::<PyComplex>() {
        return Ok(Some(Weak::Complex(parts(value))));
    }
    Ok(None)
}

fn integer(value: &Bound<'_, PyInt>) -> PyResult<Weak> {
    // The short way first: most integers are.
    if let Ok(value) = value.extract::<i64>() {
        return Ok(Weak::Int(value.into()));
    }
    Ok(match value.extract::<i128>() {
        Ok(value) => Weak::Int(value),
        Err(_) => Weak::Large(value.extract()?),
    })
}

fn parts(value: &Bound<'_, PyComplex>) -> Complex<f64> {
    use pyo3::types::PyComplexMethods;
    Complex::new(value.real(), value.imag())
}

/// The value of an object of a class derived from one of Python's numbers.
fn derived(object: &Bound<'_, PyAny>) -> PyResult<Option<Weak>> {
    if let Ok(value) = object.cast::<PyInt>() {
        return Ok(Some(integer(value)?));
    }
    if object.cast::<PyFloat>().is_ok() {
        return Ok(Some(Weak::Float(object.extract()?)));
    }
    Ok(object.cast::<PyComplex>().ok().map(|value| Weak::Complex(parts(value))))
}

/// The value of a scalar of NumPy's.
fn scalar(object: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    let py = object.py();
    let modules = py.import(pyo3::intern!(py, "sys"))?.getattr(pyo3::intern!(py, "modules"))?;
    let Ok(numpy) = modules.get_item("numpy") else { return Ok(None) };
    if !object.is_instance(&numpy.getattr("generic")?)? {
        return Ok(None);
    }
    let dtype = dtype::extract(&object.getattr("dtype")?, stridewise::DtypeSupport::ALL)?;
    let Some(value) = number(&object.call_method0("item")?)? else { return Ok(None) };
    Ok(Some(value.to_scalar(dtype).map_err(|error| crate::errors::raise(&error))?))
}
