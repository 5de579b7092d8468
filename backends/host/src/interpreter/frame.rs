//! The values of some items of a group that are run together, its lanes.
//!
//! A kernel's value has a slot in the frame, and a slot has room for a number of each lane. It is filled only
//! where that must be ([`Held`]):
//! ```text
//! Same(7)               one value for all lanes: an argument, a constant, the group's id
//! Affine(base, steps)   follows the local ids: 100, 101, 102, … of `global_id(0)`
//! Lanes                 a value for each lane, in the slot's memory
//! There(address)        the same, read where it was loaded from
//! ```
//! Operations on the first two cost the same for one lane as for 256. `source` is for who needs lanes: it
//! writes them out where they are not there yet. A [`Mask`] says which lanes take part; `open` is the stack
//! of branches, loops and calls that they are in, so that a nested kernel takes no more of the thread's
//! stack.
//!
//! Slots are given out by `code.rs`, and no other number is one. A frame is one thread's. Another sort of
//! `Held` may be added; every function that reads one has an arm for it then.

use std::ops::Range;

use smallvec::SmallVec;
use stridewise_core::kernel::Space;
use stridewise_core::memory::heap;
use stridewise_core::{Dtype, Error, Result};

use super::code::{Arg, Code};
pub(super) use super::values::{Bits, LANES, Mask};

/// Integers `base + Σ steps · local id`, modulo what the dtype wraps at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Affine {
    pub(super) base: i64,
    pub(super) steps: [i64; 3],
}

impl Affine {
    /// The same with each number changed.
    pub(super) fn map(self, f: impl Fn(i64) -> i64) -> Self {
        Self { base: f(self.base), steps: self.steps.map(f) }
    }
    pub(super) fn zip(self, other: Self, f: impl Fn(i64, i64) -> i64) -> Self {
        let steps = std::array::from_fn(|axis| f(self.steps[axis], other.steps[axis]));
        Self { base: f(self.base, other.base), steps }
    }
}

/// What a slot holds.
#[derive(Clone, Copy)]
pub(super) enum Held {
    /// One value for all lanes.
    Same(Bits),
    /// Integers that follow the local ids. They are in the slot's memory too where that was wanted once.
    Affine(Affine, bool),
    /// A value for each lane, in the slot's memory.
    Lanes,
    /// A value for each lane, one after another in an object, which nothing writes as long as they are needed.
    There(*const u8),
}

pub(super) struct Slot {
    /// Where its memory begins in the frame's.
    pub(super) at: usize,
    pub(super) held: Held,
}

/// Lanes whose items are neighbours along the last axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) lane: usize,
    pub(super) len: usize,
    /// The local id of the first one.
    pub(super) id: [i64; 3],
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    _bytes: [u8; 64],
}

impl Line {
    const ZEROS: Self = Self { _bytes: [0; 64] };
}

pub(super) struct Frame {
    /// The local linear ids of the lanes.
    items: Range<usize>,
    /// Lanes that operations run over.
    pub(super) len: usize,
    /// Those whose items exist.
    pub(super) rows: SmallVec<[Row; 4]>,
    low: [i64; 3],
    high: [i64; 3],
    memory: Vec<Line>,
    pub(super) slots: Vec<Slot>,
    pub(super) active: Mask,
    /// Those that have left the innermost call.
    pub(super) returned: Mask,
    /// Those that go on with the next round of the innermost loop.
    pub(super) continued: Mask,
    /// Branches, loops and calls that it is in.
    pub(super) open: Vec<Open>,
    /// Where the memory of private objects begins.
    private: usize,
}

/// A branch, loop or call that a frame is in.
pub(super) enum Open {
    /// A branch of which all lanes take one block.
    One,
    /// A branch of which lanes take both blocks: those that take the other one, then those that have taken the first one.
    Both(Mask),
    /// A loop; those that came to it, and what `continued` was then.
    While { entry: Mask, continued: Mask, rounds: u64 },
    /// The same for a loop that counts: lanes have the round and so many in all, or, where they differ, so many at least.
    For { entry: Mask, continued: Mask, round: u64, rounds: u64, differ: bool, count: Count },
    /// A call; those that came to it, and what `returned` was then.
    Call { entry: Mask, returned: Mask },
}

/// What a loop's counter is.
#[derive(Clone, Copy)]
pub(super) enum Count {
    /// One number for all lanes: the first one, and the step.
    Same(i64, i64),
    /// Numbers that follow the local ids, and the step.
    Follow(Affine, i64),
    /// Any numbers.
    Each,
}

/// Bytes of whole cache lines.
const fn lines(bytes: usize) -> usize {
    bytes.div_ceil(64) * 64
}

impl Frame {
    /// A frame for items of a group, of `width` lanes at most, with `private` bytes for each of them besides the slots.
    ///
    /// # Errors
    /// [`Error::Alloc`] where there is no memory.
    pub(super) fn new(code: &Code, items: Range<usize>, width: usize, private: usize) -> Result<Self> {
        let mut at = 0;
        let mut slots = heap::with_capacity("slots of a kernel", code.slots.len())?;
        for &size in &code.slots {
            slots.push(Slot { at, held: Held::Same(Bits([0; 16])) });
            at += lines(size * width);
        }
        for &(slot, scalar) in &code.constants {
            slots[slot].held = Held::Same(Bits::of(scalar));
        }
        let bytes =
            private.checked_mul(width).and_then(|bytes| bytes.checked_add(at)).unwrap_or(usize::MAX / 2);
        Ok(Self {
            items,
            len: 0,
            rows: SmallVec::new(),
            low: [0; 3],
            high: [0; 3],
            memory: zeros(bytes.div_ceil(64), "private arrays")?,
            slots,
            active: Mask::NONE,
            returned: Mask::NONE,
            continued: Mask::NONE,
            open: heap::with_capacity("branches of a kernel", code.depth)?,
            private: at,
        })
    }

    /// Begins with the items of another group.
    pub(super) fn begin(&mut self, space: &Space, group: [usize; 3]) {
        self.rows.clear();
        (self.low, self.high) = ([i64::MAX; 3], [i64::MIN; 3]);
        let mut item = self.items.start;
        let mut next = 0;
        let mut prefix = true;
        while item < self.items.end {
            let local = space.local_id(item);
            let lane = item - self.items.start;
            let whole = (space.group[2] - local[2]).min(self.items.end - item);
            item += whole;
            let global = space.global_id(group, local);
            if !space.contains(global) {
                continue;
            }
            let len = whole.min(space.global[2] - global[2]);
            let id = local.map(|id| id as i64);
            for axis in 0..3 {
                let last = if axis == 2 { id[2] + len as i64 - 1 } else { id[axis] };
                self.low[axis] = self.low[axis].min(id[axis]);
                self.high[axis] = self.high[axis].max(last);
            }
            prefix &= lane == next;
            next = lane + len;
            self.rows.push(Row { lane, len, id });
        }
        self.returned = Mask::NONE;
        self.continued = Mask::NONE;
        self.len = next;
        self.active = Mask::range(0..next);
        if !prefix {
            let rows = self.rows.iter().map(|row| Mask::range(row.lane..row.lane + row.len));
            self.active = rows.fold(Mask::NONE, Mask::join);
        }
        let private = self.private / 64;
        self.memory[private..].fill(Line::ZEROS);
    }

    /// All rows as one, where numbers with such steps go on from each row to the next as they do within one.
    pub(super) fn as_one_row(&self, steps: [i64; 3]) -> Option<Row> {
        let [first, second, rest @ ..] = &self.rows[..] else { return None };
        let next = |a: &Row, b: &Row| {
            let ahead: i64 = (0..3).map(|axis| steps[axis].wrapping_mul(b.id[axis] - a.id[axis])).sum();
            b.lane == a.lane + a.len && ahead == steps[2].wrapping_mul(a.len as i64)
        };
        let rows = [first, second].into_iter().chain(rest);
        let all = rows.clone().zip(rows.skip(1)).all(|(a, b)| next(a, b));
        all.then_some(Row { len: self.len - first.lane, ..*first })
    }

    /// The local linear id of a lane's item.
    pub(super) fn item(&self, lane: usize) -> usize {
        self.items.start + lane
    }

    /// Lanes whose items exist.
    pub(super) fn existing(&self) -> usize {
        self.rows.iter().map(|row| row.len).sum()
    }

    pub(super) fn all(&self) -> bool {
        self.active.count == self.len
    }

    /// The first lane that takes part; there is one.
    pub(super) fn first_active(&self) -> usize {
        self.active.lanes().next().unwrap_or(0)
    }

    /// Where the memory of a slot is.
    pub(super) fn memory_of(&mut self, slot: usize) -> *mut u8 {
        let at = self.slots[slot].at;
        self.memory.as_mut_ptr().cast::<u8>().wrapping_add(at)
    }

    /// Where the memory of private objects is.
    pub(super) fn private(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr().cast::<u8>().wrapping_add(self.private)
    }

    /// Where a slot's lanes are; those that follow the local ids are written first, and one value for all is where the flag
    /// says so.
    pub(super) fn source(&mut self, arg: Arg) -> (*const u8, bool) {
        match self.slots[arg.slot].held {
            Held::Same(_) => match &self.slots[arg.slot].held {
                Held::Same(bits) => (bits.0.as_ptr(), true),
                _ => (std::ptr::null(), true),
            },
            Held::Affine(affine, written) => {
                if !written {
                    self.write_affine(arg, affine);
                    self.slots[arg.slot].held = Held::Affine(affine, true);
                }
                (self.memory_of(arg.slot), false)
            }
            Held::Lanes => (self.memory_of(arg.slot), false),
            Held::There(at) => (at, false),
        }
    }

    /// Writes a slot's lanes to its memory, whatever it holds.
    pub(super) fn spread(&mut self, arg: Arg) {
        match self.slots[arg.slot].held {
            Held::Same(bits) => {
                let (to, len, size) = (self.memory_of(arg.slot), self.len, arg.dtype.size());
                for lane in 0..len {
                    // SAFETY: a slot has memory for as many elements of its size as the frame has lanes, and `len` is at most that.
                    unsafe {
                        std::ptr::copy_nonoverlapping(bits.0.as_ptr(), to.add(lane * size), size);
                    }
                }
            }
            Held::Affine(affine, false) => self.write_affine(arg, affine),
            Held::There(from) => {
                let (to, bytes) = (self.memory_of(arg.slot), self.len * arg.dtype.size());
                // SAFETY: the lanes are in an object, which is no slot, and the slot has room for them.
                unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
            }
            Held::Affine(_, true) | Held::Lanes => {}
        }
        self.slots[arg.slot].held = Held::Lanes;
    }

    fn write_affine(&mut self, arg: Arg, affine: Affine) {
        let to = self.memory_of(arg.slot);
        for row in &self.rows {
            let first = affine.at(row.id);
            macro_rules! fill {
                ($ty:ty) => {{
                    // SAFETY: a row's lanes are in the slot's memory, which is aligned to cache lines, and nothing else
                    // refers to it meanwhile.
                    let lanes = unsafe {
                        std::slice::from_raw_parts_mut(to.cast::<$ty>().add(row.lane), row.len)
                    };
                    let (first, step) = (first as $ty, affine.steps[2] as $ty);
                    for (i, lane) in lanes.iter_mut().enumerate() {
                        *lane = first.wrapping_add((i as $ty).wrapping_mul(step));
                    }
                }};
            }
            match arg.dtype.size() {
                1 => fill!(u8),
                2 => fill!(u16),
                4 => fill!(u32),
                _ => fill!(u64),
            }
        }
    }

    /// The value of a lane.
    pub(super) fn value(&mut self, arg: Arg, lane: usize) -> Bits {
        match self.slots[arg.slot].held {
            Held::Same(bits) => bits,
            _ => {
                let (from, _) = self.source(arg);
                let mut bits = Bits([0; 16]);
                let size = arg.dtype.size();
                // SAFETY: the slot has memory for that lane's element, which was written.
                unsafe {
                    std::ptr::copy_nonoverlapping(from.add(lane * size), bits.0.as_mut_ptr(), size);
                }
                bits
            }
        }
    }

    pub(super) fn set_value(&mut self, arg: Arg, lane: usize, bits: Bits) {
        let (to, size) = (self.memory_of(arg.slot), arg.dtype.size());
        // SAFETY: the slot has memory for that lane's element.
        unsafe { std::ptr::copy_nonoverlapping(bits.0.as_ptr(), to.add(lane * size), size) };
    }

    /// What a slot holds as numbers that follow the local ids, and their bounds; `None` where it is something else, or
    /// they wrap, or are beyond an `i64`.
    pub(super) fn affine(&self, arg: Arg) -> Option<(Affine, i64, i64)> {
        let (least, most) = bounds(arg.dtype)?;
        match self.slots[arg.slot].held {
            Held::Same(bits) => {
                let value = bits.number(arg.dtype)?;
                Some((Affine { base: value, steps: [0; 3] }, value, value))
            }
            Held::Affine(affine, _) => {
                let start = Bits::wrapped(affine.base, arg.dtype).number(arg.dtype)?;
                let (mut low, mut high) = (start, start);
                for (axis, &step) in affine.steps.iter().enumerate().filter(|(_, step)| **step != 0) {
                    let (a, b) = (step.checked_mul(self.low[axis])?, step.checked_mul(self.high[axis])?);
                    low = low.checked_add(a.min(b))?;
                    high = high.checked_add(a.max(b))?;
                }
                (least <= low && high <= most).then_some((affine, low, high))
            }
            Held::Lanes | Held::There(_) => None,
        }
    }

    /// The memory of a slot of 64 bits, a number for each lane.
    pub(super) fn numbers(&mut self, slot: usize) -> &mut [u64] {
        let (at, len) = (self.memory_of(slot).cast::<u64>(), self.len);
        // SAFETY: the slot has memory for each lane's number, aligned to cache lines and apart from all others', and any bits are
        // a number.
        unsafe { std::slice::from_raw_parts_mut(at, len) }
    }

    /// The lanes of a slot of truth values that are true.
    pub(super) fn truth(&mut self, slot: usize) -> Mask {
        let (from, same) = self.source(Arg { slot, dtype: Dtype::Bool });
        // SAFETY: the slot has memory for each lane's byte, or one byte for all.
        let bytes = unsafe { std::slice::from_raw_parts(from, if same { 1 } else { self.len }) };
        match (same, bytes.first()) {
            (true, Some(0)) => Mask::NONE,
            (true, _) => Mask::range(0..self.len),
            (false, _) => Mask::of_bytes(bytes),
        }
    }

    /// The lanes of integers as `int64`; those beyond become its largest one.
    pub(super) fn integers(&mut self, arg: Arg) -> [i64; LANES] {
        let mut lanes = [0; LANES];
        let (from, same) = self.source(arg);
        let len = self.len;
        macro_rules! read {
            ($ty:ty) => {
                for (lane, value) in lanes.iter_mut().enumerate().take(len) {
                    // SAFETY: the slot has memory for each lane's element, aligned, or one element for all.
                    let element = unsafe { *from.cast::<$ty>().add(if same { 0 } else { lane }) };
                    *value = i64::try_from(element).unwrap_or(i64::MAX);
                }
            };
        }
        match arg.dtype {
            Dtype::I8 => read!(i8),
            Dtype::I16 => read!(i16),
            Dtype::I32 => read!(i32),
            Dtype::I64 => read!(i64),
            Dtype::U16 => read!(u16),
            Dtype::U32 => read!(u32),
            Dtype::U64 => read!(u64),
            _ => read!(u8),
        }
        lanes
    }
}

/// The least and the largest number of a dtype of integers, as far as they are `i64`.
pub(super) const fn bounds(dtype: Dtype) -> Option<(i64, i64)> {
    Some(match dtype {
        Dtype::I8 => (i8::MIN as i64, i8::MAX as i64),
        Dtype::I16 => (i16::MIN as i64, i16::MAX as i64),
        Dtype::I32 => (i32::MIN as i64, i32::MAX as i64),
        Dtype::I64 => (i64::MIN, i64::MAX),
        Dtype::U8 => (0, u8::MAX as i64),
        Dtype::U16 => (0, u16::MAX as i64),
        Dtype::U32 => (0, u32::MAX as i64),
        Dtype::U64 => (0, i64::MAX),
        _ => return None,
    })
}

impl Affine {
    /// The number at a local id, modulo 2⁶⁴.
    pub(super) fn at(self, id: [i64; 3]) -> i64 {
        let ahead = self.steps.iter().zip(id).map(|(step, id)| step.wrapping_mul(id));
        ahead.fold(self.base, i64::wrapping_add)
    }
}

/// Lines of zeros.
fn zeros(count: usize, what: &'static str) -> Result<Vec<Line>> {
    let mut memory = Vec::new();
    memory.try_reserve_exact(count).map_err(|_| {
        Error::alloc(
            what,
            format!("{} bytes for each thread", count.saturating_mul(64)),
            "no more than the system has left",
            "use smaller arrays in the kernel",
        )
    })?;
    memory.resize(count, Line::ZEROS);
    Ok(memory)
}

/// Memory that the items of a group share.
pub(super) struct Shared(Vec<Line>);

impl Shared {
    /// So many bytes, of zeros.
    ///
    /// # Errors
    /// [`Error::Alloc`] where there is no memory.
    pub(super) fn new(bytes: usize) -> Result<Self> {
        Ok(Self(zeros(bytes.div_ceil(64), "local memory")?))
    }
    pub(super) fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}
