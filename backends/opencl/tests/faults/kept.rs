//! Compiled kernels that a device keeps: the last ones that were used, up to a bound, each released once.

use std::fs;

use stridewise_core::{Array, Device, Queue};
use stridewise_opencl_stub::{Sort, Stub};

use crate::setup::{array, cache, gone, healthy, live, numbers, program, stub, watched};

/// Threads that work at once.
const THREADS: usize = 10;
/// Elements of an array on which operations become one program; on a short one, each is computed at once.
const LEN: usize = 2000;

/// The stub's only device, whose driver keeps so many kernels for each.
fn device(kernels: usize) -> Device {
    let mut devices = stridewise_opencl::driver_keeping(kernels).devices();
    assert_eq!(devices.len(), 1);
    Device::from_backend(devices.remove(0))
}

/// Runs a program that is another for every number below 256: a step per bit.
fn different(a: &Array<f32>, number: usize) {
    let mut b = a.try_add(a).unwrap();
    for bit in 0..8 {
        b = if number >> bit & 1 == 0 { b.try_add(a) } else { b.try_mul(a) }.unwrap();
    }
    b.wait().unwrap();
}

/// Objects of a sort that live and did not before: other tests leave some behind.
fn newly(stub: &Stub, before: &[(Sort, usize)], sort: Sort) -> usize {
    let of_before = before.iter().filter(|(known, _)| *known == sort).map(|(_, count)| count);
    stub.live(sort) - of_before.sum::<usize>()
}

/// Kernels and programs that the device keeps; of each as many.
#[track_caller]
fn kept(stub: &Stub, before: &[(Sort, usize)]) -> usize {
    let kernels = newly(stub, before, Sort::Kernel);
    assert_eq!(newly(stub, before, Sort::Program), kernels);
    kernels
}

/// Kernels that were made.
fn made(stub: &Stub) -> u64 {
    stub.calls("clCreateKernel")
}

/// Checks that every kernel and program that was made was released.
#[track_caller]
fn released(stub: &Stub, what: &str) {
    let programs = stub.calls("clCreateProgramWithSource") + stub.calls("clCreateProgramWithBinary");
    assert_eq!(stub.calls("clReleaseProgram"), programs, "{what}");
    assert_eq!(stub.calls("clReleaseKernel"), made(stub), "{what}");
}

/// Checks that arrays hold what they held, and that copies of them do.
fn still_right(queue: &Queue, a: &Array<f32>) {
    assert_eq!(a.to_vec().unwrap(), numbers(a.len()));
    program(queue).unwrap();
}

#[test]
fn many_programs_keep_a_device_within_its_bound() {
    let stub = stub();
    for bound in [1, 2, 7, 64] {
        stub.reset();
        let before = live(&stub);
        let what = format!("{bound} kernels");
        watched(&what, || {
            let device = device(bound);
            let queue = device.queue().unwrap();
            let a = array(&queue, LEN);
            for number in 0..256 {
                different(&a, number);
                assert_eq!(kept(&stub, &before), bound.min(number + 1), "{what}, after {number}");
            }
            assert_eq!(made(&stub), 256, "{what}: as many programs as numbers");
            // The last ones are there, those before them are compiled again.
            for number in (256 - bound..256).rev() {
                different(&a, number);
            }
            assert_eq!(made(&stub), 256, "{what}: a kernel that was kept was compiled again");
            for number in 0..bound {
                different(&a, number);
            }
            assert_eq!(made(&stub), 256 + bound as u64, "{what}");
            assert_eq!(kept(&stub, &before), bound, "{what}");
            still_right(&queue, &a);
        });
        gone(&stub, before, &what);
        released(&stub, &what);
    }
}

#[test]
fn what_is_used_stays() {
    let stub = stub();
    let before = live(&stub);
    watched("used", || {
        let device = device(4);
        let a = array(&device.queue().unwrap(), LEN);
        different(&a, 0);
        for number in 1..100 {
            different(&a, number);
            different(&a, 0);
        }
        assert_eq!(made(&stub), 100);
    });
    gone(&stub, before, "used");
}

#[test]
fn a_bound_of_none_keeps_one() {
    let stub = stub();
    let before = live(&stub);
    watched("none", || {
        let device = device(0);
        let queue = device.queue().unwrap();
        let a = array(&queue, LEN);
        for number in [1, 1, 2, 2, 1] {
            different(&a, number);
            assert_eq!(kept(&stub, &before), 1);
        }
        assert_eq!(made(&stub), 3);
        still_right(&queue, &a);
    });
    gone(&stub, before, "none");
}

#[test]
fn parts_of_a_device_keep_as_many_each() {
    let stub = stub();
    let before = live(&stub);
    watched("parts", || {
        let device = device(3);
        let parts = device.create_sub_devices(&stridewise_core::backend::Partition::Equally(1)).unwrap();
        assert!(parts.len() > 1);
        for part in &parts {
            let a = array(&part.queue().unwrap(), LEN);
            for number in 0..20 {
                different(&a, number);
            }
        }
        assert_eq!(kept(&stub, &before), 3 * parts.len());
    });
    gone(&stub, before, "parts");
}

#[test]
fn kernels_that_were_let_go_come_back_from_the_disk() {
    let stub = stub();
    let before = live(&stub);
    let folder = std::env::temp_dir().join(format!("stridewise-kept-{}", std::process::id()));
    cache(folder.to_str().unwrap());
    watched("disk", || {
        let device = device(2);
        let queue = device.queue().unwrap();
        let a = array(&queue, LEN);
        for _ in 0..3 {
            for number in 0..20 {
                different(&a, number);
            }
        }
        let calls = ["clCreateProgramWithSource", "clCreateProgramWithBinary"].map(|name| stub.calls(name));
        assert_eq!(calls, [20, 40]);
        assert_eq!(kept(&stub, &before), 2);
        // One that the disk gives no more is compiled.
        fs::remove_dir_all(&folder).unwrap();
        different(&a, 0);
        assert_eq!(stub.calls("clCreateProgramWithSource"), 21);
        still_right(&queue, &a);
    });
    let _ = fs::remove_dir_all(&folder);
    cache("");
    gone(&stub, before, "disk");
    released(&stub, "disk");
}

#[test]
fn a_kernel_that_does_not_compile_lets_none_go() {
    let stub = stub();
    let before = live(&stub);
    watched("failure", || {
        let device = device(2);
        let a = array(&device.queue().unwrap(), LEN);
        different(&a, 1);
        different(&a, 2);
        for name in ["run:clBuildProgram", "clCreateKernel", "clCreateProgramWithSource"] {
            stub.fail(name, 0, -6);
            a.try_mul(&a).and_then(|b| b.wait()).unwrap_err();
            stub.heal(name);
            assert_eq!(kept(&stub, &before), 2, "{name}");
        }
        let tried = stub.calls("clCreateProgramWithSource");
        different(&a, 1);
        different(&a, 2);
        assert_eq!(stub.calls("clCreateProgramWithSource"), tried);
    });
    gone(&stub, before, "failure");
}

#[test]
fn threads_that_push_out_each_others_kernels_do_no_harm() {
    let stub = stub();
    for (bound, kind) in [(1, "gpu"), (1, "cpu"), (3, "gpu"), (16, "cpu")] {
        stub.reset();
        stub.set("type", kind);
        let before = live(&stub);
        let what = format!("{bound} kernels on a {kind}");
        watched(&what, || {
            let device = device(bound);
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    let (device, stub, before, what) = (&device, &stub, &before, &what);
                    scope.spawn(move || {
                        let queue = device.queue().unwrap();
                        let a = array(&queue, LEN);
                        for round in 0..100 {
                            // Some programs are of one thread, some of all.
                            let number =
                                if round % 2 == 0 { round % 13 } else { (thread * 31 + round) % 256 };
                            different(&a, number);
                            // Each thread may hold one that it has just made, and one that this has pushed out.
                            let kernels = newly(stub, before, Sort::Kernel);
                            assert!(kernels <= bound + 2 * THREADS, "{what}: {kernels} live");
                        }
                        assert_eq!(a.to_vec().unwrap(), numbers(LEN));
                    });
                }
            });
            assert_eq!(kept(&stub, &before), bound, "{what}");
            assert_eq!(stub.violations(), [""; 0], "{what}");
            still_right(&device.queue().unwrap(), &array(&device.queue().unwrap(), LEN));
        });
        gone(&stub, before, &what);
        released(&stub, &what);
    }
    healthy(&stub, "threads");
}
