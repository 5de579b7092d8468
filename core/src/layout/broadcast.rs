//! Broadcasting, by NumPy's rules.

use super::{Dims, Layout, MAX_NDIM, Strides, checked_len, normalize_axes};
use crate::error::{Error, Result};

/// The common shape of several operands: shapes are aligned at their last dimension, an extent of 1 stretches to the
/// other operands' extent (also to 0), missing dimensions count as 1. No shapes at all give the shape `[]`.
///
/// ```
/// use stridewise_core::broadcast_shapes;
/// assert_eq!(broadcast_shapes(&[&[4, 1], &[3]])?.as_slice(), [4, 3]);
/// assert!(broadcast_shapes(&[&[2], &[3]]).is_err());
/// # Ok::<(), stridewise_core::Error>(())
/// ```
///
/// # Errors
/// Two extents differ and neither is 1; the result has more than [`MAX_NDIM`] dimensions or too many elements.
pub fn broadcast_shapes(shapes: &[&[usize]]) -> Result<Dims> {
    if let [first, others @ ..] = shapes
        && others.iter().all(|other| other == first)
    {
        checked_len(first)?;
        return Ok(Dims::from_slice(first));
    }
    let ndim = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    if ndim > MAX_NDIM {
        // Before allocating; `checked_len` words the complaint.
        for shape in shapes {
            checked_len(shape)?;
        }
    }
    let mut result = Dims::from_elem(1, ndim);
    // The operand that set each extent, for the error message.
    let mut owner = Dims::from_elem(0, ndim);
    for (operand, shape) in shapes.iter().enumerate() {
        for (axis, &extent) in (ndim - shape.len()..ndim).zip(*shape) {
            if result[axis] == 1 {
                result[axis] = extent;
                owner[axis] = operand;
            } else if extent != 1 && extent != result[axis] {
                return Err(Error::shape(
                    format!("operand {operand}"),
                    format!(
                        "of shape {shape:?}, which could not be broadcast, with extent {extent} on axis {axis} of the result"
                    ),
                    format!(
                        "an extent of 1 or {} there, to go with operand {} of shape {:?}",
                        result[axis], owner[axis], shapes[owner[axis]]
                    ),
                    "reshape an operand, or insert an axis of extent 1 where it is to be repeated",
                ));
            }
        }
    }
    checked_len(&result)?;
    Ok(result)
}

impl Layout {
    /// The layout seen as `shape`: new leading dimensions and stretched extents of 1 get the stride 0.
    ///
    /// # Errors
    /// `shape` has fewer dimensions than the layout, an extent differs from one that is not 1, or `shape` itself is
    /// too large.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self> {
        checked_len(shape)?;
        let complaint = |expected: String| {
            Error::shape(
                "shape",
                format!("{shape:?}"),
                expected,
                format!(
                    "reshape the array of shape {:?}, or insert axes of extent 1 where it is to be repeated",
                    self.shape()
                ),
            )
        };
        let Some(new) = shape.len().checked_sub(self.ndim()) else {
            return Err(complaint(format!(
                "at least {} dimensions, as in the array's shape {:?}",
                self.ndim(),
                self.shape()
            )));
        };
        let mut strides = Strides::from_elem(0, shape.len());
        for (axis, (&have, &stride)) in self.shape().iter().zip(self.strides()).enumerate() {
            let want = shape[new + axis];
            if have == want {
                strides[new + axis] = stride;
            } else if have != 1 {
                return Err(complaint(format!(
                    "extent {have} on axis {}, as in the array's shape {:?}; only an extent of 1 can be stretched",
                    new + axis,
                    self.shape()
                )));
            }
        }
        // Stretching repeats elements and adds none.
        Ok(Self::from_parts(shape, &strides, self.offset))
    }

    /// All windows of extents along axes, in new dimensions behind the others.
    ///
    /// # Errors
    /// An axis out of range or named twice; a window that is longer than its axis or has no element; too many dimensions.
    pub(crate) fn windows(&self, extents: &[usize], axes: &[isize]) -> Result<Self> {
        let axes = normalize_axes("axis", axes, self.ndim())?;
        let (mut shape, mut strides) = (Dims::from_slice(self.shape()), Strides::from_slice(self.strides()));
        for (&window, &axis) in extents.iter().zip(&axes) {
            let extent = self.shape()[axis];
            if window == 0 || window > extent {
                return Err(Error::value(
                    "window_shape",
                    format!("{window} along axis {axis}"),
                    format!("from 1 to {extent}, the extent of the axis"),
                    "take shorter windows",
                ));
            }
            shape[axis] = extent - window + 1;
            shape.push(window);
            strides.push(self.strides()[axis]);
        }
        if shape.len() > MAX_NDIM {
            return Err(Error::axis(
                "axis",
                format!("{} dimensions", shape.len()),
                format!("at most {MAX_NDIM}"),
                "take windows along fewer axes",
            ));
        }
        checked_len(&shape)?;
        // Each window lies within the axis.
        Ok(Self::from_parts(&shape, &strides, self.offset))
    }
}
