//! Work that ends badly, and queues that go before their work does.

use stridewise_core::backend::{EventStatus, QueueProperties};
use stridewise_core::{Array, Error, Queue, UsmKind};

use crate::setup::{TIERS, array, copy, device, gone, healthy, live, numbers, program, stub, watched};

#[test]
fn a_queue_may_go_before_its_work() {
    let stub = stub();
    for tier in TIERS {
        for kind in ["gpu", "cpu"] {
            for in_order in [false, true] {
                stub.reset();
                stub.set("tier", tier);
                stub.set("type", kind);
                stub.set("callbacks", "thread");
                let before = live(&stub);
                let what = format!("{tier}, {kind}, in order: {in_order}");
                watched(&what, || {
                    let device = device();
                    let properties = QueueProperties { in_order, profiling: false };
                    let queue = Queue::new(&device, properties).unwrap();
                    let (a, b) = (array(&queue, 1000), array(&queue, 1000));
                    stub.hold(true);
                    let c = a.try_add(&b).unwrap();
                    let event = c.event().unwrap();
                    copy(&b, &a).unwrap();
                    queue.submit_barrier(&[]).unwrap();
                    // Held back by the backend, behind work of the host.
                    let task = queue.submit_host_task(|| Ok(()), &[event]).unwrap();
                    queue.submit_barrier(&[task]).unwrap();
                    let long = Array::<f32>::on(&queue).kind(UsmKind::Device).ones([1 << 17]);
                    long.unwrap().sum_axis(0).unwrap().event().unwrap();
                    assert!(stub.pending() > 0);
                    drop((a, b, c, queue, device));
                    healthy(&stub, &what);
                    stub.release();
                });
                gone(&stub, before, &what);
            }
        }
    }
}

#[test]
fn a_failure_is_inherited_and_can_be_overwritten() {
    let stub = stub();
    for tier in TIERS {
        for in_order in [false, true] {
            stub.reset();
            stub.set("tier", tier);
            let before = live(&stub);
            let what = format!("{tier}, in order: {in_order}");
            watched(&what, || {
                let device = device();
                // With time stamps, every command has an event.
                let queue = Queue::new(&device, QueueProperties { in_order, profiling: true }).unwrap();
                let a = array(&queue, 1000);
                stub.hold(true);
                let b = a.try_add(&a).unwrap();
                let first = b.event().unwrap();
                let c = b.try_add(&a).unwrap();
                let second = c.event().unwrap();
                let task = queue.submit_host_task(|| panic!("must not run"), &[second.clone()]).unwrap();
                let late = queue.submit_barrier(&[task.clone()]).unwrap();
                stub.fail("run:clEnqueueNDRangeKernel", 1, -5);
                stub.release();
                let error = first.wait().unwrap_err();
                assert!(matches!(error, Error::Runtime(_)), "{error}");
                assert!(error.to_string().contains("CL_OUT_OF_RESOURCES"), "{error}");
                for event in [&second, &task, &late] {
                    assert!(matches!(event.wait(), Err(Error::Dependency(_))), "{event:?}");
                    assert_eq!(event.status(), EventStatus::Failed);
                    assert!(event.error().is_some());
                }
                assert!(second.profiling_info().is_err());
                // Whoever reads it later inherits it, too.
                assert!(matches!(c.to_vec(), Err(Error::Dependency(_))));
                let after = c.try_add(&a).unwrap();
                assert!(matches!(after.wait(), Err(Error::Dependency(_))));
                assert!(matches!(queue.submit_barrier(&[first]).unwrap().wait(), Err(Error::Dependency(_))));
                // Who writes, does not.
                for array in [&b, &c, &after] {
                    copy(array, &a).unwrap().wait().unwrap();
                    assert_eq!(array.to_vec().unwrap(), numbers(1000));
                }
                assert_eq!(a.to_vec().unwrap(), numbers(1000));
                queue.wait().unwrap();
                program(&queue).unwrap();
            });
            gone(&stub, before, &what);
        }
    }
}

#[test]
fn the_end_of_a_command_is_told_where_the_runtime_does_not_call_back() {
    let stub = stub();
    for tier in TIERS {
        stub.reset();
        stub.set("tier", tier);
        let before = live(&stub);
        stub.fail("clSetEventCallback", 0, -6);
        watched(tier, || {
            let device = device();
            let queue = device.queue().unwrap();
            let a = array(&queue, 1000);
            stub.hold(true);
            let b = a.try_add(&a).unwrap();
            let task = queue.submit_host_task(|| Ok(()), &[b.event().unwrap()]).unwrap();
            drop((a, b));
            stub.release();
            task.wait().unwrap();
            queue.wait().unwrap();
        });
        gone(&stub, before, tier);
    }
}

#[test]
fn ten_threads_may_use_one_queue() {
    let stub = stub();
    for tier in TIERS {
        for (in_order, order) in [(false, "first"), (false, "last"), (true, "first")] {
            stub.reset();
            stub.set("tier", tier);
            stub.set("callbacks", "thread");
            stub.set("order", order);
            let before = live(&stub);
            let what = format!("{tier}, in order: {in_order}, {order} first");
            watched(&what, || {
                let device = device();
                let queue = Queue::new(&device, QueueProperties { in_order, profiling: false }).unwrap();
                let common = array(&queue, 1000);
                std::thread::scope(|scope| {
                    for _ in 0..10 {
                        scope.spawn(|| {
                            for _ in 0..8 {
                                let own = array(&queue, 1000);
                                let sum = own.try_add(&common).unwrap().try_add(&own).unwrap();
                                let event = sum.event().unwrap();
                                let task = queue.submit_host_task(|| Ok(()), &[event]).unwrap();
                                copy(&sum, &own).unwrap();
                                assert_eq!(sum.to_vec().unwrap(), numbers(1000));
                                queue.submit_barrier(&[task]).unwrap().wait().unwrap();
                            }
                            program(&queue).unwrap();
                        });
                    }
                });
                assert_eq!(common.to_vec().unwrap(), numbers(1000));
                queue.wait().unwrap();
            });
            gone(&stub, before, &what);
        }
    }
}
