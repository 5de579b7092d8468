//! From selected instructions to code: registers, the loop, and its last part.
//!
//! A function takes the addresses of its operands, where elements end and where they begin. It goes through them a vector at a time, several in a turn of
//! the loop; the rest, less than a vector, is loaded and stored by masks (AVX-512, and AVX2 where elements have 4 or 8 bytes) or byte
//! by byte through the stack. Registers are found in one scan of the straight code: of the values that are in registers, the one whose
//! next use is furthest away makes room.

use crate::asm::forms::{self as f, Form, Memory, Shape};
use crate::asm::{Assembler, Condition, Gpr, Mem, Operands, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP, Rm};
use crate::memory::Refused;
use crate::select::{Class, Origin, Selected, Step, Virtual};
use crate::{LEAST_STREAMED, Level};

/// Registers that hold addresses of operands; of more, these are read anew from the table.
const POINTERS: [Gpr; 7] = [Gpr(8), Gpr(9), Gpr(10), Gpr(11), Gpr(12), Gpr(13), Gpr(14)];
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

/// The code of a form. With `stream`, whole vectors are stored past the caches, for which outputs must be aligned to a vector's
/// elements.
pub(crate) fn emit(selected: &Selected, stream: bool) -> Result<Vec<u8>, Refused> {
    let wide = selected.level == Level::Avx512;
    let values = selected.classes.len();
    let mut emitter = Emitter {
        selected,
        stream,
        wide,
        slot_bytes: if wide { 64 } else { 32 },
        assembler: Assembler::default(),
        slots: 0,
        free_slots: Vec::new(),
        homes: vec![None; values],
        fixed: vec![None; values],
        pointers: Vec::new(),
        scan: Scan::new(values),
    };
    emitter.function()?;
    if emitter.assembler.len() > MOST_CODE {
        return Err(Refused::Size);
    }
    emitter.assembler.finish().ok_or(Refused::Size)
}

/// Where values are in a scan of straight code.
struct Scan {
    /// The register of a value.
    at: Vec<Option<u8>>,
    /// The slot that a value was put into.
    slot: Vec<Option<usize>>,
    /// When a value is used next.
    next: Vec<u32>,
    /// What is in vector registers, and in mask registers.
    vectors: [Holds; 32],
    masks: [Holds; 8],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// A register that is used for other things.
    Other,
    Nothing,
    Value(Virtual),
}

impl Scan {
    fn new(values: usize) -> Self {
        Self {
            at: vec![None; values],
            slot: vec![None; values],
            next: vec![NEVER; values],
            vectors: [Holds::Other; 32],
            masks: [Holds::Other; 8],
        }
    }
}

struct Emitter<'a> {
    selected: &'a Selected,
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
    scan: Scan,
}

impl Emitter<'_> {
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
        let lanes = i32::from(selected.lanes);
        self.assembler.push(RBP);
        self.assembler.mov(RBP, RSP);
        SAVED.iter().for_each(|&register| self.assembler.push(register));
        self.assembler.add(RSP, 0);
        let frame = self.assembler.mark();
        self.assembler.and(RSP, -64);
        self.point();
        self.before()?;
        self.assembler.mov(DONE, RDX);
        let turns = match selected.turn.len() {
            ..=8 => 4,
            9..=24 => 2,
            _ => 1,
        };
        let end = self.assembler.label();
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
        self.assembler.compare(DONE, LEN);
        self.assembler.jump(Some(Condition::Equal), end);
        self.rest_mask();
        self.straight(&selected.turn, Part::Rest)?;
        self.assembler.bind(end);
        self.assembler.zero_upper();
        self.assembler.address(RSP, Mem::at(RBP, -8 * SAVED.len() as i32));
        SAVED.iter().rev().for_each(|&register| self.assembler.pop(register));
        self.assembler.pop(RBP);
        self.assembler.ret();
        let bytes = i32::try_from(self.slots * self.slot_bytes).map_err(|_| Refused::Size)?;
        self.assembler.patch(frame, -bytes);
        Ok(())
    }

    /// Loads the addresses of the operands.
    fn point(&mut self) {
        for step in &self.selected.turn {
            if let Step::Load { operand, .. } | Step::Store { operand, .. } = *step
                && self.pointers.len() < POINTERS.len()
                && !self.pointers.iter().any(|&(known, _)| known == operand)
            {
                let register = POINTERS[self.pointers.len()];
                self.assembler.load(register, Mem::at(TABLE, 8 * i32::from(operand)));
                self.pointers.push((operand, register));
            }
        }
    }

    /// The address of an operand.
    fn pointer(&mut self, operand: u8) -> Gpr {
        match self.pointers.iter().find(|&&(known, _)| known == operand) {
            Some(&(_, register)) => register,
            None => {
                self.assembler.load(NEAR, Mem::at(TABLE, 8 * i32::from(operand)));
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
                Step::Store { from, .. } => reads[usize::from(from)] += 2,
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
        let all = if self.wide { 32 } else { usize::from(REST_VECTOR) };
        // Two more, for what has no register of its own.
        let free = all.saturating_sub(self.most_alive() + 2);
        for (number, &value) in wanted.iter().take(free).enumerate() {
            let register = u8::try_from(all - 1 - number).map_err(|_| Refused::Size)?;
            let from = self.home(value).ok_or(Refused::Size)?;
            self.load_vector(register, from, self.register_bytes());
            self.fixed[usize::from(value)] = Some(register);
        }
        Ok(())
    }

    /// How many vectors that a turn computes are alive at a time at most.
    fn most_alive(&self) -> usize {
        let (mut alive, mut most) = (vec![false; self.selected.classes.len()], 0);
        let mut count = 0_usize;
        for step in self.selected.turn.iter().rev() {
            if let Some(to) = step.to()
                && std::mem::take(&mut alive[usize::from(to)])
            {
                count -= 1;
            }
            for value in step.reads() {
                let is_vector = self.origin(value) == Origin::Turn && self.class(value) != Class::Mask;
                if is_vector && !std::mem::replace(&mut alive[usize::from(value)], true) {
                    count += 1;
                }
            }
            most = most.max(count + 1);
        }
        most
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

    /// The vector instruction with registers or memory.
    fn vector(&mut self, form: &Form, bytes: u8, [reg, vvvv]: [u8; 2], rm: Rm, [last, mask]: [u8; 2]) {
        // Blends have a mask for another thing.
        let zeroing = mask != 0 && form.shape == Shape::Rm;
        self.assembler.vector(form, bytes, &Operands { reg, vvvv, rm, last, mask, zeroing });
    }

    /// Loads 4, 8, 16, 32 or 64 bytes.
    fn load_vector(&mut self, to: u8, from: Mem, bytes: u8) {
        let form = match bytes {
            4 => &f::MOVD_LOAD,
            8 => &f::MOVQ_LOAD,
            16 | 32 if to < 16 => &f::MOVDQU,
            _ => &f::MOVDQU32,
        };
        self.vector(form, bytes.max(16), [to, 0], Rm::Mem(from), [0, 0]);
    }
    /// Stores as many.
    fn store_vector(&mut self, from: u8, to: Mem, bytes: u8) {
        let form = match bytes {
            4 => &f::MOVD_STORE,
            8 => &f::MOVQ_STORE,
            16 | 32 if from < 16 => &f::STOREU,
            _ => &f::STOREU32,
        };
        self.vector(form, bytes.max(16), [from, 0], Rm::Mem(to), [0, 0]);
    }

    /// The mask of what is left, less than a vector.
    fn rest_mask(&mut self) {
        let assembler = &mut self.assembler;
        if !self.wide {
            assembler.mov(MINUS_REST, DONE);
            assembler.sub(MINUS_REST, LEN);
            return;
        }
        assembler.mov(RDX, DONE);
        assembler.mov(RBX, LEN);
        assembler.sub(RBX, DONE);
        assembler.mov(RCX, RBX);
        assembler.mov_number(RAX, -1);
        assembler.shl_by_rcx(RAX);
        assembler.not(RAX);
        assembler.mov(DONE, RDX);
        self.vector(&f::KMOVQ_GENERAL, 16, [REST_MASK, 0], Rm::Reg(RAX.0), [0, 0]);
    }

    /// Of AVX2: loads the mask of what is left, for elements of 4 or 8 bytes.
    fn rest_vector(&mut self, size: u8) {
        let place = self.assembler.constant(&std::array::from_fn(|i| if i < 32 { 0xff } else { 0 }));
        self.assembler.address(RAX, Mem::pool(place + 32));
        let scale = u8::try_from(size.trailing_zeros()).unwrap_or(0);
        self.load_vector(REST_VECTOR, Mem::indexed(RAX, MINUS_REST, scale, 0), 32);
    }

    /// Of AVX2: moves the bytes of what is left, of elements of 1 or 2 bytes, from an operand to a slot or back.
    fn rest_bytes(&mut self, operand: u8, size: u8, slot: usize, load: bool) {
        let scale = u8::try_from(size.trailing_zeros()).unwrap_or(0);
        let pointer = self.pointer(operand);
        let slot = self.slot_at(slot).displacement;
        let assembler = &mut self.assembler;
        assembler.address(NEAR, Mem::indexed(pointer, DONE, scale, 0));
        assembler.mov(RBX, MINUS_REST);
        assembler.neg(RBX);
        assembler.shl(RBX, scale);
        let again = assembler.label();
        assembler.bind(again);
        let (far, near) = (Mem::indexed(NEAR, RBX, 0, -1), Mem::indexed(RSP, RBX, 0, slot - 1));
        assembler.load_byte(if load { far } else { near });
        assembler.store_byte(if load { near } else { far });
        assembler.add(RBX, -1);
        assembler.jump(Some(Condition::NotEqual), again);
    }

    fn element(&mut self, operand: u8, size: u8, further: i32) -> Mem {
        let pointer = self.pointer(operand);
        let scale = u8::try_from(size.trailing_zeros()).unwrap_or(0);
        Mem::indexed(pointer, DONE, scale, further * i32::from(size))
    }

    fn load(&mut self, to: u8, operand: u8, size: u8, part: Part) -> Result<(), Refused> {
        let bytes = self.selected.lanes * size;
        match part {
            Part::Whole(further) => {
                let from = self.element(operand, size, further);
                self.load_vector(to, from, bytes);
            }
            Part::Rest if self.wide => {
                let from = self.element(operand, size, 0);
                let form = match size {
                    1 => &f::MOVDQU8,
                    2 => &f::MOVDQU16,
                    4 => &f::MOVDQU32,
                    _ => &f::MOVDQU64,
                };
                self.vector(form, bytes.max(16), [to, 0], Rm::Mem(from), [0, REST_MASK]);
            }
            Part::Rest if size >= 4 => {
                self.rest_vector(size);
                let from = self.element(operand, size, 0);
                let form = if size == 4 { &f::PMASKMOVD_LOAD } else { &f::PMASKMOVQ_LOAD };
                self.vector(form, bytes.max(16), [to, REST_VECTOR], Rm::Mem(from), [0, 0]);
            }
            Part::Rest => {
                let slot = self.slot()?;
                self.rest_bytes(operand, size, slot, true);
                let from = self.slot_at(slot);
                self.load_vector(to, from, bytes);
                self.free_slots.push(slot);
            }
        }
        Ok(())
    }

    fn store(&mut self, from: u8, operand: u8, size: u8, part: Part) -> Result<(), Refused> {
        let bytes = self.selected.lanes * size;
        match part {
            Part::Whole(further) => {
                let to = self.element(operand, size, further);
                if self.stream && usize::from(bytes) >= LEAST_STREAMED {
                    self.vector(&f::MOVNTDQ, bytes, [from, 0], Rm::Mem(to), [0, 0]);
                } else {
                    self.store_vector(from, to, bytes);
                }
            }
            Part::Rest if self.wide => {
                let to = self.element(operand, size, 0);
                let form = match size {
                    1 => &f::STOREU8,
                    2 => &f::STOREU16,
                    4 => &f::STOREU32,
                    _ => &f::STOREU64,
                };
                self.vector(form, bytes.max(16), [from, 0], Rm::Mem(to), [0, REST_MASK]);
            }
            Part::Rest if size >= 4 => {
                self.rest_vector(size);
                let to = self.element(operand, size, 0);
                let form = if size == 4 { &f::PMASKMOVD_STORE } else { &f::PMASKMOVQ_STORE };
                self.vector(form, bytes.max(16), [from, REST_VECTOR], Rm::Mem(to), [0, 0]);
            }
            Part::Rest => {
                let slot = self.slot()?;
                let to = self.slot_at(slot);
                self.store_vector(from, to, bytes);
                self.rest_bytes(operand, size, slot, false);
                self.free_slots.push(slot);
            }
        }
        Ok(())
    }

    /// Code without branches, from nothing in registers but what is fixed there.
    fn straight(&mut self, steps: &[Step], part: Part) -> Result<(), Refused> {
        let vectors = if self.wide { 32 } else { usize::from(REST_VECTOR) };
        self.scan.vectors = std::array::from_fn(|i| if i < vectors { Holds::Nothing } else { Holds::Other });
        let masks = 1..usize::from(REST_MASK);
        self.scan.masks =
            std::array::from_fn(|i| if masks.contains(&i) { Holds::Nothing } else { Holds::Other });
        for value in 0..self.fixed.len() {
            self.scan.at[value] = self.fixed[value];
            if let Some(register) = self.fixed[value] {
                self.scan.vectors[usize::from(register)] = Holds::Other;
            }
        }
        // When each value is used, from the end on: as a list of what to set when a step has been reached.
        self.scan.next.fill(NEVER);
        let mut nexts: Vec<[u32; 4]> = vec![[NEVER; 4]; steps.len()];
        let mut firsts: Vec<u32> = vec![NEVER; steps.len()];
        for (p, step) in steps.iter().enumerate().rev() {
            if let Some(to) = step.to() {
                firsts[p] = self.scan.next[usize::from(to)];
            }
            for (r, value) in step.reads().enumerate() {
                nexts[p][r] = self.scan.next[usize::from(value)];
            }
            for value in step.reads() {
                self.scan.next[usize::from(value)] = u32::try_from(p).unwrap_or(NEVER);
            }
        }
        for (p, step) in steps.iter().enumerate() {
            self.step(step, part, &nexts[p], firsts[p])?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, part: Part, nexts: &[u32; 4], first: u32) -> Result<(), Refused> {
        let read: [Option<Virtual>; 4] = {
            let mut read = step.reads();
            std::array::from_fn(|_| read.next())
        };
        match *step {
            Step::Load { operand, size, to } => {
                let register = self.define(to, first, &read)?;
                self.load(register, operand, size, part)?;
            }
            Step::Splat { operand, size, to } => {
                let register = self.define(to, first, &read)?;
                let pointer = self.pointer(operand);
                let form = match size {
                    1 => &f::PBROADCASTB,
                    2 => &f::PBROADCASTW,
                    4 => &f::PBROADCASTD,
                    _ => &f::PBROADCASTQ,
                };
                self.vector(form, self.register_bytes(), [register, 0], Rm::Mem(Mem::at(pointer, 0)), [0, 0]);
                self.keep(to, register);
            }
            Step::Store { operand, size, from } => {
                let register = self.ensure(from, &read)?;
                self.store(register, operand, size, part)?;
                self.used(&read, nexts);
            }
            Step::Vector { form, bytes, to, reads, last } => {
                let [first_read, rm, third, mask] = reads;
                let a = first_read.map(|v| self.ensure(v, &read)).transpose()?.unwrap_or(0);
                let third = third.map(|v| self.ensure(v, &read)).transpose()?;
                let mask = mask.map(|v| self.ensure(v, &read)).transpose()?.unwrap_or(0);
                let b = match rm {
                    None => Rm::Reg(0),
                    Some(v) => match (self.scan.at[usize::from(v)], form.memory, self.home(v)) {
                        (Some(register), ..) => Rm::Reg(register),
                        (None, Memory::Maybe, Some(home)) if self.class(v) != Class::Mask => Rm::Mem(home),
                        _ => Rm::Reg(self.ensure(v, &read)?),
                    },
                };
                self.used(&read, nexts);
                let register = self.define(to, first, &read)?;
                let (reg, vvvv, rm) = match form.shape {
                    Shape::Mr | Shape::MrI => (a, 0, Rm::Reg(register)),
                    Shape::VmI(_) => (0, register, b),
                    _ => (register, a, b),
                };
                self.vector(form, bytes, [reg, vvvv], rm, [third.unwrap_or(last), mask]);
                self.keep(to, register);
            }
        }
        Ok(())
    }

    /// A value that is computed before the loop goes to its slot.
    fn keep(&mut self, value: Virtual, register: u8) {
        if let (Origin::Before, Some(slot)) = (self.origin(value), self.homes[usize::from(value)]) {
            let to = self.slot_at(slot);
            self.save(value, register, to);
        }
    }

    fn save(&mut self, value: Virtual, register: u8, to: Mem) {
        match self.class(value) {
            Class::Mask => self.vector(&f::KMOVQ_STORE, 16, [register, 0], Rm::Mem(to), [0, 0]),
            Class::Vector(_) => self.store_vector(register, to, self.register_bytes()),
        }
    }

    fn holds(&mut self, value: Virtual, register: u8) -> &mut Holds {
        match self.class(value) {
            Class::Mask => &mut self.scan.masks[usize::from(register)],
            Class::Vector(_) => &mut self.scan.vectors[usize::from(register)],
        }
    }

    /// After a step that has read values: those that are not read again leave their registers and slots.
    fn used(&mut self, read: &[Option<Virtual>; 4], nexts: &[u32; 4]) {
        for (&value, &next) in read.iter().zip(nexts) {
            let Some(value) = value else { continue };
            self.scan.next[usize::from(value)] = next;
        }
        for &value in read.iter().flatten() {
            self.leave_if_dead(value);
        }
    }

    fn leave_if_dead(&mut self, value: Virtual) {
        let v = usize::from(value);
        if self.scan.next[v] != NEVER || self.fixed[v].is_some() {
            return;
        }
        if let Some(register) = self.scan.at[v].take() {
            *self.holds(value, register) = Holds::Nothing;
        }
        if let Some(slot) = self.scan.slot[v].take() {
            self.free_slots.push(slot);
        }
    }

    /// A register for a result.
    fn define(&mut self, value: Virtual, first: u32, read: &[Option<Virtual>; 4]) -> Result<u8, Refused> {
        // What nobody reads again in this code is in the register until the next one asks for it.
        let register = self.room(value, read)?;
        self.scan.next[usize::from(value)] = first;
        if first == NEVER {
            return Ok(register);
        }
        self.scan.at[usize::from(value)] = Some(register);
        *self.holds(value, register) = Holds::Value(value);
        Ok(register)
    }

    /// Has a value in a register.
    fn ensure(&mut self, value: Virtual, read: &[Option<Virtual>; 4]) -> Result<u8, Refused> {
        if let Some(register) = self.scan.at[usize::from(value)] {
            return Ok(register);
        }
        let from = self.home(value).ok_or(Refused::Size)?;
        let register = self.room(value, read)?;
        match self.class(value) {
            Class::Mask => self.vector(&f::KMOVQ, 16, [register, 0], Rm::Mem(from), [0, 0]),
            Class::Vector(_) => self.load_vector(register, from, self.register_bytes()),
        }
        self.scan.at[usize::from(value)] = Some(register);
        *self.holds(value, register) = Holds::Value(value);
        Ok(register)
    }

    /// A register with nothing in it that is needed, for a value of a class; what a step reads stays where it is.
    fn room(&mut self, value: Virtual, read: &[Option<Virtual>; 4]) -> Result<u8, Refused> {
        let all: &[Holds] = match self.class(value) {
            Class::Mask => &self.scan.masks,
            Class::Vector(_) => &self.scan.vectors,
        };
        if let Some(free) = all.iter().position(|&holds| holds == Holds::Nothing) {
            return u8::try_from(free).map_err(|_| Refused::Size);
        }
        let found = all.iter().enumerate().filter_map(|(register, &holds)| match holds {
            Holds::Value(held) if !read.contains(&Some(held)) => {
                Some((self.scan.next[usize::from(held)], register, held))
            }
            _ => None,
        });
        let (_, register, held) = found.max().ok_or(Refused::Size)?;
        let register = u8::try_from(register).map_err(|_| Refused::Size)?;
        if self.home(held).is_none() {
            let slot = self.slot()?;
            self.scan.slot[usize::from(held)] = Some(slot);
            let to = self.slot_at(slot);
            self.save(held, register, to);
        }
        self.scan.at[usize::from(held)] = None;
        *self.holds(held, register) = Holds::Nothing;
        Ok(register)
    }
}
