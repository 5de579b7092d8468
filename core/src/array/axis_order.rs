//! The order of axes in memory, which copies and the results of elementwise operations keep, as NumPy's do (order "K").
//! Row- and column-major arrays have it from their layout; what lies otherwise is computed by way of views whose axes are in
//! that order.
//!
//! The order is found by NumPy's rule from the strides of all operands. Written row-major, the result would
//! read its operand across memory, and its `strides`, which users see, would not be NumPy's. As views are put
//! in order here and put back behind the operation, nothing below knows of other orders: no layout of a
//! result, no plan, no kernel. The cost is a few views for each operation on permuted operands, which does
//! not take the road of dense calls. `tests/numpy` compares strides as well as values; no timing is recorded.

use smallvec::SmallVec;

use super::{ArrayOrScalar, UsmArray, elementwise};
use crate::error::Result;
use crate::layout::{Strides, broadcast_shapes};
use crate::ops::Op;

/// The axes, the outermost in memory first.
pub(super) type AxisOrder = SmallVec<[isize; 4]>;

/// Which place each axis has in an order.
fn inverse(order: &[isize]) -> AxisOrder {
    let mut places: AxisOrder = order.iter().map(|_| 0).collect();
    for (place, axis) in order.iter().enumerate() {
        places[axis.unsigned_abs()] = place.cast_signed();
    }
    places
}

/// Axes sorted from the outermost: `farther(a, b)` says whether one that comes later steps farther than one before it, `None`
/// where nothing says so or the contrary. `None` where they are in order as they are.
fn sorted(ndim: usize, farther: impl Fn(usize, usize) -> Option<bool>) -> Option<AxisOrder> {
    let mut order: AxisOrder = (0..ndim).map(usize::cast_signed).collect();
    for next in 1..ndim {
        let (axis, mut place) = (order[next], next);
        for before in (0..next).rev() {
            match farther(axis.unsigned_abs(), order[before].unsigned_abs()) {
                Some(true) => place = before,
                Some(false) => break,
                None => {}
            }
        }
        order.remove(next);
        order.insert(place, axis);
    }
    if order.is_sorted() { None } else { Some(order) }
}

/// Whether no axis steps farther than one before it: operands that are all so have the usual order in common.
fn outermost_first(array: &UsmArray) -> bool {
    let mut least = usize::MAX;
    array.shape().iter().zip(array.strides()).all(|(&extent, &stride)| {
        let step = stride.unsigned_abs();
        // Along what is repeated nothing is stepped.
        let steps = extent != 1 && step != 0;
        let ordered = !steps || step <= least;
        if steps {
            least = step;
        }
        ordered
    })
}

/// The order that operands have in common, where it is neither row- nor column-major or not theirs as they are; `None` for
/// the usual ones.
pub(super) fn joint(operands: &[ArrayOrScalar<'_>]) -> Option<AxisOrder> {
    let arrays = || {
        operands.iter().filter_map(|operand| match operand {
            ArrayOrScalar::Array(array) => Some(*array),
            _ => None,
        })
    };
    let usual = |array: &UsmArray| array.layout().is_c_contiguous() || array.layout().is_f_contiguous();
    if arrays().all(outermost_first) || arrays().all(usual) {
        return None;
    }
    let shapes: SmallVec<[&[usize]; 3]> = arrays().map(UsmArray::shape).collect();
    let shape = broadcast_shapes(&shapes).ok()?;
    // Aligned at the last axis; along what is repeated nothing is stepped.
    let strides: SmallVec<[Strides; 3]> = arrays()
        .map(|array| {
            let missing = shape.len() - array.ndim();
            let own = array.shape().iter().zip(array.strides());
            let own = own.map(|(&extent, &stride)| if extent == 1 { 0 } else { stride });
            std::iter::repeat_n(0, missing).chain(own).collect()
        })
        .collect();
    sorted(shape.len(), |later, before| {
        let both = |strides: &Strides| {
            let steps = (strides[later].unsigned_abs(), strides[before].unsigned_abs());
            (steps.0 != 0 && steps.1 != 0).then_some(steps.0 > steps.1)
        };
        strides.iter().filter_map(both).reduce(|all, own| all && own)
    })
}

/// An elementwise operation on operands of such an order, whose result has it.
///
/// # Errors
/// As for [`elementwise`].
pub(super) fn along(order: &[isize], op: Op, operands: &[ArrayOrScalar<'_>]) -> Result<UsmArray> {
    let arrays = operands.iter().map(|operand| match operand {
        ArrayOrScalar::Array(array) => {
            let missing: AxisOrder = (0..(order.len() - array.ndim()).cast_signed()).collect();
            array.expand_dims(&missing)?.permute_dims(order).map(Some)
        }
        _ => Ok(None),
    });
    let arrays = arrays.collect::<Result<SmallVec<[Option<UsmArray>; 3]>>>()?;
    let moved = operands.iter().zip(&arrays).map(|(operand, array)| match array {
        Some(array) => array.into(),
        None => operand.clone(),
    });
    let moved: SmallVec<[ArrayOrScalar<'_>; 3]> = moved.collect();
    elementwise::elementwise_as_they_lie(op, &moved)?.permute_dims(&inverse(order))
}

impl UsmArray {
    /// The axes in the order in which they lie, the outermost first; `None` for row- and column-major arrays.
    pub(super) fn axis_order(&self) -> Option<AxisOrder> {
        if self.layout.is_c_contiguous() || self.layout.is_f_contiguous() {
            return None;
        }
        let step = |axis: usize| self.strides()[axis].unsigned_abs();
        sorted(self.ndim(), |later, before| Some(step(later) > step(before)))
    }

    /// What a function makes of this array's elements, element by element, with the axes in this one's order.
    pub(super) fn in_axis_order(&self, function: impl FnOnce(&Self) -> Result<Self>) -> Result<Self> {
        match self.axis_order() {
            None => function(self),
            Some(order) => function(&self.permute_dims(&order)?)?.permute_dims(&inverse(&order)),
        }
    }

    /// Strides of new memory of this array's shape with the axes in this one's order; `None` for row- and column-major arrays.
    pub(super) fn kept_strides(&self) -> Option<Strides> {
        let order = self.axis_order()?;
        let mut strides: Strides = smallvec::smallvec![0; self.ndim()];
        let mut step = 1_isize;
        for axis in order.iter().rev().map(|axis| axis.unsigned_abs()) {
            strides[axis] = step;
            // Views may have more elements than memory has; the builder refuses those.
            step = step.saturating_mul(self.shape()[axis].max(1).cast_signed());
        }
        Some(strides)
    }
}

impl super::UsmArrayBuilder {
    /// As another array of the shape lies: its axes in the same order (NumPy's order "K"), without gaps.
    pub fn order_as(self, array: &UsmArray) -> Self {
        match array.kept_strides() {
            Some(strides) => self.strides(strides),
            None => self.order(array.result_order()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_sorted_by_their_steps() {
        let order = |strides: &[isize]| {
            sorted(strides.len(), |later, before| {
                Some(strides[later].unsigned_abs() > strides[before].unsigned_abs())
            })
        };
        assert_eq!(order(&[12, 4, 1]), None);
        assert_eq!(order(&[1, -12, 4]).unwrap()[..], [1, 2, 0]);
        assert_eq!(order(&[0, 4, 4, 1]).unwrap()[..], [1, 2, 3, 0]);
        assert_eq!(inverse(&[1, 2, 0])[..], [2, 0, 1]);
    }
}
