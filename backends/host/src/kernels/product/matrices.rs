//! A matrix product: its sides, and how its operands lie along them.

use stridewise_core::Dtype;

use crate::kernels::moving::space::Space;

/// Views of a space.
pub(crate) const A: usize = 0;
pub(crate) const B: usize = 1;
pub(crate) const OUT: usize = 2;

/// One of the three dimensions of a matrix product: extent, and bytes to step in the operands and the output.
#[derive(Clone, Copy)]
pub(crate) struct Side {
    pub(crate) len: usize,
    pub(crate) steps: [isize; 3],
}

/// A matrix product, for each point of a space.
pub(crate) struct Product {
    pub(crate) dtype: Dtype,
    pub(crate) m: Side,
    pub(crate) n: Side,
    pub(crate) k: Side,
    /// The other dimensions; its views are the operands and the output.
    pub(crate) batch: Space,
}
