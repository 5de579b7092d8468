//! The constructor.

use pyo3::exceptions::{PyMemoryError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use stridewise::{MAX_NDIM, Queue, Strides, UsmArray, UsmKind, backend::Dims};

use super::PyArray;
use crate::arguments;
use crate::dtype;
use crate::errors::{Fault, Result, shown};
use crate::memory::PyMemory;
use crate::namespace::placement::{order_of, queue_of};
use crate::protocol;

/// Extents from a number or a sequence of numbers.
///
/// # Errors
/// `TypeError` for something else; `ValueError` for a negative extent.
pub(crate) fn shape_of(argument: &Bound<'_, PyAny>) -> Result<Dims> {
    integers("shape", argument)?
        .into_iter()
        .map(|extent| {
            usize::try_from(extent).map_err(|_| {
                Fault::Python(PyValueError::new_err(format!(
                    "shape mismatch: `shape` has an extent of {extent}; expected extents of 0 or more; help: name the \
                     number of elements along each axis"
                )))
            })
        })
        .collect()
}

/// Numbers of something about axes at most. There are fewer axes; but up to here, what is asked for says so in its own words, and far
/// beyond, it would ask for memory first.
const MOST_INTEGERS: usize = 1 << 10;

/// Signed numbers about axes, from a number or a sequence of numbers.
///
/// # Errors
/// As for [`many_integers`]; `ValueError` for very many.
pub(crate) fn integers(name: &str, argument: &Bound<'_, PyAny>) -> Result<Strides> {
    let numbers = many_integers(name, argument)?;
    match numbers.len() {
        0..=MOST_INTEGERS => Ok(numbers),
        count => Err(Fault::Python(PyValueError::new_err(format!(
            "invalid value: `{name}` is a sequence of {count} integers; expected at most {MAX_NDIM}, as arrays have axes"
        )))),
    }
}

/// Signed numbers from a number or a sequence of numbers.
///
/// # Errors
/// `TypeError` for something else; `OverflowError` for numbers beyond 64 bits; `MemoryError`.
pub(crate) fn many_integers(name: &str, argument: &Bound<'_, PyAny>) -> Result<Strides> {
    let index = argument.py().get_type::<pyo3::types::PyInt>();
    let too_large = |error: PyErr| {
        if !error.is_instance_of::<PyOverflowError>(argument.py()) {
            return error;
        }
        PyOverflowError::new_err(format!(
            "`{name}` is {}; expected integers of at most 64 bits",
            shown(argument)
        ))
    };
    if argument.is_instance(&index)? {
        return Ok(std::iter::once(argument.extract::<isize>().map_err(too_large)?).collect());
    }
    let wrong = |_| {
        let given = shown(argument);
        PyTypeError::new_err(format!("`{name}` is {given}; expected an integer or a sequence of integers"))
    };
    match argument.try_iter() {
        Ok(items) => {
            let mut numbers = Strides::new();
            for item in items {
                let number = item?.extract::<isize>().map_err(|error| {
                    if error.is_instance_of::<PyTypeError>(argument.py()) {
                        wrong(error)
                    } else {
                        too_large(error)
                    }
                })?;
                // By as many again, as a vector does by itself.
                if numbers.len() == numbers.capacity() && numbers.try_reserve(numbers.len().max(1)).is_err() {
                    return Err(Fault::Python(PyMemoryError::new_err(format!(
                        "`{name}` is a sequence of more than {} integers, for which there is no memory; expected fewer",
                        numbers.len()
                    ))));
                }
                numbers.push(number);
            }
            Ok(numbers)
        }
        // Numbers of others have `__index__`.
        Err(error) => match argument.extract::<isize>() {
            Ok(number) => Ok(std::iter::once(number).collect()),
            Err(_) => Err(Fault::Python(wrong(error))),
        },
    }
}

#[pymethods]
impl PyArray {
    #[new]
    #[pyo3(signature = (
        shape, dtype=None, strides=None, buffer=None, offset=None, order="C", buffer_ctor_kwargs=None, *,
        array_namespace=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        shape: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
        strides: Option<&Bound<'_, PyAny>>,
        buffer: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = arguments::optional_whole)] offset: Option<isize>,
        #[pyo3(from_py_with = arguments::text)] order: &str,
        #[pyo3(from_py_with = arguments::optional_dict)] buffer_ctor_kwargs: Option<&Bound<'_, PyDict>>,
        array_namespace: Option<&Bound<'_, PyAny>>,
    ) -> Result<Self> {
        if let Some(namespace) = array_namespace.filter(|namespace| !namespace.is_none())
            && !namespace.is(py.import("stridewise")?)
        {
            return Err(Fault::Python(PyTypeError::new_err(format!(
                "unsupported: `array_namespace` is {}; expected None or the module stridewise; help: there is one namespace",
                shown(namespace)
            ))));
        }
        let options = Options::read(buffer_ctor_kwargs)?;
        let mut builder = UsmArray::builder(shape_of(shape)?).order(order_of(order)?.named());
        let queue = match buffer.filter(|buffer| !buffer.is_none()) {
            None => queue_of(None, options.queue.as_ref(), None)?,
            Some(buffer) => {
                if let Ok(kind) = buffer.cast::<PyString>() {
                    builder = builder.buffer(arguments::characters("buffer", kind)?.parse::<UsmKind>()?);
                    queue_of(None, options.queue.as_ref(), None)?
                } else if let Ok(memory) = buffer.cast::<PyMemory>() {
                    builder = builder.buffer(&memory.get().0);
                    options.queue_or(memory.get().0.queue())?
                } else if let Ok(array) = buffer.cast::<Self>() {
                    let array: &UsmArray = &array.get().array();
                    builder = builder.buffer(array);
                    options.queue_or(array.queue())?
                } else if let Some(memory) = protocol::import_memory(buffer)? {
                    builder = builder.buffer(&memory);
                    options.queue_or(memory.queue())?
                } else {
                    return Err(Fault::Python(PyTypeError::new_err(format!(
                        "`buffer` is {}; expected \"device\", \"shared\" or \"host\" for new memory, a Memory object or \
                         an array; help: to copy something else, use asarray",
                        shown(buffer)
                    ))));
                }
            }
        };
        if let Some(strides) = strides.filter(|strides| !strides.is_none()) {
            builder = builder.strides(integers("strides", strides)?);
        }
        if let Some(offset) = offset {
            let Ok(offset) = usize::try_from(offset) else {
                return Err(Fault::Python(PyValueError::new_err(format!(
                    "out of bounds: `offset` is {offset}; expected 0 or more elements from the start of the buffer; \
                     help: leave it out for the least that fits"
                ))));
            };
            builder = builder.offset(offset);
        }
        if let Some(dtype) = dtype::optional(dtype, queue.device().dtype_support())? {
            builder = builder.dtype(dtype);
        }
        if let Some(alignment) = options.alignment.filter(|&alignment| alignment > 0) {
            builder = builder.alignment(alignment);
        }
        let builder = builder.queue(&queue).copy(options.copy);
        Ok(py.detach(|| builder.build())?.into())
    }
}

/// What `buffer_ctor_kwargs` holds.
struct Options<'py> {
    queue: Option<Bound<'py, PyAny>>,
    alignment: Option<usize>,
    copy: bool,
}

impl<'py> Options<'py> {
    fn read(given: Option<&Bound<'py, PyDict>>) -> Result<Self> {
        let mut options = Self { queue: None, alignment: None, copy: false };
        for (name, value) in given.into_iter().flatten() {
            let named = |error| arguments::named(name.py(), "a key of `buffer_ctor_kwargs`", error);
            match arguments::text(&name).map_err(named)? {
                "queue" | "sycl_queue" => options.queue = Some(value),
                "alignment" => {
                    let named = |error| arguments::named(value.py(), "alignment", error);
                    options.alignment = arguments::optional_whole(&value).map_err(named)?;
                }
                "copy" => options.copy = value.is_truthy()?,
                other => {
                    return Err(Fault::Python(PyTypeError::new_err(format!(
                        "`buffer_ctor_kwargs` has the key {other:?}; expected \"queue\", \"alignment\" or \"copy\""
                    ))));
                }
            }
        }
        Ok(options)
    }

    fn queue_or(&self, default: &Queue) -> Result<Queue> {
        match &self.queue {
            Some(queue) if !queue.is_none() => queue_of(None, Some(queue), None),
            _ => Ok(default.clone()),
        }
    }
}
