//! Finds clusters of points: rounds of two kernels, with atomic sums in local memory, on any device.
//!
//! ```text
//! cargo run --release --example kmeans -- --device host --output out/kmeans.png
//! ```

mod kernel;
#[path = "../picture/mod.rs"]
mod picture;

use std::error::Error;
use std::f64::consts::TAU;
use std::path::PathBuf;

use clap::Parser;
use stridewise::kernel::NdRange;
use stridewise::{Array, Device, Generator, Queue};

/// Finds clusters of points, and draws them.
#[derive(Parser)]
struct Arguments {
    /// Where to compute.
    #[arg(long, default_value = "host")]
    device: String,
    /// Points.
    #[arg(long, default_value_t = 40_000)]
    points: usize,
    /// Clusters to find.
    #[arg(long, default_value_t = 8)]
    clusters: usize,
    /// Rounds at most; it ends before where no point changes its cluster.
    #[arg(long, default_value_t = 60)]
    rounds: usize,
    /// Rows and columns of the picture.
    #[arg(long, default_value_t = 800)]
    size: usize,
    /// The picture.
    #[arg(long, value_name = "FILE.png", default_value = "out/kmeans.png")]
    output: PathBuf,
}

/// Items of a group.
const GROUP: usize = 128;
/// Half of what the picture shows across.
const VIEW: f32 = 1.25;

fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { device, points, clusters, rounds, size, output } = Arguments::parse();
    let queue = Device::select(&device)?.queue()?;
    let (n, k) = (points.max(1), clusters.clamp(1, points.max(1)));
    let points = scattered(&queue, n, k)?;
    let host = points.to_vec()?;
    let mut centres = Array::<f32>::on(&queue).from_slice([k, 2], &first_centres(&host, k))?;
    let mut nearest = Array::<i32>::on(&queue).full([n], -1)?;
    let mut sums = Array::<f32>::on(&queue).zeros([k, 2])?;
    let mut counts = Array::<i32>::on(&queue).zeros([k])?;
    let range = NdRange::in_groups(&[n.next_multiple_of(GROUP)], &[GROUP]);
    let (mut before, mut done) = (Vec::new(), 0);
    while done < rounds {
        let room = ([2 * k], [k]);
        kernel::assign(
            &queue,
            range.clone(),
            &points,
            &centres,
            &mut nearest,
            &mut sums,
            &mut counts,
            room.0,
            room.1,
        )?;
        kernel::centres(&queue, [k], &mut centres, &mut sums, &mut counts)?;
        done += 1;
        let now = nearest.to_vec()?;
        if now == before {
            break;
        }
        before = now;
    }
    let centres = centres.to_vec()?;
    picture::write(&output, size, png::ColorType::Rgb, &draw(&host, &before, &centres, size))?;
    println!("{n} points on {}, {k} clusters after {done} rounds: {}", queue.device(), output.display());
    for (number, centre) in centres.chunks_exact(2).enumerate() {
        let size = before.iter().filter(|&&cluster| cluster as usize == number).count();
        println!("  {size:7} points around ({:+.3}, {:+.3})", centre[0], centre[1]);
    }
    Ok(())
}

/// Points around so many places on a spiral, the same on every run.
fn scattered(queue: &Queue, n: usize, k: usize) -> stridewise::Result<Array<f32>> {
    let noise = Generator::new(7).on(queue).normal::<f32>([n, 2], 0.0, 0.11)?;
    let place = |i: usize| {
        let turn = (i % k) as f64 / k as f64;
        let (sin, cos) = (TAU * turn).sin_cos();
        let radius = 0.45 + 0.5 * turn;
        [(radius * cos) as f32, (radius * sin) as f32]
    };
    let places: Vec<f32> = (0..n).flat_map(place).collect();
    noise.try_add(&Array::<f32>::on(queue).from_slice([n, 2], &places)?)
}

/// Points that are far from each other: each the furthest from those before.
fn first_centres(points: &[f32], k: usize) -> Vec<f32> {
    let mut centres = points[..2].to_vec();
    let mut distance = vec![f32::INFINITY; points.len() / 2];
    while centres.len() < 2 * k {
        let (x, y) = (centres[centres.len() - 2], centres[centres.len() - 1]);
        for (distance, point) in distance.iter_mut().zip(points.chunks_exact(2)) {
            *distance = distance.min((point[0] - x).powi(2) + (point[1] - y).powi(2));
        }
        let furthest = (0..distance.len()).max_by(|&a, &b| distance[a].total_cmp(&distance[b])).unwrap_or(0);
        centres.extend_from_slice(&points[2 * furthest..2 * furthest + 2]);
    }
    centres
}

/// A colour of its own for each cluster, by hues that are far apart.
fn colour(cluster: usize) -> [f32; 3] {
    let hue = (cluster as f32 * 0.618_034).fract() * 6.0;
    [5.0, 3.0, 1.0].map(|shift: f32| {
        let x = (shift + hue) % 6.0;
        255.0 * (0.95 - 0.75 * x.min(4.0 - x).clamp(0.0, 1.0))
    })
}

/// The points in the colours of their clusters, and a cross for each centre.
fn draw(points: &[f32], nearest: &[i32], centres: &[f32], size: usize) -> Vec<u8> {
    let mut picture = vec![[18_u8; 3]; size * size];
    let pixel = |x: f32| ((x / VIEW + 1.0) / 2.0 * size as f32) as isize;
    let mut dot = |column: isize, row: isize, colour: [f32; 3], strength: f32| {
        if (0..size as isize).contains(&column) && (0..size as isize).contains(&row) {
            let pixel = &mut picture[row as usize * size + column as usize];
            for (shade, colour) in pixel.iter_mut().zip(colour) {
                *shade = (f32::from(*shade) * (1.0 - strength) + colour * strength) as u8;
            }
        }
    };
    let place = |point: &[f32]| (pixel(point[0]), size as isize - 1 - pixel(point[1]));
    for (point, &cluster) in points.chunks_exact(2).zip(nearest) {
        let (column, row) = place(point);
        for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            dot(column + dx, row + dy, colour(cluster as usize), 0.6);
        }
    }
    let arm = (size / 50).max(3) as isize;
    for centre in centres.chunks_exact(2) {
        let (column, row) = place(centre);
        for along in -arm..=arm {
            for across in -2..=2_isize {
                let shade = if across.abs() < 2 && along.abs() < arm { [255.0; 3] } else { [18.0; 3] };
                dot(column + along, row + across, shade, 1.0);
                if along.abs() > 2 {
                    dot(column + across, row + along, shade, 1.0);
                }
            }
        }
    }
    picture.concat()
}
