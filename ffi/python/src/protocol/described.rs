//! Dictionaries that describe arrays by their address, as NumPy's `__array_interface__` and Numba's `__cuda_array_interface__` are: the
//! entries that both have, in either direction.

use std::fmt::Display;
use std::ops::RangeInclusive;

use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use stridewise::{Dtype, UsmArray};
use stridewise_exchange::typestr;

use crate::errors::{Fault, Result, shown};
use crate::objects;

/// What has no interface must look as if it had no such attribute, so that other protocols are tried.
pub(super) fn absent(name: &str, why: impl Display) -> Fault {
    Fault::Python(PyAttributeError::new_err(format!("{name}: {why}")))
}

/// The type string of a dtype; bfloat16 has none.
pub(super) fn typestr_of(name: &str, dtype: Dtype) -> Result<&'static str> {
    typestr::typestr(dtype).ok_or_else(|| absent(name, format!("{dtype} has no type string")))
}

/// The dictionary of an array whose first element is at an address.
pub(super) fn written<'py>(
    py: Python<'py>,
    array: &UsmArray,
    typestr: &str,
    address: usize,
    version: i64,
) -> PyResult<Bound<'py, PyDict>> {
    let strides: Vec<isize> = array.strides().iter().map(|s| s * array.itemsize().cast_signed()).collect();
    let flags = array.flags();
    let interface = PyDict::new(py);
    interface.set_item("shape", PyTuple::new(py, array.shape())?)?;
    interface.set_item("typestr", typestr)?;
    interface.set_item("data", (address, !flags.writable))?;
    interface
        .set_item("strides", if flags.c_contiguous { None } else { Some(PyTuple::new(py, strides)?) })?;
    interface.set_item("version", version)?;
    Ok(interface)
}

/// What an object says of its elements.
pub(super) struct Described<'py> {
    /// The attribute that has said it.
    name: &'static str,
    pub(super) interface: Bound<'py, PyDict>,
}

impl<'py> Described<'py> {
    /// The dictionary of an object, of a version that is known and without a mask; `None` where it has no such attribute.
    ///
    /// # Errors
    /// `ValueError` for something else.
    pub(super) fn read(
        object: &Bound<'py, PyAny>,
        name: &'static str,
        versions: &RangeInclusive<i64>,
    ) -> Result<Option<Self>> {
        let Some(found) = object.getattr_opt(name)? else { return Ok(None) };
        let interface = match found.cast_into::<PyDict>() {
            Ok(interface) => interface,
            Err(error) => return Err(wrong(name, name, &error.into_inner(), "a dict")),
        };
        let described = Self { name, interface };
        let version = described.needed("version")?;
        if !version.extract::<i64>().is_ok_and(|version| versions.contains(&version)) {
            let (first, last) = (versions.start(), versions.end());
            let expected = if first == last { last.to_string() } else { format!("{first} to {last}") };
            return Err(described.wrong("version", &version, &expected));
        }
        match described.entry("mask")? {
            Some(mask) => Err(described.wrong("mask", &mask, "none, for there are no masked arrays here")),
            None => Ok(Some(described)),
        }
    }

    /// An entry, unless it is absent or None.
    pub(super) fn entry(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.interface.get_item(name)?.filter(|value| !value.is_none()))
    }

    /// An entry that there has to be.
    pub(super) fn needed(&self, name: &str) -> Result<Bound<'py, PyAny>> {
        self.entry(name)?.ok_or_else(|| {
            Fault::Python(PyValueError::new_err(format!("{} has no `{name}`; expected one", self.name)))
        })
    }

    pub(super) fn typestr(&self) -> Result<String> {
        let typestr = self.needed("typestr")?;
        typestr.extract().map_err(|_| self.wrong("typestr", &typestr, "a text such as \"<f4\""))
    }

    pub(super) fn shape(&self) -> Result<Vec<i64>> {
        self.numbers("shape", &self.needed("shape")?)
    }

    /// In bytes; `None` for elements in row-major order, one after the other.
    pub(super) fn strides(&self) -> Result<Option<Vec<i64>>> {
        self.entry("strides")?.map(|strides| self.numbers("strides", &strides)).transpose()
    }

    fn numbers(&self, name: &str, value: &Bound<'_, PyAny>) -> Result<Vec<i64>> {
        let wrong = || self.wrong(name, value, "a tuple of integers of 64 bits");
        let tuple = value.cast::<PyTuple>().map_err(|_| wrong())?;
        objects::values(tuple, |number| number.extract::<i64>().map_err(|_| wrong()))
    }

    /// The error of an entry that is not as it has to be.
    pub(super) fn wrong(&self, what: &str, found: &Bound<'_, PyAny>, expected: &str) -> Fault {
        wrong(self.name, what, found, expected)
    }
}

fn wrong(name: &str, what: &str, found: &Bound<'_, PyAny>, expected: &str) -> Fault {
    Fault::Python(PyValueError::new_err(format!("{name}: `{what}` is {}; expected {expected}", shown(found))))
}
