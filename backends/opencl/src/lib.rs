//! The OpenCL backend: GPUs and other devices that a machine has, found at run time.
//!
//! Nothing is linked: the loader (`libOpenCL.so.1`) is opened at the first use of any device, and where there is none,
//! there are no devices. A device's [`UsmSupport`](stridewise_core::backend::UsmSupport) says what memory it has.
//!
//! - `driver`, `device`, `diagnosis`: what there is, and why not more;
//! - `memory`: the three tiers of memory behind USM pointers;
//! - `queue`, `event`, `worker`: commands, their order and their end;
//! - `transfer`: copies between host and device memory, and between devices;
//! - `program`: compiled kernels, those that were used last, in memory and on disk.
//!
//! Which kernels compute a plan, and their texts, is `stridewise-emit`'s.

mod device;
mod diagnosis;
mod driver;
mod enqueue;
mod error;
mod event;
mod handle;
mod memory;
mod program;
mod queue;
mod source;
mod transfer;
mod worker;

pub use driver::{driver, driver_keeping};
pub use handle::live_handles;

/// The driver's name, the first part of its devices' filter strings.
const DRIVER: &str = "opencl";
