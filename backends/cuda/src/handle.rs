//! Objects of the driver, each given up once, and counted. A process that was forked has no driver: there they are only
//! forgotten.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use stridewise_core::backend::Home;

use crate::api::{
    Api, EVENT_BLOCKING_SYNC, EVENT_DISABLE_TIMING, RawContext, RawDevice, RawEvent, RawLaunchable,
    RawModule, RawStream, STREAM_DEFAULT, STREAM_NON_BLOCKING,
};
use crate::error::NOT_READY;
use crate::symbols::Refused;

/// Objects of the driver that this process holds through this backend.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Contexts, streams, events, modules and allocations of the driver that this process holds now. The devices that were listed
/// keep a context each, and the modules that were used last.
#[must_use]
pub fn live_handles() -> usize {
    LIVE.load(Ordering::Relaxed)
}

/// One more object, or one less.
pub(crate) fn count(more: bool) {
    match more {
        true => LIVE.fetch_add(1, Ordering::Relaxed),
        false => LIVE.fetch_sub(1, Ordering::Relaxed),
    };
}

/// The process that loaded the driver: those that are forked from it lack its threads.
pub(crate) fn home() -> Home {
    static HOME: OnceLock<Home> = OnceLock::new();
    *HOME.get_or_init(Home::here)
}

/// The driver's context of a device that everybody in the process shares (the primary one), so that memory and streams of
/// other libraries are known in it.
pub(crate) struct Context {
    pub(crate) api: &'static Api,
    pub(crate) device: RawDevice,
    raw: RawContext,
}
// SAFETY: contexts may be current to, and used by, any number of threads (CUDA driver API, "Context management").
unsafe impl Send for Context {}
// SAFETY: as for Send.
unsafe impl Sync for Context {}

/// While it lives, a context is the calling thread's.
pub(crate) struct Current<'a>(Option<&'a Context>);

impl Context {
    pub(crate) fn new(api: &'static Api, device: RawDevice) -> Result<Self, Refused> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the place is a live pointer, the device is one that the driver gave.
        unsafe { api.retain_context(&raw mut raw, device) }?;
        count(true);
        Ok(Self { api, device, raw })
    }

    /// Makes it the calling thread's context until the guard goes; the thread has what it had before, then.
    pub(crate) fn enter(&self) -> Result<Current<'_>, Refused> {
        let mut current = std::ptr::null_mut();
        // SAFETY: the place is a live pointer.
        if unsafe { self.api.current_context(&raw mut current) }.is_ok() && current == self.raw {
            return Ok(Current(None));
        }
        // SAFETY: the context is live: this object holds it.
        unsafe { self.api.push_context(self.raw) }?;
        Ok(Current(Some(self)))
    }

    /// One object less, of a library that works in the context: gives it up there, in the process that has the driver.
    pub(crate) fn give_up(&self, destroy: impl FnOnce() -> Result<(), Refused>) {
        count(false);
        if home().is_here()
            && let Ok(_current) = self.enter()
        {
            // A failure leaves nothing to do.
            let _ = destroy();
        }
    }
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        if let Some(context) = self.0 {
            let mut popped = std::ptr::null_mut();
            // SAFETY: the place is a live pointer; the context was pushed by this thread (the guard is not `Send`, as it is only
            // ever a local).
            let _ = unsafe { context.api.pop_context(&raw mut popped) };
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        count(false);
        if home().is_here() {
            // SAFETY: the reference is this object's own and is given up once, here. A failure leaves nothing to do.
            let _ = unsafe { self.api.release_context(self.device) };
        }
    }
}

macro_rules! handles {
    ($($(#[$doc:meta])* $Name:ident $raw:ident $destroy:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $Name {
            context: Arc<Context>,
            raw: $raw,
        }

        // SAFETY: the driver's handles are of the process, and its functions may be called from any thread (CUDA driver API,
        // "Difference between the driver and runtime APIs").
        unsafe impl Send for $Name {}
        // SAFETY: as for Send; its functions may be called at the same time.
        unsafe impl Sync for $Name {}

        impl $Name {
            /// Takes over what the driver just gave in a context.
            pub(crate) fn new(context: &Arc<Context>, raw: $raw) -> Self {
                count(true);
                Self { context: Arc::clone(context), raw }
            }
            #[allow(dead_code, reason = "that of an event is used here alone")]
            pub(crate) fn raw(&self) -> $raw {
                self.raw
            }
        }

        impl Drop for $Name {
            fn drop(&mut self) {
                count(false);
                if home().is_here() {
                    let _current = self.context.enter();
                    // SAFETY: the object is this one's own and is given up once, here; its context lives, as it is held. A failure
                    // leaves nothing to do.
                    let _ = unsafe { self.context.api.$destroy(self.raw) };
                }
            }
        }
    )*};
}

handles! {
    /// A stream.
    StreamObject RawStream destroy_stream;
    /// An event.
    EventObject RawEvent destroy_event;
    /// A module.
    ModuleObject RawModule unload_module;
    /// A graph that can be launched; one that is under way is given up when it has ended.
    GraphObject RawLaunchable destroy_launchable;
}

/// What the driver's answer to a question means.
fn is_ready(answer: Result<(), Refused>) -> Result<bool, Refused> {
    match answer {
        Ok(()) => Ok(true),
        Err(Refused { code: NOT_READY, .. }) => Ok(false),
        Err(refused) => Err(refused),
    }
}

impl EventObject {
    /// A new event, for time stamps or without.
    pub(crate) fn make(context: &Arc<Context>, timed: bool) -> Result<Self, Refused> {
        let flags = if timed { EVENT_BLOCKING_SYNC } else { EVENT_BLOCKING_SYNC | EVENT_DISABLE_TIMING };
        let mut raw = std::ptr::null_mut();
        // SAFETY: the place is a live pointer; the context is the caller's current one.
        unsafe { context.api.create_event(&raw mut raw, flags) }?;
        Ok(Self::new(context, raw))
    }

    /// Stands for everything that a stream was given before.
    pub(crate) fn record(&self, stream: &StreamObject) -> Result<(), Refused> {
        // SAFETY: both are live, of one context.
        unsafe { self.record_in(stream.raw) }
    }

    /// As [`record`](Self::record), of a stream of others.
    ///
    /// # Safety
    /// The stream is there, of the event's context.
    pub(crate) unsafe fn record_in(&self, stream: RawStream) -> Result<(), Refused> {
        // SAFETY: the event is live, and so is the stream, by this function's contract.
        unsafe { self.context.api.record_event(self.raw, stream) }
    }

    /// Has a stream of others begin nothing more before it is over.
    ///
    /// # Safety
    /// The stream is there.
    pub(crate) unsafe fn hold_back(&self, stream: RawStream) -> Result<(), Refused> {
        // SAFETY: the event is live, and so is the stream, by this function's contract; they may be of two contexts.
        unsafe { self.context.api.wait_event(stream, self.raw, 0) }
    }

    /// Whether it is over.
    pub(crate) fn is_over(&self) -> Result<bool, Refused> {
        let _current = self.context.enter()?;
        // SAFETY: the event is live.
        is_ready(unsafe { self.context.api.query_event(self.raw) })
    }

    /// Sleeps until it is over.
    pub(crate) fn wait(&self) -> Result<(), Refused> {
        // SAFETY: the event is live.
        unsafe { self.context.api.synchronize_event(self.raw) }
    }

    /// Milliseconds from another event to it.
    pub(crate) fn since(&self, start: &Self) -> Result<f32, Refused> {
        let mut milliseconds = 0.0;
        // SAFETY: the place is a live number; both events are live.
        unsafe { self.context.api.elapsed(&raw mut milliseconds, start.raw, self.raw) }?;
        Ok(milliseconds)
    }
}

impl StreamObject {
    /// A new stream. One for work and the legacy default stream, where other libraries work unless they are told otherwise, wait for
    /// each other, so that neither sees the other's elements before they are there; of others, nobody waits for anybody.
    pub(crate) fn make(context: &Arc<Context>, for_work: bool) -> Result<Self, Refused> {
        let flags = if for_work { STREAM_DEFAULT } else { STREAM_NON_BLOCKING };
        let mut raw = std::ptr::null_mut();
        // SAFETY: the place is a live pointer; the context is the caller's current one.
        unsafe { context.api.create_stream(&raw mut raw, flags) }?;
        Ok(Self::new(context, raw))
    }

    /// Begins nothing more before an event is over.
    pub(crate) fn wait_for(&self, event: &EventObject) -> Result<(), Refused> {
        // SAFETY: both are live; the event may be of another context (CUDA driver API, cuStreamWaitEvent).
        unsafe { self.context.api.wait_event(self.raw, event.raw, 0) }
    }

    /// Whether it has nothing to do.
    pub(crate) fn is_idle(&self) -> Result<bool, Refused> {
        let _current = self.context.enter()?;
        // SAFETY: the stream is live.
        is_ready(unsafe { self.context.api.query_stream(self.raw) })
    }

    /// Sleeps until it has nothing to do.
    pub(crate) fn synchronize(&self) -> Result<(), Refused> {
        // SAFETY: the stream is live.
        unsafe { self.context.api.synchronize_stream(self.raw) }
    }
}
