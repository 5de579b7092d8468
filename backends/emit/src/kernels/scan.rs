//! Scans along the last dimension: by a work-item per row, or by a group per row where its elements lie next to each
//! other; in three stages where there are few long rows: what each part of a row comes to, what those before each part come
//! to, and the parts.
//!
//! All of it depends on the plan and the device alone, so that the bits of a result are the same every time. Products of
//! floats are not cut, as one part's could overflow where the whole row's does not.

mod text;

#[cfg(test)]
mod tests;

use smallvec::{SmallVec, smallvec};
use stridewise_core::{
    DtypeKind, Error, Op, Result,
    backend::{Family, Fold, LaunchPlan},
};

use self::text::{Form, Mode, SEGMENT, WIDTH};
use super::reduce::load::{Access, Inputs};
use super::reduce::numbers::Numbers;
use super::reduce::space::Space;
use super::reduce::state::Folding;
use super::{Argument, GROUP, GROUPS, Key, Stage, Target, Work, Writer};

/// Rows shorter than this are scanned by a work-item each.
const SHORT: usize = 32;
/// So many rows next to each other are read together by work-items that scan one each.
const COLUMNS: usize = 16;
/// Groups per compute unit where rows are cut into parts: several rounds, so that the last is a small part.
const SPLIT_GROUPS: usize = 2 * GROUPS;
/// Work-items per compute unit that scan a part each.
const SPLIT_ITEMS: usize = 2048;
/// Elements of a part that a work-item scans, at least.
const ITEM_POINTS: usize = 64;
/// Elements of a part on a processor, at least.
const CORE_POINTS: usize = 8192;
/// Compute units of a processor from which on it is worth to read everything twice.
const ENOUGH_UNITS: usize = 3;
/// Work-items per compute unit of a processor.
const CORE_ITEMS: usize = 8;
/// Points from which on indices are 64 bits wide; what is added to an index at once stays far below.
const WIDE: usize = 1 << 30;

/// What computes a scan.
///
/// # Errors
/// [`Error::Dtype`] for a fold that does not take the dtype, [`Error::Unsupported`] for a plan that is no scan.
pub(crate) fn work<'a>(plan: &'a LaunchPlan, target: &Target) -> Result<Work<'a>> {
    let (Family::Scan { fold }, [output], Some(outer)) =
        (&plan.family, plan.outputs.as_slice(), plan.dims.len().checked_sub(1))
    else {
        return Err(Error::unsupported(
            "plan",
            format!("{:?}", plan.family),
            "a scan of at least one dimension to one output",
            "submit it as what it is",
        ));
    };
    let program = &*plan.program;
    let inputs = program.inputs().len();
    let mut rows = Space::new(plan, 0..outer, true);
    let along = Space::new(plan, outer..outer + 1, true);
    rows.sort_by(&[inputs]);
    rows.merge();
    let (count, n) = (rows.len(), along.len());
    let folding = Folding::new(Fold::Op(*fold), program.output_dtype(0), count.max(n) < WIDE)?;
    let inexact = matches!(folding.acc.kind(), DtypeKind::Float | DtypeKind::Complex);
    let whole = *fold == Op::Multiply && inexact;
    let next_to_each_other =
        along.step(inputs).unsigned_abs() <= rows.step(inputs).unsigned_abs() || count < COLUMNS;
    let group = !target.cpu && !whole && n >= SHORT && next_to_each_other && target.max_group >= 2 * SEGMENT;

    // Vectors, unless there is so little to do that it is not worth a text of its own.
    let mut vectors = false;
    let mut access = Inputs::single(program);
    let unroll = if folding.state_bytes() > 8 { 2 } else { 4 };
    if group {
        access.width = WIDTH;
        if plan.len() > target.general_points {
            let aligned = |address: usize, operand: usize, size: usize| {
                let fits = |bytes: usize| bytes.is_multiple_of(WIDTH * size);
                fits(address) && rows.strides[operand].iter().all(|s| fits(s.unsigned_abs() * size))
            };
            for k in 0..inputs {
                let size = program.inputs()[k].size();
                if program.is_index(k) {
                    continue;
                }
                access.access[k] = match along.step(k) {
                    0 => Access::Same,
                    1 if aligned(plan.inputs[k].ptr.addr(), k, size) => Access::Vector,
                    _ => Access::Strided,
                };
            }
            vectors = along.step(inputs) == 1 && aligned(output.ptr.addr(), inputs, folding.value.size());
        }
    }

    // Work-items of a group, elements that it takes at once, and parts of a row.
    let state = folding.state_bytes();
    let local = |size: usize| state * (unroll * (size + 2 * (size / SEGMENT)) + unroll);
    let mut size = if target.cpu { 1 } else { target.max_group.min(GROUP) };
    size = 1 << size.max(1).ilog2();
    if group {
        size = size.min((n / (WIDTH * unroll)).next_power_of_two()).max(2 * SEGMENT);
        while local(size) > target.local_bytes && size > SEGMENT {
            size /= 2;
        }
    } else {
        size = size.min(count.next_power_of_two());
    }
    let stretch = if group { size * WIDTH * unroll } else { 1 };
    let most = if whole {
        1
    } else if target.cpu {
        let enough = target.compute_units >= ENOUGH_UNITS && count < target.compute_units;
        if enough { (target.compute_units * CORE_ITEMS / count).min(n / CORE_POINTS) } else { 1 }
    } else if group {
        let full = target.compute_units * GROUPS;
        if count < full { (target.compute_units * SPLIT_GROUPS / count).min(n / (4 * stretch)) } else { 1 }
    } else {
        (target.compute_units * SPLIT_ITEMS / count).min(n / ITEM_POINTS)
    };
    let chunk = n.div_ceil(most.max(1)).next_multiple_of(stretch);
    let parts = n.div_ceil(chunk);
    let each = if target.cpu { count.div_ceil(target.compute_units * CORE_ITEMS) } else { 1 };

    // What the texts name, in the same order.
    let mut values: SmallVec<[isize; 32]> =
        [count, n, chunk, parts, each].iter().map(|v| v.cast_signed()).collect();
    values.extend(rows.extents.iter().map(|e| e.cast_signed()));
    for (k, operand) in plan.inputs.iter().enumerate() {
        values.extend(rows.strides[k].iter().copied());
        let base = if program.is_index(k) { operand.ptr.addr().cast_signed() } else { 0 };
        values.extend([along.step(k), base]);
    }
    values.extend(rows.strides[inputs].iter().copied());
    values.push(along.step(inputs));
    let constants = program.consts().iter().map(|v| v.dtype().size()).sum();
    let numbers = Numbers::new(values, constants, inputs + 2);
    let items = count.div_ceil(each);
    let global = if group { items * size } else { items.next_multiple_of(size) };
    let stage = |mode: Mode| {
        let form = Form {
            mode,
            inputs: access.clone(),
            group,
            unroll,
            vectors: vectors && mode != Mode::Total,
            outer: rows.extents.len(),
        };
        let mut key = Key::new(Writer::Scan);
        key.push(0);
        form.key(&mut key);
        folding.key(&mut key);
        numbers.key(&mut key);
        key.program(program);
        let mut arguments: SmallVec<[Argument; 12]> = Inputs::arguments(plan).collect();
        if mode != Mode::Whole {
            arguments.push(Argument::Scratch(0));
        }
        if mode != Mode::Total {
            arguments.push(Argument::Memory(output.ptr));
        }
        arguments.extend(program.consts().iter().map(Argument::constant));
        arguments.extend(numbers.argument());
        if group {
            arguments.push(Argument::Local(local(size)));
        }
        let (folding, numbers, device) = (folding.clone(), numbers.clone(), target.clone());
        Stage {
            key,
            source: Box::new(move || form.source(&device, program, &folding, &numbers)),
            arguments,
            global: [global, parts],
            local: [size, 1],
        }
    };
    if parts == 1 {
        return Ok(Work::single(stage(Mode::Whole)));
    }
    let mut key = Key::new(Writer::Scan);
    key.push(1);
    folding.key(&mut key);
    let own = if target.cpu { 1 } else { target.max_group.min(GROUP).min(parts.next_power_of_two()) };
    let (device, fold) = (target.clone(), folding.clone());
    let between = Stage {
        key,
        source: Box::new(move || text::totals(&device, &fold)),
        arguments: smallvec![
            Argument::Scratch(0),
            Argument::long(parts.cast_signed()),
            Argument::Local(own * state)
        ],
        global: [count * own, 1],
        local: [own, 1],
    };
    let stages = smallvec![stage(Mode::Total), between, stage(Mode::Rest)];
    Ok(Work { scratch_bytes: count * parts * state, stages })
}
