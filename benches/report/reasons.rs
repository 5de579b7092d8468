//! Why a peer wins a row, and why a row is below the limit.

use crate::row::Row;

/// Rows with an explanation.
struct Reason {
    /// `None`: all of them.
    op: Option<&'static str>,
    /// `None`: all of them.
    layout: Option<&'static str>,
    /// `None`: all of them.
    dtype: Option<&'static str>,
    /// Elements at least and at most.
    sizes: (usize, usize),
    text: &'static str,
}

/// What fits every row, and says nothing: what a reason does not name is this one's.
const ANY: Reason = Reason { op: None, layout: None, dtype: None, sizes: (0, usize::MAX), text: "" };

/// Measured as the time from one repetition of a run to the next, and between runs of the same program.
const DRIFT: &str = "no further than the row drifts from one run to the next";
/// A peer whose time is this part of ours, or more, is not told from the drift.
const DRIFTS: f64 = 0.9;
/// Measured by a profile and by the number of tiles.
const TILES: &str =
    "each step's values go through a tile in the first-level cache; a compiled loop keeps them in registers";
/// Measured by a profile.
const GATHERED: &str = "an operand with gaps is gathered into a tile before the operation reads it";
/// Measured by a profile.
const ROWS: &str = "rows of 256 elements are a call each";
/// Measured beside a bare loop of one thread, which takes 18 µs for `float64`.
const AWAKE: &str =
    "a second thread takes part only where one is still awake; a BLAS's threads stay awake for milliseconds";

/// Measured: 103 µs of 256 points by rows, 91 by columns; 1.47 ms of 1024, and 0.82.
const SHORT_ROWS: &str =
    "rows of eight elements are folded; from a row for each coordinate the same takes about half of the time";
/// Measured step by step: 16 µs of the running sum of 64 Ki, 12 of the averages, 63 of the histogram.
const STEPS: &str = "five steps, each of which reads what the one before stored; the ends are waited for";
/// Measured step by step: where each step is waited for, so that its memory is used again at once, 3.8 ms.
const ROUNDS: &str = "distances and memberships of all points and clusters go through memory; the loop keeps those of a point in registers";
/// By construction.
const GENERATOR: &str = "Philox4x32 in ten rounds, whose numbers are the same on every device; the loop's generator multiplies twice";
/// Three runs of one day: 0.8 to 1.2 of the best peer.
const LEVEL: &str = "level in other runs of the same day: the speed of this machine's memory and of waking a thread drifts by as much";
/// Measured: a store to any place waits for a line of the second-level cache, in both libraries.
const PLACES: &str =
    "places are read twice: once for whether any is out of range, before anything is written";
/// Measured: of bytes, with 256 counters, the same takes a quarter.
const COUNTERS: &str =
    "of 16 bits: 65 536 counters, most of which stay 0, are cleared and looked at for as many elements";
/// By construction.
const ALONE: &str =
    "the same plan, on numbers that are copied into one vector; ours reads the array and makes a new one";
/// By construction.
const SELECTED: &str =
    "one thread divides the elements, about three times over all of them, and converts them twice";

/// The first that fits counts. A row without one is listed all the same.
const REASONS: &[Reason] = &[
    Reason {
        op: Some("pow"),
        sizes: (1 << 10, usize::MAX),
        text: "`float32` to 0.68 ULP, `float64` to 0.78; NumPy's error is up to 1.00",
        ..ANY
    },
    Reason {
        op: Some("tanh"),
        sizes: (1 << 10, usize::MAX),
        text: "`float32` to 0.76 ULP, `float64` to 0.61; NumPy's error is up to 1.36, JAX's 4.5",
        ..ANY
    },
    Reason {
        op: Some("gelu"),
        sizes: (1 << 10, usize::MAX),
        text: "its `tanh` is to 0.76 ULP, of `float64` to 0.61; JAX's error is up to 4.5",
        ..ANY
    },
    Reason {
        sizes: (0, 1 << 10),
        text: "the price of a call: its checks, holding its memory, and a result's memory (instructions below)",
        ..ANY
    },
    Reason {
        op: Some("sin"),
        layout: Some("one thread"),
        text: "in units of the last place; rten bounds the error absolutely, by 3e-7, however small the result",
        ..ANY
    },
    Reason { op: Some("distances by rows"), text: SHORT_ROWS, ..ANY },
    Reason { op: Some("k-means"), text: ROUNDS, ..ANY },
    Reason { op: Some("heat equation"), text: TILES, ..ANY },
    Reason { op: Some("Monte-Carlo pi"), text: GENERATOR, ..ANY },
    Reason { op: Some("averages, histogram"), text: STEPS, ..ANY },
    Reason { op: Some("median"), sizes: (64 << 10, usize::MAX), text: SELECTED, ..ANY },
    Reason { op: Some("fft"), text: ALONE, ..ANY },
    Reason { op: Some("sort"), dtype: Some("int16"), sizes: (64 << 10, 64 << 10), text: COUNTERS, ..ANY },
    Reason { op: Some("argsort"), dtype: Some("int16"), sizes: (64 << 10, 64 << 10), text: COUNTERS, ..ANY },
    Reason { op: Some("sum of products"), sizes: (64 << 10, 64 << 10), text: AWAKE, ..ANY },
    Reason { op: Some("roll"), sizes: (64 << 10, 64 << 10), text: AWAKE, ..ANY },
    Reason { op: Some("unique"), sizes: (64 << 10, 64 << 10), text: LEVEL, ..ANY },
    Reason { op: Some("repeat"), sizes: (1 << 20, 1 << 20), text: LEVEL, ..ANY },
    Reason { op: Some("take"), sizes: (1 << 20, 1 << 20), text: LEVEL, ..ANY },
    Reason { op: Some("a*b+c"), sizes: (64 << 10, 64 << 10), text: LEVEL, ..ANY },
    Reason {
        op: Some("matmul"),
        layout: Some("vector, matrix"),
        sizes: (16 << 20, 16 << 20),
        text: LEVEL,
        ..ANY
    },
    Reason { op: Some("matmul"), layout: Some("matrices"), sizes: (4096, 4096), text: LEVEL, ..ANY },
    Reason { op: Some("put"), sizes: (16 << 20, 16 << 20), text: LEVEL, ..ANY },
    Reason { op: Some("put"), sizes: (64 << 10, 1 << 20), text: PLACES, ..ANY },
    Reason { op: Some("add at"), sizes: (64 << 10, 1 << 20), text: PLACES, ..ANY },
    Reason { op: Some("repeat"), sizes: (64 << 10, 64 << 10), text: GATHERED, ..ANY },
    Reason { op: Some("sqrt(a*a+b*b)*c-d"), sizes: (64 << 10, 1 << 20), text: TILES, ..ANY },
    Reason { layout: Some("strided by 2"), sizes: (64 << 10, 64 << 10), text: GATHERED, ..ANY },
    Reason { layout: Some("negative stride"), sizes: (64 << 10, 64 << 10), text: GATHERED, ..ANY },
    Reason { layout: Some("row broadcast"), sizes: (64 << 10, 64 << 10), text: ROWS, ..ANY },
    Reason { layout: Some("column broadcast"), sizes: (64 << 10, 64 << 10), text: ROWS, ..ANY },
    Reason { op: Some("concat"), layout: Some("axis 1"), sizes: (64 << 10, 64 << 10), text: ROWS, ..ANY },
    Reason { op: Some("dot"), sizes: (64 << 10, 64 << 10), text: AWAKE, ..ANY },
];

/// Why a peer is faster, which takes so many times as long; empty where that is not known.
pub(super) fn reason(row: &Row, times: f64) -> &'static str {
    let drift = if times >= DRIFTS { DRIFT } else { "" };
    find(REASONS, row).unwrap_or(drift)
}

/// Measured by a bare program: a launch and a blocking read of eight bytes take 15 µs, a further launch before the end 7.
const CHECKED: &str =
    "whether all indices are in range is read back, and waited for, before the result is given out";
/// Measured by a kernel of nothing but fused multiply-adds, which reaches 0.54 of the peer.
const VECTORS: &str = "the language has no way to the units for matrices of doubles";
/// Measured from 16 to 64 Mi elements: the rest of the time grows by 4.2 TB/s and more.
const STAGED: &str = "recording, planning and launching its three stages: 30 to 40 µs, whatever the size";
/// Measured: a launch and the wait for its end 11 µs, two launches 18.
const LAUNCHES: &str = "the runtime's own launches, of which a second kernel is one";
/// Why a peer wins a row of a device.
const OF_DEVICES: &[Reason] = &[
    Reason { op: Some("take"), text: CHECKED, ..ANY },
    Reason { op: Some("softmax"), text: STAGED, ..ANY },
    Reason {
        op: Some("unique"),
        text: "all elements are sorted, by passes of which each counts its digits first",
        ..ANY
    },
    Reason {
        op: Some("sort"),
        sizes: (1 << 20, usize::MAX),
        text: "each pass counts its digits first: the language does not promise that groups may wait for each other",
        ..ANY
    },
    Reason {
        op: Some("argsort"),
        sizes: (1 << 20, usize::MAX),
        text: "as `sort`, with 64-bit places",
        ..ANY
    },
    Reason { sizes: (0, 64 << 20), text: LAUNCHES, ..ANY },
];

/// A peer of a row of a device whose time is this part of ours, or more, is not told from the drift: two runs differ by as much.
const DEVICE_DRIFTS: f64 = 0.95;

/// Why a peer wins a row of a device, which takes so many times as long; empty where that is not known.
pub(super) fn of_device(row: &Row, times: f64) -> &'static str {
    match (row.op.as_str(), row.dtype.as_str()) {
        _ if times >= DEVICE_DRIFTS => DRIFT,
        ("matmul", "float64") => VECTORS,
        ("matmul", _) => "",
        _ => find(OF_DEVICES, row).unwrap_or_default(),
    }
}

/// A row whose loop computes for this share of its time, or more, is bound by that.
pub(super) const COMPUTES: f64 = 0.75;
/// Measured against 40 variants of a bare transposition.
const SQUARES: &str =
    "squares are turned in registers, a few lines of many rows at a time: a bare loop is no faster";
/// Counted: bytes that are read and written, by those that the limit's loop moves.
const TWICE: &str = "the array is read twice, as its columns fit no cache: 1.5 times what the limit counts";
/// By construction: the mean and the deviation of a row are known only when all of it has been read.
const AFTER: &str = "some rows are folded, then computed: the memory reads and writes in turns";

/// Why large rows are below the limit. The first that fits counts.
const SHORTFALLS: &[Reason] = &[
    Reason { layout: Some("transposed"), text: SQUARES, ..ANY },
    Reason {
        op: Some("normalise"),
        layout: Some("axis 0"),
        sizes: (16 << 20, usize::MAX),
        text: TWICE,
        ..ANY
    },
    Reason {
        op: Some("normalise"),
        layout: Some("axis 1"),
        sizes: (16 << 20, usize::MAX),
        text: AFTER,
        ..ANY
    },
];

/// Why a large row is below the limit, whose loop computes for a share of the time; empty where that is not known.
pub(super) fn shortfall(row: &Row, computing: Option<f64>) -> &'static str {
    if computing.is_some_and(|share| share >= COMPUTES) {
        return "computing";
    }
    find(SHORTFALLS, row).unwrap_or_default()
}

fn find(reasons: &[Reason], row: &Row) -> Option<&'static str> {
    let fits = |reason: &&Reason| {
        let (least, most) = reason.sizes;
        reason.op.is_none_or(|op| op == row.op)
            && reason.layout.is_none_or(|layout| layout == row.layout)
            && reason.dtype.is_none_or(|dtype| dtype == row.dtype)
            && (least..=most).contains(&row.n)
    };
    reasons.iter().find(fits).map(|reason| reason.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tables::tests::row;

    #[test]
    fn the_first_reason_that_fits_counts() {
        let reasons = [
            Reason { op: Some("add"), layout: Some("out"), sizes: (0, 100), text: "small", ..ANY },
            Reason { op: Some("add"), text: "any", ..ANY },
        ];
        assert_eq!(find(&reasons, &row("add", "out", 16)), Some("small"));
        assert_eq!(find(&reasons, &row("add", "fresh", 16)), Some("any"));
        assert_eq!(find(&reasons, &row("add", "out", 101)), Some("any"));
        assert_eq!(find(&reasons, &row("exp", "out", 16)), None);
        let unknown = row("exp", "out", 1 << 30);
        assert_eq!([0.5, 0.95].map(|times| reason(&unknown, times)), ["", DRIFT]);
    }
}
