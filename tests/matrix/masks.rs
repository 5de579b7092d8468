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
    cases.push(Case::new("masks::of_many_parts", of_many_parts));
    cases
}

/// Masks of more elements than are looked at together, over one axis and several, in memory and recorded.
fn of_many_parts(device: &Device) -> Check {
    let queue = device.queue()?;
    let part = 1 << 20;
    for (shape, form) in [
        (vec![part + 77], Form::C),
        (vec![part - 1], Form::Reversed),
        (vec![3, part / 2 + 5], Form::C),
        (vec![2, 3, part / 4 + 1], Form::Rotated),
    ] {
        let len: usize = shape.iter().product();
        // Whole parts without a true element, and some with all.
        let truth =
            |i: usize| if i < part / 4 { true } else { i > len - 1000 || (i % 7 == 3 && i < part / 2) };
        let values: Vec<Scalar> = (0..len).map(|i| Scalar::Bool(truth(i))).collect();
        let (mask, _) = place(&queue, &shape, Dtype::Bool, &values, form)?;
        let picked: Vec<usize> = (0..len).filter(|&i| truth(i)).collect();
        let numbers: Vec<Scalar> = (0..len).map(|i| Scalar::U16(i as u16)).collect();
        let (x, _) = place(&queue, &shape, Dtype::U16, &numbers, form)?;
        let expected: Vec<Scalar> = picked.iter().map(|&i| numbers[i]).collect();
        let what = format!("{shape:?}, {form:?}");
        expect(&what, &x.masked(&mask)?, &expected)?;
        let recorded = mask.unary(stridewise::Op::LogicalNot)?.unary(stridewise::Op::LogicalNot)?;
        expect(&what, &x.unary(stridewise::Op::Copy)?.masked(&recorded)?, &expected)?;
        let (target, _) = place(&queue, &shape, Dtype::U16, &numbers, form)?;
        let backwards: Vec<Scalar> = expected.iter().rev().copied().collect();
        let (values, _) = place(&queue, &[backwards.len()], Dtype::U16, &backwards, Form::C)?;
        target.assign_masked(&mask, &values)?;
        let mut wanted = numbers.clone();
        picked.iter().zip(&backwards).for_each(|(&to, &value)| wanted[to] = value);
        expect(&what, &target, &wanted)?;
        let places = mask.nonzero()?;
        ensure!(places.len() == shape.len(), "{what}: {} arrays", places.len());
        let mut after = len;
        for (axis, places) in places.iter().enumerate() {
            after /= shape[axis];
            let along = |&i: &usize| Scalar::I64((i / after % shape[axis]) as i64);
            expect(
                &format_args!("{what}, axis {axis}"),
                places,
                &picked.iter().map(along).collect::<Vec<_>>(),
            )?;
        }
        // Rows where a mask over the first axes holds.
        if shape.len() == 1 {
            let pairs: Vec<Scalar> = numbers.iter().flat_map(|&v| [v, Scalar::U16(9)]).collect();
            let (table, _) = place(&queue, &[len, 2], Dtype::U16, &pairs, form)?;
            let expected: Vec<Scalar> = expected.iter().flat_map(|&v| [v, Scalar::U16(9)]).collect();
            expect(&what, &table.masked(&mask)?, &expected)?;
        }
    }
    Ok(())
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
