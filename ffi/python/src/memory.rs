//! USM memory as Python objects: one class per kind, and what they share.

pub(crate) mod span;

use std::ffi::c_int;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyInt, PyString, PyTuple};
use stridewise::{Device, Error, PointerKind, Queue, UsmArray, UsmKind, UsmMemory, UsmPtr, pointer_info};
use stridewise_exchange::host::host_queue;

use crate::arguments;
use crate::array::PyArray;
use crate::array::conversion::copy_into;
use crate::errors::{Fault, Result, shown};
use crate::namespace::placement::queue_of;
use crate::protocol;
use crate::runtime::context::PyContext;
use crate::runtime::device::PyDevice;
use crate::runtime::queue::PyQueue;
use span::Span;

/// What memory of every kind has. Make memory with MemoryUSMHost, MemoryUSMDevice or MemoryUSMShared.
#[pyclass(name = "_Memory", module = "stridewise", frozen, subclass, weakref)]
pub(crate) struct PyMemory(pub(crate) UsmMemory);

#[pymethods]
impl PyMemory {
    /// Bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.bytes()
    }
    /// Bytes.
    #[getter]
    fn size(&self) -> usize {
        self.0.bytes()
    }
    /// The address, as a number. Work on the memory is not waited for.
    #[getter]
    fn _pointer(&self) -> usize {
        self.0.expose().as_ptr().expose_provenance()
    }
    /// The queue that works on this memory by default.
    #[getter]
    fn sycl_queue(&self) -> PyQueue {
        PyQueue(self.0.queue().clone())
    }
    /// The queue that works on this memory by default.
    #[getter]
    fn queue(&self) -> PyQueue {
        self.sycl_queue()
    }
    /// The context that the memory is bound to.
    #[getter]
    fn sycl_context(&self) -> PyContext {
        PyContext(self.0.context().clone())
    }
    /// The device that the memory belongs to.
    #[getter]
    fn sycl_device(&self) -> PyDevice {
        self.0.device().clone().into()
    }
    /// "host", "device" or "shared".
    fn get_usm_type(&self) -> &'static str {
        self.0.kind().name()
    }
    /// "host", "device" or "shared".
    #[getter(usm_type)]
    fn kind(&self) -> &'static str {
        self.0.kind().name()
    }
    /// Whether the memory came from elsewhere.
    #[getter]
    fn is_foreign(&self) -> bool {
        self.0.is_foreign()
    }
    /// The same memory, associated with another queue of the same context. Raises ValueError for one of another context.
    fn with_queue(&self, py: Python<'_>, queue: &Bound<'_, PyAny>) -> Result<Py<PyAny>> {
        let queue = queue_of(None, Some(queue), None)?;
        Ok(object(py, self.0.with_queue(&queue)?)?)
    }

    /// Copies all bytes into `obj`, an object with a contiguous, writable buffer of as many bytes, or, without one, into a
    /// new bytearray; after the work on them. Returns it.
    ///
    /// Raises ValueError for a buffer of another size, BufferError for one that cannot be written, TypeError for an object
    /// without a buffer.
    #[pyo3(signature = (obj=None))]
    fn copy_to_host<'py>(
        &self,
        py: Python<'py>,
        obj: Option<Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        let Some(obj) = obj.filter(|obj| !obj.is_none()) else {
            let fill =
                |bytes: &mut [u8]| Ok(py.detach(|| self.0.copy_to_host(0, bytes)).map_err(Fault::from)?);
            return Ok(PyByteArray::new_with(py, self.0.bytes(), fill)?.into_any());
        };
        let target = host_buffer("obj", &obj, true)?;
        self.check_size("obj", target.bytes(), target.bytes() == self.0.bytes())?;
        let whole = Span::usm(self.0.clone());
        py.detach(|| Span::copy(self.0.queue(), &target, &whole, self.0.bytes(), &[]))?;
        Ok(obj)
    }
    /// Copies the bytes of `obj`, an object with a contiguous buffer of as many bytes or fewer, over the start of this
    /// memory. They are there when the call returns.
    ///
    /// Raises ValueError for a larger buffer, TypeError for an object without a buffer.
    fn copy_from_host(&self, py: Python<'_>, obj: &Bound<'_, PyAny>) -> Result<()> {
        let source = host_buffer("obj", obj, false)?;
        self.check_size("obj", source.bytes(), source.bytes() <= self.0.bytes())?;
        let whole = Span::usm(self.0.clone());
        py.detach(|| Span::copy(self.0.queue(), &whole, &source, source.bytes(), &[]))?;
        Ok(())
    }
    /// Copies the bytes of `sycl_usm_ary`, memory, a contiguous array or an object with `__sycl_usm_array_interface__`, of
    /// any kind and device, over the start of this memory. They are there when the call returns.
    ///
    /// Raises ValueError where it has more bytes than this memory, TypeError for an object without the interface.
    fn copy_from_device(&self, py: Python<'_>, sycl_usm_ary: &Bound<'_, PyAny>) -> Result<()> {
        let (source, offset, bytes) =
            Span::readable("sycl_usm_ary", sycl_usm_ary)?.into_usm("sycl_usm_ary", sycl_usm_ary)?;
        self.check_size("sycl_usm_ary", bytes, bytes <= self.0.bytes())?;
        let queue = self.0.queue();
        py.detach(|| queue.memcpy((&self.0, 0), (&source, offset), bytes, &[])?.wait())?;
        Ok(())
    }
    /// Sets all bytes to a value from 0 to 255. They are there when the call returns.
    #[pyo3(signature = (val=0))]
    fn memset(&self, py: Python<'_>, #[pyo3(from_py_with = arguments::whole)] val: u8) -> Result<()> {
        let queue = self.0.queue();
        py.detach(|| queue.memset(&self.0, 0, val, self.0.bytes(), &[])?.wait())?;
        Ok(())
    }
    /// All bytes, after the work on them.
    fn tobytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>> {
        let fill = |bytes: &mut [u8]| Ok(py.detach(|| self.0.copy_to_host(0, bytes)).map_err(Fault::from)?);
        Ok(PyBytes::new_with(py, self.0.bytes(), fill)?)
    }
    fn __bytes__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>> {
        self.tobytes(py)
    }
    fn __len__(&self) -> usize {
        self.0.bytes()
    }
    fn __repr__(&self) -> String {
        format!(
            "<USM memory of kind {}, {} bytes at {:#x}>",
            self.0.kind(),
            self.0.bytes(),
            self.0.ptr().addr()
        )
    }
    fn __copy__(&self, py: Python<'_>) -> Result<Py<PyAny>> {
        let whole = Part::whole(self.0.clone());
        let memory = py.detach(|| copied(self.0.kind(), &whole, 0, self.0.queue()))?;
        Ok(object(py, memory)?)
    }
    /// New memory of the same kind with the same bytes, on the same queue.
    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> Result<Py<PyAny>> {
        self.__copy__(py)
    }
    /// Memory is pickled with its bytes, and restored on the device of the same filter string, or the default one.
    fn __reduce__<'py>(&self, py: Python<'py>) -> Result<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let restore = py.import("stridewise._native")?.getattr("_restore_memory")?;
        let filter = self.0.device().filter_string();
        let state = (self.0.kind().name(), self.tobytes(py)?, filter).into_pyobject(py)?;
        Ok((restore, state))
    }

    /// The bytes as a buffer (PEP 3118), without a copy, for memory of kind host and shared.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> Result<()> {
        let py = slf.py();
        if view.is_null() {
            return Err(Fault::Python(PyBufferError::new_err("no place for the buffer's description")));
        }
        // SAFETY: the interpreter hands a place for a buffer's description, which is not null.
        unsafe { (*view).obj = std::ptr::null_mut() };
        let memory = slf.get().0.clone();
        if !memory.kind().host_accessible() {
            return Err(Fault::Core(Error::host_access(
                "memory",
                format!("of kind {} on {}", memory.kind(), memory.device()),
                "memory that the host may touch: host or shared",
                "copy it first, with `copy_to_host`",
            )));
        }
        let (ptr, bytes) = py.detach(|| memory.export().map(|ptr| (ptr, memory.bytes())))?;
        let read_only = c_int::from(memory.is_read_only());
        // An allocation's size is within `isize`.
        let length = bytes.cast_signed();
        // SAFETY: `view` is the interpreter's; the memory is `bytes` long from `ptr`, is reached by the host (its kind was
        // checked), and lives as long as the object, which the call takes a reference to for the buffer's holder.
        let code = unsafe {
            ffi::PyBuffer_FillInfo(view, slf.as_ptr(), ptr.as_ptr().cast(), length, read_only, flags)
        };
        if code == 0 { Ok(()) } else { Err(Fault::Python(PyErr::fetch(py))) }
    }
}

/// The buffer of an object of the host, which is no USM memory.
fn host_buffer(name: &'static str, obj: &Bound<'_, PyAny>, write: bool) -> Result<Span> {
    let buffer = PyUntypedBuffer::get(obj).map_err(|_| {
        let given = shown(obj);
        PyTypeError::new_err(format!(
            "`{name}` is {given}; expected an object with a buffer, such as bytes, bytearray, array.array or NumPy's \
             ndarray; help: copy_from_device copies USM memory"
        ))
    })?;
    Span::host(name, buffer, write)
}

impl PyMemory {
    fn check_size(&self, name: &str, bytes: usize, fits: bool) -> Result<()> {
        if fits {
            return Ok(());
        }
        Err(Fault::Python(PyValueError::new_err(format!(
            "`{name}` has {bytes} bytes; expected those of this memory, {}; help: allocate as much, or use Queue.memcpy \
             with a count",
            self.0.bytes()
        ))))
    }
}

/// New memory of a kind with the bytes of a part of other memory.
fn copied(kind: UsmKind, source: &Part, alignment: usize, queue: &Queue) -> stridewise::Result<UsmMemory> {
    let memory = fresh(kind, source.bytes, alignment, queue)?;
    queue.memcpy((&memory, 0), (&source.memory, source.offset), source.bytes, &[])?.wait()?;
    Ok(memory)
}

fn fresh(kind: UsmKind, bytes: usize, alignment: usize, queue: &Queue) -> stridewise::Result<UsmMemory> {
    match alignment {
        0 => UsmMemory::new(kind, bytes, queue),
        _ => UsmMemory::aligned(kind, bytes, alignment, queue),
    }
}

/// Memory of the host with the elements of an array in row-major order, for who keeps it and writes to it as it likes. It is
/// of the pool, whose pages earlier results have touched; new ones would be cleared first, by one thread.
pub(crate) fn host_copy(py: Python<'_>, array: &UsmArray) -> Result<Py<PyAny>> {
    let memory = UsmMemory::new(UsmKind::Host, array.bytes(), &host_queue()?)?;
    let start = memory.export()?;
    // SAFETY: new memory that the host reaches, of so many bytes, which nobody else has yet.
    let memory = unsafe { copy_into(py, array, start.as_ptr(), memory)? };
    Ok(object(py, memory)?)
}

/// Bytes of an allocation, one after the other.
pub(crate) struct Part {
    pub(crate) memory: UsmMemory,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

impl Part {
    /// All of an allocation.
    fn whole(memory: UsmMemory) -> Self {
        let bytes = memory.bytes();
        Self { memory, offset: 0, bytes }
    }

    /// The part as memory of its own, which keeps the allocation.
    ///
    /// # Errors
    /// `ValueError` where there are no bytes; the failure of work on the memory.
    fn into_memory(self, py: Python<'_>) -> Result<UsmMemory> {
        let Self { memory, offset, bytes } = self;
        if bytes == 0 {
            return Err(no_bytes("an array without elements"));
        }
        if bytes == memory.bytes() {
            return Ok(memory);
        }
        Ok(py.detach(|| {
            let start = memory.expose().byte_offset(offset.cast_signed());
            // SAFETY: these bytes are of the allocation (who makes a part has checked), whose address was handed out just now,
            // so that the part keeps it; kind and device are its own.
            unsafe { UsmMemory::from_foreign(memory.kind(), start, bytes, memory.queue(), None) }
        })?)
    }
}

/// The refusal of memory without a byte.
pub(crate) fn no_bytes(what: &str) -> Fault {
    Fault::Python(PyValueError::new_err(format!("{what} is no memory; expected memory of at least one byte")))
}

/// The bytes that an object is or views, ours or others', from its lowest element to the end of its highest; `None` where
/// it follows no protocol.
pub(crate) fn memory_of(obj: &Bound<'_, PyAny>) -> Result<Option<Part>> {
    if let Ok(memory) = obj.cast::<PyMemory>() {
        return Ok(Some(Part::whole(memory.get().0.clone())));
    }
    if let Ok(array) = obj.cast::<PyArray>() {
        let array = array.get().array().clone();
        let memory = obj.py().detach(|| array.usm_data())?;
        let place = array.layout().byte_range(array.itemsize());
        return Ok(Some(Part { memory, offset: place.start, bytes: place.len() }));
    }
    Ok(protocol::import_memory(obj)?.map(Part::whole))
}

/// What the constructors do.
fn construct(
    py: Python<'_>,
    kind: UsmKind,
    given: &Bound<'_, PyAny>,
    alignment: usize,
    queue: Option<&Bound<'_, PyAny>>,
    copy: bool,
) -> Result<UsmMemory> {
    let queue = queue.filter(|queue| !queue.is_none());
    let named = queue.map(|queue| queue_of(None, Some(queue), None)).transpose()?;
    // An integer, or what stands for one, such as NumPy's; an array is memory, whatever it stands for.
    let memory = if given.is_instance_of::<PyInt>() { None } else { memory_of(given)? };
    let number = || -> PyResult<bool> {
        Ok(given.is_instance_of::<PyInt>()
            || (given.hasattr("__index__")? && given.call_method0("__index__").is_ok()))
    };
    if memory.is_none() && number()? {
        let bytes: isize = arguments::whole(given).map_err(|error| arguments::named(py, "nbytes", error))?;
        let Ok(bytes) = usize::try_from(bytes) else {
            return Err(Fault::Python(PyValueError::new_err(format!(
                "`nbytes` is {bytes}; expected at least one byte"
            ))));
        };
        let queue = match named {
            Some(queue) => queue,
            None => Queue::default_queue()?,
        };
        return Ok(py.detach(|| fresh(kind, bytes, alignment, &queue))?);
    }
    if let Some(source) = memory {
        let queue = named.unwrap_or_else(|| source.memory.queue().clone());
        if copy {
            return Ok(py.detach(|| copied(kind, &source, alignment, &queue))?);
        }
        if source.memory.kind() != kind {
            return Err(Fault::Python(PyValueError::new_err(format!(
                "`nbytes` is memory of kind {}; expected {kind}; help: copy it with copy=True",
                source.memory.kind()
            ))));
        }
        let source = source.into_memory(py)?;
        return Ok(if queue == *source.queue() { source } else { source.with_queue(&queue)? });
    }
    if copy && let Ok(buffer) = PyUntypedBuffer::get(given) {
        let source = Span::host("nbytes", buffer, false)?;
        let queue = match named {
            Some(queue) => queue,
            None => Queue::default_queue()?,
        };
        return Ok(py.detach(|| -> stridewise::Result<UsmMemory> {
            let memory = fresh(kind, source.bytes(), alignment, &queue)?;
            Span::copy(&queue, &Span::usm(memory.clone()), &source, source.bytes(), &[])?;
            Ok(memory)
        })?);
    }
    Err(Fault::Python(PyTypeError::new_err(format!(
        "`nbytes` is {}; expected a number of bytes, USM memory, or an object with __sycl_usm_array_interface__; help: \
         bytes and other buffers are copied with copy=True",
        shown(given)
    ))))
}

macro_rules! kinds {
    ($($Class:ident $name:literal $Kind:ident $who:literal;)*) => {
        $(
            #[doc = concat!(
                "USM memory of kind ", $who, ".\n\n",
                $name, "(nbytes, alignment=0, queue=None, copy=False): new memory with arbitrary contents, at a multiple of ",
                "`alignment` bytes (0: 64), associated with a queue (by default the default device's).\n\n",
                $name, "(obj, …): a view of memory of this kind: USM memory, an array, or an object with ",
                "__sycl_usm_array_interface__; with copy=True new memory with its bytes, of any kind, or with those of a ",
                "buffer.\n\nRaises ValueError for no bytes, an alignment that is no power of two and memory of another kind, ",
                "TypeError for other objects, MemoryError, NotImplementedError where the device has no such memory."
            )]
            #[pyclass(name = $name, module = "stridewise", frozen, subclass, extends = PyMemory)]
            pub(crate) struct $Class;

            #[pymethods]
            impl $Class {
                #[new]
                #[pyo3(signature = (nbytes, alignment=0, queue=None, copy=false))]
                fn new(
                    py: Python<'_>,
                    nbytes: &Bound<'_, PyAny>,
                    #[pyo3(from_py_with = arguments::whole)] alignment: usize,
                    queue: Option<&Bound<'_, PyAny>>,
                    #[pyo3(from_py_with = arguments::flag)] copy: bool,
                ) -> Result<PyClassInitializer<Self>> {
                    let memory = construct(py, UsmKind::$Kind, nbytes, alignment, queue, copy)?;
                    Ok(PyClassInitializer::from(PyMemory(memory)).add_subclass(Self))
                }
            }
        )*

        /// The Python object for memory: of the class of its kind.
        pub(crate) fn object(py: Python<'_>, memory: UsmMemory) -> PyResult<Py<PyAny>> {
            match memory.kind() {
                $(UsmKind::$Kind => {
                    let object = PyClassInitializer::from(PyMemory(memory)).add_subclass($Class);
                    Ok(Py::new(py, object)?.into_any())
                })*
            }
        }

        /// Adds the classes and functions to the module.
        pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            module.add_class::<PyMemory>()?;
            $(module.add_class::<$Class>()?;)*
            module.add_function(wrap_pyfunction!(as_usm_memory, module)?)?;
            module.add_function(wrap_pyfunction!(get_pointer_type, module)?)?;
            module.add_function(wrap_pyfunction!(_restore_memory, module)?)
        }
    };
}
kinds! {
    PyMemoryUsmHost "MemoryUSMHost" Host "host: it lives on the host, and host and device may touch it";
    PyMemoryUsmDevice "MemoryUSMDevice" Device "device: only the device may touch it";
    PyMemoryUsmShared "MemoryUSMShared" Shared "shared: host and device may touch it, and the runtime moves it";
}

/// The memory that an object is or views, without a copy: USM memory, an array, or an object with
/// `__sycl_usm_array_interface__`; of a view, from its lowest element to the end of its highest.
///
/// Raises TypeError for other objects, ValueError for an array without elements.
#[pyfunction]
fn as_usm_memory(py: Python<'_>, obj: &Bound<'_, PyAny>) -> Result<Py<PyAny>> {
    if obj.is_instance_of::<PyMemory>() {
        return Ok(obj.clone().unbind());
    }
    match memory_of(obj)? {
        Some(part) => Ok(object(py, part.into_memory(py)?)?),
        None => Err(Fault::Python(PyTypeError::new_err(format!(
            "`obj` is {}; expected USM memory, an array, or an object with __sycl_usm_array_interface__",
            shown(obj)
        )))),
    }
}

/// What an address points into: "host", "device", "shared", or "unknown" where this engine has neither allocated nor
/// adopted the memory.
#[pyfunction]
fn get_pointer_type(#[pyo3(from_py_with = arguments::whole)] address: usize) -> &'static str {
    match pointer_info(UsmPtr::new(std::ptr::without_provenance_mut(address))).kind {
        PointerKind::Usm(kind) => kind.name(),
        PointerKind::Unknown => "unknown",
    }
}

/// Restores pickled memory.
#[pyfunction]
fn _restore_memory(
    py: Python<'_>,
    kind: &Bound<'_, PyString>,
    data: &Bound<'_, PyBytes>,
    filter: &Bound<'_, PyString>,
) -> Result<Py<PyAny>> {
    let kind: UsmKind = kind.to_cow()?.parse()?;
    let queue = match Device::select(&filter.to_cow()?) {
        Ok(device) => device.queue()?,
        Err(_) => Queue::default_queue()?,
    };
    let bytes = data.as_bytes();
    let memory = py.detach(|| -> stridewise::Result<UsmMemory> {
        let memory = UsmMemory::new(kind, bytes.len(), &queue)?;
        memory.copy_from_host(0, bytes)?;
        Ok(memory)
    })?;
    Ok(object(py, memory)?)
}
