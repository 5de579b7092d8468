//! Elements at places that indices name: read from there, or written there.
//!
//! A gather is one pass. A scatter must leave, of the elements for one place, the last in row-major order, while
//! work-items run in any order: so each point has a *number*, each element of the output that can be named a *slot*, and
//! three passes of one kernel clear the slots that points name, raise each to the largest number of its points, and write
//! the elements whose numbers stand in their slots. Only dimensions that the places depend on take part in numbers and
//! slots, where it is certain that steps along the others lead to other elements.
//!
//! Slots have 32 bits. More points than that can number, and more slots than scratch memory should hold, are done in
//! rounds, one after the other; so a scatter may have any size.

use std::fmt::Write as _;

use smallvec::SmallVec;
use stridewise_core::memory::UsmPtr;
use stridewise_core::{
    Error, Result,
    backend::{Family, IndexedAxis, LaunchPlan},
};

use super::order;
use super::points::{self, Points, Strides, Walk};
use super::text::Parameters;
use super::{Argument, Key, Stage, Target, Work, Writer};

/// Views of a walk.
const DST: usize = 0;
const SRC: usize = 1;
/// Those of the places, of a gather and of a scatter by one pass.
const PLACES: usize = 2;
/// Those of a scatter by three passes.
const NUMBER: usize = 2;
const SLOT: usize = 3;
const SLOT_PLACES: usize = 4;

/// Points that one work-item of a processor scatters alone.
const ALONE: usize = 4096;
/// How much a scatter's rounds take, so that numbers fit in slots and slots in scratch memory.
const ROUNDS: Rounds = Rounds { points: 1 << 31, slots: 1 << 28 };
/// Bytes of arguments that every device takes.
const ARGUMENT_BYTES: usize = 1024;

/// What a round of a scatter takes at most.
#[derive(Clone, Copy)]
pub(super) struct Rounds {
    /// Points that are numbered.
    pub(super) points: usize,
    /// Slots, of four bytes.
    pub(super) slots: usize,
}

/// The kernels of a gather or a scatter.
///
/// # Errors
/// [`Error::Unsupported`] for a plan of another family; [`Error::Overflow`] where the arguments are more than devices
/// take, which only places of many axes over a space of many points or far strides are.
pub(super) fn work<'a>(plan: &'a LaunchPlan, target: &Target) -> Result<Work<'a>> {
    work_in_rounds(plan, target, ROUNDS)
}

/// As [`work`], by rounds of another size.
///
/// # Errors
/// As for [`work`].
pub(super) fn work_in_rounds<'a>(plan: &'a LaunchPlan, target: &Target, rounds: Rounds) -> Result<Work<'a>> {
    let (axes, scatter) = match &plan.family {
        Family::Gather { axes } => (&axes[..], false),
        Family::Scatter { axes } => (&axes[..], true),
        other => return Err(unsupported(format!("{other:?}"))),
    };
    let outputs = if scatter { 1..=1 } else { 1..=2 };
    if plan.inputs.len() != axes.len() + 1 || !outputs.contains(&plan.outputs.len()) {
        return Err(unsupported(format!("{} inputs for {} axes", plan.inputs.len(), axes.len())));
    }
    if scatter { self::scatter(plan, axes, target, rounds) } else { gather(plan, axes, target) }
}

fn unsupported(value: String) -> Error {
    Error::unsupported(
        "plan",
        value,
        "a gather or a scatter with one input of places for each axis",
        "this is a defect of the engine: please report it",
    )
}

/// Output of elements, and inputs of a plan.
fn views(plan: &LaunchPlan) -> impl Iterator<Item = &[isize]> {
    plan.outputs[..1].iter().chain(&plan.inputs).map(|operand| &operand.strides[..])
}

/// Whether a number of the walk or of the axes needs 64 bits.
fn is_wide(points: &Points, axes: &[IndexedAxis]) -> bool {
    let narrow =
        |axis: &IndexedAxis| i32::try_from(axis.extent).is_ok() && i32::try_from(axis.stride).is_ok();
    points.is_wide() || !axes.iter().all(narrow)
}

/// The parameters of all these kernels: output, source, places, the walk and the axes.
fn parameters(target: &Target, axes: usize) -> Parameters {
    let mut parameters = Parameters::new(target);
    parameters.memory("element", "dst");
    parameters.memory("const element", "src");
    for k in 0..axes {
        parameters.memory("const long", &format!("places{k}"));
    }
    parameters.value("walk", "w");
    if axes > 0 {
        parameters.value("axes", "x");
    }
    parameters
}

/// Memory for [`parameters`], with another first element of the source.
fn memory(plan: &LaunchPlan, src: UsmPtr) -> SmallVec<[Argument; 12]> {
    let places = plan.inputs[1..].iter().map(|operand| operand.ptr);
    [plan.outputs[0].ptr, src].into_iter().chain(places).map(Argument::Memory).collect()
}

/// The type `axes`, of extents, strides and (where `slots`) the slots' strides.
fn axes_type(walk: Walk, axes: usize, slots: bool) -> String {
    if axes == 0 {
        return String::new();
    }
    let fields: Vec<String> =
        (0..axes).map(|k| if slots { format!("n{k}, s{k}, t{k}") } else { format!("n{k}, s{k}") }).collect();
    format!("typedef struct {{\n    {} {};\n}} axes;\n", walk.number(), fields.join(", "))
}

/// Refuses more arguments than devices take.
fn check_size(arguments: &[Argument]) -> Result<()> {
    let bytes = arguments.iter().map(|argument| match argument {
        Argument::Bytes(bytes) => bytes.len(),
        _ => 16,
    });
    let bytes: usize = bytes.sum();
    if bytes > ARGUMENT_BYTES {
        return Err(Error::overflow(
            "arguments",
            format!("{bytes} bytes"),
            format!("at most {ARGUMENT_BYTES} bytes of extents and strides"),
            "index fewer axes at once, or fewer elements",
        ));
    }
    Ok(())
}

fn gather<'a>(plan: &'a LaunchPlan, axes: &'a [IndexedAxis], target: &Target) -> Result<Work<'a>> {
    let mut points = Points::new(&plan.dims, views(plan));
    // What is written in memory's order is written fastest; no other order counts.
    points.sort_by(DST);
    points.merge();
    let walk = Walk::new(&points, is_wide(&points, axes));
    let dtype = plan.program.inputs()[0];
    let told = plan.outputs.get(1);
    let mut key = Key::new(Writer::Gather);
    key.push(order::element_key(dtype));
    key.push(axes.len());
    key.push(usize::from(told.is_some()));
    walk.key(&mut key);

    let (count, kept, checked) = (axes.len(), target.clone(), told.is_some());
    let source = move || {
        let mut body = String::from("        long from = at1;\n");
        for k in 0..count {
            let place = format!("places{k}[at{}]", PLACES + k);
            if checked {
                // Atomic only because several may write, what they write is the same.
                let _ = writeln!(
                    body,
                    "        long place{k} = {place};\n        place{k} += place{k} < 0 ? (long)x.n{k} : 0L;\n        \
                     if (place{k} < 0 || place{k} >= x.n{k})\n            atomic_xchg(told, number);"
                );
            } else {
                let _ = writeln!(body, "        const long place{k} = {place};");
            }
            let _ = writeln!(body, "        from += clamp(place{k}, 0L, (long)x.n{k} - 1L) * x.s{k};");
        }
        body.push_str("        dst[at0] = src[from];\n");
        let mut parameters = parameters(&kept, count);
        if checked {
            parameters.memory("uint", "told");
            parameters.value("uint", "number");
        }
        [
            order::element(dtype),
            &walk.types(),
            &axes_type(walk, count, false),
            &parameters.kernel(points::attributes(&kept), &walk.body(&body)),
        ]
        .concat()
    };

    let each = points::each(points.len(), target);
    let mut arguments = memory(plan, plan.inputs[0].ptr);
    arguments.push(walk.argument(&points, each));
    if !axes.is_empty() {
        arguments.push(walk.numbers(axes.iter().flat_map(|axis| [axis.extent.cast_signed(), axis.stride])));
    }
    if let Some(told) = told {
        arguments.push(Argument::Memory(told.ptr));
        arguments.extend(plan.program.consts().first().map(Argument::constant));
    }
    check_size(&arguments)?;
    let (global, local) = points::range(points.len().div_ceil(each), target);
    Ok(Work::single(Stage { key, source: Box::new(source), arguments, global, local }))
}

fn scatter<'a>(
    plan: &'a LaunchPlan,
    axes: &'a [IndexedAxis],
    target: &Target,
    rounds: Rounds,
) -> Result<Work<'a>> {
    let dtype = plan.program.inputs()[0];
    let mut points = Points::new(&plan.dims, views(plan));
    let mut src = plan.inputs[0].ptr;
    // Along a dimension that neither the output nor the places run along, the last index stays.
    for d in 0..points.dims.len() {
        let named = points.views[PLACES..].iter().any(|places| places[d] != 0);
        if points.views[DST][d] == 0 && !named {
            let last = points.views[SRC][d].wrapping_mul(points.dims[d].cast_signed() - 1);
            let bytes = last.wrapping_mul(dtype.size().cast_signed());
            src = UsmPtr::new(src.as_ptr().wrapping_offset(bytes));
            points.dims[d] = 1;
        }
    }
    points.merge();
    let claim = Claim::new(&points, axes);
    if claim.points.len() <= 1 {
        return direct(plan, axes, target, &points, src, points::each(points.len(), target));
    }
    if target.cpu && points.len() <= ALONE {
        return direct(plan, axes, target, &points, src, points.len());
    }
    claimed(plan, axes, target, (&points, src), &claim, rounds)
}

/// A scatter whose points may be done in the order in which the work-items take them: one of them does, or no two points
/// are of one element.
fn direct<'a>(
    plan: &'a LaunchPlan,
    axes: &'a [IndexedAxis],
    target: &Target,
    points: &Points,
    src: UsmPtr,
    each: usize,
) -> Result<Work<'a>> {
    let walk = Walk::new(points, is_wide(points, axes));
    let dtype = plan.program.inputs()[0];
    let mut key = Key::new(Writer::Scatter);
    key.push(0);
    key.push(order::element_key(dtype));
    key.push(axes.len());
    walk.key(&mut key);

    let (count, kept) = (axes.len(), target.clone());
    let source = move || {
        let mut body = String::from("        long to = at0;\n        bool inside = true;\n");
        for k in 0..count {
            let _ = writeln!(
                body,
                "        const long place{k} = places{k}[at{}];\n        inside = inside && place{k} >= 0 && \
                 place{k} < x.n{k};\n        to += inside ? place{k} * x.s{k} : 0L;",
                PLACES + k
            );
        }
        body.push_str("        if (inside)\n            dst[to] = src[at1];\n");
        [
            order::element(dtype),
            &walk.types(),
            &axes_type(walk, count, false),
            &parameters(&kept, count).kernel(points::attributes(&kept), &walk.body(&body)),
        ]
        .concat()
    };
    let mut arguments = memory(plan, src);
    arguments.push(walk.argument(points, each));
    if !axes.is_empty() {
        arguments.push(walk.numbers(axes.iter().flat_map(|axis| [axis.extent.cast_signed(), axis.stride])));
    }
    check_size(&arguments)?;
    let (global, local) = points::range(points.len().div_ceil(each), target);
    Ok(Work::single(Stage { key, source: Box::new(source), arguments, global, local }))
}

/// Who writes what: the points that are numbered, and the slots of the elements that they name.
struct Claim {
    /// The points with an extent of 1 along dimensions that do not take part.
    points: Points,
    /// Strides of the points' numbers, which are row-major.
    numbers: Strides,
    /// Strides of the slots along the dimensions, and along the axes.
    slots: Strides,
    axes: Strides,
    /// The slot of multi-index and places zero.
    first: isize,
    /// Number of slots.
    count: usize,
}

impl Claim {
    fn new(points: &Points, axes: &[IndexedAxis]) -> Self {
        let dst = &points.views[DST];
        let certain = distinct(points, axes);
        let takes_part = |d: usize| !certain || points.views[PLACES..].iter().any(|places| places[d] != 0);
        let mut claim = Self {
            points: points.clone(),
            numbers: SmallVec::from_elem(0, points.dims.len()),
            slots: SmallVec::from_elem(0, points.dims.len()),
            axes: SmallVec::from_elem(0, axes.len()),
            first: 0,
            count: 1,
        };
        let mut number = 1;
        for d in (0..points.dims.len()).rev() {
            if takes_part(d) {
                claim.numbers[d] = number;
                number *= points.dims[d].cast_signed();
                if certain && dst[d] != 0 {
                    claim.slots[d] = claim.count.cast_signed();
                    claim.count *= points.dims[d];
                }
            } else {
                claim.points.dims[d] = 1;
            }
        }
        if certain {
            for (slot, axis) in claim.axes.iter_mut().zip(axes) {
                *slot = claim.count.cast_signed();
                claim.count *= axis.extent;
            }
            return claim;
        }
        // Elements of the output may be had at several multi-indices: they are told apart by their offsets.
        let (mut low, mut high) = (0, 0);
        let along = points.dims.iter().copied().zip(dst.iter().copied());
        for (extent, stride) in along.chain(axes.iter().map(|axis| (axis.extent, axis.stride))) {
            let reach = stride * (extent.cast_signed() - 1);
            if reach < 0 { low += reach } else { high += reach }
        }
        claim.slots.clone_from(dst);
        claim.axes = axes.iter().map(|axis| axis.stride).collect();
        claim.first = -low;
        claim.count = (high - low).unsigned_abs() + 1;
        claim
    }
}

/// Whether different indices along the output's dimensions and axes are certain to be of different elements: each step is
/// larger than what all smaller ones reach together.
fn distinct(points: &Points, axes: &[IndexedAxis]) -> bool {
    let along = points.dims.iter().copied().zip(&points.views[DST]).filter(|&(_, &stride)| stride != 0);
    let mut steps: SmallVec<[(usize, usize); 8]> =
        along.map(|(extent, stride)| (stride.unsigned_abs(), extent)).collect();
    steps.extend(axes.iter().map(|axis| (axis.stride.unsigned_abs(), axis.extent)));
    steps.sort_unstable();
    let mut reach = 0;
    for (step, extent) in steps {
        if extent > 1 && step <= reach {
            return false;
        }
        reach += step * (extent - 1);
    }
    true
}

/// A scatter by three passes for each round.
fn claimed<'a>(
    plan: &'a LaunchPlan,
    axes: &'a [IndexedAxis],
    target: &Target,
    (points, src): (&Points, UsmPtr),
    claim: &Claim,
    rounds: Rounds,
) -> Result<Work<'a>> {
    let dtype = plan.program.inputs()[0];
    let number_of = |points: &Points| {
        let mut all = points.clone();
        all.views.insert(NUMBER, claim.numbers.clone());
        all.views.insert(SLOT, claim.slots.clone());
        all
    };
    let (all, claimants) = (number_of(points), number_of(&claim.points));
    let wide = is_wide(&all, axes) || i32::try_from(claim.count).is_err();
    let walk = Walk::new(&all, wide);
    let mut key = Key::new(Writer::Scatter);
    key.push(1);
    key.push(order::element_key(dtype));
    key.push(axes.len());
    walk.key(&mut key);

    let (slots, numbers) = (claim.count.min(rounds.slots), claim.points.len());
    let mut stages: SmallVec<[Stage<'a>; 2]> = SmallVec::new();
    for first_slot in (0..claim.count).step_by(slots) {
        for first_number in (0..numbers).step_by(rounds.points) {
            for pass in 0..3 {
                let walked = if pass == WRITE { &all } else { &claimants };
                let each = points::each(walked.len(), target);
                let mut arguments = memory(plan, src);
                arguments.push(walk.argument(walked, each));
                if !axes.is_empty() {
                    let fields = axes.iter().zip(&claim.axes);
                    let fields =
                        fields.flat_map(|(axis, &slot)| [axis.extent.cast_signed(), axis.stride, slot]);
                    arguments.push(walk.numbers(fields));
                }
                arguments.push(Argument::Scratch(0));
                arguments.push(Argument::longs([
                    pass,
                    claim.first - first_slot.cast_signed(),
                    slots.min(claim.count - first_slot).cast_signed(),
                    first_number.cast_signed(),
                    rounds.points.min(numbers - first_number).cast_signed(),
                ]));
                check_size(&arguments)?;
                let (global, local) = points::range(walked.len().div_ceil(each), target);
                let (count, kept) = (axes.len(), target.clone());
                let source = move || claimed_text(order::element(dtype), walk, count, &kept);
                let key = key.clone();
                stages.push(Stage { key, source: Box::new(source), arguments, global, local });
            }
        }
    }
    Ok(Work { scratch_bytes: 4 * slots, stages })
}

/// The last of a round's passes.
const WRITE: isize = 2;

fn claimed_text(element: &str, walk: Walk, axes: usize, target: &Target) -> String {
    let mut body =
        format!("        long to = at{DST}, slot = at{SLOT} + r.slot;\n        bool inside = true;\n");
    for k in 0..axes {
        let _ = writeln!(
            body,
            "        const long place{k} = places{k}[at{}];
        inside = inside && place{k} >= 0 && place{k} < x.n{k};
        to += inside ? place{k} * x.s{k} : 0L;
        slot += inside ? place{k} * x.t{k} : 0L;",
            SLOT_PLACES + k
        );
    }
    let _ = write!(
        body,
        "        const long number = at{NUMBER} - r.number;
        if (inside && slot >= 0 && slot < r.slots && number >= 0 && number < r.numbers) {{
            if (r.pass == 0)
                atomic_xchg(&slots[slot], 0U);
            else if (r.pass == 1)
                atomic_max(&slots[slot], (uint)number + 1U);
            else if (slots[slot] == (uint)number + 1U)
                dst[to] = src[at{SRC}];
        }}
"
    );
    let mut parameters = parameters(target, axes);
    parameters.memory("volatile uint", "slots");
    parameters.value("rounds", "r");
    [
        element,
        &walk.types(),
        &axes_type(walk, axes, true),
        "typedef struct {\n    long pass, slot, slots, number, numbers;\n} rounds;\n",
        &parameters.kernel(points::attributes(target), &walk.body(&body)),
    ]
    .concat()
}
