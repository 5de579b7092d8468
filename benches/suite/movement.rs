//! Copies and concatenation.

use ndarray::{Axis, concatenate};
use stridewise::Array;
use stridewise_limit::Traffic;

use super::data::Real;
use super::{Case, keep};

pub(super) fn cases<T: Real>() -> Vec<Case<T>> {
    let size = size_of::<T>();
    let concat = |layout, axis: usize| {
        // Two operands are read, and twice as much written.
        Case::new(("concat", layout), Traffic::Copy, 4 * size, 0, move |x| {
            Array::concat(&[&x.a_square, &x.b_square], axis as isize)?.wait()
        })
        .against("ndarray", move |x| {
            keep(concatenate(Axis(axis), &[x.a_square.view(), x.b_square.view()]));
        })
    };
    vec![
        Case::new(("copy", "out"), Traffic::Copy, 2 * size, 0, |x| x.out.assign(&x.a)?.wait())
            .against("iter", |x| x.out.iter_mut().zip(&x.a).for_each(|(out, x)| *out = *x))
            .against("ndarray", |x| x.out.assign(&x.a)),
        Case::new(("copy", "transposed"), Traffic::Copy, 2 * size, 0, |x| {
            x.out_square.assign(&x.b_transposed)?.wait()
        })
        .against("ndarray", |x| x.out_square.assign(&x.b_square.t())),
        concat("axis 0", 0),
        concat("axis 1", 1),
    ]
}
