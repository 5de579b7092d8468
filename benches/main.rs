//! Benchmarks: one file per kernel family. Every row is printed as a fraction of the memory limit that bare loops reach
//! in the same process, at the same footprint, interleaved with it; medians of many runs. Peers run in the same rounds.

mod copy;
mod device;
mod limits;
mod map;
mod measure;
mod reduce;

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use clap::Parser;
use measure::{Bench, Row};
use stridewise::backend::UsmSupport;
use stridewise::{Device, UsmKind, default_device};

#[derive(Parser)]
#[command(about = "Time each kernel family against the memory limit measured in the same run")]
struct Options {
    /// Write the rows to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Only rows whose name contains this.
    #[arg(long, default_value = "")]
    filter: String,
    /// Fewer rounds and no arrays beyond the caches: under two minutes.
    #[arg(long)]
    quick: bool,
    /// Filter string of the device.
    #[arg(long, value_name = "SPEC")]
    device: Option<String>,
}

/// Elements of one `float32` array: three of them in the second-level cache, in the third-level cache, and well beyond.
const SIZES: [usize; 3] = [64 << 10, 1 << 20, 16 << 20];

/// Elements of one array on a device with memory of its own.
const DEVICE_SIZE: usize = 1 << 28;

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let device = match &options.device {
        Some(filter) => Device::select(filter)?,
        None => default_device()?,
    };
    if device.info().usm(UsmKind::Device) != UsmSupport::Guarded {
        // Not the host: bare loops of this process say nothing about it.
        println!("{device}: {}", device.info().name);
        println!("{}", Row::header());
        let len = if options.quick { DEVICE_SIZE >> 4 } else { DEVICE_SIZE };
        return write(options.json, &device::run(&device, &options.filter, len)?);
    }
    let mut bench = Bench::new(&device, options.filter, options.quick)?;
    println!("{}", bench.describe());
    println!("{}", Row::header());
    let sizes = if options.quick { &SIZES[..2] } else { &SIZES[..] };
    for &len in sizes {
        map::run(&mut bench, len)?;
        copy::run(&mut bench, len)?;
        reduce::run(&mut bench, len)?;
    }
    write(options.json, bench.rows())
}

/// Writes the rows to a file, where one is named.
fn write(path: Option<PathBuf>, rows: &[Row]) -> Result<(), Box<dyn Error>> {
    if let Some(path) = path {
        fs::write(&path, serde_json::to_string_pretty(rows)?)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        println!("rows written to {}", path.display());
    }
    Ok(())
}
