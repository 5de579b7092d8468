//! Folds that read other than as it lies: every second element, the products of two operands, and elements that are widened
//! in a register on their way to the accumulators, instead of in a tile: `float16` in `float32`, and integers in sums of 64 bits.
//! Sums of integers wrap, so that their order does not matter; floats are folded in the order of every fold.

use std::marker::PhantomData;
use std::ops::Add;

use stridewise_core::ops::define;
use stridewise_core::{
    Dtype, Op,
    backend::{Arg, Program},
    f16,
};

use super::fold::{AHEAD, FIRST, FoldLanes, FoldWide, ManyFn, ManyRows, ManyRowsWide, RunFn};
use crate::kernels::elementwise::map::{ByNum, ByReal, LaneFn};
use crate::kernels::entry::{
    BytesKernel, HalfKernel, Kernel, VECTOR_BYTES, bytes_entry, entry, half_entry, wide_entry,
};
use crate::kernels::moving::read::{Read, ReadAny, Seconds, Values};
use crate::kernels::plain::Plain;
use crate::kernels::stream;
use crate::simd::{Bytes, HalfLane, Isa, Lane};

/// The elements of the first source, which are `float16`.
pub(crate) struct Halves<H>(PhantomData<H>);

impl<H: HalfLane> Read<H::Single> for Halves<H> {
    const PITCH: usize = size_of::<f16>();

    #[inline(always)]
    unsafe fn vector([src, _]: [*const f32; 2], i: usize) -> H::Single {
        // SAFETY: the elements of a vector from `i` on, which are `float16`, are readable at the first
        // source.
        unsafe { H::load(src.cast::<f16>().add(i)).widen() }
    }
    #[inline(always)]
    unsafe fn part([src, _]: [*const f32; 2], i: usize, len: usize) -> H::Single {
        // SAFETY: `len` elements from `i` on, which are `float16`, are readable at the first source.
        unsafe { H::load_part(src.cast::<f16>().add(i), len).widen() }
    }
}

/// The products of the elements of both sources, each rounded before it is folded.
struct Products;

impl<V: Lane> Read<V> for Products {
    #[inline(always)]
    fn fetch(from: [*const V::Elem; 2], i: usize, k: usize) {
        <Values as Read<V>>::fetch([from[0]; 2], i, k);
        <Values as Read<V>>::fetch([from[1]; 2], i, k);
    }
    #[inline(always)]
    unsafe fn vector([a, b]: [*const V::Elem; 2], i: usize) -> V {
        // SAFETY: the elements of a vector from `i` on are readable at both sources.
        unsafe { <ByNum<define::Multiply> as LaneFn<2>>::f([V::load(a.add(i)), V::load(b.add(i))]) }
    }
    #[inline(always)]
    unsafe fn part([a, b]: [*const V::Elem; 2], i: usize, len: usize) -> V {
        // SAFETY: `len` elements from `i` on are readable at both sources.
        unsafe {
            let product = [V::load_part(a.add(i), len), V::load_part(b.add(i), len)];
            <ByNum<define::Multiply> as LaneFn<2>>::f(product)
        }
    }
}

/// The squares of the elements of the first source, as [`Products`] of it with itself, but read once.
struct Squares;

impl<V: Lane> Read<V> for Squares {
    #[inline(always)]
    unsafe fn vector([src, _]: [*const V::Elem; 2], i: usize) -> V {
        // SAFETY: the elements of a vector from `i` on are readable at the first source.
        let a = unsafe { V::load(src.add(i)) };
        <ByNum<define::Multiply> as LaneFn<2>>::f([a, a])
    }
    #[inline(always)]
    unsafe fn part([src, _]: [*const V::Elem; 2], i: usize, len: usize) -> V {
        // SAFETY: `len` elements from `i` on are readable at the first source.
        let a = unsafe { V::load_part(src.add(i), len) };
        <ByNum<define::Multiply> as LaneFn<2>>::f([a, a])
    }
}

impl ReadAny for Products {
    type Of<V: Lane> = Self;
}
impl ReadAny for Squares {
    type Of<V: Lane> = Self;
}
/// The sum of products of `float32` or `float64`, or of squares: as the fold of a run by addition, with both factors as sources.
pub(crate) fn products(squares: bool, dtype: Dtype, isa: Isa) -> Option<RunFn> {
    match squares {
        true => wide_entry::<FoldWide<ByNum<define::Add>, Squares>>(isa, dtype),
        false => wide_entry::<FoldWide<ByNum<define::Add>, Products>>(isa, dtype),
    }
}

/// The functions for runs and for many rows of `float32` or `float64`, of which every second element is folded.
pub(crate) fn seconds(op: Op, dtype: Dtype, isa: Isa) -> Option<(RunFn, ManyFn)> {
    macro_rules! of {
        ($W:ty) => {
            wide_entry::<FoldWide<$W, Seconds>>(isa, dtype)
                .zip(wide_entry::<ManyRowsWide<$W, Seconds>>(isa, dtype))
        };
    }
    match op {
        Op::Add => of!(ByNum<define::Add>),
        Op::Multiply => of!(ByNum<define::Multiply>),
        Op::Minimum => of!(ByReal<define::Minimum>),
        Op::Maximum => of!(ByReal<define::Maximum>),
        _ => None,
    }
}

/// Sums that are kept beside each other in a run, so that they are added up once and not for every block: whole vectors at every
/// level, and no more than there are registers.
const LANES: usize = 64;

/// A fold of a run as [`Folding::run`](super::folding::Folding::run), over elements `F` into a sum `A`: one accumulator. As many
/// elements as a sum of them in `M` certainly holds are added up there first, of which a vector has more.
struct Widened<F, M, A>(PhantomData<(F, M, A)>);

impl<F, M, A> Widened<F, M, A> {
    /// One for each value of an element that is narrower than `M`.
    const BLOCK: usize = if size_of::<F>() < 4 { 1 << (8 * size_of::<F>()) } else { usize::MAX };
}

impl<F, M, A> Kernel for Widened<F, M, A>
where
    F: Copy,
    M: Plain<Mem = M, Value: Add<Output = M::Value>> + From<F> + Default,
    A: Plain<Mem = A, Value: Add<Output = A::Value>> + From<M>,
{
    type Fn = RunFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [src, identity, _]: [*const u8; 3], flags: u32, len: usize) {
        let (acc, src) = (dst.cast::<A>(), src.cast::<F>());
        // SAFETY: for all of this function: one element of `acc`, which is a sum unless this is the first call, `len` of
        // `src`, and an identity.
        unsafe {
            let mut sum = A::get(if flags & FIRST == 0 { *acc } else { *identity.cast::<A>() });
            let mut at = 0;
            // Each of these sums has one element of a round.
            while size_of::<F>() < size_of::<u32>() && len - at >= 8 * LANES {
                let mut parts = [M::default(); LANES];
                for _ in 0..((len - at) / LANES).min(Self::BLOCK) {
                    if flags & AHEAD != 0 {
                        stream::fetch_behind(src.add(at).cast(), 0..LANES * size_of::<F>());
                    }
                    for (lane, part) in parts.iter_mut().enumerate() {
                        *part = M::put(M::get(*part) + M::get(M::from(*src.add(at + lane))));
                    }
                    at += LANES;
                }
                sum = parts.iter().fold(sum, |sum, &part| sum + A::get(A::from(part)));
            }
            while at < len {
                let end = len.min(at.saturating_add(Self::BLOCK));
                // A plain loop over one sum: the compiler makes it several vectors of sums.
                let mut part = M::get(M::default());
                for i in at..end {
                    part = part + M::get(M::from(*src.add(i)));
                }
                sum = sum + A::get(A::from(M::put(part)));
                at = end;
            }
            *acc = A::put(sum);
        }
    }
}

/// What the bytes of a [`ByteSum`] are: numbers without a sign.
const UNSIGNED: u8 = 0;
/// The same: numbers with one.
const SIGNED: u8 = 1;
/// The same: truths, of which any byte but 0 is one, and counts 1.
const TRUTHS: u8 = 2;

/// Vectors of sums of bytes, so that one addition need not wait for the other.
const VECTORS: usize = 4;

/// As [`Widened`], over bytes of a kind ([`SIGNED`], …) into a sum of 64 bits, by the instruction that adds up eight of them:
/// that takes less time than to read them.
struct ByteSum<V, const KIND: u8>(PhantomData<V>);

impl<V: Bytes, const KIND: u8> ByteSum<V, KIND> {
    /// What a byte counts more than it is worth: signed ones are moved up to where none is negative.
    const MOVED: u8 = if KIND == SIGNED { 0x80 } else { 0 };

    /// Adds the sums of a vector's bytes.
    ///
    /// # Safety
    /// The processor has the level's features; the bytes are readable.
    #[inline(always)]
    unsafe fn add(sums: V, from: *const u8) -> V {
        // SAFETY: a vector's bytes are readable, and the function is compiled for the level's features.
        unsafe {
            let bytes = V::load(from);
            let bytes = match KIND {
                SIGNED => bytes.differing(V::splat(Self::MOVED)),
                TRUTHS => bytes.truths(),
                _ => bytes,
            };
            bytes.added_to(sums)
        }
    }
}

impl<V: Bytes, const KIND: u8> Kernel for ByteSum<V, KIND> {
    type Fn = RunFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [src, ..]: [*const u8; 3], flags: u32, len: usize) {
        let acc = dst.cast::<u64>();
        // SAFETY: for all of this function: one element of `acc`, which is a sum unless this is the first call, and `len` of
        // `src`, of which whole vectors end at or below `len`; the last one is read from a copy.
        unsafe {
            let mut sums = [V::splat(0); VECTORS];
            let mut at = 0;
            while at + VECTORS * V::LEN <= len {
                for (k, sum) in sums.iter_mut().enumerate() {
                    if flags & AHEAD != 0 {
                        stream::fetch_behind(src.add(at), k * V::LEN..(k + 1) * V::LEN);
                    }
                    *sum = Self::add(*sum, src.add(at + k * V::LEN));
                }
                at += VECTORS * V::LEN;
            }
            while at + V::LEN <= len {
                sums[0] = Self::add(sums[0], src.add(at));
                at += V::LEN;
            }
            if at < len {
                let mut rest = [Self::MOVED; VECTOR_BYTES];
                std::ptr::copy_nonoverlapping(src.add(at), rest.as_mut_ptr(), len - at);
                sums[1] = Self::add(sums[1], rest.as_ptr());
            }
            let before = if flags & FIRST == 0 { *acc } else { 0 };
            let total = sums.iter().fold(before, |total, sum| total.wrapping_add(sum.total()));
            *acc = total.wrapping_sub(u64::from(Self::MOVED).wrapping_mul(len as u64));
        }
    }
}

/// [`ByteSum`] for any vectors.
struct ByteSums<const KIND: u8>;
impl<const KIND: u8> BytesKernel for ByteSums<KIND> {
    type Fn = RunFn;

    type At<V: Bytes> = ByteSum<V, KIND>;
}

/// The same of many rows.
struct ManyByteSums<const KIND: u8>;
impl<const KIND: u8> BytesKernel for ManyByteSums<KIND> {
    type Fn = ManyFn;

    type At<V: Bytes> = ManyRows<ByteSum<V, KIND>, u64>;
}

/// A fold of `float16` in `float32`.
struct HalfFold<W>(PhantomData<W>);
impl<W: LaneFn<2>> HalfKernel for HalfFold<W> {
    type Fn = RunFn;

    type At<V: HalfLane> = FoldLanes<V::Single, f32, W, Halves<V>>;
}

/// The same of many rows.
struct ManyHalves<W>(PhantomData<W>);
impl<W: LaneFn<2>> HalfKernel for ManyHalves<W> {
    type Fn = ManyFn;

    type At<V: HalfLane> = ManyRows<FoldLanes<V::Single, f32, W, Halves<V>>, f32>;
}

/// The functions for runs and for many rows of a dtype, where there are any that fold it in a wider one.
pub(crate) fn widening(op: Op, from: Dtype, to: Dtype, isa: Isa) -> Option<(RunFn, ManyFn)> {
    macro_rules! of {
        ($($from:ident $F:ty, $M:ty, $to:ident $A:ty;)*) => {
            match (from, to) {
                $((Dtype::$from, Dtype::$to) if op == Op::Add => {
                    type Sum = Widened<$F, $M, $A>;
                    Some((entry::<Sum>(isa), entry::<ManyRows<Sum, $A>>(isa)))
                })*
                (Dtype::F16, Dtype::F32) => match op {
                    Op::Add => of!(half ByNum<define::Add>),
                    Op::Multiply => of!(half ByNum<define::Multiply>),
                    Op::Minimum => of!(half ByReal<define::Minimum>),
                    Op::Maximum => of!(half ByReal<define::Maximum>),
                    _ => None,
                },
                _ => None,
            }
        };
        (bytes $kind:ident) => {
            Some((bytes_entry::<ByteSums<$kind>>(isa), bytes_entry::<ManyByteSums<$kind>>(isa)))
        };
        (half $W:ty) => {
            half_entry::<HalfFold<$W>>(isa).zip(half_entry::<ManyHalves<$W>>(isa))
        };
    }
    if let (Op::Add, 1) = (op, from.size()) {
        return match (from, to) {
            (Dtype::I8, Dtype::I64) => of!(bytes SIGNED),
            (Dtype::U8, Dtype::I64 | Dtype::U64) => of!(bytes UNSIGNED),
            (Dtype::Bool, Dtype::I64) => of!(bytes TRUTHS),
            _ => None,
        };
    }
    of! {
        I16 i16, i32, I64 i64; I32 i32, i64, I64 i64;
        U16 u16, u32, U64 u64; U32 u32, u64, U64 u64;
    }
}

/// The dtype that a program's only input has, where it is all that the program computes, at most converted.
pub(crate) fn input_alone(program: &Program) -> Option<Dtype> {
    let [step] = program.steps() else { return None };
    let alone = matches!(step.op, Op::Cast | Op::Copy) && step.operands() == [Arg::Input(0)];
    (alone && !program.is_index(0) && program.inputs().len() == 1).then_some(step.dtype)
}
