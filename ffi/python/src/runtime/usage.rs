//! How much memory is in use and whose it is, and devices that are not there.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use stridewise::emulated::{Emulation, emulate as emulation, parse_bytes};
use stridewise::{LiveArray, MemoryScope, UsmKind, live_arrays};

use super::device::PyDevice;
use super::queue::device_of;
use crate::arguments;
use crate::dtype;
use crate::errors::{Fault, Result, shown};
use crate::objects;

/// What the package makes of numbers: a tuple with names.
fn named<'py>(py: Python<'py>, class: &str, values: Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    py.import("stridewise._usage")?.getattr(class)?.call1(values)
}

/// A number of bytes: an integer, or a text such as "512 MiB"; `None` for none.
fn bytes_of(name: &'static str, value: Option<&Bound<'_, PyAny>>) -> Result<Option<u64>> {
    let Some(value) = value.filter(|value| !value.is_none()) else { return Ok(None) };
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Some(parse_bytes(name, arguments::characters(name, text)?)?));
    }
    let expected = "a number of bytes, as 4096 or \"512 MiB\", or None";
    let read = arguments::read_whole(value, expected);
    Ok(Some(read.map_err(|error| arguments::named(value.py(), name, error))?))
}

#[pymethods]
impl PyDevice {
    /// How much of the device's memory is in use here and held for reuse: a tuple with the names in_use, kept, peak (the most that was in
    /// use), reserved (obtained from the device), limit (of `set_memory_limit`, or None), total (what the device has) and kinds, a
    /// dictionary of tuples (in_use, kept, peak). All in bytes, rounded up to the sizes that the pool hands out.
    ///
    /// >>> sw.Device("host").memory().limit is None
    /// True
    fn memory<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let memory = self.device.memory();
        let kinds = PyDict::new(py);
        for kind in UsmKind::ALL {
            let usage = memory.of(kind);
            let numbers = [usage.in_use_bytes, usage.kept_bytes, usage.peak_bytes];
            kinds.set_item(kind.name(), named(py, "KindUsage", PyTuple::new(py, numbers)?)?)?;
        }
        let numbers = (
            memory.in_use_bytes,
            memory.kept_bytes,
            memory.peak_bytes,
            memory.reserved_bytes,
            memory.limit_bytes,
            memory.device_bytes,
            kinds,
        );
        Ok(named(py, "MemoryUsage", numbers.into_pyobject(py)?)?)
    }
    /// Sets how many bytes of the device's memory may be in use by this process: an integer or a text such as "512 MiB"; None for as
    /// many as the device has. Who wants more waits for the memory of work under way, then gets a MemoryError that lists what is in
    /// use. What is in use already stays.
    ///
    /// Raises TypeError and ValueError for what is no number of bytes.
    #[pyo3(signature = (limit, /))]
    fn set_memory_limit(&self, py: Python<'_>, limit: Option<&Bound<'_, PyAny>>) -> Result<()> {
        // More than can be addressed is no limit either.
        let limit = bytes_of("limit", limit)?.and_then(|bytes| usize::try_from(bytes).ok());
        py.detach(|| self.device.set_memory_limit(limit));
        Ok(())
    }
    /// Gives all memory back to the device that its pool holds for reuse; how many bytes that were.
    fn trim(&self, py: Python<'_>) -> usize {
        py.detach(|| self.device.trim())
    }
}

/// See `memory_scope` of the package.
#[pyclass(name = "_MemoryScope", module = "stridewise", frozen)]
struct PyMemoryScope(MemoryScope);

#[pymethods]
impl PyMemoryScope {
    #[new]
    fn new(#[pyo3(from_py_with = arguments::text)] name: &str) -> Self {
        Self(MemoryScope::new(name))
    }
    fn enter(&self) -> Result<()> {
        Ok(self.0.enter()?)
    }
    fn leave(&self) -> Result<()> {
        Ok(self.0.leave()?)
    }
    fn usage<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let usage = self.0.usage();
        let numbers = (usage.allocated_bytes, usage.allocations, usage.peak_bytes, usage.left_bytes);
        Ok(named(py, "ScopeUsage", numbers.into_pyobject(py)?)?)
    }
}

/// One that is in use, as the package has it.
fn live<'py>(py: Python<'py>, array: &LiveArray) -> PyResult<Bound<'py, PyAny>> {
    let known = array.array.as_ref();
    let shape = known.map(|(_, shape)| PyTuple::new(py, shape.iter())).transpose()?;
    let dtype = known.map(|(dtype, _)| dtype::object(py, *dtype)).transpose()?;
    let values = (
        PyDevice::from(array.device.clone()),
        array.bytes,
        array.kind.name(),
        array.origin.name(),
        dtype,
        shape,
        array.scope.as_deref(),
        array.thread.as_deref(),
        array.made_at(),
        array.ptr.addr(),
        array.to_string(),
    );
    named(py, "LiveArray", values.into_pyobject(py)?)
}

/// The memory that is in use: of all devices, or of one, the largest first. Each is a tuple with the names device, nbytes, usm_type,
/// origin ("pool", or "lent" by others, or "file"), dtype and shape of the array that it was made for (None where that is not known),
/// scope, thread and made_at (of what was made in a `memory_scope`, else None), pointer, and text.
///
/// device: a Device, a Queue or a filter string; None for all.
#[pyfunction]
#[pyo3(name = "live_arrays", signature = (device=None))]
fn all_live_arrays<'py>(py: Python<'py>, device: Option<&Bound<'py, PyAny>>) -> Result<Bound<'py, PyList>> {
    let device =
        device.filter(|device| !device.is_none()).map(|device| device_of(Some(device))).transpose()?;
    let found = py.detach(|| live_arrays(device.as_ref()))?;
    Ok(objects::list(py, found.iter().map(|array| live(py, array)))?)
}

/// A device that is not there: it computes on the host, with the host's results, and has the limits of another one, so that a program
/// shows on any machine what it would fail by there. Each call makes a device of its own.
///
/// preset: the name of a real device, such as "iris_xe" or "rtx_3060", by its published limits; the other arguments change what they
/// name. name: what it is called. fp64, fp16: whether it computes in double and half precision. memory, max_allocation, local_memory:
/// bytes of memory, of one allocation and of local memory, as an integer or a text such as "512 MiB". max_work_group: items of a
/// work-group. usm: the kinds of memory that it has, as ("device",).
///
/// Raises ValueError for another preset and for limits that no device has.
///
/// >>> device = sw.emulate(fp64=False, memory="512 MiB", usm=("device",), name="small")
/// >>> sw.zeros(3, device=device).dtype.name
/// 'float32'
#[pyfunction]
#[pyo3(signature = (
    preset=None, *, name=None, fp64=None, fp16=None, memory=None, max_allocation=None, max_work_group=None, local_memory=None, usm=None
))]
#[allow(clippy::too_many_arguments)]
fn emulate(
    py: Python<'_>,
    preset: Option<&Bound<'_, PyAny>>,
    name: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = arguments::optional_flag)] fp64: Option<bool>,
    #[pyo3(from_py_with = arguments::optional_flag)] fp16: Option<bool>,
    memory: Option<&Bound<'_, PyAny>>,
    max_allocation: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = arguments::optional_whole)] max_work_group: Option<usize>,
    local_memory: Option<&Bound<'_, PyAny>>,
    usm: Option<&Bound<'_, PyAny>>,
) -> Result<PyDevice> {
    let text = |argument: &'static str, value: Option<&Bound<'_, PyAny>>| -> Result<Option<String>> {
        let Some(value) = value.filter(|value| !value.is_none()) else { return Ok(None) };
        let text = arguments::text(value).map_err(|error| arguments::named(py, argument, error))?;
        Ok(Some(text.to_owned()))
    };
    let mut limits = match text("preset", preset)? {
        Some(preset) => Emulation::preset(&preset)?,
        None => emulation(),
    };
    if let Some(name) = text("name", name)? {
        limits = limits.name(name);
    }
    if let Some(there) = fp64 {
        limits = limits.fp64(there);
    }
    if let Some(there) = fp16 {
        limits = limits.fp16(there);
    }
    if let Some(bytes) = bytes_of("memory", memory)? {
        limits = limits.memory(bytes);
    }
    if let Some(bytes) = bytes_of("max_allocation", max_allocation)? {
        limits = limits.max_allocation(bytes);
    }
    if let Some(items) = max_work_group {
        limits = limits.max_work_group(items);
    }
    if let Some(bytes) = bytes_of("local_memory", local_memory)? {
        limits = limits.local_memory(bytes);
    }
    if let Some(usm) = usm.filter(|usm| !usm.is_none()) {
        let kind = |name: &Bound<'_, PyAny>| -> Result<UsmKind> {
            let named = |error| arguments::named(py, "an element of `usm`", error);
            Ok(arguments::text(name).map_err(named)?.parse()?)
        };
        let kinds = if usm.cast::<PyString>().is_ok() {
            vec![kind(usm)?]
        } else {
            usm.try_iter().map_err(|_| {
                Fault::Python(PyTypeError::new_err(format!(
                    "`usm` is {}; expected names of kinds of memory, as (\"device\", \"shared\")",
                    shown(usm)
                )))
            })?;
            objects::values(usm, |name| kind(&name))?
        };
        limits = limits.usm(&kinds);
    }
    Ok(py.detach(|| limits.build())?.into())
}

/// Adds the class and the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyMemoryScope>()?;
    module.add_function(wrap_pyfunction!(all_live_arrays, module)?)?;
    module.add_function(wrap_pyfunction!(emulate, module)?)
}
