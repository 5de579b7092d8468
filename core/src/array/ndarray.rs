//! Conversion from and to the arrays of the `ndarray` crate, both of which copy, and its views of elements that are lent.

use ::ndarray::{ArrayBase, ArrayD, ArrayViewD, ArrayViewMutD, Data, Dimension, IxDyn, ShapeError};

use super::Array;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::layout::Order;
use crate::memory::{HostView, HostViewMut, heap};
use crate::runtime::Queue;

impl<T: Element> Array<T> {
    /// A copy of an array of `ndarray` on a queue; column-major where it is that and not row-major. For other queues and
    /// kinds than the default ones.
    ///
    /// With the feature `ndarray`.
    ///
    /// # Errors
    /// As for [`from_slice`](Self::from_slice).
    pub fn from_ndarray_on<S, D>(queue: &Queue, array: &ArrayBase<S, D>) -> Result<Self>
    where
        S: Data<Elem = T>,
        D: Dimension,
    {
        if let Some(slice) = array.as_slice() {
            return Self::on(queue).from_slice(array.shape(), slice);
        }
        let column_major = array.t().is_standard_layout();
        let order = if column_major { Order::F } else { Order::C };
        let elements = heap::collect("array", array.iter().copied())?;
        Self::on(queue).order(order).from_slice(array.shape(), &elements)
    }

    /// The elements as an array of `ndarray`, in row-major order. Waits for the work that computes them; memory of any
    /// kind.
    ///
    /// With the feature `ndarray`.
    ///
    /// # Errors
    /// The failure of the work waited for.
    pub fn to_ndarray(&self) -> Result<ArrayD<T>> {
        ArrayD::from_shape_vec(IxDyn(self.shape()), self.to_vec()?)
            .map_err(|error| no_shape_of_theirs(self.shape(), error))
    }
}

fn no_shape_of_theirs(shape: &[usize], error: ShapeError) -> Error {
    Error::shape(
        "array",
        format!("of shape {shape:?} ({error})"),
        "a shape that `ndarray` can have",
        "convert parts of the array, or reshape it",
    )
}

/// Of a view whose elements are no slice.
fn scattered(shape: &[usize]) -> Error {
    Error::shape(
        "view",
        format!("of shape {shape:?}, with gaps or in another order"),
        "elements that lie one after the other in row-major order",
        "view a copy, `a.copy()?.view()?`, or take one by `to_ndarray`; of a transposed array, view the original",
    )
}

impl<T: Element> HostView<'_, T> {
    /// The lent elements as a view of `ndarray`: no copy. It lasts as long as this view is held.
    ///
    /// With the feature `ndarray`.
    ///
    /// # Errors
    /// [`Error::Shape`] where the elements do not lie one after the other in row-major order.
    pub fn as_ndarray(&self) -> Result<ArrayViewD<'_, T>> {
        let elements = self.as_slice().ok_or_else(|| scattered(self.shape()))?;
        ArrayViewD::from_shape(IxDyn(self.shape()), elements)
            .map_err(|error| no_shape_of_theirs(self.shape(), error))
    }
}

impl<T: Element> HostViewMut<'_, T> {
    /// The lent elements as a view of `ndarray` that writes to them: no copy. It lasts as long as this view is held.
    ///
    /// With the feature `ndarray`.
    ///
    /// # Errors
    /// As for [`HostView::as_ndarray`].
    pub fn as_ndarray_mut(&mut self) -> Result<ArrayViewMutD<'_, T>> {
        let shape = self.shape().to_vec();
        let elements = self.as_mut_slice().ok_or_else(|| scattered(&shape))?;
        ArrayViewMutD::from_shape(IxDyn(&shape), elements).map_err(|error| no_shape_of_theirs(&shape, error))
    }
}

impl<T, S, D> TryFrom<&ArrayBase<S, D>> for Array<T>
where
    T: Element,
    S: Data<Elem = T>,
    D: Dimension,
{
    type Error = Error;
    /// A copy on the default queue. With the feature `ndarray`.
    fn try_from(array: &ArrayBase<S, D>) -> Result<Self> {
        Self::from_ndarray_on(&Queue::default_queue()?, array)
    }
}

impl<T, S, D> TryFrom<ArrayBase<S, D>> for Array<T>
where
    T: Element,
    S: Data<Elem = T>,
    D: Dimension,
{
    type Error = Error;
    /// A copy on the default queue.
    fn try_from(array: ArrayBase<S, D>) -> Result<Self> {
        Self::try_from(&array)
    }
}

impl<T: Element> TryFrom<&Array<T>> for ArrayD<T> {
    type Error = Error;
    fn try_from(array: &Array<T>) -> Result<Self> {
        array.to_ndarray()
    }
}
