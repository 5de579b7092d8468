//! Registers for the values of straight code, in one scan of it.

use super::{Emitter, NEVER, Part, Place, REST_MASK, TABLE};
use crate::asm::forms::{self as f, Memory, Shape};
use crate::asm::{Mem, Rm};
use crate::memory::Refused;
use crate::select::{Class, Origin, Step, Virtual};

/// Where values are in a scan of straight code.
pub(super) struct Scan {
    /// The register of a value.
    pub(super) at: Vec<Option<u8>>,
    /// The slot that a value was put into.
    pub(super) slot: Vec<Option<usize>>,
    /// When a value is used next.
    pub(super) next: Vec<u32>,
    /// What is in vector registers, and in mask registers.
    pub(super) vectors: [Holds; 32],
    pub(super) masks: [Holds; 8],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// A register that is used for other things.
    Other,
    Nothing,
    Value(Virtual),
}

impl Scan {
    pub(super) fn new(values: usize) -> Self {
        Self {
            at: vec![None; values],
            slot: vec![None; values],
            next: vec![NEVER; values],
            vectors: [Holds::Other; 32],
            masks: [Holds::Other; 8],
        }
    }
}

impl Emitter<'_> {
    /// Code without branches, from nothing in registers but what is fixed there.
    pub(super) fn straight(&mut self, steps: &[Step], part: Part) -> Result<(), Refused> {
        let vectors = self.top;
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
                self.splat(register, operand, size);
                self.keep(to, register);
            }
            Step::Store { operand, size, from } => {
                let register = self.ensure(from, &read)?;
                self.store(register, operand, size, part)?;
                self.used(&read, nexts);
            }
            Step::Keep { carried, from } => {
                let (register, own) = (self.ensure(from, &read)?, self.carried[carried]);
                if register != own {
                    let form = if self.wide { &f::MOVDQU32 } else { &f::MOVDQU };
                    self.vector(form, self.register_bytes(), [own, 0], Rm::Reg(register), [0, 0]);
                }
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

    /// An operand's one element, in all lanes of a register.
    pub(super) fn splat(&mut self, register: u8, operand: u8, size: u8) {
        let element = match self.place(operand) {
            Some(Place::One(at)) => Mem::at(TABLE, at.0),
            _ => Mem::at(self.pointer(operand), 0),
        };
        let form = match size {
            1 => &f::PBROADCASTB,
            2 => &f::PBROADCASTW,
            4 => &f::PBROADCASTD,
            _ => &f::PBROADCASTQ,
        };
        self.vector(form, self.register_bytes(), [register, 0], Rm::Mem(element), [0, 0]);
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
        if self.scan.next[v] != NEVER || self.fixed[v].is_some() || self.into[v].is_some() {
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
        if let Some(register) = self.into[usize::from(value)] {
            self.scan.next[usize::from(value)] = first;
            self.scan.at[usize::from(value)] = Some(register);
            return Ok(register);
        }
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
