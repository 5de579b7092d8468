//! Arguments of the sorts that many functions have: flags, integers, numbers, texts, arrays to write to. Each has one reader, which
//! says what it has found and what is expected; `wrong` and its kin make the error, which gets the argument's name on its way out.

use std::borrow::Cow;
use std::path::PathBuf;

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString, PyTuple};

use crate::array::PyArray;
use crate::errors::shown;

/// The error of a class of `stridewise._arguments` about an argument that is not known by name yet.
fn unnamed(py: Python<'_>, class: &str, found: String) -> PyErr {
    let make = || py.import("stridewise._arguments")?.getattr(class)?.call1((found,));
    make().map_or_else(|error| error, PyErr::from_value)
}

/// The `TypeError` about an object that is no such argument: what it `is`, what is expected.
pub(crate) fn wrong(object: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    about(object.py(), format!("is {}; expected {expected}", shown(object)))
}

/// The `TypeError` about an argument of which this is so.
pub(crate) fn about(py: Python<'_>, found: String) -> PyErr {
    unnamed(py, "TypeError", found)
}

/// An error as above, with the name of its argument. The binding library names those that it reads itself, by a note.
pub(crate) fn named(py: Python<'_>, name: &str, error: PyErr) -> PyErr {
    // Other errors have no such method, and say by themselves what they are about.
    let _ = error.value(py).call_method1("set_name", (name,));
    error
}

/// True or false.
pub(crate) fn flag(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.extract().map_err(|_: PyErr| wrong(object, "True or False"))
}

/// As [`flag`], or `None`.
pub(crate) fn optional_flag(object: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
    object.extract().map_err(|_: PyErr| wrong(object, "True, False or None"))
}

/// The integers that an argument may be.
pub(crate) trait Whole: Sized {
    /// What is said of them.
    const RANGE: &'static str;
    /// The number, where it is one of them.
    fn of(number: &Bound<'_, PyAny>) -> Option<Self>;
}

macro_rules! wholes {
    ($($type:ty: $range:literal;)*) => {$(
        impl Whole for $type {
            const RANGE: &'static str = $range;
            fn of(number: &Bound<'_, PyAny>) -> Option<Self> {
                number.extract().ok()
            }
        }
    )*};
}
wholes! {
    u8: "an integer from 0 to 255";
    u32: "an integer from 0 to 2**32 - 1";
    isize: "an integer of 64 bits";
    i64: "an integer of 64 bits";
    i128: "an integer of 128 bits";
    usize: "an integer from 0 to 2**64 - 1";
    u64: "an integer from 0 to 2**64 - 1";
}

/// An integer: one of Python's, or what says that it is one by `__index__`.
pub(crate) fn whole<T: Whole>(object: &Bound<'_, PyAny>) -> PyResult<T> {
    read_whole(object, "an integer")
}

/// As [`whole`], or `None`.
pub(crate) fn optional_whole<T: Whole>(object: &Bound<'_, PyAny>) -> PyResult<Option<T>> {
    if object.is_none() { Ok(None) } else { read_whole(object, "an integer or None").map(Some) }
}

/// An integer, where other things are expected, too.
pub(crate) fn read_whole<T: Whole>(object: &Bound<'_, PyAny>, expected: &str) -> PyResult<T> {
    let py = object.py();
    let number = match object.cast::<PyInt>() {
        Ok(number) => Cow::Borrowed(number.as_any()),
        // SAFETY: a new reference or an exception; the interpreter's lock is held.
        Err(_) => match unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyNumber_Index(object.as_ptr())) } {
            Ok(number) => Cow::Owned(number),
            Err(error) if error.is_instance_of::<PyTypeError>(py) => return Err(wrong(object, expected)),
            Err(error) => return Err(error),
        },
    };
    T::of(&number)
        .ok_or_else(|| unnamed(py, "OverflowError", format!("is {}; expected {}", shown(object), T::RANGE)))
}

/// A real number.
pub(crate) fn real(object: &Bound<'_, PyAny>) -> PyResult<f64> {
    read_real(object, "a number")
}

/// As [`real`], or `None`.
pub(crate) fn optional_real(object: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    if object.is_none() { Ok(None) } else { read_real(object, "a number or None").map(Some) }
}

fn read_real(object: &Bound<'_, PyAny>, expected: &str) -> PyResult<f64> {
    let py = object.py();
    object.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(py) {
            return unnamed(
                py,
                "OverflowError",
                format!("is {}; expected a number of 64 bits", shown(object)),
            );
        }
        if object.cast::<PyArray>().is_ok() || error.is_instance_of::<PyTypeError>(py) {
            return wrong(object, expected);
        }
        error
    })
}

/// Two numbers in a tuple or a list, or `None`.
pub(crate) fn optional_pair(object: &Bound<'_, PyAny>) -> PyResult<Option<(f64, f64)>> {
    if object.is_none() {
        return Ok(None);
    }
    let read = || -> PyResult<(f64, f64)> {
        let tuple = object.py().get_type::<PyTuple>().call1((object,))?;
        tuple.extract()
    };
    read().map(Some).map_err(|_| wrong(object, "two numbers, the least and the largest, or None"))
}

/// Numbers of points along axes, any of which may be `None`; or `None`.
pub(crate) fn optional_points(object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Option<isize>>>> {
    const EXPECTED: &str = "a sequence of integers or None";
    if object.is_none() {
        return Ok(None);
    }
    let mut points = Vec::new();
    for item in object.try_iter().map_err(|_| wrong(object, EXPECTED))? {
        // More than an array has axes are refused anyway.
        if points.len() > stridewise::MAX_NDIM {
            return Err(wrong(object, "at most as many integers as the array has axes"));
        }
        points.push(optional_whole(&item?).map_err(|_| wrong(object, EXPECTED))?);
    }
    Ok(Some(points))
}

/// Characters that a text has at most that names something: it is repeated in messages, whose memory nobody asks for.
const MOST_CHARACTERS: usize = 1 << 12;

/// A text that names something.
pub(crate) fn text<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    read_text(object, "a text")
}

/// A text of any length: a source, a formula.
pub(crate) fn long_text<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    match object.cast::<PyString>() {
        Ok(text) => whole_text(text),
        Err(_) => Err(wrong(object, "a text")),
    }
}

/// As [`text`], or `None`.
pub(crate) fn optional_text<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Option<&'a str>> {
    if object.is_none() { Ok(None) } else { read_text(object, "a text or None").map(Some) }
}

fn read_text<'a>(object: &'a Bound<'_, PyAny>, expected: &str) -> PyResult<&'a str> {
    match object.cast::<PyString>() {
        Ok(text) => short_text(text),
        Err(_) => Err(wrong(object, expected)),
    }
}

/// The characters of a text that is not too long.
fn short_text<'a>(text: &'a Bound<'_, PyString>) -> PyResult<&'a str> {
    if text.len()? <= MOST_CHARACTERS {
        return whole_text(text);
    }
    let found =
        format!("is {}; expected a text of at most {MOST_CHARACTERS} characters", shown(text.as_any()));
    Err(unnamed(text.py(), "ValueError", found))
}

/// The characters of a text: a surrogate without its other half is none.
fn whole_text<'a>(text: &'a Bound<'_, PyString>) -> PyResult<&'a str> {
    text.to_str().map_err(|_| {
        let found = format!("is {}; expected a text of whole characters", shown(text.as_any()));
        unnamed(text.py(), "ValueError", found)
    })
}

/// The characters of a text that is an argument of a name.
pub(crate) fn characters<'a>(name: &str, text: &'a Bound<'_, PyString>) -> PyResult<&'a str> {
    short_text(text).map_err(|error| named(text.py(), name, error))
}

/// A file's path.
pub(crate) fn path(object: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    object.extract().map_err(|_: PyErr| wrong(object, "a path: a text, or an object such as pathlib's"))
}

/// One of our arrays.
pub(crate) fn ours<'py>(object: &Bound<'py, PyAny>) -> PyResult<PyRef<'py, PyArray>> {
    match object.cast::<PyArray>() {
        Ok(array) => Ok(array.borrow()),
        Err(_) => Err(wrong(object, "a usm_ndarray; help: convert it with asarray")),
    }
}

/// One of our arrays to write to, or `None`.
pub(crate) fn out<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyArray>>> {
    if object.is_none() {
        return Ok(None);
    }
    match object.cast::<PyArray>() {
        Ok(array) => Ok(Some(array.clone())),
        Err(_) => Err(wrong(
            object,
            "a usm_ndarray to write to, or None; help: of an array of NumPy's, asarray(out, copy=False) is one on its memory",
        )),
    }
}

/// A dictionary of options, or `None`.
pub(crate) fn optional_dict<'a, 'py>(
    object: &'a Bound<'py, PyAny>,
) -> PyResult<Option<&'a Bound<'py, PyDict>>> {
    if object.is_none() {
        return Ok(None);
    }
    object.cast::<PyDict>().map(Some).map_err(|_| wrong(object, "a dictionary or None"))
}
