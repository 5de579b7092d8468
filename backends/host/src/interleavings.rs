//! Forks, the pool and who takes part in short work, in every order of three threads that the checker thinks of: a thread that
//! forks or waits, and two workers.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use stridewise_core::backend::primitives::thread;
use stridewise_core::backend::{Command, Dependency, QueueProperties, Step, Wait};
use stridewise_core::interleavings::explore;
use stridewise_core::memory::UsmKind;

use crate::fork_join::helping::Stream;
use crate::fork_join::{NO_COMMAND, Pool, both, share, within};

/// Counters of parts.
fn counters(parts: usize) -> Vec<AtomicUsize> {
    (0..parts).map(|_| AtomicUsize::new(0)).collect()
}

/// Whether each part was run so often.
fn each(counters: &[AtomicUsize], times: usize) -> bool {
    counters.iter().all(|count| count.load(Ordering::SeqCst) == times)
}

#[test]
fn every_part_of_a_fork_runs_once() {
    explore(|| {
        let pool = Pool::start(2, &[], false).unwrap();
        let parts = counters(3);
        for round in 1..3 {
            within(&pool, 1, || {
                share(3, 3, &|part| {
                    parts[part].fetch_add(1, Ordering::SeqCst);
                    thread::yield_now();
                });
            });
            assert!(each(&parts, round));
        }
    });
}

#[test]
fn forks_in_forks_end() {
    explore(|| {
        let pool = Pool::start(2, &[], false).unwrap();
        let parts = counters(4);
        let inner = |outer: usize| {
            share(2, 2, &|part| {
                parts[2 * outer + part].fetch_add(1, Ordering::SeqCst);
            });
        };
        within(&pool, 1, || both(|| inner(0), || inner(1)));
        assert!(each(&parts, 1));
    });
}

#[test]
fn a_panic_comes_back_when_all_parts_are_over() {
    explore(|| {
        let pool = Pool::start(2, &[], false).unwrap();
        let running = AtomicUsize::new(0);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            within(&pool, 1, || {
                share(3, 3, &|part| {
                    running.fetch_add(1, Ordering::SeqCst);
                    thread::yield_now();
                    running.fetch_sub(1, Ordering::SeqCst);
                    if part == 1 {
                        resume_unwind(Box::new(part));
                    }
                });
            });
        }));
        assert!(outcome.is_err_and(|payload| payload.downcast_ref() == Some(&1_usize)));
        assert_eq!(running.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn short_work_is_helped_with_or_not() {
    explore(|| {
        let pool = Pool::start(2, &[], false).unwrap();
        let stream = Stream::default();
        for round in 0..2 {
            let parts = counters(2);
            let now = Duration::from_micros(round);
            let _ = stream.begins(now);
            let entered = pool.enter(true);
            let run = |part: usize| {
                parts[part].fetch_add(1, Ordering::SeqCst);
            };
            if entered.is_some() {
                within(&pool, NO_COMMAND, || share(2, 2, &run));
            } else {
                (0..2).for_each(run);
            }
            drop(entered);
            stream.ends(now);
            assert!(each(&parts, 1));
        }
    });
}

#[test]
fn commands_run_once_each_after_what_they_wait_for_whoever_runs_them() {
    /// Large enough for the pool.
    const BYTES: usize = 1 << 20;
    explore(|| {
        let device = crate::device_with(None, 2).unwrap();
        let queue = device.create_queue(QueueProperties::default()).unwrap();
        let memory = device.alloc(UsmKind::Shared, BYTES, 64).unwrap();
        let fill = |number: u8, waits: &[Wait]| {
            let mut pattern = [0; 16];
            pattern[0] = number;
            let command =
                Command::Step(Step::Fill { dst: memory.ptr, bytes: BYTES, pattern, pattern_bytes: 1 });
            // SAFETY: the memory is the device's, and freed below, when both commands are over; they wait for each other.
            let submitted = unsafe { queue.submit(command, waits) }.unwrap();
            if let Some(rest) = submitted.rest {
                rest();
            }
            submitted.event
        };
        let first = fill(1, &[]);
        let second = fill(2, &[Wait { event: Arc::clone(&first), dependency: Dependency::Data }]);
        second.wait().unwrap();
        assert!(first.status().is_terminal());
        // SAFETY: nothing is under way on it.
        let last = unsafe { memory.ptr.as_ptr().add(BYTES - 1).read() };
        assert_eq!(last, 2);
        // SAFETY: it is the device's, and used no more.
        unsafe { device.free(memory) };
    });
}
