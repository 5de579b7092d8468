//! Blocks: branches, loops and calls.
//!
//! There is no table of functions: a call is a block in the place of the call, which `return_` leaves, and
//! its result is a variable. A table would need a call stack for each item, and rules about barriers inside
//! functions, in the oracle, the host's interpreter and OpenCL's text; as blocks, barriers in functions are
//! verified as any others. The reader of Python's functions inlines those that a kernel calls, each with the
//! types of its arguments. Diagnostics name the chain of calls. The cost: a function that is called in ten
//! places is there ten times, and recursion, a bounded one too, must be written as a loop. Blocks nest up to
//! `MAX_DEPTH`. No other arrangement was measured.

use std::sync::Arc;

use smallvec::SmallVec;

use super::super::tree::{Block, MAX_DEPTH, Statement, StatementKind, Value, Variable};
use super::{KernelBuilder, Operand};
use crate::diagnostic::{Diagnostic, Position, Rule};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::promotion::{DtypeSupport, Weak, result_type};

/// What is open: the statements before it wait until it ends.
pub(super) enum Open {
    Then { condition: Value },
    Otherwise { condition: Value, then: Block },
    Head,
    WhileBody { head: Block, condition: Value },
    For { counter: Value, start: Value, end: Value, step: Value },
    Call { function: Arc<str>, result: Option<Variable> },
}

pub(super) struct Frame {
    open: Open,
    pub(super) at: Position,
    before: Block,
}

impl KernelBuilder {
    /// Opens a block for items of which a condition is true; [`else_`](Self::else_) and [`end`](Self::end) follow.
    ///
    /// # Errors
    /// [`Error::Kernel`] where the condition is no `bool`.
    #[track_caller]
    pub fn if_(&mut self, condition: impl Into<Operand>) -> Result<()> {
        let condition = self.condition(condition)?;
        self.open(Open::Then { condition })
    }

    /// Goes on with the block for the other items.
    ///
    /// # Errors
    /// [`Error::Kernel`] where no `if` is open.
    #[track_caller]
    pub fn else_(&mut self) -> Result<()> {
        let then = std::mem::take(&mut self.form.body);
        match self.frames.last_mut() {
            Some(frame) if let Open::Then { condition } = frame.open => {
                frame.open = Open::Otherwise { condition, then };
                Ok(())
            }
            _ => {
                self.form.body = then;
                Err(self.error(Rule::Structure, "`else` without an open `if`"))
            }
        }
    }

    /// Opens a loop: what follows computes its condition, up to [`do_`](Self::do_).
    ///
    /// # Errors
    /// [`Error::Kernel`] beyond [`MAX_DEPTH`].
    #[track_caller]
    pub fn while_(&mut self) -> Result<()> {
        self.open(Open::Head)
    }

    /// Goes on with the body of a loop, for items of which the condition is true; [`end`](Self::end) follows.
    ///
    /// # Errors
    /// [`Error::Kernel`] where the condition is no `bool`, or no loop was opened.
    #[track_caller]
    pub fn do_(&mut self, condition: impl Into<Operand>) -> Result<()> {
        let condition = self.condition(condition)?;
        let head = std::mem::take(&mut self.form.body);
        match self.frames.last_mut() {
            Some(frame) if matches!(frame.open, Open::Head) => {
                frame.open = Open::WhileBody { head, condition };
                Ok(())
            }
            _ => {
                self.form.body = head;
                Err(self.error(Rule::Structure, "the body of a loop that was not opened by `while`"))
            }
        }
    }

    /// Opens a loop over `start`, `start + step`, … up to `end`, excluded, as Python's `range`, and returns the value of the
    /// round. The three are integers; weak ones take the dtype of the others, or `int64`.
    ///
    /// # Errors
    /// [`Error::Kernel`] where one is no integer.
    #[track_caller]
    pub fn for_(
        &mut self,
        start: impl Into<Operand>,
        end: impl Into<Operand>,
        step: impl Into<Operand>,
    ) -> Result<Value> {
        let (mut dtypes, mut weak) = (SmallVec::<[Dtype; 3]>::new(), SmallVec::<[Weak; 3]>::new());
        let mut bounds: [Operand; 3] = [start.into(), end.into(), step.into()];
        for bound in &mut bounds {
            match *bound {
                Operand::Weak(number) => weak.push(number),
                other => {
                    let value = self.get(other)?;
                    dtypes.push(self.form.dtype(value));
                    *bound = Operand::Value(value);
                }
            }
        }
        let dtype = match result_type(&dtypes, &weak, DtypeSupport::ALL) {
            Ok(dtype) => dtype,
            Err(error) => return Err(self.wrap(&error)),
        };
        if !dtype.kind().is_integer() {
            return Err(self.error(Rule::Type, format!("a loop over {dtype}; it counts in integers")));
        }
        let mut values = SmallVec::<[Value; 3]>::new();
        for bound in bounds {
            values.push(self.assigned(bound, dtype)?);
        }
        let counter = self.value(dtype)?;
        self.open(Open::For { counter, start: values[0], end: values[1], step: values[2] })?;
        Ok(counter)
    }

    /// Leaves the innermost loop.
    #[track_caller]
    pub fn break_(&mut self) {
        self.push(StatementKind::Break);
    }

    /// Goes on with the next round of the innermost loop.
    #[track_caller]
    pub fn continue_(&mut self) {
        self.push(StatementKind::Continue);
    }

    /// Opens the body of a function, in the place of its call. The variable, if any, takes what it returns.
    ///
    /// # Errors
    /// [`Error::Kernel`] where the function is open already: it would call itself.
    #[track_caller]
    pub fn call(&mut self, function: &str, result: Option<Variable>) -> Result<()> {
        let is_same =
            |frame: &&Frame| matches!(&frame.open, Open::Call { function: f, .. } if **f == *function);
        if let Some(frame) = self.frames.iter().find(is_same) {
            let outer = frame.at.clone();
            let at = self.place();
            let error = Diagnostic::new(Rule::Recursion, &at, format!("`{function}` calls itself"));
            return Err(Error::kernel(error.note(&outer, "called from here first")));
        }
        self.open(Open::Call { function: function.into(), result })
    }

    /// Leaves the innermost call with a result, or the kernel without one.
    ///
    /// # Errors
    /// [`Error::Kernel`] where a result is given and none is expected, or the other way round.
    #[track_caller]
    pub fn return_(&mut self, result: Option<Operand>) -> Result<()> {
        let call = self.frames.iter().rev().find_map(|frame| match &frame.open {
            Open::Call { result, .. } => Some(*result),
            _ => None,
        });
        match (call.flatten(), result) {
            (Some(variable), Some(operand)) => self.set(variable, operand)?,
            (None, None) => {}
            (Some(_), None) => return Err(self.error(Rule::Type, "nothing is returned, a value is expected")),
            (None, Some(_)) => return Err(self.error(Rule::Type, "a value is returned, nothing is expected")),
        }
        self.push(StatementKind::Return);
        Ok(())
    }

    /// Closes the innermost open block.
    ///
    /// # Errors
    /// [`Error::Kernel`] where none is open, or it is a loop without a body.
    #[track_caller]
    pub fn end(&mut self) -> Result<()> {
        let Some(Frame { open, at, before }) = self.frames.pop() else {
            return Err(self.error(Rule::Structure, "an end without an open block"));
        };
        if matches!(open, Open::Head) {
            return Err(Error::kernel(Diagnostic::new(Rule::Structure, &at, "a loop without a body")));
        }
        let block = std::mem::replace(&mut self.form.body, before);
        let kind = match open {
            Open::Then { condition } => StatementKind::If { condition, then: block, otherwise: Block::new() },
            Open::Otherwise { condition, then } => StatementKind::If { condition, then, otherwise: block },
            Open::Head => return Ok(()), // Refused above.
            Open::WhileBody { head, condition } => StatementKind::While { head, condition, body: block },
            Open::For { counter, start, end, step } => {
                StatementKind::For { counter, start, end, step, body: block }
            }
            Open::Call { function, .. } => StatementKind::Call { function, body: block },
        };
        self.form.body.push(Statement { kind, at });
        Ok(())
    }

    #[track_caller]
    fn open(&mut self, open: Open) -> Result<()> {
        if self.frames.len() >= MAX_DEPTH {
            return Err(self.error(Rule::Limit, format!("blocks nested more than {MAX_DEPTH} deep")));
        }
        let at = self.place();
        let before = std::mem::take(&mut self.form.body);
        self.frames.push(Frame { open, at, before });
        Ok(())
    }
}
