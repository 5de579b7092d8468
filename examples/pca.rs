//! Finds the directions in which a cloud of points spreads: principal components by singular values.
//!
//! `cargo run --release --example pca --features linalg`

use stridewise::linalg::{self, Svd};
use stridewise::prelude::*;

const POINTS: usize = 5_000;
/// Standard deviations along the axes that the points are drawn by.
const SPREAD: [f64; 3] = [3.0, 1.0, 0.2];

fn main() -> Result<()> {
    // A cloud that is long, flat and thin, turned by 30° about the last axis and moved away from the origin.
    let (sin, cos) = 30_f64.to_radians().sin_cos();
    let turn = array![[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]];
    let drawn = Generator::new(2).normal((POINTS, 3), 0.0, 1.0)? * array![SPREAD[0], SPREAD[1], SPREAD[2]];
    let points = drawn.matmul(&turn) + array![10.0, -5.0, 1.0];

    let centred = &points - &points.mean_axis(0)?;
    let Svd { s, vh, .. } = linalg::svd(&centred, false)?;
    let deviations = &s / ((POINTS - 1) as f64).sqrt();
    let shares = deviations.square() / deviations.square().sum()?;
    for (component, drawn) in SPREAD.into_iter().enumerate() {
        let (deviation, share) = (deviations.get(component)?, shares.get(component)?);
        let direction = vh.slice(s![component])?;
        println!("{:5.1} % along {direction:+.3}: {deviation:.3}, drawn with {drawn}", 100.0 * share);
    }
    // The first direction has an angle of 30° to the first axis, whichever way it points.
    let angle = (vh.get([0, 1])? / vh.get([0, 0])?).atan().to_degrees();
    println!("turned by {angle:.1}°");

    // The two larger components say nearly everything.
    let flat = centred.matmul(&vh.slice(s![..2])?.t());
    println!("{:?} numbers in place of {:?}", flat.shape(), points.shape());
    Ok(())
}
