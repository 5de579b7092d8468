//! How long values are needed.

use super::tree::{Form, Part, Statement, StatementKind, Value};

/// Which values nothing needs any more, by the number of the statement behind which that is: statements are counted in the
/// order of the text, each before those inside of it. A value that a loop uses, and was defined before it, is needed until
/// the loop ends; one of a loop's head, until then too; scalar parameters for ever.
pub(super) fn ends(form: &Form) -> Vec<Vec<Value>> {
    let mut lives = Lives {
        last: vec![None; form.values.len()],
        home: vec![0; form.values.len()],
        around: Vec::new(),
        homes: vec![0],
        count: 0,
    };
    for part in form.walk() {
        match part {
            Part::Statement { statement, .. } => lives.statement(statement),
            Part::Enter(statement, number) => lives.enter(statement, number),
            Part::Leave(statement, number) => lives.leave(statement, number),
        }
    }
    let mut ends = vec![Vec::new(); lives.count];
    for (number, last) in lives.last.iter().enumerate() {
        if let Some(statement) = last {
            ends[*statement].push(Value(number as u32));
        }
    }
    ends
}

struct Lives {
    /// The statement behind which a value ends.
    last: Vec<Option<usize>>,
    /// How many blocks are around the statement that a value ends with.
    home: Vec<usize>,
    /// The numbers of the statements that are open.
    around: Vec<usize>,
    /// Of each block that is open, the home of the values that are defined in it.
    homes: Vec<usize>,
    count: usize,
}

impl Lives {
    fn define(&mut self, value: Value, home: usize) {
        self.home[value.number()] = home;
        self.last[value.number()] = Some(self.around[home]);
    }

    fn use_(&mut self, value: Value) {
        // What was never defined here is a parameter.
        if self.last[value.number()].is_some() {
            self.last[value.number()] = Some(self.around[self.home[value.number()]]);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        self.around.push(self.count);
        self.count += 1;
        // The condition of a loop is of its head, and used behind it.
        if !matches!(statement.kind, StatementKind::While { .. }) {
            statement.kind.uses().into_iter().for_each(|value| self.use_(value));
        }
        let home = self.homes.last().copied().unwrap_or(0);
        if let Some(value) = statement.kind.defines() {
            self.define(value, home);
        }
        if statement.kind.block_count() == 0 {
            self.around.pop();
        }
    }

    fn enter(&mut self, statement: &Statement, number: usize) {
        let inside = self.around.len();
        match &statement.kind {
            StatementKind::While { .. } if number == 0 => return self.homes.push(inside - 1),
            StatementKind::For { counter, .. } => self.define(*counter, inside - 1),
            _ => {}
        }
        self.homes.push(inside);
    }

    fn leave(&mut self, statement: &Statement, number: usize) {
        self.homes.pop();
        if let (StatementKind::While { condition, .. }, 0) = (&statement.kind, number) {
            self.use_(*condition);
        }
        if number + 1 == statement.kind.block_count() {
            self.around.pop();
        }
    }
}
