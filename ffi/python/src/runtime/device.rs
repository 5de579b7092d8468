//! Devices: finding one, asking what it is, dividing it.

use std::hash::{Hash, Hasher};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString, PyTuple, PyType};
use stridewise::backend::{AffinityDomain, Aspect, DeviceInfo, DeviceType, Partition};
use stridewise::{Device, Queue, UsmKind};

use super::context::PyContext;
use super::queue::{PyQueue, device_of};
use crate::arguments;
use crate::errors::{Fault, Result, shown};
use crate::objects;

// In dpctl and the array API one writes `zeros(3, device=x.device) + x`, and arrays combine here if they are
// of one queue: a device alone would mean its default queue, so that this would fail where `x` has a queue of
// its own (`tests/test_placement.py`). So the same device with two queues is two devices to Python:
// `x.device == Device()` is false for an array on a queue of its own, though it is the same hardware, and the
// hash is the hardware's alone. Rust's `Device` is not concerned: a queue is named by `Array::on` there. The
// standard has no streams or queues; if it gets some, look at this again.
/// A device of this machine.
///
/// Device(filter=None): the device that a filter string such as "host", "opencl:gpu:0" or "cpu" selects, or a Device or
/// Queue names; without one, the default device. Raises DeviceSelectionError where no device answers to it.
///
/// The device of an array, or of a Queue, has that queue: what is made on it combines with the array. Two devices are equal
/// where arrays that are made on them combine.
///
/// >>> device = sw.Device("host")
/// >>> device.filter_string, device.device_type
/// ('host:cpu:0', 'cpu')
/// >>> sw.zeros(3, device=device).device == device
/// True
#[pyclass(name = "Device", module = "stridewise", frozen, eq, hash)]
#[derive(Clone, PartialEq)]
pub(crate) struct PyDevice {
    pub(crate) device: Device,
    /// Where it is not the device's own.
    pub(crate) queue: Option<Queue>,
}

impl From<Device> for PyDevice {
    fn from(device: Device) -> Self {
        Self { device, queue: None }
    }
}

impl From<&Queue> for PyDevice {
    /// The device with the queue.
    fn from(queue: &Queue) -> Self {
        let device = queue.device().clone();
        let own = device.queue().is_ok_and(|own| own == *queue);
        Self { device, queue: (!own).then(|| queue.clone()) }
    }
}

impl Hash for PyDevice {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.device.hash(state);
    }
}

/// How many bytes, for reading.
pub(crate) fn readable_bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "bytes";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "bytes" { format!("{bytes} bytes") } else { format!("{value:.1} {unit}") }
}

/// What a device is, in lines of text.
fn description(device: &Device) -> String {
    let info = device.info();
    let aspects: Vec<_> = info.aspects.iter().map(|aspect| aspect.name()).collect();
    let kinds: Vec<_> =
        UsmKind::ALL.iter().map(|&kind| format!("{kind}: {}", info.usm(kind).describe())).collect();
    let mut lines = vec![
        ("Name", info.name.clone()),
        ("Vendor", info.vendor.clone()),
        ("Driver", format!("{} {}", info.backend, info.driver_version)),
        ("Type", info.device_type.to_string()),
        ("Filter string", device.filter_string()),
        ("Compute units", info.limits.compute_units.to_string()),
        ("Memory", readable_bytes(info.limits.global_memory_bytes)),
        ("Largest allocation", readable_bytes(info.limits.max_allocation_bytes)),
        ("Local memory", readable_bytes(info.limits.local_memory_bytes)),
        ("Memory kinds", kinds.join("; ")),
        ("Aspects", aspects.join(", ")),
    ];
    if !info.isa.is_empty() {
        lines.insert(4, ("Instructions", info.isa.to_owned()));
    }
    if !info.topology.numa_nodes.is_empty() {
        lines.push(("NUMA nodes", info.topology.numa_nodes.len().to_string()));
    }
    lines.iter().map(|(label, value)| format!("    {label:<20}{value}\n")).collect()
}

fn domain_of(name: &str) -> Result<AffinityDomain> {
    Ok(match name {
        "numa" => AffinityDomain::Numa,
        "L4_cache" => AffinityDomain::L4Cache,
        "L3_cache" => AffinityDomain::L3Cache,
        "L2_cache" => AffinityDomain::L2Cache,
        "L1_cache" => AffinityDomain::L1Cache,
        "next_partitionable" => AffinityDomain::NextPartitionable,
        other => {
            return Err(Fault::Python(PyValueError::new_err(format!(
                "`partition` is {other:?}; expected \"numa\", \"L4_cache\", \"L3_cache\", \"L2_cache\", \"L1_cache\" or \
                 \"next_partitionable\"; help: an integer divides into parts of so many compute units"
            ))));
        }
    })
}

impl PyDevice {
    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    /// The queue of arrays that are made on it.
    pub(crate) fn queue_of(&self) -> stridewise::Result<Queue> {
        self.queue.clone().map_or_else(|| self.device.queue(), Ok)
    }
}

#[pymethods]
impl PyDevice {
    #[new]
    #[pyo3(signature = (filter=None))]
    fn new(filter: Option<&Bound<'_, PyAny>>) -> Result<Self> {
        if let Some(device) = filter.and_then(|filter| filter.cast::<Self>().ok()) {
            return Ok(device.get().clone());
        }
        match filter.and_then(|filter| filter.cast::<PyQueue>().ok()) {
            Some(queue) => Ok(Self::from(&queue.get().0)),
            None => Ok(device_of(filter)?.into()),
        }
    }
    /// The device that a Device, a Queue, a filter string or None names.
    #[staticmethod]
    #[pyo3(signature = (device=None))]
    fn create_device(device: Option<&Bound<'_, PyAny>>) -> Result<Self> {
        Self::new(device)
    }

    /// The filter string that selects this device; a sub-device has its root's, and its place below it.
    #[getter]
    fn filter_string(&self) -> String {
        self.device.filter_string()
    }
    /// The device's name.
    #[getter]
    fn name(&self) -> &str {
        &self.info().name
    }
    /// Who made the device.
    #[getter]
    fn vendor(&self) -> &str {
        &self.info().vendor
    }
    /// The version of the device's driver.
    #[getter]
    fn driver_version(&self) -> &str {
        &self.info().driver_version
    }
    /// The driver's name: "host", "opencl".
    #[getter]
    fn backend(&self) -> &'static str {
        self.info().backend
    }
    /// "cpu", "gpu" or "accelerator".
    #[getter]
    fn device_type(&self) -> &'static str {
        self.info().device_type.name()
    }
    /// The instruction set of the kernels, such as "avx512"; empty where it has no name.
    #[getter]
    fn isa(&self) -> &'static str {
        self.info().isa
    }
    /// Whether the device is a processor.
    #[getter]
    fn is_cpu(&self) -> bool {
        self.info().device_type == DeviceType::Cpu
    }
    /// Whether the device is a graphics processor.
    #[getter]
    fn is_gpu(&self) -> bool {
        self.info().device_type == DeviceType::Gpu
    }
    /// Whether the device is another accelerator.
    #[getter]
    fn is_accelerator(&self) -> bool {
        self.info().device_type == DeviceType::Accelerator
    }

    /// Whether the device works in the memory of NumPy's arrays in place: for this package.
    #[getter]
    fn _works_in_process_memory(&self) -> bool {
        self.device.capabilities().process_memory
    }

    /// What the device can do, by SYCL's names: "fp64", "usm_shared_allocations", …
    #[getter]
    fn aspects(&self) -> Vec<&'static str> {
        self.info().aspects.iter().map(|aspect| aspect.name()).collect()
    }
    /// Whether the device has an aspect, by its name.
    ///
    /// Raises ValueError for a name that is none.
    fn has_aspect(&self, #[pyo3(from_py_with = arguments::text)] name: &str) -> Result<bool> {
        Ok(self.info().has(aspect_of(name)?))
    }
    /// Half-precision arithmetic.
    #[getter]
    fn has_aspect_fp16(&self) -> bool {
        self.info().has(Aspect::Fp16)
    }
    /// Double-precision arithmetic.
    #[getter]
    fn has_aspect_fp64(&self) -> bool {
        self.info().has(Aspect::Fp64)
    }
    /// 64-bit atomic operations.
    #[getter]
    fn has_aspect_atomic64(&self) -> bool {
        self.info().has(Aspect::Atomic64)
    }
    /// Memory of kind "device".
    #[getter]
    fn has_aspect_usm_device_allocations(&self) -> bool {
        self.info().has(Aspect::UsmDeviceAllocations)
    }
    /// Memory of kind "host".
    #[getter]
    fn has_aspect_usm_host_allocations(&self) -> bool {
        self.info().has(Aspect::UsmHostAllocations)
    }
    /// Memory of kind "shared".
    #[getter]
    fn has_aspect_usm_shared_allocations(&self) -> bool {
        self.info().has(Aspect::UsmSharedAllocations)
    }
    /// Any memory of the host can be used by kernels.
    #[getter]
    fn has_aspect_usm_system_allocations(&self) -> bool {
        self.info().has(Aspect::UsmSystemAllocations)
    }
    /// Queues can be made with profiling.
    #[getter]
    fn has_aspect_queue_profiling(&self) -> bool {
        self.info().has(Aspect::QueueProfiling)
    }
    /// What memory of a kind ("host", "device" or "shared") is on this device, in words.
    fn usm_support(&self, #[pyo3(from_py_with = arguments::text)] usm_type: &str) -> Result<&'static str> {
        Ok(self.info().usm(usm_type.parse()?).describe())
    }

    /// Cores or compute units.
    #[getter]
    fn max_compute_units(&self) -> usize {
        self.info().limits.compute_units
    }
    /// Bytes of memory.
    #[getter]
    fn global_mem_size(&self) -> u64 {
        self.info().limits.global_memory_bytes
    }
    /// Bytes of memory local to a work-group.
    #[getter]
    fn local_mem_size(&self) -> u64 {
        self.info().limits.local_memory_bytes
    }
    /// Bytes that one allocation can have.
    #[getter]
    fn max_mem_alloc_size(&self) -> u64 {
        self.info().limits.max_allocation_bytes
    }
    /// Work-items in a work-group.
    #[getter]
    fn max_work_group_size(&self) -> usize {
        self.info().limits.max_work_group_size
    }
    /// Bytes of the last cache before memory; 0 where unknown.
    #[getter]
    fn global_mem_cache_size(&self) -> usize {
        self.info().limits.last_cache_bytes
    }
    /// Bytes of a vector register, or of the widest access that pays.
    #[getter]
    fn vector_bytes(&self) -> usize {
        self.info().limits.vector_bytes
    }
    /// How the processors hang together: {"source", "cpus", "numa_nodes", "caches": [(level, bytes, cpus), …]}; empty lists
    /// where it is not known.
    #[getter]
    fn topology<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let topology = &self.info().topology;
        let all = PyDict::new(py);
        all.set_item("source", topology.source)?;
        all.set_item("cpus", &topology.cpus)?;
        all.set_item("numa_nodes", &topology.numa_nodes)?;
        let caches = topology.caches.iter().map(|cache| (cache.level, cache.bytes, cache.cpus.clone()));
        all.set_item("caches", caches.collect::<Vec<_>>())?;
        Ok(all)
    }

    /// Divides the device. partition: an integer, for parts of so many compute units; a list of integers, for parts of
    /// these many; or what the processors of a part share: "numa", "L4_cache", "L3_cache", "L2_cache", "L1_cache",
    /// "next_partitionable".
    ///
    /// Raises DeviceSelectionError where it cannot be divided so.
    fn create_sub_devices(&self, py: Python<'_>, partition: &Bound<'_, PyAny>) -> Result<Vec<Self>> {
        let partition = if let Ok(name) = partition.cast::<PyString>() {
            Partition::ByAffinityDomain(domain_of(arguments::characters("partition", name)?)?)
        } else if partition.is_instance_of::<PyInt>() {
            Partition::Equally(
                arguments::whole(partition).map_err(|error| arguments::named(py, "partition", error))?,
            )
        } else {
            let wrong = || {
                Fault::Python(PyTypeError::new_err(format!(
                    "`partition` is {}; expected an integer, a list of integers or a name such as \"numa\"",
                    shown(partition)
                )))
            };
            partition.try_iter().map_err(|_| wrong())?;
            Partition::ByCounts(objects::values(partition, |count| {
                count.extract::<usize>().map_err(|_| wrong())
            })?)
        };
        let parts = py.detach(|| self.device.create_sub_devices(&partition))?;
        Ok(parts.into_iter().map(Self::from).collect())
    }
    /// The device that this one is a part of, or None.
    #[getter]
    fn parent_device(&self) -> Option<Self> {
        self.device.parent_device().cloned().map(Self::from)
    }

    /// The device's default context.
    #[getter]
    fn default_context(&self) -> PyContext {
        PyContext(self.device.default_context())
    }
    /// The context of the queue.
    #[getter]
    fn sycl_context(&self) -> PyContext {
        match &self.queue {
            Some(queue) => PyContext(queue.context().clone()),
            None => self.default_context(),
        }
    }
    /// The device without a queue of an array.
    #[getter]
    fn sycl_device(&self) -> Self {
        self.device.clone().into()
    }
    /// The queue that arrays made on this device are associated with, always the same one: that of the array that it is the
    /// device of, or else the device's own.
    #[getter]
    fn queue(&self, py: Python<'_>) -> Result<PyQueue> {
        Ok(PyQueue(py.detach(|| self.queue_of())?))
    }
    /// As `queue`.
    #[getter]
    fn sycl_queue(&self, py: Python<'_>) -> Result<PyQueue> {
        self.queue(py)
    }
    /// Waits for everything submitted to the queue.
    fn wait(&self, py: Python<'_>) -> Result<()> {
        Ok(py.detach(|| self.queue_of()?.wait())?)
    }

    /// What the device's memory pool has done and holds: a dictionary of numbers.
    #[getter]
    fn pool_statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let statistics = self.device.pool_statistics();
        let all = PyDict::new(py);
        all.set_item("live_bytes", statistics.live_bytes)?;
        all.set_item("peak_live_bytes", statistics.peak_live_bytes)?;
        all.set_item("cached_bytes", statistics.cached_bytes)?;
        all.set_item("reserved_bytes", statistics.reserved_bytes)?;
        all.set_item("hits", statistics.hits)?;
        all.set_item("misses", statistics.misses)?;
        all.set_item("cap_bytes", self.device.pool_cap())?;
        Ok(all)
    }
    /// Gives memory back to the device until its pool holds at most so many bytes for reuse.
    #[pyo3(signature = (keep_bytes=0))]
    fn trim_pool(&self, py: Python<'_>, #[pyo3(from_py_with = arguments::whole)] keep_bytes: usize) {
        py.detach(|| self.device.trim_pool(keep_bytes));
    }

    /// What the device is, in lines of text.
    fn describe(&self) -> String {
        description(&self.device)
    }
    /// Prints what the device is.
    fn print_device_info(&self, py: Python<'_>) -> PyResult<()> {
        let options = PyDict::new(py);
        options.set_item("end", "")?;
        py.import("builtins")?.getattr("print")?.call((self.describe(),), Some(&options))?;
        Ok(())
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }
    /// Devices are what they stand for: there is only one of each. One with a queue is pickled without it.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
    fn __repr__(&self) -> String {
        match &self.queue {
            Some(queue) => format!("<Device({:?}) with {queue}>", self.device.filter_string()),
            None => format!("Device({:?})", self.device.filter_string()),
        }
    }
    fn __str__(&self) -> String {
        self.device.filter_string()
    }
    fn __reduce__(slf: &Bound<'_, Self>) -> Result<(Py<PyType>, (String,))> {
        let device = &slf.get().device;
        if device.parent_device().is_some() {
            return Err(Fault::Python(PyTypeError::new_err(format!(
                "the sub-device {device} cannot be pickled; expected a root device; help: pickle its parent and divide \
                 that again"
            ))));
        }
        Ok((slf.get_type().unbind(), (device.filter_string(),)))
    }
}

fn aspect_of(name: &str) -> Result<Aspect> {
    Aspect::ALL.iter().copied().find(|aspect| aspect.name() == name).ok_or_else(|| {
        let names: Vec<_> = Aspect::ALL.iter().map(|aspect| aspect.name()).collect();
        Fault::Python(PyValueError::new_err(format!(
            "`aspect` is {name:?}; expected one of {}",
            names.join(", ")
        )))
    })
}

/// The root devices of a driver ("all" or its name) and a type ("all", "cpu", "gpu", "accelerator").
fn listed(backend: &str, device_type: &str) -> Result<Vec<Device>> {
    if !["all", "cpu", "gpu", "accelerator"].contains(&device_type) {
        return Err(Fault::Python(PyValueError::new_err(format!(
            "`device_type` is {device_type:?}; expected \"all\", \"cpu\", \"gpu\" or \"accelerator\""
        ))));
    }
    let mut devices = stridewise::devices();
    devices.retain(|device| {
        let info = device.info();
        (backend == "all" || info.backend == backend)
            && (device_type == "all" || info.device_type.name() == device_type)
    });
    Ok(devices)
}

/// The devices of this machine, without the variants that are found by name only. backend: a driver's name or "all".
/// device_type: "cpu", "gpu", "accelerator" or "all".
///
/// >>> [device.filter_string for device in sw.get_devices(backend="host")]
/// ['host:cpu:0']
#[pyfunction]
#[pyo3(signature = (backend="all", device_type="all"))]
pub(crate) fn get_devices(
    py: Python<'_>,
    #[pyo3(from_py_with = arguments::text)] backend: &str,
    #[pyo3(from_py_with = arguments::text)] device_type: &str,
) -> Result<Vec<PyDevice>> {
    Ok(py.detach(|| listed(backend, device_type))?.into_iter().map(PyDevice::from).collect())
}

/// How many devices `get_devices` lists.
#[pyfunction]
#[pyo3(signature = (backend="all", device_type="all"))]
pub(crate) fn get_num_devices(
    py: Python<'_>,
    #[pyo3(from_py_with = arguments::text)] backend: &str,
    #[pyo3(from_py_with = arguments::text)] device_type: &str,
) -> Result<usize> {
    Ok(py.detach(|| listed(backend, device_type))?.len())
}

/// The device that arrays are made on where none is named: that of the environment variable STRIDEWISE_DEVICE, else the
/// first GPU, else the host.
#[pyfunction]
pub(crate) fn select_default_device(py: Python<'_>) -> Result<PyDevice> {
    Ok(py.detach(stridewise::default_device)?.into())
}

macro_rules! selections {
    ($($function:ident $filter:literal $what:literal;)*) => {
        $(
            #[doc = concat!("The first ", $what, ". Raises DeviceSelectionError where there is none.")]
            #[pyfunction]
            pub(crate) fn $function(py: Python<'_>) -> Result<PyDevice> {
                Ok(py.detach(|| Device::select($filter))?.into())
            }
        )*
    };
}
selections! {
    select_host_device "host" "device of this engine on the processor";
    select_cpu_device "cpu" "processor";
    select_gpu_device "gpu" "graphics processor";
    select_accelerator_device "accelerator" "other accelerator";
}

/// The first device that has all of some aspects and none of others, the default device first.
///
/// Raises ValueError for a name that is no aspect, DeviceSelectionError where no device has them.
#[pyfunction]
#[pyo3(signature = (required_aspects, excluded_aspects=None))]
pub(crate) fn select_device_with_aspects(
    py: Python<'_>,
    required_aspects: &Bound<'_, PyAny>,
    excluded_aspects: Option<&Bound<'_, PyAny>>,
) -> Result<PyDevice> {
    let names = |what: &str, argument: &Bound<'_, PyAny>| -> Result<Vec<Aspect>> {
        let text = |name: &Bound<'_, PyAny>| -> Result<Aspect> {
            let named = |error| arguments::named(py, &format!("an element of `{what}`"), error);
            aspect_of(arguments::text(name).map_err(named)?)
        };
        if argument.cast::<PyString>().is_ok() {
            return Ok(vec![text(argument)?]);
        }
        if argument.try_iter().is_err() {
            let expected = "the name of an aspect, or names in a sequence";
            return Err(arguments::named(py, what, arguments::wrong(argument, expected)).into());
        }
        objects::values(argument, |name| text(&name))
    };
    let required = names("required_aspects", required_aspects)?;
    let excluded = excluded_aspects.filter(|argument| !argument.is_none());
    let excluded = excluded.map(|argument| names("excluded_aspects", argument)).transpose()?;
    let excluded = excluded.unwrap_or_default();
    let fits = |device: &Device| {
        let has = |aspect: &Aspect| device.info().has(*aspect);
        required.iter().all(has) && !excluded.iter().any(has)
    };
    let found = py.detach(|| {
        let default = stridewise::default_device().ok();
        default.into_iter().chain(stridewise::each_device()).find(fits)
    });
    found.map(PyDevice::from).ok_or_else(|| {
        Fault::Python(crate::errors::DeviceSelectionError::new_err(format!(
            "device selection: no device has the aspects {required:?} without {excluded:?}; help: \
             `stridewise.get_devices()` lists the devices, and `Device.aspects` what they have"
        )))
    })
}

/// Adds the class and the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyDevice>()?;
    module.add("aspects", PyTuple::new(module.py(), Aspect::ALL.iter().map(|aspect| aspect.name()))?)?;
    module.add_function(wrap_pyfunction!(get_devices, module)?)?;
    module.add_function(wrap_pyfunction!(get_num_devices, module)?)?;
    module.add_function(wrap_pyfunction!(select_default_device, module)?)?;
    module.add_function(wrap_pyfunction!(select_host_device, module)?)?;
    module.add_function(wrap_pyfunction!(select_cpu_device, module)?)?;
    module.add_function(wrap_pyfunction!(select_gpu_device, module)?)?;
    module.add_function(wrap_pyfunction!(select_accelerator_device, module)?)?;
    module.add_function(wrap_pyfunction!(select_device_with_aspects, module)?)
}
