//! What an array becomes: a Python number, a NumPy array, an array elsewhere.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyComplex};
use stridewise::{Dtype, DtypeKind, Element, Order, Scalar, UsmArray};
use stridewise_exchange::host::{check_visible, is_host_queue};

use super::PyArray;
use crate::arguments;
use crate::errors::{Fault, Result};
use crate::namespace::creation::on_queue;
use crate::namespace::placement::{order_of, queue_of};
use crate::protocol::numpy;
use crate::{memory, objects};

/// Results for NumPy of so many bytes and more are in pooled memory: of smaller ones, clearing is cheap, and the object small.
const POOLED_BYTES: usize = 1 << 20;

impl PyArray {
    /// The element of an array of one, once it is computed.
    fn item(&self, py: Python<'_>) -> Result<Scalar> {
        let array = &self.array();
        Ok(py.detach(|| array.item())?)
    }
}

fn refused<T>(what: &str, value: Scalar) -> Result<T> {
    Err(Fault::Python(PyTypeError::new_err(format!(
        "an array of {} does not convert to {what}; help: convert it with astype first",
        value.dtype()
    ))))
}

/// The elements of the part of a row-major run that is `shape`, as nested lists.
fn nested<'py, T: Element>(py: Python<'py>, shape: &[usize], values: &[T]) -> PyResult<Bound<'py, PyAny>> {
    match shape.split_first() {
        None => objects::number(py, values[0].to_scalar()),
        Some((&extent, rest)) => {
            let inner: usize = rest.iter().product();
            let often = (objects::SIGNALS / inner.max(1)).max(1);
            let parts = (0..extent).map(|k| {
                if k % often == often - 1 {
                    py.check_signals()?;
                }
                nested(py, rest, &values[k * inner..(k + 1) * inner])
            });
            Ok(objects::list(py, parts)?.into_any())
        }
    }
}

/// Copies the elements in row-major order to as many bytes of the host.
pub(crate) fn copy_out(py: Python<'_>, array: &UsmArray, bytes: &mut [u8]) -> Result<()> {
    Ok(py.detach(|| copy_to(array, bytes))?)
}

fn copy_to(array: &UsmArray, bytes: &mut [u8]) -> stridewise::Result<()> {
    if array.is_empty() {
        return Ok(());
    }
    let run = if array.flags().c_contiguous { array.clone() } else { array.copy_in(Order::C)? };
    run.usm_data()?.copy_to_host(run.offset() * run.itemsize(), bytes)
}

/// Rough number of operations that a byte takes which is copied to new memory.
const FOR_A_BYTE: f64 = 4.0;

/// Copies the elements in row-major order to as many bytes of the host from an address on, which is in something that keeps them:
/// many of them beside the calling thread, which a signal may interrupt.
///
/// # Safety
/// The bytes can be written as long as `keeper` is there, and nobody else accesses them before this returns without an error, or
/// after it returns with one.
pub(crate) unsafe fn copy_into<K: Send + 'static>(
    py: Python<'_>,
    array: &UsmArray,
    start: *mut u8,
    keeper: K,
) -> Result<K> {
    let (start, len) = (start.expose_provenance(), array.bytes());
    crate::wait::library(py, len as f64 * FOR_A_BYTE, [array], move |[array]: [&UsmArray; 1]| {
        // SAFETY: the caller's promise, as the keeper is still there; new memory of Python's or ours, whose contents are written
        // before anybody reads them, as bytes of which each value is one.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut(start), len) };
        copy_to(array, bytes).map(|()| keeper)
    })
}

/// The bytes of the elements in row-major order, as an object of Python's.
pub(crate) fn bytes_of<'py>(py: Python<'py>, array: &UsmArray) -> Result<Bound<'py, PyBytes>> {
    // SAFETY: the interpreter is attached; the object has as many bytes, not written yet, or there is an error.
    let object = unsafe {
        let object = ffi::PyBytes_FromStringAndSize(std::ptr::null(), array.bytes().cast_signed());
        Bound::from_owned_ptr_or_err(py, object)?.cast_into_unchecked::<PyBytes>()
    };
    // SAFETY: the object was just made, so that its bytes may be written, which nobody else does: this is the only reference, which
    // goes with the copy, and where that fails to the end of it.
    let object = unsafe {
        let start = ffi::PyBytes_AsString(object.as_ptr()).cast::<u8>();
        copy_into(py, array, start, object.unbind())?
    };
    Ok(object.into_bound(py))
}

/// The bits of elements of 16 bits, as integers in the same memory.
fn bits_of(array: &UsmArray) -> stridewise::Result<UsmArray> {
    let builder = UsmArray::builder(array.shape()).dtype(Dtype::U16).strides(array.strides());
    let mut bits = builder.offset(array.offset()).buffer(&array.usm_data()?).queue(array.queue()).build()?;
    if !array.flags().writable {
        bits.set_writable(false);
    }
    Ok(bits)
}

/// A NumPy array with a copy of the elements.
pub(crate) fn copied<'py>(py: Python<'py>, array: &UsmArray) -> Result<Bound<'py, PyAny>> {
    // Before anything is copied, for there may be none.
    numpy::dtype_of(py, array.dtype())?;
    // Both can be written to, as a fresh array can.
    let bytes = match array.bytes() >= POOLED_BYTES {
        true => memory::host_copy(py, array)?.into_bound(py),
        false => {
            PyByteArray::new_with(py, array.bytes(), |bytes| Ok(copy_out(py, array, bytes)?))?.into_any()
        }
    };
    Ok(numpy::on_bytes(py, array.shape(), array.dtype(), bytes)?)
}

#[pymethods]
impl PyArray {
    fn __bool__(&self, py: Python<'_>) -> Result<bool> {
        let array = self.array();
        if array.len() != 1 {
            // What `and`, `or`, `not`, `if` and comparisons in a row ask for.
            return Err(Fault::Python(PyValueError::new_err(format!(
                "shape mismatch: an array of shape {:?} has no truth value; expected an array of exactly one element; help: \
                 `and`, `or` and `not` of elements are `&`, `|` and `~`, as (x > 3) & (x < 5); `any(x)` and `all(x)` say whether some \
                 or all of them are true",
                array.shape()
            ))));
        }
        let value = self.item(py)?.to_c128();
        Ok(value.re != 0.0 || value.im != 0.0)
    }
    fn __float__(&self, py: Python<'_>) -> Result<f64> {
        let value = self.item(py)?;
        if value.dtype().kind() == DtypeKind::Complex { refused("float", value) } else { Ok(value.to_f64()) }
    }
    fn __complex__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyComplex>> {
        let value = self.item(py)?.to_c128();
        Ok(PyComplex::from_doubles(py, value.re, value.im))
    }
    fn __int__(&self, py: Python<'_>) -> Result<Py<PyAny>> {
        let value = self.item(py)?;
        match value.dtype().kind() {
            DtypeKind::Complex => refused("int", value),
            // Python's own conversion, which knows of all magnitudes and of what has no integer.
            _ => Ok(objects::number(py, value)?.call_method0("__int__")?.unbind()),
        }
    }
    fn __index__(&self, py: Python<'_>) -> Result<Py<PyAny>> {
        if self.array().dtype().kind().is_integer() && self.array().ndim() == 0 {
            Ok(objects::number(py, self.item(py)?)?.unbind())
        } else {
            Err(Fault::Python(PyTypeError::new_err(format!(
                "an array of {} and {} dimensions is no index; expected an integer array of no dimensions",
                self.array().dtype(),
                self.array().ndim()
            ))))
        }
    }

    /// The elements as Python numbers: nested lists, or one number for an array of no dimensions. Waits for the work
    /// that computes them.
    fn tolist<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let array: &UsmArray = &self.array();
        stridewise::with_dtype!(array.dtype(), T => {
            let operations = array.bytes() as f64 * FOR_A_BYTE;
            let values = crate::wait::library(py, operations, [array], |[array]: [&UsmArray; 1]| array.to_vec::<T>())?;
            Ok(nested(py, array.shape(), &values)?)
        })
    }

    /// The bytes of the elements in row-major order, or, with order "F", in column-major order; "A": as the array lies.
    #[pyo3(signature = (order="C"))]
    fn tobytes<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = arguments::text)] order: &str,
    ) -> Result<Bound<'py, PyBytes>> {
        let array: &UsmArray = &self.array();
        let run = match order_of(order)?.of(array) {
            Some(Order::F) => array.t(),
            _ => array.clone(),
        };
        bytes_of(py, &run)
    }

    /// The array associated with the queue of a device: a view where both queues share a context, else a copy.
    ///
    /// device: a Device, a Queue or a filter string. stream: None, for there are no streams but queues.
    #[pyo3(signature = (device, /, *, stream=None))]
    fn to_device(
        &self,
        py: Python<'_>,
        device: &Bound<'_, PyAny>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> Result<Self> {
        if stream.is_some_and(|stream| !stream.is_none()) {
            return Err(Fault::Python(PyValueError::new_err(
                "`stream` is not None; expected None; help: name a Queue as `device`",
            )));
        }
        let queue = queue_of(Some(device), None, None)?;
        let array = &self.array();
        Ok(py.detach(|| on_queue(array, &queue))?.into())
    }

    /// The namespace of the array API: the module stridewise.
    #[pyo3(signature = (*, api_version=None))]
    fn __array_namespace__<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = arguments::optional_text)] api_version: Option<&str>,
    ) -> Result<Bound<'py, PyModule>> {
        const VERSIONS: [&str; 5] = ["2021.12", "2022.12", "2023.12", "2024.12", "2025.12"];
        match api_version {
            Some(version) if !VERSIONS.contains(&version) => Err(Fault::Python(PyValueError::new_err(
                format!("`api_version` is {version:?}; expected one of {}", VERSIONS.join(", ")),
            ))),
            _ => Ok(py.import("stridewise")?),
        }
    }

    /// The array for NumPy, which reads memory that host code may touch in place; a copy of what it may not, in kind "device", is
    /// read-only unless it is asked for, as nothing that is written to it would come back. copy: True: copied in any case; False:
    /// never.
    ///
    /// Raises TypeError for memory of another device than the host's, for the transfer is to be seen: `asnumpy` copies it.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = arguments::optional_flag)] copy: Option<bool>,
    ) -> Result<Bound<'py, PyAny>> {
        let (py, array) = (slf.py(), &slf.get().array());
        let visible = check_visible(array).is_ok();
        if !visible && copy == Some(false) {
            return Err(Fault::Python(PyValueError::new_err(
                "`copy` is False, but host code may not touch the memory, so that the elements are copied; expected None or \
                 True; help: NumPy takes arrays of kind \"host\" and \"shared\" of the host without a copy",
            )));
        }
        if !visible && !is_host_queue(array.queue()) {
            return Err(Fault::Python(PyTypeError::new_err(format!(
                "an array in {} memory of {} does not become one of NumPy's unasked, for that is a transfer; help: copy it \
                 with stridewise.asnumpy(x)",
                array.usm_kind(),
                array.device().filter_string()
            ))));
        }
        let library = py.import("numpy")?;
        let made = match visible && copy != Some(true) {
            // Its bits: there is no format for it in the buffer protocol.
            true if array.dtype() == Dtype::Bf16 => {
                let dtype = numpy::dtype_of(py, Dtype::Bf16)?;
                let bits = Bound::new(py, Self::from(bits_of(array)?))?;
                library.call_method1("asarray", (bits,))?.call_method1("view", (dtype,))?
            }
            // By the buffer protocol, which NumPy asks for first.
            true => library.call_method1("asarray", (slf,))?,
            false => copied(py, array)?,
        };
        if !visible && copy != Some(true) {
            made.call_method1("setflags", (false,))?;
        }
        let Some(dtype) = dtype.filter(|dtype| !dtype.is_none()) else { return Ok(made) };
        let dtype = library.getattr("dtype")?.call1((dtype,))?;
        if made.getattr("dtype")?.eq(&dtype)? {
            return Ok(made);
        }
        if copy == Some(false) {
            return Err(Fault::Python(PyValueError::new_err(format!(
                "`copy` is False, but the elements of {} are to be {dtype}; expected None or True; help: leave `dtype` out",
                array.dtype()
            ))));
        }
        Ok(made.call_method1("astype", (dtype,))?)
    }

    #[classattr]
    fn __array_priority__() -> f64 {
        2000.0
    }
}
