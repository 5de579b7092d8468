//! How long the loops of rows compute, apart from the memory.

use std::collections::BTreeMap;

use crate::row::{ONE_THREAD, Row, name};

/// Sizes of rows whose elements are in the first cache: the second takes as long as the first, and computes.
const FIRST: [usize; 2] = [16, 1 << 10];
/// Sizes of which the second is in the second-level cache of a core, where a row moves no more than [`NEAR_BYTES`].
const SECOND: [usize; 2] = [1 << 10, 64 << 10];
/// Bytes that a core's second-level cache holds.
const NEAR_BYTES: f64 = (1 << 20) as f64;
/// Layouts of rows that compute each element by itself, whatever their size. Others have longer rows, or more of them, the
/// more elements there are.
const ELEMENTWISE: [&str; 3] = ["fresh", "out", "fused"];

/// The small rows of a report.
pub(super) struct Computing<'a>(BTreeMap<String, &'a Row>);

impl<'a> Computing<'a> {
    pub(super) fn new(rows: &'a [Row]) -> Self {
        let small = |row: &&Row| row.n <= SECOND[1];
        Self(rows.iter().filter(small).map(|row| (row.name(), row)).collect())
    }

    /// The share of a row's time that all threads together would compute for, were the elements in the caches of their cores;
    /// `None` where the small rows do not tell.
    pub(super) fn share(&self, row: &Row) -> Option<f64> {
        let each = self.first(row).or_else(|| self.second(row)).filter(|&each| each > 0.0)?;
        Some(each * row.n as f64 / row.threads.max(1) as f64 / row.seconds)
    }

    /// The row of so many elements.
    fn of(&self, Row { op, layout, dtype, .. }: &Row, n: usize) -> Option<&'a Row> {
        self.0.get(&name(op, layout, dtype, n)).copied()
    }

    /// Seconds that an element takes in the first cache.
    fn first(&self, row: &Row) -> Option<f64> {
        let (few, many) = (self.of(row, FIRST[0])?, self.of(row, FIRST[1])?);
        if !ELEMENTWISE.contains(&&row.layout[..]) {
            return None;
        }
        // So few elements one thread computes, whatever their number is.
        let (few, many) = single(few).zip(single(many)).unwrap_or((few.seconds, many.seconds));
        Some((many - few) / (FIRST[1] - FIRST[0]) as f64)
    }

    /// Seconds that an element takes in the second cache, on one thread. Where there is no smaller row, with the price of a call,
    /// a tenth at most.
    fn second(&self, row: &Row) -> Option<f64> {
        let many = self.of(row, SECOND[1]).filter(|many| many.gbs * 1e9 * many.seconds <= NEAR_BYTES)?;
        let (few, elements) = match self.of(row, SECOND[0]).and_then(single) {
            Some(few) => (few, SECOND[1] - SECOND[0]),
            None => (0.0, SECOND[1]),
        };
        Some((single(many)? - few) / elements as f64)
    }
}

/// Seconds on one thread.
fn single(row: &Row) -> Option<f64> {
    row.peers.get(ONE_THREAD).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tables::tests::row;

    #[test]
    fn what_more_elements_take_longer_is_divided_among_threads() {
        let mut rows = [16, 1024, 1 << 20].map(|n| row("exp", "out", n));
        rows[2].seconds = 1e-3;
        rows[0].peers.insert(ONE_THREAD.to_owned(), 100e-9);
        rows[1].peers.insert(ONE_THREAD.to_owned(), 100e-9 + 1008e-9);
        let share = Computing::new(&rows).share(&rows[2]);
        // A nanosecond for each of 2²⁰, two threads, of a millisecond.
        assert!(share.is_some_and(|share| (share - 0.524_288).abs() < 1e-9), "{share:?}");
        assert_eq!(Computing::new(&rows[1..]).share(&rows[2]), None);
        assert_eq!(Computing::new(&rows).share(&row("exp", "axis 0", 1 << 20)), None);
    }

    #[test]
    fn rows_with_axes_tell_by_what_a_core_holds() {
        let mut rows = [1024, 64 << 10, 1 << 20].map(|n| row("normalise", "axis 0", n));
        rows[2].seconds = 1e-3;
        for (row, seconds) in rows.iter_mut().zip([2e-6, 2e-6 + 64_512e-9]) {
            row.peers.insert(ONE_THREAD.to_owned(), seconds);
        }
        (rows[1].seconds, rows[1].gbs) = (64e-6, 8.0);
        let share = |rows: &[Row]| Computing::new(rows).share(&rows[rows.len() - 1]);
        assert!(share(&rows).is_some_and(|share| (share - 0.524_288).abs() < 1e-9), "{:?}", share(&rows));
        // Without the smaller row all of the time counts.
        let all = share(&rows[1..]);
        assert!(all.is_some_and(|all| (all - 66_512e-9 * 8.0 / 1e-3).abs() < 1e-9), "{all:?}");
        // Two megabytes are beyond the cache.
        rows[1].gbs = 32.0;
        assert_eq!(share(&rows), None);
    }
}
