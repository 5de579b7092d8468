//! What a kernel is: its form, the builder, the verifier, analyses that all targets share, and the oracle that runs one item at a
//! time. Users see it as [`kernel`](crate::kernel), with what launches kernels.

mod builder;

mod flow;
mod launch;
mod liveness;
pub mod oracle;
mod shadow;
mod space;
mod sync;
mod text;
mod tree;
mod verify;
mod watch;

#[cfg(test)]
mod tests;

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

pub use builder::{KernelBuilder, Operand};
pub use flow::Class;
pub use launch::{KernelArgument, KernelLaunch, LaunchOptions};
pub use space::{NdRange, Space};
pub use sync::{Atomic, AtomicOp, Collective, Fence, MemoryOrder, MemoryScope};
pub use tree::{
    Block, Coordinate, Expression, Form, Level, MAX_DEPTH, MAX_OBJECT_LEN, MAX_SPACE_DIMS, Memory, Object,
    ObjectInfo, Parameter, Part, Statement, StatementKind, Value, Variable, VariableInfo, Walk,
};
pub use watch::{Access, ENDLESS, Watch, Watched, failed_assertion};

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
    asserts: bool,
    private_bytes: u64,
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
        let mut asserts = false;
        form.for_each_statement(|statement| {
            grouped |= statement.kind.synchronises();
            match &statement.kind {
                StatementKind::Let { expression, .. } => match expression {
                    Expression::Load { object, .. } => reads[object.number()] = true,
                    Expression::Index { level: Level::Local | Level::Group, .. } => grouped = true,
                    _ => {}
                },
                StatementKind::Store { object, .. } => writes[object.number()] = true,
                StatementKind::Assert { .. } => asserts = true,
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
        let private = form.objects.iter().filter_map(|object| match &object.memory {
            Memory::Private { shape } => Some((shape.iter().product::<usize>() * object.dtype.size()) as u64),
            _ => None,
        });
        let private_bytes = private.fold(0, u64::saturating_add);
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        let prepared = RwLock::default();
        Ok(Self(Arc::new(Verified {
            number,
            form,
            classes,
            ends,
            reads,
            writes,
            grouped,
            asserts,
            private_bytes,
            dtypes,
            prepared,
        })))
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
    /// Bytes of arrays that each item has for itself.
    #[must_use]
    pub fn private_bytes(&self) -> u64 {
        self.0.private_bytes
    }
    /// Whether items assert something: the launch fails where that is false.
    #[must_use]
    pub fn asserts(&self) -> bool {
        self.0.asserts
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
