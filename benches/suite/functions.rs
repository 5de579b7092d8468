//! Functions of floats in the second-level cache, on one thread: what vector mathematics is worth without memory and threads.

use std::cell::RefCell;

use rten_simd::SimdUnaryOp;
use rten_vecmath::{Exp, Sin, Tanh};
use stridewise::{Array, Result};
use stridewise_limit::Traffic;

use super::data::{Ours, Real, elements};
use super::{Case, keep};

/// As the peers in processes of their own know these rows.
const LAYOUT: &str = "one thread";

/// A function of one operand into an array; the closure is the peer's, compiled into its loop.
fn unary<T: Real>(
    op: &'static str,
    ours: fn(&Array<T>, &mut Array<T>) -> Result<()>,
    scalar: impl Fn(T) -> T + Copy + 'static,
) -> Case<T> {
    Case::new((op, LAYOUT), Traffic::Copy, 2 * size_of::<T>(), 1, move |x| ours(&x.a, &mut x.out)).against(
        "iter",
        move |x| {
            for (out, &x) in x.out.iter_mut().zip(elements(&x.a)) {
                *out = scalar(x);
            }
        },
    )
}

pub(super) fn cases<T: Real>() -> Vec<Case<T>> {
    let pow = Case::new(("pow", LAYOUT), Traffic::Triad, 3 * size_of::<T>(), 1, |x: &mut Ours<T>| {
        x.a.pow_into(&x.b, &mut x.out)?.wait()
    });
    vec![
        unary("sqrt", |a, out| a.sqrt_into(out)?.wait(), T::sqrt),
        unary("exp", |a, out| a.exp_into(out)?.wait(), T::exp),
        unary("log", |a, out| a.log_into(out)?.wait(), T::ln),
        unary("sin", |a, out| a.sin_into(out)?.wait(), T::sin),
        unary("tanh", |a, out| a.tanh_into(out)?.wait(), T::tanh),
        pow.against("iter", |x| {
            for ((out, &x), &y) in x.out.iter_mut().zip(elements(&x.a)).zip(elements(&x.b)) {
                *out = x.powf(y);
            }
        }),
    ]
}

/// With the vector mathematics of rten, where it has the function.
pub(super) fn with_rten(cases: Vec<Case<f32>>) -> Vec<Case<f32>> {
    fn against(case: Case<f32>, op: impl SimdUnaryOp<f32> + 'static) -> Case<f32> {
        // It writes what is not initialised: the room of a vector without elements.
        let room = RefCell::new(Vec::new());
        case.against("rten", move |x| {
            let (from, mut room) = (elements(&x.a), room.borrow_mut());
            room.reserve(from.len());
            keep(op.map(from, &mut room.spare_capacity_mut()[..from.len()]));
        })
    }
    let with = |case: Case<f32>| match case.op {
        "exp" => against(case, Exp::default()),
        "sin" => against(case, Sin::default()),
        "tanh" => against(case, Tanh::default()),
        _ => case,
    };
    cases.into_iter().map(with).collect()
}
