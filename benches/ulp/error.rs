//! Floating-point formats, and the distance of a result from the exact value in units of the last place.

use rug::Float;
use rug::float::Round;
use stridewise::{Element, bf16, f16};

/// Bits of the significands that references are computed with.
pub(crate) const PRECISION: u32 = 160;

/// A binary floating-point format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    /// Bits of the significand, the leading one included.
    digits: i32,
    /// Exponent of the least normal number.
    least: i32,
    /// Exponent of the largest number.
    most: i32,
}

impl Format {
    const DOUBLE: Self = Self { digits: 53, least: -1022, most: 1023 };

    /// The unit of the last place of a number with this exponent: the spacing of subnormal numbers below the least
    /// normal one, that of the largest numbers beyond them.
    fn ulp(self, exponent: i32) -> f64 {
        power_of_two(exponent.clamp(self.least, self.most) - self.digits + 1)
    }

    /// The distance of the numbers just above 1.
    pub(crate) fn epsilon(self) -> f64 {
        power_of_two(1 - self.digits)
    }

    /// The largest number.
    fn max(self) -> f64 {
        // 2ᵐ · (2 − 2¹⁻ᵈ), without leaving the range on the way.
        power_of_two(self.most) * (2.0 - power_of_two(1 - self.digits))
    }

    /// The number of the format that is nearest to a double, halves to even; infinite beyond the threshold of overflow.
    fn round(self, exact: f64) -> f64 {
        if !exact.is_finite() || exact == 0.0 {
            return exact;
        }
        let ulp = self.ulp(exponent(exact));
        // Scaling by powers of two is exact, for every format that is shorter than a double.
        let rounded = (exact / ulp).round_ties_even() * ulp;
        if rounded.abs() > self.max() { f64::INFINITY.copysign(exact) } else { rounded.copysign(exact) }
    }
}

/// A number that functions are measured in.
pub(crate) trait Real: Element + PartialEq + Send + Sync {
    const FORMAT: Format;
    /// The same number as a double.
    fn wide(self) -> f64;
    /// The nearest number to a double.
    fn nearest(value: f64) -> Self;
}

macro_rules! real {
    ($($ty:ty, $digits:literal, $least:literal, $most:literal, $x:ident: $wide:expr, $v:ident: $nearest:expr;)*) => {$(
        impl Real for $ty {
            const FORMAT: Format = Format { digits: $digits, least: $least, most: $most };
            fn wide(self) -> f64 { let $x = self; $wide }
            fn nearest($v: f64) -> Self { $nearest }
        }
    )*};
}

real! {
    f16, 11, -14, 15, x: x.to_f64(), v: Self::from_f64(v);
    bf16, 8, -126, 127, x: x.to_f64(), v: Self::from_f64(v);
    f32, 24, -126, 127, x: f64::from(x), v: v as Self;
    f64, 53, -1022, 1023, x: x, v: v;
}

/// The exact result of a function, as a sum of the nearest number of the format and what is left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact {
    /// The nearest number of the format.
    pub(crate) value: f64,
    /// The exact result less that number, in units of the last place. Where the result overflows: how far its magnitude
    /// is beyond the largest number.
    rest: f64,
    /// The unit of the last place at the exact result.
    ulp: f64,
}

impl Exact {
    /// From a double that is much nearer to the exact result than the format's numbers to each other.
    pub(crate) fn from_double(format: Format, exact: f64) -> Self {
        let ulp = format.ulp(exponent(exact));
        let value = format.round(exact);
        let rest = if !exact.is_finite() {
            exact.abs()
        } else if value.is_infinite() {
            (exact.abs() - format.max()) / ulp
        } else {
            (exact - value) / ulp
        };
        Self { value, rest, ulp }
    }

    /// From a number of high precision, for a format no longer than a double.
    pub(crate) fn from_float<T: Real>(exact: &Float) -> Self {
        if T::FORMAT.digits < Format::DOUBLE.digits {
            return Self::from_double(T::FORMAT, rounded_to_odd(exact));
        }
        let format = Format::DOUBLE;
        let Some(exponent) = exact.get_exp() else {
            // Zero, infinite or NaN.
            let value = exact.to_f64();
            return Self {
                value,
                rest: if value.is_infinite() { f64::INFINITY } else { 0.0 },
                ulp: format.ulp(format.least),
            };
        };
        // MPFR's significands are from ½ to 1.
        let ulp = format.ulp(exponent - 1);
        let value = exact.to_f64();
        let nearest = if value.is_infinite() { format.max().copysign(value) } else { value };
        let rest = (Float::with_val(PRECISION, exact - nearest) / ulp).to_f64();
        Self { value, rest: if value.is_infinite() { rest.abs() } else { rest }, ulp }
    }

    /// The same result, its errors counted in units of the last place of a larger number where it is smaller than that.
    pub(crate) fn in_units_from(mut self, format: Format, magnitude: f64) -> Self {
        let ulp = format.ulp(exponent(magnitude));
        if self.value.abs() < magnitude && self.ulp < ulp {
            self.rest *= self.ulp / ulp;
            self.ulp = ulp;
        }
        self
    }

    /// The distance of a result of the format from the exact one, in units of the last place; infinite where one is NaN
    /// and the other not, where one is infinite beyond reach of rounding, and where zeros differ in sign.
    pub(crate) fn error<T: Real>(&self, got: T) -> f64 {
        let (got, max) = (got.wide(), T::FORMAT.max());
        if got.is_nan() || self.value.is_nan() {
            return if got.is_nan() && self.value.is_nan() { 0.0 } else { f64::INFINITY };
        }
        let same_sign = got.is_sign_negative() == self.value.is_sign_negative();
        if got == self.value {
            return match (got == 0.0, same_sign) {
                (true, false) => f64::INFINITY,
                _ if got.is_infinite() => 0.0,
                _ => self.rest.abs(),
            };
        }
        if got.is_infinite() || self.value.is_infinite() {
            if !same_sign {
                return f64::INFINITY;
            }
            // An infinite result stands for the number after the largest.
            return if got.is_infinite() {
                (max - self.value.abs()) / self.ulp + 1.0 - self.rest.copysign(self.rest * self.value)
            } else {
                self.rest + (max - got.abs()) / self.ulp
            };
        }
        ((got - self.value) / self.ulp - self.rest).abs()
    }
}

/// The double towards zero, its last bit set where that is not the number itself: rounding it again, to a shorter
/// format, gives what rounding the number once would.
fn rounded_to_odd(exact: &Float) -> f64 {
    let truncated = exact.to_f64_round(Round::Zero);
    if !exact.is_finite() || *exact == truncated {
        truncated
    } else {
        f64::from_bits(truncated.to_bits() | 1)
    }
}

/// The exponent of a double: the largest e with 2ᵉ ≤ |x|, for normal numbers.
fn exponent(x: f64) -> i32 {
    ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023
}

/// 2ᵉ, for any exponent that a double has.
fn power_of_two(e: i32) -> f64 {
    if e >= -1022 { f64::from_bits(((e + 1023) as u64) << 52) } else { f64::from_bits(1 << (e + 1074)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(value: f64) -> Float {
        Float::with_val(PRECISION, value)
    }

    #[test]
    fn errors_are_in_units_at_the_exact_value() {
        let third = float(1.0) / 3_u32;
        let exact = Exact::from_float::<f64>(&third);
        assert!((exact.error(1.0_f64 / 3.0) - 1.0 / 3.0).abs() < 1e-6);
        assert!((exact.error((1.0_f64 / 3.0).next_up()) - 2.0 / 3.0).abs() < 1e-6);
        // Just below a power of two the unit is that of the numbers below.
        let below = float(1.0) - Float::with_val(PRECISION, 1e-20);
        assert!((Exact::from_float::<f64>(&below).error(1.0_f64.next_up()) - 2.0).abs() < 1e-3);
        assert!((Exact::from_float::<f32>(&below).error(1.0_f32.next_down()) - 1.0).abs() < 1e-3);
    }

    #[test]
    fn overflow_is_one_unit_beyond_the_largest() {
        let beyond = Exact::from_double(f32::FORMAT, f64::from(f32::MAX) + 2_f64.powi(103));
        assert_eq!(beyond.value, f64::INFINITY, "halves to even");
        assert_eq!(beyond.error(f32::MAX), 0.5);
        assert_eq!(beyond.error(f32::INFINITY), 0.0);
        let within = Exact::from_double(f32::FORMAT, f64::from(f32::MAX));
        assert_eq!(within.error(f32::INFINITY), 1.0);
        assert_eq!(within.error(f32::NEG_INFINITY), f64::INFINITY);
        let quarter = Exact::from_double(f32::FORMAT, -f64::from(f32::MAX) - 2_f64.powi(102));
        assert_eq!(quarter.error(f32::NEG_INFINITY), 0.75);
        let half = float(f64::MAX) + Float::with_val(PRECISION, 2_f64.powi(970));
        assert_eq!(Exact::from_float::<f64>(&half).value, f64::INFINITY);
        assert_eq!(Exact::from_float::<f64>(&half).error(f64::MAX), 0.5);
    }

    #[test]
    fn flushed_subnormals_and_signs_of_zero_are_errors() {
        let tiny = 3.0 * f64::from(f32::from_bits(1));
        assert_eq!(Exact::from_double(f32::FORMAT, tiny).error(0.0_f32), 3.0);
        let tiny = float(f64::from_bits(1)) * 0.75_f64;
        assert_eq!(Exact::from_float::<f64>(&tiny).error(0.0_f64), 0.75);
        assert_eq!(Exact::from_float::<f64>(&tiny).error(f64::from_bits(1)), 0.25);
        assert_eq!(Exact::from_double(f32::FORMAT, 0.0).error(-0.0_f32), f64::INFINITY);
        assert_eq!(Exact::from_double(f32::FORMAT, f64::NAN).error(0.0_f32), f64::INFINITY);
        assert_eq!(Exact::from_double(f32::FORMAT, f64::NAN).error(f32::NAN), 0.0);
    }

    #[test]
    fn short_formats_are_rounded_once() {
        // Nearest of all to half way between 1 and the next number: a double would round it to half way, then to even.
        let above =
            float(1.0) + Float::with_val(PRECISION, 2_f64.powi(-11)) + Float::with_val(PRECISION, 1e-30);
        assert_eq!(Exact::from_float::<f16>(&above).value, 1.0 + 2_f64.powi(-10));
        for bits in 0..=u16::MAX {
            let (x, y) = (f16::from_bits(bits), bf16::from_bits(bits));
            if !x.is_nan() {
                assert_eq!(f16::FORMAT.round(x.to_f64()), x.to_f64());
            }
            if !y.is_nan() {
                assert_eq!(bf16::FORMAT.round(y.to_f64()), y.to_f64());
            }
        }
    }
}
