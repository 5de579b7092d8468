//! Polynomials that come nearest to values: against those they were made of, and by what makes them the nearest.

use crate::common::{C, DTYPES, LAYOUTS, M, Random, array, eps, lay, matrices, values};
use crate::linalg::small;
use stridewise_core::{Array, Dtype, Error, Order, UsmArray, array as numbers};
use stridewise_numerics::linalg::{self, Tolerance};

/// Powers of points, from the highest on, times weights.
fn powers(x: &[C], degree: usize, weights: &[C]) -> M {
    M::new(x.len(), degree + 1, |i, j| x[i].powu((degree - j) as u32) * weights[i])
}

/// Points, values and weights for each of several numbers of points.
fn each(mut check: impl FnMut(&UsmArray, &UsmArray, &UsmArray, usize)) {
    for dtype in DTYPES {
        for (number, (points, degree)) in
            [(1, 0), (5, 0), (2, 1), (9, 1), (7, 3), (6, 5), (40, 4)].into_iter().enumerate()
        {
            let mut random = Random::new(number as u64 + 3);
            let x = array(&[points], &random.elements(dtype, points), dtype);
            let y = array(&[points, 2], &random.elements(dtype, points * 2), dtype);
            let weights: Vec<C> = (0..points).map(|_| C::new(random.number().abs() + 0.5, 0.0)).collect();
            check(&x, &y, &array(&[points], &weights, dtype), degree);
        }
    }
}

#[test]
fn what_is_left_is_orthogonal_to_all_powers() {
    each(|x, y, weights, degree| {
        for (layout, weighted) in (0..LAYOUTS - 1).flat_map(|layout| [(layout, false), (layout, true)]) {
            let given = weighted.then_some(weights);
            let (x, y) = (lay(x, layout), lay(y, layout));
            let found = linalg::polyfit(&x, &y, degree, given, Tolerance::Rounding).unwrap();
            assert_eq!((found.solution.shape(), found.solution.dtype()), (&[degree + 1, 2][..], x.dtype()));
            assert_eq!(values(&found.rank)[0].re, (degree + 1) as f64);
            let ones = vec![C::new(1.0, 0.0); x.len()];
            let factors = if weighted { values(weights) } else { ones };
            let a = powers(&values(&x), degree, &factors);
            let p = matrices(&found.solution).remove(0);
            let b = M::new(x.len(), 2, |i, j| values(&y)[i * 2 + j] * factors[i]);
            let rest = a.times(&p).minus(&b);
            let size = a.norm() * (a.norm() * p.norm() + b.norm());
            // Columns of very different lengths are as good as any other.
            small(a.adjoint().times(&rest).norm(), &a_of(&x), size * 4.0, "rest");
            let told: f64 = values(&found.residuals).iter().map(|value| value.re).sum();
            let size = (a.norm() * p.norm() + b.norm()).powi(2);
            small((told - rest.norm().powi(2)).abs(), &a_of(&x), size * 4.0, "residuals");
            // One row of values has the same coefficients.
            let first = y.slice(&[(..).into(), stridewise_core::SliceItem::Index(0)]).unwrap();
            let alone = linalg::polyfit(&x, &first, degree, given, Tolerance::Rounding).unwrap();
            assert_eq!(alone.solution.shape(), [degree + 1]);
            for (i, value) in values(&alone.solution).into_iter().enumerate() {
                let bound = 1e4 * eps(x.dtype()) * (p.norm() + 1.0);
                assert!((value - p.at(i, 0)).norm() <= bound, "{value} {}", p.at(i, 0));
            }
        }
    });
}

/// Something of two dimensions as long as the points, by which bounds are made.
fn a_of(x: &UsmArray) -> UsmArray {
    x.expand_dims(&[1]).unwrap()
}

#[test]
fn polynomials_are_found_again() {
    for degree in 0..6 {
        for seed in 0..10 {
            let mut random = Random::new(seed * 7 + degree as u64);
            let wanted: Vec<C> = random.elements(Dtype::F64, degree + 1);
            let x = array(&[30], &random.elements(Dtype::F64, 30), Dtype::F64);
            let p = array(&[degree + 1], &wanted, Dtype::F64);
            let found = linalg::polyfit(&x, &p.polyval(&x).unwrap(), degree, None, 1e-14).unwrap();
            for (found, wanted) in values(&found.solution).into_iter().zip(wanted) {
                assert!((found - wanted).norm() < 1e-11, "{found} {wanted}");
            }
        }
    }
}

#[test]
fn covariances_are_those_of_the_normal_equations() {
    each(|x, _, weights, degree| {
        for given in [None, Some(weights)] {
            let found = matrices(&linalg::polyfit_covariance(x, degree, given).unwrap()).remove(0);
            let factors = given.map_or(vec![C::new(1.0, 0.0); x.len()], values);
            let a = powers(&values(x), degree, &factors);
            let product = found.times(&a.adjoint().times(&a));
            // Times the squared condition number, at most.
            let size = found.norm() * a.norm().powi(2);
            let rest = product.minus(&M::identity(degree + 1)).norm();
            small(rest, &a_of(x), 4.0 * size * size.sqrt().max(1.0), "covariance");
        }
    });
}

#[test]
fn points_that_are_too_few_are_told_by_the_rank() {
    let (x, y): (Array<f64>, Array<f64>) = (numbers![1.0, 1.0, 1.0], numbers![1.0, 2.0, 3.0]);
    let found = linalg::polyfit(&x, &y, 2, None, Tolerance::Rounding).unwrap();
    assert_eq!(found.rank.to_vec().unwrap(), [1]);
    let value = found.solution.polyval(&x).unwrap().to_vec().unwrap();
    assert!(value.iter().all(|value| (value - 2.0).abs() < 1e-12), "{value:?}");
    // A column of zeros.
    let found = linalg::polyfit(&(x * 0.0), &y, 2, None, Tolerance::Rounding).unwrap();
    assert_eq!(found.rank.to_vec().unwrap(), [1]);
    assert!(found.solution.allclose(&numbers![0.0, 0.0, 2.0], 1e-12, 1e-12, false).unwrap());
}

#[test]
fn integers_and_mixed_dtypes_are_computed_in_the_widest() {
    let x = UsmArray::from(numbers![0_i32, 1, 2]);
    let y = UsmArray::from(numbers![1.0_f32, 3.0, 5.0]);
    let found = linalg::polyfit(&x, &y, 1, None, Tolerance::Rounding).unwrap();
    assert_eq!(found.solution.dtype(), Dtype::F64);
    assert!(values(&found.solution).iter().zip([2.0, 1.0]).all(|(p, wanted)| (p.re - wanted).abs() < 1e-12));
    let halves = y.astype(Dtype::F16).unwrap();
    let found = linalg::polyfit(&halves, &halves, 1, None, Tolerance::Rounding).unwrap();
    assert_eq!(found.solution.dtype(), Dtype::F16);
    assert_eq!(found.solution.copy_in(Order::C).unwrap().shape(), [2]);
}

#[test]
fn what_does_not_fit_is_named() {
    let ones = |shape: &[usize]| Array::<f64>::ones(shape).unwrap();
    let fit = |x: &[usize], y: &[usize], w: Option<&[usize]>, degree| {
        let weights = w.map(ones);
        let outcome = linalg::polyfit(&ones(x), &ones(y), degree, weights.as_ref(), Tolerance::Rounding);
        outcome.map(drop).unwrap_err()
    };
    for (error, argument) in [
        (fit(&[3, 1], &[3], None, 1), "`x`"),
        (fit(&[0], &[0], None, 1), "`x`"),
        (fit(&[3], &[4], None, 1), "`y`"),
        (fit(&[3], &[3, 1, 1], None, 1), "`y`"),
        (fit(&[3], &[], None, 1), "`y`"),
        (fit(&[3], &[3], Some(&[2]), 1), "`weights`"),
    ] {
        assert!(matches!(error, Error::Shape(_)) && error.to_string().contains(argument), "{error}");
    }
    assert!(matches!(fit(&[3], &[3], None, usize::MAX), Error::Overflow(_)));
    assert!(matches!(fit(&[3], &[3], None, 1 << 55), Error::Alloc(_) | Error::Overflow(_)));
}
