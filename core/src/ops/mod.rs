//! Operations, each defined once: one line in the list below is the operation's name, class, arity and meaning.
//!
//! An interpreter (the scalar oracle here, a backend's kernels, a code generator) implements [`Visitor`]: one method
//! per class, generic over the operation, so that a new operation needs no line in any backend.
//!
//! ```
//! use stridewise_core::{Dtype, Op, Scalar, ops};
//!
//! assert_eq!((Op::Hypot.name(), Op::Hypot.arity()), ("hypot", 2));
//! assert_eq!(ops::apply(Op::Hypot, &[Scalar::F64(3.0), Scalar::F64(4.0)]), Some(Scalar::F64(5.0)));
//! // What an operation takes, and what it gives.
//! assert!(!Op::Divide.allows(Dtype::I32));
//! assert_eq!(Op::Less.result(Dtype::I32), Dtype::Bool);
//! ```

mod algebra;
mod complex;
mod oracle;
mod philox;
mod scalar;

pub use algebra::{Alg, Analytic, Bits, Field, Float, Int, Mask, Parts, Real};
pub(crate) use oracle::identity;
pub use oracle::{apply, evaluate};

use crate::dtype::{Dtype, DtypeKind};

/// Operands an operation takes at most.
pub const MAX_ARITY: usize = 3;

macro_rules! op_classes {
    ($($(#[$doc:meta])* $class:ident $Trait:ident $Alg:ident -> $out:ty;)*) => {
        $(
            $(#[$doc])*
            pub trait $Trait<const K: usize>: Copy + Default + Send + Sync + 'static {
                /// The operation on one value per operand.
                fn f<A: $Alg>(x: [A; K]) -> $out;
            }
        )*

        /// What an interpreter does with an operation of each class; see [`Op::visit`].
        pub trait Visitor: Sized {
            /// What the interpreter answers.
            type Out;
            $(
                $(#[$doc])*
                fn $class<O: $Trait<K>, const K: usize>(self) -> Self::Out;
            )*
            /// The conversion between two dtypes.
            fn cast(self) -> Self::Out;
            /// The element as it is.
            fn copy(self) -> Self::Out;
            /// `where(condition, yes, no)`.
            fn select(self) -> Self::Out;
        }

        /// The class of an operation: which dtypes it takes and what it gives.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[allow(non_camel_case_types)]
        pub enum OpClass {
            $($(#[$doc])* $class,)*
            /// The conversion between two dtypes.
            cast,
            /// The element as it is.
            copy,
            /// `where(condition, yes, no)`.
            select,
        }
    };
}

op_classes! {
    /// Integers, real and complex floating point.
    num NumOp Alg -> A;
    /// A function of integers, real and complex floating point with a long body: one copy of it per loop suffices.
    num_fn NumFn Alg -> A;
    /// A test of any dtype.
    num_test NumTest Alg -> A::Mask;
    /// Real and complex floating point.
    field FieldOp Field -> A;
    /// A part of integers, real and complex floating point: a number of their real type.
    part PartOp Parts -> A::Part;
    /// A function of real and complex floating point.
    analytic AnalyticOp Analytic -> A;
    /// Integers and real floating point.
    real RealOp Real -> A;
    /// A function of integers and real floating point with a long body.
    real_fn RealFn Real -> A;
    /// A test of ordered numbers.
    real_test RealTest Real -> A::Mask;
    /// Real floating point.
    float FloatOp Float -> A;
    /// A test of real floating point.
    float_test FloatTest Float -> A::Mask;
    /// Integers and `bool`.
    bits BitsOp Bits -> A;
    /// Integers.
    int IntOp Int -> A;
}

macro_rules! op_definition {
    (num $N:ident [$($x:ident),+] $b:expr) => { op_definition!(@ NumOp Alg A, $N [$($x),+] $b); };
    (num_fn $N:ident [$($x:ident),+] $b:expr) => { op_definition!(@ NumFn Alg A, $N [$($x),+] $b); };
    (part $N:ident [$($x:ident),+] $b:expr) => { op_definition!(@ PartOp Parts A::Part, $N [$($x),+] $b); };
    (analytic $N:ident [$($x:ident),+] $b:expr) => { op_definition!(@ AnalyticOp Analytic A, $N [$($x),+] $b); };
    (real_fn $N:ident [$($x:ident),+] $b:expr) => { op_definition!(@ RealFn Real A, $N [$($x),+] $b); };
    (num_test $N:ident [$($x:ident),+] $b:expr) => { op_definition!(@ NumTest Alg A::Mask, $N [$($x),+] $b); };
    (field $N:ident [$($x:ident),+] $b:expr) => { op_definition!(@ FieldOp Field A, $N [$($x),+] $b); };
    (real $N:ident [$($x:ident),+] $b:expr) => { op_definition!(@ RealOp Real A, $N [$($x),+] $b); };
    (real_test $N:ident [$($x:ident),+] $b:expr) => { op_definition!(@ RealTest Real A::Mask, $N [$($x),+] $b); };
    (float $N:ident [$($x:ident),+] $b:expr) => { op_definition!(@ FloatOp Float A, $N [$($x),+] $b); };
    (float_test $N:ident [$($x:ident),+] $b:expr) => { op_definition!(@ FloatTest Float A::Mask, $N [$($x),+] $b); };
    (bits $N:ident [$($x:ident),+] $b:expr) => { op_definition!(@ BitsOp Bits A, $N [$($x),+] $b); };
    (int $N:ident [$($x:ident),+] $b:expr) => { op_definition!(@ IntOp Int A, $N [$($x),+] $b); };
    (@ $Trait:ident $Alg:ident $out:ty, $N:ident [$($x:ident),+] $b:expr) => {
        impl $Trait<{ [$(stringify!($x)),+].len() }> for $N {
            #[inline(always)]
            fn f<A: $Alg>([$($x),+]: [A; [$(stringify!($x)),+].len()]) -> $out {
                $b
            }
        }
    };
}

macro_rules! ops {
    ($($(#[doc = $doc:literal])* $class:ident $Name:ident $name:literal ($($x:ident),+) = $body:expr;)*) => {
        /// A scalar operation.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
        #[non_exhaustive]
        pub enum Op {
            $($(#[doc = $doc])* $Name,)*
            /// Conversion to another dtype: integers wrap, floats round to nearest even, floats to integers truncate
            /// and saturate with NaN → 0, anything but zero is `true`, complex to real drops the imaginary part.
            Cast,
            /// The element as it is, of any dtype.
            Copy,
            /// `where(condition, yes, no)`: the condition is `bool`.
            Where,
        }

        impl Op {
            /// Every operation, in the order of the list.
            pub const ALL: &'static [Self] = &[$(Self::$Name,)* Self::Cast, Self::Copy, Self::Where];

            /// The array API's name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Name => $name,)* Self::Cast => "astype", Self::Copy => "positive", Self::Where => "where" }
            }
            /// What plans and traces call it: most copies are no call of `positive`.
            pub(crate) const fn label(self) -> &'static str {
                match self { Self::Copy => "copy", other => other.name() }
            }
            /// What it computes, in a sentence.
            #[must_use]
            pub const fn about(self) -> &'static str {
                match self {
                    $(Self::$Name => concat!($($doc),*).trim_ascii_start(),)*
                    Self::Cast => "Conversion to another dtype.",
                    Self::Copy => "The element as it is.",
                    Self::Where => "The second operand where the first is true, else the third.",
                }
            }
            /// Names of the operands.
            #[must_use]
            pub const fn operands(self) -> &'static [&'static str] {
                match self {
                    $(Self::$Name => &[$(stringify!($x)),+],)*
                    Self::Cast | Self::Copy => &["x"],
                    Self::Where => &["condition", "yes", "no"],
                }
            }
            /// Number of operands.
            #[must_use]
            #[inline]
            pub const fn arity(self) -> usize {
                match self { $(Self::$Name => [$(stringify!($x)),+].len(),)* Self::Cast | Self::Copy => 1, Self::Where => 3 }
            }
            /// The class.
            #[must_use]
            #[inline]
            pub const fn class(self) -> OpClass {
                match self { $(Self::$Name => OpClass::$class,)* Self::Cast => OpClass::cast, Self::Copy => OpClass::copy, Self::Where => OpClass::select }
            }
            /// Hands the operation's definition to the visitor's method of its class.
            pub fn visit<V: Visitor>(self, visitor: V) -> V::Out {
                match self {
                    $(Self::$Name => visitor.$class::<define::$Name, { [$(stringify!($x)),+].len() }>(),)*
                    Self::Cast => visitor.cast(),
                    Self::Copy => visitor.copy(),
                    Self::Where => visitor.select(),
                }
            }
        }

        /// The operations as types, one per line of the list.
        pub mod define {
            use super::*;
            $(
                $(#[doc = $doc])*
                #[derive(Clone, Copy, Default, Debug)]
                pub struct $Name;
                op_definition!($class $Name [$($x),+] $body);
            )*
        }
    };
}

ops! {
    /// Sum.
    num Add "add" (x, y) = x + y;
    /// Difference.
    num Subtract "subtract" (x, y) = x - y;
    /// Product.
    num Multiply "multiply" (x, y) = x * y;
    /// Quotient.
    field Divide "divide" (x, y) = x.divide(y);
    /// Quotient rounded to −∞.
    real_fn FloorDivide "floor_divide" (x, y) = x.floor_divide(y);
    /// Remainder of the division rounded to −∞, with the sign of the divisor.
    real_fn Remainder "remainder" (x, y) = x.remainder(y);
    /// Power.
    num_fn Pow "pow" (x, y) = x.pow(y);
    /// Negation.
    num Negative "negative" (x) = -x;
    /// Magnitude; of a complex number, a real one.
    part Abs "abs" (x) = x.abs();
    /// Real part.
    part RealPart "real" (x) = x.real();
    /// Imaginary part; 0 of a real number.
    part ImagPart "imag" (x) = x.imag();
    /// Complex conjugate.
    num Conj "conj" (x) = x.conj();
    /// Sign: −1, 0 or 1; of a complex number, the number over its magnitude.
    num Sign "sign" (x) = x.sign();
    /// x².
    num Square "square" (x) = x * x;
    /// 1 / x.
    field Reciprocal "reciprocal" (x) = x.lit(1.0).divide(x);
    /// The nearest integer, halves to even.
    num Round "round" (x) = x.round();
    /// The greatest integer that is not above.
    real Floor "floor" (x) = x.floor();
    /// The least integer that is not below.
    real Ceil "ceil" (x) = x.ceil();
    /// The integer next towards 0.
    real Trunc "trunc" (x) = x.trunc();
    /// The smaller operand; NaN propagates.
    real Minimum "minimum" (x, y) = x.minimum(y);
    /// The larger operand; NaN propagates.
    real Maximum "maximum" (x, y) = x.maximum(y);
    /// `minimum(maximum(x, low), high)`.
    real Clip "clip" (x, low, high) = x.maximum(low).minimum(high);
    /// Square root.
    analytic Sqrt "sqrt" (x) = x.sqrt();
    /// 1/√x.
    float Rsqrt "rsqrt" (x) = x.rsqrt();
    /// Cube root.
    float Cbrt "cbrt" (x) = x.cbrt();
    /// √(x² + y²).
    float Hypot "hypot" (x, y) = x.hypot(y);
    /// eˣ.
    analytic Exp "exp" (x) = x.exp();
    /// 2ˣ.
    analytic Exp2 "exp2" (x) = x.exp2();
    /// eˣ − 1.
    analytic Expm1 "expm1" (x) = x.expm1();
    /// Natural logarithm.
    analytic Log "log" (x) = x.log();
    /// ln(1 + x).
    analytic Log1p "log1p" (x) = x.log1p();
    /// Logarithm to the base 2.
    analytic Log2 "log2" (x) = x.log2();
    /// Logarithm to the base 10.
    analytic Log10 "log10" (x) = x.log10();
    /// ln(eˣ + eʸ).
    float Logaddexp "logaddexp" (x, y) = x.logaddexp(y);
    /// Sine, radians.
    analytic Sin "sin" (x) = x.sin();
    /// Cosine, radians.
    analytic Cos "cos" (x) = x.cos();
    /// Tangent, radians.
    analytic Tan "tan" (x) = x.tan();
    /// Arc sine, radians.
    analytic Asin "asin" (x) = x.asin();
    /// Arc cosine, radians.
    analytic Acos "acos" (x) = x.acos();
    /// Arc tangent, radians.
    analytic Atan "atan" (x) = x.atan();
    /// Angle of the point (second operand, first operand), radians.
    float Atan2 "atan2" (y, x) = y.atan2(x);
    /// Hyperbolic sine.
    analytic Sinh "sinh" (x) = x.sinh();
    /// Hyperbolic cosine.
    analytic Cosh "cosh" (x) = x.cosh();
    /// Hyperbolic tangent.
    analytic Tanh "tanh" (x) = x.tanh();
    /// Inverse hyperbolic sine.
    analytic Asinh "asinh" (x) = x.asinh();
    /// Inverse hyperbolic cosine.
    analytic Acosh "acosh" (x) = x.acosh();
    /// Inverse hyperbolic tangent.
    analytic Atanh "atanh" (x) = x.atanh();
    /// Error function.
    float Erf "erf" (x) = x.erf();
    /// 1 / (1 + e⁻ˣ).
    float Sigmoid "sigmoid" (x) = x.sigmoid();
    /// Magnitude of the first operand with the sign of the second.
    float Copysign "copysign" (x, y) = x.copysign(y);
    /// The number next to the first operand in the direction of the second.
    float Nextafter "nextafter" (x, y) = x.nextafter(y);
    /// `x == y`.
    num_test Equal "equal" (x, y) = x.equal(y);
    /// `x != y`.
    num_test NotEqual "not_equal" (x, y) = !x.equal(y);
    /// `x < y`.
    real_test Less "less" (x, y) = x.less(y);
    /// `x <= y`.
    real_test LessEqual "less_equal" (x, y) = x.less_equal(y);
    /// `x > y`.
    real_test Greater "greater" (x, y) = y.less(x);
    /// `x >= y`.
    real_test GreaterEqual "greater_equal" (x, y) = y.less_equal(x);
    /// Whether the value is NaN; of a complex number, either part.
    num_test IsNan "isnan" (x) = !x.equal(x);
    /// Whether the value is infinite; of a complex number, either part.
    num_test IsInf "isinf" (x) = x.is_infinite();
    /// Whether the value is neither infinite nor NaN; of a complex number, both parts.
    num_test IsFinite "isfinite" (x) = x.is_finite();
    /// Whether the sign bit is set, of −0 and NaN too.
    float_test SignBit "signbit" (x) = x.lit(1.0).copysign(x).less(x.lit(0.0));
    /// Whether both are other than 0.
    num_test LogicalAnd "logical_and" (x, y) = !(x.equal(x.lit(0.0)) | y.equal(y.lit(0.0)));
    /// Whether one is other than 0.
    num_test LogicalOr "logical_or" (x, y) = !(x.equal(x.lit(0.0)) & y.equal(y.lit(0.0)));
    /// Whether exactly one is other than 0.
    num_test LogicalXor "logical_xor" (x, y) = x.equal(x.lit(0.0)) ^ y.equal(y.lit(0.0));
    /// Whether the value is 0.
    num_test LogicalNot "logical_not" (x) = x.equal(x.lit(0.0));
    /// Bitwise and.
    bits BitwiseAnd "bitwise_and" (x, y) = x & y;
    /// Bitwise or.
    bits BitwiseOr "bitwise_or" (x, y) = x | y;
    /// Bitwise exclusive or.
    bits BitwiseXor "bitwise_xor" (x, y) = x ^ y;
    /// Bitwise not; `logical_not` on `bool`.
    bits BitwiseInvert "bitwise_invert" (x) = !x;
    /// Bits moved up, zeros in.
    int BitwiseLeftShift "bitwise_left_shift" (x, y) = x.shift_left(y);
    /// Bits moved down, copies of the sign in.
    int BitwiseRightShift "bitwise_right_shift" (x, y) = x.shift_right(y);
    /// 64 random bits, those of the place `counter` of a stream under a key: half a block of Philox4x32-10, whose counter
    /// is `counter` and, in its upper half, `stream`.
    int Philox "philox" (counter, stream, key) = philox::bits(counter, stream, key);
}

impl Op {
    /// Whether an operand is the condition of a selection.
    pub(crate) const fn is_condition(self, position: usize) -> bool {
        matches!(self, Self::Where) && position == 0
    }

    /// The dtype of an operand of an operation on a dtype: but for a condition, that dtype.
    pub(crate) const fn operand_dtype(self, position: usize, dtype: Dtype) -> Dtype {
        if self.is_condition(position) { Dtype::Bool } else { dtype }
    }

    /// Whether the operation is defined for operands of a dtype. `bool` is ordered, false before true; for
    /// [`Op::Where`] this is the dtype of the two values.
    #[must_use]
    pub const fn allows(self, dtype: Dtype) -> bool {
        use DtypeKind::{Bool, Complex, Float, Signed, Unsigned};
        match self.class() {
            OpClass::num | OpClass::num_fn | OpClass::part => {
                matches!(dtype.kind(), Signed | Unsigned | Float | Complex)
            }
            OpClass::field | OpClass::analytic => matches!(dtype.kind(), Float | Complex),
            OpClass::real => match self {
                Self::Minimum | Self::Maximum | Self::Clip => {
                    matches!(dtype.kind(), Bool | Signed | Unsigned | Float)
                }
                _ => matches!(dtype.kind(), Signed | Unsigned | Float),
            },
            OpClass::real_fn => matches!(dtype.kind(), Signed | Unsigned | Float),
            OpClass::real_test => matches!(dtype.kind(), Bool | Signed | Unsigned | Float),
            OpClass::float | OpClass::float_test => matches!(dtype.kind(), Float),
            OpClass::bits => matches!(dtype.kind(), Bool | Signed | Unsigned),
            OpClass::int => match self {
                Self::Philox => matches!(dtype, Dtype::U64),
                _ => matches!(dtype.kind(), Signed | Unsigned),
            },
            OpClass::num_test | OpClass::cast | OpClass::copy | OpClass::select => true,
        }
    }

    /// Dtype of the result for operands of a dtype. Conversions say theirs in the [`ProgramStep`](crate::program::ProgramStep).
    #[must_use]
    #[inline]
    pub const fn result(self, dtype: Dtype) -> Dtype {
        match self.class() {
            OpClass::num_test | OpClass::real_test | OpClass::float_test => Dtype::Bool,
            OpClass::part => dtype.real_part(),
            _ => dtype,
        }
    }

    /// Whether integer operands are first converted to floating point.
    #[must_use]
    pub const fn wants_float(self) -> bool {
        matches!(self.class(), OpClass::field | OpClass::analytic | OpClass::float | OpClass::float_test)
    }
}
