//! How much memory is in use, and whose it is.

use std::ffi::c_char;

use stridewise::{
    Dtype, Error, KindUsage, LiveArray, MemoryOrigin, MemoryScope, Result, UsmKind, live_arrays,
};

use crate::array::SW_MAX_NDIM;
use crate::caller::Caller;
use crate::codes::{self, sw_dtype, sw_usm_kind};
use crate::device::sw_device;
use crate::handle::{free, get, give};
use crate::status::{entry, sw_status};

/// No limit, for sw_device_set_memory_limit and of sw_memory_usage.
pub const SW_NO_LIMIT: u64 = 0xffff_ffff_ffff_ffff;

/// A scope that counts what a thread allocates in it.
#[derive(Debug)]
pub struct sw_memory_scope(());

/// A list of the memory that is in use.
#[derive(Debug)]
pub struct sw_live_arrays(());

/// Memory of one kind, in bytes rounded up to the sizes that a pool hands out.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_kind_usage {
    /// In use.
    pub in_use: usize,
    /// Held by the pool for reuse.
    pub kept: usize,
    /// The most that was in use.
    pub peak: usize,
}

/// Memory of a device, in bytes rounded up to the sizes that a pool hands out.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_memory_usage {
    /// In use: by arrays, by memory, and by work under way.
    pub in_use: usize,
    /// Held by the pool for reuse.
    pub kept: usize,
    /// The most that was in use.
    pub peak: usize,
    /// Obtained from the device.
    pub reserved: usize,
    /// What may be in use, or SW_NO_LIMIT.
    pub limit: u64,
    /// What the device has.
    pub total: u64,
    /// Host memory.
    pub host: sw_kind_usage,
    /// Device memory.
    pub device: sw_kind_usage,
    /// Shared memory.
    pub shared: sw_kind_usage,
}

/// What was allocated in a scope, in bytes as they were asked for.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_scope_usage {
    /// All that was allocated.
    pub allocated: usize,
    /// By how many allocations.
    pub allocations: u64,
    /// The most of it that was in use at a time.
    pub peak: usize,
    /// What of it is in use now.
    pub left: usize,
}

/// Memory that is in use: an array's, or that of several views of one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_live_array {
    /// Where it is.
    pub address: usize,
    /// Its bytes, as they were asked for.
    pub bytes: usize,
    /// Its kind.
    pub kind: sw_usm_kind,
    /// Whether it is the memory of others or of a file, and not the device's own.
    pub foreign: bool,
    /// Whether dtype and shape of the array that it was made for are known; else `ndim` is 0.
    pub has_shape: bool,
    /// The type of the elements.
    pub dtype: sw_dtype,
    /// Number of dimensions.
    pub ndim: usize,
    /// The extents; `ndim` of them.
    pub shape: [i64; SW_MAX_NDIM],
}

/// How much of the device's memory is in use and held for reuse.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_device_memory(
    device: *const sw_device,
    usage: *mut sw_memory_usage,
) -> sw_status {
    let body = |caller: &Caller| {
        let memory = get("device", device)?.memory();
        let of = |kind| {
            let KindUsage { in_use_bytes, kept_bytes, peak_bytes, .. } = memory.of(kind);
            sw_kind_usage { in_use: in_use_bytes, kept: kept_bytes, peak: peak_bytes }
        };
        let answer = sw_memory_usage {
            in_use: memory.in_use_bytes,
            kept: memory.kept_bytes,
            peak: memory.peak_bytes,
            reserved: memory.reserved_bytes,
            limit: memory.limit_bytes.map_or(SW_NO_LIMIT, |bytes| bytes as u64),
            total: memory.device_bytes,
            host: of(UsmKind::Host),
            device: of(UsmKind::Device),
            shared: of(UsmKind::Shared),
        };
        caller.answer("usage", usage, answer)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Sets how many bytes of the device's memory this program may have in use; SW_NO_LIMIT for as many as there are. What would be
/// more fails with SW_ERROR_ALLOC, and sw_last_error lists what is in use. What is in use already stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_device_set_memory_limit(device: *const sw_device, bytes: u64) -> sw_status {
    let body = |_: &Caller| {
        // More than can be addressed is no limit either.
        let limit = usize::try_from(bytes).ok().filter(|_| bytes != SW_NO_LIMIT);
        get("device", device)?.set_memory_limit(limit);
        Ok(())
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Gives all memory back to the device that its pool holds for reuse. `freed`, if not null, becomes how many bytes that were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_device_trim(device: *const sw_device, freed: *mut usize) -> sw_status {
    let body = |caller: &Caller| {
        let bytes = get("device", device)?.trim();
        if freed.is_null() { Ok(()) } else { caller.answer("freed", freed, bytes) }
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Opens a scope on the calling thread: what the thread allocates until sw_memory_scope_close is counted. Scopes may be inside each
/// other; what is allocated in the inner one counts in the outer ones, too. The name is what sw_live_arrays_describe calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_memory_scope_open(
    name: *const c_char,
    scope: *mut *mut sw_memory_scope,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("scope", scope)?;
        let opened = MemoryScope::new(caller.text("name", name)?);
        opened.enter()?;
        give(out, opened)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// What was allocated in the scope, and what of that is in use now, also after it was closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_memory_scope_usage(
    scope: *const sw_memory_scope,
    usage: *mut sw_scope_usage,
) -> sw_status {
    let body = |caller: &Caller| {
        let now = get("scope", scope)?.usage();
        let answer = sw_scope_usage {
            allocated: now.allocated_bytes,
            allocations: now.allocations,
            peak: now.peak_bytes,
            left: now.left_bytes,
        };
        caller.answer("usage", usage, answer)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Closes the scope, and those that were opened in it, on the thread that opened it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_memory_scope_close(scope: *const sw_memory_scope) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|_| Ok(get("scope", scope)?.leave()?)) }
}

/// Frees the handle; a scope that is open on this thread is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_memory_scope_free(scope: *mut sw_memory_scope) -> sw_status {
    let body = |_: &Caller| {
        let open = get("scope", scope)?;
        free("scope", scope)?;
        // One that is closed stays so.
        let _ = open.leave();
        Ok(())
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// What is in use of the device's memory, the largest first; `count` becomes how many entries there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_device_live_arrays(
    device: *const sw_device,
    arrays: *mut *mut sw_live_arrays,
    count: *mut usize,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("arrays", arrays)?;
        let room = caller.out("count", count)?;
        let live = live_arrays(Some(&*get("device", device)?))?;
        let number = live.len();
        give(out, live)?;
        room.set(number);
        Ok(())
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// An entry of the list.
fn at(live: &[LiveArray], number: usize) -> Result<&LiveArray> {
    live.get(number).ok_or_else(|| {
        let help = "see the count that sw_device_live_arrays gave";
        Error::out_of_bounds("number", number, format!("a number below {}", live.len()), help)
    })
}

/// The entry of the list with a number from 0 to the count less 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_live_arrays_at(
    arrays: *const sw_live_arrays,
    number: usize,
    array: *mut sw_live_array,
) -> sw_status {
    let body = |caller: &Caller| {
        let live = get("arrays", arrays)?;
        let found = at(&live, number)?;
        let known = found.array.as_ref();
        let (dtype, dims) = known.map_or((Dtype::U8, &[][..]), |(dtype, dims)| (*dtype, &dims[..]));
        let mut shape = [0; SW_MAX_NDIM];
        for (to, &extent) in shape.iter_mut().zip(dims) {
            *to = i64::try_from(extent).unwrap_or(i64::MAX);
        }
        let answer = sw_live_array {
            address: found.ptr.addr(),
            bytes: found.bytes,
            kind: codes::kind_code(found.kind),
            foreign: found.origin != MemoryOrigin::Pool,
            has_shape: known.is_some(),
            dtype: codes::dtype_code(dtype),
            ndim: dims.len(),
            shape,
        };
        caller.answer("array", array, answer)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Writes what the entry is in words, as sw_device_name writes the name: bytes, kind, dtype and shape, the scopes that it was made
/// in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_live_arrays_describe(
    arrays: *const sw_live_arrays,
    number: usize,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> sw_status {
    let body = |caller: &Caller| {
        let live = get("arrays", arrays)?;
        Ok(caller.write_text(&at(&live, number)?.to_string(), buffer, capacity, length)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Frees the list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_live_arrays_free(arrays: *mut sw_live_arrays) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|_| free("arrays", arrays)) }
}
