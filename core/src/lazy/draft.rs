//! Planning without submitting: the recorded nodes of an expression are copied, and the copies are flushed by the real planner
//! into a batch that notes its commands ([`Batch::drafting`]), in memory that is not there.
//!
//! A copy is held as its original is: by as many references as come from outside of what is copied. So the planner, which asks
//! for that, decides as it would for the originals; these stay recorded, and nothing is computed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use super::evaluate::flush_locked;
use super::{Elements, Node, OnceLock, PendingList, Source, UsmArray, Work, fold, immediate};
use crate::backend::Command;
use crate::cut::Cut;
use crate::dtype::Dtype;
use crate::error::Result;
use crate::layout::{Dims, Layout};
use crate::memory::allocation::Allocation;
use crate::memory::pending::Pending as _;
use crate::memory::schedule::Batch;
use crate::sync::Mutex;

/// What would be submitted for an array.
pub(crate) struct Plan {
    /// The commands, each with why it ends where it does.
    pub(crate) commands: Vec<(Command, Cut)>,
    /// What is known of arrays that they read and write.
    pub(crate) known: Vec<Known>,
    /// Whether the last of them is tried on the calling thread first, without a submission.
    pub(crate) at_once: bool,
}

/// An array of a plan.
pub(crate) struct Known {
    /// Where its memory begins, and how many bytes it has.
    pub(crate) start: usize,
    pub(crate) bytes: usize,
    /// Where its first element is.
    pub(crate) first: usize,
    pub(crate) shape: Dims,
    pub(crate) dtype: Dtype,
    /// What the caller calls it.
    pub(crate) name: Option<String>,
    /// Why it was computed by itself, where it was recorded once.
    pub(crate) cut: Option<Cut>,
}

impl Known {
    pub(crate) fn of(memory: &Allocation, layout: &Layout, dtype: Dtype) -> Self {
        let start = memory.ptr().addr();
        Self {
            start,
            bytes: memory.bytes(),
            first: start + layout.offset() * dtype.size(),
            shape: Dims::from_slice(layout.shape()),
            dtype,
            name: None,
            cut: None,
        }
    }

    /// Memory of which no array is known.
    pub(crate) fn of_bytes(memory: &Allocation) -> Self {
        let start = memory.ptr().addr();
        let (bytes, shape) = (memory.bytes(), Dims::from_slice(&[memory.bytes()]));
        Self { start, bytes, first: start, shape, dtype: Dtype::U8, name: None, cut: None }
    }
}

/// Why an array that is in memory was computed by itself, where it was recorded once.
pub(crate) fn cut_of(array: &UsmArray) -> Option<Cut> {
    match array.elements() {
        Elements::Recorded(node) if node.is_ready() => Some(node.cut()),
        _ => None,
    }
}

/// A node, and its copy.
struct Copied {
    original: Arc<Node>,
    copy: Arc<Node>,
    /// References to the original that were found in what is copied.
    inside: usize,
}

#[derive(Default)]
struct Copies {
    nodes: Vec<Copied>,
    /// Arrays in memory that they read.
    leaves: Vec<UsmArray>,
}

impl Copies {
    /// The copy of a node, with all that is recorded below it; none where it has memory by now.
    fn copy(&mut self, node: &Arc<Node>) -> Result<Option<Arc<Node>>> {
        if let Some(known) = self.nodes.iter().find(|known| Arc::ptr_eq(&known.original, node)) {
            return Ok(Some(Arc::clone(&known.copy)));
        }
        let Some(mut work) = node.work().clone() else { return Ok(None) };
        let operands = match &mut work {
            Work::Map(recorded) | Work::Fold(recorded, _) => &mut recorded.operands,
        };
        for operand in operands {
            if let Source::Array(array) | Source::Rolled(array, _) = operand {
                self.replace(array)?;
            }
        }
        let copy = Arc::new(Node {
            memory: OnceLock::new(),
            work: Mutex::new(Some(work)),
            kind: node.kind,
            queue: node.queue.clone(),
            size: node.size,
            readers: PendingList::default(),
            peeked: AtomicBool::new(node.peeked.load(Ordering::Relaxed)),
            computing: AtomicBool::new(false),
            changes: AtomicU32::new(0),
            cut: AtomicU8::new(Cut::Needed as u8),
            recording: node.recording.clone(),
        });
        self.nodes.push(Copied { original: Arc::clone(node), copy: Arc::clone(&copy), inside: 0 });
        if node.is_fold() {
            for like in fold::alike(node, None)? {
                self.copy(&like)?;
            }
        }
        Ok(Some(copy))
    }

    /// Puts the copy of what an operand is recorded as in its place.
    fn replace(&mut self, array: &mut UsmArray) -> Result<()> {
        let original = array.elements().pending().map(Arc::clone);
        let Some(original) = original else {
            self.leaves.push(array.clone());
            return Ok(());
        };
        if let Some(copy) = self.copy(&original)? {
            array.elements = Elements::Recorded(copy);
            let known = self.nodes.iter_mut().find(|known| Arc::ptr_eq(&known.original, &original));
            known.into_iter().for_each(|known| known.inside += 1);
        }
        Ok(())
    }

    /// The copies that are held, by what their originals are: all others have no reference but those of each other.
    fn held(self) -> Vec<(*const Node, Arc<Node>)> {
        let held = self.nodes.into_iter().filter(|of| {
            // One reference is ours.
            Arc::strong_count(&of.original) > of.inside + 1
        });
        held.map(|of| (Arc::as_ptr(&of.original), of.copy)).collect()
    }
}

/// Plans what a flush of an array would submit, and submits nothing. None where it is in memory.
///
/// # Errors
/// What the flush would report.
pub(crate) fn draft(array: &UsmArray, names: &[(&str, &UsmArray)]) -> Result<Option<Plan>> {
    let Some(node) = array.elements().pending() else { return Ok(None) };
    let queue = array.queue();
    let mut batch = Batch::drafting(queue);
    // While it is held, nothing of the queue is settled.
    let lock = queue.flush_lock();
    let mut copies = Copies::default();
    let Some(root) = copies.copy(node)? else { return Ok(None) };
    let at_once = {
        let work = root.work();
        work.as_ref().is_some_and(|work| match work {
            Work::Map(recorded) => work.is_of_memory() && immediate::takes(queue, recorded),
            Work::Fold(..) => false,
        })
    };
    let leaves = std::mem::take(&mut copies.leaves);
    if let Some(draft) = batch.draft() {
        let reductions = copies.nodes.iter().map(|of| &of.copy).filter(|copy| copy.is_fold());
        reductions.for_each(|copy| draft.reductions.push(copy));
    }
    let held = copies.held();
    let planned = flush_locked(&root, &mut batch);
    drop(lock);
    planned?;
    let Some(draft) = batch.draft().map(std::mem::take) else { return Ok(None) };

    let mut known: Vec<Known> = Vec::new();
    let memory_of = |array: &UsmArray| match array.elements().pending() {
        None => array.elements().get_memory().cloned(),
        Some(original) if Arc::ptr_eq(original, node) => root.memory.get().cloned(),
        Some(original) => {
            let copy = held.iter().find(|(of, _)| *of == Arc::as_ptr(original));
            copy.and_then(|(_, copy)| copy.memory.get().cloned())
        }
    };
    for (name, array) in names {
        if let Some(memory) = memory_of(array) {
            let known_as = Known::of(&memory, array.layout(), array.dtype());
            known.push(Known { name: Some((*name).to_owned()), cut: cut_of(array), ..known_as });
        }
    }
    for leaf in &leaves {
        if let Some(memory) = leaf.elements().get_memory() {
            known.push(Known { cut: cut_of(leaf), ..Known::of(memory, leaf.layout(), leaf.dtype()) });
        }
    }
    known.extend(draft.arrays.iter().map(|(memory, layout, dtype)| Known::of(memory, layout, *dtype)));
    Ok(Some(Plan { commands: draft.commands, known, at_once }))
}
