//! Copies that a runtime's queue cannot do, or not fast: between devices, and between pageable memory of the host and a
//! device with memory of its own.

use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::thread::Builder;

use opencl3::command_queue as cq;
use opencl3::memory as mem;
use opencl3::types::CL_BLOCKING;
use smallvec::SmallVec;
use stridewise_core::backend::{Command, Step, start_scoped_thread};
use stridewise_core::memory::UsmPtr;
use stridewise_core::{Error, Result};

use crate::device::Shared;
use crate::enqueue::run_asserting;
use crate::error::failed;
use crate::handle::{EventObject, MemoryObject};
use crate::queue::NativeQueue;

/// Every device of this driver, to find whose memory an address is.
static DEVICES: RwLock<Vec<Weak<Shared>>> = RwLock::new(Vec::new());

/// A copy of at least so many bytes between pageable memory and a device with memory of its own goes through pinned
/// memory, on several threads: a driver's own copy of pageable memory runs at the speed of one.
const STAGED_BYTES: usize = 4 << 20;
/// Threads of such a copy at most; each has a pinned piece.
const LANES: usize = 8;
/// Bytes of a pinned piece: long enough for a copy at full speed, short enough for all lanes to have work.
const PINNED_BYTES: usize = 2 << 20;

/// Pinned memory for copies, kept for the next one.
#[derive(Default)]
pub(crate) struct Transfers(Mutex<Vec<Pinned>>);

/// Memory of the host that the device reaches by itself.
struct Pinned {
    /// Where the runtime has mapped the object, for good.
    start: UsmPtr,
    _object: MemoryObject,
}

impl Pinned {
    fn new(device: &Shared) -> Result<Self> {
        let failed = |code| failed("clCreateBuffer", format!("{PINNED_BYTES} bytes of pinned memory"), code);
        let flags = mem::CL_MEM_READ_WRITE | mem::CL_MEM_ALLOC_HOST_PTR;
        let object = device.create_buffer(flags, PINNED_BYTES).map_err(failed)?;
        let mut start = std::ptr::null_mut();
        let queue = device.service()?.object.raw();
        let access = mem::CL_MAP_READ | mem::CL_MAP_WRITE;
        // SAFETY: queue and object are live and of one context; the whole object is mapped, and waited for.
        let event = unsafe {
            cq::enqueue_map_buffer(
                queue,
                object.raw(),
                CL_BLOCKING,
                access,
                0,
                PINNED_BYTES,
                &mut start,
                0,
                std::ptr::null(),
            )
        };
        drop(EventObject::new(event.map_err(failed)?));
        Ok(Self { start: UsmPtr::new(start.cast()), _object: object })
    }
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
pub(crate) fn plan(device: &Arc<Shared>, queue: &Arc<NativeQueue>, command: Command) -> Plan {
    match command {
        // Whether items have asserted what is false is known behind the kernel, and the runtime has no failure of ours.
        Command::Step(Step::Kernel(launch)) if launch.kernel.asserts() => {
            let (device, queue) = (Arc::clone(device), Arc::clone(queue));
            Plan::Thread(Box::new(move || run_asserting(&device, &queue, &launch)))
        }
        Command::HostTask(task) => Plan::Thread(task),
        Command::Step(Step::Copy { dst, src, bytes }) => {
            let of =
                |ptr: UsmPtr| if device.memory.contains(ptr) { Some(Arc::clone(device)) } else { owner(ptr) };
            let (to, from) = (of(dst), of(src));
            let own =
                |owner: &Option<Arc<Shared>>| owner.as_ref().is_none_or(|owner| Arc::ptr_eq(owner, device));
            if own(&to) && own(&from) && (to.is_some() || from.is_some()) {
                let pageable = to.is_none() || from.is_none();
                if !(pageable && bytes >= STAGED_BYTES && device.has_memory_of_its_own()) {
                    return Plan::Native(Command::Step(Step::Copy { dst, src, bytes }));
                }
            }
            Plan::Thread(Box::new(move || copy_staged((to, dst), (from, src), bytes)))
        }
        other => Plan::Native(other),
    }
}

/// Where a copy begins or ends: a device's memory with a queue for it, or memory of the host.
struct End {
    device: Option<(Arc<Shared>, Arc<NativeQueue>)>,
    at: UsmPtr,
}

impl End {
    /// The end of a copy of so many bytes. A long one has a queue of its own, which takes a runtime a while to make.
    fn new((owner, at): (Option<Arc<Shared>>, UsmPtr), bytes: usize) -> Result<Self> {
        let with_queue = |device: Arc<Shared>| {
            let queue = match bytes >= STAGED_BYTES {
                true => device.native_queue(false, false)?,
                false => Arc::clone(device.service()?),
            };
            Ok((device, queue))
        };
        Ok(Self { device: owner.map(with_queue).transpose()?, at })
    }

    fn place(&self, done: usize) -> UsmPtr {
        self.at.byte_offset(done.cast_signed())
    }
}

/// Copies between memory of devices and the host, in pieces, each through pinned memory of a device, on several threads:
/// while one piece is on its way to pinned memory, others are on their way from it. Between two devices a piece goes through
/// pinned memory of each, as one device's is pageable memory to the other's runtime.
fn copy_staged(
    dst: (Option<Arc<Shared>>, UsmPtr),
    src: (Option<Arc<Shared>>, UsmPtr),
    bytes: usize,
) -> Result<()> {
    let (to, from) = (End::new(dst, bytes)?, End::new(src, bytes)?);
    let Some((owner, _)) = from.device.as_ref().or(to.device.as_ref()) else {
        // SAFETY: both ranges are memory of the host, and valid until the command's event is terminal (the contract of
        // `Queue::submit`), which is after this function.
        unsafe { std::ptr::copy_nonoverlapping(from.at.as_ptr(), to.at.as_ptr(), bytes) };
        return Ok(());
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let lanes = threads.min(LANES).min(bytes.div_ceil(PINNED_BYTES));
    let other = from.device.as_ref().and(to.device.as_ref()).map(|(device, _)| device);
    let take = |device: &Shared| {
        let kept = device.transfers.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.map_or_else(|| Pinned::new(device), Ok)
    };
    let put = |device: &Shared, pinned| {
        device.transfers.0.lock().unwrap_or_else(PoisonError::into_inner).push(pinned);
    };
    let lane = |lane: usize| -> Result<()> {
        let pinned = take(owner)?;
        let second = other.map(|device| take(device)).transpose()?;
        let mut done = lane * PINNED_BYTES;
        while done < bytes {
            let part = PINNED_BYTES.min(bytes - done);
            // SAFETY: the ranges are valid until the command's event is terminal (the contract of `Queue::submit`), which
            // is after this function; this lane alone has the pinned memory, which is long enough, and one piece is not
            // the other; the copies are waited for.
            unsafe {
                copy_now(&from, pinned.start, from.place(done), part)?;
                let mut start = pinned.start;
                if let Some(second) = &second {
                    std::ptr::copy_nonoverlapping(start.as_ptr(), second.start.as_ptr(), part);
                    start = second.start;
                }
                copy_now(&to, to.place(done), start, part)?;
            }
            done += lanes * PINNED_BYTES;
        }
        put(owner, pinned);
        other.zip(second).into_iter().for_each(|(device, pinned)| put(device, pinned));
        Ok(())
    };
    std::thread::scope(|scope| {
        let start =
            |number| start_scoped_thread(scope, Builder::new(), move || lane(number)).map_err(|_| number);
        let others: SmallVec<[_; LANES]> = (1..lanes).map(start).collect();
        let first = lane(0);
        let outcomes = others.into_iter().map(|other| match other {
            Ok(other) => {
                other.join().unwrap_or_else(|payload| Err(Error::panicked("copy", payload.as_ref())))
            }
            // A lane that got no thread of its own has this one.
            Err(number) => lane(number),
        });
        outcomes.fold(first, Result::and)
    })
}

/// Copies between an end's memory and the host's, and waits.
///
/// # Safety
/// The ranges are valid and do not overlap.
unsafe fn copy_now(end: &End, dst: UsmPtr, src: UsmPtr, bytes: usize) -> Result<()> {
    let Some((device, queue)) = &end.device else {
        // SAFETY: both ranges are memory of the host, valid by this function's contract.
        unsafe { std::ptr::copy_nonoverlapping(src.as_ptr(), dst.as_ptr(), bytes) };
        return Ok(());
    };
    // SAFETY: both ranges are valid, by this function's contract, one of them is this device's, and they live
    // until the event is complete, which is waited for.
    let event = unsafe { device.memory.enqueue_copy(&queue.object, dst, src, bytes, &[]) }?;
    device.finished("clWaitForEvents", opencl3::event::wait_for_events(&[event.raw()]))
}
