//! Vectors with small matrices.

use stridewise::prelude::*;
use stridewise::{DtypeKind, s};

use crate::both;
use crate::random::Rng;

/// Products of a vector with matrices that lie in every way, from either side, and row by row.
fn results<T: NumElement>(queue: &Queue, data: &[T]) -> Result<Vec<String>> {
    let memory = Array::<T>::on(queue).from_slice([data.len()], data)?;
    let shaped = |from: usize, extents: &[usize]| {
        let len: usize = extents.iter().product();
        memory.slice(s![from as isize..(from + len) as isize])?.reshape(extents.to_vec())
    };
    let mut results = Vec::new();
    for (rows, columns) in
        [(4, 4), (1, 7), (7, 1), (3, 100), (100, 3), (32, 32), (31, 33), (16, 128), (64, 64), (5, 900)]
    {
        let matrices = [
            shaped(5, &[rows, columns])?,
            shaped(3, &[columns, rows])?.t(),
            shaped(0, &[rows, 2 * columns])?.slice(s![.., ..;2])?,
            shaped(1, &[2 * rows, columns])?.slice(s![..;2, ..])?,
            shaped(0, &[rows, columns])?.slice(s![..;-1, ..;-1])?,
            shaped(2, &[rows + 1, columns + 1])?.slice(s![1.., ..-1])?,
            shaped(7, &[columns])?.broadcast_to([rows, columns])?,
        ];
        let vectors = |len: usize| {
            Ok::<_, Error>([
                shaped(11, &[len])?,
                shaped(0, &[2 * len])?.slice(s![..;-2])?,
                shaped(9, &[len, 1])?.t(),
            ])
        };
        for matrix in &matrices {
            for vector in vectors(rows)? {
                results.push(format!("{:?}", vector.try_matmul(matrix)?.to_vec()?));
            }
            for vector in vectors(columns)? {
                results.push(format!("{:?}", matrix.try_matmul(&vector.t())?.to_vec()?));
                // Of conjugates, which are recorded or not, the order is their own.
                if T::DTYPE.kind() != DtypeKind::Complex {
                    let row = vector.reshape([columns])?;
                    results.push(format!("{:?}", matrix.try_vecdot(&row, -1)?.to_vec()?));
                }
            }
        }
    }
    Ok(results)
}

#[test]
fn vectors_with_matrices() {
    let mut rng = Rng::new(23);
    let numbers: Vec<f64> = (0..12_000).map(|_| rng.below(1 << 30) as f64 / 1024.0 - 3e5).collect();
    both(&numbers, results);
    both(&numbers.iter().map(|&x| x as f32).collect::<Vec<_>>(), results);
    both(&numbers.iter().map(|&x| x as i16).collect::<Vec<_>>(), results);
    both(&numbers.iter().map(|&x| Complex::new(x as f32, 1.0 - x as f32)).collect::<Vec<_>>(), results);
}
