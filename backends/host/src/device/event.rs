//! The host's events, whose waiters take part in the work.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use smallvec::SmallVec;
use stridewise_core::backend::primitives::{Instant, Mutex, MutexGuard, hint};
use stridewise_core::backend::{Event, EventStatus, Profile, Signal, assert_unlocked};
use stridewise_core::{Error, Result};

use super::state::DeviceState;
use crate::DRIVER;
use crate::fork_join::{Job, LINGER, Pool};

/// How often a waiter on a thread that the device's workers run on looks again: nobody else may be left to run what has become
/// ready.
const AGAIN: Duration = Duration::from_millis(1);

/// The event of a command. A thread that waits for one runs the command itself, where no worker has begun it, or one that
/// it waits for; and helps with parts that are not claimed, where one has. It never runs anything that its event does not
/// need.
pub(crate) struct HostEvent {
    signal: Signal,
    /// Where the command is, as long as it is neither done nor was done on submission.
    way: Mutex<Option<Box<Way>>>,
}

struct Way {
    device: Arc<DeviceState>,
    /// Rough time of the command on one thread.
    estimate: Duration,
    /// The waits that were not terminal; none once it is ready.
    behind: SmallVec<[Arc<dyn Event>; 4]>,
}

/// What a waiter can do about an event.
enum Action {
    /// Nothing: it is terminal.
    Over,
    /// Run this, for this pool.
    Run(Box<dyn Job>, Arc<Pool>),
    /// Ask this one, which it waits for.
    Behind(Arc<dyn Event>),
    /// Wait, or help those who run it.
    Elsewhere,
}

/// How long a wait may last.
#[derive(Clone, Copy)]
struct Patience {
    begin: Instant,
    /// None: as long as it takes.
    timeout: Option<Duration>,
}

impl Patience {
    fn new(timeout: Option<Duration>) -> Self {
        Self { begin: Instant::now(), timeout }
    }

    /// What is left of the time, if there is an end to it.
    fn left(&self) -> Option<Duration> {
        self.timeout.map(|timeout| timeout.saturating_sub(self.begin.elapsed()))
    }

    /// Whether there is time to take part in work of about so long, for this pool; on a thread that its workers run on nobody else
    /// may be left to do it.
    fn has(&self, estimate: Duration, pool: &Pool) -> bool {
        self.left().is_none_or(|left| !left.is_zero() && (estimate <= left || pool.is_own_thread()))
    }
}

impl HostEvent {
    /// An event of a command just submitted.
    pub(crate) fn new() -> Self {
        Self { signal: Signal::new(DRIVER), way: Mutex::new(None) }
    }

    /// Notes where the command goes: to the device's pool, once these are terminal.
    pub(crate) fn send(&self, device: &Arc<DeviceState>, estimate: Duration, behind: &[Arc<dyn Event>]) {
        *self.way() = Some(Box::new(Way {
            device: Arc::clone(device),
            estimate,
            behind: behind.iter().map(Arc::clone).collect(),
        }));
    }

    /// Notes that all waits are terminal.
    pub(crate) fn ready(&self) {
        let behind = self.way().as_mut().map(|way| std::mem::take(&mut way.behind));
        // Outside the lock: the last owner of an event may be this list.
        drop(behind);
    }

    /// Marks the execution as begun.
    pub(crate) fn start(&self) {
        self.signal.start();
    }

    /// Sets the outcome, wakes the waiters and calls the callbacks.
    pub(crate) fn complete(&self, outcome: Result<()>, profile: Option<Profile>) {
        let way = self.way().take();
        self.signal.complete(outcome, profile);
        // Last, as it may own the device.
        drop(way);
    }

    /// The number of the command in its pool.
    pub(crate) fn command(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn way(&self) -> MutexGuard<'_, Option<Box<Way>>> {
        // Nothing in here panics while the lock is held, so poison means nothing.
        self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pool that the command goes to, where there is time for it.
    fn pool(&self, patience: Patience) -> Option<Arc<Pool>> {
        let way = self.way();
        let way = way.as_ref()?;
        way.device.started().filter(|pool| patience.has(way.estimate, pool)).cloned()
    }

    fn action(&self, patience: Patience) -> Action {
        if self.signal.status().is_terminal() {
            return Action::Over;
        }
        let pool = {
            let way = self.way();
            let Some(way) = way.as_ref() else { return Action::Elsewhere };
            if !way.behind.is_empty() {
                let open =
                    |event: &&Arc<dyn Event>| host(event.as_ref()).is_some() && !event.status().is_terminal();
                return way
                    .behind
                    .iter()
                    .find(open)
                    .map_or(Action::Elsewhere, |event| Action::Behind(Arc::clone(event)));
            }
            way.device.started().filter(|pool| patience.has(way.estimate, pool)).cloned()
        };
        pool.and_then(|pool| pool.take(self.command()).map(|job| Action::Run(job, pool)))
            .unwrap_or(Action::Elsewhere)
    }

    /// Runs what the event needs and nobody has begun. At the end it is terminal, or in other hands.
    fn run(&self, patience: Patience) {
        // From the event to what it waits for, and so on.
        let mut chain: SmallVec<[Arc<dyn Event>; 4]> = SmallVec::new();
        loop {
            let action = match chain.last() {
                Some(last) => host(last.as_ref()).map_or(Action::Elsewhere, |last| last.action(patience)),
                None => self.action(patience),
            };
            match action {
                Action::Over => {
                    if chain.pop().is_none() {
                        return;
                    }
                }
                Action::Run(job, pool) => {
                    job.run();
                    pool.leave();
                }
                Action::Behind(event) => chain.push(event),
                Action::Elsewhere => return,
            }
        }
    }

    fn take_part(&self, patience: Patience) {
        self.run(patience);
        let Some(pool) = self.pool(patience) else { return };
        let mut news = pool.news();
        let mut begin = Instant::now();
        while !self.signal.status().is_terminal() && begin.elapsed() < LINGER {
            if let Some(fork) = pool.join(self.command()) {
                fork.help();
                pool.leave();
                begin = Instant::now();
            }
            while pool.news() == news && !self.signal.status().is_terminal() && begin.elapsed() < LINGER {
                hint::spin_loop();
            }
            if pool.news() != news {
                news = pool.news();
                self.run(patience);
            }
        }
    }

    /// Waits, and takes part in the work as far as there is time. Whether the event is terminal.
    fn wait_for(&self, timeout: Option<Duration>) -> Result<bool> {
        let patience = Patience::new(timeout);
        loop {
            if !self.status().is_terminal() {
                assert_unlocked("a wait");
                self.take_part(patience);
            }
            let left = patience.left();
            let is_own = || {
                let way = self.way();
                way.as_ref().and_then(|way| way.device.started()).is_some_and(|pool| pool.is_own_thread())
            };
            let again = (!self.status().is_terminal() && is_own()).then_some(AGAIN);
            let time = match (left, again) {
                (Some(left), Some(again)) => Some(left.min(again)),
                (left, again) => left.or(again),
            };
            let done = match time {
                None => self.signal.wait().map(|()| true),
                Some(time) => self.signal.wait_timeout(time),
            };
            if done? {
                return Ok(true);
            }
            if patience.left() == Some(Duration::ZERO) {
                return Ok(false);
            }
        }
    }
}

/// An event of this driver's queues, which it may not be: a bridge from another driver is a [`Signal`].
fn host<'a>(event: &'a (dyn Event + 'static)) -> Option<&'a HostEvent> {
    let event: &dyn Any = event;
    event.downcast_ref()
}

impl Event for HostEvent {
    fn status(&self) -> EventStatus {
        self.signal.status()
    }

    fn error(&self) -> Option<Error> {
        self.signal.error()
    }

    fn wait(&self) -> Result<()> {
        self.wait_for(None).map(drop)
    }

    fn wait_timeout(&self, timeout: Duration) -> Result<bool> {
        self.wait_for(Some(timeout))
    }

    fn on_complete(&self, callback: Box<dyn FnOnce() + Send>) {
        self.signal.on_complete(callback);
    }

    fn profile(&self) -> Option<Profile> {
        self.signal.profile()
    }

    fn driver(&self) -> &'static str {
        self.signal.driver()
    }
}

impl fmt::Debug for HostEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.signal.fmt(f)
    }
}
