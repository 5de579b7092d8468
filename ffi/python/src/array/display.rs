//! How arrays are written, by the engine's rules.

use pyo3::prelude::*;
use stridewise::{Dtype, UsmArray};

use super::PyArray;

/// What stands before the elements.
const NAME: &str = "usm_ndarray(";

#[pymethods]
impl PyArray {
    fn __str__(&self, py: Python<'_>) -> String {
        py.detach(|| self.array.to_string())
    }
    fn __repr__(&self, py: Python<'_>) -> String {
        py.detach(|| written(&self.array))
    }
}

/// The elements, and the dtype where the elements do not tell it, as NumPy does.
fn written(array: &UsmArray) -> String {
    let elements = array.to_string().replace('\n', &format!("\n{}", " ".repeat(NAME.len())));
    let telling = matches!(array.dtype(), Dtype::Bool | Dtype::I64 | Dtype::F64 | Dtype::C128);
    match (telling && !array.is_empty(), array.is_empty() && array.shape() != [0]) {
        (true, _) => format!("{NAME}{elements})"),
        (false, false) => format!("{NAME}{elements}, dtype={})", array.dtype()),
        (false, true) => {
            let shape: Vec<String> = array.shape().iter().map(usize::to_string).collect();
            format!("{NAME}{elements}, shape=({}), dtype={})", shape.join(", "), array.dtype())
        }
    }
}
