//! Elementwise functions: arithmetic beyond the operators, comparisons, logic, selection and conversion.

use super::{Array, ArrayOrValue, FloatElement, NumElement, OrderedElement, RealElement, demand};
use crate::array::elementwise;
use crate::dtype::{Dtype, Element};
use crate::error::Result;
use crate::ops::Op;
use crate::runtime::Event;

/// One line per function: class of the elements, type of the result, names, operation, operands.
macro_rules! functions {
    ($($Class:ident -> $Out:ty: $name:ident $try_name:ident $into_name:ident ($($arg:ident),*) $Op:ident $text:literal;)*) => {$(
        // Functions of one operand do without the lifetime's name, the others do not.
        #[allow(clippy::needless_lifetimes)]
        impl<T: $Class> Array<T> {
            #[doc = $text]
            ///
            /// # Panics
            #[doc = concat!("As operators do; [`", stringify!($try_name), "`](Self::", stringify!($try_name), ") does not.")]
            #[must_use]
            #[track_caller]
            pub fn $name<'a>(&'a self $(, $arg: impl Into<ArrayOrValue<'a, T>>)*) -> Array<$Out> {
                demand(self.$try_name($($arg),*))
            }

            #[doc = $text]
            ///
            /// # Errors
            /// As for [`elementwise`].
            pub fn $try_name<'a>(&'a self $(, $arg: impl Into<ArrayOrValue<'a, T>>)*) -> Result<Array<$Out>> {
                elementwise(Op::$Op, &[self.into() $(, $arg.into().into())*])?.try_into()
            }

            #[doc = concat!($text, " Written into `out`, which may overlap the operands.")]
            ///
            /// # Errors
            /// As for [`UsmArray::write_elementwise`](crate::UsmArray::write_elementwise).
            pub fn $into_name<'a, U: Element>(
                &'a self
                $(, $arg: impl Into<ArrayOrValue<'a, T>>)*,
                out: &mut Array<U>,
            ) -> Result<Event> {
                out.inner.write_elementwise(Op::$Op, &[self.into() $(, $arg.into().into())*], &[])
            }
        }
    )*};
}

functions! {
    RealElement -> T: abs try_abs abs_into () Abs "Magnitude; the least signed integer wraps to itself.";
    NumElement -> T: square try_square square_into () Square "x².";
    FloatElement -> T: sqrt try_sqrt sqrt_into () Sqrt "Square root.";
    FloatElement -> T: exp try_exp exp_into () Exp "eˣ.";
    FloatElement -> T: log try_log log_into () Log "Natural logarithm.";
    FloatElement -> T: sin try_sin sin_into () Sin "Sine of an angle in radians.";
    FloatElement -> T: cos try_cos cos_into () Cos "Cosine of an angle in radians.";
    FloatElement -> T: tanh try_tanh tanh_into () Tanh "Hyperbolic tangent.";
    FloatElement -> T: atan try_atan atan_into () Atan "Arc tangent, in radians.";
    FloatElement -> T: atan2 try_atan2 atan2_into (x) Atan2 "Angle of the point (`x`, `self`), in radians.";
    OrderedElement -> T: minimum try_minimum minimum_into (other) Minimum "The smaller of both; NaN where one is NaN.";
    OrderedElement -> T: maximum try_maximum maximum_into (other) Maximum "The larger of both; NaN where one is NaN.";
    OrderedElement -> T: clip try_clip clip_into (low, high) Clip "The elements brought between `low` and `high`; `high` where `low` is larger.";
    Element -> bool: equal try_equal equal_into (other) Equal "`self == other`; a NaN equals nothing.";
    Element -> bool: not_equal try_not_equal not_equal_into (other) NotEqual "`self != other`; a NaN differs from everything.";
    OrderedElement -> bool: less try_less less_into (other) Less "`self < other`.";
    OrderedElement -> bool: less_equal try_less_equal less_equal_into (other) LessEqual "`self <= other`.";
    OrderedElement -> bool: greater try_greater greater_into (other) Greater "`self > other`.";
    OrderedElement -> bool: greater_equal try_greater_equal greater_equal_into (other) GreaterEqual "`self >= other`.";
    FloatElement -> bool: isnan try_isnan isnan_into () IsNan "Whether elements are NaN.";
}

/// Logic on elements of any type, of which those other than zero (NaN too) are true.
macro_rules! logic {
    ($($name:ident $try_name:ident $Op:ident $text:literal;)*) => {$(
        impl<T: Element> Array<T> {
            #[doc = concat!($text, " Elements of other types than `bool` count as true where they are not zero.")]
            ///
            /// # Panics
            #[doc = concat!("As operators do; [`", stringify!($try_name), "`](Self::", stringify!($try_name), ") does not.")]
            #[must_use]
            #[track_caller]
            pub fn $name<U: Element>(&self, other: &Array<U>) -> Array<bool> {
                demand(self.$try_name(other))
            }

            #[doc = concat!($text, " Elements of other types than `bool` count as true where they are not zero.")]
            ///
            /// # Errors
            /// As for [`elementwise`].
            pub fn $try_name<U: Element>(&self, other: &Array<U>) -> Result<Array<bool>> {
                let (left, right) = (self.inner.astype(Dtype::Bool)?, other.inner.astype(Dtype::Bool)?);
                left.binary(Op::$Op, &right)?.try_into()
            }
        }
    )*};
}

logic! {
    logical_and try_logical_and BitwiseAnd "Whether both are true.";
    logical_or try_logical_or BitwiseOr "Whether one or both are true.";
    logical_xor try_logical_xor BitwiseXor "Whether one is true and the other is not.";
}

impl<T: Element> Array<T> {
    /// Whether elements are not true, which all but zeros are.
    ///
    /// # Panics
    /// As operators do; [`try_logical_not`](Self::try_logical_not) does not.
    #[must_use]
    #[track_caller]
    pub fn logical_not(&self) -> Array<bool> {
        demand(self.try_logical_not())
    }

    /// Whether elements are not true, which all but zeros are.
    ///
    /// # Errors
    /// As for [`elementwise`].
    pub fn try_logical_not(&self) -> Result<Array<bool>> {
        self.inner.astype(Dtype::Bool)?.unary(Op::BitwiseInvert)?.try_into()
    }

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
    /// [`Error::Dtype`](crate::Error::Dtype) where the device lacks the dtype; as for [`elementwise`].
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
    /// As for [`elementwise`].
    pub fn try_where<'a, U: Element>(
        &'a self,
        yes: impl Into<ArrayOrValue<'a, U>>,
        no: impl Into<ArrayOrValue<'a, U>>,
    ) -> Result<Array<U>> {
        elementwise(Op::Where, &[self.into(), yes.into().into(), no.into().into()])?.try_into()
    }
}
