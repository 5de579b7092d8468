//! Scalars as the loops over them have them: how they lie in memory, and what they are computed as.

use std::num::Wrapping;
use std::ops::{BitAnd, BitOr, BitXor, Not};

use stridewise_core::{Complex, Dtype};

/// A scalar that is computed with, and how it lies in memory.
pub(super) trait Plain: Copy {
    type Mem: Copy;
    type Value: Copy;
    fn get(mem: Self::Mem) -> Self::Value;
    fn put(value: Self::Value) -> Self::Mem;
}

macro_rules! plain_int {
    ($($t:ty)*) => {$(
        impl Plain for $t {
            type Mem = $t;
            type Value = Wrapping<$t>;
            #[inline(always)]
            fn get(mem: $t) -> Wrapping<$t> { Wrapping(mem) }
            #[inline(always)]
            fn put(value: Wrapping<$t>) -> $t { value.0 }
        }
    )*};
}
plain_int!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! plain_itself {
    ($($t:ty)*) => {$(
        impl Plain for $t {
            type Mem = $t;
            type Value = $t;
            #[inline(always)]
            fn get(mem: $t) -> $t { mem }
            #[inline(always)]
            fn put(value: $t) -> $t { value }
        }
    )*};
}
plain_itself!(f32 f64 Complex<f32> Complex<f64>);

/// `bool` as an ordered number. In memory any byte but 0 is true, so it is never read as Rust's `bool`.
#[derive(Clone, Copy)]
pub(super) struct Truth;
impl Plain for Truth {
    type Mem = u8;
    type Value = Wrapping<u8>;
    #[inline(always)]
    fn get(mem: u8) -> Wrapping<u8> {
        Wrapping(u8::from(mem != 0))
    }
    #[inline(always)]
    fn put(value: Wrapping<u8>) -> u8 {
        value.0
    }
}

/// `bool` as one bit, kept in a byte that is 0 or 1.
#[derive(Clone, Copy)]
pub(super) struct Flag(u8);
impl Plain for Flag {
    type Mem = u8;
    type Value = Self;
    #[inline(always)]
    fn get(mem: u8) -> Self {
        Self(u8::from(mem != 0))
    }
    #[inline(always)]
    fn put(value: Self) -> u8 {
        value.0
    }
}
impl BitAnd for Flag {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}
impl BitOr for Flag {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
impl BitXor for Flag {
    type Output = Self;
    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
}
impl Not for Flag {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// The unsigned integer of a signed one's width, for what only sees bits; any other dtype itself.
pub(super) fn unsigned(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::I8 => Dtype::U8,
        Dtype::I16 => Dtype::U16,
        Dtype::I32 => Dtype::U32,
        Dtype::I64 => Dtype::U64,
        other => other,
    }
}
