//! The scalar oracle: every operation on one [`Scalar`] at a time, through the standard library's arithmetic. Kernels
//! are tested against it, and core uses it for values that need no device (the result of an empty reduction).

use std::num::Wrapping;

use super::{
    Alg, BitsOp, Field, FieldOp, Float, FloatOp, FloatTest, Int, IntOp, NumOp, NumTest, Op, Real, RealOp,
    RealTest, Visitor,
};
use crate::dtype::Dtype;
use crate::program::{Arg, Program};
use crate::{Complex, Scalar, bf16, f16};

/// The operation applied to scalars; `None` where the operation is not defined for their dtype or number. Operands
/// are of one dtype, but for [`Op::Where`], whose first is `bool`; [`Op::Cast`] is [`Scalar::cast`].
#[must_use]
pub fn apply(op: Op, operands: &[Scalar]) -> Option<Scalar> {
    (operands.len() == op.arity()).then(|| op.visit(Oracle { operands }))?
}

/// A program's outputs for one element of each input.
#[must_use]
pub fn evaluate(program: &Program, inputs: &[Scalar]) -> Option<Vec<Scalar>> {
    let mut steps: Vec<Scalar> = Vec::with_capacity(program.steps().len());
    let value = |arg: Arg, steps: &[Scalar]| match arg {
        Arg::Input(i) => inputs.get(usize::from(i)).copied(),
        Arg::Const(i) => program.consts().get(usize::from(i)).copied(),
        Arg::Step(i) => steps.get(usize::from(i)).copied(),
    };
    for step in program.steps() {
        let operands = step.operands().iter().map(|&a| value(a, &steps)).collect::<Option<Vec<_>>>()?;
        let result = match step.op {
            Op::Cast => operands.first()?.cast(step.out),
            op => apply(op, &operands)?,
        };
        steps.push(result);
    }
    program.outputs().iter().map(|&a| value(a, &steps)).collect()
}

struct Oracle<'a> {
    operands: &'a [Scalar],
}

/// Collects the operands as `[$wrap(value); K]` when all are of one variant.
macro_rules! operands {
    ($operands:expr, $variant:ident, $wrap:expr) => {{
        let mut values = [None; super::MAX_ARITY];
        for (value, operand) in values.iter_mut().zip($operands) {
            if let Scalar::$variant(v) = operand {
                *value = Some($wrap(*v));
            }
        }
        values
    }};
}

macro_rules! arms {
    ($self:ident, $O:ident, $K:ident; $($variant:ident, $wrap:expr, $back:expr;)*) => {
        #[allow(unreachable_patterns)] // Some classes take every dtype.
        match $self.operands.first()? {
            $(Scalar::$variant(_) => {
                let values = operands!($self.operands, $variant, $wrap);
                let mut x = [values[0]?; $K];
                for (x, value) in x.iter_mut().zip(values) { *x = value?; }
                Some($back($O::f(x)))
            })*
            _ => None,
        }
    };
}

macro_rules! class {
    ($class:ident $Trait:ident: $($variant:ident $wrap:expr, $back:expr;)*) => {
        fn $class<O: $Trait<K>, const K: usize>(self) -> Option<Scalar> {
            arms!(self, O, K; $($variant, $wrap, $back;)*)
        }
    };
}

fn half_up(v: f16) -> f32 {
    v.to_f32()
}
fn bhalf_up(v: bf16) -> f32 {
    v.to_f32()
}

impl Visitor for Oracle<'_> {
    type Out = Option<Scalar>;

    class! { num NumOp:
        I8 Wrapping, |v: Wrapping<i8>| Scalar::I8(v.0); I16 Wrapping, |v: Wrapping<i16>| Scalar::I16(v.0);
        I32 Wrapping, |v: Wrapping<i32>| Scalar::I32(v.0); I64 Wrapping, |v: Wrapping<i64>| Scalar::I64(v.0);
        U8 Wrapping, |v: Wrapping<u8>| Scalar::U8(v.0); U16 Wrapping, |v: Wrapping<u16>| Scalar::U16(v.0);
        U32 Wrapping, |v: Wrapping<u32>| Scalar::U32(v.0); U64 Wrapping, |v: Wrapping<u64>| Scalar::U64(v.0);
        F16 half_up, |v| Scalar::F16(f16::from_f32(v)); Bf16 bhalf_up, |v| Scalar::Bf16(bf16::from_f32(v));
        F32 |v| v, Scalar::F32; F64 |v| v, Scalar::F64; C64 |v| v, Scalar::C64; C128 |v| v, Scalar::C128;
    }
    class! { num_test NumTest:
        Bool |v: bool| Wrapping(u8::from(v)), Scalar::Bool;
        I8 Wrapping, Scalar::Bool; I16 Wrapping, Scalar::Bool; I32 Wrapping, Scalar::Bool; I64 Wrapping, Scalar::Bool;
        U8 Wrapping, Scalar::Bool; U16 Wrapping, Scalar::Bool; U32 Wrapping, Scalar::Bool; U64 Wrapping, Scalar::Bool;
        F16 half_up, Scalar::Bool; Bf16 bhalf_up, Scalar::Bool; F32 |v| v, Scalar::Bool; F64 |v| v, Scalar::Bool;
        C64 |v| v, Scalar::Bool; C128 |v| v, Scalar::Bool;
    }
    class! { field FieldOp:
        F16 half_up, |v| Scalar::F16(f16::from_f32(v)); Bf16 bhalf_up, |v| Scalar::Bf16(bf16::from_f32(v));
        F32 |v| v, Scalar::F32; F64 |v| v, Scalar::F64; C64 |v| v, Scalar::C64; C128 |v| v, Scalar::C128;
    }
    class! { real RealOp:
        Bool |v: bool| Wrapping(u8::from(v)), |v: Wrapping<u8>| Scalar::Bool(v.0 != 0);
        I8 Wrapping, |v: Wrapping<i8>| Scalar::I8(v.0); I16 Wrapping, |v: Wrapping<i16>| Scalar::I16(v.0);
        I32 Wrapping, |v: Wrapping<i32>| Scalar::I32(v.0); I64 Wrapping, |v: Wrapping<i64>| Scalar::I64(v.0);
        U8 Wrapping, |v: Wrapping<u8>| Scalar::U8(v.0); U16 Wrapping, |v: Wrapping<u16>| Scalar::U16(v.0);
        U32 Wrapping, |v: Wrapping<u32>| Scalar::U32(v.0); U64 Wrapping, |v: Wrapping<u64>| Scalar::U64(v.0);
        F16 half_up, |v| Scalar::F16(f16::from_f32(v)); Bf16 bhalf_up, |v| Scalar::Bf16(bf16::from_f32(v));
        F32 |v| v, Scalar::F32; F64 |v| v, Scalar::F64;
    }
    class! { real_test RealTest:
        Bool |v: bool| Wrapping(u8::from(v)), Scalar::Bool;
        I8 Wrapping, Scalar::Bool; I16 Wrapping, Scalar::Bool; I32 Wrapping, Scalar::Bool; I64 Wrapping, Scalar::Bool;
        U8 Wrapping, Scalar::Bool; U16 Wrapping, Scalar::Bool; U32 Wrapping, Scalar::Bool; U64 Wrapping, Scalar::Bool;
        F16 half_up, Scalar::Bool; Bf16 bhalf_up, Scalar::Bool; F32 |v| v, Scalar::Bool; F64 |v| v, Scalar::Bool;
    }
    class! { float FloatOp:
        F16 half_up, |v| Scalar::F16(f16::from_f32(v)); Bf16 bhalf_up, |v| Scalar::Bf16(bf16::from_f32(v));
        F32 |v| v, Scalar::F32; F64 |v| v, Scalar::F64;
    }
    class! { float_test FloatTest:
        F16 half_up, Scalar::Bool; Bf16 bhalf_up, Scalar::Bool; F32 |v| v, Scalar::Bool; F64 |v| v, Scalar::Bool;
    }
    class! { bits BitsOp:
        Bool |v| v, Scalar::Bool;
        I8 |v| v, Scalar::I8; I16 |v| v, Scalar::I16; I32 |v| v, Scalar::I32; I64 |v| v, Scalar::I64;
        U8 |v| v, Scalar::U8; U16 |v| v, Scalar::U16; U32 |v| v, Scalar::U32; U64 |v| v, Scalar::U64;
    }
    class! { int IntOp:
        I8 Wrapping, |v: Wrapping<i8>| Scalar::I8(v.0); I16 Wrapping, |v: Wrapping<i16>| Scalar::I16(v.0);
        I32 Wrapping, |v: Wrapping<i32>| Scalar::I32(v.0); I64 Wrapping, |v: Wrapping<i64>| Scalar::I64(v.0);
        U8 Wrapping, |v: Wrapping<u8>| Scalar::U8(v.0); U16 Wrapping, |v: Wrapping<u16>| Scalar::U16(v.0);
        U32 Wrapping, |v: Wrapping<u32>| Scalar::U32(v.0); U64 Wrapping, |v: Wrapping<u64>| Scalar::U64(v.0);
    }

    fn cast(self) -> Option<Scalar> {
        None // The target dtype is the step's, not the operation's: `evaluate` does it.
    }
    fn copy(self) -> Option<Scalar> {
        self.operands.first().copied()
    }
    fn select(self) -> Option<Scalar> {
        match *self.operands {
            [Scalar::Bool(condition), yes, no] if yes.dtype() == no.dtype() => {
                Some(if condition { yes } else { no })
            }
            _ => None,
        }
    }
}

macro_rules! float_scalar {
    ($($t:ty)*) => {$(
        impl Alg for $t {
            type Mask = bool;
            #[inline(always)]
            fn lit(self, c: f64) -> Self { c as $t }
            #[inline(always)]
            fn equal(self, other: Self) -> bool { self == other }
            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self { if mask { yes } else { no } }
        }
        impl Field for $t {}
        impl Real for $t {
            #[inline(always)]
            fn less(self, other: Self) -> bool { self < other }
            #[inline(always)]
            fn less_equal(self, other: Self) -> bool { self <= other }
            #[inline(always)]
            fn abs(self) -> Self { <$t>::abs(self) }
            #[inline(always)]
            fn minimum(self, other: Self) -> Self {
                let tie = self == other && self.is_sign_negative();
                if self < other || self.is_nan() || tie { self } else { other }
            }
            #[inline(always)]
            fn maximum(self, other: Self) -> Self {
                let tie = self == other && self.is_sign_positive();
                if self > other || self.is_nan() || tie { self } else { other }
            }
        }
        impl Float for $t {
            fn mul_add(self, b: Self, c: Self) -> Self { <$t>::mul_add(self, b, c) }
            fn sqrt(self) -> Self { <$t>::sqrt(self) }
            fn exp(self) -> Self { <$t>::exp(self) }
            fn log(self) -> Self { <$t>::ln(self) }
            fn sin(self) -> Self { <$t>::sin(self) }
            fn cos(self) -> Self { <$t>::cos(self) }
            fn tanh(self) -> Self { <$t>::tanh(self) }
            fn atan(self) -> Self { <$t>::atan(self) }
            fn atan2(self, x: Self) -> Self { <$t>::atan2(self, x) }
        }
    )*};
}
float_scalar!(f32 f64);

macro_rules! complex_scalar {
    ($($t:ty)*) => {$(
        impl Alg for Complex<$t> {
            type Mask = bool;
            #[inline(always)]
            fn lit(self, c: f64) -> Self { Complex::new(c as $t, 0.0) }
            #[inline(always)]
            fn equal(self, other: Self) -> bool { self == other }
            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self { if mask { yes } else { no } }
        }
        impl Field for Complex<$t> {}
    )*};
}
complex_scalar!(f32 f64);

macro_rules! int_scalar {
    ($signed:literal: $($t:ty)*) => {$(
        impl Alg for Wrapping<$t> {
            type Mask = bool;
            #[inline(always)]
            fn lit(self, c: f64) -> Self { Wrapping(c as $t) }
            #[inline(always)]
            fn equal(self, other: Self) -> bool { self == other }
            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self { if mask { yes } else { no } }
        }
        impl Real for Wrapping<$t> {
            #[inline(always)]
            fn less(self, other: Self) -> bool { self < other }
            #[inline(always)]
            fn less_equal(self, other: Self) -> bool { self <= other }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn abs(self) -> Self { if self.0 < 0 { -self } else { self } }
            #[inline(always)]
            fn minimum(self, other: Self) -> Self { if other < self { other } else { self } }
            #[inline(always)]
            fn maximum(self, other: Self) -> Self { if self < other { other } else { self } }
        }
        impl Int for Wrapping<$t> {
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn floor_divide(self, other: Self) -> Self {
                if other.0 == 0 { return Wrapping(0); }
                let (q, r) = (self.0.wrapping_div(other.0), self.0.wrapping_rem(other.0));
                Wrapping(if $signed && r != 0 && (r < 0) != (other.0 < 0) { q.wrapping_sub(1) } else { q })
            }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn remainder(self, other: Self) -> Self {
                if other.0 == 0 { return Wrapping(0); }
                let r = self.0.wrapping_rem(other.0);
                Wrapping(if $signed && r != 0 && (r < 0) != (other.0 < 0) { r.wrapping_add(other.0) } else { r })
            }
        }
    )*};
}
int_scalar!(true: i8 i16 i32 i64);
int_scalar!(false: u8 u16 u32 u64);

/// The identity of a fold: the value that changes no other. `None` for operations that are no fold.
#[must_use]
pub(crate) fn identity(op: Op, dtype: Dtype) -> Option<Scalar> {
    let infinity = |negative: bool| -> Scalar {
        match dtype {
            Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64 => {
                Scalar::F64(if negative { f64::NEG_INFINITY } else { f64::INFINITY }).cast(dtype)
            }
            Dtype::Bool => Scalar::Bool(!negative),
            // Saturating: the double beyond every integer becomes the largest or smallest.
            _ => Scalar::F64(if negative { f64::NEG_INFINITY } else { f64::INFINITY }).cast(dtype),
        }
    };
    match op {
        Op::Add => Some(Scalar::I8(0).cast(dtype)),
        Op::Multiply => Some(Scalar::I8(1).cast(dtype)),
        Op::Minimum => Some(infinity(false)),
        Op::Maximum => Some(infinity(true)),
        _ => None,
    }
}
