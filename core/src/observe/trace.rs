//! What a session has noted.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::time::Duration;

use super::session::unwritten;
use super::{Doing, Record, chrome};
use crate::error::Result;

/// What the engine did while a [`Profiler`](super::Profiler) was open. It prints as a table; [`write`](Self::write) makes a file that
/// Perfetto's page (<https://ui.perfetto.dev>) and Chrome's `chrome://tracing` open.
#[derive(Clone, Debug)]
pub struct Trace {
    /// In the order of their beginnings; of those that begin together, the longest first.
    records: Vec<Record>,
    threads: Vec<(u32, String)>,
    span: [u64; 2],
    dropped: usize,
    thread: u32,
}

/// A command: its submission, and when and by whom it was run.
#[derive(Clone, Debug)]
pub(crate) struct Ran<'a> {
    pub(crate) submission: &'a Record,
    /// When it began and ended, where that is known.
    pub(crate) span: Option<[u64; 2]>,
    /// The numbers of the threads that took part.
    pub(crate) threads: Vec<u32>,
}

/// What records of one name come to.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Row {
    /// What it is called.
    pub name: String,
    /// What it is: *run* for commands, else as [`Doing::name`].
    pub doing: &'static str,
    /// How often.
    pub calls: usize,
    /// How long in all.
    pub time: Duration,
    /// Bytes that were read and written, or taken, in all.
    pub bytes: usize,
    /// Of the time of the session.
    pub share: f64,
    /// The rate of its bytes as a share of what the memories of its devices move in a second, if all of these were measured:
    /// [`Trace::measure_bandwidth`].
    pub share_of_limit: Option<f64>,
}

/// A row, and the least seconds that its bytes take, if that is known of all of them.
struct Sum {
    row: Row,
    least: Option<f64>,
}

impl Trace {
    pub(super) fn new(
        mut records: Vec<Record>,
        threads: Vec<(u32, String)>,
        span: [u64; 2],
        dropped: usize,
        thread: u32,
    ) -> Self {
        // What was under way when the session began is shown from there.
        for record in &mut records {
            record.span = record.span.map(|at| at.max(span[0]));
        }
        records.sort_by_key(|record| (record.span[0], std::cmp::Reverse(record.span[1])));
        Self { records, threads, span, dropped, thread }
    }

    /// What was noted.
    #[doc(hidden)]
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }
    /// Threads that have noted something: number and name.
    #[doc(hidden)]
    #[must_use]
    pub fn threads(&self) -> &[(u32, String)] {
        &self.threads
    }
    /// When the session began and ended.
    #[doc(hidden)]
    #[must_use]
    pub fn span(&self) -> [u64; 2] {
        self.span
    }
    /// How long the session was open.
    #[must_use]
    pub fn duration(&self) -> Duration {
        Duration::from_nanos(self.span[1] - self.span[0])
    }
    /// Records for which there was no room.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.dropped
    }
    /// The number of the thread that began the session.
    #[doc(hidden)]
    #[must_use]
    pub fn thread(&self) -> u32 {
        self.thread
    }

    /// The commands, in the order of their submission.
    pub(crate) fn commands(&self) -> Vec<Ran<'_>> {
        let mut known: Vec<Ran<'_>> = Vec::new();
        let mut by_command: HashMap<usize, usize> = HashMap::new();
        for record in self.records.iter().filter(|record| record.doing == Doing::Submission) {
            by_command.insert(record.command, known.len());
            known.push(Ran { submission: record, span: None, threads: Vec::new() });
        }
        for record in self.records.iter().filter(|record| record.doing == Doing::Run) {
            let Some(of) = by_command.get(&record.command).map(|&place| &mut known[place]) else { continue };
            let [begin, end] = of.span.unwrap_or(record.span);
            of.span = Some([begin.min(record.span[0]), end.max(record.span[1])]);
            if !of.threads.contains(&record.thread) {
                of.threads.push(record.thread);
            }
        }
        let ends = self.records.iter().filter(|record| record.doing == Doing::Ended);
        let ends: HashMap<usize, u64> = ends.map(|record| (record.command, record.span[1])).collect();
        for of in known.iter_mut().filter(|of| of.span.is_none()) {
            let submitted = of.submission.span[1];
            let stamps = of.submission.keeper.as_ref().and_then(|keeper| keeper.stamps());
            of.span = match (stamps, ends.get(&of.submission.command)) {
                // The device's clock and ours meet where it was submitted.
                (Some([at, started, ended]), _) => {
                    let ours = |stamp: u64| submitted + stamp.saturating_sub(at);
                    Some([ours(started), ours(ended)])
                }
                (None, Some(&ended)) => Some([submitted, ended.max(submitted)]),
                (None, None) => None,
            };
        }
        known
    }

    /// The name of a command.
    pub(crate) fn name_of(&self, command: usize) -> Option<String> {
        let is_it = |record: &&Record| record.doing == Doing::Submission && record.command == command;
        self.records.iter().find(is_it).map(|record| record.name.to_string())
    }

    /// What was done, by name: the longest first. Commands have the time that they were run.
    #[must_use]
    pub fn table(&self) -> Vec<Row> {
        let mut sums: HashMap<(&'static str, String), Sum> = HashMap::new();
        let session = (self.span[1] - self.span[0]).max(1);
        let mut add = |doing: &'static str, record: &Record, nanoseconds: u64| {
            let name = record.name.to_string();
            let row = |name| Row {
                name,
                doing,
                calls: 0,
                time: Duration::ZERO,
                bytes: 0,
                share: 0.0,
                share_of_limit: None,
            };
            let new = |name| Sum { row: row(name), least: Some(0.0) };
            let Sum { row, least } = sums.entry((doing, name.clone())).or_insert_with(|| new(name));
            row.calls += 1;
            row.time += Duration::from_nanos(nanoseconds);
            row.bytes = row.bytes.saturating_add(record.bytes);
            row.share = row.time.as_nanos() as f64 / session as f64;
            let bandwidth = record.keeper.as_ref().and_then(|keeper| keeper.bandwidth());
            *least = least.zip(bandwidth).map(|(least, bandwidth)| least + record.bytes as f64 / bandwidth);
        };
        for of in self.commands() {
            let lasted = of.span.map_or(0, |[begin, end]| end - begin);
            add("run", of.submission, lasted);
        }
        for record in &self.records {
            if !matches!(record.doing, Doing::Submission | Doing::Run | Doing::Ended) {
                let [begin, end] = record.span;
                add(record.doing.name(), record, end - begin);
            }
        }
        let finished = |Sum { mut row, least }: Sum| {
            let seconds = row.time.as_secs_f64();
            row.share_of_limit =
                least.filter(|_| row.bytes > 0 && seconds > 0.0).map(|least| least / seconds);
            row
        };
        let mut rows: Vec<Row> = sums.into_values().map(finished).collect();
        rows.sort_by(|a, b| (b.time, &a.name, a.doing).cmp(&(a.time, &b.name, b.doing)));
        rows
    }

    /// The trace as JSON of Chrome's trace format.
    #[must_use]
    pub fn to_json(&self) -> String {
        chrome::written(self)
    }

    /// Writes the trace to a file, as [`to_json`](Self::to_json) gives it.
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) where the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let write = || -> std::io::Result<()> {
            let mut file = BufWriter::new(File::create(path)?);
            file.write_all(self.to_json().as_bytes())?;
            file.flush()
        };
        write().map_err(|error| unwritten(path, &error))
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:>7} {:>12} {:>7} {:>10} {:>9} {:>8}  what",
            "calls", "time", "share", "bytes", "GB/s", "of limit"
        )?;
        for row in self.table() {
            let seconds = row.time.as_secs_f64();
            let rate = if row.bytes > 0 && seconds > 0.0 { row.bytes as f64 / seconds / 1e9 } else { 0.0 };
            let of_limit =
                row.share_of_limit.map_or_else(String::new, |share| format!("{:.0} %", 100.0 * share));
            writeln!(
                f,
                "{:>7} {:>9.3} ms {:>5.1} % {:>7.1} MB {:>9.2} {of_limit:>8}  {} {}",
                row.calls,
                seconds * 1e3,
                100.0 * row.share,
                row.bytes as f64 / 1e6,
                rate,
                row.doing,
                row.name,
            )?;
        }
        if self.dropped > 0 {
            writeln!(f, "{} records found no room", self.dropped)?;
        }
        Ok(())
    }
}
