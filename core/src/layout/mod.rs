//! Where the elements of an array lie: shape, signed strides and an offset, all in elements.
//!
//! A [`Layout`] is checked once, by [`Layout::new`]. Every other operation selects from the elements that an existing
//! layout addresses, or goes through the same checks again, so that a layout in hand never leaves its allocation.
//!
//! ```
//! use stridewise_core::{Layout, Order, s};
//!
//! let grid = Layout::contiguous(&[3, 4], Order::C)?;
//! let part = grid.slice(s![1.., ..;-2])?; // two rows, every second column from the last one on
//! assert_eq!((part.shape(), part.strides(), part.offset()), (&[2, 2][..], &[4, -2][..], 7));
//! assert_eq!(part.indices().collect::<Vec<_>>(), [7, 5, 11, 9]); // where its elements lie, in row-major order
//! # Ok::<(), stridewise_core::Error>(())
//! ```

mod axes;
mod broadcast;
mod coalesce;
mod dimensions;
mod indices;
mod overlap;
mod reshape;
mod shape;
mod slicing;
#[cfg(test)]
mod strategies;

use std::fmt;
use std::ops::Range;

use smallvec::SmallVec;

use crate::error::{Error, Result};

pub(crate) use axes::{all_axes, normalize_axes_into};
pub use axes::{normalize_axes, normalize_axis};
pub use broadcast::broadcast_shapes;
pub use coalesce::{Coalesced, coalesce};
use dimensions::Dimensions;
pub use indices::Indices;
pub use overlap::{overlaps, same_view, self_overlaps};
pub use reshape::resolve_shape;
pub use shape::Shape;
pub use slicing::{Ellipsis, NewAxis, SliceItem, SliceRange};

/// The largest number of dimensions of an array.
pub const MAX_NDIM: usize = 32;

/// The largest number of elements of an array, repeated ones included: the bytes of as many of the widest dtype fit `isize`.
pub const MAX_LEN: usize = isize::MAX.unsigned_abs() / 16;

/// A shape: the extent of each dimension, in elements. Up to four dimensions need no heap.
pub type Dims = SmallVec<[usize; 4]>;

/// The strides of an array: signed distance in elements between neighbours along each dimension.
pub type Strides = SmallVec<[isize; 4]>;

/// The order in which elements follow each other in memory, or are enumerated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Order {
    /// Row-major: the last index varies fastest.
    #[default]
    C,
    /// Column-major: the first index varies fastest.
    F,
}

/// The shape, strides and offset of a view of an allocation; dtype and memory are not its business.
///
/// The offset is the distance in elements from the start of the allocation to the element whose multi-index is all
/// zero, so with negative strides it lies above the lowest element.
///
/// Equality compares shape, strides and offset literally; [`same_view`] compares what is addressed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    dimensions: Dimensions,
    /// The product of the extents.
    len: usize,
    offset: usize,
    /// The number of dimensions, and [`C_CONTIGUOUS`] and the like, in one word: so an array is small enough to be copied
    /// without a call.
    head: usize,
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut layout = f.debug_struct("Layout");
        layout.field("shape", &self.shape()).field("strides", &self.strides());
        layout.field("offset", &self.offset).finish()
    }
}

/// The bits of the number of dimensions.
const NDIM: usize = 0xff;

/// The elements lie one after another in row-major order.
const C_CONTIGUOUS: usize = 1 << 8;
/// The elements lie one after another in column-major order.
const F_CONTIGUOUS: usize = 1 << 9;
/// Neither the offset nor an extent of 0 or 1, which may have any stride, sets the layout apart from one made anew.
const PLAIN: usize = 1 << 10;

/// Number of elements of `shape`, 0 when any extent is 0.
///
/// # Errors
/// More than [`MAX_NDIM`] dimensions, or a product of the extents other than zero above [`MAX_LEN`].
pub(crate) fn checked_len(shape: &[usize]) -> Result<usize> {
    if shape.len() > MAX_NDIM {
        return Err(Error::axis(
            "shape",
            format!("{shape:?} ({} dimensions)", shape.len()),
            format!("at most {MAX_NDIM} dimensions"),
            "merge dimensions with a reshape",
        ));
    }
    let product = shape
        .iter()
        .filter(|&&extent| extent != 0)
        .try_fold(1_usize, |product, &extent| product.checked_mul(extent).filter(|&p| p <= MAX_LEN))
        .ok_or_else(|| {
            Error::overflow(
                "shape",
                format!("{shape:?}"),
                format!("a product of the extents of at most {MAX_LEN}"),
                "use fewer elements, or process the array in parts",
            )
        })?;
    Ok(if shape.contains(&0) { 0 } else { product })
}

/// Strides of a contiguous array; extents of 0 count as 1, as in NumPy. The shape has passed [`checked_len`].
fn contiguous_strides(shape: &[usize], order: Order) -> Strides {
    let mut strides: Strides = SmallVec::from_elem(0, shape.len());
    let mut step = 1_isize;
    let fill = |(&extent, stride): (&usize, &mut isize)| {
        *stride = step;
        // In range: `checked_len` bounds the product of all extents.
        step = step.saturating_mul(extent.max(1).cast_signed());
    };
    let dims = shape.iter().zip(&mut strides);
    match order {
        Order::C => dims.rev().for_each(fill),
        Order::F => dims.for_each(fill),
    }
    strides
}

/// Distances in elements from the zero multi-index to the lowest and the highest element addressed; saturating,
/// which the callers' range checks take for "too far".
pub(crate) fn reach(shape: &[usize], strides: &[isize]) -> (i128, i128) {
    if shape.contains(&0) {
        return (0, 0);
    }
    shape.iter().zip(strides).fold((0_i128, 0_i128), |(low, high), (&extent, &stride)| {
        let span = (extent as i128 - 1).saturating_mul(stride as i128);
        (low.saturating_add(span.min(0)), high.saturating_add(span.max(0)))
    })
}

/// Whether walking `dims` (innermost first) meets the elements one after another. Extents of 1 do not count.
fn is_dense<'a>(dims: impl Iterator<Item = (&'a usize, &'a isize)>) -> bool {
    let mut expected = 1_isize;
    for (&extent, &stride) in dims {
        if extent != 1 {
            if stride != expected {
                return false;
            }
            expected = expected.saturating_mul(extent.cast_signed());
        }
    }
    true
}

impl Layout {
    /// The checked constructor.
    ///
    /// - `strides`, in elements, may be negative or zero; `None` means contiguous in `order`.
    /// - `offset`, in elements, is where the zero multi-index lies; `None` places the lowest element at 0.
    /// - `itemsize` is the bytes of one element.
    /// - `available_bytes` is the size of the allocation, if there is one already; without it the layout says with
    ///   [`required_elements`](Self::required_elements) how large one must be.
    ///
    /// An array without elements addresses nothing and may have any strides; its offset, too, must not exceed the
    /// allocation.
    ///
    /// ```
    /// use stridewise_core::{Layout, Order};
    /// let layout = Layout::new(&[2, 2], Some(&[2, -1]), None, Order::C, 4, None)?;
    /// assert_eq!((layout.offset(), layout.required_elements()), (1, 4));
    /// # Ok::<(), stridewise_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// More than [`MAX_NDIM`] dimensions; as many strides as there are not dimensions; an `itemsize` of 0; more
    /// than [`MAX_LEN`] elements or `isize::MAX` bytes; an element below the start of the allocation or beyond its end.
    pub fn new(
        shape: &[usize],
        strides: Option<&[isize]>,
        offset: Option<usize>,
        order: Order,
        itemsize: usize,
        available_bytes: Option<usize>,
    ) -> Result<Self> {
        let len = checked_len(shape)?;
        if itemsize == 0 {
            return Err(Error::value(
                "itemsize",
                0,
                "the bytes of one element, 1 or more",
                "use `dtype.size()`",
            ));
        }
        let strides = match strides {
            None => contiguous_strides(shape, order),
            Some(given) if given.len() == shape.len() => Strides::from_slice(given),
            Some(given) => {
                return Err(Error::shape(
                    "strides",
                    format!("{given:?} ({} entries)", given.len()),
                    format!("one stride per dimension of shape {shape:?} ({})", shape.len()),
                    "give strides in elements, one for each dimension, or none for a contiguous array",
                ));
            }
        };
        let (low, high) = reach(shape, &strides);
        // The lowest element goes to 0 when the caller leaves the offset open.
        let start = offset.map_or_else(|| low.saturating_neg(), |offset| offset as i128);
        let (lowest, highest) = (start.saturating_add(low), start.saturating_add(high));
        if lowest < 0 {
            return Err(Error::out_of_bounds(
                "offset",
                format!(
                    "{start} with strides {strides:?} and shape {shape:?}, which reaches element {lowest}"
                ),
                "no element below 0, the start of the allocation",
                format!("use an offset of at least {}, or none", low.saturating_neg()),
            ));
        }
        let elements = if len == 0 { start } else { highest.saturating_add(1) };
        let bytes = elements.saturating_mul(itemsize as i128);
        if bytes > isize::MAX as i128 {
            return Err(Error::overflow(
                "strides",
                format!("{strides:?} with shape {shape:?} and offset {start}, which spans {bytes} bytes"),
                format!("at most {} bytes from the start of the allocation", isize::MAX),
                "use smaller strides, a smaller offset or fewer elements",
            ));
        }
        if let Some(available) = available_bytes
            && bytes > available as i128
        {
            let what = if offset.is_some() { "offset" } else { "strides" };
            return Err(Error::out_of_bounds(
                what,
                format!(
                    "offset {start} with shape {shape:?} and strides {strides:?}, which needs {elements} elements \
                     of {itemsize} bytes ({bytes} bytes)"
                ),
                format!("an extent within the allocation's {available} bytes"),
                "use a larger allocation, a smaller offset, smaller strides or fewer elements",
            ));
        }
        // `start` lies between 0 and `elements`, which fits `isize`.
        Ok(Self::from_parts(shape, &strides, start as usize))
    }

    /// A contiguous layout that starts at 0.
    ///
    /// # Errors
    /// More than [`MAX_NDIM`] dimensions, or more than [`MAX_LEN`] elements.
    #[inline]
    pub fn contiguous(shape: &[usize], order: Order) -> Result<Self> {
        Ok(Self::dense(shape, checked_len(shape)?, order))
    }

    /// A contiguous layout of a shape of so many elements, which has passed [`checked_len`].
    #[inline(always)]
    pub(crate) fn dense(shape: &[usize], len: usize, order: Order) -> Self {
        let (mut counted, mut plain) = (0, true);
        for &extent in shape {
            counted += usize::from(extent != 1);
            plain &= extent > 1;
        }
        let other = if len == 0 || counted <= 1 { C_CONTIGUOUS | F_CONTIGUOUS } else { 0 };
        let own = if order == Order::C { C_CONTIGUOUS } else { F_CONTIGUOUS };
        let head = shape.len() | own | other | if plain { PLAIN } else { 0 };
        Self { dimensions: Dimensions::dense(shape, order), len, offset: 0, head }
    }

    /// A contiguous layout of the same shape that starts at 0.
    #[inline(always)]
    pub(crate) fn packed(&self, order: Order) -> Self {
        if self.is_contiguous(order) && self.head & PLAIN != 0 { self.clone() } else { self.repacked(order) }
    }

    #[inline(never)]
    fn repacked(&self, order: Order) -> Self {
        Self::dense(self.shape(), self.len, order)
    }

    /// Whether elements lie one after another in an order.
    #[inline]
    pub(crate) fn is_contiguous(&self, order: Order) -> bool {
        match order {
            Order::C => self.is_c_contiguous(),
            Order::F => self.is_f_contiguous(),
        }
    }

    /// A layout whose parts are known to address nothing that a checked layout did not address.
    fn from_parts(shape: &[usize], strides: &[isize], offset: usize) -> Self {
        let (mut len, mut plain) = (1, offset == 0);
        for &extent in shape {
            // In range: a checked layout has at most `MAX_LEN` elements.
            len *= extent;
            plain &= extent > 1;
        }
        let row_major = len == 0 || is_dense(shape.iter().zip(strides).rev());
        let column_major = match shape.len() {
            0 | 1 => row_major,
            _ => len == 0 || is_dense(shape.iter().zip(strides)),
        };
        let mut head = shape.len();
        for (flag, holds) in [(C_CONTIGUOUS, row_major), (F_CONTIGUOUS, column_major), (PLAIN, plain)] {
            head |= if holds { flag } else { 0 };
        }
        Self { dimensions: Dimensions::new(shape, strides), len, offset, head }
    }

    /// The extent of each dimension.
    #[must_use]
    #[inline]
    pub fn shape(&self) -> &[usize] {
        self.dimensions.shape(self.ndim())
    }

    /// The stride of each dimension, in elements.
    #[must_use]
    #[inline]
    pub fn strides(&self) -> &[isize] {
        self.dimensions.strides(self.ndim())
    }

    /// Elements from the start of the allocation to the element whose multi-index is all zero.
    #[must_use]
    #[inline]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The number of dimensions.
    #[must_use]
    #[inline]
    pub fn ndim(&self) -> usize {
        self.head & NDIM
    }

    /// The number of elements; 1 for a zero-dimensional array.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the elements follow each other in memory in C order. Extents of 1 are ignored; an array without
    /// elements is contiguous in both orders (NumPy's relaxed rules).
    #[must_use]
    #[inline]
    pub fn is_c_contiguous(&self) -> bool {
        self.head & C_CONTIGUOUS != 0
    }

    /// Whether the elements follow each other in memory in Fortran order, by the same rules.
    #[must_use]
    #[inline]
    pub fn is_f_contiguous(&self) -> bool {
        self.head & F_CONTIGUOUS != 0
    }

    /// The elements of the allocation from the lowest addressed one to one past the highest; empty for an array
    /// without elements.
    #[must_use]
    pub fn element_range(&self) -> Range<usize> {
        if self.is_empty() {
            return self.offset..self.offset;
        }
        if self.head & (C_CONTIGUOUS | F_CONTIGUOUS) != 0 {
            return self.offset..self.offset + self.len();
        }
        // Both ends were checked to lie between 0 and `isize::MAX` when the layout was made.
        let ends = |(low, high): (usize, usize), (&extent, &stride): (&usize, &isize)| {
            let span = (extent - 1) * stride.unsigned_abs();
            if stride < 0 { (low - span, high) } else { (low, high + span) }
        };
        let (low, high) = self.shape().iter().zip(self.strides()).fold((self.offset, self.offset), ends);
        low..high + 1
    }

    /// The same range in bytes, for elements of `itemsize` bytes. Saturates at `usize::MAX`, which only an
    /// `itemsize` other than the one that the layout was checked for can reach.
    #[must_use]
    pub fn byte_range(&self, itemsize: usize) -> Range<usize> {
        let elements = self.element_range();
        elements.start.saturating_mul(itemsize)..elements.end.saturating_mul(itemsize)
    }

    /// Elements that an allocation needs for this layout: one more than the highest addressed index, 0 when nothing
    /// is addressed.
    #[must_use]
    pub fn required_elements(&self) -> usize {
        if self.is_empty() { 0 } else { self.element_range().end }
    }

    /// Element indices from the start of the allocation, in C order of the multi-indices.
    #[must_use]
    pub fn indices(&self) -> Indices {
        Indices::new(self)
    }
}

#[cfg(test)]
mod tests;
