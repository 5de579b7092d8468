//! Well-known kernels, against plain Rust.

use stridewise::kernel::{Argument, Kernel};
use stridewise::{Queue, Result, Scalar, UsmArray};

use super::upload;
use crate::cell::{Check, wrong};
use crate::forms::read;
use crate::known::{Example, Given};

/// Launches all of an example, and gives its arrays.
pub(super) fn run(example: &Example, queue: &Queue, checked: bool) -> Result<Vec<UsmArray>> {
    let arrays = example.arrays.iter().map(|array| upload(queue, array)).collect::<Result<Vec<_>>>()?;
    let launch = if checked { Kernel::launch_checked } else { Kernel::launch };
    for step in &example.launches {
        let bind = |argument: &Given| match *argument {
            Given::Array(number) => Argument::Array(&arrays[number]),
            Given::Scalar(scalar) => Argument::Scalar(scalar),
            Given::Local(extent) => Argument::Local(vec![extent]),
        };
        let arguments: Vec<Argument<'_>> = step.arguments.iter().map(bind).collect();
        let event = launch(&step.kernel, queue, step.range.clone(), &arguments, &[])?;
        if checked {
            event.wait()?;
        }
    }
    Ok(arrays)
}

/// Whether a device does what an example says, on the host in checked mode, too.
pub(super) fn check(example: &Example, queue: &Queue) -> Check {
    let is_host = queue.device().info().backend == "host";
    for checked in [false, true] {
        if checked && !is_host {
            continue;
        }
        let arrays = run(example, queue, checked)?;
        for (number, expected) in &example.expected {
            for (i, (found, &expected)) in read(&arrays[*number])?.into_iter().zip(expected).enumerate() {
                if !close(found, expected, example.tolerance) {
                    wrong!("array {number}, element {i}: {found:?}, expected {expected:?}");
                }
            }
        }
    }
    Ok(())
}

fn close(found: Scalar, expected: Scalar, tolerance: f64) -> bool {
    match (found, expected) {
        (Scalar::F32(f), Scalar::F32(e)) => {
            let (f, e) = (f64::from(f), f64::from(e));
            (f - e).abs() <= tolerance * e.abs().max(1.0)
        }
        _ => found == expected,
    }
}
