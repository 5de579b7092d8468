//! How often each place is named, and how many elements there are between edges. Every thread counts in tables of its own, which are
//! added up.

use std::sync::{Mutex, PoisonError};

use stridewise_core::memory::heap;
use stridewise_core::{Dtype, IndexedAxis, LaunchPlan, Result};

use super::{Address, Tuning, split};
use crate::fork_join;

/// What the tables are called in errors.
const SCRATCH: &str = "scratch of a count";
/// Tables of a thread that takes them in turns: a counter that is counted twice in a row waits for itself.
const TABLES: usize = 4;
/// Counters of a thread that has several tables at most: all of them stay in the first cache.
const FEW: usize = 512;
/// Elements that a thread counts at least.
const PART: usize = 16 << 10;

/// Counts the places.
///
/// # Errors
/// There is no memory for the tables.
///
/// # Safety
/// The contract of [`run`](super::run).
pub(super) unsafe fn count(plan: &LaunchPlan, axis: &IndexedAxis, tuning: &Tuning) -> Result<()> {
    let place = |place: i64| usize::try_from(place).unwrap_or(usize::MAX);
    // SAFETY: the same contract.
    unsafe { tabulate(plan, axis, tuning, place) }
}

/// Counts the elements between edges.
///
/// # Errors
/// There is no memory for the tables and the edges.
///
/// # Safety
/// The contract of [`run`](super::run).
pub(super) unsafe fn histogram(
    plan: &LaunchPlan,
    edges: &IndexedAxis,
    axis: &IndexedAxis,
    tuning: &Tuning,
) -> Result<()> {
    // SAFETY: the same contract; `refused` lets no other dtypes pass.
    unsafe {
        match plan.program.inputs()[0] {
            Dtype::F32 => between::<f32>(plan, edges, axis, tuning),
            _ => between::<f64>(plan, edges, axis, tuning),
        }
    }
}

/// # Safety
/// As for [`histogram`]; elements and edges are of the type.
unsafe fn between<T: Copy + PartialOrd + Into<f64> + bytemuck::Zeroable + Sync>(
    plan: &LaunchPlan,
    axis: &IndexedAxis,
    out: &IndexedAxis,
    tuning: &Tuning,
) -> Result<()> {
    let mut edges: Vec<T> = heap::zeroed(SCRATCH, axis.extent)?;
    let from = plan.inputs[1].ptr.as_ptr().cast::<T>();
    for (i, edge) in (0_isize..).zip(&mut edges) {
        // SAFETY: the caller's contract: so many edges are there.
        *edge = unsafe { from.wrapping_offset(axis.stride * i).read_unaligned() };
    }
    let last = axis.extent - 2;
    let (low, high): (f64, f64) = (edges[0].into(), edges[last + 1].into());
    let scale = (last + 1) as f64 / (high - low);
    let place = |x: T| {
        if !(x >= edges[0] && x <= edges[last + 1]) {
            return usize::MAX;
        }
        // Of edges that are evenly apart it is this bin, or where something was rounded, one beside it. NaN, of edges that are equal,
        // becomes 0.
        let near = (((x.into() - low) * scale) as usize).min(last);
        if x >= edges[near] && (near == last || x < edges[near + 1]) {
            return near;
        }
        searched(&edges, x)
    };
    // SAFETY: the same contract.
    unsafe { tabulate(plan, out, tuning, place) }
}

/// The bin of an element that is in one.
#[cold]
fn searched<T: PartialOrd + Copy>(edges: &[T], x: T) -> usize {
    edges.partition_point(|&edge| edge <= x).saturating_sub(1).min(edges.len() - 2)
}

/// Counts the places of all elements; one beyond the axis is of none.
///
/// # Errors
/// There is no memory for the tables.
///
/// # Safety
/// The contract of [`run`](super::run); the elements of input 0 are of the type.
unsafe fn tabulate<T: Copy>(
    plan: &LaunchPlan,
    axis: &IndexedAxis,
    tuning: &Tuning,
    place: impl Fn(T) -> usize + Sync,
) -> Result<()> {
    let (elements, len) = (&plan.inputs[0], plan.dims[0]);
    let (from, step) = (Address(elements.ptr.as_ptr()), elements.strides[0]);
    // A table is made and added up by each thread, which is to be less than what it counts.
    let parts = (len / PART.max(axis.extent)).clamp(1, tuning.threads.max(1));
    let all: Mutex<Vec<i64>> = Mutex::new(heap::zeroed(SCRATCH, axis.extent)?);
    let run = |part: usize| -> Result<()> {
        let bound = |part: usize| (len as u128 * part as u128 / parts as u128) as usize;
        let (start, end) = (bound(part), bound(part + 1));
        let place = |i: usize| {
            let element = from.at(0).cast::<T>().wrapping_offset(step * i.cast_signed());
            // SAFETY: the caller's contract: the element of this number is in memory, and nobody writes it.
            place(unsafe { element.read_unaligned() })
        };
        let tables = if axis.extent <= FEW { TABLES } else { 1 };
        let mut counts: Vec<i64> = heap::zeroed(SCRATCH, tables * axis.extent)?;
        if tables == TABLES {
            let (front, back) = counts.split_at_mut(2 * axis.extent);
            let ((a, b), (c, d)) = (front.split_at_mut(axis.extent), back.split_at_mut(axis.extent));
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
    };
    match parts {
        1 => run(0)?,
        parts => split::try_share(fork_join::direction(), parts, parts, &run)?,
    }
    let to = plan.outputs[0].ptr.as_ptr().cast::<i64>();
    for (i, count) in (0_isize..).zip(all.into_inner().unwrap_or_else(PoisonError::into_inner)) {
        // SAFETY: the caller's contract: the output has a counter for each place of the axis, and nobody else accesses them.
        unsafe { to.wrapping_offset(axis.stride * i).write_unaligned(count) };
    }
    Ok(())
}

/// Counts a place, where it is one of the table.
#[inline(always)]
fn one(counts: &mut [i64], place: usize) {
    if let Some(count) = counts.get_mut(place) {
        *count += 1;
    }
}
