//! Maps: every output element is the program's value on the input elements of its place.
//!
//! | form | for | what limits it |
//! |---|---|---|
//! | flat | operands that are one run of elements, or one element | memory: 16-byte accesses |
//! | rows | everything else: the last dimension along the first of the work-items, the others along the second | memory; rows of a few elements waste lanes |
//! | tiles | an input whose elements lie along another dimension than the outputs' | local memory, through which a tile turns |
//!
//! Small work takes rows whatever it is, with four dimensions (or as many as a plan can have), some of them of extent 1:
//! so a program that meets many shapes compiles one kernel.

mod tiles;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use smallvec::SmallVec;
use stridewise_core::{
    Dtype, Result,
    backend::{LaunchPlan, MAX_PLAN_DIMS, Operand},
};

use super::text::{Parameters, c_type, component, vector};
use super::{Argument, GROUP, Key, Stage, Target, Work, Writer};
use crate::emit;

use tiles::Tiles;

/// Work-items of a group on a processor, where a group is a loop.
const CPU_GROUP: usize = 64;
/// Bytes that one access should have.
const ACCESS_BYTES: usize = 16;
/// Groups along the second dimension at most: kernels go on from there in a loop.
const MAX_ROWS_OF_GROUPS: usize = 32_768;
/// Dimensions of the general form, where they suffice.
const GENERAL_DIMS: usize = 4;

/// The kernels of a map.
pub(crate) fn work<'a>(plan: &'a LaunchPlan, target: &'a Target) -> Result<Work<'a>> {
    let stage = if plan.len() <= target.general_points {
        let ndim = if plan.dims.len() <= GENERAL_DIMS { GENERAL_DIMS } else { MAX_PLAN_DIMS };
        rows(plan, target, ndim, 1)
    } else if let Some(width) = flat_width(plan) {
        // A processor's compiler makes its own vectors, of work-items, where nothing is in the way.
        flat(plan, target, if target.cpu { 1 } else { width })
    } else if let Some(tiles) = Tiles::of(plan, target) {
        tiles.stage(plan, target)
    } else {
        rows(plan, target, plan.dims.len(), row_width(plan))
    };
    Ok(Work::single(stage))
}

/// The operands: inputs, then outputs; each with its dtype, its name in a kernel and whether it is memory.
struct Named<'a> {
    operand: &'a Operand,
    dtype: Dtype,
    name: String,
    memory: bool,
    output: bool,
}

fn operands(plan: &LaunchPlan) -> Vec<Named<'_>> {
    let inputs = plan.inputs.iter().enumerate().map(|(i, operand)| Named {
        operand,
        dtype: plan.program.inputs()[i],
        name: format!("i{i}"),
        memory: !plan.program.is_index(i),
        output: false,
    });
    let outputs = plan.outputs.iter().enumerate().map(|(i, operand)| Named {
        operand,
        dtype: plan.program.output_dtype(i),
        name: format!("o{i}"),
        memory: true,
        output: true,
    });
    inputs.chain(outputs).collect()
}

/// Inputs and outputs, without names: for the decisions at every launch.
fn each<'a>(plan: &'a LaunchPlan) -> impl Iterator<Item = (&'a Operand, Dtype, bool)> + 'a {
    let inputs = plan.inputs.iter().enumerate();
    let inputs = inputs.map(|(i, x)| (x, plan.program.inputs()[i], !plan.program.is_index(i)));
    let outputs = plan.outputs.iter().enumerate().map(|(i, x)| (x, plan.program.output_dtype(i), true));
    inputs.chain(outputs)
}

/// Elements of a vector, such that the widest dtype's are a few accesses and the narrowest's not much less than one.
fn width(plan: &LaunchPlan) -> usize {
    let sizes = each(plan).filter(|&(_, _, memory)| memory).map(|(_, dtype, _)| dtype.size());
    let (narrow, wide) = sizes.fold((16, 1), |(low, high), size| (size.min(low), size.max(high)));
    let full = ACCESS_BYTES / wide;
    full.max((ACCESS_BYTES / 2) / narrow).min(4 * full).clamp(1, 16)
}

fn is_aligned(operand: &Operand, dtype: Dtype, width: usize) -> bool {
    // As the language asks of a pointer to a vector.
    operand.ptr.addr().is_multiple_of(width * dtype.size())
}

/// The vector width of a map over one run of elements; 1 where the operands are not aligned.
fn flat_width(plan: &LaunchPlan) -> Option<usize> {
    if plan.dims.len() != 1 {
        return None;
    }
    let runs = each(plan).all(|(operand, _, memory)| !memory || matches!(operand.strides[0], 0 | 1));
    let width = width(plan);
    let aligned = each(plan).all(|(operand, dtype, memory)| {
        !memory || operand.strides[0] == 0 || is_aligned(operand, dtype, width)
    });
    runs.then_some(if aligned { width } else { 1 })
}

/// The vector width of rows: 1 unless every row of every operand is a run of aligned vectors, or one element.
fn row_width(plan: &LaunchPlan) -> usize {
    let width = width(plan);
    let Some((&inner, outer)) = plan.dims.split_last() else { return 1 };
    let fits = |(operand, dtype, memory): (&Operand, Dtype, bool)| {
        let Some((&along, others)) = operand.strides.split_last() else { return false };
        !memory
            || along == 0
            || (along == 1
                && is_aligned(operand, dtype, width)
                && others.iter().zip(outer).all(|(stride, _)| stride.unsigned_abs().is_multiple_of(width)))
    };
    if inner.is_multiple_of(width) && each(plan).all(fits) { width } else { 1 }
}

/// The function `f` of the program, and what stands before it.
fn program_text(plan: &LaunchPlan, target: &Target) -> String {
    let program = &*plan.program;
    emit::prelude(target, &[program]) + &emit::function("f", program, target)
}

/// Declares the operands' and the constants' parameters.
fn declare(parameters: &mut Parameters, operands: &[Named<'_>], plan: &LaunchPlan, values: &[(&str, &str)]) {
    for named in operands.iter().filter(|named| named.memory) {
        let constant = if named.output { "" } else { "const " };
        parameters.memory(&format!("{constant}{}", c_type(named.dtype)), &named.name);
    }
    for (ty, name) in values {
        parameters.value(ty, name);
    }
    for (i, value) in plan.program.consts().iter().enumerate() {
        parameters.value(c_type(value.dtype()), &format!("c{i}"));
    }
}

/// The arguments for [`declare`].
fn arguments(plan: &LaunchPlan, values: impl IntoIterator<Item = Argument>) -> SmallVec<[Argument; 12]> {
    let memory =
        each(plan).filter(|&(_, _, memory)| memory).map(|(operand, _, _)| Argument::Memory(operand.ptr));
    let constants = plan.program.consts().iter().map(Argument::constant);
    memory.chain(values).chain(constants).collect()
}

/// A call of `f`: inputs by the expressions given, results into variables or lvalues given by `output`.
fn call(
    plan: &LaunchPlan,
    indent: &str,
    input: impl Fn(usize) -> String,
    output: impl Fn(usize) -> String,
) -> String {
    let inputs = (0..plan.inputs.len()).map(input);
    let constants = (0..plan.program.consts().len()).map(|i| format!("c{i}"));
    let mut values: Vec<String> = inputs.chain(constants).collect();
    if plan.outputs.len() == 1 {
        return format!("{indent}{} = f({});\n", output(0), values.join(", "));
    }
    let mut text = format!("{indent}{{\n");
    for i in 0..plan.outputs.len() {
        let _ = writeln!(text, "{indent}    {} r{i};", c_type(plan.program.output_dtype(i)));
        values.push(format!("&r{i}"));
    }
    let _ = writeln!(text, "{indent}    f({});", values.join(", "));
    for i in 0..plan.outputs.len() {
        let _ = writeln!(text, "{indent}    {} = r{i};", output(i));
    }
    let _ = writeln!(text, "{indent}}}");
    text
}

/// Which inputs are one element (0), a run (1) or an index (2), for the key.
fn kinds(key: &mut Key, plan: &LaunchPlan) {
    for (operand, _, memory) in each(plan) {
        key.push(if !memory {
            2
        } else {
            usize::from(operand.strides.last().is_some_and(|&stride| stride != 0))
        });
    }
}

/// One vector of elements per work-item: one read or written at once where it is aligned, element by element where it
/// is the last and not whole.
fn flat<'a>(plan: &'a LaunchPlan, target: &'a Target, width: usize) -> Stage<'a> {
    let n = plan.dims[0];
    let mut key = Key::new(Writer::FlatMap);
    key.push(width);
    kinds(&mut key, plan);
    key.program(&plan.program);
    let starts = each(plan).filter(|&(_, _, memory)| !memory).flat_map(|(operand, _, _)| {
        [Argument::long(operand.ptr.addr().cast_signed()), Argument::long(operand.strides[0])]
    });
    let arguments = arguments(plan, std::iter::once(Argument::long(n.cast_signed())).chain(starts));
    let group = if target.cpu { CPU_GROUP } else { GROUP }.min(target.max_group);
    let items = n.div_ceil(width).next_multiple_of(group);
    let source = Box::new(move || flat_text(plan, target, width));
    Stage { key, source, arguments, global: [items, 1], local: [group, 1] }
}

fn flat_text(plan: &LaunchPlan, target: &Target, width: usize) -> String {
    let operands = operands(plan);
    let mut parameters = Parameters::new(target);
    let index_names: Vec<(String, String)> = operands
        .iter()
        .filter(|named| !named.memory)
        .map(|named| (format!("{}_start", named.name), format!("{}_step", named.name)))
        .collect();
    let mut values = vec![("long", "n")];
    for (start, step) in &index_names {
        values.extend([("long", start.as_str()), ("long", step.as_str())]);
    }
    declare(&mut parameters, &operands, plan, &values);
    let single = |named: &Named<'_>| named.operand.strides[0] == 0;
    let at = |named: &Named<'_>, place: &str| match (named.memory, single(named)) {
        (false, _) => format!("{0}_start + ({place}) * {0}_step", named.name),
        (true, true) => format!("{}[0]", named.name),
        (true, false) => format!("{}[{place}]", named.name),
    };
    let mut body = String::new();
    let inputs = plan.inputs.len();
    if width == 1 {
        body.push_str("    const long p = get_global_id(0);\n    if (p >= n) return;\n");
        body.push_str(&call(plan, "    ", |i| at(&operands[i], "p"), |i| at(&operands[inputs + i], "p")));
    } else {
        let _ = writeln!(body, "    const long p = (long)get_global_id(0) * {width};");
        let _ = writeln!(body, "    if (p + {width} <= n) {{");
        body.push_str(&vector_body(plan, &operands, width, "        ", |_| "p".to_owned(), &|named, k| {
            at(named, &format!("p + {k}"))
        }));
        body.push_str("    } else {\n        for (long q = p; q < n; q++) {\n");
        body.push_str(&call(
            plan,
            "            ",
            |i| at(&operands[i], "q"),
            |i| at(&operands[inputs + i], "q"),
        ));
        body.push_str("        }\n    }\n");
    }
    program_text(plan, target) + &parameters.kernel("", &body)
}

/// A vector of every operand loaded, computed and stored: runs at `place`, others as `other` says for element k.
fn vector_body(
    plan: &LaunchPlan,
    operands: &[Named<'_>],
    width: usize,
    indent: &str,
    place: impl Fn(&Named<'_>) -> String,
    other: &dyn Fn(&Named<'_>, usize) -> String,
) -> String {
    let inputs = plan.inputs.len();
    let is_run = |named: &Named<'_>| named.memory && named.operand.strides.last() == Some(&1);
    let mut text = String::new();
    for named in &operands[..inputs] {
        if is_run(named) {
            let (ty, name) = (vector(named.dtype, width), &named.name);
            let _ = writeln!(
                text,
                "{indent}const {ty} v{name} = *(global const {ty} *)({name} + {});",
                place(named)
            );
        }
    }
    for named in &operands[inputs..] {
        let _ = writeln!(text, "{indent}{} v{};", vector(named.dtype, width), named.name);
    }
    let part = |named: &Named<'_>, k| format!("v{}{}", named.name, component(named.dtype, width, k));
    for k in 0..width {
        let input = |i: usize| {
            let named = &operands[i];
            if is_run(named) { part(named, k) } else { other(named, k) }
        };
        text.push_str(&call(plan, indent, input, |i| part(&operands[inputs + i], k)));
    }
    for named in &operands[inputs..] {
        let (ty, name) = (vector(named.dtype, width), &named.name);
        let _ = writeln!(text, "{indent}*(global {ty} *)({name} + {}) = v{name};", place(named));
    }
    text
}

/// The numbers of an iteration space of `ndim` dimensions, the first of them of extent 1 where the plan has fewer:
/// extents, then per operand its strides, then the starts of index inputs.
fn space(plan: &LaunchPlan, ndim: usize) -> (Argument, usize) {
    let missing = ndim - plan.dims.len();
    // A struct without members is none.
    let mut numbers: SmallVec<[isize; 32]> = SmallVec::new();
    let mut list = |first: isize, rest: &mut dyn Iterator<Item = isize>| {
        numbers.extend_from_slice(&[first; MAX_PLAN_DIMS][..missing]);
        for number in rest {
            numbers.push(number);
        }
    };
    list(1, &mut plan.dims.iter().map(|extent| extent.cast_signed()));
    for (operand, _, _) in each(plan) {
        list(0, &mut operand.strides.iter().copied());
    }
    for (operand, ..) in each(plan).filter(|&(_, _, memory)| !memory) {
        numbers.push(operand.ptr.addr().cast_signed());
    }
    if numbers.is_empty() {
        numbers.push(0);
    }
    (Argument::longs(numbers.iter().copied()), numbers.len())
}

/// Work-items along the last dimension and along the others, of a group and in all.
fn grid(inner: usize, rows: usize, group: usize) -> ([usize; 2], [usize; 2]) {
    let across = inner.next_power_of_two().min(group);
    let down = (group / across).min(rows.next_power_of_two());
    let groups = rows.div_ceil(down).min(MAX_ROWS_OF_GROUPS);
    ([inner.next_multiple_of(across), groups * down], [across, down])
}

/// The last dimension along the first of the work-items, a vector each; the others, as one number, along the second.
fn rows<'a>(plan: &'a LaunchPlan, target: &'a Target, ndim: usize, width: usize) -> Stage<'a> {
    let mut key = Key::new(Writer::RowMap);
    key.push(ndim);
    key.push(width);
    if width > 1 {
        kinds(&mut key, plan);
    }
    key.program(&plan.program);
    let inner = plan.dims.last().copied().unwrap_or(1);
    let rows = plan.len() / inner.max(1);
    let (numbers, _) = space(plan, ndim);
    let arguments = arguments(plan, [numbers, Argument::long(rows.cast_signed())]);
    let group = if target.cpu { CPU_GROUP } else { GROUP }.min(target.max_group);
    let (global, local) = grid(inner / width, rows, group);
    let source = Box::new(move || rows_text(plan, target, ndim, width));
    Stage { key, source, arguments, global, local }
}

fn rows_text(plan: &LaunchPlan, target: &Target, ndim: usize, width: usize) -> String {
    let operands = operands(plan);
    let inputs = plan.inputs.len();
    let (_, len) = space(plan, ndim);
    let mut parameters = Parameters::new(target);
    declare(&mut parameters, &operands, plan, &[("space", "s"), ("long", "rows")]);
    let mut body = String::new();
    let extent = if ndim == 0 { "1".to_owned() } else { format!("s.n[{}]", ndim - 1) };
    let times = if width == 1 { String::new() } else { format!(" * {width}") };
    let _ = writeln!(body, "    const long x = (long)get_global_id(0){times};");
    let _ = writeln!(body, "    if (x >= {extent}) return;");
    body.push_str("    for (long r = get_global_id(1); r < rows; r += get_global_size(1)) {\n");
    body.push_str("        long rest = r;\n");
    places(&mut body, &operands, ndim, &(0..ndim.saturating_sub(1)).rev().collect::<Vec<_>>());
    // Where an operand's first element is, and its k-th.
    let stride = |k: usize| format!("s.n[{}]", ndim * (1 + k) + ndim - 1);
    let position =
        |named: &Named<'_>| operands.iter().position(|other| other.name == named.name).unwrap_or(0);
    let element = |named: &Named<'_>, offset: usize| {
        let place = match (ndim, offset) {
            (0, _) => format!("p{}", named.name),
            (_, 0) => format!("p{} + x * {}", named.name, stride(position(named))),
            _ => format!("p{} + (x + {offset}) * {}", named.name, stride(position(named))),
        };
        if named.memory { format!("{}[{place}]", named.name) } else { place }
    };
    if width == 1 {
        let text =
            call(plan, "        ", |i| element(&operands[i], 0), |i| element(&operands[inputs + i], 0));
        body.push_str(&text);
    } else {
        let place = |named: &Named<'_>| format!("p{} + x", named.name);
        let other = |named: &Named<'_>, k: usize| match named.memory {
            true => format!("{0}[p{0}]", named.name),
            false => element(named, k),
        };
        body.push_str(&vector_body(plan, &operands, width, "        ", place, &other));
    }
    body.push_str("    }\n");
    program_text(plan, target) + &space_type(len) + &parameters.kernel("", &body)
}

fn space_type(len: usize) -> String {
    format!("typedef struct {{ long n[{len}]; }} space;\n")
}

/// Lines that make of the number `rest` a place of every operand, `p` and its name: the dimensions that the number runs
/// through, the fastest first.
fn places(body: &mut String, operands: &[Named<'_>], ndim: usize, dims: &[usize]) {
    let mut index = ndim * (1 + operands.len());
    for named in operands {
        let start = if named.memory {
            "0".to_owned()
        } else {
            index += 1;
            format!("s.n[{}]", index - 1)
        };
        let _ = writeln!(body, "        long p{} = {start};", named.name);
    }
    for (number, d) in dims.iter().enumerate() {
        // The last one has all that is left.
        let last = number + 1 == dims.len();
        let place = if last { "rest".to_owned() } else { format!("rest % s.n[{d}]") };
        let _ = writeln!(body, "        {{\n            const long at = {place};");
        for (k, named) in operands.iter().enumerate() {
            let _ = writeln!(body, "            p{} += at * s.n[{}];", named.name, ndim * (1 + k) + d);
        }
        if !last {
            let _ = writeln!(body, "            rest /= s.n[{d}];");
        }
        body.push_str("        }\n");
    }
}
