//! Steps that are done in one pass.

use stridewise_core::{
    Dtype, Op, Scalar,
    backend::{Arg, Family, Program, ProgramBuilder},
};

use super::super::program::fused::{COMPILED, lowered};
use super::random::{compare, strides};
use super::{Array, Rng, canonical, execute, indices, plan};
use crate::simd::Isa;

const FIRST: [Op; 5] = [Op::Add, Op::Subtract, Op::Multiply, Op::Square, Op::Divide];
const SECOND: [Op; 9] = [
    Op::Add,
    Op::Subtract,
    Op::Multiply,
    Op::Divide,
    Op::Sqrt,
    Op::Reciprocal,
    Op::Square,
    Op::Abs,
    Op::Clip,
];

/// Two steps, the second of which reads the first one's result as its operand `k`, and perhaps a third that reads that one's.
/// `None` where an operation does not take the dtype.
fn pair(dtype: Dtype, first: Op, second: Op, k: usize, other: usize, kept: usize) -> Option<Program> {
    let mut p = ProgramBuilder::new();
    let [x, y, z] = [(); 3].map(|()| p.input(dtype).unwrap());
    let two = p.constant(Scalar::F64(2.0).cast(dtype)).unwrap();
    if ![first, second].iter().all(|op| op.allows(dtype)) {
        return None;
    }
    // Some with an operand that is one element for all, at either place.
    let operands = [[x, y], [two, x], [x, two]][(k + other + kept) % 3];
    let result = p.push(first, &operands[..first.arity()]).unwrap();
    // Another array, one of the operands, a constant, the results of steps that may be fused as well, the result itself.
    let other: Arg = match other {
        0 => z,
        1 => x,
        2 => two,
        3 => p.push(Op::Multiply, &[y, z]).unwrap(),
        4 => p.push(Op::Square, &[y]).unwrap(),
        _ => result,
    };
    let mut operands = [other; 3];
    operands[k] = result;
    let last = p.push(second, &operands[..second.arity()]).unwrap();
    // The result is needed by nobody else; is one of the program's; is needed before or after; goes on to a root.
    match kept {
        0 => p.output(last).unwrap(),
        1 => [result, last].into_iter().for_each(|value| p.output(value).unwrap()),
        2 => {
            let rest = p.push(Op::Multiply, &[last, result]).unwrap();
            p.output(rest).unwrap();
        }
        3 => {
            let square = p.push(Op::Square, &[last]).unwrap();
            let rest = p.push(Op::Subtract, &[square, last]).unwrap();
            p.output(rest).unwrap();
        }
        _ if Op::Sqrt.allows(dtype) => {
            let root = p.push(Op::Sqrt, &[last]).unwrap();
            p.output(root).unwrap();
        }
        _ => return None,
    }
    p.finish().ok()
}

#[test]
fn pairs_of_steps() {
    let mut rng = Rng(11);
    // Each pair with one of the shapes in turn.
    let mut turn = 0;
    // Those that have pairs, and one that has none.
    for dtype in [Dtype::F32, Dtype::F64, Dtype::I32] {
        for (first, second) in FIRST.iter().flat_map(|&first| SECOND.map(|second| (first, second))) {
            for case in 0..second.arity() * 6 * 5 {
                let (k, other, kept) =
                    (case % second.arity(), case / second.arity() % 6, case / second.arity() / 6);
                let Some(program) = pair(dtype, first, second, k, other, kept) else { continue };
                // Rows of more than a tile where nothing but the pair is computed.
                let long: &[usize] = if kept == 0 { &[3, 1030] } else { &[1] };
                compare(&program, &mut rng, [&[67][..], &[5, 2, 33], long][turn % 3], 1, 0).unwrap();
                turn += 1;
            }
        }
    }
}

/// Functions are no oracle's to the last bit, but those of a result that is one of the program's, too, have a step of their own.
#[test]
fn a_function_of_a_step() {
    let mut rng = Rng(12);
    for dtype in [Dtype::F16, Dtype::F32, Dtype::F64] {
        let program = |kept: bool| {
            let mut p = ProgramBuilder::new();
            let x = p.input(dtype).unwrap();
            let negative = p.push(Op::Negative, &[x]).unwrap();
            let grown = p.push(Op::Exp, &[negative]).unwrap();
            p.output(grown).unwrap();
            if kept {
                p.output(negative).unwrap();
            }
            p.finish().unwrap()
        };
        for dims in [&[1][..], &[67], &[5, 2, 33], &[3, 4100]] {
            let mut inputs = [Array::new(dims, strides(dims, true, &mut rng), dtype, &mut rng)];
            let empty = Array::new(dims, strides(dims, false, &mut rng), dtype, &mut rng);
            for &isa in Isa::available() {
                let mut results = [false, true].map(|kept| {
                    let mut outputs = vec![empty.clone(); 1 + usize::from(kept)];
                    let plan = plan(program(kept), Family::Map, dims, &mut inputs, &mut outputs);
                    execute(&plan, isa, 1, 0);
                    outputs.swap_remove(0)
                });
                let [fused, apart] = &mut results;
                for index in indices(dims) {
                    let (fused, apart) = (canonical(fused.get(&index)), canonical(apart.get(&index)));
                    assert_eq!(fused, apart, "{dtype} at {index:?} of {dims:?} on {}", isa.name());
                }
            }
        }
    }
}

/// Passes over tiles that a program takes, with its inputs of `uniform` one element for all.
fn passes(uniform: &[usize], build: impl Fn(&mut ProgramBuilder, [Arg; 4]) -> Arg) -> usize {
    let mut p = ProgramBuilder::new();
    let inputs = [(); 4].map(|()| p.input(Dtype::F32).unwrap());
    let result = build(&mut p, inputs);
    p.output(result).unwrap();
    let program = p.finish().unwrap();
    let steps = program.steps().len();
    lowered(&program, steps, Isa::best(), 0, |i| uniform.contains(&i))
        .iter()
        .filter(|step_done| !step_done.fused)
        .count()
}

#[test]
fn what_is_one_pass() {
    // √(a·a + b·b)·c − d
    let chain = |p: &mut ProgramBuilder, [a, b, c, d]: [Arg; 4]| {
        let squares = [a, b].map(|x| p.push(Op::Multiply, &[x, x]).unwrap());
        let sum = p.push(Op::Add, &squares).unwrap();
        let root = p.push(Op::Sqrt, &[sum]).unwrap();
        let product = p.push(Op::Multiply, &[root, c]).unwrap();
        p.push(Op::Subtract, &[product, d]).unwrap()
    };
    // Where programs are compiled, steps of one instruction each are no pairs.
    let either = |pairs, steps| if COMPILED { steps } else { pairs };
    assert_eq!(passes(&[], chain), either(2, 6));
    // (a − b) / c, of a row's mean and spread
    let normalised = |p: &mut ProgramBuilder, [a, b, c, _]: [Arg; 4]| {
        let centred = p.push(Op::Subtract, &[a, b]).unwrap();
        p.push(Op::Divide, &[centred, c]).unwrap()
    };
    assert_eq!(passes(&[1, 2], normalised), either(1, 2));
    // What is the same for all elements is computed once, by a step of its own.
    assert_eq!(passes(&[0, 1], normalised), 2);
    // A result that two steps need is computed by a step of its own.
    let twice = |p: &mut ProgramBuilder, [a, b, ..]: [Arg; 4]| {
        let sum = p.push(Op::Add, &[a, b]).unwrap();
        let product = p.push(Op::Multiply, &[sum, a]).unwrap();
        p.push(Op::Subtract, &[product, sum]).unwrap()
    };
    assert_eq!(passes(&[], twice), either(2, 3));
    // A function of many instructions keeps its own loop.
    let exponential = |p: &mut ProgramBuilder, [a, b, ..]: [Arg; 4]| {
        let sum = p.push(Op::Add, &[a, b]).unwrap();
        p.push(Op::Exp, &[sum]).unwrap()
    };
    assert_eq!(passes(&[], exponential), 2);
    // But 1 / (1 + e⁻ˣ) is common.
    let sigmoid = |p: &mut ProgramBuilder, [a, ..]: [Arg; 4]| {
        let negative = p.push(Op::Negative, &[a]).unwrap();
        let grown = p.push(Op::Exp, &[negative]).unwrap();
        let one = p.constant(Scalar::F32(1.0)).unwrap();
        let sum = p.push(Op::Add, &[grown, one]).unwrap();
        p.push(Op::Reciprocal, &[sum]).unwrap()
    };
    assert_eq!(passes(&[], sigmoid), either(2, 3));
}
