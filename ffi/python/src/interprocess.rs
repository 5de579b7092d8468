//! Memory of one process in another, with dpctl's names.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};
use stridewise::backend::Interprocess;
use stridewise::{IpcHandle, Queue, UsmMemory};
use stridewise_exchange::host::host_queue;

use crate::arguments;
use crate::errors::{Fault, Result, shown};
use crate::memory::{self, memory_of};
use crate::namespace::placement::named_queue;

/// By what another process of the same user opens memory that this one has: shared memory of the host, or device memory of a GPU of
/// CUDA.
///
/// >>> import stridewise as sw
/// >>> memory = sw.IPCMemoryHandle.allocate(800)
/// >>> handle = sw.IPCMemoryHandle(memory)
/// >>> payload = handle.to_bytes()  # sent by a pipe, a socket, a queue …
/// >>> theirs = sw.IPCMemoryHandle.open(payload)  # … to another process
/// >>> sw.usm_ndarray((100,), "float64", buffer=theirs).shape
/// (100,)
///
/// IPCMemoryHandle(usm_memory): of the host, for memory that `allocate` has made or `open` has opened, or an array on it; of CUDA, for
/// any device memory or array in it; all of it. The handle keeps the memory until it is closed or gone: who opens it must have done
/// so by then. Of the host, what is open stays, also when the process that made the memory ends, however it does. The system has the
/// memory until nobody has it any more; nothing of it is left over. Device memory is that process's: it must keep the memory until the
/// others are done with it.
///
/// The processes read and write the same bytes; to keep them from doing so at a time is theirs. Raises ValueError for other
/// memory, TypeError for what is no memory.
#[pyclass(name = "IPCMemoryHandle", module = "stridewise", frozen)]
pub(crate) struct PyIpcMemoryHandle {
    handle: IpcHandle,
    kept: Mutex<Kept>,
}

/// What a handle has of the memory.
enum Kept {
    Memory(#[allow(dead_code, reason = "it is kept")] UsmMemory),
    /// Nothing, as it came from another process.
    Nothing,
    Closed,
}

#[pymethods]
impl PyIpcMemoryHandle {
    #[new]
    #[pyo3(signature = (usm_memory))]
    fn new(usm_memory: &Bound<'_, PyAny>) -> Result<Self> {
        let Some(part) = memory_of(usm_memory)? else {
            return Err(Fault::Python(PyTypeError::new_err(format!(
                "`usm_memory` is {}; expected memory that IPCMemoryHandle.allocate has made, or an array on it",
                shown(usm_memory)
            ))));
        };
        let handle = part.memory.ipc_handle()?;
        Ok(Self { handle, kept: Mutex::new(Kept::Memory(part.memory)) })
    }

    /// New memory of zeros that other processes can open: shared memory of the host's device, device memory of CUDA's.
    ///
    /// nbytes: how much. device: a Device, a Queue or a filter string, of the host unless named; queue: a Queue. Raises ValueError for less
    /// than one byte, MemoryError, NotImplementedError for another device and where `is_available()` is False.
    #[staticmethod]
    #[pyo3(signature = (nbytes, *, device=None, queue=None))]
    fn allocate(
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::whole)] nbytes: isize,
        device: Option<&Bound<'_, PyAny>>,
        queue: Option<&Bound<'_, PyAny>>,
    ) -> Result<Py<PyAny>> {
        let Ok(bytes) = usize::try_from(nbytes) else {
            return Err(Fault::Python(PyValueError::new_err(format!(
                "`nbytes` is {nbytes}; expected at least one byte"
            ))));
        };
        let queue = match named_queue(device, None, queue)? {
            Some(queue) => queue,
            None => host_queue()?,
        };
        let memory = py.detach(|| UsmMemory::interprocess(bytes, &queue))?;
        Ok(memory::object(py, memory)?)
    }

    /// The memory of a handle's bytes.
    ///
    /// handle_bytes: what `to_bytes` gave, here or in another process. device: a Device, a Queue or a filter string of the device that
    /// the memory is of; without it the host or the default device. nbytes: where it is named, the bytes that the memory must have. Raises ValueError for bytes that are no handle
    /// and for another size; OSError for a handle whose memory is not there any more, or somebody else's;
    /// NotImplementedError for another device.
    #[staticmethod]
    #[pyo3(signature = (handle_bytes, device=None, nbytes=None))]
    fn open(
        py: Python<'_>,
        handle_bytes: &[u8],
        device: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = arguments::optional_whole)] nbytes: Option<u64>,
    ) -> Result<Py<PyAny>> {
        let handle = IpcHandle::from_bytes(handle_bytes)?;
        if let Some(nbytes) = nbytes.filter(|&nbytes| nbytes != handle.memory_bytes()) {
            return Err(Fault::Python(PyValueError::new_err(format!(
                "`nbytes` is {nbytes}; expected the bytes of the memory, {}; help: leave it out",
                handle.memory_bytes()
            ))));
        }
        let queue = match named_queue(device, None, None)? {
            Some(queue) => queue,
            None if handle.interprocess() == Interprocess::Driver => Queue::default_queue()?,
            None => host_queue()?,
        };
        let memory = py.detach(|| handle.open(&queue))?;
        Ok(memory::object(py, memory)?)
    }

    /// The handle, to be sent to another process.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>> {
        self.check_open()?;
        Ok(PyBytes::new(py, &self.handle.to_bytes()))
    }
    /// Bytes of the memory.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.handle.memory_bytes()
    }
    /// Whether `close` was called.
    #[getter]
    fn is_closed(&self) -> bool {
        matches!(*self.kept.lock().unwrap_or_else(PoisonError::into_inner), Kept::Closed)
    }
    /// Gives up what the handle keeps of the memory: once nothing else in this process has it, others cannot open it any
    /// more. What they have opened, they have.
    fn close(&self) {
        let kept =
            std::mem::replace(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner), Kept::Closed);
        drop(kept);
    }
    /// Whether this system has such memory: Linux has.
    #[staticmethod]
    fn is_available() -> bool {
        cfg!(target_os = "linux")
    }
    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }
    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        self.close();
    }
    /// In another process, it is a handle that keeps nothing.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Result<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let py = slf.py();
        Ok((slf.get_type().getattr("_of_bytes")?, (slf.get().to_bytes(py)?,)))
    }
    #[classmethod]
    fn _of_bytes(_class: &Bound<'_, PyType>, handle_bytes: &[u8]) -> Result<Self> {
        let handle = IpcHandle::from_bytes(handle_bytes)?;
        Ok(Self { handle, kept: Mutex::new(Kept::Nothing) })
    }
    fn __repr__(&self) -> String {
        let closed = if self.is_closed() { ", closed" } else { "" };
        format!("<IPCMemoryHandle of {:?}{closed}>", self.handle)
    }
}

impl PyIpcMemoryHandle {
    fn check_open(&self) -> Result<()> {
        match self.is_closed() {
            false => Ok(()),
            true => Err(Fault::Python(PyValueError::new_err(
                "the handle is closed; expected one that is open; help: make another one of the memory",
            ))),
        }
    }
}

/// Adds the class to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyIpcMemoryHandle>()
}
