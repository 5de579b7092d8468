//! Reductions that wait for others of the same array.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::evaluate::{Before, Evaluated, evaluate_fold, reduce, submit};
use super::size::Size;
use super::{Elements, Node, Recorded, UsmArray, Work, for_each_node, immediate, is_first};
use crate::cut::Cut;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::Dims;
use crate::memory::UsmKind;
use crate::memory::allocation::Allocation;
use crate::memory::capture;
use crate::memory::immediate::WAITING_BYTES;
use crate::memory::pending::PendingList;
use crate::memory::schedule::Batch;
use crate::ops;
use crate::program::{Fold, Program};
use crate::routes::{self, Route};
use crate::runtime::{Event, Queue};
use crate::scalar::Scalar;

/// How a reduction folds, over which axes, and what is done with each folded value.
#[derive(Clone)]
pub(crate) struct Folding {
    pub(crate) fold: Fold,
    pub(crate) axes: Dims,
    pub(crate) finish: Option<Arc<Program>>,
}

impl Folding {
    /// The dtype of the result, of values of a dtype.
    pub(crate) fn result(&self, accumulator: Dtype) -> Dtype {
        self.fold.finished(accumulator, self.finish.as_deref())
    }

    /// The result of no values of a dtype.
    pub(super) fn of_nothing(&self, accumulator: Dtype) -> Result<Scalar> {
        let Some(identity) = self.fold.identity(accumulator) else {
            return Err(Error::value(
                "axis",
                "of extent 0",
                "at least one element to choose from",
                "an index of the smallest or largest of no elements does not exist",
            ));
        };
        let value = match &self.finish {
            Some(program) => ops::evaluate(program, &[identity]).and_then(|v| v.first().copied()),
            None => Some(identity),
        };
        value.ok_or_else(|| {
            Error::unsupported(
                "fold",
                format!("{:?}", self.fold),
                "a fold with a value for no elements",
                "check for size 0 first",
            )
        })
    }
}

/// Folds an expression: a large array in memory once the result is needed, and an expression that may become the second of three
/// stages, as of a softmax; anything else now. The reductions that the queue has recorded of other arrays, or over other
/// axes, are submitted.
pub(crate) fn fold(queue: &Queue, kind: UsmKind, recorded: Recorded, folding: Folding) -> Result<Elements> {
    let mut awaited = SmallVec::new();
    let array = large(&recorded);
    if array.is_none() && !awaits(queue, &recorded, &mut awaited) {
        return Ok(Elements::Memory(reduce(queue, &recorded, &folding, kind)?.into()));
    }
    let stays = |node: &Arc<Node>| match array {
        Some(array) => node.folds(array, &folding.axes),
        None => awaited.contains(&Arc::as_ptr(node)),
    };
    // A failure is reported to who needs the result: it stays recorded.
    let _ = for_each_node(queue.pending(), |node| match node.is_fold() && !stays(node) {
        true => node.flush_for(Cut::OtherReduction).map(drop),
        false => Ok(()),
    });
    let node = Node::new(queue, kind, Work::Fold(recorded, folding), Size { steps: 0, leaves: 1 });
    node.register();
    Ok(Elements::Recorded(node))
}

/// The array that an expression is, where it is in memory that nobody knows outside, and worth waiting for.
fn large(recorded: &Recorded) -> Option<&UsmArray> {
    let array = recorded.arrays().next().filter(|_| recorded.operands.len() == 1)?;
    let memory = array.elements().get_memory().filter(|memory| !memory.is_exported());
    (memory.is_some() && array.bytes() >= WAITING_BYTES).then_some(array)
}

/// Whether an expression is large and reads reductions that are still recorded, each of an array in memory, so that it may
/// wait with them; these are collected.
fn awaits(queue: &Queue, recorded: &Recorded, awaited: &mut SmallVec<[*const Node; 4]>) -> bool {
    let large = recorded.layout.len().saturating_mul(recorded.dtype.size()) >= WAITING_BYTES;
    let takes = queue.device().capabilities().most_stages > 2;
    large && takes && collect_folds(recorded, awaited, &mut SmallVec::new()) && !awaited.is_empty()
}

/// Collects the pending reductions that an expression reads. Whether all are of arrays in memory, and none of the memory that the
/// expression reads is known outside.
fn collect_folds(
    recorded: &Recorded,
    to: &mut SmallVec<[*const Node; 4]>,
    seen: &mut SmallVec<[*const Node; 8]>,
) -> bool {
    recorded.arrays().all(|array| {
        let Some(node) = array.elements().pending() else {
            return array.elements().get_memory().is_some_and(|memory| !memory.is_exported());
        };
        if !is_first(seen, node) {
            return true;
        }
        match &*node.work() {
            Some(Work::Map(inner)) => collect_folds(inner, to, seen),
            Some(work @ Work::Fold(..)) => {
                to.push(Arc::as_ptr(node));
                work.is_of_memory()
            }
            // It has memory since the look above.
            None => true,
        }
    })
}

impl Node {
    /// Whether it is a reduction. Told without its work, which who looks for reductions may have locked, as that of an
    /// elementwise operation.
    pub(super) fn is_fold(&self) -> bool {
        self.size.steps == 0
    }

    /// Whether it, a pending reduction, is one of an array over these axes.
    fn folds(&self, array: &UsmArray, axes: &[usize]) -> bool {
        let same = |other: &UsmArray| {
            let memory = [array, other].map(|array| array.elements().get_memory());
            let [Some(a), Some(b)] = memory else { return false };
            Arc::ptr_eq(a, b) && array.dtype() == other.dtype() && array.layout() == other.layout()
        };
        match &*self.work() {
            Some(Work::Fold(recorded, folding)) => folding.axes[..] == *axes && recorded.arrays().all(same),
            _ => false,
        }
    }
}

/// Submits a pending reduction, and with it the others of the same array over the same axes. The caller holds the queue's flush
/// lock.
pub(super) fn flush(node: &Arc<Node>, batch: &mut Batch<'_>) -> Result<Option<Event>> {
    let together = alike(node, batch.drafted())?;
    let event = match submit_all(&together, batch) {
        // The failure may be another one's; but what is missing may come.
        Err(error) if together.len() > 1 && !matches!(error, Error::Alloc(_)) => {
            submit_all(std::slice::from_ref(node), batch)
        }
        outcome => outcome,
    };
    event.map(Some)
}

/// Whether a pending reduction is the only one of its array over its axes.
pub(super) fn is_single(node: &Arc<Node>) -> Result<bool> {
    Ok(alike(node, None)?.len() == 1)
}

/// The results of a reduction that is recorded, computed without a submission, where that is possible.
pub(super) fn at_once(recorded: &Recorded, folding: &Folding) -> Result<Option<Arc<Allocation>>> {
    // What is recorded is an array in memory, perhaps to be converted.
    let Some(array) = large(recorded) else { return Ok(None) };
    immediate::fold(array, recorded.out, folding.fold, folding.finish.as_deref(), &folding.axes, true)
}

/// A pending reduction and those like it of the same queue: those that are registered with its array, or, of a draft, these.
pub(super) fn alike(node: &Arc<Node>, drafted: Option<&PendingList>) -> Result<SmallVec<[Arc<Node>; 4]>> {
    let mut found = smallvec![Arc::clone(node)];
    let (array, axes) = match &*node.work() {
        Some(Work::Fold(recorded, folding)) => (recorded.arrays().next().cloned(), folding.axes.clone()),
        _ => return Ok(found),
    };
    // An expression has one.
    let Some(array) = array.filter(|array| array.elements().is_ready()) else { return Ok(found) };
    let memory = array.elements().memory()?;
    for_each_node(drafted.unwrap_or(&memory.pending_reads), |other| {
        // Another queue's work is not looked into: its flush lock is not held.
        let noted_alike = capture::key(other.recording.as_ref()) == capture::key(node.recording.as_ref());
        let like = other.is_fold() && other.queue == node.queue && noted_alike && !Arc::ptr_eq(other, node);
        if like && other.folds(&array, &axes) {
            found.push(Arc::clone(other));
        }
        Ok(())
    })?;
    Ok(found)
}

/// Evaluates pending reductions that were not yet, and behind each those like it that the device can run. The caller holds the
/// queue's flush lock.
pub(super) fn evaluate(needed: &[Arc<Node>], evaluated: &mut Before, batch: &mut Batch<'_>) -> Result<()> {
    for node in needed {
        for like in alike(node, batch.drafted())? {
            if evaluated.iter().any(|(done, _)| Arc::ptr_eq(done, &like)) {
                continue;
            }
            let is_needed = needed.iter().any(|other| Arc::ptr_eq(other, &like));
            match evaluate_one(&like, evaluated, batch) {
                Ok(Some(part)) if is_needed || part.is_supported(&node.queue) => evaluated.push((like, part)),
                Err(error) if is_needed => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

fn evaluate_one(node: &Arc<Node>, before: &mut Before, batch: &mut Batch<'_>) -> Result<Option<Evaluated>> {
    match &*node.work() {
        Some(Work::Fold(recorded, folding)) => {
            evaluate_fold(&node.queue, recorded, folding, node.kind, before, batch).map(Some)
        }
        _ => Ok(None),
    }
}

/// Submits reductions as one command.
fn submit_all(nodes: &[Arc<Node>], batch: &mut Batch<'_>) -> Result<Event> {
    routes::take(if nodes.len() > 1 { Route::Together } else { Route::Apart });
    let (mut before, mut parts) = (Vec::new(), Vec::with_capacity(nodes.len()));
    for node in nodes {
        parts.extend(evaluate_one(node, &mut before, batch)?);
    }
    batch.ends_for(nodes[0].cut());
    let memories: SmallVec<[_; 4]> = parts.iter().map(|part| Arc::clone(&part.output.allocation)).collect();
    let event = submit(&nodes[0].queue, before, parts, &[], batch)?;
    for (node, memory) in nodes.iter().zip(memories) {
        node.settle(memory);
    }
    Ok(event)
}
