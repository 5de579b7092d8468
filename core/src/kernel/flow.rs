//! What holds on every path through a form: that variables have values where they are read, that all items of a group
//! come to each barrier, and how values differ between the items that come to them.

use std::collections::HashMap;

use super::form::{Block, Coordinate, Expression, Form, Level, Memory, Statement, StatementKind, Value};
use super::sync::Collective;
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

    /// Items come together again that were apart in these blocks.
    fn rejoin(&mut self, blocks: &[&Block]) {
        for block in blocks {
            for_each_set(block, &mut |variable| self.classes[variable] = Class::Varying);
        }
    }

    fn arrive(&mut self, depth: usize) {
        if self.gone >= depth {
            (self.gone, self.jump) = (NOBODY, None);
        }
    }
}

fn for_each_set(block: &Block, visit: &mut impl FnMut(usize)) {
    for statement in block {
        if let StatementKind::Set { variable, .. } = statement.kind {
            visit(variable.number());
        }
        statement.kind.blocks().for_each(|block| for_each_set(block, visit));
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

struct Flow<'a> {
    form: &'a Form,
    classes: Vec<Class>,
    /// Values that are known to be true.
    is_true: Vec<bool>,
    /// The conditions that not all items of a group agree on, inside of which we are.
    apart: Vec<Position>,
    targets: Vec<Target>,
    loops: HashMap<*const Statement, Loop>,
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
    };
    let start = State {
        reachable: true,
        assigned: vec![false; form.variables.len()],
        classes: vec![Class::Uniform; form.variables.len()],
        gone: NOBODY,
        jump: None,
    };
    flow.call(&form.body, start)?;
    Ok(flow.classes)
}

impl Flow<'_> {
    fn class(&self, value: Value) -> Class {
        self.classes[value.number()]
    }

    fn widest(&self, values: &[Value]) -> Class {
        values.iter().map(|&value| self.class(value)).max().unwrap_or_default()
    }

    fn block(&mut self, block: &Block, mut state: State) -> Result<State, Diagnostic> {
        for statement in block {
            if !state.reachable {
                break;
            }
            state = self.statement(statement, state)?;
        }
        Ok(state)
    }

    fn statement(&mut self, statement: &Statement, mut state: State) -> Result<State, Diagnostic> {
        if statement.kind.synchronises() {
            self.all_come(statement, &state)?;
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
                let class = self.expression(*value, expression, &state);
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
            StatementKind::If { condition, then, otherwise } => {
                let apart = self.class(*condition) != Class::Uniform;
                if apart {
                    self.apart.push(statement.at.clone());
                }
                let after = self.block(then, state.clone())?;
                state = after.join(self.block(otherwise, state)?);
                if apart {
                    self.apart.pop();
                    state.rejoin(&[then, otherwise]);
                }
            }
            StatementKind::While { .. } | StatementKind::For { .. } => {
                return self.repeated(statement, state);
            }
            StatementKind::Break | StatementKind::Continue | StatementKind::Return => {
                self.jump(statement, &mut state);
            }
            StatementKind::Call { body, .. } => return self.call(body, state),
            StatementKind::Store { .. }
            | StatementKind::Fence { .. }
            | StatementKind::Barrier(_)
            | StatementKind::Assert { .. } => {}
        }
        Ok(state)
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

    fn call(&mut self, body: &Block, state: State) -> Result<State, Diagnostic> {
        let target = self.new_target(false, &state);
        self.targets.push(target);
        let end = self.block(body, state)?;
        let depth = 2 * (self.targets.len() - 1);
        let Some(target) = self.targets.pop() else { return Ok(end) };
        let mut end = end.join(target.ends);
        if target.ends_apart {
            end.rejoin(&[body]);
        }
        end.arrive(depth);
        Ok(end)
    }

    /// Passes through a loop until what holds at its head does not change.
    fn repeated(&mut self, statement: &Statement, entry: State) -> Result<State, Diagnostic> {
        let key = std::ptr::from_ref(statement);
        let mut known = match self.loops.get(&key) {
            Some(known) => Loop { head: known.head.clone().join(entry.clone()), apart: known.apart },
            None => Loop { head: entry.clone(), apart: false },
        };
        loop {
            let before = known.clone();
            let target = self.new_target(true, &entry);
            self.targets.push(target);
            let depth = 2 * (self.targets.len() - 1);
            if known.apart {
                self.apart.push(statement.at.clone());
            }
            let (mut blocks, mut head) = (Vec::new(), known.head.clone());
            let (exit, round) = match &statement.kind {
                StatementKind::While { head: first, condition, body } => {
                    head = self.block(first, head)?;
                    known.apart |= self.class(*condition) != Class::Uniform;
                    blocks.extend([first, body]);
                    let exit = State {
                        reachable: head.reachable && !self.is_true[condition.number()],
                        ..head.clone()
                    };
                    (exit, self.block(body, head)?)
                }
                StatementKind::For { counter, start, end, step, body } => {
                    known.apart |= self.widest(&[*start, *end, *step]) != Class::Uniform;
                    let class = self.widest(&[*start, *step]);
                    self.classes[counter.number()] = class.max(self.class(*counter));
                    blocks.push(body);
                    (head.clone(), self.block(body, head)?)
                }
                _ => (head.clone(), head),
            };
            if before.apart {
                self.apart.pop();
            }
            let Some(target) = self.targets.pop() else { return Ok(exit) };
            let mut round = round.join(target.rounds);
            if target.rounds_apart {
                round.rejoin(&blocks);
            }
            round.arrive(depth + 1);
            known.head = known.head.join(round);
            if known.head == before.head && known.apart == before.apart {
                let mut end = exit.join(target.ends);
                if known.apart || target.ends_apart {
                    end.rejoin(&blocks);
                }
                end.arrive(depth);
                self.loops.insert(key, known);
                return Ok(end);
            }
        }
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
