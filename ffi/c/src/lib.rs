//! The C interface of Stridewise: the library behind `include/stridewise.h`.
//!
//! Thin by intention: a function here reads what C hands in, calls the engine, and puts the result behind a handle. What
//! an operation means, and what it refuses, is the engine's.
//!
//! # The contract of every function
//! - Pointers are null or point to what the header says, of the length that stands beside them, for as long as the call
//!   lasts; results are not accessed by anything else meanwhile. Null is refused where something is needed.
//! - Handles are numbers in the guise of pointers and are never followed. One that is null, freed, of another type or made
//!   up is refused. Every function may be called from any thread, with the same handles too.
//! - A function returns [`SW_OK`](status::sw_status::SW_OK), or another status and leaves a text for
//!   [`sw_last_error`](status::sw_last_error); results through pointers are null or untouched then. No panic leaves.
//!
//! The header is generated from this crate and from the core's lists of operations and dtypes ([`codes::declarations`]);
//! a test compares it with the one that is checked in.
#![allow(
    non_camel_case_types,
    clippy::missing_safety_doc,
    reason = "the names are C's, and the contract above is that of every function"
)]

pub mod array;
pub mod caller;
pub mod codes;
pub mod compute;
pub mod device;
pub mod dlpack;
pub mod event;
pub mod handle;
pub mod kernel;
pub mod memory;
pub mod queue;
pub mod status;
pub mod usage;
pub mod view;
