//! One allocation: who owns it, who accesses it, and when it may be freed.
//!
//! An allocation is a block of the device's pool, or memory from elsewhere with its deleter. Two things keep
//! it from being freed: owners (`Arc`), and work under way, which its track has. When the last owner goes
//! while work is under way, the memory is freed by whoever sees the end of that work, and nobody waits.
//! ```text
//! owners > 0      in use
//! owners = 0      accesses over?  yes: to the pool, or the deleter
//!                                 no:  the same, when they are
//! ```
//! `marks` says what others may know or do: the address was handed out and may come back, it is known outside
//! for good (then work is complete before a call returns), it is read-only, part of another allocation, a
//! file's, or lent.
//!
//! Whoever accesses elements has the track's lock or holds it (`track.rs`); whoever has locks of several
//! takes them by address. Deleters are code of others and run under no lock. An allocation is made for every
//! small result: its size, and each atomic access on its way, show in the benchmark.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, PoisonError};

use super::lease::Lease;
use super::mapping::Mapping;
use super::pending::PendingList;
use super::pool::Block;
use super::registry::{self, SET_ASIDE};
use super::track::{HeldIdle, LockedTrack, Mode, Refusal, Tracked, wait_while};
use super::{BLOCK_ALIGN_BYTES, UsmKind, UsmPtr, capture, spare, watch};
use crate::backend::{RawAllocation, when_all};
use crate::error::{Error, Result};
use crate::fault::{self, Site};
use crate::layout::{self, Layout};
use crate::runtime::Device;
use crate::sync::primitives::Mutex;
use crate::sync::primitives::atomic::{AtomicU32, Ordering, fence};
use crate::sync::{assert_unlocked, defer};

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
    place: Place,
    /// The mutex is for sharing only: the deleter is taken out once, in `drop`.
    deleter: Mutex<Option<Deleter>>,
    /// The file that it is of, where it is one's.
    mapping: Option<Mapping>,
}

/// Where memory is that came from elsewhere.
enum Place {
    /// In none that is known; its number in the registry.
    Elsewhere(usize),
    /// In another allocation, whose address was handed out and has come back, and which is lent as long. That one is no part of
    /// a third.
    Part(Lease),
}

/// The address is known outside for good, so that work is never left pending.
const EXPORTED: u32 = 1;
/// Nothing may write to it.
const READ_ONLY: u32 = 2;
/// The address was handed out, and may come back.
const HANDED_OUT: u32 = 4;
/// It is a part of another allocation.
const PART: u32 = 8;
/// It is a file's.
const MAPPED: u32 = 16;
/// It has the event of a write, for its times.
const TIMED: u32 = 32;
/// One lease that is open; the bits above count them.
const LEASE: u32 = 1 << 8;
const LEASES: u32 = !(LEASE - 1);

/// One USM allocation. It lives until its last owner is gone *and* the work that was submitted on it is done.
pub(crate) struct Allocation {
    ptr: UsmPtr,
    bytes: usize,
    kind: UsmKind,
    device: Device,
    owner: Owner,
    track: Tracked,
    /// Recorded work that has not been submitted and reads this memory.
    pub(crate) pending_reads: PendingList,
    /// What others may do with it and know of it; 0 for most.
    marks: AtomicU32,
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
                outcome => return outcome.map_err(|error| watch::with_live_arrays(device, error)),
            }
        }
    }

    /// [`new`](Self::new), of what there is without waiting.
    #[inline]
    pub(crate) fn at_once(device: &Device, kind: UsmKind, bytes: usize, align: usize) -> Result<Arc<Self>> {
        if align == BLOCK_ALIGN_BYTES
            && !capture::any_open()
            && !watch::is_active()
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
        if fault::strikes(Site::Usm) {
            return Err(Error::alloc(
                "bytes",
                bytes,
                "an allocation that is granted",
                "disarm the fault injection",
            ));
        }
        let block = device.pool().acquire(|| device.downgrade(), kind, bytes, align)?;
        let allocation = Self::owned(block.ptr(), bytes, kind, device, Owner::Pool(block), 0);
        capture::note_new(&allocation)?;
        if watch::is_active() {
            watch::note(allocation.ptr, bytes)?;
        }
        Ok(allocation)
    }

    /// Memory from elsewhere, kept until its last owner is gone and then given to its deleter; or a part of `whole`, which
    /// it keeps.
    ///
    /// # Safety
    /// - `bytes` bytes from `ptr` on stay readable by the device, and, for host and shared kinds, by the host, until the deleter is
    ///   called; and writable, unless every array on them is read-only.
    /// - Or they are of `whole`, which is exported and no part itself.
    /// - Nothing outside accesses them in conflict with work that is submitted here.
    pub(crate) unsafe fn adopt(
        device: &Device,
        kind: UsmKind,
        ptr: UsmPtr,
        bytes: usize,
        whole: Option<Lease>,
        deleter: Option<Deleter>,
    ) -> Arc<Self> {
        let (place, part) = match whole {
            Some(whole) => {
                let mapped = whole.allocation().marks.load(Ordering::Acquire) & MAPPED;
                (Place::Part(whole), PART | mapped)
            }
            None => {
                let memory = RawAllocation { ptr, bytes, kind };
                (Place::Elsewhere(registry::register_foreign(memory, device.downgrade(), false)), 0)
            }
        };
        let lent = Box::new(Lent { place, deleter: Mutex::new(deleter), mapping: None });
        // Someone else knows the pointer, so nothing may be left pending on it.
        Self::owned(ptr, bytes, kind, device, Owner::Foreign(lent), EXPORTED | part)
    }

    /// Memory of a file, which is kept mapped until the last owner is gone and no work is pending.
    pub(super) fn mapped(device: &Device, kind: UsmKind, mapping: Mapping) -> Arc<Self> {
        let (ptr, bytes) = (mapping.ptr(), mapping.bytes());
        let memory = RawAllocation { ptr, bytes, kind };
        let place = Place::Elsewhere(registry::register_foreign(memory, device.downgrade(), true));
        let read_only = if mapping.is_writable() { 0 } else { READ_ONLY };
        let lent = Box::new(Lent { place, deleter: Mutex::new(None), mapping: Some(mapping) });
        // Other processes know the bytes, so nothing may be left pending on them.
        Self::owned(ptr, bytes, kind, device, Owner::Foreign(lent), EXPORTED | MAPPED | read_only)
    }

    /// An allocation without memory, for plans that nobody runs: its addresses are no others' of such, nor of any process.
    pub(crate) fn imagined(device: &Device, kind: UsmKind, bytes: usize) -> Arc<Self> {
        /// Addresses that no process has; nothing of them is accessed.
        const FIRST: usize = 1 << (usize::BITS - 3);
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let room = bytes.div_ceil(BLOCK_ALIGN_BYTES).saturating_mul(BLOCK_ALIGN_BYTES);
        let start = FIRST + NEXT.fetch_add(room, std::sync::atomic::Ordering::Relaxed) % FIRST;
        let ptr = UsmPtr::NULL.byte_offset(start.cast_signed());
        Self::owned(ptr, bytes, kind, device, Owner::Gone, 0)
    }

    fn owned(
        ptr: UsmPtr,
        bytes: usize,
        kind: UsmKind,
        device: &Device,
        owner: Owner,
        marks: u32,
    ) -> Arc<Self> {
        Arc::new(Self {
            ptr,
            bytes,
            kind,
            device: device.clone(),
            owner,
            track: Tracked::default(),
            pending_reads: PendingList::default(),
            marks: AtomicU32::new(marks),
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
    /// The allocation that this one is a part of.
    fn whole(&self) -> Option<&Arc<Self>> {
        match &self.owner {
            Owner::Foreign(lent) => match &lent.place {
                Place::Part(whole) => Some(whole.allocation()),
                Place::Elsewhere(_) => None,
            },
            _ => None,
        }
    }
    pub(crate) fn is_foreign(&self) -> bool {
        let whole = self.whole().map_or(self, |whole| whole);
        matches!(whole.owner, Owner::Foreign(..))
    }

    #[inline]
    fn marked(&self, mark: u32) -> bool {
        self.marks.load(Ordering::Acquire) & mark != 0
    }

    /// Whether others know the address or may forbid something: it is more than memory of an array.
    #[inline]
    pub(super) fn is_marked(&self) -> bool {
        self.marked(u32::MAX)
    }

    /// Whether the pointer is known outside, for good or while it is lent: then work on it is never left pending, unless the thread
    /// promises that nobody touches it there ([`fuse`](super::fuse::fuse)).
    #[inline]
    pub(crate) fn is_exported(self: &Arc<Self>) -> bool {
        self.marked(EXPORTED | LEASES) && !super::fuse::covers(self)
    }
    pub(crate) fn mark_exported(&self) {
        self.marks.fetch_or(EXPORTED, Ordering::AcqRel);
    }

    /// Counts one more lease. Whether it is counted, for of too many the memory is known outside for good; and whether it was known
    /// outside before.
    pub(super) fn begin_lease(&self) -> (bool, bool) {
        let counted = self.marks.fetch_update(Ordering::AcqRel, Ordering::Acquire, |marks| {
            // The last number is never reached, so that none overflows.
            (marks < LEASES - LEASE).then(|| marks + LEASE)
        });
        match counted {
            Ok(before) => (true, before & (EXPORTED | LEASES) != 0),
            Err(_) => {
                self.mark_exported();
                (false, true)
            }
        }
    }
    /// After all that the borrower did, and before what is recorded from now on.
    pub(super) fn end_lease(&self) {
        self.marks.fetch_sub(LEASE, Ordering::AcqRel);
    }

    /// Notes that somebody outside is given the address: who brings it back gets a part of this allocation, which keeps it.
    pub(super) fn hand_out(self: &Arc<Self>) {
        // Of a part, the whole was.
        if !self.marked(HANDED_OUT | PART) {
            registry::hand_out(self);
        }
    }
    pub(super) fn is_handed_out(&self) -> bool {
        self.marked(HANDED_OUT)
    }
    pub(super) fn mark_handed_out(&self) {
        self.marks.fetch_or(HANDED_OUT, Ordering::AcqRel);
    }

    /// Whether nothing may write to it: its lender has said so.
    #[inline]
    pub(crate) fn is_read_only(&self) -> bool {
        match self.marks.load(Ordering::Acquire) & (READ_ONLY | PART) {
            0 => false,
            PART => self.whole().is_some_and(|whole| whole.marked(READ_ONLY)),
            _ => true,
        }
    }
    /// Notes that it has the event of a write, for its times: it is not kept for another array then.
    pub(super) fn mark_timed(&self) {
        self.marks.fetch_or(TIMED, Ordering::AcqRel);
    }
    pub(super) fn is_timed(&self) -> bool {
        self.marked(TIMED)
    }
    pub(crate) fn mark_read_only(&self) {
        self.marks.fetch_or(READ_ONLY, Ordering::AcqRel);
    }

    /// The file that the memory is of.
    pub(super) fn mapping(&self) -> Option<&Mapping> {
        if !self.marked(MAPPED) {
            return None;
        }
        match &self.whole().map_or(self, |whole| whole).owner {
            Owner::Foreign(lent) => lent.mapping.as_ref(),
            _ => None,
        }
    }

    /// Refuses memory of a file that has become shorter than what was mapped of it.
    #[inline]
    pub(super) fn check_file(&self) -> Result<()> {
        self.mapping().map_or(Ok(()), Mapping::check)
    }

    /// Refuses to write to memory that its lender has lent for reading.
    pub(crate) fn check_access(&self, mode: Mode) -> Result<()> {
        if mode == Mode::Read || !self.is_read_only() {
            return Ok(());
        }
        Err(Error::borrow("memory", "lent for reading only", "memory that may be written", "copy it first"))
    }

    pub(crate) fn track(&self) -> LockedTrack<'_> {
        self.track.lock(self.bytes)
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

    /// Holds the track where it is idle, to read the memory or to write to it: until this is given up, no access begins and no
    /// host view is opened.
    #[inline(always)]
    pub(super) fn hold_idle(&self, mode: Mode) -> std::result::Result<HeldIdle<'_>, Refusal> {
        // A file is looked at before each access, which those who find the memory busy do.
        if self.marked(MAPPED) {
            return Err(Refusal::Busy);
        }
        self.track.hold_idle(mode)
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
        track.is_idle() && !self.marked(MAPPED)
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
        let spare = !self.is_marked()
            && self.is_idle()
            && self.pending_reads.is_empty()
            && self.device.is_registered()
            && !watch::is_active();
        if spare {
            block.set_live(SET_ASIDE);
        }
        spare
    }

    /// Notes what array the memory is made for, where it is of a pool.
    #[inline]
    pub(super) fn set_form(&self, form: u64) {
        if let Owner::Pool(block) = &self.owner {
            block.set_form(form);
        }
    }

    /// Whether that is noted, or cannot be.
    #[inline]
    pub(super) fn has_form(&self) -> bool {
        match &self.owner {
            Owner::Pool(block) => block.has_form(),
            _ => true,
        }
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
        if self.is_handed_out() {
            registry::forget(self);
        }
        let (ptr, bytes) = (self.ptr, self.bytes);
        // Before somebody else can have the address.
        if watch::is_active() && matches!(self.owner, Owner::Pool(_)) {
            watch::forget(ptr);
        }
        let events = self.track.get_mut().unfinished();
        let owner = match std::mem::replace(&mut self.owner, Owner::Gone) {
            Owner::Pool(block) if events.is_empty() => return self.device.pool().release(block),
            Owner::Pool(block)
                if self.device.is_registered() && !self.device.capabilities().cheap_callbacks =>
            {
                return self.device.pool().retire(block, events);
            }
            owner => owner,
        };
        if matches!(owner, Owner::Pool(_)) {
            self.device.pool().await_one();
        }
        let device = self.device.clone();
        let free = move || match owner {
            Owner::Pool(block) => device.pool().release_awaited(block),
            Owner::Foreign(lent) => {
                if let Place::Elsewhere(number) = lent.place {
                    registry::unregister_foreign(ptr, bytes, number);
                }
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
