//! Every form of a map, against the scalar oracle: small plans do not reach most of them.

use std::sync::Arc;

use smallvec::SmallVec;
use stridewise_core::{
    Dtype, Op, Scalar,
    backend::{Family, LaunchPlan, Operand, Program, ProgramBuilder},
    ops,
};

use super::super::trial::{Random, Region, Tested, devices, inputs_at, next, operand, place, same};
use super::super::{Target, work};

/// A dimension's stride for each operand, by the shape: the strides of a row-major array of some axes order, of every
/// `step`th element, with some axes repeated.
fn strides(shape: &[usize], order: &[usize], step: isize, repeated: &[usize]) -> Vec<isize> {
    let mut strides = vec![0; shape.len()];
    let mut unit = step;
    for &axis in order.iter().rev() {
        if !repeated.contains(&axis) {
            strides[axis] = unit;
            unit *= shape[axis].cast_signed();
        }
    }
    strides
}

/// Elements that strides reach, from the first.
fn span(shape: &[usize], strides: &[isize]) -> usize {
    1 + shape.iter().zip(strides).map(|(&n, &s)| (n - 1) * s.unsigned_abs()).sum::<usize>()
}

struct Form {
    shape: Vec<usize>,
    /// Strides and elements before the first, per input.
    inputs: Vec<(Vec<isize>, usize)>,
    output: (Vec<isize>, usize),
}

/// `program` of as many inputs as the form has, on every device.
fn check(tested: &Tested, target: &Target, program: &Arc<Program>, form: &Form, what: &str) {
    let dtypes = program.inputs();
    let out = program.output_dtype(0);
    if !dtypes.iter().chain([&out]).all(|&dtype| tested.has(dtype)) {
        return;
    }
    let mut random = Random(form.shape.iter().sum::<usize>() as u64);
    let mut regions = Vec::new();
    let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
    for (k, (strides, first)) in form.inputs.iter().enumerate() {
        if program.is_index(k) {
            let address = std::ptr::without_provenance_mut(*first);
            let ptr = stridewise_core::memory::UsmPtr::new(address);
            operands.push(Operand { ptr, strides: strides.as_slice().into() });
            continue;
        }
        let len = first + span(&form.shape, strides);
        let values: Vec<Scalar> =
            (0..len).map(|_| Scalar::I32(random.below(200) as i32 - 100).cast(dtypes[k])).collect();
        operands.push(operand(regions.len(), dtypes[k], first.cast_signed(), strides));
        regions.push(Region::new(dtypes[k], &values));
    }
    let (strides, first) = &form.output;
    let len = first + span(&form.shape, strides) + 5;
    let before = vec![Scalar::I8(77).cast(out); len];
    let output = operand(regions.len(), out, first.cast_signed(), strides);
    regions.push(Region::new(out, &before));
    let plan = LaunchPlan {
        program: Arc::clone(program),
        family: Family::Map,
        dims: form.shape.as_slice().into(),
        inputs: operands,
        outputs: SmallVec::from_elem(output, 1),
    };
    let mut expected = regions[regions.len() - 1].clone();
    let mut index = vec![0; form.shape.len()];
    loop {
        let value = ops::evaluate(program, &inputs_at(&plan, &regions, &index)).unwrap()[0];
        let offset: isize = strides.iter().zip(&index).map(|(&s, &i)| s * i.cast_signed()).sum();
        let at = (place(&plan.outputs[0], out).1 + offset).unsigned_abs() * out.size();
        expected.bytes[at..at + out.size()].copy_from_slice(&value.to_bytes()[..out.size()]);
        if !next(&mut index, &form.shape) {
            break;
        }
    }
    tested.run(target, &plan, &mut regions, work);
    let got = &regions[regions.len() - 1];
    for i in 0..len.cast_signed() {
        let (got, expected) = (got.get(i), expected.get(i));
        assert!(
            same(got, expected, true),
            "{what} on {}: {:?}, element {i}: {got:?}, not {expected:?}",
            tested.name,
            form.shape
        );
    }
}

/// Programs of one to three inputs in dtypes of every size.
fn programs() -> Vec<(String, Arc<Program>)> {
    let mut list = Vec::new();
    for dtype in [Dtype::U8, Dtype::I16, Dtype::F32, Dtype::I64, Dtype::C64, Dtype::C128] {
        list.push((format!("add of {dtype}"), Arc::new(Program::single(Op::Add, dtype).unwrap())));
    }
    for (from, to) in [(Dtype::U8, Dtype::F64), (Dtype::F64, Dtype::I8), (Dtype::Bool, Dtype::C64)] {
        list.push((format!("{from} to {to}"), Arc::new(Program::convert(from, to))));
    }
    let mut builder = ProgramBuilder::new();
    let (x, y) = (builder.input(Dtype::F32).unwrap(), builder.index().unwrap());
    let z = builder.input(Dtype::I16).unwrap();
    let (y, z) = (builder.cast(y, Dtype::F32).unwrap(), builder.cast(z, Dtype::F32).unwrap());
    let half = builder.constant(Scalar::F32(0.5)).unwrap();
    let sum = builder.push(Op::Add, &[x, y]).unwrap();
    let product = builder.push(Op::Multiply, &[sum, half]).unwrap();
    let result = builder.push(Op::Maximum, &[product, z]).unwrap();
    builder.output(result).unwrap();
    list.push(("a program with an index".to_owned(), Arc::new(builder.finish().unwrap())));
    list
}

/// Runs every program over forms, each given as the axes' order, the step, the repeated axes and the elements before the
/// first, for the inputs in turn and for the output.
fn each(
    shape: &[usize],
    inputs: &[(&[usize], isize, &[usize], usize)],
    output: (&[usize], isize, usize),
    what: &str,
) {
    let of = |&(order, step, repeated, first): &(&[usize], isize, &[usize], usize)| {
        (strides(shape, order, step, repeated), first)
    };
    for tested in devices() {
        for cpu in [false, true] {
            let target = Target { cpu, general_points: 0, ..tested.target.clone() };
            for (name, program) in programs() {
                let form = Form {
                    shape: shape.to_vec(),
                    inputs: (0..program.inputs().len()).map(|k| of(&inputs[k % inputs.len()])).collect(),
                    output: of(&(output.0, output.1, &[], output.2)),
                };
                check(&tested, &target, &program, &form, &format!("{what}: {name}, cpu {cpu}"));
            }
        }
    }
}

#[test]
fn runs_of_elements() {
    for len in [1, 2, 3, 15, 16, 17, 255, 1023, 4096] {
        each(&[len], &[(&[0], 1, &[], 0)], (&[0], 1, 0), "a run");
    }
    each(&[1000], &[(&[0], 1, &[], 1), (&[0], 1, &[], 0)], (&[0], 1, 3), "a run that is not aligned");
    each(&[1000], &[(&[0], 1, &[], 0), (&[0], 1, &[0], 2)], (&[0], 1, 0), "a run and one element");
    each(&[1000], &[(&[0], 2, &[], 1), (&[0], 1, &[], 0)], (&[0], 3, 0), "every second of a run");
}

#[test]
fn rows_of_elements() {
    let rows: &[usize] = &[0, 1];
    each(&[37, 64], &[(rows, 1, &[], 0), (rows, 1, &[0], 0)], (rows, 1, 0), "a row for each");
    each(&[37, 64], &[(rows, 1, &[1], 0), (rows, 1, &[], 0)], (rows, 1, 0), "a column for each");
    each(&[37, 61], &[(rows, 1, &[0], 1), (rows, 2, &[], 0)], (rows, 1, 2), "rows that are not aligned");
    each(&[300, 3], &[(rows, 1, &[], 0), (rows, 1, &[0], 0)], (rows, 2, 0), "rows of three");
    let three: &[usize] = &[0, 1, 2];
    each(&[5, 7, 32], &[(three, 1, &[1], 0), (three, 1, &[0], 0)], (three, 1, 0), "three dimensions");
    each(&[2, 3, 4, 5, 6], &[(&[4, 2, 0, 1, 3], 1, &[], 0)], (&[0, 1, 2, 3, 4], 1, 1), "five dimensions");
}

#[test]
fn tiles_that_turn() {
    let (rows, columns): (&[usize], &[usize]) = (&[0, 1], &[1, 0]);
    for shape in [[32, 32], [64, 64], [65, 33], [100, 131], [257, 70]] {
        each(&shape, &[(columns, 1, &[], 0), (rows, 1, &[], 0)], (rows, 1, 0), "one turns");
        each(&shape, &[(columns, 1, &[], 1)], (rows, 1, 2), "both turn");
    }
    each(&[64, 96], &[(columns, 1, &[], 0), (rows, 1, &[0], 0)], (rows, 1, 0), "one turns, one is a row");
    each(
        &[3, 40, 50],
        &[(&[0, 2, 1], 1, &[], 0), (&[0, 1, 2], 1, &[], 0)],
        (&[0, 1, 2], 1, 0),
        "of three dimensions",
    );
    each(
        &[40, 3, 50],
        &[(&[2, 1, 0], 1, &[], 0), (&[0, 1, 2], 1, &[1], 0)],
        (&[0, 1, 2], 1, 0),
        "the outermost",
    );
}
