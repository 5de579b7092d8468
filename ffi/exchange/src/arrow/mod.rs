//! Arrow's C data interface: arrays of one dimension handed to libraries of tables, and columns taken from them.
//!
//! The structures are those of Arrow's documents, *The Arrow C data interface*, its device and its stream extension, with the names
//! there. Each has a function that gives it back, `release`; a structure without one was given back, or moved elsewhere. Whoever has
//! a structure that was not, owns it.
//!
//! Elements are shared where Arrow has them as we do: integers and floats of one dimension, one after the other. Truth values are
//! bits there and bytes here, so they are copied, and so is what lies otherwise. What an array here cannot be is an error that says
//! so: places without a value (nulls), texts, times, records, encoded columns.
//!
//! What goes out is complete first, and counts as known outside until it is given back; Arrow's arrays never change, so what comes in
//! is read-only, and who writes to what went out shows that to its readers.
//!
//! ```
//! # use stridewise as _;
//! use stridewise_core::{Dtype, UsmArray, UsmKind};
//! use stridewise_exchange::arrow::{export, import};
//!
//! let queue = stridewise_exchange::host::host_queue()?;
//! let array = UsmArray::arange(&queue, 0, 3, 1, Dtype::I64, UsmKind::Shared)?;
//! let column = export(&array)?; // what another library is handed
//! // SAFETY: the column is ours, of this dtype, and is given up.
//! let same = unsafe { import(column, Dtype::I64, &queue, Some(false)) }?;
//! assert_eq!((same.to_vec::<i64>()?, same.flags().writable), (vec![0, 1, 2], false));
//! # Ok::<(), stridewise_core::Error>(())
//! ```

mod export;
mod import;
#[cfg(test)]
mod tests;

use std::ffi::{CStr, c_char, c_int, c_void};

use stridewise_core::{Dtype, Error, Result};

pub use export::{export, export_schema, export_to_device};
pub use import::{dtype_of, import, import_stream, schema_of_stream};

/// A place may have no value; of what goes out none has.
pub const FLAG_NULLABLE: i64 = 2;

/// The type of a column.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowSchema {
    /// The type, as a text.
    pub format: *const c_char,
    /// The column's name; may be null.
    pub name: *const c_char,
    /// What else is said of it; may be null.
    pub metadata: *const c_char,
    /// [`FLAG_NULLABLE`] and others.
    pub flags: i64,
    /// Number of the types in this one.
    pub n_children: i64,
    /// These.
    pub children: *mut *mut Self,
    /// The type of what places stand for; null of elements that stand for themselves.
    pub dictionary: *mut Self,
    /// Gives the structure back; null once that is done.
    pub release: Option<unsafe extern "C" fn(*mut Self)>,
    /// The owner's own.
    pub private_data: *mut c_void,
}

/// The elements of a column, or of a part of it.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowArray {
    /// Number of elements.
    pub length: i64,
    /// Number of places without a value; -1 where nobody has counted.
    pub null_count: i64,
    /// Elements in the buffers before the first one.
    pub offset: i64,
    /// Number of buffers: two of numbers, which places have a value and the values.
    pub n_buffers: i64,
    /// Number of the arrays in this one.
    pub n_children: i64,
    /// The buffers; one may be null.
    pub buffers: *mut *const c_void,
    /// The arrays.
    pub children: *mut *mut Self,
    /// What places stand for.
    pub dictionary: *mut Self,
    /// Gives the structure back; null once that is done.
    pub release: Option<unsafe extern "C" fn(*mut Self)>,
    /// The owner's own.
    pub private_data: *mut c_void,
}

/// Elements and where they are.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowDeviceArray {
    /// The elements.
    pub array: ArrowArray,
    /// The device's number; -1 for the processor.
    pub device_id: i64,
    /// The kind of device, by DLPack's numbers.
    pub device_type: i32,
    /// What is to be waited for; null: nothing.
    pub sync_event: *mut c_void,
    /// Zeros.
    pub reserved: [i64; 3],
}

/// A column in parts, which come one after the other.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowArrayStream {
    /// Writes the type of all parts; 0, or a number of the system's errors.
    pub get_schema: Option<unsafe extern "C" fn(*mut Self, *mut ArrowSchema) -> c_int>,
    /// Writes the next part, or one that was given back where there is no other.
    pub get_next: Option<unsafe extern "C" fn(*mut Self, *mut ArrowArray) -> c_int>,
    /// What the last error was; may be null.
    pub get_last_error: Option<unsafe extern "C" fn(*mut Self) -> *const c_char>,
    /// Gives the structure back; null once that is done.
    pub release: Option<unsafe extern "C" fn(*mut Self)>,
    /// The owner's own.
    pub private_data: *mut c_void,
}

impl ArrowSchema {
    /// One that was given back, to be written over.
    #[must_use]
    pub const fn empty() -> Self {
        Self {
            format: std::ptr::null(),
            name: std::ptr::null(),
            metadata: std::ptr::null(),
            flags: 0,
            n_children: 0,
            children: std::ptr::null_mut(),
            dictionary: std::ptr::null_mut(),
            release: None,
            private_data: std::ptr::null_mut(),
        }
    }
}

impl ArrowArray {
    /// One that was given back, to be written over.
    #[must_use]
    pub const fn empty() -> Self {
        Self {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: std::ptr::null_mut(),
            children: std::ptr::null_mut(),
            dictionary: std::ptr::null_mut(),
            release: None,
            private_data: std::ptr::null_mut(),
        }
    }
}

impl ArrowArrayStream {
    /// One that was given back, to be written over.
    #[must_use]
    pub const fn empty() -> Self {
        Self {
            get_schema: None,
            get_next: None,
            get_last_error: None,
            release: None,
            private_data: std::ptr::null_mut(),
        }
    }
}

/// What has a function that gives it back.
pub trait Released: Sized {
    /// Gives it back, unless that is done.
    ///
    /// # Safety
    /// The structure is the caller's, as its maker or whoever it was moved from has left it.
    unsafe fn release(&mut self);
}

macro_rules! released {
    ($($name:ident)*) => {$(
        impl Released for $name {
            unsafe fn release(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: the caller owns the structure, which nobody has given back.
                    unsafe { release(self) };
                    self.release = None;
                }
            }
        }
    )*};
}
released! { ArrowSchema ArrowArray ArrowArrayStream }

impl Released for ArrowDeviceArray {
    unsafe fn release(&mut self) {
        // SAFETY: the caller's promise.
        unsafe { self.array.release() };
    }
}

/// The text of a dtype.
///
/// # Errors
/// [`Error::Dtype`] for bfloat16 and complex numbers, which Arrow has not.
fn format_of(dtype: Dtype) -> Result<&'static CStr> {
    Ok(match dtype {
        Dtype::Bool => c"b",
        Dtype::I8 => c"c",
        Dtype::U8 => c"C",
        Dtype::I16 => c"s",
        Dtype::U16 => c"S",
        Dtype::I32 => c"i",
        Dtype::U32 => c"I",
        Dtype::I64 => c"l",
        Dtype::U64 => c"L",
        Dtype::F16 => c"e",
        Dtype::F32 => c"f",
        Dtype::F64 => c"g",
        other => {
            return Err(Error::dtype(
                "array",
                other,
                "bool, integers or floats of 16 to 64 bits, which Arrow has",
                "convert the elements with `astype` first, or hand over the parts of complex numbers",
            ));
        }
    })
}

/// The dtype of a text; `None` for types that are no dtype.
fn dtype_named(format: &CStr) -> Option<Dtype> {
    let known = |dtype: &Dtype| format_of(*dtype).is_ok_and(|own| own == format);
    Dtype::ALL.iter().copied().find(known)
}
