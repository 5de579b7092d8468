//! Numbers of twice the precision: unevaluated sums of two doubles (T. J. Dekker, "A floating-point technique for
//! extending the available precision", 1971). Products are split by fused multiplication, which is exact on all machines.

use std::ops::{Add, Mul, Neg, Sub};

use super::C;

/// `hi + lo`, where `lo` is at most half a unit in the last place of `hi`.
#[derive(Clone, Copy)]
pub(super) struct Double {
    pub(super) hi: f64,
    pub(super) lo: f64,
}

/// a + b exactly, in any order of magnitude (D. E. Knuth).
pub(super) fn two_sum(a: f64, b: f64) -> Double {
    let hi = a + b;
    let of_b = hi - a;
    Double { hi, lo: (a - (hi - of_b)) + (b - of_b) }
}

/// a + b exactly, where |a| ≥ |b| or a is 0.
fn quick_two_sum(a: f64, b: f64) -> Double {
    let hi = a + b;
    Double { hi, lo: b - (hi - a) }
}

/// a · b exactly, unless the low part underflows.
pub(super) fn two_product(a: f64, b: f64) -> Double {
    let hi = a * b;
    Double { hi, lo: a.mul_add(b, -hi) }
}

/// The sum of the terms as if computed in three times the precision and rounded once (T. Ogita, S. M. Rump, S. Oishi,
/// "Accurate sum and dot product", 2005: SumK with K = 3).
pub(super) fn sum<const N: usize>(mut terms: [f64; N]) -> f64 {
    for _ in 0..2 {
        for i in 1..N {
            let s = two_sum(terms[i], terms[i - 1]);
            terms[i] = s.hi;
            terms[i - 1] = s.lo;
        }
    }
    terms.iter().sum()
}

impl From<f64> for Double {
    fn from(hi: f64) -> Self {
        Self { hi, lo: 0.0 }
    }
}
impl Add for Double {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (high, low) = (two_sum(self.hi, other.hi), two_sum(self.lo, other.lo));
        let sum = quick_two_sum(high.hi, high.lo + low.hi);
        quick_two_sum(sum.hi, sum.lo + low.lo)
    }
}
impl Neg for Double {
    type Output = Self;
    fn neg(self) -> Self {
        Self { hi: -self.hi, lo: -self.lo }
    }
}
impl Sub for Double {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}
impl Mul for Double {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let p = two_product(self.hi, other.hi);
        quick_two_sum(p.hi, p.lo + (self.hi * other.lo + self.lo * other.hi))
    }
}
impl Mul<f64> for Double {
    type Output = Self;
    fn mul(self, other: f64) -> Self {
        let p = two_product(self.hi, other);
        quick_two_sum(p.hi, p.lo + self.lo * other)
    }
}

impl Double {
    /// Divided by a number.
    fn over(self, divisor: f64) -> Self {
        let q = self.hi / divisor;
        quick_two_sum(q, ((-q).mul_add(divisor, self.hi) + self.lo) / divisor)
    }
}

/// A complex number of twice the precision.
#[derive(Clone, Copy)]
pub(super) struct Wide {
    pub(super) re: Double,
    pub(super) im: Double,
}

impl From<C> for Wide {
    fn from(z: C) -> Self {
        Self { re: z.re.into(), im: z.im.into() }
    }
}
impl Add for Wide {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}
impl Mul for Wide {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}
impl Mul<C> for Wide {
    type Output = Self;
    fn mul(self, other: C) -> Self {
        Self { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

impl Wide {
    /// The nearest number.
    pub(super) fn rounded(self) -> C {
        C::new(self.re.hi, self.im.hi)
    }

    /// e^z − 1 of a number with |z| < 4, with an error of 2⁻⁹⁰ of the result.
    pub(super) fn expm1(z: C) -> Self {
        /// The argument is halved that often, and the result squared as often.
        const HALVINGS: i32 = 10;
        /// The terms of the series: (2⁻⁸)¹¹ / 12! < 2⁻¹¹⁶.
        const TERMS: i32 = 12;
        let small = z * 2f64.powi(-HALVINGS);
        let one = Double::from(1.0);
        let mut series = Self { re: one, im: 0.0.into() };
        for term in (2..=TERMS).rev() {
            let next = series * small;
            let n = f64::from(term);
            series = Self { re: one + next.re.over(n), im: next.im.over(n) };
        }
        let mut result = series * small;
        // e^2v − 1 = u (2 + u) for u = e^v − 1, which keeps small results' digits.
        for _ in 0..HALVINGS {
            result = result * Self { re: result.re + Double::from(2.0), im: result.im };
        }
        result
    }
}
