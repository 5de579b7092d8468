//! Sorts, sets, searches, places that indices name, masks.

use stridewise::{Complex, Dtype, Index, IndexMode, Op, Result, Scalar, Side, s, where_};

use super::{Scenario, scenario};
use crate::bench::Bench;

/// Elements of a row that several threads sort.
const MANY: usize = 150_000;

pub(crate) const LIST: &[Scenario] = &[
    scenario("a sort of floats by several threads", large_sort),
    scenario("places in order", argsort),
    scenario("sorts of short rows", short_rows),
    scenario("a sort of bytes and of complex numbers", other_sorts),
    scenario("the largest few", top),
    scenario("unique elements", unique).of_the_host(),
    scenario("elements of a set", isin),
    scenario("searches in a sorted array", search),
    scenario("a gather along an axis", take),
    scenario("a gather by arrays of indices", index),
    scenario("a scatter", scatter),
    scenario("a scatter along an axis", put_along),
    scenario("elements under a mask", masked),
    scenario("a write under a mask", assign_masked).of_the_host(),
    scenario("places of what is not zero", nonzero),
    scenario("a choice", choice),
    scenario("parts that a condition selects", compress),
];

/// Numbers in no order: a permutation of those below a number that is no multiple of 7919.
fn mixed(i: usize, len: usize) -> usize {
    i * 7919 % len
}

fn large_sort(bench: &Bench) -> Result<()> {
    let a = bench.array(&[MANY], |i| mixed(i, MANY) as f32)?;
    bench.expect(&a.sort(0, false)?, |i| i as f32)?;
    bench.expect(&a.sort(0, true)?, |i| (MANY - 1 - i) as f32)
}

fn argsort(bench: &Bench) -> Result<()> {
    let a = bench.array(&[MANY], |i| mixed(i, MANY) as i64)?;
    let found = a.argsort(0, false)?.to_vec::<i64>()?;
    let right = found.iter().enumerate().all(|(i, &place)| mixed(place as usize, MANY) == i);
    bench.check(right, "places in order");
    let few = bench.array(&[5000], |i| mixed(i, 5000) as i16)?;
    bench.expect(&few.take(&few.argsort(0, true)?, None, IndexMode::Check)?, |i| (4999 - i) as i16)
}

fn short_rows(bench: &Bench) -> Result<()> {
    let a = bench.array(&[3000, 40], |i| mixed(i % 40, 40) as f64)?;
    bench.expect(&a.sort(1, false)?, |i| (i % 40) as f64)?;
    // Along the other axis, all are alike.
    bench.expect(&a.sort(0, false)?, |i| mixed(i % 40, 40) as f64)
}

fn other_sorts(bench: &Bench) -> Result<()> {
    let bytes = bench.array(&[60_000], |i| (i % 251) as u8)?;
    let wanted = |i: usize| {
        let mut before = 0;
        (0..251_u8).find(|&byte| {
            before += 60_000 / 251 + usize::from(usize::from(byte) < 60_000 % 251);
            i < before
        })
    };
    let found = bytes.sort(0, false)?.to_vec::<u8>()?;
    let some = [0, 1, 239, 240, 30_000, 59_999];
    bench.check(some.iter().all(|&i| Some(found[i]) == wanted(i)), "bytes in order");
    let len = 4000;
    let number = |i: usize| Complex::new((i / 2) as f64, (i % 2) as f64);
    let numbers = bench.array(&[len], |i| number(mixed(i, len)))?;
    bench.expect(&numbers.sort(0, false)?, number)
}

fn top(bench: &Bench) -> Result<()> {
    let a = bench.array(&[30_000], |i| mixed(i, 30_000) as f32)?;
    let (values, places) = a.top_k(10, None, true)?;
    bench.expect(&values, |i| (29_999 - i) as f32)?;
    bench.expect(&a.take(&places, None, IndexMode::Check)?, |i| (29_999 - i) as f32)
}

fn unique(bench: &Bench) -> Result<()> {
    let number = |i: usize| (mixed(i, 50_000) % 1000) as i32;
    let all = bench.array(&[50_000], number)?.unique_all()?;
    bench.expect(&all.values, |i| i as i32)?;
    bench.expect(&all.counts, |_| 50_i64)?;
    bench.expect(&all.values.take(&all.inverse_indices, None, IndexMode::Check)?.reshape(&[-1])?, number)
}

fn isin(bench: &Bench) -> Result<()> {
    let a = bench.array(&[40_000], |i| i as i64)?;
    let set = bench.array(&[3000], |i| 2 * i as i64)?;
    bench.expect(&a.isin(&set, false)?, |i| i < 6000 && i.is_multiple_of(2))
}

fn search(bench: &Bench) -> Result<()> {
    let table = bench.array(&[20_000], |i| 2.0 * i as f64)?;
    let values = bench.array(&[30_000], |i| mixed(i, 30_000) as f64)?;
    bench.expect(&table.searchsorted(&values, Side::Left, None)?, |i| mixed(i, 30_000).div_ceil(2) as i64)
}

fn take(bench: &Bench) -> Result<()> {
    let a = bench.array(&[500, 300], |i| i as f32)?;
    let rows = bench.array(&[700], |i| (i * 3 % 500) as i64)?;
    bench
        .expect(&a.take(&rows, Some(0), IndexMode::Check)?, |i| (i / 300 * 3 % 500 * 300 + i % 300) as f32)?;
    let flat = bench.array(&[90_000], |i| mixed(i, 90_000) as i64)?;
    bench.expect(&a.take(&flat, None, IndexMode::Wrap)?, |i| mixed(i, 90_000) as f32)
}

fn index(bench: &Bench) -> Result<()> {
    let a = bench.array(&[300, 400], |i| i as i32)?;
    let (rows, columns) = (bench.array(&[200, 1], |i| i as i64)?, bench.array(&[50], |i| 2 * i as i64)?);
    let items = [Index::from(&rows), Index::from(&columns)];
    bench.expect(&a.index(&items)?, |i| (i / 50 * 400 + i % 50 * 2) as i32)?;
    let places = bench.array(&[300, 7], |i| (i % 7) as i64)?;
    bench.expect(&a.take_along_axis(&places, 1, IndexMode::Check)?, |i| (i / 7 * 400 + i % 7) as i32)
}

fn scatter(bench: &Bench) -> Result<()> {
    let a = bench.array(&[60_000], |_| 0.0_f32)?;
    let places = bench.array(&[60_000], |i| mixed(i, 60_000) as i64)?;
    let values = bench.array(&[60_000], |i| mixed(i, 60_000) as f32)?;
    a.put(&places, &values, None, IndexMode::Check)?;
    bench.expect(&a, |i| i as f32)?;
    let table = bench.array(&[100, 500], |_| 0_i32)?;
    let rows = bench.array(&[100], |i| (99 - i) as i64)?;
    table.assign_index(&[Index::from(&rows)], &bench.array(&[100, 500], |i| i as i32)?)?;
    bench.expect(&table, |i| ((99 - i / 500) * 500 + i % 500) as i32)
}

fn put_along(bench: &Bench) -> Result<()> {
    let a = bench.array(&[200, 300], |_| 0_i64)?;
    let places = bench.array(&[200, 300], |i| (299 - i % 300) as i64)?;
    a.put_along_axis(&places, &bench.array(&[200, 300], |i| (i % 300) as i64)?, 1, IndexMode::Check)?;
    bench.expect(&a, |i| (299 - i % 300) as i64)
}

fn masked(bench: &Bench) -> Result<()> {
    let a = bench.array(&[80_000], |i| i as f32)?;
    let mask = bench.array(&[80_000], |i| i.is_multiple_of(4))?;
    bench.expect(&a.masked(&mask)?, |i| 4.0 * i as f32)?;
    let table = a.reshape(&[400, 200])?;
    let rows = bench.array(&[400], |i| i % 2 == 1)?;
    bench.expect(&table.masked(&rows)?, |i| ((2 * (i / 200) + 1) * 200 + i % 200) as f32)?;
    bench.expect(&a.extract(&mask)?, |i| 4.0 * i as f32)
}

fn assign_masked(bench: &Bench) -> Result<()> {
    let a = bench.array(&[80_000], |i| i as i32)?;
    let mask = bench.array(&[80_000], |i| i.is_multiple_of(2))?;
    a.assign_masked(&mask, &bench.array(&[40_000], |i| -(i as i32))?)?;
    bench.expect(&a, |i| if i.is_multiple_of(2) { -(i as i32 / 2) } else { i as i32 })?;
    a.assign_masked(&mask, Scalar::I32(7))?;
    a.place(&mask, &bench.array(&[2], |i| i as i32)?)?;
    bench.expect(&a, |i| if i.is_multiple_of(2) { i as i32 / 2 % 2 } else { i as i32 })
}

fn nonzero(bench: &Bench) -> Result<()> {
    let a = bench.array(&[300, 200], |i| i32::from(i.is_multiple_of(3)))?;
    let places = a.nonzero()?;
    bench.expect(&places[0], |i| (3 * i / 200) as i64)?;
    bench.expect(&places[1], |i| (3 * i % 200) as i64)
}

fn choice(bench: &Bench) -> Result<()> {
    let a = bench.array(&[90_000], |i| i as f64)?;
    let small = a.binary(Op::Less, Scalar::F64(1000.0))?;
    bench.expect(&where_(&small, &a, Scalar::F64(-1.0))?, |i| if i < 1000 { i as f64 } else { -1.0 })?;
    bench.expect(&small.astype(Dtype::U8)?.slice(s![990..1010])?, |i| u8::from(i < 10))
}

fn compress(bench: &Bench) -> Result<()> {
    let a = bench.array(&[200, 300], |i| i as f32)?;
    let condition = bench.array(&[300], |i| i.is_multiple_of(3))?;
    bench.expect(&a.compress(&condition, Some(1))?, |i| (i / 100 * 300 + 3 * (i % 100)) as f32)
}
