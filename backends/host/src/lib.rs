//! host

#[allow(dead_code)]
mod simd;
