//! Lanes of 16-bit floats: f32 lanes with converting loads and stores.

use std::ops::{Add, Div, Mul, Neg, Sub};

use half::{bf16, f16};
use stridewise_core::ops::{Alg, Analytic, Field, Float, Parts, Real};

use super::{HalfMemory, Lane, MAX_LEN};

macro_rules! half_lane {
    ($name:ident, $elem:ident, $load:ident, $store:ident, $stream:ident, $nextafter:ident, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy)]
        pub(crate) struct $name<V>(V);

        half_lane!(@operators $name, Add add +, Sub sub -, Mul mul *, Div div /);
        impl<V: HalfMemory> Neg for $name<V> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self(-self.0)
            }
        }
        impl<V: HalfMemory> Alg for $name<V> {
            type Mask = V::Mask;
            #[inline(always)]
            fn lit(self, c: f64) -> Self {
                Self(self.0.lit(c))
            }
            #[inline(always)]
            fn equal(self, b: Self) -> V::Mask {
                self.0.equal(b.0)
            }
            #[inline(always)]
            fn select(mask: V::Mask, yes: Self, no: Self) -> Self {
                Self(V::select(mask, yes.0, no.0))
            }
            #[inline(always)]
            fn is_finite(self) -> V::Mask {
                self.0.is_finite()
            }
            #[inline(always)]
            fn is_infinite(self) -> V::Mask {
                self.0.is_infinite()
            }
            half_lane!(@forward sign(); conj(); round(); pow(exponent););
        }
        impl<V: HalfMemory> Parts for $name<V> {
            type Part = Self;
            half_lane!(@forward abs(); real(); imag(););
        }
        impl<V: HalfMemory> Field for $name<V> {}
        impl<V: HalfMemory> Real for $name<V> {
            #[inline(always)]
            fn less(self, b: Self) -> V::Mask {
                self.0.less(b.0)
            }
            #[inline(always)]
            fn less_equal(self, b: Self) -> V::Mask {
                self.0.less_equal(b.0)
            }
            half_lane!(@forward minimum(b); maximum(b); floor(); ceil(); trunc(); floor_divide(b); remainder(b););
        }
        impl<V: HalfMemory> Analytic for $name<V> {
            half_lane!(@forward sqrt(); exp(); exp2(); expm1(); log(); log1p(); log2(); log10(); sin(); cos(); tan();
                asin(); acos(); atan(); sinh(); cosh(); tanh(); asinh(); acosh(); atanh(););
        }
        impl<V: HalfMemory> Float for $name<V> {
            half_lane!(@forward mul_add(b, c); atan2(x); hypot(b); logaddexp(b); cbrt(); rsqrt(); erf(); sigmoid();
                copysign(b););
            #[inline(always)]
            fn nextafter(self, other: Self) -> Self {
                Self(super::math::$nextafter(self.0, other.0))
            }
        }
        impl<V: HalfMemory> Lane for $name<V> {
            type Elem = $elem;
            const LEN: usize = V::LEN;
            #[inline(always)]
            unsafe fn load(p: *const $elem) -> Self {
                // SAFETY: `p` is readable for a vector's elements; f16 and bf16 are u16 in memory.
                Self(unsafe { V::$load(p.cast()) })
            }
            #[inline(always)]
            unsafe fn load_part(p: *const $elem, len: usize) -> Self {
                let mut buffer = [$elem::from_bits(0); MAX_LEN];
                // SAFETY: `p` is readable for len < LEN ≤ MAX_LEN elements, and the buffer has MAX_LEN.
                unsafe {
                    std::ptr::copy_nonoverlapping(p, buffer.as_mut_ptr(), len);
                    Self::load(buffer.as_ptr())
                }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $elem) {
                // SAFETY: `p` is writable for a vector's elements; f16 and bf16 are u16 in memory.
                unsafe { self.0.$store(p.cast()) }
            }
            #[inline(always)]
            unsafe fn store_part(self, p: *mut $elem, len: usize) {
                let mut buffer = [$elem::from_bits(0); MAX_LEN];
                // SAFETY: the buffer has MAX_LEN ≥ LEN elements, and `p` is writable for len < LEN.
                unsafe {
                    self.store(buffer.as_mut_ptr());
                    std::ptr::copy_nonoverlapping(buffer.as_ptr(), p, len);
                }
            }
            #[inline(always)]
            unsafe fn stream(self, p: *mut $elem) {
                // SAFETY: `p` is writable for a vector's elements and aligned to its bytes; f16 and bf16 are
                // u16 in memory.
                unsafe { self.0.$stream(p.cast()) }
            }
            #[inline(always)]
            unsafe fn splat(v: $elem) -> Self {
                // SAFETY: the processor has the level's features.
                Self(unsafe { V::splat(v.to_f32()) })
            }
            #[inline(always)]
            fn pieces(a: Self, b: Self, half: usize) -> [Self; 2] {
                V::pieces(a.0, b.0, half).map(Self)
            }
            #[inline(always)]
            fn raised(self, x: Self) -> Self {
                Self(self.0.raised(x.0))
            }
            #[inline(always)]
            fn lowered(self, x: Self) -> Self {
                Self(self.0.lowered(x.0))
            }
            #[inline(always)]
            unsafe fn mask_to_bytes(mask: V::Mask, p: *mut u8, len: usize) {
                // SAFETY: `p` is writable for `len` bytes, no more than a vector has elements; lanes of `V`
                // are as many.
                unsafe { V::mask_to_bytes(mask, p, len) }
            }
            #[inline(always)]
            unsafe fn mask_from_bytes(p: *const u8, len: usize) -> V::Mask {
                // SAFETY: `p` is readable for `len` bytes, no more than a vector has elements; lanes of `V`
                // are as many.
                unsafe { V::mask_from_bytes(p, len) }
            }
        }
    };
    (@operators $name:ident, $($Trait:ident $method:ident $op:tt),*) => {$(
        impl<V: HalfMemory> $Trait for $name<V> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, b: Self) -> Self {
                Self(self.0 $op b.0)
            }
        }
    )*};
    (@forward $($method:ident($($arg:ident),*);)*) => {$(
        #[inline(always)]
        fn $method(self, $($arg: Self),*) -> Self {
            Self(self.0.$method($($arg.0),*))
        }
    )*};
}

half_lane!(
    F16,
    f16,
    load_f16,
    store_f16,
    stream_f16,
    nextafter_f16,
    "IEEE half-precision floats in f32 lanes `V`."
);
half_lane!(
    Bf16,
    bf16,
    load_bf16,
    store_bf16,
    stream_bf16,
    nextafter_bf16,
    "bfloat16 floats in f32 lanes `V`."
);

/// Lanes of `float16` and those of `float32` that they are computed in.
pub(crate) trait HalfLane: Lane<Elem = f16> {
    /// Lanes of f32, as many.
    type Single: Lane<Elem = f32>;

    /// The lanes, exactly.
    fn widen(self) -> Self::Single;
    /// Each lane, which is rounded to nearest when it is stored.
    fn narrow(single: Self::Single) -> Self;
}

impl<V: HalfMemory> HalfLane for F16<V> {
    type Single = V;

    #[inline(always)]
    fn widen(self) -> V {
        self.0
    }
    #[inline(always)]
    fn narrow(single: V) -> Self {
        Self(single)
    }
}
