//! Groups of elements that have a key in common.

use pyo3::prelude::*;
use stridewise::{Groups, UsmArray};

use crate::array::PyArray;
use crate::array::operand::Given;
use crate::errors::Result;

/// Groups of elements by keys, in the order of the keys. Made by group_by. What is computed takes the elements of a group in the
/// order in which they lie; values have the shape of the keys that were given.
#[pyclass(name = "GroupBy", module = "stridewise", frozen)]
pub(crate) struct PyGroups(Groups);

impl PyGroups {
    fn of(
        &self,
        py: Python<'_>,
        mut values: Given<'_>,
        compute: impl FnOnce(&Groups, &UsmArray) -> stridewise::Result<UsmArray> + Send,
    ) -> Result<PyArray> {
        values.put_on(self.0.places().queue())?;
        let values: &UsmArray = values.array();
        Ok(py.detach(|| compute(&self.0, values))?.into())
    }
}

#[pymethods]
impl PyGroups {
    /// The keys, each once, sorted.
    #[getter]
    fn keys(&self) -> PyArray {
        self.0.keys().clone().into()
    }
    /// The number of the group of each element, as int64, in the shape of the keys that were given.
    #[getter]
    fn places(&self) -> PyArray {
        self.0.places().clone().into()
    }
    fn __len__(&self) -> usize {
        self.0.len()
    }
    fn __repr__(&self) -> String {
        format!("<GroupBy of {} groups, {} elements>", self.0.len(), self.0.places().len())
    }
    /// How many elements each group has, as int64.
    fn count(&self) -> PyArray {
        self.0.count().clone().into()
    }
    /// The sum of the values of each group: of integers in int64 or uint64, of others in their dtype.
    fn sum(&self, py: Python<'_>, values: Given<'_>) -> Result<PyArray> {
        self.of(py, values, Groups::sum)
    }
    /// The mean of the values of each group: of integers in the default floating dtype.
    fn mean(&self, py: Python<'_>, values: Given<'_>) -> Result<PyArray> {
        self.of(py, values, Groups::mean)
    }
    /// The smallest value of each group; NaN where one is among them.
    fn min(&self, py: Python<'_>, values: Given<'_>) -> Result<PyArray> {
        self.of(py, values, Groups::min)
    }
    /// The largest value of each group; NaN where one is among them.
    fn max(&self, py: Python<'_>, values: Given<'_>) -> Result<PyArray> {
        self.of(py, values, Groups::max)
    }
    /// The first value of each group.
    fn first(&self, py: Python<'_>, values: Given<'_>) -> Result<PyArray> {
        self.of(py, values, Groups::first)
    }
}

/// Groups elements by keys: all places that have one key are a group. Each NaN is a group of its own.
///
/// >>> groups = sw.group_by(sw.asarray([3, 1, 3, 3]))
/// >>> groups.keys.tolist(), groups.sum(sw.asarray([1, 2, 3, 5])).tolist()
/// ([1, 3], [2, 9])
#[pyfunction]
#[pyo3(signature = (keys, /))]
fn group_by(py: Python<'_>, keys: Given<'_>) -> Result<PyGroups> {
    let keys: &UsmArray = keys.array();
    Ok(PyGroups(py.detach(|| keys.group_by())?))
}

/// Adds the class and the function to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyGroups>()?;
    super::add_functions!(module: group_by);
    Ok(())
}
