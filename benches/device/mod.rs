//! A device with memory of its own, family by family, from the call to the end of the work: each row beside what other
//! libraries take for the same on the device, and beside a copy of as many bytes within its memory. All of them take turns in
//! the same rounds.

mod given;
mod rows;

use std::collections::BTreeMap;
use std::time::Instant;

use given::Given;
use rows::Case;
use stridewise::{Device, Queue, f16};
use stridewise_opencl_limit::Launches;

use crate::measure::{Contender, Effort, Outcome, interleave};
use crate::peers::Peers;
use crate::row::{self, Row};
use crate::suite::Sample;

/// Elements: calls and launches count; a second-level cache has it; memory counts; and long rows.
const SIZES: [usize; 4] = [1 << 16, 1 << 20, 1 << 24, 1 << 26];
/// Those of a quick run.
const QUICK_SIZES: [usize; 2] = [1 << 12, 1 << 16];
/// Elements of the stream of small additions, and of the largest products of matrices.
const SMALL: usize = 16;
const MOST_PRODUCT: usize = 1 << 24;
/// The names under which the row of the stream has what it is compared with.
const BARE: &str = "the runtime's own launch";

/// Measures the rows whose name contains the filter, and prints them.
pub(crate) struct Bench<'a> {
    pub(crate) device: &'a Device,
    pub(crate) filter: &'a str,
    pub(crate) quick: bool,
    pub(crate) peers: &'a Peers,
}

impl Bench<'_> {
    pub(crate) fn run(&self) -> Outcome<Vec<Row>> {
        let queue = self.device.queue()?;
        let sizes = if self.quick { &QUICK_SIZES[..] } else { &SIZES[..] };
        let mut rows = Vec::new();
        self.stream(&queue, &mut rows)?;
        for &n in sizes {
            // Of rows that are for large arrays, a quick run has smaller ones.
            let large = n == sizes[sizes.len().min(3) - 1];
            let huge = n > sizes[sizes.len().min(3) - 1];
            let every = |case: &Case<'_>| if huge { case.huge } else { large || case.small };
            self.rows_of::<f32>(&queue, n, every, &mut rows)?;
            let products = |case: &Case<'_>| case.op == "matmul" && n <= MOST_PRODUCT;
            self.rows_of::<f64>(&queue, n, products, &mut rows)?;
            self.rows_of::<f16>(&queue, n, products, &mut rows)?;
            let integers = |case: &Case<'_>| large && matches!(case.op, "sort" | "unique");
            self.rows_of::<i32>(&queue, n, integers, &mut rows)?;
        }
        Ok(rows)
    }

    /// The rows of a dtype and size of which a condition holds.
    fn rows_of<T: Sample>(
        &self,
        queue: &Queue,
        n: usize,
        takes: impl Fn(&Case<'_>) -> bool,
        rows: &mut Vec<Row>,
    ) -> Outcome<()> {
        let dtype = T::DTYPE;
        let supported = self.device.dtype_support().supports(dtype);
        let wanted = |case: &Case<'_>| {
            let name = row::name(case.op, case.layout, &dtype.to_string(), n);
            takes(case) && name.contains(self.filter)
        };
        if !supported {
            return Ok(());
        }
        // Whether there is anything to make arrays for.
        let least = Given::<T>::new(queue, SMALL)?;
        if !rows::cases(&least).iter().any(wanted) {
            return Ok(());
        }
        let given = Given::<T>::new(queue, n)?;
        for case in rows::cases(&given).into_iter().filter(|case| wanted(case)) {
            let (op, layout, bytes, operations) = (case.op, case.layout, case.bytes, case.operations);
            let [source, target] = &given.room;
            let (source, target) = (source.usm_data()?, target.usm_data()?);
            let half = (bytes / 2).clamp(1, source.bytes());
            let copy = || Ok(queue.memcpy((&target, 0), (&source, 0), half, &[])?.wait()?);
            let mut contenders =
                vec![Contender::timed("stridewise", case.run), Contender::timed("a copy", copy)];
            contenders.extend(self.peers.contenders(op, layout, &dtype.to_string(), n));
            let copied = 2 * half;
            self.measure((op, layout, &dtype.to_string(), n), (bytes, copied, operations), contenders, rows);
        }
        Ok(())
    }

    /// Additions of a few elements into existing memory, one behind the other, and the end of them all waited for once; beside
    /// the same by the runtime's functions alone.
    fn stream(&self, queue: &Queue, rows: &mut Vec<Row>) -> Outcome<()> {
        let (op, layout, dtype) = ("add", "stream", "float32");
        if !row::name(op, layout, dtype, SMALL).contains(self.filter) {
            return Ok(());
        }
        let given = Given::<f32>::new(queue, SMALL)?;
        let mut contenders = vec![Contender::new("stridewise", |count| {
            let begin = Instant::now();
            for _ in 0..count {
                given.add()?;
            }
            queue.wait()?;
            Ok(begin.elapsed().as_secs_f64())
        })];
        let mut bare = Launches::new(&self.device.info().name, SMALL)?;
        contenders.push(Contender::new(BARE, move |count| Ok(bare.run(count)?.as_secs_f64())));
        contenders.extend(self.peers.contenders(op, layout, dtype, SMALL));
        self.measure((op, layout, dtype, SMALL), (12 * SMALL, 12 * SMALL, 1), contenders, rows);
        Ok(())
    }

    /// Runs a row: ours first, then what is the limit, then the peers.
    fn measure(
        &self,
        (op, layout, dtype, n): (&str, &str, &str, usize),
        (bytes, limit_bytes, operations): (usize, usize, usize),
        mut contenders: Vec<Contender<'_>>,
        rows: &mut Vec<Row>,
    ) {
        let effort = if self.quick { Effort::QUICK } else { Effort::FULL };
        let samples = interleave(&mut contenders, effort);
        // What fails has been said.
        let (Some(seconds), Some(limit)) = (samples[0].median(), samples[1].median()) else { return };
        let peers: BTreeMap<String, f64> = contenders[2..]
            .iter()
            .zip(&samples[2..])
            .filter_map(|(contender, samples)| Some((contender.name.clone(), samples.median()?)))
            .collect();
        let (gbs, limit_gbs) = (bytes as f64 / seconds / 1e9, limit_bytes as f64 / limit / 1e9);
        let row = Row {
            op: op.to_owned(),
            dtype: dtype.to_owned(),
            n,
            layout: layout.to_owned(),
            device: self.device.filter_string(),
            threads: self.device.info().limits.compute_units,
            seconds,
            gbs,
            limit_gbs,
            ratio: gbs / limit_gbs,
            operations,
            peers,
        };
        let best = row.speedup().map_or_else(String::new, |times| format!("  best peer {times:.2}"));
        let bare = if contenders[1].name == BARE {
            format!("  {BARE} {}, ours {:.2} times that", row::duration(limit), seconds / limit)
        } else {
            String::new()
        };
        println!("{row}{best}{bare}");
        rows.push(row);
    }
}
