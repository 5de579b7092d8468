//! Elements in other places, against naive loops over multi-indices.

use stridewise::{
    Device, Dtype, Error, Indexing, Op, Queue, Reduction, Scalar, UsmArray, broadcast_arrays, meshgrid,
};

use crate::cell::{Case, Check, ensure, need, short, wrong};
use crate::forms::{Form, expect, multi_index, place};
use crate::values::Random;

/// Random cases per operation, dtype and device.
const ROUNDS: usize = 40;

/// One dtype of every size, and `bool`.
const DTYPES: [Dtype; 6] = [Dtype::Bool, Dtype::U8, Dtype::I16, Dtype::F32, Dtype::C64, Dtype::C128];

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    type Run = fn(&Device, &mut Random, Dtype) -> Check;
    let suites: [(&str, Run); 9] = [
        ("unstack", unstack),
        ("move_axes", move_axes),
        ("roll", roll),
        ("roll_flat", roll_flat),
        ("repeat", repeat),
        ("repeat_each", repeat_each),
        ("tile", tile),
        ("triangles", triangles),
        ("grids", grids),
    ];
    for (name, run) in suites {
        for dtype in DTYPES {
            cases.push(Case::new(format!("rearrange::{name}/{}", short(dtype)), move |device| {
                need(device, dtype)?;
                let mut random = Random::named(&format!("{name} {dtype}"));
                (0..ROUNDS).try_for_each(|_| run(device, &mut random, dtype))
            }));
        }
    }
    cases.push(Case::new("rearrange::large/f32", large));
    cases.push(Case::new("rearrange::recorded/f32", recorded));
    cases.push(Case::new("rearrange::rolled_and_read/f32", rolled_and_read));
    cases.push(Case::new("rearrange::many_axes/i16", many_axes));
    cases.push(Case::new("rearrange::errors", errors));
    cases
}

/// A random array of at least so many dimensions, with its elements.
fn array(queue: &Queue, random: &mut Random, dtype: Dtype, least: usize) -> Check<(UsmArray, Vec<Scalar>)> {
    let ndim = least + random.below(4 - least.min(3));
    let shape: Vec<usize> =
        (0..ndim).map(|_| if random.chance(12) { 0 } else { 1 + random.below(6) }).collect();
    let form = *random.pick(&Form::ALL);
    let values = random.many(shape.iter().product(), |random| random.any(dtype));
    let (array, shown) = place(queue, &shape, dtype, &values, form)?;
    Ok((array.broadcast_to(&shape)?, shown))
}

/// Checks that every element of a result is the element of the source that a function names.
fn compare(
    what: &str,
    result: &UsmArray,
    shape: &[usize],
    source: (&[usize], &[Scalar]),
    from: impl Fn(&[usize]) -> Vec<usize>,
) -> Check {
    ensure!(result.shape() == shape, "{what}: shape {:?}, expected {shape:?}", result.shape());
    let element = |flat| {
        let index = from(&multi_index(shape, flat));
        source.1[index.iter().zip(source.0).fold(0, |place, (&i, &extent)| place * extent + i)]
    };
    let expected: Vec<Scalar> = (0..shape.iter().product()).map(element).collect();
    expect(&what, result, &expected)
}

/// An axis, counted from the front or from the back.
fn either(random: &mut Random, axis: usize, ndim: usize) -> isize {
    axis as isize - if random.chance(2) { ndim as isize } else { 0 }
}

fn unstack(device: &Device, random: &mut Random, dtype: Dtype) -> Check {
    let (x, values) = array(&device.queue()?, random, dtype, 1)?;
    let axis = random.below(x.ndim());
    let parts = x.unstack(either(random, axis, x.ndim()))?;
    ensure!(parts.len() == x.shape()[axis], "{} parts of {:?}", parts.len(), x.shape());
    for (number, part) in parts.iter().enumerate() {
        let mut shape = x.shape().to_vec();
        shape.remove(axis);
        compare(&format!("part {number} along {axis}"), part, &shape, (x.shape(), &values), |index| {
            let mut index = index.to_vec();
            index.insert(axis, number);
            index
        })?;
    }
    Ok(())
}

fn move_axes(device: &Device, random: &mut Random, dtype: Dtype) -> Check {
    let (x, values) = array(&device.queue()?, random, dtype, 1)?;
    let ndim = x.ndim();
    let shuffled = |random: &mut Random| {
        let mut axes: Vec<usize> = (0..ndim).collect();
        (1..ndim).for_each(|i| axes.swap(i, random.below(i + 1)));
        axes
    };
    let count = random.below(ndim + 1);
    let (from, to) = (shuffled(random), shuffled(random));
    let (from, to) = (&from[..count], &to[..count]);
    let signed = |random: &mut Random, axes: &[usize]| -> Vec<isize> {
        axes.iter().map(|&axis| either(random, axis, ndim)).collect()
    };
    let result = x.move_axes(&signed(random, from), &signed(random, to))?;
    // The axes left over, in order, at the places left over.
    let mut source = vec![usize::MAX; ndim];
    from.iter().zip(to).for_each(|(&from, &to)| source[to] = from);
    let mut rest = (0..ndim).filter(|axis| !from.contains(axis));
    for place in source.iter_mut().filter(|place| **place == usize::MAX) {
        *place = rest.next().unwrap_or(0);
    }
    let shape: Vec<usize> = source.iter().map(|&axis| x.shape()[axis]).collect();
    compare(&format!("axes {from:?} to {to:?}"), &result, &shape, (x.shape(), &values), |index| {
        let mut origin = vec![0; ndim];
        source.iter().zip(index).for_each(|(&axis, &i)| origin[axis] = i);
        origin
    })
}

fn roll(device: &Device, random: &mut Random, dtype: Dtype) -> Check {
    let (x, values) = array(&device.queue()?, random, dtype, 1)?;
    let ndim = x.ndim();
    let count = 1 + random.below(3);
    let axes: Vec<usize> = (0..count).map(|_| random.below(ndim)).collect();
    let mut shifts: Vec<isize> = (0..count).map(|_| random.below(41) as isize - 20).collect();
    if random.chance(3) {
        shifts.truncate(1);
    }
    let named: Vec<isize> = axes.iter().map(|&axis| either(random, axis, ndim)).collect();
    let result = x.roll(&shifts, Some(&named))?;
    let shape = x.shape();
    compare(&format!("{shape:?} by {shifts:?} along {named:?}"), &result, shape, (shape, &values), |index| {
        let mut origin = index.to_vec();
        for (number, &axis) in axes.iter().enumerate() {
            let shift = shifts[if shifts.len() == 1 { 0 } else { number }];
            origin[axis] = (origin[axis] as isize - shift).rem_euclid(shape[axis] as isize) as usize;
        }
        origin
    })
}

fn roll_flat(device: &Device, random: &mut Random, dtype: Dtype) -> Check {
    let (x, values) = array(&device.queue()?, random, dtype, 0)?;
    let shift = match random.below(5) {
        0 => isize::MIN,
        1 => isize::MAX,
        _ => random.below(400) as isize - 200,
    };
    let result = x.roll(&[shift], None)?;
    ensure!(result.shape() == x.shape(), "shape {:?}", result.shape());
    let mut expected = values;
    if !expected.is_empty() {
        let way = (shift as i128).rem_euclid(expected.len() as i128) as usize;
        expected.rotate_right(way);
    }
    expect(&format_args!("{:?} by {shift}", x.shape()), &result, &expected)
}

fn repeat(device: &Device, random: &mut Random, dtype: Dtype) -> Check {
    let (x, values) = array(&device.queue()?, random, dtype, 1)?;
    let (axis, count) = (random.below(x.ndim()), random.below(5));
    let result = x.repeat(count, Some(either(random, axis, x.ndim())))?;
    let mut shape = x.shape().to_vec();
    shape[axis] *= count;
    compare(&format!("{count} times along {axis}"), &result, &shape, (x.shape(), &values), |index| {
        let mut origin = index.to_vec();
        origin[axis] /= count;
        origin
    })?;
    let flat = x.repeat(count, None)?;
    let expected: Vec<Scalar> = values.iter().flat_map(|&v| std::iter::repeat_n(v, count)).collect();
    ensure!(flat.shape() == [expected.len()], "flat: shape {:?}", flat.shape());
    expect(&format_args!("{:?} {count} times", x.shape()), &flat, &expected)
}

fn repeat_each(device: &Device, random: &mut Random, dtype: Dtype) -> Check {
    let queue = device.queue()?;
    let (x, values) = array(&queue, random, dtype, 1)?;
    let axis = random.below(x.ndim());
    let one = random.chance(4);
    let len = if one { 1 } else { x.shape()[axis] };
    let counts: Vec<usize> = (0..len).map(|_| random.below(4)).collect();
    let kind = *random.pick(&[Dtype::I64, Dtype::U8, Dtype::I32, Dtype::U64]);
    let numbers: Vec<Scalar> = counts.iter().map(|&c| Scalar::I64(c as i64).cast(kind)).collect();
    let (listed, _) = place(&queue, &[len], kind, &numbers, *random.pick(&Form::DISTINCT))?;
    let result = x.repeat_each(&listed, Some(either(random, axis, x.ndim())))?;
    let count = |i: usize| counts[if one { 0 } else { i }];
    let sources: Vec<usize> = (0..x.shape()[axis]).flat_map(|i| std::iter::repeat_n(i, count(i))).collect();
    let mut shape = x.shape().to_vec();
    shape[axis] = sources.len();
    compare(&format!("{counts:?} along {axis}"), &result, &shape, (x.shape(), &values), |index| {
        let mut origin = index.to_vec();
        origin[axis] = sources[origin[axis]];
        origin
    })
}

fn tile(device: &Device, random: &mut Random, dtype: Dtype) -> Check {
    let (x, values) = array(&device.queue()?, random, dtype, 0)?;
    let counts: Vec<usize> = (0..random.below(5)).map(|_| random.below(4)).collect();
    let result = x.tile(&counts)?;
    let ndim = x.ndim().max(counts.len());
    let padded = |list: &[usize]| [vec![1; ndim - list.len()], list.to_vec()].concat();
    let shape: Vec<usize> = padded(x.shape()).iter().zip(padded(&counts)).map(|(e, c)| e * c).collect();
    let new = ndim - x.ndim();
    compare(&format!("{:?} tiled {counts:?}", x.shape()), &result, &shape, (x.shape(), &values), |index| {
        index[new..].iter().zip(x.shape()).map(|(&i, &extent)| i % extent).collect()
    })?;
    ensure!(result.flags().writable, "a tiled array is not writable");
    Ok(())
}

fn triangles(device: &Device, random: &mut Random, dtype: Dtype) -> Check {
    let (x, values) = array(&device.queue()?, random, dtype, 2)?;
    let diagonal = match random.below(8) {
        0 => isize::MIN,
        1 => isize::MAX,
        _ => random.below(15) as isize - 7,
    };
    let zero = Scalar::I8(0).cast(dtype);
    for upper in [false, true] {
        let result = if upper { x.triu(diagonal)? } else { x.tril(diagonal)? };
        ensure!(result.shape() == x.shape() && result.dtype() == dtype, "{result:?}");
        let inside = |flat: usize| {
            let index = multi_index(x.shape(), flat);
            let along = index[x.ndim() - 1] as isize - index[x.ndim() - 2] as isize;
            if upper { along >= diagonal } else { along <= diagonal }
        };
        let expected: Vec<Scalar> =
            values.iter().enumerate().map(|(flat, &v)| if inside(flat) { v } else { zero }).collect();
        let what = format!("{:?}, upper {upper}, at {diagonal}", x.shape());
        expect(&what, &result, &expected)?;
    }
    Ok(())
}

fn grids(device: &Device, random: &mut Random, dtype: Dtype) -> Check {
    let queue = device.queue()?;
    let count = random.below(5);
    let mut lines = Vec::new();
    for _ in 0..count {
        let len = random.below(5);
        let values = random.many(len, |random| random.any(dtype));
        lines.push(place(&queue, &[len], dtype, &values, *random.pick(&Form::DISTINCT))?);
    }
    let list: Vec<&UsmArray> = lines.iter().map(|(line, _)| line).collect();
    for indexing in [Indexing::Xy, Indexing::Ij] {
        let grid = meshgrid(&list, indexing)?;
        ensure!(grid.len() == count, "{} arrays of {count}", grid.len());
        let axis = |k: usize| match (indexing, k) {
            (Indexing::Xy, 0 | 1) if count > 1 => 1 - k,
            _ => k,
        };
        let mut shape = vec![0; count];
        lines.iter().enumerate().for_each(|(k, (line, _))| shape[axis(k)] = line.len());
        for (k, (result, (line, values))) in grid.iter().zip(&lines).enumerate() {
            let what = format!("array {k} of the grid {shape:?}, {indexing:?}");
            compare(&what, result, &shape, (line.shape(), values), |index| vec![index[axis(k)]])?;
        }
    }
    let (x, values) = array(&queue, random, dtype, 1)?;
    let (point, _) = place(&queue, &[], dtype, &[Scalar::I8(1).cast(dtype)], Form::C)?;
    let both = broadcast_arrays(&[&x, &point])?;
    expect(&"the first of two", &both[0], &values)?;
    expect(&"the second of two", &both[1], &vec![Scalar::I8(1).cast(dtype); values.len()])?;
    ensure!(values.len() < 2 || !both[1].flags().writable, "a repeated element is writable");
    Ok(())
}

/// Enough for several threads.
fn large(device: &Device) -> Check {
    let queue = device.queue()?;
    let (rows, columns) = (700, 900);
    let values: Vec<Scalar> = (0..rows * columns).map(|i| Scalar::F32(i as f32)).collect();
    let (x, _) = place(&queue, &[rows, columns], Dtype::F32, &values, Form::C)?;
    let at = |i: usize, j: usize| values[(i % rows) * columns + j % columns];
    let grid = |rows: usize, columns: usize| (0..rows).flat_map(move |i| (0..columns).map(move |j| (i, j)));
    let expected: Vec<Scalar> = grid(rows, columns).map(|(i, j)| at(i + rows - 3, j + 1)).collect();
    expect(&"rolled by 3, -1", &x.roll(&[3, -1], Some(&[0, 1]))?, &expected)?;
    let mut turned: Vec<Scalar> = grid(columns, rows).map(|(j, i)| at(i, j)).collect();
    turned.rotate_right(12_345);
    expect(&"the transpose rolled flat", &x.t().roll(&[12_345], None)?, &turned)?;
    let expected: Vec<Scalar> = grid(rows, 2 * columns).map(|(i, j)| at(i, j / 2)).collect();
    expect(&"repeated", &x.repeat(2, Some(1))?, &expected)?;
    let expected: Vec<Scalar> = grid(2 * rows, columns).map(|(i, j)| at(i, j)).collect();
    expect(&"tiled", &x.tile(&[2, 1])?, &expected)?;
    let counts: Vec<Scalar> = (0..rows).map(|i| Scalar::I64((i % 3) as i64)).collect();
    let (counts, _) = place(&queue, &[rows], Dtype::I64, &counts, Form::C)?;
    let expected: Vec<Scalar> = (0..rows)
        .flat_map(|i| std::iter::repeat_n(i, i % 3))
        .flat_map(|i| (0..columns).map(move |j| (i, j)))
        .map(|(i, j)| at(i, j))
        .collect();
    expect(&"rows repeated by their number modulo 3", &x.repeat_each(&counts, Some(0))?, &expected)
}

/// Work that is only recorded.
fn recorded(device: &Device) -> Check {
    let queue = device.queue()?;
    let values: Vec<Scalar> = (0..6000).map(|i| Scalar::F32(i as f32)).collect();
    let (x, _) = place(&queue, &[60, 100], Dtype::F32, &values, Form::C)?;
    let sum = x.binary(Op::Add, &x)?;
    let at = |i: usize, j: usize| Scalar::F32(2.0 * (i * 100 + j) as f32);
    let grid = || (0..60).flat_map(|i| (0..100).map(move |j| (i, j)));
    let expected: Vec<Scalar> = grid().map(|(i, j)| at((i + 59) % 60, j)).collect();
    expect(&"rolled", &sum.roll(&[1], Some(&[0]))?, &expected)?;
    let expected: Vec<Scalar> =
        grid().map(|(i, j)| if j <= i { at(i, j) } else { Scalar::F32(0.0) }).collect();
    expect(&"a lower triangle", &x.binary(Op::Add, &x)?.tril(0)?, &expected)?;
    let expected: Vec<Scalar> = grid().flat_map(|(i, j)| [at(i, j); 2]).collect();
    expect(&"repeated", &x.binary(Op::Add, &x)?.repeat(2, None)?, &expected)
}

/// What is rolled and large is read where it lies by the operation that wants it.
fn rolled_and_read(device: &Device) -> Check {
    const SHAPE: [usize; 2] = [130, 140];
    let queue = device.queue()?;
    let mut random = Random::named("rolled and read");
    let whole = |random: &mut Random| random.below(60) as f32;
    let places = || (0..SHAPE[0]).flat_map(|i| (0..SHAPE[1]).map(move |j| [i, j]));
    let scalars =
        |values: &[f32]| -> Vec<Scalar> { values.iter().map(|&value| Scalar::F32(value)).collect() };
    let rolled = |values: &[f32], ways: [isize; 2]| -> Vec<f32> {
        let from =
            |axis: usize, at: usize| (at as isize - ways[axis]).rem_euclid(SHAPE[axis] as isize) as usize;
        places().map(|[i, j]| values[from(0, i) * SHAPE[1] + from(1, j)]).collect()
    };
    for round in 0..6 {
        let values: Vec<f32> = (0..SHAPE[0] * SHAPE[1]).map(|_| whole(&mut random)).collect();
        let form = [Form::C, Form::F, Form::Mixed][round % 3];
        let (x, _) = place(&queue, &SHAPE, Dtype::F32, &scalars(&values), form)?;
        let (mut sum, mut expected) = (x.binary(Op::Multiply, &x)?, values.clone());
        expected.iter_mut().for_each(|value| *value *= *value);
        for _ in 0..1 + random.below(9) {
            let ways = [0, 1].map(|axis| match random.below(3) {
                0 => 0,
                1 => random.below(3) as isize - 1,
                _ => random.below(2 * SHAPE[axis]) as isize - SHAPE[axis] as isize,
            });
            sum = sum.binary(Op::Add, &x.roll(&ways, Some(&[0, 1]))?)?;
            expected.iter_mut().zip(rolled(&values, ways)).for_each(|(sum, value)| *sum += value);
        }
        expect(&format_args!("a sum of rolled arrays, {form:?}"), &sum, &scalars(&expected))?;

        let ways = [-1, 7];
        let moved = x.roll(&ways, Some(&[0, 1]))?;
        let of_moved = rolled(&values, ways);
        let one = moved.binary(Op::Add, &moved)?;
        let turned = moved.t().binary(Op::Add, &x.t())?;
        let columns = moved.binary(Op::Multiply, &x)?.reduce(Reduction::Sum, Some(&[0]), false)?;
        let products =
            |j: usize| (0..SHAPE[0]).map(|i| of_moved[i * SHAPE[1] + j] * values[i * SHAPE[1] + j]).sum();
        let expected: Vec<f32> = (0..SHAPE[1]).map(products).collect();
        expect(&"sums of what was rolled", &columns, &scalars(&expected))?;
        let doubled: Vec<f32> = of_moved.iter().map(|value| value + value).collect();
        expect(&"twice what was rolled", &one, &scalars(&doubled))?;
        let pairs: Vec<f32> = of_moved.iter().zip(&values).map(|(a, b)| a + b).collect();
        expect(&"the transpose of what was rolled", &turned.t(), &scalars(&pairs))?;

        // The array is written behind: first by what reads it in another place.
        let later = x.roll(&[3], Some(&[0]))?;
        x.assign(&x.roll(&ways, Some(&[0, 1]))?.binary(Op::Add, &x)?)?;
        expect(&"what is rolled, into itself", &x, &scalars(&pairs))?;
        expect(&"what was rolled and is held", &moved, &scalars(&of_moved))?;
        expect(&"what was rolled before the write", &later, &scalars(&rolled(&values, [3, 0])))?;
    }
    Ok(())
}

/// Rolled along more axes than one submission takes.
fn many_axes(device: &Device) -> Check {
    let queue = device.queue()?;
    let shape = [2; 7];
    let values: Vec<Scalar> = (0..128).map(Scalar::I16).collect();
    let (x, _) = place(&queue, &shape, Dtype::I16, &values, Form::Mixed)?;
    let result = x.roll(&[1], Some(&[0, 1, 2, 3, 4, 5, 6]))?;
    let expected: Vec<Scalar> = (0..128).rev().map(Scalar::I16).collect();
    expect(&"rolled along seven axes", &result, &expected)
}

fn errors(device: &Device) -> Check {
    let queue = device.queue()?;
    let array = |shape: &[usize], dtype: Dtype, value: i8| {
        let values = vec![Scalar::I8(value).cast(dtype); shape.iter().product()];
        place(&queue, shape, dtype, &values, Form::C).map(|(array, _)| array)
    };
    let x = array(&[2, 3], Dtype::F32, 1)?;
    macro_rules! refused {
        ($call:expr, $variant:ident) => {
            match $call {
                Err(Error::$variant(_)) => {}
                outcome => wrong!("{}: {:?}", stringify!($call), outcome.map(|_| ())),
            }
        };
    }
    refused!(x.unstack(2), Axis);
    refused!(x.move_axes(&[0, 0], &[0, 1]), Axis);
    refused!(x.move_axes(&[0], &[0, 1]), Axis);
    refused!(x.move_axes(&[2], &[0]), Axis);
    refused!(x.roll(&[1], Some(&[2])), Axis);
    refused!(x.roll(&[1, 2], Some(&[0, 1, 0])), Value);
    refused!(x.repeat(2, Some(-3)), Axis);
    refused!(x.repeat(usize::MAX, Some(0)), Overflow);
    refused!(x.tile(&[usize::MAX, 1]), Overflow);
    refused!(x.repeat_each(&array(&[3], Dtype::I64, 1)?, Some(0)), Shape);
    refused!(x.repeat_each(&array(&[1, 2], Dtype::I64, 1)?, Some(0)), Shape);
    refused!(x.repeat_each(&array(&[2], Dtype::F32, 1)?, Some(0)), Dtype);
    refused!(x.repeat_each(&array(&[2], Dtype::I64, -1)?, Some(0)), Value);
    refused!(array(&[3], Dtype::F32, 1)?.tril(0), Axis);
    refused!(meshgrid(&[&x], Indexing::Xy), Shape);
    refused!(meshgrid(&[&array(&[2], Dtype::F32, 1)?, &array(&[2], Dtype::I64, 1)?], Indexing::Xy), Dtype);
    refused!(broadcast_arrays(&[&x, &array(&[4], Dtype::F32, 1)?]), Shape);
    Ok(())
}
