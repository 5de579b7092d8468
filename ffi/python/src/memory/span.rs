//! Bytes one after the other: in USM, or in an object of the host.

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use stridewise::memory::heap;
use stridewise::{Error, Event, Queue, UsmMemory};

use super::{Part, memory_of};
use crate::array::PyArray;
use crate::errors::{Fault, Result, shown};

/// What needs room where a buffer is of the very allocation that is copied.
const ROOM: &str = "bytes between a buffer and the allocation that it is of";

/// Bytes that a copy reads or writes.
pub(crate) enum Span {
    /// Of an allocation: from this byte on, so many.
    Usm(UsmMemory, usize, usize),
    /// Of an object with a contiguous buffer.
    Host(PyUntypedBuffer),
}

impl Span {
    /// All of an allocation.
    pub(crate) fn usm(memory: UsmMemory) -> Self {
        let bytes = memory.bytes();
        Self::Usm(memory, 0, bytes)
    }

    /// A buffer of the host.
    ///
    /// # Errors
    /// `BufferError` where it is not contiguous, has references to objects, which bytes may not overwrite, or is not writable where it
    /// is to be written.
    pub(crate) fn host(name: &str, buffer: PyUntypedBuffer, write: bool) -> Result<Self> {
        let refuse = |what: &str, help: &str| {
            Err(Fault::Python(PyBufferError::new_err(format!(
                "`{name}` has a buffer that is {what}; expected another; help: {help}"
            ))))
        };
        if !buffer.is_c_contiguous() && !buffer.is_fortran_contiguous() {
            return refuse("not contiguous", "copy it first");
        }
        if buffer.format().to_bytes().contains(&b'O') {
            return refuse(
                "of references to objects",
                "its bytes are addresses; convert it to numbers first",
            );
        }
        if write && buffer.readonly() {
            return refuse("read-only", "use a bytearray or another object that can be written");
        }
        Ok(Self::Host(buffer))
    }

    /// The bytes of an object, for reading: USM memory, a contiguous array, an object with
    /// `__sycl_usm_array_interface__`, or one with a buffer.
    ///
    /// # Errors
    /// `TypeError` for another object; `ValueError` for an array that is not contiguous.
    pub(crate) fn readable(name: &str, object: &Bound<'_, PyAny>) -> Result<Self> {
        Self::new(name, object, false)
    }

    /// As [`readable`](Self::readable), for writing.
    ///
    /// # Errors
    /// As for that; `BufferError` for a buffer and `ValueError` for an array that cannot be written.
    pub(crate) fn writable(name: &str, object: &Bound<'_, PyAny>) -> Result<Self> {
        Self::new(name, object, true)
    }

    fn new(name: &str, object: &Bound<'_, PyAny>, write: bool) -> Result<Self> {
        if let Ok(array) = object.cast::<PyArray>() {
            let array = array.get().array().clone();
            let flags = array.flags();
            if !flags.c_contiguous && !flags.f_contiguous {
                return Err(Fault::Python(PyValueError::new_err(format!(
                    "`{name}` is an array whose elements do not lie one after the other; expected a contiguous one; \
                     help: copy it first, or assign to it"
                ))));
            }
            if write && !flags.writable {
                return Err(Fault::Python(PyValueError::new_err(format!(
                    "`{name}` is a read-only array; expected one that can be written"
                ))));
            }
            let memory = object.py().detach(|| array.usm_data())?;
            return Ok(Self::Usm(memory, array.offset() * array.itemsize(), array.bytes()));
        }
        if let Some(Part { memory, offset, bytes }) = memory_of(object)? {
            return Ok(Self::Usm(memory, offset, bytes));
        }
        match PyUntypedBuffer::get(object) {
            Ok(buffer) => Self::host(name, buffer, write),
            Err(_) => Err(Fault::Python(PyTypeError::new_err(format!(
                "`{name}` is {}; expected USM memory, a contiguous array, or an object with a buffer",
                shown(object)
            )))),
        }
    }

    /// How many bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Usm(_, _, bytes) => *bytes,
            Self::Host(buffer) => buffer.len_bytes(),
        }
    }

    /// Refuses more bytes than there are.
    pub(crate) fn check(&self, name: &'static str, count: usize) -> Result<()> {
        Self::check_bytes(name, count, self.bytes())
    }

    /// Refuses more bytes than there are.
    pub(crate) fn check_bytes(name: &'static str, count: usize, bytes: usize) -> Result<()> {
        if count <= bytes {
            return Ok(());
        }
        Err(Fault::Core(Error::out_of_bounds(
            "count",
            format!("{count} bytes"),
            format!("the {bytes} bytes of `{name}` at most"),
            "leave it out for all of them",
        )))
    }

    /// The USM memory, where it is some: allocation, first byte, bytes.
    ///
    /// # Errors
    /// `TypeError` for a buffer of the host.
    pub(crate) fn into_usm(self, name: &str, object: &Bound<'_, PyAny>) -> Result<(UsmMemory, usize, usize)> {
        match self {
            Self::Usm(memory, offset, bytes) => Ok((memory, offset, bytes)),
            Self::Host(_) => Err(Fault::Python(PyTypeError::new_err(format!(
                "`{name}` is {}; expected USM memory, an array, or an object with __sycl_usm_array_interface__",
                shown(object)
            )))),
        }
    }

    /// Copies `count` bytes after the events named; to or from the host, it is done on return. The count was checked.
    pub(crate) fn copy(
        queue: &Queue,
        dest: &Self,
        src: &Self,
        count: usize,
        depends: &[Event],
    ) -> stridewise::Result<Event> {
        if let (Self::Usm(dest, to, _), Self::Usm(src, from, _)) = (dest, src) {
            return queue.memcpy((dest, *to), (src, *from), count, depends);
        }
        depends.iter().try_for_each(Event::wait)?;
        if count == 0 {
            return Ok(Event::ready());
        }
        match (dest, src) {
            // A buffer of the very allocation, such as a memoryview of it: the engine takes no bytes that it writes itself.
            (Self::Usm(memory, to, _), Self::Host(buffer)) if meets(memory, buffer) => {
                memory.export()?;
                let mut bytes = heap::with_capacity(ROOM, count)?;
                // SAFETY: the buffer has `count` bytes or more, as below, and the work on the memory is done; other threads
                // of Python that write to it meanwhile make the bytes arbitrary. There is room for `count` bytes, which
                // are all written.
                unsafe {
                    std::ptr::copy_nonoverlapping(buffer.buf_ptr().cast::<u8>(), bytes.as_mut_ptr(), count);
                    bytes.set_len(count);
                }
                memory.copy_from_host(*to, &bytes)?;
            }
            (Self::Host(buffer), Self::Usm(memory, from, _)) if meets(memory, buffer) => {
                let mut bytes: Vec<u8> = heap::zeroed(ROOM, count)?;
                memory.copy_to_host(*from, &mut bytes)?;
                memory.export()?;
                // SAFETY: as above; the buffer is writable (`host`).
                unsafe {
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.buf_ptr().cast::<u8>(), count);
                }
            }
            (Self::Usm(memory, to, _), Self::Host(buffer)) => {
                // SAFETY: the buffer is contiguous (`host`) and has `count` bytes or more (the callers check), and is
                // held, so its exporter keeps the memory where it is; another thread of Python that writes to it
                // meanwhile makes the copied bytes arbitrary, as with any user of a buffer.
                let data = unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), count) };
                memory.copy_from_host(*to, data)?;
            }
            (Self::Host(buffer), Self::Usm(memory, from, _)) => {
                // SAFETY: as above; the buffer is writable (`host`).
                let out = unsafe { std::slice::from_raw_parts_mut(buffer.buf_ptr().cast::<u8>(), count) };
                memory.copy_to_host(*from, out)?;
            }
            (Self::Host(dest), Self::Host(src)) => {
                // SAFETY: both have `count` bytes or more, as above; they may be the same memory.
                unsafe {
                    std::ptr::copy(src.buf_ptr().cast::<u8>(), dest.buf_ptr().cast::<u8>(), count);
                }
            }
            (Self::Usm(..), Self::Usm(..)) => {}
        }
        Ok(Event::ready())
    }
}

/// Whether a buffer has bytes of an allocation.
fn meets(memory: &UsmMemory, buffer: &PyUntypedBuffer) -> bool {
    let (start, first) = (memory.ptr().addr(), buffer.buf_ptr().addr());
    first < start.saturating_add(memory.bytes()) && start < first.saturating_add(buffer.len_bytes())
}
