//! Kernels that users write: the constructs of the form and random kernels against the oracle, well-known kernels against
//! plain Rust.

mod constructs;
mod examples;
mod faults;
mod limits;
mod random;

use libtest_mimic::{Failed, Trial};
use stridewise::kernel::oracle::{self, Checks, Elements};
use stridewise::kernel::{Argument, Kernel, NdRange};
use stridewise::{Array, Device, Dtype, Element, Queue, Result, Scalar, UsmArray, with_dtype};

use crate::WithThreads;
use crate::cell::{Case, Check, ensure, need, wrong};
use crate::forms::read;
use crate::known;

/// Random kernels of a case, and the variable that asks for more of them.
const RANDOM_KERNELS: usize = 24;
const COUNT_VARIABLE: &str = "STRIDEWISE_RANDOM_KERNELS";

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &(name, run) in constructs::CONSTRUCTS {
        cases.push(Case::new(format!("kernels::{name}/f32"), move |device| run(&queue(device)?)));
    }
    cases.push(Case::new("kernels::too_large_a_launch/f32", |device| {
        limits::too_large_a_launch(&queue(device)?)
    }));
    cases.push(Case::new("kernels::too_much_private_memory/f32", |device| {
        limits::too_much_private_memory(&queue(device)?)
    }));
    cases.push(Case::new("kernels::checked_mode_or_an_error/f32", |device| {
        limits::checked_mode_or_an_error(&queue(device)?)
    }));
    for (number, name) in known::NAMES.into_iter().enumerate() {
        let example = move || known::examples().map(|mut all| all.swap_remove(number));
        cases.push(Case::new(format!("kernels::{name}/f32"), move |device| {
            examples::check(&example()?, &queue(device)?)
        }));
    }
    let count = std::env::var(COUNT_VARIABLE).ok().and_then(|count| count.parse().ok());
    let count = count.unwrap_or(RANDOM_KERNELS);
    cases.push(Case::new("kernels::random/f32", move |device| {
        random::random_kernels(&queue(device)?, 0, count)
    }));
    cases
}

/// What the host alone has.
pub(crate) fn trials(host: WithThreads) -> Vec<Trial> {
    let faults = move || -> Check {
        let queue = host(2)?.queue()?;
        let mut counts = Vec::new();
        for mut example in known::examples()? {
            let named = faults::all_are_named(&mut example, &queue)?;
            ensure!(named > 0, "{}: no fault was seeded", example.name);
            counts.push(format!("{} {named}", example.name));
        }
        println!("faults named: {}", counts.join(", "));
        Ok(())
    };
    let report = |outcome: Check| outcome.map_err(|stop| Failed::from(format!("{stop:?}")));
    vec![Trial::test("kernels::faults/f32/host", move || report(faults()))]
}

fn queue(device: &Device) -> Check<Queue> {
    need(device, Dtype::F32)?;
    Ok(device.queue()?)
}

fn array<T: Element>(queue: &Queue, values: &[T]) -> Array<T> {
    Array::on(queue).from_slice([values.len()], values).unwrap()
}

/// An argument of a comparison.
#[derive(Clone)]
enum Given {
    Array(Elements),
    Scalar(Scalar),
}

fn given<T: Element>(values: impl IntoIterator<Item = T>) -> Given {
    let elements: Vec<Scalar> = values.into_iter().map(T::to_scalar).collect();
    Given::Array(Elements { shape: vec![elements.len()], elements })
}

fn shaped(given: Given, shape: &[usize]) -> Given {
    match given {
        Given::Array(Elements { elements, .. }) => Given::Array(Elements { shape: shape.to_vec(), elements }),
        other => other,
    }
}

fn upload(queue: &Queue, elements: &Elements) -> Result<UsmArray> {
    let dtype = elements.elements.first().map_or(Dtype::F32, Scalar::dtype);
    with_dtype!(dtype, T => {
        let values: Vec<T> = elements.elements.iter().filter_map(|e| e.get()).collect();
        Ok(Array::<T>::on(queue).from_slice(&elements.shape, &values)?.as_untyped().clone())
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
            Given::Array(elements) => upload(queue, elements).map(Some),
            Given::Scalar(_) => Ok(None),
        })
        .collect::<Result<_>>()?;
    let bound: Vec<Argument<'_>> = arguments
        .iter()
        .zip(&arrays)
        .map(|(argument, array)| match (argument, array) {
            (_, Some(array)) => Argument::Array(array),
            (Given::Scalar(scalar), _) => Argument::Scalar(*scalar),
            (Given::Array(_), None) => unreachable!(),
        })
        .collect();
    let launch = if checked { Kernel::launch_checked } else { Kernel::launch };
    launch(kernel, queue, range.clone(), &bound, &[])?.wait()?;
    Ok(arrays.into_iter().flatten().collect())
}

/// Compares what a device does to the arrays with what the oracle does, to the bit but for sums of floats, whose order is the
/// device's own; on the host in checked mode, too.
fn same_as_oracle(
    queue: &Queue,
    kernel: &Kernel,
    range: &NdRange,
    arguments: &[Given],
    checks: Checks,
) -> Check<Vec<Vec<Scalar>>> {
    let mut expected: Vec<oracle::Argument> = arguments
        .iter()
        .map(|argument| match argument {
            Given::Array(elements) => oracle::Argument::Array(elements.clone()),
            Given::Scalar(scalar) => oracle::Argument::Scalar(*scalar),
        })
        .collect();
    oracle::run(kernel, range, &mut expected, checks)?;
    let expected: Vec<Vec<Scalar>> = expected
        .into_iter()
        .filter_map(|argument| match argument {
            oracle::Argument::Array(elements) => Some(elements.elements),
            _ => None,
        })
        .collect();
    let is_host = queue.device().info().backend == "host";
    let close = |found: Scalar, expected: Scalar| match (found, expected) {
        (Scalar::F32(f), Scalar::F32(e)) => !is_host && (f - e).abs() <= 1e-5 * e.abs().max(1.0),
        _ => false,
    };
    for checked in [false, true] {
        if checked && !(is_host && checks.enabled) {
            continue;
        }
        let found = launch(queue, kernel, range, arguments, checked)?;
        for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
            for (i, (found, &expected)) in read(found)?.into_iter().zip(expected).enumerate() {
                if found.to_bytes() != expected.to_bytes() && !close(found, expected) {
                    wrong!(
                        "array {number}, element {i}: {found:?}, expected {expected:?}\n{kernel}\n{range:?}"
                    );
                }
            }
        }
    }
    Ok(expected)
}
