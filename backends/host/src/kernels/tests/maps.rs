//! Every operation, dtype, instruction set and length of tail.
//!
//! The oracle is `apply`, core's scalar operations; results are equal in all bits but for the operations that
//! round freely (`close`). A cache of no size makes every store a streaming one, and `untouched` looks at
//! what lies between the results.

use stridewise_core::ops::{apply, evaluate};
use stridewise_core::{
    Dtype, Op, Scalar,
    backend::{Family, Program, ProgramBuilder},
};

use super::super::elementwise::step::{copy, resolve};
use super::super::entry::{REVERSED, SECONDS, STREAM};
use super::super::stream;
use super::{Array, Rng, Sample, canonical, close, execute, indices, plan, specials, untouched, value};
use crate::simd::Isa;

const CACHE: usize = 1 << 25;
const FLOATS: [Dtype; 4] = [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64];

#[test]
fn every_operation_on_every_dtype_and_tail() {
    let mut rng = Rng(1);
    for &op in Op::ALL {
        for &dtype in Dtype::ALL.iter().filter(|&&d| op.allows(d) && op != Op::Cast) {
            for (round, len) in (1..=65).chain([127, 129, 255, 257, 1030]).enumerate() {
                // Each operand in turn is one element for all.
                let scalars = round % (1 << op.arity());
                let program = Program::single(op, dtype).unwrap();
                let strides = |k: usize| vec![isize::from(scalars >> k & 1 == 0)];
                let mut inputs: Vec<_> = (0..op.arity())
                    .map(|k| Array::new(&[len], strides(k), program.inputs()[k], &mut rng))
                    .collect();
                let before = Array::dense(&[len], program.output_dtype(0), &mut rng);
                for &isa in Isa::available() {
                    let mut outputs = [before.clone()];
                    // A cache of no size makes every store a streaming one.
                    let cache = if round / (1 << op.arity()) % 2 == 0 { CACHE } else { 0 };
                    execute(
                        &plan(program.clone(), Family::Map, &[len], &mut inputs, &mut outputs),
                        isa,
                        1,
                        cache,
                    );
                    untouched(&before, &outputs[0], &[len]);
                    for i in 0..len {
                        let x: Vec<_> = inputs.iter().map(|a| a.get(&[i])).collect();
                        let expected = apply(op, &x).unwrap();
                        let found = outputs[0].get(&[i]);
                        assert!(
                            close(op, found, expected),
                            "{op:?} {x:?} on {}: {found:?}, not {expected:?}",
                            isa.name()
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn every_pair_of_bytes() {
    let mut rng = Rng(2);
    let pairs = 1 << 16;
    for dtype in [Dtype::I8, Dtype::U8] {
        let mut x = Array::dense(&[pairs], dtype, &mut rng);
        let mut y = Array::dense(&[pairs], dtype, &mut rng);
        for i in 0..pairs {
            x.memory.write(x.byte(&[i]), Scalar::I32((i & 255) as i32).cast(dtype));
            y.memory.write(y.byte(&[i]), Scalar::I32((i >> 8) as i32).cast(dtype));
        }
        for &op in Op::ALL.iter().filter(|o| o.arity() == 2 && o.allows(dtype)) {
            for &isa in Isa::available() {
                let program = Program::single(op, dtype).unwrap();
                let mut out = [Array::dense(&[pairs], program.output_dtype(0), &mut rng)];
                let mut inputs = [x.clone(), y.clone()];
                execute(&plan(program, Family::Map, &[pairs], &mut inputs, &mut out), isa, 1, CACHE);
                for i in 0..pairs {
                    let expected = apply(op, &[x.get(&[i]), y.get(&[i])]).unwrap();
                    assert_eq!(out[0].get(&[i]), expected, "{op:?} {:?} {:?}", x.get(&[i]), y.get(&[i]));
                }
            }
        }
    }
}

#[test]
fn a_nan_in_any_place_reaches_exactly_its_result() {
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64] {
        let mut rng = Rng(3);
        let len = 67;
        for op in [Op::Add, Op::Minimum, Op::Maximum] {
            for place in 0..len {
                for side in 0..2 {
                    let mut inputs = [0; 2].map(|_| Array::dense(&[len], dtype, &mut rng));
                    for a in &mut inputs {
                        for i in 0..len {
                            a.memory.write(a.byte(&[i]), Scalar::I32(i as i32 - 30).cast(dtype));
                        }
                    }
                    let at = inputs[side].byte(&[place]);
                    inputs[side].memory.write(at, Scalar::F64(f64::NAN).cast(dtype));
                    for &isa in Isa::available() {
                        let mut out = [Array::dense(&[len], dtype, &mut rng)];
                        let program = Program::single(op, dtype).unwrap();
                        execute(&plan(program, Family::Map, &[len], &mut inputs, &mut out), isa, 1, CACHE);
                        for i in 0..len {
                            assert_eq!(out[0].get(&[i]).to_f64().is_nan(), i == place, "{op:?} {dtype} {i}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn every_conversion() {
    let mut rng = Rng(4);
    for &from in Dtype::ALL {
        let mut values: Vec<Scalar> = specials().iter().map(|&v| Scalar::F64(v).cast(from)).collect();
        values.extend((0..3000).map(|_| value(from, &mut rng)));
        if from.size() == 2 {
            values.extend((0..=u16::MAX).map(|bits| {
                let mut bytes = [0; 16];
                bytes[..2].copy_from_slice(&bits.to_le_bytes());
                Scalar::from_bytes(from, &bytes)
            }));
        }
        // Doubles next to the ties of 16-bit floats, which a rounding by way of float32 would miss.
        if from == Dtype::F64 {
            for half in 0..2000_u64 {
                let tie = f64::from_bits(0x3f00_0000_0000_0000 + (half << 41));
                values.extend([tie, tie.next_up(), tie.next_down()].map(Scalar::F64));
                let tie = f64::from_bits(0x3e60_0000_0000_0000 + (half << 44));
                values.extend([tie, tie.next_up(), tie.next_down()].map(Scalar::F64));
            }
        }
        let len = values.len();
        let mut inputs = [Array::dense(&[len], from, &mut rng)];
        for (i, &v) in values.iter().enumerate() {
            let at = inputs[0].byte(&[i]);
            inputs[0].memory.write(at, v);
        }
        for &to in Dtype::ALL {
            for &isa in Isa::available() {
                let mut out = [Array::dense(&[len], to, &mut rng)];
                let program = Program::convert(from, to);
                execute(&plan(program, Family::Map, &[len], &mut inputs, &mut out), isa, 1, CACHE);
                for (i, &v) in values.iter().enumerate() {
                    let (found, expected) = (out[0].get(&[i]), v.cast(to));
                    assert_eq!(
                        canonical(found),
                        canonical(expected),
                        "{v:?} to {to} on {}: {found:?}, not {expected:?}",
                        isa.name()
                    );
                }
            }
        }
    }
}

#[test]
fn any_byte_but_zero_is_true() {
    let mut rng = Rng(5);
    let len = 256;
    for &op in Op::ALL.iter().filter(|o| o.allows(Dtype::Bool) && **o != Op::Cast && **o != Op::Copy) {
        let program = Program::single(op, Dtype::Bool).unwrap();
        let mut inputs: Vec<_> =
            (0..op.arity()).map(|_| Array::dense(&[len], Dtype::Bool, &mut rng)).collect();
        for (k, a) in inputs.iter_mut().enumerate() {
            for i in 0..len {
                a.memory.write(a.byte(&[i]), Scalar::U8(if k == 0 { i as u8 } else { (i % 3) as u8 }));
            }
        }
        for &isa in Isa::available() {
            let mut out = [Array::dense(&[len], Dtype::Bool, &mut rng)];
            execute(&plan(program.clone(), Family::Map, &[len], &mut inputs, &mut out), isa, 1, CACHE);
            for i in 0..len {
                let x: Vec<_> = inputs.iter().map(|a| a.get(&[i])).collect();
                let found = out[0].memory.read(out[0].byte(&[i]), Dtype::U8);
                let expected = apply(op, &x).unwrap();
                if op == Op::Where {
                    assert_eq!(found.cast(Dtype::Bool), expected);
                } else {
                    assert_eq!(found, expected.cast(Dtype::U8), "{op:?} {x:?}");
                }
            }
        }
    }
}

/// sqrt(a·a + b·b)·c − d, and the comparison of its parts as a second output.
fn chain(dtype: Dtype) -> Program {
    let mut p = ProgramBuilder::new();
    let [a, b, c, d] = [0; 4].map(|_| p.input(dtype).unwrap());
    let (aa, bb) = (p.push(Op::Multiply, &[a, a]).unwrap(), p.push(Op::Multiply, &[b, b]).unwrap());
    let sum = p.push(Op::Add, &[aa, bb]).unwrap();
    let root = p.push(Op::Sqrt, &[sum]).unwrap();
    let scaled = p.push(Op::Multiply, &[root, c]).unwrap();
    let result = p.push(Op::Subtract, &[scaled, d]).unwrap();
    let test = p.push(Op::Less, &[aa, bb]).unwrap();
    p.output(result).unwrap();
    p.output(test).unwrap();
    p.output(root).unwrap();
    p.finish().unwrap()
}

#[test]
fn an_output_may_be_any_of_the_inputs() {
    let mut rng = Rng(6);
    for dtype in [Dtype::F16, Dtype::F32, Dtype::F64] {
        let program = chain(dtype);
        for len in [1, 63, 1000, 70_000] {
            let originals = [0; 4].map(|_| Array::dense(&[len], dtype, &mut rng));
            let operands = |i: usize| originals.iter().map(move |a| a.get(&[i])).collect::<Vec<_>>();
            let expected: Vec<_> = (0..len).map(|i| evaluate(&program, &operands(i)).unwrap()).collect();
            for shared in 0..16 {
                let (first, third) = (shared % 4, shared / 4);
                if first == third {
                    continue;
                }
                for (&isa, threads) in Isa::available().iter().zip([1, 4, 1]) {
                    let mut inputs = originals.clone();
                    let mut tests = Array::dense(&[len], Dtype::Bool, &mut rng);
                    let mut launch = plan(program.clone(), Family::Map, &[len], &mut inputs, &mut []);
                    launch.outputs =
                        [launch.inputs[first].clone(), tests.operand(), launch.inputs[third].clone()]
                            .into_iter()
                            .collect();
                    execute(&launch, isa, threads, if len == 1000 { 0 } else { CACHE });
                    for (i, expected) in expected.iter().enumerate() {
                        let found = [inputs[first].get(&[i]), tests.get(&[i]), inputs[third].get(&[i])];
                        for (f, e) in found.iter().zip(expected) {
                            let same = canonical(*f) == canonical(*e);
                            assert!(same, "{:?} into {first}, {third}: {f:?}, not {e:?}", operands(i));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn transposed_operands() {
    let mut sample = Sample::new();
    let mut rng = Rng(9);
    for dtype in [Dtype::U8, Dtype::F16, Dtype::F32, Dtype::I64, Dtype::C128] {
        for dims in [vec![40, 300], vec![16, 64], vec![3, 35, 700], vec![2, 2, 17, 65]] {
            let mut turned = dims.clone();
            turned.reverse();
            for which in 1..4 {
                if sample.skips() {
                    continue;
                }
                let program = Program::single(Op::Equal, dtype).unwrap();
                let mut inputs = [0, 1].map(|k| {
                    if which >> k & 1 == 0 {
                        return Array::dense(&dims, dtype, &mut rng);
                    }
                    let mut strides = Array::dense(&turned, dtype, &mut rng).strides;
                    strides.reverse();
                    Array::new(&dims, strides, dtype, &mut rng)
                });
                // Half of the elements are equal.
                for (n, index) in indices(&dims).iter().enumerate() {
                    if n % 2 == 0 {
                        let (v, at) = (inputs[0].get(index), inputs[1].byte(index));
                        inputs[1].memory.write(at, v);
                    }
                }
                let before = Array::dense(&dims, Dtype::Bool, &mut rng);
                for (&isa, (threads, cache)) in
                    Isa::available().iter().flat_map(|isa| [(isa, (1, 0)), (isa, (4, CACHE)), (isa, (4, 0))])
                {
                    let mut out = [before.clone()];
                    execute(
                        &plan(program.clone(), Family::Map, &dims, &mut inputs, &mut out),
                        isa,
                        threads,
                        cache,
                    );
                    untouched(&before, &out[0], &dims);
                    for index in indices(&dims) {
                        let expected = apply(Op::Equal, &[inputs[0].get(&index), inputs[1].get(&index)]);
                        assert_eq!(Some(out[0].get(&index)), expected, "{dtype} {dims:?} {which} {index:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn integers_in_place() {
    let mut rng = Rng(7);
    for dtype in [Dtype::I8, Dtype::I32, Dtype::U64, Dtype::Bool, Dtype::C64] {
        for len in [1, 100, 5000] {
            let op = if dtype == Dtype::Bool { Op::BitwiseXor } else { Op::Add };
            let (x, y) = (Array::dense(&[len], dtype, &mut rng), Array::dense(&[len], dtype, &mut rng));
            for &isa in Isa::available() {
                let mut inputs = [x.clone(), y.clone()];
                let program = Program::single(op, dtype).unwrap();
                let mut launch = plan(program, Family::Map, &[len], &mut inputs, &mut []);
                launch.outputs = [launch.inputs[1].clone()].into_iter().collect();
                execute(&launch, isa, 1, CACHE);
                for i in 0..len {
                    let expected = apply(op, &[x.get(&[i]), y.get(&[i])]).unwrap();
                    assert_eq!(canonical(inputs[1].get(&[i])), canonical(expected));
                }
            }
        }
    }
}

#[test]
fn choices_in_place() {
    let mut rng = Rng(10);
    for dtype in [Dtype::U8, Dtype::F16, Dtype::I32, Dtype::F64, Dtype::C64, Dtype::C128] {
        let program = Program::single(Op::Where, dtype).unwrap();
        for (len, cache) in [(1, CACHE), (100, 0), (5000, CACHE), (5000, 0)] {
            let originals = [Dtype::Bool, dtype, dtype].map(|dtype| Array::dense(&[len], dtype, &mut rng));
            for &isa in Isa::available() {
                for place in [1, 2] {
                    let mut inputs = originals.clone();
                    let mut launch = plan(program.clone(), Family::Map, &[len], &mut inputs, &mut []);
                    launch.outputs = [launch.inputs[place].clone()].into_iter().collect();
                    execute(&launch, isa, 1, cache);
                    for i in 0..len {
                        let x: Vec<_> = originals.iter().map(|a| a.get(&[i])).collect();
                        let (found, expected) = (inputs[place].get(&[i]), apply(Op::Where, &x).unwrap());
                        assert_eq!(canonical(found), canonical(expected), "{dtype} {len} into {place}");
                    }
                }
            }
        }
    }
}

#[test]
fn copies_and_fills() {
    let mut rng = Rng(8);
    for bytes in [1, 16, 64, 100, 4096, (1 << 19) + 48] {
        for (threads, last_cache_bytes) in [(1, CACHE), (1, 0), (4, CACHE), (4, 0)] {
            let tuning = super::Tuning { isa: Isa::best(), threads, last_cache_bytes };
            let mut src = Array::dense(&[bytes], Dtype::U8, &mut rng);
            let before = Array::dense(&[bytes], Dtype::U8, &mut rng);
            let mut dst = before.clone();
            let (to, from) = (dst.operand().ptr.as_ptr() as usize, src.operand().ptr.as_ptr() as usize);
            super::shared(|| {
                // SAFETY: both have as many bytes.
                unsafe { super::super::copy(to as *mut u8, from as *const u8, bytes, &tuning) }
            });
            untouched(&before, &dst, &[bytes]);
            assert!((0..bytes).all(|i| dst.get(&[i]) == src.get(&[i])));
            for pattern in [1, 2, 4, 8, 16].map(|n| (0..n).map(|b| b as u8 + 1).collect::<Vec<_>>()) {
                let whole = bytes / pattern.len() * pattern.len();
                if whole > 0 {
                    super::shared(|| {
                        // SAFETY: the array has as many bytes.
                        unsafe { super::super::fill(to as *mut u8, whole, &pattern, &tuning) }
                    });
                    untouched(&before, &dst, &[bytes]);
                    assert!((0..whole).all(|i| dst.get(&[i]) == Scalar::U8(pattern[i % pattern.len()])));
                }
            }
        }
    }
}

/// Functions read every second element, and elements in reverse, as they read the same elements side by side.
#[test]
fn operands_that_lie_apart() {
    let mut rng = Rng(14);
    let (mut functions, flags) = (0, [0, 1, SECONDS, REVERSED]);
    for (&op, dtype) in Op::ALL.iter().flat_map(|op| FLOATS.map(|dtype| (op, dtype))) {
        let found = Isa::available().iter().filter_map(|&isa| Some((isa, resolve(op, dtype, dtype, isa)?)));
        for (isa, function) in found.filter(|(_, function)| function.strided) {
            functions += 1;
            for lies in 1..4_usize.pow(op.arity() as u32) {
                let lies: Vec<_> = (0..op.arity()).map(|k| lies >> (2 * k) & 3).collect();
                if lies.iter().all(|&lies| lies == 1) {
                    continue;
                }
                let len = 1 + rng.below(80);
                let stride = |&lies: &usize| vec![[1, 0, 2, -1][lies]];
                let mut apart: Vec<_> =
                    lies.iter().map(|lies| Array::new(&[len], stride(lies), dtype, &mut rng)).collect();
                let copy = |a: &Array| {
                    let mut copy = Array::dense(&[len], dtype, &mut Rng(1));
                    (0..len).for_each(|i| copy.memory.write(copy.byte(&[i]), a.get(&[i])));
                    copy
                };
                let mut dense: Vec<_> = apart.iter().map(copy).collect();
                let run = |inputs: &mut [Array], flags: u32| {
                    let mut out = Array::dense(&[len], dtype, &mut Rng(2));
                    let before = out.clone();
                    let from = |k: usize, inputs: &mut [Array]| {
                        let k = if k < op.arity() { k } else { 0 };
                        inputs[k].operand().ptr.as_ptr().cast_const()
                    };
                    let [a, b, c] = [0, 1, 2].map(|k| from(k, inputs));
                    // SAFETY: the operands have as many elements as the flags tell, and the processor has the level.
                    unsafe { (function.run)(out.operand().ptr.as_ptr(), a, b, c, flags, len) };
                    stream::fence();
                    untouched(&before, &out, &[len]);
                    (0..len).map(|i| canonical(out.get(&[i]))).collect::<Vec<_>>()
                };
                let expected = run(&mut dense, 0);
                let told: u32 = lies.iter().enumerate().map(|(k, &lies)| flags[lies] << k).sum();
                for stream in [0, STREAM] {
                    let name = format!("{op:?} of {len} {dtype}, {lies:?}, {stream}, on {}", isa.name());
                    assert_eq!(run(&mut apart, told | stream), expected, "{name}");
                }
            }
        }
    }
    assert!(functions > 50 * Isa::available().len(), "{functions}");
}

/// So many elements that they are read where they lie, but not by a conversion.
#[test]
fn far_operands_that_lie_apart() {
    let mut rng = Rng(15);
    let len = 150_001;
    let mut also_converted = ProgramBuilder::new();
    let [a, b] = [0; 2].map(|_| also_converted.input(Dtype::F32).unwrap());
    let product = also_converted.push(Op::Multiply, &[a, b]).unwrap();
    let wide = also_converted.cast(a, Dtype::F64).unwrap();
    also_converted.output(product).unwrap();
    also_converted.output(wide).unwrap();
    for program in [chain(Dtype::F32), also_converted.finish().unwrap()] {
        let strides = [2, -1, 1, -1];
        let mut inputs: Vec<_> = (0..program.inputs().len())
            .map(|k| Array::new(&[len], vec![strides[k]], Dtype::F32, &mut rng))
            .collect();
        let expected: Vec<_> = (0..len)
            .map(|i| evaluate(&program, &inputs.iter().map(|a| a.get(&[i])).collect::<Vec<_>>()).unwrap())
            .collect();
        let ways = [(1, 0), (1, CACHE), (4, CACHE), (4, 0)];
        for (&isa, (threads, cache)) in Isa::available().iter().flat_map(|isa| ways.map(|way| (isa, way))) {
            let mut outputs: Vec<_> = (0..program.outputs().len())
                .map(|o| Array::dense(&[len], program.output_dtype(o), &mut rng))
                .collect();
            let launch = plan(program.clone(), Family::Map, &[len], &mut inputs, &mut outputs);
            execute(&launch, isa, threads, cache);
            for (i, expected) in expected.iter().enumerate() {
                for (output, &expected) in outputs.iter().zip(expected) {
                    let name = format!("{i} on {}, {threads} threads, {cache}", isa.name());
                    assert_eq!(canonical(output.get(&[i])), canonical(expected), "{name}");
                }
            }
        }
    }
}

/// Slices of one array that are some places apart, which all fit a cache, or each, or none.
#[test]
fn slices_of_one_array() {
    let mut rng = Rng(21);
    let (dims, pitch) = ([37, 141], 150);
    let mut whole = Array::dense(&[40, pitch], Dtype::F64, &mut rng);
    let places = [[0, 0], [1, 2], [2, 1], [2, 2]];
    let mut program = ProgramBuilder::new();
    let [a, b, c, d] = places.map(|_| program.input(Dtype::F64).unwrap());
    let product = program.push(Op::Multiply, &[a, b]).unwrap();
    let sum = program.push(Op::Add, &[product, c]).unwrap();
    let difference = program.push(Op::Subtract, &[sum, d]).unwrap();
    program.output(difference).unwrap();
    let program = program.finish().unwrap();
    let expected: Vec<_> = indices(&dims)
        .iter()
        .map(|at| {
            let read = |place: &[usize; 2]| whole.get(&[at[0] + place[0], at[1] + place[1]]);
            evaluate(&program, &places.iter().map(read).collect::<Vec<_>>()).unwrap()[0]
        })
        .collect();
    let before = Array::new(&dims, vec![pitch as isize, 1], program.output_dtype(0), &mut rng);
    let ways =
        [1, 4].into_iter().flat_map(|threads| [0, 70_000, 90_000, CACHE].map(|cache| (threads, cache)));
    for (&isa, (threads, cache)) in
        Isa::available().iter().flat_map(|isa| ways.clone().map(move |way| (isa, way)))
    {
        let mut out = [before.clone()];
        let mut launch = plan(program.clone(), Family::Map, &dims, &mut [], &mut out);
        for [row, column] in &places {
            let mut operand = whole.operand();
            let ahead = (row * pitch + column) * whole.dtype.size();
            operand.ptr = stridewise_core::memory::UsmPtr::new(operand.ptr.as_ptr().wrapping_add(ahead));
            launch.inputs.push(operand);
        }
        execute(&launch, isa, threads, cache);
        untouched(&before, &out[0], &dims);
        for (at, &expected) in indices(&dims).iter().zip(&expected) {
            let name = format!("{at:?} on {}, {threads} threads, {cache}", isa.name());
            assert_eq!(canonical(out[0].get(at)), canonical(expected), "{name}");
        }
    }
}

/// Copies of any number of elements write these and no more, wherever they lie.
#[test]
fn copies_write_what_they_read_and_no_more() {
    // Words, so that every element is aligned.
    let src: Vec<u64> = (0..2000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let bytes_of = |words: &[u64]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
    let from = bytes_of(&src);
    for &isa in Isa::available() {
        for size in [1, 2, 4, 8, 16] {
            let run = copy(size, isa);
            let lengths = (1..2200).chain(8100..8300).chain([12_000]);
            for bytes in lengths.filter(|bytes| bytes % size == 0) {
                for [skipped, kept] in [[0, 0], [size, 3 * size]] {
                    let mut dst = vec![u64::MAX; (kept + bytes) / 8 + 9];
                    // SAFETY: as many aligned elements are readable and writable.
                    unsafe {
                        let source = src.as_ptr().cast::<u8>().add(skipped);
                        let to = dst.as_mut_ptr().cast::<u8>().add(kept);
                        run(to, source, source, source, 0, bytes / size);
                    }
                    let dst = bytes_of(&dst);
                    let (before, rest) = dst.split_at(kept);
                    let (copied, behind) = rest.split_at(bytes);
                    let copied = copied == &from[skipped..skipped + bytes];
                    let untouched = before.iter().chain(behind).all(|&byte| byte == 255);
                    assert!(copied && untouched, "{} {size} {bytes}", isa.name());
                }
            }
        }
    }
}
