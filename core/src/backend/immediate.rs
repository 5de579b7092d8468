//! The one door for small work: what a device computes on the calling thread, on memory that core holds, without a submission.
//!
//! A sum of sixteen elements takes less time than to make a command of it. So where a device computes on the calling thread anyway,
//! core asks it for the *function* of an operation and calls that on elements that lie one after another; has arrays folded, and
//! elements brought together; and has short plans run, of a sort, a search or whatever else. Core makes such a plan without asking for
//! memory. Whatever the device says no to is submitted.

use crate::dtype::Dtype;
use crate::ops::Op;
use crate::plan::LaunchPlan;
use crate::program::Fold;

/// Computes `len` elements on the calling thread, from up to three sources: `(dst, a, b, c, flags, len)`. An operation of one or
/// two operands is given the first of them as its further sources, too. Flags, shifted by `k`, say how the elements of source `k`
/// lie; without one, they lie one after another:
/// - [`SAME`]: there is one element, which is that of every result;
/// - [`SECONDS`]: every second element from the first on, where the function takes it ([`Elements::strided`]);
/// - [`REVERSED`]: each element lies before the one that it follows, where the function takes it.
///
/// # Safety
/// - `len` is at least 1.
/// - As many elements as the flags call for are readable at each source, and `len` are writable at `dst`; all are aligned to their
///   types.
/// - Nothing else accesses them in conflict. What lies between the elements of a source is memory, which others may write.
/// - A source either begins at `dst`, with elements of the size of the results, one after another, or overlaps no result.
/// - At least one source of the operation has no [`SAME`], unless the operation is a copy.
/// - Flags that the function does not take are not set.
pub type ElementsFn =
    unsafe fn(dst: *mut u8, a: *const u8, b: *const u8, c: *const u8, flags: u32, len: usize);

/// Flags of an [`ElementsFn`], shifted by the number of a source. Those beyond these are the device's own.
pub const SAME: u32 = 1;
/// See [`SAME`].
pub const SECONDS: u32 = 1 << 3;
/// See [`SAME`].
pub const REVERSED: u32 = 1 << 6;

/// How a device computes an operation on the calling thread.
#[derive(Clone, Copy)]
pub struct Elements {
    /// The function.
    pub run: ElementsFn,
    /// Whether it takes [`SECONDS`] and [`REVERSED`].
    pub strided: bool,
    /// Elements up to which that is quicker than to hand the work to other threads.
    pub most: usize,
    /// Elements up to which it is quicker alone, even where another thread is awake; more of them may be shared
    /// ([`Device::share`](super::Device::share)).
    pub alone: usize,
    /// Elements up to which it is quicker than a submission where somebody waits for them and all threads take part; at least
    /// as many as `most`.
    pub waited: usize,
}

/// Elements in row-major order of three extents, of which the middle one is folded: into `outer · inner` results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoldExtents {
    /// Results that lie apart by all that is folded.
    pub outer: usize,
    /// Elements of each result.
    pub len: usize,
    /// Results whose elements are neighbours.
    pub inner: usize,
    /// Elements of memory from one to the next: 1 where they lie one after another, as they do of several results.
    pub step: usize,
}

impl FoldExtents {
    /// Number of results.
    #[must_use]
    pub const fn results(self) -> usize {
        self.outer * self.inner
    }
    /// Number of elements.
    #[must_use]
    pub const fn elements(self) -> usize {
        self.outer * self.len * self.inner
    }
}

/// What a device that computes on the calling thread does there, in memory of any kind that is its own or the host's.
///
/// Core holds the memory of a call: nothing else accesses it in conflict until the call returns. Nothing in it waits for other work.
pub trait Immediate: Send + Sync {
    /// What computes an operation on operands of a dtype (but the condition of a selection, which is `bool`), with results of
    /// another; `None` where there is no such function.
    fn elements_fn(&self, op: Op, dtype: Dtype, out: Dtype) -> Option<Elements>;
    /// Folds elements at `src`, of the first dtype and converted to the second one, to the bits that a plan over elements that lie
    /// so gives, and writes the results to `dst`, one after another in row-major order. With `factors`, of the first dtype as well
    /// and as many, the products of both are folded.
    /// Whether it did: where it does not do this, or not so many, nothing is done.
    ///
    /// # Safety
    /// The elements are readable, the results are writable, both aligned to their dtypes and in memory of this device or the
    /// host's, and nothing else accesses them in conflict. What lies between the elements is there, but others may write it
    /// meanwhile. No extent is 0.
    unsafe fn fold(
        &self,
        fold: Fold,
        dtypes: [Dtype; 2],
        dst: *mut u8,
        src: *const u8,
        factors: Option<*const u8>,
        extents: FoldExtents,
    ) -> bool;
    /// Copies elements of `size` bytes (1, 2, 4, 8 or 16) one after another to `dst`: those that dimensions, the innermost first,
    /// reach from `src` on; of each its extent, and the bytes from an element to the next one, which may be 0 or negative. No
    /// dimensions are one element.
    ///
    /// # Safety
    /// The elements are readable, as many are writable at `dst` and apart from them; all are in memory of this device or the
    /// host's, and nothing else accesses them in conflict. No extent is 0.
    unsafe fn gather(&self, dst: *mut u8, src: *const u8, dims: &[(usize, isize)], size: usize);
    /// Runs a plan, where that is quicker than a submission. Whether it did; else outputs that the plan only writes may have been
    /// written, those that it reads, too (elements in place, values that are joined with elements at places), are as they were.
    ///
    /// # Safety
    /// The contract of [`LaunchPlan`] holds, all memory is of this device, and nothing else accesses it in conflict.
    unsafe fn run(&self, plan: &LaunchPlan) -> bool;
}
