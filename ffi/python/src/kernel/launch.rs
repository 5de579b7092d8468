//! Launches: arguments are read, the kernel for their types is found or made, and the scheduler has it.
//!
//! Every launch comes here, so that what a launch of a kernel that is known costs is this function.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use stridewise::kernel::{Argument, Kernel, LaunchOptions, NdRange, Parameter};
use stridewise::{Dtype, DtypeKind, Event, Queue, Scalar, UsmArray, Weak};

use super::range::{PyLocalAccessor, PyNdRange, PyRange};
use crate::arguments;
use crate::array::operand::{self, Operand};
use crate::array::{Now, PyArray};
use crate::errors::{Fault, Result, shown};
use crate::objects;
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
    /// A Python number, which takes the dtype of what it meets; unsigned where it is beyond an `int64`.
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
        DtypeKind::Signed => Dtype::I64,
        DtypeKind::Unsigned => Dtype::U64,
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

/// The kind of a Python number as an argument.
fn kind_of(number: Weak) -> DtypeKind {
    match number {
        Weak::Int(value) if value > i64::MAX.into() => DtypeKind::Unsigned,
        other => other.kind(),
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
        return Ok((Given::Number(number), Type::Number(kind_of(number))));
    }
    if let Some(array) = protocol::import_usm(argument, &Request { queue: None, copy: Some(false) })? {
        let kind = Type::Array(array.dtype(), array.ndim());
        let array = if array.ndim() == 0 { array.reshape_view(&[1])? } else { array };
        return Ok((Given::Made(array), kind));
    }
    match argument.extract::<Operand<'py>>() {
        Ok(Operand::Weak(number)) => Ok((Given::Number(number), Type::Number(kind_of(number)))),
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
    known: Mutex<VecDeque<(Key, Made)>>,
}

/// A kernel that was made for arguments of certain types, and what it asks of numbers among them beyond that.
struct Made {
    kernel: Kernel,
    /// The number of an argument, and its least and largest value, without its fraction.
    guards: Vec<(usize, Option<i128>, Option<i128>)>,
    /// What Python computes further numbers with: a function of the arguments. It gives none where the kernel is not for them.
    derive: Option<Py<PyAny>>,
}

impl Made {
    fn fits(&self, arguments: &[Given<'_>]) -> bool {
        self.guards.iter().all(|&(number, low, high)| {
            let value = match arguments.get(number) {
                Some(Given::Number(Weak::Int(value))) => *value,
                Some(Given::Number(Weak::Bool(value))) => i128::from(*value),
                Some(Given::Number(Weak::Float(value))) if value.is_finite() => *value as i128,
                _ => return false,
            };
            low.is_none_or(|low| low <= value) && high.is_none_or(|high| value <= high)
        })
    }
}

/// A kernel with the numbers that it takes behind the arguments.
type Found = (Kernel, Vec<Weak>);

impl PyLauncher {
    /// The kernel for arguments, if there is one.
    fn find(
        &self,
        py: Python<'_>,
        key: &Key,
        given: &[Given<'_>],
        arguments: &Bound<'_, PyTuple>,
    ) -> Result<Option<Found>> {
        // Python's functions are not called under the lock.
        let mut asked = Vec::new();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, made) in known.iter().filter(|(known, made)| known == key && made.fits(given)) {
            match &made.derive {
                None => return Ok(Some((made.kernel.clone(), Vec::new()))),
                Some(derive) => asked.push((made.kernel.clone(), derive.clone_ref(py))),
            }
        }
        drop(known);
        for (kernel, derive) in asked {
            if let Some(numbers) = numbers_of(derive.bind(py), arguments)? {
                return Ok(Some((kernel, numbers)));
            }
        }
        Ok(None)
    }

    fn remember(&self, key: Key, made: Made) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let first = if known.len() >= KERNELS { known.pop_front() } else { None };
        known.push_back((key, made));
        drop(known);
        // What Python runs when its objects go, it runs without the lock.
        drop(first);
    }

    fn kernel(
        slf: &Bound<'_, Self>,
        key: Key,
        given: &[Given<'_>],
        arguments: &Bound<'_, PyTuple>,
    ) -> Result<Found> {
        let py = slf.py();
        if let Some(found) = slf.get().find(py, &key, given, arguments)? {
            return Ok(found);
        }
        let described = key.describe(py)?;
        let made = (key.dims, key.grouped, key.double, described, arguments);
        let made = slf.call_method1("_specialise", made)?;
        let (compiled, guards, derive): (Bound<'_, PyAny>, _, Bound<'_, PyAny>) = made.extract()?;
        let kernel = compiled.cast::<PyCompiled>()?.get().0.clone();
        let derive = (!derive.is_none()).then_some(derive);
        let numbers = match &derive {
            None => Vec::new(),
            Some(derive) => numbers_of(derive, arguments)?.ok_or_else(|| {
                Fault::Python(PyRuntimeError::new_err(
                    "the numbers of a kernel change while it is made; help: give numbers that stay",
                ))
            })?,
        };
        // Two threads may have made the same one; that is found first then.
        if slf.get().find(py, &key, given, arguments)?.is_none() {
            let derive = derive.map(Bound::unbind);
            slf.get().remember(key, Made { kernel: kernel.clone(), guards, derive });
        }
        Ok((kernel, numbers))
    }
}

/// The numbers that a function computes of arguments, unless they are not what it is for.
fn numbers_of(derive: &Bound<'_, PyAny>, arguments: &Bound<'_, PyTuple>) -> Result<Option<Vec<Weak>>> {
    let numbers = derive.call1((arguments,))?;
    if numbers.is_none() {
        return Ok(None);
    }
    let numbers = objects::values(&numbers, |number| {
        operand::number(&number)?
            .ok_or_else(|| Fault::Python(PyTypeError::new_err(format!("{} is no number", shown(&number)))))
    });
    numbers.map(Some)
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
        let mut all = Vec::with_capacity(arguments.len());
        for argument in arguments.iter() {
            let (argument, kind) = given(&argument)?;
            types.push(kind);
            all.push(argument);
        }
        let queue = match all.iter().find_map(Given::array) {
            Some(array) => array.queue().clone(),
            None => slf.call_method0("_queue")?.cast::<PyQueue>()?.get().0.clone(),
        };
        let double = queue.device().dtype_support().supports(Dtype::F64);
        let key = Key { dims, grouped, double, arguments: types };
        Ok(PyCompiled(Self::kernel(slf, key, &all, arguments)?.0))
    }

    /// Launches the kernel for the arguments' types behind the events in `depends`, and waits for it if asked to.
    #[pyo3(signature = (range, arguments, depends, queue, wait, check, time_limit = None))]
    #[allow(clippy::too_many_arguments)]
    fn _launch(
        slf: &Bound<'_, Self>,
        range: &Bound<'_, PyAny>,
        arguments: &Bound<'_, PyTuple>,
        depends: Option<&Bound<'_, PyAny>>,
        queue: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = arguments::flag)] wait: bool,
        #[pyo3(from_py_with = arguments::flag)] check: bool,
        #[pyo3(from_py_with = arguments::optional_real)] time_limit: Option<f64>,
    ) -> Result<PyEvent> {
        let time_limit = time_limit.map(time_limit_of).transpose()?;
        let queue = match queue.filter(|queue| !queue.is_none()) {
            None => None,
            Some(queue) => Some(queue_argument(queue)?.ok_or_else(|| {
                Fault::Python(PyTypeError::new_err(format!(
                    "`queue` is {}; expected a Queue or None; help: `Device.queue` is the one of a device",
                    shown(queue)
                )))
            })?),
        };
        Self::launch(
            slf,
            range_of(range)?,
            arguments,
            &events_of(depends)?,
            queue,
            Mode { wait, check, time_limit },
        )
    }
}

/// A time limit in seconds.
fn time_limit_of(seconds: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero()).ok_or_else(|| {
        let help = "leave it out for none";
        stridewise::Error::value("time_limit", seconds, "a number of seconds above 0", help).into()
    })
}

/// How a launch is done.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mode {
    /// Whether it is waited for.
    pub(crate) wait: bool,
    /// Whether items are watched.
    pub(crate) check: bool,
    /// How long it may take.
    pub(crate) time_limit: Option<Duration>,
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
        let key = Key { dims, grouped, double, arguments: types };
        let (kernel, numbers) = Self::kernel(slf, key, &all, arguments)?;
        let numbers = numbers.into_iter().map(Argument::Weak);
        let arguments: Vec<_> = all.iter().map(Given::get).chain(numbers).collect();
        let event = py.detach(|| {
            let options = LaunchOptions { checked: mode.check, time_limit: mode.time_limit };
            let event = kernel.launch_with(&queue, range, &arguments, depends, options)?;
            if mode.wait {
                event.wait()?;
            }
            Ok::<_, stridewise::Error>(event)
        })?;
        Ok(PyEvent(event))
    }
}
