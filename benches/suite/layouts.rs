//! Additions of operands that are not contiguous: strided, reversed, transposed, broadcast.

use ndarray::{Zip, s};
use stridewise::Array;
use stridewise_limit::Traffic;

use super::data::{Ours, Real, Rust};
use super::{Case, keep};

/// An addition of two of our arrays.
fn add<T: Real>(
    layout: &'static str,
    traffic: Traffic,
    bytes: usize,
    operands: impl for<'a> Fn(&'a Ours<T>) -> (&'a Array<T>, &'a Array<T>) + 'static,
) -> Case<T> {
    Case::new(("add", layout), traffic, bytes, 1, move |x| {
        let (a, b) = operands(x);
        a.try_add(b)?.wait()
    })
}

pub(super) fn cases<T: Real>() -> Vec<Case<T>> {
    let size = size_of::<T>();
    vec![
        // Whole cache lines of the operands are read for half of their elements.
        add("strided by 2", Traffic::FourToOne, 2 * size + size / 2, |x| (&x.a_half, &x.b_half))
            .against("iter", |x: &mut Rust<T>| {
                let half = |array| super::data::elements(array).iter().step_by(2);
                keep(half(&x.a).zip(half(&x.b)).map(|(&x, &y)| x + y).collect::<Vec<T>>());
            })
            .against("ndarray", |x| keep(&x.a.slice(s![..; 2]) + &x.b.slice(s![..; 2]))),
        add("negative stride", Traffic::Triad, 3 * size, |x| (&x.a_back, &x.b))
            .against("iter", |x: &mut Rust<T>| {
                let operands = super::data::elements(&x.a).iter().rev().zip(super::data::elements(&x.b));
                keep(operands.map(|(&x, &y)| x + y).collect::<Vec<T>>());
            })
            .against("ndarray", |x| keep(&x.a.slice(s![..; -1]) + &x.b)),
        add("transposed", Traffic::Triad, 3 * size, |x| (&x.a_square, &x.b_transposed))
            .against("ndarray", |x: &mut Rust<T>| keep(&x.a_square + &x.b_square.t()))
            .against("ndarray-par", |x| {
                keep(Zip::from(&x.a_square).and(x.b_square.t()).par_map_collect(|&x, &y| x + y));
            }),
        add("row broadcast", Traffic::Copy, 2 * size, |x| (&x.a_square, &x.row))
            .against("ndarray", |x: &mut Rust<T>| keep(&x.a_square + &x.row))
            .against("ndarray-par", |x| {
                keep(Zip::from(&x.a_square).and_broadcast(&x.row).par_map_collect(|&x, &y| x + y));
            }),
        add("column broadcast", Traffic::Copy, 2 * size, |x| (&x.a_square, &x.column))
            .against("ndarray", |x: &mut Rust<T>| keep(&x.a_square + &x.column))
            .against("ndarray-par", |x| {
                keep(Zip::from(&x.a_square).and_broadcast(&x.column).par_map_collect(|&x, &y| x + y));
            }),
    ]
}
