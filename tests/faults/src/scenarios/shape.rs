//! Arrays that are made, joined, taken apart, repeated and moved.

use stridewise::backend::UsmSupport;
use stridewise::{
    Dtype, Generator, Indexing, Op, Order, Reduction, Result, Scalar, UsmArray, UsmKind, broadcast_arrays,
    concat, meshgrid, s, stack,
};

use super::{Scenario, scenario};
use crate::allocator::spared;
use crate::bench::Bench;

pub(crate) const LIST: &[Scenario] = &[
    scenario("values, ranges and diagonals", creation),
    scenario("random numbers", random),
    scenario("a random order", permutation),
    scenario("a join", join),
    scenario("a join of dtypes and of recorded work", mixed_join),
    scenario("a join of many", join_of_many),
    scenario("a stack", stacked),
    scenario("an array taken apart", unstack),
    scenario("copies in other orders", orders),
    scenario("repeated and tiled elements", repeated),
    scenario("elements repeated as often as counts say", repeated_each),
    scenario("rolled elements", rolled),
    scenario("views that repeat", broadcast),
    scenario("a copy to another kind of memory", kinds),
];

fn creation(bench: &Bench) -> Result<()> {
    let (queue, kind) = (&bench.queue, UsmKind::Device);
    bench.expect(&UsmArray::full(queue, &[40_000], Scalar::I32(7), kind)?, |_| 7_i32)?;
    let range = UsmArray::arange(queue, 0, 90_000, 3, Dtype::I64, kind)?;
    bench.expect(&range, |i| 3 * i as i64)?;
    let line = UsmArray::linspace(queue, 0.0, 30_000.0, 30_001, true, Dtype::F64, kind)?;
    bench.expect(&line, |i| i as f64)?;
    let eye = UsmArray::eye(queue, 150, 150, 1, Dtype::F32, kind)?;
    bench.expect(&eye, |i| f32::from(u8::from(i % 150 == i / 150 + 1)))?;
    let lower = UsmArray::ones(queue, &[150, 150], Dtype::I32, kind)?.tril(0)?;
    bench.expect(&lower, |i| i32::from(i % 150 <= i / 150))
}

fn random(bench: &Bench) -> Result<()> {
    let mut one = Generator::new(7).on(&bench.queue);
    let numbers = one.uniform_as([50_000], Dtype::F32, 0.0, 1.0)?.to_vec::<f32>()?;
    bench.check(numbers.iter().all(|x| (0.0..1.0).contains(x)), "numbers from 0 to 1");
    let dice = one.integers_as([50_000], Dtype::I32, 1, 7)?.to_vec::<i32>()?;
    bench.check(dice.iter().all(|x| (1..7).contains(x)), "dice");
    let normal = one.normal_as([50_000], Dtype::F64, 0.0, 1.0)?.to_vec::<f64>()?;
    let mean = normal.iter().sum::<f64>() / normal.len() as f64;
    bench.check(mean.abs() < 0.05, "numbers around 0");
    Ok(())
}

fn permutation(bench: &Bench) -> Result<()> {
    let mut generator = Generator::new(3).on(&bench.queue);
    let mut order = generator.permutation(20_000)?.to_vec::<i64>()?;
    order.sort_unstable();
    bench.agree(&order, |i| i as i64);
    let shuffled = generator.shuffle(&bench.array(&[100, 100], |i| (i / 100) as i64)?, 0)?;
    let sum: Option<i64> = shuffled.reduce(Reduction::Sum, None, false)?.item()?.get();
    bench.check(sum == Some(100 * 99 * 50), "the sum of shuffled rows");
    Ok(())
}

fn join(bench: &Bench) -> Result<()> {
    let (a, b) = (bench.array(&[200, 300], |i| i as f32)?, bench.array(&[100, 300], |i| -(i as f32))?);
    bench
        .expect(&concat(&[&a, &b], Some(0))?, |i| if i < 60_000 { i as f32 } else { 60_000.0 - i as f32 })?;
    bench.expect(&concat(&[&a, &a], Some(1))?, |i| (i / 600 * 300 + i % 300) as f32)?;
    // A few elements are joined at once.
    let few = bench.array(&[3], |i| i as f32)?;
    bench.expect(&concat(&[&few, &few], None)?, |i| (i % 3) as f32)
}

fn mixed_join(bench: &Bench) -> Result<()> {
    let a = bench.array(&[40_000], |i| i as i32)?;
    let b = bench.array(&[40_000], |i| i as f64)?.binary(Op::Multiply, Scalar::F64(2.0))?;
    let joined = concat(&[&a, &b], Some(0))?;
    bench.expect(&joined, |i| if i < 40_000 { i as f64 } else { 2.0 * (i - 40_000) as f64 })
}

fn join_of_many(bench: &Bench) -> Result<()> {
    let row = bench.array(&[50], |i| i as i32)?;
    let rows: Vec<UsmArray> = spared(|| vec![row; 1500]);
    let all: Vec<&UsmArray> = spared(|| rows.iter().collect());
    bench.expect(&concat(&all, Some(0))?, |i| (i % 50) as i32)?;
    bench.expect(&stack(&all, 0)?, |i| (i % 50) as i32)?;
    bench.expect(&concat(&all, None)?, |i| (i % 50) as i32)
}

fn stacked(bench: &Bench) -> Result<()> {
    let (a, b) = (bench.array(&[30_000], |i| i as f32)?, bench.array(&[30_000], |i| -(i as f32))?);
    bench.expect(&stack(&[&a, &b], 1)?, |i| if i % 2 == 0 { (i / 2) as f32 } else { -((i / 2) as f32) })
}

fn unstack(bench: &Bench) -> Result<()> {
    let parts = bench.array(&[1000, 20], |i| i as i64)?.unstack(0)?;
    bench.check(parts.len() == 1000, "as many parts as rows");
    bench.expect(&parts[7].binary(Op::Add, &parts[8])?, |i| (300 + 2 * i) as i64)
}

fn orders(bench: &Bench) -> Result<()> {
    let a = bench.array(&[250, 350], |i| i as f32)?;
    let turned = a.copy_in(Order::F)?;
    bench.check(turned.flags().f_contiguous, "an order by columns");
    bench.expect(&turned.t(), |i| (i % 250 * 350 + i / 250) as f32)?;
    bench.expect(&a.flip(Some(&[0]))?.copy()?, |i| ((249 - i / 350) * 350 + i % 350) as f32)?;
    bench.expect(&a.t().reshape(&[-1])?, |i| (i % 250 * 350 + i / 250) as f32)
}

fn repeated(bench: &Bench) -> Result<()> {
    let a = bench.array(&[100, 200], |i| i as i32)?;
    bench.expect(&a.repeat(3, Some(1))?, |i| (i / 3) as i32)?;
    bench.expect(&a.tile(&[2, 2])?, |i| (i / 400 % 100 * 200 + i % 200) as i32)
}

fn repeated_each(bench: &Bench) -> Result<()> {
    let a = bench.array(&[400], |i| i as f32)?;
    let counts = bench.array(&[400], |i| (i % 2 * 100) as i64)?;
    bench.expect(&a.repeat_each(&counts, Some(0))?, |i| (2 * (i / 100) + 1) as f32)
}

fn rolled(bench: &Bench) -> Result<()> {
    let a = bench.array(&[200, 300], |i| i as f32)?;
    bench.expect(&a.roll(&[5], None)?, |i| ((i + 60_000 - 5) % 60_000) as f32)?;
    bench.expect(&a.roll(&[1, 2], Some(&[0, 1]))?, |i| {
        ((i / 300 + 199) % 200 * 300 + (i % 300 + 298) % 300) as f32
    })
}

fn broadcast(bench: &Bench) -> Result<()> {
    let (x, y) = (bench.array(&[200], |i| i as f32)?, bench.array(&[150, 1], |i| i as f32)?);
    let both = broadcast_arrays(&[&x, &y])?;
    bench.expect(&both[0].binary(Op::Add, &both[1])?, |i| (i % 200 + i / 200) as f32)?;
    let grid = meshgrid(&[&x, &y.reshape(&[-1])?], Indexing::Xy)?;
    bench.expect(&grid[1].copy()?, |i| (i / 200) as f32)?;
    bench.expect(&x.slice(s![..;-1])?.expand_dims(&[0])?.broadcast_to(&[9, 200])?.copy()?, |i| {
        (199 - i % 200) as f32
    })
}

fn kinds(bench: &Bench) -> Result<()> {
    let a = bench.array(&[50_000], |i| i as f32)?;
    for kind in [UsmKind::Shared, UsmKind::Host] {
        if bench.device.info().usm(kind) != UsmSupport::Absent {
            bench.expect(&a.to_kind(kind)?.to_kind(UsmKind::Device)?, |i| i as f32)?;
        }
    }
    Ok(())
}
