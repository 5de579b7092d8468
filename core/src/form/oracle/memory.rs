//! Elements.

use crate::dtype::Dtype;
use crate::scalar::Scalar;

/// The elements of an object, in row-major order.
#[derive(Default)]
pub(super) struct Cells {
    pub(super) shape: Vec<usize>,
    pub(super) elements: Vec<Scalar>,
}

impl Cells {
    pub(super) fn new(shape: &[usize], elements: Vec<Scalar>) -> Self {
        Self { shape: shape.to_vec(), elements }
    }

    pub(super) fn zeros(shape: &[usize], dtype: Dtype) -> Self {
        let len = shape.iter().product();
        Self::new(shape, vec![Scalar::I8(0).cast(dtype); len])
    }

    /// As new, for another group.
    pub(super) fn reset(&mut self, dtype: Dtype) {
        self.elements.fill(Scalar::I8(0).cast(dtype));
    }

    /// The number of an element, or of the nearest one, and whether it is in range.
    pub(super) fn find(&self, indices: &[i128]) -> (Option<usize>, bool) {
        let mut inside = true;
        let mut number = 0;
        for (&index, &extent) in indices.iter().zip(&self.shape) {
            let nearest = index.clamp(0, extent.max(1) as i128 - 1);
            inside &= nearest == index && extent > 0;
            number = number * extent + nearest as usize;
        }
        ((!self.elements.is_empty()).then_some(number), inside)
    }
}
