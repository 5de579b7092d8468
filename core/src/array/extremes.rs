//! The first elements of a long sequence, where a device has no pass that finds them: the extremes of tiles say what all of
//! those that are sought are at least, and few other elements are.

use super::masks::Selected;
use super::{IndexMode, Reduction, UsmArray};
use crate::dtype::DtypeKind;
use crate::error::Result;
use crate::layout::{Dims, SliceItem};
use crate::ops::Op;

/// Elements of a tile.
const TILE: usize = 1024;
/// Elements from which on it is less work than sorting all of them.
const LEAST: usize = 1 << 20;
/// Tiles for each element that is sought, at least.
const TILES_EACH: usize = 4;
/// Elements for each that is left to be sorted, at least.
const SHARE: usize = 8;

impl UsmArray {
    /// The places of the first `k` of the elements, sorted, where all of them are along one axis; `None` where these are so
    /// few, or so many of them alike, that they are better sorted.
    pub(super) fn first_by_tiles(&self, k: usize, axis: usize, descending: bool) -> Result<Option<Self>> {
        let len = self.shape()[axis];
        let tiles = len / TILE;
        let ordered = matches!(self.dtype.kind(), DtypeKind::Float | DtypeKind::Signed | DtypeKind::Unsigned);
        if !ordered || len < LEAST || self.len() != len || k == 0 || k > tiles / TILES_EACH {
            return Ok(None);
        }
        let (reduction, reaches) = match descending {
            true => (Reduction::Max, Op::GreaterEqual),
            false => (Reduction::Min, Op::LessEqual),
        };
        let range = |stop: usize| [SliceItem::Slice { start: None, stop: Some(stop.cast_signed()), step: 1 }];
        let flat = self.reshape(&[-1])?;
        // Its elements are read several times, and computed once.
        flat.elements.memory()?;
        let whole = flat.slice(&range(tiles * TILE))?.reshape(&[-1, TILE.cast_signed()])?;
        // A tile with NaN in it has no extreme, and stands behind those that have one, as NaN does.
        let extremes = whole.reduce(reduction, Some(&[1]), false)?.sort(0, descending)?;
        let least = extremes.slice(&[SliceItem::Index(k.cast_signed() - 1)])?;
        let selected = Selected::of(&flat.binary(reaches, &least)?, None)?;
        if selected.count < k || selected.count > len / SHARE {
            return Ok(None);
        }
        // In the order of their places, which a stable sort leaves to equal ones. They are in range as they are.
        let places = selected.places()?;
        let values = flat.take(&places, Some(0), IndexMode::Clip)?;
        let order = values.argsort(0, descending)?.slice(&range(k))?;
        let mut shape = Dims::from_slice(self.shape());
        shape[axis] = k;
        let shape: Vec<isize> = shape.iter().map(|extent| extent.cast_signed()).collect();
        places.take(&order, Some(0), IndexMode::Clip)?.reshape(&shape).map(Some)
    }
}
