//! Elements that move: between strided memory and tiles, and to or from places that indices name.
//!
//! [`space`] says how operands lie in the space that a plan goes through, and [`read`] what loops over vectors read of them.
//! [`pack`] moves rows of tiles, and [`transpose`] does so for operands whose neighbours lie in neighbouring rows; [`gather`] reads
//! and writes at places, with [`columns`] for the same places of many rows; [`accumulate`] joins what lies at places with values.
//!
//! *What limits it*: loads of lines of the cache, of each of which one element may be wanted. So neighbours are moved together
//! where there are any, and lines are asked for before they are needed where there are none.
//!
//! *What a newcomer may touch*: further steps of [`pack`] that are moved by shuffles of vectors, where a measured row gains by
//! them. The checks of places are the memory's safety: [`family`](super::family) lets nothing else through.

pub(super) mod accumulate;
mod columns;
pub(super) mod gather;
pub(super) mod pack;
pub(super) mod read;
pub(super) mod space;
pub(super) mod transpose;
