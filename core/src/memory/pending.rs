//! What is recorded and waits to be submitted, as memory and queues know it: each has a list of it. What it is, the layer above
//! knows.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, Weak};

use crate::error::Result;
use crate::runtime::Queue;
use crate::sync::{Mutex, MutexGuard};

/// Recorded work.
pub(crate) trait Pending: Any + Send + Sync {
    /// Whether it has been run, so that there is memory.
    fn is_ready(&self) -> bool;

    /// The queue that it was recorded on.
    fn queue(&self) -> &Queue;

    /// Runs or submits it.
    ///
    /// # Errors
    /// What the submission reports; it stays recorded then.
    fn submit(self: Arc<Self>) -> Result<()>;
}

/// Recorded work, held weakly: that of a queue, or what reads an allocation.
#[derive(Default)]
pub(crate) struct PendingList {
    list: Mutex<Vec<Weak<dyn Pending>>>,
    /// Whether the list has any, for who asks without the lock.
    any: AtomicBool,
}

impl PendingList {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Vec<Weak<dyn Pending>>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        !self.any.load(Ordering::Acquire)
    }

    pub(crate) fn push<P: Pending>(&self, work: &Arc<P>) {
        let work: Weak<P> = Arc::downgrade(work);
        self.push_weak(work);
    }

    pub(crate) fn push_weak(&self, work: Weak<dyn Pending>) {
        let mut list = self.lock();
        let settled = Self::add(&mut list, work);
        self.any.store(true, Ordering::Release);
        drop(list);
        drop(settled);
    }

    /// Adds to a locked list. What is returned is to be dropped when the list is unlocked.
    pub(crate) fn add(list: &mut Vec<Weak<dyn Pending>>, work: Weak<dyn Pending>) -> Vec<Arc<dyn Pending>> {
        // Amortised: what is settled goes before the list grows.
        let settled = if list.len() == list.capacity() { Self::prune(list) } else { Vec::new() };
        list.push(work);
        settled
    }

    /// Forgets what is gone or has memory. The references looked at are returned, to be dropped when the list is
    /// unlocked: the last one of some work ends it.
    fn prune(list: &mut Vec<Weak<dyn Pending>>) -> Vec<Arc<dyn Pending>> {
        let mut seen = Vec::new();
        list.retain(|work| {
            work.upgrade().is_some_and(|work| {
                let pending = !work.is_ready();
                seen.push(work);
                pending
            })
        });
        seen
    }

    /// A snapshot, latest first.
    fn snapshot(&self) -> Vec<Weak<dyn Pending>> {
        let mut list = self.lock();
        let settled = Self::prune(&mut list);
        self.any.store(!list.is_empty(), Ordering::Release);
        let snapshot = list.iter().rev().cloned().collect();
        drop(list);
        drop(settled);
        snapshot
    }

    /// Calls a function with all that is still pending, latest first, until the end whatever fails. One at a time is held, so
    /// that the others can still be seen to be held by nobody.
    ///
    /// # Errors
    /// The first failure.
    pub(crate) fn for_each_pending(&self, mut f: impl FnMut(Arc<dyn Pending>) -> Result<()>) -> Result<()> {
        let mut outcome = Ok(());
        for weak in self.snapshot() {
            if let Some(work) = weak.upgrade().filter(|work| !work.is_ready()) {
                outcome = outcome.and(f(work));
            }
        }
        outcome
    }

    /// Submits all of it: of a queue, its recorded work. Later work goes first: it takes earlier work into its pass.
    ///
    /// # Errors
    /// The first failure; what failed stays recorded.
    pub(crate) fn flush(&self) -> Result<()> {
        self.for_each_pending(Pending::submit)
    }

    /// Submits what reads an allocation, and with it everything recorded on the same queue, so that what can be one pass is.
    ///
    /// # Errors
    /// The first failure; what failed stays recorded.
    pub(crate) fn flush_queues(&self) -> Result<()> {
        self.for_each_pending(|work| work.queue().pending().flush())
    }
}
