//! The end of the process and its forks.
//!
//! Both first wait for what is under way, but not for ever: a runtime that is ended with commands pending may abort, and what
//! a fork finds pending has failed in the new process. A fork then keeps other threads from taking locks of core, so that all
//! are free in the new process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::{Device, Seconds, WeakDevice};
use crate::backend::Event;
use crate::memory::{process, track};
use crate::observe;
use crate::sync::{self, Mutex};

/// How long the end of the process, or a fork, waits for what is under way.
const PATIENCE: Duration = Duration::from_secs(10);
/// The variable that sets it to so many seconds.
const PATIENCE_VARIABLE: &str = "STRIDEWISE_EXIT_SECONDS";
pub(crate) const EXIT: Seconds = Seconds {
    variable: PATIENCE_VARIABLE,
    expected: "a number of seconds, 0 or more",
    otherwise: "10 are waited",
    is_right: |_| true,
};
/// How long the end of the process waits at least, when all patience is used up: for what ends by itself at once.
const MOMENT: Duration = Duration::from_millis(50);
/// How long small work that holds its memory lasts, and more.
const SMALL_WORK: Duration = Duration::from_millis(1);
/// How long who waits sleeps between two looks, at first and at most.
const NAPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];

/// The devices that drivers have listed, and their parts: what is under way there ends by itself.
static DEVICES: Mutex<Vec<WeakDevice>> = Mutex::new(Vec::new());

/// Makes a device known, of which the end of the process and its forks are to wait for the work.
pub(super) fn note(device: &Device) {
    let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
    if devices.len() == devices.capacity() {
        devices.retain(WeakDevice::is_alive);
    }
    devices.push(device.downgrade());
}

fn devices() -> Vec<Device> {
    let devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
    devices.iter().filter_map(WeakDevice::upgrade).collect()
}

/// How long the end of the process, or a fork, waits for what is under way: ten seconds, or as many as the environment
/// variable `STRIDEWISE_EXIT_SECONDS` says.
#[must_use]
pub fn exit_patience() -> Duration {
    static PATIENCE_OF_USER: OnceLock<Duration> = OnceLock::new();
    *PATIENCE_OF_USER.get_or_init(|| EXIT.read().unwrap_or(PATIENCE))
}

/// Waits until everything is done that is under way now on the devices that drivers have listed and their parts, but not for
/// longer than a time. Whether it is done. What is behind a host task may wait for the program to go on, and is waited for
/// a moment only; what is recorded but not submitted is not waited for. That a runtime compiles is under way, too.
///
/// The end of the process and its forks do this by themselves, for [`exit_patience`] at most.
pub fn drain(timeout: Duration) -> bool {
    let deadline = Instant::now() + timeout;
    drain_until(deadline) && calls_end(deadline)
}

/// What the end of the process has waited until now, of all its steps.
static WAITED: Waited = Waited(AtomicU64::new(0));

/// A time that was waited, in nanoseconds.
struct Waited(AtomicU64);

impl Waited {
    /// Runs something that waits until then at most, and counts how long: no longer than a time, and than what is left of all
    /// patience. Whether it is done, or no patience is left.
    fn wait(&self, patience: Duration, timeout: Duration, wait: impl FnOnce(Instant) -> bool) -> bool {
        let begin = Instant::now();
        let left = patience.saturating_sub(Duration::from_nanos(self.0.load(Ordering::Relaxed)));
        let done = wait(begin + timeout.min(left));
        let waited = begin.elapsed();
        self.0.fetch_add(waited.as_nanos() as u64, Ordering::Relaxed);
        done || waited >= left
    }
}

/// What was under way when the process began to end, for an interpreter that ends before its process and waits in steps. What is
/// submitted afterwards is none of it: a thread that submits on and on would use up all patience, and the process would end
/// with commands pending.
pub struct Ending(Unfinished);

impl Ending {
    /// What is under way now.
    #[must_use]
    pub fn begin() -> Self {
        Self(Unfinished::now())
    }

    /// As [`drain`], for no longer than a time. All steps of an end together, and the end of the process after them, wait for no
    /// longer than [`exit_patience`]. Whether nothing more is to be waited for.
    pub fn wait(&mut self, timeout: Duration) -> bool {
        // What a runtime loads while it compiles asks later than we did to be told of the process's end, and so is told first.
        WAITED.wait(exit_patience(), timeout, |deadline| self.0.wait_until(deadline) && calls_end(deadline))
    }
}

impl std::fmt::Debug for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ending").field("commands", &self.0.closed.len()).finish_non_exhaustive()
    }
}

/// The events of unfinished commands: of those that end by themselves, and of open ones, behind a host task, which may wait for
/// the program to go on.
struct Unfinished {
    closed: Vec<Arc<dyn Event>>,
    open: Vec<Arc<dyn Event>>,
}

impl Unfinished {
    fn now() -> Self {
        let (mut closed, mut open) = (Vec::new(), Vec::new());
        for device in devices() {
            device.backlog_state().unfinished(&mut closed, &mut open);
        }
        Self { closed, open }
    }

    /// Waits for what ends by itself, and once for a moment for the rest. Whether the former has ended.
    fn wait_until(&mut self, deadline: Instant) -> bool {
        let done = wait_until(&mut self.closed, deadline);
        let moment = Instant::now() + crate::memory::backlog::PATIENCE;
        wait_until(&mut self.open, moment.min(deadline));
        self.open.clear();
        done
    }
}

fn drain_until(deadline: Instant) -> bool {
    Unfinished::now().wait_until(deadline)
}

/// Waits until no call of a runtime is under way. Whether none is.
fn calls_end(deadline: Instant) -> bool {
    let [mut nap, longest] = NAPS;
    while sync::runtime_calls() > 0 {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        std::thread::sleep(nap.min(left));
        nap = longest.min(2 * nap);
    }
    true
}

/// Waits for the end of events, but not for longer than until then. Whether all are terminal.
fn wait_until(events: &mut Vec<Arc<dyn Event>>, deadline: Instant) -> bool {
    let [mut nap, longest] = NAPS;
    loop {
        events.retain(|event| !event.status().is_terminal());
        let left = deadline.saturating_duration_since(Instant::now());
        if events.is_empty() || left.is_zero() {
            return events.is_empty();
        }
        std::thread::sleep(nap.min(left));
        nap = longest.min(2 * nap);
    }
}

/// What devices of this process are to do when it forks.
pub(super) fn watch_forks() {
    process::on_fork(before_fork, after_fork, forked);
}

/// What is to be done when this process ends. Called when the runtime of a driver is there, for each: what they do then, they do
/// afterwards.
pub(super) fn watch_exit() {
    process::on_exit(at_exit, true);
    sync::after_runtime_calls(watch_exit_again);
}

/// What is to be done when this process ends is to be done before what runtimes do that have begun to use libraries of theirs
/// since. Called when they have compiled something; after many times it makes no difference any more.
fn watch_exit_again() {
    static TIMES: AtomicU64 = AtomicU64::new(0);
    if (TIMES.fetch_add(1, Ordering::Relaxed) + 1).is_power_of_two() {
        process::on_exit(at_exit, true);
    }
}

fn before_fork() {
    let deadline = Instant::now() + exit_patience();
    drain_until(deadline);
    sync::close(deadline);
    // What was submitted between.
    settle(deadline);
    // Small work is not counted. What still writes afterwards, as its thread is interrupted, has failed in the new process.
    track::pause();
    std::thread::sleep(SMALL_WORK);
}

fn after_fork() {
    track::resume();
    sync::open();
}

/// In the new process.
fn forked() {
    sync::arrive();
    track::resume_forked();
    sync::open_forked();
    // The file is the other process's.
    observe::leave_to_parent();
}

fn at_exit() {
    WAITED.wait(exit_patience(), Duration::MAX, |deadline| {
        drain_until(deadline);
        observe::end_for_process();
        // At least for a moment, however much was waited before.
        let deadline = deadline.max(Instant::now() + MOMENT);
        sync::close(deadline);
        // Whoever comes now is told so.
        sync::end();
        sync::open();
        calls_end(deadline);
        settle(deadline);
        true
    });
}

fn settle(deadline: Instant) {
    for device in devices() {
        device.backend().settle(deadline);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_of_an_end_share_its_patience() {
        let (waited, patience) = (Waited(AtomicU64::new(0)), Duration::from_millis(200));
        let step = Duration::from_millis(50);
        let sleep = |deadline: Instant| {
            std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
            false
        };
        let mut steps = 1;
        while !waited.wait(patience, step, sleep) {
            steps += 1;
        }
        assert!(steps <= 4, "{steps} steps of a quarter each");
        // Nothing is left for the next one, whose time is over when it begins.
        assert!(waited.wait(patience, Duration::MAX, |deadline| {
            assert!(deadline <= Instant::now());
            false
        }));
        // What is done is done.
        assert!(Waited(AtomicU64::new(0)).wait(patience, step, |_| true));
    }
}
