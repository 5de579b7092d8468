//! How arrays are written, by the engine's rules.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use stridewise::{Dtype, UsmArray};

use super::PyArray;
use super::conversion::python_number;
use crate::errors::{Fault, Result};

/// What stands before the elements.
const NAME: &str = "usm_ndarray(";

#[pymethods]
impl PyArray {
    fn __str__(&self, py: Python<'_>) -> Result<String> {
        let array = &self.array();
        Ok(py.detach(|| elements(array, 0, 0))?)
    }
    fn __repr__(&self, py: Python<'_>) -> Result<String> {
        let array = &self.array();
        Ok(py.detach(|| written(array))?)
    }
    /// An array of no dimensions is formatted as its element; others only as a whole.
    fn __format__(&self, py: Python<'_>, format_spec: &str) -> Result<String> {
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
        let number = python_number(py, py.detach(|| array.item())?)?;
        Ok(number.call_method1(py, "__format__", (format_spec,))?.extract(py)?)
    }
}

/// The elements, with truth values spelled as Python does.
fn elements(array: &UsmArray, before: usize, after: usize) -> stridewise::Result<String> {
    let text = array.written(before, after)?;
    Ok(if array.dtype() == Dtype::Bool {
        text.replace("true", "True").replace("false", "False")
    } else {
        text
    })
}

/// The elements, and the dtype where the elements do not tell it, as NumPy does.
fn written(array: &UsmArray) -> stridewise::Result<String> {
    let elements = elements(array, NAME.len(), 1)?;
    let telling = matches!(array.dtype(), Dtype::Bool | Dtype::I64 | Dtype::F64 | Dtype::C128);
    let shape: Vec<String> = array.shape().iter().map(usize::to_string).collect();
    let shape = match (array.is_empty() && array.shape() != [0], shape.len()) {
        (false, _) => String::new(),
        (true, 1) => format!(", shape=({},)", shape.concat()),
        (true, _) => format!(", shape=({})", shape.join(", ")),
    };
    if telling && !array.is_empty() {
        return Ok(format!("{NAME}{elements})"));
    }
    let (dtype, last) =
        (format!("dtype={})", array.dtype()), elements.rsplit('\n').next().unwrap_or_default());
    // A line of its own where the last one has no room for it.
    let width = if elements.contains('\n') { last.len() } else { NAME.len() + last.len() };
    let gap = match width + ", ".len() + shape.len() + dtype.len() {
        0..=75 => " ".to_owned(),
        _ => format!("\n{}", " ".repeat(NAME.len())),
    };
    Ok(format!("{NAME}{elements}{shape},{gap}{dtype}"))
}
