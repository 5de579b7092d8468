//! Two galaxies meet: every body pulls at every other one, by a kernel with tiles in local memory; what moves them is plain
//! array arithmetic.
//!
//! ```text
//! cargo run --release --example nbody -- --device host --output out/nbody.png
//! ```

mod kernel;
#[path = "../picture/mod.rs"]
mod picture;

use std::error::Error;
use std::f32::consts::TAU;
use std::path::PathBuf;
use std::time::Instant;

use clap::Parser;
use indicatif::ProgressBar;
use stridewise::kernel::NdRange;
use stridewise::{Array, Device};

/// Lets two galaxies meet.
#[derive(Parser)]
struct Arguments {
    /// Where to compute.
    #[arg(long, default_value = "host")]
    device: String,
    /// Bodies of both galaxies.
    #[arg(long, default_value_t = 4096)]
    bodies: usize,
    /// Steps of time.
    #[arg(long, default_value_t = 150)]
    steps: u64,
    /// Length of a step.
    #[arg(long, default_value_t = 0.02)]
    step: f32,
    /// Rows and columns of the picture.
    #[arg(long, default_value_t = 800)]
    size: usize,
    /// The picture.
    #[arg(long, value_name = "FILE.png", default_value = "out/nbody.png")]
    output: PathBuf,
}

/// Items of a group, and bodies of a tile.
const GROUP: usize = 128;
/// Squared, it is added to squared distances, so that bodies that are close do not fling each other away.
const SOFTENING: f32 = 0.0025;
/// Half of what the picture shows across.
const VIEW: f32 = 2.6;
/// The colour that a body adds, for each of the galaxies.
const COLOURS: [[f32; 3]; 2] = [[1.0, 0.62, 0.3], [0.35, 0.6, 1.0]];

fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { device, bodies, steps, step, size, output } = Arguments::parse();
    let queue = Device::select(&device)?.queue()?;
    let n = bodies.max(2);
    let (places, speeds) = galaxies(n);
    let mut places = Array::<f32>::on(&queue).from_slice([n, 3], &places)?;
    let mut speeds = Array::<f32>::on(&queue).from_slice([n, 3], &speeds)?;
    let mut pulls = Array::<f32>::on(&queue).zeros([n, 3])?;
    let range = NdRange::in_groups(&[n.next_multiple_of(GROUP)], &[GROUP]);
    let bar = ProgressBar::new(steps);
    let start = Instant::now();
    for _ in 0..steps {
        // Half a step of places, a step of speeds, and the other half: what is wrong with it stays small for long.
        places += &speeds * (step / 2.0);
        kernel::bodies::<GROUP>(&queue, range.clone(), &places, &mut pulls, SOFTENING)?;
        speeds += &pulls * (step / n as f32);
        places += &speeds * (step / 2.0);
        queue.wait()?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let seconds = start.elapsed().as_secs_f64();
    picture::write(&output, size, png::ColorType::Rgb, &draw(&places.to_vec()?, size))?;
    let pairs = (n as f64).powi(2) * steps as f64;
    println!(
        "{n} bodies, {steps} steps on {}: {:.1} million pairs a second, {}",
        queue.device(),
        pairs / seconds / 1e6,
        output.display()
    );
    Ok(())
}

/// Places and speeds of two discs that turn, and pass each other.
fn galaxies(n: usize) -> (Vec<f32>, Vec<f32>) {
    let (mut places, mut speeds) = (Vec::with_capacity(3 * n), Vec::with_capacity(3 * n));
    // Two golden-ratio sequences: even, and the same on every run.
    let spread = |i: usize, ratio: f64| (i as f64 * ratio).fract() as f32;
    for i in 0..n {
        let side = if i % 2 == 0 { -1.0_f32 } else { 1.0 };
        // The density of a disc falls outwards; half of the mass is in each.
        let inside = spread(i / 2, 0.618_033_988_749_895);
        let radius = 0.08 + 0.8 * inside;
        let angle = TAU * spread(i / 2, 0.754_877_666_246_693);
        let (sin, cos) = angle.sin_cos();
        let height = 0.06 * (spread(i / 2, 0.569_840_290_998_053) - 0.5);
        // What turns in a circle is held by the mass inside of it.
        let speed = (0.5 * inside * radius / (radius * radius + SOFTENING)).sqrt();
        let tilt = if side < 0.0 { 0.9_f32 } else { -0.5 };
        let turned = |y: f32, z: f32| (y * tilt.cos() - z * tilt.sin(), y * tilt.sin() + z * tilt.cos());
        let (y, z) = turned(radius * sin, height);
        places.extend([radius * cos + side * 1.15, y + side * 0.45, z]);
        let (vy, vz) = turned(speed * cos, 0.0);
        speeds.extend([-speed * sin - side * 0.32, vy, vz]);
    }
    (places, speeds)
}

/// The bodies from above, each a small glow of its galaxy's colour.
fn draw(places: &[f32], size: usize) -> Vec<u8> {
    let mut light = vec![[0_f32; 3]; size * size];
    let radius = (size / 200).max(1) as isize;
    for (i, place) in places.chunks_exact(3).enumerate() {
        let pixel = |x: f32| ((x / VIEW + 1.0) / 2.0 * size as f32) as isize;
        let (column, row) = (pixel(place[0]), size as isize - 1 - pixel(place[1]));
        for (dy, dx) in (-radius..=radius).flat_map(|dy| (-radius..=radius).map(move |dx| (dy, dx))) {
            let (y, x) = (row + dy, column + dx);
            if !(0..size as isize).contains(&y) || !(0..size as isize).contains(&x) {
                continue;
            }
            let distance = (dx * dx + dy * dy) as f32 / (radius * radius) as f32;
            let glow = (-2.0 * distance).exp();
            let pixel = &mut light[y as usize * size + x as usize];
            pixel.iter_mut().zip(COLOURS[i % 2]).for_each(|(light, colour)| *light += glow * colour);
        }
    }
    let shade = |x: f32| (255.0 * (1.0 - (-0.55 * x).exp())).round() as u8;
    light.iter().flat_map(|pixel| pixel.map(shade)).collect()
}
