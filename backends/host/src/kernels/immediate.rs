//! What is computed on the calling thread without a plan.
//!
//! Core asks for functions, not for work: `elements_fn` is one operation over elements that lie one after
//! another, `gather_elements` brings elements together that do not, and folds are [small ones](super::reduce::small).
//! The callers hold the memory (core's `memory/immediate`), so nothing here waits or submits. What takes
//! longer than `AT_ONCE_NS`, or `WAITED_NS` where all threads take part, is refused, and submitted. Everything else of a few elements
//! comes as a plan, of which `is_short` says the same.

use stridewise_core::backend::{Elements, LaunchPlan, Support};
use stridewise_core::{Dtype, Op};

use super::elementwise::step;
use super::family::{estimate_ns, supports};
use super::moving::pack;
use super::moving::transpose;
use super::tuning::{AT_ONCE_NS, READ_PS, Tuning, WAITED_NS, step_ps};
use crate::fork_join::helping;
use crate::simd::Isa;

/// Whether there is a kernel for a plan, and it takes less time than a submission is worth.
pub(crate) fn is_short(plan: &LaunchPlan) -> bool {
    estimate_ns(plan) <= AT_ONCE_NS as u64 && supports(plan) == Support::Native
}

/// Elements of work that takes so long for each.
const fn most(picoseconds: usize) -> usize {
    AT_ONCE_NS * 1000 / picoseconds
}

/// The function of an operation on a dtype, with results of another, over elements that lie one after another.
pub(crate) fn elements_fn(op: Op, dtype: Dtype, out: Dtype, tuning: &Tuning) -> Option<Elements> {
    // A step's function has the same contract; the flag beyond those of its sources is not set.
    let step::Resolved { run, strided, .. } = step::resolve(op, dtype, out, tuning.isa)?;
    // A test writes next to nothing.
    let computing = if out == Dtype::Bool { 0 } else { step_ps(op, dtype) };
    let picoseconds = op.arity() * READ_PS * dtype.size() + computing;
    let most = most(picoseconds);
    // What does not fit the caches is stored past them, by plans.
    let near = tuning.last_cache_bytes / (op.arity() * dtype.size() + out.size());
    Some(Elements {
        run,
        strided,
        most,
        alone: helping::ALONE_NS as usize * 1000 / picoseconds,
        waited: most.max(near.min(WAITED_NS * 1000 / picoseconds)),
    })
}

/// Copies elements of `size` bytes (1, 2, 4, 8 or 16, at any alignment) one after another to `dst`: those that dimensions, the
/// innermost first, reach from `src` on. Of each its extent, and the bytes from an element to the next one, of either sign or
/// 0. No dimensions are one element.
///
/// # Safety
/// - The processor has the instruction set.
/// - No extent is 0, and `size` is 1, 2, 4, 8 or 16.
/// - The elements that the dimensions reach from `src` on are readable. What lies between them is memory, which others may write.
/// - There is room for as many at `dst`, apart from them, and nothing else accesses it.
pub(crate) unsafe fn gather_elements(
    isa: Isa,
    dst: *mut u8,
    src: *const u8,
    dims: &[(usize, isize)],
    size: usize,
) {
    // SAFETY: for all of this function: the elements that the dimensions reach from `src` on are readable,
    // and `dst` has room for as many, apart from them. Each call below is given some of the dimensions, and
    // the part of `dst` that their elements fill; what is copied from `dst` was written before.
    unsafe {
        match *dims {
            [] => std::ptr::copy_nonoverlapping(src, dst, size),
            [(len, along)] => pack::gather(isa, dst, src, along, size, len),
            [(len, along), (rows, pitch)]
                if len < pack::CALLED && pitch != 0 && (along == 0 || pitch != size.cast_signed()) =>
            {
                pack::gather_short(isa, dst, src, size, (len, along), (rows, pitch));
            }
            // Neighbours in memory are in neighbouring rows.
            [(len, along), (rows, pitch)] if pitch == size.cast_signed() => {
                transpose::gather_panel(dst, len * size, src, along, size, rows, len);
            }
            [ref inner @ .., (extent, pitch)] => {
                let bytes = inner.iter().fold(size, |bytes, dim| bytes * dim.0);
                if pitch != 0 {
                    for i in 0..extent {
                        let from = src.wrapping_offset(i.cast_signed() * pitch);
                        gather_elements(isa, dst.add(i * bytes), from, inner, size);
                    }
                    return;
                }
                // What is repeated is read once.
                gather_elements(isa, dst, src, inner, size);
                let (mut done, all) = (bytes, bytes * extent);
                while done < all {
                    let more = done.min(all - done);
                    std::ptr::copy_nonoverlapping(dst, dst.add(done), more);
                    done += more;
                }
            }
        }
    }
}
