//! Who accesses an allocation: the order that work must keep.

use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use smallvec::SmallVec;

use crate::backend::{Dependency, Event, EventStatus, Locked, Wait};
use crate::error::{Error, Result};
use crate::layout::{self, Layout};

/// Part of an allocation: its byte range, and the exact elements where they are not dense in it.
#[derive(Clone, Debug)]
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

    fn covers(&self, other: &Self) -> bool {
        self.view.is_none() && self.bytes.start <= other.bytes.start && other.bytes.end <= self.bytes.end
    }
}

/// Whether an access reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    Read,
    Write,
}

/// Accesses below which the list is not searched for finished ones.
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
}

/// Somebody has the track, or keeps others from adding to it.
const HELD: u8 = 1;
/// The track is not idle. Changes only while it is held.
const BUSY: u8 = 2;

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
    /// Somebody else has it.
    Held,
    /// It is not idle.
    Busy,
}

impl Tracked {
    pub(crate) fn lock(&self) -> LockedTrack<'_> {
        // Nothing panics while the lock is held, so poison means nothing.
        let track = self.track.lock().unwrap_or_else(PoisonError::into_inner);
        while self.state.fetch_or(HELD, Ordering::Acquire) & HELD != 0 {
            self.wait();
        }
        LockedTrack { track, state: &self.state, _locked: Locked::new() }
    }

    /// Waits until nobody seems to hold the track: small work takes microseconds, a reduction up to some hundreds of them, unless
    /// its thread is interrupted.
    #[cold]
    fn wait(&self) {
        wait_while(|| self.state.load(Ordering::Relaxed) & HELD != 0);
    }

    /// Holds a track that is idle.
    #[inline(always)]
    pub(super) fn hold_idle(&self) -> std::result::Result<HeldIdle<'_>, Refusal> {
        match self.state.compare_exchange(0, HELD, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(HeldIdle(&self.state)),
            Err(state) if state & BUSY != 0 => Err(Refusal::Busy),
            Err(_) => Err(Refusal::Held),
        }
    }

    pub(crate) fn get_mut(&mut self) -> &mut Track {
        self.track.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// [`Track::is_idle`], when it was last changed.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.state.load(Ordering::Acquire) & BUSY == 0
    }
}

impl Drop for HeldIdle<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
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
        let state = if self.track.is_idle() { 0 } else { BUSY };
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
            0..100 => std::hint::spin_loop(),
            100..200 => std::thread::yield_now(),
            _ => std::thread::sleep(Duration::from_micros(50)),
        }
    }
}

/// Elements that are lent to the host.
struct OpenView {
    number: u64,
    region: Region,
    mode: Mode,
    span: Span,
}

/// What open host views mean for an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Views {
    /// None forbids it.
    Clear,
    /// One does that soon ends: to be waited for without any lock ([`Allocation::wait_for_views`](super::allocation::Allocation::wait_for_views)).
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
            "elements that no host view forbids to access so",
            "drop the host view first",
        ))
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
        lists.host_views.push(OpenView { number, region: region.clone(), mode, span });
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
