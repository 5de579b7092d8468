//! Operations, each defined once: one line in the list below is the operation's name, class, arity and meaning.
//!
//! An interpreter (the scalar oracle here, a backend's kernels, a code generator) implements [`Visitor`]: one method
//! per class, generic over the operation, so that a new operation needs no line in any backend.

mod algebra;
mod oracle;

pub use algebra::{Alg, Bits, Field, Float, Int, Mask, Real};
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
    /// A test of any dtype.
    num_test NumTest Alg -> A::Mask;
    /// Real and complex floating point.
    field FieldOp Field -> A;
    /// Integers and real floating point.
    real RealOp Real -> A;
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
    ($($(#[$doc:meta])* $class:ident $Name:ident $name:literal ($($x:ident),+) = $body:expr;)*) => {
        /// A scalar operation.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum Op {
            $($(#[$doc])* $Name,)*
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
            /// Number of operands.
            #[must_use]
            pub const fn arity(self) -> usize {
                match self { $(Self::$Name => [$(stringify!($x)),+].len(),)* Self::Cast | Self::Copy => 1, Self::Where => 3 }
            }
            /// The class.
            #[must_use]
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
                $(#[$doc])*
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
    field Divide "divide" (x, y) = x / y;
    /// Negation.
    num Negative "negative" (x) = -x;
    /// Magnitude.
    real Abs "abs" (x) = x.abs();
    /// x².
    num Square "square" (x) = x * x;
    /// The smaller operand; NaN propagates.
    real Minimum "minimum" (x, y) = x.minimum(y);
    /// The larger operand; NaN propagates.
    real Maximum "maximum" (x, y) = x.maximum(y);
    /// `minimum(maximum(x, low), high)`.
    real Clip "clip" (x, low, high) = x.maximum(low).minimum(high);
    /// Square root.
    float Sqrt "sqrt" (x) = x.sqrt();
    /// eˣ.
    float Exp "exp" (x) = x.exp();
    /// Natural logarithm.
    float Log "log" (x) = x.log();
    /// Sine, radians.
    float Sin "sin" (x) = x.sin();
    /// Cosine, radians.
    float Cos "cos" (x) = x.cos();
    /// Hyperbolic tangent.
    float Tanh "tanh" (x) = x.tanh();
    /// Arc tangent, radians.
    float Atan "atan" (x) = x.atan();
    /// Angle of the point (second operand, first operand), radians.
    float Atan2 "atan2" (y, x) = y.atan2(x);
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
    /// Whether the value is NaN.
    float_test IsNan "isnan" (x) = !x.equal(x);
    /// Bitwise and; `logical_and` on `bool`.
    bits BitwiseAnd "bitwise_and" (x, y) = x & y;
    /// Bitwise or; `logical_or` on `bool`.
    bits BitwiseOr "bitwise_or" (x, y) = x | y;
    /// Bitwise exclusive or; `logical_xor` on `bool`.
    bits BitwiseXor "bitwise_xor" (x, y) = x ^ y;
    /// Bitwise not; `logical_not` on `bool`.
    bits BitwiseInvert "bitwise_invert" (x) = !x;
}

impl Op {
    /// Whether the operation is defined for operands of a dtype. `bool` is ordered, false before true; for
    /// [`Op::Where`] this is the dtype of the two values.
    #[must_use]
    pub const fn allows(self, dtype: Dtype) -> bool {
        use DtypeKind::{Bool, Complex, Float, Signed, Unsigned};
        match self.class() {
            OpClass::num => matches!(dtype.kind(), Signed | Unsigned | Float | Complex),
            OpClass::field => matches!(dtype.kind(), Float | Complex),
            OpClass::real => match self {
                Self::Abs => matches!(dtype.kind(), Signed | Unsigned | Float),
                _ => matches!(dtype.kind(), Bool | Signed | Unsigned | Float),
            },
            OpClass::real_test => matches!(dtype.kind(), Bool | Signed | Unsigned | Float),
            OpClass::float | OpClass::float_test => matches!(dtype.kind(), Float),
            OpClass::bits => matches!(dtype.kind(), Bool | Signed | Unsigned),
            OpClass::int => matches!(dtype.kind(), Signed | Unsigned),
            OpClass::num_test | OpClass::cast | OpClass::copy | OpClass::select => true,
        }
    }

    /// Dtype of the result for operands of a dtype. Conversions say theirs in the [`Step`](crate::Step).
    #[must_use]
    pub const fn result(self, dtype: Dtype) -> Dtype {
        match self.class() {
            OpClass::num_test | OpClass::real_test | OpClass::float_test => Dtype::Bool,
            _ => dtype,
        }
    }

    /// Whether integer operands are first converted to floating point.
    #[must_use]
    pub const fn wants_float(self) -> bool {
        matches!(self.class(), OpClass::field | OpClass::float | OpClass::float_test)
    }
}
