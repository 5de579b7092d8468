//! Arrays from Python numbers and nested sequences of them.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySequence, PyString, PyTuple};
use stridewise::{
    Dtype, Element, MAX_NDIM, Queue, Scalar, UsmArray, UsmKind, Weak, promote_types, result_type, stack,
};

use crate::array::PyArray;
use crate::array::operand::{Operand, number};
use crate::errors::{Fault, Result};
use crate::protocol::{self, Request};

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

impl From<PyErr> for Obstacle {
    fn from(error: PyErr) -> Self {
        Self::Fault(Fault::Python(error))
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

/// The items of a sequence; `None` for what is none.
fn items<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    if let Ok(list) = object.cast::<PyList>() {
        return Ok(Some(list.iter().collect()));
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return Ok(Some(tuple.iter().collect()));
    }
    if is_sequence(object) { object.try_iter()?.collect::<PyResult<_>>().map(Some) } else { Ok(None) }
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
            self.values.push(value);
            return Ok(());
        }
        let Some(items) = items(object)? else { return Err(Obstacle::Array) };
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
        items.iter().try_for_each(|item| self.read(item, depth + 1))
    }
}

fn ragged(depth: usize) -> Obstacle {
    Obstacle::Fault(Fault::Python(PyValueError::new_err(format!(
        "shape mismatch: a sequence has parts of different shapes at depth {depth}; expected nested sequences of one \
         shape; help: make the lists equally long"
    ))))
}

/// An array of a Python number, or of nested sequences of numbers and arrays, ours or others', in new memory of a kind on a queue.
/// Without a dtype: `bool`, the default integer, the default float or the default complex dtype, as the numbers need;
/// with arrays among them, what they and the numbers promote to.
///
/// # Errors
/// `TypeError` for something else, `ValueError` where parts have different shapes, what the allocation reports.
pub(crate) fn array_of(
    object: &Bound<'_, PyAny>,
    dtype: Option<Dtype>,
    queue: &Queue,
    kind: UsmKind,
) -> Result<UsmArray> {
    array_at(0, object, dtype, queue, kind)
}

/// As [`array_of`], for a part that is so deep in a sequence.
fn array_at(
    depth: usize,
    object: &Bound<'_, PyAny>,
    dtype: Option<Dtype>,
    queue: &Queue,
    kind: UsmKind,
) -> Result<UsmArray> {
    let mut contents = Contents::default();
    match contents.read(object, 0) {
        Ok(()) => {}
        Err(Obstacle::Fault(fault)) => return Err(fault),
        Err(Obstacle::Array) => return stacked(depth, object, dtype, queue, kind),
    }
    let Contents { shape, values } = contents;
    let dtype = match dtype {
        Some(dtype) => dtype,
        None if values.is_empty() => queue.device().dtype_support().default_float(),
        None => natural(&values, queue)?,
    };
    object.py().detach(|| {
        Ok(stridewise::with_dtype!(dtype, T => {
            let values = values.iter().map(|value| converted::<T>(value, dtype));
            UsmArray::from_slice::<T>(queue, &shape, &values.collect::<stridewise::Result<Vec<T>>>()?, kind)?
        }))
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
    queue: &Queue,
    kind: UsmKind,
) -> Result<UsmArray> {
    if let Ok(array) = object.cast::<PyArray>() {
        return Ok(array.get().array().clone());
    }
    let Some(items) = items(object)? else {
        return match object.extract::<Operand<'_>>() {
            Ok(Operand::Scalar(value)) => Ok(UsmArray::full(queue, &[], convert(value, dtype), kind)?),
            Ok(Operand::Weak(value)) => {
                let dtype = dtype.map_or_else(|| natural(&[value], queue), Ok)?;
                Ok(UsmArray::full(queue, &[], value.assigned(dtype)?, kind)?)
            }
            _ => match protocol::import(object, &Request { queue: Some(queue), copy: None })? {
                Some(array) => Ok(object.py().detach(|| array.to_queue(queue))?),
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
    let part = |item: &Bound<'_, PyAny>| array_at(depth + 1, item, dtype, queue, kind);
    let parts = items.iter().map(part).collect::<Result<Vec<_>>>()?;
    let Some(common) =
        parts.iter().map(UsmArray::dtype).reduce(promote_types).map(|own| dtype.unwrap_or(own))
    else {
        return Err(Fault::Python(PyTypeError::new_err("`obj` is an empty sequence among arrays")));
    };
    Ok(object.py().detach(|| {
        let parts = parts.iter().map(|part| part.astype(common)).collect::<stridewise::Result<Vec<_>>>()?;
        stack(&parts.iter().collect::<Vec<_>>(), 0)
    })?)
}

fn convert(value: Scalar, dtype: Option<Dtype>) -> Scalar {
    dtype.map_or(value, |dtype| value.cast(dtype))
}
