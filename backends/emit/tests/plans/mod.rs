//! Plans of every family that there are kernels for, over a sample of dtypes, in the forms that their kernels have.

mod kernels;

use std::sync::Arc;

use smallvec::SmallVec;
use stridewise_core::memory::UsmPtr;
use stridewise_core::{
    Dtype, DtypeKind, Op, Scalar,
    backend::{Family, Fold, IndexedAxis, LaunchPlan, Operand, Program, ProgramBuilder},
};
use stridewise_emit::{Target, Work};

/// An array at an address of its own, aligned to a page.
fn operand(number: usize, strides: &[isize]) -> Operand {
    let address = (number + 1) << 40;
    Operand { ptr: UsmPtr::new(std::ptr::without_provenance_mut(address)), strides: strides.into() }
}

/// The strides of a dense array in row-major order.
fn dense(dims: &[usize]) -> SmallVec<[isize; 8]> {
    (0..dims.len()).map(|d| dims[d + 1..].iter().product::<usize>().cast_signed()).collect()
}

fn plan(
    program: Program,
    family: Family,
    dims: &[usize],
    inputs: &[&[isize]],
    outputs: &[&[isize]],
) -> LaunchPlan {
    let place = |number: usize, strides: &&[isize]| operand(number, strides);
    LaunchPlan {
        program: Arc::new(program),
        family,
        dims: dims.into(),
        inputs: inputs.iter().enumerate().map(|(k, strides)| place(k, strides)).collect(),
        outputs: outputs.iter().enumerate().map(|(k, strides)| place(16 + k, strides)).collect(),
    }
}

/// The plans, with names.
fn plans() -> Vec<(String, LaunchPlan)> {
    let mut all = Vec::new();
    maps(&mut all);
    folds(&mut all);
    moves(&mut all);
    all
}

fn maps(all: &mut Vec<(String, LaunchPlan)>) {
    for &dtype in Dtype::ALL {
        // All operations of a dtype in few programs: their lines are those of one each.
        let mut steps = 0;
        let (mut builder, mut inputs) = (ProgramBuilder::new(), Vec::new());
        let mut finish = |builder: ProgramBuilder, number: usize| {
            let program = builder.finish().expect("a program");
            let (n, outputs) = (1 << 20, program.outputs().len());
            let (one, run): (&[isize], &[isize]) = (&[0], &[1]);
            let inputs = [run, run, one];
            all.push((
                format!("map-{dtype}-{number}"),
                plan(program, Family::Map, &[n], &inputs, &vec![run; outputs]),
            ));
        };
        let ops = Op::ALL.iter().filter(|&&op| {
            !matches!(op, Op::Cast | Op::Copy | Op::Where) && Program::single(op, dtype).is_ok()
        });
        for &op in ops {
            if inputs.is_empty() {
                inputs = (0..3).map(|_| builder.input(dtype).expect("an input")).collect();
            }
            let arity = Program::single(op, dtype).map_or(1, |program| program.inputs().len());
            let value = builder.push(op, &inputs[..arity]).expect("an operation");
            builder.output(value).expect("an output");
            steps += 1;
            if steps % 6 == 0 {
                finish(std::mem::take(&mut builder), steps / 6);
                inputs.clear();
            }
        }
        if !inputs.is_empty() {
            finish(builder, 1 + steps / 6);
        }
        // Conversions to every dtype, from two dimensions, one of them against the order of the other.
        for &to in Dtype::ALL {
            let dims = [64, 300];
            let (rows, columns): (&[isize], &[isize]) = (&[300, 1], &[1, 64]);
            let from = if (dtype as usize + to as usize).is_multiple_of(2) { rows } else { columns };
            let program = Program::convert(dtype, to);
            all.push((format!("cast-{dtype}-{to}"), plan(program, Family::Map, &dims, &[from], &[rows])));
        }
        // Constants, a choice, an index, the general form.
        let mut builder = ProgramBuilder::new();
        let (x, i) = (builder.input(dtype).expect("an input"), builder.index().expect("an index"));
        let constant = builder.constant(Scalar::I8(3).cast(dtype)).expect("a constant");
        let odd = builder.cast(i, Dtype::Bool).expect("a cast");
        let chosen = builder.push(Op::Where, &[odd, x, constant]).expect("a choice");
        builder.output(chosen).expect("an output");
        let program = builder.finish().expect("a program");
        let strides: &[isize] = &[20, 4, 1];
        all.push((
            format!("where-{dtype}"),
            plan(program, Family::Map, &[3, 5, 4], &[&[0, 1, 5], strides], &[strides]),
        ));
    }
}

fn folds(all: &mut Vec<(String, LaunchPlan)>) {
    let ops = [Op::Add, Op::Multiply, Op::Minimum, Op::Maximum, Op::Logaddexp];
    for &dtype in Dtype::ALL {
        let copy = || Program::convert(dtype, dtype);
        let folds = ops.map(Fold::Op).into_iter().chain([Fold::ArgMin, Fold::ArgMax, Fold::Deviations]);
        for fold in folds {
            let allowed = match fold {
                Fold::Op(op) => Program::single(op, dtype).is_ok(),
                Fold::Deviations => dtype.kind() == DtypeKind::Float,
                _ => Program::single(Op::Minimum, dtype).is_ok(),
            };
            if !allowed {
                continue;
            }
            let finish = (fold == Fold::Op(Op::Add)).then(|| Arc::new(copy()));
            for (name, dims, reduced, strides) in [
                ("all", &[1 << 20][..], 1, &[1][..]),
                ("rows", &[3000, 260], 1, &[260, 1]),
                ("columns", &[2600, 300], 1, &[1, 2600]),
                ("both", &[7, 500, 33], 2, &[1, 231, 7]),
            ] {
                let family = Family::Reduce { fold, reduced, finish: finish.clone(), stored: None };
                let mut out: SmallVec<[isize; 8]> = dense(&dims[..dims.len() - reduced]);
                out.resize(dims.len(), 0);
                all.push((
                    format!("reduce-{fold:?}-{dtype}-{name}"),
                    plan(copy(), family, dims, &[strides], &[&out]),
                ));
            }
        }
        for op in ops.into_iter().filter(|&op| Program::single(op, dtype).is_ok()) {
            for (name, dims) in [("long", &[2, 1 << 20][..]), ("short", &[4000, 20])] {
                let strides = dense(dims);
                let family = Family::Scan { fold: op };
                all.push((
                    format!("scan-{op:?}-{dtype}-{name}"),
                    plan(copy(), family, dims, &[&strides], &[&strides]),
                ));
            }
        }
        if let Ok(times) = Program::single(Op::Multiply, dtype)
            && Program::single(Op::Add, dtype).is_ok()
        {
            for (name, n) in [("small", 48), ("large", 2048)] {
                let family =
                    Family::Reduce { fold: Fold::Op(Op::Add), reduced: 1, finish: None, stored: None };
                let n_ = usize::cast_signed(n);
                let (a, b, out) = ([n_, 0, 1], [0, 1, n_], [n_, 1, 0]);
                all.push((
                    format!("product-{dtype}-{name}"),
                    plan(times.clone(), family, &[n, n, n], &[&a, &b], &[&out]),
                ));
            }
        }
    }
}

fn moves(all: &mut Vec<(String, LaunchPlan)>) {
    for &dtype in Dtype::ALL {
        let copy = || Program::convert(dtype, dtype);
        let axis = IndexedAxis { extent: 100, stride: 50 };
        let with = |more: &[Dtype], two: Option<Scalar>| {
            let mut builder = ProgramBuilder::new();
            let x = builder.input(dtype).expect("an input");
            for &dtype in more {
                builder.input(dtype).expect("an input");
            }
            builder.output(x).expect("an output");
            if let Some(two) = two {
                let constant = builder.constant(two).expect("a constant");
                builder.output(constant).expect("an output");
            }
            builder.finish().expect("a program")
        };
        let (points, along): (&[isize], &[isize]) = (&[50, 1], &[0, 1]);
        let places: &[isize] = &[1, 0];
        for (name, told) in [("gather", None), ("gather-checked", Some(Scalar::U32(1)))] {
            let axes = SmallVec::from_slice(&[axis]);
            let outputs: &[&[isize]] = if told.is_some() { &[points, &[0, 0]] } else { &[points] };
            let family = Family::Gather { axes };
            all.push((
                format!("{name}-{dtype}"),
                plan(with(&[Dtype::I64], told), family, &[400, 50], &[along, places], outputs),
            ));
        }
        let axes = SmallVec::from_slice(&[axis]);
        all.push((
            format!("scatter-{dtype}"),
            plan(
                with(&[Dtype::I64], None),
                Family::Scatter { axes },
                &[400, 50],
                &[points, places],
                &[along],
            ),
        ));
        if dtype.kind() != DtypeKind::Bool {
            let table = IndexedAxis { extent: 1000, stride: 1 };
            for right in [false, true] {
                let family = Family::Search { table, right };
                all.push((
                    format!("search-{dtype}-{right}"),
                    plan(with(&[dtype], None), family, &[5000], &[&[1], &[0]], &[&[1]]),
                ));
            }
        }
        for (descending, indices) in [(false, false), (true, true)] {
            for (name, dims) in [("short", &[70, 500][..]), ("middle", &[3, 20_000]), ("long", &[1, 1 << 21])]
            {
                let strides = dense(dims);
                let family = Family::Sort { descending, indices };
                all.push((
                    format!("sort-{dtype}-{descending}-{name}"),
                    plan(copy(), family, dims, &[&strides], &[&strides]),
                ));
            }
        }
        let long = IndexedAxis { extent: 5000, stride: 1 };
        let none: &[isize] = &[0];
        let compress = Family::Compress { axis: long, masked: 1, indices: false };
        all.push((
            format!("compress-{dtype}"),
            plan(with(&[Dtype::Bool], None), compress, &[5000], &[&[1], &[1]], &[none]),
        ));
        let expand = Family::Expand { axis: long, masked: 1 };
        all.push((
            format!("expand-{dtype}"),
            plan(with(&[Dtype::Bool], None), expand, &[5000], &[none, &[1]], &[&[1]]),
        ));
        let runs = Family::Runs { axis: long };
        all.push((
            format!("runs-{dtype}"),
            plan(with(&[], Some(Scalar::I64(0))), runs, &[5000], &[&[1]], &[none, none]),
        ));
    }
    let places = Family::Compress { axis: IndexedAxis { extent: 9000, stride: 1 }, masked: 2, indices: true };
    all.push((
        "nonzero".to_owned(),
        plan(Program::convert(Dtype::Bool, Dtype::Bool), places, &[90, 100], &[&[100, 1]], &[&[0, 0]]),
    ));
}

/// Stages that are one kernel: softmax, and a normalisation by mean and variance.
fn stages(dtype: Dtype) -> Vec<Vec<LaunchPlan>> {
    let dims = [4096, 1000];
    let (rows, one): (&[isize], &[isize]) = (&[1000, 1], &[1, 0]);
    let reduce = |fold: Fold| Family::Reduce { fold, reduced: 1, finish: None, stored: None };
    let mut first =
        plan(Program::convert(dtype, dtype), reduce(Fold::Op(Op::Maximum)), &dims, &[rows], &[one]);
    first.outputs[0] = operand(40, one);
    let mut other = plan(Program::convert(dtype, dtype), reduce(Fold::Deviations), &dims, &[rows], &[one]);
    other.outputs[0] = operand(41, one);
    let mut builder = ProgramBuilder::new();
    let (x, most, squares) = (
        builder.input(dtype).expect("an input"),
        builder.input(dtype).expect("an input"),
        builder.input(dtype).expect("an input"),
    );
    let less = builder.push(Op::Subtract, &[x, most]).expect("a difference");
    let power = builder.push(Op::Exp, &[less]).expect("a power");
    let quotient = builder.push(Op::Divide, &[power, squares]).expect("a quotient");
    builder.output(quotient).expect("an output");
    let mut last = plan(builder.finish().expect("a program"), Family::Map, &dims, &[rows, one, one], &[rows]);
    last.inputs[1] = operand(40, one);
    last.inputs[2] = operand(41, one);
    vec![vec![first, other], vec![last]]
}

fn copies() -> Vec<LaunchPlan> {
    let copy = |number: usize| {
        let mut copied = ProgramBuilder::new();
        let x = copied.input(Dtype::F32).expect("an input");
        let step = copied.push(Op::Copy, &[x]).expect("a copy");
        copied.output(step).expect("an output");
        let mut plan = plan(copied.finish().expect("a program"), Family::Map, &[1000], &[&[1]], &[&[1]]);
        plan.inputs[0] = operand(number, &[1]);
        plan.outputs[0] = operand(20 + number, &[1]);
        plan
    };
    (0..3).map(copy).collect()
}

/// What a GPU's kernels rely on.
pub(crate) fn target() -> Target {
    Target {
        fp64: true,
        fp16: true,
        atomic64: true,
        exact_division: true,
        compute_units: 132,
        max_group: 1024,
        local_bytes: 48 << 10,
        user_local_bytes: 96 << 10,
        general_points: 1 << 14,
        ..Target::default()
    }
}

/// Every text, with the name of what it computes, once.
pub(crate) fn texts(target: &Target) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut keys = std::collections::HashSet::new();
    let mut add = |name: &str, work: Work<'_>| {
        for (number, stage) in work.stages.iter().enumerate() {
            if keys.insert(stage.key.clone()) {
                found.push((format!("{name}-{number}"), (stage.source)()));
            }
        }
    };
    for (name, plan) in plans() {
        add(&name, stridewise_emit::work(&plan, target).unwrap_or_else(|error| panic!("{name}: {error}")));
    }
    for dtype in [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::Bf16] {
        let stages = stages(dtype);
        add(&format!("stages-{dtype}"), stridewise_emit::together(&stages, target).expect("one kernel"));
    }
    add("copies", stridewise_emit::side_by_side(&copies(), target).expect("one kernel"));
    found.extend(kernels::texts(target));
    found
}
