//! Following several events at once.

use std::sync::{Arc, PoisonError};

use super::Event;
use crate::sync::primitives::Mutex;
use crate::sync::primitives::atomic::{AtomicUsize, Ordering};

/// Calls `then` once all events are terminal: at once if they are, else on the thread that completes the last one.
/// Like every completion callback, it must not block.
pub fn when_all(events: &[Arc<dyn Event>], then: impl FnOnce() + Send + 'static) {
    struct Countdown<F> {
        left: AtomicUsize,
        then: Mutex<Option<F>>,
    }
    impl<F: FnOnce()> Countdown<F> {
        fn step(&self) {
            if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                let then = self.then.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(then) = then {
                    then();
                }
            }
        }
    }
    // One more than the events: the last step is this function's, so that `then` cannot run before all are registered.
    let countdown =
        Arc::new(Countdown { left: AtomicUsize::new(events.len() + 1), then: Mutex::new(Some(then)) });
    for event in events {
        let countdown = Arc::clone(&countdown);
        event.on_complete(Box::new(move || countdown.step()));
    }
    countdown.step();
}
