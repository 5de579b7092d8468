//! Loops whose rounds are gone through in registers.

use super::access::stay;
use super::{
    COLUMNS, Elements, GRAIN, Index, LAST, LAST_ROW, MOST_CODE, R8, R9, Routine, Target, WHOLE, at, rm,
};
use crate::asm::{Assembler, Condition, General, Gpr, RAX, RCX, RDX, RSI, Rm};
use crate::emit::{Carried, Cell, Emitter, Place, Plan};
use crate::lane::Builder;
use crate::memory::Refused;
use crate::select::select;

const R10: Gpr = Gpr(10);
const R11: Gpr = Gpr(11);

/// What goes from round to round: where it is loaded from, if what was there before counts, and where it is
/// stored, of a form's operands. Both are of one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Carry {
    /// The operand that is loaded.
    pub load: Option<u8>,
    /// The operand that is stored.
    pub store: u8,
}

/// What is done in each round of a loop: straight code, which stores what is carried and nothing else.
pub struct Rounds {
    plan: Plan,
}

impl Rounds {
    /// `None` where registers do not suffice for it. Of the places, it is only which kind they are of that
    /// counts here.
    #[must_use]
    pub fn new(form: &Builder, places: &[Place], carried: &[Carry]) -> Option<Self> {
        let selected = select(form, GRAIN as u8)?;
        let carried: Vec<Carried> =
            carried.iter().map(|&Carry { load, store }| Carried { load, store }).collect();
        Some(Self { plan: Plan::new(selected, places, &carried)? })
    }
}

impl Routine {
    /// Goes to a target unless there is a round, and not more of them than [`rounds`](Self::rounds) takes.
    pub fn unless_rounds(&mut self, rounds: Cell, otherwise: Target) {
        self.assembler.load(RAX, at(rounds));
        self.assembler.add(RAX, -1);
        self.assembler.compare_number(RAX, i32::MAX - 1);
        self.assembler.jump(Some(Condition::Above), otherwise.0);
    }

    /// Goes to a target unless all lanes are active.
    pub fn unless_whole(&mut self, active: super::Active, otherwise: Target) {
        self.unless_all(Some(active), otherwise.0);
    }

    /// Has the address of the first round's elements in a cell, and in another one by how many bytes the next
    /// round's are further, of indices that are those of the first round and go on by `slopes`; none: they stay. Of rows, the last
    /// cell is what is added to the address for each row.
    /// Goes to a target unless in all rounds the elements of all lanes lie inside and one after another, or
    /// are one for all of a row. No index is a lane's own.
    pub fn reach(
        &mut self,
        elements: &Elements,
        slopes: &[Option<Cell>],
        rounds: Cell,
        (address, by, row): (Cell, Cell, Option<Cell>),
        otherwise: Target,
    ) {
        let in_rows = self.grid.is_some();
        let assembler = &mut self.assembler;
        let leave = |assembler: &mut Assembler| {
            assembler.jump(Some(Condition::Above), otherwise.0);
        };
        // The distances from item to item, from row to row, and from round to round.
        let (item, far, further) = (R8, RSI, R10);
        assembler.load(R9, at(elements.start));
        for register in [item, far, further] {
            assembler.mov_number(register, 0);
        }
        let mut one_for_all = true;
        for (axis, slope) in elements.axes.iter().zip(slopes) {
            let (first, step, across) = match axis.index {
                Index::One(first) => (first, 0, 0),
                Index::Follow { first, step, row, .. } | Index::Near { first, step, row, .. } => {
                    (first, step, if in_rows { row } else { 0 })
                }
                Index::Lane => {
                    one_for_all = false;
                    assembler.by(General::Add, item, rm(axis.stride));
                    assembler.load(RAX, at(if in_rows { COLUMNS } else { WHOLE }));
                    assembler.multiply(RAX, rm(axis.stride));
                    assembler.by(General::Add, far, Rm::Reg(RAX.0));
                    continue;
                }
                Index::Even { .. } | Index::Lanes(..) => return assembler.jump(None, otherwise.0),
            };
            one_for_all &= step == 0;
            // What is inside at the ends is inside between them, and what would have wrapped on the way, of
            // 32 bits, is not inside: the smallest index in R11, the largest one in RDX.
            let (least, most) = (R11, RDX);
            assembler.load(least, at(first));
            assembler.by(General::Compare, least, rm(axis.last));
            leave(assembler);
            assembler.mov(most, least);
            assembler.mov(RAX, least);
            assembler.multiply(RAX, rm(axis.stride));
            assembler.by(General::Add, R9, Rm::Reg(RAX.0));
            for (step, last, distance) in [(step, LAST, item), (across, LAST_ROW, far)] {
                if step != 0 {
                    assembler.multiply_by(RAX, rm(last), step);
                    assembler.by(General::Add, if step > 0 { most } else { least }, Rm::Reg(RAX.0));
                    assembler.multiply_by(RAX, rm(axis.stride), step);
                    assembler.by(General::Add, distance, Rm::Reg(RAX.0));
                }
            }
            if let Some(slope) = *slope {
                // Products of two numbers of 32 bits do not wrap.
                assembler.load_as(RCX, rm(slope), 4, true);
                assembler.by(General::Compare, RCX, rm(slope));
                assembler.jump(Some(Condition::NotEqual), otherwise.0);
                assembler.load(RAX, at(rounds));
                assembler.add(RAX, -1);
                assembler.multiply(RAX, Rm::Reg(RCX.0));
                let (down, done) = (assembler.label(), assembler.label());
                assembler.test(RAX);
                assembler.jump(Some(Condition::Less), down);
                assembler.by(General::Add, most, Rm::Reg(RAX.0));
                assembler.jump(None, done);
                assembler.bind(down);
                assembler.by(General::Add, least, Rm::Reg(RAX.0));
                assembler.bind(done);
                assembler.multiply(RCX, rm(axis.stride));
                assembler.by(General::Add, further, Rm::Reg(RCX.0));
            }
            stay(assembler, axis.index, otherwise.0);
            if step != 0 || across != 0 || slope.is_some() {
                for end in [least, most] {
                    assembler.by(General::Compare, end, rm(axis.last));
                    leave(assembler);
                }
                assembler.compare_number(most, i32::MAX);
                leave(assembler);
            }
        }
        if !one_for_all {
            assembler.compare_number(item, elements.size.into());
            assembler.jump(Some(Condition::NotEqual), otherwise.0);
        }
        assembler.store(at(address), R9);
        assembler.store(at(by), further);
        if let Some(row) = row {
            // A lane's place is counted in all that are before it, which those of a row have behind them.
            if !one_for_all {
                assembler.multiply_by(RAX, rm(COLUMNS), elements.size.into());
                assembler.sub(far, RAX);
            }
            assembler.store(at(row), far);
        }
    }

    /// Goes through rounds, as many as a cell says, at least one and as [`unless_rounds`](Self::unless_rounds)
    /// allows: for all lanes, all of which are active. Two more cells are used on the way, and the addresses
    /// of places that move are those behind the last round then.
    ///
    /// # Errors
    /// [`Refused::Size`].
    pub fn rounds(&mut self, rounds: &Rounds, places: &[Place], cells: [Cell; 3]) -> Result<(), Refused> {
        let assembler = std::mem::take(&mut self.assembler);
        let grid = self.grid.map(|_| [COLUMNS, LAST_ROW]);
        let (assembler, bytes) = Emitter::rounds(&rounds.plan, places, (WHOLE, grid), cells, assembler)?;
        self.assembler = assembler;
        self.bytes = self.bytes.max(bytes);
        if self.assembler.len() > MOST_CODE { Err(Refused::Size) } else { Ok(()) }
    }
}
