//! Queues: commands to streams, and what is held back until it can go there.
//!
//! A command's waits are of two sorts ([`Waits`]): events that the driver has itself, which it waits for, and all others (of the host,
//! of other drivers, of commands that are held back), which this backend waits for. If there are any of the latter, the command is
//! held, and the worker gives it to the driver when they are over. So nothing in the driver waits for this process.
//!
//! A queue in order is one stream. One out of order has two, of which one is for long copies to and from the host, so that they run
//! beside kernels; what is in one stream runs in the order in which it came, which any order allows.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use smallvec::SmallVec;
use stridewise_core::backend::sync::Section;
use stridewise_core::backend::{
    Command, Dependency, Event, EventStatus, Queue, QueueProperties, Step, Submitted, Wait, start_thread,
    when_all,
};
use stridewise_core::{Error, Result};

use crate::device::Shared;
use crate::enqueue::{enqueue, enqueue_known, run_in_turn};
use crate::event::{CudaEvent, Native};
use crate::kernels;
use crate::memory::Place;
use crate::stream::Stream;
use crate::transfer::{self, SHORT_BYTES};
use crate::worker::Job;

/// Held commands are searched for ended ones when there are so many, or twice what the last search left.
const PRUNE_LEN: usize = 64;
/// Copies to and from the host of at least so many bytes have a stream of their own in a queue out of order: to wait for another stream
/// costs a few microseconds.
const BESIDE_BYTES: usize = 1 << 20;

/// A queue of a CUDA device.
pub(crate) struct CudaQueue {
    device: Arc<Shared>,
    work: Arc<Stream>,
    /// For long copies, where the queue is out of order.
    copies: OnceLock<Arc<Stream>>,
    properties: QueueProperties,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The last event of an in-order queue.
    last: Option<Arc<CudaEvent>>,
    /// Commands that were held back and may not have ended.
    held: Vec<Weak<CudaEvent>>,
    prune_at: usize,
}

/// Who carries a command out.
enum Route {
    /// The driver, in a stream.
    Native(Arc<Stream>, Command),
    /// The thread that submits it, in the driver: a short copy of pageable memory.
    Now(Command),
    /// A thread of its own.
    Thread(Box<dyn FnOnce() -> Result<()> + Send>),
}

/// What a command waits for, sorted by who waits.
#[derive(Default)]
struct Waits {
    /// The driver: its own events in other streams.
    native: SmallVec<[Arc<dyn Event>; 4]>,
    /// Whether there are others of the driver's, which are before the command in its stream.
    before: bool,
    /// This backend: the rest.
    held: SmallVec<[Arc<dyn Event>; 4]>,
    /// Those whose failure is inherited.
    data: SmallVec<[Arc<dyn Event>; 4]>,
}

impl Waits {
    fn sort(stream: &Arc<Stream>, waits: &[Wait]) -> Self {
        let mut sorted = Self::default();
        for wait in waits {
            if wait.dependency == Dependency::Data {
                sorted.data.push(Arc::clone(&wait.event));
            }
            let own = as_own(&*wait.event).filter(|event| !event.is_noted());
            match own.and_then(CudaEvent::native) {
                Some(native) if Arc::ptr_eq(&native.stream, stream) => sorted.before = true,
                Some(_) => sorted.native.push(Arc::clone(&wait.event)),
                None if wait.event.status().is_terminal() => {}
                None => sorted.held.push(Arc::clone(&wait.event)),
            }
        }
        sorted
    }

    /// Leaves nothing to the driver: this backend waits for all.
    fn hold_all(&mut self, all: &[Wait]) {
        self.native.clear();
        self.held.clear();
        let pending = all.iter().filter(|wait| !wait.event.status().is_terminal());
        self.held.extend(pending.map(|wait| Arc::clone(&wait.event)));
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
}

/// Whether somebody has to read what the items of a command's kernel report.
fn reports(step: &Step) -> bool {
    matches!(step, Step::Kernel(launch) if launch.kernel.asserts())
}

/// The event, if this backend made it.
pub(crate) fn as_own(event: &dyn Event) -> Option<&CudaEvent> {
    let event: &dyn Any = event;
    event.downcast_ref()
}

impl CudaQueue {
    pub(crate) fn new(device: &Arc<Shared>, properties: QueueProperties) -> Result<Self> {
        let work = device.stream()?;
        let device = Arc::clone(device);
        Ok(Self { device, work, copies: OnceLock::new(), properties, state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics while the lock is held, so poison means nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides who carries a command out; the context is the calling thread's.
    fn route(&self, command: Command) -> Result<Route> {
        let work = || Arc::clone(&self.work);
        Ok(match command {
            Command::HostTask(task) => Route::Thread(task),
            // Somebody has to read what its items report.
            Command::Step(Step::Kernel(launch)) if launch.kernel.asserts() => {
                let device = Arc::clone(&self.device);
                Route::Thread(Box::new(move || kernels::run_asserting(&device, &launch)))
            }
            Command::Sequence(steps) if steps.iter().any(reports) => {
                let device = Arc::clone(&self.device);
                Route::Thread(Box::new(move || run_in_turn(&device, &steps)))
            }
            Command::Step(Step::Copy { dst, src, bytes }) => {
                let (to, from) = (self.device.memory.place(dst), self.device.memory.place(src));
                let (to_host, from_host) = (to == Place::Pageable, from == Place::Pageable);
                for (ptr, _) in [(dst, to), (src, from)].iter().filter(|(_, place)| *place == Place::Foreign)
                {
                    self.device.memory.reach(*ptr);
                }
                match (to_host || from_host, bytes <= SHORT_BYTES && to_host != from_host) {
                    (false, _) => {
                        let crosses = (to == Place::Host) != (from == Place::Host);
                        let beside = crosses && bytes >= BESIDE_BYTES && !self.properties.in_order;
                        Route::Native(if beside { self.copies()? } else { work() }, command)
                    }
                    (true, true) => Route::Now(command),
                    (true, false) => {
                        let device = Arc::clone(&self.device);
                        // SAFETY: the ranges are valid until the command's event is terminal (the contract of `Queue::submit`), which is
                        // after this function, and do not overlap (that of `Step::Copy`).
                        let copy = move || unsafe {
                            transfer::copy_pageable(&device, (dst, to_host), (src, from_host), bytes)
                        };
                        Route::Thread(Box::new(copy))
                    }
                }
            }
            command => Route::Native(work(), command),
        })
    }

    fn copies(&self) -> Result<Arc<Stream>> {
        if let Some(stream) = self.copies.get() {
            return Ok(Arc::clone(stream));
        }
        let stream = self.device.stream()?;
        Ok(Arc::clone(self.copies.get_or_init(|| stream)))
    }

    /// Holds a command back until its waits allow it to begin.
    fn hold(
        &self,
        waits: Waits,
        run: impl FnOnce(&Arc<CudaEvent>, &Waits) + Send + 'static,
    ) -> Arc<CudaEvent> {
        let event = CudaEvent::held(&self.device);
        let (device, held) = (Arc::clone(&self.device), Arc::clone(&event));
        let pending = waits.held.clone();
        when_all(&pending, move || {
            let worker = Arc::clone(&device);
            worker.worker.send(Job::Run(Box::new(move || match waits.failure() {
                Some(error) => held.complete(Err(error)),
                None => run(&held, &waits),
            })));
        });
        event
    }

    /// As [`hold`](Self::hold), for work of a thread of its own: everything is waited for first.
    fn run_on_thread(
        &self,
        waits: Waits,
        task: impl FnOnce() -> Result<()> + Send + 'static,
    ) -> Arc<CudaEvent> {
        self.hold(waits, move |event, _| {
            let ended = Arc::clone(event);
            let thread = std::thread::Builder::new().name("stridewise-cuda-task".to_owned());
            let thread = start_thread(thread, move || {
                ended.start();
                let outcome = catch_unwind(AssertUnwindSafe(task));
                let outcome =
                    outcome.unwrap_or_else(|payload| Err(Error::panicked("task", payload.as_ref())));
                ended.complete(outcome);
            });
            if let Err(error) = thread {
                let help = "let the process have more threads";
                event.complete(Err(Error::task("thread", error, "a thread for the task", help)));
            }
        })
    }
}

impl Queue for CudaQueue {
    unsafe fn submit(&self, command: Command, all: &[Wait]) -> Result<Submitted> {
        // A fork or the end of the process waits for this, or this for it.
        let _section = Section::enter();
        self.device.usable()?;
        let failed = |refused| self.device.failed(refused, "a command");
        let _current = self.device.context.enter().map_err(failed)?;
        let orders = matches!(command, Command::Barrier | Command::Advise { .. });
        let route = self.route(command)?;
        let stream = match &route {
            Route::Native(stream, _) => stream,
            _ => &self.work,
        };
        let mut waits = Waits::sort(stream, all);
        // One critical section: of two submissions to an in-order queue, one is the other's predecessor.
        let mut state = self.properties.in_order.then(|| self.lock());
        let mut last = None;
        if let Some(state) = &state
            && let Some(event) = state.last.as_ref().filter(|event| !event.is_noted())
        {
            last = Some(Wait { event: Arc::clone(event) as Arc<dyn Event>, dependency: Dependency::Order });
            // What the driver has, its stream keeps in order.
            if event.native().is_none() {
                waits.held.push(Arc::clone(event) as Arc<dyn Event>);
            }
        }
        let whole: SmallVec<[Wait; 4]> = all.iter().cloned().chain(last).collect();
        let failure = waits.failure();
        let profiling = self.properties.profiling;
        let plain = !self.properties.in_order && !profiling;
        let (device, mut rest) = (Arc::clone(&self.device), None);
        let event = match route {
            _ if orders && plain && waits.are_over() => {
                let event = CudaEvent::held(&device);
                event.complete(failure.map_or(Ok(()), Err));
                event
            }
            Route::Thread(task) => {
                waits.hold_all(&whole);
                self.run_on_thread(waits, task)
            }
            // The event is the driver's only when the rest is done: what comes behind it meanwhile is held back.
            Route::Now(command) if waits.held.is_empty() && failure.is_none() => {
                let event = CudaEvent::held(&device);
                let (held, stream) = (Arc::clone(&event), Arc::clone(&self.work));
                rest = Some(behind(device, stream, held, command, waits, profiling));
                event
            }
            Route::Native(stream, command) if waits.held.is_empty() && failure.is_none() => {
                match enqueue_known(&device, &stream, &command, &waits.native, profiling)? {
                    Some(native) => CudaEvent::enqueued(&device, native),
                    // Its kernels are compiled when the locks are given up.
                    None => {
                        let event = CudaEvent::held(&device);
                        rest = Some(behind(device, stream, Arc::clone(&event), command, waits, profiling));
                        event
                    }
                }
            }
            // The worker calls back and never waits in the driver: copies that may are made by a thread.
            Route::Now(Command::Step(Step::Copy { dst, src, bytes })) => {
                waits.hold_all(&whole);
                let place = |ptr| (ptr, self.device.memory.place(ptr) == Place::Pageable);
                let (dst, src) = (place(dst), place(src));
                // SAFETY: as for the copies of `route`.
                self.run_on_thread(waits, move || unsafe {
                    transfer::copy_pageable(&device, dst, src, bytes)
                })
            }
            Route::Now(command) => {
                self.held(waits, Arc::clone(&self.work), command, &whole, failure.is_some())
            }
            Route::Native(stream, command) => self.held(waits, stream, command, &whole, failure.is_some()),
        };
        if let Some(state) = &mut state {
            state.last = Some(Arc::clone(&event));
        }
        drop(state);
        if event.native().is_none() {
            let mut state = self.lock();
            if state.held.len() >= state.prune_at.max(PRUNE_LEN) {
                state.held.retain(|event| event.upgrade().is_some_and(|event| !event.is_noted()));
                state.prune_at = 2 * state.held.len();
            }
            state.held.push(Arc::downgrade(&event));
        }
        // The driver has it, or the worker will, or this thread gives it to the driver first.
        Ok(match rest {
            None => Submitted::taken(event),
            Some(rest) => Submitted::with_rest(event, rest),
        })
    }

    fn flush(&self) -> Result<()> {
        // The driver begins by itself.
        self.device.usable()
    }

    fn finish(&self) -> Result<()> {
        self.device.usable()?;
        let held = std::mem::take(&mut self.lock().held);
        for event in held.iter().filter_map(Weak::upgrade) {
            // A command's failure is its event's.
            let _ = event.wait();
        }
        for stream in std::iter::once(&self.work).chain(self.copies.get()) {
            let last = stream.last_issued();
            let finished = self.device.context.enter().and_then(|_current| stream.object.synchronize());
            finished.map_err(|refused| self.device.failed(refused, "the work of a queue"))?;
            stream.note(last);
        }
        Ok(())
    }
}

impl CudaQueue {
    /// Holds a command of the driver's back. One that inherits a failure waits for all, as its event is terminal after those.
    fn held(
        &self,
        mut waits: Waits,
        stream: Arc<Stream>,
        command: Command,
        all: &[Wait],
        failed: bool,
    ) -> Arc<CudaEvent> {
        if failed {
            waits.hold_all(all);
        }
        let (device, profiling) = (Arc::clone(&self.device), self.properties.profiling);
        self.hold(waits, move |event, waits| {
            enqueue_held(&device, &stream, event, &command, waits, profiling)
        })
    }
}

/// The rest of a submission, behind core's locks: gives the command to the driver.
fn behind(
    device: Arc<Shared>,
    stream: Arc<Stream>,
    event: Arc<CudaEvent>,
    command: Command,
    waits: Waits,
    profiling: bool,
) -> impl FnOnce() + Send {
    move || {
        let _section = Section::enter();
        enqueue_held(&device, &stream, &event, &command, &waits, profiling);
    }
}

/// Gives a command that was held back to the driver.
fn enqueue_held(
    device: &Arc<Shared>,
    stream: &Arc<Stream>,
    event: &CudaEvent,
    command: &Command,
    waits: &Waits,
    profiling: bool,
) {
    // It may come late.
    let usable = device.usable();
    let given: Result<Native> =
        usable.and_then(|()| enqueue(device, stream, command, &waits.native, profiling));
    match given {
        Ok(native) => event.enqueue(native),
        Err(error) => event.complete(Err(error)),
    }
}
