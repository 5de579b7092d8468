//! What the system calls when the process ends or forks.

use std::sync::OnceLock;

/// What is called before a fork, and after it in the old process and in the new one.
static AT_FORK: OnceLock<[fn(); 3]> = OnceLock::new();
/// What is called at the end.
static AT_EXIT: OnceLock<fn()> = OnceLock::new();

fn call(number: usize) {
    if let Some(functions) = AT_FORK.get() {
        functions[number]();
    }
}

unsafe extern "C" fn before_fork() {
    call(0);
}

unsafe extern "C" fn after_fork() {
    call(1);
}

unsafe extern "C" fn forked() {
    call(2);
}

extern "C" fn at_exit() {
    if let Some(function) = AT_EXIT.get() {
        function();
    }
}

/// Has functions called before every fork of this process, on the thread that forks, and after it there and in the new process.
/// Once; a system without forks never calls them.
pub(crate) fn on_fork(before: fn(), parent: fn(), child: fn()) {
    let first = AT_FORK.set([before, parent, child]).is_ok();
    #[cfg(all(unix, not(miri)))]
    if first {
        // SAFETY: the functions are of this library, which the system forgets when it is unloaded; they do not unwind, as
        // nothing in them panics. A refusal, for want of memory, leaves forks as they are without this.
        let _ = unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(forked)) };
    }
    #[cfg(not(all(unix, not(miri))))]
    let _ = (first, before_fork, after_fork, forked);
}

/// Has a function called when the process ends by `exit`, or by the end of `main`: before what was to be called by then. Another
/// time it is called again, before what was to be called by that time.
pub(crate) fn on_exit(function: fn(), again: bool) {
    let wanted = AT_EXIT.set(function).is_ok() || again;
    // WebAssembly has no such end; it is refused, by the sentence in lib.rs alone.
    #[cfg(not(target_family = "wasm"))]
    if wanted {
        // SAFETY: the function is of this library, whose unloading calls and forgets it; it does not unwind, as nothing in it
        // panics. A refusal, for want of memory, leaves the end as it is without this.
        let _ = unsafe { libc::atexit(at_exit) };
    }
    #[cfg(target_family = "wasm")]
    let _ = (wanted, at_exit);
}
