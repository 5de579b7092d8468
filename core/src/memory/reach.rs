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
        each_operand(plan, |operand| match stated.contains(&operand, &plan.dims) {
            true => Ok(()),
            false => Err(unstated(operand.operand, &plan.dims)),
        })?;
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
                let Some(reach) = operand.reach(dims) else { return false };
                let behind = ranges.partition_point(|range| range.start <= reach.start);
                behind > 0 && reach.end <= ranges[behind - 1].end
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

/// Looks at each operand of a plan that is in memory, until one is refused: in loops, as each small call does it.
pub(super) fn each_operand<'a, E>(
    plan: &'a LaunchPlan,
    mut look: impl FnMut(Reaching<'a>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let dtypes = plan.program.inputs();
    for (i, operand) in plan.inputs.iter().enumerate() {
        if !plan.program.is_index(i) {
            look(Reaching::of(plan, operand, dtypes[i].size(), Mode::Read, i))?;
        }
    }
    for (i, operand) in plan.outputs.iter().enumerate() {
        look(Reaching::of(plan, operand, plan.output_dtype(i).size(), Mode::Write, i))?;
    }
    Ok(())
}

impl<'a> Reaching<'a> {
    fn of(plan: &'a LaunchPlan, operand: &'a Operand, size: usize, mode: Mode, number: usize) -> Self {
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
        Self { operand, size, mode, number, indexed }
    }

    /// The addresses that it reaches over the plan's dimensions; `None` where some of them are none.
    fn reach(&self, dims: &[usize]) -> Option<Range<usize>> {
        let Self { operand, size, indexed, .. } = *self;
        let start = operand.ptr.addr();
        let mut range = start..start.checked_add(size)?;
        let mut along = |extent: usize, stride: isize| {
            let reach = extent.saturating_sub(1).checked_mul(stride.unsigned_abs())?.checked_mul(size)?;
            if stride < 0 {
                range.start = range.start.checked_sub(reach)?;
            } else {
                range.end = range.end.checked_add(reach)?;
            }
            Some(())
        };
        for (&extent, &stride) in dims.iter().zip(&operand.strides) {
            along(extent, stride)?;
        }
        for axis in indexed {
            along(axis.extent, axis.stride)?;
        }
        Some(range)
    }

    /// Whether it stays, over the plan's dimensions, inside a range of bytes of an allocation.
    pub(super) fn is_within(&self, dims: &[usize], allocation: &Allocation, range: &Range<usize>) -> bool {
        let start = allocation.ptr().addr();
        self.reach(dims).is_some_and(|reach| {
            start + range.start <= reach.start && reach.end <= start.saturating_add(range.end)
        })
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
