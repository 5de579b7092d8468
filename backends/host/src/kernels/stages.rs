//! Stages of which each reads what those before it wrote, as a pass over an array and over what its rows come to does: some
//! rows at a time go through all stages, while a cache has them.

use std::ops::Range;

use smallvec::SmallVec;
use stridewise_core::{
    Result,
    backend::{Family, LaunchPlan, Operand},
};

use super::moving::space::Space;
use super::product::contract;
use super::program::tile::Map;
use super::reduce::together::Together;
use super::reduce::together::groups;
use super::split;
use super::tuning::{SECOND_CACHE_BYTES, Tuning};
use crate::fork_join::{self, Direction};

/// Runs stages by rows: those of the outermost dimension. Whether it did: not where a row needs more of an earlier stage than
/// the same row, or rows are too few or too long.
///
/// # Errors
/// There is no memory for accumulators and tiles.
///
/// # Safety
/// The contract of [`run`](super::run), for the plans of each stage once those before it have been run.
pub(crate) unsafe fn by_rows(stages: &[Vec<LaunchPlan>], tuning: &Tuning) -> Result<bool> {
    let Some((rows, bytes)) = rows(stages).filter(|&(_, bytes)| bytes <= SECOND_CACHE_BYTES) else {
        return Ok(false);
    };
    // About half of such a cache at a time.
    let parts = rows.div_ceil((SECOND_CACHE_BYTES / 2 / bytes.max(1)).max(1));
    if parts < tuning.threads * split::PARTS {
        return Ok(false);
    }
    let groups = stages.iter().flat_map(|stage| groups(stage));
    let Some(mut passes) = groups.map(|group| Pass::compile(group, tuning)).collect::<Option<Vec<_>>>()
    else {
        return Ok(false);
    };
    // While the last stage writes past the caches, the memory would only be written, and while the first one reads, only be
    // read. A thread mostly goes on with the next part.
    let direction = fork_join::direction();
    if let Some(Pass::Map(map)) = passes.iter_mut().flatten().next_back() {
        let LaunchPlan { inputs, program, .. } = &stages[0][0];
        let pitch = inputs[0].strides[0].unsigned_abs() * program.inputs()[0].size();
        let part = (rows / parts * pitch).cast_signed();
        map.fetch_ahead(inputs[0].ptr.as_ptr(), if direction == Direction::Backwards { -part } else { part });
    }
    split::try_share(direction, parts, tuning.threads, &|part| {
        let row = |part: usize| rows * part / parts;
        passes.iter().flatten().try_for_each(|pass| {
            // SAFETY: the contract of `run` holds for each plan of each stage; `rows` has found that a row of
            // a stage reads the same row of earlier ones, and each range of rows is one thread's.
            unsafe { pass.run(row(part)..row(part + 1)) }
        })
    })?;
    Ok(true)
}

/// One pass over rows.
enum Pass {
    Map(Box<Map>),
    Fold(Box<Together>),
}

impl Pass {
    /// Compiles plans that are run together; `None` where that is no pass over rows.
    fn compile(group: &[LaunchPlan], tuning: &Tuning) -> Option<SmallVec<[Self; 1]>> {
        let first = group.first()?;
        let passes: SmallVec<[Self; 1]> = match first.family {
            Family::Map => Map::new(first, tuning).into_iter().map(|map| Self::Map(Box::new(map))).collect(),
            _ if contract::is_contraction(first, tuning.isa) => return None,
            _ => Together::of(group, tuning).into_iter().map(|folds| Self::Fold(Box::new(folds))).collect(),
        };
        // Tiles have an order of their own, in which rows may not be the outermost dimension.
        let by_rows = |space: &Space| {
            let output = &space.views[first.inputs.len()];
            let step = first.outputs[0].strides[0] * output.size.cast_signed();
            space.dims[..1] == first.dims[..1] && output.strides[0] == step
        };
        passes.iter().all(|pass| by_rows(pass.space())).then_some(passes)
    }

    fn space(&self) -> &Space {
        match self {
            Self::Map(map) => &map.tiles.space,
            Self::Fold(together) => together.one().kept(),
        }
    }

    /// Computes what some rows come to.
    ///
    /// # Errors
    /// As for [`by_rows`].
    ///
    /// # Safety
    /// The contract of [`by_rows`]; what rows of earlier stages these need is there.
    unsafe fn run(&self, rows: Range<usize>) -> Result<()> {
        let space = self.space();
        let row = space.len() / space.dims[0];
        let (start, end) = (rows.start * row, rows.end * row);
        // SAFETY: the rows are of these plans, and this call's.
        unsafe {
            match self {
                Self::Map(map) => map.range(start, end),
                Self::Fold(together) => together.outputs(start, end, 1),
            }
        }
    }
}

/// The number of rows that all plans have, and the bytes of one that is read, where each row of a stage needs no more of
/// earlier stages than the same row, and lies behind all rows before it.
fn rows(stages: &[Vec<LaunchPlan>]) -> Option<(usize, usize)> {
    let first = stages.first()?.first()?;
    let rows = *first.dims.first()?;
    // What was written: the operands, the bytes of their elements, and where these are.
    let mut written: SmallVec<[(Operand, usize, Range<usize>); 4]> = SmallVec::new();
    for stage in stages {
        for plan in stage {
            let kept = match plan.family {
                Family::Map => plan.dims.len(),
                Family::Reduce { reduced, .. } => plan.dims.len() - reduced,
                _ => 0,
            };
            if kept == 0 || plan.dims[0] != rows {
                return None;
            }
            for (number, input) in plan.inputs.iter().enumerate() {
                if plan.program.is_index(number) {
                    continue;
                }
                let size = plan.program.inputs()[number].size();
                let reach = input.reach(&plan.dims, size);
                let same_row = |(output, bytes, range): &(Operand, usize, Range<usize>)| {
                    let disjoint = range.end <= reach.start || reach.end <= range.start;
                    let place = (output.ptr, *bytes, output.strides[0]);
                    disjoint || (place == (input.ptr, size, input.strides[0]) && has_rows(input, &plan.dims))
                };
                if !written.iter().all(same_row) {
                    return None;
                }
            }
        }
        for plan in stage {
            for (number, output) in plan.outputs.iter().enumerate() {
                if !has_rows(output, &plan.dims) {
                    return None;
                }
                let size = plan.output_dtype(number).size();
                written.push((output.clone(), size, output.reach(&plan.dims, size)));
            }
        }
    }
    let bytes: usize = first.program.inputs().iter().map(|dtype| dtype.size()).sum();
    has_rows(first.inputs.first()?, &first.dims).then_some((rows, first.len() / rows * bytes))
}

/// Whether the elements of a row lie behind those of all rows before it.
fn has_rows(operand: &Operand, dims: &[usize]) -> bool {
    let inside = operand.strides.iter().zip(dims).skip(1);
    let inside: isize = inside.map(|(&step, &extent)| step * (extent.cast_signed() - 1)).sum();
    operand.strides.iter().all(|&step| step >= 0) && inside < operand.strides[0]
}
