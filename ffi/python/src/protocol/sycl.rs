//! `__sycl_usm_array_interface__`, both ways, and queues of SYCL.
//!
//! What goes out: the allocation's address, and as `syclobj` the dpctl.SyclQueue whose memory it is, or, for memory of
//! this engine's own, its Queue. What comes in: memory of this engine's, behind any object that describes it, and memory
//! of SYCL on a processor, which our host device works on in place, behind the queue it came with (`sycl::device`).
//!
//! Sources: dpctl's documentation of the protocol; `syclobj` in all forms that it names.

mod device;
mod library;
mod syclobj;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyAttributeError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMemoryView, PyString, PyTuple};
use stridewise::{
    Device, Dtype, Error, PointerKind, Queue, UsmArray, UsmKind, UsmMemory, UsmPtr, pointer_info,
};
use stridewise_exchange::interface::{Interface, Place, VERSION, usm_strides};
use stridewise_exchange::typestr::typestr;

use super::Request;
use crate::array::PyArray;
use crate::errors::{Fault, Result};
use crate::memory::{PyMemory, no_bytes};
use crate::objects;
pub(crate) use syclobj::queue_of;
use syclobj::{Home, home_of, kept_queue, name_of, sycl_queue, type_error};

/// An interface's numbers as they came, in wide arithmetic.
fn integers(name: &str, object: &Bound<'_, PyAny>) -> Result<Vec<i128>> {
    if !object.is_instance_of::<PyTuple>() && !object.is_instance_of::<PyList>() {
        return Err(type_error(name, object, "a tuple of integers"));
    }
    objects::values(object, |item| integer(name, &item))
}

fn integer(name: &str, object: &Bound<'_, PyAny>) -> Result<i128> {
    object.extract::<i128>().map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(object.py()) {
            Fault::Core(Error::overflow(
                name.to_owned(),
                "a number of more than 128 bits",
                "a number that fits the address space",
                "this is a defect of the library that made the interface",
            ))
        } else {
            type_error(name, object, "an integer")
        }
    })
}

/// A dictionary, taken apart.
struct Fields<'py> {
    typestr: String,
    shape: Vec<i128>,
    strides: Option<Vec<i128>>,
    offset: i128,
    version: i128,
    /// Address, and whether it is read-only; absent where the object's buffer counts.
    data: Option<(i128, bool)>,
    syclobj: Bound<'py, PyAny>,
}

impl<'py> Fields<'py> {
    fn read(dict: &Bound<'py, PyDict>) -> Result<Self> {
        let optional = |key: &str| -> Result<Option<Bound<'py, PyAny>>> {
            Ok(dict.get_item(key)?.filter(|value| !value.is_none()))
        };
        let required = |key: &str| -> Result<Bound<'py, PyAny>> {
            optional(key)?.ok_or_else(|| {
                Fault::Python(PyValueError::new_err(format!(
                    "the interface has no `{key}`; expected shape, typestr, version, syclobj, and data or a buffer; \
                     help: this is a defect of the library that made it"
                )))
            })
        };
        let typestr = required("typestr")?;
        let Ok(typestr) = typestr.cast::<PyString>() else {
            return Err(type_error("typestr", &typestr, "a string such as \"<f4\""));
        };
        if let Some(fields) = optional("typedescr")? {
            let described =
                fields.cast::<PyList>().is_ok_and(|list| list.iter().all(|f| f.is_instance_of::<PyTuple>()));
            if !described {
                return Err(type_error("typedescr", &fields, "a list of tuples"));
            }
        }
        let data = match optional("data")? {
            None => None,
            Some(data) => {
                let wrong = || type_error("data", &data, "a tuple of an address and a bool");
                let pair = data.cast::<PyTuple>().map_err(|_| wrong())?;
                if pair.len() != 2 {
                    return Err(wrong());
                }
                let read_only = pair.get_item(1)?.extract::<bool>().map_err(|_| wrong())?;
                Some((integer("data", &pair.get_item(0)?)?, read_only))
            }
        };
        Ok(Self {
            typestr: typestr.to_cow()?.into_owned(),
            shape: integers("shape", &required("shape")?)?,
            strides: optional("strides")?.map(|strides| integers("strides", &strides)).transpose()?,
            offset: optional("offset")?.map_or(Ok(0), |offset| integer("offset", &offset))?,
            version: integer("version", &required("version")?)?,
            data,
            syclobj: required("syclobj")?,
        })
    }

    fn place(&self, memory_bytes: Option<usize>) -> Result<Place> {
        let interface = Interface {
            version: self.version,
            typestr: &self.typestr,
            shape: &self.shape,
            strides: self.strides.as_deref(),
            offset: self.offset,
            memory_bytes,
        };
        Ok(interface.check()?)
    }
}

/// How much of what an interface describes is adopted.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    /// From the address on, so that the layout's offset counts from there.
    FromAddress,
    /// From the lowest element on.
    Elements,
}

impl Extent {
    /// The first byte, from the address on, and how many; both are within what the place was checked for.
    fn of(self, place: &Place) -> (usize, usize) {
        match self {
            Self::FromAddress => (0, place.bytes),
            Self::Elements => {
                let elements = place.layout.byte_range(place.dtype.size());
                (elements.start, elements.len())
            }
        }
    }
}

/// What an interface describes, adopted.
struct Taken {
    place: Place,
    queue: Queue,
    /// `None` where there are no elements.
    memory: Option<UsmMemory>,
    kind: UsmKind,
}

/// Takes what an object's interface describes; `None` where it has none.
fn take(object: &Bound<'_, PyAny>, extent: Extent) -> Result<Option<Taken>> {
    let py = object.py();
    let Some(found) = object.getattr_opt(intern!(py, "__sycl_usm_array_interface__"))? else {
        return Ok(None);
    };
    let Ok(dict) = found.cast::<PyDict>() else {
        return Err(type_error("__sycl_usm_array_interface__", &found, "a dictionary"));
    };
    let fields = Fields::read(dict)?;
    let home = home_of(&fields.syclobj)?;
    let Some((address, read_only)) = fields.data else {
        return take_buffer(object, &fields, home, extent).map(Some);
    };
    // dpctl's memory says the opposite of what the protocol means by it.
    let writable = !read_only || is_memory_of_dpctl(object)?;
    let (queue, kind, place) = locate(py, &fields, home, address)?;
    let start = place.start(address)?;
    let memory = if place.bytes == 0 {
        None
    } else {
        let (first, bytes) = extent.of(&place);
        // SAFETY: the address is in USM memory of this engine or of SYCL on a processor, to the end of the last element
        // (`locate`), and lives as long as the object that described it or the description, which the deleter keeps; what
        // is of this engine, the memory keeps.
        Some(unsafe {
            let owner = (object.clone().unbind(), found.clone().unbind());
            adopt(py, kind, (start + first, bytes), &queue, writable, owner)?
        })
    };
    Ok(Some(Taken { place, queue, memory, kind }))
}

/// The queue, the kind, and the checked numbers of memory at an address.
fn locate(py: Python<'_>, fields: &Fields<'_>, home: Home, address: i128) -> Result<(Queue, UsmKind, Place)> {
    let unknown = |place: &Place| {
        Fault::Core(Error::value(
            "data",
            format!("{address:#x}, with {} bytes of elements from there on", place.bytes),
            "USM memory that `syclobj` knows, to the end of the last element",
            "name the queue or context that the memory was allocated in",
        ))
    };
    let number = usize::try_from(address).unwrap_or(0);
    let info = pointer_info(UsmPtr::new(std::ptr::without_provenance_mut(number)));
    let ours = match (info.kind, &info.device) {
        (PointerKind::Usm(kind), Some(device)) => Some((kind, device.clone())),
        _ => None,
    };
    // What the engine knows of the address: bytes from there to the end of the allocation.
    let known = ours.as_ref().map(|_| info.bytes - (number - info.base.addr()));
    let home = match home {
        Home::Filter(filter) => match (Device::select(&filter), &ours) {
            (Ok(device), Some((_, owner))) if is_part_of(owner, &device) => Home::Ours(owner.queue()?),
            (selected, _) => {
                let kept =
                    py.import("dpctl").and_then(|_| kept_queue(py, PyString::new(py, &filter).into_any()));
                match kept {
                    Ok(kept) => {
                        let (queue, sycl) = sycl_queue(&kept)?;
                        Home::Sycl(queue, sycl)
                    }
                    Err(_) => Home::Ours(selected?.queue()?),
                }
            }
        },
        Home::Context(context) => match &ours {
            Some((_, owner)) if context.devices().iter().any(|device| is_part_of(owner, device)) => {
                Home::Ours(py.detach(|| context.queue(owner))?)
            }
            _ => return Err(unknown(&fields.place(None)?)),
        },
        home => home,
    };
    match home {
        Home::Sycl(queue, sycl) => {
            let place = fields.place(None)?;
            let first = place.start(address)?;
            let kind = sycl.kind_of(number);
            if place.bytes == 0 {
                return Ok((queue, kind.unwrap_or(UsmKind::Device), place));
            }
            // The library does not tell where an allocation ends; it tells of both ends what they are in.
            match (kind, sycl.kind_of(first), sycl.kind_of(first + place.bytes - 1)) {
                (Some(kind), Some(low), Some(high)) if kind == low && kind == high => {
                    py.detach(|| sycl.wait());
                    Ok((queue, kind, place))
                }
                _ => Err(unknown(&place)),
            }
        }
        Home::Ours(queue) => {
            let place = fields.place(known)?;
            match ours {
                Some((kind, owner)) if in_context(&owner, &queue) => Ok((queue, kind, place)),
                _ if place.bytes == 0 => Ok((queue, UsmKind::Device, place)),
                _ => Err(unknown(&place)),
            }
        }
        // Both were resolved above.
        Home::Filter(_) | Home::Context(_) => Err(unknown(&fields.place(None)?)),
    }
}

/// Whether a queue works in the memory of one of SYCL, which other memory of the host is not.
pub(super) fn is_of_sycl(queue: &Queue) -> bool {
    device::queue_of(queue.device()).is_some()
}

fn is_part_of(part: &Device, device: &Device) -> bool {
    std::iter::successors(Some(part), |part| part.parent_device()).any(|part| part == device)
}

fn in_context(owner: &Device, queue: &Queue) -> bool {
    queue.context().devices().iter().any(|device| is_part_of(owner, device) || is_part_of(device, owner))
}

/// Takes memory of the host that an object without `data` shows as its buffer.
fn take_buffer(object: &Bound<'_, PyAny>, fields: &Fields<'_>, home: Home, extent: Extent) -> Result<Taken> {
    // Held as an object, whose end any thread may cause without the interpreter's lock.
    let view = PyMemoryView::from(object).map_err(|_| {
        Fault::Python(PyTypeError::new_err(
            "the interface has no `data`, and the object no buffer; expected one of them; help: `data` is (address, \
             read_only)",
        ))
    })?;
    let buffer = PyUntypedBuffer::get(view.as_any())?;
    if !buffer.is_c_contiguous() {
        return Err(Fault::Python(PyValueError::new_err(
            "the interface has no `data`, and the object's buffer is not contiguous; expected a contiguous one",
        )));
    }
    let (address, bytes, writable) = (buffer.buf_ptr().addr(), buffer.len_bytes(), !buffer.readonly());
    drop(buffer);
    let py = object.py();
    let queue = match home {
        Home::Ours(queue) | Home::Sycl(queue, _) => queue,
        Home::Context(context) => match context.devices().first() {
            Some(device) => context.queue(device)?,
            None => return Err(type_error("syclobj", &fields.syclobj, "a context with a device")),
        },
        Home::Filter(filter) => Device::select(&filter)?.queue()?,
    };
    if !queue.device().capabilities().process_memory {
        return Err(Fault::Core(Error::unsupported(
            "syclobj",
            &queue,
            "a queue of the host device, which works on a buffer's memory in place",
            "name \"host\", then copy with to_device",
        )));
    }
    let place = fields.place(Some(bytes))?;
    if place.bytes == 0 {
        return Ok(Taken { place, queue, memory: None, kind: UsmKind::Host });
    }
    let start = place.start(address as i128)?;
    let kind = match device::queue_of(queue.device()) {
        None => UsmKind::Host,
        // Only memory of its own context is memory of a queue of SYCL.
        Some(sycl) => match (sycl.kind_of(start), sycl.kind_of(start + (place.bytes - 1))) {
            (Some(low), Some(high)) if low == high => {
                py.detach(|| sycl.wait());
                low
            }
            _ => {
                return Err(Fault::Core(Error::value(
                    "syclobj",
                    format!("{queue}, which does not know the memory of the object's buffer"),
                    "the queue that the buffer's memory was allocated through, or a queue of the host device",
                    "name \"host\", then copy with to_device",
                )));
            }
        },
    };
    let (first, bytes) = extent.of(&place);
    // SAFETY: the elements are within the buffer (`place`), which the view keeps where it is; it is memory of the host, and
    // the queue is the host's, or one of SYCL whose memory it is, to the last element (`kind`).
    let memory =
        unsafe { adopt(py, kind, (start + first, bytes), &queue, writable, view.into_any().unbind())? };
    Ok(Taken { place, queue, memory: Some(memory), kind })
}

/// Memory that objects keep.
///
/// # Safety
/// As for [`UsmMemory::from_foreign`]; the memory is there as long as `owner` is.
unsafe fn adopt(
    py: Python<'_>,
    kind: UsmKind,
    (start, bytes): (usize, usize),
    queue: &Queue,
    writable: bool,
    owner: impl Send + 'static,
) -> Result<UsmMemory> {
    let ptr = UsmPtr::new(std::ptr::with_exposed_provenance_mut(start));
    // On a thread without the interpreter's lock, the reference is given back when the lock is next taken.
    let deleter = Box::new(move || drop(owner));
    // Waits for work on memory that nobody had to see so far.
    // SAFETY: the caller's promise.
    let memory = py.detach(|| unsafe { UsmMemory::from_foreign(kind, ptr, bytes, queue, Some(deleter)) })?;
    if !writable {
        memory.forbid_writing();
    }
    Ok(memory)
}

/// Whether an object is of dpctl's own memory classes.
fn is_memory_of_dpctl(object: &Bound<'_, PyAny>) -> Result<bool> {
    for class in object.get_type().mro().iter() {
        let module = class.getattr_opt(intern!(object.py(), "__module__"))?;
        let name = module.and_then(|name| name.extract::<String>().ok()).unwrap_or_default();
        if name.starts_with("dpctl.memory") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The array that an object's `__sycl_usm_array_interface__` describes, or that USM memory is as bytes.
pub(super) fn import(object: &Bound<'_, PyAny>, request: &Request<'_>) -> Result<Option<UsmArray>> {
    let py = object.py();
    let array = if let Ok(memory) = object.cast::<PyMemory>() {
        let memory = &memory.get().0;
        UsmArray::builder([memory.bytes()]).dtype(Dtype::U8).buffer(memory).queue(memory.queue()).build()?
    } else {
        let Some(taken) = take(object, Extent::FromAddress)? else { return Ok(None) };
        let Taken { place, queue, memory, kind } = taken;
        match &memory {
            None => UsmArray::empty(&queue, place.layout.shape(), place.dtype, kind)?,
            Some(memory) => UsmArray::builder(place.layout.shape())
                .dtype(place.dtype)
                .strides(place.layout.strides())
                .offset(place.layout.offset())
                .buffer(memory)
                .queue(&queue)
                .build()?,
        }
    };
    let elsewhere = request.queue.filter(|queue| *queue != array.queue());
    match (elsewhere, request.copy) {
        (Some(queue), Some(false)) => Err(Fault::Python(PyValueError::new_err(format!(
            "the array is on {}, and to be on {queue} without a copy; expected the same queue; help: leave out copy=False, \
             or the device",
            array.queue()
        )))),
        (Some(queue), _) => Ok(Some(py.detach(|| array.to_queue(queue))?)),
        (None, Some(true)) => Ok(Some(py.detach(|| array.copy())?)),
        (None, _) => Ok(Some(array)),
    }
}

/// The memory that an object's `__sycl_usm_array_interface__` describes, from the lowest element to the end of the
/// highest.
pub(super) fn import_memory(object: &Bound<'_, PyAny>) -> Result<Option<UsmMemory>> {
    let Some(taken) = take(object, Extent::Elements)? else { return Ok(None) };
    taken.memory.map(Some).ok_or_else(|| no_bytes("an interface without elements"))
}

fn dictionary<'py>(
    py: Python<'py>,
    memory: &UsmMemory,
    (shape, strides): (&[usize], Option<&[isize]>),
    (offset, text, writable): (usize, &str, bool),
    queue: &Queue,
) -> Result<Bound<'py, PyDict>> {
    // Whoever has the address must find the elements there.
    let address = py.detach(|| memory.export())?.as_ptr().expose_provenance();
    let dict = PyDict::new(py);
    dict.set_item("data", (address, !writable))?;
    dict.set_item("shape", PyTuple::new(py, shape)?)?;
    dict.set_item("strides", strides.map(|strides| PyTuple::new(py, strides)).transpose()?)?;
    dict.set_item("offset", offset)?;
    dict.set_item("typestr", text)?;
    dict.set_item("typedescr", vec![("", text)])?;
    dict.set_item("version", VERSION)?;
    dict.set_item("syclobj", name_of(py, queue)?)?;
    Ok(dict)
}

#[pymethods]
impl PyArray {
    /// The array by the protocol of that name (dpctl, version 1): `data` is the allocation's address and whether the array
    /// is read-only, `strides` and `offset` count elements from there. All work on the memory is done first.
    ///
    /// `syclobj` is the dpctl.SyclQueue whose memory it is, or the array's own queue. There is none for bfloat16, which has
    /// no type string.
    #[getter]
    fn __sycl_usm_array_interface__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        let array = &self.array();
        let Some(text) = typestr(array.dtype()) else {
            return Err(Fault::Python(PyAttributeError::new_err(format!(
                "the array is of {}; expected a dtype with a type string; help: convert it with astype",
                array.dtype()
            ))));
        };
        let memory = py.detach(|| array.usm_data())?;
        let layout = array.layout();
        let described = (layout.shape(), usm_strides(layout));
        let place = (array.offset(), text, array.flags().writable);
        dictionary(py, &memory, described, place, array.queue())
    }
}

#[pymethods]
impl PyMemory {
    /// The memory as an array of bytes, by the protocol of that name (dpctl, version 1). All work on it is done first.
    #[getter]
    fn __sycl_usm_array_interface__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        dictionary(py, &self.0, (&[self.0.bytes()], None), (0, "|u1", !self.0.is_read_only()), self.0.queue())
    }
}
