//! Branches, loops, calls and jumps, and the masks of items that part there.

use std::sync::Arc;

use stridewise_core::kernel::{Position, Statement, StatementKind, Value};
use stridewise_core::{Dtype, Op};
use stridewise_native::{Cell, Kind, Place, Scalar as Number, Target};

use super::{Done, Kept, Lower, Mask, Of, Open, OpenKind, Out, ROUNDS, has, stored};
use crate::interpreter::compiled::memory::{Given, bits};
use crate::interpreter::compiled::shapes::{Shape, Unsupported};
use crate::interpreter::compiled::{Bound, Call, Each, Round, Stop};
use crate::kernels::native::compiler::trace;

/// Where a loop that counts goes on, and what it counts with.
pub(super) struct Counted {
    pub(super) head: Target,
    pub(super) end: Target,
    pub(super) next: Target,
    /// Rounds so far, and in all.
    pub(super) count: Cell,
    pub(super) rounds: Cell,
}

impl Lower<'_> {
    // Masks.

    /// The cell that says which items are active.
    pub(super) fn active(&self) -> Cell {
        self.masks.last().map_or(self.out.layout.full, |mask| mask.cell)
    }

    /// A mask that begins as the innermost one; nobody in it goes to a target.
    pub(super) fn push_mask(&mut self, of: Of, none: Target) -> Done {
        self.flush()?;
        let from = self.active();
        let mask = Mask { of, cell: self.out.layout.lanes(1), all: self.out.layout.one() };
        let active = self.load(Place::Lanes(from), Kind::U8)?;
        self.store(Place::Lanes(mask.cell), active)?;
        self.flush()?;
        self.masks.push(mask);
        self.judge(none);
        Ok(())
    }

    pub(super) fn judge(&mut self, none: Target) {
        if let Some(&Mask { cell, all, .. }) = self.masks.last() {
            self.out.routine.judge(cell, self.out.layout.full, all, none);
        }
    }

    /// Leaves the masks of a construct.
    pub(super) fn pop_masks(&mut self, to: usize) {
        for Mask { cell, all, .. } in self.masks.drain(to..) {
            self.out.layout.release(cell, 1);
            self.out.layout.release(all, 0);
        }
    }

    pub(super) fn leave(&mut self, statement: &Statement, block: usize) -> Done {
        self.flush()?;
        if self.open.last().is_some_and(|open| self.jumps(open.number).meets) {
            return self.leave_together(statement, block);
        }
        let Some(Open { number, kind, masks }) = self.open.pop() else { return Err(Unsupported::Refused) };
        let last = block + 1 == statement.kind.block_count();
        match (&statement.kind, &kind) {
            (
                StatementKind::If { otherwise: block, .. },
                &OpenKind::Branch { otherwise, end, other, saved },
            ) => {
                self.outs.pop();
                if !last {
                    if other.is_none() && !block.is_empty() {
                        self.out.routine.jump(end);
                    }
                    self.out.routine.here(otherwise);
                    if let (Some(other), Some(mask)) = (other, self.masks.last_mut()) {
                        let before = std::mem::replace(&mut mask.cell, other);
                        self.out.layout.release(before, 1);
                        self.judge(end);
                    }
                    self.outs.push(Out::Here(end));
                } else {
                    self.out.routine.here(end);
                    if let Some(saved) = saved {
                        self.out.routine.restore_lanes(saved);
                        self.fewer -= 1;
                        self.released.push((saved, 0));
                    }
                }
            }
            (StatementKind::While { condition, .. }, &OpenKind::Loop { end, next, .. }) if !last => {
                self.outs.pop();
                self.test(*condition, number, end)?;
                self.outs.push(Out::Here(next));
            }
            (_, &OpenKind::Loop { head, end, next, count, rounds, step }) => {
                self.outs.pop();
                self.out.routine.here(next);
                if let (Some(step), StatementKind::For { counter, .. }) = (step, &statement.kind) {
                    let (kind, cell) = (stored(self.form.dtype(*counter))?, self.cell(*counter)?);
                    self.out.routine.scalar(Number::Add, kind, cell, cell, step);
                    self.count_round(count);
                }
                self.out.routine.jump(head);
                self.out.routine.here(end);
                self.released.push((count, 0));
                if step.is_some() {
                    self.released.push((rounds, 0));
                }
            }
            (
                StatementKind::For { counter, step, .. },
                &OpenKind::Each { head, end, next, count, each, ends: [least, most], counter: cell },
            ) => {
                self.outs.pop();
                self.out.routine.here(next);
                let dtype = self.form.dtype(*counter);
                if self.shape(*counter) == Shape::Lanes {
                    let before = self.load(Place::Lanes(cell), stored(dtype)?)?;
                    let step = self.current(*step)?;
                    let after = trace::step(&self.builder, (Op::Add, dtype, dtype), &[before, step]);
                    self.store(Place::Lanes(cell), has(after)?)?;
                    self.flush()?;
                    self.released.push((cell, dtype.size()));
                } else {
                    let step = self.cell(*step)?;
                    self.out.routine.scalar(Number::Add, stored(dtype)?, cell, cell, step);
                }
                self.count_round(count);
                self.out.routine.jump(head);
                self.out.routine.here(end);
                self.released.extend([(count, 0), (each, 8), (least, 0), (most, 0)]);
            }
            (_, &OpenKind::Call { end }) => {
                self.outs.pop();
                self.out.routine.here(end);
            }
            _ => return Err(Unsupported::Refused),
        }
        if !last {
            self.open.push(Open { number, kind, masks });
            return Ok(());
        }
        self.pop_masks(masks);
        if self.jumps(number).leave {
            let out = self.leads()?;
            self.judge(out);
        }
        self.end(number);
        Ok(())
    }

    pub(super) fn count_round(&mut self, count: Cell) {
        let one = self.out.layout.given(Given::Bits(1));
        self.out.routine.scalar(Number::Add, Kind::U64, count, count, one);
    }

    pub(super) fn branch(&mut self, number: usize, condition: Value, has_other: bool) -> Done {
        let (otherwise, end) = (self.out.routine.target(), self.out.routine.target());
        let masks = self.masks.len();
        if self.jumps(number).meets {
            return self.branch_together(number, condition, (otherwise, end));
        }
        if self.shape(condition) != Shape::Lanes {
            let cell = self.cell(condition)?;
            self.flush()?;
            self.out.routine.jump_if_zero(cell, otherwise);
            self.open.push(Open {
                number,
                kind: OpenKind::Branch { otherwise, end, other: None, saved: None },
                masks,
            });
            // The other block is nobody's who has come to this one.
            self.outs.push(Out::Here(end));
            return Ok(());
        }
        if let Some(terms) = self.terms.get(&condition.number()).cloned() {
            return self.branch_guarded(number, &terms, has_other, (otherwise, end));
        }
        let truth = self.current(condition)?;
        let active = self.load(Place::Lanes(self.active()), Kind::U8)?;
        let mask = Mask { of: Of::Branch, cell: self.out.layout.lanes(1), all: self.out.layout.one() };
        let builder = self.builder.get_mut();
        let truth = if truth.kind().is_mask() { truth } else { has(builder.test(truth))? };
        let active = has(builder.test(active))?;
        let yes = has(builder.and(active, truth))?;
        let no = has(builder.not(truth))?;
        let no = has(builder.and(active, no))?;
        self.store(Place::Lanes(mask.cell), yes)?;
        let mut other = None;
        if has_other {
            let cell = self.out.layout.lanes(1);
            self.store(Place::Lanes(cell), no)?;
            other = Some(cell);
        }
        self.flush()?;
        self.masks.push(mask);
        self.judge(otherwise);
        self.open.push(Open { number, kind: OpenKind::Branch { otherwise, end, other, saved: None }, masks });
        self.outs.push(Out::Here(otherwise));
        Ok(())
    }

    /// A loop with a mask of its own for all of it, and one for the round.
    pub(super) fn loop_masks(&mut self, of_rounds: bool, end: Target) -> Done {
        self.push_mask(Of::Loop, end)?;
        if of_rounds { self.push_mask(Of::Round, end) } else { Ok(()) }
    }

    /// The masks of a round begin as that of the loop; nobody in it leaves.
    pub(super) fn begin_round(&mut self, end: Target) -> Done {
        if let Some(&Mask { of: Of::Round, cell, .. }) = self.masks.last()
            && let Some(&Mask { cell: whole, .. }) = self.masks.get(self.masks.len().wrapping_sub(2))
        {
            let active = self.load(Place::Lanes(whole), Kind::U8)?;
            self.store(Place::Lanes(cell), active)?;
            self.flush()?;
        }
        self.judge(end);
        Ok(())
    }

    pub(super) fn begin_for(
        &mut self,
        number: usize,
        counter: Value,
        bounds: [Value; 3],
        body: &[Statement],
    ) -> Done {
        if self.jumps(number).meets {
            return self.begin_for_together(number, counter, bounds);
        }
        if bounds.iter().any(|&bound| self.shape(bound) != Shape::One) {
            return self.begin_each(number, counter, bounds, body);
        }
        let cells = [self.cell(bounds[0])?, self.cell(bounds[1])?, self.cell(bounds[2])?];
        let Counted { head, end, next, count, rounds } = self.begin_count(counter, cells, bounds[2])?;
        let masks = self.masks.len();
        if self.jumps(number).taken {
            self.loop_masks(true, end)?;
        }
        let at = self.cell(counter)?;
        self.rounds(counter, body, rounds, (count, at, cells[2]))?;
        self.out.routine.here(head);
        self.out.routine.jump_if_not_below(count, rounds, end);
        if self.jumps(number).taken {
            self.begin_round(end)?;
        } else if self.jumps(number).leave {
            self.judge(end);
        }
        let kind = OpenKind::Loop { head, end, next, count, rounds, step: Some(cells[2]) };
        self.open.push(Open { number, kind, masks });
        self.outs.push(Out::Here(next));
        Ok(())
    }

    /// Has a counter begin, and says how many rounds there are, between bounds that are one for all.
    pub(super) fn begin_count(&mut self, counter: Value, bounds: [Cell; 3], step: Value) -> Done<Counted> {
        let dtype = self.form.dtype(counter);
        self.flush()?;
        let (head, end, next) =
            (self.out.routine.target(), self.out.routine.target(), self.out.routine.target());
        let (count, rounds) = (self.out.layout.one(), self.out.layout.one());
        let step = self.shapes.constants[step.number()].map(bits);
        match step.map(u64::cast_signed) {
            // As wide as cells are, the distance does not wrap.
            Some(step @ (1 | -1)) => {
                let [start, end, _] = bounds;
                let (from, to) = if step == 1 { (start, end) } else { (end, start) };
                self.out.routine.scalar(Number::Maximum, stored(dtype)?, rounds, from, to);
                self.out.routine.scalar(Number::Subtract, Kind::U64, rounds, rounds, from);
            }
            _ => self.call(Call::Rounds(Round { bounds, dtype, rounds })),
        }
        self.out.routine.number(count, 0);
        let cell = self.define_one(counter);
        self.out.routine.copy(cell, bounds[0]);
        Ok(Counted { head, end, next, count, rounds })
    }

    /// A loop that counts between bounds that items differ in.
    fn begin_each(&mut self, number: usize, counter: Value, bounds: [Value; 3], body: &[Statement]) -> Done {
        let dtype = self.form.dtype(counter);
        let shapes = bounds.map(|bound| self.shape(bound));
        let follow = shapes[2] == Shape::One && !shapes.contains(&Shape::Lanes);
        let (mut cells, mut spread) = ([Bound::One(Cell(0)); 3], Vec::new());
        for (cell, bound) in cells.iter_mut().zip(bounds) {
            *cell = match self.shape(bound) {
                Shape::One => Bound::One(self.cell(bound)?),
                Shape::Lanes => Bound::Lanes(self.in_memory(bound)?),
                Shape::Follow { item, row } if follow => Bound::Follow(self.cell(bound)?, [item, row]),
                Shape::Follow { .. } => {
                    let (cell, current) = (self.out.layout.lanes(dtype.size()), self.current(bound)?);
                    self.store(Place::Lanes(cell), current)?;
                    spread.push((cell, dtype.size()));
                    Bound::Lanes(cell)
                }
            };
        }
        self.flush()?;
        let (count, each, least, most) =
            (self.out.layout.one(), self.out.layout.lanes(8), self.out.layout.one(), self.out.layout.one());
        let in_rows = self.out.layout.rows.is_some();
        self.call(Call::Each(Each { bounds: cells, dtype, rounds: each, least, most, in_rows }));
        self.out.routine.number(count, 0);
        let cell = if self.shape(counter) == Shape::Lanes {
            let (cell, first) = (self.out.layout.lanes(dtype.size()), self.current(bounds[0])?);
            self.store(Place::Lanes(cell), first)?;
            self.values[counter.number()] = Kept { cell: Some(cell), alive: true, ..Kept::default() };
            cell
        } else {
            let (first, cell) = (self.cell(bounds[0])?, self.define_one(counter));
            self.out.routine.copy(cell, first);
            cell
        };
        self.released.extend(spread);
        self.flush()?;
        let (head, end, next) =
            (self.out.routine.target(), self.out.routine.target(), self.out.routine.target());
        let masks = self.masks.len();
        let taken = self.jumps(number).taken;
        self.loop_masks(taken, end)?;
        if self.shape(counter) != Shape::Lanes {
            let step = self.cell(bounds[2])?;
            self.rounds(counter, body, least, (count, cell, step))?;
        }
        let (whole, inside) = (self.masks[masks].cell, self.out.routine.target());
        self.out.routine.here(head);
        if !taken && !self.jumps(number).leave {
            // Nobody has left yet.
            let fewer = self.out.routine.target();
            self.out.routine.jump_if_not_below(count, least, fewer);
            self.out.routine.jump(inside);
            self.out.routine.here(fewer);
        }
        self.out.routine.jump_if_not_below(count, most, end);
        let (so_far, rounds) =
            (self.load(Place::One(count), Kind::I64)?, self.load(Place::Lanes(each), Kind::I64)?);
        let more = trace::step(&self.builder, (Op::Less, Dtype::I64, Dtype::Bool), &[so_far, rounds]);
        self.narrow(whole, has(more)?)?;
        self.flush()?;
        self.begin_round(end)?;
        self.out.routine.here(inside);
        let kind = OpenKind::Each { head, end, next, count, each, ends: [least, most], counter: cell };
        self.open.push(Open { number, kind, masks });
        self.outs.push(Out::Here(next));
        Ok(())
    }

    /// Of a mask, leaves those for which something is true.
    fn narrow(&mut self, cell: Cell, truth: stridewise_native::Value) -> Done {
        let active = self.load(Place::Lanes(cell), Kind::U8)?;
        let builder = self.builder.get_mut();
        let truth = if truth.kind().is_mask() { truth } else { has(builder.test(truth))? };
        let active = has(builder.test(active))?;
        let more = has(builder.and(active, truth))?;
        self.store(Place::Lanes(cell), more)
    }

    /// Stops where a condition is false for an active item.
    pub(super) fn assert(&mut self, condition: Value, message: &Arc<str>, at: &Position) -> Done {
        let go_on = self.out.routine.target();
        let mut mask = self.active();
        if self.shape(condition) == Shape::Lanes {
            let truth = self.current(condition)?;
            let active = self.load(Place::Lanes(mask), Kind::U8)?;
            let (failing, all) = (self.out.layout.lanes(1), self.out.layout.one());
            let builder = self.builder.get_mut();
            let truth = if truth.kind().is_mask() { truth } else { has(builder.test(truth))? };
            let active = has(builder.test(active))?;
            let no = has(builder.not(truth))?;
            let no = has(builder.and(active, no))?;
            self.store(Place::Lanes(failing), no)?;
            self.flush()?;
            self.out.routine.judge(failing, self.out.layout.full, all, go_on);
            self.released.extend([(failing, 1), (all, 0)]);
            mask = failing;
        } else {
            let cell = self.cell(condition)?;
            self.flush()?;
            let failed = self.out.routine.target();
            self.out.routine.jump_if_zero(cell, failed);
            self.out.routine.jump(go_on);
            self.out.routine.here(failed);
        }
        self.stop(at, mask, Some(message))?;
        self.out.routine.here(go_on);
        Ok(())
    }

    /// Stops, because of the first item of a mask.
    fn stop(&mut self, at: &Position, mask: Cell, assertion: Option<&Arc<str>>) -> Done {
        let answer = i32::try_from(self.out.stops.len() + 1).map_err(|_| Unsupported::Refused)?;
        self.out.routine.stop(answer);
        self.out.stops.push(Stop { at: at.clone(), mask, assertion: assertion.cloned() });
        Ok(())
    }

    pub(super) fn begin_while(&mut self, number: usize, condition: Value, at: &Position) -> Done {
        if self.jumps(number).meets {
            return self.begin_while_together(number, at);
        }
        self.flush()?;
        let (head, end, next) =
            (self.out.routine.target(), self.out.routine.target(), self.out.routine.target());
        let count = self.out.layout.one();
        self.out.routine.number(count, 0);
        let masks = self.masks.len();
        let apart = self.jumps(number).taken || self.shape(condition) == Shape::Lanes;
        if apart {
            self.loop_masks(self.jumps(number).taken, end)?;
        }
        self.out.routine.here(head);
        // Where all have left what is around the loop, nobody is left to end it.
        if apart {
            self.begin_round(end)?;
        } else if self.jumps(number).leave {
            self.judge(end);
        }
        self.limit_rounds(count, at)?;
        let kind = OpenKind::Loop { head, end, next, count, rounds: count, step: None };
        self.open.push(Open { number, kind, masks });
        self.outs.push(Out::Here(end));
        Ok(())
    }

    /// Counts a round of a loop that counts nothing, and stops where there are too many.
    pub(super) fn limit_rounds(&mut self, count: Cell, at: &Position) -> Done {
        let (limit, go_on) = (self.out.layout.given(Given::Bits(ROUNDS)), self.out.routine.target());
        self.out.routine.jump_if_not_below(limit, count, go_on);
        self.stop(at, self.active(), None)?;
        self.out.routine.here(go_on);
        self.count_round(count);
        Ok(())
    }

    /// Behind the head of a loop that counts nothing.
    pub(super) fn test(&mut self, condition: Value, number: usize, end: Target) -> Done {
        if self.shape(condition) != Shape::Lanes {
            let cell = self.cell(condition)?;
            self.flush()?;
            self.out.routine.jump_if_zero(cell, end);
            return Ok(());
        }
        let truth = self.current(condition)?;
        let taken = self.jumps(number).taken;
        let masks: Vec<Cell> =
            self.masks.iter().rev().take(1 + usize::from(taken)).map(|mask| mask.cell).collect();
        for cell in masks {
            self.narrow(cell, truth)?;
        }
        self.flush()?;
        self.judge(end);
        Ok(())
    }

    /// The active items leave, to where a jump leads.
    pub(super) fn jump(&mut self, kind: &StatementKind) -> Done {
        let to = match kind {
            StatementKind::Break => self.masks.iter().rposition(|mask| mask.of == Of::Loop),
            StatementKind::Continue => self.masks.iter().rposition(|mask| mask.of == Of::Round),
            _ => self.masks.iter().rposition(|mask| matches!(mask.of, Of::Call | Of::Kernel)),
        };
        let (to, from) = (has(to)?, self.active());
        self.flush()?;
        let active = self.load(Place::Lanes(from), Kind::U8)?;
        let cells: Vec<Cell> = self.masks[to..].iter().map(|mask| mask.cell).collect();
        for cell in cells {
            let mask = self.load(Place::Lanes(cell), Kind::U8)?;
            let builder = self.builder.get_mut();
            let both = has(builder.and(mask, active))?;
            let rest = has(builder.xor(mask, both))?;
            self.store(Place::Lanes(cell), rest)?;
        }
        self.flush()?;
        let out = self.leads()?;
        self.out.routine.jump(out);
        Ok(())
    }
}
