//! Conversions between all pairs of dtypes.
//!
//! Integers wrap; floats round to nearest even, once; floats to integers truncate and saturate with NaN → 0; anything
//! but zero is true; complex to real drops the imaginary part; 64-bit integers reach 16-bit floats through `float32`.

use std::marker::PhantomData;

use stridewise_core::{Complex, Dtype, bf16, f16, for_each_dtype};

use super::entry::{Kernel, StepFn, entry};
use crate::simd::Isa;

/// A `bool` in memory: any byte but 0 is true.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Byte(u8);

/// What an element converts through: each source offers its value as a number, each target picks from it.
trait To<D> {
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
        from_number!($S: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
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

macro_rules! halves {
    ($via:ty, $convert:ident: $($S:ty)*) => {$(
        impl To<f16> for $S {
            #[inline(always)]
            fn to(self) -> f16 { f16::$convert(self as $via) }
        }
        impl To<bf16> for $S {
            #[inline(always)]
            fn to(self) -> bf16 { bf16::$convert(self as $via) }
        }
    )*};
}
halves!(f32, from_f32: i8 i16 i64 u8 u16 u64 f32);
halves!(f64, from_f64: i32 u32 f64);

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
through!(f16, |v| v.to_f32() => f32: Byte i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 Complex<f32> Complex<f64>);
through!(bf16, |v| v.to_f32() => f32: Byte i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 Complex<f32> Complex<f64>);
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
    #[inline(always)]
    unsafe fn run(dst: *mut u8, [src, ..]: [*const u8; 3], _flags: u32, len: usize) {
        let (dst, src) = (dst.cast::<D>(), src.cast::<S>());
        for i in 0..len {
            // SAFETY: `Kernel::run`'s contract; `i` is below `len`.
            unsafe { *dst.add(i) = (*src.add(i)).to() };
        }
    }
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

macro_rules! targets {
    (($to:expr, $isa:expr, $S:ty) $($variant:ident, $ty:ty, $name:literal, $kind:ident, $code:literal;)*) => {
        match $to { $(Dtype::$variant => entry::<Convert<$S, memory!($variant $ty)>>($isa),)* }
    };
}

macro_rules! sources {
    ($($variant:ident, $ty:ty, $name:literal, $kind:ident, $code:literal;)*) => {
        /// The conversion of one operand, which is never a scalar (see [`Code`](super::code::Code)).
        pub(super) fn convert(from: Dtype, to: Dtype, isa: Isa) -> StepFn {
            match from {
                $(Dtype::$variant => {
                    type S = memory!($variant $ty);
                    for_each_dtype!(targets [(to, isa, S)])
                })*
            }
        }
    };
}
for_each_dtype!(sources);
