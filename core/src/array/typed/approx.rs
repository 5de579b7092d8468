//! Comparison within tolerances, by the traits of the crate `approx`, element by element, as `ndarray` has it. Arrays of
//! different shapes, and such whose elements cannot be had, are not equal.

use approx::{AbsDiffEq, RelativeEq, UlpsEq};

use super::Array;
use crate::dtype::Element;

/// Whether two arrays have one shape, and pairs of elements what is asked.
fn all<T: Element>(a: &Array<T>, b: &Array<T>, near: impl Fn(&T, &T) -> bool) -> bool {
    if a.shape() != b.shape() {
        return false;
    }
    match (a.to_vec(), b.to_vec()) {
        (Ok(a), Ok(b)) => a.iter().zip(&b).all(|(a, b)| near(a, b)),
        _ => false,
    }
}

/// Whether two arrays have one shape and equal elements, which are waited for: what the traits of `approx` build on. With the
/// feature `approx`.
impl<T: Element> PartialEq for Array<T> {
    fn eq(&self, other: &Self) -> bool {
        all(self, other, |a, b| a == b)
    }
}

impl<T: Element + AbsDiffEq> AbsDiffEq for Array<T>
where
    T::Epsilon: Clone,
{
    type Epsilon = T::Epsilon;

    fn default_epsilon() -> T::Epsilon {
        T::default_epsilon()
    }

    fn abs_diff_eq(&self, other: &Self, epsilon: T::Epsilon) -> bool {
        all(self, other, |a, b| a.abs_diff_eq(b, epsilon.clone()))
    }
}

impl<T: Element + RelativeEq> RelativeEq for Array<T>
where
    T::Epsilon: Clone,
{
    fn default_max_relative() -> T::Epsilon {
        T::default_max_relative()
    }

    fn relative_eq(&self, other: &Self, epsilon: T::Epsilon, max_relative: T::Epsilon) -> bool {
        all(self, other, |a, b| a.relative_eq(b, epsilon.clone(), max_relative.clone()))
    }
}

impl<T: Element + UlpsEq> UlpsEq for Array<T>
where
    T::Epsilon: Clone,
{
    fn default_max_ulps() -> u32 {
        T::default_max_ulps()
    }

    fn ulps_eq(&self, other: &Self, epsilon: T::Epsilon, max_ulps: u32) -> bool {
        all(self, other, |a, b| a.ulps_eq(b, epsilon.clone(), max_ulps))
    }
}
