//! The canonical iteration space of several operands.

use smallvec::SmallVec;

use super::{Dims, Strides};

/// An iteration space with as few dimensions as its operands allow; see [`coalesce`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Coalesced {
    /// The extents, outermost first. None at all means one element; a single 0 means no elements.
    pub shape: Dims,
    /// Per operand, the stride of each dimension in elements.
    pub strides: SmallVec<[Strides; 4]>,
    /// Per operand, elements to add to its offset: the flipped dimensions start at their other end.
    pub offsets: SmallVec<[isize; 4]>,
}

/// Reduces `shape`, walked by operands with the given `strides` (one slice per operand, in elements), to fewer
/// dimensions that visit the same tuples of elements.
///
/// Extents of 1 are dropped, and neighbouring dimensions are merged where every operand steps through both as through
/// one. With `reorder` false that is all, and the linear C order of the visits is kept. With `reorder` true the order
/// is free: dimensions that the first operand walks downwards, and no other upwards, are turned round, and the
/// dimensions are stably sorted by the size of their strides, the first operand's first, so that the innermost has
/// the smallest. Put the output first.
///
/// The strides must be those of valid layouts of that shape, broadcast to it.
///
/// ```
/// use stridewise_core::backend::coalesce;
/// // A transposed pair is one run of memory when the order is free.
/// let space = coalesce(&[3, 4], &[&[1, 3], &[1, 3]], true);
/// assert_eq!(space.shape.as_slice(), [12]);
/// ```
///
/// # Panics
/// An operand has fewer strides than `shape` has dimensions.
#[must_use]
pub fn coalesce(shape: &[usize], strides: &[&[isize]], reorder: bool) -> Coalesced {
    let operands = strides.len();
    let mut offsets: SmallVec<[isize; 4]> = SmallVec::from_elem(0, operands);
    if shape.contains(&0) {
        return Coalesced {
            shape: Dims::from_slice(&[0]),
            strides: SmallVec::from_elem(Strides::from_slice(&[0]), operands),
            offsets,
        };
    }
    // One dimension is the usual case of a few elements.
    if let (&[extent], false) = (shape, reorder)
        && extent != 1
    {
        return Coalesced {
            shape: Dims::from_slice(shape),
            strides: strides.iter().map(|steps| Strides::from_slice(steps)).collect(),
            offsets,
        };
    }
    let mut dims: SmallVec<[(usize, Strides); 4]> = shape
        .iter()
        .enumerate()
        .filter(|&(_, &extent)| extent != 1)
        .map(|(axis, &extent)| (extent, strides.iter().map(|operand| operand[axis]).collect()))
        .collect();
    if reorder {
        for (extent, steps) in &mut dims {
            if steps.first().is_some_and(|&first| first < 0) && steps.iter().all(|&step| step <= 0) {
                for (offset, step) in offsets.iter_mut().zip(steps.iter_mut()) {
                    // In range: the distance between two elements of one layout.
                    *offset = offset.saturating_add(step.saturating_mul((*extent - 1).cast_signed()));
                    *step = step.saturating_neg();
                }
            }
        }
        // Lexicographic over the operands, hence a total order; equal strides keep their order.
        dims.sort_by(|(_, a), (_, b)| sizes(b).cmp(sizes(a)));
    }
    let mut merged: SmallVec<[(usize, Strides); 4]> = SmallVec::new();
    for (extent, steps) in dims {
        if let Some((outer, outer_steps)) = merged.last_mut()
            && outer_steps.iter().zip(&steps).all(|(&o, &i)| o as i128 == i as i128 * extent as i128)
        {
            // In range: a factor of the number of elements.
            *outer = outer.saturating_mul(extent);
            *outer_steps = steps;
        } else {
            merged.push((extent, steps));
        }
    }
    Coalesced {
        shape: merged.iter().map(|(extent, _)| *extent).collect(),
        strides: (0..operands).map(|k| merged.iter().map(|(_, steps)| steps[k]).collect()).collect(),
        offsets,
    }
}

fn sizes(steps: &Strides) -> impl Iterator<Item = usize> {
    steps.iter().map(|step| step.unsigned_abs())
}
