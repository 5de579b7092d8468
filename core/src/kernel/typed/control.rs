//! Control flow and calls.

use std::marker::PhantomData;
use std::panic::Location;

use super::support::{add, lit, sub};
use super::{Context, Expr, Var};
use crate::array::IntElement;
use crate::dtype::Element;
use crate::form::{Coordinate, Expression, Operand, Statement, StatementKind, Value, Variable};
use crate::ops::Op;
use crate::scalar::Scalar;

/// Where a function is called.
#[derive(Clone, Copy)]
pub struct Site<'k> {
    context: &'k Context,
    at: &'static Location<'static>,
}

impl<'k> Site<'k> {
    /// The kernel that is built.
    #[must_use]
    pub const fn context(self) -> &'k Context {
        self.context
    }

    /// Opens the body of a function. Where it is open already, its body must not be built again: the kernel has the error.
    #[must_use]
    pub fn open(self, function: &str) -> bool {
        self.context.step(self.at, false, |k| k.call(function, None).map(|()| true))
    }
}

impl Context {
    /// This place in the source, for a call.
    #[track_caller]
    #[must_use]
    pub fn site(&self) -> Site<'_> {
        Site { context: self, at: Location::caller() }
    }

    /// A variable without a value.
    #[track_caller]
    #[must_use]
    pub fn declare<T: Element>(&self, name: &str) -> Var<'_, T> {
        let default = Variable::of_number(0);
        let variable = self.step(Location::caller(), default, |k| k.variable(name, T::DTYPE));
        Var { context: self, variable, ty: PhantomData }
    }

    /// A variable with a value.
    #[track_caller]
    #[must_use]
    pub fn variable<'k, T: Element>(&'k self, name: &str, value: Expr<'k, T>) -> Var<'k, T> {
        let variable = self.declare(name);
        variable.set(value);
        variable
    }

    /// Opens a branch.
    #[track_caller]
    pub fn if_(&self, condition: Expr<'_, bool>) {
        self.perform(|k| k.if_(condition.value));
    }
    /// Goes on with the other branch.
    #[track_caller]
    pub fn else_(&self) {
        self.perform(|k| k.else_());
    }
    /// Closes a branch or a call.
    #[track_caller]
    pub fn end(&self) {
        self.perform(|k| k.end());
    }

    /// Opens a loop; what follows computes its condition.
    #[track_caller]
    pub fn while_(&self) {
        self.0.borrow_mut().loops += 1;
        self.perform(|k| k.while_());
    }
    /// Goes on with the body of a loop.
    #[track_caller]
    pub fn do_(&self, condition: Expr<'_, bool>) {
        self.perform(|k| k.do_(condition.value));
    }
    /// Opens a loop over a range. As in Rust, a step of 0 is an error.
    #[track_caller]
    #[must_use]
    pub fn for_<'k, T: IntElement>(
        &'k self,
        start: Expr<'k, T>,
        end: Expr<'k, T>,
        step: Option<Expr<'k, T>>,
    ) -> Expr<'k, T> {
        let zero = Scalar::I8(0).cast(T::DTYPE);
        if let Some(step) = step
            && self.constant(step.value).is_none_or(|step| step.to_bytes() == zero.to_bytes())
            && !self.is_extent(step.value)
        {
            let goes = self.define(|k| k.binary(Op::NotEqual, step.value, zero));
            self.assert(goes, "the step of a loop is 0");
        }
        let step = step.map_or(Operand::from(1), |step| step.value.into());
        self.0.borrow_mut().loops += 1;
        self.define(|k| k.for_(start.value, end.value, step))
    }
    /// Whether a value of this block is an extent of the index space, which is above 0 where an item asks.
    fn is_extent(&self, value: Value) -> bool {
        self.step(Location::caller(), false, |k| {
            let defined = |statement: &Statement| match &statement.kind {
                StatementKind::Let { value: defined, expression } => {
                    let is_range =
                        matches!(expression, Expression::Index { coordinate: Coordinate::Range(_), .. });
                    is_range && *defined == value
                }
                _ => false,
            };
            Ok(k.form().body.iter().any(defined))
        })
    }

    /// Opens a loop over a range from its end to its start.
    #[track_caller]
    #[must_use]
    pub fn for_reversed<'k, T: IntElement>(&'k self, start: Expr<'k, T>, end: Expr<'k, T>) -> Expr<'k, T> {
        // The round counts forwards, which has no bound below 0.
        let round = self.for_(start, end, None);
        let last = self.define::<T>(|k| k.binary(Op::Subtract, end.value, 1));
        add(sub(last, round), start)
    }
    /// Opens a loop that only `break` and `return` leave.
    #[track_caller]
    pub fn loop_(&self) {
        self.while_();
        self.do_(lit(self, true));
    }
    /// Closes a loop.
    #[track_caller]
    pub fn end_loop(&self) {
        let mut state = self.0.borrow_mut();
        state.loops = state.loops.saturating_sub(1);
        drop(state);
        self.end();
    }
    /// Leaves the innermost loop.
    #[track_caller]
    pub fn break_(&self) {
        self.perform(|k| {
            k.break_();
            Ok(())
        });
    }
    /// Goes on with the next round.
    #[track_caller]
    pub fn continue_(&self) {
        self.perform(|k| {
            k.continue_();
            Ok(())
        });
    }
    /// Leaves the function, or the kernel.
    #[track_caller]
    pub fn return_(&self) {
        self.perform(|k| k.return_(None));
    }

    /// An error where a condition is false: the launch fails.
    #[track_caller]
    pub fn assert(&self, condition: Expr<'_, bool>, message: &str) {
        self.perform(|k| k.assert(condition.value, message));
    }

    /// Whether what is built now is inside of a loop.
    pub(super) fn is_in_loop(&self) -> bool {
        self.0.borrow().loops > 0
    }
}
