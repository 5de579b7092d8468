//! Operands of statements.

use crate::form::tree::{Value, Variable};
use crate::promotion::Weak;
use crate::scalar::Scalar;

/// An operand: a value, what a variable holds, or a number. Numbers of Rust are weak, as beside arrays: they take the
/// dtype of what they stand beside.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Operand {
    /// A value.
    Value(Value),
    /// What a variable holds.
    Variable(Variable),
    /// A number without a dtype of its own.
    Weak(Weak),
    /// A number of a dtype.
    Scalar(Scalar),
}

macro_rules! operands {
    ($($variant:ident $ty:ty;)*) => {$(
        impl From<$ty> for Operand {
            fn from(operand: $ty) -> Self {
                Self::$variant(operand.into())
            }
        }
    )*};
}
operands! {
    Value Value; Variable Variable; Weak Weak; Scalar Scalar;
    Weak bool; Weak i32; Weak i64; Weak u32; Weak u64; Weak usize; Weak f32; Weak f64;
}
