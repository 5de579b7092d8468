//! Rows of a few elements that lie one after another, on the calling thread: what plans of the same families do, without one.

use std::ops::Add;

use stridewise_core::backend::{Row, RowWork, Stretch};
use stridewise_core::{Complex, Dtype, DtypeKind, Op, bf16, f16};

use super::entry::{Kernel, entry};
use super::mask::{Listed, TILE};
use super::pack::with_size;
use super::plain::Plain;
use super::search::{self, Found};
use super::{Tuning, accumulate, contract, count, scan, sort, top};

/// See [`Device::run_row`](stridewise_core::backend::Device::run_row).
///
/// # Safety
/// - What the work reads, `sources`, is readable; none of them is of no elements.
/// - The target is writable, apart from the sources, and has room for what the work may write: as many elements as source 0 has, or
///   source 1 of a take, or as are true in a mask; a range fills it.
/// - A mask is as long as what it selects from, or what is assigned to.
/// - All are aligned to their dtypes, and nothing else accesses them in conflict.
/// - The processor has the instruction set.
pub(crate) unsafe fn run_row(row: &Row, tuning: &Tuning) -> Option<usize> {
    let Row { work, dtype, sources: [first, second], target } = *row;
    // SAFETY: for all of this function: the contract of `Device::run_row`, arm by arm: the sources that the
    // work has are readable and hold at least one element, the target is apart from them and has room for
    // what the work may write, and all are aligned to their dtypes. Places are compared with the axis first
    // (`are_inside`), and a mask is as long as what it selects from.
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
            RowWork::Add
                if accumulate::exists(Op::Add, dtype)
                    && (first.len == 1 || first.len == second.len)
                    && are_inside(second, target.len, tuning) =>
            {
                add(dtype, first, second, target);
                Some(second.len)
            }
            RowWork::Count => Some(true_bytes(first)),
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
                if first.len != 1 && first.len != true_bytes(second) {
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
            RowWork::Partition { first: from, end } if end <= first.len => {
                sort::select_row(dtype, (target.at, first.at, first.len), from..end, tuning).ok()?;
                Some(first.len)
            }
            RowWork::Top { .. } if dtype.kind() == DtypeKind::Complex && first.len > FEW => None,
            RowWork::Top { descending } if target.len <= first.len => {
                let row = (target.at, first.at, first.len);
                top::row(dtype, row, target.len, descending, tuning).ok()?;
                Some(target.len)
            }
            RowWork::Distinct => Some(runs(dtype, first, target, false)),
            RowWork::Lengths => Some(runs(dtype, first, target, true)),
            RowWork::Histogram if second.len >= 2 && target.len == second.len - 1 => {
                let done = count::row(
                    dtype,
                    (first.at, first.len),
                    (second.at, second.len),
                    (target.at, target.len),
                );
                done.ok()?.then_some(target.len)
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
                let done = contract::multiply(dtype, target.at, from, extents, transposed, tuning);
                done.ok()?.then_some(extents[0] * extents[2])
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
    // SAFETY: needles and table are readable, of the dtype, and not empty; the target has room for a result
    // for each needle.
    unsafe { search::row(row.dtype, row.target.at, needles, table, found, tuning).ok()? };
    Some(needles.len)
}

/// # Safety
/// The contract of [`run_row`].
unsafe fn scan_row(row: &Row, fold: Op) -> Option<usize> {
    let [source, _] = row.sources;
    // SAFETY: the source is readable, of the dtype, and not empty; the target is apart from it and has room
    // for as many elements.
    unsafe { scan::row(fold, row.dtype, row.target.at, source.at, source.len) }.then_some(source.len)
}

/// Whether places, of which negative ones count from the end, are all in an axis.
///
/// # Safety
/// - There is at least one place, and all are readable, aligned `int64`. They may be any numbers.
/// - The processor has the instruction set.
unsafe fn are_inside(places: Stretch, extent: usize, tuning: &Tuning) -> bool {
    let (mut outside, extent) = (0_u64, extent as u64);
    let extent = (&raw const extent).cast::<u8>();
    // SAFETY: the places are readable, and there is at least one; sum and extent are a `u64` each.
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
        // SAFETY: for all of this function: `len` places are readable and aligned, and the second source and
        // `dst` are a `u64` each, as `are_inside` gives them.
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
        // SAFETY: for all of this function: the first source is one `u64`, and `dst` has room for `len` of
        // them, aligned.
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
/// - Elements of the table and of the target are of the size of `T`.
/// - Places are readable, aligned `int64`, and all of them are in the table (`are_inside`).
/// - The target has room for an element for each place, and is apart from the table and the places.
unsafe fn take<T: Copy>(table: Stretch, places: Stretch, target: Stretch) {
    let (from, to) = (table.at.cast::<T>(), target.at.cast::<T>());
    // SAFETY: for all of this block: places are readable, aligned and, counted from the start, below the
    // table's length; the target has room for an element for each.
    unsafe {
        let places = std::slice::from_raw_parts(places.at.cast::<i64>(), places.len);
        for (i, &place) in places.iter().enumerate() {
            let place = from_start(place, table.len as u64) as usize;
            to.add(i).write_unaligned(from.add(place).read_unaligned());
        }
    }
}

/// # Safety
/// - Elements of the values and of the target are of the size of `T`; there is one value, or one for each place.
/// - Places are readable, aligned `int64`, and all of them are in the target (`are_inside`).
/// - The target is writable, and apart from the values and the places.
unsafe fn put<T: Copy>(values: Stretch, places: Stretch, target: Stretch) {
    let (from, to) = (values.at.cast::<T>(), target.at.cast::<T>());
    let step = usize::from(values.len != 1);
    // SAFETY: for all of this block: places are readable, aligned and, counted from the start, below the
    // target's length; there is one value, or one for each place.
    unsafe {
        let places = std::slice::from_raw_parts(places.at.cast::<i64>(), places.len);
        for (i, &place) in places.iter().enumerate() {
            let to = to.add(from_start(place, target.len as u64) as usize);
            to.write_unaligned(from.add(step * i).read_unaligned());
        }
    }
}

/// # Safety
/// As for [`put`]; there are [sums](accumulate::exists) of the dtype.
unsafe fn add(dtype: Dtype, values: Stretch, places: Stretch, target: Stretch) {
    // SAFETY: for all of them: the type is the dtype's, or an integer of its size, whose sums have the same
    // bits; the rest is the contract of this function.
    unsafe {
        match dtype {
            Dtype::I8 | Dtype::U8 => add_of::<u8>(values, places, target),
            Dtype::I16 | Dtype::U16 => add_of::<u16>(values, places, target),
            Dtype::I32 | Dtype::U32 => add_of::<u32>(values, places, target),
            Dtype::I64 | Dtype::U64 => add_of::<u64>(values, places, target),
            Dtype::F32 => add_of::<f32>(values, places, target),
            Dtype::F64 => add_of::<f64>(values, places, target),
            Dtype::C64 => add_of::<Complex<f32>>(values, places, target),
            Dtype::C128 => add_of::<Complex<f64>>(values, places, target),
            _ => {}
        }
    }
}

/// # Safety
/// As for [`add`]; the elements are of the type.
unsafe fn add_of<P: Plain<Value: Add<Output = P::Value>>>(values: Stretch, places: Stretch, target: Stretch) {
    let (from, to) = (values.at.cast::<P::Mem>(), target.at.cast::<P::Mem>());
    let step = usize::from(values.len != 1);
    // SAFETY: for all of this block: places are readable, aligned and, counted from the start, below the
    // target's length; there is one value, or one for each place; values and target are aligned to the type.
    unsafe {
        let places = std::slice::from_raw_parts(places.at.cast::<i64>(), places.len);
        for (i, &place) in places.iter().enumerate() {
            let to = to.add(from_start(place, target.len as u64) as usize);
            to.write(P::put(P::get(to.read()) + P::get(from.add(step * i).read())));
        }
    }
}

/// Writes the first one of each run of equal elements, or how many it has; how many runs there are.
///
/// # Safety
/// - The row's elements are readable and aligned.
/// - The target, apart from them, has room for as many results: elements, or `int64` where lengths are asked for; it is aligned.
unsafe fn runs(dtype: Dtype, row: Stretch, target: Stretch, lengths: bool) -> usize {
    macro_rules! of {
        ($T:ty, $differ:expr) => {
            // SAFETY: for both: elements are readable, and there is room for as many results; the type is the
            // dtype's, or one of its size.
            unsafe {
                match lengths {
                    true => lengths_of::<$T>(row, target, $differ),
                    false => distinct::<$T>(row, target, $differ),
                }
            }
        };
        ($T:ty) => {
            of!($T, |a, b| a != b)
        };
    }
    match dtype {
        // Any byte but 0 is true.
        Dtype::Bool => of!(u8, |a, b| (a != 0) != (b != 0)),
        Dtype::I8 | Dtype::U8 => of!(u8),
        Dtype::I16 | Dtype::U16 => of!(u16),
        Dtype::I32 | Dtype::U32 => of!(u32),
        Dtype::I64 | Dtype::U64 => of!(u64),
        Dtype::F16 => of!(f16),
        Dtype::Bf16 => of!(bf16),
        Dtype::F32 => of!(f32),
        Dtype::F64 => of!(f64),
        Dtype::C64 => of!(Complex<f32>),
        Dtype::C128 => of!(Complex<f64>),
    }
}

/// # Safety
/// As for [`runs`]; the elements are of the type.
unsafe fn distinct<T: Copy>(row: Stretch, target: Stretch, differ: impl Fn(T, T) -> bool) -> usize {
    // SAFETY: the row has so many elements of the type, readable and aligned.
    let row = unsafe { std::slice::from_raw_parts(row.at.cast::<T>(), row.len) };
    let Some(&first) = row.first() else { return 0 };
    let (to, mut count) = (target.at.cast::<T>(), 1);
    // SAFETY: for all of this block: the target has room for as many elements as the row has; when element
    // `k` is looked at, `count` is at most `k`.
    unsafe {
        to.write(first);
        for two in row.windows(2) {
            // Without a branch: what is no first one is written over.
            to.add(count).write(two[1]);
            count += usize::from(differ(two[0], two[1]));
        }
    }
    count
}

/// # Safety
/// As for [`distinct`].
unsafe fn lengths_of<T: Copy>(row: Stretch, target: Stretch, differ: impl Fn(T, T) -> bool) -> usize {
    // SAFETY: the row has so many elements of the type, readable and aligned.
    let row = unsafe { std::slice::from_raw_parts(row.at.cast::<T>(), row.len) };
    let (to, mut count, mut start) = (target.at.cast::<i64>(), 0, 0);
    for i in 1..=row.len() {
        if i == row.len() || differ(row[i - 1], row[i]) {
            // SAFETY: the target has room for as many numbers as the row has elements; there are no more runs
            // than elements so far.
            unsafe { to.add(count).write((i - start) as i64) };
            (count, start) = (count + 1, i);
        }
    }
    count
}

/// How many bytes are not 0.
///
/// # Safety
/// They are readable.
unsafe fn true_bytes(mask: Stretch) -> usize {
    // SAFETY: the mask has so many readable bytes.
    let mask = unsafe { std::slice::from_raw_parts(mask.at, mask.len) };
    // Sums of bytes, as many as cannot overflow.
    let sum = |some: &[u8]| some.iter().map(|&byte| u8::from(byte != 0)).sum::<u8>();
    mask.chunks(64).map(|some| usize::from(sum(some))).sum()
}

/// Calls `write(i, number)` with the number of each byte that is not 0, at most so many; how many there are.
///
/// # Safety
/// - The mask's bytes are readable.
/// - The processor has the instruction set.
#[inline(always)]
unsafe fn numbers(tuning: &Tuning, mask: Stretch, most: usize, mut write: impl FnMut(usize, usize)) -> usize {
    let mut listed = Listed::new(tuning.isa);
    let (mut at, mut done) = (0, 0);
    while at < mask.len {
        let len = TILE.min(mask.len - at);
        // SAFETY: `at` is below the mask's length, so that at least one byte is left, and no more than the
        // mask has.
        let numbers = unsafe { listed.of(mask.at.add(at), len) };
        for &number in &numbers[..numbers.len().min(most - done)] {
            write(done, at + number as usize);
            done += 1;
        }
        at += len;
    }
    done
}
