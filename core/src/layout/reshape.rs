//! Reshaping without a copy.

use super::{Dims, Layout, Order, Strides, checked_len, contiguous_strides};
use crate::error::{Error, Result, counted};

/// The shape meant by `requested` for an array of `len` elements: one extent may be -1 and is then computed.
///
/// # Errors
/// A negative extent other than one -1; a number of elements other than `len`; a -1 that no extent, or every extent,
/// would fulfil.
pub fn resolve_shape(requested: &[isize], len: usize) -> Result<Dims> {
    let complaint = |expected: String, help: &'static str| {
        Error::shape("shape", format!("{requested:?} for {}", counted(len, "element")), expected, help)
    };
    let mut unknown = None;
    let mut shape = Dims::new();
    for (axis, &extent) in requested.iter().enumerate() {
        match usize::try_from(extent) {
            Ok(extent) => shape.push(extent),
            Err(_) if extent == -1 && unknown.is_none() => {
                unknown = Some(axis);
                shape.push(1);
            }
            Err(_) => {
                return Err(complaint(
                    format!("extents of 0 or more and at most one -1; axis {axis} has {extent}"),
                    "leave one extent at most to be computed",
                ));
            }
        }
    }
    let known = checked_len(&shape)?;
    match unknown {
        Some(axis) if known != 0 && len.is_multiple_of(known) => shape[axis] = len / known,
        Some(_) if known == 0 => {
            return Err(complaint(
                "extents other than 0 beside the -1, which is otherwise undetermined".to_owned(),
                "give every extent",
            ));
        }
        Some(_) => {
            return Err(complaint(
                format!("known extents whose product, {known}, divides the number of elements"),
                "choose extents whose product is the number of elements",
            ));
        }
        None if known != len => {
            return Err(complaint(
                format!("as many elements as the array has; the shape has {known}"),
                "choose extents whose product is the number of elements, or leave one as -1",
            ));
        }
        None => {}
    }
    checked_len(&shape)?;
    Ok(shape)
}

impl Layout {
    /// This view's elements, read in `order`, as a view of another `shape`, where strides can express that; else
    /// `None`, and a copy is needed. `None` also when `shape` has another number of elements; resolve it first with
    /// [`resolve_shape`].
    #[must_use]
    pub fn reshape_view(&self, shape: &[usize], order: Order) -> Option<Self> {
        if checked_len(shape).ok()? != self.len() {
            return None;
        }
        if self.is_empty() {
            let strides = contiguous_strides(shape, order);
            return Some(Self::from_parts(shape, &strides, self.offset));
        }
        let strides = match order {
            Order::C => {
                let inside_out = self.shape().iter().copied().zip(self.strides().iter().copied()).rev();
                let mut strides = retile(inside_out, shape.iter().rev().copied())?;
                strides.reverse();
                strides
            }
            Order::F => {
                let inside_out = self.shape().iter().copied().zip(self.strides().iter().copied());
                retile(inside_out, shape.iter().copied())?
            }
        };
        Some(Self::from_parts(shape, &strides, self.offset))
    }
}

/// Strides for the dimensions `new` over the elements of `old` (both fastest dimension first, with equally many
/// elements), if there are any.
///
/// Old dimensions that run on into each other form one run; each run must be filled exactly by new dimensions,
/// because a new dimension across the end of a run would need two strides.
fn retile(old: impl Iterator<Item = (usize, isize)>, new: impl Iterator<Item = usize>) -> Option<Strides> {
    let mut runs = Vec::<(usize, isize)>::new();
    for (extent, stride) in old.filter(|&(extent, _)| extent != 1) {
        match runs.last_mut() {
            Some((len, step)) if stride as i128 == *step as i128 * *len as i128 => *len *= extent,
            _ => runs.push((extent, stride)),
        }
    }
    let mut runs = runs.into_iter();
    let (mut left, mut step) = runs.next().unwrap_or((1, 1));
    let mut strides = Strides::new();
    for extent in new {
        if left == 1
            && extent != 1
            && let Some(run) = runs.next()
        {
            (left, step) = run;
        }
        if left % extent != 0 {
            return None;
        }
        strides.push(step);
        left /= extent;
        // Past the end of the last run only extents of 1 follow, whose stride is never used.
        step = step.saturating_mul(extent.cast_signed());
    }
    Some(strides)
}
