//! Seeded faults: each barrier, atomic access, index and bound of the well-known kernels is broken, one by one, and checked mode
//! names every one.
//!
//! A bound is an integer compared with what is the same for the whole group, the smaller one of two, or the end of a loop. Not
//! those of loops with barriers: a `while` would have no end, and of tiles one more is empty, as every access has its own guard.

use stridewise::kernel::{Class, Expression, Form, Kernel, Rule, Statement, StatementKind, Value};
use stridewise::{Dtype, Error, Op, Queue, Scalar};

use super::examples;
use crate::cell::{Check, Stop, ensure, wrong};
use crate::known::Example;

/// What is broken.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// No barrier, nor a fence of it.
    Barrier,
    /// A plain load and store instead of an atomic access.
    Atomic,
    /// An index of a load or store that is further than it should be: beyond all of the array.
    Far,
    /// The same, before the first.
    Negative,
    /// A bound that is further by one, or by one step.
    Bound,
}

const FAULTS: [Fault; 5] = [Fault::Barrier, Fault::Atomic, Fault::Far, Fault::Negative, Fault::Bound];

/// Whether a statement is a bound.
fn is_bound(kernel: &Kernel, statement: &StatementKind) -> bool {
    match statement {
        StatementKind::Let { expression: Expression::Apply { op, operands }, .. } => {
            let is_index = |&value: &Value| kernel.form().dtype(value) == Dtype::I64;
            let is_limit = |&value: &Value| kernel.class(value) == Class::Uniform;
            let limits = operands.iter().filter(|value| is_limit(value)).count();
            let compares = match op {
                Op::Less | Op::Greater | Op::GreaterEqual => limits == 1,
                Op::Minimum => limits > 0,
                _ => false,
            };
            compares && operands.iter().all(is_index)
        }
        StatementKind::For { .. } => !statement.has_barrier(),
        _ => false,
    }
}

/// The form with the n-th place of a kind broken, if there are so many, and the line.
fn broken(kernel: &Kernel, fault: Fault, number: usize) -> Option<(Form, u32)> {
    let mut form = kernel.form().clone();
    // What the conditions of `while` are computed by.
    let mut conditions = Vec::new();
    kernel.form().for_each_statement(|statement| {
        if let StatementKind::While { head, .. } = &statement.kind {
            conditions.extend(head.iter().filter_map(|statement| statement.kind.defines()));
        }
    });
    let mut values = form.values.clone();
    let (mut left, mut line) = (number, 0);
    let mut body = std::mem::take(&mut form.body);
    let done = walk(&mut body, &mut |block, at| {
        let applies = match (&block[at].kind, fault) {
            (StatementKind::Barrier(_), Fault::Barrier) => true,
            (StatementKind::Atomic(atomic), Fault::Atomic) => atomic.operand.is_some(),
            (StatementKind::Store { .. }, Fault::Far | Fault::Negative) => true,
            (
                StatementKind::Let { expression: Expression::Load { .. }, .. },
                Fault::Far | Fault::Negative,
            ) => true,
            (kind, Fault::Bound) => {
                is_bound(kernel, kind) && kind.defines().is_none_or(|value| !conditions.contains(&value))
            }
            _ => false,
        };
        if !applies {
            return false;
        }
        if left > 0 {
            left -= 1;
            return false;
        }
        line = block[at].at.line;
        seed(block, at, fault, &mut values, &form);
        true
    });
    (form.body, form.values) = (body, values);
    done.then_some((form, line))
}

/// Calls a function with each statement of a block, in the order of the text, until one says that it is done.
fn walk(block: &mut Vec<Statement>, visit: &mut impl FnMut(&mut Vec<Statement>, usize) -> bool) -> bool {
    for at in 0..block.len() {
        if visit(block, at) {
            return true;
        }
        let inside: Vec<&mut Vec<Statement>> = match &mut block[at].kind {
            StatementKind::If { then, otherwise, .. } => vec![then, otherwise],
            StatementKind::While { head, body, .. } => vec![head, body],
            StatementKind::For { body, .. } | StatementKind::Call { body, .. } => vec![body],
            _ => Vec::new(),
        };
        for block in inside {
            if walk(block, visit) {
                return true;
            }
        }
    }
    false
}

fn seed(
    block: &mut Vec<Statement>,
    at: usize,
    fault: Fault,
    values: &mut Vec<stridewise::Dtype>,
    form: &Form,
) {
    let place = block[at].at.clone();
    let fresh = |values: &mut Vec<stridewise::Dtype>, dtype| {
        values.push(dtype);
        Value::of_number(values.len() as u32 - 1)
    };
    match fault {
        Fault::Barrier => drop(block.remove(at)),
        Fault::Atomic => {
            let StatementKind::Atomic(atomic) = block[at].kind.clone() else { return };
            let dtype = form.object(atomic.object).dtype;
            let before = atomic.result.unwrap_or_else(|| fresh(values, dtype));
            let (Some(operand), Some(op)) = (atomic.operand, atomic.op.combines()) else { return };
            let after = fresh(values, dtype);
            let load = Expression::Load { object: atomic.object, indices: atomic.indices.clone() };
            let sum = Expression::Apply { op, operands: [before, operand].into_iter().collect() };
            let store = StatementKind::Store { object: atomic.object, indices: atomic.indices, value: after };
            let steps = [
                StatementKind::Let { value: before, expression: load },
                StatementKind::Let { value: after, expression: sum },
                store,
            ];
            block.splice(at..=at, steps.map(|kind| Statement { kind, at: place.clone() }));
        }
        Fault::Bound => {
            let one = fresh(values, Dtype::I64);
            let further = fresh(values, Dtype::I64);
            let constant = Statement {
                kind: StatementKind::Let { value: one, expression: Expression::Constant(Scalar::I64(1)) },
                at: place.clone(),
            };
            let moved = |op, from, by| Statement {
                kind: StatementKind::Let {
                    value: further,
                    expression: Expression::Apply { op, operands: [from, by].into_iter().collect() },
                },
                at: place.clone(),
            };
            match &mut block[at].kind {
                StatementKind::For { end, step, .. } => {
                    let (from, by) = (*end, *step);
                    *end = further;
                    block.insert(at, moved(Op::Add, from, by));
                }
                StatementKind::Let { value, expression: Expression::Apply { op, operands } } => match *op {
                    Op::Less => *op = Op::LessEqual,
                    Op::Greater => *op = Op::GreaterEqual,
                    Op::GreaterEqual => {
                        let limit = std::mem::replace(&mut operands[1], further);
                        block.splice(at..at, [constant, moved(Op::Subtract, limit, one)]);
                    }
                    _ => {
                        // What took the smaller one takes one more.
                        let smaller = std::mem::replace(value, further);
                        let sum = [further, one].into_iter().collect();
                        let expression = Expression::Apply { op: Op::Add, operands: sum };
                        let kind = StatementKind::Let { value: smaller, expression };
                        block.splice(at + 1..at + 1, [constant, Statement { kind, at: place }]);
                    }
                },
                _ => {}
            }
        }
        Fault::Far | Fault::Negative => {
            let away = if let Fault::Far = fault { Scalar::I64(1 << 40) } else { Scalar::I64(-1) };
            let index = fresh(values, stridewise::Dtype::I64);
            match &mut block[at].kind {
                StatementKind::Store { indices, .. }
                | StatementKind::Let { expression: Expression::Load { indices, .. }, .. } => {
                    let last = indices.len() - 1;
                    indices[last] = index;
                }
                _ => return,
            }
            let kind = StatementKind::Let { value: index, expression: Expression::Constant(away) };
            block.insert(at, Statement { kind, at: place });
        }
    }
}

/// Breaks every place of an example's kernels, and counts those that checked mode names.
pub(super) fn all_are_named(example: &mut Example, queue: &Queue) -> Check<usize> {
    let mut named = 0;
    let kernels: Vec<Kernel> = example.launches.iter().map(|launch| launch.kernel.clone()).collect();
    let mut seen: Vec<u64> = Vec::new();
    for kernel in &kernels {
        if seen.contains(&kernel.number()) {
            continue;
        }
        seen.push(kernel.number());
        for fault in FAULTS {
            for number in 0.. {
                let Some((form, line)) = broken(kernel, fault, number) else { break };
                let name = format!("{} of {}: {fault:?} {number}, line {line}", kernel.name(), example.name);
                let mutant = Kernel::new(form)?;
                for (launch, original) in example.launches.iter_mut().zip(&kernels) {
                    let same = original.number() == kernel.number();
                    launch.kernel = if same { mutant.clone() } else { original.clone() };
                }
                let rules: &[Rule] = match fault {
                    Fault::Barrier => &[Rule::Race, Rule::UninitialisedLocal],
                    Fault::Atomic => &[Rule::Race],
                    Fault::Far | Fault::Negative => &[Rule::OutOfBounds],
                    Fault::Bound => &[Rule::OutOfBounds, Rule::Race],
                };
                match examples::run(example, queue, true) {
                    Err(Error::Kernel(found)) => {
                        ensure!(rules.contains(&found.rule), "{name}: {found}");
                        let places: Vec<u32> = std::iter::once(found.at.line)
                            .chain(found.notes.iter().map(|n| n.0.line))
                            .collect();
                        let exact = !matches!(fault, Fault::Barrier | Fault::Bound);
                        ensure!(!exact || places.contains(&line), "{name}: {found}");
                        named += 1;
                    }
                    Err(other) => return Err(Stop::from(other)),
                    Ok(_) => wrong!("{name}: nothing is named"),
                }
            }
        }
    }
    Ok(named)
}
