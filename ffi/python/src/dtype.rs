//! Dtypes as Python objects, and what is taken for one.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyString, PyTuple, PyType};
use stridewise::{Dtype, DtypeKind, DtypeSupport};

use crate::arguments;
use crate::errors::{Fault, Result, shown};
use crate::protocol::numpy::Numpy;

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
        let name = arguments::characters("dtype", name)?;
        return match numpys_name(name, support) {
            Some(dtype) => Ok(dtype),
            None => Ok(name.parse()?),
        };
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

/// What NumPy says of a dtype beside the array API's name: its letter, its number and its names of C's types. Its `long` is 64
/// bits where a pointer is.
const NUMPYS: &[(Dtype, &str, u32, &[&str])] = &[
    (Dtype::Bool, "?", 0, &[]),
    (Dtype::I8, "b", 1, &["byte"]),
    (Dtype::U8, "B", 2, &["ubyte"]),
    (Dtype::I16, "h", 3, &["short"]),
    (Dtype::U16, "H", 4, &["ushort"]),
    (Dtype::I32, "i", 5, &["intc"]),
    (Dtype::U32, "I", 6, &["uintc"]),
    (Dtype::I64, "l", 7, &["q", "p", "n", "long", "longlong", "intp"]),
    (Dtype::U64, "L", 8, &["Q", "P", "N", "ulong", "ulonglong", "uintp"]),
    (Dtype::F16, "e", 23, &["half"]),
    (Dtype::F32, "f", 11, &["single"]),
    (Dtype::F64, "d", 12, &["double"]),
    (Dtype::C64, "F", 14, &["csingle"]),
    (Dtype::C128, "D", 15, &["cdouble"]),
    // A dtype of a library beside NumPy, which numbers those from here on.
    (Dtype::Bf16, "E", 256, &[]),
];

/// The dtype of a name that is NumPy's or Python's.
fn numpys_name(name: &str, support: DtypeSupport) -> Option<Dtype> {
    match name {
        "int" => Some(support.default_int()),
        "uint" => Some(Dtype::U64),
        "float" => Some(support.default_float()),
        "complex" => Some(support.default_complex()),
        _ => {
            let named = |(_, letter, _, names): &&(Dtype, &str, u32, &[&str])| {
                *letter == name || names.contains(&name)
            };
            NUMPYS.iter().find(named).map(|entry| entry.0)
        }
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
        let Some(numpy) = Numpy::of(py) else { return Ok(None) };
        if !numpy.is_type_of_scalars(argument.cast::<PyType>()?)? {
            return Ok(None);
        }
        py.import("numpy")?.getattr("dtype")?.call1((argument,))?
    } else {
        argument.clone()
    };
    let text = |name: &str| described.getattr(name).ok().and_then(|text| text.extract::<String>().ok());
    let (Some(code), Some(name)) = (text("str"), text("name")) else { return Ok(None) };
    // Types beyond NumPy's own have a code that says only how many bytes they take; or that they are floats of one.
    match name == Dtype::Bf16.name() {
        true => Ok(Some(Dtype::Bf16)),
        false if code.contains('V') || code.ends_with("f1") => Ok(None),
        false => Ok(Some(code.parse()?)),
    }
}

impl PyDtype {
    /// NumPy's letter and number.
    fn numpys(&self) -> (&'static str, u32) {
        NUMPYS.iter().find(|entry| entry.0 == self.0).map_or(("V", 20), |entry| (entry.1, entry.2))
    }
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

    /// NumPy's letter: "f", "d", "l".
    #[getter]
    fn char(&self) -> &'static str {
        self.numpys().0
    }
    /// NumPy's number of the dtype.
    #[getter]
    fn num(&self) -> u32 {
        self.numpys().1
    }
    /// "=", the order of the processor's bytes; "|" where there is one byte.
    #[getter]
    fn byteorder(&self) -> &'static str {
        if self.0.size() == 1 { "|" } else { "=" }
    }
    /// Whether bytes are in the processor's order: always.
    #[getter]
    fn isnative(&self) -> bool {
        true
    }
    /// The dtype in another order of bytes, of which there is the processor's alone: "=", "|", or as the processor has it "<" or
    /// ">". Raises ValueError for another.
    #[pyo3(signature = (new_order="S", /))]
    fn newbyteorder(
        slf: Py<Self>,
        #[pyo3(from_py_with = arguments::text)] new_order: &str,
    ) -> Result<Py<Self>> {
        const NATIVE: &str = if cfg!(target_endian = "little") { "<" } else { ">" };
        match new_order {
            "=" | "N" | "native" | "|" | "I" | "ignore" => Ok(slf),
            order if order == NATIVE => Ok(slf),
            other => Err(Fault::Python(PyValueError::new_err(format!(
                "`new_order` is {other:?}; expected \"=\", for elements are in the processor's order here; help: asarray converts \
                 arrays of the other one"
            )))),
        }
    }
    /// None: elements are numbers, without fields.
    #[getter]
    fn names(&self) -> Option<()> {
        None
    }
    /// None: elements are numbers, without fields.
    #[getter]
    fn fields(&self) -> Option<()> {
        None
    }
    /// None: elements are numbers, and no arrays.
    #[getter]
    fn subdtype(&self) -> Option<()> {
        None
    }
    /// The dtype itself: elements are numbers, and no arrays.
    #[getter]
    fn base(slf: Py<Self>) -> Py<Self> {
        slf
    }
    /// (): elements are numbers, and no arrays.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> Bound<'py, PyTuple> {
        PyTuple::empty(py)
    }
    /// False: no elements are references to objects.
    #[getter]
    fn hasobject(&self) -> bool {
        false
    }
    /// NumPy's class of dtypes, where a program has imported it: what asks for `isinstance(x.dtype, numpy.dtype)`, as xarray and
    /// pandas do, goes on with names, kinds and `numpy.dtype(…)`, which are as NumPy's; but for bfloat16, which NumPy has not.
    /// `type(…)` says whose it is.
    #[getter]
    fn __class__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyType> {
        let numpy = if slf.get().0 == Dtype::Bf16 { None } else { Numpy::of(slf.py()) };
        numpy.map_or_else(|| slf.get_type(), |numpy| numpy.class_of_dtypes(slf.py()))
    }
    /// NumPy's type of scalars of the dtype; of bfloat16, which NumPy has not, that of the library ml_dtypes. Raises AttributeError
    /// where that, or NumPy, is not installed.
    #[getter]
    fn r#type<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.0 == Dtype::Bf16 {
            let found = crate::protocol::numpy::dtype_of(py, self.0).and_then(|dtype| dtype.getattr("type"));
            return found.map_err(|error| PyAttributeError::new_err(format!("dtype.type: {error}")));
        }
        let name = if self.0 == Dtype::Bool { "bool_" } else { self.0.name() };
        let found = py.import("numpy").and_then(|numpy| numpy.getattr(name));
        found.map_err(|error| PyAttributeError::new_err(format!("dtype.type: NumPy has no {name}: {error}")))
    }

    /// NumPy's dtype of the same elements, for `numpy.dtype(…)` and `dtype=` of NumPy's functions.
    #[getter]
    fn __numpy_dtype__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::protocol::numpy::dtype_of(py, self.0)
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
