//! Instruction sets and their vectors of floats.
use stridewise_core::ops::{Alg, Field, Float, Real};
use stridewise_core::{bf16, f16};
use std::ops::{Add, Div, Mul, Neg, Sub};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Isa { Scalar, Avx2, Avx512 }
impl Isa {
    pub(crate) fn best() -> Isa { *Self::available().last().unwrap_or(&Isa::Scalar) }
    pub(crate) fn available() -> &'static [Isa] { &[Isa::Scalar, Isa::Avx2, Isa::Avx512] }
    pub(crate) fn name(self) -> &'static str { "x" }
}
pub(crate) trait Lane: Float {
    type Elem: Copy;
    const LEN: usize;
    unsafe fn load(p: *const Self::Elem) -> Self;
    unsafe fn load_part(p: *const Self::Elem, len: usize) -> Self;
    unsafe fn store(self, p: *mut Self::Elem);
    unsafe fn store_part(self, p: *mut Self::Elem, len: usize);
    unsafe fn stream(self, p: *mut Self::Elem);
    unsafe fn splat(v: Self::Elem) -> Self;
    unsafe fn mask_to_bytes(mask: Self::Mask, p: *mut u8, len: usize);
    unsafe fn mask_from_bytes(p: *const u8, len: usize) -> Self::Mask;
}
macro_rules! lane { ($N:ident $e:ty, $f:ty, $get:expr, $put:expr) => {
    #[derive(Clone, Copy)] pub(crate) struct $N($f);
    impl Add for $N { type Output = Self; #[inline(always)] fn add(self, o: Self) -> Self { Self(self.0 + o.0) } }
    impl Sub for $N { type Output = Self; #[inline(always)] fn sub(self, o: Self) -> Self { Self(self.0 - o.0) } }
    impl Mul for $N { type Output = Self; #[inline(always)] fn mul(self, o: Self) -> Self { Self(self.0 * o.0) } }
    impl Div for $N { type Output = Self; #[inline(always)] fn div(self, o: Self) -> Self { Self(self.0 / o.0) } }
    impl Neg for $N { type Output = Self; #[inline(always)] fn neg(self) -> Self { Self(-self.0) } }
    impl Alg for $N { type Mask = bool;
        #[inline(always)] fn lit(self, c: f64) -> Self { Self(self.0.lit(c)) }
        #[inline(always)] fn equal(self, o: Self) -> bool { self.0 == o.0 }
        #[inline(always)] fn select(m: bool, y: Self, n: Self) -> Self { if m { y } else { n } } }
    impl Field for $N {}
    impl Real for $N {
        #[inline(always)] fn less(self, o: Self) -> bool { self.0 < o.0 }
        #[inline(always)] fn less_equal(self, o: Self) -> bool { self.0 <= o.0 }
        #[inline(always)] fn abs(self) -> Self { Self(Real::abs(self.0)) }
        #[inline(always)] fn minimum(self, o: Self) -> Self { Self(Real::minimum(self.0, o.0)) }
        #[inline(always)] fn maximum(self, o: Self) -> Self { Self(Real::maximum(self.0, o.0)) } }
    impl Float for $N {
        fn mul_add(self, b: Self, c: Self) -> Self { Self(Float::mul_add(self.0, b.0, c.0)) }
        fn sqrt(self) -> Self { Self(Float::sqrt(self.0)) }
        fn exp(self) -> Self { Self(Float::exp(self.0)) }
        fn log(self) -> Self { Self(Float::log(self.0)) }
        fn sin(self) -> Self { Self(Float::sin(self.0)) }
        fn cos(self) -> Self { Self(Float::cos(self.0)) }
        fn tanh(self) -> Self { Self(Float::tanh(self.0)) }
        fn atan(self) -> Self { Self(Float::atan(self.0)) }
        fn atan2(self, x: Self) -> Self { Self(Float::atan2(self.0, x.0)) } }
    impl Lane for $N { type Elem = $e; const LEN: usize = 1;
        #[inline(always)] unsafe fn load(p: *const $e) -> Self { Self($get(unsafe { p.read() })) }
        #[inline(always)] unsafe fn load_part(_p: *const $e, _len: usize) -> Self { Self(0.0) }
        #[inline(always)] unsafe fn store(self, p: *mut $e) { unsafe { p.write($put(self.0)) } }
        #[inline(always)] unsafe fn store_part(self, _p: *mut $e, _len: usize) {}
        #[inline(always)] unsafe fn stream(self, p: *mut $e) { unsafe { self.store(p) } }
        #[inline(always)] unsafe fn splat(v: $e) -> Self { Self($get(v)) }
        #[inline(always)] unsafe fn mask_to_bytes(m: bool, p: *mut u8, len: usize) { if len > 0 { unsafe { p.write(u8::from(m)) } } }
        #[inline(always)] unsafe fn mask_from_bytes(p: *const u8, len: usize) -> bool { len > 0 && unsafe { p.read() } != 0 } }
} }
pub(crate) mod base {
    use super::*;
    lane!(F32 f32, f32, |v| v, |v| v);
    lane!(F64 f64, f64, |v| v, |v| v);
    lane!(F16 f16, f32, f16::to_f32, f16::from_f32);
    lane!(Bf16 bf16, f32, bf16::to_f32, bf16::from_f32);
}
pub(crate) use base as avx2;
pub(crate) use base as avx512;
