//! Columns on their way in.

use std::ffi::{CStr, c_int};

use stridewise_core::memory::heap;
use stridewise_core::{Dtype, Error, Queue, Result, UsmArray, UsmKind, concat};

use super::{ArrowArray, ArrowArrayStream, ArrowSchema, Released, dtype_named};
use crate::host::Strided;

/// What the maker of a structure has to look after.
const DEFECT: &str = "this is a defect of the library that made the array";

/// The dtype of a column's elements; `None` where it is of no dtype: texts, times, records, lists, what stands for other values.
///
/// # Errors
/// [`Error::Value`] for a schema that was given back or has no format.
///
/// # Safety
/// The schema is one that nobody has given back, with a format that is null or ends with a zero.
pub unsafe fn dtype_of(schema: &ArrowSchema) -> Result<Option<Dtype>> {
    if schema.release.is_none() || schema.format.is_null() {
        return Err(Error::value("schema", "one that was given back", "the type of a column", DEFECT));
    }
    // SAFETY: not null, so a text that ends, as the caller promises.
    let format = unsafe { CStr::from_ptr(schema.format) };
    Ok(dtype_named(format).filter(|_| schema.dictionary.is_null() && schema.n_children == 0))
}

/// An owned structure.
struct Owner<T: Released>(T);

// SAFETY: the structure is used by one thread at a time, and what it points to may be read and given back by any (`import`).
unsafe impl<T: Released> Send for Owner<T> {}

impl<T: Released> Drop for Owner<T> {
    fn drop(&mut self) {
        // SAFETY: owned, so nobody else gives it back.
        unsafe { self.0.release() };
    }
}

/// An array on the elements of a column, read-only, of kind host, on a queue of the host; or with a copy of them, where they are bits,
/// or where they are not at a multiple of their alignment. The column is given back when the last array on it is gone and the work
/// on it is done; with a copy, without elements and on an error at once.
///
/// copy: `Some(false)` refuses what needs a copy; `Some(true)` asks for one.
///
/// # Errors
/// [`Error::Value`] for places without a value, and for numbers that cannot be; [`Error::Unsupported`] where a copy is needed and
/// refused, and for a queue of a device that does not work in the processor's memory; [`Error::Alloc`].
///
/// # Safety
/// `array` is a column of elements of that dtype in the processor's memory, which the caller owns and gives up; its buffers are null or
/// as large as its numbers say, and do not change until it is given back, which any thread may do.
pub unsafe fn import(array: ArrowArray, dtype: Dtype, queue: &Queue, copy: Option<bool>) -> Result<UsmArray> {
    let owner = Owner(array);
    let column = &owner.0;
    let wrong = |value: String, expected: &'static str| Err(Error::value("array", value, expected, DEFECT));
    if column.release.is_none() {
        return wrong("one that was given back".to_owned(), "a column");
    }
    let (Ok(length), Ok(offset)) = (usize::try_from(column.length), usize::try_from(column.offset)) else {
        let value = format!("of {} elements from {} on", column.length, column.offset);
        return wrong(value, "no number below zero");
    };
    let size = dtype.size();
    let is_within = |end: &usize| end.checked_mul(size).is_some_and(|bytes| isize::try_from(bytes).is_ok());
    let end = offset.checked_add(length).filter(is_within);
    let Some(end) = end else {
        return wrong(format!("of {length} elements from {offset} on"), "elements within the address space");
    };
    if column.n_buffers != 2 || column.buffers.is_null() {
        return wrong(format!("of {} buffers", column.n_buffers), "two buffers, as columns of numbers have");
    }
    // SAFETY: two buffers, as was checked, by the caller's promise.
    let [valid, data] = unsafe { [*column.buffers, *column.buffers.add(1)] };
    let missing = match column.null_count {
        0 => 0,
        _ if valid.is_null() || length == 0 => 0,
        // SAFETY: not null, so as many bits as there are elements, by the caller's promise.
        _ => length - unsafe { ones(valid.cast(), offset, end) },
    };
    if missing > 0 {
        return Err(Error::value(
            "array",
            format!("a column of {length} elements of which {missing} have no value"),
            "one without such places (nulls), which arrays here do not have",
            "fill them first, in pyarrow with fill_null(0), in polars with fill_null(0)",
        ));
    }
    if data.is_null() && length > 0 {
        return wrong(format!("null, of {length} elements"), "the address of the elements");
    }
    if length == 0 {
        let mut empty = UsmArray::empty(queue, &[0], dtype, UsmKind::Host)?;
        empty.set_writable(copy == Some(true));
        return Ok(empty);
    }
    if dtype == Dtype::Bool {
        if copy == Some(false) {
            return Err(needs_copy("truth values, which are bits in Arrow and bytes here"));
        }
        let mut values = heap::with_capacity("array", length)?;
        values.extend((offset..end).map(|place| {
            // SAFETY: as many bits as there are elements, by the caller's promise.
            unsafe { bit(data.cast(), place) }
        }));
        return UsmArray::from_slice(queue, &[length], &values, UsmKind::Host);
    }
    let strided = Strided {
        data: data.cast_mut().cast::<u8>().wrapping_add(offset * size),
        dtype,
        shape: &[length as i64],
        byte_strides: None,
        read_only: true,
    };
    if !strided.is_adoptable() && copy == Some(false) {
        return Err(needs_copy("elements at addresses that are no multiples of their size"));
    }
    let copies = copy == Some(true) || !strided.is_adoptable();
    let give_back = Box::new(move || drop(owner));
    // SAFETY: the elements of the column, which is there until it is given back.
    unsafe {
        match copies {
            true => strided.copied(queue, false, give_back),
            false => strided.import(queue, give_back),
        }
    }
}

fn needs_copy(of: &'static str) -> Error {
    Error::unsupported("copy", format!("false, for {of}"), "true or none", "leave `copy` out")
}

/// Whether a bit is set.
///
/// # Safety
/// The bits reach that far.
unsafe fn bit(bits: *const u8, place: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe { *bits.add(place / 8) >> (place % 8) & 1 == 1 }
}

/// How many bits are set from one place to another.
///
/// # Safety
/// The bits reach that far.
unsafe fn ones(bits: *const u8, from: usize, to: usize) -> usize {
    let is_set = |&place: &usize| {
        // SAFETY: the caller's promise.
        unsafe { bit(bits, place) }
    };
    (from..to).filter(is_set).count()
}

/// What a stream says of a number that is no success.
///
/// # Safety
/// A stream that nobody has given back.
unsafe fn failure(stream: &mut ArrowArrayStream, number: c_int) -> Error {
    let text = match stream.get_last_error {
        // SAFETY: the caller's promise; the text is null or ends, and stays until the stream is called again.
        Some(last) => unsafe {
            let text = last(stream);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        },
        None => None,
    };
    let text = text.unwrap_or_else(|| format!("error {number} without a text"));
    Error::value("stream", text, "the parts of a column", "see the library that the stream is from")
}

/// The dtype of a stream's elements, as [`dtype_of`].
///
/// # Errors
/// [`Error::Value`] where the stream was given back, or says that it failed.
///
/// # Safety
/// The stream is one of Arrow's.
pub unsafe fn schema_of_stream(stream: &mut ArrowArrayStream) -> Result<Option<Dtype>> {
    let (Some(get), Some(_)) = (stream.get_schema, stream.release) else {
        return Err(Error::value("stream", "one that was given back", "a stream of parts", DEFECT));
    };
    let mut schema = Owner(ArrowSchema::empty());
    // SAFETY: nobody has given the stream back; it writes a schema, which then is ours.
    unsafe {
        match get(stream, &raw mut schema.0) {
            0 => dtype_of(&schema.0),
            number => Err(failure(stream, number)),
        }
    }
}

/// The array of a stream's parts, joined: of one part as [`import`] has it. The stream is given back.
///
/// # Errors
/// As for [`import`]; [`Error::Unsupported`] for several parts where a copy is refused; [`Error::Value`] where the stream says that it
/// failed.
///
/// # Safety
/// The stream is one of Arrow's, with elements of that dtype, which the caller owns and gives up; its parts are as for [`import`].
pub unsafe fn import_stream(
    stream: ArrowArrayStream,
    dtype: Dtype,
    queue: &Queue,
    copy: Option<bool>,
) -> Result<UsmArray> {
    let mut owner = Owner(stream);
    let stream = &mut owner.0;
    let (Some(get), Some(_)) = (stream.get_next, stream.release) else {
        return Err(Error::value("stream", "one that was given back", "a stream of parts", DEFECT));
    };
    let mut parts: Vec<UsmArray> = Vec::new();
    loop {
        let mut part = ArrowArray::empty();
        // SAFETY: nobody has given the stream back; it writes a part, which then is ours.
        let number = unsafe { get(stream, &raw mut part) };
        if number != 0 {
            // SAFETY: as above.
            return Err(unsafe { failure(stream, number) });
        }
        if part.release.is_none() {
            break;
        }
        if copy == Some(false) && !parts.is_empty() {
            // SAFETY: ours, and used no more.
            unsafe { part.release() };
            return Err(needs_copy("a column in several parts"));
        }
        heap::reserve("stream", &mut parts, 1)?;
        // Parts that are joined are copied then.
        // SAFETY: a part of the stream, by the caller's promise.
        parts.push(unsafe { import(part, dtype, queue, copy.filter(|copy| !copy))? });
    }
    match &parts[..] {
        [] => UsmArray::empty(queue, &[0], dtype, UsmKind::Host),
        [part] if copy == Some(true) => part.copy(),
        [part] => Ok(part.clone()),
        _ => {
            let parts = heap::collect("stream", &parts)?;
            concat(&parts, Some(0))
        }
    }
}
