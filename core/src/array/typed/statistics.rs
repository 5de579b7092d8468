//! Spread, counts and sums that stay in range. As for other reductions, each has three forms: over everything to one value,
//! over axes to an array, and the same with the axes kept with extent 1.

use super::{Array, Axes, FieldElement, FloatElement, Reducible, typed_item};
use crate::array::{QuantileMethod, Reduction};
use crate::dtype::Element;
use crate::error::Result;

macro_rules! statistics {
    ($($Class:ident -> $Out:ty: $name:ident $axis_name:ident $keep_name:ident ($($arg:ident: $ty:ty),*)
        $self:ident, $axes:ident, $keep:ident => $call:expr, $text:literal;)*) => {$(
        impl<T: $Class> Array<T> {
            #[doc = concat!($text, " Over all elements.")]
            ///
            /// # Errors
            /// [`Error::Value`](crate::Error::Value) for a number that is not finite; the failure of the work.
            pub fn $name(&self $(, $arg: $ty)*) -> Result<$Out> {
                let ($self, $axes, $keep) = (&self.inner, None::<&[isize]>, false);
                typed_item(&$call?)
            }

            #[doc = concat!($text, " Over axes: `0`, `-1`, `[0, 1]`, or `..` for all.")]
            ///
            /// # Errors
            /// [`Error::Axis`](crate::Error::Axis) for an axis out of range or named twice; as over all elements.
            pub fn $axis_name(&self, axes: impl Axes $(, $arg: $ty)*) -> Result<Array<$Out>> {
                let axes = axes.of(self.ndim());
                let ($self, $axes, $keep) = (&self.inner, Some(&axes[..]), false);
                $call?.try_into()
            }

            #[doc = concat!($text, " Over axes, which stay with extent 1.")]
            ///
            /// # Errors
            /// [`Error::Axis`](crate::Error::Axis) for an axis out of range or named twice; as over all elements.
            pub fn $keep_name(&self, axes: impl Axes $(, $arg: $ty)*) -> Result<Array<$Out>> {
                let axes = axes.of(self.ndim());
                let ($self, $axes, $keep) = (&self.inner, Some(&axes[..]), true);
                $call?.try_into()
            }
        }
    )*};
}

statistics! {
    Reducible -> T::Spread: var var_axis var_axis_keepdims (correction: f64)
        x, axes, keep => x.var(axes, keep, correction),
        "The variance `Σ|x − mean|² / (n − correction)`; of integers in `f64`, of complex numbers real.";
    Reducible -> T::Spread: std std_axis std_axis_keepdims (correction: f64)
        x, axes, keep => x.std(axes, keep, correction),
        "The standard deviation, the root of the variance; of integers in `f64`, of complex numbers real.";
    Reducible -> T::Spread: reduce_hypot reduce_hypot_axis reduce_hypot_axis_keepdims ()
        x, axes, keep => x.reduce_hypot(axes, keep, None),
        "`√Σ|x|²` without overflow on the way; of integers in `f64`, of complex numbers real.";
    FloatElement -> T: logsumexp logsumexp_axis logsumexp_axis_keepdims ()
        x, axes, keep => x.logsumexp(axes, keep, None),
        "`ln Σ eˣ` without overflow on the way; −∞ of no elements.";
    FieldElement -> T: nansum nansum_axis nansum_axis_keepdims ()
        x, axes, keep => x.reduce_numbers(Reduction::Sum, axes, keep, None),
        "The sum of the elements that are not NaN; 0 of none.";
    FieldElement -> T: nanprod nanprod_axis nanprod_axis_keepdims ()
        x, axes, keep => x.reduce_numbers(Reduction::Prod, axes, keep, None),
        "The product of the elements that are not NaN; 1 of none.";
    FloatElement -> T: nanmin nanmin_axis nanmin_axis_keepdims ()
        x, axes, keep => x.reduce_numbers(Reduction::Min, axes, keep, None),
        "The smallest of the elements that are not NaN; NaN where all are.";
    FloatElement -> T: nanmax nanmax_axis nanmax_axis_keepdims ()
        x, axes, keep => x.reduce_numbers(Reduction::Max, axes, keep, None),
        "The largest of the elements that are not NaN; NaN where all are.";
    FieldElement -> T: nanmean nanmean_axis nanmean_axis_keepdims ()
        x, axes, keep => x.nanmean(axes, keep),
        "The mean of the elements that are not NaN; NaN of none.";
    FieldElement -> T::Part: nanvar nanvar_axis nanvar_axis_keepdims (correction: f64)
        x, axes, keep => x.nanvar(axes, keep, correction),
        "The variance of the elements that are not NaN; NaN of no more of them than `correction`.";
    FieldElement -> T::Part: nanstd nanstd_axis nanstd_axis_keepdims (correction: f64)
        x, axes, keep => x.nanstd(axes, keep, correction),
        "The standard deviation of the elements that are not NaN, the root of their variance.";
    Reducible -> T::Spread: median median_axis median_axis_keepdims ()
        x, axes, keep => x.median(axes, keep, false),
        "The median, the mean of the two in the middle of an even number; NaN where an element is; of integers in `f64`.";
    Reducible -> T::Spread: nanmedian nanmedian_axis nanmedian_axis_keepdims ()
        x, axes, keep => x.median(axes, keep, true),
        "The median of the elements that are not NaN; of integers in `f64`.";
    Reducible -> T::Spread: quantile quantile_axis quantile_axis_keepdims (part: f64, method: QuantileMethod)
        x, axes, keep => x.quantile(&[part], axes, keep, method, false).and_then(|all| all.squeeze(&[0])),
        "The number that a part of the elements, from 0 to 1, is not above; NaN where an element is; of integers in `f64`.";
    Reducible -> T::Spread: nanquantile nanquantile_axis nanquantile_axis_keepdims (part: f64, method: QuantileMethod)
        x, axes, keep => x.quantile(&[part], axes, keep, method, true).and_then(|all| all.squeeze(&[0])),
        "The number that a part of the elements that are not NaN, from 0 to 1, is not above; of integers in `f64`.";
    Element -> i64: count_nonzero count_nonzero_axis count_nonzero_axis_keepdims ()
        x, axes, keep => x.count_nonzero(axes, keep),
        "How many elements are not zero; NaN is not.";
}

/// Reductions of the elements converted to another type first.
macro_rules! converted {
    ($($name:ident $axis_name:ident $keep_name:ident $Reduction:ident $text:literal;)*) => {$(
        impl<T: Element> Array<T> {
            #[doc = concat!($text, " of the elements converted to `U`, over all of them.")]
            ///
            /// # Errors
            /// [`Error::Dtype`](crate::Error::Dtype) where the device or the reduction does not take `U`; the failure of the
            /// work.
            pub fn $name<U: Element>(&self) -> Result<U> {
                typed_item(&self.inner.reduce_as(Reduction::$Reduction, None, false, Some(U::DTYPE))?)
            }

            #[doc = concat!($text, " of the elements converted to `U`, over axes.")]
            ///
            /// # Errors
            /// [`Error::Axis`](crate::Error::Axis) for an axis out of range or named twice; as over all elements.
            pub fn $axis_name<U: Element>(&self, axes: impl Axes) -> Result<Array<U>> {
                let axes = axes.of(self.ndim());
                self.inner.reduce_as(Reduction::$Reduction, Some(&axes), false, Some(U::DTYPE))?.try_into()
            }

            #[doc = concat!($text, " of the elements converted to `U`, over axes, which stay with extent 1.")]
            ///
            /// # Errors
            /// [`Error::Axis`](crate::Error::Axis) for an axis out of range or named twice; as over all elements.
            pub fn $keep_name<U: Element>(&self, axes: impl Axes) -> Result<Array<U>> {
                let axes = axes.of(self.ndim());
                self.inner.reduce_as(Reduction::$Reduction, Some(&axes), true, Some(U::DTYPE))?.try_into()
            }
        }
    )*};
}

converted! {
    sum_as sum_axis_as sum_axis_keepdims_as Sum "The sum";
    prod_as prod_axis_as prod_axis_keepdims_as Prod "The product";
    mean_as mean_axis_as mean_axis_keepdims_as Mean "The arithmetic mean";
}
