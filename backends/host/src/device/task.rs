//! A submitted command: waiting for its waits, executed, settled.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;
use stridewise_core::backend::primitives::thread_local;
use stridewise_core::backend::{Command, Event, LaunchPlan, Profile, Step, assert_unlocked, when_all};
use stridewise_core::kernel::KernelLaunch;
use stridewise_core::memory::heap;
use stridewise_core::observe::{self, Doing};
use stridewise_core::routes::{self, Route};
use stridewise_core::{Error, Result, UsmPtr};

use super::event::HostEvent;
use super::state::DeviceState;
use crate::fork_join::{self, Job, helping};
use crate::kernels::{self, Tuning};
use crate::{interpreter, topology};

/// Plans below this estimate are not worth splitting (two to three times the cost of waking a worker); several of them
/// in one command are spread over the workers whole.
const SPLIT_NS: u64 = 50_000;

/// A command with its event.
pub(crate) struct Task {
    pub(crate) device: Arc<DeviceState>,
    pub(crate) event: Arc<HostEvent>,
    pub(crate) command: Command,
    /// The waits whose failure it inherits.
    pub(crate) inherits: SmallVec<[Arc<dyn Event>; 4]>,
    /// When it was submitted, where the queue has profiling.
    pub(crate) submitted: Option<Duration>,
}

impl Task {
    /// Sends the task on its way once all of `waits` are terminal.
    pub(crate) fn after(self, waits: &[Arc<dyn Event>]) {
        self.event.send(&self.device, Duration::from_nanos(estimate_ns(&self.command).unwrap_or(0)), waits);
        if waits.is_empty() {
            return self.dispatch();
        }
        when_all(waits, move || {
            self.event.ready();
            self.dispatch();
        });
    }

    /// Sends a task whose waits are terminal to where it runs.
    fn dispatch(self) {
        if let Some(error) = self.inherited() {
            return self.settle(Err(error), None);
        }
        match self.command {
            Command::Barrier => self.settle(Ok(()), None),
            Command::HostTask(_) => self.run_on_own_thread(),
            _ => {
                routes::take(Route::Pool);
                let device = Arc::clone(&self.device);
                match device.pool() {
                    Ok(pool) => pool.enqueue(Box::new(self)),
                    Err(error) => self.settle(Err(error), None),
                }
            }
        }
    }

    /// Runs a small task to the end on this thread; its waits are terminal.
    pub(crate) fn run_inline(self, estimate_ns: u64) {
        routes::take(Route::Inline);
        if let Some(error) = self.inherited() {
            return self.settle(Err(error), None);
        }
        let device = Arc::clone(&self.device);
        device.run_here(estimate_ns > helping::ALONE_NS, |tuning| self.execute(tuning));
    }

    // On a worker a host task that blocks would take away the thread that could complete what it waits for, and in a pool of
    // one thread wait for itself.
    fn run_on_own_thread(self) {
        routes::take(Route::OwnThread);
        let event = Arc::clone(&self.event);
        let (device, submitted) = (Arc::clone(&self.device), self.submitted);
        let run = move || {
            // The starting thread may be a pinned worker, whose binding is inherited.
            topology::bind_current(&self.device.cpus);
            let tuning = self.device.tuning;
            self.execute(&tuning);
        };
        let threads = match device.blocking.get_or_try_init(|| Ok(Arc::default())) {
            Ok(threads) => threads,
            Err(error) => return settle(event, Err(error), None),
        };
        let spawned = threads.run(Box::new(run));
        if let Err(error) = spawned {
            let error = Error::task(
                "host task",
                format!("not started ({error})"),
                "a thread of its own",
                "have fewer host tasks ready at a time, or raise the limit of processes (ulimit -u)",
            );
            let now = device.origin.elapsed();
            settle(
                event,
                Err(error),
                submitted.map(|submitted| Profile { submitted, started: now, ended: now }),
            );
        }
    }

    fn execute(mut self, tuning: &Tuning) {
        assert_unlocked("a command");
        let started = self.submitted.map(|_| self.device.origin.elapsed());
        let seen = observe::span(Doing::Run, "command", self.event.command(), 0);
        self.event.start();
        let command = std::mem::replace(&mut self.command, Command::Barrier);
        let outcome = catch_unwind(AssertUnwindSafe(|| run(command, tuning)))
            .unwrap_or_else(|payload| Err(Error::panicked("command", payload.as_ref())));
        // Before the event is terminal: who waits for it may look no longer.
        drop(seen);
        self.settle(outcome, started);
    }

    fn inherited(&self) -> Option<Error> {
        self.inherits.iter().find_map(|event| event.error()).map(Error::inherited)
    }

    fn settle(self, outcome: Result<()>, started: Option<Duration>) {
        let profile = self.submitted.map(|submitted| {
            let ended = self.device.origin.elapsed();
            Profile { submitted, started: started.unwrap_or(ended), ended }
        });
        let event = Arc::clone(&self.event);
        // Before the event is terminal: whoever waits for it may count on the task's hold on other events being gone.
        drop(self);
        settle(event, outcome, profile);
    }
}

impl Job for Task {
    fn command(&self) -> usize {
        // The event's number, which no other has while the task has the event.
        self.event.command()
    }

    fn run(self: Box<Self>) {
        // By a hold of the task's own on the device, so that the pool outlives it.
        let device = Arc::clone(&self.device);
        if let Some(pool) = device.started() {
            fork_join::within(pool, self.event.command(), || (*self).execute(&device.tuning));
        }
    }
}

/// Whether a command needs the pool, and its rough time on one thread if so.
pub(crate) fn estimate_ns(command: &Command) -> Option<u64> {
    match command {
        Command::Step(step) => Some(step_ns(step)),
        Command::Sequence(steps) => Some(steps.iter().fold(0, |sum, step| sum.saturating_add(step_ns(step)))),
        // A page that is not there yet costs about as much as copying it does, one that is there nothing.
        Command::Advise { bytes, .. } => Some(bytes_ns(*bytes)),
        _ => None,
    }
}

fn step_ns(step: &Step) -> u64 {
    match step {
        Step::Launch(plans) => plans_ns(plans),
        Step::Stages(stages) => stages_ns(stages),
        Step::Kernel(launch) => interpreter::estimate_ns(launch),
        Step::Copy { bytes, .. } | Step::Fill { bytes, .. } => bytes_ns(*bytes),
        // Refused when it is run.
        _ => 0,
    }
}

/// How long one thread copies or fills so much, roughly; with half or twice as long, copies of 24 Ki to 1 Mi `float32` took
/// as long, as far as they can be told apart from drift.
fn bytes_ns(bytes: usize) -> u64 {
    bytes as u64 / 8
}

fn stages_ns(stages: &[Vec<LaunchPlan>]) -> u64 {
    stages.iter().fold(0, |sum, plans| sum.saturating_add(plans_ns(plans)))
}

fn plans_ns(plans: &[LaunchPlan]) -> u64 {
    plans.iter().fold(0, |sum, plan| sum.saturating_add(kernels::estimate_ns(plan)))
}

fn run(command: Command, tuning: &Tuning) -> Result<()> {
    match command {
        Command::Step(step) => run_step(&step, tuning)?,
        Command::Sequence(steps) => steps.iter().try_for_each(|step| run_step(step, tuning))?,
        Command::Advise { ptr, bytes, advice } => crate::memory::advise(ptr.as_ptr(), bytes, advice),
        Command::HostTask(task) => task()?,
        _ => {}
    }
    Ok(())
}

fn run_step(step: &Step, tuning: &Tuning) -> Result<()> {
    match step {
        Step::Launch(plans) => launch(plans, tuning),
        Step::Stages(stages) => launch_stages(stages, tuning),
        Step::Kernel(kernel) => run_kernel(kernel, tuning),
        Step::Copy { dst, src, bytes } => {
            copy(*dst, *src, *bytes, tuning);
            Ok(())
        }
        Step::Fill { dst, bytes, pattern, pattern_bytes } => {
            fill(*dst, *bytes, &pattern[..*pattern_bytes], tuning);
            Ok(())
        }
        _ => Err(Error::unsupported(
            "command",
            format!("{step:?}"),
            "a launch, stages, a kernel, a copy or a fill",
            "use a later version of this backend",
        )),
    }
}

fn run_kernel(kernel: &KernelLaunch, tuning: &Tuning) -> Result<()> {
    // SAFETY: `Queue::submit`'s contract, and core launches what `supports_kernel` accepts only.
    unsafe { interpreter::run_kernel(kernel, tuning) }
}

fn copy(dst: UsmPtr, src: UsmPtr, bytes: usize, tuning: &Tuning) {
    // SAFETY: `Queue::submit`'s contract: the ranges are allocated, disjoint, and nothing else accesses them until the event of
    // this command is terminal.
    unsafe { kernels::copy(dst.as_ptr(), src.as_ptr(), bytes, tuning) };
}

fn fill(dst: UsmPtr, bytes: usize, pattern: &[u8], tuning: &Tuning) {
    // SAFETY: `Queue::submit`'s contract: the range is allocated, and nothing else accesses it until the event of this command is
    // terminal; the pattern's length divides the address and the length.
    unsafe { kernels::fill(dst.as_ptr(), bytes, pattern, tuning) };
}

fn launch(plans: &[LaunchPlan], tuning: &Tuning) -> Result<()> {
    // SAFETY: `Queue::submit`'s contract: the plans are valid, independent of each other, and nothing else accesses
    // their memory in conflict until the event of this command is terminal.
    let run = |group: &[LaunchPlan], tuning: &Tuning| unsafe { kernels::run_group(group, tuning) };
    let several = tuning.threads > 1 && kernels::groups(plans).nth(1).is_some();
    let mut small: Vec<&[LaunchPlan]> = Vec::new();
    for group in kernels::groups(plans) {
        if several && group.iter().map(kernels::estimate_ns).sum::<u64>() < SPLIT_NS {
            heap::push("plans", &mut small, group)?;
        } else {
            run(group, tuning)?;
        }
    }
    let whole = Tuning { threads: 1, ..*tuning };
    kernels::try_share(fork_join::direction(), small.len(), tuning.threads, &|part| run(small[part], &whole))
}

fn launch_stages(stages: &[Vec<LaunchPlan>], tuning: &Tuning) -> Result<()> {
    // SAFETY: `Queue::submit`'s contract: each plan is valid and one that `supports` accepts, and nothing
    // else accesses their memory in conflict until the event of this command is terminal; what a stage reads
    // of earlier ones, nobody else writes.
    if unsafe { kernels::by_rows(stages, tuning) }? {
        return Ok(());
    }
    stages.iter().try_for_each(|plans| launch(plans, tuning))
}

type Settled = (Arc<HostEvent>, Result<()>, Option<Profile>);

thread_local! {
    static SETTLING: RefCell<Option<VecDeque<Settled>>> = const { RefCell::new(None) };
}

/// Completes an event. Completing one may settle the next (a barrier, an inherited failure), whose completion may settle
/// another: within a thread they are done one after the other, because a chain of a hundred thousand would not fit on
/// the stack.
fn settle(event: Arc<HostEvent>, outcome: Result<()>, profile: Option<Profile>) {
    let mut next = Some((event, outcome, profile));
    // An error here means that this thread is ending and its storage gone; then the event is completed at once.
    let _ = SETTLING.try_with(|settling| {
        let mut settling = settling.borrow_mut();
        match settling.as_mut() {
            Some(queue) => queue.extend(next.take()),
            None => *settling = Some(VecDeque::new()),
        }
    });
    while let Some((event, outcome, profile)) = next.take() {
        event.complete(outcome, profile);
        // The thread's storage is gone when the thread is ending; then nothing was queued either.
        next = SETTLING
            .try_with(|settling| {
                let mut settling = settling.borrow_mut();
                let following = settling.as_mut().and_then(VecDeque::pop_front);
                if following.is_none() {
                    *settling = None;
                }
                following
            })
            .ok()
            .flatten();
    }
}
