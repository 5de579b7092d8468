//! Dividing work between the threads of the pool that the caller computes for.

use std::sync::OnceLock;

use stridewise_core::{Error, Result};

use crate::fork_join::{self, Direction};

/// A part has at least about this much work, in bytes moved.
const PART_BYTES: usize = 64 << 10;
/// Parts per thread, so that a late thread does not hold up the others.
pub(crate) const PARTS: usize = 4;
/// Bytes of a row of results that a thread has at least, where threads share rows.
pub(super) const ROW_BYTES: usize = 4 << 10;
/// Elements that a thread has at least of a row that is gone over several times: sorted, or counted before it is moved.
pub(super) const LONG_PART: usize = 32 << 10;
/// Boundaries within a row are multiples of this many elements: whole lines of the cache, of any dtype.
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
    match parts(total, row, bytes, grain, threads) {
        None => run(0, total),
        Some((parts, range)) => fork_join::share(parts, threads, &|index| {
            if let Some((start, end)) = range(index) {
                run(start, end);
            }
        }),
    }
}

/// [`ranges`] of work that may fail: parts that nobody has begun are left out then.
pub(super) fn try_ranges(
    total: usize,
    row: usize,
    bytes: usize,
    grain: usize,
    threads: usize,
    run: &(dyn Fn(usize, usize) -> Result<()> + Sync),
) -> Result<()> {
    match parts(total, row, bytes, grain, threads) {
        None => run(0, total),
        Some((parts, range)) => try_share(fork_join::direction(), parts, threads, &|index| {
            range(index).map_or(Ok(()), |(start, end)| run(start, end))
        }),
    }
}

/// [`fork_join::share_in`] of parts that may fail: those that nobody has begun are left out then.
pub(crate) fn try_share(
    direction: Direction,
    parts: usize,
    threads: usize,
    run: &(dyn Fn(usize) -> Result<()> + Sync),
) -> Result<()> {
    let failure: OnceLock<Error> = OnceLock::new();
    fork_join::share_in(direction, parts, threads, &|part| {
        if failure.get().is_none()
            && let Err(error) = run(part)
        {
            // Of several failures, one is told.
            let _ = failure.set(error);
        }
    });
    failure.into_inner().map_or(Ok(()), Err)
}

/// Where a part begins and ends.
type Bounds = (usize, usize);

/// How many parts to make of `0..total`, and the range of each, where it has any; `None`: it is one.
fn parts(
    total: usize,
    row: usize,
    bytes: usize,
    grain: usize,
    threads: usize,
) -> Option<(usize, impl Fn(usize) -> Option<Bounds>)> {
    let least = (PART_BYTES / bytes.max(1)).max(grain);
    let most = total.div_ceil(threads.max(1) * PARTS).max(least);
    if threads <= 1 || total <= most {
        return None;
    }
    let parts = total.div_ceil(most);
    // Parts of about the same length.
    let part = total.div_ceil(parts);
    let range = move |index: usize| {
        let place = |index: usize| boundary(index.saturating_mul(part), row, part, grain);
        let start = place(index);
        let end = if index + 1 == parts { total } else { place(index + 1) };
        (start < end).then_some((start, end))
    };
    Some((parts, range))
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

/// An address that threads share, each using its own part of what lies there.
#[derive(Clone, Copy)]
pub(super) struct Address(pub(super) *mut u8);
// SAFETY: an address only; whoever dereferences it says why that is sound.
unsafe impl Send for Address {}
// SAFETY: an address only; whoever dereferences it says why that is sound.
unsafe impl Sync for Address {}
impl Address {
    pub(super) fn at(self, offset: usize) -> *mut u8 {
        self.0.wrapping_add(offset)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::fork_join::Pool;

    #[test]
    fn parts_make_up_the_whole() {
        let pool = Pool::start(2, &[], false).unwrap();
        for (total, row, bytes) in [
            (1, 1, 4),
            (1 << 20, 1 << 20, 8),
            (300_000, 3, 12),
            (300_000, 1, 12),
            (1_000_000, 100_000, 64),
            (1_234_567, 11, 4),
        ] {
            let seen = Mutex::new(Vec::new());
            fork_join::within(&pool, 0, || {
                ranges(total, row, bytes, GRAIN, 2, &|a, b| seen.lock().unwrap().push((a, b)));
            });
            let mut seen = seen.into_inner().unwrap();
            seen.sort_unstable();
            assert_eq!((seen[0].0, seen[seen.len() - 1].1), (0, total));
            assert!(
                seen.windows(2).all(|w| w[0].1 == w[1].0 && (w[0].1 % row == 0 || w[0].1 % row % GRAIN == 0))
            );
        }
    }
}
