//! The pooling allocator of one device.
//!
//! Fresh pages are the dominant cost of large arrays (a page fault costs more than computing the page's contents), so
//! freed blocks are kept by size class and reused, up to a cap. Classes are an eighth of a power of two apart, which
//! wastes at most 12.5 %. Blocks up to [`SLAB_BLOCK_BYTES`] are cut from slabs.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use smallvec::SmallVec;

use super::registry::Chunk;
use super::{UsmKind, UsmPtr, heap, spare};
use crate::backend::{self, Event, RawAllocation};
use crate::error::{Error, Result};
use crate::runtime::WeakDevice;
use crate::sync::{Mutex, MutexGuard};

/// Alignment of every block: a cache line, and the widest vector.
pub const BLOCK_ALIGN_BYTES: usize = 64;
/// Larger blocks are allocations of their own.
const SLAB_BLOCK_BYTES: usize = 64 << 10;
const SLAB_BYTES: usize = 1 << 20;
/// Retired blocks that are found busy before an allocation stops looking: work ends about in its order.
const RETIRED_LOOKS: usize = 2;

/// What a pool has done and holds. Of what they free, threads keep a few small blocks for their next results of the same sizes;
/// these are held for reuse, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PoolStatistics {
    /// Bytes handed out and not returned, rounded up to size classes.
    pub live_bytes: usize,
    /// The most that `live_bytes` has been, with the blocks that threads kept then.
    pub peak_live_bytes: usize,
    /// Bytes held for reuse.
    pub cached_bytes: usize,
    /// Bytes obtained from the device.
    pub reserved_bytes: usize,
    /// Allocations served from held blocks, but for those that threads kept.
    pub hits: u64,
    /// Allocations that needed memory from the device.
    pub misses: u64,
}

/// A block of a chunk; returned to its pool by [`Pool::release`].
pub(crate) struct Block {
    chunk: Arc<Chunk>,
    index: usize,
}

impl Block {
    pub(crate) fn ptr(&self) -> UsmPtr {
        self.chunk.block_ptr(self.index)
    }

    /// Marks the block as in use (`bytes` asked for), free (0), or kept by a thread
    /// ([`SET_ASIDE`](super::registry::SET_ASIDE)).
    #[inline]
    pub(super) fn set_live(&self, bytes: usize) {
        self.chunk.set_live(self.index, bytes);
    }
}

/// Events of work on a block.
type Events = SmallVec<[Arc<dyn Event>; 2]>;

#[derive(Default)]
struct State {
    free: FreeBlocks,
    /// Blocks whose owners are gone and whose work may be under way, the oldest first.
    retired: VecDeque<(Block, Events)>,
    slabs: Vec<Arc<Chunk>>,
    statistics: PoolStatistics,
    cap_bytes: usize,
}

/// Free blocks by kind and size class, found without a search.
#[derive(Default)]
struct FreeBlocks([Vec<Vec<Block>>; 3]);

impl FreeBlocks {
    fn kind(kind: UsmKind) -> usize {
        match kind {
            UsmKind::Host => 0,
            UsmKind::Device => 1,
            UsmKind::Shared => 2,
        }
    }

    /// Takes a block of a class, the one that came last.
    fn pop(&mut self, kind: UsmKind, class: usize) -> Option<Block> {
        self.0[Self::kind(kind)].get_mut(class_number(class))?.pop()
    }

    /// The blocks of a class.
    fn class(&mut self, kind: UsmKind, class: usize) -> &mut Vec<Block> {
        let (classes, number) = (&mut self.0[Self::kind(kind)], class_number(class));
        if number >= classes.len() {
            classes.resize_with(number + 1, Vec::new);
        }
        &mut classes[number]
    }

    /// The classes of all kinds that have blocks, the largest blocks first.
    fn largest_first(&mut self) -> impl Iterator<Item = &mut Vec<Block>> {
        let mut classes: SmallVec<[&mut Vec<Block>; 16]> =
            self.0.iter_mut().flatten().filter(|blocks| !blocks.is_empty()).collect();
        classes.sort_by_key(|blocks| std::cmp::Reverse(blocks[0].chunk.block_bytes));
        classes.into_iter()
    }
}

/// The pool of one device.
pub(crate) struct Pool {
    device: Arc<dyn backend::Device>,
    state: Mutex<State>,
}

/// Bytes of the size class that holds `bytes`.
fn class_bytes(bytes: usize) -> Option<usize> {
    let bytes = bytes.max(1).checked_next_multiple_of(BLOCK_ALIGN_BYTES)?;
    if bytes <= 8 * BLOCK_ALIGN_BYTES {
        return Some(bytes);
    }
    let step = 1usize << (bytes.ilog2() - 3);
    bytes.checked_next_multiple_of(step.max(BLOCK_ALIGN_BYTES))
}

/// The number of a size class, which [`class_bytes`] has given, among all.
fn class_number(class: usize) -> usize {
    if class <= 8 * BLOCK_ALIGN_BYTES {
        return class / BLOCK_ALIGN_BYTES;
    }
    // Eight classes from each power of two to the next, that one included.
    let power = (class - 1).ilog2();
    let part = (class - 1) >> (power - 3);
    8 * (power as usize - (8 * BLOCK_ALIGN_BYTES).ilog2() as usize) + (part - 8) + 9
}

impl Pool {
    pub(crate) fn new(device: Arc<dyn backend::Device>) -> Self {
        let memory = usize::try_from(device.info().limits.global_memory_bytes).unwrap_or(usize::MAX);
        let state = State { cap_bytes: memory / 4, ..State::default() };
        Self { device, state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block of at least `bytes`, of which the start is a multiple of `align`.
    pub(crate) fn acquire(
        &self,
        owner: impl FnOnce() -> WeakDevice,
        kind: UsmKind,
        bytes: usize,
        align: usize,
    ) -> Result<Block> {
        let class = class_bytes(bytes).filter(|&class| isize::try_from(class).is_ok()).ok_or_else(|| {
            Error::overflow(
                "bytes",
                bytes,
                "a size that fits the address space",
                format!("allocate less on {}", self.device.info().name),
            )
        })?;
        // A larger alignment than every block has anyway gets memory of its own.
        let pooled = align <= BLOCK_ALIGN_BYTES;
        let (found, beyond) = {
            let mut state = self.lock();
            let beyond = Self::collect(&mut state, RETIRED_LOOKS);
            let found = if pooled { state.free.pop(kind, class) } else { None };
            let found = found.map(|block| {
                state.statistics.hits += 1;
                state.statistics.cached_bytes -= class;
                Self::hand_out(&mut state, block, bytes)
            });
            state.statistics.misses += u64::from(found.is_none());
            (found, beyond)
        };
        self.free(beyond);
        if let Some(block) = found {
            return Ok(block);
        }
        // The device is asked without the lock: that may take long.
        let slab = pooled && class <= SLAB_BLOCK_BYTES;
        let notes = Chunk::notes(if slab { SLAB_BYTES / class } else { 1 })?;
        let raw = self.obtain(kind, if slab { SLAB_BYTES } else { class }, align.max(BLOCK_ALIGN_BYTES))?;
        let chunk = Chunk::register(raw, owner(), if slab { class } else { raw.bytes }, notes);
        let mut state = self.lock();
        if slab {
            // Room for all blocks of the class, so that taking them back needs none.
            let alike = |slab: &&Arc<Chunk>| slab.block_bytes == class && slab.raw.kind == kind;
            let others: usize = state.slabs.iter().filter(alike).map(|slab| slab.blocks()).sum();
            let free = state.free.class(kind, class);
            let room = (others + chunk.blocks()).saturating_sub(free.len());
            if let Err(error) = heap::reserve("blocks", free, room) {
                drop(state);
                chunk.unregister();
                self.free([chunk]);
                return Err(error);
            }
        }
        state.statistics.reserved_bytes += raw.bytes;
        if slab {
            state.statistics.cached_bytes += (chunk.blocks() - 1) * class;
            // Highest first, so that the lowest addresses are handed out next.
            let rest = (1..chunk.blocks()).rev().map(|index| Block { chunk: Arc::clone(&chunk), index });
            state.free.class(kind, class).extend(rest);
            state.slabs.push(Arc::clone(&chunk));
        }
        Ok(Self::hand_out(&mut state, Block { chunk, index: 0 }, bytes))
    }

    /// Memory from the device; where it has none left, again after giving back what the pool holds.
    fn obtain(&self, kind: UsmKind, bytes: usize, align: usize) -> Result<RawAllocation> {
        self.device.alloc(kind, bytes, align).or_else(|error| match self.trim_all(0) {
            0 => Err(error),
            _ => self.device.alloc(kind, bytes, align),
        })
    }

    fn hand_out(state: &mut State, block: Block, bytes: usize) -> Block {
        block.set_live(bytes);
        let statistics = &mut state.statistics;
        statistics.live_bytes += block.chunk.block_bytes;
        statistics.peak_live_bytes = statistics.peak_live_bytes.max(statistics.live_bytes);
        block
    }

    /// Takes a block back, to be used again when the events are terminal. They are asked when the pool is, not told to call
    /// back: a runtime's callback costs more than a small kernel.
    ///
    /// A block stays in the pool until then, so this is for pools that are never dropped.
    pub(crate) fn retire(&self, block: Block, events: Events) {
        self.lock().retired.push_back((block, events));
    }

    /// Takes back retired blocks whose work is done, until so many were found whose work is not. What is returned is beyond the
    /// cap: to be given back without the lock.
    fn collect(state: &mut State, looks: usize) -> Vec<Arc<Chunk>> {
        let (mut at, mut left, mut beyond) = (0, looks, Vec::new());
        while left > 0
            && let Some((_, events)) = state.retired.get(at)
        {
            if events.iter().any(|event| !event.status().is_terminal()) {
                (at, left) = (at + 1, left - 1);
            } else if let Some((block, _)) = state.retired.remove(at) {
                beyond.extend(Self::release_locked(state, block));
            }
        }
        beyond
    }

    /// Takes a block back. No pending work touches it any more.
    pub(crate) fn release(&self, block: Block) {
        let beyond = Self::release_locked(&mut self.lock(), block);
        self.free(beyond);
    }

    /// What is returned is beyond the cap: to be given back without the lock.
    fn release_locked(state: &mut State, block: Block) -> Option<Arc<Chunk>> {
        let class = block.chunk.block_bytes;
        block.set_live(0);
        state.statistics.live_bytes -= class;
        let slab = block.chunk.blocks() > 1;
        // Small ones that are no slab's have an alignment that nobody else asks for.
        let aligned = class <= SLAB_BLOCK_BYTES;
        let full = || state.statistics.cached_bytes.saturating_add(class) > state.cap_bytes;
        // Those of slabs have their room.
        if !slab
            && (aligned || full() || state.free.class(block.chunk.raw.kind, class).try_reserve(1).is_err())
        {
            return Some(Self::give_up(&mut state.statistics, &block.chunk));
        }
        state.statistics.cached_bytes += class;
        state.free.class(block.chunk.raw.kind, class).push(block);
        None
    }

    pub(crate) fn statistics(&self) -> PoolStatistics {
        let beyond = Self::collect(&mut self.lock(), usize::MAX);
        self.free(beyond);
        let state = self.lock();
        let aside: usize = state.slabs.iter().map(|slab| slab.blocks_aside() * slab.block_bytes).sum();
        let PoolStatistics { live_bytes, cached_bytes, .. } = state.statistics;
        PoolStatistics {
            live_bytes: live_bytes - aside,
            cached_bytes: cached_bytes + aside,
            ..state.statistics
        }
    }

    pub(crate) fn set_cap(&self, bytes: usize) {
        self.lock().cap_bytes = bytes;
        self.trim(bytes);
    }

    pub(crate) fn cap(&self) -> usize {
        self.lock().cap_bytes
    }

    /// Gives held memory back until at most `keep_bytes` are held. What other threads keep stays theirs.
    pub(crate) fn trim(&self, keep_bytes: usize) {
        spare::release();
        self.trim_all(keep_bytes);
    }

    /// Gives held memory back until at most `keep_bytes` are held. How many allocations of the device that were.
    fn trim_all(&self, keep_bytes: usize) -> usize {
        let given_up = {
            let mut state = self.lock();
            let mut given_up = Self::collect(&mut state, usize::MAX);
            given_up.extend(Self::trim_locked(&mut state, keep_bytes));
            given_up
        };
        let count = given_up.len();
        self.free(given_up);
        count
    }

    /// What is returned is to be given back without the lock.
    fn trim_locked(state: &mut State, keep_bytes: usize) -> Vec<Arc<Chunk>> {
        let State { free, statistics, .. } = state;
        let mut given_up = Vec::new();
        // The largest blocks first: fewest calls for most memory.
        for blocks in free.largest_first() {
            while blocks.last().is_some_and(|block| block.chunk.block_bytes > SLAB_BLOCK_BYTES)
                && statistics.cached_bytes > keep_bytes
                && let Some(block) = blocks.pop()
            {
                statistics.cached_bytes -= block.chunk.block_bytes;
                given_up.push(Self::give_up(statistics, &block.chunk));
            }
        }
        if state.statistics.cached_bytes <= keep_bytes {
            return given_up;
        }
        let (idle, used): (Vec<_>, Vec<_>) = state.slabs.drain(..).partition(|slab| slab.is_idle());
        state.slabs = used;
        for slab in idle {
            let blocks = state.free.class(slab.raw.kind, slab.block_bytes);
            blocks.retain(|block| !Arc::ptr_eq(&block.chunk, &slab));
            // What room the list has is for blocks of slabs, when they come back.
            let alike =
                |other: &Arc<Chunk>| (other.block_bytes, other.raw.kind) == (slab.block_bytes, slab.raw.kind);
            if blocks.is_empty() && !state.slabs.iter().any(alike) {
                *blocks = Vec::new();
            }
            state.statistics.cached_bytes -= slab.blocks() * slab.block_bytes;
            given_up.push(Self::give_up(&mut state.statistics, &slab));
        }
        given_up
    }

    /// Counts a chunk as the pool's no longer.
    fn give_up(statistics: &mut PoolStatistics, chunk: &Arc<Chunk>) -> Arc<Chunk> {
        chunk.unregister();
        statistics.reserved_bytes -= chunk.raw.bytes;
        Arc::clone(chunk)
    }

    /// Gives chunks back that the pool has given up.
    fn free(&self, chunks: impl IntoIterator<Item = Arc<Chunk>>) {
        for chunk in chunks {
            let memory: RawAllocation = chunk.raw;
            // SAFETY: the chunk's memory came from this device's `alloc` (in `acquire`, the only place that makes a block), is
            // given back once (`give_up` is called when its blocks have left the free lists, or never entered them), and nothing
            // pending touches it: `release` is called only when the events of all accesses are terminal (`Allocation::drop`).
            unsafe { self.device.free(memory) }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Every allocation keeps its device, and so this pool, alive: all blocks are back.
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut state = std::mem::take(state);
        self.free(Self::trim_locked(&mut state, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::{class_bytes, class_number};

    #[test]
    fn classes_hold_their_size_and_waste_little() {
        for bytes in (1..5000).chain([1 << 20, (1 << 20) + 1, 123_456_789]) {
            let class = class_bytes(bytes).unwrap();
            assert!(class >= bytes && class.is_multiple_of(64));
            assert!(bytes <= 512 || class <= bytes + bytes / 8 + 64, "{bytes} -> {class}");
            assert_eq!(class_bytes(class), Some(class));
        }
        assert_eq!(class_bytes(usize::MAX), None);
    }

    #[test]
    fn classes_are_numbered_in_their_order() {
        let mut classes: Vec<usize> = (1..1 << 16).filter_map(class_bytes).collect();
        classes.extend(
            (16..60).flat_map(|power| (9..=16).filter_map(move |part| class_bytes(part << (power - 3)))),
        );
        classes.sort_unstable();
        classes.dedup();
        let numbers: Vec<usize> = classes.iter().map(|&class| class_number(class)).collect();
        assert_eq!(numbers, (1..=classes.len()).collect::<Vec<_>>());
    }
}
