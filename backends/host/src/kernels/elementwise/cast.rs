//! Conversions between all pairs of dtypes.
//!
//! Integers wrap; floats round to nearest even, once; floats to integers truncate and saturate with NaN → 0; anything
//! but zero is true; complex to real drops the imaginary part; 64-bit integers reach 16-bit floats through `float32`.

use std::marker::PhantomData;

use stridewise_core::{Complex, Dtype, bf16, f16, for_each_dtype};

use super::blocks::around;
use crate::kernels::entry::{Around, HalfKernel, Kernel, StepFn, entry, half_entry};
use crate::kernels::plain::unsigned;
use crate::simd::{HalfLane, Isa, Lane};

/// A `bool` in memory: any byte but 0 is true.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Byte(u8);

/// What an element converts through: each source offers its value as a number, each target picks from it.
pub(crate) trait To<D> {
    fn to(self) -> D;
}

macro_rules! from_number {
    ($S:ty: $($D:ty)*) => {$(
        impl To<$D> for $S {
            #[inline(always)]
            fn to(self) -> $D { self as $D }
        }
    )*};
}
macro_rules! numbers {
    ($($S:ty)*) => {$(
        impl To<Byte> for $S {
            #[inline(always)]
            fn to(self) -> Byte { Byte(u8::from(self != (0 as $S))) }
        }
        impl To<Complex<f32>> for $S {
            #[inline(always)]
            fn to(self) -> Complex<f32> { Complex::new(self as f32, 0.0) }
        }
        impl To<Complex<f64>> for $S {
            #[inline(always)]
            fn to(self) -> Complex<f64> { Complex::new(self as f64, 0.0) }
        }
    )*};
}
numbers!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
from_number!(i8: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
from_number!(i16: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
from_number!(i32: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
from_number!(i64: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
from_number!(u8: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
from_number!(u16: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
from_number!(u32: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
from_number!(u64: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
from_number!(f32: f32 f64);
from_number!(f64: f32 f64);

/// Floats to integers. Rust's `as` says the same, but the compiler makes a chain of scalar branches of it, except on AArch64, whose
/// instruction saturates: of integers as wide as the float, and of any of `f32`, it makes vectors of that there.
macro_rules! saturating {
    ($S:ty: $($D:ty)*) => {$(
        impl To<$D> for $S {
            #[inline(always)]
            fn to(self) -> $D {
                if cfg!(target_arch = "aarch64") && (size_of::<$S>() == 4 || size_of::<$D>() == 8) {
                    return self as $D;
                }
                const LOW: $S = <$D>::MIN as $S;
                // Half of the first power of two that is too large is exact in every float.
                const HIGH: $S = (<$D>::MAX / 2 + 1) as $S * 2.0;
                const TOP: $S = HIGH.next_down();
                let x = if self > LOW { self } else { LOW };
                let x = if x < TOP { x } else { TOP };
                // SAFETY: `x` is no NaN and lies from the smallest integer to the float below the first one that is
                // too large.
                let inside: $D = unsafe { x.to_int_unchecked() };
                let number = if self >= HIGH { <$D>::MAX } else { inside };
                if self.is_nan() { 0 } else { number }
            }
        }
    )*};
}
saturating!(f32: i8 i16 i32 i64 u8 u16 u32 u64);
saturating!(f64: i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! halves {
    ($via:ty, $half:ident, $bhalf:ident: $($S:ty)*) => {$(
        impl To<f16> for $S {
            #[inline(always)]
            fn to(self) -> f16 { f16::from_bits($half(self as $via)) }
        }
        impl To<bf16> for $S {
            #[inline(always)]
            fn to(self) -> bf16 { bf16::from_bits($bhalf(self as $via)) }
        }
    )*};
}
halves!(f32, half, bhalf: i8 i16 u8 u16 f32);
halves!(f64, half_of_double, bhalf_of_double: i32 u32 f64);
// What is beyond `float32`'s significand leaves a trace, as of doubles.
halves!(i128, half_of_integer, bhalf_of_integer: i64 u64);

/// The bits of the nearest `float16`, ties to even. Without branches, so that loops over it become vector code; the
/// `half` crate asks the processor's features at each element.
#[inline(always)]
fn half(x: f32) -> u16 {
    let bits = x.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    // Below the smallest normal number the addition of ½ rounds at the place of the last bit.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5_f32.to_bits());
    let odd = magnitude >> 13 & 1;
    let normal = magnitude.wrapping_add(0xc800_0fff).wrapping_add(odd) >> 13;
    let finite = if magnitude < 0x3880_0000 { subnormal } else { normal };
    let huge = if magnitude > 0x7f80_0000 { 0x7e00 } else { 0x7c00 };
    let value = if magnitude >= 0x4780_0000 { huge } else { finite };
    (value | bits >> 16 & 0x8000) as u16
}

/// The bits of the nearest `bfloat16`, ties to even.
#[inline(always)]
fn bhalf(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    (if x.is_nan() { bits >> 16 | 0x40 } else { rounded }) as u16
}

/// The `float32` whose last bit says whether anything was cut off ("rounding to odd"): rounding it again to a narrower
/// float is rounding once.
#[inline(always)]
fn to_odd(x: f64) -> f32 {
    let near = x as f32;
    let back = f64::from(near);
    let bits = near.to_bits();
    let cut = bits.wrapping_sub(u32::from(back.abs() > x.abs())) | 1;
    let exact = back == x || x.is_nan();
    f32::from_bits(if exact { bits } else { cut })
}

#[inline(always)]
fn half_of_double(x: f64) -> u16 {
    half(to_odd(x))
}

#[inline(always)]
fn bhalf_of_double(x: f64) -> u16 {
    bhalf(to_odd(x))
}

/// [`to_odd`] of an integer of 64 bits or their magnitude.
#[inline(always)]
fn integer_to_odd(x: i128) -> f32 {
    let magnitude = x.unsigned_abs() as u64;
    // All but the 24 bits of the significand.
    let beyond = 40_u32.saturating_sub(magnitude.leading_zeros());
    let kept = magnitude >> beyond;
    let odd = kept | u64::from(kept << beyond != magnitude);
    // Both factors and the product are exact.
    let near = odd as i64 as f32 * f32::from_bits((127 + beyond) << 23);
    if x < 0 { -near } else { near }
}

#[inline(always)]
fn half_of_integer(x: i128) -> u16 {
    half(integer_to_odd(x))
}

#[inline(always)]
fn bhalf_of_integer(x: i128) -> u16 {
    bhalf(integer_to_odd(x))
}

/// The value of a `float16`, exact.
#[inline(always)]
fn from_half(x: f16) -> f32 {
    let bits = u32::from(x.to_bits());
    let magnitude = (bits & 0x7fff) << 13;
    // 2¹¹²: the difference of the exponents' biases. Subnormal numbers become normal.
    let scaled = (f32::from_bits(magnitude) * f32::from_bits(0x7780_0000)).to_bits();
    let value = if bits & 0x7c00 == 0x7c00 { magnitude | 0x7f80_0000 } else { scaled };
    f32::from_bits(value | (bits & 0x8000) << 16)
}

/// The value of a `bfloat16`, exact.
#[inline(always)]
fn from_bhalf(x: bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}

/// A source that is first made another number without loss.
macro_rules! through {
    ($S:ty, |$v:ident| $number:expr => $N:ty: $($D:ty)*) => {$(
        impl To<$D> for $S {
            #[inline(always)]
            fn to(self) -> $D { let $v = self; To::<$D>::to($number as $N) }
        }
    )*};
}
through!(Byte, |v| u8::from(v.0 != 0) => u8: Byte i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 Complex<f32> Complex<f64>);
through!(f16, |v| from_half(v) => f32: Byte i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 Complex<f32> Complex<f64>);
through!(bf16, |v| from_bhalf(v) => f32: Byte i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 Complex<f32> Complex<f64>);
through!(Complex<f32>, |v| v.re => f32: i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);
through!(Complex<f64>, |v| v.re => f64: i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);

macro_rules! complex {
    ($($S:ty)*) => {$(
        impl To<Byte> for Complex<$S> {
            #[inline(always)]
            fn to(self) -> Byte { Byte(u8::from((self.re != 0.0) | (self.im != 0.0))) }
        }
        impl To<Complex<f32>> for Complex<$S> {
            #[inline(always)]
            fn to(self) -> Complex<f32> { Complex::new(self.re as f32, self.im as f32) }
        }
        impl To<Complex<f64>> for Complex<$S> {
            #[inline(always)]
            fn to(self) -> Complex<f64> { Complex::new(self.re as f64, self.im as f64) }
        }
    )*};
}
complex!(f32 f64);

struct Convert<S, D>(PhantomData<(S, D)>);
impl<S: To<D> + Copy, D: Copy> Kernel for Convert<S, D> {
    type Fn = StepFn;

    const AROUND: Option<Around> = around::<D, S>();

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [src, ..]: [*const u8; 3], _flags: u32, len: usize) {
        let (dst, src) = (dst.cast::<D>(), src.cast::<S>());
        let mut i = 0;
        while i < len {
            // SAFETY: `Kernel::run`'s contract; `i` is below `len`.
            unsafe { *dst.add(i) = (*src.add(i)).to() };
            i += 1;
        }
    }
}

/// `float16` to `float32`, or, `NARROW`, back.
struct HalfConvert<V, const NARROW: bool>(PhantomData<V>);
impl<V: HalfLane, const NARROW: bool> Kernel for HalfConvert<V, NARROW> {
    type Fn = StepFn;

    const AROUND: Option<Around> = if NARROW { around::<f16, f32>() } else { around::<f32, f16>() };

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [src, ..]: [*const u8; 3], _flags: u32, len: usize) {
        let mut i = 0;
        while i < len {
            let n = V::LEN.min(len - i);
            // SAFETY: `Kernel::run`'s contract; `i + n` is at most `len`.
            unsafe {
                if NARROW {
                    let single = V::Single::load_some(src.cast::<f32>().add(i), n);
                    V::narrow(single).store_some(dst.cast::<f16>().add(i), n);
                } else {
                    let half = V::load_some(src.cast::<f16>().add(i), n);
                    half.widen().store_some(dst.cast::<f32>().add(i), n);
                }
            }
            i += n;
        }
    }
}

/// [`HalfConvert`] for any vectors.
struct HalfConverts<const NARROW: bool>;
impl<const NARROW: bool> HalfKernel for HalfConverts<NARROW> {
    type Fn = StepFn;

    type At<V: HalfLane> = HalfConvert<V, NARROW>;
}

/// The conversion of one operand, which is never a scalar (see [`Code`](crate::kernels::program::code::Code)).
pub(crate) fn convert(from: Dtype, to: Dtype, isa: Isa) -> StepFn {
    let vectors = match (from, to) {
        (Dtype::F16, Dtype::F32) => half_entry::<HalfConverts<false>>(isa),
        (Dtype::F32, Dtype::F16) => half_entry::<HalfConverts<true>>(isa),
        _ => None,
    };
    vectors.unwrap_or_else(|| plain(from, to, isa))
}

/// The Rust type that a dtype's elements are read as.
macro_rules! memory {
    (Bool $t:ty) => {
        Byte
    };
    ($variant:ident $t:ty) => {
        $t
    };
}

/// The conversion to one dtype; between integers see [`between_integers`].
macro_rules! target {
    (Signed Signed $($rest:tt)*) => {
        None
    };
    (Signed Unsigned $($rest:tt)*) => {
        None
    };
    (Unsigned Signed $($rest:tt)*) => {
        None
    };
    (Unsigned Unsigned $($rest:tt)*) => {
        None
    };
    ($from:ident $to:ident $S:ty, $D:ty, $isa:expr) => {
        Some(entry::<Convert<$S, $D>>($isa))
    };
}

macro_rules! targets {
    (($to:expr, $isa:expr, $from:ident, $S:ty) $($variant:ident, $ty:ty, $name:literal, $kind:ident, $code:literal;)*) => {
        match $to { $(Dtype::$variant => target!($from $kind $S, memory!($variant $ty), $isa),)* }
    };
}

macro_rules! sources {
    ($($variant:ident, $ty:ty, $name:literal, $kind:ident, $code:literal;)*) => {
        /// The conversion element by element, of which the compiler makes vector code where it can.
        fn plain(from: Dtype, to: Dtype, isa: Isa) -> StepFn {
            let found = match from {
                $(Dtype::$variant => {
                    type S = memory!($variant $ty);
                    for_each_dtype!(targets [(to, isa, $kind, S)])
                })*
            };
            found.unwrap_or_else(|| between_integers(from, to, isa))
        }
    };
}
for_each_dtype!(sources);

/// The conversion of an integer, which wraps: what comes out has the same bits with a sign and without, and so it has for what goes
/// in, unless it becomes wider.
fn between_integers(from: Dtype, to: Dtype, isa: Isa) -> StepFn {
    use Dtype::{I8, I16, I32, U8, U16, U32, U64};
    let to = unsigned(to);
    let from = if to.size() > from.size() { from } else { unsigned(from) };
    macro_rules! of {
        ($($From:ident $S:ty: $($To:ident $D:ty)*;)*) => {
            match (from, to) {
                $($(($From, $To) => entry::<Convert<$S, $D>>(isa),)*)*
                // What is no integer is none of these.
                _ => entry::<Convert<u64, u64>>(isa),
            }
        };
    }
    of! {
        I8 i8: U16 u16 U32 u32 U64 u64;
        I16 i16: U32 u32 U64 u64;
        I32 i32: U64 u64;
        U8 u8: U8 u8 U16 u16 U32 u32 U64 u64;
        U16 u16: U8 u8 U16 u16 U32 u32 U64 u64;
        U32 u32: U8 u8 U16 u16 U32 u32 U64 u64;
        U64 u64: U8 u8 U16 u16 U32 u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every `float16`, and every place where rounding to one changes, by each level's vectors and element by element.
    #[test]
    fn half_precision_exhaustively() {
        let halves: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
        let mut singles: Vec<f32> = halves.iter().map(|&x| from_half(x)).collect();
        for pair in (0..0x7c00_u16).map(|bits| [bits, bits + 1].map(|bits| from_half(f16::from_bits(bits)))) {
            let middle = if pair[1].is_finite() { (pair[0] + pair[1]) / 2.0 } else { 65520.0 };
            let near = [middle.next_down(), middle, middle.next_up()];
            singles.extend(near.into_iter().flat_map(|x| [x, -x]));
        }
        // No whole number of vectors.
        singles.push(f32::MAX);
        let bits = |x: f16| if x.is_nan() { 0x7e00 } else { x.to_bits() };
        for &isa in Isa::available() {
            let mut wide = vec![0.0_f32; halves.len()];
            let mut narrow = vec![f16::from_bits(1); singles.len()];
            let (source, target) = (halves.as_ptr().cast(), wide.as_mut_ptr().cast());
            let (from, to) = (singles.as_ptr().cast(), narrow.as_mut_ptr().cast());
            // SAFETY: the vectors have as many elements of these types, and the processor has the level.
            unsafe {
                convert(Dtype::F16, Dtype::F32, isa)(target, source, source, source, 0, halves.len());
                convert(Dtype::F32, Dtype::F16, isa)(to, from, from, from, 0, singles.len());
            }
            for (&x, &found) in halves.iter().zip(&wide) {
                let want = from_half(x);
                assert!(
                    found.to_bits() == want.to_bits() || (found.is_nan() && x.is_nan()),
                    "{x} {}",
                    isa.name()
                );
            }
            for (&x, &found) in singles.iter().zip(&narrow) {
                assert_eq!(bits(found), bits(f16::from_bits(half(x))), "{x:e} {}", isa.name());
            }
        }
    }
}
