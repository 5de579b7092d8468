//! The engine's errors as Python's exceptions. The text stays, in Python's terms.

use std::path::Path;

use pyo3::exceptions::{
    PyBufferError, PyException, PyMemoryError, PyNotImplementedError, PyOSError, PyRuntimeError, PyTypeError,
    PyValueError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyDict, PySlice, PyType};
use stridewise::Error;

use crate::array::PyArray;
use crate::wording;

pyo3::create_exception!(
    stridewise,
    ExecutionPlacementError,
    PyException,
    "Operands are associated with different queues, so none of them says where to compute."
);
pyo3::create_exception!(
    stridewise,
    DeviceSelectionError,
    PyValueError,
    "No device answers to a filter string, or a device cannot be divided as asked."
);
pyo3::create_exception!(
    stridewise,
    TaskError,
    PyRuntimeError,
    "Work on a device failed, or what it depends on did."
);
pyo3::create_exception!(
    stridewise,
    DeviceRuntimeError,
    PyRuntimeError,
    "The runtime of a device reported an error."
);
pyo3::create_exception!(
    stridewise,
    HostAccessError,
    PyBufferError,
    "The host asked for memory that it may not touch: that of kind \"device\"."
);
pyo3::create_exception!(
    stridewise.linalg,
    LinAlgError,
    PyValueError,
    "A matrix cannot be decomposed: it is singular or not positive definite, or an iteration does not converge."
);
pyo3::create_exception!(
    stridewise,
    KernelError,
    PyValueError,
    "A kernel breaks a rule: of what kernels may say, or, in checked mode, by what its items did. Its attributes say which one \
     and where: rule, message, help, filename, lineno, column (from 1 on) and length."
);

pyo3::create_exception!(
    stridewise,
    CompilationError,
    PyValueError,
    "A source of kernels does not compile; the message has the compiler's log."
);

/// An index or an axis out of range, which NumPy's users catch as either of two exceptions.
static BOUNDS: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// What can go wrong in a function that Python calls.
pub(crate) enum Fault {
    /// The engine refused or failed.
    Core(Error),
    /// Python raised.
    Python(PyErr),
}

/// The result of a function that Python calls.
pub(crate) type Result<T> = std::result::Result<T, Fault>;

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Core(error)
    }
}
impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}
impl From<pyo3::CastError<'_, '_>> for Fault {
    fn from(error: pyo3::CastError<'_, '_>) -> Self {
        Self::Python(error.into())
    }
}
impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Core(error) => raise(&error),
            Fault::Python(error) => error,
        }
    }
}

/// The exception for an error of the engine.
pub(crate) fn raise(error: &Error) -> PyErr {
    let text = wording::in_python(error.to_string());
    match error {
        Error::Value(_) | Error::Shape(_) | Error::Overflow(_) | Error::Borrow(_) => {
            PyValueError::new_err(text)
        }
        Error::Decomposition(_) => no_decomposition(text),
        Error::Kernel(broken) => crate::kernel::diagnostic::exception(broken),
        Error::Axis(_) => no_axis(text),
        Error::OutOfBounds(_) => out_of_bounds(text),
        Error::Dtype(_) => PyTypeError::new_err(text),
        Error::Alloc(_) => PyMemoryError::new_err(text),
        Error::HostAccess(_) => HostAccessError::new_err(text),
        Error::DeviceSelection(_) => DeviceSelectionError::new_err(text),
        Error::Unsupported(_) => PyNotImplementedError::new_err(text),
        Error::Compilation(_) => CompilationError::new_err(text),
        Error::Io(complaint) => of_system(&complaint.value, text, None),
        Error::ExecutionPlacement(_) => ExecutionPlacementError::new_err(text),
        Error::Runtime(_) => DeviceRuntimeError::new_err(text),
        Error::Interrupted(_) => crate::wait::interruption(text),
        Error::Dependency(cause) => {
            let mut root = cause;
            while let Error::Dependency(earlier) = &**root {
                root = earlier;
            }
            // Whoever looks for missing memory looks for this, wherever on the way it was missing.
            let exception = match &**root {
                Error::Alloc(_) => PyMemoryError::new_err(text),
                _ => TaskError::new_err(text),
            };
            Python::attach(|py| exception.set_cause(py, Some(raise(cause))));
            exception
        }
        // Tasks, and what later versions of the engine may add.
        _ => TaskError::new_err(text),
    }
}

/// An error of a class of ours: where NumPy is loaded, of one that is derived from NumPy's of the same meaning, too, so that `except` of
/// either catches it. home, name: where NumPy has it. both: that class, once it is made.
fn of_both(
    both: &PyOnceLock<Py<PyType>>,
    ours: &Bound<'_, PyType>,
    home: &str,
    name: &str,
    text: String,
) -> PyResult<PyErr> {
    let py = ours.py();
    let numpy = py.import("sys")?.getattr("modules")?.get_item("numpy")?;
    let make = || -> PyResult<Py<PyType>> {
        let bases = (ours, numpy.getattr(home)?.getattr(name)?);
        let own = ours.getattr("__name__")?;
        let members = PyDict::new(py);
        members.set_item("__module__", ours.getattr("__module__")?)?;
        members.set_item("__doc__", format!("{own} of stridewise and {name} of NumPy."))?;
        // What is copied or sent to another process is of the class that has a name.
        members.set_item("__reduce__", py.import("stridewise._arguments")?.getattr("reduced_error")?)?;
        let class = py.get_type::<PyType>().call1((own, bases, members))?;
        Ok(class.cast_into::<PyType>()?.unbind())
    };
    Ok(PyErr::from_type(both.get_or_try_init(py, make)?.bind(py).clone(), text))
}

/// The error about a matrix that cannot be decomposed, which `except numpy.linalg.LinAlgError` catches.
pub(crate) fn no_decomposition(text: String) -> PyErr {
    static BOTH: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    Python::attach(|py| {
        of_both(&BOTH, &py.get_type::<LinAlgError>(), "linalg", "LinAlgError", text.clone())
            .unwrap_or_else(|_| LinAlgError::new_err(text))
    })
}

/// The error about an axis, which `except numpy.exceptions.AxisError` catches.
pub(crate) fn no_axis(text: String) -> PyErr {
    static BOTH: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    Python::attach(|py| {
        let both =
            BOUNDS.get(py).map(|ours| of_both(&BOTH, ours.bind(py), "exceptions", "AxisError", text.clone()));
        both.and_then(PyResult::ok).unwrap_or_else(|| out_of_bounds(text))
    })
}

/// The error to raise about an axis; see `errors::no_axis`.
#[pyfunction]
#[pyo3(name = "_no_axis")]
fn axis_error<'py>(py: Python<'py>, text: String) -> Bound<'py, PyAny> {
    no_axis(text).into_value(py).into_bound(py).into_any()
}

/// The error about a file: of the class that Python has for what the system says (`FileNotFoundError`, `PermissionError`), with its
/// number and the file's name, where it has said something.
fn of_system(value: &str, text: String, file: Option<&Path>) -> PyErr {
    // The standard library's words for an error of the system end with its number.
    let number =
        value.rsplit_once("(os error ").and_then(|(_, rest)| rest.split(')').next()?.parse::<i32>().ok());
    match (number, file) {
        (Some(number), Some(file)) => PyOSError::new_err((number, text, file.as_os_str().to_owned())),
        (Some(number), None) => PyOSError::new_err((number, text)),
        (None, _) => PyOSError::new_err(text),
    }
}

/// What has failed of a file of this name.
pub(crate) fn of_file(file: &Path) -> impl Fn(Fault) -> Fault {
    move |fault| match fault {
        Fault::Core(Error::Io(complaint)) => {
            let text = wording::in_python(Error::Io(complaint.clone()).to_string());
            Fault::Python(of_system(&complaint.value, text, Some(file)))
        }
        other => other,
    }
}

pub(crate) fn out_of_bounds(text: String) -> PyErr {
    Python::attach(|py| match BOUNDS.get(py) {
        Some(class) => PyErr::from_type(class.bind(py).clone(), text),
        None => PyValueError::new_err(text),
    })
}

/// What a key has failed by: a mask or indices of shapes that do not fit are an IndexError as well.
pub(crate) fn of_key(error: Error) -> Fault {
    match error {
        Error::Shape(_) => Fault::Python(out_of_bounds(wording::in_python(error.to_string()))),
        other => Fault::Core(other),
    }
}

/// Characters of an object's `repr` that a message has at most: of a list of a million numbers it would be these.
const SHOWN: usize = 400;

/// An object, for a message: its `repr`, or the beginning of it; of an array, what sort it is.
pub(crate) fn shown(object: &Bound<'_, PyAny>) -> String {
    if let Ok(array) = object.cast::<PyArray>() {
        let array = array.get().array();
        return format!("an array of {} of shape {:?}", array.dtype(), array.shape());
    }
    let shown = || -> PyResult<String> {
        let text = object.repr()?;
        let length = text.len()?;
        if length <= SHOWN {
            return Ok(text.to_string());
        }
        let start = PySlice::new(object.py(), 0, SHOWN.cast_signed(), 1);
        Ok(format!("{}… ({length} characters)", text.as_any().get_item(start)?))
    };
    shown().unwrap_or_else(|_| "an object".to_owned())
}

/// Adds the exceptions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    // In the order that NumPy's AxisError has, so that a class can be derived from both.
    let bases = (py.get_type::<PyValueError>(), py.get_type::<pyo3::exceptions::PyIndexError>());
    let text =
        "An index, an axis, a range or an offset is out of range. Both an IndexError and a ValueError.";
    let members = [("__module__", "stridewise"), ("__doc__", text)].into_py_dict(py)?;
    // A class of several bases is made as Python does it.
    let bounds =
        py.get_type::<PyType>().call1(("OutOfBoundsError", bases, members))?.cast_into::<PyType>()?;
    let bounds = BOUNDS.get_or_init(py, || bounds.unbind());
    module.add("OutOfBoundsError", bounds)?;
    module.add_function(pyo3::wrap_pyfunction!(axis_error, module)?)?;
    module.add("ExecutionPlacementError", py.get_type::<ExecutionPlacementError>())?;
    module.add("DeviceSelectionError", py.get_type::<DeviceSelectionError>())?;
    module.add("TaskError", py.get_type::<TaskError>())?;
    module.add("DeviceRuntimeError", py.get_type::<DeviceRuntimeError>())?;
    module.add("CompilationError", py.get_type::<CompilationError>())?;
    module.add("KernelError", py.get_type::<KernelError>())?;
    module.add("HostAccessError", py.get_type::<HostAccessError>())
}
