//! Decompositions and transforms of arrays on the host's device, and the refusal of others.

mod common;
#[cfg(feature = "linalg")]
mod eigen;
#[cfg(feature = "fft")]
mod fft;
#[cfg(feature = "linalg")]
mod linalg;
#[cfg(all(feature = "linalg", feature = "fft"))]
mod refusals;
#[cfg(all(feature = "linalg", feature = "fft"))]
mod stacks;
