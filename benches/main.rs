//! Benchmarks: every row is a fraction of the memory limit that bare loops reach in the same process, at the same
//! footprint, and stands beside what other libraries take; all of them take turns in the same rounds. Medians.

mod calls;
mod device;
mod limits;
mod measure;
mod peers;
mod report;
mod row;
mod suite;

use std::fs;
use std::path::PathBuf;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use measure::Outcome;
use peers::Peers;
use report::Report;
use row::Row;
use stridewise::backend::{DeviceType, Partition};
use stridewise::{Device, default_device};
use suite::Suite;

#[derive(Parser)]
#[command(
    about = "Time every family of kernels against the memory limit and other libraries, in the same rounds"
)]
struct Options {
    /// Write the rows to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Only rows whose name, as in `add fresh float32 1024`, contains this.
    #[arg(long, default_value = "")]
    filter: String,
    /// Two sizes and few rounds: under two minutes.
    #[arg(long)]
    quick: bool,
    /// How often to go through all rows, a part of each row's rounds at a time.
    #[arg(long, value_name = "N", default_value_t = suite::PASSES)]
    passes: usize,
    /// No rows of more elements.
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    most: usize,
    /// Filter string of the device.
    #[arg(long, value_name = "SPEC")]
    device: Option<String>,
    /// Threads of ours and of all peers; all processors by default.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// In each row also ours on one thread.
    #[arg(long)]
    scaling: bool,
    /// The Python environment of the peers in processes of their own; without it there are Rust's only. On a GPU these are
    /// PyTorch and CuPy, where it has them.
    #[arg(long, value_name = "FOLDER")]
    peers: Option<PathBuf>,
    /// No peers in processes of their own, where the caller would add them.
    #[arg(long, conflicts_with = "peers")]
    no_peers: bool,
    /// Write `RESULTS.md` and its pictures; of another device than the host `RESULTS-gpu.md`, or what its type is.
    #[arg(long)]
    report: bool,
    /// Call one small operation again and again instead, for a profiler.
    #[arg(long, value_name = "OPERATION", value_parser = PossibleValuesParser::new(calls::names()))]
    call: Option<String>,
    /// Elements of the operands of `--call`.
    #[arg(long, value_name = "N", default_value_t = calls::ELEMENTS, requires = "call")]
    elements: usize,
    /// How often `--call` calls.
    #[arg(long, value_name = "N", default_value_t = 100_000, requires = "call")]
    calls: u32,
    /// Threads that call at once, each on arrays of its own.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "call")]
    callers: usize,
    /// Take the rows from a file that `--json` wrote; with `--filter`, measure those that it leaves anew.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
}

fn main() -> Outcome<()> {
    let options = Options::parse();
    if let Some(operation) = &options.call {
        return match options.callers {
            1 => calls::run(operation, options.elements, options.calls),
            callers => calls::from_threads(operation, options.elements, options.calls, callers),
        };
    }
    let known: Report = match &options.from {
        Some(path) => serde_json::from_str(&fs::read_to_string(path)?)?,
        None => Report::default(),
    };
    let mut report = match options.from.is_some() && options.filter.is_empty() {
        true => Report { machine: known.machine, ..Report::default() },
        false => measured(&options)?,
    };
    if report.rows.is_empty() && !options.filter.is_empty() {
        let quick = if options.quick { "; help: `--quick` leaves most sizes and dtypes out" } else { "" };
        eprintln!("no row's name contains {:?}, the value of `--filter`{quick}", options.filter);
    }
    // In the order that they had.
    let mut anew = std::mem::take(&mut report.rows);
    for row in known.rows {
        let same = anew.iter().position(|other| other.name() == row.name());
        report.rows.push(same.map_or(row, |position| anew.remove(position)));
    }
    report.rows.append(&mut anew);
    if let Some(path) = &options.json {
        fs::write(path, serde_json::to_string_pretty(&report)?)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        println!("rows written to {}", path.display());
    }
    if options.report {
        println!("report written to {}", report.write()?.display());
    }
    Ok(())
}

/// Measures the rows, and prints them.
fn measured(options: &Options) -> Outcome<Report> {
    let default = default_device()?;
    let mut device = match &options.device {
        Some(filter) => Device::select(filter)?,
        None => default.clone(),
    };
    if device.capabilities().process_memory && device != default {
        return Err(format!(
            "`--device` names {device}, and the rows of the host are arrays of the default device, {default}; expected the same; set \
             STRIDEWISE_DEVICE={device}"
        )
        .into());
    }
    let part = |device: &Device, threads| -> Outcome<Device> {
        let parts = device.create_sub_devices(&Partition::ByCounts(vec![threads]))?;
        Ok(parts.into_iter().next().ok_or("no sub-device")?)
    };
    let cores = device.info().limits.compute_units;
    let info = device.info();
    // A device of OpenCL names no instruction set.
    let parts = [info.name.to_string(), info.isa.to_string(), format!("{cores} cores")];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let mut machine = vec![format!("{device}: {}", parts.join(", "))];
    println!("{}", machine[0]);
    if !device.capabilities().process_memory {
        // Not the host: bare loops of this process say nothing about it.
        let peers = Peers::of_device(options.peers.as_deref(), device.info().device_type == DeviceType::Gpu);
        machine.extend_from_slice(&peers.versions);
        println!("{}", Row::header());
        let bench =
            device::Bench { device: &device, filter: &options.filter, quick: options.quick, peers: &peers };
        return Ok(Report { rows: bench.run()?, machine });
    }
    let threads = options.threads.unwrap_or(cores);
    if threads != cores {
        device = part(&device, threads)?;
    }
    let single = if threads > 1 { part(&device, 1)?.queue()? } else { device.queue()? };
    let scaling = options.scaling && threads > 1;
    // The pool of ndarray's parallel loops.
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let peers = Peers::start(options.peers.as_deref(), threads);
    let passes = if options.quick { 1 } else { options.passes };
    machine.push(format!("{threads} threads"));
    machine.push(format!("passes over all rows: {passes}"));
    machine.extend_from_slice(&peers.versions);
    println!("{}", Row::header());
    let (filter, quick) = (options.filter.clone(), options.quick);
    let (passes, most) = (options.passes, options.most);
    let suite =
        Suite { queue: device.queue()?, single, scaling, threads, filter, quick, passes, most, peers };
    Ok(Report { rows: suite.run()?, machine })
}
