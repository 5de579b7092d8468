//! Failures on command: allocations and thread starts that fail although the system would have granted them, for tests of
//! what is left behind then.
//!
//! Code asks [`strikes`] where something may be refused. Without the feature `fault-injection` the answer is a constant, so
//! that nothing of it is compiled; with it, a test says by `arm` which of the calls to come fail.
//!
//! ```
//! use stridewise_core::fault::{Site, strikes};
//!
//! assert!(!strikes(Site::Heap)); // nothing is armed
//! ```

#[cfg(feature = "fault-injection")]
pub use armed::{Pattern, arm, disarm, seen, struck};

/// What fails.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Site {
    /// An allocation of USM from a device's pool, whether the pool has memory for it or not.
    Usm,
    /// Memory that the host backend asks the system for, on behalf of a pool, which has other ways to find some.
    System,
    /// Memory of the host's heap whose size depends on data: scratch of kernels, results for the host.
    Heap,
    /// The start of a thread.
    Thread,
}

impl Site {
    /// Every site.
    pub const ALL: [Self; 4] = [Self::Usm, Self::System, Self::Heap, Self::Thread];
}

/// Whether the present call is to fail.
#[cfg(not(feature = "fault-injection"))]
#[inline(always)]
#[must_use]
pub const fn strikes(site: Site) -> bool {
    let _ = site;
    false
}

/// Whether the present call is to fail.
#[cfg(feature = "fault-injection")]
#[inline]
#[must_use]
pub fn strikes(site: Site) -> bool {
    armed::strikes(site)
}

#[cfg(feature = "fault-injection")]
mod armed {
    use std::num::NonZeroU64;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::Site;

    /// Which calls fail, counted from 1 since they were armed.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Pattern {
        /// Every n-th.
        Every(NonZeroU64),
        /// These two; where both are the same, one.
        At([u64; 2]),
    }

    impl Pattern {
        fn has(self, call: u64) -> bool {
            match self {
                Self::Every(n) => call.is_multiple_of(n.get()),
                Self::At(calls) => calls.contains(&call),
            }
        }
    }

    struct State {
        /// Whether there is a pattern, for who asks without the lock.
        armed: AtomicBool,
        pattern: Mutex<Option<Pattern>>,
        seen: AtomicU64,
        struck: AtomicU64,
    }

    impl State {
        const fn new() -> Self {
            Self {
                armed: AtomicBool::new(false),
                pattern: Mutex::new(None),
                seen: AtomicU64::new(0),
                struck: AtomicU64::new(0),
            }
        }

        fn pattern(&self) -> MutexGuard<'_, Option<Pattern>> {
            self.pattern.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    static STATES: [State; Site::ALL.len()] = [const { State::new() }; Site::ALL.len()];

    fn state(site: Site) -> &'static State {
        &STATES[site as usize]
    }

    /// Lets calls of a site fail from now on, which are counted anew.
    pub fn arm(site: Site, pattern: Pattern) {
        let state = state(site);
        let mut held = state.pattern();
        state.seen.store(0, Ordering::Relaxed);
        state.struck.store(0, Ordering::Relaxed);
        *held = Some(pattern);
        state.armed.store(true, Ordering::Release);
    }

    /// Lets nothing fail any more. What was counted stays.
    pub fn disarm() {
        for state in &STATES {
            state.armed.store(false, Ordering::Release);
            *state.pattern() = None;
        }
    }

    /// Calls of a site while it was armed last.
    #[must_use]
    pub fn seen(site: Site) -> u64 {
        state(site).seen.load(Ordering::Relaxed)
    }

    /// Those of them that failed.
    #[must_use]
    pub fn struck(site: Site) -> u64 {
        state(site).struck.load(Ordering::Relaxed)
    }

    pub(super) fn strikes(site: Site) -> bool {
        let state = state(site);
        if !state.armed.load(Ordering::Acquire) {
            return false;
        }
        // Under the lock, so that a call belongs to the pattern that it is counted by.
        let held = state.pattern();
        let Some(pattern) = *held else { return false };
        let strikes = pattern.has(state.seen.fetch_add(1, Ordering::Relaxed) + 1);
        state.struck.fetch_add(u64::from(strikes), Ordering::Relaxed);
        strikes
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn calls_are_counted_and_fail_as_armed() {
            // A site that no test of this crate reaches otherwise.
            let site = Site::System;
            let run = |pattern| {
                arm(site, pattern);
                let calls: Vec<bool> = (0..7).map(|_| strikes(site)).collect();
                assert_eq!(seen(site), 7);
                assert_eq!(struck(site), calls.iter().filter(|&&struck| struck).count() as u64);
                calls
                    .iter()
                    .enumerate()
                    .filter(|(_, struck)| **struck)
                    .map(|(i, _)| i + 1)
                    .collect::<Vec<_>>()
            };
            let every = |n| Pattern::Every(NonZeroU64::new(n).unwrap());
            assert_eq!(run(every(1)), [1, 2, 3, 4, 5, 6, 7]);
            assert_eq!(run(every(3)), [3, 6]);
            assert_eq!(run(every(8)), [0; 0]);
            assert_eq!(run(Pattern::At([2, 5])), [2, 5]);
            disarm();
            assert!(!strikes(site));
            assert_eq!(seen(site), 7);
        }
    }
}
