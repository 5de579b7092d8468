//! Axes: normalising them, and the operations that only rearrange, add, drop or reverse dimensions.

use super::{Dims, Layout, MAX_NDIM, Strides, checked_len};
use crate::error::{Error, Result, counted};

/// The axis counted from the front, from one that may count from the back (-1 is the last). `argument` is the name
/// that the error message gives it.
///
/// # Errors
/// `axis` is not in `-ndim..ndim`.
#[inline]
pub fn normalize_axis(argument: &'static str, axis: isize, ndim: usize) -> Result<usize> {
    let normal = if axis < 0 { ndim.checked_sub(axis.unsigned_abs()) } else { Some(axis.unsigned_abs()) };
    normal.filter(|&n| n < ndim).ok_or_else(|| {
        let expected = match ndim {
            0 => "no axis, as the array has no dimensions".to_owned(),
            _ => format!(
                "an axis from -{ndim} to {}, as the array has {}",
                ndim - 1,
                counted(ndim, "dimension")
            ),
        };
        Error::axis(argument, axis, expected, "name an existing axis, or add one with `expand_dims`")
    })
}

/// All axes of so many dimensions, at most [`MAX_NDIM`].
pub(crate) fn all_axes(ndim: usize) -> &'static [usize] {
    static ALL: [usize; MAX_NDIM] = {
        let mut all = [0; MAX_NDIM];
        let mut axis = 0;
        while axis < MAX_NDIM {
            all[axis] = axis;
            axis += 1;
        }
        all
    };
    &ALL[..ndim]
}

/// Several axes, each normalised, in the order given.
///
/// # Errors
/// An axis is out of range, or two name the same dimension.
pub fn normalize_axes(argument: &'static str, axes: &[isize], ndim: usize) -> Result<Dims> {
    let mut normal = Dims::new();
    normalize_axes_into(&mut normal, argument, axes, ndim)?;
    Ok(normal)
}

/// [`normalize_axes`], into a list that is empty: one that has just been written takes longer to be moved than to be made.
///
/// # Errors
/// As for [`normalize_axes`]; the list then has some of the axes.
#[inline]
pub(crate) fn normalize_axes_into(
    normal: &mut Dims,
    argument: &'static str,
    axes: &[isize],
    ndim: usize,
) -> Result<()> {
    debug_assert!(normal.is_empty(), "axes before the first");
    for &axis in axes {
        let axis = normalize_axis(argument, axis, ndim)?;
        if normal.contains(&axis) {
            return Err(Error::axis(
                argument,
                format!("{axes:?}, which names axis {axis} twice"),
                "different axes",
                "give each axis once; -1 is the last axis",
            ));
        }
        normal.push(axis);
    }
    Ok(())
}

impl Layout {
    /// Dimensions in another order: dimension `k` of the result is dimension `axes[k]`. Negative axes count from the
    /// back.
    ///
    /// # Errors
    /// `axes` is not a permutation of all dimensions.
    pub fn permute(&self, axes: &[isize]) -> Result<Self> {
        let normal = normalize_axes("axes", axes, self.ndim())?;
        if normal.len() != self.ndim() {
            return Err(Error::axis(
                "axes",
                format!("{axes:?}"),
                format!("all {} axes of an array of shape {:?}", self.ndim(), self.shape()),
                "give every axis once, in the new order",
            ));
        }
        Ok(self.select_axes(&normal))
    }

    /// The dimensions named, of which every other has extent 1 (or there is none).
    fn select_axes(&self, axes: &[usize]) -> Self {
        let shape: Dims = axes.iter().map(|&axis| self.shape()[axis]).collect();
        let strides: Strides = axes.iter().map(|&axis| self.strides()[axis]).collect();
        Self::from_parts(&shape, &strides, self.offset)
    }

    /// Dimensions in reverse order.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let axes: Dims = (0..self.ndim()).rev().collect();
        self.select_axes(&axes)
    }

    /// Dimension `source` moved to position `destination`, the others keeping their order.
    ///
    /// # Errors
    /// An axis is out of range.
    pub fn move_axis(&self, source: isize, destination: isize) -> Result<Self> {
        let source = normalize_axis("source", source, self.ndim())?;
        let destination = normalize_axis("destination", destination, self.ndim())?;
        let mut axes: Dims = (0..self.ndim()).filter(|&axis| axis != source).collect();
        axes.insert(destination, source);
        Ok(self.select_axes(&axes))
    }

    /// Two dimensions exchanged.
    ///
    /// # Errors
    /// An axis is out of range.
    pub fn swap_axes(&self, first: isize, second: isize) -> Result<Self> {
        let first = normalize_axis("first", first, self.ndim())?;
        let second = normalize_axis("second", second, self.ndim())?;
        let mut axes: Dims = (0..self.ndim()).collect();
        axes.swap(first, second);
        Ok(self.select_axes(&axes))
    }

    /// New dimensions of extent 1 at positions `axes` of the result; negative positions count from its back.
    ///
    /// # Errors
    /// A position is outside the result or given twice; too many dimensions.
    pub fn expand_dims(&self, axes: &[isize]) -> Result<Self> {
        let ndim = self.ndim() + axes.len();
        if ndim > MAX_NDIM {
            return Err(Error::axis(
                "axes",
                format!("{} axes, for an array of shape {:?}", axes.len(), self.shape()),
                format!("at most {MAX_NDIM} dimensions in all"),
                "add fewer axes, or merge dimensions with a reshape",
            ));
        }
        let positions = normalize_axes("axes", axes, ndim)?;
        let mut old = self.shape().iter().zip(self.strides());
        let (mut shape, mut strides) = (Dims::new(), Strides::new());
        for axis in 0..ndim {
            // `positions` are different, so the old dimensions fill the rest exactly.
            let dim = if positions.contains(&axis) { None } else { old.next() };
            let (extent, stride) = dim.map_or((1, 0), |(&extent, &stride)| (extent, stride));
            shape.push(extent);
            strides.push(stride);
        }
        checked_len(&shape)?;
        Ok(Self::from_parts(&shape, &strides, self.offset))
    }

    /// Without the dimensions `axes`, each of extent 1.
    ///
    /// # Errors
    /// An axis is out of range, given twice or of another extent.
    pub fn squeeze(&self, axes: &[isize]) -> Result<Self> {
        let dropped = normalize_axes("axes", axes, self.ndim())?;
        if let Some(&axis) = dropped.iter().find(|&&axis| self.shape()[axis] != 1) {
            return Err(Error::shape(
                "axes",
                format!(
                    "{axes:?}, where axis {axis} has extent {} in shape {:?}",
                    self.shape()[axis],
                    self.shape()
                ),
                "axes of extent 1",
                "select an element of that axis by an index, or leave the axis out",
            ));
        }
        let kept: Dims = (0..self.ndim()).filter(|axis| !dropped.contains(axis)).collect();
        Ok(self.select_axes(&kept))
    }

    /// The elements in reverse order along `axes`; `None` means along all.
    ///
    /// # Errors
    /// An axis is out of range or given twice.
    pub fn flip(&self, axes: Option<&[isize]>) -> Result<Self> {
        let axes = match axes {
            Some(axes) => normalize_axes("axes", axes, self.ndim())?,
            None => (0..self.ndim()).collect(),
        };
        let mut strides = Strides::from_slice(self.strides());
        let mut offset = self.offset;
        for axis in axes {
            let stride = strides[axis];
            if !self.is_empty() {
                // The far end of the dimension, which the layout addresses.
                let far = stride.wrapping_mul((self.shape()[axis] - 1).cast_signed());
                offset = offset.wrapping_add_signed(far);
            }
            // Only an array without elements or an extent of 1 can have a stride that has no negative.
            strides[axis] = stride.saturating_neg();
        }
        Ok(Self::from_parts(self.shape(), &strides, offset))
    }
}
