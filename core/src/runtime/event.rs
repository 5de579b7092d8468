//! The completion of submitted work, as the user sees it.

use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::backend::{self, EventStatus, Profile, Signal};
use crate::error::{Error, Result};

/// The completion of one command. Cheap to clone; dropping it changes nothing about the work.
#[derive(Clone)]
pub struct Event {
    backend: Arc<dyn backend::Event>,
    /// `None` for none.
    waits: Option<Arc<[Arc<dyn backend::Event>]>>,
}

impl Event {
    pub(crate) fn new(backend: Arc<dyn backend::Event>, waits: Vec<Arc<dyn backend::Event>>) -> Self {
        Self { backend, waits: (!waits.is_empty()).then(|| waits.into()) }
    }

    /// An event of nothing: complete.
    #[must_use]
    pub fn ready() -> Self {
        static READY: LazyLock<Event> =
            LazyLock::new(|| Event::new(Arc::new(Signal::completed("core", None)), Vec::new()));
        READY.clone()
    }

    pub(crate) fn backend(&self) -> &Arc<dyn backend::Event> {
        &self.backend
    }

    /// Where the command is. Never blocks.
    #[must_use]
    pub fn status(&self) -> EventStatus {
        self.backend.status()
    }

    /// Blocks until the command is done.
    ///
    /// # Errors
    /// What made the command fail: [`Error::Task`], or [`Error::Dependency`] where something it used had failed.
    pub fn wait(&self) -> Result<()> {
        self.backend.wait()
    }

    /// Waits for all events, the failed ones too.
    ///
    /// # Errors
    /// The first failure.
    pub fn wait_all(events: &[Self]) -> Result<()> {
        events.iter().map(Self::wait).fold(Ok(()), Result::and)
    }

    /// The failure of a command that failed.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        self.backend.error()
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
        self.backend.profile().ok_or_else(|| {
            if status.is_terminal() {
                Error::unsupported(
                    "event",
                    "of a queue without profiling",
                    "an event with time stamps",
                    "create the queue with QueueProperties { profiling: true, .. }",
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
