//! Kernels as text: for reading, for tests, and to compare two of them.

use std::fmt::{self, Display, Formatter, Write as _};

use super::sync::{Atomic, AtomicOp, Collective};
use super::tree::{
    Coordinate, Expression, Form, Level, Memory, Object, Parameter, Part, Statement, StatementKind, Value,
    Variable,
};
use crate::ops::Op;

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

impl Display for Level {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Global => "global",
            Self::Local => "local",
            Self::Group => "group",
        })
    }
}

/// Values, or anything else, with commas between them.
pub(super) struct List<'a, T>(pub(super) &'a [T]);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl Display for Form {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {}<{}>(", self.name, self.dims)?;
        for (i, parameter) in self.parameters.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            match parameter {
                Parameter::Object(object) => self.declare(*object, f)?,
                Parameter::Scalar { name, value } => write!(f, "{name} {value}: {}", self.dtype(*value))?,
            }
        }
        f.write_str(") {\n")?;
        for number in 0..self.objects.len() {
            let object = Object(number as u32);
            if !self.parameters.contains(&Parameter::Object(object)) {
                f.write_str("  ")?;
                self.declare(object, f)?;
                f.write_char('\n')?;
            }
        }
        for (number, variable) in self.variables.iter().enumerate() {
            writeln!(f, "  var {}: {}", self.variable_name(Variable(number as u32)), variable.dtype)?;
        }
        let mut depth = 1;
        for part in self.walk() {
            self.part(part, &mut depth, f)?;
        }
        f.write_char('}')
    }
}

impl Form {
    /// The name, with the number where another object has the same one.
    pub(super) fn object_name(&self, object: Object) -> String {
        let name = &self.object(object).name;
        let is_double = self.objects.iter().filter(|o| o.name == *name).count() > 1;
        if is_double { format!("{name}.{}", object.0) } else { name.clone() }
    }

    fn variable_name(&self, variable: Variable) -> String {
        let name = &self.variables[variable.number()].name;
        let is_double = self.variables.iter().filter(|v| v.name == *name).count() > 1;
        if is_double { format!("{name}.{}", variable.0) } else { name.clone() }
    }

    fn declare(&self, object: Object, f: &mut Formatter<'_>) -> fmt::Result {
        let info = self.object(object);
        let word = match &info.memory {
            Memory::Global { writable: true, .. } => "global mut",
            Memory::Global { writable: false, .. } => "global",
            Memory::Local { .. } | Memory::LocalArgument { .. } => "local",
            Memory::Private { .. } => "private",
            Memory::Constant { .. } => "constant",
        };
        write!(f, "{word} {}: {}", self.object_name(object), info.dtype)?;
        match &info.memory {
            Memory::Global { ndim, .. } | Memory::LocalArgument { ndim } => {
                write!(f, "[{}]", List(&vec![":"; *ndim]))
            }
            Memory::Local { shape } | Memory::Private { shape } => write!(f, "[{}]", List(shape)),
            Memory::Constant { shape, elements } => {
                write!(f, "[{}] = ", List(shape))?;
                f.debug_list().entries(elements.iter()).finish()
            }
        }
    }

    fn element(&self, object: Object, indices: &[Value]) -> String {
        format!("{}[{}]", self.object_name(object), List(indices))
    }

    /// A part, in lines of its own. An `else` without statements is left out.
    fn part(&self, part: Part<'_>, depth: &mut usize, f: &mut Formatter<'_>) -> fmt::Result {
        match part {
            Part::Statement { statement, .. } => {
                f.write_str(&"  ".repeat(*depth))?;
                self.statement(statement, f)?;
                f.write_char('\n')
            }
            Part::Enter(..) => {
                *depth += 1;
                Ok(())
            }
            Part::Leave(statement, number) => {
                *depth -= 1;
                let indent = "  ".repeat(*depth);
                match &statement.kind {
                    StatementKind::If { otherwise, .. } if number == 0 => match otherwise.is_empty() {
                        true => Ok(()),
                        false => writeln!(f, "{indent}}} else {{"),
                    },
                    StatementKind::While { condition, .. } if number == 0 => {
                        writeln!(f, "{indent}}} {condition} {{")
                    }
                    _ => writeln!(f, "{indent}}}"),
                }
            }
        }
    }

    fn statement(&self, statement: &Statement, f: &mut Formatter<'_>) -> fmt::Result {
        match &statement.kind {
            StatementKind::Let { value, expression } => {
                write!(f, "{value}: {} = ", self.dtype(*value))?;
                self.expression(expression, f)
            }
            StatementKind::Set { variable, value } => {
                write!(f, "{} = {value}", self.variable_name(*variable))
            }
            StatementKind::Store { object, indices, value } => {
                write!(f, "{} = {value}", self.element(*object, indices))
            }
            StatementKind::Atomic(atomic) => self.atomic(atomic, f),
            StatementKind::Fence { order, scope } => write!(f, "fence {order:?} {scope:?}"),
            StatementKind::Barrier(fence) => {
                f.write_str("barrier")?;
                f.write_str(if fence.local { " local" } else { "" })?;
                f.write_str(if fence.global { " global" } else { "" })
            }
            StatementKind::If { condition, .. } => write!(f, "if {condition} {{"),
            StatementKind::While { .. } => f.write_str("while {"),
            StatementKind::For { counter, start, end, step, .. } => {
                write!(f, "for {counter}: {} = {start}, {end}, {step} {{", self.dtype(*counter))
            }
            StatementKind::Break => f.write_str("break"),
            StatementKind::Continue => f.write_str("continue"),
            StatementKind::Return => f.write_str("return"),
            StatementKind::Call { function, .. } => write!(f, "call {function} {{"),
            StatementKind::Assert { condition, message } => write!(f, "assert {condition}, {message:?}"),
        }
    }

    fn expression(&self, expression: &Expression, f: &mut Formatter<'_>) -> fmt::Result {
        match expression {
            Expression::Constant(value) => write!(f, "{value:?}"),
            Expression::Apply { op: Op::Cast, operands } => write!(f, "cast {}", List(operands)),
            Expression::Apply { op, operands } => write!(f, "{} {}", op.name(), List(operands)),
            Expression::Get(variable) => f.write_str(&self.variable_name(*variable)),
            Expression::Index { level, coordinate } => match coordinate {
                Coordinate::Id(axis) => write!(f, "{level}_id {axis}"),
                Coordinate::Range(axis) => write!(f, "{level}_range {axis}"),
                Coordinate::LinearId => write!(f, "{level}_linear_id"),
            },
            Expression::Extent { object, axis } => write!(f, "extent {} {axis}", self.object_name(*object)),
            Expression::Load { object, indices } => f.write_str(&self.element(*object, indices)),
            Expression::Collective { collective, operand } => match collective {
                Collective::Reduce(op) => write!(f, "group_reduce {} {operand}", op.name()),
                Collective::InclusiveScan(op) => write!(f, "group_inclusive_scan {} {operand}", op.name()),
                Collective::ExclusiveScan(op) => write!(f, "group_exclusive_scan {} {operand}", op.name()),
                Collective::Broadcast(from) => write!(f, "group_broadcast {operand} from {from}"),
                Collective::All => write!(f, "group_all {operand}"),
                Collective::Any => write!(f, "group_any {operand}"),
            },
        }
    }

    fn atomic(&self, atomic: &Atomic, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(result) = atomic.result {
            write!(f, "{result}: {} = ", self.dtype(result))?;
        }
        write!(f, "atomic_{} {}", atomic.op.name(), self.element(atomic.object, &atomic.indices))?;
        if let AtomicOp::CompareExchange { expected } = atomic.op {
            write!(f, ", {expected}")?;
        }
        if let Some(operand) = atomic.operand {
            write!(f, ", {operand}")?;
        }
        write!(f, " {:?} {:?}", atomic.order, atomic.scope)
    }
}
