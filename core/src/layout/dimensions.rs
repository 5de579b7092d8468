//! Shape and strides as a layout holds them.

use super::{Order, contiguous_strides};

/// Dimensions that are held in place.
const FEW: usize = 4;

/// The extent and the stride of each dimension. Those of few dimensions lie in place and are copied as they lie, whole
/// words at a time: every result has a layout of its own, and small work would feel more.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Dimensions {
    /// Up to [`FEW`]; what is beyond them is 0.
    few: ([usize; FEW], [isize; FEW]),
    /// All, where there are more.
    many: Option<Box<(Vec<usize>, Vec<isize>)>>,
}

impl Dimensions {
    /// Those of a shape and its strides, of which there are as many.
    pub(super) fn new(shape: &[usize], strides: &[isize]) -> Self {
        debug_assert_eq!(shape.len(), strides.len(), "a stride for each dimension");
        let mut few = ([0; FEW], [0; FEW]);
        let mut many = None;
        if shape.len() <= FEW {
            few = (in_place(shape), in_place(strides));
        } else {
            many = Some(Box::new((shape.to_vec(), strides.to_vec())));
        }
        Self { few, many }
    }

    /// Those of elements that lie one after another. The shape's product is in range.
    #[inline(always)]
    pub(super) fn dense(shape: &[usize], order: Order) -> Self {
        // Extents of 0 count as 1.
        let step = |extent: usize| extent.max(1).cast_signed();
        let strides = match (shape, order) {
            ([], _) => [0; FEW],
            ([_], _) => [1, 0, 0, 0],
            ([_, b], Order::C) => [step(*b), 1, 0, 0],
            ([a, _], Order::F) => [1, step(*a), 0, 0],
            _ if shape.len() > FEW => return Self::new(shape, &contiguous_strides(shape, order)),
            _ => in_place(&contiguous_strides(shape, order)),
        };
        Self { few: (in_place(shape), strides), many: None }
    }

    /// Of as many dimensions as there are.
    #[inline]
    pub(super) fn shape(&self, ndim: usize) -> &[usize] {
        match &self.many {
            None => &self.few.0[..ndim],
            Some(all) => &all.0,
        }
    }

    /// Of as many dimensions as there are.
    #[inline]
    pub(super) fn strides(&self, ndim: usize) -> &[isize] {
        match &self.many {
            None => &self.few.1[..ndim],
            Some(all) => &all.1,
        }
    }
}

/// The first few, and 0 for those that are not there.
#[inline(always)]
fn in_place<T: Copy + Default>(all: &[T]) -> [T; FEW] {
    let none = T::default();
    match *all {
        [] => [none; FEW],
        [a] => [a, none, none, none],
        [a, b] => [a, b, none, none],
        [a, b, c] => [a, b, c, none],
        [a, b, c, d, ..] => [a, b, c, d],
    }
}
