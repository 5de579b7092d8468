//! Sorting, searching and sets, against naive loops.

use std::cmp::Ordering;

use stridewise::{Complex, Device, Dtype, DtypeKind, Op, Queue, Scalar, Side, UsmArray};

use crate::cell::{Case, Check, ensure, need, short};
use crate::forms::{Form, expect, multi_index, place};
use crate::values::Random;

/// Random cases per dtype, operation and device.
const ROUNDS: usize = 25;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &dtype in Dtype::ALL {
        let name = |case: &str| format!("sorting::{case}/{}", short(dtype));
        cases.push(Case::new(name("sort"), move |device| sort(device, dtype)));
        cases.push(Case::new(name("sort_long"), move |device| sort_long(device, dtype)));
        cases.push(Case::new(name("top_k"), move |device| top_k(device, dtype)));
        cases.push(Case::new(name("searchsorted"), move |device| searchsorted(device, dtype)));
        cases.push(Case::new(name("unique"), move |device| unique(device, dtype)));
        cases.push(Case::new(name("isin"), move |device| isin(device, dtype)));
        cases.push(Case::new(name("looked_up"), move |device| looked_up(device, dtype)));
    }
    // Not of `float32`: a device that is interpreted, and takes that alone, would take too long.
    for dtype in [Dtype::F64, Dtype::I32] {
        let name = format!("sorting::top_k_long/{}", short(dtype));
        cases.push(Case::new(name, move |device| top_k_long(device, dtype)));
    }
    cases.push(Case::new("sorting::mixed_dtypes/i32", mixed_dtypes));
    cases.push(Case::new("sorting::recorded/f32", recorded));
    cases
}

fn is_nan(value: Scalar) -> bool {
    let z = value.to_c128();
    z.re.is_nan() || z.im.is_nan()
}

/// The order of elements that are no NaN.
fn numbers(a: Scalar, b: Scalar) -> Ordering {
    match (a, b) {
        (Scalar::I64(a), Scalar::I64(b)) => a.cmp(&b),
        (Scalar::U64(a), Scalar::U64(b)) => a.cmp(&b),
        _ => {
            let (a, b) = (a.to_c128(), b.to_c128());
            let parts = a.re.partial_cmp(&b.re).zip(a.im.partial_cmp(&b.im));
            parts.map_or(Ordering::Equal, |(re, im)| re.then(im))
        }
    }
}

fn order(a: Scalar, b: Scalar, descending: bool) -> Ordering {
    match (is_nan(a), is_nan(b)) {
        (false, false) if descending => numbers(b, a),
        (false, false) => numbers(a, b),
        (true, true) => {
            // Complex numbers, the imaginary part first that is NaN, then by the other part.
            let (a, b) = (a.to_c128(), b.to_c128());
            let class = |z: Complex<f64>| 2 * i32::from(z.re.is_nan()) + i32::from(z.im.is_nan());
            let rest = |z: Complex<f64>| if z.re.is_nan() { z.im } else { z.re };
            let by_rest = rest(a).partial_cmp(&rest(b)).unwrap_or(Ordering::Equal);
            class(a).cmp(&class(b)).then(if descending { by_rest.reverse() } else { by_rest })
        }
        (a, b) => a.cmp(&b),
    }
}

/// An element that others are likely to be equal to; special ones too.
fn element(random: &mut Random, dtype: Dtype) -> Scalar {
    let small = |random: &mut Random| random.below(7) as f64 - 3.0;
    match random.below(4) {
        0 if dtype.kind() != DtypeKind::Complex => random.any(dtype),
        0 if random.chance(2) => {
            let mut part = || if random.chance(2) { f64::NAN } else { small(random) };
            Scalar::C128(Complex::new(part(), part())).cast(dtype)
        }
        1 if dtype.kind() == DtypeKind::Float => {
            Scalar::F64(*random.pick(&[0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN])).cast(dtype)
        }
        _ if dtype.kind() == DtypeKind::Complex => {
            Scalar::C128(Complex::new(small(random), small(random))).cast(dtype)
        }
        _ => Scalar::F64(small(random)).cast(dtype),
    }
}

fn shape(random: &mut Random, least: usize, most: usize, extent: usize) -> Vec<usize> {
    let ndim = least + random.below(most - least + 1);
    (0..ndim).map(|_| if random.chance(10) { random.below(2) } else { 1 + random.below(extent) }).collect()
}

fn make(queue: &Queue, random: &mut Random, shape: &[usize], dtype: Dtype) -> Check<(UsmArray, Vec<Scalar>)> {
    let form = *random.pick(&[&Form::DISTINCT[..], &[Form::Column]].concat());
    let values = random.many(shape.iter().product(), |random| element(random, dtype));
    place(queue, shape, dtype, &values, form)
}

fn flat(shape: &[usize], index: &[usize]) -> usize {
    index.iter().zip(shape).fold(0, |at, (&i, &extent)| at * extent + i)
}

/// Places, in sorted order, of the elements of each row along an axis: for each element of the array, in its shape.
fn sorted_places(shape: &[usize], values: &[Scalar], axis: usize, descending: bool) -> Vec<usize> {
    let mut result = vec![0; values.len()];
    for start in 0..values.len() {
        let mut index = multi_index(shape, start);
        if index[axis] != 0 {
            continue;
        }
        let mut at = |i: usize| {
            index[axis] = i;
            flat(shape, &index)
        };
        let places: Vec<usize> = (0..shape[axis]).map(&mut at).collect();
        let mut row: Vec<usize> = (0..shape[axis]).collect();
        row.sort_by(|&a, &b| order(values[places[a]], values[places[b]], descending));
        for (i, from) in row.into_iter().enumerate() {
            result[places[i]] = from;
        }
    }
    result
}

/// The elements at places along an axis.
fn picked(shape: &[usize], values: &[Scalar], axis: usize, places: &[usize]) -> Vec<Scalar> {
    (0..values.len())
        .map(|k| {
            let mut index = multi_index(shape, k);
            index[axis] = places[k];
            values[flat(shape, &index)]
        })
        .collect()
}

fn as_indices(places: &[usize]) -> Vec<Scalar> {
    places.iter().map(|&i| Scalar::I64(i as i64)).collect()
}

fn check_sort(what: &str, x: &UsmArray, values: &[Scalar], axis: usize, descending: bool) -> Check {
    let shape = x.shape().to_vec();
    let places = sorted_places(&shape, values, axis, descending);
    let what = format!("{what}, along {axis}, descending {descending}");
    let sorted = x.sort(axis as isize, descending)?;
    ensure!(sorted.shape() == shape, "{what}: shape {:?}", sorted.shape());
    expect(&format_args!("sort {what}"), &sorted, &picked(&shape, values, axis, &places))?;
    let order = x.argsort(axis as isize - shape.len() as isize, descending)?;
    expect(&format_args!("argsort {what}"), &order, &as_indices(&places))
}

fn sort(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("sort{dtype}"));
    for round in 0..2 * ROUNDS {
        let shape = shape(&mut random, 1, 4, 9);
        let (x, values) = make(&queue, &mut random, &shape, dtype)?;
        let axis = random.below(shape.len());
        check_sort(&format!("{round}: {x:?}"), &x, &values, axis, random.chance(2))?;
    }
    Ok(())
}

/// Rows around the sizes at which algorithms change, and many rows.
fn sort_long(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("sort_long{dtype}"));
    for shape in [&[16][..], &[17], &[31], &[64], &[65], &[257], &[5003], &[40_009], &[300, 70], &[70, 300]] {
        let many = shape.len() == 1 && shape[0] > 5000;
        let spread = random.chance(2);
        let values = random.many(shape.iter().product(), |random| match spread && !many {
            true => random.moderate(dtype),
            false => element(random, dtype),
        });
        let form = *random.pick(&[Form::C, Form::F, Form::Reversed]);
        let (x, values) = place(&queue, shape, dtype, &values, form)?;
        for descending in [false, true] {
            check_sort(&format!("{shape:?} {form:?}"), &x, &values, shape.len() / 2, descending)?;
        }
    }
    // What is in order already, or in reverse.
    let mut values = random.many(3000, |random| element(random, dtype));
    values.sort_by(|&a, &b| order(a, b, false));
    let (x, values) = place(&queue, &[3000], dtype, &values, Form::C)?;
    check_sort("sorted before", &x, &values, 0, false)?;
    check_sort("sorted before", &x, &values, 0, true)
}

fn top_k(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("top_k{dtype}"));
    for round in 0..ROUNDS {
        let shape = shape(&mut random, 1, 3, 9);
        let (x, values) = make(&queue, &mut random, &shape, dtype)?;
        let axis = random.below(shape.len());
        let (k, largest) = (random.below(shape[axis] + 1), random.chance(2));
        let places = sorted_places(&shape, &values, axis, largest);
        let all = picked(&shape, &values, axis, &places);
        // The first `k` along the axis.
        let kept: Vec<usize> = (0..values.len()).filter(|&i| multi_index(&shape, i)[axis] < k).collect();
        let (best, from) = x.top_k(k, Some(axis as isize), largest)?;
        let what = format!("{round}: top {k} of {x:?} along {axis}, largest {largest}");
        expect(&what, &best, &kept.iter().map(|&i| all[i]).collect::<Vec<_>>())?;
        expect(&what, &from, &as_indices(&kept.iter().map(|&i| places[i]).collect::<Vec<_>>()))?;
        let (best, _) = x.top_k(values.len().min(3), None, largest)?;
        let mut every = values.clone();
        every.sort_by(|&a, &b| order(a, b, largest));
        expect(&format_args!("{what}, of all"), &best, &every[..values.len().min(3)])?;
    }
    Ok(())
}

/// A sequence that is long enough to be searched without being sorted: of different elements, of many that are equal, and
/// with NaN here and there, or wherever one looks.
fn top_k_long(device: &Device, dtype: Dtype) -> Check {
    const LEN: usize = (1 << 20) + 300;
    need(device, dtype)?;
    let queue = device.queue()?;
    let nan = |every: usize, i: usize| dtype == Dtype::F64 && i % every == 7;
    let rounds = [(1 << 20, 150_000, &[1, 300][..]), (1 << 14, 1000, &[100]), (5, LEN, &[100])];
    for (kinds, nan_every, firsts) in rounds {
        let value = |i: usize| match nan(nan_every, i) {
            true => f64::NAN,
            false => ((i * 7_368_787) % kinds) as f64 - 1000.0,
        };
        let values: Vec<Scalar> = (0..LEN).map(|i| Scalar::F64(value(i)).cast(dtype)).collect();
        let (x, _) = place(&queue, &[LEN], dtype, &values, Form::C)?;
        for largest in [true, false] {
            let mut places: Vec<usize> = (0..LEN).collect();
            places.sort_by(|&a, &b| order(values[a], values[b], largest));
            for &k in firsts {
                let (best, from) = x.top_k(k, None, largest)?;
                let what = format!("top {k} of {kinds} kinds, NaN at {nan_every}, largest {largest}");
                expect(&what, &best, &places[..k].iter().map(|&i| values[i]).collect::<Vec<_>>())?;
                expect(&what, &from, &as_indices(&places[..k]))?;
            }
        }
    }
    Ok(())
}

fn searchsorted(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("searchsorted{dtype}"));
    for round in 0..ROUNDS {
        let len = if random.chance(5) { random.below(2) } else { random.below(60) };
        let unsorted = random.many(len, |random| element(random, dtype));
        let mut table = unsorted.clone();
        table.sort_by(|&a, &b| order(a, b, false));
        let (sorted, _) = place(&queue, &[len], dtype, &table, *random.pick(&Form::DISTINCT))?;
        let shape = shape(&mut random, 0, 3, 9);
        let (x, values) = make(&queue, &mut random, &shape, dtype)?;
        for side in [Side::Left, Side::Right] {
            let expected: Vec<Scalar> = values
                .iter()
                .map(|&v| {
                    let before = table.iter().filter(|&&t| match order(t, v, false) {
                        Ordering::Less => true,
                        Ordering::Equal => side == Side::Right,
                        Ordering::Greater => false,
                    });
                    Scalar::I64(before.count() as i64)
                })
                .collect();
            let what = format!("{round}: {x:?} in {sorted:?}, {side:?}");
            let found = sorted.searchsorted(&x, side, None)?;
            ensure!(found.shape() == shape, "{what}: shape {:?}", found.shape());
            expect(&what, &found, &expected)?;
            let (table, _) = place(&queue, &[len], dtype, &unsorted, *random.pick(&Form::DISTINCT))?;
            let sorter = table.argsort(0, false)?.astype(Dtype::I16)?;
            expect(
                &format_args!("{what}, by a sorter"),
                &table.searchsorted(&x, side, Some(&sorter))?,
                &expected,
            )?;
        }
    }
    Ok(())
}

fn unique(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("unique{dtype}"));
    for round in 0..ROUNDS {
        let shape = shape(&mut random, 0, 3, if round == 0 { 40 } else { 7 });
        let (x, values) = make(&queue, &mut random, &shape, dtype)?;
        let places = sorted_places(&[values.len()], &values, 0, false);
        let (mut firsts, mut counts, mut inverse) = (Vec::new(), Vec::new(), vec![0; values.len()]);
        for (i, &from) in places.iter().enumerate() {
            let same =
                i > 0 && order(values[places[i - 1]], values[from], false).is_eq() && !is_nan(values[from]);
            if !same {
                firsts.push(from);
                counts.push(0_usize);
            }
            if let Some(count) = counts.last_mut() {
                *count += 1;
            }
            inverse[from] = firsts.len() - 1;
        }
        let distinct: Vec<Scalar> = firsts.iter().map(|&i| values[i]).collect();
        let what = format!("{round}: unique of {x:?}");
        expect(&what, &x.unique_values()?, &distinct)?;
        let (found, times) = x.unique_counts()?;
        expect(&what, &found, &distinct)?;
        expect(&format_args!("counts, {what}"), &times, &as_indices(&counts))?;
        let (found, back) = x.unique_inverse()?;
        expect(&what, &found, &distinct)?;
        ensure!(back.shape() == shape, "inverse, {what}: shape {:?}", back.shape());
        expect(&format_args!("inverse, {what}"), &back, &as_indices(&inverse))?;
        let all = x.unique_all()?;
        expect(&what, &all.values, &distinct)?;
        expect(&format_args!("indices, {what}"), &all.indices, &as_indices(&firsts))?;
        expect(&format_args!("inverse, {what}"), &all.inverse_indices, &as_indices(&inverse))?;
        expect(&format_args!("counts, {what}"), &all.counts, &as_indices(&counts))?;
    }
    Ok(())
}

fn isin(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("isin{dtype}"));
    for round in 0..ROUNDS {
        let (own, other) = (shape(&mut random, 0, 3, 7), shape(&mut random, 0, 2, 5));
        let (x, values) = make(&queue, &mut random, &own, dtype)?;
        let (table, elements) = make(&queue, &mut random, &other, dtype)?;
        for invert in [false, true] {
            let expected: Vec<Scalar> = values
                .iter()
                .map(|&v| {
                    let found = elements.iter().any(|&e| !is_nan(v) && !is_nan(e) && numbers(v, e).is_eq());
                    Scalar::Bool(found != invert)
                })
                .collect();
            let what = format!("{round}: {x:?} in {table:?}, invert {invert}");
            expect(&what, &x.isin(&table, invert)?, &expected)?;
        }
    }
    Ok(())
}

/// Among so many elements that they are taken tile by tile, and by several threads: the first few, and what tables of a few
/// elements and of many have of them.
fn looked_up(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("looked_up{dtype}"));
    for (len, form) in [(3001, Form::Reversed), (70_000, Form::C)] {
        let values = random.many(len, |random| element(random, dtype));
        let (x, values) = place(&queue, &[len], dtype, &values, form)?;
        for largest in [false, true] {
            let mut places: Vec<usize> = (0..len).collect();
            places.sort_by(|&i, &j| order(values[i], values[j], largest));
            for k in [1, 7, 300] {
                let (best, from) = x.top_k(k, None, largest)?;
                let what = format!("top {k} of {len}, largest {largest}");
                expect(&what, &best, &places[..k].iter().map(|&i| values[i]).collect::<Vec<_>>())?;
                expect(&what, &from, &as_indices(&places[..k]))?;
            }
        }
        for extent in [1, 5, 40, 900] {
            let mut table = random.many(extent, |random| match random.chance(2) {
                true => random.any(dtype),
                false => element(random, dtype),
            });
            let complex = dtype.kind() == DtypeKind::Complex;
            table.retain(|&v| !(complex && is_nan(v)));
            table.sort_by(|&a, &b| order(a, b, false));
            let (elements, table) = place(&queue, &[table.len()], dtype, &table, form)?;
            let count = |v: Scalar, equal: bool| {
                table.partition_point(|&t| match order(t, v, false) {
                    Ordering::Less => true,
                    Ordering::Equal => equal,
                    Ordering::Greater => false,
                })
            };
            for (side, equal) in [(Side::Left, false), (Side::Right, true)] {
                let expected: Vec<Scalar> =
                    values.iter().map(|&v| Scalar::I64(count(v, equal) as i64)).collect();
                let found = elements.searchsorted(&x, side, None)?;
                expect(&format_args!("{len} in {extent}, {side:?}"), &found, &expected)?;
            }
            for invert in [false, true] {
                let has = |v: Scalar| !is_nan(v) && count(v, false) < count(v, true);
                let expected: Vec<Scalar> = values.iter().map(|&v| Scalar::Bool(has(v) != invert)).collect();
                let what = format!("{len} in {extent}, invert {invert}");
                expect(&what, &x.isin(&elements, invert)?, &expected)?;
            }
        }
    }
    Ok(())
}

/// Tables and values of different dtypes are compared as numbers.
fn mixed_dtypes(device: &Device) -> Check {
    let queue = device.queue()?;
    let (table, _) = place(&queue, &[3], Dtype::I32, &[-5, 2, 7].map(Scalar::I32), Form::C)?;
    let (values, _) = place(&queue, &[3], Dtype::F32, &[1.5, 2.0, -6.0].map(Scalar::F32), Form::C)?;
    expect(
        &"floats among integers",
        &table.searchsorted(&values, Side::Right, None)?,
        &[1, 2, 0].map(Scalar::I64),
    )?;
    expect(&"floats in integers", &values.isin(&table, false)?, &[false, true, false].map(Scalar::Bool))?;
    let (bytes, _) = place(&queue, &[2], Dtype::U8, &[2, 251].map(Scalar::U8), Form::C)?;
    expect(&"bytes in integers", &bytes.isin(&table, false)?, &[true, false].map(Scalar::Bool))
}

/// Elements that are recorded and not yet run.
fn recorded(device: &Device) -> Check {
    let queue = device.queue()?;
    let len = 5000;
    let values: Vec<Scalar> = (0..len).map(|i| Scalar::F32(((i * 37) % len) as f32)).collect();
    let (x, _) = place(&queue, &[len], Dtype::F32, &values, Form::C)?;
    let sorted = x.unary(Op::Negative)?.sort(0, false)?.binary(Op::Add, Scalar::F32(len as f32))?;
    let expected: Vec<Scalar> = (0..len).map(|i| Scalar::F32(i as f32 + 1.0)).collect();
    expect(&"sorted between recorded work", &sorted, &expected)?;
    let one_of_each = x.binary(Op::FloorDivide, Scalar::F32(10.0))?.unique_values()?;
    let expected: Vec<Scalar> = (0..len / 10).map(|i| Scalar::F32(i as f32)).collect();
    expect(&"unique elements of recorded work", &one_of_each, &expected)
}
