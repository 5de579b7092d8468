//! The host's kernels: maps, reductions and the other families of plans over strided memory, copies and fills.
//!
//! A room for each sort of work, the lower ones first; each says what is in it, what limits it, and what a newcomer may touch:
//!
//! | room | what |
//! |---|---|
//! | [`entry`], [`plain`], [`tuning`] | functions for each level, scalars, what work is run with |
//! | [`split`], [`stream`] | parts for threads, stores past the caches |
//! | [`moving`] | elements between strided memory and tiles, and at places |
//! | [`elementwise`] | the function for an operation, dtype and level |
//! | [`program`], [`native`] | programs, and the tiles that they are run over; their steps as machine code |
//! | [`reduce`], [`scan`], [`product`] | what a program computes, folded, scanned, or multiplied as matrices are |
//! | [`sort`], [`search`], [`select`] | rows in order, tables and counts, elements where a mask is true |
//! | [`family`], [`stages`] | which plans there are kernels for; rows through several plans at a time |
//! | [`immediate`] | small work |
//!
//! [`run`] takes a plan to its room, [`estimate_ns`] says what it costs.

mod elementwise;
mod entry;
mod family;
mod immediate;
pub(crate) mod lanes;
mod moving;
pub(crate) mod native;
mod plain;
mod product;
mod program;
mod reduce;
mod scan;
mod search;
mod select;
mod sort;
mod split;
mod stages;
mod stream;
mod tuning;

#[cfg(test)]
pub(crate) mod tests;

use stridewise_core::{
    Result,
    backend::{Family, LaunchPlan},
};

use search::Found;
use split::Address;

pub(crate) use family::{estimate_ns, supports};
pub(crate) use immediate::{elements_fn, gather_elements, is_short};
pub(crate) use reduce::small::{Sharing, fold_elements, shares_fold};
pub(crate) use reduce::together::groups;
pub(crate) use split::{PARTS, try_share};
pub(crate) use stages::by_rows;
pub(crate) use tuning::Tuning;

/// Runs a plan to the end. With one thread it runs on the calling one; else those of the pool that the caller computes for
/// (`fork_join::within`) share the work.
///
/// # Errors
/// [`Error::Alloc`](stridewise_core::Error::Alloc) where there is no memory for what is computed on the way; some of the outputs
/// may have been written.
///
/// # Safety
/// - The contract of [`LaunchPlan`] holds: what its operands reach is in memory that the device may access, aligned to the dtype, and
///   outputs overlap nothing but, exactly, an input. Kernels call this *the plan's addresses*.
/// - [`supports`] accepts the plan.
/// - Nothing else accesses its memory in conflict until this returns.
/// - The processor has the instruction set of `tuning`.
unsafe fn run(plan: &LaunchPlan, tuning: &Tuning) -> Result<()> {
    if plan.is_empty() {
        return Ok(());
    }
    // SAFETY: each family's function has the contract of this one, and gets the plan that has the family.
    unsafe {
        match &plan.family {
            Family::Reduce { .. } if product::contract::contract(plan, tuning)? => {}
            Family::Reduce { .. } if product::vectors::vectors(plan, tuning)? => {}
            Family::Reduce { .. } => reduce::together::reduce(std::slice::from_ref(plan), tuning)?,
            Family::Map => program::tile::map(plan, tuning)?,
            Family::Gather { axes } => moving::gather::gather(plan, axes, tuning),
            Family::Scatter { axes } => moving::gather::scatter(plan, axes, tuning),
            Family::Sort { descending, indices } => sort::sort(plan, *descending, *indices, tuning)?,
            Family::Select { places } => sort::select(plan, places, tuning)?,
            Family::Search { table, right } => {
                search::search(plan, table, Found::Place { right: *right }, tuning)?
            }
            Family::Contains { table, invert } => {
                search::search(plan, table, Found::Whether { not: *invert }, tuning)?;
            }
            Family::Top { descending, axis } => sort::top::top(plan, *descending, axis, tuning)?,
            Family::Compress { axis, masked, .. } => select::compress(plan, *masked, axis, tuning)?,
            Family::Expand { axis, masked } => select::expand(plan, *masked, axis, tuning)?,
            Family::Histogram { edges, axis } => search::count::histogram(plan, edges, axis, tuning)?,
            Family::Accumulate { op, axis } => moving::accumulate::accumulate(plan, *op, axis, tuning),
            Family::Count { axis } => search::count::count(plan, axis, tuning)?,
            Family::Scan { fold } => scan::scan(plan, *fold, tuning)?,
            _ => {} // `supports` refuses them.
        }
    }
    Ok(())
}

/// Runs a group of plans to the end, as [`run`] does one: reductions of one input in one pass.
///
/// # Errors
/// As for [`run`].
///
/// # Safety
/// The contract of [`run`], for each of them.
pub(crate) unsafe fn run_group(group: &[LaunchPlan], tuning: &Tuning) -> Result<()> {
    // SAFETY: the contract of `run` holds for each of the plans.
    unsafe {
        match group {
            [plan] => run(plan, tuning),
            plans => reduce::together::reduce(plans, tuning),
        }
    }
}

/// Copies bytes.
///
/// # Safety
/// - `bytes` bytes are readable at `src` and writable at `dst`.
/// - The ranges are disjoint, and nothing else accesses them in conflict.
pub(crate) unsafe fn copy(dst: *mut u8, src: *const u8, bytes: usize, tuning: &Tuning) {
    let past = bytes > tuning.last_cache_bytes / 2;
    let (dst, src) = (Address(dst), Address(src.cast_mut()));
    split::ranges(bytes, 1, 2, split::GRAIN, tuning.threads, &|start, end| {
        // SAFETY: `bytes` bytes are readable at `src` and writable at `dst`, and the ranges are disjoint;
        // parts are disjoint, too, and each is one thread's.
        unsafe {
            let (to, from) = (dst.at(start), src.at(start));
            if past {
                stream::copy(to, from, end - start);
                stream::fence();
            } else {
                std::ptr::copy_nonoverlapping(from, to, end - start);
            }
        }
    });
}

/// Repeats a pattern of 1, 2, 4, 8 or 16 bytes.
///
/// # Safety
/// `bytes` bytes, a multiple of the pattern's length, are writable at `dst`, and nothing else accesses them.
pub(crate) unsafe fn fill(dst: *mut u8, bytes: usize, pattern: &[u8], tuning: &Tuning) {
    // A block of whole patterns, copied again and again.
    const BLOCK: usize = 4096;
    if pattern.is_empty() {
        return;
    }
    let mut block = [0; BLOCK];
    for (to, &from) in block.iter_mut().zip(pattern.iter().cycle()) {
        *to = from;
    }
    let past = bytes > tuning.last_cache_bytes;
    let dst = Address(dst);
    // Parts begin at multiples of 64 bytes, so of the pattern.
    split::ranges(bytes, 1, 1, split::GRAIN, tuning.threads, &|start, end| {
        let mut at = start;
        while at < end {
            let len = BLOCK.min(end - at);
            // SAFETY: `bytes` bytes are writable at `dst`, and nothing else accesses them; parts are
            // disjoint, and each is one thread's.
            unsafe {
                if past {
                    stream::copy(dst.at(at), block.as_ptr(), len);
                } else {
                    std::ptr::copy_nonoverlapping(block.as_ptr(), dst.at(at), len);
                }
            }
            at += len;
        }
        if past {
            stream::fence();
        }
    });
}
