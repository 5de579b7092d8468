//! Lazy recording. An elementwise operation is not run but recorded as a [`Node`]; a read, a wait, an event request, most
//! reductions, an in-place write or a long chain *flushes*: recorded nodes whose references all come from inside the
//! expression become one program and one pass, intermediates that nobody holds are never written to memory, and those
//! that somebody does hold become further outputs of the same pass.
//!
//! A reduction of a large array in memory is recorded too, until its result is needed: reductions of one array over the
//! same axes are submitted together, and a device may fold them in one pass. A queue has such reductions of one array at a
//! time, so that no more memory than that array's is kept for them. An expression that reads the result of one that is still
//! recorded takes it along, as an earlier stage of one submission, where the device takes such; and where the device takes three
//! stages, a reduction of such an expression waits, too.
//!
//! Invariants.
//! - A node is pending (it has [`Work`]), or ready (it has memory), or *consumed*: fused into another node's
//!   program while nobody held it; nobody can ask for its memory.
//! - Flushing is done under the queue's flush lock; operands of a recorded node are of the same queue. Whether a node
//!   is held from outside is decided by its strong count under that lock: when it equals the references found inside
//!   the expression, no one outside has a handle from which to make another. (A weak reference may be upgraded
//!   meanwhile, but whoever upgrades one then waits for the flush lock and finds the node settled.)
//! - A pending node is registered with every allocation it reads, and with every pending node, whose allocation takes
//!   the registration over; what writes to one flushes its readers first.
//! - A pending node whose elements are assigned as they are stays pending, as a copy of what was written, and is a reader of that.

mod draft;
mod evaluate;
mod expression;
mod fold;
pub(crate) mod immediate;
mod kernel;
mod pass;
mod plan;
mod size;
mod usm_array;

pub(crate) use draft::{Known, cut_of, draft};
pub(crate) use evaluate::{Part, Target, assign, concat_parts, reduce};
pub(crate) use fold::{Folding, fold};
pub(crate) use kernel::{Bound, launch_kernel, submit_behind};
pub(crate) use pass::{Pass, Walk, handing_on};
pub use usm_array::{ArrayOrScalar, Flags, UsmArray};

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, Weak};

use smallvec::SmallVec;

use crate::cut::Cut;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::{Dims, Layout};
use crate::memory::allocation::Allocation;
use crate::memory::capture::{self, Recording};
use crate::memory::immediate::MAX_OPERANDS;
use crate::memory::pending::{Pending, PendingList};
use crate::memory::schedule::Batch;
use crate::memory::track::wait_while;
use crate::memory::{Alone, Memory, UsmKind};
use crate::ops::Op;
use crate::program::{MAX_CONSTS, MAX_INPUTS, MAX_STEPS};
use crate::routes::{self, Route};
use crate::runtime::{Event, Queue};
use crate::scalar::Scalar;
use crate::sync::{Mutex, MutexGuard};

use size::{Graph, Size};

/// Operations that a recorded expression has at most before its operands are flushed, with the conversions of their operands: a
/// program has room for a few more, of its result. With 16 of them, Sobel's 17 were cut in two, with one result stored on the way.
const MAX_RECORDED_STEPS: usize = MAX_STEPS - 4;
/// Arrays that a recorded expression reads at most before its operands are flushed.
const MAX_RECORDED_LEAVES: usize = MAX_INPUTS - 4;
/// Results of at most this many bytes are computed at once if their operands are ready: recording costs more than it
/// saves there.
const EAGER_BYTES: usize = 4 << 10;

/// What an array's elements come from.
#[derive(Clone)]
pub(crate) enum Elements {
    /// Memory.
    Memory(Memory),
    /// An operation that was recorded, and may have memory by now.
    Recorded(Arc<Node>),
}

impl Elements {
    /// The memory, after a flush where there is none yet. Work that writes it may be under way.
    #[inline]
    pub(crate) fn memory(&self) -> Result<&Arc<Allocation>> {
        match self {
            Self::Memory(memory) => Ok(memory),
            Self::Recorded(node) => node.memory(),
        }
    }

    /// Gives memory to what is computed, but not to what is only converted, or waits to be folded: a product has a place for that.
    pub(crate) fn settle(&self) -> Result<()> {
        let computed = |work: &Option<Work>| match work {
            Some(Work::Map(recorded)) => recorded.array().is_none(),
            _ => false,
        };
        match self.pending() {
            Some(node) if computed(&node.work()) => node.flush().map(drop),
            _ => Ok(()),
        }
    }

    /// The memory, where there is some.
    #[inline]
    pub(crate) fn get_memory(&self) -> Option<&Arc<Allocation>> {
        match self {
            Self::Memory(memory) => Some(memory),
            Self::Recorded(node) => node.memory.get(),
        }
    }

    /// The operation, where it is pending.
    fn pending(&self) -> Option<&Arc<Node>> {
        match self {
            Self::Recorded(node) if !node.is_ready() => Some(node),
            _ => None,
        }
    }

    /// The factors of a pending product, which has this layout, where they have memory. None where a reduction has computed it
    /// on the way before, so that it is to be kept now.
    pub(crate) fn factors(&self, layout: &Layout) -> Option<[(Arc<Allocation>, Layout); 2]> {
        let node = self.pending().filter(|node| !node.peeked.load(Ordering::Relaxed))?;
        let work = node.work();
        let Work::Map(Recorded { op: Op::Multiply, dtype, out, layout: own, operands }) = work.as_ref()?
        else {
            return None;
        };
        let [Source::Array(a), Source::Array(b)] = &operands[..] else { return None };
        if dtype != out || own != layout || [a, b].iter().any(|factor| factor.dtype() != *dtype) {
            return None;
        }
        let ready =
            |factor: &UsmArray| Some((factor.elements().get_memory()?.clone(), factor.layout().clone()));
        Some([ready(a)?, ready(b)?])
    }

    /// Notes that a reduction has computed pending elements on the way, with those that they are computed from.
    pub(crate) fn note_peek(&self) {
        if let Some(node) = self.pending() {
            // What it is computed from was noted with it.
            if !node.peeked.swap(true, Ordering::Relaxed)
                && let Some(Work::Map(recorded)) = &*node.work()
            {
                recorded.arrays().for_each(|array| array.elements().note_peek());
            }
        }
    }

    pub(crate) fn usm_kind(&self) -> UsmKind {
        match self {
            Self::Memory(memory) => memory.kind(),
            Self::Recorded(node) => node.kind,
        }
    }

    /// Whether the elements have memory, so that nothing is recorded.
    pub(crate) fn is_ready(&self) -> bool {
        self.pending().is_none()
    }

    /// Whether the elements are in memory that was lent for reading only.
    #[inline]
    pub(crate) fn is_read_only(&self) -> bool {
        self.get_memory().is_some_and(|memory| memory.is_read_only())
    }

    /// The memory, where nobody else has it and nothing was recorded; see [`Memory::alone`].
    #[inline(always)]
    pub(crate) fn alone(&mut self) -> Option<Alone<'_>> {
        match self {
            Self::Memory(memory) => memory.alone(),
            Self::Recorded(_) => None,
        }
    }
}

/// Recorded work, and the memory of its result when it has been run.
pub(crate) struct Node {
    memory: OnceLock<Arc<Allocation>>,
    /// Until it has been run.
    work: Mutex<Option<Work>>,
    kind: UsmKind,
    queue: Queue,
    /// Of the expression; without a step of a reduction, which is one leaf to who reads it.
    size: Size,
    /// Recorded nodes that read this one and were recorded before it had memory; then they are the allocation's. The
    /// memory is set under this lock, so that none falls between.
    readers: PendingList,
    /// Whether a reduction has already computed this pending node on the way, without keeping it: the next one keeps it.
    peeked: AtomicBool,
    /// Whether a thread tries to compute it at once.
    computing: AtomicBool,
    /// How often its work has become another way to the same elements; changed under the queue's flush lock.
    changes: AtomicU32,
    /// Why it is submitted, or was: the number of a [`Cut`].
    cut: AtomicU8,
    /// The capture that notes its submission: that of the thread that recorded it.
    recording: Option<Arc<Recording>>,
}

/// What a node computes.
#[derive(Clone)]
enum Work {
    /// An elementwise operation.
    Map(Recorded),
    /// A fold of the elements of an expression: an array in memory, or one that reads pending folds of such.
    Fold(Recorded, Folding),
}

impl Work {
    fn recorded(&self) -> &Recorded {
        match self {
            Self::Map(recorded) | Self::Fold(recorded, _) => recorded,
        }
    }

    /// Whether all arrays that it reads are in memory.
    fn is_of_memory(&self) -> bool {
        let operands = &self.recorded().operands;
        operands.len() <= MAX_OPERANDS
            && operands.iter().all(|operand| match operand {
                Source::Array(array) => array.elements().is_ready(),
                Source::Scalar(_) => true,
                Source::Index(_) | Source::Rolled(..) => false,
            })
    }
}

/// An elementwise operation that has not been run.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) op: Op,
    /// Dtype that the operands are converted to.
    pub(crate) dtype: Dtype,
    /// Dtype of the result.
    pub(crate) out: Dtype,
    /// Layout of the result in memory of its own.
    pub(crate) layout: Layout,
    /// Arrays are broadcast to the result's shape.
    pub(crate) operands: SmallVec<[Source; 3]>,
}

impl Recorded {
    /// The operands that are arrays.
    fn arrays(&self) -> impl Iterator<Item = &UsmArray> {
        self.operands.iter().filter_map(Source::array)
    }

    /// Whether elements are moved on the way.
    fn rolls(&self) -> bool {
        self.operands.iter().any(|operand| matches!(operand, Source::Rolled(..)))
    }

    /// The array that it hands on, perhaps converted.
    fn array(&self) -> Option<&UsmArray> {
        match (self.op, &self.operands[..]) {
            (Op::Copy | Op::Cast, [Source::Array(array)]) => Some(array),
            _ => None,
        }
    }

    /// Steps that it takes of a program: itself, and conversions. One with several constants counts as so many, as a program has
    /// room for as many constants as steps.
    fn steps(&self) -> usize {
        const _: () = assert!(MAX_CONSTS >= MAX_STEPS);
        let (mut constants, mut conversions) = (0, 0);
        for (position, operand) in self.operands.iter().enumerate() {
            let dtype = match operand {
                Source::Array(array) | Source::Rolled(array, _) => array.dtype(),
                Source::Index(_) => Dtype::I64,
                Source::Scalar(_) => {
                    constants += 1;
                    continue;
                }
            };
            conversions += usize::from(dtype != self.wanted(position));
        }
        conversions + constants.max(1)
    }

    /// The dtype that an operand is converted to.
    pub(crate) fn wanted(&self, position: usize) -> Dtype {
        self.op.operand_dtype(position, self.dtype)
    }
}

/// An operand of a recorded operation.
#[derive(Clone)]
pub(crate) enum Source {
    Array(UsmArray),
    Scalar(Scalar),
    /// An `int64` computed from the multi-index: the layout's offset plus its strides times the multi-index.
    Index(Layout),
    /// An array in memory whose elements are moved, those beyond the end to the beginning: along each axis by so many, fewer than its
    /// extent.
    Rolled(UsmArray, Dims),
}

impl Source {
    fn array(&self) -> Option<&UsmArray> {
        match self {
            Self::Array(array) | Self::Rolled(array, _) => Some(array),
            Self::Scalar(_) | Self::Index(_) => None,
        }
    }
}

impl Node {
    /// Records an operation, or runs it at once where that is cheaper or memory involved is known outside.
    pub(crate) fn record(queue: &Queue, kind: UsmKind, recorded: Recorded) -> Result<Elements> {
        Self::record_above(EAGER_BYTES, queue, kind, recorded)
    }

    /// Records an operation whose result is only a step on the way to another, so that it is computed with that one
    /// however small it is.
    pub(crate) fn defer(queue: &Queue, kind: UsmKind, recorded: Recorded) -> Result<Elements> {
        Self::record_above(0, queue, kind, recorded)
    }

    fn record_above(
        eager_bytes: usize,
        queue: &Queue,
        kind: UsmKind,
        recorded: Recorded,
    ) -> Result<Elements> {
        let size = fit(&recorded, Size::RECORDED)?;
        let operands: SmallVec<[&Elements; 3]> = recorded.arrays().map(UsmArray::elements).collect();
        let memories: SmallVec<[Arc<Allocation>; 3]> =
            operands.iter().filter_map(|elements| elements.get_memory().cloned()).collect();
        let exported = memories.iter().any(|m| m.is_exported());
        let bytes = recorded.layout.len() * recorded.out.size();
        let small = memories.len() == operands.len() && bytes <= eager_bytes;
        drop(operands);
        let node = Self::new(queue, kind, Work::Map(recorded), size);
        // What is captured is planned once and run often.
        let eager = exported || (small && node.recording.is_none());
        if eager {
            let event = node.flush_for(if exported { Cut::Lent } else { Cut::Small })?;
            if let (true, Some(event)) = (exported, event) {
                event.end()?;
            }
        } else {
            node.register();
        }
        Ok(Elements::Recorded(node))
    }

    /// A node of an expression of a size.
    fn new(queue: &Queue, kind: UsmKind, work: Work, size: Size) -> Arc<Self> {
        Arc::new(Self {
            memory: OnceLock::new(),
            work: Mutex::new(Some(work)),
            kind,
            queue: queue.clone(),
            size,
            readers: PendingList::default(),
            peeked: AtomicBool::new(false),
            computing: AtomicBool::new(false),
            changes: AtomicU32::new(0),
            cut: AtomicU8::new(Cut::Needed as u8),
            recording: capture::current(),
        })
    }

    /// Registers the node with all that it reads, and with its queue.
    fn register(self: &Arc<Self>) {
        routes::take(if self.is_fold() { Route::Waiting } else { Route::Recorded });
        if let Some(work) = &*self.work() {
            for array in work.recorded().arrays() {
                match array.elements() {
                    Elements::Memory(memory) => memory.pending_reads.push(self),
                    Elements::Recorded(operand) => operand.add_reader(self),
                }
            }
        }
        self.queue.pending().push(self);
    }

    /// The memory, after a flush where there is none yet.
    fn memory(self: &Arc<Self>) -> Result<&Arc<Allocation>> {
        if self.memory.get().is_none() {
            self.flush()?;
        }
        self.memory.get().ok_or_else(|| {
            Error::value(
                "array",
                "consumed by a fused operation",
                "an array that somebody holds",
                "this is a defect of the engine: please report it",
            )
        })
    }

    /// Gives the node memory. Its recorded readers become the memory's.
    fn publish(&self, memory: Arc<Allocation>) {
        let mut readers = self.readers.lock();
        for reader in readers.drain(..) {
            memory.pending_reads.push_weak(reader);
        }
        // A node is flushed once, under its queue's flush lock.
        let _ = self.memory.set(memory);
    }

    /// Registers a recorded node that reads this one.
    fn add_reader(&self, reader: &Arc<Self>) {
        let mut readers = self.readers.lock();
        let settled = match self.memory.get() {
            Some(memory) => {
                memory.pending_reads.push(reader);
                Vec::new()
            }
            None => PendingList::add(&mut readers, Arc::downgrade(reader) as Weak<dyn Pending>),
        };
        drop(readers);
        drop(settled);
    }

    /// Has a pending node read its elements from where they were just written, until that is overwritten: then it is flushed first, as
    /// any reader. The caller holds the queue's flush lock.
    fn read_from(self: &Arc<Self>, written: UsmArray) {
        let mut work = self.work();
        let Some(Work::Map(recorded)) = &mut *work else { return };
        let (dtype, layout) = (written.dtype(), recorded.layout.clone());
        if let Some(memory) = written.elements().get_memory() {
            memory.pending_reads.push(self);
        }
        let operands = smallvec::smallvec![Source::Array(written)];
        let before =
            std::mem::replace(recorded, Recorded { op: Op::Copy, dtype, out: dtype, layout, operands });
        self.changes.fetch_add(1, Ordering::Relaxed);
        drop(work);
        // Interior nodes that were fused end here, consumed.
        drop(before);
    }

    /// Ends a pending node whose result is in this memory.
    fn settle(&self, memory: Arc<Allocation>) {
        // Set before the recorded work goes, so that there is no moment with neither.
        self.publish(memory);
        let work = self.work().take();
        // Drops the operands: interior nodes that were fused end here, consumed.
        drop(work);
    }

    fn work(&self) -> MutexGuard<'_, Option<Work>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why it is submitted, or was.
    fn cut(&self) -> Cut {
        Cut::from_number(self.cut.load(Ordering::Relaxed))
    }

    /// Notes why it is about to be submitted.
    fn cut_for(&self, cut: Cut) {
        if !self.is_ready() {
            self.cut.store(cut as u8, Ordering::Relaxed);
        }
    }

    /// [`flush`](Self::flush), and why.
    fn flush_for(self: &Arc<Self>, cut: Cut) -> Result<Option<Event>> {
        self.cut_for(cut);
        self.flush()
    }

    /// Computes the recorded operation, if there is one, where that takes no submission; else submits it and returns its
    /// event. On an error it stays recorded.
    fn flush(self: &Arc<Self>) -> Result<Option<Event>> {
        if self.is_ready() {
            return Ok(None);
        }
        if !self.computing.swap(true, Ordering::Acquire) {
            /// Lets those go on who wait, also where a kernel panics.
            struct Over<'a>(&'a AtomicBool);
            impl Drop for Over<'_> {
                fn drop(&mut self) {
                    self.0.store(false, Ordering::Release);
                }
            }
            let over = Over(&self.computing);
            let computed = self.at_once()?;
            drop(over);
            if computed {
                return Ok(None);
            }
        } else {
            // Another thread computes it just now.
            wait_while(|| self.computing.load(Ordering::Acquire));
        }
        Batch::run(&self.queue, |batch| {
            let _lock = self.queue.flush_lock();
            evaluate::flush_locked(self, batch)
        })
    }

    /// Computes the recorded operation on the calling thread, if that is possible; no lock is held meanwhile. Whether it has
    /// memory now.
    ///
    /// Who writes to an operand flushes its readers first. So where the node is still pending afterwards, nobody has begun to
    /// write before the operands were read, and the result is right; else it is not needed.
    fn at_once(self: &Arc<Self>) -> Result<bool> {
        let (work, changes) = match &*self.work() {
            Some(work) if self.queue.allows_immediate() && work.is_of_memory() => {
                (work.clone(), self.changes.load(Ordering::Relaxed))
            }
            _ => return Ok(false),
        };
        let memory = match &work {
            Work::Map(recorded) => immediate::recorded(&self.queue, recorded, self.kind)?,
            Work::Fold(recorded, folding) if fold::is_single(self)? => fold::at_once(recorded, folding)?,
            Work::Fold(..) => None,
        };
        let Some(memory) = memory else { return Ok(false) };
        let _lock = self.queue.flush_lock();
        if self.changes.load(Ordering::Relaxed) != changes {
            // What it was computed from may have been overwritten meanwhile.
            return Ok(false);
        }
        let pending = self.work().is_some();
        if pending {
            self.settle(memory);
        }
        Ok(true)
    }
}

/// Submits what was recorded in a capture.
///
/// # Errors
/// The first failure.
pub(crate) fn flush_captured(recording: &Arc<Recording>) -> Result<()> {
    for_each_node(recording.queue().pending(), |node| match &node.recording {
        Some(own) if Arc::ptr_eq(own, recording) => node.flush().map(drop),
        _ => Ok(()),
    })
}

/// Whether a node is seen for the first time: an expression that uses some of its nodes twice has more paths than nodes.
fn is_first(seen: &mut SmallVec<[*const Node; 8]>, node: &Arc<Node>) -> bool {
    let first = !seen.contains(&Arc::as_ptr(node));
    if first {
        seen.push(Arc::as_ptr(node));
    }
    first
}

/// Computes operands, or what they are computed from, until an operation above them is no larger than `most`: what it is then.
fn fit(recorded: &Recorded, most: Size) -> Result<Size> {
    let size = Size::at_most(recorded);
    if size.fits(most) {
        return Ok(size);
    }
    let (cut, node) = {
        let graph = Graph::of(recorded);
        match graph.size() {
            size if size.fits(most) => return Ok(size),
            size => (size.excess(most), graph.cut(most)),
        }
    };
    if let Some(node) = node {
        node.flush_for(cut)?;
    } else {
        let mut operands: SmallVec<[&Elements; 3]> = recorded.arrays().map(UsmArray::elements).collect();
        // The longest first.
        operands
            .sort_by_key(|elements| std::cmp::Reverse(elements.pending().map_or(0, |node| node.size.steps)));
        for elements in operands {
            if let Some(node) = elements.pending() {
                node.flush_for(cut)?;
            }
            if Graph::of(recorded).size().fits(most) {
                break;
            }
        }
    }
    Ok(Graph::of(recorded).size())
}

impl Pending for Node {
    fn is_ready(&self) -> bool {
        self.memory.get().is_some()
    }
    fn queue(&self) -> &Queue {
        &self.queue
    }
    fn submit(self: Arc<Self>) -> Result<()> {
        Node::flush(&self).map(drop)
    }
}

/// Calls a function with every node of a list that is still pending, latest first. One at a time is held, so that the others
/// can still be seen to be held by nobody.
fn for_each_node(list: &PendingList, mut f: impl FnMut(&Arc<Node>) -> Result<()>) -> Result<()> {
    list.for_each_pending(|work| {
        let any: Arc<dyn Any + Send + Sync> = work;
        // Nothing else is recorded.
        any.downcast::<Node>().map_or(Ok(()), |node| f(&node))
    })
}
