//! One allocation: who owns it, who accesses it, and when it may be freed.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};

use super::pool::Block;
use super::registry::{Chunk, SET_ASIDE};
use super::track::{HeldIdle, LockedTrack, Mode, Refusal, Tracked, wait_while};
use super::{BLOCK_ALIGN_BYTES, UsmKind, UsmPtr, spare};
use crate::backend::{Aspect, RawAllocation, assert_unlocked, defer, when_all};
use crate::error::{Error, Result};
use crate::layout::{self, Layout};
use crate::lazy::PendingReads;
use crate::runtime::Device;

/// Frees foreign memory; called once, when the last owner is gone and no work is pending. It must not block.
pub type Deleter = Box<dyn FnOnce() + Send>;

enum Owner {
    /// A block of the device's pool.
    Pool(Block),
    /// Memory from elsewhere.
    Foreign(Box<Lent>),
    /// Dropped.
    Gone,
}

/// Memory from elsewhere.
struct Lent {
    chunk: Arc<Chunk>,
    /// The mutex is for sharing only: the deleter is taken out once, in `drop`.
    deleter: Mutex<Option<Deleter>>,
}

/// One USM allocation. It lives until its last owner is gone *and* the work that was submitted on it is done.
pub(crate) struct Allocation {
    ptr: UsmPtr,
    bytes: usize,
    kind: UsmKind,
    device: Device,
    owner: Owner,
    track: Tracked,
    /// Recorded work that has not been submitted and reads this memory.
    pub(crate) pending_reads: PendingReads,
    exported: AtomicBool,
    read_only: AtomicBool,
}

impl Allocation {
    /// Memory from the device's pool, or what this thread keeps of it; where there is none left, what work under way gives back
    /// is waited for. No lock may be held.
    ///
    /// # Errors
    /// As for [`Pool::acquire`](super::pool::Pool::acquire).
    pub(crate) fn new(device: &Device, kind: UsmKind, bytes: usize, align: usize) -> Result<Arc<Self>> {
        loop {
            match Self::at_once(device, kind, bytes, align) {
                Err(Error::Alloc(_)) if device.wait_for_memory() => {}
                outcome => return outcome,
            }
        }
    }

    /// [`new`](Self::new), of what there is without waiting.
    #[inline]
    pub(crate) fn at_once(device: &Device, kind: UsmKind, bytes: usize, align: usize) -> Result<Arc<Self>> {
        if align == BLOCK_ALIGN_BYTES
            && let Some(allocation) = spare::take(device, kind, bytes)
        {
            return Ok(allocation);
        }
        Self::acquire(device, kind, bytes, align)
    }

    /// Memory from the device's pool.
    #[inline(never)]
    fn acquire(device: &Device, kind: UsmKind, bytes: usize, align: usize) -> Result<Arc<Self>> {
        if bytes == 0 {
            return Err(Error::value(
                "bytes",
                0,
                "at least one byte",
                "an allocation cannot be empty; an array of size zero can",
            ));
        }
        if !align.is_power_of_two() {
            return Err(Error::value(
                "alignment",
                align,
                "a power of two",
                "use 64, which suits every dtype",
            ));
        }
        let block = device.pool().acquire(|| device.downgrade(), kind, bytes, align)?;
        Ok(Self::owned(block.ptr(), bytes, kind, device, Owner::Pool(block), false))
    }

    /// Memory from elsewhere, kept until its last owner is gone and then given to its deleter.
    ///
    /// # Safety
    /// `bytes` from `ptr` on stay readable (and writable, unless every array on it is read-only) by the device, and,
    /// for host and shared kinds, by the host, until the deleter is called; nothing outside accesses them in conflict
    /// with work that is submitted here.
    pub(crate) unsafe fn adopt(
        device: &Device,
        kind: UsmKind,
        ptr: UsmPtr,
        bytes: usize,
        deleter: Option<Deleter>,
    ) -> Arc<Self> {
        let chunk = Chunk::register(RawAllocation { ptr, bytes, kind }, device.downgrade(), bytes);
        chunk.set_live(0, bytes);
        // Someone else knows the pointer, so nothing may be left pending on it.
        Self::owned(
            ptr,
            bytes,
            kind,
            device,
            Owner::Foreign(Box::new(Lent { chunk, deleter: Mutex::new(deleter) })),
            true,
        )
    }

    fn owned(
        ptr: UsmPtr,
        bytes: usize,
        kind: UsmKind,
        device: &Device,
        owner: Owner,
        exported: bool,
    ) -> Arc<Self> {
        Arc::new(Self {
            ptr,
            bytes,
            kind,
            device: device.clone(),
            owner,
            track: Tracked::default(),
            pending_reads: PendingReads::default(),
            exported: AtomicBool::new(exported),
            read_only: AtomicBool::new(false),
        })
    }

    #[inline]
    pub(crate) fn ptr(&self) -> UsmPtr {
        self.ptr
    }
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
    #[inline]
    pub(crate) fn kind(&self) -> UsmKind {
        self.kind
    }
    #[inline]
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }
    /// Whether a range of bytes has memory in common with one of another allocation: memory of others may be known under
    /// several.
    pub(crate) fn meets(&self, bytes: &Range<usize>, other: &Self, others: &Range<usize>) -> bool {
        let (from, to) = (self.ptr.addr() + bytes.start, other.ptr.addr() + others.start);
        from < to + others.len() && to < from + bytes.len()
    }
    /// As [`meets`](Self::meets), of the elements of layouts, each with the size of its elements: within one allocation,
    /// exactly.
    pub(crate) fn shares(
        &self,
        (layout, size): (&Layout, usize),
        other: &Self,
        (others, other_size): (&Layout, usize),
    ) -> bool {
        if std::ptr::eq(self, other) {
            return layout::overlaps(layout, size, others, other_size);
        }
        self.meets(&layout.byte_range(size), other, &others.byte_range(other_size))
    }
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self.owner, Owner::Foreign(..))
    }

    /// Whether the pointer is known outside: then work on it is never left pending.
    #[inline]
    pub(crate) fn is_exported(&self) -> bool {
        self.exported.load(Ordering::Acquire)
    }
    pub(crate) fn mark_exported(&self) {
        self.exported.store(true, Ordering::Release);
    }

    /// Whether nothing may write to it: its lender has said so.
    #[inline]
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only.load(Ordering::Acquire)
    }
    pub(crate) fn mark_read_only(&self) {
        self.read_only.store(true, Ordering::Release);
    }

    /// Refuses to write to memory that its lender has lent for reading.
    pub(crate) fn check_access(&self, mode: Mode) -> Result<()> {
        if mode == Mode::Read || !self.is_read_only() {
            return Ok(());
        }
        Err(Error::borrow("memory", "lent for reading only", "memory that may be written", "copy it first"))
    }

    pub(crate) fn track(&self) -> LockedTrack<'_> {
        self.track.lock()
    }

    /// Waits until no host view is open that soon ends. No lock may be held.
    pub(crate) fn wait_for_views(&self) {
        wait_while(|| self.track().has_brief_view());
    }

    /// What is told to who finds a host view that soon ends, and does not wait for it.
    #[cold]
    pub(super) fn view_is_ending(&self) -> Error {
        Error::borrow(
            "array",
            "being copied by the host",
            "memory that the host does not access",
            "wait until the copy is over",
        )
    }

    /// Holds the track where it is idle: until this is given up, no access begins and no host view is opened.
    #[inline(always)]
    pub(super) fn hold_idle(&self) -> std::result::Result<HeldIdle<'_>, Refusal> {
        self.track.hold_idle()
    }

    /// Whether no access may be under way and no host view is open.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.track.is_idle()
    }

    /// [`is_idle`](Self::is_idle), once what is over is forgotten.
    #[cold]
    pub(super) fn becomes_idle(&self) -> bool {
        let mut track = self.track();
        track.forget_settled();
        track.is_idle()
    }

    /// Sets an allocation aside for later, of which this is the last reference and nothing is left: as if it had been freed.
    /// Whether that is so: it is of the pool of a device that lasts, and nothing may be under way on it.
    #[inline]
    pub(super) fn set_aside(self: &Arc<Self>) -> bool {
        // There are no weak references, so nobody can make another one.
        if Arc::strong_count(self) != 1 {
            return false;
        }
        // After all that the others did before they dropped theirs.
        fence(Ordering::Acquire);
        let Owner::Pool(block) = &self.owner else { return false };
        let untouched = !self.is_exported() && !self.is_read_only();
        let spare =
            untouched && self.is_idle() && self.pending_reads.is_empty() && self.device.is_registered();
        if spare {
            block.set_live(SET_ASIDE);
        }
        spare
    }

    /// Ends what [`set_aside`](Self::set_aside) began.
    #[inline]
    pub(super) fn take_back(&self) {
        if let Owner::Pool(block) = &self.owner {
            block.set_live(self.bytes);
        }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let events = self.track.get_mut().unfinished();
        let owner = match std::mem::replace(&mut self.owner, Owner::Gone) {
            Owner::Pool(block) if events.is_empty() => return self.device.pool().release(block),
            // The host's events call back at little cost; a runtime's callback costs more than a small kernel.
            Owner::Pool(block)
                if self.device.is_registered() && !self.device.info().has(Aspect::HostDebuggable) =>
            {
                return self.device.pool().retire(block, events);
            }
            owner => owner,
        };
        let device = self.device.clone();
        let free = move || match owner {
            Owner::Pool(block) => device.pool().release(block),
            Owner::Foreign(lent) => {
                lent.chunk.unregister();
                if let Some(deleter) = lent.deleter.into_inner().unwrap_or_else(PoisonError::into_inner) {
                    defer(|| {
                        assert_unlocked("a deleter");
                        deleter();
                    });
                }
            }
            Owner::Gone => {}
        };
        // Work that was submitted keeps the memory alive: it is freed by whoever completes the last of it.
        if events.is_empty() { free() } else { when_all(&events, free) }
    }
}

impl fmt::Debug for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of {} memory at {:?} on {}", self.bytes, self.kind, self.ptr, self.device)
    }
}
