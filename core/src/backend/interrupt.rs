//! Waits that somebody may end.

use std::sync::OnceLock;
use std::time::Duration;

use super::Event;
use crate::error::{Error, Result};

/// How long a wait goes on before it is asked whether to end.
const SLICE: Duration = Duration::from_millis(50);

/// Who is asked whether a wait is to end, for threads that have more to look at than the work: a signal, a button.
#[derive(Clone, Copy, Debug)]
pub struct Interrupt {
    /// Whether the calling thread's waits may end so. Asked once for each wait.
    pub concerns: fn() -> bool,
    /// Whether the calling thread's wait is to end. Asked every 50 ms; no lock of the engine is held, and it may use the engine.
    pub ends: fn() -> bool,
}

static INTERRUPT: OnceLock<Interrupt> = OnceLock::new();

/// Has waits for events end before the work does, from now on, where somebody says so: they are [`Error::Interrupted`] then.
/// Whether it was the first to say this, for there is only one.
///
/// The work goes on, and arrays are what they were: an operation that waited before it submitted its own work has not done so,
/// and one that waited afterwards has. Work that a thread computes by itself is not interrupted, nor is the copy to or from
/// memory that the caller has lent, but what that copy waits for.
pub fn set_interrupt(interrupt: Interrupt) -> bool {
    INTERRUPT.set(interrupt).is_ok()
}

/// Who is asked whether the calling thread's waits are to end.
pub(crate) fn interrupt() -> Option<Interrupt> {
    INTERRUPT.get().copied().filter(|interrupt| (interrupt.concerns)())
}

/// Waits until an event is terminal, or somebody says that the wait is to end.
///
/// # Errors
/// The command's failure; [`Error::Interrupted`].
pub(crate) fn wait(event: &dyn Event) -> Result<()> {
    if event.status().is_terminal() {
        return event.error().map_or(Ok(()), Err);
    }
    let Some(interrupt) = interrupt() else { return event.wait() };
    while !event.wait_timeout(SLICE)? {
        if (interrupt.ends)() {
            return Err(Error::interrupted(
                "event",
                "waited for",
                "the end of the work, which goes on",
                "wait again where the results are needed",
            ));
        }
    }
    Ok(())
}
