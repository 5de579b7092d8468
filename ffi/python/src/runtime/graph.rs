//! Captured programs as Python objects: a block that is captured, and the graph that it leaves.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Instant;

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use stridewise::memory::heap;
use stridewise::{Capture, Graph, Queue, UsmArray};

use super::event::PyEvent;
use super::queue::PyQueue;
use crate::arguments;
use crate::array::PyArray;
use crate::errors::{Fault, Result, of_file};
use crate::namespace::placement::queue_of;
use crate::objects;
use crate::progress::{NEWS, Progress};

/// A captured piece of program. `with queue.capture() as graph:` runs its block once, as without a capture, and notes what it submits
/// to the queue: operations, reductions, kernels, copies, random numbers as they were drawn. After the block, `replay()` submits that
/// again in the same memory, `repeat(n)` n times, and `graph(x)` with other arrays in place of the inputs that the block names by
/// `input`; it returns those that it names by `output`. Nothing is planned in between.
///
/// What was there before the block is state, which replays go on from; what the block makes is the graph's, and each replay writes
/// it anew. What cannot be noted raises NotImplementedError in the block: to read an element, to wait, to show memory to others, work
/// on another queue; and then the block fails at its end, too.
///
/// It prints as the list of its commands; `len(graph)` is how many they are.
#[pyclass(name = "Graph", module = "stridewise", frozen)]
pub(crate) struct PyGraph {
    queue: Queue,
    state: Mutex<State>,
}

enum State {
    /// Before its block.
    Fresh,
    /// In its block, which a thread runs.
    Open(ThreadId),
    Captured(Graph),
    /// Its block has failed.
    Failed,
}

impl PyGraph {
    pub(crate) fn new(queue: Queue) -> Self {
        Self { queue, state: Mutex::new(State::Fresh) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held, so poison means nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The graph, once its block has ended.
    pub(super) fn graph(&self) -> Result<Graph> {
        let found = match &*self.state() {
            State::Captured(graph) => return Ok(graph.clone()),
            State::Fresh => "one whose block has not begun",
            State::Open(_) => "one whose block has not ended",
            State::Failed => "one whose block has failed",
        };
        Err(wrong(
            found,
            "one whose block has ended well",
            "run it behind its `with queue.capture() as graph:`",
        ))
    }

    /// Checks that this thread runs its block.
    fn check_open(&self) -> Result<()> {
        let found = match &*self.state() {
            State::Open(thread) if *thread == thread::current().id() => return Ok(()),
            State::Open(_) => "one whose block another thread runs",
            State::Fresh => "one whose block has not begun",
            State::Captured(_) | State::Failed => "one whose block has ended",
        };
        Err(wrong(found, "one in its block", "name arrays, and leave the block, on the thread that runs it"))
    }

    /// Calls a function with the capture that is open.
    fn in_block(
        &self,
        py: Python<'_>,
        name: impl FnOnce(&Capture) -> stridewise::Result<()> + Send,
    ) -> Result<()> {
        self.check_open()?;
        let named = py.detach(|| {
            let capture = Capture::left_open()?;
            let named = name(&capture);
            capture.leave_open();
            Some(named)
        });
        Ok(named.ok_or_else(gone)??)
    }
}

/// The error of a graph that is not where it is to be.
fn wrong(found: &str, expected: &str, help: &str) -> Fault {
    Fault::Python(PyRuntimeError::new_err(format!("graph: got {found}, expected {expected}; help: {help}")))
}

fn gone() -> Fault {
    wrong(
        "one whose capture is over",
        "one in its block",
        "let `with queue.capture() as graph:` begin and end it",
    )
}

/// One of our arrays, as the argument of a name.
fn array_of(name: &str, array: &Bound<'_, PyAny>) -> Result<UsmArray> {
    match array.cast::<PyArray>() {
        Ok(array) => Ok(UsmArray::clone(&array.get().array())),
        Err(_) => {
            let wrong = arguments::wrong(array, "a usm_ndarray; help: convert it with asarray");
            Err(arguments::named(array.py(), name, wrong).into())
        }
    }
}

#[pymethods]
impl PyGraph {
    fn __enter__(slf: Bound<'_, Self>) -> Result<Py<Self>> {
        {
            let mut state = slf.get().state();
            if !matches!(*state, State::Fresh) {
                drop(state);
                return Err(wrong(
                    "one that has had its block",
                    "a fresh one",
                    "call `queue.capture()` for each block",
                ));
            }
            *state = State::Open(thread::current().id());
        }
        let queue = &slf.get().queue;
        if let Err(error) = slf.py().detach(|| Capture::begin(queue).map(Capture::leave_open)) {
            *slf.get().state() = State::Failed;
            return Err(error.into());
        }
        Ok(slf.unbind())
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> Result<bool> {
        self.check_open()?;
        let raised = !kind.is_none();
        let ended = py.detach(|| {
            // Of a block that raised, nothing is kept; the capture is over in any case.
            let capture = Capture::left_open();
            if raised { None } else { capture.map(Capture::end) }
        });
        *self.state() = State::Failed;
        if raised {
            return Ok(false);
        }
        let graph = ended.ok_or_else(gone)??;
        *self.state() = State::Captured(graph);
        Ok(false)
    }

    /// Names an array as an input, in place of which a call of the graph takes another one, of the same shape, layout, dtype and USM
    /// type. To be called in the block, before the array is used. It may be in memory that others know.
    ///
    /// Raises ValueError where the block has made or used its memory before, or has it as another input; ExecutionPlacementError for
    /// an array of another queue; RuntimeError outside of the block.
    fn input(&self, name: &Bound<'_, PyAny>, array: &Bound<'_, PyAny>) -> Result<()> {
        let py = name.py();
        let name = arguments::text(name).map_err(|error| arguments::named(py, "name", error))?;
        let array = array_of("array", array)?;
        self.in_block(py, |capture| capture.input(name, &array))
    }

    /// Names an array as an output, which a call of the graph returns. One that the block made is in memory of its own for each call;
    /// any other stays where it is. To be called in the block.
    ///
    /// Raises ExecutionPlacementError for an array of another queue; RuntimeError outside of the block.
    fn output(&self, name: &Bound<'_, PyAny>, array: &Bound<'_, PyAny>) -> Result<()> {
        let py = name.py();
        let name = arguments::text(name).map_err(|error| arguments::named(py, "name", error))?;
        let array = array_of("array", array)?;
        self.in_block(py, |capture| capture.output(name, &array))
    }

    /// Submits the commands with other arrays in place of the inputs, in their order or by their names, and in memory of their own
    /// for the outputs that the block made. Returns the output; of several a tuple, in their order; of none None.
    ///
    /// Raises TypeError for a wrong number of arrays or another dtype, ValueError for another shape, layout or USM type, or where an
    /// input that is written shares memory with what else the commands use.
    #[pyo3(signature = (*inputs, **named))]
    fn __call__<'py>(
        &self,
        inputs: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyAny>> {
        let py = inputs.py();
        let graph = self.graph()?;
        let expected = || {
            let names: Vec<&str> = graph.inputs().collect();
            if names.is_empty() { "no arrays".to_owned() } else { format!("arrays for {}", names.join(", ")) }
        };
        let refused = |found: String| {
            let help = "name the inputs of a graph in its block, by `graph.input(name, array)`";
            Fault::Python(PyTypeError::new_err(format!(
                "inputs: got {found}, expected {}; help: {help}",
                expected()
            )))
        };
        let mut arrays = Vec::new();
        let mut used = 0;
        for (place, name) in graph.inputs().enumerate() {
            let by_name = named.map(|named| named.get_item(name)).transpose()?.flatten();
            used += usize::from(by_name.is_some());
            let array = match (inputs.get_item(place).ok(), by_name) {
                (Some(_), Some(_)) => return Err(refused(format!("{name} twice"))),
                (Some(array), None) | (None, Some(array)) => array_of(name, &array)?,
                (None, None) => return Err(refused(format!("no {name}"))),
            };
            heap::push("inputs", &mut arrays, array)?;
        }
        if inputs.len() > arrays.len() {
            return Err(refused(format!("{} arrays", inputs.len())));
        }
        if let Some(named) = named.filter(|named| named.len() > used) {
            let is_known = |name: &str| graph.inputs().any(|known| known == name);
            let other = named.keys().iter().find(|name| !arguments::text(name).is_ok_and(is_known));
            return Err(refused(other.map_or_else(|| "a name twice".to_owned(), |name| name.to_string())));
        }
        let mut outputs = py.detach(|| {
            let inputs: Vec<&UsmArray> = heap::collect("inputs", arrays.iter())?;
            graph.run(&inputs)
        })?;
        let wrapped = |array: UsmArray| -> PyResult<Bound<'py, PyAny>> {
            Ok(Bound::new(py, PyArray::from(array))?.into_any())
        };
        Ok(match outputs.len() {
            0 => py.None().into_bound(py),
            1 => wrapped(outputs.remove(0))?,
            _ => objects::tuple(py, outputs.into_iter().map(wrapped))?.into_any(),
        })
    }

    /// Submits the commands again, in the same memory. Returns an Event, which is complete when all of them are.
    ///
    /// Raises as any submission does, and NotImplementedError in a capture.
    fn replay(&self, py: Python<'_>) -> Result<PyEvent> {
        let graph = self.graph()?;
        Ok(PyEvent(py.detach(|| graph.replay())?))
    }

    /// Submits the commands so often again, one time after the other. Returns the Event of the last time. A signal may end it; what was
    /// submitted before goes on.
    ///
    /// progress: a function that is called with how often is done and `times`, a few times a second and at the end; each part is waited
    /// for before. What it raises ends the rest.
    #[pyo3(signature = (times, *, progress=None))]
    fn repeat(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::whole)] times: usize,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> Result<PyEvent> {
        let graph = self.graph()?;
        let Some(mut progress) = Progress::of(progress, "how often is done and of `times`")? else {
            return Ok(PyEvent(py.detach(|| graph.repeat(times))?));
        };
        let (mut done, mut part) = (0, 1_usize);
        loop {
            let count = part.min(times - done);
            let begin = Instant::now();
            let event = py.detach(|| graph.repeat(count).and_then(|event| event.wait().map(|()| event)))?;
            let lasted = begin.elapsed();
            done += count;
            let told = progress.tell_now(done, times);
            if told.is_err() || done == times {
                return progress.ended(told.map(|()| PyEvent(event)));
            }
            if lasted < NEWS {
                part = part.saturating_mul(2);
            } else if lasted > 2 * NEWS {
                part = (part / 2).max(1);
            }
        }
    }

    /// Writes the graph to a file, in place of what is there: its commands, and what is in the memory that was there before its block
    /// and that it goes on from. `Graph.load` reads it, on this or another machine.
    ///
    /// file: a path. Raises NotImplementedError on another device than the host; OSError where the file cannot be written.
    fn save(&self, py: Python<'_>, #[pyo3(from_py_with = arguments::path)] file: PathBuf) -> Result<()> {
        let graph = self.graph()?;
        py.detach(|| graph.save(&file)).map_err(Fault::Core).map_err(of_file(&file))
    }

    /// Reads a graph from a file that `save` has written: with memory of its own, in which the inputs and what it goes on from are as they
    /// were then. It does the same to the same bits.
    ///
    /// Read files that you trust alone, as with pickle: one that somebody has made to do harm may read and write any memory of the
    /// process. What was damaged by accident is found.
    ///
    /// file: a path. device: a Device, a Queue or a filter string; sycl_queue, queue: a Queue. Raises OSError where the file cannot be
    /// read, is no graph, is damaged, or is of another version; NotImplementedError on another device than the host.
    #[staticmethod]
    #[pyo3(signature = (file, *, device=None, sycl_queue=None, queue=None))]
    fn load(
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::path)] file: PathBuf,
        device: Option<&Bound<'_, PyAny>>,
        sycl_queue: Option<&Bound<'_, PyAny>>,
        queue: Option<&Bound<'_, PyAny>>,
    ) -> Result<Self> {
        let queue = queue_of(device, sycl_queue, queue)?;
        // SAFETY: the caller trusts the file, as this function's words ask for.
        let graph = py.detach(|| unsafe { Graph::load(&queue, &file) });
        let graph = graph.map_err(Fault::Core).map_err(of_file(&file))?;
        Ok(Self { queue, state: Mutex::new(State::Captured(graph)) })
    }

    /// The queue.
    #[getter]
    fn queue(&self) -> PyQueue {
        PyQueue(self.queue.clone())
    }
    /// The names of the inputs, in their order.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyTuple>> {
        names(py, self.graph()?.inputs())
    }
    /// The names of the outputs, in their order.
    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyTuple>> {
        names(py, self.graph()?.outputs())
    }
    fn __len__(&self) -> Result<usize> {
        Ok(self.graph()?.len())
    }
    /// A graph of nothing is one, too.
    fn __bool__(&self) -> bool {
        true
    }
    fn __repr__(&self) -> String {
        let state = match &*self.state() {
            State::Fresh => "before its block".to_owned(),
            State::Open(_) => "in its block".to_owned(),
            State::Failed => "whose block has failed".to_owned(),
            State::Captured(graph) => format!("{} commands", graph.len()),
        };
        format!("<Graph: {state}, {}>", self.queue)
    }
    fn __str__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyString>> {
        let text = self.graph().map_or_else(|_| self.__repr__(), |graph| graph.to_string());
        Ok(objects::text(py, text.trim_end())?)
    }
}

fn names<'a, 'py>(py: Python<'py>, names: impl Iterator<Item = &'a str>) -> Result<Bound<'py, PyTuple>> {
    let mut texts = Vec::new();
    for name in names {
        heap::push("names", &mut texts, objects::text(py, name)?.into_any())?;
    }
    Ok(objects::tuple(py, texts.into_iter().map(Ok))?)
}
