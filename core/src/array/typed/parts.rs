//! Iteration over the parts of an array: views along an axis, by several at once, and rows.

use std::iter::FusedIterator;
use std::ops::Range;

use super::Array;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::layout::{SliceItem, normalize_axis};

/// Views of the parts of an array, from the first to the last; see [`Array::axis_iter`].
pub struct Parts<T: Element> {
    array: Array<T>,
    how: How,
    range: Range<usize>,
}

impl<T: Element> Clone for Parts<T> {
    fn clone(&self) -> Self {
        Self { array: self.array.share(), how: self.how, range: self.range.clone() }
    }
}

/// What a part is.
#[derive(Clone, Copy)]
enum How {
    /// One place of the leading dimensions, so many of them.
    Place(usize),
    /// Several places along an axis.
    Several { axis: usize, count: usize },
}

impl<T: Element> Parts<T> {
    fn part(&self, number: usize) -> Option<Array<T>> {
        let items: Vec<SliceItem> = match self.how {
            How::Place(dims) => {
                let mut rest = number;
                let mut places: Vec<SliceItem> = self.array.shape()[..dims]
                    .iter()
                    .rev()
                    .map(|&extent| {
                        let place = rest % extent.max(1);
                        rest /= extent.max(1);
                        SliceItem::Index(place.cast_signed())
                    })
                    .collect();
                places.reverse();
                places
            }
            How::Several { axis, count } => {
                let end = ((number + 1) * count).min(self.array.shape()[axis]);
                let whole = SliceItem::Slice { start: None, stop: None, step: 1 };
                let several = SliceItem::Slice {
                    start: Some((number * count).cast_signed()),
                    stop: Some(end.cast_signed()),
                    step: 1,
                };
                std::iter::repeat_n(whole, axis).chain([several]).collect()
            }
        };
        // The places are in range, so that there is a part.
        self.array.slice(&items).ok()
    }
}

impl<T: Element> Iterator for Parts<T> {
    type Item = Array<T>;
    fn next(&mut self) -> Option<Array<T>> {
        let number = self.range.next()?;
        self.part(number)
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }
    fn nth(&mut self, n: usize) -> Option<Array<T>> {
        let number = self.range.nth(n)?;
        self.part(number)
    }
}
impl<T: Element> DoubleEndedIterator for Parts<T> {
    fn next_back(&mut self) -> Option<Array<T>> {
        let number = self.range.next_back()?;
        self.part(number)
    }
}
impl<T: Element> ExactSizeIterator for Parts<T> {}
impl<T: Element> FusedIterator for Parts<T> {}

impl<T: Element> Array<T> {
    /// Views of the parts along an axis, which they do not have. Who writes to one writes to the array.
    ///
    /// ```no_run
    /// # use stridewise_core::array;
    /// for mut row in array![[1, 2], [3, 4]].axis_iter(0)? {
    ///     row.fill(0)?;
    /// }
    /// # Ok::<(), stridewise_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range.
    pub fn axis_iter(&self, axis: isize) -> Result<Parts<T>> {
        let array = self.move_axis(axis, 0)?;
        let range = 0..array.shape()[0];
        Ok(Parts { array, how: How::Place(1), range })
    }

    /// Views of so many places along an axis at once; the last one has what is left.
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range, [`Error::Value`] for no places at once.
    pub fn axis_chunks(&self, axis: isize, count: usize) -> Result<Parts<T>> {
        let axis = normalize_axis("axis", axis, self.ndim())?;
        if count == 0 {
            return Err(Error::value("count", 0, "at least one place at once", "name the extent of a part"));
        }
        let range = 0..self.shape()[axis].div_ceil(count);
        Ok(Parts { array: self.share(), how: How::Several { axis, count }, range })
    }

    /// Views of one dimension along an axis: one for each place of the other axes, in row-major order of them.
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range.
    pub fn lanes(&self, axis: isize) -> Result<Parts<T>> {
        let array = self.move_axis(axis, -1)?;
        let dims = array.ndim() - 1;
        let range = 0..array.shape()[..dims].iter().product();
        Ok(Parts { array, how: How::Place(dims), range })
    }

    /// Views of the rows, which lie along the last axis.
    ///
    /// # Errors
    /// [`Error::Axis`] for an array of no dimensions.
    pub fn rows(&self) -> Result<Parts<T>> {
        self.lanes(-1)
    }
}
