//! Passes that fuse with nothing: scans, sorts, gathers, scatters, searches. Their operands are in memory, recorded work
//! on them is submitted first. A few elements are done at once, on the calling thread, without a submission.

use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::UsmArray;
use super::evaluate::{self, flush_foreign_readers};
use super::plan::{self, Placed};
use crate::backend::Support;
use crate::dtype::Dtype;
use crate::error::Result;
use crate::layout::{Dims, Strides};
use crate::memory::heap;
use crate::memory::immediate::{self, MAX_OPERANDS, Source};
use crate::memory::pointer::UsmPtr;
use crate::memory::schedule::{Access, Batch};
use crate::memory::track::Mode;
use crate::plan::{Family, LaunchPlan, MAX_PLAN_DIMS, Operand};
use crate::program::Program;
use crate::runtime::{Event, Queue};

/// An array, and how a pass steps through it: a stride in elements for each dimension of the iteration space.
pub(crate) struct Walk<'a> {
    /// The array whose elements are accessed, wherever the strides and indices lead in it.
    pub(crate) array: &'a UsmArray,
    /// Per dimension of the pass.
    pub(crate) strides: Strides,
}

impl<'a> Walk<'a> {
    /// Through an array of the iteration space's own shape.
    pub(crate) fn along(array: &'a UsmArray) -> Self {
        Self { array, strides: Strides::from_slice(array.strides()) }
    }

    fn placed(&self) -> Result<Placed> {
        Ok(Placed {
            allocation: Arc::clone(self.array.elements().memory()?),
            layout: self.array.layout().clone(),
            dtype: self.array.dtype(),
        })
    }

    /// The elements, where they are in memory.
    fn source(&self) -> Option<Source<'a>> {
        Some(Source { allocation: self.array.elements.get_memory()?, layout: &self.array.layout })
    }

    /// The operand, in memory that begins at an address, whose first steps lead to an index.
    fn operand(&self, start: UsmPtr, index: &[usize]) -> Operand {
        let (ahead, strides) = self.strides.split_at(index.len());
        let ahead: isize = index.iter().zip(ahead).map(|(&i, &stride)| i.cast_signed() * stride).sum();
        let elements = self.array.offset().cast_signed() + ahead;
        let ptr = start.byte_offset(elements * self.array.itemsize().cast_signed());
        Operand { ptr, strides: SmallVec::from_slice(strides) }
    }
}

/// The program that hands input 0, of a dtype, on, with another input beside it or none: that of most families but maps and reductions.
/// Each is made once, so that a pass over a few elements has no memory to ask for.
pub(crate) fn handing_on(dtype: Dtype, beside: Option<Dtype>) -> Arc<Program> {
    const DTYPES: usize = Dtype::ALL.len();
    static MADE: [[OnceLock<Arc<Program>>; DTYPES + 1]; DTYPES] =
        [const { [const { OnceLock::new() }; DTYPES + 1] }; DTYPES];
    let made = &MADE[dtype as usize][beside.map_or(DTYPES, |beside| beside as usize)];
    Arc::clone(made.get_or_init(|| Arc::new(Program::handing_on(dtype, beside, None))))
}

/// One pass over arrays in memory.
pub(crate) struct Pass<'a> {
    pub(crate) program: Arc<Program>,
    pub(crate) family: Family,
    /// The iteration space. More dimensions than a plan has become several plans of one submission.
    pub(crate) dims: Dims,
    pub(crate) inputs: SmallVec<[Walk<'a>; 2]>,
    /// Overlaps no input.
    pub(crate) output: Walk<'a>,
}

impl Pass<'_> {
    /// Whether the queue's device has a kernel for the pass. Where it has none, its work can be had by others.
    pub(crate) fn has_kernel(&self, queue: &Queue) -> bool {
        let mut plan = self.plan(&[], |_| UsmPtr::NULL);
        // What [`submit_telling`](Self::submit_telling) adds.
        for _ in plan.outputs.len()..plan.program.outputs().len() {
            plan.outputs.push(tell(UsmPtr::NULL, &plan.dims));
        }
        // More dimensions become several plans, each of which does all of its work.
        plan.dims.len() <= MAX_PLAN_DIMS && queue.device().backend().supports(&plan) == Support::Native
    }

    /// Submits the pass behind whatever reads or writes its memory now, and behind the events named.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) where the device cannot run it; what the submission reports.
    pub(crate) fn submit(self, queue: &Queue, depends: &[Event]) -> Result<Event> {
        if depends.is_empty() && self.runs_at_once(queue) {
            return Ok(Event::ready());
        }
        self.submit_all(queue, depends, None)
    }

    /// As [`submit`](Self::submit), where the device has a kernel for the pass. Whether it has.
    ///
    /// # Errors
    /// What the submission reports.
    pub(crate) fn submit_if_native(self, queue: &Queue) -> Result<bool> {
        // What runs at once has a kernel.
        let runs = self.runs_at_once(queue);
        let has_kernel = runs || self.has_kernel(queue);
        if has_kernel && !runs {
            self.submit_all(queue, &[], None)?;
        }
        Ok(has_kernel)
    }

    /// As [`submit`](Self::submit), with an array of one element for the program's second output.
    ///
    /// # Errors
    /// As for [`submit`](Self::submit).
    pub(crate) fn submit_telling(self, queue: &Queue, told: &UsmArray) -> Result<Event> {
        self.submit_all(queue, &[], Some(told))
    }

    fn submit_all(self, queue: &Queue, depends: &[Event], told: Option<&UsmArray>) -> Result<Event> {
        let out = self.output.placed()?;
        let placed = self.inputs.iter().map(Walk::placed).collect::<Result<SmallVec<[Placed; 4]>>>()?;
        // Who writes some elements only leaves the others as they are: good after a good write, failed after a failed one.
        let in_part =
            matches!(self.family, Family::Accumulate { .. } | Family::Scatter { .. } | Family::Expand { .. });
        let read = in_part.then_some(&out);
        let read = placed.iter().chain(read).map(|p| p.access(Mode::Read));
        let told = told.map(|array| Walk { array, strides: Strides::new() }.placed()).transpose()?;
        let written = [&out].into_iter().chain(&told).map(|p| p.access(Mode::Write));
        let accesses: Vec<Access> = read.chain(written).collect();
        let start = |input: Option<usize>| input.map_or(&out, |k| &placed[k]).allocation.ptr();
        flush_foreign_readers(queue, &out.allocation)?;
        let exported = placed.iter().chain([&out]).any(|p| p.allocation.is_exported());
        let event = Batch::run(queue, |batch| {
            let _lock = queue.flush_lock();
            evaluate::flush_readers(queue, &out.allocation, batch)?;
            let mut plans = Vec::new();
            if !self.dims.contains(&0) {
                let outer = self.dims.len().saturating_sub(MAX_PLAN_DIMS);
                plan::for_each_index(&self.dims[..outer], |index| {
                    let mut plan = self.plan(index, start);
                    plan.outputs.extend(told.iter().map(|p| tell(p.allocation.ptr(), &plan.dims)));
                    heap::push("plans", &mut plans, plan)
                })?;
            }
            evaluate::submit_plans(queue, plans, accesses.clone(), depends, batch)
        })?;
        if exported {
            crate::memory::schedule::complete(&event, depends)?;
        }
        Ok(event)
    }

    /// The plan at an index of the outermost dimensions; where the memory of the inputs, by their numbers, and of the output
    /// begins, the function says.
    fn plan(&self, index: &[usize], start: impl Fn(Option<usize>) -> UsmPtr) -> LaunchPlan {
        // One after the other: to collect them takes several times as long.
        let mut inputs = SmallVec::new();
        for (k, walk) in self.inputs.iter().enumerate() {
            inputs.push(walk.operand(start(Some(k)), index));
        }
        let mut outputs = SmallVec::new();
        outputs.push(self.output.operand(start(None), index));
        LaunchPlan {
            program: Arc::clone(&self.program),
            family: self.family.clone(),
            dims: SmallVec::from_slice(&self.dims[index.len()..]),
            inputs,
            outputs,
        }
    }

    /// Runs the pass on the calling thread, where it is short and nothing stands against it. Whether it did.
    pub(crate) fn runs_at_once(&self, queue: &Queue) -> bool {
        let several = self.dims.len() > MAX_PLAN_DIMS || self.inputs.len() > MAX_OPERANDS;
        if several || !queue.allows_immediate() || self.dims.contains(&0) {
            return false;
        }
        let Some(output) = self.output.source() else { return false };
        let mut sources = [output; MAX_OPERANDS];
        for (source, walk) in sources.iter_mut().zip(&self.inputs) {
            match walk.source() {
                Some(found) => *source = found,
                None => return false,
            }
        }
        let start = |input: Option<usize>| input.map_or(output, |k| sources[k]).allocation.ptr();
        let plan = self.plan(&[], start);
        immediate::run(queue.device(), &plan, &sources[..self.inputs.len()], output)
    }
}

/// One element, whatever the point of an iteration space.
fn tell(ptr: UsmPtr, dims: &[usize]) -> Operand {
    Operand { ptr, strides: SmallVec::from_elem(0, dims.len()) }
}
