//! The backend boundary: four object-safe traits, and the plain data that crosses them.
//!
//! A [`Driver`] lists devices; a [`Device`] allocates and makes queues; a [`Queue`] takes [`Command`]s and the events
//! they wait for; an [`Event`] tells when one is done. Core calls them once per launch, never per element.
//!
//! A backend is a crate that implements these traits and registers its driver by [`register_driver!`](crate::register_driver);
//! nothing of the engine is touched. Programs that only compute need none of it, but for [`DeviceInfo`]. Where a runtime has no
//! events of its own, a backend hands out a [`Signal`] and completes it when the work is done:
//!
//! ```
//! use std::sync::Arc;
//! use stridewise_core::backend::{Event, EventStatus, Signal};
//!
//! let event = Arc::new(Signal::new("example"));
//! let worker = { let event = Arc::clone(&event); std::thread::spawn(move || event.complete(Ok(()), None)) };
//! event.wait()?;
//! assert_eq!(event.status(), EventStatus::Complete);
//! assert!(worker.join().is_ok_and(|first| first)); // the first outcome counts
//! # Ok::<(), stridewise_core::Error>(())
//! ```
//!
//! Definitions. *Terminal*: complete or failed. *Driver*: everything that one [`Driver`] listed; pointers and events
//! of one driver mean nothing to another.
//!
//! What core guarantees to a backend:
//! - the waits of a submission are events of the same driver (core bridges foreign ones by [`Device::signal`]);
//! - the command is valid: see [`LaunchPlan`]; copies and fills are in bounds;
//! - memory that a command touches stays allocated until its event is terminal; a backend keeps nothing alive.
//!
//! What a backend guarantees to core:
//! - `Err` from [`Queue::submit`] means that nothing was enqueued; a later failure makes the event fail, and every
//!   event whose submission named it as a [`Dependency::Data`] wait;
//! - [`Queue::submit`] takes a command and does nothing else: it computes nothing, waits for nothing and runs nobody's code,
//!   as it is called under locks of core. What the calling thread is to do for the command is handed back
//!   ([`Submitted::rest`]), and core does it at once after unlocking;
//! - there is no order but the waits, unless the queue is in-order;
//! - an event becomes terminal, failed included, only when all its waits are terminal;
//! - when an event is complete, the effects of its command are visible to the host (host and shared memory) and to
//!   every command that waited for it;
//! - callbacks given to [`Event::on_complete`] run exactly once, soon after the event is terminal, on any thread
//!   (the caller's where it is terminal already); they never block;
//! - every method may be called from any thread, dropping included; dropping a queue with work pending loses no work;
//! - a panic that goes through its methods leaves everything usable (what refers to devices, queues and events is
//!   `UnwindSafe` and `RefUnwindSafe`).

mod all;
mod backlog;
mod capabilities;
mod command;
mod disk;
mod finding;
mod immediate;
mod info;
#[cfg(all(test, feature = "interleavings"))]
mod interleavings;
mod interrupt;
mod recent;
mod routine;
mod signal;
mod source;
mod way;

pub use all::when_all;
pub use backlog::Backlog;
pub use capabilities::{Capabilities, HostAccess, Interprocess, MemoryHandle};
pub use command::{Advice, Command, Step};
pub use disk::{KERNEL_CACHE_VARIABLE, KernelCache};
pub use finding::{Finding, Health, is_switched_on};
pub use immediate::{Elements, ElementsFn, FoldExtents, Immediate, REVERSED, SAME, SECONDS};
pub use info::{
    AffinityDomain, Aspect, Cache, DeviceInfo, DeviceType, Limits, Partition, Topology, UsmSupport,
};
pub use interrupt::{Caller, Interrupt, beside, check_interrupt, set_interrupt};
pub(crate) use interrupt::{STEPS, address, interrupt, wait, wait_for};
pub use recent::Recent;
pub use routine::{Routine, RoutineKind};
pub use signal::Signal;
pub use source::{
    CompiledKernel, Language, ParameterSpace, Source, SourceKernelInfo, SourceLaunch, SourceParameter,
    SourceValue,
};

pub use way::Way;

/// What a backend's threads meet by.
pub use crate::sync::{
    self, Home, PerProcess, RuntimeCall, assert_unlocked, check_end, primitives, start_scoped_thread,
    start_thread,
};
/// What a launch is made of: the layouts of its operands, the program of each element, and the plan.
pub use crate::{
    layout::{
        Coalesced, Dims, Indices, coalesce, normalize_axes, normalize_axis, overlaps, resolve_shape,
        same_view, self_overlaps,
    },
    plan::{
        Family, IndexedAxis, LaunchPlan, MAX_PLAN_DIMS, MatrixProduct, Operand, ProductSide, Stored,
        VectorProduct,
    },
    program::{
        Arg, Fold, MAX_CONSTS, MAX_INPUTS, MAX_OUTPUTS, MAX_STEPS, Program, ProgramBuilder, ProgramStep,
    },
};

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::form::{Kernel, LaunchOptions};
use crate::memory::pointer::{UsmKind, UsmPtr};
use crate::ops::Op;

/// The version of this interface: of the traits, and of what core and a backend guarantee to each other. It is raised when a
/// guarantee changes or a method that every backend has.
pub const INTERFACE: u32 = 1;

/// Lists the devices that one runtime offers.
pub trait Driver: Send + Sync {
    /// The first part of the devices' filter strings: `host`, `opencl`.
    fn name(&self) -> &'static str;
    /// Which version of this interface the driver was written for, as a number in its source: [`INTERFACE`] as it was then.
    /// The devices of a driver of another version are not listed, and [`doctor`](crate::doctor()) says why: what compiles may
    /// still break a guarantee that has changed since.
    fn interface(&self) -> u32;
    /// The root devices. A missing runtime is an empty list, never an error.
    fn devices(&self) -> Vec<Arc<dyn Device>>;
    /// Whether there may be a device of a type among them, by what costs next to nothing: no runtime is loaded for it. Where there
    /// cannot be one, [`devices`](Self::devices) is not asked by who looks for the default device.
    fn may_have(&self, device_type: DeviceType) -> bool {
        let _ = device_type;
        true
    }
    /// Why it listed what it listed: the runtime, what was refused and why, and of every environment variable that it reads,
    /// what its value does. Asked after [`devices`](Self::devices), by [`doctor`](crate::doctor()).
    fn diagnose(&self) -> Vec<Finding> {
        Vec::new()
    }
}

/// Registers a driver in a `static`, so that its devices are found by filter strings and the default-device choice:
/// the one line of the facade crate per backend.
#[derive(Debug)]
pub struct Registration {
    /// Makes the driver; called once.
    pub driver: fn() -> Arc<dyn Driver>,
}
inventory::collect!(Registration);

/// Registers a driver, given as a function that makes it: `register_driver!(stridewise_host::driver);`.
#[macro_export]
macro_rules! register_driver {
    ($driver:path) => {
        $crate::backend::inventory::submit! { $crate::backend::Registration { driver: $driver } }
    };
}
#[doc(hidden)]
pub use inventory;

/// Whether a device can run a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Support {
    /// It can.
    Native,
    /// It cannot, and why.
    No(String),
}

/// Memory as a backend gives it to core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawAllocation {
    /// Start of the memory.
    pub ptr: UsmPtr,
    /// Its length.
    pub bytes: usize,
    /// Its kind.
    pub kind: UsmKind,
}

/// One device: what it is, its memory and its queues.
pub trait Device: Send + Sync {
    /// What the device is.
    fn info(&self) -> &DeviceInfo;
    /// What it can do beyond the minimum, always the same.
    fn capabilities(&self) -> &Capabilities;
    /// Whether it can run a plan.
    fn supports(&self, plan: &LaunchPlan) -> Support;
    /// Whether it can run a kernel that a user wrote so.
    fn supports_kernel(&self, kernel: &Kernel, options: LaunchOptions) -> Support;
    /// How it would run a command whose addresses may be of no memory, for people: nothing is decided by it.
    fn way(&self, command: &Command) -> Way {
        let _ = command;
        Way::default()
    }
    /// Compiles the kernels of a source in one of its languages ([`Capabilities::languages`]). Called without a lock of core;
    /// takes seconds perhaps.
    ///
    /// # Errors
    /// [`Error::Compilation`] with the compiler's log; what the runtime reports.
    fn compile(&self, source: Source<'_>, options: &str) -> Result<Vec<CompiledKernel>> {
        let _ = options;
        let help = "ask `capabilities` for its languages first";
        Err(Error::unsupported("source", source.language(), "a language that the device takes", help))
    }
    /// How far the result of an operation on a dtype may be from the exact one, in units in the last place, where the
    /// device computes it by functions of its own: 0 for exact and correctly rounded results; of complex numbers, in
    /// units of the greater part. `None` where it computes by the engine's own functions.
    fn error_bound(&self, op: Op, dtype: Dtype) -> Option<f64> {
        let _ = (op, dtype);
        None
    }
    /// The kind of this device's memory that an address is in, as the runtime tells, whoever allocated it: for memory of others that is
    /// described by its address. `None` where it is none of this device's.
    fn kind_of(&self, ptr: UsmPtr) -> Option<UsmKind> {
        let _ = ptr;
        None
    }
    /// Has a stream of another library begin nothing more before events of this driver are over, however they end. The number is the
    /// one that exchange protocols have for it ([`Capabilities::exchange`]). A device without streams waits for the events.
    ///
    /// # Errors
    /// What the runtime reports.
    ///
    /// # Safety
    /// The number is that of a stream that is there.
    unsafe fn lead(&self, stream: usize, events: &[Arc<dyn Event>]) -> Result<()> {
        let _ = stream;
        for event in events {
            match wait(&**event) {
                Err(error) if !event.status().is_terminal() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
    /// Has this device's queues begin nothing more before what a stream of another library was given so far is over.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where it has no streams; what the runtime reports.
    ///
    /// # Safety
    /// The number is that of a stream that is there.
    unsafe fn follow(&self, stream: usize) -> Result<()> {
        Err(Error::unsupported(
            "stream",
            stream,
            "a device that has streams",
            "hand the array over without a stream, once its elements are there",
        ))
    }
    /// How it computes on the calling thread; `None` where it does not.
    fn immediate(&self) -> Option<&dyn Immediate> {
        None
    }
    /// Waits until the device's runtime has nothing to do any more, but not for longer than until then: the process forks or
    /// ends, and the runtime's own threads and commands would not outlive that. Nothing is submitted meanwhile. A backend
    /// without a runtime does nothing.
    fn settle(&self, deadline: Instant) {
        let _ = deadline;
    }
    /// Calls a function with ranges that make up `0..len`, each once: on the calling thread and, where one is awake to help, on
    /// another of the device; or on all that compute nothing else. It returns when all calls have, and nothing in it waits for
    /// other work.
    ///
    /// # Panics
    /// With the panic of a call.
    fn share(&self, len: usize, by_all: bool, run: &(dyn Fn(Range<usize>) + Sync)) {
        let _ = by_all;
        run(0..len);
    }
    /// Allocates `bytes` (not 0) at an address that is a multiple of `align` (a power of two). Core pools what it gets,
    /// so this is called for large blocks and rarely.
    ///
    /// # Errors
    /// [`Error::Alloc`] when there is no memory, [`Error::Unsupported`] where the device has no memory of the kind.
    fn alloc(&self, kind: UsmKind, bytes: usize, align: usize) -> Result<RawAllocation>;
    /// By what another process opens device memory of this one ([`Interprocess::Driver`]).
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the driver has no such handles; what the runtime reports.
    fn memory_handle(&self, ptr: UsmPtr) -> Result<MemoryHandle> {
        Err(capabilities::no_handles(ptr))
    }
    /// So many bytes of device memory that another process has, which [`free`](Self::free) closes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the driver has no such handles; what the runtime reports of a handle whose memory is gone.
    fn open_memory(&self, handle: &MemoryHandle, bytes: usize) -> Result<RawAllocation> {
        let _ = bytes;
        Err(capabilities::no_handles(handle.offset))
    }
    /// Frees memory.
    ///
    /// # Safety
    /// `memory` came from [`alloc`](Self::alloc) or [`open_memory`](Self::open_memory) of this device, was not freed, and no pending
    /// command touches it.
    unsafe fn free(&self, memory: RawAllocation);
    /// Gives the contents of free memory back to the system while keeping its addresses; a hint.
    ///
    /// # Safety
    /// As for [`free`](Self::free), but the memory stays allocated; its contents become undefined.
    unsafe fn discard(&self, memory: RawAllocation) {
        let _ = memory;
    }
    /// Lets host code reach a range of host or shared memory, for reading or for reading and writing, until
    /// [`unmap`](Self::unmap). Called before every access by the host; a device whose memory the host reaches anyway
    /// does nothing. Ranges that are mapped at the same time overlap only where all of them are for reading.
    ///
    /// # Errors
    /// What the runtime reports.
    ///
    /// # Safety
    /// The range is inside memory from [`alloc`](Self::alloc) of this device (or its like, where the memory came from
    /// elsewhere), and no pending command conflicts with the access.
    unsafe fn map(&self, ptr: UsmPtr, bytes: usize, write: bool) -> Result<()> {
        let _ = (ptr, bytes, write);
        Ok(())
    }
    /// Ends what [`map`](Self::map) began, with the same range; what the host wrote is then visible to commands.
    ///
    /// # Errors
    /// What the runtime reports.
    ///
    /// # Safety
    /// The range is mapped, and host code does not touch it any more.
    unsafe fn unmap(&self, ptr: UsmPtr, bytes: usize) -> Result<()> {
        let _ = (ptr, bytes);
        Ok(())
    }
    /// Makes a queue.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for properties that the device lacks, or what the runtime reports.
    fn create_queue(&self, properties: QueueProperties) -> Result<Arc<dyn Queue>>;
    /// Divides the device.
    ///
    /// # Errors
    /// [`Error::DeviceSelection`] where it cannot be divided so.
    fn sub_devices(&self, partition: &Partition) -> Result<Vec<Arc<dyn Device>>>;
    /// An event of this device's driver that core completes: how work of another driver, or of the host, is waited for.
    ///
    /// # Errors
    /// What the runtime reports.
    fn signal(&self) -> Result<SignalHandle>;
}

/// An event and the means to complete it.
pub struct SignalHandle {
    /// Usable as a wait on the device that made it.
    pub event: Arc<dyn Event>,
    /// Called once, with the outcome; must not block.
    pub complete: Box<dyn FnOnce(Result<()>) + Send>,
}

impl fmt::Debug for SignalHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignalHandle").finish_non_exhaustive()
    }
}

/// How a queue behaves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct QueueProperties {
    /// Every command also waits for the one submitted before it.
    pub in_order: bool,
    /// Events carry time stamps.
    pub profiling: bool,
}

/// What a wait means for a command.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dependency {
    /// The command uses what the event's command produced: a failure is inherited.
    Data,
    /// The command must only come later (it overwrites what the other one reads or writes): a failure is not inherited.
    Order,
}

/// An event that a command waits for.
#[derive(Clone, Debug)]
pub struct Wait {
    /// The event.
    pub event: Arc<dyn Event>,
    /// What the wait means.
    pub dependency: Dependency,
}

/// What the calling thread is to do for a command that was taken.
pub type Rest = Box<dyn FnOnce() + Send>;

/// A command that was taken.
#[non_exhaustive]
pub struct Submitted {
    /// Its end.
    pub event: Arc<dyn Event>,
    /// What the thread that submitted it is to do, once, after it has given up its locks and before anything else: without
    /// it the event may never be terminal. What several submissions left is done in their order.
    pub rest: Option<Rest>,
}

impl Submitted {
    /// A command of which nothing is left to do.
    #[must_use]
    pub fn taken(event: Arc<dyn Event>) -> Self {
        Self { event, rest: None }
    }

    /// A command, and what is left to do.
    #[must_use]
    pub fn with_rest(event: Arc<dyn Event>, rest: impl FnOnce() + Send + 'static) -> Self {
        Self { event, rest: Some(Box::new(rest)) }
    }

    /// Does what is left: for callers that hold no lock.
    pub fn proceed(self) -> Arc<dyn Event> {
        if let Some(rest) = self.rest {
            rest();
        }
        self.event
    }
}

impl fmt::Debug for Submitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Submitted({:?})", self.event)
    }
}

/// Takes commands. Dropping it loses no submitted work.
pub trait Queue: Send + Sync {
    /// Takes a command that is to run behind its waits. Called under locks of core: see the module's contract.
    ///
    /// # Errors
    /// Nothing was enqueued; the error says why.
    ///
    /// # Safety
    /// The command is valid (see the module's contract) and its memory stays allocated, and is accessed by nothing else
    /// in conflict, from when its waits are terminal until its event is. What is handed back is run, once, soon, on this
    /// thread.
    unsafe fn submit(&self, command: Command, waits: &[Wait]) -> Result<Submitted>;
    /// Starts whatever the queue holds back; a backend that holds nothing back does nothing.
    ///
    /// # Errors
    /// What the runtime reports.
    fn flush(&self) -> Result<()>;
    /// Waits until every command submitted so far is terminal.
    ///
    /// # Errors
    /// What the runtime reports; failures of commands are their events'.
    fn finish(&self) -> Result<()>;
}

/// Where a command is on its way (SYCL 2020, `info::event_command_status`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EventStatus {
    /// Waiting for its waits or for the device.
    Submitted,
    /// Being executed.
    Running,
    /// Done.
    Complete,
    /// Failed, or not executed because something it depends on failed.
    Failed,
}

impl EventStatus {
    /// Whether the status is final.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Complete | Self::Failed)
    }
}

/// Time stamps of a command, measured from one origin per device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Profile {
    /// When it was submitted.
    pub submitted: Duration,
    /// When its execution began.
    pub started: Duration,
    /// When its execution ended.
    pub ended: Duration,
}

/// The completion of one command. `Any`: a backend knows its own events again among the waits of a submission.
pub trait Event: Any + Send + Sync + fmt::Debug {
    /// Where the command is. Never blocks.
    fn status(&self) -> EventStatus;
    /// The failure of a failed command.
    fn error(&self) -> Option<Error>;
    /// Blocks until the command is terminal.
    ///
    /// # Errors
    /// The command's failure.
    fn wait(&self) -> Result<()>;
    /// Blocks until the command is terminal, but not for much longer than this. Whether it is. Unlike [`wait`](Self::wait),
    /// it takes up no work that may last longer than the time that is left.
    ///
    /// Without an implementation of its own, it leaves a callback with the event each time that the time is over first: an
    /// event whose waiters come again and again needs its own.
    ///
    /// # Errors
    /// The command's failure.
    fn wait_timeout(&self, timeout: Duration) -> Result<bool> {
        let outcome = |event: &Self| event.error().map_or(Ok(true), Err);
        if self.status().is_terminal() {
            return outcome(self);
        }
        if timeout.is_zero() {
            return Ok(false);
        }
        // All that completes is a signal of our own, which forgets its waiters.
        let end = Arc::new(Signal::new(self.driver()));
        let ended = Arc::clone(&end);
        self.on_complete(Box::new(move || {
            ended.complete(Ok(()), None);
        }));
        if end.wait_timeout(timeout)? { outcome(self) } else { Ok(false) }
    }
    /// Calls back once the command is terminal: exactly once, at once if it is already. The callback must not block.
    fn on_complete(&self, callback: Box<dyn FnOnce() + Send>);
    /// Time stamps, where the queue was made with profiling and the command is terminal.
    fn profile(&self) -> Option<Profile>;
    /// The driver that the event belongs to.
    fn driver(&self) -> &'static str;
}
