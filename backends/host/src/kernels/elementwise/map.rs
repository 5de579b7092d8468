//! The elementwise loops: over vectors for floats, over scalars (which the compiler vectorises) for all else.
//! Each is over elements that lie one after another; those over vectors take values, too. For everything else
//! there is [`blocks`](super::blocks).
//!
//! A loop knows how elements are read and written; what is computed is a type parameter, an operation of
//! core's `ops/`, written in the algebra that vectors and scalars both implement. So a new operation needs
//! nothing here.
//! - `LaneMap` has four vectors of each operand at once: short bodies, limited by loads and stores.
//! - `LaneFunction` has one vector at a time: long bodies (`exp`, `sin`), of which one copy is enough; it
//!   fetches ahead.
//! - `LaneTestMap` writes a byte for each element.
//! - `PlainMap`, `PlainPart` and `PlainTest` are the same over scalars.
//!
//! The contract is [`Kernel::run`]'s: a source may be exactly the destination, so what is computed together
//! is read before any of it is written. Each loop is compiled for every operation, dtype and level: one more
//! line in a loop is thousands in the binary, so what loops share is in functions of the operands' types
//! alone.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use stridewise_core::ops::{
    Alg, Analytic, AnalyticOp, Bits, BitsOp, Field, FieldOp, Float, FloatOp, FloatTest, Int, IntOp, NumFn,
    NumOp, NumTest, PartOp, Parts, Real, RealFn, RealOp, RealTest,
};

use super::blocks::around;
use crate::kernels::entry::{
    ALL_SAME, Around, Kernel, LaneKernel, SAME, STREAM, StepFn, VECTOR_BYTES, WideKernel,
};
use crate::kernels::plain::Plain;
use crate::kernels::stream;
use crate::simd::Lane;

/// An operation on scalars of one type.
pub(crate) trait Apply<A, const K: usize> {
    type Out;
    fn f(x: [A; K]) -> Self::Out;
}

/// An operation on any vector of floats.
pub(crate) trait LaneFn<const K: usize> {
    fn f<V: Float>(x: [V; K]) -> V;
}

/// A test of any vector of floats.
pub(crate) trait LaneTest<const K: usize> {
    fn f<V: Float>(x: [V; K]) -> V::Mask;
}

/// Names the class of an operation, so that one trait serves all classes.
macro_rules! class {
    ($($By:ident $Op:ident $Alg:ident;)*) => {$(
        pub(crate) struct $By<O>(PhantomData<O>);
        impl<A: $Alg, O: $Op<K>, const K: usize> Apply<A, K> for $By<O> {
            type Out = A;
            #[inline(always)]
            fn f(x: [A; K]) -> A { O::f(x) }
        }
    )*};
    (test $($By:ident $Op:ident $Alg:ident;)*) => {$(
        pub(crate) struct $By<O>(PhantomData<O>);
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

pub(crate) struct ByPart<O>(PhantomData<O>);
impl<A: Parts, O: PartOp<K>, const K: usize> Apply<A, K> for ByPart<O> {
    type Out = A::Part;
    #[inline(always)]
    fn f(x: [A; K]) -> A::Part {
        O::f(x)
    }
}

/// Vectors that a loop reads at once.
const AT_ONCE: usize = 4;

/// Memory for as many vectors of any level.
#[repr(align(64))]
struct Splat(#[allow(dead_code)] MaybeUninit<[u8; AT_ONCE * VECTOR_BYTES]>);

/// Operands as a loop over vectors reads them: where they lie, or, one element for all, written out as vectors that are read
/// again and again. So there is one copy of the loop, whichever they are.
struct Operands<V: Lane, const K: usize> {
    from: [*const V::Elem; K],
    /// What is left of an index: all, or nothing.
    along: [usize; K],
}

impl<V: Lane, const K: usize> Operands<V, K> {
    /// # Safety
    /// [`Kernel::run`]'s contract; the memory lasts as long as what is returned.
    #[inline(always)]
    unsafe fn new(src: [*const u8; 3], memory: &mut [Splat; K], flags: u32, len: usize) -> Self {
        let (mut from, mut along) = ([src[0].cast::<V::Elem>(); K], [usize::MAX; K]);
        let mut k = 0;
        while k < K {
            from[k] = src[k].cast();
            if flags >> k & SAME == SAME {
                let splat = (&raw mut memory[k]).cast::<V::Elem>();
                // SAFETY: where the flag is set, one element is readable at the source; the memory has room
                // for `AT_ONCE` vectors of any level.
                unsafe {
                    let value = V::splat(*from[k]);
                    value.store(splat);
                    if len >= AT_ONCE * V::LEN {
                        value.store(splat.add(V::LEN));
                        value.store(splat.add(2 * V::LEN));
                        value.store(splat.add(3 * V::LEN));
                    }
                }
                (from[k], along[k]) = (splat, 0);
            }
            k += 1;
        }
        Self { from, along }
    }

    /// The operands from element `i` on.
    #[inline(always)]
    fn at(&self, i: usize) -> [*const V::Elem; K] {
        let mut at = self.from;
        let mut k = 0;
        while k < K {
            at[k] = at[k].wrapping_add(i & self.along[k]);
            k += 1;
        }
        at
    }
}

// What loops have in common is in functions of the operands' type and number, which all operations share: a loop is written out for
// each operation, and what it says itself is most of what the compiler reads.

/// One vector of each operand, `i` elements further on.
///
/// # Safety
/// They are readable.
#[inline(always)]
unsafe fn vectors<V: Lane, const K: usize>(at: &[*const V::Elem; K], i: usize) -> [V; K] {
    // SAFETY: a vector of each operand is readable, `i` elements further on; there are one to three operands.
    unsafe {
        let mut x = [V::load(at[0].add(i)); K];
        let mut k = 1;
        while k < K {
            x[k] = V::load(at[k].add(i));
            k += 1;
        }
        x
    }
}

/// As [`vectors`], of `len` elements, no more than a vector has.
///
/// # Safety
/// They are readable.
#[inline(always)]
unsafe fn parts<V: Lane, const K: usize>(at: &[*const V::Elem; K], len: usize) -> [V; K] {
    // SAFETY: `len` elements of each operand are readable, no more than a vector has; there are one to three
    // operands.
    unsafe {
        let mut x = [V::load_some(at[0], len); K];
        let mut k = 1;
        while k < K {
            x[k] = V::load_some(at[k], len);
            k += 1;
        }
        x
    }
}

/// An operation on the vectors that lie `i` elements further on.
///
/// # Safety
/// They are readable.
#[inline(always)]
unsafe fn at_once<V: Lane, W: LaneFn<K>, const K: usize>(at: &[*const V::Elem; K], i: usize) -> V {
    // SAFETY: a vector of each operand is readable, `i` elements further on.
    W::f(unsafe { vectors(at, i) })
}

/// As [`at_once`], a test.
///
/// # Safety
/// They are readable.
#[inline(always)]
unsafe fn test_once<V: Lane, W: LaneTest<K>, const K: usize>(at: &[*const V::Elem; K], i: usize) -> V::Mask {
    // SAFETY: a vector of each operand is readable, `i` elements further on.
    W::f::<V>(unsafe { vectors(at, i) })
}

/// Writes vectors one after another.
///
/// # Safety
/// They are writable, and aligned where they are streamed.
#[inline(always)]
unsafe fn put<V: Lane>(&[a, b, c, d]: &[V; AT_ONCE], to: *mut V::Elem, stream: bool) {
    let n = V::LEN;
    // SAFETY: `AT_ONCE` vectors are writable from `to` on, aligned to vectors where they are streamed.
    unsafe {
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
    }
}

/// Writes masks as bytes, one after another.
///
/// # Safety
/// They are writable.
#[inline(always)]
unsafe fn put_masks<V: Lane>(&[a, b, c, d]: &[V::Mask; AT_ONCE], to: *mut u8) {
    let n = V::LEN;
    // SAFETY: as many bytes as `AT_ONCE` masks have lanes are writable from `to` on.
    unsafe {
        V::mask_to_bytes(a, to, n);
        V::mask_to_bytes(b, to.add(n), n);
        V::mask_to_bytes(c, to.add(2 * n), n);
        V::mask_to_bytes(d, to.add(3 * n), n);
    }
}

/// How far ahead of what is read a long function has its operands fetched. With its body between two reads some processors
/// do not fetch ahead enough by themselves, least of all where results go past the caches: `log` of 16 Mi `float64` took
/// 31.5 ms instead of 7.3.
const AHEAD_BYTES: usize = 2048;

/// A function with a long body over vectors of floats: one copy of it.
pub(crate) struct LaneFunction<V, W, const K: usize>(PhantomData<(V, W)>);
impl<V: Lane, W: LaneFn<K>, const K: usize> Kernel for LaneFunction<V, W, K> {
    type Fn = StepFn;

    const AROUND: Option<Around> = around::<V::Elem, V::Elem>();
    const OWN: u32 = ALL_SAME;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: [*const u8; 3], flags: u32, len: usize) {
        let dst = dst.cast::<V::Elem>();
        let mut memory = [const { Splat(MaybeUninit::uninit()) }; K];
        // SAFETY: for all of this function: `len` elements of each source are readable (or one, of which
        // `Operands` makes a vector) and `len` writable at `dst`; a source that is `dst` is read before it is
        // written, part by part. `i + part` stays at or below `len`.
        unsafe {
            // One vector of a value is read again and again.
            let operands = Operands::<V, K>::new(src, &mut memory, flags, 1);
            let mut i = 0;
            while i < len {
                let part = V::LEN.min(len - i);
                let at = operands.at(i);
                let mut k = 0;
                while k < K {
                    stream::fetch::<1>(at[k].cast::<u8>().wrapping_add(AHEAD_BYTES));
                    k += 1;
                }
                W::f::<V>(parts(&at, part)).store_some(dst.add(i), part);
                i += part;
            }
        }
    }
}

/// A map over vectors of floats.
pub(crate) struct LaneMap<V, W, const K: usize>(PhantomData<(V, W)>);
impl<V: Lane, W: LaneFn<K>, const K: usize> Kernel for LaneMap<V, W, K> {
    type Fn = StepFn;

    const AROUND: Option<Around> = around::<V::Elem, V::Elem>();
    const OWN: u32 = ALL_SAME | STREAM;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: [*const u8; 3], flags: u32, len: usize) {
        let (n, dst, stream) = (V::LEN, dst.cast::<V::Elem>(), flags & STREAM != 0);
        let mut memory = [const { Splat(MaybeUninit::uninit()) }; K];
        // SAFETY: for all of this function: `len` elements of each source are readable (or one, of which
        // `Operands` makes vectors) and `len` writable at `dst`; a source that is `dst` is read before it is
        // written, part by part. `i + …` stays at or below `len`, and streamed addresses are aligned by the
        // first part.
        unsafe {
            let operands = Operands::<V, K>::new(src, &mut memory, flags, len);
            let ahead = if stream { dst.addr() / size_of::<V::Elem>() % n } else { 0 };
            let (mut i, mut part) = (0, (n - ahead).min(len));
            loop {
                while part == n && i + AT_ONCE * n <= len {
                    let at = &operands.at(i);
                    // All are read before one is written, as the compiler cannot know that they are different memory.
                    let y = [
                        at_once::<V, W, K>(at, 0),
                        at_once::<V, W, K>(at, n),
                        at_once::<V, W, K>(at, 2 * n),
                        at_once::<V, W, K>(at, 3 * n),
                    ];
                    put(&y, dst.add(i), stream);
                    i += AT_ONCE * n;
                }
                part = part.min(len - i);
                if part == 0 {
                    break;
                }
                W::f(parts::<V, K>(&operands.at(i), part)).store_some(dst.add(i), part);
                i += part;
                part = n;
            }
        }
    }
}

/// [`LaneMap`] for any vectors.
pub(crate) struct LaneMaps<W, const K: usize>(PhantomData<W>);
impl<W: LaneFn<K>, const K: usize> LaneKernel for LaneMaps<W, K> {
    type At<V: Lane> = LaneMap<V, W, K>;
}
impl<W: LaneFn<K>, const K: usize> WideKernel for LaneMaps<W, K> {
    type Fn = StepFn;

    type At<V: Lane<Elem = T>, T: Float> = LaneMap<V, W, K>;
}

/// A test over vectors of floats: one byte per element.
pub(crate) struct LaneTestMap<V, W, const K: usize>(PhantomData<(V, W)>);
impl<V: Lane, W: LaneTest<K>, const K: usize> Kernel for LaneTestMap<V, W, K> {
    type Fn = StepFn;

    const AROUND: Option<Around> = around::<u8, V::Elem>();
    const OWN: u32 = ALL_SAME;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, src: [*const u8; 3], flags: u32, len: usize) {
        let n = V::LEN;
        let mut memory = [const { Splat(MaybeUninit::uninit()) }; K];
        // SAFETY: for all of this function: `len` elements of each source are readable (or one, of which
        // `Operands` makes vectors), and `len` bytes writable at `dst`. `i + …` stays at or below `len`.
        unsafe {
            let operands = Operands::<V, K>::new(src, &mut memory, flags, len);
            let mut i = 0;
            while i + AT_ONCE * n <= len {
                let at = &operands.at(i);
                let y = [
                    test_once::<V, W, K>(at, 0),
                    test_once::<V, W, K>(at, n),
                    test_once::<V, W, K>(at, 2 * n),
                    test_once::<V, W, K>(at, 3 * n),
                ];
                put_masks::<V>(&y, dst.add(i));
                i += AT_ONCE * n;
            }
            while i < len {
                let part = n.min(len - i);
                V::mask_to_bytes(W::f(parts::<V, K>(&operands.at(i), part)), dst.add(i), part);
                i += part;
            }
        }
    }
}

/// [`LaneTestMap`] for any vectors.
pub(crate) struct LaneTestMaps<W, const K: usize>(PhantomData<W>);
impl<W: LaneTest<K>, const K: usize> LaneKernel for LaneTestMaps<W, K> {
    type At<V: Lane> = LaneTestMap<V, W, K>;
}

/// The sources of a loop over scalars.
#[inline(always)]
fn sources<P: Plain, const K: usize>(src: &[*const u8; 3]) -> [*const P::Mem; K] {
    let mut from = [src[0].cast(); K];
    let mut k = 1;
    while k < K {
        from[k] = src[k].cast();
        k += 1;
    }
    from
}

/// One scalar of each source, `i` elements further on.
///
/// # Safety
/// They are readable.
#[inline(always)]
unsafe fn scalars<P: Plain, const K: usize>(from: &[*const P::Mem; K], i: usize) -> [P::Value; K] {
    // SAFETY: an element of each source is readable, `i` elements further on; there are one to three sources.
    unsafe {
        let mut x = [P::get(*from[0].add(i)); K];
        let mut k = 1;
        while k < K {
            x[k] = P::get(*from[k].add(i));
            k += 1;
        }
        x
    }
}

// Loops over scalars, which the compiler makes vector code of.
macro_rules! plain_kernels {
    ($($(#[$doc:meta])* $Kernel:ident($($Value:tt)*) to $Out:ty, $R:ty: |$y:ident| $put:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $Kernel<P, W, const K: usize>(PhantomData<(P, W)>);
        impl<P: Plain $($Value)*, W: Apply<P::Value, K, Out = $Out>, const K: usize> Kernel for $Kernel<P, W, K> {
            type Fn = StepFn;

            const AROUND: Option<Around> = around::<$R, P::Mem>();

            #[inline(always)]
            unsafe fn run(dst: *mut u8, src: [*const u8; 3], _: u32, len: usize) {
                let (dst, from) = (dst.cast::<$R>(), sources::<P, K>(&src));
                // SAFETY: for all of this function: `len` elements of each source are readable and `len`
                // writable at `dst`, aligned to their types; no flag is set, as none is this kernel's own. A
                // source that is `dst` is read before it is written, element by element; `i` is below `len`.
                unsafe {
                    let mut i = 0;
                    while i < len {
                        let $y = W::f(scalars::<P, K>(&from, i));
                        *dst.add(i) = $put;
                        i += 1;
                    }
                }
            }
        }
    )*};
}
plain_kernels! {
    /// A map over scalars.
    PlainMap() to P::Value, P::Mem: |y| P::put(y);
    /// A map over complex scalars to real ones: a part of a complex number lies in memory as itself.
    PlainPart(<Value: Parts>) to <P::Value as Parts>::Part, <P::Value as Parts>::Part: |y| y;
    /// A test over scalars: one byte per element.
    PlainTest() to bool, u8: |y| u8::from(y);
}

/// Magnitudes of complex numbers of `float32`: the squares are exact in `float64`, and do not overflow.
pub(crate) struct Magnitude;
impl Kernel for Magnitude {
    type Fn = StepFn;

    const AROUND: Option<Around> = around::<f32, [f32; 2]>();

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [src, ..]: [*const u8; 3], _: u32, len: usize) {
        let (dst, src) = (dst.cast::<f32>(), src.cast::<[f32; 2]>());
        for i in 0..len {
            // SAFETY: `len` elements are readable at the source, aligned, and no flag is set; `i` is below
            // `len`.
            let [x, y] = unsafe { *src.add(i) }.map(f64::from);
            let endless = x.abs() == f64::INFINITY || y.abs() == f64::INFINITY;
            // Of NaN and infinity as well.
            let size = if endless { f64::INFINITY } else { (x * x + y * y).sqrt() };
            // SAFETY: `len` results are writable at `dst`, aligned; `i` is below `len`.
            unsafe { *dst.add(i) = size as f32 };
        }
    }
}
