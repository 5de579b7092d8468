//! Devices: finding one, asking what it is, dividing it.
//!
//! A [`Device`] is a handle of what a backend made, with what core keeps for it: the pool of memory, the
//! bound of work under way, the functions for small work, and the default context and queue. Devices are
//! found once for the process, each driver when it is first asked for: `select("host")` loads no OpenCL.
//! ```text
//! select("opencl:gpu:0")   backend : type : number, each of which may be left out
//! ```
//! Drivers register themselves when the program is linked (`register_driver!`); a driver that was built for
//! another version of the interface is left out, and the doctor says so. Their devices are found by a thread
//! of its own, as loaders of runtimes take more of a stack than the caller may have left.
//!
//! Sub-devices, and devices made by `from_backend`, are equal to their clones only; registered ones live as
//! long as the process. What core wants to know about a device is a field of `Capabilities`, and never its
//! name.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe, resume_unwind};
use std::sync::{Arc, LazyLock, OnceLock, PoisonError, Weak};

use super::context::WeakContext;
use super::{Context, Filter, FilterTerm, Queue, process};
use crate::backend::{
    self, Aspect, Backlog, Capabilities, DeviceInfo, DeviceType, Driver, Elements, HostAccess, INTERFACE,
    Partition, Registration,
};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::memory::backlog::UnderWay;
use crate::memory::handle::{Handle, Shared};
use crate::memory::pool::Pool;
use crate::memory::{MemoryUsage, PoolStatistics, UsmKind};
use crate::ops::Op;
use crate::promotion::DtypeSupport;
use crate::sync::primitives::thread::Builder;
use crate::sync::{Mutex, Section, start_thread};

/// Environment variable that names the default device by a filter string.
pub(crate) const DEFAULT_DEVICE_VARIABLE: &str = "STRIDEWISE_DEVICE";

/// The stack of the thread that finds the devices: a main thread's, which runtimes are written for.
const FINDING_STACK: usize = 8 << 20;

/// A device. Cheap to clone; equal to itself and its clones only.
#[derive(Clone)]
pub struct Device(Handle<Inner>);

/// A device that does not keep itself alive.
#[derive(Clone)]
pub struct WeakDevice(Weak<Shared<Inner>>);

impl WeakDevice {
    /// The device, while anything else keeps it.
    #[must_use]
    pub fn upgrade(&self) -> Option<Device> {
        Handle::upgrade(&self.0).map(Device)
    }
    pub(super) fn is_alive(&self) -> bool {
        self.0.strong_count() > 0
    }
}

struct Inner {
    backend: Arc<dyn backend::Device>,
    /// The backend's answer, without a call through a table for each question.
    capabilities: Capabilities,
    pool: Pool,
    under_way: UnderWay,
    functions: Functions,
    /// Bytes that its memory moves in a second, once that was measured.
    bandwidth: OnceLock<f64>,
    /// Number among the devices of its backend and type, or of its variant.
    index: usize,
    parent: Option<Device>,
    /// Weak, since a context holds its devices.
    context: Mutex<WeakContext>,
    /// Keeps the cached queue of a registered device, which lives as long as the process anyway.
    kept: OnceLock<Queue>,
    registered: bool,
}

// A panic leaves it usable: by the contract of the backend traits, and as core's own locks guard nothing that a panic could
// leave half done.
impl UnwindSafe for Inner {}
impl RefUnwindSafe for Inner {}

/// What computes an operation on operands of a dtype on the calling thread, and what it takes and gives.
pub(crate) struct OpFunction {
    pub(crate) elements: Elements,
    pub(crate) arity: usize,
    /// The dtype of the results.
    pub(crate) out: Dtype,
}

/// A backend's functions for work on the calling thread, each asked for once.
struct Functions(Box<[OnceLock<Option<OpFunction>>]>);

impl Functions {
    fn new() -> Self {
        Self((0..Op::ALL.len() * Dtype::ALL.len()).map(|_| OnceLock::new()).collect())
    }

    #[inline(always)]
    fn get(&self, backend: &dyn backend::Device, op: Op, dtype: Dtype) -> Option<&OpFunction> {
        let known = &self.0[op as usize * Dtype::ALL.len() + dtype as usize];
        match known.get() {
            Some(function) => function.as_ref(),
            None => Self::ask(known, backend, op, dtype),
        }
    }

    #[cold]
    fn ask<'a>(
        known: &'a OnceLock<Option<OpFunction>>,
        backend: &dyn backend::Device,
        op: Op,
        dtype: Dtype,
    ) -> Option<&'a OpFunction> {
        let ask = || {
            let out = op.result(dtype);
            let elements = backend.immediate()?.elements_fn(op, dtype, out)?;
            Some(OpFunction { elements, arity: op.arity(), out })
        };
        let _section = Section::enter();
        known.get_or_init(ask).as_ref()
    }
}

struct Registry {
    /// By name.
    drivers: Vec<Arc<dyn Driver>>,
    /// For each name, once.
    listed: Vec<Listed>,
}

/// The drivers of one name, and their devices, which are asked for when somebody wants one that may be among them: a runtime that
/// nobody uses is not loaded.
struct Listed {
    drivers: Vec<Arc<dyn Driver>>,
    devices: OnceLock<Vec<Device>>,
}

/// Why the devices of a driver are not listed, if they are not.
pub(crate) fn outdated(driver: &dyn Driver) -> Option<String> {
    let version = driver.interface();
    (version != INTERFACE).then(|| {
        format!(
            "written for version {version} of the interface of backends; this build has version {INTERFACE}"
        )
    })
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    Registry::of(inventory::iter::<Registration>.into_iter().map(|r| (r.driver)()).collect())
});

/// The devices of drivers, as they are listed.
#[cfg(test)]
pub(crate) fn list(drivers: Vec<Arc<dyn Driver>>) -> Vec<Device> {
    Registry::of(drivers).listed.iter().flat_map(Listed::find).collect()
}

impl Registry {
    fn of(mut drivers: Vec<Arc<dyn Driver>>) -> Self {
        // Link order is no order: by name.
        drivers.sort_by_key(|d| d.name());
        let alike = drivers.chunk_by(|a, b| a.name() == b.name());
        let listed = alike.map(|drivers| Listed { drivers: drivers.to_vec(), devices: OnceLock::new() });
        Self { listed: listed.collect(), drivers }
    }
}

impl Listed {
    fn name(&self) -> &'static str {
        self.drivers.first().map_or("", |driver| driver.name())
    }

    /// Whether a term of a filter may mean a device of these drivers.
    fn is_named_by(&self, term: &FilterTerm) -> bool {
        term.backend.as_deref().is_none_or(|backend| backend == self.name())
    }

    /// Whether a driver among them says, without loading anything, that it may have a device of a type.
    fn may_have(&self, device_type: DeviceType) -> bool {
        self.devices.get().is_some() || self.drivers.iter().any(|driver| driver.may_have(device_type))
    }

    /// The devices. The drivers are asked once, by a thread of its own, where one can be had: the loaders of runtimes take more of
    /// a stack than the caller may have left.
    fn devices(&'static self) -> &'static [Device] {
        // In a process that is forked while drivers are asked, this would be waited for for ever.
        let _section = Section::enter();
        self.devices.get_or_init(|| {
            let find = || {
                // The caller, which waits, is inside.
                let _section = Section::enter_beside();
                self.find()
            };
            let thread = Builder::new().name("stridewise-devices".to_owned()).stack_size(FINDING_STACK);
            let found = match start_thread(thread, find) {
                Ok(thread) => thread.join().unwrap_or_else(|payload| resume_unwind(payload)),
                Err(_) => self.find(),
            };
            process::watch_exit();
            found
        })
    }

    fn find(&self) -> Vec<Device> {
        let mut devices: Vec<Device> = Vec::new();
        for driver in self.drivers.iter().filter(|driver| outdated(&***driver).is_none()) {
            for backend in driver.devices() {
                let alike = |d: &&Device| {
                    let (a, b) = (d.info(), backend.info());
                    a.backend == b.backend && a.variant == b.variant && a.device_type == b.device_type
                };
                let index = devices.iter().filter(alike).count();
                devices.push(Device::make(backend, index, None, true));
            }
        }
        devices
    }
}

fn registry() -> &'static Registry {
    // As for the devices.
    let _section = Section::enter();
    &REGISTRY
}

/// The drivers of this build, by name; they have been asked for their devices.
pub(crate) fn drivers() -> &'static [Arc<dyn Driver>] {
    for listed in &registry().listed {
        listed.devices();
    }
    &registry().drivers
}

/// The root devices of this machine, without the variants that are found by name only: one driver after the other, each asked when the
/// iterator comes to it, which loads its runtime. Who looks for a device ends where it is found, and loads nothing that stands behind.
pub fn each_device() -> impl Iterator<Item = Device> {
    let all = registry().listed.iter().flat_map(Listed::devices);
    all.filter(|d| d.info().variant.is_none()).cloned()
}

/// The root devices of this machine, without the variants that are found by name only. Every driver is asked.
#[must_use]
pub fn devices() -> Vec<Device> {
    each_device().collect()
}

/// The device that arrays are made on where none is named: the one that the environment variable `STRIDEWISE_DEVICE`
/// names, else (also where it is empty) the first GPU, else the host, else the first there is. Chosen once.
///
/// A driver is asked for its devices where it may have the one that is looked for ([`Driver::may_have`]), no other one.
///
/// # Errors
/// [`Error::DeviceSelection`] where the variable names no device, or there is none at all.
pub fn default_device() -> Result<Device> {
    static DEFAULT: OnceLock<Result<Device>> = OnceLock::new();
    if let Some(chosen) = DEFAULT.get() {
        return chosen.clone();
    }
    let named = std::env::var_os(DEFAULT_DEVICE_VARIABLE).map(|text| text.to_string_lossy().into_owned());
    let choose = || match named.filter(|filter| !filter.trim().is_empty()) {
        Some(filter) => Device::select(&filter).map_err(|error| match error {
            Error::DeviceSelection(c) => Error::device_selection(
                format!("environment variable {DEFAULT_DEVICE_VARIABLE}"),
                &c.value,
                c.expected.clone(),
                c.help.clone(),
            ),
            other => other,
        }),
        None => {
            let likely = |device_type| {
                let listed = registry().listed.iter().filter(move |listed| listed.may_have(device_type));
                listed.flat_map(Listed::devices).filter(|d| d.info().variant.is_none())
            };
            let gpu = likely(DeviceType::Gpu).find(|d| d.info().device_type == DeviceType::Gpu);
            let host = || likely(DeviceType::Cpu).find(|d| d.capabilities().process_memory);
            let any =
                || each_device().find(|d| d.capabilities().process_memory).or_else(|| each_device().next());
            gpu.or_else(host).cloned().or_else(any).ok_or_else(|| {
                Error::device_selection(
                    "device",
                    "none",
                    "at least one device",
                    "use the `stridewise` crate, which brings the host backend, rather than its core alone",
                )
            })
        }
    };
    // Chosen before it is kept: drivers may be asked for it, which whoever else looks for a device need not wait for.
    let chosen = choose();
    let _section = Section::enter();
    DEFAULT.get_or_init(|| chosen).clone()
}

impl Device {
    /// A root device from a backend's own object, for backends that are not registered.
    #[must_use]
    pub fn from_backend(backend: Arc<dyn backend::Device>) -> Self {
        Self::make(backend, 0, None, false)
    }

    fn make(backend: Arc<dyn backend::Device>, index: usize, parent: Option<Self>, registered: bool) -> Self {
        process::watch_forks();
        let capabilities = backend.capabilities().clone();
        let pool = Pool::new(Arc::clone(&backend));
        let under_way = UnderWay::new(capabilities.backlog);
        let inner = Inner {
            backend,
            capabilities,
            pool,
            under_way,
            functions: Functions::new(),
            bandwidth: OnceLock::new(),
            index,
            parent,
            context: Mutex::default(),
            kept: OnceLock::new(),
            registered,
        };
        let device = Self(Handle::new(inner));
        if registered {
            device.0.make_lasting();
        }
        if std::iter::successors(Some(&device), |d| d.parent_device()).any(Self::is_registered) {
            process::note(&device);
        }
        device
    }

    /// The first device that matches a filter string: `backend:type:index`, each part optional, or a comma list of
    /// such. A device's variant stands in place of the type: `host:avx2`. Drivers are asked for their devices until one
    /// matches: those that a term names, else one after the other by name.
    ///
    /// # Errors
    /// [`Error::DeviceSelection`] where the string is wrong or nothing matches; the devices there are, are named.
    pub fn select(filter: &str) -> Result<Self> {
        let listed = &registry().listed;
        let backends: Vec<&str> = listed.iter().map(Listed::name).collect();
        let parsed = Filter::parse(filter, &backends)?;
        let found = parsed.terms.iter().find_map(|term| {
            let devices = listed.iter().filter(|of| of.is_named_by(term)).flat_map(Listed::devices);
            devices.filter(|d| d.answers_to(term)).nth(term.index.unwrap_or(0))
        });
        found.cloned().ok_or_else(|| {
            // Of the drivers that the filter names, which have been asked; where these have none, of all.
            let is_named = |of: &&Listed| parsed.terms.iter().any(|term| of.is_named_by(term));
            let mut there: Vec<&Device> = listed.iter().filter(is_named).flat_map(Listed::devices).collect();
            if there.is_empty() {
                there = listed.iter().flat_map(Listed::devices).collect();
            }
            // What is found by name only comes behind what one finds without it.
            there.sort_by_key(|device| device.info().variant.is_some());
            let names: Vec<String> = there.into_iter().map(Self::filter_string).collect();
            Error::device_selection(
                "filter",
                format!("{filter:?}"),
                "a filter string that a device of this machine answers to",
                format!("use one of: {}", names.join(", ")),
            )
        })
    }

    fn answers_to(&self, term: &FilterTerm) -> bool {
        let info = self.info();
        term.backend.as_deref().is_none_or(|backend| backend == info.backend)
            && match (&term.kind, info.variant) {
                (Some(kind), Some(variant)) => kind == variant,
                (Some(kind), None) => kind == info.device_type.name(),
                (None, variant) => variant.is_none(),
            }
    }

    /// The filter string that selects a root device; a sub-device has its root's, and its place below it.
    #[must_use]
    pub fn filter_string(&self) -> String {
        let info = self.info();
        match &self.0.parent {
            Some(parent) => format!("{}/{}", parent.filter_string(), self.0.index),
            None => match info.variant {
                Some(variant) => format!("{}:{variant}", info.backend),
                None => format!("{}:{}:{}", info.backend, info.device_type, self.0.index),
            },
        }
    }

    /// What the device is.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        self.0.backend.info()
    }

    /// What the device can do beyond the minimum.
    #[inline]
    #[must_use]
    pub fn capabilities(&self) -> &Capabilities {
        &self.0.capabilities
    }

    /// Whether host code reaches its memory of a kind as it is, wherever no command is under way.
    pub(crate) fn shows_directly(&self, kind: UsmKind) -> bool {
        self.capabilities().host_access(kind) == HostAccess::Direct
    }

    /// Which dtypes it computes in.
    #[must_use]
    pub fn dtype_support(&self) -> DtypeSupport {
        DtypeSupport { f16: self.info().has(Aspect::Fp16), f64: self.info().has(Aspect::Fp64) }
    }

    /// The USM kind of arrays that are made here without one: shared where the device has that memory of its own, else
    /// device.
    #[must_use]
    pub fn default_kind(&self) -> UsmKind {
        self.capabilities().default_kind
    }

    /// How far the result of an operation on a dtype may be from the exact one, in units in the last place, where the
    /// device computes it by functions of its own, such as those of OpenCL C: 0 for exact and correctly rounded results;
    /// of complex numbers, in units of the greater part. `None` where it computes by this engine's functions.
    #[must_use]
    pub fn error_bound(&self, op: Op, dtype: Dtype) -> Option<f64> {
        self.0.backend.error_bound(op, dtype)
    }

    /// Divides the device.
    ///
    /// # Errors
    /// [`Error::DeviceSelection`] where it cannot be divided so.
    pub fn create_sub_devices(&self, partition: &Partition) -> Result<Vec<Self>> {
        let parts = self.0.backend.sub_devices(partition)?;
        let parent = || Some(self.clone());
        Ok(parts.into_iter().enumerate().map(|(i, part)| Self::make(part, i, parent(), false)).collect())
    }

    /// The device that this one is a part of.
    #[must_use]
    pub fn parent_device(&self) -> Option<&Self> {
        self.0.parent.as_ref()
    }

    /// The device's default context: the same one as long as anything uses it.
    #[must_use]
    pub fn default_context(&self) -> Context {
        let mut kept = self.0.context.lock().unwrap_or_else(PoisonError::into_inner);
        kept.upgrade().unwrap_or_else(|| {
            let Ok(context) = Context::new(std::slice::from_ref(self)) else {
                unreachable!("one device is a valid list of devices")
            };
            *kept = context.downgrade();
            context
        })
    }

    /// The device's cached queue, always the same one, so that arrays made "on this device" can be combined.
    ///
    /// # Errors
    /// What the runtime reports when the queue is first made.
    pub fn queue(&self) -> Result<Queue> {
        if let Some(queue) = self.0.kept.get() {
            return Ok(queue.clone());
        }
        let queue = self.default_context().queue(self)?;
        if !self.0.registered {
            return Ok(queue);
        }
        let _section = Section::enter();
        Ok(self.0.kept.get_or_init(|| queue.lasting()).clone())
    }

    /// Bytes that the device's memory moves in a second, where that was measured ([`UsmArray::analyze`](crate::UsmArray::analyze)).
    #[must_use]
    pub fn bandwidth(&self) -> Option<f64> {
        self.0.bandwidth.get().copied()
    }

    /// Notes bytes that the device's memory moves in a second; the first number counts.
    pub(crate) fn set_bandwidth(&self, limit: f64) {
        let _ = self.0.bandwidth.set(limit);
    }

    /// What the device's memory pool has done and holds.
    #[must_use]
    pub fn pool_statistics(&self) -> PoolStatistics {
        self.0.pool.statistics()
    }
    /// Bytes that the pool may hold for reuse.
    #[must_use]
    pub fn pool_cap(&self) -> usize {
        self.0.pool.cap()
    }
    /// Sets how many bytes the pool may hold for reuse, and gives back what is more.
    pub fn set_pool_cap(&self, bytes: usize) {
        self.0.pool.set_cap(bytes);
    }
    /// Gives memory back to the device until the pool holds at most so many bytes for reuse.
    pub fn trim_pool(&self, keep_bytes: usize) {
        self.0.pool.trim(keep_bytes);
    }
    /// Gives all memory back to the device that the pool holds for reuse. How many bytes that were. What other threads keep of small
    /// blocks stays theirs.
    pub fn trim(&self) -> usize {
        self.0.pool.trim(0)
    }
    /// How much of the device's memory is in use and held for reuse, in all and by kind.
    #[must_use]
    pub fn memory(&self) -> MemoryUsage {
        self.0.pool.usage()
    }
    /// Sets how many bytes of the device's memory may be in use here; `None` for as many as it has. Who allocates more waits for the
    /// memory of work under way, then gets [`Error::Alloc`] with a list of what is in use. What the pool holds is given back
    /// before it would be beyond the limit, too.
    ///
    /// Sub-devices have memory of their own. What is in use already stays.
    pub fn set_memory_limit(&self, bytes: Option<usize>) {
        self.0.pool.set_limit(bytes.unwrap_or(usize::MAX));
    }

    /// How much may be under way on the device before who submits more waits.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        self.0.under_way.bound()
    }
    /// Sets how much may be under way on the device: [`Backlog::UNBOUNDED`] where nobody is to wait. What is more now is
    /// waited for.
    pub fn set_backlog(&self, bound: Backlog) {
        self.0.under_way.set_bound(bound);
    }
    /// How much is under way on the device: commands that are not done, and the bytes that they read and write.
    #[must_use]
    pub fn under_way(&self) -> Backlog {
        let (commands, bytes) = self.0.under_way.count();
        Backlog { commands, bytes }
    }

    pub(crate) fn backlog_state(&self) -> &UnderWay {
        &self.0.under_way
    }
    /// Waits for the end of work, so that its memory is free. Whether there was any.
    pub(crate) fn wait_for_memory(&self) -> bool {
        self.0.under_way.wait_for_one() || self.0.pool.wait_for_awaited()
    }
    /// Whether the device lives as long as the process.
    #[inline]
    pub(crate) fn is_registered(&self) -> bool {
        self.0.registered
    }
    pub(crate) fn pool(&self) -> &Pool {
        &self.0.pool
    }
    /// [`backend::Immediate::elements_fn`].
    pub(crate) fn elements_fn(&self, op: Op, dtype: Dtype, out: Dtype) -> Option<Elements> {
        match op {
            Op::Cast => self.0.backend.immediate()?.elements_fn(op, dtype, out),
            _ => self.op_function(op, dtype).filter(|of| of.out == out).map(|of| of.elements),
        }
    }
    /// The same of an operation other than a conversion: the result's dtype follows from the operands'.
    #[inline(always)]
    pub(crate) fn op_function(&self, op: Op, dtype: Dtype) -> Option<&OpFunction> {
        self.0.functions.get(&*self.0.backend, op, dtype)
    }
    /// The backend's own object: for a device that works as this one does on memory from elsewhere.
    #[must_use]
    pub fn backend(&self) -> &Arc<dyn backend::Device> {
        &self.0.backend
    }
    /// A hold on the device that does not keep it alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakDevice {
        WeakDevice(self.0.downgrade())
    }
    #[inline]
    pub(crate) fn id(&self) -> usize {
        self.0.as_ptr().addr()
    }
}

impl fmt::Debug for WeakDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WeakDevice({:?})", self.upgrade())
    }
}

impl PartialEq for Device {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}
impl Eq for Device {}

impl std::hash::Hash for Device {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.filter_string())
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({}, {:?})", self.filter_string(), self.info().name)
    }
}

impl std::str::FromStr for Device {
    type Err = Error;
    fn from_str(filter: &str) -> Result<Self> {
        Self::select(filter)
    }
}
