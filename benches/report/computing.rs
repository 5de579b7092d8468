//! How long the loops of rows compute, apart from the memory.

use std::collections::BTreeMap;

use crate::row::{ONE_THREAD, Row, name};

/// Sizes of rows whose elements are in the first cache: the second takes as long as the first, and computes.
const SIZES: [usize; 2] = [16, 1 << 10];
/// Layouts of rows that compute each element by itself, whatever their size.
const ELEMENTWISE: [&str; 3] = ["fresh", "out", "fused"];

/// The small rows of a report.
pub(super) struct Computing<'a>(BTreeMap<String, &'a Row>);

impl<'a> Computing<'a> {
    pub(super) fn new(rows: &'a [Row]) -> Self {
        Self(rows.iter().filter(|row| SIZES.contains(&row.n)).map(|row| (row.name(), row)).collect())
    }

    /// The share of a row's time that all threads together would compute for, were the elements in their first caches; `None`
    /// where the small rows do not tell.
    pub(super) fn share(&self, row: &Row) -> Option<f64> {
        let Row { op, layout, dtype, .. } = row;
        if !ELEMENTWISE.contains(&&layout[..]) {
            return None;
        }
        let [few, many] = SIZES.map(|n| self.0.get(&name(op, layout, dtype, n)));
        let (few, many) = (few?, many?);
        let single = |row: &Row| row.peers.get(ONE_THREAD).copied();
        // So few elements one thread computes, whatever their number is.
        let (few, many) = single(few).zip(single(many)).unwrap_or((few.seconds, many.seconds));
        let each = (many - few) / (SIZES[1] - SIZES[0]) as f64;
        (each > 0.0).then_some(each * row.n as f64 / row.threads.max(1) as f64 / row.seconds)
    }
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
}
