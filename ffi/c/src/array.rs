//! Arrays: making them, asking them, and their elements to and from the host.

use std::ffi::{c_char, c_void};

use stridewise::{Dtype, Error, Event, MAX_NDIM, Order, Queue, Result, UsmArray, UsmKind};

use crate::caller::{Caller, extents, signed};
use crate::codes::{self, sw_dtype, sw_usm_kind};
use crate::compute::sw_operand;
use crate::event::{give_event, sw_event};
use crate::handle::{free, get, give};
use crate::memory::sw_memory;
use crate::queue::sw_queue;
use crate::status::{entry, sw_status};

/// An array of up to SW_MAX_NDIM dimensions. Views share memory; a result that nobody has asked for yet may be recorded
/// only.
#[derive(Debug)]
pub struct sw_array(());

/// The largest number of dimensions.
pub const SW_MAX_NDIM: usize = 32;
const _: () = assert!(SW_MAX_NDIM == MAX_NDIM);

/// Stands for "none given" where a number may be left out: the least offset that fits, the end of a range.
pub const SW_NONE: i64 = i64::MIN;

/// What an array is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_array_info {
    /// The type of the elements.
    pub dtype: sw_dtype,
    /// The kind of the memory.
    pub kind: sw_usm_kind,
    /// Number of dimensions.
    pub ndim: usize,
    /// Number of elements.
    pub len: usize,
    /// Bytes of an element.
    pub itemsize: usize,
    /// Elements from the start of the memory to the element at multi-index zero.
    pub offset: i64,
    /// Whether elements follow each other in row-major order.
    pub c_contiguous: bool,
    /// Whether elements follow each other in column-major order.
    pub f_contiguous: bool,
    /// Whether elements may be written through this array.
    pub writable: bool,
    /// The extents; `ndim` of them.
    pub shape: [i64; SW_MAX_NDIM],
    /// Elements to step per dimension, with a sign; `ndim` of them.
    pub strides: [i64; SW_MAX_NDIM],
}

/// What the functions that make arrays have in common.
struct Wanted<'a> {
    queue: &'a Queue,
    kind: UsmKind,
    dtype: Dtype,
    shape: Vec<usize>,
}

impl Wanted<'_> {
    fn empty(&self) -> Result<UsmArray> {
        UsmArray::empty(self.queue, &self.shape, self.dtype, self.kind)
    }
}

fn wanted<'a>(
    caller: &Caller,
    queue: &'a Queue,
    kind: sw_usm_kind,
    dtype: sw_dtype,
    (ndim, shape): (usize, *const i64),
) -> Result<Wanted<'a>> {
    let shape = extents(caller.slice("shape", shape, ndim)?)?;
    Ok(Wanted { queue, kind: codes::kind(kind)?, dtype: codes::dtype(dtype)?, shape })
}

/// A row-major array in new memory of arbitrary contents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_empty(
    queue: *const sw_queue,
    kind: sw_usm_kind,
    dtype: sw_dtype,
    ndim: usize,
    shape: *const i64,
    array: *mut *mut sw_array,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("array", array)?;
        let queue = get("queue", queue)?;
        give(out, wanted(caller, &queue, kind, dtype, (ndim, shape))?.empty()?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// An array in new memory, filled with a number that the dtype has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_full(
    queue: *const sw_queue,
    kind: sw_usm_kind,
    dtype: sw_dtype,
    ndim: usize,
    shape: *const i64,
    value: sw_operand,
    array: *mut *mut sw_array,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("array", array)?;
        let queue = get("queue", queue)?;
        let wanted = wanted(caller, &queue, kind, dtype, (ndim, shape))?;
        let value = value.number("value")?.to_scalar(wanted.dtype)?;
        give(out, UsmArray::full(&queue, &wanted.shape, value, wanted.kind)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// An array in new memory, with elements copied from the host: `bytes` bytes at `data`, in row-major order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_from_host(
    queue: *const sw_queue,
    kind: sw_usm_kind,
    dtype: sw_dtype,
    ndim: usize,
    shape: *const i64,
    data: *const c_void,
    bytes: usize,
    array: *mut *mut sw_array,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("array", array)?;
        let queue = get("queue", queue)?;
        let new = wanted(caller, &queue, kind, dtype, (ndim, shape))?.empty()?;
        write(&new, caller.slice("data", data.cast(), bytes)?)?;
        give(out, new)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// An array on memory that is there, checked against its size. `strides`, in elements, may be negative; null is row-major
/// order. `offset` is the element of the memory that is at multi-index zero, or SW_NONE for the least that fits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_on_memory(
    memory: *const sw_memory,
    dtype: sw_dtype,
    ndim: usize,
    shape: *const i64,
    strides: *const i64,
    offset: i64,
    array: *mut *mut sw_array,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("array", array)?;
        let memory = get("memory", memory)?;
        let shape = extents(caller.slice("shape", shape, ndim)?)?;
        let mut builder = UsmArray::builder(&shape).dtype(codes::dtype(dtype)?).buffer(&*memory);
        if !strides.is_null() {
            builder = builder.strides(signed("strides", caller.slice("strides", strides, ndim)?)?);
        }
        if offset != SW_NONE {
            let help = "give the element at multi-index zero, or SW_NONE";
            builder = builder.offset(
                usize::try_from(offset)
                    .map_err(|_| Error::out_of_bounds("offset", offset, "an element of the memory", help))?,
            );
        }
        give(out, builder.build()?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Reads an .npy file, as NumPy writes it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_load_npy(
    queue: *const sw_queue,
    kind: sw_usm_kind,
    path: *const c_char,
    array: *mut *mut sw_array,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("array", array)?;
        let (queue, kind) = (get("queue", queue)?, codes::kind(kind)?);
        give(out, UsmArray::load_npy_on(caller.text("path", path)?, &queue, kind)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Writes the elements to an .npy file, over what is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_save_npy(array: *const sw_array, path: *const c_char) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|caller| Ok(get("array", array)?.save_npy(caller.text("path", path)?)?)) }
}

/// What the array is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_describe(array: *const sw_array, info: *mut sw_array_info) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.out("info", info)?;
        let array = get("array", array)?;
        let flags = array.flags();
        let (mut shape, mut strides) = ([0; SW_MAX_NDIM], [0; SW_MAX_NDIM]);
        // Extents, strides and offsets are within `isize`, and there are at most SW_MAX_NDIM.
        for (place, (&extent, &stride)) in array.shape().iter().zip(array.strides()).enumerate() {
            (shape[place], strides[place]) = (extent as i64, stride as i64);
        }
        out.set(sw_array_info {
            dtype: codes::dtype_code(array.dtype()),
            kind: codes::kind_code(array.usm_kind()),
            ndim: array.ndim(),
            len: array.len(),
            itemsize: array.itemsize(),
            offset: array.offset() as i64,
            c_contiguous: flags.c_contiguous,
            f_contiguous: flags.f_contiguous,
            writable: flags.writable,
            shape,
            strides,
        });
        Ok(())
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// The memory that the array is on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_memory(array: *const sw_array, memory: *mut *mut sw_memory) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("memory", memory)?;
        give(out, get("array", array)?.usm_data()?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// The queue of the array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_queue(array: *const sw_array, queue: *mut *mut sw_queue) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("queue", queue)?;
        give(out, get("array", array)?.queue().clone())
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Submits the work that computes the array, if it is recorded only, and gives the event of its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_event(array: *const sw_array, event: *mut *mut sw_event) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("event", event)?;
        give(out, get("array", array)?.event()?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Waits until the elements are there; the failure of the work that computes them is the failure of this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_wait(array: *const sw_array) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|_| Ok(get("array", array)?.wait()?)) }
}

fn check_bytes(array: &UsmArray, bytes: usize) -> Result<()> {
    if bytes == array.bytes() {
        return Ok(());
    }
    Err(Error::shape(
        "bytes",
        bytes,
        format!("{}, the bytes of shape {:?} of {}", array.bytes(), array.shape(), array.dtype()),
        "pass room for all elements, in row-major order",
    ))
}

/// Copies elements in row-major order into an array.
fn write(array: &UsmArray, data: &[u8]) -> Result<()> {
    check_bytes(array, data.len())?;
    if array.dtype() == Dtype::Bool && data.iter().any(|&byte| byte > 1) {
        let help = "write !!x in C";
        return Err(Error::value("data", "a byte other than 0 and 1", "bytes that are bools", help));
    }
    if array.is_empty() {
        return Ok(());
    }
    let flags = array.flags();
    if flags.c_contiguous && flags.writable {
        return array.usm_data()?.copy_from_host(array.offset() * array.itemsize(), data);
    }
    let run = UsmArray::empty(array.queue(), array.shape(), array.dtype(), array.usm_kind())?;
    run.usm_data()?.copy_from_host(0, data)?;
    array.assign(&run).and_then(|event: Event| event.wait())
}

/// Copies the elements to the host, `bytes` bytes in row-major order; waits for them. Memory of any kind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_read(array: *const sw_array, data: *mut c_void, bytes: usize) -> sw_status {
    let body = |caller: &Caller| {
        let array = get("array", array)?;
        check_bytes(&array, bytes)?;
        let out = caller.bytes_mut("data", data.cast(), bytes)?;
        let copy = if array.flags().c_contiguous { None } else { Some(array.copy_in(Order::C)?) };
        let run = copy.as_ref().unwrap_or(&array);
        Ok(run.usm_data()?.copy_to_host(run.offset() * run.itemsize(), out)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Copies `bytes` bytes of the host, elements in row-major order, into the array; waits until they are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_write(
    array: *const sw_array,
    data: *const c_void,
    bytes: usize,
) -> sw_status {
    let body = |caller: &Caller| {
        let array = get("array", array)?;
        Ok(write(&array, caller.slice("data", data.cast(), bytes)?)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// The element of an array that has exactly one, as a pair of doubles; `imaginary` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_item(
    array: *const sw_array,
    real: *mut f64,
    imaginary: *mut f64,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.out("real", real)?;
        let value = get("array", array)?.item()?.to_c128();
        out.set(value.re);
        if !imaginary.is_null() {
            caller.out("imaginary", imaginary)?.set(value.im);
        }
        Ok(())
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Copies elements from an array or number, converted and repeated to this array's shape. `event`, if not null, becomes the
/// event of the work.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_assign(
    array: *const sw_array,
    source: sw_operand,
    event: *mut *mut sw_event,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.optional_handle("event", event)?;
        let array = get("array", array)?;
        let source = source.read("source")?;
        give_event(out, array.assign(source.as_argument())?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Writes the elements as a text for readers, as sw_device_name does the name; the failure of the work that computes them is
/// the failure of this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_text(
    array: *const sw_array,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> sw_status {
    let body = |caller: &Caller| {
        let text = get("array", array)?.written(0, 0)?;
        Ok(caller.write_text(&text, buffer, capacity, length)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Frees the handle; the memory goes when no other array is on it and the work on it is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_free(array: *mut sw_array) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|_| free("array", array)) }
}
