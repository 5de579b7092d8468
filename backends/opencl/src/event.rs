//! Events: the runtime's, and those of work that is not the runtime's yet.
//!
//! A command goes to the runtime when everything that it waits for is there already, or done: the runtime's events order
//! such commands among themselves. A command that waits for work of the host, or of another device, is held back until
//! that is done, and its event says "submitted" meanwhile. So no event of this process ever waits inside a runtime, and
//! a failure travels by our rules, not the runtime's (which has no notion of a wait for order alone).

use std::ffi::c_void;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use opencl3::event as cl;
use opencl3::types::{cl_event, cl_int};
use smallvec::SmallVec;
use stridewise_core::backend::{Event, EventStatus, Profile, Signal};
use stridewise_core::{Error, Result};

use crate::DRIVER;
use crate::device::Shared;
use crate::error::failed;
use crate::handle::EventObject;
use crate::queue::NativeQueue;
use crate::worker::Job;

/// How long a wait with a time-out asks the runtime all the time, on a processor, where others compute meanwhile, and elsewhere;
/// and how long it sleeps between two questions afterwards, at most.
const POLLED: [Duration; 2] = [Duration::from_micros(300), Duration::from_millis(2)];
const NAP: Duration = Duration::from_millis(1);
/// Someone who asks an event's status so often without waiting for it means to wait, so the queue is flushed.
const PATIENT_POLLS: u8 = 64;

/// A command that the runtime has.
pub(crate) struct Native {
    /// The queue that it is in.
    pub(crate) queue: Arc<NativeQueue>,
    /// Its events; the last one is its end. A small command has none: an event costs a third of what it does.
    pub(crate) parts: SmallVec<[EventObject; 1]>,
    /// For a command without an event: its number in the queue, and a marker behind it once one was needed.
    pub(crate) ticket: u64,
    pub(crate) marker: OnceLock<EventObject>,
    /// Commands without an event up to this number were enqueued before it.
    before: u64,
}

impl Native {
    /// A command in a queue, whose events are to come.
    pub(crate) fn new(queue: &Arc<NativeQueue>) -> Self {
        let before = queue.last_issued();
        Self { queue: Arc::clone(queue), parts: SmallVec::new(), ticket: 0, marker: OnceLock::new(), before }
    }

    /// The event of its end, or what the runtime said when asked for one.
    fn end(&self) -> Result<&EventObject, i32> {
        if let Some(end) = self.parts.last().or_else(|| self.marker.get()) {
            return Ok(end);
        }
        let marker = self.queue.marker_behind(self.ticket)?;
        Ok(self.marker.get_or_init(|| marker))
    }
}

/// The event of a command.
pub(crate) struct ClEvent {
    this: Weak<Self>,
    device: Arc<Shared>,
    /// The outcome, once it has been noted, and who is to be called then.
    signal: Signal,
    /// The command, once it is the runtime's.
    native: OnceLock<Native>,
    /// Whether the runtime's callback is wanted, and whether it has been asked for.
    wanted: AtomicBool,
    asked: AtomicBool,
    polls: AtomicU8,
    profiling: bool,
}

impl ClEvent {
    fn make(device: &Arc<Shared>, profiling: bool, native: OnceLock<Native>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            device: Arc::clone(device),
            signal: Signal::new(DRIVER),
            native,
            wanted: AtomicBool::new(false),
            asked: AtomicBool::new(false),
            polls: AtomicU8::new(0),
            profiling,
        })
    }

    /// The event of a command that is not the runtime's yet.
    pub(crate) fn held(device: &Arc<Shared>, profiling: bool) -> Arc<Self> {
        Self::make(device, profiling, OnceLock::new())
    }

    /// The event of a command that is the runtime's.
    pub(crate) fn enqueued(device: &Arc<Shared>, profiling: bool, native: Native) -> Arc<Self> {
        Self::make(device, profiling, OnceLock::from(native))
    }

    /// The command has become the runtime's; once.
    pub(crate) fn enqueue(&self, native: Native) {
        let _ = self.native.set(native);
        self.ask();
    }

    /// The command has ended outside the runtime.
    pub(crate) fn complete(&self, outcome: Result<()>, profile: Option<Profile>) {
        self.signal.complete(outcome, profile);
    }

    /// The command has begun outside the runtime.
    pub(crate) fn start(&self) {
        self.signal.start();
    }

    /// The runtime's event to wait for and the queue that it is in, where the command is the runtime's, in the context
    /// of a device.
    pub(crate) fn native(&self, device: &Arc<Shared>) -> Option<(cl_event, &Arc<NativeQueue>)> {
        let native = self.native.get().filter(|_| Arc::ptr_eq(device, &self.device))?;
        Some((native.end().ok()?.raw(), &native.queue))
    }

    /// Whether the command is in a queue of the runtime's, where it has a number instead of an event.
    pub(crate) fn is_numbered_in(&self, queue: &Arc<NativeQueue>) -> bool {
        self.native.get().is_some_and(|native| Arc::ptr_eq(&native.queue, queue) && native.parts.is_empty())
    }

    /// Whether the command is the runtime's.
    pub(crate) fn is_native(&self) -> bool {
        self.native.get().is_some()
    }

    /// What became of the command, as the runtime has it.
    fn look(&self) -> (EventStatus, Option<Error>) {
        let Some(native) = self.native.get() else { return (self.signal.status(), None) };
        let status = match native.parts.last().or_else(|| native.marker.get()) {
            Some(end) => execution_status(end),
            None => native.queue.status(native.ticket),
        };
        match status {
            Ok(cl::CL_COMPLETE) => (EventStatus::Complete, None),
            Ok(cl::CL_RUNNING) => (EventStatus::Running, None),
            Ok(code) if code >= 0 => (EventStatus::Submitted, None),
            Ok(code) | Err(code) => {
                // For one thing, a loss of the device is noted.
                let _ = self.device.finished("clGetEventInfo", Err(code));
                (EventStatus::Failed, Some(Self::error_of(code)))
            }
        }
    }

    fn error_of(code: i32) -> Error {
        let error = failed("clWaitForEvents", "a command that the device had accepted", code);
        // The runtime did not begin what waits for a command that failed.
        if code == -14 { Error::Dependency(Arc::new(error)) } else { error }
    }

    /// Notes the end of the command, if it has ended, and calls those who wait for it.
    pub(crate) fn settle(&self) {
        if self.signal.status().is_terminal() {
            return;
        }
        match self.look() {
            (EventStatus::Complete, _) => {
                if let Some(native) = self.native.get() {
                    native.queue.ended_in_order(native.before);
                }
                let profile = if self.profiling { self.time_stamps() } else { None };
                self.signal.complete(Ok(()), profile);
            }
            (EventStatus::Failed, Some(error)) => {
                self.signal.complete(Err(error), None);
            }
            (EventStatus::Running, _) => self.signal.start(),
            _ => {}
        }
    }

    fn time_stamps(&self) -> Option<Profile> {
        let parts = &self.native.get()?.parts;
        let stamp = |part: &EventObject, what| {
            let nanoseconds = cl::get_event_profiling_info(part.raw(), what).ok()?.to_ulong();
            Some(Duration::from_nanos(nanoseconds))
        };
        let first = parts.first()?;
        let mut profile = Profile {
            submitted: stamp(first, cl::CL_PROFILING_COMMAND_QUEUED)?,
            started: stamp(first, cl::CL_PROFILING_COMMAND_START)?,
            ended: stamp(first, cl::CL_PROFILING_COMMAND_END)?,
        };
        for part in &parts[1..] {
            profile.started = profile.started.min(stamp(part, cl::CL_PROFILING_COMMAND_START)?);
            profile.ended = profile.ended.max(stamp(part, cl::CL_PROFILING_COMMAND_END)?);
        }
        Some(profile)
    }

    /// Asks the runtime for its callback, once, where one is wanted and the command is the runtime's.
    fn ask(&self) {
        let Some(native) = self.native.get() else { return };
        let Some(this) = self.this.upgrade() else { return };
        if !self.wanted.load(Ordering::Acquire) || self.asked.swap(true, Ordering::AcqRel) {
            return;
        }
        let raw = Arc::into_raw(Arc::clone(&this));
        let set = |end: &EventObject| {
            cl::set_event_callback(end.raw(), cl::CL_COMPLETE, ended, raw.cast_mut().cast())
        };
        if native.end().and_then(set).is_err() {
            // SAFETY: the pointer is from `into_raw` just above, and the runtime did not take it.
            drop(unsafe { Arc::from_raw(raw) });
            // Then someone has to wait for it.
            self.device.worker.send(Job::Wait(this));
        }
        native.queue.flush();
    }

    /// Sees to it that the end of the command is noted when it comes.
    fn want(&self) {
        self.wanted.store(true, Ordering::Release);
        self.ask();
    }

    /// Waits in the runtime for a command that is the runtime's.
    pub(crate) fn wait_in_runtime(&self) {
        let (Some(native), false) = (self.native.get(), self.signal.status().is_terminal()) else { return };
        let end = native.end();
        native.queue.flush();
        if let Err(code) = end.and_then(|end| cl::wait_for_events(&[end.raw()])) {
            // The status says what happened, but not where a driver that lost its device reports it as complete.
            let _ = self.device.finished("clWaitForEvents", Err(code));
            let error = self.look().1.unwrap_or_else(|| Self::error_of(code));
            self.signal.complete(Err(error), None);
            return;
        }
        self.settle();
    }
}

/// How far the command of an event has come, as the runtime has it.
pub(crate) fn execution_status(event: &EventObject) -> Result<cl_int, i32> {
    cl::get_event_info(event.raw(), cl::CL_EVENT_COMMAND_EXECUTION_STATUS).map(|info| info.to_int())
}

/// The runtime's callback: it only signals.
extern "C" fn ended(_event: cl_event, _status: cl_int, event: *mut c_void) {
    // SAFETY: the pointer is the one that `ask` made with `into_raw`, and the runtime calls back once.
    let event = unsafe { Arc::from_raw(event.cast::<ClEvent>().cast_const()) };
    // Not by way of the device: the event may be its last owner, and its end is no work for a callback.
    let jobs = event.device.worker.jobs();
    let _ = jobs.send(Job::Settle(event));
}

impl Event for ClEvent {
    fn status(&self) -> EventStatus {
        let noted = self.signal.status();
        if noted.is_terminal() {
            return noted;
        }
        let (status, _) = self.look();
        // Whoever asked to be called is called by the worker: the caller may hold locks.
        if status.is_terminal() && !self.wanted.load(Ordering::Acquire) {
            self.settle();
        } else if let Some(native) = self.native.get()
            && self.polls.load(Ordering::Relaxed) <= PATIENT_POLLS
            && self.polls.fetch_add(1, Ordering::Relaxed) == PATIENT_POLLS
        {
            // A failure shows at the next question.
            let _ = native.end();
            native.queue.flush();
        }
        status
    }

    fn error(&self) -> Option<Error> {
        match self.signal.status().is_terminal() {
            true => self.signal.error(),
            false => self.look().1,
        }
    }

    fn wait(&self) -> Result<()> {
        if self.signal.status().is_terminal() {
            return self.signal.wait();
        }
        if self.native.get().is_none() {
            self.want();
            // The worker notes the end: by then, the command has been the runtime's.
            return self.signal.wait();
        }
        self.wait_in_runtime();
        self.signal.wait()
    }

    fn wait_timeout(&self, timeout: Duration) -> Result<bool> {
        let begin = Instant::now();
        let polled = POLLED[usize::from(!self.device.target.cpu)];
        match (self.native.get(), timeout.is_zero()) {
            // Who does not wait asks for nothing.
            (_, true) => {}
            (Some(native), false) => {
                // A failure shows at the question.
                let _ = native.end();
                native.queue.flush();
            }
            // The worker notes the end, if the command has not become the runtime's by then.
            (None, false) => self.want(),
        }
        // A wait in the runtime has no time-out, and some runtimes take 20 ms to call back: so the event is looked at, at first all
        // the time, as most waits are for so little, and then after an eighth of the time that it has taken so far.
        loop {
            self.settle();
            let waited = begin.elapsed();
            if self.signal.status().is_terminal() || waited >= timeout {
                return self.signal.wait_timeout(Duration::ZERO);
            }
            if waited < polled {
                std::thread::yield_now();
            } else if self.signal.wait_timeout((waited / 8).min(NAP).min(timeout - waited))? {
                return Ok(true);
            }
        }
    }

    fn on_complete(&self, callback: Box<dyn FnOnce() + Send>) {
        self.signal.on_complete(callback);
        if !self.signal.status().is_terminal() {
            self.want();
        }
    }

    fn profile(&self) -> Option<Profile> {
        if self.status().is_terminal() {
            self.settle();
        }
        self.signal.profile()
    }

    fn driver(&self) -> &'static str {
        DRIVER
    }
}

impl fmt::Debug for ClEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClEvent({:?})", self.status())
    }
}
