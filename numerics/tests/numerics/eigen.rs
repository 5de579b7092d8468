//! Eigenvalues and eigenvectors of any matrices.

use crate::common::{C, DTYPES, M, Random, array, eps, matrices, values};
use crate::linalg::{KINDS, each, small, squares};
use stridewise_core::{Dtype, UsmArray};
use stridewise_numerics::linalg;

#[test]
fn eig_has_vectors_of_length_one() {
    let mut shapes = squares();
    shapes.push((120, 120)); // by blocks
    each(&shapes, &KINDS, |x, _| {
        let parts = linalg::eig(x).unwrap();
        let complex = if eps(x.dtype()) == f64::EPSILON { Dtype::C128 } else { Dtype::C64 };
        assert_eq!((parts.eigenvalues.dtype(), parts.eigenvectors.dtype()), (complex, complex));
        let (w, v) = (values(&parts.eigenvalues), matrices(&parts.eigenvectors));
        let only = values(&linalg::eigvals(x).unwrap());
        for (number, a) in matrices(x).iter().enumerate() {
            let n = a.rows;
            let (w, v) = (&w[number * n..][..n], &v[number]);
            eigenpairs(a, w, v, x, "eigenvectors");
            for j in 0..n {
                let length = (0..n).map(|i| v.at(i, j).norm_sqr()).sum::<f64>().sqrt();
                small((length - 1.0).abs(), x, 1.0, "length");
            }
            // The traces agree, whatever the order is.
            let (all, others): (C, C) = (w.iter().sum(), only[number * n..][..n].iter().sum());
            let trace: C = (0..n).map(|i| a.at(i, i)).sum();
            small((all - trace).norm(), x, a.norm() * 4.0, "sum of eigenvalues");
            small((others - trace).norm(), x, a.norm() * 4.0, "sum of eigenvalues alone");
        }
    });
}

/// Powers of two d with which the rows and columns of `d[i]⁻¹ · a[i, j] · d[j]` are about as long as each other. Only what
/// makes them shorter by a twentieth is done: the chains of a triangle could be made shorter forever.
fn balancing(a: &M) -> Vec<f64> {
    let mut d = vec![1.0; a.rows];
    for _ in 0..20 {
        let before = d.clone();
        for i in 0..a.rows {
            let length =
                |entry: &dyn Fn(usize) -> f64| (0..a.rows).map(entry).map(|x| x * x).sum::<f64>().sqrt();
            let column = length(&|k| a.at(k, i).norm() / d[k] * d[i]);
            let row = length(&|k| a.at(i, k).norm() / d[i] * d[k]);
            let factor = ((row / column).log2() / 2.0).round().exp2();
            if row > 0.0 && column > 0.0 && column * factor + row / factor < 0.95 * (column + row) {
                d[i] *= factor;
            }
        }
        if d == before {
            break;
        }
    }
    d
}

/// Pairs are exact for a matrix next to the balanced one.
#[track_caller]
fn eigenpairs(a: &M, w: &[C], v: &M, x: &UsmArray, what: &str) {
    let (n, d) = (a.rows, balancing(a));
    let balanced = M::new(n, n, |i, j| a.at(i, j) * d[j] / d[i]);
    let v = M::new(n, n, |i, j| v.at(i, j) / d[i]);
    for (j, w) in w.iter().enumerate() {
        let column = M::new(n, 1, |i, _| v.at(i, j));
        let scaled = M::new(n, 1, |i, _| column.at(i, 0) * w);
        let residual = balanced.times(&column).minus(&scaled);
        small(residual.norm(), x, balanced.norm() * column.norm(), what);
    }
}

/// Matrices whose eigenvectors are hard to get, of n rows.
fn hard(n: usize) -> Vec<(&'static str, M)> {
    let one = |is: bool| C::new(f64::from(is), 0.0);
    let random = |seed: u64| {
        let elements = Random::new(seed).elements(Dtype::F64, n * n);
        M::new(n, n, |i, j| elements[i * n + j])
    };
    // Rotations, whose eigenvalues are pairs of conjugates, of all sizes from 1 to 1e-12.
    let size = |i: usize| 10_f64.powi(-(i as i32 / 2 % 13));
    let blocks = M::new(n, n, |i, j| match (i / 2 == j / 2, i.cmp(&j)) {
        (true, std::cmp::Ordering::Less) => one(true) * size(i),
        (true, std::cmp::Ordering::Greater) => one(true) * -size(i),
        _ if i < j => random_like(i, j) * size(i),
        _ => C::ZERO,
    });
    let (a, b) = (random(1), random(2));
    let tiny = |i: usize| 10_f64.powi(-(i as i32 % 11));
    vec![
        ("shift", M::new(n, n, |i, j| one(i + 1 == j))),
        ("shift, transposed", M::new(n, n, |i, j| one(i == j + 1))),
        ("cycle", M::new(n, n, |i, j| one((i + 1) % n == j))),
        (
            "equal rotations in a chain",
            M::new(n, n, |i, j| match (i / 2 == j / 2, i, j) {
                (true, i, j) if i != j => one(true) * if i < j { 1.0 } else { -1.0 },
                (false, i, j) if i + 2 == j => one(true),
                _ => C::ZERO,
            }),
        ),
        ("graded rotations", blocks),
        ("triangle", M::new(n, n, |i, j| if i <= j { a.at(i, j) } else { C::ZERO })),
        ("triangle with equal values", M::new(n, n, |i, j| if i < j { a.at(i, j) } else { one(i == j) })),
        ("graded both ways", M::new(n, n, |i, j| a.at(i, j) * tiny(i) * tiny(j))),
        ("graded, mixed", b.times(&M::new(n, n, |i, j| a.at(i, j) * tiny(i))).times(&b.adjoint())),
        ("skew", a.minus(&a.adjoint())),
        ("companion", M::new(n, n, |i, j| if i == 0 { a.at(0, j) * 1e6 } else { one(i == j + 1) })),
        ("all of 1", M::new(n, n, |_, _| one(true))),
    ]
}

fn random_like(i: usize, j: usize) -> C {
    C::new(((i * 7 + j * 13) % 11) as f64 / 5.0 - 1.0, 0.0)
}

#[test]
fn eig_of_hard_matrices() {
    for n in [2, 3, 5, 8, 33, 90] {
        for (name, matrix) in hard(n) {
            for dtype in DTYPES {
                // Whatever the unit is that the elements are measured in.
                let unit = if eps(dtype) == f64::EPSILON { 1e120 } else { 1e14 };
                for unit in [1.0, unit, 1.0 / unit] {
                    let elements: Vec<C> = matrix.data.iter().map(|x| x * unit).collect();
                    let x = &array(&[n, n], &elements, dtype);
                    let parts = linalg::eig(x).unwrap();
                    let (w, v) = (values(&parts.eigenvalues), &matrices(&parts.eigenvectors)[0]);
                    let own = &matrices(x)[0];
                    let a = M::new(n, n, |i, j| own.at(i, j) / unit);
                    let w: Vec<C> = w.iter().map(|w| w / unit).collect();
                    let what = format!("{name} by {unit:e}");
                    eigenpairs(&a, &w, v, x, &what);
                    for j in 0..n {
                        let length = (0..n).map(|i| v.at(i, j).norm_sqr()).sum::<f64>().sqrt();
                        small((length - 1.0).abs(), x, 1.0, &what);
                    }
                }
            }
        }
    }
}

#[test]
fn small_eigenvalues_of_graded_matrices_are_exact() {
    // Of D · [[2, 1], [1, 3]] · D with D = diag(1, 1e-6): the lesser one is 2.5e-12, to 12 digits that a norm of 2 leaves 4 of.
    let x = array(&[2, 2], &[2.0, 1e-6, 1e-6, 3e-12].map(|x| C::new(x, 0.0)), Dtype::F64);
    let w = values(&linalg::eigvals(&x).unwrap());
    let least = w.iter().map(|w| w.norm()).fold(f64::INFINITY, f64::min);
    assert!((least / 2.5e-12 - 1.0).abs() < 1e-11, "{least:e}");
}
