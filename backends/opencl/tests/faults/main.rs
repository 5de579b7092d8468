//! The backend against a runtime that fails on command: every error arrives, nothing panics, hangs or leaks. The runtime
//! is the stub, of which the kernels compute nothing, so values are checked of copies and fills only.

mod calls;
mod devices;
mod events;
mod kept;
mod programs;
mod setup;
