//! The CPU backend of Stridewise: worker threads per device, kernels dispatched at run time to the best instruction set
//! level of the processor, and USM memory from anonymous mappings.
//!
//! How a command travels: [`Queue::submit`](stridewise_core::backend::Queue::submit) collects the waits that are not
//! terminal yet. Where there are none and the work is small, it is done on the calling thread. Else the command becomes
//! a task; the last wait to finish hands it to the device's pool, which runs at most as many commands at a time as it
//! has threads and lets each of them use all its threads. A thread that waits for a command which no worker has begun runs
//! it, in place of a worker. Host tasks have threads of their own.
//!
//! Device memory is ordinary memory here that the engine does not show to host code. Under [`guard_device_memory`] (or
//! `STRIDEWISE_GUARD=1`) host code that touches it nevertheless dies with a message, as it would beside a real
//! accelerator.

mod device;
mod diagnosis;
mod driver;
mod fork_join;
mod guard;
#[cfg(all(test, feature = "interleavings"))]
mod interleavings;
mod interpreter;
mod kernels;
mod memory;
mod simd;
mod threads;
mod topology;

pub use driver::{device_on, device_with, driver};
pub use guard::guard_device_memory;
// A pool of it may be given: see [`device_on`].
pub use rayon;

/// The driver's name, as events and filter strings carry it.
const DRIVER: &str = "host";
