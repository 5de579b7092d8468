//! Sorts, searches, and elements at places and under masks: short plans that are run at once.

use stridewise::Index;
use stridewise::prelude::*;

use crate::both;
use crate::random::Rng;

/// Places in a row, every other one from the end.
fn places(queue: &Queue, len: usize, count: usize) -> Result<Array<i64>> {
    let len = len as i64;
    let place = |i: i64| if i % 2 == 0 { i * 5 % len } else { -1 - i * 3 % len };
    Array::on(queue).from_vec([count], (0..count as i64).map(place).collect::<Vec<_>>())
}

/// The results of passes over rows of some numbers, on a queue: one after another, with gaps, backwards.
fn results<T: RealElement + Reducible>(queue: &Queue, data: &[T]) -> Result<Vec<String>> {
    let base = Array::<T>::on(queue).from_slice([data.len()], data)?;
    let mut results = Vec::new();
    for a in [base.clone(), base.slice(s![1..;2])?, base.slice(s![..;-1])?] {
        let len = a.len();
        let (order, found) = (a.argsort(0, true)?, a.sort(0, false)?);
        results.push(format!("{:?} {:?}", order.to_vec()?, found.to_vec()?));
        let (values, chosen) = a.top_k(len.min(5), None, true)?;
        results.push(format!("{:?} {:?}", values.to_vec()?, chosen.to_vec()?));
        results.push(format!("{:?}", found.searchsorted(&a, Side::Right)?.to_vec()?));
        results.push(format!("{:?}", a.isin(&base.slice(s![..3])?, false)?.to_vec()?));
        let (values, counts) = a.unique_counts()?;
        results.push(format!(
            "{:?} {:?} {:?}",
            a.unique_values()?.to_vec()?,
            values.to_vec()?,
            counts.to_vec()?
        ));
        results.push(format!("{:?}", a.cumulative_sum(0)?.to_vec()?));

        let places = places(queue, len, 2 * len + 1)?;
        results.push(format!("{:?}", a.take(&places, Some(0), IndexMode::Check)?.to_vec()?));
        let mask = a.try_greater(&base.slice(s![0])?)?;
        let (chosen, numbers) = (a.masked(&mask)?, mask.nonzero()?);
        results.push(format!("{:?} {:?}", chosen.to_vec()?, numbers[0].to_vec()?));

        // Written, all and in part.
        let (mut out, first) = (a.copy()?, a.slice(s![..1])?);
        let taken = a.take(&places, Some(0), IndexMode::Check)?;
        out.put(&places, &taken.slice(s![..;-1])?, Some(0), IndexMode::Check)?;
        results.push(format!("{:?}", out.to_vec()?));
        out.assign_masked(&mask, &chosen.slice(s![..;-1])?)?;
        out.assign_masked(&mask.logical_not(), &first)?;
        results.push(format!("{:?}", out.to_vec()?));
        out.add_at(&[Index::from(&places)], &first)?;
        results.push(format!("{:?}", out.to_vec()?));

        // Nothing is written where a place is out of range.
        for far in [len as i64, -1 - len as i64, i64::MAX, i64::MIN] {
            let far = Array::<i64>::on(queue).from_vec([2], vec![0, far])?;
            let before = out.to_vec()?;
            let refused = [
                a.take(&far, Some(0), IndexMode::Check).err(),
                out.put(&far, &first, Some(0), IndexMode::Check).err(),
                out.add_at(&[Index::from(&far)], &first).err(),
            ];
            assert!(refused.iter().all(|error| matches!(error, Some(Error::OutOfBounds(_)))), "{refused:?}");
            assert_eq!(format!("{before:?}"), format!("{:?}", out.to_vec()?));
        }
    }
    Ok(results)
}

#[test]
fn rows_are_passed_over_at_once() {
    for len in [2, 3, 16, 17, 65, 600, 5000] {
        let mut rng = Rng::new(len as u64);
        let data: Vec<f64> = (0..len)
            .map(|_| match rng.below(9) {
                0 => f64::NAN,
                1 => -0.0,
                _ => rng.below(40) as f64 - 20.0,
            })
            .collect();
        both(&data, results);
        both(&data.iter().map(|&x| x as f32).collect::<Vec<_>>(), results);
        both(&data.iter().map(|&x| x as i8).collect::<Vec<_>>(), results);
        both(&data.iter().map(|&x| x as u64).collect::<Vec<_>>(), results);
    }
}
