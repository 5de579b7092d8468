//! Operands: our arrays, NumPy's arrays, Python's numbers, and NumPy's scalars.

use std::ops::Deref;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt};
use pyo3::{Borrowed, FromPyObject};
use stridewise::{ArrayOrScalar, Complex, Queue, Scalar, UsmArray, Weak};

use super::{Now, PyArray};
use crate::arguments;
use crate::dtype;
use crate::errors::{ExecutionPlacementError, Fault, Result};
use crate::namespace::creation::on_queue;
use crate::namespace::sequence;
use crate::protocol;
use crate::protocol::numpy::Numpy;

/// An array that a function takes.
pub(crate) enum Given<'py> {
    /// One of ours.
    Ours(Now<PyRef<'py, PyArray>>),
    /// One of NumPy's, on its memory where an array can be: on the queue of the processor, until [`gather`] puts it beside
    /// ours.
    Numpys(UsmArray),
    /// One of the elements of a list, a tuple, another sequence or a number, as `asarray` makes it, until [`gather`] puts it beside others.
    Made(UsmArray),
}

impl Given<'_> {
    /// The array.
    #[inline]
    pub(crate) fn array(&self) -> &UsmArray {
        self
    }
}

impl Deref for Given<'_> {
    type Target = UsmArray;
    #[inline]
    fn deref(&self) -> &UsmArray {
        match self {
            Self::Ours(array) => array,
            Self::Numpys(array) | Self::Made(array) => array,
        }
    }
}

/// The error about an object that is no array.
fn of_type(object: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    match object.get_type().name() {
        Ok(name) => arguments::about(object.py(), format!("is of type {name}; expected {expected}")),
        Err(error) => error,
    }
}

impl<'py> Given<'py> {
    /// The array that an object is, ours or NumPy's; `None` for one that is none, whatever could be made of it.
    pub(crate) fn array_of(object: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        if let Ok(array) = object.cast::<PyArray>() {
            return Ok(Some(Self::Ours(Now::of(array.borrow()))));
        }
        Ok(protocol::numpy::in_place(object)?.map(Self::Numpys))
    }

    /// The array of a list, a tuple, another sequence or a number: the one place that says of what arrays are made where functions take them.
    /// `None` for other objects.
    fn made(object: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        if !sequence::is_sequence(object) && Operand::value(object)?.is_none() {
            return Ok(None);
        }
        Ok(Some(Self::Made(sequence::array_placed(object, |_| Ok(None), None, None)?)))
    }

    /// Puts an array that is none of ours on a queue.
    ///
    /// # Errors
    /// `ExecutionPlacementError` for one of NumPy's where the queue does not work on memory of the processor.
    pub(crate) fn put_on(&mut self, queue: &Queue) -> Result<()> {
        match self {
            Self::Ours(_) => {}
            Self::Numpys(array) => *array = beside(array, queue)?,
            // In no memory that anybody knows: it is copied to where it is needed.
            Self::Made(array) if array.queue().context() == queue.context() => {
                *array = on_queue(array, queue)?
            }
            Self::Made(array) => *array = on_queue(array, queue)?,
        }
        Ok(())
    }
}

impl<'py> FromPyObject<'_, 'py> for Given<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Some(array) = Self::array_of(&object)? {
            return Ok(array);
        }
        match Self::made(&object)? {
            Some(array) => Ok(array),
            None => Err(of_type(
                &object,
                "a usm_ndarray, a NumPy array, a list or a number; help: convert it with asarray",
            )),
        }
    }
}

/// An array that a function writes to: one of ours, or one of NumPy's in its own memory. What is known outside is written
/// when the call returns.
pub(crate) struct Target<'py>(pub(crate) Given<'py>);

impl<'py> FromPyObject<'_, 'py> for Target<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArray>() {
            return Ok(Self(Given::Ours(Now::of(array.borrow()))));
        }
        match protocol::numpy::for_writing(&object)? {
            Some(array) => Ok(Self(Given::Numpys(array))),
            None => Err(of_type(&object, "a usm_ndarray or a NumPy array to write to")),
        }
    }
}

/// What may be one of several arrays that an operation takes.
pub(crate) trait Part {
    /// The array that it is.
    fn given(&self) -> Option<&Given<'_>>;
    /// Puts the array that it is, where that is none of ours, on a queue; see [`Given::put_on`].
    fn put_on(&mut self, queue: &Queue) -> Result<()>;
    /// Whether it is an array, and none of ours.
    #[inline]
    fn is_foreign(&self) -> bool {
        matches!(self.given(), Some(Given::Numpys(_) | Given::Made(_)))
    }
}
impl Part for Given<'_> {
    #[inline]
    fn given(&self) -> Option<&Given<'_>> {
        Some(self)
    }
    fn put_on(&mut self, queue: &Queue) -> Result<()> {
        Given::put_on(self, queue)
    }
}
impl Part for Operand<'_> {
    #[inline]
    fn given(&self) -> Option<&Given<'_>> {
        match self {
            Self::Array(array) => Some(array),
            _ => None,
        }
    }
    fn put_on(&mut self, queue: &Queue) -> Result<()> {
        match self {
            Self::Array(array) => array.put_on(queue),
            _ => Ok(()),
        }
    }
}
impl<P: Part> Part for Option<P> {
    #[inline]
    fn given(&self) -> Option<&Given<'_>> {
        self.as_ref().and_then(Part::given)
    }
    fn put_on(&mut self, queue: &Queue) -> Result<()> {
        self.as_mut().map_or(Ok(()), |part| part.put_on(queue))
    }
}

/// Puts what is none of ours among several arrays on the queue of the first of ours; without one, what is made on the queue
/// of the first of NumPy's.
///
/// # Errors
/// `ExecutionPlacementError` where that does not work on memory of the processor.
pub(crate) fn gather(parts: &mut [&mut dyn Part]) -> Result<()> {
    let queue = |ours: bool| {
        parts.iter().find_map(|part| match part.given() {
            Some(Given::Ours(array)) if ours => Some(array.queue().clone()),
            Some(Given::Numpys(array)) if !ours => Some(array.queue().clone()),
            _ => None,
        })
    };
    let Some(queue) = queue(true).or_else(|| queue(false)) else { return Ok(()) };
    parts.iter_mut().try_for_each(|part| part.put_on(&queue))
}

/// An array of NumPy's on a queue.
///
/// # Errors
/// As for [`gather`].
fn beside(array: &UsmArray, queue: &Queue) -> Result<UsmArray> {
    if !protocol::works_in_place(queue) {
        return Err(Fault::Python(ExecutionPlacementError::new_err(format!(
            "execution placement: an array of NumPy's, which is in memory of the processor, is beside one on {queue}; \
             expected arrays of one queue; help: copy it there first, with stridewise.asarray(x, device=…)"
        ))));
    }
    Ok(array.to_queue(queue)?)
}

/// [`gather`], of arguments by their names, which is nothing to do where all are ours.
macro_rules! together {
    ($($argument:ident),+) => {{
        use $crate::array::operand::Part;
        if $($argument.is_foreign())||+ {
            $crate::array::operand::gather(&mut [$(&mut $argument),+])?;
        }
    }};
}
pub(crate) use together;

/// An operand of an operation.
pub(crate) enum Operand<'py> {
    /// An array.
    Array(Given<'py>),
    /// A Python number, which takes the arrays' dtype.
    Weak(Weak),
    /// A scalar of NumPy's, which has a dtype.
    Scalar(Scalar),
}

impl<'py> Operand<'py> {
    /// The operand that a number or a scalar of NumPy's is; `None` for another object.
    pub(crate) fn value(object: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        if let Some(number) = number(object)? {
            return Ok(Some(Self::Weak(number)));
        }
        if let Some(numpy) = Numpy::of(object.py())
            && let Some(scalar) = scalar(object, numpy)?
        {
            return Ok(Some(Self::Scalar(scalar)));
        }
        Ok(derived(object)?.map(Self::Weak))
    }

    /// The operand that an object is, an array or a number; `None` for another one, whatever could be made of it.
    pub(crate) fn of(object: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        match Self::value(object)? {
            Some(value) => Ok(Some(value)),
            None => Ok(Given::array_of(object)?.map(Self::Array)),
        }
    }

    /// The array of a number, where operands are numbers alone.
    pub(crate) fn into_array(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        Ok(Self::Array(Given::Made(sequence::array_placed(object, |_| Ok(None), None, None)?)))
    }

    /// The operand as the engine takes it.
    pub(crate) fn get(&self) -> ArrayOrScalar<'_> {
        match self {
            Self::Array(array) => ArrayOrScalar::Array(array),
            Self::Weak(value) => ArrayOrScalar::Weak(*value),
            Self::Scalar(value) => ArrayOrScalar::Scalar(*value),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Operand<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArray>() {
            return Ok(Self::Array(Given::Ours(Now::of(array.borrow()))));
        }
        if let Some(value) = Self::value(&object)? {
            return Ok(value);
        }
        match protocol::numpy::in_place(&object)?
            .map(Given::Numpys)
            .map_or_else(|| Given::made(&object), |array| Ok(Some(array)))?
        {
            Some(array) => Ok(Self::Array(array)),
            None => Err(of_type(
                &object,
                "a usm_ndarray, a NumPy array, a list or a number; help: convert it with asarray",
            )),
        }
    }
}

/// The value of a Python number: exactly a `float`, `int`, `bool` or `complex`, for NumPy's scalars are of their own
/// types, some of which are derived from these.
///
/// # Errors
/// `OverflowError` for an integer beyond the doubles.
pub(crate) fn number(object: &Bound<'_, PyAny>) -> PyResult<Option<Weak>> {
    if let Ok(value) = object.cast_exact::<PyFloat>() {
        return Ok(Some(Weak::Float(value.extract()?)));
    }
    if let Ok(value) = object.cast_exact::<PyInt>() {
        // The short way first: most integers are.
        return Ok(Some(integer(value)?));
    }
    if let Ok(value) = object.cast_exact::<PyBool>() {
        return Ok(Some(Weak::Bool(value.is_true())));
    }
    if let Ok(value) = object.cast_exact::<PyComplex>() {
        return Ok(Some(Weak::Complex(parts(value))));
    }
    Ok(None)
}

fn integer(value: &Bound<'_, PyInt>) -> PyResult<Weak> {
    // The short way first: most integers are.
    if let Ok(value) = value.extract::<i64>() {
        return Ok(Weak::Int(value.into()));
    }
    Ok(match value.extract::<i128>() {
        Ok(value) => Weak::Int(value),
        Err(_) => Weak::Large(value.extract()?),
    })
}

fn parts(value: &Bound<'_, PyComplex>) -> Complex<f64> {
    use pyo3::types::PyComplexMethods;
    Complex::new(value.real(), value.imag())
}

/// The value of an object of a class derived from one of Python's numbers.
fn derived(object: &Bound<'_, PyAny>) -> PyResult<Option<Weak>> {
    if let Ok(value) = object.cast::<PyInt>() {
        return Ok(Some(integer(value)?));
    }
    if object.cast::<PyFloat>().is_ok() {
        return Ok(Some(Weak::Float(object.extract()?)));
    }
    Ok(object.cast::<PyComplex>().ok().map(|value| Weak::Complex(parts(value))))
}

/// The value of a scalar of NumPy's.
fn scalar(object: &Bound<'_, PyAny>, numpy: &Numpy) -> PyResult<Option<Scalar>> {
    if !numpy.is_scalar(object)? {
        return Ok(None);
    }
    let dtype = dtype::extract(&object.getattr("dtype")?, stridewise::DtypeSupport::ALL)?;
    let Some(value) = number(&object.call_method0("item")?)? else { return Ok(None) };
    Ok(Some(value.to_scalar(dtype).map_err(|error| crate::errors::raise(&error))?))
}
