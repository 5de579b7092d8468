//! The host's kernels: maps, reductions and the other families of plans over strided memory, copies and fills.
//!
//! [`step`](self::step) finds the function for an operation, dtype and instruction set; [`code`](self::code) compiles a
//! program to a list of such functions over slots, some for two steps at once ([`fused`](self::fused));
//! [`tile`](self::tile) runs the list tile by tile; [`reduction`](self::reduction) folds what it computes, and
//! [`reduce`](self::reduce) walks the segments of one or several reductions; [`split`](self::split) divides the work
//! between threads; [`stages`](self::stages) takes rows through several plans at a time.

mod accumulate;
mod blocks;
mod cast;
mod code;
mod columns;
mod contract;
mod count;
mod counted;
mod deviation;
mod divide;
mod entry;
mod family;
mod few;
mod fold;
mod folding;
mod fused;
mod gather;
mod half_map;
mod immediate;
mod index_fold;
mod integer;
pub(crate) mod lanes;
mod map;
mod mask;
mod narrow;
pub(crate) mod native;
mod order;
mod pack;
mod partials;
mod plain;
mod quick;
mod read;
mod reduce;
mod reduction;
mod row;
mod scan;
mod search;
mod select;
mod sort;
mod space;
mod split;
mod stages;
mod step;
mod stream;
mod tile;
mod top;
mod transpose;
mod vectors;

#[cfg(test)]
pub(crate) mod tests;

use stridewise_core::backend::Support;
use stridewise_core::ops::OpClass;
use stridewise_core::{Arg, Dtype, DtypeKind, Family, Fold, LaunchPlan, MAX_PLAN_DIMS, Op, Program, Result};

use crate::simd::Isa;
use search::Found;

pub(crate) use immediate::{Sharing, elements_fn, fold_elements, gather_elements, shares_fold};
pub(crate) use row::run_row;
pub(crate) use split::try_share;
pub(crate) use stages::by_rows;

/// What a plan is run with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuning {
    /// Instruction set; the processor must have it.
    pub(crate) isa: Isa,
    /// Threads to use at most. 1: the calling thread.
    pub(crate) threads: usize,
    /// What may be counted on of the last-level cache: what does not fit is stored past it.
    pub(crate) last_cache_bytes: usize,
}

/// Rough time to read a byte of an operand, from a cache, in picoseconds, and to fold it into a row of results.
const READ_PS: usize = 12;
const ROW_PS: usize = 36;
/// The same of what is moved by shuffles of whole vectors: elements in reverse, and every second one.
const NEAR_PS: usize = 36;
/// Rough time to gather any other element.
const GATHER_PS: usize = 600;

/// Rough time of a plan on one thread, in nanoseconds: for the choice between the calling thread and the pool.
pub(crate) fn estimate_ns(plan: &LaunchPlan) -> u64 {
    let total = u64::try_from(plan.len()).unwrap_or(u64::MAX);
    if vectors::is_product(plan) {
        return 50 + total.saturating_mul((READ_PS * plan.output_dtype(0).size()) as u64) / 1000;
    }
    let mut picoseconds = family::cost_ps(plan);
    for (operand, dtype) in plan.inputs.iter().zip(plan.program.inputs()) {
        let dense = operand.strides.last().is_none_or(|s| (0..=1).contains(s));
        // A reduction runs along whatever dimension is dense.
        let rows = matches!(plan.family, Family::Reduce { .. }) && operand.strides.contains(&1);
        let near = operand.strides.last().is_some_and(|s| matches!(s, -1 | 2));
        picoseconds += match dtype.size() {
            size if dense => READ_PS * size,
            size if rows => ROW_PS * size,
            size if near => NEAR_PS * size,
            size => READ_PS * size + GATHER_PS,
        };
    }
    for step in plan.program.steps() {
        picoseconds += step_ps(step.op, step.dtype);
    }
    50 + total.saturating_mul(u64::try_from(picoseconds).unwrap_or(u64::MAX)) / 1000
}

/// Whether there is a kernel for a plan, and it takes less time than a submission is worth.
pub(crate) fn is_short(plan: &LaunchPlan) -> bool {
    estimate_ns(plan) <= immediate::AT_ONCE_NS as u64 && supports(plan) == Support::Native
}

/// Rough time of an operation on an element, in picoseconds: of vectors of 64 bytes, measured in the second-level cache.
fn step_ps(op: Op, dtype: Dtype) -> usize {
    use OpClass::{analytic, float, int, num_fn, real_fn};
    let wide = dtype.size() >= 8;
    let per_byte = match op {
        Op::Sqrt | Op::Divide if wide => 60,
        Op::Sqrt | Op::Divide | Op::Cast | Op::Where => 25,
        Op::Copysign => 8,
        Op::Tanh if !wide => 40,
        Op::Exp | Op::Log | Op::Tanh => 60,
        Op::Sin | Op::Cos => 75,
        Op::Atan2 | Op::Asinh | Op::Acosh | Op::Atanh => 200,
        op if op.class() == int => 250,
        // From 60 to 180.
        op if matches!(op.class(), analytic | float | num_fn | real_fn) => 120,
        _ => 8,
    };
    per_byte * dtype.size()
}

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
            Family::Reduce { .. } if contract::contract(plan, tuning)? => {}
            Family::Reduce { .. } if vectors::vectors(plan, tuning)? => {}
            Family::Reduce { .. } => reduce::reduce(std::slice::from_ref(plan), tuning)?,
            Family::Map => tile::map(plan, tuning)?,
            Family::Gather { axes } => gather::gather(plan, axes, tuning),
            Family::Scatter { axes } => gather::scatter(plan, axes, tuning),
            Family::Sort { descending, indices } => sort::sort(plan, *descending, *indices, tuning)?,
            Family::Select { places } => sort::select(plan, places, tuning)?,
            Family::Search { table, right } => {
                search::search(plan, table, Found::Place { right: *right }, tuning)?
            }
            Family::Contains { table, invert } => {
                search::search(plan, table, Found::Whether { not: *invert }, tuning)?;
            }
            Family::Top { descending, axis } => top::top(plan, *descending, axis, tuning)?,
            Family::Compress { axis, masked, .. } => mask::compress(plan, *masked, axis, tuning)?,
            Family::Expand { axis, masked } => mask::expand(plan, *masked, axis, tuning)?,
            Family::Histogram { edges, axis } => count::histogram(plan, edges, axis, tuning)?,
            Family::Accumulate { op, axis } => accumulate::accumulate(plan, *op, axis, tuning),
            Family::Count { axis } => count::count(plan, axis, tuning)?,
            Family::Scan { fold } => scan::scan(plan, *fold, tuning)?,
            _ => {} // `supports` refuses them.
        }
    }
    Ok(())
}

/// Plans that are run one after another: one, or reductions of one input that follow each other.
pub(crate) fn groups(plans: &[LaunchPlan]) -> impl Iterator<Item = &[LaunchPlan]> {
    plans.chunk_by(reduce::of_one_input)
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
            plans => reduce::reduce(plans, tuning),
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

/// An address that threads share, each using its own part of what lies there.
#[derive(Clone, Copy)]
struct Address(*mut u8);
// SAFETY: an address only; whoever dereferences it says why that is sound.
unsafe impl Send for Address {}
// SAFETY: an address only; whoever dereferences it says why that is sound.
unsafe impl Sync for Address {}
impl Address {
    fn at(self, offset: usize) -> *mut u8 {
        self.0.wrapping_add(offset)
    }
}

/// Whether the kernels can run a plan: every operation takes its dtype, and a fold is one of those that exist.
pub(crate) fn supports(plan: &LaunchPlan) -> Support {
    let refused = match &plan.family {
        Family::Map => program_refused(&plan.program),
        Family::Reduce { fold, reduced, finish, .. } => program_refused(&plan.program)
            .or_else(|| fold_refused(&plan.program, *fold, *reduced, plan.dims.len()))
            .or_else(|| finish.as_deref().and_then(|f| finish_refused(&plan.program, *fold, f))),
        _ => family::refused(plan),
    };
    let refused = refused.or_else(|| {
        (plan.dims.len() > MAX_PLAN_DIMS)
            .then(|| format!("{} dimensions; at most {MAX_PLAN_DIMS}", plan.dims.len()))
    });
    refused.map_or(Support::Native, Support::No)
}

fn program_refused(program: &Program) -> Option<String> {
    let step = program.steps().iter().find(|s| !s.op.allows(s.dtype))?;
    Some(format!("`{}` is not defined for {}", step.op.name(), step.dtype))
}

fn fold_refused(program: &Program, fold: Fold, reduced: usize, dims: usize) -> Option<String> {
    let dtype = program.output_dtype(0);
    let op = match fold {
        Fold::Op(op @ (Op::Add | Op::Multiply | Op::Minimum | Op::Maximum)) => op,
        // An index fold needs an order, as these do.
        Fold::ArgMin => Op::Minimum,
        Fold::ArgMax => Op::Maximum,
        // These need division.
        Fold::Deviations if dtype.kind() == DtypeKind::Float => Op::Divide,
        _ => return Some(format!("no fold by {fold:?}")),
    };
    if program.outputs().len() != 1 || reduced == 0 || reduced > dims {
        return Some(format!(
            "a fold over {reduced} of {dims} dimensions of a program with {} outputs",
            program.outputs().len()
        ));
    }
    (!op.allows(dtype)).then(|| format!("no fold by {fold:?} for {dtype}"))
}

fn finish_refused(program: &Program, fold: Fold, finish: &Program) -> Option<String> {
    let folded = fold.result(program.output_dtype(0));
    if finish.inputs() != [folded] || !matches!(finish.outputs(), [Arg::Step(_)]) {
        return Some(format!("a finish of other operands than one {folded}"));
    }
    program_refused(finish)
}
