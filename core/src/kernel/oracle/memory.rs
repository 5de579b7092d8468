//! Elements, and who has touched them.

use super::super::diagnostic::Position;
use crate::dtype::Dtype;
use crate::scalar::Scalar;

/// How an element is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Read,
    Write,
    AtomicRead,
    AtomicWrite,
}

impl Access {
    pub(super) const fn verb(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::AtomicRead | Self::AtomicWrite => "accesses atomically",
        }
    }
    const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::AtomicWrite)
    }
    const fn is_atomic(self) -> bool {
        matches!(self, Self::AtomicRead | Self::AtomicWrite)
    }
}

/// Who touches an element, and how many barriers its group has passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Toucher {
    pub(super) item: [usize; 3],
    pub(super) group: usize,
    pub(super) epoch: u64,
}

/// An access that others may race with.
#[derive(Clone, Debug)]
pub(super) struct Touched {
    pub(super) toucher: Toucher,
    pub(super) access: Access,
    pub(super) at: Position,
}

/// The elements of an object, in row-major order, and what checked mode knows of each.
#[derive(Default)]
pub(super) struct Cells {
    pub(super) shape: Vec<usize>,
    pub(super) elements: Vec<Scalar>,
    touched: Vec<Vec<Touched>>,
    written: Vec<bool>,
}

impl Cells {
    pub(super) fn new(shape: &[usize], elements: Vec<Scalar>) -> Self {
        let len = elements.len();
        Self { shape: shape.to_vec(), elements, touched: vec![Vec::new(); len], written: vec![false; len] }
    }

    pub(super) fn zeros(shape: &[usize], dtype: Dtype) -> Self {
        let len = shape.iter().product();
        Self::new(shape, vec![Scalar::I8(0).cast(dtype); len])
    }

    /// As new, for another group.
    pub(super) fn reset(&mut self, dtype: Dtype) {
        *self = Self::zeros(&std::mem::take(&mut self.shape), dtype);
    }

    /// The number of an element, or of the nearest one, and whether it is in range.
    pub(super) fn find(&self, indices: &[i128]) -> (Option<usize>, bool) {
        let mut inside = true;
        let mut number = 0;
        for (&index, &extent) in indices.iter().zip(&self.shape) {
            let nearest = index.clamp(0, extent.max(1) as i128 - 1);
            inside &= nearest == index && extent > 0;
            number = number * extent + nearest as usize;
        }
        ((!self.elements.is_empty()).then_some(number), inside)
    }

    pub(super) fn is_written(&self, element: usize) -> bool {
        self.written[element]
    }

    /// Notes an access, and finds another one that it races with.
    pub(super) fn touch(
        &mut self,
        element: usize,
        toucher: Toucher,
        access: Access,
        at: &Position,
    ) -> Option<Touched> {
        self.written[element] |= access.writes();
        let others = &mut self.touched[element];
        let races = |other: &Touched| {
            let changes = (access.writes() || other.access.writes())
                && !(access.is_atomic() && other.access.is_atomic());
            let ordered = other.toucher.group == toucher.group && other.toucher.epoch != toucher.epoch;
            other.toucher.item != toucher.item && changes && !ordered
        };
        let race = others.iter().find(|other| races(other)).cloned();
        // Of a group, those of before the last barrier matter to other groups only, for which any will do.
        let old = |other: &Touched| {
            other.toucher.group == toucher.group
                && other.toucher.epoch != toucher.epoch
                && other.access == access
        };
        others.retain(|other| !old(other));
        if !others.iter().any(|other| other.toucher == toucher && other.access == access) {
            others.push(Touched { toucher, access, at: at.clone() });
        }
        race
    }
}
