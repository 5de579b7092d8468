//! What layouts mean, by enumeration. The fuzzer includes this file, too.

use std::collections::HashSet;

use super::{Layout, Order, SliceItem};

/// All multi-indices of `shape` in C order.
pub(crate) fn multi_indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for &extent in shape {
        all = all.into_iter().flat_map(|head| (0..extent).map(move |i| [&head[..], &[i]].concat())).collect();
    }
    all
}

pub(crate) fn element(layout: &Layout, index: &[usize]) -> isize {
    index
        .iter()
        .zip(layout.strides())
        .fold(layout.offset() as isize, |sum, (&i, &stride)| sum + i as isize * stride)
}

/// The elements of a layout in C order, by definition.
pub(crate) fn elements(layout: &Layout) -> Vec<usize> {
    let place = |index: &Vec<usize>| usize::try_from(element(layout, index)).unwrap();
    multi_indices(layout.shape()).iter().map(place).collect()
}

/// What Python's rules select from `0..extent`, walking element by element.
pub(crate) fn python_slice(
    start: Option<isize>,
    stop: Option<isize>,
    step: isize,
    extent: usize,
) -> Vec<usize> {
    let extent = extent as isize;
    let from_end = |bound: isize| if bound < 0 { bound + extent } else { bound };
    let mut at = match start.map(from_end) {
        None => {
            if step > 0 {
                0
            } else {
                extent - 1
            }
        }
        Some(start) => {
            if step > 0 {
                start.max(0)
            } else {
                start.min(extent - 1)
            }
        }
    };
    let mut picked = vec![];
    while (0..extent).contains(&at) {
        let beyond = stop.map(from_end).is_some_and(|stop| if step > 0 { at >= stop } else { at <= stop });
        if beyond {
            break;
        }
        picked.push(at as usize);
        at = at.saturating_add(step);
    }
    picked
}

/// The slice by enumeration: shape and elements, or `None` where NumPy raises an error.
pub(crate) fn slice_oracle(layout: &Layout, items: &[SliceItem]) -> Option<(Vec<usize>, Vec<usize>)> {
    let full = SliceItem::Slice { start: None, stop: None, step: 1 };
    let consumed = items.iter().filter(|i| !matches!(i, SliceItem::NewAxis | SliceItem::Ellipsis)).count();
    let missing = layout.ndim().checked_sub(consumed)?;
    let mut items = items.to_vec();
    match items.iter().filter(|i| **i == SliceItem::Ellipsis).count() {
        0 => items.extend(vec![full; missing]),
        1 => {
            let at = items.iter().position(|i| *i == SliceItem::Ellipsis)?;
            items.splice(at..=at, vec![full; missing]);
        }
        _ => return None,
    }
    let (mut shape, mut choices, mut axis) = (vec![], vec![], 0);
    for item in items {
        let picked = match item {
            SliceItem::NewAxis => {
                shape.push(1);
                continue;
            }
            SliceItem::Index(index) => {
                let extent = layout.shape()[axis] as isize;
                let at = if index < 0 { index + extent } else { index };
                (0..extent).contains(&at).then(|| vec![at as usize])?
            }
            SliceItem::Slice { step: 0, .. } => return None,
            SliceItem::Slice { start, stop, step } => {
                let picked = python_slice(start, stop, step, layout.shape()[axis]);
                shape.push(picked.len());
                picked
            }
            SliceItem::Ellipsis => unreachable!("replaced above"),
        };
        choices.push(picked);
        axis += 1;
    }
    let counts: Vec<usize> = choices.iter().map(Vec::len).collect();
    let picked = multi_indices(&counts)
        .iter()
        .map(|places| {
            let index: Vec<usize> = places.iter().zip(&choices).map(|(&p, choice)| choice[p]).collect();
            element(layout, &index) as usize
        })
        .collect();
    Some((shape, picked))
}

/// The bytes of a layout's elements; wide, as a layout says nothing of the size of its elements.
pub(crate) fn bytes_of(layout: &Layout, itemsize: usize) -> HashSet<u128> {
    let itemsize = itemsize as u128;
    elements(layout).iter().flat_map(|&e| e as u128 * itemsize..(e as u128 + 1) * itemsize).collect()
}

/// The tuples of elements that operands visit, in C order.
pub(crate) fn visits(shape: &[usize], strides: &[Vec<isize>], offsets: &[isize]) -> Vec<Vec<isize>> {
    multi_indices(shape)
        .iter()
        .map(|index| {
            let at = |(steps, &offset): (&Vec<isize>, &isize)| {
                index.iter().zip(steps).fold(offset, |sum, (&i, &step)| sum + i as isize * step)
            };
            strides.iter().zip(offsets).map(at).collect()
        })
        .collect()
}

/// The elements of a layout in an order, by definition.
pub(crate) fn in_order(layout: &Layout, order: Order) -> Vec<usize> {
    match order {
        Order::C => elements(layout),
        Order::F => elements(&layout.transpose()),
    }
}

/// Whether there are strides with which a shape has these elements in an order. The only candidates are the distances to
/// the first neighbours.
pub(crate) fn is_strided(shape: &[usize], order: Order, wanted: &[usize]) -> bool {
    let Some(&first) = wanted.first() else { return true };
    let turned: Vec<usize> = match order {
        Order::C => shape.to_vec(),
        Order::F => shape.iter().rev().copied().collect(),
    };
    // How many places further on the neighbour along each dimension is.
    let mut steps = vec![1; turned.len()];
    for axis in (1..turned.len()).rev() {
        steps[axis - 1] = steps[axis] * turned[axis];
    }
    // Wide, as these may be no strides of a layout.
    let strides: Vec<i128> = turned
        .iter()
        .zip(&steps)
        .map(|(&extent, &step)| if extent > 1 { wanted[step] as i128 - first as i128 } else { 0 })
        .collect();
    let at = |index: &Vec<usize>| {
        index.iter().zip(&strides).fold(first as i128, |sum, (&i, &stride)| sum + i as i128 * stride)
    };
    multi_indices(&turned).iter().map(at).eq(wanted.iter().map(|&element| element as i128))
}
