//! How quick this machine is, in about a minute: a dozen computations on one core, on all, and on each other device, beside what its
//! memory gives. That is measured by plain copies in as many threads as there are cores, or by the device's own.
//!
//! `cargo run --release --example bench -- [--filter TEXT] [--seconds S] [--json FILE]`

use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use clap::Parser;
use stridewise::backend::Partition;
use stridewise::prelude::*;

/// Bytes of a large array, at most; a device with little memory has smaller ones.
const LARGE: u64 = 256 << 20;
/// Rows that take less are measured on small arrays: for who looks whether all is there.
const QUICK: f64 = 0.05;

/// Measures this machine.
#[derive(Parser)]
struct Arguments {
    /// Only the device that a filter string selects.
    #[arg(long)]
    filter: Option<String>,
    /// How long each computation is repeated.
    #[arg(long, default_value_t = 0.3)]
    seconds: f64,
    /// Write what was measured into a file, too.
    #[arg(long)]
    json: Option<std::path::PathBuf>,
}

/// The shortest time of a call, of those that fit in a while; three at least, the first one not counted.
fn best<E>(seconds: f64, mut run: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    run()?;
    let (mut shortest, mut calls, begin) = (Duration::MAX, 0, Instant::now());
    while calls < 3 || begin.elapsed().as_secs_f64() < seconds {
        let started = Instant::now();
        run()?;
        shortest = shortest.min(started.elapsed());
        calls += 1;
    }
    Ok(shortest.as_secs_f64())
}

/// Bytes that plain copies read and write in a second, in so many threads.
fn copies(bytes: usize, threads: usize, seconds: f64) -> f64 {
    let part = (bytes / threads).max(1);
    let mut pairs: Vec<_> = (0..threads).map(|_| (vec![1_u8; part], vec![0_u8; part])).collect();
    let took: Result<f64, ()> = best(seconds, || {
        std::thread::scope(|scope| {
            for (of, to) in &mut pairs {
                scope.spawn(|| to.copy_from_slice(of));
            }
        });
        Ok(())
    });
    2.0 * (part * threads) as f64 / took.unwrap_or(f64::INFINITY)
}

/// A computation: its name, the bytes that it moves and the operations that it is, or 0.
struct Row {
    name: &'static str,
    bytes: usize,
    operations: usize,
    seconds: f64,
}

/// The rows of a queue's device, on arrays of so many bytes.
fn rows(queue: &Queue, bytes: usize, seconds: f64) -> Result<Vec<Row>> {
    let n = bytes / 4;
    let on = || Array::<f32>::on(queue);
    let (x, y) = (on().linspace(0.5, 1.5, n)?, on().linspace(1.5, 0.5, n)?);
    let mut out = on().zeros([n])?;
    let side = if bytes >= 16 << 20 { 1024 } else { 64 };
    let a = (x.slice(s![..(side * side) as isize])?.reshape([side, side])? / side as f32).copy()?;
    let (short, some) =
        (on().linspace(0.0, 1.0, 16)?, (x.slice(s![..(n / 16).max(1) as isize])? * 1e5).sin());
    for array in [&x, &y, &out, &a, &short, &some] {
        array.wait()?;
    }
    let mut rows = Vec::new();
    let mut row = |name, bytes, operations, run: &mut dyn FnMut() -> Result<()>| -> Result<()> {
        rows.push(Row { name, bytes, operations, seconds: best(seconds, run)? });
        Ok(())
    };
    row("copy", 8 * n, 0, &mut || out.assign(&x)?.wait())?;
    row("fill", 4 * n, 0, &mut || out.assign(3.0)?.wait())?;
    row("x + y", 12 * n, n, &mut || out.assign(&(&x + &y))?.wait())?;
    row("sqrt(x*x + y*y)", 12 * n, 4 * n, &mut || out.assign(&(&x * &x + &y * &y).sqrt())?.wait())?;
    row("exp(x)", 8 * n, n, &mut || out.assign(&x.exp())?.wait())?;
    row("sum(x)", 4 * n, n, &mut || x.sum().map(drop))?;
    row("sum of rows", 4 * side * side, side * side, &mut || a.sum_axis(1)?.wait())?;
    row("running sum", 8 * n, n, &mut || x.cumulative_sum(0)?.wait())?;
    row("x < y, counted", 8 * n, n, &mut || x.less(&y).count_nonzero().map(drop))?;
    row("matrix product", 0, 2 * side * side * side, &mut || a.matmul(&a).wait())?;
    row("sort", 0, 0, &mut || some.sort(0, false)?.wait())?;
    row("16 elements added", 0, 0, &mut || (&short + &short).wait())?;
    Ok(rows)
}

/// Prints the rows, and writes them as JSON.
fn report(name: &str, limit: f64, rows: &[Row], json: &mut String) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "\n{name}: memory {:.1} GB/s", limit / 1e9)?;
    for Row { name: row, bytes, operations, seconds } in rows {
        let (rate, share) = (*bytes as f64 / seconds, *bytes as f64 / seconds / limit);
        write!(out, "  {row:<18} {:>12.2} µs", seconds * 1e6)?;
        if *bytes > 0 {
            write!(out, "  {:8.1} GB/s {:5.0} %", rate / 1e9, share * 100.0)?;
        }
        if *operations > 0 {
            write!(out, "  {:8.2} Gop/s", *operations as f64 / seconds / 1e9)?;
        }
        writeln!(out)?;
        let comma = if json.is_empty() { "" } else { ",\n" };
        // Names of devices and rows have no character that JSON would write otherwise. A string takes whatever is written.
        let _ = write!(
            json,
            "{comma}  {{\"device\": \"{name}\", \"row\": \"{row}\", \"seconds\": {seconds:e}, \"bytes\": {bytes}, \
             \"operations\": {operations}, \"share_of_limit\": {share}}}"
        );
    }
    Ok(())
}

fn measure(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let seconds = arguments.seconds;
    let devices = match &arguments.filter {
        Some(filter) => vec![Device::select(filter)?],
        None => stridewise::devices(),
    };
    let most = if seconds < QUICK { 1 << 20 } else { LARGE };
    let mut json = String::new();
    for device in devices {
        let limits = &device.info().limits;
        let bytes = most.min(limits.max_allocation_bytes / 8).min(limits.global_memory_bytes / 16) as usize;
        let mut parts = vec![(device.filter_string(), device.clone(), limits.compute_units)];
        if device.capabilities().process_memory && limits.compute_units > 1 {
            let one = device.create_sub_devices(&Partition::Equally(1))?.swap_remove(0);
            parts.insert(0, (format!("{device}, one core"), one, 1));
        }
        for (name, part, units) in parts {
            let rows = rows(&part.queue()?, bytes, seconds)?;
            let limit = if part.capabilities().process_memory {
                copies(bytes, units, seconds)
            } else {
                rows[0].bytes as f64 / rows[0].seconds
            };
            report(&name, limit, &rows, &mut json)?;
        }
    }
    if let Some(file) = &arguments.json {
        std::fs::write(file, format!("[\n{json}\n]\n"))?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    match measure(&Arguments::parse()) {
        // Who reads has seen enough.
        Err(error)
            if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) =>
        {
            Ok(())
        }
        outcome => outcome,
    }
}
