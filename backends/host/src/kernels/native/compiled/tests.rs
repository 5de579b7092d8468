//! Compiled steps against the functions that they replace, bit by bit, and whole programs against the oracle.

use stridewise_core::{
    Scalar,
    backend::{Family, LaunchPlan, Operand, Program, ProgramBuilder},
};

use super::super::super::tests::fenced::Fenced;
use super::super::super::tests::random::{self, long_program};
use super::super::super::tests::{Rng, canonical, cases, execute, specials, value};
use super::*;

/// Elements of a dtype in memory of their own.
struct Column {
    dtype: Dtype,
    memory: Fenced,
}

impl Column {
    fn new(dtype: Dtype, len: usize) -> Self {
        Self { dtype, memory: Fenced::new(len * dtype.size()) }
    }
    fn filled(dtype: Dtype, len: usize, mut element: impl FnMut(usize) -> Scalar) -> Self {
        let mut column = Self::new(dtype, len);
        for (i, bytes) in column.memory.bytes().chunks_exact_mut(dtype.size()).enumerate() {
            bytes.copy_from_slice(&element(i).to_bytes()[..dtype.size()]);
        }
        column
    }
    fn elements(&mut self) -> Vec<[u8; 16]> {
        let dtype = self.dtype;
        let element = |bytes: &[u8]| {
            let mut all = [0; 16];
            all[..bytes.len()].copy_from_slice(bytes);
            canonical(Scalar::from_bytes(dtype, &all))
        };
        self.memory.bytes().chunks_exact(dtype.size()).map(element).collect()
    }
}

/// Runs a program over columns of so many elements, of which some inputs are one element.
fn run(
    program: &Program,
    inputs: &[Column],
    uniform: u32,
    len: usize,
    isa: Isa,
    switch: Switch,
) -> Vec<Vec<[u8; 16]>> {
    run_to_columns(program, inputs, uniform, len, isa, switch).iter_mut().map(Column::elements).collect()
}

/// The same, with the bits of each NaN as they came out.
fn run_to_columns(
    program: &Program,
    inputs: &[Column],
    uniform: u32,
    len: usize,
    isa: Isa,
    switch: Switch,
) -> Vec<Column> {
    let operand = |memory: &Fenced, stride: isize| Operand {
        ptr: stridewise_core::memory::UsmPtr::new(memory.ptr()),
        strides: smallvec::smallvec![stride],
    };
    let outputs: Vec<Column> =
        (0..program.outputs().len()).map(|o| Column::new(program.output_dtype(o), len)).collect();
    let plan = LaunchPlan {
        program: Arc::new(program.clone()),
        family: Family::Map,
        dims: smallvec::smallvec![len],
        inputs: inputs
            .iter()
            .enumerate()
            .map(|(i, c)| operand(&c.memory, isize::from(uniform >> i & 1 == 0)))
            .collect(),
        outputs: outputs.iter().map(|c| operand(&c.memory, 1)).collect(),
    };
    cache::forced(switch, || execute(&plan, isa, 1, 1 << 25));
    outputs
}

/// Computes a product and a sum by code of AVX2.
pub(super) fn compute_a_program() {
    let mut p = ProgramBuilder::new();
    let [x, y] = [(); 2].map(|()| p.input(Dtype::F32).unwrap());
    let product = p.push(Op::Multiply, &[x, y]).unwrap();
    let sum = p.push(Op::Add, &[product, y]).unwrap();
    p.output(sum).unwrap();
    let columns = [2.0, 3.0].map(|number| Column::filled(Dtype::F32, 40, |_| Scalar::F32(number)));
    let results = run(&p.finish().unwrap(), &columns, 0, 40, Isa::Avx2, Switch::Always);
    assert_eq!(results[0][39], canonical(Scalar::F32(9.0)));
}

fn levels() -> impl Iterator<Item = Isa> {
    Isa::available().iter().copied().filter(|&isa| level(isa).is_some())
}

/// Each operation on each dtype, and each conversion, as a program with one more step, on special values and any others, for
/// lengths around those of vectors, with each operand one for all.
#[test]
fn every_operation_of_every_dtype() {
    let mut rng = Rng(1);
    let specials = specials();
    let mut compiled = 0;
    let (avx2, f32s) = (Level::Avx2, Dtype::F32);
    for &op in Op::ALL {
        for &dtype in Dtype::ALL {
            let outs: &[Dtype] = if op == Op::Cast { Dtype::ALL } else { &[Dtype::Bool] };
            for &to in outs {
                if !op.allows(dtype) || (op == Op::Cast && to == dtype) {
                    continue;
                }
                let mut p = ProgramBuilder::new();
                let dtypes: Vec<Dtype> = (0..op.arity())
                    .map(|k| if op == Op::Where && k == 0 { Dtype::Bool } else { dtype })
                    .collect();
                let args: Vec<Arg> = dtypes.iter().map(|&dtype| p.input(dtype).unwrap()).collect();
                let step = if op == Op::Cast { p.cast(args[0], to) } else { p.push(op, &args) }.unwrap();
                let copy = p.push(Op::Copy, &[step]).unwrap();
                p.output(copy).unwrap();
                if rng.below(2) == 0 {
                    p.output(step).unwrap();
                }
                let program = p.finish().unwrap();
                let known = has(&program.steps()[0], avx2);
                compiled += usize::from(known);
                if dtype == f32s
                    && matches!(op, Op::Add | Op::Maximum | Op::Less | Op::Sqrt | Op::Where | Op::Floor)
                {
                    assert!(known, "{op:?}");
                }
                for isa in levels().filter(|&isa| has(&program.steps()[0], level(isa).unwrap())) {
                    let lens = [1, 3, 1 + rng.below(16), 31 + rng.below(3), 64, 200 + rng.below(70)];
                    for (case, len) in lens.into_iter().enumerate() {
                        let uniform = if case < 2 {
                            0
                        } else {
                            (1 << rng.below(op.arity() + 1)) & ((1 << op.arity()) - 1)
                        };
                        // Of several operands, all cannot be one for all.
                        let uniform = if op.arity() == 1 { 0 } else { uniform };
                        let inputs: Vec<Column> = (0..op.arity())
                            .map(|k| {
                                let count = if uniform >> k & 1 == 1 { 1 } else { len };
                                Column::filled(dtypes[k], count, |_| match rng.below(2) {
                                    0 => Scalar::F64(specials[rng.below(specials.len())]).cast(dtypes[k]),
                                    _ => value(dtypes[k], &mut rng),
                                })
                            })
                            .collect();
                        let wanted = run(&program, &inputs, uniform, len, isa, Switch::Off);
                        let found = run(&program, &inputs, uniform, len, isa, Switch::Always);
                        assert_eq!(
                            found, wanted,
                            "{op:?} of {dtype} to {to}, {len} elements, uniform {uniform:b}, {isa:?}"
                        );
                    }
                }
            }
        }
    }
    // What is compiled for AVX2 at the least; a level that loses an operation is noticed.
    assert!(compiled > 500, "{compiled}");
}

/// Quotients and remainders between steps that are compiled: their NaN is the positive quiet one, to the bit, whatever the signs of what
/// it came from, as where nothing is compiled.
#[test]
fn remainders_have_one_nan_between_compiled_steps() {
    let specials = specials();
    let all: Vec<f64> = specials.iter().flat_map(|&x| [x, -x]).chain([f64::NAN, -f64::NAN]).collect();
    let pairs: Vec<(f64, f64)> = all.iter().flat_map(|&x| all.iter().map(move |&y| (x, y))).collect();
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64] {
        for op in [Op::Remainder, Op::FloorDivide] {
            let mut p = ProgramBuilder::new();
            let (x, y) = (p.input(dtype).unwrap(), p.input(dtype).unwrap());
            let back = |p: &mut ProgramBuilder, x| {
                let minus = p.push(Op::Negative, &[x]).unwrap();
                p.push(Op::Negative, &[minus]).unwrap()
            };
            let (x, y) = (back(&mut p, x), back(&mut p, y));
            let rest = p.push(op, &[x, y]).unwrap();
            p.output(rest).unwrap();
            let same = p.push(Op::Equal, &[rest, rest]).unwrap();
            let kept = p.push(Op::Where, &[same, rest, x]).unwrap();
            p.output(kept).unwrap();
            let program = p.finish().unwrap();
            let columns = [
                Column::filled(dtype, pairs.len(), |i| Scalar::F64(pairs[i].0).cast(dtype)),
                Column::filled(dtype, pairs.len(), |i| Scalar::F64(pairs[i].1).cast(dtype)),
            ];
            for isa in levels() {
                let [mut wanted, mut found] = [Switch::Off, Switch::Always]
                    .map(|switch| run_to_columns(&program, &columns, 0, pairs.len(), isa, switch));
                for (wanted, found) in wanted.iter_mut().zip(&mut found) {
                    assert!(wanted.memory.bytes() == found.memory.bytes(), "{op:?} of {dtype}, {isa:?}");
                }
                let (mut nans, size) = (0, dtype.size());
                let positive = &Scalar::F64(f64::NAN).cast(dtype).to_bytes()[..size];
                for (bytes, &(x, y)) in found[0].memory.bytes().chunks_exact(size).zip(&pairs) {
                    let mut element = [0; 16];
                    element[..size].copy_from_slice(bytes);
                    if Scalar::from_bytes(dtype, &element).to_f64().is_nan() {
                        assert_eq!(bytes, positive, "{op:?} of {dtype}, {isa:?}: {x}, {y}");
                        nans += 1;
                    }
                }
                assert!(nans > all.len(), "{nans}");
            }
        }
    }
}

/// Random programs, compiled and interpreted, before fences; some steps cannot be compiled, and split the program.
#[test]
fn random_programs_compiled_and_interpreted() {
    let mut stretched = 0;
    for seed in cases(600) {
        let mut rng = Rng(seed);
        let program = long_program(&mut rng);
        let len = match rng.below(4) {
            0 => 1 + rng.below(20),
            1 => 4000 + rng.below(5000),
            _ => 1 + rng.below(300),
        };
        let mut uniform = 0;
        let inputs: Vec<Column> = (0..program.inputs().len())
            .map(|k| {
                let one = k > 0 && rng.below(4) == 0;
                uniform |= u32::from(one) << k;
                Column::filled(program.inputs()[k], if one { 1 } else { len }, |_| {
                    value(program.inputs()[k], &mut rng)
                })
            })
            .collect();
        for isa in levels() {
            let wanted = run(&program, &inputs, uniform, len, isa, Switch::Off);
            let found = run(&program, &inputs, uniform, len, isa, Switch::Always);
            assert_eq!(
                found, wanted,
                "seed {seed}, {len} elements, uniform {uniform:b}, {isa:?}, {program:?}"
            );
            let inputs: Vec<Access> = (0..inputs.len())
                .map(|k| if uniform >> k & 1 == 1 { Access::Uniform } else { Access::Contiguous })
                .collect();
            let asked = Asked {
                program: &program,
                computed: program.steps().len(),
                isa,
                inputs: &inputs,
                elements: len,
                stream: false,
            };
            stretched += usize::from(cache::forced(Switch::Always, || !stretches(&asked).is_empty()));
        }
    }
    // Most have something to compile.
    let all = cases(600).count() * levels().count();
    assert!(stretched * 2 > all, "{stretched} of {all}");
}

/// Random programs over random layouts, with several threads and past the caches, against the oracle.
#[test]
fn random_programs_over_layouts_and_the_oracle() {
    for seed in cases(300) {
        let mut rng = Rng(seed ^ 0x5eed);
        let program = random::program(&mut rng);
        let dims: Vec<usize> = match rng.below(4) {
            0 => vec![1 + rng.below(6), 1 + rng.below(70)],
            1 => vec![1000 + rng.below(4000)],
            2 => vec![2 + rng.below(3), 1 + rng.below(5), 1 + rng.below(40)],
            _ => vec![1 + rng.below(200)],
        };
        let (threads, cache_bytes) = (rng.pick(&[1, 4]), rng.pick(&[0, 1 << 25]));
        let checked = cache::forced(Switch::Always, || {
            random::compare(&program, &mut rng, &dims, threads, cache_bytes)
        });
        checked.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

/// What is written may be exactly what is read.
#[test]
fn in_place() {
    for isa in levels() {
        for len in [1, 7, 64, 1001] {
            let mut p = ProgramBuilder::new();
            let (a, b) = (p.input(Dtype::F32).unwrap(), p.input(Dtype::F32).unwrap());
            let sum = p.push(Op::Add, &[a, b]).unwrap();
            let product = p.push(Op::Multiply, &[sum, a]).unwrap();
            p.output(product).unwrap();
            p.output(sum).unwrap();
            let program = Arc::new(p.finish().unwrap());
            let mut x: Vec<f32> = (0..len).map(|i| i as f32 * 0.5 - 3.0).collect();
            let mut y: Vec<f32> = (0..len).map(|i| 10.0 - i as f32).collect();
            let sums: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x + y).collect();
            let products: Vec<f32> = x.iter().zip(&sums).map(|(x, sum)| sum * x).collect();
            let operand = |v: &mut Vec<f32>| Operand {
                ptr: stridewise_core::memory::UsmPtr::new(v.as_mut_ptr().cast()),
                strides: smallvec::smallvec![1],
            };
            // The product where the second operand is, the sum where the first one is.
            let (a, b) = (operand(&mut x), operand(&mut y));
            let plan = LaunchPlan {
                program,
                family: Family::Map,
                dims: smallvec::smallvec![len],
                inputs: smallvec::smallvec![a.clone(), b.clone()],
                outputs: smallvec::smallvec![b, a],
            };
            cache::forced(Switch::Always, || execute(&plan, isa, 1, 1 << 25));
            assert_eq!((x, y), (sums, products), "{isa:?} {len}");
        }
    }
}
