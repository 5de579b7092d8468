//! Kernels from sources, OpenCL C and SPIR-V: bundles, kernels, and what only they take as arguments. The names are dpctl's.

use pyo3::exceptions::{PyBufferError, PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView, PyTuple};
use stridewise::kernel::{KernelBundle, NdRange, SourceArgument, SourceKernel};
use stridewise::memory::heap;
use stridewise::{Dtype, DtypeSupport, Event, Queue, Scalar, UsmArray, Weak, backend::Dims};

use super::range::{self, PyLocalAccessor};
use crate::arguments;
use crate::array::construct::shape_of;
use crate::array::operand::{self, Operand};
use crate::array::{Now, PyArray};
use crate::dtype;
use crate::errors::{Fault, Result, shown};
use crate::memory::{Part, PyMemory, memory_of};
use crate::protocol::{self, Request};
use crate::runtime::device::PyDevice;
use crate::runtime::event::PyEvent;
use crate::runtime::queue::queue_argument;

/// The kernels of one source, compiled for one device.
#[pyclass(name = "KernelBundle", module = "stridewise.program", frozen)]
pub(crate) struct PyKernelBundle(KernelBundle);

#[pymethods]
impl PyKernelBundle {
    /// Whether there is a kernel of a name.
    fn has_kernel(&self, #[pyo3(from_py_with = arguments::text)] kernel_name: &str) -> bool {
        self.0.has_kernel(kernel_name)
    }
    /// Whether there is a kernel of a name.
    fn has_sycl_kernel(&self, #[pyo3(from_py_with = arguments::text)] kernel_name: &str) -> bool {
        self.0.has_kernel(kernel_name)
    }
    /// The kernel of a name. Raises ValueError where there is none.
    fn get_kernel(
        &self,
        #[pyo3(from_py_with = arguments::text)] kernel_name: &str,
    ) -> Result<PySourceKernel> {
        Ok(PySourceKernel(self.0.kernel(kernel_name)?))
    }
    /// As `get_kernel`.
    fn get_sycl_kernel(
        &self,
        #[pyo3(from_py_with = arguments::text)] kernel_name: &str,
    ) -> Result<PySourceKernel> {
        self.get_kernel(kernel_name)
    }
    /// The names of the kernels.
    #[getter]
    fn kernel_names(&self) -> Vec<&str> {
        self.0.kernel_names().collect()
    }
    /// The device that the kernels were compiled for.
    #[getter]
    fn sycl_device(&self) -> PyDevice {
        self.0.device().clone().into()
    }
    fn __repr__(&self) -> String {
        format!("<{:?}>", self.0)
    }
}

/// A kernel of a KernelBundle, for `Queue.submit`. What it does with its arguments, nobody checks: it must access no memory
/// but theirs, within their bounds, and end.
#[pyclass(name = "SourceKernel", module = "stridewise.program", frozen)]
pub(crate) struct PySourceKernel(SourceKernel);

#[pymethods]
impl PySourceKernel {
    /// The function's name.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }
    /// The function's name.
    fn get_function_name(&self) -> &str {
        self.0.name()
    }
    /// Number of parameters.
    #[getter(num_args)]
    fn args(&self) -> usize {
        self.0.info().num_args
    }
    /// Number of parameters.
    #[getter]
    fn num_arguments(&self) -> usize {
        self.args()
    }
    /// Number of parameters.
    fn get_num_args(&self) -> usize {
        self.args()
    }
    /// Items of a group at most.
    #[getter]
    fn work_group_size(&self) -> usize {
        self.0.info().work_group_size
    }
    /// A number of which the items of a group are a multiple, best.
    #[getter]
    fn preferred_work_group_size_multiple(&self) -> usize {
        self.0.info().preferred_work_group_size_multiple
    }
    /// The extents of a group that the source demands, or None.
    #[getter]
    fn compile_work_group_size<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.0.info().compile_work_group_size.map(|extents| PyTuple::new(py, extents)).transpose()
    }
    /// Bytes of private memory that an item needs at least.
    #[getter]
    fn private_mem_size(&self) -> u64 {
        self.0.info().private_mem_size
    }
    /// Bytes of local memory that a group needs, without what arguments add.
    #[getter]
    fn local_mem_size(&self) -> u64 {
        self.0.info().local_mem_size
    }
    /// Sub-groups of a group at most; 0 where the runtime does not say.
    #[getter]
    fn max_num_sub_groups(&self) -> usize {
        self.0.info().max_num_sub_groups
    }
    /// Items of a sub-group at most; 0 where the runtime does not say.
    #[getter]
    fn max_sub_group_size(&self) -> usize {
        self.0.info().max_sub_group_size
    }
    /// Sub-groups of a group that the source demands, or 0.
    #[getter]
    fn compile_num_sub_groups(&self) -> usize {
        self.0.info().compile_num_sub_groups
    }
    /// Items of a sub-group that the source demands, or 0.
    #[getter]
    fn compile_sub_group_size(&self) -> usize {
        self.0.info().compile_sub_group_size
    }
    /// The device that the kernel was compiled for.
    #[getter]
    fn sycl_device(&self) -> PyDevice {
        self.0.device().clone().into()
    }
    fn __repr__(&self) -> String {
        format!("<{:?}>", self.0)
    }
}

/// Memory that the items of each group share, as an argument of a kernel from a source: LocalAccessor(dtype, shape), of one
/// to three extents. Undefined until it is written.
///
/// Raises ValueError for another number of extents or a negative one, TypeError for what is no dtype.
#[pyclass(name = "LocalAccessor", module = "stridewise", frozen)]
pub(crate) struct PyLocalArgument {
    dtype: Dtype,
    shape: Dims,
}

#[pymethods]
impl PyLocalArgument {
    #[new]
    fn new(dtype: &Bound<'_, PyAny>, shape: &Bound<'_, PyAny>) -> Result<Self> {
        let shape = shape_of(shape)?;
        if !(1..=3).contains(&shape.len()) {
            return Err(Fault::Python(PyValueError::new_err(format!(
                "`shape` has {} extents; expected 1 to 3; help: fold further axes into one of these",
                shape.len()
            ))));
        }
        Ok(Self { dtype: dtype::extract(dtype, DtypeSupport::ALL)?, shape })
    }
    fn __repr__(&self) -> String {
        format!("LocalAccessor({}, {:?})", self.dtype, self.shape.as_slice())
    }
}

/// Memory that the items of each group share, as an argument of a kernel from a source: WorkGroupMemory(nbytes), or
/// WorkGroupMemory(dtype, count). Undefined until it is written.
///
/// Raises TypeError for what is no integer or dtype.
#[pyclass(name = "WorkGroupMemory", module = "stridewise", frozen)]
pub(crate) struct PyWorkGroupMemory(usize);

#[pymethods]
impl PyWorkGroupMemory {
    #[new]
    #[pyo3(signature = (*args))]
    fn new(args: &Bound<'_, PyTuple>) -> Result<Self> {
        match &args.iter().collect::<Vec<_>>()[..] {
            [nbytes] => {
                let named = |error| arguments::named(nbytes.py(), "nbytes", error);
                Ok(Self(arguments::whole(nbytes).map_err(named)?))
            }
            [dtype, count] => {
                let named = |error| arguments::named(count.py(), "count", error);
                let count = arguments::whole(count).map_err(named)?;
                Ok(Self(bytes_of(dtype::extract(dtype, DtypeSupport::ALL)?, &[count])?))
            }
            _ => Err(Fault::Python(PyTypeError::new_err(format!(
                "WorkGroupMemory was given {} arguments; expected a number of bytes, or a dtype and a number of elements",
                args.len()
            )))),
        }
    }
    /// Whether there is such memory: always.
    #[staticmethod]
    fn is_available() -> bool {
        true
    }
    /// Bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0
    }
    fn __repr__(&self) -> String {
        format!("WorkGroupMemory({})", self.0)
    }
}

/// A value of any type, such as a structure, as an argument of a kernel from a source: RawKernelArg(buffer) copies the bytes
/// of an object with a contiguous buffer.
///
/// Raises TypeError for an object without a buffer, BufferError for one that is not contiguous.
#[pyclass(name = "RawKernelArg", module = "stridewise", frozen)]
pub(crate) struct PyRawKernelArg(Vec<u8>);

#[pymethods]
impl PyRawKernelArg {
    #[new]
    fn new(buffer: &Bound<'_, PyAny>) -> Result<Self> {
        let named = |error: Fault| arguments::named(buffer.py(), "buffer", error.into());
        Ok(Self(bytes(&view(buffer).map_err(named)?)?))
    }
    /// Whether there are such arguments: always.
    #[staticmethod]
    fn is_available() -> bool {
        true
    }
    fn __repr__(&self) -> String {
        format!("RawKernelArg({} bytes)", self.0.len())
    }
}

/// An array or USM memory that a kernel from a source only reads, though its parameter does not say so: ReadOnly(x).
#[pyclass(name = "ReadOnly", module = "stridewise.program", frozen)]
pub(crate) struct PyReadOnly(Py<PyAny>);

#[pymethods]
impl PyReadOnly {
    #[new]
    fn new(x: Py<PyAny>) -> Self {
        Self(x)
    }
}

fn bytes_of(dtype: Dtype, shape: &[usize]) -> Result<usize> {
    let bytes = shape.iter().try_fold(dtype.size(), |bytes, &extent| bytes.checked_mul(extent));
    bytes.ok_or_else(|| {
        Fault::Core(stridewise::Error::overflow(
            "local memory",
            format!("{shape:?} elements of {dtype}"),
            "a number of bytes that fits the address space",
            "use less",
        ))
    })
}

/// A view of an object's buffer; of what ctypes has, too, whose buffers have no shape.
fn view<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyMemoryView>> {
    Ok(PyMemoryView::from(object).map_err(|error| {
        // An array of ours may have to be computed first.
        match error.is_instance_of::<PyMemoryError>(object.py()) {
            true => error,
            false => arguments::wrong(
                object,
                "an object with a buffer, such as bytes, a structure of ctypes or an array",
            ),
        }
    })?)
}

/// A copy of a buffer's bytes.
fn bytes(view: &Bound<'_, PyMemoryView>) -> Result<Vec<u8>> {
    if !view.getattr("c_contiguous")?.is_truthy()? {
        return Err(Fault::Python(PyBufferError::new_err(
            "`buffer` is not contiguous; expected bytes one after another; help: copy it first",
        )));
    }
    let copy = view.call_method0("tobytes")?;
    Ok(heap::collect("bytes", copy.cast::<PyBytes>()?.as_bytes().iter().copied())?)
}

/// An argument, as it was given.
enum Given<'py> {
    Array(Now<PyRef<'py, PyArray>>),
    Foreign(UsmArray),
    Memory(Part),
    Number(Weak),
    Scalar(Scalar),
    Bytes(Vec<u8>),
    Local(usize),
    ReadOnly(Box<Self>),
}

impl Given<'_> {
    fn get(&self, read_only: bool) -> SourceArgument<'_> {
        match self {
            Self::Array(array) => SourceArgument::Array { array, read_only },
            Self::Foreign(array) => SourceArgument::Array { array, read_only },
            Self::Memory(Part { memory, offset, bytes }) => {
                SourceArgument::Memory { memory, offset: *offset, bytes: *bytes, read_only }
            }
            Self::Number(number) => SourceArgument::Weak(*number),
            Self::Scalar(scalar) => SourceArgument::Scalar(*scalar),
            Self::Bytes(bytes) => SourceArgument::Bytes(bytes),
            Self::Local(bytes) => SourceArgument::Local(*bytes),
            Self::ReadOnly(given) => given.get(true),
        }
    }
}

/// The dtype of a number of ctypes': the letters of its sizes are those of C here, whatever stands before them.
fn dtype_of_letter(format: &str, bytes: usize) -> Option<Dtype> {
    let (signed, unsigned) =
        ([Dtype::I8, Dtype::I16, Dtype::I32, Dtype::I64], [Dtype::U8, Dtype::U16, Dtype::U32, Dtype::U64]);
    let letter = format.trim_start_matches(['<', '>', '=', '@', '!']);
    let among = |dtypes: &[Dtype]| dtypes.iter().copied().find(|dtype| dtype.size() == bytes);
    match letter {
        "b" | "c" | "h" | "i" | "l" | "q" | "n" => among(&signed),
        "B" | "H" | "I" | "L" | "Q" | "N" => among(&unsigned),
        "e" | "f" | "d" => among(&[Dtype::F16, Dtype::F32, Dtype::F64]),
        _ => None,
    }
}

fn given<'py>(argument: &Bound<'py, PyAny>) -> Result<Given<'py>> {
    if let Ok(array) = argument.cast::<PyArray>() {
        return Ok(Given::Array(Now::of(array.borrow())));
    }
    if argument.cast::<PyMemory>().is_ok()
        && let Some(part) = memory_of(argument)?
    {
        return Ok(Given::Memory(part));
    }
    if let Ok(local) = argument.cast::<PyLocalArgument>() {
        return Ok(Given::Local(bytes_of(local.get().dtype, &local.get().shape)?));
    }
    if let Ok(local) = argument.cast::<PyLocalAccessor>() {
        return Ok(Given::Local(bytes_of(local.get().dtype, &local.get().shape)?));
    }
    if let Ok(local) = argument.cast::<PyWorkGroupMemory>() {
        return Ok(Given::Local(local.get().0));
    }
    if let Ok(raw) = argument.cast::<PyRawKernelArg>() {
        return Ok(Given::Bytes(raw.get().0.clone()));
    }
    if let Ok(inner) = argument.cast::<PyReadOnly>() {
        return Ok(Given::ReadOnly(Box::new(given(inner.get().0.bind(argument.py()))?)));
    }
    if let Some(number) = operand::number(argument)? {
        return Ok(Given::Number(number));
    }
    match argument.extract::<Operand<'py>>() {
        Ok(Operand::Scalar(scalar)) => return Ok(Given::Scalar(scalar)),
        Ok(Operand::Weak(number)) => return Ok(Given::Number(number)),
        _ => {}
    }
    if let Some(array) = protocol::import_usm(argument, &Request { queue: None, copy: Some(false) })? {
        return Ok(Given::Foreign(array));
    }
    // Numbers and structures of ctypes are buffers of no dimension.
    if let Ok(buffer) = view(argument)
        && buffer.getattr("ndim")?.extract::<usize>()? == 0
    {
        let copy = bytes(&buffer)?;
        let dtype = dtype_of_letter(&buffer.getattr("format")?.extract::<String>()?, copy.len());
        return Ok(match dtype {
            Some(dtype) => {
                let mut value = [0; 16];
                value[..copy.len()].copy_from_slice(&copy);
                Given::Scalar(Scalar::from_bytes(dtype, &value))
            }
            None => Given::Bytes(copy),
        });
    }
    Err(Fault::Python(PyTypeError::new_err(format!(
        "an argument of a kernel is {}; expected an array in USM memory, USM memory, a number of Python's, NumPy's or ctypes, a \
         LocalAccessor, a WorkGroupMemory or a RawKernelArg; help: convert an array with `stridewise.asarray`",
        shown(argument)
    ))))
}

impl PySourceKernel {
    /// Submits the kernel.
    pub(crate) fn submit(
        &self,
        py: Python<'_>,
        queue: &Queue,
        space: NdRange,
        arguments: &[Bound<'_, PyAny>],
        depends: &[Event],
    ) -> Result<PyEvent> {
        let all = arguments.iter().map(given).collect::<Result<Vec<_>>>()?;
        let arguments: Vec<_> = all.iter().map(|argument| argument.get(false)).collect();
        // SAFETY: that the kernel keeps to its arguments is the caller's word, as the class says.
        let event = py.detach(|| unsafe { self.0.launch(queue, space, &arguments, depends) })?;
        Ok(PyEvent(event))
    }
}

fn queue_of(q: &Bound<'_, PyAny>) -> Result<Queue> {
    queue_argument(q)?.ok_or_else(|| {
        Fault::Python(PyTypeError::new_err(format!(
            "`q` is {}; expected a Queue; help: `Device.queue` is the one of a device",
            shown(q)
        )))
    })
}

/// Compiles a text of OpenCL C for a queue's device, with options of the OpenCL compiler such as "-D N=4".
///
/// Returns a KernelBundle. Raises CompilationError with the compiler's log, NotImplementedError where the device compiles no
/// OpenCL C, ValueError for a zero byte.
#[pyfunction]
#[pyo3(signature = (q, source, copts=""))]
fn create_kernel_bundle_from_source(
    py: Python<'_>,
    q: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = arguments::long_text)] source: &str,
    #[pyo3(from_py_with = arguments::text)] copts: &str,
) -> Result<PyKernelBundle> {
    let queue = queue_of(q)?;
    Ok(PyKernelBundle(py.detach(|| KernelBundle::from_source(&queue, source, copts))?))
}

/// Compiles a module of SPIR-V, an object with a contiguous buffer such as bytes, for a queue's device.
///
/// Returns a KernelBundle. Raises CompilationError with the compiler's log, NotImplementedError where the device takes no
/// SPIR-V, ValueError for bytes that are no module.
#[pyfunction]
#[pyo3(signature = (q, IL, copts=""))]
#[expect(non_snake_case, reason = "names of dpctl's arguments")]
fn create_kernel_bundle_from_spirv(
    py: Python<'_>,
    q: &Bound<'_, PyAny>,
    IL: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = arguments::text)] copts: &str,
) -> Result<PyKernelBundle> {
    let (queue, code) =
        (queue_of(q)?, bytes(&view(IL).map_err(|error| arguments::named(IL.py(), "IL", error.into()))?)?);
    Ok(PyKernelBundle(py.detach(|| KernelBundle::from_spirv(&queue, &code, copts))?))
}

/// The extents of a submission: those of all items and of a group.
pub(crate) fn space(global: &Bound<'_, PyAny>, local: Option<&Bound<'_, PyAny>>) -> Result<NdRange> {
    range::space(global, local).map(|(range, ..)| range)
}

/// Adds the classes and functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add_class::<PyLocalArgument>()?;
    module.add_class::<PyWorkGroupMemory>()?;
    module.add_class::<PyRawKernelArg>()?;
    // Names of `stridewise.program`, not of the package itself.
    module.add("_KernelBundle", py.get_type::<PyKernelBundle>())?;
    module.add("_SourceKernel", py.get_type::<PySourceKernel>())?;
    module.add("_ReadOnly", py.get_type::<PyReadOnly>())?;
    module.add("_from_source", wrap_pyfunction!(create_kernel_bundle_from_source, module)?)?;
    module.add("_from_spirv", wrap_pyfunction!(create_kernel_bundle_from_spirv, module)?)
}
