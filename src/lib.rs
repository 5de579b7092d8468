//! Stridewise: a CPU-first SIMD array engine with USM memory, queues, and pluggable accelerator backends.
//!
//! ```
//! use stridewise::prelude::*;
//!
//! let a = Array::<f32>::linspace(0.0, 1.0, 1_000_000)?;
//! let b = (&a * &a + 1.0).sqrt();           // recorded, fused, run as one pass
//! println!("{:?} on {}: mean {:.6}", b.shape(), b.device(), b.mean()?);
//! # Ok::<(), stridewise::Error>(())
//! ```

pub use stridewise_core::*;

// The drivers of this build, one line each.
stridewise_core::register_driver!(stridewise_host::driver);
