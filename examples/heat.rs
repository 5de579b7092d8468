//! Lets heat spread in a plate whose edges stay cold, and draws it: slices of an array as neighbours, in place.
//!
//! `cargo run --release --example heat -- out/heat.png`

#[path = "picture/mod.rs"]
mod picture;

use std::error::Error;
use std::path::PathBuf;

use stridewise::prelude::*;

const SIZE: usize = 256;
/// Behind the last row and column of the inside.
const END: usize = SIZE - 1;
const STEPS: usize = 2_000;
/// Of the difference to the four neighbours, what flows in one step; at most a quarter.
const FLOW: f32 = 0.2;

fn main() -> Result<(), Box<dyn Error>> {
    let output = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("out/heat.png"), PathBuf::from);
    let plate = Array::<f32>::zeros((SIZE, SIZE))?;
    plate.slice(s![96..160, 32..96])?.fill(1.0)?;
    plate.slice(s![32..224, 160..168])?.fill(1.0)?;
    let before: f32 = plate.sum()?;

    // Views: they see what is written to the plate.
    let mut inner = plate.slice(s![1..END, 1..END])?;
    let (above, below) = (plate.slice(s![..END - 1, 1..END])?, plate.slice(s![2.., 1..END])?);
    let (left, right) = (plate.slice(s![1..END, ..END - 1])?, plate.slice(s![1..END, 2..])?);
    for _ in 0..STEPS {
        let flow = FLOW * (&above + &below + &left + &right - 4.0 * &inner); // recorded, one pass
        inner.assign(&(&inner + flow))?;
    }

    let (row, column) = (plate.argmax()? as usize / SIZE, plate.argmax()? as usize % SIZE);
    println!("hottest: {:.3} at row {row}, column {column}", plate.max()?);
    println!("left in the plate: {:.1} %", 100.0 * plate.sum()? / before);
    let shades = (&plate * (255.0 / plate.max()?)).astype::<u8>();
    picture::write(&output, SIZE, png::ColorType::Grayscale, &shades.to_vec()?)?;
    println!("{SIZE} × {SIZE} points after {STEPS} steps: {}", output.display());
    Ok(())
}
