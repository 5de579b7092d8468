//! Which addresses are USM. Blocks are cut from chunks; chunks are registered here, so that any pointer, also one into
//! the middle of an allocation, can be asked what it points into.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::{PointerKind, UsmPtr, heap};
use crate::backend::RawAllocation;
use crate::error::Result;
use crate::runtime::{Device, WeakDevice};

static CHUNKS: RwLock<BTreeMap<usize, Arc<Chunk>>> = RwLock::new(BTreeMap::new());

/// In place of the bytes that were asked for: the block is free, but kept by a thread.
pub(super) const SET_ASIDE: usize = usize::MAX;

/// Memory that a backend gave, or that came from elsewhere, cut into blocks of one size.
pub(crate) struct Chunk {
    pub(crate) raw: RawAllocation,
    device: WeakDevice,
    pub(crate) block_bytes: usize,
    /// Per block the bytes that were asked for; 0 while it is free, or [`SET_ASIDE`].
    live: Box<[AtomicUsize]>,
}

impl Chunk {
    /// What a chunk notes of so many blocks, for [`register`](Self::register): had before there is memory that would have to be
    /// given back where it cannot be.
    pub(crate) fn notes(blocks: usize) -> Result<Box<[AtomicUsize]>> {
        Ok(heap::collect("blocks", (0..blocks).map(|_| AtomicUsize::new(0)))?.into_boxed_slice())
    }

    /// Registers memory that is one block. Foreign memory whose addresses another chunk already covers stays the other one's.
    pub(crate) fn register_whole(raw: RawAllocation, device: WeakDevice) -> Arc<Self> {
        Self::register(raw, device, raw.bytes, Box::new([AtomicUsize::new(0)]))
    }

    /// Registers memory of as many blocks as there are notes.
    pub(crate) fn register(
        raw: RawAllocation,
        device: WeakDevice,
        block_bytes: usize,
        live: Box<[AtomicUsize]>,
    ) -> Arc<Self> {
        let chunk = Arc::new(Self { raw, device, block_bytes, live });
        CHUNKS
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(raw.ptr.addr())
            .or_insert_with(|| Arc::clone(&chunk));
        chunk
    }

    /// Removes the chunk; its addresses are unknown from now on.
    pub(crate) fn unregister(self: &Arc<Self>) {
        let mut chunks = CHUNKS.write().unwrap_or_else(PoisonError::into_inner);
        if chunks.get(&self.raw.ptr.addr()).is_some_and(|c| Arc::ptr_eq(c, self)) {
            chunks.remove(&self.raw.ptr.addr());
        }
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
        self.live[index].store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.live.iter().all(|bytes| bytes.load(Ordering::Relaxed) == 0)
    }

    /// Blocks that threads keep.
    pub(super) fn blocks_aside(&self) -> usize {
        self.live.iter().filter(|bytes| bytes.load(Ordering::Relaxed) == SET_ASIDE).count()
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
/// of one. Null, freed and foreign pointers are [`PointerKind::Unknown`]. (SYCL 2020, `get_pointer_type`.)
#[must_use]
pub fn pointer_info(ptr: UsmPtr) -> PointerInfo {
    let unknown = PointerInfo { kind: PointerKind::Unknown, device: None, base: UsmPtr::NULL, bytes: 0 };
    let chunks = CHUNKS.read().unwrap_or_else(PoisonError::into_inner);
    let Some((&start, chunk)) = chunks.range(..=ptr.addr()).next_back() else { return unknown };
    let offset = ptr.addr() - start;
    let index = offset / chunk.block_bytes.max(1);
    let bytes = chunk.live.get(index).map_or(0, |b| b.load(Ordering::Relaxed));
    if matches!(bytes, 0 | SET_ASIDE) || offset - index * chunk.block_bytes >= bytes {
        return unknown;
    }
    PointerInfo {
        kind: PointerKind::Usm(chunk.raw.kind),
        device: chunk.device.upgrade(),
        base: chunk.block_ptr(index),
        bytes,
    }
}
