//! Kernels that users write: what one item does, launched over an index space of items in groups.
//!
//! A kernel is data, as programs are: a structured [`Form`] that a [`KernelBuilder`] makes, statement by statement, each
//! with its place in the source; the attribute `kernel` calls it for what a function says. [`Kernel::new`] verifies it, once and for all targets; what they share of analyses comes
//! with it. [`oracle`] runs kernels one item at a time, as the rules say, and watches that items keep them.
//!
//! **Items and groups.** The index space has up to three dimensions, the last one the fastest. Items of a group share local
//! memory and meet at barriers and collectives; groups are independent of each other, and may run in any order.
//!
//! **Memory.** Loads, stores and atomics name an object and one index for each dimension, never an address. An index out of
//! range never leaves the object: a load takes the nearest element (zero, where there is none), a store writes nothing, an
//! atomic access changes nothing and gives the nearest element. Local memory is undefined until it is written.
//!
//! **Races.** Items race where they access an element, one of them to write it, with no barrier between them and not both
//! atomically. What they read and what stays is then any of the values, or parts of several; nothing else happens. Items of
//! different groups have no barrier between them. No item may wait for another one but by a barrier or collective. Checked mode
//! ([`Kernel::launch_checked`], [`Watch`]) names who breaks a rule, and the line. A launch may have a time limit
//! ([`LaunchOptions`]).
//!
//! **Sources.** A [`KernelBundle`] has kernels in other systems' languages, such as OpenCL C and SPIR-V, on devices that compile these. Nobody
//! checks what they do.
//!
//! **Arithmetic** is that of the engine's operations ([`Op`](crate::Op)), so `exp` in a kernel is `exp` of arrays.

mod launch;
mod source;
pub mod typed;

pub use crate::backend::{Language, ParameterSpace, Source, SourceKernelInfo, SourceParameter};
pub use crate::diagnostic::{Diagnostic, Position, Rule};
pub use crate::form::{
    Access, Atomic, AtomicOp, Block, Class, Collective, Coordinate, ENDLESS, Expression, Fence, Form, Kernel,
    KernelArgument, KernelBuilder, KernelLaunch, LaunchOptions, Level, MAX_DEPTH, MAX_OBJECT_LEN,
    MAX_SPACE_DIMS, Memory, MemoryOrder, MemoryScope, NdRange, Object, ObjectInfo, Operand, Parameter, Part,
    Space, Statement, StatementKind, Value, Variable, VariableInfo, Walk, Watch, Watched, failed_assertion,
    oracle,
};
pub use launch::Argument;
pub(crate) use launch::{CHECK_VARIABLE, LIMIT};
pub use source::{KernelBundle, SourceArgument, SourceKernel};
pub use typed::{Global, Item, Local, Private};
