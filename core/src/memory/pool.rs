//! The pooling allocator of one device.
//!
//! Fresh pages are the dominant cost of large arrays (a page fault costs more than computing the page's contents), so
//! freed blocks are kept by size class and reused, up to a cap. Classes are an eighth of a power of two apart, which
//! wastes at most 12.5 %. Blocks up to [`SLAB_BLOCK_BYTES`] are cut from slabs.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::backlog::PATIENCE;
use super::registry::Chunk;
use super::{KindUsage, MemoryUsage, UsmKind, UsmPtr, heap, spare};
use crate::backend::{self, Event, RawAllocation};
use crate::error::{Error, Result};
use crate::observe::{self, Doing};
use crate::runtime::WeakDevice;
use crate::sync::{Mutex, MutexGuard};

/// Alignment of every block: a cache line, and the widest vector.
pub const BLOCK_ALIGN_BYTES: usize = 64;
/// Larger blocks are allocations of their own.
const SLAB_BLOCK_BYTES: usize = SLAB_BYTES / 16;
/// Bytes that blocks of a class are cut from: it bounds what a few small arrays keep. With a half or twice as many, 3000 arrays of
/// 4 KiB and 500 of 16 took as long.
const SLAB_BYTES: usize = 1 << 20;
/// Retired blocks that are found busy before an allocation stops looking: a bound for the time, as work ends about in its order.
const RETIRED_LOOKS: usize = 2;
/// How long who waits for blocks sleeps before it looks again.
const NAP: Duration = Duration::from_micros(100);

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

    /// Notes what array the block is made for ([`form`](super::form)).
    #[inline]
    pub(super) fn set_form(&self, form: u64) {
        self.chunk.set_form(self.index, form);
    }

    /// Whether that is noted.
    #[inline]
    pub(super) fn has_form(&self) -> bool {
        self.chunk.has_form(self.index)
    }
}

/// What a pool has for who asks.
enum Found {
    Block(Block),
    /// It is to be obtained from the device.
    Nothing,
    /// It would be beyond the limit; so many bytes are in use.
    Refused(usize),
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
    /// The same by kind, in the order of [`UsmKind::ALL`].
    kinds: [KindUsage; 3],
    cap_bytes: usize,
    /// Bytes that may be in use, [`usize::MAX`] where nobody has set a limit.
    limit_bytes: usize,
    /// Bytes that are being obtained from the device, to be in use then.
    coming_bytes: usize,
    /// Blocks that callbacks of events are to give back.
    awaited: usize,
}

impl State {
    /// Counts a block as in use.
    fn count_live(&mut self, kind: UsmKind, bytes: usize) {
        let (all, of_kind) = (&mut self.statistics, &mut self.kinds[kind.number()]);
        all.live_bytes += bytes;
        all.peak_live_bytes = all.peak_live_bytes.max(all.live_bytes);
        of_kind.in_use_bytes += bytes;
        of_kind.peak_bytes = of_kind.peak_bytes.max(of_kind.in_use_bytes);
    }

    /// Counts a block as in use no longer.
    fn count_back(&mut self, kind: UsmKind, bytes: usize) {
        self.statistics.live_bytes -= bytes;
        self.kinds[kind.number()].in_use_bytes -= bytes;
    }

    /// Counts bytes as held for reuse.
    fn count_kept(&mut self, kind: UsmKind, bytes: usize) {
        self.statistics.cached_bytes += bytes;
        self.kinds[kind.number()].kept_bytes += bytes;
    }

    /// Counts bytes as held no longer.
    fn count_taken(&mut self, kind: UsmKind, bytes: usize) {
        self.statistics.cached_bytes -= bytes;
        self.kinds[kind.number()].kept_bytes -= bytes;
    }

    /// Bytes of blocks that count as in use and are kept by threads, of a kind.
    fn aside(&self, kind: UsmKind) -> usize {
        let of_kind = self.slabs.iter().filter(|slab| slab.raw.kind == kind);
        of_kind.map(|slab| slab.blocks_aside() * slab.block_bytes).sum()
    }

    /// Bytes that are in use, where more of them would be beyond the limit.
    fn beyond_limit(&self, more: usize) -> Option<usize> {
        let fits =
            |in_use: usize| in_use.saturating_add(self.coming_bytes).saturating_add(more) <= self.limit_bytes;
        let counted = self.statistics.live_bytes;
        if fits(counted) {
            return None;
        }
        let in_use = counted - UsmKind::ALL.iter().map(|&kind| self.aside(kind)).sum::<usize>();
        (!fits(in_use)).then_some(in_use)
    }
}

/// Free blocks by kind and size class, found without a search.
#[derive(Default)]
struct FreeBlocks([Vec<Vec<Block>>; 3]);

impl FreeBlocks {
    /// Takes a block of a class, the one that came last.
    fn pop(&mut self, kind: UsmKind, class: usize) -> Option<Block> {
        self.0[kind.number()].get_mut(class_number(class))?.pop()
    }

    /// The blocks of a class.
    fn class(&mut self, kind: UsmKind, class: usize) -> &mut Vec<Block> {
        let (classes, number) = (&mut self.0[kind.number()], class_number(class));
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
        let state = State { cap_bytes: memory / 4, limit_bytes: usize::MAX, ..State::default() };
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
        let mut beyond = Vec::new();
        let found = {
            let mut state = self.lock();
            beyond.extend(Self::collect(&mut state, RETIRED_LOOKS));
            match Self::find(&mut state, kind, (bytes, class), pooled) {
                Found::Refused(_) => {
                    // All that is over counts no more.
                    beyond.extend(Self::collect(&mut state, usize::MAX));
                    Self::find(&mut state, kind, (bytes, class), pooled)
                }
                found => found,
            }
        };
        self.free(beyond);
        match found {
            Found::Block(block) => Ok(block),
            Found::Nothing => {
                let made = self.make(owner, kind, (bytes, class), pooled, align);
                if made.is_err() {
                    self.lock().coming_bytes -= class;
                }
                made
            }
            Found::Refused(in_use) => Err(self.refused(kind, bytes, in_use)),
        }
    }

    /// What there is for who asks for a size, and the class of that.
    fn find(state: &mut State, kind: UsmKind, (bytes, class): (usize, usize), pooled: bool) -> Found {
        if let Some(in_use) = state.beyond_limit(class) {
            Found::Refused(in_use)
        } else if let Some(block) = if pooled { state.free.pop(kind, class) } else { None } {
            state.statistics.hits += 1;
            state.count_taken(kind, class);
            Found::Block(Self::hand_out(state, block, bytes))
        } else {
            state.statistics.misses += 1;
            state.coming_bytes += class;
            Found::Nothing
        }
    }

    /// What is told to who asks for more than the limit leaves.
    #[cold]
    fn refused(&self, kind: UsmKind, bytes: usize, in_use: usize) -> Error {
        let limit = self.lock().limit_bytes;
        Error::alloc(
            "bytes",
            format!("{bytes} bytes of {kind} memory on {}", self.device.info().name),
            format!("no more than its limit of {limit} bytes leaves, of which {in_use} are in use"),
            "free arrays, work on the data in parts, or raise the limit (`Device::set_memory_limit`)",
        )
    }

    /// A block of memory from the device, of a size and the class of that, which has been counted as coming.
    fn make(
        &self,
        owner: impl FnOnce() -> WeakDevice,
        kind: UsmKind,
        (bytes, class): (usize, usize),
        pooled: bool,
        align: usize,
    ) -> Result<Block> {
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
            state.count_kept(kind, (chunk.blocks() - 1) * class);
            // Highest first, so that the lowest addresses are handed out next.
            let rest = (1..chunk.blocks()).rev().map(|index| Block { chunk: Arc::clone(&chunk), index });
            state.free.class(kind, class).extend(rest);
            state.slabs.push(Arc::clone(&chunk));
        }
        state.coming_bytes -= class;
        Ok(Self::hand_out(&mut state, Block { chunk, index: 0 }, bytes))
    }

    /// Memory from the device; where it has none left, again after giving back what the pool holds. Of that, as much is given
    /// back before as would be beyond the limit together with it.
    fn obtain(&self, kind: UsmKind, bytes: usize, align: usize) -> Result<RawAllocation> {
        let keep_bytes = {
            let State { statistics, limit_bytes, .. } = &*self.lock();
            let over = statistics.reserved_bytes.saturating_add(bytes).saturating_sub(*limit_bytes);
            (over > 0 && statistics.cached_bytes > 0).then(|| statistics.cached_bytes.saturating_sub(over))
        };
        if let Some(keep_bytes) = keep_bytes {
            self.trim_all(keep_bytes);
        }
        let _seen = observe::span(Doing::Allocation, kind.name(), 0, bytes);
        self.device.alloc(kind, bytes, align).or_else(|error| match self.trim_all(0).0 {
            0 => Err(error),
            _ => self.device.alloc(kind, bytes, align),
        })
    }

    fn hand_out(state: &mut State, block: Block, bytes: usize) -> Block {
        block.set_live(bytes);
        state.count_live(block.chunk.raw.kind, block.chunk.block_bytes);
        block
    }

    /// Takes a block back, to be used again when the events are terminal. They are asked when the pool is, not told to call
    /// back: a runtime's callback costs more than a small kernel.
    ///
    /// A block stays in the pool until then, so this is for pools that are never dropped.
    pub(crate) fn retire(&self, block: Block, events: Events) {
        self.lock().retired.push_back((block, events));
    }

    /// Counts a block that a callback of its work's events is to [give back](Self::release_awaited).
    pub(crate) fn await_one(&self) {
        self.lock().awaited += 1;
    }

    /// Takes a block back that has been awaited.
    pub(crate) fn release_awaited(&self, block: Block) {
        let beyond = {
            let mut state = self.lock();
            state.awaited -= 1;
            Self::release_locked(&mut state, block)
        };
        self.free(beyond);
    }

    /// Waits for blocks whose work has ended, as events are terminal before their callbacks have run; for a moment only, as
    /// this thread may be the one that is to run them. Whether one came back.
    #[cold]
    pub(crate) fn wait_for_awaited(&self) -> bool {
        let known = self.lock().awaited;
        let deadline = Instant::now() + PATIENCE;
        while known > 0 && Instant::now() < deadline {
            std::thread::sleep(NAP);
            if self.lock().awaited < known {
                return true;
            }
        }
        false
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
        let (kind, class) = (block.chunk.raw.kind, block.chunk.block_bytes);
        block.set_live(0);
        state.count_back(kind, class);
        let slab = block.chunk.blocks() > 1;
        // Small ones that are no slab's have an alignment that nobody else asks for.
        let aligned = class <= SLAB_BLOCK_BYTES;
        let full = || {
            state.statistics.cached_bytes.saturating_add(class) > state.cap_bytes
                || state.statistics.reserved_bytes > state.limit_bytes
        };
        // Those of slabs have their room.
        if !slab && (aligned || full() || state.free.class(kind, class).try_reserve(1).is_err()) {
            return Some(Self::give_up(&mut state.statistics, &block.chunk));
        }
        state.count_kept(kind, class);
        state.free.class(kind, class).push(block);
        None
    }

    pub(crate) fn statistics(&self) -> PoolStatistics {
        let beyond = Self::collect(&mut self.lock(), usize::MAX);
        self.free(beyond);
        let state = self.lock();
        let aside: usize = UsmKind::ALL.iter().map(|&kind| state.aside(kind)).sum();
        let PoolStatistics { live_bytes, cached_bytes, .. } = state.statistics;
        PoolStatistics {
            live_bytes: live_bytes - aside,
            cached_bytes: cached_bytes + aside,
            ..state.statistics
        }
    }

    /// What is in use and held.
    pub(crate) fn usage(&self) -> MemoryUsage {
        let beyond = Self::collect(&mut self.lock(), usize::MAX);
        self.free(beyond);
        let state = self.lock();
        let mut kinds = state.kinds;
        for (usage, &kind) in kinds.iter_mut().zip(UsmKind::ALL.iter()) {
            let aside = state.aside(kind);
            usage.in_use_bytes -= aside;
            usage.kept_bytes += aside;
        }
        MemoryUsage {
            in_use_bytes: kinds.iter().map(|usage| usage.in_use_bytes).sum(),
            kept_bytes: kinds.iter().map(|usage| usage.kept_bytes).sum(),
            peak_bytes: state.statistics.peak_live_bytes,
            reserved_bytes: state.statistics.reserved_bytes,
            limit_bytes: (state.limit_bytes != usize::MAX).then_some(state.limit_bytes),
            device_bytes: self.device.info().limits.global_memory_bytes,
            kinds,
        }
    }

    /// Sets how many bytes may be in use, and gives back what is held beyond that.
    pub(crate) fn set_limit(&self, bytes: usize) {
        let held = {
            let mut state = self.lock();
            state.limit_bytes = bytes;
            let over = state.statistics.reserved_bytes.saturating_sub(bytes);
            (over > 0).then(|| state.statistics.cached_bytes.saturating_sub(over))
        };
        if let Some(keep_bytes) = held {
            self.trim(keep_bytes);
        }
    }

    pub(crate) fn set_cap(&self, bytes: usize) {
        self.lock().cap_bytes = bytes;
        self.trim(bytes);
    }

    pub(crate) fn cap(&self) -> usize {
        self.lock().cap_bytes
    }

    /// Gives held memory back until at most `keep_bytes` are held. What other threads keep stays theirs. How many bytes were given
    /// back.
    pub(crate) fn trim(&self, keep_bytes: usize) -> usize {
        spare::release();
        self.trim_all(keep_bytes).1
    }

    /// Gives held memory back until at most `keep_bytes` are held. How many allocations of the device that were, and of how many
    /// bytes.
    fn trim_all(&self, keep_bytes: usize) -> (usize, usize) {
        let given_up = {
            let mut state = self.lock();
            let mut given_up = Self::collect(&mut state, usize::MAX);
            given_up.extend(Self::trim_locked(&mut state, keep_bytes));
            given_up
        };
        let given_back = (given_up.len(), given_up.iter().map(|chunk| chunk.raw.bytes).sum());
        self.free(given_up);
        given_back
    }

    /// What is returned is to be given back without the lock.
    fn trim_locked(state: &mut State, keep_bytes: usize) -> Vec<Arc<Chunk>> {
        let mut given_up = Vec::new();
        // The largest blocks first: fewest calls for most memory.
        let mut most = Vec::new();
        let mut held = state.statistics.cached_bytes;
        for blocks in state.free.largest_first() {
            while blocks.last().is_some_and(|block| block.chunk.block_bytes > SLAB_BLOCK_BYTES)
                && held > keep_bytes
                && let Some(block) = blocks.pop()
            {
                held -= block.chunk.block_bytes;
                most.push(block);
            }
        }
        for block in most {
            state.count_taken(block.chunk.raw.kind, block.chunk.block_bytes);
            given_up.push(Self::give_up(&mut state.statistics, &block.chunk));
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
            state.count_taken(slab.raw.kind, slab.blocks() * slab.block_bytes);
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
            (16..usize::BITS - 4)
                .flat_map(|power| (9..=16).filter_map(move |part| class_bytes(part << (power - 3)))),
        );
        classes.sort_unstable();
        classes.dedup();
        let numbers: Vec<usize> = classes.iter().map(|&class| class_number(class)).collect();
        assert_eq!(numbers, (1..=classes.len()).collect::<Vec<_>>());
    }
}
