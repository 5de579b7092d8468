//! Devices that keep fewer compiled kernels than are used at once, on every OpenCL device of the machine: what is
//! computed by kernels that have to go while they run is right.

use std::sync::Arc;

use stridewise_core::backend::Driver;
use stridewise_core::{Array, Device, Queue, devices};

fn driver() -> Arc<dyn Driver> {
    stridewise_opencl::driver_keeping(1)
}
stridewise_core::register_driver!(driver);

/// Elements, enough for operations to become one program.
const LEN: usize = 2000;

fn queues() -> impl Iterator<Item = Queue> {
    let opencl = |device: &Device| device.info().backend == "opencl";
    devices().into_iter().filter(opencl).map(|device| device.queue().unwrap())
}

/// Adds or multiplies, as the bits of a number say.
fn chain<T>(number: usize, x: &T, add: impl Fn(&T, &T) -> T, multiply: impl Fn(&T, &T) -> T) -> T {
    (0..5).fold(add(x, x), |y, bit| if number >> bit & 1 == 0 { add(&y, x) } else { multiply(&y, x) })
}

fn check(queue: &Queue, seed: u32) {
    let data: Vec<u32> = (0..LEN as u32).map(|i| i.wrapping_mul(0x9e37_79b9) ^ seed).collect();
    let a = Array::<u32>::on(queue).from_slice([LEN], &data).unwrap();
    let add = |x: &Array<u32>, y: &Array<u32>| x.try_add(y).unwrap();
    let multiply = |x: &Array<u32>, y: &Array<u32>| x.try_mul(y).unwrap();
    // Nothing is waited for before all kernels but the last have gone.
    let results: Vec<_> = (0..12)
        .map(|number| {
            let result = chain(number, &a, add, multiply);
            drop(result.event().unwrap());
            result
        })
        .collect();
    for (number, result) in results.iter().enumerate() {
        let expected = |x: &u32| chain(number, x, |x, y| x.wrapping_add(*y), |x, y| x.wrapping_mul(*y));
        let expected: Vec<u32> = data.iter().map(expected).collect();
        assert!(result.to_vec().unwrap() == expected, "{}: program {number}", queue.device().info().name);
    }
}

#[test]
fn kernels_that_go_while_they_run_compute_what_they_should() {
    for queue in queues() {
        check(&queue, 0);
        check(&queue, 1);
    }
}

#[test]
fn threads_that_push_out_each_others_kernels_compute_what_they_should() {
    for queue in queues() {
        // It is not made for threads, whatever they do.
        if queue.device().info().name.contains("Oclgrind") {
            continue;
        }
        std::thread::scope(|scope| {
            for seed in 0..10 {
                let device = queue.device();
                scope.spawn(move || check(&device.queue().unwrap(), seed));
            }
        });
    }
}
