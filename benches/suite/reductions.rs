//! Reductions: over everything, over an axis, of strided and of computed operands.

use ndarray::{Axis, NdFloat, Zip, s};
use stridewise_limit::Traffic;

use super::data::{Real, elements};
use super::{Case, keep};

/// The largest element, as a plain loop has it.
fn largest<T: NdFloat>(values: &[T]) -> T {
    values.iter().copied().fold(T::neg_infinity(), T::max)
}

pub(super) fn cases<T: Real>() -> Vec<Case<T>> {
    let size = size_of::<T>();
    let case = |name, operations, ours: fn(&mut super::Ours<T>) -> stridewise::Result<()>| {
        Case::new(name, Traffic::Read, size, operations, ours)
    };
    vec![
        case(("sum", "all"), 1, |x| x.a.sum().map(keep))
            .against("iter", |x| keep(elements(&x.a).iter().copied().fold(T::zero(), |sum, x| sum + x)))
            .against("ndarray", |x| keep(x.a.sum()))
            .against("ndarray-par", |x| {
                keep(Zip::from(&x.a).par_fold(T::zero, |sum, &x| sum + x, |x, y| x + y));
            }),
        case(("max", "all"), 1, |x| x.a.max().map(keep)).against("iter", |x| keep(largest(elements(&x.a)))),
        case(("argmax", "all"), 1, |x| x.a.argmax().map(keep)).against("iter", |x| {
            let first = |best: (usize, T), (at, &x): (usize, &T)| if x > best.1 { (at, x) } else { best };
            keep(elements(&x.a).iter().enumerate().fold((0, T::neg_infinity()), first));
        }),
        case(("mean", "all"), 1, |x| x.a.mean().map(keep)).against("ndarray", |x| keep(x.a.mean())),
        case(("var", "all"), 3, |x| x.a.var(0.0).map(keep)).against("ndarray", |x| keep(x.a.var(T::zero()))),
        case(("sum", "axis 0"), 1, |x| x.a_square.sum_axis(0)?.wait())
            .against("ndarray", |x| keep(x.a_square.sum_axis(Axis(0)))),
        case(("sum", "axis 1"), 1, |x| x.a_square.sum_axis(1)?.wait())
            .against("ndarray", |x| keep(x.a_square.sum_axis(Axis(1)))),
        // Whole cache lines are read for half of their elements.
        case(("sum", "strided by 2"), 1, |x| x.a_half.sum().map(keep))
            .against("iter", |x| keep(elements(&x.a).iter().step_by(2).fold(T::zero(), |sum, &x| sum + x)))
            .against("ndarray", |x| keep(x.a.slice(s![..; 2]).sum())),
        Case::new(("dot", "all"), Traffic::Read, 2 * size, 2, |x| x.a.try_vecdot(&x.b, -1)?.item().map(keep))
            .against("iter", |x| {
                let pairs = elements(&x.a).iter().zip(elements(&x.b));
                keep(pairs.fold(T::zero(), |sum, (&x, &y)| sum + x * y));
            })
            .against("ndarray", |x| keep(x.a.dot(&x.b))),
        case(("norm", "all"), 2, |x| x.a.try_vecdot(&x.a, -1)?.item().map(|sum| keep(sum.sqrt())))
            .against("iter", |x| {
                keep(elements(&x.a).iter().fold(T::zero(), |sum, &x| sum + x * x).sqrt());
            })
            .against("ndarray", |x| keep(x.a.dot(&x.a).sqrt())),
    ]
}
