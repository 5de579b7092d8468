//! Transforms against sums as the definition has them.

use crate::common::{C, DTYPES, LAYOUTS, Random, array, eps, lay, values};
use stridewise_core::{Dtype, DtypeKind, Error, UsmArray, UsmKind, default_device, s};
use stridewise_numerics::fft::{self, Norm, Points};

const NORMS: [Norm; 3] = [Norm::Backward, Norm::Ortho, Norm::Forward];

/// The sums of a row of `n` points, elements left out at the end or zeros added.
fn sums(row: &[C], n: usize, inverse: bool, norm: Norm) -> Vec<C> {
    let sign = if inverse { 1.0 } else { -1.0 };
    let factor = match (norm, inverse) {
        (Norm::Ortho, _) => (n as f64).sqrt().recip(),
        (Norm::Backward, true) | (Norm::Forward, false) => (n as f64).recip(),
        _ => 1.0,
    };
    let turn = |jk: usize| C::from_polar(1.0, sign * std::f64::consts::TAU * (jk % n) as f64 / n as f64);
    let kept = &row[..row.len().min(n)];
    (0..n).map(|k| kept.iter().enumerate().map(|(j, x)| x * turn(j * k)).sum::<C>() * factor).collect()
}

/// Of a row of the first elements of a mirrored one, all `n`.
fn mirrored(row: &[C], n: usize) -> Vec<C> {
    let at = |k: usize| row.get(k).copied().unwrap_or_default();
    let whole = |k: usize| if k == 0 || 2 * k == n { C::new(at(k).re, 0.0) } else { at(k) };
    (0..n).map(|k| if 2 * k <= n { whole(k) } else { whole(n - k).conj() }).collect()
}

/// An array's rows along an axis, one after another.
fn rows(x: &UsmArray, axis: isize) -> Vec<Vec<C>> {
    let last = x.move_axis(axis, -1).unwrap();
    let extent = last.shape()[last.ndim() - 1];
    values(&last).chunks(extent.max(1)).map(<[C]>::to_vec).collect()
}

#[track_caller]
fn near(found: &UsmArray, axis: isize, wanted: &[Vec<C>], what: &str) {
    let found_rows = rows(found, axis);
    assert_eq!(found_rows.len(), wanted.len(), "{what}");
    for (found_row, wanted) in found_rows.iter().zip(wanted) {
        assert_eq!(found_row.len(), wanted.len(), "{what}");
        let size = wanted.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt();
        let away = found_row.iter().zip(wanted).map(|(x, y)| (x - y).norm_sqr()).sum::<f64>().sqrt();
        let bound = 8.0 * (wanted.len() as f64 + 1.0).log2() * eps(found.dtype()) * size + 1e-30;
        assert!(away <= bound, "{what} of {} points: {away:e} > {bound:e}", wanted.len());
    }
}

#[test]
fn transforms_are_their_sums() {
    for dtype in DTYPES {
        for extent in [1, 2, 3, 7, 8, 30, 97] {
            let x = array(&[2, extent, 3], &Random::new(3).elements(dtype, 6 * extent), dtype);
            for layout in 0..LAYOUTS {
                let x = lay(&x, layout);
                for (axis, norm) in [1, -2, 0, 2].into_iter().zip(NORMS.iter().cycle()) {
                    let norm = *norm;
                    for n in [None, Some(1), Some(5), Some(extent + 4)] {
                        let own = x.shape()[(axis + 3) as usize % 3];
                        let points = n.unwrap_or(own);
                        let of = |part: &dyn Fn(&[C]) -> Vec<C>| {
                            rows(&x, axis).iter().map(|row| part(row)).collect::<Vec<_>>()
                        };
                        let forward = fft::fft(&x, n, axis, norm).unwrap();
                        near(&forward, axis, &of(&|row| sums(row, points, false, norm)), "fft");
                        assert_eq!(
                            forward.dtype(),
                            if eps(dtype) == f64::EPSILON { Dtype::C128 } else { Dtype::C64 }
                        );
                        assert_eq!(forward.usm_kind(), x.usm_kind());
                        let inverse = fft::ifft(&x, n, axis, norm).unwrap();
                        near(&inverse, axis, &of(&|row| sums(row, points, true, norm)), "ifft");
                        let doubled = n.unwrap_or(2 * (own - 1));
                        if doubled > 0 {
                            let back = fft::irfft(&x, n, axis, norm).unwrap();
                            assert_eq!(back.dtype(), dtype.real_part());
                            let wanted = of(&|row| sums(&mirrored(row, doubled), doubled, true, norm));
                            near(&back, axis, &wanted, "irfft");
                            let conj = |row: &[C]| row.iter().map(C::conj).collect::<Vec<_>>();
                            let wanted = of(&|row| {
                                let whole = conj(&mirrored(row, doubled));
                                sums(&conj(&whole), doubled, false, norm)
                            });
                            near(&fft::hfft(&x, n, axis, norm).unwrap(), axis, &wanted, "hfft");
                        }
                        if dtype.kind() == DtypeKind::Complex {
                            assert!(matches!(fft::rfft(&x, n, axis, norm), Err(Error::Dtype(_))));
                            assert!(matches!(fft::ihfft(&x, n, axis, norm), Err(Error::Dtype(_))));
                            continue;
                        }
                        let half = of(&|row| sums(row, points, false, norm)[..points / 2 + 1].to_vec());
                        near(&fft::rfft(&x, n, axis, norm).unwrap(), axis, &half, "rfft");
                        let half = of(&|row| sums(row, points, true, norm)[..points / 2 + 1].to_vec());
                        near(&fft::ihfft(&x, n, axis, norm).unwrap(), axis, &half, "ihfft");
                    }
                }
            }
        }
    }
}

#[test]
fn transforms_along_axes_are_one_after_another() {
    let x = array(&[3, 4, 5], &Random::new(1).elements(Dtype::C128, 60), Dtype::C128);
    for norm in NORMS {
        let mut steps = x.clone();
        for axis in 0..3 {
            steps = fft::fft(&steps, None, axis, norm).unwrap();
        }
        let all = fft::fftn(&x, Points::default(), norm).unwrap();
        near(&all, -1, &rows(&steps, -1), "fftn");
        near(&fft::ifftn(&all, Points::default(), norm).unwrap(), -1, &rows(&x, -1), "ifftn");
        let real = array(&[3, 4, 5], &Random::new(2).elements(Dtype::F64, 60), Dtype::F64);
        let half = fft::rfftn(&real, Points::default(), norm).unwrap();
        assert_eq!(half.shape(), [3, 4, 3]);
        let points = Points { s: Some(&[None, Some(4), Some(5)]), axes: Some(&[0, 1, 2]) };
        near(&fft::irfftn(&half, points, norm).unwrap(), -1, &rows(&real, -1), "irfftn");
    }
    let points = Points { s: Some(&[Some(2), Some(8)]), axes: Some(&[-1, 0]) };
    assert_eq!(fft::fftn(&x, points, Norm::Backward).unwrap().shape(), [8, 4, 2]);
    let last = Points { s: Some(&[Some(2)]), axes: None };
    assert_eq!(fft::fftn(&x, last, Norm::Backward).unwrap().shape(), [3, 4, 2]);
    let wrong = Points { s: Some(&[None]), axes: Some(&[0, 1]) };
    assert!(matches!(fft::fftn(&x, wrong, Norm::Backward), Err(Error::Value(_))));
    let none = Points { s: None, axes: Some(&[]) };
    assert!(matches!(fft::irfftn(&x, none, Norm::Backward), Err(Error::Value(_))));
    assert_eq!(fft::fftn(&x, none, Norm::Backward).unwrap().dtype(), Dtype::C128);
}

#[test]
fn many_and_long_rows() {
    for dtype in [Dtype::F32, Dtype::F64] {
        for shape in [[3000, 16], [1, 100_003], [4, 1 << 16]] {
            let x = array(&shape, &Random::new(7).elements(dtype, shape[0] * shape[1]), dtype);
            let there = fft::rfft(&x, None, -1, Norm::Ortho).unwrap();
            let back = fft::irfft(&there, Some(shape[1]), -1, Norm::Ortho).unwrap();
            near(&back, -1, &rows(&x, -1), "back");
            let whole =
                fft::ifft(&fft::fft(&x, None, 0, Norm::Forward).unwrap(), None, 0, Norm::Forward).unwrap();
            near(&whole, -1, &rows(&x, -1), "back along the other axis");
        }
    }
}

/// Long transforms go another way: their elements against sums, a few of them, as all would take hours.
#[test]
fn elements_of_long_transforms_are_their_sums() {
    let sum = |row: &[C], n: usize, k: usize, sign: f64| -> C {
        let turn = |j: usize| {
            let turns = (j as u128 * k as u128 % n as u128) as f64 / n as f64;
            C::from_polar(1.0, sign * std::f64::consts::TAU * turns)
        };
        row.iter().take(n).enumerate().map(|(j, x)| x * turn(j)).sum::<C>() / (n as f64).sqrt()
    };
    let check = |found: &UsmArray, row: &[C], n: usize, sign: f64, bound: f64| {
        let found = &rows(found, -1)[0];
        for k in [0, 1, 1025, n / 3, n / 2, n - 1].into_iter().filter(|k| *k < found.len()) {
            let (found, wanted) = (found[k], sum(row, n, k, sign));
            assert!((found - wanted).norm() < bound, "{k} of {n}: {found} is not {wanted}");
        }
    };
    for (dtype, n, given) in [
        (Dtype::F32, 1 << 21, 1 << 21),
        (Dtype::C64, 2000 * 1200, 2000 * 1200 + 5),
        (Dtype::F64, 1 << 20, 1_000_003),
        (Dtype::C128, 1000 * 1100, 1000 * 1100),
    ] {
        let x = array(&[given], &Random::new(5).elements(dtype, given), dtype);
        let row = &rows(&x, 0)[0];
        // The sums are of doubles, and have errors of their own.
        let bound = 64.0 * eps(dtype) + (n as f64).sqrt() * eps(Dtype::F64);
        let there = fft::fft(&x, Some(n), -1, Norm::Ortho).unwrap();
        check(&there, row, n, -1.0, bound);
        let back = fft::ifft(&there, None, 0, Norm::Ortho).unwrap();
        let kept = &row[..given.min(n)];
        near(&back.slice(s![..kept.len() as isize]).unwrap(), 0, &[kept.to_vec()], "back");
        // A row of several is as one alone.
        let rows_of_two = x.broadcast_to(&[2, given]).unwrap();
        let two = fft::fft(&rows_of_two, Some(n), -1, Norm::Ortho).unwrap();
        assert!(rows(&two, -1).iter().all(|row| *row == rows(&there, -1)[0]));
        // Two real numbers for each complex one.
        let real = x.real().unwrap();
        let spectrum = fft::rfft(&real, Some(2 * n), -1, Norm::Ortho).unwrap();
        assert_eq!(spectrum.shape(), [n + 1]);
        check(&spectrum, &rows(&real, 0)[0], 2 * n, -1.0, bound);
        let again = fft::irfft(&spectrum, Some(2 * n), -1, Norm::Ortho).unwrap();
        assert_eq!(again.shape(), [2 * n]);
        let real = rows(&real, 0).remove(0);
        near(&again.slice(s![..given as isize]).unwrap(), 0, &[real], "back to real numbers");
        assert!(rows(&again, 0)[0][given..].iter().all(|x| x.norm() < bound));
    }
}

#[test]
fn frequencies_and_shifts() {
    let queue = default_device().unwrap().queue().unwrap();
    let real = |x: &UsmArray| values(x).iter().map(|x| x.re).collect::<Vec<_>>();
    let whole = |n, d| real(&fft::fftfreq(&queue, n, d, Dtype::F64, UsmKind::Device).unwrap());
    assert_eq!(whole(4, 1.0), [0.0, 0.25, -0.5, -0.25]);
    assert_eq!(whole(5, 0.1), [0.0, 2.0, 4.0, -4.0, -2.0]);
    assert_eq!(real(&fft::rfftfreq(&queue, 4, 0.5, Dtype::F32, UsmKind::Host).unwrap()), [0.0, 0.5, 1.0]);
    assert!(matches!(fft::fftfreq(&queue, 0, 1.0, Dtype::F64, UsmKind::Device), Err(Error::Value(_))));
    assert!(matches!(fft::rfftfreq(&queue, 3, 1.0, Dtype::I32, UsmKind::Device), Err(Error::Dtype(_))));
    let x = array(&[5], &[0.0, 1.0, 2.0, 3.0, 4.0].map(|x| C::new(x, 0.0)), Dtype::I32);
    let middle = fft::fftshift(&x, None).unwrap();
    assert_eq!((real(&middle), middle.dtype()), (vec![3.0, 4.0, 0.0, 1.0, 2.0], Dtype::I32));
    assert_eq!(real(&fft::ifftshift(&middle, Some(&[-1])).unwrap()), real(&x));
    assert!(matches!(fft::fftshift(&x, Some(&[1])), Err(Error::Axis(_))));
}

#[test]
fn empty_and_wrong_arguments() {
    let x = array(&[0, 3], &[], Dtype::F64);
    assert_eq!(fft::rfft(&x, None, -1, Norm::Backward).unwrap().shape(), [0, 2]);
    // A row of no elements is one of zeros.
    let zeros = fft::fft(&x, Some(2), 0, Norm::Backward).unwrap();
    assert_eq!((zeros.shape(), values(&zeros)), (&[2, 3][..], vec![C::ZERO; 6]));
    assert!(matches!(fft::fft(&x, None, 0, Norm::Backward), Err(Error::Value(_))));
    assert!(matches!(fft::fft(&x, Some(0), 1, Norm::Backward), Err(Error::Value(_))));
    assert!(matches!(fft::fft(&x, None, 2, Norm::Backward), Err(Error::Axis(_))));
    let one = array(&[1], &[C::ZERO], Dtype::F64);
    assert!(matches!(fft::irfft(&one, None, -1, Norm::Backward), Err(Error::Value(_))));
    for n in [1 << 40, usize::MAX / 2] {
        assert!(matches!(fft::fft(&one, Some(n), -1, Norm::Backward), Err(Error::Alloc(_))));
    }
    assert_eq!(
        fft::fft(&one.astype(Dtype::I8).unwrap(), None, -1, Norm::Backward).unwrap().dtype(),
        Dtype::C128
    );
    assert_eq!(
        fft::fft(&one.astype(Dtype::F16).unwrap(), None, -1, Norm::Backward).unwrap().dtype(),
        Dtype::C64
    );
}
