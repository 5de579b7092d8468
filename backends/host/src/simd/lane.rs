//! Macros that give a level's register types the traits that are written alike at each level.

/// A mask of whole registers with its bit operators.
macro_rules! mask_type {
    ($name:ident, $reg:ty,
     and: |$and0:ident, $and1:ident| $and:expr, or: |$or0:ident, $or1:ident| $or:expr,
     xor: |$xor0:ident, $xor1:ident| $xor:expr, not: |$not0:ident| $not:expr) => {
        /// One truth value per lane: all bits of the lane set, or none.
        #[derive(Clone, Copy)]
        pub(crate) struct $name(pub(super) $reg);
        impl std::ops::BitAnd for $name {
            type Output = Self;
            #[inline(always)]
            fn bitand(self, b: Self) -> Self {
                let ($and0, $and1) = (self.0, b.0);
                $name($and)
            }
        }
        impl std::ops::BitOr for $name {
            type Output = Self;
            #[inline(always)]
            fn bitor(self, b: Self) -> Self {
                let ($or0, $or1) = (self.0, b.0);
                $name($or)
            }
        }
        impl std::ops::BitXor for $name {
            type Output = Self;
            #[inline(always)]
            fn bitxor(self, b: Self) -> Self {
                let ($xor0, $xor1) = (self.0, b.0);
                $name($xor)
            }
        }
        impl std::ops::Not for $name {
            type Output = Self;
            #[inline(always)]
            fn not(self) -> Self {
                let $not0 = self.0;
                $name($not)
            }
        }
    };
}
pub(super) use mask_type;

/// The operators and core's algebra for a lane type, from the register operations. These are written like closures
/// but expanded in place (a closure could stay out of line); comparisons give a `$mask`, `select` takes one.
macro_rules! float_lane {
    ($name:ident, $elem:ty, $mask:ty,
     add: |$add0:ident, $add1:ident| $add:expr,
     sub: |$sub0:ident, $sub1:ident| $sub:expr,
     mul: |$mul0:ident, $mul1:ident| $mul:expr,
     div: |$div0:ident, $div1:ident| $div:expr,
     neg: |$neg0:ident| $neg:expr,
     fma: |$fma0:ident, $fma1:ident, $fma2:ident| $fma:expr,
     sqrt: |$sqrt0:ident| $sqrt:expr,
     abs: |$abs0:ident| $abs:expr,
     floor: |$floor0:ident| $floor:expr,
     ceil: |$ceil0:ident| $ceil:expr,
     trunc: |$trunc0:ident| $trunc:expr,
     round: |$round0:ident| $round:expr,
     minimum: |$minimum0:ident, $minimum1:ident| $minimum:expr,
     maximum: |$maximum0:ident, $maximum1:ident| $maximum:expr,
     equal: |$equal0:ident, $equal1:ident| $equal:expr,
     less: |$less0:ident, $less1:ident| $less:expr,
     less_equal: |$less_equal0:ident, $less_equal1:ident| $less_equal:expr,
     select: |$select0:ident, $select1:ident, $select2:ident| $select:expr,
     lit: |$lit0:ident| $lit:expr) => {
        impl std::ops::Add for $name {
            type Output = Self;
            #[inline(always)]
            fn add(self, b: Self) -> Self {
                let ($add0, $add1) = (self.0, b.0);
                $name($add)
            }
        }
        impl std::ops::Sub for $name {
            type Output = Self;
            #[inline(always)]
            fn sub(self, b: Self) -> Self {
                let ($sub0, $sub1) = (self.0, b.0);
                $name($sub)
            }
        }
        impl std::ops::Mul for $name {
            type Output = Self;
            #[inline(always)]
            fn mul(self, b: Self) -> Self {
                let ($mul0, $mul1) = (self.0, b.0);
                $name($mul)
            }
        }
        impl std::ops::Div for $name {
            type Output = Self;
            #[inline(always)]
            fn div(self, b: Self) -> Self {
                let ($div0, $div1) = (self.0, b.0);
                $name($div)
            }
        }
        impl std::ops::Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                let $neg0 = self.0;
                $name($neg)
            }
        }
        impl stridewise_core::ops::Alg for $name {
            type Mask = $mask;
            #[inline(always)]
            fn lit(self, c: f64) -> Self {
                let $lit0 = c as $elem;
                $name($lit)
            }
            #[inline(always)]
            fn equal(self, b: Self) -> Self::Mask {
                let ($equal0, $equal1) = (self.0, b.0);
                $equal
            }
            #[inline(always)]
            fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
                let ($select0, $select1, $select2) = (mask, yes.0, no.0);
                $name($select)
            }
            #[inline(always)]
            fn is_finite(self) -> Self::Mask {
                use stridewise_core::ops::{Parts, Real};
                self.abs().less(self.lit(f64::INFINITY))
            }
            #[inline(always)]
            fn is_infinite(self) -> Self::Mask {
                use stridewise_core::ops::Parts;
                self.abs().equal(self.lit(f64::INFINITY))
            }
            #[inline(always)]
            fn sign(self) -> Self {
                use stridewise_core::ops::Real;
                let zero = self.lit(0.0);
                // Zeros of both signs, and NaN.
                let rest = Self::select(self.equal(zero), zero, self);
                let negative = Self::select(self.less(zero), self.lit(-1.0), rest);
                Self::select(zero.less(self), self.lit(1.0), negative)
            }
            #[inline(always)]
            fn conj(self) -> Self {
                self
            }
            #[inline(always)]
            fn round(self) -> Self {
                let $round0 = self.0;
                $name($round)
            }
            #[inline(always)]
            fn pow(self, exponent: Self) -> Self {
                <$elem as super::math::Functions<Self>>::pow(self, exponent)
            }
        }
        impl stridewise_core::ops::Parts for $name {
            type Part = Self;
            #[inline(always)]
            fn abs(self) -> Self {
                let $abs0 = self.0;
                $name($abs)
            }
            #[inline(always)]
            fn real(self) -> Self {
                self
            }
            #[inline(always)]
            fn imag(self) -> Self {
                stridewise_core::ops::Alg::lit(self, 0.0)
            }
        }
        impl stridewise_core::ops::Field for $name {}
        impl stridewise_core::ops::Real for $name {
            #[inline(always)]
            fn less(self, b: Self) -> Self::Mask {
                let ($less0, $less1) = (self.0, b.0);
                $less
            }
            #[inline(always)]
            fn less_equal(self, b: Self) -> Self::Mask {
                let ($less_equal0, $less_equal1) = (self.0, b.0);
                $less_equal
            }
            #[inline(always)]
            fn minimum(self, b: Self) -> Self {
                let ($minimum0, $minimum1) = (self.0, b.0);
                $name($minimum)
            }
            #[inline(always)]
            fn maximum(self, b: Self) -> Self {
                let ($maximum0, $maximum1) = (self.0, b.0);
                $name($maximum)
            }
            #[inline(always)]
            fn floor(self) -> Self {
                let $floor0 = self.0;
                $name($floor)
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                let $ceil0 = self.0;
                $name($ceil)
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                let $trunc0 = self.0;
                $name($trunc)
            }
            #[inline(always)]
            fn floor_divide(self, other: Self) -> Self {
                super::math::floor_divide(self, other)
            }
            #[inline(always)]
            fn remainder(self, other: Self) -> Self {
                super::math::remainder(self, other)
            }
        }
        impl stridewise_core::ops::Analytic for $name {
            #[inline(always)]
            fn sqrt(self) -> Self {
                let $sqrt0 = self.0;
                $name($sqrt)
            }
            #[inline(always)]
            fn exp(self) -> Self {
                super::math::exp(self)
            }
            #[inline(always)]
            fn exp2(self) -> Self {
                <$elem as super::math::Functions<Self>>::exp2(self)
            }
            #[inline(always)]
            fn expm1(self) -> Self {
                <$elem as super::math::Functions<Self>>::expm1(self)
            }
            #[inline(always)]
            fn log(self) -> Self {
                <$elem as super::math::Functions<Self>>::log(self)
            }
            #[inline(always)]
            fn log1p(self) -> Self {
                <$elem as super::math::Functions<Self>>::log1p(self)
            }
            #[inline(always)]
            fn log2(self) -> Self {
                <$elem as super::math::Functions<Self>>::log2(self)
            }
            #[inline(always)]
            fn log10(self) -> Self {
                <$elem as super::math::Functions<Self>>::log10(self)
            }
            #[inline(always)]
            fn sin(self) -> Self {
                super::math::sin(self)
            }
            #[inline(always)]
            fn cos(self) -> Self {
                super::math::cos(self)
            }
            #[inline(always)]
            fn tan(self) -> Self {
                <$elem as super::math::Functions<Self>>::tan(self)
            }
            #[inline(always)]
            fn asin(self) -> Self {
                <$elem as super::math::Functions<Self>>::asin(self)
            }
            #[inline(always)]
            fn acos(self) -> Self {
                <$elem as super::math::Functions<Self>>::acos(self)
            }
            #[inline(always)]
            fn atan(self) -> Self {
                super::math::atan(self)
            }
            #[inline(always)]
            fn sinh(self) -> Self {
                <$elem as super::math::Functions<Self>>::sinh(self)
            }
            #[inline(always)]
            fn cosh(self) -> Self {
                <$elem as super::math::Functions<Self>>::cosh(self)
            }
            #[inline(always)]
            fn tanh(self) -> Self {
                <$elem as super::math::Functions<Self>>::tanh(self)
            }
            #[inline(always)]
            fn asinh(self) -> Self {
                <$elem as super::math::Functions<Self>>::asinh(self)
            }
            #[inline(always)]
            fn acosh(self) -> Self {
                <$elem as super::math::Functions<Self>>::acosh(self)
            }
            #[inline(always)]
            fn atanh(self) -> Self {
                <$elem as super::math::Functions<Self>>::atanh(self)
            }
        }
        impl stridewise_core::ops::Float for $name {
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                let ($fma0, $fma1, $fma2) = (self.0, b.0, c.0);
                $name($fma)
            }
            #[inline(always)]
            fn atan2(self, x: Self) -> Self {
                super::math::atan2(self, x)
            }
            #[inline(always)]
            fn hypot(self, other: Self) -> Self {
                <$elem as super::math::Functions<Self>>::hypot(self, other)
            }
            #[inline(always)]
            fn logaddexp(self, other: Self) -> Self {
                <$elem as super::math::Functions<Self>>::logaddexp(self, other)
            }
            #[inline(always)]
            fn cbrt(self) -> Self {
                <$elem as super::math::Functions<Self>>::cbrt(self)
            }
            #[inline(always)]
            fn rsqrt(self) -> Self {
                <$elem as super::math::Functions<Self>>::rsqrt(self)
            }
            #[inline(always)]
            fn erf(self) -> Self {
                <$elem as super::math::Functions<Self>>::erf(self)
            }
            #[inline(always)]
            fn sigmoid(self) -> Self {
                <$elem as super::math::Functions<Self>>::sigmoid(self)
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                super::math::copysign(self, sign)
            }
            #[inline(always)]
            fn nextafter(self, other: Self) -> Self {
                super::math::nextafter(self, other)
            }
        }
    };
}
pub(super) use float_lane;
