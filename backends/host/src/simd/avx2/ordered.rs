//! Sorting integers: vectors that are put into order, and divided by a pivot with permutations from a table.

use std::arch::x86_64::*;

use super::level;
use crate::simd::Ordered;

/// Eight i32.
#[derive(Clone, Copy)]
pub(crate) struct I32(__m256i);
/// Four i64.
#[derive(Clone, Copy)]
pub(crate) struct I64(__m256i);

/// For every choice of lanes: how many they are, and all lanes, the chosen ones first, as numbers of lanes of 32 bits.
struct Divisions<const MASKS: usize> {
    counts: [u8; MASKS],
    lanes: [[u8; 8]; MASKS],
}

/// The divisions of `LANES` lanes, each of as many lanes of 32 bits as make eight.
const fn divisions<const LANES: usize, const MASKS: usize>() -> Divisions<MASKS> {
    let mut all = Divisions { counts: [0; MASKS], lanes: [[0; 8]; MASKS] };
    let (mut mask, width) = (0, 8 / LANES);
    while mask < MASKS {
        let mut at = 0;
        let mut others = 0;
        while others < 2 {
            let mut lane = 0;
            while lane < LANES {
                if (mask >> lane & 1 == 1) == (others == 0) {
                    let mut part = 0;
                    while part < width {
                        all.lanes[mask][at] = (lane * width + part) as u8;
                        at += 1;
                        part += 1;
                    }
                }
                lane += 1;
            }
            if others == 0 {
                all.counts[mask] = (at / width) as u8;
            }
            others += 1;
        }
        mask += 1;
    }
    all
}
static OF_I32: Divisions<256> = divisions::<8, 256>();
static OF_I64: Divisions<16> = divisions::<4, 16>();

macro_rules! ordered {
    ($name:ident, $elem:ty, $len:literal, set: $set:ident, min: $min:expr, max: $max:expr, less: $less:ident, mask: $mask:expr,
     divisions: $divisions:ident) => {
        impl Ordered for $name {
            type Elem = $elem;
            const LEN: usize = $len;
            const ROWS: usize = 8;
            const MAX: $elem = <$elem>::MAX;
            #[inline(always)]
            unsafe fn load(p: *const $elem) -> Self {
                Self(level!(_mm256_loadu_si256(p.cast())))
            }
            #[inline(always)]
            unsafe fn load_part(p: *const $elem, len: usize) -> Self {
                let mut all = [<$elem>::MAX; $len];
                // SAFETY: `p` is readable for `len` elements, fewer than there are lanes.
                unsafe {
                    std::ptr::copy_nonoverlapping(
                        p.cast::<u8>(),
                        all.as_mut_ptr().cast(),
                        len * size_of::<$elem>(),
                    );
                    Self::load(all.as_ptr())
                }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $elem) {
                level!(_mm256_storeu_si256(p.cast(), self.0));
            }
            #[inline(always)]
            unsafe fn store_part(self, p: *mut $elem, len: usize) {
                let mut all = [0; $len];
                // SAFETY: `p` is writable for `len` elements, fewer than there are lanes.
                unsafe {
                    self.store(all.as_mut_ptr());
                    std::ptr::copy_nonoverlapping(
                        all.as_ptr().cast::<u8>(),
                        p.cast(),
                        len * size_of::<$elem>(),
                    );
                }
            }
            #[inline(always)]
            unsafe fn splat(v: $elem) -> Self {
                Self(level!($set(v)))
            }
            #[inline(always)]
            fn lower(self, x: Self) -> Self {
                Self($min(self.0, x.0))
            }
            #[inline(always)]
            fn higher(self, x: Self) -> Self {
                Self($max(self.0, x.0))
            }
            #[inline(always)]
            fn next(v: $elem) -> Option<$elem> {
                v.checked_add(1)
            }
            #[inline(always)]
            fn reversed(self) -> Self {
                Self(crossed::<{ $len - 1 }, { 8 / $len }>(self.0))
            }
            #[inline(always)]
            fn exchanged<const X: usize>(self) -> Self {
                let others = match X {
                    1 => crossed::<1, { 8 / $len }>(self.0),
                    2 => crossed::<2, { 8 / $len }>(self.0),
                    3 => crossed::<3, { 8 / $len }>(self.0),
                    4 => crossed::<4, { 8 / $len }>(self.0),
                    _ => crossed::<7, { 8 / $len }>(self.0),
                };
                let (low, high) = ($min(self.0, others), $max(self.0, others));
                // Of lanes of 32 bits, those whose number has the highest bit of the exchange.
                Self(level!(match (8 / $len) * X {
                    1 => _mm256_blend_epi32::<0xaa>(low, high),
                    2..4 => _mm256_blend_epi32::<0xcc>(low, high),
                    _ => _mm256_blend_epi32::<0xf0>(low, high),
                }))
            }
            #[inline(always)]
            unsafe fn divide(self, pivot: Self, low: *mut $elem, high: *mut $elem) -> usize {
                level!({
                    let below = $mask($less(pivot.0, self.0)) as usize;
                    let lanes = _mm_loadl_epi64($divisions.lanes[below].as_ptr().cast());
                    let divided = _mm256_permutevar8x32_epi32(self.0, _mm256_cvtepu8_epi32(lanes));
                    _mm256_storeu_si256(low.cast(), divided);
                    _mm256_storeu_si256(high.wrapping_sub($len).cast(), divided);
                    usize::from($divisions.counts[below])
                })
            }
        }
    };
}

/// The lanes of so many times 32 bits whose numbers differ in the bits `X` in each other's place.
#[inline(always)]
fn crossed<const X: usize, const WIDTH: usize>(v: __m256i) -> __m256i {
    level!({
        let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        _mm256_permutevar8x32_epi32(v, _mm256_xor_si256(lanes, _mm256_set1_epi32((X * WIDTH) as i32)))
    })
}

#[inline(always)]
fn min_i32(a: __m256i, b: __m256i) -> __m256i {
    level!(_mm256_min_epi32(a, b))
}
#[inline(always)]
fn max_i32(a: __m256i, b: __m256i) -> __m256i {
    level!(_mm256_max_epi32(a, b))
}
#[inline(always)]
fn min_i64(a: __m256i, b: __m256i) -> __m256i {
    level!(_mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b)))
}
#[inline(always)]
fn max_i64(a: __m256i, b: __m256i) -> __m256i {
    level!(_mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b)))
}

/// A bit for each negative lane.
#[inline(always)]
fn signs_i32(v: __m256i) -> i32 {
    level!(_mm256_movemask_ps(_mm256_castsi256_ps(v)))
}
/// As [`signs_i32`].
#[inline(always)]
fn signs_i64(v: __m256i) -> i32 {
    level!(_mm256_movemask_pd(_mm256_castsi256_pd(v)))
}

ordered! { I32, i32, 8, set: _mm256_set1_epi32, min: min_i32, max: max_i32, less: _mm256_cmpgt_epi32, mask: signs_i32,
divisions: OF_I32 }
ordered! { I64, i64, 4, set: _mm256_set1_epi64x, min: min_i64, max: max_i64, less: _mm256_cmpgt_epi64, mask: signs_i64,
divisions: OF_I64 }
