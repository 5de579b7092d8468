//! Concatenation and stacking, against naive loops.

use stridewise::{Device, Dtype, Error, Scalar, UsmArray, concat, promote_types, stack};

use crate::cell::{Case, Check, ensure, need, short};
use crate::forms::{Form, expect, multi_index, place};
use crate::values::Random;

/// Random joins per dtype and device.
const JOINS: usize = 60;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &dtype in Dtype::ALL {
        let name = |case: &str| format!("concat::{case}/{}", short(dtype));
        cases.push(Case::new(name("random"), move |device| random_concat(device, dtype, false)));
        cases.push(Case::new(name("mixed_dtypes"), move |device| random_concat(device, dtype, true)));
        cases.push(Case::new(name("stack"), move |device| random_stack(device, dtype)));
    }
    cases.push(Case::new("concat::pending_parts/f32", pending_parts));
    cases.push(Case::new("concat::large_parts/f32", large_parts));
    cases.push(Case::new("concat::errors/f32", errors));
    cases
}

/// One part: its shape and elements, in row-major order.
struct Part {
    shape: Vec<usize>,
    values: Vec<Scalar>,
}

/// The element of the parts joined along an axis at a multi-index.
fn joined(parts: &[Part], axis: usize, mut index: Vec<usize>) -> Option<Scalar> {
    for part in parts {
        if index[axis] < part.shape[axis] {
            let flat = index.iter().zip(&part.shape).fold(0, |flat, (&i, &extent)| flat * extent + i);
            return part.values.get(flat).copied();
        }
        index[axis] -= part.shape[axis];
    }
    None
}

fn make(device: &Device, random: &mut Random, shape: &[usize], dtype: Dtype) -> Check<(UsmArray, Part)> {
    let queue = device.queue()?;
    let form = *random.pick(&[&Form::DISTINCT[..], &[Form::Column]].concat());
    let values = random.many(shape.iter().product(), |random| random.any(dtype));
    let (array, shown) = place(&queue, shape, dtype, &values, form)?;
    Ok((array, Part { shape: shape.to_vec(), values: shown }))
}

fn random_concat(device: &Device, dtype: Dtype, mixed: bool) -> Check {
    need(device, dtype)?;
    let support = device.dtype_support();
    let mut random = Random::named(&format!("concat{dtype}{mixed}"));
    let others: Vec<Dtype> = Dtype::ALL.iter().copied().filter(|&d| support.supports(d)).collect();
    for number in 0..JOINS {
        let ndim = 1 + random.below(4);
        let base: Vec<usize> = (0..ndim).map(|_| random.below(6)).collect();
        let axis = random.below(ndim);
        let (mut arrays, mut parts, mut dtypes) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..1 + random.below(5) {
            let mut shape = base.clone();
            shape[axis] = if random.chance(5) { 0 } else { random.below(9) };
            let dtype = if mixed && random.chance(2) { *random.pick(&others) } else { dtype };
            let (array, part) = make(device, &mut random, &shape, dtype)?;
            arrays.push(array);
            parts.push(part);
            dtypes.push(dtype);
        }
        // Floats first, as several integers and a float promote in no other order to the same.
        dtypes.sort_by_key(|dtype| !dtype.kind().is_inexact());
        let common = dtypes.into_iter().reduce(promote_types).map_or(dtype, |d| support.downgrade(d));
        let list: Vec<&UsmArray> = arrays.iter().collect();
        let what =
            format!("join {number} of {:?} along {axis}", parts.iter().map(|p| &p.shape).collect::<Vec<_>>());
        let named = if random.chance(2) { axis as isize } else { axis as isize - ndim as isize };
        let result = concat(&list, Some(named))?;
        let mut shape = base;
        shape[axis] = parts.iter().map(|part| part.shape[axis]).sum();
        ensure!(result.shape() == shape, "{what}: shape {:?}, expected {shape:?}", result.shape());
        let expected: Vec<Scalar> = (0..shape.iter().product())
            .filter_map(|flat| joined(&parts, axis, multi_index(&shape, flat)))
            .map(|value| value.cast(common))
            .collect();
        ensure!(result.dtype() == common, "{what}: {}, expected {common}", result.dtype());
        expect(&what, &result, &expected)?;
        let flat = concat(&list, None)?;
        let expected: Vec<Scalar> =
            parts.iter().flat_map(|part| &part.values).map(|v| v.cast(common)).collect();
        ensure!(flat.shape() == [expected.len()], "{what}, flat: shape {:?}", flat.shape());
        expect(&format_args!("{what}, flat"), &flat, &expected)?;
    }
    Ok(())
}

fn random_stack(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let mut random = Random::named(&format!("stack{dtype}"));
    for _ in 0..JOINS / 2 {
        let ndim = random.below(4);
        let shape: Vec<usize> = (0..ndim).map(|_| random.below(6)).collect();
        let axis = random.below(ndim + 1);
        let (mut arrays, mut parts) = (Vec::new(), Vec::new());
        for _ in 0..1 + random.below(5) {
            let (array, mut part) = make(device, &mut random, &shape, dtype)?;
            part.shape.insert(axis, 1);
            arrays.push(array);
            parts.push(part);
        }
        let list: Vec<&UsmArray> = arrays.iter().collect();
        let named = if random.chance(2) { axis as isize } else { axis as isize - ndim as isize - 1 };
        let result = stack(&list, named)?;
        let mut whole = shape.clone();
        whole.insert(axis, arrays.len());
        ensure!(result.shape() == whole, "stack along {axis} of {shape:?}: shape {:?}", result.shape());
        let expected: Vec<Scalar> = (0..whole.iter().product())
            .filter_map(|flat| joined(&parts, axis, multi_index(&whole, flat)))
            .collect();
        expect(&format_args!("stack along {axis} of {shape:?}"), &result, &expected)?;
    }
    Ok(())
}

/// Parts that are recorded work, views of one array, and the same array twice.
fn pending_parts(device: &Device) -> Check {
    let queue = device.queue()?;
    let values: Vec<Scalar> = (0..6000).map(|i| Scalar::F32(i as f32)).collect();
    let (x, _) = place(&queue, &[60, 100], Dtype::F32, &values, Form::C)?;
    let doubled = x.binary(stridewise::Op::Add, &x)?;
    let flipped = doubled.flip(Some(&[0]))?;
    let result = concat(&[&x, &doubled, &flipped, &x], Some(1))?;
    let at = |i: usize, j: usize| {
        let value = |i: usize, j: usize| (i * 100 + j) as f32;
        Scalar::F32(match j / 100 {
            1 => 2.0 * value(i, j - 100),
            2 => 2.0 * value(59 - i, j - 200),
            k => value(i, j - 100 * k),
        })
    };
    let expected: Vec<Scalar> = (0..60).flat_map(|i| (0..400).map(move |j| at(i, j))).collect();
    expect(&"x, x + x, reversed x + x, x", &result, &expected)
}

/// Enough for several threads and for stores past the caches.
fn large_parts(device: &Device) -> Check {
    let queue = device.queue()?;
    let len = 700_000;
    let values: Vec<Scalar> = (0..len).map(|i| Scalar::F32(i as f32)).collect();
    let (x, _) = place(&queue, &[len], Dtype::F32, &values, Form::C)?;
    let result = concat(&[&x, &x.flip(None)?], Some(0))?;
    let expected: Vec<Scalar> = values.iter().chain(values.iter().rev()).copied().collect();
    expect(&"x and x reversed", &result, &expected)
}

fn errors(device: &Device) -> Check {
    let queue = device.queue()?;
    let array = |shape: &[usize]| {
        let values = vec![Scalar::F32(1.0); shape.iter().product()];
        place(&queue, shape, Dtype::F32, &values, Form::C).map(|(array, _)| array)
    };
    let (a, b, c) = (array(&[2, 3])?, array(&[2, 4])?, array(&[6])?);
    let outcome = concat(&[&a, &b], Some(0));
    ensure!(matches!(outcome, Err(Error::Shape(_))), "other extents differ: {outcome:?}");
    let outcome = concat(&[&a, &c], Some(0));
    ensure!(matches!(outcome, Err(Error::Shape(_))), "dimensions differ: {outcome:?}");
    let outcome = concat(&[&a, &a], Some(2));
    ensure!(matches!(outcome, Err(Error::Axis(_))), "axis out of range: {outcome:?}");
    let outcome = concat(&[], Some(0));
    ensure!(matches!(outcome, Err(Error::Value(_))), "no arrays: {outcome:?}");
    let outcome = stack(&[&a, &b], 0);
    ensure!(matches!(outcome, Err(Error::Shape(_))), "shapes differ: {outcome:?}");
    let outcome = stack(&[&a, &a], 3);
    ensure!(matches!(outcome, Err(Error::Axis(_))), "axis out of range: {outcome:?}");
    let outcome = stack(&[], 0);
    ensure!(matches!(outcome, Err(Error::Value(_))), "no arrays: {outcome:?}");
    Ok(())
}
