//! Entry points: one function per kernel and instruction set, the only places that carry `#[target_feature]`.

use stridewise_core::backend::ElementsFn;
pub(super) use stridewise_core::backend::{REVERSED, SAME, SECONDS};
use stridewise_core::{Dtype, bf16, f16};

use super::blocks::{self, Dense};
use super::half_map::{self, Half, HalfMap};
use super::map::{LaneFn, LaneFunction};
use crate::simd::{self, Bytes, HalfLane, Isa, Lane, Ordered};

/// A compiled kernel over unit-stride memory: reads up to three sources of `len` elements, writes `dst`.
///
/// `flags`: those of [`ElementsFn`], which this is; and [`STREAM`] asks for non-temporal stores.
/// `len` is at least 1. `dst` may be exactly one of the sources where the element
/// sizes agree.
pub(super) type StepFn = ElementsFn;

/// Flag: store past the caches.
pub(super) const STREAM: u32 = 1 << 9;
/// Bytes of the widest vector; scratch memory is aligned to it.
pub(super) const VECTOR_BYTES: usize = 64;

/// The flag of every source that is one element for all.
pub(super) const ALL_SAME: u32 = SAME | SAME << 1 | SAME << 2;

/// Bytes of a result, and of an element of each of up to three sources, where all of these have the same.
pub(super) const fn sizes<R, T>() -> Option<[u8; 4]> {
    let size = size_of::<T>() as u8;
    Some([size_of::<R>() as u8, size, size, size])
}

/// The body of an entry point. Everything that it calls is inlined into each of them.
pub(super) trait Kernel {
    /// Bytes of a result, and of an element of each source, of a kernel that computes each result from the elements at the same
    /// place: [`blocks`] does for it what the flags say that are not its own. `None`: it is called with what it knows.
    const SIZES: Option<[u8; 4]> = None;
    /// The flags that such a kernel knows itself.
    const OWN: u32 = 0;

    /// # Safety
    /// As [`StepFn`] says, of a kernel that computes each result from the elements at the same place ([`SIZES`](Self::SIZES) is there):
    /// - `len` is at least 1.
    /// - `len` elements are readable at each source that the kernel has: one after another; one for all where [`SAME`] says so; every
    ///   second one from the source on with [`SECONDS`] (what lies between is memory, which others may write); with [`REVERSED`], each
    ///   before the one that it follows.
    /// - `len` results are writable at `dst`, and nothing else accesses them. All are aligned to their types.
    /// - A source begins at `dst`, with elements of the results' size one after another, or overlaps no result.
    /// - No flags are set but [`OWN`](Self::OWN): [`blocks`] has done what the others say.
    ///
    /// A kernel without [`SIZES`](Self::SIZES) says itself what its arguments are, and whoever calls it has read that.
    unsafe fn run(dst: *mut u8, src: [*const u8; 3], flags: u32, len: usize);
}

/// An instruction set whose entry points a kernel can call, to share their code instead of having it inlined once more.
pub(super) trait Level {
    /// Its vectors of `float32`.
    type F32: Lane<Elem = f32>;
    /// Its vectors of `float64`.
    type F64: Lane<Elem = f64>;
    /// A kernel's entry point.
    fn entry<K: Kernel>() -> StepFn;
    /// A function of 16-bit floats, by those of `float32` and `float64`.
    ///
    /// # Safety
    /// The contract of [`half_map::run`], and the processor has the level's features.
    unsafe fn halves<H: Half>(
        functions: [StepFn; 2],
        arity: usize,
        dst: *mut u8,
        src: [*const u8; 3],
        flags: u32,
        len: usize,
    );
}

/// A kernel for each vector type.
pub(super) trait LaneKernel {
    /// The kernel over one of them.
    type At<V: Lane>: Kernel;
}

macro_rules! level {
    ($name:ident $isa:ident $($feature:literal)?) => {
        mod $name {
            use super::{Dense, Half, Kernel, StepFn, blocks, half_map};
            use crate::simd;

            /// This level.
            pub(in super::super) struct Level;
            impl super::Level for Level {
                type F32 = simd::$name::F32;
                type F64 = simd::$name::F64;
                fn entry<K: Kernel>() -> StepFn {
                    enter::<K>
                }
                #[inline(always)]
                unsafe fn halves<H: Half>(
                    functions: [StepFn; 2], arity: usize, dst: *mut u8, src: [*const u8; 3], flags: u32, len: usize,
                ) {
                    // SAFETY: the contract of `half_map::run` holds, and the processor has the level's
                    // features, which `halves` is compiled for.
                    unsafe { halves::<H>(functions, arity, dst, src, flags, len) }
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
                // `blocks` leaves it.
                unsafe {
                    if const { K::SIZES.is_some() } && flags & !K::OWN != 0 {
                        let dense = const { &Dense::of::<K>(enter::<K>, simd::Isa::$isa) };
                        return blocks::run(dense, dst, a, b, c, flags, len);
                    }
                    K::run(dst, [a, b, c], flags, len);
                }
            }

            /// [`half_map::run`] compiled for this level.
            ///
            /// # Safety
            /// The contract of that, and the processor has the level's features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn halves<H: Half>(
                functions: [StepFn; 2], arity: usize, dst: *mut u8, src: [*const u8; 3], flags: u32, len: usize,
            ) {
                // SAFETY: the contract of `half_map::run` holds, and the processor has the level's features.
                unsafe { half_map::run::<H>(functions, arity, dst, src, flags, len) }
            }
        }
    };
}
level!(base Scalar);
#[cfg(all(target_arch = "x86_64", feature = "avx2"))]
level!(avx2 Avx2 "avx2,fma,f16c,popcnt");
#[cfg(all(target_arch = "x86_64", feature = "avx512"))]
level!(avx512 Avx512 "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,popcnt");

/// A kernel's entry point of a level.
pub(super) fn entry<K: Kernel>(isa: Isa) -> StepFn {
    match isa {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        Isa::Avx512 => avx512::enter::<K>,
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        Isa::Avx2 => avx2::enter::<K>,
        _ => base::enter::<K>,
    }
}

/// A kernel for each level.
pub(super) trait LevelKernel {
    /// The kernel of one of them.
    type At<L: Level>: Kernel;
}

/// The entry point of a level's own kernel.
pub(super) fn level_entry<K: LevelKernel>(isa: Isa) -> StepFn {
    match isa {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        Isa::Avx512 => avx512::enter::<K::At<avx512::Level>>,
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        Isa::Avx2 => avx2::enter::<K::At<avx2::Level>>,
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
        _ => of!(base),
    })
}

/// The entry point of a function with a long body: over vectors of `float32` and `float64`, and through these for the
/// 16-bit floats.
pub(super) fn function_entry<W: LaneFn<K>, const K: usize>(isa: Isa, dtype: Dtype) -> Option<StepFn> {
    macro_rules! of {
        ($level:ident) => {
            match dtype {
                Dtype::F16 => $level::enter::<HalfMap<$level::Level, f16, W, K>>,
                Dtype::Bf16 => $level::enter::<HalfMap<$level::Level, bf16, W, K>>,
                Dtype::F32 => $level::enter::<LaneFunction<simd::$level::F32, W, K>>,
                Dtype::F64 => $level::enter::<LaneFunction<simd::$level::F64, W, K>>,
                _ => return None,
            }
        };
    }
    Some(match isa {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        Isa::Avx512 => of!(avx512),
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        Isa::Avx2 => of!(avx2),
        _ => of!(base),
    })
}

/// The entry point of a [`WideKernel`] of a level.
macro_rules! wide {
    ($level:ident, $K:ident, $dtype:ident) => {
        match $dtype {
            Dtype::F32 => Some($level::enter::<$K::At<simd::$level::F32, f32>>),
            Dtype::F64 => Some($level::enter::<$K::At<simd::$level::F64, f64>>),
            _ => None,
        }
    };
}

/// As [`lane_entry`] for kernels that only handle bits or wide accumulators: `float32` and `float64` alone.
pub(super) fn wide_entry<K: WideKernel>(isa: Isa, dtype: Dtype) -> Option<StepFn> {
    match isa {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        Isa::Avx512 => wide!(avx512, K, dtype),
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        Isa::Avx2 => wide!(avx2, K, dtype),
        _ => wide!(base, K, dtype),
    }
}

/// Whether a level has functions for two steps at once: of several that a build has, all but the lowest.
pub(super) fn has_pairs(isa: Isa) -> bool {
    !cfg!(all(target_arch = "x86_64", feature = "avx2")) || isa != Isa::Scalar
}

/// [`wide_entry`] of those levels that [`has_pairs`].
pub(super) fn pair_entry<K: WideKernel>(isa: Isa, dtype: Dtype) -> Option<StepFn> {
    match isa {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        Isa::Avx512 => wide!(avx512, K, dtype),
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        Isa::Avx2 => wide!(avx2, K, dtype),
        #[cfg(not(all(target_arch = "x86_64", feature = "avx2")))]
        _ => wide!(base, K, dtype),
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        _ => None,
    }
}

/// A kernel for vectors of `float16`.
pub(super) trait HalfKernel {
    /// The kernel over one of them.
    type At<V: HalfLane>: Kernel;
}

/// The entry point over a level's vectors of `float16`; `None` where the processor has no instructions for their conversion.
pub(super) fn half_entry<K: HalfKernel>(isa: Isa) -> Option<StepFn> {
    match isa {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        Isa::Avx512 => Some(avx512::enter::<K::At<simd::avx512::F16>>),
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        Isa::Avx2 => Some(avx2::enter::<K::At<simd::avx2::F16>>),
        _ => None,
    }
}

/// A kernel for vectors of bytes.
pub(super) trait BytesKernel {
    /// The kernel over one of them.
    type At<V: Bytes>: Kernel;
}

/// The entry point over a level's vectors of bytes.
pub(super) fn bytes_entry<K: BytesKernel>(isa: Isa) -> StepFn {
    match isa {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        Isa::Avx512 => avx512::enter::<K::At<simd::avx512::U8>>,
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        Isa::Avx2 => avx2::enter::<K::At<simd::avx2::U8>>,
        _ => base::enter::<K::At<simd::base::U8>>,
    }
}

/// A kernel for the vectors of `float32` and `float64`.
pub(super) trait WideKernel {
    /// The kernel over one of them.
    type At<V: Lane<Elem = T>, T: stridewise_core::ops::Float>: Kernel;
}

/// A kernel for vectors of integers that are sorted.
pub(super) trait OrderedKernel {
    /// The kernel over one of them.
    type At<V: Ordered>: Kernel;
}

/// The entry point over a level's vectors of integers of so many bytes; `None` where it has none.
pub(super) fn ordered_entry<K: OrderedKernel>(isa: Isa, size: usize) -> Option<StepFn> {
    match (isa, size) {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        (Isa::Avx512, 4) => Some(avx512::enter::<K::At<simd::avx512::I32>>),
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        (Isa::Avx512, 8) => Some(avx512::enter::<K::At<simd::avx512::I64>>),
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        (Isa::Avx2, 4) => Some(avx2::enter::<K::At<simd::avx2::I32>>),
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        (Isa::Avx2, 8) => Some(avx2::enter::<K::At<simd::avx2::I64>>),
        _ => None,
    }
}
