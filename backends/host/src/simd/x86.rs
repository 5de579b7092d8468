//! What the x86-64 levels share: the wrapper of their intrinsics, and the parts written alike with other names.

/// An expression of intrinsics of the level.
#[cfg(feature = "avx2")]
macro_rules! level {
    ($($e:tt)*) => {{
        // SAFETY: values of a level's types exist only inside functions that enable its target features (the rule of
        // `Lane`), and this expression reads no memory but that whose validity the surrounding function's contract
        // states.
        #[allow(unused_unsafe, clippy::macro_metavars_in_unsafe)]
        unsafe { $($e)* }
    }};
}
#[cfg(feature = "avx2")]
pub(super) use level;

/// The function that loads every other element, for [`Lane::load_seconds`](super::Lane::load_seconds): instructions that load
/// two vectors from `p` on and halve them.
///
/// The instructions are one block of assembly, of which the result is all that leaves: it has nothing of what lies between the
/// elements, so that the block does what a block does that loads the elements alone, and whoever writes what lies between
/// them races with nobody. As loads and shuffles of the language, this would be a race, although nothing came of it. Loads
/// that leave lanes out, of which there are in AVX2 and AVX-512, were measured instead: on a Zen 5, sums of every second
/// `float32` in the first cache took 1.5 times as long with them in AVX2 and 1.1 to 1.2 times in AVX-512, in the second one
/// 1.4 and 1.6 times; as a block of assembly, 0.99 to 1.01 times. Single loads took twice as long at the base level.
macro_rules! seconds {
    ($(#[$attribute:meta])* $visible:vis fn $name:ident($elem:ty, $reg:ty, $class:ident);
     $($line:literal),+ $(; $($operand:ident = $value:expr),+)? $(=> $scratch:ident)?) => {
        /// See [`seconds`](super::x86::seconds).
        ///
        /// # Safety
        /// The contract of [`Lane::load_seconds`](super::Lane::load_seconds).
        #[inline]
        $(#[$attribute])*
        $visible unsafe fn $name(p: *const $elem) -> $reg {
            let vectors: $reg;
            // SAFETY: the block reads memory that is there (`Lane::load_seconds` asks for so much), gives nothing of what may be written
            // meanwhile, and writes no memory.
            unsafe {
                std::arch::asm!(
                    $($line,)+
                    p = in(reg) p,
                    to = out($class) vectors,
                    $($($operand = in($class) $value,)+)?
                    $($scratch = out($class) _,)?
                    options(pure, readonly, nostack, preserves_flags)
                );
            }
            vectors
        }
    };
}
pub(super) use seconds;

/// The integer side of a lane and its arrays, alike but for the names of the intrinsics.
#[cfg(feature = "avx2")]
macro_rules! float_bits {
    ($bits:ty, $elem:ty, $int:ty, to: $to:ident, set: $set:ident, add: $add:ident,
     sll: $sll:ident, srl: $srl:ident, from: $from:ident, and: $and:ident, or: $or:ident, xor: $xor:ident,
     min: $min:ident, max: $max:ident) => {
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
            level!($set(value as $int))
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
            level!($add(a, b))
        }
        #[inline(always)]
        fn bits_shl(a: $bits, count: u32) -> $bits {
            level!($sll(a, _mm_cvtsi32_si128(count as i32)))
        }
        #[inline(always)]
        fn bits_shr(a: $bits, count: u32) -> $bits {
            level!($srl(a, _mm_cvtsi32_si128(count as i32)))
        }
        // min and max give their second operand where either is NaN.
        #[inline(always)]
        fn at_most(self, limit: Self) -> Self {
            Self(level!($min(limit.0, self.0)))
        }
        #[inline(always)]
        fn at_least(self, limit: Self) -> Self {
            Self(level!($max(limit.0, self.0)))
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
    };
}
#[cfg(feature = "avx2")]
pub(super) use float_bits;

/// The bytes of a level and their sums, alike but for the names of the intrinsics.
#[cfg(feature = "avx2")]
macro_rules! byte_sums {
    ($len:literal, load: $load:ident, store: $store:ident, set: $set:ident, zero: $zero:ident, xor: $xor:ident,
     min: $min:ident, sad: $sad:ident, add: $add:ident) => {
        impl Bytes for U8 {
            const LEN: usize = $len;
            #[inline(always)]
            unsafe fn load(p: *const u8) -> Self {
                Self(level!($load(p.cast())))
            }
            #[inline(always)]
            unsafe fn splat(byte: u8) -> Self {
                Self(level!($set(byte.cast_signed())))
            }
            #[inline(always)]
            fn differing(self, other: Self) -> Self {
                Self(level!($xor(self.0, other.0)))
            }
            #[inline(always)]
            fn truths(self) -> Self {
                Self(level!($min(self.0, $set(1))))
            }
            #[inline(always)]
            fn added_to(self, sums: Self) -> Self {
                Self(level!($add(sums.0, $sad(self.0, $zero()))))
            }
            #[inline(always)]
            fn total(self) -> u64 {
                let mut sums = [0_u64; $len / 8];
                level!($store(sums.as_mut_ptr().cast(), self.0));
                sums.iter().fold(0, |total, &sum| total.wrapping_add(sum))
            }
        }
    };
}
#[cfg(feature = "avx2")]
pub(super) use byte_sums;
