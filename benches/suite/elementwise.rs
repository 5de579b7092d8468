//! One elementwise operation over contiguous arrays.

use ndarray::Zip;
use stridewise::{Array, Op, Result};
use stridewise_limit::Traffic;

use super::data::{Ours, Real, Sample, elements};
use super::{Case, keep};

/// A function of one operand into a fresh array; the closure is the peers', compiled into their loops.
fn unary<T: Real>(
    op: &'static str,
    ours: fn(&Array<T>) -> Result<Array<T>>,
    scalar: impl Fn(T) -> T + Copy + Send + Sync + 'static,
) -> Case<T> {
    Case::new((op, "fresh"), Traffic::Copy, 2 * size_of::<T>(), 1, move |x| ours(&x.a)?.wait())
        .against("iter", move |x| keep(elements(&x.a).iter().map(|&x| scalar(x)).collect::<Vec<T>>()))
        .against("ndarray", move |x| keep(x.a.mapv(scalar)))
        .against("ndarray-par", move |x| keep(Zip::from(&x.a).par_map_collect(|&x| scalar(x))))
}

/// A function of two operands into a fresh array, with the peers that have operators of their own.
fn binary<T: Sample, R: Copy + Send + Sync + 'static>(
    op: &'static str,
    bytes: usize,
    ours: impl Fn(&Array<T>, &Array<T>) -> Result<()> + 'static,
    scalar: impl Fn(T, T) -> R + Copy + Send + Sync + 'static,
) -> Case<T> {
    // A test writes a byte for two elements that it reads: of the bare loops, the one that only reads is nearest to it.
    let traffic = if size_of::<R>() < size_of::<T>() { Traffic::Read } else { Traffic::Triad };
    Case::new((op, "fresh"), traffic, bytes, 1, move |x| ours(&x.a, &x.b))
        .against("iter", move |x| {
            keep(elements(&x.a).iter().zip(elements(&x.b)).map(|(&x, &y)| scalar(x, y)).collect::<Vec<R>>());
        })
        .against("ndarray", move |x| keep(Zip::from(&x.a).and(&x.b).map_collect(|&x, &y| scalar(x, y))))
        .against("ndarray-par", move |x| {
            keep(Zip::from(&x.a).and(&x.b).par_map_collect(|&x, &y| scalar(x, y)));
        })
}

fn add<T: Sample>() -> [Case<T>; 2] {
    let size = size_of::<T>();
    let fresh = binary("add", 3 * size, |a, b| a.try_add(b)?.wait(), |x, y| x + y);
    let out =
        Case::new(("add", "out"), Traffic::Triad, 3 * size, 1, |x| x.a.add_into(&x.b, &mut x.out)?.wait())
            .against("iter", |x| {
                for ((out, &x), &y) in x.out.iter_mut().zip(elements(&x.a)).zip(elements(&x.b)) {
                    *out = x + y;
                }
            })
            .against("ndarray", |x| {
                Zip::from(&mut x.out).and(&x.a).and(&x.b).for_each(|out, &x, &y| *out = x + y)
            })
            .against("ndarray-par", |x| {
                Zip::from(&mut x.out).and(&x.a).and(&x.b).par_for_each(|out, &x, &y| *out = x + y);
            });
    [fresh, out]
}

pub(super) fn cases<T: Real>() -> Vec<Case<T>> {
    let size = size_of::<T>();
    let mut cases = Vec::from(add());
    cases.extend([
        Case::new(("a*b+c", "fresh"), Traffic::ThreeToOne, 4 * size, 2, |x| {
            let result = &x.a * &x.b + &x.c;
            result.wait()
        })
        .against("iter", |x| {
            let operands = elements(&x.a).iter().zip(elements(&x.b)).zip(elements(&x.c));
            keep(operands.map(|((&x, &y), &z)| x * y + z).collect::<Vec<T>>());
        })
        .against("ndarray", |x| keep(&x.a * &x.b + &x.c))
        .against("ndarray-par", |x| {
            keep(Zip::from(&x.a).and(&x.b).and(&x.c).par_map_collect(|&x, &y, &z| x * y + z));
        }),
        unary("sqrt", Array::try_sqrt, T::sqrt),
        unary("exp", Array::try_exp, T::exp),
        unary("log", Array::try_log, T::ln),
        unary("sin", Array::try_sin, T::sin),
        unary("tanh", Array::try_tanh, T::tanh),
        Case::new(("exp", "out"), Traffic::Copy, 2 * size, 1, |x: &mut Ours<T>| {
            x.a.exp_into(&mut x.out)?.wait()
        })
        .against("ndarray-par", |x| {
            Zip::from(&mut x.out).and(&x.a).par_for_each(|out, &x| *out = x.exp());
        }),
        binary("pow", 3 * size, |a, b| a.try_pow(b)?.wait(), T::powf),
        binary("greater", 2 * size + 1, |a, b| a.try_greater(b)?.wait(), |x, y| x > y),
        Case::new(("where", "fresh"), Traffic::Triad, 3 * size + 1, 1, |x| {
            x.mask.try_where(&x.a, &x.b)?.wait()
        })
        .against("iter", |x| {
            let operands = x.mask.iter().zip(elements(&x.a).iter().zip(elements(&x.b)));
            keep(operands.map(|(&yes, (&x, &y))| if yes { x } else { y }).collect::<Vec<T>>());
        }),
        Case::new(
            ("cast", "to the other float"),
            if size < size_of::<T::Other>() { Traffic::OneToTwo } else { Traffic::Triad },
            size + size_of::<T::Other>(),
            1,
            |x: &mut Ours<T>| x.a.try_astype::<T::Other>()?.wait(),
        )
        .against("iter", |x| keep(elements(&x.a).iter().map(|&x| x.other()).collect::<Vec<_>>()))
        .against("ndarray", |x| keep(x.a.map(|&x| x.other()))),
    ]);
    cases
}

/// A sum of integers and floats, which promote.
pub(super) fn int_and_float<T: Real>() -> Vec<Case<T>> {
    let bytes = size_of::<i32>() + size_of::<T>() + size_of::<f64>();
    vec![
        Case::new(("add", "int32 + float64"), Traffic::ThreeToTwo, bytes, 1, |x: &mut Ours<T>| {
            x.ints.as_untyped().binary(Op::Add, x.a.as_untyped())?.wait()
        })
        .against("iter", |x| {
            keep(x.ints.iter().zip(elements(&x.a)).map(|(&int, &x)| x.added_to(int)).collect::<Vec<_>>());
        })
        .against("ndarray", |x| {
            keep(Zip::from(&x.ints).and(&x.a).map_collect(|&int, &x| x.added_to(int)));
        }),
    ]
}

/// The rows of types that have a few.
pub(super) fn few<T: Sample>() -> Vec<Case<T>> {
    let mut cases = Vec::from(add());
    cases.push(Case::new(("sum", "all"), Traffic::Read, size_of::<T>(), 1, |x| x.a.sum().map(keep)));
    cases
}
