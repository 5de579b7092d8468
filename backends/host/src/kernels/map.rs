//! The elementwise loops: over vectors for floats, over scalars (which the compiler vectorises) for all else.

use std::marker::PhantomData;

use stridewise_core::ops::{
    Alg, Analytic, AnalyticOp, Bits, BitsOp, Field, FieldOp, Float, FloatOp, FloatTest, Int, IntOp, NumFn,
    NumOp, NumTest, PartOp, Parts, Real, RealFn, RealOp, RealTest,
};

use super::entry::{Kernel, LaneKernel, REVERSED, SECONDS, STREAM, VECTOR_BYTES, WideKernel};
use super::plain::Plain;
use super::read::{Read, Reversed, Seconds};
use super::stream;
use crate::simd::Lane;

/// An operation on scalars of one type.
pub(super) trait Apply<A, const K: usize> {
    type Out;
    fn f(x: [A; K]) -> Self::Out;
}

/// An operation on any vector of floats.
pub(super) trait LaneFn<const K: usize> {
    fn f<V: Float>(x: [V; K]) -> V;
}

/// A test of any vector of floats.
pub(super) trait LaneTest<const K: usize> {
    fn f<V: Float>(x: [V; K]) -> V::Mask;
}

/// Names the class of an operation, so that one trait serves all classes.
macro_rules! class {
    ($($By:ident $Op:ident $Alg:ident;)*) => {$(
        pub(super) struct $By<O>(PhantomData<O>);
        impl<A: $Alg, O: $Op<K>, const K: usize> Apply<A, K> for $By<O> {
            type Out = A;
            #[inline(always)]
            fn f(x: [A; K]) -> A { O::f(x) }
        }
    )*};
    (test $($By:ident $Op:ident $Alg:ident;)*) => {$(
        pub(super) struct $By<O>(PhantomData<O>);
        impl<A: $Alg, O: $Op<K>, const K: usize> Apply<A, K> for $By<O> {
            type Out = A::Mask;
            #[inline(always)]
            fn f(x: [A; K]) -> A::Mask { O::f(x) }
        }
        impl<O: $Op<K>, const K: usize> LaneTest<K> for $By<O> {
            #[inline(always)]
            fn f<V: Float>(x: [V; K]) -> V::Mask { O::f(x) }
        }
    )*};
    (lanes $($By:ident $Op:ident;)*) => {$(
        impl<O: $Op<K>, const K: usize> LaneFn<K> for $By<O> {
            #[inline(always)]
            fn f<V: Float>(x: [V; K]) -> V { O::f(x) }
        }
    )*};
}
class! {
    ByNum NumOp Alg; ByNumFn NumFn Alg; ByField FieldOp Field; ByAnalytic AnalyticOp Analytic; ByReal RealOp Real;
    ByRealFn RealFn Real; ByFloat FloatOp Float; ByBits BitsOp Bits; ByInt IntOp Int;
}
class! { test ByNumTest NumTest Alg; ByRealTest RealTest Real; ByFloatTest FloatTest Float; }
class! {
    lanes ByNum NumOp; ByNumFn NumFn; ByField FieldOp; ByAnalytic AnalyticOp; ByReal RealOp; ByRealFn RealFn;
    ByFloat FloatOp; ByPart PartOp;
}

pub(super) struct ByPart<O>(PhantomData<O>);
impl<A: Parts, O: PartOp<K>, const K: usize> Apply<A, K> for ByPart<O> {
    type Out = A::Part;
    #[inline(always)]
    fn f(x: [A; K]) -> A::Part {
        O::f(x)
    }
}

/// One vector per operand, at element `i`; the operands in `M` are the same everywhere.
///
/// # Safety
/// A vector is readable at element `i` of every operand not in `M`.
#[inline(always)]
unsafe fn operands<V: Lane, const K: usize, const M: u32>(
    src: [*const V::Elem; K],
    same: [V; K],
    i: usize,
) -> [V; K] {
    let mut x = same;
    let mut k = 0;
    while k < K {
        if M >> k & 1 == 0 {
            // SAFETY: the caller's contract.
            x[k] = unsafe { V::load(src[k].add(i)) };
        }
        k += 1;
    }
    x
}

/// As [`operands`] for the `len` elements at a loop's end.
///
/// # Safety
/// `len` elements are readable, fewer than a vector.
#[inline(always)]
unsafe fn operands_part<V: Lane, const K: usize, const M: u32>(
    src: [*const V::Elem; K],
    same: [V; K],
    i: usize,
    len: usize,
) -> [V; K] {
    let mut x = same;
    let mut k = 0;
    while k < K {
        if M >> k & 1 == 0 {
            // SAFETY: the caller's contract.
            x[k] = unsafe { V::load_part(src[k].add(i), len) };
        }
        k += 1;
    }
    x
}

/// The operands in `M` as vectors of one value; the others hold something harmless.
///
/// # Safety
/// At least one element is readable at every operand.
#[inline(always)]
unsafe fn splats<V: Lane, const K: usize, const M: u32>(src: [*const V::Elem; K]) -> [V; K] {
    // SAFETY: the caller's contract; so for the loop's reads.
    let mut same = [unsafe { V::splat(*src[0]) }; K];
    let mut k = 1;
    while k < K {
        if M >> k & 1 == 1 {
            // SAFETY: as above.
            same[k] = unsafe { V::splat(*src[k]) };
        }
        k += 1;
    }
    same
}

#[inline(always)]
unsafe fn lane_map<V: Lane, W: LaneFn<K>, const K: usize, const M: u32>(
    dst: *mut V::Elem,
    src: [*const V::Elem; K],
    stream: bool,
    len: usize,
) {
    let n = V::LEN;
    // SAFETY: for all of this function: `Kernel::run`'s contract; `i + …` stays at or below `len`, parts are shorter
    // than a vector, and streamed addresses are aligned by the first part.
    unsafe {
        let same = splats::<V, K, M>(src);
        let mut i = 0;
        if stream {
            let misaligned = dst.addr() % (n * size_of::<V::Elem>());
            if misaligned != 0 {
                let part = (n - misaligned / size_of::<V::Elem>()).min(len);
                W::f(operands_part::<V, K, M>(src, same, 0, part)).store_part(dst, part);
                i = part;
            }
        }
        while i + 4 * n <= len {
            let a = W::f(operands::<V, K, M>(src, same, i));
            let b = W::f(operands::<V, K, M>(src, same, i + n));
            let c = W::f(operands::<V, K, M>(src, same, i + 2 * n));
            let d = W::f(operands::<V, K, M>(src, same, i + 3 * n));
            let to = dst.add(i);
            if stream {
                a.stream(to);
                b.stream(to.add(n));
                c.stream(to.add(2 * n));
                d.stream(to.add(3 * n));
            } else {
                a.store(to);
                b.store(to.add(n));
                c.store(to.add(2 * n));
                d.store(to.add(3 * n));
            }
            i += 4 * n;
        }
        while i + n <= len {
            let y = W::f(operands::<V, K, M>(src, same, i));
            if stream {
                y.stream(dst.add(i));
            } else {
                y.store(dst.add(i));
            }
            i += n;
        }
        if i < len {
            W::f(operands_part::<V, K, M>(src, same, i, len - i)).store_part(dst.add(i), len - i);
        }
    }
}

/// Memory for one vector of any level.
#[repr(align(64))]
struct Splat(#[allow(dead_code)] [u8; VECTOR_BYTES]);

/// How far ahead of what is read a long function has its operands fetched. With its body between two reads some processors
/// do not fetch ahead enough by themselves, least of all where results go past the caches: `log` of 16 Mi `float64` took
/// 31.5 ms instead of 7.3.
const AHEAD_BYTES: usize = 2048;

/// A loop with one copy of the body, for any combination of scalar operands: they are written out as a vector that is read
/// again and again. `APART`: operands may be every second element, or lie in reverse, and whole vectors have a copy of their own,
/// as to tell them from parts takes more instructions than a short body. One vector of each is read after the other, as the
/// processor fetches less ahead where more of one are read before the next, be it four: sums of every second of 16 Mi `float32`
/// took 0.65 of the time that they took from tiles, and 0.79 then.
#[inline(always)]
unsafe fn lane_loop<V: Lane, W: LaneFn<K>, const K: usize, const APART: bool>(
    dst: *mut V::Elem,
    src: [*const V::Elem; K],
    flags: u32,
    len: usize,
) {
    let n = V::LEN;
    let stream = flags & STREAM != 0;
    let mut memory = [const { Splat([0; VECTOR_BYTES]) }; K];
    // SAFETY: for all of this function: `Kernel::run`'s contract; a splat holds one vector and is read at element 0; `i`
    // plus the part stays at or below `len`, another element follows whole vectors that are every second, and streamed
    // addresses are aligned by the first part.
    unsafe {
        let mut from = src;
        let mut index = [usize::MAX; K];
        for k in 0..K {
            if flags >> k & 1 == 1 {
                let p = (&raw mut memory[k]).cast::<V::Elem>();
                V::splat(*src[k]).store(p);
                from[k] = p;
                index[k] = 0;
            }
        }
        let mut x = [V::splat(*src[0]); K];
        let ahead = if stream { dst.addr() / size_of::<V::Elem>() % n } else { 0 };
        let (mut i, mut part) = (0, (n - ahead).min(len));
        while i < len {
            if APART && part == n {
                while i + n < len {
                    for k in 0..K {
                        x[k] = if flags >> k & SECONDS != 0 {
                            <Seconds as Read<V>>::vector([src[k]; 2], i)
                        } else if flags >> k & REVERSED != 0 {
                            <Reversed as Read<V>>::vector([src[k]; 2], i)
                        } else {
                            V::load(from[k].add(i & index[k]))
                        };
                    }
                    let (y, to) = (W::f(x), dst.add(i));
                    if stream {
                        y.stream(to);
                    } else {
                        y.store(to);
                    }
                    i += n;
                }
                part = len - i;
            }
            for k in 0..K {
                if APART && flags >> k & SECONDS != 0 {
                    x[k] = <Seconds as Read<V>>::some([src[k]; 2], i, part, len);
                } else if APART && flags >> k & REVERSED != 0 {
                    x[k] = <Reversed as Read<V>>::some([src[k]; 2], i, part, len);
                } else {
                    let at = from[k].add(i & index[k]);
                    x[k] = V::load_some(at, part);
                    stream::fetch::<1>(at.cast::<u8>().wrapping_add(AHEAD_BYTES));
                }
            }
            let (y, to) = (W::f(x), dst.add(i));
            if stream && part == n {
                y.stream(to);
            } else {
                y.store_some(to, part);
            }
            i += part;
            part = n.min(len - i);
        }
    }
}

/// A function with a long body over vectors of floats.
pub(super) struct LaneFunction<V, W, const K: usize>(PhantomData<(V, W)>);
impl<V: Lane, W: LaneFn<K>, const K: usize> Kernel for LaneFunction<V, W, K> {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: [*const u8; 3], flags: u32, len: usize) {
        let mut from = [src[0].cast(); K];
        for k in 1..K {
            from[k] = src[k].cast();
        }
        // SAFETY: the same contract.
        unsafe { lane_loop::<V, W, K, false>(dst.cast(), from, flags, len) }
    }
}

/// A map over vectors of floats.
pub(super) struct LaneMap<V, W, const K: usize>(PhantomData<(V, W)>);
impl<V: Lane, W: LaneFn<K>, const K: usize> Kernel for LaneMap<V, W, K> {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: [*const u8; 3], flags: u32, len: usize) {
        let mut from = [src[0].cast(); K];
        for k in 1..K {
            from[k] = src[k].cast();
        }
        let (dst, stream) = (dst.cast(), flags & STREAM != 0);
        // SAFETY: the same contract.
        unsafe {
            match flags & !STREAM {
                0 => lane_map::<V, W, K, 0>(dst, from, stream, len),
                1 if K == 2 => lane_map::<V, W, K, 1>(dst, from, stream, len),
                2 if K >= 2 => lane_map::<V, W, K, 2>(dst, from, stream, len),
                4 if K == 3 => lane_map::<V, W, K, 4>(dst, from, stream, len),
                6 if K == 3 => lane_map::<V, W, K, 6>(dst, from, stream, len),
                _ => lane_loop::<V, W, K, true>(dst, from, flags, len),
            }
        }
    }
}

/// [`LaneMap`] for any vectors.
pub(super) struct LaneMaps<W, const K: usize>(PhantomData<W>);
impl<W: LaneFn<K>, const K: usize> LaneKernel for LaneMaps<W, K> {
    type At<V: Lane> = LaneMap<V, W, K>;
}
impl<W: LaneFn<K>, const K: usize> WideKernel for LaneMaps<W, K> {
    type At<V: Lane<Elem = T>, T: Float> = LaneMap<V, W, K>;
}

#[inline(always)]
unsafe fn lane_test<V: Lane, W: LaneTest<K>, const K: usize, const M: u32>(
    dst: *mut u8,
    src: [*const V::Elem; K],
    len: usize,
) {
    let n = V::LEN;
    // SAFETY: for all of this function: as in `lane_map`.
    unsafe {
        let same = splats::<V, K, M>(src);
        let mut i = 0;
        while i + 4 * n <= len {
            let a = W::f(operands::<V, K, M>(src, same, i));
            let b = W::f(operands::<V, K, M>(src, same, i + n));
            let c = W::f(operands::<V, K, M>(src, same, i + 2 * n));
            let d = W::f(operands::<V, K, M>(src, same, i + 3 * n));
            V::mask_to_bytes(a, dst.add(i), n);
            V::mask_to_bytes(b, dst.add(i + n), n);
            V::mask_to_bytes(c, dst.add(i + 2 * n), n);
            V::mask_to_bytes(d, dst.add(i + 3 * n), n);
            i += 4 * n;
        }
        while i + n <= len {
            V::mask_to_bytes(W::f(operands::<V, K, M>(src, same, i)), dst.add(i), n);
            i += n;
        }
        if i < len {
            V::mask_to_bytes(W::f(operands_part::<V, K, M>(src, same, i, len - i)), dst.add(i), len - i);
        }
    }
}

/// A test over vectors of floats: one byte per element.
pub(super) struct LaneTestMap<V, W, const K: usize>(PhantomData<(V, W)>);
impl<V: Lane, W: LaneTest<K>, const K: usize> Kernel for LaneTestMap<V, W, K> {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: [*const u8; 3], flags: u32, len: usize) {
        let mut from = [src[0].cast(); K];
        for k in 1..K {
            from[k] = src[k].cast();
        }
        // SAFETY: the same contract; tests have at most two operands, of which one may be a scalar (see `Code`).
        unsafe {
            match flags & 7 {
                1 => lane_test::<V, W, K, 1>(dst, from, len),
                2 => lane_test::<V, W, K, 2>(dst, from, len),
                _ => lane_test::<V, W, K, 0>(dst, from, len),
            }
        }
    }
}

/// [`LaneTestMap`] for any vectors.
pub(super) struct LaneTestMaps<W, const K: usize>(PhantomData<W>);
impl<W: LaneTest<K>, const K: usize> LaneKernel for LaneTestMaps<W, K> {
    type At<V: Lane> = LaneTestMap<V, W, K>;
}

#[inline(always)]
unsafe fn plain_map<P: Plain, O: Copy, const K: usize, const M: u32>(
    dst: *mut O,
    src: [*const P::Mem; K],
    f: impl Fn([P::Value; K]) -> O,
    len: usize,
) {
    // SAFETY: for all of this function: `Kernel::run`'s contract; `i` is below `len`.
    unsafe {
        let mut same = [P::get(*src[0]); K];
        for k in 1..K {
            if M >> k & 1 == 1 {
                same[k] = P::get(*src[k]);
            }
        }
        for i in 0..len {
            let mut x = same;
            for k in 0..K {
                if M >> k & 1 == 0 {
                    x[k] = P::get(*src[k].add(i));
                }
            }
            *dst.add(i) = f(x);
        }
    }
}

#[inline(always)]
unsafe fn plain_map_any<P: Plain, O: Copy, const K: usize>(
    dst: *mut O,
    src: [*const P::Mem; K],
    f: impl Fn([P::Value; K]) -> O,
    flags: u32,
    len: usize,
) {
    // SAFETY: for all of this function: `Kernel::run`'s contract; `i` is below `len`, scalars are read at element 0.
    unsafe {
        let mut x = [P::get(*src[0]); K];
        for i in 0..len {
            for k in 0..K {
                x[k] = P::get(*src[k].add(if flags >> k & 1 == 1 { 0 } else { i }));
            }
            *dst.add(i) = f(x);
        }
    }
}

#[inline(always)]
unsafe fn plain_forms<P: Plain, O: Copy, const K: usize>(
    dst: *mut O,
    src: [*const u8; 3],
    f: impl Fn([P::Value; K]) -> O,
    flags: u32,
    len: usize,
) {
    let mut from = [src[0].cast(); K];
    for k in 1..K {
        from[k] = src[k].cast();
    }
    // SAFETY: the caller's contract is `Kernel::run`'s.
    unsafe {
        match flags & 7 {
            0 => plain_map::<P, O, K, 0>(dst, from, f, len),
            1 if K == 2 => plain_map::<P, O, K, 1>(dst, from, f, len),
            2 if K == 2 => plain_map::<P, O, K, 2>(dst, from, f, len),
            6 if K == 3 => plain_map::<P, O, K, 6>(dst, from, f, len),
            flags => plain_map_any::<P, O, K>(dst, from, f, flags, len),
        }
    }
}

/// A map over scalars.
pub(super) struct PlainMap<P, W, const K: usize>(PhantomData<(P, W)>);
impl<P: Plain, W: Apply<P::Value, K, Out = P::Value>, const K: usize> Kernel for PlainMap<P, W, K> {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: [*const u8; 3], flags: u32, len: usize) {
        // SAFETY: the same contract.
        unsafe {
            plain_forms::<P, P::Mem, K>(
                dst.cast(),
                src,
                #[inline(always)]
                |x| P::put(W::f(x)),
                flags,
                len,
            );
        }
    }
}

/// A map over complex scalars to real ones.
pub(super) struct PlainPart<P, W, const K: usize>(PhantomData<(P, W)>);
impl<P: Plain<Value: Parts>, W: Apply<P::Value, K, Out = <P::Value as Parts>::Part>, const K: usize> Kernel
    for PlainPart<P, W, K>
{
    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: [*const u8; 3], flags: u32, len: usize) {
        // SAFETY: the same contract; a part of a complex number lies in memory as itself.
        unsafe {
            plain_forms::<P, <P::Value as Parts>::Part, K>(
                dst.cast(),
                src,
                #[inline(always)]
                |x| W::f(x),
                flags,
                len,
            );
        }
    }
}

/// A test over scalars: one byte per element.
pub(super) struct PlainTest<P, W, const K: usize>(PhantomData<(P, W)>);
impl<P: Plain, W: Apply<P::Value, K, Out = bool>, const K: usize> Kernel for PlainTest<P, W, K> {
    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: [*const u8; 3], flags: u32, len: usize) {
        // SAFETY: the same contract.
        unsafe {
            plain_forms::<P, u8, K>(
                dst,
                src,
                #[inline(always)]
                |x| u8::from(W::f(x)),
                flags,
                len,
            );
        }
    }
}
