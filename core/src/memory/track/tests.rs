//! The state of an allocation in a process that was forked.

use super::*;

/// What a function returns in a process that is forked, or the signal that ended it there.
fn in_forked_process(child: impl FnOnce() -> bool) -> bool {
    // SAFETY: the new process calls nothing but the function, which asks for no lock that another thread of this one may
    // have but the allocator's, which the system looks after, and ends by `_exit`.
    unsafe {
        let process = libc::fork();
        assert!(process >= 0, "no more processes");
        if process == 0 {
            libc::alarm(60);
            crate::sync::arrive();
            resume_forked();
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
            libc::_exit(if outcome.unwrap_or(false) { 0 } else { 1 });
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(process, &raw mut status, 0), process);
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
    }
}

#[test]
fn what_was_held_for_writing_has_failed_in_a_forked_process() {
    let tracked = Tracked::default();
    let held = tracked.hold_idle(Mode::Write).ok();
    assert!(held.is_some() && !tracked.is_idle());
    assert!(in_forked_process(|| {
        assert!(!tracked.is_idle());
        let conflicts = |range, mode| {
            let mut waits = Vec::new();
            tracked.lock(64).conflicts(&Region::bytes(range), mode, &mut waits);
            waits
        };
        let [read] = &conflicts(8..16, Mode::Read)[..] else { return false };
        assert!(read.event.wait().is_err_and(|error| crate::sync::is_left_behind(&error)));
        // What overwrites it, in parts and then as a whole.
        assert!(conflicts(0..64, Mode::Write).is_empty());
        let event: Arc<dyn Event> = Arc::new(Signal::completed("test", None));
        tracked.lock(64).record(Region::bytes(0..64), Mode::Write, &event);
        assert!(conflicts(8..16, Mode::Read).is_empty() && tracked.is_idle());
        tracked.hold_idle(Mode::Write).is_ok()
    }));
    drop(held);
    assert!(tracked.is_idle());
}

#[test]
fn what_was_held_for_reading_is_free_in_a_forked_process() {
    let tracked = Tracked::default();
    let held = tracked.hold_idle(Mode::Read).ok();
    assert!(in_forked_process(|| {
        assert!(tracked.lock(64).is_idle());
        tracked.is_idle() && tracked.hold_idle(Mode::Read).is_ok()
    }));
    drop(held);
}

#[test]
fn copies_by_the_host_end_in_a_forked_process() {
    let tracked = Tracked::default();
    for (mode, range) in [(Mode::Read, 0..8), (Mode::Write, 8..16)] {
        let opened = tracked.lock(64).open_host_view(&Region::bytes(range), mode, Span::Brief);
        assert!(matches!(opened, Ok(Opening::Opened(_))));
    }
    let region = Region::bytes(32..40);
    assert!(matches!(
        tracked.lock(64).open_host_view(&region, Mode::Read, Span::Open),
        Ok(Opening::Opened(_))
    ));
    assert!(in_forked_process(|| {
        let track = tracked.lock(64);
        assert!(!track.has_brief_view());
        let mut waits = Vec::new();
        track.conflicts(&Region::bytes(0..8), Mode::Read, &mut waits);
        assert!(waits.is_empty());
        track.conflicts(&Region::bytes(0..16), Mode::Read, &mut waits);
        assert!(waits.len() == 1 && waits[0].event.wait().is_err());
        // The one that somebody holds is a copy of theirs.
        track.check_host_views(&region, Mode::Write).is_err()
    }));
    assert!(tracked.lock(64).has_brief_view());
}

#[test]
fn work_that_was_under_way_has_failed_in_a_forked_process() {
    let signal = Signal::new("test");
    signal.start();
    assert!(in_forked_process(|| {
        assert_eq!(signal.status(), EventStatus::Failed);
        let mut called = false;
        std::thread::scope(|scope| {
            // By a copy, as a callback outlives its caller.
            let (sender, called_back) = std::sync::mpsc::channel();
            signal.on_complete(Box::new(move || sender.send(()).unwrap_or_default()));
            called = scope.spawn(move || called_back.recv().is_ok()).join().unwrap_or(false);
        });
        called
            && !signal.complete(Ok(()), None)
            && signal.wait().is_err_and(|error| crate::sync::is_left_behind(&error))
            && signal.error().is_some()
    }));
    assert!(signal.complete(Ok(()), None) && signal.wait().is_ok());
}
