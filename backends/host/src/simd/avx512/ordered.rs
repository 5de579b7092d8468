//! Sorting integers: vectors that are put into order, and divided by a pivot with compress instructions.

use std::arch::x86_64::*;

use super::level;
use crate::simd::Ordered;

/// Sixteen i32.
#[derive(Clone, Copy)]
pub(crate) struct I32(__m512i);
/// Eight i64.
#[derive(Clone, Copy)]
pub(crate) struct I64(__m512i);

macro_rules! ordered {
    ($name:ident, $elem:ty, $mask:ty, $len:literal, lanes: $lanes:expr, set: $set:ident, load: $load:ident,
     load_part: $load_part:ident, store_part: $store_part:ident, min: $min:ident, max: $max:ident,
     mask_max: $mask_max:ident, permute: $permute:ident, less: $less:ident, compress: $compress:ident,
     expand: $expand:ident) => {
        impl Ordered for $name {
            type Elem = $elem;
            const LEN: usize = $len;
            const ROWS: usize = 16;
            const MAX: $elem = <$elem>::MAX;
            #[inline(always)]
            unsafe fn load(p: *const $elem) -> Self {
                Self(level!($load(p.cast())))
            }
            #[inline(always)]
            unsafe fn load_part(p: *const $elem, len: usize) -> Self {
                Self(level!($load_part($set(<$elem>::MAX), first(len) as $mask, p)))
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $elem) {
                level!(_mm512_storeu_si512(p.cast(), self.0));
            }
            #[inline(always)]
            unsafe fn store_part(self, p: *mut $elem, len: usize) {
                level!($store_part(p, first(len) as $mask, self.0));
            }
            #[inline(always)]
            unsafe fn splat(v: $elem) -> Self {
                Self(level!($set(v)))
            }
            #[inline(always)]
            fn lower(self, x: Self) -> Self {
                Self(level!($min(self.0, x.0)))
            }
            #[inline(always)]
            fn higher(self, x: Self) -> Self {
                Self(level!($max(self.0, x.0)))
            }
            #[inline(always)]
            fn next(v: $elem) -> Option<$elem> {
                v.checked_add(1)
            }
            #[inline(always)]
            fn reversed(self) -> Self {
                Self(level!($permute(_mm512_xor_si512($lanes, $set($len - 1)), self.0)))
            }
            #[inline(always)]
            fn exchanged<const X: usize>(self) -> Self {
                level!({
                    let others = $permute(_mm512_xor_si512($lanes, $set(X as $elem)), self.0);
                    let low = $min(self.0, others);
                    Self($mask_max(low, const { upper(X) } as $mask, self.0, others))
                })
            }
            #[inline(always)]
            unsafe fn divide(self, pivot: Self, low: *mut $elem, high: *mut $elem) -> usize {
                level!({
                    let below = $less(self.0, pivot.0);
                    let count = below.count_ones() as usize;
                    // In registers: some processors take a hundred cycles to do it on the way to memory. And as a whole vector at
                    // either end: a store that leaves lanes out takes as long where these reach a page that nobody has touched.
                    let others = <$mask>::MAX.checked_shl(count as u32).unwrap_or(0);
                    let divided = $expand($compress(below, self.0), others, $compress(!below, self.0));
                    _mm512_storeu_si512(low.cast(), divided);
                    _mm512_storeu_si512(high.wrapping_sub($len).cast(), divided);
                    count
                })
            }
        }
    };
}

/// A mask of the first `len ≤ 16` lanes.
#[inline(always)]
fn first(len: usize) -> u16 {
    ((1_u32 << len) - 1) as u16
}

/// Those of sixteen lanes whose number has the highest bit of another.
const fn upper(x: usize) -> u16 {
    match x {
        1 => 0xaaaa,
        2..4 => 0xcccc,
        4..8 => 0xf0f0,
        _ => 0xff00,
    }
}

ordered! { I32, i32, __mmask16, 16, lanes: _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
set: _mm512_set1_epi32, load: _mm512_loadu_si512, load_part: _mm512_mask_loadu_epi32,
store_part: _mm512_mask_storeu_epi32, min: _mm512_min_epi32, max: _mm512_max_epi32, mask_max: _mm512_mask_max_epi32,
permute: _mm512_permutexvar_epi32, less: _mm512_cmplt_epi32_mask, compress: _mm512_maskz_compress_epi32,
expand: _mm512_mask_expand_epi32 }
ordered! { I64, i64, __mmask8, 8, lanes: _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7),
set: _mm512_set1_epi64, load: _mm512_loadu_si512, load_part: _mm512_mask_loadu_epi64,
store_part: _mm512_mask_storeu_epi64, min: _mm512_min_epi64, max: _mm512_max_epi64, mask_max: _mm512_mask_max_epi64,
permute: _mm512_permutexvar_epi64, less: _mm512_cmplt_epi64_mask, compress: _mm512_maskz_compress_epi64,
expand: _mm512_mask_expand_epi64 }
