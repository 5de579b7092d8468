//! Host devices and their division, with the queues, events and tasks of each.
//!
//! A device is some processors, an instruction-set level, memory of the system, and threads (`DeviceState`),
//! which start when they are needed. Its part of the boundary's contract is mostly handed on: plans to
//! [`kernels`], users' kernels to [`interpreter`], memory to [`memory`], parts of work to [`fork_join`]. What
//! is decided here is what core is told (`capabilities`, `info`), how much may be under way, and how a device
//! is divided, by counts or by caches and nodes.
//!
//! `Immediate` is the door for small work: it computes on the calling thread, on memory that core holds. Under
//! the guard (`guard.rs`) core's addresses are not those to compute with, so that the door is shut.
//!
//! Dividing gives whole processors where there are enough, so that parts do not run on each other's. A new
//! ability of the host is a field of core's `Capabilities`, set in `capabilities`: core asks for abilities,
//! never whether this is the host.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

use rayon::ThreadPool;
use stridewise_core::backend::{
    AffinityDomain, Aspect, Backlog, Capabilities, Command, Device, DeviceInfo, DeviceType, Elements, Fold,
    FoldExtents, Home, HostAccess, Immediate, Interprocess, LaunchPlan, Partition, Queue, QueueProperties,
    RawAllocation, Signal, SignalHandle, Support, UsmSupport, Way,
};
use stridewise_core::kernel::{Kernel, LaunchOptions};
use stridewise_core::memory::{UsmKind, UsmPtr};
use stridewise_core::{Dtype, Error, Op, Result};

mod event;
mod queue;
mod state;
mod task;

use crate::kernels::{self, Sharing, Tuning};
use crate::simd::Isa;
use crate::{DRIVER, fork_join, guard, interpreter, memory, topology};
use queue::HostQueue;
use state::DeviceState;

/// What a work-group may count on where the second-level cache is unknown.
const LOCAL_MEMORY_BYTES: u64 = 256 << 10;
/// What a group's items have of private arrays on a thread: a quarter of the memory for all threads, from here to here.
const PRIVATE_MEMORY_BYTES: [u64; 2] = [1 << 25, 1 << 30];
/// Work-items of a group are iterations of a loop here; this is what CPU runtimes of OpenCL commonly offer.
const MAX_WORK_GROUP_SIZE: usize = 4096;
/// As much of a last cache as processors have for each thread that are made for having much: 96 MiB for 16. A virtual machine
/// is often shown the whole cache of the machine below it, which it shares with others: 480 MiB for two processors.
const CACHE_PER_PROCESSOR: usize = 6 << 20;
/// As much of one as cores that share it commonly have together.
const CACHE_PER_COMPLEX: usize = 32 << 20;

/// Commands under way, which bounds the memory that they keep: some for every thread, since what is short is computed by one.
const HOST_COMMANDS: usize = 16;
const HOST_COMMANDS_PER_THREAD: usize = 8;
/// Bytes under way for every thread, for the same reason: some milliseconds of work.
const HOST_BYTES_PER_THREAD: usize = 32 << 20;

/// What a device of so many threads can do beyond the minimum.
fn capabilities(threads: usize) -> Capabilities {
    let mut capabilities = Capabilities::default();
    capabilities.set_host_access(UsmKind::Host, HostAccess::Direct);
    capabilities.set_host_access(UsmKind::Shared, HostAccess::Direct);
    capabilities.default_kind = UsmKind::Shared;
    capabilities.process_memory = true;
    capabilities.on_processor = true;
    // Under the guard, the addresses that core knows are not those to compute with.
    capabilities.immediate = !guard::enabled();
    capabilities.cheap_callbacks = true;
    capabilities.interprocess = Some(Interprocess::File);
    capabilities.backlog = Backlog {
        commands: HOST_COMMANDS + threads.saturating_mul(HOST_COMMANDS_PER_THREAD),
        bytes: threads.saturating_mul(HOST_BYTES_PER_THREAD),
    };
    capabilities.most_stages = 2;
    // Under the guard, the addresses of each command are exchanged when it is taken.
    capabilities.sequences = !guard::enabled();
    capabilities.stores_graphs = true;
    capabilities
}

/// A processor, or part of one.
pub(crate) struct HostDevice {
    info: DeviceInfo,
    capabilities: Capabilities,
    state: Arc<DeviceState>,
}

impl HostDevice {
    /// The whole machine, or as much of it as this process may use.
    pub(crate) fn root(
        isa: Isa,
        variant: Option<&'static str>,
        threads: usize,
        rayon: Option<Arc<ThreadPool>>,
    ) -> Self {
        let machine = topology::machine();
        let whole = &machine.topology;
        let last_cache_bytes = topology::last_cache_bytes(whole);
        let second = whole.caches.iter().filter(|c| c.level == 2).map(|c| c.bytes as u64).min();
        let mut info = DeviceInfo::new(DRIVER, machine.model.as_str(), DeviceType::Cpu);
        info.vendor.clone_from(&machine.vendor);
        env!("CARGO_PKG_VERSION").clone_into(&mut info.driver_version);
        info.variant = variant;
        info.isa = isa.name();
        info.aspects = vec![
            Aspect::Fp16,
            Aspect::Fp64,
            Aspect::Atomic64,
            Aspect::UsmDeviceAllocations,
            Aspect::UsmHostAllocations,
            Aspect::UsmSharedAllocations,
            Aspect::QueueProfiling,
            Aspect::CorrectlyRoundedDivision,
            Aspect::HostDebuggable,
        ];
        let limits = &mut info.limits;
        limits.compute_units = threads;
        limits.global_memory_bytes = machine.memory_bytes;
        limits.local_memory_bytes = second.filter(|b| *b > 0).unwrap_or(LOCAL_MEMORY_BYTES);
        limits.private_memory_bytes = (machine.memory_bytes / (4 * threads.max(1) as u64))
            .clamp(PRIVATE_MEMORY_BYTES[0], PRIVATE_MEMORY_BYTES[1]);
        limits.max_allocation_bytes = machine.memory_bytes;
        limits.max_work_group_size = MAX_WORK_GROUP_SIZE;
        limits.vector_bytes = match isa {
            Isa::Scalar => 16,
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => 16,
            Isa::Avx2 => 32,
            Isa::Avx512 => 64,
        };
        limits.last_cache_bytes = last_cache_bytes;
        info.usm = [UsmSupport::Native, UsmSupport::Guarded, UsmSupport::Native];
        info.topology = whole.clone();
        // Workers are bound only where they fill the process's processors. With fewer, several processes (or containers
        // under a quota) would all bind to the same first ones; with more, binding only keeps the system from balancing.
        let pinned = threads == whole.cpus.len() && rayon.is_none();
        let tuning =
            Tuning { isa, threads, last_cache_bytes: usable_cache(last_cache_bytes, whole.cpus.len()) };
        Self::new(info, tuning, Instant::now(), pinned, rayon.map(|rayon| (rayon, Home::here())))
    }

    fn new(
        info: DeviceInfo,
        tuning: Tuning,
        origin: Instant,
        pinned: bool,
        rayon: Option<(Arc<ThreadPool>, Home)>,
    ) -> Self {
        let state = DeviceState::new(tuning, origin, info.topology.cpus.clone(), pinned, rayon);
        let capabilities = capabilities(tuning.threads);
        Self { info, capabilities, state: Arc::new(state) }
    }

    /// A device of some threads on some of this one's processors; pinned, there are as many of the one as of the other.
    fn part(&self, threads: usize, cpus: &[usize], pinned: bool) -> Arc<dyn Device> {
        let mut info = self.info.clone();
        info.limits.compute_units = threads;
        info.topology = topology::restricted(&self.info.topology, cpus);
        info.limits.last_cache_bytes = topology::last_cache_bytes(&info.topology);
        let processors = topology::machine().topology.cpus.len();
        let last_cache_bytes = usable_cache(info.limits.last_cache_bytes, processors);
        let tuning = Tuning { threads, last_cache_bytes, ..self.state.tuning };
        let rayon = self.state.rayon.clone();
        Arc::new(Self::new(info, tuning, self.state.origin, pinned && rayon.is_none(), rayon))
    }

    /// Consecutive runs of compute units; each has its processors, where there are enough for all.
    fn parts_by_counts(&self, counts: &[usize]) -> Vec<Arc<dyn Device>> {
        let cpus = &self.info.topology.cpus;
        let enough = self.state.tuning.threads <= cpus.len();
        let mut first = 0;
        counts
            .iter()
            .map(|&count| {
                let run = if enough { &cpus[first..first + count] } else { cpus.as_slice() };
                first += count;
                // Whoever divides a device asks for these processors, so its threads stay on them.
                self.part(count, run, enough)
            })
            .collect()
    }

    fn indivisible(&self, partition: &Partition, expected: &'static str) -> Error {
        let units = self.state.tuning.threads;
        Error::device_selection(
            "partition",
            format_args!("{partition}, of a host device of {units} compute units"),
            expected,
            format!(
                "use equal parts of 1 to {units} compute units, or counts that add up to {units} at most; the device's topology \
                 lists the nodes and caches"
            ),
        )
    }

    fn refused(kind: UsmKind, bytes: usize, device: &str, help: &'static str) -> Error {
        Error::alloc(
            "bytes",
            format!("{bytes} bytes of {kind} memory on {device}"),
            "no more than the system has left",
            help,
        )
    }
}

impl Immediate for HostDevice {
    fn elements_fn(&self, op: Op, dtype: Dtype, out: Dtype) -> Option<Elements> {
        kernels::elements_fn(op, dtype, out, &self.state.tuning)
    }

    unsafe fn gather(&self, dst: *mut u8, src: *const u8, dims: &[(usize, isize)], size: usize) {
        // SAFETY: what `Immediate::gather` asks for is what the function does; the level is one that the
        // processor has.
        unsafe { kernels::gather_elements(self.state.tuning.isa, dst, src, dims, size) };
    }

    unsafe fn fold(
        &self,
        fold: Fold,
        dtypes: [Dtype; 2],
        dst: *mut u8,
        src: *const u8,
        factors: Option<*const u8>,
        extents: FoldExtents,
    ) -> bool {
        let others = factors.is_some_and(|factors| factors != src);
        // SAFETY: what `Immediate::fold` asks for is what the function does, with any tuning of this device,
        // whose level the processor has.
        let work = |tuning: &Tuning| unsafe {
            kernels::fold_elements(fold, dtypes, dst, (src, factors), extents, tuning)
        };
        match kernels::shares_fold(fold, dtypes[0], others, extents) {
            Sharing::All => self.state.run_on_all(work).unwrap_or(false),
            sharing => self.state.run_here(sharing == Sharing::Helped, work),
        }
    }

    unsafe fn run(&self, plan: &LaunchPlan) -> bool {
        if !kernels::is_short(plan) {
            return false;
        }
        let plans = std::slice::from_ref(plan);
        // SAFETY: the plan's contract holds and nothing else accesses its memory in conflict
        // (`Immediate::run`); there is a kernel for a plan that is short, and the level is one that the
        // processor has.
        self.state.run_here(false, |tuning| unsafe { kernels::run_group(plans, tuning) }.is_ok())
    }
}

impl Device for HostDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn supports(&self, plan: &LaunchPlan) -> Support {
        kernels::supports(plan)
    }

    fn supports_kernel(&self, kernel: &Kernel, _: LaunchOptions) -> Support {
        interpreter::supports(kernel, &self.state.tuning)
    }

    fn way(&self, command: &Command) -> Way {
        let (road, estimate) = queue::road(command);
        let mut way = Way::new(road, self.state.tuning.isa.name());
        way.threads = if road == queue::CALLER { 1 } else { self.state.tuning.threads };
        way.estimate = estimate;
        way
    }

    fn immediate(&self) -> Option<&dyn Immediate> {
        // Under the guard, the addresses that core knows are not those to compute with.
        (!guard::enabled()).then_some(self)
    }

    fn share(&self, len: usize, by_all: bool, run: &(dyn Fn(Range<usize>) + Sync)) {
        let work =
            |tuning: &Tuning| {
                // Two for each, one for who is early: to claim one takes as long as a line of the cache takes to the other core.
                let parts = len.min(if tuning.threads > 1 { 2 * tuning.threads } else { 1 });
                fork_join::share(parts, tuning.threads, &|part| {
                    run(len * part / parts..len * (part + 1) / parts)
                });
            };
        if !by_all || self.state.run_on_all(work).is_none() {
            self.state.run_here(true, work);
        }
    }

    fn alloc(&self, kind: UsmKind, bytes: usize, align: usize) -> Result<RawAllocation> {
        if bytes == 0 || !align.is_power_of_two() {
            return Err(Error::value(
                "bytes, align",
                format!("{bytes}, {align}"),
                "at least one byte, at a multiple of a power of two",
                "allocate one byte for an empty array; use the dtype's alignment or 64",
            ));
        }
        let most = self.info.limits.max_allocation_bytes;
        if bytes as u64 > most {
            return Err(Error::alloc(
                "bytes",
                format!("{bytes} bytes of {kind} memory on {}", self.info.name),
                format!("at most {most} bytes in one allocation"),
                "work on the data in parts, or on a machine with more memory",
            ));
        }
        let start = if kind == UsmKind::Device && guard::enabled() {
            guard::map(bytes, align)
        } else {
            memory::map(bytes, align, true)
        };
        let Some(start) = start else {
            let help = "free arrays, trim the pool of unused memory, or work on the data in parts";
            return Err(Self::refused(kind, bytes, &self.info.name, help));
        };
        Ok(RawAllocation { ptr: UsmPtr::new(start.as_ptr()), bytes, kind })
    }

    unsafe fn free(&self, allocation: RawAllocation) {
        let Some(start) = NonNull::new(allocation.ptr.as_ptr()) else { return };
        // SAFETY: the caller's promise: `alloc` of this device mapped this memory with this length (directly or
        // guarded, which the first call finds out), it was not freed, and no pending command touches it.
        unsafe {
            if !guard::unmap(start) {
                memory::unmap(start, allocation.bytes);
            }
        }
    }

    unsafe fn discard(&self, allocation: RawAllocation) {
        let Some(start) = NonNull::new(guard::resolve(allocation.ptr).as_ptr()) else { return };
        // SAFETY: the caller's promise, as for `free`; the contents are not needed. A guarded allocation's memory is its
        // alias, of the same length.
        unsafe { memory::discard(start, allocation.bytes) };
    }

    fn create_queue(&self, properties: QueueProperties) -> Result<Arc<dyn Queue>> {
        Ok(Arc::new(HostQueue::new(Arc::clone(&self.state), properties)))
    }

    fn sub_devices(&self, partition: &Partition) -> Result<Vec<Arc<dyn Device>>> {
        let units = self.state.tuning.threads;
        match partition {
            Partition::Equally(count) => {
                if !(1..=units).contains(count) {
                    return Err(self.indivisible(
                        partition,
                        "at least one and at most all compute units in each sub-device",
                    ));
                }
                Ok(self.parts_by_counts(&vec![*count; units / count]))
            }
            Partition::ByCounts(counts) => {
                let sum = counts.iter().try_fold(0usize, |sum, count| sum.checked_add(*count));
                if counts.is_empty() || counts.contains(&0) || sum.is_none_or(|sum| sum > units) {
                    return Err(self.indivisible(
                        partition,
                        "one or more counts, none of them 0, that add up to no more than the device has",
                    ));
                }
                Ok(self.parts_by_counts(counts))
            }
            Partition::ByAffinityDomain(domain) => self.domains(*domain).ok_or_else(|| {
                self.indivisible(partition, "a domain that is known and divides the device into two or more")
            }),
            _ => Err(self.indivisible(partition, "a partition that this driver knows")),
        }
    }

    fn signal(&self) -> Result<SignalHandle> {
        Ok(Signal::promise(DRIVER))
    }
}

impl HostDevice {
    fn domains(&self, domain: AffinityDomain) -> Option<Vec<Arc<dyn Device>>> {
        let units = self.state.tuning.threads;
        let cpus = &self.info.topology.cpus;
        // A device of fewer threads than processors is divided as if it had the first ones only.
        let used = topology::restricted(&self.info.topology, &cpus[..units.min(cpus.len())]);
        let groups = topology::groups(&used, domain);
        (groups.len() > 1).then(|| groups.iter().map(|group| self.part(group.len(), group, true)).collect())
    }
}

/// For kernels, which store past the cache what does not fit: what so many processors may count on of a last cache. That is
/// seven eighths of it, as something else is always there, too. Sums and choices of 24 MiB in a cache of 32 took 0.7 of the time
/// that they take with half of it counted on; roots and exponentials that move 128 MiB, on 16 processors that are shown 300 MiB,
/// 1.4 and 1.6 times as long with half of these as with 64 MiB. One of unknown size takes everything.
fn usable_cache(bytes: usize, processors: usize) -> usize {
    let most = processors.saturating_mul(CACHE_PER_PROCESSOR).max(CACHE_PER_COMPLEX);
    if bytes == 0 { usize::MAX } else { bytes.min(most) / 8 * 7 }
}

#[cfg(test)]
mod tests {
    use super::usable_cache;

    #[test]
    fn a_cache_counts_for_what_the_processors_may_have_of_it() {
        // A laptop; eight cores that share 96 MiB; few processors of virtual machines below which there are more.
        for (mib, processors, usable) in
            [(8, 8, 7), (96, 16, 84), (96, 8, 42), (32, 2, 28), (480, 2, 28), (300, 16, 84), (480, 256, 420)]
        {
            assert_eq!(usable_cache(mib << 20, processors), usable << 20, "{mib} MiB for {processors}");
        }
        assert_eq!(usable_cache(0, 2), usize::MAX);
    }
}
