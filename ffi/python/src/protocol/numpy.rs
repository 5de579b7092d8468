//! NumPy's `__array_interface__`, both ways, and copies for and of NumPy.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyDict, PyTuple, PyType};
use stridewise::{Dtype, UsmArray};
use stridewise_exchange::host::{Strided, check_visible};
use stridewise_exchange::typestr;

use super::described::{Described, absent, typestr_of, written};
use super::{Request, taken};
use crate::arguments;
use crate::array::PyArray;
use crate::array::conversion::copied;
use crate::array::operand::Given;
use crate::errors::{Fault, Result, shown};

/// The attribute.
const NAME: &str = "__array_interface__";
/// The version of the interface that is written and read.
const VERSION: i64 = 3;

#[pymethods]
impl PyArray {
    /// NumPy's array interface, version 3: shape, typestr, data, strides in bytes. Work on the array is done. Raises
    /// AttributeError for memory that the host may not touch, and for bfloat16, which has no type string.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        let array = &self.array();
        let typestr = typestr_of(NAME, array.dtype())?;
        check_visible(array).map_err(|error| absent(NAME, error))?;
        let address = py.detach(|| array.usm_data()?.export())?.addr() + array.offset() * array.itemsize();
        let interface = written(py, array, typestr, address, VERSION)?;
        interface.set_item("descr", [("", typestr)])?;
        Ok(interface)
    }
}

/// The dtype of elements whose type string has their size alone, as the library `ml_dtypes` has them: bfloat16, by its name; `None`
/// where the string says what they are.
///
/// # Errors
/// `TypeError` for others, by their name where there is one.
fn beyond_numpy(object: &Bound<'_, PyAny>, typestr: &str) -> Result<Option<Dtype>> {
    const KINDS: &str =
        "bool, integers of 8 to 64 bits, bfloat16, floats of 16 to 64 bits or complex numbers of 64 or 128";
    let (order, size) = match typestr.split_once('V') {
        Some(parts) => parts,
        // Some of theirs call themselves floats.
        None if typestr.ends_with("f1") => ("", "1"),
        None => return Ok(None),
    };
    let native =
        matches!(order, "|" | "=") || order == if cfg!(target_endian = "little") { "<" } else { ">" };
    let dtype = object.getattr_opt("dtype")?;
    let name = dtype.as_ref().map(|dtype| dtype.getattr_opt("name")).transpose()?.flatten();
    let name = name.and_then(|name| name.extract::<String>().ok());
    if native && size == "2" && name.as_deref() == Some(Dtype::Bf16.name()) {
        return Ok(Some(Dtype::Bf16));
    }
    let found = name.unwrap_or_else(|| format!("of type string {typestr:?}"));
    Err(Fault::Python(PyTypeError::new_err(format!(
        "dtype: the elements are {found}; expected {KINDS}; help: convert them first, as x.astype(\"float32\")"
    ))))
}

/// The array that an object with `__array_interface__` is, in place where it can be.
pub(super) fn import(object: &Bound<'_, PyAny>, request: &Request<'_>) -> Result<Option<UsmArray>> {
    let Some(described) = Described::read(object, NAME, &(VERSION..=VERSION))? else { return Ok(None) };
    // Without an address, it is the buffer protocol that says where the elements are.
    let Some(data) = described.entry("data")? else { return Ok(None) };
    let (address, read_only, lent) = match data.extract::<(usize, bool)>() {
        Ok((address, read_only)) => (address, read_only, None),
        Err(_) => {
            // Elements in a buffer, one after the other from its start: as images have it.
            let read = Request { queue: None, copy: None };
            let lent = match data.cast::<PyTuple>() {
                Ok(_) => None,
                Err(_) if described.entry("strides")?.is_some() || described.entry("offset")?.is_some() => {
                    None
                }
                Err(_) => super::buffer::import(&data, &read)?,
            };
            let Some(lent) = lent else {
                let expected = "a tuple of an address and whether it is read-only, or a buffer";
                return Err(described.wrong("data", &data, expected));
            };
            let address = lent.usm_data()?.export()?.addr() + lent.offset() * lent.itemsize();
            (address, !lent.flags().writable, Some(lent))
        }
    };
    let text = described.typestr()?;
    let (dtype, swapped) = match beyond_numpy(object, &text)? {
        Some(dtype) => (dtype, false),
        None if request.copy == Some(false) => (typestr::dtype_of_typestr(&text)?, false),
        None => typestr::ordered_typestr(&text)?,
    };
    let (shape, strides) = (described.shape()?, described.strides()?);
    if let Some(lent) = &lent {
        let bytes =
            shape.iter().try_fold(dtype.size() as i128, |bytes, &extent| bytes.checked_mul(extent.into()));
        let enough = lent.flags().c_contiguous && bytes.is_some_and(|bytes| bytes <= lent.bytes() as i128);
        if !enough {
            return Err(described.wrong("data", &data, "a buffer of as many bytes as the shape has"));
        }
    }
    let strided = Strided {
        data: std::ptr::with_exposed_provenance_mut(address),
        dtype,
        shape: &shape,
        byte_strides: strides.as_deref(),
        read_only,
    };
    // A scalar of NumPy's describes a copy that only the interface keeps.
    let keeper = (object.clone().unbind(), described.interface.unbind(), lent);
    // SAFETY: the interface promises that its numbers are true and that the memory is there as long as the object or the
    // interface is, which are held until the array gives them back; a reference may be dropped from any thread.
    let array = unsafe { taken(&strided, swapped, request, Box::new(move || drop(keeper)))? };
    Ok(Some(array))
}

/// The array that an object with `__array__` makes of itself: one of NumPy's. Data frames, files and images have no other
/// protocol.
pub(super) fn import_made(object: &Bound<'_, PyAny>, request: &Request<'_>) -> Result<Option<UsmArray>> {
    let py = object.py();
    // A class has the method of its objects.
    if object.cast::<PyType>().is_ok() {
        return Ok(None);
    }
    let Some(method) = object.getattr_opt("__array__")? else { return Ok(None) };
    let made = match request.copy {
        Some(false) => method.call((), Some(&[("copy", false)].into_py_dict(py)?))?,
        _ => method.call0()?,
    };
    if made.getattr_opt("__array_interface__")?.is_none() {
        return Err(Fault::Python(PyTypeError::new_err(format!(
            "`__array__` of {} has given {}; expected an array of NumPy's; help: this is a defect of that class",
            shown(&object.get_type()),
            shown(&made.get_type())
        ))));
    }
    import(&made, request)
}

/// The classes of NumPy's that are told from other objects.
pub(crate) struct Numpy {
    array: Py<PyType>,
    mapped: Py<PyType>,
    scalar: Py<PyType>,
    dtype: Py<PyType>,
}

impl Numpy {
    /// NumPy's classes, where a program has imported it: this module does not.
    pub(crate) fn of(py: Python<'_>) -> Option<&Self> {
        static CLASSES: PyOnceLock<Numpy> = PyOnceLock::new();
        if let Some(classes) = CLASSES.get(py) {
            return Some(classes);
        }
        let find = || -> PyResult<Self> {
            let numpy = py.import("sys")?.getattr("modules")?.get_item("numpy")?;
            let class = |name: &str| Ok::<_, PyErr>(numpy.getattr(name)?.cast_into::<PyType>()?.unbind());
            Ok(Self {
                array: class("ndarray")?,
                mapped: class("memmap")?,
                scalar: class("generic")?,
                dtype: class("dtype")?,
            })
        };
        // What is there is looked for again while NumPy is not, or is still being imported.
        let found = find().ok()?;
        Some(CLASSES.get_or_init(py, || found))
    }

    /// The class of dtypes.
    pub(crate) fn class_of_dtypes<'py>(&self, py: Python<'py>) -> Bound<'py, PyType> {
        self.dtype.bind(py).clone()
    }

    /// Whether an object is a scalar of NumPy's.
    pub(crate) fn is_scalar(&self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        object.is_instance(self.scalar.bind(object.py()))
    }

    /// Whether a class is one of NumPy's scalars.
    pub(crate) fn is_type_of_scalars(&self, class: &Bound<'_, PyType>) -> PyResult<bool> {
        class.is_subclass(self.scalar.bind(class.py()))
    }

    /// The array that one of NumPy's is, on its memory where an array can be. Other classes that are derived from NumPy's have
    /// rules of their own: masks, products.
    pub(crate) fn in_place(&self, object: &Bound<'_, PyAny>) -> PyResult<Option<UsmArray>> {
        self.imported(object, None)
    }

    fn imported(&self, object: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<Option<UsmArray>> {
        match self.has(object) {
            true => Ok(import(object, &Request { queue: None, copy })?),
            false => Ok(None),
        }
    }

    /// Whether an object is of NumPy's own classes of arrays.
    fn has(&self, object: &Bound<'_, PyAny>) -> bool {
        let class = object.get_type();
        class.is(&self.array) || class.is(&self.mapped)
    }
}

/// NumPy's dtype for one of ours; of `bfloat16`, which it has not, that of the library `ml_dtypes`.
///
/// # Errors
/// `TypeError` for bfloat16 where that library is not installed.
pub(crate) fn dtype_of(py: Python<'_>, dtype: Dtype) -> PyResult<Bound<'_, PyAny>> {
    static DTYPES: [PyOnceLock<Py<PyAny>>; Dtype::ALL.len()] =
        [const { PyOnceLock::new() }; Dtype::ALL.len()];
    let make = || -> PyResult<Py<PyAny>> {
        let class = py.import("numpy")?.getattr("dtype")?;
        if dtype != Dtype::Bf16 {
            return Ok(class.call1((dtype.typestr(),))?.unbind());
        }
        let library = py.import("ml_dtypes").map_err(|cause| {
            let error = PyTypeError::new_err(
                "dtype: an array of bfloat16 does not convert to NumPy, which has no bfloat16; help: install ml_dtypes, which has \
                 it for NumPy, or convert the array first, as astype(x, \"float32\")",
            );
            error.set_cause(py, Some(cause));
            error
        })?;
        Ok(class.call1((library.getattr(Dtype::Bf16.name())?,))?.unbind())
    };
    DTYPES[dtype as usize].get_or_try_init(py, make).map(|made| made.bind(py).clone())
}

/// A NumPy array of a shape on bytes that it may write to.
pub(crate) fn on_bytes<'py>(
    py: Python<'py>,
    shape: &[usize],
    dtype: Dtype,
    bytes: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let arguments = (PyTuple::new(py, shape)?, dtype_of(py, dtype)?, bytes);
    match Numpy::of(py) {
        Some(numpy) => numpy.array.bind(py).call1(arguments),
        None => py.import("numpy")?.getattr("ndarray")?.call1(arguments),
    }
}

/// Whether an object is of NumPy's own classes of arrays; no class that is derived from them is.
pub(crate) fn is_array(object: &Bound<'_, PyAny>) -> bool {
    Numpy::of(object.py()).is_some_and(|numpy| numpy.has(object))
}

/// The array that an object is as one of NumPy's, as [`Numpy::in_place`] has it.
pub(crate) fn in_place(object: &Bound<'_, PyAny>) -> PyResult<Option<UsmArray>> {
    Numpy::of(object.py()).map_or(Ok(None), |numpy| numpy.in_place(object))
}

/// The array that one of NumPy's is, on its memory, which is to be written; `None` where the object is none.
///
/// # Errors
/// As for an import without a copy: of elements that are not aligned, or of another order of bytes.
pub(crate) fn for_writing(object: &Bound<'_, PyAny>) -> PyResult<Option<UsmArray>> {
    Numpy::of(object.py()).map_or(Ok(None), |numpy| numpy.imported(object, Some(false)))
}

/// A NumPy array with a copy of the elements; of bfloat16, with the dtype of the library ml_dtypes. Raises TypeError for bfloat16
/// where that is not installed.
#[pyfunction]
#[pyo3(signature = (x, /))]
fn to_numpy<'py>(x: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    let array: Given<'_> = x.extract().map_err(|error| arguments::named(x.py(), "x", error))?;
    copied(x.py(), array.array())
}

/// A NumPy array with a copy of the elements: the one to ask for where a conversion may cost a transfer.
#[pyfunction]
#[pyo3(signature = (x, /))]
fn asnumpy<'py>(x: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    to_numpy(x)
}

/// An array with a copy of the elements of a NumPy array.
///
/// usm_type: "device", "shared" or "host", as for `zeros` where None. device: a Device, a Queue or a filter string;
/// sycl_queue, queue: a Queue. Raises TypeError for elements that there is no dtype for.
#[pyfunction]
#[pyo3(signature = (np_arr, /, *, device=None, usm_type=None, sycl_queue=None, queue=None))]
fn from_numpy<'py>(
    py: Python<'py>,
    np_arr: &Bound<'py, PyAny>,
    device: Option<&Bound<'py, PyAny>>,
    usm_type: Option<&Bound<'py, PyAny>>,
    sycl_queue: Option<&Bound<'py, PyAny>>,
    queue: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = PyDict::new(py);
    options.set_item("copy", true)?;
    let named = [("device", device), ("usm_type", usm_type), ("sycl_queue", sycl_queue), ("queue", queue)];
    for (name, value) in named {
        options.set_item(name, value)?;
    }
    py.import("stridewise")?.getattr("asarray")?.call((np_arr,), Some(&options))
}

/// Adds the functions to the module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(to_numpy, module)?)?;
    module.add_function(wrap_pyfunction!(asnumpy, module)?)?;
    module.add_function(wrap_pyfunction!(from_numpy, module)?)
}
