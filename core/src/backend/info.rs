//! What a device is, as data.

use std::fmt;

use crate::memory::pointer::UsmKind;

/// The sort of a device (SYCL 2020, `info::device_type`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum DeviceType {
    /// A processor.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// Another accelerator.
    Accelerator,
}

impl DeviceType {
    /// The second part of a filter string: `cpu`, `gpu`, `accelerator`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Accelerator => "accelerator",
        }
    }
}

impl fmt::Display for DeviceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a device can do beyond the minimum (SYCL 2020, `aspect`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Aspect {
    /// Half precision. Where the hardware has no arithmetic of it, it is computed through `float32`.
    Fp16,
    /// Double-precision arithmetic.
    Fp64,
    /// 64-bit atomic operations.
    Atomic64,
    /// Memory of [`UsmKind::Device`].
    UsmDeviceAllocations,
    /// Memory of [`UsmKind::Host`].
    UsmHostAllocations,
    /// Memory of [`UsmKind::Shared`].
    UsmSharedAllocations,
    /// Any memory of the host can be used by kernels.
    UsmSystemAllocations,
    /// Queues can be made with profiling.
    QueueProfiling,
    /// Work-items of a group work together in sub-groups.
    SubGroups,
    /// Division and square root of `float32` are correctly rounded by the hardware; where they are not, the engine
    /// computes them through `float64` if there is one.
    CorrectlyRoundedDivision,
    /// Host and device are the same processor, so kernels can be debugged on the host.
    HostDebuggable,
}

impl Aspect {
    /// Every aspect.
    pub const ALL: &'static [Self] = &[
        Self::Fp16,
        Self::Fp64,
        Self::Atomic64,
        Self::UsmDeviceAllocations,
        Self::UsmHostAllocations,
        Self::UsmSharedAllocations,
        Self::UsmSystemAllocations,
        Self::QueueProfiling,
        Self::SubGroups,
        Self::CorrectlyRoundedDivision,
        Self::HostDebuggable,
    ];

    /// SYCL's name, where it has one: `fp16`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp16 => "fp16",
            Self::Fp64 => "fp64",
            Self::Atomic64 => "atomic64",
            Self::UsmDeviceAllocations => "usm_device_allocations",
            Self::UsmHostAllocations => "usm_host_allocations",
            Self::UsmSharedAllocations => "usm_shared_allocations",
            Self::UsmSystemAllocations => "usm_system_allocations",
            Self::QueueProfiling => "queue_profiling",
            Self::SubGroups => "sub_groups",
            Self::CorrectlyRoundedDivision => "correctly_rounded_division",
            Self::HostDebuggable => "host_debuggable",
        }
    }
}

/// What a USM kind is on a device, for who looks at a list of devices. Nothing is emulated silently. What can be done with the
/// memory, its [`Capabilities`](super::Capabilities) say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum UsmSupport {
    /// The device's own.
    Native,
    /// Ordinary memory that the engine refuses to show to host code, so that programs for a device with memory of its
    /// own can be tested here.
    Guarded,
    /// Shared virtual memory of fine grain.
    SvmFine,
    /// Shared virtual memory of coarse grain: the engine maps it around host access.
    SvmCoarse,
    /// A pinned buffer.
    PinnedBuffer,
    /// A plain buffer.
    Buffer,
    /// Not there.
    Absent,
}

impl UsmSupport {
    /// A few words for a listing.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Guarded => "host memory, refused to host code",
            Self::SvmFine => "fine-grained SVM",
            Self::SvmCoarse => "coarse-grained SVM, mapped around host access",
            Self::PinnedBuffer => "pinned buffer",
            Self::Buffer => "buffer",
            Self::Absent => "absent",
        }
    }
}

/// Limits of a device; the default is zeros, of which a backend sets what it knows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Limits {
    /// Cores or compute units.
    pub compute_units: usize,
    /// Bytes of global memory.
    pub global_memory_bytes: u64,
    /// Bytes of memory local to a work-group.
    pub local_memory_bytes: u64,
    /// Bytes of arrays of their own that the items of a work-group have together.
    pub private_memory_bytes: u64,
    /// Bytes of arrays of its own that one item has at most; 0 where that of a group is the only limit.
    pub private_item_bytes: u64,
    /// Bytes that one allocation can have.
    pub max_allocation_bytes: u64,
    /// Work-items in a work-group.
    pub max_work_group_size: usize,
    /// Bytes of a vector register, or of the widest access that pays.
    pub vector_bytes: usize,
    /// Bytes of the last cache before memory; 0 where unknown.
    pub last_cache_bytes: usize,
}

/// One cache of a processor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cache {
    /// 1, 2, 3, …
    pub level: u8,
    /// Its size.
    pub bytes: usize,
    /// The logical processors that share it.
    pub cpus: Vec<usize>,
}

/// How the processors of a device hang together; empty where unknown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Topology {
    /// Where it was read: `hwloc`, `sysfs`, or empty.
    pub source: &'static str,
    /// The logical processors of this device.
    pub cpus: Vec<usize>,
    /// Logical processors of each NUMA node.
    pub numa_nodes: Vec<Vec<usize>>,
    /// Data and unified caches.
    pub caches: Vec<Cache>,
}

/// The property that sub-devices share (SYCL 2020, `info::partition_affinity_domain`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum AffinityDomain {
    /// One sub-device per NUMA node.
    Numa,
    /// One sub-device per level 4 cache.
    L4Cache,
    /// One sub-device per level 3 cache.
    L3Cache,
    /// One sub-device per level 2 cache.
    L2Cache,
    /// One sub-device per level 1 cache.
    L1Cache,
    /// The outermost of these that divides the device.
    NextPartitionable,
}

/// How to divide a device.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Partition {
    /// Into as many sub-devices of this many compute units as fit.
    Equally(usize),
    /// Into sub-devices of these many compute units.
    ByCounts(Vec<usize>),
    /// By what processors share.
    ByAffinityDomain(AffinityDomain),
}

/// As messages name it: of many counts, the first ones.
impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        match self {
            Self::Equally(count) => write!(f, "equal parts of {count} compute units"),
            Self::ByCounts(counts) if counts.len() > SHOWN => {
                write!(f, "{} parts, the first of {:?} compute units", counts.len(), &counts[..SHOWN])
            }
            Self::ByCounts(counts) => write!(f, "parts of {counts:?} compute units"),
            Self::ByAffinityDomain(domain) => write!(f, "parts by what processors share ({domain:?})"),
        }
    }
}

/// What a device is. A backend begins with [`new`](Self::new), and sets what else it knows.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The driver's name.
    pub backend: &'static str,
    /// The device's name.
    pub name: String,
    /// Who made it.
    pub vendor: String,
    /// Version of the driver.
    pub driver_version: String,
    /// Its sort.
    pub device_type: DeviceType,
    /// For one of several forms of the same hardware: the form's name, which stands in the filter string in place of
    /// the type (`host:avx2`). Such a device is found by that name only.
    pub variant: Option<&'static str>,
    /// Kernel instruction set in use, where it has a name: `avx512`.
    pub isa: &'static str,
    /// What it can do.
    pub aspects: Vec<Aspect>,
    /// Its limits.
    pub limits: Limits,
    /// What the USM kinds are here, in the order of [`UsmKind::ALL`].
    pub usm: [UsmSupport; 3],
    /// Its processors.
    pub topology: Topology,
}

impl DeviceInfo {
    /// A device of a driver, without aspects, limits and memory yet.
    #[must_use]
    pub fn new(backend: &'static str, name: impl Into<String>, device_type: DeviceType) -> Self {
        Self {
            backend,
            name: name.into(),
            vendor: String::new(),
            driver_version: String::new(),
            device_type,
            variant: None,
            isa: "",
            aspects: Vec::new(),
            limits: Limits::default(),
            usm: [UsmSupport::Absent; 3],
            topology: Topology::default(),
        }
    }
    /// Whether the device has an aspect.
    #[must_use]
    pub fn has(&self, aspect: Aspect) -> bool {
        self.aspects.contains(&aspect)
    }
    /// What a USM kind is here.
    #[must_use]
    pub const fn usm(&self, kind: UsmKind) -> UsmSupport {
        self.usm[kind.number()]
    }
}
