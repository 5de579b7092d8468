//! Matrices scaled for their eigenvalues, by powers of two, which round nothing.

use super::field::Field;
use super::scale::{power_of, scale, times_power};
use super::wide::Wide;

/// How often all rows and columns are looked at, at most: few matrices need more than three.
const ROUNDS: usize = 20;
/// By how much scaling has to shorten a row and its column together.
const GAIN: f64 = 0.95;
/// The largest power of two of a row: products of two with any element stay finite.
const MOST: i32 = 500;

/// The length of a vector, without overflow.
fn length<T: Wide>(vector: impl Iterator<Item = T> + Clone) -> f64 {
    let largest = vector.clone().map(|element| element.wide().norm()).fold(0.0, f64::max);
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    let squares = vector.map(|element| (element.wide() / largest).norm_sqr());
    largest * squares.sum::<f64>().sqrt()
}

/// What was done to a matrix A: it became 2^`whole` · D⁻¹ · A · D.
#[derive(Default)]
pub(super) struct Balance {
    /// The powers of two on the diagonal of D.
    powers: Vec<i32>,
    whole: i32,
}

impl Balance {
    pub(super) fn new(powers: Vec<i32>) -> Self {
        Self { powers, whole: 0 }
    }

    /// Balances a matrix of n columns, one after the other, of finite elements.
    ///
    /// Rows and columns become of about the same length, as Parlett and Reinsch do it, so that small eigenvalues of graded
    /// matrices are not lost beside large elements. And the matrix gets a norm of about 1/ε: the library holds the determinant
    /// of a 2×2 block on the diagonal for 0 when it is below ε times the norm, though it is a square; at this norm that is
    /// the square of ε times the norm.
    pub(super) fn apply<T: Field>(&mut self, matrix: &mut [T]) {
        self.powers.fill(0);
        self.whole = 0;
        let norm = length(matrix.iter().copied());
        if norm == 0.0 {
            return;
        }
        // First of all, so that no power of the next step makes an element too large, or too small to matter.
        let change = |whole: &mut i32, norm: f64, matrix: &mut [T]| {
            let power = -T::EPSILON_POWER - power_of(norm);
            *whole += power;
            matrix.iter_mut().for_each(|element| scale(element, power));
        };
        change(&mut self.whole, norm, matrix);
        self.even_out(matrix);
        let norm = length(matrix.iter().copied());
        change(&mut self.whole, norm, matrix);
    }

    /// Balances rows and columns alone: the matrix A becomes D⁻¹ · A · D.
    pub(super) fn rows_and_columns<T: Field>(&mut self, matrix: &mut [T]) {
        self.powers.fill(0);
        self.whole = 0;
        self.even_out(matrix);
    }

    /// Makes a matrix D · B · D⁻¹ out of B, in column-major order, which is a function of the balanced matrix.
    pub(super) fn undo<T: Field>(&self, matrix: &mut [T]) {
        for (column, entries) in matrix.chunks_exact_mut(self.powers.len().max(1)).enumerate() {
            for (row, entry) in entries.iter_mut().enumerate() {
                match self.powers[row] - self.powers[column] {
                    0 => {}
                    power => scale(entry, power),
                }
            }
        }
    }

    fn even_out<T: Field>(&mut self, matrix: &mut [T]) {
        let n = self.powers.len();
        for _ in 0..ROUNDS {
            let mut changed = false;
            for i in 0..n {
                let column = length(matrix[i * n..][..n].iter().copied());
                let row = length(matrix[i..].iter().copied().step_by(n));
                if column == 0.0 || row == 0.0 {
                    continue;
                }
                let power = ((row / column).log2() * 0.5).round() as i32;
                let together = times_power(column, power) + times_power(row, -power);
                if together >= GAIN * (column + row) || (self.powers[i] + power).abs() > MOST {
                    continue;
                }
                changed = true;
                self.powers[i] += power;
                matrix[i..].iter_mut().step_by(n).for_each(|element| scale(element, -power));
                matrix[i * n..][..n].iter_mut().for_each(|element| scale(element, power));
            }
            if !changed {
                break;
            }
        }
    }

    /// Makes an eigenvalue of the balanced matrix that of the matrix.
    pub(super) fn value<T: Wide>(&self, value: &mut T) {
        scale(value, -self.whole);
    }

    /// Makes eigenvectors of the balanced matrix, the columns of a matrix in row-major order, those of the matrix, of length 1.
    pub(super) fn vectors<T: Wide>(&self, vectors: &mut [T]) {
        let n = self.powers.len();
        for column in 0..n {
            let entries = vectors[column..].iter().step_by(n).zip(&self.powers);
            let sizes = entries.map(|(entry, power)| (entry.wide().norm(), power));
            let Some(largest) =
                sizes.filter(|(size, _)| *size > 0.0).map(|(size, power)| power_of(size) + power).max()
            else {
                continue;
            };
            for (entry, power) in vectors[column..].iter_mut().step_by(n).zip(&self.powers) {
                scale(entry, power - largest);
            }
            let length = length(vectors[column..].iter().copied().step_by(n));
            for entry in vectors[column..].iter_mut().step_by(n) {
                *entry = T::narrow(entry.wide() / length);
            }
        }
    }
}
