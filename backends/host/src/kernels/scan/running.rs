//! The loops of scans: running values of a run, or of several blocks beside each other. Each element waits for the one before it, so
//! that no level's vectors help.

use std::marker::PhantomData;

use stridewise_core::ops::define;
use stridewise_core::{Complex, Dtype, Op};

use crate::kernels::elementwise::map::{Apply, ByFloat, ByNum, ByReal};
use crate::kernels::entry::{Entry, Kernel, contract};
use crate::kernels::plain::{Plain, Truth};

/// Flag of the kernel: the first element begins the running value.
pub(super) const BEGIN: u32 = 1;

/// A running value.
pub(super) type Carry = [u8; 16];

contract! {
    /// Scans a run of `len` elements, one at least; `carry` is the value before it, unless [`BEGIN`] says that it begins, and becomes
    /// the last.
    ///
    /// - `len` elements are readable, and as many values writable, which are the elements or apart from them; nothing else accesses
    ///   them.
    ScanFn(values: *mut u8, elements: *const u8, carry: &mut Carry, flags: u32, len: usize)
        = values, [elements, carry.as_mut_ptr().cast_const(), elements], flags, len
}

/// Scans a run. `dst`: the running values; sources: the elements, the value so far (also written).
struct Run<P, W>(PhantomData<(P, W)>);

impl<P: Plain, W: Apply<P::Value, 2, Out = P::Value>> Kernel for Run<P, W> {
    type Fn = ScanFn;

    unsafe fn run(dst: *mut u8, [src, carry, _]: [*const u8; 3], flags: u32, len: usize) {
        let (dst, src) = (dst.cast::<P::Mem>(), src.cast::<P::Mem>());
        let carry = carry.cast_mut().cast::<P::Mem>();
        // SAFETY: for all of this function: `len` elements of each, at least one; one value at `carry`, not aligned.
        unsafe {
            let mut value = P::get(*src);
            if flags & BEGIN == 0 {
                value = W::f([P::get(carry.read_unaligned()), value]);
            }
            *dst = P::put(value);
            for i in 1..len {
                value = W::f([value, P::get(*src.add(i))]);
                *dst.add(i) = P::put(value);
            }
            carry.write_unaligned(P::put(value));
        }
    }
}

/// Blocks of floats that a thread scans next to each other: of each, an element waits for the one before it.
pub(super) const BESIDE: usize = 4;

/// Scans runs of the same length, next to each other. `dst`: the running values; sources: the elements; the values so far, also
/// written.
pub(super) type BesideFn =
    unsafe fn([*mut u8; BESIDE], [*const u8; BESIDE], &mut [Carry; BESIDE], u32, usize);

/// # Safety
/// - `len` is at least 1.
/// - Of each run, `len` elements of `P` are readable at its source and writable at its target, aligned.
/// - The targets do not overlap each other, nor another run's source.
/// - Without [`BEGIN`], each carry has a value of `P`.
unsafe fn beside<P: Plain, W: Apply<P::Value, 2, Out = P::Value>>(
    dst: [*mut u8; BESIDE],
    src: [*const u8; BESIDE],
    carries: &mut [Carry; BESIDE],
    flags: u32,
    len: usize,
) {
    let (dst, src) = (dst.map(|at| at.cast::<P::Mem>()), src.map(|at| at.cast::<P::Mem>()));
    // SAFETY: for all of this function: `len` elements of each, at least one; there is room for a value in a carry.
    unsafe {
        let mut values = [0; BESIDE].map(|_: u8| P::get(*src[0]));
        for k in 0..BESIDE {
            values[k] = P::get(*src[k]);
            if flags & BEGIN == 0 {
                let so_far = carries[k].as_ptr().cast::<P::Mem>().read_unaligned();
                values[k] = W::f([P::get(so_far), values[k]]);
            }
            *dst[k] = P::put(values[k]);
        }
        for i in 1..len {
            for k in 0..BESIDE {
                values[k] = W::f([values[k], P::get(*src[k].add(i))]);
                *dst[k].add(i) = P::put(values[k]);
            }
        }
        for (carry, value) in carries.iter_mut().zip(values) {
            carry.as_mut_ptr().cast::<P::Mem>().write_unaligned(P::put(value));
        }
    }
}

/// The function for sums of floats.
pub(super) fn running_beside(op: Op, dtype: Dtype) -> Option<BesideFn> {
    match (op, dtype) {
        (Op::Add, Dtype::F32) => Some(beside::<f32, ByNum<define::Add>>),
        (Op::Add, Dtype::F64) => Some(beside::<f64, ByNum<define::Add>>),
        _ => None,
    }
}

/// The kernel without the features of any level: each element waits for the one before it.
unsafe fn enter<K: Kernel>(dst: *mut u8, a: *const u8, b: *const u8, c: *const u8, flags: u32, len: usize) {
    // SAFETY: the contract of a `StepFn` is the kernel's; no level's features are used.
    unsafe { K::run(dst, [a, b, c], flags, len) }
}

/// The kernel for a fold; accumulators are never 16-bit floats.
pub(super) fn running(op: Op, dtype: Dtype) -> Option<ScanFn> {
    macro_rules! of {
        ($W:ty: $($variant:ident $P:ty),*) => {
            match dtype {
                $(Dtype::$variant => Some(ScanFn::of(enter::<Run<$P, $W>>)),)*
                _ => None,
            }
        };
        (num $O:ty) => {
            of!(ByNum<$O>: I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64,
                C64 Complex<f32>, C128 Complex<f64>)
        };
        (real $O:ty) => {
            of!(ByReal<$O>: Bool Truth, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32,
                F64 f64)
        };
    }
    match op {
        Op::Add => of!(num define::Add),
        Op::Multiply => of!(num define::Multiply),
        Op::Minimum => of!(real define::Minimum),
        Op::Maximum => of!(real define::Maximum),
        Op::Logaddexp => of!(ByFloat<define::Logaddexp>: F32 f32, F64 f64),
        _ => None,
    }
}
