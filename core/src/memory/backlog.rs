//! What is under way on a device, and how much may be.
//!
//! A command counts from its submission until it is terminal. Who submits beyond the bound waits for the oldest command of
//! the device. That is right for whatever ends by itself. A host task may wait for the program to go on, and so may all that
//! is behind one: such commands are *open*, and are waited for a moment only.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::backend::{Backlog, Event, Wait, assert_unlocked};
use crate::runtime::Queue;

/// Commands above which the list is searched for ended ones, or twice what the last search left.
const PRUNE_LEN: usize = 32;
/// Commands that may be under way whatever they touch.
const FEW: usize = 2;
/// How long an open command is waited for, once: afterwards it is known to wait for somebody.
const PATIENCE: Duration = Duration::from_millis(100);

/// The commands under way on a device.
pub(crate) struct UnderWay(Mutex<State>);

struct State {
    commands: VecDeque<Command>,
    bytes: usize,
    prune_at: usize,
    bound: Backlog,
    /// An open command that was waited for in vain.
    stuck: Option<Arc<dyn Event>>,
}

struct Command {
    event: Arc<dyn Event>,
    queue: u64,
    bytes: usize,
    is_open: bool,
}

impl State {
    /// Forgets what has ended.
    fn prune(&mut self) {
        let bytes = &mut self.bytes;
        self.commands.retain(|command| {
            let ended = command.event.status().is_terminal();
            if ended {
                *bytes -= command.bytes;
            }
            !ended
        });
        self.prune_at = PRUNE_LEN.max(2 * self.commands.len());
    }

    /// Whether too much is under way, as far as it is known.
    fn is_full(&self) -> bool {
        let len = self.commands.len();
        len > self.bound.commands || (len > FEW && self.bytes > self.bound.bytes)
    }
}

impl UnderWay {
    pub(crate) fn new(bound: Backlog) -> Self {
        let state = State { commands: VecDeque::new(), bytes: 0, prune_at: PRUNE_LEN, bound, stuck: None };
        Self(Mutex::new(state))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn bound(&self) -> Backlog {
        self.lock().bound
    }

    pub(crate) fn set_bound(&self, bound: Backlog) {
        self.lock().bound = bound;
        self.pace();
    }

    /// Commands that are not terminal, and the bytes that they touch.
    pub(crate) fn count(&self) -> (usize, usize) {
        let mut state = self.lock();
        state.prune();
        (state.commands.len(), state.bytes)
    }

    /// Counts a command that a queue has taken.
    pub(crate) fn add(&self, queue: &Queue, event: Arc<dyn Event>, bytes: usize, is_open: bool) {
        if is_open {
            OPEN.add(&event);
        }
        let mut state = self.lock();
        if state.commands.len() >= state.prune_at {
            state.prune();
        }
        state.bytes += bytes;
        state.commands.push_back(Command { event, queue: queue.id(), bytes, is_open });
    }

    /// The unfinished commands of a queue.
    pub(crate) fn of_queue(&self, queue: u64) -> Vec<Arc<dyn Event>> {
        let state = self.lock();
        let of_queue = state.commands.iter().filter(|command| command.queue == queue);
        of_queue
            .map(|command| &command.event)
            .filter(|event| !event.status().is_terminal())
            .cloned()
            .collect()
    }

    /// Waits until no more is under way than may be.
    pub(crate) fn pace(&self) {
        loop {
            let (event, is_open) = {
                let mut state = self.lock();
                if !state.is_full() {
                    return;
                }
                state.prune();
                if !state.is_full() {
                    return;
                }
                // There are more than none.
                let closed = state.commands.iter().find(|command| !command.is_open);
                let Some(next) = closed.or(state.commands.front()) else { return };
                if next.is_open && state.stuck.as_ref().is_some_and(|stuck| Arc::ptr_eq(stuck, &next.event)) {
                    return;
                }
                (Arc::clone(&next.event), next.is_open)
            };
            assert_unlocked("a wait");
            if !is_open {
                // A failure is its command's; a process that was forked waits for nobody.
                if event.wait().is_err() && !event.status().is_terminal() {
                    return;
                }
            } else if !ends_soon(&*event) {
                self.lock().stuck = Some(event);
                return;
            }
        }
    }

    /// Waits for the oldest command that ends by itself. Whether there was one.
    pub(crate) fn wait_for_one(&self) -> bool {
        let oldest = {
            let mut state = self.lock();
            state.prune();
            state.commands.iter().find(|command| !command.is_open).map(|command| Arc::clone(&command.event))
        };
        assert_unlocked("a wait");
        oldest.is_some_and(|event| {
            let _ = event.wait();
            event.status().is_terminal()
        })
    }
}

/// Whether an event is terminal within a moment.
fn ends_soon(event: &dyn Event) -> bool {
    let begin = Instant::now();
    while !event.status().is_terminal() {
        if begin.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    true
}

/// The open commands of all devices: what waits for one of another device is open, too.
struct Open {
    /// How many are in the list, for who looks without the lock.
    len: AtomicUsize,
    events: Mutex<Vec<Arc<dyn Event>>>,
}

static OPEN: Open = Open { len: AtomicUsize::new(0), events: Mutex::new(Vec::new()) };

impl Open {
    fn add(&self, event: &Arc<dyn Event>) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ended = Vec::new();
        if events.len() == events.capacity() {
            let (over, left) = events.drain(..).partition(|event| event.status().is_terminal());
            (ended, *events) = (over, left);
        }
        events.push(Arc::clone(event));
        self.len.store(events.len(), Ordering::Release);
        drop(events);
        // The last owner of an event may be this list.
        drop(ended);
    }

    fn has(&self, event: &Arc<dyn Event>) -> bool {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.iter().any(|open| Arc::ptr_eq(open, event))
    }
}

/// Whether what waits for these is open: behind a host task, or, on a queue that keeps an order, behind what is.
pub(crate) fn is_open(queue: &Queue, waits: &[Wait]) -> bool {
    if OPEN.len.load(Ordering::Acquire) == 0 {
        return false;
    }
    let last_is_open = || {
        let state = queue.device().backlog_state().lock();
        state
            .commands
            .iter()
            .rev()
            .any(|c| c.queue == queue.id() && c.is_open && !c.event.status().is_terminal())
    };
    waits.iter().any(|wait| OPEN.has(&wait.event)) || (queue.is_in_order() && last_is_open())
}
