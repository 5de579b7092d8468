//! Which plans there are kernels for, and what these cost.

use stridewise_core::backend::{Arg, Family, Fold, LaunchPlan, MAX_PLAN_DIMS, Program, ProgramStep, Support};
use stridewise_core::{Dtype, DtypeKind, Op, Scalar};

use super::moving::accumulate;
use super::product::vectors;
use super::scan;
use super::tuning::{GATHER_PS, NEAR_PS, READ_PS, SECOND_CACHE_BYTES, step_ps};

/// Whether the kernels can run a plan: every operation takes its dtype, and a fold is one of those that exist.
pub(crate) fn supports(plan: &LaunchPlan) -> Support {
    let refused = match &plan.family {
        Family::Map => program_refused(&plan.program),
        Family::Reduce { fold, reduced, finish, .. } => program_refused(&plan.program)
            .or_else(|| fold_refused(&plan.program, *fold, *reduced, plan.dims.len()))
            .or_else(|| finish.as_deref().and_then(|f| finish_refused(&plan.program, *fold, f))),
        _ => refused(plan),
    };
    let refused = refused.or_else(|| {
        (plan.dims.len() > MAX_PLAN_DIMS)
            .then(|| format!("{} dimensions; at most {MAX_PLAN_DIMS}", plan.dims.len()))
    });
    refused.map_or(Support::Native, Support::No)
}

fn program_refused(program: &Program) -> Option<String> {
    let step = program.steps().iter().find(|s| !s.op.allows(s.dtype))?;
    Some(format!("`{}` is not defined for {}", step.op.name(), step.dtype))
}

fn fold_refused(program: &Program, fold: Fold, reduced: usize, dims: usize) -> Option<String> {
    let dtype = program.output_dtype(0);
    let op = match fold {
        Fold::Op(op @ (Op::Add | Op::Multiply | Op::Minimum | Op::Maximum)) => op,
        // An index fold needs an order, as these do.
        Fold::ArgMin => Op::Minimum,
        Fold::ArgMax => Op::Maximum,
        // These need division.
        Fold::Deviations if dtype.kind() == DtypeKind::Float => Op::Divide,
        _ => return Some(format!("no fold by {fold:?}")),
    };
    if program.outputs().len() != 1 || reduced == 0 || reduced > dims {
        return Some(format!(
            "a fold over {reduced} of {dims} dimensions of a program with {} outputs",
            program.outputs().len()
        ));
    }
    (!op.allows(dtype)).then(|| format!("no fold by {fold:?} for {dtype}"))
}

fn finish_refused(program: &Program, fold: Fold, finish: &Program) -> Option<String> {
    let folded = fold.result(program.output_dtype(0));
    if finish.inputs() != [folded] || !matches!(finish.outputs(), [Arg::Step(_)]) {
        return Some(format!("a finish of other operands than one {folded}"));
    }
    program_refused(finish)
}

/// Why there is no kernel for a plan of a family besides maps and reductions; nothing where there is one.
fn refused(plan: &LaunchPlan) -> Option<String> {
    let program = &*plan.program;
    match &plan.family {
        Family::Gather { axes } if program.outputs().len() > 1 => places_refused(program, axes.len())
            .or_else(|| {
                let row = plan.dims.len() <= 1 && axes.len() == 1 && axes[0].extent > 0;
                (!row || !tells(program))
                    .then(|| "places that are checked but along one axis of a row".to_owned())
            }),
        Family::Gather { axes } | Family::Scatter { axes } => {
            moved_refused(program).or_else(|| places_refused(program, axes.len()))
        }
        Family::Scan { fold } => scan_refused(program, *fold),
        Family::Sort { .. } | Family::Select { .. } | Family::Top { .. } => moved_refused(program),
        Family::Accumulate { op, .. } => {
            moved_refused(program).or_else(|| places_refused(program, 1)).or_else(|| {
                let dtype = program.inputs()[0];
                (!accumulate::exists(*op, dtype) || plan.dims.len() != 1)
                    .then(|| format!("`{op:?}` of {dtype} at places in {} dimensions", plan.dims.len()))
            })
        }
        Family::Count { .. } => moved_refused(program).or_else(|| {
            (program.inputs() != [Dtype::I64] || plan.dims.len() != 1)
                .then(|| format!("places of dtypes {:?} in {} dimensions", program.inputs(), plan.dims.len()))
        }),
        Family::Histogram { .. } => moved_refused(program).or_else(|| {
            let known = matches!(program.inputs(), [Dtype::F32, Dtype::F32] | [Dtype::F64, Dtype::F64]);
            (!known || plan.dims.len() != 1)
                .then(|| format!("a histogram of {:?} in {} dimensions", program.inputs(), plan.dims.len()))
        }),
        Family::Compress { masked, .. } | Family::Expand { masked, .. } => {
            moved_refused(program).or_else(|| mask_refused(plan, *masked))
        }
        Family::Search { .. } | Family::Contains { .. } => {
            moved_refused(program).or_else(|| match program.inputs() {
                [needle, table] if needle == table => None,
                other => Some(format!("a search of inputs {other:?}")),
            })
        }
        _ => Some("no kernel for this family".to_owned()),
    }
}

fn scan_refused(program: &Program, fold: Op) -> Option<String> {
    let dtype = program.output_dtype(0);
    if program.outputs().len() != 1 {
        return Some(format!("a scan of a program with {} outputs", program.outputs().len()));
    }
    (!fold.allows(dtype) || !scan::exists(fold, dtype))
        .then(|| format!("no scan by `{}` for {dtype}", fold.name()))
        .or_else(|| program_refused(program))
}

/// These families hand elements of input 0 on, and compute nothing.
fn moved_refused(program: &Program) -> Option<String> {
    let alone = matches!(program.steps(), [step] if hands_on(program, step));
    (!alone || program.outputs() != [Arg::Step(0)])
        .then(|| "a program that computes elements instead of handing on input 0".to_owned())
}

/// Whether a step is what is in memory for input 0.
fn hands_on(program: &Program, step: &ProgramStep) -> bool {
    let memory = (0..program.inputs().len()).all(|input| !program.is_index(input));
    memory && step.op == Op::Copy && step.operands() == [Arg::Input(0)]
}

/// Whether a program hands input 0 on, and tells a number.
fn tells(program: &Program) -> bool {
    let [moved, number] = program.steps() else { return false };
    hands_on(program, moved)
        && (number.op, number.operands()) == (Op::Copy, &[Arg::Const(0)])
        && matches!(program.consts(), [Scalar::U32(_)])
        && program.outputs() == [Arg::Step(0), Arg::Step(1)]
}

fn places_refused(program: &Program, axes: usize) -> Option<String> {
    let [_, places @ ..] = program.inputs() else { return Some("no input".to_owned()) };
    (places.len() != axes || places.iter().any(|&d| d != Dtype::I64))
        .then(|| format!("places of dtypes {places:?} for {axes} axes"))
}

fn mask_refused(plan: &LaunchPlan, masked: usize) -> Option<String> {
    let alone = matches!(plan.family, Family::Compress { indices: true, .. });
    let mask = match (plan.program.inputs(), alone) {
        ([mask], true) | ([_, mask], false) => Some(*mask),
        _ => None,
    };
    (mask != Some(Dtype::Bool) || masked > plan.dims.len() || (alone && masked < plan.dims.len()))
        .then(|| format!("a mask of {masked} dimensions among inputs {:?}", plan.program.inputs()))
}

/// Rough time of a plan on one thread, in nanoseconds: for the choice between the calling thread and the pool.
pub(crate) fn estimate_ns(plan: &LaunchPlan) -> u64 {
    let total = u64::try_from(plan.len()).unwrap_or(u64::MAX);
    if vectors::is_product(plan) {
        return 50 + total.saturating_mul((READ_PS * plan.output_dtype(0).size()) as u64) / 1000;
    }
    let mut picoseconds = cost_ps(plan);
    for (operand, dtype) in plan.inputs.iter().zip(plan.program.inputs()) {
        let dense = operand.strides.last().is_none_or(|s| (0..=1).contains(s));
        // A reduction runs along whatever dimension is dense.
        let rows = matches!(plan.family, Family::Reduce { .. }) && operand.strides.contains(&1);
        let near = operand.strides.last().is_some_and(|s| matches!(s, -1 | 2));
        picoseconds += match dtype.size() {
            size if dense => READ_PS * size,
            size if rows || near => NEAR_PS * size,
            size => READ_PS * size + GATHER_PS,
        };
    }
    for step in plan.program.steps() {
        picoseconds += step_ps(step.op, step.dtype);
    }
    50 + total.saturating_mul(u64::try_from(picoseconds).unwrap_or(u64::MAX)) / 1000
}

/// Rough time for one point on one thread, in picoseconds, of a plan of a family besides maps and reductions.
fn cost_ps(plan: &LaunchPlan) -> usize {
    let size = plan.program.inputs().first().map_or(1, |d| d.size());
    match &plan.family {
        // By one thread, and in its caches.
        Family::Scatter { axes } if axes.len() == 1 && axes[0].extent * size < SECOND_CACHE_BYTES => 150,
        Family::Accumulate { axis, .. } if axis.extent * size < SECOND_CACHE_BYTES => 200,
        // A run of elements costs a place once; a place costs a line of the cache.
        Family::Gather { axes } | Family::Scatter { axes } => {
            let runs = plan.inputs[1..].iter().all(|p| p.strides.last().is_none_or(|&s| s == 0));
            40 * size + if runs { 0 } else { 1500 * axes.len() }
        }
        // Each element waits for the one before it.
        Family::Scan { fold: Op::Logaddexp } => 20_000,
        Family::Scan { .. } if plan.output_dtype(0).kind().is_integer() => 500,
        Family::Scan { .. } => 1500,
        // By vectors.
        Family::Sort { indices: false, .. } if matches!(size, 4 | 8) => 1500 + 400 * size,
        Family::Sort { .. } => 15_000 + 1000 * size,
        Family::Select { .. } => 1000 + 100 * size,
        Family::Search { table, .. } | Family::Contains { table, .. } => {
            300 * (usize::BITS - table.extent.leading_zeros()) as usize + 100 * size
        }
        // A counter waits for itself where it is counted again.
        Family::Accumulate { .. } | Family::Count { .. } => 1000,
        Family::Histogram { .. } => 2500,
        Family::Top { .. } => 500 + 100 * size,
        Family::Compress { .. } | Family::Expand { .. } => 200 + 30 * size,
        _ => 0,
    }
}
