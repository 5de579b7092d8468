//! Rust's operators.

use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Mul,
    MulAssign, Neg, Not, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
};

use super::{Array, ArrayOrValue, BitsElement, FieldElement, IntElement, NumElement, demand, elementwise};
use crate::array::ArrayOrScalar;
use crate::dtype::Element;
use crate::error::Result;
use crate::lazy::immediate;
use crate::ops::Op;
use crate::runtime::Event;

impl<T: Element> Array<T> {
    /// `self ∘ other`, of this element type.
    pub(super) fn combine<'a>(&'a self, op: Op, other: impl Into<ArrayOrScalar<'a>>) -> Result<Self> {
        combined(op, self, other)
    }

    /// `self = self ∘ other`, in place.
    pub(super) fn update<'a>(&'a self, op: Op, other: impl Into<ArrayOrScalar<'a>>) -> Result<Event> {
        self.inner.write_elementwise(op, &[self.into(), other.into()], &[])
    }
}

/// `left ∘ right`.
fn combined<'a, T: Element>(
    op: Op,
    left: impl Into<ArrayOrScalar<'a>>,
    right: impl Into<ArrayOrScalar<'a>>,
) -> Result<Array<T>> {
    elementwise(op, &[left.into(), right.into()])
}

/// `left ∘ right`. A small result is written into an operand that is given away, where nobody else has its memory.
fn give_left<'a, T: Element>(
    op: Op,
    mut left: Array<T>,
    right: impl Into<ArrayOrScalar<'a>>,
) -> Result<Array<T>> {
    let right = right.into();
    match immediate::reuse(op, [None, Some(&right)], &mut left.inner) {
        true => Ok(left),
        false => combined(op, &left, right),
    }
}

/// As [`give_left`], of the right operand.
fn give_right<'a, T: Element>(
    op: Op,
    left: impl Into<ArrayOrScalar<'a>>,
    mut right: Array<T>,
) -> Result<Array<T>> {
    let left = left.into();
    match immediate::reuse(op, [Some(&left), None], &mut right.inner) {
        true => Ok(right),
        false => combined(op, left, &right),
    }
}

/// As [`give_left`], of both operands.
fn give_both<T: Element>(op: Op, mut left: Array<T>, right: Array<T>) -> Result<Array<T>> {
    match immediate::reuse(op, [None, Some(&(&right).into())], &mut left.inner) {
        true => Ok(left),
        false => give_right(op, &left, right),
    }
}

/// One line per binary operator; everything about it follows.
macro_rules! binary_operators {
    ($($(#[$doc:meta])* $Class:ident $Trait:ident $name:ident $try_name:ident $into_name:ident
        $AssignTrait:ident $assign_name:ident $try_assign_name:ident $Op:ident $symbol:literal;)*) => {
        $(
            impl<T: $Class> Array<T> {
                #[doc = concat!("`self ", $symbol, " other`; what the operator `", $symbol, "` does.")]
                $(#[$doc])*
                ///
                /// # Errors
                /// [`Error::Shape`](crate::Error::Shape) where the shapes do not broadcast,
                /// [`Error::ExecutionPlacement`](crate::Error::ExecutionPlacement) where the queues differ, and what
                /// running recorded work reports.
                pub fn $try_name<'a>(&'a self, other: impl Into<ArrayOrValue<'a, T>>) -> Result<Self> {
                    self.combine(Op::$Op, other.into())
                }

                #[doc = concat!("`self ", $symbol, " other`, written into `out`, which may overlap the operands.")]
                ///
                /// # Errors
                #[doc = concat!("As for [`", stringify!($try_name), "`](Self::", stringify!($try_name), ");")]
                /// [`Error::Shape`](crate::Error::Shape) where `out` has another shape,
                /// [`Error::Dtype`](crate::Error::Dtype) where its dtype cannot hold the result,
                /// [`Error::Borrow`](crate::Error::Borrow) where it is read-only.
                pub fn $into_name<'a, U: Element>(
                    &'a self,
                    other: impl Into<ArrayOrValue<'a, T>>,
                    out: &mut Array<U>,
                ) -> Result<Event> {
                    out.inner.write_elementwise(Op::$Op, &[self.into(), other.into().into()], &[])
                }

                #[doc = concat!("`self ", $symbol, "= other`, in place; what the operator `", $symbol, "=` does.")]
                ///
                /// # Errors
                #[doc = concat!("As for [`", stringify!($try_name), "`](Self::", stringify!($try_name), ");")]
                /// [`Error::Shape`](crate::Error::Shape) where `other` does not broadcast to this shape,
                /// [`Error::Borrow`](crate::Error::Borrow) where this array is read-only.
                pub fn $try_assign_name<'a>(&'a mut self, other: impl Into<ArrayOrValue<'a, T>>) -> Result<Event> {
                    self.update(Op::$Op, other.into())
                }
            }

            binary_operators!(@forms $Class $Trait $name $Op
                [Array<T>: give_both give_left, &Array<T>: give_right combined]);

            impl<T: $Class> $AssignTrait<&Array<T>> for Array<T> {
                #[track_caller]
                fn $assign_name(&mut self, other: &Array<T>) {
                    demand(self.update(Op::$Op, other).map(drop));
                }
            }
            impl<T: $Class> $AssignTrait<Array<T>> for Array<T> {
                #[track_caller]
                fn $assign_name(&mut self, other: Array<T>) {
                    demand(self.update(Op::$Op, &other).map(drop));
                }
            }
            impl<T: $Class> $AssignTrait<T> for Array<T> {
                #[track_caller]
                fn $assign_name(&mut self, other: T) {
                    demand(self.update(Op::$Op, other.to_scalar()).map(drop));
                }
            }
        )*
    };
    (@forms $Class:ident $Trait:ident $name:ident $Op:ident
        [$($Left:ty: $with_owned:ident $with_other:ident),*]) => {$(
        impl<T: $Class> $Trait<Array<T>> for $Left {
            type Output = Array<T>;
            #[track_caller]
            fn $name(self, other: Array<T>) -> Array<T> {
                demand($with_owned(Op::$Op, self, other))
            }
        }
        impl<T: $Class> $Trait<&Array<T>> for $Left {
            type Output = Array<T>;
            #[track_caller]
            fn $name(self, other: &Array<T>) -> Array<T> {
                demand($with_other(Op::$Op, self, other))
            }
        }
        impl<T: $Class> $Trait<T> for $Left {
            type Output = Array<T>;
            #[track_caller]
            fn $name(self, other: T) -> Array<T> {
                demand($with_other(Op::$Op, self, other.to_scalar()))
            }
        }
    )*};
}

binary_operators! {
    /// Integers wrap.
    NumElement Add add try_add add_into AddAssign add_assign try_add_assign Add "+";
    /// Integers wrap.
    NumElement Sub sub try_sub sub_into SubAssign sub_assign try_sub_assign Subtract "-";
    /// Integers wrap.
    NumElement Mul mul try_mul mul_into MulAssign mul_assign try_mul_assign Multiply "*";
    /// Floating point only; for the quotient of integers convert them first, with [`astype`](Array::astype).
    FieldElement Div div try_div div_into DivAssign div_assign try_div_assign Divide "/";
    /// On `bool` the logical operation.
    BitsElement BitAnd bitand try_bitand bitand_into BitAndAssign bitand_assign try_bitand_assign BitwiseAnd "&";
    /// On `bool` the logical operation.
    BitsElement BitOr bitor try_bitor bitor_into BitOrAssign bitor_assign try_bitor_assign BitwiseOr "|";
    /// 0 where the count is negative or at least the width.
    IntElement Shl shl try_shl shl_into ShlAssign shl_assign try_shl_assign BitwiseLeftShift "<<";
    /// Copies of the sign come in; all of the result where the count is negative or at least the width.
    IntElement Shr shr try_shr shr_into ShrAssign shr_assign try_shr_assign BitwiseRightShift ">>";
    /// On `bool` the logical operation.
    BitsElement BitXor bitxor try_bitxor bitxor_into BitXorAssign bitxor_assign try_bitxor_assign BitwiseXor "^";
}

/// A value on the left: Rust wants each type by name.
macro_rules! reflected {
    ($($variant:ident, $ty:ty, $name:literal, $kind:ident, $code:literal;)*) => {
        $(reflected!(@ $kind $ty);)*
    };
    (@ Bool $ty:ty) => { reflected!(@bits $ty); };
    (@ Signed $ty:ty) => { reflected!(@num $ty); reflected!(@bits $ty); reflected!(@int $ty); };
    (@ Unsigned $ty:ty) => { reflected!(@num $ty); reflected!(@bits $ty); reflected!(@int $ty); };
    (@ Float $ty:ty) => { reflected!(@num $ty); reflected!(@field $ty); };
    (@ Complex $ty:ty) => { reflected!(@num $ty); reflected!(@field $ty); };
    (@num $ty:ty) => { reflected!(@forms $ty [Add add Add] [Sub sub Subtract] [Mul mul Multiply]); };
    (@field $ty:ty) => { reflected!(@forms $ty [Div div Divide]); };
    (@bits $ty:ty) => {
        reflected!(@forms $ty [BitAnd bitand BitwiseAnd] [BitOr bitor BitwiseOr] [BitXor bitxor BitwiseXor]);
    };
    (@int $ty:ty) => { reflected!(@forms $ty [Shl shl BitwiseLeftShift] [Shr shr BitwiseRightShift]); };
    (@forms $ty:ty $([$Trait:ident $name:ident $Op:ident])*) => {$(
        impl $Trait<&Array<$ty>> for $ty {
            type Output = Array<$ty>;
            #[track_caller]
            fn $name(self, other: &Array<$ty>) -> Array<$ty> {
                demand(combined(Op::$Op, self.to_scalar(), other))
            }
        }
        impl $Trait<Array<$ty>> for $ty {
            type Output = Array<$ty>;
            #[track_caller]
            fn $name(self, other: Array<$ty>) -> Array<$ty> {
                demand(give_right(Op::$Op, self.to_scalar(), other))
            }
        }
    )*};
}
crate::for_each_dtype!(reflected);

macro_rules! unary_operators {
    ($($Class:ident $Trait:ident $name:ident $try_name:ident $Op:ident $text:literal;)*) => {$(
        impl<T: $Class> Array<T> {
            #[doc = $text]
            ///
            /// # Errors
            /// What running recorded work reports.
            pub fn $try_name(&self) -> Result<Self> {
                elementwise(Op::$Op, &[self.into()])
            }
        }
        impl<T: $Class> $Trait for Array<T> {
            type Output = Array<T>;
            #[track_caller]
            fn $name(mut self) -> Array<T> {
                match immediate::reuse(Op::$Op, [None], &mut self.inner) {
                    true => self,
                    false => demand(self.$try_name()),
                }
            }
        }
        impl<T: $Class> $Trait for &Array<T> {
            type Output = Array<T>;
            #[track_caller]
            fn $name(self) -> Array<T> {
                demand(self.$try_name())
            }
        }
    )*};
}

unary_operators! {
    NumElement Neg neg try_neg Negative "`-self`. Integers wrap.";
    BitsElement Not not try_not BitwiseInvert "`!self`: the bits inverted; on `bool` the logical operation.";
}
