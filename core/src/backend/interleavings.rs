//! Signals and the gate of forks, in every order of three threads that the checker thinks of.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{Event, EventStatus, Signal, when_all};
use crate::error::{Error, Result};
use crate::interleavings::explore;
use crate::sync::primitives::thread;
use crate::sync::{self, Mutex, Section};

/// A counter, and a callback that counts and sees that the event has ended.
fn counting(signal: &Arc<Signal>) -> (Arc<AtomicUsize>, Box<dyn FnOnce() + Send>) {
    let count = Arc::new(AtomicUsize::new(0));
    let (calls, event) = (Arc::clone(&count), Arc::downgrade(signal));
    let callback = move || {
        assert!(event.upgrade().is_none_or(|event| event.status().is_terminal()));
        calls.fetch_add(1, Ordering::SeqCst);
    };
    (count, Box::new(callback))
}

fn failure() -> Result<()> {
    Err(Error::task("task", "1", "2", "3"))
}

#[test]
fn one_outcome_of_two_stands_and_callbacks_run_once() {
    explore(|| {
        let signal = Arc::new(Signal::new("test"));
        let completing = |outcome: fn() -> Result<()>| {
            let signal = Arc::clone(&signal);
            thread::spawn(move || {
                signal.start();
                signal.complete(outcome(), None)
            })
        };
        let threads = [completing(|| Ok(())), completing(failure)];
        let (count, callback) = counting(&signal);
        signal.on_complete(callback);
        let waited = signal.wait();
        assert!(signal.status().is_terminal());
        assert_eq!(signal.error().is_some(), waited.is_err());
        let [fine, failed] = threads.map(|thread| thread.join().unwrap());
        assert_eq!((fine, failed), (waited.is_ok(), waited.is_err()));
        assert_eq!(count.load(Ordering::SeqCst), 1);
        assert_eq!(signal.status() == EventStatus::Complete, waited.is_ok());
    });
}

#[test]
fn all_who_wait_are_woken() {
    explore(|| {
        let signal = Arc::new(Signal::new("test"));
        let waiting = || {
            let signal = Arc::clone(&signal);
            thread::spawn(move || signal.wait().is_ok())
        };
        let threads = [waiting(), waiting()];
        assert!(signal.complete(Ok(()), None));
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    });
}

#[test]
fn a_promise_that_is_broken_is_a_failure() {
    explore(|| {
        let promise = Signal::promise("test");
        let event = Arc::clone(&promise.event);
        let breaker = thread::spawn(move || drop(promise));
        assert!(event.wait().is_err());
        breaker.join().unwrap();
    });
}

#[test]
fn what_waits_for_several_events_runs_once_after_the_last() {
    explore(|| {
        let signals = [(); 2].map(|()| Arc::new(Signal::new("test")));
        let threads = signals.clone().map(|signal| thread::spawn(move || signal.complete(Ok(()), None)));
        let count = Arc::new(AtomicUsize::new(0));
        let (calls, both) = (Arc::clone(&count), signals.clone());
        let events = signals.map(|signal| signal as Arc<dyn Event>);
        when_all(&events, move || {
            assert!(both.iter().all(|signal| signal.status().is_terminal()));
            calls.fetch_add(1, Ordering::SeqCst);
        });
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
        assert_eq!(count.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn nobody_is_inside_while_the_gate_is_closed() {
    explore(|| {
        let (inside, closed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let number = Arc::new(Mutex::new(0));
        let entering = || {
            let (inside, closed, number) = (Arc::clone(&inside), Arc::clone(&closed), Arc::clone(&number));
            thread::spawn(move || {
                let section = Section::enter();
                inside.fetch_add(1, Ordering::SeqCst);
                // A lock is a section in a section.
                *number.lock().unwrap() += 1;
                assert!(!closed.load(Ordering::SeqCst), "somebody is inside");
                inside.fetch_sub(1, Ordering::SeqCst);
                drop(section);
                *number.lock().unwrap() += 1;
            })
        };
        let threads = [entering(), entering()];
        assert!(sync::close(Instant::now() + Duration::from_secs(600)));
        closed.store(true, Ordering::SeqCst);
        thread::yield_now();
        assert_eq!(inside.load(Ordering::SeqCst), 0);
        // Who has closed it goes on.
        *number.lock().unwrap() += 1;
        closed.store(false, Ordering::SeqCst);
        sync::open();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*number.lock().unwrap(), 5);
    });
}
