//! From an expression of recorded operations to one program: what of it can be fused, and its steps and inputs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use super::UsmArray;
use super::evaluate::{Before, flush_locked, flush_own_readers};
use super::plan::{Input, Placed};
use super::size::{Graph, Size};
use super::{Node, Recorded, Source, Work, is_first};
use crate::cut::Cut;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::memory::allocation::Allocation;
use crate::memory::capture::{self, Recording};
use crate::memory::schedule::Batch;
use crate::memory::track::{Mode, Region};
use crate::ops::Op;
use crate::program::{Arg, MAX_INPUTS, MAX_OUTPUTS, MAX_STEPS, ProgramBuilder};
use crate::routes::{self, Route};
use crate::runtime::Queue;

/// Something for each of an expression's nodes: so few that looking through them is quicker than hashing.
struct ByNode<T>(SmallVec<[(*const Node, T); 8]>);

impl<T> ByNode<T> {
    fn new() -> Self {
        Self(SmallVec::new())
    }

    fn get(&self, node: &Arc<Node>) -> Option<&T> {
        self.0.iter().find(|(key, _)| *key == Arc::as_ptr(node)).map(|(_, value)| value)
    }

    fn get_mut(&mut self, node: &Arc<Node>) -> Option<&mut T> {
        self.0.iter_mut().find(|(key, _)| *key == Arc::as_ptr(node)).map(|(_, value)| value)
    }

    /// For a node that is not there yet.
    fn insert(&mut self, node: &Arc<Node>, value: T) {
        self.0.push((Arc::as_ptr(node), value));
    }
}

/// Nodes that are computed before an expression, and why.
type Obstacles = Vec<(Arc<Node>, Cut)>;

/// The pending nodes of an expression that can be fused, with the references found to each.
pub(super) struct Settled {
    references: ByNode<usize>,
    /// Nodes below the reductions of `folds`, with the references to each from there: such reductions go with the submission,
    /// and so do these references.
    below: ByNode<usize>,
    /// Those that are held from outside, and become further outputs. Decided once: whoever looks through a queue's
    /// recorded nodes holds each for a moment.
    held: Vec<*const Node>,
    /// One that is held, perhaps, and yet is none of them.
    unkept: Option<*const Node>,
    /// In a reduction nothing is kept: a held node is computed on the way, once.
    reduction: bool,
    /// Pending reductions that are read, and become an earlier stage of the submission; none where it may not have stages.
    pub(super) folds: Option<SmallVec<[Arc<Node>; 2]>>,
    /// The capture that notes the submission: what another one notes, or none does, is none of it.
    noted_by: *const Recording,
}

/// Finds the fusible nodes of an expression, and reductions that may be submitted with it; flushes the others, and whatever
/// else reads the memory that is about to be overwritten. One of them may be kept from becoming an output.
pub(super) fn settle(
    unkept: Option<&Arc<Node>>,
    queue: &Queue,
    root: &Recorded,
    shape: &[usize],
    reduction: bool,
    overwritten: Option<&Arc<Allocation>>,
    batch: &mut Batch<'_>,
) -> Result<Settled> {
    loop {
        // What stages write is memory of their own.
        let stages = overwritten.is_none() && queue.device().capabilities().most_stages > 1;
        let folds = stages.then(SmallVec::new);
        let mut settled = Settled {
            references: ByNode::new(),
            below: ByNode::new(),
            held: Vec::new(),
            unkept: unkept.map(Arc::as_ptr),
            reduction,
            folds,
            noted_by: capture::key(batch.recording()),
        };
        let mut obstacles: Obstacles = Vec::new();
        settled.visit(root, shape, &mut obstacles, true);
        if obstacles.is_empty()
            && let Some(allocation) = overwritten
        {
            let reads = |node: &Arc<Node>| settled.references.get(node).is_none();
            if flush_own_readers(queue, allocation, reads, batch)? {
                continue;
            }
        }
        if obstacles.is_empty() && (settled.couples(root) || settled.outlives()) {
            let folds = settled.folds.take().into_iter().flatten();
            obstacles.extend(folds.map(|node| (node, Cut::Apart)));
        }
        if obstacles.is_empty() {
            obstacles.extend(settled.excess(root));
        }
        if obstacles.is_empty() {
            return Ok(settled);
        }
        for (node, cut) in obstacles {
            node.cut_for(cut);
            flush_locked(&node, batch)?;
        }
    }
}

impl Settled {
    fn visit(&mut self, recorded: &Recorded, shape: &[usize], obstacles: &mut Obstacles, root: bool) {
        for array in recorded.arrays() {
            let Some(node) = array.elements().pending() else { continue };
            let guard = node.work();
            match &*guard {
                // Settled between the look above and the lock.
                None => {}
                Some(_) if capture::key(node.recording.as_ref()) != self.noted_by => {
                    obstacles.push((Arc::clone(node), Cut::Capture));
                }
                // Every reference is asked for its layout, later ones too: `x + x.flip()` reads `x` in two ways.
                // A reduction goes through its arrays in their order.
                Some(Work::Map(inner)) if self.reduction && inner.rolls() => {
                    obstacles.push((Arc::clone(node), Cut::View));
                }
                Some(Work::Map(inner))
                    if inner.layout == *array.layout() && inner.layout.shape() == shape =>
                {
                    if let Some(count) = self.references.get_mut(node) {
                        *count += 1;
                        continue;
                    }
                    self.references.insert(node, 1);
                    self.visit(inner, shape, obstacles, false);
                }
                Some(Work::Fold(inner, _)) if self.folds.is_some() => self.take_along(node, inner),
                Some(Work::Map(_)) => obstacles.push((Arc::clone(node), Cut::View)),
                Some(Work::Fold(..)) => obstacles.push((Arc::clone(node), Cut::Reduction)),
            }
        }
        if root {
            self.find_held(recorded, obstacles);
        }
    }

    /// What has to be computed before, where the expression is more than a program takes: arrays that were one while what they are
    /// computed from was recorded, too, are several when it is not.
    fn excess(&self, root: &Recorded) -> Option<(Arc<Node>, Cut)> {
        // So few have at most 15 arrays and 20 steps.
        if self.references.0.len() <= 4 {
            return None;
        }
        // A conversion of the result may come.
        let most = Size { steps: MAX_STEPS - 1, leaves: MAX_INPUTS };
        let graph = Graph::of(root);
        let size = graph.size();
        if size.fits(most) {
            return None;
        }
        let pending = root.arrays().filter_map(|array| array.elements().pending());
        let node = graph.cut(most).or_else(|| pending.max_by_key(|node| node.size.steps).cloned());
        node.map(|node| (node, size.excess(most)))
    }

    /// A pending reduction, of an expression, that is read becomes an earlier stage, where it is none yet.
    fn take_along(&mut self, node: &Arc<Node>, recorded: &Recorded) {
        let Some(folds) = &mut self.folds else { return };
        if !folds.iter().any(|fold| Arc::ptr_eq(fold, node)) {
            folds.push(Arc::clone(node));
            self.visit_below(recorded);
        }
    }

    /// Counts the references to nodes of the expression that a reduction folds.
    fn visit_below(&mut self, recorded: &Recorded) {
        for array in recorded.arrays() {
            let Some(node) = array.elements().pending() else { continue };
            if let Some(count) = self.below.get_mut(node) {
                *count += 1;
                continue;
            }
            self.below.insert(node, 1);
            if let Some(Work::Map(inner)) = &*node.work() {
                self.visit_below(inner);
            }
        }
    }

    /// Whether something below one of the reductions, and not of the expression itself, is held from outside: it stays
    /// recorded, and needs what it reads.
    fn outlives(&self) -> bool {
        let folds = self.folds.as_deref().unwrap_or_default();
        let mut seen = SmallVec::new();
        folds.iter().any(|fold| {
            fold.work().as_ref().is_some_and(|work| self.is_held_below(work.recorded(), &mut seen))
        })
    }

    fn is_held_below(&self, recorded: &Recorded, seen: &mut SmallVec<[*const Node; 8]>) -> bool {
        recorded.arrays().any(|array| {
            let node = array.elements().pending().filter(|node| self.references.get(node).is_none());
            node.filter(|node| is_first(seen, node)).is_some_and(|node| match &*node.work() {
                Some(Work::Map(inner)) => {
                    let below = self.below.get(node).copied().unwrap_or_default();
                    Arc::strong_count(node) > below || self.is_held_below(inner, seen)
                }
                _ => false,
            })
        })
    }

    /// Whether a reduction would wait, and fail, for writes to memory that it does not read, were it submitted with the
    /// expression.
    fn couples(&self, root: &Recorded) -> bool {
        let folds = self.folds.as_deref().unwrap_or_default();
        let reads = |recorded: &Recorded| {
            let mut memories = Vec::new();
            written_now(recorded, &mut memories, &mut SmallVec::new());
            memories
        };
        let of_folds: Vec<_> =
            folds.iter().filter_map(|fold| Some(reads(fold.work().as_ref()?.recorded()))).collect();
        let mut all = if folds.is_empty() { Vec::new() } else { reads(root) };
        all.extend(of_folds.iter().flatten());
        all.iter().any(|memory| of_folds.iter().any(|fold| !fold.contains(memory)))
    }

    /// Nodes that are held from outside and cannot be kept by the pass: all but the first few, and in a reduction, which keeps
    /// none, those that were computed on the way before.
    fn find_held(&mut self, root: &Recorded, obstacles: &mut Obstacles) {
        let mut held: Vec<Arc<Node>> = Vec::new();
        self.collect_held(root, &mut held, &mut SmallVec::new());
        for (number, node) in held.into_iter().enumerate() {
            let keep = match self.reduction {
                true => !node.peeked.load(Ordering::Relaxed),
                false => number + 1 < MAX_OUTPUTS,
            };
            if keep {
                self.held.push(Arc::as_ptr(&node));
            } else {
                obstacles.push((node, if self.reduction { Cut::Folded } else { Cut::Held }));
            }
        }
    }

    fn collect_held(
        &self,
        recorded: &Recorded,
        held: &mut Vec<Arc<Node>>,
        seen: &mut SmallVec<[*const Node; 8]>,
    ) {
        for array in recorded.arrays() {
            let pending = array.elements().pending();
            let Some(node) = pending.filter(|node| self.references.get(node).is_some()) else {
                continue;
            };
            if !is_first(seen, node) {
                continue;
            }
            if self.unkept != Some(Arc::as_ptr(node)) && self.is_held(node) {
                held.push(Arc::clone(node));
            }
            if let Some(Work::Map(inner)) = &*node.work() {
                self.collect_held(inner, held, seen);
            }
        }
    }

    fn is_held(&self, node: &Arc<Node>) -> bool {
        let below = self.below.get(node).copied().unwrap_or_default();
        self.references.get(node).is_some_and(|&inside| Arc::strong_count(node) > inside + below)
    }
}

/// The memory that an expression reads and that is still being written, or whose writing failed.
fn written_now(recorded: &Recorded, to: &mut Vec<*const Allocation>, seen: &mut SmallVec<[*const Node; 8]>) {
    for array in recorded.arrays() {
        if let Some(memory) = array.elements().get_memory() {
            let (region, mut waits) = (Region::of(array.layout(), array.dtype().size()), Vec::new());
            memory.track().conflicts(&region, Mode::Read, &mut waits);
            if !waits.is_empty() {
                to.push(Arc::as_ptr(memory));
            }
        } else if let Some(node) = array.elements().pending()
            && is_first(seen, node)
            && let Some(Work::Map(inner)) = &*node.work()
        {
            written_now(inner, to, seen);
        }
    }
}

/// Writes the program of an expression.
pub(super) struct Emission<'a> {
    settled: &'a Settled,
    /// What earlier stages of the submission compute.
    before: &'a Before,
    pub(super) builder: ProgramBuilder,
    pub(super) inputs: SmallVec<[Input; 4]>,
    values: ByNode<Arg>,
    /// Held nodes: further outputs, with their value, layout and dtype.
    pub(super) kept: Vec<(Arc<Node>, Arg, Layout, Dtype)>,
}

impl<'a> Emission<'a> {
    pub(super) fn new(settled: &'a Settled, before: &'a Before) -> Self {
        Self {
            settled,
            before,
            builder: ProgramBuilder::new(),
            inputs: SmallVec::new(),
            values: ByNode::new(),
            kept: Vec::new(),
        }
    }

    /// Whether recorded work is computed on the way.
    pub(super) fn computes(&self) -> bool {
        !self.values.0.is_empty()
    }

    pub(super) fn value(&mut self, recorded: &Recorded) -> Result<Arg> {
        let mut args: SmallVec<[Arg; 3]> = SmallVec::new();
        for (position, operand) in recorded.operands.iter().enumerate() {
            let wanted = recorded.wanted(position);
            let arg = match operand {
                Source::Scalar(value) => self.builder.constant(value.cast(wanted))?,
                Source::Index(layout) => {
                    let arg = self.builder.index()?;
                    self.inputs.push(Input::Index(layout.clone()));
                    self.builder.cast(arg, wanted)?
                }
                Source::Array(array) => {
                    let arg = self.array(array)?;
                    self.builder.cast(arg, wanted)?
                }
                Source::Rolled(array, ways) => {
                    let arg = self.builder.input(array.dtype())?;
                    let allocation = array.elements().get_memory().ok_or_else(neither)?;
                    self.inputs.push(Input::Rolled(placed(array, allocation), ways.clone()));
                    self.builder.cast(arg, wanted)?
                }
            };
            args.push(arg);
        }
        match recorded.op {
            Op::Copy => Ok(args[0]),
            Op::Cast => self.builder.cast(args[0], recorded.out),
            op => self.builder.push(op, &args),
        }
    }

    fn array(&mut self, array: &UsmArray) -> Result<Arg> {
        let pending = array.elements().pending();
        if let Some(node) = pending.filter(|node| self.settled.references.get(node).is_some()) {
            if let Some(&arg) = self.values.get(node) {
                return Ok(arg);
            }
            let held = !self.settled.reduction && self.settled.held.contains(&Arc::as_ptr(node));
            let guard = node.work();
            if let Some(Work::Map(inner)) = &*guard {
                let arg = self.value(inner)?;
                self.values.insert(node, arg);
                routes::take(Route::Fused);
                if held {
                    self.kept.push((Arc::clone(node), arg, inner.layout.clone(), inner.out));
                }
                return Ok(arg);
            }
        }
        let earlier = |node: &Arc<Node>| {
            self.before.iter().find(|(fold, _)| Arc::ptr_eq(fold, node)).map(|(_, part)| part)
        };
        let allocation = match pending.and_then(earlier) {
            Some(part) => Some(&part.output.allocation),
            None => array.elements().get_memory(),
        };
        let allocation = allocation.ok_or_else(neither)?;
        let (layout, dtype) = (array.layout(), array.dtype());
        let same = |input: &Input| match input {
            Input::Memory(p) => {
                Arc::ptr_eq(&p.allocation, allocation) && p.layout == *layout && p.dtype == dtype
            }
            Input::Index(_) | Input::Rolled(..) => false,
        };
        if let Some(number) = self.inputs.iter().position(same) {
            // As many inputs as a program can have fit a byte.
            return Ok(Arg::Input(number as u8));
        }
        let arg = self.builder.input(dtype)?;
        self.inputs.push(Input::Memory(placed(array, allocation)));
        Ok(arg)
    }
}

/// An array's elements in its memory.
fn placed(array: &UsmArray, allocation: &Arc<Allocation>) -> Placed {
    Placed { allocation: Arc::clone(allocation), layout: array.layout().clone(), dtype: array.dtype() }
}

/// The defect that an array has no elements.
fn neither() -> Error {
    Error::value(
        "array",
        "neither recorded nor in memory",
        "one of both",
        "this is a defect of the engine: please report it",
    )
}
