//! Waits that somebody may end.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Duration;

use super::{Event, Signal};
use crate::error::{Error, Result};
use crate::observe::{self, Doing};
use crate::sync::primitives::Mutex;
use crate::sync::primitives::thread::Builder;
use crate::sync::start_thread;

/// How long a wait goes on before it is asked whether to end.
const SLICE: Duration = Duration::from_millis(20);

/// After how many steps of work on arrays, which are as many as its arguments want, a function asks ([`check_interrupt`]).
pub(crate) const STEPS: usize = 16;

/// Who is asked whether a wait is to end, for threads that have more to look at than the work: a signal, a button.
#[derive(Clone, Copy, Debug)]
pub struct Interrupt {
    /// Whether the calling thread's waits may end so. Asked once for each wait.
    pub concerns: fn() -> bool,
    /// Whether the calling thread's wait is to end. Asked every 20 ms; no lock of the engine is held, and it may use the engine.
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

/// What an event is known by, as long as it lives.
pub(crate) fn address(event: &dyn Event) -> usize {
    std::ptr::from_ref(event).cast::<()>().addr()
}

/// Waits until an event is terminal, or somebody says that the wait is to end.
///
/// # Errors
/// The command's failure; [`Error::Interrupted`].
pub(crate) fn wait(event: &dyn Event) -> Result<()> {
    if event.status().is_terminal() {
        return event.error().map_or(Ok(()), Err);
    }
    let _seen = observe::span(Doing::Wait, "event", address(event), 0);
    let Some(interrupt) = interrupt() else { return event.wait() };
    while !event.wait_timeout(SLICE)? {
        interrupt.check()?;
    }
    Ok(())
}

/// [`wait`], but not for longer than a time; whether the event is terminal.
///
/// # Errors
/// The command's failure; [`Error::Interrupted`].
pub(crate) fn wait_for(event: &dyn Event, mut time: Duration) -> Result<bool> {
    let terminal = event.status().is_terminal();
    let _seen = (!terminal).then(|| observe::span(Doing::Wait, "event", address(event), 0));
    let interrupt = interrupt().filter(|_| !terminal);
    while let Some(interrupt) = interrupt
        && time > SLICE
    {
        if event.wait_timeout(SLICE)? {
            return Ok(true);
        }
        interrupt.check()?;
        time -= SLICE;
    }
    let ended = event.wait_timeout(time)?;
    match interrupt {
        Some(interrupt) if !ended => interrupt.check().map(|()| false),
        _ => Ok(ended),
    }
}

impl Interrupt {
    /// Whether the calling thread may go on.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    fn check(&self) -> Result<()> {
        if !(self.ends)() {
            return Ok(());
        }
        Err(interrupted())
    }
}

fn interrupted() -> Error {
    Error::interrupted(
        "event",
        "waited for",
        "the end of the work, which goes on",
        "wait again where the results are needed",
    )
}

/// How much stack who computes beside a caller has: libraries' algorithms recurse.
const STACK: usize = 8 << 20;

thread_local! {
    /// Of a thread that computes beside a caller, whether that still waits.
    static CALLER: RefCell<Caller> = RefCell::default();
}

/// For whom a thread computes: somebody who may have been interrupted meanwhile, so that nobody wants the results.
#[derive(Clone, Default, Debug)]
pub struct Caller(Option<Arc<AtomicBool>>);

impl Caller {
    /// The one of the calling thread: itself, unless it computes [beside](beside) another one.
    #[must_use]
    pub fn of_thread() -> Self {
        CALLER.try_with(|caller| caller.borrow().clone()).unwrap_or_default()
    }

    /// Whether it has gone.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.0.as_ref().is_some_and(|gone| gone.load(Ordering::Relaxed))
    }

    /// Ends what nobody waits for.
    ///
    /// # Errors
    /// [`Error::Interrupted`] where the caller has gone.
    pub fn check(&self) -> Result<()> {
        if self.is_gone() { Err(interrupted()) } else { Ok(()) }
    }
}

/// Runs work that takes long and looks for nobody, as that of libraries does: where somebody may end the calling thread's wait, on
/// another thread, while this one waits. The work of who was interrupted goes on, at most to its end; what it returns is dropped.
/// Where no thread starts, it is run on this one.
///
/// # Errors
/// That of the work; [`Error::Interrupted`].
///
/// # Panics
/// With the work's.
pub fn beside<R: Send + 'static>(work: impl FnOnce() -> Result<R> + Send + 'static) -> Result<R> {
    if interrupt().is_none() {
        return work();
    }
    let signal = Arc::new(Signal::new("core"));
    let gone = Arc::new(AtomicBool::new(false));
    let (work, outcome) = (Arc::new(Mutex::new(Some(work))), Arc::new(Mutex::new(None)));
    let run = {
        let (signal, gone, work, outcome) =
            (Arc::clone(&signal), Arc::clone(&gone), Arc::clone(&work), Arc::clone(&outcome));
        move || {
            let _ = CALLER.try_with(|caller| caller.replace(Caller(Some(gone))));
            let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
            let done = work.map(|work| catch_unwind(AssertUnwindSafe(work)));
            *outcome.lock().unwrap_or_else(PoisonError::into_inner) = done;
            signal.complete(Ok(()), None);
        }
    };
    if start_thread(Builder::new().name("stridewise-beside".to_owned()).stack_size(STACK), run).is_err() {
        let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
        return work.map_or_else(|| Err(interrupted()), |work| work());
    }
    if let Err(error) = wait(&*signal) {
        gone.store(true, Ordering::Relaxed);
        return Err(error);
    }
    let done = outcome.lock().unwrap_or_else(PoisonError::into_inner).take();
    match done {
        Some(Ok(outcome)) => outcome,
        Some(Err(panic)) => resume_unwind(panic),
        None => Err(interrupted()),
    }
}

/// Whether the calling thread is to go on with something that takes long: a copy, a file. To be asked every few milliseconds.
///
/// # Errors
/// [`Error::Interrupted`].
pub fn check_interrupt() -> Result<()> {
    interrupt().map_or(Ok(()), |interrupt| interrupt.check())
}
