//! Sorting, searching, sets.

use super::{Array, IntElement};
use crate::array::{Groups, Side, Sort};
use crate::dtype::Element;
use crate::error::Result;

/// What [`Array::unique_all`] finds.
#[derive(Clone)]
#[non_exhaustive]
pub struct UniqueValues<T: Element> {
    /// The different elements, sorted.
    pub values: Array<T>,
    /// Of each, its first place in the row-major sequence of all elements.
    pub indices: Array<i64>,
    /// Of each element of the array, in the array's shape, its place among the values.
    pub inverse_indices: Array<i64>,
    /// Of each value, how often it occurs.
    pub counts: Array<i64>,
}

#[cfg_attr(not(doctest), doc = include_str!("examples/sorting.md"))]
impl<T: Element> Array<T> {
    /// A sorted copy along an axis, in the direction of [`Sort::ascending`] or [`Sort::descending`]; a `bool` says whether it is
    /// descending. Equal elements keep their order; NaN comes last; complex numbers are ordered by their real, then their imaginary
    /// part.
    ///
    /// # Errors
    /// As for [`UsmArray::sort`](crate::UsmArray::sort).
    pub fn sort(&self, axis: isize, order: impl Into<Sort>) -> Result<Self> {
        self.inner.sort(axis, order)?.try_into()
    }
    /// The places of the elements of the [sorted](Self::sort) array.
    ///
    /// # Errors
    /// As for [`sort`](Self::sort).
    pub fn argsort(&self, axis: isize, order: impl Into<Sort>) -> Result<Array<i64>> {
        self.inner.argsort(axis, order)?.try_into()
    }
    /// The `k` largest elements (or smallest) along an axis, or (`None`) of all, the most extreme first, and their
    /// places; see [`UsmArray::top_k`](crate::UsmArray::top_k).
    ///
    /// # Errors
    /// As for [`UsmArray::top_k`](crate::UsmArray::top_k).
    pub fn top_k(&self, k: usize, axis: Option<isize>, largest: bool) -> Result<(Self, Array<i64>)> {
        let (values, places) = self.inner.top_k(k, axis, largest)?;
        Ok((values.try_into()?, places.try_into()?))
    }
    /// The places where values would be inserted into this one-dimensional, sorted array; see
    /// [`UsmArray::searchsorted`](crate::UsmArray::searchsorted).
    ///
    /// # Errors
    /// As for [`UsmArray::searchsorted`](crate::UsmArray::searchsorted).
    pub fn searchsorted(&self, values: &Self, side: Side) -> Result<Array<i64>> {
        self.inner.searchsorted(&values.inner, side, None)?.try_into()
    }
    /// As [`searchsorted`](Self::searchsorted), in an array that the places of a sorter bring in order.
    ///
    /// # Errors
    /// As for [`UsmArray::searchsorted`](crate::UsmArray::searchsorted).
    pub fn searchsorted_by<I: IntElement>(
        &self,
        values: &Self,
        side: Side,
        sorter: &Array<I>,
    ) -> Result<Array<i64>> {
        self.inner.searchsorted(&values.inner, side, Some(&sorter.inner))?.try_into()
    }

    /// The different elements, sorted. Each NaN is different from every other.
    ///
    /// # Errors
    /// As for [`sort`](Self::sort).
    pub fn unique_values(&self) -> Result<Self> {
        self.inner.unique_values()?.try_into()
    }
    /// The different elements, sorted, and how often each occurs.
    ///
    /// # Errors
    /// As for [`sort`](Self::sort).
    pub fn unique_counts(&self) -> Result<(Self, Array<i64>)> {
        let (values, counts) = self.inner.unique_counts()?;
        Ok((values.try_into()?, counts.try_into()?))
    }
    /// The different elements, sorted; and for each element of this array, in its shape, its place among them.
    ///
    /// # Errors
    /// As for [`sort`](Self::sort).
    pub fn unique_inverse(&self) -> Result<(Self, Array<i64>)> {
        let (values, inverse) = self.inner.unique_inverse()?;
        Ok((values.try_into()?, inverse.try_into()?))
    }
    /// Groups elements by these keys; see [`UsmArray::group_by`](crate::UsmArray::group_by).
    ///
    /// ```no_run
    /// # use stridewise_core::array;
    /// let (keys, values) = (array![3_i64, 1, 3, 3], array![1.0, 2.0, 3.0, 5.0]);
    /// let groups = keys.group_by()?;
    /// assert_eq!(groups.keys().to_vec::<i64>()?, [1, 3]);
    /// assert_eq!(groups.mean(values.as_untyped())?.to_vec::<f64>()?, [2.0, 3.0]);
    /// # Ok::<(), stridewise_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`sort`](Self::sort).
    pub fn group_by(&self) -> Result<Groups> {
        self.inner.group_by()
    }
    /// The different elements, sorted, with all that is known of them.
    ///
    /// # Errors
    /// As for [`sort`](Self::sort).
    pub fn unique_all(&self) -> Result<UniqueValues<T>> {
        let all = self.inner.unique_all()?;
        Ok(UniqueValues {
            values: all.values.try_into()?,
            indices: all.indices.try_into()?,
            inverse_indices: all.inverse_indices.try_into()?,
            counts: all.counts.try_into()?,
        })
    }
    /// For each element, whether it is among the elements of another array (or, with `invert`, is not).
    ///
    /// # Errors
    /// As for [`UsmArray::isin`](crate::UsmArray::isin).
    pub fn isin(&self, elements: &Self, invert: bool) -> Result<Array<bool>> {
        self.inner.isin(&elements.inner, invert)?.try_into()
    }
}
