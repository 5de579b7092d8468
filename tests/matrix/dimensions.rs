//! More dimensions than a plan has, in memory where none of them can be merged.

use stridewise::{Device, Dtype, Layout, Op, Order, Reduction, Scalar, UsmArray, UsmMemory, concat};

use crate::cell::{Case, Check, ensure, short};
use crate::forms::{expect, multi_index, write};
use crate::values::Random;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for ndim in 9..=12 {
        for dtype in [Dtype::F32, Dtype::I16] {
            let name = |case: &str| format!("dimensions::{case}_{ndim}/{}", short(dtype));
            cases.push(Case::new(name("map"), move |device| map(device, ndim, dtype)));
            cases.push(Case::new(name("concat"), move |device| join(device, ndim, dtype)));
            cases.push(Case::new(name("reduce_one"), move |device| reduce_some(device, ndim, dtype, 1)));
            cases.push(Case::new(name("reduce_half"), move |device| reduce_some(device, ndim, dtype, 2)));
            cases.push(Case::new(name("reduce_all"), move |device| reduce_all(device, ndim, dtype)));
        }
    }
    cases.push(Case::new("dimensions::most/i16", most));
    cases
}

/// An array of extents 2, of every third element along every dimension, the dimensions in a random order.
fn scattered(device: &Device, ndim: usize, dtype: Dtype, seed: u64) -> Check<(UsmArray, Vec<Scalar>)> {
    let queue = device.queue()?;
    let mut random = Random::new(seed);
    let mut order: Vec<usize> = (0..ndim).collect();
    for i in (1..ndim).rev() {
        order.swap(i, random.below(i + 1));
    }
    let shape = vec![2; ndim];
    let mut strides = vec![0; ndim];
    let mut step = 1_isize;
    for axis in order {
        strides[axis] = if random.chance(3) { -step } else { step };
        // Not twice the stride before, so neither in this order nor another do two dimensions look like one.
        step = step * 2 + 1;
    }
    let layout = Layout::new(&shape, Some(&strides), None, Order::C, dtype.size(), None)?;
    let values = random.many(1 << ndim, |random| random.moderate(dtype));
    let mut bytes = vec![1; layout.required_elements() * dtype.size()];
    write(&layout, dtype, &values, &mut bytes);
    let memory = UsmMemory::new(crate::forms::visible_kind(queue.device()), bytes.len(), &queue)?;
    memory.copy_from_host(0, &bytes)?;
    let array =
        UsmArray::builder(&shape).dtype(dtype).buffer(&memory).strides(&strides).queue(&queue).build()?;
    Ok((array, values))
}

fn map(device: &Device, ndim: usize, dtype: Dtype) -> Check {
    let (x, a) = scattered(device, ndim, dtype, 1)?;
    let (y, b) = scattered(device, ndim, dtype, 2)?;
    let expected: Vec<Scalar> =
        a.iter().zip(&b).filter_map(|(&a, &b)| stridewise::ops::apply(Op::Subtract, &[a, b])).collect();
    expect(&format_args!("x − y of {ndim} dimensions"), &x.binary(Op::Subtract, &y)?, &expected)?;
    // In place, into memory where the result does not merge either.
    x.write_elementwise(Op::Subtract, &[(&x).into(), (&y).into()], &[])?;
    expect(&format_args!("x −= y of {ndim} dimensions"), &x, &expected)?;
    x.assign(&y.t())?;
    let transposed: Vec<Scalar> = (0..b.len())
        .map(|flat| b[multi_index(&vec![2; ndim], flat).iter().rev().fold(0, |at, &i| 2 * at + i)])
        .collect();
    expect(&format_args!("x = transpose of y, {ndim} dimensions"), &x, &transposed)
}

fn join(device: &Device, ndim: usize, dtype: Dtype) -> Check {
    let (x, a) = scattered(device, ndim, dtype, 3)?;
    let (y, b) = scattered(device, ndim, dtype, 4)?;
    for axis in [0, ndim / 2, ndim - 1] {
        let result = concat(&[&x, &y], Some(axis as isize))?;
        let expected: Vec<Scalar> = (0..result.len())
            .map(|flat| {
                let mut index = multi_index(result.shape(), flat);
                let values = if index[axis] < 2 { &a } else { &b };
                index[axis] %= 2;
                values[index.iter().fold(0, |at, &i| 2 * at + i)]
            })
            .collect();
        expect(&format_args!("concat along {axis} of {ndim} dimensions"), &result, &expected)?;
    }
    Ok(())
}

/// The largest and the sum over every so many axes; small integers, so that sums are exact.
fn reduce_some(device: &Device, ndim: usize, dtype: Dtype, every: usize) -> Check {
    let (x, _) = scattered(device, ndim, dtype, 5)?;
    let whole = x.astype(Dtype::I16)?.astype(dtype)?;
    x.assign(&whole)?;
    let values = crate::forms::read(&x)?;
    let lists: Vec<Vec<usize>> = match every {
        1 => vec![vec![0], vec![ndim / 2], vec![ndim - 1]],
        _ => vec![(0..ndim).step_by(2).collect(), (1..ndim).step_by(2).collect(), (1..ndim).collect()],
    };
    for axes in lists {
        let named: Vec<isize> = axes.iter().map(|&axis| axis as isize).collect();
        let kept: Vec<usize> = (0..ndim).filter(|axis| !axes.contains(axis)).collect();
        let (mut sums, mut most) = (vec![0.0; 1 << kept.len()], vec![f64::NEG_INFINITY; 1 << kept.len()]);
        for (flat, value) in values.iter().enumerate() {
            let index = multi_index(x.shape(), flat);
            let place = kept.iter().fold(0, |at, &axis| 2 * at + index[axis]);
            sums[place] += value.to_f64();
            most[place] = most[place].max(value.to_f64());
        }
        for (kind, expected) in [(Reduction::Sum, sums), (Reduction::Max, most)] {
            let result = x.reduce(kind, Some(&named), false)?;
            let expected: Vec<Scalar> =
                expected.iter().map(|&v| Scalar::F64(v).cast(result.dtype())).collect();
            expect(&format_args!("{} over {axes:?} of {ndim} dimensions", kind.name()), &result, &expected)?;
        }
    }
    Ok(())
}

fn reduce_all(device: &Device, ndim: usize, dtype: Dtype) -> Check {
    let (x, values) = scattered(device, ndim, dtype, 6)?;
    let numbers: Vec<f64> = values.iter().map(|v| v.to_f64()).collect();
    let largest = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let first = numbers.iter().position(|&v| v == largest).unwrap_or(0);
    expect(&"max", &x.reduce(Reduction::Max, None, false)?, &[Scalar::F64(largest).cast(dtype)])?;
    expect(&"argmax", &x.reduce(Reduction::ArgMax, None, false)?, &[Scalar::I64(first as i64)])?;
    let any = x.reduce(Reduction::Any, None, true)?;
    ensure!(any.shape() == vec![1; ndim], "any with keepdims: shape {:?}", any.shape());
    expect(&"any", &any, &[Scalar::Bool(numbers.iter().any(|&v| v != 0.0))])
}

/// The largest number of dimensions there is, most of extent 1.
fn most(device: &Device) -> Check {
    let (x, values) = scattered(device, 10, Dtype::I16, 7)?;
    let mut shape = vec![1; stridewise::MAX_NDIM];
    shape[3..13].fill(2);
    let shape: Vec<isize> = shape.into_iter().map(|extent: usize| extent as isize).collect();
    let wide = x.reshape(&shape)?;
    expect(&"32 dimensions", &wide.unary(Op::Negative)?.unary(Op::Negative)?, &values)?;
    expect(&"32 dimensions, reversed", &wide.flip(None)?.copy()?.flip(None)?, &values)?;
    let flat = wide.reshape(&[-1])?;
    expect(&"32 dimensions, flat", &flat, &values)
}
