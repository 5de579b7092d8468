//! Quotients of integers, rounded down, and their remainders. No level divides integers by vectors: those of up to 32 bits are
//! divided as floats that hold them exactly, and all by one divisor are multiplied by its reciprocal.

use std::marker::PhantomData;
use std::num::Wrapping;

use stridewise_core::Dtype;
use stridewise_core::ops::Real;

use super::blocks::around;
use crate::kernels::entry::{Around, Kernel, SAME, StepFn, entry};
use crate::simd::Isa;

/// An integer as it is divided. Nothing is divided by 0.
trait Divided: Wraps {
    /// What is known of a divisor once for many quotients.
    type Divisor: Copy;
    fn divisor(self) -> Self::Divisor;
    /// The quotient, rounded down.
    fn by(self, divisor: Self::Divisor) -> Self;
    /// The quotient, rounded down; anything where `other` is 0.
    fn quotient(self, other: Self) -> Self;
    /// The remainder of [`quotient`](Self::quotient); anything where `other` is 0.
    #[inline(always)]
    fn rest(self, other: Self) -> Self {
        self.left(self.quotient(other), other)
    }
}

/// An integer whose sums and products wrap.
trait Wraps: Copy + Default + PartialEq {
    /// What a quotient leaves of this number.
    fn left(self, quotient: Self, other: Self) -> Self;
}

macro_rules! wraps {
    ($($t:ty)*) => {$(
        impl Wraps for $t {
            #[inline(always)]
            fn left(self, quotient: Self, other: Self) -> Self {
                self.wrapping_sub(quotient.wrapping_mul(other))
            }
        }
    )*};
}
wraps!(i8 i16 i32 i64 u8 u16 u32 u64);

/// Integers of up to 16 bits as `f32`, of 32 as `f64`: `$whole` is added to round to an integer, whose bits are then the lowest. It
/// is 1.5 times the power of two from which on a float has no places after the point.
macro_rules! narrow {
    ($float:ty, $down:ident, $bits:ty, $whole:literal: $($t:ty)*) => {
        /// The bits of a quotient, rounded down; the lowest are those of an integer.
        #[inline(always)]
        fn $down(quotient: $float) -> $bits {
            let near = (quotient + $whole) - $whole;
            let down = near - if quotient < near { 1.0 } else { 0.0 };
            (down + $whole).to_bits()
        }
        $(impl Divided for $t {
            /// The reciprocal of the divisor's magnitude, and its sign.
            type Divisor = [$float; 2];
            #[inline(always)]
            fn divisor(self) -> [$float; 2] {
                let float = self as $float;
                [1.0 / float.abs(), if float < 0.0 { -1.0 } else { 1.0 }]
            }
            #[inline(always)]
            fn by(self, [reciprocal, sign]: [$float; 2]) -> Self {
                // Half of the distance between two quotients is far more than the product is rounded by.
                $down((self as $float * sign + 0.5) * reciprocal) as $t
            }
            #[inline(always)]
            fn quotient(self, other: Self) -> Self {
                // A quotient that is no integer is further from the next one than it is rounded by.
                $down(self as $float / other as $float) as $t
            }
        })*
    };
}
narrow!(f32, down_f32, u32, 12_582_912.0: i8 i16 u8 u16);
narrow!(f64, down_f64, u64, 6_755_399_441_055_744.0: i32 u32);

/// The reciprocal of a positive number of 64 bits, whose products with such numbers give quotients after two shifts: Granlund and
/// Montgomery, "Division by Invariant Integers using Multiplication" (1994), figure 4.1.
#[derive(Clone, Copy)]
struct Reciprocal {
    factor: u64,
    shifts: [u32; 2],
}

impl Reciprocal {
    #[inline(always)]
    fn of(divisor: u64) -> Self {
        // The least power of two from the divisor on.
        let log = u64::BITS - (divisor - 1).leading_zeros();
        let above = (1_u128 << log) - u128::from(divisor);
        let factor = ((above << 64) / u128::from(divisor)) as u64;
        Self { factor: factor.wrapping_add(1), shifts: [log.min(1), log.saturating_sub(1)] }
    }

    #[inline(always)]
    fn times(self, number: u64) -> u64 {
        let high = ((u128::from(self.factor) * u128::from(number)) >> 64) as u64;
        let [first, second] = self.shifts;
        high.wrapping_add(number.wrapping_sub(high) >> first) >> second
    }
}

impl Divided for u64 {
    type Divisor = Reciprocal;
    #[inline(always)]
    fn divisor(self) -> Reciprocal {
        Reciprocal::of(self)
    }
    #[inline(always)]
    fn by(self, divisor: Reciprocal) -> Self {
        divisor.times(self)
    }
    #[inline(always)]
    fn quotient(self, other: Self) -> Self {
        Real::floor_divide(Wrapping(self), Wrapping(other)).0
    }
}

impl Divided for i64 {
    /// Of the divisor's magnitude, and all bits where it is negative.
    type Divisor = (Reciprocal, i64);
    #[inline(always)]
    fn divisor(self) -> (Reciprocal, i64) {
        (Reciprocal::of(self.unsigned_abs()), self >> 63)
    }
    #[inline(always)]
    fn by(self, (reciprocal, negative): (Reciprocal, i64)) -> Self {
        // Divided by the magnitude is this number or its negative, of which the least is a positive one of 64 bits. Rounded down, a
        // negative quotient is the complement of that of the number's complement.
        let number = (self ^ negative).wrapping_sub(negative);
        let below = if negative == 0 { self >> 63 } else { -i64::from(self > 0) };
        let quotient = reciprocal.times((number ^ below).cast_unsigned());
        quotient.cast_signed() ^ below
    }
    #[inline(always)]
    fn quotient(self, other: Self) -> Self {
        Real::floor_divide(Wrapping(self), Wrapping(other)).0
    }
}

/// Quotients, or where `REST` remainders; 0 where the divisor is.
struct Divide<T, const REST: bool>(PhantomData<T>);

impl<T: Divided, const REST: bool> Kernel for Divide<T, REST> {
    type Fn = StepFn;

    const AROUND: Option<Around> = around::<T, T>();
    const OWN: u32 = SAME << 1;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [a, b, _]: [*const u8; 3], flags: u32, len: usize) {
        let (dst, a, b) = (dst.cast::<T>(), a.cast::<T>(), b.cast::<T>());
        let none = T::default();
        // SAFETY: for all of this block: the contract; `i` is below `len`.
        unsafe {
            if flags & SAME << 1 == 0 {
                for i in 0..len {
                    let (a, b) = (*a.add(i), *b.add(i));
                    let result = if REST { a.rest(b) } else { a.quotient(b) };
                    *dst.add(i) = if b == none { none } else { result };
                }
                return;
            }
            let b = *b;
            if b == none {
                for i in 0..len {
                    *dst.add(i) = none;
                }
                return;
            }
            let divisor = b.divisor();
            for i in 0..len {
                let a = *a.add(i);
                let quotient = a.by(divisor);
                *dst.add(i) = if REST { a.left(quotient, b) } else { quotient };
            }
        }
    }
}

/// The function for integers of a dtype: their quotients, or where `REST` their remainders; `None` for other dtypes.
pub(crate) fn divide<const REST: bool>(isa: Isa, dtype: Dtype) -> Option<StepFn> {
    Some(match dtype {
        Dtype::I8 => entry::<Divide<i8, REST>>(isa),
        Dtype::I16 => entry::<Divide<i16, REST>>(isa),
        Dtype::I32 => entry::<Divide<i32, REST>>(isa),
        Dtype::I64 => entry::<Divide<i64, REST>>(isa),
        Dtype::U8 => entry::<Divide<u8, REST>>(isa),
        Dtype::U16 => entry::<Divide<u16, REST>>(isa),
        Dtype::U32 => entry::<Divide<u32, REST>>(isa),
        Dtype::U64 => entry::<Divide<u64, REST>>(isa),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair of some numbers, one divisor for each and one for all, against the definition.
    fn check<T>(dtype: Dtype, numbers: &[T])
    where
        T: Divided + std::fmt::Debug,
        Wrapping<T>: Real,
    {
        for &isa in Isa::available() {
            let [quotients, rests] =
                [divide::<false>(isa, dtype), divide::<true>(isa, dtype)].map(|run| run.unwrap());
            for &divisor in numbers {
                let divisors = vec![divisor; numbers.len()];
                for (run, rest) in [(quotients, false), (rests, true)] {
                    for flags in [0, SAME << 1] {
                        let mut found = vec![divisor; numbers.len()];
                        let (a, b) = (numbers.as_ptr().cast(), divisors.as_ptr().cast());
                        // SAFETY: so many elements are there, and the level is available.
                        unsafe { run(found.as_mut_ptr().cast(), a, b, b, flags, numbers.len()) };
                        for (&number, found) in numbers.iter().zip(found) {
                            let (x, y) = (Wrapping(number), Wrapping(divisor));
                            let expected = if rest { x.remainder(y) } else { x.floor_divide(y) };
                            assert_eq!(
                                found, expected.0,
                                "{isa:?} {number:?} by {divisor:?}, {rest} {flags}"
                            );
                        }
                    }
                }
            }
        }
    }

    macro_rules! numbers {
        ($($name:ident $t:ident $dtype:ident;)*) => {$(
            #[test]
            fn $name() {
                let (mut numbers, mut state) = (Vec::new(), 1_u64);
                for shift in 0..$t::BITS {
                    for near in -2..3_i8 {
                        let power = (1 as $t).wrapping_shl(shift);
                        numbers.push(power.wrapping_add(near as $t));
                        numbers.push((0 as $t).wrapping_sub(power).wrapping_add(near as $t));
                    }
                    // A multiple of another number, and its neighbours.
                    state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                    let any = (state >> 64_u32.saturating_sub($t::BITS)) as $t;
                    let multiple = (any >> (shift / 2)).wrapping_mul(any >> ($t::BITS - 1 - shift / 2));
                    numbers.extend([any, any >> (shift / 2), multiple, multiple.wrapping_sub(1)]);
                }
                check::<$t>(Dtype::$dtype, &numbers);
            }
        )*};
    }
    numbers! {
        of_i8 i8 I8; of_i16 i16 I16; of_i32 i32 I32; of_i64 i64 I64;
        of_u8 u8 U8; of_u16 u16 U16; of_u32 u32 U32; of_u64 u64 U64;
    }

    /// All numbers of 16 bits, by some divisors.
    #[test]
    fn all_of_sixteen_bits() {
        for divisor in [1, 2, 3, 7, 10, 255, 256, 257, 641, 10_007, 32_767, 32_768, 65_521, 65_535_u16] {
            let by = divisor.divisor();
            for number in 0..=u16::MAX {
                assert_eq!(
                    [number.by(by), number.quotient(divisor)],
                    [number / divisor; 2],
                    "{number} by {divisor}"
                );
            }
        }
    }
}
