//! Folds on the calling thread against plans, bit by bit.

use stridewise_core::backend::{Family, Fold, FoldExtents, Program};
use stridewise_core::ops::apply;
use stridewise_core::{Complex, Dtype, Op, Scalar};

use super::super::reduce::fold::{FIRST, LAST};
use super::super::reduce::folding::folding;
use super::reductions::{FOLDS, allowed, output};
use super::{Array, Rng, Sample, canonical, execute, indices, plan, shared, value};
use crate::kernels::{Tuning, fold_elements, gather_elements};
use crate::simd::Isa;

/// What an array is filled with.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fill {
    /// Sums of these depend on the order of the terms.
    Fractions,
    /// Zeros of either sign, ones, and now and then infinity or NaN.
    Zeros,
    /// Anything.
    Wild,
}

fn element(fill: Fill, dtype: Dtype, rng: &mut Rng) -> Scalar {
    let real = |rng: &mut Rng| match fill {
        Fill::Fractions => rng.fraction() * 3.0 - 1.2,
        _ if rng.below(200) == 0 => rng.pick(&[f64::INFINITY, f64::NEG_INFINITY, f64::NAN]),
        _ => rng.pick(&[0.0, -0.0, -0.0, 1.0, -1.0]),
    };
    match (fill, dtype) {
        (Fill::Wild, _) => value(dtype, rng),
        (_, Dtype::C64) => Scalar::C64(Complex::new(real(rng) as f32, real(rng) as f32)),
        (_, Dtype::C128) => Scalar::C128(Complex::new(real(rng), real(rng))),
        (Fill::Fractions, _) if !dtype.kind().is_inexact() => value(dtype, rng),
        _ => Scalar::F64(real(rng)).cast(dtype),
    }
}

/// As many elements as any of the extents has, one after another.
fn elements(fill: Fill, dtype: Dtype, len: usize, rng: &mut Rng) -> Array {
    let mut array = Array::dense(&[len], dtype, rng);
    for i in 0..len {
        let at = array.byte(&[i]);
        array.memory.write(at, element(fill, dtype, rng));
    }
    array
}

fn tuning(isa: Isa, threads: usize) -> Tuning {
    Tuning { isa, threads, last_cache_bytes: 1 << 25 }
}

/// Compares the fold of the first elements of an array with that of a plan, on every instruction set, and these. The results'
/// bits.
fn check(fold: Fold, input: &Array, to: Dtype, extents: FoldExtents, rng: &mut Rng) -> Vec<[u8; 16]> {
    let program = Program::convert(input.dtype, to);
    check_program(fold, &program, &[input], extents, rng)
}

/// As [`check`], of the value of a program: a conversion of one array, or the product of two.
fn check_program(
    fold: Fold,
    program: &Program,
    arrays: &[&Array],
    extents: FoldExtents,
    rng: &mut Rng,
) -> Vec<[u8; 16]> {
    let FoldExtents { outer, len, inner, step: apart } = extents;
    let (dims, strides) =
        ([outer, inner, len], [len * inner, 1, inner].map(|step| (step * apart).cast_signed()));
    let (from, to) = (arrays[0].dtype, program.output_dtype(0));
    let folded = fold.result(to);
    let mut lowest = None;
    for &isa in Isa::available() {
        let strided = |array: &&Array| Array { strides: strides.to_vec(), ..Array::clone(array) };
        let mut inputs: Vec<Array> = arrays.iter().map(strided).collect();
        let mut outputs = [output(&dims, 1, folded, rng)];
        let family = Family::Reduce { fold, reduced: 1, finish: None, stored: None };
        let launch = plan(program.clone(), family, &dims, &mut inputs, &mut outputs);
        execute(&launch, isa, if rng.below(4) == 0 { 3 } else { 1 }, 1 << 25);
        let mut immediate = Array::dense(&[extents.results() + 1], folded, rng);
        let behind = immediate.get(&[extents.results()]);
        let dst = immediate.operand().ptr.as_ptr();
        let mut sources = inputs.iter_mut().map(|input| input.operand().ptr.as_ptr().cast_const());
        let src = (sources.next().unwrap(), sources.next());
        // SAFETY: the arrays have as many elements, and nothing else uses them.
        let fold_on =
            |threads| unsafe { fold_elements(fold, [from, to], dst, src, extents, &tuning(isa, threads)) };
        let did = if rng.below(3) == 0 { shared(|| fold_on(3)) } else { fold_on(1) };
        assert!(did, "{fold:?} of {from} as {to}, {extents:?}");
        for (n, index) in indices(&[outer, inner]).iter().enumerate() {
            let (found, want) = (immediate.get(&[n]), outputs[0].get(&[index[0], index[1], 0]));
            assert!(
                canonical(found) == canonical(want),
                "{fold:?} of {from} as {to}, {extents:?} at {index:?} on {}: {found:?}, not {want:?}",
                isa.name()
            );
        }
        assert_eq!(canonical(immediate.get(&[extents.results()])), canonical(behind), "{extents:?}");
        let results: Vec<_> = (0..extents.results()).map(|n| canonical(immediate.get(&[n]))).collect();
        let same = *lowest.get_or_insert_with(|| results.clone()) == results;
        assert!(same, "{fold:?} of {from} as {to}, {extents:?} differs on {}", isa.name());
    }
    lowest.unwrap_or_default()
}

/// Extents of at most so many elements, and not too many results.
fn extents(most: usize, rng: &mut Rng) -> FoldExtents {
    const EXTENTS: [usize; 16] = [1, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 33, 64, 65, 100, 257];
    loop {
        let [outer, len, inner] = std::array::from_fn(|_| rng.pick(&EXTENTS));
        let extents = FoldExtents { outer, len, inner, step: 1 };
        if extents.elements() <= most && extents.results() <= 1000 {
            return extents;
        }
    }
}

#[test]
fn every_fold_dtype_and_extents() {
    let mut rng = Rng(41);
    let long = [(1, 8193, 3), (3, 8200, 1), (1, 16_390, 1), (1, 300, 20), (3, 130, 40), (1, 40, 257)]
        .map(|(outer, len, inner)| FoldExtents { outer, len, inner, step: 1 });
    for &dtype in Dtype::ALL {
        for fill in [Fill::Fractions, Fill::Zeros, Fill::Wild] {
            // 16-bit floats are converted, so not so many.
            let half = matches!(dtype, Dtype::F16 | Dtype::Bf16);
            let input = elements(fill, dtype, 1 << 15, &mut rng);
            for &fold in FOLDS.iter().filter(|&&f| allowed(f, dtype)) {
                for _ in 0..if fill == Fill::Fractions { 24 } else { 8 } {
                    let extents = extents(6000, &mut rng);
                    check(fold, &input, dtype, extents, &mut rng);
                }
                for &extents in long.iter().filter(|_| !half && fill != Fill::Wild) {
                    check(fold, &input, dtype, extents, &mut rng);
                }
            }
        }
    }
}

#[test]
fn converted_elements() {
    let mut rng = Rng(42);
    for (from, to) in [
        (Dtype::Bool, Dtype::I64),
        (Dtype::I32, Dtype::I64),
        (Dtype::U8, Dtype::U64),
        (Dtype::I16, Dtype::F64),
        (Dtype::F16, Dtype::F32),
        (Dtype::F32, Dtype::F64),
        (Dtype::F64, Dtype::F32),
        (Dtype::F32, Dtype::Bool),
        (Dtype::C64, Dtype::C128),
    ] {
        for fill in [Fill::Fractions, Fill::Zeros] {
            let input = elements(fill, from, 1 << 12, &mut rng);
            for &fold in FOLDS.iter().filter(|&&f| allowed(f, to)) {
                for _ in 0..30 {
                    let extents = extents(4096, &mut rng);
                    check(fold, &input, to, extents, &mut rng);
                }
            }
        }
    }
}

/// Runs that are widened on their way to the accumulators, which takes no memory for them.
#[test]
fn widened_runs() {
    let mut rng = Rng(45);
    for (from, to) in [
        (Dtype::I8, Dtype::I64),
        (Dtype::U8, Dtype::U64),
        (Dtype::Bool, Dtype::I64),
        (Dtype::I16, Dtype::I64),
        (Dtype::U32, Dtype::U64),
        (Dtype::F16, Dtype::F16),
        (Dtype::F16, Dtype::F32),
    ] {
        let folds: &[Op] = match from {
            Dtype::F16 => &[Op::Add, Op::Multiply, Op::Minimum, Op::Maximum],
            _ => &[Op::Add],
        };
        for fill in [Fill::Fractions, Fill::Zeros, Fill::Wild] {
            // The lowest level does not widen these, and converts no more than there is memory for.
            let most = if from == Dtype::F16 { 16_000 } else { 100_000 };
            for len in [1, 7, 64, 513, 8191, 8192, 8193, most] {
                let input = elements(fill, from, len, &mut rng);
                for &op in folds {
                    check(
                        Fold::Op(op),
                        &input,
                        to,
                        FoldExtents { outer: 1, len, inner: 1, step: 1 },
                        &mut rng,
                    );
                }
            }
        }
    }
}

/// Runs of elements that lie apart, which come to the bits of a copy of them.
#[test]
fn runs_with_gaps() {
    let mut sample = Sample::new();
    let mut rng = Rng(47);
    for dtype in [Dtype::F32, Dtype::F64, Dtype::I32, Dtype::I64, Dtype::U8, Dtype::C64] {
        for fill in [Fill::Fractions, Fill::Zeros, Fill::Wild] {
            for apart in [2, 3, 17] {
                for len in [1, 2, 7, 8, 9, 16, 17, 31, 63, 64, 65, 129, 513, 8191, 8192, 8193, 16_500] {
                    if sample.skips() {
                        continue;
                    }
                    let input = elements(fill, dtype, (len - 1) * apart + 1, &mut rng);
                    let mut copy = Array::dense(&[len], dtype, &mut rng);
                    (0..len).for_each(|i| copy.memory.write(copy.byte(&[i]), input.get(&[i * apart])));
                    for &fold in FOLDS.iter().filter(|&&f| allowed(f, dtype)) {
                        let extents = FoldExtents { outer: 1, len, inner: 1, step: apart };
                        let found = check(fold, &input, dtype, extents, &mut rng);
                        let want = check(fold, &copy, dtype, FoldExtents { step: 1, ..extents }, &mut rng);
                        assert_eq!(found, want, "{fold:?} of {dtype}, {extents:?}");
                    }
                }
            }
        }
    }
}

/// What would be converted, which is done to elements that lie one after another, is left to whoever gathers them.
#[test]
fn halves_with_gaps_are_left_alone() {
    let mut rng = Rng(48);
    for dtype in [Dtype::F16, Dtype::Bf16] {
        let (mut input, mut result) =
            (elements(Fill::Fractions, dtype, 4000, &mut rng), Array::dense(&[1], Dtype::I64, &mut rng));
        let (src, dst) = (input.operand().ptr.as_ptr().cast_const(), result.operand().ptr.as_ptr());
        for (&isa, fold) in Isa::available().iter().flat_map(|isa| FOLDS.map(|fold| (isa, fold))) {
            for (len, apart) in [(1, 2), (7, 2), (2000, 2), (60, 64)] {
                let extents = FoldExtents { outer: 1, len, inner: 1, step: apart };
                let tuning = tuning(isa, 1);
                // SAFETY: there are as many elements, and room for any result.
                let did = unsafe { fold_elements(fold, [dtype; 2], dst, (src, None), extents, &tuning) };
                assert!(!did, "{fold:?} of {dtype}, {extents:?}");
            }
        }
    }
}

#[test]
fn sums_of_products() {
    let mut rng = Rng(43);
    let lengths = [1, 2, 7, 8, 31, 64, 65, 1000, 8191, 8192, 8193, 16_400, 40_000];
    for dtype in [Dtype::F32, Dtype::F64] {
        let program = Program::single(Op::Multiply, dtype).unwrap();
        for fill in [Fill::Fractions, Fill::Zeros, Fill::Wild] {
            for (len, squares) in lengths.into_iter().flat_map(|len| [(len, false), (len, true)]) {
                let [a, b] = [(); 2].map(|()| elements(fill, dtype, len, &mut rng));
                let factors = if squares { &a } else { &b };
                let extents = FoldExtents { outer: 1, len, inner: 1, step: 1 };
                check_program(Fold::Op(Op::Add), &program, &[&a, factors], extents, &mut rng);
            }
        }
    }
    // What is no sum, no real floating point, or of several results, is left to plans.
    let mut number = [0.0_f64; 4];
    let at = number.as_mut_ptr().cast::<u8>();
    for (fold, dtype, outer) in [
        (Fold::Op(Op::Multiply), Dtype::F64, 1),
        (Fold::Op(Op::Add), Dtype::I64, 1),
        (Fold::Op(Op::Add), Dtype::F64, 2),
    ] {
        let extents = FoldExtents { outer, len: 1, inner: 1, step: 1 };
        // SAFETY: there are two elements and room for two results.
        let did = unsafe {
            fold_elements(fold, [dtype; 2], at.add(16), (at, Some(at)), extents, &tuning(Isa::best(), 1))
        };
        assert!(!did, "{fold:?} of {dtype}");
    }
}

/// Elements of dimensions of every kind: in order, apart, backwards, repeated, rows that are neighbours, none at all.
#[test]
fn gathered_elements() {
    let mut rng = Rng(44);
    for size in [1_usize, 2, 4, 8, 16] {
        for _ in 0..300 {
            let dims: Vec<(usize, isize)> = (0..rng.below(5))
                .map(|_| (1 + rng.below(18), (rng.below(9).cast_signed() - 4) * size.cast_signed()))
                .collect();
            // No byte more than the elements take, so that one read beyond them is one that tools see.
            let (mut low, mut high) = (0, size.cast_signed());
            for &(extent, step) in &dims {
                let way = (extent.cast_signed() - 1) * step;
                (low, high) = (low + way.min(0), high + way.max(0));
            }
            let memory: Vec<u8> = (0..high - low).map(|_| rng.next() as u8).collect();
            let count = dims.iter().map(|dim| dim.0).product::<usize>();
            let mut expected = Vec::with_capacity(count * size);
            for mut number in 0..count {
                let mut at = -low;
                for &(extent, step) in &dims {
                    at += (number % extent).cast_signed() * step;
                    number /= extent;
                }
                expected.extend_from_slice(&memory[at.unsigned_abs()..][..size]);
            }
            for &isa in Isa::available() {
                let mut gathered = vec![0xee_u8; count * size + 1];
                let src = memory.as_ptr().wrapping_offset(-low);
                // SAFETY: the memory has the elements, and there is room for them.
                unsafe { gather_elements(isa, gathered.as_mut_ptr(), src, &dims, size) };
                assert_eq!(gathered[..count * size], expected, "{isa:?} {size} {dims:?}");
                assert_eq!(gathered[count * size], 0xee, "{isa:?} {size} {dims:?}");
            }
        }
    }
}

/// Minima and maxima of runs whose extremum is a zero of either sign, infinite or NaN, against one operation after the other.
#[test]
fn extrema_of_zeros_and_nan() {
    const KINDS: [(&[f64], f64); 10] = [
        (&[0.0], -0.0),
        (&[-0.0], 0.0),
        (&[0.0, 1.0, 2.0], -0.0),
        (&[-0.0, 1.0, 2.0], 0.0),
        (&[0.0, -1.0, -2.0], -0.0),
        (&[-0.0, -1.0, -2.0], 0.0),
        (&[f64::NEG_INFINITY], f64::NEG_INFINITY),
        (&[f64::INFINITY], f64::INFINITY),
        (&[0.0, -0.0, 1.0, -1.0], f64::NAN),
        (&[1.0, 2.0], f64::NEG_INFINITY),
    ];
    let mut rng = Rng(18);
    let lengths = (1..70).chain([100, 127, 128, 129, 1000, 8192]);
    for (len, (most, one)) in lengths.flat_map(|len| KINDS.map(|kind| (len, kind))) {
        for (op, dtype) in
            [Op::Minimum, Op::Maximum].map(|op| [(op, Dtype::F32), (op, Dtype::F64)]).as_flattened()
        {
            let mut run = elements(Fill::Zeros, *dtype, len, &mut rng);
            for i in 0..len {
                let at = run.byte(&[i]);
                run.memory.write(at, Scalar::F64(rng.pick(most)).cast(*dtype));
            }
            // The odd one out at an end, somewhere, or nowhere.
            let somewhere = rng.below(len);
            let place = rng.pick(&[0, len - 1, somewhere, len]);
            if place < len {
                let at = run.byte(&[place]);
                run.memory.write(at, Scalar::F64(one).cast(*dtype));
            }
            let values = (0..len).map(|i| run.get(&[i]));
            let expected = values.reduce(|best, x| apply(*op, &[best, x]).unwrap()).unwrap();
            for &isa in Isa::available() {
                let folding = folding(*op, *dtype, isa).unwrap();
                let mut found = [0_u128; 16];
                let (to, from) = (found.as_mut_ptr().cast::<u8>(), run.operand().ptr.as_ptr().cast_const());
                // SAFETY: room for the accumulators, and the run's elements; the processor has the level.
                unsafe { folding.run.call(to, from, &folding.identity, from, FIRST | LAST, len) };
                let found = Scalar::from_bytes(*dtype, &found[0].to_ne_bytes());
                let name = format!("{op:?} of {len} {dtype}, {most:?}, {one} at {place}, on {}", isa.name());
                assert_eq!(canonical(found), canonical(expected), "{name}");
            }
        }
    }
}
