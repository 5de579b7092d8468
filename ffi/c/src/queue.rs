//! Queues.

use stridewise::backend::QueueProperties;
use stridewise::{Device, Error, Queue};

use crate::caller::Caller;
use crate::device::sw_device;
use crate::event::sw_event;
use crate::handle::{free, get, give};
use crate::status::{entry, sw_status};

/// A queue: where work on arrays is submitted. Operands of one operation have to be of the same queue.
#[derive(Debug)]
pub struct sw_queue(());

/// Of sw_queue_create: every command also waits for the one before it.
pub const SW_QUEUE_IN_ORDER: u32 = 1;
/// Of sw_queue_create: events have time stamps, for sw_event_profile.
pub const SW_QUEUE_PROFILING: u32 = 2;

/// The queue that work goes to where none is named; the same one every time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_queue_default(queue: *mut *mut sw_queue) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|caller| give(caller.handle("queue", queue)?, Queue::default_queue()?)) }
}

/// The host's queue, the one that works on memory of the processor in place; the same one every time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_queue_host(queue: *mut *mut sw_queue) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|caller| give(caller.handle("queue", queue)?, stridewise_exchange::host::host_queue()?)) }
}

/// A new queue on a device. `properties`: SW_QUEUE_IN_ORDER, SW_QUEUE_PROFILING, both joined by |, or 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_queue_create(
    device: *const sw_device,
    properties: u32,
    queue: *mut *mut sw_queue,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("queue", queue)?;
        if properties & !(SW_QUEUE_IN_ORDER | SW_QUEUE_PROFILING) != 0 {
            return Err(Error::value(
                "properties",
                format!("{properties:#x}"),
                "SW_QUEUE_IN_ORDER, SW_QUEUE_PROFILING, both or 0",
                "use the constants of stridewise.h",
            )
            .into());
        }
        let properties = QueueProperties {
            in_order: properties & SW_QUEUE_IN_ORDER != 0,
            profiling: properties & SW_QUEUE_PROFILING != 0,
        };
        let device: &Device = &*get("device", device)?;
        give(out, Queue::new(device, properties)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// The queue's device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_queue_device(queue: *const sw_queue, device: *mut *mut sw_device) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("device", device)?;
        give(out, get("queue", queue)?.device().clone())
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Whether two handles stand for the same queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_queue_equal(
    first: *const sw_queue,
    second: *const sw_queue,
    equal: *mut bool,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.out("equal", equal)?;
        let (first, second) = (get("first", first)?, get("second", second)?);
        out.set(*first == *second);
        Ok(())
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Submits all work that is recorded for arrays of the queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_queue_flush(queue: *const sw_queue) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|_| Ok(get("queue", queue)?.flush()?)) }
}

/// Submits all recorded work and waits until everything submitted to the queue is done. The failure of a command is its
/// event's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_queue_wait(queue: *const sw_queue) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|_| Ok(get("queue", queue)?.wait()?)) }
}

/// An event that is complete when the events of `depends` are or, where there are none, when everything submitted so far
/// to the queue is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_queue_barrier(
    queue: *const sw_queue,
    depends: *const *mut sw_event,
    depends_count: usize,
    event: *mut *mut sw_event,
) -> sw_status {
    let body = |caller: &Caller| {
        let depends = caller.depends(depends, depends_count);
        let out = caller.handle("event", event)?;
        let depends = depends?;
        give(out, get("queue", queue)?.submit_barrier(&depends)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Frees the handle; work submitted to the queue goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_queue_free(queue: *mut sw_queue) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|_| free("queue", queue)) }
}
