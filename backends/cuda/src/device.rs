//! CUDA devices: what they are, and what their queues share.
//!
//! `CudaDevice` answers core; `Shared` is what queues, events and kernels hold of it, and lives as long as any of them. The driver
//! is asked everything once, in `open`. A device whose context is lost stays lost to this process (`lose`): what is submitted then
//! is refused, and what was under way fails.

use std::ffi::{c_char, c_int};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use stridewise_core::backend::sync::Section;
use stridewise_core::backend::{
    Aspect, Backlog, Capabilities, CompiledKernel, Device, DeviceInfo, DeviceType, Event, HostAccess,
    Interprocess, Language, LaunchPlan, MemoryHandle, Partition, Queue, QueueProperties, RawAllocation,
    Signal, SignalHandle, Source, Support, UsmSupport, check_end,
};
use stridewise_core::kernel::{Kernel, LaunchOptions};
use stridewise_core::memory::{UsmKind, UsmPtr, heap};
use stridewise_core::{Dtype, Error, Op, Result};
use stridewise_emit::{self as emit, Target, accuracy, user};

use crate::DRIVER;
use crate::api::{Api, RawStream, STREAM_LEGACY, device as attribute};
use crate::blas::Blas;
use crate::clock::Clock;
use crate::error::{failed, is_loss};
use crate::event::CudaEvent;
use crate::graph::Graphs;
use crate::handle::{Context, EventObject, home};
use crate::kernels;
use crate::library::Given;
use crate::memory::Memory;
use crate::module::Modules;
use crate::queue::{CudaQueue, as_own};
use crate::routines::Libraries;
use crate::stream::{Spare, Stream};
use crate::symbols::Refused;
use crate::transfer::Transfers;
use crate::worker::Worker;

/// The first capability with arithmetic of `float16`.
const HALF_CAPABILITY: (u32, u32) = (5, 3);
/// How long who waits for a stream without an end to that sleeps between two looks.
const NAP: Duration = Duration::from_micros(100);
/// How often the driver is asked to wait for a stream, where it refuses.
const ATTEMPTS: u32 = 16;
/// DLPack's number for memory of CUDA devices.
const DLPACK_CUDA: i32 = 2;

/// A device of the driver.
pub(crate) struct CudaDevice {
    info: DeviceInfo,
    capabilities: Capabilities,
    shared: Arc<Shared>,
}

/// What queues, events and kernels share of a device.
pub(crate) struct Shared {
    /// The device's memory.
    pub(crate) memory: Memory,
    /// Kernels from sources.
    pub(crate) modules: Modules,
    /// The library for products.
    pub(crate) blas: Blas,
    /// Those for transforms and decompositions.
    pub(crate) libraries: Libraries,
    /// Sequences that were submitted.
    pub(crate) graphs: Graphs,
    /// Page-locked memory for copies.
    pub(crate) transfers: Transfers,
    /// The thread for what callbacks must not do.
    pub(crate) worker: Worker,
    /// What time stamps are told from.
    pub(crate) clock: Clock,
    /// The first two numbers of its capability.
    pub(crate) capability: (u32, u32),
    /// Items of a group at most.
    pub(crate) max_group: usize,
    /// What texts can rely on.
    pub(crate) target: Target,
    /// Events that nobody uses.
    spare: Arc<Spare>,
    /// All streams.
    streams: Mutex<Vec<Weak<Stream>>>,
    /// Why the device cannot be used any more.
    lost: OnceLock<Error>,
    pub(crate) context: Arc<Context>,
}

impl Shared {
    pub(crate) fn api(&self) -> &'static Api {
        self.context.api
    }

    /// What a call that was refused reports. Some codes mean that the device is lost: work that comes now is refused.
    pub(crate) fn failed(&self, refused: Refused, about: impl std::fmt::Display) -> Error {
        let error = failed(refused, about);
        if is_loss(refused.code) {
            let _ = self.lost.set(error.clone());
        }
        error
    }

    /// Waits until a stream has nothing to do, by whatever call the driver takes: a refused question is no end of what is under way, and
    /// memory that it uses must not be free before. Where none is taken, the device is given up, and its memory stays.
    pub(crate) fn drain(&self, stream: &Stream) -> Result<()> {
        let mut attempt = 1;
        loop {
            self.usable_to_look()?;
            let drained = self.context.enter().and_then(|_current| {
                stream.object.synchronize().or_else(|refused| match is_loss(refused.code) {
                    true => Err(refused),
                    false => stream.mark_anew()?.event().wait(),
                })
            });
            let Err(refused) = drained else { return Ok(()) };
            let error = self.failed(refused, "a wait for the work of a stream");
            if is_loss(refused.code) {
                return Err(error);
            }
            if attempt == ATTEMPTS {
                self.memory.keep();
                let _ = self.lost.set(error.clone());
                return Err(error);
            }
            attempt += 1;
        }
    }

    /// Whether the device can be used.
    pub(crate) fn usable(&self) -> Result<()> {
        home().check()?;
        check_end()?;
        self.usable_to_look()
    }

    /// Whether the driver may be asked how far commands have come.
    pub(crate) fn usable_to_look(&self) -> Result<()> {
        home().check()?;
        self.lost.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Waits until the driver has nothing to do, but not for longer than until then; at the end of the process, also until the worker
    /// has no more to do with it.
    fn settle(&self, deadline: Instant) {
        if self.usable_to_look().is_ok()
            && let Ok(_current) = self.context.enter()
        {
            for stream in self.streams().iter().filter_map(Weak::upgrade) {
                let Ok(marker) = stream.marker_behind(stream.last_issued()) else { continue };
                while marker.event().is_over() == Ok(false) && Instant::now() < deadline {
                    std::thread::sleep(NAP);
                }
            }
        }
        if check_end().is_err() {
            self.worker.settle(deadline);
        }
    }

    fn streams(&self) -> Vec<Weak<Stream>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A new stream for what is recorded and does not run in it; the context is the calling thread's.
    pub(crate) fn stream_to_record(&self) -> Result<Stream, Refused> {
        Stream::make(&self.context, &self.spare, false)
    }

    /// A new stream.
    pub(crate) fn stream(&self) -> Result<Arc<Stream>> {
        let made = self.context.enter().and_then(|_current| Stream::make(&self.context, &self.spare, true));
        let stream = Arc::new(made.map_err(|refused| self.failed(refused, "a stream"))?);
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if streams.len() == streams.capacity() {
            streams.retain(|stream| stream.strong_count() > 0);
        }
        heap::push("streams", &mut streams, Arc::downgrade(&stream))?;
        Ok(stream)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if home().is_here() {
            // Pieces for copies are memory of the device's, which is dropped before them.
            let transfers = std::mem::take(&mut self.transfers);
            transfers.clear(self);
        }
    }
}

/// What is asked of the driver about a device.
struct Facts<'a> {
    api: &'a Api,
    device: c_int,
}

impl Facts<'_> {
    /// An attribute; 0 where the driver does not know the question.
    fn number(&self, attribute: c_int) -> Result<usize, Refused> {
        let mut value = 0;
        // SAFETY: the place is a live number, the device one that the driver gave.
        match unsafe { self.api.device_attribute(&raw mut value, attribute, self.device) } {
            Ok(()) => Ok(usize::try_from(value).unwrap_or(0)),
            Err(Refused { code: crate::error::INVALID_VALUE, .. }) => Ok(0),
            Err(refused) => Err(refused),
        }
    }

    fn name(&self) -> Result<String, Refused> {
        let mut bytes = [0_u8; 256];
        let room = c_int::try_from(bytes.len()).unwrap_or(0);
        // SAFETY: the place has as many bytes as are said, the device is one that the driver gave.
        unsafe { self.api.device_name(bytes.as_mut_ptr().cast::<c_char>(), room, self.device) }?;
        let name = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(name).into_owned())
    }

    fn memory(&self) -> Result<usize, Refused> {
        let mut bytes = 0;
        // SAFETY: the place is a live number, the device one that the driver gave.
        unsafe { self.api.device_memory(&raw mut bytes, self.device) }?;
        Ok(bytes)
    }
}

impl CudaDevice {
    /// Opens a device: retains its context.
    ///
    /// # Errors
    /// What the driver reports; a device without one space of addresses is refused.
    pub(crate) fn open(
        api: &'static Api,
        ordinal: c_int,
        version: (i32, i32),
        given: Option<Given>,
    ) -> Result<Self> {
        let about = || format!("device {ordinal}");
        let (mut device, tell) = (0, |refused| failed(refused, about()));
        // SAFETY: the place is a live number.
        unsafe { api.device(&raw mut device, ordinal) }.map_err(tell)?;
        let facts = Facts { api, device };
        let number = |attribute| facts.number(attribute).map_err(tell);
        if number(attribute::UNIFIED_ADDRESSING)? == 0 {
            return Err(Error::unsupported(
                "device",
                format!("{} without one space of addresses", facts.name().map_err(tell)?),
                "a device of capability 2.0 or later, in a process of 64 bits",
                "use another device",
            ));
        }
        let part = |attribute| Ok::<_, Error>(u32::try_from(number(attribute)?).unwrap_or(0));
        let capability = (part(attribute::CAPABILITY_MAJOR)?, part(attribute::CAPABILITY_MINOR)?);
        let managed = number(attribute::CONCURRENT_MANAGED_ACCESS)? != 0;
        let memory_bytes = facts.memory().map_err(tell)? as u64;
        let max_group = number(attribute::MAX_THREADS_PER_BLOCK)?.max(1);

        let mut info = DeviceInfo::new(DRIVER, facts.name().map_err(tell)?, DeviceType::Gpu);
        info.vendor = "NVIDIA Corporation".to_owned();
        info.driver_version = format!("CUDA {}.{}", version.0, version.1);
        info.isa = isa(capability);
        info.aspects = vec![Aspect::Fp64, Aspect::UsmDeviceAllocations, Aspect::UsmHostAllocations];
        let mut aspect = |there: bool, aspect| info.aspects.extend(there.then_some(aspect));
        aspect(capability >= HALF_CAPABILITY, Aspect::Fp16);
        aspect(managed, Aspect::UsmSharedAllocations);
        aspect(number(attribute::PAGEABLE_MEMORY_ACCESS)? != 0, Aspect::UsmSystemAllocations);
        for there in
            [Aspect::Atomic64, Aspect::QueueProfiling, Aspect::SubGroups, Aspect::CorrectlyRoundedDivision]
        {
            aspect(true, there);
        }
        let limits = &mut info.limits;
        limits.compute_units = number(attribute::MULTIPROCESSOR_COUNT)?.max(1);
        limits.global_memory_bytes = memory_bytes;
        limits.max_allocation_bytes = memory_bytes;
        let local = number(attribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let local_bytes = local.max(number(attribute::MAX_SHARED_MEMORY_PER_BLOCK)?);
        limits.local_memory_bytes = local_bytes as u64;
        limits.max_work_group_size = max_group;
        limits.vector_bytes = 16;
        limits.last_cache_bytes = number(attribute::L2_CACHE_SIZE)?;
        let target = kernels::target(limits.compute_units, max_group, local_bytes);
        user::limit_private_memory(limits, &target);
        let shared_memory = if managed { UsmSupport::Native } else { UsmSupport::Absent };
        info.usm = [UsmSupport::Native, UsmSupport::Native, shared_memory];

        let mut capabilities = Capabilities::default();
        capabilities.set_host_access(UsmKind::Host, HostAccess::Direct);
        if managed {
            capabilities.set_host_access(UsmKind::Shared, HostAccess::Direct);
        }
        capabilities.languages = vec![Language::CudaC, Language::Ptx, Language::ROUTINES];
        capabilities.exchange = Some((DLPACK_CUDA, ordinal));
        capabilities.exchange_stream = Some(STREAM_LEGACY);
        capabilities.backlog = Backlog::of_memory(memory_bytes);
        capabilities.most_stages = 3;
        capabilities.sequences = true;
        capabilities.half_factors = true;
        capabilities.interprocess = Some(Interprocess::Driver);

        let context = Arc::new(Context::new(api, device).map_err(tell)?);
        let shared = Shared {
            memory: Memory::new(&context, managed),
            modules: Modules::new(&info, capability),
            blas: Blas::new(given),
            libraries: Libraries::new(given),
            graphs: Graphs::default(),
            transfers: Transfers::default(),
            worker: Worker::start()?,
            clock: Clock::default(),
            capability,
            max_group,
            target,
            spare: Arc::default(),
            streams: Mutex::default(),
            lost: OnceLock::new(),
            context,
        };
        Ok(Self { info, capabilities, shared: Arc::new(shared) })
    }
}

/// A stream by its number in exchange protocols, which for others than the two default ones is its handle.
fn raw(stream: usize) -> RawStream {
    std::ptr::with_exposed_provenance_mut(stream)
}

/// A capability's name for compilers; empty where it is later than this list.
fn isa(capability: (u32, u32)) -> &'static str {
    match capability {
        (5, 0) => "sm_50",
        (5, 2) => "sm_52",
        (5, 3) => "sm_53",
        (6, 0) => "sm_60",
        (6, 1) => "sm_61",
        (6, 2) => "sm_62",
        (7, 0) => "sm_70",
        (7, 2) => "sm_72",
        (7, 5) => "sm_75",
        (8, 0) => "sm_80",
        (8, 6) => "sm_86",
        (8, 7) => "sm_87",
        (8, 9) => "sm_89",
        (9, 0) => "sm_90",
        (10, 0) => "sm_100",
        (10, 1) => "sm_101",
        (10, 3) => "sm_103",
        (11, 0) => "sm_110",
        (12, 0) => "sm_120",
        (12, 1) => "sm_121",
        _ => "",
    }
}

impl Device for CudaDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn supports(&self, plan: &LaunchPlan) -> Support {
        emit::supports(plan, &self.shared.target)
    }

    fn supports_kernel(&self, kernel: &Kernel, options: LaunchOptions) -> Support {
        user::supports(kernel, &self.shared.target, options)
    }

    fn error_bound(&self, op: Op, dtype: Dtype) -> Option<f64> {
        // CUDA's functions are no further off than OpenCL C allows.
        Some(accuracy::ulp(op, dtype, &self.shared.target))
    }

    fn kind_of(&self, ptr: UsmPtr) -> Option<UsmKind> {
        self.shared.usable_to_look().ok()?;
        let _current = self.shared.context.enter().ok()?;
        self.shared.memory.kind_of(ptr)
    }

    unsafe fn lead(&self, stream: usize, events: &[Arc<dyn Event>]) -> Result<()> {
        let _section = Section::enter();
        self.shared.usable()?;
        let failed = |refused| self.shared.failed(refused, "a stream of another library");
        let _current = self.shared.context.enter().map_err(failed)?;
        for event in events {
            match as_own(&**event).and_then(CudaEvent::native) {
                // What a stream of ours has, that one waits for by itself.
                Some(_) if stream == STREAM_LEGACY => {}
                Some(native) => {
                    let marker = native.end().map_err(failed)?;
                    // SAFETY: the stream is there, by this function's contract.
                    unsafe { marker.event().hold_back(raw(stream)) }.map_err(failed)?;
                }
                // However it ends.
                None => drop(event.wait()),
            }
        }
        Ok(())
    }

    unsafe fn follow(&self, stream: usize) -> Result<()> {
        let _section = Section::enter();
        self.shared.usable()?;
        if stream == STREAM_LEGACY {
            return Ok(());
        }
        let failed = |refused| self.shared.failed(refused, "a stream of another library");
        let _current = self.shared.context.enter().map_err(failed)?;
        let marker = EventObject::make(&self.shared.context, false).map_err(failed)?;
        // SAFETY: the stream is there, by this function's contract; the legacy default stream always is, and ours wait for it. An event
        // that is given up while streams wait for it is kept by the driver until they have.
        unsafe { marker.record_in(raw(stream)).and_then(|()| marker.hold_back(raw(STREAM_LEGACY))) }
            .map_err(failed)
    }

    fn compile(&self, source: Source<'_>, options: &str) -> Result<Vec<CompiledKernel>> {
        let _section = Section::enter();
        self.shared.usable()?;
        self.shared.modules.bundle(&self.shared, source, options)
    }

    fn alloc(&self, kind: UsmKind, bytes: usize, align: usize) -> Result<RawAllocation> {
        self.shared.usable()?;
        self.shared.memory.alloc(kind, bytes, align)
    }

    fn memory_handle(&self, ptr: UsmPtr) -> Result<MemoryHandle> {
        self.shared.usable()?;
        self.shared.memory.handle(ptr)
    }

    fn open_memory(&self, handle: &MemoryHandle, bytes: usize) -> Result<RawAllocation> {
        self.shared.usable()?;
        self.shared.memory.open(handle, bytes)
    }

    unsafe fn free(&self, memory: RawAllocation) {
        if home().is_here() {
            // SAFETY: the memory is from `alloc` or `open_memory` of this device and was not freed, and no command uses it (`Device::free`).
            unsafe { self.shared.memory.free(memory) };
        }
    }

    fn create_queue(&self, properties: QueueProperties) -> Result<Arc<dyn Queue>> {
        self.shared.usable()?;
        Ok(Arc::new(CudaQueue::new(&self.shared, properties)?))
    }

    fn sub_devices(&self, partition: &Partition) -> Result<Vec<Arc<dyn Device>>> {
        Err(Error::device_selection(
            "partition",
            format_args!("{partition}, of {}", self.info.name),
            "a device that can be divided",
            "use the device as a whole, or a host device, which can be divided",
        ))
    }

    fn signal(&self) -> Result<SignalHandle> {
        Ok(Signal::promise(DRIVER))
    }

    fn settle(&self, deadline: Instant) {
        if home().is_here() {
            self.shared.settle(deadline);
        }
    }
}
