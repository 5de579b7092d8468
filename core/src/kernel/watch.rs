//! What checked mode watches: that items keep the rules while they run. The oracle and the backends ask here, so that they say
//! the same.

use std::fmt;

use super::Kernel;
use super::form::{Memory, Object};
use super::space::Space;
use super::sync::{AtomicOp, Fence};
use super::text::List;
use crate::diagnostic::{Diagnostic, Position, Rule};

/// Rounds of a loop that counts nothing, or steps of an item, from one barrier to the next, after which checked mode takes it
/// to go on for ever.
pub const ENDLESS: u64 = 1 << 24;

/// How an element is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// It is read.
    Read,
    /// It is written.
    Write,
    /// It is read atomically.
    AtomicRead,
    /// It is read and written atomically.
    AtomicUpdate,
    /// It is written atomically, whatever it was.
    AtomicWrite,
}

impl Access {
    /// What an atomic access is.
    #[must_use]
    pub const fn of(op: AtomicOp) -> Self {
        match op {
            AtomicOp::Load => Self::AtomicRead,
            AtomicOp::Store => Self::AtomicWrite,
            _ => Self::AtomicUpdate,
        }
    }
    const fn verb(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::AtomicRead | Self::AtomicUpdate | Self::AtomicWrite => "accesses atomically",
        }
    }
    const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::AtomicUpdate | Self::AtomicWrite)
    }
    const fn is_atomic(self) -> bool {
        matches!(self, Self::AtomicRead | Self::AtomicUpdate | Self::AtomicWrite)
    }
    const fn reads(self) -> bool {
        !matches!(self, Self::Write | Self::AtomicWrite)
    }
}

/// An access that others may race with.
#[derive(Clone, Debug)]
struct Touched {
    item: [usize; 3],
    group: usize,
    /// Barriers of the memory's fence that the group had passed.
    epoch: u64,
    access: Access,
    at: Position,
}

/// What is known of the elements of an object.
#[derive(Clone, Default, Debug)]
struct Shadow {
    shape: Vec<usize>,
    touched: Vec<Vec<Touched>>,
    written: Vec<bool>,
}

impl Shadow {
    fn reset(&mut self) {
        let len = self.shape.iter().product();
        self.touched.clear();
        self.touched.resize(len, Vec::new());
        self.written.clear();
        self.written.resize(len, false);
    }

    /// Notes an access, and finds another one that it races with.
    fn touch(&mut self, element: usize, touched: Touched) -> Option<Touched> {
        let others = &mut self.touched[element];
        let races = |other: &Touched| {
            let changes = touched.access.writes() || other.access.writes();
            let atomic = touched.access.is_atomic() && other.access.is_atomic();
            let ordered = other.group == touched.group && other.epoch != touched.epoch;
            other.item != touched.item && changes && !atomic && !ordered
        };
        let race = others.iter().find(|other| races(other)).cloned();
        // Of a group, those of before the last barrier matter to other groups only, for which any will do.
        others.retain(|other| {
            other.group != touched.group || other.epoch == touched.epoch || other.access != touched.access
        });
        let same = |other: &Touched| {
            other.item == touched.item && other.epoch == touched.epoch && other.access == touched.access
        };
        if !others.iter().any(same) {
            others.push(touched);
        }
        race
    }
}

/// What checked mode knows of a launch, whose groups are run one after another.
#[derive(Debug)]
pub struct Watch {
    kernel: Kernel,
    space: Space,
    group: [usize; 3],
    number: usize,
    local_epoch: u64,
    global_epoch: u64,
    shadows: Vec<Shadow>,
}

impl Watch {
    /// Before a launch; the extents of all objects, by number.
    #[must_use]
    pub fn new(kernel: &Kernel, space: Space, shapes: impl IntoIterator<Item = Vec<usize>>) -> Self {
        let mut shadows: Vec<Shadow> =
            shapes.into_iter().map(|shape| Shadow { shape, ..Shadow::default() }).collect();
        for (shadow, object) in shadows.iter_mut().zip(&kernel.form().objects) {
            if let Memory::Global { .. } = object.memory {
                shadow.reset();
            }
        }
        let kernel = kernel.clone();
        Self { kernel, space, group: [0; 3], number: 0, local_epoch: 0, global_epoch: 0, shadows }
    }

    /// A group begins, of this number.
    pub fn begin(&mut self, number: usize) {
        (self.number, self.group) = (number, self.space.group_id(number));
        (self.local_epoch, self.global_epoch) = (0, 0);
        for (shadow, object) in self.shadows.iter_mut().zip(&self.kernel.form().objects) {
            if object.memory.is_local() {
                shadow.reset();
            }
        }
    }

    /// All items of the group have come to a barrier, or to a collective, which is one for local memory.
    pub fn barrier(&mut self, fence: Fence) {
        self.local_epoch += u64::from(fence.local);
        self.global_epoch += u64::from(fence.global);
    }

    /// An item of the group accesses an element.
    ///
    /// # Errors
    /// [`Rule::OutOfBounds`], [`Rule::UninitialisedLocal`], [`Rule::Race`].
    ///
    /// # Panics
    /// For an object of another kernel, or a wrong number of indices.
    pub fn access(
        &mut self,
        item: [usize; 3],
        object: Object,
        indices: &[i128],
        access: Access,
        at: &Position,
    ) -> Result<(), Diagnostic> {
        let memory = &self.kernel.form().object(object).memory;
        let (local, global) = (memory.is_local(), matches!(memory, Memory::Global { .. }));
        let shadow = &mut self.shadows[object.number()];
        let mut element = Some(0);
        for (&index, &extent) in indices.iter().zip(&shadow.shape) {
            let index = usize::try_from(index).ok().filter(|&index| index < extent);
            element = element.zip(index).map(|(element, index)| element * extent + index);
        }
        let name = || format!("`{}[{}]`", self.kernel.form().object(object).name, List(indices));
        let Some(element) = element else {
            let message = format!(
                "item {} of group {} accesses {}, of an array of shape {:?}",
                tuple(self.space, item),
                tuple(self.space, self.group),
                name(),
                shadow.shape
            );
            return Err(Diagnostic::new(Rule::OutOfBounds, at, message));
        };
        if !local && !global {
            return Ok(());
        }
        if local && access.reads() && !shadow.written[element] {
            let item = tuple(self.space, item);
            let message = format!("item {item} reads {}, which no item of its group has written", name());
            return Err(Diagnostic::new(Rule::UninitialisedLocal, at, message));
        }
        shadow.written[element] |= access.writes();
        let epoch = if local { self.local_epoch } else { self.global_epoch };
        let touched = Touched { item, group: self.number, epoch, access, at: at.clone() };
        match shadow.touch(element, touched) {
            None => Ok(()),
            Some(other) => {
                let message = format!(
                    "item {} {} {}, which item {} {} with no barrier between them",
                    tuple(self.space, item),
                    access.verb(),
                    name(),
                    tuple(self.space, other.item),
                    other.access.verb(),
                );
                Err(Diagnostic::new(Rule::Race, at, message).note(&other.at, "the other access"))
            }
        }
    }

    /// The error of a barrier that not all items of the group come to, of which one is named.
    #[must_use]
    pub fn divergent(&self, missing: usize, of: usize, item: [usize; 3], at: &Position) -> Diagnostic {
        divergent(self.space, self.group, (missing, of), item, at)
    }

    /// The error of an assertion that is false for an item.
    #[must_use]
    pub fn assertion(&self, item: [usize; 3], message: &str, at: &Position) -> Diagnostic {
        let message = format!("item {}: {message}", tuple(self.space, item));
        Diagnostic::new(Rule::Assertion, at, message)
    }
}

/// The error of a barrier that some of so many items of a group do not come to.
pub(super) fn divergent(
    space: Space,
    group: [usize; 3],
    (missing, of): (usize, usize),
    item: [usize; 3],
    at: &Position,
) -> Diagnostic {
    let (group, item) = (tuple(space, group), tuple(space, item));
    let message =
        format!("{missing} of {of} items of group {group} do not come here, item {item} among them");
    Diagnostic::new(Rule::DivergentBarrier, at, message)
}

/// An id with as many numbers as the kernel has dimensions.
pub(super) fn tuple(space: Space, id: [usize; 3]) -> impl fmt::Display {
    struct Tuple(Vec<usize>);
    impl fmt::Display for Tuple {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "({})", List(&self.0))
        }
    }
    Tuple(id[3 - space.dims..].to_vec())
}
