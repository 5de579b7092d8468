//! Forks. Threads are not part of what `fork` copies, so a process that was forked from one whose backends had started
//! threads would wait for them for ever. It is refused instead.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{Error, Result};

/// The process whose backends have started threads; 0: none has yet.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Notes that a backend of this process starts threads, without which its commands do not end.
pub fn threads_started() {
    // A process that was forked from the owner has its own errors already.
    let _ = OWNER.compare_exchange(0, std::process::id(), Ordering::AcqRel, Ordering::Acquire);
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
