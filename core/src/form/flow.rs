//! What holds on every path through a form: that variables have values where they are read, that all items of
//! a group come to each barrier, and how values differ between the items that come to them.
//!
//! It is an analysis of data flow over structured code. A [`State`] says what is known at a place; where two
//! paths come together, `join` keeps what holds on both; a loop is gone through until its head does not
//! change any more (`end_round`). Both facts only get weaker, so that this ends.
//! ```text
//! if id < 3 { x = 1 } else { x = 2 }    x has a value on both paths; items differ in the condition, so x is `Varying`
//! if n < 3 { barrier() }                n is `Uniform`: all items come to the barrier, or none
//! while … { if id == 0 { break } barrier() }     some have left: an error at the barrier
//! ```
//! [`Class`] is also what backends read: what is uniform is computed once, what is affine needs no gather. So
//! a class may be wrong in one direction only: `Varying` is always right, and slow. Forms are nested as
//! deeply as somebody likes, so nothing here recurses.

use std::collections::HashMap;

use super::sync::Collective;
use super::tree::{Coordinate, Expression, Form, Level, Memory, Part, Statement, StatementKind, Value};
use crate::diagnostic::{Diagnostic, Position, Rule};
use crate::ops::Op;
use crate::scalar::Scalar;

/// How a value differs between the items of a group that come to it together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Class {
    /// Not at all. An element at a uniform place counts as uniform: in a kernel without races all items see the same.
    #[default]
    Uniform,
    /// An integer that is a uniform value plus uniform multiples of the local ids, modulo what its dtype wraps at.
    Affine,
    /// In any way.
    Varying,
}

/// Nobody has left for a construct that is still open.
const NOBODY: usize = usize::MAX;

/// What holds at a place in a form.
#[derive(Clone, PartialEq)]
struct State {
    reachable: bool,
    /// For each variable whether it has a value, whatever the path.
    assigned: Vec<bool>,
    /// For each variable how it differs.
    classes: Vec<Class>,
    /// Some items have left, by a jump that others did not take, to where the construct of this depth ends or goes on: see
    /// [`Target`]. The others are not all of the group until then.
    gone: usize,
    /// The jump.
    jump: Option<Position>,
}

impl State {
    /// Of two paths that come together.
    fn join(mut self, other: Self) -> Self {
        if other.gone < self.gone {
            (self.gone, self.jump) = (other.gone, other.jump);
        }
        if !other.reachable {
            return self;
        }
        if !self.reachable {
            let (gone, jump) = (self.gone, self.jump);
            return Self { gone, jump, ..other };
        }
        for (a, b) in self.assigned.iter_mut().zip(other.assigned) {
            *a &= b;
        }
        for (a, b) in self.classes.iter_mut().zip(other.classes) {
            *a = b.max(*a);
        }
        self
    }

    /// Items come together again that were apart inside of a statement.
    fn rejoin(&mut self, statement: &Statement) {
        for inner in statement.kind.inside() {
            if let StatementKind::Set { variable, .. } = inner.kind {
                self.classes[variable.number()] = Class::Varying;
            }
        }
    }

    fn arrive(&mut self, depth: usize) {
        if self.gone >= depth {
            (self.gone, self.jump) = (NOBODY, None);
        }
    }
}

/// A loop or call that jumps lead to. Its depth is counted in twos, so that the end of a loop's round is one further in
/// than the end of the loop.
struct Target {
    is_loop: bool,
    /// What holds where a `break` or `return` leads.
    ends: State,
    /// What holds where a `continue` leads.
    rounds: State,
    /// Whether items leave while others stay.
    ends_apart: bool,
    /// Whether items go on with the next round while others are still in this one.
    rounds_apart: bool,
}

/// What is known of a loop from the passes through it so far.
#[derive(Clone)]
struct Loop {
    head: State,
    /// Whether items leave it after different numbers of rounds.
    apart: bool,
}

/// A statement with blocks that is open.
enum Open {
    If {
        /// Whether items differ in the condition.
        apart: bool,
        /// What holds where the other block begins, then what holds where the first one ends.
        other: State,
    },
    Loop(Box<Pass>),
    Call,
}

/// A pass through a loop.
struct Pass {
    /// What holds where items come to it.
    entry: State,
    /// What was known before this pass.
    before: Loop,
    known: Loop,
    /// What holds where the condition is false.
    exit: State,
}

struct Flow<'a> {
    form: &'a Form,
    classes: Vec<Class>,
    /// Values that are known to be true.
    is_true: Vec<bool>,
    /// The conditions that not all items of a group agree on, inside of which we are.
    apart: Vec<Position>,
    targets: Vec<Target>,
    loops: HashMap<*const Statement, Loop>,
    open: Vec<Open>,
}

/// Checks a form that [`verify`](super::verify) has accepted, and classifies its values.
pub(super) fn check(form: &Form) -> Result<Vec<Class>, Diagnostic> {
    let mut flow = Flow {
        form,
        classes: vec![Class::Uniform; form.values.len()],
        is_true: vec![false; form.values.len()],
        apart: Vec::new(),
        targets: Vec::new(),
        loops: HashMap::new(),
        open: Vec::new(),
    };
    let start = State {
        reachable: true,
        assigned: vec![false; form.variables.len()],
        classes: vec![Class::Uniform; form.variables.len()],
        gone: NOBODY,
        jump: None,
    };
    flow.pass(start)?;
    Ok(flow.classes)
}

/// Of each part where a block begins the number of that where it ends, and the other way round.
fn partners(parts: &[Part<'_>]) -> Vec<usize> {
    let (mut partners, mut open) = (vec![0; parts.len()], Vec::new());
    for (number, part) in parts.iter().enumerate() {
        match part {
            Part::Statement { .. } => {}
            Part::Enter(..) => open.push(number),
            Part::Leave(..) => {
                let begin = open.pop().unwrap_or(number);
                (partners[begin], partners[number]) = (number, begin);
            }
        }
    }
    partners
}

impl Flow<'_> {
    fn class(&self, value: Value) -> Class {
        self.classes[value.number()]
    }

    fn widest(&self, values: &[Value]) -> Class {
        values.iter().map(|&value| self.class(value)).max().unwrap_or_default()
    }

    /// Goes through the form, and through its loops until what holds at their heads does not change.
    fn pass(&mut self, start: State) -> Result<(), Diagnostic> {
        let parts: Vec<Part<'_>> = self.form.walk().collect();
        let partners = partners(&parts);
        let mut state = start;
        self.targets.push(self.new_target(false, &state));
        let (mut at, mut blocks) = (0, Vec::new());
        while let Some(&part) = parts.get(at) {
            let here = at;
            at += 1;
            match part {
                // Behind a jump nothing is run, up to the end of the block.
                Part::Statement { .. } if !state.reachable => match blocks.last() {
                    Some(&begin) => at = partners[begin],
                    None => break,
                },
                Part::Statement { statement, .. } => self.statement(statement, &mut state)?,
                Part::Enter(..) => blocks.push(here),
                Part::Leave(statement, number) => {
                    blocks.pop();
                    if self.leave(statement, number, &mut state) {
                        at = partners[here];
                        if number == 1 {
                            // Of a loop that computes its condition, the head comes first.
                            at = partners[at - 1];
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// A statement begins, and ends where there is nothing inside.
    fn statement(&mut self, statement: &Statement, state: &mut State) -> Result<(), Diagnostic> {
        if statement.kind.synchronises() {
            self.all_come(statement, state)?;
        }
        match &statement.kind {
            StatementKind::Let { value, expression } => {
                if let Expression::Get(variable) = expression
                    && !state.assigned[variable.number()]
                {
                    let name = &self.form.variables[variable.number()].name;
                    let message = format!("`{name}` is read, and on some path it has no value yet");
                    return Err(Diagnostic::new(Rule::DefiniteAssignment, &statement.at, message));
                }
                self.is_true[value.number()] = *expression == Expression::Constant(Scalar::Bool(true));
                let class = self.expression(*value, expression, state);
                let known = &mut self.classes[value.number()];
                *known = class.max(*known);
            }
            StatementKind::Atomic(atomic) => {
                if let Some(result) = atomic.result {
                    self.classes[result.number()] = Class::Varying;
                }
            }
            StatementKind::Set { variable, value } => {
                state.assigned[variable.number()] = true;
                state.classes[variable.number()] = self.class(*value);
            }
            StatementKind::If { condition, .. } => {
                let apart = self.class(*condition) != Class::Uniform;
                if apart {
                    self.apart.push(statement.at.clone());
                }
                self.open.push(Open::If { apart, other: state.clone() });
            }
            StatementKind::While { .. } | StatementKind::For { .. } => {
                let known = match self.loops.get(&std::ptr::from_ref(statement)) {
                    Some(known) => Loop { head: known.head.clone().join(state.clone()), apart: known.apart },
                    None => Loop { head: state.clone(), apart: false },
                };
                self.begin_round(statement, state.clone(), known, state);
            }
            StatementKind::Break | StatementKind::Continue | StatementKind::Return => {
                self.jump(statement, state);
            }
            StatementKind::Call { .. } => {
                self.targets.push(self.new_target(false, state));
                self.open.push(Open::Call);
            }
            StatementKind::Store { .. }
            | StatementKind::Fence { .. }
            | StatementKind::Barrier(_)
            | StatementKind::Assert { .. } => {}
        }
        Ok(())
    }

    /// A block ends. Whether it is a loop's that is gone through again.
    fn leave(&mut self, statement: &Statement, number: usize, state: &mut State) -> bool {
        match (&statement.kind, self.open.pop()) {
            (StatementKind::If { .. }, Some(Open::If { apart, mut other })) if number == 0 => {
                std::mem::swap(state, &mut other);
                self.open.push(Open::If { apart, other });
            }
            (_, Some(Open::If { apart, other })) => {
                *state = other.join(state.clone());
                if apart {
                    self.apart.pop();
                    state.rejoin(statement);
                }
            }
            (StatementKind::While { condition, .. }, Some(Open::Loop(mut pass))) if number == 0 => {
                pass.known.apart |= self.class(*condition) != Class::Uniform;
                pass.exit.clone_from(state);
                pass.exit.reachable &= !self.is_true[condition.number()];
                self.open.push(Open::Loop(pass));
            }
            (_, Some(Open::Loop(pass))) => return self.end_round(statement, *pass, state),
            (_, Some(Open::Call) | None) => {
                let depth = 2 * (self.targets.len() - 1);
                let Some(target) = self.targets.pop() else { return false };
                let apart = target.ends_apart;
                *state = state.clone().join(target.ends);
                if apart {
                    state.rejoin(statement);
                }
                state.arrive(depth);
            }
        }
        false
    }

    fn all_come(&self, statement: &Statement, state: &State) -> Result<(), Diagnostic> {
        let what = if matches!(statement.kind, StatementKind::Barrier(_)) { "barrier" } else { "collective" };
        let (cause, note) = match (self.apart.last(), &state.jump) {
            (Some(cause), _) => (cause, "items of a group differ in this condition"),
            (None, Some(jump)) => (jump, "some items of a group may have left here"),
            (None, None) => return Ok(()),
        };
        let message = format!("a {what} that some items of a group may not come to");
        Err(Diagnostic::new(Rule::UniformControl, &statement.at, message).note(cause, note))
    }

    fn new_target(&self, is_loop: bool, state: &State) -> Target {
        let nobody = State { reachable: false, gone: NOBODY, jump: None, ..state.clone() };
        Target { is_loop, ends: nobody.clone(), rounds: nobody, ends_apart: false, rounds_apart: false }
    }

    fn jump(&mut self, statement: &Statement, state: &mut State) {
        let is_return = statement.kind == StatementKind::Return;
        let Some(depth) = self.targets.iter().rposition(|target| target.is_loop != is_return) else { return };
        let apart = !self.apart.is_empty() || state.gone != NOBODY;
        let is_round = statement.kind == StatementKind::Continue;
        let target = &mut self.targets[depth];
        let (there, there_apart) = match is_round {
            true => (&mut target.rounds, &mut target.rounds_apart),
            false => (&mut target.ends, &mut target.ends_apart),
        };
        *there_apart |= apart;
        *there = state.clone().join(there.clone());
        let gone = 2 * depth + usize::from(is_round);
        if apart && gone < state.gone {
            (state.gone, state.jump) = (gone, Some(statement.at.clone()));
        }
        state.reachable = false;
    }

    /// A pass through a loop begins.
    fn begin_round(&mut self, statement: &Statement, entry: State, mut known: Loop, state: &mut State) {
        let before = known.clone();
        self.targets.push(self.new_target(true, &entry));
        if known.apart {
            self.apart.push(statement.at.clone());
        }
        state.clone_from(&known.head);
        if let StatementKind::For { counter, start, end, step, .. } = &statement.kind {
            known.apart |= self.widest(&[*start, *end, *step]) != Class::Uniform;
            let class = self.widest(&[*start, *step]);
            self.classes[counter.number()] = class.max(self.class(*counter));
        }
        let exit = state.clone();
        self.open.push(Open::Loop(Box::new(Pass { entry, before, known, exit })));
    }

    /// A pass through a loop ends. Whether there is another one.
    fn end_round(&mut self, statement: &Statement, pass: Pass, state: &mut State) -> bool {
        let Pass { entry, before, mut known, exit } = pass;
        if before.apart {
            self.apart.pop();
        }
        let depth = 2 * (self.targets.len() - 1);
        let Some(target) = self.targets.pop() else { return false };
        let mut round = state.clone().join(target.rounds);
        if target.rounds_apart {
            round.rejoin(statement);
        }
        round.arrive(depth + 1);
        known.head = known.head.join(round);
        if known.head != before.head || known.apart != before.apart {
            self.begin_round(statement, entry, known, state);
            return true;
        }
        let mut end = exit.join(target.ends);
        if known.apart || target.ends_apart {
            end.rejoin(statement);
        }
        end.arrive(depth);
        self.loops.insert(std::ptr::from_ref(statement), known);
        *state = end;
        false
    }

    fn expression(&self, value: Value, expression: &Expression, state: &State) -> Class {
        let class = match expression {
            Expression::Constant(_) | Expression::Extent { .. } => Class::Uniform,
            Expression::Apply { op, operands } => self.operation(*op, operands),
            Expression::Get(variable) => state.classes[variable.number()],
            Expression::Index { level, coordinate } => match (level, coordinate) {
                (Level::Group, _) | (_, Coordinate::Range(_)) => Class::Uniform,
                _ => Class::Affine,
            },
            Expression::Load { object, indices } => {
                let private = matches!(self.form.object(*object).memory, Memory::Private { .. });
                match self.widest(indices) {
                    Class::Uniform if !private => Class::Uniform,
                    _ => Class::Varying,
                }
            }
            Expression::Collective { collective, .. } => match collective {
                Collective::InclusiveScan(_) | Collective::ExclusiveScan(_) => Class::Varying,
                _ => Class::Uniform,
            },
        };
        let integer = self.form.dtype(value).kind().is_integer();
        if class == Class::Affine && !integer { Class::Varying } else { class }
    }

    fn operation(&self, op: Op, operands: &[Value]) -> Class {
        let affine = match (op, operands) {
            (Op::Add | Op::Subtract | Op::Negative | Op::Copy | Op::Cast, _) => true,
            (Op::Multiply, &[a, b]) => self.class(a).min(self.class(b)) == Class::Uniform,
            (Op::BitwiseLeftShift, &[_, count]) => self.class(count) == Class::Uniform,
            (Op::Where, &[condition, ..]) => self.class(condition) == Class::Uniform,
            _ => false,
        };
        match self.widest(operands) {
            Class::Affine if !affine => Class::Varying,
            class => class,
        }
    }
}
