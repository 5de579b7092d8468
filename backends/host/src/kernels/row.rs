//! Rows of a few elements that lie one after another, on the calling thread: what plans of the same families do, without one.

use stridewise_core::backend::{Row, RowWork, Stretch};
use stridewise_core::{DtypeKind, Op};

use super::entry::{Kernel, entry};
use super::mask::{Listed, TILE};
use super::pack::with_size;
use super::search::{self, Found};
use super::{Tuning, contract, scan, sort};

/// See [`Device::run_row`](stridewise_core::backend::Device::run_row).
///
/// # Safety
/// The contract of `run_row`; the processor has the instruction set.
pub(crate) unsafe fn run_row(row: &Row, tuning: &Tuning) -> Option<usize> {
    let Row { work, dtype, sources: [first, second], target } = *row;
    // SAFETY: for all of this function: the caller's contract.
    unsafe {
        match work {
            RowWork::Take if are_inside(second, first.len, tuning) => {
                with_size!(dtype.size(), T => take::<T>(first, second, target));
                Some(second.len)
            }
            RowWork::Put
                if (first.len == 1 || first.len == second.len) && are_inside(second, target.len, tuning) =>
            {
                with_size!(dtype.size(), T => put::<T>(first, second, target));
                Some(second.len)
            }
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
            RowWork::Range { start } => {
                entry::<Range>(tuning.isa)(
                    target.at,
                    (&raw const start).cast(),
                    NOTHING,
                    NOTHING,
                    0,
                    target.len,
                );
                Some(target.len)
            }
            RowWork::Product { extents, transposed } => {
                let from = [first.at, second.at];
                contract::multiply(dtype, target.at, from, extents, transposed, tuning).ok()?;
                Some(extents[0] * extents[2])
            }
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

/// Whether places, of which negative ones count from the end, are all in an axis.
///
/// # Safety
/// They are readable and aligned; the processor has the instruction set.
unsafe fn are_inside(places: Stretch, extent: usize, tuning: &Tuning) -> bool {
    let (mut outside, extent) = (0_u64, extent as u64);
    let extent = (&raw const extent).cast::<u8>();
    // SAFETY: the caller's contract.
    unsafe {
        entry::<Outside>(tuning.isa)((&raw mut outside).cast(), places.at, extent, extent, 0, places.len);
    }
    outside == 0
}

/// Adds up how many places, the first source, are not in an axis, whose extent the second one is.
struct Outside;
impl Kernel for Outside {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, [places, extent, _]: [*const u8; 3], _: u32, len: usize) {
        // SAFETY: for all of this function: the caller's contract.
        unsafe {
            let extent = extent.cast::<u64>().read();
            let places = std::slice::from_raw_parts(places.cast::<i64>(), len);
            let outside = |&place: &i64| u64::from(from_start(place, extent) >= extent);
            *dst.cast::<u64>() = places.iter().map(outside).sum::<u64>();
        }
    }
}

/// A source that a function has not.
const NOTHING: *const u8 = std::ptr::null();

/// Numbers, from the one that is the first source on.
struct Range;
impl Kernel for Range {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, [start, ..]: [*const u8; 3], _: u32, len: usize) {
        // SAFETY: for all of this function: the caller's contract.
        unsafe {
            let (to, start) = (dst.cast::<u64>(), start.cast::<u64>().read());
            for i in 0..len {
                to.add(i).write(start.wrapping_add(i as u64));
            }
        }
    }
}

/// A place, counted from the start; beyond the axis where it is out of range.
#[inline(always)]
fn from_start(place: i64, extent: u64) -> u64 {
    let from_end = if place < 0 { extent } else { 0 };
    place.cast_unsigned().wrapping_add(from_end)
}

/// # Safety
/// The contract of [`run_row`]; elements are of the size of `T`, and all places are in range.
unsafe fn take<T: Copy>(table: Stretch, places: Stretch, target: Stretch) {
    let (from, to) = (table.at.cast::<T>(), target.at.cast::<T>());
    // SAFETY: for all of this block: the caller's contract.
    unsafe {
        let places = std::slice::from_raw_parts(places.at.cast::<i64>(), places.len);
        for (i, &place) in places.iter().enumerate() {
            let place = from_start(place, table.len as u64) as usize;
            to.add(i).write_unaligned(from.add(place).read_unaligned());
        }
    }
}

/// # Safety
/// As for [`take`]; there is one value, or one for each place.
unsafe fn put<T: Copy>(values: Stretch, places: Stretch, target: Stretch) {
    let (from, to) = (values.at.cast::<T>(), target.at.cast::<T>());
    let step = usize::from(values.len != 1);
    // SAFETY: for all of this block: the caller's contract.
    unsafe {
        let places = std::slice::from_raw_parts(places.at.cast::<i64>(), places.len);
        for (i, &place) in places.iter().enumerate() {
            let to = to.add(from_start(place, target.len as u64) as usize);
            to.write_unaligned(from.add(step * i).read_unaligned());
        }
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
