//! The base level: `wide`'s vectors of 128 bits, on every target.
//!
//! It is the level that other levels are compared with, and the only one where there is neither AVX2 nor
//! AVX-512. `lanes!` implements [`Lane`] and `FloatBits` for `F32` and `F64` at once; 16-bit floats are
//! computed in `F32` (`half.rs`). Everything rounds as the other levels do: where the target has no fused
//! multiply-add, it is computed exactly (`fma_f32` by `float64`, `fma_f64` by the scalars' own), and a
//! minimum of zeros of unlike sign is −0.
//!
//! Loads and stores are at any alignment, and `load_part` and `store_part` touch the elements that they are
//! told and no byte more: kernels rely on it at the end of memory. Where `wide` has no instruction for
//! something, it is an array and a loop, which the compiler vectorises or not; that is the limit of this
//! level, and not worth assembly as long as most processors have AVX2.

use stridewise_core::ops::Float;
use wide::{f32x4, f64x2, i32x4, i64x2, u32x4, u64x2};

use super::{Bytes, FloatBits, HalfMemory, Lane, MAX_LEN, Single, float_lane, mask_type};

/// Four f32.
#[derive(Clone, Copy)]
pub(crate) struct F32(f32x4);
/// Two f64.
#[derive(Clone, Copy)]
pub(crate) struct F64(f64x2);
/// Eight bytes.
#[derive(Clone, Copy)]
pub(crate) struct U8(u64);
/// Four f16, computed in f32.
pub(crate) type F16 = super::half::F16<F32>;
/// Four bf16, computed in f32.
pub(crate) type Bf16 = super::half::Bf16<F32>;

/// Whether `wide`'s `mul_add` rounds once on the target that this is built for.
const FUSED: bool = cfg!(any(
    all(target_arch = "x86_64", target_feature = "fma"),
    all(target_arch = "aarch64", target_feature = "neon")
));

macro_rules! lanes {
    ($name:ident, $elem:ident, $reg:ident, $mask:ident, $len:literal, $bits:ident, $signed:ident, $int:ty,
     $fma:ident, $stream:ident, $seconds:ident) => {
        mask_type!($mask, $reg, and: |a, b| a & b, or: |a, b| a | b, xor: |a, b| a ^ b, not: |a| !a);

        float_lane!($name, $elem, $mask,
            add: |a, b| a + b, sub: |a, b| a - b, mul: |a, b| a * b, div: |a, b| a / b,
            neg: |a| a ^ $reg::splat(-0.0),
            fma: |a, b, c| if FUSED { a.mul_add(b, c) } else { $fma(a, b, c) },
            sqrt: |a| a.sqrt(), abs: |a| a & !$reg::splat(-0.0),
            floor: |a| super::math::floor($name(a)).0, ceil: |a| super::math::ceil($name(a)).0,
            trunc: |a| super::math::trunc($name(a)).0, round: |a| super::math::round($name(a)).0,
            minimum: |a, b| {
                // Zeros of unlike sign are equal: their union is −0.
                let smaller = a.simd_lt(b).bitselect(a, a.simd_eq(b).bitselect(a | b, b));
                a.is_nan().bitselect(a, smaller)
            },
            maximum: |a, b| {
                let larger = b.simd_lt(a).bitselect(a, a.simd_eq(b).bitselect(a & b, b));
                a.is_nan().bitselect(a, larger)
            },
            equal: |a, b| $mask(a.simd_eq(b)), less: |a, b| $mask(a.simd_lt(b)),
            less_equal: |a, b| $mask(a.simd_le(b)), select: |m, yes, no| m.0.bitselect(yes, no),
            lit: |c| $reg::splat(c));

        impl Lane for $name {
            type Elem = $elem;
            const LEN: usize = $len;
            #[inline(always)]
            unsafe fn load(p: *const $elem) -> Self {
                // SAFETY: `p` is readable for a vector's elements, at any alignment.
                Self($reg::from(unsafe { p.cast::<[$elem; $len]>().read_unaligned() }))
            }
            #[inline(always)]
            unsafe fn load_part(p: *const $elem, len: usize) -> Self {
                let mut array = [0.0; $len];
                debug_assert!(len <= $len);
                // SAFETY: `p` is readable for `len` elements, fewer than the array has.
                unsafe {
                    let (to, bytes) = (array.as_mut_ptr().cast::<u8>(), len * size_of::<$elem>());
                    std::ptr::copy_nonoverlapping(p.cast::<u8>(), to, bytes);
                }
                Self($reg::from(array))
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $elem) {
                // SAFETY: `p` is writable for a vector's elements, at any alignment.
                unsafe { p.cast::<[$elem; $len]>().write_unaligned(self.0.to_array()) };
            }
            #[inline(always)]
            unsafe fn store_part(self, p: *mut $elem, len: usize) {
                let array = self.0.to_array();
                debug_assert!(len <= $len);
                // SAFETY: `p` is writable for `len` elements, fewer than the array has.
                unsafe {
                    let (from, bytes) = (array.as_ptr().cast::<u8>(), len * size_of::<$elem>());
                    std::ptr::copy_nonoverlapping(from, p.cast::<u8>(), bytes);
                }
            }
            #[inline(always)]
            unsafe fn stream(self, p: *mut $elem) {
                // SAFETY: `p` is writable for a vector's elements and aligned to its bytes; SSE2 belongs to
                // every x86-64.
                #[cfg(target_arch = "x86_64")]
                unsafe {
                    std::arch::x86_64::$stream(p, bytemuck::cast(self.0));
                }
                // SAFETY: `p` is writable for a vector's elements.
                #[cfg(not(target_arch = "x86_64"))]
                unsafe {
                    self.store(p);
                }
            }
            #[inline(always)]
            unsafe fn splat(v: $elem) -> Self {
                Self($reg::splat(v))
            }
            #[inline(always)]
            unsafe fn load_seconds(p: *const $elem) -> Self {
                // SAFETY: every other element from `p` on is readable, as many as a vector has, and another
                // one lies behind the last.
                unsafe { $seconds(p) }
            }
            #[inline(always)]
            fn pieces(a: Self, b: Self, half: usize) -> [Self; 2] {
                let from = [a.0.to_array(), b.0.to_array()];
                let lane = |i: usize, odd: usize| from[i / half % 2][i / (2 * half) * 2 * half + odd * half + i % half];
                [0, 1].map(|odd| Self($reg::from(std::array::from_fn::<$elem, $len, _>(|i| lane(i, odd)))))
            }
            #[inline(always)]
            fn raised(self, x: Self) -> Self {
                Self(self.0.simd_lt(x.0).bitselect(x.0, self.0))
            }
            #[inline(always)]
            fn lowered(self, x: Self) -> Self {
                Self(x.0.simd_lt(self.0).bitselect(x.0, self.0))
            }
            #[inline(always)]
            unsafe fn mask_to_bytes(mask: $mask, p: *mut u8, len: usize) {
                let lanes: [$int; $len] = bytemuck::cast(mask.0);
                let bytes = lanes.map(|lane| (lane & 1) as u8);
                debug_assert!(len <= $len);
                // SAFETY: `p` is writable for `len` bytes, no more than the array has.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), p, len) };
            }
            #[inline(always)]
            unsafe fn mask_from_bytes(p: *const u8, len: usize) -> $mask {
                let mut bytes = [0u8; $len];
                debug_assert!(len <= $len);
                // SAFETY: `p` is readable for `len` bytes, no more than the array has.
                unsafe { std::ptr::copy_nonoverlapping(p, bytes.as_mut_ptr(), len) };
                $mask(bytemuck::cast(bytes.map(|byte| if byte == 0 { 0 } else { <$int>::MAX })))
            }
        }

        impl FloatBits for $name {
            type Bits = $bits;
            #[inline(always)]
            fn to_bits(self) -> $bits {
                bytemuck::cast(self.0)
            }
            #[inline(always)]
            fn from_bits(bits: $bits) -> Self {
                Self(bytemuck::cast(bits))
            }
            #[inline(always)]
            fn bits(self, value: i64) -> $bits {
                $bits::splat(value as $int)
            }
            #[inline(always)]
            fn bits_and(a: $bits, b: $bits) -> $bits {
                a & b
            }
            #[inline(always)]
            fn bits_or(a: $bits, b: $bits) -> $bits {
                a | b
            }
            #[inline(always)]
            fn bits_xor(a: $bits, b: $bits) -> $bits {
                a ^ b
            }
            #[inline(always)]
            fn bits_add(a: $bits, b: $bits) -> $bits {
                a + b
            }
            #[inline(always)]
            fn bits_shl(a: $bits, count: u32) -> $bits {
                a << count
            }
            #[inline(always)]
            fn bits_shr(a: $bits, count: u32) -> $bits {
                a >> count
            }
            #[inline(always)]
            fn bits_equal(a: $bits, b: $bits) -> $mask {
                let signed: ($signed, $signed) = (bytemuck::cast(a), bytemuck::cast(b));
                $mask(bytemuck::cast(signed.0.simd_eq(signed.1)))
            }
            #[inline(always)]
            fn lookup(index: $bits, table: &'static [$elem; 16]) -> Self {
                Self($reg::from(index.to_array().map(|i| table[(i & 15) as usize])))
            }
            #[inline(always)]
            fn lookup32(index: $bits, table: &'static [[$elem; 16]; 2]) -> Self {
                let table = table.as_flattened();
                Self($reg::from(index.to_array().map(|i| table[(i & 31) as usize])))
            }
            #[inline(always)]
            fn any(mask: $mask) -> bool {
                mask.0.any()
            }
            #[inline(always)]
            fn at_most(self, limit: Self) -> Self {
                Self(limit.0.simd_lt(self.0).bitselect(limit.0, self.0))
            }
            #[inline(always)]
            fn at_least(self, limit: Self) -> Self {
                Self(self.0.simd_lt(limit.0).bitselect(limit.0, self.0))
            }
            #[inline(always)]
            fn scale(self, k: Self) -> Self {
                super::math::scale(self, k)
            }
            #[inline(always)]
            fn to_array(self) -> [$elem; MAX_LEN] {
                let mut array = [0.0; MAX_LEN];
                array[..$len].copy_from_slice(&self.0.to_array());
                array
            }
            #[inline(always)]
            fn from_array(array: &[$elem; MAX_LEN]) -> Self {
                Self($reg::from(std::array::from_fn::<$elem, $len, _>(|i| array[i])))
            }
        }
    };
}

#[cfg(all(target_arch = "x86_64", not(target_feature = "avx")))]
mod halved {
    use std::arch::x86_64::__m128;

    super::super::x86::seconds! {
        pub(super) fn seconds_f32(f32, __m128, xmm_reg);
        "movups {to}, [{p}]", "movups {behind}, [{p} + 16]", "shufps {to}, {behind}, 0x88" => behind
    }
}

/// See [`Lane::load_seconds`].
#[inline(always)]
unsafe fn seconds_f32(p: *const f32) -> F32 {
    // SAFETY: `p` is readable for four elements and those between them, and another element lies behind the
    // last.
    #[cfg(all(target_arch = "x86_64", not(target_feature = "avx")))]
    return F32(bytemuck::cast(unsafe { halved::seconds_f32(p) }));
    // SAFETY: `p` is readable for four elements, every other one from it on.
    #[cfg(not(all(target_arch = "x86_64", not(target_feature = "avx"))))]
    return F32(f32x4::from([0, 2, 4, 6].map(|i| unsafe { p.add(i).read_unaligned() })));
}

/// See [`Lane::load_seconds`]: two loads are as fast as two of vectors.
#[inline(always)]
unsafe fn seconds_f64(p: *const f64) -> F64 {
    // SAFETY: `p` is readable for two elements, every other one from it on.
    F64(f64x2::from([0, 2].map(|i| unsafe { p.add(i).read_unaligned() })))
}

lanes!(F32, f32, f32x4, Mask32, 4, u32x4, i32x4, u32, fma_f32, _mm_stream_ps, seconds_f32);
lanes!(F64, f64, f64x2, Mask64, 2, u64x2, i64x2, u64, fma_f64, _mm_stream_pd, seconds_f64);

impl Single for F32 {
    type Double = F64;
    #[inline(always)]
    fn widen(self) -> [F64; 2] {
        let [a, b, c, d] = self.0.to_array().map(f64::from);
        [F64(f64x2::new([a, b])), F64(f64x2::new([c, d]))]
    }
    #[inline(always)]
    fn narrow([lower, upper]: [F64; 2]) -> Self {
        let ([a, b], [c, d]) = (lower.0.to_array(), upper.0.to_array());
        Self(f32x4::new([a as f32, b as f32, c as f32, d as f32]))
    }
}

/// `a·b + c` rounded once, without fused hardware: the product is exact in f64, and rounding the sum there changes nothing
/// unless it then lies in the middle between two numbers of f32. A function with a polynomial has a dozen of these, so it is called.
#[inline(never)]
fn fma_f32(a: f32x4, b: f32x4, c: f32x4) -> f32x4 {
    /// The bits of a double below the last place of f32, and those of the middle between two numbers.
    const BELOW: u32 = (1 << 29) - 1;
    const MIDDLE: i32 = 1 << 28;
    let [a2, b2, c2] = [a, b, c].map(|x| F32(x).widen());
    let sums = [a2[0].0 * b2[0].0 + c2[0].0, a2[1].0 * b2[1].0 + c2[1].0];
    let result = F32::narrow(sums.map(F64)).0;
    let [low, high] = sums.map(|sum| bytemuck::cast::<f64x2, u64x2>(sum).to_array());
    let bits = u32x4::from([low[0], low[1], high[0], high[1]].map(|bits| bits as u32));
    let below: i32x4 = bytemuck::cast(bits & u32x4::splat(BELOW));
    let middle: f32x4 = bytemuck::cast(below.simd_eq(i32x4::splat(MIDDLE)));
    // Subnormal numbers have fewer bits.
    let small = result.abs().simd_le(f32x4::splat(f32::MIN_POSITIVE));
    if (middle | small).any() { fma_f32_odd(a, b, c) } else { result }
}

/// [`fma_f32`] of any numbers: the sum is rounded to odd in f64, so that rounding it to f32 sees on which side of a tie the
/// exact sum lies.
#[inline(never)]
fn fma_f32_odd(a: f32x4, b: f32x4, c: f32x4) -> f32x4 {
    let (a, b, c) = (a.to_array(), b.to_array(), c.to_array());
    let low = fma_to_odd(f64x2::new([a[0].into(), a[1].into()]), [b[0], b[1]], [c[0], c[1]]);
    let high = fma_to_odd(f64x2::new([a[2].into(), a[3].into()]), [b[2], b[3]], [c[2], c[3]]);
    f32x4::new([low[0] as f32, low[1] as f32, high[0] as f32, high[1] as f32])
}

/// `a·b + c` in f64, rounded to odd, for numbers of f32.
#[inline(always)]
fn fma_to_odd(a: f64x2, b: [f32; 2], c: [f32; 2]) -> [f64; 2] {
    let (p, c) = (a * f64x2::new([b[0].into(), b[1].into()]), f64x2::new([c[0].into(), c[1].into()]));
    let sum = p + c;
    // The error of the sum, exactly; NaN where the sum is not finite, which is not less than anything.
    let c_part = sum - p;
    let error = (p - (sum - c_part)) + (c - c_part);
    // Where the sum is inexact and even, it goes one step away from zero if the error has its sign, else one step
    // towards zero.
    let zero = f64x2::splat(0.0);
    let inexact: u64x2 = bytemuck::cast(zero.simd_lt(error.abs()));
    let bits: u64x2 = bytemuck::cast(sum);
    let signs: u64x2 = bytemuck::cast(error ^ sum);
    let inwards = signs >> 63;
    let even = (bits & u64x2::splat(1)) ^ u64x2::splat(1);
    let step = (even - ((even & inwards) << 1)) & inexact;
    let rounded: f64x2 = bytemuck::cast(bits + step);
    rounded.to_array()
}

/// `a·b + c` rounded once: that of the scalars, which is exact on every target.
#[inline(always)]
fn fma_f64(a: f64x2, b: f64x2, c: f64x2) -> f64x2 {
    let (a, b, c) = (a.to_array(), b.to_array(), c.to_array());
    f64x2::from([0, 1].map(|i| Float::mul_add(a[i], b[i], c[i])))
}

/// The conversions of four f16, and of four bf16 that are rounded: tens of instructions each, so they are called.
#[inline(never)]
fn from_f16(bits: [u16; 4]) -> f32x4 {
    f32x4::from(bits.map(|v| half::f16::from_bits(v).to_f32()))
}
#[inline(never)]
fn to_f16(values: f32x4) -> [u16; 4] {
    values.to_array().map(|v| half::f16::from_f32(v).to_bits())
}
#[inline(never)]
fn to_bf16(values: f32x4) -> [u16; 4] {
    values.to_array().map(|v| half::bf16::from_f32(v).to_bits())
}

impl HalfMemory for F32 {
    #[inline(always)]
    unsafe fn load_f16(p: *const u16) -> Self {
        // SAFETY: `p` is readable for four elements, at any alignment.
        Self(from_f16(unsafe { p.cast::<[u16; 4]>().read_unaligned() }))
    }
    #[inline(always)]
    unsafe fn store_f16(self, p: *mut u16) {
        // SAFETY: `p` is writable for four elements, at any alignment.
        unsafe { p.cast::<[u16; 4]>().write_unaligned(to_f16(self.0)) };
    }
    #[inline(always)]
    unsafe fn load_bf16(p: *const u16) -> Self {
        // SAFETY: `p` is readable for four elements, at any alignment.
        let bits = unsafe { p.cast::<[u16; 4]>().read_unaligned() };
        Self(f32x4::from(bits.map(|v| f32::from_bits(u32::from(v) << 16))))
    }
    #[inline(always)]
    unsafe fn store_bf16(self, p: *mut u16) {
        // SAFETY: `p` is writable for four elements, at any alignment.
        unsafe { p.cast::<[u16; 4]>().write_unaligned(to_bf16(self.0)) };
    }
    #[inline(always)]
    unsafe fn stream_f16(self, p: *mut u16) {
        // SAFETY: `p` is writable for four elements.
        unsafe { self.store_f16(p) }
    }
    #[inline(always)]
    unsafe fn stream_bf16(self, p: *mut u16) {
        // SAFETY: `p` is writable for four elements.
        unsafe { self.store_bf16(p) }
    }
}

impl super::Mask for U8 {}
impl Bytes for U8 {
    const LEN: usize = 8;
    #[inline(always)]
    unsafe fn load(p: *const u8) -> Self {
        // SAFETY: `p` is readable for eight bytes.
        Self(unsafe { p.cast::<u64>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn splat(byte: u8) -> Self {
        Self(u64::from_ne_bytes([byte; 8]))
    }
    #[inline(always)]
    fn differing(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
    #[inline(always)]
    fn truths(self) -> Self {
        // The upper bit of a byte is set by a carry from the others, or is set itself.
        let lower = u64::from_ne_bytes([0x7f; 8]);
        let any = ((self.0 & lower) + lower) | self.0;
        Self(any >> 7 & u64::from_ne_bytes([1; 8]))
    }
    #[inline(always)]
    fn added_to(self, sums: Self) -> Self {
        // Four sums of two bytes, and their sum in the upper of four times sixteen bits.
        let every_other = 0x00ff_00ff_00ff_00ff;
        let pairs = (self.0 & every_other) + (self.0 >> 8 & every_other);
        Self(sums.0.wrapping_add(pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48))
    }
    #[inline(always)]
    fn total(self) -> u64 {
        self.0
    }
}
