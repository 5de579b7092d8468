//! Flushing: from recorded operations to one submission.
//!
//! ```text
//! settle      which nodes of the expression merge, which are computed first, which are kept (`expression.rs`)
//! Emission    one program of them, and its inputs
//! plan::…     the program and the layouts: plans of at most `MAX_PLAN_DIMS` dimensions
//! submit      all plans as one command, in stages where some read what others write
//! settle      the nodes have memory, whose events the scheduler has noted
//! ```
//! `evaluate_part` and `evaluate_fold` are everything but the submission, for elementwise expressions and for
//! reductions; `submit` joins several of them. They run under the queue's flush lock, where nothing is
//! computed or waited for: where memory is missing, `Batch::run` gives the lock up, waits, and begins again.
//! So what is here may run twice for one flush.
//!
//! An output may overlap an input other than exactly, plans may not (`separate`): that input is copied
//! first, or, where several do, as the neighbours of a stencil, the result goes into other memory and is
//! copied to its own behind it. The time is that of planning, some microseconds for each flush; `reduce` saves the
//! submission where one thread is as fast.

use std::sync::Arc;

use smallvec::SmallVec;

use super::expression::{Emission, settle};
use super::fold::{self, Folding};
use super::plan::{self, Input, Placed};
use super::{Elements, Node, Recorded, UsmArray, Work, for_each_node};
use crate::backend::Support;
use crate::cut::Cut;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::{self, Layout, Order};
use crate::memory::allocation::Allocation;
use crate::memory::immediate::{self, MAX_OPERANDS};
use crate::memory::schedule::{self, Access, Batch, Draft, complete};
use crate::memory::track::Mode;
use crate::memory::{UsmKind, heap};
use crate::ops::Op;
use crate::plan::LaunchPlan;
use crate::program::Program;
use crate::runtime::{Event, Queue};

/// Where the result of an expression goes.
#[derive(Clone)]
pub(crate) enum Target {
    /// Into memory of its own.
    New(UsmKind),
    /// Into part of an allocation, converted to its dtype.
    Existing { allocation: Arc<Allocation>, layout: Layout, dtype: Dtype },
}

/// Submits a pending node. The caller holds the queue's flush lock. `None` where there was nothing to do.
pub(super) fn flush_locked(node: &Arc<Node>, batch: &mut Batch<'_>) -> Result<Option<Event>> {
    // Whoever submits it, it is noted by the capture that it was recorded in.
    batch.noted_by(node.recording.as_ref(), |batch| flush_noted(node, batch))
}

fn flush_noted(node: &Arc<Node>, batch: &mut Batch<'_>) -> Result<Option<Event>> {
    let guard = node.work();
    let mut before = Vec::new();
    let part = match &*guard {
        None => return Ok(None),
        Some(Work::Fold(..)) => {
            drop(guard);
            return fold::flush(node, batch);
        }
        Some(Work::Map(recorded)) => {
            evaluate_part(&node.queue, recorded, Target::New(node.kind), &mut before, batch)?
        }
    };
    let memory = Arc::clone(&part.output.allocation);
    batch.ends_for(node.cut());
    let event = submit(&node.queue, before, vec![part], &[], batch)?;
    drop(guard);
    node.settle(memory);
    Ok(Some(event))
}

/// Runs an expression into existing memory, now.
pub(crate) fn assign(queue: &Queue, recorded: &Recorded, target: Target, depends: &[Event]) -> Result<Event> {
    if let Target::Existing { allocation, .. } = &target {
        flush_foreign_readers(queue, allocation)?;
    }
    let (event, exported) = Batch::run(queue, |batch| {
        let _lock = queue.flush_lock();
        let mut before = Vec::new();
        let written = written_as_it_is(recorded, &target);
        let part = evaluate_above(written, queue, recorded, target.clone(), &mut before, batch)?;
        let exported = part.is_exported();
        let event = submit(queue, before, vec![part], depends, batch)?;
        if let (Some(node), Target::Existing { allocation, layout, dtype }) = (written, &target) {
            let memory = Elements::Memory(Arc::clone(allocation).into());
            node.read_from(UsmArray::of(memory, layout.clone(), *dtype, queue.clone()));
        }
        Ok((event, exported))
    })?;
    if exported {
        complete(&event, depends)?
    }
    Ok(event)
}

/// The pending operation whose elements an assignment writes as they are, of the engine's own memory alone: where somebody holds it,
/// it need not be kept, as it can be read from there until that is overwritten.
fn written_as_it_is<'a>(recorded: &'a Recorded, target: &Target) -> Option<&'a Arc<Node>> {
    let Target::Existing { allocation, layout, dtype } = target else { return None };
    let array = recorded.array().filter(|_| recorded.op == Op::Copy)?;
    let same = array.dtype() == *dtype && array.shape() == layout.shape();
    let node = array.elements().pending().filter(|_| same && !allocation.is_exported())?;
    let is_whole = match &*node.work() {
        Some(Work::Map(inner)) => inner.layout == *array.layout() && inner.out == *dtype,
        _ => false,
    };
    is_whole.then_some(node)
}

/// One source and one destination of a concatenation.
pub(crate) struct Part {
    pub(crate) recorded: Recorded,
    pub(crate) target: Target,
}

/// Runs several expressions into parts of existing memory that do not overlap, as one submission.
pub(crate) fn concat_parts(queue: &Queue, parts: &[Part], depends: &[Event]) -> Result<Event> {
    for part in parts {
        if let Target::Existing { allocation, .. } = &part.target {
            flush_foreign_readers(queue, allocation)?;
        }
    }
    let (event, exported) = Batch::run(queue, |batch| {
        let _lock = queue.flush_lock();
        let (mut before, mut evaluated) = (Vec::new(), heap::with_capacity("arrays", parts.len())?);
        for part in parts {
            // An intermediate that two parts keep is computed by both; the first one's memory stays.
            let target = part.target.clone();
            evaluated.push(evaluate_part(queue, &part.recorded, target, &mut before, batch)?);
        }
        let exported = evaluated.iter().any(Evaluated::is_exported);
        Ok((submit(queue, before, evaluated, depends, batch)?, exported))
    })?;
    if exported {
        complete(&event, depends)?
    }
    Ok(event)
}

/// Folds an expression, now: of arrays in memory on the calling thread, where that takes less time than a submission. It is the
/// same plan, so the bits are the same.
pub(crate) fn reduce(
    queue: &Queue,
    recorded: &Recorded,
    folding: &Folding,
    kind: UsmKind,
) -> Result<Arc<Allocation>> {
    let evaluate = |batch: &mut Batch<'_>| {
        let mut before = Vec::new();
        let part = evaluate_fold(queue, recorded, folding, kind, &mut before, batch)?;
        Ok((before, part))
    };
    let in_memory = |array: &UsmArray| array.elements().get_memory().is_some();
    let mut evaluated = None;
    if queue.allows_immediate() && recorded.arrays().all(in_memory) {
        let (before, part) = Batch::run(queue, |batch| {
            let _lock = queue.flush_lock();
            evaluate(batch)
        })?;
        if before.is_empty() && part.runs_at_once(queue) {
            return Ok(part.output.allocation);
        }
        evaluated = Some((before, part));
    }
    let (allocation, event, exported) = Batch::run(queue, |batch| {
        let _lock = queue.flush_lock();
        // Where the submission has to be tried again, what was evaluated is gone.
        let (before, part) = evaluated.take().map_or_else(|| evaluate(batch), Ok)?;
        let allocation = Arc::clone(&part.output.allocation);
        let exported = part.is_exported();
        Ok((allocation, submit(queue, before, vec![part], &[], batch)?, exported))
    })?;
    if exported {
        complete(&event, &[])?
    }
    Ok(allocation)
}

/// Evaluates the fold of an expression, and `before` it the pending reductions that it reads: everything but the submission.
pub(super) fn evaluate_fold(
    queue: &Queue,
    recorded: &Recorded,
    folding: &Folding,
    kind: UsmKind,
    before: &mut Before,
    batch: &mut Batch<'_>,
) -> Result<Evaluated> {
    let shape = recorded.layout.shape();
    let settled = settle(None, queue, recorded, shape, true, None, batch)?;
    let folds = settled.folds.as_deref().unwrap_or_default();
    fold::evaluate(folds, before, batch)?;
    let stage = stage_behind(folds, before);
    let mut emission = Emission::new(&settled, before);
    let value = emission.value(recorded)?;
    let accumulator = emission.builder.dtype(value)?;
    emission.builder.output(value)?;
    let ordered = folding.fold.is_rounded(accumulator) && emission.computes();
    let stored = recorded.array().filter(|_| ordered).map(|array| (array.layout(), array.dtype()));
    let Emission { builder, mut inputs, .. } = emission;
    let program = Arc::new(builder.finish()?);

    let kept: Vec<usize> = (0..shape.len()).filter(|a| !folding.axes.contains(a)).map(|a| shape[a]).collect();
    let output = place_new(batch, kind, Layout::contiguous(&kept, Order::C)?, folding.result(accumulator))?;
    let mut plans = Vec::new();
    if output.layout.is_empty() {
        // Nothing to compute.
    } else if recorded.layout.is_empty() {
        let fill = Arc::new(Program::constant(folding.of_nothing(accumulator)?));
        plan::map(&fill, &kept, &[], std::slice::from_ref(&output), &mut plans)?;
        inputs.clear();
    } else {
        plan::reduce(&program, folding, shape, stored, &inputs, &output, &mut plans)?;
    }
    for array in recorded.arrays() {
        array.elements().note_peek();
    }
    Ok(Evaluated { stage, plans, inputs, output, into: None, extras: SmallVec::new() })
}

/// Pending reductions whose results are read in a submission, each behind those that it reads itself.
pub(super) type Before = Vec<(Arc<Node>, Evaluated)>;

/// The number of the stage that reads pending reductions.
fn stage_behind(folds: &[Arc<Node>], before: &Before) -> usize {
    let read = |node: &Arc<Node>| folds.iter().any(|fold| Arc::ptr_eq(fold, node));
    before.iter().filter(|(node, _)| read(node)).map(|(_, part)| part.stage + 1).max().unwrap_or(0)
}

/// Plans with what they read and write.
pub(super) struct Evaluated {
    /// The number of stages that come before.
    stage: usize,
    plans: Vec<LaunchPlan>,
    inputs: SmallVec<[Input; 4]>,
    pub(super) output: Placed,
    /// Where the output is copied to behind the pass, as inputs overlap that.
    into: Option<Placed>,
    /// Intermediates that somebody holds, written by the same pass.
    extras: SmallVec<[(Arc<Node>, Placed); 2]>,
}

impl Evaluated {
    /// Notes for people what its arrays are like.
    fn sketch(&self, draft: &mut Draft) {
        let read = self.inputs.iter().filter_map(Input::memory);
        let written = [&self.output].into_iter().chain(&self.into);
        for Placed { allocation, layout, dtype } in
            read.chain(written).chain(self.extras.iter().map(|(_, p)| p))
        {
            draft.arrays.push((Arc::clone(allocation), layout.clone(), *dtype));
        }
    }

    fn is_exported(&self) -> bool {
        let inputs = self.inputs.iter().filter_map(Input::memory);
        inputs.chain([&self.output]).chain(&self.into).any(|p| p.allocation.is_exported())
    }

    pub(super) fn is_supported(&self, queue: &Queue) -> bool {
        check_support(queue, &self.plans).is_ok()
    }

    /// Computes on the calling thread what is one short plan of what is in memory. Whether it did; no lock may be held.
    fn runs_at_once(&self, queue: &Queue) -> bool {
        let ([plan], true) = (self.plans.as_slice(), self.extras.is_empty()) else { return false };
        let inputs: Option<SmallVec<[immediate::Source<'_>; MAX_OPERANDS]>> =
            self.inputs.iter().map(|input| input.memory().map(Placed::source)).collect();
        inputs.is_some_and(|inputs| immediate::run(queue.device(), plan, &inputs, self.output.source()))
    }
}

/// Submits evaluated expressions as one command and gives their kept intermediates memory, and the reductions that they
/// read.
pub(super) fn submit(
    queue: &Queue,
    before: Before,
    parts: Vec<Evaluated>,
    depends: &[Event],
    batch: &mut Batch<'_>,
) -> Result<Event> {
    let (mut accesses, mut computed) = (Vec::new(), Vec::new());
    let mut moved = heap::with_capacity("arrays", parts.len())?;
    let mut folded = heap::with_capacity("arrays", before.len())?;
    let last = before.iter().map(|(_, part)| part.stage + 1).max().unwrap_or(0);
    let mut stages = heap::with_capacity("stages", last + 1)?;
    stages.resize_with(last + 1, Vec::new);
    let mut add = |plans: &mut Vec<LaunchPlan>, part: Evaluated| -> Result<()> {
        if let Some(draft) = batch.draft() {
            part.sketch(draft);
        }
        let read = part.inputs.iter().filter_map(Input::memory).map(|p| p.access(Mode::Read));
        let written = [&part.output].into_iter().chain(part.extras.iter().map(|(_, p)| p));
        heap::extend("accesses", &mut accesses, read.chain(written.map(|p| p.access(Mode::Write))))?;
        heap::extend("plans", plans, part.plans)?;
        heap::extend("arrays", &mut computed, part.extras.into_iter().map(|(node, p)| (node, p.allocation)))
    };
    for (node, part) in before {
        let memory = Arc::clone(&part.output.allocation);
        add(&mut stages[part.stage], part)?;
        folded.push((node, memory));
    }
    for mut part in parts {
        moved.extend(part.into.take().map(|into| (part.output.clone(), into)));
        add(&mut stages[last], part)?;
    }
    let mut event = submit_stages(queue, stages, accesses, depends, batch)?;
    for (from, to) in moved {
        event = copy(queue, from, &to, batch)?;
    }
    for (node, memory) in folded.into_iter().chain(computed) {
        node.settle(memory);
    }
    Ok(event)
}

/// Submits plans that the device can run as one command; of none, an event that is complete when `depends` are.
pub(super) fn submit_plans(
    queue: &Queue,
    plans: Vec<LaunchPlan>,
    accesses: Vec<Access>,
    depends: &[Event],
    batch: &mut Batch<'_>,
) -> Result<Event> {
    check_support(queue, &plans)?;
    match (plans.is_empty(), depends) {
        (true, []) => Ok(Event::ready()),
        (true, _) => schedule::barrier_in(queue, depends, batch),
        (false, _) => schedule::launch(queue, plans, accesses, depends, batch),
    }
}

/// As [`submit_plans`], of stages, each of which reads what those before it write.
fn submit_stages(
    queue: &Queue,
    mut stages: Vec<Vec<LaunchPlan>>,
    accesses: Vec<Access>,
    depends: &[Event],
    batch: &mut Batch<'_>,
) -> Result<Event> {
    stages.retain(|plans| !plans.is_empty());
    if stages.len() <= 1 {
        return submit_plans(queue, stages.pop().unwrap_or_default(), accesses, depends, batch);
    }
    stages.iter().try_for_each(|plans| check_support(queue, plans))?;
    debug_assert!(stages.len() <= queue.device().capabilities().most_stages, "the device takes no more");
    schedule::launch_stages(queue, stages, accesses, depends, batch)
}

fn check_support(queue: &Queue, plans: &[LaunchPlan]) -> Result<()> {
    for plan in plans {
        if let Support::No(reason) = queue.device().backend().supports(plan) {
            return Err(Error::unsupported(
                "operation",
                reason,
                format!("one that {} can run", queue.device()),
                "convert the operands to another dtype, or move them to another device with `to_device`",
            ));
        }
    }
    Ok(())
}

/// Evaluates one elementwise expression, and `before` it the pending reductions that it reads: everything but the submission.
fn evaluate_part(
    queue: &Queue,
    recorded: &Recorded,
    target: Target,
    before: &mut Before,
    batch: &mut Batch<'_>,
) -> Result<Evaluated> {
    evaluate_above(None, queue, recorded, target, before, batch)
}

/// [`evaluate_part`], and a pending operation of the expression that is not kept, whoever holds it.
fn evaluate_above(
    unkept: Option<&Arc<Node>>,
    queue: &Queue,
    recorded: &Recorded,
    target: Target,
    before: &mut Before,
    batch: &mut Batch<'_>,
) -> Result<Evaluated> {
    let shape = recorded.layout.shape();
    let settled = settle(unkept, queue, recorded, shape, false, target_allocation(&target), batch)?;
    let folds = settled.folds.as_deref().unwrap_or_default();
    fold::evaluate(folds, before, batch)?;
    let stage = stage_behind(folds, before);
    let mut emission = Emission::new(&settled, before);
    let value = emission.value(recorded)?;
    let order = if recorded.layout.is_c_contiguous() { Order::C } else { Order::F };
    let mut output = place(batch, target, shape, order, recorded.out)?;
    let value = emission.builder.cast(value, output.dtype)?;
    emission.builder.output(value)?;
    let mut extras = SmallVec::new();
    for (node, value, layout, dtype) in std::mem::take(&mut emission.kept) {
        emission.builder.output(value)?;
        let placed = place_new(batch, node.kind, layout, dtype)?;
        extras.push((node, placed));
    }
    let Emission { builder, mut inputs, .. } = emission;
    let program = Arc::new(builder.finish()?);
    if layout::self_overlaps(&output.layout) {
        return Err(Error::borrow(
            "out",
            format!(
                "a view of shape {shape:?} with strides {:?} that addresses elements twice",
                output.layout.strides()
            ),
            "memory where every element has its own place",
            "copy the array first",
        ));
    }
    let into = separate(queue, &mut inputs, &mut output, order, batch)?;
    let mut plans = Vec::new();
    if !recorded.layout.is_empty() {
        let outputs: SmallVec<[Placed; 2]> =
            std::iter::once(&output).chain(extras.iter().map(|(_, p)| p)).cloned().collect();
        plan::map(&program, shape, &inputs, &outputs, &mut plans)?;
    }
    Ok(Evaluated { stage, plans, inputs, output, into, extras })
}

fn target_allocation(target: &Target) -> Option<&Arc<Allocation>> {
    match target {
        Target::New(_) => None,
        Target::Existing { allocation, .. } => Some(allocation),
    }
}

fn place(batch: &Batch<'_>, target: Target, shape: &[usize], order: Order, dtype: Dtype) -> Result<Placed> {
    match target {
        Target::New(kind) => place_new(batch, kind, Layout::contiguous(shape, order)?, dtype),
        Target::Existing { allocation, layout, dtype } => Ok(Placed { allocation, layout, dtype }),
    }
}

fn place_new(batch: &Batch<'_>, kind: UsmKind, layout: Layout, dtype: Dtype) -> Result<Placed> {
    // Fits: a layout has at most `MAX_LEN` elements.
    let bytes = layout.len().max(1) * dtype.size();
    // Nothing is waited for under the flush lock: where memory is missing, `Batch::run` waits and begins again.
    let allocation = batch.allocate(kind, bytes)?;
    allocation.describe(dtype, layout.shape());
    Ok(Placed { allocation, layout, dtype })
}

/// Sees to it that no input overlaps the output other than exactly, so that the result is what copies first would give: copies the input
/// that does, or, where there are several or it is larger than the output, has the result computed into other memory. Then, where it
/// is to be copied behind that.
fn separate(
    queue: &Queue,
    inputs: &mut [Input],
    output: &mut Placed,
    order: Order,
    batch: &mut Batch<'_>,
) -> Result<Option<Placed>> {
    let clashes = |input: &Placed, moved: bool| {
        let (size, out_size) = (input.dtype.size(), output.dtype.size());
        let (read, written) = ((&input.layout, size), (&output.layout, out_size));
        let same = Arc::ptr_eq(&input.allocation, &output.allocation);
        let exact = same && size == out_size && layout::same_view(&input.layout, &output.layout);
        (moved || !exact) && input.allocation.shares(read, &output.allocation, written)
    };
    let mut clashing = inputs.iter_mut().filter_map(|input| match input {
        Input::Memory(input) if clashes(input, false) => Some(input),
        Input::Rolled(input, _) if clashes(input, true) => Some(input),
        _ => None,
    });
    let Some(first) = clashing.next() else { return Ok(None) };
    let bytes = |placed: &Placed| placed.layout.len() * placed.dtype.size();
    if clashing.next().is_none() && bytes(first) <= bytes(output) {
        let layout = Layout::contiguous(first.layout.shape(), Order::C)?;
        let apart = place_new(batch, first.allocation.kind(), layout, first.dtype)?;
        copy(queue, first.clone(), &apart, batch)?;
        *first = apart;
        return Ok(None);
    }
    let layout = Layout::contiguous(output.layout.shape(), order)?;
    let apart = place_new(batch, output.allocation.kind(), layout, output.dtype)?;
    Ok(Some(std::mem::replace(output, apart)))
}

/// Submits a copy of elements to places of the same shape and dtype.
fn copy(queue: &Queue, from: Placed, to: &Placed, batch: &mut Batch<'_>) -> Result<Event> {
    let mut plans = Vec::new();
    let program = Arc::new(Program::convert(from.dtype, to.dtype));
    let accesses = vec![from.access(Mode::Read), to.access(Mode::Write)];
    plan::map(
        &program,
        to.layout.shape(),
        &[Input::Memory(from.clone())],
        std::slice::from_ref(to),
        &mut plans,
    )?;
    schedule::launch(queue, plans, accesses, &[], batch)
}

/// Flushes what other queues have recorded on an allocation. Done before the own queue's lock is taken: no thread holds
/// two.
pub(super) fn flush_foreign_readers(queue: &Queue, allocation: &Arc<Allocation>) -> Result<()> {
    allocation.pending_reads.for_each_pending(|work| match work.queue() {
        own if *own == *queue => Ok(()),
        other => other.pending().flush(),
    })
}

/// Flushes what a queue has recorded where some of it, of which `counts` is true, reads an allocation. The caller holds the
/// queue's flush lock. Whether there was any.
pub(super) fn flush_own_readers(
    queue: &Queue,
    allocation: &Arc<Allocation>,
    counts: impl Fn(&Arc<Node>) -> bool,
    batch: &mut Batch<'_>,
) -> Result<bool> {
    let mut found = false;
    for_each_node(&allocation.pending_reads, |node| {
        found |= node.queue == *queue && counts(node);
        Ok(())
    })?;
    if found {
        for_each_node(queue.pending(), |node| match counts(node) {
            true => {
                node.cut_for(Cut::Overwritten);
                flush_locked(node, batch).map(drop)
            }
            false => Ok(()),
        })?;
    }
    Ok(found)
}

/// Flushes everything recorded that reads an allocation which is about to be written, all of it on the queue whose flush
/// lock the caller holds.
pub(super) fn flush_readers(
    queue: &Queue,
    allocation: &Arc<Allocation>,
    batch: &mut Batch<'_>,
) -> Result<()> {
    flush_own_readers(queue, allocation, |_| true, batch).map(drop)
}
