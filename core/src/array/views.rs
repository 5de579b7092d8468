//! Other views of the same elements. None of them copies, but `reshape` where no view is possible.

use super::UsmArray;
use crate::error::{Error, Result};
use crate::layout::{Order, SliceItem, resolve_shape};

impl UsmArray {
    /// The elements that a basic index selects; see [`s!`](crate::s). NumPy's rules: ranges are cut off where the
    /// dimension ends, an index by itself has to be there.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for an index outside, [`Error::Axis`] for too many indices, [`Error::Value`] for a step of
    /// 0 or a second ellipsis.
    pub fn slice(&self, items: &[SliceItem]) -> Result<Self> {
        Ok(self.with_layout(self.layout.slice(items)?))
    }

    /// `extent` of the elements along an axis, from `start` on; there are as many.
    pub(super) fn narrow(&self, axis: usize, start: usize, extent: usize) -> Self {
        self.with_layout(self.layout.narrow(axis, start, extent))
    }

    /// The elements repeated to a shape, without a copy.
    ///
    /// # Errors
    /// [`Error::Shape`] where the shape does not broadcast to it.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self> {
        let layout = self.layout.broadcast_to(shape)?;
        let repeated = layout.len() > self.len();
        let mut array = self.with_layout(layout);
        array.writable &= !repeated;
        Ok(array)
    }

    /// The axes in another order.
    ///
    /// # Errors
    /// [`Error::Axis`] where `axes` is no permutation of the axes.
    pub fn permute_dims(&self, axes: &[isize]) -> Result<Self> {
        Ok(self.with_layout(self.layout.permute(axes)?))
    }

    /// The axes in reverse order.
    #[must_use]
    pub fn t(&self) -> Self {
        self.with_layout(self.layout.transpose())
    }

    /// The last two axes exchanged.
    ///
    /// # Errors
    /// [`Error::Axis`] with fewer than two dimensions.
    pub fn matrix_transpose(&self) -> Result<Self> {
        if self.ndim() < 2 {
            return Err(Error::axis(
                "x",
                format!("of shape {:?}", self.shape()),
                "at least two dimensions",
                "give it a second dimension with `expand_dims`",
            ));
        }
        self.swap_axes(-1, -2)
    }

    /// Two axes exchanged.
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range.
    pub fn swap_axes(&self, first: isize, second: isize) -> Result<Self> {
        Ok(self.with_layout(self.layout.swap_axes(first, second)?))
    }

    /// An axis moved to another place.
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range.
    pub fn move_axis(&self, source: isize, destination: isize) -> Result<Self> {
        Ok(self.with_layout(self.layout.move_axis(source, destination)?))
    }

    /// New axes of extent 1, at these places of the result.
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range or named twice.
    pub fn expand_dims(&self, axes: &[isize]) -> Result<Self> {
        Ok(self.with_layout(self.layout.expand_dims(axes)?))
    }

    /// Without these axes, which have extent 1.
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range or named twice, [`Error::Shape`] for one of another extent.
    pub fn squeeze(&self, axes: &[isize]) -> Result<Self> {
        Ok(self.with_layout(self.layout.squeeze(axes)?))
    }

    /// The elements in reverse order along axes; `None`: along all.
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range or named twice.
    pub fn flip(&self, axes: Option<&[isize]>) -> Result<Self> {
        Ok(self.with_layout(self.layout.flip(axes)?))
    }

    /// The elements, in row-major order, in another shape; one extent may be −1, for what is left. A view where the
    /// strides allow it, else a copy.
    ///
    /// # Errors
    /// [`Error::Shape`] where the number of elements differs.
    pub fn reshape(&self, shape: &[isize]) -> Result<Self> {
        let shape = resolve_shape(shape, self.len())?;
        match self.layout.reshape_view(&shape, Order::C) {
            Some(layout) => Ok(self.with_layout(layout)),
            None => {
                let copy = self.copy_in(Order::C)?;
                let layout = copy.layout.reshape_view(&shape, Order::C);
                layout.map(|layout| copy.with_layout(layout)).ok_or_else(|| {
                    Error::shape(
                        "shape",
                        format!("{shape:?}"),
                        "a shape that a contiguous array can take",
                        "this is a defect of the engine: please report it",
                    )
                })
            }
        }
    }

    /// As [`reshape`](Self::reshape), but never a copy.
    ///
    /// # Errors
    /// [`Error::Shape`] where the number of elements differs, or the strides allow no such view.
    pub fn reshape_view(&self, shape: &[isize]) -> Result<Self> {
        let shape = resolve_shape(shape, self.len())?;
        match self.layout.reshape_view(&shape, Order::C) {
            Some(layout) => Ok(self.with_layout(layout)),
            None => Err(Error::shape(
                "shape",
                format!(
                    "{shape:?} for an array of shape {:?} and strides {:?}",
                    self.shape(),
                    self.strides()
                ),
                "a shape that the strides allow without a copy",
                "use `reshape`, which copies where it has to",
            )),
        }
    }

    /// The order that results computed from this array alone have: column-major where it is that and not row-major.
    pub(crate) fn result_order(&self) -> Order {
        if self.layout.is_f_contiguous() && !self.layout.is_c_contiguous() { Order::F } else { Order::C }
    }
}
