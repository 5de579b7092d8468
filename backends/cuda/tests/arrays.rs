//! Arrays and kernels of users on a card, where the machine has one, against plain Rust: something of every family. The matrix has all
//! of it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use stridewise_core::kernel::{
    AtomicOp, Collective, Coordinate, KernelBuilder, Level, MemoryOrder, MemoryScope, NdRange,
};
use stridewise_core::{Array, Complex, Device, Dtype, Error, Generator, Op, Result, Side, bf16, f16};

stridewise_core::register_driver!(stridewise_cuda::driver);

const N: usize = 300_007;
/// Rows and columns of matrices.
const ROWS: usize = 500;
const COLUMNS: usize = 600;

/// Small whole numbers, whose sums are exact.
fn numbers(seed: u64) -> Vec<i32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % 41) as i32 - 20
    };
    (0..N).map(|_| next()).collect()
}

fn floats(numbers: &[i32]) -> Vec<f32> {
    numbers.iter().map(|&x| x as f32).collect()
}

fn matrix(a: &[i32]) -> Result<Array<f32>> {
    Array::try_from(floats(&a[..ROWS * COLUMNS]))?.reshape([ROWS, COLUMNS])
}

fn maps(a: &[i32], b: &[i32]) -> Result<()> {
    let (x, y) = (Array::try_from(floats(a))?, Array::try_from(floats(b))?);
    let expected: Vec<f32> = a.iter().zip(b).map(|(&a, &b)| ((a + b) * a) as f32).collect();
    assert_eq!(((&x + &y) * &x).to_vec()?, expected, "a fused expression");
    for (got, &a) in x.exp().to_vec()?.into_iter().zip(a) {
        let exact = f64::from(a).exp();
        assert!((f64::from(got) - exact).abs() <= 4.0 * f64::from(f32::EPSILON) * exact, "exp({a}) = {got}");
    }
    let halves = x.astype::<f16>();
    let doubled = (&halves + &halves).to_vec()?;
    assert!(doubled.iter().zip(a).all(|(got, &a)| got.to_f32() == 2.0 * a as f32), "float16");
    let brains = x.astype::<bf16>().exp().to_vec()?;
    assert!(brains.iter().zip(a).all(|(got, &a)| *got == bf16::from_f64(f64::from(a).exp())), "bfloat16");
    let turned = (matrix(a)?.t() + 1.0_f32).to_vec()?;
    let at = |i: usize| a[i % ROWS * COLUMNS + i / ROWS] as f32 + 1.0;
    assert!((0..ROWS * COLUMNS).all(|i| turned[i] == at(i)), "a transposed operand");
    Ok(())
}

fn folds(a: &[i32]) -> Result<()> {
    let x = Array::try_from(floats(a))?;
    let most = a.iter().copied().max().unwrap_or_default();
    assert_eq!(x.sum()?, a.iter().sum::<i32>() as f32, "sum");
    assert_eq!(x.astype::<f64>().max()?, f64::from(most), "max");
    assert_eq!(x.argmax()?, a.iter().position(|&x| x == most).unwrap() as i64, "argmax");
    let rows = matrix(a)?;
    for (axis, len, along) in [(0_isize, COLUMNS, ROWS), (1, ROWS, COLUMNS)] {
        let element = |i: usize, k: usize| if axis == 0 { a[k * COLUMNS + i] } else { a[i * COLUMNS + k] };
        let expected = (0..len).map(|i| (0..along).map(|k| element(i, k)).sum::<i32>() as f32);
        let got = rows.sum_axis(axis)?.to_vec()?;
        assert_eq!(got, expected.collect::<Vec<_>>(), "sums over axis {axis}");
    }
    let mut so_far = 0;
    let mut add = |&x: &i32| {
        so_far += i64::from(x);
        so_far
    };
    let running: Vec<i64> = a.iter().map(&mut add).collect();
    let whole = Array::try_from(a.to_vec())?.astype::<i64>();
    assert_eq!(whole.cumulative_sum(0)?.to_vec()?, running, "running sums");
    // Three stages that are one kernel.
    let powers = (&rows - &rows.max_axis(1)?.reshape([ROWS, 1])?).exp();
    let soft = (&powers / &powers.sum_axis(1)?.reshape([ROWS, 1])?).to_vec()?;
    for (row, got) in soft.chunks(COLUMNS).enumerate() {
        let of = &a[row * COLUMNS..][..COLUMNS];
        let most = of.iter().copied().max().unwrap_or_default();
        let all: f64 = of.iter().map(|&x| f64::from(x - most).exp()).sum();
        for (got, &x) in got.iter().zip(of) {
            let exact = f64::from(x - most).exp() / all;
            assert!((f64::from(*got) - exact).abs() <= 2e-6 * exact, "softmax {got} {exact}");
        }
    }
    Ok(())
}

fn products(a: &[i32]) -> Result<()> {
    const M: usize = 200;
    let x = Array::try_from(floats(&a[..M * M]))?.reshape([M, M])?;
    let sum = |i: usize| (0..M).map(|k| a[i / M * M + k] * a[k * M + i % M]).sum::<i32>();
    let expected: Vec<i32> = (0..M * M).map(sum).collect();
    assert_eq!(x.matmul(&x).to_vec()?, floats(&expected), "a product of matrices");
    let doubles = x.astype::<f64>();
    let exact: Vec<f64> = expected.iter().map(|&x| f64::from(x)).collect();
    assert_eq!(doubles.matmul(&doubles).to_vec()?, exact, "a product of float64");
    // Small numbers, so that products of 16 bits are exact, too.
    let small = x.astype::<i32>().remainder(5).astype::<f32>();
    let of = small.astype::<i32>().to_vec()?;
    let sum = |i: usize| (0..M).map(|k| of[i / M * M + k] * of[i % M * M + k]).sum::<i32>();
    let expected: Vec<i32> = (0..M * M).map(sum).collect();
    let turned: Vec<f64> = expected.iter().map(|&x| f64::from(x)).collect();
    assert_eq!(small.matmul(&small.t()).to_vec()?, floats(&expected), "a transposed factor");
    let halves = small.astype::<f16>();
    let got = halves.matmul(&halves.t()).astype::<f32>().to_vec()?;
    assert!(got.iter().zip(&turned).all(|(got, x)| *got == f16::from_f64(*x).to_f32()), "float16");
    let brains = small.astype::<bf16>();
    let got = brains.matmul(&brains.t()).astype::<f32>().to_vec()?;
    assert!(got.iter().zip(&turned).all(|(got, x)| *got == bf16::from_f64(*x).to_f32()), "bfloat16");
    let complex = small.astype::<Complex<f32>>();
    let got = complex.matmul(&complex.t()).to_vec()?;
    assert!(got.iter().zip(&turned).all(|(got, x)| f64::from(got.re) == *x && got.im == 0.0), "complex64");
    let complex = small.astype::<Complex<f64>>();
    let got = complex.matmul(&complex.t()).to_vec()?;
    assert!(got.iter().zip(&turned).all(|(got, x)| got.re == *x && got.im == 0.0), "complex128");
    let many = small.reshape([5, 40, M])?;
    let got = many.matmul(&small.t()).to_vec()?;
    assert_eq!(got, floats(&expected), "a stack of matrices");
    Ok(())
}

fn moves(a: &[i32], b: &[i32]) -> Result<()> {
    let x = Array::try_from(a.to_vec())?;
    let mut sorted = a.to_vec();
    sorted.sort_unstable();
    assert_eq!(x.sort(0, false)?.to_vec()?, sorted, "a long sort");
    let got = matrix(a)?.argsort(1, true)?.to_vec()?;
    for (row, got) in got.chunks(COLUMNS).enumerate() {
        let of = &a[row * COLUMNS..][..COLUMNS];
        let mut order: Vec<i64> = (0..COLUMNS as i64).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(of[i as usize]));
        assert_eq!(got, order, "places of row {row}");
    }
    sorted.dedup();
    assert_eq!(x.unique_values()?.to_vec()?, sorted, "unique values");
    let found = Array::try_from(sorted.clone())?.searchsorted(&x, Side::Left)?.to_vec()?;
    assert!(found.iter().zip(a).all(|(&i, a)| sorted[i as usize] == *a), "places in a table");
    let places: Vec<i64> = b.iter().map(|&b| i64::from(b + 20)).collect();
    let indices = x.nonzero()?.remove(0).to_vec()?;
    let expected: Vec<i64> = (0..N).filter(|&i| a[i] != 0).map(|i| i as i64).collect();
    assert_eq!(indices, expected, "nonzero");
    let named = Array::try_from(places.clone())?;
    let taken = x.index(&[(&named).into()])?.to_vec()?;
    assert!(taken.iter().zip(&places).all(|(&got, &place)| got == a[place as usize]), "elements at places");
    let selected: Vec<i32> = (0..N).filter(|&i| a[i] != 0).map(|i| b[i]).collect();
    let mask = x.astype::<bool>();
    assert_eq!(Array::try_from(b.to_vec())?.compress(&mask, None)?.to_vec()?, selected, "a mask");
    let both = Array::concat(&[&x, &x, &x], 0)?.to_vec()?;
    assert!(both.chunks(N).all(|part| part == a), "concat");
    let drawn = Generator::new(5).uniform::<f64>(N, 0.0, 1.0)?.to_vec()?;
    let mean = drawn.iter().sum::<f64>() / N as f64;
    assert!((mean - 0.5).abs() < 0.01, "random numbers: {mean}");
    Ok(())
}

/// Atomic sums, collectives, an index space that the device does not count along its axes, and an assertion.
fn kernels(a: &[i32]) -> Result<()> {
    let mut k = KernelBuilder::new("sums", 1)?;
    let from = k.global("from", Dtype::F64, 1, false)?;
    let bins = k.global("bins", Dtype::F64, 1, true)?;
    let all = k.global("all", Dtype::F64, 1, true)?;
    let i = k.index(Level::Global, Coordinate::Id(0))?;
    let x = k.load(from, [i])?;
    let bin = k.binary(Op::Remainder, i, 7)?;
    k.atomic(AtomicOp::Add, bins, [bin], Some(x.into()), (MemoryOrder::Relaxed, MemoryScope::Device))?;
    let sum = k.collective(Collective::InclusiveScan(Op::Add), x)?;
    k.store(all, [i], sum)?;
    let kernel = k.finish()?;
    let from = Array::try_from(a.iter().map(|&x| f64::from(x)).collect::<Vec<_>>())?;
    let (bins, all) = (Array::<f64>::zeros(7)?, Array::<f64>::zeros(N)?);
    let range = NdRange::in_groups(&[N], &[512]).partial();
    kernel.launch(from.queue(), range, &[(&from).into(), (&bins).into(), (&all).into()], &[])?;
    let mut expected = [0.0; 7];
    a.iter().enumerate().for_each(|(i, &x)| expected[i % 7] += f64::from(x));
    assert_eq!(bins.to_vec()?, expected, "atomic sums");
    for (group, got) in all.to_vec()?.chunks(512).enumerate() {
        let mut sum = 0.0;
        for (got, &x) in got.iter().zip(&a[group * 512..]) {
            sum += f64::from(x);
            assert_eq!(*got, sum, "a scan of group {group}");
        }
    }

    for (global, group) in [([2, 100_000, 3], [1, 1, 3]), ([256, 2, 4], [128, 2, 1])] {
        let mut k = KernelBuilder::new("places", 3)?;
        let to = k.global("to", Dtype::I64, 1, true)?;
        let i = k.index(Level::Global, Coordinate::LinearId)?;
        let local = k.index(Level::Local, Coordinate::Id(0))?;
        let value = k.binary(Op::Multiply, i, 1000)?;
        let value = k.binary(Op::Add, value, local)?;
        k.store(to, [i], value)?;
        let kernel = k.finish()?;
        let len: usize = global.iter().product();
        let to = Array::<i64>::zeros(len)?;
        kernel.launch(to.queue(), NdRange::in_groups(&global, &group), &[(&to).into()], &[])?;
        let rest = global[1] * global[2];
        let place = |i: usize| (i * 1000 + i / rest % group[0]) as i64;
        let right = to.to_vec()?.iter().enumerate().all(|(i, &got)| got == place(i));
        assert!(right, "{global:?} in groups of {group:?}");
    }

    let mut k = KernelBuilder::new("asserts", 1)?;
    let i = k.index(Level::Global, Coordinate::Id(0))?;
    let less = k.binary(Op::Less, i, 1234)?;
    k.assert(less, "too many")?;
    let event = k.finish()?.launch(from.queue(), NdRange::in_groups(&[1235], &[5]), &[], &[])?;
    let error = event.wait().unwrap_err();
    assert!(matches!(error, Error::Kernel(_)) && error.to_string().contains("1234"), "{error}");
    Ok(())
}

/// A part of the test, which fails by an error or a panic.
type Part<'a> = &'a dyn Fn() -> Result<()>;

#[test]
fn something_of_every_family_on_a_card() {
    if let Err(error) = Device::select("cuda") {
        eprintln!("skipped: {error}");
        return;
    }
    let (a, b) = (numbers(1), numbers(2));
    let parts: [(&str, Part<'_>); 5] = [
        ("maps", &|| maps(&a, &b)),
        ("folds", &|| folds(&a)),
        ("products", &|| products(&a)),
        ("moves", &|| moves(&a, &b)),
        ("kernels", &|| kernels(&a)),
    ];
    // One that fails hides no other.
    let mut faults = Vec::new();
    for (name, part) in parts {
        match catch_unwind(AssertUnwindSafe(part)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => faults.push(format!("{name}: {error}")),
            Err(_) => faults.push(format!("{name}: see above")),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
