//! Arrays from Python numbers and nested sequences of them.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySequence, PyString, PyTuple};
use stridewise::memory::heap;
use stridewise::{
    Dtype, Element, MAX_NDIM, Queue, UsmArray, UsmKind, Weak, promote_types, result_type, stack,
};

use super::creation::adapted;
use super::creation::on_queue;
use super::placement::Lie;
use crate::array::PyArray;
use crate::array::operand::{Operand, number};
use crate::errors::{Fault, Result};
use crate::objects::{self, SIGNALS};
use crate::protocol::{self, Request};
use crate::wait::library;

/// What there may be too many of.
const ITEMS: &str = "items of a sequence";

/// What is in a nested sequence.
#[derive(Default)]
struct Contents {
    shape: Vec<usize>,
    /// In row-major order.
    values: Vec<Weak>,
}

/// Why a sequence could not be read as one of numbers.
enum Obstacle {
    /// There is an array in it.
    Array,
    Fault(Fault),
}

impl<E: Into<Fault>> From<E> for Obstacle {
    fn from(error: E) -> Self {
        Self::Fault(error.into())
    }
}

/// Whether an object is a list, a tuple, a range or another sequence of objects. Text is none, nor is what has a buffer,
/// such as bytes, for that is an array.
pub(crate) fn is_sequence(object: &Bound<'_, PyAny>) -> bool {
    if object.cast::<PyList>().is_ok() || object.cast::<PyTuple>().is_ok() {
        return true;
    }
    // SAFETY: the interpreter's lock is held, and any object may be asked.
    let has_buffer = || unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) != 0 };
    object.cast::<PySequence>().is_ok() && object.cast::<PyString>().is_err() && !has_buffer()
}

/// The items of a sequence, where they are.
enum Items<'a, 'py> {
    List(&'a Bound<'py, PyList>),
    Tuple(&'a Bound<'py, PyTuple>),
    Other(Vec<Bound<'py, PyAny>>),
}

impl<'a, 'py> Items<'a, 'py> {
    /// Those of an object; `None` for what is no sequence.
    fn of(object: &'a Bound<'py, PyAny>) -> Result<Option<Self>> {
        if let Ok(list) = object.cast::<PyList>() {
            return Ok(Some(Self::List(list)));
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            return Ok(Some(Self::Tuple(tuple)));
        }
        if is_sequence(object) { Ok(Some(Self::Other(objects::values(object, Ok)?))) } else { Ok(None) }
    }

    fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Tuple(tuple) => tuple.len(),
            Self::Other(items) => items.len(),
        }
    }

    /// The items, one after the other: of a list that others shorten meanwhile, an `IndexError` behind its end.
    fn iter(&self) -> impl Iterator<Item = PyResult<Bound<'py, PyAny>>> {
        (0..self.len()).map(|place| match self {
            Self::List(list) => list.get_item(place),
            Self::Tuple(tuple) => tuple.get_item(place),
            Self::Other(items) => Ok(items[place].clone()),
        })
    }
}

fn too_deep() -> Fault {
    Fault::Python(PyValueError::new_err(format!(
        "axis out of range: sequences are nested deeper than {MAX_NDIM}; expected at most {MAX_NDIM} dimensions"
    )))
}

impl Contents {
    fn read(&mut self, object: &Bound<'_, PyAny>, depth: usize) -> std::result::Result<(), Obstacle> {
        if let Some(value) = number(object)? {
            if depth != self.shape.len() {
                return Err(ragged(depth));
            }
            if self.values.len() % SIGNALS == SIGNALS - 1 {
                object.py().check_signals()?;
            }
            return Ok(heap::push(ITEMS, &mut self.values, value)?);
        }
        let Some(items) = Items::of(object)? else { return Err(Obstacle::Array) };
        if depth >= MAX_NDIM {
            return Err(Obstacle::Fault(too_deep()));
        }
        match self.shape.get(depth) {
            Some(&extent) if extent == items.len() => {}
            Some(_) => return Err(ragged(depth)),
            // Only the first of a depth, before any number, may open it.
            None if self.values.is_empty() && depth == self.shape.len() && !self.shape.contains(&0) => {
                self.shape.push(items.len());
            }
            None => return Err(ragged(depth)),
        }
        items.iter().try_for_each(|item| self.read(&item?, depth + 1))
    }
}

fn ragged(depth: usize) -> Obstacle {
    Obstacle::Fault(Fault::Python(PyValueError::new_err(format!(
        "shape mismatch: a sequence has parts of different shapes at depth {depth}; expected nested sequences of one \
         shape; help: make the lists equally long"
    ))))
}

/// Where the array of a sequence is made.
struct Place<'a> {
    queue: &'a Queue,
    kind: UsmKind,
    moved: Moved,
}

/// Which arrays in a sequence are moved to the queue; those of others in memory of the processor, which have none, always are.
#[derive(Clone, Copy, PartialEq)]
enum Moved {
    None,
    OfOthers,
    All,
}

/// An array of a Python number, or of nested sequences of numbers and arrays, ours or others', in new memory of a kind on a queue.
/// Without a dtype: `bool`, the default integer, the default float or the default complex dtype, as the numbers need;
/// with arrays among them, what they and the numbers promote to. Our arrays are not moved.
///
/// # Errors
/// `TypeError` for something else, `ValueError` where parts have different shapes, `ExecutionPlacementError` where one of our
/// arrays is on another queue, what the allocation reports.
pub(crate) fn array_of(
    object: &Bound<'_, PyAny>,
    dtype: Option<Dtype>,
    queue: &Queue,
    kind: UsmKind,
) -> Result<UsmArray> {
    array_at(0, object, dtype, &Place { queue, kind, moved: Moved::OfOthers })
}

/// As [`array_of`], where a queue or a kind need not be named: then it is that of the arrays among the numbers, and without
/// any, the default one of the default device. To a queue that is named, all arrays are moved. The dtype is that for a queue.
///
/// # Errors
/// As for [`array_of`]; `ExecutionPlacementError` where no queue is named and two arrays are on different ones.
pub(crate) fn array_placed(
    object: &Bound<'_, PyAny>,
    dtype: impl FnOnce(&Queue) -> Result<Option<Dtype>>,
    queue: Option<Queue>,
    kind: Option<UsmKind>,
) -> Result<UsmArray> {
    let moved = if queue.is_some() { Moved::All } else { Moved::None };
    let mut contents = Contents::default();
    let numbers = match contents.read(object, 0) {
        Ok(()) => Some(contents),
        Err(Obstacle::Fault(fault)) => return Err(fault),
        Err(Obstacle::Array) => None,
    };
    let mut home = None;
    if numbers.is_none() {
        find_home(0, object, &mut home)?;
    }
    let (own_queue, own_kind) = home.unzip();
    let queue = queue.or(own_queue).map_or_else(Queue::default_queue, Ok)?;
    let kind = kind.or(own_kind).unwrap_or_else(|| queue.device().default_kind());
    let (dtype, place) = (dtype(&queue)?, Place { queue: &queue, kind, moved });
    if let Some(contents) = numbers {
        return array_of_numbers(object.py(), contents, dtype, &place);
    }
    let array = stacked(0, object, dtype, &place)?;
    // What is put together of arrays has their kind.
    Ok(object.py().detach(|| adapted(&array, array.dtype(), None, Some(kind), Lie::Kept, None))?)
}

/// The queue of the first array in a sequence, and the kind of a result of all.
fn find_home(depth: usize, object: &Bound<'_, PyAny>, home: &mut Option<(Queue, UsmKind)>) -> Result<()> {
    if number(object)?.is_some() {
        return Ok(());
    }
    if let Some(array) = placed_array(object)? {
        let kind = array.usm_kind();
        match home {
            None => *home = Some((array.queue().clone(), kind)),
            Some((_, all)) => *all = all.combine(kind),
        }
        return Ok(());
    }
    if depth >= MAX_NDIM {
        return Err(too_deep());
    }
    match Items::of(object)? {
        Some(items) => items.iter().try_for_each(|item| find_home(depth + 1, &item?, home)),
        None => Ok(()),
    }
}

/// The array that an object is which has a queue: one of ours, or one in USM memory of others.
fn placed_array(object: &Bound<'_, PyAny>) -> Result<Option<UsmArray>> {
    match object.cast::<PyArray>() {
        Ok(array) => Ok(Some(array.get().array().clone())),
        Err(_) => protocol::import_usm(object, &Request { queue: None, copy: None }),
    }
}

/// As [`array_of`], for a part that is so deep in a sequence.
fn array_at(
    depth: usize,
    object: &Bound<'_, PyAny>,
    dtype: Option<Dtype>,
    place: &Place<'_>,
) -> Result<UsmArray> {
    let mut contents = Contents::default();
    match contents.read(object, 0) {
        Ok(()) => array_of_numbers(object.py(), contents, dtype, place),
        Err(Obstacle::Fault(fault)) => Err(fault),
        Err(Obstacle::Array) => stacked(depth, object, dtype, place),
    }
}

fn array_of_numbers(
    py: Python<'_>,
    contents: Contents,
    dtype: Option<Dtype>,
    place: &Place<'_>,
) -> Result<UsmArray> {
    /// Rough number of operations that a number takes.
    const FOR_A_NUMBER: f64 = 32.0;
    let Contents { shape, values } = contents;
    let (queue, kind) = (place.queue.clone(), place.kind);
    let operations = values.len() as f64 * FOR_A_NUMBER;
    library(py, operations, [], move |[]: [&UsmArray; 0]| {
        let dtype = match dtype {
            Some(dtype) => dtype,
            None if values.is_empty() => queue.device().dtype_support().default_float(),
            None => natural(&values, &queue)?,
        };
        stridewise::with_dtype!(dtype, T => {
            let values = heap::try_collect(ITEMS, values.iter().map(|value| converted::<T>(value, dtype)))?;
            UsmArray::from_slice::<T>(&queue, &shape, &values, kind)
        })
    })
}

/// The dtype that numbers ask for.
fn natural(values: &[Weak], queue: &Queue) -> stridewise::Result<Dtype> {
    // One of each kind decides; that of the numbers beyond `int64` is `uint64`.
    let mut kinds: Vec<Weak> = Vec::new();
    let (mut largest, mut least) = (0, 0);
    for value in values {
        if !kinds.iter().any(|seen| seen.kind() == value.kind()) {
            kinds.push(match value {
                Weak::Int(_) => Weak::Int(0),
                other => *other,
            });
        }
        if let Weak::Int(value) = *value {
            (largest, least) = (value.max(largest), value.min(least));
        }
    }
    let dtype = result_type(&[], &kinds, queue.device().dtype_support())?;
    let unsigned = dtype == Dtype::I64 && least >= 0 && largest > i64::MAX.into();
    Ok(if unsigned { Dtype::U64 } else { dtype })
}

fn converted<T: Element>(value: &Weak, dtype: Dtype) -> stridewise::Result<T> {
    // A value of the dtype asked for is one of T.
    Ok(value.assigned(dtype)?.get::<T>().unwrap_or_default())
}

/// An array of a sequence in which there are arrays.
fn stacked(
    depth: usize,
    object: &Bound<'_, PyAny>,
    dtype: Option<Dtype>,
    place: &Place<'_>,
) -> Result<UsmArray> {
    let (queue, kind) = (place.queue, place.kind);
    if let Some(array) = placed_array(object)? {
        let moved = match place.moved {
            Moved::None => false,
            Moved::OfOthers => object.cast::<PyArray>().is_err(),
            Moved::All => true,
        };
        return if moved { Ok(object.py().detach(|| on_queue(&array, queue))?) } else { Ok(array) };
    }
    let Some(items) = Items::of(object)? else {
        return match Operand::value(object) {
            Ok(Some(Operand::Scalar(value))) => {
                let value = dtype.map_or(Ok(value), |dtype| value.weak().assigned(dtype))?;
                Ok(UsmArray::full(queue, &[], value, kind)?)
            }
            Ok(Some(Operand::Weak(value))) => {
                let dtype = dtype.map_or_else(|| natural(&[value], queue), Ok)?;
                Ok(UsmArray::full(queue, &[], value.assigned(dtype)?, kind)?)
            }
            _ => match protocol::import(object, &Request { queue: Some(queue), copy: None })? {
                Some(array) => Ok(object.py().detach(|| on_queue(&array, queue))?),
                None => Err(Fault::Python(PyTypeError::new_err(format!(
                    "`obj` has an element of type {}; expected numbers, arrays, or nested sequences of them; help: \
                     convert it to numbers first",
                    object.get_type().name()?
                )))),
            },
        };
    };
    // A list may be in itself.
    if depth >= MAX_NDIM {
        return Err(too_deep());
    }
    let part = |item: PyResult<Bound<'_, PyAny>>| array_at(depth + 1, &item?, dtype, place);
    let parts = heap::try_collect(ITEMS, items.iter().map(part))?;
    let Some(common) =
        parts.iter().map(UsmArray::dtype).reduce(promote_types).map(|own| dtype.unwrap_or(own))
    else {
        return Err(Fault::Python(PyTypeError::new_err("`obj` is an empty sequence among arrays")));
    };
    Ok(object.py().detach(|| {
        let parts = heap::try_collect(ITEMS, parts.iter().map(|part| part.astype(common)))?;
        stack(&heap::collect(ITEMS, &parts)?, 0)
    })?)
}
