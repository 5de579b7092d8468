//! The kernels of index folds: the better of two values with its index, and the first place of a value.

use std::marker::PhantomData;

use stridewise_core::Dtype;
use stridewise_core::ops::{Alg, Real};

use super::entry::{Kernel, StepFn, VECTOR_BYTES, entry};
use super::map::{Plain, Truth};
use crate::simd::Isa;

/// Keeps the better of two rows of values and its index. `dst`: the values; sources: the indices (also written), the
/// other values, their indices (one for all where the flag says so). Equal values keep the first.
struct Better<P, const MAX: bool>(PhantomData<P>);

impl<P: Plain<Value: Real + Alg<Mask = bool>>, const MAX: bool> Kernel for Better<P, MAX> {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, [index, other, other_index]: [*const u8; 3], flags: u32, len: usize) {
        let (best, index) = (dst.cast::<P::Mem>(), index.cast_mut().cast::<i64>());
        let (other, other_index) = (other.cast::<P::Mem>(), other_index.cast::<i64>());
        // SAFETY: for all of this function: `len` elements of each, one index where the flag says so.
        unsafe {
            let one = *other_index;
            for i in 0..len {
                let (old, new) = (*best.add(i), *other.add(i));
                let (a, b) = (P::get(old), P::get(new));
                let nan = !b.equal(b) & a.equal(a);
                let better = if MAX { a.less(b) } else { b.less(a) } | nan;
                let at = if flags & 4 != 0 { one } else { *other_index.add(i) };
                *best.add(i) = if better { new } else { old };
                *index.add(i) = if better { at } else { *index.add(i) };
            }
        }
    }
}

/// Where a value, or a NaN if it is one, is first: `dst` gets the position as `u64`. It is among the elements.
struct Find<P>(PhantomData<P>);

impl<P: Plain<Value: Alg<Mask = bool>>> Kernel for Find<P> {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, [src, value, _]: [*const u8; 3], _flags: u32, len: usize) {
        const STRETCH: usize = VECTOR_BYTES;
        let src = src.cast::<P::Mem>();
        // SAFETY: for all of this function: `len` elements at `src`, one at `value`.
        unsafe {
            let value = P::get(*value.cast::<P::Mem>());
            let nan = !value.equal(value);
            let hit = |i: usize| {
                let x = P::get(*src.add(i));
                x.equal(value) | (nan & !x.equal(x))
            };
            let mut start = 0;
            while start + STRETCH <= len {
                let mut any = false;
                for i in start..start + STRETCH {
                    any |= hit(i);
                }
                if any {
                    break;
                }
                start += STRETCH;
            }
            let found = (start..len).find(|&i| hit(i)).unwrap_or(0);
            *dst.cast::<u64>() = found as u64;
        }
    }
}

/// What an index fold needs besides the fold of values.
#[derive(Clone, Copy)]
pub(super) struct Indexing {
    pub(super) better: StepFn,
    pub(super) find: StepFn,
}

/// The functions for an index fold; accumulators are never 16-bit floats.
pub(super) fn indexing(max: bool, dtype: Dtype, isa: Isa) -> Option<Indexing> {
    macro_rules! of {
        ($($variant:ident $P:ty),*) => {
            match dtype {
                $(Dtype::$variant => Indexing {
                    better: if max { entry::<Better<$P, true>>(isa) } else { entry::<Better<$P, false>>(isa) },
                    find: entry::<Find<$P>>(isa),
                },)*
                _ => return None,
            }
        };
    }
    Some(
        of!(Bool Truth, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64),
    )
}
