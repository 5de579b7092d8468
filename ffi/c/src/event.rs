//! Events.

use std::time::Duration;

use stridewise::Event;
use stridewise::backend::EventStatus;
use stridewise::memory::heap;

use crate::caller::Caller;
use crate::handle::{Room, free, get, give};
use crate::status::{Failure, entry, sw_status};

/// The completion of a command.
#[derive(Debug)]
pub struct sw_event(());

/// Where a command is on its way.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum sw_event_state {
    /// Waiting for what it depends on, or for the device.
    SW_EVENT_SUBMITTED = 0,
    /// Being executed.
    SW_EVENT_RUNNING = 1,
    /// Done.
    SW_EVENT_COMPLETE = 2,
    /// Failed, or not executed because something it depends on failed; sw_event_wait says why.
    SW_EVENT_FAILED = 3,
}

/// Time stamps of a command in nanoseconds, from one origin per device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_profile {
    /// When it was submitted.
    pub submitted: u64,
    /// When its execution began.
    pub started: u64,
    /// When it was done.
    pub ended: u64,
}

/// Writes an event where the caller wants it.
pub(crate) fn give_event(out: Option<Room<sw_event>>, event: Event) -> Result<(), Failure> {
    out.map_or(Ok(()), |out| give(out, event))
}

/// Waits until the command is done; its failure, if it failed, is the failure of this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_event_wait(event: *const sw_event) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|_| Ok(get("event", event)?.wait()?)) }
}

/// Waits for several commands, the failed ones too; the first failure is the failure of this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_event_wait_all(events: *const *mut sw_event, count: usize) -> sw_status {
    let body = |caller: &Caller| {
        let events = caller.objects("events", events, count)?;
        let events = heap::collect("events", events.iter().map(|event| Event::clone(event)))?;
        Ok(Event::wait_all(&events)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Where the command is; never waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_event_status(event: *const sw_event, state: *mut sw_event_state) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.out("state", state)?;
        out.set(match get("event", event)?.status() {
            EventStatus::Submitted => sw_event_state::SW_EVENT_SUBMITTED,
            EventStatus::Running => sw_event_state::SW_EVENT_RUNNING,
            EventStatus::Complete => sw_event_state::SW_EVENT_COMPLETE,
            EventStatus::Failed => sw_event_state::SW_EVENT_FAILED,
        });
        Ok(())
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// The time stamps of a finished command of a queue with SW_QUEUE_PROFILING.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_event_profile(event: *const sw_event, profile: *mut sw_profile) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.out("profile", profile)?;
        let profile = get("event", event)?.profiling_info()?;
        // 584 years fit.
        let nanoseconds = |time: Duration| time.as_nanos() as u64;
        out.set(sw_profile {
            submitted: nanoseconds(profile.submitted),
            started: nanoseconds(profile.started),
            ended: nanoseconds(profile.ended),
        });
        Ok(())
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Frees the handle; the command goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_event_free(event: *mut sw_event) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|_| free("event", event)) }
}
