//! What is computed by libraries of others on arrays of Stridewise: decompositions of matrices ([`linalg`]) and Fourier
//! transforms ([`fft`]). The libraries know slices of plain numbers; this package finds the matrices and rows of an array,
//! whatever its layout, shares them out among the threads of the array's device, and makes arrays of the results.
//!
//! These functions compute on the processor and wait: when they return, the results are there. Arrays are of any device of
//! the processor, or in memory that the processor may read; any other is refused (see [`Error::Unsupported`]), and never
//! fetched silently. Of a device whose own libraries have it
//! ([`Language::ROUTINES`](stridewise_core::backend::Language::ROUTINES)), arrays stay where they are: transforms along axes, `cholesky`,
//! `solve`, `inv`, `det`, `slogdet`, `qr`, `eigh`, `eigvalsh`, `svd`, `svdvals`, and what is made of these.
//!
//! [`Error::Unsupported`]: stridewise_core::Error::Unsupported

mod arrays;
mod batches;
mod device;
#[cfg(feature = "fft")]
pub mod fft;
#[cfg(feature = "linalg")]
pub mod linalg;
mod place;
