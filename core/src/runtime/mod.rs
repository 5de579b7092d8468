//! Devices, contexts, queues and events, as the user sees them.

mod awaiting;
mod context;
mod device;
mod event;
mod filter;
mod placement;
mod process;
mod queue;
mod seconds;

pub use awaiting::EventFuture;
pub use context::Context;
#[cfg(test)]
pub(crate) use device::list;
pub(crate) use device::{DEFAULT_DEVICE_VARIABLE, OpFunction, drivers, outdated};
pub use device::{Device, WeakDevice, default_device, devices, each_device};
pub use event::Event;
pub use filter::{Filter, FilterTerm};
pub use placement::common_queue;
pub use placement::get_execution_queue;
pub(crate) use process::EXIT;
pub use process::{Ending, drain, exit_patience};
pub use queue::Queue;
pub(crate) use seconds::Seconds;
