//! Running folds along an axis, and differences of neighbours.

use super::{Array, FloatElement, NumElement, Reducible};
use crate::array::Scan;
use crate::dtype::Element;
use crate::error::Result;

macro_rules! scans {
    ($($Class:ident -> $Out:ty: $name:ident $initial_name:ident $Scan:ident $text:literal;)*) => {$(
        impl<T: $Class> Array<T> {
            #[doc = concat!($text, " up to each along an axis.")]
            ///
            /// # Errors
            /// [`Error::Axis`](crate::Error::Axis) for an axis out of range.
            pub fn $name(&self, axis: isize) -> Result<Array<$Out>> {
                self.inner.cumulative(Scan::$Scan, Some(axis), None, false)?.try_into()
            }

            #[doc = concat!($text, " before each along an axis, and of all: one element more, the first of which is that of no elements.")]
            ///
            /// # Errors
            /// [`Error::Axis`](crate::Error::Axis) for an axis out of range.
            pub fn $initial_name(&self, axis: isize) -> Result<Array<$Out>> {
                self.inner.cumulative(Scan::$Scan, Some(axis), None, true)?.try_into()
            }
        }
    )*};
}

scans! {
    Reducible -> T::Sum: cumulative_sum cumulative_sum_initial Sum
        "The sums of elements, of integers and `bool` in the 64-bit integer of their sign,";
    Reducible -> T::Sum: cumulative_prod cumulative_prod_initial Prod
        "The products of elements, of integers and `bool` in the 64-bit integer of their sign,";
    FloatElement -> T: cumulative_logsumexp cumulative_logsumexp_initial Logsumexp
        "`ln Σ eˣ` of elements, without overflow on the way,";
}

#[cfg_attr(not(doctest), doc = include_str!("examples/scans.md"))]
impl<T: Element> Array<T> {
    /// A running fold along an axis of the elements converted to another type.
    ///
    /// # Errors
    /// As for [`UsmArray::cumulative`](crate::UsmArray::cumulative).
    pub fn cumulative_as<U: Element>(
        &self,
        scan: Scan,
        axis: isize,
        include_initial: bool,
    ) -> Result<Array<U>> {
        self.inner.cumulative(scan, Some(axis), Some(U::DTYPE), include_initial)?.try_into()
    }
}

impl<T: NumElement> Array<T> {
    /// The differences of neighbours along an axis, one element less.
    ///
    /// # Errors
    /// [`Error::Axis`](crate::Error::Axis) for an axis out of range.
    pub fn diff(&self, axis: isize) -> Result<Self> {
        self.diff_of(axis, 1, None, None)
    }

    /// The differences of neighbours along an axis, `n` times over, of this array with others joined to its ends.
    ///
    /// # Errors
    /// As for [`UsmArray::diff`](crate::UsmArray::diff).
    pub fn diff_of(
        &self,
        axis: isize,
        n: usize,
        prepend: Option<&Self>,
        append: Option<&Self>,
    ) -> Result<Self> {
        self.inner.diff(axis, n, prepend.map(|a| &a.inner), append.map(|a| &a.inner))?.try_into()
    }
}
