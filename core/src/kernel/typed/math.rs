//! Functions of numbers, by their names in Rust's standard library where they have one there.

use super::Expr;
use crate::array::{FieldElement, FloatElement, NumElement, RealElement};
use crate::dtype::Element;
use crate::ops::Op;

macro_rules! functions {
    ($($Class:ident { $($(#[$doc:meta])* $name:ident $Op:ident ($($x:ident)*);)* })*) => {$(
        impl<'k, T: $Class> Expr<'k, T> {$(
            $(#[$doc])*
            #[track_caller]
            #[must_use]
            pub fn $name(self, $($x: Self),*) -> Self {
                self.context.define(|k| k.apply(Op::$Op, &[self.value.into(), $($x.value.into()),*]))
            }
        )*}
    )*};
}
functions! {
    NumElement {
        /// −1, 0 or 1.
        sign Sign ();
        /// x².
        square Square ();
        /// Power; of integers, too.
        pow Pow (exponent);
    }
    RealElement {
        /// Magnitude.
        abs Abs ();
        /// The smaller one; NaN where either is NaN.
        min Minimum (other);
        /// The larger one; NaN where either is NaN.
        max Maximum (other);
        /// `self.max(low).min(high)`.
        clamp Clip (low high);
        /// The greatest integer that is not above.
        floor Floor ();
        /// The least integer that is not below.
        ceil Ceil ();
        /// The integer next towards 0.
        trunc Trunc ();
        /// The nearest integer, halves to even.
        round_ties_even Round ();
    }
    FieldElement {
        /// Square root.
        sqrt Sqrt ();
        /// 1 / x.
        recip Reciprocal ();
        /// eˣ.
        exp Exp ();
        /// 2ˣ.
        exp2 Exp2 ();
        /// eˣ − 1.
        exp_m1 Expm1 ();
        /// Natural logarithm.
        ln Log ();
        /// ln(1 + x).
        ln_1p Log1p ();
        /// Logarithm to the base 2.
        log2 Log2 ();
        /// Logarithm to the base 10.
        log10 Log10 ();
        /// Sine.
        sin Sin ();
        /// Cosine.
        cos Cos ();
        /// Tangent.
        tan Tan ();
        /// Arc sine.
        asin Asin ();
        /// Arc cosine.
        acos Acos ();
        /// Arc tangent.
        atan Atan ();
        /// Hyperbolic sine.
        sinh Sinh ();
        /// Hyperbolic cosine.
        cosh Cosh ();
        /// Hyperbolic tangent.
        tanh Tanh ();
        /// Inverse hyperbolic sine.
        asinh Asinh ();
        /// Inverse hyperbolic cosine.
        acosh Acosh ();
        /// Inverse hyperbolic tangent.
        atanh Atanh ();
    }
    FloatElement {
        /// 1 / √x.
        rsqrt Rsqrt ();
        /// Cube root.
        cbrt Cbrt ();
        /// √(x² + y²).
        hypot Hypot (other);
        /// Power.
        powf Pow (exponent);
        /// Angle of the point (`x`, `self`).
        atan2 Atan2 (x);
        /// Error function.
        erf Erf ();
        /// 1 / (1 + e⁻ˣ).
        sigmoid Sigmoid ();
        /// Its magnitude with another one's sign.
        copysign Copysign (sign);
        /// ln(eˣ + eʸ).
        logaddexp Logaddexp (other);
    }
}

impl<'k, T: NumElement> Expr<'k, T> {
    /// Whether it is NaN.
    #[track_caller]
    #[must_use]
    pub fn is_nan(self) -> Expr<'k, bool> {
        self.context.define(|k| k.unary(Op::IsNan, self.value))
    }
    /// Whether it is neither infinite nor NaN.
    #[track_caller]
    #[must_use]
    pub fn is_finite(self) -> Expr<'k, bool> {
        self.context.define(|k| k.unary(Op::IsFinite, self.value))
    }
    /// Whether it is infinite.
    #[track_caller]
    #[must_use]
    pub fn is_infinite(self) -> Expr<'k, bool> {
        self.context.define(|k| k.unary(Op::IsInf, self.value))
    }
}

impl<'k, T: RealElement> Expr<'k, T> {
    /// Quotient rounded to −∞, as Python's `//`: cheaper than `/` of signed integers, which rounds towards 0.
    #[track_caller]
    #[must_use]
    pub fn div_floor(self, divisor: Self) -> Self {
        self.context.define(|k| k.binary(Op::FloorDivide, self.value, divisor.value))
    }
    /// Remainder of that, with the sign of the divisor, as Python's `%`.
    #[track_caller]
    #[must_use]
    pub fn rem_floor(self, divisor: Self) -> Self {
        self.context.define(|k| k.binary(Op::Remainder, self.value, divisor.value))
    }
}

impl<'k> Expr<'k, bool> {
    /// The first one where it is true, else the second one. Both are computed.
    #[track_caller]
    #[must_use]
    pub fn select<T: Element>(self, yes: Expr<'k, T>, no: Expr<'k, T>) -> Expr<'k, T> {
        self.context.define(|k| k.apply(Op::Where, &[self.value.into(), yes.value.into(), no.value.into()]))
    }
}
