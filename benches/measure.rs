//! Rounds, medians and rows.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Instant;

use serde::Serialize;
use stridewise::{Device, Queue};
use stridewise_host::limit::Traffic;

use crate::limits::Limit;

/// Elements that a bare loop passes over at least per round.
const LIMIT_ELEMENTS: usize = 32 << 20;

/// One line of the report.
#[derive(Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) op: String,
    pub(crate) dtype: String,
    pub(crate) n: usize,
    pub(crate) layout: String,
    pub(crate) device: String,
    pub(crate) threads: usize,
    /// Median seconds of one run.
    pub(crate) seconds: f64,
    /// Bytes read once and written once, per second, in 10⁹.
    pub(crate) gbs: f64,
    /// The same of the bare loop with this traffic.
    pub(crate) limit_gbs: f64,
    pub(crate) ratio: f64,
    /// Median seconds of the peers.
    pub(crate) peers: BTreeMap<String, f64>,
}

impl Row {
    pub(crate) fn header() -> String {
        format!(
            "{:<22} {:<9} {:>9} {:<14} {:>11} {:>8} {:>8} {:>6}  peers (time relative to ours)",
            "op", "dtype", "n", "layout", "time", "GB/s", "limit", "ratio"
        )
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let time = match self.seconds {
            s if s < 1e-3 => format!("{:.2} µs", s * 1e6),
            s => format!("{:.3} ms", s * 1e3),
        };
        write!(
            f,
            "{:<22} {:<9} {:>9} {:<14} {:>11} {:>8.1} {:>8.1} {:>6.2} ",
            self.op, self.dtype, self.n, self.layout, time, self.gbs, self.limit_gbs, self.ratio
        )?;
        for (name, seconds) in &self.peers {
            write!(f, " {name} {:.2}×", seconds / self.seconds)?;
        }
        Ok(())
    }
}

/// A peer's name and one run of it.
pub(crate) type Peer<'a> = (&'static str, Box<dyn FnMut() + 'a>);

/// What a row measures.
pub(crate) struct Case<'a> {
    pub(crate) op: &'a str,
    pub(crate) layout: &'a str,
    /// Elements, as printed.
    pub(crate) n: usize,
    /// Bytes read once plus bytes written once.
    pub(crate) bytes: usize,
    /// The traffic of the bare loop to compare with, and elements of each of its arrays.
    pub(crate) traffic: Traffic,
    pub(crate) limit_len: usize,
    /// One run of ours, to the end.
    pub(crate) ours: Box<dyn FnMut() -> stridewise::Result<()> + 'a>,
    /// One run of each peer.
    pub(crate) peers: Vec<Peer<'a>>,
}

/// The device, the options and the rows so far.
pub(crate) struct Bench {
    queue: Queue,
    filter: String,
    quick: bool,
    rows: Vec<Row>,
}

impl Bench {
    pub(crate) fn new(device: &Device, filter: String, quick: bool) -> stridewise::Result<Self> {
        Ok(Self { queue: device.queue()?, filter, quick, rows: Vec::new() })
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }
    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(crate) fn describe(&self) -> String {
        let device = self.queue.device();
        let info = device.info();
        format!("{device}: {}, {}, {} cores", info.name, info.isa, info.limits.compute_units)
    }

    /// Times a case in rounds in which the limit, ours and the peers take turns, and prints the row.
    pub(crate) fn row(&mut self, mut case: Case<'_>) -> Result<(), Box<dyn Error>> {
        if !case.op.contains(&self.filter) {
            return Ok(());
        }
        let threads = self.queue.device().info().limits.compute_units;
        let mut limit = Limit::new(case.limit_len, threads, case.traffic)?;
        (case.ours)()?;
        let once = time(|| (case.ours)())?;
        // Short runs are timed in batches, so that they and the bare loops alike find their data where it can be: in the
        // caches that hold it. Long rows have fewer rounds.
        let batch = ((2e-3 / once) as usize).clamp(1, 1000);
        let budget = if self.quick { 0.15 } else { 0.6 };
        let rounds = ((budget / (once * batch as f64)) as usize).clamp(7, 61);

        // Enough passes that calling the threads does not count.
        let passes = batch.max((LIMIT_ELEMENTS / case.limit_len).max(1));
        let forms = limit.forms();
        let mut samples: Vec<Vec<f64>> = vec![Vec::with_capacity(rounds); 1 + forms + case.peers.len()];
        for _ in 0..rounds {
            for form in 0..forms {
                let seconds = time(|| {
                    limit.run(form, passes);
                    Ok(())
                })?;
                samples[1 + form].push(seconds * batch as f64 / passes as f64);
            }
            samples[0].push(time(|| (0..batch).try_for_each(|_| (case.ours)()))?);
            for (number, (_, run)) in case.peers.iter_mut().enumerate() {
                samples[1 + forms + number].push(time(|| {
                    (0..batch).for_each(|_| run());
                    Ok(())
                })?);
            }
        }
        let medians: Vec<f64> = samples.iter_mut().map(|s| median(s) / batch as f64).collect();
        let limit_seconds = medians[1..=forms].iter().copied().fold(f64::INFINITY, f64::min);
        let limit_bytes = case.traffic.arrays() * case.limit_len * size_of::<f32>();
        let gbs = case.bytes as f64 / medians[0] / 1e9;
        let limit_gbs = limit_bytes as f64 / limit_seconds / 1e9;
        let names = case.peers.iter().map(|(name, _)| (*name).to_owned());
        let row = Row {
            op: case.op.to_owned(),
            dtype: "float32".to_owned(),
            n: case.n,
            layout: case.layout.to_owned(),
            device: self.queue.device().to_string(),
            threads,
            seconds: medians[0],
            gbs,
            limit_gbs,
            ratio: gbs / limit_gbs,
            peers: names.zip(medians[1 + forms..].iter().copied()).collect(),
        };
        println!("{row}");
        self.rows.push(row);
        Ok(())
    }
}

fn time(f: impl FnOnce() -> stridewise::Result<()>) -> stridewise::Result<f64> {
    let begin = Instant::now();
    f()?;
    Ok(begin.elapsed().as_secs_f64())
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
