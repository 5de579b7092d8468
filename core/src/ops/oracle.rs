//! The scalar oracle: every operation on one [`Scalar`] at a time, through the standard library's arithmetic. Kernels
//! are tested against it, and core uses it for values that need no device (the result of an empty reduction).

use std::cmp::Ordering;
use std::num::Wrapping;

use super::{
    AnalyticOp, BitsOp, FieldOp, FloatOp, FloatTest, IntOp, NumFn, NumOp, NumTest, Op, PartOp, RealFn,
    RealOp, RealTest, Visitor,
};
use crate::dtype::Dtype;
use crate::program::{Arg, Program};
use crate::{Scalar, bf16, f16};

/// The operation applied to scalars; `None` where the operation is not defined for their dtype or number. Operands
/// are of one dtype, but for [`Op::Where`], whose first is `bool`; [`Op::Cast`] is [`Scalar::cast`].
#[must_use]
pub fn apply(op: Op, operands: &[Scalar]) -> Option<Scalar> {
    match (op, operands) {
        // The one function that knows its format.
        (Op::Nextafter, &[Scalar::F16(x), Scalar::F16(y)]) => Some(Scalar::F16(f16::from_bits(
            half_neighbour((x.to_f32(), x.to_bits()), (y.to_f32(), y.to_bits())),
        ))),
        (Op::Nextafter, &[Scalar::Bf16(x), Scalar::Bf16(y)]) => Some(Scalar::Bf16(bf16::from_bits(
            half_neighbour((x.to_f32(), x.to_bits()), (y.to_f32(), y.to_bits())),
        ))),
        _ => (operands.len() == op.arity()).then(|| op.visit(Oracle { operands }))?,
    }
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

/// Classes of all numbers.
macro_rules! numbers {
    ($($class:ident $Trait:ident),*) => {$(
        class! { $class $Trait:
            I8 Wrapping, |v: Wrapping<i8>| Scalar::I8(v.0); I16 Wrapping, |v: Wrapping<i16>| Scalar::I16(v.0);
            I32 Wrapping, |v: Wrapping<i32>| Scalar::I32(v.0); I64 Wrapping, |v: Wrapping<i64>| Scalar::I64(v.0);
            U8 Wrapping, |v: Wrapping<u8>| Scalar::U8(v.0); U16 Wrapping, |v: Wrapping<u16>| Scalar::U16(v.0);
            U32 Wrapping, |v: Wrapping<u32>| Scalar::U32(v.0); U64 Wrapping, |v: Wrapping<u64>| Scalar::U64(v.0);
            F16 half_up, half_down; Bf16 bhalf_up, bhalf_down;
            F32 |v| v, Scalar::F32; F64 |v| v, Scalar::F64; C64 |v| v, Scalar::C64; C128 |v| v, Scalar::C128;
        }
    )*};
}

/// Classes of real and complex floating point.
macro_rules! fields {
    ($($class:ident $Trait:ident),*) => {$(
        class! { $class $Trait:
            F16 half_up, half_down; Bf16 bhalf_up, bhalf_down;
            F32 |v| v, Scalar::F32; F64 |v| v, Scalar::F64; C64 |v| v, Scalar::C64; C128 |v| v, Scalar::C128;
        }
    )*};
}

// In double precision, so that the one rounding to 16 bits is the only one that shows.
fn half_up(v: f16) -> f64 {
    v.to_f64()
}
fn half_down(v: f64) -> Scalar {
    Scalar::F64(v).cast(Dtype::F16)
}
fn bhalf_up(v: bf16) -> f64 {
    v.to_f64()
}
fn bhalf_down(v: f64) -> Scalar {
    Scalar::F64(v).cast(Dtype::Bf16)
}

/// The neighbour of a 16-bit float in its own format, as bits: its value and bits, and those of the number that says the
/// direction.
fn half_neighbour(from: (f32, u16), to: (f32, u16)) -> u16 {
    match from.0.partial_cmp(&to.0) {
        None => 0x7fff,
        Some(Ordering::Equal) => to.1,
        Some(_) if from.0 == 0.0 => 1 | to.1 & 0x8000,
        Some(order) if (order == Ordering::Less) == (from.0 > 0.0) => from.1 + 1,
        Some(_) => from.1 - 1,
    }
}

impl Visitor for Oracle<'_> {
    type Out = Option<Scalar>;

    numbers! { num NumOp, num_fn NumFn }
    class! { num_test NumTest:
        Bool |v: bool| Wrapping(u8::from(v)), Scalar::Bool;
        I8 Wrapping, Scalar::Bool; I16 Wrapping, Scalar::Bool; I32 Wrapping, Scalar::Bool; I64 Wrapping, Scalar::Bool;
        U8 Wrapping, Scalar::Bool; U16 Wrapping, Scalar::Bool; U32 Wrapping, Scalar::Bool; U64 Wrapping, Scalar::Bool;
        F16 half_up, Scalar::Bool; Bf16 bhalf_up, Scalar::Bool; F32 |v| v, Scalar::Bool; F64 |v| v, Scalar::Bool;
        C64 |v| v, Scalar::Bool; C128 |v| v, Scalar::Bool;
    }
    fields! { field FieldOp, analytic AnalyticOp }
    class! { part PartOp:
        I8 Wrapping, |v: Wrapping<i8>| Scalar::I8(v.0); I16 Wrapping, |v: Wrapping<i16>| Scalar::I16(v.0);
        I32 Wrapping, |v: Wrapping<i32>| Scalar::I32(v.0); I64 Wrapping, |v: Wrapping<i64>| Scalar::I64(v.0);
        U8 Wrapping, |v: Wrapping<u8>| Scalar::U8(v.0); U16 Wrapping, |v: Wrapping<u16>| Scalar::U16(v.0);
        U32 Wrapping, |v: Wrapping<u32>| Scalar::U32(v.0); U64 Wrapping, |v: Wrapping<u64>| Scalar::U64(v.0);
        F16 half_up, half_down; Bf16 bhalf_up, bhalf_down;
        F32 |v| v, Scalar::F32; F64 |v| v, Scalar::F64; C64 |v| v, Scalar::F32; C128 |v| v, Scalar::F64;
    }
    class! { real_fn RealFn:
        I8 Wrapping, |v: Wrapping<i8>| Scalar::I8(v.0); I16 Wrapping, |v: Wrapping<i16>| Scalar::I16(v.0);
        I32 Wrapping, |v: Wrapping<i32>| Scalar::I32(v.0); I64 Wrapping, |v: Wrapping<i64>| Scalar::I64(v.0);
        U8 Wrapping, |v: Wrapping<u8>| Scalar::U8(v.0); U16 Wrapping, |v: Wrapping<u16>| Scalar::U16(v.0);
        U32 Wrapping, |v: Wrapping<u32>| Scalar::U32(v.0); U64 Wrapping, |v: Wrapping<u64>| Scalar::U64(v.0);
        F16 half_up, half_down; Bf16 bhalf_up, bhalf_down;
        F32 |v| v, Scalar::F32; F64 |v| v, Scalar::F64;
    }
    class! { real RealOp:
        Bool |v: bool| Wrapping(u8::from(v)), |v: Wrapping<u8>| Scalar::Bool(v.0 != 0);
        I8 Wrapping, |v: Wrapping<i8>| Scalar::I8(v.0); I16 Wrapping, |v: Wrapping<i16>| Scalar::I16(v.0);
        I32 Wrapping, |v: Wrapping<i32>| Scalar::I32(v.0); I64 Wrapping, |v: Wrapping<i64>| Scalar::I64(v.0);
        U8 Wrapping, |v: Wrapping<u8>| Scalar::U8(v.0); U16 Wrapping, |v: Wrapping<u16>| Scalar::U16(v.0);
        U32 Wrapping, |v: Wrapping<u32>| Scalar::U32(v.0); U64 Wrapping, |v: Wrapping<u64>| Scalar::U64(v.0);
        F16 half_up, half_down; Bf16 bhalf_up, bhalf_down;
        F32 |v| v, Scalar::F32; F64 |v| v, Scalar::F64;
    }
    class! { real_test RealTest:
        Bool |v: bool| Wrapping(u8::from(v)), Scalar::Bool;
        I8 Wrapping, Scalar::Bool; I16 Wrapping, Scalar::Bool; I32 Wrapping, Scalar::Bool; I64 Wrapping, Scalar::Bool;
        U8 Wrapping, Scalar::Bool; U16 Wrapping, Scalar::Bool; U32 Wrapping, Scalar::Bool; U64 Wrapping, Scalar::Bool;
        F16 half_up, Scalar::Bool; Bf16 bhalf_up, Scalar::Bool; F32 |v| v, Scalar::Bool; F64 |v| v, Scalar::Bool;
    }
    class! { float FloatOp:
        F16 half_up, half_down; Bf16 bhalf_up, bhalf_down;
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
