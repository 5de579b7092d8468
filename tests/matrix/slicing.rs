//! Basic slicing against a naive enumeration of indices.

use stridewise::{Device, Dtype, Error, Op, Order, Scalar, SliceItem};

use crate::cell::{Case, Check, ensure, wrong};
use crate::forms::{Form, expect, place};
use crate::values::Random;

/// Random slices per device.
const SLICES: usize = 400;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new("slicing::random/i32", random_slices),
        Case::new("slicing::assignment/i32", assignment),
        Case::new("slicing::errors/i32", errors),
    ]
}

/// The indices that Python's `range(*slice(start, stop, step).indices(extent))` gives, written as its definition says.
fn enumerate(start: Option<isize>, stop: Option<isize>, step: isize, extent: usize) -> Vec<usize> {
    let n = extent as isize;
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let bound = |given: Option<isize>, default: isize| match given {
        None => default,
        Some(v) => (if v < 0 { v + n } else { v }).clamp(low, high),
    };
    let (mut at, end) = match step > 0 {
        true => (bound(start, low), bound(stop, high)),
        false => (bound(start, high), bound(stop, low)),
    };
    let mut indices = Vec::new();
    while (step > 0 && at < end) || (step < 0 && at > end) {
        indices.push(at as usize);
        at += step;
    }
    indices
}

/// A random index of a shape: its items, the shape that results, and per dimension the positions taken.
fn random_index(random: &mut Random, shape: &[usize]) -> (Vec<SliceItem>, Vec<usize>, Vec<Vec<usize>>) {
    let (mut items, mut result, mut taken) = (Vec::new(), Vec::new(), Vec::new());
    let explicit = random.below(shape.len() + 1);
    let ellipsis =
        if explicit < shape.len() || random.chance(4) { Some(random.below(explicit + 1)) } else { None };
    let mut axis = 0;
    for number in 0..=explicit {
        if ellipsis == Some(number) && (random.chance(2) || number < explicit) {
            items.push(SliceItem::Ellipsis);
            for &extent in &shape[axis..axis + shape.len() - explicit] {
                result.push(extent);
                taken.push((0..extent).collect());
            }
            axis += shape.len() - explicit;
        }
        if number == explicit {
            break;
        }
        if random.chance(6) {
            items.push(SliceItem::NewAxis);
            result.push(1);
        }
        let extent = shape[axis];
        if extent > 0 && random.chance(4) {
            let index = random.below(2 * extent) as isize - extent as isize;
            items.push(SliceItem::Index(index));
            taken.push(vec![(index + if index < 0 { extent as isize } else { 0 }) as usize]);
        } else {
            let mut bound =
                || (!random.chance(3)).then(|| random.below(3 * extent + 4) as isize - extent as isize - 2);
            let (start, stop) = (bound(), bound());
            let step = *random.pick(&[1, 1, 2, 3, -1, -2, -5, 7]);
            items.push(SliceItem::Slice { start, stop, step });
            let indices = enumerate(start, stop, step, extent);
            result.push(indices.len());
            taken.push(indices);
        }
        axis += 1;
    }
    // Dimensions that no item names are taken whole.
    for &extent in &shape[axis..] {
        result.push(extent);
        taken.push((0..extent).collect());
    }
    (items, result, taken)
}

/// Positions, in row-major order, of the elements taken.
fn positions(shape: &[usize], taken: &[Vec<usize>]) -> Vec<usize> {
    shape.iter().zip(taken).fold(vec![0], |flat, (&extent, indices)| {
        flat.iter().flat_map(|&f| indices.iter().map(move |&i| f * extent + i)).collect()
    })
}

fn random_slices(device: &Device) -> Check {
    let queue = device.queue()?;
    let mut random = Random::named("slices");
    for _ in 0..SLICES {
        let shape: Vec<usize> = (0..random.below(5)).map(|_| random.below(8)).collect();
        let len: usize = shape.iter().product();
        let values: Vec<Scalar> = (0..len as i32).map(Scalar::I32).collect();
        let form = *random.pick(&Form::DISTINCT);
        let (array, _) = place(&queue, &shape, Dtype::I32, &values, form)?;
        let (items, result, taken) = random_index(&mut random, &shape);
        let what = format!("{form:?} of {shape:?} at {items:?}");
        let view = match array.slice(&items) {
            Ok(view) => view,
            Err(error) => wrong!("{what}: {error}"),
        };
        ensure!(view.shape() == result, "{what}: shape {:?}, expected {result:?}", view.shape());
        let expected: Vec<Scalar> = positions(&shape, &taken).into_iter().map(|i| values[i]).collect();
        expect(&what, &view.copy_in(Order::C)?, &expected)?;
        // A slice of a slice, through an operation.
        let doubled = view.flip(None)?.binary(Op::Add, &view.flip(None)?)?.flip(None)?;
        let expected: Vec<Scalar> =
            positions(&shape, &taken).into_iter().map(|i| Scalar::I32(2 * i as i32)).collect();
        expect(&format_args!("twice {what}"), &doubled, &expected)?;
    }
    Ok(())
}

/// What is assigned to a slice arrives there, and nowhere else.
fn assignment(device: &Device) -> Check {
    let queue = device.queue()?;
    let mut random = Random::named("assignment");
    for _ in 0..SLICES / 2 {
        let shape: Vec<usize> = (0..1 + random.below(3)).map(|_| 1 + random.below(8)).collect();
        let len: usize = shape.iter().product();
        let mut values: Vec<Scalar> = (0..len as i32).map(Scalar::I32).collect();
        let form = *random.pick(&Form::DISTINCT);
        let (array, _) = place(&queue, &shape, Dtype::I32, &values, form)?;
        let (items, result, taken) = random_index(&mut random, &shape);
        let source: Vec<Scalar> =
            (0..result.iter().product::<usize>() as i32).map(|i| Scalar::I32(1000 + i)).collect();
        let (new, _) = place(&queue, &result, Dtype::I32, &source, *random.pick(&Form::DISTINCT))?;
        array.slice(&items)?.assign(&new)?;
        for (position, value) in positions(&shape, &taken).into_iter().zip(source) {
            values[position] = value;
        }
        expect(&format_args!("{form:?} of {shape:?} after assignment at {items:?}"), &array, &values)?;
    }
    Ok(())
}

fn errors(device: &Device) -> Check {
    let queue = device.queue()?;
    let values: Vec<Scalar> = (0..12).map(Scalar::I32).collect();
    let (x, _) = place(&queue, &[3, 4], Dtype::I32, &values, Form::C)?;
    let all = SliceItem::Slice { start: None, stop: None, step: 1 };
    for index in [3, -4, isize::MAX, isize::MIN] {
        let outcome = x.slice(&[SliceItem::Index(index)]);
        ensure!(matches!(outcome, Err(Error::OutOfBounds(_))), "index {index} of 3: {outcome:?}");
    }
    let outcome = x.slice(&[all, all, all]);
    ensure!(matches!(outcome, Err(Error::Axis(_))), "three items for two dimensions: {outcome:?}");
    let outcome = x.slice(&[SliceItem::Slice { start: None, stop: None, step: 0 }]);
    ensure!(matches!(outcome, Err(Error::Value(_))), "step 0: {outcome:?}");
    let outcome = x.slice(&[SliceItem::Ellipsis, SliceItem::Ellipsis]);
    ensure!(matches!(outcome, Err(Error::Value(_))), "two ellipses: {outcome:?}");
    Ok(())
}
