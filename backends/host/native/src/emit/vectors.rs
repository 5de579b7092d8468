//! Vectors from and to memory: whole ones, and the last part.

use super::{DONE, Emitter, LEN, MINUS_REST, NEAR, Part, Place, REST_MASK, REST_VECTOR, TABLE};
use crate::LEAST_STREAMED;
use crate::asm::forms::{self as f, Form, Shape};
use crate::asm::{Condition, Mem, Operands, RAX, RBX, RCX, RDX, RSP, Rm};
use crate::memory::Refused;

impl Emitter<'_> {
    /// The vector instruction with registers or memory.
    pub(super) fn vector(
        &mut self,
        form: &Form,
        bytes: u8,
        [reg, vvvv]: [u8; 2],
        rm: Rm,
        [last, mask]: [u8; 2],
    ) {
        // Blends have a mask for another thing.
        let zeroing = mask != 0 && form.shape == Shape::Rm;
        self.assembler.vector(form, bytes, &Operands { reg, vvvv, rm, last, mask, zeroing });
    }

    /// Loads 4, 8, 16, 32 or 64 bytes.
    pub(super) fn load_vector(&mut self, to: u8, from: Mem, bytes: u8) {
        let form = match bytes {
            4 => &f::MOVD_LOAD,
            8 => &f::MOVQ_LOAD,
            16 | 32 if to < 16 => &f::MOVDQU,
            _ => &f::MOVDQU32,
        };
        self.vector(form, bytes.max(16), [to, 0], Rm::Mem(from), [0, 0]);
    }
    /// Stores as many.
    pub(super) fn store_vector(&mut self, from: u8, to: Mem, bytes: u8) {
        let form = match bytes {
            4 => &f::MOVD_STORE,
            8 => &f::MOVQ_STORE,
            16 | 32 if from < 16 => &f::STOREU,
            _ => &f::STOREU32,
        };
        self.vector(form, bytes.max(16), [from, 0], Rm::Mem(to), [0, 0]);
    }

    /// The mask of what is left, less than a vector.
    pub(super) fn rest_mask(&mut self) {
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
        assembler.load_as(RAX, Rm::Mem(if load { far } else { near }), 1, false);
        assembler.store_as(if load { near } else { far }, RAX, 1);
        assembler.add(RBX, -1);
        assembler.jump(Some(Condition::NotEqual), again);
    }

    pub(super) fn element(&mut self, operand: u8, size: u8, further: i32) -> Mem {
        let scale = u8::try_from(size.trailing_zeros()).unwrap_or(0);
        let further = further * i32::from(size);
        if let Some(Place::Lanes(at)) = self.place(operand) {
            return Mem::indexed(TABLE, DONE, scale, at.0 + further);
        }
        let pointer = self.pointer(operand);
        Mem::indexed(pointer, DONE, scale, further)
    }

    pub(super) fn load(&mut self, to: u8, operand: u8, size: u8, part: Part) -> Result<(), Refused> {
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

    pub(super) fn store(&mut self, from: u8, operand: u8, size: u8, part: Part) -> Result<(), Refused> {
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
}
