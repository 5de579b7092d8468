//! A form as a list of steps with jumps between them, so that an item can stop anywhere and go on later.

use super::super::tree::{Form, Part, Statement, StatementKind, Value};

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
    let code = Code { steps: Vec::new(), loops: 0 };
    let kernel = Target { is_loop: false, round: 0, ends: Vec::new() };
    let mut flattening = Flattening { code, targets: vec![kernel], open: Vec::new() };
    for part in form.walk() {
        match part {
            Part::Statement { statement, .. } => flattening.statement(statement),
            Part::Enter(statement, number) => flattening.enter(statement, number),
            Part::Leave(statement, number) => flattening.leave(statement, number),
        }
    }
    flattening.land_all();
    flattening.code
}

/// A loop, a call or the kernel.
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
    /// Of each open branch the jump to its next block's end, of each open loop where its round begins.
    open: Vec<usize>,
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

    /// The innermost target ends here.
    fn land_all(&mut self) {
        let ends = self.targets.pop().map(|target| target.ends).unwrap_or_default();
        ends.into_iter().for_each(|end| self.land(end));
    }

    fn jump(&mut self, is_loop: bool) {
        let end = self.push(Step::Jump(0));
        if let Some(target) = self.targets.iter_mut().rev().find(|target| target.is_loop == is_loop) {
            target.ends.push(end);
        }
    }

    fn statement(&mut self, statement: &'a Statement) {
        match &statement.kind {
            StatementKind::If { condition, .. } => {
                let to_else = self.push(Step::Unless(*condition, 0));
                self.open.push(to_else);
            }
            StatementKind::While { .. } => self.open.push(self.here()),
            StatementKind::For { .. } => {
                let number = self.code.loops;
                self.code.loops += 1;
                self.push(Step::Begin(statement, number));
                let round = self.push(Step::Round(statement, number, 0));
                self.open.push(round);
            }
            StatementKind::Break => self.jump(true),
            StatementKind::Continue => {
                let loops = self.targets.iter().rev().find(|target| target.is_loop);
                if let Some(round) = loops.map(|target| target.round) {
                    self.push(Step::Jump(round));
                }
            }
            StatementKind::Return => self.jump(false),
            StatementKind::Call { .. } => {}
            _ => {
                self.push(Step::Do(statement));
            }
        }
    }

    fn enter(&mut self, statement: &Statement, number: usize) {
        let round = self.open.last().copied().unwrap_or(0);
        let target = |is_loop, ends| Target { is_loop, round, ends };
        match &statement.kind {
            StatementKind::While { condition, .. } if number == 1 => {
                let exit = self.push(Step::Unless(*condition, 0));
                self.targets.push(target(true, vec![exit]));
            }
            StatementKind::For { .. } => self.targets.push(target(true, vec![round])),
            StatementKind::Call { .. } => self.targets.push(target(false, Vec::new())),
            _ => {}
        }
    }

    fn leave(&mut self, statement: &Statement, number: usize) {
        match &statement.kind {
            StatementKind::If { .. } => {
                let to_here = self.open.pop();
                if number == 0 {
                    let to_end = self.push(Step::Jump(0));
                    self.open.push(to_end);
                }
                to_here.into_iter().for_each(|jump| self.land(jump));
            }
            StatementKind::While { .. } if number == 0 => {}
            StatementKind::While { .. } | StatementKind::For { .. } => {
                let round = self.open.pop().unwrap_or(0);
                self.push(Step::Jump(round));
                self.land_all();
            }
            _ => self.land_all(),
        }
    }
}
