//! Threads of backends, and forks. Threads are not part of what `fork` copies, so a process that was forked from one whose backends had started
//! threads would wait for them for ever. It is refused instead.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

use crate::error::{Error, Result};
use crate::fault::{self, Site};

/// The process whose backends have started threads; 0: none has yet.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Notes that a backend of this process starts threads, without which its commands do not end.
pub fn threads_started() {
    // A process that was forked from the owner has its own errors already.
    let _ = OWNER.compare_exchange(0, std::process::id(), Ordering::AcqRel, Ordering::Acquire);
}

/// Starts a thread of a backend. All of them are started here.
///
/// # Errors
/// The system's, where it starts none.
pub fn start_thread<R: Send + 'static>(
    builder: Builder,
    run: impl FnOnce() -> R + Send + 'static,
) -> io::Result<JoinHandle<R>> {
    threads_started();
    granted()?;
    builder.spawn(run)
}

/// As [`start_thread`], of a thread that ends before a scope does.
///
/// # Errors
/// As there.
pub fn start_scoped_thread<'scope, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    builder: Builder,
    run: impl FnOnce() -> R + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, R>> {
    threads_started();
    granted()?;
    builder.spawn_scoped(scope, run)
}

fn granted() -> io::Result<()> {
    if fault::strikes(Site::Thread) { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
}

/// Refuses work that needs threads where they were left behind in the process that this one was forked from.
///
/// # Errors
/// [`Error::Runtime`].
pub fn check_process() -> Result<()> {
    let owner = OWNER.load(Ordering::Acquire);
    if owner == 0 || owner == std::process::id() {
        return Ok(());
    }
    Err(Error::runtime(
        "process",
        format!(
            "{}, forked from process {owner} after that had started the engine's threads",
            std::process::id()
        ),
        "the process that started them, for threads are not forked",
        "fork before the first array operation, or start processes anew (in Python: \
         multiprocessing.get_context(\"spawn\") or \"forkserver\")",
    ))
}
