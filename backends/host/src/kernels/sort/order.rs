//! The order that sorts put elements into, as unsigned numbers.

use std::marker::PhantomData;

use stridewise_core::{Dtype, DtypeKind};

use crate::kernels::entry::{Kernel, contract, entry};
use crate::simd::Isa;

/// The order of real elements of a dtype, which are given and compared by their bits.
#[derive(Clone, Copy)]
pub(crate) struct Order {
    /// Bytes of an element.
    size: usize,
    /// Any byte but 0 is true.
    truth: bool,
    /// Floating point: negative numbers are ordered by their magnitudes, NaNs are behind everything.
    float: bool,
    /// All bits of an element.
    mask: u64,
    /// The bit that says that a number is negative; 0 where none does.
    pub(crate) sign: u64,
    /// The bits of infinity.
    infinity: u64,
    /// What turns the order round.
    flip: u64,
}

impl Order {
    /// The order of a dtype; of complex numbers, that of their parts.
    pub(crate) fn new(dtype: Dtype, descending: bool) -> Self {
        let float = matches!(dtype.kind(), DtypeKind::Float | DtypeKind::Complex);
        let size = if dtype.kind() == DtypeKind::Complex { dtype.size() / 2 } else { dtype.size() };
        let mask = u64::MAX >> (64 - 8 * size);
        let signed = float || matches!(dtype, Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64);
        let infinity = match dtype {
            Dtype::F16 => 0x7c00,
            Dtype::Bf16 => 0x7f80,
            Dtype::F32 | Dtype::C64 => 0x7f80_0000,
            _ => 0x7ff0_0000_0000_0000,
        };
        Self {
            size,
            truth: dtype == Dtype::Bool,
            float,
            mask,
            sign: if signed { mask ^ (mask >> 1) } else { 0 },
            infinity,
            flip: if descending { mask } else { 0 },
        }
    }

    /// The bits of an element.
    ///
    /// # Safety
    /// `size` bytes are readable.
    #[inline(always)]
    pub(crate) unsafe fn load(self, at: *const u8) -> u64 {
        // SAFETY: for all of this function: `size` bytes are readable.
        unsafe {
            match self.size {
                1 => u64::from(if self.truth { u8::from(*at != 0) } else { *at }),
                2 => u64::from(at.cast::<u16>().read_unaligned()),
                4 => u64::from(at.cast::<u32>().read_unaligned()),
                _ => at.cast::<u64>().read_unaligned(),
            }
        }
    }

    /// Writes the bits of an element.
    ///
    /// # Safety
    /// `size` bytes are writable.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // The bits are those of an element of the size.
    pub(crate) unsafe fn store(self, at: *mut u8, bits: u64) {
        // SAFETY: for all of this function: `size` bytes are writable.
        unsafe {
            match self.size {
                1 => *at = bits as u8,
                2 => at.cast::<u16>().write_unaligned(bits as u16),
                4 => at.cast::<u32>().write_unaligned(bits as u32),
                _ => at.cast::<u64>().write_unaligned(bits),
            }
        }
    }

    /// Whether the bits are a NaN's.
    #[inline(always)]
    pub(crate) fn is_nan(self, bits: u64) -> bool {
        self.float && bits & !self.sign > self.infinity
    }

    /// Whether the bits are a zero's of either sign, in floating point.
    #[inline(always)]
    pub(crate) fn is_zero(self, bits: u64) -> bool {
        self.float && bits & !self.sign == 0
    }

    /// The place of an element that is not NaN, from which its bits can be had back: zeros of either sign differ.
    #[inline(always)]
    pub(crate) fn key(self, bits: u64) -> u64 {
        let negative = self.float && bits & self.sign != 0;
        (if negative { !bits & self.mask } else { bits ^ self.sign }) ^ self.flip
    }

    /// The bits of a [`key`](Self::key).
    #[inline(always)]
    pub(crate) fn bits(self, key: u64) -> u64 {
        let key = key ^ self.flip;
        if self.float && key & self.sign == 0 { !key & self.mask } else { key ^ self.sign }
    }

    /// The place of any element; that of equal ones is the same, and that of NaNs the last.
    #[inline(always)]
    pub(crate) fn rank(self, bits: u64) -> u64 {
        if self.is_nan(bits) { self.mask } else { self.key(if self.is_zero(bits) { 0 } else { bits }) }
    }

    /// The function that turns real elements one after another, at any alignment, into their ranks, as numbers of their size.
    pub(crate) fn ranks_of(self, isa: Isa) -> ByOrderFn {
        match self.size {
            1 => entry::<Ranks<u8>>(isa),
            2 => entry::<Ranks<u16>>(isa),
            4 => entry::<Ranks<u32>>(isa),
            _ => entry::<Ranks<u64>>(isa),
        }
    }

    /// The function that turns real elements of 4 or 8 bytes into words, which are signed numbers of their size in the order of
    /// the elements, or [`back`](Self::bits): as [`ranks_of`](Self::ranks_of), but that zeros of either sign differ. All NaNs are
    /// the largest word, which no other float is.
    pub(crate) fn words_of(self, isa: Isa, back: bool) -> ByOrderFn {
        match (self.size, back) {
            (..=4, false) => entry::<Words<u32>>(isa),
            (..=4, true) => entry::<Elements<u32>>(isa),
            (_, false) => entry::<Words<u64>>(isa),
            (_, true) => entry::<Elements<u64>>(isa),
        }
    }

    /// The word of the bits of an element that is not NaN.
    pub(crate) fn word(self, bits: u64) -> i64 {
        let unused = 64 - 8 * self.size;
        // The order of the words is that of the keys, with their highest bit turned round.
        (((self.key(bits) ^ self.top()) << unused).cast_signed()) >> unused
    }

    /// The highest bit of an element.
    fn top(self) -> u64 {
        self.mask ^ (self.mask >> 1)
    }

    /// Whether elements are floating point.
    pub(crate) fn is_float(self) -> bool {
        self.float
    }

    /// The rank that NaNs have, and nothing else; `None` of integers.
    pub(crate) fn nan(self) -> Option<u64> {
        self.float.then_some(self.mask)
    }

    /// Whether these are the places of a complex number with a NaN.
    pub(crate) fn is_nan_pair(self, ranks: (u64, u64)) -> bool {
        self.float && ranks.0 >= self.mask - 2
    }

    /// The places of a complex number's parts. One with a NaN is behind everything, as NumPy documents it: first those whose imaginary
    /// part is NaN, by their real parts, then those whose real part is, by their imaginary parts, then those of two.
    ///
    /// # Safety
    /// Both parts are readable.
    #[inline(always)]
    pub(crate) unsafe fn ranks(self, at: *const u8) -> (u64, u64) {
        // SAFETY: both parts, of `size` bytes each, are readable, one after the other.
        let parts = unsafe { (self.load(at), self.load(at.wrapping_add(self.size))) };
        // No number's rank is among the last ones, as the bits of a NaN have many forms.
        match (self.is_nan(parts.0), self.is_nan(parts.1)) {
            (false, false) => (self.rank(parts.0), self.rank(parts.1)),
            (false, true) => (self.mask - 2, self.rank(parts.0)),
            (true, false) => (self.mask - 1, self.rank(parts.1)),
            (true, true) => (self.mask, self.mask),
        }
    }
}

/// What makes an [`Order`]'s keys of bits, as numbers of a size.
struct Keys<T> {
    sign: T,
    flip: T,
    /// The sign of floats; of integers none, as they are never negative in the sense of floats, nor zeros of two signs.
    negative: T,
    /// What the magnitude of NaN is beyond; none of an integer is.
    infinity: T,
}

contract! {
    /// Turns elements into numbers by an order, or back.
    ///
    /// - `len` elements, or numbers, of the size that the function was found for are readable at `from`, at any alignment.
    /// - As many are writable at `to`, which is `from` or apart from all of them, and nothing else accesses them.
    ByOrderFn(to: *mut u8, from: *const u8, order: &Order, len: usize)
        = to, [from, std::ptr::from_ref(order).cast(), from], 0, len
}

/// See [`Order::words_of`]. The target may be the elements.
struct Words<T>(PhantomData<T>);
/// What [`Words`] made, made elements again.
struct Elements<T>(PhantomData<T>);
/// See [`Order::ranks_of`]. The target may be the elements.
struct Ranks<T>(PhantomData<T>);

macro_rules! keys {
    ($($t:ty)*) => {$(
        #[allow(clippy::cast_possible_truncation)] // An order's bits are those of elements of the size.
        impl Keys<$t> {
            #[inline(always)]
            fn of(order: Order) -> Self {
                Self {
                    sign: order.sign as $t,
                    flip: order.flip as $t,
                    negative: if order.float { order.sign as $t } else { 0 },
                    infinity: if order.float { order.infinity as $t } else { <$t>::MAX },
                }
            }
            #[inline(always)]
            fn is_nan(&self, bits: $t) -> bool {
                bits & !self.negative > self.infinity
            }
            #[inline(always)]
            fn key(&self, bits: $t) -> $t {
                (if bits & self.negative != 0 { !bits } else { bits ^ self.sign }) ^ self.flip
            }
        }
        impl Kernel for Ranks<$t> {
            type Fn = ByOrderFn;

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation)] // As above.
            unsafe fn run(dst: *mut u8, [src, order, _]: [*const u8; 3], _: u32, len: usize) {
                // SAFETY: the second source is an `Order` (`ByOrderFn`).
                let order = unsafe { *order.cast::<Order>() };
                let (keys, mask) = (Keys::<$t>::of(order), order.mask as $t);
                let (dst, src) = (dst.cast::<$t>(), src.cast::<$t>());
                // Not by blocks: what is looked up comes from a tile next, and searches took 3 to 5 % longer.
                for i in 0..len {
                    // SAFETY: `len` elements are readable and as many ranks writable, at any alignment; `i`
                    // is below `len`, and an element is read before its place is written.
                    unsafe {
                        let bits = src.add(i).read_unaligned();
                        let bits = if order.truth { <$t>::from(bits != 0) } else { bits };
                        let bits = if bits & !keys.negative == 0 { 0 } else { bits };
                        dst.add(i).write_unaligned(if keys.is_nan(bits) { mask } else { keys.key(bits) });
                    }
                }
            }
        }
    )*};
}
keys!(u8 u16 u32 u64);

macro_rules! words {
    ($($t:ty)*) => {$(
        impl Kernel for Words<$t> {
            type Fn = ByOrderFn;

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation)] // As above.
            unsafe fn run(dst: *mut u8, [src, order, _]: [*const u8; 3], _: u32, len: usize) {
                // SAFETY: the second source is an `Order` (`ByOrderFn`).
                let order = unsafe { *order.cast::<Order>() };
                let (keys, top) = (Keys::<$t>::of(order), order.top() as $t);
                // SAFETY: `len` elements are readable and as many words writable, at any alignment; the
                // target is the elements or apart from them.
                unsafe {
                    each(dst.cast::<$t>(), src.cast(), len, |bits| {
                        (if keys.is_nan(bits) { <$t>::MAX } else { keys.key(bits) }) ^ top
                    });
                }
            }
        }
        impl Kernel for Elements<$t> {
            type Fn = ByOrderFn;

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation)] // As above.
            unsafe fn run(dst: *mut u8, [src, order, _]: [*const u8; 3], _: u32, len: usize) {
                // SAFETY: the second source is an `Order` (`ByOrderFn`).
                let order = unsafe { *order.cast::<Order>() };
                let (keys, top) = (Keys::<$t>::of(order), order.top() as $t);
                // SAFETY: `len` words are readable and as many elements writable, at any alignment; the
                // target is the words or apart from them.
                unsafe {
                    each(dst.cast::<$t>(), src.cast(), len, |word| {
                        let key = word ^ keys.flip ^ top;
                        if !key & keys.negative != 0 { !key } else { key ^ keys.sign }
                    });
                }
            }
        }
    )*};
}
words!(u32 u64);

/// Computes each element from that at the same place, by vectors even where it replaces it.
///
/// # Safety
/// `len` elements are readable and writable, at any alignment; the two are the same or disjoint.
#[inline(always)]
unsafe fn each<T: Copy + Default>(dst: *mut T, src: *const T, len: usize, f: impl Fn(T) -> T) {
    // Whoever compiles this sees that nothing that is read was written: a block is read before any of it is.
    const BLOCK: usize = 64;
    let mut at = 0;
    // SAFETY: for all of this block: `len` elements are readable and writable, at any alignment; `BLOCK` from
    // `at` on end at or below `len`.
    unsafe {
        while at + BLOCK <= len {
            let from = src.add(at).cast::<[T; BLOCK]>().read_unaligned();
            let mut to = [T::default(); BLOCK];
            for (to, from) in to.iter_mut().zip(from) {
                *to = f(from);
            }
            dst.add(at).cast::<[T; BLOCK]>().write_unaligned(to);
            at += BLOCK;
        }
        for i in at..len {
            dst.add(i).write_unaligned(f(src.add(i).read_unaligned()));
        }
    }
}
