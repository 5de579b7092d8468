//! The words that are sorted: keys, and keys with the place that each had.

use bytemuck::Zeroable;

/// What is sorted: a number, and in the bits below [`LOW`](Self::LOW) maybe an index.
pub(crate) trait Word: Copy + Ord + Send + Sync + Zeroable {
    /// Bits below the number.
    const LOW: u32;
    /// Eight bits from one on.
    fn digit(self, from: u32) -> usize;
}

/// A number alone.
pub(crate) trait Key: Word {
    fn of(key: u64) -> Self;
    fn key(self) -> u64;
}

/// A number before an index.
pub(crate) trait Indexed: Word {
    fn of(key: (u64, u64), index: usize) -> Self;
    fn index(self) -> usize;
    /// The number, or the first of two.
    fn rank(self) -> u64;
}

macro_rules! keys {
    ($($t:ty)*) => {$(
        impl Word for $t {
            const LOW: u32 = 0;
            #[inline(always)]
            fn digit(self, from: u32) -> usize { (self >> from) as usize & 255 }
        }
        impl Key for $t {
            #[inline(always)]
            fn of(key: u64) -> Self { key as $t }
            #[inline(always)]
            fn key(self) -> u64 { u64::from(self) }
        }
    )*};
}
keys!(u8 u16 u32 u64);

/// Keys of 32 bits at most, and as many of an index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Zeroable)]
#[repr(transparent)]
pub(crate) struct Half(u64);
impl Word for Half {
    const LOW: u32 = 32;
    #[inline(always)]
    fn digit(self, from: u32) -> usize {
        (self.0 >> from) as usize & 255
    }
}
impl Indexed for Half {
    #[inline(always)]
    fn of(key: (u64, u64), index: usize) -> Self {
        Self(key.0 << 32 | index as u64)
    }
    #[inline(always)]
    fn index(self) -> usize {
        (self.0 & 0xffff_ffff) as usize
    }
    #[inline(always)]
    fn rank(self) -> u64 {
        self.0 >> 32
    }
}

/// Keys of 64 bits: one number, or two of 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Zeroable)]
#[repr(transparent)]
pub(crate) struct Whole(u128);
impl Word for Whole {
    const LOW: u32 = 64;
    #[inline(always)]
    fn digit(self, from: u32) -> usize {
        (self.0 >> from) as usize & 255
    }
}
impl Indexed for Whole {
    #[inline(always)]
    fn of(key: (u64, u64), index: usize) -> Self {
        Self(u128::from(key.0) << 64 | index as u128)
    }
    #[inline(always)]
    fn index(self) -> usize {
        self.0 as usize
    }
    #[inline(always)]
    fn rank(self) -> u64 {
        (self.0 >> 64) as u64
    }
}

/// Two keys of 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Zeroable)]
#[repr(transparent)]
pub(crate) struct Pair([u64; 3]);
impl Word for Pair {
    const LOW: u32 = 64;
    #[inline(always)]
    fn digit(self, from: u32) -> usize {
        (self.0[2 - from as usize / 64] >> (from % 64)) as usize & 255
    }
}
impl Indexed for Pair {
    #[inline(always)]
    fn of(key: (u64, u64), index: usize) -> Self {
        Self([key.0, key.1, index as u64])
    }
    #[inline(always)]
    fn index(self) -> usize {
        self.0[2] as usize
    }
    #[inline(always)]
    fn rank(self) -> u64 {
        self.0[0]
    }
}
