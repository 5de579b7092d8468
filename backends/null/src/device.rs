//! The driver, its one device, and the device's queues.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use stridewise_core::backend::primitives::{Mutex, MutexGuard};
use stridewise_core::backend::{
    Aspect, Backlog, Capabilities, Command, Dependency, Device, DeviceInfo, DeviceType, Driver, Event,
    EventStatus, HostAccess, LaunchPlan, Partition, Profile, Queue, QueueProperties, RawAllocation, Signal,
    SignalHandle, Submitted, Support, UsmSupport, Wait,
};
use stridewise_core::kernel::{Kernel, LaunchOptions};
use stridewise_core::memory::{UsmKind, UsmPtr};
use stridewise_core::{Dtype, Error, Result};

use crate::DRIVER;
use crate::log::{Logged, LoggedWait, Submission};

/// Every allocation's address is a multiple of this at least.
const ALIGN_BYTES: usize = 64;
/// Where the addresses begin: on 64-bit machines beyond what any process can map.
const FIRST_ADDRESS: usize = 1 << (usize::BITS - 8);
/// The next free address; of the whole process, so that no two devices hand out the same.
static NEXT_ADDRESS: AtomicUsize = AtomicUsize::new(FIRST_ADDRESS);

/// What a null device pretends to be.
#[derive(Clone, Debug)]
pub struct NullConfig {
    /// What it can do. Without [`Aspect::Fp64`] (or `Fp16`) it supports no plan that computes in `float64` or
    /// `complex128` (or `float16`); the allocation aspects are set by `all_kinds`.
    pub aspects: Vec<Aspect>,
    /// Whether it offers host and shared memory too. Such memory is numbers as well: host code that reads or writes it
    /// crashes.
    pub all_kinds: bool,
    /// The allocation that fails: 0 for the first. It fails once.
    pub fail_allocation: Option<usize>,
    /// Whether it takes the kernels that users write.
    pub kernels: bool,
    /// What its device memory is in exchange protocols ([`Capabilities::exchange`]).
    pub exchange: Option<(i32, i32)>,
}

impl Default for NullConfig {
    /// Every aspect but those of host, shared and system memory.
    fn default() -> Self {
        let aspects = vec![
            Aspect::Fp16,
            Aspect::Fp64,
            Aspect::Atomic64,
            Aspect::UsmDeviceAllocations,
            Aspect::QueueProfiling,
        ];
        Self { aspects, all_kinds: false, fail_allocation: None, kernels: true, exchange: None }
    }
}

/// A driver with one [`NullDevice`].
#[derive(Clone)]
pub struct NullDriver {
    device: NullDevice,
}

impl NullDriver {
    /// Makes a driver.
    #[must_use]
    pub fn new(config: NullConfig) -> Self {
        Self { device: NullDevice::new(config) }
    }
    /// Its device, for giving commands.
    #[must_use]
    pub fn device(&self) -> NullDevice {
        self.device.clone()
    }
}

impl Driver for NullDriver {
    fn name(&self) -> &'static str {
        DRIVER
    }
    fn interface(&self) -> u32 {
        1
    }
    fn devices(&self) -> Vec<Arc<dyn Device>> {
        vec![Arc::new(self.device.clone())]
    }
}

/// A device that executes nothing. Clones are the same device.
#[derive(Clone)]
pub struct NullDevice(Arc<Shared>);

struct Shared {
    info: DeviceInfo,
    capabilities: Capabilities,
    fail_allocation: Option<usize>,
    kernels: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    records: Vec<Record>,
    /// Submissions by the address of their event, which the record keeps alive.
    ids: HashMap<usize, usize>,
    /// Submissions that are not terminal.
    unfinished: Vec<usize>,
    /// The last submission of each queue.
    queues: Vec<Option<usize>>,
    live: Vec<RawAllocation>,
    allocations: usize,
    wrong_frees: usize,
    /// Time in this device passes by one nanosecond per stamp.
    ticks: u64,
}

struct Record {
    queue: usize,
    command: Logged,
    waits: Vec<LoggedWait>,
    signal: Arc<Signal>,
    task: Option<Box<dyn FnOnce() -> Result<()> + Send>>,
    submitted: Option<Duration>,
    started: Option<Duration>,
}

impl Record {
    fn ready(&self) -> bool {
        self.signal.status() == EventStatus::Submitted
            && self.waits.iter().all(|wait| wait.event.status().is_terminal())
    }

    fn can_end(&self) -> bool {
        self.ready() || self.signal.status() == EventStatus::Running
    }

    fn inherited(&self) -> Option<Error> {
        let data = self.waits.iter().filter(|wait| wait.dependency == Dependency::Data);
        data.into_iter().find_map(|wait| wait.event.error()).map(Error::inherited)
    }
}

impl State {
    fn tick(&mut self) -> Duration {
        self.ticks += 1;
        Duration::from_nanos(self.ticks)
    }
}

/// The address of an event, its identity as long as it lives.
fn identity(event: &Arc<dyn Event>) -> usize {
    Arc::as_ptr(event).cast::<()>().addr()
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics while the lock is held, so poison means nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a submission, then those that inherit its failure, one after the other.
    fn settle(&self, id: usize, outcome: Result<()>) {
        self.settle_one(id, outcome);
        self.sweep();
    }

    fn settle_one(&self, id: usize, outcome: Result<()>) {
        let (signal, profile, task) = {
            let mut state = self.lock();
            let ended = state.tick();
            let Some(record) = state.records.get_mut(id) else { return };
            let profile = record.submitted.map(|submitted| {
                let started = record.started.unwrap_or(ended);
                Profile { submitted, started, ended }
            });
            (Arc::clone(&record.signal), profile, record.task.take())
        };
        // Without the lock: what a task owns may free memory of this device, and callbacks may come back with questions
        // and submissions.
        drop(task);
        signal.complete(outcome, profile);
        self.lock().unfinished.retain(|other| *other != id);
    }

    /// Fails the submissions that are ready and depend on a failure, until there are none.
    fn sweep(&self) {
        loop {
            let found = {
                let state = self.lock();
                state.unfinished.iter().find_map(|&id| {
                    let record = state.records.get(id).filter(|record| record.ready())?;
                    Some((id, record.inherited()?))
                })
            };
            let Some((id, error)) = found else { break };
            self.settle_one(id, Err(error));
        }
    }
}

impl NullDevice {
    /// Makes a device.
    #[must_use]
    pub fn new(config: NullConfig) -> Self {
        let NullConfig { mut aspects, all_kinds, fail_allocation, kernels, exchange } = config;
        let others = [Aspect::UsmHostAllocations, Aspect::UsmSharedAllocations];
        aspects.retain(|aspect| !others.contains(aspect) && *aspect != Aspect::UsmDeviceAllocations);
        aspects.push(Aspect::UsmDeviceAllocations);
        if all_kinds {
            aspects.extend(others);
        }
        let other = if all_kinds { UsmSupport::Native } else { UsmSupport::Absent };
        let mut info = DeviceInfo::new(DRIVER, "null device", DeviceType::Accelerator);
        "Stridewise".clone_into(&mut info.vendor);
        env!("CARGO_PKG_VERSION").clone_into(&mut info.driver_version);
        info.aspects = aspects;
        let limits = &mut info.limits;
        limits.compute_units = 1;
        limits.global_memory_bytes = 1 << 40;
        limits.local_memory_bytes = 1 << 15;
        limits.private_memory_bytes = 1 << 24;
        limits.max_allocation_bytes = 1 << 40;
        limits.max_work_group_size = 1;
        limits.vector_bytes = 16;
        info.usm = [other, UsmSupport::Native, other];
        let mut capabilities = Capabilities::default();
        if all_kinds {
            capabilities.set_host_access(UsmKind::Host, HostAccess::Direct);
            capabilities.set_host_access(UsmKind::Shared, HostAccess::Direct);
            capabilities.default_kind = UsmKind::Shared;
        }
        capabilities.exchange = exchange;
        capabilities.backlog = Backlog::UNBOUNDED;
        // The test ends them.
        capabilities.ends_commands = false;
        Self(Arc::new(Shared { info, capabilities, fail_allocation, kernels, state: Mutex::default() }))
    }

    /// Everything submitted so far.
    #[must_use]
    pub fn log(&self) -> Vec<Submission> {
        self.log_since(0)
    }

    /// What was submitted from this number on.
    #[must_use]
    pub fn log_since(&self, first: usize) -> Vec<Submission> {
        let state = self.0.lock();
        let records = state.records.iter().enumerate().skip(first);
        records
            .map(|(id, record)| Submission {
                id,
                queue: record.queue,
                command: record.command.clone(),
                waits: record.waits.clone(),
                status: record.signal.status(),
                event: Arc::clone(&record.signal) as Arc<dyn Event>,
            })
            .collect()
    }

    /// The submissions that could start now: submitted, and all of their waits are terminal.
    #[must_use]
    pub fn ready(&self) -> Vec<usize> {
        let state = self.0.lock();
        state
            .unfinished
            .iter()
            .copied()
            .filter(|id| state.records.get(*id).is_some_and(Record::ready))
            .collect()
    }

    /// Marks a submission as running.
    ///
    /// # Errors
    /// [`Error::Value`] when it is not [`ready`](Self::ready).
    pub fn start(&self, id: usize) -> Result<()> {
        let mut state = self.0.lock();
        let now = state.tick();
        match state.records.get_mut(id).filter(|record| record.ready()) {
            Some(record) => {
                record.started = Some(now);
                record.signal.start();
                Ok(())
            }
            None => Err(not_ready(id)),
        }
    }

    /// Completes a submission that is ready or running. The function of a host task is dropped without being called.
    ///
    /// # Errors
    /// [`Error::Value`] when it is neither.
    pub fn complete(&self, id: usize) -> Result<()> {
        self.end(id, Ok(()))
    }

    /// Fails a submission that is ready or running. What waits for it as data fails as soon as its other waits are
    /// terminal.
    ///
    /// # Errors
    /// [`Error::Value`] when it is neither.
    pub fn fail(&self, id: usize, error: Error) -> Result<()> {
        self.end(id, Err(error))
    }

    /// Calls the function of a host task on this thread and ends the submission with its outcome; completes any other
    /// submission.
    ///
    /// # Errors
    /// [`Error::Value`] when it is neither ready nor running. A failure of the function is the event's.
    pub fn execute(&self, id: usize) -> Result<()> {
        let task = {
            let mut state = self.0.lock();
            let now = state.tick();
            let Some(record) = state.records.get_mut(id).filter(|record| record.can_end()) else {
                return Err(not_ready(id));
            };
            record.started.get_or_insert(now);
            record.signal.start();
            record.task.take()
        };
        let outcome = task.map_or(Ok(()), |task| {
            catch_unwind(AssertUnwindSafe(task))
                .unwrap_or_else(|payload| Err(Error::panicked("host task", payload.as_ref())))
        });
        self.end(id, outcome)
    }

    fn end(&self, id: usize, outcome: Result<()>) -> Result<()> {
        if !self.0.lock().records.get(id).is_some_and(Record::can_end) {
            return Err(not_ready(id));
        }
        self.0.settle(id, outcome);
        Ok(())
    }

    /// The allocations that were not freed.
    #[must_use]
    pub fn live_allocations(&self) -> Vec<RawAllocation> {
        self.0.lock().live.clone()
    }

    /// How often something was freed that was not allocated, or not any more.
    #[must_use]
    pub fn wrong_frees(&self) -> usize {
        self.0.lock().wrong_frees
    }
}

fn not_ready(id: usize) -> Error {
    Error::value(
        "id",
        id,
        "a submission that is running, or whose waits are all terminal",
        "see `NullDevice::ready`, and complete its waits first",
    )
}

impl Device for NullDevice {
    fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    fn capabilities(&self) -> &Capabilities {
        &self.0.capabilities
    }

    /// It works on nothing, so where others know its memory, any of theirs may be it.
    fn kind_of(&self, _ptr: UsmPtr) -> Option<UsmKind> {
        self.0.capabilities.exchange.map(|_| UsmKind::Device)
    }

    fn supports_kernel(&self, _kernel: &Kernel, options: LaunchOptions) -> Support {
        if options.time_limit.is_some() {
            return Support::No("a time limit: the program ends its commands".to_owned());
        }
        if !self.0.kernels {
            return Support::No("kernels of users".to_owned());
        }
        Support::Native // It executes this one as little as any other command; core has asked for its dtypes.
    }

    fn supports(&self, plan: &LaunchPlan) -> Support {
        let lacks = |dtype: Dtype| {
            let aspect = match dtype {
                Dtype::F64 | Dtype::C128 => Aspect::Fp64,
                Dtype::F16 => Aspect::Fp16,
                _ => return None,
            };
            (!self.0.info.has(aspect)).then(|| format!("{dtype} needs the aspect {}", aspect.name()))
        };
        let steps = plan.program.steps().iter().flat_map(|step| [step.dtype, step.out]);
        match plan.program.inputs().iter().copied().chain(steps).find_map(lacks) {
            Some(reason) => Support::No(reason),
            None => Support::Native,
        }
    }

    fn alloc(&self, kind: UsmKind, bytes: usize, align: usize) -> Result<RawAllocation> {
        if self.0.info.usm(kind) == UsmSupport::Absent {
            return Err(Error::unsupported(
                "kind",
                kind,
                "memory of kind device",
                "allocate device memory, or make the null device with `all_kinds`",
            ));
        }
        let refused = |why: &'static str| {
            Error::alloc(
                "bytes",
                format!("{bytes} bytes of {kind} memory, at a multiple of {align}, on the null device"),
                why,
                "allocate less, or change `fail_allocation` of the test's device",
            )
        };
        let mut state = self.0.lock();
        let number = state.allocations;
        state.allocations += 1;
        if self.0.fail_allocation == Some(number) {
            return Err(refused("an allocation that the test lets succeed"));
        }
        if bytes as u64 > self.0.info.limits.max_allocation_bytes || !align.is_power_of_two() {
            return Err(refused("what the device's limits allow, at a multiple of a power of two"));
        }
        let align = align.max(ALIGN_BYTES);
        // A gap after each, so that an access beyond an allocation's end is in no other one.
        let reserve =
            |next: usize| next.checked_next_multiple_of(align)?.checked_add(bytes.max(1) + ALIGN_BYTES);
        let Ok(before) = NEXT_ADDRESS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve) else {
            return Err(refused("addresses that are left"));
        };
        let ptr = UsmPtr::new(std::ptr::without_provenance_mut(before.next_multiple_of(align)));
        let memory = RawAllocation { ptr, bytes, kind };
        state.live.push(memory);
        Ok(memory)
    }

    unsafe fn free(&self, memory: RawAllocation) {
        let mut state = self.0.lock();
        match state.live.iter().position(|live| *live == memory) {
            Some(found) => {
                state.live.swap_remove(found);
            }
            None => state.wrong_frees += 1,
        }
    }

    fn create_queue(&self, properties: QueueProperties) -> Result<Arc<dyn Queue>> {
        if properties.profiling && !self.0.info.has(Aspect::QueueProfiling) {
            return Err(Error::unsupported(
                "profiling",
                true,
                "false on a device without the aspect queue_profiling",
                "make the queue without profiling",
            ));
        }
        let mut state = self.0.lock();
        let number = state.queues.len();
        state.queues.push(None);
        Ok(Arc::new(NullQueue { device: Arc::clone(&self.0), number, properties }))
    }

    fn sub_devices(&self, partition: &Partition) -> Result<Vec<Arc<dyn Device>>> {
        Err(Error::device_selection(
            "partition",
            format!("{partition:?} of the null device"),
            "a device of several compute units",
            "use the device as it is",
        ))
    }

    fn signal(&self) -> Result<SignalHandle> {
        let signal = Arc::new(Signal::new(DRIVER));
        let (event, device) = (Arc::clone(&signal) as Arc<dyn Event>, Arc::clone(&self.0));
        let complete = move |outcome| {
            signal.complete(outcome, None);
            device.sweep();
        };
        Ok(SignalHandle { event, complete: Box::new(complete) })
    }
}

struct NullQueue {
    device: Arc<Shared>,
    number: usize,
    properties: QueueProperties,
}

impl Queue for NullQueue {
    unsafe fn submit(&self, command: Command, waits: &[Wait]) -> Result<Submitted> {
        let logged = Logged::of(&command)?;
        let task = if let Command::HostTask(task) = command { Some(task) } else { None };
        let signal = Arc::new(Signal::new(DRIVER));
        let event = Arc::clone(&signal) as Arc<dyn Event>;
        let mut strangers = Vec::new();
        {
            let mut state = self.device.lock();
            let id = state.records.len();
            let mut all: Vec<LoggedWait> = waits
                .iter()
                .map(|wait| LoggedWait {
                    id: state.ids.get(&identity(&wait.event)).copied(),
                    event: Arc::clone(&wait.event),
                    dependency: wait.dependency,
                })
                .collect();
            strangers.extend(all.iter().filter(|wait| wait.id.is_none()).map(|wait| Arc::clone(&wait.event)));
            let previous = state.queues.get(self.number).copied().flatten();
            if let Some(record) =
                previous.filter(|_| self.properties.in_order).and_then(|p| state.records.get(p))
            {
                let event = Arc::clone(&record.signal) as Arc<dyn Event>;
                all.push(LoggedWait { id: previous, event, dependency: Dependency::Order });
            }
            if let Some(last) = state.queues.get_mut(self.number) {
                *last = Some(id);
            }
            let now = state.tick();
            state.ids.insert(identity(&event), id);
            state.unfinished.push(id);
            state.records.push(Record {
                queue: self.number,
                command: logged,
                waits: all,
                signal,
                task,
                submitted: self.properties.profiling.then_some(now),
                started: None,
            });
        }
        let device: Weak<Shared> = Arc::downgrade(&self.device);
        Ok(Submitted::with_rest(event, move || {
            let sweep =
                move |device: &Weak<Shared>| device.upgrade().iter().for_each(|device| device.sweep());
            // Failures of our own submissions are passed on as they happen; those of others are noticed this way.
            for stranger in strangers {
                let device = Weak::clone(&device);
                stranger.on_complete(Box::new(move || sweep(&device)));
            }
            sweep(&device);
        }))
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn finish(&self) -> Result<()> {
        let state = self.device.lock();
        let own = |id: &&usize| state.records.get(**id).is_some_and(|record| record.queue == self.number);
        match state.unfinished.iter().filter(own).count() {
            0 => Ok(()),
            pending => Err(Error::unsupported(
                "queue",
                format!("a null queue with {pending} pending submissions"),
                "a queue without pending submissions, since nothing here completes by itself",
                "complete them first: `NullDevice::ready`, `NullDevice::complete`",
            )),
        }
    }
}
