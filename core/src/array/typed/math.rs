//! Elementwise functions: arithmetic beyond the operators, comparisons, logic, selection and conversion.

use super::{
    Array, ArrayOrValue, FieldElement, FloatElement, Item, ItemOrValue, NumElement, OrderedElement,
    RealElement, demand, elementwise,
};
use crate::dtype::Element;
use crate::error::Result;
use crate::ops::Op;
use crate::runtime::Event;

/// One line per function: class of the elements, type of the result, names, operation, operands. The class is asked for by each
/// function, not by the `impl`, so that a call on other elements is answered by the sentence of the class (`classes.rs`).
macro_rules! functions {
    ($($Class:ident -> $Out:ty: $name:ident $try_name:ident $into_name:ident ($($arg:ident),*) $Op:ident $text:literal;)*) => {$(
        // Functions of one operand do without the lifetime's name, the others do not.
        #[allow(clippy::needless_lifetimes)]
        impl<T: Element> Array<T> {
            #[doc = $text]
            ///
            /// # Panics
            #[doc = concat!("As operators do; [`", stringify!($try_name), "`](Self::", stringify!($try_name), ") does not.")]
            #[must_use]
            #[track_caller]
            pub fn $name<'a>(&'a self $(, $arg: impl Into<ArrayOrValue<'a, T>>)*) -> Array<$Out>
            where
                T: $Class,
            {
                demand(self.$try_name($($arg),*))
            }

            #[doc = $text]
            ///
            /// # Errors
            /// As for [`elementwise`](crate::elementwise).
            pub fn $try_name<'a>(&'a self $(, $arg: impl Into<ArrayOrValue<'a, T>>)*) -> Result<Array<$Out>>
            where
                T: $Class,
            {
                elementwise(Op::$Op, &[self.into() $(, $arg.into().into())*])
            }

            #[doc = concat!($text, " Written into `out`, which may overlap the operands.")]
            ///
            /// # Errors
            /// As for [`UsmArray::write_elementwise`](crate::UsmArray::write_elementwise).
            pub fn $into_name<'a, U: Element>(
                &'a self
                $(, $arg: impl Into<ArrayOrValue<'a, T>>)*,
                out: &mut Array<U>,
            ) -> Result<Event>
            where
                T: $Class,
            {
                out.inner.write_elementwise(Op::$Op, &[self.into() $(, $arg.into().into())*], &[])
            }
        }

        impl<'t, T: Element> Item<'t, T> {
            #[doc = $text]
            #[must_use]
            pub fn $name(self $(, $arg: impl Into<ItemOrValue<'t, T>>)*) -> Item<'t, $Out>
            where
                T: $Class,
            {
                self.step(Op::$Op, [$($arg.into()),*])
            }
        }
    )*};
}

functions! {
    NumElement -> T::Part: abs try_abs abs_into () Abs "Magnitude; the least signed integer wraps to itself.";
    NumElement -> T::Part: real try_real real_into () RealPart "Real part.";
    NumElement -> T::Part: imag try_imag imag_into () ImagPart "Imaginary part; 0 of a real number.";
    NumElement -> T: square try_square square_into () Square "x².";
    NumElement -> T: sign try_sign sign_into () Sign "−1, 0 or 1; of a complex number, the number over its magnitude.";
    NumElement -> T: conj try_conj conj_into () Conj "Complex conjugate.";
    NumElement -> T: pow try_pow pow_into (exponent) Pow "Power. Of integers: wraps; a negative exponent gives 0, but of 1 and −1.";
    NumElement -> T: round try_round round_into () Round "The nearest integer, halves to even.";
    RealElement -> T: floor try_floor floor_into () Floor "The greatest integer that is not above.";
    RealElement -> T: ceil try_ceil ceil_into () Ceil "The least integer that is not below.";
    RealElement -> T: trunc try_trunc trunc_into () Trunc "The integer next towards 0.";
    RealElement -> T: floor_divide try_floor_divide floor_divide_into (other) FloorDivide "Quotient rounded to −∞; of an integer by 0, 0.";
    RealElement -> T: remainder try_remainder remainder_into (other) Remainder "Remainder of [`floor_divide`](Self::floor_divide), with the sign of the divisor; of an integer by 0, 0.";
    FieldElement -> T: reciprocal try_reciprocal reciprocal_into () Reciprocal "1 / x.";
    FieldElement -> T: sqrt try_sqrt sqrt_into () Sqrt "Square root.";
    FloatElement -> T: rsqrt try_rsqrt rsqrt_into () Rsqrt "1/√x.";
    FloatElement -> T: cbrt try_cbrt cbrt_into () Cbrt "Cube root.";
    FloatElement -> T: hypot try_hypot hypot_into (other) Hypot "√(x² + y²), without overflow on the way.";
    FieldElement -> T: exp try_exp exp_into () Exp "eˣ.";
    FieldElement -> T: exp2 try_exp2 exp2_into () Exp2 "2ˣ.";
    FieldElement -> T: expm1 try_expm1 expm1_into () Expm1 "eˣ − 1, accurate near 0.";
    FieldElement -> T: log try_log log_into () Log "Natural logarithm.";
    FieldElement -> T: log1p try_log1p log1p_into () Log1p "ln(1 + x), accurate near 0.";
    FieldElement -> T: log2 try_log2 log2_into () Log2 "Logarithm to the base 2.";
    FieldElement -> T: log10 try_log10 log10_into () Log10 "Logarithm to the base 10.";
    FloatElement -> T: logaddexp try_logaddexp logaddexp_into (other) Logaddexp "ln(eˣ + eʸ), without overflow on the way.";
    FieldElement -> T: sin try_sin sin_into () Sin "Sine of an angle in radians.";
    FieldElement -> T: cos try_cos cos_into () Cos "Cosine of an angle in radians.";
    FieldElement -> T: tan try_tan tan_into () Tan "Tangent of an angle in radians.";
    FieldElement -> T: asin try_asin asin_into () Asin "Arc sine, in radians.";
    FieldElement -> T: acos try_acos acos_into () Acos "Arc cosine, in radians.";
    FieldElement -> T: atan try_atan atan_into () Atan "Arc tangent, in radians.";
    FloatElement -> T: atan2 try_atan2 atan2_into (x) Atan2 "Angle of the point (`x`, `self`), in radians.";
    FieldElement -> T: sinh try_sinh sinh_into () Sinh "Hyperbolic sine.";
    FieldElement -> T: cosh try_cosh cosh_into () Cosh "Hyperbolic cosine.";
    FieldElement -> T: tanh try_tanh tanh_into () Tanh "Hyperbolic tangent.";
    FieldElement -> T: asinh try_asinh asinh_into () Asinh "Inverse hyperbolic sine.";
    FieldElement -> T: acosh try_acosh acosh_into () Acosh "Inverse hyperbolic cosine.";
    FieldElement -> T: atanh try_atanh atanh_into () Atanh "Inverse hyperbolic tangent.";
    FloatElement -> T: erf try_erf erf_into () Erf "The error function.";
    FloatElement -> T: sigmoid try_sigmoid sigmoid_into () Sigmoid "1 / (1 + e⁻ˣ), the logistic function.";
    FloatElement -> T: copysign try_copysign copysign_into (sign) Copysign "The magnitude of `self` with the sign of `sign`.";
    FloatElement -> T: nextafter try_nextafter nextafter_into (other) Nextafter "The next number in the direction of `other`.";
    OrderedElement -> T: minimum try_minimum minimum_into (other) Minimum "The smaller of both; NaN where one is NaN.";
    OrderedElement -> T: maximum try_maximum maximum_into (other) Maximum "The larger of both; NaN where one is NaN.";
    OrderedElement -> T: clip try_clip clip_into (low, high) Clip "The elements brought between `low` and `high`; `high` where `low` is larger.";
    Element -> bool: equal try_equal equal_into (other) Equal "`self == other`; a NaN equals nothing.";
    Element -> bool: not_equal try_not_equal not_equal_into (other) NotEqual "`self != other`; a NaN differs from everything.";
    OrderedElement -> bool: less try_less less_into (other) Less "`self < other`.";
    OrderedElement -> bool: less_equal try_less_equal less_equal_into (other) LessEqual "`self <= other`.";
    OrderedElement -> bool: greater try_greater greater_into (other) Greater "`self > other`.";
    OrderedElement -> bool: greater_equal try_greater_equal greater_equal_into (other) GreaterEqual "`self >= other`.";
    Element -> bool: isnan try_isnan isnan_into () IsNan "Whether elements are NaN.";
    Element -> bool: isinf try_isinf isinf_into () IsInf "Whether elements are infinite.";
    Element -> bool: isfinite try_isfinite isfinite_into () IsFinite "Whether elements are neither infinite nor NaN.";
    FloatElement -> bool: signbit try_signbit signbit_into () SignBit "Whether the sign bit is set, of −0 and NaN too.";
    Element -> bool: logical_and try_logical_and logical_and_into (other) LogicalAnd "Whether both are other than zero.";
    Element -> bool: logical_or try_logical_or logical_or_into (other) LogicalOr "Whether one or both are other than zero.";
    Element -> bool: logical_xor try_logical_xor logical_xor_into (other) LogicalXor "Whether exactly one is other than zero.";
    Element -> bool: logical_not try_logical_not logical_not_into () LogicalNot "Whether elements are zero.";
}

#[cfg_attr(not(doctest), doc = include_str!("examples/math.md"))]
impl<T: Element> Array<T> {
    /// The elements converted to another type: integers wrap, floats round to nearest, floats to integers truncate and
    /// saturate (NaN is 0), all but zero is `true`, complex to real drops the imaginary part. This array where the type is
    /// its own.
    ///
    /// # Panics
    /// As operators do, and where the device lacks the dtype; [`try_astype`](Self::try_astype) does not.
    #[must_use]
    #[track_caller]
    pub fn astype<U: Element>(&self) -> Array<U> {
        demand(self.try_astype())
    }

    /// The elements converted to another type; see [`astype`](Self::astype).
    ///
    /// # Errors
    /// [`Error::Dtype`](crate::Error::Dtype) where the device lacks the dtype; as for [`elementwise`](crate::elementwise).
    pub fn try_astype<U: Element>(&self) -> Result<Array<U>> {
        self.inner.astype(U::DTYPE)?.try_into()
    }
}

impl Array<bool> {
    /// `yes` where elements of this array are true, else `no`.
    ///
    /// # Panics
    /// As operators do; [`try_where`](Self::try_where) does not.
    #[must_use]
    #[track_caller]
    pub fn where_<'a, U: Element>(
        &'a self,
        yes: impl Into<ArrayOrValue<'a, U>>,
        no: impl Into<ArrayOrValue<'a, U>>,
    ) -> Array<U> {
        demand(self.try_where(yes, no))
    }

    /// `yes` where elements of this array are true, else `no`.
    ///
    /// # Errors
    /// As for [`elementwise`](crate::elementwise).
    pub fn try_where<'a, U: Element>(
        &'a self,
        yes: impl Into<ArrayOrValue<'a, U>>,
        no: impl Into<ArrayOrValue<'a, U>>,
    ) -> Result<Array<U>> {
        elementwise(Op::Where, &[self.into(), yes.into().into(), no.into().into()])
    }
}
