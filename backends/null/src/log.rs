//! What was submitted.

use std::ops::Range;
use std::sync::Arc;

use stridewise_core::backend::{Advice, Command, Dependency, Event, EventStatus, LaunchPlan, Operand, Step};
use stridewise_core::kernel::{Kernel, KernelArgument, KernelLaunch, Object};
use stridewise_core::memory::UsmPtr;
use stridewise_core::{Dtype, Error, Result};

/// A command as the log keeps it: without the function of a host task.
#[derive(Clone, Debug)]
pub enum Logged {
    /// A launch's plans.
    Launch(Vec<LaunchPlan>),
    /// A launch of a kernel that a user wrote.
    Kernel(KernelLaunch),
    /// A copy.
    Copy {
        /// Where to.
        dst: UsmPtr,
        /// Where from.
        src: UsmPtr,
        /// How many bytes.
        bytes: usize,
    },
    /// A fill.
    Fill {
        /// Where to.
        dst: UsmPtr,
        /// How many bytes.
        bytes: usize,
        /// The pattern, of 1 to 16 bytes.
        pattern: Vec<u8>,
    },
    /// A hint about memory.
    Advise {
        /// Where the memory begins.
        ptr: UsmPtr,
        /// How many bytes.
        bytes: usize,
        /// The hint.
        advice: Advice,
    },
    /// A barrier.
    Barrier,
    /// A host task; what it touches is not known.
    HostTask,
}

impl Logged {
    /// The log's form of a command.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a kind of command that this crate does not know.
    pub(crate) fn of(command: &Command) -> Result<Self> {
        Ok(match command {
            Command::Step(Step::Launch(plans)) => Self::Launch(plans.clone()),
            Command::Step(Step::Kernel(launch)) => Self::Kernel((**launch).clone()),
            Command::Step(Step::Copy { dst, src, bytes }) => {
                Self::Copy { dst: *dst, src: *src, bytes: *bytes }
            }
            Command::Step(Step::Fill { dst, bytes, pattern, pattern_bytes }) => {
                let pattern = pattern.iter().take(*pattern_bytes).copied().collect();
                Self::Fill { dst: *dst, bytes: *bytes, pattern }
            }
            &Command::Advise { ptr, bytes, advice } => Self::Advise { ptr, bytes, advice },
            Command::Barrier => Self::Barrier,
            Command::HostTask(_) => Self::HostTask,
            other => {
                return Err(Error::unsupported(
                    "command",
                    format!("{other:?}"),
                    "a launch, kernel, copy, fill, barrier or host task",
                    "teach the null backend's log the new kind",
                ));
            }
        })
    }

    /// The addresses that the command reads: exact, ascending, adjacent ones merged. Lists every element, so it is for
    /// the small arrays of tests.
    #[must_use]
    pub fn reads(&self) -> Vec<Range<usize>> {
        match self {
            Self::Launch(plans) => merged(plans.iter().flat_map(|plan| {
                let inputs = plan.inputs.iter().zip(plan.program.inputs());
                inputs.flat_map(move |(operand, &dtype)| elements(&plan.dims, operand, dtype))
            })),
            Self::Kernel(launch) => arrays(launch, Kernel::reads),
            Self::Copy { src, bytes, .. } => merged([range(*src, *bytes)]),
            _ => Vec::new(),
        }
    }

    /// The addresses that the command writes, as [`reads`](Self::reads) lists them.
    #[must_use]
    pub fn writes(&self) -> Vec<Range<usize>> {
        match self {
            Self::Launch(plans) => merged(plans.iter().flat_map(|plan| {
                plan.outputs
                    .iter()
                    .enumerate()
                    .flat_map(move |(i, operand)| elements(&plan.dims, operand, plan.output_dtype(i)))
            })),
            Self::Kernel(launch) => arrays(launch, Kernel::writes),
            Self::Copy { dst, bytes, .. } | Self::Fill { dst, bytes, .. } => merged([range(*dst, *bytes)]),
            _ => Vec::new(),
        }
    }
}

/// All elements of the arrays of which a kernel says so: which ones it accesses shows only when it runs.
fn arrays(launch: &KernelLaunch, which: impl Fn(&Kernel, Object) -> bool) -> Vec<Range<usize>> {
    let all = launch.arrays().filter(|(object, _)| which(&launch.kernel, *object));
    merged(all.flat_map(|(object, argument)| match argument {
        KernelArgument::Array { ptr, shape, strides } => {
            let operand = Operand { ptr: *ptr, strides: strides.as_slice().into() };
            elements(shape, &operand, launch.kernel.form().object(object).dtype)
        }
        _ => Vec::new(),
    }))
}

fn range(ptr: UsmPtr, bytes: usize) -> Range<usize> {
    ptr.addr()..ptr.addr() + bytes
}

/// The address range of each element that an operand's strides reach.
fn elements(dims: &[usize], operand: &Operand, dtype: Dtype) -> Vec<Range<usize>> {
    let size = dtype.size();
    let mut addresses = vec![operand.ptr.addr()];
    for (&extent, &stride) in dims.iter().zip(&operand.strides) {
        // A broadcast dimension adds no address.
        let extent = if stride == 0 { extent.min(1) } else { extent };
        let step = stride.wrapping_mul(size.cast_signed());
        addresses = addresses
            .iter()
            .flat_map(|&first| {
                (0..extent).map(move |i| first.wrapping_add_signed(step.wrapping_mul(i.cast_signed())))
            })
            .collect();
    }
    addresses.into_iter().map(|address| address..address + size).collect()
}

fn merged(ranges: impl IntoIterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut ranges: Vec<_> = ranges.into_iter().filter(|r| !r.is_empty()).collect();
    ranges.sort_by_key(|r| (r.start, r.end));
    let mut out: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

/// A wait of a submission.
#[derive(Clone, Debug)]
pub struct LoggedWait {
    /// The submission waited for; `None` for an event that no submission to this device made, such as a signal.
    pub id: Option<usize>,
    /// The event.
    pub event: Arc<dyn Event>,
    /// What the wait means; the wait that an in-order queue adds is [`Dependency::Order`].
    pub dependency: Dependency,
}

/// A submission, as it was when the log was read.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Its number: 0, 1, … over all queues of the device.
    pub id: usize,
    /// The number of its queue, in the order in which the device made them.
    pub queue: usize,
    /// What was submitted.
    pub command: Logged,
    /// What it waits for.
    pub waits: Vec<LoggedWait>,
    /// Where it is.
    pub status: EventStatus,
    /// Its event.
    pub event: Arc<dyn Event>,
}

impl Submission {
    /// The submissions that it waits for, those of an in-order queue included.
    #[must_use]
    pub fn wait_ids(&self) -> Vec<usize> {
        self.waits.iter().filter_map(|wait| wait.id).collect()
    }
}
