//! Queues: commands to the runtime's commands, and what is held back until it can go there.
//!
//! A command's waits are of two sorts ([`Waits`]): events that the runtime has itself, which it waits for,
//! and all others (of the host, of other devices, of commands that are held back), which this backend waits
//! for. If there are any of the latter, the command is held, and the worker gives it to the runtime when they
//! are over.
//! ```text
//! submit ─► all waits the runtime's?  yes: enqueued now          (kernels missing: compiled first, by this thread, without locks)
//!                                     no:  held ─► worker, when they are over ─► enqueued
//! ```
//! So nothing in the runtime waits for this process, and no lock is held over a wait. On an in-order queue,
//! what comes behind a held command is held, too.
//!
//! Commands without an event are numbered; a marker stands for all before it ([`NativeQueue`]). Whatever is
//! added here has to keep `submit` short: it runs under the locks of core.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use opencl3::command_queue as cq;
use opencl3::error_codes::DLOPEN_FUNCTION_NOT_AVAILABLE;
use opencl3::event as ev;
use opencl3::types::cl_event;
use smallvec::SmallVec;
use stridewise_core::backend::sync::Section;
use stridewise_core::backend::{
    Command, Dependency, Event, EventStatus, Queue, QueueProperties, RawAllocation, Step, Submitted, Wait,
    start_thread, when_all,
};
use stridewise_core::memory::{UsmKind, UsmPtr};
use stridewise_core::{Error, Result};

use crate::device::Shared;
use crate::enqueue::{compile_and_enqueue, enqueue_compiled};
use crate::event::{ClEvent, execution_status};
use crate::handle::{CommandQueue, EventObject};
use crate::transfer;
use crate::worker::Job;

/// Held commands are searched for ended ones when there are so many, or twice what the last search left.
const PRUNE_LEN: usize = 64;

/// How long who waits for a queue without an end to that sleeps between two looks.
const NAP: Duration = Duration::from_micros(100);

/// Bytes that the thread which submits their copy to memory of the host reads by itself, as it waits for them anyway: a GPU's
/// runtime takes tens of microseconds more where a thread of its own has to bring them to memory that is not pinned.
const READ_BYTES: usize = 4 << 10;

/// Commands without an event between two markers that are enqueued unasked.
const MARKED_COMMANDS: u64 = 64;

/// A queue of the runtime.
///
/// Commands without an event are numbered. A marker is an event behind everything that was enqueued before it, so one
/// marker tells the end of many of them.
pub(crate) struct NativeQueue {
    pub(crate) object: CommandQueue,
    /// Whether a command begins when the one before has ended.
    pub(crate) in_order: bool,
    /// Whether something was enqueued since the last flush.
    dirty: AtomicBool,
    /// Commands without an event so far; those up to `ended` have ended.
    issued: AtomicU64,
    ended: AtomicU64,
    /// The last marker, and the number up to which it stands for commands.
    marker: Mutex<Option<(u64, EventObject)>>,
}

impl NativeQueue {
    pub(crate) fn new(object: CommandQueue, in_order: bool) -> Self {
        Self {
            object,
            in_order,
            dirty: AtomicBool::new(false),
            issued: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            marker: Mutex::default(),
        }
    }

    /// Numbers a command without an event that has been enqueued.
    pub(crate) fn issue(&self) -> u64 {
        self.issued.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The number of the last command without an event.
    pub(crate) fn last_issued(&self) -> u64 {
        self.issued.load(Ordering::Acquire)
    }

    /// A command has ended before which those up to this number were enqueued: where the queue is in order, they have, too.
    pub(crate) fn ended_in_order(&self, ticket: u64) {
        if self.in_order {
            self.ended.fetch_max(ticket, Ordering::AcqRel);
        }
    }

    fn last_marker(&self) -> MutexGuard<'_, Option<(u64, EventObject)>> {
        self.marker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A marker behind a command.
    pub(crate) fn marker_behind(&self, ticket: u64) -> Result<EventObject, i32> {
        let mut last = self.last_marker();
        if last.as_ref().is_none_or(|(covered, _)| *covered < ticket) {
            self.mark(&mut last)?;
        }
        last.as_ref().map_or(Err(DLOPEN_FUNCTION_NOT_AVAILABLE), |(_, marker)| marker.share())
    }

    /// Enqueues a marker.
    fn mark(&self, last: &mut Option<(u64, EventObject)>) -> Result<(), i32> {
        // Read before the marker is enqueued: whatever has a number by now was enqueued before.
        let covered = self.issued.load(Ordering::Acquire);
        // SAFETY: the queue is live; an empty list waits for everything before.
        let raw = unsafe { cq::enqueue_marker_with_wait_list(self.object.raw(), 0, std::ptr::null()) }?;
        self.touch();
        *last = Some((covered, EventObject::new(raw)));
        Ok(())
    }

    /// How far a command without an event has come, as far as the last marker tells.
    pub(crate) fn status(&self, ticket: u64) -> Result<i32, i32> {
        if self.ended.load(Ordering::Acquire) >= ticket {
            return Ok(ev::CL_COMPLETE);
        }
        let mut last = self.last_marker();
        let covered = last.as_ref().map_or(0, |(covered, _)| *covered);
        if covered < ticket {
            // Someone wants to know: now and then, a marker tells.
            if self.issued.load(Ordering::Acquire) >= covered + MARKED_COMMANDS {
                self.mark(&mut last)?;
            }
            return Ok(ev::CL_QUEUED);
        }
        let status = last.as_ref().map_or(Ok(ev::CL_COMPLETE), |(_, marker)| execution_status(marker));
        if status == Ok(ev::CL_COMPLETE) {
            self.ended.fetch_max(covered, Ordering::AcqRel);
        }
        status
    }

    pub(crate) fn touch(&self) {
        self.dirty.store(true, Ordering::Release);
    }

    /// Waits until the runtime has nothing to do for this queue, but not for longer than until then.
    pub(crate) fn settle(&self, deadline: Instant) {
        // SAFETY: the queue is live; an empty list waits for everything before.
        let marker = unsafe { cq::enqueue_marker_with_wait_list(self.object.raw(), 0, std::ptr::null()) };
        let Ok(marker) = marker.map(EventObject::new) else { return };
        let _ = cq::flush(self.object.raw());
        while execution_status(&marker).is_ok_and(|status| status > ev::CL_COMPLETE)
            && Instant::now() < deadline
        {
            std::thread::sleep(NAP);
        }
    }

    /// Sees to it that the runtime begins what was enqueued. A failure shows at the next command.
    pub(crate) fn flush(&self) {
        if self.dirty.swap(false, Ordering::AcqRel) {
            let _ = cq::flush(self.object.raw());
        }
    }
}

/// Scratch memory for kernels of several stages, reused when the command that used it last has ended.
#[derive(Default)]
pub(crate) struct Scratch(Mutex<Vec<ScratchBlock>>);

pub(crate) struct ScratchBlock {
    pub(crate) memory: RawAllocation,
    /// The end of the command that uses it.
    last: Option<Use>,
}

/// A command that uses memory.
enum Use {
    /// One with an event.
    Event(EventObject),
    /// One in an ordered queue, by its number there.
    Numbered(Arc<NativeQueue>, u64),
}

impl Use {
    /// Whether it is over before a next command of a queue begins.
    fn is_over(&self, queue: &Arc<NativeQueue>) -> bool {
        match self {
            Self::Event(event) => execution_status(event).is_ok_and(|status| status <= ev::CL_COMPLETE),
            Self::Numbered(own, _) if Arc::ptr_eq(own, queue) => true,
            Self::Numbered(own, ticket) => own.status(*ticket).is_ok_and(|status| status <= ev::CL_COMPLETE),
        }
    }

    fn wait(&self) {
        // An error leaves nothing to wait for.
        let _ = match self {
            Self::Event(event) => ev::wait_for_events(&[event.raw()]),
            Self::Numbered(queue, _) => cq::finish(queue.object.raw()),
        };
    }
}

impl ScratchBlock {
    /// A command uses it, whose end this is.
    pub(crate) fn used_by(&mut self, command: Option<&EventObject>) {
        self.last = command.and_then(|last| {
            let share = last.share().ok().map(Use::Event);
            if share.is_none() {
                // Without a reference, nobody could tell when the block is free: it is when this returns.
                let _ = ev::wait_for_events(&[last.raw()]);
            }
            share
        });
    }

    /// A command of an ordered queue uses it, which has this number.
    pub(crate) fn used_in_order(&mut self, queue: &Arc<NativeQueue>, ticket: u64) {
        self.last = Some(Use::Numbered(Arc::clone(queue), ticket));
    }
}

impl Scratch {
    /// A block of at least so many bytes that no command uses by the time that a next one of a queue begins.
    pub(crate) fn take(
        &self,
        device: &Shared,
        queue: &Arc<NativeQueue>,
        bytes: usize,
    ) -> Result<ScratchBlock> {
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let free = blocks.iter().position(|block| {
            block.memory.bytes >= bytes && block.last.as_ref().is_none_or(|last| last.is_over(queue))
        });
        if let Some(free) = free {
            return Ok(blocks.swap_remove(free));
        }
        drop(blocks);
        let bytes = bytes.next_power_of_two().max(1 << 16);
        let memory = device.memory.alloc(UsmKind::Device, bytes, 128)?;
        Ok(ScratchBlock { memory, last: None })
    }

    pub(crate) fn put(&self, block: ScratchBlock) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(block);
    }

    /// Frees what no command uses.
    pub(crate) fn clear(&self, device: &Shared) {
        let blocks = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for block in blocks {
            if let Some(last) = &block.last {
                last.wait();
            }
            // SAFETY: from `alloc` of this memory, taken out of the list, and the last command that used it has ended.
            unsafe { device.memory.free(block.memory) };
        }
    }
}

/// A queue of an OpenCL device.
pub(crate) struct ClQueue {
    device: Arc<Shared>,
    native: Arc<NativeQueue>,
    properties: QueueProperties,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The last event of an in-order queue.
    last: Option<Arc<ClEvent>>,
    /// Commands that were held back and may not have ended.
    held: Vec<Weak<ClEvent>>,
    prune_at: usize,
}

/// What a command waits for, sorted by who waits.
#[derive(Default)]
struct Waits {
    /// The runtime: its own events.
    native: SmallVec<[Arc<dyn Event>; 4]>,
    /// Whether there are others, which are before the command in its queue.
    before: bool,
    /// This backend: the rest.
    held: SmallVec<[Arc<dyn Event>; 4]>,
    /// Those whose failure is inherited.
    data: SmallVec<[Arc<dyn Event>; 4]>,
}

impl Waits {
    fn sort(device: &Arc<Shared>, queue: &Arc<NativeQueue>, waits: &[Wait]) -> Self {
        let mut sorted = Self::default();
        for wait in waits {
            let own = as_own(&*wait.event);
            // An end that has been noted is nothing to wait for; but a failure counts.
            let inherited = wait.dependency == Dependency::Data;
            // The runtime is told of those with an event all the same, as it does not begin what waits for one that failed.
            let behind = queue.in_order && own.is_some_and(|event| event.is_numbered_in(queue));
            match own.filter(|_| !behind).and_then(|event| event.native(device)) {
                // Nothing need be asked of the runtime.
                None if behind => sorted.before = true,
                Some((_, other)) => {
                    if !Arc::ptr_eq(other, queue) {
                        // The runtime need not begin what another queue has not flushed.
                        other.flush();
                    }
                    sorted.native.push(Arc::clone(&wait.event));
                }
                None => {
                    if !wait.event.status().is_terminal() {
                        sorted.held.push(Arc::clone(&wait.event));
                    }
                }
            }
            if inherited {
                sorted.data.push(Arc::clone(&wait.event));
            }
        }
        sorted
    }

    /// Leaves nothing to the runtime: this backend waits for all.
    fn hold_all(&mut self) {
        let native = std::mem::take(&mut self.native);
        self.held.extend(native);
    }

    /// Whether nothing is left to wait for.
    fn are_over(&self) -> bool {
        self.native.is_empty() && self.held.is_empty() && !self.before
    }

    /// The failure that a command inherits, of those that are known.
    fn failure(&self) -> Option<Error> {
        let failed = |event: &Arc<dyn Event>| match event.status() {
            EventStatus::Failed => event.error(),
            _ => None,
        };
        self.data.iter().find_map(failed).map(Error::inherited)
    }

    /// The runtime's events.
    fn raw(&self, device: &Arc<Shared>) -> SmallVec<[cl_event; 8]> {
        self.native.iter().filter_map(|event| Some(as_own(&**event)?.native(device)?.0)).collect()
    }
}

/// The event, if this backend made it.
fn as_own(event: &dyn Event) -> Option<&ClEvent> {
    let event: &dyn Any = event;
    event.downcast_ref()
}

impl ClQueue {
    pub(crate) fn new(device: Arc<Shared>, native: Arc<NativeQueue>, properties: QueueProperties) -> Self {
        Self { device, native, properties, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics while the lock is held, so poison means nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds a command back until its waits allow it to begin.
    fn hold(&self, waits: Waits, run: impl FnOnce(&Arc<ClEvent>, &Waits) + Send + 'static) -> Arc<ClEvent> {
        let event = ClEvent::held(&self.device, self.properties.profiling);
        let (device, held) = (Arc::clone(&self.device), Arc::clone(&event));
        let pending = waits.held.clone();
        when_all(&pending, move || {
            let worker = Arc::clone(&device);
            worker.worker.send(Job::Run(Box::new(move || match waits.failure() {
                Some(error) => held.complete(Err(error), None),
                None => {
                    let _section = Section::enter();
                    run(&held, &waits);
                }
            })));
        });
        event
    }

    /// What the thread that submitted a command does without the locks under which it did: compiles what is missing of the
    /// command's kernels, and gives it to the runtime. What comes behind it meanwhile is held back.
    fn compile_first(
        &self,
        event: &Arc<ClEvent>,
        command: Command,
        waits: Waits,
        eventful: bool,
    ) -> impl FnOnce() + Send + 'static {
        let (device, queue, event) = (Arc::clone(&self.device), Arc::clone(&self.native), Arc::clone(event));
        move || {
            let _section = Section::enter();
            enqueue_held(&device, &queue, &event, &command, &waits, eventful);
        }
    }

    /// As [`compile_first`](Self::compile_first), for a copy to memory of the host: reads, and waits for it in the runtime.
    fn read_now(
        &self,
        event: &Arc<ClEvent>,
        (dst, src, bytes): (UsmPtr, UsmPtr, usize),
        waits: Waits,
    ) -> impl FnOnce() + Send + 'static {
        let (device, queue, event) = (Arc::clone(&self.device), Arc::clone(&self.native), Arc::clone(event));
        move || {
            let _section = Section::enter();
            let before = queue.last_issued();
            // SAFETY: the ranges are valid until the event is complete (the contract of `Queue::submit`), which is below; the
            // events are live.
            let read = unsafe { device.memory.read(&queue.object, dst, src, bytes, &waits.raw(&device)) };
            if read.is_ok() {
                queue.ended_in_order(before);
            }
            event.complete(device.finished("clEnqueueReadBuffer", read), None);
        }
    }

    /// Whether a copy is a short one to memory of the host from a device with memory of its own.
    fn is_short_read(&self, command: &Command) -> bool {
        match *command {
            Command::Step(Step::Copy { dst, src, bytes }) => {
                let own = self.device.has_memory_of_its_own() && !self.properties.profiling;
                own && bytes <= READ_BYTES && self.device.memory.is_read(dst, src)
            }
            _ => false,
        }
    }

    /// As [`hold`](Self::hold), for work of a thread of its own: everything is waited for first.
    fn run_on_thread(
        &self,
        mut waits: Waits,
        task: impl FnOnce() -> Result<()> + Send + 'static,
    ) -> Arc<ClEvent> {
        waits.hold_all();
        self.hold(waits, move |event, _| {
            let ended = Arc::clone(event);
            let thread = std::thread::Builder::new().name("stridewise-opencl-task".to_owned());
            let thread = start_thread(thread, move || {
                ended.start();
                let outcome = catch_unwind(AssertUnwindSafe(task));
                let outcome =
                    outcome.unwrap_or_else(|payload| Err(Error::panicked("task", payload.as_ref())));
                ended.complete(outcome, None);
            });
            if let Err(error) = thread {
                let help = "let the process have more threads";
                event.complete(Err(Error::task("thread", error, "a thread for the task", help)), None);
            }
        })
    }
}

impl Queue for ClQueue {
    unsafe fn submit(&self, command: Command, waits: &[Wait]) -> Result<Submitted> {
        // A fork or the end of the process waits for this, or this for it.
        let _section = Section::enter();
        self.device.usable()?;
        let mut waits = Waits::sort(&self.device, &self.native, waits);
        // One critical section: of two submissions to an in-order queue, one is the other's predecessor.
        let mut state = self.properties.in_order.then(|| self.lock());
        if let Some(state) = &state
            && let Some(last) = state.last.as_ref().filter(|event| !event.status().is_terminal())
        {
            // What the runtime has, its queue keeps in order.
            if !last.is_native() {
                waits.held.push(Arc::clone(last) as Arc<dyn Event>);
            }
        }
        let failed = waits.failure().is_some();
        // Where time stamps are asked for, every command has an event; on a processor, it costs nothing.
        let eventful = self.properties.profiling || self.device.target.cpu;
        // The runtime takes an empty list for everything before. Where time stamps are asked for, that is borne with.
        let plain = !self.properties.in_order && !self.properties.profiling;
        let orders = matches!(command, Command::Barrier | Command::Advise { .. });
        let done = orders && plain && waits.are_over();
        let mut rest: Option<Box<dyn FnOnce() + Send>> = None;
        let event = match transfer::plan(&self.device, &self.native, command) {
            _ if done => {
                let event = ClEvent::held(&self.device, self.properties.profiling);
                event.complete(waits.failure().map_or(Ok(()), Err), None);
                event
            }
            transfer::Plan::Thread(task) => self.run_on_thread(waits, task),
            transfer::Plan::Native(ref command @ Command::Step(Step::Copy { dst, src, bytes }))
                if waits.held.is_empty() && !failed && self.is_short_read(command) =>
            {
                let event = ClEvent::held(&self.device, false);
                rest = Some(Box::new(self.read_now(&event, (dst, src, bytes), waits)));
                event
            }
            transfer::Plan::Native(command) if waits.held.is_empty() && !failed => {
                let raw = waits.raw(&self.device);
                match enqueue_compiled(&self.device, &self.native, &command, &raw, eventful)? {
                    Some(native) => ClEvent::enqueued(&self.device, self.properties.profiling, native),
                    None => {
                        let event = ClEvent::held(&self.device, self.properties.profiling);
                        rest = Some(Box::new(self.compile_first(&event, command, waits, eventful)));
                        event
                    }
                }
            }
            transfer::Plan::Native(command) => {
                if failed {
                    waits.hold_all();
                }
                let (device, queue) = (Arc::clone(&self.device), Arc::clone(&self.native));
                self.hold(waits, move |event, waits| {
                    enqueue_held(&device, &queue, event, &command, waits, eventful)
                })
            }
        };
        if let Some(state) = &mut state {
            state.last = Some(Arc::clone(&event));
        }
        drop(state);
        if !event.is_native() {
            let mut state = self.lock();
            if state.held.len() >= state.prune_at.max(PRUNE_LEN) {
                state.held.retain(|event| event.upgrade().is_some_and(|event| !event.status().is_terminal()));
                state.prune_at = 2 * state.held.len();
            }
            state.held.push(Arc::downgrade(&event));
        }
        // The runtime has it, or the worker will, or this thread compiles first.
        Ok(match rest {
            None => Submitted::taken(event),
            Some(rest) => Submitted::with_rest(event, rest),
        })
    }

    fn flush(&self) -> Result<()> {
        self.device.usable()?;
        self.native.flush();
        Ok(())
    }

    fn finish(&self) -> Result<()> {
        self.device.usable()?;
        let held = std::mem::take(&mut self.lock().held);
        for event in held.iter().filter_map(Weak::upgrade) {
            // A command's failure is its event's.
            let _ = event.wait();
        }
        self.device.finished("clFinish", cq::finish(self.native.object.raw()))
    }
}

/// Gives a command that was held back to the runtime.
fn enqueue_held(
    device: &Arc<Shared>,
    queue: &Arc<NativeQueue>,
    event: &ClEvent,
    command: &Command,
    waits: &Waits,
    eventful: bool,
) {
    // It may come late.
    let usable = device.usable();
    match usable.and_then(|()| compile_and_enqueue(device, queue, command, &waits.raw(device), eventful)) {
        Ok(native) => event.enqueue(native),
        Err(error) => event.complete(Err(error), None),
    }
}
