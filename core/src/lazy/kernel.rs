//! Launches of kernels that users write. Their arrays are in memory, recorded work on them is submitted first.

use std::sync::Arc;

use smallvec::SmallVec;

use super::UsmArray;
use super::evaluate::{flush_foreign_readers, flush_readers};
use super::plan::Placed;
use crate::backend::Support;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::form::{Kernel, KernelArgument, KernelLaunch, LaunchOptions, Object, Space};
use crate::memory::allocation::Allocation;
use crate::memory::schedule::{self, Access, Batch};
use crate::memory::track::Mode;
use crate::runtime::{Event, Queue};
use crate::scalar::Scalar;

/// An argument that fits its parameter.
pub(crate) enum Bound<'a> {
    Array(Object, &'a UsmArray),
    Scalar(Scalar),
    Local(Dtype, SmallVec<[usize; 4]>),
}

/// Submits a launch, with what is known of its end ([`KernelLaunch::ends`]), behind whatever accesses its memory now, and behind the
/// events named. What is written of an array need not be all of it, so what was written before counts as read.
///
/// # Errors
/// [`Error::Unsupported`] where the device cannot run it; what the submission reports.
pub(crate) fn launch_kernel(
    queue: &Queue,
    kernel: &Kernel,
    space: Space,
    bound: &[Bound<'_>],
    (options, ends): (LaunchOptions, bool),
    depends: &[Event],
) -> Result<Event> {
    if let Support::No(reason) = queue.device().backend().supports_kernel(kernel, options) {
        return Err(Error::unsupported(
            "kernel",
            reason,
            format!("a kernel that {} can run", queue.device()),
            "launch it on a queue of another device",
        ));
    }
    let (mut arguments, mut accesses) = (Vec::with_capacity(bound.len()), Vec::<Access>::new());
    let (mut written, mut exported) = (Vec::new(), false);
    for argument in bound {
        arguments.push(match argument {
            Bound::Scalar(scalar) => KernelArgument::Scalar(*scalar),
            Bound::Local(_, shape) => KernelArgument::Local(shape.clone()),
            Bound::Array(object, array) => {
                let allocation = Arc::clone(array.elements().memory()?);
                let placed = Placed { allocation, layout: array.layout().clone(), dtype: array.dtype() };
                let (reads, writes) = (kernel.reads(*object), kernel.writes(*object));
                if !array.is_empty() {
                    accesses.extend((reads || writes).then(|| placed.access(Mode::Read)));
                    accesses.extend(writes.then(|| placed.access(Mode::Write)));
                    exported |= (reads || writes) && placed.allocation.is_exported();
                }
                let operand = placed.operand(0, array.strides());
                if writes {
                    written.push(placed.allocation);
                }
                let (shape, strides) = (array.shape().into(), operand.strides.as_slice().into());
                KernelArgument::Array { ptr: operand.ptr, shape, strides }
            }
        });
    }
    submit_behind(queue, &written, exported, depends, |batch| {
        if space.is_empty() {
            return match depends {
                [] => Ok(Event::ready()),
                _ => schedule::barrier_in(queue, depends, batch),
            };
        }
        let LaunchOptions { checked, time_limit } = options;
        let (kernel, arguments) = (kernel.clone(), arguments.clone());
        let launch = KernelLaunch { kernel, space, arguments, checked, time_limit, ends };
        schedule::launch_kernel(queue, launch, &accesses, depends, batch)
    })
}

/// Submits a command that writes parts of allocations behind recorded work that reads them.
///
/// # Errors
/// What the submission of recorded work, or of the command, reports.
pub(crate) fn submit_behind(
    queue: &Queue,
    written: &[Arc<Allocation>],
    exported: bool,
    depends: &[Event],
    mut submit: impl FnMut(&mut Batch<'_>) -> Result<Event>,
) -> Result<Event> {
    for allocation in written {
        flush_foreign_readers(queue, allocation)?;
    }
    let event = Batch::run(queue, |batch| {
        let _lock = queue.flush_lock();
        for allocation in written {
            flush_readers(queue, allocation, batch)?;
        }
        submit(batch)
    })?;
    if exported {
        schedule::complete(&event, depends)?;
    }
    Ok(event)
}
