//! Matrices multiplied by powers of two, which round nothing, before they are decomposed and after it.
//!
//! Decompositions square elements: of a matrix of about 1e-170 the squares vanish, of one of 1e155 they overflow. As the drivers of
//! LAPACK do it, a matrix whose largest element is out of the range in which that cannot happen is brought to about 1, and
//! what is found is brought back. All others are left as they are, so that their results have the same bits.

use num_complex::Complex;

use super::field::Field;
use super::wide::Wide;

/// `x` · 2^`power`, whatever the power is.
pub(super) fn times_power(x: f64, power: i32) -> f64 {
    let power = power.clamp(-3000, 3000);
    let third = power / 3;
    x * 2_f64.powi(third) * 2_f64.powi(third) * 2_f64.powi(power - 2 * third)
}

/// Multiplies an element by a power of two.
pub(super) fn scale<T: Wide>(element: &mut T, power: i32) {
    let value = element.wide();
    *element = T::narrow(Complex::new(times_power(value.re, power), times_power(value.im, power)));
}

/// Multiplies elements by a power of two.
pub(super) fn scale_all<'a, T: Wide + 'a>(elements: impl IntoIterator<Item = &'a mut T>, power: i32) {
    if power != 0 {
        elements.into_iter().for_each(|element| scale(element, power));
    }
}

/// The power of two in a number that is neither 0 nor infinite.
pub(super) fn power_of(x: f64) -> i32 {
    x.log2().floor() as i32
}

/// The power of two that brings a matrix of finite elements to about 1; 0 where its squares are safe as it is, or it is zero.
pub(super) fn power_to_one<T: Field>(matrix: &[T]) -> i32 {
    let parts = matrix.iter().map(|element| {
        let value = element.wide();
        value.re.abs().max(value.im.abs())
    });
    let largest = parts.fold(0.0, f64::max);
    if largest == 0.0 {
        return 0;
    }
    let power = power_of(largest);
    if power.abs() <= T::SAFE_POWER { 0 } else { -power }
}
