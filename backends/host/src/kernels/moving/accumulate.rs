//! Values that the elements at places are joined with, one after the other: sums, products, the least and the greatest.
//!
//! A sum is limited by the load of an element that some place names, and by the sum before it where that was of the same place.
//! Several threads share the places, as those of a scatter do: each reads all of them, and adds to a part of the elements, so that
//! no sum depends on their number.

use std::ops::Range;

use stridewise_core::ops::Real;
use stridewise_core::{
    Complex, Dtype, DtypeKind, Op,
    backend::{IndexedAxis, LaunchPlan},
};

use super::gather::NOWHERES;
use crate::fork_join;
use crate::kernels::plain::Plain;
use crate::kernels::split::Address;
use crate::kernels::stream;
use crate::kernels::tuning::{ENOUGH_THREADS, SECOND_CACHE_BYTES, Tuning};

/// Elements ahead whose targets are asked for where they are not in the last cache: as many as the memory brings meanwhile.
const AHEAD: usize = 64;

/// Joins elements with values at places, by an operation that [exists](exists).
///
/// # Safety
/// The contract of [`run`](crate::kernels::run).
pub(crate) unsafe fn accumulate(plan: &LaunchPlan, op: Op, axis: &IndexedAxis, tuning: &Tuning) {
    let dtype = plan.output_dtype(0);
    let bytes = axis.extent.saturating_mul(dtype.size());
    let shared =
        tuning.threads >= ENOUGH_THREADS && bytes.min(plan.len() * dtype.size()) >= SECOND_CACHE_BYTES;
    let parts = if shared { tuning.threads.clamp(1, axis.extent.max(1)) } else { 1 };
    let [values, places] = [0, 1].map(|k| (Address(plan.inputs[k].ptr.as_ptr()), plan.inputs[k].strides[0]));
    let target = Address(plan.outputs[0].ptr.as_ptr());
    // Of what no cache has, the memory brings so many elements while others are added.
    let asked = if bytes > tuning.last_cache_bytes { plan.dims[0].saturating_sub(AHEAD) } else { 0 };
    fork_join::share(parts, tuning.threads, &|part| {
        let sums = Sums {
            values,
            places,
            target,
            stride: axis.stride,
            len: plan.dims[0],
            extent: axis.extent,
            window: axis.extent * part / parts..axis.extent * (part + 1) / parts,
            asked,
        };
        // SAFETY: the plan's values and places are readable and its output writable, of the dtype and
        // aligned; different places along the axis are other elements (only a scatter's output may address
        // one twice), and each window is one thread's.
        unsafe { sums.join(op, dtype) };
    });
}

/// Whether elements of a dtype are joined by an operation. Sums and products are those of its numbers, one after the other: those of
/// 16-bit floats are rounded at the end.
pub(crate) fn exists(op: Op, dtype: Dtype) -> bool {
    let is_known = !matches!(dtype, Dtype::Bool | Dtype::F16 | Dtype::Bf16);
    match op {
        Op::Add | Op::Multiply => is_known,
        Op::Minimum | Op::Maximum => is_known && dtype.kind() != DtypeKind::Complex,
        _ => false,
    }
}

/// Runs `of` with the type of a dtype's numbers; sums and products have the same bits with a sign and without.
macro_rules! with_numbers {
    ($sums:ident, $dtype:ident, $join:expr) => {
        match $dtype {
            Dtype::I8 | Dtype::U8 => $sums.of::<u8>($join),
            Dtype::I16 | Dtype::U16 => $sums.of::<u16>($join),
            Dtype::I32 | Dtype::U32 => $sums.of::<u32>($join),
            Dtype::I64 | Dtype::U64 => $sums.of::<u64>($join),
            Dtype::F32 => $sums.of::<f32>($join),
            Dtype::F64 => $sums.of::<f64>($join),
            Dtype::C64 => $sums.of::<Complex<f32>>($join),
            Dtype::C128 => $sums.of::<Complex<f64>>($join),
            // `exists` lets no other dtypes pass.
            _ => {}
        }
    };
}

/// The same of ordered ones.
macro_rules! with_ordered {
    ($sums:ident, $dtype:ident, $join:expr) => {
        match $dtype {
            Dtype::I8 => $sums.of::<i8>($join),
            Dtype::I16 => $sums.of::<i16>($join),
            Dtype::I32 => $sums.of::<i32>($join),
            Dtype::I64 => $sums.of::<i64>($join),
            Dtype::U8 => $sums.of::<u8>($join),
            Dtype::U16 => $sums.of::<u16>($join),
            Dtype::U32 => $sums.of::<u32>($join),
            Dtype::U64 => $sums.of::<u64>($join),
            Dtype::F32 => $sums.of::<f32>($join),
            Dtype::F64 => $sums.of::<f64>($join),
            _ => {}
        }
    };
}

/// Values that the elements at places are joined with.
pub(crate) struct Sums {
    /// The first of each, and elements to step.
    pub(crate) values: (Address, isize),
    pub(crate) places: (Address, isize),
    /// The element at place 0, and elements from one place to the next.
    pub(crate) target: Address,
    pub(crate) stride: isize,
    pub(crate) len: usize,
    /// How many places there are.
    pub(crate) extent: usize,
    /// Those that are added to; what is at others is left out.
    pub(crate) window: Range<usize>,
    /// Of how many of the first elements the targets of those [`AHEAD`] of them are asked for.
    pub(crate) asked: usize,
}

impl Sums {
    /// Joins elements with the values, by an operation that [exists](exists) for a dtype.
    ///
    /// # Safety
    /// - `len` values of the dtype and as many places, `int64`, are readable and aligned, by their steps. Places may be any numbers.
    /// - `window` is within `0..extent`, and the elements at its places are of the dtype, aligned, and readable and writable.
    /// - Nothing else accesses these elements, and nothing writes values or places.
    /// - `asked` is at most `len` less [`AHEAD`].
    pub(crate) unsafe fn join(&self, op: Op, dtype: Dtype) {
        // SAFETY: the contract of this function; the type is the dtype's, or the unsigned integer of its size
        // where that has the same bits.
        unsafe {
            match op {
                Op::Add => with_numbers!(self, dtype, |x, y| x + y),
                Op::Multiply => with_numbers!(self, dtype, |x, y| x * y),
                Op::Minimum => with_ordered!(self, dtype, Real::minimum),
                Op::Maximum => with_ordered!(self, dtype, Real::maximum),
                _ => {}
            }
        }
    }

    /// # Safety
    /// As for [`join`](Self::join); the elements are of the type.
    unsafe fn of<P: Plain<Mem: Default>>(&self, join: impl Fn(P::Value, P::Value) -> P::Value) {
        let closely = (self.values.1, self.places.1, self.stride) == (1, 1, 1);
        // SAFETY: the contract of this function; `CLOSELY` is asked for where all steps are 1.
        unsafe {
            match (closely, self.window == (0..self.extent)) {
                (true, true) => self.all::<P, true>(join),
                (false, true) => self.all::<P, false>(join),
                (_, false) => self.within::<P>(join),
            }
        }
    }

    /// Where a value is added, and whether it is; `CLOSELY`: everything lies one after another.
    ///
    /// # Safety
    /// As for [`of`](Self::of); there is such a value.
    #[inline(always)]
    unsafe fn target<P: Plain, const CLOSELY: bool>(&self, i: usize) -> (*mut P::Mem, bool) {
        let step = |step: isize| if CLOSELY { 1 } else { step };
        // SAFETY: value `i` has a place, an aligned `int64` that is readable. It may be any number: the
        // address is computed by wrapping, and is used only where the place is inside.
        let place = unsafe {
            *self.places.0.at(0).cast::<i64>().wrapping_offset(step(self.places.1) * i.cast_signed())
        };
        let (first, count) = (self.window.start as u64, self.window.len() as u64);
        let inside = place.cast_unsigned().wrapping_sub(first) < count;
        let ahead = (place as isize).wrapping_mul(step(self.stride));
        (self.target.at(0).cast::<P::Mem>().wrapping_offset(ahead), inside)
    }

    /// # Safety
    /// As for [`target`](Self::target).
    #[inline(always)]
    unsafe fn value<P: Plain, const CLOSELY: bool>(&self, i: usize) -> P::Value {
        let step = if CLOSELY { 1 } else { self.values.1 };
        // SAFETY: value `i` is readable, of the type and aligned.
        P::get(unsafe { *self.values.0.at(0).cast::<P::Mem>().wrapping_offset(step * i.cast_signed()) })
    }

    /// Joins with the values whose places are any of all.
    ///
    /// # Safety
    /// As for [`of`](Self::of).
    #[inline(never)]
    unsafe fn all<P: Plain, const CLOSELY: bool>(&self, join: impl Fn(P::Value, P::Value) -> P::Value) {
        for i in 0..self.len {
            // SAFETY: `i`, and `i + AHEAD` where `i` is below `asked`, are values that have places; only an
            // element whose place is in the window is accessed, and what is fetched may be any address.
            unsafe {
                if i < self.asked {
                    stream::fetch::<1>(self.target::<P, CLOSELY>(i + AHEAD).0.cast());
                }
                if let (to, true) = self.target::<P, CLOSELY>(i) {
                    to.write(P::put(join(P::get(to.read()), self.value::<P, CLOSELY>(i))));
                }
            }
        }
    }

    /// Joins with the values whose places are in the window: which those are is not foreseen, so that the others are joined with nothing
    /// instead of being left out.
    ///
    /// # Safety
    /// As for [`of`](Self::of).
    #[inline(never)]
    unsafe fn within<P: Plain<Mem: Default>>(&self, join: impl Fn(P::Value, P::Value) -> P::Value) {
        let mut nowhere = [P::Mem::default(); NOWHERES];
        for i in 0..self.len {
            let to_nowhere = &raw mut nowhere[i % NOWHERES];
            // SAFETY: `i`, and `i + AHEAD` where `i` is below `asked`, are values that have places; what is
            // not in the window is read and written in `nowhere`.
            unsafe {
                if i < self.asked {
                    let (to, inside) = self.target::<P, false>(i + AHEAD);
                    stream::fetch::<1>(std::hint::select_unpredictable(inside, to, to_nowhere).cast());
                }
                let (to, inside) = self.target::<P, false>(i);
                let to = std::hint::select_unpredictable(inside, to, to_nowhere);
                to.write(P::put(join(P::get(to.read()), self.value::<P, false>(i))));
            }
        }
    }
}
