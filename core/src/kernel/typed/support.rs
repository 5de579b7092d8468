//! What operators, literals, declarations and parameters become. Functions, so that types are inferred through them.

use std::panic::Location;

use super::{ConstantArray, Context, Expr, Global, Indices, Item, Local, Private, Var};
use crate::array::{Array, BitsElement, IntElement, NumElement, OrderedElement, RealElement};
use crate::dtype::{DtypeKind, Element};
use crate::error::Result;
use crate::form::{Kernel, KernelBuilder, Operand};
use crate::form::{Object, Value};
use crate::kernel::Argument;
use crate::ops::Op;
use crate::scalar::Scalar;

/// Builds a kernel.
///
/// # Errors
/// What the builder reports, and the verifier.
pub fn build<const D: usize>(
    name: &str,
    body: impl for<'k> FnOnce(&'k Context, Item<'k, D>),
) -> Result<Kernel> {
    let context = Context::new(KernelBuilder::new(name, D)?);
    body(&context, Item::new(&context));
    context.finish()
}

/// An array parameter.
#[track_caller]
#[must_use]
pub fn global<'k, T: Element, const N: usize>(
    context: &'k Context,
    name: &str,
    writable: bool,
) -> Global<'k, T, N> {
    let step = |k: &mut KernelBuilder| k.global(name, T::DTYPE, N, writable);
    Global::of(context, context.step(Location::caller(), Object::of_number(0), step))
}
/// A parameter of local memory.
#[track_caller]
#[must_use]
pub fn local<'k, T: Element, const N: usize>(context: &'k Context, name: &str) -> Local<'k, T, N> {
    let step = |k: &mut KernelBuilder| k.local_argument(name, T::DTYPE, N);
    Local::of(context, context.step(Location::caller(), Object::of_number(0), step))
}
/// A scalar parameter.
#[track_caller]
#[must_use]
pub fn scalar<'k, T: Element>(context: &'k Context, name: &str) -> Expr<'k, T> {
    context.define(|k| k.scalar(name, T::DTYPE))
}
/// An array as the argument of a launch.
#[must_use]
pub fn array_argument<T: Element>(array: &Array<T>) -> Argument<'_> {
    array.into()
}
/// A scalar as the argument of a launch.
#[must_use]
pub fn scalar_argument<T: Element>(value: T) -> Argument<'static> {
    Argument::Scalar(value.to_scalar())
}

/// A literal.
#[track_caller]
#[must_use]
pub fn lit<T: Element>(context: &Context, value: T) -> Expr<'_, T> {
    constant(context, value.to_scalar())
}

#[track_caller]
fn constant<T: Element>(context: &Context, scalar: Scalar) -> Expr<'_, T> {
    let expr = context.define(|k| k.get(Operand::Scalar(scalar)));
    context.0.borrow_mut().constants.push((expr.value, scalar));
    expr
}

/// Constants of the program around a kernel that it takes in: `usize` and `isize` as `i64`, elements as they are.
pub trait Capture {
    /// The type in the kernel.
    type Element: Element;
    /// The value in the kernel.
    fn element(self) -> Self::Element;
}
impl<T: Element> Capture for T {
    type Element = T;
    fn element(self) -> T {
        self
    }
}
impl Capture for usize {
    type Element = i64;
    fn element(self) -> i64 {
        i64::try_from(self).unwrap_or(i64::MAX)
    }
}
impl Capture for isize {
    type Element = i64;
    fn element(self) -> i64 {
        self as i64
    }
}
/// A constant of the program around the kernel.
#[track_caller]
#[must_use]
pub fn capture<C: Capture>(context: &Context, value: C) -> Expr<'_, C::Element> {
    lit(context, value.element())
}

/// An element of a constant array of the program around the kernel.
#[track_caller]
#[must_use]
pub fn load_constant<'k, C: ConstantArray<N>, const N: usize>(
    context: &'k Context,
    name: &str,
    array: &C,
    indices: impl Indices<N>,
) -> Expr<'k, C::Element> {
    context.define(|k| {
        let object = k.shared_constant(name, &array.shape(), &array.elements())?;
        k.load(object, indices.values())
    })
}

/// An array of an item's own, of equal elements.
#[track_caller]
#[must_use]
pub fn private_of<'k, T: Element, const N: usize>(
    context: &'k Context,
    name: &str,
    fill: Expr<'k, T>,
    shape: [usize; N],
) -> Private<'k, T, N> {
    let step = |k: &mut KernelBuilder| k.private(name, T::DTYPE, &shape);
    let array = Private::of(context, context.step(Location::caller(), Object::of_number(0), step));
    // It begins as zeros, but in a loop it begins once only.
    let zero = Scalar::I8(0).cast(T::DTYPE);
    if context.is_in_loop() || context.constant(fill.value).is_none_or(|x| x.to_bytes() != zero.to_bytes()) {
        context.perform(|k| {
            let mut indices = Vec::with_capacity(N);
            for &extent in &shape {
                indices.push(k.for_(0, Operand::from(extent), 1)?);
            }
            k.store(array.object, indices, fill.value)?;
            shape.iter().try_for_each(|_| k.end())
        });
    }
    array
}
/// An array of an item's own, of elements that are listed.
#[track_caller]
#[must_use]
pub fn private_list<'k, T: Element>(
    context: &'k Context,
    name: &str,
    elements: &[Expr<'k, T>],
) -> Private<'k, T, 1> {
    let step = |k: &mut KernelBuilder| k.private(name, T::DTYPE, &[elements.len()]);
    let array = Private::of(context, context.step(Location::caller(), Object::of_number(0), step));
    for (number, element) in elements.iter().enumerate() {
        context.perform(|k| k.store(array.object, [Operand::from(number)], element.value));
    }
    array
}

macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident $Class:ident $Op:ident -> $Out:ty;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        #[must_use]
        pub fn $name<'k, T: $Class>(x: Expr<'k, T>, y: Expr<'k, T>) -> Expr<'k, $Out> {
            x.context.define(|k| k.binary(Op::$Op, x.value, y.value))
        }
    )*};
}
operators! {
    /// `x + y`.
    add NumElement Add -> T;
    /// `x - y`.
    sub NumElement Subtract -> T;
    /// `x * y`.
    mul NumElement Multiply -> T;
    /// `x & y`.
    bitand BitsElement BitwiseAnd -> T;
    /// `x | y`.
    bitor BitsElement BitwiseOr -> T;
    /// `x ^ y`.
    bitxor BitsElement BitwiseXor -> T;
    /// `x == y`.
    eq Element Equal -> bool;
    /// `x != y`.
    ne Element NotEqual -> bool;
    /// `x < y`.
    lt OrderedElement Less -> bool;
    /// `x <= y`.
    le OrderedElement LessEqual -> bool;
    /// `x > y`.
    gt OrderedElement Greater -> bool;
    /// `x >= y`.
    ge OrderedElement GreaterEqual -> bool;
}

/// `x / y`: of integers rounded towards 0, as in Rust; what is divided by 0 is some number.
#[track_caller]
#[must_use]
pub fn div<'k, T: NumElement>(x: Expr<'k, T>, y: Expr<'k, T>) -> Expr<'k, T> {
    x.context.define(|k| match T::DTYPE.kind() {
        DtypeKind::Signed => quotient(k, x.value, y.value),
        DtypeKind::Unsigned => k.binary(Op::FloorDivide, x.value, y.value),
        _ => k.binary(Op::Divide, x.value, y.value),
    })
}

/// `x % y`, with the sign of `x`, as in Rust.
#[track_caller]
#[must_use]
pub fn rem<'k, T: RealElement>(x: Expr<'k, T>, y: Expr<'k, T>) -> Expr<'k, T> {
    x.context.define(|k| match T::DTYPE.kind() {
        DtypeKind::Signed => {
            let quotient = quotient(k, x.value, y.value)?;
            let whole = k.binary(Op::Multiply, quotient, y.value)?;
            k.binary(Op::Subtract, x.value, whole)
        }
        DtypeKind::Float => {
            // Of positive numbers it is exact.
            let (size, divisor) = (k.unary(Op::Abs, x.value)?, k.unary(Op::Abs, y.value)?);
            let remainder = k.binary(Op::Remainder, size, divisor)?;
            k.binary(Op::Copysign, remainder, x.value)
        }
        _ => k.binary(Op::Remainder, x.value, y.value),
    })
}

/// The quotient of signed integers rounded towards 0: that rounded to −∞, and one more where the exact one is negative and no
/// integer.
fn quotient(k: &mut KernelBuilder, x: Value, y: Value) -> Result<Value> {
    let below = k.binary(Op::FloorDivide, x, y)?;
    let whole = k.binary(Op::Multiply, below, y)?;
    let rest = k.binary(Op::NotEqual, whole, x)?;
    let signs = k.binary(Op::BitwiseXor, x, y)?;
    let negative = k.binary(Op::Less, signs, 0)?;
    let more = k.binary(Op::BitwiseAnd, rest, negative)?;
    let dtype = k.dtype(x)?;
    let more = k.cast(more, dtype)?;
    k.binary(Op::Add, below, more)
}

/// `x << y`.
#[track_caller]
#[must_use]
pub fn shl<'k, T: IntElement, S: IntElement>(x: Expr<'k, T>, y: Expr<'k, S>) -> Expr<'k, T> {
    x.context.define(|k| {
        let count = k.cast(y.value, T::DTYPE)?;
        k.binary(Op::BitwiseLeftShift, x.value, count)
    })
}
/// `x >> y`.
#[track_caller]
#[must_use]
pub fn shr<'k, T: IntElement, S: IntElement>(x: Expr<'k, T>, y: Expr<'k, S>) -> Expr<'k, T> {
    x.context.define(|k| {
        let count = k.cast(y.value, T::DTYPE)?;
        k.binary(Op::BitwiseRightShift, x.value, count)
    })
}
/// `-x`.
#[track_caller]
#[must_use]
pub fn neg<T: NumElement>(x: Expr<'_, T>) -> Expr<'_, T> {
    x.context.define(|k| k.unary(Op::Negative, x.value))
}
/// `!x`.
#[track_caller]
#[must_use]
pub fn not<T: BitsElement>(x: Expr<'_, T>) -> Expr<'_, T> {
    x.context.define(|k| k.unary(Op::BitwiseInvert, x.value))
}
/// `x as U`.
#[track_caller]
#[must_use]
pub fn cast<T: Element, U: Element>(x: Expr<'_, T>) -> Expr<'_, U> {
    if let Some(known) = x.context.constant(x.value) {
        return constant(x.context, known.cast(U::DTYPE));
    }
    x.context.define(|k| k.cast(x.value, U::DTYPE))
}

/// A variable that a short-circuit `&&` or `||` has its result in: what the first operand is.
#[track_caller]
#[must_use]
pub fn first<'k>(context: &'k Context, x: Expr<'k, bool>) -> Var<'k, bool> {
    context.variable("condition", x)
}
