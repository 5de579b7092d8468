//! Events: of commands that the driver has, and of work that is not the driver's yet.
//!
//! A command goes to the driver when everything that it waits for is there already, or done: the driver orders such commands among
//! themselves. A command that waits for work of the host, or of another driver, is held back until that is done, and its event says
//! "submitted" meanwhile. So nothing in the driver ever waits for this process, and a failure travels by core's rules. A failure of
//! the driver's own is one of the whole context: the device is lost, and every event of it that was still to come fails.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use stridewise_core::backend::{Event, EventStatus, Profile, Signal};
use stridewise_core::{Error, Result};

use crate::DRIVER;
use crate::clock::Stamps;
use crate::device::Shared;
use crate::error::is_loss;
use crate::stream::{Marker, Stream};
use crate::symbols::Refused;
use crate::worker::Job;

/// How long a wait asks the driver all the time before it sleeps: to wake a thread takes as long.
const POLLED: Duration = Duration::from_micros(100);
/// How long a wait with a time-out sleeps between two questions, at most.
const NAP: Duration = Duration::from_millis(1);
/// Someone who asks an event's status so often without waiting for it means to wait.
const PATIENT_POLLS: u8 = 16;

/// A command that the driver has.
pub(crate) struct Native {
    /// The stream that it is in, and its number there.
    pub(crate) stream: Arc<Stream>,
    pub(crate) ticket: u64,
    /// A marker behind it, once one was needed.
    marker: OnceLock<Arc<Marker>>,
    /// Its beginning and its end, where time stamps are asked for.
    pub(crate) stamps: Option<Arc<Stamps>>,
}

impl Native {
    /// A command that a stream was just given.
    pub(crate) fn issued(stream: &Arc<Stream>, stamps: Option<Arc<Stamps>>) -> Self {
        Self { stream: Arc::clone(stream), ticket: stream.issue(), marker: OnceLock::new(), stamps }
    }

    /// The event behind it.
    pub(crate) fn end(&self) -> Result<&Arc<Marker>, Refused> {
        if let Some(marker) = self.marker.get() {
            return Ok(marker);
        }
        let marker = self.stream.marker_behind(self.ticket)?;
        Ok(self.marker.get_or_init(|| marker))
    }

    /// Whether the command has ended, as far as is known; of one that somebody waits for, the driver tells.
    fn has_ended(&self, awaited: bool) -> Result<bool, Refused> {
        if !awaited || self.stream.is_noted(self.ticket) {
            return self.stream.has_ended(self.ticket);
        }
        // Of the last command the stream itself tells, which costs no event.
        if self.marker.get().is_none() && self.stream.last_issued() == self.ticket {
            return self.stream.is_over(self.ticket);
        }
        let marker = self.end()?;
        let over = marker.event().is_over()?;
        if over {
            self.stream.note_marker(marker);
        }
        Ok(over)
    }
}

/// The event of a command.
pub(crate) struct CudaEvent {
    this: Weak<Self>,
    device: Arc<Shared>,
    submitted: Instant,
    /// The outcome, once it has been noted, and who is to be called then.
    signal: Signal,
    /// The command, once it is the driver's.
    native: OnceLock<Native>,
    /// Whether somebody is to be called, and whether the worker knows.
    wanted: AtomicBool,
    asked: AtomicBool,
    polls: AtomicU8,
}

impl CudaEvent {
    fn make(device: &Arc<Shared>, native: OnceLock<Native>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            device: Arc::clone(device),
            submitted: Instant::now(),
            signal: Signal::new(DRIVER),
            native,
            wanted: AtomicBool::new(false),
            asked: AtomicBool::new(false),
            polls: AtomicU8::new(0),
        })
    }

    /// The event of a command that is not the driver's yet.
    pub(crate) fn held(device: &Arc<Shared>) -> Arc<Self> {
        Self::make(device, OnceLock::new())
    }

    /// The event of a command that is the driver's.
    pub(crate) fn enqueued(device: &Arc<Shared>, native: Native) -> Arc<Self> {
        Self::make(device, OnceLock::from(native))
    }

    /// The command has become the driver's; once.
    pub(crate) fn enqueue(&self, native: Native) {
        let _ = self.native.set(native);
        self.ask();
    }

    /// The command has ended outside the driver.
    pub(crate) fn complete(&self, outcome: Result<()>) {
        self.signal.complete(outcome, None);
    }

    /// The command has begun outside the driver.
    pub(crate) fn start(&self) {
        self.signal.start();
    }

    /// The command, where it is the driver's.
    pub(crate) fn native(&self) -> Option<&Native> {
        self.native.get()
    }

    /// Whose it is.
    pub(crate) fn device(&self) -> &Arc<Shared> {
        &self.device
    }

    /// Whether its end has been noted.
    pub(crate) fn is_noted(&self) -> bool {
        self.signal.status().is_terminal()
    }

    /// Whether somebody waits for it, by whatever means.
    fn is_awaited(&self) -> bool {
        self.wanted.load(Ordering::Acquire) || self.polls.load(Ordering::Relaxed) >= PATIENT_POLLS
    }

    /// What became of the command, as the driver has it.
    fn look(&self) -> (EventStatus, Option<Error>) {
        let Some(native) = self.native.get() else { return (self.signal.status(), None) };
        // A lost device tells nothing any more.
        if let Err(error) = self.device.usable_to_look() {
            return (EventStatus::Failed, Some(error));
        }
        match native.has_ended(self.is_awaited()) {
            Ok(true) => (EventStatus::Complete, None),
            Ok(false) => {
                if !self.is_awaited() {
                    self.polls.fetch_add(1, Ordering::Relaxed);
                }
                (EventStatus::Submitted, None)
            }
            Err(refused) => match self.ended_after(refused, native) {
                Ok(()) => (EventStatus::Complete, None),
                Err(error) => (EventStatus::Failed, Some(error)),
            },
        }
    }

    /// What becomes of the command where the driver refuses to tell: it is waited for otherwise, unless the device is lost.
    #[cold]
    fn ended_after(&self, refused: Refused, native: &Native) -> Result<()> {
        let error = self.device.failed(refused, ACCEPTED);
        if is_loss(refused.code) {
            return Err(error);
        }
        self.device.drain(&native.stream)
    }

    /// Notes the end of the command, if it has ended, and calls those who wait for it. Whether it has.
    pub(crate) fn settle(&self) -> bool {
        if self.is_noted() {
            return true;
        }
        match self.look() {
            (EventStatus::Complete, _) => {
                self.signal.complete(Ok(()), self.time_stamps());
                true
            }
            (EventStatus::Failed, Some(error)) => {
                self.signal.complete(Err(error), None);
                true
            }
            _ => false,
        }
    }

    fn time_stamps(&self) -> Option<Profile> {
        let stamps = self.native.get()?.stamps.as_ref()?;
        let _current = self.device.context.enter().ok()?;
        self.device.clock.profile(self.submitted, stamps)
    }

    /// Has the worker see to it that the end is noted, once, where that is wanted and the command is the driver's.
    fn ask(&self) {
        let (Some(native), Some(this)) = (self.native.get(), self.this.upgrade()) else { return };
        if !self.wanted.load(Ordering::Acquire) || self.asked.swap(true, Ordering::AcqRel) {
            return;
        }
        // Now, so that it stands for nothing that comes later; a refusal shows when the worker looks, which tries again.
        let _ = native.end();
        self.device.worker.send(Job::Watch(this));
    }

    /// Sees to it that the end of the command is noted when it comes.
    fn want(&self) {
        self.wanted.store(true, Ordering::Release);
        self.ask();
    }

    /// Waits in the driver for a command that is the driver's.
    fn wait_in_driver(&self) {
        let (Some(native), false) = (self.native.get(), self.is_noted()) else { return };
        let begin = Instant::now();
        let waited = self.device.context.enter().and_then(|_current| {
            while begin.elapsed() < POLLED {
                if native.has_ended(true)? {
                    return Ok(());
                }
                std::thread::yield_now();
            }
            let marker = native.end()?;
            marker.event().wait()?;
            native.stream.note_marker(marker);
            Ok(())
        });
        if let Err(refused) = waited {
            let outcome = self.ended_after(refused, native);
            let stamps = if outcome.is_ok() { self.time_stamps() } else { None };
            self.signal.complete(outcome, stamps);
            return;
        }
        self.settle();
    }
}

/// What an event of the driver is about.
const ACCEPTED: &str = "a command that the device had accepted, or one before it";

impl Event for CudaEvent {
    fn status(&self) -> EventStatus {
        let noted = self.signal.status();
        if noted.is_terminal() {
            return noted;
        }
        let (status, _) = self.look();
        // Whoever asked to be called is called by the worker: the caller may hold locks.
        if status.is_terminal() && !self.wanted.load(Ordering::Acquire) {
            self.settle();
        }
        match (status, noted) {
            // Outside the driver it may have begun.
            (EventStatus::Submitted, noted) => noted,
            (status, _) => status,
        }
    }

    fn error(&self) -> Option<Error> {
        match self.is_noted() {
            true => self.signal.error(),
            false => self.look().1,
        }
    }

    fn wait(&self) -> Result<()> {
        if self.is_noted() {
            return self.signal.wait();
        }
        if self.native.get().is_none() {
            self.want();
            // The worker notes the end: by then, the command has been the driver's.
            return self.signal.wait();
        }
        self.wait_in_driver();
        self.signal.wait()
    }

    fn wait_timeout(&self, timeout: Duration) -> Result<bool> {
        let begin = Instant::now();
        match (self.native.get(), timeout.is_zero()) {
            // Who does not wait asks for nothing.
            (_, true) => {}
            (Some(_), false) => self.polls.store(PATIENT_POLLS, Ordering::Relaxed),
            // The worker notes the end, if the command has not become the driver's by then.
            (None, false) => self.want(),
        }
        // A wait in the driver has no time-out: so the event is looked at, at first all the time, and then after an eighth of the
        // time that it has taken so far.
        loop {
            self.settle();
            let waited = begin.elapsed();
            if self.is_noted() || waited >= timeout {
                return self.signal.wait_timeout(Duration::ZERO);
            }
            if waited < POLLED {
                std::thread::yield_now();
            } else if self.signal.wait_timeout((waited / 8).min(NAP).min(timeout - waited))? {
                return Ok(true);
            }
        }
    }

    fn on_complete(&self, callback: Box<dyn FnOnce() + Send>) {
        self.signal.on_complete(callback);
        if !self.is_noted() {
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

impl fmt::Debug for CudaEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaEvent({:?})", self.status())
    }
}
