//! Kernels that users write, on every level of the host: in checked mode and through the scheduler; what
//! they compute is a suite of the matrix.

mod checked;
mod launches;

use std::sync::OnceLock;

use stridewise_core::kernel::oracle::{self, Checks, Elements};
use stridewise_core::kernel::{Argument, Kernel, NdRange};
use stridewise_core::{Array, Device, Element, Queue, Result, Scalar, UsmArray, with_dtype};
use stridewise_host::device_with;

/// A queue of each level that this machine has, with two threads, and one of a single thread.
fn queues() -> &'static [Queue] {
    static QUEUES: OnceLock<Vec<Queue>> = OnceLock::new();
    QUEUES.get_or_init(|| {
        let devices = [(None, 2), (None, 1), (Some("avx2"), 2), (Some("scalar"), 2)];
        let devices = devices.into_iter().filter_map(|(level, threads)| device_with(level, threads).ok());
        devices.map(|device| Device::from_backend(device).queue().unwrap()).collect()
    })
}

fn array<T: Element>(queue: &Queue, values: &[T]) -> Array<T> {
    Array::on(queue).from_slice([values.len()], values).unwrap()
}

/// An argument of a comparison.
#[derive(Clone)]
enum Given {
    Array(Elements),
}

fn given<T: Element>(values: impl IntoIterator<Item = T>) -> Given {
    let elements: Vec<Scalar> = values.into_iter().map(T::to_scalar).collect();
    Given::Array(Elements { shape: vec![elements.len()], elements })
}

fn upload(queue: &Queue, elements: &Elements) -> UsmArray {
    let dtype = elements.elements.first().map_or(stridewise_core::Dtype::F32, Scalar::dtype);
    with_dtype!(dtype, T => {
        let values: Vec<T> = elements.elements.iter().map(|e| e.get().unwrap()).collect();
        Array::<T>::on(queue).from_slice(&elements.shape, &values).unwrap().as_untyped().clone()
    })
}

fn download(array: &UsmArray) -> Vec<Scalar> {
    with_dtype!(array.dtype(), T => {
        let typed = Array::<T>::try_from(array.clone()).unwrap();
        typed.to_vec().unwrap().into_iter().map(T::to_scalar).collect()
    })
}

fn launch(
    queue: &Queue,
    kernel: &Kernel,
    range: &NdRange,
    arguments: &[Given],
    checked: bool,
) -> Result<Vec<UsmArray>> {
    let arrays: Vec<Option<UsmArray>> = arguments
        .iter()
        .map(|argument| match argument {
            Given::Array(elements) => Some(upload(queue, elements)),
        })
        .collect();
    let bound: Vec<Argument<'_>> = arguments
        .iter()
        .zip(&arrays)
        .map(|(argument, array)| match (argument, array) {
            (_, Some(array)) => Argument::Array(array),
            (Given::Array(_), None) => unreachable!(),
        })
        .collect();
    let launch = if checked { Kernel::launch_checked } else { Kernel::launch };
    launch(kernel, queue, range.clone(), &bound, &[])?.wait()?;
    Ok(arrays.into_iter().flatten().collect())
}

/// Asserts that every level does to the arrays what the oracle does, to the bit, and returns them.
#[track_caller]
fn same_as_oracle(kernel: &Kernel, range: &NdRange, arguments: &[Given], checks: Checks) -> Vec<Vec<Scalar>> {
    let mut expected: Vec<oracle::Argument> = arguments
        .iter()
        .map(|argument| match argument {
            Given::Array(elements) => oracle::Argument::Array(elements.clone()),
        })
        .collect();
    oracle::run(kernel, range, &mut expected, checks).unwrap();
    let expected: Vec<Vec<Scalar>> = expected
        .into_iter()
        .filter_map(|argument| match argument {
            oracle::Argument::Array(elements) => Some(elements.elements),
            _ => None,
        })
        .collect();
    // In checked mode too, where nothing is wrong.
    let modes = [false, true].into_iter().filter(|&checked| checks.enabled || !checked);
    for (queue, checked) in modes.flat_map(|checked| queues().iter().map(move |queue| (queue, checked))) {
        let found = launch(queue, kernel, range, arguments, checked).unwrap();
        for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let found = download(found);
            for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
                let same = found.to_bytes() == expected.to_bytes();
                let isa = queue.device().info().isa;
                assert!(
                    same,
                    "{isa}: array {number}, element {i}: {found:?}, expected {expected:?}\n{kernel}\n{range:?}"
                );
            }
        }
    }
    expected
}
