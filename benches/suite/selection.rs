//! Sorting, searching, selecting, running sums and products of matrices: what is more than one pass of arithmetic.

use std::cmp::Ordering;

use ndarray::Axis;
use rayon::slice::ParallelSliceMut;
use stridewise::{Index, IndexMode, Side};
use stridewise_limit::Traffic;

use super::data::{Ours, Real, Sample, elements};
use super::{Case, keep};

/// Elements that `top_k` asks for.
const TOP: usize = 8;
/// Elements of the largest matrices that are multiplied: of larger ones, one product takes a second.
const MAX_PRODUCT: usize = 1 << 20;

fn order<T: Real>(a: &T, b: &T) -> Ordering {
    a.partial_cmp(b).unwrap_or(Ordering::Equal)
}

/// The different ones of some values, in order.
fn different<T: Real>(values: &[T]) -> Vec<T> {
    let mut all = values.to_vec();
    all.sort_unstable_by(order);
    all.dedup();
    all
}

pub(super) fn cases<T: Real>() -> Vec<Case<T>> {
    let size = size_of::<T>();
    let mut all = ordered();
    all.extend([
        // Half of the elements are chosen.
        Case::new(("nonzero", "mask"), Traffic::Read, 1 + 4, 1, |x| {
            x.mask.nonzero()?.iter().try_for_each(|places| places.wait())
        })
        .against("iter", |x| {
            let places = x.mask.iter().zip(0_i64..).filter(|(yes, _)| **yes);
            keep(places.map(|(_, place)| place).collect::<Vec<_>>());
        }),
        Case::new(("masked", "mask"), Traffic::Copy, 1 + size + size / 2, 1, |x| x.a.masked(&x.mask)?.wait())
            .against("iter", |x| {
                let chosen = elements(&x.a).iter().zip(&x.mask).filter(|(_, yes)| **yes);
                keep(chosen.map(|(x, _)| *x).collect::<Vec<_>>());
            }),
        Case::new(("take", "any order"), Traffic::Copy, 8 + 2 * size, 1, |x| {
            x.a.take(&x.places, Some(0), IndexMode::Check)?.wait()
        })
        .against("iter", |x| {
            let a = elements(&x.a);
            keep(x.places.iter().map(|&place| a[place]).collect::<Vec<_>>());
        })
        .against("ndarray", |x| keep(x.a.select(Axis(0), &x.places))),
        Case::new(("put", "any order"), Traffic::Copy, 8 + 2 * size, 1, |x| {
            x.out.put(&x.places, &x.a, Some(0), IndexMode::Check)?.wait()
        })
        .against("iter", |x| {
            for (&place, &a) in x.places.iter().zip(elements(&x.a)) {
                x.out[place] = a;
            }
        }),
        Case::new(("add at", "any order"), Traffic::Copy, 8 + 3 * size, 1, |x| {
            x.out.add_at(&[Index::from(&x.places)], &x.a)?;
            x.out.wait()
        })
        .against("iter", |x| {
            for (&place, &a) in x.places.iter().zip(elements(&x.a)) {
                x.out[place] += a;
            }
        }),
        Case::new(("cast", "to int32"), Traffic::Copy, size + 4, 1, |x: &mut Ours<T>| {
            x.a.try_astype::<i32>()?.wait()
        })
        .against("iter", |x| keep(elements(&x.a).iter().map(|x| x.to_i32()).collect::<Vec<_>>())),
        Case::new(("cast", "from int32"), Traffic::Copy, size + 4, 1, |x: &mut Ours<T>| {
            x.ints.try_astype::<T>()?.wait()
        })
        .against("iter", |x| keep(x.ints.iter().map(|&x| T::from_i32(x)).collect::<Vec<_>>())),
        Case::new(("cumulative sum", "all"), Traffic::Copy, 2 * size, 1, |x| x.a.cumulative_sum(0)?.wait())
            .against("iter", |x| {
                let mut sum = T::zero();
                let sums = elements(&x.a).iter().map(|&x| {
                    sum += x;
                    sum
                });
                keep(sums.collect::<Vec<_>>());
            }),
        Case::new(("sum of products", "rows of 8"), Traffic::Read, 2 * size, 2, |x| {
            (&x.a_rows * &x.b_rows).sum_axis(-1)?.wait()
        })
        .against("iter", |x| {
            let rows = elements(&x.a).chunks_exact(8).zip(elements(&x.b).chunks_exact(8));
            let sum = |(a, b): (&[T], &[T])| a.iter().zip(b).fold(T::zero(), |sum, (&a, &b)| sum + a * b);
            keep(rows.map(sum).collect::<Vec<_>>());
        }),
        Case::new(("matmul", "vector, matrix"), Traffic::Read, size, 2, |x| {
            x.row.try_matmul(&x.a_square)?.wait()
        })
        .against("ndarray", |x| keep(x.row.dot(&x.a_square))),
        Case::new(("matmul", "matrix, vector"), Traffic::Read, size, 2, |x| {
            x.a_square.try_matmul(&x.row)?.wait()
        })
        .against("ndarray", |x| keep(x.a_square.dot(&x.row))),
        Case::new(("matmul", "matrices"), Traffic::Triad, 3 * size, 2, |x| {
            x.a_square.try_matmul(&x.b_square)?.wait()
        })
        .against("ndarray", |x| keep(x.a_square.dot(&x.b_square)))
        .up_to(MAX_PRODUCT),
    ]);
    all
}

/// The rows of integers, of which there are few different ones.
pub(super) fn few<T: Sample>() -> Vec<Case<T>> {
    let size = size_of::<T>();
    let sort = |x: &mut Ours<T>| x.a.sort(0, false)?.wait();
    vec![
        Case::new(("sort", "fresh"), Traffic::Copy, 2 * size, 1, sort),
        Case::new(("unique counts", "fresh"), Traffic::Read, size, 1, |x| {
            let (values, counts) = x.a.unique_counts()?;
            values.wait()?;
            counts.wait()
        }),
        Case::new(("cumulative sum", "all"), Traffic::Copy, size + 8, 1, |x| x.a.cumulative_sum(0)?.wait()),
    ]
}

/// The rows of elements of two bytes and one, of which there are few different values.
pub(super) fn short<T: Sample>() -> Vec<Case<T>> {
    let size = size_of::<T>();
    vec![
        Case::new(("sort", "fresh"), Traffic::Copy, 2 * size, 1, |x| x.a.sort(0, false)?.wait()),
        Case::new(("argsort", "fresh"), Traffic::Copy, size + 8, 1, |x| x.a.argsort(0, false)?.wait()),
    ]
}

/// What needs an order of the elements.
fn ordered<T: Real>() -> Vec<Case<T>> {
    let size = size_of::<T>();
    vec![
        Case::new(("sort", "fresh"), Traffic::Copy, 2 * size, 1, |x| x.a.sort(0, false)?.wait())
            .against("iter", |x| {
                let mut sorted = elements(&x.a).to_vec();
                sorted.sort_unstable_by(order);
                keep(sorted);
            })
            .against("rayon", |x| {
                let mut sorted = elements(&x.a).to_vec();
                sorted.par_sort_unstable_by(order);
                keep(sorted);
            })
            .against("voracious", |x| {
                let mut sorted = elements(&x.a).to_vec();
                T::sort_by_digits(&mut sorted, rayon::current_num_threads());
                keep(sorted);
            }),
        Case::new(("argsort", "fresh"), Traffic::Copy, size + 8, 1, |x| x.a.argsort(0, false)?.wait())
            .against("iter", |x| {
                let a = elements(&x.a);
                let mut places: Vec<usize> = (0..a.len()).collect();
                places.sort_by(|&i, &j| order(&a[i], &a[j]));
                keep(places);
            }),
        Case::new(("unique", "fresh"), Traffic::Copy, 2 * size, 1, |x| x.a.unique_values()?.wait())
            .against("iter", |x| keep(different(elements(&x.a)))),
        Case::new(("unique counts", "fresh"), Traffic::Copy, 2 * size, 1, |x| {
            let (values, counts) = x.a.unique_counts()?;
            values.wait()?;
            counts.wait()
        })
        .against("iter", |x| {
            let mut sorted = elements(&x.a).to_vec();
            sorted.sort_unstable_by(order);
            keep(sorted.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect::<Vec<_>>());
        }),
        Case::new(("top_k", "8 of all"), Traffic::Read, size, 1, |x| {
            let (values, places) = x.a.top_k(TOP, None, true)?;
            values.wait()?;
            places.wait()
        })
        .against("iter", |x| {
            let a = elements(&x.a);
            let mut places: Vec<usize> = (0..a.len()).collect();
            let (first, ..) = places.select_nth_unstable_by(TOP, |&i, &j| order(&a[j], &a[i]));
            first.sort_unstable_by(|&i, &j| order(&a[j], &a[i]));
            keep(first.iter().map(|&i| (a[i], i)).collect::<Vec<_>>());
        }),
        Case::new(("searchsorted", "row"), Traffic::Copy, size + 8, 1, |x| {
            x.table.searchsorted(&x.a, Side::Left)?.wait()
        })
        .against("iter", |x| {
            let place = |x: &T, table: &[T]| table.partition_point(|t| t < x);
            keep(elements(&x.a).iter().map(|a| place(a, &x.table)).collect::<Vec<_>>());
        }),
        Case::new(("isin", "row"), Traffic::Copy, size + 1, 1, |x| x.a.isin(&x.row, false)?.wait()).against(
            "iter",
            |x| {
                let has = |a: &T| x.table.binary_search_by(|t| order(t, a)).is_ok();
                keep(elements(&x.a).iter().map(has).collect::<Vec<_>>());
            },
        ),
    ]
}
