//! The thread of a device that does what a callback of the runtime must not: calling back, and enqueueing what was held
//! back.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use stridewise_core::backend::start_thread;
use stridewise_core::{Error, Result};

use crate::event::ClEvent;

/// What the worker does.
pub(crate) enum Job {
    /// Note the end of a command that has ended.
    Settle(Arc<ClEvent>),
    /// Wait for the end of a command whose runtime does not call back.
    Wait(Arc<ClEvent>),
    /// Something that was held back until now.
    Run(Box<dyn FnOnce() + Send>),
}

/// The sending end of the worker's list of jobs; the thread ends when it is dropped.
pub(crate) struct Worker(Mutex<Sender<Job>>);

impl Worker {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system cannot start it.
    pub(crate) fn start() -> Result<Self> {
        let (sender, jobs) = channel::<Job>();
        let thread = std::thread::Builder::new().name("stridewise-opencl".to_owned());
        let thread = start_thread(thread, move || {
            for job in jobs {
                match job {
                    Job::Settle(event) => event.settle(),
                    Job::Wait(event) => event.wait_in_runtime(),
                    Job::Run(job) => job(),
                }
            }
        });
        match thread {
            Ok(_) => Ok(Self(Mutex::new(sender))),
            Err(error) => Err(Error::runtime(
                "thread::spawn",
                error,
                "a thread for the device's callbacks",
                "let the process have more threads",
            )),
        }
    }

    /// The sending end, for whoever must not be the last owner of a device.
    pub(crate) fn jobs(&self) -> Sender<Job> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until everything is done that was sent before, but not for longer than until then.
    pub(crate) fn settle(&self, deadline: Instant) {
        let (done, told) = channel();
        self.send(Job::Run(Box::new(move || {
            // Who waited no longer is not told.
            let _ = done.send(());
        })));
        let _ = told.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    }

    pub(crate) fn send(&self, job: Job) {
        // Sent only while a `Shared`, and so the thread, is alive; a job that finds no thread has nobody waiting.
        let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).send(job);
    }
}
