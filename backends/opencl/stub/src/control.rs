//! The functions by which a test commands the library that it has loaded.

use std::ffi::{CStr, c_char, c_int};

use crate::client::Sort;
use crate::state::{self, CHANGED, State};

/// Changes the state, and lets happen what follows from it.
fn command<R>(change: impl FnOnce(&mut State) -> R) -> R {
    let mut guard = state::lock();
    let result = change(&mut guard);
    guard.advance();
    let mut callbacks = guard.take_callbacks();
    drop(guard);
    CHANGED.notify_all();
    while !callbacks.is_empty() {
        callbacks.run();
        callbacks = state::lock().take_callbacks();
    }
    result
}

/// Text of a command.
///
/// # Safety
/// `text` is null or text that ends with a zero.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: what this function asks of its caller.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn stub_set(key: *const c_char, value: *const c_char) -> c_int {
    // SAFETY: the caller gives two texts.
    let (key, value) = unsafe { (text(key), text(value)) };
    c_int::from(command(|state| state.config.set(&key, &value)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn stub_fail(name: *const c_char, nth: usize, code: c_int) {
    // SAFETY: the caller gives a text.
    let name = unsafe { text(name) };
    command(|state| state.fail(name, nth, code));
}

#[unsafe(no_mangle)]
extern "C" fn stub_fail_every(nth: u64, code: c_int) {
    command(|state| state.fail_every(nth, code));
}

#[unsafe(no_mangle)]
extern "C" fn stub_struck() -> u64 {
    state::lock().struck()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn stub_heal(name: *const c_char) {
    // SAFETY: the caller gives a text.
    let name = unsafe { text(name) };
    command(|state| state.heal(&name));
}

#[unsafe(no_mangle)]
extern "C" fn stub_hold(hold: c_int) {
    command(|state| state.hold = hold != 0);
}

#[unsafe(no_mangle)]
extern "C" fn stub_release() {
    command(|state| state.hold = false);
}

#[unsafe(no_mangle)]
extern "C" fn stub_step(commands: usize) {
    command(|state| {
        state.steps = commands;
        state.advance();
        state.steps = 0;
    });
}

#[unsafe(no_mangle)]
extern "C" fn stub_pending() -> usize {
    state::lock().pending.len()
}

#[unsafe(no_mangle)]
extern "C" fn stub_lose_device() {
    command(State::lose);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn stub_calls(name: *const c_char) -> u64 {
    // SAFETY: the caller gives a text.
    let name = unsafe { text(name) };
    state::lock().calls(&name)
}

#[unsafe(no_mangle)]
extern "C" fn stub_live(sort: c_int) -> usize {
    Sort::from_number(sort).map_or(0, |sort| state::lock().live(sort))
}

#[unsafe(no_mangle)]
extern "C" fn stub_violations() -> usize {
    state::lock().violations.len()
}

/// Writes a violation's text into `room` bytes and returns its length.
#[unsafe(no_mangle)]
unsafe extern "C" fn stub_violation(index: usize, place: *mut u8, room: usize) -> usize {
    let guard = state::lock();
    let text = guard.violations.get(index).map_or("", String::as_str);
    // SAFETY: the caller gives a place for `room` bytes.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), place, text.len().min(room)) };
    text.len()
}

#[unsafe(no_mangle)]
extern "C" fn stub_reset() {
    command(State::reset);
}
