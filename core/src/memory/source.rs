//! Launches of kernels from sources, whose accesses nobody checks: what they may touch is what they are given.

use std::sync::Arc;

use super::schedule::{self, Access};
use super::track::{Mode, Region};
use crate::backend::{SourceLaunch, SourceValue};
use crate::error::{Error, Result};
use crate::form::NdRange;
use crate::kernel::{SourceArgument, SourceKernel};
use crate::lazy;
use crate::memory::allocation::Allocation;
use crate::runtime::{Event, Queue, common_queue};
use crate::scalar::Scalar;

/// The arguments of a launch, and what of memory they are.
#[derive(Default)]
struct Given {
    values: Vec<SourceValue>,
    accesses: Vec<Access>,
    written: Vec<Arc<Allocation>>,
    exported: bool,
}

impl Given {
    fn scalar(&mut self, scalar: Scalar) {
        self.values.push(SourceValue::Bytes(scalar.to_bytes()[..scalar.dtype().size()].into()));
    }

    /// Bytes of an allocation from the offset on, that lie in a region.
    fn memory(
        &mut self,
        allocation: &Arc<Allocation>,
        offset: usize,
        bytes: usize,
        region: Region,
        reads: bool,
    ) {
        let ptr = allocation.ptr().byte_offset(offset.cast_signed());
        self.values.push(SourceValue::Memory { ptr, bytes, read_only: reads });
        if bytes == 0 {
            return;
        }
        let access = |mode| Access { allocation: Arc::clone(allocation), region: region.clone(), mode };
        self.accesses.push(access(Mode::Read));
        self.exported |= allocation.is_exported();
        if !reads {
            self.accesses.push(access(Mode::Write));
            self.written.push(Arc::clone(allocation));
        }
    }
}

impl SourceKernel {
    /// Launches the kernel over an index space, behind whatever accesses its arguments now and behind the events named.
    /// Recorded work on them is submitted first. The last extent is the fastest, as is OpenCL's dimension 0 and CUDA's `x`; without groups, the runtime
    /// chooses them. Arguments are read and written, unless their parameter (`const`, `constant`) or the caller says that they are
    /// only read.
    ///
    /// # Errors
    /// [`Error::Value`] for a wrong number, kind or type of arguments, groups that do not fit, or a queue of another device;
    /// [`Error::Borrow`] where an array that counts as written is read-only; [`Error::ExecutionPlacement`] where one is on another
    /// queue; [`Error::Unsupported`] for an array that is not contiguous; what the submission reports.
    ///
    /// # Safety
    /// - Arguments have the types of their parameters.
    /// - Over these extents the kernel accesses no memory but its arguments', within their bounds.
    /// - It writes none that is said to be only read.
    /// - It ends.
    pub unsafe fn launch(
        &self,
        queue: &Queue,
        range: impl Into<NdRange>,
        arguments: &[SourceArgument<'_>],
        depends: &[Event],
    ) -> Result<Event> {
        if queue.device() != self.device() {
            return Err(Error::value(
                "queue",
                queue,
                format!("a queue of {}, for which kernel `{}` was compiled", self.device(), self.name()),
                "compile the source for a queue of that device",
            ));
        }
        let (global, group) = self.check_range(&range.into())?;
        self.check_arguments(arguments)?;
        let given = self.bind(queue, arguments)?;
        let Given { values, accesses, written, exported } = given;
        if global.contains(&0) {
            return if depends.is_empty() { Ok(Event::ready()) } else { schedule::barrier(queue, depends) };
        }
        lazy::submit_behind(queue, &written, exported, depends, |batch| {
            let (global, group) = (global.clone(), group.clone());
            let launch =
                SourceLaunch { kernel: self.compiled().clone(), global, group, arguments: values.clone() };
            // SAFETY: the kernel touches its arguments only, whose regions the accesses are, writes none that
            // is only read, and ends, by the caller's word; `check_arguments` has compared their types as far
            // as these are known.
            unsafe { schedule::launch_source(queue, launch, &accesses, depends, batch) }
        })
    }

    /// Launches a kernel for which its backend vouches ([`SourceKernelInfo::touches`](crate::backend::SourceKernelInfo::touches)), as
    /// [`launch`](Self::launch) does, over one item.
    ///
    /// # Errors
    /// As for [`launch`](Self::launch); [`Error::Unsupported`] of a kernel for which nobody vouches, [`Error::Value`] for arguments that
    /// are no memory, are shorter than what it accesses, or have memory in common.
    pub fn call(&self, queue: &Queue, arguments: &[SourceArgument<'_>], depends: &[Event]) -> Result<Event> {
        let Some(touches) = &self.info().touches else {
            return Err(Error::unsupported(
                "kernel",
                self.name(),
                "a kernel for which its backend vouches",
                "launch it by `launch`, and vouch for it",
            ));
        };
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for (number, (argument, needed)) in arguments.iter().zip(touches).enumerate() {
            let (start, bytes) = match argument {
                SourceArgument::Array { array, .. } => {
                    let start = array.elements().memory()?.ptr().addr() + array.offset() * array.itemsize();
                    (start, array.len() * array.itemsize())
                }
                SourceArgument::Memory { memory, offset, bytes, .. } => {
                    (memory.ptr().addr().saturating_add(*offset), *bytes)
                }
                _ => (0, 0),
            };
            // Numbers that cannot be are refused by the launch.
            let end = start.saturating_add(bytes);
            let apart = ranges.iter().all(|&(from, to)| end <= from || to <= start);
            if bytes < *needed || !apart {
                return Err(Error::value(
                    format!("args[{number}]"),
                    format!("{bytes} bytes{}", if apart { "" } else { " that another argument has" }),
                    format!("{needed} bytes of memory or more, of its own"),
                    "give arrays of the kernel's extents",
                ));
            }
            ranges.push((start, end));
        }
        // SAFETY: its backend vouches for the kernel: over one item, too, it accesses what was looked at above, and ends. What it
        // writes counts as written where the caller does not say otherwise: that is for elements, not for memory, to suffer.
        unsafe { self.launch(queue, 1, arguments, depends) }
    }

    fn bind(&self, queue: &Queue, arguments: &[SourceArgument<'_>]) -> Result<Given> {
        let mut given = Given::default();
        let names: Vec<String> = (0..arguments.len()).map(|number| format!("args[{number}]")).collect();
        let mut queues = vec![("queue", queue)];
        for (name, argument) in names.iter().zip(arguments) {
            if let SourceArgument::Array { array, .. } = argument {
                queues.push((name, array.queue()));
            }
        }
        common_queue(&queues)?;
        for (number, (name, argument)) in names.into_iter().zip(arguments).enumerate() {
            match argument {
                SourceArgument::Array { array, read_only } => {
                    let reads = *read_only || self.only_reads(number);
                    let flags = array.flags();
                    if !flags.c_contiguous && !flags.f_contiguous {
                        return Err(Error::unsupported(
                            name,
                            format!("a view of shape {:?} with strides {:?}", array.shape(), array.strides()),
                            "a contiguous array, as the kernel knows of no strides",
                            "copy it first, with `copy`",
                        ));
                    }
                    if !reads {
                        array.check_writable(name)?;
                    }
                    let allocation = Arc::clone(array.elements().memory()?);
                    let size = array.dtype().size();
                    let (layout, bytes) = (array.layout(), array.len() * size);
                    given.memory(&allocation, layout.offset() * size, bytes, Region::of(layout, size), reads);
                }
                SourceArgument::Memory { memory, offset, bytes, read_only } => {
                    if memory.device() != self.device() {
                        return Err(Error::value(
                            name,
                            format!("memory of {}", memory.device()),
                            format!("memory of {}", self.device()),
                            "copy it there first",
                        ));
                    }
                    if offset.checked_add(*bytes).is_none_or(|end| end > memory.bytes()) {
                        return Err(Error::out_of_bounds(
                            name,
                            format!("{bytes} bytes at offset {offset}"),
                            format!("a range inside the allocation of {} bytes", memory.bytes()),
                            "take fewer bytes or start earlier",
                        ));
                    }
                    let reads = *read_only || self.only_reads(number);
                    let region = Region::bytes(*offset..offset + bytes);
                    given.memory(memory.allocation(), *offset, *bytes, region, reads);
                }
                SourceArgument::Scalar(scalar) => given.scalar(*scalar),
                SourceArgument::Weak(weak) => given.scalar(self.value(number, *weak)?),
                SourceArgument::Bytes(bytes) => given.values.push(SourceValue::Bytes((*bytes).into())),
                SourceArgument::Local(bytes) => given.values.push(SourceValue::Local(*bytes)),
            }
        }
        Ok(given)
    }
}
