//! The memory that a compiled kernel works on: where what lies in it, and what the launch and the items say.

use std::collections::HashMap;

use stridewise_core::kernel::{Coordinate, Level};
use stridewise_core::{Dtype, Scalar};
use stridewise_native::{Cell, FIRST_FREE};

use crate::interpreter::frame::Bits;

/// Items that are computed together at most, in multiples of [`GRAIN`](stridewise_native::GRAIN): what is done once for them costs an
/// item less, and what they need has to stay in the first cache. This many of any kernel; of one without loops that items leave at
/// different times more, where groups have them, and most where there are none.
pub(super) const GANG: usize = 128;
pub(super) const LARGE_GANG: usize = 256;
pub(super) const LONG_GANG: usize = 512;
/// Bytes of memory for each thread up to which more items than [`GANG`] are computed together: about what a first cache has.
pub(super) const NEAR_BYTES: usize = 48 << 10;
/// Bytes of it at most, for each thread.
const MOST_BYTES: usize = 1 << 20;

/// What a cell has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Given {
    /// The scalar argument of this number.
    Argument(usize),
    /// The address of an object's first element, by the object's number.
    Start(usize),
    /// Along an axis of an object, the last index, the extent, and the bytes from one to the next.
    Last(usize, usize),
    Extent(usize, usize),
    Stride(usize, usize),
    /// A place in the index space, of the first item.
    Index(Level, Coordinate),
    /// A constant, by its bits.
    Bits(u64),
}

/// Where what lies.
pub(super) struct Layout {
    bytes: usize,
    /// Items at most.
    pub(super) gang: usize,
    /// Elements of lanes that nothing is in, by the logarithm of their bytes, and single numbers.
    free: [Vec<Cell>; 4],
    free_ones: Vec<Cell>,
    pub(super) given: HashMap<Given, Cell>,
    /// Truth values: which lanes there are.
    pub(super) full: Cell,
    /// The numbers of lanes, as `I32` and as `I64`; of rows, each lane's column.
    pub(super) counts: [Cell; 2],
    /// Of rows, each lane's row, the same way.
    pub(super) rows: Option<[Cell; 2]>,
}

impl Layout {
    pub(super) fn new(gang: usize, rows: bool) -> Self {
        let nowhere = Cell(0);
        let mut layout = Self {
            bytes: usize::try_from(FIRST_FREE.0).unwrap_or(0),
            gang,
            free: Default::default(),
            free_ones: Vec::new(),
            given: HashMap::new(),
            full: nowhere,
            counts: [nowhere; 2],
            rows: None,
        };
        layout.full = layout.lanes(1);
        layout.counts = [layout.lanes(4), layout.lanes(8)];
        layout.rows = rows.then(|| [layout.lanes(4), layout.lanes(8)]);
        layout
    }

    /// What a number that follows the ids is the first lane's plus so many times of, for integers of so many bytes.
    pub(super) fn steps(&self, size: u8, item: i32, row: i32) -> impl Iterator<Item = (Cell, i32)> + use<> {
        let of = |[halves, wholes]: [Cell; 2]| if size == 4 { halves } else { wholes };
        let rows = self.rows.map(|rows| (of(rows), row));
        [Some((of(self.counts), item)), rows].into_iter().flatten().filter(|&(_, step)| step != 0)
    }

    /// Bytes of it; `None` where these are too many.
    pub(super) fn bytes(&self) -> Option<usize> {
        (self.bytes <= MOST_BYTES).then_some(self.bytes)
    }

    /// Room that nothing else ever uses.
    fn take(&mut self, bytes: usize, align: usize) -> Cell {
        let first = self.bytes.next_multiple_of(align);
        self.bytes = first + bytes;
        Cell(i32::try_from(first).unwrap_or(i32::MAX))
    }

    /// Room for an element of so many bytes of each lane.
    pub(super) fn lanes(&mut self, size: usize) -> Cell {
        match self.free[size.trailing_zeros() as usize & 3].pop() {
            Some(cell) => cell,
            None => self.take(self.gang * size, 64),
        }
    }
    /// Room for a number.
    pub(super) fn one(&mut self) -> Cell {
        match self.free_ones.pop() {
            Some(cell) => cell,
            None => self.take(8, 8),
        }
    }
    /// Gives room back: of lanes of a size, or, of size 0, of a number.
    pub(super) fn release(&mut self, cell: Cell, size: usize) {
        match size {
            0 => self.free_ones.push(cell),
            _ => self.free[size.trailing_zeros() as usize & 3].push(cell),
        }
    }

    /// The cell of what is given.
    pub(super) fn given(&mut self, given: Given) -> Cell {
        if let Some(&cell) = self.given.get(&given) {
            return cell;
        }
        // It is written once: what ran before must not have it for something else.
        let cell = self.take(8, 8);
        self.given.insert(given, cell);
        cell
    }
}

/// The bits of a scalar in a cell: integers as wide as that is.
pub(super) fn bits(scalar: Scalar) -> u64 {
    wide(Bits::of(scalar), scalar.dtype())
}

/// The same of an element of a dtype.
pub(super) fn wide(bits: Bits, dtype: Dtype) -> u64 {
    if dtype.kind().is_integer() {
        return bits.integer(dtype) as u64;
    }
    let mut word = [0; 8];
    word.copy_from_slice(&bits.0[..8]);
    u64::from_le_bytes(word)
}
