//! The number of a format next to another.

use super::{FloatBits, copysign, flip, sign};

/// The number next to `x` in the direction of `y`; `y` itself where they are equal.
#[inline(always)]
pub(in super::super) fn nextafter<V: FloatBits>(x: V, y: V) -> V {
    finish(x, y, step(x, y, 1))
}

/// [`nextafter`] among the numbers of bf16, which are f32 with the lower half of the bits 0.
#[inline(always)]
pub(in super::super) fn nextafter_bf16<V: FloatBits<Elem = f32>>(x: V, y: V) -> V {
    finish(x, y, step(x, y, 1 << 16))
}

/// [`nextafter`] among the numbers of f16: they have 13 bits less than f32, and none is nearer to 0 than 2⁻²⁴.
#[inline(always)]
pub(in super::super) fn nextafter_f16<V: FloatBits<Elem = f32>>(x: V, y: V) -> V {
    let (beyond, infinity) = (x.lit(65536.0), x.lit(f64::INFINITY));
    // In the place of infinity, the number that would come after the greatest.
    let next = step(copysign(x.abs().at_most(beyond), x), y, 1 << 13);
    let next = V::select(next.abs().equal(beyond), copysign(infinity, x), next);

    // Below 2⁻¹⁴ steps are alike, and so is the one from there downwards.
    let least = x.lit(1.0 / 16_777_216.0);
    let sum = x + V::select(x.less(y), least, -least);
    let even = V::select(x.equal(x.lit(0.0)), sum, copysign(sum, x));
    finish(x, y, V::select(sum.abs().less(x.lit(1.0 / 16384.0)), even, next))
}

/// The bits of `x` moved by `unit` towards `y`; they count magnitudes, so that up is away from 0.
#[inline(always)]
fn step<V: FloatBits>(x: V, y: V, unit: i64) -> V {
    let zero = x.lit(0.0);
    let (up, down) = (V::from_bits(x.bits(unit)), V::from_bits(x.bits(-unit)));
    let step = V::select(x.less(y) ^ zero.less(x), down, up);
    let next = V::from_bits(V::bits_add(x.to_bits(), step.to_bits()));
    V::select(x.equal(zero), flip(up, sign(y)), next)
}

/// Equal numbers and NaN besides what is `next`.
#[inline(always)]
fn finish<V: FloatBits>(x: V, y: V, next: V) -> V {
    V::select(x.equal(x) & y.equal(y), V::select(x.equal(y), y, next), x + y)
}
