//! Tracks, in every order of three threads that the checker thinks of.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::track::{Mode, Refusal, Region, Tracked, pause, resume};
use crate::backend::{Event, Signal};
use crate::interleavings::explore;
use crate::sync::primitives::thread;

/// Bytes of the allocation.
const BYTES: usize = 64;

/// An allocation's track, and what is true of its memory.
#[derive(Default)]
struct Memory {
    tracked: Tracked,
    /// Who has the track.
    holders: AtomicUsize,
    /// Whether a write is under way.
    written: AtomicBool,
}

impl Memory {
    /// Alone with the track, for a step.
    fn alone(&self) {
        assert_eq!(self.holders.fetch_add(1, Ordering::SeqCst), 0, "two have the track");
        thread::yield_now();
        assert_eq!(self.holders.fetch_sub(1, Ordering::SeqCst), 1);
    }

    /// Small work: whether it was done.
    fn small(&self, mode: Mode) -> Result<(), Refusal> {
        let _held = self.tracked.hold_idle(mode)?;
        assert!(!self.written.load(Ordering::SeqCst), "small work while a write is under way");
        self.alone();
        Ok(())
    }

    /// A submission that writes: its event, and the number of those that it waits for.
    fn submit(&self) -> (Arc<Signal>, usize) {
        let signal = Arc::new(Signal::new("test"));
        let mut track = self.tracked.lock(BYTES);
        let (region, mut waits) = (Region::bytes(0..BYTES), Vec::new());
        track.conflicts(&region, Mode::Write, &mut waits);
        self.alone();
        track.record(region, Mode::Write, &(Arc::clone(&signal) as Arc<dyn Event>));
        self.written.store(true, Ordering::SeqCst);
        drop(track);
        (signal, waits.len())
    }

    /// Ends a submission, and forgets it.
    fn end(&self, signal: &Signal) {
        self.written.store(false, Ordering::SeqCst);
        signal.complete(Ok(()), None);
        let mut track = self.tracked.lock(BYTES);
        track.forget_settled();
        self.alone();
    }
}

#[test]
fn small_work_and_submissions_exclude_each_other() {
    explore(|| {
        let memory = Arc::new(Memory::default());
        let working = |mode| {
            let memory = Arc::clone(&memory);
            thread::spawn(move || {
                for _ in 0..2 {
                    let _ = memory.small(mode);
                }
            })
        };
        let threads = [working(Mode::Write), working(Mode::Read)];
        let (signal, waits) = memory.submit();
        assert_eq!(waits, 0);
        // As long as it is under way, whoever else tries.
        assert!(!memory.tracked.is_idle());
        assert!(memory.small(Mode::Read).is_err());
        memory.end(&signal);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(memory.tracked.is_idle() && memory.small(Mode::Write).is_ok());
    });
}

#[test]
fn of_two_submissions_the_later_waits_for_the_earlier() {
    explore(|| {
        let memory = Arc::new(Memory::default());
        let submitting = || {
            let memory = Arc::clone(&memory);
            thread::spawn(move || memory.submit())
        };
        let threads = [submitting(), submitting()];
        let _ = memory.small(Mode::Write);
        let [first, second] = threads.map(|thread| thread.join().unwrap());
        assert_eq!(first.1 + second.1, 1);
        assert!(matches!(memory.tracked.hold_idle(Mode::Read), Err(Refusal::Busy)));
        memory.end(&first.0);
        memory.end(&second.0);
        assert!(memory.tracked.is_idle());
    });
}

#[test]
fn no_small_work_begins_in_a_pause() {
    explore(|| {
        let memory = Arc::new(Memory::default());
        let working = || {
            let memory = Arc::clone(&memory);
            thread::spawn(move || memory.small(Mode::Write).is_ok())
        };
        let threads = [working(), working()];
        pause();
        assert!(matches!(memory.small(Mode::Read), Err(Refusal::Held)));
        // Submissions go on.
        let (signal, _) = memory.submit();
        memory.end(&signal);
        resume();
        for thread in threads {
            let _done: bool = thread.join().unwrap();
        }
        assert!(memory.small(Mode::Read).is_ok());
    });
}
