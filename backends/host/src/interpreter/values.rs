//! One value, and which lanes take part in something.

use std::ops::Range;

use stridewise_core::{Dtype, Scalar};

use crate::kernels::lanes;

/// Lanes of a frame, at most. Enough that what an operation costs besides its lanes counts little, and few enough that what a
/// kernel needs of slots at a time stays in the first cache.
pub(super) const LANES: usize = lanes::LANES;

/// One value in memory, as aligned as any dtype wants it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, align(16))]
pub(super) struct Bits(pub(super) [u8; 16]);

impl Bits {
    pub(super) fn of(scalar: Scalar) -> Self {
        Self(scalar.to_bytes())
    }

    /// An integer of a dtype; truth values count as integers.
    pub(super) fn integer(self, dtype: Dtype) -> i128 {
        macro_rules! read {
            ($ty:ty) => {{
                let mut bytes = [0; size_of::<$ty>()];
                bytes.copy_from_slice(&self.0[..size_of::<$ty>()]);
                i128::from(<$ty>::from_ne_bytes(bytes))
            }};
        }
        match dtype {
            Dtype::I8 => read!(i8),
            Dtype::I16 => read!(i16),
            Dtype::I32 => read!(i32),
            Dtype::I64 => read!(i64),
            Dtype::U16 => read!(u16),
            Dtype::U32 => read!(u32),
            Dtype::U64 => read!(u64),
            _ => read!(u8),
        }
    }

    /// [`integer`](Self::integer), where it is an `i64`.
    pub(super) fn number(self, dtype: Dtype) -> Option<i64> {
        let bytes = self.0;
        let word = [bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]];
        match dtype {
            Dtype::I64 => Some(i64::from_ne_bytes(word)),
            Dtype::U64 => i64::try_from(u64::from_ne_bytes(word)).ok(),
            // Those of fewer bits always are.
            other => Some(self.integer(other) as i64),
        }
    }

    /// The integer of a dtype that a number wraps to.
    pub(super) fn wrapped(value: i64, dtype: Dtype) -> Self {
        let mut bytes = [0; 16];
        let size = dtype.size().min(8);
        let from = if cfg!(target_endian = "big") { 8 - size } else { 0 };
        bytes[..size].copy_from_slice(&value.to_ne_bytes()[from..from + size]);
        Self(bytes)
    }
}

/// Words of a mask.
const WORDS: usize = LANES / 64;

/// Lanes that take part, a bit for each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Mask {
    words: [u64; WORDS],
    pub(super) count: usize,
}

impl Mask {
    pub(super) const NONE: Self = Self { words: [0; WORDS], count: 0 };

    fn of(words: [u64; WORDS]) -> Self {
        let count = words.iter().map(|word| word.count_ones() as usize).sum();
        Self { words, count }
    }

    /// The lanes of a range.
    pub(super) fn range(lanes: Range<usize>) -> Self {
        let below = |end: usize, word: usize| match end.saturating_sub(word * 64) {
            bits @ 0..64 => (1_u64 << bits) - 1,
            _ => u64::MAX,
        };
        Self::of(std::array::from_fn(|word| below(lanes.end, word) & !below(lanes.start, word)))
    }

    /// The lanes of which something is true.
    pub(super) fn of_lanes(takes_part: impl Fn(usize) -> bool) -> Self {
        Self::of(std::array::from_fn(|word| {
            (0..64).fold(0, |bits, bit| bits | u64::from(takes_part(word * 64 + bit)) << bit)
        }))
    }

    /// The lanes of a slice, in which each byte that is not 0 stands for one that takes part; those beyond do not.
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        let mut words = [0; WORDS];
        for (number, eight) in bytes.chunks(8).enumerate() {
            let mut all = [0; 8];
            all[..eight.len()].copy_from_slice(eight);
            let ones = ones(u64::from_le_bytes(all));
            // The product has bit `i` of its last byte from byte `i`: 8 i + 7 (8 - i) = 56 + i, and no two terms meet.
            let bits = ones.wrapping_mul(0x0102_0408_1020_4080) >> 56;
            words[number / 8] |= bits << (number % 8 * 8);
        }
        Self::of(words)
    }

    /// A byte for each lane, 1 where it takes part.
    pub(super) fn to_bytes(self) -> [u8; LANES] {
        let mut bytes = [0; LANES];
        for (number, eight) in bytes.chunks_exact_mut(8).enumerate() {
            let bits = self.words[number / 8] >> (number % 8 * 8) & 0xff;
            // Each byte keeps the bit of its number.
            let spread = bits.wrapping_mul(0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
            eight.copy_from_slice(&ones(spread).to_le_bytes());
        }
        bytes
    }

    /// Whether a lane takes part.
    pub(super) fn has(&self, lane: usize) -> bool {
        self.words[lane / 64] >> (lane % 64) & 1 == 1
    }

    /// The lanes, from the first on.
    pub(super) fn lanes(self) -> impl Iterator<Item = usize> {
        self.words.into_iter().enumerate().flat_map(|(number, mut word)| {
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros() as usize;
                (word != 0).then(|| {
                    word &= word - 1;
                    number * 64 + bit
                })
            })
        })
    }

    /// Calls a function with each lane, from the first on.
    #[inline(always)]
    pub(super) fn for_each(self, mut call: impl FnMut(usize)) {
        for (number, word) in self.words.into_iter().enumerate() {
            match word {
                u64::MAX => (number * 64..number * 64 + 64).for_each(&mut call),
                mut rest => {
                    while rest != 0 {
                        call(number * 64 + rest.trailing_zeros() as usize);
                        rest &= rest - 1;
                    }
                }
            }
        }
    }

    fn zip(self, other: Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        Self::of(std::array::from_fn(|word| combine(self.words[word], other.words[word])))
    }

    pub(super) fn and(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    pub(super) fn without(self, other: Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    pub(super) fn join(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    /// Takes the mask and leaves none.
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::NONE)
    }
}

/// 1 in each byte that is not 0.
const fn ones(bytes: u64) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    (((bytes & LOW) + LOW) | bytes) >> 7 & 0x0101_0101_0101_0101
}
