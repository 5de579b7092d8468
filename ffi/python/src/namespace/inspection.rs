//! What the namespace can do, by the array API's inspection functions.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use stridewise::{Dtype, MAX_NDIM};

use super::types::is_of;
use crate::dtype;
use crate::errors::Result;
use crate::runtime::device::PyDevice;
use crate::runtime::queue::device_of;

/// What the namespace can do: capabilities, devices and dtypes.
#[pyclass(name = "Info", module = "stridewise", frozen)]
struct PyInfo;

#[pymethods]
impl PyInfo {
    /// A dictionary: "boolean indexing" and "data-dependent shapes", both True, and "max dimensions".
    #[staticmethod]
    fn capabilities(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let capabilities = PyDict::new(py);
        capabilities.set_item("boolean indexing", true)?;
        capabilities.set_item("data-dependent shapes", true)?;
        capabilities.set_item("max dimensions", MAX_NDIM)?;
        Ok(capabilities)
    }

    /// The device that arrays are made on where none is named. Raises DeviceSelectionError where the environment names one
    /// that is not there.
    #[staticmethod]
    fn default_device() -> Result<PyDevice> {
        Ok(stridewise::default_device()?.into())
    }

    /// The devices, as a tuple, to which lists can be added: SciPy's tests take what came before the standard's 2025.12, a list.
    #[staticmethod]
    fn devices(py: Python<'_>) -> Result<Bound<'_, PyAny>> {
        let devices = py.detach(stridewise::devices);
        let devices = devices.into_iter().map(|device| Bound::new(py, PyDevice::from(device)));
        let devices = PyTuple::new(py, devices.collect::<PyResult<Vec<_>>>()?)?;
        Ok(py.import("stridewise._arguments")?.getattr("Devices")?.call1((devices,))?)
    }

    /// The dtypes of arrays made on a device (None: the default one) without one, as a dictionary: "real floating",
    /// "complex floating", "integral", "indexing".
    #[staticmethod]
    #[pyo3(signature = (*, device=None))]
    fn default_dtypes<'py>(
        py: Python<'py>,
        device: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyDict>> {
        let support = device_of(device)?.dtype_support();
        let dtypes = PyDict::new(py);
        dtypes.set_item("real floating", dtype::object(py, support.default_float())?)?;
        dtypes.set_item("complex floating", dtype::object(py, support.default_complex())?)?;
        dtypes.set_item("integral", dtype::object(py, support.default_int())?)?;
        dtypes.set_item("indexing", dtype::object(py, Dtype::I64)?)?;
        Ok(dtypes)
    }

    /// The standard's dtypes that a device (None: the default one) computes in, by name, as a dictionary. kind: as for
    /// `isdtype`; None for all. float16 and bfloat16, which the standard has not, are there beside them. Raises ValueError
    /// for a kind that there is not.
    #[staticmethod]
    #[pyo3(signature = (*, device=None, kind=None))]
    fn dtypes<'py>(
        py: Python<'py>,
        device: Option<&Bound<'py, PyAny>>,
        kind: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyDict>> {
        let support = device_of(device)?.dtype_support();
        let dtypes = PyDict::new(py);
        let beyond = [Dtype::F16, Dtype::Bf16];
        for &dtype in Dtype::ALL.iter().filter(|dtype| !beyond.contains(dtype) && support.supports(**dtype)) {
            let wanted = match kind.filter(|kind| !kind.is_none()) {
                Some(kind) => is_of(dtype, kind)?,
                None => true,
            };
            if wanted {
                dtypes.set_item(dtype.name(), dtype::object(py, dtype)?)?;
            }
        }
        Ok(dtypes)
    }
}

/// An object with the array API's inspection functions: capabilities, default_device, default_dtypes, devices, dtypes.
#[pyfunction]
fn __array_namespace_info__() -> PyInfo {
    PyInfo
}

/// Adds the function to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    super::add_functions!(module: __array_namespace_info__);
    Ok(())
}
