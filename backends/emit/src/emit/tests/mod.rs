//! Every operation on every dtype, on every device that is found, against the scalar oracle.

mod device;
mod values;
mod visible;

use stridewise_core::ops::{apply, evaluate};
use stridewise_core::{
    Dtype, DtypeKind, Op, Scalar,
    backend::{Program, ProgramBuilder},
};

use super::accuracy::ulp;
use super::supports;
use crate::dialect::Dialect;
use crate::kernels::Target;
use device::{Constants, Tested, devices};

/// Random operands of every operation.
const RANDOM: usize = 500;

/// What is computed of one dtype.
struct Case {
    op: Op,
    program: Program,
    to: Dtype,
}

fn cases(dtype: Dtype, target: &Target) -> Vec<Case> {
    let operations = Op::ALL.iter().filter(|&&op| op != Op::Cast && op.allows(dtype));
    let mut cases: Vec<Case> = operations
        .map(|&op| Case { op, program: Program::single(op, dtype).unwrap(), to: op.result(dtype) })
        .collect();
    let targets = Dtype::ALL.iter().filter(|&&to| to != dtype);
    cases.extend(targets.map(|&to| Case { op: Op::Cast, program: Program::convert(dtype, to), to }));
    cases.retain(|case| supports(&case.program, target).is_ok());
    cases
}

/// The parts of a value, as doubles.
fn parts(value: Scalar) -> [f64; 2] {
    let z = value.to_c128();
    [z.re, z.im]
}

/// Whether two values are the same: to the bit, but for the bits of a NaN.
fn same(a: Scalar, b: Scalar) -> bool {
    if !a.dtype().kind().is_inexact() {
        return a == b;
    }
    let equal = |x: f64, y: f64| (x.is_nan() && y.is_nan()) || x.to_bits() == y.to_bits();
    let ([a, c], [b, d]) = (parts(a), parts(b));
    equal(a, b) && equal(c, d)
}

/// The greatest number.
fn greatest(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F16 => 65_504.0,
        Dtype::Bf16 => 3.389_531_389_251_535_5e38,
        Dtype::F32 | Dtype::C64 => f64::from(f32::MAX),
        _ => f64::MAX,
    }
}

/// A unit in the last place of a real dtype at a magnitude.
fn unit(dtype: Dtype, at: f64) -> f64 {
    let (digits, least) = match dtype {
        Dtype::F16 => (11, -24),
        Dtype::Bf16 => (8, -133),
        Dtype::F32 | Dtype::C64 => (24, -149),
        _ => (53, -1074),
    };
    // Not by `powi`, whose steps overflow.
    let power = |e: i32| 2f64.powi(e / 2) * 2f64.powi(e - e / 2);
    if at == 0.0 {
        return power(least);
    }
    // Of what does not fit, that of the greatest number.
    let limit = match dtype {
        Dtype::F16 => 15,
        Dtype::F64 | Dtype::C128 => 1023,
        _ => 127,
    };
    let exponent = ((at.abs().to_bits() >> 52) as i32 - 1023).min(limit);
    power((exponent - digits + 1).max(least))
}

/// The error of a real number in units in the last place; infinite where the kind of number or a zero's sign is wrong.
fn error(got: f64, exact: f64, dtype: Dtype) -> f64 {
    if exact.is_nan() || got.is_nan() {
        return if exact.is_nan() == got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if exact.is_infinite() || exact == 0.0 {
        return if got.to_bits() == exact.to_bits() { 0.0 } else { f64::INFINITY };
    }
    let greatest = greatest(dtype);
    let unit = unit(dtype, exact);
    // Infinity is the number beyond the greatest.
    let beyond = greatest / unit + 1.0;
    let clamped = |v: f64| (v / unit).clamp(-beyond, beyond);
    let (a, b) = (clamped(got), clamped(exact));
    if b == a { 0.0 } else { (a - b).abs() }
}

/// What is wrong with a result, and how far it is off, in units in the last place.
fn fault(case: &Case, operands: &[Scalar], got: Scalar, bound: f64) -> Result<f64, String> {
    let dtype = operands[operands.len() - 1].dtype();
    let expected = match case.op {
        Op::Cast => operands[0].cast(case.to),
        op => apply(op, operands).unwrap(),
    };
    if bound == 0.0 {
        let text = || format!("got {got:?}, expected {expected:?}");
        return if same(got, expected) { Ok(0.0) } else { Err(text()) };
    }
    if dtype.kind() == DtypeKind::Complex && case.to == dtype {
        return match case.op {
            Op::Pow => power(operands, got, expected, bound),
            Op::Cos | Op::Cosh if is_zero_beside_nan(got) && is_zero_beside_nan(expected) => Ok(0.0),
            _ => normwise(got, expected, [true; 2], bound),
        };
    }
    let (wide, exact_dtype) = match dtype {
        Dtype::C64 => (Dtype::C128, Dtype::F32),
        Dtype::C128 => (Dtype::C128, Dtype::F64),
        _ => (Dtype::F64, dtype),
    };
    let operands: Vec<Scalar> = operands.iter().map(|v| v.cast(wide)).collect();
    let exact = match (case.op, operands[0]) {
        // Whose formula overflows.
        (Op::Sigmoid, Scalar::F64(x)) if x < 0.0 => x.exp() / (1.0 + x.exp()),
        (op, _) => apply(op, &operands).unwrap().to_f64(),
    };
    // Where the terms cancel, it is exact to units of the terms.
    let terms = operands.iter().map(|v| v.to_f64().abs()).fold(1.0, f64::max);
    let cancelled = if case.op == Op::Logaddexp && exact != 0.0 && terms.is_finite() {
        (terms / exact).abs().max(1.0)
    } else {
        1.0
    };
    // The reference is not exact in double precision.
    let slack = if wide == exact_dtype || exact_dtype == Dtype::F64 { 1.0 } else { 0.0 };
    let error = error(got.to_f64(), exact, exact_dtype);
    if error <= (bound + slack) * cancelled {
        Ok(error / cancelled)
    } else {
        Err(format!("got {got:?}, expected {exact:e} ± {bound} units, off by {error:.3}"))
    }
}

/// A complex power, where its direction is defined: up to an angle of 2²⁰, and in a part that is not lost beside the other.
fn power(operands: &[Scalar], got: Scalar, expected: Scalar, bound: f64) -> Result<f64, String> {
    let wide = [operands[0].cast(Dtype::C128), operands[1].cast(Dtype::C128)];
    let (log, y) = (apply(Op::Log, &wide[..1]).unwrap().to_c128(), wide[1].to_c128());
    let angle = log.re * y.im + log.im * y.re;
    if angle.is_finite() && angle.abs() > 2f64.powi(20) {
        return Ok(0.0);
    }
    let [re, im] = parts(apply(Op::Pow, &wide).unwrap());
    let lost = |part: f64, other: f64| part != 0.0 && part.abs() < other.abs() * 1e-13;
    normwise(got, expected, [!lost(re, im), !lost(im, re)], bound)
}

/// Whether a complex number has a zero for its imaginary part where the real one is NaN. Of a cosine's, annex G of the C
/// standard leaves the sign open: it follows that of a NaN.
fn is_zero_beside_nan(value: Scalar) -> bool {
    let [re, im] = parts(value);
    re.is_nan() && im == 0.0
}

/// Complex results: the distance in units of the greater part; parts that are no ordinary numbers agree, where they matter.
fn normwise(got: Scalar, expected: Scalar, matters: [bool; 2], bound: f64) -> Result<f64, String> {
    let ([a, b], [c, d]) = (parts(got), parts(expected));
    let dtype = got.dtype();
    let text = |error: f64| format!("got {got:?}, expected {expected:?} ± {bound} units, off by {error:.3}");
    let unit = {
        let finite = |v: f64| if v.is_finite() { v.abs() } else { 0.0 };
        unit(dtype, finite(c).max(finite(d)))
    };
    let part = |got: f64, exact: f64, matters: bool| {
        if !matters {
            return 0.0;
        }
        if exact.is_nan() || got.is_nan() {
            return if exact.is_nan() == got.is_nan() { 0.0 } else { f64::INFINITY };
        }
        if exact.is_infinite() || got.is_infinite() {
            // Next to overflow either is right.
            let near = got.signum() == exact.signum()
                && got.abs().min(exact.abs()) >= greatest(dtype) * (1.0 - 1e-6);
            return if got == exact || near { 0.0 } else { f64::INFINITY };
        }
        if exact == 0.0 && got == 0.0 && exact.is_sign_negative() != got.is_sign_negative() {
            return f64::INFINITY;
        }
        (got - exact).abs() / unit
    };
    let error = part(a, c, matters[0]).max(part(b, d, matters[1]));
    if error <= bound { Ok(error) } else { Err(text(error)) }
}

fn check(tested: &Tested, target: &Target, dtype: Dtype, faults: &mut Vec<String>) {
    let cases = cases(dtype, target);
    if cases.is_empty() {
        return;
    }
    let programs: Vec<Program> = cases.iter().map(|case| case.program.clone()).collect();
    let functions = tested.compile(target, dtype, &programs, Constants::Written);
    for (number, case) in cases.iter().enumerate() {
        let columns = values::columns(case.op.arity(), dtype, case.op == Op::Where, RANDOM);
        let got = tested.run(&functions, number, &columns);
        let (mut worst, mut wrong) = (0f64, Vec::new());
        for (i, &got) in got.iter().enumerate() {
            let operands: Vec<Scalar> = columns.iter().map(|column| column[i]).collect();
            match fault(case, &operands, got, ulp(case.op, dtype, target)) {
                Ok(error) => worst = worst.max(error),
                Err(text) => wrong.push(format!("{operands:?}: {text}")),
            }
        }
        if worst > 0.0 {
            println!("{}: {} of {}: {worst:.3}", tested.name, case.op.name(), dtype.name());
        }
        if !wrong.is_empty() {
            let to = if case.op == Op::Cast { format!(" to {}", case.to.name()) } else { String::new() };
            faults.push(format!(
                "{}, {} of {}{to}: {} of {} wrong:\n    {}",
                tested.name,
                case.op.name(),
                dtype.name(),
                wrong.len(),
                got.len(),
                wrong[..wrong.len().min(4)].join("\n    ")
            ));
        }
    }
}

fn check_all(dtypes: &[Dtype], change: impl Fn(&mut Target)) {
    let mut faults = Vec::new();
    for tested in devices() {
        let mut target = tested.target.clone();
        change(&mut target);
        for &dtype in dtypes {
            check(&tested, &target, dtype, &mut faults);
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn integers() {
    use Dtype::{Bool, I8, I16, I32, I64, U8, U16, U32, U64};
    check_all(&[Bool, I8, I16, I32, I64, U8, U16, U32, U64], |_| {});
}

#[test]
fn floats() {
    check_all(&[Dtype::F32, Dtype::F64], |_| {});
}

#[test]
fn sixteen_bit_floats() {
    check_all(&[Dtype::F16, Dtype::Bf16], |_| {});
}

#[test]
fn complex_numbers() {
    check_all(&[Dtype::C64, Dtype::C128], |_| {});
}

/// Where `float` is divided inexactly.
#[test]
fn quotients_and_roots_through_double() {
    check_all(&[Dtype::F32, Dtype::Bf16], |target| target.exact_division = false);
}

/// The device's double precision is not used.
#[test]
fn single_precision_alone() {
    check_all(&[Dtype::F32, Dtype::Bf16, Dtype::F16, Dtype::C64, Dtype::I64], |target| target.fp64 = false);
}

#[test]
fn single_precision_with_inexact_quotients() {
    check_all(&[Dtype::F32, Dtype::Bf16, Dtype::F16], |target| {
        (target.fp64, target.exact_division) = (false, false)
    });
}

#[test]
fn what_a_device_lacks_has_a_name() {
    let all = Target {
        dialect: Dialect::OpenClC,
        fp64: true,
        fp16: true,
        atomic64: true,
        exact_division: true,
        buffers: false,
        cpu: false,
        compute_units: 1,
        max_group: 1,
        local_bytes: 1,
        user_local_bytes: 1,
        general_points: 1,
    };
    let single = Target { fp64: false, ..all.clone() };
    let lacks =
        |op: Op, dtype: Dtype, target: &Target| supports(&Program::single(op, dtype).unwrap(), target).err();
    assert_eq!(lacks(Op::Exp, Dtype::C64, &all), None);
    assert_eq!(lacks(Op::Multiply, Dtype::C64, &single), None);
    assert_eq!(lacks(Op::Exp, Dtype::Bf16, &single), None);
    assert_eq!(lacks(Op::Add, Dtype::F16, &Target { fp16: false, ..all.clone() }), None);
    for (op, dtype, target, missing) in [
        (Op::Exp, Dtype::C64, &single, "cl_khr_fp64"),
        (Op::Divide, Dtype::C64, &single, "cl_khr_fp64"),
        (Op::Sign, Dtype::C64, &single, "cl_khr_fp64"),
        (Op::Add, Dtype::F64, &single, "cl_khr_fp64"),
        (Op::Copy, Dtype::C128, &single, "cl_khr_fp64"),
    ] {
        let reason = lacks(op, dtype, target).unwrap();
        assert!(reason.contains(missing) && reason.contains(dtype.name()), "{reason}");
    }
    let widening = Program::convert(Dtype::F32, Dtype::F64);
    assert!(supports(&widening, &single).is_err() && supports(&widening, &all).is_ok());
}

/// Constants, several steps, several outputs, and a value that two steps use.
#[test]
fn steps_share_values() {
    let mut builder = ProgramBuilder::new();
    let (x, y) = (builder.input(Dtype::F32).unwrap(), builder.input(Dtype::F32).unwrap());
    let half = builder.constant(Scalar::F32(-0.1)).unwrap();
    let least = builder.constant(Scalar::I64(i64::MIN)).unwrap();
    let product = builder.push(Op::Multiply, &[x, y]).unwrap();
    let sum = builder.push(Op::Add, &[product, half]).unwrap();
    let long = builder.cast(sum, Dtype::I64).unwrap();
    let wrapped = builder.push(Op::Subtract, &[long, least]).unwrap();
    let less = builder.push(Op::Less, &[x, sum]).unwrap();
    let brain = builder.cast(sum, Dtype::Bf16).unwrap();
    let square = builder.push(Op::Square, &[brain]).unwrap();
    let chosen = builder.push(Op::Where, &[less, brain, square]).unwrap();
    for output in [sum, wrapped, less, chosen, x] {
        builder.output(output).unwrap();
    }
    let program = builder.finish().unwrap();
    let columns = values::columns(2, Dtype::F32, false, RANDOM);
    for tested in devices() {
        let programs = std::slice::from_ref(&program);
        let functions = tested.compile(&tested.target, Dtype::F32, programs, Constants::Written);
        let outputs: Vec<Vec<Scalar>> =
            (0..program.outputs().len()).map(|number| tested.run(&functions, number, &columns)).collect();
        for i in 0..columns[0].len() {
            let operands = [columns[0][i], columns[1][i]];
            let expected = evaluate(&program, &operands).unwrap();
            for (number, &expected) in expected.iter().enumerate() {
                let got = outputs[number][i];
                assert!(
                    same(got, expected),
                    "{}, output {number} of {operands:?}: {got:?}, {expected:?}",
                    tested.name
                );
            }
        }
    }
}
