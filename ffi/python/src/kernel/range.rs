//! What a launch goes over, and what it gives to kernels beside arrays and numbers.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use stridewise::kernel::{MAX_SPACE_DIMS, NdRange};
use stridewise::{Dtype, DtypeSupport, backend::Dims};

use crate::arguments;
use crate::array::construct::shape_of;
use crate::dtype::{self, PyDtype};
use crate::errors::{Fault, Result, shown};

/// The extents of an index space: so many items along each of one to three axes. Range(n), Range(n, m), Range(n, m, k).
///
/// Raises ValueError for another number of extents or a negative one, TypeError for what is no integer.
#[pyclass(name = "Range", module = "stridewise.kernel_api", frozen, eq, hash)]
#[derive(Clone, PartialEq, Hash)]
pub(crate) struct PyRange(pub(crate) Dims);

/// The index space of so many items, in groups of so many where that is said: as [`PyLauncher::launch`] takes it.
///
/// # Errors
/// As for the classes.
///
/// [`PyLauncher::launch`]: super::launch::PyLauncher::launch
pub(crate) fn space(
    global: &Bound<'_, PyAny>,
    local: Option<&Bound<'_, PyAny>>,
) -> Result<(NdRange, usize, bool)> {
    match local.filter(|local| !local.is_none()) {
        None => extents(global).map(|global| (NdRange::of(&global), global.len(), false)),
        Some(local) => PyNdRange::new(global, local, false).map(|range| (range.range(), range.dims(), true)),
    }
}

/// Extents from one argument: a Range, a number or a sequence of numbers.
fn extents(argument: &Bound<'_, PyAny>) -> Result<Dims> {
    let extents = match argument.cast::<PyRange>() {
        Ok(range) => range.get().0.clone(),
        Err(_) => shape_of(argument)?,
    };
    if (1..=MAX_SPACE_DIMS).contains(&extents.len()) {
        return Ok(extents);
    }
    Err(Fault::Python(PyValueError::new_err(format!(
        "an index space has the extents {}; expected 1 to {MAX_SPACE_DIMS} of them; help: fold further axes into one of these",
        shown(argument)
    ))))
}

#[pymethods]
impl PyRange {
    #[new]
    #[pyo3(signature = (*extents))]
    fn new(extents: &Bound<'_, PyTuple>) -> Result<Self> {
        let first = extents.get_item(0);
        match first {
            Ok(only) if extents.len() == 1 => Ok(Self(self::extents(&only)?)),
            _ => Ok(Self(self::extents(extents.as_any())?)),
        }
    }
    /// The extent along an axis.
    fn get(&self, #[pyo3(from_py_with = arguments::whole)] index: usize) -> PyResult<usize> {
        self.0.get(index).copied().ok_or_else(|| {
            PyIndexError::new_err(format!("axis {index} of a range of {} dimensions", self.0.len()))
        })
    }
    /// How many items there are in all.
    fn size<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        // By Python's integers, as it may be beyond ours.
        let one = 1_usize.into_bound_py_any(py)?;
        self.0.iter().try_fold(one, |size, &extent| size.mul(extent))
    }
    /// Number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.0.len()
    }
    fn __len__(&self) -> usize {
        self.0.len()
    }
    fn __getitem__(&self, #[pyo3(from_py_with = arguments::whole)] index: isize) -> PyResult<usize> {
        let from_end = if index < 0 { self.0.len() } else { 0 };
        match index.checked_add_unsigned(from_end).and_then(|index| usize::try_from(index).ok()) {
            Some(index) => self.get(index),
            None => {
                Err(PyIndexError::new_err(format!("axis {index} of a range of {} dimensions", self.0.len())))
            }
        }
    }
    fn __repr__(&self) -> String {
        let extents: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        format!("Range({})", extents.join(", "))
    }
    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0)
    }
}

/// The extents of an index space and of the groups that its items are in: NdRange(global_range, local_range), each a
/// Range, a number or a sequence of numbers.
///
/// The extents of a group divide those of all items; with `partial=True` the last group along an axis may have fewer items.
/// Raises ValueError and TypeError as Range does.
#[pyclass(name = "NdRange", module = "stridewise.kernel_api", frozen, eq, hash)]
#[derive(Clone, PartialEq, Hash)]
pub(crate) struct PyNdRange {
    global: Dims,
    local: Dims,
    partial: bool,
}

impl PyNdRange {
    pub(crate) fn dims(&self) -> usize {
        self.global.len()
    }
    pub(crate) fn range(&self) -> NdRange {
        let range = NdRange::in_groups(&self.global, &self.local);
        if self.partial { range.partial() } else { range }
    }
}

#[pymethods]
impl PyNdRange {
    #[new]
    #[pyo3(signature = (global_range, local_range, *, partial=false))]
    fn new(
        global_range: &Bound<'_, PyAny>,
        local_range: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::flag)] partial: bool,
    ) -> Result<Self> {
        let (global, local) = (extents(global_range)?, extents(local_range)?);
        if global.len() != local.len() {
            return Err(Fault::Python(PyValueError::new_err(format!(
                "`local_range` has {} dimensions, `global_range` has {}; expected as many; help: give an extent of a group \
                 for each axis",
                local.len(),
                global.len()
            ))));
        }
        Ok(Self { global, local, partial })
    }
    /// The extents of all items.
    #[getter]
    fn global_range(&self) -> PyRange {
        PyRange(self.global.clone())
    }
    /// The extents of a group.
    #[getter]
    fn local_range(&self) -> PyRange {
        PyRange(self.local.clone())
    }
    /// Whether the last group along an axis may have fewer items.
    #[getter]
    fn partial(&self) -> bool {
        self.partial
    }
    fn __repr__(&self) -> String {
        let (global, local) = (self.global_range().__repr__(), self.local_range().__repr__());
        format!("NdRange({global}, {local}{})", if self.partial { ", partial=True" } else { "" })
    }
}

/// Memory that the items of each group share, as an argument of a launch over an NdRange: LocalAccessor(shape, dtype). In
/// the kernel it is an array; undefined until it is written.
///
/// Raises ValueError for a negative extent, TypeError for what is no dtype.
#[pyclass(name = "LocalAccessor", module = "stridewise.kernel_api", frozen)]
pub(crate) struct PyLocalAccessor {
    pub(crate) shape: Dims,
    pub(crate) dtype: Dtype,
}

#[pymethods]
impl PyLocalAccessor {
    #[new]
    fn new(shape: &Bound<'_, PyAny>, dtype: &Bound<'_, PyAny>) -> Result<Self> {
        let shape = shape_of(shape)?;
        if shape.is_empty() {
            return Err(Fault::Python(PyTypeError::new_err(
                "`shape` is empty; expected an extent or more; help: (1,) is one element",
            )));
        }
        Ok(Self { shape, dtype: dtype::extract(dtype, DtypeSupport::ALL)? })
    }
    /// The extents.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }
    /// The dtype of the elements.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyDtype>> {
        dtype::object(py, self.dtype)
    }
    fn __repr__(&self) -> String {
        format!("LocalAccessor({:?}, {})", self.shape.as_slice(), self.dtype)
    }
}
