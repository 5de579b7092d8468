//! The array class, `usm_ndarray`: its attributes. Its other methods are in the files beside this one, one
//! `#[pymethods]` block each.

pub(crate) mod construct;
pub(crate) mod conversion;
pub(crate) mod display;
pub(crate) mod flags;
pub(crate) mod indexing;
pub(crate) mod operand;
pub(crate) mod operators;
pub(crate) mod pickle;

use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use stridewise::UsmArray;

use crate::dtype::{self, PyDtype};
use crate::errors::Result;
use crate::memory;
use crate::runtime::context::PyContext;
use crate::runtime::device::PyDevice;
use crate::runtime::event::PyEvent;
use crate::runtime::queue::PyQueue;
use flags::PyFlags;

/// An n-dimensional array in USM memory: a shape, strides and an offset in elements over an allocation, and the queue
/// that works on it. Slices are views and share memory. An elementwise result has memory only once something asks for
/// it; nobody sees the difference but in speed.
///
/// usm_ndarray(shape, dtype=None, strides=None, buffer="device", offset=None, order="C", buffer_ctor_kwargs=None)
///
/// shape: extents, or one extent. dtype: float64 where None (float32 on a device without double precision).
/// strides: elements to step per dimension, of either sign; None: contiguous in `order`. buffer: the kind of new memory
/// ("device", "shared", "host"), a Memory object, or an array, whose memory is used. offset: elements from the start of
/// the buffer to the element at multi-index zero; None: the least that keeps every element inside.
/// buffer_ctor_kwargs: {"queue": …, "alignment": bytes, "copy": bool} for new memory.
///
/// Raises ValueError where shape, strides and offset do not fit each other or the buffer (an OutOfBoundsError where they
/// reach outside it), TypeError for what is no dtype, MemoryError.
#[pyclass(name = "usm_ndarray", module = "stridewise", frozen, weakref)]
pub(crate) struct PyArray {
    /// As it was made.
    made: UsmArray,
    /// As it is, once its shape or a flag was set.
    set: OnceLock<Mutex<Arc<UsmArray>>>,
}

impl From<UsmArray> for PyArray {
    fn from(made: UsmArray) -> Self {
        Self { made, set: OnceLock::new() }
    }
}

impl PyArray {
    /// The array as it is now.
    #[inline]
    pub(crate) fn array(&self) -> Now<&Self> {
        Now::of(self)
    }

    /// Puts another view of the array in its place. Other threads compute with the one that they found.
    fn change<T>(&self, change: impl FnOnce(&UsmArray) -> Result<(UsmArray, T)>) -> Result<T> {
        let set = self.set.get_or_init(|| Mutex::new(Arc::new(self.made.clone())));
        // Of two threads that set something, the second one begins with what the first has made.
        let mut set = set.lock().unwrap_or_else(PoisonError::into_inner);
        let (array, outcome) = change(&set)?;
        *set = Arc::new(array);
        Ok(outcome)
    }
}

/// An array as it was when it was asked for: what other threads set of it meanwhile changes nothing here.
pub(crate) struct Now<O> {
    owner: O,
    set: Option<Arc<UsmArray>>,
}

impl<O: Deref<Target = PyArray>> Now<O> {
    #[inline]
    pub(crate) fn of(owner: O) -> Self {
        let current =
            |set: &Mutex<Arc<UsmArray>>| Arc::clone(&set.lock().unwrap_or_else(PoisonError::into_inner));
        let set = owner.set.get().map(current);
        Self { owner, set }
    }
}

impl<O: Deref<Target = PyArray>> Deref for Now<O> {
    type Target = UsmArray;
    #[inline]
    fn deref(&self) -> &UsmArray {
        match &self.set {
            None => &self.owner.made,
            Some(array) => array,
        }
    }
}

/// Adds the classes to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyArray>()?;
    module.add_class::<PyFlags>()?;
    module.add_class::<indexing::PyParts>()?;
    module.add_function(wrap_pyfunction!(pickle::_from_pickle, module)?)?;
    module.add_function(wrap_pyfunction!(pickle::_from_buffer, module)?)
}

#[pymethods]
impl PyArray {
    /// The extents. Can be set to another shape of as many elements that needs no copy.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.array().shape())
    }
    #[setter]
    fn set_shape(&self, shape: &Bound<'_, PyAny>) -> Result<()> {
        let shape = construct::integers("shape", shape)?;
        self.change(|array| Ok((array.reshape_view(&shape)?, ())))
    }
    /// Elements to step per dimension; signed.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.array().strides())
    }
    /// Number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.array().ndim()
    }
    /// Number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.array().len()
    }
    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.array().itemsize()
    }
    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.array().bytes()
    }
    /// The dtype of the elements.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyDtype>> {
        dtype::object(py, self.array().dtype())
    }
    /// Contiguity and writability: `flags.c_contiguous`, `flags["C"]`, `flags.writable = False`, …
    #[getter]
    fn flags(slf: Py<Self>) -> PyFlags {
        PyFlags(slf)
    }
    /// The kind of the memory: "device", "shared" or "host".
    #[getter]
    fn usm_type(&self) -> &'static str {
        self.array().usm_kind().name()
    }
    /// The memory that the array views. Recorded work is submitted first.
    #[getter]
    fn usm_data(&self, py: Python<'_>) -> Result<Py<PyAny>> {
        let data = py.detach(|| self.array().usm_data())?;
        Ok(memory::object(py, data)?)
    }
    /// The device of the array's queue, with that queue: an array that is made on it combines with this one.
    #[getter]
    fn device(&self) -> PyDevice {
        self.array().queue().into()
    }
    /// The device of the array's queue.
    #[getter]
    fn sycl_device(&self) -> PyDevice {
        self.array().queue().device().clone().into()
    }
    /// The context of the array's queue.
    #[getter]
    fn sycl_context(&self) -> PyContext {
        PyContext(self.array().context().clone())
    }
    /// The queue that works on this array.
    #[getter]
    fn sycl_queue(&self) -> PyQueue {
        PyQueue(self.array().queue().clone())
    }
    /// The queue that works on this array.
    #[getter]
    fn queue(&self) -> PyQueue {
        self.sycl_queue()
    }
    /// Elements from the start of the memory to the element at multi-index zero.
    #[getter]
    fn _element_offset(&self) -> usize {
        self.array().offset()
    }
    /// The address of the element at multi-index zero, as a number; elements of recorded work are not waited for.
    #[getter]
    fn _pointer(&self, py: Python<'_>) -> Result<usize> {
        let data = py.detach(|| self.array().usm_data())?;
        Ok(data.expose().as_ptr().expose_provenance() + self.array().offset() * self.array().itemsize())
    }

    /// Whether the array is the result of recorded work that has not been submitted.
    #[getter]
    fn _is_pending(&self) -> bool {
        self.array().is_pending()
    }

    /// The axes in reverse order: a view.
    #[getter(T)]
    fn transposed(&self) -> Self {
        self.array().t().into()
    }
    /// The last two axes exchanged: a view. Raises a ValueError with fewer than two dimensions.
    #[getter(mT)]
    fn matrix_transposed(&self) -> Result<Self> {
        Ok(self.array().matrix_transpose()?.into())
    }
    /// The real parts: a view; of an array that is not complex, the array.
    #[getter]
    fn real(&self, py: Python<'_>) -> Result<Self> {
        let array = &self.array();
        Ok(py.detach(|| array.real_view())?.into())
    }
    #[setter]
    fn set_real(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> Result<()> {
        let array = &self.array();
        let view = py.detach(|| array.real_view())?;
        indexing::assigned(&view, value)?.assign_to(py, &view)
    }
    /// The imaginary parts: a view; of an array that is not complex, zeros that cannot be written.
    #[getter]
    fn imag(&self, py: Python<'_>) -> Result<Self> {
        let array = &self.array();
        Ok(py.detach(|| array.imag_view())?.into())
    }
    #[setter]
    fn set_imag(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> Result<()> {
        let array = &self.array();
        let view = py.detach(|| array.imag_view())?;
        indexing::assigned(&view, value)?.assign_to(py, &view)
    }

    /// An event that is complete when the elements are there. Recorded work is submitted first.
    #[getter]
    fn event(&self, py: Python<'_>) -> Result<PyEvent> {
        Ok(PyEvent(py.detach(|| self.array().event())?))
    }
    /// Waits until the elements are there; raises what made the work that computes them fail.
    fn wait(&self, py: Python<'_>) -> Result<()> {
        Ok(py.detach(|| self.array().wait())?)
    }
}
