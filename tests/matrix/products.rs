//! Products of matrices and vectors, against naive loops. Most operands are small integers, so that sums are exact in
//! every dtype.

use stridewise::{
    Complex, Contracted, Device, Dtype, DtypeKind, Op, Queue, Scalar, UsmArray, broadcast_shapes, ops,
    promote_types,
};

use crate::cell::{Case, Check, ensure, need, short, wrong};
use crate::forms::{Form, multi_index, place, read};
use crate::values::{Random, same, unit_roundoff};

/// Random cases per dtype, operation and device.
const ROUNDS: usize = 30;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &dtype in Dtype::ALL.iter().filter(|&&dtype| dtype != Dtype::Bool) {
        let name = |case: &str| format!("products::{case}/{}", short(dtype));
        cases.push(Case::new(name("matmul"), move |device| matmul(device, dtype)));
        cases.push(Case::new(name("matmul_sizes"), move |device| matmul_sizes(device, dtype)));
        cases.push(Case::new(name("matmul_wraps"), move |device| matmul_wraps(device, dtype)));
        cases.push(Case::new(name("tensordot"), move |device| tensordot(device, dtype)));
        cases.push(Case::new(name("vecdot"), move |device| vecdot(device, dtype)));
        cases.push(Case::new(name("outer_and_cross"), move |device| outer_and_cross(device, dtype)));
        cases.push(Case::new(name("diagonal"), move |device| diagonal(device, dtype)));
    }
    cases.push(Case::new("products::matmul_mixed_dtypes/f64", mixed_dtypes));
    cases.push(Case::new("products::matmul_accuracy/f32", accuracy));
    cases.push(Case::new("products::recorded/f32", recorded));
    cases
}

/// A small integer; of a complex dtype, with small integers as parts. None is 0, whose products have signs of their own.
fn whole(random: &mut Random, dtype: Dtype) -> Scalar {
    let numbers = match dtype.kind() {
        DtypeKind::Unsigned => [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        _ => [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0],
    };
    let mut part = || *random.pick(&numbers);
    match dtype.kind() {
        DtypeKind::Complex => Scalar::C128(Complex::new(part(), part())).cast(dtype),
        _ => Scalar::F64(part()).cast(dtype),
    }
}

fn make(queue: &Queue, random: &mut Random, shape: &[usize], dtype: Dtype) -> Check<(UsmArray, Vec<Scalar>)> {
    let form = *random.pick(&[&Form::DISTINCT[..], &[Form::Column]].concat());
    let values = random.many(shape.iter().product(), |random| whole(random, dtype));
    place(queue, shape, dtype, &values, form)
}

fn flat(shape: &[usize], index: &[usize]) -> usize {
    index.iter().zip(shape).fold(0, |at, (&i, &extent)| at * extent + i)
}

/// The element that a broadcast operand has at an index of the result.
fn broadcast(shape: &[usize], values: &[Scalar], index: &[usize]) -> Scalar {
    let own = &index[index.len() - shape.len()..];
    let own: Vec<usize> = own.iter().zip(shape).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
    values[flat(shape, &own)]
}

/// A sum of products, in the 64-bit integer of the sign, wrapping, or in double precision; of a dtype in the end.
fn sum_of_products(out: Dtype, terms: impl Iterator<Item = (Scalar, Scalar)>) -> Scalar {
    match out.kind() {
        DtypeKind::Signed | DtypeKind::Unsigned => {
            let wide = |v: Scalar| v.cast(Dtype::U64).get::<u64>().unwrap_or(0);
            let sum = terms.fold(0_u64, |sum, (a, b)| sum.wrapping_add(wide(a).wrapping_mul(wide(b))));
            Scalar::U64(sum).cast(out)
        }
        _ => {
            let sum = terms.fold(Complex::new(0.0, 0.0), |sum, (a, b)| sum + a.to_c128() * b.to_c128());
            Scalar::C128(sum).cast(out)
        }
    }
}

/// The matrix product by naive loops: its shape and elements.
fn naive(
    a: &UsmArray,
    x: &[Scalar],
    b: &UsmArray,
    y: &[Scalar],
    out: Dtype,
) -> Check<(Vec<usize>, Vec<Scalar>)> {
    let row = if a.ndim() == 1 { [&[1], a.shape()].concat() } else { a.shape().to_vec() };
    let column = if b.ndim() == 1 { [b.shape(), &[1]].concat() } else { b.shape().to_vec() };
    let (outer_a, outer_b) = (&row[..row.len() - 2], &column[..column.len() - 2]);
    let (m, k, n) = (row[row.len() - 2], row[row.len() - 1], column[column.len() - 1]);
    let batch = broadcast_shapes(&[outer_a, outer_b])?;
    let full = [&batch[..], &[m, n]].concat();
    let values = (0..full.iter().product())
        .map(|at| {
            let index = multi_index(&full, at);
            let (outer, i, j) = (&index[..batch.len()], index[batch.len()], index[batch.len() + 1]);
            let left = |p: usize| broadcast(&row, x, &[outer, &[i, p]].concat());
            let right = |p: usize| broadcast(&column, y, &[outer, &[p, j]].concat());
            sum_of_products(out, (0..k).map(|p| (left(p), right(p))))
        })
        .collect();
    let mut shape = batch.to_vec();
    shape.extend((a.ndim() > 1).then_some(m));
    shape.extend((b.ndim() > 1).then_some(n));
    Ok((shape, values))
}

/// The elements of a result are these. The sign of a zero is not compared: it depends on the order of the terms, which
/// is a kernel's own.
fn expect_sums(what: &dyn std::fmt::Display, array: &UsmArray, expected: &[Scalar]) -> Check {
    let got = read(array)?;
    ensure!(got.len() == expected.len(), "{what}: {array:?}: expected {} elements", expected.len());
    let unsigned = |v: Scalar| ops::apply(Op::Add, &[v, Scalar::I8(0).cast(v.dtype())]).unwrap_or(v);
    for (i, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        if got.dtype() != expected.dtype() || !same(unsigned(got), unsigned(expected)) {
            let index = multi_index(array.shape(), i);
            wrong!("{what}: {array:?}: index {index:?}: got {got:?}, expected {expected:?}");
        }
    }
    Ok(())
}

fn check_matmul(what: &str, a: &UsmArray, x: &[Scalar], b: &UsmArray, y: &[Scalar], out: Dtype) -> Check {
    let what = format!("{what}: {a:?} by {b:?}");
    let (shape, expected) = naive(a, x, b, y, out)?;
    let product = a.matmul(b)?;
    ensure!(product.shape() == shape, "{what}: shape {:?}, expected {shape:?}", product.shape());
    expect_sums(&what, &product, &expected)
}

fn extent(random: &mut Random) -> usize {
    if random.chance(12) { random.below(2) } else { 1 + random.below(7) }
}

fn matmul(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("matmul{dtype}"));
    for round in 0..2 * ROUNDS {
        let (m, n, k) = (extent(&mut random), extent(&mut random), extent(&mut random));
        let batch: Vec<usize> = (0..random.below(3)).map(|_| 1 + random.below(3)).collect();
        let outer = |random: &mut Random| {
            let skip = random.below(batch.len() + 1);
            batch[skip..].iter().map(|&n| if random.chance(3) { 1 } else { n }).collect::<Vec<_>>()
        };
        let left = match random.below(5) {
            0 => vec![k],
            _ => [&outer(&mut random)[..], &[m, k]].concat(),
        };
        let right = match random.below(5) {
            0 => vec![k],
            _ => [&outer(&mut random)[..], &[k, n]].concat(),
        };
        let (a, x) = make(&queue, &mut random, &left, dtype)?;
        let (b, y) = make(&queue, &mut random, &right, dtype)?;
        check_matmul(&round.to_string(), &a, &x, &b, &y, dtype)?;
    }
    Ok(())
}

/// Sizes around the blocks of kernels, in both orders.
fn matmul_sizes(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("matmul_sizes{dtype}"));
    for (m, n, k) in
        [(1, 1, 300), (17, 33, 9), (64, 65, 16), (5, 130, 31), (131, 3, 30), (33, 1, 40), (1, 70, 30)]
    {
        for (first, second) in
            [(Form::C, Form::C), (Form::F, Form::C), (Form::C, Form::F), (Form::Padded, Form::Mixed)]
        {
            let values = |random: &mut Random, rows: usize, columns: usize, form| {
                let values = random.many(rows * columns, |random| {
                    // So that sums of 300 products are exact in bfloat16 too.
                    if k > 40 && dtype == Dtype::Bf16 {
                        Scalar::F64(random.below(2) as f64 - 0.5).cast(dtype)
                    } else {
                        whole(random, dtype)
                    }
                });
                place(&queue, &[rows, columns], dtype, &values, form)
            };
            let (a, x) = values(&mut random, m, k, first)?;
            let (b, y) = values(&mut random, k, n, second)?;
            check_matmul(&format!("{first:?}, {second:?}"), &a, &x, &b, &y, dtype)?;
        }
    }
    Ok(())
}

/// Integers wrap; floats are what their products are, infinite and NaN too.
fn matmul_wraps(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("matmul_wraps{dtype}"));
    if dtype.kind().is_integer() {
        let values = random.many(12 * 11, |random| random.pattern(dtype));
        let (a, x) = place(&queue, &[12, 11], dtype, &values, Form::C)?;
        let values = random.many(11 * 13, |random| random.pattern(dtype));
        let (b, y) = place(&queue, &[11, 13], dtype, &values, Form::F)?;
        return check_matmul("any bits", &a, &x, &b, &y, dtype);
    }
    if dtype.kind() == DtypeKind::Float {
        let inf = f64::INFINITY;
        let number = |v: f64| Scalar::F64(v).cast(dtype);
        let (a, _) = place(&queue, &[2, 2], dtype, &[inf, 1.0, f64::NAN, 0.0].map(number), Form::C)?;
        let (b, _) = place(&queue, &[2, 2], dtype, &[1.0, 0.0, 2.0, 3.0].map(number), Form::C)?;
        let expected = [inf, f64::NAN, f64::NAN, f64::NAN].map(number);
        return expect_sums(&"infinities and NaN", &a.matmul(&b)?, &expected);
    }
    Ok(())
}

fn tensordot(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("tensordot{dtype}"));
    for round in 0..ROUNDS {
        let shared: Vec<usize> = (0..random.below(3)).map(|_| 1 + random.below(4)).collect();
        let own = |random: &mut Random| (0..random.below(3)).map(|_| extent(random)).collect::<Vec<_>>();
        let (rows, columns) = (own(&mut random), own(&mut random));
        let in_order = random.chance(2);
        // The dimensions of each operand in a random order, unless the summed ones are to be last and first.
        let mut left: Vec<(usize, Option<usize>)> = rows.iter().map(|&n| (n, None)).collect();
        left.extend(shared.iter().enumerate().map(|(pair, &n)| (n, Some(pair))));
        let mut right: Vec<(usize, Option<usize>)> =
            shared.iter().enumerate().map(|(pair, &n)| (n, Some(pair))).collect();
        right.extend(columns.iter().map(|&n| (n, None)));
        if !in_order {
            for dims in [&mut left, &mut right] {
                for i in (1..dims.len()).rev() {
                    dims.swap(i, random.below(i + 1));
                }
            }
        }
        let extents = |dims: &[(usize, Option<usize>)]| dims.iter().map(|d| d.0).collect::<Vec<_>>();
        let (a, x) = make(&queue, &mut random, &extents(&left), dtype)?;
        let (b, y) = make(&queue, &mut random, &extents(&right), dtype)?;
        let axes = |random: &mut Random, dims: &[(usize, Option<usize>)]| -> Vec<isize> {
            (0..shared.len())
                .filter_map(|pair| dims.iter().position(|d| d.1 == Some(pair)))
                .map(|axis| axis as isize - if random.chance(2) { dims.len() as isize } else { 0 })
                .collect()
        };
        let (first, second) = (axes(&mut random, &left), axes(&mut random, &right));
        let named =
            if in_order { Contracted::Count(shared.len()) } else { Contracted::Axes(&first, &second) };
        let product = a.tensordot(&b, named)?;
        let kept = |dims: &[(usize, Option<usize>)]| {
            dims.iter().filter(|d| d.1.is_none()).map(|d| d.0).collect::<Vec<_>>()
        };
        let (outer, inner) = (kept(&left), kept(&right));
        let shape = [&outer[..], &inner[..]].concat();
        let what = format!("{round}: tensordot of {a:?} and {b:?} over {named:?}");
        ensure!(product.shape() == shape, "{what}: shape {:?}, expected {shape:?}", product.shape());
        // The index of an operand from those of its own and of the summed dimensions.
        let index = |dims: &[(usize, Option<usize>)], own: &[usize], summed: &[usize]| -> Vec<usize> {
            let mut own = own.iter();
            dims.iter().map(|d| d.1.map_or_else(|| own.next().copied().unwrap_or(0), |p| summed[p])).collect()
        };
        let expected: Vec<Scalar> = (0..shape.iter().product())
            .map(|at| {
                let place = multi_index(&shape, at);
                let terms = (0..shared.iter().product()).map(|s| {
                    let summed = multi_index(&shared, s);
                    let i = index(&left, &place[..outer.len()], &summed);
                    let j = index(&right, &place[outer.len()..], &summed);
                    (x[flat(a.shape(), &i)], y[flat(b.shape(), &j)])
                });
                sum_of_products(dtype, terms)
            })
            .collect();
        expect_sums(&what, &product, &expected)?;
    }
    Ok(())
}

fn conjugate(value: Scalar) -> Scalar {
    match value {
        Scalar::C64(z) => Scalar::C64(z.conj()),
        Scalar::C128(z) => Scalar::C128(z.conj()),
        other => other,
    }
}

fn vecdot(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("vecdot{dtype}"));
    for round in 0..ROUNDS {
        let ndim = 1 + random.below(3);
        let full: Vec<usize> = (0..ndim).map(|_| extent(&mut random)).collect();
        let axis = random.below(ndim);
        let operand = |random: &mut Random| {
            let skip = if random.chance(3) { random.below(axis + 1) } else { 0 };
            let pick = |(k, &n): (usize, &usize)| if k != axis && random.chance(3) { 1 } else { n };
            full.iter().enumerate().skip(skip).map(pick).collect::<Vec<_>>()
        };
        let (left, right) = (operand(&mut random), operand(&mut random));
        let (a, x) = make(&queue, &mut random, &left, dtype)?;
        let (b, y) = make(&queue, &mut random, &right, dtype)?;
        let common = broadcast_shapes(&[&left, &right])?;
        let place = common.len() - (ndim - axis);
        let shape = [&common[..place], &common[place + 1..]].concat();
        let what = format!("{round}: vecdot of {a:?} and {b:?} along {}", axis as isize - ndim as isize);
        let product = a.vecdot(&b, axis as isize - ndim as isize)?;
        ensure!(product.shape() == shape, "{what}: shape {:?}, expected {shape:?}", product.shape());
        let expected: Vec<Scalar> = (0..shape.iter().product())
            .map(|at| {
                let mut index = multi_index(&shape, at);
                index.insert(place, 0);
                let terms = (0..full[axis]).map(|i| {
                    let mut index = index.clone();
                    index[place] = i;
                    (conjugate(broadcast(&left, &x, &index)), broadcast(&right, &y, &index))
                });
                sum_of_products(dtype, terms)
            })
            .collect();
        expect_sums(&what, &product, &expected)?;
    }
    Ok(())
}

fn outer_and_cross(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("outer{dtype}"));
    for _ in 0..ROUNDS / 3 {
        let (m, n) = (extent(&mut random), extent(&mut random));
        let (a, x) = make(&queue, &mut random, &[m], dtype)?;
        let (b, y) = make(&queue, &mut random, &[n], dtype)?;
        let product = a.outer(&b)?;
        ensure!(product.shape() == [m, n], "outer: shape {:?}", product.shape());
        let pairs = x.iter().flat_map(|&x| y.iter().map(move |&y| (x, y)));
        let expected: Vec<Scalar> = pairs.map(|pair| sum_of_products(dtype, std::iter::once(pair))).collect();
        expect_sums(&format_args!("outer of {a:?} and {b:?}"), &product, &expected)?;
        let rows = 1 + random.below(4);
        let (a, x) = make(&queue, &mut random, &[3, rows], dtype)?;
        let (b, y) = make(&queue, &mut random, &[3, 1], dtype)?;
        let product = a.cross(&b, -2)?;
        ensure!(product.shape() == [3, rows], "cross: shape {:?}", product.shape());
        let difference = |first: Scalar, second: Scalar| {
            stridewise::ops::apply(Op::Subtract, &[first, second]).unwrap_or(first)
        };
        let expected: Vec<Scalar> = (0..3 * rows)
            .map(|at| {
                let (k, row) = (at / rows, at % rows);
                let (i, j) = ((k + 1) % 3, (k + 2) % 3);
                let term =
                    |i: usize, j: usize| sum_of_products(dtype, std::iter::once((x[i * rows + row], y[j])));
                difference(term(i, j), term(j, i))
            })
            .collect();
        expect_sums(&format_args!("cross of {a:?} and {b:?}"), &product, &expected)?;
    }
    Ok(())
}

fn diagonal(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("diagonal{dtype}"));
    for round in 0..ROUNDS {
        let mut shape: Vec<usize> = (0..random.below(3)).map(|_| extent(&mut random)).collect();
        shape.extend([extent(&mut random), extent(&mut random)]);
        let (x, values) = make(&queue, &mut random, &shape, dtype)?;
        let (outer, rows, columns) =
            (&shape[..shape.len() - 2], shape[shape.len() - 2], shape[shape.len() - 1]);
        let offset = random.below(13) as isize - 6;
        let on_it: Vec<(usize, usize)> = (0..rows)
            .filter_map(|i| Some((i, i.checked_add_signed(offset)?)))
            .filter(|&(_, j)| j < columns)
            .collect();
        let what = format!("{round}: diagonal {offset} of {x:?}");
        let diagonal = x.diagonal(offset)?;
        let wanted = [outer, &[on_it.len()]].concat();
        ensure!(diagonal.shape() == wanted, "{what}: shape {:?}, expected {wanted:?}", diagonal.shape());
        let count = outer.iter().product::<usize>();
        let row = |o: usize| on_it.iter().map(move |&(i, j)| (o * rows + i) * columns + j);
        let expected: Vec<Scalar> = (0..count).flat_map(row).map(|at| values[at]).collect();
        expect_sums(&what, &diagonal, &expected)?;
        let trace = x.trace(offset, None)?;
        let one = Scalar::I8(1).cast(dtype);
        let sums: Vec<Scalar> =
            (0..count).map(|o| sum_of_products(trace.dtype(), row(o).map(|at| (values[at], one)))).collect();
        ensure!(trace.shape() == outer, "{what}: trace of shape {:?}", trace.shape());
        expect_sums(&format_args!("trace, {what}"), &trace, &sums)?;
    }
    // A view, through which the matrix is written.
    let (x, _) = place(&queue, &[2, 3], dtype, &[Scalar::I8(0).cast(dtype); 6], Form::C)?;
    x.diagonal(1)?.assign(Scalar::I8(1).cast(dtype))?;
    expect_sums(&"written diagonal", &x, &[0, 1, 0, 0, 0, 1].map(|v| Scalar::I8(v).cast(dtype)))
}

fn mixed_dtypes(device: &Device) -> Check {
    let queue = device.queue()?;
    let support = device.dtype_support();
    let mut random = Random::named("mixed products");
    let all: Vec<Dtype> = Dtype::ALL.iter().copied().filter(|&d| support.supports(d)).collect();
    for _ in 0..3 * ROUNDS {
        let (first, second) = (*random.pick(&all), *random.pick(&all));
        let out = support.downgrade(promote_types(first, second));
        let (a, x) = make(&queue, &mut random, &[3, 4], first)?;
        let (b, y) = make(&queue, &mut random, &[4, 2], second)?;
        if out == Dtype::Bool {
            ensure!(matches!(a.matmul(&b), Err(stridewise::Error::Dtype(_))), "bool is multiplied");
            continue;
        }
        check_matmul(&format!("{first} by {second}"), &a, &x, &b, &y, out)?;
    }
    Ok(())
}

/// Rounded sums: within the error bound of any order of summation.
fn accuracy(device: &Device) -> Check {
    let queue = device.queue()?;
    let mut random = Random::named("accuracy");
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64] {
        if need(device, dtype).is_err() {
            continue;
        }
        let (m, n, k) = (37, 29, 500);
        let left = random.many(m * k, |random| random.moderate(dtype));
        let right = random.many(k * n, |random| random.moderate(dtype));
        let (a, x) = place(&queue, &[m, k], dtype, &left, Form::C)?;
        let (b, y) = place(&queue, &[k, n], dtype, &right, Form::F)?;
        let product = read(&a.matmul(&b)?)?;
        let short = matches!(dtype, Dtype::F16 | Dtype::Bf16);
        let unit = unit_roundoff(if short { Dtype::F32 } else { dtype });
        for (at, got) in product.iter().enumerate() {
            let (i, j) = (at / n, at % n);
            let terms = (0..k).map(|p| x[i * k + p].to_f64() * y[p * n + j].to_f64());
            let (exact, size) = terms.fold((0.0, 0.0), |(sum, size), t| (sum + t, size + t.abs()));
            let rounding = if short { exact.abs() * unit_roundoff(dtype) } else { 0.0 };
            let error = size * unit * (k as f64 + 1.0) + rounding * 1.01;
            if (got.to_f64() - exact).abs() > error {
                wrong!("{dtype}: element {at}: got {got:?}, expected {exact} ± {error:e}");
            }
        }
    }
    Ok(())
}

/// Operands and results that are recorded.
fn recorded(device: &Device) -> Check {
    let queue = device.queue()?;
    let n = 60;
    let values: Vec<Scalar> = (0..n * n).map(|i| Scalar::F32((i % 7) as f32)).collect();
    let (x, values) = place(&queue, &[n, n], Dtype::F32, &values, Form::C)?;
    let more: Vec<Scalar> = values.iter().map(|v| Scalar::F64(v.to_f64() + 1.0).cast(Dtype::F32)).collect();
    let y = x.binary(Op::Add, Scalar::F32(1.0))?;
    let (_, product) = naive(&y, &more, &x, &values, Dtype::F32)?;
    let result = y.matmul(&x)?.unary(Op::Negative)?;
    let expected: Vec<Scalar> = product.iter().map(|v| Scalar::F64(-v.to_f64()).cast(Dtype::F32)).collect();
    expect_sums(&"recorded operand and result", &result, &expected)?;
    let square = y.vecdot(&y, -1)?;
    let rows = more.chunks(n).map(|row| sum_of_products(Dtype::F32, row.iter().map(|&v| (v, v))));
    expect_sums(&"a recorded operand twice", &square, &rows.collect::<Vec<_>>())
}
