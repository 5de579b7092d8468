//! The form of a kernel: structured, plain data. Targets walk it, [`KernelBuilder`](super::KernelBuilder)
//! makes it, and one verifier says whether it is well formed.
//!
//! ```text
//! Form ─ parameters, objects (arrays), variables, the dtype of each value
//!      └ body: [Statement] ─ Let value = Expression │ Set variable │ Store │ If { [Statement] } │ For { [Statement] } │ Barrier │ …
//! ```
//! A value is defined once and never changes; what changes is a variable, or an element of an object. Blocks
//! are lists inside of statements, and jumps name no label: `Break`, `Continue` and `Return` leave the
//! innermost loop or call. So targets need no graph. [`Form::walk`] goes through all of it without recursion,
//! and numbers the statements; who reads a form uses it.
//!
//! The types are public and can be written by hand, so a target may rely on nothing that `verify.rs` does not
//! check. A new statement is a variant here first; the recipe in `CONTRIBUTING.md` has the other files.

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
        #[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
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
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
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
        elements: Arc<Vec<Scalar>>,
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
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
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
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub struct VariableInfo {
    /// Its name in the source.
    pub name: String,
    /// Its dtype.
    pub dtype: Dtype,
}

/// What a launch gives to a kernel.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
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
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
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
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub enum Coordinate {
    /// The id along an axis.
    Id(u8),
    /// The extent along an axis: of items in all, of items that the group has, of groups.
    Range(u8),
    /// The id in row-major order.
    LinearId,
}

/// What defines a value.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
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
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub struct Statement {
    /// What.
    pub kind: StatementKind,
    /// Where it stands in the source.
    pub at: Position,
}

/// The kinds of statements.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
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
    /// An error where the condition is false, which ends the launch.
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
        (0..self.block_count()).filter_map(|number| self.nth_block(number))
    }

    /// How many blocks are inside.
    #[must_use]
    pub const fn block_count(&self) -> usize {
        match self {
            Self::If { .. } | Self::While { .. } => 2,
            Self::For { .. } | Self::Call { .. } => 1,
            _ => 0,
        }
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
        self.synchronises() || self.inside().any(|statement| statement.kind.synchronises())
    }

    /// All statements inside, in the order of the text.
    pub fn inside(&self) -> impl Iterator<Item = &Statement> {
        self.blocks().flat_map(|block| Walk::new(block)).filter_map(|part| match part {
            Part::Statement { statement, .. } => Some(statement),
            Part::Enter(..) | Part::Leave(..) => None,
        })
    }

    /// The block of a number, of those of [`blocks`](Self::blocks).
    fn nth_block(&self, number: usize) -> Option<&Block> {
        match (self, number) {
            (Self::If { then: block, .. } | Self::While { head: block, .. }, 0)
            | (Self::If { otherwise: block, .. } | Self::While { body: block, .. }, 1)
            | (Self::For { body: block, .. } | Self::Call { body: block, .. }, 0) => Some(block),
            _ => None,
        }
    }

    /// Takes the blocks out.
    fn take_blocks(&mut self) -> [Block; 2] {
        match self {
            Self::If { then: first, otherwise: second, .. }
            | Self::While { head: first, body: second, .. } => {
                [std::mem::take(first), std::mem::take(second)]
            }
            Self::For { body, .. } | Self::Call { body, .. } => [std::mem::take(body), Block::new()],
            _ => [Block::new(), Block::new()],
        }
    }
}

impl Drop for Statement {
    /// One statement after the other, however deep they are inside of each other: forms that are handed in may be as deep as one likes.
    fn drop(&mut self) {
        let mut all = Block::new();
        let mut blocks = self.kind.take_blocks();
        loop {
            for block in &mut blocks {
                if all.is_empty() {
                    all = std::mem::take(block);
                } else if all.try_reserve(block.len()).is_ok() {
                    all.append(block);
                }
                // Without memory for it, a block goes by itself, and what is inside of it in it.
            }
            let Some(mut last) = all.pop() else { return };
            blocks = last.kind.take_blocks();
        }
    }
}

/// A part of a form's text.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// A statement; its blocks come next.
    Statement {
        /// The statement.
        statement: &'a Statement,
        /// What stands behind it in its block.
        rest: &'a [Statement],
    },
    /// The block of a number begins, of a statement's ([`StatementKind::blocks`]).
    Enter(&'a Statement, usize),
    /// That block ends. With the last one, the statement does.
    Leave(&'a Statement, usize),
}

/// The parts of a block, in the order of the text: whoever reads forms goes by this, and needs no more of its stack for deep ones.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    /// Of each open block what is left of it, and which one it is.
    open: SmallVec<[(&'a [Statement], Option<Numbered<'a>>); 8]>,
    /// A block that is entered next.
    next: Option<Numbered<'a>>,
}

/// A statement with the number of one of its blocks.
type Numbered<'a> = (&'a Statement, usize);

impl<'a> Walk<'a> {
    /// Begins with the first statement of a block.
    #[must_use]
    pub fn new(block: &'a [Statement]) -> Self {
        Self { open: smallvec::smallvec![(block, None)], next: None }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        if let Some((statement, number)) = self.next.take()
            && let Some(block) = statement.kind.nth_block(number)
        {
            self.open.push((block, Some((statement, number))));
            return Some(Part::Enter(statement, number));
        }
        let (left, owner) = self.open.last_mut()?;
        if let [statement, rest @ ..] = *left {
            *left = rest;
            self.next = Some((statement, 0));
            return Some(Part::Statement { statement, rest });
        }
        let owner = *owner;
        self.open.pop();
        let (statement, number) = owner?;
        self.next = Some((statement, number + 1));
        Some(Part::Leave(statement, number))
    }
}

/// A kernel as data.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
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

    /// The parts of the body, in the order of the text.
    #[must_use]
    pub fn walk(&self) -> Walk<'_> {
        Walk::new(&self.body)
    }

    /// Calls a function with every statement, each before those inside of it.
    pub fn for_each_statement<'a>(&'a self, mut visit: impl FnMut(&'a Statement)) {
        for part in self.walk() {
            if let Part::Statement { statement, .. } = part {
                visit(statement);
            }
        }
    }
}
