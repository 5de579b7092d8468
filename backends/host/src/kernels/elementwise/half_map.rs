//! Functions of 16-bit floats, through the same functions of `float32` and correctly rounded: where the `float32` result
//! is too close to the middle between two neighbours to tell which one is nearer, the `float64` function decides.
//! (A unit of `float64` is enough to tell: the exact results that are not in the middle themselves stay further away, as
//! an exhaustive test of the functions of one operand shows.)
//!
//! So there is one copy of each function's code per level, and rounding is correct: `float32`'s result,
//! rounded once more, would be wrong where it is too close to that middle. `cargo xtask ulp` measures it on
//! every level. The cost is two conversions and a check for each element, so such a function is slower than
//! that of `float32`, though it moves half the bytes. Short operations (`+`, `*`, comparisons) use `float32`
//! lanes with converting loads and stores (`simd/half.rs`), by the processor's instructions: element by
//! element they took 8 vector instructions to widen and 13 to narrow. Processors with arithmetic of 16-bit
//! floats (AVX-512 FP16, SVE) could do better, at least for short operations. Timing of functions is not
//! recorded.

use std::marker::PhantomData;

use stridewise_core::{bf16, f16};

use super::blocks::around;
use super::cast::To;
use super::map::{LaneFn, LaneFunction};
use crate::kernels::entry::{ALL_SAME, Around, Body, FunctionKernel, Kernel, Level, SAME, StepFn};
use crate::kernels::tuning::TILE_BYTES;
use crate::simd::Lane;

/// Elements that are converted at a time: three operands and the results have as many bytes as a tile.
const CHUNK: usize = TILE_BYTES / (4 * size_of::<f32>());
/// How far a `float32` result may be from the exact one, in units of its last place.
const DOUBT_ULP: u32 = 2;

/// A 16-bit float.
pub(crate) trait Half: To<f32> + To<f64> + Copy + PartialEq {
    fn of_single(value: f32) -> Self;
    fn of_double(value: f64) -> Self;
    /// The bits, to tell all values apart.
    fn bits(self) -> u16;
}

macro_rules! half {
    ($($t:ident)*) => {$(
        impl Half for $t {
            #[inline(always)]
            fn of_single(value: f32) -> Self { value.to() }
            #[inline(always)]
            fn of_double(value: f64) -> Self { value.to() }
            #[inline(always)]
            fn bits(self) -> u16 { self.to_bits() }
        }
    )*};
}
half!(f16 bf16);

/// Whether results a little smaller or larger would be rounded to something else. Zeros, infinities and NaN are exact.
#[inline(always)]
fn in_doubt<H: Half>(value: f32) -> bool {
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let ordinary = magnitude.wrapping_sub(DOUBT_ULP + 1) < 0x7f80_0000 - 2 * DOUBT_ULP;
    let (low, high) =
        (f32::from_bits(bits.wrapping_sub(DOUBT_ULP)), f32::from_bits(bits.wrapping_add(DOUBT_ULP)));
    ordinary & (H::of_single(low).bits() != H::of_single(high).bits())
}

/// A function over 16-bit floats.
pub(crate) struct HalfMap<L, H, W, const K: usize>(PhantomData<(L, H, W)>);
impl<L: Level, H: Half, W: LaneFn<K>, const K: usize> Kernel for HalfMap<L, H, W, K> {
    type Fn = StepFn;

    const AROUND: Option<Around> = around::<H, H>();
    const OWN: u32 = ALL_SAME;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: [*const u8; 3], flags: u32, len: usize) {
        let functions = [L::entry::<LaneFunction<L::F32, W, K>>(), L::entry::<LaneFunction<L::F64, W, K>>()];
        let body = Halves::<H> { functions, arity: K, dst, src, flags, len, of: PhantomData };
        // SAFETY: the contract of the body is this one; the level is the one that this is compiled for, and
        // so are the functions.
        unsafe { L::within(body) }
    }
}

/// The kernels of a function of floats.
pub(crate) struct Functions<W, const K: usize>(PhantomData<W>);
impl<W: LaneFn<K>, const K: usize> FunctionKernel for Functions<W, K> {
    type At<V: Lane> = LaneFunction<V, W, K>;
    type F16<L: Level> = HalfMap<L, f16, W, K>;
    type Bf16<L: Level> = HalfMap<L, bf16, W, K>;
}

/// A call of a function of so many operands of `float32`, and, where there is doubt, of `float64`, over 16-bit floats.
struct Halves<H> {
    functions: [StepFn; 2],
    arity: usize,
    dst: *mut u8,
    src: [*const u8; 3],
    flags: u32,
    len: usize,
    of: PhantomData<H>,
}

impl<H: Half> Body for Halves<H> {
    /// # Safety
    /// [`Kernel::run`]'s contract; the functions are of the level that this is compiled for.
    #[inline(always)]
    unsafe fn run(self) {
        let Self { functions: [single, double], arity, dst, src, flags, len, .. } = self;
        let dst = dst.cast::<H>();
        let mut operands = [[0.0_f32; CHUNK]; 3];
        let mut results = [0.0_f32; CHUNK];
        let mut start = 0;
        while start < len {
            let count = CHUNK.min(len - start);
            let mut from = [operands[0].as_ptr().cast::<u8>(); 3];
            for k in 0..arity {
                let same = flags >> k & SAME == SAME;
                let at = src[k].cast::<H>().wrapping_add(if same { 0 } else { start });
                for (i, value) in operands[k].iter_mut().enumerate().take(if same { 1 } else { count }) {
                    // SAFETY: `len` elements of each operand are readable, one where the flag says so; `start +
                    // i` is below `len`.
                    *value = unsafe { *at.add(i) }.to();
                }
                from[k] = operands[k].as_ptr().cast();
            }
            // SAFETY: the buffers hold `count` elements, and the results are none of the operands.
            unsafe { single(results.as_mut_ptr().cast(), from[0], from[1], from[2], flags, count) };
            let mut doubtful = false;
            for (i, &result) in results.iter().enumerate().take(count) {
                doubtful |= in_doubt::<H>(result);
                // SAFETY: `len` elements are writable, and those of this chunk were read, should they be
                // operands.
                unsafe { *dst.add(start + i) = H::of_single(result) };
            }
            for (i, &result) in results.iter().enumerate().take(if doubtful { count } else { 0 }) {
                if in_doubt::<H>(result) {
                    let mut wide = [0.0_f64; 3];
                    for k in 0..arity {
                        wide[k] = f64::from(operands[k][if flags >> k & SAME == SAME { 0 } else { i }]);
                    }
                    let mut exact = 0.0_f64;
                    let [a, b, c] = [0, 1, 2].map(|k: usize| (&raw const wide[k]).cast::<u8>());
                    // SAFETY: one element of each operand is on the stack, aligned, and the result is none of
                    // them.
                    unsafe { double((&raw mut exact).cast(), a, b, c, 0, 1) };
                    // SAFETY: `start + i` is below `len`.
                    unsafe { *dst.add(start + i) = H::of_double(exact) };
                }
            }
            start += count;
        }
    }
}
