//! Selection and assignment by masks, against naive loops.

use stridewise::{Device, Dtype, Queue, Scalar, ix};

use crate::cell::{Case, Check, ensure, need, short};
use crate::forms::{Form, expect, place, read};
use crate::indexing::{Shown, elements, flat, replaced, small_shape, values_to_write};
use crate::values::Random;

/// Random cases per dtype, operation and device.
const ROUNDS: usize = 40;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &dtype in Dtype::ALL {
        let name = |case: &str| format!("masks::{case}/{}", short(dtype));
        cases.push(Case::new(name("masked"), move |device| masked(device, dtype)));
        cases.push(Case::new(name("assign_masked"), move |device| assign_masked(device, dtype)));
        cases.push(Case::new(name("place_and_compress"), move |device| place_and_compress(device, dtype)));
        cases.push(Case::new(name("nonzero"), move |device| nonzero(device, dtype)));
    }
    cases
}

/// A random mask over the first dimensions of a shape: sparse, dense, all or nothing.
fn random_mask(queue: &Queue, random: &mut Random, shape: &[usize]) -> Check<Shown> {
    let odds = *random.pick(&[1, 2, 5, usize::MAX]);
    let values = random
        .many(shape.iter().product(), |random| Scalar::Bool(odds == 1 || random.bits() % odds as u64 == 0));
    let (array, values) = place(queue, shape, Dtype::Bool, &values, *random.pick(&Form::DISTINCT))?;
    Ok(Shown { array, values })
}

fn holds(value: Scalar) -> bool {
    value.cast(Dtype::Bool) == Scalar::Bool(true)
}

fn masked(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("masked{dtype}"));
    for round in 0..ROUNDS {
        let shape = small_shape(&mut random, 0, 4);
        let x = Shown::new(&queue, &mut random, &shape, dtype, false)?;
        let ndim = random.below(shape.len() + 1);
        let mask = random_mask(&queue, &mut random, &shape[..ndim])?;
        let what = format!("{round}: {:?} where {:?}", x.array, mask.array);
        let result = x.array.masked(&mask.array)?;
        let count = mask.values.iter().filter(|&&v| holds(v)).count();
        let wanted = [&[count], &shape[ndim..]].concat();
        ensure!(result.shape() == wanted, "{what}: shape {:?}, expected {wanted:?}", result.shape());
        let picked = elements(&shape).filter(|index| holds(mask.at(&index[..ndim])));
        let expected: Vec<Scalar> = picked.map(|index| x.at(&index)).collect();
        expect(&what, &result, &expected)?;
        expect(&what, &x.array.index(ix![&mask.array])?, &expected)?;
        if ndim > 0 && ndim < shape.len() {
            // Beside a slice, which leaves the order of dimensions.
            let reversed = x.array.index(ix![&mask.array, ..;-1])?;
            let flipped = x.array.flip(Some(&[ndim as isize]))?.masked(&mask.array)?;
            expect(&format_args!("{what}, reversed"), &reversed, &read(&flipped)?)?;
        }
    }
    Ok(())
}

fn assign_masked(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("assign_masked{dtype}"));
    for round in 0..ROUNDS {
        let shape = small_shape(&mut random, 0, 4);
        let x = Shown::new(&queue, &mut random, &shape, dtype, true)?;
        let ndim = random.below(shape.len() + 1);
        let mask = random_mask(&queue, &mut random, &shape[..ndim])?;
        let count = mask.values.iter().filter(|&&v| holds(v)).count();
        let space = [&[count], &shape[ndim..]].concat();
        let (values, shown) = values_to_write(&queue, &mut random, &space, dtype)?;
        let what = format!("{round}: assign to {:?} where {:?}", x.array, mask.array);
        match &values {
            Some(values) => x.array.assign_masked(&mask.array, values)?,
            None => {
                x.array.assign_masked(&mask.array, *shown.first().unwrap_or(&Scalar::I8(1).cast(dtype)))?
            }
        };
        let mut shown = shown.into_iter();
        let mut expected = x.values.clone();
        for (index, element) in elements(&shape).zip(&mut expected) {
            if holds(mask.at(&index[..ndim]))
                && let Some(value) = shown.next()
            {
                *element = value;
            }
        }
        expect(&what, &x.array, &expected)?;
    }
    Ok(())
}

fn place_and_compress(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("place{dtype}"));
    for round in 0..ROUNDS {
        let shape = small_shape(&mut random, 1, 3);
        let x = Shown::new(&queue, &mut random, &shape, dtype, true)?;
        let mask = random_mask(&queue, &mut random, &shape)?;
        let what = format!("{round}: {:?}, {:?}", x.array, mask.array);
        let picked: Vec<Scalar> =
            x.values.iter().zip(&mask.values).filter(|&(_, &m)| holds(m)).map(|(&v, _)| v).collect();
        expect(&format_args!("extract {what}"), &x.array.extract(&mask.array)?, &picked)?;
        let axis = random.below(shape.len());
        let condition = random_mask(&queue, &mut random, &[random_len(shape[axis])])?;
        let compressed = x.array.compress(&condition.array, Some(axis as isize))?;
        let chosen: Vec<usize> =
            (0..condition.values.len()).filter(|&i| holds(condition.values[i])).collect();
        let expected: Vec<Scalar> = elements(&replaced(&shape, axis, &[chosen.len()]))
            .map(|mut index| {
                index[axis] = chosen[index[axis]];
                x.at(&index)
            })
            .collect();
        expect(&format_args!("compress along {axis} {what}"), &compressed, &expected)?;
        let values = Shown::new(&queue, &mut random, &[1 + round % 7], dtype, false)?;
        x.array.place(&mask.array, &values.array)?;
        let mut cycle = values.values.iter().copied().cycle();
        let expected: Vec<Scalar> = x
            .values
            .iter()
            .zip(&mask.values)
            .map(|(&v, &m)| if holds(m) { cycle.next().unwrap_or(v) } else { v })
            .collect();
        expect(&format_args!("place {what}"), &x.array, &expected)?;
    }
    Ok(())
}

/// Conditions may be shorter than the axis.
fn random_len(extent: usize) -> usize {
    extent - extent / 4
}

fn nonzero(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("nonzero{dtype}"));
    for round in 0..ROUNDS {
        let shape = small_shape(&mut random, 1, 4);
        let values = random.many(shape.iter().product(), |random| match random.below(3) {
            0 => random.any(dtype),
            1 => Scalar::F64(-0.0).cast(dtype),
            _ => Scalar::I8(0).cast(dtype),
        });
        let (x, _) = place(&queue, &shape, dtype, &values, *random.pick(&Form::DISTINCT))?;
        let what = format!("{round}: nonzero of {x:?}");
        let result = x.nonzero()?;
        ensure!(result.len() == shape.len(), "{what}: {} arrays", result.len());
        let found: Vec<Vec<usize>> =
            elements(&shape).filter(|index| holds(values[flat(&shape, index)])).collect();
        for (axis, places) in result.iter().enumerate() {
            let expected: Vec<Scalar> = found.iter().map(|index| Scalar::I64(index[axis] as i64)).collect();
            expect(&format_args!("{what}, axis {axis}"), places, &expected)?;
        }
    }
    Ok(())
}
