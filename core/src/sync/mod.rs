//! What threads meet by, below everything else: locks that a fork finds free, locks that are counted, threads that are started
//! with an error instead of a panic, and the process that something belongs to.

mod held;
mod lock;
pub mod primitives;
mod process;
mod thread;

pub use held::assert_unlocked;
pub(crate) use held::{Deferring, Locked, defer};
#[cfg(feature = "interleavings")]
pub(crate) use lock::restart;
pub use lock::{Guard, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, Section};
pub(crate) use lock::{close, open, open_forked};
pub use process::{Home, PerProcess, RuntimeCall, check_end};
pub(crate) use process::{after_runtime_calls, arrive, end, is_left_behind, left_behind, runtime_calls};
pub use thread::{start_scoped_thread, start_thread};
