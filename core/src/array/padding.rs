//! Padding, and the sums of products of a row with another one that is moved along it.

use std::ops::Range;

use super::elementwise::{indices, interim};
use super::{ArrayOrScalar, IndexMode, Reduction, UsmArray, elementwise};
use crate::backend::{STEPS, check_interrupt};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::{Order, SliceItem};
use crate::ops::Op;
use crate::promotion::{Weak, result_type};
use crate::runtime::common_queue;
use crate::scalar::Scalar;

/// What an array is padded with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Padding {
    /// A number.
    Constant(Weak),
    /// The element at the edge.
    Edge,
    /// The elements from the edge on, mirrored at the element at the edge: `c b | a b c | b a`.
    Reflect,
    /// The elements from the edge on, mirrored at the edge: `b a | a b c | c b`.
    Symmetric,
    /// The elements from the other edge on: `b c | a b c | a b`.
    Wrap,
}

/// Which of the sums of a [convolution](UsmArray::convolve) there are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Overlap {
    /// All with at least one product: `n + m − 1`.
    #[default]
    Full,
    /// As many as the longer row has elements, those in the middle.
    Same,
    /// Those of the whole shorter row.
    Valid,
}

/// The places along an axis from one to another.
fn places(start: usize, end: usize) -> SliceItem {
    SliceItem::Slice { start: Some(start.cast_signed()), stop: Some(end.cast_signed()), step: 1 }
}

fn whole(number: usize) -> ArrayOrScalar<'static> {
    ArrayOrScalar::Scalar(Scalar::I64(number as i64))
}

impl UsmArray {
    /// The array with elements before and behind its own along each axis: a pair of numbers for each.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of pairs, or an axis without elements that is not padded by a constant;
    /// [`Error::Overflow`] for too many elements, [`Error::Dtype`] for a constant that the dtype does not hold;
    /// [`Error::Alloc`].
    pub fn pad(&self, widths: &[(usize, usize)], padding: Padding) -> Result<Self> {
        if widths.len() != self.ndim() {
            return Err(Error::shape(
                "pad_width",
                format!("{} pairs", widths.len()),
                format!("a pair for each of {} axes", self.ndim()),
                "give (0, 0) for an axis that is not padded",
            ));
        }
        let too_many =
            || Error::overflow("pad_width", format!("{widths:?}"), "fewer elements", "pad by less");
        let extents = self.shape().iter().zip(widths).map(|(&extent, &(before, after))| {
            let most = isize::MAX.unsigned_abs();
            extent.checked_add(before)?.checked_add(after).filter(|&extent| extent <= most)
        });
        let extents = extents.collect::<Option<Vec<usize>>>().ok_or_else(too_many)?;
        let own: Vec<SliceItem> = std::iter::zip(widths, self.shape())
            .map(|(&(before, _), &extent)| places(before, before + extent))
            .collect();
        let out = Self::builder(&extents).dtype(self.dtype).buffer(self.usm_kind());
        let out = out.order(self.result_order()).queue(&self.queue);
        if let Padding::Constant(value) = padding {
            let out = out.filled(value.to_scalar(self.dtype)?)?;
            out.slice(&own)?.assign(self)?;
            return Ok(out);
        }
        let without = std::iter::zip(self.shape(), widths).position(|(&e, &width)| e == 0 && width != (0, 0));
        if let Some(axis) = without {
            return Err(Error::shape(
                "self",
                format!("of shape {:?}", self.shape()),
                format!("elements along axis {axis}, which is padded by {:?}", widths[axis]),
                "pad by a constant",
            ));
        }
        let out = out.build()?;
        out.slice(&own)?.assign(self)?;
        // Along one axis after another: what lies beside what is padded already.
        let mut region = own;
        for (axis, &(before, after)) in widths.iter().enumerate() {
            let (extent, whole) = (self.shape()[axis], extents[axis]);
            let source = out.slice(&region)?;
            for (first, end) in [(0, before), (whole - after, whole)] {
                if first < end {
                    let named = self.places_beyond(extent, before, first..end, padding)?;
                    region[axis] = places(first, end);
                    let beyond = source.take(&named, Some(axis.cast_signed()), IndexMode::Clip)?;
                    out.slice(&region)?.assign(&beyond)?;
                }
            }
            region[axis] = places(0, whole);
        }
        Ok(out)
    }

    /// For some places along an axis that is padded, the place of the element that comes there.
    fn places_beyond(
        &self,
        extent: usize,
        before: usize,
        beyond: Range<usize>,
        padding: Padding,
    ) -> Result<Self> {
        let all = indices(&self.queue, self.usm_kind(), &[beyond.len()], beyond.start, &[1])?;
        let moved = interim(Op::Subtract, &[(&all).into(), whole(before)])?;
        // Mirrored places go up and down again within a period.
        let mirrored = |period: usize, top: usize| -> Result<Self> {
            let up = interim(Op::Remainder, &[(&moved).into(), whole(period)])?;
            let down = interim(Op::Subtract, &[whole(top), (&up).into()])?;
            let rises = interim(Op::Less, &[(&up).into(), whole(extent)])?;
            elementwise(Op::Where, &[(&rises).into(), (&up).into(), (&down).into()])
        };
        match padding {
            Padding::Wrap => elementwise(Op::Remainder, &[(&moved).into(), whole(extent)]),
            Padding::Symmetric => mirrored(2 * extent, 2 * extent - 1),
            Padding::Reflect if extent > 1 => mirrored(2 * (extent - 1), 2 * (extent - 1)),
            _ => elementwise(Op::Clip, &[(&moved).into(), whole(0), whole(extent - 1)]),
        }
    }

    /// The sums of the products of a row's elements with those of another one, reversed, at each place along it: the discrete
    /// convolution of two arrays of one dimension. Each is summed as [`matmul`](Self::matmul) sums; `n·m` products.
    ///
    /// # Errors
    /// [`Error::Shape`] for other than one dimension or no elements, [`Error::Dtype`] for `bool`,
    /// [`Error::ExecutionPlacement`].
    pub fn convolve(&self, other: &Self, overlap: Overlap) -> Result<Self> {
        let (long, short) = if other.len() > self.len() { (other, self) } else { (self, other) };
        let start = match overlap {
            Overlap::Full => 0,
            Overlap::Same => short.len().saturating_sub(1) / 2,
            Overlap::Valid => short.len().saturating_sub(1),
        };
        self.check_rows(other, "convolve")?;
        long.sums_along(&short.flip(None)?, overlap, start)
    }

    /// The sums of the products of a row's elements with the conjugates of another one's, at each place along it. Both have one
    /// dimension; in the order of the places, the other's last element meets this one's first one first.
    ///
    /// # Errors
    /// As for [`convolve`](Self::convolve).
    pub fn correlate(&self, other: &Self, overlap: Overlap) -> Result<Self> {
        self.check_rows(other, "correlate")?;
        let other = other.conj()?;
        if other.len() <= self.len() {
            let start = match overlap {
                Overlap::Full => 0,
                Overlap::Same => (other.len() - 1) / 2,
                Overlap::Valid => other.len() - 1,
            };
            return self.sums_along(&other, overlap, start);
        }
        let start = match overlap {
            Overlap::Full => 0,
            Overlap::Same => self.len() / 2,
            Overlap::Valid => self.len() - 1,
        };
        // The longer one is moved: the same sums, from the other end.
        other.flip(None)?.sums_along(&self.flip(None)?, overlap, start)
    }

    fn check_rows(&self, other: &Self, name: &str) -> Result<()> {
        for (argument, array) in [("x1", self), ("x2", other)] {
            if array.ndim() != 1 || array.is_empty() {
                return Err(Error::shape(
                    argument,
                    format!("of shape {:?}", array.shape()),
                    format!("one dimension with at least one element, for `{name}`"),
                    "reshape it first",
                ));
            }
        }
        common_queue(&[("x1", &self.queue), ("x2", &other.queue)]).map(drop)
    }

    /// The products of windows of this row, with zeros before and behind it, and a row that is no longer.
    fn sums_along(&self, row: &Self, overlap: Overlap, start: usize) -> Result<Self> {
        let (n, m) = (self.len(), row.len());
        let count = match overlap {
            Overlap::Full => n + m - 1,
            Overlap::Same => n,
            Overlap::Valid => n - m + 1,
        };
        let dtype = result_type(&[self.dtype, row.dtype], &[], self.device().dtype_support())?;
        if dtype == Dtype::Bool {
            return Err(Error::dtype(
                "x1",
                "bool for a convolution",
                "numbers",
                "convert with `astype` first",
            ));
        }
        let (long, short) = (self.astype(dtype)?, row.astype(dtype)?);
        let before = (m - 1) - start;
        let behind = (start + count + m - 1).saturating_sub(m - 1 + n);
        // A product of a zero that stands for no element with what is not finite would be NaN.
        if before + behind > 0 && dtype.kind().is_inexact() && !short.is_finite()? {
            return long.sums_within(&short, before, count);
        }
        let padded = match (before, behind) {
            (0, 0) => long,
            widths => long.pad(&[widths], Padding::Constant(Weak::Int(0)))?,
        };
        let windows = padded.sliding_window_view(&[m], None)?;
        let first = [SliceItem::Slice { start: None, stop: Some(count.cast_signed()), step: 1 }];
        windows.slice(&first)?.matmul(&short)
    }

    /// The sums of the products of this row and one that is no longer, for so many places of it, the first of them so many elements
    /// before this row's first: of what lies within it alone. Where the one lies within as a whole they are products of
    /// windows, at both ends one after the other.
    fn sums_within(&self, row: &Self, before: usize, count: usize) -> Result<Self> {
        let (n, m) = (self.len(), row.len());
        let out = Self::empty(&self.queue, &[count], self.dtype, self.usm_kind())?;
        let part = |start: usize, stop: usize| [places(start, stop)];
        let whole = before..(before + n - m + 1).min(count);
        let windows = self.sliding_window_view(&[m], None)?.slice(&part(0, whole.len()))?;
        out.slice(&part(whole.start, whole.end))?.assign(&windows.matmul(row)?)?;
        for place in (0..whole.start).chain(whole.end..count) {
            // Which of the row's elements meet one, and where the first of them is here.
            let (first, end) = (before.saturating_sub(place), m.min(n + before - place));
            let own = place + first - before;
            let sum = self.slice(&part(own, own + end - first))?.matmul(&row.slice(&part(first, end))?)?;
            out.slice(&part(place, place + 1))?.assign(&sum.expand_dims(&[0])?)?;
        }
        Ok(out)
    }

    /// Whether all elements are finite; waits for them.
    fn is_finite(&self) -> Result<bool> {
        let finite = interim(Op::IsFinite, &[self.into()])?;
        Ok(finite.reduce_all(Reduction::All)? == Scalar::Bool(true))
    }

    /// The values of a polynomial at numbers, by Horner's method: `x` times what the coefficients before come to, plus the next,
    /// from the highest power on, which is the first. Recorded.
    ///
    /// # Errors
    /// [`Error::Shape`] where the coefficients have not one dimension; as for [`elementwise`].
    pub fn polyval(&self, x: &Self) -> Result<Self> {
        if self.ndim() != 1 {
            return Err(Error::shape(
                "p",
                format!("of shape {:?}", self.shape()),
                "coefficients in one dimension",
                "reshape them first",
            ));
        }
        common_queue(&[("p", &self.queue), ("x", &x.queue)])?;
        let dtype = result_type(&[self.dtype, x.dtype], &[], x.device().dtype_support())?;
        let zero = Scalar::I8(0).cast(dtype);
        let kind = self.usm_kind().combine(x.usm_kind());
        let Some(last) = self.len().checked_sub(1) else {
            let out = Self::builder(x.shape()).dtype(dtype).buffer(kind).order(Order::C).queue(&x.queue);
            return out.filled(zero);
        };
        let coefficient =
            |number: usize| self.slice(&[SliceItem::Index(number.cast_signed())])?.astype(dtype);
        let x = x.astype(dtype)?;
        let mut value = coefficient(0)?;
        if last == 0 {
            return value.broadcast_to(x.shape())?.copy();
        }
        for number in 1..=last {
            if number.is_multiple_of(STEPS) {
                check_interrupt()?;
            }
            let product = interim(Op::Multiply, &[(&value).into(), (&x).into()])?;
            let next = coefficient(number)?;
            value = match number == last {
                true => elementwise(Op::Add, &[(&product).into(), (&next).into()])?,
                false => interim(Op::Add, &[(&product).into(), (&next).into()])?,
            };
        }
        Ok(value)
    }
}
