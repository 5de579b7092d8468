//! Values of a form that is being built, as numbers of the algebra: an operation's definition, applied to them, adds what it says.
//!
//! What a level has no instructions for, and the elementary functions, have no value: who asks for a step that needs one is
//! told so, and lets it be done by its function.

use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

use stridewise_core::ops::{
    Alg, Analytic, AnalyticOp, BitsOp, Field, FieldOp, Float, FloatOp, FloatTest, Int, IntOp, NumFn, NumOp,
    NumTest, PartOp, Parts, Real, RealFn, RealOp, RealTest, Visitor,
};
use stridewise_core::{Dtype, Op};
use stridewise_native::{Builder, Kind, Value};

/// A number, or a truth value, that is being traced.
#[derive(Clone, Copy)]
struct Traced<'b> {
    builder: &'b RefCell<Builder>,
    /// What it is computed as, where it has no value, too.
    kind: Kind,
    value: Option<Value>,
}

impl<'b> Traced<'b> {
    fn with(self, value: impl FnOnce(&mut Builder) -> Option<Value>) -> Self {
        let value = value(&mut self.builder.borrow_mut());
        Self { value, ..self }
    }
    fn one(self, f: impl FnOnce(&mut Builder, Value) -> Option<Value>) -> Self {
        self.with(|builder| f(builder, self.value?))
    }
    fn two(self, y: Self, f: impl FnOnce(&mut Builder, Value, Value) -> Option<Value>) -> Self {
        self.with(|builder| f(builder, self.value?, y.value?))
    }
    /// A test.
    fn test(self, y: Self, f: impl FnOnce(&mut Builder, Value, Value) -> Option<Value>) -> Self {
        Self { kind: Kind::Mask(0), ..self.two(y, f) }
    }
    fn truth(self, truth: bool) -> Self {
        Self { kind: Kind::Mask(0), ..self.with(|builder| builder.truth(truth)) }
    }
    fn none(self) -> Self {
        Self { value: None, ..self }
    }
    fn is_mask(self) -> bool {
        self.kind.is_mask()
    }
}

macro_rules! operators {
    ($($Trait:ident $method:ident: $f:expr;)*) => {$(
        impl $Trait for Traced<'_> {
            type Output = Self;
            fn $method(self, y: Self) -> Self {
                self.two(y, $f)
            }
        }
    )*};
}
operators! {
    Add add: Builder::add;
    Sub sub: Builder::subtract;
    Mul mul: Builder::multiply;
    Div div: Builder::divide;
    BitAnd bitand: Builder::and;
    BitOr bitor: Builder::or;
    BitXor bitxor: Builder::xor;
}
impl Neg for Traced<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        self.one(Builder::negative)
    }
}
impl Not for Traced<'_> {
    type Output = Self;
    fn not(self) -> Self {
        self.one(Builder::not)
    }
}

impl Alg for Traced<'_> {
    type Mask = Self;
    fn lit(self, c: f64) -> Self {
        if self.is_mask() { self.truth(c != 0.0) } else { self.with(|builder| builder.number(self.kind, c)) }
    }
    fn equal(self, other: Self) -> Self {
        self.test(other, Builder::equal)
    }
    fn select(mask: Self, yes: Self, no: Self) -> Self {
        yes.two(no, |builder, yes, no| builder.select(mask.value?, yes, no))
    }
    fn is_finite(self) -> Self {
        if self.kind.is_float() { self.abs().less(self.lit(f64::INFINITY)) } else { self.truth(true) }
    }
    fn is_infinite(self) -> Self {
        if self.kind.is_float() { self.abs().equal(self.lit(f64::INFINITY)) } else { self.truth(false) }
    }
    fn sign(self) -> Self {
        let zero = self.lit(0.0);
        // Of floats, zeros of both signs, and NaN.
        let rest = if self.kind.is_float() { Self::select(self.equal(zero), zero, self) } else { zero };
        let signed = self.kind.is_float() || self.kind.is_signed();
        let negative = if signed { Self::select(self.less(zero), self.lit(-1.0), rest) } else { rest };
        Self::select(zero.less(self), self.lit(1.0), negative)
    }
    fn conj(self) -> Self {
        self
    }
    fn round(self) -> Self {
        self.one(Builder::nearest)
    }
    fn pow(self, _: Self) -> Self {
        self.none()
    }
}
impl Parts for Traced<'_> {
    type Part = Self;
    fn abs(self) -> Self {
        self.one(Builder::magnitude)
    }
    fn real(self) -> Self {
        self
    }
    fn imag(self) -> Self {
        self.lit(0.0)
    }
}
impl Field for Traced<'_> {}
impl Real for Traced<'_> {
    fn less(self, other: Self) -> Self {
        if self.is_mask() { !self & other } else { self.test(other, Builder::less) }
    }
    fn less_equal(self, other: Self) -> Self {
        if self.is_mask() { !self | other } else { self.test(other, Builder::less_equal) }
    }
    fn minimum(self, other: Self) -> Self {
        if self.is_mask() { self & other } else { self.two(other, Builder::minimum) }
    }
    fn maximum(self, other: Self) -> Self {
        if self.is_mask() { self | other } else { self.two(other, Builder::maximum) }
    }
    fn floor(self) -> Self {
        self.one(Builder::floor)
    }
    fn ceil(self) -> Self {
        self.one(Builder::ceil)
    }
    fn trunc(self) -> Self {
        self.one(Builder::trunc)
    }
    fn floor_divide(self, _: Self) -> Self {
        self.none()
    }
    fn remainder(self, _: Self) -> Self {
        self.none()
    }
}
impl Int for Traced<'_> {
    fn shift_left(self, count: Self) -> Self {
        self.two(count, Builder::left)
    }
    fn shift_right(self, count: Self) -> Self {
        self.two(count, Builder::right)
    }
}

macro_rules! no_values {
    ($($method:ident($($arg:ident),*))*) => {
        $(fn $method(self, $($arg: Self),*) -> Self {
            $(let _ = $arg;)*
            self.none()
        })*
    };
}
impl Analytic for Traced<'_> {
    fn sqrt(self) -> Self {
        self.one(Builder::root)
    }
    no_values! {
        exp() exp2() expm1() log() log1p() log2() log10() sin() cos() tan() asin() acos() atan() sinh() cosh() tanh() asinh() acosh()
        atanh()
    }
}
impl Float for Traced<'_> {
    fn copysign(self, sign: Self) -> Self {
        self.two(sign, Builder::with_sign)
    }
    no_values! {
        mul_add(b, c) atan2(x) hypot(other) logaddexp(other) cbrt() rsqrt() erf() sigmoid() nextafter(other)
    }
}

/// Applies an operation to values.
struct Apply<'a, 'b>(&'a [Traced<'b>]);

macro_rules! visit {
    ($($class:ident $Trait:ident)*) => {
        $(fn $class<O: $Trait<K>, const K: usize>(self) -> Self::Out {
            Some(O::f(<[Traced<'b>; K]>::try_from(self.0).ok()?))
        })*
    };
}
impl<'b> Visitor for Apply<'_, 'b> {
    type Out = Option<Traced<'b>>;
    visit! {
        num NumOp num_fn NumFn num_test NumTest field FieldOp part PartOp analytic AnalyticOp real RealOp real_fn RealFn
        real_test RealTest float FloatOp float_test FloatTest bits BitsOp int IntOp
    }
    // What is done by `step`, on elements as they lie.
    fn cast(self) -> Self::Out {
        None
    }
    fn copy(self) -> Self::Out {
        None
    }
    fn select(self) -> Self::Out {
        None
    }
}

/// What elements of a dtype are computed as; `None` of complex numbers.
fn kind(dtype: Dtype) -> Option<Kind> {
    Some(match dtype {
        Dtype::Bool => Kind::Mask(0),
        Dtype::I8 => Kind::I8,
        Dtype::I16 => Kind::I16,
        Dtype::I32 => Kind::I32,
        Dtype::I64 => Kind::I64,
        Dtype::U8 => Kind::U8,
        Dtype::U16 => Kind::U16,
        Dtype::U32 => Kind::U32,
        Dtype::U64 => Kind::U64,
        Dtype::F16 | Dtype::Bf16 | Dtype::F32 => Kind::F32,
        Dtype::F64 => Kind::F64,
        Dtype::C64 | Dtype::C128 => return None,
    })
}

/// What elements of a dtype are in memory.
pub(crate) fn stored(dtype: Dtype) -> Option<Kind> {
    match dtype {
        Dtype::Bool => Some(Kind::U8),
        Dtype::F16 | Dtype::Bf16 => Some(Kind::U16),
        other => kind(other),
    }
}

/// What is computed with, of elements as they lie in memory or came out of a step: 16-bit floats are wider, bytes truth values.
fn opened(builder: &mut Builder, dtype: Dtype, value: Value) -> Option<Value> {
    match dtype {
        Dtype::Bool if !value.kind().is_mask() => builder.test(value),
        Dtype::F16 => builder.from_half(value),
        Dtype::Bf16 => builder.from_bfloat(value),
        _ => Some(value),
    }
}

/// The reverse of [`opened`], but that truth values stay what they are: what is rounded to a narrower float is rounded here.
fn closed(builder: &mut Builder, dtype: Dtype, value: Value) -> Option<Value> {
    match dtype {
        Dtype::F16 => builder.to_half(value),
        Dtype::Bf16 => builder.to_bfloat(value),
        _ => Some(value),
    }
}

/// Adds a step of a program on elements; `None` where the level has not what it needs.
pub(crate) fn step(
    builder: &RefCell<Builder>,
    (op, dtype, out): (Op, Dtype, Dtype),
    operands: &[Value],
) -> Option<Value> {
    match (op, operands) {
        (Op::Copy, &[x]) => return Some(x),
        (Op::Where, &[condition, yes, no]) => {
            let builder = &mut builder.borrow_mut();
            stored(dtype)?;
            let mask = opened(builder, Dtype::Bool, condition)?;
            if yes.kind().is_mask() && no.kind().is_mask() {
                return builder.select(mask, yes, no);
            }
            // Bytes are moved as they are.
            let mut byte = |x: Value| if x.kind().is_mask() { builder.bytes(x) } else { Some(x) };
            let (yes, no) = (byte(yes)?, byte(no)?);
            return builder.select(mask, yes, no);
        }
        (Op::Cast, &[x]) => return cast(&mut builder.borrow_mut(), dtype, out, x),
        // Its definition is long, and its function as quick.
        (Op::Philox, _) => return None,
        _ => {}
    }
    if !op.allows(dtype) {
        return None;
    }
    let computed = kind(dtype)?;
    let mut traced = smallvec::SmallVec::<[Traced<'_>; 3]>::new();
    for &operand in operands {
        let value = opened(&mut builder.borrow_mut(), dtype, operand)?;
        traced.push(Traced { builder, kind: computed, value: Some(value) });
    }
    let value = op.visit(Apply(&traced))?.value?;
    closed(&mut builder.borrow_mut(), out, value)
}

/// A conversion; those that have to round to a 16-bit float what no `float32` has are left out.
fn cast(builder: &mut Builder, from: Dtype, to: Dtype, x: Value) -> Option<Value> {
    let half = |dtype| matches!(dtype, Dtype::F16 | Dtype::Bf16);
    if half(to) && matches!(from, Dtype::I32 | Dtype::I64 | Dtype::U32 | Dtype::U64 | Dtype::F64) {
        return None;
    }
    let (x, kind) = (opened(builder, from, x)?, kind(to)?);
    let x = builder.convert(x, kind)?;
    closed(builder, to, x)
}
