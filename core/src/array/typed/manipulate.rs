//! Views, copies, writing through views, and joining.

use smallvec::SmallVec;

use super::{Array, ArrayOrValue, Axes, Extents};
use crate::array::{self, UsmArray};
use crate::dtype::Element;
use crate::error::Result;
use crate::layout::{Order, Shape, SliceItem};
use crate::memory::{UsmKind, heap};
use crate::runtime::{Device, Event, Queue};

impl<T: Element> Array<T> {
    /// An array of this one's dtype.
    pub(super) fn typed(inner: UsmArray) -> Self {
        debug_assert_eq!(inner.dtype(), T::DTYPE);
        Self { inner, element: std::marker::PhantomData }
    }

    /// The elements that a basic index selects, as a view; see [`s!`](crate::s). NumPy's rules: negative numbers count from the
    /// end, a range is cut off where the dimension ends (`s![1..9]` of 2 rows is the second one), a negative step walks from the
    /// range's start towards the front, and an index by itself has to be there.
    ///
    /// ```no_run
    /// use stridewise_core::{array, s};
    /// let a = array![[1, 2, 3], [4, 5, 6]];
    /// a.slice(s![.., 1..])?.fill(0)?;
    /// assert_eq!(a.to_vec()?, [1, 0, 0, 4, 0, 0]);
    /// # Ok::<(), stridewise_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`UsmArray::slice`].
    pub fn slice(&self, items: &[SliceItem]) -> Result<Self> {
        self.inner.slice(items).map(Self::typed)
    }
    /// The axes in reverse order, as a view.
    #[must_use]
    pub fn t(&self) -> Self {
        Self::typed(self.inner.t())
    }
    /// The last two axes exchanged, as a view.
    ///
    /// # Errors
    /// [`Error::Axis`](crate::Error::Axis) with fewer than two dimensions.
    pub fn matrix_transpose(&self) -> Result<Self> {
        self.inner.matrix_transpose().map(Self::typed)
    }
    /// The axes in another order, as a view.
    ///
    /// # Errors
    /// [`Error::Axis`](crate::Error::Axis) where `axes` is no permutation of the axes.
    pub fn permute_dims(&self, axes: impl Axes) -> Result<Self> {
        self.inner.permute_dims(&axes.of(self.ndim())).map(Self::typed)
    }
    /// Two axes exchanged, as a view.
    ///
    /// # Errors
    /// [`Error::Axis`](crate::Error::Axis) for an axis out of range.
    pub fn swap_axes(&self, first: isize, second: isize) -> Result<Self> {
        self.inner.swap_axes(first, second).map(Self::typed)
    }
    /// An axis moved to another place, as a view.
    ///
    /// # Errors
    /// [`Error::Axis`](crate::Error::Axis) for an axis out of range.
    pub fn move_axis(&self, source: isize, destination: isize) -> Result<Self> {
        self.inner.move_axis(source, destination).map(Self::typed)
    }
    /// New axes of extent 1, at these places of the result, as a view.
    ///
    /// # Errors
    /// [`Error::Axis`](crate::Error::Axis) for an axis out of range or named twice.
    pub fn expand_dims(&self, axes: impl Axes) -> Result<Self> {
        self.inner.expand_dims(&axes.of(self.ndim())).map(Self::typed)
    }
    /// Without these axes, which have extent 1, as a view.
    ///
    /// # Errors
    /// [`Error::Axis`](crate::Error::Axis) for an axis out of range, named twice or of another extent.
    pub fn squeeze(&self, axes: impl Axes) -> Result<Self> {
        self.inner.squeeze(&axes.of(self.ndim())).map(Self::typed)
    }
    /// The elements in reverse order along axes (`..`: all), as a view.
    ///
    /// # Errors
    /// [`Error::Axis`](crate::Error::Axis) for an axis out of range or named twice.
    pub fn flip(&self, axes: impl Axes) -> Result<Self> {
        self.inner.flip(Some(&axes.of(self.ndim()))).map(Self::typed)
    }
    /// The elements repeated to a shape, as a view that is read-only where it repeats.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) where the shape does not broadcast to it.
    pub fn broadcast_to(&self, shape: impl Shape) -> Result<Self> {
        self.inner.broadcast_to(shape.extents().as_ref()).map(Self::typed)
    }
    /// The elements, in row-major order, in another shape; one extent may be −1, for what is left. A view where the
    /// strides allow it, else a copy.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) where the number of elements differs.
    pub fn reshape(&self, shape: impl Extents) -> Result<Self> {
        self.inner.reshape(&shape.numbers()).map(Self::typed)
    }

    /// A copy in memory of its own, in this array's order where it is contiguous.
    ///
    /// # Errors
    /// [`Error::Alloc`](crate::Error::Alloc) where there is no memory.
    pub fn copy(&self) -> Result<Self> {
        self.inner.copy().map(Self::typed)
    }
    /// A copy in memory of its own, row-major or column-major.
    ///
    /// # Errors
    /// [`Error::Alloc`](crate::Error::Alloc) where there is no memory.
    pub fn copy_in(&self, order: Order) -> Result<Self> {
        self.inner.copy_in(order).map(Self::typed)
    }
    /// The array in memory of a kind; itself where it is there, and for [`UsmKind::Host`] wherever the host may see it.
    ///
    /// # Errors
    /// As for [`UsmArray::to_kind`].
    pub fn to_kind(&self, kind: UsmKind) -> Result<Self> {
        self.inner.to_kind(kind).map(Self::typed)
    }
    /// The array associated with another queue: a view where both share a context, else a copy.
    ///
    /// # Errors
    /// As for [`UsmArray::to_queue`].
    pub fn to_queue(&self, queue: &Queue) -> Result<Self> {
        self.inner.to_queue(queue).map(Self::typed)
    }
    /// The array on another device, associated with that device's cached queue.
    ///
    /// # Errors
    /// As for [`UsmArray::to_device`].
    pub fn to_device(&self, device: &Device) -> Result<Self> {
        self.inner.to_device(device).map(Self::typed)
    }

    /// Copies elements from an array that broadcasts to this one's shape, or one value to all. Through a view this writes
    /// to the array viewed. The operands may overlap.
    ///
    /// # Errors
    /// [`Error::Borrow`](crate::Error::Borrow) where this array is read-only or elements share memory,
    /// [`Error::Shape`](crate::Error::Shape), [`Error::ExecutionPlacement`](crate::Error::ExecutionPlacement).
    pub fn assign<'a>(&mut self, source: impl Into<ArrayOrValue<'a, T>>) -> Result<Event> {
        self.inner.assign(source.into())
    }
    /// Writes a value to all elements.
    ///
    /// # Errors
    /// As for [`assign`](Self::assign).
    pub fn fill(&mut self, value: T) -> Result<Event> {
        self.inner.assign(value.to_scalar())
    }

    /// Joins arrays along an axis that exists; [`concat`](crate::concat) for arrays of different dtypes.
    ///
    /// # Errors
    /// As for [`concat`](crate::concat).
    pub fn concat(arrays: &[&Self], axis: isize) -> Result<Self> {
        array::concat(&Self::untyped(arrays)?, Some(axis)).map(Self::typed)
    }
    /// Joins arrays along a new axis, at this place of the result.
    ///
    /// # Errors
    /// As for [`stack`](crate::stack).
    pub fn stack(arrays: &[&Self], axis: isize) -> Result<Self> {
        array::stack(&Self::untyped(arrays)?, axis).map(Self::typed)
    }

    fn untyped<'a>(arrays: &[&'a Self]) -> Result<SmallVec<[&'a UsmArray; 4]>> {
        heap::small("arrays", arrays.iter().map(|array| &array.inner))
    }
}
