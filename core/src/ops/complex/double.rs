//! Numbers of twice the precision: unevaluated sums of two doubles (T. J. Dekker, "A floating-point technique for
//! extending the available precision", 1971). Products are of split factors: a fused
//! multiplication is a call where the instruction set might lack it.

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

/// a · b exactly, unless the low part underflows, for factors below 2⁹⁹⁵ (T. J. Dekker, G. W. Veltkamp).
pub(super) fn two_product(a: f64, b: f64) -> Double {
    // The upper and the lower half of the digits.
    let split = |x: f64| {
        let far = 134_217_729.0 * x;
        let hi = far - (far - x);
        (hi, x - hi)
    };
    let (hi, a, b) = (a * b, split(a), split(b));
    Double { hi, lo: a.1 * b.1 - (((hi - a.0 * b.0) - a.1 * b.0) - a.0 * b.1) }
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
        // The error is in proportion to the greater operand's magnitude, not to the result's.
        let high = two_sum(self.hi, other.hi);
        quick_two_sum(high.hi, high.lo + (self.lo + other.lo))
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

    /// e^z − 1 of a number with |z| < 4, with an error of 2⁻⁷⁸ of the result.
    pub(super) fn expm1(z: C) -> Self {
        /// The argument is halved that often, and the result squared as often.
        const HALVINGS: i32 = 6;
        /// The terms of the series: (2⁻⁴)¹⁴ / 15! < 2⁻⁹⁶.
        const TERMS: i32 = 15;
        /// 1/5!, …, 1/1!. From 1/6! = 1/720 on a double has the digits.
        const EARLY: [Double; 5] = [
            Double { hi: 1.0 / 120.0, lo: 1.156_482_317_317_871_4e-19 },
            Double { hi: 1.0 / 24.0, lo: 2.312_964_634_635_742_7e-18 },
            Double { hi: 1.0 / 6.0, lo: 9.251_858_538_542_97e-18 },
            Double { hi: 0.5, lo: 0.0 },
            Double { hi: 1.0, lo: 0.0 },
        ];
        let small = z * 2f64.powi(-HALVINGS);
        let mut late = C::new(1.0, 0.0);
        for term in (7..=TERMS).rev() {
            late = late * small / f64::from(term) + 1.0;
        }
        let mut series = Self::from(late / 720.0);
        for coefficient in EARLY {
            let next = series * small;
            series = Self { re: coefficient + next.re, im: next.im };
        }
        let mut result = series * small;
        // e^2v − 1 = u (2 + u) for u = e^v − 1, which keeps small results' digits.
        for _ in 0..HALVINGS {
            let Self { re, im } = result;
            let re = re * (re + Double::from(2.0)) - im * im;
            result = Self { re, im: im * 2.0 * (result.re + Double::from(1.0)) };
        }
        result
    }
}
