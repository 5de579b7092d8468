//! Branches whose conditions compare what follows the ids with bounds: mostly these hold for all lanes of a gang or for none, which the
//! first and the last lane's numbers say, so that nothing is computed for each lane.
//!
//! ```text
//! if row < rows and column < columns { A }     all: A without a mask     none: behind it     some: the conditions of each lane, a mask, A
//! ```
//! Where the first lanes are those for which one holds (`if j < active`), they are a gang of fewer lanes as long as the branch lasts.

use std::collections::HashSet;

use stridewise_core::kernel::{Expression, Form, Part, StatementKind, Value};
use stridewise_core::{Dtype, Op};
use stridewise_native::{Cell, Kind, Order, Place, Relation, Target};

use super::{Done, Lower, Mask, Of, Open, OpenKind, Out, has, stored};
use crate::interpreter::compiled::shapes::{Shape, Shapes};
use crate::kernels::native::compiler::trace;

/// Something that has to be true.
#[derive(Clone, Copy)]
pub(super) enum Term {
    /// A truth value that is one for all.
    One(Cell),
    /// A number that follows the ids: its relation to a bound that is one for all.
    Order { order: Order, dtype: Dtype },
}

/// The operation with its operands exchanged.
const fn exchanged(op: Op) -> Op {
    match op {
        Op::Less => Op::Greater,
        Op::LessEqual => Op::GreaterEqual,
        Op::Greater => Op::Less,
        Op::GreaterEqual => Op::LessEqual,
        other => other,
    }
}

/// The relation that an operation asks for.
const fn relation(op: Op) -> Option<Relation> {
    match op {
        Op::Less => Some(Relation::Less),
        Op::LessEqual => Some(Relation::LessEqual),
        Op::Greater => Some(Relation::Greater),
        Op::GreaterEqual => Some(Relation::GreaterEqual),
        Op::Equal => Some(Relation::Equal),
        _ => None,
    }
}

/// The values that are conditions of branches and nothing else, and are made of such comparisons.
pub(super) fn guards(form: &Form, shapes: &Shapes) -> HashSet<usize> {
    let shape = |value: Value| shapes.values[value.number()];
    let mut guards = HashSet::new();
    let statements = || {
        form.walk().filter_map(|part| match part {
            Part::Statement { statement, .. } => Some(&statement.kind),
            Part::Enter(..) | Part::Leave(..) => None,
        })
    };
    for kind in statements() {
        let StatementKind::Let { value, expression: Expression::Apply { op, operands } } = kind else {
            continue;
        };
        let &[x, y] = &operands[..] else { continue };
        let is_term = match (relation(*op), shape(x), shape(y)) {
            (Some(_), Shape::Follow { .. }, Shape::One) | (Some(_), Shape::One, Shape::Follow { .. }) => true,
            (None, ..) if *op == Op::LogicalAnd && shape(*value) == Shape::Lanes => {
                let is_truth = |value: Value| shape(value) == Shape::One && form.dtype(value) == Dtype::Bool;
                [x, y].into_iter().all(|value| guards.contains(&value.number()) || is_truth(value))
            }
            _ => false,
        };
        if is_term {
            guards.insert(value.number());
        }
    }
    loop {
        let before = guards.len();
        for (number, kind) in statements().enumerate() {
            let stays = match kind {
                StatementKind::If { .. } => !shapes.jumps[number].meets,
                StatementKind::Let { value, expression: Expression::Apply { op: Op::LogicalAnd, .. } } => {
                    guards.contains(&value.number())
                }
                _ => false,
            };
            if !stays {
                for value in kind.uses() {
                    guards.remove(&value.number());
                }
            }
        }
        if guards.len() == before {
            return guards;
        }
    }
}

impl Lower<'_> {
    /// Notes a condition that is computed where a branch asks for it. Whether it is one.
    pub(super) fn note_guard(&mut self, value: Value, op: Op, operands: &[Value]) -> Done<bool> {
        let (true, &[x, y]) = (self.guards.contains(&value.number()), operands) else { return Ok(false) };
        let mut terms = Vec::new();
        if let Some(mut relation) = relation(op) {
            let (mut of, mut bound) = (x, y);
            if self.shape(of) == Shape::One {
                (of, bound) = (bound, of);
                relation = has(self::relation(exchanged(op)))?;
            }
            let Shape::Follow { item, row } = self.shape(of) else { return Ok(false) };
            let (dtype, first, bound_cell) = (self.form.dtype(of), self.cell(of)?, self.cell(bound)?);
            self.stay(&[of, bound]);
            let order =
                Order { relation, first, step: item, row, half: dtype == Dtype::I32, bound: bound_cell };
            terms.push(Term::Order { order, dtype });
        } else {
            for operand in [x, y] {
                match self.terms.get(&operand.number()) {
                    Some(own) => terms.extend_from_slice(own),
                    None => {
                        terms.push(Term::One(self.cell(operand)?));
                        self.stay(&[operand]);
                    }
                }
            }
        }
        self.terms.insert(value.number(), terms);
        Ok(true)
    }

    /// The cells of numbers are theirs for good, as they are read where the values may have ended.
    pub(super) fn stay(&mut self, values: &[Value]) {
        for value in values {
            self.values[value.number()].owned = false;
        }
    }

    /// Copies a mask, or leaves nobody in it.
    fn copy_mask(&mut self, to: Cell, from: Cell, nobody: bool) -> Done {
        let mut active = self.load(Place::Lanes(from), Kind::U8)?;
        if nobody {
            active = has(self.builder.get_mut().xor(active, active))?;
        }
        self.store(Place::Lanes(to), active)?;
        self.flush()
    }

    /// A branch whose condition is such a one.
    pub(super) fn branch_guarded(
        &mut self,
        number: usize,
        terms: &[Term],
        has_other: bool,
        (otherwise, end): (Target, Target),
    ) -> Done {
        self.flush()?;
        let (masks, outer, from) = (self.masks.len(), self.parted(), self.active());
        let mask = Mask { of: Of::Branch, cell: self.out.layout.lanes(1), all: self.out.layout.one() };
        let other = has_other.then(|| self.out.layout.lanes(1));
        let (some, unsure, body) =
            (self.out.routine.target(), self.out.routine.target(), self.out.routine.target());
        let none = if has_other { self.out.routine.target() } else { otherwise };
        let mut orders = terms.iter().filter_map(|term| match term {
            Term::Order { order, .. } => Some(*order),
            Term::One(_) => None,
        });
        let first = match (orders.next(), orders.next()) {
            (Some(order), None)
                if !has_other && !self.jumps(number).leave && self.out.layout.rows.is_none() =>
            {
                order.lanes_before(self.out.layout.gang).then_some(order)
            }
            _ => None,
        };
        let saved = first.map(|_| self.out.layout.one());
        if let Some(saved) = saved {
            self.out.routine.save_lanes(saved);
        }
        // What is one for all first: it is true wherever lanes are looked at.
        for term in terms {
            if let Term::One(cell) = term {
                self.out.routine.jump_if_zero(*cell, none);
            }
        }
        for term in terms {
            if let Term::Order { order, .. } = term {
                self.out.routine.decide(order, none, some, unsure);
            }
        }
        // All that are active around it.
        self.copy_mask(mask.cell, from, false)?;
        match outer {
            Some(outer) => self.out.routine.copy(mask.all, outer.all),
            None => self.out.routine.number(mask.all, 1),
        }
        if let Some(other) = other {
            self.copy_mask(other, from, true)?;
        }
        self.out.routine.jump(body);
        if let Some(other) = other {
            self.out.routine.here(none);
            self.copy_mask(other, from, false)?;
            self.out.routine.jump(otherwise);
        }
        self.out.routine.here(some);
        if let Some(order) = first {
            if let Some(outer) = outer {
                self.out.routine.unless_whole(outer, unsure);
            }
            self.out.routine.fewer_lanes(&order, mask.cell, mask.all, self.out.layout.full);
            self.out.routine.jump(body);
        }
        self.out.routine.here(unsure);
        let active = self.load(Place::Lanes(from), Kind::U8)?;
        let active = has(self.builder.get_mut().test(active))?;
        let mut yes = active;
        for term in terms {
            if let Term::Order { order, dtype } = term {
                let truth = self.truth(order, *dtype)?;
                yes = has(self.builder.get_mut().and(yes, truth))?;
            }
        }
        self.store(Place::Lanes(mask.cell), yes)?;
        if let Some(other) = other {
            let builder = self.builder.get_mut();
            let no = has(builder.not(yes))?;
            let no = has(builder.and(active, no))?;
            self.store(Place::Lanes(other), no)?;
        }
        self.flush()?;
        self.masks.push(mask);
        self.judge(otherwise);
        self.out.routine.here(body);
        self.fewer += usize::from(saved.is_some());
        self.open.push(Open { number, kind: OpenKind::Branch { otherwise, end, other, saved }, masks });
        self.outs.push(Out::Here(otherwise));
        Ok(())
    }

    /// Each lane's truth, in the block.
    fn truth(&mut self, order: &Order, dtype: Dtype) -> Done<stridewise_native::Value> {
        let kind = stored(dtype)?;
        let number = self.lanes_that_follow(order.first, kind, (order.step, order.row))?;
        let bound = self.load(Place::One(order.bound), kind)?;
        let op = match order.relation {
            Relation::Less => Op::Less,
            Relation::LessEqual => Op::LessEqual,
            Relation::Greater => Op::Greater,
            Relation::GreaterEqual => Op::GreaterEqual,
            Relation::Equal => Op::Equal,
        };
        let truth = has(trace::step(&self.builder, (op, dtype, Dtype::Bool), &[number, bound]))?;
        if truth.kind().is_mask() { Ok(truth) } else { has(self.builder.get_mut().test(truth)) }
    }
}
