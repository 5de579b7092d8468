//! Entry points: one function per kernel and instruction set, the only places that carry `#[target_feature]`.
//!
//! All entry points take the same six arguments, so that one function for each level makes them all. What these are is a matter of
//! contracts, of which each is a type: [`StepFn`] for operations on the elements at a place, others beside their kernels.

use stridewise_core::Dtype;
use stridewise_core::backend::ElementsFn;
pub(super) use stridewise_core::backend::{REVERSED, SAME, SECONDS};

use crate::simd::{self, Bytes, HalfLane, Isa, Lane, Ordered};

/// A compiled kernel over unit-stride memory: reads up to three sources of `len` elements, writes `dst`.
///
/// `flags`: those of [`ElementsFn`], which this is; and [`STREAM`] asks for non-temporal stores.
/// `len` is at least 1. `dst` may be exactly one of the sources where the element
/// sizes agree.
pub(super) type StepFn = ElementsFn;

/// An entry point as it is called: what each argument is, the type of its contract says ([`contract`]).
pub(super) type RawFn = ElementsFn;

/// Entry points of one contract: [`StepFn`], and what [`contract`] defines. A kernel names its own, so that no function is called as
/// another one has to be.
pub(super) trait Entry: Copy {
    /// For [`entry`] and its like: `run` is the entry point of a kernel that names this contract.
    fn of(run: RawFn) -> Self;
}

impl Entry for StepFn {
    fn of(run: RawFn) -> Self {
        run
    }
}

/// Defines the type of a contract: what kernels that name it do is its documentation, and `call` hands them their arguments.
macro_rules! contract {
    ($(#[$doc:meta])* $Name:ident($($arg:ident: $ty:ty),*) = $dst:expr, $src:expr, $flags:expr, $len:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $Name($crate::kernels::entry::RawFn);

        impl $crate::kernels::entry::Entry for $Name {
            fn of(run: $crate::kernels::entry::RawFn) -> Self {
                Self(run)
            }
        }

        impl $Name {
            /// # Safety
            /// - The arguments are what the type's contract says.
            /// - The processor has the level that the entry point is of.
            #[inline(always)]
            pub(crate) unsafe fn call(self, $($arg: $ty),*) {
                let [a, b, c]: [*const u8; 3] = $src;
                // SAFETY: the function is of a kernel that names this contract, which holds, and takes its
                // arguments in this order.
                unsafe { (self.0)($dst, a, b, c, $flags, $len) }
            }
        }
    };
}
pub(super) use contract;

/// Flag: store past the caches.
pub(super) const STREAM: u32 = 1 << 9;
/// Bytes of the widest vector; scratch memory is aligned to it.
pub(super) const VECTOR_BYTES: usize = 64;

/// The flag of every source that is one element for all.
pub(super) const ALL_SAME: u32 = SAME | SAME << 1 | SAME << 2;

/// What is done around a kernel that computes each result from the elements at the same place, for flags that it does not know.
pub(super) struct Around {
    /// Bytes of a result, and of an element of each source.
    pub(super) sizes: [u8; 4],
    /// Does what the flags say by calls of the kernel with its own flags alone. The contract is that of [`Kernel::run`], for any
    /// flags.
    pub(super) run: unsafe fn(&Dense, *mut u8, [*const u8; 3], u32, usize),
}

/// A kernel's entry point, and what to know of it to call it block by block.
pub(super) struct Dense {
    /// The entry point.
    pub(super) run: StepFn,
    /// Its level.
    pub(super) isa: Isa,
    /// Bytes of a result, and of an element of each source.
    pub(super) sizes: [u8; 4],
    /// The flags that it knows.
    pub(super) own: u32,
}

impl Dense {
    const fn of<K: Kernel>(run: StepFn, isa: Isa) -> Self {
        let sizes = match &K::AROUND {
            Some(around) => around.sizes,
            None => [1; 4],
        };
        Self { run, isa, sizes, own: K::OWN }
    }
}

/// The body of an entry point. Everything that it calls is inlined into each of them.
pub(super) trait Kernel {
    /// The type of its contract.
    type Fn: Entry;
    /// Of a kernel that computes each result from the elements at the same place: what does for it what the flags say that are not
    /// its own. `None`: it is called with what it knows.
    const AROUND: Option<Around> = None;
    /// The flags that such a kernel knows itself.
    const OWN: u32 = 0;

    /// # Safety
    /// As [`StepFn`] says, of a kernel that computes each result from the elements at the same place ([`AROUND`](Self::AROUND) is there):
    /// - `len` is at least 1.
    /// - `len` elements are readable at each source that the kernel has: one after another; one for all where [`SAME`] says so; every
    ///   second one from the source on with [`SECONDS`] (what lies between is memory, which others may write); with [`REVERSED`], each
    ///   before the one that it follows.
    /// - `len` results are writable at `dst`, and nothing else accesses them. All are aligned to their types.
    /// - A source begins at `dst`, with elements of the results' size one after another, or overlaps no result.
    /// - No flags are set but [`OWN`](Self::OWN): [`AROUND`](Self::AROUND) has done what the others say.
    ///
    /// A kernel without it is called as the type of its contract says ([`Fn`](Self::Fn)).
    unsafe fn run(dst: *mut u8, src: [*const u8; 3], flags: u32, len: usize);
}

/// An instruction set whose entry points a kernel can call, to share their code instead of having it inlined once more.
pub(super) trait Level {
    /// Its vectors of `float32`.
    type F32: Lane<Elem = f32>;
    /// Its vectors of `float64`.
    type F64: Lane<Elem = f64>;
    /// A kernel's entry point.
    fn entry<K: Kernel>() -> K::Fn;
    /// Runs a body compiled for this level, where several kernels share it.
    ///
    /// # Safety
    /// The contract of the body's [`run`](Body::run), and the processor has the level's features.
    unsafe fn within<B: Body>(body: B);
}

/// What kernels of a level share instead of having it inlined: a function with its arguments. It calls only what is inlined.
pub(super) trait Body {
    /// # Safety
    /// What whoever makes the body says.
    unsafe fn run(self);
}

/// A kernel for each vector type.
pub(super) trait LaneKernel {
    /// The kernel over one of them.
    type At<V: Lane>: Kernel<Fn = StepFn>;
}

macro_rules! level {
    ($name:ident $isa:ident $($feature:literal)?) => {
        mod $name {
            use crate::kernels::entry::{Body, Dense, Entry, Kernel, self};
            use crate::simd;

            /// This level.
            pub(in super::super) struct Level;
            impl entry::Level for Level {
                type F32 = simd::$name::F32;
                type F64 = simd::$name::F64;
                fn entry<K: Kernel>() -> K::Fn {
                    Entry::of(enter::<K>)
                }
                #[inline(always)]
                unsafe fn within<B: Body>(body: B) {
                    // SAFETY: the body's contract holds, and the processor has the level's features, which
                    // `within` is compiled for.
                    unsafe { within(body) }
                }
            }

            /// The body compiled for this level.
            ///
            /// # Safety
            /// The contract of [`Kernel::run`]; the processor has the level's features.
            $(#[target_feature(enable = $feature)])?
            pub(super) unsafe fn enter<K: Kernel>(
                dst: *mut u8, a: *const u8, b: *const u8, c: *const u8, flags: u32, len: usize,
            ) {
                // SAFETY: the contract of `Kernel::run` holds; the body is given its own flags, or those that
                // what is around it leaves it.
                unsafe {
                    if let Some(around) = const { &K::AROUND } && flags & !K::OWN != 0 {
                        let dense = const { &Dense::of::<K>(enter::<K>, simd::Isa::$isa) };
                        return (around.run)(dense, dst, [a, b, c], flags, len);
                    }
                    K::run(dst, [a, b, c], flags, len);
                }
            }

            /// [`Body::run`] compiled for this level.
            ///
            /// # Safety
            /// The contract of that, and the processor has the level's features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn within<B: Body>(body: B) {
                // SAFETY: the body's contract holds, and the processor has the level's features.
                unsafe { body.run() }
            }
        }
    };
}
level!(base Scalar);
#[cfg(target_arch = "aarch64")]
level!(neon Neon);
#[cfg(all(target_arch = "x86_64", feature = "avx2"))]
level!(avx2 Avx2 "avx2,fma,f16c,popcnt");
#[cfg(all(target_arch = "x86_64", feature = "avx512"))]
level!(avx512 Avx512 "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,popcnt");

/// A kernel's entry point of a level.
pub(super) fn entry<K: Kernel>(isa: Isa) -> K::Fn {
    Entry::of(match isa {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        Isa::Avx512 => avx512::enter::<K>,
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        Isa::Avx2 => avx2::enter::<K>,
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => neon::enter::<K>,
        _ => base::enter::<K>,
    })
}

/// A kernel for each level.
pub(super) trait LevelKernel {
    /// The kernel of one of them.
    type At<L: Level>: Kernel<Fn = StepFn>;
}

/// The entry point of a level's own kernel.
pub(super) fn level_entry<K: LevelKernel>(isa: Isa) -> StepFn {
    match isa {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        Isa::Avx512 => avx512::enter::<K::At<avx512::Level>>,
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        Isa::Avx2 => avx2::enter::<K::At<avx2::Level>>,
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => neon::enter::<K::At<neon::Level>>,
        _ => base::enter::<K::At<base::Level>>,
    }
}

/// The entry point over a level's vectors of a dtype; `None` for dtypes that are not real floating point.
pub(super) fn lane_entry<K: LaneKernel>(isa: Isa, dtype: Dtype) -> Option<StepFn> {
    macro_rules! of {
        ($level:ident) => {
            match dtype {
                Dtype::F16 => $level::enter::<K::At<simd::$level::F16>>,
                Dtype::Bf16 => $level::enter::<K::At<simd::$level::Bf16>>,
                Dtype::F32 => $level::enter::<K::At<simd::$level::F32>>,
                Dtype::F64 => $level::enter::<K::At<simd::$level::F64>>,
                _ => return None,
            }
        };
    }
    Some(match isa {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        Isa::Avx512 => of!(avx512),
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        Isa::Avx2 => of!(avx2),
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => of!(neon),
        _ => of!(base),
    })
}

/// Kernels of a function with a long body: over vectors of `float32` and `float64`, and, by these, over 16-bit floats.
pub(super) trait FunctionKernel {
    /// The kernel over vectors.
    type At<V: Lane>: Kernel<Fn = StepFn>;
    /// The kernel over `float16`.
    type F16<L: Level>: Kernel<Fn = StepFn>;
    /// The kernel over `bfloat16`.
    type Bf16<L: Level>: Kernel<Fn = StepFn>;
}

/// The entry point of a function with a long body.
pub(super) fn function_entry<K: FunctionKernel>(isa: Isa, dtype: Dtype) -> Option<StepFn> {
    macro_rules! of {
        ($level:ident) => {
            match dtype {
                Dtype::F16 => $level::enter::<K::F16<$level::Level>>,
                Dtype::Bf16 => $level::enter::<K::Bf16<$level::Level>>,
                Dtype::F32 => $level::enter::<K::At<simd::$level::F32>>,
                Dtype::F64 => $level::enter::<K::At<simd::$level::F64>>,
                _ => return None,
            }
        };
    }
    Some(match isa {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        Isa::Avx512 => of!(avx512),
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        Isa::Avx2 => of!(avx2),
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => of!(neon),
        _ => of!(base),
    })
}

/// The entry point of a [`WideKernel`] of a level.
macro_rules! wide {
    ($level:ident, $K:ident, $dtype:ident) => {
        match $dtype {
            Dtype::F32 => Some($K::Fn::of($level::enter::<$K::At<simd::$level::F32, f32>>)),
            Dtype::F64 => Some($K::Fn::of($level::enter::<$K::At<simd::$level::F64, f64>>)),
            _ => None,
        }
    };
}

/// As [`lane_entry`] for kernels that only handle bits or wide accumulators: `float32` and `float64` alone.
pub(super) fn wide_entry<K: WideKernel>(isa: Isa, dtype: Dtype) -> Option<K::Fn> {
    match isa {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        Isa::Avx512 => wide!(avx512, K, dtype),
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        Isa::Avx2 => wide!(avx2, K, dtype),
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => wide!(neon, K, dtype),
        _ => wide!(base, K, dtype),
    }
}

/// Whether a level has functions for two steps at once: of several that a build has, all but the lowest.
pub(super) fn has_pairs(isa: Isa) -> bool {
    !cfg!(any(target_arch = "aarch64", all(target_arch = "x86_64", feature = "avx2"))) || isa != Isa::Scalar
}

/// [`wide_entry`] of those levels that [`has_pairs`].
pub(super) fn pair_entry<K: WideKernel<Fn = StepFn>>(isa: Isa, dtype: Dtype) -> Option<StepFn> {
    match isa {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        Isa::Avx512 => wide!(avx512, K, dtype),
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        Isa::Avx2 => wide!(avx2, K, dtype),
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => wide!(neon, K, dtype),
        #[cfg(not(any(target_arch = "aarch64", all(target_arch = "x86_64", feature = "avx2"))))]
        _ => wide!(base, K, dtype),
        #[cfg(any(target_arch = "aarch64", all(target_arch = "x86_64", feature = "avx2")))]
        _ => None,
    }
}

/// A kernel for vectors of `float16`.
pub(super) trait HalfKernel {
    /// The type of its contract.
    type Fn: Entry;
    /// The kernel over one of them.
    type At<V: HalfLane>: Kernel<Fn = Self::Fn>;
}

/// The entry point over a level's vectors of `float16`; `None` where the processor has no instructions for their conversion.
pub(super) fn half_entry<K: HalfKernel>(isa: Isa) -> Option<K::Fn> {
    match isa {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        Isa::Avx512 => Some(Entry::of(avx512::enter::<K::At<simd::avx512::F16>>)),
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        Isa::Avx2 => Some(Entry::of(avx2::enter::<K::At<simd::avx2::F16>>)),
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => Some(Entry::of(neon::enter::<K::At<simd::neon::F16>>)),
        _ => None,
    }
}

/// A kernel for vectors of bytes.
pub(super) trait BytesKernel {
    /// The type of its contract.
    type Fn: Entry;
    /// The kernel over one of them.
    type At<V: Bytes>: Kernel<Fn = Self::Fn>;
}

/// The entry point over a level's vectors of bytes.
pub(super) fn bytes_entry<K: BytesKernel>(isa: Isa) -> K::Fn {
    match isa {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        Isa::Avx512 => Entry::of(avx512::enter::<K::At<simd::avx512::U8>>),
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        Isa::Avx2 => Entry::of(avx2::enter::<K::At<simd::avx2::U8>>),
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => Entry::of(neon::enter::<K::At<simd::neon::U8>>),
        _ => Entry::of(base::enter::<K::At<simd::base::U8>>),
    }
}

/// A kernel for the vectors of `float32` and `float64`.
pub(super) trait WideKernel {
    /// The type of its contract.
    type Fn: Entry;
    /// The kernel over one of them.
    type At<V: Lane<Elem = T>, T: stridewise_core::ops::Float>: Kernel<Fn = Self::Fn>;
}

/// A kernel for vectors of integers that are sorted.
pub(super) trait OrderedKernel {
    /// The type of its contract.
    type Fn: Entry;
    /// The kernel over one of them.
    type At<V: Ordered>: Kernel<Fn = Self::Fn>;
}

/// The entry point over a level's vectors of integers of so many bytes; `None` where it has none.
pub(super) fn ordered_entry<K: OrderedKernel>(isa: Isa, size: usize) -> Option<K::Fn> {
    match (isa, size) {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        (Isa::Avx512, 4) => Some(Entry::of(avx512::enter::<K::At<simd::avx512::I32>>)),
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        (Isa::Avx512, 8) => Some(Entry::of(avx512::enter::<K::At<simd::avx512::I64>>)),
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        (Isa::Avx2, 4) => Some(Entry::of(avx2::enter::<K::At<simd::avx2::I32>>)),
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        (Isa::Avx2, 8) => Some(Entry::of(avx2::enter::<K::At<simd::avx2::I64>>)),
        #[cfg(target_arch = "aarch64")]
        (Isa::Neon, 4) => Some(Entry::of(neon::enter::<K::At<simd::neon::I32>>)),
        #[cfg(target_arch = "aarch64")]
        (Isa::Neon, 8) => Some(Entry::of(neon::enter::<K::At<simd::neon::I64>>)),
        _ => None,
    }
}
