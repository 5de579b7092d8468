//! Integers next to a number, for levels without an instruction for them: a sum with 2^FRACTION_BITS has no fraction.

use super::{FloatBits, Row, flip, sign};

/// The nearest integer, halves to even; zeros keep the sign of `x`.
#[inline(always)]
pub(in super::super) fn round<V: FloatBits>(x: V) -> V {
    let whole = x.lit((1u64 << <V::Elem as Row>::FRACTION_BITS) as f64);
    let size = x.abs();
    // What is not smaller is an integer already, infinite or NaN.
    let rounded = V::select(size.less(whole), (size + whole) - whole, size);
    flip(rounded, sign(x))
}

/// The greatest integer that is not above.
#[inline(always)]
pub(in super::super) fn floor<V: FloatBits>(x: V) -> V {
    let nearest = round(x);
    V::select(x.less(nearest), nearest - x.lit(1.0), nearest)
}

/// The least integer that is not below.
#[inline(always)]
pub(in super::super) fn ceil<V: FloatBits>(x: V) -> V {
    -floor(-x)
}

/// The integer next towards 0.
#[inline(always)]
pub(in super::super) fn trunc<V: FloatBits>(x: V) -> V {
    flip(floor(x.abs()), sign(x))
}
