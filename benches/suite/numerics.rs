//! Linear algebra, Fourier transforms, random numbers, and what is counted or repeated.

use std::cell::OnceCell;
use std::sync::Arc;

use ndarray::{Axis, concatenate};
use realfft::{RealFftPlanner, RealToComplex};
use rustfft::FftPlanner;
use stridewise::fft::{self, Norm, Points};
use stridewise::linalg::{self, NumericArray, QrMode};
use stridewise::{Array, Generator, s};
use stridewise_limit::Traffic;

use super::data::{Ours, Real, Rust, elements};
use super::{Case, keep, selection};

/// Elements of square matrices of 16, 128 and 1024 rows.
pub(super) const MATRICES: [usize; 3] = [16 * 16, 128 * 128, 1024 * 1024];
/// Elements of 10 000 matrices of 4 by 4.
pub(super) const STACK: usize = 10_000 * 16;
/// Elements of the factors of further products, of 8, 64, 512 and 2048 rows.
pub(super) const FACTORS: [usize; 4] = [8 * 8, 64 * 64, 512 * 512, 2048 * 2048];
/// Points of Fourier transforms; what has two dimensions is a square of as many.
pub(super) const POINTS: [usize; 4] = [1 << 10, 16 << 10, 64 << 10, 1 << 20];
/// A prime number.
const PRIME: usize = 10_007;
/// Elements of the rows that [`PRIME`] of are transformed.
pub(super) const AROUND_PRIME: usize = 16 << 10;
/// Bins of a histogram.
const BINS: usize = 64;

/// Rows of any number of elements.
pub(super) fn cases<T: Real>() -> Vec<Case<T>> {
    let size = size_of::<T>();
    let ends = (T::of(0.5), T::of(1.5));
    vec![
        Case::new(("histogram", "64 bins"), Traffic::Read, size, 4, |x| x.a.histogram(BINS, None)?.0.wait())
            .against("iter", move |x| {
                let a = elements(&x.a);
                let wider = |(low, high): (T, T), &x: &T| (low.min(x), high.max(x));
                let (low, high) = a.iter().fold((ends.1, ends.0), wider);
                let scale = T::of(BINS as f64) / (high - low);
                let mut counts = [0_i64; BINS];
                for &x in a {
                    counts[((x - low) * scale).to_usize().unwrap_or(0).min(BINS - 1)] += 1;
                }
                keep(counts);
            }),
        Case::new(("median", "all"), Traffic::Read, size, 1, |x: &mut Ours<T>| {
            keep(x.a.median()?);
            Ok(())
        })
        .against("iter", |x| {
            let mut all = elements(&x.a).to_vec();
            let middle = all.len() / 2;
            let (_, upper, _) = all.select_nth_unstable_by(middle, |a: &T, b: &T| {
                a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal)
            });
            keep(*upper);
        }),
        Case::new(("repeat", "each twice"), Traffic::Copy, 3 * size, 0, |x| x.a.repeat(2, 0)?.wait())
            .against("iter", |x| keep(elements(&x.a).iter().flat_map(|&x| [x, x]).collect::<Vec<_>>())),
        Case::new(("roll", "by a third"), Traffic::Copy, 2 * size, 0, |x| {
            x.a.roll((x.a.len() / 3) as isize, 0)?.wait()
        })
        .against("iter", |x| {
            let (front, back) = elements(&x.a).split_at(x.a.len() - x.a.len() / 3);
            keep([back, front].concat());
        }),
        Case::new(("tile", "twice"), Traffic::Copy, 3 * size, 0, |x| x.a.tile([2])?.wait())
            .against("ndarray", |x| keep(concatenate(Axis(0), &[x.a.view(), x.a.view()]))),
        Case::new(("random", "uniform"), Traffic::Write, size, 12, |x| {
            Generator::new(1).on(x.a.queue()).uniform([x.a.len()], T::of(0.0), T::of(1.0))?.wait()
        }),
        Case::new(("random", "normal"), Traffic::Write, size, 30, |x| {
            Generator::new(1).on(x.a.queue()).normal([x.a.len()], T::of(0.0), T::of(1.0))?.wait()
        }),
        Case::new(("random", "integers"), Traffic::Write, 8, 12, |x| {
            Generator::new(1).on(x.a.queue()).integers::<i64>([x.a.len()], 0, 1000)?.wait()
        }),
    ]
}

/// Products of more sizes.
pub(super) fn products<T: Real>() -> Vec<Case<T>> {
    let matrices = |case: &Case<T>| (case.op, case.layout) == ("matmul", "matrices");
    selection::cases().into_iter().filter(matrices).map(|case| case.up_to(usize::MAX)).collect()
}

/// A function of matrices, whose results are there when it returns.
fn of_matrices<T: Real>(
    (op, layout): (&'static str, &'static str),
    operations: usize,
    ours: impl Fn(&mut Ours<T>) -> stridewise::Result<()> + 'static,
) -> Case<T> {
    Case::new((op, layout), Traffic::Copy, 2 * size_of::<T>(), operations, ours)
}

/// Decompositions of one matrix.
pub(super) fn matrices<T: Real>() -> Vec<Case<T>>
where
    Array<T>: NumericArray,
{
    vec![
        of_matrices(("solve", "matrix"), 1, |x| linalg::solve(&x.a_square, &x.row).map(keep)),
        of_matrices(("inv", "matrix"), 2, |x| linalg::inv(&x.a_square).map(keep)),
        of_matrices(("det", "matrix"), 1, |x| linalg::det(&x.a_square).map(keep)),
        of_matrices(("cholesky", "matrix"), 1, |x| linalg::cholesky(x.definite()?, false).map(keep)),
        of_matrices(("qr", "matrix"), 2, |x| linalg::qr(&x.a_square, QrMode::Reduced).map(keep)),
        of_matrices(("svd", "matrix"), 20, |x| linalg::svd(&x.a_square, true).map(keep)),
        of_matrices(("eigh", "matrix"), 9, |x| linalg::eigh(x.definite()?).map(keep)),
        of_matrices(("eig", "matrix"), 25, |x| linalg::eig(&x.a_square).map(keep)),
    ]
}

/// Decompositions of matrices of 4 by 4.
pub(super) fn stacks<T: Real>() -> Vec<Case<T>>
where
    Array<T>: NumericArray,
{
    vec![
        of_matrices(("solve", "stack of 4 by 4"), 4, |x| linalg::solve(&x.few()?.0, &x.few()?.1).map(keep)),
        of_matrices(("inv", "stack of 4 by 4"), 8, |x| linalg::inv(&x.few()?.0).map(keep)),
        of_matrices(("det", "stack of 4 by 4"), 3, |x| linalg::det(&x.few()?.0).map(keep)),
        of_matrices(("cholesky", "stack of 4 by 4"), 2, |x| {
            linalg::cholesky(x.definite_few()?, false).map(keep)
        }),
        of_matrices(("qr", "stack of 4 by 4"), 8, |x| linalg::qr(&x.few()?.0, QrMode::Reduced).map(keep)),
        of_matrices(("svd", "stack of 4 by 4"), 80, |x| linalg::svd(&x.few()?.0, true).map(keep)),
        of_matrices(("eigh", "stack of 4 by 4"), 36, |x| linalg::eigh(x.definite_few()?).map(keep)),
        of_matrices(("matmul", "stack of 4 by 4"), 8, |x| x.few()?.0.try_matmul(&x.few()?.1)?.wait()),
    ]
}

/// Fourier transforms.
pub(super) fn transforms<T: Real>() -> Vec<Case<T>>
where
    Array<T>: NumericArray,
{
    let size = size_of::<T>();
    vec![
        Case::new(("fft", "complex"), Traffic::Copy, 4 * size, 50, |x| {
            fft::fft(x.complex()?, None, -1, Norm::Backward).map(keep)
        })
        .against("rustfft", rustfft(|x| x.complex().len())),
        Case::new(("fft", "real"), Traffic::Copy, 2 * size, 25, |x| {
            fft::rfft(&x.a, None, -1, Norm::Backward).map(keep)
        })
        .against("realfft", realfft()),
        Case::new(("fft", "two dimensions"), Traffic::Copy, 4 * size, 50, |x| {
            let square = x.a_square.shape().iter().map(|&extent| extent as isize).collect::<Vec<_>>();
            fft::fftn(&x.complex()?.reshape(&square)?, Points::default(), Norm::Backward).map(keep)
        }),
    ]
}

/// A Fourier transform of a prime number of points.
pub(super) fn prime<T: Real>() -> Vec<Case<T>> {
    vec![
        Case::new(("fft", "first 10007"), Traffic::Copy, 4 * size_of::<T>(), 100, |x| {
            let first = x.complex()?.slice(s![..PRIME as isize])?;
            fft::fft(&first, None, -1, Norm::Backward).map(keep)
        })
        .against("rustfft", rustfft(|_| PRIME)),
    ]
}

/// A transform of the first so many numbers by rustfft alone, whose plan is kept.
fn rustfft<T: Real>(points: impl Fn(&Rust<T>) -> usize + 'static) -> impl Fn(&mut Rust<T>) + 'static {
    let plan = OnceCell::new();
    move |x| {
        let points = points(x);
        let plan = plan.get_or_init(|| FftPlanner::new().plan_fft_forward(points));
        let mut numbers = x.complex()[..points].to_vec();
        plan.process(&mut numbers);
        keep(numbers);
    }
}

/// A transform of real numbers by realfft alone, whose plan is kept.
fn realfft<T: Real>() -> impl Fn(&mut Rust<T>) + 'static {
    let plan = OnceCell::new();
    move |x| {
        let plan: &Arc<dyn RealToComplex<T>> =
            plan.get_or_init(|| RealFftPlanner::new().plan_fft_forward(x.a.len()));
        let (mut numbers, mut spectrum) = (elements(&x.a).to_vec(), plan.make_output_vec());
        // Fails where the lengths are not the plan's.
        keep(plan.process(&mut numbers, &mut spectrum).map(|()| spectrum));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_what_their_rows_say() {
        let queue = stridewise::default_device().unwrap().queue().unwrap();
        let mut ours = Ours::<f64>::new(&queue, 64 * 64).unwrap();
        let mut all = [cases(), products(), matrices(), stacks(), transforms()].into_iter().flatten();
        assert!(all.all(|case| (case.ours)(&mut ours).is_ok()));
        assert_eq!(ours.few().unwrap().0.shape(), [256, 4, 4]);
        let definite = ours.definite().unwrap();
        assert!(definite.allclose(&definite.t(), 1e-12, 0.0, false).unwrap());
        assert_eq!(ours.complex().unwrap().shape(), [64 * 64]);
    }
}
