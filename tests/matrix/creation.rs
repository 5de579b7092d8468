//! Arrays that follow from numbers, against naive loops: equal to the last bit.

use stridewise::{
    Array, Complex, Device, Dtype, DtypeKind, Error, Op, Order, Scalar, UsmArray, UsmKind, Weak,
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
    cases.push(Case::new("creation::rounded_last", rounded_last));
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
        let array = UsmArray::arange(&queue, start.weak(), stop.weak(), Weak::Int(step), dtype, KIND)?;
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
        let array = UsmArray::arange(&queue, start.weak(), stop.weak(), step.weak(), dtype, KIND)?;
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
                let array =
                    UsmArray::linspace(&queue, start.weak(), stop.weak(), num, endpoint, dtype, KIND)?;
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
                // What is neither keeps the order of its axes.
                let step = |axis: usize| x.strides()[axis].unsigned_abs();
                let column_major = x.ndim() < 2 || (!flags.c_contiguous && step(0) < step(1));
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

/// Numbers that the dtype does not have: counted and computed as they are, whatever they would be rounded to.
fn rounded_last(device: &Device) -> Check {
    need(device, Dtype::F64)?;
    let queue = device.queue()?;
    for &dtype in Dtype::ALL.iter().filter(|dtype| dtype.kind() == DtypeKind::Float) {
        if need(device, dtype).is_err() {
            continue;
        }
        let tenths =
            |stop: f64, step: f64, len: usize| (Weak::Int(0), Weak::Float(stop), Weak::Float(step), len);
        let mut ranges =
            vec![tenths(1.0, 0.1, 10), tenths(0.3, 0.1, 3), tenths(7.0, 0.7, 10), tenths(1.0, 1.0 / 3.0, 3)];
        ranges.extend(
            [15, 16, 17, 1023, 1024, 1025, 4095, 4096, 4097]
                .map(|len| tenths(len as f64 * 0.125, 0.125, len)),
        );
        let long = dtype.finfo()?.eps.recip() as i128 * 2;
        for start in [0, long - 5, -long - 3, (1 << 53) - 1, (1 << 62) + 1] {
            ranges.push((Weak::Int(start), Weak::Int(start + 11), Weak::Int(1), 11));
            ranges.push((Weak::Int(start), Weak::Int(start - 6), Weak::Int(-2), 3));
        }
        // Distances and products beyond the doubles.
        let max = f64::MAX;
        ranges.push((Weak::Float(-max), Weak::Float(max), Weak::Float(max / 4.0), 8));
        ranges.push((Weak::Float(max), Weak::Float(-max), Weak::Float(-max), 2));
        for (start, stop, step, len) in ranges {
            let array = UsmArray::arange(&queue, start, stop, step, dtype, KIND)?;
            let what = format!("arange({start}, {stop}, {step}, {dtype})");
            let value = |i: usize| match (start, step) {
                (Weak::Int(start), Weak::Int(step)) => {
                    Scalar::I64((start + i as i128 * step) as i64).cast(dtype)
                }
                _ => {
                    let [start, step] =
                        [start, step].map(|number| number.to_scalar(Dtype::F64).map(Scalar::to_f64));
                    let (start, step) = (start.unwrap_or(f64::NAN), step.unwrap_or(f64::NAN));
                    let scale = if start.abs() > 1e300 { 0.25 } else { 1.0 };
                    Scalar::F64((start * scale + i as f64 * (step * scale)) / scale).cast(dtype)
                }
            };
            ensure!(array.shape() == [len], "{what}: {:?}, expected {len}", array.shape());
            expect(&what, &array, &(0..len).map(value).collect::<Vec<_>>())?;
        }
        // Ends that the dtype rounds: 2 eps of them lie between.
        let ends = [Weak::Float(0.1), Weak::Float(0.7)];
        let line = UsmArray::linspace(&queue, ends[0], ends[1], 7, true, dtype, KIND)?;
        let gap = (0.7 - 0.1) / 6.0;
        let expected =
            (0..7).map(|i| Scalar::F64(if i == 6 { 0.7 } else { 0.1 + f64::from(i) * gap }).cast(dtype));
        expect(&format!("linspace of {dtype}"), &line, &expected.collect::<Vec<_>>())?;
    }
    let whole = UsmArray::linspace(&queue, -2, 2, 8, true, Dtype::I16, KIND)?;
    let expected = [-2_i16, -2, -1, -1, 0, 0, 1, 2].map(Scalar::I16);
    expect(&"integers rounded down", &whole, &expected)
}

/// Enough for several threads, and in one pass with what is computed of it.
fn long(device: &Device) -> Check {
    need(device, Dtype::F64)?;
    let queue = device.queue()?;
    let len = 700_001;
    let line = UsmArray::arange(&queue, -7, 3 * len - 7, 3, Dtype::I64, KIND)?;
    let expected: Vec<Scalar> = (0..len).map(|i| Scalar::I64(3 * i - 7)).collect();
    let doubled = line.binary(Op::Add, &line)?;
    ensure!(line.is_pending() && doubled.is_pending(), "ranges are recorded");
    let twice: Vec<Scalar> = (0..len).map(|i| Scalar::I64(6 * i - 14)).collect();
    expect(&"twice a range", &doubled, &twice)?;
    expect(&"a range", &line, &expected)?;
    let steps = UsmArray::linspace(&queue, 0.0, 1.0, len as usize, true, Dtype::F32, KIND)?;
    let gap = 1.0 / (len - 1) as f64;
    let expected: Vec<Scalar> = (0..len).map(|i| Scalar::F32((i as f64 * gap) as f32)).collect();
    let reversed: Vec<Scalar> = expected.iter().rev().copied().collect();
    expect(&"steps backwards", &steps.flip(None)?, &reversed)
}

/// The typed functions, in memory of every kind and in both orders.
fn typed(device: &Device) -> Check {
    need(device, Dtype::F64)?;
    let queue = device.queue()?;
    for kind in crate::forms::kinds(device) {
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
    let range = |dtype: Dtype, start: Weak, stop: Weak, step: Weak| {
        UsmArray::arange(&queue, start, stop, step, dtype, KIND).map(|_| ())
    };
    let (int, single) = (Dtype::I64, Dtype::F32);
    let (one, half) = (Weak::Int(1), Weak::Float(0.5));
    macro_rules! refused {
        ($call:expr, $variant:ident) => {
            match $call {
                Err(Error::$variant(_)) => {}
                outcome => wrong!("{}: {:?}", stringify!($call), outcome),
            }
        };
    }
    refused!(range(int, one, one, Weak::Int(0)), Value);
    refused!(range(int, one, one, half), Dtype);
    refused!(range(int, half, one, one), Dtype);
    refused!(range(Dtype::Bool, one, one, one), Dtype);
    refused!(range(Dtype::C64, one, one, one), Dtype);
    refused!(range(single, Complex::new(0.0, 1.0).into(), one, one), Dtype);
    refused!(range(single, half, Weak::Float(f64::NAN), half), Value);
    refused!(range(single, half, Weak::Float(f64::INFINITY), half), Overflow);
    refused!(range(int, i64::MIN.into(), i64::MAX.into(), one), Overflow);
    refused!(range(int, Weak::Int(0), (i64::MAX / 4).into(), one), Overflow);
    refused!(range(Dtype::I8, Weak::Int(100), Weak::Int(140), Weak::Int(10)), Dtype);
    refused!(range(Dtype::U8, Weak::Int(-1), Weak::Int(3), one), Dtype);
    let steps = |dtype: Dtype, start: Weak, stop: Weak, num| {
        UsmArray::linspace(&queue, start, stop, num, true, dtype, KIND).map(|_| ())
    };
    refused!(steps(Dtype::Bool, one, one, 3), Dtype);
    refused!(steps(single, Complex::new(0.0, 1.0).into(), one, 3), Dtype);
    refused!(steps(single, half, half, usize::MAX), Overflow);
    Ok(())
}
