//! Elements of short rows, moved by core itself: at places, where a mask is true, the first of equal ones.
//!
//! To move an element is a load and a store, on every device that lets its memory be touched here, so that none is asked for a
//! function, and no plan is made. What is computed of elements (sorts, scans, products) is the device's.

use std::num::Wrapping;
use std::ops::Add;
use std::sync::Arc;

use super::{Constant, FEW_LEN, MAX_OPERANDS, Memories, Source, fresh_memory, hold_idle, place};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::memory::allocation::Allocation;
use crate::memory::{BLOCK_ALIGN_BYTES, UsmKind};
use crate::routes::{self, Route};
use crate::runtime::Device;
use crate::scalar::Scalar;
use crate::{Complex, bf16, f16};

/// Elements of a mask that are looked at together.
const TOGETHER: usize = 64;

/// What is moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Move {
    /// The elements of source 0 at the places that source 1, `int64`, names; negative ones count from the end.
    Take,
    /// The elements of source 0, one for each place or one for all, to the target's places that source 1 names, as for
    /// [`Take`](Self::Take). Of several for one place the last stays.
    Put,
    /// The same, but that they are added to the target's, one after the other.
    Add,
    /// Nothing: the elements of source 0, `bool`, that are true are counted.
    Count,
    /// The numbers of the elements of source 0, `bool`, that are true.
    Places,
    /// The elements of source 0 at which source 1, `bool`, is true.
    Select,
    /// The elements of source 0, as many as are true or one for all, to where source 1, `bool`, is true.
    Assign,
    /// The first of each run of equal elements of source 0. Each NaN is a run of its own.
    Firsts,
    /// How long each of these runs is.
    Lengths,
}

/// A row of elements one after another, aligned to their dtype.
#[derive(Clone, Copy)]
struct Row {
    at: *mut u8,
    len: usize,
}

/// A move of elements in a device's memory.
pub(crate) struct MoveCall<'a> {
    device: &'a Device,
    what: Move,
    /// The dtype of source 0.
    dtype: Dtype,
    sources: [Row; 2],
    memory: [Option<Source<'a>>; 2],
    /// Bytes of each source's elements.
    sizes: [usize; 2],
    /// Source 0, where it is a value.
    value: Option<Constant>,
}

const NOTHING: Row = Row { at: std::ptr::null_mut(), len: 0 };

impl<'a> MoveCall<'a> {
    /// `None` where the device's memory is not touched here.
    pub(crate) fn new(device: &'a Device, what: Move, dtype: Dtype) -> Option<Self> {
        device.capabilities().immediate.then_some(Self {
            device,
            what,
            dtype,
            sources: [NOTHING; 2],
            memory: [None; 2],
            sizes: [0; 2],
            value: None,
        })
    }

    /// Gives the source of a number, elements of a dtype. Whether they are a short row of the device's.
    pub(crate) fn source(&mut self, k: usize, source: Source<'a>, dtype: Dtype) -> bool {
        let Source { allocation, layout } = source;
        let len = layout.len();
        // What elements are taken from is not gone through.
        let most = if self.what == Move::Take && k == 0 { usize::MAX } else { FEW_LEN };
        let is_row = layout.ndim() == 1 && layout.is_c_contiguous() && (1..=most).contains(&len);
        if !is_row || allocation.device() != self.device {
            return false;
        }
        let Some(at) = place(allocation, layout, len, dtype) else { return false };
        self.sources[k] = Row { at, len };
        (self.memory[k], self.sizes[k]) = (Some(source), dtype.size());
        true
    }

    /// Gives a value as source 0.
    pub(crate) fn value(&mut self, value: Scalar) {
        self.sources[0].len = 1;
        self.value = Some(Constant::of(value));
    }

    /// The strongest kind of the sources' memory.
    pub(crate) fn kind(&self) -> UsmKind {
        self.memory.iter().flatten().fold(UsmKind::Host, |kind, of| kind.combine(of.allocation.kind()))
    }

    /// What is touched: the sources' memory, and that of a target.
    fn memories(&self, target: Option<&'a Allocation>) -> Memories<'a> {
        let mut memory: Memories<'a> = [None; MAX_OPERANDS + 1];
        for (memory, source) in memory.iter_mut().zip(self.memory) {
            *memory = source.map(|source| &**source.allocation);
        }
        memory[MAX_OPERANDS] = target;
        memory
    }

    /// How many elements of source 0 are true. `None` where something stands against it.
    pub(crate) fn count(&self) -> Option<usize> {
        let held = hold_idle(&self.memories(None), || "move")?;
        // SAFETY: the sources were found to be in their memory (`source`), which is held: no work is under way on it and no host
        // view open, and none can begin. Nothing is written.
        let count = unsafe { self.run(NOTHING) };
        drop(held);
        count
    }

    /// Moves into new memory of a kind for so many elements of a dtype at most; how many were written. `None` where something
    /// stands against it.
    ///
    /// # Errors
    /// What the allocation reports.
    pub(crate) fn fresh(
        &self,
        most: usize,
        dtype: Dtype,
        kind: UsmKind,
    ) -> Result<Option<(Arc<Allocation>, usize)>> {
        if most == 0 {
            return Ok(None);
        }
        // Who holds memory waits for nothing, the pool's lock included.
        let memory = fresh_memory(self.device, kind, most * dtype.size(), BLOCK_ALIGN_BYTES)?;
        let Some(out) = memory else { return Ok(None) };
        let Some(held) = hold_idle(&self.memories(None), || "move") else { return Ok(None) };
        // SAFETY: the sources were found to be in their memory (`source`), which is held; nobody else has the
        // memory that is written, and no source is in it; no more is written than there is room for.
        let written = unsafe { self.run(Row { at: out.ptr().as_ptr(), len: most }) };
        drop(held);
        Ok(written.map(|count| (out, count)))
    }

    /// Moves into elements of a row that may be written. `false`, with nothing written, where something stands against it.
    pub(crate) fn write(&self, target: Source<'a>, dtype: Dtype) -> bool {
        let Source { allocation, layout } = target;
        let stopped = allocation.is_read_only()
            || !allocation.pending_reads.is_empty()
            || allocation.device() != self.device
            || layout.ndim() != 1
            || !layout.is_c_contiguous()
            || layout.is_empty();
        if stopped {
            return false;
        }
        let Some(at) = place(allocation, layout, layout.len(), dtype) else { return false };
        let written = layout.byte_range(dtype.size());
        let mut sources = self.memory.iter().zip(self.sizes);
        let meets = |(source, size): (&Option<Source<'_>>, usize)| {
            source.is_some_and(|source| {
                source.allocation.meets(&source.layout.byte_range(size), allocation, &written)
            })
        };
        if sources.any(meets) {
            return false;
        }
        let Some(held) = hold_idle(&self.memories(Some(&**allocation)), || "move") else { return false };
        // SAFETY: the sources and the target were found to be in their memory (`source`, `place`), which is
        // held, for writing that of the target; no source is in it.
        let done = unsafe { self.run(Row { at, len: layout.len() }) };
        drop(held);
        done.is_some()
    }

    /// How many elements were written or counted; `None`, with nothing written to a target that was there before, where a place is out
    /// of range, or there are not as many elements as places for them.
    ///
    /// # Safety
    /// - The sources that the move has were given, and are in memory that nothing else writes meanwhile.
    /// - `target.len` elements are writable at the target, aligned and apart from the sources, and nothing else accesses them.
    unsafe fn run(&self, target: Row) -> Option<usize> {
        let [mut first, second] = self.sources;
        if let Some(value) = &self.value {
            first.at = value.place().cast_mut();
        }
        let (size, dtype) = (self.dtype.size(), self.dtype);
        // SAFETY: for all of this block: the sources are readable (`source`), of so many elements of their dtypes, and the target is
        // writable, by the contract of this function; what is named by a place or a mask is compared with the lengths first.
        let done = unsafe {
            match self.what {
                Move::Take => taken(size, first, second, target),
                Move::Put if fits(first, second.len) && are_inside(second, target.len) => {
                    put(size, first, second, target);
                    Some(second.len)
                }
                Move::Add if fits(first, second.len) && are_inside(second, target.len) => {
                    added(dtype, first, second, target).then_some(second.len)
                }
                Move::Put | Move::Add => None,
                Move::Count => Some(true_bytes(first)),
                Move::Places => Some(numbers(first, target.len, |i, number| {
                    target.at.cast::<i64>().add(i).write(number as i64);
                })),
                Move::Select if first.len == second.len => Some(numbers(second, target.len, |i, number| {
                    element(size, target.at.add(i * size), first.at.add(number * size));
                })),
                Move::Assign if second.len == target.len && fits(first, true_bytes(second)) => {
                    let step = if first.len == 1 { 0 } else { size };
                    Some(numbers(second, target.len, |i, number| {
                        element(size, target.at.add(number * size), first.at.add(step * i));
                    }))
                }
                Move::Select | Move::Assign => None,
                Move::Firsts if target.len >= first.len => Some(runs(dtype, first, target, false)),
                Move::Lengths if target.len >= first.len => Some(runs(dtype, first, target, true)),
                Move::Firsts | Move::Lengths => None,
            }
        };
        if done.is_some() {
            routes::take(Route::Move);
        }
        done
    }
}

/// Whether elements are as many as asked for, or one for all.
fn fits(row: Row, len: usize) -> bool {
    row.len == 1 || row.len == len
}

/// Copies an element of a size that dtypes have.
///
/// # Safety
/// So many bytes are readable at `from` and writable at `to`.
#[inline(always)]
unsafe fn element(size: usize, to: *mut u8, from: *const u8) {
    macro_rules! as_one {
        ($T:ty) => {
            // SAFETY: the element has the type's size, and need not be aligned to it.
            unsafe { to.cast::<$T>().write_unaligned(from.cast::<$T>().read_unaligned()) }
        };
    }
    match size {
        1 => as_one!(u8),
        2 => as_one!(u16),
        4 => as_one!(u32),
        8 => as_one!(u64),
        _ => as_one!(u128),
    }
}

/// A place, counted from the start; beyond the axis where it is out of range.
fn from_start(place: i64, extent: usize) -> usize {
    let from_end = if place < 0 { extent as u64 } else { 0 };
    usize::try_from(place.cast_unsigned().wrapping_add(from_end)).unwrap_or(usize::MAX)
}

/// The numbers of a row of places.
///
/// # Safety
/// They are readable, aligned `int64`, and nothing writes them while they are borrowed.
unsafe fn places<'a>(row: Row) -> &'a [i64] {
    // SAFETY: the contract of this function.
    unsafe { std::slice::from_raw_parts(row.at.cast::<i64>(), row.len) }
}

/// Whether places are all in an axis.
///
/// # Safety
/// As for [`places`].
unsafe fn are_inside(row: Row, extent: usize) -> bool {
    // SAFETY: the contract of this function.
    unsafe { places(row) }.iter().all(|&place| from_start(place, extent) < extent)
}

/// # Safety
/// - Elements of the table and of the target are of the size, and places are as for [`places`].
/// - The target is apart from these.
unsafe fn taken(size: usize, table: Row, named: Row, target: Row) -> Option<usize> {
    if target.len < named.len {
        return None;
    }
    // SAFETY: for all of this block: a place is in the table when it is read from, and the target has room for as many elements as there
    // are places.
    unsafe {
        for (i, &place) in places(named).iter().enumerate() {
            let place = from_start(place, table.len);
            if place >= table.len {
                return None;
            }
            element(size, target.at.add(i * size), table.at.add(place * size));
        }
    }
    Some(named.len)
}

/// # Safety
/// - Elements of the values and of the target are of the size; there is one value, or one for each place.
/// - Places are as for [`places`], and all of them in the target ([`are_inside`]), which is apart from the others.
unsafe fn put(size: usize, values: Row, named: Row, target: Row) {
    let step = if values.len == 1 { 0 } else { size };
    // SAFETY: for all of this block: places are in the target, and there is a value for each.
    unsafe {
        for (i, &place) in places(named).iter().enumerate() {
            element(size, target.at.add(from_start(place, target.len) * size), values.at.add(step * i));
        }
    }
}

/// Whether there are such sums of the dtype; those of 16-bit floats are rounded at the end.
///
/// # Safety
/// As for [`put`]; the elements are of the dtype.
unsafe fn added(dtype: Dtype, values: Row, named: Row, target: Row) -> bool {
    macro_rules! of {
        ($T:ty) => {
            // SAFETY: the elements are of the type, or of an integer of its size, whose sums have the same bits.
            unsafe { added_of::<$T>(values, named, target) }
        };
    }
    match dtype {
        Dtype::I8 | Dtype::U8 => of!(Wrapping<u8>),
        Dtype::I16 | Dtype::U16 => of!(Wrapping<u16>),
        Dtype::I32 | Dtype::U32 => of!(Wrapping<u32>),
        Dtype::I64 | Dtype::U64 => of!(Wrapping<u64>),
        Dtype::F32 => of!(f32),
        Dtype::F64 => of!(f64),
        Dtype::C64 => of!(Complex<f32>),
        Dtype::C128 => of!(Complex<f64>),
        Dtype::Bool | Dtype::F16 | Dtype::Bf16 => return false,
    }
    true
}

/// # Safety
/// As for [`added`]; the elements are of the type.
unsafe fn added_of<T: Copy + Add<Output = T>>(values: Row, named: Row, target: Row) {
    let (from, to) = (values.at.cast::<T>(), target.at.cast::<T>());
    let step = usize::from(values.len != 1);
    // SAFETY: for all of this block: places are in the target, there is a value for each, and all are aligned.
    unsafe {
        for (i, &place) in places(named).iter().enumerate() {
            let to = to.add(from_start(place, target.len));
            to.write(to.read() + from.add(step * i).read());
        }
    }
}

/// How many bytes are not 0.
///
/// # Safety
/// They are readable.
unsafe fn true_bytes(mask: Row) -> usize {
    // SAFETY: the mask has so many readable bytes.
    let mask = unsafe { std::slice::from_raw_parts(mask.at, mask.len) };
    // Sums of bytes, as many as cannot overflow.
    let sum = |some: &[u8]| some.iter().map(|&byte| u8::from(byte != 0)).sum::<u8>();
    mask.chunks(TOGETHER).map(|some| usize::from(sum(some))).sum()
}

/// Calls `write(i, number)` with the number of each byte that is not 0, at most so many; how many it was called for.
///
/// # Safety
/// The mask's bytes are readable.
#[inline(always)]
unsafe fn numbers(mask: Row, most: usize, mut write: impl FnMut(usize, usize)) -> usize {
    // SAFETY: the mask has so many readable bytes.
    let mask = unsafe { std::slice::from_raw_parts(mask.at, mask.len) };
    let mut done = 0;
    for (start, some) in (0..).step_by(TOGETHER).zip(mask.chunks(TOGETHER)) {
        let (mut list, mut found) = ([0_usize; TOGETHER], 0);
        // Without a branch that would be guessed wrong: what is not true is written over.
        for (i, &byte) in some.iter().enumerate() {
            list[found] = start + i;
            found += usize::from(byte != 0);
        }
        for &number in &list[..found.min(most - done)] {
            write(done, number);
            done += 1;
        }
    }
    done
}

/// Writes the first one of each run of equal elements, or how many it has; how many runs there are.
///
/// # Safety
/// - The row's elements are readable and aligned, of the dtype; there is at least one.
/// - The target, apart from them, has room for as many results: elements, or `int64` where lengths are asked for; it is aligned.
unsafe fn runs(dtype: Dtype, row: Row, target: Row, lengths: bool) -> usize {
    macro_rules! of {
        ($T:ty, $differ:expr) => {
            // SAFETY: for both: elements are readable, and there is room for as many results; the type is the
            // dtype's, or one of its size.
            unsafe {
                match lengths {
                    true => lengths_of::<$T>(row, target, $differ),
                    false => firsts::<$T>(row, target, $differ),
                }
            }
        };
        ($T:ty) => {
            of!($T, |a, b| a != b)
        };
    }
    match dtype {
        // Any byte but 0 is true.
        Dtype::Bool => of!(u8, |a, b| (a != 0) != (b != 0)),
        Dtype::I8 | Dtype::U8 => of!(u8),
        Dtype::I16 | Dtype::U16 => of!(u16),
        Dtype::I32 | Dtype::U32 => of!(u32),
        Dtype::I64 | Dtype::U64 => of!(u64),
        Dtype::F16 => of!(f16),
        Dtype::Bf16 => of!(bf16),
        Dtype::F32 => of!(f32),
        Dtype::F64 => of!(f64),
        Dtype::C64 => of!(Complex<f32>),
        Dtype::C128 => of!(Complex<f64>),
    }
}

/// # Safety
/// As for [`runs`]; the elements are of the type.
unsafe fn firsts<T: Copy>(row: Row, target: Row, differ: impl Fn(T, T) -> bool) -> usize {
    // SAFETY: the row has so many elements of the type, readable and aligned.
    let row = unsafe { std::slice::from_raw_parts(row.at.cast::<T>(), row.len) };
    let Some(&first) = row.first() else { return 0 };
    let (to, mut count) = (target.at.cast::<T>(), 1);
    // SAFETY: for all of this block: the target has room for as many elements as the row has; when element
    // `k` is looked at, `count` is at most `k`.
    unsafe {
        to.write(first);
        for two in row.windows(2) {
            // Without a branch: what is no first one is written over.
            to.add(count).write(two[1]);
            count += usize::from(differ(two[0], two[1]));
        }
    }
    count
}

/// # Safety
/// As for [`firsts`].
unsafe fn lengths_of<T: Copy>(row: Row, target: Row, differ: impl Fn(T, T) -> bool) -> usize {
    // SAFETY: the row has so many elements of the type, readable and aligned.
    let row = unsafe { std::slice::from_raw_parts(row.at.cast::<T>(), row.len) };
    let (to, mut count, mut start) = (target.at.cast::<i64>(), 0, 0);
    for i in 1..=row.len() {
        if i == row.len() || differ(row[i - 1], row[i]) {
            // SAFETY: the target has room for as many numbers as the row has elements; there are no more runs
            // than elements so far.
            unsafe { to.add(count).write((i - start) as i64) };
            (count, start) = (count + 1, i);
        }
    }
    count
}
