//! Elements in other places.

use super::{Array, Axes, Extents, IntElement};
use crate::array::{self, Indexing};
use crate::dtype::Element;
use crate::error::Result;
use crate::layout::Shape;
use crate::memory::heap;

impl<T: Element> Array<T> {
    /// The parts along an axis, without it, as views.
    ///
    /// # Errors
    /// [`Error::Axis`](crate::Error::Axis) for an axis out of range.
    pub fn unstack(&self, axis: isize) -> Result<Vec<Self>> {
        heap::try_collect("parts", self.inner.unstack(axis)?.into_iter().map(Self::try_from))
    }

    /// Axes moved to other places, the others keeping their order, as a view (array API `moveaxis`).
    ///
    /// # Errors
    /// [`Error::Axis`](crate::Error::Axis) for an axis out of range or named twice, or as many sources as there are not
    /// destinations.
    pub fn move_axes(&self, sources: impl Axes, destinations: impl Axes) -> Result<Self> {
        let ndim = self.ndim();
        self.inner.move_axes(&sources.of(ndim), &destinations.of(ndim))?.try_into()
    }

    /// The elements moved along axes, those beyond the end to the beginning: one shift for all axes, or one for each.
    ///
    /// # Errors
    /// [`Error::Axis`](crate::Error::Axis) for an axis out of range, [`Error::Value`](crate::Error::Value) where shifts and
    /// axes do not go together.
    pub fn roll(&self, shifts: impl Extents, axes: impl Axes) -> Result<Self> {
        self.inner.roll(&shifts.numbers(), Some(&axes.of(self.ndim())))?.try_into()
    }

    /// The elements moved along row-major order, those beyond the end to the beginning.
    ///
    /// # Errors
    /// [`Error::Alloc`](crate::Error::Alloc) where there is no memory.
    pub fn roll_flat(&self, shift: isize) -> Result<Self> {
        self.inner.roll(&[shift], None)?.try_into()
    }

    /// Every element repeated in place along an axis.
    ///
    /// # Errors
    /// [`Error::Axis`](crate::Error::Axis) for an axis out of range, [`Error::Overflow`](crate::Error::Overflow) for too
    /// many elements.
    pub fn repeat(&self, count: usize, axis: isize) -> Result<Self> {
        self.inner.repeat(count, Some(axis))?.try_into()
    }

    /// Every element along an axis repeated in place, each as often as an array says. Waits for the counts.
    ///
    /// # Errors
    /// As for [`UsmArray::repeat_each`](crate::UsmArray::repeat_each).
    pub fn repeat_each<N: IntElement>(&self, counts: &Array<N>, axis: isize) -> Result<Self> {
        self.inner.repeat_each(&counts.inner, Some(axis))?.try_into()
    }

    /// The whole array repeated along its axes, so often along each; fewer numbers hold for the last axes, more make new
    /// ones.
    ///
    /// # Errors
    /// [`Error::Axis`](crate::Error::Axis) for too many dimensions, [`Error::Overflow`](crate::Error::Overflow) for too
    /// many elements.
    pub fn tile(&self, repetitions: impl Shape) -> Result<Self> {
        self.inner.tile(repetitions.extents().as_ref())?.try_into()
    }

    /// The lower triangle of matrices: zeros above a diagonal, so many columns to the right of the main one.
    ///
    /// # Errors
    /// [`Error::Axis`](crate::Error::Axis) with fewer than two dimensions.
    pub fn tril(&self, diagonal: isize) -> Result<Self> {
        self.inner.tril(diagonal)?.try_into()
    }

    /// The upper triangle of matrices: zeros below a diagonal, so many columns to the right of the main one.
    ///
    /// # Errors
    /// [`Error::Axis`](crate::Error::Axis) with fewer than two dimensions.
    pub fn triu(&self, diagonal: isize) -> Result<Self> {
        self.inner.triu(diagonal)?.try_into()
    }

    /// The coordinates of a grid, as read-only views; see [`meshgrid`](crate::meshgrid).
    ///
    /// # Errors
    /// As for [`meshgrid`](crate::meshgrid).
    pub fn meshgrid(arrays: &[&Self], indexing: Indexing) -> Result<Vec<Self>> {
        let arrays: Vec<_> = arrays.iter().map(|array| &array.inner).collect();
        array::meshgrid(&arrays, indexing)?.into_iter().map(Self::try_from).collect()
    }

    /// Arrays broadcast against each other, as views that are read-only where they repeat.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) where the shapes do not broadcast.
    pub fn broadcast_arrays(arrays: &[&Self]) -> Result<Vec<Self>> {
        let arrays = heap::collect("arrays", arrays.iter().map(|array| &array.inner))?;
        heap::try_collect("arrays", array::broadcast_arrays(&arrays)?.into_iter().map(Self::try_from))
    }
}
