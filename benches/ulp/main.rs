//! How accurate the elementwise functions of each device are, in units of the last place, against references of higher
//! precision. Functions run through arrays, as programs use them, so that any device of any backend can be measured.

mod arguments;
mod binary;
mod error;
mod functions;
mod sweep;
mod unary;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use functions::{BINARY, UNARY};
use stridewise::{Device, Dtype, Op, devices};
use sweep::{Row, Target};

/// Printed above the table.
const HEADER: &str = "\
Error of elementwise functions in units of the last place (ulp): |result - exact| / ulp, with the spacing of the dtype's
numbers at the exact value, and that of subnormal numbers below the least normal one. 0.5 is correctly rounded; at most
1 is faithfully rounded. A result of the wrong sign of zero, NaN or infinite where the exact one is not, or the reverse,
has an infinite error; a subnormal result that is flushed to zero has an error of its size in subnormal units.
float32: against double precision, of every number (quick: one of 65537, and hard arguments). float64: hard arguments
and samples, against 160 bits. float16, bfloat16: every number; the nearest is the only right result. Two operands:
every pair of special values and random pairs. `off` counts results other than the nearest number.";

/// Measure the error of every elementwise function on every device.
#[derive(Parser)]
#[command(after_help = HEADER)]
struct Options {
    /// A part of the arguments: under a minute per device.
    #[arg(long)]
    quick: bool,
    /// Only functions whose name contains this; may be given several times.
    #[arg(long, value_name = "NAME")]
    filter: Vec<String>,
    /// Only this dtype (`float32`); may be given several times.
    #[arg(long, value_name = "DTYPE")]
    dtype: Vec<Dtype>,
    /// Filter string of a device (`host:avx512`); may be given several times. Without: the host at each instruction set
    /// level, and every other device.
    #[arg(long, value_name = "SPEC", num_args = 1..)]
    device: Vec<String>,
    /// `float64` arguments per function [default: 10000000, quick: 20000].
    #[arg(long, value_name = "N")]
    samples: Option<usize>,
    /// Write the table to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// How many arguments are tried.
#[derive(Clone, Copy, Debug)]
struct Effort {
    /// A part of the `float32` numbers instead of all.
    quick: bool,
    /// `float64` arguments.
    samples: usize,
    /// Pairs of `float32`.
    pairs32: usize,
    /// Pairs of `float64`.
    pairs64: usize,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("ulp: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The devices that options name.
fn targets(names: &[String]) -> Result<Vec<Target>, Box<dyn std::error::Error>> {
    let chosen: Vec<Device> = if names.is_empty() {
        let levels = ["host:scalar", "host:neon", "host:avx2", "host:avx512"];
        let levels: Vec<Device> = levels.iter().filter_map(|name| Device::select(name).ok()).collect();
        // The host's default device is one of its levels.
        let others = devices().into_iter().filter(|device| !device.filter_string().starts_with("host"));
        levels.into_iter().chain(others).collect()
    } else {
        names.iter().map(|name| Device::select(name)).collect::<Result<_, _>>()?
    };
    Ok(chosen.into_iter().map(Target::new).collect::<Result<_, _>>()?)
}

/// Measures and prints; whether every function is as accurate as it has to be.
fn run(options: &Options) -> Result<bool, Box<dyn std::error::Error>> {
    let targets = targets(&options.device)?;
    let samples = options.samples.unwrap_or(if options.quick { 20_000 } else { 10_000_000 });
    let effort = match options.quick {
        true => Effort { quick: true, samples, pairs32: 200_000, pairs64: samples },
        false => Effort { quick: false, samples, pairs32: 100_000_000, pairs64: samples.div_ceil(10) },
    };
    let named = |op: Op| {
        options.filter.is_empty() || options.filter.iter().any(|part| op.name().contains(part.as_str()))
    };
    let typed = |dtype: Dtype| options.dtype.is_empty() || options.dtype.contains(&dtype);
    let halves = typed(Dtype::F16) || typed(Dtype::Bf16);
    println!("{HEADER}\n");
    let width = targets.iter().map(|target| target.device.filter_string().len()).max().unwrap_or(0).max(6);
    println!(
        "{:12} {:8} {:width$} {:>10} {:>11} {:>11}  worst at",
        "function", "dtype", "device", "max ulp", "off", "tested"
    );
    let began = Instant::now();
    let mut table = Table { rows: Vec::new(), width };
    for function in UNARY.iter().filter(|function| named(function.op)) {
        if typed(Dtype::F32) {
            table.add(unary::single(function, &targets, effort)?);
        }
        if typed(Dtype::F64) {
            table.add(unary::double(function, &targets, effort)?);
        }
        if halves {
            let rows = unary::halves(function, &targets)?;
            table.add(rows.into_iter().filter(|row| row.dtype.parse().is_ok_and(typed)).collect());
        }
    }
    for function in BINARY.iter().filter(|function| named(function.op)) {
        if typed(Dtype::F32) {
            table.add(binary::single(function, &targets, effort)?);
        }
        if typed(Dtype::F64) {
            table.add(binary::double(function, &targets, effort)?);
        }
    }
    if named(Op::Nextafter) && (typed(Dtype::F32) || typed(Dtype::F64)) {
        let rows = binary::nextafter(&targets, effort)?;
        table.add(rows.into_iter().filter(|row| row.dtype.parse().is_ok_and(typed)).collect());
    }
    let failed: Vec<&Row> = table.rows.iter().filter(|row| !row.passed).collect();
    println!(
        "\n{} rows in {:.0} s, {} beyond their limit",
        table.rows.len(),
        began.elapsed().as_secs_f64(),
        failed.len()
    );
    for row in &failed {
        println!(
            "  {} {} {}: {} ulp, allowed {}",
            row.function,
            row.dtype,
            row.device,
            rounded(row.max_ulp),
            rounded(row.limit)
        );
    }
    if let Some(path) = &options.json {
        std::fs::write(path, serde_json::to_string_pretty(&table.rows)?)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(failed.is_empty())
}

/// The table, printed as it grows.
struct Table {
    rows: Vec<Row>,
    width: usize,
}

impl Table {
    fn add(&mut self, rows: Vec<Row>) {
        for row in rows {
            println!(
                "{:12} {:8} {:width$} {:>10} {:>11} {:>11}  {}{}",
                row.function,
                row.dtype,
                row.device,
                rounded(row.max_ulp),
                row.misrounded,
                row.tested,
                row.at.join(", "),
                if row.passed { "" } else { "  <-- beyond its limit" },
                width = self.width,
            );
            self.rows.push(row);
        }
    }
}

/// An error with the digits that matter.
fn rounded(ulp: f64) -> String {
    if ulp < 1000.0 { format!("{ulp:.4}") } else { format!("{ulp:.2e}") }
}
