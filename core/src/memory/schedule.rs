//! The scheduler: what a command must wait for, from what it accesses.
//!
//! For every allocation it knows the accesses that are not finished. A new command waits for exactly those that it
//! conflicts with (read after write, write after read, write after write, on overlapping elements), plus the events
//! that the caller names. Deriving the waits, submitting and recording happen under the locks of all allocations
//! involved, so no other submission comes between. Nothing is computed there: what a submission leaves to its thread is
//! done when the locks are given up ([`Batch`]).

use std::sync::Arc;

use smallvec::SmallVec;

use super::allocation::Allocation;
use super::capture::{self, Recording};
use super::pending::PendingList;
use super::reach::{Stated, check, check_kernel};
use super::seen::{self, Seen};
use super::track::{FEW_ACCESSES, LockedTrack, Mode, Region, Views};
use super::{BLOCK_ALIGN_BYTES, UsmKind, backlog, heap, watch};
use crate::backend::{self, Command, Dependency, EventStatus, Rest, SourceLaunch, Step, Submitted, Wait};
use crate::cut::Cut;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::form::KernelLaunch;
use crate::layout::Layout;
use crate::observe::{self, Doing};
use crate::plan::LaunchPlan;
use crate::routes::{self, Route};
use crate::runtime::{Event, Queue};
use crate::sync::assert_unlocked;

/// Waits of one access above which those that others have, too, are left out at once.
const MANY_WAITS: usize = 64;

/// One access of a command.
#[derive(Clone)]
pub(crate) struct Access {
    pub(crate) allocation: Arc<Allocation>,
    pub(crate) region: Region,
    pub(crate) mode: Mode,
}

/// The submissions of one call to a queue, and what they left to this thread. When it is dropped, which is after all locks
/// are given up, that is done, and where too much is under way on the device the oldest of it is waited for.
pub(crate) struct Batch<'a> {
    queue: &'a Queue,
    taken: SmallVec<[Taken; 2]>,
    /// A submission was refused because of a host view of this memory that soon ends.
    ending: Option<Arc<Allocation>>,
    /// The capture that notes what is submitted.
    recording: Option<Arc<Recording>>,
    /// Why the pass that is submitted next ends where it does.
    cut: Cut,
    /// Where nothing is submitted but only planned: what would be.
    draft: Option<Box<Draft>>,
}

/// What would be submitted.
#[derive(Default)]
pub(crate) struct Draft {
    /// The commands, in their order, each with why it ends where it does.
    pub(crate) commands: Vec<(Command, Cut)>,
    /// Arrays that they read and write.
    pub(crate) arrays: Vec<(Arc<Allocation>, Layout, Dtype)>,
    /// Copies of recorded reductions.
    pub(crate) reductions: PendingList,
}

/// A command that a backend took, as long as its locks were held.
struct Taken {
    event: Arc<dyn backend::Event>,
    rest: Option<Rest>,
    bytes: usize,
    is_open: bool,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(queue: &'a Queue) -> Self {
        let recording = capture::current();
        Self { queue, taken: SmallVec::new(), ending: None, recording, cut: Cut::Alone, draft: None }
    }

    /// A batch whose commands are noted in place of being submitted, in memory that is not there.
    pub(crate) fn drafting(queue: &'a Queue) -> Self {
        let mut batch = Self::new(queue);
        batch.draft = Some(Box::default());
        batch
    }

    /// What is noted, where nothing is submitted.
    pub(crate) fn draft(&mut self) -> Option<&mut Draft> {
        self.draft.as_deref_mut()
    }

    /// The copies of reductions that are planned, where nothing is submitted.
    pub(crate) fn drafted(&self) -> Option<&PendingList> {
        self.draft.as_ref().map(|draft| &draft.reductions)
    }

    /// Says why the pass that is submitted next ends where it does.
    pub(crate) fn ends_for(&mut self, cut: Cut) {
        self.cut = cut;
    }

    /// Memory for a result, without waiting.
    ///
    /// # Errors
    /// [`Error::Alloc`].
    pub(crate) fn allocate(&self, kind: UsmKind, bytes: usize) -> Result<Arc<Allocation>> {
        match self.draft {
            Some(_) => Ok(Allocation::imagined(self.queue.device(), kind, bytes)),
            None => Allocation::at_once(self.queue.device(), kind, bytes, BLOCK_ALIGN_BYTES),
        }
    }

    /// The capture that notes what is submitted.
    pub(crate) fn recording(&self) -> Option<&Arc<Recording>> {
        self.recording.as_ref()
    }

    /// Calls a function whose submissions another capture notes, or none: that of the work that is submitted.
    pub(crate) fn noted_by<R>(
        &mut self,
        recording: Option<&Arc<Recording>>,
        submit: impl FnOnce(&mut Self) -> R,
    ) -> R {
        if !capture::any_open() {
            return submit(self);
        }
        let _here = capture::Here::set(recording.cloned());
        let own = std::mem::replace(&mut self.recording, recording.cloned());
        let outcome = submit(self);
        self.recording = own;
        outcome
    }

    /// Runs a function with a batch until it does not fail for want of memory that work under way will give back, or because
    /// of a host view that soon ends. No lock may be held; what the function locks it gives up itself, before the batch ends.
    pub(crate) fn run<R>(queue: &'a Queue, mut submit: impl FnMut(&mut Self) -> Result<R>) -> Result<R> {
        loop {
            let mut batch = Self::new(queue);
            let outcome = submit(&mut batch);
            let ending = batch.ending.take();
            drop(batch);
            match outcome {
                Err(_) if let Some(memory) = ending => memory.wait_for_views(),
                Err(Error::Alloc(_)) if queue.device().wait_for_memory() => {}
                outcome => return outcome.map_err(|error| watch::with_live_arrays(queue.device(), error)),
            }
        }
    }

    fn take(&mut self, submitted: Submitted, bytes: usize, is_open: bool) -> Arc<dyn backend::Event> {
        routes::take(Route::Submission);
        let Submitted { event, rest } = submitted;
        self.taken.push(Taken { event: Arc::clone(&event), rest, bytes, is_open });
        event
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if self.taken.is_empty() {
            return;
        }
        assert_unlocked("the rest of a submission");
        let backlog = self.queue.device().backlog_state();
        let mut own: SmallVec<[Arc<dyn backend::Event>; 2]> = SmallVec::new();
        for Taken { event, rest, bytes, is_open } in self.taken.drain(..) {
            if let Some(rest) = rest {
                rest();
            }
            seen::watch_end(&event);
            if !event.status().is_terminal() {
                own.push(Arc::clone(&event));
                backlog.add(self.queue, event, bytes, is_open);
            }
        }
        if !own.is_empty() {
            backlog.pace(&own);
        }
    }
}

/// Submits a command that accesses memory as stated, by itself. No lock may be held.
///
/// # Errors
/// Nothing was submitted: an open host view, or the lender of the memory, forbids an access, or what the backend reports.
///
/// # Safety
/// As for [`submit`].
pub(crate) unsafe fn submit_alone(
    queue: &Queue,
    command: Command,
    accesses: Vec<Access>,
    depends: &[Event],
) -> Result<Event> {
    let mut command = Some(command);
    Batch::run(queue, |batch| {
        // A submission that was refused has left the command.
        // SAFETY: the command touches no memory but that of `accesses`, and is valid, as this function's
        // caller says of it.
        unsafe { submit(queue, &mut command, &accesses, depends, batch) }
    })
}

/// Submits a command that accesses memory as stated. Where it fails before the backend is asked, the command stays.
///
/// # Errors
/// Nothing was submitted: an open host view, or the lender of the memory, forbids an access, or what the backend reports.
///
/// # Safety
/// - The command touches no memory but that of `accesses`, within their regions and modes.
/// - It is valid in the sense of the backend's contract (`backend::Command`): of a launch, each plan is.
pub(super) unsafe fn submit(
    queue: &Queue,
    command: &mut Option<Command>,
    accesses: &[Access],
    depends: &[Event],
    batch: &mut Batch<'_>,
) -> Result<Event> {
    accesses.iter().try_for_each(|access| access.allocation.check_file())?;
    let cut = std::mem::replace(&mut batch.cut, Cut::Alone);
    if let Some(draft) = &mut batch.draft {
        draft.commands.extend(command.take().map(|command| (command, cut)));
        return Ok(Event::ready());
    }
    let seen = Seen::begin(command.as_ref());
    let recording = batch.recording.clone();
    let captured = match (&recording, &*command) {
        (Some(recording), Some(command)) => recording.admit(queue, command, accesses, depends, cut)?,
        _ => None,
    };
    // In the order of addresses, so that two submissions cannot lock in opposite orders. Sorts here ask for no memory, as stable ones
    // would.
    let mut allocations: SmallVec<[&Arc<Allocation>; 6]> =
        heap::small("accesses", accesses.iter().map(|a| &a.allocation))?;
    allocations.sort_unstable_by_key(|a| Arc::as_ptr(a));
    allocations.dedup_by_key(|a| Arc::as_ptr(a));
    let mut tracks: SmallVec<[LockedTrack<'_>; 6]> =
        heap::small("locks", allocations.iter().map(|a| a.track()))?;
    let position = |access: &Access| {
        let found = allocations.binary_search_by_key(&Arc::as_ptr(&access.allocation), |a| Arc::as_ptr(a));
        found.unwrap_or_else(|_| unreachable!("every access's allocation is in the list"))
    };

    let mut waits: Vec<Wait> = Vec::new();
    add_depends(&mut waits, depends);
    let mut bytes = 0_usize;
    // How many accesses each track is to record.
    let mut counts: SmallVec<[usize; 6]> = heap::small("counts", allocations.iter().map(|_| 0))?;
    for access in accesses {
        let position = position(access);
        counts[position] += 1;
        let track = &tracks[position];
        access.allocation.check_access(access.mode)?;
        if track.check_host_views(&access.region, access.mode)? == Views::Ending {
            batch.ending = Some(Arc::clone(&access.allocation));
            return Err(access.allocation.view_is_ending());
        }
        let known = waits.len();
        track.conflicts(&access.region, access.mode, &mut waits);
        bytes = bytes.saturating_add(access.region.range().len());
        if known + MANY_WAITS < waits.len() {
            // Of many accesses each may wait for the same many.
            merge(&mut waits);
        }
    }
    let is_open = backlog::is_open(queue, &waits);
    for (track, count) in tracks.iter_mut().zip(&counts) {
        track.reserve(*count)?;
    }
    // Where there are many, those of each memory lie side by side.
    let mut sorted = Vec::new();
    if counts.iter().any(|&count| count > FEW_ACCESSES) {
        sorted = heap::collect("accesses", accesses.iter().cloned())?;
        sorted.sort_unstable_by_key(|access| (Arc::as_ptr(&access.allocation), access.region.range().start));
    }
    settle(queue, &mut waits)?;
    let Some(command) = command.take() else { unreachable!("a command is submitted once") };

    // SAFETY: the command is valid, and touches what `accesses` says, by this function's contract. Its memory stays
    // allocated: the event is recorded below in the track of every allocation it touches, before the locks are given
    // up, and `Allocation::drop` frees only after recorded events are terminal. Conflicting accesses are ordered: they
    // are in the waits, or they are host views, which were checked above. The batch does the rest.
    let event = batch.take(unsafe { queue.backend().submit(command, &waits) }?, bytes, is_open);
    if let Some(recording) = recording {
        match captured {
            Some(captured) => recording.note(captured, &event),
            None => recording.note_event(&event),
        }
    }
    if sorted.is_empty() {
        for access in accesses {
            tracks[position(access)].record(access.region.clone(), access.mode, &event);
        }
    }
    for of_one in sorted.chunk_by(|a, b| Arc::ptr_eq(&a.allocation, &b.allocation)) {
        let regions = of_one.iter().map(|access| (&access.region, access.mode));
        tracks[position(&of_one[0])].record_all(regions, &event);
    }
    let timed = queue.has_profiling().then_some(&event);
    // Of memory that has times or is to have them, which is rare.
    let noted =
        |access: &&Access| access.mode == Mode::Write && (timed.is_some() || access.allocation.is_timed());
    for access in accesses.iter().filter(noted) {
        access.allocation.mark_timed();
        tracks[position(access)].note_times(timed);
    }
    drop(tracks);
    seen.submitted(queue, &event, &waits, bytes);
    Ok(Event::new(event, waits.into_iter().map(|w| w.event).collect()))
}

/// Submits a command that reads or writes memory that the caller has lent, and waits for its end, however it comes.
///
/// # Errors
/// As for [`submit_alone`], and the command's failure. [`Error::Interrupted`] where what is before it is waited for: then it was
/// not submitted.
///
/// # Safety
/// As for [`submit_alone`]; memory that is not of `accesses` stays valid until this returns.
pub(crate) unsafe fn submit_to_end(queue: &Queue, command: Command, accesses: Vec<Access>) -> Result<()> {
    capture::refuse("memory", "copied to or from memory of the host")?;
    if backend::interrupt().is_some() {
        // The command itself is waited for in any case.
        wait_for_conflicts(&accesses)?;
    }
    // SAFETY: the command touches no memory but that of `accesses`, and what else it names stays valid until
    // this returns, which is when the command has ended.
    let event = unsafe { submit_alone(queue, command, accesses, &[]) }?;
    let _seen = observe::span(Doing::Wait, "event", backend::address(&**event.backend()), 0);
    event.backend().wait()
}

/// Waits for what accesses would wait for; failures are for these to find.
///
/// # Errors
/// [`Error::Interrupted`].
fn wait_for_conflicts(accesses: &[Access]) -> Result<()> {
    let mut waits = Vec::new();
    for Access { allocation, region, mode } in accesses {
        allocation.track().conflicts(region, *mode, &mut waits);
    }
    for wait in waits {
        if let Err(error @ Error::Interrupted(_)) = backend::wait(&*wait.event) {
            return Err(error);
        }
    }
    Ok(())
}

/// Submits plans that access memory as stated.
///
/// # Errors
/// As for [`submit_alone`]; [`Error::OutOfBounds`] where a plan reaches memory that is not stated, which is a defect of the
/// engine.
pub(crate) fn launch(
    queue: &Queue,
    plans: Vec<LaunchPlan>,
    accesses: Vec<Access>,
    depends: &[Event],
    batch: &mut Batch<'_>,
) -> Result<Event> {
    check(&plans, &Stated::new(&accesses)?)?;
    // SAFETY: `check`; the rest of the contract of a plan (merged dimensions, exact or no overlap) is `lazy`'s, and no memory
    // safety hangs on it but the exclusion of overlapping outputs, which `lazy::evaluate` has separated.
    unsafe { submit(queue, &mut Some(Command::Step(Step::Launch(plans))), &accesses, depends, batch) }
}

/// As [`launch`], stages of plans, each of which may read what those before it write.
pub(crate) fn launch_stages(
    queue: &Queue,
    stages: Vec<Vec<LaunchPlan>>,
    accesses: Vec<Access>,
    depends: &[Event],
    batch: &mut Batch<'_>,
) -> Result<Event> {
    routes::take(Route::Stages);
    let stated = Stated::new(&accesses)?;
    stages.iter().try_for_each(|plans| check(plans, &stated))?;
    // SAFETY: each plan's operands lie in accesses of their modes (`check`), and a plan is valid by the pass
    // that made it; what stages write is memory of their own, which `lazy::evaluate` has made for them.
    unsafe { submit(queue, &mut Some(Command::Step(Step::Stages(stages))), &accesses, depends, batch) }
}

/// As [`launch`], of a kernel that a user wrote.
pub(crate) fn launch_kernel(
    queue: &Queue,
    launch: KernelLaunch,
    accesses: &[Access],
    depends: &[Event],
    batch: &mut Batch<'_>,
) -> Result<Event> {
    check_kernel(&launch, accesses)?;
    // SAFETY: `check_kernel`: each array that the kernel reads or writes lies in an access of that mode, and by the contract
    // of a kernel's form no index leads out of its array. Arguments fit their parameters (`Kernel::launch`).
    unsafe {
        submit(queue, &mut Some(Command::Step(Step::Kernel(Box::new(launch)))), accesses, depends, batch)
    }
}

/// As [`launch`], of a kernel from a source.
///
/// # Safety
/// - The kernel touches no memory but that of `accesses`, within their regions and modes, and ends.
/// - Its arguments have the types of its parameters.
pub(crate) unsafe fn launch_source(
    queue: &Queue,
    launch: SourceLaunch,
    accesses: &[Access],
    depends: &[Event],
    batch: &mut Batch<'_>,
) -> Result<Event> {
    // SAFETY: the kernel touches no memory but that of `accesses` and ends, and its arguments have the types
    // of its parameters, as this function's caller says of it.
    unsafe { submit(queue, &mut Some(Command::SourceKernel(Box::new(launch))), accesses, depends, batch) }
}

/// What happens to work on memory that is known outside: it is complete before the call returns, so that whoever has the
/// pointer sees it. A caller that names events to wait for has the event to wait for, too, and perhaps something to do
/// before those events can be complete.
pub(crate) fn complete(event: &Event, depends: &[Event]) -> Result<()> {
    if depends.is_empty() { event.end() } else { Ok(()) }
}

/// A command that waits for the events named, or for all unfinished work of the queue where none is. No lock may be held.
pub(crate) fn barrier(queue: &Queue, depends: &[Event]) -> Result<Event> {
    let mut batch = Batch::new(queue);
    barrier_in(queue, depends, &mut batch)
}

/// [`barrier`], as one of several submissions.
pub(crate) fn barrier_in(queue: &Queue, depends: &[Event], batch: &mut Batch<'_>) -> Result<Event> {
    let earlier = if depends.is_empty() { queue.unfinished() } else { Vec::new() };
    let order = earlier.into_iter().map(|event| Wait { event, dependency: Dependency::Order });
    submit_plain(queue, Command::Barrier, order.collect(), depends, batch)
}

/// An event that is complete when all writes to an allocation that are under way now are.
pub(crate) fn last_write(allocation: &Arc<Allocation>, queue: &Queue) -> Result<Event> {
    let mut waits = Vec::new();
    let track = allocation.track();
    track.conflicts(&Region::bytes(0..allocation.bytes()), Mode::Read, &mut waits);
    let timed = track.timed();
    drop(track);
    merge(&mut waits);
    match waits.len() {
        // It is over, and has its times still.
        0 => Ok(timed.map_or_else(Event::ready, |event| Event::new(event, Vec::new()))),
        1 => Ok(Event::new(waits.remove(0).event, Vec::new())),
        _ => submit_plain(queue, Command::Barrier, waits, &[], &mut Batch::new(queue)),
    }
}

/// A function on the host behind events.
pub(crate) fn host_task(
    queue: &Queue,
    task: Box<dyn FnOnce() -> Result<()> + Send>,
    depends: &[Event],
) -> Result<Event> {
    submit_plain(queue, Command::HostTask(task), Vec::new(), depends, &mut Batch::new(queue))
}

fn submit_plain(
    queue: &Queue,
    command: Command,
    mut waits: Vec<Wait>,
    depends: &[Event],
    batch: &mut Batch<'_>,
) -> Result<Event> {
    add_depends(&mut waits, depends);
    if let Some(recording) = batch.recording.clone() {
        recording.admit(queue, &command, &[], depends, Cut::Alone)?;
    }
    let seen = Seen::begin(Some(&command));
    // What a host task waits for, the engine cannot know: perhaps for the program to go on.
    let is_open = matches!(command, Command::HostTask(_)) || backlog::is_open(queue, &waits);
    settle(queue, &mut waits)?;
    // SAFETY: barriers and host tasks access no memory of the engine. The batch does the rest.
    let event = batch.take(unsafe { queue.backend().submit(command, &waits) }?, 0, is_open);
    if let Some(recording) = &batch.recording {
        recording.note_event(&event);
    }
    seen.submitted(queue, &event, &waits, 0);
    Ok(Event::new(event, waits.into_iter().map(|w| w.event).collect()))
}

fn add_depends(waits: &mut Vec<Wait>, depends: &[Event]) {
    let unfinished = depends.iter().filter(|event| event.status() != EventStatus::Complete);
    waits.extend(unfinished.map(|e| Wait { event: Arc::clone(e.backend()), dependency: Dependency::Data }));
}

/// Makes the waits what the backend expects: each event once, all of the queue's driver.
fn settle(queue: &Queue, waits: &mut Vec<Wait>) -> Result<()> {
    merge(waits);
    let driver = queue.device().info().backend;
    for wait in waits {
        if wait.event.driver() != driver {
            wait.event = bridge(queue, &wait.event)?;
        }
    }
    Ok(())
}

/// One wait per event; a data dependency is the stronger one.
fn merge(waits: &mut Vec<Wait>) {
    waits.sort_unstable_by_key(|w| (Arc::as_ptr(&w.event).addr(), w.dependency == Dependency::Order));
    waits.dedup_by_key(|w| Arc::as_ptr(&w.event).addr());
}

/// An event of the queue's driver that follows a foreign one.
fn bridge(queue: &Queue, foreign: &Arc<dyn backend::Event>) -> Result<Arc<dyn backend::Event>> {
    let handle = queue.device().backend().signal()?;
    let source = Arc::clone(foreign);
    // Where the foreign event is terminal, this completes the new one, which nobody waits for yet.
    foreign.on_complete(Box::new(move || {
        (handle.complete)(source.error().map_or(Ok(()), Err));
    }));
    Ok(handle.event)
}
