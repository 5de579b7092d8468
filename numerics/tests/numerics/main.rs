//! Decompositions and transforms of arrays on the host's device, and the refusal of others.

mod common;
mod eigen;
mod fft;
mod linalg;
mod polynomials;
mod refusals;
mod scales;
mod stacks;
