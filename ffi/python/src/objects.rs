//! Objects of Python's as many or as large as data is: where there is no memory for them, the interpreter says so. (What
//! pyo3 makes of lists, tuples and numbers ends in a panic then.)

use std::ffi::c_double;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use stridewise::memory::heap;
use stridewise::{Dtype, DtypeKind, Scalar};

use crate::arguments;
use crate::errors::Result;

/// A value as a Python number.
///
/// # Errors
/// `MemoryError`.
pub(crate) fn number(py: Python<'_>, value: Scalar) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: each gives a new reference, or null and an exception; the interpreter's lock is held.
    unsafe {
        let number = match value.dtype().kind() {
            DtypeKind::Bool => ffi::PyBool_FromLong(value.get::<bool>().unwrap_or_default().into()),
            DtypeKind::Signed => {
                ffi::PyLong_FromLongLong(value.cast(Dtype::I64).get::<i64>().unwrap_or_default())
            }
            DtypeKind::Unsigned => {
                ffi::PyLong_FromUnsignedLongLong(value.cast(Dtype::U64).get::<u64>().unwrap_or_default())
            }
            DtypeKind::Float => ffi::PyFloat_FromDouble(value.to_f64() as c_double),
            DtypeKind::Complex => {
                let value = value.to_c128();
                ffi::PyComplex_FromDoubles(value.re, value.im)
            }
        };
        Bound::from_owned_ptr_or_err(py, number)
    }
}

/// A text.
///
/// # Errors
/// `MemoryError`.
pub(crate) fn text<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    // SAFETY: a new reference, or null and an exception; the interpreter's lock is held. The pointer is to so many bytes, which
    // are UTF-8; no text is longer than `isize` says.
    unsafe {
        let made = ffi::PyUnicode_FromStringAndSize(text.as_ptr().cast(), text.len().cast_signed());
        Ok(Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked())
    }
}

/// A list of so many items.
///
/// # Errors
/// `MemoryError`; an item's.
pub(crate) fn list<'py>(
    py: Python<'py>,
    items: impl ExactSizeIterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<Bound<'py, PyList>> {
    // SAFETY: a new reference, or null and an exception; the interpreter's lock is held. What has as many items fits `isize`.
    let list = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyList_New(items.len().cast_signed())) }?;
    for (place, item) in items.enumerate() {
        // SAFETY: the place is one of the list's, which nobody else knows yet; the reference to the item becomes the list's.
        unsafe { ffi::PyList_SetItem(list.as_ptr(), place.cast_signed(), item?.into_ptr()) };
    }
    // SAFETY: made as a list.
    Ok(unsafe { list.cast_into_unchecked() })
}

/// A tuple of so many items.
///
/// # Errors
/// `MemoryError`; an item's.
pub(crate) fn tuple<'py>(
    py: Python<'py>,
    items: impl ExactSizeIterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<Bound<'py, PyTuple>> {
    // SAFETY: as for a list.
    let tuple = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyTuple_New(items.len().cast_signed())) }?;
    for (place, item) in items.enumerate() {
        // SAFETY: as for a list.
        unsafe { ffi::PyTuple_SetItem(tuple.as_ptr(), place.cast_signed(), item?.into_ptr()) };
    }
    // SAFETY: made as a tuple.
    Ok(unsafe { tuple.cast_into_unchecked() })
}

/// After so many objects that were made or read, signals are looked for: some milliseconds.
pub(crate) const SIGNALS: usize = 1 << 16;

/// The values of what can be gone through, however many it says that there are.
///
/// # Errors
/// What going through it and the conversion raise; `MemoryError`.
pub(crate) fn values<'py, T>(
    object: &Bound<'py, PyAny>,
    convert: impl Fn(Bound<'py, PyAny>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut values = Vec::new();
    for item in object.try_iter().map_err(|_| arguments::wrong(object, "a sequence"))? {
        if values.len() % SIGNALS == SIGNALS - 1 {
            object.py().check_signals()?;
        }
        heap::push("arguments", &mut values, convert(item?)?)?;
    }
    Ok(values)
}
