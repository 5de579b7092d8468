//! Values that the items of a group make together, between two regions.

use stridewise_core::Dtype;
use stridewise_core::backend::ElementsFn;
use stridewise_native::{COUNT, Cell, MORE, NEXT};

use super::calls::Operand;
use super::memory::wide;
use crate::interpreter::frame::Bits;

/// A value of all items of a group, in the order of their ids.
pub(super) struct Collective {
    pub(super) how: How,
    pub(super) dtype: Dtype,
    pub(super) operand: Operand,
    /// Where the results go: of each lane, or, of what is one for the group, each gang's.
    pub(super) to: Cell,
}

pub(super) enum How {
    Reduce(ElementsFn),
    /// Up to the item itself, or, where the first one has something of its own, without it.
    Scan(ElementsFn, Option<Bits>),
    /// The value of the item of this number, an integer of this dtype, or of the nearest one.
    Broadcast(Cell, Dtype),
}

impl Collective {
    /// # Safety
    /// The memory is the first gang's of a group, of the layout that this is of, and all gangs of the group
    /// are in a ring ([`NEXT`], [`MORE`]).
    pub(super) unsafe fn run(&self, memory: *mut u8) {
        let (size, mut so_far, mut before) = (self.dtype.size(), None::<Bits>, 0_usize);
        let cell = |gang: *mut u8, cell: Cell| gang.wrapping_add(usize::try_from(cell.0).unwrap_or(0));
        // SAFETY: cells of numbers are in the memory of a gang, aligned.
        let read = |gang, of| unsafe { cell(gang, of).cast::<u64>().read() };
        let wanted = match self.how {
            How::Broadcast(from, Dtype::U64) => read(memory, from),
            How::Broadcast(from, _) => read(memory, from).cast_signed().max(0).cast_unsigned(),
            _ => 0,
        };
        let gangs = || {
            let next = move |gang: &*mut u8| {
                let more = read(*gang, MORE) != 0;
                more.then(|| std::ptr::with_exposed_provenance_mut(read(*gang, NEXT) as usize))
            };
            std::iter::successors(Some(memory), next)
        };
        for gang in gangs() {
            let count = read(gang, COUNT) as usize;
            for lane in 0..count {
                let further = if self.operand.same { 0 } else { lane * size };
                let mut value = Bits([0; 16]);
                // SAFETY: the layout has an element of the dtype there, for each lane or for all.
                unsafe {
                    let from = cell(gang, self.operand.cell).add(further).cast_const();
                    std::ptr::copy_nonoverlapping(from, value.0.as_mut_ptr(), size);
                }
                let fold = |run: ElementsFn| match so_far {
                    None => value,
                    Some(sum) => {
                        let mut result = Bits([0; 16]);
                        let (a, b) = (sum.0.as_ptr(), value.0.as_ptr());
                        // SAFETY: one element each, aligned for any dtype, apart from each other.
                        unsafe { run(result.0.as_mut_ptr(), a, b, a, 0, 1) };
                        result
                    }
                };
                match self.how {
                    How::Reduce(run) => so_far = Some(fold(run)),
                    How::Scan(run, first) => {
                        let sum = fold(run);
                        let result = match first {
                            Some(first) => so_far.unwrap_or(first),
                            None => sum,
                        };
                        so_far = Some(sum);
                        // SAFETY: the layout has room for an element of each lane there.
                        unsafe {
                            let to = cell(gang, self.to).add(lane * size);
                            std::ptr::copy_nonoverlapping(result.0.as_ptr(), to, size);
                        }
                    }
                    // The nearest one comes last.
                    How::Broadcast(..) if (before + lane) as u64 <= wanted => so_far = Some(value),
                    How::Broadcast(..) => {}
                }
            }
            before += count;
        }
        if let (How::Reduce(_) | How::Broadcast(..), Some(result)) = (&self.how, so_far) {
            for gang in gangs() {
                // SAFETY: the layout has a number there.
                unsafe { cell(gang, self.to).cast::<u64>().write(wide(result, self.dtype)) };
            }
        }
    }
}
