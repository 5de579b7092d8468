//! What commands reach: every operand of a plan, and every array of a kernel, lies in the memory that its submission names, else
//! nothing is submitted. Kernels look at no address again.

use std::ops::Range;

use super::allocation::Allocation;
use super::heap;
use super::schedule::Access;
use super::track::{FEW_ACCESSES, Mode};
use crate::backend::Step;
use crate::error::{Error, Result};
use crate::form::{KernelArgument, KernelLaunch};
use crate::plan::{Family, IndexedAxis, LaunchPlan, Operand};

/// The defect that a command reaches memory that nobody knows of.
fn unstated(operand: &Operand, dims: &[usize]) -> Error {
    Error::out_of_bounds(
        "plan",
        format!("an operand at {:?} over {dims:?}", operand.ptr),
        "operands inside the memory that the submission names",
        "this is a defect of the engine: please report it",
    )
}

/// Checks a command as those that submit it first do.
pub(super) fn check_step(step: &Step, accesses: &[Access]) -> Result<()> {
    let stated = Stated::new(accesses)?;
    match step {
        Step::Launch(plans) => check(plans, &stated),
        Step::Stages(stages) => stages.iter().try_for_each(|plans| check(plans, &stated)),
        Step::Kernel(launch) => check_kernel(launch, accesses),
        // Ranges that lie in their accesses as before.
        _ => Ok(()),
    }
}

/// Checks that every operand of plans reaches only into the region of an access of its mode.
pub(super) fn check(plans: &[LaunchPlan], stated: &Stated<'_>) -> Result<()> {
    for plan in plans {
        for operand in operands(plan) {
            if !stated.contains(&operand, &plan.dims) {
                return Err(unstated(operand.operand, &plan.dims));
            }
        }
    }
    Ok(())
}

/// What a submission accesses, to be searched for every operand of its plans.
pub(super) enum Stated<'a> {
    /// Of so few each is asked.
    Few(&'a [Access]),
    /// The addresses of what is read and of what is written: ranges apart from each other, in their order.
    Many([Vec<Range<usize>>; 2]),
}

impl<'a> Stated<'a> {
    pub(super) fn new(accesses: &'a [Access]) -> Result<Self> {
        if accesses.len() <= FEW_ACCESSES {
            return Ok(Self::Few(accesses));
        }
        let ranges = |mode: Mode| -> Result<Vec<Range<usize>>> {
            let of_mode = accesses.iter().filter(|access| access.mode == mode);
            let mut ranges = heap::collect("accesses", of_mode.map(Access::addresses))?;
            ranges.sort_unstable_by_key(|range| (range.start, range.end));
            // Whether they are of one allocation or of two that lie side by side: all of it is named.
            ranges.dedup_by(|next, range| {
                let joins = next.start <= range.end;
                if joins {
                    range.end = range.end.max(next.end);
                }
                joins
            });
            Ok(ranges)
        };
        Ok(Self::Many([ranges(Mode::Read)?, ranges(Mode::Write)?]))
    }

    /// Whether an operand of a plan stays inside what is accessed so.
    fn contains(&self, operand: &Reaching<'_>, dims: &[usize]) -> bool {
        match self {
            Self::Few(accesses) => {
                accesses.iter().any(|access| operand.mode == access.mode && access.contains(operand, dims))
            }
            Self::Many([reads, writes]) => {
                let ranges = if operand.mode == Mode::Read { reads } else { writes };
                let [low, high] = operand.reach(dims);
                let behind = ranges.partition_point(|range| range.start as i128 <= low);
                behind > 0 && high <= ranges[behind - 1].end as i128
            }
        }
    }
}

/// An operand of a plan that is in memory.
pub(super) struct Reaching<'a> {
    operand: &'a Operand,
    /// Bytes of an element.
    pub(super) size: usize,
    pub(super) mode: Mode,
    /// Its number among the inputs, or the outputs.
    pub(super) number: usize,
    /// The axes along which it is addressed besides the plan's dimensions.
    indexed: &'a [IndexedAxis],
}

/// The operands of a plan that are in memory.
pub(super) fn operands(plan: &LaunchPlan) -> impl Iterator<Item = Reaching<'_>> {
    let dtypes = plan.program.inputs();
    let in_memory = plan.inputs.iter().enumerate().filter(|&(i, _)| !plan.program.is_index(i));
    let reads = in_memory.map(|(i, operand)| (operand, dtypes[i].size(), Mode::Read, i));
    let writes = plan.outputs.iter().enumerate();
    let writes = writes.map(|(i, operand)| (operand, plan.output_dtype(i).size(), Mode::Write, i));
    reads.chain(writes).map(|(operand, size, mode, number)| {
        let indexed: &[IndexedAxis] = match (&plan.family, mode, number) {
            (Family::Gather { axes }, Mode::Read, 0) | (Family::Scatter { axes }, Mode::Write, 0) => axes,
            (
                Family::Search { table: axis, .. }
                | Family::Contains { table: axis, .. }
                | Family::Histogram { edges: axis, .. },
                Mode::Read,
                1,
            )
            | (
                Family::Top { axis, .. }
                | Family::Compress { axis, .. }
                | Family::Runs { axis }
                | Family::Accumulate { axis, .. }
                | Family::Count { axis }
                | Family::Histogram { axis, .. },
                Mode::Write,
                0,
            )
            | (Family::Expand { axis, .. }, Mode::Read, 0) => std::slice::from_ref(axis),
            _ => &[],
        };
        Reaching { operand, size, mode, number, indexed }
    })
}

impl Reaching<'_> {
    /// The first address that it reaches over the plan's dimensions, and the one behind the last.
    fn reach(&self, dims: &[usize]) -> [i128; 2] {
        let Self { operand, size, indexed, .. } = *self;
        let (mut low, mut high) = (operand.ptr.addr() as i128, (operand.ptr.addr() + size) as i128);
        let along = dims.iter().copied().zip(operand.strides.iter().copied());
        for (extent, stride) in along.chain(indexed.iter().map(|axis| (axis.extent, axis.stride))) {
            let reach = (extent as i128 - 1) * stride as i128 * size as i128;
            if reach < 0 { low += reach } else { high += reach }
        }
        [low, high]
    }

    /// Whether it stays, over the plan's dimensions, inside a range of bytes of an allocation.
    pub(super) fn is_within(&self, dims: &[usize], allocation: &Allocation, range: &Range<usize>) -> bool {
        let [low, high] = self.reach(dims);
        let start = allocation.ptr().addr() as i128;
        start + range.start as i128 <= low && high <= start + range.end as i128
    }
}

impl Access {
    /// Whether an operand of a plan stays inside this access.
    fn contains(&self, operand: &Reaching<'_>, dims: &[usize]) -> bool {
        operand.is_within(dims, &self.allocation, &self.region.range())
    }

    /// The addresses of the region.
    fn addresses(&self) -> Range<usize> {
        let (start, range) = (self.allocation.ptr().addr(), self.region.range());
        start + range.start..start + range.end
    }
}

/// Checks that every array of a kernel lies in an access of the mode that the kernel accesses it by.
pub(super) fn check_kernel(launch: &KernelLaunch, accesses: &[Access]) -> Result<()> {
    for (object, argument) in launch.arrays() {
        let KernelArgument::Array { ptr, shape, strides } = argument else { continue };
        let operand = Operand { ptr: *ptr, strides: strides.as_slice().into() };
        let size = launch.kernel.form().object(object).dtype.size();
        let modes = [(launch.kernel.reads(object), Mode::Read), (launch.kernel.writes(object), Mode::Write)];
        for mode in modes.iter().filter(|(has, _)| *has && !shape.contains(&0)).map(|(_, mode)| *mode) {
            let reaching = Reaching { operand: &operand, size, mode, number: 0, indexed: &[] };
            if !accesses.iter().any(|access| mode == access.mode && access.contains(&reaching, shape)) {
                return Err(unstated(&operand, shape));
            }
        }
    }
    Ok(())
}
