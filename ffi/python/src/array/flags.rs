//! The flags of an array's layout.

use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use stridewise::Flags;

use super::PyArray;
use crate::arguments;
use crate::errors::{Fault, Result};

/// Contiguity and writability of an array, as attributes and as items: `flags.c_contiguous` or `flags["C"]`,
/// `flags.f_contiguous` or `flags["F"]`, `flags.writable` (or `writeable`) or `flags["W"]`, which can be set. Raises ValueError
/// where memory that was lent for reading only is to be made writable.
#[pyclass(name = "Flags", module = "stridewise", frozen)]
pub(crate) struct PyFlags(pub(crate) Py<PyArray>);

impl PyFlags {
    fn get(&self) -> Flags {
        self.0.get().array().flags()
    }
}

#[pymethods]
impl PyFlags {
    /// Whether the elements lie one after the other in row-major order.
    #[getter]
    fn c_contiguous(&self) -> bool {
        self.get().c_contiguous
    }
    /// Whether the elements lie one after the other in column-major order.
    #[getter]
    fn f_contiguous(&self) -> bool {
        self.get().f_contiguous
    }
    /// Whether the elements lie one after the other in either order.
    #[getter]
    fn contiguous(&self) -> bool {
        let flags = self.get();
        flags.c_contiguous || flags.f_contiguous
    }
    /// Whether the elements lie one after the other in either order.
    #[getter]
    fn forc(&self) -> bool {
        self.contiguous()
    }
    /// Whether the elements lie one after the other in column-major order and not in row-major order.
    #[getter]
    fn fnc(&self) -> bool {
        let flags = self.get();
        flags.f_contiguous && !flags.c_contiguous
    }
    /// Whether the elements may be written through this array. Other views of the memory keep their own flag.
    #[getter]
    fn writable(&self) -> bool {
        self.get().writable
    }
    #[setter]
    fn set_writable(&self, #[pyo3(from_py_with = arguments::flag)] writable: bool) -> Result<()> {
        let is = self.0.get().change(|array| {
            let mut array = array.clone();
            array.set_writable(writable);
            let is = array.flags().writable;
            Ok((array, is))
        })?;
        if writable && !is {
            return Err(Fault::Python(PyValueError::new_err(
                "`writable` is True, but the memory was lent for reading only; expected False; help: copy the array",
            )));
        }
        Ok(())
    }
    /// As `writable`.
    #[getter]
    fn writeable(&self) -> bool {
        self.writable()
    }
    #[setter]
    fn set_writeable(&self, #[pyo3(from_py_with = arguments::flag)] writable: bool) -> Result<()> {
        self.set_writable(writable)
    }

    fn __getitem__(&self, #[pyo3(from_py_with = arguments::text)] name: &str) -> PyResult<bool> {
        Ok(match name {
            "C" | "C_CONTIGUOUS" => self.c_contiguous(),
            "F" | "F_CONTIGUOUS" => self.f_contiguous(),
            "W" | "WRITABLE" | "WRITEABLE" => self.writable(),
            "CONTIGUOUS" | "FORC" => self.contiguous(),
            "FNC" => self.fnc(),
            other => {
                return Err(PyKeyError::new_err(format!(
                    "flag {other:?}; expected one of C, F, W, CONTIGUOUS, FORC, FNC, C_CONTIGUOUS, F_CONTIGUOUS, \
                     WRITABLE"
                )));
            }
        })
    }
    fn __setitem__(
        &self,
        #[pyo3(from_py_with = arguments::text)] name: &str,
        #[pyo3(from_py_with = arguments::flag)] value: bool,
    ) -> Result<()> {
        match name {
            "W" | "WRITABLE" | "WRITEABLE" => self.set_writable(value),
            other => Err(Fault::Python(PyKeyError::new_err(format!(
                "flag {other:?} cannot be set; expected W or WRITABLE"
            )))),
        }
    }
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.get() == other.get().get())
    }
    fn __repr__(&self) -> String {
        let flags = self.get();
        let word = |value| if value { "True" } else { "False" };
        format!(
            "  C_CONTIGUOUS : {}\n  F_CONTIGUOUS : {}\n  WRITABLE : {}\n",
            word(flags.c_contiguous),
            word(flags.f_contiguous),
            word(flags.writable)
        )
    }
}
