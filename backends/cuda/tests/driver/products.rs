//! Products of matrices by the library for them: the stub's computes, so that what is handed to it is seen to be right.

use stridewise_core::{Array, Complex, Element, Error, NumElement, Queue, Result, bf16, f16, s};
use stridewise_cuda_stub::Stub;

use crate::scenario::{QUEUES, check};
use crate::setup::{device, devices, gone, of_the_driver, watched};

/// Small whole numbers.
fn numbers(len: usize, seed: usize) -> Vec<i32> {
    (0..len).map(|i| ((i * 7 + seed * 5 + i / 11) % 13) as i32 - 6).collect()
}

/// A stack of matrices, by rows, on a queue.
fn stack<T: Element>(queue: &Queue, shape: &[usize], seed: usize, of: fn(i32) -> T) -> Result<Array<T>> {
    let values: Vec<T> = numbers(shape.iter().product(), seed).into_iter().map(of).collect();
    Array::<T>::on(queue).from_slice(shape, &values)
}

fn expected(count: [usize; 2], [m, n, k]: [usize; 3], seeds: [usize; 2]) -> Vec<i32> {
    let (a, b) = (numbers(count[0] * m * k, seeds[0]), numbers(count[1] * k * n, seeds[1]));
    let all = count[0].max(count[1]);
    let element = |i: usize| {
        let (matrix, row, column) = (i / (m * n), i / n % m, i % n);
        let (a, b) = (&a[matrix % count[0] * m * k..], &b[matrix % count[1] * k * n..]);
        (0..k).map(|at| a[row * k + at] * b[at * n + column]).sum::<i32>()
    };
    (0..all * m * n).map(element).collect()
}

/// Every layout of both factors, of one dtype.
fn layouts<T: NumElement + PartialEq>(queue: &Queue, of: fn(i32) -> T) -> Result<()> {
    let [m, n, k] = [9, 17, 12];
    let wanted: Vec<T> = expected([1, 1], [m, n, k], [1, 2]).into_iter().map(of).collect();
    let a = stack(queue, &[m, k], 1, of)?;
    let b = stack(queue, &[k, n], 2, of)?;
    // The same matrices, whose columns lie one behind the other, or which are parts of larger ones.
    let turned = |x: &Array<T>, len: usize| -> Result<Array<T>> {
        let (rows, values) = (x.shape()[0], x.to_vec()?);
        let turned: Vec<T> = (0..values.len()).map(|i| values[i % rows * len + i / rows]).collect();
        Ok(Array::<T>::on(queue).from_slice([len, rows], &turned)?.t())
    };
    let part = |x: &Array<T>, len: usize| -> Result<Array<T>> {
        let (rows, values) = (x.shape()[0], x.to_vec()?);
        let wide: Vec<T> = (0..rows * (len + 3))
            .map(|i| values[i / (len + 3) * len + (i % (len + 3)).min(len - 1)])
            .collect();
        Array::<T>::on(queue).from_slice([rows, len + 3], &wide)?.slice(s![.., ..-3])
    };
    for (x, y) in [
        (a.share(), b.share()),
        (turned(&a, k)?, b.share()),
        (a.share(), turned(&b, n)?),
        (turned(&a, k)?, turned(&b, n)?),
        (part(&a, k)?, part(&b, n)?),
    ] {
        let what = format!("{} {:?} {:?}", T::DTYPE, x.layout(), y.layout());
        check(x.try_matmul(&y)?.to_vec()? == wanted, what)?;
    }
    Ok(())
}

/// Stacks of matrices, also of which one is a single matrix.
fn stacks(queue: &Queue) -> Result<()> {
    let extents = [8, 11, 5];
    let [m, n, k] = extents;
    for count in [[6, 6], [6, 1], [1, 6]] {
        let shape = |count: usize, rows: usize, columns: usize| match count {
            1 => vec![rows, columns],
            _ => vec![2, 3, rows, columns],
        };
        let a = stack(queue, &shape(count[0], m, k), 3, f64::from)?;
        let b = stack(queue, &shape(count[1], k, n), 4, f64::from)?;
        let wanted: Vec<f64> = expected(count, extents, [3, 4]).into_iter().map(f64::from).collect();
        check(a.try_matmul(&b)?.to_vec()? == wanted, format!("{count:?} matrices"))?;
    }
    Ok(())
}

/// All of it; `false` where there is no device.
fn run() -> Result<bool> {
    let Some(device) = devices().into_iter().next() else { return Ok(false) };
    for properties in [QUEUES[0], QUEUES[3]] {
        let queue = Queue::new(&device, properties)?;
        layouts(&queue, f64::from)?;
        layouts(&queue, |x| x as f32)?;
        layouts(&queue, |x| f16::from_f64(f64::from(x)))?;
        layouts(&queue, |x| bf16::from_f64(f64::from(x)))?;
        layouts(&queue, |x| Complex::new(x as f32, 0.0))?;
        layouts(&queue, |x| Complex::new(f64::from(x), 0.0))?;
        stacks(&queue)?;
    }
    Ok(true)
}

#[test]
fn the_library_gets_what_it_has_to() {
    let stub = Stub::take();
    let before = stub.live();
    assert!(watched("products", run).unwrap());
    assert!(stub.calls("cublasGemmStridedBatchedEx") > 40);
    gone(&stub, before, "products");
}

#[test]
fn every_call_of_the_library_may_be_refused() {
    let stub = Stub::take();
    let before = stub.live();
    watched("products", run).unwrap();
    for name in ["cublasCreate_v2", "cublasSetMathMode", "cublasSetStream_v2", "cublasGemmStridedBatchedEx"] {
        for (nth, code) in (1..=stub.calls(name).min(3)).zip([3, 14, 13]) {
            stub.reset();
            stub.fail(name, nth, code);
            let what = format!("call {nth} of {name} refused with {code}");
            match watched(&what, run) {
                // Without a handle there are kernels, where there is a compiler.
                Err(error) => assert!(of_the_driver(&error), "{what}: {error}"),
                Ok(there) => assert!(there, "{what}"),
            }
            gone(&stub, before, &what);
        }
        stub.reset();
        stub.lacks(name);
        let error = watched(name, run).err();
        assert!(error.as_ref().is_none_or(of_the_driver), "{name}: {error:?}");
        stub.lacks("");
        gone(&stub, before, name);
    }
    let lost = device();
    drop(lost);
}

#[test]
fn what_is_not_for_the_library_is_left_to_kernels() {
    let stub = Stub::take();
    let before = stub.live();
    watched("kernels", || {
        let queue = device().queue().unwrap();
        let few = stack(&queue, &[4, 40], 1, f64::from).unwrap();
        let many = stack(&queue, &[40, 40], 2, f64::from).unwrap();
        for (x, y) in [
            (few.share(), many.share()),
            (many.slice(s![.., ..;2]).unwrap(), many.slice(s![..20, ..]).unwrap()),
        ] {
            // Without a compiler of kernels this is an error, and with one nothing is computed here.
            let outcome = x.try_matmul(&y).and_then(|z| z.to_vec());
            assert!(
                outcome.as_ref().err().is_none_or(|error| !matches!(error, Error::Value(_))),
                "{outcome:?}"
            );
        }
        assert_eq!(stub.calls("cublasGemmStridedBatchedEx"), 0);
    });
    gone(&stub, before, "kernels");
}
