//! Functions with branches: straight blocks of vectors over some lanes, and between them numbers that all
//! lanes have alike, jumps, and accesses to arrays whose indices never lead out of them.
//!
//! A routine works on a piece of memory that its caller lays out: a [`Cell`] there holds a number of 64 bits
//! that is one for all lanes, or elements lane after lane. The first cells say how many lanes there are
//! ([`COUNT`] and what follows it). Between two blocks everything is in memory, so that control may come from
//! anywhere.
//!
//! Several pieces of the same layout may be worked on together, in a ring ([`NEXT`]): what lies between two
//! places where all of them have to have come is done for one after another ([`Routine::next`]).

mod access;
mod lanes;
mod rounds;
mod sums;

use crate::asm::forms::{self, Form};
use crate::asm::{
    Assembler, Condition, General, Gpr, Label, Mem, Operands, RAX, RBX, RCX, RDI, RDX, RSI, Rm,
};
use crate::emit::{self, Cell, Emitter, Place};
use crate::lane::{Builder, Kind};
use crate::memory::{Executable, Refused};
use crate::select::select;

/// How many lanes there are.
pub const COUNT: Cell = Cell(0);
/// The next multiple of [`GRAIN`]: so many lanes are computed.
pub const WHOLE: Cell = Cell(8);
/// [`COLUMNS`] less 1; of a routine without [rows](Routine::in_rows), [`WHOLE`] less 1.
pub const LAST: Cell = Cell(16);
/// Whether some of those are none.
pub const PARTIAL: Cell = Cell(24);
/// The address of the function that [`Routine::call`] calls: a [`Caller`].
pub const CALLER: Cell = Cell(32);
/// What it is given first.
pub const CONTEXT: Cell = Cell(40);
/// The address of the piece of memory that comes next; of the last one, the first one's.
pub const NEXT: Cell = Cell(48);
/// Whether this one is not the last one.
pub const MORE: Cell = Cell(56);
/// Of a routine [in rows](Routine::in_rows): lanes of each row, of those that are computed. Where there are several rows, this is
/// a multiple of [`GRAIN`], and all of them are items.
pub const COLUMNS: Cell = Cell(64);
/// Items of each row.
pub const ACROSS: Cell = Cell(72);
/// The number of rows less 1.
pub const LAST_ROW: Cell = Cell(80);
/// Behind the cells with a meaning.
pub const FIRST_FREE: Cell = Cell(88);

pub use access::{Active, Found};
pub use lanes::{Order, Relation};
pub use rounds::{Carry, Rounds};
pub use sums::{Addend, Sum};

/// Lanes of a vector at most; as many are computed together always.
pub const GRAIN: usize = 8;

/// Bytes of code at most.
const MOST_CODE: usize = 256 << 10;

/// The first cell's meaning is [`CONTEXT`]'s, then come the memory and the number that was given to
/// [`Routine::call`].
#[cfg(target_arch = "x86_64")]
pub type Caller = unsafe extern "sysv64" fn(*const (), *mut u8, usize);
/// As on x86-64, on whose processors alone a routine is run.
#[cfg(not(target_arch = "x86_64"))]
pub type Caller = unsafe extern "C" fn(*const (), *mut u8, usize);

const R8: Gpr = Gpr(8);
const R9: Gpr = Gpr(9);

/// A place that jumps lead to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target(Label);

/// A number that is one for all lanes, of two of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Scalar {
    Add,
    Subtract,
    Multiply,
    And,
    Or,
    Xor,
    Minimum,
    Maximum,
    Equal,
    NotEqual,
    Less,
    LessEqual,
}

/// An index along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Index {
    /// One for all lanes.
    One(Cell),
    /// That of the first lane, and from lane to lane of a row, and from row to row, so many more; where `half`, it wraps at 32
    /// bits.
    Follow {
        /// The first lane's.
        first: Cell,
        /// What is added for each lane.
        step: i32,
        /// What is added for each row.
        row: i32,
        /// Whether it is an `I32`.
        half: bool,
    },
    /// As [`Follow`](Self::Follow), and then kept above a number, below one, or both, one after the other.
    Near {
        /// The first lane's.
        first: Cell,
        /// What is added for each lane.
        step: i32,
        /// What is added for each row.
        row: i32,
        /// Whether it is an `I32`.
        half: bool,
        /// The numbers, and whether each is the largest one that there is.
        bounds: [Option<(Cell, bool)>; 2],
    },
    /// That of the first lane, and from lane to lane so many more as another number says, of 64 bits; of a routine without rows.
    Even {
        /// The first lane's.
        first: Cell,
        /// What is added for each lane.
        step: Cell,
    },
    /// Each lane's, of these elements.
    Lanes(Cell, Kind),
    /// The number of the lane, which is inside.
    Lane,
}

impl Index {
    /// The number of the first lane, and what is added for each, of an index that follows the lanes.
    fn follows(self) -> Option<(Cell, i32)> {
        match self {
            Self::Follow { first, step, .. } | Self::Near { first, step, .. } => Some((first, step)),
            Self::One(_) | Self::Even { .. } | Self::Lanes(..) | Self::Lane => None,
        }
    }

    /// What it is kept between.
    fn bounds(self) -> impl Iterator<Item = (Cell, bool)> {
        let bounds = if let Self::Near { bounds, .. } = self { bounds } else { [None; 2] };
        bounds.into_iter().flatten()
    }
}

/// The lanes of a routine as rows, one after another: elements of lanes with each one's column and row, as `I64`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    /// The columns.
    pub columns: Cell,
    /// The rows.
    pub rows: Cell,
}

/// An axis of an array: the index along it, and the cells with the last one that there is and with the bytes
/// from one to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Axis {
    /// The index.
    pub index: Index,
    /// The last index that there is; 0 at least.
    pub last: Cell,
    /// Bytes from one to the next.
    pub stride: Cell,
}

/// The elements of an array that lanes access.
#[derive(Clone, Debug)]
pub struct Elements {
    /// The cell with the address of the element of indices 0.
    pub start: Cell,
    /// The axes.
    pub axes: Vec<Axis>,
    /// Bytes of an element.
    pub size: u8,
}

/// A routine that is being written.
pub struct Routine {
    level: crate::Level,
    assembler: Assembler,
    frame: usize,
    bytes: usize,
    grid: Option<Grid>,
}

const fn at(cell: Cell) -> Mem {
    Mem::at(RDI, cell.0)
}
const fn rm(cell: Cell) -> Rm {
    Rm::Mem(at(cell))
}
/// A lane's element, of the lane in RCX.
fn lane(cell: Cell, size: u8) -> Mem {
    Mem::indexed(RDI, RCX, u8::try_from(size.trailing_zeros()).unwrap_or(0), cell.0)
}

impl Routine {
    /// Nothing yet.
    #[must_use]
    pub fn new(level: crate::Level) -> Self {
        let mut assembler = Assembler::default();
        let frame = emit::enter(&mut assembler);
        assembler.mov(RBX, RDI);
        Self { level, assembler, frame, bytes: 0, grid: None }
    }

    /// With lanes that are rows of items ([`COLUMNS`], [`ACROSS`], [`LAST_ROW`]).
    #[must_use]
    pub fn in_rows(mut self, grid: Grid) -> Self {
        self.grid = Some(grid);
        self
    }

    /// The level.
    #[must_use]
    pub const fn level(&self) -> crate::Level {
        self.level
    }

    /// The function, which answers 0, or what [`stop`](Self::stop) says.
    ///
    /// # Errors
    /// [`Refused`] says why there is none.
    pub fn finish(mut self) -> Result<Compiled, Refused> {
        if !self.level.is_available() {
            return Err(Refused::Level);
        }
        self.stop(0);
        if self.assembler.len() > MOST_CODE {
            return Err(Refused::Size);
        }
        let bytes = i32::try_from(self.bytes).map_err(|_| Refused::Size)?;
        self.assembler.patch(self.frame, -bytes);
        let code = self.assembler.finish().ok_or(Refused::Size)?;
        Ok(Compiled { pages: Executable::new(&code)? })
    }

    /// Ends the function with an answer, and with the memory that it was at.
    pub fn stop(&mut self, answer: i32) {
        self.assembler.mov_number(RAX, answer);
        self.assembler.mov(RDX, RDI);
        emit::leave(&mut self.assembler);
    }

    /// A place for jumps, that is nowhere yet.
    pub fn target(&mut self) -> Target {
        Target(self.assembler.label())
    }
    /// Has a target here.
    pub fn here(&mut self, target: Target) {
        self.assembler.bind(target.0);
    }
    /// Goes on at a target.
    pub fn jump(&mut self, to: Target) {
        self.assembler.jump(None, to.0);
    }
    /// The same where a cell is 0.
    pub fn jump_if_zero(&mut self, cell: Cell, to: Target) {
        self.assembler.load(RAX, at(cell));
        self.assembler.test(RAX);
        self.assembler.jump(Some(Condition::Equal), to.0);
    }
    /// The same where a number is not below another one, without signs.
    pub fn jump_if_not_below(&mut self, number: Cell, than: Cell, to: Target) {
        self.assembler.load(RAX, at(number));
        self.assembler.by(General::Compare, RAX, rm(than));
        self.assembler.jump(Some(Condition::NotBelow), to.0);
    }

    /// Goes on at a target with the [`NEXT`] memory, or behind the last one here with the first one.
    pub fn next(&mut self, again: Target) {
        self.assembler.load(RAX, at(MORE));
        self.assembler.load(RBX, at(NEXT));
        self.assembler.mov(RDI, RBX);
        self.assembler.test(RAX);
        self.assembler.jump(Some(Condition::NotEqual), again.0);
    }
    /// Bytes of code so far.
    #[must_use]
    pub fn written(&self) -> usize {
        self.assembler.len()
    }

    /// Straight code, whose operands are at these places: for all lanes.
    ///
    /// # Errors
    /// [`Refused::Size`].
    pub fn block(&mut self, form: &Builder, places: &[Place]) -> Result<(), Refused> {
        let selected = select(form, GRAIN as u8).ok_or(Refused::Size)?;
        let assembler = std::mem::take(&mut self.assembler);
        let (assembler, bytes) = Emitter::block(&selected, places, [WHOLE, COLUMNS], assembler)?;
        self.assembler = assembler;
        self.bytes = self.bytes.max(bytes);
        if self.assembler.len() > MOST_CODE { Err(Refused::Size) } else { Ok(()) }
    }

    /// A small number.
    pub fn number(&mut self, to: Cell, number: i32) {
        self.assembler.mov_number(RAX, number);
        self.assembler.store(at(to), RAX);
    }
    /// The same number.
    pub fn copy(&mut self, to: Cell, from: Cell) {
        self.assembler.load(RAX, at(from));
        self.assembler.store(at(to), RAX);
    }
    /// A number of a kind whose bytes alone were written: as wide as a cell.
    pub fn widen(&mut self, cell: Cell, from: Cell, kind: Kind) {
        self.assembler.load_as(RAX, rm(from), kind.size(), kind.is_signed());
        self.assembler.store(at(cell), RAX);
    }
    /// An operation on integers of a kind, or truth values as numbers, which cells hold as wide as they are;
    /// the result, too.
    pub fn scalar(&mut self, op: Scalar, kind: Kind, to: Cell, x: Cell, y: Cell) {
        let assembler = &mut self.assembler;
        let signed = kind.is_signed();
        assembler.load(RAX, at(x));
        let compare = match op {
            Scalar::Add => {
                assembler.by(General::Add, RAX, rm(y));
                None
            }
            Scalar::Subtract => {
                assembler.by(General::Sub, RAX, rm(y));
                None
            }
            Scalar::And => {
                assembler.by(General::And, RAX, rm(y));
                None
            }
            Scalar::Or => {
                assembler.by(General::Or, RAX, rm(y));
                None
            }
            Scalar::Xor => {
                assembler.by(General::Xor, RAX, rm(y));
                None
            }
            Scalar::Multiply => {
                assembler.multiply(RAX, rm(y));
                None
            }
            Scalar::Minimum | Scalar::Maximum => {
                assembler.by(General::Compare, RAX, rm(y));
                let condition = match (op == Scalar::Minimum, signed) {
                    (true, true) => Condition::Greater,
                    (true, false) => Condition::Above,
                    (false, true) => Condition::Less,
                    (false, false) => Condition::Below,
                };
                assembler.move_if(condition, RAX, rm(y));
                None
            }
            Scalar::Equal => Some(Condition::Equal),
            Scalar::NotEqual => Some(Condition::NotEqual),
            Scalar::Less => Some(if signed { Condition::Less } else { Condition::Below }),
            Scalar::LessEqual => Some(if signed { Condition::NotGreater } else { Condition::NotAbove }),
        };
        match compare {
            Some(condition) => {
                assembler.by(General::Compare, RAX, rm(y));
                assembler.set_if(condition);
            }
            None if kind.size() < 8 => assembler.load_as(RAX, Rm::Reg(RAX.0), kind.size(), signed),
            None => {}
        }
        assembler.store(at(to), RAX);
    }

    /// Calls the [`CALLER`] with a number.
    pub fn call(&mut self, number: u32) {
        let assembler = &mut self.assembler;
        assembler.zero_upper();
        assembler.load(RAX, at(CALLER));
        assembler.mov(RSI, RDI);
        assembler.load(RDI, at(CONTEXT));
        assembler.mov_number(RDX, i32::try_from(number).unwrap_or(i32::MAX));
        assembler.call(RAX);
        assembler.mov(RDI, RBX);
    }

    /// Goes to `none` where no lane of a mask of bytes is true; whether it is equal to `full` is in `all`
    /// then.
    pub fn judge(&mut self, mask: Cell, full: Cell, all: Cell, none: Target) {
        let assembler = &mut self.assembler;
        for register in [RAX, RDX, RCX] {
            assembler.mov_number(register, 0);
        }
        // Vectors first: what is true in one register, where it differs in another one.
        let (many, few, again, judged) =
            (assembler.label(), assembler.label(), assembler.label(), assembler.label());
        let vector = |assembler: &mut Assembler, form: &Form, reg: u8, vvvv: u8, rm: Rm| {
            let operands = Operands { reg, vvvv, rm, last: 0, mask: 0, zeroing: false };
            assembler.vector(form, 32, &operands);
        };
        let (read, any, differ) = (0, 1, 2);
        for register in [any, differ] {
            vector(assembler, &forms::PXOR, register, register, Rm::Reg(register));
        }
        assembler.bind(many);
        assembler.address(R8, Mem::at(RCX, 32));
        assembler.by(General::Compare, R8, rm(WHOLE));
        assembler.jump(Some(Condition::Above), few);
        vector(assembler, &forms::MOVDQU, read, 0, Rm::Mem(lane(mask, 1)));
        vector(assembler, &forms::POR, any, any, Rm::Reg(read));
        vector(assembler, &forms::PXOR, read, read, Rm::Mem(lane(full, 1)));
        vector(assembler, &forms::POR, differ, differ, Rm::Reg(read));
        assembler.mov(RCX, R8);
        assembler.jump(None, many);
        assembler.bind(few);
        for (register, bits) in [(RAX, any), (RDX, differ)] {
            let none = assembler.label();
            vector(assembler, &forms::PTEST, bits, 0, Rm::Reg(bits));
            assembler.jump(Some(Condition::Equal), none);
            assembler.mov_number(register, 1);
            assembler.bind(none);
        }
        assembler.by(General::Compare, RCX, rm(WHOLE));
        assembler.jump(Some(Condition::NotBelow), judged);
        assembler.bind(again);
        let word = |cell: Cell| Mem::indexed(RDI, RCX, 0, cell.0);
        assembler.load(R8, word(mask));
        assembler.by(General::Or, RAX, Rm::Reg(R8.0));
        assembler.by(General::Xor, R8, Rm::Mem(word(full)));
        assembler.by(General::Or, RDX, Rm::Reg(R8.0));
        assembler.add(RCX, 8);
        assembler.by(General::Compare, RCX, rm(WHOLE));
        assembler.jump(Some(Condition::Below), again);
        assembler.bind(judged);
        assembler.test(RAX);
        assembler.jump(Some(Condition::Equal), none.0);
        assembler.test(RDX);
        assembler.set_if(Condition::Equal);
        assembler.store(at(all), RAX);
    }
}

/// What a routine leaves in RAX and RDX.
#[cfg(target_arch = "x86_64")]
#[repr(C)]
struct Answer {
    number: i32,
    memory: *mut u8,
}

/// A routine that can be run.
pub struct Compiled {
    pages: Executable,
}

impl Compiled {
    /// Bytes of memory that its code takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.pages.bytes()
    }

    /// Where it is, as numbers: for profilers.
    #[must_use]
    pub fn addresses(&self) -> std::ops::Range<usize> {
        self.pages.addresses()
    }

    /// Runs it; what it answers, and the memory that it was at when it did.
    ///
    /// # Safety
    /// The memory is writable, aligned to 64 bytes, of this caller alone, and has all cells that the routine
    /// was told of: elements of lanes with room for [`WHOLE`] of them, which is 1 at least, as is [`COUNT`].
    /// The starts of arrays, their last indices and strides are those of live elements, which are writable
    /// where the routine writes and which nobody else accesses in conflict. [`CALLER`] may be called with the
    /// numbers that it calls, and does not unwind. Where it has [`next`](Routine::next), all of this holds
    /// for each memory of the ring that [`NEXT`] makes of this one, the first, and others.
    pub unsafe fn run(&self, memory: *mut u8) -> (i32, *mut u8) {
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: the pages hold a function of this type, which `Routine` wrote whole; it keeps all
            // registers that this convention asks it to. The processor has its instructions, which `finish`
            // checked.
            let function: unsafe extern "sysv64" fn(*mut u8) -> Answer =
                unsafe { std::mem::transmute(self.pages.ptr()) };
            // SAFETY: the memory, or each of the ring, has the cells that the routine was told of, and arrays
            // are live and not accessed in conflict, as is asked for above.
            let Answer { number, memory } = unsafe { function(memory) };
            (number, memory)
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            (0, memory)
        }
    }
}
