//! Sorting integers: vectors that are put into order, and divided by a pivot with a table of the bytes' places.

use std::arch::aarch64::*;

use super::level;
use crate::simd::Ordered;

/// Four i32.
#[derive(Clone, Copy)]
pub(crate) struct I32(int32x4_t);
/// Two i64.
#[derive(Clone, Copy)]
pub(crate) struct I64(int64x2_t);

/// For every choice of `LANES` lanes, the numbers of all bytes, those of the chosen lanes first.
const fn divisions<const LANES: usize, const MASKS: usize>() -> [[u8; 16]; MASKS] {
    let mut all = [[0; 16]; MASKS];
    let (mut mask, width) = (0, 16 / LANES);
    while mask < MASKS {
        let (mut at, mut others) = (0, 0);
        while others < 2 {
            let mut lane = 0;
            while lane < LANES {
                let mut byte = 0;
                while (mask >> lane & 1 == 1) == (others == 0) && byte < width {
                    all[mask][at] = (lane * width + byte) as u8;
                    at += 1;
                    byte += 1;
                }
                lane += 1;
            }
            others += 1;
        }
        mask += 1;
    }
    all
}
static OF_I32: [[u8; 16]; 16] = divisions::<4, 16>();
static OF_I64: [[u8; 16]; 4] = divisions::<2, 4>();

macro_rules! ordered {
    ($name:ident, $elem:ty, $len:literal, set: $set:ident, load: $load:ident, store: $store:ident, min: $min:ident, max: $max:ident,
     less: $less:ident, choice: $choice:ident, bytes: $of:ident, $bytes:ident, divisions: $divisions:ident, reversed: $reversed:ident,
     exchanged: $exchanged:ident) => {
        impl Ordered for $name {
            type Elem = $elem;
            const LEN: usize = $len;
            const ROWS: usize = 8;
            const MAX: $elem = <$elem>::MAX;
            #[inline(always)]
            unsafe fn load(p: *const $elem) -> Self {
                Self(level!($load(p)))
            }
            #[inline(always)]
            unsafe fn load_part(p: *const $elem, len: usize) -> Self {
                let mut all = [<$elem>::MAX; $len];
                // SAFETY: `p` is readable for `len` elements, fewer than there are lanes, at any alignment.
                unsafe {
                    let to = all.as_mut_ptr().cast::<u8>();
                    std::ptr::copy_nonoverlapping(p.cast::<u8>(), to, len * size_of::<$elem>());
                    Self::load(all.as_ptr())
                }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $elem) {
                level!($store(p, self.0));
            }
            #[inline(always)]
            unsafe fn store_part(self, p: *mut $elem, len: usize) {
                let mut all = [0; $len];
                // SAFETY: `p` is writable for `len` elements, fewer than there are lanes, at any alignment.
                unsafe {
                    self.store(all.as_mut_ptr());
                    let from = all.as_ptr().cast::<u8>();
                    std::ptr::copy_nonoverlapping(from, p.cast(), len * size_of::<$elem>());
                }
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
                Self($reversed(self.0))
            }
            #[inline(always)]
            fn exchanged<const X: usize>(self) -> Self {
                Self($exchanged::<X>(self.0))
            }
            #[inline(always)]
            unsafe fn divide(self, pivot: Self, low: *mut $elem, high: *mut $elem) -> usize {
                level!({
                    let (below, count) = $choice($less(self.0, pivot.0));
                    let places = vld1q_u8($divisions[below].as_ptr());
                    let divided = $bytes(vqtbl1q_u8($of(self.0), places));
                    $store(low, divided);
                    $store(high.wrapping_sub($len), divided);
                    count
                })
            }
        }
    };
}

/// A bit for each lane that is true, and how many are: each adds its bit and, above all bits, 1.
#[inline(always)]
fn choice_i32(mask: uint32x4_t) -> (usize, usize) {
    const BITS: [u32; 4] = [0x11, 0x12, 0x14, 0x18];
    let sum = level!(vaddvq_u32(vandq_u32(mask, vld1q_u32(BITS.as_ptr()))) as usize);
    (sum & 15, sum >> 4)
}
/// As [`choice_i32`].
#[inline(always)]
fn choice_i64(mask: uint64x2_t) -> (usize, usize) {
    const BITS: [u64; 2] = [5, 6];
    let sum = level!(vaddvq_u64(vandq_u64(mask, vld1q_u64(BITS.as_ptr()))) as usize);
    (sum & 3, sum >> 2)
}

#[inline(always)]
fn reversed_i32(v: int32x4_t) -> int32x4_t {
    level!({
        let pairs = vrev64q_s32(v);
        vextq_s32::<2>(pairs, pairs)
    })
}
#[inline(always)]
fn reversed_i64(v: int64x2_t) -> int64x2_t {
    level!(vextq_s64::<1>(v, v))
}

/// See [`Ordered::exchanged`].
#[inline(always)]
fn exchanged_i32<const X: usize>(v: int32x4_t) -> int32x4_t {
    level!({
        let others = match X {
            1 => vrev64q_s32(v),
            2 => vextq_s32::<2>(v, v),
            _ => reversed_i32(v),
        };
        let (low, high) = (vminq_s32(v, others), vmaxq_s32(v, others));
        match X {
            // The two of a pair have the same extremes in both of their lanes.
            1 => vtrn1q_s32(low, high),
            _ => vcombine_s32(vget_low_s32(low), vget_high_s32(high)),
        }
    })
}
/// See [`Ordered::exchanged`]; the lanes are one pair.
#[inline(always)]
fn exchanged_i64<const X: usize>(v: int64x2_t) -> int64x2_t {
    let others = reversed_i64(v);
    level!(vtrn1q_s64(min_i64(v, others), max_i64(v, others)))
}

#[inline(always)]
fn min_i64(a: int64x2_t, b: int64x2_t) -> int64x2_t {
    level!(vbslq_s64(vcgtq_s64(a, b), b, a))
}
#[inline(always)]
fn max_i64(a: int64x2_t, b: int64x2_t) -> int64x2_t {
    level!(vbslq_s64(vcgtq_s64(a, b), a, b))
}

ordered! { I32, i32, 4, set: vdupq_n_s32, load: vld1q_s32, store: vst1q_s32, min: vminq_s32, max: vmaxq_s32, less: vcltq_s32,
choice: choice_i32, bytes: vreinterpretq_u8_s32, vreinterpretq_s32_u8, divisions: OF_I32, reversed: reversed_i32, exchanged: exchanged_i32 }
ordered! { I64, i64, 2, set: vdupq_n_s64, load: vld1q_s64, store: vst1q_s64, min: min_i64, max: max_i64, less: vcltq_s64,
choice: choice_i64, bytes: vreinterpretq_u8_s64, vreinterpretq_s64_u8, divisions: OF_I64, reversed: reversed_i64, exchanged: exchanged_i64 }
