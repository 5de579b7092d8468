//! A backend that executes nothing and completes events on command.
//!
//! Tests of a scheduler need to see what was submitted with which waits, and to decide themselves what ends when. A
//! [`NullDevice`] records every submission in a log and leaves it pending until the test says [`start`], [`complete`],
//! [`fail`] or, to have a host task's function called, [`execute`]. Its memory is numbers: addresses of a range that no
//! process has, never dereferenced.
//!
//! [`start`]: NullDevice::start
//! [`complete`]: NullDevice::complete
//! [`fail`]: NullDevice::fail
//! [`execute`]: NullDevice::execute

mod device;
mod log;

pub use device::{NullConfig, NullDevice, NullDriver};
pub use log::{Logged, LoggedWait, Submission};

/// The driver's name.
const DRIVER: &str = "null";
