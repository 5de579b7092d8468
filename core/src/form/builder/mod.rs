//! Building kernels: what an attribute macro in Rust, a reader of Python functions and hand-written code
//! call.
//!
//! The builder appends statements to the innermost open block; values are numbers, and each is defined once.
//! It does what the languages before it would each have to do: promotion, weak numbers, the dtype of a
//! result, the place in the source for errors. What it does not do is to check the whole: `finish` hands the
//! form to the verifier (`verify.rs`, `flow.rs`), which forms from elsewhere go through as well.
//!
//! A mistake is an error at the call that makes it, with the position of the statement: it is what users of
//! Python's and Rust's kernels read. A builder is used once for each kernel and dtype, so nothing here needs
//! to be fast; but sizes come from users, and what grows is asked for (`heap`). `blocks.rs` opens and closes
//! blocks, `memory.rs` reads and writes elements, `signs.rs` compares integers with and without a sign. For a
//! new statement see the recipe in `CONTRIBUTING.md`.

mod blocks;
mod memory;
mod operand;
mod signs;

use std::panic::Location;
use std::sync::Arc;

use smallvec::SmallVec;

use blocks::Frame;
pub use operand::Operand;

use super::Kernel;
use super::sync::Collective;
use super::tree::{
    Coordinate, Expression, Form, Level, MAX_SPACE_DIMS, Memory, Object, ObjectInfo, Parameter, Statement,
    StatementKind, Value, Variable, VariableInfo,
};
use crate::diagnostic::{Diagnostic, Position, Rule};
use crate::dtype::{Dtype, DtypeKind};
use crate::error::{Error, Result};
use crate::memory::heap;
use crate::ops::Op;
use crate::promotion::{DtypeSupport, Weak, comparison_type, result_type};
use crate::scalar::Scalar;

/// Builds a [`Kernel`] statement by statement. Blocks are opened by [`if_`](Self::if_), [`while_`](Self::while_),
/// [`for_`](Self::for_) and [`call`](Self::call), and closed by [`end`](Self::end).
///
/// Every statement keeps its place in the source: the one that was set by [`at`](Self::at), or else that of the call of the
/// builder's method.
///
/// ```
/// use stridewise_core::kernel::{Coordinate::*, Fence, KernelBuilder, Level::*};
/// use stridewise_core::{Dtype, Op};
///
/// let mut k = KernelBuilder::new("reverse", 1)?;
/// let a = k.global("a", Dtype::F32, 1, true)?;
/// let tile = k.local("tile", Dtype::F32, &[10])?;
/// let i = k.index(Global, Id(0))?;
/// let x = k.load(a, [i])?;
/// k.store(tile, [i], x)?;
/// k.barrier(Fence::LOCAL);
/// let j = k.binary(Op::Subtract, 9, i)?;
/// let y = k.load(tile, [j])?;
/// let sum = k.binary(Op::Add, x, y)?;
/// k.store(a, [i], sum)?;
/// let reverse = k.finish()?;
/// assert_eq!(reverse.form().body.len(), 9);
/// # Ok::<(), stridewise_core::Error>(())
/// ```
pub struct KernelBuilder {
    form: Form,
    frames: Vec<Frame>,
    position: Option<Position>,
    /// The file of the last place, so that all places in it share its name.
    file: Arc<str>,
}

impl KernelBuilder {
    /// A kernel without statements, over an index space of 1 to 3 dimensions.
    ///
    /// # Errors
    /// [`Error::Axis`] for another number of dimensions.
    pub fn new(name: &str, dims: usize) -> Result<Self> {
        if !(1..=MAX_SPACE_DIMS).contains(&dims) {
            return Err(Error::axis(
                "dims",
                dims,
                format!("1 to {MAX_SPACE_DIMS}"),
                "fold further dimensions into one of these",
            ));
        }
        let form = Form {
            name: name.to_owned(),
            dims,
            parameters: Vec::new(),
            objects: Vec::new(),
            variables: Vec::new(),
            values: Vec::new(),
            body: Vec::new(),
        };
        Ok(Self { form, frames: Vec::new(), position: None, file: Arc::from("") })
    }

    /// Says where the following statements stand in the source; `None`: where the builder's methods are called.
    pub fn at(&mut self, position: Option<Position>) {
        self.position = position;
    }

    /// What is built so far, but for what is in open blocks.
    #[must_use]
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// The dtype of a value.
    ///
    /// # Errors
    /// [`Error::Kernel`] for a value of another kernel.
    #[track_caller]
    pub fn dtype(&mut self, value: Value) -> Result<Dtype> {
        match self.form.values.get(value.number()) {
            Some(dtype) => Ok(*dtype),
            None => Err(self.error(Rule::Structure, format!("{value} is of another kernel"))),
        }
    }

    /// Adds an array parameter.
    ///
    /// # Errors
    /// [`Error::Kernel`] for no dimension.
    #[track_caller]
    pub fn global(&mut self, name: &str, dtype: Dtype, ndim: usize, writable: bool) -> Result<Object> {
        let object = self.object(name, dtype, Memory::Global { ndim, writable })?;
        self.form.parameters.push(Parameter::Object(object));
        Ok(object)
    }

    /// Adds a scalar parameter.
    ///
    /// # Errors
    /// [`Error::Kernel`] where the kernel is too large.
    #[track_caller]
    pub fn scalar(&mut self, name: &str, dtype: Dtype) -> Result<Value> {
        let value = self.value(dtype)?;
        self.form.parameters.push(Parameter::Scalar { name: name.to_owned(), value });
        Ok(value)
    }

    /// Adds local memory whose extents the launch says, a parameter.
    ///
    /// # Errors
    /// As for [`global`](Self::global).
    #[track_caller]
    pub fn local_argument(&mut self, name: &str, dtype: Dtype, ndim: usize) -> Result<Object> {
        let object = self.object(name, dtype, Memory::LocalArgument { ndim })?;
        self.form.parameters.push(Parameter::Object(object));
        Ok(object)
    }

    /// Adds local memory.
    ///
    /// # Errors
    /// [`Error::Kernel`] for no dimension, or more than [`MAX_OBJECT_LEN`](super::MAX_OBJECT_LEN) elements.
    #[track_caller]
    pub fn local(&mut self, name: &str, dtype: Dtype, shape: &[usize]) -> Result<Object> {
        self.object(name, dtype, Memory::Local { shape: shape.to_vec() })
    }

    /// Adds an array that each item has for itself, of zeros.
    ///
    /// # Errors
    /// As for [`local`](Self::local).
    #[track_caller]
    pub fn private(&mut self, name: &str, dtype: Dtype, shape: &[usize]) -> Result<Object> {
        self.object(name, dtype, Memory::Private { shape: shape.to_vec() })
    }

    /// Adds an array that is part of the kernel, of elements in row-major order.
    ///
    /// # Errors
    /// As for [`local`](Self::local), and where the elements are not as many as the shape says, or not of one dtype.
    #[track_caller]
    pub fn constant_array(&mut self, name: &str, shape: &[usize], elements: &[Scalar]) -> Result<Object> {
        let Some(dtype) = elements.first().map(Scalar::dtype) else {
            return Err(self.error(Rule::Limit, format!("constant array `{name}` has no elements")));
        };
        if elements.iter().any(|e| e.dtype() != dtype) {
            return Err(
                self.error(Rule::Type, format!("elements of constant array `{name}` differ in dtype"))
            );
        }
        let memory = Memory::Constant {
            shape: shape.to_vec(),
            elements: Arc::new(heap::collect("elements", elements.iter().copied())?),
        };
        self.object(name, dtype, memory)
    }

    /// The constant array of a name and of elements, which is added where there is none.
    ///
    /// # Errors
    /// As for [`constant_array`](Self::constant_array).
    #[track_caller]
    pub(crate) fn shared_constant(
        &mut self,
        name: &str,
        shape: &[usize],
        elements: &[Scalar],
    ) -> Result<Object> {
        let same = |info: &ObjectInfo| match &info.memory {
            Memory::Constant { shape: s, elements: e } => info.name == name && s == shape && **e == *elements,
            _ => false,
        };
        match self.form.objects.iter().position(same) {
            Some(number) => Ok(Object(self.number(number)?)),
            None => self.constant_array(name, shape, elements),
        }
    }

    /// Adds a variable.
    ///
    /// # Errors
    /// [`Error::Kernel`] where the kernel is too large.
    #[track_caller]
    pub fn variable(&mut self, name: &str, dtype: Dtype) -> Result<Variable> {
        let number = self.number(self.form.variables.len())?;
        self.form.variables.push(VariableInfo { name: name.to_owned(), dtype });
        Ok(Variable(number))
    }

    /// Sets a variable; the operand is converted as an assignment to an array element converts it.
    ///
    /// # Errors
    /// [`Error::Kernel`] where the operand does not convert.
    #[track_caller]
    pub fn set(&mut self, variable: Variable, operand: impl Into<Operand>) -> Result<()> {
        let Some(dtype) = self.form.variables.get(variable.number()).map(|v| v.dtype) else {
            return Err(self.error(Rule::Structure, "a variable of another kernel"));
        };
        let value = self.assigned(operand.into(), dtype)?;
        self.push(StatementKind::Set { variable, value });
        Ok(())
    }

    /// An operand as a value; a weak number has the default dtype of its kind.
    ///
    /// # Errors
    /// [`Error::Kernel`] for an operand of another kernel.
    #[track_caller]
    pub fn get(&mut self, operand: impl Into<Operand>) -> Result<Value> {
        match operand.into() {
            Operand::Value(value) => {
                self.dtype(value)?;
                Ok(value)
            }
            Operand::Variable(variable) => {
                let Some(dtype) = self.form.variables.get(variable.number()).map(|v| v.dtype) else {
                    return Err(self.error(Rule::Structure, "a variable of another kernel"));
                };
                self.define(dtype, Expression::Get(variable))
            }
            Operand::Scalar(value) => self.define(value.dtype(), Expression::Constant(value)),
            Operand::Weak(weak) => {
                let dtype = result_type(&[], &[weak], DtypeSupport::ALL)?;
                self.weak(weak, dtype)
            }
        }
    }

    /// An operation. Operands are converted to their common dtype by the rules of arrays and weak scalars; for an operation
    /// of floating point on integers, that is `float64`.
    ///
    /// # Errors
    /// [`Error::Kernel`] where the operation does not take the dtype, or another number of operands.
    #[track_caller]
    pub fn apply(&mut self, op: Op, operands: &[Operand]) -> Result<Value> {
        if operands.len() != op.arity() || op == Op::Cast {
            let message =
                format!("`{}` with {} operands; it takes {}", op.name(), operands.len(), op.arity());
            return Err(self.error(Rule::Type, message));
        }
        let (mut values, mut dtypes, mut weak) =
            (SmallVec::<[Operand; 3]>::new(), SmallVec::<[Dtype; 3]>::new(), SmallVec::<[Weak; 3]>::new());
        for (position, &operand) in operands.iter().enumerate() {
            match operand {
                Operand::Weak(number) if !op.is_condition(position) => {
                    weak.push(number);
                    values.push(operand);
                }
                _ => {
                    let value = self.get(operand)?;
                    let dtype = self.form.dtype(value);
                    if !op.is_condition(position) {
                        dtypes.push(dtype);
                    } else if dtype != Dtype::Bool {
                        return Err(self.error(Rule::Type, format!("a condition of {dtype}; it is a bool")));
                    }
                    values.push(Operand::Value(value));
                }
            }
        }
        let is_test = op.result(Dtype::I64) == Dtype::Bool;
        let common = if is_test { comparison_type } else { result_type };
        let mut dtype = match common(&dtypes, &weak, DtypeSupport::ALL) {
            Ok(dtype) => dtype,
            Err(error) => return Err(self.wrap(&error)),
        };
        if op.wants_float() && !dtype.kind().is_inexact() {
            dtype = Dtype::F64;
        }
        if !op.allows(dtype) {
            return Err(self.error(Rule::Type, format!("`{}` is not defined for {dtype}", op.name())));
        }
        if let [Operand::Value(first), Operand::Value(second)] = values[..]
            && let Some(result) = self.compare_signs(op, [first, second])?
        {
            return Ok(result);
        }
        for (position, operand) in values.iter().enumerate() {
            if let Operand::Weak(number) = operand
                && let Some(outcome) = number.settles(op, position, dtype)
            {
                return self.get(Scalar::Bool(outcome));
            }
        }
        let mut converted = SmallVec::new();
        for (position, operand) in values.into_iter().enumerate() {
            converted.push(match operand {
                Operand::Value(value) if op.is_condition(position) => value,
                Operand::Value(value) => self.cast(value, dtype)?,
                Operand::Weak(number) => self.weak(number, dtype)?,
                Operand::Variable(_) | Operand::Scalar(_) => self.get(operand)?,
            });
        }
        self.define(op.result(dtype), Expression::Apply { op, operands: converted })
    }

    /// An operation on one operand; see [`apply`](Self::apply).
    ///
    /// # Errors
    /// As for [`apply`](Self::apply).
    #[track_caller]
    pub fn unary(&mut self, op: Op, x: impl Into<Operand>) -> Result<Value> {
        self.apply(op, &[x.into()])
    }

    /// An operation on two operands; see [`apply`](Self::apply).
    ///
    /// # Errors
    /// As for [`apply`](Self::apply).
    #[track_caller]
    pub fn binary(&mut self, op: Op, x: impl Into<Operand>, y: impl Into<Operand>) -> Result<Value> {
        self.apply(op, &[x.into(), y.into()])
    }

    /// A value converted to a dtype, by the rules of [`Op::Cast`].
    ///
    /// # Errors
    /// [`Error::Kernel`] for an operand of another kernel.
    #[track_caller]
    pub fn cast(&mut self, operand: impl Into<Operand>, dtype: Dtype) -> Result<Value> {
        let operand = match operand.into() {
            // Beyond what integers without a dtype are.
            Operand::Weak(Weak::Int(number)) if number > i64::MAX.into() => match u64::try_from(number) {
                Ok(number) => Operand::Scalar(Scalar::U64(number)),
                Err(_) => Operand::Weak(Weak::Int(number)),
            },
            operand => operand,
        };
        let value = self.get(operand)?;
        if self.form.dtype(value) == dtype {
            return Ok(value);
        }
        self.define(dtype, Expression::Apply { op: Op::Cast, operands: smallvec::smallvec![value] })
    }

    /// A place in the index space, or an extent of it, an `int64`.
    ///
    /// # Errors
    /// [`Error::Kernel`] for an axis that the index space has not.
    #[track_caller]
    pub fn index(&mut self, level: Level, coordinate: Coordinate) -> Result<Value> {
        if let Coordinate::Id(axis) | Coordinate::Range(axis) = coordinate
            && usize::from(axis) >= self.form.dims
        {
            let message = format!("axis {axis} of an index space of {} dimensions", self.form.dims);
            return Err(self.error(Rule::IndexCount, message));
        }
        self.define(Dtype::I64, Expression::Index { level, coordinate })
    }

    /// What all items of the group make of a value of each.
    ///
    /// # Errors
    /// [`Error::Kernel`] where the operation does not fold the operand's dtype.
    #[track_caller]
    pub fn collective(&mut self, collective: Collective, operand: impl Into<Operand>) -> Result<Value> {
        let operand = self.get(operand)?;
        let dtype = self.form.dtype(operand);
        self.define(dtype, Expression::Collective { collective, operand })
    }

    /// An error with a message where a condition is false: the launch fails.
    ///
    /// # Errors
    /// [`Error::Kernel`] where the condition is no `bool`.
    #[track_caller]
    pub fn assert(&mut self, condition: impl Into<Operand>, message: &str) -> Result<()> {
        let condition = self.condition(condition)?;
        self.push(StatementKind::Assert { condition, message: message.into() });
        Ok(())
    }

    /// The kernel, verified.
    ///
    /// # Errors
    /// [`Error::Kernel`]: a block is open, or a rule is broken; see [`Kernel::new`].
    pub fn finish(mut self) -> Result<Kernel> {
        if let Some(frame) = self.frames.pop() {
            let open = Diagnostic::new(Rule::Structure, &frame.at, "a block that is not closed");
            return Err(Error::kernel(open));
        }
        Kernel::new(self.form)
    }

    #[track_caller]
    fn place(&mut self) -> Position {
        if let Some(position) = &self.position {
            return position.clone();
        }
        let location = Location::caller();
        if *self.file != *location.file() {
            self.file = location.file().into();
        }
        Position { file: Arc::clone(&self.file), line: location.line(), column: location.column(), length: 0 }
    }

    #[track_caller]
    fn error(&mut self, rule: Rule, message: impl Into<String>) -> Error {
        Error::kernel(Diagnostic::new(rule, &self.place(), message))
    }

    /// An error of promotion, at this place.
    #[track_caller]
    fn wrap(&mut self, error: &Error) -> Error {
        self.error(Rule::Type, error.to_string())
    }

    #[track_caller]
    fn push(&mut self, kind: StatementKind) {
        let at = self.place();
        self.form.body.push(Statement { kind, at });
    }

    #[track_caller]
    fn number(&mut self, count: usize) -> Result<u32> {
        match u32::try_from(count) {
            Ok(number) => Ok(number),
            Err(_) => Err(self.error(Rule::Limit, "more than 2³² of a kind")),
        }
    }

    #[track_caller]
    fn value(&mut self, dtype: Dtype) -> Result<Value> {
        let number = self.number(self.form.values.len())?;
        self.form.values.push(dtype);
        Ok(Value(number))
    }

    #[track_caller]
    fn define(&mut self, dtype: Dtype, expression: Expression) -> Result<Value> {
        let value = self.value(dtype)?;
        self.push(StatementKind::Let { value, expression });
        Ok(value)
    }

    #[track_caller]
    fn object(&mut self, name: &str, dtype: Dtype, memory: Memory) -> Result<Object> {
        let number = self.number(self.form.objects.len())?;
        let at = self.place();
        self.form.objects.push(ObjectInfo { name: name.to_owned(), dtype, memory, at });
        Ok(Object(number))
    }

    #[track_caller]
    fn info(&mut self, object: Object) -> Result<&ObjectInfo> {
        if object.number() >= self.form.objects.len() {
            return Err(self.error(Rule::Structure, "an array of another kernel"));
        }
        Ok(self.form.object(object))
    }

    #[track_caller]
    fn condition(&mut self, condition: impl Into<Operand>) -> Result<Value> {
        let condition = self.get(condition)?;
        match self.form.dtype(condition) {
            Dtype::Bool => Ok(condition),
            dtype => Err(self.error(Rule::Type, format!("a condition of {dtype}; it is a bool"))),
        }
    }

    #[track_caller]
    fn weak(&mut self, number: Weak, dtype: Dtype) -> Result<Value> {
        match number.to_scalar(dtype) {
            Ok(value) => self.define(dtype, Expression::Constant(value)),
            Err(error) => Err(self.wrap(&error)),
        }
    }

    /// An operand as an assignment to something of a dtype converts it.
    #[track_caller]
    fn assigned(&mut self, operand: Operand, dtype: Dtype) -> Result<Value> {
        if let Operand::Weak(number) = operand {
            return match number.assigned(dtype) {
                Ok(value) => self.define(dtype, Expression::Constant(value)),
                Err(error) => Err(self.wrap(&error)),
            };
        }
        let value = self.get(operand)?;
        let from = self.form.dtype(value);
        if from.kind() == DtypeKind::Complex && dtype.kind() != DtypeKind::Complex {
            return Err(
                self.error(Rule::Type, format!("{from} assigned to {dtype}, which has no imaginary part"))
            );
        }
        self.cast(value, dtype)
    }
}
