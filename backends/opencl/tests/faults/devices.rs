//! No runtime, no device, several devices, and devices that are lost.

use std::process::Command;

use stridewise_core::backend::{EventStatus, Health, QueueProperties};
use stridewise_core::{Array, Error, Queue, Scalar, UsmKind};

use crate::setup::{TIERS, array, device, devices, gone, healthy, live, numbers, program, stub, watched};

/// Says to a test that it is the child process of another.
const CHILD: &str = "STRIDEWISE_TEST_WITHOUT_RUNTIME";

#[test]
fn a_platform_without_devices_is_nothing_special() {
    let stub = stub();
    let before = live(&stub);
    stub.set("devices", "0");
    assert!(watched("no device", devices).is_empty());
    stub.set("devices", "3");
    assert_eq!(devices().len(), 3);
    stub.fail("clCreateContext", 2, -6);
    assert_eq!(devices().len(), 2, "one cannot be opened");
    stub.fail("clGetPlatformIDs", 0, -1001);
    assert!(devices().is_empty());
    gone(&stub, before, "devices that were listed");
}

#[test]
fn devices_that_are_refused_and_failing_runtimes_are_told() {
    let stub = stub();
    let before = live(&stub);
    watched("a refused device", || {
        stub.set("devices", "2");
        stub.fail("clCreateContext", 1, -6);
        let driver = stridewise_opencl::driver();
        assert_eq!(driver.devices().len(), 1);
        let problem = |part: &str| {
            let found = driver.diagnose();
            found
                .iter()
                .find(|finding| finding.health == Health::Problem && finding.subject.contains(part))
                .cloned()
                .unwrap_or_else(|| panic!("{part} is not among {found:?}"))
        };
        let refused = problem("refused");
        assert!(refused.text.contains("CL_OUT_OF_HOST_MEMORY"), "{refused:?}");
        assert!(refused.remedy.contains("free memory"), "{refused:?}");
        stub.fail("clGetPlatformIDs", 0, -30);
        assert!(problem("platforms").text.contains("CL_INVALID_VALUE"));
        stub.reset();
        assert_eq!(driver.devices().len(), 1);
        let found = driver.diagnose();
        assert!(found.iter().all(|finding| !finding.subject.contains("refused")), "{found:?}");
        let platform = found.iter().find(|finding| finding.subject == "platform").unwrap();
        assert!(platform.health == Health::Fine && platform.text.contains("devices: 1"), "{platform:?}");
    });
    gone(&stub, before, "devices that were refused");
}

#[test]
fn without_a_runtime_there_is_no_device() {
    let empty = std::env::temp_dir().join(format!("stridewise-no-runtime-{}", std::process::id()));
    std::fs::create_dir_all(&empty).unwrap();
    let name = "devices::a_process_without_a_runtime_lists_no_device";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .env("OPENCL_DYLIB_PATH", empty.join("libOpenCL-missing.so"))
        .env("OCL_ICD_VENDORS", &empty)
        .output();
    let _ = std::fs::remove_dir_all(&empty);
    let output = output.unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
    assert!(!text.contains("panicked"), "{text}");
}

/// Only as the child of the test above.
#[test]
fn a_process_without_a_runtime_lists_no_device() {
    if std::env::var_os(CHILD).is_some() {
        let listed = watched("no runtime", || stridewise_opencl::driver().devices());
        assert!(listed.is_empty());
        let found = stridewise_opencl::driver().diagnose();
        let loader = found.iter().find(|finding| finding.subject == "loader");
        // A system's loader is found where the named one is not there.
        if let Some(loader) = loader.filter(|finding| finding.health != Health::Fine) {
            assert!(loader.text.contains("libOpenCL-missing.so") && !loader.remedy.is_empty(), "{loader:?}");
        }
        let named = found.iter().find(|finding| finding.subject == "OPENCL_DYLIB_PATH").unwrap();
        assert!(named.health == Health::Problem && named.text.contains("libOpenCL-missing.so"), "{named:?}");
        assert_eq!(stridewise_opencl::live_handles(), 0);
    }
}

#[test]
fn arrays_of_two_devices_do_not_mix_but_move() {
    let stub = stub();
    for tier in TIERS {
        stub.reset();
        stub.set("tier", tier);
        stub.set("devices", "2");
        let before = live(&stub);
        watched(tier, || {
            let devices = devices();
            let (first, second) = (devices[0].queue().unwrap(), devices[1].queue().unwrap());
            let (a, b) = (array(&first, 1000), array(&second, 1000));
            let error = a.try_add(&b).unwrap_err();
            assert!(matches!(error, Error::ExecutionPlacement(_)), "{error}");
            let moved = a.to_queue(&second).unwrap();
            assert_eq!(moved.to_vec().unwrap(), numbers(1000));
            moved.try_add(&b).unwrap().wait().unwrap();
            // Longer than a piece of what goes through the host.
            let long = Array::<f32>::on(&first).kind(UsmKind::Device).full([5 << 20], 7.0).unwrap();
            let long = long.to_queue(&second).unwrap().to_vec().unwrap();
            assert!(long.iter().all(|&x| x == 7.0));
            // What one device cannot give, the other does not get.
            let name = match tier {
                "usm" => "clEnqueueMemcpyINTEL",
                "fine" => "clEnqueueSVMMemcpy",
                _ => "clEnqueueReadBuffer",
            };
            stub.fail(name, 1, -5);
            let moved = a.to_queue(&second).unwrap();
            let error = moved.to_vec().unwrap_err();
            assert!(error.to_string().contains("CL_OUT_OF_RESOURCES"), "{error}");
            assert_eq!(a.to_queue(&second).unwrap().to_vec().unwrap(), numbers(1000));
        });
        gone(&stub, before, tier);
    }
}

#[test]
fn work_that_is_pending_when_the_device_is_lost_fails() {
    let stub = stub();
    for tier in TIERS {
        stub.reset();
        stub.set("tier", tier);
        // Where every command has an event.
        stub.set("type", "cpu");
        let before = live(&stub);
        watched(tier, || {
            let device = device();
            let queue = device.queue().unwrap();
            let a = array(&queue, 1000);
            stub.hold(true);
            let b = a.try_add(&a).unwrap();
            let first = b.event().unwrap();
            let c = b.try_add(&a).unwrap();
            let second = c.event().unwrap();
            let task = queue.submit_host_task(|| Ok(()), std::slice::from_ref(&second)).unwrap();
            assert_eq!(first.status(), EventStatus::Submitted);
            stub.lose_device();
            for event in [&first, &second, &task] {
                let error = event.wait().unwrap_err();
                assert!(error.to_string().contains("CL_OUT_OF_RESOURCES"), "{error}");
                assert_eq!(event.status(), EventStatus::Failed);
            }
            assert!(matches!(task.error(), Some(Error::Dependency(_))));
            assert!(matches!(c.to_vec(), Err(Error::Dependency(_))));
            // What comes now is refused.
            for error in [
                a.try_add(&a).and_then(|b| b.event()).map(drop).unwrap_err(),
                a.to_kind(UsmKind::Device)
                    .and_then(|mut a| a.fill(1.0).map(drop).and_then(|()| a.to_vec()))
                    .map(drop)
                    .unwrap_err(),
                queue.wait().unwrap_err(),
                Queue::new(&device, QueueProperties::default()).map(drop).unwrap_err(),
            ] {
                let text = error.to_string();
                assert!(text.contains("CL_OUT_OF_RESOURCES") && text.contains("lost"), "{text}");
            }
        });
        gone(&stub, before, tier);
    }
}

#[test]
fn a_device_that_was_found_lost_stays_so_and_others_go_on() {
    let stub = stub();
    for code in [-34, -36, -9999] {
        stub.reset();
        stub.set("devices", "2");
        let before = live(&stub);
        watched("lost", || {
            let devices = devices();
            let queue = devices[0].queue().unwrap();
            let mut a = array(&queue, 1000);
            stub.fail("clFinish", 1, code);
            let error = queue.wait().unwrap_err();
            for again in [
                error.clone(),
                queue.flush().unwrap_err(),
                a.try_add(&a).and_then(|b| b.event()).map(drop).unwrap_err(),
                a.fill(1.0).map(drop).unwrap_err(),
                a.to_vec().map(drop).unwrap_err(),
                Queue::new(&devices[0], QueueProperties::default()).map(drop).unwrap_err(),
            ] {
                assert_eq!(again.to_string(), error.to_string());
            }
            assert!(error.to_string().contains("the device is lost"), "{error}");
            let other = devices[1].queue().unwrap();
            program(&other).unwrap();
            // A fresh list has the device anew.
            program(&crate::setup::devices()[0].queue().unwrap()).unwrap();
        });
        gone(&stub, before, "a lost device");
    }
}

#[test]
fn coarse_memory_is_touched_only_while_it_is_mapped() {
    let stub = stub();
    stub.set("tier", "coarse");
    stub.set("protect", "1");
    let before = live(&stub);
    watched("coarse", || {
        let device = device();
        let queue = device.queue().unwrap();
        for kind in [UsmKind::Shared, UsmKind::Host] {
            let mut a = Array::<f32>::on(&queue).kind(kind).from_slice([100, 100], &numbers(10_000)).unwrap();
            assert_eq!(a.get([1, 1]).unwrap(), 101.0);
            assert_eq!(a.view().unwrap().to_vec(), numbers(10_000));
            a.view_mut().unwrap().for_each_mut(|x| *x += 1.0);
            assert_eq!(a.get([1, 1]).unwrap(), 102.0);
            // Two views at a time.
            let row = |row: isize| a.slice(&[row.into()]).unwrap();
            let (upper, lower) = (row(0), row(1));
            let (one, two) = (upper.view().unwrap(), lower.view().unwrap());
            assert_eq!((one[[2]], two[[2]]), (3.0, 103.0));
            drop(one);
            assert_eq!(two[[2]], 103.0);
            drop(two);
            // Commands in between.
            let b = Array::<f32>::on(&queue).kind(UsmKind::Device).zeros([100, 100]).unwrap();
            crate::setup::copy(&b, &a).unwrap();
            assert_eq!(b.to_vec().unwrap(), a.to_vec().unwrap());
            queue.fill(&a.usm_data().unwrap(), 0, Scalar::F32(3.0), 10_000, &[]).unwrap();
            assert_eq!(a.to_vec().unwrap(), vec![3.0; 10_000]);
            crate::setup::copy(&a, &b).unwrap();
            assert_eq!(a.view().unwrap()[[99, 99]], 10_000.0);
            let sum = a.try_add(&a).unwrap().view().unwrap().to_vec();
            assert_eq!(sum.len(), 10_000);
            let moved = a.to_kind(UsmKind::Device).unwrap();
            moved.to_vec().unwrap();
            a.sum().unwrap();
            healthy(&stub, "coarse");
            // A map that fails is an error, and closes the view.
            stub.fail("clEnqueueMapBuffer", 1, -12);
            assert!(matches!(a.view().map(drop), Err(Error::Runtime(_))));
            a.view_mut().unwrap();
        }
        program(&queue).unwrap();
    });
    gone(&stub, before, "coarse");
}
