//! How arrays are written, by the engine's rules.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use stridewise::memory::heap;
use stridewise::{Complex, Dtype, Scalar, UsmArray};

use super::PyArray;
use crate::errors::{Fault, Result};
use crate::objects;

/// What stands before the elements.
const NAME: &str = "usm_ndarray(";

#[pymethods]
impl PyArray {
    fn __str__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyString>> {
        let array = &self.array();
        if array.ndim() == 0 {
            return Ok(shortest(py, py.detach(|| array.item())?)?.str()?);
        }
        Ok(objects::text(py, &py.detach(|| spelled(array, array.spaced()?))?)?)
    }
    fn __repr__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyString>> {
        let array = &self.array();
        Ok(objects::text(py, &py.detach(|| written(array))?)?)
    }
    /// An array of no dimensions is formatted as its element; others only as a whole.
    fn __format__<'py>(&self, py: Python<'py>, format_spec: &str) -> Result<Bound<'py, PyString>> {
        if format_spec.is_empty() {
            return self.__str__(py);
        }
        let array = &self.array();
        if array.ndim() > 0 {
            return Err(Fault::Python(PyTypeError::new_err(format!(
                "the format {format_spec:?} is one of numbers, and the array has {} dimensions; expected none; help: \
                 format the elements of tolist()",
                array.ndim()
            ))));
        }
        let number = objects::number(py, py.detach(|| array.item())?)?;
        Ok(number.call_method1("__format__", (format_spec,))?.cast_into().map_err(PyErr::from)?)
    }
}

/// The Python number with the fewest digits that tell a value from others of its dtype, as NumPy's scalars are written.
fn shortest(py: Python<'_>, value: Scalar) -> PyResult<Bound<'_, PyAny>> {
    // Digits of the shorter dtype are those of the double that they stand for.
    let single = |value: f32| format!("{value:e}").parse().unwrap_or(f64::from(value));
    // A 16-bit float has at most five digits: the first number of them that is it again.
    let half = |value: Scalar| {
        let wide = value.to_f64();
        let again = |digits: &usize| {
            let near: f64 = format!("{wide:.digits$e}").parse().unwrap_or(wide);
            (Scalar::F64(near).cast(value.dtype()) == value).then_some(near)
        };
        (0..5).find_map(|digits| again(&digits)).unwrap_or(wide)
    };
    let number = match value {
        Scalar::F32(value) => Scalar::F64(single(value)),
        Scalar::F16(_) | Scalar::Bf16(_) => Scalar::F64(half(value)),
        Scalar::C64(value) => Scalar::C128(Complex::new(single(value.re), single(value.im))),
        other => other,
    };
    objects::number(py, number)
}

/// The elements, with truth values spelled as Python does.
fn spelled(array: &UsmArray, text: String) -> stridewise::Result<String> {
    if array.dtype() != Dtype::Bool {
        return Ok(text);
    }
    // Where they are, as the text may be as long as the array.
    let mut bytes = text.into_bytes();
    for at in 0..bytes.len() {
        if bytes[at..].starts_with(b"true") || bytes[at..].starts_with(b"false") {
            bytes[at].make_ascii_uppercase();
        }
    }
    Ok(String::from_utf8(bytes).unwrap_or_default())
}

/// The elements, and the dtype where the elements do not tell it, as NumPy does.
fn written(array: &UsmArray) -> stridewise::Result<String> {
    let elements = spelled(array, array.written(NAME.len(), 1)?)?;
    let telling = matches!(array.dtype(), Dtype::Bool | Dtype::I64 | Dtype::F64 | Dtype::C128);
    let shape: Vec<String> = array.shape().iter().map(usize::to_string).collect();
    let shape = match (array.is_empty() && array.shape() != [0], shape.len()) {
        (false, _) => String::new(),
        (true, 1) => format!(", shape=({},)", shape.concat()),
        (true, _) => format!(", shape=({})", shape.join(", ")),
    };
    let put_together = |parts: &[&str]| {
        let mut text = String::new();
        parts.iter().try_for_each(|part| heap::push_str("text", &mut text, part))?;
        Ok(text)
    };
    if telling && !array.is_empty() {
        return put_together(&[NAME, &elements, ")"]);
    }
    let (dtype, last) =
        (format!("dtype={})", array.dtype()), elements.rsplit('\n').next().unwrap_or_default());
    // A line of its own where the last one has no room for it.
    let width = if elements.contains('\n') { last.len() } else { NAME.len() + last.len() };
    let gap = match width + ", ".len() + shape.len() + dtype.len() {
        0..=75 => " ".to_owned(),
        _ => format!("\n{}", " ".repeat(NAME.len())),
    };
    put_together(&[NAME, &elements, &shape, ",", &gap, &dtype])
}
