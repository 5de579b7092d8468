//! Fits a parabola to noisy measurements by least squares, and says how far the coefficients are from the true ones.
//!
//! `cargo run --release --example least_squares --features linalg`

use stridewise::linalg::{self, Lstsq, Tolerance};
use stridewise::prelude::*;

/// Coefficients of 1, x and x².
const TRUE: [f64; 3] = [2.0, -1.5, 0.25];
const MEASUREMENTS: usize = 10_000;
const NOISE: f64 = 0.1;

fn main() -> Result<()> {
    let x = Array::<f64>::linspace(-4.0, 4.0, MEASUREMENTS)?;
    let exact = TRUE[0] + TRUE[1] * &x + TRUE[2] * &x * &x;
    let y = exact + Generator::new(1).normal(MEASUREMENTS, 0.0, NOISE)?;

    // One row for each measurement: 1, x, x².
    let terms = Array::stack(&[&x.full_like(1.0)?, &x, &x.square()], 1)?;
    let Lstsq { solution, residuals, rank, .. } = linalg::lstsq(&terms, &y, Tolerance::Rounding)?;

    println!("rank {} of {} unknowns", rank.item()?, TRUE.len());
    for (power, (found, expected)) in solution.to_vec()?.into_iter().zip(TRUE).enumerate() {
        println!("x^{power}: {found:8.4}, truly {expected:8.4}");
    }
    let deviation = (residuals.sum()? / (MEASUREMENTS - TRUE.len()) as f64).sqrt();
    println!("noise: {deviation:.4}, truly {NOISE}");
    Ok(())
}
