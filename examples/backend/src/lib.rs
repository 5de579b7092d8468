//! A backend of plain loops: the template for one of your own.
//!
//! One thread takes commands whose waits are over, one after the other. What it does for each is in `compute.rs`. The contract
//! that all of it keeps stands at the head of [`stridewise_core::backend`].

use std::alloc::{Layout, alloc, dealloc};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock, PoisonError};

use stridewise_core::backend::sync::{Mutex, MutexGuard};
use stridewise_core::backend::{
    Aspect, Backlog, Capabilities, Command, Dependency, Device, DeviceInfo, DeviceType, Driver, Event,
    HostAccess, LaunchPlan, Partition, PerProcess, Queue, QueueProperties, RawAllocation, Signal,
    SignalHandle, Submitted, Support, UsmSupport, Wait, primitives, start_thread,
};
use stridewise_core::kernel::{Kernel, LaunchOptions};
use stridewise_core::memory::heap;
use stridewise_core::{Error, Result, UsmKind, UsmPtr};

mod compute;

/// The driver's name, as filter strings and events have it.
const DRIVER: &str = "loops";
/// Bytes that the device says to have.
const MEMORY_BYTES: u64 = 1 << 32;

/// The driver. A program that links this crate says `stridewise_core::register_driver!(stridewise_loops::driver);`.
#[must_use]
pub fn driver() -> Arc<dyn Driver> {
    Arc::new(LoopsDriver(OnceLock::new()))
}

struct LoopsDriver(OnceLock<Arc<LoopsDevice>>);

impl Driver for LoopsDriver {
    fn name(&self) -> &'static str {
        DRIVER
    }
    fn interface(&self) -> u32 {
        // The version that this was written for, as a number: not `INTERFACE`, which always is the newest.
        1
    }
    fn devices(&self) -> Vec<Arc<dyn Device>> {
        vec![Arc::clone(self.0.get_or_init(|| Arc::new(LoopsDevice::new()))) as Arc<dyn Device>]
    }
}

struct LoopsDevice {
    info: DeviceInfo,
    capabilities: Capabilities,
    /// Where the device's thread gets its work. A process that is forked has no thread until it starts one.
    worker: Arc<PerProcess<Sender<Arc<Pending>>>>,
}

impl LoopsDevice {
    fn new() -> Self {
        let mut info = DeviceInfo::new(DRIVER, "loops over scalars", DeviceType::Cpu);
        info.vendor = "the author".to_owned();
        info.driver_version = env!("CARGO_PKG_VERSION").to_owned();
        info.aspects = vec![
            Aspect::Fp16,
            Aspect::Fp64,
            Aspect::UsmDeviceAllocations,
            Aspect::UsmHostAllocations,
            Aspect::UsmSharedAllocations,
            Aspect::CorrectlyRoundedDivision,
        ];
        info.limits.compute_units = 1;
        info.limits.global_memory_bytes = MEMORY_BYTES;
        info.limits.max_allocation_bytes = MEMORY_BYTES;
        info.limits.max_work_group_size = 1;
        info.usm = [UsmSupport::Native; 3];

        // All that core asks beyond the traits. What is not set is not there: no sources, no memory of others.
        let mut capabilities = Capabilities::default();
        capabilities.set_host_access(UsmKind::Host, HostAccess::Direct);
        capabilities.set_host_access(UsmKind::Shared, HostAccess::Direct);
        capabilities.default_kind = UsmKind::Shared;
        capabilities.on_processor = true;
        capabilities.backlog = Backlog::of_memory(MEMORY_BYTES);
        Self { info, capabilities, worker: Arc::default() }
    }
}

impl Device for LoopsDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
    fn supports(&self, plan: &LaunchPlan) -> Support {
        compute::supports(plan)
    }
    fn supports_kernel(&self, _kernel: &Kernel, _options: LaunchOptions) -> Support {
        Support::No("kernels of users: this device has loops for arrays alone".to_owned())
    }
    fn alloc(&self, kind: UsmKind, bytes: usize, align: usize) -> Result<RawAllocation> {
        let refused = |expected: &str| {
            let value = format!("{bytes} bytes of {kind} memory at a multiple of {align}");
            Error::alloc("bytes", value, expected.to_owned(), "allocate less")
        };
        if bytes as u64 > MEMORY_BYTES {
            return Err(refused("no more than the device has"));
        }
        let Ok(layout) = Layout::from_size_align(bytes, align) else {
            return Err(refused("a size and a power of two that the system can have"));
        };
        // Whatever grows with what a program does is asked for.
        let mut sizes = sizes();
        heap::reserve("allocations", &mut sizes, 1)?;
        // SAFETY: the layout is not of zero bytes, as core asks for some.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            return Err(refused("no more than the system has left"));
        }
        sizes.push((start.addr(), layout));
        Ok(RawAllocation { ptr: UsmPtr::new(start), bytes, kind })
    }
    unsafe fn free(&self, memory: RawAllocation) {
        let found = {
            let mut sizes = sizes();
            let place = sizes.iter().position(|(start, _)| *start == memory.ptr.addr());
            place.map(|place| sizes.swap_remove(place).1)
        };
        if let Some(layout) = found {
            // SAFETY: allocated with this layout in `alloc`, and freed once, as it is in the list no more; nothing uses it, by
            // the caller's promise.
            unsafe { dealloc(memory.ptr.as_ptr(), layout) }
        }
    }
    fn create_queue(&self, properties: QueueProperties) -> Result<Arc<dyn Queue>> {
        if properties.profiling {
            let help = "make the queue without";
            return Err(Error::unsupported("profiling", true, "a device with time stamps", help));
        }
        let (worker, submitted) = (Arc::clone(&self.worker), Mutex::default());
        Ok(Arc::new(LoopsQueue { worker, in_order: properties.in_order, submitted }))
    }
    fn sub_devices(&self, partition: &Partition) -> Result<Vec<Arc<dyn Device>>> {
        let value = format!("{partition:?} of one thread");
        let help = "use the device as a whole";
        Err(Error::device_selection("partition", value, "a device that can be divided", help))
    }
    fn signal(&self) -> Result<SignalHandle> {
        Ok(Signal::promise(DRIVER))
    }
}

/// What memory was allocated with, by its address. The lock is of the engine's kind, which a fork waits for.
fn sizes() -> MutexGuard<'static, Vec<(usize, Layout)>> {
    static SIZES: Mutex<Vec<(usize, Layout)>> = Mutex::new(Vec::new());
    SIZES.lock().unwrap_or_else(PoisonError::into_inner)
}

struct LoopsQueue {
    worker: Arc<PerProcess<Sender<Arc<Pending>>>>,
    in_order: bool,
    /// Ends of commands that are perhaps not terminal, in the order of submission.
    submitted: Mutex<Vec<Arc<Signal>>>,
}

/// A command that was taken.
struct Pending {
    command: Mutex<Option<Command>>,
    end: Arc<Signal>,
    /// Waits that are not over, and one for the submission itself.
    left: AtomicUsize,
    /// The failure of what the command reads.
    failure: Mutex<Option<Error>>,
    worker: Sender<Arc<Self>>,
}

impl Queue for LoopsQueue {
    // This is called under locks of core: it computes nothing and waits for nothing. Callbacks of waits that are over already
    // run here, and do no more than hand the command on.
    unsafe fn submit(&self, command: Command, waits: &[Wait]) -> Result<Submitted> {
        let worker = self.worker.get_or_try_init(start)?.clone();
        let end = Arc::new(Signal::new(DRIVER));
        let previous = {
            let mut submitted = self.submitted.lock().unwrap_or_else(PoisonError::into_inner);
            submitted.retain(|end| !end.status().is_terminal());
            let previous = submitted.last().filter(|_| self.in_order).map(Arc::clone);
            submitted.push(Arc::clone(&end));
            previous
        };
        let in_order = previous.map(|event| Wait { event, dependency: Dependency::Order });
        let waits: Vec<Wait> = waits.iter().cloned().chain(in_order).collect();
        let pending = Arc::new(Pending {
            command: Mutex::new(Some(command)),
            end: Arc::clone(&end),
            left: AtomicUsize::new(waits.len() + 1),
            failure: Mutex::default(),
            worker,
        });
        for Wait { event, dependency } in waits {
            let (pending, ended) = (Arc::clone(&pending), Arc::clone(&event));
            event.on_complete(Box::new(move || {
                if let Some(error) = ended.error().filter(|_| dependency == Dependency::Data) {
                    let mut failure = pending.failure.lock().unwrap_or_else(PoisonError::into_inner);
                    failure.get_or_insert(error.inherited());
                }
                pending.is_over();
            }));
        }
        pending.is_over();
        Ok(Submitted::taken(end))
    }
    fn flush(&self) -> Result<()> {
        Ok(())
    }
    fn finish(&self) -> Result<()> {
        let submitted = self.submitted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for end in submitted {
            // Its failure is the event's.
            drop(end.wait());
        }
        Ok(())
    }
}

impl Pending {
    /// One wait less; behind the last one, the command is the thread's.
    fn is_over(self: &Arc<Self>) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1
            && let Err(refused) = self.worker.send(Arc::clone(self))
        {
            let text = "the device's thread has ended";
            let error = Error::runtime("command", text, "a thread that takes it", "report it");
            refused.0.end.complete(Err(error), None);
        }
    }

    fn run(self: Arc<Self>) {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        let command = self.command.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(command) = command.filter(|_| failure.is_none()) else {
            self.end.complete(failure.map_or(Ok(()), Err), None);
            return;
        };
        self.end.start();
        match command {
            // It may block, until the program goes on: on a thread of its own.
            Command::HostTask(task) => {
                let end = Arc::clone(&self.end);
                let thread = primitives::thread::Builder::new().name("loops-task".to_owned());
                if let Err(error) = start_thread(thread, move || end.complete(guarded(task), None)) {
                    self.end.complete(Err(no_thread(&error)), None);
                }
            }
            // SAFETY: the command is valid and its memory is live and accessed by nothing else, by the contract of `submit`: its
            // waits are over.
            command => drop(self.end.complete(guarded(|| unsafe { compute::run(&command) }), None)),
        }
    }
}

/// What a function ends with, a panic being an error.
fn guarded(run: impl FnOnce() -> Result<()>) -> Result<()> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        Err(Error::runtime(
            "command",
            "a panic",
            "a command that ends",
            "see what was written where it happened",
        ))
    })
}

fn no_thread(error: &std::io::Error) -> Error {
    Error::runtime("thread", error, "a thread that the system starts", "run fewer threads")
}

/// Starts the device's thread, which ends when nobody can send it anything any more.
fn start() -> Result<Sender<Arc<Pending>>> {
    let (sender, receiver) = channel::<Arc<Pending>>();
    let run = move || receiver.into_iter().for_each(Pending::run);
    let thread = primitives::thread::Builder::new().name("loops".to_owned());
    start_thread(thread, run).map_err(|error| no_thread(&error))?;
    Ok(sender)
}
