//! Queues: where work is submitted.

use std::hash::{Hash, Hasher};

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use stridewise::backend::{Advice, QueueProperties};
use stridewise::{Device, Dtype, DtypeSupport, Queue, Scalar};

use super::context::PyContext;
use super::device::PyDevice;
use super::event::{PyEvent, events_of};
use super::graph::PyGraph;
use crate::arguments;
use crate::array::PyArray;
use crate::array::operand::Operand;
use crate::dtype;
use crate::errors::{Fault, Result, shown};
use crate::kernel::launch::{Mode, PyLauncher};
use crate::kernel::range::space;
use crate::kernel::source::{self, PySourceKernel};
use crate::memory::span::Span;
use crate::objects;
use crate::protocol::sycl;

/// A queue of one device: where work is submitted. Two queues made separately are different and their arrays do not
/// combine; `Device.queue` is always the same one.
///
/// Queue(device=None, property=None, *, in_order=False, profiling=False): a new queue of a device, or of the one that a
/// filter string selects. Queue(context, device, …): one in that context. property: "in_order", "enable_profiling" or a
/// sequence of these. Queue(q) for a dpctl.SyclQueue `q` of a processor: the queue that works in `q`'s memory, always the
/// same one for the same `q`.
///
/// Raises DeviceSelectionError, TypeError for arguments of other types, ValueError for an unknown property.
#[pyclass(name = "Queue", module = "stridewise", frozen, eq, hash)]
#[derive(Clone, PartialEq)]
pub(crate) struct PyQueue(pub(crate) Queue);

impl Hash for PyQueue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// The queue that an argument is: one of ours, or the one that works in the memory of a queue of SYCL. `None` where it is
/// neither.
///
/// # Errors
/// As for [`sycl::queue_of`].
pub(crate) fn queue_argument(argument: &Bound<'_, PyAny>) -> Result<Option<Queue>> {
    match argument.cast::<PyQueue>() {
        Ok(queue) => Ok(Some(queue.get().0.clone())),
        Err(_) => sycl::queue_of(argument),
    }
}

/// The device that an argument is or names: a [`PyDevice`], a filter string, that of a queue, or `None` for the default
/// device.
pub(crate) fn device_of(argument: Option<&Bound<'_, PyAny>>) -> Result<Device> {
    let Some(argument) = argument.filter(|argument| !argument.is_none()) else {
        return Ok(stridewise::default_device()?);
    };
    if let Ok(device) = argument.cast::<PyDevice>() {
        return Ok(device.get().device.clone());
    }
    if let Ok(filter) = argument.cast::<PyString>() {
        return Ok(Device::select(arguments::characters("device", filter)?)?);
    }
    match queue_argument(argument)? {
        Some(queue) => Ok(queue.device().clone()),
        None => Err(Fault::Python(PyTypeError::new_err(format!(
            "`device` is {}; expected a Device, a Queue, a filter string such as \"host\", or None; help: \
             `stridewise.get_devices()` lists the devices",
            shown(argument)
        )))),
    }
}

/// The properties that an argument names, on top of those given.
fn properties_of(argument: Option<&Bound<'_, PyAny>>, given: QueueProperties) -> Result<QueueProperties> {
    let Some(argument) = argument.filter(|argument| !argument.is_none()) else { return Ok(given) };
    let names = match argument.cast::<PyString>() {
        Ok(name) => vec![arguments::characters("property", name)?.to_owned()],
        Err(_) => {
            let wrong = |_| {
                arguments::wrong(
                    argument,
                    "a name, or names in a sequence, of \"in_order\" and \"enable_profiling\"",
                )
            };
            let names = argument
                .try_iter()
                .map_err(wrong)
                .map_err(|error| arguments::named(argument.py(), "property", error))?;
            drop(names);
            objects::values(argument, |name| {
                let text = arguments::text(&name).map(str::to_owned);
                Ok(text.map_err(|error| arguments::named(name.py(), "an element of `property`", error))?)
            })?
        }
    };
    let mut properties = given;
    for name in names {
        match name.as_str() {
            "in_order" => properties.in_order = true,
            "enable_profiling" => properties.profiling = true,
            "default" => {}
            other => {
                return Err(Fault::Python(PyValueError::new_err(format!(
                    "`property` has {other:?}; expected \"in_order\" and \"enable_profiling\""
                ))));
            }
        }
    }
    Ok(properties)
}

/// A Python number as a value of a dtype, as an assignment converts it; one of NumPy's as a conversion does.
fn scalar_of(value: &Bound<'_, PyAny>, dtype: Dtype) -> Result<Scalar> {
    match value.extract::<Operand<'_>>() {
        Ok(Operand::Weak(number)) => Ok(number.assigned(dtype)?),
        Ok(Operand::Scalar(scalar)) => Ok(scalar.cast(dtype)),
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => Err(error.into()),
        _ => Err(Fault::Python(PyTypeError::new_err(format!(
            "`value` is {}; expected a number",
            shown(value)
        )))),
    }
}

fn advice_of(argument: &Bound<'_, PyAny>) -> Result<Advice> {
    // SYCL's number for "nothing special".
    if argument.extract::<i64>().is_ok_and(|number| number == 0) {
        return Ok(Advice::Default);
    }
    let named = argument.cast::<PyString>().ok();
    let named = named.map(|name| arguments::characters("advice", name)).transpose()?;
    let found = named.and_then(|name| Advice::ALL.iter().copied().find(|advice| advice.name() == name));
    found.ok_or_else(|| {
        let names: Vec<_> = Advice::ALL.iter().map(|advice| advice.name()).collect();
        let given = shown(argument);
        Fault::Python(PyValueError::new_err(format!(
            "`advice` is {given}; expected one of {}; help: other numbers of SYCL mean what each device defines",
            names.join(", ")
        )))
    })
}

#[pymethods]
impl PyQueue {
    #[new]
    #[pyo3(signature = (*args, property=None, in_order=false, profiling=false, device=None))]
    fn new(
        py: Python<'_>,
        args: &Bound<'_, pyo3::types::PyTuple>,
        property: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = arguments::flag)] in_order: bool,
        #[pyo3(from_py_with = arguments::flag)] profiling: bool,
        device: Option<&Bound<'_, PyAny>>,
    ) -> Result<Self> {
        let given = QueueProperties { in_order, profiling };
        let arguments: Vec<_> = args.iter().chain(device.cloned()).collect();
        let context = arguments.first().and_then(|first| first.cast::<PyContext>().ok());
        let (context, rest) = match context {
            Some(context) => (Some(context.get().0.clone()), &arguments[1..]),
            None => (None, arguments.as_slice()),
        };
        // What is left: a device, or properties alone, or both.
        let is_property = |argument: &Bound<'_, PyAny>| {
            argument.is_instance_of::<pyo3::types::PyTuple>()
                || argument.is_instance_of::<pyo3::types::PyList>()
                || argument
                    .cast::<PyString>()
                    .is_ok_and(|name| name == "in_order" || name == "enable_profiling" || name == "default")
        };
        let (device, positional) = match rest {
            [] => (None, None),
            [one] if is_property(one) => (None, Some(one)),
            [one] => (Some(one), None),
            [one, two] if is_property(two) => (Some(one), Some(two)),
            _ => {
                let given: Vec<_> = rest.iter().map(shown).collect();
                return Err(Fault::Python(PyTypeError::new_err(format!(
                    "`args` are {}; expected Queue(device=None, property=None) or Queue(context, device, property=None)",
                    given.join(", ")
                ))));
            }
        };
        if positional.is_some() && property.is_some() {
            return Err(Fault::Python(PyTypeError::new_err("`property` is given twice")));
        }
        let properties = properties_of(positional.or(property), given)?;
        if context.is_none()
            && properties == QueueProperties::default()
            && let Some(device) = device
            && let Some(queue) = sycl::queue_of(device)?
        {
            return Ok(Self(queue));
        }
        let device = match (&context, device) {
            (Some(context), None) => match context.devices().first() {
                Some(device) => device.clone(),
                None => device_of(None)?,
            },
            (_, device) => device_of(device)?,
        };
        let made = py.detach(|| match &context {
            Some(context) => Queue::in_context(context, &device, properties),
            None => Queue::new(&device, properties),
        });
        Ok(Self(made?))
    }

    /// The device.
    #[getter]
    fn device(&self) -> PyDevice {
        self.0.device().clone().into()
    }
    /// The device.
    #[getter]
    fn sycl_device(&self) -> PyDevice {
        self.device()
    }
    /// The context.
    #[getter]
    fn context(&self) -> PyContext {
        PyContext(self.0.context().clone())
    }
    /// The context.
    #[getter]
    fn sycl_context(&self) -> PyContext {
        self.context()
    }
    /// The driver's name.
    #[getter]
    fn backend(&self) -> &'static str {
        self.0.device().info().backend
    }
    /// Whether commands run in the order of submission.
    #[getter]
    fn is_in_order(&self) -> bool {
        self.0.is_in_order()
    }
    /// Whether events have times.
    #[getter]
    fn has_enable_profiling(&self) -> bool {
        self.0.properties().profiling
    }

    /// Submits recorded work of arrays of this queue, without waiting for it.
    fn flush(&self, py: Python<'_>) -> Result<()> {
        Ok(py.detach(|| self.0.flush())?)
    }
    /// Submits recorded work and waits until everything submitted to this queue is done. What fails is raised by the
    /// events and arrays concerned.
    fn wait(&self, py: Python<'_>) -> Result<()> {
        Ok(py.detach(|| self.0.wait())?)
    }
    /// `with queue.capture() as graph:` runs its block and captures what it submits to this queue, so that `graph.replay()`,
    /// `graph.repeat(n)` and `graph(x)` submit it again: see Graph.
    ///
    /// The block raises NotImplementedError where it does what cannot be captured, and where the thread captures already.
    fn capture(&self) -> PyGraph {
        PyGraph::new(self.0.clone())
    }
    /// An event that is complete when those named are, or, without any, when everything submitted so far to this queue is.
    #[pyo3(signature = (depends=None))]
    fn submit_barrier(&self, py: Python<'_>, depends: Option<&Bound<'_, PyAny>>) -> Result<PyEvent> {
        let depends = events_of(depends)?;
        Ok(PyEvent(py.detach(|| self.0.submit_barrier(&depends))?))
    }

    /// Submits a kernel of `stridewise.kernel` or `stridewise.program` with the arguments in `args` over `gS` items, in groups of
    /// `lS` of them if that is given, behind the events in `dEvents`. Both are extents along one to three axes, of which the last
    /// one is OpenCL's dimension 0. The names are those of dpctl. Arguments of a kernel from a source are contiguous arrays, USM
    /// memory, numbers of Python's, NumPy's and ctypes, LocalAccessor, WorkGroupMemory and RawKernelArg; memory counts as written
    /// unless its parameter is `const`.
    ///
    /// Returns an Event. Raises TypeError for what is no kernel or argument, ValueError for arguments that do not fit the
    /// parameters, and as `Kernel.launch` does.
    #[pyo3(signature = (kernel, args, gS, lS=None, dEvents=None))]
    #[expect(non_snake_case, reason = "names of dpctl's arguments")]
    fn submit(
        &self,
        kernel: &Bound<'_, PyAny>,
        args: &Bound<'_, PyAny>,
        gS: &Bound<'_, PyAny>,
        lS: Option<&Bound<'_, PyAny>>,
        dEvents: Option<&Bound<'_, PyAny>>,
    ) -> Result<PyEvent> {
        if let Ok(source) = kernel.cast::<PySourceKernel>() {
            let arguments = objects::values(args, Ok)?;
            let (space, depends) = (source::space(gS, lS)?, events_of(dEvents)?);
            return source.get().submit(kernel.py(), &self.0, space, &arguments, &depends);
        }
        let Ok(launcher) = kernel.cast::<PyLauncher>() else {
            return Err(Fault::Python(PyTypeError::new_err(format!(
                "`kernel` is {}; expected a kernel; help: decorate a function by `stridewise.kernel`, or take one from a bundle of `stridewise.program`",
                shown(kernel)
            ))));
        };
        let arguments = PyTuple::new(kernel.py(), objects::values(args, Ok)?)?;
        let mode = Mode::default();
        let queue = Some(self.0.clone());
        PyLauncher::launch(launcher, space(gS, lS)?, &arguments, &events_of(dEvents)?, queue, mode)
    }

    /// As `submit`, which does not wait either.
    #[pyo3(signature = (kernel, args, gS, lS=None, dEvents=None))]
    #[expect(non_snake_case, reason = "names of dpctl's arguments")]
    fn submit_async(
        &self,
        kernel: &Bound<'_, PyAny>,
        args: &Bound<'_, PyAny>,
        gS: &Bound<'_, PyAny>,
        lS: Option<&Bound<'_, PyAny>>,
        dEvents: Option<&Bound<'_, PyAny>>,
    ) -> Result<PyEvent> {
        self.submit(kernel, args, gS, lS, dEvents)
    }

    /// Copies `count` bytes (without it, as many as both have) from the start of `src` to the start of `dest`, after the
    /// events in `depends`. Each is USM memory of any kind and device, a contiguous array, or an object with a contiguous
    /// buffer, such as bytes or a bytearray; a copy to or from the latter is done when the call returns.
    ///
    /// Returns an Event. Raises OutOfBoundsError where `count` is more than one of them has, TypeError for other objects,
    /// BufferError for a buffer that cannot be written.
    #[pyo3(signature = (dest, src, count=None, depends=None))]
    fn memcpy(
        &self,
        py: Python<'_>,
        dest: &Bound<'_, PyAny>,
        src: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::optional_whole)] count: Option<usize>,
        depends: Option<&Bound<'_, PyAny>>,
    ) -> Result<PyEvent> {
        let depends = events_of(depends)?;
        let dest = Span::writable("dest", dest)?;
        let src = Span::readable("src", src)?;
        let count = count.unwrap_or_else(|| dest.bytes().min(src.bytes()));
        dest.check("dest", count)?;
        src.check("src", count)?;
        Ok(PyEvent(py.detach(|| Span::copy(&self.0, &dest, &src, count, &depends))?))
    }
    /// As `memcpy`.
    #[pyo3(signature = (dest, src, count=None, depends=None))]
    fn memcpy_async(
        &self,
        py: Python<'_>,
        dest: &Bound<'_, PyAny>,
        src: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::optional_whole)] count: Option<usize>,
        depends: Option<&Bound<'_, PyAny>>,
    ) -> Result<PyEvent> {
        self.memcpy(py, dest, src, count, depends)
    }

    /// Repeats a number over `count` elements (without it, all) of `mem`, USM memory or a contiguous array, after the
    /// events in `depends`. dtype: that of the array, or for memory the one named, without which it is uint8. The number is
    /// converted as an assignment to an element converts it.
    ///
    /// Returns an Event. Raises TypeError for a number that is out of the dtype's range.
    #[pyo3(signature = (mem, value, count=None, dtype=None, depends=None))]
    fn fill(
        &self,
        py: Python<'_>,
        mem: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::optional_whole)] count: Option<usize>,
        dtype: Option<&Bound<'_, PyAny>>,
        depends: Option<&Bound<'_, PyAny>>,
    ) -> Result<PyEvent> {
        let depends = events_of(depends)?;
        let own = mem.cast::<PyArray>().ok().map(|array| array.get().array().dtype());
        let named = dtype::optional(dtype, DtypeSupport::ALL)?;
        let dtype = named.or(own).unwrap_or(Dtype::U8);
        let value = scalar_of(value, dtype)?;
        let (memory, offset, bytes) = Span::writable("mem", mem)?.into_usm("mem", mem)?;
        let count = count.unwrap_or(bytes / dtype.size());
        Span::check_bytes("mem", count.saturating_mul(dtype.size()), bytes)?;
        Ok(PyEvent(py.detach(|| self.0.fill(&memory, offset, value, count, &depends))?))
    }
    /// Sets `count` bytes (without it, all) of `mem` to a value from 0 to 255, after the events in `depends`.
    ///
    /// Returns an Event.
    #[pyo3(signature = (mem, value, count=None, depends=None))]
    fn memset(
        &self,
        py: Python<'_>,
        mem: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::whole)] value: u8,
        #[pyo3(from_py_with = arguments::optional_whole)] count: Option<usize>,
        depends: Option<&Bound<'_, PyAny>>,
    ) -> Result<PyEvent> {
        let depends = events_of(depends)?;
        let (memory, offset, bytes) = Span::writable("mem", mem)?.into_usm("mem", mem)?;
        let count = count.unwrap_or(bytes);
        Span::check_bytes("mem", count, bytes)?;
        Ok(PyEvent(py.detach(|| self.0.memset(&memory, offset, value, count, &depends))?))
    }

    /// Says that the first `count` bytes (without it, or 0: all) of `mem`, USM memory or a contiguous array, are used soon
    /// on this queue's device, after the events in `depends`. On the host, pages that were never touched get their memory
    /// now; on other devices it is a hint that changes nothing.
    ///
    /// Returns an Event.
    #[pyo3(signature = (mem, count=0, depends=None))]
    fn prefetch(
        &self,
        py: Python<'_>,
        mem: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::whole)] count: usize,
        depends: Option<&Bound<'_, PyAny>>,
    ) -> Result<PyEvent> {
        self.advise(py, mem, count, Advice::Prefetch, depends)
    }
    /// Says how the first `count` bytes of `mem` (0: all) are going to be used: "default" (or 0), "sequential" or
    /// "random". A hint: devices that have no use for it do nothing.
    ///
    /// Returns an Event. Raises ValueError for other advice.
    #[pyo3(signature = (mem, count, advice, depends=None))]
    fn mem_advise(
        &self,
        py: Python<'_>,
        mem: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::whole)] count: usize,
        advice: &Bound<'_, PyAny>,
        depends: Option<&Bound<'_, PyAny>>,
    ) -> Result<PyEvent> {
        let advice = advice_of(advice)?;
        self.advise(py, mem, count, advice, depends)
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }
    /// Queues are what they stand for: there is only one of each.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
    /// Prints what the queue's device is.
    fn print_device_info(&self, py: Python<'_>) -> PyResult<()> {
        Py::new(py, self.device())?.call_method0(py, "print_device_info").map(|_| ())
    }
    fn __repr__(&self) -> String {
        format!("<{}>", self.0)
    }
}

impl PyQueue {
    fn advise(
        &self,
        py: Python<'_>,
        mem: &Bound<'_, PyAny>,
        count: usize,
        advice: Advice,
        depends: Option<&Bound<'_, PyAny>>,
    ) -> Result<PyEvent> {
        let depends = events_of(depends)?;
        let (memory, offset, bytes) = Span::readable("mem", mem)?.into_usm("mem", mem)?;
        let count = if count == 0 { bytes } else { count };
        Span::check_bytes("mem", count, bytes)?;
        Ok(PyEvent(py.detach(|| self.0.mem_advise(&memory, offset, count, advice, &depends))?))
    }
}

/// The queue that all of a sequence of queues are, or None where two differ or there is none.
///
/// Raises TypeError for what is no queue.
#[pyfunction]
pub(crate) fn get_execution_queue(queues: &Bound<'_, PyAny>) -> Result<Option<PyQueue>> {
    let mut all = Vec::new();
    let items = queues.try_iter().map_err(|_| {
        arguments::named(queues.py(), "queues", arguments::wrong(queues, "a sequence of queues"))
    })?;
    for queue in items {
        let queue = queue?;
        match queue_argument(&queue)? {
            Some(queue) => all.push(queue),
            None => {
                return Err(Fault::Python(PyTypeError::new_err(format!(
                    "`queues` has {}; expected queues",
                    shown(&queue)
                ))));
            }
        }
    }
    Ok(stridewise::get_execution_queue(&all).map(PyQueue))
}
