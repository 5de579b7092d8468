//! Files: arrays over mapped ones, as NumPy's `memmap`; `.npy` files.

use std::path::{Path, PathBuf};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stridewise::{Dtype, MapMode, Queue, UsmArray, UsmKind};
use stridewise_exchange::host::host_queue;

use crate::arguments;
use crate::array::PyArray;
use crate::array::construct::shape_of;
use crate::dtype;
use crate::errors::{Fault, Result, of_file};
use crate::namespace::placement::{kind_of, named_queue, order_of, queue_of};
use crate::progress::Progress;
use crate::wait::library;

/// The queue that files are mapped on: the one that is named, or else the host's.
fn mapping_queue(
    device: Option<&Bound<'_, PyAny>>,
    sycl_queue: Option<&Bound<'_, PyAny>>,
    queue: Option<&Bound<'_, PyAny>>,
) -> Result<Queue> {
    match named_queue(device, sycl_queue, queue)? {
        Some(queue) => Ok(queue),
        None => Ok(host_queue()?),
    }
}

/// Maps a file as an array in shared memory of the host: nothing is read before it is needed, and nothing is copied.
///
/// filename: a path. dtype: of the elements in the file; None: uint8. mode: "r" reads, and the array is read-only; "c" keeps what is
/// written in memory; "r+" reads and writes a file that is there; "w+" makes a file, of zeros, in place of one that is
/// there, which arrays over it keep. offset: bytes before the first element. shape: extents, or one extent; None: one axis, with all that is behind
/// the offset. order: "C" row-major, "F" column-major. device: a Device, a Queue or a filter string; sycl_queue, queue: a
/// Queue; of the host, whose own is taken where none is named.
///
/// What is written reaches the file when the system likes, or by `flush()`. A file that has become shorter is an OSError at
/// the next use of the array; one that is cut off while it is in use, or in use by others through NumPy, ends the process.
///
/// Raises OSError for a file that cannot be opened or is shorter than that, also with "r+"; ValueError for a mode that is
/// none, an offset that is no multiple of the elements' alignment, a rest of the file that is no whole number of elements,
/// and "w+" without a shape; NotImplementedError for a queue of another device.
#[pyfunction]
#[pyo3(signature = (
    filename, dtype=None, mode="r+", offset=0, shape=None, order="C", *, device=None, sycl_queue=None, queue=None
))]
#[allow(clippy::too_many_arguments)]
fn memmap(
    py: Python<'_>,
    #[pyo3(from_py_with = arguments::path)] filename: PathBuf,
    dtype: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = arguments::text)] mode: &str,
    #[pyo3(from_py_with = arguments::whole)] offset: i64,
    shape: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = arguments::text)] order: &str,
    device: Option<&Bound<'_, PyAny>>,
    sycl_queue: Option<&Bound<'_, PyAny>>,
    queue: Option<&Bound<'_, PyAny>>,
) -> Result<PyArray> {
    let queue = mapping_queue(device, sycl_queue, queue)?;
    let dtype = dtype::optional(dtype, queue.device().dtype_support())?.unwrap_or(Dtype::U8);
    let Ok(offset) = u64::try_from(offset) else {
        return Err(Fault::Python(PyValueError::new_err(format!(
            "invalid value: `offset` is {offset}; expected 0 or more; help: name the bytes before the first element"
        ))));
    };
    let mode: MapMode = mode.parse()?;
    let shape = shape.filter(|shape| !shape.is_none()).map(shape_of).transpose()?;
    let order = order_of(order)?.named();
    let map = || UsmArray::map_file(&filename, mode, dtype, offset, shape.as_deref(), order, &queue);
    Ok(py.detach(map).map_err(Fault::Core).map_err(of_file(&filename))?.into())
}

/// About how many operations it takes to go through a file, or through so many bytes of it: what is no file on a disk, as a pipe
/// is, may take for ever.
fn operations(file: &Path, bytes: Option<usize>) -> f64 {
    const FOR_A_BYTE: f64 = 4.0;
    match std::fs::metadata(file) {
        Ok(found) if found.is_file() => bytes.map_or(found.len() as f64, |bytes| bytes as f64) * FOR_A_BYTE,
        Ok(found) if !found.is_dir() => f64::INFINITY,
        _ => bytes.unwrap_or(0) as f64 * FOR_A_BYTE,
    }
}

/// What progress of files is told of.
const BYTES: &str = "the bytes that are done and of all";

/// Reads an .npy file to an array; with mmap_mode, maps it as `memmap` does: "r", "c" or "r+".
///
/// file: a path. usm_type: "device", "shared" or "host"; None: shared where the device has such memory of its own, else
/// device. device: a Device, a Queue or a filter string; sycl_queue, queue: a Queue. Nothing is ever unpickled.
///
/// progress: a function that is called with how many bytes have been read and how many there are, a few times a second and at the
/// end. What it raises ends the call.
///
/// Raises OSError for a file that cannot be read, is no .npy file, shorter than it says, or has elements that there is no
/// dtype for; ValueError for a mode that is none, for mapped memory of another kind than shared, and for progress of mapping.
#[pyfunction]
#[pyo3(signature = (file, mmap_mode=None, *, device=None, usm_type=None, sycl_queue=None, queue=None, progress=None))]
#[allow(clippy::too_many_arguments)]
fn load(
    py: Python<'_>,
    #[pyo3(from_py_with = arguments::path)] file: PathBuf,
    #[pyo3(from_py_with = arguments::optional_text)] mmap_mode: Option<&str>,
    device: Option<&Bound<'_, PyAny>>,
    usm_type: Option<&Bound<'_, PyAny>>,
    sycl_queue: Option<&Bound<'_, PyAny>>,
    queue: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> Result<PyArray> {
    let kind = kind_of(usm_type)?;
    let progress = Progress::of(progress, BYTES)?;
    let Some(mode) = mmap_mode else {
        let queue = queue_of(device, sycl_queue, queue)?;
        let own = queue.device().default_kind();
        if let Some(mut progress) = progress {
            let tell = |done, all| progress.tell(done, all);
            let read = py.detach(|| UsmArray::load_npy_with(&file, &queue, kind.unwrap_or(own), tell));
            return Ok(progress.ended(read).map_err(of_file(&file))?.into());
        }
        let operations = operations(&file, None);
        let path = file.clone();
        let load = move |[]: [&UsmArray; 0]| UsmArray::load_npy_on(&path, &queue, kind.unwrap_or(own));
        return Ok(library(py, operations, [], load).map_err(of_file(&file))?.into());
    };
    let mode: MapMode = mode.parse()?;
    if progress.is_some() {
        return Err(Fault::Python(PyValueError::new_err(
            "invalid value: `progress` is given beside `mmap_mode`; expected one of them, as nothing is read where a file is mapped; \
             help: copy the mapped array, with `progress`",
        )));
    }
    if let Some(kind) = kind.filter(|&kind| kind != UsmKind::Shared) {
        return Err(Fault::Python(PyValueError::new_err(format!(
            "invalid value: `usm_type` is {kind}; expected \"shared\" or None with `mmap_mode`; help: leave `mmap_mode` out \
             to read the file to memory of another kind"
        ))));
    }
    let queue = mapping_queue(device, sycl_queue, queue)?;
    let mapped = py.detach(|| UsmArray::map_npy(&file, mode, &queue));
    Ok(mapped.map_err(Fault::Core).map_err(of_file(&file))?.into())
}

/// Writes an array to an .npy file, in place of what is there. As NumPy does it, a name without the ending .npy gets it. The file is
/// written beside the old one and renamed over it when it is whole: a failure leaves what was there, and arrays that are mapped of
/// it keep their elements.
///
/// file: a path. progress: a function that is called with how many bytes have been written and how many there are, a few times a second
/// and at the end, before the file is in its place. What it raises ends the call, and what was there stays. Raises TypeError for
/// bfloat16, which such files lack; OSError where the file cannot be written, or is mapped by an array whose changes go to it, with
/// "r+" or "w+".
#[pyfunction]
#[pyo3(signature = (file, arr, *, progress=None))]
fn save(
    py: Python<'_>,
    #[pyo3(from_py_with = arguments::path)] file: PathBuf,
    #[pyo3(from_py_with = arguments::ours)] arr: PyRef<'_, PyArray>,
    progress: Option<&Bound<'_, PyAny>>,
) -> Result<()> {
    let mut file = file.into_os_string();
    if !file.as_encoded_bytes().ends_with(b".npy") {
        file.push(".npy");
    }
    let array: &UsmArray = &arr.array();
    if let Some(mut progress) = Progress::of(progress, BYTES)? {
        let written = py.detach(|| array.save_npy_with(&file, |done, all| progress.tell(done, all)));
        return progress.ended(written).map_err(of_file(file.as_ref()));
    }
    let operations = operations(file.as_ref(), Some(array.bytes()));
    let path = file.clone();
    let saved = library(py, operations, [array], move |[array]: [&UsmArray; 1]| array.save_npy(&path));
    saved.map_err(of_file(file.as_ref()))
}

#[pymethods]
impl PyArray {
    /// Writes what was changed in an array over a mapped file (`memmap`) to the file, and returns when it is there. With the
    /// modes "r" and "c", nothing is written. Raises ValueError for an array that is over no file, OSError where the file
    /// cannot be written.
    fn flush(&self, py: Python<'_>) -> Result<()> {
        let array = &self.array();
        Ok(py.detach(|| array.flush_file())?)
    }
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(memmap, module)?)?;
    module.add_function(wrap_pyfunction!(load, module)?)?;
    module.add_function(wrap_pyfunction!(save, module)?)
}
