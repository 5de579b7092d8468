//! Rows of a few elements that lie one after another, on the calling thread: what plans of the same families do, without one.

use stridewise_core::backend::{Row, RowWork, Stretch};
use stridewise_core::{DtypeKind, Op};

use super::mask::{Listed, TILE};
use super::pack::with_size;
use super::search::{self, Found};
use super::{Tuning, scan, sort};

/// See [`Device::run_row`](stridewise_core::backend::Device::run_row).
///
/// # Safety
/// The contract of `run_row`; the processor has the instruction set.
pub(crate) unsafe fn run_row(row: &Row, tuning: &Tuning) -> Option<usize> {
    let Row { work, dtype, sources: [first, second], target } = *row;
    // SAFETY: for all of this function: the caller's contract.
    unsafe {
        match work {
            RowWork::Take => with_size!(dtype.size(), T => take::<T>(first, second, target)),
            RowWork::Put => with_size!(dtype.size(), T => put::<T>(first, second, target)),
            RowWork::Count => Some(count(first)),
            RowWork::Places => Some(numbers(tuning, first, target.len, |i, number| {
                target.at.cast::<i64>().add(i).write(number as i64);
            })),
            RowWork::Select => Some(with_size!(dtype.size(), T => {
                let (to, from) = (target.at.cast::<T>(), first.at.cast::<T>());
                numbers(tuning, second, target.len, |i, number| {
                    to.add(i).write_unaligned(from.add(number).read_unaligned());
                })
            })),
            RowWork::Assign => {
                if first.len != 1 && first.len != count(second) {
                    return None;
                }
                Some(with_size!(dtype.size(), T => {
                    let (to, from) = (target.at.cast::<T>(), first.at.cast::<T>());
                    let step = usize::from(first.len != 1);
                    numbers(tuning, second, target.len, |i, number| {
                        to.add(number).write_unaligned(from.add(step * i).read_unaligned());
                    })
                }))
            }
            // Longer than a submission takes.
            RowWork::Sort { indices, .. }
                if first.len > FEW && (indices || dtype.kind() == DtypeKind::Complex) =>
            {
                None
            }
            RowWork::Scan { fold: Op::Logaddexp } if first.len > FEW => None,
            RowWork::Sort { descending, indices } => {
                sort::row(dtype, (target.at, first.at, first.len), descending, indices, tuning).ok()?;
                Some(first.len)
            }
            RowWork::Search { .. } | RowWork::Contains { .. } if dtype.kind() == DtypeKind::Complex => None,
            RowWork::Search { right } => searched(row, Found::Place { right }, tuning),
            RowWork::Contains { invert } => searched(row, Found::Whether { not: invert }, tuning),
            RowWork::Scan { fold } => scan_row(row, fold),
            _ => None,
        }
    }
}

/// Elements at most of work that takes tens of nanoseconds for each: more are left to all threads.
const FEW: usize = 1 << 10;

/// # Safety
/// The contract of [`run_row`].
unsafe fn searched(row: &Row, found: Found, tuning: &Tuning) -> Option<usize> {
    let [needles, table] = row.sources;
    // SAFETY: the caller's contract.
    unsafe { search::row(row.dtype, row.target.at, needles, table, found, tuning).ok()? };
    Some(needles.len)
}

/// # Safety
/// The contract of [`run_row`].
unsafe fn scan_row(row: &Row, fold: Op) -> Option<usize> {
    let [source, _] = row.sources;
    // SAFETY: the caller's contract.
    unsafe { scan::row(fold, row.dtype, row.target.at, source.at, source.len) }.then_some(source.len)
}

/// The place that an index names in an axis, where it is in range.
#[inline(always)]
fn place(index: i64, extent: usize) -> usize {
    (if index < 0 { index.wrapping_add(extent as i64) } else { index }) as usize
}

/// # Safety
/// The contract of [`run_row`]; elements are of the size of `T`.
unsafe fn take<T: Copy>(table: Stretch, places: Stretch, target: Stretch) -> Option<usize> {
    let (from, to) = (table.at.cast::<T>(), target.at.cast::<T>());
    let mut inside = true;
    // SAFETY: for all of this block: the caller's contract; what is out of range is not read.
    unsafe {
        let places = std::slice::from_raw_parts(places.at.cast::<i64>(), places.len);
        for (i, &index) in places.iter().enumerate() {
            let place = place(index, table.len);
            inside &= place < table.len;
            let place = if place < table.len { place } else { 0 };
            to.add(i).write_unaligned(from.add(place).read_unaligned());
        }
        inside.then_some(places.len())
    }
}

/// # Safety
/// As for [`take`].
unsafe fn put<T: Copy>(values: Stretch, places: Stretch, target: Stretch) -> Option<usize> {
    let (from, to) = (values.at.cast::<T>(), target.at.cast::<T>());
    let step = usize::from(values.len != 1);
    if step == 1 && values.len != places.len {
        return None;
    }
    // SAFETY: for all of this block: the caller's contract; all places are in range before anything is written.
    unsafe {
        let places = std::slice::from_raw_parts(places.at.cast::<i64>(), places.len);
        let outside = |outside, &index: &i64| outside | (place(index, target.len) >= target.len);
        if places.iter().fold(false, outside) {
            return None;
        }
        for (i, &index) in places.iter().enumerate() {
            let to = to.add(place(index, target.len));
            to.write_unaligned(from.add(step * i).read_unaligned());
        }
        Some(places.len())
    }
}

/// How many bytes are not 0.
///
/// # Safety
/// They are readable.
unsafe fn count(mask: Stretch) -> usize {
    // SAFETY: the caller's contract.
    let mask = unsafe { std::slice::from_raw_parts(mask.at, mask.len) };
    // Sums of bytes, as many as cannot overflow.
    let sum = |some: &[u8]| some.iter().map(|&byte| u8::from(byte != 0)).sum::<u8>();
    mask.chunks(64).map(|some| usize::from(sum(some))).sum()
}

/// Calls `write(i, number)` with the number of each byte that is not 0, at most so many; how many there are.
///
/// # Safety
/// The bytes are readable; the processor has the instruction set.
#[inline(always)]
unsafe fn numbers(tuning: &Tuning, mask: Stretch, most: usize, mut write: impl FnMut(usize, usize)) -> usize {
    let mut listed = Listed::new(tuning.isa);
    let (mut at, mut done) = (0, 0);
    while at < mask.len {
        let len = TILE.min(mask.len - at);
        // SAFETY: the caller's contract.
        let numbers = unsafe { listed.of(mask.at.add(at), len) };
        for &number in &numbers[..numbers.len().min(most - done)] {
            write(done, at + number as usize);
            done += 1;
        }
        at += len;
    }
    done
}
