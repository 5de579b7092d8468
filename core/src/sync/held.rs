//! Nothing is computed, and no foreign code runs, under a lock of core: it could want that lock, on this thread or by way of
//! another one that it waits for. Builds with debug assertions count the locks that a thread has, and the places where
//! computing or foreign code begins ask for the number.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use super::primitives::thread_local;

#[cfg(debug_assertions)]
thread_local! {
    static LOCKS: Cell<usize> = const { Cell::new(0) };
}

/// Part of a guard of a lock of core: it is counted. Guards stay on their thread.
pub(crate) struct Locked(PhantomData<*const ()>);

impl Locked {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        #[cfg(debug_assertions)]
        let _ = LOCKS.try_with(|locks| locks.set(locks.get() + 1));
        Self(PhantomData)
    }
}

impl Drop for Locked {
    #[inline(always)]
    fn drop(&mut self) {
        #[cfg(debug_assertions)]
        let _ = LOCKS.try_with(|locks| locks.set(locks.get() - 1));
    }
}

/// Asserts, in builds with debug assertions, that the calling thread has no lock of core: called where a backend begins to
/// compute, waits, or runs code of somebody else.
///
/// # Panics
/// Where it has one, which is a defect of the engine.
#[inline(always)]
pub fn assert_unlocked(what: &str) {
    #[cfg(debug_assertions)]
    let _ = LOCKS.try_with(|locks| assert_eq!(locks.get(), 0, "{what} under a lock of core"));
    #[cfg(not(debug_assertions))]
    let _ = what;
}

type Work = Box<dyn FnOnce()>;

thread_local! {
    /// How many locks the calling thread has under which memory may go, and what that left to be done.
    static DEFERRING: Cell<usize> = const { Cell::new(0) };
    static DEFERRED: RefCell<Vec<Work>> = const { RefCell::new(Vec::new()) };
}

/// As long as it lives, [`defer`] keeps what it is given; then it is done. Dropped after the lock that it stands for.
pub(crate) struct Deferring(PhantomData<*const ()>);

impl Deferring {
    #[inline]
    pub(crate) fn new() -> Self {
        DEFERRING.with(|depth| depth.set(depth.get() + 1));
        Self(PhantomData)
    }
}

impl Drop for Deferring {
    #[inline]
    fn drop(&mut self) {
        let outermost = DEFERRING.with(|depth| {
            depth.set(depth.get() - 1);
            depth.get() == 0
        });
        if outermost {
            // What is done may leave more to be done.
            while let Some(work) = DEFERRED.with(|deferred| deferred.borrow_mut().pop()) {
                work();
            }
        }
    }
}

/// Does something that may run foreign code: at once, or, where the calling thread has a lock, when it has given that up.
pub(crate) fn defer(work: impl FnOnce() + 'static) {
    // An error means that the thread is ending: it has no lock then.
    if DEFERRING.try_with(Cell::get).unwrap_or(0) == 0 {
        return work();
    }
    DEFERRED.with(|deferred| deferred.borrow_mut().push(Box::new(work)));
}
