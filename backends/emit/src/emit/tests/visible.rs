//! Programs in which compilers see a part of the values: what a conversion makes up, such as an imaginary part of 0, and
//! constants. Those must not be reckoned with by rules that hold for numbers other than zeros, infinities and NaN.

use stridewise_core::ops::evaluate;
use stridewise_core::{
    Complex, Dtype, DtypeKind, Op, Scalar,
    backend::{Arg, Program, ProgramBuilder},
};

use super::super::accuracy::ulp;
use super::super::supports;
use super::device::{Constants, Tested, devices};
use super::{normwise, same, values};

/// Constants that compilers have rules for.
fn constants(dtype: Dtype) -> Vec<Scalar> {
    let pairs: &[(f64, f64)] = match dtype.kind() {
        DtypeKind::Complex => &[
            (1.0, -2.0),
            (0.0, 1.0),
            (-0.0, -1.0),
            (1.0, 0.0),
            (1.0, -0.0),
            (-0.0, -0.0),
            (f64::INFINITY, 1.0),
            (0.0, f64::NEG_INFINITY),
            (f64::NAN, 0.0),
        ],
        _ => &[
            (0.0, 0.0),
            (-0.0, 0.0),
            (1.0, 0.0),
            (-1.0, 0.0),
            (2.0, 0.0),
            (f64::INFINITY, 0.0),
            (f64::NEG_INFINITY, 0.0),
            (f64::NAN, 0.0),
        ],
    };
    pairs.iter().map(|&(re, im)| Scalar::C128(Complex::new(re, im)).cast(dtype)).collect()
}

/// An operation's program, written by its operands: of the input, converted, and of constants.
fn program(from: Dtype, to: Dtype, op: Op, write: impl Fn(&mut ProgramBuilder, Arg) -> Vec<Arg>) -> Program {
    let mut builder = ProgramBuilder::new();
    let input = builder.input(from).unwrap();
    let converted = if from == to { input } else { builder.cast(input, to).unwrap() };
    let operands = write(&mut builder, converted);
    let result = builder.push(op, &operands).unwrap();
    builder.output(result).unwrap();
    builder.finish().unwrap()
}

/// Every operation that is exact, or nearly so, with an operand that is converted, on either side.
fn programs(tested: &Tested, from: Dtype, to: Dtype) -> Vec<(Op, Program)> {
    let quotient = |op| matches!(op, Op::Divide | Op::Reciprocal);
    let is_exact =
        |op| ulp(op, to, &tested.target) == 0.0 || (quotient(op) && to.kind() == DtypeKind::Complex);
    let mut list = Vec::new();
    let with_condition = |op| matches!(op, Op::Where | Op::Cast);
    for &op in Op::ALL.iter().filter(|&&op| op.allows(to) && is_exact(op) && !with_condition(op)) {
        match op.arity() {
            1 => list.push((op, program(from, to, op, |_, x| vec![x]))),
            2 => {
                list.push((op, program(from, to, op, |_, x| vec![x, x])));
                for value in constants(to) {
                    for swapped in [false, true] {
                        let write = |builder: &mut ProgramBuilder, x| {
                            let c = builder.constant(value).unwrap();
                            if swapped { vec![c, x] } else { vec![x, c] }
                        };
                        list.push((op, program(from, to, op, write)));
                    }
                }
            }
            _ => {}
        }
    }
    list.retain(|(_, program)| supports(program, &tested.target).is_ok());
    list
}

fn check(tested: &Tested, from: Dtype, to: Dtype, seen: Constants, faults: &mut Vec<String>) {
    let (ops, programs): (Vec<Op>, Vec<Program>) = programs(tested, from, to).into_iter().unzip();
    if programs.is_empty() {
        return;
    }
    let functions = tested.compile(&tested.target, from, &programs, seen);
    let columns = values::columns(1, from, false, 8);
    let inexact = |op| ulp(op, to, &tested.target);
    for (number, (&op, program)) in ops.iter().zip(&programs).enumerate() {
        let outputs = tested.run(&functions, number, &columns);
        let wrong = columns[0].iter().zip(outputs).find_map(|(&x, got)| {
            let expected = evaluate(program, &[x]).unwrap()[0];
            let right = match inexact(op) {
                0.0 => same(got, expected),
                bound => normwise(got, expected, [true; 2], bound).is_ok(),
            };
            (!right).then(|| format!("of {x:?}: {got:?}, expected {expected:?}"))
        });
        if let Some(wrong) = wrong {
            let name = &tested.name;
            let (from, to, steps, consts) = (from.name(), to.name(), program.steps(), program.consts());
            let op = op.name();
            faults
                .push(format!("{name}, {op} of {from} as {to}, {consts:?} {seen:?}, {wrong}\n    {steps:?}"));
        }
    }
}

fn check_all(pairs: &[(Dtype, Dtype)]) {
    let mut faults = Vec::new();
    for tested in devices() {
        for &(from, to) in pairs {
            check(&tested, from, to, Constants::Written, &mut faults);
            // What is known of a complex number may be one of its parts.
            if to.kind() == DtypeKind::Complex {
                check(&tested, from, to, Constants::Given, &mut faults);
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn integers() {
    check_all(&[(Dtype::I32, Dtype::I32), (Dtype::Bool, Dtype::U8)]);
}

#[test]
fn floats() {
    check_all(&[(Dtype::Bool, Dtype::F32), (Dtype::I8, Dtype::F64), (Dtype::F32, Dtype::F32)]);
}

#[test]
fn sixteen_bit_floats() {
    check_all(&[(Dtype::Bool, Dtype::Bf16), (Dtype::F16, Dtype::F16)]);
}

#[test]
fn complex_numbers() {
    check_all(&[(Dtype::Bool, Dtype::C128), (Dtype::I8, Dtype::C64), (Dtype::F64, Dtype::C128)]);
}
