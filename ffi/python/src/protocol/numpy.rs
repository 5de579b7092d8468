//! NumPy's `__array_interface__`, both ways, and copies for and of NumPy.

use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use stridewise::UsmArray;
use stridewise_exchange::host::{Strided, check_visible};
use stridewise_exchange::typestr;

use super::{Request, taken};
use crate::array::PyArray;
use crate::errors::{Fault, Result, shown};
use crate::objects;

/// The version of the interface that is written and read.
const VERSION: i64 = 3;

#[pymethods]
impl PyArray {
    /// NumPy's array interface, version 3: shape, typestr, data, strides in bytes. Work on the array is done. Raises
    /// AttributeError for memory that the host may not touch, and for bfloat16, which has no type string.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        let array = &self.array();
        // What has no interface must look as if it had no such attribute, so that other protocols are tried.
        let absent = |text: String| Fault::Python(PyAttributeError::new_err(text));
        let Some(typestr) = typestr::typestr(array.dtype()) else {
            return Err(absent(format!("__array_interface__: {} has no type string", array.dtype())));
        };
        check_visible(array).map_err(|error| absent(format!("__array_interface__: {error}")))?;
        let address = py.detach(|| array.usm_data()?.export())?.addr() + array.offset() * array.itemsize();
        let strides: Vec<isize> =
            array.strides().iter().map(|s| s * array.itemsize().cast_signed()).collect();
        let flags = array.flags();
        let interface = PyDict::new(py);
        interface.set_item("shape", PyTuple::new(py, array.shape())?)?;
        interface.set_item("typestr", typestr)?;
        interface.set_item("descr", [("", typestr)])?;
        interface.set_item("data", (address, !flags.writable))?;
        interface
            .set_item("strides", if flags.c_contiguous { None } else { Some(PyTuple::new(py, strides)?) })?;
        interface.set_item("version", VERSION)?;
        Ok(interface)
    }
}

fn wrong<T>(what: &str, found: &Bound<'_, PyAny>, expected: &str) -> Result<T> {
    Err(Fault::Python(PyValueError::new_err(format!(
        "__array_interface__: `{what}` is {}; expected {expected}",
        shown(found)
    ))))
}

/// The array that an object with `__array_interface__` is, in place where it can be.
pub(super) fn import(object: &Bound<'_, PyAny>, request: &Request<'_>) -> Result<Option<UsmArray>> {
    let Some(interface) = object.getattr_opt("__array_interface__")? else { return Ok(None) };
    let Ok(interface) = interface.cast::<PyDict>() else {
        return wrong("__array_interface__", &interface, "a dict");
    };
    let entry = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
        Ok(interface.get_item(name)?.filter(|value| !value.is_none()))
    };
    let needed = |name: &str| -> Result<Bound<'_, PyAny>> {
        entry(name)?.ok_or_else(|| {
            Fault::Python(PyValueError::new_err(format!("__array_interface__ has no `{name}`; expected one")))
        })
    };
    let version = needed("version")?;
    if version.extract::<i64>().ok() != Some(VERSION) {
        return wrong("version", &version, "3");
    }
    if let Some(mask) = entry("mask")? {
        return wrong("mask", &mask, "none, for there are no masked arrays here");
    }
    // Without an address, it is the buffer protocol that says where the elements are.
    let Some(data) = entry("data")? else { return Ok(None) };
    let Ok((address, read_only)) = data.extract::<(usize, bool)>() else {
        return wrong("data", &data, "a tuple of an address and whether it is read-only");
    };
    let numbers = |name: &'static str, value: Bound<'_, PyAny>| -> Result<Vec<i64>> {
        const EXPECTED: &str = "a tuple of integers of 64 bits";
        let Ok(tuple) = value.cast::<PyTuple>() else { return wrong(name, &value, EXPECTED) };
        objects::values(tuple, |number| number.extract::<i64>().or_else(|_| wrong(name, &value, EXPECTED)))
    };
    let typestr = needed("typestr")?;
    let Ok(text) = typestr.extract::<String>() else {
        return wrong("typestr", &typestr, "a text such as \"<f4\"");
    };
    let (dtype, swapped) = match request.copy == Some(false) {
        true => (typestr::dtype_of_typestr(&text)?, false),
        false => typestr::ordered_typestr(&text)?,
    };
    let shape = numbers("shape", needed("shape")?)?;
    let strides = entry("strides")?.map(|strides| numbers("strides", strides)).transpose()?;
    let strided = Strided {
        data: std::ptr::with_exposed_provenance_mut(address),
        dtype,
        shape: &shape,
        byte_strides: strides.as_deref(),
        read_only,
    };
    // A scalar of NumPy's describes a copy that only the interface keeps.
    let keeper = (object.clone().unbind(), interface.clone().unbind());
    // SAFETY: the interface promises that its numbers are true and that the memory is there as long as the object or the
    // interface is, which are held until the array gives them back; a reference may be dropped from any thread.
    let array = unsafe { taken(&strided, swapped, request, Box::new(move || drop(keeper)))? };
    Ok(Some(array))
}

/// A NumPy array with a copy of the elements. Raises TypeError for bfloat16, which NumPy has not.
#[pyfunction]
#[pyo3(signature = (x, /))]
fn to_numpy<'py>(x: &Bound<'py, PyArray>) -> PyResult<Bound<'py, PyAny>> {
    x.call_method0("__array__")
}

/// An array with a copy of the elements of a NumPy array.
///
/// usm_type: "device", "shared" or "host". device: a Device, a Queue or a filter string; sycl_queue, queue: a Queue. Raises
/// TypeError for elements that there is no dtype for.
#[pyfunction]
#[pyo3(signature = (np_arr, /, *, device=None, usm_type="device", sycl_queue=None, queue=None))]
fn from_numpy<'py>(
    py: Python<'py>,
    np_arr: &Bound<'py, PyAny>,
    device: Option<&Bound<'py, PyAny>>,
    usm_type: &str,
    sycl_queue: Option<&Bound<'py, PyAny>>,
    queue: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = PyDict::new(py);
    options.set_item("copy", true)?;
    options.set_item("usm_type", usm_type)?;
    for (name, value) in [("device", device), ("sycl_queue", sycl_queue), ("queue", queue)] {
        if let Some(value) = value {
            options.set_item(name, value)?;
        }
    }
    py.import("stridewise")?.getattr("asarray")?.call((np_arr,), Some(&options))
}

/// Adds the functions to the module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(to_numpy, module)?)?;
    module.add_function(wrap_pyfunction!(from_numpy, module)?)
}
