//! The encoder: instructions to bytes, by the [forms](forms) of vectors and a few of general registers.

pub(crate) mod forms;
#[cfg(test)]
mod tests;

use forms::{Form, Shape};

/// A general register of 64 bits, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Gpr(pub(crate) u8);

pub(crate) const RAX: Gpr = Gpr(0);
pub(crate) const RCX: Gpr = Gpr(1);
pub(crate) const RDX: Gpr = Gpr(2);
pub(crate) const RBX: Gpr = Gpr(3);
pub(crate) const RSP: Gpr = Gpr(4);
pub(crate) const RBP: Gpr = Gpr(5);
pub(crate) const RSI: Gpr = Gpr(6);
pub(crate) const RDI: Gpr = Gpr(7);

/// What an address begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Base {
    Gpr(Gpr),
    /// The constants behind the code, of which the displacement is a place.
    Pool,
}

/// An address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mem {
    pub(crate) base: Base,
    /// A register, and the logarithm of its factor.
    pub(crate) index: Option<(Gpr, u8)>,
    pub(crate) displacement: i32,
}

impl Mem {
    pub(crate) const fn at(base: Gpr, displacement: i32) -> Self {
        Self { base: Base::Gpr(base), index: None, displacement }
    }
    pub(crate) const fn pool(place: i32) -> Self {
        Self { base: Base::Pool, index: None, displacement: place }
    }
    pub(crate) const fn indexed(base: Gpr, index: Gpr, scale: u8, displacement: i32) -> Self {
        Self { base: Base::Gpr(base), index: Some((index, scale)), displacement }
    }
}

/// The operand that is a register, by its number, or memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rm {
    Reg(u8),
    Mem(Mem),
}

/// The operands of a vector instruction, by where they stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Operands {
    pub(crate) reg: u8,
    pub(crate) vvvv: u8,
    pub(crate) rm: Rm,
    /// The number, or the register in the last byte.
    pub(crate) last: u8,
    /// The mask register; 0: none.
    pub(crate) mask: u8,
    /// Whether lanes out of the mask become 0.
    pub(crate) zeroing: bool,
}

/// Conditions of jumps, by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    /// Below, without signs.
    Below = 2,
    /// Not below, without signs.
    NotBelow = 3,
    Equal = 4,
    NotEqual = 5,
    /// Not above, without signs.
    NotAbove = 6,
    /// Above, without signs.
    Above = 7,
    /// Of numbers with signs: smaller, not larger, larger.
    Less = 12,
    NotGreater = 14,
    Greater = 15,
}

/// Operations of general registers of which one operand may be memory, by their opcodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum General {
    Add = 0x03,
    Or = 0x0b,
    And = 0x23,
    Sub = 0x2b,
    Xor = 0x33,
    Compare = 0x3b,
}

/// A place in the code that jumps lead to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Label(usize);

/// Bytes of a constant: of the widest vector, to which the pool is aligned.
pub(crate) const CONSTANT_BYTES: usize = 64;

/// Code that is being written.
#[derive(Default)]
pub(crate) struct Assembler {
    code: Vec<u8>,
    pool: Vec<[u8; CONSTANT_BYTES]>,
    /// Places of labels.
    labels: Vec<Option<usize>>,
    /// Where a jump's distance stands, and where it leads.
    jumps: Vec<(usize, Label)>,
    /// Where the distance of a constant stands, the place in the pool, and where the instruction ends.
    constants: Vec<(usize, i32, usize)>,
}

impl Assembler {
    /// The place of a constant in the pool.
    pub(crate) fn constant(&mut self, bytes: &[u8; CONSTANT_BYTES]) -> i32 {
        let found = self.pool.iter().position(|other| other == bytes);
        let number = found.unwrap_or_else(|| {
            self.pool.push(*bytes);
            self.pool.len() - 1
        });
        i32::try_from(number * CONSTANT_BYTES).unwrap_or(i32::MAX)
    }

    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Has a label here.
    pub(crate) fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// Where the code is.
    pub(crate) fn mark(&self) -> usize {
        self.code.len()
    }

    /// Writes the number of an instruction anew whose last bytes it is, and behind which a mark was.
    pub(crate) fn patch(&mut self, mark: usize, number: i32) {
        self.code[mark - 4..mark].copy_from_slice(&number.to_le_bytes());
    }

    /// Bytes so far, of code and constants.
    pub(crate) fn len(&self) -> usize {
        self.code.len() + self.pool.len() * CONSTANT_BYTES
    }

    /// The code, with its constants behind it; `None` where a label was never bound or is too far away.
    pub(crate) fn finish(mut self) -> Option<Vec<u8>> {
        for &(at, label) in &self.jumps {
            let to = i64::try_from(self.labels[label.0]?).ok()?;
            let distance = i32::try_from(to - i64::try_from(at + 4).ok()?).ok()?;
            self.code[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        let begin = self.code.len().next_multiple_of(CONSTANT_BYTES);
        for &(at, place, end) in &self.constants {
            let to = i64::try_from(begin).ok()? + i64::from(place);
            let distance = i32::try_from(to - i64::try_from(end).ok()?).ok()?;
            self.code[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        if !self.pool.is_empty() {
            // Never reached.
            self.code.resize(begin, 0xcc);
            self.pool.iter().for_each(|constant| self.code.extend_from_slice(constant));
        }
        Some(self.code)
    }

    fn byte(&mut self, byte: u8) {
        self.code.push(byte);
    }

    fn number(&mut self, number: i32) {
        self.code.extend_from_slice(&number.to_le_bytes());
    }

    /// The byte ModRM and what follows it, but for numbers, of which `behind` bytes come. `short`: whether a displacement of one byte
    /// is one.
    fn modrm(&mut self, reg: u8, rm: Rm, short: bool, behind: usize) {
        let reg = (reg & 7) << 3;
        let mem = match rm {
            Rm::Reg(number) => return self.byte(0xc0 | reg | number & 7),
            Rm::Mem(mem) => mem,
        };
        let base = match mem.base {
            Base::Pool => {
                self.byte(reg | 5);
                let at = self.code.len();
                self.constants.push((at, mem.displacement, at + 4 + behind));
                return self.number(0);
            }
            Base::Gpr(Gpr(base)) => base,
        };
        let byte = i8::try_from(mem.displacement).ok().filter(|_| short);
        // Without a displacement this base would be something else.
        let mode = match mem.displacement {
            0 if base & 7 != 5 => 0,
            _ if byte.is_some() => 0x40,
            _ => 0x80,
        };
        match mem.index {
            Some((Gpr(index), scale)) => {
                self.byte(mode | reg | 4);
                self.byte(scale << 6 | (index & 7) << 3 | base & 7);
            }
            None if base & 7 == 4 => {
                self.byte(mode | reg | 4);
                self.byte(0x24);
            }
            None => self.byte(mode | reg | base & 7),
        }
        match (mode, byte) {
            (0, _) => {}
            (0x40, Some(byte)) => self.byte(byte.cast_unsigned()),
            _ => self.number(mem.displacement),
        }
    }

    /// An instruction of vectors of so many bytes, or of masks. By VEX where it can be, which is shorter.
    pub(crate) fn vector(&mut self, form: &Form, bytes: u8, operands: &Operands) {
        let Operands { mut reg, mut vvvv, rm, last, mask, zeroing } = *operands;
        let has_last = match form.shape {
            Shape::Rm | Shape::Rvm | Shape::Mr | Shape::Mvr => false,
            Shape::RmI | Shape::RvmI | Shape::MrI | Shape::RvmR | Shape::VmI(_) => true,
        };
        match form.shape {
            Shape::VmI(part) => reg = part,
            Shape::Rm | Shape::RmI | Shape::Mr | Shape::MrI => vvvv = 0,
            _ => {}
        }
        let last = if form.shape == Shape::RvmR { last << 4 } else { last };
        let number = match rm {
            Rm::Reg(number) => number,
            Rm::Mem(_) => 0,
        };
        let low = reg < 16 && vvvv < 16 && number < 16 && bytes < 64 && mask == 0;
        // Bits of the registers' numbers beyond the lower three: of `reg`, of the index or, of registers, the fifth of `rm`, and of
        // the base or `rm`.
        let (x, b) = match rm {
            Rm::Reg(number) => (number >> 4 & 1, number >> 3 & 1),
            Rm::Mem(Mem { base, index, .. }) => {
                let base = if let Base::Gpr(Gpr(base)) = base { base } else { 0 };
                (index.map_or(0, |(Gpr(index), _)| index >> 3), base >> 3)
            }
        };
        let r = reg >> 3 & 1;
        let vex = form.vex.filter(|_| low);
        if let Some(w) = vex {
            let tail = (!vvvv & 15) << 3 | u8::from(bytes == 32) << 2 | form.prefix;
            if x == 0 && b == 0 && w == 0 && form.map == 1 {
                self.code.extend_from_slice(&[0xc5, (r ^ 1) << 7 | tail]);
            } else {
                let first = (r ^ 1) << 7 | (x ^ 1) << 6 | (b ^ 1) << 5 | form.map;
                self.code.extend_from_slice(&[0xc4, first, w << 7 | tail]);
            }
        } else {
            let w = form.evex.unwrap_or(0);
            let length = match bytes {
                64 => 2,
                32 => 1,
                _ => 0,
            };
            let first = (r ^ 1) << 7 | (x ^ 1) << 6 | (b ^ 1) << 5 | (reg >> 4 & 1 ^ 1) << 4 | form.map;
            let second = w << 7 | (!vvvv & 15) << 3 | 4 | form.prefix;
            let third = u8::from(zeroing) << 7 | length << 5 | (vvvv >> 4 & 1 ^ 1) << 3 | mask;
            self.code.extend_from_slice(&[0x62, first, second, third]);
        }
        self.byte(form.opcode);
        // A displacement of one byte is a number of elements by EVEX.
        self.modrm(reg, rm, vex.is_some(), usize::from(has_last));
        if has_last {
            self.byte(last);
        }
    }

    /// An instruction of general registers of 64 bits.
    fn general(&mut self, opcode: &[u8], reg: u8, rm: Rm, behind: usize) {
        self.rex(0x48, reg, rm);
        self.code.extend_from_slice(opcode);
        self.modrm(reg, rm, true, behind);
    }

    /// An instruction of the lower halves of general registers.
    fn half(&mut self, opcode: u8, reg: u8, rm: Rm) {
        self.rex(0x40, reg, rm);
        self.byte(opcode);
        self.modrm(reg, rm, true, 0);
    }

    /// The byte before an opcode, with the upper bits of registers.
    fn rex(&mut self, first: u8, reg: u8, rm: Rm) {
        let (x, b) = match rm {
            Rm::Reg(number) => (0, number >> 3),
            Rm::Mem(Mem { base, index, .. }) => {
                let base = if let Base::Gpr(Gpr(base)) = base { base } else { 0 };
                (index.map_or(0, |(Gpr(index), _)| index >> 3), base >> 3)
            }
        };
        self.byte(first | (reg >> 3) << 2 | x << 1 | b);
    }

    pub(crate) fn push(&mut self, Gpr(number): Gpr) {
        if number >= 8 {
            self.byte(0x41);
        }
        self.byte(0x50 | number & 7);
    }
    pub(crate) fn pop(&mut self, Gpr(number): Gpr) {
        if number >= 8 {
            self.byte(0x41);
        }
        self.byte(0x58 | number & 7);
    }
    pub(crate) fn ret(&mut self) {
        self.byte(0xc3);
    }
    pub(crate) fn mov(&mut self, Gpr(to): Gpr, Gpr(from): Gpr) {
        self.general(&[0x8b], to, Rm::Reg(from), 0);
    }
    pub(crate) fn load(&mut self, Gpr(to): Gpr, from: Mem) {
        self.general(&[0x8b], to, Rm::Mem(from), 0);
    }
    pub(crate) fn address(&mut self, Gpr(to): Gpr, of: Mem) {
        self.general(&[0x8d], to, Rm::Mem(of), 0);
    }
    pub(crate) fn mov_number(&mut self, Gpr(to): Gpr, number: i32) {
        self.general(&[0xc7], 0, Rm::Reg(to), 4);
        self.number(number);
    }
    pub(crate) fn add(&mut self, Gpr(to): Gpr, number: i32) {
        self.general(&[0x81], 0, Rm::Reg(to), 4);
        self.number(number);
    }
    pub(crate) fn and(&mut self, Gpr(to): Gpr, number: i32) {
        self.general(&[0x81], 4, Rm::Reg(to), 4);
        self.number(number);
    }
    pub(crate) fn sub(&mut self, Gpr(to): Gpr, Gpr(by): Gpr) {
        self.general(&[0x2b], to, Rm::Reg(by), 0);
    }
    pub(crate) fn not(&mut self, Gpr(to): Gpr) {
        self.general(&[0xf7], 2, Rm::Reg(to), 0);
    }
    pub(crate) fn neg(&mut self, Gpr(to): Gpr) {
        self.general(&[0xf7], 3, Rm::Reg(to), 0);
    }
    pub(crate) fn shl(&mut self, Gpr(to): Gpr, places: u8) {
        self.general(&[0xc1], 4, Rm::Reg(to), 1);
        self.byte(places);
    }
    /// Moves bits up by as many places as RCX says.
    pub(crate) fn shl_by_rcx(&mut self, Gpr(to): Gpr) {
        self.general(&[0xd3], 4, Rm::Reg(to), 0);
    }
    /// Compares two numbers.
    pub(crate) fn compare(&mut self, Gpr(a): Gpr, Gpr(b): Gpr) {
        self.general(&[0x3b], a, Rm::Reg(b), 0);
    }
    pub(crate) fn store(&mut self, to: Mem, Gpr(from): Gpr) {
        self.general(&[0x89], from, Rm::Mem(to), 0);
    }
    /// An operation whose result, if it has one, is in the first operand.
    pub(crate) fn by(&mut self, op: General, Gpr(to): Gpr, by: Rm) {
        self.general(&[op as u8], to, by, 0);
    }
    pub(crate) fn multiply(&mut self, Gpr(to): Gpr, by: Rm) {
        self.general(&[0x0f, 0xaf], to, by, 0);
    }
    pub(crate) fn multiply_by(&mut self, Gpr(to): Gpr, of: Rm, number: i32) {
        self.general(&[0x69], to, of, 4);
        self.number(number);
    }
    pub(crate) fn compare_number(&mut self, Gpr(a): Gpr, number: i32) {
        self.general(&[0x81], 7, Rm::Reg(a), 4);
        self.number(number);
    }
    /// Compares a number with 0.
    pub(crate) fn test(&mut self, Gpr(a): Gpr) {
        self.general(&[0x85], a, Rm::Reg(a), 0);
    }
    pub(crate) fn move_if(&mut self, condition: Condition, Gpr(to): Gpr, from: Rm) {
        self.general(&[0x0f, 0x40 | condition as u8], to, from, 0);
    }
    /// 1 in RAX where a condition holds, else 0.
    pub(crate) fn set_if(&mut self, condition: Condition) {
        self.general(&[0x0f, 0x90 | condition as u8], 0, Rm::Reg(RAX.0), 0);
        self.general(&[0x0f, 0xb6], RAX.0, Rm::Reg(RAX.0), 0);
    }
    /// An integer of 1, 2, 4 or 8 bytes, made as wide as a register.
    pub(crate) fn load_as(&mut self, to: Gpr, from: Rm, size: u8, signed: bool) {
        match (size, signed) {
            (1, false) => self.general(&[0x0f, 0xb6], to.0, from, 0),
            (1, true) => self.general(&[0x0f, 0xbe], to.0, from, 0),
            (2, false) => self.general(&[0x0f, 0xb7], to.0, from, 0),
            (2, true) => self.general(&[0x0f, 0xbf], to.0, from, 0),
            (4, false) => self.half(0x8b, to.0, from),
            (4, true) => self.general(&[0x63], to.0, from, 0),
            _ => self.general(&[0x8b], to.0, from, 0),
        }
    }
    /// The lowest 1, 2, 4 or 8 bytes of a register.
    pub(crate) fn store_as(&mut self, to: Mem, Gpr(from): Gpr, size: u8) {
        match size {
            1 => self.general(&[0x88], from, Rm::Mem(to), 0),
            2 => {
                self.byte(0x66);
                self.half(0x89, from, Rm::Mem(to));
            }
            4 => self.half(0x89, from, Rm::Mem(to)),
            _ => self.general(&[0x89], from, Rm::Mem(to), 0),
        }
    }
    /// Adds the lowest 4 or 8 bytes of a register to memory; with `lock`, atomically.
    pub(crate) fn add_to(&mut self, to: Mem, Gpr(by): Gpr, size: u8, lock: bool) {
        if lock {
            self.byte(0xf0);
        }
        if size == 4 { self.half(0x01, by, Rm::Mem(to)) } else { self.general(&[0x01], by, Rm::Mem(to), 0) }
    }
    /// Calls the function whose address a register has.
    pub(crate) fn call(&mut self, Gpr(at): Gpr) {
        self.general(&[0xff], 2, Rm::Reg(at), 0);
    }
    pub(crate) fn jump(&mut self, condition: Option<Condition>, to: Label) {
        match condition {
            Some(condition) => self.code.extend_from_slice(&[0x0f, 0x80 | condition as u8]),
            None => self.byte(0xe9),
        }
        self.jumps.push((self.code.len(), to));
        self.number(0);
    }
    /// Upper halves of vectors cleared, as code without them expects.
    pub(crate) fn zero_upper(&mut self) {
        self.code.extend_from_slice(&[0xc5, 0xf8, 0x77]);
    }
    /// Nothing, up to a multiple of so many bytes.
    pub(crate) fn align(&mut self, to: usize) {
        const NOTHING: [&[u8]; 9] = [
            &[0x90],
            &[0x66, 0x90],
            &[0x0f, 0x1f, 0x00],
            &[0x0f, 0x1f, 0x40, 0x00],
            &[0x0f, 0x1f, 0x44, 0x00, 0x00],
            &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00],
            &[0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00],
            &[0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
            &[0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
        ];
        let mut left = self.code.len().next_multiple_of(to) - self.code.len();
        while left > 0 {
            let part = left.min(NOTHING.len());
            self.code.extend_from_slice(NOTHING[part - 1]);
            left -= part;
        }
    }
}
