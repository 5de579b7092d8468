//! Arrays that say where their memory lives, which queue works on it and which event makes it ready, computed by SIMD
//! kernels on the processor, with accelerators as backends.
//!
//! ```toml
//! [dependencies]
//! stridewise = "0.1"    # features = ["linalg", "fft", "ndarray", …]: what each adds is in the table below
//! ```
//!
//! ```
//! use stridewise::prelude::*;
//!
//! let a = Array::<f32>::linspace(0.0, 1.0, 1_000_000)?;
//! let b = (&a * &a + 1.0).sqrt(); // recorded, then run as one pass
//! println!("{:?} on {}: mean {:.6}", b.shape(), b.device(), b.mean()?);
//! # Ok::<(), stridewise::Error>(())
//! ```
//!
//! | feature | what it adds |
//! |---|---|
//! | `npy` (default) | `.npy` files: [`Array::save_npy`], [`Array::load_npy`], [`Array::map_npy`] |
//! | `opencl` (default) | GPUs and other devices of OpenCL, found at run time; nothing is linked. On Linux, macOS and Windows; elsewhere it adds nothing |
//! | `cuda` | NVIDIA's GPUs through their driver: memory, copies, operations on arrays, kernels written here and from CUDA C++ and PTX. Where `opencl` is |
//! | `emulated` (default) | devices for tests, with the limits of another device: [`emulated`](mod@emulated) |
//! | `avx512`, `avx2` (default) | kernels for these instructions; the best that the processor has are chosen at run time |
//! | `native` (default) | fused expressions and kernels as machine code, on x86-64 with AVX2; the same bits |
//! | `linalg` | the module `linalg`: solve, inv, qr, svd, eigh, …, on the processor |
//! | `fft` | the module `fft`: Fourier transforms, on the processor |
//! | `ndarray` | arrays of the crate `ndarray`: `Array::try_from(&theirs)`, `Array::to_ndarray` |
//! | `approx`, `serde` | the traits of these crates for [`Array`] |
//! | `hwloc` | threads placed by hwloc's topology; needs its development files |
//!
//! On docs.rs this page is built with all of them but `hwloc`.
//!
//! # The model
//!
//! **Arrays.** An [`Array<T>`](Array) is a view of memory: a shape, signed strides and an offset in elements. Slices,
//! transposes and [`share`](Array::share) are views of the same memory, a clone is a value of its own
//! ([more](Array#clones-are-values-views-write-through)). Its sibling [`UsmArray`] knows its dtype at run time, promotes where
//! operands differ, and is a handle: its clones share the memory. Up to 32 dimensions, elements of integers, floats of 16 to 64
//! bits, complex numbers and `bool`.
//!
//! **Memory** is *unified shared memory* of one of three kinds ([`UsmKind`]): host, device or shared. Host code reads host
//! and shared memory in place, and gets device memory by a copy only. A result's kind follows its operands': device over
//! shared over host. Freed memory goes to a pool and is reused.
//!
//! **Queues.** Every array belongs to a [`Queue`] of a [`Device`], and compute follows data: operands must be of one queue,
//! and so is the result. Work is ordered by what it reads and writes, on overlapping elements, and by nothing else; so two
//! independent computations on one queue may run at the same time, and a read always sees the writes before it. Memory
//! lives as long as the work that uses it.
//!
//! **Recording.** Elementwise operations on more than a few elements do not run, they are recorded. What needs elements (a
//! read, most reductions, a write in place, a wait) runs what was recorded as one pass over memory, and intermediates that
//! nobody holds are never stored. Nothing of this changes a result: fused and unfused work give the same bits on the host.
//! [`Queue::flush`] submits what is recorded without waiting.
//!
//! **Devices.** The host is a device; OpenCL devices are found at run time. The default one is the first GPU, or else the
//! host; a filter string such as `"host"`, `"gpu"` or `"opencl:gpu:0"` selects another ([`Device::select`]), as does the
//! environment variable `STRIDEWISE_DEVICE`.
//!
//! **Failures.** Operators, functions named after mathematics, and `collect` panic with the error's message, as they return arrays;
//! each has a twin named `try_…`. Everything else returns a [`Result`] whose [`Error`] names the argument, its value, what was
//! expected and how to mend it.
//!
//! **What does not compile.** Elements on which work is recorded have no values yet, so `if x > 0.5` is no question that Rust can ask
//! of them: `a.greater(0.5)` is an array of `bool`, and `a.greater(0.5).where_(…, …)` chooses, for arrays and for the elements that
//! [`map`](Array::map) gives its closure. Numbers beside an array have its elements' type: `&a / 2.0`, not `&a / 2`, of floats. Integers
//! have no quotient: `a.floor_divide(2)`, or `a.astype::<f64>() / 2.0`.
//!
//! ```
//! # use stridewise::prelude::*;
//! let a = array![0.25, 0.5, 1.0];
//! let clipped = a.map(|x| x.greater(0.5).where_(0.5, x)); // not `if x > 0.5 { 0.5 } else { x }`
//! assert_eq!(clipped.to_vec()?, [0.25, 0.5, 0.5]);
//! assert!(a.greater(0.5).any()?); // a question of the whole array
//! let n = array![7, -7];
//! assert_eq!((n.floor_divide(2).to_vec()?, (n.astype::<f64>() / 2.0).to_vec()?), (vec![3, -4], vec![3.5, -3.5]));
//! # Ok::<(), stridewise::Error>(())
//! ```
//!
//! # A first day
//!
//! 1. Make arrays: from literals, numbers, data of the program, or random.
//!
//! ```
//! # use stridewise::prelude::*;
//! let grid = array![[1.0_f32, 2.0], [3.0, 4.0]];
//! let zeros = Array::<f64>::zeros([2, 3])?;
//! let places = Array::<i64>::arange(0, 10, 2)?;
//! let data = Array::from_vec((2, 2), vec![1_u8, 2, 3, 4])?; // shapes are arrays or tuples
//! let squares: Array<i64> = (0..5).map(|x| x * x).collect();
//! let table = Array::try_from(vec![vec![1.0, 2.0], vec![3.0, 4.0]])?;
//! let noise = Generator::new(7).normal([100], 0.0_f32, 1.0)?;
//! assert_eq!((grid.ndim(), zeros.len(), places.len(), data.shape(), noise.len()), (2, 6, 5, &[2, 2][..], 100));
//! assert_eq!((squares.get([-1])?, table.shape()), (16, &[2, 2][..]));
//! # Ok::<(), stridewise::Error>(())
//! ```
//!
//! 2. Compute: operators take arrays by reference and numbers; shapes are broadcast.
//!
//! ```
//! # use stridewise::prelude::*;
//! let a = array![[1.0_f32, 2.0], [3.0, 4.0]];
//! let row = array![10.0_f32, 20.0];
//! let b = 2.0 * &a + &row;
//! assert_eq!(b.to_vec()?, [12.0, 24.0, 16.0, 28.0]);
//! assert_eq!(a.square().sqrt().to_vec()?, a.to_vec()?);
//! # Ok::<(), stridewise::Error>(())
//! ```
//!
//! 3. Look at parts, as views. Indices and slices are NumPy's: a negative one counts from the end, a slice is cut off where the
//!    dimension ends, and with a negative step it walks from its start towards the front.
//!
//! ```
//! # use stridewise::prelude::*;
//! let a = Array::<i32>::arange(0, 12, 1)?.reshape([3, 4])?;
//! assert_eq!(a.slice(s![1.., ..;-2])?.to_vec()?, [7, 5, 11, 9]);
//! assert_eq!(a.slice(s![1..9])?.shape(), [2, 4]); // rows 1 and 2: there are no others
//! assert!(matches!(a.slice(s![9]), Err(Error::OutOfBounds(_)))); // an index alone has to be there
//! assert_eq!((a.t().shape(), a.get([2, -1])?), (&[4, 3][..], 11));
//! println!("{a}");
//! # Ok::<(), stridewise::Error>(())
//! ```
//!
//! 4. Reduce, over everything or along axes.
//!
//! ```
//! # use stridewise::prelude::*;
//! let a = array![[1.0_f64, 2.0], [3.0, 6.0]];
//! assert_eq!((a.sum()?, a.max()?, a.mean_axis(0)?.to_vec()?), (12.0, 6.0, vec![2.0, 4.0]));
//! # Ok::<(), stridewise::Error>(())
//! ```
//!
//! 5. Choose elements, by conditions and by places.
//!
//! ```
//! # use stridewise::prelude::*;
//! let a = array![3, -1, 4, -1, 5];
//! let negative = a.less(0);
//! assert_eq!(a.masked(&negative)?.to_vec()?, [-1, -1]);
//! assert_eq!(negative.where_(&array![0], &a).to_vec()?, [3, 0, 4, 0, 5]);
//! assert_eq!(a.index(ix![&array![4, 0]])?.to_vec()?, [5, 3]);
//! # Ok::<(), stridewise::Error>(())
//! ```
//!
//! 6. Change in place: through an operator, a view, or a result that is given.
//!
//! ```
//! # use stridewise::prelude::*;
//! let mut a = array![[1.0_f32, 2.0], [3.0, 4.0]];
//! let before = a.clone(); // a value of its own; `a.share()` is another name for the memory
//! a += 1.0;
//! a.slice(s![0])?.fill(0.0)?; // views write through: this writes to `a`
//! let mut out = Array::<f32>::zeros([2, 2])?;
//! a.mul_into(&a, &mut out)?;
//! assert_eq!(out.to_vec()?, [0.0, 0.0, 16.0, 25.0]);
//! assert_eq!(before.to_vec()?, [1.0, 2.0, 3.0, 4.0]);
//! # Ok::<(), stridewise::Error>(())
//! ```
//!
//! 7. Exchange elements with the program: a copy, or the memory itself. A view waits for the work that it conflicts with.
//!
//! ```
//! # use stridewise::prelude::*;
//! let mut a = Array::from_vec([3], vec![1.0_f32, 2.0, 3.0])?;
//! let copied: Vec<f32> = a.to_vec()?;
//! assert_eq!(copied, [1.0, 2.0, 3.0]);
//! let total: f32 = a.view()?.iter().sum(); // no copy
//! for x in &mut a.view_mut()? {
//!     *x /= total;
//! }
//! assert_eq!(a.sum()?, 1.0);
//! # Ok::<(), stridewise::Error>(())
//! ```
//!
//! 8. Choose the device, the queue and the kind of memory; move arrays between them.
//!
//! ```
//! # use stridewise::prelude::*;
//! let queue = Device::select("host")?.queue()?;
//! let a = Array::<f32>::on(&queue).kind(UsmKind::Device).ones([4])?;
//! assert_eq!((a.device().filter_string(), a.usm_kind()), ("host:cpu:0".into(), UsmKind::Device));
//! assert!(a.view().is_err()); // device memory is not shown to host code
//! assert_eq!(a.to_vec()?, [1.0; 4]); // but copied
//! let wherever = a.to_device(&stridewise::default_device()?)?;
//! assert_eq!(wherever.sum()?, 4.0);
//! # Ok::<(), stridewise::Error>(())
//! ```
//!
//! 9. Follow work: an event waits, tells its state, calls back, or is awaited in any executor.
//!
//! ```
//! # use stridewise::prelude::*;
//! let a = Array::<f64>::ones([1000, 1000])?;
//! let b = (&a * 3.0).sqrt();
//! let ready = b.event()?; // submits what is recorded
//! ready.wait()?;
//! a.queue().wait()?; // everything on the queue
//! assert!(!b.is_pending());
//! # Ok::<(), stridewise::Error>(())
//! ```
//!
//! 10. Handle failures, and dtypes that only the data knows.
//!
//! ```
//! # use stridewise::prelude::*;
//! let (a, b) = (array![1.0_f32, 2.0], array![1.0_f32, 2.0, 3.0]);
//! let error = a.try_add(&b).err().expect("these shapes do not broadcast");
//! assert!(matches!(error, Error::Shape(_)), "{error}");
//!
//! let integers: UsmArray = array![1_i32, 2].into();
//! let sum = integers.binary(Op::Add, a.as_untyped())?; // int32 and float32 promote
//! assert_eq!(sum.dtype(), Dtype::F64);
//! assert_eq!(Array::<f64>::try_from(sum)?.to_vec()?, [2.0, 4.0]);
//! # Ok::<(), stridewise::Error>(())
//! ```
//!
//! And then: `.npy` files ([`Array::save_npy`], with the feature `npy`), kernels of one's own ([`kernel`](mod@kernel)), and the pages of
//! themes, each with an example, in the sections of [`Array`]. Tables for those who come from NumPy, dpnp or ndarray are in
//! `docs/site/coming-from.md`.

pub use stridewise_core::*;
/// The attribute of a function that kernels call.
///
/// ```
/// use stridewise::kernel::{Global, Item};
/// use stridewise::prelude::*;
///
/// #[stridewise::device_function]
/// fn horner(x: f64, a: f64, b: f64, c: f64) -> f64 {
///     (a * x + b) * x + c
/// }
///
/// #[stridewise::kernel]
/// fn parabola(item: Item<1>, x: &Global<f64>, y: &mut Global<f64>) {
///     let i = item.global_id(0);
///     y[i] = horner(x[i], 2.0, -1.0, 3.0);
/// }
///
/// let x = array![0.0, 1.0, 2.0];
/// let mut y = x.empty_like()?;
/// parabola(x.queue(), x.len(), &x, &mut y)?;
/// assert_eq!(y.to_vec()?, [3.0, 4.0, 9.0]);
/// # Ok::<(), stridewise::Error>(())
/// ```
pub use stridewise_macros::device_function;
/// The attribute of a kernel, which is then launched by a call:
///
/// ```
/// use stridewise::kernel::{Global, Item};
/// use stridewise::prelude::*;
///
/// #[stridewise::kernel]
/// fn axpy<T: NumElement>(item: Item<1>, a: T, x: &Global<T>, y: &mut Global<T>) {
///     let i = item.global_id(0);
///     y[i] += a * x[i];
/// }
///
/// let queue = Queue::default_queue()?;
/// let x = Array::<f32>::on(&queue).from_slice(3, &[1.0, 2.0, 3.0])?;
/// let mut y = Array::<f32>::on(&queue).full(3, 5.0)?;
/// let event = axpy(&queue, x.len(), 2.0, &x, &mut y)?; // queue, items, and the parameters but the item
/// event.wait()?; // a read of `y` would wait for it, too
/// assert_eq!(y.to_vec()?, [7.0, 9.0, 11.0]);
/// # Ok::<(), stridewise::Error>(())
/// ```
///
/// [`kernel`](mod@kernel) has the model, and examples with local memory and reductions of groups.
pub use stridewise_macros::kernel;
/// With the feature `fft`.
#[cfg(feature = "fft")]
pub use stridewise_numerics::fft;
/// With the feature `linalg`.
#[cfg(feature = "linalg")]
pub use stridewise_numerics::linalg;

/// What programs with arrays use, for `use stridewise::prelude::*`: arrays, devices, queues and events, errors, the macros
/// [`array!`](crate::array!), [`s!`](crate::s!) and [`ix!`](crate::ix!), and the classes of elements that generic functions name.
///
/// ```
/// use stridewise::prelude::*;
///
/// fn spread<T: FloatElement>(x: &Array<T>) -> Result<T> {
///     Ok((x - x.min()?).max()?)
/// }
/// assert_eq!(spread(&array![2.0_f32, 7.0, 3.0])?, 5.0);
/// # Ok::<(), Error>(())
/// ```
pub mod prelude {
    pub use stridewise_core::{
        Array, Complex, Device, Dtype, Ellipsis, Error, Event, Generator, IndexMode, Indexing, NewAxis, Op,
        Order, Overlap, Padding, QuantileMethod, Queue, Reduction, Result, Scan, Side, Sort, UsmArray,
        UsmKind, array, bf16, broadcast_arrays, concat, einsum, elementwise, f16, ix, lexsort, meshgrid, s,
        stack, where_,
    };
    pub use stridewise_core::{
        BitsElement, Element, FieldElement, FloatElement, IntElement, NumElement, OrderedElement,
        RealElement, Reducible,
    };
}

// The drivers of this build, one line each; of runtimes, where the manifest has their crates.
stridewise_core::register_driver!(stridewise_host::driver);
#[cfg(all(feature = "cuda", any(target_os = "linux", target_os = "macos", windows)))]
stridewise_core::register_driver!(stridewise_cuda::driver);
#[cfg(all(feature = "opencl", any(target_os = "linux", target_os = "macos", windows)))]
stridewise_core::register_driver!(stridewise_opencl::driver);
#[cfg(feature = "emulated")]
stridewise_core::register_driver!(stridewise_emulated::driver);

/// Devices for tests, which compute on the processor and have the limits of another device, so that what would fail there fails here.
/// With the feature `emulated` (default).
///
/// ```
/// use stridewise::{emulated::emulate, prelude::*};
///
/// let device = emulate().fp64(false).memory(512 << 20).max_work_group(64).usm(&[UsmKind::Device]).build()?;
/// let queue = device.queue()?;
/// let x = Array::<f32>::on(&queue).linspace(0.0, 1.0, 1000)?;
/// assert_eq!((&x * 2.0).max()?, 2.0);
/// assert!(Array::<f64>::on(&queue).zeros([10]).is_err()); // it has no double precision,
/// assert!(x.view().is_err()); // its memory is no memory of the host's,
/// assert!(Array::<f32>::on(&queue).zeros([1 << 28]).is_err()); // and there is not so much of it
/// # Ok::<(), Error>(())
/// ```
#[cfg(feature = "emulated")]
pub use stridewise_emulated as emulated;

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

// Examples of themes on `Array`'s pages, and of modules, which are core's. They need a device, so they are run here.
#[cfg(doctest)]
mod examples {
    macro_rules! run {
        ($($Theme:ident $file:literal)*) => {
            $(
                #[doc = include_str!(concat!("../core/src/", $file))]
                struct $Theme;
            )*
        };
    }
    run! {
        Attribute "../macros/src/example.md"
        Kernels "kernel/examples.md"
        Memory "memory/example.md"
        Indexing "array/typed/examples/indexing.md"
        Math "array/typed/examples/math.md"
        Products "array/typed/examples/products.md"
        Random "array/typed/examples/random.md"
        Reductions "array/typed/examples/reductions.md"
        Scans "array/typed/examples/scans.md"
        Sorting "array/typed/examples/sorting.md"
        Statistics "array/typed/examples/statistics.md"
    }
}

// As are the programs on the pages of the site.
#[cfg(doctest)]
mod site {
    macro_rules! run {
        ($($Page:ident $file:literal)*) => {
            $(
                #[doc = include_str!(concat!("../docs/site/", $file))]
                struct $Page;
            )*
        };
    }
    run! {
        Devices "devices.md"
        Doctor "doctor.md"
        Errors "errors.md"
        Events "events.md"
        Fusion "fusion.md"
        Gpus "gpus.md"
        Index "index.md"
        Kernels "kernels.md"
        Memory "memory.md"
        Processes "processes.md"
        See "see.md"
        Tour "tour-rust.md"
    }
    #[cfg(feature = "npy")]
    run! { Files "files.md" }
    #[cfg(feature = "linalg")]
    run! { LinearAlgebra "linalg.md" }
}
