//! What items do together: collectives, atomic accesses, fences.

use smallvec::SmallVec;

use super::tree::{Object, Value};
use crate::dtype::Dtype;
use crate::ops::{self, Op};
use crate::scalar::Scalar;

/// How the items of a group combine a value of each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub enum Collective {
    /// All values, folded in the order of local linear ids; see [`Collective::folds`].
    Reduce(Op),
    /// The same up to and with the item's own.
    InclusiveScan(Op),
    /// The same up to the item's own, without it; the first item has the operation's identity.
    ExclusiveScan(Op),
    /// The value of the item with a local linear id, which is the same for all.
    Broadcast(Value),
    /// Whether all are true.
    All,
    /// Whether any is.
    Any,
}

impl Collective {
    /// Whether reductions and scans fold by an operation.
    #[must_use]
    pub const fn folds(op: Op) -> bool {
        matches!(
            op,
            Op::Add
                | Op::Multiply
                | Op::Minimum
                | Op::Maximum
                | Op::BitwiseAnd
                | Op::BitwiseOr
                | Op::BitwiseXor
        )
    }

    /// The value that such an operation leaves every other one as it is with.
    #[must_use]
    pub fn identity(op: Op, dtype: Dtype) -> Option<Scalar> {
        match op {
            Op::BitwiseOr | Op::BitwiseXor => Some(Scalar::I8(0).cast(dtype)),
            Op::BitwiseAnd => Some(Scalar::I8(-1).cast(dtype)),
            _ => ops::identity(op, dtype),
        }
    }
}

/// What an atomic access does to an element. The result is what was there before.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub enum AtomicOp {
    /// Nothing.
    Load,
    /// Writes the operand; there is no result.
    Store,
    /// Writes the operand.
    Exchange,
    /// Writes the operand where the element has the same bits as the expected value.
    CompareExchange {
        /// The expected value.
        expected: Value,
    },
    /// Writes the sum.
    Add,
    /// Writes the difference.
    Subtract,
    /// Writes the smaller one, as [`Op::Minimum`].
    Minimum,
    /// Writes the larger one, as [`Op::Maximum`].
    Maximum,
    /// Writes the bits of both; integers only.
    And,
    /// Writes the bits of either; integers only.
    Or,
    /// Writes the bits of one of them; integers only.
    Xor,
}

impl AtomicOp {
    /// The operation that combines the element and the operand, where there is one.
    #[must_use]
    pub const fn combines(self) -> Option<Op> {
        match self {
            Self::Add => Some(Op::Add),
            Self::Subtract => Some(Op::Subtract),
            Self::Minimum => Some(Op::Minimum),
            Self::Maximum => Some(Op::Maximum),
            Self::And => Some(Op::BitwiseAnd),
            Self::Or => Some(Op::BitwiseOr),
            Self::Xor => Some(Op::BitwiseXor),
            Self::Load | Self::Store | Self::Exchange | Self::CompareExchange { .. } => None,
        }
    }
    /// The name in text and errors.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Exchange => "exchange",
            Self::CompareExchange { .. } => "compare_exchange",
            Self::Add => "add",
            Self::Subtract => "sub",
            Self::Minimum => "min",
            Self::Maximum => "max",
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
        }
    }
    /// Whether atomics exist for elements of a dtype: 32 and 64 bits, real, and bits only of integers.
    #[must_use]
    pub const fn allows(self, dtype: Dtype) -> bool {
        match dtype {
            Dtype::I32 | Dtype::I64 | Dtype::U32 | Dtype::U64 => true,
            Dtype::F32 | Dtype::F64 => !matches!(self, Self::And | Self::Or | Self::Xor),
            _ => false,
        }
    }
}

/// What an atomic access orders (SYCL 2020, `memory_order`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub enum MemoryOrder {
    /// Nothing but the element itself.
    #[default]
    Relaxed,
    /// What follows comes later.
    Acquire,
    /// What precedes comes earlier.
    Release,
    /// Both.
    AcqRel,
    /// Both, and all such accesses have one order.
    SeqCst,
}

/// For whom an atomic access or fence is one (SYCL 2020, `memory_scope`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub enum MemoryScope {
    /// The item.
    WorkItem,
    /// The items of a group that a device runs together.
    SubGroup,
    /// The group.
    WorkGroup,
    /// The device.
    #[default]
    Device,
    /// All devices and the host.
    System,
}

/// Which accesses of before a barrier are seen behind it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub struct Fence {
    /// Those to local memory.
    pub local: bool,
    /// Those to global memory, by the items of the group.
    pub global: bool,
}

impl Fence {
    /// Local memory only.
    pub const LOCAL: Self = Self { local: true, global: false };
    /// Global memory only.
    pub const GLOBAL: Self = Self { local: false, global: true };
    /// Both.
    pub const BOTH: Self = Self { local: true, global: true };
}

/// An atomic access.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub struct Atomic {
    /// What it does.
    pub op: AtomicOp,
    /// Global or local memory.
    pub object: Object,
    /// Integers, one for each dimension. Out of range nothing is written, and the result is the nearest element.
    pub indices: SmallVec<[Value; 3]>,
    /// The operand; [`AtomicOp::Load`] has none.
    pub operand: Option<Value>,
    /// Defined as what was there before, where the kernel wants it.
    pub result: Option<Value>,
    /// What it orders.
    pub order: MemoryOrder,
    /// For whom.
    pub scope: MemoryScope,
}
