//! Sums at places, weighted counts and means, padding, products of rows, and Einstein's notation.

use super::{Array, Axes, FieldElement, FloatElement, IntElement, NumElement, RealElement, Reducible};
use crate::array::{self, Bins, Index, Overlap, Padding, UsmArray};
use crate::dtype::Element;
use crate::error::Result;
use crate::memory::heap;

impl<T: NumElement> Array<T> {
    /// Adds values to the elements that an index of slices and arrays names, each as often as it is named, in that order; see
    /// [`UsmArray::add_at`].
    ///
    /// ```no_run
    /// # use stridewise_core::{Array, array, ix};
    /// let mut sums = Array::<f64>::zeros([3])?;
    /// sums.add_at(ix![&array![0_i64, 2, 2]], &array![1.0, 10.0, 100.0])?;
    /// assert_eq!(sums.to_vec()?, [1.0, 0.0, 110.0]);
    /// # Ok::<(), stridewise_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`UsmArray::add_at`].
    pub fn add_at<'a>(
        &mut self,
        items: &[Index],
        values: impl Into<super::ArrayOrValue<'a, T>>,
    ) -> Result<()> {
        let values: super::ArrayOrValue<'a, T> = values.into();
        self.inner.add_at(items, values)
    }

    /// Multiplies elements by values; see [`UsmArray::multiply_at`].
    ///
    /// # Errors
    /// As for [`UsmArray::multiply_at`].
    pub fn multiply_at<'a>(
        &mut self,
        items: &[Index],
        values: impl Into<super::ArrayOrValue<'a, T>>,
    ) -> Result<()> {
        let values: super::ArrayOrValue<'a, T> = values.into();
        self.inner.multiply_at(items, values)
    }

    /// The discrete convolution of two rows; see [`UsmArray::convolve`].
    ///
    /// # Errors
    /// As for [`UsmArray::convolve`].
    pub fn convolve(&self, other: &Self, overlap: Overlap) -> Result<Self> {
        self.inner.convolve(&other.inner, overlap)?.try_into()
    }

    /// The cross-correlation of two rows; see [`UsmArray::correlate`].
    ///
    /// # Errors
    /// As for [`UsmArray::correlate`].
    pub fn correlate(&self, other: &Self, overlap: Overlap) -> Result<Self> {
        self.inner.correlate(&other.inner, overlap)?.try_into()
    }

    /// The values of the polynomial of these coefficients, from the highest power on; see [`UsmArray::polyval`].
    ///
    /// # Errors
    /// As for [`UsmArray::polyval`].
    pub fn polyval(&self, x: &Self) -> Result<Self> {
        self.inner.polyval(&x.inner)?.try_into()
    }

    /// Sums of products of arrays of one type by Einstein's notation; see [`einsum`](crate::einsum).
    ///
    /// # Errors
    /// As for [`einsum`](crate::einsum).
    pub fn einsum(subscripts: &str, operands: &[&Self]) -> Result<Self> {
        let operands = heap::collect("operands", operands.iter().map(|array| &array.inner))?;
        array::einsum(subscripts, &operands)?.try_into()
    }
}

impl<T: Element> Array<T> {
    /// The array with elements before and behind its own along each axis; see [`UsmArray::pad`].
    ///
    /// # Errors
    /// As for [`UsmArray::pad`].
    pub fn pad(&self, widths: &[(usize, usize)], padding: Padding) -> Result<Self> {
        self.inner.pad(widths, padding)?.try_into()
    }

    /// The places that bring arrays of one type and shape into order along an axis, by the last one first; see
    /// [`lexsort`](crate::lexsort).
    ///
    /// # Errors
    /// As for [`lexsort`](crate::lexsort).
    pub fn lexsort(keys: &[&Self], axis: isize) -> Result<Array<i64>> {
        let keys = heap::collect("keys", keys.iter().map(|key| &key.inner))?;
        array::lexsort(&keys, axis)?.try_into()
    }

    /// The places of an order in which the `kth` element stands where a sort puts it; see [`UsmArray::argpartition`].
    ///
    /// # Errors
    /// As for [`UsmArray::argpartition`].
    pub fn argpartition(&self, kth: isize, axis: isize) -> Result<Array<i64>> {
        self.inner.argpartition(kth, axis)?.try_into()
    }
}

impl<T: FieldElement> Array<T> {
    /// The mean with weights of the array's shape over axes, and the weights' sums; see [`UsmArray::average`].
    ///
    /// # Errors
    /// As for [`UsmArray::average`].
    pub fn average_axis(&self, weights: &Self, axes: impl Axes) -> Result<(Self, Self)> {
        let axes = axes.of(self.ndim());
        let (mean, total) = self.inner.average(&weights.inner, Some(&axes), false)?;
        Ok((mean.try_into()?, total.try_into()?))
    }

    /// The mean with weights of the array's shape over all elements; see [`UsmArray::average`].
    ///
    /// # Errors
    /// As for [`UsmArray::average`].
    pub fn average(&self, weights: &Self) -> Result<T> {
        super::typed_item(&self.inner.average(&weights.inner, None, false)?.0)
    }

    /// How rows of observations vary together; see [`UsmArray::cov`].
    ///
    /// # Errors
    /// As for [`UsmArray::cov`].
    pub fn cov(&self, correction: f64) -> Result<Self> {
        self.inner.cov(None, false, correction)?.try_into()
    }

    /// The correlation coefficients of rows of observations; see [`UsmArray::corrcoef`].
    ///
    /// # Errors
    /// As for [`UsmArray::corrcoef`].
    pub fn corrcoef(&self) -> Result<Self> {
        self.inner.corrcoef(None, false)?.try_into()
    }
}

impl<T: FloatElement> Array<T> {
    /// Whether elements are +∞.
    ///
    /// # Errors
    /// As for [`elementwise`](crate::elementwise).
    pub fn isposinf(&self) -> Result<Array<bool>> {
        self.inner.isposinf()?.try_into()
    }

    /// Whether elements are −∞.
    ///
    /// # Errors
    /// As for [`elementwise`](crate::elementwise).
    pub fn isneginf(&self) -> Result<Array<bool>> {
        self.inner.isneginf()?.try_into()
    }
}

impl<T: RealElement> Array<T> {
    /// Replaces elements by values that are smaller; see [`UsmArray::minimum_at`].
    ///
    /// # Errors
    /// As for [`UsmArray::minimum_at`].
    pub fn minimum_at<'a>(
        &mut self,
        items: &[Index],
        values: impl Into<super::ArrayOrValue<'a, T>>,
    ) -> Result<()> {
        let values: super::ArrayOrValue<'a, T> = values.into();
        self.inner.minimum_at(items, values)
    }

    /// Replaces elements by values that are larger; see [`UsmArray::maximum_at`].
    ///
    /// # Errors
    /// As for [`UsmArray::maximum_at`].
    pub fn maximum_at<'a>(
        &mut self,
        items: &[Index],
        values: impl Into<super::ArrayOrValue<'a, T>>,
    ) -> Result<()> {
        let values: super::ArrayOrValue<'a, T> = values.into();
        self.inner.maximum_at(items, values)
    }
}

impl<T: IntElement> Array<T> {
    /// The sum of the weights of each number from 0 on; see [`UsmArray::bincount_weighted`].
    ///
    /// # Errors
    /// As for [`UsmArray::bincount_weighted`].
    pub fn bincount_weighted(&self, weights: &Array<f64>, minlength: usize) -> Result<UsmArray> {
        self.inner.bincount_weighted(&weights.inner, minlength)
    }
}

impl<T: RealElement + Reducible> Array<T> {
    /// The sum of the weights of the elements in each of so many bins of one width, over a range or all elements, and the edges; see
    /// [`UsmArray::histogram_weighted`].
    ///
    /// # Errors
    /// As for [`UsmArray::histogram_weighted`].
    pub fn histogram_weighted<W: NumElement>(
        &self,
        bins: usize,
        range: Option<(f64, f64)>,
        weights: &Array<W>,
    ) -> Result<(Array<W>, Array<T::Spread>)> {
        let (sums, edges) = self.inner.histogram_weighted(Bins::Count(bins, range), &weights.inner)?;
        Ok((sums.try_into()?, edges.try_into()?))
    }
}
