//! Commands that may be submitted more than once.

use super::Command;
use crate::form::KernelLaunch;
use crate::memory::pointer::UsmPtr;
use crate::plan::LaunchPlan;

/// A command of a [`Command::Sequence`]: plain data, which may be submitted more than once. Each is as the command of its name.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Step {
    /// See [`Command::Launch`].
    Launch(Vec<LaunchPlan>),
    /// See [`Command::Stages`].
    Stages(Vec<Vec<LaunchPlan>>),
    /// See [`Command::Kernel`].
    Kernel(Box<KernelLaunch>),
    /// See [`Command::Copy`].
    Copy {
        /// Where to.
        dst: UsmPtr,
        /// Where from.
        src: UsmPtr,
        /// How many bytes.
        bytes: usize,
    },
    /// See [`Command::Fill`].
    Fill {
        /// Where to.
        dst: UsmPtr,
        /// How many bytes.
        bytes: usize,
        /// The pattern.
        pattern: [u8; 16],
        /// Length of the pattern.
        pattern_bytes: usize,
    },
}

impl From<Step> for Command {
    fn from(step: Step) -> Self {
        match step {
            Step::Launch(plans) => Self::Launch(plans),
            Step::Stages(stages) => Self::Stages(stages),
            Step::Kernel(launch) => Self::Kernel(launch),
            Step::Copy { dst, src, bytes } => Self::Copy { dst, src, bytes },
            Step::Fill { dst, bytes, pattern, pattern_bytes } => {
                Self::Fill { dst, bytes, pattern, pattern_bytes }
            }
        }
    }
}
