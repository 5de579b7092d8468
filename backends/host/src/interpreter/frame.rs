//! The values of some items of a group that are run together, its lanes.

use std::ops::Range;

use smallvec::SmallVec;
use stridewise_core::kernel::Space;
use stridewise_core::{Dtype, Error, Result, Scalar};

use super::code::{Arg, Code};

/// Lanes of a frame, at most. Enough that what an operation costs besides its lanes counts little, and few enough that what a
/// kernel needs of slots at a time stays in the first cache.
pub(super) const LANES: usize = 256;

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
}

pub(super) struct Slot {
    /// Where its memory begins in the frame's.
    pub(super) at: usize,
    pub(super) held: Held,
}

/// Lanes that take part.
#[derive(Clone)]
pub(super) struct Mask {
    pub(super) lanes: [bool; LANES],
    pub(super) count: usize,
}

impl Mask {
    pub(super) const NONE: Self = Self { lanes: [false; LANES], count: 0 };

    /// The lanes below a number.
    pub(super) fn first(len: usize) -> Self {
        let mut mask = Self::NONE;
        mask.lanes[..len].fill(true);
        mask.count = len;
        mask
    }

    /// Lanes of two masks, combined one by one.
    pub(super) fn with(&self, other: &[bool; LANES], combine: impl Fn(bool, bool) -> bool) -> Self {
        let mut mask = Self::NONE;
        let mut count = 0_usize;
        for (lane, (&a, &b)) in mask.lanes.iter_mut().zip(self.lanes.iter().zip(other)) {
            *lane = combine(a, b);
            count += usize::from(*lane);
        }
        mask.count = count;
        mask
    }

    pub(super) fn without(&self, other: &Self) -> Self {
        if other.count == 0 { self.clone() } else { self.with(&other.lanes, |a, b| a & !b) }
    }

    pub(super) fn join(&self, other: &Self) -> Self {
        match (self.count, other.count) {
            (_, 0) => self.clone(),
            (0, _) => other.clone(),
            _ => self.with(&other.lanes, |a, b| a | b),
        }
    }

    /// Takes the mask and leaves none.
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::NONE)
    }
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
    /// Where the memory of private objects begins.
    private: usize,
}

/// Bytes of whole cache lines.
const fn lines(bytes: usize) -> usize {
    bytes.div_ceil(64) * 64
}

impl Frame {
    /// A frame for items of a group, with `private` bytes for each of them besides the slots.
    ///
    /// # Errors
    /// [`Error::Alloc`] where there is no memory.
    pub(super) fn new(code: &Code, items: Range<usize>, private: usize) -> Result<Self> {
        let mut at = 0;
        let mut slots = Vec::with_capacity(code.slots.len());
        for &size in &code.slots {
            slots.push(Slot { at, held: Held::Same(Bits([0; 16])) });
            at += lines(size * LANES);
        }
        for &(slot, scalar) in &code.constants {
            slots[slot].held = Held::Same(Bits::of(scalar));
        }
        let bytes =
            private.checked_mul(LANES).and_then(|bytes| bytes.checked_add(at)).unwrap_or(usize::MAX / 2);
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
        self.active = Mask::first(next);
        if !prefix {
            self.active = Mask::NONE;
            for row in &self.rows {
                self.active.lanes[row.lane..row.lane + row.len].fill(true);
                self.active.count += row.len;
            }
        }
        let private = self.private / 64;
        self.memory[private..].fill(Line::ZEROS);
    }

    /// The local linear id of a lane's item.
    pub(super) fn item(&self, lane: usize) -> usize {
        self.items.start + lane
    }

    /// Lanes whose items exist.
    pub(super) fn existing(&self) -> usize {
        self.rows.iter().map(|row| row.len).sum()
    }

    /// Lanes of a full group.
    pub(super) fn width(&self) -> usize {
        self.items.len()
    }

    pub(super) fn all(&self) -> bool {
        self.active.count == self.len
    }

    /// The first lane that takes part; there is one.
    pub(super) fn first_active(&self) -> usize {
        if self.all() { 0 } else { self.active.lanes.iter().position(|&lane| lane).unwrap_or(0) }
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
        }
    }

    /// Writes a slot's lanes to its memory, whatever it holds.
    pub(super) fn spread(&mut self, arg: Arg) {
        match self.slots[arg.slot].held {
            Held::Same(bits) => {
                let (to, len, size) = (self.memory_of(arg.slot), self.len, arg.dtype.size());
                for lane in 0..len {
                    // SAFETY: a slot has memory for `LANES` elements of its size, and `len` is at most that.
                    unsafe {
                        std::ptr::copy_nonoverlapping(bits.0.as_ptr(), to.add(lane * size), size);
                    }
                }
            }
            Held::Affine(affine, false) => self.write_affine(arg, affine),
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
    /// they wrap.
    pub(super) fn affine(&self, arg: Arg) -> Option<(Affine, i128, i128)> {
        if !arg.dtype.kind().is_integer() {
            return None;
        }
        match self.slots[arg.slot].held {
            Held::Same(bits) => {
                let value = bits.integer(arg.dtype);
                Some((Affine { base: value as i64, steps: [0; 3] }, value, value))
            }
            Held::Affine(affine, _) => {
                let start = Bits::wrapped(affine.base, arg.dtype).integer(arg.dtype);
                let (mut low, mut high) = (start, start);
                for axis in 0..3 {
                    let step = i128::from(affine.steps[axis]);
                    let (a, b) = (step * i128::from(self.low[axis]), step * i128::from(self.high[axis]));
                    low += a.min(b);
                    high += a.max(b);
                }
                let range = arg.dtype.iinfo().ok()?;
                (range.min <= low && high <= range.max).then_some((affine, low, high))
            }
            Held::Lanes => None,
        }
    }

    /// The lanes of a slot of truth values.
    pub(super) fn truth(&mut self, slot: usize) -> [bool; LANES] {
        let (from, same) = self.source(Arg { slot, dtype: Dtype::Bool });
        let mut lanes = [false; LANES];
        for (lane, truth) in lanes.iter_mut().enumerate().take(self.len) {
            // SAFETY: the slot has memory for each lane's byte, or one byte for all.
            *truth = unsafe { *from.add(if same { 0 } else { lane }) } != 0;
        }
        lanes
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
