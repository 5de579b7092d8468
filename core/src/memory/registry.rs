//! Which addresses are USM, and what an address holds that was handed out and comes back.
//!
//! Blocks are cut from chunks, which are registered here, so that any pointer, also one into the middle of an allocation,
//! can be asked what it points into. Chunks never overlap. Memory from elsewhere may: it is registered apart, range by
//! range, as often as it is adopted.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, Weak};

use super::allocation::Allocation;
use super::{MemoryOrigin, PointerKind, UsmPtr, heap};
use crate::backend::RawAllocation;
use crate::error::{Error, Result};
use crate::runtime::{Device, WeakDevice};
use crate::sync::RwLock;
use crate::sync::primitives::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The engine's own memory.
static CHUNKS: RwLock<BTreeMap<usize, Arc<Chunk>>> = RwLock::new(BTreeMap::new());
/// Memory from elsewhere.
static FOREIGN: RwLock<Ranges<Foreign>> = RwLock::new(Ranges::new());
/// Allocations whose address somebody outside was given.
static HANDED_OUT: RwLock<Ranges<Weak<Allocation>>> = RwLock::new(Ranges::new());

/// In place of the bytes that were asked for: the block is free, but kept by a thread.
pub(super) const SET_ASIDE: usize = usize::MAX;

/// Memory that a backend gave, cut into blocks of one size.
pub(crate) struct Chunk {
    pub(crate) raw: RawAllocation,
    device: WeakDevice,
    pub(crate) block_bytes: usize,
    live: Box<[BlockNote]>,
}

/// What a chunk notes of a block.
#[derive(Default)]
pub(crate) struct BlockNote {
    /// The bytes that were asked for; 0 while it is free, or [`SET_ASIDE`].
    bytes: AtomicUsize,
    /// What array it was made for ([`form`](super::form)), for who looks at what there is; 0 where that is not noted.
    form: AtomicU64,
}

impl Chunk {
    /// What a chunk notes of so many blocks, for [`register`](Self::register): had before there is memory that would have to be
    /// given back where it cannot be.
    pub(crate) fn notes(blocks: usize) -> Result<Box<[BlockNote]>> {
        Ok(heap::collect("blocks", (0..blocks).map(|_| BlockNote::default()))?.into_boxed_slice())
    }

    /// Registers memory of as many blocks as there are notes.
    pub(crate) fn register(
        raw: RawAllocation,
        device: WeakDevice,
        block_bytes: usize,
        live: Box<[BlockNote]>,
    ) -> Arc<Self> {
        let chunk = Arc::new(Self { raw, device, block_bytes, live });
        CHUNKS.write().unwrap_or_else(PoisonError::into_inner).insert(raw.ptr.addr(), Arc::clone(&chunk));
        chunk
    }

    /// Removes the chunk; its addresses are unknown from now on.
    pub(crate) fn unregister(&self) {
        CHUNKS.write().unwrap_or_else(PoisonError::into_inner).remove(&self.raw.ptr.addr());
    }

    pub(crate) fn blocks(&self) -> usize {
        self.live.len()
    }

    pub(crate) fn block_ptr(&self, index: usize) -> UsmPtr {
        // `index < blocks()`, so the offset is within the chunk, whose size fits isize.
        self.raw.ptr.byte_offset((index * self.block_bytes) as isize)
    }

    /// Marks a block as in use (`bytes` asked for), free (0), or kept by a thread ([`SET_ASIDE`]).
    pub(crate) fn set_live(&self, index: usize, bytes: usize) {
        let note = &self.live[index];
        // Whose it was before is over.
        note.form.store(0, Ordering::Relaxed);
        note.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Notes what array a block is made for.
    #[inline]
    pub(super) fn set_form(&self, index: usize, form: u64) {
        self.live[index].form.store(form, Ordering::Relaxed);
    }

    /// Whether it is noted what array a block was made for.
    #[inline]
    pub(super) fn has_form(&self, index: usize) -> bool {
        self.live[index].form.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.live.iter().all(|note| note.bytes.load(Ordering::Relaxed) == 0)
    }

    /// Blocks that threads keep.
    pub(super) fn blocks_aside(&self) -> usize {
        self.live.iter().filter(|note| note.bytes.load(Ordering::Relaxed) == SET_ASIDE).count()
    }
}

/// What a pointer points into.
#[derive(Clone, Debug)]
pub struct PointerInfo {
    /// The kind of the allocation, or unknown.
    pub kind: PointerKind,
    /// The device that the allocation belongs to.
    pub device: Option<Device>,
    /// Start of the allocation; null if unknown.
    pub base: UsmPtr,
    /// Bytes of the allocation as asked for; 0 if unknown.
    pub bytes: usize,
}

/// Asks what a pointer points into: kind, device, start and size of the allocation, also for pointers into the middle
/// of one; of memory from elsewhere that was adopted in several ranges, one that the pointer is in. Null, freed and
/// foreign pointers are [`PointerKind::Unknown`]. (SYCL 2020, `get_pointer_type`.)
#[must_use]
pub fn pointer_info(ptr: UsmPtr) -> PointerInfo {
    own(ptr).or_else(|| foreign(ptr)).unwrap_or(PointerInfo {
        kind: PointerKind::Unknown,
        device: None,
        base: UsmPtr::NULL,
        bytes: 0,
    })
}

/// What a pointer into the engine's own memory points into.
fn own(ptr: UsmPtr) -> Option<PointerInfo> {
    let chunks = CHUNKS.read().unwrap_or_else(PoisonError::into_inner);
    let (&start, chunk) = chunks.range(..=ptr.addr()).next_back()?;
    let offset = ptr.addr() - start;
    let index = offset / chunk.block_bytes.max(1);
    let bytes = chunk.live.get(index)?.bytes.load(Ordering::Relaxed);
    if matches!(bytes, 0 | SET_ASIDE) || offset - index * chunk.block_bytes >= bytes {
        return None;
    }
    Some(PointerInfo {
        kind: PointerKind::Usm(chunk.raw.kind),
        device: chunk.device.upgrade(),
        base: chunk.block_ptr(index),
        bytes,
    })
}

/// Memory from elsewhere, while it is adopted.
struct Foreign {
    memory: RawAllocation,
    device: WeakDevice,
    of_file: bool,
}

/// Memory that is in use.
pub(super) struct Live {
    /// Where it is.
    pub(super) memory: RawAllocation,
    pub(super) device: Device,
    pub(super) origin: MemoryOrigin,
    pub(super) form: u64,
}

/// The memory of devices that is in use: of all of them, or of one.
///
/// # Errors
/// [`Error::Alloc`] where the host has no memory for the list.
pub(super) fn live(of: Option<&Device>) -> Result<Vec<Live>> {
    let mut found = Vec::new();
    // The chunks first, so that the lock is not held for as long as all blocks take.
    let mut chunks: Vec<Arc<Chunk>> = Vec::new();
    {
        let all = CHUNKS.read().unwrap_or_else(PoisonError::into_inner);
        heap::reserve("chunks", &mut chunks, all.len())?;
        chunks.extend(all.values().cloned());
    }
    for chunk in chunks {
        let Some(device) = chunk.device.upgrade().filter(|device| of.is_none_or(|of| of == device)) else {
            continue;
        };
        for (index, note) in chunk.live.iter().enumerate() {
            let bytes = note.bytes.load(Ordering::Relaxed);
            if !matches!(bytes, 0 | SET_ASIDE) {
                let memory = RawAllocation { ptr: chunk.block_ptr(index), bytes, kind: chunk.raw.kind };
                let (device, form) = (device.clone(), note.form.load(Ordering::Relaxed));
                heap::push("arrays", &mut found, Live { memory, device, origin: MemoryOrigin::Pool, form })?;
            }
        }
    }
    let mut lent = Vec::new();
    {
        let ranges = FOREIGN.read().unwrap_or_else(PoisonError::into_inner);
        for (_, foreign) in ranges.classes.values().flat_map(BTreeMap::values) {
            let origin = if foreign.of_file { MemoryOrigin::File } else { MemoryOrigin::Lent };
            heap::push("arrays", &mut lent, (foreign.memory, foreign.device.clone(), origin))?;
        }
    }
    // Without the lock: the last owner of a device may be this.
    for (memory, device, origin) in lent {
        if let Some(device) = device.upgrade().filter(|device| of.is_none_or(|of| of == device)) {
            heap::push("arrays", &mut found, Live { memory, device, origin, form: 0 })?;
        }
    }
    Ok(found)
}

/// Registers memory from elsewhere, which other memory from elsewhere may overlap. The number is for
/// [`unregister_foreign`].
pub(super) fn register_foreign(memory: RawAllocation, device: WeakDevice, of_file: bool) -> usize {
    static NUMBERS: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let mut ranges = FOREIGN.write().unwrap_or_else(PoisonError::into_inner);
    ranges.insert(memory.ptr, memory.bytes, number, Foreign { memory, device, of_file });
    number
}

/// Undoes one [`register_foreign`].
pub(super) fn unregister_foreign(ptr: UsmPtr, bytes: usize, number: usize) {
    FOREIGN.write().unwrap_or_else(PoisonError::into_inner).remove(ptr, bytes, number);
}

fn foreign(ptr: UsmPtr) -> Option<PointerInfo> {
    let ranges = FOREIGN.read().unwrap_or_else(PoisonError::into_inner);
    let Foreign { memory, device, .. } = ranges.around(ptr, 1).next()?;
    let RawAllocation { ptr: base, bytes, kind } = *memory;
    Some(PointerInfo { kind: PointerKind::Usm(kind), device: device.upgrade(), base, bytes })
}

/// Notes that somebody outside is given the address of an allocation.
pub(super) fn hand_out(allocation: &Arc<Allocation>) {
    let mut ranges = HANDED_OUT.write().unwrap_or_else(PoisonError::into_inner);
    // Once; whoever finds it noted finds it here.
    if !allocation.is_handed_out() {
        ranges.insert(
            allocation.ptr(),
            allocation.bytes(),
            number_of(allocation),
            Arc::downgrade(allocation),
        );
        allocation.mark_handed_out();
    }
}

/// An allocation's number among those that were handed out: its address, which nothing else has as long as it is noted.
fn number_of(allocation: &Allocation) -> usize {
    std::ptr::from_ref(allocation).addr()
}

/// Forgets an allocation that was handed out and has no owner any more.
pub(super) fn forget(allocation: &Allocation) {
    let mut ranges = HANDED_OUT.write().unwrap_or_else(PoisonError::into_inner);
    ranges.remove(allocation.ptr(), allocation.bytes(), number_of(allocation));
}

/// The allocation that an address was handed out of, where all these bytes are of it and it is still there.
///
/// # Errors
/// [`Error::Value`] where they begin in the engine's own memory, and it is not so.
pub(super) fn holder(ptr: UsmPtr, bytes: usize) -> Result<Option<Arc<Allocation>>> {
    let found = {
        let ranges = HANDED_OUT.read().unwrap_or_else(PoisonError::into_inner);
        ranges.around(ptr, bytes).find_map(Weak::upgrade)
    };
    if found.is_some() {
        return Ok(found);
    }
    match own(ptr) {
        None => Ok(None),
        Some(info) => Err(Error::value(
            "ptr",
            format!(
                "{ptr:?}, with {bytes} bytes from there on, in {} bytes of the engine's own memory at {:?} that were not \
                 handed out, or end before",
                info.bytes, info.base
            ),
            "memory of others, or an address that the engine has handed out and that still has an owner",
            "export the memory first, and keep it until it is adopted",
        )),
    }
}

/// Values by ranges of addresses, any of which may overlap or be equal.
struct Ranges<T> {
    /// By the power of two of the length, so that of an address it is known how far before it a range begins that
    /// reaches it.
    classes: BTreeMap<u32, Class<T>>,
}

/// Lengths and values by start and number.
type Class<T> = BTreeMap<(usize, usize), (usize, T)>;

impl<T> Ranges<T> {
    const fn new() -> Self {
        Self { classes: BTreeMap::new() }
    }

    /// Adds a range of at least one byte. No two of one range have the same number.
    fn insert(&mut self, ptr: UsmPtr, bytes: usize, number: usize, value: T) {
        let class = self.classes.entry(bytes.max(1).ilog2()).or_default();
        class.insert((ptr.addr(), number), (bytes, value));
    }

    fn remove(&mut self, ptr: UsmPtr, bytes: usize, number: usize) -> Option<T> {
        let class = bytes.max(1).ilog2();
        let ranges = self.classes.get_mut(&class)?;
        let (_, value) = ranges.remove(&(ptr.addr(), number))?;
        if ranges.is_empty() {
            self.classes.remove(&class);
        }
        Some(value)
    }

    /// The values of the ranges that have all these bytes.
    fn around(&self, ptr: UsmPtr, bytes: usize) -> impl Iterator<Item = &T> {
        let start = ptr.addr();
        let end = start.saturating_add(bytes);
        self.classes.iter().flat_map(move |(&class, ranges)| {
            // Each is shorter than the next power of two.
            let reach = 1_usize.checked_shl(class + 1).unwrap_or(usize::MAX);
            let first = end.saturating_sub(reach).min(start);
            let near = ranges.range((first, 0)..=(start, usize::MAX)).rev();
            near.filter(move |((begin, _), (length, _))| begin.saturating_add(*length) >= end)
                .map(|(_, (_, value))| value)
        })
    }
}
