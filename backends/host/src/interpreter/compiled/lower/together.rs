//! Where the items of a group meet: regions of code, each run for one gang of the group after another before
//! the next one begins, and branches and loops with such places inside, which are gone through once for all
//! gangs.
//!
//! Each gang has memory of its own, of one layout, so what lives on from region to region stays where it is.
//! Between regions the first gang's memory says which way the group goes: all items come there together and
//! agree, or all have left.

use stridewise_core::Op;
use stridewise_core::kernel::{Collective, Position, Statement, StatementKind, Value};
use stridewise_native::{Cell, Scalar as Number, Target};

use super::control::Counted;
use super::{Done, Kept, Lower, Mask, Of, Open, OpenKind, Out, Region, has, stored};
use crate::interpreter::compiled::Call;
use crate::interpreter::compiled::collective::{Collective as Together, How};
use crate::interpreter::compiled::shapes::{Shape, Unsupported};
use crate::interpreter::frame::Bits;

impl Lower<'_> {
    /// Where those go on that have nothing more to do in the innermost block.
    pub(super) fn leads(&self) -> Done<Target> {
        has(match (self.outs.last(), &self.region) {
            (Some(Out::Here(target)), _) => Some(*target),
            (Some(Out::Region), Some(region)) => Some(region.out),
            _ => None,
        })
    }

    /// A region begins; gangs that nobody is active in go through nothing of it.
    pub(super) fn begin_region(&mut self) {
        let out = self.open_region();
        self.judge(out);
    }

    /// The same for all gangs; where its end is.
    fn open_region(&mut self) -> Target {
        let routine = &mut self.out.routine;
        let (begin, out, before) = (routine.target(), routine.target(), routine.written());
        routine.here(begin);
        self.region = Some(Region { begin, out, before });
        out
    }

    /// The region ends: here the memory is the first gang's, and all have come.
    pub(super) fn end_region(&mut self) -> Done {
        self.flush()?;
        let Region { begin, out, before } = has(self.region.take())?;
        self.out.routine.here(out);
        // There may be nothing to do in it.
        if self.out.routine.written() != before {
            self.out.routine.next(begin);
        }
        Ok(())
    }

    /// The cell of a value that all items agree on.
    fn agreed(&mut self, value: Value) -> Done<Cell> {
        if self.shape(value) != Shape::Lanes {
            return self.cell(value);
        }
        // There always is a first lane.
        let (kind, lanes) = (stored(self.form.dtype(value))?, self.in_memory(value)?);
        let cell = self.out.layout.one();
        self.out.routine.widen(cell, lanes, kind);
        Ok(cell)
    }

    /// Between regions: nobody is active, then nobody is in any gang.
    fn judge_group(&mut self, mask: Option<Mask>, none: Target) {
        if let Some(Mask { cell, all, .. }) = mask {
            self.out.routine.judge(cell, self.out.layout.full, all, none);
        }
    }

    /// A value that all items make together.
    pub(super) fn collective(&mut self, value: Value, collective: Collective, operand: Value) -> Done {
        let (dtype, mut copies) = (self.form.dtype(value), Vec::new());
        let how = match collective {
            Collective::Reduce(op) => How::Reduce(self.function(op, dtype, dtype)?),
            Collective::InclusiveScan(op) => How::Scan(self.function(op, dtype, dtype)?, None),
            Collective::ExclusiveScan(op) => {
                let first = Bits::of(has(Collective::identity(op, dtype))?);
                How::Scan(self.function(op, dtype, dtype)?, Some(first))
            }
            // Of truth values, the smallest and the largest one.
            Collective::All => How::Reduce(self.function(Op::Minimum, dtype, dtype)?),
            Collective::Any => How::Reduce(self.function(Op::Maximum, dtype, dtype)?),
            Collective::Broadcast(from) => How::Broadcast(self.agreed(from)?, self.form.dtype(from)),
        };
        let operand = self.each(operand, &mut copies)?;
        let to = match self.shape(value) {
            Shape::One => self.define_one(value),
            _ => {
                let cell = self.out.layout.lanes(dtype.size());
                self.values[value.number()] =
                    Kept { cell: Some(cell), owned: true, alive: true, current: None };
                cell
            }
        };
        let nobody = self.out.routine.target();
        self.end_region()?;
        self.judge_group(self.masks.last().copied(), nobody);
        self.call(Call::Collective(Together { how, dtype, operand, to }));
        self.out.routine.here(nobody);
        self.begin_region();
        self.released.extend(copies);
        Ok(())
    }

    /// The mask of a call that items leave at different times.
    pub(super) fn call_mask(&mut self, number: usize, end: Target) -> Done {
        let (around, out) = (self.masks.last().copied(), self.leads()?);
        self.push_mask(Of::Call, out)?;
        if self.jumps(number).meets {
            // Where nobody has come to the call, its mask is that of another time.
            self.end_region()?;
            self.judge_group(around, end);
            self.begin_region();
        }
        Ok(())
    }

    pub(super) fn branch_together(
        &mut self,
        number: usize,
        condition: Value,
        (otherwise, end): (Target, Target),
    ) -> Done {
        let (cell, masks) = (self.agreed(condition)?, self.masks.len());
        self.end_region()?;
        self.judge_group(self.masks.last().copied(), end);
        self.out.routine.jump_if_zero(cell, otherwise);
        self.open.push(Open {
            number,
            kind: OpenKind::Branch { otherwise, end, other: None, saved: None },
            masks,
        });
        self.begin_region();
        self.outs.push(Out::Region);
        Ok(())
    }

    /// The head of a loop, between regions: before a round, and at once where nobody is active around it, it
    /// leads to its end. The loop has masks of its own where items leave it by jumps.
    fn head_together(&mut self, number: usize, (head, end): (Target, Target)) -> Done {
        let (around, own) = (self.masks.last().copied(), self.masks.len());
        if self.jumps(number).taken {
            let out = has(self.region.as_ref())?.out;
            self.loop_masks(true, out)?;
        }
        self.end_region()?;
        if self.jumps(number).taken {
            // Its masks are those of another time where nobody has come to it.
            self.judge_group(around, end);
        }
        self.out.routine.here(head);
        self.judge_group(self.masks.get(own).copied().or(around), end);
        Ok(())
    }

    /// The first region of a round.
    fn round_together(&mut self, number: usize) -> Done {
        let out = self.open_region();
        if self.jumps(number).taken {
            return self.begin_round(out);
        }
        self.judge(out);
        Ok(())
    }

    pub(super) fn begin_for_together(&mut self, number: usize, counter: Value, bounds: [Value; 3]) -> Done {
        let cells = [self.agreed(bounds[0])?, self.agreed(bounds[1])?, self.agreed(bounds[2])?];
        // Each gang counts for itself; it is the first one's numbers that decide.
        let Counted { head, end, next, count, rounds } = self.begin_count(counter, cells, bounds[2])?;
        let masks = self.masks.len();
        self.head_together(number, (head, end))?;
        self.out.routine.jump_if_not_below(count, rounds, end);
        self.round_together(number)?;
        let kind = OpenKind::Loop { head, end, next, count, rounds, step: Some(cells[2]) };
        self.open.push(Open { number, kind, masks });
        self.outs.push(Out::Region);
        Ok(())
    }

    pub(super) fn begin_while_together(&mut self, number: usize, at: &Position) -> Done {
        self.flush()?;
        let (head, end, next) =
            (self.out.routine.target(), self.out.routine.target(), self.out.routine.target());
        let count = self.out.layout.one();
        self.out.routine.number(count, 0);
        let masks = self.masks.len();
        self.head_together(number, (head, end))?;
        self.round_together(number)?;
        self.limit_rounds(count, at)?;
        let kind = OpenKind::Loop { head, end, next, count, rounds: count, step: None };
        self.open.push(Open { number, kind, masks });
        self.outs.push(Out::Region);
        Ok(())
    }

    /// A block of a statement that items meet inside ends.
    pub(super) fn leave_together(&mut self, statement: &Statement, block: usize) -> Done {
        let Some(Open { number, kind, masks }) = self.open.pop() else { return Err(Unsupported::Refused) };
        let last = block + 1 == statement.kind.block_count();
        match (&statement.kind, &kind) {
            (StatementKind::If { otherwise: block, .. }, &OpenKind::Branch { otherwise, end, .. }) => {
                self.end_region()?;
                if last {
                    self.out.routine.here(end);
                } else {
                    if !block.is_empty() {
                        self.out.routine.jump(end);
                    }
                    self.out.routine.here(otherwise);
                }
            }
            (StatementKind::While { condition, .. }, &OpenKind::Loop { end, .. }) if !last => {
                let cell = self.agreed(*condition)?;
                self.end_region()?;
                self.out.routine.jump_if_zero(cell, end);
            }
            (_, &OpenKind::Loop { head, end, count, rounds, step, .. }) => {
                if let (Some(step), StatementKind::For { counter, .. }) = (step, &statement.kind) {
                    // All gangs count, whoever goes on with the next round before this one ends.
                    let out = self.out.routine.target();
                    let region = has(self.region.as_mut())?;
                    let ends = std::mem::replace(&mut region.out, out);
                    self.out.routine.here(ends);
                    let (kind, cell) = (stored(self.form.dtype(*counter))?, self.cell(*counter)?);
                    self.out.routine.scalar(Number::Add, kind, cell, cell, step);
                    self.count_round(count);
                    self.released.push((rounds, 0));
                }
                self.end_region()?;
                self.out.routine.jump(head);
                self.out.routine.here(end);
                self.released.push((count, 0));
            }
            // Who has returned goes on behind the call.
            (_, &OpenKind::Call { end }) if self.jumps(number).taken => {
                self.end_region()?;
                self.out.routine.here(end);
            }
            (_, &OpenKind::Call { .. }) => {
                self.outs.pop();
                self.end(number);
                return Ok(());
            }
            _ => return Err(Unsupported::Refused),
        }
        if last {
            self.outs.pop();
            self.pop_masks(masks);
        } else {
            self.open.push(Open { number, kind, masks });
        }
        self.begin_region();
        if last {
            self.end(number);
        }
        Ok(())
    }
}
