//! Waits end where a signal wants it, and where the interpreter ends.
//!
//! The engine asks here, every 20 ms, whether the wait of the main thread is to end: then the signals that have come are
//! handled, as the interpreter would between two instructions. What a handler raises, `KeyboardInterrupt` mostly, is raised by
//! the call that waits; or, where that has ended all the same, right after it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use stridewise::backend::beside;
use stridewise::{Capture, UsmArray};

/// How long the end of the interpreter waits before it looks whether a signal has come.
const SLICE: Duration = Duration::from_millis(50);

/// What a handler has raised while the main thread waited, until it is raised there.
static RAISED: Mutex<Option<PyErr>> = Mutex::new(None);

fn raised() -> MutexGuard<'static, Option<PyErr>> {
    // Nothing panics while the lock is held, so poison means nothing.
    RAISED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The exception of a wait that was interrupted.
pub(crate) fn interruption(text: String) -> PyErr {
    let raised = raised().take();
    raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err(text))
}

/// Operations from which on work of a library is done beside the calling thread, which costs some tens of microseconds: it takes
/// some milliseconds at least.
const LONG: f64 = (1 << 27) as f64;

/// Calls a library, without the interpreter's lock, with so many operations about to do. Where they take long, they are done beside
/// the main thread, whose wait a signal may end.
pub(crate) fn library<const N: usize, R: Send + 'static>(
    py: Python<'_>,
    operations: f64,
    operands: [&UsmArray; N],
    call: impl FnOnce([&UsmArray; N]) -> stridewise::Result<R> + Send + 'static,
) -> crate::errors::Result<R> {
    let done = py.detach(|| {
        // What a library computes, a capture refuses: on the thread that captures.
        if operations < LONG || Capture::is_open() {
            return call(operands);
        }
        let owned = operands.map(UsmArray::clone);
        beside(move || call(owned.each_ref()))
    });
    Ok(done?)
}

/// What a wait asks of the interpreter; elsewhere than on Unix nobody asks, and a wait goes on to its end.
#[cfg(unix)]
mod signals {
    use std::ffi::{c_int, c_void};

    use pyo3::ffi;

    use super::*;

    /// Whether a signal wants the wait of this thread, the main one, to end.
    pub(super) fn ends() -> bool {
        if raised().is_some() {
            return true;
        }
        // An interpreter that ends has no handlers any more.
        let error = Python::try_attach(|py| py.check_signals().err()).flatten();
        let Some(error) = error else { return false };
        *raised() = Some(error);
        // SAFETY: may be called at any time; the function is of this module, which is never unloaded, and takes no argument.
        unsafe { ffi::Py_AddPendingCall(Some(raise), std::ptr::null_mut()) };
        true
    }

    /// What the interpreter calls between two instructions of the main thread: raises what the call that waited did not.
    extern "C" fn raise(_: *mut c_void) -> c_int {
        let Some(error) = raised().take() else { return 0 };
        // SAFETY: the interpreter calls this with its lock held.
        error.restore(unsafe { Python::assume_attached() });
        -1
    }
}

#[cfg(unix)]
mod thread {
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The main thread, as the system names it.
    static MAIN: AtomicUsize = AtomicUsize::new(0);

    fn this() -> usize {
        // SAFETY: there is always a calling thread.
        unsafe { libc::pthread_self() as usize }
    }

    pub(super) fn is_main() -> bool {
        this() == MAIN.load(Ordering::Relaxed)
    }

    pub(super) fn set_main(ident: usize) {
        MAIN.store(ident, Ordering::Relaxed);
    }

    /// Of a process that was forked, the main thread is the one that forked.
    pub(super) fn become_main() {
        set_main(this());
    }
}

/// The main thread of a process that was forked is this one.
#[cfg(unix)]
#[pyfunction]
fn _become_main() {
    thread::become_main();
}

/// Waits for what is under way now, for as long as the end of a process does. A signal's handler may raise.
#[pyfunction]
fn _drain(py: Python<'_>) -> PyResult<()> {
    let mut ending = py.detach(stridewise::Ending::begin);
    while !py.detach(|| ending.wait(SLICE)) {
        py.check_signals()?;
    }
    Ok(())
}

/// Has the interpreter wait for work before it ends: memory of objects that the work reads goes back to them while they can
/// take it. Threads that are still there may submit more, which the end of the process waits for. And has the engine ask for
/// signals.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    py.import("atexit")?.call_method1("register", (wrap_pyfunction!(_drain, module)?,))?;
    #[cfg(unix)]
    {
        use stridewise::backend::{Interrupt, set_interrupt};
        let main = py.import("threading")?.call_method0("main_thread")?;
        thread::set_main(main.getattr("ident")?.extract()?);
        let options = pyo3::types::PyDict::new(py);
        options.set_item("after_in_child", wrap_pyfunction!(_become_main, module)?)?;
        py.import("os")?.getattr("register_at_fork")?.call((), Some(&options))?;
        // A module that is imported again has said so already.
        let _ = set_interrupt(Interrupt { concerns: thread::is_main, ends: signals::ends });
    }
    Ok(())
}
