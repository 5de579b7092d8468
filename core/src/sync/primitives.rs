//! What threads meet by: the standard library's locks, atomics and threads. Under the feature `interleavings` they are those
//! of a checker, which lets one thread run at a time and chooses at each of these places which one goes on: tests run with
//! thousands of such orders, each of which can be had again. What one thread has for itself or what is over before the
//! second one begins needs none of it.

#[cfg(not(feature = "interleavings"))]
mod chosen {
    pub use std::sync::{
        Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic, mpsc,
    };
    pub use std::time::Instant;
    pub use std::{hint, thread, thread_local};
}

#[cfg(feature = "interleavings")]
mod chosen {
    use std::time::Duration;

    use shuttle::rand::{Rng, thread_rng};
    pub use shuttle::sync::{
        Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic, mpsc,
    };
    pub use shuttle::{hint, thread_local};

    /// Threads of the checker.
    pub mod thread {
        pub use shuttle::thread::*;

        /// Lets others go on: there is no time that could pass.
        pub fn sleep(_: std::time::Duration) {
            yield_now();
        }
    }

    /// A time. The checker has no clock: whether a while has passed since is chosen, too.
    #[derive(Clone, Copy, Debug)]
    pub struct Instant(());

    impl Instant {
        /// Now.
        #[must_use]
        pub fn now() -> Self {
            Self(())
        }

        /// Nothing, or more than anybody waits awake for.
        #[must_use]
        pub fn elapsed(&self) -> Duration {
            if thread_rng().gen_bool(0.25) { Duration::from_secs(3600) } else { Duration::ZERO }
        }
    }
}

pub use chosen::*;
