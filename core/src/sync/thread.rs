//! Threads of backends: all of them are started here.

use std::io;
use std::thread::{Builder as StdBuilder, Scope, ScopedJoinHandle};

use super::primitives::thread::{Builder, JoinHandle};
use crate::fault::{self, Site};

/// Starts a thread of a backend.
///
/// # Errors
/// The system's, where it starts none.
pub fn start_thread<R: Send + 'static>(
    builder: Builder,
    run: impl FnOnce() -> R + Send + 'static,
) -> io::Result<JoinHandle<R>> {
    granted()?;
    builder.spawn(run)
}

/// As [`start_thread`], of a thread that ends before a scope does.
///
/// # Errors
/// As there.
pub fn start_scoped_thread<'scope, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    builder: StdBuilder,
    run: impl FnOnce() -> R + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, R>> {
    granted()?;
    builder.spawn_scoped(scope, run)
}

fn granted() -> io::Result<()> {
    if fault::strikes(Site::Thread) { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
}
