//! What the device is, its memory, and what it refuses. Whatever it takes, the host does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use stridewise_core::backend::{
    Aspect, Backlog, Capabilities, Device, DeviceInfo, DeviceType, Family, HostAccess, LaunchPlan, Partition,
    Program, Queue, QueueProperties, RawAllocation, SignalHandle, Support, UsmSupport,
};
use stridewise_core::kernel::{Kernel, LaunchOptions};
use stridewise_core::{Dtype, DtypeSupport, Error, Op, Result, UsmKind, UsmPtr};

use crate::queue::{EmulatedEvent, EmulatedQueue};
use crate::{DRIVER, Emulation};

pub(crate) struct EmulatedDevice {
    info: DeviceInfo,
    capabilities: Capabilities,
    host: Arc<dyn Device>,
    /// Bytes that are allocated.
    taken: AtomicU64,
}

impl EmulatedDevice {
    pub(crate) fn new(host: &Arc<dyn Device>, what: &Emulation, variant: Option<&'static str>) -> Self {
        let below = host.info();
        let mut info = DeviceInfo::new(DRIVER, what.name.as_str(), DeviceType::Gpu);
        info.vendor = format!("the host, {}", below.name);
        env!("CARGO_PKG_VERSION").clone_into(&mut info.driver_version);
        info.variant = variant;
        info.isa = below.isa;
        let missing = |aspect: Aspect| match aspect {
            Aspect::Fp64 => !what.fp64,
            Aspect::Fp16 => !what.fp16,
            Aspect::UsmHostAllocations => !what.usm[0],
            Aspect::UsmDeviceAllocations => !what.usm[1],
            Aspect::UsmSharedAllocations => !what.usm[2],
            Aspect::UsmSystemAllocations | Aspect::HostDebuggable => true,
            _ => false,
        };
        info.aspects = below.aspects.iter().copied().filter(|&aspect| !missing(aspect)).collect();
        let limits = &mut info.limits;
        limits.clone_from(&below.limits);
        if let Some(bytes) = what.memory_bytes {
            limits.global_memory_bytes = bytes;
            limits.max_allocation_bytes = bytes;
        }
        if let Some(bytes) = what.max_allocation_bytes {
            limits.max_allocation_bytes = bytes.min(limits.global_memory_bytes);
        }
        if let Some(items) = what.max_work_group {
            limits.max_work_group_size = items.min(below.limits.max_work_group_size);
        }
        if let Some(bytes) = what.local_memory_bytes {
            limits.local_memory_bytes = bytes.min(below.limits.local_memory_bytes);
        }
        let mut capabilities = Capabilities::default();
        for (number, kind) in UsmKind::ALL.into_iter().enumerate() {
            if what.usm[number] {
                info.usm[number] = match kind {
                    UsmKind::Device => UsmSupport::Guarded,
                    _ => UsmSupport::Native,
                };
                capabilities.set_host_access(kind, HostAccess::Direct);
            }
        }
        capabilities.default_kind = [UsmKind::Shared, UsmKind::Device, UsmKind::Host]
            .into_iter()
            .find(|&kind| info.usm(kind) != UsmSupport::Absent)
            .unwrap_or(UsmKind::Device);
        capabilities.backlog = Backlog::of_memory(info.limits.global_memory_bytes);
        Self { info, capabilities, host: Arc::clone(host), taken: AtomicU64::new(0) }
    }

    fn refused(&self, kind: UsmKind, bytes: usize, expected: String) -> Error {
        Error::alloc(
            "bytes",
            format!("{bytes} bytes of {kind} memory on {}", self.info.name),
            expected,
            "free arrays, trim the pool of unused memory, or work on the data in parts",
        )
    }

    fn dtypes(&self) -> DtypeSupport {
        DtypeSupport { f16: self.info.has(Aspect::Fp16), f64: self.info.has(Aspect::Fp64) }
    }
}

/// The dtypes that a program computes in.
fn dtypes(program: &Program) -> impl Iterator<Item = Dtype> + '_ {
    let consts = program.consts().iter().map(|constant| constant.dtype());
    let steps = program.steps().iter().map(|step| step.out);
    program.inputs().iter().copied().chain(consts).chain(steps)
}

impl Device for EmulatedDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
    fn supports(&self, plan: &LaunchPlan) -> Support {
        let finish = match &plan.family {
            Family::Reduce { finish, .. } => finish.as_deref(),
            _ => None,
        };
        let (support, all) = (self.dtypes(), [Some(&*plan.program), finish].into_iter().flatten());
        match all.flat_map(dtypes).find(|&dtype| !support.supports(dtype)) {
            Some(dtype) => Support::No(format!("{dtype}: {} does not compute in it", self.info.name)),
            None => self.host.supports(plan),
        }
    }
    // What a kernel needs, core compares with the limits before it asks.
    fn supports_kernel(&self, kernel: &Kernel, options: LaunchOptions) -> Support {
        self.host.supports_kernel(kernel, options)
    }
    fn error_bound(&self, op: Op, dtype: Dtype) -> Option<f64> {
        self.host.error_bound(op, dtype)
    }
    fn settle(&self, deadline: Instant) {
        self.host.settle(deadline);
    }
    fn alloc(&self, kind: UsmKind, bytes: usize, align: usize) -> Result<RawAllocation> {
        if self.info.usm(kind) == UsmSupport::Absent {
            let there = UsmKind::ALL.into_iter().filter(|&kind| self.info.usm(kind) != UsmSupport::Absent);
            let names: Vec<String> = there.map(|kind| kind.to_string()).collect();
            return Err(Error::unsupported(
                "kind",
                format!("{kind} memory on {}", self.info.name),
                format!("a kind of memory that the device has: {}", names.join(", ")),
                "use one of these, or leave the kind out",
            ));
        }
        let (limits, wanted) = (&self.info.limits, bytes as u64);
        if wanted > limits.max_allocation_bytes {
            let expected = format!("at most {} bytes in one allocation", limits.max_allocation_bytes);
            return Err(self.refused(kind, bytes, expected));
        }
        let all = limits.global_memory_bytes;
        let more = |taken: u64| taken.checked_add(wanted).filter(|&sum| sum <= all);
        if let Err(taken) = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            let expected =
                format!("no more than the {all} bytes that the device has leave, of which {taken} are taken");
            return Err(self.refused(kind, bytes, expected));
        }
        self.host.alloc(kind, bytes, align).inspect_err(|_| {
            self.taken.fetch_sub(wanted, Ordering::Relaxed);
        })
    }
    unsafe fn free(&self, memory: RawAllocation) {
        // SAFETY: the memory came from `alloc`, which had it from the host's device; for the rest, the caller's promise is the same.
        unsafe { self.host.free(memory) };
        self.taken.fetch_sub(memory.bytes as u64, Ordering::Relaxed);
    }
    unsafe fn discard(&self, memory: RawAllocation) {
        // SAFETY: as for `free`.
        unsafe { self.host.discard(memory) };
    }
    unsafe fn map(&self, ptr: UsmPtr, bytes: usize, write: bool) -> Result<()> {
        // SAFETY: the range is of memory that the host's device gave, see `free`; the caller's promise is the same.
        unsafe { self.host.map(ptr, bytes, write) }
    }
    unsafe fn unmap(&self, ptr: UsmPtr, bytes: usize) -> Result<()> {
        // SAFETY: as for `map`.
        unsafe { self.host.unmap(ptr, bytes) }
    }
    fn create_queue(&self, properties: QueueProperties) -> Result<Arc<dyn Queue>> {
        Ok(Arc::new(EmulatedQueue::new(self.host.create_queue(properties)?)))
    }
    fn sub_devices(&self, partition: &Partition) -> Result<Vec<Arc<dyn Device>>> {
        Err(Error::device_selection(
            "partition",
            format!("{partition}, of {}", self.info.name),
            "a device that can be divided",
            "use the device as a whole, or divide the host",
        ))
    }
    fn signal(&self) -> Result<SignalHandle> {
        let SignalHandle { event, complete } = self.host.signal()?;
        Ok(SignalHandle { event: EmulatedEvent::of(event), complete })
    }
}
