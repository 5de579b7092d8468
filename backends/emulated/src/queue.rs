//! Queues that hand all they take to a queue of the host, and events that stand for the host's.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use stridewise_core::backend::{Command, Event, EventStatus, Profile, Queue, Submitted, Wait};
use stridewise_core::{Error, Result};

use crate::DRIVER;

pub(crate) struct EmulatedQueue(Arc<dyn Queue>);

impl EmulatedQueue {
    pub(crate) fn new(host: Arc<dyn Queue>) -> Self {
        Self(host)
    }
}

impl Queue for EmulatedQueue {
    unsafe fn submit(&self, command: Command, waits: &[Wait]) -> Result<Submitted> {
        let waits: Vec<Wait> = waits
            .iter()
            .map(|wait| Wait { event: EmulatedEvent::below(&wait.event), dependency: wait.dependency })
            .collect();
        // SAFETY: the command is valid, its memory the host's, and its waits are the host's events, so what the caller promises of
        // this submission holds of that one. What is left to do is handed on.
        let mut submitted = unsafe { self.0.submit(command, &waits)? };
        submitted.event = EmulatedEvent::of(submitted.event);
        Ok(submitted)
    }
    fn flush(&self) -> Result<()> {
        self.0.flush()
    }
    fn finish(&self) -> Result<()> {
        self.0.finish()
    }
}

/// An event of the host's, as one of this driver.
pub(crate) struct EmulatedEvent(Arc<dyn Event>);

impl EmulatedEvent {
    pub(crate) fn of(host: Arc<dyn Event>) -> Arc<dyn Event> {
        Arc::new(Self(host))
    }

    /// The host's event that one of this driver stands for.
    fn below(event: &Arc<dyn Event>) -> Arc<dyn Event> {
        let any: &dyn Any = &**event;
        // All that core names here is of this driver.
        any.downcast_ref::<Self>().map_or_else(|| Arc::clone(event), |event| Arc::clone(&event.0))
    }
}

impl Event for EmulatedEvent {
    fn status(&self) -> EventStatus {
        self.0.status()
    }
    fn error(&self) -> Option<Error> {
        self.0.error()
    }
    fn wait(&self) -> Result<()> {
        self.0.wait()
    }
    fn wait_timeout(&self, timeout: Duration) -> Result<bool> {
        self.0.wait_timeout(timeout)
    }
    fn on_complete(&self, callback: Box<dyn FnOnce() + Send>) {
        self.0.on_complete(callback);
    }
    fn profile(&self) -> Option<Profile> {
        self.0.profile()
    }
    fn driver(&self) -> &'static str {
        DRIVER
    }
}

impl fmt::Debug for EmulatedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{DRIVER}: {:?}", self.0)
    }
}
