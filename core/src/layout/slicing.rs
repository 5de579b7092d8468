//! Basic slicing, by NumPy's rules.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::{Dims, Layout, MAX_NDIM, Strides, checked_len};
use crate::error::{Error, Result};

/// One entry of a basic index. The macro [`s!`](crate::s) writes lists of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SliceItem {
    /// One element along a dimension, which disappears. Negative counts from the end: -1 is the last.
    Index(isize),
    /// The elements from `start` (included) to `stop` (excluded) in steps of `step`, which is not 0.
    ///
    /// Negative bounds count from the end; bounds outside the dimension are clamped to it. An absent bound is the
    /// end of the dimension in question: with a negative step, `start` is the last element and `stop` lies before
    /// the first.
    Slice {
        /// First element.
        start: Option<isize>,
        /// One past the last element, in the direction of the step.
        stop: Option<isize>,
        /// Distance between selected elements; negative walks backwards.
        step: isize,
    },
    /// A new dimension of extent 1.
    NewAxis,
    /// As many full dimensions as the other items leave over. At most one.
    Ellipsis,
}

/// Writes [`SliceItem::NewAxis`] in [`s!`](crate::s).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct NewAxis;

/// Writes [`SliceItem::Ellipsis`] in [`s!`](crate::s).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Ellipsis;

impl From<NewAxis> for SliceItem {
    fn from(_: NewAxis) -> Self {
        Self::NewAxis
    }
}

impl From<Ellipsis> for SliceItem {
    fn from(_: Ellipsis) -> Self {
        Self::Ellipsis
    }
}

/// The last bound of a Rust range.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub enum Stop {
    Open,
    Before(isize),
    At(isize),
}

/// A Rust range as bounds of a slice: `a..b`, `a..=b`, `a..`, `..b`, `..=b` or `..`, of `isize`, `i32` or `usize`.
pub trait SliceRange {
    #[doc(hidden)]
    fn bounds(self) -> (Option<isize>, Stop);

    /// The slice from the range's start towards its end in steps of `step`.
    ///
    /// An inclusive end belongs to the slice whatever the direction.
    fn with_step(self, step: isize) -> SliceItem
    where
        Self: Sized,
    {
        let (start, stop) = self.bounds();
        let stop = match stop {
            Stop::Open => None,
            Stop::Before(stop) => Some(stop),
            // One past the end. Past -1 upwards and past 0 downwards there is no number to write: the sign of the
            // result would make it count from the other end.
            Stop::At(-1) if step >= 0 => None,
            Stop::At(0) if step < 0 => None,
            Stop::At(last) if step >= 0 => Some(last.saturating_add(1)),
            Stop::At(last) => Some(last.saturating_sub(1)),
        };
        SliceItem::Slice { start, stop, step }
    }
}

/// A bound; beyond `isize::MAX` all bounds mean "the end", and no element has such an index.
trait Bound: Copy {
    fn bound(self) -> isize;
}

impl Bound for isize {
    fn bound(self) -> isize {
        self
    }
}

impl Bound for i32 {
    fn bound(self) -> isize {
        // Lossless where pointers have 32 bits or more; saturates elsewhere.
        isize::try_from(self).unwrap_or(if self < 0 { isize::MIN } else { isize::MAX })
    }
}

impl Bound for usize {
    fn bound(self) -> isize {
        isize::try_from(self).unwrap_or(isize::MAX)
    }
}

impl SliceRange for RangeFull {
    fn bounds(self) -> (Option<isize>, Stop) {
        (None, Stop::Open)
    }
}

impl From<RangeFull> for SliceItem {
    fn from(range: RangeFull) -> Self {
        range.with_step(1)
    }
}

macro_rules! from_ranges {
    ($($ty:ty),*) => {$(
        impl From<$ty> for SliceItem {
            fn from(index: $ty) -> Self {
                Self::Index(index.bound())
            }
        }
        from_ranges!(@range $ty, Range<$ty>, r => (Some(r.start.bound()), Stop::Before(r.end.bound())));
        from_ranges!(@range $ty, RangeInclusive<$ty>, r => (Some(r.start().bound()), Stop::At(r.end().bound())));
        from_ranges!(@range $ty, RangeFrom<$ty>, r => (Some(r.start.bound()), Stop::Open));
        from_ranges!(@range $ty, RangeTo<$ty>, r => (None, Stop::Before(r.end.bound())));
        from_ranges!(@range $ty, RangeToInclusive<$ty>, r => (None, Stop::At(r.end.bound())));
    )*};
    (@range $ty:ty, $range:ty, $r:ident => $bounds:expr) => {
        impl SliceRange for $range {
            fn bounds(self) -> (Option<isize>, Stop) {
                let $r = self;
                $bounds
            }
        }
        impl From<$range> for SliceItem {
            fn from(range: $range) -> Self {
                range.with_step(1)
            }
        }
    };
}
from_ranges!(isize, i32, usize);

/// Writes a basic index as `&[SliceItem; N]`, with NumPy's meaning.
///
/// Each entry is an index, a range, a `range;step`, [`NewAxis`], [`Ellipsis`] or any expression that converts into a
/// [`SliceItem`].
///
/// ```
/// use stridewise_core::{s, Ellipsis, Layout, NewAxis, Order};
/// let layout = Layout::contiguous(&[4, 6, 10, 3, 5], Order::C)?;
/// let view = layout.slice(s![1.., ..;2, 7..;-2, NewAxis, Ellipsis, -1])?;
/// assert_eq!(view.shape(), [3, 3, 4, 1, 3]);
/// # Ok::<(), stridewise_core::Error>(())
/// ```
///
/// As NumPy's, slices are cut off where the dimension ends, and may be empty; an index by itself has to be there:
///
/// ```
/// # use stridewise_core::{s, Error, Layout, Order};
/// let two_rows = Layout::contiguous(&[2, 3], Order::C)?;
/// assert_eq!(two_rows.slice(s![1..9])?.shape(), [1, 3]);
/// assert_eq!(two_rows.slice(s![5..9])?.shape(), [0, 3]);
/// assert_eq!(two_rows.slice(s![-9..])?.shape(), [2, 3]);
/// assert!(matches!(two_rows.slice(s![5]), Err(Error::OutOfBounds(_))));
/// # Ok::<(), Error>(())
/// ```
///
/// With a negative step a range is read as NumPy reads it: `7..;-2` is NumPy's `7::-2`, which begins at element 7
/// and walks down to the front (7, 5, 3, 1); `..;-1` is `::-1`. The `ndarray` crate differs: its `s![7..;-2]` takes
/// the range 7 to the end first and then walks that backwards. An inclusive end is included in either direction:
/// `5..=2;-1` is 5, 4, 3, 2.
///
/// Python's colons do not compile:
///
/// ```compile_fail
/// let rows = stridewise_core::s![1:3]; // a range is `1..3`
/// ```
#[macro_export]
macro_rules! s {
    (@items [$($done:expr),*]) => { &[$($done),*] };
    (@stepped $range:expr ; $step:expr) => {{
        // `5..2` is not empty with a negative step.
        #[allow(clippy::reversed_empty_ranges)]
        let range = $range;
        $crate::SliceRange::with_step(range, $step)
    }};
    (@items [$($done:expr),*] $range:expr ; $step:expr) => {
        $crate::s!(@items [$($done,)* $crate::s!(@stepped $range; $step)])
    };
    (@items [$($done:expr),*] $range:expr ; $step:expr, $($rest:tt)*) => {
        $crate::s!(@items [$($done,)* $crate::s!(@stepped $range; $step)] $($rest)*)
    };
    (@items [$($done:expr),*] $item:expr) => {
        $crate::s!(@items [$($done,)* $crate::SliceItem::from($item)])
    };
    (@items [$($done:expr),*] $item:expr, $($rest:tt)*) => {
        $crate::s!(@items [$($done,)* $crate::SliceItem::from($item)] $($rest)*)
    };
    (@items [$($done:expr),*] $($other:tt)+) => {
        ::core::compile_error!("`s!` takes indices, `NewAxis`, `Ellipsis` and ranges: `1..3`, `..`, with a step `..;2` or `1..;-1`")
    };
    () => {{
        const NOTHING: &[$crate::SliceItem; 0] = &[];
        NOTHING
    }};
    ($($items:tt)+) => { $crate::s!(@items [] $($items)+) };
}

/// First element and number of elements of a slice along a dimension of `extent` elements (Python's
/// `slice.indices`). `step` is not 0.
fn clamp(start: Option<isize>, stop: Option<isize>, step: isize, extent: usize) -> (usize, usize) {
    // An extent is far from the end of `isize`: `MAX_LEN`.
    let extent = extent.cast_signed();
    let (floor, ceiling) = if step > 0 { (0, extent) } else { (-1, extent - 1) };
    let place = |bound: isize| (if bound < 0 { bound + extent } else { bound }).clamp(floor, ceiling);
    let (first, last) = if step > 0 { (floor, ceiling) } else { (ceiling, floor) };
    let (start, stop) = (start.map_or(first, place), stop.map_or(last, place));
    let distance = if step > 0 { stop - start } else { start - stop };
    if distance <= 0 {
        return (0, 0);
    }
    // A slice with elements starts at one of them, and has no more than the dimension.
    (start.unsigned_abs(), (distance - 1).unsigned_abs() / step.unsigned_abs() + 1)
}

impl Layout {
    /// `extent` of the elements along an axis, from `start` on; there are as many.
    pub(crate) fn narrow(&self, axis: usize, start: usize, extent: usize) -> Self {
        debug_assert!(start + extent <= self.shape()[axis], "{start} and {extent} more of {self:?}");
        let mut shape = Dims::from_slice(self.shape());
        shape[axis] = extent;
        // Nothing is addressed where there are no elements, so the offset that is known to be in range stays.
        let offset = self.offset.wrapping_add_signed(start.cast_signed().wrapping_mul(self.strides()[axis]));
        let offset = if shape.contains(&0) { self.offset } else { offset };
        Self::from_parts(&shape, self.strides(), offset)
    }

    /// Where in the allocation the element at a place is, in elements: one number for each dimension, negative ones from the
    /// end. `None` for a place outside.
    #[inline]
    pub(crate) fn place_of(&self, index: &[isize]) -> Option<usize> {
        if index.len() != self.ndim() {
            return None;
        }
        let mut place = self.offset().cast_signed();
        for ((&index, &extent), &stride) in index.iter().zip(self.shape()).zip(self.strides()) {
            let index = if index < 0 { index.checked_add_unsigned(extent)? } else { index };
            if index < 0 || index >= extent.cast_signed() {
                return None;
            }
            // Within the allocation, as the layout is.
            place += index * stride;
        }
        (!self.is_empty()).then_some(place.cast_unsigned())
    }

    /// The elements that `items` select, by NumPy's rules of basic indexing. Dimensions without an item are taken
    /// whole.
    ///
    /// # Errors
    /// An index outside its dimension, a step of 0, more than one ellipsis, more items than dimensions, or too many
    /// new dimensions.
    pub fn slice(&self, items: &[SliceItem]) -> Result<Self> {
        let consumed =
            items.iter().filter(|i| matches!(i, SliceItem::Index(_) | SliceItem::Slice { .. })).count();
        if consumed > self.ndim() {
            return Err(Error::axis(
                "items",
                format!("{consumed} indices and slices"),
                format!("at most {}, one per dimension of shape {:?}", self.ndim(), self.shape()),
                "leave out indices, or add dimensions with `expand_dims`",
            ));
        }
        let ellipses = items.iter().filter(|i| matches!(i, SliceItem::Ellipsis)).count();
        if ellipses > 1 {
            return Err(Error::value(
                "items",
                format!("a list with {ellipses} ellipses"),
                "at most one ellipsis",
                "take whole dimensions in place of the other ellipses",
            ));
        }
        let mut skipped = if ellipses == 1 { self.ndim() - consumed } else { 0 };
        let (mut shape, mut strides) = (Dims::new(), Strides::new());
        // Between elements of this layout, as long as any are selected.
        let mut shift = 0_isize;
        let mut axis = 0;
        for item in items {
            match *item {
                SliceItem::NewAxis => {
                    shape.push(1);
                    strides.push(0);
                }
                SliceItem::Ellipsis => {
                    shape.extend_from_slice(&self.shape()[axis..axis + skipped]);
                    strides.extend_from_slice(&self.strides()[axis..axis + skipped]);
                    axis += std::mem::take(&mut skipped);
                }
                SliceItem::Index(index) => {
                    let extent = self.shape()[axis];
                    let place = if index < 0 { index + extent.cast_signed() } else { index };
                    if place < 0 || place >= extent.cast_signed() {
                        let expected = match extent {
                            0 => "no index, as the dimension has no elements".to_owned(),
                            _ => format!("an index from -{extent} to {}", extent - 1),
                        };
                        return Err(Error::out_of_bounds(
                            "items",
                            format!("index {index} on axis {axis} of shape {:?}", self.shape()),
                            expected,
                            "use an index within the dimension, or a slice, which is clamped to it",
                        ));
                    }
                    shift = shift.wrapping_add(place.wrapping_mul(self.strides()[axis]));
                    axis += 1;
                }
                SliceItem::Slice { start, stop, step } => {
                    if step == 0 {
                        return Err(Error::value(
                            "items",
                            format!("a slice with step 0 on axis {axis}"),
                            "a step other than 0",
                            "use a positive step to walk forwards, a negative one to walk backwards",
                        ));
                    }
                    let (first, len) = clamp(start, stop, step, self.shape()[axis]);
                    let stride = self.strides()[axis];
                    shift = shift.wrapping_add(first.cast_signed().wrapping_mul(stride));
                    shape.push(len);
                    // Two selected elements are a stride apart, which then is in range; a stride that nothing uses
                    // may saturate.
                    strides.push(stride.saturating_mul(step));
                    axis += 1;
                }
            }
        }
        shape.extend_from_slice(&self.shape()[axis..]);
        strides.extend_from_slice(&self.strides()[axis..]);
        // There are no more elements than there were, but there may be more dimensions.
        if shape.len() > MAX_NDIM {
            checked_len(&shape)?;
        }
        // The first selected element, one of this layout's; or, where nothing is addressed, what is known to be in range.
        let offset = if shape.contains(&0) { self.offset } else { self.offset.wrapping_add_signed(shift) };
        Ok(Self::from_parts(&shape, &strides, offset))
    }
}
