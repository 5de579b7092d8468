//! Elements at places that arrays name, and under masks. Indices are integers of any type.

use super::{Array, ArrayOrValue, IntElement};
use crate::array::{Index, IndexMode, UsmArray};
use crate::dtype::Element;
use crate::error::Result;
use crate::runtime::Event;

fn typed_all<T: Element>(arrays: Vec<UsmArray>) -> Result<Vec<Array<T>>> {
    arrays.into_iter().map(Array::try_from).collect()
}

#[cfg_attr(not(doctest), doc = include_str!("examples/indexing.md"))]
impl<T: Element> Array<T> {
    /// The elements that an index of slices and arrays selects, by NumPy's rules; see [`ix!`](crate::ix) and
    /// [`UsmArray::index`].
    ///
    /// ```no_run
    /// use stridewise_core::{array, ix};
    /// let mut a = array![[1, 2, 3], [4, 5, 6]];
    /// let (rows, columns) = (array![1_i64, 0, 1], array![0_i64, 2, 2]);
    /// assert_eq!(a.index(ix![&rows, &columns])?.to_vec()?, [4, 3, 6]);
    /// a.assign_index(ix![&a.greater(2)], 0)?;
    /// assert_eq!(a.to_vec()?, [1, 2, 0, 0, 0, 0]);
    /// # Ok::<(), stridewise_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`UsmArray::index`].
    pub fn index(&self, items: &[Index]) -> Result<Self> {
        self.inner.index(items)?.try_into()
    }
    /// Writes values to the elements that an index selects; see [`UsmArray::assign_index`].
    ///
    /// # Errors
    /// As for [`UsmArray::assign_index`].
    pub fn assign_index<'a>(
        &mut self,
        items: &[Index],
        values: impl Into<ArrayOrValue<'a, T>>,
    ) -> Result<Event> {
        self.inner.assign_index(items, values.into())
    }
    /// The elements at places along an axis, or (`None`) in the row-major sequence of all; see [`UsmArray::take`].
    ///
    /// # Errors
    /// As for [`UsmArray::take`].
    pub fn take<I: IntElement>(
        &self,
        indices: &Array<I>,
        axis: Option<isize>,
        mode: IndexMode,
    ) -> Result<Self> {
        self.inner.take(&indices.inner, axis, mode)?.try_into()
    }
    /// Writes values to the elements of a [`take`](Self::take); see [`UsmArray::put`].
    ///
    /// # Errors
    /// As for [`UsmArray::put`].
    pub fn put<'a, I: IntElement>(
        &mut self,
        indices: &Array<I>,
        values: impl Into<ArrayOrValue<'a, T>>,
        axis: Option<isize>,
        mode: IndexMode,
    ) -> Result<Event> {
        self.inner.put(&indices.inner, values.into(), axis, mode)
    }
    /// The elements at places along an axis, one for each element of the result; see [`UsmArray::take_along_axis`].
    ///
    /// # Errors
    /// As for [`UsmArray::take_along_axis`].
    pub fn take_along_axis<I: IntElement>(
        &self,
        indices: &Array<I>,
        axis: isize,
        mode: IndexMode,
    ) -> Result<Self> {
        self.inner.take_along_axis(&indices.inner, axis, mode)?.try_into()
    }
    /// Writes values to the elements of a [`take_along_axis`](Self::take_along_axis); see [`UsmArray::put_along_axis`].
    ///
    /// # Errors
    /// As for [`UsmArray::put_along_axis`].
    pub fn put_along_axis<'a, I: IntElement>(
        &mut self,
        indices: &Array<I>,
        values: impl Into<ArrayOrValue<'a, T>>,
        axis: isize,
        mode: IndexMode,
    ) -> Result<Event> {
        self.inner.put_along_axis(&indices.inner, values.into(), axis, mode)
    }

    /// The places of the elements other than zero, in row-major order: for each dimension, an array of indices.
    ///
    /// # Errors
    /// As for [`UsmArray::nonzero`].
    pub fn nonzero(&self) -> Result<Vec<Array<i64>>> {
        typed_all(self.inner.nonzero()?)
    }
    /// The elements where a mask over all dimensions, or the first ones, is true; see [`UsmArray::masked`].
    ///
    /// # Errors
    /// As for [`UsmArray::masked`].
    pub fn masked(&self, mask: &Array<bool>) -> Result<Self> {
        self.inner.masked(&mask.inner)?.try_into()
    }
    /// Writes values where a mask over all dimensions, or the first ones, is true; see [`UsmArray::assign_masked`].
    ///
    /// # Errors
    /// As for [`UsmArray::assign_masked`].
    pub fn assign_masked<'a>(
        &mut self,
        mask: &Array<bool>,
        values: impl Into<ArrayOrValue<'a, T>>,
    ) -> Result<Event> {
        self.inner.assign_masked(&mask.inner, values.into())
    }
    /// Writes values, over and over again, where a mask is true; see [`UsmArray::place`].
    ///
    /// # Errors
    /// As for [`UsmArray::place`].
    pub fn place(&mut self, mask: &Array<bool>, values: &Self) -> Result<Event> {
        self.inner.place(&mask.inner, &values.inner)
    }
    /// The elements where a condition of as many elements is other than zero; see [`UsmArray::extract`].
    ///
    /// # Errors
    /// As for [`UsmArray::extract`].
    pub fn extract<U: Element>(&self, condition: &Array<U>) -> Result<Self> {
        self.inner.extract(&condition.inner)?.try_into()
    }
    /// The parts along an axis where a condition is other than zero; see [`UsmArray::compress`].
    ///
    /// # Errors
    /// As for [`UsmArray::compress`].
    pub fn compress<U: Element>(&self, condition: &Array<U>, axis: Option<isize>) -> Result<Self> {
        self.inner.compress(&condition.inner, axis)?.try_into()
    }
}
