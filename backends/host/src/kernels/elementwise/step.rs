//! From an operation, its dtypes and an instruction set to the function that runs it: once per plan and step.

use stridewise_core::ops::{
    AnalyticOp, BitsOp, FieldOp, FloatOp, FloatTest, IntOp, NumFn, NumOp, NumTest, PartOp, RealFn, RealOp,
    RealTest, Visitor, define,
};
use stridewise_core::{Complex, Dtype, Op};

use super::cast;
use super::choose::{Choose, LaneChooses, Moves};
use super::divide::divide;
use super::half_map::Functions;
use super::map::{
    ByAnalytic, ByBits, ByField, ByFloat, ByFloatTest, ByInt, ByNum, ByNumFn, ByNumTest, ByPart, ByReal,
    ByRealFn, ByRealTest, LaneMaps, LaneTestMaps, Magnitude, PlainMap, PlainPart, PlainTest,
};
use crate::kernels::entry::{StepFn, entry, function_entry, lane_entry, level_entry, wide_entry};
use crate::kernels::plain::{Flag, Truth, unsigned};
use crate::simd::Isa;

/// A step's function and what the compiler of plans must know of it.
#[derive(Clone, Copy)]
pub(crate) struct Resolved {
    /// The function.
    pub(crate) run: StepFn,
    /// Whether it is as fast in place. Loops that the compiler vectorised check for
    /// overlap and fall back to one element at a time.
    pub(crate) lanes: bool,
    /// Whether it reads every second element, or elements in reverse, where flags ask for it.
    pub(crate) strided: bool,
}

/// Arms of a match over the integers, or over a dtype and its scalar.
macro_rules! plain {
    ($self:ident, $Kernel:ident, $W:ty, $K:ident, unsigned $($more:ident $P:ty),*) => {
        match $self.dtype {
            Dtype::U8 => plain!(@ $self, $Kernel, u8, $W, $K),
            Dtype::U16 => plain!(@ $self, $Kernel, u16, $W, $K),
            Dtype::U32 => plain!(@ $self, $Kernel, u32, $W, $K),
            Dtype::U64 => plain!(@ $self, $Kernel, u64, $W, $K),
            $(Dtype::$more => plain!(@ $self, $Kernel, $P, $W, $K),)*
            _ => None,
        }
    };
    ($self:ident, $Kernel:ident, $W:ty, $K:ident, integers $($more:ident $P:ty),*) => {
        match $self.dtype {
            Dtype::I8 => plain!(@ $self, $Kernel, i8, $W, $K),
            Dtype::I16 => plain!(@ $self, $Kernel, i16, $W, $K),
            Dtype::I32 => plain!(@ $self, $Kernel, i32, $W, $K),
            Dtype::I64 => plain!(@ $self, $Kernel, i64, $W, $K),
            Dtype::U8 => plain!(@ $self, $Kernel, u8, $W, $K),
            Dtype::U16 => plain!(@ $self, $Kernel, u16, $W, $K),
            Dtype::U32 => plain!(@ $self, $Kernel, u32, $W, $K),
            Dtype::U64 => plain!(@ $self, $Kernel, u64, $W, $K),
            $(Dtype::$more => plain!(@ $self, $Kernel, $P, $W, $K),)*
            _ => None,
        }
    };
    ($self:ident, $Kernel:ident, $W:ty, $K:ident, $($more:ident $P:ty),*) => {
        match $self.dtype {
            $(Dtype::$more => plain!(@ $self, $Kernel, $P, $W, $K),)*
            _ => None,
        }
    };
    (@ $self:ident, $Kernel:ident, $P:ty, $W:ty, $K:ident) => {
        Some(Resolved { run: entry::<$Kernel<$P, $W, $K>>($self.isa), lanes: false, strided: false })
    };
}

/// The function for an operation on operands of a dtype; `None` where the operation does not take the dtype.
pub(crate) fn resolve(op: Op, dtype: Dtype, out: Dtype, isa: Isa) -> Option<Resolved> {
    if !op.allows(dtype) {
        return None;
    }
    let resolve = Resolve { dtype, out, isa };
    const ONE: usize = 1;
    match (op, dtype) {
        // All others of its class give the same bits with a sign and without.
        (Op::Sign, Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64) => {
            plain!(resolve, PlainMap, ByNum<define::Sign>, ONE, I8 i8, I16 i16, I32 i32, I64 i64)
        }
        // The one function that knows its format: not float32's.
        (Op::Nextafter, Dtype::F16 | Dtype::Bf16) => {
            Resolve::lanes(lane_entry::<LaneMaps<ByFloat<define::Nextafter>, 2>>(isa, dtype))
        }
        // One instruction, whatever its class.
        (Op::Sqrt, Dtype::F32 | Dtype::F64) => {
            Resolve::lanes(wide_entry::<LaneMaps<ByAnalytic<define::Sqrt>, 1>>(isa, dtype))
        }
        // No level divides integers by vectors.
        (Op::FloorDivide, dtype) if dtype.kind().is_integer() => Resolve::test(divide::<false>(isa, dtype)),
        (Op::Remainder, dtype) if dtype.kind().is_integer() => Resolve::test(divide::<true>(isa, dtype)),
        // Its parts are squared as `float64`, which the compiler makes vector code of.
        (Op::Abs, Dtype::C64) => Resolve::test(Some(entry::<Magnitude>(isa))),
        _ => op.visit(resolve),
    }
}

struct Resolve {
    dtype: Dtype,
    out: Dtype,
    isa: Isa,
}

impl Resolve {
    fn lanes(run: Option<StepFn>) -> Option<Resolved> {
        run.map(|run| Resolved { run, lanes: true, strided: true })
    }
    fn function(run: Option<StepFn>) -> Option<Resolved> {
        run.map(|run| Resolved { run, lanes: true, strided: false })
    }
    fn test(run: Option<StepFn>) -> Option<Resolved> {
        run.map(|run| Resolved { run, lanes: false, strided: false })
    }
}

impl Visitor for Resolve {
    type Out = Option<Resolved>;

    fn num<O: NumOp<K>, const K: usize>(mut self) -> Self::Out {
        self.dtype = unsigned(self.dtype);
        Self::lanes(lane_entry::<LaneMaps<ByNum<O>, K>>(self.isa, self.dtype))
            .or_else(|| plain!(self, PlainMap, ByNum<O>, K, unsigned C64 Complex<f32>, C128 Complex<f64>))
    }
    fn num_fn<O: NumFn<K>, const K: usize>(self) -> Self::Out {
        Self::function(function_entry::<Functions<ByNumFn<O>, K>>(self.isa, self.dtype))
            .or_else(|| plain!(self, PlainMap, ByNumFn<O>, K, integers C64 Complex<f32>, C128 Complex<f64>))
    }
    fn part<O: PartOp<K>, const K: usize>(self) -> Self::Out {
        Self::lanes(lane_entry::<LaneMaps<ByPart<O>, K>>(self.isa, self.dtype))
            .or_else(|| plain!(self, PlainPart, ByPart<O>, K, C64 Complex<f32>, C128 Complex<f64>))
            .or_else(|| plain!(self, PlainMap, ByPart<O>, K, integers))
    }
    fn analytic<O: AnalyticOp<K>, const K: usize>(self) -> Self::Out {
        Self::function(function_entry::<Functions<ByAnalytic<O>, K>>(self.isa, self.dtype))
            .or_else(|| plain!(self, PlainMap, ByAnalytic<O>, K, C64 Complex<f32>, C128 Complex<f64>))
    }
    fn real_fn<O: RealFn<K>, const K: usize>(self) -> Self::Out {
        Self::function(function_entry::<Functions<ByRealFn<O>, K>>(self.isa, self.dtype))
    }
    fn num_test<O: NumTest<K>, const K: usize>(mut self) -> Self::Out {
        self.dtype = unsigned(self.dtype);
        Self::test(lane_entry::<LaneTestMaps<ByNumTest<O>, K>>(self.isa, self.dtype)).or_else(
            || plain!(self, PlainTest, ByNumTest<O>, K, unsigned Bool Truth, C64 Complex<f32>, C128 Complex<f64>),
        )
    }
    fn field<O: FieldOp<K>, const K: usize>(self) -> Self::Out {
        Self::lanes(lane_entry::<LaneMaps<ByField<O>, K>>(self.isa, self.dtype))
            .or_else(|| plain!(self, PlainMap, ByField<O>, K, C64 Complex<f32>, C128 Complex<f64>))
    }
    fn real<O: RealOp<K>, const K: usize>(self) -> Self::Out {
        Self::lanes(lane_entry::<LaneMaps<ByReal<O>, K>>(self.isa, self.dtype))
            .or_else(|| plain!(self, PlainMap, ByReal<O>, K, integers Bool Truth))
    }
    fn real_test<O: RealTest<K>, const K: usize>(self) -> Self::Out {
        Self::test(lane_entry::<LaneTestMaps<ByRealTest<O>, K>>(self.isa, self.dtype))
            .or_else(|| plain!(self, PlainTest, ByRealTest<O>, K, integers Bool Truth))
    }
    fn float<O: FloatOp<K>, const K: usize>(self) -> Self::Out {
        Self::function(function_entry::<Functions<ByFloat<O>, K>>(self.isa, self.dtype))
    }
    fn float_test<O: FloatTest<K>, const K: usize>(self) -> Self::Out {
        Self::test(lane_entry::<LaneTestMaps<ByFloatTest<O>, K>>(self.isa, self.dtype))
    }
    fn bits<O: BitsOp<K>, const K: usize>(mut self) -> Self::Out {
        self.dtype = unsigned(self.dtype);
        plain!(self, PlainMap, ByBits<O>, K, unsigned Bool Flag)
    }
    fn int<O: IntOp<K>, const K: usize>(self) -> Self::Out {
        plain!(self, PlainMap, ByInt<O>, K, integers)
    }

    fn cast(self) -> Self::Out {
        Some(Resolved { run: cast::convert(self.dtype, self.out, self.isa), lanes: false, strided: false })
    }
    fn copy(self) -> Self::Out {
        Some(Resolved { run: copy(self.dtype.size(), self.isa), lanes: true, strided: false })
    }
    fn select(self) -> Self::Out {
        // As vectors of floats of the size; complex64 is aligned to its parts, so a scalar of it is no float64.
        let floats = match (self.dtype, self.dtype.size()) {
            (Dtype::C64, _) => None,
            (_, 4) => Some(Dtype::F32),
            (_, 8) => Some(Dtype::F64),
            _ => None,
        };
        if let Some(run) = floats.and_then(|d| wide_entry::<LaneChooses>(self.isa, d)) {
            return Some(Resolved { run, lanes: true, strided: false });
        }
        let run = match (self.dtype, self.dtype.size()) {
            // Complex numbers are aligned to their parts.
            (Dtype::C64, _) => entry::<Choose<[u32; 2]>>(self.isa),
            (_, 1) => entry::<Choose<u8>>(self.isa),
            (_, 2) => entry::<Choose<u16>>(self.isa),
            _ => entry::<Choose<[u64; 2]>>(self.isa),
        };
        Some(Resolved { run, lanes: false, strided: false })
    }
}

/// Copies elements of 1, 2, 4, 8 or 16 bytes; repeats a scalar operand.
pub(crate) fn copy(size: usize, isa: Isa) -> StepFn {
    match size {
        1 => level_entry::<Moves<u8>>(isa),
        2 => level_entry::<Moves<u16>>(isa),
        4 => level_entry::<Moves<u32>>(isa),
        8 => level_entry::<Moves<[u32; 2]>>(isa),
        _ => level_entry::<Moves<[u64; 2]>>(isa),
    }
}
