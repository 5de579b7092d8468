//! host
#![allow(dead_code)]
mod kernels;
mod simd;
