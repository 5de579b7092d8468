//! The scheduler: what a command must wait for, from what it accesses.
//!
//! For every allocation it knows the accesses that are not finished. A new command waits for exactly those that it
//! conflicts with (read after write, write after read, write after write, on overlapping elements), plus the events
//! that the caller names. Deriving the waits, submitting and recording happen under the locks of all allocations
//! involved, so no other submission comes between. Nothing is computed there: what a submission leaves to its thread is
//! done when the locks are given up ([`Batch`]).

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::allocation::Allocation;
use super::capture::{self, Recording};
use super::track::{FEW_ACCESSES, LockedTrack, Mode, Region, Views};
use super::{backlog, heap};
use crate::backend::{self, Command, Dependency, EventStatus, Rest, SourceLaunch, Step, Submitted, Wait};
use crate::error::{Error, Result};
use crate::form::{KernelArgument, KernelLaunch};
use crate::plan::{Family, IndexedAxis, LaunchPlan, Operand};
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
        Self { queue, taken: SmallVec::new(), ending: None, recording: capture::current() }
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
                outcome => return outcome,
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
    let recording = batch.recording.clone();
    let captured = match (&recording, &*command) {
        (Some(recording), Some(command)) => recording.admit(queue, command, accesses, depends)?,
        _ => None,
    };
    // In the order of addresses, so that two submissions cannot lock in opposite orders.
    let mut allocations: SmallVec<[&Arc<Allocation>; 6]> =
        heap::small("accesses", accesses.iter().map(|a| &a.allocation))?;
    allocations.sort_by_key(|a| Arc::as_ptr(a));
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
        sorted.sort_by_key(|access| (Arc::as_ptr(&access.allocation), access.region.range().start));
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
    drop(tracks);
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
    unsafe { submit(queue, &mut Some(Command::Launch(plans)), &accesses, depends, batch) }
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
    unsafe { submit(queue, &mut Some(Command::Stages(stages)), &accesses, depends, batch) }
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
    unsafe { submit(queue, &mut Some(Command::Kernel(Box::new(launch))), accesses, depends, batch) }
}

/// Checks that every array of a kernel lies in an access of the mode that the kernel accesses it by.
fn check_kernel(launch: &KernelLaunch, accesses: &[Access]) -> Result<()> {
    for (object, argument) in launch.arrays() {
        let KernelArgument::Array { ptr, shape, strides } = argument else { continue };
        let operand = Operand { ptr: *ptr, strides: strides.as_slice().into() };
        let size = launch.kernel.form().object(object).dtype.size();
        let modes = [(launch.kernel.reads(object), Mode::Read), (launch.kernel.writes(object), Mode::Write)];
        for mode in modes.iter().filter(|(has, _)| *has && !shape.contains(&0)).map(|(_, mode)| *mode) {
            let reaching = Reaching { operand: &operand, size, mode, number: 0, indexed: &[] };
            if !accesses.iter().any(|access| mode == access.mode && access.contains(&reaching, shape)) {
                return Err(unstated(&operand, shape));
            }
        }
    }
    Ok(())
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

/// The defect that a command reaches memory that nobody knows of.
fn unstated(operand: &Operand, dims: &[usize]) -> Error {
    Error::out_of_bounds(
        "plan",
        format!("an operand at {:?} over {dims:?}", operand.ptr),
        "operands inside the memory that the submission names",
        "this is a defect of the engine: please report it",
    )
}

/// Checks a command as those that submit it first do.
pub(super) fn check_step(step: &Step, accesses: &[Access]) -> Result<()> {
    let stated = Stated::new(accesses)?;
    match step {
        Step::Launch(plans) => check(plans, &stated),
        Step::Stages(stages) => stages.iter().try_for_each(|plans| check(plans, &stated)),
        Step::Kernel(launch) => check_kernel(launch, accesses),
        // Ranges that lie in their accesses as before.
        _ => Ok(()),
    }
}

/// Checks that every operand of plans reaches only into the region of an access of its mode.
fn check(plans: &[LaunchPlan], stated: &Stated<'_>) -> Result<()> {
    for plan in plans {
        for operand in operands(plan) {
            if !stated.contains(&operand, &plan.dims) {
                return Err(unstated(operand.operand, &plan.dims));
            }
        }
    }
    Ok(())
}

/// What a submission accesses, to be searched for every operand of its plans.
enum Stated<'a> {
    /// Of so few each is asked.
    Few(&'a [Access]),
    /// The addresses of what is read and of what is written: ranges apart from each other, in their order.
    Many([Vec<Range<usize>>; 2]),
}

impl<'a> Stated<'a> {
    fn new(accesses: &'a [Access]) -> Result<Self> {
        if accesses.len() <= FEW_ACCESSES {
            return Ok(Self::Few(accesses));
        }
        let ranges = |mode: Mode| -> Result<Vec<Range<usize>>> {
            let of_mode = accesses.iter().filter(|access| access.mode == mode);
            let mut ranges = heap::collect("accesses", of_mode.map(Access::addresses))?;
            ranges.sort_unstable_by_key(|range| (range.start, range.end));
            // Whether they are of one allocation or of two that lie side by side: all of it is named.
            ranges.dedup_by(|next, range| {
                let joins = next.start <= range.end;
                if joins {
                    range.end = range.end.max(next.end);
                }
                joins
            });
            Ok(ranges)
        };
        Ok(Self::Many([ranges(Mode::Read)?, ranges(Mode::Write)?]))
    }

    /// Whether an operand of a plan stays inside what is accessed so.
    fn contains(&self, operand: &Reaching<'_>, dims: &[usize]) -> bool {
        match self {
            Self::Few(accesses) => {
                accesses.iter().any(|access| operand.mode == access.mode && access.contains(operand, dims))
            }
            Self::Many([reads, writes]) => {
                let ranges = if operand.mode == Mode::Read { reads } else { writes };
                let [low, high] = operand.reach(dims);
                let behind = ranges.partition_point(|range| range.start as i128 <= low);
                behind > 0 && high <= ranges[behind - 1].end as i128
            }
        }
    }
}

/// An operand of a plan that is in memory.
pub(super) struct Reaching<'a> {
    operand: &'a Operand,
    /// Bytes of an element.
    pub(super) size: usize,
    pub(super) mode: Mode,
    /// Its number among the inputs, or the outputs.
    pub(super) number: usize,
    /// The axes along which it is addressed besides the plan's dimensions.
    indexed: &'a [IndexedAxis],
}

/// The operands of a plan that are in memory.
pub(super) fn operands(plan: &LaunchPlan) -> impl Iterator<Item = Reaching<'_>> {
    let dtypes = plan.program.inputs();
    let in_memory = plan.inputs.iter().enumerate().filter(|&(i, _)| !plan.program.is_index(i));
    let reads = in_memory.map(|(i, operand)| (operand, dtypes[i].size(), Mode::Read, i));
    let writes = plan.outputs.iter().enumerate();
    let writes = writes.map(|(i, operand)| (operand, plan.output_dtype(i).size(), Mode::Write, i));
    reads.chain(writes).map(|(operand, size, mode, number)| {
        let indexed: &[IndexedAxis] = match (&plan.family, mode, number) {
            (Family::Gather { axes }, Mode::Read, 0) | (Family::Scatter { axes }, Mode::Write, 0) => axes,
            (
                Family::Search { table: axis, .. }
                | Family::Contains { table: axis, .. }
                | Family::Histogram { edges: axis, .. },
                Mode::Read,
                1,
            )
            | (
                Family::Top { axis, .. }
                | Family::Compress { axis, .. }
                | Family::Runs { axis }
                | Family::Accumulate { axis, .. }
                | Family::Count { axis }
                | Family::Histogram { axis, .. },
                Mode::Write,
                0,
            )
            | (Family::Expand { axis, .. }, Mode::Read, 0) => std::slice::from_ref(axis),
            _ => &[],
        };
        Reaching { operand, size, mode, number, indexed }
    })
}

impl Reaching<'_> {
    /// The first address that it reaches over the plan's dimensions, and the one behind the last.
    fn reach(&self, dims: &[usize]) -> [i128; 2] {
        let Self { operand, size, indexed, .. } = *self;
        let (mut low, mut high) = (operand.ptr.addr() as i128, (operand.ptr.addr() + size) as i128);
        let along = dims.iter().copied().zip(operand.strides.iter().copied());
        for (extent, stride) in along.chain(indexed.iter().map(|axis| (axis.extent, axis.stride))) {
            let reach = (extent as i128 - 1) * stride as i128 * size as i128;
            if reach < 0 { low += reach } else { high += reach }
        }
        [low, high]
    }

    /// Whether it stays, over the plan's dimensions, inside a range of bytes of an allocation.
    pub(super) fn is_within(&self, dims: &[usize], allocation: &Allocation, range: &Range<usize>) -> bool {
        let [low, high] = self.reach(dims);
        let start = allocation.ptr().addr() as i128;
        start + range.start as i128 <= low && high <= start + range.end as i128
    }
}

impl Access {
    /// Whether an operand of a plan stays inside this access.
    fn contains(&self, operand: &Reaching<'_>, dims: &[usize]) -> bool {
        operand.is_within(dims, &self.allocation, &self.region.range())
    }

    /// The addresses of the region.
    fn addresses(&self) -> Range<usize> {
        let (start, range) = (self.allocation.ptr().addr(), self.region.range());
        start + range.start..start + range.end
    }
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
    allocation.track().conflicts(&Region::bytes(0..allocation.bytes()), Mode::Read, &mut waits);
    merge(&mut waits);
    match waits.len() {
        0 => Ok(Event::ready()),
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
        recording.admit(queue, &command, &[], depends)?;
    }
    // What a host task waits for, the engine cannot know: perhaps for the program to go on.
    let is_open = matches!(command, Command::HostTask(_)) || backlog::is_open(queue, &waits);
    settle(queue, &mut waits)?;
    // SAFETY: barriers and host tasks access no memory of the engine. The batch does the rest.
    let event = batch.take(unsafe { queue.backend().submit(command, &waits) }?, 0, is_open);
    if let Some(recording) = &batch.recording {
        recording.note_event(&event);
    }
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
    waits.sort_by_key(|w| (Arc::as_ptr(&w.event).addr(), w.dependency == Dependency::Order));
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
