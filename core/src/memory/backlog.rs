//! What is under way on a device, and how much may be.
//!
//! A command counts from its submission until it is terminal. Who submits beyond the bound waits for the oldest command of
//! the device. That is right for whatever ends by itself. A host task may wait for the program to go on, and so may all that
//! is behind one, and whatever a device says it does not end ([`Capabilities::ends_commands`](crate::backend::Capabilities::ends_commands)):
//! such commands are *open*, and are waited for a moment only.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use crate::backend::{Backlog, Event, Wait, wait_for};
use crate::runtime::Queue;
use crate::sync::{Home, assert_unlocked, is_left_behind};
use crate::sync::{Mutex, MutexGuard};

/// Commands above which the list is searched for ended ones, or twice what the last search left: each is looked at a few times,
/// whatever this number is.
const PRUNE_LEN: usize = 32;
/// Commands that may be under way whatever they touch.
const FEW: usize = 2;
/// How long an open command is waited for, once: afterwards it is known to wait for somebody. It bounds how long that keeps a caller.
pub(crate) const PATIENCE: Duration = Duration::from_millis(100);
/// How long the oldest command is waited for before it is looked whether others have ended meanwhile: it may go on for ever, and
/// they need not wait for it.
const SLICE: Duration = Duration::from_millis(10);

/// The commands under way on a device.
pub(crate) struct UnderWay(Mutex<State>);

struct State {
    commands: VecDeque<Command>,
    bytes: usize,
    prune_at: usize,
    bound: Backlog,
    /// An open command that was waited for in vain.
    stuck: Option<Arc<dyn Event>>,
    /// Another one that was, which may go on for ever: those behind it are waited for next.
    slow: Option<Arc<dyn Event>>,
    /// The process of the commands.
    home: Home,
    /// Queues of which a fork left commands behind, until somebody is told.
    left_behind: Vec<u64>,
}

struct Command {
    event: Arc<dyn Event>,
    queue: u64,
    bytes: usize,
    is_open: bool,
}

impl State {
    /// Notes, in a process that was forked, whose commands were under way.
    #[cold]
    fn leave_behind(&mut self) {
        self.home = Home::here();
        let left = |command: &&Command| command.event.error().is_some_and(|error| is_left_behind(&error));
        self.left_behind.extend(self.commands.iter().filter(left).map(|command| command.queue));
        self.left_behind.sort_unstable();
        self.left_behind.dedup();
        self.prune();
    }

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
        self.slow.take_if(|slow| slow.status().is_terminal());
    }

    /// The command of an event, if it ends by itself.
    fn closed(&self, event: &Arc<dyn Event>) -> Option<&Command> {
        self.commands.iter().rev().find(|command| Arc::ptr_eq(&command.event, event) && !command.is_open)
    }

    /// The next command to wait for of those that end by themselves: the oldest, or the next behind one that does not end soon.
    fn next_closed(&self) -> Option<&Command> {
        let is_slow =
            |command: &Command| self.slow.as_ref().is_some_and(|slow| Arc::ptr_eq(slow, &command.event));
        let behind = self.commands.iter().position(is_slow).map_or(0, |at| at + 1);
        let closed = |command: &&Command| !command.is_open;
        self.commands.iter().skip(behind).find(closed).or_else(|| self.commands.iter().find(closed))
    }

    /// Whether too much is under way, as far as it is known.
    fn is_full(&self) -> bool {
        let len = self.commands.len();
        len > self.bound.commands || (len > FEW && self.bytes > self.bound.bytes)
    }
}

impl UnderWay {
    pub(crate) fn new(bound: Backlog) -> Self {
        Self(Mutex::new(State {
            commands: VecDeque::new(),
            bytes: 0,
            prune_at: PRUNE_LEN,
            bound,
            stuck: None,
            slow: None,
            home: Home::here(),
            left_behind: Vec::new(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.home.is_here() {
            state.leave_behind();
        }
        state
    }

    /// Whether a fork left commands of a queue behind, which nobody was told yet.
    pub(crate) fn take_left_behind(&self, queue: u64) -> bool {
        let mut state = self.lock();
        let left = state.left_behind.iter().position(|left| *left == queue);
        left.map(|left| state.left_behind.swap_remove(left)).is_some()
    }

    /// Adds the events of unfinished commands: of those that end by themselves, and of open ones.
    pub(crate) fn unfinished(&self, closed: &mut Vec<Arc<dyn Event>>, open: &mut Vec<Arc<dyn Event>>) {
        for command in self.lock().commands.iter().filter(|command| !command.event.status().is_terminal()) {
            let list = if command.is_open { &mut *open } else { &mut *closed };
            list.push(Arc::clone(&command.event));
        }
    }

    pub(crate) fn bound(&self) -> Backlog {
        self.lock().bound
    }

    pub(crate) fn set_bound(&self, bound: Backlog) {
        self.lock().bound = bound;
        self.pace(&[]);
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
        let is_open = is_open || !queue.device().capabilities().ends_commands;
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

    /// Waits until no more is under way than may be, or until what the caller has added is over: what then is too much does not
    /// end, and the caller does not wait for it.
    pub(crate) fn pace(&self, own: &[Arc<dyn Event>]) {
        loop {
            let unfinished = own.iter().find(|event| !event.status().is_terminal());
            if unfinished.is_none() && !own.is_empty() {
                return;
            }
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
                let own = unfinished.filter(|_| state.slow.is_some()).and_then(|own| state.closed(own));
                let Some(next) = own.or(state.next_closed()).or(state.commands.front()) else { return };
                if next.is_open && state.stuck.as_ref().is_some_and(|stuck| Arc::ptr_eq(stuck, &next.event)) {
                    return;
                }
                (Arc::clone(&next.event), next.is_open)
            };
            assert_unlocked("a wait");
            let ended = if is_open { event.wait_timeout(PATIENCE) } else { wait_for(&*event, SLICE) };
            match ended {
                Ok(true) => {}
                Ok(false) if is_open => {
                    self.lock().stuck = Some(event);
                    return;
                }
                Ok(false) => self.lock().slow = Some(event),
                // A failure is its command's; who is interrupted waits no longer.
                Err(_) if event.status().is_terminal() => {}
                Err(_) => return,
            }
        }
    }

    /// Waits until one of the commands that end by themselves has ended: the oldest, or another one before it. Whether one has.
    pub(crate) fn wait_for_one(&self) -> bool {
        let closed = |state: &State| state.commands.iter().filter(|command| !command.is_open).count();
        // With those that have ended since somebody looked: their memory may have come back after the caller asked for some.
        let mut known = closed(&self.lock());
        assert_unlocked("a wait");
        loop {
            let next = {
                let mut state = self.lock();
                state.prune();
                let left = closed(&state);
                if left < known {
                    return true;
                }
                known = left;
                state.next_closed().map(|command| Arc::clone(&command.event))
            };
            let Some(event) = next else { return false };
            match wait_for(&*event, SLICE) {
                Ok(false) => self.lock().slow = Some(event),
                Err(_) if !event.status().is_terminal() => return false,
                _ => {}
            }
        }
    }
}

/// The host tasks of all devices and what is behind them, as far as it has not ended: what waits for one of another device is
/// open, too. They are not kept alive by it.
struct Open {
    /// How many are in the list, for who looks without the lock.
    len: AtomicUsize,
    events: Mutex<Vec<Weak<dyn Event>>>,
}

static OPEN: Open = Open { len: AtomicUsize::new(0), events: Mutex::new(Vec::new()) };

impl Open {
    /// Calls a function with the list, without what has ended.
    fn with<R>(&self, f: impl FnOnce(&mut Vec<Weak<dyn Event>>) -> R) -> R {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        // To be dropped without the lock: the last owner of an event may be this.
        let mut seen = Vec::new();
        events.retain(|event| {
            event.upgrade().is_some_and(|event| {
                let goes_on = !event.status().is_terminal();
                seen.push(event);
                goes_on
            })
        });
        let result = f(&mut events);
        self.len.store(events.len(), Ordering::Release);
        drop(events);
        drop(seen);
        result
    }

    fn add(&self, event: &Arc<dyn Event>) {
        self.with(|events| events.push(Arc::downgrade(event)));
    }

    /// Whether one of some events is in the list.
    fn has_any(&self, of: &[Wait]) -> bool {
        let is_open = |events: &[Weak<dyn Event>], wait: &Wait| {
            events.iter().any(|open| std::ptr::addr_eq(open.as_ptr(), Arc::as_ptr(&wait.event)))
        };
        self.with(|events| of.iter().any(|wait| is_open(events, wait)))
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
    OPEN.has_any(waits) || (queue.is_in_order() && last_is_open())
}
