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
#[cfg(any(feature = "linalg", feature = "fft"))]
pub use stridewise_numerics::NumericArray;
#[cfg(feature = "fft")]
pub use stridewise_numerics::fft;
#[cfg(feature = "linalg")]
pub use stridewise_numerics::linalg;

/// What programs with arrays use, for `use stridewise::prelude::*`.
pub mod prelude {
    pub use stridewise_core::{
        Array, Complex, Device, Dtype, Ellipsis, Error, Event, Generator, IndexMode, Indexing, NewAxis, Op,
        Order, QuantileMethod, Queue, Reduction, Result, Scan, Side, UsmArray, UsmKind, array, bf16,
        broadcast_arrays, concat, elementwise, f16, ix, meshgrid, s, stack, where_,
    };
    pub use stridewise_core::{
        BitsElement, Element, FieldElement, FloatElement, IntElement, NumElement, OrderedElement,
        RealElement, Reducible,
    };
}

// The drivers of this build, one line each.
stridewise_core::register_driver!(stridewise_host::driver);
#[cfg(feature = "opencl")]
stridewise_core::register_driver!(stridewise_opencl::driver);

/// A device of the host whose threads are those of a pool of rayon's that the program has, so that there is one set of
/// threads: work on arrays becomes jobs of the pool. Every call makes a device of its own; arrays of two do not combine.
///
/// ```
/// use std::sync::Arc;
/// use stridewise::prelude::*;
///
/// let pool = Arc::new(stridewise::rayon::ThreadPoolBuilder::new().num_threads(2).build()?);
/// let queue = stridewise::host_device_on(&pool).queue()?;
/// let x = Array::<f64>::on(&queue).linspace(0.0, 1.0, 100_000)?;
/// assert!(((&x * 2.0).mean()? - 1.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn host_device_on(pool: &std::sync::Arc<rayon::ThreadPool>) -> Device {
    Device::from_backend(stridewise_host::device_on(pool))
}
pub use stridewise_host::rayon;

/// Does nothing but stand beside the drivers: a linker takes from a static library only what something refers to, so a
/// library that is linked statically into programs of other languages calls this.
#[doc(hidden)]
#[inline(never)]
pub fn link_drivers() {}

// The program in the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
