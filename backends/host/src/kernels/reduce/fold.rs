//! The loops of reductions.
//!
//! A run of elements is folded into [`ACC_BYTES`] of accumulators, element `i` into accumulator `i` modulo their number,
//! and these pairwise into one: the same order of operations whatever the width of vectors.
//!
//! Loops here count by hand: the calls that ranges and iterators are made of would have to be taken away again in each of
//! hundreds of copies.

use std::marker::PhantomData;

use stridewise_core::ops::Float;

use crate::kernels::elementwise::map::{Apply, LaneFn};
use crate::kernels::entry::{Kernel, VECTOR_BYTES, WideKernel, contract};
use crate::kernels::moving::read::{Read, ReadAny, Values};
use crate::kernels::plain::Plain;
use crate::kernels::stream;
use crate::simd::Lane;

/// Bytes of the accumulators of one run, which decides on the order of sums, and so on their bits.
pub(crate) const ACC_BYTES: usize = 256;
/// Flag: the accumulators are not yet in use.
pub(crate) const FIRST: u32 = 1;
/// Flag: fold the accumulators into the first.
pub(crate) const LAST: u32 = 2;

/// Flag: the elements are in no cache, so that those that follow are asked for in time.
pub(crate) const AHEAD: u32 = 4;

/// The bytes of a value that changes no other by a fold, aligned for every dtype.
#[derive(Clone, Copy)]
#[repr(align(16))]
pub(crate) struct Identity(pub(crate) [u8; 16]);

contract! {
    /// Folds a run of `len` elements, one at least, into accumulators.
    ///
    /// - `len` elements are readable at `values`, and what else the kernel reads at `others` (or what it reads at once, of both).
    /// - [`ACC_BYTES`] are writable at `acc`, which nothing else accesses; without [`FIRST`] they are the accumulators of the run so
    ///   far. With [`LAST`], the first becomes the result; without, `len` is a multiple of their number.
    /// - `identity` changes no value by the fold.
    RunFn(acc: *mut u8, values: *const u8, identity: &Identity, others: *const u8, flags: u32, len: usize)
        = acc, [values, identity.0.as_ptr(), others], flags, len
}

contract! {
    /// Folds `count` runs of `len` elements each, one at least, to a value.
    ///
    /// - Runs begin at `from` and every `pitch` bytes further; the elements of each are readable.
    /// - `count` values are writable at `to`, apart from the elements, and nothing else accesses them.
    /// - `identity` changes no value by the fold.
    ManyFn(to: *mut u8, from: *const u8, identity: &Identity, pitch: isize, count: usize, len: usize)
        = to, [from, identity.0.as_ptr(), (&raw const pitch).cast()], count as u32, len
}

/// A fold over vectors. `dst`: the accumulators; sources: the elements, the identity, and what else [`Read`] takes. A call
/// without [`LAST`] has a multiple of the accumulators' number as its length.
pub(crate) struct FoldLanes<V, T, W, R>(PhantomData<(V, T, W, R)>);

/// Folds the elements from `i` on, no more than there are accumulators, each into its own. Beyond them would be the identity,
/// which changes nothing.
///
/// # Safety
/// They are readable at the sources.
#[inline(always)]
unsafe fn fold_rest<V: Lane, W: LaneFn<2>, R: Read<V>>(
    sums: &mut [V; MOST],
    neutral: V,
    from: [*const V::Elem; 2],
    i: usize,
    len: usize,
) {
    // The lanes that there are, and those that are not, of any vector.
    static LANES: [u8; 2 * VECTOR_BYTES] = {
        let mut lanes = [0; 2 * VECTOR_BYTES];
        let (there, _) = lanes.split_at_mut(VECTOR_BYTES);
        there.copy_from_slice(&[1; VECTOR_BYTES]);
        lanes
    };
    let mut k = 0;
    while k < ACC_BYTES / size_of::<V::Elem>() / V::LEN {
        let at = i + k * V::LEN;
        // SAFETY: whole vectors of what is read, and what must be behind them, end at or below `len`. Of the
        // table, bytes from `VECTOR_BYTES` less a part of a vector on are taken, as many as it has lanes, at
        // most `VECTOR_BYTES`.
        unsafe {
            if at + V::LEN + R::BEHIND <= len {
                sums[k] = W::f([sums[k], R::vector(from, at)]);
            } else if at < len {
                let part = V::LEN.min(len - at);
                let there = V::mask_from_bytes(LANES.as_ptr().add(VECTOR_BYTES - part), V::LEN);
                sums[k] = W::f([sums[k], V::select(there, R::part(from, at, part), neutral)]);
            }
        }
        k += 1;
    }
}

/// Folds the accumulators to one vector, of which `used` are not the identity, which changes nothing.
#[inline(always)]
fn halved<V: Lane, W: LaneFn<2>>(mut sums: [V; MOST], used: usize) -> V {
    let mut half = ACC_BYTES / size_of::<V::Elem>() / V::LEN / 2;
    while half > 0 {
        let mut k = 0;
        while k < half.min(used.saturating_sub(half)) {
            sums[k] = W::f([sums[k], sums[k + half]]);
            k += 1;
        }
        half /= 2;
    }
    sums[0]
}

/// Memory for the accumulators of one run.
#[repr(align(64))]
pub(crate) struct Accumulators([u8; ACC_BYTES]);

impl Accumulators {
    pub(crate) fn new() -> Self {
        Self([0; ACC_BYTES])
    }
    pub(crate) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr()
    }
}

/// Vectors of accumulators at most: of four `float32`, or one scalar each where a target has no vectors.
const MOST: usize = ACC_BYTES / 4;

impl<V: Lane<Elem = T>, T: Float, W: LaneFn<2>, R: Read<V>> Kernel for FoldLanes<V, T, W, R> {
    type Fn = RunFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [src, identity, other]: [*const u8; 3], flags: u32, len: usize) {
        let (acc, from) = (dst.cast::<T>(), [src.cast::<T>(), other.cast::<T>()]);
        let all = ACC_BYTES / size_of::<T>();
        let vectors = all / V::LEN;
        // SAFETY: for all of this function: `acc` has room for `all` elements, the sources for `len`; parts of them are taken
        // in whole vectors, but for the end of the sources.
        unsafe {
            let neutral = V::splat(*identity.cast::<T>());
            let mut sums = [neutral; MOST];
            if flags & FIRST == 0 {
                let mut k = 0;
                while k < vectors {
                    sums[k] = V::load(acc.add(k * V::LEN));
                    k += 1;
                }
            }
            let mut i = 0;
            while i + all + R::BEHIND <= len {
                let mut k = 0;
                while k < vectors {
                    if flags & AHEAD != 0 {
                        R::fetch(from, i, k);
                    }
                    sums[k] = W::f([sums[k], R::vector(from, i + k * V::LEN)]);
                    k += 1;
                }
                i += all;
            }
            if i < len {
                fold_rest::<V, W, R>(&mut sums, neutral, from, i, len);
            }
            if flags & LAST == 0 {
                let mut k = 0;
                while k < vectors {
                    sums[k].store(acc.add(k * V::LEN));
                    k += 1;
                }
                return;
            }
            let mut buffer = Accumulators([0; ACC_BYTES]);
            let values = (&raw mut buffer).cast::<T>();
            halved::<V, W>(sums, vectors).store(values);
            let mut half = V::LEN / 2;
            while half > 0 {
                let mut k = 0;
                while k < half {
                    *values.add(k) = W::f([*values.add(k), *values.add(k + half)]);
                    k += 1;
                }
                half /= 2;
            }
            *acc = *values;
        }
    }
}

/// Folds many short rows, in the order of [`FoldLanes`]. `dst`: a value per row; sources: the first row, the identity,
/// the bytes from one row to the next as `isize`; flags: the number of rows; `len`: of each.
///
/// What remains of a row in one vector is folded for as many rows at once as a vector has elements: the halves of the first and
/// of the row half of them further on by one operation, which leaves a vector of both, and so on.
pub(crate) struct ManyLanes<V, T, W>(PhantomData<(V, T, W)>);

impl<V: Lane<Elem = T>, T: Float, W: LaneFn<2>> ManyLanes<V, T, W> {
    /// Vectors of accumulators.
    const VECTORS: usize = ACC_BYTES / size_of::<T>() / V::LEN;

    /// Folds a row of `K` whole vectors, no more than there are accumulators, to one vector, without a branch.
    ///
    /// # Safety
    /// They are readable.
    #[inline(always)]
    unsafe fn few<const K: usize>(neutral: V, row: *const T) -> V {
        let mut sums = [neutral; MOST];
        let mut k = 0;
        while k < K.min(Self::VECTORS) {
            // SAFETY: the row has `K` whole vectors that are readable.
            sums[k] = unsafe { V::load(row.add(k * V::LEN)) };
            k += 1;
        }
        halved::<V, W>(sums, K)
    }

    /// Folds a row of any length to one vector.
    ///
    /// # Safety
    /// `len` elements are readable.
    #[inline(always)]
    unsafe fn many(neutral: V, row: *const T, len: usize) -> V {
        let mut sums = [neutral; MOST];
        let mut i = 0;
        // SAFETY: `len` elements of the row are readable; whole vectors end at or below `len`.
        unsafe {
            while i + Self::VECTORS * V::LEN <= len {
                let mut k = 0;
                while k < Self::VECTORS {
                    sums[k] = W::f([sums[k], V::load(row.add(i + k * V::LEN))]);
                    k += 1;
                }
                i += Self::VECTORS * V::LEN;
            }
            if i < len {
                fold_rest::<V, W, Values>(&mut sums, neutral, [row, row], i, len);
            }
        }
        halved::<V, W>(sums, Self::VECTORS)
    }

    /// Folds `count` rows of `L` elements without gaps.
    ///
    /// # Safety
    /// They are readable, and the values writable.
    #[inline(always)]
    unsafe fn dense<const L: usize>(dst: *mut T, src: *const T, count: usize) {
        let mut r = 0;
        while r < count {
            // SAFETY: `count` rows of `L` elements follow each other, readable, and as many values are
            // writable; `r` is below `count`.
            unsafe {
                let mut x = [*src.add(r * L); L];
                let mut i = 1;
                while i < L {
                    x[i] = *src.add(r * L + i);
                    i += 1;
                }
                let mut half = L.next_power_of_two() / 2;
                while half > 0 {
                    let mut i = 0;
                    while i < half {
                        if i + half < L {
                            x[i] = W::f([x[i], x[i + half]]);
                        }
                        i += 1;
                    }
                    half /= 2;
                }
                *dst.add(r) = x[0];
            }
            r += 1;
        }
    }
}

impl<V: Lane<Elem = T>, T: Float, W: LaneFn<2>> Kernel for ManyLanes<V, T, W> {
    type Fn = ManyFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [src, identity, pitch]: [*const u8; 3], flags: u32, len: usize) {
        let (dst, count) = (dst.cast::<T>(), flags as usize);
        let all = ACC_BYTES / size_of::<T>();
        // SAFETY: for all of this function: `count` rows of `len` elements are readable, as many values writable; whole
        // vectors end at or below `len`, a part is shorter.
        unsafe {
            let pitch = *pitch.cast::<isize>();
            if pitch == (len * size_of::<T>()).cast_signed() {
                match len {
                    2 => return Self::dense::<2>(dst, src.cast(), count),
                    3 => return Self::dense::<3>(dst, src.cast(), count),
                    4 => return Self::dense::<4>(dst, src.cast(), count),
                    _ => {}
                }
            }
            let neutral = V::splat(*identity.cast::<T>());
            let whole = if len.is_multiple_of(V::LEN) && len <= all { len / V::LEN } else { 0 };
            let mut start = 0;
            while start < count {
                let rows = V::LEN.min(count - start);
                let mut sums = [neutral; VECTOR_BYTES / 4];
                let mut r = 0;
                while r < rows {
                    let row = src.wrapping_offset((start + r).cast_signed() * pitch).cast::<T>();
                    sums[r] = match whole {
                        1 => Self::few::<1>(neutral, row),
                        2 => Self::few::<2>(neutral, row),
                        4 => Self::few::<4>(neutral, row),
                        _ => Self::many(neutral, row, len),
                    };
                    r += 1;
                }
                let mut half = V::LEN / 2;
                while half > 0 {
                    let mut k = 0;
                    while k < half {
                        sums[k] = W::f(V::pieces(sums[k], sums[k + half], half));
                        k += 1;
                    }
                    half /= 2;
                }
                sums[0].store_some(dst.add(start), rows);
                start += rows;
            }
        }
    }
}

pub(crate) struct ManyWide<W>(PhantomData<W>);
impl<W: LaneFn<2>> WideKernel for ManyWide<W> {
    type Fn = ManyFn;

    type At<V: Lane<Elem = T>, T: Float> = ManyLanes<V, T, W>;
}

/// Many rows, as [`ManyLanes`] takes them, each by the fold `K` of one run into elements `M`.
pub(crate) struct ManyRows<K, M>(PhantomData<(K, M)>);

impl<K: Kernel<Fn = RunFn>, M> Kernel for ManyRows<K, M> {
    type Fn = ManyFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [src, identity, pitch]: [*const u8; 3], flags: u32, len: usize) {
        // SAFETY: `flags` rows of `len` elements; the fold writes one element where it is the first and last call.
        unsafe {
            let pitch = *pitch.cast::<isize>();
            let mut r = 0;
            while r < flags as usize {
                let row = src.wrapping_offset(r.cast_signed() * pitch);
                K::run(dst.add(r * size_of::<M>()), [row, identity, row], FIRST | LAST, len);
                r += 1;
            }
        }
    }
}

/// [`FoldLanes`] for every vector.
pub(crate) struct FoldWide<W, R>(PhantomData<(W, R)>);
impl<W: LaneFn<2>, R: ReadAny> WideKernel for FoldWide<W, R> {
    type Fn = RunFn;

    type At<V: Lane<Elem = T>, T: Float> = FoldLanes<V, T, W, R::Of<V>>;
}

/// [`ManyRows`] of [`FoldLanes`], for every vector.
pub(crate) struct ManyRowsWide<W, R>(PhantomData<(W, R)>);
impl<W: LaneFn<2>, R: ReadAny> WideKernel for ManyRowsWide<W, R> {
    type Fn = ManyFn;

    type At<V: Lane<Elem = T>, T: Float> = ManyRows<FoldLanes<V, T, W, R::Of<V>>, T>;
}

/// A fold over scalars, `N` accumulators. No identity takes part: there is none for the product of complex numbers, as
/// infinity times 1 + 0i is not infinity.
pub(crate) struct FoldPlain<P, W, const N: usize>(PhantomData<(P, W)>);

impl<P: Plain, W: Apply<P::Value, 2, Out = P::Value>, const N: usize> Kernel for FoldPlain<P, W, N> {
    type Fn = RunFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [src, ..]: [*const u8; 3], flags: u32, len: usize) {
        let (acc, src) = (dst.cast::<P::Mem>(), src.cast::<P::Mem>());
        // SAFETY: for all of this function: `acc` has room for `N` elements, `src` for `len`.
        unsafe {
            let mut sums = [P::get(*src); N];
            let (mut i, mut used, mut j) = (0, N, 0);
            if flags & FIRST == 0 {
                while j < N {
                    sums[j] = P::get(*acc.add(j));
                    j += 1;
                }
            } else {
                used = N.min(len);
                while j < used {
                    sums[j] = P::get(*src.add(j));
                    j += 1;
                }
                i = used;
            }
            while i + N <= len {
                if flags & AHEAD != 0 {
                    stream::fetch_behind(src.add(i).cast(), 0..N * size_of::<P::Mem>());
                }
                j = 0;
                while j < N {
                    sums[j] = W::f([sums[j], P::get(*src.add(i + j))]);
                    j += 1;
                }
                i += N;
            }
            let rest = (len - i).min(N);
            j = 0;
            while j < rest {
                sums[j] = W::f([sums[j], P::get(*src.add(i + j))]);
                j += 1;
            }
            if flags & LAST == 0 {
                j = 0;
                while j < N {
                    *acc.add(j) = P::put(sums[j]);
                    j += 1;
                }
                return;
            }
            let mut half = N / 2;
            while half > 0 {
                let mut j = 0;
                while j < half.min(used.saturating_sub(half)) {
                    sums[j] = W::f([sums[j], sums[j + half]]);
                    j += 1;
                }
                half /= 2;
            }
            *acc = P::put(sums[0]);
        }
    }
}
