//! Steps of a program that one function does, compiled for them: what lies between two of them stays in registers.
//!
//! Steps that follow one another, whose operands lie element after element or are one for all, and which the compiler has
//! instructions for, are a *stretch*; others are done by their functions, before and behind it. A function depends on the steps and
//! on how their operands lie; extents and constants are arguments. It is compiled when a program is run the second time, or the first
//! time where that pays, and gives the bits that the functions of the steps give.

#[cfg(all(feature = "native", target_arch = "x86_64", unix))]
mod compiled;
#[cfg(not(all(feature = "native", target_arch = "x86_64", unix)))]
#[path = "interpreted.rs"]
mod compiled;

use smallvec::SmallVec;
use stridewise_core::backend::{Arg, Program};

use super::moving::space::Access;
use crate::simd::Isa;

use compiled::Function;
#[cfg(all(feature = "native", target_arch = "x86_64", unix))]
pub(crate) use compiled::compiler;
pub(crate) use compiled::findings;
pub(super) use compiled::stretches;

/// Turns compiled code off, where it is 0.
pub(crate) const NATIVE_VARIABLE: &str = "STRIDEWISE_NATIVE";

/// Has functions named in a map for profilers, where it is 1.
pub(crate) const PERF_VARIABLE: &str = "STRIDEWISE_PERF_MAP";

/// Operands of a stretch at most.
const MOST_OPERANDS: usize = 32;

/// Steps that one function does.
pub(super) struct Stretch {
    /// A bit for each.
    pub(super) members: u32,
    /// What they read besides each other's results.
    pub(super) reads: SmallVec<[Arg; 8]>,
    /// Those of them whose results others need.
    pub(super) writes: SmallVec<[u8; 4]>,
    pub(super) function: Function,
}

impl Stretch {
    /// The last of its steps, behind which it is done.
    pub(super) fn last(&self) -> usize {
        (u32::BITS - 1 - self.members.leading_zeros()) as usize
    }
}

/// A call of a stretch's function: the slots of what it reads and writes, in this order.
pub(super) struct Called {
    pub(super) function: Function,
    pub(super) slots: SmallVec<[u8; 12]>,
    /// Bytes of an element of what it writes.
    pub(super) sizes: SmallVec<[u8; 4]>,
}

impl Called {
    /// Computes `len` elements.
    ///
    /// # Safety
    /// - The slots hold the addresses of so many elements, or of one where the stretch was found with one for all.
    /// - What is written overlaps nothing but, exactly, what is read.
    pub(super) unsafe fn run(&self, address: impl Fn(u8) -> *mut u8, len: usize) {
        let mut operands = [std::ptr::null_mut(); MOST_OPERANDS];
        for (operand, &slot) in operands.iter_mut().zip(&self.slots) {
            *operand = address(slot);
        }
        // SAFETY: the operands are `len` elements each, or one for all, as the stretch was found, and what is
        // written overlaps nothing but, exactly, what is read.
        unsafe { self.function.run(&operands[..self.slots.len()], &self.sizes, len) };
    }
}

/// What is asked of the compiler.
#[cfg_attr(
    not(all(feature = "native", target_arch = "x86_64", unix)),
    expect(dead_code, reason = "there is no compiler, and nothing is compiled")
)]
pub(super) struct Asked<'a> {
    pub(super) program: &'a Program,
    /// Steps from the first on that are computed.
    pub(super) computed: usize,
    pub(super) isa: Isa,
    pub(super) inputs: &'a [Access],
    /// Elements that the program is computed for.
    pub(super) elements: usize,
    /// Whether results go past the caches.
    pub(super) stream: bool,
}
