//! The element indices of a layout, one by one.

use super::{Dims, Layout, Strides};

/// Iterator over the element indices of a [`Layout`] in C order; see [`Layout::indices`].
#[derive(Clone, Debug)]
pub struct Indices {
    shape: Dims,
    strides: Strides,
    position: Dims,
    element: usize,
    remaining: usize,
}

impl Indices {
    pub(super) fn new(layout: &Layout) -> Self {
        Self {
            shape: Dims::from_slice(layout.shape()),
            strides: Strides::from_slice(layout.strides()),
            position: Dims::from_elem(0, layout.ndim()),
            element: layout.offset,
            remaining: layout.len(),
        }
    }
}

impl Iterator for Indices {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.remaining = self.remaining.checked_sub(1)?;
        let element = self.element;
        for axis in (0..self.shape.len()).rev() {
            let stride = self.strides[axis];
            if self.position[axis] + 1 < self.shape[axis] {
                self.position[axis] += 1;
                self.element = self.element.wrapping_add_signed(stride);
                break;
            }
            // Back to the start of this dimension; the sum is again an addressed element.
            let back = stride.wrapping_mul(self.position[axis].cast_signed());
            self.element = self.element.wrapping_add_signed(back.wrapping_neg());
            self.position[axis] = 0;
        }
        Some(element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl ExactSizeIterator for Indices {}
impl std::iter::FusedIterator for Indices {}
