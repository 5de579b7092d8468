//! Operands that do not lie as the result does, and are small enough to be gathered.

use stridewise::prelude::*;
use stridewise::s;

use crate::both;
use crate::random::Rng;

/// Differences and comparisons of what lies in every way with what lies in order, and with itself, on either side.
fn results<T: RealElement>(queue: &Queue, data: &[T]) -> Result<Vec<String>> {
    let memory = Array::<T>::on(queue).from_slice([data.len()], data)?;
    let mut results = Vec::new();
    for (rows, columns) in
        [(32, 32), (4, 256), (256, 4), (1, 1024), (341, 3), (32, 64), (33, 64), (2, 1), (1, 2)]
    {
        let len = rows * columns;
        let shaped = |from: usize, extents: &[usize]| {
            let len: usize = extents.iter().product();
            memory.slice(s![from as isize..(from + len) as isize])?.reshape(extents.to_vec())
        };
        let dense = shaped(5, &[rows, columns])?;
        let others = [
            shaped(1, &[columns])?,
            shaped(0, &[rows, 1])?,
            shaped(0, &[1, 1])?,
            shaped(3, &[columns, rows])?.t(),
            shaped(0, &[rows, 2 * columns])?.slice(s![.., ..;2])?,
            shaped(0, &[rows, columns])?.slice(s![..;-1, ..;-1])?,
            shaped(2, &[rows + 1, columns + 1])?.slice(s![1.., ..-1])?,
            shaped(7, &[columns])?.slice(s![..;-1])?.broadcast_to([rows, columns])?,
        ];
        for other in &others {
            for (a, b) in [(&dense, other), (other, &dense), (other, other), (other, &others[0])] {
                for result in [a.try_sub(b)?, a.try_sub(&b.copy()?)?, -(a.try_sub(b)?), -a] {
                    results.push(format!(
                        "{:?} {:?} {:?}",
                        result.shape(),
                        result.strides(),
                        result.to_vec()?
                    ));
                }
                results.push(format!("{:?}", a.try_less(b)?.to_vec()?));
            }
            let (mut kept, first) = (dense.copy()?, data[0]);
            kept.try_sub_assign(other)?;
            results.push(format!("{:?}", (kept.clone() - other).to_vec()?));
            results.push(format!("{:?}", other.try_sub(first)?.to_vec()?));
            results.push(format!("{:?} {len}", kept.to_vec()?));
        }
    }
    Ok(results)
}

#[test]
fn operands_that_are_gathered() {
    let mut rng = Rng::new(17);
    let numbers: Vec<f64> = (0..5000).map(|_| rng.below(1 << 30) as f64 / 1024.0 - 3e5).collect();
    both(&numbers, results);
    both(&numbers.iter().map(|&x| x as f32).collect::<Vec<_>>(), results);
    both(&numbers.iter().map(|&x| x as i64).collect::<Vec<_>>(), results);
}

/// Rows that are repeated, against a loop.
#[test]
fn repeated_rows() {
    for (rows, columns) in [(2, 2), (3, 100), (7, 33), (32, 32), (100, 20), (512, 4), (2, 700), (1000, 2)] {
        let a = Array::<f32>::arange(0.0, (rows * columns) as f32, 1.0).unwrap();
        let a = a.reshape([rows, columns]).unwrap().copy().unwrap();
        let row = (&a.slice(s![0, ..]).unwrap() * 0.5).copy().unwrap();
        let wanted = |f: fn(f32, f32) -> f32| {
            (0..rows * columns).map(move |i| f(i as f32, (i % columns) as f32 * 0.5)).collect::<Vec<_>>()
        };
        assert_eq!((&a - &row).to_vec().unwrap(), wanted(|a, b| a - b));
        assert_eq!((&row - &a).to_vec().unwrap(), wanted(|a, b| b - a));
        let least = a.try_minimum(&row).unwrap().to_vec().unwrap();
        assert_eq!(least, wanted(f32::min));
    }
}

/// What is gathered is held as what is not: a view of the host stands against it, and work under way on it is waited for.
#[test]
fn what_is_gathered_is_held() {
    let a = Array::<f32>::ones([32, 32]).unwrap();
    let large = Array::<f32>::ones([1 << 21]).unwrap().copy().unwrap();
    large.wait().unwrap();
    if large.usm_kind() == UsmKind::Device {
        return;
    }
    let row = large.slice(s![-32..]).unwrap();
    {
        let _view = row.share().view_mut().unwrap();
        assert!(matches!(a.try_add(&row).and_then(|sum| sum.wait()), Err(Error::Borrow(_))));
    }
    for round in 1..20 {
        // Submitted, as it takes long: the row is written last.
        let mut all = large.share();
        all += 1.0;
        let sums = (&a + &row).to_vec().unwrap();
        assert!(sums.iter().all(|&sum| sum == 2.0 + round as f32), "{round}: {:?}", &sums[..2]);
    }
}
