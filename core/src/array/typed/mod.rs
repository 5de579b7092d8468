//! Arrays whose element type is known at compile time.
//!
//! One rule for failures: elementwise operations – operators and the methods named after functions – panic with the
//! message of the error and have twins named `try_…` that return it; everything else returns a `Result`.
//!
//! Each theme's examples are in `examples/`, as they need a device: the crate `stridewise`, which has devices, runs them.

#[cfg(feature = "approx")]
mod approx;
mod axes;
mod classes;
mod composed;
mod conversions;
mod create;
mod functions;
mod indexing;
mod linalg;
mod manipulate;
mod mapping;
mod math;
mod operators;
mod parts;
mod rearrange;
mod reduce;
mod scan;
mod sorting;
mod statistics;
mod weighted;

pub use axes::{Axes, Extents};
pub use classes::{
    BitsElement, FieldElement, FloatElement, IntElement, NumElement, OrderedElement, RealElement, Reducible,
};
pub use create::Creator;
pub use mapping::{Item, ItemOrValue};
pub use parts::Parts;
pub use sorting::UniqueValues;

use std::marker::PhantomData;

use super::elementwise::{elementwise_apart, squared};
use super::{ArrayOrScalar, Flags, UsmArray};
use crate::dtype::{Dtype, Element};
use crate::error::{Error, Result};
use crate::explain::Explanation;
use crate::layout::{Layout, SliceItem};
use crate::lazy::immediate;
use crate::memory::{HostView, HostViewMut, UsmKind, UsmMemory};
use crate::ops::Op;
use crate::runtime::{Context, Device, Event, Queue};
use crate::scalar::Scalar;

/// An n-dimensional array of elements of one Rust type in USM: a [`UsmArray`] whose dtype the compiler knows.
///
/// Elementwise operations are recorded and run as one pass when something asks for the elements. Operands live on the same
/// queue (compute follows data); their shapes are broadcast. Both sides of an operation have the same element type, but for
/// what [`UsmArray`] offers, which promotes.
///
/// # Clones are values, views write through
/// What is written to a clone is not seen in the original, nor the other way round. A clone is recorded, like every
/// elementwise operation: one that nobody reads costs nothing, an operation in place on it reads the original and writes memory
/// of its own, and what reads it computes it in the same pass. Methods that write take `&mut self`.
///
/// [Slices](Self::slice) and what else is called a *view* share memory with what they are taken from, as NumPy's do:
/// to write to one writes through. [`share`](Self::share) is a view of everything.
///
/// ```no_run
/// use stridewise_core::{array, s};
/// let x = array![1.0_f32, 2.0, 3.0];
/// let mut z = x.clone();
/// z += 1.0;
/// assert_eq!(x.to_vec()?, [1.0, 2.0, 3.0]); // a clone is a value
/// x.slice(s![..2])?.fill(0.0)?;
/// assert_eq!(x.to_vec()?, [0.0, 0.0, 3.0]); // a view writes through
/// # Ok::<(), stridewise_core::Error>(())
/// ```
///
/// ```no_run
/// use stridewise_core::{Array, array, s};
/// let a = array![[1.0_f32, 2.0], [3.0, 4.0]];
/// let mut b = (2.0 * &a + 1.0).sqrt();
/// b += &a.slice(s![.., 0..1])?;
/// println!("{b:.3}, of which the largest is {}", b.max()?);
/// # Ok::<(), stridewise_core::Error>(())
/// ```
///
/// What the elements cannot do does not compile: the quotient of integers is no integer, and there is no square root of
/// `bool`s.
///
/// ```compile_fail
/// let quotient = stridewise_core::array![1, 2] / 2;
/// ```
///
/// ```compile_fail,E0277
/// let roots = stridewise_core::array![true].sqrt();
/// ```
///
/// ```compile_fail
/// let sum = stridewise_core::array![1_u8] + stridewise_core::array![1_i8];
/// ```
///
/// ```compile_fail,E0277
/// let places = stridewise_core::Array::from_vec([2], vec![0_usize, 1]); // no elements of type `usize`: take `u64`
/// ```
///
/// ```compile_fail,E0277
/// let zeros = stridewise_core::Array::<f32>::zeros([2_i64, 3]); // extents are `usize`
/// ```
///
/// # Panics
/// Elementwise operations – operators such as `&a + &b` and methods such as [`sqrt`](Self::sqrt) – panic with the
/// message of the error that their twins named `try_…` return: shapes that do not broadcast, operands on different
/// queues, no memory. Everything else returns a `Result`.
pub struct Array<T: Element> {
    inner: UsmArray,
    element: PhantomData<T>,
}

/// The same elements as a value of its own; see [what that costs](Array#clones-are-values-views-write-through).
///
/// # Panics
/// As operators do: where there is no memory for a copy that is made at once, as it is for few elements and where
/// somebody outside knows the memory. [`copy`](Array::copy) returns a `Result`.
impl<T: Element> Clone for Array<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        demand(elementwise(Op::Copy, &[(&self.inner).into()]))
    }
}

/// An operand of an operation on arrays of a type: an array, or a value that stands for every element.
#[derive(Clone, Copy)]
pub enum ArrayOrValue<'a, T: Element> {
    /// An array.
    Array(&'a Array<T>),
    /// A value.
    Scalar(T),
}

impl<'a, T: Element> From<&'a Array<T>> for ArrayOrValue<'a, T> {
    fn from(array: &'a Array<T>) -> Self {
        Self::Array(array)
    }
}
impl<T: Element> From<T> for ArrayOrValue<'_, T> {
    fn from(value: T) -> Self {
        Self::Scalar(value)
    }
}
impl<'a, T: Element> From<ArrayOrValue<'a, T>> for ArrayOrScalar<'a> {
    fn from(operand: ArrayOrValue<'a, T>) -> Self {
        match operand {
            ArrayOrValue::Array(array) => Self::Array(&array.inner),
            ArrayOrValue::Scalar(value) => Self::Scalar(value.to_scalar()),
        }
    }
}
impl<'a, T: Element> From<&'a Array<T>> for ArrayOrScalar<'a> {
    fn from(array: &'a Array<T>) -> Self {
        Self::Array(&array.inner)
    }
}

impl<T: Element> From<Array<T>> for UsmArray {
    fn from(array: Array<T>) -> Self {
        array.inner
    }
}

impl<T: Element> AsRef<UsmArray> for Array<T> {
    fn as_ref(&self) -> &UsmArray {
        &self.inner
    }
}
impl<T: Element> TryFrom<UsmArray> for Array<T> {
    type Error = Error;
    /// # Errors
    /// [`Error::Dtype`] where the array's dtype is another.
    fn try_from(array: UsmArray) -> Result<Self> {
        if array.dtype() == T::DTYPE {
            return Ok(Self { inner: array, element: PhantomData });
        }
        Err(Error::dtype(
            "array",
            array.dtype(),
            format!("an array of {}, the element type asked for", T::DTYPE),
            "name the array's own element type, or convert first, with `astype`",
        ))
    }
}

/// The array of an elementwise operation whose results are of a type.
///
/// # Errors
/// As for [`elementwise`](crate::elementwise); [`Error::Dtype`] where the results are of another type.
fn elementwise<T: Element>(op: Op, operands: &[ArrayOrScalar<'_>]) -> Result<Array<T>> {
    if let Some(base) = squared(op, operands) {
        return elementwise(Op::Square, &[base]);
    }
    match immediate::elementwise_alike(op, operands)? {
        // It is made in its place: to move it takes as long as to compute it.
        Some(fresh) if fresh.dtype() == T::DTYPE => Ok(Array { inner: fresh.array(), element: PhantomData }),
        Some(fresh) => fresh.array().try_into(),
        None => elementwise_apart(op, operands)?.try_into(),
    }
}

/// The value, or a panic with the error's message where the operation was asked for in the form that cannot return it.
#[track_caller]
fn demand<T>(outcome: Result<T>) -> T {
    match outcome {
        Ok(value) => value,
        // The documented behaviour of operators; the twins named `try_…` return the error.
        Err(error) => panic!("{error}"),
    }
}

impl<T: Element> Array<T> {
    /// This array without its type; shares memory.
    #[must_use]
    pub fn as_untyped(&self) -> &UsmArray {
        &self.inner
    }
    /// This array without its type.
    #[must_use]
    pub fn into_untyped(self) -> UsmArray {
        self.inner
    }

    /// A view of everything: another name for the same memory, so that what is written to one is seen in the other.
    ///
    /// ```no_run
    /// let x = stridewise_core::array![1, 2];
    /// x.share().fill(0)?;
    /// assert_eq!(x.to_vec()?, [0, 0]);
    /// # Ok::<(), stridewise_core::Error>(())
    /// ```
    #[must_use]
    pub fn share(&self) -> Self {
        Self::typed(self.inner.clone())
    }

    /// Shape, strides and offset, in elements.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        self.inner.layout()
    }
    /// The extents.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        self.inner.shape()
    }
    /// Elements to step per dimension; signed.
    #[must_use]
    pub fn strides(&self) -> &[isize] {
        self.inner.strides()
    }
    /// Elements from the start of the allocation to the element at multi-index zero.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.inner.offset()
    }
    /// Number of dimensions.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.inner.ndim()
    }
    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.len()
    }
    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }
    /// Bytes of one element.
    #[must_use]
    pub fn itemsize(&self) -> usize {
        self.inner.itemsize()
    }
    /// Bytes of all elements.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.inner.bytes()
    }
    /// The run-time name of `T`.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        T::DTYPE
    }
    /// The queue that works on this array.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        self.inner.queue()
    }
    /// The device of the queue.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.inner.device()
    }
    /// The context of the queue.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.inner.context()
    }
    /// The USM kind of the memory.
    #[must_use]
    pub fn usm_kind(&self) -> UsmKind {
        self.inner.usm_kind()
    }
    /// Contiguity and writability.
    #[must_use]
    pub fn flags(&self) -> Flags {
        self.inner.flags()
    }
    /// Allows or forbids writing through this array; the other views of the memory keep their own flag.
    pub fn set_writable(&mut self, writable: bool) {
        self.inner.set_writable(writable);
    }
    /// The allocation that the array views; recorded work is submitted first.
    ///
    /// # Errors
    /// What the submission reports.
    pub fn usm_data(&self) -> Result<UsmMemory> {
        self.inner.usm_data()
    }
    /// Whether the array is the result of recorded work that has not been submitted.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.inner.is_pending()
    }
    /// The passes that would compute the array: see [`UsmArray::explain`].
    ///
    /// # Errors
    /// As for [`UsmArray::explain`].
    pub fn explain(&self) -> Result<Explanation> {
        self.inner.explain()
    }
    /// Computes the array and says what came of each pass: see [`UsmArray::analyze`].
    ///
    /// # Errors
    /// As for [`UsmArray::analyze`].
    pub fn analyze(&self) -> Result<Explanation> {
        self.inner.analyze()
    }
    /// Submits recorded work, if this array is the result of some, and returns an event that is complete when the
    /// elements are there.
    ///
    /// # Errors
    /// What the submission reports.
    pub fn event(&self) -> Result<Event> {
        self.inner.event()
    }
    /// Waits until the elements are there.
    ///
    /// # Errors
    /// The failure of the work that computes them.
    pub fn wait(&self) -> Result<()> {
        self.inner.wait()
    }

    /// The elements, lent to the host for reading. Waits for the work that computes them.
    ///
    /// # Errors
    /// [`Error::HostAccess`] for device memory (see [`to_vec`](Self::to_vec) and [`to_kind`](Self::to_kind)),
    /// [`Error::Borrow`] while a view for writing is open; the failure of the work waited for.
    pub fn view(&self) -> Result<HostView<'_, T>> {
        self.inner.host_view()
    }
    /// The elements, lent to the host for writing. Waits for all work on the memory.
    ///
    /// # Errors
    /// As for [`view`](Self::view); [`Error::Borrow`] where the array is read-only, any view is open, or elements share
    /// memory.
    pub fn view_mut(&mut self) -> Result<HostViewMut<'_, T>> {
        self.inner.host_view_mut()
    }
    /// The elements in row-major order; memory of any kind. Waits for the work that computes them.
    ///
    /// # Errors
    /// [`Error::Alloc`]; the failure of the work waited for.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.inner.to_vec()
    }
    /// The element of an array that has exactly one.
    ///
    /// # Errors
    /// [`Error::Shape`] where there are more or none.
    pub fn item(&self) -> Result<T> {
        typed_item(&self.inner)
    }
    /// The element at a multi-index, one number per dimension; negative ones count from the end.
    ///
    /// ```no_run
    /// # use stridewise_core::array;
    /// let a = array![[1, 2], [3, 4]];
    /// assert_eq!(a.get([0, -1])?, 2);
    /// # Ok::<(), stridewise_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for an index outside, [`Error::Axis`] where there are not as many numbers as dimensions.
    pub fn get(&self, index: impl Extents) -> Result<T> {
        typed_item(&self.inner.slice(&self.element_at(&index.numbers())?)?)
    }

    /// The items of an index that selects one element.
    fn element_at(&self, index: &[isize]) -> Result<Vec<SliceItem>> {
        if index.len() != self.ndim() {
            return Err(Error::axis(
                "index",
                format!("{index:?} ({} numbers)", index.len()),
                format!("one number per dimension of shape {:?} ({})", self.shape(), self.ndim()),
                "select a part of the array with `slice`",
            ));
        }
        Ok(index.iter().map(|&i| SliceItem::Index(i)).collect())
    }
}

/// The single element of an array whose dtype converts to `T` without surprise.
fn typed_item<T: Element>(array: &UsmArray) -> Result<T> {
    typed(array.item()?)
}

/// A value that converts to `T` without surprise.
fn typed<T: Element>(value: Scalar) -> Result<T> {
    value.cast(T::DTYPE).get().ok_or_else(|| {
        Error::dtype("array", value.dtype(), format!("{}", T::DTYPE), "ask for the array's own element type")
    })
}
