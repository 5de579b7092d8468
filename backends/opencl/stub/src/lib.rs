//! An OpenCL runtime without a device: it answers every query, moves bytes, runs no kernel, and fails on command.
//!
//! For fault tests of a program that uses OpenCL. The shared library `libstridewise_opencl_stub.so` is found in two ways:
//! - in place of a loader: `OPENCL_DYLIB_PATH=/path/libstridewise_opencl_stub.so`, which cl3 looks at;
//! - by a loader, as an installable client driver: `OCL_ICD_VENDORS=/path/libstridewise_opencl_stub.so`.
//!
//! The same package, as a crate, is how a Rust test loads the library and commands it: [`Stub`].
//!
//! What it does. One platform with one device (or as many as [`Stub::set`] says), OpenCL 3.0; memory is the host's, by
//! buffers, shared virtual memory, and Intel's unified shared memory, as configured. Copies and fills really move bytes;
//! a kernel is built, its parameters are read from its text, its arguments are checked, and its launch completes without
//! doing anything. A command runs as soon as the events it waits for are complete, on the thread that makes it so, and
//! event callbacks are called on that thread, unless commanded otherwise.
//!
//! What it checks. Misuse that a real runtime may let pass or crash on (a released handle, an object of another context,
//! memory freed under a pending command) is an error code and a *violation*, which a test asks for.

#![allow(clippy::too_many_arguments, reason = "the functions are OpenCL's")]

#[macro_use]
mod entry;
mod api;
mod client;
mod commands;
mod config;
mod control;
mod dispatch;
mod kernels;
mod memory;
mod objects;
mod state;

pub use client::{Sort, Stub};
