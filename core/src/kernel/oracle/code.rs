//! A form as a list of steps with jumps between them, so that an item can stop anywhere and go on later.

use super::super::form::{Block, Form, Statement, StatementKind, Value};

/// A step of an item.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    /// A statement without blocks.
    Do(&'a Statement),
    /// Goes on elsewhere where a condition is false.
    Unless(Value, usize),
    /// Goes on elsewhere.
    Jump(usize),
    /// Begins the rounds of a loop, which has a number.
    Begin(&'a Statement, usize),
    /// Begins the next round of a loop, or goes on elsewhere where there is none.
    Round(&'a Statement, usize, usize),
}

/// A flattened form.
pub(super) struct Code<'a> {
    pub(super) steps: Vec<Step<'a>>,
    /// Loops that count.
    pub(super) loops: usize,
}

pub(super) fn flatten(form: &Form) -> Code<'_> {
    let mut flattening = Flattening { code: Code { steps: Vec::new(), loops: 0 }, targets: Vec::new() };
    flattening.call(&form.body);
    flattening.code
}

struct Target {
    is_loop: bool,
    /// Where the next round begins.
    round: usize,
    /// Jumps to the end, wherever that will be.
    ends: Vec<usize>,
}

struct Flattening<'a> {
    code: Code<'a>,
    targets: Vec<Target>,
}

impl<'a> Flattening<'a> {
    fn here(&self) -> usize {
        self.code.steps.len()
    }

    fn push(&mut self, step: Step<'a>) -> usize {
        self.code.steps.push(step);
        self.here() - 1
    }

    fn land(&mut self, jump: usize) {
        let here = self.here();
        match &mut self.code.steps[jump] {
            Step::Unless(_, to) | Step::Jump(to) | Step::Round(_, _, to) => *to = here,
            Step::Do(_) | Step::Begin(..) => {}
        }
    }

    fn within(&mut self, is_loop: bool, round: usize, fill: impl FnOnce(&mut Self)) -> Vec<usize> {
        self.targets.push(Target { is_loop, round, ends: Vec::new() });
        fill(self);
        self.targets.pop().map(|target| target.ends).unwrap_or_default()
    }

    fn call(&mut self, body: &'a Block) {
        let ends = self.within(false, 0, |this| this.block(body));
        ends.into_iter().for_each(|end| self.land(end));
    }

    fn leave(&mut self, is_loop: bool) {
        let end = self.push(Step::Jump(0));
        if let Some(target) = self.targets.iter_mut().rev().find(|target| target.is_loop == is_loop) {
            target.ends.push(end);
        }
    }

    fn block(&mut self, block: &'a Block) {
        for statement in block {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'a Statement) {
        match &statement.kind {
            StatementKind::If { condition, then, otherwise } => {
                let to_else = self.push(Step::Unless(*condition, 0));
                self.block(then);
                let to_end = self.push(Step::Jump(0));
                self.land(to_else);
                self.block(otherwise);
                self.land(to_end);
            }
            StatementKind::While { head, condition, body } => {
                let round = self.here();
                self.block(head);
                let exit = self.push(Step::Unless(*condition, 0));
                let ends = self.within(true, round, |this| this.block(body));
                self.push(Step::Jump(round));
                ends.into_iter().chain([exit]).for_each(|end| self.land(end));
            }
            StatementKind::For { body, .. } => {
                let number = self.code.loops;
                self.code.loops += 1;
                self.push(Step::Begin(statement, number));
                let round = self.push(Step::Round(statement, number, 0));
                let ends = self.within(true, round, |this| this.block(body));
                self.push(Step::Jump(round));
                ends.into_iter().chain([round]).for_each(|end| self.land(end));
            }
            StatementKind::Break => self.leave(true),
            StatementKind::Continue => {
                let loops = self.targets.iter().rev().find(|target| target.is_loop);
                if let Some(round) = loops.map(|target| target.round) {
                    self.push(Step::Jump(round));
                }
            }
            StatementKind::Return => self.leave(false),
            StatementKind::Call { body, .. } => self.call(body),
            _ => {
                self.push(Step::Do(statement));
            }
        }
    }
}
