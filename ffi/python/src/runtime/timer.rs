//! Time of work on a queue.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use stridewise::{Event, Queue};

use super::queue::PyQueue;
use crate::arguments;
use crate::errors::{Fault, Result, shown};

/// The time that work takes, for the host that submits it and for the device.
///
/// Timer(time_scale=1.0): `with timer(queue): …` measures what is submitted to the queue inside, as often as it is used;
/// `timer.dt` waits for it and gives (host_dt, device_dt), the sums in seconds times `time_scale`. The device's time is
/// that between the end of everything submitted before the block and the end of everything submitted in it.
///
/// The queue needs profiling: Queue(…, profiling=True). Raises ValueError where it has none.
#[pyclass(name = "Timer", module = "stridewise", frozen)]
pub(crate) struct PyTimer {
    time_scale: f64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queue: Option<Queue>,
    begun: Option<(Instant, Event)>,
    host: Duration,
    /// Blocks whose end may not have come.
    blocks: Vec<(Event, Event)>,
    /// The sum of the blocks that have ended, and how many they were.
    device: Duration,
    summed: usize,
}

/// Seconds of the host and of the device.
#[pyclass(name = "TimerResult", module = "stridewise", frozen, sequence)]
pub(crate) struct PyTimerResult {
    /// Seconds on the host, times the scale.
    #[pyo3(get)]
    host_dt: f64,
    /// Seconds on the device, times the scale.
    #[pyo3(get)]
    device_dt: f64,
}

#[pymethods]
impl PyTimerResult {
    fn __len__(&self) -> usize {
        2
    }
    fn __getitem__(&self, index: isize) -> PyResult<f64> {
        match index {
            0 | -2 => Ok(self.host_dt),
            1 | -1 => Ok(self.device_dt),
            _ => Err(pyo3::exceptions::PyIndexError::new_err("a timer's result has two numbers")),
        }
    }
    fn __repr__(&self) -> String {
        format!("(host_dt={}, device_dt={})", self.host_dt, self.device_dt)
    }
}

impl PyTimer {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyTimer {
    #[new]
    #[pyo3(signature = (time_scale=1.0))]
    fn new(#[pyo3(from_py_with = arguments::real)] time_scale: f64) -> Self {
        Self { time_scale, state: Mutex::default() }
    }

    /// Names the queue whose work the next block measures.
    fn __call__(slf: Bound<'_, Self>, queue: &Bound<'_, PyAny>) -> Result<Py<Self>> {
        let Ok(queue) = queue.cast::<PyQueue>() else {
            return Err(Fault::Python(PyTypeError::new_err(format!(
                "`queue` is {}; expected a Queue",
                shown(queue)
            ))));
        };
        let queue = queue.get().0.clone();
        if !queue.properties().profiling {
            return Err(Fault::Python(pyo3::exceptions::PyValueError::new_err(format!(
                "`queue` is {queue}, which has no profiling; expected one whose events have times; help: make it with \
                 Queue(…, profiling=True)"
            ))));
        }
        slf.get().state().queue = Some(queue);
        Ok(slf.unbind())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Result<Py<Self>> {
        let queue = slf.get().state().queue.clone();
        let Some(queue) = queue else {
            return Err(Fault::Python(PyTypeError::new_err(
                "a timer without a queue; expected `with timer(queue):`",
            )));
        };
        let begin = slf.py().detach(|| queue.submit_barrier(&[]))?;
        slf.get().state().begun = Some((Instant::now(), begin));
        Ok(slf.unbind())
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _class: &Bound<'_, PyAny>,
        _exception: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> Result<bool> {
        let (queue, begun) = {
            let mut state = self.state();
            (state.queue.clone(), state.begun.take())
        };
        let (Some(queue), Some((at, begin))) = (queue, begun) else {
            return Err(Fault::Python(PyRuntimeError::new_err("the timer's block was not entered")));
        };
        let host = at.elapsed();
        let end = py.detach(|| queue.submit_barrier(&[]))?;
        let mut state = self.state();
        state.host += host;
        state.blocks.push((begin, end));
        Ok(false)
    }

    /// The sums of all blocks so far: a pair (host_dt, device_dt). Waits for their work.
    #[getter]
    fn dt(&self, py: Python<'_>) -> Result<PyTimerResult> {
        loop {
            // They stay until they are in the sum, for another thread may ask meanwhile, and waiting may fail.
            let (blocks, summed) = {
                let state = self.state();
                (state.blocks.clone(), state.summed)
            };
            let device = py.detach(|| -> stridewise::Result<Duration> {
                blocks.iter().try_fold(Duration::ZERO, |sum, (begin, end)| {
                    begin.wait()?;
                    end.wait()?;
                    let (begin, end) = (begin.profiling_info()?, end.profiling_info()?);
                    Ok(sum + end.ended.saturating_sub(begin.ended))
                })
            })?;
            let mut state = self.state();
            if state.summed != summed {
                continue;
            }
            state.device += device;
            state.summed += blocks.len();
            // Blocks that ended meanwhile are behind these.
            state.blocks.drain(..blocks.len());
            return Ok(PyTimerResult {
                host_dt: state.host.as_secs_f64() * self.time_scale,
                device_dt: state.device.as_secs_f64() * self.time_scale,
            });
        }
    }
}
