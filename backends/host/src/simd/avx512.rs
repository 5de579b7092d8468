//! The AVX-512 level: 512-bit registers, mask registers for comparisons and tails.

use std::arch::x86_64::*;

mod ordered;

pub(crate) use ordered::{I32, I64};

use super::x86::{byte_sums, float_bits, level, seconds};
use super::{Bytes, FloatBits, HalfMemory, Lane, MAX_LEN, Single, float_lane};

/// Sixteen f32.
#[derive(Clone, Copy)]
pub(crate) struct F32(__m512);
/// Eight f64.
#[derive(Clone, Copy)]
pub(crate) struct F64(__m512d);
/// Sixty-four bytes.
#[derive(Clone, Copy)]
pub(crate) struct U8(__m512i);
/// Sixteen f16, computed in f32.
pub(crate) type F16 = super::half::F16<F32>;
/// Sixteen bf16, computed in f32.
pub(crate) type Bf16 = super::half::Bf16<F32>;

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
const DOWN: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
const UP: i32 = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;
const INWARDS: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;

macro_rules! lanes {
    ($name:ident, $elem:ty, $int:ty, $reg:ty, $mask:ty, $len:literal, add: $add:ident, sub: $sub:ident,
     mul: $mul:ident, div: $div:ident, fma: $fma:ident, sqrt: $sqrt:ident, round: $round:ident, abs: $abs:ident, min: $min:ident, max: $max:ident,
     cmp: $cmp:ident, blend: $blend:ident, set: $set:ident, load: $load:ident, load_part: $load_part:ident,
     store: $store:ident, store_part: $store_part:ident, stream: $stream:ident, scale: $scale:ident,
     and: $and:ident, or: $or:ident, xor: $xor:ident, mask_mov: $mask_mov:ident;
     $equal_bits:ident, $from:ident, $lookup:ident, $lookup32:ident, $evens:ident, $seconds:ident, $pieces:ident;
     $($bits:tt)*) => {
        float_lane!($name, $elem, $mask,
            add: |a, b| level!($add(a, b)), sub: |a, b| level!($sub(a, b)), mul: |a, b| level!($mul(a, b)),
            div: |a, b| level!($div(a, b)), neg: |a| level!($xor(a, $set(-0.0))),
            fma: |a, b, c| level!($fma(a, b, c)), sqrt: |a| level!($sqrt(a)), abs: |a| level!($abs(a)),
            floor: |a| level!($round::<DOWN>(a)), ceil: |a| level!($round::<UP>(a)),
            trunc: |a| level!($round::<INWARDS>(a)), round: |a| level!($round::<NEAREST>(a)),
            // Each order of operands gives the other zero and the other NaN: their union has −0 and NaN if any.
            minimum: |a, b| level!($or($min(a, b), $min(b, a))),
            maximum: |a, b| level!($mask_mov(
                $and($max(a, b), $max(b, a)), $cmp::<_CMP_UNORD_Q>(a, b), $add(a, b))),
            equal: |a, b| level!($cmp::<_CMP_EQ_OQ>(a, b)), less: |a, b| level!($cmp::<_CMP_LT_OQ>(a, b)),
            less_equal: |a, b| level!($cmp::<_CMP_LE_OQ>(a, b)), select: |m, yes, no| level!($blend(m, no, yes)),
            lit: |c| level!($set(c)));

        impl Lane for $name {
            type Elem = $elem;
            const LEN: usize = $len;
            #[inline(always)]
            unsafe fn load(p: *const $elem) -> Self {
                Self(level!($load(p)))
            }
            #[inline(always)]
            unsafe fn load_part(p: *const $elem, len: usize) -> Self {
                Self(level!($load_part(first(len) as $mask, p)))
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $elem) {
                level!($store(p, self.0));
            }
            #[inline(always)]
            unsafe fn store_part(self, p: *mut $elem, len: usize) {
                level!($store_part(p, first(len) as $mask, self.0));
            }
            #[inline(always)]
            unsafe fn stream(self, p: *mut $elem) {
                level!($stream(p, self.0));
            }
            #[inline(always)]
            unsafe fn splat(v: $elem) -> Self {
                Self(level!($set(v)))
            }
            #[inline(always)]
            unsafe fn load_seconds(p: *const $elem) -> Self {
                Self(level!($seconds(p)))
            }
            #[inline(always)]
            unsafe fn load_seconds_part(p: *const $elem, len: usize) -> Self {
                let lanes = |len: usize| (first(len.min($len)) & 0x5555) as $mask;
                // No lane is loaded of a vector that would be behind all elements.
                let (low, high) = (lanes(2 * len), lanes((2 * len).saturating_sub($len)));
                Self($evens(level!($load_part(low, p)), level!($load_part(high, p.wrapping_add($len)))))
            }
            #[inline(always)]
            fn pieces(a: Self, b: Self, half: usize) -> [Self; 2] {
                $pieces(a.0, b.0, half).map(Self)
            }
            // min and max give their second operand where either is NaN.
            #[inline(always)]
            fn raised(self, x: Self) -> Self {
                Self(level!($max(x.0, self.0)))
            }
            #[inline(always)]
            fn lowered(self, x: Self) -> Self {
                Self(level!($min(x.0, self.0)))
            }
            #[inline(always)]
            unsafe fn mask_to_bytes(mask: $mask, p: *mut u8, len: usize) {
                level!(_mm_mask_storeu_epi8(p.cast(), first(len), _mm_maskz_set1_epi8(mask.into(), 1)));
            }
            #[inline(always)]
            unsafe fn mask_from_bytes(p: *const u8, len: usize) -> $mask {
                level!({
                    let bytes = _mm_maskz_loadu_epi8(first(len), p.cast());
                    _mm_test_epi8_mask(bytes, bytes) as $mask
                })
            }
        }

        impl FloatBits for $name {
            float_bits!(__m512i, $elem, $int, $($bits)* from: $from, and: _mm512_and_si512, or: _mm512_or_si512,
                xor: _mm512_xor_si512, min: $min, max: $max);
            #[inline(always)]
            fn bits_equal(a: __m512i, b: __m512i) -> $mask {
                level!($equal_bits(a, b))
            }
            #[inline(always)]
            fn lookup(index: __m512i, table: &'static [$elem; 16]) -> Self {
                Self($lookup(index, table))
            }
            #[inline(always)]
            fn lookup32(index: __m512i, table: &'static [[$elem; 16]; 2]) -> Self {
                Self($lookup32(index, table))
            }
            #[inline(always)]
            fn any(mask: $mask) -> bool {
                mask != 0
            }
            #[inline(always)]
            fn scale(self, k: Self) -> Self {
                Self(level!($scale(self.0, k.0)))
            }
            #[inline(always)]
            fn scale_normal(self, magic_k: Self) -> Self {
                use stridewise_core::ops::Alg;
                self.scale(magic_k - magic_k.lit(<$elem as super::math::Row>::MAGIC))
            }
        }
    };
}

/// A mask of the first `len ≤ 16` lanes.
#[inline(always)]
fn first(len: usize) -> u16 {
    ((1u32 << len) - 1) as u16
}

/// See [`FloatBits::lookup`].
#[inline(always)]
fn lookup_f32(index: __m512i, table: &'static [f32; 16]) -> __m512 {
    level!(_mm512_permutexvar_ps(index, _mm512_loadu_ps(table.as_ptr())))
}

/// See [`FloatBits::lookup`].
#[inline(always)]
fn lookup_f64(index: __m512i, table: &'static [f64; 16]) -> __m512d {
    level!(_mm512_permutex2var_pd(
        _mm512_loadu_pd(table.as_ptr()),
        index,
        _mm512_loadu_pd(table[8..].as_ptr())
    ))
}

/// See [`FloatBits::lookup32`].
#[inline(always)]
fn lookup32_f32(index: __m512i, [lower, upper]: &'static [[f32; 16]; 2]) -> __m512 {
    level!(_mm512_permutex2var_ps(_mm512_loadu_ps(lower.as_ptr()), index, _mm512_loadu_ps(upper.as_ptr())))
}

/// See [`FloatBits::lookup32`].
#[inline(always)]
fn lookup32_f64(index: __m512i, [lower, upper]: &'static [[f64; 16]; 2]) -> __m512d {
    level!(_mm512_mask_blend_pd(
        _mm512_test_epi64_mask(index, _mm512_set1_epi64(16)),
        lookup_f64(index, lower),
        lookup_f64(index, upper)
    ))
}

/// The numbers of every other lane of two vectors.
#[inline(always)]
fn even_f32() -> __m512i {
    level!(_mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30))
}

/// Every other lane of two vectors.
#[inline(always)]
fn evens_f32(a: __m512, b: __m512) -> __m512 {
    level!(_mm512_permutex2var_ps(a, even_f32(), b))
}

seconds! {
    #[target_feature(enable = "avx512f")]
    fn seconds_f32(f32, __m512, zmm_reg);
    "vmovups {to}, [{p}]", "vpermt2ps {to}, {lanes}, [{p} + 64]"; lanes = even_f32()
}

/// See [`Lane::pieces`].
#[inline(always)]
fn pieces_f32(a: __m512, b: __m512, half: usize) -> [__m512; 2] {
    level!(match half {
        8 => [_mm512_shuffle_f32x4::<0b01_00_01_00>(a, b), _mm512_shuffle_f32x4::<0b11_10_11_10>(a, b)],
        4 => {
            let first = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
            let second = _mm512_setr_epi32(4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
            [_mm512_permutex2var_ps(a, first, b), _mm512_permutex2var_ps(a, second, b)]
        }
        2 => [_mm512_shuffle_ps::<0b01_00_01_00>(a, b), _mm512_shuffle_ps::<0b11_10_11_10>(a, b)],
        _ => [_mm512_mask_moveldup_ps(a, 0xaaaa, b), _mm512_mask_blend_ps(0xaaaa, _mm512_movehdup_ps(a), b),],
    })
}

/// See [`Lane::pieces`].
#[inline(always)]
fn pieces_f64(a: __m512d, b: __m512d, half: usize) -> [__m512d; 2] {
    level!(match half {
        4 => [_mm512_shuffle_f64x2::<0b01_00_01_00>(a, b), _mm512_shuffle_f64x2::<0b11_10_11_10>(a, b)],
        2 => {
            let first = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
            let second = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
            [_mm512_permutex2var_pd(a, first, b), _mm512_permutex2var_pd(a, second, b)]
        }
        _ => [_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b)],
    })
}

/// As [`even_f32`].
#[inline(always)]
fn even_f64() -> __m512i {
    level!(_mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14))
}

/// As [`evens_f32`].
#[inline(always)]
fn evens_f64(a: __m512d, b: __m512d) -> __m512d {
    level!(_mm512_permutex2var_pd(a, even_f64(), b))
}

seconds! {
    #[target_feature(enable = "avx512f")]
    fn seconds_f64(f64, __m512d, zmm_reg);
    "vmovupd {to}, [{p}]", "vpermt2pd {to}, {lanes}, [{p} + 64]"; lanes = even_f64()
}

lanes! { F32, f32, i32, __m512, __mmask16, 16, add: _mm512_add_ps, sub: _mm512_sub_ps, mul: _mm512_mul_ps,
div: _mm512_div_ps, fma: _mm512_fmadd_ps, sqrt: _mm512_sqrt_ps, round: _mm512_roundscale_ps, abs: _mm512_abs_ps, min: _mm512_min_ps,
max: _mm512_max_ps, cmp: _mm512_cmp_ps_mask, blend: _mm512_mask_blend_ps, set: _mm512_set1_ps,
load: _mm512_loadu_ps, load_part: _mm512_maskz_loadu_ps, store: _mm512_storeu_ps,
store_part: _mm512_mask_storeu_ps, stream: _mm512_stream_ps, scale: _mm512_scalef_ps,
and: _mm512_and_ps, or: _mm512_or_ps, xor: _mm512_xor_ps, mask_mov: _mm512_mask_mov_ps;
_mm512_cmpeq_epi32_mask, _mm512_castsi512_ps, lookup_f32, lookup32_f32, evens_f32, seconds_f32, pieces_f32; to: _mm512_castps_si512, set: _mm512_set1_epi32,
add: _mm512_add_epi32, sll: _mm512_sll_epi32, srl: _mm512_srl_epi32, }

lanes! { F64, f64, i64, __m512d, __mmask8, 8, add: _mm512_add_pd, sub: _mm512_sub_pd, mul: _mm512_mul_pd,
div: _mm512_div_pd, fma: _mm512_fmadd_pd, sqrt: _mm512_sqrt_pd, round: _mm512_roundscale_pd, abs: _mm512_abs_pd, min: _mm512_min_pd,
max: _mm512_max_pd, cmp: _mm512_cmp_pd_mask, blend: _mm512_mask_blend_pd, set: _mm512_set1_pd,
load: _mm512_loadu_pd, load_part: _mm512_maskz_loadu_pd, store: _mm512_storeu_pd,
store_part: _mm512_mask_storeu_pd, stream: _mm512_stream_pd, scale: _mm512_scalef_pd,
and: _mm512_and_pd, or: _mm512_or_pd, xor: _mm512_xor_pd, mask_mov: _mm512_mask_mov_pd;
_mm512_cmpeq_epi64_mask, _mm512_castsi512_pd, lookup_f64, lookup32_f64, evens_f64, seconds_f64, pieces_f64; to: _mm512_castpd_si512, set: _mm512_set1_epi64,
add: _mm512_add_epi64, sll: _mm512_sll_epi64, srl: _mm512_srl_epi64, }

impl Single for F32 {
    type Double = F64;
    #[inline(always)]
    fn widen(self) -> [F64; 2] {
        let lower = level!(_mm512_cvtps_pd(_mm512_castps512_ps256(self.0)));
        [F64(lower), F64(level!(_mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(self.0))))]
    }
    #[inline(always)]
    fn narrow([lower, upper]: [F64; 2]) -> Self {
        let lower = level!(_mm512_castps256_ps512(_mm512_cvtpd_ps(lower.0)));
        Self(level!(_mm512_insertf32x8::<1>(lower, _mm512_cvtpd_ps(upper.0))))
    }
}

/// The bf16 nearest to each f32, ties to even, in the upper half of each 32-bit lane moved down. A NaN keeps its
/// upper bits and becomes quiet.
#[inline(always)]
fn round_bf16(x: F32) -> __m256i {
    level!({
        let bits = _mm512_castps_si512(x.0);
        let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
        let rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
        let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x.0, x.0);
        let chosen = _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x0040_0000));
        _mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(chosen))
    })
}

impl HalfMemory for F32 {
    #[inline(always)]
    unsafe fn load_f16(p: *const u16) -> Self {
        Self(level!(_mm512_cvtph_ps(_mm256_loadu_si256(p.cast()))))
    }
    #[inline(always)]
    unsafe fn store_f16(self, p: *mut u16) {
        level!(_mm256_storeu_si256(p.cast(), _mm512_cvtps_ph::<NEAREST>(self.0)));
    }
    #[inline(always)]
    unsafe fn load_bf16(p: *const u16) -> Self {
        level!({
            let wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(p.cast()));
            Self(_mm512_castsi512_ps(_mm512_slli_epi32::<16>(wide)))
        })
    }
    #[inline(always)]
    unsafe fn store_bf16(self, p: *mut u16) {
        level!(_mm256_storeu_si256(p.cast(), round_bf16(self)));
    }
    #[inline(always)]
    unsafe fn stream_f16(self, p: *mut u16) {
        level!(_mm256_stream_si256(p.cast(), _mm512_cvtps_ph::<NEAREST>(self.0)));
    }
    #[inline(always)]
    unsafe fn stream_bf16(self, p: *mut u16) {
        level!(_mm256_stream_si256(p.cast(), round_bf16(self)));
    }
}

impl super::Mask for U8 {
    #[inline(always)]
    unsafe fn numbers(mask: *const u8, first: u32, to: *mut u32) -> usize {
        // SAFETY: `mask` is readable for 64 bytes, and `to` writable for as many numbers; sixteen numbers are
        // written from where less than so many others end, below 64.
        unsafe {
            let bytes = _mm512_loadu_si512(mask.cast());
            let bits = _mm512_test_epi8_mask(bytes, bytes);
            if bits == 0 {
                return 0;
            }
            let mut numbers = _mm512_add_epi32(
                _mm512_set1_epi32(first.cast_signed()),
                _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
            );
            let mut count = 0;
            for quarter in 0..4 {
                let some = (bits >> (16 * quarter)) as u16;
                // In a register: some processors take a hundred cycles to do it on the way to memory.
                let together = _mm512_maskz_compress_epi32(some, numbers);
                _mm512_storeu_si512(to.add(count).cast(), together);
                count += some.count_ones() as usize;
                numbers = _mm512_add_epi32(numbers, _mm512_set1_epi32(16));
            }
            count
        }
    }
}
byte_sums! { 64, load: _mm512_loadu_si512, store: _mm512_storeu_si512, set: _mm512_set1_epi8, zero: _mm512_setzero_si512,
xor: _mm512_xor_si512, min: _mm512_min_epu8, sad: _mm512_sad_epu8, add: _mm512_add_epi64 }
