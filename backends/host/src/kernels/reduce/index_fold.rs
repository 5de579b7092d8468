//! Minima, maxima and their places: the extremum of a run, the better of two values with its index, and the first place of a
//! value.
//!
//! The operation `maximum` gives NaN where either operand is one, and orders zeros by their signs: five
//! instructions for each vector. A fold of floats needs that at its end only, so a vector costs the
//! processor's own extremum and a comparison with itself (`Extreme`). A run with a NaN is read twice, one
//! whose extremum is 0 as well, so arrays full of NaN are slower than by a plain fold. Places are found by
//! the extremum first and a search for it after; the first of ties is the result's. Measured by two threads
//! (machine not recorded), in turns: maximum of 64 Ki `float32` 0.54 of the time, `float64` 0.49, 1 Mi 0.68
//! and 0.84, from 16 Mi on within the drift of the memory. On one processor of a busy machine, `argmax` of
//! 1 Mi `float32` 138 to 157 became 81 µs (NumPy 66 to 77), of 64 Ki 11.4 to 7.8.

use std::marker::PhantomData;

use stridewise_core::Dtype;
use stridewise_core::ops::{Alg, Float, Real};

use super::fold::{AHEAD, FIRST, FoldLanes, LAST, RunFn};
use crate::kernels::elementwise::map::LaneFn;
use crate::kernels::entry::{Kernel, VECTOR_BYTES, WideKernel, contract, entry, wide_entry};
use crate::kernels::moving::read::{Read, Values};
use crate::kernels::plain::{Plain, Truth};
use crate::simd::{Isa, Lane};

contract! {
    /// Keeps the better of two rows of `len` values, and its index. Equal values keep the first.
    ///
    /// - `len` values are readable at `best` and `other`, and indices at `index` and `other_index`; of these one for all, where `one`.
    /// - Values and indices are writable at `best` and `index`, apart from the others, and nothing else accesses them.
    BetterFn(best: *mut u8, index: *mut i64, other: *const u8, other_index: *const i64, one: bool, len: usize)
        = best, [index.cast_const().cast(), other, other_index.cast()], if one { ONE } else { 0 }, len
}

contract! {
    /// Finds where a value, or a NaN if it is one, is first.
    ///
    /// - `len` values are readable at `values`, and one at `value`, which is among them.
    FindFn(found: &mut u64, values: *const u8, value: *const u8, len: usize)
        = std::ptr::from_mut(found).cast(), [values, value, value], 0, len
}

/// Flag of [`BetterFn`]: there is one other index for all.
const ONE: u32 = 4;

/// Keeps the better of two rows of values and its index. `dst`: the values; sources: the indices (also written), the
/// other values, their indices (one for all where the flag says so). Equal values keep the first.
struct Better<P, const MAX: bool>(PhantomData<P>);

impl<P: Plain<Value: Real + Alg<Mask = bool>>, const MAX: bool> Kernel for Better<P, MAX> {
    type Fn = BetterFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [index, other, other_index]: [*const u8; 3], flags: u32, len: usize) {
        let (best, index) = (dst.cast::<P::Mem>(), index.cast_mut().cast::<i64>());
        let (other, other_index) = (other.cast::<P::Mem>(), other_index.cast::<i64>());
        // SAFETY: for all of this function: `len` elements of each, one index where the flag says so.
        unsafe {
            let one = *other_index;
            let mut i = 0;
            while i < len {
                let (old, new) = (*best.add(i), *other.add(i));
                let (a, b) = (P::get(old), P::get(new));
                let nan = !b.equal(b) & a.equal(a);
                let better = if MAX { a.less(b) } else { b.less(a) } | nan;
                let at = if flags & ONE != 0 { one } else { *other_index.add(i) };
                *best.add(i) = if better { new } else { old };
                *index.add(i) = if better { at } else { *index.add(i) };
                i += 1;
            }
        }
    }
}

/// Where a value, or a NaN if it is one, is first: `dst` gets the position as `u64`. It is among the elements.
struct Find<P>(PhantomData<P>);

impl<P: Plain<Value: Alg<Mask = bool>>> Kernel for Find<P> {
    type Fn = FindFn;

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

/// The greatest or least of the source's elements, or NaN if there is one: `dst` gets it. Of zeros it is any. A vector costs
/// an extremum and a comparison, where an operation of two values looks after zeros and NaN. `SIGNS`: of 1 with the elements'
/// signs.
struct Extreme<V, T, const MAX: bool, const SIGNS: bool>(PhantomData<(V, T)>);

/// Accumulators of [`Extreme`].
const EXTREMES: usize = 4;

impl<V: Lane<Elem = T>, T: Float, const MAX: bool, const SIGNS: bool> Extreme<V, T, MAX, SIGNS> {
    /// What is looked at of elements.
    #[inline(always)]
    fn seen<A: Float>(x: A) -> A {
        if SIGNS { x.lit(1.0).copysign(x) } else { x }
    }
    /// The better one of each lane; `best` where either is NaN.
    #[inline(always)]
    fn better(best: V, x: V) -> V {
        if MAX { best.raised(x) } else { best.lowered(x) }
    }
    /// The better one; NaN where `best` is.
    #[inline(always)]
    fn better_of_two(best: T, x: T) -> T {
        T::select(if MAX { best.less(x) } else { x.less(best) }, x, best)
    }
}

impl<V: Lane<Elem = T>, T: Float, const MAX: bool, const SIGNS: bool> Kernel for Extreme<V, T, MAX, SIGNS> {
    type Fn = RunFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [src, ..]: [*const u8; 3], flags: u32, len: usize) {
        let src = src.cast::<T>();
        // SAFETY: for all of this function: `len` elements at `src`; whole vectors end at or below `len`; the buffers have
        // room for a vector's elements.
        unsafe {
            let first = Self::seen(*src);
            let nan = first.lit(f64::NAN);
            let mut best = first;
            if len < V::LEN {
                let mut i = 1;
                while i < len {
                    let x = Self::seen(*src.add(i));
                    best = T::select(x.equal(x), Self::better_of_two(best, x), nan);
                    i += 1;
                }
                *dst.cast::<T>() = best;
                return;
            }
            let mut found = [V::splat(first); EXTREMES];
            let mut ordered = found[0].equal(found[0]);
            let mut i = 0;
            while i + EXTREMES * V::LEN <= len {
                let mut k = 0;
                while k < EXTREMES {
                    if flags & AHEAD != 0 {
                        <Values as Read<V>>::fetch([src; 2], i, k);
                    }
                    let x = Self::seen(V::load(src.add(i + k * V::LEN)));
                    found[k] = Self::better(found[k], x);
                    ordered = ordered & x.equal(x);
                    k += 1;
                }
                i += EXTREMES * V::LEN;
            }
            while i < len {
                // The last vector takes some elements once more.
                let x = Self::seen(V::load(src.add(i.min(len - V::LEN))));
                found[0] = Self::better(found[0], x);
                ordered = ordered & x.equal(x);
                i += V::LEN;
            }
            let mut k = 1;
            while k < EXTREMES {
                found[0] = Self::better(found[0], found[k]);
                k += 1;
            }
            let (mut values, mut bytes) = ([first; VECTOR_BYTES / 4], [1_u8; VECTOR_BYTES / 4]);
            found[0].store(values.as_mut_ptr());
            V::mask_to_bytes(ordered, bytes.as_mut_ptr(), V::LEN);
            let mut k = 0;
            while k < V::LEN {
                best = Self::better_of_two(best, values[k]);
                k += 1;
            }
            *dst.cast::<T>() = if bytes.contains(&0) { nan } else { best };
        }
    }
}

/// Whether the first lane is true.
///
/// # Safety
/// The processor has the level of `V`.
#[inline(always)]
unsafe fn is<V: Lane>(mask: V::Mask) -> bool {
    let mut told = 0;
    // SAFETY: the processor has the level of `V`; there is room for one lane.
    unsafe { V::mask_to_bytes(mask, &raw mut told, 1) };
    told != 0
}

/// The fold of a run by `W`, the maximum or the minimum, as [`FoldLanes`]: an [`Extreme`], and of a result of 0 that of the
/// signs. Only where there is a NaN, the run is folded again.
pub(crate) struct FoldExtreme<V, T, W, const MAX: bool>(PhantomData<(V, T, W)>);

impl<V: Lane<Elem = T>, T: Float, W: LaneFn<2>, const MAX: bool> Kernel for FoldExtreme<V, T, W, MAX> {
    type Fn = RunFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: [*const u8; 3], flags: u32, len: usize) {
        // SAFETY: for all of this function: the contract of `FoldLanes`; one element is written to `dst` by either.
        unsafe {
            if flags & (FIRST | LAST) == FIRST | LAST {
                Extreme::<V, T, MAX, false>::run(dst, src, flags, len);
                let found = V::splat(*dst.cast::<T>());
                if is::<V>(found.equal(found)) {
                    if is::<V>(found.equal(found.lit(0.0))) {
                        // Of zeros, one with the better sign, if there is one: no other element has it.
                        Extreme::<V, T, MAX, true>::run(dst, src, 0, len);
                        let sign = *dst.cast::<T>();
                        *dst.cast::<T>() = sign.lit(0.0).copysign(sign);
                    }
                    return;
                }
            }
            FoldLanes::<V, T, W, Values>::run(dst, src, flags, len);
        }
    }
}

/// [`FoldExtreme`] for every vector.
pub(crate) struct FoldExtremeWide<W, const MAX: bool>(PhantomData<W>);
impl<W: LaneFn<2>, const MAX: bool> WideKernel for FoldExtremeWide<W, MAX> {
    type Fn = RunFn;

    type At<V: Lane<Elem = T>, T: Float> = FoldExtreme<V, T, W, MAX>;
}

struct ExtremeWide<const MAX: bool>;
impl<const MAX: bool> WideKernel for ExtremeWide<MAX> {
    type Fn = RunFn;

    type At<V: Lane<Elem = T>, T: Float> = Extreme<V, T, MAX, false>;
}

/// What an index fold needs besides the fold of values.
#[derive(Clone, Copy)]
pub(crate) struct Indexing {
    /// For floats, instead of the fold of values: see [`Extreme`].
    pub(crate) extreme: Option<RunFn>,
    pub(crate) better: BetterFn,
    pub(crate) find: FindFn,
}

/// The functions for an index fold; accumulators are never 16-bit floats.
pub(crate) fn indexing(max: bool, dtype: Dtype, isa: Isa) -> Option<Indexing> {
    let extreme = match max {
        true => wide_entry::<ExtremeWide<true>>(isa, dtype),
        false => wide_entry::<ExtremeWide<false>>(isa, dtype),
    };
    macro_rules! of {
        ($($variant:ident $P:ty),*) => {
            match dtype {
                $(Dtype::$variant => Indexing {
                    extreme,
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
