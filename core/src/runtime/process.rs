//! The end of the process and its forks.
//!
//! Both first wait for what is under way, but not for ever: a runtime that is ended with commands pending may abort, and what
//! a fork finds pending has failed in the new process. A fork then keeps other threads from taking locks of core, so that all
//! are free in the new process.

use std::ffi::OsStr;
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::{Device, WeakDevice};
use crate::backend::Event;
use crate::memory::{process, track};
use crate::sync::{self, Mutex};

/// How long the end of the process, or a fork, waits for what is under way.
const PATIENCE: Duration = Duration::from_secs(10);
/// The variable that sets it to so many seconds.
pub(crate) const PATIENCE_VARIABLE: &str = "STRIDEWISE_EXIT_SECONDS";
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
    *PATIENCE_OF_USER.get_or_init(|| {
        let Some(text) = std::env::var_os(PATIENCE_VARIABLE) else { return PATIENCE };
        patience(&text).unwrap_or_else(|| {
            eprintln!(
                "stridewise: `{PATIENCE_VARIABLE}` is {text:?}; expected a number of seconds, 0 or more; ignored, {} are \
                 waited",
                PATIENCE.as_secs()
            );
            PATIENCE
        })
    })
}

/// The time that a value of the variable says.
pub(crate) fn patience(text: &OsStr) -> Option<Duration> {
    let seconds = text.to_str().and_then(|text| text.trim().parse().ok());
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

/// Waits until everything is done that is under way now on the devices that drivers have listed and their parts, but not for
/// longer than a time. Whether it is done. What is behind a host task may wait for the program to go on, and is waited for
/// a moment only; what is recorded but not submitted is not waited for.
///
/// The end of the process and its forks do this by themselves, for [`exit_patience`] at most.
pub fn drain(timeout: Duration) -> bool {
    drain_until(Instant::now() + timeout)
}

fn drain_until(deadline: Instant) -> bool {
    let (mut closed, mut open) = (Vec::new(), Vec::new());
    for device in devices() {
        device.backlog_state().unfinished(&mut closed, &mut open);
    }
    let done = wait_until(&mut closed, deadline);
    let moment = Instant::now() + crate::memory::backlog::PATIENCE;
    wait_until(&mut open, moment.min(deadline));
    done
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

/// What is to be done when this process ends. Called when the drivers' runtimes are there: what they do then, they do
/// afterwards.
pub(super) fn watch_exit() {
    process::on_exit(at_exit);
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
}

fn at_exit() {
    let deadline = Instant::now() + exit_patience();
    drain_until(deadline);
    sync::close(deadline);
    // Whoever comes now is told so.
    sync::end();
    sync::open();
    settle(deadline);
}

fn settle(deadline: Instant) {
    for device in devices() {
        device.backend().settle(deadline);
    }
}
