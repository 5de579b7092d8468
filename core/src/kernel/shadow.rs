//! What checked mode notes of memory: who has accessed it, and how. It belongs to the memory, whatever objects name it.
//!
//! Of each element so few accesses are kept that each further one takes the same time: groups are run one after the other, so that of
//! earlier groups the first access of a kind stands for all, and of items of the group that have passed the same barriers two do,
//! one of which is another item's.

use std::ops::Range;

use smallvec::SmallVec;

use super::watch::{Access, WHAT};
use crate::diagnostic::Position;
use crate::error::{Error, Result};
use crate::memory::heap;

/// Elements whose notes are made together.
const PAGE: usize = 1 << 10;

/// An access that others may race with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touched {
    /// The item's global linear id.
    pub(super) item: usize,
    pub(super) group: usize,
    /// Barriers of the memory's fence that the group had passed.
    pub(super) epoch: u64,
    pub(super) access: Access,
    /// The number of the place.
    pub(super) at: u32,
}

impl Touched {
    /// Whether nothing orders one of two accesses before the other one.
    fn races(&self, other: &Self) -> bool {
        let changes = self.access.writes() || other.access.writes();
        let atomic = self.access.is_atomic() && other.access.is_atomic();
        let ordered = other.group == self.group && other.epoch != self.epoch;
        other.item != self.item && changes && !atomic && !ordered
    }

    /// Whether both are by items of one group that have passed the same barriers.
    fn is_beside(&self, other: &Self) -> bool {
        other.group == self.group && other.epoch == self.epoch
    }
}

/// What is kept of an element.
pub(super) type Cell = SmallVec<[Touched; 2]>;

/// Notes an access to an element, and finds another one that it races with.
pub(super) fn touch(cell: &mut Cell, touched: Touched) -> Result<Option<Touched>> {
    let race = cell.iter().find(|other| touched.races(other)).copied();
    let alike = |other: &&Touched| other.access == touched.access;
    // The first access of a kind stays for other groups. Of those behind it, what is not beside this one orders nothing any more.
    let mut first = true;
    cell.retain(|other| {
        let stays = other.access != touched.access || first || touched.is_beside(other);
        first &= other.access != touched.access;
        stays
    });
    let beside = || cell.iter().filter(alike).filter(|other| touched.is_beside(other));
    if beside().count() < 2 && !beside().any(|other| other.item == touched.item) {
        cell.try_reserve(1).map_err(|_| refused())?;
        cell.push(touched);
    }
    Ok(race)
}

fn refused() -> Error {
    Error::alloc(
        WHAT,
        "an access to an element more",
        "no more than the system has left",
        "launch the kernel over fewer elements, or without checks",
    )
}

/// What is kept of the elements of some memory.
#[derive(Debug)]
pub(super) struct Shadow {
    start: usize,
    /// Bytes that are noted together: the smallest element's.
    cell: usize,
    /// Elements in pages, which are made when one of them is accessed.
    pages: Vec<Vec<Cell>>,
    /// Places of accesses.
    pub(super) places: Vec<Position>,
}

impl Shadow {
    /// Of bytes in elements of that many bytes or multiples.
    pub(super) fn new(bytes: Range<usize>, cell: usize) -> Result<Self> {
        let pages = bytes.len().div_ceil(cell).div_ceil(PAGE);
        let pages = heap::collect(WHAT, (0..pages).map(|_| Vec::new()))?;
        Ok(Self { start: bytes.start, cell, pages, places: Vec::new() })
    }

    /// Forgets all accesses.
    pub(super) fn clear(&mut self) {
        for page in &mut self.pages {
            page.iter_mut().for_each(Cell::clear);
        }
    }

    /// The number of a place: a kernel has few that access anything.
    pub(super) fn place(&mut self, at: &Position) -> Result<u32> {
        let known = self.places.iter().position(|place| place == at);
        if known.is_none() {
            heap::push(WHAT, &mut self.places, at.clone())?;
        }
        Ok(known.unwrap_or(self.places.len() - 1) as u32)
    }

    /// The cells of an element at an address, of so many bytes.
    pub(super) fn cells_of(&self, address: usize, size: usize) -> Range<usize> {
        let first = (address - self.start) / self.cell;
        first..first + size.div_ceil(self.cell)
    }

    pub(super) fn cell(&mut self, cell: usize) -> Result<&mut Cell> {
        let page = &mut self.pages[cell / PAGE];
        if page.is_empty() {
            *page = heap::collect(WHAT, (0..PAGE).map(|_| Cell::new()))?;
        }
        Ok(&mut page[cell % PAGE])
    }
}
