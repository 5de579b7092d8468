//! Reads a digital elevation model and draws its hillshade: what the ground looks like in the light of the sun.
//!
//! ```text
//! cargo run --release --example hillshade -- --input FILE.npy --output FILE.png
//! ```

use std::fs::File;
use std::io::{BufWriter, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use indicatif::ProgressBar;
use stridewise::prelude::*;

#[path = "hillshade/shade.rs"]
mod shade;

use shade::{Scene, hillshade, parse_cell_size, parse_degrees, statistics};

/// From so many repetitions on there is a progress bar, where someone looks at the terminal.
const MANY_REPETITIONS: u32 = 20;

/// Draws the hillshade of an elevation model, beside the elevation itself.
#[derive(Parser)]
struct Arguments {
    /// Elevation model: a 2-D array of any real dtype, in metres, rows from north to south
    #[arg(long, value_name = "FILE.npy", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/jacksboro_dem.npy"), hide_default_value = true)]
    input: PathBuf,
    /// Picture to write
    #[arg(long, value_name = "FILE.png", default_value = "out/hillshade.png")]
    output: PathBuf,
    /// Also write the hillshade, 0 to 255, as a float32 array
    #[arg(long, value_name = "FILE.npy")]
    save_npy: Option<PathBuf>,
    /// Device to compute on, as the example `devices` lists them; the default device where absent
    #[arg(long, value_name = "SPEC")]
    device: Option<String>,
    /// How often to compute, for the times at the end
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Extent of a cell, west to east and north to south, in metres
    #[arg(long, value_name = "X,Y", default_value = "74.5,92.8", value_parser = parse_cell_size)]
    cell_size_m: [f64; 2],
    /// Where the light comes from, in degrees clockwise from north
    #[arg(long, value_name = "DEGREES", default_value = "315", value_parser = |text: &str| parse_degrees(text, 0.0..=360.0))]
    azimuth: f64,
    /// Height of the light above the horizon, in degrees
    #[arg(long, value_name = "DEGREES", default_value = "45", value_parser = |text: &str| parse_degrees(text, 0.0..=90.0))]
    altitude: f64,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("hillshade: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let device = match &arguments.device {
        Some(filter) => Device::select(filter),
        None => stridewise::default_device(),
    };
    let device = device.map_err(|error| error.to_string())?;
    let Arguments { cell_size_m, azimuth, altitude, .. } = *arguments;
    let scene = Scene { cell_m: cell_size_m, azimuth, altitude };

    let file = UsmArray::load_npy(&arguments.input).map_err(|error| error.to_string())?;
    let file = file.to_device(&device).map_err(|error| error.to_string())?;
    let elevation =
        shade::heights(&file).map_err(|error| format!("{}: {error}", arguments.input.display()))?;
    println!(
        "{}: {} of {:?} on {}",
        arguments.input.display(),
        file.dtype(),
        file.shape(),
        device.filter_string()
    );

    report(arguments, &elevation, &scene).map_err(|error| error.to_string())
}

/// Computes, times, prints and writes everything.
fn report(arguments: &Arguments, elevation: &Array<f32>, scene: &Scene) -> Result<()> {
    elevation.wait()?;
    let times = repeat(arguments.repeat, || hillshade(elevation, scene)?.shade.wait())?;

    let relief = hillshade(elevation, scene)?;
    println!("{:<18}{:>10}{:>10}{:>10}", "", "min", "max", "mean");
    let slope_degrees = &relief.slope * 1f32.to_degrees();
    for (name, values) in
        [("elevation, m", elevation), ("slope, degrees", &slope_degrees), ("shade, 0 to 255", &relief.shade)]
    {
        let [least, most, mean] = statistics(values)?;
        println!("{name:<18}{least:>10.3}{most:>10.3}{mean:>10.3}");
    }
    if let Some(path) = &arguments.save_npy {
        make_folder_of(path)?;
        relief.shade.save_npy(path)?;
        println!("hillshade in {}", path.display());
    }
    write_png(&arguments.output, &shade::picture(elevation, &relief.shade)?)?;
    println!("picture in {}", arguments.output.display());
    print_times(times, elevation.bytes() + relief.shade.bytes());
    Ok(())
}

/// The times of `count` calls.
fn repeat(count: u32, mut once: impl FnMut() -> Result<()>) -> Result<Vec<Duration>> {
    let watched = count >= MANY_REPETITIONS && std::io::stderr().is_terminal();
    let bar = if watched { ProgressBar::new(u64::from(count)) } else { ProgressBar::hidden() };
    let mut times = Vec::new();
    for _ in 0..count {
        let start = Instant::now();
        once()?;
        times.push(start.elapsed());
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(times)
}

fn print_times(times: Vec<Duration>, bytes: usize) {
    let [first, .., _] = times[..] else {
        if let [only] = times[..] {
            println!("1 run of {:.3} ms", only.as_secs_f64() * 1e3);
            print_rate(only, bytes);
        }
        return;
    };
    let mut sorted = times;
    sorted.sort_unstable();
    let (fastest, median) = (sorted[0], sorted[sorted.len() / 2]);
    println!(
        "{} runs: first {:.3} ms, median {:.3} ms, fastest {:.3} ms",
        sorted.len(),
        first.as_secs_f64() * 1e3,
        median.as_secs_f64() * 1e3,
        fastest.as_secs_f64() * 1e3,
    );
    print_rate(median, bytes);
}

fn print_rate(time: Duration, bytes: usize) {
    println!(
        "{:.2} GB/s: {:.3} MB of elevations read and shade written per run, both float32, whatever lies between",
        bytes as f64 / time.as_secs_f64() / 1e9,
        bytes as f64 / 1e6,
    );
}

/// Writes grey values.
fn write_png(path: &Path, grey: &Array<u8>) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| {
        Error::io(
            "output",
            format!("{} ({error})", path.display()),
            "a file that can be written",
            "choose another --output",
        )
    };
    let size = |axis: usize| u32::try_from(grey.shape()[axis]).map_err(|error| failed(&error));
    let (height, width) = (size(0)?, size(1)?);
    make_folder_of(path)?;
    let file = File::create(path).map_err(|error| failed(&error))?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    let mut writer = encoder.write_header().map_err(|error| failed(&error))?;
    writer.write_image_data(&grey.to_vec()?).map_err(|error| failed(&error))?;
    writer.finish().map_err(|error| failed(&error))
}

/// Makes the folder that a file is to be written to.
fn make_folder_of(path: &Path) -> Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    std::fs::create_dir_all(folder).map_err(|error| {
        Error::io(
            "output",
            format!("{} ({error})", folder.display()),
            "a folder that can be made",
            "choose another path",
        )
    })
}
