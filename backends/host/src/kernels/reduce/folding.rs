//! The functions that fold by an operation, for each dtype and level.

use std::sync::OnceLock;

use stridewise_core::ops::define;
use stridewise_core::{Complex, Dtype, Op, Scalar};

use super::fold::{FoldPlain, FoldWide, Identity, ManyFn, ManyRows, ManyWide, RunFn};
use super::index_fold::FoldExtremeWide;
use super::rows::{RowPlain, RowWide, RowsFn};
use crate::kernels::elementwise::map::{ByNum, ByReal};
use crate::kernels::elementwise::step::resolve;
use crate::kernels::entry::{StepFn, entry, wide_entry};
use crate::kernels::moving::read::Values;
use crate::kernels::plain::{Plain, Truth, unsigned};
use crate::simd::Isa;

/// What a fold needs: the fold of a run, of rows into a row of accumulators, of many short
/// rows, and of two rows of accumulators.
#[derive(Clone, Copy)]
pub(crate) struct Folding {
    pub(crate) run: RunFn,
    /// See [`RowLanes`](super::rows::RowLanes).
    pub(crate) rows: RowsFn,
    /// See [`ManyLanes`](super::fold::ManyLanes).
    pub(crate) many: ManyFn,
    pub(crate) combine: StepFn,
    pub(crate) identity: Identity,
}

/// The functions for a fold by `Add`, `Multiply`, `Minimum` or `Maximum`, looked for once: that takes longer than to fold a
/// few elements. Accumulators are never 16-bit floats.
pub(crate) fn folding(op: Op, dtype: Dtype, isa: Isa) -> Option<Folding> {
    const OPS: [Op; 4] = [Op::Add, Op::Multiply, Op::Minimum, Op::Maximum];
    const DTYPES: usize = Dtype::ALL.len();
    const ISAS: usize = Isa::LEVELS.len();
    static FOUND: [OnceLock<Option<Folding>>; OPS.len() * ISAS * DTYPES] =
        [const { OnceLock::new() }; OPS.len() * ISAS * DTYPES];
    let row = OPS.iter().position(|&of| of == op)? * ISAS + isa as usize;
    *FOUND[row * DTYPES + dtype as usize].get_or_init(|| find(op, dtype, isa))
}

fn find(op: Op, dtype: Dtype, isa: Isa) -> Option<Folding> {
    let combine = resolve(op, dtype, dtype, isa)?.run;
    let identity = Identity(identity(op, dtype)?.to_bytes());
    // Sums and products have the same bits with a sign and without.
    let wrapping = unsigned(dtype);
    macro_rules! of {
        (num $O:ty) => {
            of!(wide ByNum<$O>, FoldWide<ByNum<$O>, Values>).or_else(|| {
                Some(match dtype {
                    Dtype::C64 => of!(Complex<f32>, ByNum<$O>, 32),
                    Dtype::C128 => of!(Complex<f64>, ByNum<$O>, 16),
                    _ => return of!(unsigned ByNum<$O>),
                })
            })
        };
        (real $O:ty, $max:literal) => {
            of!(wide ByReal<$O>, FoldExtremeWide<ByReal<$O>, $max>).or_else(|| {
                Some(match dtype {
                    Dtype::Bool => of!(Truth, ByReal<$O>, 256),
                    _ => return of!(integers ByReal<$O>),
                })
            })
        };
        (unsigned $W:ty) => {
            Some(match wrapping {
                Dtype::U8 => of!(u8, $W, 256),
                Dtype::U16 => of!(u16, $W, 128),
                Dtype::U32 => of!(u32, $W, 64),
                Dtype::U64 => of!(u64, $W, 32),
                _ => return None,
            })
        };
        (integers $W:ty) => {
            Some(match dtype {
                Dtype::I8 => of!(i8, $W, 256),
                Dtype::I16 => of!(i16, $W, 128),
                Dtype::I32 => of!(i32, $W, 64),
                Dtype::I64 => of!(i64, $W, 32),
                Dtype::U8 => of!(u8, $W, 256),
                Dtype::U16 => of!(u16, $W, 128),
                Dtype::U32 => of!(u32, $W, 64),
                Dtype::U64 => of!(u64, $W, 32),
                _ => return None,
            })
        };
        (wide $W:ty, $Run:ty) => {
            (|| {
                Some((
                    wide_entry::<$Run>(isa, dtype)?,
                    wide_entry::<RowWide<$W>>(isa, dtype)?,
                    wide_entry::<ManyWide<$W>>(isa, dtype)?,
                ))
            })()
        };
        ($P:ty, $W:ty, $n:literal) => {
            (
                entry::<FoldPlain<$P, $W, $n>>(isa),
                entry::<RowPlain<$P, $W>>(isa),
                entry::<ManyRows<FoldPlain<$P, $W, $n>, <$P as Plain>::Mem>>(isa),
            )
        };
    }
    let (run, rows, many) = match op {
        Op::Add => of!(num define::Add),
        Op::Multiply => of!(num define::Multiply),
        Op::Minimum => of!(real define::Minimum, false),
        Op::Maximum => of!(real define::Maximum, true),
        _ => None,
    }?;
    Some(Folding { run, rows, many, combine, identity })
}

/// The value that changes no other, bit by bit: for sums of floats −0, as −0 + 0 is 0.
fn identity(op: Op, dtype: Dtype) -> Option<Scalar> {
    match (op, dtype) {
        (Op::Add, Dtype::F32) => Some(Scalar::F32(-0.0)),
        (Op::Add, Dtype::F64) => Some(Scalar::F64(-0.0)),
        _ => stridewise_core::backend::Fold::Op(op).identity(dtype),
    }
}
