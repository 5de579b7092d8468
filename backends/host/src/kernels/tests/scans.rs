//! Scans against folds of scalars in the order of blocks, and their bits across threads.

use stridewise_core::ops::{apply, evaluate};
use stridewise_core::{
    Dtype, DtypeKind, Op, Scalar,
    backend::{Family, Program, ProgramBuilder},
};

use super::{Array, Rng, Sample, canonical, execute, indices, plan, ulps, untouched, value};
use crate::simd::Isa;

const BLOCK: usize = 8192;

fn wide(dtype: Dtype) -> Dtype {
    if matches!(dtype, Dtype::F16 | Dtype::Bf16) { Dtype::F32 } else { dtype }
}

/// The scan by its definition, for values of one row.
fn expected(op: Op, values: &[Scalar]) -> Vec<Scalar> {
    let dtype = values[0].dtype();
    let fold = |a: Scalar, b: Scalar| apply(op, &[a, b]).unwrap();
    let whole = op == Op::Multiply && matches!(dtype.kind(), DtypeKind::Float | DtypeKind::Complex);
    let (mut out, mut before) = (Vec::new(), None);
    for block in values.chunks(if whole { values.len() } else { BLOCK }) {
        let mut local: Option<Scalar> = None;
        for &v in block {
            let v = v.cast(wide(dtype));
            let next = local.map_or(v, |l| fold(l, v));
            local = Some(next);
            out.push(before.map_or(next, |b| fold(b, next)).cast(dtype));
        }
        before = before.map_or(local, |b| local.map(|l| fold(b, l)));
    }
    out
}

fn element(op: Op, dtype: Dtype, rng: &mut Rng) -> Scalar {
    let float = matches!(dtype.kind(), DtypeKind::Float | DtypeKind::Complex);
    // Sums of anything end as NaN soon.
    if !float || (matches!(op, Op::Minimum | Op::Maximum) && rng.below(100) != 0) {
        let v = value(dtype, rng);
        return if v.to_f64().is_nan() { Scalar::I8(3).cast(dtype) } else { v };
    }
    match op {
        Op::Multiply => Scalar::F64(0.9 + 0.2 * rng.below(1000) as f64 / 1000.0).cast(dtype),
        _ => Scalar::F64((rng.below(2001) as f64 - 900.0) / 128.0).cast(dtype),
    }
}

fn strides(dims: &[usize], form: usize) -> Vec<isize> {
    let mut order: Vec<usize> = (0..dims.len()).collect();
    if form == 1 {
        order.reverse();
    }
    let (mut strides, mut next) = (vec![0; dims.len()], if form == 2 { 2 } else { 1 });
    for &d in order.iter().rev() {
        strides[d] = if form == 3 { -next } else { next };
        next *= dims[d] as isize;
    }
    strides
}

fn check(op: Op, program: &Program, dims: &[usize], forms: [usize; 2], threads: &[usize], rng: &mut Rng) {
    let (kept, row) = (&dims[..dims.len() - 1], dims[dims.len() - 1]);
    let dtype = program.output_dtype(0);
    let mut input = Array::new(dims, strides(dims, forms[0]), program.inputs()[0], rng);
    for index in indices(dims) {
        let at = input.byte(&index);
        input.memory.write(at, element(op, input.dtype, rng));
    }
    let before = Array::new(dims, strides(dims, forms[1]), dtype, rng);
    let want: Vec<Vec<Scalar>> = indices(kept)
        .iter()
        .map(|i| {
            let at = |j| evaluate(program, &[input.in_row(i, j)]).unwrap()[0];
            expected(op, &(0..row).map(at).collect::<Vec<_>>())
        })
        .collect();
    let mut first: Option<Vec<[u8; 16]>> = None;
    for &isa in Isa::available() {
        for &threads in threads {
            let (mut inputs, mut outputs) = ([input.clone()], [before.clone()]);
            let launch = plan(program.clone(), Family::Scan { fold: op }, dims, &mut inputs, &mut outputs);
            execute(&launch, isa, threads, 1 << 25);
            untouched(&before, &outputs[0], dims);
            let mut bits = Vec::new();
            for (i, want) in indices(kept).iter().zip(&want) {
                for (j, &want) in want.iter().enumerate() {
                    let found = outputs[0].in_row(i, j);
                    bits.push(canonical(found));
                    // Functions round freely, each step a little.
                    let near = |f: f64, w: f64| (f - w).abs() <= 1e-5 * w.abs().max(1.0);
                    let free = op == Op::Logaddexp
                        && (ulps(found, want) <= 8 || near(found.to_f64(), want.to_f64()));
                    assert!(
                        canonical(found) == canonical(want) || free,
                        "{op:?} to {dtype} {dims:?} {forms:?} at {i:?} {j} on {} with {threads}: {found:?}, not {want:?}",
                        isa.name()
                    );
                }
            }
            // On any number of threads; functions may differ between levels only in what is left free above.
            match &first {
                Some(first) if op != Op::Logaddexp || threads > 1 => {
                    assert!(*first == bits, "{op:?} {dtype} {dims:?}")
                }
                _ => first = Some(bits),
            }
        }
    }
}

const OPS: [Op; 5] = [Op::Add, Op::Multiply, Op::Minimum, Op::Maximum, Op::Logaddexp];

#[test]
fn scans_of_every_dtype_and_layout() {
    let mut sample = Sample::new();
    let mut rng = Rng(1);
    for &dtype in Dtype::ALL {
        for op in OPS.into_iter().filter(|o| o.allows(dtype)) {
            let program = Program::convert(dtype, dtype);
            for dims in
                [&[1][..], &[9], &[1100], &[3, 40], &[40, 3], &[2, 3, 70], &[33, 34], &[5, 20, 2], &[700, 5]]
            {
                for forms in [[0, 0], [1, 1], [1, 0], [2, 3]] {
                    if sample.skips() {
                        continue;
                    }
                    check(op, &program, dims, forms, &[1, 4], &mut rng);
                }
            }
        }
    }
}

#[test]
fn long_rows_and_columns() {
    let mut sample = Sample::new();
    let mut rng = Rng(2);
    // Each operation and dtype has two of them, in turn.
    let mut shapes = [
        (&[3 * BLOCK + 7][..], [0, 0]),
        (&[12 * BLOCK], [0, 2]),
        (&[13 * BLOCK + 5], [0, 0]),
        (&[2, 5 * BLOCK], [3, 0]),
        (&[17, BLOCK + 3], [1, 1]),
    ]
    .into_iter()
    .cycle();
    for dtype in [Dtype::F16, Dtype::F32, Dtype::I64, Dtype::C64] {
        // Other ones than the dtype before has.
        shapes.next();
        for op in OPS.into_iter().filter(|o| o.allows(dtype)) {
            let program = Program::convert(dtype, dtype);
            for (dims, forms) in shapes.by_ref().take(2) {
                if sample.skips() {
                    continue;
                }
                if op == Op::Logaddexp && dims.len() > 1 {
                    continue;
                }
                let threads = if dims.len() == 1 { &[1, 2, 3, 4][..] } else { &[1, 4] };
                check(op, &program, dims, forms, threads, &mut rng);
            }
        }
    }
}

#[test]
fn scans_of_programs() {
    let mut rng = Rng(3);
    let mut p = ProgramBuilder::new();
    let x = p.input(Dtype::I16).unwrap();
    let x = p.cast(x, Dtype::I64).unwrap();
    let y = p.push(Op::Multiply, &[x, x]).unwrap();
    p.output(y).unwrap();
    let squares = p.finish().unwrap();
    for program in
        [squares, Program::convert(Dtype::Bool, Dtype::I64), Program::convert(Dtype::F16, Dtype::F32)]
    {
        for (dims, forms) in [
            (&[3000][..], [0, 0]),
            (&[40, 50], [0, 0]),
            (&[40, 50], [1, 1]),
            (&[40, 50], [1, 0]),
            (&[40, 2], [2, 2]),
        ] {
            check(Op::Add, &program, dims, forms, &[1, 4], &mut rng);
        }
    }
    // Of numbers that are nowhere: triangular numbers.
    let mut p = ProgramBuilder::new();
    let index = p.index().unwrap();
    p.output(index).unwrap();
    let program = p.finish().unwrap();
    for len in [1, 1000, 3 * BLOCK] {
        for threads in [1, 4] {
            let mut inputs = [Array::numbers(1, vec![1])];
            let mut out = [Array::dense(&[len], Dtype::I64, &mut rng)];
            let family = Family::Scan { fold: Op::Add };
            execute(
                &plan(program.clone(), family, &[len], &mut inputs, &mut out),
                Isa::best(),
                threads,
                1 << 25,
            );
            for i in 0..len as i64 {
                assert_eq!(out[0].get(&[i as usize]), Scalar::I64((i + 1) * (i + 2) / 2));
            }
        }
    }
}
