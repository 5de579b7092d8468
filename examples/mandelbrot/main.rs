//! Draws the Mandelbrot set with a kernel of its own: one item for each point, on any device.
//!
//! ```text
//! cargo run --release --example mandelbrot -- --device host --output out/mandelbrot.png
//! ```

mod kernel;
#[path = "../picture/mod.rs"]
mod picture;

use std::error::Error;
use std::path::PathBuf;

use clap::Parser;
use stridewise::{Array, Device};

/// Draws the Mandelbrot set.
#[derive(Parser)]
struct Arguments {
    /// Where to compute.
    #[arg(long, default_value = "host")]
    device: String,
    /// Rows of the picture; it has half as many columns again.
    #[arg(long, default_value_t = 800)]
    rows: usize,
    /// After how many rounds a point is taken to stay.
    #[arg(long, default_value_t = 255)]
    rounds: i32,
    /// The picture.
    #[arg(long, value_name = "FILE.png", default_value = "out/mandelbrot.png")]
    output: PathBuf,
}

fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { device, rows, rounds, output } = Arguments::parse();
    let queue = Device::select(&device)?.queue()?;
    let (rows, columns, most) = (rows.max(1), rows.max(1) * 3 / 2, rounds.max(1));
    let mut counts = Array::<i32>::on(&queue).zeros([rows, columns])?;
    let step = 2.5 / rows as f64;
    kernel::mandelbrot(&queue, [rows, columns], most, -2.5, -1.25, step, &mut counts)?;
    // The longer a point stays, the darker it is.
    let shade = |count: i32| (255 - i64::from(count) * 255 / i64::from(most)) as u8;
    let shades: Vec<u8> = counts.to_vec()?.into_iter().map(shade).collect();
    picture::write(&output, columns, png::ColorType::Grayscale, &shades)?;
    println!("{columns} × {rows} points on {}: {}", queue.device(), output.display());
    Ok(())
}
