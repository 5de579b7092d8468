//! Memory.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use stridewise::{Scalar, UsmMemory, UsmPtr};

use crate::caller::Caller;
use crate::codes::{self, sw_dtype, sw_usm_kind};
use crate::event::{give_event, sw_event};
use crate::handle::{free, get, give};
use crate::queue::sw_queue;
use crate::status::{entry, sw_status};

/// An allocation of bytes that host and device share (USM), and the queue that works on it by default.
#[derive(Debug)]
pub struct sw_memory(());

/// Frees memory that was handed in: called once, with the memory's address and the context that came with it, when nothing
/// needs the memory any more. Any thread may call it; it must not wait for work of this library.
pub type sw_deleter = Option<unsafe extern "C" fn(pointer: *mut c_void, context: *mut c_void)>;

/// Allocates memory of arbitrary contents. `alignment` is a power of two in bytes, or 0 for what suits every dtype.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_memory_create(
    queue: *const sw_queue,
    kind: sw_usm_kind,
    bytes: usize,
    alignment: usize,
    memory: *mut *mut sw_memory,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("memory", memory)?;
        let (queue, kind) = (get("queue", queue)?, codes::kind(kind)?);
        give(
            out,
            match alignment {
                0 => UsmMemory::new(kind, bytes, &queue)?,
                _ => UsmMemory::aligned(kind, bytes, alignment, &queue)?,
            },
        )
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// The deleter of adopted memory and what it is called with.
struct Owner {
    deleter: sw_deleter,
    pointer: *mut c_void,
    context: *mut c_void,
    adopted: Arc<AtomicBool>,
}

// SAFETY: the pointers are only given to the deleter, which any thread may call (`sw_deleter`).
unsafe impl Send for Owner {}

impl Owner {
    fn free(self) {
        if let Some(deleter) = self.deleter
            && self.adopted.load(Ordering::Acquire)
        {
            // SAFETY: the memory's last owner is gone, and this is the one call; the arguments are those that the caller
            // of `sw_memory_adopt` gave for it.
            unsafe { deleter(self.pointer, self.context) };
        }
    }
}

/// Hands memory in that something else allocated and that the queue's device can use. Until the deleter is called it has to
/// stay, and nothing else may write to it while work here reads or writes it, nor read what work here writes. `deleter` may
/// be null. Where this call fails, the memory is still the caller's, and the deleter is not called.
///
/// An address that came from here (sw_memory_export, DLPack) is adopted as a part of the memory that it is of, which is kept
/// as long as the part is, and is read-only where that is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_memory_adopt(
    queue: *const sw_queue,
    kind: sw_usm_kind,
    pointer: *mut c_void,
    bytes: usize,
    deleter: sw_deleter,
    context: *mut c_void,
    memory: *mut *mut sw_memory,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("memory", memory)?;
        let (queue, kind) = (get("queue", queue)?, codes::kind(kind)?);
        let adopted = Arc::new(AtomicBool::new(false));
        let owner = Owner { deleter, pointer, context, adopted: Arc::clone(&adopted) };
        let deleter = Box::new(move || owner.free());
        let pointer = UsmPtr::new(pointer.cast());
        // SAFETY: what this function asks of its caller is what adoption asks.
        let foreign = unsafe { UsmMemory::from_foreign(kind, pointer, bytes, &queue, Some(deleter))? };
        give(out, foreign)?;
        adopted.store(true, Ordering::Release);
        Ok(())
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// The size in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_memory_bytes(memory: *const sw_memory, bytes: *mut usize) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|caller| caller.answer("bytes", bytes, get("memory", memory)?.bytes())) }
}

/// The kind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_memory_kind(memory: *const sw_memory, kind: *mut sw_usm_kind) -> sw_status {
    let body = |caller: &Caller| {
        caller.out("kind", kind)?.set(codes::kind_code(get("memory", memory)?.kind()));
        Ok(())
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// The queue that works on the memory by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_memory_queue(memory: *const sw_memory, queue: *mut *mut sw_queue) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("queue", queue)?;
        give(out, get("memory", memory)?.queue().clone())
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// The address, for use outside, as long as a handle of the memory or of an array on it is there. All work on the memory is
/// done when this returns, and from now on work on it is done when the call returns that asks for it, unless that call
/// names events to wait for. Host code may follow the address where the kind allows it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_memory_export(memory: *const sw_memory, pointer: *mut *mut c_void) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.out("pointer", pointer)?;
        out.set(get("memory", memory)?.export()?.as_ptr().cast());
        Ok(())
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Copies `bytes` bytes from `offset` on to the host; waits for the work on them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_memory_read(
    memory: *const sw_memory,
    offset: usize,
    data: *mut c_void,
    bytes: usize,
) -> sw_status {
    let body = |caller: &Caller| {
        let memory = get("memory", memory)?;
        Ok(memory.copy_to_host(offset, caller.bytes_mut("data", data.cast(), bytes)?)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Copies `bytes` bytes of the host to `offset` and on; waits until they are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_memory_write(
    memory: *const sw_memory,
    offset: usize,
    data: *const c_void,
    bytes: usize,
) -> sw_status {
    let body = |caller: &Caller| {
        let memory = get("memory", memory)?;
        Ok(memory.copy_from_host(offset, caller.slice("data", data.cast(), bytes)?)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Copies bytes between memory of any kinds and devices, after the events of `depends`. `event`, if not null, becomes the
/// event of the copy. Ranges that overlap are copied as if through a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_memcpy(
    queue: *const sw_queue,
    target: *const sw_memory,
    target_offset: usize,
    source: *const sw_memory,
    source_offset: usize,
    bytes: usize,
    depends: *const *mut sw_event,
    depends_count: usize,
    event: *mut *mut sw_event,
) -> sw_status {
    let body = |caller: &Caller| {
        let depends = caller.depends(depends, depends_count);
        let out = caller.optional_handle("event", event)?;
        let depends = depends?;
        let (target, source) = (get("target", target)?, get("source", source)?);
        let queue = get("queue", queue)?;
        let event = queue.memcpy((&target, target_offset), (&source, source_offset), bytes, &depends)?;
        give_event(out, event)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Repeats the element at `value`, of a dtype, `len` times from `offset` bytes on, after the events of `depends`. `event`, if
/// not null, becomes the event of the work.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_fill(
    queue: *const sw_queue,
    memory: *const sw_memory,
    offset: usize,
    dtype: sw_dtype,
    value: *const c_void,
    len: usize,
    depends: *const *mut sw_event,
    depends_count: usize,
    event: *mut *mut sw_event,
) -> sw_status {
    let body = |caller: &Caller| {
        let depends = caller.depends(depends, depends_count);
        let out = caller.optional_handle("event", event)?;
        let depends = depends?;
        let dtype = codes::dtype(dtype)?;
        let mut bytes = [0; 16];
        bytes[..dtype.size()].copy_from_slice(caller.slice("value", value.cast(), dtype.size())?);
        let (queue, memory) = (get("queue", queue)?, get("memory", memory)?);
        give_event(out, queue.fill(&memory, offset, Scalar::from_bytes(dtype, &bytes), len, &depends)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Frees the handle; the memory goes when no array is on it and the work on it is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_memory_free(memory: *mut sw_memory) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|_| free("memory", memory)) }
}
