//! Threads beside the workers: for host tasks, and for commands that would wait for long (`pool/relief.rs`). A host task may
//! block, also on events of its own device, so each has a thread to itself; one that is done with a task waits a while for the
//! next, as a new thread costs several times what most tasks do.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use stridewise_core::backend::primitives::{Condvar, Mutex, MutexGuard, thread};
use stridewise_core::backend::start_thread;

/// Address space for a thread's stack, kernel tiles included; only touched pages cost memory.
pub(super) const STACK_BYTES: usize = 8 << 20;

/// How long a thread waits for another task before it ends: it bounds how long idle threads stay, and is far more than it takes to
/// start one.
const LINGER: Duration = Duration::from_secs(1);
/// Threads that wait at most.
const MAX_IDLE: usize = 64;

type Job = Box<dyn FnOnce() + Send>;

/// The threads of one device that wait for a task.
#[derive(Default)]
pub(crate) struct BlockingThreads {
    idle: Mutex<Vec<Arc<Seat>>>,
}

/// Where a thread that waits gets its next task.
#[derive(Default)]
struct Seat {
    job: Mutex<Option<Job>>,
    given: Condvar,
}

impl Seat {
    fn lock(&self) -> MutexGuard<'_, Option<Job>> {
        // Nothing panics while the lock is held, so poison means nothing.
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BlockingThreads {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Seat>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a task, which does not panic, on a thread that runs nothing else meanwhile.
    ///
    /// # Errors
    /// None waits, and the system starts no more. The task is dropped.
    pub(crate) fn run(self: &Arc<Self>, job: Job) -> std::io::Result<()> {
        // The last one is the likeliest to be awake still.
        let seat = self.lock().pop();
        if let Some(seat) = seat {
            *seat.lock() = Some(job);
            seat.given.notify_one();
            return Ok(());
        }
        let threads = Arc::clone(self);
        let thread = thread::Builder::new().name("stridewise-host-task".into()).stack_size(STACK_BYTES);
        let work = move || {
            job();
            threads.work();
        };
        start_thread(thread, work).map(drop)
    }

    /// What a thread does that is done with its first task.
    fn work(&self) {
        let seat = Arc::new(Seat::default());
        loop {
            {
                let mut idle = self.lock();
                if idle.len() == MAX_IDLE {
                    return;
                }
                idle.push(Arc::clone(&seat));
            }
            match self.next(&seat) {
                Some(job) => job(),
                None => return,
            }
        }
    }

    /// The next task; none where there was none for long, and the thread is not in the list any more.
    fn next(&self, seat: &Arc<Seat>) -> Option<Job> {
        let mut job = seat.lock();
        loop {
            if let Some(job) = job.take() {
                return Some(job);
            }
            let (waited, timeout) =
                seat.given.wait_timeout(job, LINGER).unwrap_or_else(PoisonError::into_inner);
            job = waited;
            if job.is_none() && timeout.timed_out() {
                drop(job);
                let mut idle = self.lock();
                if let Some(at) = idle.iter().position(|other| Arc::ptr_eq(other, seat)) {
                    idle.swap_remove(at);
                    return None;
                }
                drop(idle);
                // Somebody has taken the seat to give it a task.
                job = seat.lock();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn tasks_that_wait_for_each_other_have_a_thread_each() {
        let threads = Arc::new(BlockingThreads::default());
        for round in 1..20 {
            let here = Arc::new(AtomicUsize::new(0));
            let (sender, ended) = channel();
            for _ in 0..round {
                let (here, sender) = (Arc::clone(&here), sender.clone());
                let wait = move || {
                    here.fetch_add(1, Ordering::SeqCst);
                    while here.load(Ordering::SeqCst) < round {
                        thread::yield_now();
                    }
                    sender.send(()).unwrap();
                };
                threads.run(Box::new(wait)).unwrap();
            }
            (0..round).for_each(|_| ended.recv().unwrap());
        }
    }

    #[test]
    fn a_thread_that_waited_is_used_again() {
        let threads = Arc::new(BlockingThreads::default());
        let (sender, seen) = channel();
        for _ in 0..100 {
            while threads.lock().is_empty() && Arc::strong_count(&threads) > 1 {
                thread::yield_now();
            }
            let sender = sender.clone();
            threads.run(Box::new(move || sender.send(thread::current().id()).unwrap())).unwrap();
        }
        let mut ids: Vec<_> = (0..100).map(|_| seen.recv().unwrap()).collect();
        ids.dedup();
        assert_eq!(ids.len(), 1);
    }
}
