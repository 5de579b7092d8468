//! Operations on elements at the same place: a function for each operation, dtype and level, over elements that lie one after
//! another.
//!
//! [`step`] finds the function. Its loop is one of [`map`] (vectors of floats, scalars of all else), [`cast`] (conversions),
//! [`divide`] (quotients of integers), [`half_map`] (long functions of 16-bit floats) or [`choose`] (`where`, and copies); for
//! elements that lie otherwise, [`blocks`] calls the same function block by block.
//!
//! *What limits it*: what an element costs in registers, and for operations of one instruction the loads and stores: the first
//! cache hides nothing, so a loop has one load for each source and no test in it.
//!
//! *What a newcomer may touch*: a new operation needs nothing here (see the recipes in CONTRIBUTING.md); one that deserves a loop
//! of its own gets it beside [`divide`], which is the model, and a line in [`step::resolve`]. The entry points of
//! [`entry`](super::entry), and with them every body's size, are compiled once for each dtype and level: measure the program.

mod blocks;
mod cast;
mod choose;
mod divide;
mod half_map;
pub(super) mod map;
pub(super) mod step;
