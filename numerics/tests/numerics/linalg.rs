//! Decompositions by their residuals, of matrices of many kinds, dtypes and layouts.

use crate::common::{C, DTYPES, LAYOUTS, M, Random, array, eps, lay, matrices, values};
use stridewise_core::{Dtype, Error, UsmArray};
use stridewise_numerics::linalg::{self, MatrixNorm, QrMode, Tolerance};

/// Multiples of n · eps that a residual has at most.
const MANY: f64 = 10.0;
const SIZES: [usize; 9] = [0, 1, 2, 3, 4, 7, 16, 33, 70];
const SHAPES: [(usize, usize); 12] =
    [(0, 0), (0, 3), (3, 0), (1, 1), (1, 5), (5, 1), (3, 4), (4, 3), (17, 17), (20, 33), (40, 9), (64, 64)];

/// What a matrix is like.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Kind {
    Random,
    /// Rows of very different sizes.
    Graded,
    /// Of rank 1.
    Singular,
    Zero,
    Identity,
}
pub(crate) const KINDS: [Kind; 5] = [Kind::Random, Kind::Graded, Kind::Singular, Kind::Zero, Kind::Identity];

fn matrix(kind: Kind, rows: usize, columns: usize, dtype: Dtype, random: &mut Random) -> Vec<C> {
    let (a, b) = (random.elements(dtype, rows * columns), random.elements(dtype, rows + columns));
    let entry = |i: usize, j: usize| match kind {
        Kind::Random => a[i * columns + j],
        Kind::Graded => a[i * columns + j] * 10_f64.powi(-(i as i32 % 9)),
        Kind::Singular => b[i] * b[rows + j],
        Kind::Zero => C::ZERO,
        Kind::Identity => C::new(f64::from(i == j), 0.0),
    };
    M::new(rows, columns, entry).data
}

/// Every kind, dtype and layout of stacks of two matrices, and single matrices.
pub(crate) fn each(shapes: &[(usize, usize)], kinds: &[Kind], mut check: impl FnMut(&UsmArray, Kind)) {
    for (number, &(m, n)) in shapes.iter().enumerate() {
        for &kind in kinds {
            for dtype in DTYPES {
                let mut random = Random::new(number as u64 + 1);
                let mut stack = matrix(kind, m, n, dtype, &mut random);
                check(&array(&[m, n], &stack, dtype), kind);
                stack.extend(matrix(kind, m, n, dtype, &mut random));
                let stack = array(&[2, m, n], &stack, dtype);
                for layout in 0..LAYOUTS {
                    // Large ones of one layout: the others differ in how they are read only.
                    if m * n < 300 || layout == 1 {
                        check(&lay(&stack, layout), kind);
                    }
                }
            }
        }
    }
}

pub(crate) fn squares() -> Vec<(usize, usize)> {
    SIZES.iter().map(|&n| (n, n)).collect()
}

#[track_caller]
pub(crate) fn small(residual: f64, x: &UsmArray, scale: f64, what: &str) {
    let n = x.shape()[x.ndim() - 2..].iter().copied().max().unwrap_or(0).max(1);
    let bound = MANY * n as f64 * eps(x.dtype()) * scale;
    assert!(residual <= bound, "{what} of {:?} {}: {residual:e} > {bound:e}", x.shape(), x.dtype());
}

#[track_caller]
fn orthonormal(q: &M, x: &UsmArray, what: &str) {
    let product = q.adjoint().times(q);
    small(product.minus(&M::identity(q.columns)).norm(), x, (q.columns as f64).sqrt().max(1.0), what);
}

fn is_upper(r: &M) -> bool {
    (0..r.rows).all(|i| (0..r.columns.min(i)).all(|j| r.at(i, j) == C::ZERO))
}

fn is_decomposition<T: std::fmt::Debug>(outcome: stridewise_core::Result<T>) -> String {
    match outcome {
        Err(error @ Error::Decomposition(_)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn qr_is_orthonormal_and_upper() {
    each(&SHAPES, &KINDS, |x, _| {
        for mode in [QrMode::Reduced, QrMode::Complete] {
            let parts = linalg::qr(x, mode).unwrap();
            assert_eq!((parts.q.dtype(), parts.r.dtype()), (x.dtype(), x.dtype()));
            for ((a, q), r) in matrices(x).iter().zip(matrices(&parts.q)).zip(matrices(&parts.r)) {
                let k = if mode == QrMode::Complete { a.rows } else { a.rows.min(a.columns) };
                assert_eq!((q.columns, r.rows), (k, k));
                small(q.times(&r).minus(a).norm(), x, a.norm(), "QR");
                orthonormal(&q, x, "Q");
                assert!(is_upper(&r) && (0..k.min(r.columns)).all(|i| r.at(i, i).im == 0.0));
            }
        }
    });
}

#[test]
fn lu_is_triangular() {
    each(&SHAPES, &KINDS, |x, _| {
        let parts = linalg::lu(x).unwrap();
        let (p, l, u) = (matrices(&parts.p), matrices(&parts.l), matrices(&parts.u));
        for (number, a) in matrices(x).iter().enumerate() {
            let (p, l, u) = (&p[number], &l[number], &u[number]);
            assert_eq!(p.times(&p.adjoint()).minus(&M::identity(a.rows)).norm(), 0.0);
            assert!(is_upper(u) && is_upper(&l.adjoint()));
            assert!((0..l.columns).all(|i| l.at(i, i) == C::new(1.0, 0.0)));
            small(p.times(&l.times(u)).minus(a).norm(), x, a.norm() * 4.0, "LU");
        }
    });
}

#[test]
fn svd_is_orthonormal_and_sorted() {
    each(&SHAPES, &KINDS, |x, _| {
        let only = values(&linalg::svdvals(x).unwrap());
        for full in [false, true] {
            let parts = linalg::svd(x, full).unwrap();
            assert_eq!(parts.s.dtype(), x.dtype().real_part());
            let (u, vh, s) = (matrices(&parts.u), matrices(&parts.vh), values(&parts.s));
            for (number, a) in matrices(x).iter().enumerate() {
                let (u, vh) = (&u[number], &vh[number]);
                let k = a.rows.min(a.columns);
                let s = &s[number * k..][..k];
                assert!(s.windows(2).all(|pair| pair[0].re >= pair[1].re) && s.iter().all(|s| s.re >= 0.0));
                assert_eq!((u.columns, vh.rows), if full { (a.rows, a.columns) } else { (k, k) });
                let middle = M::diagonal(u.columns, vh.rows, s);
                small(u.times(&middle).times(vh).minus(a).norm(), x, a.norm(), "SVD");
                orthonormal(u, x, "U");
                orthonormal(&vh.adjoint(), x, "V");
                for (one, other) in s.iter().zip(&only[number * k..]) {
                    small((one - other).norm(), x, a.norm(), "singular values alone");
                }
            }
        }
    });
}

/// The Hermitian part of matrices, or their product with their adjoint and a bit more, which is positive definite.
fn symmetric(x: &UsmArray, positive: bool) -> UsmArray {
    let parts = matrices(x).into_iter().map(|a| {
        let b = a.adjoint();
        let c =
            if positive { a.times(&b) } else { M::new(a.rows, a.columns, |i, j| a.at(i, j) + b.at(i, j)) };
        M::new(a.rows, a.columns, |i, j| c.at(i, j) + C::new(f64::from(positive && i == j) * 0.5, 0.0)).data
    });
    array(x.shape(), &parts.flatten().collect::<Vec<C>>(), x.dtype())
}

#[test]
fn eigh_is_orthonormal_and_sorted() {
    each(&squares(), &KINDS, |x, _| {
        let x = &symmetric(x, false);
        let parts = linalg::eigh(x).unwrap();
        assert_eq!(
            (parts.eigenvalues.dtype(), parts.eigenvectors.dtype()),
            (x.dtype().real_part(), x.dtype())
        );
        let (w, v) = (values(&parts.eigenvalues), matrices(&parts.eigenvectors));
        let only = values(&linalg::eigvalsh(x).unwrap());
        for (number, a) in matrices(x).iter().enumerate() {
            let n = a.rows;
            let (w, v) = (&w[number * n..][..n], &v[number]);
            assert!(w.windows(2).all(|pair| pair[0].re <= pair[1].re));
            let residual = a.times(v).minus(&v.times(&M::diagonal(n, n, w)));
            small(residual.norm(), x, a.norm(), "eigenvectors");
            orthonormal(v, x, "eigenvectors");
            for (one, other) in w.iter().zip(&only[number * n..]) {
                small((one - other).norm(), x, a.norm(), "eigenvalues alone");
            }
        }
    });
}

#[test]
fn cholesky_is_triangular_or_refused() {
    each(&squares(), &KINDS, |x, _| {
        let x = &symmetric(x, true);
        for upper in [false, true] {
            let factor = linalg::cholesky(x, upper).unwrap();
            for (a, l) in matrices(x).iter().zip(matrices(&factor)) {
                let l = if upper { l.adjoint() } else { l };
                assert!(is_upper(&l.adjoint()));
                small(l.times(&l.adjoint()).minus(a).norm(), x, a.norm(), "Cholesky");
            }
        }
    });
    for dtype in DTYPES {
        for bad in [-1.0, 0.0, f64::NAN] {
            let mut stack: Vec<C> = [M::identity(3).data, M::identity(3).data].concat();
            stack[9 + 8] = C::new(bad, 0.0);
            let text = is_decomposition(linalg::cholesky(&array(&[2, 3, 3], &stack, dtype), false));
            assert!(text.contains("positive definite, the matrix at [1]"), "{text}");
        }
    }
}

#[test]
fn solutions_and_inverses_fit() {
    each(&squares(), &[Kind::Random, Kind::Graded, Kind::Identity], |x, _| {
        let inverse = linalg::inv(x).unwrap();
        let n = x.shape()[x.ndim() - 1];
        for k in [0, 1, 3] {
            let mut shape = x.shape().to_vec();
            *shape.last_mut().unwrap() = k;
            let count = shape.iter().product();
            let b = array(&shape, &Random::new(9).elements(x.dtype(), count), x.dtype());
            let solution = linalg::solve(x, &b).unwrap();
            assert_eq!(solution.shape(), shape);
            for ((a, b), y) in matrices(x).iter().zip(matrices(&b)).zip(matrices(&solution)) {
                small(a.times(&y).minus(&b).norm(), x, a.norm() * y.norm(), "solution");
            }
        }
        for (a, b) in matrices(x).iter().zip(matrices(&inverse)) {
            // The size of the inverse tells the condition.
            small(a.times(&b).minus(&M::identity(n)).norm(), x, a.norm() * b.norm(), "inverse");
        }
    });
}

#[test]
fn stacks_of_solutions_are_broadcast() {
    let dtype = Dtype::F64;
    let mut random = Random::new(4);
    let a = array(&[3, 1, 4, 4], &random.elements(dtype, 48), dtype);
    let b = array(&[2, 4, 2], &random.elements(dtype, 16), dtype);
    let solution = linalg::solve(&a, &b).unwrap();
    assert_eq!(solution.shape(), [3, 2, 4, 2]);
    let full = a.matmul(&solution).unwrap();
    let wanted = values(&b.broadcast_to(&[3, 2, 4, 2]).unwrap());
    assert!(values(&full).iter().zip(wanted).all(|(x, y)| (x - y).norm() < 1e-12));
    // A vector is one for each matrix.
    let c = array(&[4], &random.elements(dtype, 4), dtype);
    assert_eq!(linalg::solve(&a, &c).unwrap().shape(), [3, 1, 4]);
    for wrong in [
        array(&[5], &random.elements(dtype, 5), dtype),
        array(&[2, 2, 4, 1], &random.elements(dtype, 16), dtype),
    ] {
        assert!(matches!(linalg::solve(&a, &wrong), Err(Error::Shape(_))));
    }
    // Dtypes are promoted.
    let single = b.astype(Dtype::C64).unwrap();
    assert_eq!(linalg::solve(&a, &single).unwrap().dtype(), Dtype::C128);
}

#[test]
fn what_is_singular_is_refused() {
    each(&[(1, 1), (2, 2), (3, 3), (8, 8)], &[Kind::Zero], |x, _| {
        assert!(is_decomposition(linalg::inv(x)).contains("singular"));
        assert!(is_decomposition(linalg::solve(x, x)).contains("`x1`"));
        assert!(values(&linalg::det(x).unwrap()).iter().all(|det| *det == C::ZERO));
        let parts = linalg::slogdet(x).unwrap();
        assert!(values(&parts.sign).iter().all(|sign| *sign == C::ZERO));
        assert!(values(&parts.logabsdet).iter().all(|log| log.re == f64::NEG_INFINITY));
        for norm in [1.0, -1.0, 2.0, f64::INFINITY] {
            let number = values(&linalg::cond(x, norm).unwrap());
            assert!(number.iter().all(|number| number.re == f64::INFINITY), "{norm} {number:?}");
        }
    });
    // A column that is zero from the diagonal on, with others after it.
    let gap = [1.0, 2.0, 3.0, 2.0, 4.0, 1.0, 1.0, 2.0, 9.0].map(|x| C::new(x, 0.0));
    for dtype in DTYPES {
        let x = array(&[3, 3], &gap, dtype);
        assert_eq!(values(&linalg::det(&x).unwrap()), [C::ZERO]);
        let parts = linalg::lu(&x).unwrap();
        let product = parts.p.matmul(&parts.l).unwrap().matmul(&parts.u).unwrap();
        assert_eq!(values(&product), gap);
    }
    let stack: Vec<C> = [M::identity(2).data, vec![C::new(1.0, 0.0); 4]].concat();
    let stack = array(&[1, 2, 2, 2], &stack, Dtype::F64);
    assert!(is_decomposition(linalg::inv(&stack)).contains("the matrix at [0, 1]"));
}

#[test]
fn what_is_not_finite_is_refused_by_iterations() {
    for dtype in DTYPES {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut elements = M::identity(4).data;
            elements[5] = C::new(bad, 0.0);
            let x = array(&[4, 4], &elements, dtype);
            for text in [
                is_decomposition(linalg::svd(&x, true)),
                is_decomposition(linalg::svdvals(&x)),
                is_decomposition(linalg::eig(&x)),
                is_decomposition(linalg::eigvals(&x)),
                is_decomposition(linalg::eigh(&x)),
                is_decomposition(linalg::eigvalsh(&x)),
                is_decomposition(linalg::pinv(&x, Tolerance::Rounding)),
            ] {
                assert!(text.contains("NaN or infinite"), "{text}");
            }
        }
    }
}

#[test]
fn determinants_agree_with_a_product() {
    each(&squares(), &[Kind::Random, Kind::Graded, Kind::Identity], |x, _| {
        let (det, parts) = (values(&linalg::det(x).unwrap()), linalg::slogdet(x).unwrap());
        let (sign, log) = (values(&parts.sign), values(&parts.logabsdet));
        for (number, (u, p)) in
            matrices(&linalg::lu(x).unwrap().u).iter().zip(matrices(&linalg::lu(x).unwrap().p)).enumerate()
        {
            let n = u.rows;
            let mut order: Vec<usize> =
                (0..n).map(|j| (0..n).position(|i| p.at(i, j).re == 1.0).unwrap()).collect();
            let mut swaps = 0;
            for i in 0..n {
                while order[i] != i {
                    let j = order[i];
                    order.swap(i, j);
                    swaps += 1;
                }
            }
            let product: C =
                (0..n).map(|i| u.at(i, i)).product::<C>() * if swaps % 2 == 1 { -1.0 } else { 1.0 };
            // Of single precision, those that it does not have are 0 or infinite.
            if eps(x.dtype()) > f64::EPSILON && product.norm() > f64::from(f32::MAX) {
                assert!(!det[number].is_finite(), "{:?} {}", x.shape(), x.dtype());
                continue;
            }
            let least = if eps(x.dtype()) == f64::EPSILON { 0.0 } else { f64::from(f32::MIN_POSITIVE) };
            small((det[number] - product).norm() - least, x, product.norm(), "determinant");
            let told = sign[number] * log[number].re.exp();
            small((told - product).norm(), x, product.norm() * 10.0, "sign and logarithm");
        }
    });
    // Products that overflow, or vanish, on the way only.
    let sizes = [1e200, 1e200, 1e-200, 1e-199, 1e300, 1e-300].map(|size| C::new(size, 0.0));
    let x = array(&[6, 6], &M::diagonal(6, 6, &sizes).data, Dtype::F64);
    assert!((values(&linalg::det(&x).unwrap())[0].re / 10.0 - 1.0).abs() < 1e-14);
    let x = array(&[2, 2], &M::diagonal(2, 2, &sizes[..2]).data, Dtype::F64);
    assert_eq!(values(&linalg::det(&x).unwrap())[0].re, f64::INFINITY);
}

#[test]
fn pseudo_inverses_have_their_properties() {
    let shapes: Vec<_> = SHAPES.iter().copied().filter(|&(m, n)| m * n < 1000).collect();
    each(&shapes, &[Kind::Random, Kind::Singular, Kind::Zero, Kind::Identity], |x, kind| {
        let inverse = linalg::pinv(x, Tolerance::Rounding).unwrap();
        let rank = values(&linalg::matrix_rank(x, Tolerance::Rounding).unwrap());
        for (number, (a, b)) in matrices(x).iter().zip(matrices(&inverse)).enumerate() {
            let least = a.rows.min(a.columns);
            let wanted = match kind {
                Kind::Zero => 0,
                Kind::Singular => least.min(1),
                _ => least,
            };
            assert_eq!(rank[number].re, wanted as f64, "{kind:?} {:?}", x.shape());
            let scale = a.norm() * a.norm() * b.norm();
            small(a.times(&b).times(a).minus(a).norm(), x, scale, "A A⁺ A");
            small(b.times(a).times(&b).minus(&b).norm(), x, b.norm() * b.norm() * a.norm(), "A⁺ A A⁺");
            let product = a.times(&b);
            small(product.minus(&product.adjoint()).norm(), x, a.norm() * b.norm(), "A A⁺");
        }
    });
}

#[test]
fn tolerances_are_numbers_or_one_for_each_matrix() {
    let numbers = [1.0, 1e-3, 1e-6].map(|size| C::new(size, 0.0));
    let one = M::diagonal(3, 3, &numbers).data;
    let x = array(&[2, 3, 3], &[one.clone(), one].concat(), Dtype::F64);
    let rank = |tolerance: Tolerance<'_>| {
        values(&linalg::matrix_rank(&x, tolerance).unwrap()).iter().map(|r| r.re).collect::<Vec<_>>()
    };
    assert_eq!(rank(Tolerance::Rounding), [3.0, 3.0]);
    assert_eq!(rank(1e-4.into()), [2.0, 2.0]);
    let each = array(&[2], &[C::new(1e-2, 0.0), C::new(1e-9, 0.0)], Dtype::F64);
    assert_eq!(rank((&each).into()), [1.0, 3.0]);
    let inverse = linalg::pinv(&x, &each).unwrap();
    assert_eq!((matrices(&inverse)[0].at(1, 1).re, matrices(&inverse)[1].at(1, 1).re.round()), (0.0, 1000.0));
}

#[test]
fn least_squares_come_nearest() {
    let shapes = [(1, 1), (5, 2), (2, 5), (9, 9), (30, 7)];
    each(&shapes, &[Kind::Random, Kind::Singular], |x, _| {
        let (m, dtype) = (x.shape()[x.ndim() - 2], x.dtype());
        let mut shape = x.shape().to_vec();
        *shape.last_mut().unwrap() = 2;
        let b = array(&shape, &Random::new(5).elements(dtype, shape.iter().product()), dtype);
        let found = linalg::lstsq(x, &b, Tolerance::Rounding).unwrap();
        let residuals = values(&found.residuals);
        for (number, (a, b)) in matrices(x).iter().zip(matrices(&b)).enumerate() {
            let y = &matrices(&found.solution)[number];
            let rest = a.times(y).minus(&b);
            // What is left is orthogonal to all columns.
            small(a.adjoint().times(&rest).norm(), x, a.norm() * (a.norm() * y.norm() + b.norm()), "lstsq");
            let squares: f64 = rest.data.iter().map(|element| element.norm_sqr()).sum();
            let told = residuals[number * 2].re + residuals[number * 2 + 1].re;
            small((squares - told).abs(), x, (a.norm() * y.norm() + b.norm()).powi(2), "residuals");
        }
        let vector = array(&[m], &Random::new(6).elements(dtype, m), dtype);
        let solution = linalg::lstsq(x, &vector, Tolerance::Rounding).unwrap().solution;
        assert_eq!(solution.ndim(), x.ndim() - 1);
    });
}

#[test]
fn exponentials_by_eigenvalues() {
    each(&squares(), &KINDS, |x, _| {
        let x = &symmetric(x, false);
        let parts = linalg::eigh(x).unwrap();
        let (w, v) = (values(&parts.eigenvalues), matrices(&parts.eigenvectors));
        for (number, found) in matrices(&linalg::expm(x).unwrap()).iter().enumerate() {
            let n = found.rows;
            let grown: Vec<C> = w[number * n..][..n].iter().map(|w| w.exp()).collect();
            let wanted = v[number].times(&M::diagonal(n, n, &grown)).times(&v[number].adjoint());
            let size = matrices(x)[number].norm();
            small(found.minus(&wanted).norm(), x, wanted.norm() * (1.0 + size) * 4.0, "exponential");
        }
    });
    let turn = array(&[2, 2], &[0.0, -1.0, 1.0, 0.0].map(|x| C::new(x * 100.0, 0.0)), Dtype::F64);
    let found = matrices(&linalg::expm(&turn).unwrap()).remove(0);
    assert!(
        (found.at(0, 0).re - 100_f64.cos()).abs() < 1e-12
            && (found.at(1, 0).re - 100_f64.sin()).abs() < 1e-12
    );
    let nan = array(&[1, 1], &[C::new(f64::NAN, 0.0)], Dtype::F32);
    assert!(values(&linalg::expm(&nan).unwrap())[0].re.is_nan());
}

#[test]
fn norms_powers_and_products_of_kronecker() {
    let x = array(&[2, 2], &[1.0, -2.0, 3.0, 4.0].map(|x| C::new(x, 0.0)), Dtype::F64);
    let norm = |norm: MatrixNorm| values(&linalg::matrix_norm(&x, norm, false).unwrap())[0].re;
    assert_eq!(
        [1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY].map(|order| norm(order.into())),
        [6.0, 4.0, 7.0, 3.0]
    );
    assert!((norm(MatrixNorm::Frobenius) - 30_f64.sqrt()).abs() < 1e-14);
    let (most, least) = (norm(2.0.into()), norm(MatrixNorm::Order(-2.0)));
    assert!((most * least - 10.0).abs() < 1e-13 && (norm(MatrixNorm::Nuclear) - most - least).abs() < 1e-13);
    assert!((values(&linalg::cond(&x, 2.0).unwrap())[0].re - most / least).abs() < 1e-13);
    assert!(matches!(linalg::matrix_norm(&x, 3.0, false), Err(Error::Value(_))));
    assert_eq!(linalg::matrix_norm(&x, 2.0, true).unwrap().shape(), [1, 1]);

    let vector = |order: f64| values(&linalg::vector_norm(&x, order, None, false).unwrap())[0].re;
    assert_eq!([0.0, 1.0, f64::INFINITY, f64::NEG_INFINITY].map(vector), [4.0, 10.0, 4.0, 1.0]);
    assert!((vector(3.0) - 100_f64.cbrt()).abs() < 1e-13);

    // Of no elements, the largest magnitude is 0, and there is no smallest one.
    let nothing = array(&[2, 0, 3], &[], Dtype::F32);
    for order in [1.0, 2.0, f64::INFINITY] {
        let norms = linalg::matrix_norm(&nothing, order, false).unwrap();
        assert_eq!((norms.shape(), values(&norms)), (&[2][..], vec![C::new(0.0, 0.0); 2]), "{order}");
        assert!(linalg::matrix_norm(&nothing, -order, false).is_err() || order == 1.0);
    }
    let norms = linalg::vector_norm(&nothing, f64::INFINITY, Some(&[1]), true).unwrap();
    assert_eq!((norms.shape(), values(&norms)), (&[2, 1, 3][..], vec![C::new(0.0, 0.0); 6]));
    assert!(matches!(linalg::vector_norm(&nothing, f64::NEG_INFINITY, None, false), Err(Error::Value(_))));

    for n in [-3, -1, 0, 1, 2, 5] {
        let power = matrices(&linalg::matrix_power(&x, n).unwrap()).remove(0);
        let whole = matrices(&linalg::matrix_power(&x, n.abs()).unwrap()).remove(0);
        let wanted = (0..n.abs()).fold(M::identity(2), |product, _| product.times(&matrices(&x)[0]));
        assert!(whole.minus(&wanted).norm() == 0.0);
        assert!(n >= 0 || power.times(&wanted).minus(&M::identity(2)).norm() < 1e-12);
    }
    let whole = x.astype(Dtype::I32).unwrap();
    assert_eq!(linalg::matrix_power(&whole, 3).unwrap().dtype(), Dtype::I32);
    let row = array(&[3], &[1.0, 0.0, 2.0].map(|x| C::new(x, 0.0)), Dtype::F64);
    let product = linalg::kron(&x, &row).unwrap();
    assert_eq!(product.shape(), [2, 6]);
    assert_eq!(
        values(&product)[..6].iter().map(|x| x.re).collect::<Vec<_>>(),
        [1.0, 0.0, 2.0, -2.0, 0.0, -4.0]
    );
}

#[test]
fn many_small_matrices_are_all_computed() {
    for dtype in DTYPES {
        let count = 3000;
        let x = array(&[count, 4, 4], &Random::new(8).elements(dtype, count * 16), dtype);
        let inverse = matrices(&linalg::inv(&x).unwrap());
        for (a, b) in matrices(&x).iter().zip(&inverse) {
            small(a.times(b).minus(&M::identity(4)).norm(), &x, a.norm() * b.norm(), "inverse");
        }
    }
}

#[test]
fn integers_and_halves_are_converted() {
    let x = array(&[2, 2], &[2.0, 1.0, 1.0, 3.0].map(|x| C::new(x, 0.0)), Dtype::I32);
    assert_eq!(linalg::det(&x).unwrap().dtype(), Dtype::F64);
    let half = x.astype(Dtype::F16).unwrap();
    let inverse = linalg::inv(&half).unwrap();
    assert_eq!(inverse.dtype(), Dtype::F16);
    assert!((values(&inverse)[0].re - 0.6).abs() < 1e-3);
    for wrong in [array(&[2], &[C::ZERO; 2], Dtype::F64), array(&[], &[C::ZERO], Dtype::F64)] {
        assert!(matches!(linalg::det(&wrong), Err(Error::Axis(_))));
        assert!(matches!(linalg::matrix_power(&wrong, 2), Err(Error::Axis(_))));
    }
    assert!(matches!(linalg::inv(&array(&[2, 3], &[C::ZERO; 6], Dtype::F64)), Err(Error::Shape(_))));
}

/// Below the diagonal of ones, ones, and a first column so small that its reciprocal is infinite: the factors are those of the
/// matrix with ones there, but for that column.
#[test]
fn pivots_without_a_reciprocal_divide() {
    for n in [1, 2, 3, 4, 8, 9, 20] {
        for dtype in DTYPES {
            let least = if eps(dtype) == f64::EPSILON { 1e-310 } else { 1e-39 };
            let entry = |i: usize, j: usize| match (i, j) {
                (_, 0) => C::new(least, 0.0),
                (i, j) => C::new(f64::from(u8::from(j <= i)), 0.0),
            };
            let x = array(&[n, n], &M::new(n, n, entry).data, dtype);
            let det = values(&linalg::det(&x).unwrap())[0];
            assert!((det.re / least - 1.0).abs() < 1e-3 && det.im == 0.0, "{n} {dtype}: {det}");
            let log = values(&linalg::slogdet(&x).unwrap().logabsdet)[0].re;
            assert!((log - least.ln()).abs() < 1e-2, "{n} {dtype}: {log}");
        }
    }
}

/// A number times a reciprocal is not always the quotient: 49 times that of 49 is less than 1.
#[test]
fn real_solutions_are_quotients() {
    for k in 1..200 {
        for (n, dtype) in [(1, Dtype::F64), (3, Dtype::F32), (8, Dtype::F64)] {
            let entry = |i: usize, j: usize| C::new(if i == j { f64::from(k) } else { 0.0 }, 0.0);
            let x = array(&[n, n], &M::new(n, n, entry).data, dtype);
            let sides = array(&[n], &vec![C::new(f64::from(3 * k), 0.0); n], dtype);
            let found = values(&linalg::solve(&x, &sides).unwrap());
            assert!(found.iter().all(|x| *x == C::new(3.0, 0.0)), "{k} {n} {dtype}: {found:?}");
        }
    }
}
