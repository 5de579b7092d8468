//! Indexing by so many places that threads share them, and that they are checked on the way.

use stridewise::{Device, Dtype, Index, IndexMode, Op, Scalar, UsmArray};

use crate::cell::{Case, Check, ensure};
use crate::forms::{Form, expect, place, visible_kind};
use crate::values::Random;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new("indexing::large/f32", large),
        Case::new("indexing::checked/i64", |device| checked(device, Dtype::I64)),
        Case::new("indexing::from_itself/i64", from_itself),
        Case::new("indexing::checked/i8", |device| checked(device, Dtype::I8)),
    ]
}

/// A recorded array that is written at places from itself, by places that are in memory or recorded as well.
fn from_itself(device: &Device) -> Check {
    let queue = device.queue()?;
    let kind = visible_kind(queue.device());
    for len in [5, 3000, 20_000] {
        let count = |n: usize| -> Vec<Scalar> { (0..n).map(|i| Scalar::I64(i as i64)).collect() };
        let row = |numbers: &[Scalar]| place(&queue, &[numbers.len()], Dtype::I64, numbers, Form::C);
        let (numbers, back) = (row(&count(len))?.0, count(len).into_iter().rev().collect::<Vec<_>>());
        let recorded = || numbers.binary(Op::Multiply, Scalar::I64(1));
        let negative = || numbers.binary(Op::Subtract, Scalar::I64(len as i64));
        let name = |what: &str| format!("{len}, {what}");
        for mode in [IndexMode::Check, IndexMode::Wrap, IndexMode::Clip] {
            let a = recorded()?;
            a.put(&numbers, &a.flip(None)?, Some(0), mode)?;
            expect(&name(&format!("{mode:?}")), &a, &back)?;
        }
        let a = recorded()?;
        a.put(&negative()?, &a.flip(None)?, Some(0), IndexMode::Check)?;
        expect(&name("negative places"), &a, &back)?;
        let a = recorded()?;
        a.assign_index(&[Index::Array(negative()?)], &a.flip(None)?)?;
        expect(&name("an index"), &a, &back)?;
        let a = recorded()?;
        a.assign_index(&[Index::Array(a.clone())], &a.flip(None)?)?;
        expect(&name("places of its own"), &a, &back)?;
        let a = recorded()?;
        a.put_along_axis(&negative()?, &a.flip(None)?, 0, IndexMode::Check)?;
        expect(&name("along its axis"), &a, &back)?;
        let a = recorded()?;
        a.assign_masked(&a.binary(Op::GreaterEqual, Scalar::I64(0))?, &a.flip(None)?)?;
        expect(&name("a mask of all"), &a, &back)?;
        let a = UsmArray::zeros(&queue, &[len], Dtype::I64, kind)?.binary(Op::Add, Scalar::I64(1))?;
        a.add_at(&[Index::Array(negative()?)], &a)?;
        expect(&name("sums"), &a, &vec![Scalar::I64(2); len])?;
        let pairs = place(&queue, &[len, 2], Dtype::I64, &count(2 * len), Form::C)?.0;
        let a = pairs.binary(Op::Multiply, Scalar::I64(1))?;
        a.assign_index(&[Index::Array(negative()?)], &a.flip(Some(&[0]))?)?;
        let expected: Vec<Scalar> =
            (0..len).rev().flat_map(|i| [2 * i, 2 * i + 1]).map(|i| Scalar::I64(i as i64)).collect();
        expect(&name("rows"), &a, &expected)?;
    }
    Ok(())
}

/// Many places of a row, in memory in several ways, from the start and from the end; and one of them out of range.
fn checked(device: &Device, dtype: Dtype) -> Check {
    let queue = device.queue()?;
    let mut random = Random::named("checked");
    for (extent, count) in [(1, 500), (100, 3000), (127, 100_000)] {
        let values = random.many(extent, |random| random.any(Dtype::I32));
        let (x, _) = place(&queue, &[extent], Dtype::I32, &values, Form::Reversed)?;
        let named: Vec<isize> =
            (0..count).map(|_| random.below(2 * extent) as isize - extent as isize).collect();
        let expected: Vec<Scalar> =
            named.iter().map(|place| values[place.rem_euclid(extent as isize) as usize]).collect();
        let at = random.below(count);
        for form in [Form::C, Form::Step2, Form::Reversed] {
            let indices = |named: &[isize]| -> Check<UsmArray> {
                let places: Vec<Scalar> =
                    named.iter().map(|&place| Scalar::I64(place as i64).cast(dtype)).collect();
                Ok(place(&queue, &[count], dtype, &places, form)?.0)
            };
            let good = indices(&named)?;
            expect(
                &format_args!("{count} of {extent}, {form:?}"),
                &x.take(&good, Some(0), IndexMode::Check)?,
                &expected,
            )?;
            expect(
                &format_args!("{count} of {extent} by an index, {form:?}"),
                &x.index(&[Index::Array(good)])?,
                &expected,
            )?;
            for outside in [extent as isize, -1 - extent as isize] {
                let mut named = named.clone();
                named[at] = outside;
                let bad = indices(&named)?;
                let found = [x.take(&bad, Some(0), IndexMode::Check), x.index(&[Index::Array(bad)])];
                let refused =
                    found.iter().all(|found| matches!(found, Err(stridewise::Error::OutOfBounds { .. })));
                ensure!(refused, "{count} of {extent}, {form:?}, {outside} at {at}: {found:?}");
            }
        }
    }
    Ok(())
}

/// Arrays that several threads work on.
fn large(device: &Device) -> Check {
    let queue = device.queue()?;
    let mut random = Random::named("large");
    let (rows, columns) = (701, 307);
    let values = random.many(rows * columns, |random| random.moderate(Dtype::F32));
    let (x, _) = place(&queue, &[rows, columns], Dtype::F32, &values, Form::F)?;
    let mask = x.binary(stridewise::Op::Greater, Scalar::F32(0.5))?;
    let positive: Vec<Scalar> = values.iter().copied().filter(|v| v.to_f64() > 0.5).collect();
    expect(&"a mask of many", &x.masked(&mask)?, &positive)?;
    let order: Vec<Scalar> = (0..rows).map(|i| Scalar::I64(((i * 17) % rows) as i64)).collect();
    let (indices, _) = place(&queue, &[rows], Dtype::I64, &order, Form::Step2)?;
    let shuffled = x.take(&indices, Some(0), IndexMode::Check)?;
    let expected: Vec<Scalar> =
        (0..rows * columns).map(|k| values[(k / columns * 17) % rows * columns + k % columns]).collect();
    expect(&"many rows", &shuffled, &expected)?;
    let back = UsmArray::zeros(&queue, &[rows, columns], Dtype::F32, visible_kind(queue.device()))?;
    back.put(&indices, &shuffled, Some(0), IndexMode::Check)?;
    expect(&"many rows, put back", &back, &values)?;
    // Many values for few places: the last stays.
    let bins: Vec<Scalar> = (0..200_000).map(|_| Scalar::I64(random.below(5) as i64)).collect();
    let numbers: Vec<Scalar> = (0..200_000).map(Scalar::I32).collect();
    let (bins_array, _) = place(&queue, &[200_000], Dtype::I64, &bins, Form::C)?;
    let (numbers, _) = place(&queue, &[200_000], Dtype::I32, &numbers, Form::C)?;
    let last = UsmArray::zeros(&queue, &[5], Dtype::I32, visible_kind(queue.device()))?;
    last.put(&bins_array, &numbers, Some(0), IndexMode::Check)?;
    let expected: Vec<Scalar> = (0..5)
        .map(|bin| {
            let found = bins.iter().rposition(|&v| v == Scalar::I64(bin));
            Scalar::I32(found.map_or(0, |i| i as i32))
        })
        .collect();
    expect(&"the last of many", &last, &expected)
}
