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
//! ([`Kernel::launch_checked`], [`Watch`]) names who breaks a rule, and the line.
//!
//! **Sources.** A [`KernelBundle`] has kernels in other systems' forms, OpenCL C and SPIR-V, on devices that compile these. Nobody
//! checks what they do.
//!
//! **Arithmetic** is that of the engine's operations ([`Op`](crate::Op)), so `exp` in a kernel is `exp` of arrays.

mod builder;

mod flow;
mod form;
mod launch;
mod liveness;
pub mod oracle;
mod source;
mod space;
mod sync;
mod text;
pub mod typed;
mod verify;
mod watch;

#[cfg(test)]
mod tests;

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

pub use crate::array::Argument;
pub use crate::diagnostic::{Diagnostic, Position, Rule};
pub use builder::{KernelBuilder, Operand};
pub use flow::Class;
pub use form::{
    Block, Coordinate, Expression, Form, Level, MAX_DEPTH, MAX_OBJECT_LEN, MAX_SPACE_DIMS, Memory, Object,
    ObjectInfo, Parameter, Statement, StatementKind, Value, Variable, VariableInfo,
};
pub use launch::{KernelArgument, KernelLaunch};
pub use source::{
    CompiledKernel, KernelBundle, ParameterSpace, Source, SourceArgument, SourceKernel, SourceKernelInfo,
    SourceLaunch, SourceParameter, SourceValue,
};
pub use space::{NdRange, Space};
pub use sync::{Atomic, AtomicOp, Collective, Fence, MemoryOrder, MemoryScope};
pub use typed::{Global, Item, Local, Private};
pub use watch::{Access, ENDLESS, Watch};

use smallvec::SmallVec;

use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::sync::RwLock;

/// A verified kernel, with what is known of it. Cheap to clone.
#[derive(Clone)]
pub struct Kernel(Arc<Verified>);

/// Number of the next kernel.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

struct Verified {
    /// Which one it is, of all of this process.
    number: u64,
    form: Form,
    classes: Vec<Class>,
    ends: Vec<Vec<Value>>,
    reads: Vec<bool>,
    writes: Vec<bool>,
    grouped: bool,
    /// What it computes and stores in, each once.
    dtypes: SmallVec<[Dtype; 8]>,
    /// What backends have made of it, by what it depends on beside the kernel.
    prepared: RwLock<SmallVec<[(u64, Prepared); 1]>>,
}

/// What a backend runs a kernel with.
type Prepared = Arc<dyn Any + Send + Sync>;

impl Kernel {
    /// Verifies a form: types, scopes, nesting, definite assignment, barriers and collectives in uniform control flow,
    /// recursion, index counts, read-only arguments.
    ///
    /// # Errors
    /// [`Error::Kernel`] with the rule that is broken, and where.
    pub fn new(form: Form) -> Result<Self> {
        verify::verify(&form).map_err(Error::kernel)?;
        let classes = flow::check(&form).map_err(Error::kernel)?;
        let ends = liveness::ends(&form);
        let (mut reads, mut writes) = (vec![false; form.objects.len()], vec![false; form.objects.len()]);
        let mut grouped = form.objects.iter().any(|object| object.memory.is_local());
        form.for_each_statement(|statement| {
            grouped |= statement.kind.synchronises();
            match &statement.kind {
                StatementKind::Let { expression, .. } => match expression {
                    Expression::Load { object, .. } => reads[object.number()] = true,
                    Expression::Index { level: Level::Local | Level::Group, .. } => grouped = true,
                    _ => {}
                },
                StatementKind::Store { object, .. } => writes[object.number()] = true,
                StatementKind::Atomic(atomic) => {
                    reads[atomic.object.number()] |= atomic.op != AtomicOp::Store;
                    writes[atomic.object.number()] |= atomic.op != AtomicOp::Load;
                }
                _ => {}
            }
        });
        let mut dtypes = SmallVec::new();
        let objects = form.objects.iter().map(|object| object.dtype);
        let variables = form.variables.iter().map(|variable| variable.dtype);
        for dtype in form.values.iter().copied().chain(objects).chain(variables) {
            if !dtypes.contains(&dtype) {
                dtypes.push(dtype);
            }
        }
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        let prepared = RwLock::default();
        Ok(Self(Arc::new(Verified { number, form, classes, ends, reads, writes, grouped, dtypes, prepared })))
    }

    /// The form.
    #[must_use]
    pub fn form(&self) -> &Form {
        &self.0.form
    }
    /// A number that no other kernel of this process has or had; clones are the same kernel.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.0.number
    }
    /// What a backend runs the kernel with: made once for each of a few keys, which say what it depends on beside the kernel,
    /// and kept as long as the kernel. `None` where it cannot be made.
    pub fn prepared<T: Any + Send + Sync>(
        &self,
        key: u64,
        make: impl FnOnce() -> Option<T>,
    ) -> Option<Arc<T>> {
        let find = |list: &[(u64, Prepared)]| {
            let all = list.iter().filter(|(known, _)| *known == key);
            all.filter_map(|(_, made)| Arc::clone(made).downcast::<T>().ok()).next()
        };
        if let Some(found) = find(&self.0.prepared.read().unwrap_or_else(PoisonError::into_inner)) {
            return Some(found);
        }
        // Not under the lock: of two threads that make it, the second one's goes.
        let made = Arc::new(make()?);
        let mut list = self.0.prepared.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = find(&list) {
            return Some(found);
        }
        list.push((key, Arc::clone(&made) as Prepared));
        Some(made)
    }
    /// What it computes and stores in, each once.
    pub(crate) fn dtypes(&self) -> &[Dtype] {
        &self.0.dtypes
    }
    /// The name in the source.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.form.name
    }
    /// How a value differs between the items of a group that come to it together.
    ///
    /// # Panics
    /// For a value of another kernel.
    #[must_use]
    pub fn class(&self, value: Value) -> Class {
        self.0.classes[value.number()]
    }
    /// The values that nothing needs behind a statement; statements are counted in the order of the text, each before those
    /// inside of it.
    ///
    /// # Panics
    /// Where there is no such statement.
    #[must_use]
    pub fn ends_at(&self, statement: usize) -> &[Value] {
        &self.0.ends[statement]
    }
    /// Whether items read an object.
    ///
    /// # Panics
    /// For an object of another kernel.
    #[must_use]
    pub fn reads(&self, object: Object) -> bool {
        self.0.reads[object.number()]
    }
    /// Whether items write an object.
    ///
    /// # Panics
    /// For an object of another kernel.
    #[must_use]
    pub fn writes(&self, object: Object) -> bool {
        self.0.writes[object.number()]
    }
    /// Whether it matters how items are grouped: there is local memory, a barrier, a collective or an id in a group.
    #[must_use]
    pub fn is_grouped(&self) -> bool {
        self.0.grouped
    }
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.form == other.0.form
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.form.fmt(f)
    }
}
impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({}<{}>)", self.name(), self.form().dims)
    }
}
