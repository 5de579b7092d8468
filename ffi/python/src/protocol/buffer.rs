//! The buffer protocol (PEP 3118), both ways.

use std::ffi::{CStr, c_int, c_void};

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;
use stridewise::{Error, Lease, UsmArray};
use stridewise_exchange::host::{Strided, check_visible};
use stridewise_exchange::typestr;

use super::{Request, refusal, taken};
use crate::array::PyArray;
use crate::errors::{Fault, Result};

/// What a buffer that we gave points into, until it is released.
struct Lent {
    shape: Vec<isize>,
    byte_strides: Vec<isize>,
    _memory: Lease,
}

fn refuse<T>(text: impl Into<String>) -> Result<T> {
    Err(Fault::Python(PyBufferError::new_err(text.into())))
}

#[pymethods]
impl PyArray {
    /// # Safety
    /// The interpreter hands in room for a buffer.
    unsafe fn __getbuffer__(slf: &Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> Result<()> {
        if view.is_null() {
            return refuse("no room for the buffer");
        }
        // SAFETY: not null, and the protocol's room for a buffer; without an owner it is not released.
        unsafe { (*view).obj = std::ptr::null_mut() };
        let array = slf.get().array().clone();
        let asked = |what: c_int| flags & what == what;
        let state = array.flags();
        let Some(format) = typestr::format(array.dtype()) else {
            return refuse(format!(
                "an array of {} has no format of the buffer protocol; help: convert it to float32 first",
                array.dtype()
            ));
        };
        check_visible(&array).map_err(refusal)?;
        if asked(ffi::PyBUF_WRITABLE) && !state.writable {
            return refuse("the array is read-only, and a buffer to write to was asked for");
        }
        let contiguous = match flags {
            _ if asked(ffi::PyBUF_C_CONTIGUOUS) => state.c_contiguous,
            _ if asked(ffi::PyBUF_F_CONTIGUOUS) => state.f_contiguous,
            _ if asked(ffi::PyBUF_ANY_CONTIGUOUS) => state.c_contiguous || state.f_contiguous,
            _ => asked(ffi::PyBUF_STRIDES) || state.c_contiguous,
        };
        if !contiguous {
            return refuse(
                "the array is not contiguous, and such a buffer was asked for; help: copy it first",
            );
        }
        let itemsize = array.itemsize();
        // Waits for the work on the memory; until the buffer is released, what follows is done when the call returns that asks
        // for it.
        let memory = slf.py().detach(|| array.usm_data()?.lend())?;
        let start = memory.ptr();
        // Sizes and strides in bytes of what is allocated fit `isize`.
        let bytes = |elements: isize| elements * itemsize.cast_signed();
        let mut lent = Box::new(Lent {
            shape: array.shape().iter().map(|extent| extent.cast_signed()).collect(),
            byte_strides: array.strides().iter().map(|&stride| bytes(stride)).collect(),
            _memory: memory,
        });
        let (shape, strides) = (lent.shape.as_mut_ptr(), lent.byte_strides.as_mut_ptr());
        let null: *mut c_void = std::ptr::null_mut();
        // SAFETY: as above. The pointers are into the box, which stays until the buffer is released; the owner is a new
        // reference to this object.
        unsafe {
            view.write(ffi::Py_buffer {
                buf: start.byte_offset(bytes(array.offset().cast_signed())).as_ptr().cast(),
                obj: slf.clone().into_ptr(),
                len: array.bytes().cast_signed(),
                itemsize: itemsize.cast_signed(),
                readonly: c_int::from(!state.writable),
                ndim: array.ndim() as c_int,
                format: if asked(ffi::PyBUF_FORMAT) { format.as_ptr().cast_mut() } else { null.cast() },
                shape: if asked(ffi::PyBUF_ND) { shape } else { null.cast() },
                strides: if asked(ffi::PyBUF_STRIDES) { strides } else { null.cast() },
                suboffsets: null.cast(),
                internal: Box::into_raw(lent).cast(),
            });
        }
        Ok(())
    }

    /// # Safety
    /// The interpreter hands in a buffer of `__getbuffer__`, once.
    unsafe fn __releasebuffer__(_slf: &Bound<'_, Self>, view: *mut ffi::Py_buffer) {
        // SAFETY: the box that `__getbuffer__` put there; a buffer is released once.
        drop(unsafe { Box::from_raw((*view).internal.cast::<Lent>()) });
    }
}

/// A buffer of others, released at its end.
struct Borrowed(Box<ffi::Py_buffer>);

impl Borrowed {
    fn of(view: &Bound<'_, PyMemoryView>) -> Result<Self> {
        let mut buffer = Box::new(ffi::Py_buffer::new());
        // SAFETY: the interpreter's lock is held; the object and the room for the buffer are live.
        if unsafe { ffi::PyObject_GetBuffer(view.as_ptr(), &raw mut *buffer, ffi::PyBUF_FULL_RO) } != 0 {
            return Err(PyErr::fetch(view.py()).into());
        }
        Ok(Self(buffer))
    }

    /// One of the lists of the buffer, with an entry per dimension; empty where there is none.
    fn list(&self, list: *const ffi::Py_ssize_t) -> Vec<i64> {
        let ndim = usize::try_from(self.0.ndim).unwrap_or(0);
        if list.is_null() || ndim == 0 {
            return Vec::new();
        }
        // SAFETY: a list of a buffer that is there is null or has an entry per dimension.
        unsafe { std::slice::from_raw_parts(list, ndim) }.iter().map(|&entry| entry as i64).collect()
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        // SAFETY: filled by `PyObject_GetBuffer`, released once, with the interpreter's lock, for this type does not leave
        // the function that holds it.
        unsafe { ffi::PyBuffer_Release(&raw mut *self.0) };
    }
}

/// The array that an object with a buffer is, in place where it can be.
pub(super) fn import(object: &Bound<'_, PyAny>, request: &Request<'_>) -> Result<Option<UsmArray>> {
    // SAFETY: the interpreter's lock is held, and any object may be asked.
    if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } == 0 {
        return Ok(None);
    }
    // The memory view holds the buffer; at its end it may go from any thread, as a reference may.
    let view = PyMemoryView::from(object)?;
    let buffer = Borrowed::of(&view)?;
    let text = match buffer.0.format.is_null() {
        true => c"B",
        // SAFETY: not null, and a text as long as the buffer is there.
        false => unsafe { CStr::from_ptr(buffer.0.format) },
    };
    let text = text.to_string_lossy();
    let (dtype, swapped) = match request.copy == Some(false) {
        true => (typestr::dtype_of_format(&text)?, false),
        false => typestr::ordered_format(&text)?,
    };
    if buffer.0.itemsize != dtype.size().cast_signed() {
        let expected = format!("{} bytes, as an element of format {text:?} has", dtype.size());
        let help = "this is a defect of the library that the buffer is from";
        return Err(Error::value("itemsize", buffer.0.itemsize, expected, help).into());
    }
    if buffer.list(buffer.0.suboffsets).iter().any(|&suboffset| suboffset >= 0) {
        return refuse("the buffer goes through pointers to its parts; expected one block of memory");
    }
    let shape = buffer.list(buffer.0.shape);
    let strides = (!buffer.0.strides.is_null()).then(|| buffer.list(buffer.0.strides));
    let strided = Strided {
        data: buffer.0.buf.cast(),
        dtype,
        shape: &shape,
        byte_strides: strides.as_deref(),
        read_only: buffer.0.readonly != 0,
    };
    let keeper = view.clone().unbind();
    // SAFETY: the elements of a buffer are there as long as the buffer is, which the memory view holds until it is dropped.
    let array = unsafe { taken(&strided, swapped, request, Box::new(move || drop(keeper)))? };
    Ok(Some(array))
}
