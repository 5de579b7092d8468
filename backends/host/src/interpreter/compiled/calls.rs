//! What compiled kernels call: functions of operations, what counts rounds, atomic accesses, and what the
//! items of a group make together.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use stridewise_core::Dtype;
use stridewise_core::backend::ElementsFn;
use stridewise_native::{COUNT, Cell, Elements, Index, Kind, WHOLE};

use super::Program;
use super::collective::Collective;
use super::each::Each;
use super::memory::LARGE_GANG;
use crate::interpreter::access::exchange;
use crate::interpreter::frame::{Bits, LANES};
use crate::interpreter::run::count_rounds;
use crate::kernels::lanes::{self, Offsets};
use crate::simd::Isa;

const _: () =
    assert!(LARGE_GANG <= LANES, "there are offsets for all items that access elements by atomic operations");

/// What a routine calls.
pub(super) enum Call {
    /// The function of an operation, on elements of lanes, or on one.
    Function {
        run: ElementsFn,
        to: Cell,
        args: [Cell; 3],
        flags: u32,
        one: bool,
    },
    Rounds(Round),
    Each(Each),
    Atomic(Access),
    Collective(Collective),
    /// A fence, of the strongest order.
    Fence,
}

/// How many rounds a loop goes that counts.
pub(super) struct Round {
    pub(super) bounds: [Cell; 3],
    pub(super) dtype: Dtype,
    pub(super) rounds: Cell,
}

/// Atomic accesses of the active lanes, one after another.
pub(super) struct Access {
    /// Of 4 or 8 bytes each.
    pub(super) elements: Elements,
    pub(super) mask: Cell,
    pub(super) update: Update,
    pub(super) operand: Option<Operand>,
    /// Where what was there before goes, of each lane.
    pub(super) result: Option<Cell>,
    /// Whether other threads may access the elements, too.
    pub(super) shared: bool,
    /// The instructions that the program is for.
    pub(super) isa: Isa,
    /// Each lane's column, and, where lanes are rows, each one's row, as `I64`.
    pub(super) counts: [Cell; 2],
}

/// Elements of lanes, or one for all.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    pub(super) cell: Cell,
    pub(super) same: bool,
}

/// What becomes of an element.
pub(super) enum Update {
    Nothing,
    /// The operand.
    Operand,
    /// The operand where this was there.
    Where(Operand),
    /// What the function makes of it and of the operand.
    By(ElementsFn),
    /// The sum of integers.
    Sum,
}

/// What routines call.
///
/// # Safety
/// The context is a program, the memory is of its layout, and the number is that of one of its calls.
pub(super) unsafe extern "sysv64" fn call(context: *const (), memory: *mut u8, number: usize) {
    // SAFETY: the context is a program, which outlives the call.
    let program = unsafe { &*context.cast::<Program>() };
    let at = |cell: Cell| memory.wrapping_add(usize::try_from(cell.0).unwrap_or(0));
    // SAFETY: cells of numbers are in the memory, aligned.
    let read = |cell: Cell| unsafe { at(cell).cast::<u64>().read() };
    match program.calls.get(number) {
        Some(Call::Function { run, to, args, flags, one }) => {
            let len = if *one { 1 } else { read(WHOLE) as usize };
            let [a, b, c] = args.map(|cell| at(cell).cast_const());
            // SAFETY: the layout has so many elements of each operand there, or one where the flags say so,
            // aligned, and room for as many results apart from them.
            unsafe { run(at(*to), a, b, c, *flags, len) };
        }
        Some(Call::Rounds(Round { bounds, dtype, rounds })) => {
            let [start, end, step] = bounds.map(|cell| {
                let mut bits = Bits([0; 16]);
                bits.0[..8].copy_from_slice(&read(cell).to_le_bytes());
                bits.integer(*dtype)
            });
            // SAFETY: cells of the rounds are in the memory, aligned for a number.
            unsafe { at(*rounds).cast::<u64>().write(count_rounds(start, end, step)) };
        }
        Some(Call::Each(each)) => {
            // SAFETY: the memory is of the program's layout, and so are the cells of the call.
            unsafe { each.run(memory) };
        }
        Some(Call::Atomic(access)) => {
            // SAFETY: the memory is of the program's layout, and so is the access; its elements are the
            // launch's or this thread's, which nobody else accesses in conflict, as the code's `run` was
            // promised.
            unsafe { access.run(memory) };
        }
        Some(Call::Collective(collective)) => {
            // SAFETY: it is called between regions, where the memory is the first gang's, and
            // `Machine::group` has made a ring of all gangs of the group.
            unsafe { collective.run(memory) };
        }
        Some(Call::Fence) => fence(Ordering::SeqCst),
        None => {}
    }
}

impl Access {
    /// # Safety
    /// The memory is of the layout that this is of, whose gang has so many lanes as it says. Elements are
    /// accessible; other threads access them by atomic accesses only, where they are shared, and else not at
    /// all.
    unsafe fn run(&self, memory: *mut u8) {
        let at = |cell: Cell| memory.wrapping_add(usize::try_from(cell.0).unwrap_or(0)).cast_const();
        // SAFETY: cells of numbers are in the memory, aligned.
        let read = |cell: Cell| unsafe { at(cell).cast::<i64>().read() };
        let size = usize::from(self.elements.size);
        let of = |operand: Operand, lane: usize| {
            let from = at(operand.cell).wrapping_add(if operand.same { 0 } else { lane * size });
            let mut bits = Bits([0; 16]);
            // SAFETY: the layout has an element of the operand's dtype, which is the elements', there for
            // each lane or for all.
            unsafe { std::ptr::copy_nonoverlapping(from, bits.0.as_mut_ptr(), size) };
            bits
        };
        let count = LARGE_GANG.min(read(COUNT) as usize);
        // SAFETY: the memory is of the layout that this is of, and no gang has more lanes than that.
        let Offsets { bytes, outside } = unsafe { self.offsets(memory, count) };
        let start = std::ptr::with_exposed_provenance_mut::<u8>(read(self.elements.start) as usize);
        for lane in 0..count {
            // SAFETY: a mask has a byte for each lane.
            if unsafe { at(self.mask).add(lane).read() } == 0 {
                continue;
            }
            let (element, inside) = (start.wrapping_offset(bytes[lane] as isize), outside[lane] == 0);
            let operand = self.operand.map_or(Bits([0; 16]), |operand| of(operand, lane));
            // SAFETY: each index is that of an element that there is, or the nearest one's, so this is an
            // element, aligned to its dtype, of 4 or 8 bytes (the verifier: there are atomic accesses to no
            // others), which others access by atomic accesses or not at all, as `run` asks for.
            let before = unsafe {
                match &self.update {
                    Update::Sum if inside => add(element, size, self.shared, operand),
                    update => exchange(element, size, self.shared, |before| match update {
                        _ if !inside => None,
                        Update::Nothing | Update::Sum => None,
                        Update::Operand => Some(operand),
                        Update::Where(expected) => (before == of(*expected, lane)).then_some(operand),
                        Update::By(run) => {
                            let mut after = Bits([0; 16]);
                            let (a, b) = (before.0.as_ptr(), operand.0.as_ptr());
                            run(after.0.as_mut_ptr(), a, b, a, 0, 1);
                            Some(after)
                        }
                    }),
                }
            };
            if let Some(result) = self.result {
                let to = at(result).cast_mut().wrapping_add(lane * size);
                // SAFETY: the layout has room for each lane's element there.
                unsafe { std::ptr::copy_nonoverlapping(before.0.as_ptr(), to, size) };
            }
        }
    }

    /// Where each lane's element is.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    unsafe fn offsets(&self, memory: *mut u8, count: usize) -> Offsets {
        let at = |cell: Cell| memory.wrapping_add(usize::try_from(cell.0).unwrap_or(0)).cast_const();
        // SAFETY: cells of numbers are in the memory, aligned.
        let read = |cell: Cell| unsafe { at(cell).cast::<i64>().read() };
        let mut offsets = Offsets { bytes: [0; LANES], outside: [0; LANES] };
        for axis in &self.elements.axes {
            let mut numbers = [0_i64; LARGE_GANG];
            let mut there = None;
            match axis.index {
                Index::One(cell) => numbers[..count].fill(read(cell)),
                Index::Follow { first, step, row, half } | Index::Near { first, step, row, half, .. } => {
                    let bounds = match axis.index {
                        Index::Near { bounds, .. } => {
                            bounds.map(|bound| bound.map(|(cell, most)| (read(cell), most)))
                        }
                        _ => [None; 2],
                    };
                    let first = read(first);
                    for (lane, number) in numbers[..count].iter_mut().enumerate() {
                        // SAFETY: the layout has a number for each lane.
                        let [column, line] =
                            self.counts.map(|cell| unsafe { integer(at(cell), Kind::I64, lane) });
                        let further = column * i64::from(step) + line * i64::from(row);
                        let index = first.wrapping_add(further);
                        let index = if half { i64::from(index as i32) } else { index };
                        *number = bounds.into_iter().flatten().fold(index, |index, (bound, most)| {
                            if most { index.min(bound) } else { index.max(bound) }
                        });
                    }
                }
                Index::Even { first, step } => {
                    let (first, step) = (read(first), read(step));
                    for (lane, number) in (0..).zip(&mut numbers[..count]) {
                        *number = first.wrapping_add(step.wrapping_mul(lane));
                    }
                }
                Index::Lane => (0..).zip(&mut numbers[..count]).for_each(|(lane, number)| *number = lane),
                Index::Lanes(cell, kind @ (Kind::I32 | Kind::I64)) => {
                    there = Some((at(cell), kind.size().into()))
                }
                Index::Lanes(cell, kind) => {
                    for (lane, number) in numbers[..count].iter_mut().enumerate() {
                        // SAFETY: the layout has an element of the kind for each lane.
                        *number = unsafe { integer(at(cell), kind, lane) };
                    }
                }
            }
            let (from, size) = there.unwrap_or((numbers.as_ptr().cast(), size_of::<i64>()));
            let of = lanes::Axis { last: read(axis.last), stride: read(axis.stride) };
            // SAFETY: there are so many integers, of 4 or 8 bytes with a sign; the processor has the set, as
            // the program is for it.
            unsafe { lanes::along(self.isa, &mut offsets, from, size, &of, count) };
        }
        offsets
    }
}

/// A lane's integer of a kind; one beyond what 64 bits with a sign hold is as large as they hold, and out of
/// any range too.
///
/// # Safety
/// There is one for the lane.
unsafe fn integer(from: *const u8, kind: Kind, lane: usize) -> i64 {
    let (size, mut word) = (usize::from(kind.size()), [0; 8]);
    // SAFETY: there is an integer of the kind for the lane; no kind has more than 8 bytes.
    unsafe { std::ptr::copy_nonoverlapping(from.add(lane * size), word.as_mut_ptr(), size) };
    let (word, rest) = (u64::from_le_bytes(word), 64 - 8 * size as u32);
    if kind.is_signed() { (word << rest) as i64 >> rest } else { i64::try_from(word).unwrap_or(i64::MAX) }
}

/// Adds to an integer; what was there before.
///
/// # Safety
/// As for [`exchange`].
unsafe fn add(element: *mut u8, size: usize, shared: bool, operand: Bits) -> Bits {
    let mut before = Bits([0; 16]);
    macro_rules! add {
        ($ty:ty, $Atomic:ty) => {{
            let element = element.cast::<$ty>();
            let mut bytes = [0; size_of::<$ty>()];
            bytes.copy_from_slice(&operand.0[..size_of::<$ty>()]);
            let operand = <$ty>::from_ne_bytes(bytes);
            // SAFETY: it is an element of as many bytes, aligned to them, which others access by atomic
            // accesses, if it is shared, and else not at all.
            let found = unsafe {
                if shared {
                    // The strongest order, as for others.
                    <$Atomic>::from_ptr(element).fetch_add(operand, Ordering::SeqCst)
                } else {
                    let found = *element;
                    *element = found.wrapping_add(operand);
                    found
                }
            };
            before.0[..size_of::<$ty>()].copy_from_slice(&found.to_ne_bytes());
        }};
    }
    if size == 4 {
        add!(u32, AtomicU32)
    } else {
        add!(u64, AtomicU64)
    }
    before
}
