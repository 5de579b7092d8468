//! Vectors of floats at each instruction-set level, and the vector mathematics over them.
//!
//! A level is a module with the lanes `F32`, `F64`, `F16` and `Bf16`: [`base`] works on every target, `neon` on AArch64, `avx2`
//! and `avx512` on x86-64 processors that have them, in builds with the features of these names. Every level runs the same
//! sequence of operations with the same roundings, so that results are equal in every bit whichever level runs (but for the payload and the sign of a NaN).

use stridewise_core::ops::Float;

#[cfg(all(target_arch = "x86_64", feature = "avx2"))]
pub(crate) mod avx2;
#[cfg(all(target_arch = "x86_64", feature = "avx512"))]
pub(crate) mod avx512;
pub(crate) mod base;
mod half;
mod lane;
mod math;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
mod ordered;
#[cfg(test)]
mod tests;
#[cfg(all(target_arch = "x86_64", any(feature = "avx2", not(target_feature = "avx"))))]
mod x86;

pub(crate) use half::HalfLane;
use lane::{float_lane, mask_type};
pub(crate) use ordered::Ordered;

/// An instruction-set level that kernels are compiled for.
#[allow(dead_code)] // Each target has some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Isa {
    /// The baseline of the target in a crate's vectors: SSE2 on x86-64, …
    Scalar,
    /// NEON in its own instructions, on AArch64, of which every processor has it.
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// AVX2, FMA, F16C and POPCNT.
    Avx2,
    /// AVX-512 F, BW, DQ and VL, with all of [`Isa::Avx2`].
    Avx512,
}

impl Isa {
    /// Every level of the target, lowest first.
    #[cfg(not(target_arch = "aarch64"))]
    pub(crate) const LEVELS: [Isa; 3] = [Isa::Scalar, Isa::Avx2, Isa::Avx512];
    /// Every level of the target, lowest first.
    #[cfg(target_arch = "aarch64")]
    pub(crate) const LEVELS: [Isa; 2] = [Isa::Scalar, Isa::Neon];

    /// The highest level that this processor has.
    pub(crate) fn best() -> Isa {
        Self::available().last().copied().unwrap_or(Isa::Scalar)
    }

    /// The levels that this build and this processor have, lowest first.
    pub(crate) fn available() -> &'static [Isa] {
        match Self::of_processor() {
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => &Self::LEVELS,
            Isa::Avx512 if cfg!(feature = "avx512") => &Self::LEVELS,
            Isa::Avx512 | Isa::Avx2 if cfg!(feature = "avx2") => &Self::LEVELS[..2],
            _ => &Self::LEVELS[..1],
        }
    }

    /// The highest level that this processor has, whatever the build.
    pub(crate) fn of_processor() -> Isa {
        #[cfg(target_arch = "aarch64")]
        return Isa::Neon;
        #[cfg(not(target_arch = "aarch64"))]
        match (processor_has_avx2(), processor_has_avx512()) {
            (true, true) => Isa::Avx512,
            (true, false) => Isa::Avx2,
            _ => Isa::Scalar,
        }
    }

    /// `scalar`, `neon`, `avx2` or `avx512`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => "neon",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }
}

/// Whether the processor has AVX2, FMA, F16C and POPCNT.
#[cfg(not(target_arch = "aarch64"))]
fn processor_has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
        // Every processor with AVX2 counts bits, but a compiler does not take that for granted.
        && is_x86_feature_detected!("popcnt");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Whether the processor has AVX-512 F, BW, DQ and VL.
#[cfg(not(target_arch = "aarch64"))]
fn processor_has_avx512() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// A vector of floats. A value must exist only inside the `#[target_feature]` entry points of its level: that is the
/// fact that makes the intrinsics behind its safe operators sound.
pub(crate) trait Lane: Float {
    /// What is in memory; f16 and bf16 lanes compute in f32.
    type Elem: Copy;
    /// Elements per vector.
    const LEN: usize;

    /// # Safety
    /// The processor has the level's features; `p` is readable for [`LEN`](Self::LEN) elements, at any alignment.
    unsafe fn load(p: *const Self::Elem) -> Self;
    /// The first `len` lanes come from memory; the others are 0.
    ///
    /// # Safety
    /// As [`load`](Self::load), with `len < LEN` elements; nothing beyond them is read.
    unsafe fn load_part(p: *const Self::Elem, len: usize) -> Self;
    /// # Safety
    /// `p` is writable for [`LEN`](Self::LEN) elements, at any alignment.
    unsafe fn store(self, p: *mut Self::Elem);
    /// # Safety
    /// As [`store`](Self::store), with `len < LEN` elements; nothing beyond them is written.
    unsafe fn store_part(self, p: *mut Self::Elem, len: usize);
    /// The `len` lanes of a vector, or the first of them as by [`load_part`](Self::load_part).
    ///
    /// # Safety
    /// As [`load`](Self::load), with `1 ≤ len ≤ LEN` elements.
    #[inline(always)]
    unsafe fn load_some(p: *const Self::Elem, len: usize) -> Self {
        // SAFETY: `p` is readable for `len` elements, of which a part is fewer than a vector has.
        unsafe { if len == Self::LEN { Self::load(p) } else { Self::load_part(p, len) } }
    }
    /// As [`load_some`](Self::load_some), to memory.
    ///
    /// # Safety
    /// As [`store`](Self::store), with `1 ≤ len ≤ LEN` elements.
    #[inline(always)]
    unsafe fn store_some(self, p: *mut Self::Elem, len: usize) {
        // SAFETY: `p` is writable for `len` elements, of which a part is fewer than a vector has.
        unsafe { if len == Self::LEN { self.store(p) } else { self.store_part(p, len) } }
    }
    /// A store that goes past the caches where the level has one. The caller orders it with a fence.
    ///
    /// # Safety
    /// As [`store`](Self::store), with `p` aligned to `LEN · size_of::<Elem>()` bytes.
    unsafe fn stream(self, p: *mut Self::Elem);
    /// # Safety
    /// The processor has the level's features.
    unsafe fn splat(v: Self::Elem) -> Self;
    /// As [`load`](Self::load), of every other element from `p` on. What lies between them others may write meanwhile: it is not
    /// read, as far as a program can tell.
    ///
    /// # Safety
    /// As [`load`](Self::load), of these elements; another element lies behind the last one, too.
    #[inline(always)]
    unsafe fn load_seconds(p: *const Self::Elem) -> Self {
        // SAFETY: as many of these elements as a vector has are readable from `p` on.
        unsafe { Self::load_seconds_part(p, Self::LEN) }
    }
    /// The first `len` of them; the other lanes are of no meaning.
    ///
    /// # Safety
    /// As [`load`](Self::load), of `1 ≤ len ≤ LEN` of these elements. Nothing else needs to be there.
    #[inline(always)]
    unsafe fn load_seconds_part(p: *const Self::Elem, len: usize) -> Self {
        // SAFETY: `len` of these elements, at least one, are readable from `p` on; a vector has no more than
        // `MAX_LEN` elements.
        unsafe {
            let mut lanes = [p.read_unaligned(); MAX_LEN];
            for (i, lane) in lanes.iter_mut().enumerate().take(len) {
                *lane = p.add(2 * i).read_unaligned();
            }
            Self::load(lanes.as_ptr())
        }
    }
    /// Of two vectors cut into pieces of `half` lanes, a power of two below [`LEN`](Self::LEN): the first, third, … piece of
    /// each in turns, and the others.
    fn pieces(a: Self, b: Self, half: usize) -> [Self; 2];
    /// The larger one; `self` where either is NaN.
    fn raised(self, x: Self) -> Self;
    /// The smaller one; `self` where either is NaN.
    fn lowered(self, x: Self) -> Self;
    /// Writes one byte, 0 or 1, per lane.
    ///
    /// # Safety
    /// `p` is writable for `len ≤ LEN` bytes; nothing beyond them is written.
    unsafe fn mask_to_bytes(mask: Self::Mask, p: *mut u8, len: usize);
    /// True where the byte is not 0; lanes from `len` on are false.
    ///
    /// # Safety
    /// The processor has the level's features; `p` is readable for `len ≤ LEN` bytes; nothing beyond is read.
    unsafe fn mask_from_bytes(p: *const u8, len: usize) -> Self::Mask;
}

/// Bytes that say for each of so many elements whether it is meant.
pub(crate) trait Mask {
    /// Writes the numbers of those of 64 bytes that are not 0, one after another, and answers how many these are. The first
    /// byte's number is `first`.
    ///
    /// # Safety
    /// The processor has the level's features; `mask` is readable for 64 bytes, `to` writable for as many numbers, all of
    /// which may be written.
    #[inline(always)]
    unsafe fn numbers(mask: *const u8, first: u32, to: *mut u32) -> usize {
        let mut count = 0;
        for word in 0..8_u32 {
            // SAFETY: for all of this function: `mask` is readable for 64 bytes, and `to` writable for as
            // many numbers; there are no more numbers than bytes.
            unsafe {
                // Most of a mask is often false.
                if mask.add(8 * word as usize).cast::<u64>().read_unaligned() == 0 {
                    continue;
                }
                for byte in 8 * word..8 * word + 8 {
                    *to.add(count) = first + byte;
                    count += usize::from(*mask.add(byte as usize) != 0);
                }
            }
        }
        count
    }
}

/// A vector of bytes, for sums of them. Values exist where those of [`Lane`] do.
pub(crate) trait Bytes: Mask + Copy {
    /// Bytes per vector.
    const LEN: usize;

    /// # Safety
    /// The processor has the level's features; `p` is readable for [`LEN`](Self::LEN) bytes.
    unsafe fn load(p: *const u8) -> Self;
    /// # Safety
    /// The processor has the level's features.
    unsafe fn splat(byte: u8) -> Self;
    /// The bits in which the two differ.
    fn differing(self, other: Self) -> Self;
    /// 1 for each byte but 0.
    fn truths(self) -> Self;
    /// Sums of 64 bits with those of each eight neighbouring unsigned bytes added.
    fn added_to(self, sums: Self) -> Self;
    /// The sum of the sums of 64 bits.
    fn total(self) -> u64;
}

/// The most lanes that a vector has at any level.
pub(crate) const MAX_LEN: usize = 16;

/// What the mathematics needs besides arithmetic: the bits of the floats as integer lanes of the same width.
trait FloatBits: Lane<Elem: math::Row> {
    /// Integer lanes, as wide as the floats; arithmetic wraps.
    type Bits: Copy;

    /// The bits of each float.
    fn to_bits(self) -> Self::Bits;
    /// The floats of these bits.
    fn from_bits(bits: Self::Bits) -> Self;
    /// The same integer in every lane; upper bits are cut off at the lane's width.
    fn bits(self, value: i64) -> Self::Bits;
    fn bits_and(a: Self::Bits, b: Self::Bits) -> Self::Bits;
    fn bits_or(a: Self::Bits, b: Self::Bits) -> Self::Bits;
    fn bits_xor(a: Self::Bits, b: Self::Bits) -> Self::Bits;
    fn bits_add(a: Self::Bits, b: Self::Bits) -> Self::Bits;
    fn bits_shl(a: Self::Bits, count: u32) -> Self::Bits;
    /// Shifts zeros in.
    fn bits_shr(a: Self::Bits, count: u32) -> Self::Bits;
    fn bits_equal(a: Self::Bits, b: Self::Bits) -> Self::Mask;
    /// The element of a table that the lowest four bits of each index name.
    fn lookup(index: Self::Bits, table: &'static [Self::Elem; 16]) -> Self;
    /// The element of a table that the lowest five bits of each index name.
    fn lookup32(index: Self::Bits, table: &'static [[Self::Elem; 16]; 2]) -> Self;

    /// Whether any lane is true.
    fn any(mask: Self::Mask) -> bool;
    /// The smaller one; NaN if `self` is NaN. `limit` is no NaN, and the two are not zeros of unlike sign.
    fn at_most(self, limit: Self) -> Self;
    /// The larger one; as [`at_most`](Self::at_most).
    fn at_least(self, limit: Self) -> Self;
    /// `self · 2ᵏ` rounded once, for a finite `self` of magnitude in [½, 4), and an integral `k` that leaves it
    /// between 2⁻² of the least subnormal number and 2² of the greatest number.
    fn scale(self, k: Self) -> Self;
    /// `self · 2ᵏ` from a `magic_k` of [`MAGIC`](math::Row::MAGIC) + k, where 2ᵏ and the product are normal numbers.
    #[inline(always)]
    fn scale_normal(self, magic_k: Self) -> Self {
        self * math::power(magic_k)
    }

    /// The lanes, from 0 on.
    fn to_array(self) -> [Self::Elem; MAX_LEN];
    /// Takes the first [`LEN`](Lane::LEN) elements.
    fn from_array(array: &[Self::Elem; MAX_LEN]) -> Self;
}

/// Lanes of f32 that can be computed in f64 lanes of the same level: two vectors for one.
trait Single: FloatBits<Elem = f32> {
    /// Lanes of f64, half as many.
    type Double: FloatBits<Elem = f64>;

    /// The lower and the upper half of the lanes, exactly.
    fn widen(self) -> [Self::Double; 2];
    /// The halves put together again, each lane rounded to nearest, once.
    fn narrow(halves: [Self::Double; 2]) -> Self;
}

/// Memory access of 16-bit floats through f32 lanes.
trait HalfMemory: FloatBits<Elem = f32> {
    /// # Safety
    /// `p` is readable for `LEN` elements of 2 bytes.
    unsafe fn load_f16(p: *const u16) -> Self;
    /// # Safety
    /// `p` is writable for `LEN` elements of 2 bytes.
    unsafe fn store_f16(self, p: *mut u16);
    /// # Safety
    /// `p` is readable for `LEN` elements of 2 bytes.
    unsafe fn load_bf16(p: *const u16) -> Self;
    /// # Safety
    /// `p` is writable for `LEN` elements of 2 bytes.
    unsafe fn store_bf16(self, p: *mut u16);
    /// As [`store_f16`](Self::store_f16), past the caches.
    ///
    /// # Safety
    /// As [`store_f16`](Self::store_f16), with `p` aligned to `2 · LEN` bytes.
    unsafe fn stream_f16(self, p: *mut u16);
    /// As [`store_bf16`](Self::store_bf16), past the caches.
    ///
    /// # Safety
    /// As [`store_bf16`](Self::store_bf16), with `p` aligned to `2 · LEN` bytes.
    unsafe fn stream_bf16(self, p: *mut u16);
}
