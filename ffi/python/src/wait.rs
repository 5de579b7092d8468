//! Waiting, with an eye on signals.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// How long a wait goes on before it looks whether a signal has come.
const SLICE: Duration = Duration::from_millis(50);

/// Waits for what is under way, for as long as the end of a process does. A signal's handler may raise.
#[pyfunction]
fn _drain(py: Python<'_>) -> PyResult<()> {
    let deadline = Instant::now() + stridewise::exit_patience();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if py.detach(|| stridewise::drain(left.min(SLICE))) || left.is_zero() {
            return Ok(());
        }
        py.check_signals()?;
    }
}

/// Has the interpreter wait for work before it ends: memory of objects that the work reads goes back to them while they can
/// take it. Threads that are still there may submit more, which the end of the process waits for.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let drain = wrap_pyfunction!(_drain, module)?;
    module.py().import("atexit")?.call_method1("register", (drain,))?;
    Ok(())
}
