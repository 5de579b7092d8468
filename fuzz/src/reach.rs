//! What numbers speak of, in arithmetic that is wide enough.

use std::ops::Range;

use stridewise::{MAX_LEN, MAX_NDIM};

/// Strides in row-major order; extents of 0 count as 1.
pub(crate) fn row_major(shape: &[i128]) -> Vec<i128> {
    let mut step = 1_i128;
    let mut strides: Vec<i128> = shape
        .iter()
        .rev()
        .map(|&extent| {
            let stride = step;
            step = step.saturating_mul(extent.max(1));
            stride
        })
        .collect();
    strides.reverse();
    strides
}

/// The number of elements of a shape; `None` where no array has it.
pub(crate) fn len(shape: &[i128]) -> Option<i128> {
    if shape.len() > MAX_NDIM || shape.iter().any(|&extent| extent < 0) {
        return None;
    }
    let product = shape.iter().filter(|&&extent| extent != 0).try_fold(1_i128, |product, &extent| {
        product.checked_mul(extent).filter(|&product| product <= MAX_LEN as i128)
    })?;
    Some(if shape.contains(&0) { 0 } else { product })
}

/// Where elements lie, as distances from the one at multi-index zero: the lowest, and one past the highest. The shape has
/// elements, and a [`len`].
pub(crate) fn reach(shape: &[i128], strides: &[i128]) -> Range<i128> {
    let spans = || shape.iter().zip(strides).map(|(&extent, &stride)| (extent - 1).saturating_mul(stride));
    let sum = |part: fn(i128) -> i128| spans().map(part).fold(0_i128, i128::saturating_add);
    sum(|span| span.min(0))..sum(|span| span.max(0)).saturating_add(1)
}

/// Every distance from the element at multi-index zero, the last index fastest.
pub(crate) fn distances(shape: &[i128], strides: &[i128]) -> Vec<i128> {
    let mut all = vec![0];
    for (&extent, &stride) in shape.iter().zip(strides) {
        all = all.iter().flat_map(|&first| (0..extent).map(move |i| first + i * stride)).collect();
    }
    all
}

/// Numbers in wide arithmetic.
pub(crate) fn wide<T: Copy + TryInto<i128>>(numbers: &[T]) -> Vec<i128> {
    numbers.iter().map(|&number| number.try_into().unwrap_or_else(|_| unreachable!("64 bits fit"))).collect()
}
