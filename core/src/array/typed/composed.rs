//! Elementwise functions that are made of several operations: angles, projections, closeness.

use super::{Array, FieldElement, NumElement, Reducible, demand, typed_item};
use crate::error::Result;

impl<T: NumElement + Reducible> Array<T> {
    /// The angles of complex numbers, from −π to π radians; 0 or π of real ones, of integers in `f64`.
    ///
    /// # Panics
    /// As operators do; [`try_angle`](Self::try_angle) does not.
    #[must_use]
    #[track_caller]
    pub fn angle(&self) -> Array<T::Spread> {
        demand(self.try_angle())
    }

    /// The angles of complex numbers; see [`angle`](Self::angle).
    ///
    /// # Errors
    /// As for [`elementwise`](crate::elementwise).
    pub fn try_angle(&self) -> Result<Array<T::Spread>> {
        self.inner.angle()?.try_into()
    }
}

impl<T: FieldElement> Array<T> {
    /// The projections onto the Riemann sphere (C's `cproj`): infinite numbers become +∞ with a zero imaginary part of
    /// their own sign, others are themselves.
    ///
    /// # Panics
    /// As operators do; [`try_proj`](Self::try_proj) does not.
    #[must_use]
    #[track_caller]
    pub fn proj(&self) -> Self {
        demand(self.try_proj())
    }

    /// The projections onto the Riemann sphere; see [`proj`](Self::proj).
    ///
    /// # Errors
    /// As for [`elementwise`](crate::elementwise).
    pub fn try_proj(&self) -> Result<Self> {
        self.inner.proj()?.try_into()
    }
}

impl<T: NumElement> Array<T> {
    /// Whether elements are close to those of another array: `|x − y| ≤ atol + rtol |y|` for finite `y`, equal otherwise,
    /// and with `equal_nan` also both NaN. NumPy's tolerances are 1e-5 and 1e-8.
    ///
    /// # Errors
    /// As for [`elementwise`](crate::elementwise).
    pub fn isclose(&self, other: &Self, rtol: f64, atol: f64, equal_nan: bool) -> Result<Array<bool>> {
        self.inner.isclose(&other.inner, rtol, atol, equal_nan)?.try_into()
    }

    /// Whether all elements are [close](Self::isclose).
    ///
    /// # Errors
    /// As for [`elementwise`](crate::elementwise); the failure of the work.
    pub fn allclose(&self, other: &Self, rtol: f64, atol: f64, equal_nan: bool) -> Result<bool> {
        typed_item(&self.inner.allclose(&other.inner, rtol, atol, equal_nan)?)
    }
}
