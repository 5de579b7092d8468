//! Reductions: what a program computes is folded, in an order that depends on the plan alone.
//!
//! [`cut`] decides on that order, for plans and immediate folds alike. [`together`] walks the segments of one or several reductions
//! of a group of plans and divides them between threads; [`reduction`] compiles one and folds it segment by segment into the partial
//! results of [`partials`]. [`small`] folds a few elements without a plan. Loops are in [`fold`] and [`rows`] (operations),
//! [`index_fold`] (`argmin`, `argmax`) and [`deviation`] (variances), found by [`folding`] for each dtype and level; [`read`] is what
//! they read otherwise than as it lies.
//!
//! *What limits it*: the memory, from the second cache on; below, the chain of additions, which is why 256 bytes of accumulators
//! are folded side by side.
//!
//! *What a newcomer may touch*: a fold of its own is a file like [`deviation`]. What is a segment, and in which order partial
//! results are joined, decides the bits of every float sum, on every level and for any number of threads: leave it alone.

mod cut;
mod deviation;
pub(super) mod fold;
pub(super) mod folding;
mod index_fold;
mod partials;
mod read;
mod reduction;
mod rows;
pub(super) mod small;
pub(super) mod together;
