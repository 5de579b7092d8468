//! The host's queues.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use smallvec::SmallVec;
use stridewise_core::backend::sync::{Mutex, MutexGuard};
use stridewise_core::backend::{
    Command, Dependency, Event, EventStatus, Queue, QueueProperties, Step, Submitted, Wait,
};
use stridewise_core::{Error, Result};

use super::event::HostEvent;
use super::state::DeviceState;
use super::task::{self, Task};
use crate::guard;

/// Work below this estimate is done on the calling thread. Waking a parked worker takes 10 to 25 µs,
/// so the work is over before a worker could begin it, and an event that is complete on return
/// costs its dependents nothing.
const INLINE_NS: u64 = 20_000;
/// The list of unfinished events is searched for finished ones when it has grown to this length, or to twice what the
/// last search left: each is looked at a few times, whatever this number is.
const PRUNE_LEN: usize = 64;

/// The road of a command that is small enough: see [`road`].
pub(super) const CALLER: &str = "the calling thread";

/// Who runs a command whose waits are terminal, and its rough time on one thread.
pub(super) fn road(command: &Command) -> (&'static str, Option<Duration>) {
    let estimate = task::estimate_ns(command);
    let road = match (command, estimate) {
        (_, Some(ns)) if ns < INLINE_NS => CALLER,
        (Command::HostTask(_), _) => "a thread of its own",
        (_, Some(_)) => "the pool",
        _ => CALLER,
    };
    (road, estimate.map(Duration::from_nanos))
}

/// A queue of a host device. It holds no work itself: a task owns what it needs, so a queue can be dropped at any time.
pub(crate) struct HostQueue {
    device: Arc<DeviceState>,
    properties: QueueProperties,
    state: Mutex<State>,
}

struct State {
    /// The last event of an in-order queue.
    last: Option<Arc<HostEvent>>,
    /// Events that were not terminal when the list was last pruned.
    unfinished: Vec<Arc<HostEvent>>,
    prune_at: usize,
}

impl HostQueue {
    pub(crate) fn new(device: Arc<DeviceState>, properties: QueueProperties) -> Self {
        let state = State { last: None, unfinished: Vec::new(), prune_at: PRUNE_LEN };
        Self { device, properties, state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics while the lock is held, so poison means nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn track(&mut self, event: &Arc<HostEvent>) {
        if self.unfinished.len() >= self.prune_at {
            self.unfinished.retain(|event| !event.status().is_terminal());
            self.prune_at = PRUNE_LEN.max(2 * self.unfinished.len());
        }
        self.unfinished.push(Arc::clone(event));
    }
}

impl Queue for HostQueue {
    unsafe fn submit(&self, mut command: Command, waits: &[Wait]) -> Result<Submitted> {
        let submitted = self.properties.profiling.then(|| self.device.origin.elapsed());
        if !matches!(
            command,
            Command::Step(
                Step::Launch(_) | Step::Stages(_) | Step::Kernel(_) | Step::Copy { .. } | Step::Fill { .. }
            ) | Command::Sequence(_)
                | Command::Advise { .. }
                | Command::Barrier
                | Command::HostTask(_)
        ) {
            return Err(Error::unsupported(
                "command",
                format!("{command:?}"),
                "a launch, stages, a sequence, a kernel, copy, fill, hint, barrier or host task",
                "use a device of another driver, or a later version of this one",
            ));
        }
        guard::redirect(&mut command);

        let mut pending: SmallVec<[Arc<dyn Event>; 4]> = SmallVec::new();
        let mut inherits = SmallVec::new();
        for wait in waits {
            let status = wait.event.status();
            if !status.is_terminal() {
                pending.push(Arc::clone(&wait.event));
            }
            if wait.dependency == Dependency::Data && status != EventStatus::Complete {
                inherits.push(Arc::clone(&wait.event));
            }
        }
        let estimate = task::estimate_ns(&command);
        let small = estimate.filter(|&ns| ns < INLINE_NS);
        let event = Arc::new(HostEvent::new());
        if self.properties.in_order || small.is_none() || !pending.is_empty() {
            // One critical section: of two submissions to an in-order queue, one is the other's predecessor.
            let mut state = self.lock();
            if self.properties.in_order
                && let Some(last) = state.last.as_ref().filter(|event| !event.status().is_terminal())
            {
                // A wait for order: its failure is its own.
                pending.push(Arc::clone(last) as Arc<dyn Event>);
            }
            if small.is_none() || !pending.is_empty() {
                if estimate.is_some() {
                    // Here, where a failure still means that nothing was enqueued.
                    self.device.pool()?;
                }
                state.track(&event);
            }
            if self.properties.in_order {
                state.last = Some(Arc::clone(&event));
            }
        }

        let task = Task {
            device: Arc::clone(&self.device),
            event: Arc::clone(&event),
            command,
            inherits,
            submitted,
        };
        // Under core's locks nothing is computed, and no worker is woken either: that takes as long as small work does.
        Ok(Submitted::with_rest(event, move || {
            pending.retain(|event| !event.status().is_terminal());
            match small {
                Some(estimate) if pending.is_empty() => task.run_inline(estimate),
                _ => task.after(&pending),
            }
        }))
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn finish(&self) -> Result<()> {
        let unfinished: Vec<_> =
            self.lock().unfinished.iter().filter(|event| !event.status().is_terminal()).cloned().collect();
        for event in unfinished {
            // A command's failure is its event's.
            let _ = event.wait();
        }
        Ok(())
    }
}
