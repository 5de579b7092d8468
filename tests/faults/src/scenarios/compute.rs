//! Maps, reductions, scans and products.

use stridewise::{
    Complex, Contracted, Dtype, Op, Order, Reduction, Result, Scalar, Scan, UsmArray, UsmKind, elementwise,
    f16, s,
};

use super::{Scenario, scenario};
use crate::bench::Bench;
use crate::faults::Fault;

/// Elements that several threads share.
const MANY: usize = 600_000;

pub(crate) const LIST: &[Scenario] = &[
    scenario("a few elements", few),
    scenario("a fused map", fused),
    scenario("a map of several threads", large_map),
    scenario("a map of rows and columns", broadcast),
    scenario("a map of a transposed matrix", transposed),
    scenario("a map of more dimensions than a plan has", many_dimensions),
    scenario("a map of every second element", apart),
    scenario("functions of 16-bit floats", halves),
    scenario("complex numbers", complex),
    scenario("conversions", conversions),
    scenario("a write in place", in_place),
    scenario("a write over what is read", overlapping),
    scenario("reductions to a value", reductions),
    scenario("reductions over an axis", reductions_over_axes),
    scenario("reductions to places", places),
    scenario("variances", variances),
    scenario("rows that go through two passes", stages),
    scenario("a scan of a long row", long_scan),
    scenario("scans of rows and of columns", scans),
    scenario("differences", differences),
    scenario("matrix products of integers", integer_products),
    // The crate of the matrix kernels brings parts of the matrices together in memory that it takes to be granted, as much as
    // caches hold.
    scenario("matrix products of floats", float_products).sparing(&[Fault::Allocator]),
    scenario("products of vectors and tensors", other_products).sparing(&[Fault::Allocator]),
];

fn small(i: usize) -> f32 {
    (i % 101) as f32
}

fn few(bench: &Bench) -> Result<()> {
    let a = bench.array(&[3, 4], small)?;
    let b = a.binary(Op::Multiply, &a)?.binary(Op::Add, Scalar::F32(1.0))?;
    bench.expect(&b, |i| small(i) * small(i) + 1.0)?;
    let sum: Option<f32> = b.reduce(Reduction::Sum, None, false)?.item()?.get();
    bench.check(sum == Some((0..12).map(|i| small(i) * small(i) + 1.0).sum()), "the sum of a few elements");
    Ok(())
}

fn fused(bench: &Bench) -> Result<()> {
    let a = bench.array(&[50_000], small)?;
    let b = bench.array(&[50_000], |i| small(i + 7))?;
    let sum = a.binary(Op::Multiply, &b)?.binary(Op::Add, &a)?;
    let more = sum.binary(Op::Subtract, Scalar::F32(2.0))?;
    // One that is held is written by the same pass.
    bench.expect(&more, |i| small(i) * small(i + 7) + small(i) - 2.0)?;
    bench.expect(&sum, |i| small(i) * small(i + 7) + small(i))
}

fn large_map(bench: &Bench) -> Result<()> {
    let a = bench.array(&[MANY], |i| (i % 1001) as f64)?;
    let b = a.unary(Op::Square)?.unary(Op::Sqrt)?;
    bench.expect(&b, |i| (i % 1001) as f64)
}

fn broadcast(bench: &Bench) -> Result<()> {
    let (rows, columns) = (bench.array(&[400, 1], small)?, bench.array(&[500], |i| small(3 * i))?);
    let sum = rows.binary(Op::Add, &columns)?;
    bench.expect(&sum, |i| small(i / 500) + small(3 * (i % 500)))
}

fn transposed(bench: &Bench) -> Result<()> {
    let a = bench.array(&[300, 400], small)?;
    let sum = a.t().binary(Op::Add, &bench.array(&[400, 300], small)?)?;
    bench.expect(&sum, |i| small(i % 300 * 400 + i / 300) + small(i))
}

fn many_dimensions(bench: &Bench) -> Result<()> {
    // Every second element along each axis: none of them merge.
    let a = bench.array(&[4; 9], |i| i as i32)?;
    let part = a.slice(&[s![..;2][0]; 9])?;
    let sum = part.binary(Op::Add, Scalar::I32(1))?.copy_in(Order::C)?;
    let place =
        |i: usize| (0..9).map(|axis| (i >> (8 - axis) & 1) * 2 * 4_usize.pow(8 - axis as u32)).sum::<usize>();
    bench.expect(&sum, |i| place(i) as i32 + 1)
}

fn apart(bench: &Bench) -> Result<()> {
    let a = bench.array(&[2 * MANY], small)?;
    let (evens, reversed) = (a.slice(s![..;2])?, a.slice(s![..;-1])?.slice(s![..;2])?);
    let sum = evens.binary(Op::Add, &reversed)?;
    bench.expect(&sum, |i| small(2 * i) + small(2 * MANY - 1 - 2 * i))?;
    let total: Option<f32> = evens.slice(s![..1000])?.reduce(Reduction::Sum, None, false)?.item()?.get();
    bench.check(total == Some((0..1000).map(|i| small(2 * i)).sum()), "the sum of every second element");
    Ok(())
}

fn halves(bench: &Bench) -> Result<()> {
    let a = bench.array(&[100_000], |i| f16::from_f32((i % 64) as f32))?;
    bench.expect(&a.unary(Op::Square)?.unary(Op::Sqrt)?, |i| f16::from_f32((i % 64) as f32))?;
    let most = a.reduce(Reduction::Max, None, false)?.item()?;
    bench.check(most == Scalar::F16(f16::from_f32(63.0)), "the largest of halves");
    Ok(())
}

fn complex(bench: &Bench) -> Result<()> {
    let a = bench.array(&[40_000], |i| Complex::new(small(i), small(i + 1)))?;
    bench.expect(&a.binary(Op::Add, &a)?.real()?, |i| 2.0 * small(i))?;
    bench.expect(&a.conj()?.imag()?, |i| -small(i + 1))?;
    bench.expect(&a.real_view()?.copy_in(Order::C)?, small)
}

fn conversions(bench: &Bench) -> Result<()> {
    let a = bench.array(&[100_000], |i| (i % 200) as i16)?;
    bench.expect(&a.astype(Dtype::F64)?, |i| (i % 200) as f64)?;
    bench.expect(&a.astype(Dtype::U8)?, |i| (i % 200) as u8)?;
    bench.expect(&a.astype(Dtype::Bool)?, |i| !i.is_multiple_of(200))
}

fn in_place(bench: &Bench) -> Result<()> {
    let a = bench.array(&[MANY], small)?;
    let recorded = a.binary(Op::Add, Scalar::F32(1.0))?;
    a.write_elementwise(Op::Multiply, &[(&a).into(), Scalar::F32(2.0).into()], &[])?;
    bench.expect(&a, |i| 2.0 * small(i))?;
    // What was recorded before has the elements as they were.
    bench.expect(&recorded, |i| small(i) + 1.0)
}

fn overlapping(bench: &Bench) -> Result<()> {
    let a = bench.array(&[100_001], small)?;
    a.slice(s![1..])?.assign(&a.slice(s![..-1])?)?;
    bench.expect(&a, |i| small(i.saturating_sub(1)))
}

fn reductions(bench: &Bench) -> Result<()> {
    let a = bench.array(&[MANY], |i| (i % 1000) as i64)?;
    let value = |reduction| -> Result<Option<i64>> { Ok(a.reduce(reduction, None, false)?.item()?.get()) };
    let sum = (0..MANY).map(|i| (i % 1000) as i64).sum::<i64>();
    bench.check(value(Reduction::Sum)? == Some(sum), "the sum");
    bench.check(value(Reduction::Min)? == Some(0) && value(Reduction::Max)? == Some(999), "the range");
    // Of what is computed on the way, too.
    let doubled = a.binary(Op::Add, &a)?.reduce(Reduction::Sum, None, false)?.item()?.get();
    bench.check(doubled == Some(2 * sum), "the sum of sums");
    let every = a.astype(Dtype::Bool)?.reduce(Reduction::All, None, false)?.item()?;
    bench.check(every == Scalar::Bool(false), "whether all are true");
    Ok(())
}

fn reductions_over_axes(bench: &Bench) -> Result<()> {
    let (rows, columns) = (600, 700);
    let a = bench.array(&[rows, columns], |i| (i % 50) as f64)?;
    let sum =
        |place: &dyn Fn(usize) -> usize, len: usize| (0..len).map(|i| (place(i) % 50) as f64).sum::<f64>();
    let down = a.reduce(Reduction::Sum, Some(&[0]), false)?;
    bench.expect(&down, |column| sum(&|row| row * columns + column, rows))?;
    let along = a.reduce(Reduction::Sum, Some(&[1]), false)?;
    bench.expect(&along, |row| sum(&|column| row * columns + column, columns))?;
    bench.expect(&a.reduce(Reduction::Mean, Some(&[1]), true)?, |row| {
        sum(&|column| row * columns + column, columns) / columns as f64
    })
}

fn places(bench: &Bench) -> Result<()> {
    let a = bench.array(&[300, 500], |i| ((i * 37) % 1009) as f32)?;
    let largest = |row: usize| {
        let value = |column: &usize| ((row * 500 + column) * 37) % 1009;
        (0..500).max_by_key(|column| (value(column), 500 - column)).unwrap() as i64
    };
    bench.expect(&a.reduce(Reduction::ArgMax, Some(&[1]), false)?, largest)?;
    let least: Option<i64> = a.reduce(Reduction::ArgMin, None, false)?.item()?.get();
    bench.check(least == Some(0), "the place of the least");
    Ok(())
}

fn variances(bench: &Bench) -> Result<()> {
    let a = bench.array(&[500, 1000], |i| (i % 2) as f64)?;
    bench.expect(&a.var(Some(&[1]), false, 0.0)?, |_| 0.25)?;
    let deviation: Option<f64> = a.std(None, false, 0.0)?.item()?.get();
    bench.check(deviation == Some(0.5), "the deviation of all");
    Ok(())
}

fn stages(bench: &Bench) -> Result<()> {
    // Large enough for reductions to be recorded, of rows that a cache has.
    let a = bench.array(&[2000, 400], |i| (i % 4) as f32)?;
    let mean = a.reduce(Reduction::Mean, Some(&[1]), true)?;
    bench.expect(&a.binary(Op::Subtract, &mean)?, |i| (i % 4) as f32 - 1.5)
}

fn long_scan(bench: &Bench) -> Result<()> {
    let a = bench.array(&[MANY], |i| (i % 3) as i64)?;
    let before = |i: usize| (0..3).map(|r| (r * ((i + 3 - r) / 3)) as i64).sum::<i64>();
    bench.expect(&a.cumulative(Scan::Sum, Some(0), None, false)?, before)
}

fn scans(bench: &Bench) -> Result<()> {
    let a = bench.array(&[100, 3000], |_| 1.0_f32)?;
    bench.expect(&a.cumulative(Scan::Sum, Some(1), None, false)?, |i| (i % 3000 + 1) as f32)?;
    bench.expect(&a.cumulative(Scan::Sum, Some(0), None, false)?, |i| (i / 3000 + 1) as f32)?;
    bench.expect(&a.cumulative(Scan::Prod, Some(1), None, false)?, |_| 1.0_f32)
}

fn differences(bench: &Bench) -> Result<()> {
    let a = bench.array(&[20, 5000], |i| (i % 5000 * (i % 5000)) as i64)?;
    bench.expect(&a.diff(1, 2, None, None)?, |_| 2_i64)
}

fn product_of(n: usize, number: impl Fn(usize) -> i64) -> impl Fn(usize) -> i64 {
    move |i| (0..n).map(|k| number(i / n * n + k) * number(k * n + i % n)).sum()
}

fn integer_products(bench: &Bench) -> Result<()> {
    let number = |i: usize| (i % 7) as i64;
    for n in [5, 120] {
        let a = bench.array(&[n, n], number)?;
        bench.expect(&a.matmul(&a)?, product_of(n, number))?;
    }
    Ok(())
}

fn float_products(bench: &Bench) -> Result<()> {
    let number = |i: usize| (i % 7) as i64;
    for n in [5, 120] {
        let a = bench.array(&[n, n], |i| number(i) as f32)?;
        bench.expect(&a.matmul(&a)?, |i| product_of(n, number)(i) as f32)?;
        bench.expect(&a.t().matmul(&a.t())?, |i| product_of(n, number)(i % n * n + i / n) as f32)?;
    }
    Ok(())
}

fn other_products(bench: &Bench) -> Result<()> {
    let a = bench.array(&[40_000], |i| (i % 5) as f64)?;
    let dot = a.vecdot(&a, 0)?.item()?;
    bench.check(dot == Scalar::F64(40_000.0 / 5.0 * 30.0), "the product of a vector with itself");
    let (x, y) = (bench.array(&[200], |i| i as f32)?, bench.array(&[300], |i| i as f32)?);
    bench.expect(&x.outer(&y)?, |i| (i / 300 * (i % 300)) as f32)?;
    let tensor = bench.array(&[6, 5, 40], |_| 1.0_f32)?;
    bench.expect(&tensor.tensordot(&tensor, Contracted::Count(3))?, |_| 1200.0_f32)?;
    let eye = UsmArray::eye(&bench.queue, 50, 50, 0, Dtype::F32, UsmKind::Device)?;
    bench.check(eye.trace(0, None)?.item()? == Scalar::F32(50.0), "the trace");
    bench.expect(&elementwise(Op::Hypot, &[(&x).into(), (&x).into()])?.slice(s![..1])?, |_| 0.0_f32)
}
