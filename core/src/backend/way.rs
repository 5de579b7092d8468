//! How a device would run a command, as people are told.

use std::borrow::Cow;
use std::time::Duration;

/// How a device would run a command: an answer for people, which nothing is decided by.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Way {
    /// Who runs it, as *the calling thread* or *the pool*.
    pub road: Cow<'static, str>,
    /// What runs it: an instruction set level, a kernel's name.
    pub kernel: Cow<'static, str>,
    /// Whether what runs it is compiled already; `None` where nothing is compiled for it, or the device does not know.
    pub compiled: Option<bool>,
    /// Threads that take part at most; 0 where that is not known.
    pub threads: usize,
    /// Rough time of the command, on one thread where it has several.
    pub estimate: Option<Duration>,
}

impl Way {
    /// By whom and what.
    #[must_use]
    pub fn new(road: impl Into<Cow<'static, str>>, kernel: impl Into<Cow<'static, str>>) -> Self {
        Self { road: road.into(), kernel: kernel.into(), ..Self::default() }
    }
}
