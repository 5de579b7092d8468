//! One item.

use super::super::space::Space;
use super::super::sync::{Atomic, AtomicOp};
use super::super::tree::{
    Coordinate, Expression, Form, Level, Memory, Object, Parameter, Statement, StatementKind, Value,
};
use super::super::watch::{Access, Watch, failed_assertion, tuple};
use super::code::Step;
use super::memory::Cells;
use super::{Argument, Group};
use crate::diagnostic::{Diagnostic, Position, Rule};
use crate::error::{Error, Result};
use crate::ops::{self, Op};
use crate::scalar::Scalar;

/// Where an item has got to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// It waits for the group at this step.
    Waits(usize),
    /// Nothing is left to do.
    Done,
}

/// An item, and all that is its own.
pub(super) struct Item {
    local: [usize; 3],
    pub(super) global: [usize; 3],
    at: usize,
    values: Vec<Option<Scalar>>,
    variables: Vec<Option<Scalar>>,
    private: Vec<Cells>,
    /// Of each loop that counts, the value of the next round and how many are left.
    rounds: Vec<(i128, u128)>,
}

/// An integer of any dtype.
pub(super) fn integer(value: Scalar) -> i128 {
    match value {
        Scalar::U64(v) => v.into(),
        other => match other.cast(crate::Dtype::I64) {
            Scalar::I64(v) => v.into(),
            _ => 0,
        },
    }
}

impl Item {
    pub(super) fn new(form: &Form, arguments: &[Argument], local: [usize; 3], global: [usize; 3]) -> Self {
        let private = form.objects.iter().map(|object| match &object.memory {
            Memory::Private { shape } => Cells::zeros(shape, object.dtype),
            _ => Cells::default(),
        });
        let mut item = Self {
            local,
            global,
            at: 0,
            values: vec![None; form.values.len()],
            variables: vec![None; form.variables.len()],
            private: private.collect(),
            rounds: Vec::new(),
        };
        for (parameter, argument) in form.parameters.iter().zip(arguments) {
            if let (Parameter::Scalar { value, .. }, Argument::Scalar(scalar)) = (parameter, argument) {
                item.define(*value, *scalar);
            }
        }
        item
    }

    pub(super) fn value(&self, value: Value) -> Scalar {
        self.values[value.number()].unwrap_or_else(|| unreachable!("{value} is defined, by the verifier"))
    }

    pub(super) fn define(&mut self, value: Value, scalar: Scalar) {
        self.values[value.number()] = Some(scalar);
    }

    /// Goes on behind where it has waited.
    pub(super) fn step(&mut self) {
        self.at += 1;
    }

    /// Runs up to where the item waits for others, or to the end.
    pub(super) fn run(
        &mut self,
        group: &Group<'_>,
        memory: &mut [Cells],
        watch: &mut Option<Watch>,
    ) -> Result<Stop> {
        self.rounds.resize(group.code.loops, (0, 0));
        let mut steps = 0;
        while let Some(&step) = group.code.steps.get(self.at) {
            steps += 1;
            let mut next = self.at + 1;
            match step {
                Step::Do(statement) => {
                    if statement.kind.synchronises() {
                        return Ok(Stop::Waits(self.at));
                    }
                    self.statement(group, statement, memory, watch)?;
                }
                Step::Unless(condition, to) => {
                    if self.value(condition) == Scalar::Bool(false) {
                        next = to;
                    }
                }
                Step::Jump(to) => {
                    next = to;
                    if steps > group.checks.steps && to <= self.at {
                        return Err(self.endless(group));
                    }
                }
                Step::Begin(statement, number) => {
                    if let StatementKind::For { start, end, step, .. } = &statement.kind {
                        let [start, end, step] =
                            [*start, *end, *step].map(|bound| integer(self.value(bound)));
                        self.rounds[number] = (start, rounds(start, end, step));
                    }
                }
                Step::Round(statement, number, to) => {
                    let StatementKind::For { counter, step, .. } = &statement.kind else { break };
                    let step = integer(self.value(*step));
                    let (value, left) = &mut self.rounds[number];
                    if *left == 0 {
                        next = to;
                    } else {
                        let dtype = group.kernel.form().dtype(*counter);
                        let scalar = from_integer(*value, dtype);
                        *value += step;
                        *left -= 1;
                        self.define(*counter, scalar);
                    }
                }
            }
            self.at = next;
        }
        Ok(Stop::Done)
    }

    fn endless(&self, group: &Group<'_>) -> Error {
        // The next statement that has a place in the source.
        let place = group.code.steps.iter().skip(self.at).chain(group.code.steps.iter().rev());
        let at = place.filter_map(|step| match step {
            Step::Do(statement) | Step::Begin(statement, _) | Step::Round(statement, ..) => {
                Some(&statement.at)
            }
            _ => None,
        });
        let before = group.code.steps[..self.at].iter().rev().find_map(|step| match step {
            Step::Do(statement) => Some(&statement.at),
            _ => None,
        });
        let nowhere = Position { file: "".into(), line: 0, column: 0, length: 0 };
        let at = before.or(at.into_iter().next()).unwrap_or(&nowhere);
        let message = format!(
            "item {} of group {} goes on for more than {} steps without a barrier",
            tuple(group.space, self.global),
            tuple(group.space, group.id),
            group.checks.steps
        );
        Error::kernel(Diagnostic::new(Rule::EndlessLoop, at, message))
    }

    fn statement(
        &mut self,
        group: &Group<'_>,
        statement: &Statement,
        memory: &mut [Cells],
        watch: &mut Option<Watch>,
    ) -> Result<()> {
        let mut place = Place { group, at: &statement.at, watch };
        match &statement.kind {
            StatementKind::Let { value, expression } => {
                let scalar = self.expression(&mut place, *value, expression, memory)?;
                self.define(*value, scalar);
            }
            StatementKind::Set { variable, value } => {
                self.variables[variable.number()] = Some(self.value(*value));
            }
            StatementKind::Store { object, indices, value } => {
                let scalar = self.value(*value);
                self.access(&mut place, *object, indices, Access::Write, memory, |_| Some(scalar))?;
            }
            StatementKind::Atomic(atomic) => {
                let before = self.atomic(&mut place, atomic, memory)?;
                if let Some(result) = atomic.result {
                    self.define(result, before);
                }
            }
            StatementKind::Assert { condition, message } if self.value(*condition) == Scalar::Bool(false) => {
                return Err(failed_assertion(group.space, self.global, message, &statement.at));
            }
            _ => {}
        }
        Ok(())
    }

    fn expression(
        &mut self,
        place: &mut Place<'_>,
        value: Value,
        expression: &Expression,
        memory: &mut [Cells],
    ) -> Result<Scalar> {
        let form = place.group.kernel.form();
        let space = place.group.space;
        Ok(match expression {
            Expression::Constant(scalar) => *scalar,
            Expression::Apply { op: Op::Cast, operands } => self.value(operands[0]).cast(form.dtype(value)),
            Expression::Apply { op, operands } => {
                let operands: Vec<Scalar> = operands.iter().map(|&operand| self.value(operand)).collect();
                ops::apply(*op, &operands)
                    .unwrap_or_else(|| unreachable!("`{op:?}` takes these, by the verifier"))
            }
            Expression::Get(variable) => self.variables[variable.number()]
                .unwrap_or_else(|| unreachable!("the variable has a value, by the verifier")),
            Expression::Index { level, coordinate } => {
                let (id, extents) = match level {
                    Level::Global => (self.global, space.global),
                    Level::Local => (self.local, space.extents_of(place.group.id)),
                    Level::Group => (place.group.id, space.groups()),
                };
                Scalar::I64(match coordinate {
                    Coordinate::Id(axis) => id[space.axis(*axis)] as i64,
                    Coordinate::Range(axis) => extents[space.axis(*axis)] as i64,
                    Coordinate::LinearId => Space::linear(id, extents) as i64,
                })
            }
            Expression::Extent { object, axis } => {
                let private = matches!(form.object(*object).memory, Memory::Private { .. });
                let cells = if private { &self.private } else { &*memory };
                Scalar::I64(cells[object.number()].shape[usize::from(*axis)] as i64)
            }
            Expression::Load { object, indices } => {
                self.access(place, *object, indices, Access::Read, memory, |_| None)?
            }
            Expression::Collective { operand, .. } => self.value(*operand), // Not here: the group does it.
        })
    }

    fn atomic(&mut self, place: &mut Place<'_>, atomic: &Atomic, memory: &mut [Cells]) -> Result<Scalar> {
        let operand = atomic.operand.map(|operand| self.value(operand));
        let expected = match atomic.op {
            AtomicOp::CompareExchange { expected } => Some(self.value(expected)),
            _ => None,
        };
        let op = atomic.op;
        self.access(place, atomic.object, &atomic.indices, Access::of(op), memory, |before| {
            match (op.combines(), expected) {
                (Some(op), _) => ops::apply(op, &[before, operand?]),
                (None, Some(expected)) if expected.to_bytes() != before.to_bytes() => None,
                _ => operand,
            }
        })
    }

    /// Reads an element, and writes what a function of it says; out of range, the nearest one, and nothing.
    fn access(
        &mut self,
        place: &mut Place<'_>,
        object: Object,
        indices: &[Value],
        access: Access,
        memory: &mut [Cells],
        update: impl FnOnce(Scalar) -> Option<Scalar>,
    ) -> Result<Scalar> {
        let info = place.group.kernel.form().object(object);
        let indices: Vec<i128> = indices.iter().map(|&index| integer(self.value(index))).collect();
        if let Some(watch) = place.watch {
            watch.access(self.global, object, &indices, access, place.at)?;
        }
        let private = matches!(info.memory, Memory::Private { .. });
        let cells = if private { &mut self.private[object.number()] } else { &mut memory[object.number()] };
        let (element, inside) = cells.find(&indices);
        let Some(element) = element else { return Ok(Scalar::I8(0).cast(info.dtype)) };
        let before = cells.elements[element];
        if inside && let Some(after) = update(before) {
            cells.elements[element] = after;
        }
        Ok(before)
    }
}

/// Where an item is.
struct Place<'a> {
    group: &'a Group<'a>,
    at: &'a Position,
    watch: &'a mut Option<Watch>,
}

/// Rounds of a loop, as of Python's `range`.
fn rounds(start: i128, end: i128, step: i128) -> u128 {
    let (distance, stride) = if step < 0 { (start - end, -step) } else { (end - start, step) };
    if distance <= 0 || stride == 0 { 0 } else { ((distance - 1) / stride + 1).unsigned_abs() }
}

fn from_integer(value: i128, dtype: crate::Dtype) -> Scalar {
    // Within the range of the dtype, so of one of these.
    match i64::try_from(value) {
        Ok(value) => Scalar::I64(value).cast(dtype),
        Err(_) => Scalar::U64(value as u64).cast(dtype),
    }
}
