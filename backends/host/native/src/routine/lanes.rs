//! What the first and the last lane say of all, and gangs of fewer lanes.

use super::{ACROSS, COUNT, LAST, LAST_ROW, PARTIAL, R8, R9, Routine, Target, WHOLE, at, lane, rm};
use crate::asm::{Condition, General, Gpr, Mem, RAX, RCX, RDI, RDX, Rm};
use crate::emit::Cell;

const R11: Gpr = Gpr(11);

/// How numbers are to a bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Relation {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
}

/// A relation of integers that follow the lanes to a bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// The relation.
    pub relation: Relation,
    /// The first lane's number.
    pub first: Cell,
    /// What is added for each lane.
    pub step: i32,
    /// What is added for each row.
    pub row: i32,
    /// Whether numbers are `I32`.
    pub half: bool,
    /// The bound.
    pub bound: Cell,
}

impl Order {
    /// Whether the lanes that it is true for are the first ones, of so many.
    #[must_use]
    pub const fn lanes_before(&self, lanes: usize) -> bool {
        self.step == 1
            && lanes <= i32::MAX as usize
            && matches!(self.relation, Relation::Less | Relation::LessEqual)
    }
}

impl Routine {
    /// Goes to `none` where a relation is true for no lane, to `some` where it is for some only, to `unsure` where numbers wrap, and
    /// else on.
    pub fn decide(&mut self, order: &Order, none: Target, some: Target, unsure: Target) {
        let in_rows = self.grid.is_some();
        let assembler = &mut self.assembler;
        let (least, most) = (R11, RDX);
        assembler.load(least, at(order.first));
        assembler.mov(most, least);
        let mut further = |step: i32, times: Cell, one_less: bool| {
            if step != 0 {
                assembler.load(RAX, at(times));
                assembler.add(RAX, if one_less { -1 } else { 0 });
                assembler.multiply_by(RAX, Rm::Reg(RAX.0), step);
                assembler.by(General::Add, if step > 0 { most } else { least }, Rm::Reg(RAX.0));
            }
        };
        further(order.step, if in_rows { ACROSS } else { COUNT }, true);
        further(if in_rows { order.row } else { 0 }, LAST_ROW, false);
        // What has wrapped on the way is not between the ends.
        if order.half {
            for end in [least, most] {
                assembler.load_as(RAX, Rm::Reg(end.0), 4, true);
                assembler.compare(RAX, end);
                assembler.jump(Some(Condition::NotEqual), unsure.0);
            }
        } else {
            assembler.by(General::Compare, most, rm(order.first));
            assembler.jump(Some(Condition::Less), unsure.0);
            assembler.by(General::Compare, least, rm(order.first));
            assembler.jump(Some(Condition::Greater), unsure.0);
        }
        assembler.load(RAX, at(order.bound));
        let bound = RAX;
        let mut leave = |x: Gpr, y: Gpr, condition: Condition, to: Target| {
            assembler.compare(x, y);
            assembler.jump(Some(condition), to.0);
        };
        match order.relation {
            Relation::Less => {
                leave(bound, least, Condition::NotGreater, none);
                leave(bound, most, Condition::NotGreater, some);
            }
            Relation::LessEqual => {
                leave(least, bound, Condition::Greater, none);
                leave(most, bound, Condition::Greater, some);
            }
            Relation::Greater => {
                leave(most, bound, Condition::NotGreater, none);
                leave(least, bound, Condition::NotGreater, some);
            }
            Relation::GreaterEqual => {
                leave(most, bound, Condition::Less, none);
                leave(least, bound, Condition::Less, some);
            }
            Relation::Equal => {
                leave(bound, least, Condition::Less, none);
                leave(most, bound, Condition::Less, none);
                assembler.jump(None, some.0);
            }
        }
    }

    /// Has the lanes be those for which a relation is true, which are the first ones ([`Order::lanes_before`]) and neither none nor
    /// all; they are in a mask then, which all of them have. `full`: a mask of all that there are.
    pub fn fewer_lanes(&mut self, order: &Order, mask: Cell, all: Cell, full: Cell) {
        let assembler = &mut self.assembler;
        let (count, whole) = (RDX, R9);
        assembler.load(count, at(order.bound));
        assembler.by(General::Sub, count, rm(order.first));
        assembler.add(count, i32::from(order.relation == Relation::LessEqual));
        assembler.mov_number(RCX, 0);
        let again = assembler.label();
        assembler.bind(again);
        assembler.load(R8, lane(full, 1));
        assembler.store(lane(mask, 1), R8);
        assembler.add(RCX, 8);
        assembler.compare(RCX, count);
        assembler.jump(Some(Condition::Below), again);
        assembler.mov(whole, RCX);
        let done = assembler.label();
        assembler.mov(RCX, count);
        assembler.and(RCX, 7);
        assembler.jump(Some(Condition::Equal), done);
        // Those of the last eight that are among them.
        assembler.shl(RCX, 3);
        assembler.mov_number(RAX, -1);
        assembler.shl_by_rcx(RAX);
        assembler.not(RAX);
        let last = Mem::indexed(RDI, whole, 0, mask.0 - 8);
        assembler.by(General::And, RAX, Rm::Mem(last));
        assembler.store(last, RAX);
        assembler.bind(done);
        self.lanes_are(count, whole);
        self.number(all, 1);
    }

    /// So many lanes, of which so many are computed.
    fn lanes_are(&mut self, count: Gpr, whole: Gpr) {
        let assembler = &mut self.assembler;
        assembler.store(at(COUNT), count);
        assembler.store(at(WHOLE), whole);
        assembler.mov(RAX, whole);
        assembler.sub(RAX, count);
        assembler.store(at(PARTIAL), RAX);
        assembler.add(whole, -1);
        assembler.store(at(LAST), whole);
    }

    /// Keeps how many lanes there are in a cell.
    pub fn save_lanes(&mut self, saved: Cell) {
        self.copy(saved, COUNT);
    }

    /// Has as many lanes as a cell says, of a routine without rows.
    pub fn restore_lanes(&mut self, saved: Cell) {
        let assembler = &mut self.assembler;
        assembler.load(RDX, at(saved));
        assembler.address(R9, Mem::at(RDX, 7));
        assembler.and(R9, -8);
        self.lanes_are(RDX, R9);
    }

    /// Goes to a target where the last vector of lanes has some that are none.
    pub fn if_partial(&mut self, to: Target) {
        self.assembler.load(RAX, at(PARTIAL));
        self.assembler.test(RAX);
        self.assembler.jump(Some(Condition::NotEqual), to.0);
    }
}
