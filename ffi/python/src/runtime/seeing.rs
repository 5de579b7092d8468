//! Plans of recorded work, and traces.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use stridewise::observe::{self, Profiler, Trace};
use stridewise::{Explanation, TraceRow, UsmArray};

use super::graph::PyGraph;
use crate::array::PyArray;
use crate::errors::{Fault, Result};
use crate::objects;

/// An explanation as text of a format, which the package has checked.
fn written(explanation: &Explanation, format: &str) -> String {
    match format {
        "json" => explanation.to_json(),
        "mermaid" => explanation.to_mermaid(),
        _ => explanation.to_string(),
    }
}

#[pymethods]
impl PyArray {
    /// See `explain` and `analyze` of the package.
    fn _explain<'py>(
        &self,
        py: Python<'py>,
        format: &str,
        names: Vec<(String, Py<PyArray>)>,
        run: bool,
    ) -> Result<Bound<'py, PyString>> {
        let arrays: Vec<(String, UsmArray)> =
            names.into_iter().map(|(name, array)| (name, UsmArray::clone(&array.get().array()))).collect();
        let array = &self.array();
        let explanation = py.detach(|| {
            let names: Vec<(&str, &UsmArray)> =
                arrays.iter().map(|(name, array)| (name.as_str(), array)).collect();
            if run { array.analyze_as(&names) } else { array.explain_as(&names) }
        })?;
        Ok(objects::text(py, &written(&explanation, format))?)
    }
}

#[pymethods]
impl PyGraph {
    /// See `explain` and `analyze` of the package.
    fn _explain<'py>(&self, py: Python<'py>, format: &str, run: bool) -> Result<Bound<'py, PyString>> {
        let graph = self.graph()?;
        let explanation = py.detach(|| if run { graph.analyze() } else { Ok(graph.explain()) })?;
        Ok(objects::text(py, &written(&explanation, format))?)
    }
}

/// Notes what the engine does, until it is ended.
#[pyclass(name = "_Profiler", module = "stridewise", frozen)]
struct PyProfiler(Mutex<Option<Profiler>>);

#[pymethods]
impl PyProfiler {
    #[new]
    fn new(most: usize, at_once: f64) -> Self {
        let at_once = Duration::try_from_secs_f64(at_once).unwrap_or(Duration::MAX);
        Self(Mutex::new(Some(Profiler::begin_with(most, at_once))))
    }
    /// Waits for what is under way, and ends.
    fn end(&self, py: Python<'_>) -> Result<PyTrace> {
        let profiler = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let profiler = profiler.ok_or_else(|| {
            Fault::Python(PyRuntimeError::new_err("profile: got one that has ended, expected an open one"))
        })?;
        Ok(PyTrace(py.detach(|| {
            stridewise::drain(stridewise::exit_patience());
            profiler.end()
        })))
    }
}

/// What the engine did.
#[pyclass(name = "_Trace", module = "stridewise", frozen)]
struct PyTrace(Trace);

/// A row of a trace's table.
type Row = (String, &'static str, usize, f64, usize, f64, Option<f64>);

impl PyTrace {
    /// Measures the memory of the devices that took part. A table without shares of its limit is better than none.
    fn measure(&self) {
        let _ = self.0.measure_bandwidth();
    }
}

#[pymethods]
impl PyTrace {
    /// Rows in the order of `table`'s keys, the share of the limit where the memory can be measured.
    fn table(&self, py: Python<'_>) -> Vec<Row> {
        let rows = py.detach(|| {
            self.measure();
            self.0.table()
        });
        let row = |row: TraceRow| {
            (row.name, row.doing, row.calls, row.time.as_secs_f64(), row.bytes, row.share, row.share_of_limit)
        };
        rows.into_iter().map(row).collect()
    }
    fn to_json<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyString>> {
        let text = py.detach(|| self.0.to_json());
        Ok(objects::text(py, &text)?)
    }
    fn write(&self, py: Python<'_>, path: PathBuf) -> Result<()> {
        Ok(py.detach(|| self.0.write(path))?)
    }
    fn text<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyString>> {
        let text = py.detach(|| {
            self.measure();
            self.0.to_string()
        });
        Ok(objects::text(py, &text)?)
    }
    #[getter]
    fn dropped(&self) -> usize {
        self.0.dropped()
    }
    #[getter]
    fn seconds(&self) -> f64 {
        self.0.duration().as_secs_f64()
    }
}

/// Says where the calling thread's program is.
#[pyfunction]
#[pyo3(signature = (site))]
fn _set_site(site: Option<&str>) {
    stridewise::memory::set_call_site(site);
    observe::set_site(site.map(Arc::from));
}

/// Adds the classes and the function to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyProfiler>()?;
    module.add_class::<PyTrace>()?;
    module.add_function(wrap_pyfunction!(_set_site, module)?)
}
