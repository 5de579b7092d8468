//! Dividing work between the threads of the pool that the caller is a worker of.

/// A part has at least about this much work, in bytes moved.
const PART_BYTES: usize = 64 << 10;
/// Parts per thread, so that a late thread does not hold up the others.
pub(super) const PARTS: usize = 4;
/// Boundaries within a row are multiples of this many elements.
pub(super) const GRAIN: usize = 64;

/// Calls `run(start, end)` for parts that make up `0..total`, on up to `threads` threads. `row`: extent of the innermost
/// dimension; `bytes`: moved per element; `grain`: elements of a part at least.
pub(super) fn ranges(
    total: usize,
    row: usize,
    bytes: usize,
    grain: usize,
    threads: usize,
    run: &(dyn Fn(usize, usize) + Sync),
) {
    let least = (PART_BYTES / bytes.max(1)).max(grain);
    let part = total.div_ceil(threads.max(1) * PARTS).max(least);
    if threads <= 1 || total <= part {
        run(0, total);
    } else {
        halve(0, total, row, part, grain, run);
    }
}

fn halve(
    start: usize,
    end: usize,
    row: usize,
    part: usize,
    grain: usize,
    run: &(dyn Fn(usize, usize) + Sync),
) {
    if end - start <= part {
        return run(start, end);
    }
    let middle = boundary(start + (end - start) / 2, row, part, grain);
    if middle <= start || middle >= end {
        return run(start, end);
    }
    rayon::join(|| halve(start, middle, row, part, grain, run), || halve(middle, end, row, part, grain, run));
}

/// The place near `at` where a part may begin: a row's start where rows are shorter than parts, else a multiple of
/// the grain in its row.
fn boundary(at: usize, row: usize, part: usize, grain: usize) -> usize {
    let column = at % row.max(1);
    if row <= 1 {
        at / grain * grain
    } else if row <= part {
        at - column
    } else {
        at - column % grain
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn parts_make_up_the_whole() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        for (total, row, bytes) in
            [(1, 1, 4), (1 << 20, 1 << 20, 8), (300_000, 3, 12), (300_000, 1, 12), (1_000_000, 100_000, 64)]
        {
            let seen = Mutex::new(Vec::new());
            pool.install(|| ranges(total, row, bytes, GRAIN, 2, &|a, b| seen.lock().unwrap().push((a, b))));
            let mut seen = seen.into_inner().unwrap();
            seen.sort_unstable();
            assert_eq!((seen[0].0, seen[seen.len() - 1].1), (0, total));
            assert!(
                seen.windows(2).all(|w| w[0].1 == w[1].0 && (w[0].1 % row == 0 || w[0].1 % row % GRAIN == 0))
            );
        }
    }
}
