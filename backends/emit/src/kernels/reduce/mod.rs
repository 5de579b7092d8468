//! Reductions: one kernel, or two where an output's points are shared by several groups.
//!
//! The points of an output are cut into parts, a part among the work-items of a group, and what these hold is folded along
//! trees. All of it depends on the plan and the device alone, so that the bits of a result are the same every time.
//!
//! Work-items read vectors where elements lie next to each other: along folded dimensions, where all elements of a vector
//! are of one output, or along kept ones, where each is of another.

pub(crate) mod load;
pub(crate) mod numbers;
pub(crate) mod space;
pub(crate) mod state;
#[cfg(test)]
pub(super) mod tests;
mod text;

use smallvec::{SmallVec, smallvec};
use stridewise_core::memory::UsmPtr;
use stridewise_core::{
    Dtype, Error, Result,
    backend::{Family, LaunchPlan, Program},
};

use self::load::{Inputs, VECTOR_BYTES, widest};
use self::numbers::Numbers;
use self::space::Space;
use self::state::Folding;
use self::text::{BLOCK, Ending, Form};
use super::{Argument, GROUP, GROUPS, Key, Stage, Target, Work, Writer};

/// Groups per compute unit where an output's points are cut into parts: several rounds, so that the last is a small part.
const SPLIT_GROUPS: usize = 4 * GROUPS;
/// The same where each part has a row of outputs to write.
const SPLIT_GROUPS_ACROSS: usize = 2 * GROUPS;
/// Outputs next to each other that a group folds where its work-items share them.
const COLUMNS: usize = 64;
/// Folding fewer points than this is done by one work-item per output.
const FEW: usize = 8;
/// Elements between two neighbours from which on they share nothing that is read.
const FAR: usize = 32;
/// Bytes of the accumulators of a work-item.
const ACCUMULATOR_BYTES: usize = 64;
/// Bytes of a work-item's states in local memory.
const LANE_BYTES: usize = 64;
/// Points from which on indices are 64 bits wide; what is added to an index at once stays far below.
const WIDE: usize = 1 << 30;
/// Bytes of a vector on a processor: a line of its cache.
const LINE_BYTES: usize = 64;
/// Work-items per compute unit on a processor.
const ITEMS: usize = 8;
/// Lines of memory that a processor reads on from where it was left.
const LINES: usize = 32;
/// Points of a work-item on a processor, at least, where an output's points are cut into parts.
const ITEM_POINTS: usize = 4096;

/// Who folds which points of which output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Grid {
    /// Outputs next to each other in a group; vectors of them where these lie across.
    columns: usize,
    /// Work-items of a group that share an output.
    sharing: usize,
    /// The work-items of a group are next to each other along the outputs first.
    columns_first: bool,
    /// Parts of an output's points.
    parts: usize,
    /// Points of a part.
    chunk: usize,
    /// Outputs of a work-item, one after the other; on a processor only.
    each: usize,
}

impl Grid {
    const fn group(self) -> usize {
        self.columns * self.sharing
    }

    /// Where groups run side by side: `rows` outputs of `n` points each, `unroll` of which are in flight.
    ///
    /// Parts are so short that a work-item needs no stack of sums, where that is possible.
    fn shared(target: &Target, rows: usize, n: usize, unroll: usize, across: bool) -> Self {
        let group = power_below(target.max_group.min(GROUP));
        let full = target.compute_units * GROUPS;
        let (columns, sharing) = if across && (n < FEW || rows.div_ceil(group) >= full) {
            (group, 1)
        } else if across {
            let columns = rows.next_power_of_two().min(COLUMNS).min(group);
            let sharing = (group / columns).min(power_below(n.div_ceil(unroll)));
            (group / sharing, sharing)
        } else {
            let sharing = power_below((n / (2 * unroll)).max(1)).min(group);
            (group / sharing, sharing)
        };
        let columns = columns.min(rows.next_power_of_two());
        let groups = rows.div_ceil(columns);
        let step = sharing * unroll;
        let mut parts = 1;
        if groups < full && n >= 8 * step {
            let most = if across { SPLIT_GROUPS_ACROSS } else { SPLIT_GROUPS };
            let fill = target.compute_units * most / groups;
            let short = n.div_ceil(BLOCK * step);
            parts = if short <= 4 * fill { fill.max(short) } else { fill };
            parts = parts.min(n / (4 * step)).max(1);
        }
        let chunk = if parts > 1 { n.div_ceil(parts).next_multiple_of(step) } else { n };
        Self { columns, sharing, columns_first: across, parts: n.div_ceil(chunk), chunk, each: 1 }
    }

    /// Where work-items run one after the other; `width` elements of each output, or of as many outputs, at once.
    fn alone(target: &Target, rows: usize, n: usize, width: usize, across: bool) -> Self {
        let items = target.compute_units * ITEMS;
        let points = (ITEM_POINTS / width).max(1);
        let (parts, each) = if across && rows >= LINES && n >= LINES * items {
            // So few lines of memory at a time that each is read on from where it was left.
            (n.div_ceil(LINES), rows)
        } else if rows < items {
            ((items / rows).min(n / points).max(1), 1)
        } else {
            (1, rows.div_ceil(items))
        };
        let chunk = n.div_ceil(parts);
        Self { columns: 1, sharing: 1, columns_first: true, parts: n.div_ceil(chunk), chunk, each }
    }

    /// Shifts and masks that give a work-item its column and its place in it.
    fn bits(self) -> [isize; 4] {
        let shift = |n: usize| n.trailing_zeros() as isize;
        let [sx, sy] = if self.columns_first { [0, shift(self.columns)] } else { [shift(self.sharing), 0] };
        [sx, sy, self.columns.cast_signed() - 1, self.sharing.cast_signed() - 1]
    }

    /// Work-items, and those of a group, for so many outputs.
    fn ranges(self, rows: usize) -> [[usize; 2]; 2] {
        let groups = rows.div_ceil(self.columns * self.each);
        [[groups * self.group(), self.parts], [self.group(), 1]]
    }
}

/// The largest power of two that is not larger.
fn power_below(n: usize) -> usize {
    1 << n.max(1).ilog2()
}

/// What computes a reduction.
///
/// # Errors
/// [`Error::Dtype`] for a fold that does not take the dtype, [`Error::Unsupported`] for a plan that is no reduction.
pub(crate) fn work<'a>(plan: &'a LaunchPlan, target: &Target) -> Result<Work<'a>> {
    let (Family::Reduce { fold, reduced, finish, .. }, [output]) = (&plan.family, plan.outputs.as_slice())
    else {
        return Err(Error::unsupported(
            "plan",
            format!("{:?}", plan.family),
            "a reduction to one output",
            "submit it as what it is",
        ));
    };
    let (fold, finish) = (*fold, finish.as_deref());
    let program = &*plan.program;
    let dims = plan.dims.len();
    let split = dims.saturating_sub(*reduced);
    let mut kept = Space::new(plan, 0..split, true);
    let mut along = Space::new(plan, split..dims, false);
    let memory: SmallVec<[usize; 4]> =
        (0..program.inputs().len()).filter(|&k| !program.is_index(k)).collect();
    // What neighbours along a space's innermost dimension cost to read.
    let cost =
        |space: &Space| memory.iter().map(|&k| space.step(k).unsigned_abs().clamp(1, FAR)).sum::<usize>();
    let folding = Folding::new(fold, program.output_dtype(0), kept.len().max(along.len()) < WIDE)?;
    kept.sort_by(&memory);
    // An index fold numbers points in the order of the plan.
    if !folding.places() {
        along.sort_by(&memory);
    }
    kept.merge();
    along.merge();
    if along.extents.is_empty() {
        along.extents.push(1);
        along.strides.iter_mut().for_each(|s| s.push(0));
    }
    let (outputs, points) = (kept.len(), along.len());
    let across = outputs > 1 && (points < FEW || cost(&kept) < cost(&along));

    // Vectors, unless there is so little to do that it is not worth a text of its own.
    let mut width = 1;
    if plan.len() > target.general_points {
        let (space, other) = if across { (&kept, &along) } else { (&along, &kept) };
        let aligned = |k: usize, bytes: usize| {
            let size = program.inputs()[k].size();
            let inner = space.strides[k].len() - 1;
            let rest = space.strides[k][..inner].iter().chain(&other.strides[k]);
            plan.inputs[k].ptr.addr().is_multiple_of(bytes)
                && rest.into_iter().all(|&s| (s.unsigned_abs() * size).is_multiple_of(bytes))
        };
        let bytes = if target.cpu && across { LINE_BYTES } else { VECTOR_BYTES };
        width = widest(program, |k| space.step(k), bytes, aligned);
        while across && width > 1 && width * folding.state_bytes() > LANE_BYTES {
            width /= 2;
        }
        let tail = !across && space.extents.len() == 1 && space.row() >= width;
        if !space.row().is_multiple_of(width) && !tail {
            width = 1;
        }
    }
    let unit = |space: &Space, k: usize| space.step(k);
    let units: SmallVec<[isize; 4]> =
        (0..program.inputs().len()).map(|k| if across { unit(&kept, k) } else { unit(&along, k) }).collect();
    let out_unit = kept.step(program.inputs().len());
    let merged = kept.clone();
    if across {
        kept.widen(width);
    } else {
        along.widen(width);
    }
    let inputs = Inputs::vectors(program, width, |k| units[k]);
    let unroll = match (memory.len(), width) {
        (0 | 1, 1) => 8,
        (0 | 1, _) | (2 | 3, 1) => 4,
        (2 | 3, _) | (_, 1) => 2,
        _ => 1,
    };
    let (rows, n) = (kept.len(), along.len());
    let grid = if target.cpu {
        Grid::alone(target, rows, n, width, across && width > 1)
    } else {
        Grid::shared(target, rows, n, unroll, across)
    };
    let lanes = if across { width } else { 1 };
    let most = power_below(ACCUMULATOR_BYTES / folding.state_bytes());
    let form = Form {
        accumulators: if lanes > 1 { (most / lanes).clamp(1, unroll) } else { most.min(unroll * width) },
        inputs,
        across: across && width > 1,
        tree: !target.cpu,
        unroll,
        kept: kept.extents.len(),
        folded: along.extents.len(),
        partial: grid.parts > 1,
        stacked: folding.rounds() && grid.chunk > BLOCK * unroll * grid.sharing,
    };

    // What the text of the first kernel names, in the same order.
    let mut values: SmallVec<[isize; 32]> =
        [rows, n, grid.chunk, points, grid.each, outputs].iter().map(|v| v.cast_signed()).collect();
    values.extend(grid.bits());
    values.extend(kept.extents.iter().chain(&along.extents).map(|e| e.cast_signed()));
    for (k, operand) in plan.inputs.iter().enumerate() {
        values.extend(kept.strides[k].iter().chain(&along.strides[k]).copied());
        let base = if program.is_index(k) { operand.ptr.addr().cast_signed() } else { 0 };
        values.extend([units[k], base]);
    }
    let mut bytes = constants(program);
    if !form.partial {
        values.extend(kept.strides[program.inputs().len()].iter().copied());
        values.push(out_unit);
        bytes += finish.map_or(0, constants);
    }
    let numbers = Numbers::new(values, bytes, memory.len() + 1);
    let out = plan.output_dtype(0);
    let mut key = Key::new(Writer::Reduce);
    key.push(0);
    form.key(&mut key);
    folding.key(&mut key);
    numbers.key(&mut key);
    key.program(program);
    let end = |key: &mut Key| {
        key.push(usize::from(finish.is_some()));
        if let Some(finish) = finish {
            key.program(finish);
        }
    };
    let mut arguments: SmallVec<[Argument; 12]> = Inputs::arguments(plan).collect();
    arguments.push(if form.partial { Argument::Scratch(0) } else { Argument::Memory(output.ptr) });
    arguments.extend(program.consts().iter().map(Argument::constant));
    if !form.partial {
        end(&mut key);
        arguments.extend(finish.into_iter().flat_map(|f| f.consts().iter().map(Argument::constant)));
    }
    arguments.extend(numbers.argument());
    let state = folding.state_bytes();
    if form.tree {
        arguments.push(Argument::Local((grid.group() * lanes * state).max(16)));
    }
    let [global, local] = grid.ranges(rows);
    let partial = form.partial;
    let (own, device) = (folding.clone(), target.clone());
    let source = Box::new(move || form.source(&device, program, &own, &Ending { finish, out }, &numbers));
    let mut stages: SmallVec<[Stage<'a>; 2]> = smallvec![Stage { key, source, arguments, global, local }];
    if !partial {
        return Ok(Work { scratch_bytes: 0, stages });
    }

    let merging = Merging { parts: grid.parts, kept: merged, folding, finish, out };
    let scratch_bytes = grid.parts * outputs * state;
    stages.push(merging.stage(output.ptr, target));
    Ok(Work { scratch_bytes, stages })
}

/// Whether numbers of so many points and less have 32 bits.
pub(crate) const fn narrow(points: usize) -> bool {
    points < WIDE
}

/// The parts of every output, which are folded by a kernel of their own.
pub(crate) struct Merging<'a> {
    pub(crate) parts: usize,
    /// The outputs, with the strides of the result last. A part has their states in this order in scratch memory.
    pub(crate) kept: Space,
    pub(crate) folding: Folding,
    pub(crate) finish: Option<&'a Program>,
    pub(crate) out: Dtype,
}

impl<'a> Merging<'a> {
    /// The kernel; the result is written to an address.
    pub(crate) fn stage(self, output: UsmPtr, target: &Target) -> Stage<'a> {
        let Self { parts, kept: merged, folding, finish, out } = self;
        let outputs = merged.len();
        let shared = !target.cpu;
        let mut grid = Grid::shared(target, outputs, parts, 1, outputs > 1);
        if target.cpu {
            // Next to each other, and alike, so that a compiler may make vectors of them.
            let columns = COLUMNS.min(target.max_group).min(outputs.next_power_of_two());
            grid = Grid { columns: power_below(columns), sharing: 1, columns_first: true, ..grid };
        }
        let (chunk, each) = (parts, 1);
        grid = Grid { parts: 1, chunk, each, ..grid };
        let mut values: SmallVec<[isize; 32]> = smallvec![outputs.cast_signed(), parts.cast_signed()];
        values.extend(grid.bits());
        values.extend(merged.extents.iter().map(|e| e.cast_signed()));
        values.extend(merged.strides.last().into_iter().flatten().copied());
        let numbers = Numbers::new(values, finish.map_or(0, constants), 2);
        let kept = merged.extents.len();
        let mut key = Key::new(Writer::Reduce);
        key.push(1);
        folding.key(&mut key);
        numbers.key(&mut key);
        key.push(kept);
        key.push(usize::from(finish.is_some()));
        if let Some(finish) = finish {
            key.program(finish);
        }
        let mut arguments: SmallVec<[Argument; 12]> =
            smallvec![Argument::Scratch(0), Argument::Memory(output)];
        arguments.extend(finish.into_iter().flat_map(|f| f.consts().iter().map(Argument::constant)));
        arguments.extend(numbers.argument());
        if shared {
            arguments.push(Argument::Local((grid.group() * folding.state_bytes()).max(16)));
        }
        let [global, local] = grid.ranges(outputs);
        let device = target.clone();
        let source =
            Box::new(move || text::merge(&device, &folding, &Ending { finish, out }, &numbers, kept, shared));
        Stage { key, source, arguments, global, local }
    }
}

/// Bytes of a program's constants.
fn constants(program: &Program) -> usize {
    program.consts().iter().map(|v| v.dtype().size()).sum()
}
