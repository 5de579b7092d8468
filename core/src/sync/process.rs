//! The process that something belongs to. A process that was forked has a copy of its parent's memory and one thread: what
//! the parent's other threads were about to do there, nobody does here.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{OnceLock, PoisonError};

use super::primitives::Mutex;
use crate::error::{Error, Result};

/// How often the ancestors of this process have forked on the way to it, as far as this engine has seen: the number of the
/// process among them.
static NUMBER: AtomicU32 = AtomicU32::new(0);
/// The argument that [`Home::check`] complains about.
const ARGUMENT: &str = "process";
/// The one that [`check_end`] complains about.
const ARGUMENT_OF_END: &str = "program";

/// The process that something was made in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Home(u32);

impl Home {
    /// This process.
    #[must_use]
    #[inline]
    pub fn here() -> Self {
        // Changes only in a process that has no other thread yet.
        Self(NUMBER.load(Ordering::Relaxed))
    }

    /// Whether it is this process.
    #[must_use]
    #[inline]
    pub fn is_here(self) -> bool {
        self == Self::here()
    }

    /// Refuses what needs threads, or a runtime, that were left behind in another process.
    ///
    /// # Errors
    /// [`Error::Runtime`] in a process that was forked from that one.
    pub fn check(self) -> Result<()> {
        if self.is_here() { Ok(()) } else { Err(left_behind()) }
    }
}

/// The error of what was left behind.
#[cold]
pub(crate) fn left_behind() -> Error {
    #[cfg(unix)]
    let parent = std::os::unix::process::parent_id();
    #[cfg(not(unix))]
    let parent = 0;
    Error::runtime(
        ARGUMENT,
        format!("{}, forked from process {parent}, where this was made or was under way", std::process::id()),
        "that process: neither its threads nor its devices' runtimes are forked",
        "wait for the work before the fork, or start processes anew (in Python: multiprocessing.get_context(\"spawn\") or \
         \"forkserver\"); host devices take new work here",
    )
}

/// Whether an error is [`left_behind`]'s.
pub(crate) fn is_left_behind(error: &Error) -> bool {
    matches!(error, Error::Runtime(complaint) if complaint.argument == ARGUMENT)
}

/// This process is one that was forked. Called in it before anything else.
pub(crate) fn arrive() {
    NUMBER.fetch_add(1, Ordering::Relaxed);
    CALLS.store(0, Ordering::SeqCst);
}

/// Whether the process is about to end.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Refuses work of a runtime that the end of the process does not wait for any more.
///
/// # Errors
/// [`Error::Runtime`].
pub fn check_end() -> Result<()> {
    if !ENDING.load(Ordering::SeqCst) {
        return Ok(());
    }
    Err(Error::runtime(
        ARGUMENT_OF_END,
        "about to end",
        "work before its end",
        "wait for threads that submit work before the program ends",
    ))
}

/// The process is about to end.
pub(crate) fn end() {
    ENDING.store(true, Ordering::SeqCst);
}

/// How many calls of runtimes are under way.
static CALLS: AtomicUsize = AtomicUsize::new(0);
/// What is called when one has ended.
static AFTER_CALLS: OnceLock<fn()> = OnceLock::new();

/// A call of a runtime that takes long and that no event stands for, as a compilation is: while there is one, it counts as work
/// under way, which the end of the process waits for. (A fork does not: compilers are started by forks.)
#[derive(Debug)]
pub struct RuntimeCall(Home);

impl RuntimeCall {
    /// Begins one.
    ///
    /// # Errors
    /// As for [`check_end`].
    pub fn begin() -> Result<Self> {
        // Before it is asked: who ends the process says so, and looks afterwards. One of both sees the other.
        CALLS.fetch_add(1, Ordering::SeqCst);
        let call = Self(Home::here());
        check_end().map(|()| call)
    }
}

impl Drop for RuntimeCall {
    fn drop(&mut self) {
        // In a process that was forked it counts no more.
        if self.0.is_here() {
            if let Some(after) = AFTER_CALLS.get() {
                after();
            }
            CALLS.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Has a function called when a call of a runtime has ended, by the thread that made it. Once.
pub(crate) fn after_runtime_calls(function: fn()) {
    let _ = AFTER_CALLS.set(function);
}

/// How many calls of runtimes are under way.
pub(crate) fn runtime_calls() -> usize {
    CALLS.load(Ordering::SeqCst)
}

/// A value that every process makes for itself, such as threads: a process that was forked has no use for its parent's, and
/// does not end it either.
#[derive(Debug)]
pub struct PerProcess<T>(Era<T>);

#[derive(Debug)]
struct Era<T> {
    home: Home,
    value: OnceLock<T>,
    making: Mutex<()>,
    /// That of a process forked from this one.
    next: OnceLock<Box<Era<T>>>,
}

impl<T> Era<T> {
    fn new() -> Self {
        Self { home: Home::here(), value: OnceLock::new(), making: Mutex::default(), next: OnceLock::new() }
    }
}

impl<T> Drop for Era<T> {
    fn drop(&mut self) {
        if !self.home.is_here() {
            std::mem::forget(self.value.take());
        }
    }
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        Self(Era::new())
    }
}

impl<T> PerProcess<T> {
    #[inline]
    fn era(&self) -> &Era<T> {
        let mut era = &self.0;
        while !era.home.is_here() {
            // One that this process inherits is that of a process between: there are as many as forks.
            let _section = super::Section::enter();
            era = era.next.get_or_init(|| Box::new(Era::new()));
        }
        era
    }

    /// This process's value, if it was made.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.era().value.get()
    }

    /// This process's value; the first call makes it, and other threads wait for that.
    ///
    /// # Errors
    /// As `make`; the next call makes it then.
    pub fn get_or_try_init(&self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        let era = self.era();
        if let Some(value) = era.value.get() {
            return Ok(value);
        }
        let _making = era.making.lock().unwrap_or_else(PoisonError::into_inner);
        match era.value.get() {
            Some(value) => Ok(value),
            None => {
                let value = make()?;
                Ok(era.value.get_or_init(|| value))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_once() {
        let value = PerProcess::<u8>::default();
        assert!(value.get().is_none());
        assert!(value.get_or_try_init(|| Err(left_behind())).is_err_and(|error| is_left_behind(&error)));
        assert_eq!(value.get_or_try_init(|| Ok(1)).unwrap(), &1);
        assert_eq!(value.get_or_try_init(|| Ok(2)).unwrap(), &1);
        assert_eq!(value.get(), Some(&1));
    }
}
