//! Functions of numbers that are made of several operations, counts, lines through points and windows.

use super::{Array, FieldElement, FloatElement, IntElement, RealElement, Reducible, demand};
use crate::array::{Bins, Spacing, UsmArray};
use crate::dtype::Element;
use crate::error::Result;
use crate::promotion::Weak;

/// Writes elementwise functions twice: with the rule of operators for failures, and as a `Result`.
macro_rules! functions {
    ($($Class:ident $name:ident $try_name:ident ($($arg:ident: $ty:ty),*) $x:ident => $call:expr, $text:literal;)*) => {$(
        impl<T: $Class> Array<T> {
            #[doc = $text]
            ///
            /// # Panics
            #[doc = concat!("As operators do; [`", stringify!($try_name), "`](Self::", stringify!($try_name), ") does not.")]
            #[must_use]
            #[track_caller]
            pub fn $name(&self $(, $arg: $ty)*) -> Self {
                demand(self.$try_name($($arg),*))
            }

            #[doc = concat!($text, " See [`", stringify!($name), "`](Self::", stringify!($name), ").")]
            ///
            /// # Errors
            /// As for [`elementwise`](crate::elementwise).
            pub fn $try_name(&self $(, $arg: $ty)*) -> Result<Self> {
                let $x = &self.inner;
                $call?.try_into()
            }
        }
    )*};
}

functions! {
    FloatElement deg2rad try_deg2rad () x => x.deg2rad(), "Degrees in radians.";
    FloatElement rad2deg try_rad2deg () x => x.rad2deg(), "Radians in degrees.";
    FieldElement sinc try_sinc () x => x.sinc(), "`sin(πx) / (πx)`, and 1 for 0.";
    FieldElement nan_to_num try_nan_to_num () x => x.nan_to_num(0.0, None, None),
        "The numbers with 0 in place of NaN, and the largest and smallest finite numbers in place of infinite ones.";
    FloatElement lerp try_lerp (other: &Self, weight: f64) x => x.lerp(&other.inner, Weak::Float(weight)),
        "The part of the way to the numbers of another array that a weight says: `x + (y − x) weight`, exactly `y` for 1.";
}

impl<T: IntElement> Array<T> {
    /// How often each number from 0 on occurs, up to the largest, and of `minlength` numbers at least.
    ///
    /// # Errors
    /// As for [`UsmArray::bincount`].
    pub fn bincount(&self, minlength: usize) -> Result<Array<i64>> {
        self.inner.bincount(minlength)?.try_into()
    }
}

#[cfg_attr(not(doctest), doc = include_str!("examples/statistics.md"))]
impl<T: RealElement + Reducible> Array<T> {
    /// For each number, the place of the bin between edges that it falls in.
    ///
    /// # Errors
    /// As for [`UsmArray::digitize`].
    pub fn digitize(&self, bins: &Self, right: bool) -> Result<Array<i64>> {
        self.inner.digitize(&bins.inner, right)?.try_into()
    }

    /// How many elements fall into each of so many bins of one width, over a range or all elements, and the bins' edges.
    ///
    /// # Errors
    /// As for [`UsmArray::histogram`].
    pub fn histogram(
        &self,
        bins: usize,
        range: Option<(f64, f64)>,
    ) -> Result<(Array<i64>, Array<T::Spread>)> {
        let (counts, edges) = self.inner.histogram(Bins::Count(bins, range))?;
        Ok((counts.try_into()?, edges.try_into()?))
    }

    /// How many elements fall into each of the bins between edges.
    ///
    /// # Errors
    /// As for [`UsmArray::histogram`].
    pub fn histogram_between(&self, edges: &Self) -> Result<Array<i64>> {
        self.inner.histogram(Bins::Edges(&edges.inner))?.0.try_into()
    }

    /// The values at these places of the line through points, whose coordinates increase.
    ///
    /// # Errors
    /// As for [`UsmArray::interp`].
    pub fn interp(&self, xp: &Self, fp: &Self) -> Result<UsmArray> {
        self.inner.interp(&xp.inner, &fp.inner, None, None, None)
    }
}

impl<T: FieldElement> Array<T> {
    /// The slope along an axis at each point, of points so far apart; see [`UsmArray::gradient`].
    ///
    /// # Errors
    /// As for [`UsmArray::gradient`].
    pub fn gradient(&self, axis: isize, spacing: f64) -> Result<Self> {
        self.inner.gradient(axis, Spacing::Even(spacing), false)?.try_into()
    }
}

impl<T: Element> Array<T> {
    /// Read-only views of all windows of extents along axes, in new dimensions behind the others.
    ///
    /// # Errors
    /// As for [`UsmArray::sliding_window_view`].
    pub fn sliding_window_view(&self, window: &[usize], axes: Option<&[isize]>) -> Result<Self> {
        self.inner.sliding_window_view(window, axes)?.try_into()
    }
}
