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
use stridewise_core::{Dtype, Error, Result, Scalar};

use super::code::{Arg, Code};
use crate::kernels::lanes;

/// Lanes of a frame, at most. Enough that what an operation costs besides its lanes counts little, and few enough that what a
/// kernel needs of slots at a time stays in the first cache.
pub(super) const LANES: usize = lanes::LANES;

/// One value in memory, as aligned as any dtype wants it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, align(16))]
pub(super) struct Bits(pub(super) [u8; 16]);

impl Bits {
    pub(super) fn of(scalar: Scalar) -> Self {
        Self(scalar.to_bytes())
    }

    /// An integer of a dtype; truth values count as integers.
    pub(super) fn integer(self, dtype: Dtype) -> i128 {
        macro_rules! read {
            ($ty:ty) => {{
                let mut bytes = [0; size_of::<$ty>()];
                bytes.copy_from_slice(&self.0[..size_of::<$ty>()]);
                i128::from(<$ty>::from_ne_bytes(bytes))
            }};
        }
        match dtype {
            Dtype::I8 => read!(i8),
            Dtype::I16 => read!(i16),
            Dtype::I32 => read!(i32),
            Dtype::I64 => read!(i64),
            Dtype::U16 => read!(u16),
            Dtype::U32 => read!(u32),
            Dtype::U64 => read!(u64),
            _ => read!(u8),
        }
    }

    /// [`integer`](Self::integer), where it is an `i64`.
    pub(super) fn number(self, dtype: Dtype) -> Option<i64> {
        let bytes = self.0;
        let word = [bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]];
        match dtype {
            Dtype::I64 => Some(i64::from_ne_bytes(word)),
            Dtype::U64 => i64::try_from(u64::from_ne_bytes(word)).ok(),
            // Those of fewer bits always are.
            other => Some(self.integer(other) as i64),
        }
    }

    /// The integer of a dtype that a number wraps to.
    pub(super) fn wrapped(value: i64, dtype: Dtype) -> Self {
        let mut bytes = [0; 16];
        let size = dtype.size().min(8);
        let from = if cfg!(target_endian = "big") { 8 - size } else { 0 };
        bytes[..size].copy_from_slice(&value.to_ne_bytes()[from..from + size]);
        Self(bytes)
    }
}

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

/// Words of a mask.
const WORDS: usize = LANES / 64;

/// Lanes that take part, a bit for each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Mask {
    words: [u64; WORDS],
    pub(super) count: usize,
}

impl Mask {
    pub(super) const NONE: Self = Self { words: [0; WORDS], count: 0 };

    fn of(words: [u64; WORDS]) -> Self {
        let count = words.iter().map(|word| word.count_ones() as usize).sum();
        Self { words, count }
    }

    /// The lanes of a range.
    pub(super) fn range(lanes: Range<usize>) -> Self {
        let below = |end: usize, word: usize| match end.saturating_sub(word * 64) {
            bits @ 0..64 => (1_u64 << bits) - 1,
            _ => u64::MAX,
        };
        Self::of(std::array::from_fn(|word| below(lanes.end, word) & !below(lanes.start, word)))
    }

    /// The lanes of which something is true.
    pub(super) fn of_lanes(takes_part: impl Fn(usize) -> bool) -> Self {
        Self::of(std::array::from_fn(|word| {
            (0..64).fold(0, |bits, bit| bits | u64::from(takes_part(word * 64 + bit)) << bit)
        }))
    }

    /// The lanes of a slice, in which each byte that is not 0 stands for one that takes part; those beyond do not.
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        let mut words = [0; WORDS];
        for (number, eight) in bytes.chunks(8).enumerate() {
            let mut all = [0; 8];
            all[..eight.len()].copy_from_slice(eight);
            let ones = ones(u64::from_le_bytes(all));
            // The product has bit `i` of its last byte from byte `i`: 8 i + 7 (8 - i) = 56 + i, and no two terms meet.
            let bits = ones.wrapping_mul(0x0102_0408_1020_4080) >> 56;
            words[number / 8] |= bits << (number % 8 * 8);
        }
        Self::of(words)
    }

    /// A byte for each lane, 1 where it takes part.
    pub(super) fn to_bytes(self) -> [u8; LANES] {
        let mut bytes = [0; LANES];
        for (number, eight) in bytes.chunks_exact_mut(8).enumerate() {
            let bits = self.words[number / 8] >> (number % 8 * 8) & 0xff;
            // Each byte keeps the bit of its number.
            let spread = bits.wrapping_mul(0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
            eight.copy_from_slice(&ones(spread).to_le_bytes());
        }
        bytes
    }

    /// Whether a lane takes part.
    pub(super) fn has(&self, lane: usize) -> bool {
        self.words[lane / 64] >> (lane % 64) & 1 == 1
    }

    /// The lanes, from the first on.
    pub(super) fn lanes(self) -> impl Iterator<Item = usize> {
        self.words.into_iter().enumerate().flat_map(|(number, mut word)| {
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros() as usize;
                (word != 0).then(|| {
                    word &= word - 1;
                    number * 64 + bit
                })
            })
        })
    }

    /// Calls a function with each lane, from the first on.
    #[inline(always)]
    pub(super) fn for_each(self, mut call: impl FnMut(usize)) {
        for (number, word) in self.words.into_iter().enumerate() {
            match word {
                u64::MAX => (number * 64..number * 64 + 64).for_each(&mut call),
                mut rest => {
                    while rest != 0 {
                        call(number * 64 + rest.trailing_zeros() as usize);
                        rest &= rest - 1;
                    }
                }
            }
        }
    }

    fn zip(self, other: Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        Self::of(std::array::from_fn(|word| combine(self.words[word], other.words[word])))
    }

    pub(super) fn and(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    pub(super) fn without(self, other: Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    pub(super) fn join(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    /// Takes the mask and leaves none.
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::NONE)
    }
}

/// 1 in each byte that is not 0.
const fn ones(bytes: u64) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    (((bytes & LOW) + LOW) | bytes) >> 7 & 0x0101_0101_0101_0101
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
