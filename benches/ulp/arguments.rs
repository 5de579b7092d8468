//! The arguments that functions are tried on.

use std::f64::consts::{FRAC_PI_2, LN_2};

use crate::error::Real;

/// A small generator of pseudo-random numbers (SplitMix64), so that every run sees the same arguments.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// From 0 to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
    /// Of a magnitude between two powers of two, all exponents as likely; of either sign.
    pub(crate) fn scaled(&mut self, low: f64, high: f64) -> f64 {
        let magnitude = self.between(low, high).exp2();
        if self.bits() & 1 == 0 { magnitude } else { -magnitude }
    }
}

/// Where functions are hard to compute, or special: zeros, infinities, NaN, both ends of the range and of the normal
/// numbers, powers of two and ten, neighbours of 1, of thresholds of exponentials, and of multiples of π/2 and ln 2.
pub(crate) fn hard<T: Real>() -> Vec<T> {
    let mut points = vec![0.0, f64::INFINITY, f64::NAN];
    let powers = [
        2_f64.powi(-24),
        2_f64.powi(-14),
        2_f64.powi(-133),
        2_f64.powi(-149),
        2_f64.powi(-126),
        f64::from_bits(1),
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::from(f32::MAX),
        65_504.0,
    ];
    points.extend(powers);
    points.extend((-1074..1024).step_by(3).map(|e| 2_f64.powi(e)));
    points.extend((-320..=308).map(|e| 10_f64.powi(e)));
    points.extend((1..=200).map(|i| f64::from(i) / 2.0));
    // Logarithms, inverse sines and inverse hyperbolic functions near 1.
    points.extend((1..54).flat_map(|e| [1.0 + 2_f64.powi(-e), 1.0 - 2_f64.powi(-e)]));
    points.extend(
        (1..400).flat_map(|i| [1.0 + f64::from(i) * f64::EPSILON, 1.0 - f64::from(i) * f64::EPSILON]),
    );
    points.extend(
        (1..400).flat_map(|i| [1.0 + f64::from(i) * 2_f64.powi(-23), 1.0 - f64::from(i) * 2_f64.powi(-24)]),
    );
    points.extend((1..2000).map(|k| f64::from(k) * FRAC_PI_2));
    points.extend((1..1000).map(|k| f64::from(k * k) * 1009.0 * FRAC_PI_2));
    points.extend((1..2200).map(|k| f64::from(k) * LN_2 / 2.0));
    // Overflow and underflow of exponentials and of the error function's complement.
    points.extend([
        88.722_839,
        87.336_545,
        103.972_08,
        103.278_93,
        709.782_712_893_384,
        745.133_219_101_941_1,
    ]);
    points.extend([
        708.396_418_532_264_1,
        89.415_986,
        710.475_860_073_943_9,
        16.635_532,
        36.736_800_569_677_1,
    ]);
    points.extend([0.843_75, 1.25, 2.857_142_857, 3.919_206, 5.921_587_195_794_508, 0.476_936_276_204_47]);
    // Nearest to multiples of π/2 relative to their size: of doubles (K. C. Ng, "Argument Reduction for Huge
    // Arguments", 1992), of floats, and some that are only huge.
    points.extend([5.319_372_648_326_541e255, 6.381_956_970_095_103e15, 16_367_173.0 * 2_f64.powi(72)]);
    points.extend([1e5, 1e10, 1e22, 6.381_956_9e36, 1e100, 1e300, 1.797e308, 32_768.0, 8_388_608.0]);
    points.into_iter().flat_map(|x| [-x, x]).flat_map(|x| around::<T>(T::nearest(x).wide())).collect()
}

/// A number and its neighbours in double precision, in the format.
fn around<T: Real>(x: f64) -> [T; 3] {
    // Half the spacing of the format more or less, and rounded: its neighbours; of a double the next ones.
    let spacing = if x == 0.0 || !x.is_finite() { 0.0 } else { x.abs() * T::FORMAT.epsilon() };
    [T::nearest(x - spacing), T::nearest(x), T::nearest(x + spacing)]
}

/// `float32` arguments by their bit patterns.
pub(crate) fn singles(first: u64, len: u64, step: u64) -> Vec<f32> {
    (0..len).map(|i| f32::from_bits((first + i * step) as u32)).collect()
}

/// `float64` arguments: half of any exponent and sign, half in the ranges given.
pub(crate) fn doubles(ranges: &[(f64, f64)], len: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..len)
        .map(|i| {
            if i % 2 == 0 || ranges.is_empty() {
                f64::from_bits(random.bits())
            } else {
                let (low, high) = ranges[(i / 2) % ranges.len()];
                random.between(low, high)
            }
        })
        .collect()
}
