//! Expressions of several operations, as one would write them.

use ndarray::{Axis, Zip};
use stridewise_limit::Traffic;

use super::data::{Real, elements};
use super::{Case, keep};

/// √(2/π), of the approximation of gelu by tanh.
const GELU: f64 = 0.797_884_560_802_865_4;

fn sigmoid<T: Real>(x: T) -> T {
    T::one() / (T::one() + (-x).exp())
}

fn gelu<T: Real>(x: T) -> T {
    T::of(0.5) * x * (T::one() + (T::of(GELU) * (x + T::of(0.044_715) * (x * x * x))).tanh())
}

/// A function of one operand, written in operators; `operations` as one counts them there.
fn against_loops<T: Real>(case: Case<T>, scalar: impl Fn(T) -> T + Copy + Send + Sync + 'static) -> Case<T> {
    case.against("iter", move |x| keep(elements(&x.a).iter().map(|&x| scalar(x)).collect::<Vec<T>>()))
        .against("ndarray", move |x| keep(x.a.mapv(scalar)))
        .against("ndarray-par", move |x| keep(Zip::from(&x.a).par_map_collect(|&x| scalar(x))))
}

// Results are bound to names before they are waited for: what an expression holds on the way lives to its end, and
// would be written.
pub(super) fn cases<T: Real>() -> Vec<Case<T>> {
    let size = size_of::<T>();
    let normalise = |layout, axis: usize| {
        Case::new(("normalise", layout), Traffic::Copy, 2 * size, 6, move |x| {
            let mean = x.a_square.mean_axis_keepdims(axis as isize)?;
            let spread = x.a_square.std_axis_keepdims(axis as isize, 0.0)?;
            let result = (&x.a_square - &mean) / &spread;
            result.wait()
        })
        .against("ndarray", move |x| {
            let a = &x.a_square;
            let Some(mean) = a.mean_axis(Axis(axis)) else { return };
            let spread = a.std_axis(Axis(axis), T::zero());
            keep((a - &mean.insert_axis(Axis(axis))) / &spread.insert_axis(Axis(axis)));
        })
    };
    vec![
        Case::new(("sqrt(a*a+b*b)*c-d", "fused"), Traffic::FourToOne, 5 * size, 6, |x| {
            let result = (&x.a * &x.a + &x.b * &x.b).sqrt() * &x.c - &x.d;
            result.wait()
        })
        .against("iter", |x| {
            let operands =
                elements(&x.a).iter().zip(elements(&x.b)).zip(elements(&x.c).iter().zip(elements(&x.d)));
            let chain = |((&a, &b), (&c, &d)): ((&T, &T), (&T, &T))| (a * a + b * b).sqrt() * c - d;
            keep(operands.map(chain).collect::<Vec<T>>());
        })
        .against("ndarray", |x| keep((&x.a * &x.a + &x.b * &x.b).mapv(T::sqrt) * &x.c - &x.d))
        .against("ndarray-par", |x| {
            let operands = Zip::from(&x.a).and(&x.b).and(&x.c).and(&x.d);
            keep(operands.par_map_collect(|&a, &b, &c, &d| (a * a + b * b).sqrt() * c - d));
        }),
        against_loops(
            Case::new(("sigmoid", "fused"), Traffic::Copy, 2 * size, 4, |x| {
                let result = ((-&x.a).exp() + T::one()).reciprocal();
                result.wait()
            }),
            sigmoid,
        ),
        against_loops(
            Case::new(("gelu", "fused"), Traffic::Copy, 2 * size, 9, |x| {
                let cube = &x.a * &x.a * &x.a;
                let inner = (cube * T::of(0.044_715) + &x.a) * T::of(GELU);
                let result = &x.a * T::of(0.5) * (inner.tanh() + T::one());
                drop(inner);
                result.wait()
            }),
            gelu,
        ),
        normalise("axis 0", 0),
        normalise("axis 1", 1),
    ]
}
