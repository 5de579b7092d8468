//! Copies, and pickling: the elements, the dtype, the shape, the kind and the device.
//!
//! From protocol 5 on, the elements are a `PickleBuffer`: without a copy where they are contiguous and the host may touch
//! them, and an array is made on the very buffer that comes back.

use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PyTuple};
use stridewise::backend::HostAccess;
use stridewise::{Device, Dtype, Layout, Order, Queue, UsmArray, UsmKind, UsmMemory, UsmPtr};
use stridewise_exchange::host::{check_visible, is_host_queue, visible_copy};

use super::PyArray;
use super::construct::shape_of;
use super::conversion;
use crate::errors::Result;
use crate::memory::span::Span;
use crate::namespace::placement::order_of;

#[pymethods]
impl PyArray {
    fn __copy__(&self, py: Python<'_>) -> Result<Self> {
        let array = &self.array();
        Ok(py.detach(|| array.copy())?.into())
    }
    /// A copy on the same queue, in memory of the same kind.
    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> Result<Self> {
        self.__copy__(py)
    }
    /// Of protocol 5 and later, the elements are a PickleBuffer, which is only copied where the host may not touch them, or
    /// they are not contiguous. As with NumPy, an array that is read-only is so again.
    fn __reduce_ex__<'py>(
        slf: &Bound<'py, Self>,
        protocol: isize,
    ) -> Result<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let array = slf.get().array().clone();
        if protocol < 5 || array.is_empty() {
            return Self::__reduce__(slf);
        }
        let (flat, order) = py.detach(|| bytes_of(&array))?;
        let buffer = py.import("pickle")?.getattr("PickleBuffer")?.call1((Self::from(flat),))?;
        let make = py.import("stridewise._native")?.getattr("_from_buffer")?;
        let shape = PyTuple::new(py, array.shape())?;
        let (kind, device) = (array.usm_kind().name(), array.device().filter_string());
        let order = if order == Order::F { "F" } else { "C" };
        let arguments = (buffer, array.dtype().name(), shape, order, kind, device);
        Ok((make, arguments.into_pyobject(py)?))
    }
    /// The elements are copied to the host. Where the device is not there when it is read, the default one takes its place.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Result<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let array = slf.get().array().clone();
        let bytes = conversion::bytes_of(py, &array)?;
        let make = py.import("stridewise._native")?.getattr("_from_pickle")?;
        let shape = PyTuple::new(py, array.shape())?;
        let (kind, device) = (array.usm_kind().name(), array.device().filter_string());
        let arguments = (bytes, array.dtype().name(), shape, kind, device);
        Ok((make, arguments.into_pyobject(py)?))
    }
}

/// The bytes of an array's elements where the host may touch them, one after the other, and in which order they are.
fn bytes_of(array: &UsmArray) -> stridewise::Result<(UsmArray, Order)> {
    let order_of = |array: &UsmArray| match array.flags() {
        flags if flags.c_contiguous => Some(Order::C),
        flags if flags.f_contiguous => Some(Order::F),
        _ => None,
    };
    let dense = if order_of(array).is_some() { array.clone() } else { array.copy_in(Order::C)? };
    let dense = if check_visible(&dense).is_ok() { dense } else { visible_copy(&dense)? };
    let (dense, order) = match order_of(&dense) {
        Some(order) => (dense, order),
        None => (dense.copy_in(Order::C)?, Order::C),
    };
    let mut bytes = UsmArray::builder([dense.bytes()])
        .dtype(Dtype::U8)
        .buffer(&dense.usm_data()?)
        .offset(dense.offset() * dense.itemsize())
        .build()?;
    bytes.set_writable(array.flags().writable);
    Ok((bytes, order))
}

/// The queue of the device of a filter string, or the default one.
fn queue_on(device: &str) -> stridewise::Result<Queue> {
    Device::select(device).and_then(|device| device.queue()).or_else(|_| Queue::default_queue())
}

/// The error of as many bytes as are no array's.
fn cut_off(found: usize, bytes: usize, shape: &[usize], dtype: Dtype) -> stridewise::Error {
    stridewise::Error::value(
        "bytes",
        format!("{found} bytes"),
        format!("the {bytes} bytes of an array of shape {shape:?} of {dtype}"),
        "the pickle was cut off or changed: make it again",
    )
}

/// The array of what `__reduce_ex__` has written: on the buffer, where memory of the kind can be that, else with a copy.
#[pyfunction]
pub(crate) fn _from_buffer(
    buffer: &Bound<'_, PyAny>,
    dtype: &str,
    shape: &Bound<'_, PyAny>,
    order: &str,
    usm_type: &str,
    device: &str,
) -> Result<PyArray> {
    let py = buffer.py();
    let (dtype, kind, shape) = (dtype.parse::<Dtype>()?, usm_type.parse::<UsmKind>()?, shape_of(shape)?);
    let order = order_of(order)?.named();
    let len = Layout::contiguous(&shape, order)?.len();
    let bytes = len.saturating_mul(dtype.size());
    // The view holds the buffer, and may go from any thread, as a reference may.
    let view = PyMemoryView::from(buffer)?;
    let lent = PyUntypedBuffer::get(&view)?;
    if lent.len_bytes() != bytes {
        return Err(cut_off(lent.len_bytes(), bytes, &shape, dtype).into());
    }
    let (start, read_only) = (UsmPtr::new(lent.buf_ptr().cast()), lent.readonly());
    let source = Span::host("buffer", lent, false)?;
    let queue = py.detach(|| queue_on(device))?;
    let in_place = bytes > 0
        && is_host_queue(&queue)
        && queue.device().capabilities().host_access(kind) == HostAccess::Direct
        && start.addr().is_multiple_of(dtype.align());
    let array = UsmArray::builder(&shape).dtype(dtype).order(order).queue(&queue);
    if in_place {
        let keeper = view.unbind();
        let made = py.detach(|| {
            // SAFETY: a contiguous buffer (`Span::host`) of so many bytes, which the view holds until it is dropped; who else
            // has the buffer keeps to the rules of PEP 3118. One that is read-only is not written.
            let memory = unsafe {
                let deleter = Box::new(move || drop(keeper));
                UsmMemory::from_foreign(kind, start, bytes, &queue, Some(deleter))?
            };
            if read_only {
                memory.forbid_writing();
            }
            array.buffer(&memory).build()
        });
        return Ok(made?.into());
    }
    let mut made = array.buffer(kind).build()?;
    if bytes > 0 {
        let memory = Span::usm(made.usm_data()?);
        py.detach(|| Span::copy(&queue, &memory, &source, bytes, &[]))?;
    }
    made.set_writable(!read_only);
    Ok(made.into())
}

/// The array of what `__reduce__` has written.
#[pyfunction]
pub(crate) fn _from_pickle(
    py: Python<'_>,
    bytes: &[u8],
    dtype: &str,
    shape: &Bound<'_, PyAny>,
    usm_type: &str,
    device: &str,
) -> Result<PyArray> {
    let (dtype, kind, shape) = (dtype.parse::<Dtype>()?, usm_type.parse::<UsmKind>()?, shape_of(shape)?);
    let made = py.detach(|| {
        let array = UsmArray::empty(&queue_on(device)?, &shape, dtype, kind)?;
        if array.bytes() != bytes.len() {
            return Err(cut_off(bytes.len(), array.bytes(), &shape, dtype));
        }
        if !array.is_empty() {
            array.usm_data()?.copy_from_host(0, bytes)?;
        }
        Ok::<_, stridewise::Error>(array)
    })?;
    Ok(made.into())
}
