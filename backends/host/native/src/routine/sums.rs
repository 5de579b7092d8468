//! Sums into elements of arrays, of lanes in their order.

use super::access::Active;
use super::{Axis, COUNT, Elements, Index, R9, Routine, at, lane, rm};
use crate::asm::forms::{self, Form};
use crate::asm::{Assembler, Condition, General, Gpr, Mem, Operands, RAX, RCX, RDX, RSI, Rm};
use crate::emit::Cell;

const R10: Gpr = Gpr(10);
const R11: Gpr = Gpr(11);
/// Vector registers of a sum of floats.
const TOTAL: u8 = 0;
const ADDEND: u8 = 1;

/// What each lane adds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Addend {
    /// One number for all.
    One(Cell),
    /// Each lane's element.
    Lanes(Cell),
}

/// What is added to elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sum {
    /// Integers; sums wrap.
    Integers,
    /// The same, atomically, as other threads access the elements, too.
    Shared,
    /// Floats.
    Floats,
}

/// Loads what is added, of so many bytes: integers to R11, floats to a vector register.
fn load_addend(assembler: &mut Assembler, from: Mem, size: u8, sum: Sum) {
    match (sum, size) {
        (Sum::Integers | Sum::Shared, _) => assembler.load_as(R11, Rm::Mem(from), size, false),
        (Sum::Floats, 4) => move_float(assembler, &forms::MOVD_LOAD, ADDEND, from),
        (Sum::Floats, _) => move_float(assembler, &forms::MOVQ_LOAD, ADDEND, from),
    }
}

fn move_float(assembler: &mut Assembler, form: &Form, reg: u8, rm: Mem) {
    assembler.vector(form, 16, &Operands { reg, vvvv: 0, rm: Rm::Mem(rm), last: 0, mask: 0, zeroing: false });
}

/// Adds it to an element.
fn add_addend(assembler: &mut Assembler, to: Mem, size: u8, sum: Sum) {
    let (load, add, store) = match (sum, size) {
        (Sum::Integers | Sum::Shared, _) => return assembler.add_to(to, R11, size, sum == Sum::Shared),
        (Sum::Floats, 4) => (&forms::MOVD_LOAD, &forms::ADDPS, &forms::MOVD_STORE),
        (Sum::Floats, _) => (&forms::MOVQ_LOAD, &forms::ADDPD, &forms::MOVQ_STORE),
    };
    move_float(assembler, load, TOTAL, to);
    let operands =
        Operands { reg: TOTAL, vvvv: TOTAL, rm: Rm::Reg(ADDEND), last: 0, mask: 0, zeroing: false };
    assembler.vector(add, 16, &operands);
    move_float(assembler, store, TOTAL, to);
}

impl Routine {
    /// The same of all lanes, of elements whose place along one axis each lane has; in R9 is the address of the first one along it,
    /// and what is added is loaded, where that is one for all. Four lanes at a time.
    fn add_to_places(
        &mut self,
        (cell, kind): (Cell, crate::Kind),
        [last, stride]: [Cell; 2],
        addend: Addend,
        (size, sum): (u8, Sum),
    ) {
        let (four, one, done) = (self.assembler.label(), self.assembler.label(), self.assembler.label());
        let assembler = &mut self.assembler;
        let element = |assembler: &mut Assembler, further: i32| {
            let next = assembler.label();
            let of = |cell: Cell, size: u8| lane(Cell(cell.0 + further * i32::from(size)), size);
            assembler.load_as(RAX, Rm::Mem(of(cell, kind.size())), kind.size(), kind.is_signed());
            // Negative ones are large without signs.
            assembler.compare(RAX, R10);
            assembler.jump(Some(Condition::Above), next);
            assembler.multiply(RAX, Rm::Reg(RSI.0));
            if let Addend::Lanes(cell) = addend {
                load_addend(assembler, of(cell, size), size, sum);
            }
            add_addend(assembler, Mem::indexed(R9, RAX, 0, 0), size, sum);
            assembler.bind(next);
        };
        assembler.load(R10, at(last));
        assembler.load(RSI, at(stride));
        assembler.mov_number(RCX, 0);
        assembler.load(RDX, at(COUNT));
        assembler.and(RDX, -4);
        assembler.jump(Some(Condition::Equal), one);
        assembler.bind(four);
        (0..4).for_each(|further| element(assembler, further));
        assembler.add(RCX, 4);
        assembler.compare(RCX, RDX);
        assembler.jump(Some(Condition::Below), four);
        assembler.bind(one);
        assembler.by(General::Compare, RCX, rm(COUNT));
        assembler.jump(Some(Condition::NotBelow), done);
        element(assembler, 0);
        assembler.add(RCX, 1);
        assembler.jump(None, one);
        assembler.bind(done);
    }

    /// Adds numbers of 4 or 8 bytes to elements: of the active lanes in their order, where an index leads out nothing; `full`: a mask
    /// of all.
    pub fn add_to(
        &mut self,
        elements: &Elements,
        active: Option<Active>,
        full: Cell,
        addend: Addend,
        sum: Sum,
    ) {
        let (done, slowly, size) = (self.assembler.label(), self.assembler.label(), elements.size);
        self.base(elements, Some(done));
        if let Addend::One(cell) = addend {
            load_addend(&mut self.assembler, at(cell), size, sum);
        }
        let mut apart = elements.axes.iter().filter(|axis| !matches!(axis.index, Index::One(_)));
        if let (Some(&Axis { index: Index::Lanes(cell, kind), last, stride }), None) =
            (apart.next(), apart.next())
        {
            self.unless_all(active, slowly);
            self.add_to_places((cell, kind), [last, stride], addend, (size, sum));
            self.assembler.jump(None, done);
        }
        self.assembler.bind(slowly);
        let mask = active.map_or(full, |active| active.mask);
        self.each_lane(Some(mask), true, |routine, next| {
            routine.lane_at(elements, Some(next));
            if let Addend::Lanes(cell) = addend {
                load_addend(&mut routine.assembler, lane(cell, size), size, sum);
            }
            add_addend(&mut routine.assembler, Mem::at(RDX, 0), size, sum);
        });
        self.assembler.bind(done);
    }
}
