//! Accesses to arrays: where lanes' elements lie, and how they come from there and go there.
//!
//! What lies one after another is used where it is. Elements at equal distances are copied, after the first and
//! the last index have been looked at. All others are found lane by lane, of the active lanes alone: what the
//! others hold is never looked at.

use super::{
    ACROSS, Axis, COLUMNS, COUNT, Elements, Index, LAST, LAST_ROW, PARTIAL, R8, R9, Routine, WHOLE, at, lane,
    rm,
};
use crate::asm::{Assembler, Condition, General, Gpr, Label, Mem, RAX, RCX, RDX, RSI, Rm};
use crate::emit::Cell;

const R10: Gpr = Gpr(10);
const R11: Gpr = Gpr(11);

/// Which lanes are active: a byte for each, and whether all are that there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Active {
    /// The bytes.
    pub mask: Cell,
    /// A number that is not 0 where all are.
    pub all: Cell,
}

/// Goes to a label where the smallest index in R11 or the largest one in RDX is not between what they are kept between.
pub(super) fn stay(assembler: &mut Assembler, index: Index, otherwise: Label) {
    for (bound, is_most) in index.bounds() {
        let (end, condition) = if is_most { (RDX, Condition::Greater) } else { (R11, Condition::Less) };
        assembler.by(General::Compare, end, rm(bound));
        assembler.jump(Some(condition), otherwise);
    }
}

/// Where lanes' elements are for a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// Room for an element of each lane.
    pub copies: Cell,
    /// The cell of the address.
    pub address: Cell,
    /// Of a routine in rows, the cell of what is added to it for each row.
    pub by: Option<Cell>,
}

/// The index of the first lane along an axis, in R11; its place is added to the address in R9. Outside of the array it leads to a label.
fn begin_at(assembler: &mut Assembler, first: Cell, [last, stride]: [Cell; 2], otherwise: Label) {
    assembler.load(R11, at(first));
    assembler.by(General::Compare, R11, rm(last));
    assembler.jump(Some(Condition::Above), otherwise);
    assembler.mov(RAX, R11);
    assembler.multiply(RAX, rm(stride));
    assembler.by(General::Add, R9, Rm::Reg(RAX.0));
}

impl Routine {
    /// An index that is one for all lanes, in RAX; outside of the array it is the nearest one, or leads to a
    /// label.
    fn one(&mut self, index: Cell, last: Cell, outside: Option<Label>) {
        self.assembler.load(RAX, at(index));
        self.keep_inside(last, outside, true);
    }

    /// The same of an index that is in RAX.
    fn keep_inside(&mut self, last: Cell, outside: Option<Label>, signed: bool) {
        let assembler = &mut self.assembler;
        if let Some(outside) = outside {
            // Negative ones are large without signs.
            assembler.by(General::Compare, RAX, rm(last));
            assembler.jump(Some(Condition::Above), outside);
            return;
        }
        if signed {
            assembler.mov_number(R8, 0);
            assembler.test(RAX);
            assembler.move_if(Condition::Less, RAX, Rm::Reg(R8.0));
        }
        // None is negative any more.
        assembler.by(General::Compare, RAX, rm(last));
        assembler.move_if(Condition::Above, RAX, rm(last));
    }

    /// In R9, the address of indices along the axes where they are one for all lanes, and 0 along the others.
    pub(super) fn base(&mut self, elements: &Elements, outside: Option<Label>) {
        self.assembler.load(R9, at(elements.start));
        for axis in &elements.axes {
            if let Index::One(index) = axis.index {
                self.one(index, axis.last, outside);
                self.assembler.multiply(RAX, rm(axis.stride));
                self.assembler.by(General::Add, R9, Rm::Reg(RAX.0));
            }
        }
    }

    /// In RAX, the sum of numbers times steps.
    fn further(&mut self, parts: [(Mem, i32); 2]) {
        let assembler = &mut self.assembler;
        let mut to = RAX;
        for (number, step) in parts {
            match step {
                0 => continue,
                1 => assembler.load(to, number),
                _ => assembler.multiply_by(to, Rm::Mem(number), step),
            }
            if to == RSI {
                assembler.by(General::Add, RAX, Rm::Reg(RSI.0));
            }
            to = RSI;
        }
        if to == RAX {
            assembler.mov_number(RAX, 0);
        }
    }

    /// In RDX, the address of the element of the lane in RCX.
    pub(super) fn lane_at(&mut self, elements: &Elements, outside: Option<Label>) {
        self.assembler.mov(RDX, R9);
        for axis in &elements.axes {
            let mut signed = true;
            match axis.index {
                Index::One(_) => continue,
                Index::Follow { first, step, row, half } | Index::Near { first, step, row, half, .. } => {
                    match self.grid {
                        None => self.assembler.multiply_by(RAX, Rm::Reg(RCX.0), step),
                        Some(grid) => {
                            let parts = [(grid.columns, step), (grid.rows, row)];
                            self.further(parts.map(|(numbers, step)| (lane(numbers, 8), step)));
                        }
                    }
                    self.assembler.by(General::Add, RAX, rm(first));
                    if half {
                        self.assembler.load_as(RAX, Rm::Reg(RAX.0), 4, true);
                    }
                    for (bound, is_most) in axis.index.bounds() {
                        let condition = if is_most { Condition::Greater } else { Condition::Less };
                        self.assembler.by(General::Compare, RAX, rm(bound));
                        self.assembler.move_if(condition, RAX, rm(bound));
                    }
                }
                Index::Even { first, step } => {
                    self.assembler.mov(RAX, RCX);
                    self.assembler.multiply(RAX, rm(step));
                    self.assembler.by(General::Add, RAX, rm(first));
                }
                Index::Lanes(cell, kind) => {
                    let from = Rm::Mem(lane(cell, kind.size()));
                    self.assembler.load_as(RAX, from, kind.size(), kind.is_signed());
                    signed = kind.is_signed();
                }
                Index::Lane => {
                    self.assembler.mov(RAX, RCX);
                    self.assembler.multiply(RAX, rm(axis.stride));
                    self.assembler.by(General::Add, RDX, Rm::Reg(RAX.0));
                    continue;
                }
            }
            self.keep_inside(axis.last, outside, signed);
            self.assembler.multiply(RAX, rm(axis.stride));
            self.assembler.by(General::Add, RDX, Rm::Reg(RAX.0));
        }
    }

    /// An element whose indices are one for all lanes, of a kind, as wide as a cell.
    pub fn load_one(&mut self, elements: &Elements, to: Cell, signed: bool) {
        self.base(elements, None);
        self.assembler.load_as(RAX, Rm::Mem(Mem::at(R9, 0)), elements.size, signed);
        self.assembler.store(at(to), RAX);
    }

    /// The number of items that lie one after another: of a row.
    const fn across(&self) -> Cell {
        if self.grid.is_some() { ACROSS } else { COUNT }
    }

    /// Jumps to a label where not all lanes' elements lie inside and at equal distances; else the address of
    /// the first one is in R9, the distance from item to item in R8, and, of rows, that from row to row in R10. Whether there is
    /// such a case; where there is none, the label is gone to.
    fn equally_far(&mut self, elements: &Elements, otherwise: Label, outside: Option<Label>) -> bool {
        if elements.axes.iter().any(|axis| matches!(axis.index, Index::Lanes(..))) {
            self.assembler.jump(None, otherwise);
            return false;
        }
        self.base(elements, outside);
        let (across, in_rows) = (self.across(), self.grid.is_some());
        let assembler = &mut self.assembler;
        assembler.mov_number(R8, 0);
        if in_rows {
            assembler.mov_number(R10, 0);
        }
        for &Axis { index, last, stride } in &elements.axes {
            match index {
                Index::One(_) | Index::Lanes(..) => {}
                Index::Lane => {
                    assembler.by(General::Add, R8, rm(stride));
                    if in_rows {
                        assembler.load(RAX, at(COLUMNS));
                        assembler.multiply(RAX, rm(stride));
                        assembler.by(General::Add, R10, Rm::Reg(RAX.0));
                    }
                }
                Index::Even { first, step } => {
                    begin_at(assembler, first, [last, stride], otherwise);
                    // Products of two numbers of 32 bits do not wrap.
                    assembler.load_as(RAX, rm(step), 4, true);
                    assembler.by(General::Compare, RAX, rm(step));
                    assembler.jump(Some(Condition::NotEqual), otherwise);
                    assembler.load(RDX, at(across));
                    assembler.add(RDX, -1);
                    assembler.multiply(RDX, Rm::Reg(RAX.0));
                    assembler.by(General::Add, RDX, Rm::Reg(R11.0));
                    assembler.by(General::Compare, RDX, rm(last));
                    assembler.jump(Some(Condition::Above), otherwise);
                    assembler.multiply(RAX, rm(stride));
                    assembler.by(General::Add, R8, Rm::Reg(RAX.0));
                }
                Index::Follow { first, step, row, half } | Index::Near { first, step, row, half, .. } => {
                    // The smallest index in R11, the largest one in RDX.
                    begin_at(assembler, first, [last, stride], otherwise);
                    assembler.mov(RDX, R11);
                    if step != 0 {
                        assembler.load(RAX, at(across));
                        assembler.add(RAX, -1);
                        assembler.multiply_by(RAX, Rm::Reg(RAX.0), step);
                        assembler.by(General::Add, if step > 0 { RDX } else { R11 }, Rm::Reg(RAX.0));
                        assembler.multiply_by(RAX, rm(stride), step);
                        assembler.by(General::Add, R8, Rm::Reg(RAX.0));
                    }
                    if in_rows && row != 0 {
                        assembler.multiply_by(RAX, rm(LAST_ROW), row);
                        assembler.by(General::Add, if row > 0 { RDX } else { R11 }, Rm::Reg(RAX.0));
                        assembler.multiply_by(RAX, rm(stride), row);
                        assembler.by(General::Add, R10, Rm::Reg(RAX.0));
                    }
                    if step > 0 || row > 0 {
                        assembler.by(General::Compare, RDX, rm(last));
                        assembler.jump(Some(Condition::Above), otherwise);
                    }
                    if step < 0 || row < 0 {
                        // Negative ones are large without signs.
                        assembler.by(General::Compare, R11, rm(last));
                        assembler.jump(Some(Condition::Above), otherwise);
                    }
                    if half {
                        // Between two indices that are none, nothing wraps.
                        assembler.compare_number(RDX, i32::MAX);
                        assembler.jump(Some(Condition::Above), otherwise);
                    }
                    stay(assembler, index, otherwise);
                }
            }
        }
        true
    }

    /// Jumps to a label where elements that lie at equal distances do not lie one after another, or, beyond
    /// [`COUNT`], are none.
    fn in_place(&mut self, elements: &Elements, otherwise: Label) {
        let assembler = &mut self.assembler;
        assembler.compare_number(R8, elements.size.into());
        assembler.jump(Some(Condition::NotEqual), otherwise);
        for &Axis { index, last, .. } in &elements.axes {
            let first = match index {
                Index::Even { first, step } => {
                    assembler.load(RDX, at(LAST));
                    assembler.multiply(RDX, rm(step));
                    Some(first)
                }
                _ => match index.follows() {
                    Some((first, step @ (1.. | ..=-1))) => {
                        assembler.multiply_by(RDX, rm(LAST), step);
                        Some(first)
                    }
                    _ => None,
                },
            };
            if let Some(first) = first {
                assembler.by(General::Add, RDX, rm(first));
                assembler.by(General::Compare, RDX, rm(last));
                assembler.jump(Some(Condition::Above), otherwise);
            }
        }
    }

    /// Has the place be where elements are: as [`in_place`](Self::in_place) leaves them.
    fn here_they_are(&mut self, size: u8, place: Found) {
        self.assembler.store(at(place.address), R9);
        if let Some(by) = place.by {
            self.assembler.multiply_by(RAX, rm(COLUMNS), size.into());
            self.assembler.sub(R10, RAX);
            self.assembler.store(at(by), R10);
        }
    }

    /// Has it be the copies.
    fn in_copies(&mut self, place: Found) {
        self.assembler.address(RAX, at(place.copies));
        self.assembler.store(at(place.address), RAX);
        if let Some(by) = place.by {
            self.assembler.mov_number(RAX, 0);
            self.assembler.store(at(by), RAX);
        }
    }

    /// Copies elements of all lanes at equal distances, as [`equally_far`](Self::equally_far) leaves them.
    fn copy_far(&mut self, size: u8, place: Found, back: bool) {
        let (four, one, done) = (self.assembler.label(), self.assembler.label(), self.assembler.label());
        let row = self.assembler.label();
        let across = self.across();
        let assembler = &mut self.assembler;
        let element = |assembler: &mut Assembler, far: Mem, further: i32| {
            let near = lane(Cell(place.copies.0 + further * i32::from(size)), size);
            let (from, to) = if back { (near, far) } else { (far, near) };
            assembler.load_as(RAX, Rm::Mem(from), size, false);
            assembler.store_as(to, RAX, size);
        };
        if let Some(by) = place.by {
            assembler.store(at(by), R10);
            assembler.mov(RSI, R9);
        }
        assembler.address(R10, Mem::indexed(R8, R8, 1, 0));
        assembler.mov_number(RCX, 0);
        assembler.bind(row);
        // Behind the last one of the row, and behind the last one that four can begin with.
        assembler.load(R11, at(across));
        assembler.address(RDX, Mem::indexed(R11, RCX, 0, 0));
        assembler.and(R11, -4);
        assembler.jump(Some(Condition::Equal), one);
        assembler.by(General::Add, R11, Rm::Reg(RCX.0));
        assembler.bind(four);
        element(assembler, Mem::at(R9, 0), 0);
        element(assembler, Mem::indexed(R9, R8, 0, 0), 1);
        element(assembler, Mem::indexed(R9, R8, 1, 0), 2);
        element(assembler, Mem::indexed(R9, R10, 0, 0), 3);
        assembler.address(R9, Mem::indexed(R9, R8, 2, 0));
        assembler.add(RCX, 4);
        assembler.compare(RCX, R11);
        assembler.jump(Some(Condition::Below), four);
        assembler.bind(one);
        assembler.compare(RCX, RDX);
        assembler.jump(Some(Condition::NotBelow), done);
        element(assembler, Mem::at(R9, 0), 0);
        assembler.by(General::Add, R9, Rm::Reg(R8.0));
        assembler.add(RCX, 1);
        assembler.jump(None, one);
        assembler.bind(done);
        if let Some(by) = place.by {
            assembler.by(General::Add, RSI, rm(by));
            assembler.mov(R9, RSI);
            assembler.by(General::Compare, RCX, rm(COUNT));
            assembler.jump(Some(Condition::Below), row);
        }
    }

    /// A loop over lanes, in RCX, of which eight are left out at a time where none of them is active, and, where
    /// `each`, those that are not. What is done with a lane may go to the label that it is given.
    pub(super) fn each_lane(&mut self, mask: Option<Cell>, each: bool, work: impl FnOnce(&mut Self, Label)) {
        let (again, next, done) = (self.assembler.label(), self.assembler.label(), self.assembler.label());
        self.assembler.mov_number(RCX, 0);
        let Some(mask) = mask else {
            self.assembler.bind(again);
            work(self, next);
            self.assembler.bind(next);
            self.assembler.add(RCX, 1);
            self.assembler.by(General::Compare, RCX, rm(COUNT));
            self.assembler.jump(Some(Condition::Below), again);
            return;
        };
        let (word, inside) = (self.assembler.label(), self.assembler.label());
        let assembler = &mut self.assembler;
        assembler.bind(word);
        // There are bytes for a multiple of eight lanes, which are 0 behind the last one.
        assembler.load(RAX, lane(mask, 1));
        assembler.test(RAX);
        assembler.jump(Some(Condition::NotEqual), again);
        assembler.add(RCX, 8);
        assembler.bind(inside);
        assembler.by(General::Compare, RCX, rm(WHOLE));
        assembler.jump(Some(Condition::Below), word);
        assembler.jump(None, done);
        assembler.bind(again);
        if each {
            assembler.load_as(RAX, Rm::Mem(lane(mask, 1)), 1, false);
            assembler.test(RAX);
            assembler.jump(Some(Condition::Equal), next);
        }
        work(self, next);
        let assembler = &mut self.assembler;
        assembler.bind(next);
        assembler.add(RCX, 1);
        assembler.mov(RAX, RCX);
        assembler.and(RAX, 7);
        assembler.jump(Some(Condition::NotEqual), again);
        assembler.jump(None, inside);
        assembler.bind(done);
    }

    /// Has the address of all lanes' elements in a cell: where they are, or, where they do not lie one after
    /// another or indices lead out, of copies, of the active lanes. Nothing may be written to the
    /// array before the elements are read.
    pub fn find(&mut self, elements: &Elements, active: Option<Active>, place: Found) {
        let (far, slowly, copied, done) =
            (self.assembler.label(), self.assembler.label(), self.assembler.label(), self.assembler.label());
        if self.equally_far(elements, slowly, None) {
            self.in_place(elements, far);
            self.here_they_are(elements.size, place);
            self.assembler.jump(None, done);
            self.assembler.bind(far);
            self.copy_far(elements.size, place, false);
            self.assembler.jump(None, copied);
        }
        self.assembler.bind(slowly);
        self.copy_each(elements, active.map(|active| active.mask), place);
        self.assembler.bind(copied);
        self.in_copies(place);
        self.assembler.bind(done);
    }

    /// The same of elements that are one for all of a row, of each row: there is one at the address, and the next row's is as many
    /// bytes further as the cell for rows says.
    pub fn find_rows(&mut self, elements: &Elements, place: Found) {
        let (slowly, done) = (self.assembler.label(), self.assembler.label());
        if self.equally_far(elements, slowly, None) {
            self.assembler.store(at(place.address), R9);
            self.assembler.store(at(place.by.unwrap_or(place.address)), R10);
            self.assembler.jump(None, done);
        }
        self.assembler.bind(slowly);
        self.copy_each(elements, None, place);
        self.assembler.address(RAX, at(place.copies));
        self.assembler.store(at(place.address), RAX);
        if let Some(by) = place.by {
            self.assembler.multiply_by(RAX, rm(COLUMNS), elements.size.into());
            self.assembler.store(at(by), RAX);
        }
        self.assembler.bind(done);
    }

    /// Copies the elements of the active lanes, one by one.
    fn copy_each(&mut self, elements: &Elements, mask: Option<Cell>, place: Found) {
        self.base(elements, None);
        self.each_lane(mask, false, |routine, _| {
            routine.lane_at(elements, None);
            let assembler = &mut routine.assembler;
            assembler.load_as(RAX, Rm::Mem(Mem::at(RDX, 0)), elements.size, false);
            assembler.store_as(lane(place.copies, elements.size), RAX, elements.size);
        });
    }

    /// Has the address in a cell where all lanes' elements are to be written: where they belong, if all of
    /// them are written, lie inside and one after another; else in copies, from where
    /// [`scatter`](Self::scatter) takes them.
    pub fn aim(&mut self, elements: &Elements, active: Option<Active>, place: Found) {
        let (slowly, done) = (self.assembler.label(), self.assembler.label());
        self.assembler.load(RAX, at(PARTIAL));
        self.assembler.test(RAX);
        self.assembler.jump(Some(Condition::NotEqual), slowly);
        self.unless_all(active, slowly);
        if self.equally_far(elements, slowly, Some(slowly)) {
            self.in_place(elements, slowly);
            self.here_they_are(elements.size, place);
            self.assembler.jump(None, done);
        }
        self.assembler.bind(slowly);
        self.in_copies(place);
        self.assembler.bind(done);
    }

    /// Goes to a label unless all lanes are active.
    pub(super) fn unless_all(&mut self, active: Option<Active>, otherwise: Label) {
        if let Some(Active { all, .. }) = active {
            self.assembler.load(RAX, at(all));
            self.assembler.test(RAX);
            self.assembler.jump(Some(Condition::Equal), otherwise);
        }
    }

    /// Writes what [`aim`](Self::aim) had written to copies, in the order of lanes: of those that are
    /// active, where an index leads out nothing.
    pub fn scatter(&mut self, elements: &Elements, active: Option<Active>, place: Found) {
        let (done, slowly, copies) = (self.assembler.label(), self.assembler.label(), place.copies);
        self.assembler.address(RAX, at(copies));
        self.assembler.by(General::Compare, RAX, rm(place.address));
        self.assembler.jump(Some(Condition::NotEqual), done);
        self.unless_all(active, slowly);
        if self.equally_far(elements, slowly, Some(done)) {
            self.copy_far(elements.size, place, true);
            self.assembler.jump(None, done);
        }
        self.assembler.bind(slowly);
        self.base(elements, Some(done));
        let mask = active.map(|active| active.mask);
        // Of lanes that write to one place, few are active.
        let one_place = elements.axes.iter().all(|axis| match axis.index {
            Index::One(_) => true,
            Index::Follow { step, .. } | Index::Near { step, .. } => step == 0,
            Index::Even { .. } | Index::Lanes(..) | Index::Lane => false,
        });
        self.each_lane(mask, one_place, |routine, next| {
            routine.lane_at(elements, Some(next));
            let assembler = &mut routine.assembler;
            if let (Some(mask), false) = (mask, one_place) {
                // Who is not active writes its copy to itself: a jump that nobody foresees takes longer.
                assembler.address(R10, lane(copies, elements.size));
                assembler.load_as(RAX, Rm::Mem(lane(mask, 1)), 1, false);
                assembler.test(RAX);
                assembler.move_if(Condition::Equal, RDX, Rm::Reg(R10.0));
            }
            assembler.load_as(RAX, Rm::Mem(lane(copies, elements.size)), elements.size, false);
            assembler.store_as(Mem::at(RDX, 0), RAX, elements.size);
        });
        self.assembler.bind(done);
    }
}
