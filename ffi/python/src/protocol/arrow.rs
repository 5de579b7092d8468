//! Arrow: `__arrow_c_array__`, `__arrow_c_schema__` and `__arrow_c_device_array__`, and what others have of that. The structures and their
//! rules are those of `stridewise-exchange`; here are the capsules that they travel in.

use std::ffi::CStr;

use pyo3::exceptions::{PyBufferError, PyImportError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use stridewise::{Dtype, Error, UsmArray};
use stridewise_exchange::arrow::{
    self, ArrowArray, ArrowArrayStream, ArrowDeviceArray, ArrowSchema, Released,
};

use super::{Request, refusal, working_queue};
use crate::array::PyArray;
use crate::errors::{Fault, Result, shown};

/// A structure in a capsule.
trait Form: Released + 'static {
    /// The capsule's name, which the protocol has.
    const NAME: &'static CStr;
}
impl Form for ArrowSchema {
    const NAME: &'static CStr = c"arrow_schema";
}
impl Form for ArrowArray {
    const NAME: &'static CStr = c"arrow_array";
}
impl Form for ArrowDeviceArray {
    const NAME: &'static CStr = c"arrow_device_array";
}
impl Form for ArrowArrayStream {
    const NAME: &'static CStr = c"arrow_array_stream";
}

/// A structure's address, or a structure, on its way between the parts of a function that hold the interpreter's lock and those that do
/// not.
struct Moved<T>(T);

// SAFETY: the structures of the protocol may be used and given back by any thread, by one at a time.
unsafe impl<T> Send for Moved<T> {}

impl<T> Moved<T> {
    fn get(self) -> T {
        self.0
    }
}

/// Puts a structure into a capsule, which gives it back unless somebody takes it out.
fn capsule<T: Form>(py: Python<'_>, structure: T) -> Result<Bound<'_, PyAny>> {
    let raw = Box::into_raw(Box::new(structure));
    // SAFETY: the interpreter's lock is held; the name is static, and the destructor takes what the capsule holds.
    let capsule = unsafe { ffi::PyCapsule_New(raw.cast(), T::NAME.as_ptr(), Some(destroy::<T>)) };
    if capsule.is_null() {
        // SAFETY: made above, and in no capsule.
        unsafe { give_back(raw) };
        return Err(PyErr::fetch(py).into());
    }
    // SAFETY: a new reference, not null.
    Ok(unsafe { Bound::from_owned_ptr(py, capsule) })
}

/// Gives back a structure in a box, unless somebody has taken it, and the box.
///
/// # Safety
/// The box is one of `capsule`, and nobody else frees it.
unsafe fn give_back<T: Form>(raw: *mut T) {
    // SAFETY: the caller's promise.
    unsafe { Box::from_raw(raw).release() };
}

/// Gives back what a capsule holds.
unsafe extern "C" fn destroy<T: Form>(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter hands in the capsule that it destroys. A name of our own says what is in it; neither call raises then, so
    // an exception that is under way stays.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, T::NAME.as_ptr()) == 1 {
            give_back(ffi::PyCapsule_GetPointer(capsule, T::NAME.as_ptr()).cast::<T>());
        }
    }
}

/// The structure that a capsule holds; `None` where it is no such capsule.
fn held<T: Form>(capsule: &Bound<'_, PyAny>) -> Option<*mut T> {
    // SAFETY: the interpreter's lock is held, and any object may be asked whether it is such a capsule; of one that is, the name is
    // right, so there is a pointer, and not null.
    unsafe {
        let valid = ffi::PyCapsule_IsValid(capsule.as_ptr(), T::NAME.as_ptr()) == 1;
        valid.then(|| ffi::PyCapsule_GetPointer(capsule.as_ptr(), T::NAME.as_ptr()).cast())
    }
}

/// The error about something that is not what the protocol has.
fn wrong<T>(method: &str, found: &Bound<'_, PyAny>, expected: &str) -> Result<T> {
    Err(Fault::Python(PyTypeError::new_err(format!(
        "{method} returned {}; expected {expected}",
        shown(found)
    ))))
}

/// The two capsules of a column.
fn pair<'py>(object: &Bound<'py, PyAny>) -> Result<(*mut ArrowSchema, *mut ArrowArray, Bound<'py, PyAny>)> {
    const METHOD: &str = "__arrow_c_array__";
    let found = object.call_method0(METHOD)?;
    let capsules = found.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>().ok();
    let held = capsules.and_then(|(schema, array)| Some((held(&schema)?, held(&array)?)));
    match held {
        Some((schema, array)) => Ok((schema, array, found)),
        None => wrong(METHOD, &found, "two capsules, named \"arrow_schema\" and \"arrow_array\""),
    }
}

/// What cannot be an array here: another protocol may have it, or else it is an error that says what it is.
fn no_dtype(object: &Bound<'_, PyAny>, request: &Request<'_>) -> Result<Option<UsmArray>> {
    if request.copy != Some(false) && object.hasattr("__array__")? {
        return Ok(None);
    }
    let kind = object.getattr_opt("type")?.or(object.getattr_opt("dtype")?);
    let found = kind.map_or_else(|| shown(&object.get_type()), |kind| shown(&kind));
    Err(Fault::Python(PyTypeError::new_err(format!(
        "dtype: the elements are {found}; expected bool, integers or floats of 16 to 64 bits, one column of them; help: convert them \
         first, or take a column"
    ))))
}

/// The array that an object with Arrow's methods is.
pub(super) fn import(object: &Bound<'_, PyAny>, request: &Request<'_>) -> Result<Option<UsmArray>> {
    let py = object.py();
    if object.hasattr("__arrow_c_array__")? {
        let (schema, array, _capsules) = pair(object)?;
        // SAFETY: in capsules of these names are these structures, which nobody has taken but who made them so.
        let Some(dtype) = (unsafe { arrow::dtype_of(&*schema) })? else { return no_dtype(object, request) };
        let queue = working_queue(request.queue)?;
        // SAFETY: as above. With an empty one in its place, the capsule gives back nothing.
        let column = Moved(unsafe { std::ptr::replace(array, ArrowArray::empty()) });
        let copy = request.copy.filter(|copy| !copy);
        // SAFETY: a column of that dtype, as the protocol has it, which now is ours.
        let imported = py.detach(|| unsafe { arrow::import(column.get(), dtype, &queue, copy) });
        return imported.map(Some).map_err(refused);
    }
    if object.hasattr("__arrow_c_stream__")? {
        const METHOD: &str = "__arrow_c_stream__";
        let found = match object.call_method0(METHOD) {
            // pandas has the method without pyarrow, too, which it takes to answer.
            Err(error) if error.is_instance_of::<PyImportError>(py) => return no_dtype(object, request),
            found => found?,
        };
        let Some(stream) = held::<ArrowArrayStream>(&found) else {
            return wrong(METHOD, &found, "a capsule named \"arrow_array_stream\"");
        };
        // SAFETY: in a capsule of this name is this structure, which nobody has taken but who made it so.
        let dtype = unsafe { arrow::schema_of_stream(&mut *stream) }.map_err(refused)?;
        let Some(dtype) = dtype else { return no_dtype(object, request) };
        let queue = working_queue(request.queue)?;
        // SAFETY: as above. With an empty one in its place, the capsule gives back nothing.
        let stream = Moved(unsafe { std::ptr::replace(stream, ArrowArrayStream::empty()) });
        let copy = request.copy.filter(|copy| !copy);
        // SAFETY: a stream of parts of that dtype, as the protocol has it, which now is ours.
        let imported = py.detach(|| unsafe { arrow::import_stream(stream.get(), dtype, &queue, copy) });
        return imported.map(Some).map_err(refused);
    }
    Ok(None)
}

/// The exception for a column that is not taken: what needs a copy that is refused is a ValueError, as the standard has it.
fn refused(error: Error) -> Fault {
    match error {
        Error::Unsupported(ref complaint) if complaint.argument == "copy" => {
            Fault::Python(pyo3::exceptions::PyValueError::new_err(
                "`copy` is False, for truth values, a column in several parts, or elements that do not lie as ours do; expected True or \
                 None",
            ))
        }
        other => refusal(other),
    }
}

/// The array as it is asked for: converted to a dtype, if a schema is of one.
fn requested(array: &UsmArray, schema: Option<&Bound<'_, PyAny>>) -> Result<UsmArray> {
    let Some(schema) = schema.filter(|schema| !schema.is_none()) else { return Ok(array.clone()) };
    let Some(schema) = held::<ArrowSchema>(schema) else {
        return Err(Fault::Python(PyTypeError::new_err(format!(
            "`requested_schema` is {}; expected None, or a capsule named \"arrow_schema\"",
            shown(schema)
        ))));
    };
    // SAFETY: in a capsule of this name is this structure, which nobody has taken but who made it so.
    let dtype: Option<Dtype> = unsafe { arrow::dtype_of(&*schema) }?;
    // Whoever asks for another type gets what there is, and converts it.
    Ok(match dtype.filter(|dtype| *dtype != array.dtype()) {
        Some(dtype) => array.astype(dtype)?,
        None => array.clone(),
    })
}

#[pymethods]
impl PyArray {
    /// The array as Arrow's: capsules of its type and of its elements, which share the memory where host code may touch it and they lie
    /// one after the other; of truth values, which are bits there, a copy. requested_schema: a capsule of a type that elements are
    /// converted to.
    ///
    /// Raises ValueError for other than one dimension, TypeError for bfloat16 and complex numbers.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyTuple>> {
        let array = &requested(&self.array(), requested_schema)?;
        let column = py.detach(|| arrow::export(array).map(Moved))?.get();
        let column = capsule(py, column)?;
        Ok(PyTuple::new(py, [capsule(py, arrow::export_schema(array.dtype())?)?, column])?)
    }

    /// As `__arrow_c_array__`, but in memory of the array's device where host code may not touch it and others know the device.
    #[pyo3(signature = (requested_schema=None, **_options))]
    fn __arrow_c_device_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
        _options: Option<&Bound<'py, pyo3::types::PyDict>>,
    ) -> Result<Bound<'py, PyTuple>> {
        let array = &requested(&self.array(), requested_schema)?;
        let column = py.detach(|| arrow::export_to_device(array).map(Moved))?.get();
        let column = capsule(py, column)?;
        Ok(PyTuple::new(py, [capsule(py, arrow::export_schema(array.dtype())?)?, column])?)
    }

    /// The type of the array's elements as Arrow's: a capsule. Raises TypeError for bfloat16 and complex numbers.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        capsule(py, arrow::export_schema(self.array().dtype())?)
    }
}

/// Whether an error is one after which Arrow's methods are asked: the other side does not export so what it has.
pub(super) fn is_asked_after(fault: &Fault, object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let of_theirs = match fault {
        Fault::Python(error) => {
            let py = object.py();
            error.is_instance_of::<PyBufferError>(py) || error.is_instance_of::<PyTypeError>(py)
        }
        Fault::Core(_) => true,
    };
    Ok(of_theirs && object.hasattr("__arrow_c_array__")?)
}
