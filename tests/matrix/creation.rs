//! Arrays that follow from numbers, against naive loops: equal to the last bit.

use stridewise::{
    Array, Complex, Device, Dtype, DtypeKind, Error, Op, Order, Queue, Scalar, UsmArray, UsmKind,
};

use crate::cell::{Case, Check, ensure, need, short, wrong};
use crate::forms::{Form, expect, place};
use crate::values::{Random, special};

const KIND: UsmKind = UsmKind::Device;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &dtype in Dtype::ALL {
        let name = |case: &str| format!("creation::{case}/{}", short(dtype));
        match dtype.kind() {
            DtypeKind::Signed | DtypeKind::Unsigned => {
                cases.push(Case::new(name("arange"), move |device| integers(device, dtype)));
            }
            DtypeKind::Float => cases.push(Case::new(name("arange"), move |device| floats(device, dtype))),
            _ => {}
        }
        if dtype.kind().is_inexact() {
            cases.push(Case::new(name("linspace"), move |device| linspace(device, dtype)));
        }
        cases.push(Case::new(name("eye"), move |device| eye(device, dtype)));
        cases.push(Case::new(name("like"), move |device| like(device, dtype)));
    }
    cases.push(Case::new("creation::long", long));
    cases.push(Case::new("creation::typed", typed));
    cases.push(Case::new("creation::errors", errors));
    cases
}

fn integer(value: Scalar) -> i128 {
    match value.cast(if value.dtype().kind() == DtypeKind::Unsigned { Dtype::U64 } else { Dtype::I64 }) {
        Scalar::U64(v) => v.into(),
        Scalar::I64(v) => v.into(),
        _ => 0,
    }
}

/// Ranges of integers: exact to the ends of the dtype.
fn integers(device: &Device, dtype: Dtype) -> Check {
    let queue = device.queue()?;
    let mut random = Random::named(&format!("arange {dtype}"));
    let range = dtype.iinfo()?;
    let exact = |value: i128| match dtype.kind() {
        DtypeKind::Unsigned => Scalar::U64(value as u64).cast(dtype),
        _ => Scalar::I64(value as i64).cast(dtype),
    };
    let list = special(dtype);
    let mut rounds = 0;
    while rounds < 150 {
        let start = if random.chance(2) { *random.pick(&list) } else { random.pattern(dtype) };
        let stop = if random.chance(2) { *random.pick(&list) } else { random.pattern(dtype) };
        let distance = integer(stop) - integer(start);
        let many = 1 + random.below(3000) as i128;
        // As many steps as asked for, about.
        let step = match random.below(4) {
            0 => integer(random.pattern(dtype)),
            _ => distance / many + if distance < 0 { -1 } else { 1 },
        };
        if step == 0 || step < range.min || step > range.max {
            continue;
        }
        let mut expected = Vec::new();
        let mut value = integer(start);
        while expected.len() < 5000 && if step > 0 { value < integer(stop) } else { value > integer(stop) } {
            expected.push(exact(value));
            value += step;
        }
        if expected.len() == 5000 {
            continue;
        }
        rounds += 1;
        let array = UsmArray::arange(&queue, start, stop, exact(step), KIND)?;
        let what = format!("arange({start:?}, {stop:?}, {step})");
        ensure!(array.dtype() == dtype && array.shape() == [expected.len()], "{what}: {:?}", array.shape());
        expect(&what, &array, &expected)?;
    }
    Ok(())
}

/// Ranges of floats: `start + i * step` in double precision, rounded once.
fn floats(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    need(device, Dtype::F64)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("arange {dtype}"));
    for _ in 0..100 {
        let start = Scalar::F64(random.real(-10.0, 10.0)).cast(dtype);
        let step = Scalar::F64(random.real(-0.3, 0.3)).cast(dtype);
        let way = random.real(-4.0, 60.0) * step.to_f64().signum();
        let stop = Scalar::F64(start.to_f64() + way).cast(dtype);
        let len = ((stop.to_f64() - start.to_f64()) / step.to_f64()).ceil().max(0.0) as usize;
        if len > 5000 {
            continue;
        }
        let value = |i: usize| Scalar::F64(start.to_f64() + i as f64 * step.to_f64()).cast(dtype);
        let expected: Vec<Scalar> = (0..len).map(value).collect();
        let array = UsmArray::arange(&queue, start, stop, step, KIND)?;
        let what = format!("arange({start:?}, {stop:?}, {step:?})");
        ensure!(
            array.shape() == [len] && array.dtype() == dtype,
            "{what}: {:?}, expected {len}",
            array.shape()
        );
        expect(&what, &array, &expected)?;
    }
    Ok(())
}

fn linspace(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    need(device, Dtype::F64)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("linspace {dtype}"));
    let complex = dtype.kind() == DtypeKind::Complex;
    let max = dtype.finfo()?.max;
    let mut ends = vec![(0.0, 1.0), (1.0, -1.0), (-max, max), (max, -max), (2.5, 2.5), (0.0, f64::INFINITY)];
    ends.extend((0..20).map(|_| (random.real(-100.0, 100.0), random.real(-100.0, 100.0))));
    for (from, to) in ends {
        let end =
            |re: f64, im: f64| Scalar::C128(Complex::new(re, if complex { im } else { 0.0 })).cast(dtype);
        let (start, stop) = (end(from, -3.0), end(to, 1.5));
        for num in [0, 1, 2, 3, 10, 1001] {
            for endpoint in [true, false] {
                let gaps = (if endpoint { num.max(1) - 1 } else { num }).max(1) as f64;
                let (a, b) = (start.to_c128(), stop.to_c128());
                // In halves where the distance is beyond the doubles.
                let half = a.is_finite() && b.is_finite() && !(b - a).is_finite();
                let scale = if half { 0.5 } else { 1.0 };
                let gap = (b * scale - a * scale) / gaps;
                let value = |i: usize| {
                    if endpoint && num > 1 && i + 1 == num {
                        return stop;
                    }
                    let i = i as f64;
                    // A product of complex numbers, as the device has it.
                    let way = match complex {
                        true => Complex::new(i, 0.0) * gap,
                        false => Complex::new(i * gap.re, 0.0),
                    };
                    let value = a * scale + way;
                    Scalar::C128(if half { value * 2.0 } else { value }).cast(dtype)
                };
                let expected: Vec<Scalar> = (0..num).map(value).collect();
                let array = UsmArray::linspace(&queue, start, stop, num, endpoint, KIND)?;
                let what = format!("linspace({start:?}, {stop:?}, {num}, {endpoint})");
                ensure!(array.shape() == [num] && array.dtype() == dtype, "{what}: {:?}", array.shape());
                expect(&what, &array, &expected)?;
            }
        }
    }
    Ok(())
}

fn eye(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    for (rows, columns) in [(0, 0), (0, 3), (3, 0), (1, 1), (4, 4), (3, 7), (9, 2), (60, 70)] {
        for diagonal in [0, 1, -1, 2, -3, 69, -59, 100, isize::MAX, isize::MIN] {
            let one = |i: usize, j: usize| j as i128 - i as i128 == diagonal as i128;
            let value = |flat: usize| Scalar::Bool(one(flat / columns, flat % columns)).cast(dtype);
            let expected: Vec<Scalar> = (0..rows * columns).map(value).collect();
            let array = UsmArray::eye(&queue, rows, columns, diagonal, dtype, KIND)?;
            let what = format!("eye({rows}, {columns}, {diagonal})");
            ensure!(
                array.shape() == [rows, columns] && array.dtype() == dtype,
                "{what}: {:?}",
                array.shape()
            );
            ensure!(array.usm_kind() == KIND, "{what}: in {} memory", array.usm_kind());
            expect(&what, &array, &expected)?;
        }
    }
    Ok(())
}

fn like(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    for form in Form::ALL {
        let values = vec![Scalar::I8(1).cast(dtype); 12];
        let (x, _) = place(&queue, &[3, 4], dtype, &values, form)?;
        for named in [None, Some(Dtype::I16)] {
            let out = named.unwrap_or(dtype);
            let (zero, one) = (Scalar::I8(0).cast(out), Scalar::I8(1).cast(out));
            for (array, value) in
                [(x.zeros_like(named)?, zero), (x.ones_like(named)?, one), (x.full_like(one)?, one)]
            {
                let what = format!("like {form:?} of {dtype} as {out}");
                ensure!(array.shape() == x.shape() && array.dtype() == out, "{what}: {array:?}");
                ensure!(array.usm_kind() == x.usm_kind(), "{what}: in {} memory", array.usm_kind());
                let flags = x.flags();
                let column_major = x.ndim() < 2 || (flags.f_contiguous && !flags.c_contiguous);
                ensure!(array.flags().f_contiguous == column_major, "{what}: order");
                expect(&what, &array, &vec![value; x.len()])?;
            }
            let empty = x.empty_like(named)?;
            ensure!(empty.shape() == x.shape() && empty.dtype() == out, "empty like {form:?}");
        }
    }
    let ones = UsmArray::ones(&queue, &[2, 3], dtype, KIND)?;
    expect(&"ones", &ones, &[Scalar::I8(1).cast(dtype); 6])
}

/// Enough for several threads, and in one pass with what is computed of it.
fn long(device: &Device) -> Check {
    need(device, Dtype::F64)?;
    let queue = device.queue()?;
    let len = 700_001;
    let line = UsmArray::arange(&queue, Scalar::I64(-7), Scalar::I64(3 * len - 7), Scalar::I64(3), KIND)?;
    let expected: Vec<Scalar> = (0..len).map(|i| Scalar::I64(3 * i - 7)).collect();
    let doubled = line.binary(Op::Add, &line)?;
    ensure!(line.is_pending() && doubled.is_pending(), "ranges are recorded");
    let twice: Vec<Scalar> = (0..len).map(|i| Scalar::I64(6 * i - 14)).collect();
    expect(&"twice a range", &doubled, &twice)?;
    expect(&"a range", &line, &expected)?;
    let steps = UsmArray::linspace(&queue, Scalar::F32(0.0), Scalar::F32(1.0), len as usize, true, KIND)?;
    let gap = 1.0 / (len - 1) as f64;
    let expected: Vec<Scalar> = (0..len).map(|i| Scalar::F32((i as f64 * gap) as f32)).collect();
    let reversed: Vec<Scalar> = expected.iter().rev().copied().collect();
    expect(&"steps backwards", &steps.flip(None)?, &reversed)
}

/// The typed functions, in memory of every kind and in both orders.
fn typed(device: &Device) -> Check {
    need(device, Dtype::F64)?;
    let queue = device.queue()?;
    for kind in crate::devices::kinds(device) {
        for order in [Order::C, Order::F] {
            let make = Array::<f32>::on(&queue).kind(kind).order(order);
            let eye = make.eye_at(2, 3, 1)?;
            ensure!(eye.to_vec()? == [0.0, 1.0, 0.0, 0.0, 0.0, 1.0], "{eye:?}");
            ensure!(eye.flags().f_contiguous == (order == Order::F), "{eye:?}");
            ensure!(eye.usm_kind() == kind, "{eye:?}");
            ensure!(make.linspace_open(0.0, 1.0, 4)?.to_vec()? == [0.0, 0.25, 0.5, 0.75], "linspace_open");
            let z = Array::<Complex<f32>>::on(&queue).kind(kind);
            let line = z.linspace(Complex::new(0.0, 1.0), Complex::new(2.0, -1.0), 3)?.to_vec()?;
            ensure!(line[1] == Complex::new(1.0, 0.0) && line[2] == Complex::new(2.0, -1.0), "{line:?}");
        }
    }
    Ok(())
}

fn errors(device: &Device) -> Check {
    let queue = device.queue()?;
    let range =
        |queue: &Queue, start, stop, step| UsmArray::arange(queue, start, stop, step, KIND).map(|_| ());
    let (one, half) = (Scalar::I64(1), Scalar::F32(0.5));
    macro_rules! refused {
        ($call:expr, $variant:ident) => {
            match $call {
                Err(Error::$variant(_)) => {}
                outcome => wrong!("{}: {:?}", stringify!($call), outcome),
            }
        };
    }
    refused!(range(&queue, one, one, Scalar::I64(0)), Value);
    refused!(range(&queue, one, one, half), Dtype);
    refused!(range(&queue, one, half, one), Dtype);
    refused!(range(&queue, Scalar::Bool(true), Scalar::Bool(true), Scalar::Bool(true)), Dtype);
    refused!(range(&queue, half, Scalar::F32(f32::NAN), half), Value);
    refused!(range(&queue, half, Scalar::F32(f32::INFINITY), half), Overflow);
    refused!(range(&queue, Scalar::I64(i64::MIN), Scalar::I64(i64::MAX), one), Overflow);
    refused!(range(&queue, Scalar::I64(0), Scalar::I64(i64::MAX / 4), one), Overflow);
    let steps = |start, stop, num| UsmArray::linspace(&queue, start, stop, num, true, KIND).map(|_| ());
    refused!(steps(half, Scalar::F64(1.0), 3), Dtype);
    refused!(steps(one, one, 3), Dtype);
    refused!(steps(half, half, usize::MAX), Overflow);
    Ok(())
}
