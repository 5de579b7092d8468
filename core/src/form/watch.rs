//! What checked mode watches: that items keep the rules while they run. The oracle and the backends ask here, so that they say
//! the same.

use std::fmt;
use std::ops::Range;

use super::Kernel;
use super::shadow::{Shadow, Touched, touch};
use super::space::Space;
use super::sync::{AtomicOp, Fence};
use super::text::List;
use super::tree::{Memory, Object};
use crate::diagnostic::{Diagnostic, Position, Rule};
use crate::error::{Error, Result};
use crate::memory::heap;

/// Rounds of a loop that counts nothing, or steps of an item, from one barrier to the next, after which checked mode takes it
/// to go on for ever.
pub const ENDLESS: u64 = 1 << 22;

/// What memory is asked for here.
pub(super) const WHAT: &str = "what checked mode notes";

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
    pub(super) const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::AtomicUpdate | Self::AtomicWrite)
    }
    pub(super) const fn is_atomic(self) -> bool {
        matches!(self, Self::AtomicRead | Self::AtomicUpdate | Self::AtomicWrite)
    }
    const fn reads(self) -> bool {
        !matches!(self, Self::Write | Self::AtomicWrite)
    }
}

/// What checked mode is told of an object: where its elements are.
#[derive(Clone, Debug)]
pub struct Watched {
    /// The address of the element of indices 0. Objects that several kernels' parameters name have it in common.
    pub address: usize,
    /// The extents.
    pub shape: Vec<usize>,
    /// Bytes to step along each axis.
    pub strides: Vec<isize>,
}

impl Watched {
    /// The bytes from the first one of an element to behind the last one of any, for elements of a size.
    fn extent(&self, size: usize) -> Range<usize> {
        if self.shape.contains(&0) {
            return self.address..self.address;
        }
        let (mut low, mut high) = (self.address, self.address + size);
        for (&extent, &stride) in self.shape.iter().zip(&self.strides) {
            let ahead = (extent - 1) * stride.unsigned_abs();
            if stride < 0 { low -= ahead } else { high += ahead }
        }
        low..high
    }

    /// The address of an element, if there is such a one.
    fn find(&self, indices: &[i128]) -> Option<usize> {
        let mut address = self.address;
        for ((&index, &extent), &stride) in indices.iter().zip(&self.shape).zip(&self.strides) {
            let index = usize::try_from(index).ok().filter(|&index| index < extent)?;
            address = address.wrapping_add_signed(index as isize * stride);
        }
        Some(address)
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
    objects: Vec<Watched>,
    /// By object: the memory that it is in.
    regions: Vec<usize>,
    shadows: Vec<Shadow>,
}

impl Watch {
    /// Before a launch; all objects by number. Arrays that share memory are known to.
    ///
    /// # Errors
    /// [`Error::Alloc`] where there is no memory.
    pub fn new(kernel: &Kernel, space: Space, objects: Vec<Watched>) -> Result<Self> {
        let infos = || kernel.form().objects.iter().zip(&objects).enumerate();
        let mut shadows = heap::with_capacity(WHAT, objects.len())?;
        let mut regions = heap::collect(WHAT, objects.iter().map(|_| usize::MAX))?;
        // Arrays from their first byte on: those that begin before another one ends are one region with it.
        let mut extents = heap::with_capacity(WHAT, objects.len())?;
        for (number, (info, object)) in infos() {
            let size = info.dtype.size();
            let bytes = object.extent(size);
            if info.memory.is_local() {
                regions[number] = shadows.len();
                shadows.push(Shadow::new(bytes, size)?);
            } else if matches!(info.memory, Memory::Global { .. }) {
                extents.push((bytes.start, bytes.end, size, number));
            }
        }
        extents.sort_unstable();
        let mut rest = &extents[..];
        while let [(start, first_end, ..), ..] = rest {
            let (mut end, mut count, mut cell) = (*first_end, 0, usize::MAX);
            while let Some((_, last, size, _)) =
                rest.get(count).filter(|(start, ..)| count == 0 || *start < end)
            {
                (end, cell, count) = (end.max(*last), cell.min(*size), count + 1);
            }
            for (.., number) in &rest[..count] {
                regions[*number] = shadows.len();
            }
            shadows.push(Shadow::new(*start..end, cell)?);
            rest = &rest[count..];
        }
        let kernel = kernel.clone();
        Ok(Self {
            kernel,
            space,
            group: [0; 3],
            number: 0,
            local_epoch: 0,
            global_epoch: 0,
            objects,
            regions,
            shadows,
        })
    }

    /// A group begins, of this number.
    pub fn begin(&mut self, number: usize) {
        (self.number, self.group) = (number, self.space.group_id(number));
        (self.local_epoch, self.global_epoch) = (0, 0);
        for (object, &region) in self.kernel.form().objects.iter().zip(&self.regions) {
            if object.memory.is_local() {
                self.shadows[region].clear();
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
    /// [`Error::Kernel`] by [`Rule::OutOfBounds`], [`Rule::UninitialisedLocal`], [`Rule::Race`]; [`Error::Alloc`] where there is no
    /// memory to note it.
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
    ) -> Result<()> {
        let info = self.kernel.form().object(object);
        let (local, global) = (info.memory.is_local(), matches!(info.memory, Memory::Global { .. }));
        let watched = &self.objects[object.number()];
        let name = || format!("`{}[{}]`", info.name, List(indices));
        let Some(address) = watched.find(indices) else {
            let message = format!(
                "item {} of group {} accesses {}, of an array of shape {:?}",
                tuple(self.space, item),
                tuple(self.space, self.group),
                name(),
                watched.shape
            );
            return Err(Error::kernel(Diagnostic::new(Rule::OutOfBounds, at, message)));
        };
        if !local && !global {
            return Ok(());
        }
        let shadow = &mut self.shadows[self.regions[object.number()]];
        let epoch = if local { self.local_epoch } else { self.global_epoch };
        let touched = Touched {
            item: Space::linear(item, self.space.global),
            group: self.number,
            epoch,
            access,
            at: shadow.place(at)?,
        };
        for cell in shadow.cells_of(address, info.dtype.size()) {
            let entries = shadow.cell(cell)?;
            if local && access.reads() && !entries.iter().any(|other| other.access.writes()) {
                let item = tuple(self.space, item);
                let message = format!("item {item} reads {}, which no item of its group has written", name());
                return Err(Error::kernel(Diagnostic::new(Rule::UninitialisedLocal, at, message)));
            }
            let Some(other) = touch(entries, touched)? else { continue };
            let message = format!(
                "item {} {} {}, which item {} {} with no barrier between them",
                tuple(self.space, item),
                access.verb(),
                name(),
                tuple(self.space, self.space.item_id(other.item)),
                other.access.verb(),
            );
            let place = &shadow.places[other.at as usize];
            return Err(Error::kernel(
                Diagnostic::new(Rule::Race, at, message).note(place, "the other access"),
            ));
        }
        Ok(())
    }

    /// An item's value is broadcast to the group, which has so many items.
    ///
    /// # Errors
    /// [`Error::Kernel`] by [`Rule::OutOfBounds`] where there is no such item.
    pub fn broadcast(&self, from: i128, items: usize, at: &Position) -> Result<()> {
        if (0..items as i128).contains(&from) {
            return Ok(());
        }
        let group = tuple(self.space, self.group);
        let message =
            format!("the value of item {from} of group {group} is broadcast, which has {items} items");
        Err(Error::kernel(Diagnostic::new(Rule::OutOfBounds, at, message)))
    }

    /// The error of a barrier that not all items of the group come to, of which one is named.
    #[must_use]
    pub fn divergent(&self, missing: usize, of: usize, item: [usize; 3], at: &Position) -> Error {
        divergent(self.space, self.group, (missing, of), item, at)
    }
}

/// The error of an assertion that is false for an item.
#[must_use]
pub fn failed_assertion(space: Space, item: [usize; 3], message: &str, at: &Position) -> Error {
    Error::kernel(Diagnostic::new(Rule::Assertion, at, format!("item {}: {message}", tuple(space, item))))
}

/// The error of a barrier that some of so many items of a group do not come to.
pub(super) fn divergent(
    space: Space,
    group: [usize; 3],
    (missing, of): (usize, usize),
    item: [usize; 3],
    at: &Position,
) -> Error {
    let (group, item) = (tuple(space, group), tuple(space, item));
    let message =
        format!("{missing} of {of} items of group {group} do not come here, item {item} among them");
    Error::kernel(Diagnostic::new(Rule::DivergentBarrier, at, message))
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
