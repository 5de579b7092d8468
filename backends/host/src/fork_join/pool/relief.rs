//! Relief for commands that are ready and that nobody begins, as others keep all threads: other threads begin them then, and
//! the system divides the processors' time.
//!
//! As long as all compute and a command is ready, somebody looks every few milliseconds whether anything was begun since. Where
//! nothing was, the pool is *starved*: one command after the other is begun by a thread beside the workers, and who waits for
//! one may run it, too. That ends when one of the computing threads has done what it did. Each such thread runs a command from
//! the beginning to the end, on a stack of its own: nothing is run on the stack of something that it could wait for.

use std::sync::Arc;
use std::time::Duration;

use stridewise_core::backend::primitives::thread;

use super::{Pool, State};
use crate::topology;

/// How often somebody looks. A command waits for two looks at most.
const LOOK: Duration = Duration::from_millis(3);
/// After so many looks that found nothing amiss nobody looks any more, until all compute again.
const LAST_LOOKS: u32 = 300;
/// Threads beside the workers at most: so many commands that never end may be under way besides the workers'.
const MOST: usize = 64;

/// What is known of commands that nobody begins.
#[derive(Default)]
pub(super) struct Relief {
    /// Whether somebody looks.
    watched: bool,
    /// Whether commands are begun by others than the workers.
    pub(super) starved: bool,
    /// Threads beside the workers that run commands.
    threads: usize,
    /// Commands and forks that somebody has begun to run or to help with.
    pub(super) begun: u64,
}

impl Pool {
    /// Whether the caller is to start somebody who looks, when the lock is given up ([`watch`](Self::watch)).
    pub(super) fn wants_watch(&self, state: &mut State) -> bool {
        // The checker of interleavings has no time that could pass.
        if cfg!(feature = "interleavings")
            || state.relief.watched
            || state.ready.is_empty()
            || state.busy < self.threads
            || state.closed
        {
            return false;
        }
        state.relief.watched = true;
        true
    }

    /// Starts somebody who looks.
    #[cold]
    pub(super) fn watch(&self) {
        let Some(pool) = self.this.upgrade() else { return };
        if self.spare.run(Box::new(move || pool.look())).is_err() {
            // The next command that is ready tries again.
            self.lock().relief.watched = false;
        }
    }

    /// Looks every few milliseconds whether commands are begun.
    fn look(self: &Arc<Self>) {
        let (mut begun, mut calm) = (None, 0);
        loop {
            thread::sleep(LOOK);
            let mut state = self.lock();
            if state.closed || calm == LAST_LOOKS {
                state.relief.watched = false;
                return;
            }
            let waits = !state.ready.is_empty() && state.busy >= self.threads;
            calm = if waits { 0 } else { calm + 1 };
            let known = begun.replace(state.relief.begun).filter(|_| waits);
            if known == Some(state.relief.begun) {
                state.relief.starved = true;
                let more = state.relief.threads < MOST;
                if more {
                    self.relieve(state);
                }
            }
        }
    }

    /// In a starved pool: whether the caller is to have a command begun that has just become ready. The first ones are begun at
    /// once, as many as there are workers, the others when somebody looks.
    pub(super) fn wants_relief(&self, state: &State) -> bool {
        state.relief.starved && state.relief.threads < self.threads
    }

    /// Has a thread beside the workers begin a command.
    pub(super) fn relieve(&self, mut state: super::MutexGuard<'_, State>) {
        state.relief.threads += 1;
        drop(state);
        let Some(pool) = self.this.upgrade() else { return };
        if self.spare.run(Box::new(move || pool.run_relief())).is_err() {
            self.lock().relief.threads -= 1;
        }
    }

    /// Runs commands that are ready, as long as the pool is starved.
    fn run_relief(&self) {
        // The starting thread may be bound to one processor.
        topology::bind_current(&self.cpus);
        let mut state = self.lock();
        while let Some(job) = state.ready.pop_front() {
            state.relief.begun += 1;
            drop(state);
            job.run();
            state = self.lock();
            if !state.relief.starved {
                break;
            }
        }
        state.relief.threads -= 1;
    }
}
