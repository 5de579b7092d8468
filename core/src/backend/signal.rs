//! An event in software: the completion of work that this process does itself.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Duration;

use super::{Event, EventStatus, Profile, SignalHandle};
use crate::error::{Error, Result};
use crate::observe::{self, Doing};
use crate::sync::primitives::atomic::{AtomicU8, Ordering};
use crate::sync::primitives::{Condvar, Instant, Mutex, MutexGuard, thread};
use crate::sync::{Home, left_behind};

/// How long a waiter spins before it sleeps: waking a sleeping thread costs 20 to 26 µs, so shorter work is best
/// waited for awake.
const SPIN: Duration = Duration::from_micros(50);

const SUBMITTED: u8 = 0;
const RUNNING: u8 = 1;
const COMPLETE: u8 = 2;
const FAILED: u8 = 3;

/// An [`Event`] that software completes: the host backend's events, the null backend's, and the bridges between
/// drivers. It goes submitted → running → complete or failed, and its final state is set once.
///
/// In a process that is forked before that, it has failed: whoever would complete it is in the other process, as may be who
/// has its lock, which is only asked for before the end therefore.
pub struct Signal {
    driver: &'static str,
    status: AtomicU8,
    home: Home,
    /// Set before the status is final.
    outcome: OnceLock<Outcome>,
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Clone, Default)]
struct Outcome {
    error: Option<Error>,
    profile: Option<Profile>,
}

#[derive(Default)]
struct Inner {
    callbacks: Vec<Box<dyn FnOnce() + Send>>,
    sleepers: usize,
}

impl Signal {
    /// An event of a driver, just submitted.
    #[must_use]
    pub fn new(driver: &'static str) -> Self {
        Self {
            driver,
            status: AtomicU8::new(SUBMITTED),
            home: Home::here(),
            outcome: OnceLock::new(),
            inner: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// An event of work that is done already.
    #[must_use]
    pub fn completed(driver: &'static str, profile: Option<Profile>) -> Self {
        let mut signal = Self::new(driver);
        signal.outcome = OnceLock::from(Outcome { error: None, profile });
        signal.status = AtomicU8::new(COMPLETE);
        signal
    }

    /// An event of work that has failed already.
    #[must_use]
    pub(crate) fn failed(driver: &'static str, error: Error) -> Self {
        let mut signal = Self::new(driver);
        signal.outcome = OnceLock::from(Outcome { error: Some(error), profile: None });
        signal.status = AtomicU8::new(FAILED);
        signal
    }

    /// An event of a driver and the means to complete it. A handle that is dropped without an outcome fails the event, so
    /// that nothing waits for ever.
    #[must_use]
    pub fn promise(driver: &'static str) -> SignalHandle {
        let signal = Arc::new(Self::new(driver));
        let promise = Promise(Some(Arc::clone(&signal)));
        SignalHandle { event: signal, complete: Box::new(move |outcome| promise.keep(outcome)) }
    }

    /// Marks the execution as begun.
    pub fn start(&self) {
        // A lost race means that the event is terminal already, which stands.
        let _ = self.status.compare_exchange(SUBMITTED, RUNNING, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Sets the outcome, wakes the waiters and calls the callbacks. The first call counts; returns whether it was.
    pub fn complete(&self, outcome: Result<()>, profile: Option<Profile>) -> bool {
        let callbacks = {
            if self.status().is_terminal() {
                return false;
            }
            let mut inner = self.lock();
            if self.status().is_terminal() {
                return false;
            }
            let error = outcome.err();
            let status = if error.is_some() { FAILED } else { COMPLETE };
            let _ = self.outcome.set(Outcome { error, profile });
            self.status.store(status, Ordering::Release);
            if inner.sleepers > 0 {
                self.changed.notify_all();
            }
            std::mem::take(&mut inner.callbacks)
        };
        let seen = (!callbacks.is_empty()).then(|| observe::span(Doing::Callback, "callbacks", 0, 0));
        // Outside the lock: a callback may ask the event for its status. One that panics, against its contract, must not
        // take the others with it; its panic has been reported where it happened.
        for callback in callbacks {
            let _ = catch_unwind(AssertUnwindSafe(callback));
        }
        drop(seen);
        true
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing in here panics while the lock is held, so poison means nothing.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outcome(&self) -> Result<()> {
        self.error().map_or(Ok(()), Err)
    }

    /// Blocks until the event is terminal, or for a time where there is one. Whether it is terminal.
    fn wait_for(&self, timeout: Option<Duration>) -> Result<bool> {
        if self.status().is_terminal() {
            return self.outcome().map(|()| true);
        }
        let begin = Instant::now();
        let spin = timeout.map_or(SPIN, |timeout| timeout.min(SPIN));
        while begin.elapsed() < spin && !self.status().is_terminal() {
            // Not a bare spin: the system likes to wake a worker on the processor of the thread that woke it, where it
            // could not begin before this one sleeps (a 128 KiB copy: 7 µs with the yield, 64 µs without).
            thread::yield_now();
        }
        if !self.status().is_terminal() {
            let mut inner = self.lock();
            inner.sleepers += 1;
            while !self.status().is_terminal() {
                // One that is woken for nothing sleeps for the rest.
                let left = timeout.map(|timeout| timeout.saturating_sub(begin.elapsed()));
                inner = match left {
                    None => self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner),
                    Some(Duration::ZERO) => break,
                    Some(left) => {
                        self.changed.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0
                    }
                };
            }
            inner.sleepers -= 1;
        }
        if self.status().is_terminal() { self.outcome().map(|()| true) } else { Ok(false) }
    }
}

impl Event for Signal {
    fn status(&self) -> EventStatus {
        match self.status.load(Ordering::Acquire) {
            SUBMITTED | RUNNING if !self.home.is_here() => EventStatus::Failed,
            SUBMITTED => EventStatus::Submitted,
            RUNNING => EventStatus::Running,
            COMPLETE => EventStatus::Complete,
            _ => EventStatus::Failed,
        }
    }

    fn error(&self) -> Option<Error> {
        match self.status.load(Ordering::Acquire) {
            COMPLETE => None,
            FAILED => self.outcome.get().and_then(|outcome| outcome.error.clone()),
            _ if self.home.is_here() => None,
            _ => Some(left_behind()),
        }
    }

    fn wait(&self) -> Result<()> {
        self.wait_for(None).map(drop)
    }

    fn wait_timeout(&self, timeout: Duration) -> Result<bool> {
        self.wait_for(Some(timeout))
    }

    fn on_complete(&self, callback: Box<dyn FnOnce() + Send>) {
        if self.status().is_terminal() {
            return callback();
        }
        let mut inner = self.lock();
        if self.status().is_terminal() {
            drop(inner);
            callback();
        } else {
            inner.callbacks.push(callback);
        }
    }

    fn profile(&self) -> Option<Profile> {
        match self.status.load(Ordering::Acquire) {
            COMPLETE | FAILED => self.outcome.get().and_then(|outcome| outcome.profile),
            _ => None,
        }
    }

    fn driver(&self) -> &'static str {
        self.driver
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signal({}, {:?})", self.driver, self.status())
    }
}

/// An event that somebody promised to complete.
struct Promise(Option<Arc<Signal>>);

impl Promise {
    fn keep(mut self, outcome: Result<()>) {
        if let Some(signal) = self.0.take() {
            signal.complete(outcome, None);
        }
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        // A broken promise must not leave its dependents waiting for ever.
        if let Some(signal) = self.0.take() {
            let error = Error::task(
                "signal",
                "dropped without an outcome",
                "a call of `complete`",
                "keep the handle until the work that it stands for is done",
            );
            signal.complete(Err(error), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn callbacks_run_exactly_once_and_the_first_outcome_stands() {
        let signal = Signal::new("test");
        let count = Arc::new(AtomicUsize::new(0));
        let add = |c: &Arc<AtomicUsize>| {
            let c = Arc::clone(c);
            Box::new(move || {
                c.fetch_add(1, Ordering::Relaxed);
            })
        };
        signal.on_complete(add(&count));
        assert!(signal.complete(Err(Error::task("task", "1", "2", "3")), None));
        assert!(!signal.complete(Ok(()), None));
        signal.on_complete(add(&count));
        assert_eq!(count.load(Ordering::Relaxed), 2);
        assert_eq!(signal.status(), EventStatus::Failed);
        assert!(signal.wait().is_err());
    }

    #[test]
    fn a_callback_that_panics_takes_no_other_with_it() {
        let signal = Signal::new("test");
        let called = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&called);
        signal.on_complete(Box::new(|| panic!("on purpose")));
        signal.on_complete(Box::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        }));
        assert!(signal.complete(Ok(()), None));
        assert_eq!(called.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn sleepers_wake() {
        let signal = Arc::new(Signal::new("test"));
        let waiters: Vec<_> = (0..4)
            .map(|_| {
                let signal = Arc::clone(&signal);
                std::thread::spawn(move || signal.wait().is_ok())
            })
            .collect();
        std::thread::sleep(Duration::from_millis(5));
        signal.start();
        assert_eq!(signal.status(), EventStatus::Running);
        signal.complete(Ok(()), None);
        assert!(waiters.into_iter().all(|w| w.join().unwrap()));
    }

    /// An event that has the trait's own `wait_timeout`.
    #[derive(Debug)]
    struct Plain(Arc<Signal>);

    impl Event for Plain {
        fn status(&self) -> EventStatus {
            self.0.status()
        }
        fn error(&self) -> Option<Error> {
            self.0.error()
        }
        fn wait(&self) -> Result<()> {
            self.0.wait()
        }
        fn on_complete(&self, callback: Box<dyn FnOnce() + Send>) {
            self.0.on_complete(callback);
        }
        fn profile(&self) -> Option<Profile> {
            self.0.profile()
        }
        fn driver(&self) -> &'static str {
            self.0.driver()
        }
    }

    const LONG: Duration = Duration::from_millis(20);

    #[test]
    fn a_wait_with_a_time_out_ends_with_the_time_or_the_command() {
        for plain in [false, true] {
            let signal = Arc::new(Signal::new("test"));
            let event: Arc<dyn Event> = match plain {
                true => Arc::new(Plain(Arc::clone(&signal))),
                false => Arc::clone(&signal) as _,
            };
            for timeout in [Duration::ZERO, Duration::from_nanos(1), LONG] {
                let begin = Instant::now();
                assert!(!event.wait_timeout(timeout).unwrap());
                assert!(begin.elapsed() >= timeout, "{:?} of {timeout:?}", begin.elapsed());
            }
            assert_eq!(signal.lock().sleepers, 0);
            // A time without an end is none.
            for timeout in [Duration::from_secs(600), Duration::MAX] {
                let signal = Arc::new(Signal::new("test"));
                let event = Plain(Arc::clone(&signal));
                let waiters = [
                    std::thread::spawn({
                        let signal = Arc::clone(&signal);
                        move || signal.wait_timeout(timeout)
                    }),
                    std::thread::spawn(move || event.wait_timeout(timeout)),
                ];
                std::thread::sleep(LONG);
                signal.complete(Ok(()), None);
                assert!(waiters.into_iter().all(|waiter| waiter.join().unwrap().unwrap()));
            }
            signal.complete(Err(Error::task("task", "1", "2", "3")), None);
            for timeout in [Duration::ZERO, LONG] {
                assert!(matches!(event.wait_timeout(timeout), Err(Error::Task(_))));
            }
        }
    }

    #[test]
    fn waits_that_end_with_their_time_leave_nothing() {
        let signal = Signal::new("test");
        for _ in 0..100 {
            assert!(!signal.wait_timeout(Duration::from_micros(100)).unwrap());
        }
        let inner = signal.lock();
        assert_eq!((inner.callbacks.len(), inner.sleepers), (0, 0));
    }
}
