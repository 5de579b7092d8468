//! References to what is shared, at no cost for what lasts as long as the process.
//!
//! Counting the references of an array to its queue and of its memory to its device was a third of the atomic
//! operations of a small call, though registered devices and their cached queues last as long as the process.
//! Sub-devices, further queues and everything else stay counted. A handle that was made before the mark must
//! not give its count back after it, which the tests below check. For the same reason an array in memory has
//! no node, an array is kept to two cache lines, and the event of what is over refers to nothing. The cost is
//! a type with `unsafe` in place of `Arc`, and a branch at each clone; and devices cannot be unloaded.
//!
//! Measured by two threads (machine not recorded), together with operands of any layout and full reductions
//! at once: addition of 16 elements 0.54 of the time, 3276 to 2322 instructions; four counted references for
//! each array were part of that. What the handle gains by itself was not measured.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// A counted reference, which is not counted any more once what it refers to is to last as long as the process. An array
/// has one to its queue and its memory one to its device, so that small work would feel the counting. As large as a
/// pointer.
pub(crate) struct Handle<T>(*const Shared<T>);

/// What a [`Handle`] refers to.
pub(crate) struct Shared<T> {
    /// Set once, never cleared.
    lasting: AtomicBool,
    value: T,
}

// SAFETY: a handle is a reference that several threads may have, as an `Arc` is.
unsafe impl<T: Send + Sync> Send for Handle<T> {}
// SAFETY: a shared handle gives shared references alone, as a shared `Arc` does.
unsafe impl<T: Send + Sync> Sync for Handle<T> {}

impl<T> Handle<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Arc::into_raw(Arc::new(Shared { lasting: AtomicBool::new(false), value })))
    }

    /// Keeps what is shared until the process ends.
    pub(crate) fn make_lasting(&self) {
        if !self.shared().lasting.load(Ordering::Relaxed) {
            // SAFETY: the pointer is from `Arc::into_raw`, and this handle's count, or the one that lasts, keeps the value alive.
            // This count is never taken back.
            unsafe { Arc::increment_strong_count(self.0) };
            self.shared().lasting.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn downgrade(&self) -> Weak<Shared<T>> {
        // SAFETY: the pointer is from `Arc::into_raw`, and the value is alive, see `shared`. The new count becomes an `Arc`, which
        // takes it back.
        let shared = unsafe {
            Arc::increment_strong_count(self.0);
            Arc::from_raw(self.0)
        };
        Arc::downgrade(&shared)
    }

    pub(crate) fn upgrade(weak: &Weak<Shared<T>>) -> Option<Self> {
        weak.upgrade().map(|shared| Self(Arc::into_raw(shared)))
    }

    /// The address of what is shared.
    #[inline]
    pub(crate) fn as_ptr(&self) -> *const T {
        &raw const self.shared().value
    }

    #[inline]
    fn shared(&self) -> &Shared<T> {
        // SAFETY: the pointer is from `Arc::into_raw`. The value is alive: this handle has a count, or the value is lasting, which
        // it became with a count that is never taken back.
        unsafe { &*self.0 }
    }
}

impl<T> Clone for Handle<T> {
    #[inline]
    fn clone(&self) -> Self {
        if !self.shared().lasting.load(Ordering::Relaxed) {
            // SAFETY: the pointer is from `Arc::into_raw`, and the value is alive, see `shared`.
            unsafe { Arc::increment_strong_count(self.0) };
        }
        Self(self.0)
    }
}

impl<T> Drop for Handle<T> {
    #[inline]
    fn drop(&mut self) {
        if !self.shared().lasting.load(Ordering::Relaxed) {
            // SAFETY: the pointer is from `Arc::into_raw`. This handle has a count: it was made with one, since what is not lasting
            // now was not lasting then.
            unsafe { Arc::decrement_strong_count(self.0) };
        }
    }
}

impl<T> Deref for Handle<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.shared().value
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    struct Counted<'a>(&'a AtomicUsize);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn what_is_shared_goes_with_the_last_handle() {
        let gone = AtomicUsize::new(0);
        let a = Handle::new(Counted(&gone));
        let (b, weak) = (a.clone(), a.downgrade());
        assert_eq!(a.as_ptr(), b.as_ptr());
        drop(a);
        let c = Handle::upgrade(&weak).unwrap();
        drop(b);
        assert_eq!(gone.load(Ordering::Relaxed), 0);
        drop(c);
        assert_eq!(gone.load(Ordering::Relaxed), 1);
        assert!(Handle::upgrade(&weak).is_none());
    }

    #[test]
    fn what_lasts_never_goes_whenever_a_handle_was_made() {
        static GONE: AtomicUsize = AtomicUsize::new(0);
        // Reachable until the end, for those that look for lost memory.
        static KEPT: std::sync::OnceLock<Handle<Counted<'static>>> = std::sync::OnceLock::new();
        let before = Handle::new(Counted(&GONE));
        let weak = before.downgrade();
        before.make_lasting();
        before.make_lasting();
        let after = before.clone();
        drop(before);
        drop(after);
        let again = Handle::upgrade(&weak).unwrap();
        drop(again);
        assert_eq!(GONE.load(Ordering::Relaxed), 0);
        assert!(KEPT.set(Handle::upgrade(&weak).unwrap()).is_ok());
    }
}
