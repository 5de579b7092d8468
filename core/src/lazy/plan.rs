//! From operands with layouts to the plain data that a backend takes.

use std::sync::Arc;

use smallvec::SmallVec;

use super::fold::Folding;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::{Dims, Layout, Strides, coalesce};
use crate::memory::allocation::Allocation;
use crate::memory::immediate::Source;
use crate::memory::schedule::Access;
use crate::memory::track::{Mode, Region};
use crate::memory::{UsmPtr, heap};
use crate::plan::{Family, LaunchPlan, MAX_PLAN_DIMS, Operand, Stored};
use crate::program::Program;

/// Memory with a layout: an input (broadcast to the iteration space) or an output.
#[derive(Clone)]
pub(crate) struct Placed {
    pub(crate) allocation: Arc<Allocation>,
    pub(crate) layout: Layout,
    pub(crate) dtype: Dtype,
}

impl Placed {
    pub(crate) fn access(&self, mode: Mode) -> Access {
        let region = Region::of(&self.layout, self.dtype.size());
        Access { allocation: Arc::clone(&self.allocation), region, mode }
    }

    /// What work at once reads or writes.
    pub(crate) fn source(&self) -> Source<'_> {
        Source { allocation: &self.allocation, layout: &self.layout }
    }

    /// The operand that starts `elements` after the layout's offset.
    pub(super) fn operand(&self, elements: isize, strides: &[isize]) -> Operand {
        let bytes = (self.layout.offset().cast_signed() + elements) * self.dtype.size().cast_signed();
        Operand { ptr: self.allocation.ptr().byte_offset(bytes), strides: strides.into() }
    }
}

/// What a pass reads: memory, or indices (the layout's offset and strides are the value's), or memory whose elements are moved, those
/// beyond the end to the beginning, along each axis by so many, fewer than its extent.
#[derive(Clone)]
pub(crate) enum Input {
    Memory(Placed),
    Index(Layout),
    Rolled(Placed, Dims),
}

impl Input {
    pub(crate) fn layout(&self) -> &Layout {
        match self {
            Self::Memory(placed) | Self::Rolled(placed, _) => &placed.layout,
            Self::Index(layout) => layout,
        }
    }

    pub(crate) fn memory(&self) -> Option<&Placed> {
        match self {
            Self::Memory(placed) | Self::Rolled(placed, _) => Some(placed),
            Self::Index(_) => None,
        }
    }

    /// How its elements are moved.
    fn ways(&self) -> Option<&[usize]> {
        match self {
            Self::Rolled(_, ways) => Some(ways),
            Self::Memory(_) | Self::Index(_) => None,
        }
    }

    fn operand(&self, elements: isize, strides: &[isize]) -> Operand {
        match self {
            Self::Memory(placed) | Self::Rolled(placed, _) => placed.operand(elements, strides),
            Self::Index(layout) => {
                let start = layout.offset().wrapping_add_signed(elements);
                Operand { ptr: UsmPtr::NULL.byte_offset(start.cast_signed()), strides: strides.into() }
            }
        }
    }
}

/// The plans of an elementwise pass: one, or several where elements are moved or more dimensions stay than a plan has.
pub(crate) fn map(
    program: &Arc<Program>,
    shape: &[usize],
    inputs: &[Input],
    outputs: &[Placed],
    plans: &mut Vec<LaunchPlan>,
) -> Result<()> {
    if inputs.iter().all(|input| input.ways().is_none()) {
        return map_part(program, shape, &|_| 0, inputs, outputs, plans);
    }
    // Boxes, in each of which everything is read in one piece: where they begin along each axis.
    let begins: SmallVec<[Dims; 4]> = (0..shape.len())
        .map(|axis| {
            let mut begins: Dims = inputs.iter().filter_map(|input| Some(input.ways()?[axis])).collect();
            begins.push(0);
            begins.sort_unstable();
            begins.dedup();
            begins
        })
        .collect();
    let counts: Dims = begins.iter().map(|begins| begins.len()).collect();
    for_each_index(&counts, |index| {
        let begin: Dims = index.iter().zip(&begins).map(|(&i, begins)| begins[i]).collect();
        let end = |axis: usize| begins[axis].get(index[axis] + 1).copied().unwrap_or(shape[axis]);
        let extents: Dims = (0..shape.len()).map(|axis| end(axis) - begin[axis]).collect();
        let ahead = |number: usize| -> isize {
            let input = number.checked_sub(outputs.len()).map(|input| &inputs[input]);
            let layout = input.map_or_else(|| &outputs[number].layout, Input::layout);
            let ways = input.and_then(Input::ways);
            let place = |axis: usize| match ways.map_or(0, |ways| ways[axis]) {
                way if begin[axis] < way => begin[axis] + shape[axis] - way,
                way => begin[axis] - way,
            };
            (0..shape.len()).map(|axis| place(axis).cast_signed() * layout.strides()[axis]).sum()
        };
        map_part(program, &extents, &ahead, inputs, outputs, plans)
    })
}

/// The plans of a part of an elementwise pass, which begins so many elements after the start of each operand, the outputs first: one,
/// or several where more dimensions stay than a plan has: their number is that of the outer dimensions' points.
fn map_part(
    program: &Arc<Program>,
    shape: &[usize],
    ahead: &dyn Fn(usize) -> isize,
    inputs: &[Input],
    outputs: &[Placed],
    plans: &mut Vec<LaunchPlan>,
) -> Result<()> {
    let layouts = outputs.iter().map(|p| &p.layout).chain(inputs.iter().map(Input::layout));
    let strides: SmallVec<[&[isize]; 6]> = layouts.map(Layout::strides).collect();
    let space = coalesce(shape, &strides, true);
    let outer = space.shape.len().saturating_sub(MAX_PLAN_DIMS);
    for_each_index(&space.shape[..outer], |index| {
        let place = |number: usize| {
            let steps: &Strides = &space.strides[number];
            let outer_elements: isize = index.iter().zip(steps).map(|(&i, &s)| i.cast_signed() * s).sum();
            let (elements, steps) = (ahead(number) + space.offsets[number] + outer_elements, &steps[outer..]);
            match number.checked_sub(outputs.len()) {
                None => outputs[number].operand(elements, steps),
                Some(input) => inputs[input].operand(elements, steps),
            }
        };
        let plan = LaunchPlan {
            program: Arc::clone(program),
            family: Family::Map,
            dims: space.shape[outer..].into(),
            outputs: (0..outputs.len()).map(place).collect(),
            inputs: (outputs.len()..strides.len()).map(place).collect(),
        };
        heap::push("plans", plans, plan)
    })
}

fn slices(strides: &[Strides]) -> SmallVec<[&[isize]; 4]> {
    strides.iter().map(|s| &s[..]).collect()
}

/// The plans of a reduction of `shape`. The output has the shape without the folded axes. `stored`: where values are computed
/// that could have been stored, how they would lie; that is then the order of the fold.
pub(crate) fn reduce(
    program: &Arc<Program>,
    folding: &Folding,
    shape: &[usize],
    stored: Option<(&Layout, Dtype)>,
    inputs: &[Input],
    output: &Placed,
    plans: &mut Vec<LaunchPlan>,
) -> Result<()> {
    let (inner, kept): (Dims, Dims) = (0..shape.len()).partition(|axis| folding.axes.contains(axis));
    let extents = |axes: &[usize]| axes.iter().map(|&a| shape[a]).collect::<Dims>();
    let along =
        |axes: &[usize], layout: &Layout| axes.iter().map(|&a| layout.strides()[a]).collect::<Strides>();

    // What would be stored comes first: it decides on the order.
    let walks = || stored.iter().map(|(layout, _)| *layout).chain(inputs.iter().map(Input::layout));
    let first = usize::from(stored.is_some());
    let kept_strides: SmallVec<[Strides; 4]> = std::iter::once(Strides::from_slice(output.layout.strides()))
        .chain(walks().map(|layout| along(&kept, layout)))
        .collect();
    let outer = coalesce(&extents(&kept), &slices(&kept_strides), true);
    let inner_strides: SmallVec<[Strides; 4]> = walks().map(|layout| along(&inner, layout)).collect();
    // An index fold numbers the elements in row-major order, which reordering would change.
    let free_order = !folding.fold.is_index();
    let mut folded = coalesce(&extents(&inner), &slices(&inner_strides), free_order);
    if folded.shape.is_empty() {
        folded.shape.push(1);
        folded.strides.iter_mut().for_each(|s| s.push(0));
    }
    let Some(room) = MAX_PLAN_DIMS.checked_sub(folded.shape.len()) else {
        return Err(Error::unsupported(
            "axis",
            format!("{} dimensions that cannot be merged", folded.shape.len()),
            format!("at most {MAX_PLAN_DIMS}"),
            "reduce over some of the axes first, or copy the array to row-major order",
        ));
    };
    let split = outer.shape.len().saturating_sub(room);
    for_each_index(&outer.shape[..split], |index| {
        let ahead = |number: usize| {
            let steps = &outer.strides[number];
            let sum: isize = index.iter().zip(steps).map(|(&i, &s)| i.cast_signed() * s).sum();
            outer.offsets[number] + sum
        };
        let mut strides: Strides = outer.strides[0][split..].into();
        strides.extend(folded.shape.iter().map(|_| 0));
        let out = output.operand(ahead(0), &strides);
        let strides = |walk: usize| {
            let mut strides: Strides = outer.strides[walk + 1][split..].into();
            strides.extend_from_slice(&folded.strides[walk]);
            strides
        };
        let ins = inputs
            .iter()
            .zip(first..)
            .map(|(input, walk)| input.operand(ahead(walk + 1) + folded.offsets[walk], &strides(walk)));
        let plan = LaunchPlan {
            program: Arc::clone(program),
            family: Family::Reduce {
                fold: folding.fold,
                reduced: folded.shape.len(),
                finish: folding.finish.clone(),
                stored: stored.map(|(_, dtype)| Stored { dtype, strides: strides(0).into_iter().collect() }),
            },
            dims: outer.shape[split..].iter().chain(&folded.shape).copied().collect(),
            inputs: ins.collect(),
            outputs: SmallVec::from_elem(out, 1),
        };
        heap::push("plans", plans, plan)
    })
}

/// Calls a function with every multi-index of a shape, in row-major order, up to the first error.
pub(super) fn for_each_index(shape: &[usize], mut f: impl FnMut(&[usize]) -> Result<()>) -> Result<()> {
    let mut index: Dims = SmallVec::from_elem(0, shape.len());
    loop {
        f(&index)?;
        let next = (0..shape.len()).rev().find(|&axis| index[axis] + 1 < shape[axis]);
        let Some(axis) = next else { return Ok(()) };
        index[axis] += 1;
        index[axis + 1..].fill(0);
    }
}
