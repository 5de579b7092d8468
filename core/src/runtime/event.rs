//! The completion of submitted work, as the user sees it.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use crate::backend::{self, EventStatus, Profile, Signal};
use crate::error::{Error, Result};
use crate::memory::capture;

/// The completion of one command. Cheap to clone; dropping it changes nothing about the work. It can be awaited.
#[derive(Clone)]
pub struct Event {
    /// `None` for one that was complete from the start: small work returns such an event, and would feel the counting.
    pub(super) backend: Option<Arc<dyn backend::Event>>,
    /// `None` for none.
    waits: Option<Arc<[Arc<dyn backend::Event>]>>,
}

// A panic leaves it usable: by the contract of the backend traits, and as core's own locks guard nothing that a panic could
// leave half done.
impl UnwindSafe for Event {}
impl RefUnwindSafe for Event {}

impl Event {
    pub(crate) fn new(backend: Arc<dyn backend::Event>, waits: Vec<Arc<dyn backend::Event>>) -> Self {
        Self { backend: Some(backend), waits: (!waits.is_empty()).then(|| waits.into()) }
    }

    /// An event of nothing: complete.
    #[must_use]
    #[inline]
    pub fn ready() -> Self {
        Self { backend: None, waits: None }
    }

    pub(crate) fn backend(&self) -> &Arc<dyn backend::Event> {
        static READY: LazyLock<Arc<dyn backend::Event>> =
            LazyLock::new(|| Arc::new(Signal::completed("core", None)));
        self.backend.as_ref().unwrap_or_else(|| &READY)
    }

    /// Where the command is. Never blocks.
    #[must_use]
    pub fn status(&self) -> EventStatus {
        self.backend.as_ref().map_or(EventStatus::Complete, |event| event.status())
    }

    /// Blocks until the command is done.
    ///
    /// # Errors
    /// What made the command fail: [`Error::Task`], or [`Error::Dependency`] where something it used had failed.
    /// [`Error::Interrupted`] where the wait is ended before ([`set_interrupt`](backend::set_interrupt)).
    #[inline]
    pub fn wait(&self) -> Result<()> {
        capture::refuse("event", "waited for")?;
        self.end()
    }

    /// [`wait`](Self::wait), of the engine's own, also while a queue is captured.
    #[inline]
    pub(crate) fn end(&self) -> Result<()> {
        self.backend.as_ref().map_or(Ok(()), |event| backend::wait(&**event))
    }

    /// Whether it was complete from the start.
    pub(crate) fn is_of_nothing(&self) -> bool {
        self.backend.is_none()
    }

    /// Blocks until the command is done, but not for much longer than this. Whether it is done; of a time of zero it only
    /// looks. Unlike [`wait`](Self::wait), it computes nothing on the calling thread that would last longer than the time, but on
    /// threads of a pool that the device computes with, where nobody else may be left to do it.
    ///
    /// # Errors
    /// As for [`wait`](Self::wait).
    pub fn wait_timeout(&self, timeout: Duration) -> Result<bool> {
        capture::refuse("event", "waited for")?;
        self.backend.as_ref().map_or(Ok(true), |event| backend::wait_for(&**event, timeout))
    }

    /// Waits for all events, the failed ones too.
    ///
    /// # Errors
    /// The first failure.
    pub fn wait_all(events: &[Self]) -> Result<()> {
        let mut outcome = Ok(());
        for event in events {
            match event.wait() {
                Err(error @ Error::Interrupted(_)) => return Err(error),
                ended => outcome = outcome.and(ended),
            }
        }
        outcome
    }

    /// The failure of a command that failed.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        self.backend.as_ref()?.error()
    }

    /// The events that the command had to wait for and that were unfinished when it was submitted. Theirs in turn are
    /// not kept: the list of an event from this list is empty.
    #[must_use]
    pub fn wait_list(&self) -> Vec<Self> {
        let waits = self.waits.iter().flat_map(|waits| waits.iter());
        waits.map(|e| Self::new(Arc::clone(e), Vec::new())).collect()
    }

    /// Time stamps of the command.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the queue was made without profiling; [`Error::Value`] before the command is done.
    pub fn profiling_info(&self) -> Result<Profile> {
        let status = self.status();
        self.backend().profile().ok_or_else(|| {
            if status.is_terminal() {
                Error::unsupported(
                    "event",
                    "of a queue without profiling",
                    "an event with time stamps",
                    "create the queue with profiling",
                )
            } else {
                Error::value("event", format!("{status:?}"), "a finished command", "wait for the event first")
            }
        })
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Event({:?}, waited for {})",
            self.status(),
            self.waits.as_ref().map_or(0, |waits| waits.len())
        )
    }
}
