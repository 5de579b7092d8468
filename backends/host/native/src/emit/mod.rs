//! From selected instructions to code: registers, the loop, and its last part.
//!
//! A function takes the addresses of its operands, where elements end and where they begin. It goes through them a vector at a time, several in a turn of
//! the loop; the rest, less than a vector, is loaded and stored by masks (AVX-512, and AVX2 where elements have 4 or 8 bytes) or byte
//! by byte through the stack. Registers are found in one scan of the straight code: of the values that are in registers, the one whose
//! next use is furthest away makes room.

mod registers;
mod rounds;
mod vectors;

use crate::Level;
use crate::asm::{Assembler, Condition, General, Gpr, Mem, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP, Rm};
use crate::memory::Refused;
use crate::select::{Class, Origin, Selected, Step, Virtual};
use registers::Scan;

pub(crate) use rounds::{Carried, Plan};

/// Registers that hold addresses of operands; of more, these are read anew from the table.
const POINTERS: [Gpr; 7] = [Gpr(8), Gpr(9), Gpr(10), Gpr(11), Gpr(12), Gpr(13), Gpr(14)];
/// Operands of a block at most whose address is another one in each row.
pub const MOST_ROWS: usize = POINTERS.len();
/// An address that is needed for one instruction.
const NEAR: Gpr = Gpr(15);
/// Registers that a caller expects unchanged.
const SAVED: [Gpr; 5] = [RBX, Gpr(12), Gpr(13), Gpr(14), NEAR];
/// The table of addresses, the end of the elements, and the one that comes next, which is passed in RDX.
const TABLE: Gpr = RDI;
const LEN: Gpr = RSI;
const DONE: Gpr = RCX;
/// In the last part of AVX2: minus the number of elements.
const MINUS_REST: Gpr = RDX;
/// The mask of the last part: of AVX-512 the register, of AVX2 that which it is loaded to.
const REST_MASK: u8 = 7;
const REST_VECTOR: u8 = 15;

/// Bytes of a stack frame at most: less than a page, so that it cannot step over the one that guards the stack.
const MOST_FRAME: usize = 3 << 10;
/// Bytes of code at most.
const MOST_CODE: usize = 64 << 10;
/// Never used again.
const NEVER: u32 = u32::MAX;

/// Which part of the elements a turn is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// A vector, so many elements further on.
    Whole(i32),
    /// What is left, less than a vector.
    Rest,
}

/// A place in the memory that a [routine](crate::Routine) works on, by its bytes from the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cell(pub i32);

/// The beginning of a function; the mark behind the number that is minus the bytes of its frame.
pub(crate) fn enter(assembler: &mut Assembler) -> usize {
    assembler.push(RBP);
    assembler.mov(RBP, RSP);
    SAVED.iter().for_each(|&register| assembler.push(register));
    assembler.add(RSP, 0);
    let frame = assembler.mark();
    assembler.and(RSP, -64);
    frame
}

/// The end of a function.
pub(crate) fn leave(assembler: &mut Assembler) {
    assembler.zero_upper();
    assembler.address(RSP, Mem::at(RBP, -8 * SAVED.len() as i32));
    SAVED.iter().rev().for_each(|&register| assembler.pop(register));
    assembler.pop(RBP);
    assembler.ret();
}

/// Where an operand of a block is, in that memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Elements lane after lane, from here on.
    Lanes(Cell),
    /// One element for all lanes.
    One(Cell),
    /// Here is the address of the elements.
    At(Cell),
    /// Here is the address of the elements of the first row, and how many bytes are added to it for each row; a block has
    /// [`MOST_ROWS`] of these at most.
    Rows {
        /// The address.
        at: Cell,
        /// The bytes.
        by: Cell,
    },
    /// Here is the address of the elements of the next round, and how many bytes the round after that is further.
    Moving {
        /// The address.
        at: Cell,
        /// The bytes.
        by: Cell,
        /// Of rows, the bytes that are added to the address for each row.
        row: Option<Cell>,
    },
}

/// The code of a form. With `stream`, whole vectors are stored past the caches, for which outputs must be aligned to a vector's
/// elements.
pub(crate) fn emit(selected: &Selected, stream: bool) -> Result<Vec<u8>, Refused> {
    let mut emitter = Emitter::new(selected, Assembler::default());
    emitter.stream = stream;
    emitter.function()?;
    if emitter.assembler.len() > MOST_CODE {
        return Err(Refused::Size);
    }
    emitter.assembler.finish().ok_or(Refused::Size)
}

pub(crate) struct Emitter<'a> {
    selected: &'a Selected,
    /// Of a block, where the operands are; of a function, a table has their addresses.
    places: Option<&'a [Place]>,
    stream: bool,
    wide: bool,
    slot_bytes: usize,
    assembler: Assembler,
    /// Slots of the frame so far.
    slots: usize,
    free_slots: Vec<usize>,
    /// The slot of a value that is computed before the loop.
    homes: Vec<Option<usize>>,
    /// The register that such a value or a constant has in the loop.
    fixed: Vec<Option<u8>>,
    /// The register of an operand's address.
    pointers: Vec<(u8, Gpr)>,
    /// The first of the vector registers that a scan has nothing to do with.
    top: usize,
    /// Values that have registers beyond that one.
    own: Vec<bool>,
    /// The register that a value has to be made in.
    into: Vec<Option<u8>>,
    /// The registers of what is carried, of the vector that is computed.
    carried: Vec<u8>,
    scan: Scan,
}

impl<'a> Emitter<'a> {
    fn new(selected: &'a Selected, assembler: Assembler) -> Self {
        let wide = selected.level == Level::Avx512;
        let values = selected.classes.len();
        Self {
            selected,
            places: None,
            stream: false,
            wide,
            slot_bytes: if wide { 64 } else { 32 },
            assembler,
            slots: 0,
            free_slots: Vec::new(),
            homes: vec![None; values],
            fixed: vec![None; values],
            pointers: Vec::new(),
            top: if wide { 32 } else { usize::from(REST_VECTOR) },
            own: vec![false; values],
            into: vec![None; values],
            carried: Vec::new(),
            scan: Scan::new(values),
        }
    }

    /// Straight code for as many lanes, a multiple of a vector's, as a cell says; the assembler, and bytes of the frame.
    pub(crate) fn block(
        selected: &'a Selected,
        places: &'a [Place],
        [lanes, columns]: [Cell; 2],
        assembler: Assembler,
    ) -> Result<(Assembler, usize), Refused> {
        let mut emitter = Self::new(selected, assembler);
        emitter.places = Some(places);
        emitter.point();
        emitter.before()?;
        let rows: Vec<(Gpr, Cell)> = (emitter.pointers.iter())
            .filter_map(|&(operand, register)| match places.get(usize::from(operand)) {
                Some(&Place::Rows { by, .. }) => Some((register, by)),
                _ => None,
            })
            .collect();
        let used = |operand: u8| emitter.pointers.iter().any(|&(known, _)| known == operand);
        let far = |operand: u8| matches!(places.get(usize::from(operand)), Some(Place::Rows { .. }));
        let left = selected.turn.iter().any(|step| match *step {
            Step::Load { operand, .. } | Step::Store { operand, .. } | Step::Splat { operand, .. } => {
                far(operand) && !used(operand)
            }
            Step::Vector { .. } | Step::Keep { .. } => false,
        });
        if left {
            return Err(Refused::Size);
        }
        let at = |cell: Cell| Mem::at(TABLE, cell.0);
        emitter.assembler.mov_number(DONE, 0);
        if let Some(&(_, first)) = rows.first() {
            let again = emitter.assembler.label();
            emitter.assembler.bind(again);
            // Where one row's elements follow the other's in each operand, all are one.
            emitter.assembler.load(LEN, at(first));
            for &(_, by) in &rows[1..] {
                emitter.assembler.by(General::Or, LEN, Rm::Mem(at(by)));
            }
            emitter.assembler.load(RAX, at(columns));
            emitter.assembler.test(LEN);
            emitter.assembler.move_if(Condition::Equal, RAX, Rm::Mem(at(lanes)));
            emitter.assembler.address(LEN, Mem::indexed(DONE, RAX, 0, 0));
            emitter.whole_vectors()?;
            for (register, by) in rows {
                emitter.assembler.by(General::Add, register, Rm::Mem(at(by)));
            }
            emitter.assembler.by(General::Compare, DONE, Rm::Mem(at(lanes)));
            emitter.assembler.jump(Some(Condition::Below), again);
        } else {
            emitter.assembler.load(LEN, at(lanes));
            emitter.whole_vectors()?;
        }
        Ok((emitter.assembler, emitter.slots * emitter.slot_bytes))
    }

    fn class(&self, value: Virtual) -> Class {
        self.selected.classes[usize::from(value)]
    }
    fn origin(&self, value: Virtual) -> Origin {
        self.selected.origins[usize::from(value)]
    }
    /// Bytes of a vector register.
    fn register_bytes(&self) -> u8 {
        if self.wide { 64 } else { 32 }
    }
    fn slot(&mut self) -> Result<usize, Refused> {
        if let Some(slot) = self.free_slots.pop() {
            return Ok(slot);
        }
        self.slots += 1;
        if self.slots * self.slot_bytes > MOST_FRAME { Err(Refused::Size) } else { Ok(self.slots - 1) }
    }
    fn slot_at(&self, slot: usize) -> Mem {
        Mem::at(RSP, i32::try_from(slot * self.slot_bytes).unwrap_or(i32::MAX))
    }

    fn function(&mut self) -> Result<(), Refused> {
        let selected = self.selected;
        let frame = enter(&mut self.assembler);
        self.point();
        self.before()?;
        self.assembler.mov(DONE, RDX);
        self.whole_vectors()?;
        let end = self.assembler.label();
        self.assembler.compare(DONE, LEN);
        self.assembler.jump(Some(Condition::Equal), end);
        self.rest_mask();
        self.straight(&selected.turn, Part::Rest)?;
        self.assembler.bind(end);
        leave(&mut self.assembler);
        let bytes = i32::try_from(self.slots * self.slot_bytes).map_err(|_| Refused::Size)?;
        self.assembler.patch(frame, -bytes);
        Ok(())
    }

    /// All whole vectors that are left.
    fn whole_vectors(&mut self) -> Result<(), Refused> {
        let selected = self.selected;
        let lanes = i32::from(selected.lanes);
        let turns = match selected.turn.len() {
            ..=8 => 4,
            9..=24 => 2,
            _ => 1,
        };
        // Several vectors in a turn, then one.
        for at_once in [turns, 1] {
            let (again, out) = (self.assembler.label(), self.assembler.label());
            let step = at_once * lanes;
            self.assembler.address(RAX, Mem::at(DONE, step));
            self.assembler.compare(RAX, LEN);
            self.assembler.jump(Some(Condition::Above), out);
            self.assembler.align(32);
            self.assembler.bind(again);
            for vector in 0..at_once {
                self.straight(&selected.turn, Part::Whole(vector * lanes))?;
            }
            self.assembler.add(DONE, step);
            self.assembler.address(RAX, Mem::at(DONE, step));
            self.assembler.compare(RAX, LEN);
            self.assembler.jump(Some(Condition::NotAbove), again);
            self.assembler.bind(out);
            if turns == 1 {
                break;
            }
        }
        Ok(())
    }

    /// Loads the addresses of the operands.
    fn point(&mut self) {
        for step in &self.selected.turn {
            if let Step::Load { operand, .. } | Step::Store { operand, .. } | Step::Splat { operand, .. } =
                *step
                && matches!(self.place(operand), None | Some(Place::At(_) | Place::Rows { .. }))
                && self.pointers.len() < POINTERS.len()
                && !self.pointers.iter().any(|&(known, _)| known == operand)
            {
                let register = POINTERS[self.pointers.len()];
                let at = self.address_of(operand);
                self.assembler.load(register, at);
                self.pointers.push((operand, register));
            }
        }
    }

    fn place(&self, operand: u8) -> Option<Place> {
        self.places?.get(usize::from(operand)).copied()
    }
    /// Where the address of an operand is.
    fn address_of(&self, operand: u8) -> Mem {
        let at = match self.place(operand) {
            Some(
                Place::At(at)
                | Place::Lanes(at)
                | Place::One(at)
                | Place::Rows { at, .. }
                | Place::Moving { at, .. },
            ) => at.0,
            None => 8 * i32::from(operand),
        };
        Mem::at(TABLE, at)
    }
    /// The address of an operand.
    fn pointer(&mut self, operand: u8) -> Gpr {
        match self.pointers.iter().find(|&&(known, _)| known == operand) {
            Some(&(_, register)) => register,
            None => {
                let at = self.address_of(operand);
                self.assembler.load(NEAR, at);
                NEAR
            }
        }
    }

    /// What is computed once: each value that the loop reads goes to a slot, and those that it reads most then to registers.
    fn before(&mut self) -> Result<(), Refused> {
        let selected = self.selected;
        // How often the loop reads a value; where it has to be a register, this counts more.
        let mut reads = vec![0_u32; selected.classes.len()];
        for step in &selected.turn {
            match *step {
                Step::Vector { reads: all, .. } => {
                    for (role, value) in all.into_iter().enumerate() {
                        if let Some(value) = value {
                            reads[usize::from(value)] += if role == 1 { 1 } else { 2 };
                        }
                    }
                }
                Step::Store { from, .. } | Step::Keep { from, .. } => reads[usize::from(from)] += 2,
                Step::Load { .. } | Step::Splat { .. } => {}
            }
        }
        self.fixed.fill(None);
        for step in &selected.before {
            if let Some(to) = step.to()
                && reads[usize::from(to)] > 0
            {
                self.homes[usize::from(to)] = Some(self.slot()?);
            }
        }
        self.straight(&selected.before, Part::Whole(0))?;

        let mut wanted: Vec<Virtual> = (0..reads.len())
            .filter(|&v| reads[v] > 0 && selected.origins[v] != Origin::Turn)
            .filter(|&v| selected.classes[v] != Class::Mask)
            .filter_map(|v| Virtual::try_from(v).ok())
            .collect();
        wanted.sort_by_key(|&v| std::cmp::Reverse(reads[usize::from(v)]));
        let all = self.top;
        // Two more, for what has no register of its own.
        let free = all.saturating_sub(most_alive(&self.selected.turn, self.selected, &self.own) + 2);
        for (number, &value) in wanted.iter().take(free).enumerate() {
            let register = u8::try_from(all - 1 - number).map_err(|_| Refused::Size)?;
            let from = self.home(value).ok_or(Refused::Size)?;
            self.load_vector(register, from, self.register_bytes());
            self.fixed[usize::from(value)] = Some(register);
        }
        Ok(())
    }

    /// Where a value is in memory, if it is.
    fn home(&mut self, value: Virtual) -> Option<Mem> {
        if let Origin::Constant(number) = self.origin(value) {
            let place = self.assembler.constant(&self.selected.constants[number]);
            return Some(Mem::pool(place));
        }
        let v = usize::from(value);
        let slot = self.scan.slot[v].or(self.homes[v].filter(|_| self.origin(value) == Origin::Before))?;
        Some(self.slot_at(slot))
    }
}

/// How many vectors that a turn computes are alive at a time at most, but for those with registers of their own.
fn most_alive(turn: &[Step], selected: &Selected, own: &[bool]) -> usize {
    let (mut alive, mut most) = (vec![false; selected.classes.len()], 0);
    let mut count = 0_usize;
    for step in turn.iter().rev() {
        if let Some(to) = step.to()
            && std::mem::take(&mut alive[usize::from(to)])
        {
            count -= 1;
        }
        for value in step.reads() {
            let v = usize::from(value);
            let is_vector = selected.origins[v] == Origin::Turn && selected.classes[v] != Class::Mask;
            if is_vector && !own[v] && !std::mem::replace(&mut alive[v], true) {
                count += 1;
            }
        }
        most = most.max(count + 1);
    }
    most
}
