//! USM memory: allocation, ownership, the order of accesses, and host access. The only module of this crate with
//! `unsafe` code: what keeps a pointer valid, and who may follow it, is decided here.
//!
//! A [`UsmMemory`] is one allocation of a device's memory, of a kind ([`UsmKind`]): host and shared memory may be read by host code,
//! device memory only by copies. It notes which work reads and writes which of its bytes, so that new work waits for exactly what it
//! conflicts with, and it lives until the last of that work is done. Host code borrows elements by a [`HostView`], which waits and
//! keeps others out; blocks that are freed go to a pool.
#![cfg_attr(not(doctest), doc = include_str!("example.md"))]
//!
//! # How it is made
//!
//! - `pool`: size-classed blocks from a device, reused;
//! - `registry`: which address belongs to which allocation;
//! - `allocation` and `spare`: one allocation and its end, which for a small one is a thread's next allocation;
//! - `track` and `schedule`: which work must wait for which; `reach`: what it reaches; `backlog`: how much of it there may be;
//! - `capture`: what was submitted, to be submitted again;
//! - `immediate`: small work on the calling thread;
//! - `handle`: references that need not be counted;
//! - `host`: lending memory to host code; `elements`: its elements one by one;
//! - `lease`: memory that others know while it is lent; `fuse`: and that they leave alone;
//! - `mapping`: files as memory; `interprocess`: memory that other processes open;
//! - `heap`: vectors of the host's own memory, whose allocation may fail;
//! - `process`: what the system calls when the process ends or forks;
//! - `usage`, `form` and `watch`: how much of it there is, what arrays it was made for, and where;
//! - `source`: launches of kernels whose accesses nobody checks;
//! - `usm`: the public memory object.

pub mod heap;

pub(crate) mod allocation;
pub(crate) mod backlog;
pub(crate) mod capture;
mod elements;
mod form;
mod fuse;
pub(crate) mod handle;
pub(crate) mod host;
pub(crate) mod immediate;
#[cfg(all(test, feature = "interleavings"))]
mod interleavings;
mod interprocess;
mod lease;
mod mapping;
pub(crate) mod pool;
pub(crate) mod process;
mod reach;
pub(crate) mod registry;
pub(crate) mod schedule;
mod seen;
pub(crate) mod track;

pub(crate) mod pending;
pub(crate) mod pointer;
mod source;
mod spare;
#[cfg(feature = "graph-files")]
mod stored;
mod usage;
mod usm;
pub(crate) mod watch;

pub use allocation::Deleter;
pub use elements::{HostIter, HostIterMut};
pub use fuse::{FuseScope, fuse};
pub use host::{HostView, HostViewMut};
pub use interprocess::IpcHandle;
pub use lease::Lease;
pub use mapping::MapMode;
#[cfg(feature = "npy")]
pub(crate) use mapping::is_mapped_for_writing;
pub use pointer::{PointerKind, UsmKind, UsmPtr};
pub use pool::{BLOCK_ALIGN_BYTES, PoolStatistics};
pub use registry::{PointerInfo, pointer_info};
pub(crate) use seen::Kept;
pub(crate) use spare::{Alone, Memory};
pub use usage::{KindUsage, MemoryUsage};
pub use usm::UsmMemory;
pub use watch::{LiveArray, MemoryOrigin, MemoryScope, OpenScope, ScopeUsage, live_arrays, set_call_site};

pub(crate) use schedule::last_write;
