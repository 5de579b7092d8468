//! How long values are needed.

use super::form::{Block, Form, StatementKind, Value};

/// Which values nothing needs any more, by the number of the statement behind which that is: statements are counted in the
/// order of the text, each before those inside of it. A value that a loop uses, and was defined before it, is needed until
/// the loop ends; one of a loop's head, until then too; scalar parameters for ever.
pub(super) fn ends(form: &Form) -> Vec<Vec<Value>> {
    let mut walk = Walk { last: vec![None; form.values.len()], home: vec![0; form.values.len()], count: 0 };
    walk.block(&form.body, 0, &mut Vec::new());
    let mut ends = vec![Vec::new(); walk.count];
    for (number, last) in walk.last.iter().enumerate() {
        if let Some(statement) = last {
            ends[*statement].push(Value(number as u32));
        }
    }
    ends
}

struct Walk {
    /// The statement behind which a value ends.
    last: Vec<Option<usize>>,
    /// How many blocks are around the statement that a value ends with.
    home: Vec<usize>,
    count: usize,
}

impl Walk {
    fn define(&mut self, value: Value, home: usize, around: &[usize]) {
        self.home[value.number()] = home;
        self.last[value.number()] = Some(around[home]);
    }

    /// `home` is that of the values defined in the block, `around` the numbers of the statements that are open.
    fn block(&mut self, block: &Block, home: usize, around: &mut Vec<usize>) {
        for statement in block {
            around.push(self.count);
            self.count += 1;
            for value in statement.kind.uses() {
                // What was never defined here is a parameter.
                if self.last[value.number()].is_some() {
                    self.last[value.number()] = Some(around[self.home[value.number()]]);
                }
            }
            if let Some(value) = statement.kind.defines() {
                self.define(value, home, around);
            }
            let inside = around.len();
            match &statement.kind {
                StatementKind::While { head, condition, body } => {
                    self.block(head, inside - 1, around);
                    if self.last[condition.number()].is_some() {
                        self.last[condition.number()] = Some(around[self.home[condition.number()]]);
                    }
                    self.block(body, inside, around);
                }
                StatementKind::For { counter, body, .. } => {
                    self.define(*counter, inside - 1, around);
                    self.block(body, inside, around);
                }
                kind => kind.blocks().for_each(|block| self.block(block, inside, around)),
            }
            around.pop();
        }
    }
}
