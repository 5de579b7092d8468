//! Launches: arguments are read, the kernel for their types is found or made, and the scheduler has it.
//!
//! Every launch comes here, so that what a launch of a kernel that is known costs is this function.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use stridewise::kernel::{Argument, Kernel, NdRange, Parameter};
use stridewise::{Dtype, DtypeKind, Event, Queue, Scalar, UsmArray, Weak};

use super::range::{PyLocalAccessor, PyNdRange, PyRange};
use crate::array::operand::{self, Operand};
use crate::array::{Now, PyArray};
use crate::errors::{Fault, Result, shown};
use crate::protocol::{self, Request};
use crate::runtime::event::{PyEvent, events_of};
use crate::runtime::queue::{PyQueue, queue_argument};

/// Kernels that one function has for different types of arguments, at most; those that were made first go.
const KERNELS: usize = 128;

/// A verified kernel for certain types of arguments. Its text is the kernel's form.
#[pyclass(name = "_Compiled", module = "stridewise._native", frozen)]
pub(crate) struct PyCompiled(pub(crate) Kernel);

#[pymethods]
impl PyCompiled {
    /// For each parameter whether items write it.
    #[getter]
    fn writes(&self) -> Vec<bool> {
        let written = |parameter: &Parameter| match parameter {
            Parameter::Object(object) => self.0.writes(*object),
            Parameter::Scalar { .. } => false,
        };
        self.0.form().parameters.iter().map(written).collect()
    }
    fn __str__(&self) -> String {
        self.0.to_string()
    }
    fn __repr__(&self) -> String {
        format!("<kernel {}>", self.0.name())
    }
}

/// The type of an argument, as far as kernels differ by it.
#[derive(Clone, Copy, PartialEq)]
enum Type {
    Array(Dtype, usize),
    /// A Python number, which takes the dtype of what it meets.
    Number(DtypeKind),
    Scalar(Dtype),
    Local(Dtype, usize),
}

#[derive(Clone, PartialEq)]
struct Key {
    dims: usize,
    /// Whether the groups are said.
    grouped: bool,
    /// Whether the device computes in double precision.
    double: bool,
    arguments: Vec<Type>,
}

impl Key {
    /// As the reader of a source takes it.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for argument in &self.arguments {
            let described = match *argument {
                Type::Array(dtype, ndim) => ("array", dtype.name(), ndim),
                Type::Local(dtype, ndim) => ("local", dtype.name(), ndim),
                Type::Scalar(dtype) => ("scalar", dtype.name(), 0),
                Type::Number(kind) => ("number", number_dtype(kind, self.double).name(), 0),
            };
            list.append(described)?;
        }
        Ok(list)
    }
}

/// The dtype in which a Python number comes to a kernel.
const fn number_dtype(kind: DtypeKind, double: bool) -> Dtype {
    match kind {
        DtypeKind::Bool => Dtype::Bool,
        DtypeKind::Signed | DtypeKind::Unsigned => Dtype::I64,
        DtypeKind::Float => {
            if double {
                Dtype::F64
            } else {
                Dtype::F32
            }
        }
        DtypeKind::Complex => {
            if double {
                Dtype::C128
            } else {
                Dtype::C64
            }
        }
    }
}

enum Given<'py> {
    Array(Now<PyRef<'py, PyArray>>),
    /// One of others, or one of no dimension, as one of one element.
    Made(UsmArray),
    Number(Weak),
    Scalar(Scalar),
    Local(PyRef<'py, PyLocalAccessor>),
}

impl Given<'_> {
    fn array(&self) -> Option<&UsmArray> {
        match self {
            Self::Array(array) => Some(array),
            Self::Made(array) => Some(array),
            _ => None,
        }
    }
    fn get(&self) -> Argument<'_> {
        match self {
            Self::Array(array) => Argument::Array(array),
            Self::Made(array) => Argument::Array(array),
            Self::Number(number) => Argument::Weak(*number),
            Self::Scalar(scalar) => Argument::Scalar(*scalar),
            Self::Local(local) => Argument::Local(local.shape.to_vec()),
        }
    }
}

fn given<'py>(argument: &Bound<'py, PyAny>) -> Result<(Given<'py>, Type)> {
    if let Ok(array) = argument.cast::<PyArray>() {
        let array = Now::of(array.borrow());
        let kind = Type::Array(array.dtype(), array.ndim());
        if array.ndim() == 0 {
            return Ok((Given::Made(array.reshape_view(&[1])?), kind));
        }
        return Ok((Given::Array(array), kind));
    }
    if let Ok(local) = argument.cast::<PyLocalAccessor>() {
        let kind = Type::Local(local.get().dtype, local.get().shape.len());
        return Ok((Given::Local(local.borrow()), kind));
    }
    if let Some(number) = operand::number(argument)? {
        return Ok((Given::Number(number), Type::Number(number.kind())));
    }
    if let Some(array) = protocol::import_usm(argument, &Request { queue: None, copy: Some(false) })? {
        let kind = Type::Array(array.dtype(), array.ndim());
        let array = if array.ndim() == 0 { array.reshape_view(&[1])? } else { array };
        return Ok((Given::Made(array), kind));
    }
    match argument.extract::<Operand<'py>>() {
        Ok(Operand::Weak(number)) => Ok((Given::Number(number), Type::Number(number.kind()))),
        Ok(Operand::Scalar(scalar)) => Ok((Given::Scalar(scalar), Type::Scalar(scalar.dtype()))),
        _ => Err(Fault::Python(PyTypeError::new_err(format!(
            "an argument of a kernel is {}; expected an array in USM memory, a number or a LocalAccessor; help: convert it \
             with `stridewise.asarray`",
            shown(argument)
        )))),
    }
}

/// What a function is as kernels: one for each combination of types that it was launched with. The class of Python's that is
/// made of it has `_specialise`, which makes one, and `_queue`, which says where a launch without arrays goes.
#[pyclass(name = "_Launcher", module = "stridewise._native", frozen, subclass, weakref)]
pub(crate) struct PyLauncher {
    known: Mutex<VecDeque<(Key, Kernel)>>,
}

impl PyLauncher {
    fn find(&self, key: &Key) -> Option<Kernel> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(known, _)| known == key).map(|(_, kernel)| kernel.clone())
    }

    fn remember(&self, key: Key, kernel: Kernel) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Two threads may have made the same one.
        if known.iter().any(|(other, _)| *other == key) {
            return;
        }
        if known.len() >= KERNELS {
            known.pop_front();
        }
        known.push_back((key, kernel));
    }

    fn kernel(slf: &Bound<'_, Self>, key: Key) -> Result<Kernel> {
        if let Some(kernel) = slf.get().find(&key) {
            return Ok(kernel);
        }
        let py = slf.py();
        let described = key.describe(py)?;
        let made = slf.call_method1("_specialise", (key.dims, key.grouped, key.double, described))?;
        let kernel = made.cast::<PyCompiled>()?.get().0.clone();
        slf.get().remember(key, kernel.clone());
        Ok(kernel)
    }
}

/// The index space that an argument says, its dimensions, and whether it says the groups.
fn range_of(range: &Bound<'_, PyAny>) -> Result<(NdRange, usize, bool)> {
    if let Ok(range) = range.cast::<PyRange>() {
        return Ok((NdRange::of(&range.get().0), range.get().0.len(), false));
    }
    if let Ok(range) = range.cast::<PyNdRange>() {
        return Ok((range.get().range(), range.get().dims(), true));
    }
    Err(Fault::Python(PyTypeError::new_err(format!(
        "`index_range` is {}; expected a Range or an NdRange; help: Range(n) has n items, NdRange(n, m) has them in groups of m",
        shown(range)
    ))))
}

#[pymethods]
impl PyLauncher {
    #[new]
    #[pyo3(signature = (*_args, **_options))]
    fn new(_args: &Bound<'_, PyTuple>, _options: Option<&Bound<'_, pyo3::types::PyDict>>) -> Self {
        Self { known: Mutex::new(VecDeque::new()) }
    }

    /// How many kernels there are of the function.
    #[getter]
    fn _known(&self) -> usize {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The kernel for arguments such as these.
    fn _compiled(
        slf: &Bound<'_, Self>,
        range: &Bound<'_, PyAny>,
        arguments: &Bound<'_, PyTuple>,
    ) -> Result<PyCompiled> {
        let (_, dims, grouped) = range_of(range)?;
        let mut types = Vec::with_capacity(arguments.len());
        let mut queue = None;
        for argument in arguments.iter() {
            let (argument, kind) = given(&argument)?;
            queue = queue.or_else(|| argument.array().map(|array| array.queue().clone()));
            types.push(kind);
        }
        let queue = match queue {
            Some(queue) => queue,
            None => slf.call_method0("_queue")?.cast::<PyQueue>()?.get().0.clone(),
        };
        let double = queue.device().dtype_support().supports(Dtype::F64);
        Ok(PyCompiled(Self::kernel(slf, Key { dims, grouped, double, arguments: types })?))
    }

    /// Launches the kernel for the arguments' types behind the events in `depends`, and waits for it if asked to.
    fn _launch(
        slf: &Bound<'_, Self>,
        range: &Bound<'_, PyAny>,
        arguments: &Bound<'_, PyTuple>,
        depends: Option<&Bound<'_, PyAny>>,
        queue: Option<&Bound<'_, PyAny>>,
        wait: bool,
        check: bool,
    ) -> Result<PyEvent> {
        let queue = match queue.filter(|queue| !queue.is_none()) {
            None => None,
            Some(queue) => Some(queue_argument(queue)?.ok_or_else(|| {
                Fault::Python(PyTypeError::new_err(format!(
                    "`queue` is {}; expected a Queue or None; help: `Device.queue` is the one of a device",
                    shown(queue)
                )))
            })?),
        };
        Self::launch(slf, range_of(range)?, arguments, &events_of(depends)?, queue, Mode { wait, check })
    }
}

/// How a launch is done.
#[derive(Clone, Copy)]
pub(crate) struct Mode {
    /// Whether it is waited for.
    pub(crate) wait: bool,
    /// Whether items are watched.
    pub(crate) check: bool,
}

impl PyLauncher {
    /// Launches the kernel for the arguments' types over an index space, as [`range_of`] says it.
    pub(crate) fn launch(
        slf: &Bound<'_, Self>,
        (range, dims, grouped): (NdRange, usize, bool),
        arguments: &Bound<'_, PyTuple>,
        depends: &[Event],
        queue: Option<Queue>,
        mode: Mode,
    ) -> Result<PyEvent> {
        let py = slf.py();
        let mut types = Vec::with_capacity(arguments.len());
        let mut all = Vec::with_capacity(arguments.len());
        for argument in arguments.iter() {
            let (argument, kind) = given(&argument)?;
            types.push(kind);
            all.push(argument);
        }
        let queue = match (queue, all.iter().find_map(Given::array)) {
            (Some(queue), _) => queue,
            (None, Some(array)) => array.queue().clone(),
            (None, None) => slf.call_method0("_queue")?.cast::<PyQueue>()?.get().0.clone(),
        };
        let double = queue.device().dtype_support().supports(Dtype::F64);
        let kernel = Self::kernel(slf, Key { dims, grouped, double, arguments: types })?;
        let arguments: Vec<_> = all.iter().map(Given::get).collect();
        let event = py.detach(|| {
            let event = if mode.check {
                kernel.launch_checked(&queue, range, &arguments, depends)
            } else {
                kernel.launch(&queue, range, &arguments, depends)
            }?;
            if mode.wait {
                event.wait()?;
            }
            Ok::<_, stridewise::Error>(event)
        })?;
        Ok(PyEvent(event))
    }
}
