//! DLPack: `__dlpack__`, `__dlpack_device__` and `from_dlpack`. The structures and their rules are those of
//! `stridewise-exchange`; here are the capsules that they travel in.

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use pyo3::exceptions::{PyAttributeError, PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use stridewise::{Error, Queue, UsmArray};
use stridewise_exchange::dlpack::{
    self, DL_CPU, DL_CUDA, DL_CUDA_MANAGED, DLDevice, DLManagedTensor, DLManagedTensorVersioned,
    ManagedTensor, VERSION, When, give_back,
};
use stridewise_exchange::host::{host_queue, visible_copy};

use super::{Request, refusal, working_queue};
use crate::arguments;
use crate::array::PyArray;
use crate::errors::{Fault, Result, shown};
use crate::namespace::creation::on_queue;
use crate::namespace::placement::named_queue;

/// A managed tensor in a capsule.
trait Form: ManagedTensor {
    /// The capsule's name while nobody has taken the tensor.
    const NAME: &'static CStr;
    /// The capsule's name afterwards.
    const USED: &'static CStr;
}
impl Form for DLManagedTensor {
    const NAME: &'static CStr = c"dltensor";
    const USED: &'static CStr = c"used_dltensor";
}
impl Form for DLManagedTensorVersioned {
    const NAME: &'static CStr = c"dltensor_versioned";
    const USED: &'static CStr = c"used_dltensor_versioned";
}

/// Puts an array into a capsule, for a device that its memory can be exported for.
fn capsule<M: Form>(
    py: Python<'_>,
    array: &UsmArray,
    copied: bool,
    (device, when): (DLDevice, When),
) -> Result<Py<PyAny>> {
    // May wait for the work on the array. The address travels between threads as a number would; it is used here only.
    let export = || {
        // SAFETY: by the protocol, a stream that a consumer names is there, of the array's device.
        unsafe { dlpack::export_for::<M>(array, copied, device, when) }.map(Tensor::new)
    };
    let tensor = py.detach(export).map_err(refusal)?;
    let tensor = tensor.0;
    // SAFETY: the interpreter's lock is held; the name is static, and the destructor takes what the capsule holds.
    let capsule = unsafe { ffi::PyCapsule_New(tensor.cast(), M::NAME.as_ptr(), Some(destroy::<M>)) };
    if capsule.is_null() {
        // SAFETY: exported above, and in no capsule.
        unsafe { give_back(tensor) };
        return Err(PyErr::fetch(py).into());
    }
    // SAFETY: a new reference, not null.
    Ok(unsafe { Bound::from_owned_ptr(py, capsule) }.unbind())
}

/// A tensor's address, which goes between the parts of a function that hold the interpreter's lock and those that do not.
struct Tensor<M>(*mut M);

// SAFETY: only an address; who follows it owns the tensor, and says so there.
unsafe impl<M> Send for Tensor<M> {}
// SAFETY: as for `Send`.
unsafe impl<M> Sync for Tensor<M> {}

impl<M> Tensor<M> {
    fn new(tensor: NonNull<M>) -> Self {
        Self(tensor.as_ptr())
    }
    fn get(&self) -> *mut M {
        self.0
    }
}

/// Gives back a tensor that nobody has taken.
unsafe extern "C" fn destroy<M: Form>(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter hands in the capsule that it destroys. A name of our own says what is in it; neither call
    // raises then, so an exception that is under way stays.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) == 1 {
            let tensor: *mut c_void = ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr());
            give_back(tensor.cast::<M>());
        }
    }
}

/// Takes the tensor out of a capsule; `None` where the capsule is for the other form.
fn take<M: Form>(capsule: &Bound<'_, PyAny>, queue: &Queue) -> Result<Option<UsmArray>> {
    let raw = capsule.as_ptr();
    // SAFETY: the interpreter's lock is held, and any object may be asked whether it is such a capsule.
    if unsafe { ffi::PyCapsule_IsValid(raw, M::NAME.as_ptr()) } == 0 {
        return Ok(None);
    }
    // SAFETY: valid, so it holds a pointer under this name, and may be renamed; names are static. With the new name nobody
    // else takes the tensor, nor does the capsule's destructor.
    let tensor = unsafe {
        let tensor = Tensor(ffi::PyCapsule_GetPointer(raw, M::NAME.as_ptr()).cast::<M>());
        if ffi::PyCapsule_SetName(raw, M::USED.as_ptr()) != 0 {
            return Err(PyErr::fetch(capsule.py()).into());
        }
        tensor
    };
    // SAFETY: what a capsule of this name holds is a managed tensor, as the protocol has it, which now is ours.
    let imported = capsule.py().detach(|| unsafe { dlpack::import(tensor.get(), queue) });
    imported.map(Some).map_err(|error| {
        // The tensor is not ours then: its capsule gives it back.
        // SAFETY: as above.
        unsafe { ffi::PyCapsule_SetName(raw, M::NAME.as_ptr()) };
        refusal(error)
    })
}

/// Takes the tensor out of a capsule of either form.
fn unwrap(capsule: &Bound<'_, PyAny>, queue: &Queue) -> Result<UsmArray> {
    if let Some(array) = take::<DLManagedTensorVersioned>(capsule, queue)? {
        return Ok(array);
    }
    if let Some(array) = take::<DLManagedTensor>(capsule, queue)? {
        return Ok(array);
    }
    let used = [DLManagedTensor::USED, DLManagedTensorVersioned::USED].into_iter().any(|name| {
        // SAFETY: as in `take`.
        unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) == 1 }
    });
    Err(Fault::Python(if used {
        PyValueError::new_err("the DLPack capsule was used already; help: export another one with __dlpack__")
    } else {
        PyTypeError::new_err(format!(
            "__dlpack__ returned {}; expected a capsule named \"dltensor_versioned\" or \"dltensor\"",
            shown(capsule)
        ))
    }))
}

/// The queue that works on memory as `__dlpack_device__` names it: the one that is asked for where it does, else that of the device;
/// `None` where nobody here does.
fn queue_for(device: (i64, i64), asked: Option<&Queue>) -> Result<Option<Queue>> {
    let (Ok(device_type), Ok(device_id)) = (i32::try_from(device.0), i32::try_from(device.1)) else {
        return Ok(None);
    };
    if device_type == DL_CPU {
        return working_queue(asked).map(Some);
    }
    let found = dlpack::queue_of(DLDevice { device_type, device_id })?;
    Ok(found.map(|found| match asked {
        Some(asked) if asked.device() == found.device() => asked.clone(),
        _ => found,
    }))
}

/// The array that an object with `__dlpack__` is, in place where it is in memory that a device here works on, which is the
/// processor's and that of devices which others know.
fn receive(object: &Bound<'_, PyAny>, asked: Option<&Queue>, copy: Option<bool>) -> Result<UsmArray> {
    let py = object.py();
    let queue = queue_for(object.call_method0("__dlpack_device__")?.extract()?, asked)?;
    let elsewhere = queue.is_none();
    let queue = queue.map_or_else(|| working_queue(asked), Ok)?;
    let options = PyDict::new(py);
    // Our work waits for this stream's, which that of the other library is to be before.
    let stream = queue.device().capabilities().exchange_stream;
    if let Some(stream) = stream {
        options.set_item("stream", stream)?;
    }
    let plain = options.copy()?;
    options.set_item("max_version", (VERSION.major, VERSION.minor))?;
    if elsewhere {
        options.set_item("dl_device", (DL_CPU, 0))?;
    }
    if copy == Some(false) {
        options.set_item("copy", false)?;
    }
    let export = object.getattr("__dlpack__")?;
    let capsule = match export.call((), Some(&options)) {
        // Libraries from before DLPack 1.0 take no such arguments, and never copy.
        Err(error) if !elsewhere && error.is_instance_of::<PyTypeError>(py) => {
            export.call((), Some(&plain))?
        }
        other => other?,
    };
    let array = unwrap(&capsule, &queue)?;
    if copy == Some(true) && !elsewhere { Ok(py.detach(|| array.copy())?) } else { Ok(array) }
}

/// The protocol, for `asarray`.
pub(super) fn import(object: &Bound<'_, PyAny>, request: &Request<'_>) -> Result<Option<UsmArray>> {
    if !(object.hasattr("__dlpack__")? && object.hasattr("__dlpack_device__")?) {
        return Ok(None);
    }
    match receive(object, request.queue, request.copy.filter(|&copy| !copy)) {
        Ok(array) => Ok(Some(array)),
        Err(fault) => {
            // What the other side does not export so, or not where an array may be, it may describe otherwise.
            let otherwise = match &fault {
                Fault::Python(error) => error.is_instance_of::<PyBufferError>(object.py()),
                Fault::Core(Error::Value(_) | Error::Unsupported(_)) => request.copy != Some(false),
                Fault::Core(_) => false,
            };
            let described = || {
                ["__cuda_array_interface__", "__array_interface__"]
                    .into_iter()
                    .try_fold(false, |found, name| Ok::<_, PyErr>(found || object.hasattr(name)?))
            };
            if otherwise && described()? || super::arrow::is_asked_after(&fault, object)? {
                Ok(None)
            } else {
                Err(fault)
            }
        }
    }
}

/// An array from one of another library, or from one of ours, through DLPack: it shares the memory where that is the
/// processor's, a CUDA device's or this library's. What others gave CUDA's default stream is over before work here begins.
///
/// x: an object with `__dlpack__` and `__dlpack_device__`. device: a Device, a Queue, a filter string, or a tuple as
/// `__dlpack_device__` gives it, (1, 0) for memory of the processor; None: where x is.
/// copy: True: always; False: never; None: where it must be.
///
/// An array in the form from before DLPack 1.0, which cannot say that it may be written, is read-only.
///
/// Raises BufferError where the other library does not export the array, or not without a copy, AttributeError where x does not
/// follow the protocol, ValueError where the tensor says what cannot be.
#[pyfunction]
#[pyo3(signature = (x, /, *, device=None, copy=None))]
fn from_dlpack(
    x: &Bound<'_, PyAny>,
    device: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = arguments::optional_flag)] copy: Option<bool>,
) -> Result<PyArray> {
    let py = x.py();
    let queue = match device.and_then(|device| device.cast::<PyTuple>().ok()) {
        None => named_queue(device, None, None)?,
        Some(named) if named.extract::<(i64, i64)>().is_ok_and(|named| named == (i64::from(DL_CPU), 0)) => {
            // Ours stay where they are if the processor's memory is there.
            let there =
                x.cast::<PyArray>().ok().is_some_and(|x| dlpack::device_of(&x.get().array()).is_err());
            there.then(host_queue).transpose()?
        }
        Some(named) => {
            return Err(Fault::Python(PyBufferError::new_err(format!(
                "`device` is {}; expected (1, 0), the processor, or a Device, a Queue or a filter string",
                shown(named)
            ))));
        }
    };
    let (array, fresh) = match x.cast::<PyArray>() {
        Ok(array) => (array.get().array().clone(), false),
        Err(_) if x.hasattr("__dlpack__")? && x.hasattr("__dlpack_device__")? => {
            (receive(x, queue.as_ref(), copy)?, true)
        }
        Err(_) => {
            return Err(Fault::Python(PyAttributeError::new_err(format!(
                "`x` is {}; expected an array with __dlpack__ and __dlpack_device__; help: use asarray for other objects",
                shown(&x.get_type())
            ))));
        }
    };
    let moved = queue.as_ref().is_some_and(|queue| queue.context() != array.context());
    if moved && copy == Some(false) {
        return Err(Fault::Python(PyBufferError::new_err(
            "`copy` is False, but the array is not in the context of `device`; expected None or True; help: leave \
             `device` out",
        )));
    }
    let placed = py.detach(|| -> stridewise::Result<UsmArray> {
        let here = if copy == Some(true) && !fresh && !moved { array.copy()? } else { array };
        queue.map_or(Ok(here.clone()), |queue| on_queue(&here, &queue))
    })?;
    Ok(placed.into())
}

/// When a consumer may use what is exported for a device, by the stream that it names: of CUDA's memory -1 says that it sees to the
/// order, `None` is the legacy default stream (1), and others are handles; the processor has none.
fn when(stream: Option<&Bound<'_, PyAny>>, device: DLDevice) -> Result<When> {
    let stream = stream.filter(|stream| !stream.is_none());
    let wrong = |expected: &str| {
        let found = stream.map_or_else(|| "None".to_owned(), shown);
        Err(Fault::Python(PyValueError::new_err(format!("`stream` is {found}; expected {expected}"))))
    };
    match (device.device_type, stream) {
        (DL_CUDA | DL_CUDA_MANAGED, None) => Ok(When::InStream(1)),
        (DL_CUDA | DL_CUDA_MANAGED, Some(given)) => match given.extract::<i64>() {
            Ok(-1) => Ok(When::Unordered),
            Ok(number) if number > 0 => match usize::try_from(number) {
                Ok(number) => Ok(When::InStream(number)),
                Err(_) => wrong("the handle of a stream"),
            },
            _ => wrong(
                "None, -1, 1 for the legacy default stream, 2 for that of the thread, or a stream's handle",
            ),
        },
        (_, None) => Ok(When::Now),
        (_, Some(_)) => wrong("None, for the processor has no streams"),
    }
}

/// What an argument of `__dlpack__` asks for.
fn refuse<T>(text: &'static str) -> Result<T> {
    Err(Fault::Python(PyBufferError::new_err(text)))
}

#[pymethods]
impl PyArray {
    /// The array as a DLPack capsule, for other libraries: it shares the memory, and work on it is done.
    ///
    /// stream: of memory of the processor None; of a CUDA device's the stream that is to wait for work on it, 1 or None for the legacy
    /// default stream, -1 for none. max_version: the newest DLPack that the consumer knows; None: before 1.0. dl_device: (1, 0), the
    /// processor, or one that the memory is of as it is: of arrays on a CUDA device, (2, number) of any kind, (3, number) of "host" and
    /// (13, number) of "shared". copy: True: always; False: never; None: where the host may not touch the memory and dl_device asks for
    /// the processor.
    ///
    /// Raises BufferError for memory of kind "device" without dl_device or copy, and for read-only arrays before DLPack
    /// 1.0.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__(
        &self,
        py: Python<'_>,
        stream: Option<&Bound<'_, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i64, i64)>,
        #[pyo3(from_py_with = arguments::optional_flag)] copy: Option<bool>,
    ) -> Result<Py<PyAny>> {
        let array = &self.array();
        let here = dlpack::device_of(array);
        let number = |device: &DLDevice| (i64::from(device.device_type), i64::from(device.device_id));
        const PROCESSOR: DLDevice = DLDevice { device_type: DL_CPU, device_id: 0 };
        let all = dlpack::devices_of(array);
        let wanted = match (dl_device, &here) {
            (None, Ok(here)) => *here,
            // A copy is one that the host may touch.
            (None, Err(_)) if copy == Some(true) => PROCESSOR,
            (None, Err(error)) => return Err(refusal(error.clone())),
            (Some(device), _) => match all.iter().find(|known| number(known) == device) {
                Some(known) => *known,
                None if device == number(&PROCESSOR) => PROCESSOR,
                None => {
                    return refuse(
                        "`dl_device` is another device; expected (1, 0), the processor, where the array is, or None",
                    );
                }
            },
        };
        let when = when(stream, wanted)?;
        let is_there = all.contains(&wanted);
        let fresh = match copy {
            Some(true) => true,
            None => !is_there,
            Some(false) if is_there => false,
            Some(false) => {
                return refuse(
                    "`copy` is False; expected None or True, as the array is not in the processor's memory; help: make it with \
                     usm_type=\"shared\" or \"host\"",
                );
            }
        };
        let copied = match fresh {
            false => None,
            true if is_there && wanted != PROCESSOR => Some(py.detach(|| array.copy())?),
            true => Some(py.detach(|| visible_copy(array))?),
        };
        let array = copied.as_ref().unwrap_or(array);
        match max_version {
            Some((major, _)) if major >= VERSION.major => {
                capsule::<DLManagedTensorVersioned>(py, array, fresh, (wanted, when))
            }
            _ => capsule::<DLManagedTensor>(py, array, fresh, (wanted, when)),
        }
    }

    /// The device of the array's memory in DLPack's numbers: (1, 0), the processor. Raises BufferError for memory that the
    /// host may not touch.
    fn __dlpack_device__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyTuple>> {
        let device = dlpack::device_of(&self.array()).map_err(refusal)?;
        Ok(PyTuple::new(py, [device.device_type, device.device_id])?)
    }
}

/// Adds the function to the module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(from_dlpack, module)?)
}
