//! The AVX2 level: 256-bit registers with FMA and F16C.

use std::arch::x86_64::*;

mod ordered;

pub(crate) use ordered::{I32, I64};

use super::x86::{byte_sums, float_bits, level, seconds};
use super::{Bytes, FloatBits, HalfMemory, Lane, MAX_LEN, Single, float_lane, mask_type};

/// Eight f32.
#[derive(Clone, Copy)]
pub(crate) struct F32(__m256);
/// Four f64.
#[derive(Clone, Copy)]
pub(crate) struct F64(__m256d);
/// Thirty-two bytes.
#[derive(Clone, Copy)]
pub(crate) struct U8(__m256i);
/// Eight f16, computed in f32.
pub(crate) type F16 = super::half::F16<F32>;
/// Eight bf16, computed in f32.
pub(crate) type Bf16 = super::half::Bf16<F32>;

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
/// Of conversions to f16, which have no bit for exceptions.
const NEAREST_HALF: i32 = _MM_FROUND_TO_NEAREST_INT;
const DOWN: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
const UP: i32 = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;
const INWARDS: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;

macro_rules! lanes {
    ($name:ident, $elem:ident, $int:ty, $reg:ty, $mask:ident, $len:literal, add: $add:ident, sub: $sub:ident,
     mul: $mul:ident, div: $div:ident, fma: $fma:ident, sqrt: $sqrt:ident, round: $round:ident, min: $min:ident, max: $max:ident,
     cmp: $cmp:ident, blend: $blend:ident, set: $set:ident, load: $load:ident, load_part: $load_part:ident,
     store: $store:ident, store_part: $store_part:ident, stream: $stream:ident, and: $and:ident,
     andnot: $andnot:ident, or: $or:ident, xor: $xor:ident, movemask: $movemask:ident, widen: $widen:ident;
     $equal_bits:ident, $from:ident, $lookup:ident, $lookup32:ident, $pieces:ident;
     $seconds:ident, $halved:expr, $joined:ident, $even:expr; $($bits:tt)*) => {
        mask_type!($mask, $reg, and: |a, b| level!($and(a, b)), or: |a, b| level!($or(a, b)),
            xor: |a, b| level!($xor(a, b)), not: |a| level!($xor(a, $from(_mm256_set1_epi32(-1)))));

        float_lane!($name, $elem, $mask,
            add: |a, b| level!($add(a, b)), sub: |a, b| level!($sub(a, b)), mul: |a, b| level!($mul(a, b)),
            div: |a, b| level!($div(a, b)), neg: |a| level!($xor(a, $set(-0.0))),
            fma: |a, b, c| level!($fma(a, b, c)), sqrt: |a| level!($sqrt(a)),
            abs: |a| level!($andnot($set(-0.0), a)),
            floor: |a| level!($round::<DOWN>(a)), ceil: |a| level!($round::<UP>(a)),
            trunc: |a| level!($round::<INWARDS>(a)), round: |a| level!($round::<NEAREST>(a)),
            // Each order of operands gives the other zero and the other NaN: their union has −0 and NaN if any.
            minimum: |a, b| level!($or($min(a, b), $min(b, a))),
            maximum: |a, b| level!($blend(
                $and($max(a, b), $max(b, a)), $add(a, b), $cmp::<_CMP_UNORD_Q>(a, b))),
            equal: |a, b| $mask(level!($cmp::<_CMP_EQ_OQ>(a, b))),
            less: |a, b| $mask(level!($cmp::<_CMP_LT_OQ>(a, b))),
            less_equal: |a, b| $mask(level!($cmp::<_CMP_LE_OQ>(a, b))),
            select: |m, yes, no| level!($blend(no, yes, m.0)), lit: |c| level!($set(c)));

        impl Lane for $name {
            type Elem = $elem;
            const LEN: usize = $len;
            #[inline(always)]
            unsafe fn load(p: *const $elem) -> Self {
                Self(level!($load(p)))
            }
            #[inline(always)]
            unsafe fn load_part(p: *const $elem, len: usize) -> Self {
                Self(level!($load_part(p, first::<$len>(len))))
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $elem) {
                level!($store(p, self.0));
            }
            #[inline(always)]
            unsafe fn store_part(self, p: *mut $elem, len: usize) {
                level!($store_part(p, first::<$len>(len), self.0));
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
                Self(level!($joined($seconds(p))))
            }
            #[inline(always)]
            unsafe fn load_seconds_part(p: *const $elem, len: usize) -> Self {
                let lanes = |len: usize| level!(_mm256_and_si256(first::<$len>(len.min($len)), $even));
                // No lane is loaded of a vector that would be behind all elements.
                let (low, high) = (lanes(2 * len), lanes((2 * len).saturating_sub($len)));
                Self(level!($joined($halved(
                    $load_part(p, low),
                    $load_part(p.wrapping_add($len), high)
                ))))
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
                let bytes = spread(level!($movemask(mask.0)) as u8);
                // SAFETY: `p` is writable for `len` bytes, no more than a vector has elements.
                unsafe { store_bytes::<$len>(bytes, p, len) }
            }
            #[inline(always)]
            unsafe fn mask_from_bytes(p: *const u8, len: usize) -> $mask {
                // SAFETY: `p` is readable for `len` bytes, no more than a vector has elements.
                let bytes = unsafe { load_bytes::<$len>(p, len) };
                level!({
                    let wide = $widen(_mm_cvtsi64_si128(bytes as i64));
                    $mask($from(_mm256_xor_si256(
                        $equal_bits(wide, _mm256_setzero_si256()), _mm256_set1_epi32(-1))))
                })
            }
        }

        impl FloatBits for $name {
            float_bits!(__m256i, $elem, $int, $($bits)* from: $from, and: _mm256_and_si256, or: _mm256_or_si256,
                xor: _mm256_xor_si256, min: $min, max: $max);
            #[inline(always)]
            fn bits_equal(a: __m256i, b: __m256i) -> $mask {
                $mask(level!($from($equal_bits(a, b))))
            }
            #[inline(always)]
            fn lookup(index: __m256i, table: &'static [$elem; 16]) -> Self {
                Self($lookup(index, table))
            }
            #[inline(always)]
            fn lookup32(index: __m256i, table: &'static [[$elem; 16]; 2]) -> Self {
                Self($lookup32(index, table))
            }
            #[inline(always)]
            fn any(mask: $mask) -> bool {
                level!($movemask(mask.0)) != 0
            }
            #[inline(always)]
            fn scale(self, k: Self) -> Self {
                super::math::scale(self, k)
            }
        }
    };
}

/// All bits set in the first `len` of `LEN` lanes.
#[inline(always)]
fn first<const LEN: usize>(len: usize) -> __m256i {
    const SLIDE: [[i32; 8]; 2] = [[-1; 8], [0; 8]];
    let width = 8 / LEN; // 32-bit units per lane
    debug_assert!(len <= LEN);
    // SAFETY: the window of 8 begins at 0..=8 of 16.
    unsafe { _mm256_loadu_si256(SLIDE.as_ptr().cast::<i32>().add(8 - len * width).cast()) }
}

/// Byte i of the result is bit i of `lanes`.
#[inline(always)]
fn spread(lanes: u8) -> u64 {
    let bits = (u64::from(lanes) * 0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
    ((bits + 0x7f7f_7f7f_7f7f_7f7f) >> 7) & 0x0101_0101_0101_0101
}

/// # Safety
/// `p` is writable for `len ≤ LEN` bytes.
#[inline(always)]
unsafe fn store_bytes<const LEN: usize>(bytes: u64, p: *mut u8, len: usize) {
    let array = bytes.to_le_bytes();
    // SAFETY: `p` is writable for `len` bytes, no more than `LEN`, which is at most 8. A constant length is
    // one move instruction.
    unsafe {
        if len == LEN {
            std::ptr::copy_nonoverlapping(array.as_ptr(), p, LEN);
        } else {
            std::ptr::copy_nonoverlapping(array.as_ptr(), p, len);
        }
    }
}

/// # Safety
/// `p` is readable for `len ≤ LEN` bytes.
#[inline(always)]
unsafe fn load_bytes<const LEN: usize>(p: *const u8, len: usize) -> u64 {
    let mut array = [0u8; 8];
    // SAFETY: `p` is readable for `len` bytes, no more than `LEN`, which is at most 8. A constant length is
    // one move instruction.
    unsafe {
        if len == LEN {
            std::ptr::copy_nonoverlapping(p, array.as_mut_ptr(), LEN);
        } else {
            std::ptr::copy_nonoverlapping(p, array.as_mut_ptr(), len);
        }
    }
    u64::from_le_bytes(array)
}

/// See [`FloatBits::lookup`].
#[inline(always)]
fn lookup_f32(index: __m256i, table: &'static [f32; 16]) -> __m256 {
    level!({
        // The permutation takes three bits of an index; the fourth becomes the sign, which the blend takes.
        let lower = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table.as_ptr()), index);
        let upper = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table[8..].as_ptr()), index);
        _mm256_blendv_ps(lower, upper, _mm256_castsi256_ps(_mm256_slli_epi32::<28>(index)))
    })
}

/// See [`FloatBits::lookup`].
#[inline(always)]
fn lookup_f64(index: __m256i, table: &'static [f64; 16]) -> __m256d {
    level!(_mm256_i64gather_pd::<8>(table.as_ptr(), _mm256_and_si256(index, _mm256_set1_epi64x(15))))
}

/// See [`FloatBits::lookup32`].
#[inline(always)]
fn lookup32_f32(index: __m256i, [lower, upper]: &'static [[f32; 16]; 2]) -> __m256 {
    // The fifth bit becomes the sign.
    level!(_mm256_blendv_ps(
        lookup_f32(index, lower),
        lookup_f32(index, upper),
        _mm256_castsi256_ps(_mm256_slli_epi32::<27>(index))
    ))
}

/// See [`FloatBits::lookup32`].
#[inline(always)]
fn lookup32_f64(index: __m256i, table: &'static [[f64; 16]; 2]) -> __m256d {
    level!(_mm256_i64gather_pd::<8>(table.as_ptr().cast(), _mm256_and_si256(index, _mm256_set1_epi64x(31))))
}

seconds! {
    #[target_feature(enable = "avx2")]
    fn seconds_f32(f32, __m256, ymm_reg);
    "vmovups {to}, [{p}]", "vshufps {to}, {to}, [{p} + 32], 0x88"
}

/// What shuffles of two vectors, which work within halves of 128 bits, have brought together, in order.
#[inline(always)]
fn joined_f32(halves: __m256) -> __m256 {
    level!(_mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(_mm256_castps_pd(halves))))
}

/// See [`Lane::pieces`].
#[inline(always)]
fn pieces_f32(a: __m256, b: __m256, half: usize) -> [__m256; 2] {
    level!(match half {
        4 => [_mm256_permute2f128_ps::<0x20>(a, b), _mm256_permute2f128_ps::<0x31>(a, b)],
        2 => [_mm256_shuffle_ps::<0b01_00_01_00>(a, b), _mm256_shuffle_ps::<0b11_10_11_10>(a, b)],
        _ => [
            _mm256_blend_ps::<0b1010_1010>(a, _mm256_moveldup_ps(b)),
            _mm256_blend_ps::<0b1010_1010>(_mm256_movehdup_ps(a), b),
        ],
    })
}

/// See [`Lane::pieces`].
#[inline(always)]
fn pieces_f64(a: __m256d, b: __m256d, half: usize) -> [__m256d; 2] {
    level!(match half {
        2 => [_mm256_permute2f128_pd::<0x20>(a, b), _mm256_permute2f128_pd::<0x31>(a, b)],
        _ => [_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b)],
    })
}

seconds! {
    #[target_feature(enable = "avx2")]
    fn seconds_f64(f64, __m256d, ymm_reg);
    "vmovupd {to}, [{p}]", "vunpcklpd {to}, {to}, [{p} + 32]"
}

/// See [`joined_f32`].
#[inline(always)]
fn joined_f64(halves: __m256d) -> __m256d {
    level!(_mm256_permute4x64_pd::<0b11_01_10_00>(halves))
}

lanes! { F32, f32, i32, __m256, Mask32, 8, add: _mm256_add_ps, sub: _mm256_sub_ps, mul: _mm256_mul_ps,
div: _mm256_div_ps, fma: _mm256_fmadd_ps, sqrt: _mm256_sqrt_ps, round: _mm256_round_ps, min: _mm256_min_ps, max: _mm256_max_ps,
cmp: _mm256_cmp_ps, blend: _mm256_blendv_ps, set: _mm256_set1_ps, load: _mm256_loadu_ps,
load_part: _mm256_maskload_ps, store: _mm256_storeu_ps, store_part: _mm256_maskstore_ps,
stream: _mm256_stream_ps, and: _mm256_and_ps, andnot: _mm256_andnot_ps, or: _mm256_or_ps, xor: _mm256_xor_ps,
movemask: _mm256_movemask_ps, widen: _mm256_cvtepi8_epi32; _mm256_cmpeq_epi32, _mm256_castsi256_ps, lookup_f32, lookup32_f32, pieces_f32;
seconds_f32, _mm256_shuffle_ps::<0b10_00_10_00>, joined_f32, _mm256_set1_epi64x(0xffff_ffff);
to: _mm256_castps_si256, set: _mm256_set1_epi32, add: _mm256_add_epi32,
sll: _mm256_sll_epi32, srl: _mm256_srl_epi32, }

lanes! { F64, f64, i64, __m256d, Mask64, 4, add: _mm256_add_pd, sub: _mm256_sub_pd, mul: _mm256_mul_pd,
div: _mm256_div_pd, fma: _mm256_fmadd_pd, sqrt: _mm256_sqrt_pd, round: _mm256_round_pd, min: _mm256_min_pd, max: _mm256_max_pd,
cmp: _mm256_cmp_pd, blend: _mm256_blendv_pd, set: _mm256_set1_pd, load: _mm256_loadu_pd,
load_part: _mm256_maskload_pd, store: _mm256_storeu_pd, store_part: _mm256_maskstore_pd,
stream: _mm256_stream_pd, and: _mm256_and_pd, andnot: _mm256_andnot_pd, or: _mm256_or_pd, xor: _mm256_xor_pd,
movemask: _mm256_movemask_pd, widen: _mm256_cvtepi8_epi64; _mm256_cmpeq_epi64, _mm256_castsi256_pd, lookup_f64, lookup32_f64, pieces_f64;
seconds_f64, _mm256_unpacklo_pd, joined_f64, _mm256_setr_epi64x(-1, 0, -1, 0);
to: _mm256_castpd_si256, set: _mm256_set1_epi64x, add: _mm256_add_epi64,
sll: _mm256_sll_epi64, srl: _mm256_srl_epi64, }

impl Single for F32 {
    type Double = F64;
    #[inline(always)]
    fn widen(self) -> [F64; 2] {
        let lower = level!(_mm256_cvtps_pd(_mm256_castps256_ps128(self.0)));
        [F64(lower), F64(level!(_mm256_cvtps_pd(_mm256_extractf128_ps::<1>(self.0))))]
    }
    #[inline(always)]
    fn narrow([lower, upper]: [F64; 2]) -> Self {
        Self(level!(_mm256_set_m128(_mm256_cvtpd_ps(upper.0), _mm256_cvtpd_ps(lower.0))))
    }
}

/// The bf16 nearest to each f32, ties to even. A NaN keeps its upper bits and becomes quiet.
#[inline(always)]
fn round_bf16(x: F32) -> __m128i {
    level!({
        let bits = _mm256_castps_si256(x.0);
        let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
        let rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
        let quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x0040_0000));
        let nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(x.0, x.0));
        let upper = _mm256_srli_epi32::<16>(_mm256_blendv_epi8(rounded, quiet, nan));
        // Packing works within halves of 128 bits.
        let packed = _mm256_permute4x64_epi64::<0b00_00_10_00>(_mm256_packus_epi32(upper, upper));
        _mm256_castsi256_si128(packed)
    })
}

impl HalfMemory for F32 {
    #[inline(always)]
    unsafe fn load_f16(p: *const u16) -> Self {
        Self(level!(_mm256_cvtph_ps(_mm_loadu_si128(p.cast()))))
    }
    #[inline(always)]
    unsafe fn store_f16(self, p: *mut u16) {
        level!(_mm_storeu_si128(p.cast(), _mm256_cvtps_ph::<NEAREST_HALF>(self.0)));
    }
    #[inline(always)]
    unsafe fn load_bf16(p: *const u16) -> Self {
        level!({
            let wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(p.cast()));
            Self(_mm256_castsi256_ps(_mm256_slli_epi32::<16>(wide)))
        })
    }
    #[inline(always)]
    unsafe fn store_bf16(self, p: *mut u16) {
        level!(_mm_storeu_si128(p.cast(), round_bf16(self)));
    }
    #[inline(always)]
    unsafe fn stream_f16(self, p: *mut u16) {
        level!(_mm_stream_si128(p.cast(), _mm256_cvtps_ph::<NEAREST_HALF>(self.0)));
    }
    #[inline(always)]
    unsafe fn stream_bf16(self, p: *mut u16) {
        level!(_mm_stream_si128(p.cast(), round_bf16(self)));
    }
}

impl super::Mask for U8 {}
byte_sums! { 32, load: _mm256_loadu_si256, store: _mm256_storeu_si256, set: _mm256_set1_epi8, zero: _mm256_setzero_si256,
xor: _mm256_xor_si256, min: _mm256_min_epu8, sad: _mm256_sad_epu8, add: _mm256_add_epi64 }
