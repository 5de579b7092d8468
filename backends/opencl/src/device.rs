//! OpenCL devices: what they are, and what their queues share.
//!
//! `OpenClDevice` answers core; `Shared` is what queues, events and kernels hold of it, and lives as long as
//! any of them. Its fields are dropped in the order in which they stand: what belongs to the context before
//! the context.
//!
//! `open` asks the runtime everything once. A question that the runtime does not know counts as *no*; one
//! that fails to be answered is an error, and the device is not there (`known`). From the answers come three
//! things: core's description (`DeviceInfo`), what core may ask of it (`Capabilities`), and what the texts of
//! kernels may rely on ([`Target`]). A new extension is a field of `Target`, asked for in `target`; whatever
//! a text does by it has to be in the kernel's key.
//!
//! A device that is lost stays lost to this process (`lose`): what is submitted then is refused (`usable`).
//! What takes time is to be elsewhere: a queue's commands are in `queue.rs` and `enqueue.rs`, memory in
//! `memory.rs`, compiled kernels in `program.rs`.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Instant;

use opencl3::device as cl;
use opencl3::error_codes::{
    CL_DEVICE_PARTITION_FAILED, CL_INVALID_DEVICE_PARTITION_COUNT, CL_INVALID_VALUE, ClError,
};
use opencl3::memory as mem;
use opencl3::types::{cl_device_id, cl_kernel, cl_platform_id};
use stridewise_core::backend::sync::Section;
use stridewise_core::backend::{
    AffinityDomain, Aspect, Backlog, Capabilities, Command, CompiledKernel, Device, DeviceInfo, DeviceType,
    Language, LaunchPlan, Partition, Queue, QueueProperties, RawAllocation, Signal, SignalHandle, Source,
    Support, UsmSupport, Way, check_end,
};
use stridewise_core::kernel::{Kernel, LaunchOptions};
use stridewise_core::memory::{UsmKind, UsmPtr, heap};
use stridewise_core::{Dtype, Error, Op, Result};
use stridewise_emit::{self as emit, Dialect, Target, accuracy, user};

use crate::DRIVER;
use crate::enqueue;
use crate::error::{failed, is_loss};
use crate::handle::{CommandQueue, Context, MemoryObject, home};
use crate::memory::{Memory, Tier, Unified};
use crate::program::Programs;
use crate::queue::{ClQueue, NativeQueue, Scratch};
use crate::transfer::{self, Transfers};
use crate::worker::Worker;

/// Points of a plan up to which the general form of a kernel serves: below, a launch costs more than the work.
const GENERAL_POINTS: usize = 1 << 14;

/// A device of an OpenCL platform, or part of one.
pub(crate) struct OpenClDevice {
    info: DeviceInfo,
    capabilities: Capabilities,
    shared: Arc<Shared>,
    platform: Platform,
}

/// A platform's handle, which is no object: it is never released.
#[derive(Clone, Copy)]
pub(crate) struct Platform(pub(crate) cl_platform_id);
// SAFETY: a platform is a constant of the process; the runtime allows its use from any thread.
unsafe impl Send for Platform {}
// SAFETY: a platform is a constant of the process, of which a shared reference gives no more than its handle.
unsafe impl Sync for Platform {}

/// What queues, events and kernels share of a device. The fields are dropped in this order: what belongs to the context
/// before the context.
pub(crate) struct Shared {
    /// For kernels.
    pub(crate) target: Target,
    /// The device's memory.
    pub(crate) memory: Memory,
    /// Compiled kernels.
    pub(crate) programs: Programs,
    /// Scratch memory of kernels of several stages.
    pub(crate) scratch: Scratch,
    /// Pinned memory for copies.
    pub(crate) transfers: Transfers,
    /// The thread for what callbacks must not do.
    pub(crate) worker: Worker,
    /// For maps, and for copies that are waited for.
    service: OnceLock<Arc<NativeQueue>>,
    /// All queues of the runtime.
    queues: Mutex<Vec<Weak<NativeQueue>>>,
    /// Why the device cannot be used any more.
    lost: OnceLock<Error>,
    context: Context,
    /// The device, if it is a part of another: the reference to it.
    _part: Option<DevicePart>,
    id: cl::Device,
    /// Where parts of buffers may begin: at multiples of it.
    pub(crate) base_align: usize,
}

impl Shared {
    /// The device was lost to this process; work that comes now is refused.
    pub(crate) fn lose(&self, error: &Error) {
        let _ = self.lost.set(error.clone());
    }

    /// What the runtime said about all work of a queue: some codes mean that the device is lost.
    pub(crate) fn finished(&self, call: &'static str, outcome: Result<(), i32>) -> Result<()> {
        outcome.map_err(|code| {
            let error = failed(call, "the work of a queue", code);
            if is_loss(code) {
                self.lose(&error);
            }
            error
        })
    }

    /// Whether the device can be used.
    pub(crate) fn usable(&self) -> Result<()> {
        home().check()?;
        check_end()?;
        self.lost.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Waits until the runtime has nothing to do, but not for longer than until then; at the end of the process, also until the
    /// worker has no more to do with it. While a process forks, the worker may have to wait for that.
    fn settle(&self, deadline: Instant) {
        let queues: Vec<_> = {
            let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
            queues.iter().filter_map(Weak::upgrade).collect()
        };
        queues.iter().for_each(|queue| queue.settle(deadline));
        if check_end().is_err() {
            self.worker.settle(deadline);
        }
    }

    /// A new queue of the runtime. On a GPU all are in order: what is behind anyway waits for no event, and needs none.
    pub(crate) fn native_queue(&self, in_order: bool, profiling: bool) -> Result<Arc<NativeQueue>> {
        use opencl3::command_queue as cq;
        let mut in_order = in_order || !self.target.cpu;
        let mut properties = 0;
        if !in_order {
            properties |= cq::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
        }
        if profiling {
            properties |= cq::CL_QUEUE_PROFILING_ENABLE;
        }
        // SAFETY: context and device are live and belong together.
        let create = |properties| unsafe {
            #[allow(deprecated)] // The newer function is OpenCL 2.0's; this one is every runtime's.
            cq::create_command_queue(self.context.raw(), self.id.id(), properties)
        };
        let queue = match create(properties) {
            // A device that runs everything in order fulfils every order asked for.
            Err(-35) if !in_order => {
                in_order = true;
                create(properties & !cq::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
            }
            outcome => outcome,
        };
        let raw = queue
            .map_err(|code| failed("clCreateCommandQueue", format!("properties {properties:#x}"), code))?;
        let queue = Arc::new(NativeQueue::new(CommandQueue::new(raw), in_order));
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if queues.len() == queues.capacity() {
            queues.retain(|queue| queue.strong_count() > 0);
        }
        queues.push(Arc::downgrade(&queue));
        Ok(queue)
    }

    /// Why the runtime does not take a kernel with its range: limits by name, where it is beyond one of them.
    pub(crate) fn refused(&self, kernel: cl_kernel, global: &[usize], local: &[usize], code: i32) -> Error {
        let limit = |name| opencl3::kernel::get_kernel_work_group_info(kernel, self.id.id(), name).ok();
        let group = limit(opencl3::kernel::CL_KERNEL_WORK_GROUP_SIZE).map_or(usize::MAX, usize::from);
        let used = limit(opencl3::kernel::CL_KERNEL_LOCAL_MEM_SIZE).map_or(0, u64::from);
        let sizes = self.id.max_work_item_sizes().unwrap_or_default();
        let items = local.iter().try_fold(1_usize, |items, &extent| items.checked_mul(extent));
        let is_beyond = items.is_none_or(|items| items > group)
            || local.iter().zip(&sizes).any(|(extent, most)| extent > most)
            || used > self.target.local_bytes as u64;
        if !is_beyond {
            let about = format!("a kernel of {global:?} work-items in groups of {local:?}");
            return failed("clEnqueueNDRangeKernel", about, code);
        }
        let outer: Vec<&usize> = local.iter().rev().collect();
        Error::value(
            "nd_range",
            format!("groups of {outer:?} work-items, with {used} bytes of local memory"),
            format!(
                "groups of {group} work-items at most for this kernel, of {:?} along each axis, with {} bytes of \
                 local memory (the runtime says {})",
                sizes.iter().take(local.len()).rev().collect::<Vec<_>>(),
                self.target.local_bytes,
                crate::error::name(code)
            ),
            "choose smaller groups, or use less local and private memory",
        )
    }

    /// A new memory object.
    pub(crate) fn create_buffer(&self, flags: u64, bytes: usize) -> Result<MemoryObject, i32> {
        // SAFETY: the context is live; no host pointer is given.
        let raw = unsafe { mem::create_buffer(self.context.raw(), flags, bytes, std::ptr::null_mut()) }?;
        Ok(MemoryObject::new(raw))
    }

    /// Whether the device's memory is not the host's.
    pub(crate) fn has_memory_of_its_own(&self) -> bool {
        !self.target.cpu
    }

    /// The queue for maps and for copies that are waited for.
    pub(crate) fn service(&self) -> Result<&Arc<NativeQueue>> {
        if let Some(queue) = self.service.get() {
            return Ok(queue);
        }
        let queue = self.native_queue(true, false)?;
        Ok(self.service.get_or_init(|| queue))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if home().is_here() {
            // The memory's own objects go with it; scratch memory may be an address, which has to be freed.
            self.scratch.clear(self);
        }
    }
}

/// Text about a device; empty where there is none.
fn text(answer: opencl3::Result<String>) -> String {
    answer.unwrap_or_default().trim_matches(['\0', ' ']).to_owned()
}

/// What a device can do: nothing, where its runtime does not know the question. One that fails to answer is not taken to have
/// said no.
///
/// # Errors
/// What the runtime reports.
fn known<T: Default>(answer: opencl3::Result<T>) -> Result<T> {
    match answer {
        Ok(value) => Ok(value),
        Err(ClError(CL_INVALID_VALUE)) => Ok(T::default()),
        Err(ClError(code)) => Err(failed("clGetDeviceInfo", "a device", code)),
    }
}

/// A size about a device; 0 where it is not known.
///
/// # Errors
/// As for [`known`].
fn size(answer: opencl3::Result<impl TryInto<usize> + Default>) -> Result<usize> {
    Ok(known(answer)?.try_into().unwrap_or(0))
}

/// What a device's kernels can rely on.
///
/// # Errors
/// As for [`known`].
fn target(id: &cl::Device, extensions: &str, buffers: bool, cpu: bool) -> Result<Target> {
    Ok(Target {
        dialect: Dialect::OpenClC,
        fp64: known(id.double_fp_config())? != 0 || has(extensions, "cl_khr_fp64"),
        fp16: has(extensions, "cl_khr_fp16"),
        atomic64: has(extensions, "cl_khr_int64_base_atomics"),
        exact_division: known(id.single_fp_config())? & cl::CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT != 0,
        buffers,
        cpu,
        compute_units: size(id.max_compute_units())?.max(1),
        max_group: size(id.max_work_group_size())?.max(1),
        local_bytes: size(id.local_mem_size())?,
        user_local_bytes: size(id.local_mem_size())?,
        general_points: GENERAL_POINTS,
    })
}

/// Whether a list of extensions has one.
fn has(extensions: &str, name: &str) -> bool {
    extensions.split_whitespace().any(|extension| extension == name)
}

impl OpenClDevice {
    /// Opens a device, which will keep so many compiled kernels: makes its context.
    ///
    /// # Errors
    /// What the runtime reports.
    pub(crate) fn open(
        platform: Platform,
        id: cl::Device,
        part: Option<DevicePart>,
        kernels: usize,
    ) -> Result<Self> {
        let raw = opencl3::context::context::create_context(
            &[id.id()],
            std::ptr::null(),
            None,
            std::ptr::null_mut(),
        )
        .map_err(|code| failed("clCreateContext", text(id.name()), code))?;
        let context = Context::new(raw);
        let extensions = text(Ok(known(id.extensions())?));
        let has = |name: &str| has(&extensions, name);
        let unified = if has("cl_intel_unified_shared_memory") { Unified::of(platform.0) } else { None };
        let svm = known(id.svm_capabilities())?;
        let tier = match unified {
            Some(unified) => Tier::Unified(unified),
            None if svm & cl::CL_DEVICE_SVM_FINE_GRAIN_BUFFER != 0 => Tier::SvmFine,
            None if svm & cl::CL_DEVICE_SVM_COARSE_GRAIN_BUFFER != 0 => Tier::SvmCoarse,
            None => Tier::Buffers,
        };
        let kind = known(id.dev_type())?;
        // A simulator that claims to be everything is a processor, but gets what a GPU gets.
        let (is_cpu, is_gpu) = (kind & cl::CL_DEVICE_TYPE_CPU != 0, kind & cl::CL_DEVICE_TYPE_GPU != 0);
        let device_type = if is_cpu {
            DeviceType::Cpu
        } else if is_gpu {
            DeviceType::Gpu
        } else {
            DeviceType::Accelerator
        };
        let target = target(&id, &extensions, tier.has_buffers(), is_cpu && !is_gpu)?;
        let usm = tier.support();
        let mut aspects = vec![Aspect::UsmDeviceAllocations];
        let mut aspect = |there: bool, aspect| {
            if there {
                aspects.push(aspect);
            }
        };
        // Where there is no arithmetic of them, they are read and written by functions that need none (`Target::fp16`).
        aspect(true, Aspect::Fp16);
        aspect(target.fp64, Aspect::Fp64);
        aspect(has("cl_khr_int64_base_atomics") && has("cl_khr_int64_extended_atomics"), Aspect::Atomic64);
        aspect(usm[0] != UsmSupport::Absent, Aspect::UsmHostAllocations);
        aspect(usm[2] != UsmSupport::Absent, Aspect::UsmSharedAllocations);
        aspect(svm & cl::CL_DEVICE_SVM_FINE_GRAIN_SYSTEM != 0, Aspect::UsmSystemAllocations);
        aspect(true, Aspect::QueueProfiling);
        aspect(has("cl_khr_subgroups") || has("cl_intel_subgroups"), Aspect::SubGroups);
        aspect(target.exact_division, Aspect::CorrectlyRoundedDivision);
        let mut info = DeviceInfo::new(DRIVER, text(id.name()), device_type);
        info.vendor = text(id.vendor());
        info.driver_version = text(id.driver_version());
        info.aspects = aspects;
        let limits = &mut info.limits;
        limits.compute_units = target.compute_units;
        limits.global_memory_bytes = known(id.global_mem_size())?;
        limits.local_memory_bytes = known(id.local_mem_size())?;
        match target.cpu {
            true => limits.private_memory_bytes = stack_bytes() / 2,
            false => user::limit_private_memory(limits, &target),
        }
        limits.max_allocation_bytes = known(id.max_mem_alloc_size())?;
        limits.max_work_group_size = target.max_group;
        limits.vector_bytes = 16;
        limits.last_cache_bytes = size(id.global_mem_cache_size())?;
        info.usm = usm;
        let mut capabilities = Capabilities::default();
        for kind in [UsmKind::Host, UsmKind::Shared] {
            capabilities.set_host_access(kind, tier.host_access());
        }
        if matches!(tier, Tier::Unified(_)) {
            capabilities.default_kind = UsmKind::Shared;
        }
        capabilities.on_processor = device_type == DeviceType::Cpu;
        capabilities.languages = vec![Language::OpenClC];
        if text(id.il_version()).contains("SPIR-V") {
            capabilities.languages.push(Language::SpirV);
        }
        capabilities.backlog = Backlog::of_memory(info.limits.global_memory_bytes);
        capabilities.most_stages = 3;
        let sub_groups = info.has(Aspect::SubGroups);
        let identity =
            format!("{}\n{}\n{}\n{}", info.name, info.driver_version, text(id.version()), text(id.vendor()));
        let shared = Arc::new(Shared {
            memory: Memory::new(tier, context.raw(), id.id(), info.limits.global_memory_bytes),
            programs: Programs::new(context.raw(), id, &target, &identity, sub_groups, kernels),
            scratch: Scratch::default(),
            transfers: Transfers::default(),
            worker: Worker::start()?,
            service: OnceLock::new(),
            queues: Mutex::default(),
            lost: OnceLock::new(),
            context,
            _part: part,
            // In bits.
            base_align: (known(id.mem_base_addr_align())? as usize / 8).max(1),
            id,
            target,
        });
        transfer::register(&shared);
        Ok(Self { info, capabilities, shared, platform })
    }

    fn indivisible(&self, partition: &Partition, why: impl std::fmt::Display) -> Error {
        Error::device_selection(
            "partition",
            format_args!("{partition}, of {} ({why})", self.info.name),
            "a partition that the device's runtime offers",
            "use the device as a whole, or a host device, which can be divided",
        )
    }
}

impl Device for OpenClDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn supports_kernel(&self, kernel: &Kernel, options: LaunchOptions) -> Support {
        user::supports(kernel, &self.shared.target, options)
    }

    fn way(&self, command: &Command) -> Way {
        let mut way = Way::new("the device's queue", "OpenCL C");
        way.compiled = enqueue::is_compiled(&self.shared, command);
        way
    }

    fn compile(&self, source: Source<'_>, options: &str) -> Result<Vec<CompiledKernel>> {
        let _section = Section::enter();
        self.shared.usable()?;
        self.shared.programs.bundle(source, options)
    }

    fn supports(&self, plan: &LaunchPlan) -> Support {
        emit::supports(plan, &self.shared.target)
    }

    fn error_bound(&self, op: Op, dtype: Dtype) -> Option<f64> {
        Some(accuracy::ulp(op, dtype, &self.shared.target))
    }

    fn alloc(&self, kind: UsmKind, bytes: usize, align: usize) -> Result<RawAllocation> {
        self.shared.usable()?;
        let memory = &self.shared.memory;
        memory.alloc(kind, bytes, align).or_else(|_| {
            self.shared.scratch.clear(&self.shared);
            memory.alloc(kind, bytes, align)
        })
    }

    unsafe fn free(&self, memory: RawAllocation) {
        if home().is_here() {
            // SAFETY: the memory is from `alloc` of this device and was not freed, and no command uses it
            // (`Device::free`).
            unsafe { self.shared.memory.free(memory) };
        }
    }

    unsafe fn map(&self, ptr: UsmPtr, bytes: usize, write: bool) -> Result<()> {
        home().check()?;
        // SAFETY: the range is in memory of this device that no command accesses (`Device::map`).
        unsafe { self.shared.memory.map(|| self.shared.service().map(Arc::as_ref), ptr, bytes, write) }
    }

    unsafe fn unmap(&self, ptr: UsmPtr, _bytes: usize) -> Result<()> {
        home().check()?;
        // SAFETY: the range was mapped by `map`, and nothing on the host uses it any more (`Device::unmap`).
        unsafe { self.shared.memory.unmap(|| self.shared.service().map(Arc::as_ref), ptr) }
    }

    fn create_queue(&self, properties: QueueProperties) -> Result<Arc<dyn Queue>> {
        self.shared.usable()?;
        let native = self.shared.native_queue(properties.in_order, properties.profiling)?;
        Ok(Arc::new(ClQueue::new(Arc::clone(&self.shared), native, properties)))
    }

    fn sub_devices(&self, partition: &Partition) -> Result<Vec<Arc<dyn Device>>> {
        const NOTHING: &str = "a part without compute units";
        self.shared.usable()?;
        let mut properties: Vec<isize> = match partition {
            Partition::Equally(0) => return Err(self.indivisible(partition, NOTHING)),
            Partition::ByCounts(counts) if counts.contains(&0) => {
                return Err(self.indivisible(partition, NOTHING));
            }
            Partition::Equally(count) => vec![cl::CL_DEVICE_PARTITION_EQUALLY, count.cast_signed()],
            Partition::ByCounts(counts) => {
                let counts = counts.iter().map(|count| count.cast_signed());
                let list = std::iter::once(cl::CL_DEVICE_PARTITION_BY_COUNTS)
                    .chain(counts)
                    .chain([cl::CL_DEVICE_PARTITION_BY_COUNTS_LIST_END]);
                heap::collect("partition", list)?
            }
            Partition::ByAffinityDomain(domain) => {
                let domain = match domain {
                    AffinityDomain::Numa => cl::CL_DEVICE_AFFINITY_DOMAIN_NUMA,
                    AffinityDomain::L4Cache => cl::CL_DEVICE_AFFINITY_DOMAIN_L4_CACHE,
                    AffinityDomain::L3Cache => cl::CL_DEVICE_AFFINITY_DOMAIN_L3_CACHE,
                    AffinityDomain::L2Cache => cl::CL_DEVICE_AFFINITY_DOMAIN_L2_CACHE,
                    AffinityDomain::L1Cache => cl::CL_DEVICE_AFFINITY_DOMAIN_L1_CACHE,
                    AffinityDomain::NextPartitionable => cl::CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE,
                    _ => return Err(self.indivisible(partition, "unknown to this driver")),
                };
                vec![cl::CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, domain.cast_signed() as isize]
            }
            _ => return Err(self.indivisible(partition, "unknown to this driver")),
        };
        heap::push("partition", &mut properties, 0)?;
        let parts = cl::create_sub_devices(self.shared.id.id(), &properties).map_err(|code| match code {
            CL_INVALID_VALUE | CL_DEVICE_PARTITION_FAILED | CL_INVALID_DEVICE_PARTITION_COUNT => {
                self.indivisible(partition, crate::error::name(code))
            }
            code => failed("clCreateSubDevices", &self.info.name, code),
        })?;
        // Each is owned from here on, so that none is lost if another cannot be opened.
        let parts: Vec<_> = parts.into_iter().map(DevicePart).collect();
        let open = |part: DevicePart| {
            let kernels = self.shared.programs.most();
            let device = Self::open(self.platform, cl::Device::new(part.0), Some(part), kernels)?;
            Ok(Arc::new(device) as Arc<dyn Device>)
        };
        parts.into_iter().map(open).collect()
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

/// The reference to a part of a device.
pub(crate) struct DevicePart(cl_device_id);
// SAFETY: OpenCL's objects may be used from any thread (OpenCL 3.0 API, section 2.6).
unsafe impl Send for DevicePart {}
// SAFETY: OpenCL's objects may be used from any thread (OpenCL 3.0 API, section 2.6), by several at once.
unsafe impl Sync for DevicePart {}

impl Drop for DevicePart {
    fn drop(&mut self) {
        if home().is_here() {
            // SAFETY: `clCreateSubDevices` gave the reference, which is given up once, here. A failure leaves nothing to do.
            let _ = unsafe { cl::release_device(self.0) };
        }
    }
}

/// Bytes of the stack of a runtime's thread, as the system makes it. Runtimes on a processor have the private arrays of a whole group
/// there, and beyond it is the end of the process; the language has no question for it.
fn stack_bytes() -> u64 {
    // What a thread has where the limit is none, and what it mostly is where the system does not tell.
    const UNLIMITED: u64 = 2 << 20;
    const USUAL: u64 = 8 << 20;
    let Ok(limits) = std::fs::read_to_string("/proc/self/limits") else { return UNLIMITED };
    let line = limits.lines().find_map(|line| line.strip_prefix("Max stack size"));
    match line.and_then(|line| line.split_whitespace().next()) {
        None => USUAL,
        Some(soft) => soft.parse().unwrap_or(UNLIMITED),
    }
}
