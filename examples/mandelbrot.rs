//! Draws the Mandelbrot set with a kernel of its own: one item for each point, on any device.
//!
//! ```text
//! cargo run --release --example mandelbrot -- --device host --output out/mandelbrot.png
//! ```

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use clap::Parser;
use stridewise::kernel::{Coordinate::*, Kernel, KernelBuilder, Level::*};
use stridewise::{Array, Device, Dtype, Op, Scalar};

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

/// What one item does: rounds of `z² + c` until its point is gone, as a shade of grey.
fn kernel() -> stridewise::Result<Kernel> {
    let mut k = KernelBuilder::new("mandelbrot", 2)?;
    let picture = k.global("picture", Dtype::U8, 2, true)?;
    let (most, step) = (k.scalar("most", Dtype::I32)?, k.scalar("step", Dtype::F64)?);
    let (row, column) = (k.index(Global, Id(0))?, k.index(Global, Id(1))?);
    let (x, y) = (k.variable("x", Dtype::F64)?, k.variable("y", Dtype::F64)?);
    let rounds = k.variable("rounds", Dtype::I32)?;
    let (down, right) = (k.binary(Op::Multiply, row, step)?, k.binary(Op::Multiply, column, step)?);
    let (cy, cx) = (k.binary(Op::Subtract, down, 1.25)?, k.binary(Op::Subtract, right, 2.5)?);
    k.set(x, 0)?;
    k.set(y, 0)?;
    k.set(rounds, 0)?;
    let round = k.for_(Scalar::I32(0), most, 1)?;
    let (xx, yy) = (k.binary(Op::Multiply, x, x)?, k.binary(Op::Multiply, y, y)?);
    let size = k.binary(Op::Add, xx, yy)?;
    let gone = k.binary(Op::Greater, size, 4)?;
    k.if_(gone)?;
    k.break_();
    k.end()?;
    let xy = k.binary(Op::Multiply, x, y)?;
    let twice = k.binary(Op::Multiply, xy, 2)?;
    let next_y = k.binary(Op::Add, twice, cy)?;
    let difference = k.binary(Op::Subtract, xx, yy)?;
    let next_x = k.binary(Op::Add, difference, cx)?;
    k.set(x, next_x)?;
    k.set(y, next_y)?;
    let next = k.binary(Op::Add, round, 1)?;
    k.set(rounds, next)?;
    k.end()?;
    let bright = k.binary(Op::Multiply, rounds, 255)?;
    let grey = k.binary(Op::FloorDivide, bright, most)?;
    let grey = k.binary(Op::Subtract, 255, grey)?;
    k.store(picture, [row, column], grey)?;
    k.finish()
}

fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { device, rows, rounds, output } = Arguments::parse();
    let queue = Device::select(&device)?.queue()?;
    let (rows, columns) = (rows.max(1), rows.max(1) * 3 / 2);
    let picture = Array::<u8>::on(&queue).zeros([rows, columns])?;
    let step = Scalar::F64(2.5 / rows as f64);
    let arguments = [(&picture).into(), Scalar::I32(rounds.max(1)).into(), step.into()];
    kernel()?.launch(&queue, [rows, columns], &arguments, &[])?.wait()?;
    if let Some(folder) = output.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let file = BufWriter::new(File::create(&output)?);
    let mut encoder = png::Encoder::new(file, u32::try_from(columns)?, u32::try_from(rows)?);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&picture.to_vec()?)?;
    writer.finish()?;
    println!("{columns} × {rows} points on {}: {}", queue.device(), output.display());
    Ok(())
}
