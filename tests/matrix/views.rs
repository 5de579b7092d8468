//! Copies in every order, and shapes that change with and without a copy.

use stridewise::{Device, Dtype, Error, Order, Scalar};

use crate::cell::{Case, Check, ensure, need, short};
use crate::forms::{Form, expect, multi_index, place};
use crate::values::Random;

const SHAPES: [&[usize]; 9] =
    [&[], &[1], &[13], &[4, 6], &[2, 3, 4], &[3, 1, 2, 5], &[0, 3], &[70, 90], &[5, 1, 300]];

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &dtype in Dtype::ALL {
        cases.push(Case::new(format!("copy::orders/{}", short(dtype)), move |device| orders(device, dtype)));
        cases.push(Case::new(format!("views::reshape/{}", short(dtype)), move |device| {
            reshapes(device, dtype)
        }));
    }
    cases.push(Case::new("views::axes/i32", axes));
    cases.push(Case::new("views::errors/i32", errors));
    cases
}

fn orders(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named("orders");
    for shape in SHAPES {
        let values = random.many(shape.iter().product(), |random| random.any(dtype));
        for form in Form::ALL {
            let (array, shown) = place(&queue, shape, dtype, &values, form)?;
            let array = array.broadcast_to(shape)?;
            for order in [Order::C, Order::F] {
                let copy = array.copy_in(order)?;
                let flags = copy.flags();
                let right = if order == Order::C { flags.c_contiguous } else { flags.f_contiguous };
                ensure!(
                    right && flags.writable,
                    "copy of {form:?} of {shape:?} in order {order:?}: {flags:?}"
                );
                expect(&format_args!("copy of {form:?} in order {order:?}"), &copy, &shown)?;
                let again = copy.t().copy_in(order)?.t();
                expect(&format_args!("copy of the transpose of {form:?}"), &again, &shown)?;
            }
            expect(&format_args!("copy of {form:?}"), &array.copy()?, &shown)?;
        }
    }
    Ok(())
}

fn reshapes(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named("reshape");
    let shapes: [(&[usize], &[&[isize]]); 6] = [
        (&[24], &[&[4, 6], &[-1, 3], &[2, -1, 2, 2], &[1, 24, 1], &[24]]),
        (&[4, 6], &[&[24], &[6, 4], &[2, 2, 6], &[4, 2, 3], &[-1], &[1, 4, 1, 6]]),
        (&[2, 3, 4], &[&[6, 4], &[2, 12], &[24], &[4, 3, 2], &[3, -1]]),
        (&[0, 3], &[&[0], &[3, 0], &[5, 0, 2]]),
        (&[1], &[&[], &[1, 1, 1]]),
        (&[], &[&[1], &[]]),
    ];
    for (shape, targets) in shapes {
        let values = random.many(shape.iter().product(), |random| random.any(dtype));
        for form in Form::ALL {
            let (array, shown) = place(&queue, shape, dtype, &values, form)?;
            let array = array.broadcast_to(shape)?;
            for &target in targets {
                let result = array.reshape(target)?;
                expect(&format_args!("{form:?} of {shape:?} reshaped to {target:?}"), &result, &shown)?;
                if form == Form::C && !array.is_empty() {
                    let shares = result.usm_data()?.ptr() == array.usm_data()?.ptr();
                    ensure!(shares, "contiguous {shape:?} to {target:?} is a view, but was copied");
                }
            }
        }
    }
    Ok(())
}

/// Permutations, moved and exchanged axes, new and removed axes, flips, repetition: element by element.
fn axes(device: &Device) -> Check {
    let queue = device.queue()?;
    let shape = [3, 4, 5];
    let values: Vec<Scalar> = (0..60).map(Scalar::I32).collect();
    let at = |index: [usize; 3]| values[(index[0] * 4 + index[1]) * 5 + index[2]];
    for form in Form::DISTINCT {
        let (x, _) = place(&queue, &shape, Dtype::I32, &values, form)?;
        // Each view with how its multi-index maps to the array's.
        type Map = fn(&[usize]) -> [usize; 3];
        let views: [(&str, stridewise::UsmArray, Map); 9] = [
            ("transpose", x.t(), |i| [i[2], i[1], i[0]]),
            ("permute 1 2 0", x.permute_dims(&[1, 2, 0])?, |i| [i[2], i[0], i[1]]),
            ("matrix transpose", x.matrix_transpose()?, |i| [i[0], i[2], i[1]]),
            ("swap 0 -1", x.swap_axes(0, -1)?, |i| [i[2], i[1], i[0]]),
            ("move 0 to -1", x.move_axis(0, -1)?, |i| [i[2], i[0], i[1]]),
            ("flip", x.flip(None)?, |i| [2 - i[0], 3 - i[1], 4 - i[2]]),
            ("flip 1", x.flip(Some(&[1]))?, |i| [i[0], 3 - i[1], i[2]]),
            ("expand 1", x.expand_dims(&[1])?, |i| [i[0], i[2], i[3]]),
            ("repeat", x.broadcast_to(&[2, 3, 4, 5])?, |i| [i[1], i[2], i[3]]),
        ];
        for (name, view, map) in views {
            // Through a kernel, which must follow the view.
            let copy = view.copy_in(Order::C)?;
            let expected: Vec<Scalar> =
                (0..view.len()).map(|flat| at(map(&multi_index(view.shape(), flat)))).collect();
            expect(&format_args!("{name} of {form:?}"), &copy, &expected)?;
            let negated = view.unary(stridewise::Op::Negative)?.unary(stridewise::Op::Negative)?;
            expect(&format_args!("−(−{name} of {form:?})"), &negated, &expected)?;
        }
        let back = x.expand_dims(&[0, -1])?.squeeze(&[0, -1])?;
        expect(&"expanded and squeezed", &back, &values)?;
    }
    Ok(())
}

fn errors(device: &Device) -> Check {
    let queue = device.queue()?;
    let values: Vec<Scalar> = (0..6).map(Scalar::I32).collect();
    let (x, _) = place(&queue, &[2, 3], Dtype::I32, &values, Form::C)?;
    let outcome = x.reshape(&[4]);
    ensure!(matches!(outcome, Err(Error::Shape(_))), "reshape to 4: {outcome:?}");
    let outcome = x.reshape(&[-1, -1]);
    ensure!(outcome.is_err(), "reshape with two unknown extents: {outcome:?}");
    let outcome = x.squeeze(&[0]);
    ensure!(matches!(outcome, Err(Error::Shape(_))), "squeeze of extent 2: {outcome:?}");
    let outcome = x.broadcast_to(&[3, 3]);
    ensure!(matches!(outcome, Err(Error::Shape(_))), "broadcast of 2 to 3: {outcome:?}");
    let outcome = x.broadcast_to(&[4, 2, 3])?.assign(Scalar::I32(1));
    ensure!(matches!(outcome, Err(Error::Borrow(_))), "write to a repeated view: {outcome:?}");
    let outcome = x.permute_dims(&[0, 0]);
    ensure!(matches!(outcome, Err(Error::Axis(_))), "permutation with an axis twice: {outcome:?}");
    Ok(())
}
