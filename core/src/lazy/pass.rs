//! Passes that fuse with nothing: scans, sorts, gathers, scatters, searches. Their operands are in memory, recorded work
//! on them is submitted first.

use std::sync::Arc;

use smallvec::SmallVec;

use super::UsmArray;
use super::evaluate::{self, flush_foreign_readers};
use super::plan::{self, Placed};
use crate::backend::Support;
use crate::error::Result;
use crate::layout::Strides;
use crate::memory::pointer::UsmPtr;
use crate::memory::schedule::{Access, Batch};
use crate::memory::track::Mode;
use crate::memory::{heap, immediate};
use crate::plan::{Family, LaunchPlan, MAX_PLAN_DIMS, Operand};
use crate::program::Program;
use crate::runtime::{Event, Queue};

/// An array, and how a pass steps through it: a stride in elements for each dimension of the iteration space.
pub(crate) struct Walk {
    /// The array whose elements are accessed, wherever the strides and indices lead in it.
    pub(crate) array: UsmArray,
    /// Per dimension of the pass.
    pub(crate) strides: Strides,
}

impl Walk {
    /// Through an array of the iteration space's own shape.
    pub(crate) fn along(array: &UsmArray) -> Self {
        Self { array: array.clone(), strides: array.strides().into() }
    }

    fn placed(&self) -> Result<Placed> {
        Ok(Placed {
            allocation: Arc::clone(self.array.elements().memory()?),
            layout: self.array.layout().clone(),
            dtype: self.array.dtype(),
        })
    }
}

/// One pass over arrays in memory.
pub(crate) struct Pass {
    pub(crate) program: Program,
    pub(crate) family: Family,
    /// The iteration space. More dimensions than a plan has become several plans of one submission.
    pub(crate) dims: SmallVec<[usize; 4]>,
    pub(crate) inputs: Vec<Walk>,
    /// Overlaps no input.
    pub(crate) output: Walk,
}

impl Pass {
    /// Whether the queue's device has a kernel for the pass. Where it has none, its work can be had by others.
    pub(crate) fn has_kernel(&self, queue: &Queue) -> bool {
        let operand =
            |walk: &Walk| Operand { ptr: UsmPtr::NULL, strides: SmallVec::from_slice(&walk.strides) };
        let plan = LaunchPlan {
            program: Arc::new(self.program.clone()),
            family: self.family.clone(),
            dims: self.dims.iter().copied().collect(),
            inputs: self.inputs.iter().map(operand).collect(),
            outputs: smallvec::smallvec![operand(&self.output)],
        };
        // More dimensions become several plans, each of which does all of its work.
        plan.dims.len() <= MAX_PLAN_DIMS && queue.device().backend().supports(&plan) == Support::Native
    }

    /// Submits the pass behind whatever reads or writes its memory now, and behind the events named.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) where the device cannot run it; what the submission reports.
    pub(crate) fn submit(self, queue: &Queue, depends: &[Event]) -> Result<Event> {
        let Self { program, family, dims, inputs, output } = self;
        let program = Arc::new(program);
        let out = output.placed()?;
        let placed = inputs.iter().map(Walk::placed).collect::<Result<SmallVec<[Placed; 4]>>>()?;
        let accesses: Vec<Access> =
            placed.iter().map(|p| p.access(Mode::Read)).chain([out.access(Mode::Write)]).collect();
        let planned = |outer: usize, index: &[usize]| {
            let operand = |placed: &Placed, strides: &Strides| {
                let ahead = index.iter().zip(strides).map(|(&i, &stride)| i.cast_signed() * stride);
                placed.operand(ahead.sum(), &strides[outer..])
            };
            let inputs = placed.iter().zip(&inputs);
            LaunchPlan {
                program: Arc::clone(&program),
                family: family.clone(),
                dims: dims[outer..].into(),
                inputs: inputs.map(|(p, walk)| operand(p, &walk.strides)).collect(),
                outputs: smallvec::smallvec![operand(&out, &output.strides)],
            }
        };
        // What writes to memory of its own, that nothing waits to read yet.
        let is_fresh = !matches!(family, Family::Scatter { .. } | Family::Expand { .. });
        let few = !dims.contains(&0) && dims.len() <= MAX_PLAN_DIMS && depends.is_empty();
        if is_fresh
            && few
            && queue.works_at_once()
            && immediate::run(queue.device(), &planned(0, &[]), &accesses)
        {
            return Ok(Event::ready());
        }
        flush_foreign_readers(queue, &out.allocation)?;
        let exported = placed.iter().chain([&out]).any(|p| p.allocation.is_exported());
        let event = Batch::run(queue, |batch| {
            let _lock = queue.flush_lock();
            evaluate::flush_readers(queue, &out.allocation, batch)?;
            let mut plans = Vec::new();
            if !dims.contains(&0) {
                let outer = dims.len().saturating_sub(MAX_PLAN_DIMS);
                plan::for_each_index(&dims[..outer], |index| {
                    heap::push("plans", &mut plans, planned(outer, index))
                })?;
            }
            evaluate::submit_plans(queue, plans, accesses.clone(), depends, batch)
        })?;
        if exported {
            crate::memory::schedule::complete(&event, depends)?;
        }
        Ok(event)
    }
}
