//! Machine code for elementwise work: a [lane form](Builder), and its compiler to AVX2 and AVX-512.
//!
//! A form says what is computed for an element; [`compile`] makes of it a function that goes through as many
//! as it is told, in memory that is written, then made executable, never both. Extents, addresses and
//! constants that are [uniform](Builder::uniform) are its arguments, so that one function serves all of them.
//! Nothing is contracted or reassociated: each operation rounds as it does by itself.

mod asm;
mod emit;
mod lane;
mod memory;
mod routine;
mod select;
#[cfg(test)]
mod tests;

pub use emit::{Cell, MOST_ROWS, Place};
pub use lane::{Builder, Kind, Mark, Value};
pub use memory::Refused;
pub use routine::{
    ACROSS, Active, Addend, Axis, CALLER, COLUMNS, CONTEXT, COUNT, Caller, Carry, Compiled, Elements,
    FIRST_FREE, Found, GRAIN, Grid, Index, LAST, LAST_ROW, MORE, NEXT, Order, PARTIAL, Relation, Rounds,
    Routine, Scalar, Sum, Target, WHOLE,
};

use std::ops::Range;

use memory::Executable;

/// Bytes of a vector that is stored past the caches at least; shorter ones are stored as always.
pub const LEAST_STREAMED: usize = 16;

/// The instructions that code is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// AVX2 and F16C.
    Avx2,
    /// AVX-512 F, BW, DQ and VL, with all of [`Level::Avx2`].
    Avx512,
}

impl Level {
    /// Its name, in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Whether this processor has it.
    #[must_use]
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("f16c")
            && (self == Self::Avx2
                || is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl"));
        #[cfg(not(target_arch = "x86_64"))]
        return false;
    }
}

/// A function that was compiled.
pub struct Code {
    pages: Executable,
    lanes: u8,
}

impl Code {
    /// Elements of a vector.
    #[must_use]
    pub fn lanes(&self) -> usize {
        usize::from(self.lanes)
    }

    /// Bytes of memory that it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.pages.bytes()
    }

    /// Where it is, as numbers: for profilers.
    #[must_use]
    pub fn addresses(&self) -> Range<usize> {
        self.pages.addresses()
    }

    /// Computes some elements.
    ///
    /// # Safety
    /// `operands` holds the addresses of the form's operands by their numbers, as of element 0: readable for
    /// all elements of `range` where they are loaded, for one where they are uniform, and writable for all of
    /// `range` where they are stored. What is stored overlaps nothing else, but that it may be exactly what
    /// is loaded, of elements of the same size. Of a form that was compiled to `stream`, the first element of
    /// `range` that is stored is aligned to [`lanes`](Self::lanes) elements where these have
    /// [`LEAST_STREAMED`] bytes, and a fence of stores follows before others read them.
    pub unsafe fn run(&self, operands: &[*mut u8], range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: the pages hold a function of this type, which `compile` wrote whole; it keeps all
            // registers that this convention asks it to. The processor has its instructions, which `compile`
            // checked.
            let function: unsafe extern "sysv64" fn(*const *mut u8, usize, usize) =
                unsafe { std::mem::transmute(self.pages.ptr()) };
            // SAFETY: the operands are there for all of `range`, and aligned and apart, as this function's contract asks; the code
            // reaches nothing else.
            unsafe { function(operands.as_ptr(), range.end, range.start) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = operands;
    }
}

/// The bytes of the function of a form, which [`compile`] makes executable. With `stream`, results go past
/// the caches.
///
/// # Errors
/// [`Refused::Size`].
pub fn assemble(form: &Builder, stream: bool) -> Result<(Vec<u8>, u8), Refused> {
    let selected = select::select(form, u8::MAX).ok_or(Refused::Size)?;
    Ok((emit::emit(&selected, stream)?, selected.lanes))
}

/// The function of a form.
///
/// # Errors
/// [`Refused`] says why there is none.
pub fn compile(form: &Builder, stream: bool) -> Result<Code, Refused> {
    if !form.level().is_available() {
        return Err(Refused::Level);
    }
    let (code, lanes) = assemble(form, stream)?;
    Ok(Code { pages: Executable::new(&code)?, lanes })
}
