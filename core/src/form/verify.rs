//! Whether a form is well formed: types, scopes and nesting. What depends on the paths through it is in
//! [`flow`](super::flow).

use std::sync::Arc;

use super::sync::{Atomic, AtomicOp, Collective};
use super::tree::{
    Coordinate, Expression, Form, MAX_DEPTH, MAX_OBJECT_LEN, MAX_SPACE_DIMS, Memory, Object, Parameter, Part,
    Statement, StatementKind, Value, Variable,
};
use crate::diagnostic::{Diagnostic, Position, Rule};
use crate::dtype::Dtype;
use crate::ops::Op;

type Checked = Result<(), Diagnostic>;

/// Checks everything that does not depend on paths.
pub(super) fn verify(form: &Form) -> Checked {
    let start = form.objects.first().map(|o| &o.at).or(form.body.first().map(|s| &s.at)).cloned();
    let nowhere = Position { file: Arc::from(form.name.as_str()), line: 0, column: 0, length: 0 };
    let mut verifier = Verifier {
        form,
        at: start.unwrap_or(nowhere),
        defined: vec![false; form.values.len()],
        ever: vec![false; form.values.len()],
        loops: 0,
        functions: Vec::new(),
        scopes: vec![Scope::default()],
    };
    if !(1..=MAX_SPACE_DIMS).contains(&form.dims) {
        return verifier.fail(Rule::Limit, format!("an index space of {} dimensions", form.dims));
    }
    for object in &form.objects {
        verifier.at = object.at.clone();
        verifier.object(&object.name, object.dtype, &object.memory)?;
    }
    let mut is_parameter = vec![false; form.objects.len()];
    for parameter in &form.parameters {
        match parameter {
            Parameter::Scalar { value, .. } => verifier.define(*value)?,
            Parameter::Object(object) => match is_parameter.get_mut(object.number()) {
                Some(seen) if !*seen => *seen = true,
                _ => return verifier.fail(Rule::Structure, "a parameter that is no object, or one twice"),
            },
        }
    }
    for (object, is_parameter) in form.objects.iter().zip(is_parameter) {
        let wanted = matches!(object.memory, Memory::Global { .. } | Memory::LocalArgument { .. });
        if wanted != is_parameter {
            verifier.at = object.at.clone();
            return verifier.fail(Rule::Structure, format!("`{}` is a parameter, or is not", object.name));
        }
    }
    for part in form.walk() {
        match part {
            Part::Statement { statement, .. } => {
                verifier.at = statement.at.clone();
                verifier.statement(statement)?;
                let scope = verifier.scopes.last_mut();
                scope.into_iter().for_each(|scope| scope.defined.extend(statement.kind.defines()));
            }
            Part::Enter(statement, number) => verifier.enter(statement, number)?,
            Part::Leave(statement, number) => verifier.leave(statement, number)?,
        }
    }
    Ok(())
}

/// A block that is open, or the head of a loop with its body.
#[derive(Default)]
struct Scope {
    /// What may be used up to its end.
    defined: Vec<Value>,
    /// Loops that a `break` could leave, around it.
    loops: usize,
}

struct Verifier<'a> {
    form: &'a Form,
    /// The statement that is looked at.
    at: Position,
    /// Values that may be used here.
    defined: Vec<bool>,
    /// Values that were defined anywhere.
    ever: Vec<bool>,
    /// Loops that a `break` could leave.
    loops: usize,
    functions: Vec<(Arc<str>, Position)>,
    scopes: Vec<Scope>,
}

impl Verifier<'_> {
    fn fail(&self, rule: Rule, message: impl Into<String>) -> Checked {
        Err(Diagnostic::new(rule, &self.at, message))
    }

    fn expect(&self, holds: bool, rule: Rule, message: impl FnOnce() -> String) -> Checked {
        if holds { Ok(()) } else { self.fail(rule, message()) }
    }

    fn object(&self, name: &str, dtype: Dtype, memory: &Memory) -> Checked {
        let ndim = memory.ndim();
        self.expect(ndim >= 1, Rule::Limit, || format!("array `{name}` of no dimension"))?;
        let (Memory::Local { shape } | Memory::Private { shape } | Memory::Constant { shape, .. }) = memory
        else {
            return Ok(());
        };
        let len = shape.iter().try_fold(1_usize, |len, &extent| len.checked_mul(extent));
        let Some(len) = len.filter(|len| (1..=MAX_OBJECT_LEN).contains(len)) else {
            let message = format!("array `{name}` of {shape:?} elements; from 1 to {MAX_OBJECT_LEN}");
            return self.fail(Rule::Limit, message);
        };
        let Memory::Constant { elements, .. } = memory else { return Ok(()) };
        self.expect(elements.len() == len, Rule::Limit, || {
            format!("constant array `{name}` of {shape:?} with {} elements", elements.len())
        })?;
        let fits = elements.iter().all(|e| e.dtype() == dtype);
        self.expect(fits, Rule::Type, || format!("constant array `{name}` of {dtype} with other elements"))
    }

    fn define(&mut self, value: Value) -> Checked {
        match self.ever.get_mut(value.number()) {
            Some(ever) if !*ever => {
                *ever = true;
                self.defined[value.number()] = true;
                Ok(())
            }
            _ => self.fail(Rule::Structure, format!("{value} is defined twice, or of another kernel")),
        }
    }

    /// The dtype of a value that may be used here.
    fn used(&self, value: Value) -> Result<Dtype, Diagnostic> {
        if self.defined.get(value.number()) == Some(&true) {
            Ok(self.form.dtype(value))
        } else {
            let message = format!("{value} is used outside of the block that defines it");
            Err(Diagnostic::new(Rule::Structure, &self.at, message))
        }
    }

    fn is(&self, value: Value, dtype: Dtype, what: &str) -> Checked {
        let found = self.used(value)?;
        self.expect(found == dtype, Rule::Type, || format!("{what} is of {found}, expected {dtype}"))
    }

    fn variable(&self, variable: Variable) -> Result<Dtype, Diagnostic> {
        self.form
            .variables
            .get(variable.number())
            .map(|v| v.dtype)
            .ok_or_else(|| Diagnostic::new(Rule::Structure, &self.at, "a variable of another kernel"))
    }

    /// The dtype of an object that is accessed with these indices.
    fn access(&self, object: Object, indices: &[Value], writes: bool) -> Result<Dtype, Diagnostic> {
        let Some(info) = self.form.objects.get(object.number()) else {
            return Err(Diagnostic::new(Rule::Structure, &self.at, "an array of another kernel"));
        };
        let (name, ndim) = (&info.name, info.memory.ndim());
        self.expect(indices.len() == ndim, Rule::IndexCount, || {
            format!("`{name}` has {ndim} dimensions, and is addressed by {} indices", indices.len())
        })?;
        for &index in indices {
            let dtype = self.used(index)?;
            self.expect(dtype.kind().is_integer(), Rule::Type, || {
                format!("`{name}` is addressed by an index of {dtype}, expected an integer")
            })?;
        }
        if writes && !info.memory.is_writable() {
            let what = if matches!(info.memory, Memory::Constant { .. }) {
                "constant"
            } else {
                "an argument for reading"
            };
            let error =
                Diagnostic::new(Rule::ReadOnly, &self.at, format!("`{name}` is written, and is {what}"));
            return Err(error.note(&info.at, "declared here"));
        }
        Ok(info.dtype)
    }

    /// A block begins. Values of a loop's head may be used in the body.
    fn enter(&mut self, statement: &Statement, number: usize) -> Checked {
        let is_body = matches!(statement.kind, StatementKind::While { .. }) && number == 1;
        if !is_body {
            self.at = statement.at.clone();
            self.expect(self.scopes.len() <= MAX_DEPTH, Rule::Limit, || {
                format!("blocks nested more than {MAX_DEPTH} deep")
            })?;
            self.scopes.push(Scope { defined: Vec::new(), loops: self.loops });
        }
        match &statement.kind {
            StatementKind::While { .. } if is_body => {
                self.loops = self.scopes.last().map_or(0, |scope| scope.loops) + 1;
            }
            StatementKind::For { counter, .. } => {
                self.loops += 1;
                self.scopes.last_mut().into_iter().for_each(|scope| scope.defined.push(*counter));
            }
            StatementKind::While { .. } => self.loops = 0,
            StatementKind::Call { function, .. } => {
                self.functions.push((Arc::clone(function), statement.at.clone()));
                self.loops = 0;
            }
            _ => {}
        }
        Ok(())
    }

    /// A block ends.
    fn leave(&mut self, statement: &Statement, number: usize) -> Checked {
        if let (StatementKind::While { condition, .. }, 0) = (&statement.kind, number) {
            self.at = statement.at.clone();
            return self.is(*condition, Dtype::Bool, "a condition");
        }
        if matches!(statement.kind, StatementKind::Call { .. }) {
            self.functions.pop();
        }
        let Some(scope) = self.scopes.pop() else { return Ok(()) };
        self.loops = scope.loops;
        for value in scope.defined {
            self.defined[value.number()] = false;
        }
        Ok(())
    }

    /// A statement, without what is inside.
    fn statement(&mut self, statement: &Statement) -> Checked {
        match &statement.kind {
            StatementKind::Let { value, expression } => {
                let Some(&dtype) = self.form.values.get(value.number()) else {
                    return self.fail(Rule::Structure, format!("{value} is of another kernel"));
                };
                let found = self.expression(expression, dtype)?;
                self.expect(found == dtype, Rule::Type, || format!("{value} of {dtype} is a {found}"))?;
                self.define(*value)
            }
            StatementKind::Set { variable, value } => {
                let dtype = self.variable(*variable)?;
                self.is(*value, dtype, "what a variable is set to")
            }
            StatementKind::Store { object, indices, value } => {
                let dtype = self.access(*object, indices, true)?;
                self.is(*value, dtype, "what is stored")
            }
            StatementKind::Atomic(atomic) => self.atomic(atomic),
            StatementKind::Fence { .. } => Ok(()),
            StatementKind::Barrier(fence) => self
                .expect(fence.local || fence.global, Rule::Limit, || "a barrier without a fence".to_owned()),
            StatementKind::If { condition, .. } => self.is(*condition, Dtype::Bool, "a condition"),
            StatementKind::While { .. } => Ok(()), // The condition is of the head.
            StatementKind::For { counter, start, end, step, .. } => {
                let dtype = self.used(*start)?;
                self.expect(dtype.kind().is_integer(), Rule::Type, || format!("a loop over {dtype}"))?;
                self.is(*end, dtype, "the end of a loop")?;
                self.is(*step, dtype, "the step of a loop")?;
                self.define(*counter)?;
                self.is(*counter, dtype, "the counter of a loop")
            }
            StatementKind::Break | StatementKind::Continue => {
                self.expect(self.loops > 0, Rule::Structure, || "outside of a loop".to_owned())
            }
            StatementKind::Return => Ok(()),
            StatementKind::Call { function, .. } => {
                if let Some((_, first)) = self.functions.iter().find(|(name, _)| name == function) {
                    let error =
                        Diagnostic::new(Rule::Recursion, &self.at, format!("`{function}` calls itself"));
                    return Err(error.note(first, "called from here first"));
                }
                Ok(())
            }
            StatementKind::Assert { condition, .. } => self.is(*condition, Dtype::Bool, "what is asserted"),
        }
    }

    /// The dtype of an expression that defines a value of a dtype.
    fn expression(&self, expression: &Expression, out: Dtype) -> Result<Dtype, Diagnostic> {
        match expression {
            Expression::Constant(value) => Ok(value.dtype()),
            Expression::Apply { op, operands } => self.operation(*op, operands, out),
            Expression::Get(variable) => self.variable(*variable),
            Expression::Index { coordinate, .. } => match coordinate {
                Coordinate::Id(axis) | Coordinate::Range(axis) => {
                    self.expect(usize::from(*axis) < self.form.dims, Rule::IndexCount, || {
                        format!("axis {axis} of an index space of {} dimensions", self.form.dims)
                    })?;
                    Ok(Dtype::I64)
                }
                Coordinate::LinearId => Ok(Dtype::I64),
            },
            Expression::Extent { object, axis } => {
                let ndim = self.form.objects.get(object.number()).map_or(0, |o| o.memory.ndim());
                self.expect(usize::from(*axis) < ndim, Rule::IndexCount, || {
                    format!("axis {axis} of an array of {ndim} dimensions")
                })?;
                Ok(Dtype::I64)
            }
            Expression::Load { object, indices } => self.access(*object, indices, false),
            Expression::Collective { collective, operand } => {
                let dtype = self.used(*operand)?;
                match *collective {
                    Collective::Reduce(op)
                    | Collective::InclusiveScan(op)
                    | Collective::ExclusiveScan(op) => {
                        let folds = Collective::folds(op) && op.allows(dtype);
                        self.expect(folds, Rule::Type, || format!("no fold by `{}` for {dtype}", op.name()))?;
                    }
                    Collective::All | Collective::Any => {
                        self.is(*operand, Dtype::Bool, "what is asked of all")?;
                    }
                    Collective::Broadcast(from) => {
                        let from = self.used(from)?;
                        self.expect(from.kind().is_integer(), Rule::Type, || {
                            format!("a local linear id of {from}, expected an integer")
                        })?;
                    }
                }
                Ok(dtype)
            }
        }
    }

    fn operation(&self, op: Op, operands: &[Value], out: Dtype) -> Result<Dtype, Diagnostic> {
        let count = operands.len();
        self.expect(count == op.arity(), Rule::Type, || format!("`{}` of {count} operands", op.name()))?;
        let last = self.used(operands[count - 1])?;
        for (position, &operand) in operands.iter().enumerate() {
            self.is(operand, op.operand_dtype(position, last), "an operand")?;
        }
        self.expect(op.allows(last), Rule::Type, || format!("`{}` is not defined for {last}", op.name()))?;
        Ok(if op == Op::Cast { out } else { op.result(last) })
    }

    fn atomic(&mut self, atomic: &Atomic) -> Checked {
        let writes = !matches!(atomic.op, AtomicOp::Load);
        let dtype = self.access(atomic.object, &atomic.indices, writes)?;
        let info = self.form.object(atomic.object);
        let shared = info.memory.is_local() || matches!(info.memory, Memory::Global { .. });
        self.expect(shared, Rule::Type, || {
            format!("an atomic access to `{}`, which no item shares", info.name)
        })?;
        self.expect(atomic.op.allows(dtype), Rule::Type, || {
            format!("no atomic `{}` on {dtype}; 32 or 64 bits, and for bits an integer", atomic.op.name())
        })?;
        let wants = atomic.op != AtomicOp::Load;
        self.expect(atomic.operand.is_some() == wants, Rule::Type, || {
            format!("an atomic `{}` with an operand too many or too few", atomic.op.name())
        })?;
        if let Some(operand) = atomic.operand {
            self.is(operand, dtype, "the operand of an atomic access")?;
        }
        if let AtomicOp::CompareExchange { expected } = atomic.op {
            self.is(expected, dtype, "the expected value of an atomic access")?;
        }
        match atomic.result {
            Some(_) if atomic.op == AtomicOp::Store => {
                self.fail(Rule::Type, "the result of an atomic store, which has none")
            }
            Some(result) => {
                self.define(result)?;
                self.is(result, dtype, "the result of an atomic access")
            }
            None => Ok(()),
        }
    }
}
