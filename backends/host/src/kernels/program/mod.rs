//! Programs, and the tiles that they are run over.
//!
//! [`code`] compiles a program to functions over slots, some for two steps at once ([`fused`]), others made by
//! [`native`](super::native); [`tile`] runs the code tile by tile. What a tile comes to is stored,
//! or handed to whoever folds or scans it.
//!
//! *What limits it*: long chains by what their steps cost on elements in the first cache, short ones by the memory, which is why
//! tiles are few KiB long and results that fill the caches go past them.
//!
//! *What a newcomer may touch*: further pairs of steps in [`fused`], with a row that gains. How tiles are cut changes no result, and
//! may be changed freely; which steps are done, and in which order, may not.

pub(super) mod code;
pub(super) mod fused;
pub(super) mod tile;
