//! Who accesses an allocation: the order that work must keep.
//!
//! A track has the accesses under way, each with its region, its mode and its event, and the views that the
//! host has open. A new access waits for those that it conflicts with: same elements, and one of the two
//! writes.
//! ```text
//! under way: write [0, 64)     new: read [32, 48)  → waits for the write      read [64, 128) → waits for nothing
//! ```
//! An access that covers older ones takes their place, accesses that are over are dropped, and neighbours of
//! one event are joined, so that the list stays short. A failed write stays until something writes there: who
//! reads the elements inherits the failure.
//!
//! There are two locks (`Tracked`). Whoever submits has both; small work on idle memory has only the second
//! one, a byte that is taken by one instruction. Whoever has that byte never waits for anything, so that
//! others wait for microseconds. After a fork, a byte that a thread of the parent had is taken to be free, as
//! that thread is not here (`PROCESS`). Every path that adds an access goes through `LockedTrack`; do not add
//! another one.

use std::ops::{Deref, DerefMut, Range};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use smallvec::SmallVec;

use crate::backend::{Dependency, Event, EventStatus, Signal, Wait};
use crate::error::{Error, Result};
use crate::layout::{self, Layout};
use crate::memory::heap;
use crate::sync::primitives::atomic::{AtomicU8, AtomicU16, Ordering};
use crate::sync::primitives::{hint, thread};
use crate::sync::{Home, Locked, left_behind};
use crate::sync::{Mutex, MutexGuard};

/// Part of an allocation: its byte range, and the exact elements where they are not dense in it.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Region {
    bytes: Range<usize>,
    view: Option<(Layout, usize)>,
}

impl Region {
    pub(crate) fn bytes(range: Range<usize>) -> Self {
        Self { bytes: range, view: None }
    }

    pub(crate) fn of(layout: &Layout, itemsize: usize) -> Self {
        let bytes = layout.byte_range(itemsize);
        let dense = layout.len() * itemsize >= bytes.len();
        Self { view: (!dense).then(|| (layout.clone(), itemsize)), bytes }
    }

    pub(crate) fn range(&self) -> Range<usize> {
        self.bytes.clone()
    }

    /// Bytes of its elements.
    fn size(&self) -> usize {
        self.view.as_ref().map_or(self.bytes.len(), |(layout, itemsize)| layout.len() * itemsize)
    }

    fn overlaps(&self, other: &Self) -> bool {
        if self.bytes.start.max(other.bytes.start) >= self.bytes.end.min(other.bytes.end) {
            return false;
        }
        match (&self.view, &other.view) {
            (Some((a, a_size)), Some((b, b_size))) => layout::overlaps(a, *a_size, b, *b_size),
            // One is dense: only a gap of the other could keep them apart, which is rarely worth the search.
            _ => true,
        }
    }

    /// Whether both are dense, and another one that begins no earlier begins in this one or right behind it.
    fn joins(&self, next: &Self) -> bool {
        self.view.is_none() && next.view.is_none() && next.bytes.start <= self.bytes.end
    }

    /// Both as one, where they are dense and overlap or lie side by side.
    pub(super) fn joined(&self, other: &Self) -> Option<Self> {
        let (a, b) = (&self.bytes, &other.bytes);
        let dense = self.view.is_none() && other.view.is_none();
        (dense && a.start.max(b.start) <= a.end.min(b.end))
            .then(|| Self::bytes(a.start.min(b.start)..a.end.max(b.end)))
    }

    /// Whether all elements of another one are its own.
    pub(super) fn contains(&self, other: &Self) -> bool {
        self.covers(other) || (self.bytes == other.bytes && self.view == other.view)
    }

    fn covers(&self, other: &Self) -> bool {
        self.view.is_none() && self.bytes.start <= other.bytes.start && other.bytes.end <= self.bytes.end
    }
}

/// Whether an access reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Mode {
    Read,
    Write,
}

/// Accesses that are few: a first list of them is small, and each is looked for by itself.
pub(super) const FEW_ACCESSES: usize = 64;
/// Accesses below which the list is not searched for finished ones; from there on it is when it has doubled, so that each access is
/// looked at a few times, whatever this number is.
const SEARCH_LEN: usize = 4;

struct Recorded {
    region: Region,
    mode: Mode,
    event: Arc<dyn Event>,
}

impl Recorded {
    /// Whether it is over, and no failure of it concerns a later access.
    fn is_settled(&self) -> bool {
        match self.event.status() {
            EventStatus::Complete => true,
            EventStatus::Failed => self.mode == Mode::Read,
            _ => false,
        }
    }
}

/// The accesses to one allocation that later ones may have to wait for, and the host views that are open. Mostly there is
/// neither, so that the lists lie elsewhere: an allocation is small.
#[derive(Default)]
pub(crate) struct Track(Option<Box<Lists>>);

#[derive(Default)]
struct Lists {
    accesses: Vec<Recorded>,
    host_views: Vec<OpenView>,
    /// Number of the next host view.
    next_view: u64,
    /// Length of the list of accesses at which it is searched for finished ones.
    search_at: usize,
    /// The event of the last write, where it has time stamps: for who asks after its end.
    timed: Option<Arc<dyn Event>>,
}

/// Somebody has the track, or keeps others from adding to it.
const HELD: u8 = 1;
/// The track is not idle. Changes only while it is held.
const BUSY: u8 = 2;
/// Who has the track writes to the memory.
const WRITES: u8 = 4;
/// The bits that tell in which process somebody has the track, by its number among processes that were forked from each other;
/// those that are so many forks apart count as one.
const PROCESS: u8 = !(HELD | BUSY | WRITES);

/// The state of a track that may be held, and, in the upper byte, that of one that somebody in this process has: [`HELD`], with
/// the process's number. One word, as small work reads it every time.
static STATES: AtomicU16 = AtomicU16::new(u16::from_le_bytes([IDLE, HELD]));
const IDLE: u8 = 0;
/// In place of [`IDLE`]: the state of no track, so that none can be held.
const NONE: u8 = WRITES;

fn states() -> [u8; 2] {
    STATES.load(Ordering::Relaxed).to_le_bytes()
}

/// Has small work refused from now on, until [`resume`].
pub(crate) fn pause() {
    STATES.store(u16::from_le_bytes([NONE, states()[1]]), Ordering::Relaxed);
}

/// Ends [`pause`].
pub(crate) fn resume() {
    STATES.store(u16::from_le_bytes([IDLE, states()[1]]), Ordering::Relaxed);
}

/// Ends [`pause`] in a process that was forked: who has a track now had it in the other one, and never gives it back here.
pub(crate) fn resume_forked() {
    let process = (states()[1] & PROCESS).wrapping_add(1 << PROCESS.trailing_zeros());
    STATES.store(u16::from_le_bytes([IDLE, process | HELD]), Ordering::Relaxed);
}

/// A track behind two locks. Who reads or changes it has both; small work on memory that is idle has the second one only,
/// which is one instruction to take and one to give up. Those who have it never wait for anything.
#[derive(Default)]
pub(crate) struct Tracked {
    track: Mutex<Track>,
    state: AtomicU8,
}

/// A track that is locked.
pub(crate) struct LockedTrack<'a> {
    track: MutexGuard<'a, Track>,
    state: &'a AtomicU8,
    _locked: Locked,
}

/// A track that is idle, and stays so.
pub(super) struct HeldIdle<'a>(&'a AtomicU8);

/// Why a track cannot be held.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Somebody else has it, or the process forks.
    Held,
    /// It is not idle.
    Busy,
}

impl Tracked {
    /// Locks the track of so many bytes.
    pub(crate) fn lock(&self, bytes: usize) -> LockedTrack<'_> {
        // Nothing panics while the lock is held, so poison means nothing.
        let track = self.track.lock().unwrap_or_else(PoisonError::into_inner);
        let [_, here] = states();
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            if state & HELD != 0 && state & PROCESS == here & PROCESS {
                state = self.wait();
                continue;
            }
            let taken = state & BUSY | here;
            match self.state.compare_exchange_weak(state, taken, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => break,
                Err(changed) => state = changed,
            }
        }
        let mut track = LockedTrack { track, state: &self.state, _locked: Locked::new() };
        if here & PROCESS != 0 {
            track.leave_behind((state & (HELD | WRITES) == HELD | WRITES).then_some(bytes));
        }
        track
    }

    /// Waits until nobody seems to hold the track: small work takes microseconds, a reduction up to some hundreds of them, unless
    /// its thread is interrupted. The state then.
    #[cold]
    fn wait(&self) -> u8 {
        let mut state = 0;
        wait_while(|| {
            state = self.state.load(Ordering::Relaxed);
            state & HELD != 0
        });
        state
    }

    /// Holds a track that is idle, to read the memory or to write to it.
    #[inline(always)]
    pub(super) fn hold_idle(&self, mode: Mode) -> std::result::Result<HeldIdle<'_>, Refusal> {
        let [idle, held] = states();
        let held = held | if mode == Mode::Write { WRITES } else { 0 };
        match self.state.compare_exchange(idle, held, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(HeldIdle(&self.state)),
            Err(state) if state & BUSY != 0 => Err(Refusal::Busy),
            Err(_) => Err(Refusal::Held),
        }
    }

    pub(crate) fn get_mut(&mut self) -> &mut Track {
        self.track.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody has the track and it was idle ([`Track::is_idle`]) when it was last changed.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.state.load(Ordering::Acquire) == IDLE
    }
}

impl Drop for HeldIdle<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.store(IDLE, Ordering::Release);
    }
}

impl Deref for LockedTrack<'_> {
    type Target = Track;
    #[inline]
    fn deref(&self) -> &Track {
        &self.track
    }
}

impl DerefMut for LockedTrack<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Track {
        &mut self.track
    }
}

impl Drop for LockedTrack<'_> {
    #[inline]
    fn drop(&mut self) {
        let state = if self.track.is_idle() { IDLE } else { BUSY };
        self.state.store(state, Ordering::Release);
    }
}

/// How long elements are lent to the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Span {
    /// For a copy by the engine: who wants the elements waits.
    Brief,
    /// As long as somebody likes: who wants the elements is told so.
    Open,
}

/// Waits for something that takes microseconds, unless its thread is interrupted.
pub(crate) fn wait_while(mut is_so: impl FnMut() -> bool) {
    let mut rounds = 0;
    while is_so() {
        rounds += 1;
        match rounds {
            0..100 => hint::spin_loop(),
            100..200 => thread::yield_now(),
            _ => thread::sleep(Duration::from_micros(50)),
        }
    }
}

/// Elements that are lent to the host.
struct OpenView {
    number: u64,
    region: Region,
    mode: Mode,
    span: Span,
    /// The process whose thread has it.
    home: Home,
}

/// What open host views mean for an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Views {
    /// None forbids it.
    Clear,
    /// One does that soon ends: to be waited for without any lock
    /// ([`Allocation::wait_for_views`](super::allocation::Allocation::wait_for_views)).
    Ending,
}

/// What came of asking for a host view.
pub(crate) enum Opening {
    /// It is open, and this is its number.
    Opened(u64),
    /// These are to be waited for first.
    Behind(Vec<Wait>),
    /// Another one that soon ends is.
    Ending,
}

impl Track {
    fn accesses(&self) -> &[Recorded] {
        self.0.as_ref().map_or(&[], |lists| &lists.accesses)
    }
    fn host_views(&self) -> &[OpenView] {
        self.0.as_ref().map_or(&[], |lists| &lists.host_views)
    }

    /// Ends, in a process that was forked, what threads did here that it does not have: copies by the host, and writing to all
    /// of so many bytes. What was being written has failed.
    #[cold]
    fn leave_behind(&mut self, written: Option<usize>) {
        let mut regions: SmallVec<[Region; 1]> =
            written.map(|bytes| Region::bytes(0..bytes)).into_iter().collect();
        if let Some(lists) = &mut self.0 {
            lists.host_views.retain(|view| {
                let is_gone = view.span == Span::Brief && !view.home.is_here();
                if is_gone && view.mode == Mode::Write {
                    regions.push(view.region.clone());
                }
                !is_gone
            });
        }
        for region in regions {
            let event: Arc<dyn Event> = Arc::new(Signal::failed("core", left_behind()));
            self.record(region, Mode::Write, &event);
        }
    }

    /// Refuses an access that an open host view of the same elements forbids, unless that soon ends.
    pub(crate) fn check_host_views(&self, region: &Region, mode: Mode) -> Result<Views> {
        let forbids = |view: &&OpenView| {
            (mode == Mode::Write || view.mode == Mode::Write) && view.region.overlaps(region)
        };
        let forbidding = || self.host_views().iter().filter(forbids);
        let held = match forbidding().find(|view| view.span == Span::Open) {
            None if forbidding().next().is_some() => return Ok(Views::Ending),
            None => return Ok(Views::Clear),
            Some(view) if view.mode == Mode::Write => "a host view for writing",
            Some(_) => "a host view for reading",
        };
        Err(Error::borrow(
            "array",
            format!("lent to {held}"),
            "no open view that forbids this: while one reads, nobody writes; while one writes, nobody else reads or writes",
            "drop the view first: end its block, or call `drop`",
        ))
    }

    /// Notes the event of a write, if it has time stamps.
    pub(super) fn note_times(&mut self, event: Option<&Arc<dyn Event>>) {
        match event {
            Some(event) => self.0.get_or_insert_default().timed = Some(Arc::clone(event)),
            None => {
                if let Some(lists) = &mut self.0 {
                    lists.timed = None;
                }
            }
        }
    }

    /// The event of the last write, where it has time stamps.
    pub(super) fn timed(&self) -> Option<Arc<dyn Event>> {
        self.0.as_ref()?.timed.clone()
    }

    /// Whether no access may be under way and no host view is open.
    pub(crate) fn is_idle(&self) -> bool {
        self.accesses().is_empty() && self.host_views().is_empty()
    }

    /// Forgets accesses that no later one has to wait for.
    pub(crate) fn forget_settled(&mut self) {
        if let Some(lists) = &mut self.0 {
            lists.accesses.retain(|access| !access.is_settled());
        }
    }

    /// Appends the waits of a new access: what it reads after a write, or overwrites.
    pub(crate) fn conflicts(&self, region: &Region, mode: Mode, waits: &mut Vec<Wait>) {
        for access in self.accesses() {
            if (mode == Mode::Read && access.mode == Mode::Read) || !access.region.overlaps(region) {
                continue;
            }
            let data = mode == Mode::Read;
            let status = access.event.status();
            // A failure counts where its data is read; what is overwritten may have failed.
            if status == EventStatus::Complete || (status == EventStatus::Failed && !data) {
                continue;
            }
            let dependency = if data { Dependency::Data } else { Dependency::Order };
            waits.push(Wait { event: Arc::clone(&access.event), dependency });
        }
    }

    /// Records an access, and forgets those that no later one needs to know: what a write covers, and, each time that
    /// the list has doubled, complete ones and reads that failed.
    pub(crate) fn record(&mut self, region: Region, mode: Mode, event: &Arc<dyn Event>) {
        let complete = event.status() == EventStatus::Complete;
        if complete && self.0.is_none() {
            return;
        }
        let lists = self.0.get_or_insert_default();
        // Asking for a status may cost as much as a small command.
        let search = lists.accesses.len() >= lists.search_at.max(SEARCH_LEN);
        lists.accesses.retain(|old| {
            // A write waits for what it covers, so whoever waits for the write waits for that too.
            !((search && old.is_settled()) || (mode == Mode::Write && region.covers(&old.region)))
        });
        if search {
            lists.search_at = 2 * lists.accesses.len();
        }
        if !complete {
            lists.accesses.push(Recorded { region, mode, event: Arc::clone(event) });
        }
    }

    /// Records the accesses of one event to this allocation, sorted by where they begin: those that lie side by side as one.
    /// [`record`](Self::record) would look through the list for each of them. Room for as many must have been
    /// [reserved](Self::reserve).
    pub(super) fn record_all<'a>(
        &mut self,
        accesses: impl Iterator<Item = (&'a Region, Mode)> + Clone,
        event: &Arc<dyn Event>,
    ) {
        for mode in [Mode::Read, Mode::Write] {
            let regions = accesses.clone().filter(|(_, of)| *of == mode).map(|(region, _)| region);
            if mode == Mode::Write {
                self.forget_covered(regions.clone());
            }
            let all = &mut self.0.get_or_insert_default().accesses;
            let (before, mut bytes) = (all.len(), 0_usize);
            for region in regions {
                bytes = bytes.saturating_add(region.size());
                match all[before..].last_mut() {
                    Some(last) if last.region.joins(region) => {
                        last.region.bytes.end = last.region.bytes.end.max(region.bytes.end);
                    }
                    _ => all.push(Recorded { region: region.clone(), mode, event: Arc::clone(event) }),
                }
            }
            let ends = all[before..].iter().map(|recorded| recorded.region.bytes.end);
            let Some(end) = ends.max().filter(|_| all.len() - before > FEW_ACCESSES) else { continue };
            // What one event writes does not overlap: as many bytes as from the first to the last are all of them. Who writes
            // between what is read waits for readers of its neighbours then, but inherits nothing from them.
            let whole = all[before].region.bytes.start..end;
            if mode == Mode::Read || bytes == whole.len() {
                all.truncate(before + 1);
                all[before].region = Region::bytes(whole);
            }
        }
    }

    /// Forgets what is settled, and what writes cover, which are sorted by where they begin and apart from each other.
    fn forget_covered<'a>(&mut self, writes: impl Iterator<Item = &'a Region>) {
        let Some(lists) = &mut self.0 else { return };
        lists.accesses.sort_unstable_by_key(|old| old.region.bytes.start);
        let (mut writes, mut last) = (writes.peekable(), None);
        lists.accesses.retain(|old| {
            while let Some(write) = writes.next_if(|write| write.bytes.start <= old.region.bytes.start) {
                last = Some(write);
            }
            !(old.is_settled() || last.is_some_and(|write| write.covers(&old.region)))
        });
    }

    /// Finds room for so many more accesses, so that [`record`](Self::record) has it.
    ///
    /// # Errors
    /// [`Error::Alloc`] where there is none.
    pub(crate) fn reserve(&mut self, more: usize) -> Result<()> {
        match &mut self.0 {
            None if more <= FEW_ACCESSES => Ok(()),
            lists => heap::reserve("accesses", &mut lists.get_or_insert_default().accesses, more),
        }
    }

    /// The events of all accesses that are not terminal.
    pub(crate) fn unfinished(&self) -> SmallVec<[Arc<dyn Event>; 2]> {
        let events = self.accesses().iter().map(|a| &a.event).filter(|e| !e.status().is_terminal());
        events.cloned().collect()
    }

    /// Opens a host view, or says what to wait for first.
    pub(crate) fn open_host_view(&mut self, region: &Region, mode: Mode, span: Span) -> Result<Opening> {
        if self.check_host_views(region, mode)? == Views::Ending {
            return Ok(Opening::Ending);
        }
        let mut waits = Vec::new();
        self.conflicts(region, mode, &mut waits);
        if !waits.is_empty() {
            return Ok(Opening::Behind(waits));
        }
        let lists = self.0.get_or_insert_default();
        let number = lists.next_view;
        lists.next_view += 1;
        lists.host_views.push(OpenView { number, region: region.clone(), mode, span, home: Home::here() });
        Ok(Opening::Opened(number))
    }

    /// Whether a host view that soon ends is open.
    pub(crate) fn has_brief_view(&self) -> bool {
        self.host_views().iter().any(|view| view.span == Span::Brief)
    }

    /// Closes a host view.
    pub(crate) fn close_host_view(&mut self, number: u64) {
        if let Some(lists) = &mut self.0 {
            lists.host_views.retain(|view| view.number != number);
        }
    }
}

#[cfg(all(test, unix, not(miri)))]
mod tests;
