//! Rows: what the report is made of.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The engine itself on one thread, among the peers of a row: measured to see what further threads are worth.
pub(crate) const ONE_THREAD: &str = "stridewise, 1 thread";

/// One line of the report.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
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
    /// What of the limit is reached: the median over the rounds, of both as they were in one.
    pub(crate) ratio: f64,
    /// Scalar operations for each of the `n` elements.
    #[serde(default)]
    pub(crate) operations: usize,
    /// Median seconds of the peers.
    pub(crate) peers: BTreeMap<String, f64>,
}

/// The name of a row, which no other has.
pub(crate) fn name(op: &str, layout: &str, dtype: &str, n: usize) -> String {
    format!("{op} {layout} {dtype} {n}")
}

impl Row {
    /// What `--filter` looks at.
    pub(crate) fn name(&self) -> String {
        name(&self.op, &self.layout, &self.dtype, self.n)
    }

    pub(crate) fn header() -> String {
        format!(
            "{:<18} {:<8} {:>9} {:<18} {:>10} {:>8} {:>8} {:>6}  peers (time relative to ours)",
            "op", "dtype", "n", "layout", "time", "GB/s", "limit", "ratio"
        )
    }

    /// The peers that are not the engine itself.
    pub(crate) fn rivals(&self) -> impl Iterator<Item = (&str, f64)> {
        self.peers
            .iter()
            .filter(|(name, _)| *name != ONE_THREAD)
            .map(|(name, &seconds)| (name.as_str(), seconds))
    }

    /// Whether the limit is the memory's. In smaller rows calls count, of the bare loops too.
    pub(crate) fn is_limited(&self) -> bool {
        self.n >= 64 << 10
    }

    /// The fastest peer and its seconds.
    pub(crate) fn best_peer(&self) -> Option<(&str, f64)> {
        self.rivals().min_by(|(_, a), (_, b)| a.total_cmp(b))
    }

    /// How many times as long the fastest peer takes.
    pub(crate) fn speedup(&self) -> Option<f64> {
        self.best_peer().map(|(_, seconds)| seconds / self.seconds)
    }
}

/// Seconds in a unit that fits them.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.1} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.2} µs", s * 1e6),
        s => format!("{:.2} ms", s * 1e3),
    }
}

/// A multiple with as many digits as tell something.
pub(crate) fn multiple(times: f64) -> String {
    match times {
        t if t < 0.1 => format!("{t:.3}"),
        t if t < 10.0 => format!("{t:.2}"),
        t => format!("{t:.0}"),
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = duration(self.seconds);
        write!(
            f,
            "{:<18} {:<8} {:>9} {:<18} {:>10} {:>8.1} {:>8.1} {:>6.2} ",
            self.op, self.dtype, self.n, self.layout, time, self.gbs, self.limit_gbs, self.ratio
        )?;
        for (name, seconds) in &self.peers {
            write!(f, " {name} {}×", multiple(seconds / self.seconds))?;
        }
        Ok(())
    }
}
