//! Dtypes: which one comes out, which one fits where, and their limits; and the constants.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use stridewise::{Casting, Dtype, DtypeKind, DtypeSupport, FloatInfo, IntInfo, Weak};

use crate::arguments;
use crate::array::operand::{Given, Operand};
use crate::dtype::{self, PyDtype};
use crate::errors::{Fault, Result};

/// The version of the standard that the namespace follows.
const VERSION: &str = "2025.12";

/// The dtype of an array, or that an object names.
fn dtype_of(object: &Bound<'_, PyAny>) -> Result<Dtype> {
    match Given::array_of(object) {
        Ok(Some(array)) => Ok(array.dtype()),
        _ => dtype::extract(object, DtypeSupport::ALL),
    }
}

/// Whether elements of a dtype, or of an array's, may be converted to another.
///
/// casting: "no", only to itself; "safe", where every value survives, as promotion has it; "same_kind", also within a kind
/// or to a richer one; "unsafe", always. Raises ValueError for another word, TypeError for what is no dtype.
#[pyfunction]
#[pyo3(signature = (from_, to, /, *, casting="safe"))]
fn can_cast(
    from_: &Bound<'_, PyAny>,
    to: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = arguments::text)] casting: &str,
) -> Result<bool> {
    let casting = match casting {
        "no" | "equiv" => Casting::No,
        "safe" => Casting::Safe,
        "same_kind" => Casting::SameKind,
        "unsafe" => Casting::Unsafe,
        other => {
            return Err(Fault::Python(PyValueError::new_err(format!(
                "`casting` is {other:?}; expected \"no\", \"safe\", \"same_kind\" or \"unsafe\""
            ))));
        }
    };
    Ok(stridewise::can_cast(dtype_of(from_)?, dtype_of(to)?, casting))
}

/// The dtype of an operation on arrays, on arrays of dtypes, and on Python numbers, which take the kind that they need and
/// else the others' dtype. Where there are arrays, it is one that their device computes in.
///
/// Raises ValueError without any argument, TypeError for an integer that the result does not hold.
#[pyfunction]
#[pyo3(signature = (*arrays_and_dtypes))]
fn result_type(py: Python<'_>, arrays_and_dtypes: &Bound<'_, PyTuple>) -> Result<Py<PyDtype>> {
    let (mut dtypes, mut weak, mut support) = (Vec::new(), Vec::new(), DtypeSupport::ALL);
    for argument in arrays_and_dtypes.iter() {
        match Operand::of(&argument) {
            Ok(Some(Operand::Array(array))) => {
                let own = array.device().dtype_support();
                support = DtypeSupport { f16: support.f16 && own.f16, f64: support.f64 && own.f64 };
                dtypes.push(array.dtype());
            }
            Ok(Some(Operand::Weak(value))) => weak.push(value),
            Ok(Some(Operand::Scalar(value))) => dtypes.push(value.dtype()),
            _ => dtypes.push(dtype::extract(&argument, DtypeSupport::ALL)?),
        }
    }
    if dtypes.is_empty() && weak.is_empty() {
        return Err(Fault::Python(PyValueError::new_err(
            "result_type() is of no arguments; expected at least one array, dtype or number",
        )));
    }
    let weak: Vec<Weak> = weak;
    Ok(dtype::object(py, stridewise::result_type(&dtypes, &weak, support)?)?)
}

/// Whether a dtype is of a kind: a dtype, "bool", "signed integer", "unsigned integer", "integral", "real floating",
/// "complex floating", "numeric", or a tuple of such, of any of which it is. Raises ValueError for another word, TypeError
/// for what is no dtype.
#[pyfunction]
#[pyo3(signature = (dtype, kind))]
fn isdtype(dtype: &Bound<'_, PyAny>, kind: &Bound<'_, PyAny>) -> Result<bool> {
    is_of(dtype::extract(dtype, DtypeSupport::ALL)?, kind)
}

/// Whether a dtype is of a kind, as [`isdtype`] has it.
pub(super) fn is_of(dtype: Dtype, kind: &Bound<'_, PyAny>) -> Result<bool> {
    if let Ok(kinds) = kind.cast::<PyTuple>() {
        for kind in kinds.iter() {
            if is_of(dtype, &kind)? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    let Ok(name) = kind.cast::<PyString>() else {
        return Ok(dtype::extract(kind, DtypeSupport::ALL)? == dtype);
    };
    let (name, own) = (crate::arguments::characters("kind", name)?, dtype.kind());
    Ok(match name {
        "bool" => own == DtypeKind::Bool,
        "signed integer" => own == DtypeKind::Signed,
        "unsigned integer" => own == DtypeKind::Unsigned,
        "integral" => own.is_integer(),
        "real floating" => own == DtypeKind::Float,
        "complex floating" => own == DtypeKind::Complex,
        "numeric" => own != DtypeKind::Bool,
        other => {
            return Err(Fault::Python(PyValueError::new_err(format!(
                "`kind` is {other:?}; expected \"bool\", \"signed integer\", \"unsigned integer\", \"integral\", \"real \
                 floating\", \"complex floating\", \"numeric\", a dtype or a tuple of them"
            ))));
        }
    })
}

/// The limits of a floating-point dtype; of a complex one, those of its parts.
#[pyclass(name = "finfo_object", module = "stridewise", frozen)]
struct PyFloatInfo(FloatInfo);

#[pymethods]
impl PyFloatInfo {
    /// Bits of one value.
    #[getter]
    fn bits(&self) -> u32 {
        self.0.bits
    }
    /// The difference between 1 and the next larger value.
    #[getter]
    fn eps(&self) -> f64 {
        self.0.eps
    }
    /// The largest finite value.
    #[getter]
    fn max(&self) -> f64 {
        self.0.max
    }
    /// The smallest finite value.
    #[getter]
    fn min(&self) -> f64 {
        self.0.min
    }
    /// The smallest positive value of full precision.
    #[getter]
    fn smallest_normal(&self) -> f64 {
        self.0.smallest_normal
    }
    /// The dtype.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyDtype>> {
        dtype::object(py, self.0.dtype)
    }
    fn __repr__(&self) -> String {
        let info = &self.0;
        format!(
            "finfo_object(bits={}, eps={:?}, max={:?}, min={:?}, smallest_normal={:?}, dtype={})",
            info.bits, info.eps, info.max, info.min, info.smallest_normal, info.dtype
        )
    }
}

/// The limits of an integer dtype.
#[pyclass(name = "iinfo_object", module = "stridewise", frozen)]
struct PyIntInfo(IntInfo);

#[pymethods]
impl PyIntInfo {
    /// Bits of one value.
    #[getter]
    fn bits(&self) -> u32 {
        self.0.bits
    }
    /// The largest value.
    #[getter]
    fn max(&self) -> i128 {
        self.0.max
    }
    /// The smallest value.
    #[getter]
    fn min(&self) -> i128 {
        self.0.min
    }
    /// The dtype.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyDtype>> {
        dtype::object(py, self.0.dtype)
    }
    fn __repr__(&self) -> String {
        let info = &self.0;
        format!("iinfo_object(bits={}, max={}, min={}, dtype={})", info.bits, info.max, info.min, info.dtype)
    }
}

/// The limits of a floating-point or complex dtype, or of an array's: bits, eps, max, min, smallest_normal, dtype. Raises
/// TypeError for another dtype.
#[pyfunction]
#[pyo3(signature = (r#type, /))]
fn finfo(r#type: &Bound<'_, PyAny>) -> Result<PyFloatInfo> {
    Ok(PyFloatInfo(dtype_of(r#type)?.finfo()?))
}

/// The limits of an integer dtype, or of an array's: bits, max, min, dtype. Raises TypeError for another dtype.
#[pyfunction]
#[pyo3(signature = (r#type, /))]
fn iinfo(r#type: &Bound<'_, PyAny>) -> Result<PyIntInfo> {
    Ok(PyIntInfo(dtype_of(r#type)?.iinfo()?))
}

/// Adds the functions and constants to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    super::add_functions!(module: can_cast result_type isdtype finfo iinfo);
    module.add("__array_api_version__", VERSION)?;
    module.add("e", std::f64::consts::E)?;
    module.add("pi", std::f64::consts::PI)?;
    module.add("inf", f64::INFINITY)?;
    module.add("nan", f64::NAN)?;
    module.add("newaxis", module.py().None())
}
