//! Kernels that users write: what one item does, launched over an index space of items in groups.
//!
//! A kernel is a function that every *item* of an index space runs. Each reads and writes elements of the arrays that the launch
//! names, and knows which item it is. In a program it is a function of Rust with the attribute `#[stridewise::kernel]`, whose page
//! says what such a function may contain; rustc checks it, and no compiler is needed when the program runs. The host runs it as
//! machine code or by vectors, an OpenCL device gets it as OpenCL C. A launch is ordered as any operation is: it waits for what
//! writes its arrays, and what reads them waits for it.
//!
//! **A kernel or an expression?** An expression of arrays, such as `(&x * &x + 1.0).sqrt()`, is one pass over memory already, on every
//! device, and needs no kernel; neither do conditions of elements ([`where_`](crate::where_)), reductions, scans, sorts and products of
//! matrices. Write a kernel where an item loops until its own condition holds, where it writes elsewhere than at its own place, where
//! items share memory or atomics, or where one pass is to compute what several expressions would.
#![cfg_attr(not(doctest), doc = include_str!("examples.md"))]
//!
//! # The rules
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
//!
//! # What a kernel is made of
//!
//! A kernel is data, as programs are: a structured [`Form`] that a [`KernelBuilder`] makes, statement by statement, each
//! with its place in the source; the attribute calls it for what a function says ([`typed`]). [`Kernel::new`] verifies it, once and
//! for all targets; what they share of analyses comes with it. [`oracle`] runs kernels one item at a time, as the rules say, and
//! watches that items keep them.

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
