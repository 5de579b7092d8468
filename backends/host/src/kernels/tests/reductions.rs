//! Reductions against a fold of scalars, and their bits across threads and instruction sets.
//!
//! A fold's value is compared with one by core's scalar operations (`expected`); its bits have to be the same
//! from any number of threads and at any level. A new fold needs its lines in `FOLDS`, `expected` and
//! `allowed`, else it is taken for an index.

use std::sync::Arc;

use smallvec::SmallVec;
use stridewise_core::ops::apply;
use stridewise_core::{
    Complex, Dtype, DtypeKind, Op, Scalar,
    backend::{Family, Fold, LaunchPlan, Program, ProgramBuilder, Stored},
};

use super::{Array, Rng, Sample, canonical, execute, indices, plan, untouched, value};
use crate::simd::Isa;

/// The folded value by its definition, in the order of the points; sums of floats in double precision.
fn expected(fold: Fold, values: &[Scalar]) -> Scalar {
    let dtype = values[0].dtype();
    match fold {
        Fold::Op(op) => values[1..].iter().fold(values[0], |a, &b| apply(op, &[a, b]).unwrap()),
        Fold::Deviations => super::deviations::exact(values),
        _ => {
            let mut best = 0;
            let nan = |s: Scalar| dtype.kind() == DtypeKind::Float && s.to_f64().is_nan();
            for (i, &v) in values.iter().enumerate() {
                let pair = if fold == Fold::ArgMin { [v, values[best]] } else { [values[best], v] };
                let better = apply(Op::Less, &pair).unwrap() == Scalar::Bool(true);
                if better && !nan(values[best]) || nan(v) && !nan(values[best]) {
                    best = i;
                }
            }
            Scalar::I64(best as i64)
        }
    }
}

pub(super) const FOLDS: [Fold; 7] = [
    Fold::Op(Op::Add),
    Fold::Op(Op::Multiply),
    Fold::Op(Op::Minimum),
    Fold::Op(Op::Maximum),
    Fold::ArgMin,
    Fold::ArgMax,
    Fold::Deviations,
];

pub(super) fn allowed(fold: Fold, dtype: Dtype) -> bool {
    match fold {
        Fold::Op(op) => op.allows(dtype),
        Fold::Deviations => dtype.kind() == DtypeKind::Float,
        _ => Op::Minimum.allows(dtype),
    }
}

/// Values whose sums and products of a few hundred are exact in every dtype, so that any order gives the same bits.
fn exact(fold: Fold, dtype: Dtype, rng: &mut Rng) -> Scalar {
    let wild = matches!(fold, Fold::ArgMin | Fold::ArgMax | Fold::Op(Op::Minimum | Op::Maximum));
    if wild || dtype.kind().is_integer() {
        // Few NaNs, or nothing else would ever win.
        let v = value(dtype, rng);
        return if v.to_f64().is_nan() && rng.below(50) != 0 { Scalar::I8(1).cast(dtype) } else { v };
    }
    let number = match fold {
        Fold::Op(Op::Multiply) => rng.pick(&[1.0, -1.0, 1.0, 1.0]),
        _ if matches!(dtype, Dtype::F16 | Dtype::Bf16) => rng.pick(&[0.0, 1.0, -1.0]),
        _ => rng.below(33) as f64 - 16.0,
    };
    match dtype {
        Dtype::C64 => Scalar::C64(Complex::new(number as f32, 0.0)),
        Dtype::C128 => Scalar::C128(Complex::new(number, 0.0)),
        _ => Scalar::F64(number).cast(dtype),
    }
}

/// The output's strides, row-major over the kept dimensions, 0 along the folded ones.
pub(super) fn output(dims: &[usize], reduced: usize, dtype: Dtype, rng: &mut Rng) -> Array {
    let kept = &dims[..dims.len() - reduced];
    let mut strides = Array::dense(kept, dtype, rng).strides;
    strides.resize(dims.len(), 0);
    Array::new(dims, strides, dtype, rng)
}

/// Strides without gaps, row-major or, transposed, column-major.
pub(super) fn row_or_column_major(
    dims: &[usize],
    transposed: bool,
    dtype: Dtype,
    rng: &mut Rng,
) -> Vec<isize> {
    if !transposed {
        return Array::dense(dims, dtype, rng).strides;
    }
    let reversed: Vec<_> = dims.iter().rev().copied().collect();
    let mut strides = Array::dense(&reversed, dtype, rng).strides;
    strides.reverse();
    strides
}

fn check(
    fold: Fold,
    program: &Program,
    finish: Option<&Program>,
    dims: &[usize],
    reduced: usize,
    input: &Array,
    rng: &mut Rng,
) {
    let kept = &dims[..dims.len() - reduced];
    let folded = fold.result(program.output_dtype(0));
    let out = finish.map_or(folded, |f| f.output_dtype(0));
    let before = output(dims, reduced, out, rng);
    let family = Family::Reduce { fold, reduced, finish: finish.cloned().map(Arc::new), stored: None };
    for &isa in Isa::available() {
        for threads in [1, 4] {
            let mut outputs = [before.clone()];
            let mut inputs = [input.clone()];
            let launch = plan(program.clone(), family.clone(), dims, &mut inputs, &mut outputs);
            execute(&launch, isa, threads, 1 << 25);
            untouched(&before, &outputs[0], &[kept, &vec![1; reduced][..]].concat());
            for index in indices(kept) {
                let values: Vec<_> = indices(&dims[kept.len()..])
                    .iter()
                    .map(|j| {
                        let x = input.get(&[&index[..], j].concat());
                        stridewise_core::ops::evaluate(program, &[x]).unwrap()[0]
                    })
                    .collect();
                let mut want = expected(fold, &values);
                if let Some(finish) = finish {
                    want = stridewise_core::ops::evaluate(finish, &[want]).unwrap()[0];
                }
                let found = outputs[0].get(&[&index[..], &vec![0; reduced][..]].concat());
                // The sign of a zero among sums and products depends on the order.
                let arithmetic = matches!(fold, Fold::Op(Op::Add | Op::Multiply));
                let near = fold == Fold::Deviations && super::deviations::near(found, want, 4.0);
                let same = canonical(found) == canonical(want) || (arithmetic && found == want) || near;
                assert!(
                    same,
                    "{fold:?} of {:?} {dims:?} ({reduced}) strides {:?} at {index:?} on {} with {threads}: {found:?}, not {want:?}",
                    input.dtype,
                    input.strides,
                    isa.name()
                );
            }
        }
    }
}

#[test]
fn every_fold_dtype_and_shape() {
    let mut sample = Sample::new();
    let mut rng = Rng(1);
    let shapes: [(&[usize], usize); 14] = [
        (&[1], 1),
        (&[7], 1),
        (&[257], 1),
        (&[300, 3], 1),
        (&[3, 300], 1),
        (&[5, 70], 2),
        (&[40, 20], 1),
        (&[2, 65, 5], 2),
        (&[4, 3, 2, 5], 3),
        (&[4, 3, 2, 5], 1),
        (&[2, 100, 2], 1),
        (&[1, 1, 9], 2),
        (&[64, 64], 1),
        (&[130, 33], 1),
    ];
    for &dtype in Dtype::ALL {
        let program = Program::convert(dtype, dtype);
        for &fold in FOLDS.iter().filter(|&&f| allowed(f, dtype)) {
            for (dims, reduced) in shapes {
                // As it is, with the folded dimensions outermost in memory, strided, reversed, and with gaps between rows.
                for layout in 0..5 {
                    if sample.skips() {
                        continue;
                    }
                    let mut strides = Array::dense(dims, dtype, &mut rng).strides;
                    if layout == 1 {
                        let turned: Vec<usize> =
                            [&dims[dims.len() - reduced..], &dims[..dims.len() - reduced]].concat();
                        strides = Array::dense(&turned, dtype, &mut rng).strides;
                        strides.rotate_left(reduced);
                    }
                    for s in &mut strides {
                        *s *= [1, 1, 3, -1, 1][layout];
                    }
                    if layout == 4 {
                        strides[0] *= 2;
                    }
                    let mut input = Array::new(dims, strides, dtype, &mut rng);
                    for index in indices(dims) {
                        let at = input.byte(&index);
                        input.memory.write(at, exact(fold, dtype, &mut rng));
                    }
                    check(fold, &program, None, dims, reduced, &input, &mut rng);
                }
            }
        }
    }
}

#[test]
fn programs_before_and_after_the_fold() {
    let mut rng = Rng(2);
    // The mean of squares of int16, in float32.
    let mut p = ProgramBuilder::new();
    let x = p.input(Dtype::I16).unwrap();
    let x = p.cast(x, Dtype::F32).unwrap();
    let y = p.push(Op::Multiply, &[x, x]).unwrap();
    p.output(y).unwrap();
    let program = p.finish().unwrap();
    let mut p = ProgramBuilder::new();
    let x = p.input(Dtype::F32).unwrap();
    let n = p.constant(Scalar::F32(0.5)).unwrap();
    let y = p.push(Op::Multiply, &[x, n]).unwrap();
    let y = p.cast(y, Dtype::F16).unwrap();
    p.output(y).unwrap();
    let finish = p.finish().unwrap();
    for (dims, reduced) in [(vec![10_000], 1), (vec![3, 2000], 1), (vec![300, 5], 1), (vec![30, 40, 7], 2)] {
        for transposed in [false, true] {
            let strides = row_or_column_major(&dims, transposed, Dtype::I16, &mut rng);
            let mut input = Array::new(&dims, strides, Dtype::I16, &mut rng);
            for index in indices(&dims) {
                let at = input.byte(&index);
                input.memory.write(at, Scalar::I16(rng.below(5) as i16 - 2));
            }
            check(Fold::Op(Op::Add), &program, Some(&finish), &dims, reduced, &input, &mut rng);
        }
    }
}

pub(super) fn bits(launch: &LaunchPlan, outputs: &[Array], isa: Isa, threads: usize) -> Vec<[u8; 16]> {
    execute(launch, isa, threads, 1 << 25);
    indices(&launch.dims).iter().map(|i| canonical(outputs[0].get(i))).collect()
}

/// Runs a plan at every level and by these numbers of threads, and expects these bits each time.
fn everywhere(launch: &LaunchPlan, outputs: &[Array], threads: &[usize], expected: &[[u8; 16]], what: &str) {
    for &isa in Isa::available() {
        for &threads in threads {
            let found = bits(launch, outputs, isa, threads);
            assert!(found == expected, "{what} on {} with {threads} threads", isa.name());
        }
    }
}

/// Writes every element of an array of these extents.
fn fill(array: &mut Array, dims: &[usize], mut number: impl FnMut() -> Scalar) {
    for index in indices(dims) {
        let at = array.byte(&index);
        array.memory.write(at, number());
    }
}

#[test]
fn the_same_bits_from_any_threads_and_instruction_set() {
    let mut sample = Sample::new();
    let mut rng = Rng(3);
    for dtype in [Dtype::F16, Dtype::F32, Dtype::F64, Dtype::C64] {
        for (dims, reduced) in [
            (vec![300_000], 1),
            (vec![5, 50_000], 1),
            (vec![2000, 100], 1),
            (vec![33, 40, 50], 2),
            (vec![700, 3], 1),
            (vec![300, 4], 1),
            (vec![301, 13], 1),
            (vec![150, 129], 1),
        ] {
            for transposed in [false, true] {
                if sample.skips() {
                    continue;
                }
                let strides = row_or_column_major(&dims, transposed, dtype, &mut rng);
                let mut input = Array::new(&dims, strides, dtype, &mut rng);
                let size = dtype.size() as isize;
                let first = input.byte(&vec![0; dims.len()]);
                for e in 0..dims.iter().product::<usize>() as isize {
                    let number = rng.fraction() - 0.4;
                    input.memory.write(first + e * size, Scalar::F64(number).cast(dtype));
                }
                let family = Family::Reduce { fold: Fold::Op(Op::Add), reduced, finish: None, stored: None };
                let mut outputs = [output(&dims, reduced, dtype, &mut rng)];
                let mut inputs = [input];
                let launch = plan(Program::convert(dtype, dtype), family, &dims, &mut inputs, &mut outputs);
                let first = bits(&launch, &outputs, Isa::Scalar, 1);
                let what = format!("{dtype} {dims:?}");
                everywhere(&launch, &outputs, &[1, 2, 3, 4], &first, &what);
            }
        }
    }
}

#[test]
fn long_sums_are_pairwise() {
    let mut rng = Rng(4);
    // Added one after the other in float32, ones stop counting at 2²⁴.
    let n = (1 << 24) + 4096;
    let mut inputs = [Array::new(&[1], vec![0], Dtype::F32, &mut rng)];
    let at = inputs[0].byte(&[0]);
    inputs[0].memory.write(at, Scalar::F32(1.0));
    let mut outputs = [Array::new(&[1], vec![0], Dtype::F32, &mut rng)];
    let family = Family::Reduce { fold: Fold::Op(Op::Add), reduced: 1, finish: None, stored: None };
    let program = Program::convert(Dtype::F32, Dtype::F32);
    let launch = plan(program, family, &[n], &mut inputs, &mut outputs);
    execute(&launch, Isa::best(), 1, 1 << 25);
    assert_eq!(outputs[0].get(&[0]), Scalar::F32(n as f32));
}

#[test]
fn integers_are_widened_for_their_sums() {
    let mut sample = Sample::new();
    let mut rng = Rng(5);
    let pairs = [
        (Dtype::Bool, Dtype::I64),
        (Dtype::I8, Dtype::I64),
        (Dtype::U8, Dtype::I64),
        (Dtype::I16, Dtype::I64),
        (Dtype::I32, Dtype::I64),
        (Dtype::U8, Dtype::U64),
        (Dtype::U16, Dtype::U64),
        (Dtype::U32, Dtype::U64),
        (Dtype::U32, Dtype::I64),
    ];
    let shapes: [(&[usize], usize); 8] = [
        (&[1], 1),
        (&[31], 1),
        (&[33], 1),
        (&[20_011], 1),
        (&[3, 300], 1),
        (&[300, 3], 1),
        (&[2, 9000], 1),
        (&[5, 7, 40], 2),
    ];
    for (from, to) in pairs {
        let program = Program::convert(from, to);
        for (dims, reduced) in shapes {
            for step in [1, 3, -1] {
                if sample.skips() {
                    continue;
                }
                let mut strides = Array::dense(dims, from, &mut rng).strides;
                strides.iter_mut().for_each(|s| *s *= step);
                let input = Array::new(dims, strides, from, &mut rng);
                check(Fold::Op(Op::Add), &program, None, dims, reduced, &input, &mut rng);
            }
        }
        // As large a sum as there is, of as many elements as any narrower sum holds, and more.
        let bits = 8 * from.size();
        for extreme in [-1, 1 << (bits - 1), (1 << (bits - 1)) - 1] {
            let (dims, extreme): (&[usize], i64) = (&[66_000], extreme);
            let mut input = Array::dense(dims, from, &mut rng);
            for i in 0..dims[0] {
                let at = input.byte(&[i]);
                input.memory.write(at, Scalar::I64(extreme).cast(from));
            }
            check(Fold::Op(Op::Add), &program, None, dims, 1, &input, &mut rng);
        }
    }
}

#[test]
fn places_of_extremes_in_any_segment() {
    let mut rng = Rng(6);
    let n = 2 * 8192 + 77;
    // Nothing but the same, a best value that comes again, and NaN after it.
    let marks: [&[(usize, f64)]; 6] = [
        &[],
        &[(9000, 100.0), (16_400, 100.0), (8191, -100.0), (8192, -100.0)],
        &[(3, f64::INFINITY), (n - 1, f64::NEG_INFINITY)],
        &[(8192, f64::NAN), (100, 1e9), (16_000, f64::NAN)],
        &[(n - 1, f64::NAN)],
        &[(0, -0.0), (1, 0.0), (n - 2, 1.0)],
    ];
    for dtype in [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::I32] {
        let program = Program::convert(dtype, dtype);
        for marks in marks {
            let mut input = Array::dense(&[n], dtype, &mut rng);
            for i in 0..n {
                let marked = marks.iter().find(|mark| mark.0 == i);
                let at = input.byte(&[i]);
                input.memory.write(at, Scalar::F64(marked.map_or(0.0, |mark| mark.1)).cast(dtype));
            }
            for fold in [Fold::ArgMin, Fold::ArgMax] {
                check(fold, &program, None, &[n], 1, &input, &mut rng);
            }
        }
    }
}

/// Short rows of each against each: one operand is the same for all of a row of outputs, the other for all rows.
#[test]
fn short_rows_that_come_again() {
    let mut rng = Rng(31);
    for dtype in [Dtype::F32, Dtype::F64, Dtype::C64, Dtype::I16] {
        let mut program = ProgramBuilder::new();
        let [a, b] = [0; 2].map(|_| program.input(dtype).unwrap());
        let apart = program.push(Op::Subtract, &[a, b]).unwrap();
        let square = program.push(Op::Square, &[apart]).unwrap();
        program.output(square).unwrap();
        let program = program.finish().unwrap();
        for dims in [[3, 70, 8], [2, 100, 5], [70, 3, 8], [9, 9, 3], [1, 300, 2], [3, 65, 100], [2, 2, 64]] {
            let [_, outputs, k] = dims.map(usize::cast_signed);
            for strides in
                [[[k, 0, 1], [0, k, 1]], [[2 * k, 0, 2], [0, -k, -1]], [[1, 0, 9], [0, 1, outputs]]]
            {
                let mut inputs = strides.map(|strides| Array::new(&dims, strides.to_vec(), dtype, &mut rng));
                for input in &mut inputs {
                    for index in indices(&dims) {
                        let (at, value) = (input.byte(&index), rng.below(9) as f64 - 4.0);
                        input.memory.write(at, Scalar::F64(value).cast(dtype));
                    }
                }
                let before = output(&dims, 1, dtype, &mut rng);
                let fold = Fold::Op(Op::Add);
                let family = Family::Reduce { fold, reduced: 1, finish: None, stored: None };
                for (&isa, threads) in Isa::available().iter().flat_map(|isa| [1, 4].map(|n| (isa, n))) {
                    let mut out = [before.clone()];
                    let launch = plan(program.clone(), family.clone(), &dims, &mut inputs, &mut out);
                    execute(&launch, isa, threads, 1 << 25);
                    untouched(&before, &out[0], &[dims[0], dims[1], 1]);
                    for at in indices(&dims[..2]) {
                        let value = |k: usize| {
                            let x = inputs.each_ref().map(|input| input.get(&[at[0], at[1], k]));
                            stridewise_core::ops::evaluate(&program, &x).unwrap()[0]
                        };
                        let values: Vec<_> = (0..dims[2]).map(value).collect();
                        let found = out[0].get(&[at[0], at[1], 0]);
                        let name = format!("{dtype} {dims:?} {strides:?} {at:?} on {}", isa.name());
                        assert_eq!(found, expected(fold, &values), "{name}");
                    }
                }
            }
        }
    }
}

/// What ends in a product: of two inputs, of one with itself, of differences, and with one element for all.
fn programs_of_products(dtype: Dtype) -> [Program; 5] {
    std::array::from_fn(|kind| {
        let mut p = ProgramBuilder::new();
        let a = p.input(dtype).unwrap();
        let b = p.input(dtype).unwrap();
        let difference = p.push(Op::Subtract, &[a, b]).unwrap();
        let two = p.constant(Scalar::I8(2).cast(dtype)).unwrap();
        let factors = match kind {
            0 => [a, b],
            1 => [a, a],
            2 => [difference, difference],
            3 => [b, difference],
            _ => [difference, two],
        };
        let product = p.push(Op::Multiply, &factors).unwrap();
        p.output(product).unwrap();
        p.finish().unwrap()
    })
}

#[test]
fn products_are_summed_as_if_they_had_been_stored() {
    let mut sample = Sample::new();
    let mut rng = Rng(7);
    let shapes: [(&[usize], usize); 8] = [
        (&[1], 1),
        (&[31], 1),
        (&[64], 1),
        (&[65], 1),
        (&[40_003], 1),
        (&[3, 700], 1),
        (&[40, 700], 1),
        (&[2, 9, 90], 2),
    ];
    for dtype in [Dtype::F16, Dtype::F32, Dtype::F64, Dtype::C64, Dtype::I32] {
        for program in programs_of_products(dtype) {
            for (dims, reduced) in shapes {
                // As they are, the second strided, and the second one element for all.
                for step in [1, 2, 0] {
                    if sample.skips() {
                        continue;
                    }
                    let dense = Array::dense(dims, dtype, &mut rng).strides;
                    let second = dense.iter().map(|s| s * step).collect();
                    let mut inputs = [dense.clone(), second].map(|s| Array::new(dims, s, dtype, &mut rng));
                    let scale = if dtype == Dtype::I32 { 1e6 } else { 1.0 };
                    for input in &mut inputs {
                        fill(input, dims, || Scalar::F64(scale * (rng.fraction() - 0.4)).cast(dtype));
                    }
                    let mut stored = [Array::dense(dims, dtype, &mut rng)];
                    let launch = plan(program.clone(), Family::Map, dims, &mut inputs, &mut stored);
                    execute(&launch, Isa::Scalar, 1, 1 << 25);
                    let family =
                        Family::Reduce { fold: Fold::Op(Op::Add), reduced, finish: None, stored: None };
                    let mut sums = [output(dims, reduced, dtype, &mut rng)];
                    let copy = Program::convert(dtype, dtype);
                    let launch = plan(copy, family.clone(), dims, &mut stored, &mut sums);
                    let expected = bits(&launch, &sums, Isa::Scalar, 1);
                    let launch = plan(program.clone(), family, dims, &mut inputs, &mut sums);
                    let what = format!("{program:?} {dims:?} step {step}");
                    everywhere(&launch, &sums, &[1, 3], &expected, &what);
                }
            }
        }
    }
}

/// A product, converted to another dtype.
fn product(from: Dtype, to: Dtype) -> Program {
    let mut p = ProgramBuilder::new();
    let factors = [(); 2].map(|()| p.input(from).unwrap());
    let product = p.push(Op::Multiply, &factors).unwrap();
    let product = p.cast(product, to).unwrap();
    p.output(product).unwrap();
    p.finish().unwrap()
}

/// What is computed of operands that lie otherwise than its results would is added up as these.
#[test]
fn computed_values_are_summed_in_the_order_of_stored_ones() {
    let mut sample = Sample::new();
    let mut rng = Rng(8);
    let shapes: [(&[usize], usize); 8] = [
        (&[9, 192], 2),
        (&[40, 256], 2),
        (&[12, 768], 2),
        (&[150, 130], 2),
        (&[3, 50, 200], 2),
        (&[300, 40], 1),
        (&[1000, 6], 1),
        (&[7, 6, 300], 2),
    ];
    let same = [Dtype::F16, Dtype::F32, Dtype::F64, Dtype::C64, Dtype::C128].map(|dtype| (dtype, dtype));
    // The last: converted on the way to its sum.
    for (dtype, to) in same.into_iter().chain([(Dtype::F32, Dtype::F16)]) {
        for (dims, reduced) in shapes {
            for (fold, turned) in [(Op::Add, true), (Op::Add, false), (Op::Multiply, true)] {
                if sample.skips() {
                    continue;
                }
                // The first as asked for, the second one row for all.
                let first = row_or_column_major(dims, turned, dtype, &mut rng);
                let mut second = Array::dense(dims, dtype, &mut rng).strides;
                second[0] = 0;
                let mut inputs = [first, second].map(|s| Array::new(dims, s, dtype, &mut rng));
                for input in &mut inputs {
                    fill(input, dims, || Scalar::F64(0.5 + rng.fraction()).cast(dtype));
                }
                let mut results = [Array::dense(dims, dtype, &mut rng)];
                let strides = results[0].strides.iter().copied().collect();
                let launch = plan(product(dtype, dtype), Family::Map, dims, &mut inputs, &mut results);
                execute(&launch, Isa::Scalar, 1, 1 << 25);
                for fold in [Fold::Op(fold), Fold::Deviations] {
                    if fold == Fold::Deviations && !matches!(to, Dtype::F32 | Dtype::F64) {
                        continue;
                    }
                    let family = |stored| Family::Reduce { fold, reduced, finish: None, stored };
                    let mut sums = [output(dims, reduced, to, &mut rng)];
                    let copy = Program::convert(dtype, to);
                    let launch = plan(copy, family(None), dims, &mut results, &mut sums);
                    let expected = bits(&launch, &sums, Isa::Scalar, 1);
                    let stored = Some(Stored { dtype, strides: SmallVec::clone(&strides) });
                    let launch = plan(product(dtype, to), family(stored), dims, &mut inputs, &mut sums);
                    let what = format!("{fold:?} {dtype} {to} {dims:?} {turned}");
                    everywhere(&launch, &sums, &[1, 4], &expected, &what);
                }
            }
        }
    }
}
