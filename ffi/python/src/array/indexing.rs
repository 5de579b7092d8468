//! Indexing: NumPy's rules, which are the engine's; here keys are read.

use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyList, PySlice, PyTuple};
use stridewise::{
    ArrayOrScalar, Dtype, Error, Index, Op, Queue, Reduction, Scalar, SliceItem, UsmArray, Weak,
};

use super::operand::{Given, Operand, together};
use super::{Now, PyArray};
use crate::errors::{self, Fault, Result, out_of_bounds, shown};
use crate::namespace::creation::on_queue;
use crate::namespace::sequence;
use crate::protocol::{self, Request};

/// The element that a key of integers alone selects, where it is to be had at once: a value, as NumPy's scalars are, in memory of its
/// own. Other keys, and integers that are no place, are left to be read as any key is.
#[inline]
fn element(key: &Bound<'_, PyAny>, array: &UsmArray) -> Result<Option<UsmArray>> {
    if let Ok(place) = key.cast_exact::<PyInt>() {
        return match place.extract::<isize>() {
            Ok(place) if array.ndim() == 1 => Ok(array.element_at_once(&[place])?),
            _ => Ok(None),
        };
    }
    /// Places that are read without memory for them: most arrays have no more dimensions.
    const FEW: usize = 4;
    let Ok(key) = key.cast_exact::<PyTuple>() else { return Ok(None) };
    let ndim = key.len();
    if ndim != array.ndim() || ndim > FEW {
        return Ok(None);
    }
    let mut places = [0; FEW];
    for (place, item) in places.iter_mut().zip(key.iter_borrowed()) {
        match item.cast_exact::<PyInt>().map(|item| item.extract::<isize>()) {
            Ok(Ok(item)) => *place = item,
            _ => return Ok(None),
        }
    }
    Ok(array.element_at_once(&places[..ndim])?)
}

/// An element that a view shows, as a value: in memory of its own.
pub(crate) fn value_of(py: Python<'_>, element: &UsmArray) -> Result<UsmArray> {
    match element.element_at_once(&[])? {
        Some(value) => Ok(value),
        None => Ok(py.detach(|| element.copy())?),
    }
}

/// A key, read.
enum Key {
    /// Slices and places: a view.
    Basic(Vec<SliceItem>),
    /// With arrays among them.
    Advanced(Vec<Index>),
}

impl Key {
    fn read(key: &Bound<'_, PyAny>, array: &UsmArray) -> Result<Self> {
        let mut read = Self::Basic(Vec::new());
        match key.cast::<PyTuple>() {
            Ok(items) => items.iter().try_for_each(|item| read.push(&item, array))?,
            Err(_) => read.push(key, array)?,
        }
        Ok(read)
    }

    fn push(&mut self, item: &Bound<'_, PyAny>, array: &UsmArray) -> Result<()> {
        // An array of no dimensions may be a place.
        let places = item.cast::<PyArray>().ok().map(|places| places.get().array());
        let indices = match places.filter(|places| places.ndim() > 0) {
            Some(places) => Index::Array(places.clone()),
            None => match basic(item)? {
                Some(item) => {
                    match self {
                        Self::Basic(items) => items.push(item),
                        Self::Advanced(items) => items.push(Index::Slice(item)),
                    }
                    return Ok(());
                }
                None => Index::Array(indices_of(item, array)?),
            },
        };
        match self {
            Self::Basic(items) => {
                let slices = items.drain(..).map(Index::Slice);
                *self = Self::Advanced(slices.chain(std::iter::once(indices)).collect());
            }
            Self::Advanced(items) => items.push(indices),
        }
        Ok(())
    }
}

/// A place, a slice, a new axis or an ellipsis.
fn basic(item: &Bound<'_, PyAny>) -> Result<Option<SliceItem>> {
    if let Ok(place) = item.cast_exact::<PyInt>() {
        return Ok(Some(SliceItem::Index(place_of(place)?)));
    }
    if let Ok(slice) = item.cast::<PySlice>() {
        return Ok(Some(slice_of(slice)?));
    }
    if item.is_none() {
        return Ok(Some(SliceItem::NewAxis));
    }
    if item.is(item.py().Ellipsis()) {
        return Ok(Some(SliceItem::Ellipsis));
    }
    // Integers of NumPy's, and of classes derived from Python's.
    let is_place = match Operand::value(item) {
        Ok(Some(Operand::Weak(Weak::Int(_)))) => true,
        Ok(Some(Operand::Scalar(value))) => value.dtype().kind().is_integer(),
        _ => false,
    };
    Ok(if is_place { Some(SliceItem::Index(place_of(item)?)) } else { None })
}

/// A place along an axis.
///
/// # Errors
/// `OutOfBoundsError` for one that fits no machine number.
fn place_of(place: &Bound<'_, PyAny>) -> Result<isize> {
    place.extract::<isize>().map_err(|error| {
        if !error.is_instance_of::<pyo3::exceptions::PyOverflowError>(place.py()) {
            return Fault::Python(error);
        }
        Fault::Python(out_of_bounds(format!(
            "the key is index {}; expected one within the axis",
            shown(place)
        )))
    })
}

/// A slice. Bounds that are not given are an axis's ends, as are those that fit no machine number.
fn slice_of(slice: &Bound<'_, PySlice>) -> Result<SliceItem> {
    let (mut start, mut stop, mut step) = (0, 0, 0);
    // SAFETY: a slice, and numbers that are written while the interpreter is attached (`slice` says so).
    let read = unsafe { pyo3::ffi::PySlice_Unpack(slice.as_ptr(), &mut start, &mut stop, &mut step) };
    if read < 0 {
        return Err(PyErr::fetch(slice.py()).into());
    }
    Ok(SliceItem::Slice { start: Some(start), stop: Some(stop), step })
}

/// Places or a mask: an array, a list, an array of others, a truth value; or an object that counts as an integer.
pub(crate) fn indices_of(item: &Bound<'_, PyAny>, array: &UsmArray) -> Result<UsmArray> {
    let (py, queue, kind) = (item.py(), array.queue(), array.usm_kind());
    if let Ok(indices) = item.cast::<PyArray>() {
        return Ok(indices.get().array().clone());
    }
    let truth = match item.cast::<PyBool>() {
        Ok(value) => Some(Scalar::Bool(value.is_true())),
        Err(_) => match Operand::value(item) {
            Ok(Some(Operand::Scalar(value @ Scalar::Bool(_)))) => Some(value),
            _ => None,
        },
    };
    if let Some(value) = truth {
        return Ok(UsmArray::full(queue, &[], value, kind)?);
    }
    let listed = || -> Result<UsmArray> {
        let indices = sequence::array_of(item, None, queue, kind)?;
        // A list without elements is one of places.
        Ok(if indices.is_empty() { py.detach(|| indices.astype(Dtype::I64))? } else { indices })
    };
    if item.cast::<PyList>().is_ok() || item.cast::<PyTuple>().is_ok() {
        return listed();
    }
    if let Some(indices) = imported(item, queue)? {
        return Ok(indices);
    }
    if sequence::is_sequence(item) {
        return listed();
    }
    match item.extract::<i64>() {
        Ok(place) => Ok(UsmArray::full(queue, &[], Scalar::I64(place), kind)?),
        Err(_) => Err(Fault::Python(PyTypeError::new_err(format!(
            "an index is of type {}; expected integers, slices, `...`, None, or arrays of integers or bool; help: \
             convert it with asarray",
            item.get_type().name()?
        )))),
    }
}

/// An array of others, on a queue; `None` for what is none.
fn imported(object: &Bound<'_, PyAny>, queue: &Queue) -> Result<Option<UsmArray>> {
    let Some(array) = protocol::import(object, &Request { queue: Some(queue), copy: None })? else {
        return Ok(None);
    };
    Ok(Some(object.py().detach(|| on_queue(&array, queue))?))
}

/// What is assigned: an operand, or what an array can be made of on the queue of the array.
pub(crate) fn assigned(array: &UsmArray, value: &Bound<'_, PyAny>) -> Result<Value> {
    match Operand::of(value) {
        Ok(Some(Operand::Array(Given::Ours(source)))) => Ok(Value::Array(source.clone())),
        // On the queue of the array, by the protocols.
        Ok(Some(Operand::Array(_))) => match imported(value, array.queue())? {
            Some(source) => Ok(Value::Array(source)),
            None => Err(Fault::Python(PyTypeError::new_err("what is assigned is no array"))),
        },
        Ok(Some(Operand::Weak(number))) => Ok(Value::Scalar(number.assigned(array.dtype())?)),
        Ok(Some(Operand::Scalar(scalar))) => Ok(Value::Scalar(scalar.weak().assigned(array.dtype())?)),
        other => {
            // Each number is converted as one alone is, and refused where that is.
            let listed = || sequence::array_of(value, Some(array.dtype()), array.queue(), array.usm_kind());
            if value.cast::<PyList>().is_ok() || value.cast::<PyTuple>().is_ok() {
                return Ok(Value::Array(listed()?));
            }
            if let Some(source) = imported(value, array.queue())? {
                return Ok(Value::Array(source));
            }
            if sequence::is_sequence(value) {
                return Ok(Value::Array(listed()?));
            }
            other?;
            Err(Fault::Python(PyTypeError::new_err(format!(
                "what is assigned is of type {}; expected a usm_ndarray, a NumPy array, a number or a list of them; help: convert it with asarray",
                value.get_type().name()?
            ))))
        }
    }
}

/// What is assigned to elements.
pub(crate) enum Value {
    Array(UsmArray),
    Scalar(Scalar),
}

impl Value {
    pub(crate) fn get(&self) -> ArrayOrScalar<'_> {
        match self {
            Self::Array(array) => array.into(),
            Self::Scalar(value) => (*value).into(),
        }
    }

    /// Writes the value to all elements of an array.
    pub(crate) fn assign_to(&self, py: Python<'_>, target: &UsmArray) -> Result<()> {
        py.detach(|| target.assign(self.get()))?;
        Ok(())
    }
}

#[pymethods]
impl PyArray {
    /// The elements that a key selects: a view for integers, slices, `...` and None; new memory where arrays of integers
    /// or masks are among them. An element that integers alone select is a value, as NumPy's scalars are: an array of no
    /// dimensions in memory of its own, which later writes do not reach; `x[0, ...]` is a view.
    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> Result<Self> {
        let array = &self.array();
        if let Some(value) = element(key, array)? {
            return Ok(value.into());
        }
        Ok(match Key::read(key, array)? {
            Key::Basic(items) => {
                let view = array.slice(&items)?;
                let is_place = |item: &SliceItem| matches!(item, SliceItem::Index(_));
                // As many as dimensions, since none is left.
                match view.ndim() == 0 && items.iter().all(is_place) {
                    true => value_of(py, &view)?,
                    false => view,
                }
            }
            Key::Advanced(items) => py.detach(|| array.index(&items)).map_err(errors::of_key)?,
        }
        .into())
    }

    /// Writes a value to the elements that a key selects.
    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<()> {
        let array = &self.array();
        let value = assigned(array, value)?;
        match Key::read(key, array)? {
            Key::Basic(items) => value.assign_to(py, &array.slice(&items)?),
            Key::Advanced(items) => {
                let written = py.detach(|| array.assign_index(&items, value.get()));
                written.map(drop).map_err(|error| {
                    // Of shapes that do not fit, the key's or the value's: the key alone says.
                    match matches!(error, Error::Shape(_)).then(|| py.detach(|| array.index(&items))) {
                        Some(Err(of_key)) => errors::of_key(of_key),
                        _ => error.into(),
                    }
                })
            }
        }
    }

    fn __len__(&self) -> PyResult<usize> {
        self.array()
            .shape()
            .first()
            .copied()
            .ok_or_else(|| PyTypeError::new_err("len() of an array of no dimensions"))
    }

    /// Whether any element equals a value.
    fn __contains__<'py>(slf: PyRef<'py, Self>, mut value: Operand<'py>) -> Result<bool> {
        let (py, mut own) = (slf.py(), Given::Ours(Now::of(slf)));
        together!(own, value);
        let (array, value) = (own.array(), value.get());
        let found = || array.binary(Op::Equal, value)?.reduce(Reduction::Any, None, false)?.item();
        Ok(py.detach(found)?.get().unwrap_or(false))
    }

    fn __iter__(slf: &Bound<'_, Self>) -> PyResult<PyParts> {
        let array = slf.get().array().clone();
        match array.shape().first() {
            Some(&len) => Ok(PyParts { array, next: AtomicUsize::new(0), len }),
            None => Err(PyTypeError::new_err("iteration over an array of no dimensions")),
        }
    }
}

/// The parts of an array along its first axis, one after another.
#[pyclass(name = "_Parts", module = "stridewise", frozen)]
pub(crate) struct PyParts {
    array: UsmArray,
    next: AtomicUsize,
    len: usize,
}

#[pymethods]
impl PyParts {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }
    /// Of several threads, each gets others. The elements of a row are values, as integers select them.
    fn __next__(&self, py: Python<'_>) -> Result<Option<PyArray>> {
        let further = |next| (next < self.len).then_some(next + 1);
        let Ok(next) = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, further) else {
            return Ok(None);
        };
        let place = next.cast_signed();
        if let Some(value) = self.array.element_at_once(&[place])? {
            return Ok(Some(value.into()));
        }
        let part = self.array.slice(&[SliceItem::Index(place)])?;
        Ok(Some(if part.ndim() == 0 { value_of(py, &part)? } else { part }.into()))
    }
}

/// The items of a key, for functions that take one.
pub(crate) fn items_of(key: &Bound<'_, PyAny>, array: &UsmArray) -> Result<Vec<Index>> {
    Ok(match Key::read(key, array)? {
        Key::Basic(items) => items.into_iter().map(Index::Slice).collect(),
        Key::Advanced(items) => items,
    })
}
