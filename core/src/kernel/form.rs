//! The form of a kernel: structured, plain data. Targets walk it, [`KernelBuilder`](super::KernelBuilder) makes it, and
//! one verifier says whether it is well formed.

use std::sync::Arc;

use smallvec::SmallVec;

use super::sync::{Atomic, AtomicOp, Collective, Fence, MemoryOrder, MemoryScope};
use crate::diagnostic::Position;
use crate::dtype::Dtype;
use crate::ops::Op;
use crate::scalar::Scalar;

/// Dimensions that an index space has at most.
pub const MAX_SPACE_DIMS: usize = 3;
/// Blocks that a statement is inside of, at most.
pub const MAX_DEPTH: usize = 128;
/// Elements that a memory object has at most whose extents the form says.
pub const MAX_OBJECT_LEN: usize = 1 << 20;

macro_rules! numbers {
    ($($(#[$doc:meta])* $Name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $Name(pub(crate) u32);

        impl $Name {
            /// Its number, counted from 0 in the order of definition.
            #[must_use]
            pub const fn number(self) -> usize {
                self.0 as usize
            }
            /// The one of a number, for who makes or changes forms without the builder; the verifier says whether there is
            /// such a one.
            #[must_use]
            pub const fn of_number(number: u32) -> Self {
                Self(number)
            }
        }
    )*};
}
numbers! {
    /// A value of a kernel: defined once, by a statement or as a scalar parameter, and the same ever after.
    Value;
    /// A mutable variable of a kernel, one for each item.
    Variable;
    /// A memory object of a kernel: what loads, stores and atomics name, with as many indices as it has dimensions.
    Object;
}

/// Where a memory object lives, and its extents where the form knows them.
#[derive(Clone, PartialEq, Debug)]
pub enum Memory {
    /// An array that is an argument of the launch.
    Global {
        /// Number of dimensions.
        ndim: usize,
        /// Whether the kernel may write it.
        writable: bool,
    },
    /// One array for each group, shared by its items; undefined until it is written.
    Local {
        /// The extents.
        shape: Vec<usize>,
    },
    /// The same with extents that the launch says: a parameter.
    LocalArgument {
        /// Number of dimensions.
        ndim: usize,
    },
    /// One array for each item; zeros until it is written.
    Private {
        /// The extents.
        shape: Vec<usize>,
    },
    /// Elements that are part of the kernel.
    Constant {
        /// The extents.
        shape: Vec<usize>,
        /// The elements in row-major order.
        elements: Arc<[Scalar]>,
    },
}

impl Memory {
    /// Number of dimensions.
    #[must_use]
    pub fn ndim(&self) -> usize {
        match self {
            Self::Global { ndim, .. } | Self::LocalArgument { ndim } => *ndim,
            Self::Local { shape } | Self::Private { shape } | Self::Constant { shape, .. } => shape.len(),
        }
    }
    /// Whether items of a group share it, and of no other.
    #[must_use]
    pub const fn is_local(&self) -> bool {
        matches!(self, Self::Local { .. } | Self::LocalArgument { .. })
    }
    /// Whether stores and atomics may name it.
    #[must_use]
    pub const fn is_writable(&self) -> bool {
        !matches!(self, Self::Global { writable: false, .. } | Self::Constant { .. })
    }
}

/// A memory object.
#[derive(Clone, PartialEq, Debug)]
pub struct ObjectInfo {
    /// Its name in the source.
    pub name: String,
    /// Dtype of the elements.
    pub dtype: Dtype,
    /// Where it lives.
    pub memory: Memory,
    /// Where it is declared.
    pub at: Position,
}

/// A mutable variable.
#[derive(Clone, PartialEq, Debug)]
pub struct VariableInfo {
    /// Its name in the source.
    pub name: String,
    /// Its dtype.
    pub dtype: Dtype,
}

/// What a launch gives to a kernel.
#[derive(Clone, PartialEq, Debug)]
pub enum Parameter {
    /// An array ([`Memory::Global`]) or local memory ([`Memory::LocalArgument`]).
    Object(Object),
    /// A scalar: a value that is defined from the start.
    Scalar {
        /// Its name in the source.
        name: String,
        /// The value.
        value: Value,
    },
}

/// Whose ids and ranges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Level {
    /// Of the item in the whole index space.
    Global,
    /// Of the item in its group.
    Local,
    /// Of the group.
    Group,
}

/// A place in the index space, or an extent of it. Axes are numbered as those of arrays: the last one is the fastest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Coordinate {
    /// The id along an axis.
    Id(u8),
    /// The extent along an axis: of items in all, of items in a group, of groups.
    Range(u8),
    /// The id in row-major order.
    LinearId,
}

/// What defines a value.
#[derive(Clone, PartialEq, Debug)]
pub enum Expression {
    /// A constant.
    Constant(Scalar),
    /// An operation on values of one dtype (the condition of [`Op::Where`] is `bool`). [`Op::Cast`] converts to the
    /// dtype of the value that is defined.
    Apply {
        /// The operation.
        op: Op,
        /// As many as its arity.
        operands: SmallVec<[Value; 3]>,
    },
    /// What a variable holds.
    Get(Variable),
    /// A place or an extent of the index space, an `int64`.
    Index {
        /// Whose.
        level: Level,
        /// Which.
        coordinate: Coordinate,
    },
    /// The extent of a memory object along an axis, an `int64`.
    Extent {
        /// The object.
        object: Object,
        /// The axis.
        axis: u8,
    },
    /// An element. Where an index is out of range, the nearest one counts; of an object without elements, zero.
    Load {
        /// The object.
        object: Object,
        /// Integers, one for each dimension.
        indices: SmallVec<[Value; 3]>,
    },
    /// A value that all items of the group make together: each of them comes here, or none. It is a barrier for local
    /// memory, too.
    Collective {
        /// How.
        collective: Collective,
        /// The item's own value.
        operand: Value,
    },
}

/// Statements that are executed one after another.
pub type Block = Vec<Statement>;

/// What one item does, with its place in the source.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// What.
    pub kind: StatementKind,
    /// Where it stands in the source.
    pub at: Position,
}

/// The kinds of statements.
#[derive(Clone, PartialEq, Debug)]
pub enum StatementKind {
    /// Defines a value.
    Let {
        /// The value.
        value: Value,
        /// What it is.
        expression: Expression,
    },
    /// Gives a variable a value.
    Set {
        /// The variable.
        variable: Variable,
        /// Of the same dtype.
        value: Value,
    },
    /// Writes an element. Where an index is out of range, nothing is written.
    Store {
        /// The object.
        object: Object,
        /// Integers, one for each dimension.
        indices: SmallVec<[Value; 3]>,
        /// Of the object's dtype.
        value: Value,
    },
    /// An atomic access.
    Atomic(Atomic),
    /// Orders the accesses of the item itself for others.
    Fence {
        /// What it orders.
        order: MemoryOrder,
        /// For whom.
        scope: MemoryScope,
    },
    /// Waits for all items of the group: each of them comes here, or none.
    Barrier(Fence),
    /// One of two blocks.
    If {
        /// A `bool`.
        condition: Value,
        /// Where it is true.
        then: Block,
        /// Where it is false.
        otherwise: Block,
    },
    /// A loop: `head`, and while the condition is true, `body` and `head` again.
    While {
        /// Computes the condition; no `break` or `continue` of this loop.
        head: Block,
        /// A `bool`, of `head` or before.
        condition: Value,
        /// What is repeated.
        body: Block,
    },
    /// A loop over `start`, `start + step`, … below `end` (above it, where the step is negative; not at all where it is
    /// 0), as Python's `range`. How often is known at the start.
    For {
        /// The value of the round, of the dtype of the three.
        counter: Value,
        /// The first one.
        start: Value,
        /// The bound, excluded.
        end: Value,
        /// From one to the next.
        step: Value,
        /// What is repeated.
        body: Block,
    },
    /// Leaves the innermost loop.
    Break,
    /// Goes on with the next round of the innermost loop.
    Continue,
    /// Leaves the innermost call, or the kernel.
    Return,
    /// A function, in the place of its call. What it returns is in a variable.
    Call {
        /// Its name in the source.
        function: Arc<str>,
        /// What it does.
        body: Block,
    },
    /// In checked mode an error where the condition is false; else nothing.
    Assert {
        /// A `bool`.
        condition: Value,
        /// What the error says.
        message: Arc<str>,
    },
}

impl StatementKind {
    /// The blocks inside, in the order of the text.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        let blocks: SmallVec<[&Block; 2]> = match self {
            Self::If { then, otherwise, .. } => smallvec::smallvec![then, otherwise],
            Self::While { head, body, .. } => smallvec::smallvec![head, body],
            Self::For { body, .. } | Self::Call { body, .. } => smallvec::smallvec![body],
            _ => SmallVec::new(),
        };
        blocks.into_iter()
    }

    /// The value that the statement defines for what follows.
    #[must_use]
    pub const fn defines(&self) -> Option<Value> {
        match self {
            Self::Let { value, .. } => Some(*value),
            Self::Atomic(atomic) => atomic.result,
            _ => None,
        }
    }

    /// The values that the statement itself uses, without those of its blocks.
    #[must_use]
    pub fn uses(&self) -> SmallVec<[Value; 6]> {
        let mut uses = SmallVec::new();
        match self {
            Self::Let { expression, .. } => match expression {
                Expression::Apply { operands, .. } => uses.extend_from_slice(operands),
                Expression::Load { indices, .. } => uses.extend_from_slice(indices),
                Expression::Collective { collective, operand } => {
                    uses.push(*operand);
                    if let Collective::Broadcast(from) = collective {
                        uses.push(*from);
                    }
                }
                Expression::Constant(_)
                | Expression::Get(_)
                | Expression::Index { .. }
                | Expression::Extent { .. } => {}
            },
            Self::Set { value, .. } => uses.push(*value),
            Self::Store { indices, value, .. } => {
                uses.extend_from_slice(indices);
                uses.push(*value);
            }
            Self::Atomic(atomic) => {
                uses.extend_from_slice(&atomic.indices);
                uses.extend(atomic.operand);
                if let AtomicOp::CompareExchange { expected } = atomic.op {
                    uses.push(expected);
                }
            }
            Self::If { condition, .. } | Self::While { condition, .. } | Self::Assert { condition, .. } => {
                uses.push(*condition);
            }
            Self::For { start, end, step, .. } => uses.extend_from_slice(&[*start, *end, *step]),
            Self::Fence { .. }
            | Self::Barrier(_)
            | Self::Break
            | Self::Continue
            | Self::Return
            | Self::Call { .. } => {}
        }
        uses
    }

    /// Whether the statement itself waits for the items of the group.
    #[must_use]
    pub const fn synchronises(&self) -> bool {
        matches!(self, Self::Barrier(_) | Self::Let { expression: Expression::Collective { .. }, .. })
    }

    /// Whether the statement, or any inside, waits for the items of the group.
    #[must_use]
    pub fn has_barrier(&self) -> bool {
        self.synchronises() || self.blocks().any(|block| block.iter().any(|s| s.kind.has_barrier()))
    }
}

/// A kernel as data.
#[derive(Clone, PartialEq, Debug)]
pub struct Form {
    /// Its name in the source.
    pub name: String,
    /// Dimensions of the index space, 1 to [`MAX_SPACE_DIMS`].
    pub dims: usize,
    /// In the order of the launch.
    pub parameters: Vec<Parameter>,
    /// All memory objects, by number.
    pub objects: Vec<ObjectInfo>,
    /// All variables, by number.
    pub variables: Vec<VariableInfo>,
    /// Dtypes of all values, by number.
    pub values: Vec<Dtype>,
    /// What each item does.
    pub body: Block,
}

impl Form {
    /// Dtype of a value.
    ///
    /// # Panics
    /// For a value of another form.
    #[must_use]
    pub fn dtype(&self, value: Value) -> Dtype {
        self.values[value.number()]
    }
    /// A memory object.
    ///
    /// # Panics
    /// For an object of another form.
    #[must_use]
    pub fn object(&self, object: Object) -> &ObjectInfo {
        &self.objects[object.number()]
    }

    /// Calls a function with every statement, each before those inside of it.
    pub fn for_each_statement<'a>(&'a self, mut visit: impl FnMut(&'a Statement)) {
        fn walk<'a>(block: &'a Block, visit: &mut impl FnMut(&'a Statement)) {
            for statement in block {
                visit(statement);
                statement.kind.blocks().for_each(|block| walk(block, visit));
            }
        }
        walk(&self.body, &mut visit);
    }
}
