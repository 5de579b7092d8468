//! What C hands in, read after the checks that can be made.

use std::ffi::{CStr, c_char};
use std::sync::Arc;

use stridewise::memory::heap;
use stridewise::{Error, Event, Result};

use crate::event::sw_event;
use crate::handle::{self, Handle, Room};
use crate::status::Failure;

/// Stands for the promise that pointers of a call keep the contract of this crate; its methods follow them.
#[derive(Debug)]
pub struct Caller(());

/// A place for a result.
#[derive(Debug)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    pub(crate) fn set(self, value: T) {
        // SAFETY: checked not to be null and to be aligned (`Caller::out`); the caller promises room for a `T`.
        unsafe { self.0.write(value) };
    }
}

fn missing(argument: &'static str, expected: &'static str) -> Error {
    Error::value(argument, "null", expected, "pass the address of one")
}

impl Caller {
    /// # Safety
    /// Pointers that are given to the methods keep the contract of this crate.
    pub(crate) unsafe fn trusted() -> Self {
        // Every call comes by here, and so every program has the drivers, the statically linked ones too.
        stridewise::link_drivers();
        Self(())
    }

    /// Room for a result, as it is.
    pub(crate) fn out<T>(&self, argument: &'static str, ptr: *mut T) -> Result<Out<T>> {
        if ptr.is_null() || !ptr.is_aligned() {
            return Err(missing(argument, "room for the result"));
        }
        Ok(Out(ptr))
    }

    /// Writes a result.
    pub(crate) fn answer<T>(&self, argument: &'static str, ptr: *mut T, value: T) -> Result<(), Failure> {
        self.out(argument, ptr)?.set(value);
        Ok(())
    }

    /// Room for a pointer, which is null until there is one.
    pub(crate) fn pointer<T>(&self, argument: &'static str, ptr: *mut *mut T) -> Result<Out<*mut T>> {
        self.out(argument, ptr)?.set(std::ptr::null_mut());
        self.out(argument, ptr)
    }

    /// Room for a handle, which is null until there is one. Lists of handles are read before, for one of theirs may be this.
    pub(crate) fn handle<H: Handle>(&self, argument: &'static str, ptr: *mut *mut H) -> Result<Room<H>> {
        Room::new(self.pointer(argument, ptr)?)
    }

    /// Room for a handle that the caller may not care for.
    pub(crate) fn optional_handle<H: Handle>(
        &self,
        argument: &'static str,
        ptr: *mut *mut H,
    ) -> Result<Option<Room<H>>> {
        if ptr.is_null() { Ok(None) } else { self.handle(argument, ptr).map(Some) }
    }

    /// Elements to read; null is none.
    pub(crate) fn slice<'a, T: Copy>(
        &'a self,
        argument: &'static str,
        ptr: *const T,
        len: usize,
    ) -> Result<&'a [T]> {
        if len == 0 {
            return Ok(&[]);
        }
        if ptr.is_null() || !ptr.is_aligned() {
            return Err(missing(argument, "as many entries as were announced"));
        }
        check_len::<T>(argument, len)?;
        // SAFETY: not null, aligned, of a size that fits; the caller promises `len` entries that nobody writes.
        Ok(unsafe { std::slice::from_raw_parts(ptr, len) })
    }

    /// Bytes to write; null is none.
    #[allow(
        clippy::mut_from_ref,
        reason = "the bytes are C's, and lent for the call that this token stands for"
    )]
    pub(crate) fn bytes_mut<'a>(
        &'a self,
        argument: &'static str,
        ptr: *mut u8,
        len: usize,
    ) -> Result<&'a mut [u8]> {
        if len == 0 {
            return Ok(&mut []);
        }
        if ptr.is_null() {
            return Err(missing(argument, "room for as many bytes as were announced"));
        }
        check_len::<u8>(argument, len)?;
        // SAFETY: not null, of a size that fits; the caller promises `len` bytes that nobody else accesses.
        Ok(unsafe { std::slice::from_raw_parts_mut(ptr, len) })
    }

    /// A text.
    pub(crate) fn text<'a>(&'a self, argument: &'static str, ptr: *const c_char) -> Result<&'a str> {
        if ptr.is_null() {
            return Err(missing(argument, "a text"));
        }
        // SAFETY: not null; the caller promises a text that ends in a zero byte.
        let text = unsafe { CStr::from_ptr(ptr) };
        text.to_str().map_err(|_| {
            Error::value(argument, format!("{text:?}"), "a text in UTF-8", "encode it as UTF-8 first")
        })
    }

    /// A text, which is empty where there is none.
    pub(crate) fn optional_text<'a>(&'a self, argument: &'static str, ptr: *const c_char) -> Result<&'a str> {
        if ptr.is_null() { Ok("") } else { self.text(argument, ptr) }
    }

    /// Writes a text, cut off where there is no room, and the bytes that it has without the zero byte at its end.
    pub(crate) fn write_text(
        &self,
        text: &str,
        buffer: *mut c_char,
        capacity: usize,
        length: *mut usize,
    ) -> Result<()> {
        if !length.is_null() {
            self.out("length", length)?.set(text.len());
        }
        let room = self.bytes_mut("buffer", buffer.cast(), capacity)?;
        if let Some(last) = room.len().checked_sub(1) {
            let count = text.len().min(last);
            room[..count].copy_from_slice(&text.as_bytes()[..count]);
            room[count] = 0;
        }
        Ok(())
    }

    /// The objects of several handles.
    pub(crate) fn objects<H: Handle>(
        &self,
        argument: &'static str,
        ptr: *const *mut H,
        len: usize,
    ) -> Result<Vec<Arc<H::Object>>, Failure> {
        let handles = self.slice(argument, ptr, len)?;
        heap::try_collect(argument, handles.iter().map(|&handle| handle::get(argument, handle)))
    }

    /// Events to wait for.
    pub(crate) fn depends(&self, ptr: *const *mut sw_event, len: usize) -> Result<Vec<Event>, Failure> {
        let events = self.objects("depends", ptr, len)?;
        Ok(heap::collect("depends", events.iter().map(|event| Event::clone(event)))?)
    }
}

fn check_len<T>(argument: &'static str, len: usize) -> Result<()> {
    match len.checked_mul(size_of::<T>()).and_then(|bytes| isize::try_from(bytes).ok()) {
        Some(_) => Ok(()),
        None => Err(Error::overflow(
            argument,
            format!("{len} entries"),
            "a size that fits the address space",
            "pass the number of entries that there are",
        )),
    }
}

/// Extents, none of them negative.
pub(crate) fn extents(shape: &[i64]) -> Result<Vec<usize>> {
    let extent = |&extent: &i64| {
        usize::try_from(extent).map_err(|_| {
            Error::shape(
                "shape",
                format!("{shape:?}"),
                "no extent below zero",
                "count the elements along each axis",
            )
        })
    };
    heap::try_collect("shape", shape.iter().map(extent))
}

/// Numbers with a sign: strides, axes, bounds.
pub(crate) fn signed(argument: &'static str, numbers: &[i64]) -> Result<Vec<isize>> {
    let number = |&number: &i64| {
        isize::try_from(number).map_err(|_| {
            Error::overflow(argument, number, "a number within the address space", "use smaller numbers")
        })
    };
    heap::try_collect(argument, numbers.iter().map(number))
}
