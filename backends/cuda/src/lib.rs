//! The CUDA backend: NVIDIA's GPUs through their driver, found at run time.
//!
//! Nothing is linked, and no CUDA is needed to build: the driver (`libcuda.so.1`) is opened at the first use of any device, and where
//! there is none, there are no devices. A function that an older driver lacks, or a library that is not installed, is an error that
//! says what to install, when it is needed. The engine works in the contexts that every library of the process shares, so memory that
//! others have allocated is known.
//!
//! - `driver`, `device`: what there is, and why not more;
//! - `symbols`, `api`, `error`, `handle`: the driver's functions, its codes and its objects;
//! - `memory`, `transfer`: the three kinds of memory; copies of pageable memory;
//! - `queue`, `enqueue`, `stream`, `event`, `clock`, `worker`: commands, their order, their end and when they ran;
//! - `nvrtc`, `module`: CUDA C++ and PTX, compiled and kept, and launched;
//! - `library`, `blas`, `routines`: libraries of NVIDIA's, found at run time; products of matrices, transforms and decompositions by
//!   them;
//! - `kernels`, `scratch`: what computes plans and users' kernels, whose texts are `stridewise-emit`'s, and their memory.

mod api;
mod blas;
mod clock;
mod device;
mod driver;
mod enqueue;
mod error;
mod event;
mod graph;
mod handle;
mod kernels;
mod library;
mod memory;
mod module;
mod nvrtc;
mod queue;
mod routines;
mod scratch;
mod stream;
mod symbols;
mod transfer;
mod worker;

pub use driver::driver;
#[doc(hidden)]
pub use driver::driver_over;
pub use handle::live_handles;
#[doc(hidden)]
pub use module::TEXT_OPTIONS;
pub use nvrtc::Nvrtc;

/// The driver's name, the first part of its devices' filter strings.
const DRIVER: &str = "cuda";
