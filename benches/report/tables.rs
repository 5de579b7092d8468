//! The tables of the page.

use std::collections::BTreeSet;

use super::computing::Computing;
use super::{PICTURES, Report, reasons};
use crate::calls;
use crate::row::{ONE_THREAD, Row, duration, multiple};

/// Elements from which memory bounds most rows.
const LARGE: usize = 1 << 20;
/// The share of the limit that such a row is to reach.
const GOAL: f64 = 0.9;

/// The page, with pictures of these names and titles.
pub(super) fn page(report: &Report, pictures: &[(&str, &str)]) -> String {
    let mut page = String::from(
        "# Results\n\n\
         Written by `cargo xtask bench --report`. In each row the engine, the peers and the memory limit took turns in the \
         same rounds, in one or several passes over all rows; times are medians of batches, of peers that take twenty times as \
         long one batch. The limit is the fastest of several bare loops with the row's traffic (as many arrays read for each that is written; ordinary and \
         non-temporal stores; one thread and all), over as many bytes; *ratio* is the median of what each round reached of its \
         own limit, as the memory's speed changes from round to round. GB/s count what a row has to read and to write, once. \
         *Best* is the fastest peer; *×* says how many times as long it takes: above 1, the engine is faster.\n\n",
    );
    for line in &report.machine {
        page += &format!("- {line}\n");
    }
    page += &summary(&report.rows);
    if !pictures.is_empty() {
        page += "\n## Pictures\n\n";
    }
    for (file, title) in pictures {
        page += &format!("![{title}]({PICTURES}/{file})\n\n");
    }
    page += &lost(&report.rows, reasons::reason);
    page += &short(&report.rows);
    page += &scaling(&report.rows);
    page += &instructions();
    page + &by_size(&report.rows)
}

/// The page of a device with memory of its own.
pub(super) fn device_page(report: &Report) -> String {
    let mut page = String::from(
        "# Results of a device\n\n\
         Written by `cargo xtask bench --device SPEC --report`. In each row the engine, the peers and a copy within the device's \
         memory took turns in the same rounds, each from the call to the end of its work, as a program sees it; times are \
         medians. The limit is the copy's speed, *ratio* what of it is reached. GB/s count what a row has to read and to \
         write, once. *Best* is the fastest peer; *×* says how many times as long it takes: above 1, the engine is faster. \
         Sizes of matrices are all their elements.\n\n",
    );
    for line in &report.machine {
        page += &format!("- {line}\n");
    }
    page += &lost(&report.rows, reasons::of_device);
    page + &by_size(&report.rows)
}

/// A table for each size.
fn by_size(rows: &[Row]) -> String {
    let sizes: BTreeSet<usize> = rows.iter().map(|row| row.n).collect();
    let mut text = String::new();
    for n in sizes {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.n == n).collect();
        text += &format!("\n## {}\n\n", elements(n));
        text += &table(&rows);
    }
    text
}

/// What small calls are made of; nothing where it cannot be counted, which is said.
fn instructions() -> String {
    let counts = match calls::instructions() {
        Ok(counts) => counts,
        Err(error) => {
            eprintln!("the instructions of small calls are left out: {error}");
            return String::new();
        }
    };
    let mut text = format!(
        "\n## Instructions of small calls\n\nOf one call from Rust, {} elements of `float32`, counted by Valgrind's \
         callgrind (`bench --call`).\n\n| call | instructions |\n|---|---:|\n",
        calls::ELEMENTS
    );
    for (name, count) in counts {
        text += &format!("| {name} | {count} |\n");
    }
    text
}

/// A number of elements as one says it.
pub(super) fn elements(n: usize) -> String {
    match n {
        n if n >= 1 << 20 && n % (1 << 20) == 0 => format!("{} Mi elements", n >> 20),
        n if n >= 1 << 10 && n % (1 << 10) == 0 => format!("{} Ki elements", n >> 10),
        n => format!("{n} elements"),
    }
}

/// How many rows reach what they are to reach.
fn summary(rows: &[Row]) -> String {
    let large: Vec<&Row> = rows.iter().filter(|row| row.n >= LARGE).collect();
    let rivalled = |rows: &[&Row]| rows.iter().filter(|row| row.best_peer().is_some()).count();
    let ahead =
        |rows: &[&Row]| rows.iter().filter(|row| row.speedup().is_some_and(|times| times >= 1.0)).count();
    let all: Vec<&Row> = rows.iter().collect();
    let at_limit = large.iter().filter(|row| row.ratio >= GOAL).count();
    let computing = Computing::new(rows);
    let at_either =
        large.iter().filter(|row| row.ratio.max(computing.share(row).unwrap_or(0.0)) >= GOAL).count();
    format!(
        "\n| | rows | of |\n|---|---:|---:|\n\
         | ahead of every peer | {} | {} |\n\
         | ahead of every peer, from 1 Mi elements | {} | {} |\n\
         | at {GOAL:.2} of the limit, from 1 Mi elements | {at_limit} | {} |\n\
         | at {GOAL:.2} of the limit, or computing for {GOAL:.2} of the time, from 1 Mi elements | {at_either} | {} |\n",
        ahead(&all),
        rivalled(&all),
        ahead(&large),
        rivalled(&large),
        large.len(),
        large.len()
    )
}

/// Every row that a peer wins, the worst first; `reason` says why, of a row and how many times as long the peer takes.
fn lost(rows: &[Row], reason: impl Fn(&Row, f64) -> &'static str) -> String {
    let mut lost: Vec<(f64, &Row)> = rows
        .iter()
        .filter_map(|row| row.speedup().map(|times| (times, row)))
        .filter(|(times, _)| *times < 1.0)
        .collect();
    lost.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let mut text = String::from("\n## Rows that a peer wins\n\n");
    if lost.is_empty() {
        text += "None.\n";
        return text;
    }
    text += "| op | layout | dtype | elements | time | best | its time | × | reason |\n";
    text += "|---|---|---|---:|---:|---|---:|---:|---|\n";
    for (times, row) in lost {
        let Some((peer, seconds)) = row.best_peer() else { continue };
        let (ours, theirs) = (duration(row.seconds), duration(seconds));
        let (times, reason) = (multiple(times), reason(row, times));
        let Row { op, layout, dtype, n, .. } = row;
        text += &format!(
            "| `{op}` | {layout} | {dtype} | {n} | {ours} | {peer} | {theirs} | {times} | {reason} |\n"
        );
    }
    text
}

/// Every large row that is further from the limit than it is to be, the furthest first.
fn short(rows: &[Row]) -> String {
    let computing = Computing::new(rows);
    let mut short: Vec<&Row> = rows.iter().filter(|row| row.n >= LARGE && row.ratio < GOAL).collect();
    short.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let mut text = format!("\n## Rows below {GOAL:.2} of the limit, from 1 Mi elements\n\n");
    if short.is_empty() {
        text += "None.\n";
        return text;
    }
    text += &format!(
        "*Computing* is the share of the time that the row's loop would take on elements in a core's own caches, on one thread, \
         divided among the threads: what 1 Ki elements take longer than 16; for all but operations of elements, and where \
         these have no rows so small, what 64 Ki take longer than 1 Ki, if they move no more than 1 MiB. From {:.2} on it \
         is the reason.\n\n",
        reasons::COMPUTES
    );
    text += "| op | layout | dtype | elements | time | ratio | computing | reason |\n\
             |---|---|---|---:|---:|---:|---:|---|\n";
    for row in short {
        let share = computing.share(row);
        let reason = reasons::shortfall(row, share);
        let (time, share) =
            (duration(row.seconds), share.map_or(String::new(), |share| format!("{share:.2}")));
        let Row { op, layout, dtype, n, ratio, .. } = row;
        text +=
            &format!("| `{op}` | {layout} | {dtype} | {n} | {time} | {ratio:.2} | {share} | {reason} |\n");
    }
    text
}

/// What threads are worth, where it was measured.
fn scaling(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let Some(single) = row.peers.get(ONE_THREAD) else { continue };
        if text.is_empty() {
            text += "\n## One thread and all\n\n| op | layout | dtype | elements | one thread | all | × |\n";
            text += "|---|---|---|---:|---:|---:|---:|\n";
        }
        let Row { op, layout, dtype, n, seconds, .. } = row;
        let times = multiple(single / seconds);
        let (single, all) = (duration(*single), duration(*seconds));
        text += &format!("| `{op}` | {layout} | {dtype} | {n} | {single} | {all} | {times} |\n");
    }
    text
}

/// All rows of a size, with a column for each peer.
fn table(rows: &[&Row]) -> String {
    let peers: BTreeSet<&str> = rows.iter().flat_map(|row| row.rivals()).map(|(name, _)| name).collect();
    let mut text = String::from("| op | layout | dtype | time | GB/s | limit | ratio | best | × |");
    for peer in &peers {
        text += &format!(" {peer} |");
    }
    text += "\n|---|---|---|---:|---:|---:|---:|---|---:|";
    text += &"---:|".repeat(peers.len());
    text += "\n";
    for row in rows {
        let best = row.best_peer().map_or("", |(name, _)| name);
        let times = row.speedup().map(multiple).unwrap_or_default();
        let Row { op, layout, dtype, gbs, limit_gbs, ratio, .. } = row;
        let time = duration(row.seconds);
        let limit = if row.is_limited() { format!("{limit_gbs:.1} | {ratio:.2}") } else { " |".to_owned() };
        text += &format!("| `{op}` | {layout} | {dtype} | {time} | {gbs:.1} | {limit} | {best} | {times} |");
        for peer in &peers {
            let time = row.peers.get(*peer).map_or_else(String::new, |&seconds| duration(seconds));
            text += &format!(" {time} |");
        }
        text += "\n";
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A row of a microsecond.
    pub(in crate::report) fn row(op: &str, layout: &str, n: usize) -> Row {
        Row {
            op: op.to_owned(),
            dtype: "float32".to_owned(),
            n,
            layout: layout.to_owned(),
            device: "host:cpu:0".to_owned(),
            threads: 2,
            seconds: 1e-6,
            gbs: 45.0,
            limit_gbs: 50.0,
            ratio: 0.9,
            operations: 1,
            peers: [("numpy".to_owned(), 4e-6), ("jax".to_owned(), 2e-6)].into(),
        }
    }

    #[test]
    fn a_page_has_a_table_for_each_size_and_counts() {
        let mut slow = row("exp", "fresh", 1 << 20);
        slow.peers.insert("jax".to_owned(), 0.5e-6);
        slow.ratio = 0.5;
        let rows = vec![row("add", "fresh", 16), row("add", "fresh", 1 << 20), slow];
        let page = page(&Report { rows, machine: vec!["a machine".to_owned()] }, &[("a.svg", "A")]);
        assert!(page.contains("- a machine\n"));
        assert!(page.contains("| ahead of every peer | 2 | 3 |"), "{page}");
        assert!(page.contains("| ahead of every peer, from 1 Mi elements | 1 | 2 |"));
        assert!(page.contains("| at 0.90 of the limit, from 1 Mi elements | 1 | 2 |"));
        assert!(page.contains(
            "| at 0.90 of the limit, or computing for 0.90 of the time, from 1 Mi elements | 1 | 2 |"
        ));
        assert!(page.contains("![A](results/a.svg)"));
        assert!(page.contains("## 16 elements\n") && page.contains("## 1 Mi elements\n"));
        assert!(page.contains("| time | GB/s | limit | ratio | best | × | jax | numpy |\n"));
        assert!(page.contains(
            "| `add` | fresh | float32 | 1.00 µs | 45.0 | 50.0 | 0.90 | jax | 2.00 | 2.00 µs | 4.00 µs |\n"
        ));
        assert!(!page.contains("One thread"));
    }

    #[test]
    fn every_row_that_a_peer_wins_is_listed_the_worst_first() {
        let mut rows = vec![row("a", "x", 2000), row("b", "x", 2000), row("c", "x", 2000)];
        rows[1].peers.insert("numpy".to_owned(), 0.9e-6);
        rows[2].peers.insert("jax".to_owned(), 0.25e-6);
        let text = lost(&rows, reasons::reason);
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("| `")).collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert_eq!(lines[0], "| `c` | x | float32 | 2000 | 1.00 µs | jax | 250.0 ns | 0.25 |  |");
        assert!(lines[1].starts_with("| `b` |"));
        assert!(lost(&rows[..1], reasons::reason).contains("None."));
    }

    #[test]
    fn every_large_row_below_the_limit_is_listed_the_furthest_first() {
        let mut rows = vec![row("exp", "fresh", 16), row("exp", "fresh", 1024), row("exp", "fresh", 1 << 20)];
        (rows[0].seconds, rows[1].seconds, rows[2].seconds) = (16e-9, 1024e-9, 1e-3);
        rows[2].ratio = 0.4;
        rows.push(row("copy", "transposed", 1 << 20));
        rows[3].ratio = 0.3;
        rows.push(row("add", "fresh", 1 << 20));
        let text = short(&rows);
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("| `")).collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(
            lines[0].starts_with("| `copy` | transposed | float32 | 1048576 | 1.00 µs | 0.30 |  | squares"),
            "{text}"
        );
        assert!(
            lines[1].starts_with("| `exp` | fresh | float32 | 1048576 | 1.00 ms | 0.40 | 0.52 |"),
            "{text}"
        );
        assert!(short(&rows[..2]).contains("None."));
    }

    #[test]
    fn a_device_has_a_page_of_its_own() {
        let mut slow = row("softmax", "rows of 128", 1 << 20);
        slow.peers = [("torch".to_owned(), 0.5e-6)].into();
        let page = device_page(&Report { rows: vec![slow], machine: vec!["a GPU".to_owned()] });
        assert!(page.contains("- a GPU\n") && page.contains("## 1 Mi elements\n"));
        assert!(page.contains("| 0.50 | recording, planning and launching"), "{page}");
    }

    #[test]
    fn one_thread_is_no_peer() {
        let mut one = row("add", "fresh", 16);
        one.peers.insert(ONE_THREAD.to_owned(), 0.5e-6);
        assert_eq!(one.best_peer(), Some(("jax", 2e-6)));
        assert!(scaling(std::slice::from_ref(&one)).contains("| 500.0 ns | 1.00 µs | 0.50 |"));
        assert!(!table(&[&one]).contains(ONE_THREAD));
        assert!(lost(&[one], reasons::reason).contains("None."));
    }
}
