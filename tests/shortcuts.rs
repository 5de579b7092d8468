//! Shapes that have shorter ways through the host's kernels, against plain loops: slices of one array, short rows of each against
//! each, products of few rows or columns, counts between edges, and places of sorted rows.

// In `s![1..-1]` an end below zero counts from the array's, which a range of Rust's would not.
#![allow(clippy::reversed_empty_ranges)]

use stridewise::prelude::*;

/// Numbers in no order, of a few digits, so that sums of products are exact.
fn number(i: usize) -> f64 {
    ((i * 7919 + 13) % 101) as f64 - 50.0
}

fn numbers(shape: &[usize]) -> Result<Array<f64>> {
    Array::from_vec(shape, (0..shape.iter().product()).map(number).collect())
}

#[test]
fn slices_of_one_array() -> Result<()> {
    // Of the second all slices together are more than caches have, and each is not.
    for (rows, columns) in [(3, 3), (4, 70), (50, 65), (1500, 1100)] {
        let a = numbers(&[rows, columns])?;
        let at = |row: usize, column: usize| {
            a.slice(s![
                row as isize..(rows - 2 + row) as isize,
                column as isize..(columns - 2 + column) as isize
            ])
        };
        let across = (at(0, 2)? + at(1, 2)? * 2.0 + at(2, 2)?) - (at(0, 0)? + at(1, 0)? * 2.0 + at(2, 0)?);
        let along = (at(2, 0)? + at(2, 1)? * 2.0 + at(2, 2)?) - (at(0, 0)? + at(0, 1)? * 2.0 + at(0, 2)?);
        let steep = (across.square() + along.square()).sqrt().to_vec()?;
        let value = |i: usize, j: usize| number(i * columns + j);
        for (place, &found) in steep.iter().enumerate() {
            let (i, j) = (place / (columns - 2), place % (columns - 2));
            let x = |row: usize, column: usize| value(i + row, j + column);
            let across = (x(0, 2) + x(1, 2) * 2.0 + x(2, 2)) - (x(0, 0) + x(1, 0) * 2.0 + x(2, 0));
            let along = (x(2, 0) + x(2, 1) * 2.0 + x(2, 2)) - (x(0, 0) + x(0, 1) * 2.0 + x(0, 2));
            assert_eq!(found, (across * across + along * along).sqrt(), "{rows} {columns} {i} {j}");
        }
        // Into a slice of another array, and of the same one.
        let (mut next, same) = (a.copy()?, a.copy()?);
        let inside = |x: &Array<f64>| x.slice(s![1..-1, 1..-1]);
        inside(&next)?.assign(&(at(0, 1)? + at(2, 1)? + at(1, 0)? + at(1, 2)?))?;
        inside(&same)?.assign(&(same.slice(s![..-2, 1..-1])? + same.slice(s![2.., 1..-1])?))?;
        next += 0.0;
        for (place, (found, in_same)) in next.to_vec()?.into_iter().zip(same.to_vec()?).enumerate() {
            let (i, j) = (place / columns, place % columns);
            let edge = i == 0 || j == 0 || i + 1 == rows || j + 1 == columns;
            let sum = |places: &[(usize, usize)]| places.iter().map(|&(i, j)| value(i, j)).sum::<f64>();
            let (all, two) = match edge {
                true => (value(i, j), value(i, j)),
                false => {
                    (sum(&[(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]), sum(&[(i - 1, j), (i + 1, j)]))
                }
            };
            assert_eq!((found, in_same), (all, two), "{rows} {columns} {i} {j}");
        }
    }
    Ok(())
}

#[test]
fn short_rows_of_each_against_each() -> Result<()> {
    for (points, others, width) in [
        (1, 1, 8),
        (3, 70, 8),
        (70, 3, 8),
        (200, 100, 5),
        (9, 300, 3),
        (65, 64, 2),
        (5, 130, 100),
        (40, 40, 1),
    ] {
        let (a, b) = (numbers(&[points, width])?, numbers(&[others, width])? * 2.0);
        let apart = a.expand_dims(1)? - b.expand_dims(0)?;
        let found = apart.square().sum_axis(-1)?;
        let columns = (a.t().copy_in(Order::C)?, b.t().copy_in(Order::C)?);
        let by_columns = (columns.0.expand_dims(2)? - columns.1.expand_dims(1)?).square().sum_axis(0)?;
        // From the end, and of every second.
        let (turned, second) = (a.flip(1)?, numbers(&[others, 2 * width])?.slice(s![.., ..;2])?);
        let further = (turned.expand_dims(1)? - second.expand_dims(0)?).square().sum_axis(-1)?;
        let all = [found.to_vec()?, by_columns.to_vec()?, further.to_vec()?];
        for (i, j) in (0..points).flat_map(|i| (0..others).map(move |j| (i, j))) {
            let sum = |apart: &dyn Fn(usize) -> f64| (0..width).map(|k| apart(k) * apart(k)).sum::<f64>();
            let (own, other) = (i * width, j * width);
            let distance = sum(&|k| number(own + k) - number(other + k) * 2.0);
            let of_turned = sum(&|k| number(own + width - 1 - k) - number(2 * (other + k)));
            let place = i * others + j;
            let found = [all[0][place], all[1][place], all[2][place]];
            assert_eq!(found, [distance, distance, of_turned], "{points} {others} {width} {i} {j}");
        }
    }
    Ok(())
}

#[test]
fn products_of_few_rows_and_columns() -> Result<()> {
    let check = |a: &Array<f64>, b: &Array<f64>| -> Result<()> {
        let (left, right) = (a.to_vec()?, b.to_vec()?);
        let (count, m, k) = (a.len() / (a.shape()[1] * a.shape()[2]), a.shape()[1], a.shape()[2]);
        let n = b.shape()[2];
        let found = a.matmul(b).to_vec()?;
        let narrow = a.astype::<f32>().matmul(&b.astype::<f32>()).to_vec()?;
        for (at, (&found, &narrow)) in found.iter().zip(&narrow).enumerate() {
            let (matrix, i, j) = (at / (m * n), at / n % m, at % n);
            let term = |l: usize| left[(matrix * m + i) * k + l] * right[(matrix * k + l) * n + j];
            let sum: f64 = (0..k).map(term).sum();
            assert_eq!(found, sum, "{count} {m} {k} {n}: {i} {j}");
            // Of so many, `float32` has every sum.
            assert!(k > 2000 || f64::from(narrow) == sum, "{count} {m} {k} {n}: {i} {j}");
        }
        Ok(())
    };
    for (m, k, n) in [(2, 2, 2), (3, 4, 2), (4, 4, 4), (1, 4, 3), (4, 1, 4), (5, 4, 4), (2, 3, 4)] {
        for count in [1, 2, 3000] {
            let (a, b) = (numbers(&[count, m, k])?, numbers(&[count, k, n])?);
            check(&a, &b)?;
            // Columns one after another.
            let turned = numbers(&[count, k, m])?.permute_dims([0, 2, 1])?;
            check(&turned, &b)?;
            check(&a, &numbers(&[count, n, k])?.permute_dims([0, 2, 1])?)?;
        }
    }
    // A vector with a narrow matrix, and back.
    for columns in [1, 2, 3, 5, 8, 9, 16, 17] {
        for rows in [1, 63, 64, 1023, 1025, 4099, 40_000] {
            let (a, b) = (numbers(&[1, 1, rows])?, numbers(&[1, rows, columns])?);
            check(&a, &b)?;
            let wider = numbers(&[1, rows, columns + 3])?.slice(s![.., .., 1..-2])?;
            check(&numbers(&[1, 1, 3 * rows])?.slice(s![.., .., ..;3])?, &wider)?;
            check(&b, &numbers(&[1, columns, 1])?)?;
            check(&b.permute_dims([0, 2, 1])?, &numbers(&[1, rows, 1])?)?;
        }
    }
    let strange = Array::from_vec([2, 2], vec![f64::NAN, 0.0, f64::INFINITY, -0.0])?;
    let product = strange.matmul(&Array::<f64>::full([2, 2], 1.0)?).to_vec()?;
    assert!(product[0].is_nan() && product[2] == f64::INFINITY);
    Ok(())
}

#[test]
fn counts_between_even_edges() -> Result<()> {
    for len in [1, 2, 255, 256, 257, 5000, 70_000] {
        let values: Vec<f64> = (0..len).map(|i| number(i) / 7.0).collect();
        for (bins, range) in [(1, None), (7, None), (64, Some((-3.0, 3.0))), (1000, Some((-50.0, 0.0)))] {
            let (counts, edges) = Array::from_vec([len], values.clone())?.histogram(bins, range)?;
            let (counts, edges) = (counts.to_vec()?, edges.to_vec()?);
            let mut expected = vec![0_i64; bins];
            for &x in values.iter().filter(|&&x| x >= edges[0] && x <= edges[bins]) {
                expected[edges[..bins].partition_point(|&edge| edge <= x) - 1] += 1;
            }
            assert_eq!(counts, expected, "{len} {bins} {range:?}");
        }
        // Of what is recorded, and of what is not finite.
        let recorded = Array::from_vec([len], values.clone())? * 2.0 + 1.0;
        let stored = Array::from_vec([len], values.iter().map(|x| x * 2.0 + 1.0).collect())?;
        assert_eq!(recorded.histogram(9, None)?.0.to_vec()?, stored.histogram(9, None)?.0.to_vec()?);
    }
    let strange = vec![f64::NAN, f64::INFINITY, -f64::INFINITY, 0.0, -0.0, 1.0, 0.5, 1e300, -1e300];
    let counts = Array::from_vec([9], strange)?.histogram(2, Some((0.0, 1.0)))?.0;
    assert_eq!(counts.to_vec()?, [2, 2]);
    Ok(())
}

#[test]
fn places_of_sorted_rows() -> Result<()> {
    for (rows, len) in [(1, 1), (1, 2), (3, 7), (2, 1025), (1, 30_000), (4, 5000)] {
        let values: Vec<f64> = (0..rows * len).map(|i| number(i * i + i) * 0.37).collect();
        let array = Array::from_vec([rows, len], values.clone())?;
        let narrow = array.astype::<f32>();
        let (medians, of_narrow) = (array.median_axis(1)?.to_vec()?, narrow.median_axis(1)?.to_vec()?);
        for row in 0..rows {
            let mut sorted = values[row * len..][..len].to_vec();
            sorted.sort_by(f64::total_cmp);
            let middle = (sorted[(len - 1) / 2] + sorted[len / 2]) / 2.0;
            assert!((medians[row] - middle).abs() <= 1e-12, "{rows} {len}: {} {middle}", medians[row]);
            assert!((f64::from(of_narrow[row]) - middle).abs() <= 1e-5, "{rows} {len}");
        }
        if len > 2 {
            let mut with_nan = values;
            with_nan[len / 2] = f64::NAN;
            let medians = Array::from_vec([rows, len], with_nan)?.median_axis(1)?.to_vec()?;
            assert!(medians[0].is_nan() && medians[1..].iter().all(|x| !x.is_nan()));
        }
    }
    Ok(())
}

#[test]
fn the_middle_of_two_is_their_mean_even_of_infinities() -> Result<()> {
    let inf = f64::INFINITY;
    for (pair, middle) in [
        ([1.0, inf], inf),
        ([-inf, 1.0], -inf),
        ([inf, inf], inf),
        ([-inf, -inf], -inf),
        ([f64::MAX, f64::MAX], f64::MAX),
        ([-f64::MAX, f64::MAX], 0.0),
        ([5e-324, 5e-324], 5e-324),
        ([1.0, 2.0], 1.5),
    ] {
        let array = Array::from_vec([2], pair.to_vec())?;
        assert_eq!([array.median()?, array.nanmedian()?], [middle; 2], "{pair:?}");
    }
    assert!(Array::from_vec([2], vec![-inf, inf])?.median()?.is_nan());
    Ok(())
}
