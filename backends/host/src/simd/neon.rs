//! The NEON level: 128-bit registers of AArch64, which every processor of that architecture has.
//!
//! The base level is of the same width there. What this one has besides are the instructions that `wide` has no function for: rounding
//! to integers, extremes with NaN, tables of 64 bytes, conversions of 16-bit floats, bytes and masks, loads of every other element, and
//! the sorting of integers. A table of two registers takes an index as it is, so that nothing is gathered but for `float64`.
//!
//! `fcvtl`, `fcvtn` and the loads of every other element are blocks of assembly: the first two have types in their intrinsics that the
//! oldest compiler does not know, and the last are for the reason that `x86::seconds` gives.

use std::arch::aarch64::*;
use std::arch::asm;

mod ordered;

pub(crate) use ordered::{I32, I64};

use super::{Bytes, FloatBits, HalfMemory, Lane, MAX_LEN, Single, float_lane, mask_type};

/// Four f32.
#[derive(Clone, Copy)]
pub(crate) struct F32(float32x4_t);
/// Two f64.
#[derive(Clone, Copy)]
pub(crate) struct F64(float64x2_t);
/// Sixteen bytes.
#[derive(Clone, Copy)]
pub(crate) struct U8(uint8x16_t);
/// Four f16, computed in f32.
pub(crate) type F16 = super::half::F16<F32>;
/// Four bf16, computed in f32.
pub(crate) type Bf16 = super::half::Bf16<F32>;

/// An expression of intrinsics of the level.
macro_rules! level {
    ($($e:tt)*) => {{
        // SAFETY: every AArch64 processor has NEON, and this expression reads no memory but that whose validity the surrounding
        // function's contract states.
        #[allow(unused_unsafe, clippy::macro_metavars_in_unsafe)]
        unsafe { $($e)* }
    }};
}
use level;

macro_rules! lanes {
    ($name:ident, $elem:ident, $int:ident, $reg:ident, $bits:ident, $mask:ident, $len:literal,
     add: $add:ident, sub: $sub:ident, mul: $mul:ident, div: $div:ident, neg: $neg:ident, fma: $fma:ident, sqrt: $sqrt:ident,
     abs: $abs:ident, down: $down:ident, up: $up:ident, inwards: $inwards:ident, nearest: $nearest:ident, min: $min:ident,
     max: $max:ident, equal: $equal:ident, less: $less:ident, less_equal: $less_equal:ident, select: $select:ident,
     set: $set:ident, load: $load:ident, store: $store:ident, and: $and:ident, or: $or:ident, xor: $xor:ident, not: $not:expr,
     to: $to:ident, from: $from:ident, set_bits: $set_bits:ident, add_bits: $add_bits:ident, shift: $shift:ident,
     count: $count:ident, equal_bits: $equal_bits:ident, test: $test:ident, any: $any:expr) => {
        mask_type!($mask, $bits, and: |a, b| level!($and(a, b)), or: |a, b| level!($or(a, b)), xor: |a, b| level!($xor(a, b)),
            not: |a| level!($not(a)));

        float_lane!($name, $elem, $mask,
            add: |a, b| level!($add(a, b)), sub: |a, b| level!($sub(a, b)), mul: |a, b| level!($mul(a, b)),
            div: |a, b| level!($div(a, b)), neg: |a| level!($neg(a)),
            fma: |a, b, c| level!($fma(c, a, b)), sqrt: |a| level!($sqrt(a)), abs: |a| level!($abs(a)),
            floor: |a| level!($down(a)), ceil: |a| level!($up(a)), trunc: |a| level!($inwards(a)),
            round: |a| level!($nearest(a)),
            // NaN if either is, and −0 is less than 0.
            minimum: |a, b| level!($min(a, b)), maximum: |a, b| level!($max(a, b)),
            equal: |a, b| $mask(level!($equal(a, b))), less: |a, b| $mask(level!($less(a, b))),
            less_equal: |a, b| $mask(level!($less_equal(a, b))),
            select: |m, yes, no| level!($select(m.0, yes, no)), lit: |c| level!($set(c)));

        impl Lane for $name {
            type Elem = $elem;
            const LEN: usize = $len;
            #[inline(always)]
            unsafe fn load(p: *const $elem) -> Self {
                Self(level!($load(p)))
            }
            #[inline(always)]
            unsafe fn load_part(p: *const $elem, len: usize) -> Self {
                // SAFETY: `p` is readable for `len` elements, fewer than a vector has.
                Self(unsafe { part::$elem(p, len) })
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $elem) {
                level!($store(p, self.0));
            }
            #[inline(always)]
            unsafe fn store_part(self, p: *mut $elem, len: usize) {
                // SAFETY: `p` is writable for `len` elements, fewer than a vector has.
                unsafe { part_to::$elem(self.0, p, len) };
            }
            #[inline(always)]
            unsafe fn stream(self, p: *mut $elem) {
                level!($store(p, self.0));
            }
            #[inline(always)]
            unsafe fn splat(v: $elem) -> Self {
                Self(level!($set(v)))
            }
            #[inline(always)]
            unsafe fn load_seconds(p: *const $elem) -> Self {
                // SAFETY: every other element from `p` on is readable, as many as a vector has, and another one lies behind
                // the last.
                Self(unsafe { seconds::$elem(p) })
            }
            #[inline(always)]
            fn pieces(a: Self, b: Self, half: usize) -> [Self; 2] {
                pieces::$elem(a.0, b.0, half).map(Self)
            }
            #[inline(always)]
            fn raised(self, x: Self) -> Self {
                Self(level!($select($less(self.0, x.0), x.0, self.0)))
            }
            #[inline(always)]
            fn lowered(self, x: Self) -> Self {
                Self(level!($select($less(x.0, self.0), x.0, self.0)))
            }
            #[inline(always)]
            unsafe fn mask_to_bytes(mask: $mask, p: *mut u8, len: usize) {
                let bytes = narrowed::$elem(mask.0);
                debug_assert!(len <= $len);
                // SAFETY: `p` is writable for `len` bytes, no more than a vector has elements.
                unsafe {
                    if len == $len {
                        std::ptr::copy_nonoverlapping(bytes.as_ptr(), p, $len);
                    } else {
                        std::ptr::copy_nonoverlapping(bytes.as_ptr(), p, len);
                    }
                }
            }
            #[inline(always)]
            unsafe fn mask_from_bytes(p: *const u8, len: usize) -> $mask {
                let mut bytes = [0; 8];
                debug_assert!(len <= $len);
                // SAFETY: `p` is readable for `len` bytes, no more than a vector has elements.
                unsafe {
                    if len == $len {
                        std::ptr::copy_nonoverlapping(p, bytes.as_mut_ptr(), $len);
                    } else {
                        std::ptr::copy_nonoverlapping(p, bytes.as_mut_ptr(), len);
                    }
                }
                let wide = widened::$elem(u64::from_le_bytes(bytes));
                $mask(level!($test(wide, wide)))
            }
        }

        impl FloatBits for $name {
            type Bits = $bits;
            #[inline(always)]
            fn to_bits(self) -> $bits {
                level!($to(self.0))
            }
            #[inline(always)]
            fn from_bits(bits: $bits) -> Self {
                Self(level!($from(bits)))
            }
            #[inline(always)]
            fn bits(self, value: i64) -> $bits {
                level!($set_bits(value as $int))
            }
            #[inline(always)]
            fn bits_and(a: $bits, b: $bits) -> $bits {
                level!($and(a, b))
            }
            #[inline(always)]
            fn bits_or(a: $bits, b: $bits) -> $bits {
                level!($or(a, b))
            }
            #[inline(always)]
            fn bits_xor(a: $bits, b: $bits) -> $bits {
                level!($xor(a, b))
            }
            #[inline(always)]
            fn bits_add(a: $bits, b: $bits) -> $bits {
                level!($add_bits(a, b))
            }
            #[inline(always)]
            fn bits_shl(a: $bits, count: u32) -> $bits {
                level!($shift(a, $count(count.cast_signed().into())))
            }
            #[inline(always)]
            fn bits_shr(a: $bits, count: u32) -> $bits {
                // A shift to the left by fewer than no bits shifts to the right, and zeros in.
                level!($shift(a, $count((-count.cast_signed()).into())))
            }
            #[inline(always)]
            fn bits_equal(a: $bits, b: $bits) -> $mask {
                $mask(level!($equal_bits(a, b)))
            }
            #[inline(always)]
            fn lookup(index: $bits, table: &'static [$elem; 16]) -> Self {
                Self(lookup::$elem(index, table))
            }
            #[inline(always)]
            fn lookup32(index: $bits, table: &'static [[$elem; 16]; 2]) -> Self {
                Self(lookup32::$elem(index, table))
            }
            #[inline(always)]
            fn any(mask: $mask) -> bool {
                level!($any(mask.0))
            }
            #[inline(always)]
            fn at_most(self, limit: Self) -> Self {
                Self(level!($select($less(limit.0, self.0), limit.0, self.0)))
            }
            #[inline(always)]
            fn at_least(self, limit: Self) -> Self {
                Self(level!($select($less(self.0, limit.0), limit.0, self.0)))
            }
            #[inline(always)]
            fn scale(self, k: Self) -> Self {
                super::math::scale(self, k)
            }
            #[inline(always)]
            fn to_array(self) -> [$elem; MAX_LEN] {
                let mut array = [0.0; MAX_LEN];
                // SAFETY: the array has at least LEN elements.
                unsafe { self.store(array.as_mut_ptr()) };
                array
            }
            #[inline(always)]
            fn from_array(array: &[$elem; MAX_LEN]) -> Self {
                // SAFETY: the array has at least LEN elements.
                unsafe { Self::load(array.as_ptr()) }
            }
        }
    };
}

/// Loads of fewer elements than a vector has; the other lanes are 0.
mod part {
    use super::*;

    /// # Safety
    /// `p` is readable for `len < 4` elements.
    #[inline(always)]
    pub(super) unsafe fn f32(p: *const f32, len: usize) -> float32x4_t {
        debug_assert!(len < 4);
        // SAFETY: each access is to one of `len` elements.
        unsafe {
            let none = vdup_n_f32(0.0);
            match len {
                0 => vcombine_f32(none, none),
                1 => vcombine_f32(vset_lane_f32::<0>(p.read_unaligned(), none), none),
                2 => vcombine_f32(vld1_f32(p), none),
                _ => vcombine_f32(vld1_f32(p), vset_lane_f32::<0>(p.add(2).read_unaligned(), none)),
            }
        }
    }
    /// # Safety
    /// `p` is readable for `len < 2` elements.
    #[inline(always)]
    pub(super) unsafe fn f64(p: *const f64, len: usize) -> float64x2_t {
        debug_assert!(len < 2);
        // SAFETY: it is read where there is an element.
        unsafe {
            let none = vdupq_n_f64(0.0);
            if len == 0 { none } else { vsetq_lane_f64::<0>(p.read_unaligned(), none) }
        }
    }
}

/// Stores of fewer elements than a vector has.
mod part_to {
    use super::*;

    /// # Safety
    /// `p` is writable for `len < 4` elements.
    #[inline(always)]
    pub(super) unsafe fn f32(v: float32x4_t, p: *mut f32, len: usize) {
        debug_assert!(len < 4);
        // SAFETY: each access is to one of `len` elements.
        unsafe {
            match len {
                0 => {}
                1 => p.write_unaligned(vgetq_lane_f32::<0>(v)),
                2 => vst1_f32(p, vget_low_f32(v)),
                _ => {
                    vst1_f32(p, vget_low_f32(v));
                    p.add(2).write_unaligned(vgetq_lane_f32::<2>(v));
                }
            }
        }
    }
    /// # Safety
    /// `p` is writable for `len < 2` elements.
    #[inline(always)]
    pub(super) unsafe fn f64(v: float64x2_t, p: *mut f64, len: usize) {
        debug_assert!(len < 2);
        if len == 1 {
            // SAFETY: there is an element.
            unsafe { p.write_unaligned(vgetq_lane_f64::<0>(v)) };
        }
    }
}

/// Every other element. The block gives nothing of what lies between them, so that whoever writes that races with nobody; see
/// `x86::seconds`.
mod seconds {
    use super::*;

    macro_rules! seconds {
        ($elem:ident, $reg:ident, $line:literal) => {
            /// # Safety
            /// The contract of [`Lane::load_seconds`].
            #[inline(always)]
            pub(super) unsafe fn $elem(p: *const $elem) -> $reg {
                let vector: $reg;
                // SAFETY: the block reads two vectors that are there (the caller's contract), gives nothing of what may be
                // written meanwhile, and writes no memory.
                unsafe {
                    asm!("ldp {to:q}, {behind:q}, [{p}]", $line, p = in(reg) p, to = out(vreg) vector,
                        behind = out(vreg) _, options(pure, readonly, nostack, preserves_flags));
                }
                vector
            }
        };
    }
    seconds!(f32, float32x4_t, "uzp1 {to:v}.4s, {to:v}.4s, {behind:v}.4s");
    seconds!(f64, float64x2_t, "uzp1 {to:v}.2d, {to:v}.2d, {behind:v}.2d");
}

/// See [`Lane::pieces`].
mod pieces {
    use super::*;

    #[inline(always)]
    pub(super) fn f32(a: float32x4_t, b: float32x4_t, half: usize) -> [float32x4_t; 2] {
        level!(match half {
            2 => {
                let [a, b] = [vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)];
                [vreinterpretq_f32_f64(vtrn1q_f64(a, b)), vreinterpretq_f32_f64(vtrn2q_f64(a, b))]
            }
            _ => [vtrn1q_f32(a, b), vtrn2q_f32(a, b)],
        })
    }
    #[inline(always)]
    pub(super) fn f64(a: float64x2_t, b: float64x2_t, _: usize) -> [float64x2_t; 2] {
        level!([vtrn1q_f64(a, b), vtrn2q_f64(a, b)])
    }
}

/// The lowest bit of each lane of a mask, as bytes; more of them than there are lanes.
mod narrowed {
    use super::*;

    #[inline(always)]
    pub(super) fn f32(mask: uint32x4_t) -> [u8; 8] {
        level!({
            let shorts = vmovn_u32(mask);
            let bytes = vmovn_u16(vcombine_u16(shorts, shorts));
            vget_lane_u64::<0>(vreinterpret_u64_u8(vand_u8(bytes, vdup_n_u8(1)))).to_le_bytes()
        })
    }
    #[inline(always)]
    pub(super) fn f64(mask: uint64x2_t) -> [u8; 8] {
        level!({
            let words = vmovn_u64(mask);
            f32(vcombine_u32(words, words))
        })
    }
}

/// The lowest bytes, one in each lane.
mod widened {
    use super::*;

    #[inline(always)]
    pub(super) fn f32(bytes: u64) -> uint32x4_t {
        level!(vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(bytes)))))
    }
    #[inline(always)]
    pub(super) fn f64(bytes: u64) -> uint64x2_t {
        level!(vmovl_u32(vget_low_u32(f32(bytes))))
    }
}

/// The bytes of a table of 16 f32.
#[inline(always)]
fn bytes_of(table: &'static [f32; 16]) -> uint8x16x4_t {
    // SAFETY: the table has four vectors.
    let vector = |at: usize| unsafe { vld1q_u8(table.as_ptr().add(4 * at).cast()) };
    uint8x16x4_t(vector(0), vector(1), vector(2), vector(3))
}

/// The numbers of the four bytes of each element of 32 bits.
#[inline(always)]
fn bytes_at(index: uint32x4_t) -> uint8x16_t {
    level!(vreinterpretq_u8_u32(vmlaq_n_u32(vdupq_n_u32(0x0302_0100), index, 0x0404_0404)))
}

/// See [`FloatBits::lookup`].
mod lookup {
    use super::*;

    #[inline(always)]
    pub(super) fn f32(index: uint32x4_t, table: &'static [f32; 16]) -> float32x4_t {
        level!({
            let bytes = bytes_at(vandq_u32(index, vdupq_n_u32(15)));
            vreinterpretq_f32_u8(vqtbl4q_u8(bytes_of(table), bytes))
        })
    }
    #[inline(always)]
    pub(super) fn f64(index: uint64x2_t, table: &'static [f64; 16]) -> float64x2_t {
        level!({
            let lanes = [vgetq_lane_u64::<0>(index), vgetq_lane_u64::<1>(index)];
            let [low, high] = lanes.map(|lane| table[(lane & 15) as usize]);
            vsetq_lane_f64::<1>(high, vdupq_n_f64(low))
        })
    }
}

/// See [`FloatBits::lookup32`].
mod lookup32 {
    use super::*;

    #[inline(always)]
    pub(super) fn f32(index: uint32x4_t, [lower, upper]: &'static [[f32; 16]; 2]) -> float32x4_t {
        level!({
            let bytes = bytes_at(vandq_u32(index, vdupq_n_u32(31)));
            // A byte beyond a table is 0 of the first, and left as it is by the second, whose numbers below 0 are large ones.
            let found = vqtbl4q_u8(bytes_of(lower), bytes);
            vreinterpretq_f32_u8(vqtbx4q_u8(found, bytes_of(upper), vsubq_u8(bytes, vdupq_n_u8(64))))
        })
    }
    #[inline(always)]
    pub(super) fn f64(index: uint64x2_t, table: &'static [[f64; 16]; 2]) -> float64x2_t {
        level!({
            let table = table.as_flattened();
            let lanes = [vgetq_lane_u64::<0>(index), vgetq_lane_u64::<1>(index)];
            let [low, high] = lanes.map(|lane| table[(lane & 31) as usize]);
            vsetq_lane_f64::<1>(high, vdupq_n_f64(low))
        })
    }
}

#[inline(always)]
fn not_u64(a: uint64x2_t) -> uint64x2_t {
    level!(vreinterpretq_u64_u32(vmvnq_u32(vreinterpretq_u32_u64(a))))
}
#[inline(always)]
fn any_u32(mask: uint32x4_t) -> bool {
    level!(vmaxvq_u32(mask)) != 0
}
#[inline(always)]
fn any_u64(mask: uint64x2_t) -> bool {
    any_u32(level!(vreinterpretq_u32_u64(mask)))
}

lanes! { F32, f32, u32, float32x4_t, uint32x4_t, Mask32, 4, add: vaddq_f32, sub: vsubq_f32, mul: vmulq_f32, div: vdivq_f32,
neg: vnegq_f32, fma: vfmaq_f32, sqrt: vsqrtq_f32, abs: vabsq_f32, down: vrndmq_f32, up: vrndpq_f32, inwards: vrndq_f32,
nearest: vrndnq_f32, min: vminq_f32, max: vmaxq_f32, equal: vceqq_f32, less: vcltq_f32, less_equal: vcleq_f32,
select: vbslq_f32, set: vdupq_n_f32, load: vld1q_f32, store: vst1q_f32, and: vandq_u32, or: vorrq_u32, xor: veorq_u32,
not: vmvnq_u32, to: vreinterpretq_u32_f32, from: vreinterpretq_f32_u32, set_bits: vdupq_n_u32, add_bits: vaddq_u32,
shift: vshlq_u32, count: vdupq_n_s32, equal_bits: vceqq_u32, test: vtstq_u32, any: any_u32 }

lanes! { F64, f64, u64, float64x2_t, uint64x2_t, Mask64, 2, add: vaddq_f64, sub: vsubq_f64, mul: vmulq_f64, div: vdivq_f64,
neg: vnegq_f64, fma: vfmaq_f64, sqrt: vsqrtq_f64, abs: vabsq_f64, down: vrndmq_f64, up: vrndpq_f64, inwards: vrndq_f64,
nearest: vrndnq_f64, min: vminq_f64, max: vmaxq_f64, equal: vceqq_f64, less: vcltq_f64, less_equal: vcleq_f64,
select: vbslq_f64, set: vdupq_n_f64, load: vld1q_f64, store: vst1q_f64, and: vandq_u64, or: vorrq_u64, xor: veorq_u64,
not: not_u64, to: vreinterpretq_u64_f64, from: vreinterpretq_f64_u64, set_bits: vdupq_n_u64, add_bits: vaddq_u64,
shift: vshlq_u64, count: vdupq_n_s64, equal_bits: vceqq_u64, test: vtstq_u64, any: any_u64 }

impl Single for F32 {
    type Double = F64;
    #[inline(always)]
    fn widen(self) -> [F64; 2] {
        level!([F64(vcvt_f64_f32(vget_low_f32(self.0))), F64(vcvt_high_f64_f32(self.0))])
    }
    #[inline(always)]
    fn narrow([lower, upper]: [F64; 2]) -> Self {
        Self(level!(vcvt_high_f32_f64(vcvt_f32_f64(lower.0), upper.0)))
    }
}

/// The f16 nearest to each f32, ties to even.
#[inline(always)]
fn round_f16(x: F32) -> uint16x4_t {
    let halves: uint16x4_t;
    // SAFETY: every AArch64 processor has the instruction, which touches registers alone.
    unsafe {
        asm!("fcvtn {to:v}.4h, {from:v}.4s", from = in(vreg) x.0, to = lateout(vreg) halves,
            options(pure, nomem, nostack, preserves_flags));
    }
    halves
}

/// The bf16 nearest to each f32, ties to even. A NaN keeps its upper bits and becomes quiet.
#[inline(always)]
fn round_bf16(x: F32) -> uint16x4_t {
    level!({
        let bits = vreinterpretq_u32_f32(x.0);
        let odd = vandq_u32(vshrq_n_u32::<16>(bits), vdupq_n_u32(1));
        let rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
        let quiet = vorrq_u32(bits, vdupq_n_u32(0x0040_0000));
        vshrn_n_u32::<16>(vbslq_u32(vceqq_f32(x.0, x.0), rounded, quiet))
    })
}

impl HalfMemory for F32 {
    #[inline(always)]
    unsafe fn load_f16(p: *const u16) -> Self {
        let floats: float32x4_t;
        // SAFETY: `p` is readable for four elements; every AArch64 processor has the instruction, which touches registers alone.
        unsafe {
            asm!("fcvtl {to:v}.4s, {from:v}.4h", from = in(vreg) vld1_u16(p), to = lateout(vreg) floats,
                options(pure, nomem, nostack, preserves_flags));
        }
        Self(floats)
    }
    #[inline(always)]
    unsafe fn store_f16(self, p: *mut u16) {
        level!(vst1_u16(p, round_f16(self)));
    }
    #[inline(always)]
    unsafe fn load_bf16(p: *const u16) -> Self {
        Self(level!(vreinterpretq_f32_u32(vshll_n_u16::<16>(vld1_u16(p)))))
    }
    #[inline(always)]
    unsafe fn store_bf16(self, p: *mut u16) {
        level!(vst1_u16(p, round_bf16(self)));
    }
    #[inline(always)]
    unsafe fn stream_f16(self, p: *mut u16) {
        level!(vst1_u16(p, round_f16(self)));
    }
    #[inline(always)]
    unsafe fn stream_bf16(self, p: *mut u16) {
        level!(vst1_u16(p, round_bf16(self)));
    }
}

/// For each number of eight bits, the places of those that are 1, from the lowest on; the others are of no meaning.
static PLACES: [[u8; 8]; 256] = {
    let mut places = [[0; 8]; 256];
    let mut bits = 0;
    while bits < 256 {
        let (mut place, mut count) = (0, 0);
        while place < 8 {
            if bits >> place & 1 == 1 {
                places[bits][count] = place;
                count += 1;
            }
            place += 1;
        }
        bits += 1;
    }
    places
};

impl super::Mask for U8 {
    #[inline(always)]
    unsafe fn numbers(mask: *const u8, first: u32, to: *mut u32) -> usize {
        let mut count = 0;
        for word in 0..8_u32 {
            // SAFETY: `mask` is readable for 64 bytes, and `to` writable for as many numbers; eight are written from where no more
            // than those of the words before end, below 64.
            unsafe {
                let bytes = vld1_u8(mask.add(8 * word as usize));
                // A bit of its own for each byte that is not 0.
                let truths = vand_u8(vtst_u8(bytes, bytes), vcreate_u8(0x8040_2010_0804_0201));
                let bits = vaddv_u8(truths);
                let places = vmovl_u8(vld1_u8(PLACES[usize::from(bits)].as_ptr()));
                let start = vdupq_n_u32(first + 8 * word);
                vst1q_u32(to.add(count), vaddw_u16(start, vget_low_u16(places)));
                vst1q_u32(to.add(count + 4), vaddw_high_u16(start, places));
                count += bits.count_ones() as usize;
            }
        }
        count
    }
}
impl Bytes for U8 {
    const LEN: usize = 16;
    #[inline(always)]
    unsafe fn load(p: *const u8) -> Self {
        Self(level!(vld1q_u8(p)))
    }
    #[inline(always)]
    unsafe fn splat(byte: u8) -> Self {
        Self(level!(vdupq_n_u8(byte)))
    }
    #[inline(always)]
    fn differing(self, other: Self) -> Self {
        Self(level!(veorq_u8(self.0, other.0)))
    }
    #[inline(always)]
    fn truths(self) -> Self {
        Self(level!(vminq_u8(self.0, vdupq_n_u8(1))))
    }
    #[inline(always)]
    fn added_to(self, sums: Self) -> Self {
        level!({
            let fours = vpaddlq_u16(vpaddlq_u8(self.0));
            Self(vreinterpretq_u8_u64(vpadalq_u32(vreinterpretq_u64_u8(sums.0), fours)))
        })
    }
    #[inline(always)]
    fn total(self) -> u64 {
        level!(vaddvq_u64(vreinterpretq_u64_u8(self.0)))
    }
}
