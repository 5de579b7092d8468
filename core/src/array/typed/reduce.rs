//! Reductions. Each has three forms: over everything to one value, over axes to an array, and the same with the axes
//! kept with extent 1.

use std::marker::PhantomData;

use super::{Array, Axes, OrderedElement, Reducible, typed};
use crate::array::Reduction;
use crate::dtype::Element;
use crate::error::Result;

#[cfg_attr(not(doctest), doc = include_str!("examples/reductions.md"))]
impl<T: Element> Array<T> {
    fn reduce<U: Element>(&self, reduction: Reduction, axes: impl Axes, keepdims: bool) -> Result<Array<U>> {
        let axes = axes.of(self.ndim());
        match self.inner.reduce(reduction, Some(&axes), keepdims) {
            // Moved once: an array that has just been written takes longer to be moved than a few elements to be folded.
            Ok(inner) if inner.dtype() == U::DTYPE => Ok(Array { inner, element: PhantomData }),
            result => result?.try_into(),
        }
    }
    fn reduce_all<U: Element>(&self, reduction: Reduction) -> Result<U> {
        match self.inner.reduce_all_as(reduction) {
            Some(value) => Ok(value),
            // Where the device lacks double precision, the mean of integers is single and converts.
            None => typed(self.inner.reduce_all(reduction)?),
        }
    }
}

macro_rules! reductions {
    ($($Class:ident -> $Out:ty: $name:ident $axis_name:ident $keep_name:ident $Reduction:ident $text:literal $errors:literal;)*) => {$(
        impl<T: $Class> Array<T> {
            #[doc = concat!($text, " Over all elements.")]
            ///
            /// # Errors
            #[doc = $errors]
            pub fn $name(&self) -> Result<$Out> {
                self.reduce_all(Reduction::$Reduction)
            }

            #[doc = concat!($text, " Over axes: `0`, `-1`, `[0, 1]`, or `..` for all.")]
            ///
            /// # Errors
            /// [`Error::Axis`](crate::Error::Axis) for an axis out of range or named twice.
            #[doc = $errors]
            pub fn $axis_name(&self, axes: impl Axes) -> Result<Array<$Out>> {
                self.reduce(Reduction::$Reduction, axes, false)
            }

            #[doc = concat!($text, " Over axes, which stay with extent 1.")]
            ///
            /// # Errors
            /// [`Error::Axis`](crate::Error::Axis) for an axis out of range or named twice.
            #[doc = $errors]
            pub fn $keep_name(&self, axes: impl Axes) -> Result<Array<$Out>> {
                self.reduce(Reduction::$Reduction, axes, true)
            }
        }
    )*};
}

reductions! {
    Reducible -> T::Sum: sum sum_axis sum_axis_keepdims Sum
        "The sum; of integers and `bool` in the 64-bit integer of their sign." "The failure of the work.";
    Reducible -> T::Sum: prod prod_axis prod_axis_keepdims Prod
        "The product; of integers and `bool` in the 64-bit integer of their sign." "The failure of the work.";
    Reducible -> T::Mean: mean mean_axis mean_axis_keepdims Mean
        "The arithmetic mean; of integers in `f64`; NaN of no elements." "The failure of the work.";
    OrderedElement -> T: min min_axis min_axis_keepdims Min
        "The smallest element; NaN if there is one."
        "[`Error::Value`](crate::Error::Value) where there are no elements; the failure of the work.";
    OrderedElement -> T: max max_axis max_axis_keepdims Max
        "The largest element; NaN if there is one."
        "[`Error::Value`](crate::Error::Value) where there are no elements; the failure of the work.";
    OrderedElement -> i64: argmin argmin_axis argmin_axis_keepdims ArgMin
        "The row-major index of the first smallest element; of the first NaN if there is one. One axis, or all."
        "[`Error::Value`](crate::Error::Value) where there are no elements, or for several axes but not all.";
    OrderedElement -> i64: argmax argmax_axis argmax_axis_keepdims ArgMax
        "The row-major index of the first largest element; of the first NaN if there is one. One axis, or all."
        "[`Error::Value`](crate::Error::Value) where there are no elements, or for several axes but not all.";
    Element -> bool: any any_axis any_axis_keepdims Any
        "Whether any element is not zero." "The failure of the work.";
    Element -> bool: all all_axis all_axis_keepdims All
        "Whether no element is zero." "The failure of the work.";
}
