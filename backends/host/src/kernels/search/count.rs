//! How often each place is named, and how many elements there are between edges. Every thread counts in tables of its own, which are
//! added up.

use std::sync::{Mutex, PoisonError};

use stridewise_core::memory::heap;
use stridewise_core::{
    Dtype, Result,
    backend::{IndexedAxis, LaunchPlan},
};

use crate::fork_join;
use crate::kernels::split::{self, Address};
use crate::kernels::tuning::{FIRST_CACHE_BYTES, TABLES, Tuning};

/// What the tables are called in errors.
const SCRATCH: &str = "scratch of a count";
/// Counters of a thread that has several tables at most: all of them stay in the first cache.
const FEW: usize = FIRST_CACHE_BYTES / TABLES / size_of::<i64>();
/// Elements that a thread counts at least.
const PART: usize = 16 << 10;
/// Elements whose places are found before they are counted: by loops of which the compiler makes vector code where it can.
const BLOCK: usize = 256;

/// Counts the places.
///
/// # Errors
/// There is no memory for the tables.
///
/// # Safety
/// The contract of [`run`](crate::kernels::run).
pub(crate) unsafe fn count(plan: &LaunchPlan, axis: &IndexedAxis, tuning: &Tuning) -> Result<()> {
    let places = |elements: &[i64], places: &mut [usize]| {
        for (place, &element) in places.iter_mut().zip(elements) {
            *place = usize::try_from(element).unwrap_or(usize::MAX);
        }
    };
    // SAFETY: the plan's elements are readable, of `int64` (`refused` lets no others pass), and its output
    // has a counter for each place of the axis.
    unsafe { tabulate(Strip::elements(plan), Strip::counts(plan, axis), tuning.threads, places) }
}

/// Counts the elements between edges.
///
/// # Errors
/// There is no memory for the tables and the edges.
///
/// # Safety
/// The contract of [`run`](crate::kernels::run).
pub(crate) unsafe fn histogram(
    plan: &LaunchPlan,
    edges: &IndexedAxis,
    axis: &IndexedAxis,
    tuning: &Tuning,
) -> Result<()> {
    let edges = Strip { at: Address(plan.inputs[1].ptr.as_ptr()), step: edges.stride, len: edges.extent };
    let (elements, counts) = (Strip::elements(plan), Strip::counts(plan, axis));
    // SAFETY: the plan's elements and edges are readable, of the type (`refused` lets no other dtypes pass),
    // and its output has a counter for each bin.
    unsafe {
        match plan.program.inputs()[0] {
            Dtype::F32 => between::<f32>(elements, edges, counts, tuning.threads),
            _ => between::<f64>(elements, edges, counts, tuning.threads),
        }
    }
}

/// Elements of one dimension: where the first is, how many to step, and how many they are.
#[derive(Clone, Copy)]
struct Strip {
    at: Address,
    step: isize,
    len: usize,
}

impl Strip {
    /// Those of a plan.
    fn elements(plan: &LaunchPlan) -> Self {
        let elements = &plan.inputs[0];
        Self { at: Address(elements.ptr.as_ptr()), step: elements.strides[0], len: plan.dims[0] }
    }

    /// A plan's counters.
    fn counts(plan: &LaunchPlan, axis: &IndexedAxis) -> Self {
        Self { at: Address(plan.outputs[0].ptr.as_ptr()), step: axis.stride, len: axis.extent }
    }
}

/// A floating type of elements and edges.
trait Edge: Copy + PartialOrd + Into<f64> + bytemuck::Zeroable + Sync {
    /// The least and the greatest.
    const ENDS: [Self; 2];
    /// The next number above.
    fn above(self) -> Self;
}
impl Edge for f32 {
    const ENDS: [Self; 2] = [Self::NEG_INFINITY, Self::INFINITY];
    fn above(self) -> Self {
        self.next_up()
    }
}
impl Edge for f64 {
    const ENDS: [Self; 2] = [Self::NEG_INFINITY, Self::INFINITY];
    fn above(self) -> Self {
        self.next_up()
    }
}

/// # Safety
/// - Elements and edges, of which there are at least two, are of the type and readable, as their strips say.
/// - There is a counter for each bin, `int64` and writable, and nothing else accesses them.
unsafe fn between<T: Edge>(elements: Strip, edges: Strip, counts: Strip, threads: usize) -> Result<()> {
    // From where a bin begins to where the next one does. Before the first and behind the last there is one of what is not counted,
    // so that one comparison tells whether an element is in the bin that was guessed.
    let bins = edges.len - 1;
    let mut bounds: Vec<[T; 2]> = heap::zeroed(SCRATCH, bins + 2)?;
    let from = edges.at.at(0).cast::<T>();
    for (i, k) in (0_isize..).zip(0..edges.len) {
        // SAFETY: there are `edges.len` readable edges of the type, `step` elements apart.
        let edge = unsafe { from.wrapping_offset(edges.step * i).read_unaligned() };
        // The last bin has both of its edges.
        let edge = if k == bins { edge.above() } else { edge };
        (bounds[k][1], bounds[k + 1][0]) = (edge, edge);
    }
    [bounds[0][0], bounds[bins + 1][1]] = T::ENDS;
    let (low, above) = (bounds[1][0], bounds[bins + 1][0]);
    // SAFETY: edge number `bins` is the last one, and readable.
    let high = unsafe { from.wrapping_offset(edges.step * bins.cast_signed()).read_unaligned() };
    let (first, scale): (f64, f64) = (low.into(), bins as f64 / (high.into() - low.into()));
    let behind = ((bins + 1) as f64).min(f64::from(i32::MAX));
    let guess = |x: T| {
        // Of edges that are evenly apart it is this bin, or where something was rounded, one beside it. NaN, of edges that are equal
        // too, becomes the one before all.
        let near = (x.into() - first) * scale + 1.0;
        let near = if near > 0.0 { near } else { 0.0 };
        let near = if near < behind { near } else { behind };
        // SAFETY: it is between these ends, which an `i32` has.
        unsafe { near.to_int_unchecked::<i32>() }
    };
    let bounds = &bounds;
    let places = |elements: &[T], places: &mut [usize]| {
        let mut guesses = [0; BLOCK];
        for (to, &x) in guesses.iter_mut().zip(elements) {
            *to = guess(x);
        }
        for ((place, &x), guess) in places.iter_mut().zip(elements).zip(guesses) {
            let mut bin = guess as usize;
            let [from, to] = bounds[bin];
            if !(x >= from && x < to) {
                bin = if x >= low && x < above { searched(bounds, x) } else { 0 };
            }
            // The one before all has no place, nor has the one behind.
            *place = bin.wrapping_sub(1);
        }
    };
    // SAFETY: elements are readable, and there is a counter for each bin.
    unsafe { tabulate(elements, counts, threads, places) }
}

/// The bin of an element that is in one.
#[cold]
fn searched<T: PartialOrd + Copy>(bounds: &[[T; 2]], x: T) -> usize {
    bounds[1..].partition_point(|&[from, _]| from <= x)
}

/// Counts the places of all elements, which `places` finds, no more than [`BLOCK`] at a time; one beyond the axis is of none.
///
/// # Errors
/// There is no memory for the tables.
///
/// # Safety
/// - `elements.len` elements of the type are readable, `step` elements apart, and nothing writes them meanwhile.
/// - `out.len` counters, `int64`, are writable, `step` elements apart, and nothing else accesses them.
unsafe fn tabulate<T: Copy + bytemuck::Zeroable>(
    elements: Strip,
    out: Strip,
    threads: usize,
    places: impl Fn(&[T], &mut [usize]) + Sync,
) -> Result<()> {
    let Strip { at: from, step, len } = elements;
    let extent = out.len;
    // A table is made and added up by each thread, which is to be less than what it counts.
    let parts = (len / PART.max(extent)).clamp(1, threads.max(1));
    let all: Mutex<Vec<i64>> = Mutex::new(heap::zeroed(SCRATCH, extent)?);
    let run = |part: usize| -> Result<()> {
        let bound = |part: usize| (len as u128 * part as u128 / parts as u128) as usize;
        let (start, end) = (bound(part), bound(part + 1));
        let tables = if extent <= FEW { TABLES } else { 1 };
        let mut counts: Vec<i64> = heap::zeroed(SCRATCH, tables * extent)?;
        let (mut block, mut found) = ([T::zeroed(); BLOCK], [0; BLOCK]);
        for at in (start..end).step_by(BLOCK) {
            let len = BLOCK.min(end - at);
            for (i, to) in (at..).zip(&mut block[..len]) {
                let element = from.at(0).cast::<T>().wrapping_offset(step * i.cast_signed());
                // SAFETY: element `i` is below the number of elements, readable, and nobody writes it.
                *to = unsafe { element.read_unaligned() };
            }
            places(&block[..len], &mut found[..len]);
            if tables == TABLES {
                let (front, back) = counts.split_at_mut(2 * extent);
                let ((a, b), (c, d)) = (front.split_at_mut(extent), back.split_at_mut(extent));
                let (fours, rest) = found[..len].as_chunks::<TABLES>();
                for &[i, j, k, l] in fours {
                    one(a, i);
                    one(b, j);
                    one(c, k);
                    one(d, l);
                }
                rest.iter().for_each(|&place| one(a, place));
            } else {
                found[..len].iter().for_each(|&place| one(&mut counts, place));
            }
        }
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        for counts in counts.chunks_exact(extent) {
            all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
        }
        Ok(())
    };
    match parts {
        1 => run(0)?,
        parts => split::try_share(fork_join::direction(), parts, parts, &run)?,
    }
    let to = out.at.at(0).cast::<i64>();
    for (i, count) in (0_isize..).zip(all.into_inner().unwrap_or_else(PoisonError::into_inner)) {
        // SAFETY: the output has a counter for each place of the axis, and nobody else accesses them.
        unsafe { to.wrapping_offset(out.step * i).write_unaligned(count) };
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
