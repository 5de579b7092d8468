//! The OpenCL backend: GPUs and other devices that a machine has, found at run time.

mod emit;
mod kernels;
