//! The flags of an array's layout.

use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use stridewise::Flags;

use super::PyArray;

/// Contiguity and writability of an array, as attributes and as items: `flags.c_contiguous` or `flags["C"]`,
/// `flags.f_contiguous` or `flags["F"]`, `flags.writable` (or `writeable`) or `flags["W"]`, which can be set. Raises ValueError
/// where memory that was lent for reading only is to be made writable.
#[pyclass(name = "Flags", module = "stridewise", frozen)]
pub(crate) struct PyFlags(pub(crate) Py<PyArray>);

impl PyFlags {
    fn get(&self, py: Python<'_>) -> PyResult<Flags> {
        Ok(self.0.try_borrow(py)?.array.flags())
    }
}

#[pymethods]
impl PyFlags {
    /// Whether the elements lie one after the other in row-major order.
    #[getter]
    fn c_contiguous(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.get(py)?.c_contiguous)
    }
    /// Whether the elements lie one after the other in column-major order.
    #[getter]
    fn f_contiguous(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.get(py)?.f_contiguous)
    }
    /// Whether the elements lie one after the other in either order.
    #[getter]
    fn contiguous(&self, py: Python<'_>) -> PyResult<bool> {
        let flags = self.get(py)?;
        Ok(flags.c_contiguous || flags.f_contiguous)
    }
    /// Whether the elements lie one after the other in either order.
    #[getter]
    fn forc(&self, py: Python<'_>) -> PyResult<bool> {
        self.contiguous(py)
    }
    /// Whether the elements lie one after the other in column-major order and not in row-major order.
    #[getter]
    fn fnc(&self, py: Python<'_>) -> PyResult<bool> {
        let flags = self.get(py)?;
        Ok(flags.f_contiguous && !flags.c_contiguous)
    }
    /// Whether the elements may be written through this array. Other views of the memory keep their own flag.
    #[getter]
    fn writable(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.get(py)?.writable)
    }
    #[setter]
    fn set_writable(&self, py: Python<'_>, writable: bool) -> PyResult<()> {
        let array = &mut self.0.try_borrow_mut(py)?.array;
        array.set_writable(writable);
        if writable && !array.flags().writable {
            return Err(PyValueError::new_err(
                "`writable` is True, but the memory was lent for reading only; expected False; help: copy the array",
            ));
        }
        Ok(())
    }
    /// As `writable`.
    #[getter]
    fn writeable(&self, py: Python<'_>) -> PyResult<bool> {
        self.writable(py)
    }
    #[setter]
    fn set_writeable(&self, py: Python<'_>, writable: bool) -> PyResult<()> {
        self.set_writable(py, writable)
    }

    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        match name {
            "C" | "C_CONTIGUOUS" => self.c_contiguous(py),
            "F" | "F_CONTIGUOUS" => self.f_contiguous(py),
            "W" | "WRITABLE" | "WRITEABLE" => self.writable(py),
            "CONTIGUOUS" | "FORC" => self.contiguous(py),
            "FNC" => self.fnc(py),
            other => Err(PyKeyError::new_err(format!(
                "flag {other:?}; expected one of C, F, W, CONTIGUOUS, FORC, FNC, C_CONTIGUOUS, F_CONTIGUOUS, WRITABLE"
            ))),
        }
    }
    fn __setitem__(&self, py: Python<'_>, name: &str, value: bool) -> PyResult<()> {
        match name {
            "W" | "WRITABLE" | "WRITEABLE" => self.set_writable(py, value),
            other => {
                Err(PyKeyError::new_err(format!("flag {other:?} cannot be set; expected W or WRITABLE")))
            }
        }
    }
    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        match other.cast::<Self>() {
            Ok(other) => Ok(self.get(py)? == other.get().get(py)?),
            Err(_) => Ok(false),
        }
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let flags = self.get(py)?;
        let word = |value| if value { "True" } else { "False" };
        Ok(format!(
            "  C_CONTIGUOUS : {}\n  F_CONTIGUOUS : {}\n  WRITABLE : {}\n",
            word(flags.c_contiguous),
            word(flags.f_contiguous),
            word(flags.writable)
        ))
    }
}
