//! host

#[allow(dead_code)]
mod kernels;
#[allow(dead_code)]
mod simd;
