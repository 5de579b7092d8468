//! Dtypes as Python objects, and what is taken for one.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyString, PyType};
use stridewise::{Dtype, DtypeKind, DtypeSupport};

use crate::errors::{Fault, Result, shown};

/// The type of an array's elements, named as in the array API: `stridewise.float32`. Equal to itself, to its name and
/// type string ("float32", "f4", "<f4"), and to NumPy's dtype and scalar type of the same elements.
///
/// dtype(name): from a name, a type string, a Python type (bool, int, float, complex), or NumPy's dtype or scalar type.
#[pyclass(name = "dtype", module = "stridewise", frozen)]
pub(crate) struct PyDtype(pub(crate) Dtype);

/// One object per dtype.
static OBJECTS: PyOnceLock<Vec<Py<PyDtype>>> = PyOnceLock::new();

/// The Python object of a dtype.
pub(crate) fn object(py: Python<'_>, dtype: Dtype) -> PyResult<Py<PyDtype>> {
    let objects = OBJECTS.get_or_try_init(py, || {
        Dtype::ALL.iter().map(|&dtype| Py::new(py, PyDtype(dtype))).collect::<PyResult<Vec<_>>>()
    })?;
    match objects.get(dtype as usize) {
        Some(object) => Ok(object.clone_ref(py)),
        None => Py::new(py, PyDtype(dtype)),
    }
}

/// The dtype that an argument names; `int`, `float` and `complex` are the default ones of a device.
///
/// # Errors
/// `TypeError` where it names none.
pub(crate) fn extract(argument: &Bound<'_, PyAny>, support: DtypeSupport) -> Result<Dtype> {
    if let Ok(dtype) = argument.cast::<PyDtype>() {
        return Ok(dtype.get().0);
    }
    if let Ok(name) = argument.cast::<PyString>() {
        return Ok(name.to_cow()?.parse()?);
    }
    let py = argument.py();
    if argument.is(py.get_type::<PyBool>()) {
        return Ok(Dtype::Bool);
    }
    if argument.is(py.get_type::<PyInt>()) {
        return Ok(support.default_int());
    }
    if argument.is(py.get_type::<PyFloat>()) {
        return Ok(support.default_float());
    }
    if argument.is(py.get_type::<PyComplex>()) {
        return Ok(support.default_complex());
    }
    match foreign(argument)? {
        Some(dtype) => Ok(dtype),
        None => Err(Fault::Python(PyTypeError::new_err(format!(
            "dtype: `dtype` is {}; expected a dtype, its name or type string, a Python type (bool, int, float, complex) \
             or NumPy's dtype; help: use one such as stridewise.float32 or \"float32\"",
            shown(argument)
        )))),
    }
}

/// As [`extract`], for an argument that may be `None`.
pub(crate) fn optional(argument: Option<&Bound<'_, PyAny>>, support: DtypeSupport) -> Result<Option<Dtype>> {
    argument.filter(|argument| !argument.is_none()).map(|argument| extract(argument, support)).transpose()
}

/// The dtype of an object of NumPy's (or of those that follow it): a dtype, or the type of a scalar.
fn foreign(argument: &Bound<'_, PyAny>) -> Result<Option<Dtype>> {
    let py = argument.py();
    let described = if argument.cast::<PyType>().is_ok() {
        // A type of scalars is one of NumPy's only where NumPy is.
        let modules = py.import("sys")?.getattr("modules")?;
        let Ok(numpy) = modules.get_item("numpy") else { return Ok(None) };
        if !argument.cast::<PyType>()?.is_subclass(&numpy.getattr("generic")?)? {
            return Ok(None);
        }
        numpy.getattr("dtype")?.call1((argument,))?
    } else {
        argument.clone()
    };
    let text = |name: &str| described.getattr(name).ok().and_then(|text| text.extract::<String>().ok());
    let (Some(code), Some(name)) = (text("str"), text("name")) else { return Ok(None) };
    // Types beyond NumPy's own have a code that says only how many bytes they take.
    Ok(Some(if name == Dtype::Bf16.name() { Dtype::Bf16 } else { code.parse()? }))
}

#[pymethods]
impl PyDtype {
    #[new]
    fn new(py: Python<'_>, name: &Bound<'_, PyAny>) -> Result<Py<Self>> {
        Ok(object(py, extract(name, DtypeSupport::ALL)?)?)
    }

    /// The array API's name: "float32".
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name()
    }
    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.size()
    }
    /// Bytes that an element's address is a multiple of.
    #[getter]
    fn alignment(&self) -> usize {
        self.0.align()
    }
    /// The type string of the array interface: "<f4"; "bfloat16", which has none, is itself.
    #[getter]
    fn str(&self) -> &'static str {
        self.0.typestr()
    }
    /// The kind, as NumPy's letter: "b", "i", "u", "f", "c".
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.kind() {
            DtypeKind::Bool => "b",
            DtypeKind::Signed => "i",
            DtypeKind::Unsigned => "u",
            DtypeKind::Float => "f",
            DtypeKind::Complex => "c",
        }
    }

    /// NumPy's dtype of the same elements, for `numpy.dtype(…)` and `dtype=` of NumPy's functions.
    #[getter]
    fn __numpy_dtype__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("numpy")?.getattr("dtype")?.call1((self.0.typestr(),))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        // What names no dtype is different from all.
        extract(other, DtypeSupport::ALL).is_ok_and(|dtype| dtype == self.0)
    }
    fn __hash__(&self) -> u64 {
        let mut state = DefaultHasher::new();
        self.0.hash(&mut state);
        state.finish()
    }
    fn __repr__(&self) -> String {
        format!("stridewise.{}", self.0)
    }
    fn __str__(&self) -> &'static str {
        self.0.name()
    }
    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyType>, (&'static str,))> {
        Ok((slf.get_type().unbind(), (slf.get().0.name(),)))
    }
}

/// Adds the class and one object per dtype to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyDtype>()?;
    for &dtype in Dtype::ALL {
        module.add(dtype.name(), object(module.py(), dtype)?)?;
    }
    Ok(())
}
