//! What queues are given.

use std::fmt;
use std::sync::Arc;

use super::SourceLaunch;
use crate::error::Result;
use crate::form::KernelLaunch;
use crate::memory::pointer::UsmPtr;
use crate::plan::LaunchPlan;

/// What is said about memory (SYCL 2020, `handler::prefetch` and `handler::mem_advise`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Advice {
    /// It is used soon: have it where the device works. On the host, pages that were never touched get their memory.
    Prefetch,
    /// Nothing special: takes back what follows.
    Default,
    /// It is used from the start to the end.
    Sequential,
    /// It is used in no order.
    Random,
}

impl Advice {
    /// What can be said besides [`Prefetch`](Self::Prefetch).
    pub const ALL: &'static [Self] = &[Self::Default, Self::Sequential, Self::Random];

    /// `default`, `sequential` or `random`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prefetch => "prefetch",
            Self::Default => "default",
            Self::Sequential => "sequential",
            Self::Random => "random",
        }
    }
}

/// What a queue does that is plain data, so that it may be done more than once.
#[derive(Clone)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Step {
    /// One or several passes that do not depend on each other, as one unit with one event.
    Launch(Vec<LaunchPlan>),
    /// Passes of which each may read what those of earlier stages write, as one unit with one event; those of one stage do not
    /// depend on each other. No pass writes what another one of any stage writes, nor what one of its own or an earlier stage
    /// reads. Only for devices that take so many ([`Capabilities::most_stages`](super::Capabilities::most_stages)).
    Stages(Vec<Vec<LaunchPlan>>),
    /// A kernel that a user wrote.
    Kernel(Box<KernelLaunch>),
    /// Copies bytes between memory of this driver, or between it and host memory; the ranges do not overlap.
    Copy {
        /// Where to.
        dst: UsmPtr,
        /// Where from.
        src: UsmPtr,
        /// How many bytes.
        bytes: usize,
    },
    /// Repeats a pattern of 1, 2, 4, 8 or 16 bytes.
    Fill {
        /// Where to, a multiple of the pattern's length.
        dst: UsmPtr,
        /// How many bytes, a multiple of the pattern's length.
        bytes: usize,
        /// The pattern; the first `pattern_bytes` of it count.
        pattern: [u8; 16],
        /// Length of the pattern.
        pattern_bytes: usize,
    },
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Launch(plans) => f.debug_tuple("Launch").field(plans).finish(),
            Self::Stages(stages) => f.debug_tuple("Stages").field(stages).finish(),
            Self::Kernel(launch) => write!(f, "Kernel({:?} over {})", launch.kernel, launch.space),
            Self::Copy { dst, src, bytes } => write!(f, "Copy({bytes} bytes {src:?} → {dst:?})"),
            Self::Fill { dst, bytes, .. } => write!(f, "Fill({bytes} bytes at {dst:?})"),
        }
    }
}

/// Work for a queue.
#[non_exhaustive]
pub enum Command {
    /// One step.
    Step(Step),
    /// Steps one after the other, as one unit with one event: each may read and write what those before it do, and begins when they
    /// have ended. Where one fails, those behind it are not run. Only for devices that take such
    /// ([`Capabilities::sequences`](super::Capabilities::sequences)). They may be submitted again, so that they are shared.
    Sequence(Arc<[Step]>),
    /// A kernel from a source that this device has compiled.
    SourceKernel(Box<SourceLaunch>),
    /// A hint about memory of this driver. It changes no contents; a device that has no use for it does nothing.
    Advise {
        /// Where the memory begins.
        ptr: UsmPtr,
        /// How many bytes.
        bytes: usize,
        /// The hint.
        advice: Advice,
    },
    /// Nothing: complete when its waits are.
    Barrier,
    /// A function on the host; it may block. Its error or panic fails the event.
    HostTask(Box<dyn FnOnce() -> Result<()> + Send>),
}

impl From<Step> for Command {
    fn from(step: Step) -> Self {
        Self::Step(step)
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(step) => step.fmt(f),
            Self::Sequence(steps) => f.debug_tuple("Sequence").field(steps).finish(),
            Self::SourceKernel(launch) => write!(f, "SourceKernel({launch:?})"),
            Self::Advise { ptr, bytes, advice } => write!(f, "Advise({advice:?}, {bytes} bytes at {ptr:?})"),
            Self::Barrier => f.write_str("Barrier"),
            Self::HostTask(_) => f.write_str("HostTask"),
        }
    }
}
