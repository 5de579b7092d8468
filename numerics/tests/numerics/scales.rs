//! Decompositions of very small and very large matrices, of others than their description says, and of what is not finite.

use crate::common::{C, DTYPES, Random, array, eps, values};
use stridewise_core::{DtypeKind, Error, Op, Reduction, UsmArray, Weak};
use stridewise_numerics::linalg::{self, MatrixNorm, QrMode, Tolerance};

/// Powers of ten that the elements of a matrix are multiplied with, as far as the dtype has them.
fn powers(x: &UsmArray) -> impl Iterator<Item = i32> {
    let (least, step) = if eps(x.dtype()) < 1e-10 { (-300, 25) } else { (-33, 3) };
    (least..=-least).step_by(step as usize)
}

/// The matrix times a power of two next to the power of ten: the product is exact, so that the results have to be, too.
fn times(x: &UsmArray, power: i32) -> (UsmArray, i32) {
    let two = (f64::from(power) * std::f64::consts::LOG2_10).round() as i32;
    (by_two(x, two), two)
}

fn by_two(x: &UsmArray, power: i32) -> UsmArray {
    let half = power / 2;
    let factor = |power: i32| Weak::Float(2_f64.powi(power));
    x.binary(Op::Multiply, factor(half)).unwrap().binary(Op::Multiply, factor(power - half)).unwrap()
}

/// The largest difference, over the largest number.
fn difference(a: &UsmArray, b: &UsmArray) -> f64 {
    let (a, b) = (values(a), values(b));
    assert_eq!(a.len(), b.len());
    let most = b.iter().map(|z| z.norm()).fold(f64::MIN_POSITIVE, f64::max);
    a.iter()
        .zip(&b)
        .map(|(x, y)| (x - y).norm() / most)
        .fold(0.0, |m, d| if d > m || d.is_nan() { d } else { m })
}

/// Matrices of every dtype: random, graded by rows, with repeated singular values.
fn matrices(m: usize, n: usize) -> Vec<UsmArray> {
    let mut found = Vec::new();
    for dtype in DTYPES {
        let mut random = Random::new(m as u64 * 31 + n as u64);
        let plain = random.elements(dtype, m * n);
        let graded = |at: usize| plain[at] * 10_f64.powi(-(at as i32 / n as i32) % 4);
        found.push(array(&[m, n], &plain, dtype));
        found.push(array(&[m, n], &(0..m * n).map(graded).collect::<Vec<_>>(), dtype));
        let same = |at: usize| C::new(if at % n == at / n { 3.0 } else { 0.0 }, 0.0);
        found.push(array(&[m, n], &(0..m * n).map(same).collect::<Vec<_>>(), dtype));
    }
    found
}

#[test]
fn singular_values_of_every_size_are_those_of_the_matrix_times_it() {
    for (m, n) in [(1, 1), (3, 3), (5, 3), (3, 6), (12, 12)] {
        for x in matrices(m, n) {
            let tolerance = 50.0 * eps(x.dtype());
            let values = linalg::svdvals(&x).unwrap();
            let condition = linalg::cond(&x, 2.0).unwrap();
            let rank = linalg::matrix_rank(&x, Tolerance::Rounding).unwrap();
            let inverse = linalg::pinv(&x, Tolerance::Rounding).unwrap();
            let most = values.reduce(Reduction::Max, None, false).unwrap();
            let spread = crate::common::values(&condition)[0].re;
            for power in powers(&x) {
                let (scaled, two) = times(&x, power);
                let note = format!("{:?} {m} by {n}, 1e{power}", x.dtype());
                let found = linalg::svdvals(&scaled).unwrap();
                assert!(difference(&by_two(&found, -two), &values) < tolerance, "{note}");
                let parts = linalg::svd(&scaled, false).unwrap();
                let s = by_two(&parts.s, -two).astype(x.dtype()).unwrap();
                let product = parts.u.binary(Op::Multiply, &s).unwrap().matmul(&parts.vh).unwrap();
                assert!(difference(&product, &x) < tolerance, "{note}");
                let norm = linalg::matrix_norm(&scaled, 2.0, false).unwrap();
                assert!(difference(&by_two(&norm, -two), &most) < tolerance, "{note}");
                assert!(
                    difference(&linalg::cond(&scaled, 2.0).unwrap(), &condition) < tolerance * spread,
                    "{note}"
                );
                let known =
                    crate::common::values(&linalg::matrix_rank(&scaled, Tolerance::Rounding).unwrap());
                assert_eq!(known, crate::common::values(&rank), "{note}");
                // The inverse of the largest is among the smallest numbers of all.
                if power < 33 || power < 300 && eps(x.dtype()) < 1e-10 {
                    let found = by_two(&linalg::pinv(&scaled, Tolerance::Rounding).unwrap(), two);
                    assert!(difference(&found, &inverse) < tolerance * spread, "{note}");
                }
                let right = scaled.matmul(&x.matrix_transpose().unwrap().conj().unwrap()).unwrap();
                let solution = linalg::lstsq(&scaled, &right, Tolerance::Rounding).unwrap().solution;
                let expected =
                    linalg::lstsq(&x, &by_two(&right, -two), Tolerance::Rounding).unwrap().solution;
                assert!(difference(&solution, &expected) < tolerance * spread, "{note}");
            }
        }
    }
}

#[test]
fn other_decompositions_of_every_size_are_too() {
    for n in [1, 2, 3, 5, 12] {
        for x in matrices(n, n) {
            let tolerance = 100.0 * eps(x.dtype());
            let adjoint = x.matrix_transpose().unwrap().conj().unwrap();
            let hermitian = x.binary(Op::Add, &adjoint).unwrap();
            let eye = UsmArray::eye(x.queue(), n, n, 0, x.dtype(), x.usm_kind()).unwrap();
            let definite = x.matmul(&adjoint).unwrap().binary(Op::Add, &eye).unwrap();
            for power in powers(&x) {
                let note = format!("{:?} {n}, 1e{power}", x.dtype());
                let (scaled, two) = times(&hermitian, power);
                let found = linalg::eigvalsh(&scaled).unwrap();
                let expected = linalg::eigvalsh(&hermitian).unwrap();
                assert!(difference(&by_two(&found, -two), &expected) < tolerance, "{note}");
                let linalg::Eigh { eigenvalues, eigenvectors } = linalg::eigh(&scaled).unwrap();
                let values = by_two(&eigenvalues, -two).astype(x.dtype()).unwrap();
                let product = eigenvectors.binary(Op::Multiply, &values).unwrap();
                let product =
                    product.matmul(&eigenvectors.matrix_transpose().unwrap().conj().unwrap()).unwrap();
                assert!(difference(&product, &hermitian) < tolerance, "{note}");

                let (scaled, two) = times(&definite, power);
                let factor = linalg::cholesky(&scaled, false).unwrap();
                // Of an even power of two the root is exact.
                if two % 2 == 0 {
                    let product = by_two(&factor, -two / 2);
                    let product =
                        product.matmul(&product.matrix_transpose().unwrap().conj().unwrap()).unwrap();
                    assert!(difference(&product, &definite) < tolerance, "{note}");
                }

                let (scaled, two) = times(&x, power);
                for mode in [QrMode::Reduced, QrMode::Complete] {
                    let linalg::Qr { q, r } = linalg::qr(&scaled, mode).unwrap();
                    assert!(difference(&q.matmul(&by_two(&r, -two)).unwrap(), &x) < tolerance, "{note}");
                }
                let linalg::Lu { p, l, u } = linalg::lu(&scaled).unwrap();
                let product = p.matmul(&l).unwrap().matmul(&by_two(&u, -two)).unwrap();
                assert!(difference(&product, &x) < tolerance, "{note}");
            }
        }
    }
}

#[test]
fn the_diagonal_of_a_hermitian_matrix_is_real() {
    for dtype in DTYPES.into_iter().filter(|dtype| dtype.kind() == DtypeKind::Complex) {
        for n in [1, 2, 3, 4, 6, 9, 20] {
            let mut random = Random::new(n as u64);
            let mut given = random.elements(dtype, n * n);
            let mut expected = given.clone();
            for i in 0..n {
                for j in 0..n {
                    let lower = given[i.max(j) * n + i.min(j)];
                    expected[i * n + j] = if j > i { lower.conj() } else { lower };
                }
                expected[i * n + i].im = 0.0;
                given[i * n + i].im = 5.0;
            }
            let (given, expected) = (array(&[n, n], &given, dtype), array(&[n, n], &expected, dtype));
            let tolerance = 50.0 * eps(dtype);
            let values = linalg::eigvalsh(&expected).unwrap();
            assert!(difference(&linalg::eigvalsh(&given).unwrap(), &values) < tolerance, "{n}");
            assert!(difference(&linalg::eigh(&given).unwrap().eigenvalues, &values) < tolerance, "{n}");
            let eye = UsmArray::eye(given.queue(), n, n, 0, dtype, given.usm_kind()).unwrap();
            let more = eye.binary(Op::Multiply, Weak::Float(4.0 * n as f64)).unwrap();
            let [given, expected] = [given, expected].map(|x| x.binary(Op::Add, &more).unwrap());
            for upper in [false, true] {
                let turn = |x: &UsmArray| {
                    if upper { x.matrix_transpose().unwrap().conj().unwrap() } else { x.clone() }
                };
                let found = linalg::cholesky(&turn(&given), upper).unwrap();
                let right = linalg::cholesky(&turn(&expected), upper).unwrap();
                assert!(difference(&found, &right) < tolerance, "{n} {upper}");
            }
        }
    }
}

#[test]
fn what_is_not_finite_is_refused_or_handed_on() {
    for dtype in DTYPES {
        for (bad, n) in [f64::NAN, f64::INFINITY, -f64::INFINITY].into_iter().zip([2, 5, 12]) {
            let mut elements = Random::new(7).elements(dtype, n * n);
            elements[n - 1] = C::new(bad, 0.0);
            elements[n * n - n] = C::new(bad, 0.0);
            let x = array(&[n, n], &elements, dtype);
            let refused =
                |error: Option<Error>| assert!(matches!(error, Some(Error::Decomposition(_))), "{error:?}");
            // Iterations, which would not end.
            refused(linalg::svd(&x, true).err());
            refused(linalg::svdvals(&x).err());
            refused(linalg::eig(&x).err());
            refused(linalg::eigvals(&x).err());
            refused(linalg::eigh(&x).err());
            refused(linalg::eigvalsh(&x).err());
            refused(linalg::pinv(&x, Tolerance::Rounding).err());
            refused(linalg::matrix_rank(&x, Tolerance::Rounding).err());
            refused(linalg::lstsq(&x, &x, Tolerance::Rounding).err());
            refused(linalg::cholesky(&x, false).err());
            // Numbers that describe a matrix.
            let is_lost = |x: &UsmArray| values(x).iter().all(|z| !z.is_finite());
            for norm in [MatrixNorm::Order(2.0), MatrixNorm::Order(-2.0), MatrixNorm::Nuclear] {
                assert!(is_lost(&linalg::matrix_norm(&x, norm, false).unwrap()), "{norm:?}");
            }
            assert!(is_lost(&linalg::cond(&x, 2.0).unwrap()) && is_lost(&linalg::det(&x).unwrap()));
            // What is computed in a number of steps.
            let linalg::Qr { q, r } = linalg::qr(&x, QrMode::Reduced).unwrap();
            assert!(values(&q).iter().all(|z| z.re.is_nan()));
            let upper = values(&r).into_iter().enumerate().filter(|(at, _)| at % n >= at / n);
            assert!(upper.map(|(_, z)| z).all(|z| z.re.is_nan()));
            assert!(values(&linalg::expm(&x).unwrap()).iter().all(|z| z.re.is_nan()));
        }
    }
}

/// The exponential of a matrix of two rows that are a triangle.
fn triangle(a: f64, b: f64, c: f64) -> [f64; 4] {
    let slope = if a == c { a.exp() } else { (a.exp() - c.exp()) / (a - c) };
    [a.exp(), b * slope, 0.0, c.exp()]
}

#[test]
fn the_exponential_of_a_matrix_of_a_large_norm_is_not_squared_too_often() {
    let real = |x: [f64; 4]| x.map(|x| C::new(x, 0.0));
    for (a, b, c) in [
        (0.0, 3.0, 0.0),
        (0.0, 7e7, 0.0),
        (0.0, 1e15, 0.0),
        (0.0, 1e200, 0.0),
        (0.0, 1e308, 0.0),
        (1.0, 5e5, -1.0),
        (1.0, 1e16, -1.0),
        (-1.0, 1e20, -2.0),
        (-3.0, 1e100, 0.5),
        (-700.0, 700.0, -700.0),
    ] {
        for transposed in [false, true] {
            let turn = |x: [f64; 4]| if transposed { [x[0], x[2], x[1], x[3]] } else { x };
            let x = array(&[2, 2], &real(turn([a, b, 0.0, c])), stridewise_core::Dtype::F64);
            let found = values(&linalg::expm(&x).unwrap());
            for (found, right) in found.iter().zip(turn(triangle(a, b, c))) {
                assert!((found.re - right).abs() <= 1e-11 * right.abs(), "{a} {b} {c}: {found}, not {right}");
            }
        }
    }
    // Whose square is zero although no scaling makes them small.
    for size in [1e3, 1e8, 1e16, 1e150] {
        let x = array(&[2, 2], &real([size, -size, size, -size]), stridewise_core::Dtype::F64);
        let right = [1.0 + size, -size, size, 1.0 - size];
        for (found, right) in values(&linalg::expm(&x).unwrap()).iter().zip(right) {
            assert!((found.re - right).abs() <= 1e-12 * right.abs(), "{size}: {found}, not {right}");
        }
    }
    // Pascal's triangle, and rates whose rows' sums are 1 at any time.
    let n = 9;
    let below = |at: usize| C::new(if at / n == at % n + 1 { (at / n) as f64 } else { 0.0 }, 0.0);
    let x = array(&[n, n], &(0..n * n).map(below).collect::<Vec<_>>(), stridewise_core::Dtype::F64);
    let found = values(&linalg::expm(&x).unwrap());
    let binomial =
        |i: usize, j: usize| (0..j).fold(1.0, |product, k| product * (i - k) as f64 / (k + 1) as f64);
    for (at, found) in found.iter().enumerate() {
        let right = if at % n <= at / n { binomial(at / n, at % n) } else { 0.0 };
        assert!((found.re - right).abs() <= 1e-12 * right.max(1.0), "{at}: {found}, not {right}");
    }
    let rates = [-5000.0, 5000.0, 0.0, 0.0, -5500.0, 5500.0, 0.0, 0.0, 0.0].map(|x| C::new(x, 0.0));
    let found = values(&linalg::expm(&array(&[3, 3], &rates, stridewise_core::Dtype::F64)).unwrap());
    for row in found.chunks(3) {
        assert!((row.iter().sum::<C>().re - 1.0).abs() < 1e-10, "{row:?}");
    }
}
