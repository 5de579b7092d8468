//! Copies that a runtime's queue cannot do, or not fast: between devices, and between pageable memory of the host and a
//! device with memory of its own.

use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use stridewise_core::backend::Command;
use stridewise_core::memory::UsmPtr;
use stridewise_core::Result;

use crate::device::Shared;

/// Bytes of a piece that goes from one device to another through memory of the host.
const PIECE_BYTES: usize = 16 << 20;

/// Every device of this driver, to find whose memory an address is.
static DEVICES: RwLock<Vec<Weak<Shared>>> = RwLock::new(Vec::new());

/// Pinned memory for copies.
#[derive(Default)]
pub(crate) struct Transfers {
    _pinned: Mutex<()>,
}

/// Makes a device known as an owner of memory.
pub(crate) fn register(device: &Arc<Shared>) {
    let mut devices = DEVICES.write().unwrap_or_else(PoisonError::into_inner);
    devices.retain(|device| device.strong_count() > 0);
    devices.push(Arc::downgrade(device));
}

/// The device whose memory an address is in.
fn owner(ptr: UsmPtr) -> Option<Arc<Shared>> {
    let devices = DEVICES.read().unwrap_or_else(PoisonError::into_inner);
    devices.iter().filter_map(Weak::upgrade).find(|device| device.memory.contains(ptr))
}

/// Who carries a command out.
pub(crate) enum Plan {
    /// The runtime.
    Native(Command),
    /// A thread.
    Thread(Box<dyn FnOnce() -> Result<()> + Send>),
}

/// Decides who carries a command out.
pub(crate) fn plan(device: &Arc<Shared>, command: Command) -> Plan {
    match command {
        Command::HostTask(task) => Plan::Thread(task),
        Command::Copy { dst, src, bytes } => {
            let of = |ptr: UsmPtr| if device.memory.contains(ptr) { Some(Arc::clone(device)) } else { owner(ptr) };
            let (to, from) = (of(dst), of(src));
            let own = |owner: &Option<Arc<Shared>>| owner.as_ref().is_none_or(|owner| Arc::ptr_eq(owner, device));
            if own(&to) && own(&from) && (to.is_some() || from.is_some()) {
                return Plan::Native(Command::Copy { dst, src, bytes });
            }
            Plan::Thread(Box::new(move || copy_through_host(to, from, dst, src, bytes)))
        }
        other => Plan::Native(other),
    }
}

/// Copies between memory of any devices and the host, piece by piece.
fn copy_through_host(
    to: Option<Arc<Shared>>,
    from: Option<Arc<Shared>>,
    dst: UsmPtr,
    src: UsmPtr,
    bytes: usize,
) -> Result<()> {
    let mut buffer = vec![0_u8; bytes.min(PIECE_BYTES)];
    let piece = UsmPtr::new(buffer.as_mut_ptr());
    let mut done = 0;
    while done < bytes {
        let part = PIECE_BYTES.min(bytes - done);
        let (dst, src) = (dst.byte_offset(done.cast_signed()), src.byte_offset(done.cast_signed()));
        // SAFETY: the ranges are valid until the command's event is terminal (the contract of `Queue::submit`), which is
        // after this function; the buffer has at least `part` bytes and outlives the copies, which are waited for.
        unsafe {
            copy_now(from.as_ref(), piece, src, part)?;
            copy_now(to.as_ref(), dst, piece, part)?;
        }
        done += part;
    }
    Ok(())
}

/// Copies between a device's memory, or the host's, and the host's, and waits.
///
/// # Safety
/// The ranges are valid and do not overlap.
unsafe fn copy_now(device: Option<&Arc<Shared>>, dst: UsmPtr, src: UsmPtr, bytes: usize) -> Result<()> {
    let Some(device) = device else {
        // SAFETY: both ranges are memory of the host, valid by this function's contract.
        unsafe { std::ptr::copy_nonoverlapping(src.as_ptr(), dst.as_ptr(), bytes) };
        return Ok(());
    };
    let queue = device.service()?;
    // SAFETY: the caller's promise is the same; the event is waited for.
    let event = unsafe { device.memory.enqueue_copy(&queue.object, dst, src, bytes, &[]) }?;
    device.finished("clWaitForEvents", opencl3::event::wait_for_events(&[event.raw()]))
}
