//! Where these functions compute, and how elements get there and back.

use stridewise_core::memory::heap;
use stridewise_core::{Dtype, DtypeKind, Element, Error, Order, Result, UsmArray};

/// Refuses an array that the processor cannot reach without a copy from a device.
///
/// # Errors
/// [`Error::Unsupported`].
pub(crate) fn check(argument: &'static str, x: &UsmArray) -> Result<()> {
    // Of no elements, none has to be fetched.
    if x.device().capabilities().on_processor || x.usm_kind().host_accessible() || x.is_empty() {
        return Ok(());
    }
    Err(Error::unsupported(
        argument,
        format!("in {} memory of {}", x.usm_kind(), x.device()),
        "an array of the host, where this is computed",
        "move it there first, with `.to_device(host)`, or keep it in shared memory",
    ))
}

/// The dtype that elements are computed in, and that of the results: 16-bit floats are computed in `float32`, integers and
/// `bool` become the default floating dtype.
pub(crate) fn dtypes(x: &UsmArray) -> (Dtype, Dtype) {
    let out = match x.dtype().kind() {
        DtypeKind::Float | DtypeKind::Complex => x.dtype(),
        _ => x.device().dtype_support().default_float(),
    };
    (if matches!(out, Dtype::F16 | Dtype::Bf16) { Dtype::F32 } else { out }, out)
}

/// The complex dtype whose parts are of a dtype that is computed in.
pub(crate) fn complex(dtype: Dtype) -> Dtype {
    if matches!(dtype, Dtype::F64 | Dtype::C128) { Dtype::C128 } else { Dtype::C64 }
}

/// Elements from which on the engine brings what does not lie in row-major order there, with all threads.
const MANY: usize = 4096;

/// The elements, converted, in row-major order.
///
/// # Errors
/// [`Error::Alloc`]; the failure of the work that computes them.
pub(crate) fn read<T: Element>(x: &UsmArray) -> Result<Vec<T>> {
    let x = x.astype(T::DTYPE)?;
    if x.is_pending() || x.flags().c_contiguous || x.len() < MANY {
        return x.to_vec();
    }
    x.copy_in(Order::C)?.to_vec()
}

/// How many elements a shape has, where there may be that many. `argument` is what they are for.
///
/// # Errors
/// [`Error::Alloc`] where the device cannot have that many.
fn check_room<T: Element>(argument: &'static str, x: &UsmArray, shape: &[usize]) -> Result<usize> {
    let refused = || {
        Error::alloc(
            argument,
            format!("for a result of shape {shape:?}"),
            "so few elements that there is memory for the result",
            "ask for fewer, or work on parts of the array",
        )
    };
    // An extent of 0 is no excuse for others that nothing could ever have.
    let count = shape.iter().try_fold(1_usize, |count, &extent| count.checked_mul(extent));
    let bytes = count.and_then(|count| count.checked_mul(size_of::<T>()));
    let (Some(count), Some(bytes)) = (count, bytes) else { return Err(refused()) };
    // Where the system promises more memory than there is, the reservation alone would not fail.
    if bytes as u64 > x.device().info().limits.max_allocation_bytes {
        return Err(refused());
    }
    Ok(count)
}

/// Room for as many elements as a shape has. `argument` is what the room is for.
///
/// # Errors
/// [`Error::Alloc`] where the device cannot have that many, or there is no memory.
pub(crate) fn room<T: Element + bytemuck::Zeroable>(
    argument: &'static str,
    x: &UsmArray,
    shape: &[usize],
) -> Result<Vec<T>> {
    heap::zeroed(argument, check_room::<T>(argument, x, shape)?)
}

/// An array of results beside another one: on its queue, in memory of its kind, of a dtype.
///
/// # Errors
/// [`Error::Alloc`].
pub(crate) fn write<T: Element>(x: &UsmArray, shape: &[usize], values: &[T], out: Dtype) -> Result<UsmArray> {
    UsmArray::from_slice(x.queue(), shape, values, x.usm_kind())?.astype(out)
}

/// An array of results beside another one, as [`write`] makes it: `fill` makes them out of zeros, in the memory of the array where the
/// processor may write there.
///
/// # Errors
/// [`Error::Alloc`]; that of `fill`.
pub(crate) fn filled<T: Element + bytemuck::Zeroable>(
    argument: &'static str,
    x: &UsmArray,
    shape: &[usize],
    out: Dtype,
    fill: impl FnOnce(&mut [T]) -> Result<()>,
) -> Result<UsmArray> {
    if out == T::DTYPE && x.usm_kind().host_accessible() {
        check_room::<T>(argument, x, shape)?;
        let mut array = UsmArray::empty(x.queue(), shape, out, x.usm_kind())?;
        let mut view = array.host_view_mut::<T>()?;
        // New memory has its elements in this order.
        if let Some(values) = view.as_mut_slice() {
            values.fill(T::zeroed());
            fill(values)?;
            drop(view);
            return Ok(array);
        }
    }
    let mut values = room::<T>(argument, x, shape)?;
    fill(&mut values)?;
    write(x, shape, &values, out)
}
