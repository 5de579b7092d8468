//! Conversion from and to the arrays of the `ndarray` crate. Both copy.

use ::ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};

use super::Array;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::layout::Order;
use crate::memory::heap;
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
        ArrayD::from_shape_vec(IxDyn(self.shape()), self.to_vec()?).map_err(|error| {
            Error::shape(
                "array",
                format!("of shape {:?} ({error})", self.shape()),
                "a shape that `ndarray` can have",
                "convert parts of the array, or reshape it",
            )
        })
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
