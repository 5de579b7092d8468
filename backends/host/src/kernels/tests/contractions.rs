//! Matrix products against sums of scalar products, and their bits across threads.

use stridewise_core::ops::apply;
use stridewise_core::{
    Complex, Dtype, Op, Scalar,
    backend::{Family, Fold, Program},
};

use super::super::product::contract::is_contraction;
use super::{Array, Rng, Sample, canonical, execute, indices, plan, untouched, value};
use crate::simd::Isa;

/// Numbers whose sums of products are exact, or anything where these wrap.
fn element(dtype: Dtype, rng: &mut Rng) -> Scalar {
    let number = |rng: &mut Rng| rng.below(9) as f64 - 4.0;
    match dtype {
        Dtype::C64 => Scalar::C64(Complex::new(number(rng) as f32, number(rng) as f32)),
        Dtype::C128 => Scalar::C128(Complex::new(number(rng), number(rng))),
        d if d.kind().is_integer() => value(d, rng),
        d => Scalar::F64(number(rng)).cast(d),
    }
}

/// Strides of an operand along the dimensions where it has any, `order` being theirs in memory.
fn strides(dims: &[usize], order: &[usize], spread: isize) -> Vec<isize> {
    let (mut strides, mut next) = (vec![0; dims.len()], 1);
    for (i, &d) in order.iter().enumerate() {
        strides[d] = if i == 1 && spread < 0 { -next } else { next };
        next *= dims[d] as isize;
        if spread > 1 {
            next += spread;
        }
    }
    strides
}

/// A product over `(batch, m, n, k)`; the orders are those of the operands' dimensions in memory, the innermost first.
fn check(dtype: Dtype, dims: &[usize; 4], orders: [&[usize]; 3], spread: isize, rng: &mut Rng) {
    let program = Program::single(Op::Multiply, dtype).unwrap();
    let mut inputs: Vec<Array> =
        orders[..2].iter().map(|order| Array::new(dims, strides(dims, order, spread), dtype, rng)).collect();
    for a in &mut inputs {
        // Each element once.
        let own: Vec<usize> =
            dims.iter().zip(&a.strides).map(|(&d, &s)| if s == 0 { 1 } else { d }).collect();
        for index in indices(&own) {
            let (at, v) = (a.byte(&index), element(dtype, rng));
            a.memory.write(at, v);
        }
    }
    let before = Array::new(dims, strides(dims, orders[2], spread), dtype, rng);
    let kept = [dims[0], dims[1], dims[2], 1];
    let expected: Vec<Scalar> = indices(&kept)
        .iter()
        .map(|i| {
            let product = |k: usize| {
                let at = [i[0], i[1], i[2], k];
                apply(Op::Multiply, &[inputs[0].get(&at), inputs[1].get(&at)]).unwrap()
            };
            (1..dims[3]).fold(product(0), |sum, k| apply(Op::Add, &[sum, product(k)]).unwrap())
        })
        .collect();
    for &isa in Isa::available() {
        for threads in [1, 2, 4] {
            let mut out = [before.clone()];
            let family = Family::Reduce { fold: Fold::Op(Op::Add), reduced: 1, finish: None, stored: None };
            execute(&plan(program.clone(), family, dims, &mut inputs, &mut out), isa, threads, 1 << 25);
            untouched(&before, &out[0], &kept);
            for (index, expected) in indices(&kept).iter().zip(&expected) {
                let found = out[0].get(index);
                // The sign of a zero depends on the order.
                assert!(
                    canonical(found) == canonical(*expected) || found == *expected,
                    "{dtype} {dims:?} {orders:?} at {index:?} on {} with {threads}: {found:?}, not {expected:?}",
                    isa.name()
                );
            }
        }
    }
}

#[test]
fn products_of_every_dtype_and_layout() {
    let mut rng = Rng(1);
    // The operands of a large one are spread in one way, in turn.
    let mut spreads = [0, 3, -1].into_iter().cycle();
    for &dtype in Dtype::ALL.iter().filter(|d| Op::Multiply.allows(**d) && d.size() > 0) {
        if matches!(dtype, Dtype::F16 | Dtype::Bf16) {
            continue;
        }
        for dims in [[1, 3, 4, 5], [1, 1, 7, 9], [1, 20, 1, 9], [3, 8, 9, 10], [1, 2, 2, 1], [1, 70, 33, 65]]
        {
            for (a, b, out) in [
                (&[3, 1, 0][..], &[2, 3, 0][..], &[2, 1, 0][..]),
                (&[1, 3, 0], &[3, 2, 0], &[1, 2, 0]),
                (&[3, 1], &[2, 3, 0], &[2, 1, 0]),
                (&[3, 1, 0], &[3, 2], &[2, 1, 0]),
                (&[0, 3, 1], &[0, 2, 3], &[0, 2, 1]),
            ] {
                let ways = if dims.iter().product::<usize>() > 10_000 { 1 } else { 3 };
                for spread in spreads.by_ref().take(ways) {
                    check(dtype, &dims, [a, b, out], spread, &mut rng);
                }
            }
        }
    }
}

#[test]
fn larger_products() {
    let mut sample = Sample::new();
    let mut rng = Rng(2);
    // Each product's operands are spread in one way, in turn.
    let mut spreads = [0, 3, -1].into_iter().cycle();
    // Of the largest, each dtype has one, in turn.
    let mut largest = [[1, 100, 300, 130], [1, 130, 20, 600], [9, 40, 41, 42]].into_iter().cycle();
    let mut long =
        [[1, 1, 300, 130], [3, 1, 33, 2000], [1, 1, 5000, 70], [2, 300, 1, 130]].into_iter().cycle();
    for dtype in [Dtype::F32, Dtype::F64, Dtype::C64, Dtype::I8, Dtype::I32, Dtype::U64] {
        for dims in largest.by_ref().take(1) {
            check(dtype, &dims, [&[3, 1, 0], &[2, 3, 0], &[2, 1, 0]], 0, &mut rng);
        }
        // Vectors with matrices, whose rows or whose columns lie closely; few of either, too.
        for dims in [[1, 1, 8, 5000], [1, 2, 1, 1024], [1, 1, 7, 70], [1, 16, 1, 4099], [1, 1, 3, 64]]
            .into_iter()
            .chain([[1, 1000, 1, 8], [1, 1, 130, 3], [1, 70, 1, 16], [1, 65, 1, 5]])
        {
            for orders in [[&[3, 1, 0][..], &[2, 3, 0], &[2, 1, 0]], [&[1, 3, 0][..], &[3, 2, 0], &[2, 1, 0]]]
            {
                if sample.skips() {
                    continue;
                }
                check(dtype, &dims, orders, spreads.next().unwrap(), &mut rng);
            }
        }
        // A few rows and columns of long sums, and long ones of short sums.
        for dims in [[1, 8, 5, 9001], [1, 6, 1000, 8]] {
            for orders in [[&[3, 1, 0][..], &[2, 3, 0], &[1, 2, 0]], [&[1, 3, 0][..], &[3, 2, 0], &[2, 1, 0]]]
            {
                if sample.skips() {
                    continue;
                }
                check(dtype, &dims, orders, spreads.next().unwrap(), &mut rng);
            }
        }
        for dims in long.by_ref().take(3) {
            if sample.skips() {
                continue;
            }
            check(dtype, &dims, [&[3, 1, 0], &[2, 3, 0], &[2, 1, 0]], 0, &mut rng);
            check(dtype, &dims, [&[1, 3, 0], &[3, 2, 0], &[2, 1, 0]], 0, &mut rng);
        }
    }
}

/// Numbers whose sums are rounded: the same bits from any number of threads.
#[test]
fn the_same_bits_from_any_threads() {
    let mut sample = Sample::new();
    let mut rng = Rng(3);
    for (turn, dtype) in [Dtype::F32, Dtype::F64, Dtype::C64, Dtype::C128].into_iter().enumerate() {
        // Either order of the operands, in turn.
        for (number, dims) in [
            [1, 257, 300, 1000],
            [1, 1000, 3, 700],
            [1, 17, 5, 20_000],
            [3, 8, 8, 9000],
            [1, 8, 20_000, 8],
            [1, 5000, 4, 200],
            [1, 3000, 2, 30],
            [1, 20_000, 1, 7],
            [1, 1, 700, 900],
            [1, 1, 8, 70_000],
            [7, 64, 64, 64],
            [2, 300, 200, 100],
        ]
        .into_iter()
        .enumerate()
        {
            if sample.skips() {
                continue;
            }
            let orders = [[&[3, 1, 0], &[2, 3, 0], &[2, 1, 0]], [&[1, 3, 0], &[3, 2, 0], &[2, 1, 0]]];
            let orders = orders[(number + turn) % 2];
            let program = Program::single(Op::Multiply, dtype).unwrap();
            let mut inputs: Vec<Array> = [0, 1]
                .iter()
                .map(|&k| {
                    let order: &[usize] = orders[k];
                    let len = order.iter().map(|&d| dims[d]).product::<usize>();
                    let mut a = Array::new(&[len], vec![1], dtype, &mut rng);
                    for i in 0..len {
                        let x = [0; 2].map(|_| rng.fraction() - 0.4);
                        let v = match dtype {
                            Dtype::C64 => Scalar::C64(Complex::new(x[0] as f32, x[1] as f32)),
                            Dtype::C128 => Scalar::C128(Complex::new(x[0], x[1])),
                            d => Scalar::F64(x[0]).cast(d),
                        };
                        let at = a.byte(&[i]);
                        a.memory.write(at, v);
                    }
                    a.strides = strides(&dims, order, 0);
                    a
                })
                .collect();
            let mut out = [Array::new(&dims, strides(&dims, orders[2], 0), dtype, &mut rng)];
            let family = Family::Reduce { fold: Fold::Op(Op::Add), reduced: 1, finish: None, stored: None };
            let launch = plan(program, family, &dims, &mut inputs, &mut out);
            let kept = indices(&[dims[0], dims[1], dims[2], 1]);
            let bits = |threads| {
                execute(&launch, Isa::best(), threads, 1 << 25);
                kept.iter().map(|i| canonical(out[0].get(i))).collect::<Vec<_>>()
            };
            let first = bits(1);
            for threads in [2, 3, 4] {
                assert!(bits(threads) == first, "{dtype} {dims:?} with {threads}");
            }
        }
    }
}

/// Two summed dimensions that lie alike in both factors are one, whatever their order in the plan.
#[test]
fn permuted_summed_dimensions_are_one() {
    let mut rng = Rng(4);
    let dims = [30, 40, 5, 7];
    let program = Program::single(Op::Multiply, Dtype::F32).unwrap();
    let mut inputs = [vec![35, 0, 1, 5], vec![0, 35, 1, 5]]
        .map(|strides| Array::new(&dims, strides, Dtype::F32, &mut rng));
    let mut out = [Array::new(&dims, vec![40, 1, 0, 0], Dtype::F32, &mut rng)];
    let family = Family::Reduce { fold: Fold::Op(Op::Add), reduced: 2, finish: None, stored: None };
    let launch = plan(program, family, &dims, &mut inputs, &mut out);
    assert!(is_contraction(&launch, Isa::best()));
}
