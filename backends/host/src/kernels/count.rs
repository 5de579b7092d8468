//! How often each place is named. Every thread counts in tables of its own, which are added up.

use std::sync::{Mutex, PoisonError};

use stridewise_core::memory::heap;
use stridewise_core::{IndexedAxis, LaunchPlan, Result};

use super::{Address, Tuning, split};
use crate::fork_join;

/// What the tables are called in errors.
const SCRATCH: &str = "scratch of a count";
/// Tables of a thread that takes them in turns: a counter that is counted twice in a row waits for itself.
const TABLES: usize = 4;
/// Counters of a thread that has several tables at most: all of them stay in the first cache.
const FEW: usize = 512;
/// Places that a thread counts at least.
const PART: usize = 16 << 10;

/// Counts the places.
///
/// # Errors
/// There is no memory for the tables.
///
/// # Safety
/// The contract of [`run`](super::run).
pub(super) unsafe fn count(plan: &LaunchPlan, axis: &IndexedAxis, tuning: &Tuning) -> Result<()> {
    let (places, len) = (&plan.inputs[0], plan.dims[0]);
    let (from, step) = (Address(places.ptr.as_ptr()), places.strides[0]);
    // A table is made and added up by each thread, which is to be less than what it counts.
    let parts = (len / PART.max(axis.extent)).clamp(1, tuning.threads);
    let all: Mutex<Vec<i64>> = Mutex::new(heap::zeroed(SCRATCH, axis.extent)?);
    split::try_share(fork_join::direction(), parts, parts, &|part| {
        let (start, end) = (len * part / parts, len * (part + 1) / parts);
        // SAFETY: the caller's contract: places of this number are in memory, and nobody writes them.
        let place = |i: usize| unsafe {
            from.at(0).cast::<i64>().wrapping_offset(step * i.cast_signed()).read_unaligned()
        };
        let tables = if axis.extent <= FEW { TABLES } else { 1 };
        let mut counts: Vec<i64> = heap::zeroed(SCRATCH, tables * axis.extent)?;
        if let [a, b, c, d] =
            &mut counts.chunks_exact_mut(axis.extent).collect::<smallvec::SmallVec<[_; 4]>>()[..]
        {
            let whole = start + (end - start) / TABLES * TABLES;
            for i in (start..whole).step_by(TABLES) {
                one(a, place(i));
                one(b, place(i + 1));
                one(c, place(i + 2));
                one(d, place(i + 3));
            }
            (whole..end).for_each(|i| one(a, place(i)));
        } else {
            (start..end).for_each(|i| one(&mut counts, place(i)));
        }
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        for counts in counts.chunks_exact(axis.extent) {
            all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
        }
        Ok(())
    })?;
    let to = plan.outputs[0].ptr.as_ptr().cast::<i64>();
    for (i, count) in (0_isize..).zip(all.into_inner().unwrap_or_else(PoisonError::into_inner)) {
        // SAFETY: the caller's contract: the output has a counter for each place of the axis, and nobody else accesses them.
        unsafe { to.wrapping_offset(axis.stride * i).write_unaligned(count) };
    }
    Ok(())
}

/// Counts a place, where it is one of the table.
fn one(counts: &mut [i64], place: i64) {
    if let Some(count) = usize::try_from(place).ok().and_then(|place| counts.get_mut(place)) {
        *count += 1;
    }
}
