//! USM memory as Python objects: one class per kind, and what they share.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use stridewise::{UsmKind, UsmMemory};

use crate::errors::Result;
use crate::namespace::placement::queue_of;
use crate::runtime::context::PyContext;
use crate::runtime::device::PyDevice;
use crate::runtime::queue::PyQueue;

/// What memory of every kind has. Make memory with MemoryUSMHost, MemoryUSMDevice or MemoryUSMShared.
#[pyclass(name = "_Memory", module = "stridewise", frozen, subclass)]
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
    /// The address, as a number.
    #[getter]
    fn _pointer(&self) -> usize {
        self.0.ptr().addr()
    }
    /// The queue that works on this memory by default.
    #[getter]
    fn sycl_queue(&self) -> PyQueue {
        PyQueue(self.0.queue().clone())
    }
    /// The context that the memory is bound to.
    #[getter]
    fn sycl_context(&self) -> PyContext {
        PyContext(self.0.context().clone())
    }
    /// The device that the memory belongs to.
    #[getter]
    fn sycl_device(&self) -> PyDevice {
        PyDevice(self.0.device().clone())
    }
    /// "host", "device" or "shared".
    fn get_usm_type(&self) -> &'static str {
        self.0.kind().name()
    }
    /// All bytes, after the work on them.
    fn tobytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.to_bytes())?;
        Ok(PyBytes::new(py, &bytes))
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
}

macro_rules! kinds {
    ($($Class:ident $name:literal $Kind:ident $who:literal;)*) => {
        $(
            #[doc = concat!(
                "USM memory of kind ", $who, ".\n\n",
                $name, "(nbytes, alignment=0, queue=None): new memory with arbitrary contents, at a multiple of ",
                "`alignment` bytes (0: 64), associated with a queue (by default the default device's)."
            )]
            #[pyclass(name = $name, module = "stridewise", frozen, extends = PyMemory)]
            pub(crate) struct $Class;

            #[pymethods]
            impl $Class {
                #[new]
                #[pyo3(signature = (nbytes, alignment=0, queue=None))]
                fn new(
                    py: Python<'_>,
                    nbytes: usize,
                    alignment: usize,
                    queue: Option<&Bound<'_, PyAny>>,
                ) -> Result<PyClassInitializer<Self>> {
                    let queue = queue_of(None, queue, None)?;
                    let memory = py.detach(|| match alignment {
                        0 => UsmMemory::new(UsmKind::$Kind, nbytes, &queue),
                        _ => UsmMemory::aligned(UsmKind::$Kind, nbytes, alignment, &queue),
                    })?;
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

        /// Adds the classes to the module.
        pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            module.add_class::<PyMemory>()?;
            $(module.add_class::<$Class>()?;)*
            Ok(())
        }
    };
}
kinds! {
    PyMemoryUsmHost "MemoryUSMHost" Host "host: it lives on the host, and host and device may touch it";
    PyMemoryUsmDevice "MemoryUSMDevice" Device "device: only the device may touch it";
    PyMemoryUsmShared "MemoryUSMShared" Shared "shared: host and device may touch it, and the runtime moves it";
}
