//! Every operation on every dtype that it allows, against the scalar oracle.

use stridewise::{ArrayOrScalar, Device, Dtype, DtypeKind, Op, Queue, Scalar, UsmArray, elementwise, ops};

use crate::cell::{Case, Check, need, short, wrong};
use crate::forms::{Form, multi_index, place, read};
use crate::values::{Random, error_in_ulp, error_in_units, same, special};

/// An operation whose result is not the oracle's to the last bit, and where it is hard to compute. Operations without a
/// row are exact.
struct Inexact {
    op: Op,
    /// Error allowed to `float32`, in units of the last place, against double precision.
    ulp: f64,
    /// Arguments at which polynomials, reductions and thresholds change.
    hard: &'static [f64],
}

// Arguments near constants, not the constants.
#[allow(clippy::approx_constant)]
const INEXACT: &[Inexact] = &[
    Inexact {
        op: Op::Exp,
        ulp: 1.0,
        hard: &[
            88.722_83, 88.722_84, 88.8, -87.336_55, -87.4, -103.97, -103.98, -104.1, 709.782_7, 709.79,
            -745.1, -745.2, 1e-8, -1e-8, 0.346_573, 0.346_574, 11.0, 11.1, -17.4,
        ],
    },
    Inexact {
        op: Op::Log,
        ulp: 1.0,
        hard: &[
            0.999_999_9,
            1.000_000_1,
            0.707_106_7,
            0.707_106_8,
            1.414_213_5,
            1.414_214,
            1e-40,
            1e-310,
            0.99,
            1.01,
            2.718_281_8,
        ],
    },
    Inexact {
        op: Op::Sin,
        ulp: 1.0,
        hard: &[
            3.141_592_6,
            1.570_796_3,
            0.785_398_1,
            0.785_398_2,
            1e5,
            1e10,
            1e22,
            6.381_956_9e36,
            1e-5,
            1e-20,
            255.0,
            32_768.0,
        ],
    },
    Inexact {
        op: Op::Cos,
        ulp: 1.0,
        hard: &[
            3.141_592_6,
            1.570_796_3,
            0.785_398_1,
            0.785_398_2,
            1e5,
            1e10,
            1e22,
            6.381_956_9e36,
            1e-5,
            1e-20,
            255.0,
            32_768.0,
        ],
    },
    Inexact {
        op: Op::Tanh,
        ulp: 1.0,
        hard: &[9.01, 9.02, 20.0, 22.1, 1e-5, 1e-20, 0.549, 0.55, 0.625, 0.62],
    },
    Inexact {
        op: Op::Atan,
        ulp: 1.0,
        hard: &[0.414_213, 0.414_214, 2.414_213, 2.414_214, 1e20, 1e-20, 0.4375, 0.6875, 1.1875, 2.4375],
    },
    Inexact { op: Op::Atan2, ulp: 1.0, hard: &[1e-30, 1e30, 1e-20, 0.414_213, 2.414_214, 1e-310] },
    Inexact {
        op: Op::Tan,
        ulp: 1.0,
        hard: &[3.141_592_6, 1.570_796_3, 0.785_398_1, 0.785_398_2, 1e5, 1e22, 1e-20],
    },
    Inexact { op: Op::Asin, ulp: 1.0, hard: &[0.499_999, 0.5, 0.500_01, 0.999_999_9, 1.0, 1e-20, 1e-310] },
    Inexact {
        op: Op::Acos,
        ulp: 1.0,
        hard: &[0.499_999, 0.5, 0.500_01, 0.999_999_9, 1.0, 1e-20, 0.707_106_7],
    },
    Inexact {
        op: Op::Sinh,
        ulp: 1.0,
        hard: &[
            1e-20, 1e-5, 1e-3, 0.3, 0.346_573, 0.549, 1.0, 9.01, 22.1, 88.722_83, 89.4, 89.416, 709.782_7,
            710.475_8, 1e-310,
        ],
    },
    Inexact {
        op: Op::Cosh,
        ulp: 1.0,
        hard: &[
            1e-20, 1e-5, 1e-3, 0.3, 0.346_573, 0.549, 1.0, 9.01, 22.1, 88.722_83, 89.4, 89.416, 709.782_7,
            710.475_8, 1e-310,
        ],
    },
    Inexact { op: Op::Asinh, ulp: 1.0, hard: &[1e-20, 1e-5, 0.1, 0.5, 1.0, 2.0, 1e8, 1e20, 1e300, 1e-310] },
    Inexact { op: Op::Acosh, ulp: 1.0, hard: &[1.0, 1.000_000_1, 1.001, 1.25, 2.0, 1e8, 1e20, 1e300] },
    Inexact {
        op: Op::Atanh,
        ulp: 1.0,
        hard: &[1e-20, 1e-5, 0.1, 0.499_9, 0.500_1, 0.9, 0.999_999_9, 1e-310],
    },
    Inexact {
        op: Op::Exp2,
        ulp: 1.0,
        hard: &[0.5, 127.999_99, 128.0, -126.0, -149.0, -149.5, -150.0, 1023.99, -1074.0, -1075.0, 1e-20],
    },
    Inexact {
        op: Op::Expm1,
        ulp: 1.0,
        hard: &[
            1e-20, 1e-5, 1e-3, 0.3, 0.346_573, 0.549, 1.0, 9.01, 22.1, 88.722_83, 89.4, 89.416, 709.782_7,
            710.475_8, 1e-310,
        ],
    },
    Inexact {
        op: Op::Log1p,
        ulp: 1.0,
        hard: &[1e-20, 1e-5, 0.414_213, 0.414_214, -0.292_89, -0.999_999_9, 1e20, 1e-310],
    },
    Inexact {
        op: Op::Log2,
        ulp: 1.0,
        hard: &[0.999_999_9, 1.000_000_1, 0.707_106_7, 1.414_214, 1024.0, 1e-40, 1e-310],
    },
    Inexact {
        op: Op::Log10,
        ulp: 1.0,
        hard: &[0.999_999_9, 1.000_000_1, 1000.0, 1e22, 1e-40, 1e-310, 1.414_214],
    },
    Inexact {
        op: Op::Pow,
        ulp: 1.0,
        // Near 1 + 1/64 what is left of the logarithm is greatest, and so are exponents that powers near the limits take.
        hard: &[
            0.999_999,
            1.000_001,
            10.0,
            31.0,
            0.333_333_3,
            1e-5,
            1e5,
            127.5,
            1.015_634_968,
            0.984_606,
            5_672.0,
            45_507.0,
            -45_507.0,
        ],
    },
    Inexact { op: Op::Hypot, ulp: 1.0, hard: &[1e-30, 1e30, 3.0, 4.0, 1e-310, 1e300] },
    Inexact { op: Op::Logaddexp, ulp: 1.0, hard: &[0.1, 0.5, 10.0, 20.0, 88.0, 708.0, 1e-20] },
    Inexact { op: Op::Cbrt, ulp: 1.0, hard: &[8.0, 27.0, 1e-40, 1e-310, 1e300, 0.125, 1.000_000_1] },
    Inexact { op: Op::Rsqrt, ulp: 1.0, hard: &[4.0, 1e-40, 1e-310, 1e300, 1.000_000_1, 3.999_999] },
    Inexact {
        op: Op::Erf,
        ulp: 1.0,
        hard: &[1e-20, 0.843_75, 0.476_936, 1.25, 2.857_14, 3.9, 3.95, 5.9, 6.0, 1e-310],
    },
    Inexact { op: Op::Sigmoid, ulp: 1.0, hard: &[1e-20, 1.0, 17.3, 36.8, 88.0, 88.8, 103.9, 709.0, 745.1] },
];

/// Results at arguments where the standard library's functions are not a reference, calculated with 400 decimal digits.
const KNOWN: &[(Op, f64, f64)] = &[
    // The double that is nearest to a multiple of π/2, relative to its size (K. C. Ng, "Argument Reduction for Huge
    // Arguments", 1992): 6381956970095103·2⁷⁹⁷.
    (Op::Cos, 5.319_372_648_326_541e255, -4.687_165_924_254_628e-19),
    (Op::Sin, 5.319_372_648_326_541e255, 1.0),
    (Op::Cos, -5.319_372_648_326_541e255, -4.687_165_924_254_628e-19),
    (Op::Sin, -5.319_372_648_326_541e255, -1.0),
];

/// What the result of an operation may be.
#[derive(Clone, Copy)]
enum Expected {
    Exact(Scalar),
    Near {
        exact: f64,
        ulp: f64,
    },
    /// A complex number, but for an error in units of its greater part.
    Around {
        exact: Scalar,
        units: f64,
    },
    /// Whatever: the device's function is not defined so far out.
    Any,
}

/// The operation's result, from the oracle, and how far from it a device may be.
fn oracle(device: &Device, op: Op, operands: &[Scalar]) -> Option<Expected> {
    let dtype = operands.last()?.dtype();
    let bound = device.error_bound(op, dtype).unwrap_or(0.0);
    if bound > 0.0 && dtype.kind() == DtypeKind::Complex && op.result(dtype) == dtype {
        if op == Op::Pow && turns(operands) {
            return Some(Expected::Any);
        }
        return ops::apply(op, operands).map(|exact| Expected::Around { exact, units: bound });
    }
    let inexact = |row: &&Inexact| row.op == op && dtype.kind() == DtypeKind::Float;
    let promised = INEXACT.iter().find(inexact).map(|row| row.ulp);
    let Some(promised) = promised.or((bound > 0.0).then_some(bound)) else {
        return ops::apply(op, operands).map(Expected::Exact);
    };
    if dtype.kind() == DtypeKind::Complex {
        // The magnitude, a real number.
        let exact = ops::apply(op, &[operands[0].cast(Dtype::C128)])?.to_f64();
        let ulp = bound + if dtype == Dtype::C128 { 1.0 } else { 0.0 };
        return Some(Expected::Near { exact, ulp });
    }
    let wide: Vec<Scalar> = operands.iter().map(|v| v.cast(Dtype::F64)).collect();
    let exact = ops::apply(op, &wide)?.to_f64();
    // Where the terms of the reference cancel, it is exact to a unit of the terms.
    let terms = wide.iter().map(|v| v.to_f64().abs()).fold(1.0, f64::max);
    let cancelled = if op == Op::Logaddexp && exact != 0.0 { (terms / exact).abs() } else { 0.0 };
    let ulp = match dtype {
        // The reference, the standard library's function, may itself be some units from the exact value.
        Dtype::F64 => promised.max(bound) + 3.0 + 2.0 * cancelled,
        Dtype::F32 => promised.max(bound * cancelled.max(1.0)),
        // Correctly rounded.
        _ => 0.5 + 1e-9,
    };
    Some(Expected::Near { exact, ulp })
}

/// Whether a complex power has an angle of many turns, which leaves nothing of its direction.
fn turns(operands: &[Scalar]) -> bool {
    let wide = operands.iter().map(|v| v.cast(Dtype::C128)).collect::<Vec<_>>();
    let Some(log) = ops::apply(Op::Log, &wide[..1]).map(Scalar::to_c128) else { return false };
    let exponent = wide[1].to_c128();
    let angle = log.re * exponent.im + log.im * exponent.re;
    angle.is_finite() && angle.abs() > 2f64.powi(20)
}

/// What is wrong with a result, if anything.
fn fault(got: Scalar, expected: Expected) -> Option<String> {
    match expected {
        Expected::Exact(expected) if got.dtype() == expected.dtype() && same(got, expected) => None,
        Expected::Exact(expected) => Some(format!("got {got:?}, expected {expected:?}")),
        Expected::Any => None,
        Expected::Around { exact, units } => {
            let error = error_in_units(got, exact);
            let text = || format!("got {got:?}, expected {exact:?} ± {units} units, off by {error:.3} units");
            (error > units).then(text)
        }
        Expected::Near { exact, ulp } => {
            let error = error_in_ulp(got, exact);
            let text = || format!("got {got:?}, expected {exact:e} ± {ulp} ulp, off by {error:.3} ulp");
            (error > ulp).then(text)
        }
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &op in Op::ALL.iter().filter(|&&op| op != Op::Cast) {
        for &dtype in Dtype::ALL.iter().filter(|&&dtype| op.allows(dtype)) {
            let name = |suite: &str| format!("{suite}::{}/{}", op.name(), short(dtype));
            cases.push(Case::new(name("elementwise"), move |device| specials(device, op, dtype)));
            cases.push(Case::new(name("lengths"), move |device| lengths(device, op, dtype)));
            cases.push(Case::new(name("layouts"), move |device| layouts(device, op, dtype)));
        }
    }
    cases.push(Case::new("elementwise::known_values/f64", known_values));
    cases
}

fn known_values(device: &Device) -> Check {
    need(device, Dtype::F64)?;
    let queue = device.queue()?;
    for &(op, argument, value) in KNOWN {
        let column = vec![Scalar::F64(argument); 20];
        let promised = INEXACT.iter().find(|row| row.op == op).map_or(0.0, |row| row.ulp);
        let ulp = device.error_bound(op, Dtype::F64).unwrap_or(promised);
        let arrays = vectors(&queue, op, Dtype::F64, std::slice::from_ref(&column), Form::C)?;
        compare(op, &arrays, &[column], &[Expected::Near { exact: value, ulp }; 20], &Form::C)?;
    }
    Ok(())
}

/// Dtype of an operand.
fn operand_dtype(op: Op, dtype: Dtype, position: usize) -> Dtype {
    if op == Op::Where && position == 0 { Dtype::Bool } else { dtype }
}

/// Inputs that are special, in every combination, then random ones; as many lists as the operation has operands.
fn inputs(op: Op, dtype: Dtype) -> Vec<Vec<Scalar>> {
    let lists: Vec<Vec<Scalar>> = (0..op.arity())
        .map(|position| {
            let dtype = operand_dtype(op, dtype, position);
            let mut list = special(dtype);
            if let Some(row) = INEXACT.iter().find(|row| row.op == op) {
                let hard = row.hard.iter().flat_map(|&v| [v, -v]);
                list.extend(hard.map(|v| Scalar::F64(v).cast(dtype)));
            }
            // All combinations of three operands, or of complex numbers, from a third of the values each.
            let every = match (op.arity(), dtype.size()) {
                (3, _) if list.len() > 8 => 3,
                (2, 8..) if list.len() > 40 => 2,
                _ => 1,
            };
            list.into_iter().skip(position % every).step_by(every).collect()
        })
        .collect();
    let total: usize = lists.iter().map(Vec::len).product();
    let mut columns = vec![Vec::new(); op.arity()];
    for number in 0..total {
        let mut rest = number;
        for (column, list) in columns.iter_mut().zip(&lists) {
            column.push(list[rest % list.len()]);
            rest /= list.len();
        }
    }
    let mut random = Random::named(&format!("{}{dtype}", op.name()));
    for (position, column) in columns.iter_mut().enumerate() {
        let dtype = operand_dtype(op, dtype, position);
        let any = random.many(400, |random| random.any(dtype));
        column.extend(any);
    }
    columns
}

fn expectations(device: &Device, op: Op, columns: &[Vec<Scalar>]) -> Check<Vec<Expected>> {
    let mut expected = Vec::with_capacity(columns[0].len());
    for i in 0..columns[0].len() {
        let operands: Vec<Scalar> = columns.iter().map(|column| column[i]).collect();
        match oracle(device, op, &operands) {
            Some(value) => expected.push(value),
            None => wrong!("{}: the oracle has no value for {operands:?}, which `allows` admits", op.name()),
        }
    }
    Ok(expected)
}

/// Applies the operation to arrays and compares each element.
fn compare(
    op: Op,
    arrays: &[UsmArray],
    columns: &[Vec<Scalar>],
    expected: &[Expected],
    form: &dyn std::fmt::Debug,
) -> Check {
    let operands: Vec<ArrayOrScalar<'_>> = arrays.iter().map(Into::into).collect();
    let result = elementwise(op, &operands)?;
    compare_with(op, &result, columns, expected, form)
}

fn compare_with(
    op: Op,
    result: &UsmArray,
    columns: &[Vec<Scalar>],
    expected: &[Expected],
    form: &dyn std::fmt::Debug,
) -> Check {
    let got = read(result)?;
    if got.len() != expected.len() {
        wrong!("{} of {form:?}: shape {:?}, expected {} elements", op.name(), result.shape(), expected.len());
    }
    for (i, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        if let Some(fault) = fault(got, expected) {
            let inputs: Vec<Scalar> = columns.iter().map(|column| column[i]).collect();
            wrong!(
                "{}, shape {:?}, {form:?}, index {:?}, inputs {inputs:?}: {fault}",
                op.name(),
                result.shape(),
                multi_index(result.shape(), i)
            );
        }
    }
    Ok(())
}

/// Elements that a vector register of the device has.
fn lanes(device: &Device, dtype: Dtype) -> usize {
    (device.info().limits.vector_bytes / dtype.size()).clamp(1, 64)
}

fn vectors(queue: &Queue, op: Op, dtype: Dtype, columns: &[Vec<Scalar>], form: Form) -> Check<Vec<UsmArray>> {
    let array = |(position, column): (usize, &Vec<Scalar>)| {
        place(queue, &[column.len()], operand_dtype(op, dtype, position), column, form)
            .map(|(array, _)| array)
    };
    columns.iter().enumerate().map(array).collect()
}

/// Every combination of special values in every lane of a vector.
fn specials(device: &Device, op: Op, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut columns = inputs(op, dtype);
    let mut expected = expectations(device, op, &columns)?;
    for shift in 0..lanes(device, dtype) {
        let arrays = vectors(&queue, op, dtype, &columns, Form::C)?;
        compare(op, &arrays, &columns, &expected, &format_args!("contiguous, shifted by {shift}"))?;
        columns.iter_mut().for_each(|column| column.rotate_right(1));
        expected.rotate_right(1);
    }
    for form in [Form::Step2, Form::Reversed, Form::Offset] {
        let arrays = vectors(&queue, op, dtype, &columns, form)?;
        compare(op, &arrays, &columns, &expected, &form)?;
    }
    Ok(())
}

/// Every length up to four vectors and one element, aligned and not, and one of many tiles.
fn lengths(device: &Device, op: Op, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let columns = inputs(op, dtype);
    let expected = expectations(device, op, &columns)?;
    let total = columns[0].len();
    let lengths = (0..=4 * lanes(device, dtype) + 1).chain([10_007]);
    for (number, len) in lengths.enumerate() {
        // Another part of the inputs for every length.
        let at = |i: usize| (i + number * 131) % total;
        let part: Vec<Vec<Scalar>> =
            columns.iter().map(|column| (0..len).map(|i| column[at(i)]).collect()).collect();
        let result: Vec<Expected> = (0..len).map(|i| expected[at(i)]).collect();
        let form = *[Form::C, Form::Offset].get(number % 2).unwrap_or(&Form::C);
        let arrays = vectors(&queue, op, dtype, &part, form)?;
        compare(op, &arrays, &part, &result, &form)?;
    }
    Ok(())
}

/// Operands in every pair of forms, results in memory of their own and in every form.
fn layouts(device: &Device, op: Op, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(op.name());
    let shapes: [&[usize]; 9] =
        [&[5, 7], &[], &[1], &[3, 1], &[1, 9], &[0, 4], &[3, 0], &[2, 3, 4], &[2, 1, 3, 2]];
    for (number, shape) in shapes.iter().enumerate() {
        let len = shape.iter().product();
        for (first, &first_form) in Form::ALL.iter().enumerate() {
            for (second, &second_form) in Form::ALL.iter().enumerate() {
                // One operand needs no pairs; the pairs of small shapes are a sample.
                if (op.arity() == 1 && second > 0)
                    || (number > 0 && op.arity() > 1 && (first + second + number) % 4 != 0)
                {
                    continue;
                }
                let forms = [first_form, second_form, Form::ALL[(first * 5 + second) % Form::ALL.len()]];
                let mut arrays = Vec::new();
                let mut columns = Vec::new();
                for (position, &form) in forms.iter().take(op.arity()).enumerate() {
                    let dtype = operand_dtype(op, dtype, position);
                    let values = random.many(len, |random| random.any(dtype));
                    let (array, shown) = place(&queue, shape, dtype, &values, form)?;
                    arrays.push(array);
                    columns.push(shown);
                }
                let used = &forms[..op.arity()];
                // Operands that are all repeated give a smaller result, whose elements come first in each.
                let operands: Vec<ArrayOrScalar<'_>> = arrays.iter().map(Into::into).collect();
                let result = elementwise(op, &operands)?;
                let whole = result.broadcast_to(shape)?;
                let expected = expectations(device, op, &columns)?;
                compare_with(op, &whole, &columns, &expected, &used)?;
                if result.shape() == *shape {
                    into_form(
                        &queue,
                        op,
                        &operands,
                        result.dtype(),
                        &columns,
                        &expected,
                        Form::DISTINCT[(first + second) % 8],
                    )?;
                }
            }
        }
    }
    Ok(())
}

/// Writes the result into an array of a form, and checks that nothing else was written.
fn into_form(
    queue: &Queue,
    op: Op,
    operands: &[ArrayOrScalar<'_>],
    dtype: Dtype,
    columns: &[Vec<Scalar>],
    expected: &[Expected],
    form: Form,
) -> Check {
    let result = elementwise(op, operands)?;
    let shape = result.shape();
    let before = vec![Scalar::I8(1).cast(dtype); result.len()];
    let (out, _) = place(queue, shape, dtype, &before, form)?;
    out.write_elementwise(op, operands, &[])?;
    compare_with(op, &out, columns, expected, &format_args!("written to {form:?}"))?;
    if out.is_empty() {
        return Ok(());
    }
    let size = dtype.size();
    let bytes = out.usm_data()?.to_bytes()?;
    let mut outside = vec![true; bytes.len() / size];
    out.layout().indices().for_each(|index| outside[index] = false);
    // `place` leaves bytes of 1 between the elements.
    match (0..outside.len()).find(|&i| outside[i] && bytes[i * size..][..size].iter().any(|&b| b != 1)) {
        None => Ok(()),
        Some(i) => wrong!(
            "{} written to {form:?} of {shape:?}: element {i} of the allocation, outside, changed",
            op.name()
        ),
    }
}
